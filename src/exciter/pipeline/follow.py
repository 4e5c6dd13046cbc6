"""Parameters of a robot while it works: samples in as they come, values with their σ and alarms out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, RecordingError, shown
from exciter.experiment.recording import Recording
from exciter.experiment.recording.base_joints import arranged_pieces
from exciter.experiment.recording.live_recording import open_live
from exciter.experiment.virtual.virtual_robot import Simulated
from exciter.files import path_of
from exciter.identification.following.follow_settings import FollowSettings
from exciter.identification.following.followed_parameters import (
    FollowedParameters,
    FollowState,
    prior_of_description,
    prior_of_estimate,
)
from exciter.identification.following.live_rows import LiveRows
from exciter.identification.identified_model import RESULT_SEAL, IdentifiedModel
from exciter.identification.identify_config import IdentifyConfig, IdentifySettings
from exciter.identification.information.information import Information
from exciter.notes import Note, note
from exciter.parameters.terms.term import per_joint
from exciter.pipeline import settings_file as given
from exciter.pipeline.followed import FOLLOWED_SEAL, Followed
from exciter.pipeline.identified import Identified
from exciter.pipeline.identify import identify_settings
from exciter.remote_files import local_file
from exciter.robot import Robot
from exciter.settings.fill import settings_fields
from exciter.typing import Array

BEGINNING_NOISE_FRACTION = 0.05  #: of a joint's torque: σ to begin with, where it is to be learned
LEAST_TORQUE = 1e-9  #: [N·m, N] where all torques are zero
GROUPED_LATENCY_FRACTION = 0.1  #: of the latency: samples of so long are worked on together
SHORTEST_GROUP, LONGEST_GROUP = 0.02, 0.5  #: [s]
PIECE_SAMPLES = 1024  #: of a recording that is there already
MOST_KEPT_STATES = 50_000  #: of a history; then every other one goes
NOT_JUDGED = "equations were too few to tell their noise: σ rest on a guess of it, and no residual was judged"
Start: TypeAlias = Identified | IdentifiedModel | Followed | str | Path
Stream: TypeAlias = Recording | Simulated | str | Path | Iterable[Recording]
Told: TypeAlias = Callable[[FollowState], None]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known at the start: the model, how its equations are made, values and covariance, σ of the equations
    where these are made alike, and where all of it is from, in words."""

    model: DynamicModel
    config: IdentifyConfig
    values: Array
    covariance: Array
    noise: Array | None
    words: str

    @classmethod
    def of(cls, start: Start) -> Knowledge:
        if isinstance(start, str | Path):
            folder = path_of(start, "the start")
            if FOLLOWED_SEAL.is_there(folder):
                start = Followed.open(folder)
            elif RESULT_SEAL.is_there(folder):
                start = IdentifiedModel.read(folder)
            else:
                neither = f"neither {RESULT_SEAL.name} nor {FOLLOWED_SEAL.name}"
                raise ExciterError(f"'{folder}' has {neither}; start from a folder of exciter identify or follow")
        if isinstance(start, Identified):
            start = start.as_model
        if isinstance(start, Followed):
            if not all(start.determined):
                raise ParameterError("what was followed did not determine all parameters; it is no start")
            words = f"what was followed of {start.model.robot.name} until {start.time[-1]:g} s"
            return cls(start.model, start.config, start.values[-1], start.covariance, start.noise, words)
        if not isinstance(start, IdentifiedModel):
            raise ExciterError(f"the start is {shown(start)}; give an identification, or its folder")
        found, alike = start.estimate, start.config.settings.evaluation is None
        where = start.model.robot.name if start.folder is None else str(start.folder)
        words = f"the identification of {where}"
        return cls(start.model, start.config, found.values, found.covariance, found.noise if alike else None, words)


