"""Results as folders: all files of a result or none, and never over a file of somebody else's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from exciter.errors import ExciterError
from exciter.export.urdf import identified_urdf
from exciter.files import inside, prepare, sha256, staged
from exciter.identification.identified import COPY, SEALED, URDF, read_result
from exciter.pipeline.identify import Identified
from exciter.pipeline.result_json import copy_name, result_data
from exciter.pipeline.validate import VALIDATED, Validated, validation_data
from exciter.report.identification.report import Answers, write_identification_report
from exciter.report.identification.validation_report import write_validation_report

REPORT = "report.html"

# -- an identification -----------------------------------------------------------------------------------------------


def save_identified(found: Identified, folder: Path) -> dict[str, Any]:
    """Write result.json, a copy of the description, the report and, of a full set, identified.urdf; the content of
    result.json."""
    if found.description is None:
        raise ExciterError("the result does not know the file of its robot, which belongs to it; identify with it")
    prepare(folder)
    refuse_foreign(found.description, folder)
    data = result_data(found)
    with staged(folder, SEALED, remove=unsealed_result(folder)) as stage:
        shutil.copyfile(found.description, stage / copy_name(found.description))
        if found.identification.physically_consistent:
            model, standard = found.identification.problem.model, found.estimate.standard
            text = identified_urdf(model, standard, found.description)
            (stage / URDF).write_text(text, encoding="utf-8", newline="")
        write_identification_report(
            found.identification,
            stage / REPORT,
            found.config.to_dict(),
            found.held_out,
            [*found.notes, *found.remarks],
            Answers(
                found.payload,
                found.gains,
                found.friction,
                found.comparison,
                found.inertia,
                found.known_load,
                choices=found.choices,
            ),
            quality=found.quality,
            fit=found.fit,
            unseen=found.validation,
        )
        return SEALED.write(stage, data)


def refuse_foreign(description: Path, folder: Path) -> None:
    """A file of somebody else's is not written over by the copy of the description."""
    target = folder / copy_name(description)
    before = {*SEALED.recorded(folder), *(path.name for path in unsealed_result(folder))}
    ours = target.name in before or not target.exists()
    if not ours and sha256(target) != sha256(description):
        raise ExciterError(f"'{target}' is there, and of no earlier result; choose another folder with -o")


def unsealed_result(folder: Path) -> tuple[Path, ...]:
    """Companions of a result of an earlier version, which has no hashes of them; none that could be another's."""
    if SEALED.recorded(folder):
        return ()
    try:
        data = read_result(folder)
        copy, digest = inside(folder, data["robot"]["file"]), data["robot"]["sha256"]
        ours = copy.stem == COPY and copy.is_file() and sha256(copy) == digest
    except (ExciterError, KeyError, TypeError):
        return ()
    found = ((copy,) if ours else ()) + ((folder / URDF,) if data.get("physically_consistent") else ())
    return tuple(path for path in found if path.is_file())


# -- a validation ----------------------------------------------------------------------------------------------------


def save_validated(checked: Validated, folder: Path) -> dict[str, Any]:
    """Write validation.json and the report; the content of validation.json."""
    prepare(folder)
    with staged(folder, VALIDATED) as stage:
        write_validation_report(
            checked.model,
            checked.validation,
            stage / REPORT,
            runs=checked.logs.runs,
            notes=checked.notes,
            quality=checked.logs.quality,
            inertia_matrix=checked.inertia,
            simulation=checked.simulations,
        )
        return VALIDATED.write(stage, validation_data(checked))
