"""Types hold: mypy, strictly. A test among the others, so that it runs beside them."""

import subprocess
import sys

import pytest

from support.paths import ROOT

pytestmark = pytest.mark.slow


def test_types_hold():
    checked = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
