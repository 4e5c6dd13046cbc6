"""``identify:`` of the file of ``--config``, beside ``terms:`` and what is said of the robot.

terms: [rotor, viscous, coulomb, offset]   # these unless given; without rotor where torques are measured on the links
identify:
  automatic: true                          # what is left open below is chosen from the logs; so unless an estimator,
                                           # or a formulation that has no joint torques, is asked for
  formulation: dynamic                     # see ``formulations``
  estimator: consistent                    # see ``estimators``; wls where nothing is automatic
  route: {method: differences, cutoff: 20, measured_velocity: true}   # or fourier, spline; chosen unless given
  filter: {cutoff: 10}                     # both sides of the equations [Hz]; none; the cut-off of route: unless given
  dead_zone: 0.02                          # [rad/s, m/s], one or by joint: slower joints have no equation; 0: all have
  evaluation: {cutoff: 10, order: 4}       # percentages are of every sample through this [Hz]; as fitted unless given
  noise: [1.0, 1.0, 0.5]                   # σ of the torques [N·m], one or per joint; from residuals unless given
  uncertainty: correlated                  # or hac, independent
  folds: 10                                # of cross-validation
  control: {law: computed-torque, bandwidth: 20}   # for iv and didim, as under simulate:
  payload: flange                          # frame that carries the load of --loaded
  friction: choose                         # the friction model of each joint by cross-validation; as-given: not, also
                                           # when automatic
  gains: identify                          # drive gains of currents, from the known payload of one of the logs; or
  # gains: {M7: 0.74, ZZR1: [1.2, 0.1]}    # from parameters known beforehand: value, or value and σ (SI)
  accept_problems: false                   # also use logs that exciter inspect finds useless
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, shown
from exciter.excitation.config.robot_part import read_section, robot_options, whole_section
from exciter.excitation.config.section import Section, number
from exciter.excitation.trajectories.curve import Curve
from exciter.experiment.recording.about import LINK
from exciter.experiment.signals.route import Route
from exciter.experiment.virtual.config import KEYS as SIMULATE_KEYS
from exciter.experiment.virtual.config import control_of
from exciter.identification.config.estimators import WORDS as ESTIMATORS
from exciter.identification.config.estimators import Known, estimator_of
from exciter.identification.config.evaluation import evaluation_of
from exciter.identification.config.formulations import WORDS as FORMULATIONS
from exciter.identification.config.formulations import formulation_of
from exciter.identification.config.routes import differentiated, filter_of, noise_share, route_of
from exciter.identification.config.uncertainty import WORDS as UNCERTAINTY
from exciter.identification.config.words import word_with_settings
from exciter.identification.estimators.estimator import Estimator
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.formulations.inverse_dynamic import InverseDynamic
from exciter.identification.known_parameters import Known as KnownParameter
from exciter.identification.problem import FOLDS, Problem
from exciter.identification.run import Run
from exciter.parameters.terms.per_joint import PerJoint, per_joint
from exciter.parameters.terms.registry import joint_terms
from exciter.robot.options import RobotOptions
from exciter.robot.robot import Robot

KEYS = (
    "automatic",
    "formulation",
    "estimator",
    "route",
    "filter",
    "dead_zone",
    "evaluation",
    "noise",
    "uncertainty",
    "folds",
    "control",
    "payload",
    "friction",
    "gains",
    "accept_problems",
)
MOST_FOLDS = 1000  #: more would be single samples
SLOW = 0.01  #: of a joint's fastest: slower, it counts as resting
SIMULATED = ("iv", "didim")  #: estimators that need the controller
TERMS = ["rotor", "viscous", "coulomb", "offset"]  #: what a drive has, unless terms: says otherwise


@dataclass(frozen=True, eq=False)
class IdentifyConfig:
    """An identification as it was asked for; what depends on robot and logs is made when these are there.

    side: of the gears on which all logs measure torque (``Recording.side``); behind them no rotor is felt."""

    robot: RobotOptions = field(default_factory=RobotOptions)
    terms: Any = None
    section: Section = field(default_factory=lambda: Section({}, "configuration: identify"))
    side: str | None = None

    @classmethod
    def read(cls, path: Path | None) -> IdentifyConfig:
        if path is None:
            return cls()
        return cls._from(read_section(path), path.parent)

    @classmethod
    def of(cls, settings: Mapping[str, Any], where: str) -> IdentifyConfig:
        """Of plain data, as ``to_dict`` gives it."""
        return cls._from(whole_section(settings, where), Path())

    @classmethod
    def _from(cls, top: Section, folder: Path) -> IdentifyConfig:
        return cls(robot_options(top, folder), top.get("terms"), top.section("identify", KEYS))

    def overridden(self, **words: str | None) -> IdentifyConfig:
        """With words of the command line; a word that the file gives with settings keeps them."""
        data = dict(self.section.data)
        for key, word in words.items():
            given = data.get(key)
            if word is not None and not (isinstance(given, dict) and list(given) == [word]):
                data[key] = word
        return replace(self, section=Section(data, self.section.where))

    def refuse_early(self, robot: Robot, *, planned: bool) -> None:
        """What is wrong whatever the logs are, before they are read."""
        word = self._estimator_word
        formulation_of(self.section.get("formulation"), self.section.at("formulation"), None, 1000.0)
        if word in SIMULATED and not (planned and "control" in self.section):
            raise ExciterError(
                f"{word} simulates the controlled robot: say which motion was planned (--planned TRAJECTORY), and how "
                "it was controlled (control: under identify:)"
            )
        if word not in SIMULATED:
            self.estimator(robot)
        if self.payload_frame is not None:
            robot.frame(self.payload_frame)
        self.model(robot)
        per_joint(self.dead_zone(()), robot.joint_names, self.section.at("dead_zone"))
        _ = self.route, self.uncertainty, self.folds, self.known_parameters, self.chooses_friction, self.automatic
        self.evaluation(())

    # -- made for a robot and its logs -----------------------------------------------------------------------------

    def model(self, robot: Robot) -> DynamicModel:
        return DynamicModel(robot, joint_terms(self.terms_or_usual, robot, "terms"))

    @property
    def terms_or_usual(self) -> Any:
        """``terms:``; unless given, what a drive has, seen from the side on which its torque is measured."""
        usual = [word for word in TERMS if word != "rotor"] if self.side == LINK else TERMS
        return usual if self.terms is None else self.terms

    @property
    def route(self) -> Route | None:
        return route_of(self.section)

    def formulation(self, runs: tuple[Run, ...]) -> Formulation:
        parts = [part for run in runs for part in run.bounded.parts]
        likely = word_with_settings(
            self.section.get("estimator") or "wls", self.section.at("estimator"), tuple(ESTIMATORS)
        )[0]
        open_filter = likely == "ml" and "filter" not in self.section  # it compares torques as they were measured
        both = None if open_filter else filter_of(self.section, parts)
        rate = min((part.rate for part in parts), default=1.0)
        made = formulation_of(self.section.get("formulation"), self.section.at("formulation"), both, rate)
        return replace(made, dead_zone=self.dead_zone(runs)) if isinstance(made, InverseDynamic) else made

    def dead_zone(self, runs: tuple[Run, ...]) -> PerJoint:
        """[rad/s, m/s] As given; else a hundredth of each joint's fastest, and none where poses at rest are wanted."""
        given, where = self.section.get("dead_zone"), self.section.at("dead_zone")
        if given is None and runs and self._estimator_word != "static":
            fastest = [np.abs(part.motion.qd).max(axis=0) for run in runs for part in run.bounded.parts if len(part)]
            return tuple((SLOW * np.max(fastest, axis=0)).tolist())
        if isinstance(given, Mapping):
            return {str(name): number(value, f"{where}: {name}", least=0.0) for name, value in given.items()}
        if isinstance(given, list):
            return tuple(number(value, where, least=0.0) for value in given)
        return 0.0 if given is None else number(given, where, least=0.0)

    @property
    def folds(self) -> int:
        return self.section.whole("folds", FOLDS, least=2, most=MOST_FOLDS)

    @property
    def _estimator_word(self) -> str:
        given = self.section.get("estimator")
        return "wls" if given is None else word_with_settings(given, self.section.at("estimator"), tuple(ESTIMATORS))[0]

    @property
    def method_name(self) -> str:
        """Formulation and estimator, by their words."""
        return f"{self._formulation_word}/{self._estimator_word}"

    @property
    def _formulation_word(self) -> str:
        given = self.section.get("formulation") or "dynamic"
        return word_with_settings(given, self.section.at("formulation"), tuple(FORMULATIONS))[0]

    def judge(self, runs: tuple[Run, ...]) -> InverseDynamic:
        """Joint torques, through the same filter: what every estimate is measured by unless ``evaluation`` is given."""
        return InverseDynamic(
            filter_of(self.section, [part for run in runs for part in run.bounded.parts]), self.dead_zone(runs)
        )

    def evaluation(self, runs: tuple[Run, ...], others: tuple[Run, ...] = ()) -> InverseDynamic:
        """What percentages of residuals are of, on these runs and on others: ``evaluation:``, else as ``judge``."""
        return evaluation_of(self.section, (*runs, *others)) or self.judge(runs)

    def problem(self, model: DynamicModel, runs: tuple[Run, ...]) -> Problem:
        return Problem(model, runs, self.formulation(runs), self.folds)

    def estimator(
        self,
        robot: Robot,
        planned: Curve | None = None,
        periods: int | None = None,
        runs: tuple[Run, ...] = (),
    ) -> Estimator:
        """planned, periods: the motion that was sent, and how often it was run through, for iv and didim."""
        passed = noise_share(self.formulation(runs), runs) if runs else 1.0
        section = self.section.section("control", SIMULATE_KEYS["control"])
        control = control_of(section, robot) if planned is not None or section.data else None
        noise, route = self.section.get("noise"), differentiated(self.route, runs)
        known = Known(robot, noise, passed, self.section.where, control, planned, periods, route)
        return estimator_of(self.section.get("estimator"), self.section.at("estimator"), known)

    @property
    def uncertainty(self) -> str:
        return self.section.word("uncertainty", tuple(UNCERTAINTY), "correlated")

    @property
    def automatic(self) -> bool:
        """Whether settings that were left open are chosen from the logs: asked for, or nothing else was."""
        possible = self._formulation_word == "dynamic" and self.known_parameters is None
        wanted = self.section.flag("automatic", possible and "estimator" not in self.section)
        if wanted and not possible:
            raise ExciterError(
                f"{self.section.at('automatic')} chooses settings for joint torques in N·m; leave it out, or take the "
                "formulation dynamic and logs whose gains are known"
            )
        return wanted

    @property
    def accept_problems(self) -> bool:
        return self.section.flag("accept_problems", False)

    @property
    def chooses_friction(self) -> bool:
        return self.section.word("friction", ("choose", "as-given"), "as-given") == "choose"

    @property
    def known_parameters(self) -> tuple[KnownParameter, ...] | None:
        """What drive gains are to be found from beside known payloads; None: gains are not asked for."""
        given = self.section.get("gains")
        if given is None or given == "identify":
            return None if given is None else ()
        where = self.section.at("gains")
        if not isinstance(given, dict):
            raise ExciterError(f"{where} is {shown(given)}; write identify, or parameters that are known: {{M7: 0.74}}")
        known = []
        for name, value in given.items():
            numbers = value if isinstance(value, list) and len(value) == 2 else [value, 0.0]
            known.append(KnownParameter(str(name), *(number(x, f"{where}: {name}") for x in numbers)))
        return tuple(known)

    @property
    def payload_frame(self) -> str | None:
        given = self.section.get("payload")
        if given is not None and not isinstance(given, str):
            raise ExciterError(f"{self.section.at('payload')} is {shown(given)}; give the name of a frame")
        return given

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain data; written as YAML they are a file for --config that asks for the same again."""
        limits = {which: dict(v) if isinstance(v, Mapping) else v for which, v in self.robot.limits.items()}
        robot = {
            "limits": limits,
            "gravity": None if self.robot.gravity is None else list(self.robot.gravity),
            "lock": dict(self.robot.lock),
        }
        plain = {**robot, "terms": self.terms_or_usual, "identify": dict(self.section.data)}
        return {key: value for key, value in plain.items() if value not in (None, {}, [])}
