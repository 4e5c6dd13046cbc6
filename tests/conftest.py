"""Robots that the whole suite is run on, and small helpers around Pinocchio, the oracle."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import settings

from exciter.dynamics.kernels import cache as kernel_cache
from exciter.experiment.recording import Recording, open_recording
from exciter.robot import Joint, Limits, Motion, Robot, library, load

ROBOTS = Path(__file__).parent / "robots"
SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("COLUMNS", None)  # that of the terminal, passed on to the workers: lines would break anywhere
else:
    # Workers share the cores and start with this; threads of their own would wait for each other, at full speed.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

kernel_cache._tell = lambda: None  # said on a fresh machine only; what commands say is the same on every machine

#: Long files, longest first, so that none of them comes last. The first two need different kernels: on a machine where
#: nothing is compiled yet, two workers then do not both compile the same.
LONG_FILES = (
    "test_reproduce_swevers_asme.py",
    "test_real.py",
    "test_parts.py",
    "test_reproduce_khalil_dombre_procedures.py",
    "test_reproduce_gautier_khalil_noise.py",
    "test_reproduce_rackl.py",
    "test_reproduce_khalil_dombre.py",
    "test_reproduce_gautier_khalil.py",
    "test_reproduce_swevers_ieee_experiment.py",
    "test_reproduce_swevers_ieee.py",
    "test_closed_loop_estimators.py",
    "test_quality.py",
    "test_report_in_browser.py",
    "test_docs.py",
)

# The same examples on every run, so that a failure is the change's; HYPOTHESIS_PROFILE=default looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {name: k for k, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))


def benchmark(name: str) -> ModuleType:
    """A script of benchmarks/ as a module: what it measures, tests may check."""
    specification = importlib.util.spec_from_file_location(
        name, Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q[:, [1, 0, 2]]


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """Ten parameters of a random cloud of point masses: physically consistent by construction."""
    from exciter.robot.spatial import from_pseudo_inertia

    points = np.column_stack([0.3 * rng.standard_normal((8, 3)), np.ones(8)])
    return from_pseudo_inertia((points.T * rng.uniform(0.1, 1.0, 8)) @ points)


def random_robot(seed: int, n: int, *, tree: bool = False, prismatic: float = 0.3, aligned: bool = False) -> Robot:
    """Any placements, any axes, any gravity; a tree when asked."""
    rng = np.random.default_rng(seed)
    joints, path = [], [-1]  # depth first, as Pinocchio's composite-body algorithms want it
    for i in range(n):
        path = path[: int(rng.integers(1, len(path) + 1))] if tree else path
        axis = np.array([0.0, 0.0, 1.0]) if aligned else rng.standard_normal(3)
        joints.append(
            Joint(
                f"j{i + 1}",
                "prismatic" if rng.random() < prismatic else "revolute",
                path[-1],
                random_rotation(rng),
                0.4 * rng.standard_normal(3),
                axis / np.linalg.norm(axis),
                Limits(-2.5, 2.5, 2.0, 5.0),
                random_inertia(rng),
            )
        )
        path = [*path, i]
    return Robot(f"random-{seed}", tuple(joints), gravity=5.0 * rng.standard_normal(3))


def states(robot: Robot, samples: int, seed: int = 0) -> Motion:
    rng = np.random.default_rng(seed)
    q = rng.uniform(-2.5, 2.5, (samples, robot.n))
    qd, qdd = rng.uniform(-2.0, 2.0, (2, samples, robot.n))
    return Motion.at(q, qd, qdd)


def smooth_motion(robot: Robot, time: np.ndarray, seed: int = 0) -> Motion:
    """An analytic motion with exact derivatives: two incommensurate sines per joint."""
    rng = np.random.default_rng(seed)
    a, w, p = rng.uniform(0.2, 0.8, (2, robot.n)), rng.uniform(0.5, 3.0, (2, robot.n)), rng.uniform(0, 6, (2, robot.n))
    phase = w[:, None] * time[:, None] + p[:, None]
    q, qd, qdd = a[:, None] * np.sin(phase), (a * w)[:, None] * np.cos(phase), -(a * w * w)[:, None] * np.sin(phase)
    return Motion(time, q.sum(0), qd.sum(0), qdd.sum(0))


CASES = {
    **{name: (lambda name=name: library.embedded(name)) for name in library.names()},
    "gantry": lambda: load(ROBOTS / "gantry.urdf"),
    "two-arms": lambda: load(ROBOTS / "two_arms.urdf"),
    "random-serial": lambda: random_robot(1, 6),
    "random-tree": lambda: random_robot(2, 7, tree=True),
    "prismatic-only": lambda: random_robot(3, 3, prismatic=1.0),
    "one-joint": lambda: random_robot(4, 1, prismatic=0.0),
}


def random_gravity(name: str) -> np.ndarray:
    """Another direction, and another strength, for every robot."""
    rng = np.random.default_rng(sum(name.encode()))
    return rng.uniform(2.0, 12.0) * random_rotation(rng)[0]


@pytest.fixture(params=list(CASES), scope="session")
def any_robot(request: pytest.FixtureRequest) -> Robot:
    """Every embedded robot, and robots with prismatic joints, trees, and axes in any direction; gravity tilted too."""
    return CASES[request.param]()


def require_data(name: str) -> Path:
    folder = SHARED_DATA / name
    if not folder.is_dir():
        pytest.skip(f"the recorded logs are not beside the project: {folder.name} is missing")
    return folder


def real_recording(robot: str, which: str = "recording") -> Recording:
    """A log of a real robot as examples/real describes it, whole: without the windows that split it."""
    require_data(robot)
    file = open_recording(Path(__file__).parents[1] / "examples" / "real" / robot / f"{which}.yaml", SHARED_DATA)
    return replace(file, description=replace(file.description, windows=())).read()


@pytest.fixture(scope="session")
def panda():
    """A design to be reported."""
    from report_designs import designed

    return designed(library.embedded("panda"))


@pytest.fixture(scope="session")
def panda_report(panda, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from exciter.report.design_report import design_page

    path = tmp_path_factory.mktemp("report") / "new folder" / "report.html"
    design_page(panda, settings={"command": "exciter design panda"}).write(path)
    return path
