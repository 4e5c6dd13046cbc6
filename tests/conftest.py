"""Fixtures and the order of the tests."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

from exciter.dynamics.kernels import cache as kernel_cache
from exciter.robot import Robot
from exciter.robot import embedded_robots as embedded
from support.robots import CASES

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("COLUMNS", None)  # that of the terminal, passed on to the workers: lines would break anywhere
else:
    # Workers share the cores and start with this; threads of their own would wait for each other, at full speed.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

kernel_cache._tell = lambda: None  # said on a fresh machine only; what commands say is the same on every machine

#: Long files, longest first, so that none of them comes last.
LONG_FILES = (
    "test_story.py",
    "test_real.py",
    "test_examples.py",
    "test_memory.py",
    "test_notebooks.py",
    "test_reproduce_khalil_dombre_procedures.py",
    "test_reproduce_gautier_khalil_noise.py",
    "test_reproduce_rackl.py",
    "test_reproduce_swevers_asme.py",
    "test_automatic.py",
    "test_estimator_statistics.py",
    "test_workers.py",
    "test_quality.py",
    "test_front_door_inputs.py",
    "test_folders_whole.py",
    "test_points.py",
    "test_front_door.py",
    "test_maximum_likelihood.py",
    "test_automatic_prior.py",
    "test_pipeline_identify.py",
    "test_cli.py",
    "test_robust_estimators.py",
    "test_uncertainty.py",
    "test_baselines.py",
    "test_staged.py",
    "test_filtered_statistics.py",
    "test_report_in_browser.py",
    "test_hostile_values.py",
    "test_formulations.py",
    "test_closed_loop.py",
    "test_fuzz_readers.py",
    "test_same_body.py",
    "test_layering.py",
    "test_reproduce_khalil_dombre.py",
    "test_reproduce_gautier_khalil.py",
    "test_design_cli.py",
    "test_parts.py",
    "test_design.py",
    "test_reproduce_swevers_ieee_experiment.py",
    "test_reproduce_swevers_ieee.py",
    "test_docs.py",
)

# The same examples on every run, so that a failure is the change's; HYPOTHESIS_PROFILE=default looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {name: k for k, name in enumerate(LONG_FILES)}
    # It puts changed code in the place of the package's, which leaves other objects as defaults of settings behind.
    rank["test_mutations.py"] = len(rank) + 1
    items.sort(key=lambda item: rank.get(item.path.name, len(LONG_FILES)))


def pytest_collection_finish() -> None:
    """What was collected stays until the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=list(CASES), scope="session")
def any_robot(request: pytest.FixtureRequest) -> Robot:
    """Every embedded robot, and robots with prismatic joints, trees, and axes in any direction; gravity tilted too."""
    return CASES[request.param]()


@pytest.fixture(scope="session")
def panda():
    """A design to be reported."""
    from support.report_designs import designed

    return designed(embedded.robot("panda"))


@pytest.fixture(scope="session")
def panda_report(panda, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from exciter.report.design_report import design_page

    path = tmp_path_factory.mktemp("report") / "new folder" / "report.html"
    design_page(panda, settings={"command": "exciter design panda"}).write(path)
    return path
