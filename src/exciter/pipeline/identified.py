"""What an identification gives: one result that predicts, shows, saves and exports itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exciter.archive import opened
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, unknown_name
from exciter.experiment.quality import Quality
from exciter.export.write import formats_by_suffix, write_model
from exciter.files import path_of
from exciter.identification.drive_gains import DriveGains
from exciter.identification.identification import Identification
from exciter.identification.identified_model import RESULT_ARCHIVE, RESULT_SEAL, ROBOT_COPY, IdentifiedModel
from exciter.identification.identify_config import IdentifyConfig
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.payload import PayloadEstimate
from exciter.identification.selection.cross_validated_trial import Choice
from exciter.identification.selection.friction_choice import FrictionChoice
from exciter.identification.uncertainty.drift import Drift
from exciter.labelled import Labelled, Parameter, Table
from exciter.notes import Note, notable
from exciter.pipeline.logs import Logs
from exciter.pipeline.provenance import versions
from exciter.report.identification.report import Answers, identification_page
from exciter.report.page import Page
from exciter.robot.motion import Motion, as_numbers
from exciter.robot.robot import Robot
from exciter.typing import Array
from exciter.validation.comparison import Comparison
from exciter.validation.friction_curves import FrictionCurve
from exciter.validation.inertia_matrix import InertiaMatrix
from exciter.validation.known_load import KnownLoad
from exciter.validation.validation import Validation, ValidationVerdict, validate_both

UNTIMED_INTERVAL = 1.0  #: [s] between the samples of a motion that has no time


@dataclass(frozen=True, eq=False, kw_only=True)
class Identified:
    """All that an identification gives: result.json, the report and what is printed are made from it alone.

    identification: the problem, the answer, and how it does. logs: as they were read and judged, the robot as it
    stands, and the settings with everything chosen. choices: what was chosen, and why. description: the robot's file,
    sha256: of it, as it was.

    >>> found
    <... parameters of gautier-khalil; residual / torque: recording 1 ... %>
    >>> found.torque(q=[0.1, 0.2, 0.3], qd=[0, 0, 0], qdd=[0, 0, 0]).shape
    (3,)
    >>> [path.name for path in found.export("identified.yaml")]
    ['identified.yaml']
    """

    identification: Identification
    logs: Logs
    choices: tuple[Choice, ...] = ()
    friction: FrictionChoice | None = None
    gains: DriveGains | None = None
    payload: PayloadEstimate | None = None
    known_load: KnownLoad | None = None
    inertia: InertiaMatrix | None = None
    drifts: tuple[Drift, ...] = ()
    comparison: Comparison | None = None
    description: Path | None = None
    sha256: str | None = None
    versions: Mapping[str, str] = field(default_factory=versions)

    archived_caches: ClassVar[tuple[str, ...]] = ("_validated",)  #: of samples that are not kept

    # -- what was found ----------------------------------------------------------------------------------------------

    @property
    def estimate(self) -> Estimate:
        return self.identification.estimate

    @property
    def model(self) -> DynamicModel:
        return self.identification.problem.model

    @property
    def robot(self) -> Robot:
        """As it stood when the logs were recorded."""
        return self.model.robot

    @cached_property
    def parameters(self) -> Table:
        """Base parameters with their standard deviations."""
        found, base = self.estimate, self.identification.problem.base
        low, high = found.interval()
        columns = zip(
            found.names,
            found.values.tolist(),
            found.std.tolist(),
            found.units,
            found.relative_std_percent.tolist(),
            zip(low.tolist(), high.tolist(), strict=True),
            found.status,
            base.expressions,
            strict=True,
        )
        return Table(Parameter(*row) for row in columns)

    @property
    def standard(self) -> dict[str, float] | None:
        """A full set of standard parameters by name, where one was found."""
        found, names = self.estimate.standard, self.identification.problem.base.standard
        return None if found is None else dict(zip(names, found.tolist(), strict=True))

    @property
    def covariance(self) -> Labelled:
        """(p, p) of the base parameters."""
        names, title = self.estimate.names, "covariance, in the units of the parameters"
        return Labelled(title, self.estimate.covariance, names, ("",) * len(names), names, "parameter")

    @property
    def correlation(self) -> Labelled:
        """(p, p) of the errors of the base parameters; zero where one is certain."""
        scale = np.outer(self.estimate.std, self.estimate.std)
        values = np.divide(self.estimate.covariance, scale, out=np.zeros_like(scale), where=scale > 0.0)
        return replace(self.covariance, title="correlation", values=values)

    def torque(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, time: ArrayLike | None = None) -> Array:
        """(N, n) [N·m or N] that the drives give along a motion (N, n), or (n,) at one instant."""
        rows = [np.atleast_2d(as_numbers(x, name)) for x, name in ((q, "q"), (qd, "qd"), (qdd, "qdd"))]
        instants = np.asarray(np.arange(len(rows[0])) * UNTIMED_INTERVAL if time is None else time, dtype=np.float64)
        found = self.as_model.torque(Motion(instants, *rows))
        return found[0] if np.ndim(q) == 1 else found

    # -- how good it is ----------------------------------------------------------------------------------------------

    @cached_property
    def _validated(self) -> tuple[Validation, Validation]:
        return validate_both(self.identification, self.logs.validation_runs)

    @property
    def fit(self) -> Validation:
        """How the model does on the runs it was made from; on their samples where they are read piece by piece."""
        return self._validated[0]

    @property
    def validation(self) -> Validation:
        """The same on held-out runs; empty where there is none."""
        return self._validated[1]

    @cached_property
    def verdict(self) -> ValidationVerdict:
        return ValidationVerdict(self.fit, self.validation)

    @property
    def friction_curves(self) -> tuple[FrictionCurve, ...]:
        """Of each joint over its velocity, as identified and as measured."""
        return self.verdict.friction_curves

    @property
    def physically_consistent(self) -> bool | None:
        return self.identification.physically_consistent

    @property
    def quality(self) -> Mapping[str, Quality]:
        """What the check of each log found, by its name."""
        return self.logs.quality

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person should see: on the logs and what was made of them, and on what changed along them."""
        return (*notable(self.logs.notes), *(drift.note for drift in self.drifts))

    # -- as asked for ------------------------------------------------------------------------------------------------

    @property
    def config(self) -> IdentifyConfig:
        """With everything chosen in it, so that it asks for the same again."""
        return self.logs.config

    @property
    def held_out(self) -> tuple[Problem, ...]:
        """Of each run that validates."""
        return tuple(replace(self.identification.judge, runs=(run,)) for run in self.logs.validation_runs)

    def plot(self, joint: str | None = None, axes: Any = None) -> Any:
        """Measured and predicted torque of a joint, on held-out data where there are any; matplotlib's axes."""
        return self.verdict.decisive.plot(joint, axes)

    def to_pandas(self) -> Any:
        """The parameters as a DataFrame."""
        return self.parameters.to_pandas()

    # -- shown, saved, exported --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The content of result.json."""
        from exciter.pipeline.result_json import result_data

        return result_data(self)

    @cached_property
    def as_model(self) -> IdentifiedModel:
        """What predicts, validates and is exported."""
        made = (self.model, self.config)
        return IdentifiedModel.of(self.to_dict(), self.robot, made=made, description=self.description)

    def save(self, folder: str | Path) -> Path:
        """The files of ``exciter identify``: all of them or none. ``open`` reads them back."""
        from exciter.pipeline.saving import save_identified

        save_identified(self, Path(folder))
        return Path(folder)

    @classmethod
    def open(cls, folder: str | Path) -> Identified:
        """What ``save``, or the command, wrote; samples of logs stay where they are."""
        found = opened(Path(folder), RESULT_SEAL, RESULT_ARCHIVE, cls)
        with_copy = replace(found, description=next(Path(folder).glob(f"{ROBOT_COPY}.*"), None))
        vars(with_copy).update({name: getattr(found, name) for name in cls.archived_caches})
        return with_copy

    def export(self, path: str | Path, format: str | None = None) -> tuple[Path, ...]:
        """For another tool: format by its word, or by the suffix of the file."""
        path = path_of(path, "the file to write")
        if format is None:
            known = formats_by_suffix()
            if path.suffix not in known:
                raise ExciterError(unknown_name("suffix", path.suffix, known) + ", or give format=")
            format = known[path.suffix]
        return write_model(self.as_model, path, format)

    def report(self) -> Page:
        """The whole report, which a notebook shows, and ``write`` keeps."""
        answers = Answers(
            self.payload,
            self.gains,
            self.friction,
            self.comparison,
            self.inertia,
            self.known_load,
            choices=self.choices,
        )
        return identification_page(
            self.identification,
            self.config.to_dict(),
            self.held_out,
            self.notes,
            answers,
            quality=self.quality,
            fit=self.fit,
            unseen=self.validation,
        )

    def _repr_html_(self) -> str:
        return self.report().head

    def __repr__(self) -> str:
        left = ", ".join(f"{one.run} {one.total_percent:.3g} %" for one in (*self.fit, *self.validation))
        return f"<{len(self.parameters)} parameters of {self.robot.name}; residual / torque: {left}>"