class Follower:
    """Follows the base parameters of a robot: ``states`` of a stream, and the ``result`` at any time.

    robot: as for ``identify``. settings: ``FollowSettings``, a YAML file or its content (``follow:``, and ``identify:``
    and ``terms:`` for the model and its equations); keywords change them: drift, alarm, every, …, and terms, route,
    filter, dead_zone, noise, formulation. start: an earlier identification, or its folder, whose model, filters,
    values, covariance and σ are taken; None: nothing is known, or the description (``description=0.3``).

    >>> follower = ex.Follower(robot, start=found, every=2.0)
    >>> times = [state.time for state in follower.states(log)]
    >>> follower.result.alarms
    ()"""

    def __init__(
        self,
        robot: Robot | str | Path,
        settings: FollowSettings | given.FileContent = None,
        *,
        start: Start | None = None,
        **changes: Any,
    ) -> None:
        known = None if start is None else Knowledge.of(start)
        file = given.SettingsFile.read(None if isinstance(settings, FollowSettings) else settings)
        own = {key: changes.pop(key) for key in list(changes) if key in settings_fields(FollowSettings)}
        given.refuse_unknown(changes, FollowSettings, IdentifySettings, "terms")
        base = settings if isinstance(settings, FollowSettings) else file.follow
        self.settings: FollowSettings = given.changed(base, own)
        config = identify_settings(file.identify if known is None else _over(known.config, file), changes)
        self.robot, options = given.loaded_for_logs(robot, config.robot)
        self.config, self.known = replace(config, robot=options), known
        if known is not None and self.robot.joint_names != known.model.robot.joint_names:
            theirs = ", ".join(known.model.robot.joint_names)
            raise ParameterError(f"the start is of a robot with the joints {theirs}; {self.robot.name} has others")
        if known is not None and self.settings.description is not None:
            raise ParameterError("description says what to start from, and so does start; leave one of them out")
        self.model = self.config.model(self.robot) if known is None else known.model
        self.settings.walks(self.model.base.names)
        self.notes: tuple[Note, ...] = ()
        self.latency = float("nan")
        self.rows: LiveRows | None = None
        self.followed: FollowedParameters | None = None
        self._states: list[FollowState] = []

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.base.names

    @property
    def units(self) -> tuple[str, ...]:
        return tuple(self.model.units[k] for k in self.model.base.independent)

    def states(self, stream: Stream) -> Iterator[FollowState]:
        """Answers as they are due, the last at the end of the stream: a recording, a log by its path, or pieces of a
        recording as they come."""
        live = self._begin(stream)
        followed = self.followed
        assert followed is not None
        for rows in live:
            for state in followed.see(rows):
                self._keep(state)
                yield state
        state = followed.finish()
        self._keep(state)
        yield state

    @property
    def result(self) -> Followed:
        """All so far."""
        followed, states = self.followed, self._states
        if followed is None or not states:
            raise RecordingError("nothing was followed yet: the first answer takes some seconds of motion")
        last = states[-1]
        return Followed(
            model=self.model,
            config=self.config,
            settings=self.settings,
            names=self.names,
            units=self.units,
            joints=followed.joints,
            time=np.array([state.time for state in states]),
            values=np.array([state.values for state in states]),
            std=np.array([state.std for state in states]),
            covariance=last.belief.covariance,
            noise=last.noise,
            alarms=followed.watch.alarms,
            used=last.used,
            skipped=last.skipped,
            latency=self.latency,
            started=self.started,
            judged=last.judged,
            notes=self.notes if last.judged else (*self.notes, note("noise", NOT_JUDGED)),
        )

    @property
    def started(self) -> str:
        """From what, in words."""
        if self.known is not None:
            return self.known.words
        relative = self.settings.description
        return "nothing" if relative is None else f"the description, with a relative σ of {relative:g}"

    def _keep(self, state: FollowState) -> None:
        if self._states and state.time <= self._states[-1].time:
            self._states[-1] = state
            return
        if len(self._states) >= MOST_KEPT_STATES:
            self._states = self._states[::2]
        self._states.append(state)

    def _begin(self, stream: Stream) -> LiveRows:
        if self.followed is not None:
            raise ExciterError("a follower follows one stream; make another for the next, from its result")
        first, chunks = _first(chunks_of(stream))
        self._stand(first)
        arranged = arranged_pieces(chunks, self.robot)
        live = LiveRows.of(self.model, self.config, arranged, self.settings.look_ahead)
        group = float(np.clip(GROUPED_LATENCY_FRACTION * live.latency, SHORTEST_GROUP, LONGEST_GROUP))
        live = replace(live, chunks=grouped(live.chunks, group))
        self.rows, self.latency = live, live.latency + group + self.settings.alarm.window
        joints = live.formulation.equations(self.model)
        noise, known, learned = self._noise(live, joints)
        self.followed = FollowedParameters(
            self.names, joints, noise, self.settings, self._prior(), learned=learned, noise_known=known
        )
        self.notes = (*live.notes, *self.notes)
        return live

    def _stand(self, first: Recording) -> None:
        """As the stream says that the robot stands, and its torque is measured."""
        gravity = first.about.gravity
        if self.known is None:
            self.config = replace(self.config, side=first.side)
            self.robot = self.robot if gravity is None else self.robot.with_gravity(gravity)
            self.model = self.config.model(self.robot)
        elif gravity is not None and not np.allclose(gravity, self.model.robot.gravity, atol=0.5):
            raise RecordingError(
                f"the stream is of a robot with gravity {list(gravity)} m/s², the start of one with "
                f"{self.model.robot.gravity.tolist()}; identify anew as it stands"
            )

    def _prior(self) -> Information | None:
        if self.known is not None:
            return prior_of_estimate(self.known.values, self.known.covariance)
        if self.settings.description is None:
            return None
        nominal = np.asarray(self.model.base.base_values(self.model.nominal))
        return prior_of_description(nominal, self.settings.description)

    def _noise(self, live: LiveRows, joints: tuple[str, ...]) -> tuple[Array, bool, bool]:
        """σ of the equations (J,), whether it is known, and whether it is learned from residuals."""
        stated, learn, start = self.config.settings.noise, self.settings.learn_noise, self.known
        of_torques = joints == self.robot.joint_names  # energies have units of their own
        if stated is not None and of_torques:
            return live.share * per_joint(stated, self.robot.joint_names, "noise")[:, 0], True, bool(learn)
        if start is not None and start.noise is not None and len(start.noise) == len(joints):
            theirs, ours = start.config.settings, self.config.settings
            alike = isinstance(ours.route, type(live.route)) and (ours.route, ours.filter) == (
                theirs.route,
                theirs.filter,
            )
            if alike:
                return start.noise, True, bool(learn)
            text = "found anew: positions or equations go through other filters than those of the start"
            self.notes = (*self.notes, note("noise", text))
            return start.noise, False, learn is not False
        floor = 0.0 if live.torque_noise is None else live.share * live.torque_noise
        noise = np.maximum(BEGINNING_NOISE_FRACTION * live.torque_rms, floor)
        noise = np.maximum(noise, BEGINNING_NOISE_FRACTION * max(float(noise.max()), LEAST_TORQUE))
        return noise if of_torques else np.full(len(joints), noise.max()), False, learn is not False


