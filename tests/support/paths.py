"""Where things are: the checkout, robots of the tests, logs of real robots beside the checkout."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
ROBOTS = ROOT / "tests" / "robots"
SHARED_DATA = ROOT.parent / "shared" / "data"
