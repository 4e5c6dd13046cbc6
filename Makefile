# Two commands on a fresh machine with Python ≥ 3.11: `make demo` and `make test`. Both set everything up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo test check format bench papers real clean

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Exciter needs Python 3.11 or newer; give one with: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) (once, a minute or two) …"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(READY)
	@$(BIN)/exciter demo -o demo-out

test: check
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python docs/make_api.py

bench: $(READY)
	$(BIN)/python benchmarks/regressor.py
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/differentiation.py
	$(BIN)/python benchmarks/signals.py
	$(BIN)/python benchmarks/identify.py
	$(BIN)/python benchmarks/consistent.py
	$(BIN)/python benchmarks/choosing.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python benchmarks/design.py
	$(BIN)/python benchmarks/qp_solvers.py

papers: $(READY)
	$(BIN)/exciter reproduce -o reproduced
	cp reproduced/papers.md docs/papers.md

real: $(READY)  # four robots that others recorded: make real DATA=/path/to/their/logs
	@$(BIN)/python examples/real/run.py --data $(or $(DATA),$(EXCITER_DATA),../shared/data)

clean:
	rm -rf demo-out reproduced $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
