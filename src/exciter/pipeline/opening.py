"""Logs and results from disk: one word for each."""

from __future__ import annotations

from pathlib import Path

from exciter.errors import ExciterError
from exciter.excitation.files.read import DESIGN
from exciter.experiment.recording import Recording, read_recording
from exciter.files import path_of
from exciter.identification.identified import SEALED
from exciter.pipeline.design import Designed
from exciter.pipeline.identified import Identified


def read(path: str | Path, data: str | Path | None = None) -> Recording:
    """A log: a recording.yaml that says how to read foreign files, or CSV, NPZ, MAT, bags of known kinds. data: folder
    of the files that a recording.yaml names. Logs larger than memory are given to ``identify`` by their path.

    >>> path = log.save("log.csv")
    >>> len(ex.read("log.csv")) == len(log)
    True
    """
    return read_recording(path_of(path, "the log"), data)


def open(folder: str | Path) -> Identified | Designed:
    """What ``save`` or a command wrote: an identification, or a design.

    >>> folder = found.save("found")
    >>> ex.open(folder).parameters.names == found.parameters.names
    True
    """
    place = path_of(folder, "the folder")
    if SEALED.is_there(place):
        return Identified.open(place)
    if DESIGN.is_there(place):
        return Designed.open(place)
    raise ExciterError(f"'{folder}' has neither {SEALED.name} nor {DESIGN.name}; give a folder that was saved")
