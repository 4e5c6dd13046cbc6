"""The script that changes code and asks the tests: what it changes, and its list of changes that do no harm."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest

from exciter.errors import RobotError
from exciter.excitation.certificate.certificate import REST_LIMIT_FRACTION
from exciter.excitation.constraints.torque_limits_and_bounds import chord_range
from exciter.robot import embedded_robots as embedded
from support.scripts import benchmark

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return benchmark("mutations")


def test_every_harmless_change_is_one_that_the_script_makes_and_has_a_reason(script: ModuleType) -> None:
    """An entry whose code is gone would hide the next mutant that looks like it."""
    reasons = script.harmless()
    modules = {key.split()[0] for key in reasons}
    assert modules <= set(script.modules_of([]))
    made = {mutant.key for module in modules for mutant in script.mutants(module)}
    assert sorted(set(reasons) - made) == []
    assert all(len(reason) > 15 for reason in reasons.values())


def test_a_mutant_takes_the_place_of_code_that_others_have_imported(script: ModuleType) -> None:
    """Functions, and constants that others hold by name; put back afterwards."""
    ends, curvature, width = np.array([[1.0, 3.0]]), np.array([[16.0]]), np.array([1.0])
    module = "excitation/constraints/torque_limits_and_bounds.py"
    wanted = next(m for m in script.mutants(module) if m.function == "chord_range" and "⟦8.0 → 16.0⟧" in m.change)
    loaded = importlib.import_module(script.name_of(module))
    original = compile((script.PACKAGE / module).read_text(encoding="utf-8"), str(script.PACKAGE / module), "exec")
    assert [side.item() for side in chord_range(ends, curvature, width)] == [-1.0, 5.0]
    script.graft(loaded, wanted.code())
    changed = [side.item() for side in chord_range(ends, curvature, width)]
    script.graft(loaded, original)
    assert changed == [0.0, 4.0]
    assert [side.item() for side in chord_range(ends, curvature, width)] == [-1.0, 5.0]
    assert REST_LIMIT_FRACTION["velocity"] == 1e-6


def test_a_mutant_that_no_longer_calls_super_takes_its_place_too(script: ModuleType) -> None:
    module = "excitation/constraints/workspace.py"
    wanted = next(m for m in script.mutants(module) if m.function == "Box.settle" and "super()" in m.change)
    loaded = importlib.import_module(script.name_of(module))
    original = loaded.Box.settle
    script.graft(loaded, wanted.code())
    try:
        box = loaded.Box(embedded.robot("panda"), "nowhere", np.zeros(3))
    finally:
        loaded.Box.settle = original
    assert box.frame == "nowhere"
    with pytest.raises(RobotError, match="unknown frame 'nowhere'"):
        loaded.Box(embedded.robot("panda"), "nowhere", np.zeros(3))


@pytest.mark.parametrize(
    "module", ["excitation/files/trajectory_files.py", "identification/uncertainty/residual_autocorrelation.py"]
)
def test_every_mutant_is_code_that_python_takes(script: ModuleType, module: str) -> None:
    """One that Python refuses is noticed by no test, and yet ends as if it were."""
    found = script.mutants(module)
    assert any("⟦min(" in mutant.change for mutant in found)
    assert [mutant.change for mutant in found if not mutant.code().co_consts] == []


def test_messages_annotations_and_docstrings_stay_as_they_are(script: ModuleType) -> None:
    """One change at a time, of what is computed; each told in a way that survives other lines moving."""
    slowing = ("slowed", "_slowed", "_polynomial", "_fourier", "certified_slowed")
    found = [mutant for mutant in script.mutants("excitation/files/trajectory_files.py") if mutant.function in slowing]
    changes = [mutant.change for mutant in found]
    assert "if not ⟦SLOWEST <= → SLOWEST <⟧ speed <= 1.0:" in changes or any("speed" in c for c in changes)
    assert all(change.count("⟦") == 1 for change in changes)
    assert not any("100.0" in change.split("⟦")[1].split("⟧")[0] for change in changes if "raise" not in change)
    assert len({mutant.key for mutant in found}) == len(found)
