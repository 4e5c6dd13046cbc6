"""Which sets of files commands write, and that no other file takes the place of one of them."""

from __future__ import annotations

import os
from pathlib import Path

from exciter.errors import ExciterError
from exciter.excitation.files.read import DESIGN
from exciter.files import Seal
from exciter.identification.identified import SEALED
from exciter.pipeline.validate import VALIDATED
from exciter.reproduction import NAMES

CHECKPOINT = "checkpoint.json"  #: of a design: what --resume goes on from


def paper_seal(name: str) -> Seal:
    """Of the files of a paper that was run again."""
    return Seal(f"{name}.json", (f"{name}.html", f"{name}.*.csv"), f"exciter reproduce {name}")


def refuse_parts_of_results(*paths: Path) -> None:
    """Refuse, before any work, to write a single file in place of one that belongs to a set: the set would be lost, and
    a motion that was certified with it."""
    for path in paths:
        for seal in (DESIGN, SEALED, VALIDATED, *map(paper_seal, NAMES)):
            if seal.owns(path):
                raise ExciterError(
                    f"'{path}' is one of the files that belong to {seal.name} beside it; choose another name"
                )
        if path.name.casefold() == CHECKPOINT and os.path.lexists(path):
            raise ExciterError(f"'{path}' is the checkpoint of a design; choose another name")
