"""The files of drives that were found, named apart from what fits them: every command that writes a file must know what
belongs to which set, and should not wait for MuJoCo to know it."""

from __future__ import annotations

from exciter.export.drive_snippets import DRIVE_SNIPPETS
from exciter.files import Seal
from exciter.pipeline.saving import REPORT_FILE

ACTUATORS_FILE = "actuators.json"
DRIVES_FILE = "identified"  #: and the suffix of the description
DESCRIPTIONS = (".xml", ".mjcf", ".urdf")
ACTUATORS_SEAL = Seal(
    ACTUATORS_FILE,
    (*(f"{DRIVES_FILE}{suffix}" for suffix in DESCRIPTIONS), *(one.file for one in DRIVE_SNIPPETS), REPORT_FILE),
    "fit again",
)
