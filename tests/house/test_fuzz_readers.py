"""A sample of ``benchmarks/fuzz_readers.py``: damaged files of every kind are read, or refused in one line."""

import random
import time
from dataclasses import replace

import pytest

from exciter.errors import ExciterError
from support.scripts import benchmark

pytestmark = pytest.mark.slow

fuzz = benchmark("fuzz_readers")
PER_WEIGHT = 6  # inputs


class Never(random.Random):
    """Leaves out optional steps."""

    def random(self):
        return 0.99


@pytest.mark.parametrize("name", fuzz.READERS)
def test_a_damaged_file_is_read_or_refused_in_one_line(name, tmp_path):
    count = 10 + round(PER_WEIGHT * fuzz.READERS[name].weight)
    said = [fuzz.trial(name, seed, tmp_path) for seed in range(count)]
    assert [(seed, one) for seed, one in enumerate(said) if one] == []
    assert None in said  # some are refused, or nothing was damaged


@pytest.mark.parametrize("name", fuzz.READERS)
def test_the_files_that_are_damaged_are_valid(name, tmp_path):
    """Else only the first lines of a reader would ever be tried."""
    accepted = 0
    for number, (suffix, _, content) in enumerate(fuzz.seeds_of(name)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / f"input{suffix}").write_bytes(content)
        try:
            fuzz.READERS[name].read(folder / f"input{suffix}", Never(0))
            accepted += 1
        except ExciterError:
            continue
    assert accepted >= 1


def test_the_same_seed_makes_the_same_file():
    assert [fuzz.made("mjcf", seed) for seed in range(20)] == [fuzz.made("mjcf", seed) for seed in range(20)]


def failing(path, rng):
    raise ZeroDivisionError("as some reader might")


def sleeping(path, rng):
    time.sleep(60.0)


def spinning(path, rng):
    while True:
        pass


def greedy(path, rng):
    bytearray(700 << 20)[:: 1 << 12] = b"x" * (700 << 8)  # touched, not only asked for


@pytest.mark.parametrize(
    ("read", "word"), [(failing, "ZeroDivisionError"), (sleeping, "hang: "), (spinning, "hang: "), (greedy, "memory: ")]
)
def test_the_run_finds_what_must_not_happen(read, word, monkeypatch):
    monkeypatch.setattr(fuzz, "SECONDS", 0.2 if read is spinning else 60.0)
    monkeypatch.setattr(fuzz, "PATIENCE", 0.5 if read is sleeping else 600.0)
    one = replace(fuzz.READERS["yaml"], read=read)
    monkeypatch.setitem(fuzz.READERS, "bad", one)
    monkeypatch.setattr(fuzz, "warm", lambda name: None)
    tally = fuzz.run({"bad": 2}, 0, 1, lambda line: None)["bad"]
    assert tally.inputs == 2
    assert [seed for seed, _ in tally.findings if word in _] == [0, 1]
