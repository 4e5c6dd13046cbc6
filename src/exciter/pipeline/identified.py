"""What an identification gives: one result that predicts, shows, saves and exports itself; result.json is made here."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exciter.archive import archived, opened
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, unknown_name
from exciter.excitation.files.trajectory_files import DESIGN
from exciter.experiment.quality import Quality
from exciter.export.write import EXPORTS, Urdf, write_model
from exciter.files import inside, path_of, prepare, staged
from exciter.files import sha256 as hash_of
from exciter.identification import identified_model as saved
from exciter.identification.equation_filter import EquationFilter
from exciter.identification.estimators.staged import STAGE_NOISE, STAGE_SUBJECT
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.identification import Identification
from exciter.identification.identified_model import IdentifiedModel, read_result
from exciter.identification.identify_config import IdentifyConfig, judged_words
from exciter.identification.information.estimate import Estimate
from exciter.identification.information.problem import Problem
from exciter.identification.uncertainty.drift import Drift
from exciter.identification.uncertainty.missing_terms import MODEL_SUBJECT
from exciter.labelled import Labelled, Parameter, Table
from exciter.notes import Note, Severity, in_one_line, notable, texts
from exciter.pipeline.drive_files import ACTUATORS_SEAL
from exciter.pipeline.followed import FOLLOWED_SEAL, Followed
from exciter.pipeline.logs import Logs
from exciter.pipeline.saving import CAMPAIGN_SEAL, FLEET_SEAL, REPORT_FILE, versions
from exciter.report.identification.report import Answers, identification_page
from exciter.report.page import Page
from exciter.robot.motion import Motion, as_numbers
from exciter.robot.robot import Robot
from exciter.settings import written
from exciter.typing import Array
from exciter.validation.friction_curves import FrictionCurve
from exciter.validation.validation import Validation, ValidationVerdict, validate_both

if TYPE_CHECKING:
    from exciter.pipeline.campaign import Campaign
    from exciter.pipeline.design import Designed
    from exciter.pipeline.fleet import Fleet
    from exciter.validation.drive_comparison import DriveTable

UNTIMED_INTERVAL = 1.0  #: [s] between the samples of a motion that has no time
#: of a parameter in result.json
PARAMETER_KEYS = (
    *("name", "value", "std", "relative_std_percent", "status", "unit", "expression", "interval"),
    *("ratio_to_best", "poor_by_ratio"),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Identified(Answers):
    """All that an identification gives: result.json, the report and what is printed are made from it alone.

    identification: the problem, the answer, and how it does. logs: as they were read and judged, the robot as it
    stands, and the settings with everything chosen. choices: what was chosen, and why. description: the robot's file,
    sha256: of it, as it was.

    >>> found
    <... parameters of gautier-khalil; residual / torque: recording 1 ... %>
    >>> found.torque(q=[0.1, 0.2, 0.3], qd=[0, 0, 0], qdd=[0, 0, 0]).shape
    (3,)
    >>> [path.name for path in found.export("identified.yaml")]
    ['identified.yaml']"""

    identification: Identification
    logs: Logs
    drifts: tuple[Drift, ...] = ()
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
        numbers = (found.values.tolist(), found.std.tolist(), found.units, found.relative_std_percent.tolist())
        interval = zip(low.tolist(), high.tolist(), strict=True)
        words = (found.status, base.expressions, found.ratio_to_best.tolist(), found.poor_by_ratio)
        rows = zip(found.names, *numbers, interval, *words, strict=True)
        return Table(Parameter(*row) for row in rows)

    @property
    def standard(self) -> dict[str, float] | None:
        """A full set of standard parameters by name, where one was found."""
        found = self.estimate.standard
        return None if found is None else dict(zip(self.model.standard, found.tolist(), strict=True))

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
        """How good it is, in words: ``lines`` are what the command ends with."""
        return ValidationVerdict(self.fit, self.validation, self.notes)

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
        """What a person should see: on the logs and what was made of them, on what changed along them, and on what the
        model lacks."""
        lacking = [one for one in self.estimate.notes if one.subject == MODEL_SUBJECT]
        return (*notable(self.logs.notes), *(drift.note for drift in self.drifts), *lacking)

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

    @property
    def stages(self) -> dict[str, Any]:
        """plan: the stages of a plan, each with its purpose and its log; stages: those of the estimate, what each
        determined from how many equations, with σ of one of them by joint. Nothing where there are none."""
        found = dict[str, Any]()
        if planned := self.config.planned:
            rows = [{"stage": one.stage, "purpose": one.purpose, "log": one.run} for one in planned]
            found["plan"] = {"experiment": planned[0].experiment, "stages": rows}
        sizes = {
            one.numbers["stage"]: one.numbers["noise"] for one in self.estimate.notes if one.subject == STAGE_NOISE
        }
        made = [dict(one.numbers) for one in self.estimate.notes if one.subject == STAGE_SUBJECT]
        if made:
            found["stages"] = [{**one, "noise": sizes.get(one["stage"], {})} for one in made]
        return found

    def to_dict(self) -> dict[str, Any]:
        """The content of result.json: the promised keys first, then what else is worth keeping."""
        return {**self._found, "verdict": self.verdict.to_dict()}

    @property
    def _found(self) -> dict[str, Any]:
        """The same without the verdict, which takes as long as the report."""
        found, estimate, problem, robot = self.identification, self.estimate, self.identification.problem, self.robot
        return {
            "parameters": [{key: getattr(one, key) for key in PARAMETER_KEYS} for one in self.parameters],
            "residuals": found.fit.residuals.to_dict(),
            "total_percent": found.fit.residuals.total_percent,
            "validation": [
                {
                    "log": one.run,
                    "joints": one.residuals.to_dict(),
                    "total_percent": one.residuals.total_percent,
                    "description_percent": one.description.total_percent,
                }
                for one in found.validation
            ],
            "condition_number": estimate.condition_number,
            "condition_number_normalized": estimate.condition_number_normalized,
            "physically_consistent": found.physically_consistent,
            "settings": self.config.to_dict(),
            "error_bounds": None if found.bounds is None else found.bounds.to_dict(),
            **self.stages,
            "terms": written(problem.model.terms),
            **_stances(problem),
            **_judge(found.judge),
            "covariance": estimate.covariance.tolist(),
            "assumption": in_one_line(estimate.assumptions),
            "noise": dict(zip(estimate.joints, estimate.noise.tolist(), strict=True)),
            "degrees_of_freedom": estimate.freedom,
            "equations": int(problem.compressed.rows.sum()),
            "standard": self.standard,
            "description": {
                "joints": found.fit.description.to_dict(),
                "total_percent": found.fit.description.total_percent,
            },
            "payload": _plain(self.payload),
            "friction": _plain(self.friction),
            "automatic": [choice.to_dict() for choice in self.choices],
            "gains": _plain(self.gains),
            "gain_ratios": _plain(self.gain_ratios),
            "drift": [drift.sentence for drift in self.drifts],
            "inertia_matrix": _plain(self.inertia),
            "known_load": _plain(self.known_load),
            "comparison": _plain(self.comparison),
            "words": texts((*estimate.notes, *(one for one in self.logs.notes if one.severity is Severity.DONE))),
            "reasons": texts(found.reasons),
            "quality": {name: quality.verdict for name, quality in self.quality.items()},
            "notes": [str(one) for one in notable(self.logs.notes)],
            "runs": [
                {
                    "log": one.name,
                    "sources": [{"name": source.name, "sha256": source.sha256} for source in one.sources],
                    "words": texts(one.notes),
                    "span": None if one.span is None else list(one.span),
                }
                for one in problem.runs
            ],
            "robot": {
                "name": robot.name,
                "joints": list(robot.joint_names),
                "gravity": robot.gravity.tolist(),
                "sha256": self.sha256,
                "file": None if self.description is None else copy_name(self.description),
            },
            "seconds": found.seconds,
            "versions": dict(self.versions),
        }

    @property
    def predicts(self) -> bool:
        """Whether it has what torques, or currents, are predicted from: equations of the base alone have not."""
        return self.estimate.names == saved.predicting_names(self.model, self.config)

    @cached_property
    def as_model(self) -> IdentifiedModel:
        """What predicts, validates and is exported; refused where nothing is predicted."""
        return replace(IdentifiedModel.of(self._found, self.model, self.config), description=self.description)

    def save(self, folder: str | Path) -> Path:
        """The files of ``exciter identify``: all of them or none. ``open`` reads them back."""
        self.write(Path(folder))
        return Path(folder)

    def write(self, folder: Path) -> dict[str, Any]:
        """Write result.json, result.npz, a copy of the description where there is one, the report and, of a full set,
        identified.urdf, with the lines of closed loops beside it; the content of result.json."""
        prepare(folder)
        refuse_copy(self.description, folder)
        if self.description is not None and self.sha256 not in (None, hash_of(self.description)):
            raise ExciterError(
                f"'{self.description}' has changed since it was identified from: the result is of another robot "
                "than the file describes now; put the file back, or identify again"
            )
        data = self.to_dict()
        with staged(folder, saved.RESULT_SEAL, remove=unsealed_result(folder)) as stage:
            if self.description is not None:
                shutil.copyfile(self.description, stage / copy_name(self.description))
            if self.physically_consistent and self.predicts:
                for name, text in Urdf().texts(self.as_model, Path(saved.IDENTIFIED_URDF)).items():
                    (stage / name).write_text(text, encoding="utf-8", newline="")
            (stage / saved.RESULT_ARCHIVE).write_bytes(archived(self))
            self.report().write(stage / REPORT_FILE)
            return saved.RESULT_SEAL.write(stage, data)

    @classmethod
    def open(cls, folder: str | Path) -> Identified:
        """What ``save``, or the command, wrote; samples of logs stay where they are."""
        found = opened(Path(folder), saved.RESULT_SEAL, saved.RESULT_ARCHIVE, cls)
        with_copy = replace(found, description=next(Path(folder).glob(f"{saved.ROBOT_COPY}.*"), None))
        vars(with_copy).update({name: getattr(found, name) for name in cls.archived_caches})
        return with_copy

    def export(self, path: str | Path, format: str | None = None, *, stateless: bool = False) -> tuple[Path, ...]:
        """For another tool: format by its word, or by the suffix of the file. stateless: C and Python whose pre-sliding
        friction remembers nothing, and is the direction of motion."""
        path = path_of(path, "the file to write")
        if format is None:
            known = {one.suffixes[0]: one.word for one in EXPORTS}  # those that were added by others, too
            if path.suffix not in known:
                several = [f"format='{one.word}'" for one in EXPORTS if path.suffix in one.suffixes]
                if several:
                    raise ExciterError(f"'{path.name}' may be a file of several kinds; give {' or '.join(several)}")
                raise ExciterError(unknown_name("suffix", path.suffix, known))
            format = known[path.suffix]
        return write_model(self.as_model, path, format, stateless=stateless)

    def report(self) -> Page:
        """The whole report, which a notebook shows, and ``write`` keeps."""
        return identification_page(
            self.identification,
            self.verdict,
            self.config.to_dict(),
            self.logs.validation_runs,
            answers=self,
            quality=self.quality,
        )

    def _repr_html_(self) -> str:
        return self.report().head

    def __repr__(self) -> str:
        left = ", ".join(f"{one.run} {one.total_percent:.3g} %" for one in (*self.fit, *self.validation))
        measured = self.verdict.judged.stacked.measured
        return f"<{len(self.parameters)} parameters of {self.robot.name}; residual / {measured}: {left}>"


def open(folder: str | Path) -> Identified | Designed | Followed | Campaign | Fleet | DriveTable:
    """What ``save`` or a command wrote: an identification, a design, what was followed, a campaign, a fleet, or the
    table of drives.

    >>> folder = found.save("found")
    >>> ex.open(folder).parameters.names == found.parameters.names
    True"""
    place = path_of(folder, "the folder")
    if saved.RESULT_SEAL.is_there(place):
        return Identified.open(place)
    if DESIGN.is_there(place):
        from exciter.pipeline.design import Designed  # with all that searches

        return Designed.open(place)
    if FOLLOWED_SEAL.is_there(place):
        return Followed.open(place)
    if CAMPAIGN_SEAL.is_there(place):
        from exciter.pipeline.campaign import Campaign  # it is made of both

        return Campaign.open(place)
    if FLEET_SEAL.is_there(place):
        from exciter.pipeline.fleet import Fleet

        return Fleet.open(place)
    if ACTUATORS_SEAL.is_there(place):
        from exciter.pipeline.actuators import saved_drives  # MuJoCo takes a while to load

        return saved_drives(place)
    seals = (saved.RESULT_SEAL, DESIGN, FOLLOWED_SEAL, CAMPAIGN_SEAL, FLEET_SEAL)
    none = f"neither {', '.join(one.name for one in seals)} nor {ACTUATORS_SEAL.name}"
    raise ExciterError(f"'{folder}' has {none}; give a folder that was saved")


def _plain(answer: Any) -> dict[str, Any] | None:
    found: dict[str, Any] | None = None if answer is None else answer.to_dict()
    return found


def _stances(problem: Problem) -> dict[str, Any]:
    """Contacts of unknown force in which the robot was looked at, where it was: frame, kind, radius [m]."""
    found = [[list(astuple(contact)) for contact in stance] for stance in problem.model.stances]
    return {"stances": found} if found else {}


def _judge(problem: Problem) -> dict[str, Any]:
    """What residuals were judged through, and which equations were left out, as a configuration has them; in words."""
    judge, data = problem.formulation, {"judged_through": "none", "dead_zone": {}}  # of a force plate's
    if isinstance(judge, InverseDynamic):
        zone = judge.zone(problem.model).tolist()
        data["judged_through"] = written(EquationFilter.of(judge.parallel_filter))
        data["dead_zone"] = dict(zip(problem.model.robot.joint_names, zone, strict=True))
    return {**data, "percentages": judged_words(judge)}


def copy_name(description: Path) -> str:
    """Of the description's copy beside result.json."""
    return f"{saved.ROBOT_COPY}{description.suffix}"


def refuse_copy(description: Path | None, folder: Path) -> None:
    """A file of somebody else's is not written over by the copy of the description, where there is one."""
    if description is None:
        return
    target = folder / copy_name(description)
    before = {*saved.RESULT_SEAL.recorded(folder), *(path.name for path in unsealed_result(folder))}
    ours = target.name in before or not target.exists()
    if not ours and hash_of(target) != hash_of(description):
        raise ExciterError(f"'{target}' is there, and of no earlier result; choose another folder with -o")


def unsealed_result(folder: Path) -> tuple[Path, ...]:
    """Companions of a result of an earlier version, which has no hashes of them; none that could be another's."""
    if saved.RESULT_SEAL.recorded(folder):
        return ()
    try:
        data = read_result(folder)
        copy = inside(folder, data["robot"]["file"])
        ours = copy.stem == saved.ROBOT_COPY and copy.is_file() and hash_of(copy) == data["robot"]["sha256"]
    except (ExciterError, KeyError, TypeError):
        return ()
    found = ((copy,) if ours else ()) + ((folder / saved.IDENTIFIED_URDF,) if data.get("physically_consistent") else ())
    return tuple(path for path in found if path.is_file())