def follow(
    robot: Robot | str | Path,
    stream: Stream,
    settings: FollowSettings | given.FileContent = None,
    *,
    start: Start | None = None,
    told: Told | None = None,
    **changes: Any,
) -> Followed:
    """The parameters of a robot along a stream, to its end; see ``Follower``. told: is given each answer as it is due.

    >>> followed = ex.follow(robot, log, start=found)
    >>> followed.values.shape == (len(followed.time), len(found.parameters))
    True"""
    follower = Follower(robot, settings, start=start, **changes)
    for state in follower.states(stream):
        if told is not None:
            told(state)
    return follower.result


def chunks_of(stream: Stream) -> Iterator[Recording]:
    """Pieces in order of time, whatever the stream is."""
    if isinstance(stream, Simulated):
        stream = stream.recording
    if isinstance(stream, Recording):
        return stream.chunks(PIECE_SAMPLES)
    if isinstance(stream, str | Path):
        return open_live(local_file(stream), wait=0.0).chunks()
    if not isinstance(stream, Iterable):
        raise RecordingError(f"the stream is {shown(stream)}; give a recording, a log, or pieces of a recording")
    return iter(stream)


def grouped(chunks: Iterable[Recording], seconds: float) -> Iterator[Recording]:
    """Pieces joined until they last so long; the last as it is."""
    held = list[Recording]()
    for chunk in chunks:
        if len(chunk):
            held.append(chunk)
            if chunk.time[-1] - held[0].time[0] >= seconds:
                yield Recording.join(held)
                held = []
    if held:
        yield Recording.join(held)


def _first(chunks: Iterator[Recording]) -> tuple[Recording, Iterator[Recording]]:
    for chunk in chunks:
        if not isinstance(chunk, Recording):
            raise RecordingError(f"a piece of the stream is {shown(chunk)}; give pieces of a recording")
        if len(chunk):
            return chunk, chain([chunk], chunks)
    raise RecordingError("the stream ended before its first sample")


def _over(known: IdentifyConfig, file: given.SettingsFile) -> IdentifyConfig:
    """Settings of the start; a file that says something of equations goes before them."""
    return known if "identify" not in file.data and "terms" not in file.data else file.identify
