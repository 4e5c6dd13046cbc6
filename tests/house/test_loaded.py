"""What commands load: numerics that take long to load, only where they are used. No times: which modules are there."""

import subprocess
import sys

import pytest

import exciter as ex

SCIPY = tuple(
    f"scipy.{name}" for name in ("stats", "signal", "optimize", "interpolate", "ndimage", "sparse", "spatial")
)
HEAVY = ("mujoco", "pinocchio", "numba", "jinja2", *SCIPY)
SAY = f"import sys; print(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)"
RUN = f"""
import atexit
def say():
    {SAY}
atexit.register(say)
from exciter.cli import main
main()
"""
IMPORTED = f"""
import importlib
for name in ("base", "check", "design", "export", "follow", "identify", "inspect", "simulate", "slow", "validate"):
    importlib.import_module("exciter.commands." + name)
{SAY}
"""


def loaded(code, *words):
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("robots",), ("schema",), ("base", "panda")], ids=str)
def test_commands_that_simulate_and_compile_nothing_load_none_of_it(words):
    assert loaded(RUN, *words) == set()


def test_a_certificate_takes_compiled_kernels_alone(tmp_path):
    robot = ex.load("gautier-khalil")
    ex.design(robot, ex.Fourier(period=2, harmonics=2), starts=1).save(tmp_path / "motion")
    assert loaded(RUN, "check", robot.name, tmp_path / "motion" / "trajectory.csv") == {"numba"}


def test_an_export_takes_its_templates_alone(tmp_path):
    robot = ex.load("gautier-khalil")
    motion = ex.design(robot, ex.Fourier(period=2, harmonics=2), starts=1)
    found = ex.identify(robot, ex.simulate(robot, motion).recording, estimator="wls")
    found.save(tmp_path / "found")
    assert loaded(RUN, "export", tmp_path / "found", "--format", "c", "-o", tmp_path / "arm.c") == {"jinja2"}


def test_before_commands_begin_nothing_of_it_is_there():
    """What fits drives, ``exciter actuators``, is MuJoCo's from the first line on."""
    assert loaded(IMPORTED) == set()
    assert "mujoco" in loaded(f"import exciter.commands.actuators\n{SAY}")
