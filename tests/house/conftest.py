"""What the tests of clusters share."""

from contextlib import suppress

import pytest


@pytest.fixture
def scheduler():
    """Of others, with two workers: its address, and what ends it."""
    distributed = pytest.importorskip("distributed")
    free_port = "127.0.0.1:0"  # another one may be at the usual port of dashboards
    quiet = {"silence_logs": 60, "dashboard_address": free_port}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as made:

        def end() -> None:
            with suppress(Exception):
                made.close(timeout=5)

        yield made.scheduler_address, end
