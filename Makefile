# Two commands on a fresh machine with Python ≥ 3.11: `make demo` and `make test`. Both set everything up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
KERNELS := $(VENV)/kernels
# What `make bench` compares with: the commit of version 0.1.0, or make bench BEFORE=…; nothing: make bench BEFORE=
BEFORE ?= 6a44eabab5d6ef1d39f901f849bf4a4c68c3d702
# One process per processor: a third one on two cores costs more (it imports, collects and makes fixtures again) than it gains.
PARALLEL = -n $$(getconf _NPROCESSORS_ONLN) --dist loadfile --no-loadscope-reorder

# Compiled modules are kept, whatever the shell says: every process of the tests would compile package and tests anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test long quick check format bench papers real docs coverage lock wheels clean

$(READY): pyproject.toml requirements-dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Exciter needs Python 3.11 or newer; give one with: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) (once, a minute or two) …"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -c requirements-dev.lock -e '.[dev]'
	@touch $@

# Compiled once, not by every process of the tests; again when they change.
$(KERNELS): $(READY) tests/support/compile_kernels.py $(shell find src/exciter -path '*/kernels/*.py')
	@$(BIN)/python tests/support/compile_kernels.py
	@touch $@

demo: $(READY)
	@$(BIN)/exciter demo -o demo-out

test: $(READY)  # all but `make long`; kernels are compiled while types are checked
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@echo "types, and numerical kernels …"; \
		$(BIN)/mypy & types=$$!; $(MAKE) --no-print-directory $(KERNELS) && wait $$types
	$(BIN)/python -m pytest $(PARALLEL) -m 'not (slow or papers)'

long: $(READY) $(KERNELS)  # the papers again, and what takes long: CI runs it after `make test`
	$(BIN)/python -m pytest $(PARALLEL) -m 'slow or papers'

quick: $(READY) $(KERNELS)  # what one runs between two changes
	$(BIN)/python -m pytest $(PARALLEL) -m 'not (slow or papers or real or browser)'

coverage: $(READY)
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report=html --cov-report=term:skip-covered

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python docs/make_api.py

bench: $(READY)  # every figure beside its target and an earlier version; then what growth costs, in a short form
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python benchmarks/targets.py $(if $(BEFORE),--before $(BEFORE))
	$(BIN)/python benchmarks/growth.py --short
	$(BIN)/python benchmarks/cluster.py identify --samples 4000000 --files 2 --compared 3000000
	$(BIN)/python benchmarks/fleet.py --robots 10 --defective 1
	$(BIN)/python benchmarks/regressor.py
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/differentiation.py
	$(BIN)/python benchmarks/signals.py
	$(BIN)/python benchmarks/identify.py
	$(BIN)/python benchmarks/automatic.py
	$(BIN)/python benchmarks/consistent.py
	$(BIN)/python benchmarks/choosing.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/design.py
	$(BIN)/python benchmarks/qp_solvers.py

papers: $(READY)
	$(BIN)/exciter reproduce -o reproduced
	cp reproduced/papers.md reproduced/papers-appendix.md docs/

docs: $(READY)  # site/index.html; broken links are errors
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -c requirements-dev.lock -e '.[docs]'
	$(BIN)/python docs/make_imports.py
	NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1 $(BIN)/mkdocs build --quiet
	@echo "open site/index.html"

lock: $(READY)  # the versions that `make` installs
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check pip-tools
	$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--extra dev --extra docs --extra bench -o requirements-dev.lock pyproject.toml

wheels: $(READY)  # wheel and sdist, installed and used in a clean environment of every Python that is here
	.ci/wheels

real: $(READY)  # four robots that others recorded: make real DATA=/path/to/their/logs
	@$(BIN)/python examples/real/run.py --data $(or $(DATA),$(EXCITER_DATA),../shared/data)

clean:
	rm -rf demo-out reproduced site dist htmlcov .coverage $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
