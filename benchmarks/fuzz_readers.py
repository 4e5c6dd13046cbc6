"""Tries to hurt every reader with damaged files: only ``ExciterError`` may come out, in bounded time and memory.

    python benchmarks/fuzz_readers.py [INPUTS] [--reader NAME …] [--first SEED] [--processes P]
    python benchmarks/fuzz_readers.py --reader mjcf --first 123 --count 1      # one input again, with its traceback
    python benchmarks/fuzz_readers.py --reader mjcf --first 123 --count 1 --keep damaged.xml

Every input is a valid file, damaged a few times: of a tree (XML, YAML, JSON) values become extreme ones or another type,
keys and elements are removed, renamed, moved and nested; of a text tokens and lines; of a binary file bits, lengths and
blocks. What it is follows from reader and seed alone. Reading goes as far as a command does: a configuration is made
into all its objects, a log is read to its end and a part of them judged, a trajectory becomes a curve.

Inputs run in forked children, a batch each. A finding is an exception other than ``ExciterError``, a warning, a message
that is not one short line, a child that dies, an input that takes longer than 10 s or more than 512 MB. INPUTS are
shared out by what readers cost (``Reader.weight``). Ctrl-C ends the run with a table of what is complete.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import contextlib
import copy
import io
import json
import mmap
import pickle
import random
import re
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.config.design_config import read_config
from exciter.excitation.config.terms import joint_terms
from exciter.excitation.files.csv_file import csv_text
from exciter.excitation.files.exact_file import exact_data
from exciter.excitation.files.read import read_trajectory
from exciter.excitation.files.ros2_file import ros2_json, ros2_yaml
from exciter.excitation.files.samples import sample
from exciter.excitation.optimiser.checkpoint import Checkpoint
from exciter.excitation.trajectories.bspline import BSpline
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.excitation.validation_motion.random_points import RandomPoints
from exciter.excitation.validation_motion.random_spline import RandomSpline
from exciter.experiment.quality import Repairs, check, repair
from exciter.experiment.recording import open_recording
from exciter.experiment.sources import open_source
from exciter.experiment.virtual.config import read_virtual
from exciter.experiment.virtual.draw import draw
from exciter.experiment.virtual.truth import read_truth
from exciter.export.ros2 import joint_trajectory
from exciter.identification.config.identify_config import IdentifyConfig
from exciter.identification.identified import IdentifiedModel
from exciter.robot import library, load
from exciter.robot.options import read_options
from exciter.robot.robot import Robot
from exciter.robot.yaml_file import parse_yaml
from log_files import WRITERS

SECONDS = 10.0  # that one input may take
MEGABYTES = 512  # that reading may add to the process
ADDRESSES = 6 << 30  # bytes a child may ask for beyond its own, so that the machine survives a finding
LONGEST_LINE = 2100  # characters of a message
BATCH = 400  # inputs of one child
CHECKED = 0.1  # of the logs and trajectories, on which the slow next step is tried, too
ROBOTS = Path(__file__).parents[1] / "tests" / "robots"
ARM = "gautier-khalil"
NUMBERS = (
    "nan", "inf", "-inf", ".nan", ".inf", "1e308", "-1e308", "1.8e308", "1e-320", "-0.0", "0", "-1", "1", "2", "1e999",
    "9" * 400, "1" + "0" * 20, "2147483648", "9223372036854775808", "1e5", "1e-9", "1e12", "1e299", "0x10", "1_0", "",
    "true", "~", "3.14.15", "1e", "--1", "50000000", "0.1", "1.5", "-7",
)  # fmt: skip
WORDS = (
    "", " ", "base", "none", "true", "null", "nan", "~", "<<", "*a", "&a", "..", "../../etc/passwd", "/", "a" * 300,
    "x" * 5000, "\x00", "\x1b[31m", "\u202e", "é", "𝄞", "\ufeff", "{joint}", "%s", "{}", "joint1", "time", "file:///a",
    "package://x/y", "'", '"', "\\", "\n", "\t", "#", ": ", "- ", "[", "]]>", "&amp;", "None", "all", "0", "-",
)  # fmt: skip
TREES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 10**20, 10**400, 1e308, -1e308, 5e-324, -0.0, 0.5, 50_000_000, 1e12, "", "x", [],
    {}, [[]], [None], {"a": 1}, [1, 2, 3], [0.0] * 3, [1e308] * 3, [1, "a"], "nan", "inf", "1e3", [True], {"": {}},
)  # fmt: skip


# -- damage ------------------------------------------------------------------------------------------------------------


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bits, blocks, lengths."""
    if not data:
        return rng.randbytes(rng.randrange(20))
    at, kind = rng.randrange(len(data)), rng.randrange(9)
    length = min(len(data) - at, 1 << rng.randrange(8))
    if kind == 0:
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 1:
        return data[:at]
    if kind == 2:
        return data[:at] + rng.randbytes(length) + data[at:]
    if kind == 3:
        return data[:at] + data[at : at + length] * rng.choice((2, 3, 10)) + data[at + length :]
    if kind == 4:
        return data[:at] + data[at + length :]
    if kind == 5:
        return data[:at] + bytes(length) + data[at + length :]
    if kind == 6:
        form = rng.choice(("<H", "<I", "<Q", ">I", "<d"))
        values: tuple[float, ...] = (np.nan, np.inf, 1e308) if form == "<d" else (0, 1, 0x7F, 0xFFFF)
        if form in ("<I", ">I", "<Q") and rng.random() < 0.5:
            values = (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000)
        new = struct.pack(form, rng.choice(values))
        return data[:at] + new + data[at + len(new) :]
    if kind == 7:
        other = rng.randrange(len(data))
        return data[:at] + data[other : other + length] + data[at + length :]
    return data[:at] + rng.choice(WORDS).encode() + data[at + rng.randrange(2) * length :]


TOKEN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[A-Za-z_][\w.-]*|\s+|.", re.DOTALL)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def damaged_text(text: str, rng: random.Random) -> str:
    """Numbers, words, lines, brackets."""
    kind = rng.randrange(8)
    if kind < 3 and (found := list(NUMBER.finditer(text))):
        one = rng.choice(found)
        return text[: one.start()] + rng.choice(NUMBERS) + text[one.end() :]
    if kind == 3:
        tokens = TOKEN.findall(text)
        k, j = rng.randrange(len(tokens) or 1), rng.randrange(len(tokens) or 1)
        if tokens:
            tokens[k], tokens[j] = (tokens[j], tokens[k]) if rng.random() < 0.5 else (rng.choice(WORDS), tokens[j])
        return "".join(tokens)
    if kind == 4:
        lines = text.split("\n")
        k, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        how = rng.randrange(4)
        if how == 0:
            lines.insert(j, lines[k])
        elif how == 1:
            del lines[k]
        elif how == 2:
            lines[k], lines[j] = lines[j], lines[k]
        else:
            lines[k] = " " * rng.randrange(5) + lines[k]
        return "\n".join(lines)
    if kind == 5:
        at = rng.randrange(len(text) + 1)
        return (
            text[:at]
            + rng.choice(("[", "{", "]", "}", "<", ">", ",", ":", "&a ", "*a", "!!int ", "? ", "|"))
            + text[at:]
        )
    if kind == 6:
        at = rng.randrange(len(text) + 1)
        deep = rng.choice(("[", "{a: ", "<link>", "- ", '{"a":', "[*a,")) * rng.choice((3, 120, 3000))
        return text[:at] + deep + text[at:]
    return damaged_bytes(text.encode("utf-8", "surrogatepass"), rng).decode("utf-8", "surrogateescape")


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every (list or mapping, key) of plain data."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in inside:
            found.append((node, key))
            if isinstance(value, dict | list):
                waiting.append(value)
    return found


def damage_tree(tree: Any, rng: random.Random) -> None:
    """Values, keys, types, nesting; in place."""
    found = places(tree)
    if not found:
        return
    node, key = rng.choice(found)
    kind = rng.randrange(10)
    if kind < 4:
        node[key] = copy.deepcopy(rng.choice(TREES))
    elif kind == 4:
        node[key] = rng.choice(WORDS)
    elif kind == 5:
        del node[key]
    elif kind == 6:
        other, at = rng.choice(found)
        if at in other if isinstance(other, dict) else at < len(other):
            node[key] = copy.deepcopy(other[at])
    elif kind == 7:
        new = rng.choice((str(rng.choice(found)[1]), rng.choice(WORDS)))
        if isinstance(node, dict):
            node[new] = node.pop(key)
        else:
            node.insert(rng.randrange(len(node) + 1), copy.deepcopy(node[key]))
    elif kind == 8:
        for _ in range(rng.choice((1, 1, 2, 150))):
            node[key] = [node[key]] if rng.random() < 0.5 else {"a": node[key]}
    elif isinstance(node[key], int | float) and not isinstance(node[key], bool):
        with contextlib.suppress(OverflowError):
            node[key] = node[key] * rng.choice((-1, 0, 1e-12, 1e6, 1e15, 1e300))
    elif isinstance(node[key], list):
        node[key] = node[key] * rng.choice((2, 3, 50))


def damage_xml(root: ElementTree.Element, rng: random.Random) -> None:
    """Attributes, elements; in place."""
    elements = list(root.iter())
    one, other = rng.choice(elements), rng.choice(elements)
    kind = rng.randrange(8)
    if kind < 4 and one.attrib:
        name = rng.choice(list(one.attrib))
        words = one.attrib[name].split()
        if kind < 2 and words:
            words[rng.randrange(len(words))] = rng.choice(NUMBERS)
            one.attrib[name] = " ".join(words)
        elif kind == 2:
            one.attrib[name] = rng.choice((*WORDS, *NUMBERS, *other.attrib.values()))
        else:
            one.attrib[rng.choice((name + "x", *other.attrib))] = one.attrib.pop(name)
    elif kind == 4 and len(one):
        one.remove(rng.choice(list(one)))
    elif kind == 5:
        one.append(copy.deepcopy(other) if len(list(other.iter())) < 50 else ElementTree.Element("link"))
    elif kind == 6:
        one.tag = other.tag
    else:
        element = one
        for _ in range(rng.choice((1, 3, 250))):
            element = ElementTree.SubElement(element, other.tag, other.attrib)


UNPRINTABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
BOMBS = (
    "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"b{k}: &b{k} [{','.join([f'*b{k - 1}' if k else '*a'] * 9)}]\n" for k in range(9)),
    "a: &a {x: 1}\n" + "".join(f"b{k}: &b{k} {{<<: [{','.join([f'*b{k - 1}' if k else '*a'] * 9)}]}}\n" for k in range(9)),
    "&a [*a]\n", "&a {b: *a}\n", "joints: &j [*j, *j]\n",
)  # fmt: skip


def damaged(content: bytes, kind: str, rng: random.Random, seed: int) -> bytes:
    """A few damages to a valid file; kind: xml, tree (YAML and JSON), text, binary, zip."""
    times = rng.choice((1, 1, 1, 2, 3, 6))
    if rng.random() < 0.1 and kind != "zip":
        for _ in range(times):
            content = damaged_bytes(content, rng)
        return content
    if kind == "xml" and rng.random() < 0.7:
        root = copy.deepcopy(_xml(content))
        for _ in range(times):
            damage_xml(root, rng)
        return UNPRINTABLE.sub("", ElementTree.tostring(root, encoding="unicode")).encode()
    if kind == "tree" and rng.random() < 0.7:
        tree = copy.deepcopy(_tree(content))
        for _ in range(times):
            damage_tree(tree, rng)
        text = json.dumps(tree, ensure_ascii=rng.random() < 0.5)
        if rng.random() < 0.3:
            text = damaged_text(text, rng)
        return text.encode("utf-8", "surrogateescape")
    if kind == "zip" and rng.random() < 0.6:
        return damaged_zip(content, rng)
    if kind in ("binary", "zip"):
        for _ in range(times):
            content = damaged_bytes(content, rng)
        return content
    text = content.decode("utf-8", "surrogateescape")
    if kind == "tree" and rng.random() < 0.02:
        text = rng.choice(BOMBS) + text
    for _ in range(times):
        text = damaged_text(text, rng)
    return text.encode("utf-8", "surrogateescape")


@lru_cache(200)
def _xml(content: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(content)


@lru_cache(200)
def _tree(content: bytes) -> Any:
    return yaml.safe_load(content)


def damaged_zip(content: bytes, rng: random.Random) -> bytes:
    """Members damaged, renamed, twice there; the archive itself is whole, checksums included."""
    out = io.BytesIO()
    packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w", packing) as made:
        names = archive.namelist()
        chosen = rng.choice(names)
        for name in names:
            data = archive.read(name)
            if name == chosen and rng.random() < 0.7:
                head = 10 + struct.unpack_from("<H", data, 8)[0]
                if rng.random() < 0.5:
                    data = (
                        data[:10]
                        + damaged_text(data[10:head].decode("latin-1"), rng).encode("utf-8", "replace")[:5000]
                        + data[head:]
                    )
                else:
                    data = damaged_bytes(data, rng)
            elif name == chosen:
                name = rng.choice((rng.choice(names), rng.choice(WORDS) + ".npy", name.removesuffix(".npy")))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made.writestr(zipfile.ZipInfo(name.replace("\x00", "") or "a"), data, packing)
    return out.getvalue()


# -- readers -----------------------------------------------------------------------------------------------------------


@cache
def arm() -> Robot:
    return library.embedded(ARM)


@lru_cache(50)
def _model(words: str) -> DynamicModel:
    return DynamicModel(arm(), joint_terms(json.loads(words), arm(), "terms"))


@cache
def motion_files() -> dict[str, bytes]:
    """trajectory.csv, .json and messages of short motions of the arm, as the program writes them."""
    robot, files = arm(), {}
    for name, family in (("fourier", Fourier(2.0, 2)), ("spline", BSpline(2.0, 3))):
        delta = 0.1 * np.random.default_rng(0).standard_normal((robot.n, len(family.labels)))
        curve = family.curve(delta)
        if isinstance(family, Fourier):
            curve = ramped(family, delta, robot, periods=1)
            exact = exact_data(curve, robot, family, delta)
            files[f"{name}.json"] = json.dumps(exact).encode()
            exact.pop("pieces")
            files["family.json"] = json.dumps(exact).encode()
        rows = sample(curve, 5.0)
        files[f"{name}.exact.json"] = json.dumps(exact_data(curve, robot)).encode()
        files[f"{name}.csv"] = csv_text(rows, robot.joint_names).encode()
        files[f"{name}.ros2.yaml"] = ros2_yaml(rows, robot.joint_names).encode()
        files[f"{name}.ros2.json"] = ros2_json(rows, robot.joint_names).encode()
    return files


@cache
def log_files() -> dict[str, bytes]:
    """One small log of the arm in every format, and tables of foreign ones."""
    robot = arm()
    names = [f"{joint}.{word}" for joint in robot.joint_names for word in ("q", "qd", "tau")]
    time_ = np.arange(60) / 100.0
    table = np.column_stack([time_, *(np.sin(2.0 * time_ + k) for k in range(len(names)))])
    stream = io.StringIO()
    np.savetxt(stream, table, fmt="%.9g", delimiter=",", header=",".join(["time", *names]), comments="")
    files = {"log.csv": stream.getvalue().encode()}
    native = io.BytesIO()
    q, qd, tau = (np.ascontiguousarray(table[:, 1 + k :: 3]) for k in range(3))
    about = json.dumps({"period": 0.3, "notes": {"a": "b"}})
    np.savez(native, time=time_, q=q, qd=qd, torque=tau, joints=np.array(robot.joint_names), about=np.array(about))
    files["native.npz"] = native.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        for kind, (write, _) in WRITERS.items():
            at = Path(folder) / kind
            at.mkdir()
            path = write(at, table[:30, :4])
            if path.is_file():
                files[f"{kind}{path.suffix}"] = path.read_bytes()
    return files


RECORDINGS = (
    {
        "file": "log.csv", "joints": list(library.embedded(ARM).joint_names), "time": {"column": "time", "unit": "s"},
        "position": {"columns": "{joint}.q", "unit": "rad"}, "velocity": {"columns": "{joint}.qd", "unit": "rad/s"},
        "torque": {"columns": "{joint}.tau", "unit": "N·m", "side": "motor"}, "windows": [[0.0, 0.3], [0.35, 0.5]],
        "gravity": [0, 0, -9.81], "payload": {"frame": "flange", "mass": 1.0, "centre": [0, 0, 0.1]}, "period": 0.2,
        "settled": 0.1, "filter": {"order": 4, "cutoff": 40}, "notes": {"who": "me"}, "signs": [1] * arm().n,
        "offset": {"values": [0.0] * arm().n, "unit": "deg"}, "repair": {"interpolate": 0.02, "longest_gap": 0.1},
    },
    {
        "file": "log.csv", "format": "csv", "delimiter": ",", "header": True, "comment": "#", "skip": 0, "decimal": ".",
        "missing": ["ERR"], "joints": list(arm().joint_names), "time": {"rate": 100.0},
        "position": {"columns": [1 + 3 * k for k in range(arm().n)], "unit": "rad", "factor": 1.0},
        "current": {"columns": [3 + 3 * k for k in range(arm().n)], "unit": "A", "gains": [10.0] * arm().n},
        "drive": {"position": [1.0] * arm().n, "torque": [2.0] * arm().n},
    },
)  # fmt: skip
DESIGNS = (
    "limits: {torque: 50.0, acceleration: 5.0, velocity: 2.0}\nterms: [rotor, viscous, coulomb]\n"
    "trajectory: {family: fourier, period: 10.0, harmonics: 5, at_rest: true, periods: 3, rate: 200, "
    "ramps: {start: home}, duration_range: [5, 20]}\ncriterion: d-optimal\nformulation: dynamic\nnoise: 1.0\n"
    "samples: 2000\nstarts: 16\nseed: 0\njobs: 2\ntime_limit: 60\ngravity: [0, 0, -9.81]\n",
    "trajectory: {family: bspline, duration: 10, segments: 8, degree: 5, variables: waypoints}\n"
    "criterion: {condition: 1.0, torque-activity: 0.1}\nconstraints:\n  torque: {margin: 0.1}\n  workspace:\n"
    "    - {frame: FRAME, z_min: -5, x_max: 5}\n    - {frame: FRAME, outside_cylinder: {radius: 0.01, upper: 0.4}}\n"
    "    - any_of: [{frame: FRAME, z_min: -6}, {frame: FRAME, inside_sphere: {centre: [0, 0, 0], radius: 9}}]\n",
    "trajectory: {family: quintic, times: [0, 1, 2, 3]}\ncriterion: {cramer-rao: {joint_noise: 1.0e-4}}\nlock: []\n"
    "terms: [rotor, {coulomb: {smooth: 0.01}}, offset, {gas-spring: {joint: JOINT}}]\n",
    "trajectory: {family: acceleration, duration: 5, intervals: 20}\nformulation: energy\nnoise: 0.5\n",
    "trajectory: {family: random-points, points: 20, rest: 0.2, rise: 0.05, draws: 2000}\n",
    "trajectory: {family: random-spline, duration: 20, segments: 20, degree: 5, draws: 50}\n",
)
IDENTIFICATIONS = (
    "terms: [rotor, viscous, coulomb, offset]\nidentify: {formulation: dynamic, estimator: consistent, "
    "route: {method: differences, cutoff: 20, order: 4, measured_velocity: true}, filter: {cutoff: 10, order: 4}, "
    "dead_zone: 0.02, evaluation: {cutoff: 10, order: 4}, noise: 1.0, uncertainty: correlated, folds: 10, "
    "friction: choose, accept_problems: false}\n",
    "identify: {formulation: {energy: {interval: 0.05}}, estimator: {irls: {c: 4.0}}, route: {method: fourier, "
    "harmonics: 5, period: 2.0}, gains: identify, control: {law: pd, bandwidth: 20, damping: 1.0}}\n",
    "identify: {formulation: {filtered: {a: 20}}, estimator: {tls: {errors: {ZZR1: 0.1}}}, route: {method: spline, "
    "knots_per_second: 20, degree: 5}, dead_zone: {JOINT: 0.1}}\n",
    "identify: {estimator: {consistent: {weight: 0.1, margin: 1.0e-4, bounds: [{joint: JOINT, mass: [0.1, 20]}]}}}\n",
    "identify: {estimator: {two-step: {wrist: 1}}}\n", "identify: {estimator: {essential: {level: 5}}}\n",
)  # fmt: skip
SIMULATIONS = (
    "simulate: {truth: {seed: 0, bodies: 0.1, friction: 0.2}, control: {law: computed-torque, bandwidth: 20, "
    "damping: 1.0, rate: 1000}, start: {at_rest: true, error: 0.0}, drive: {gear: 100, torque_constant: 0.1}, "
    "encoder: {counts: 4096, side: motor, noise: 0.0, velocity_noise: 0.001}, torque: {signal: torque, side: motor, "
    "noise: 0.5}, ripple: {amplitude: 0.3, per_turn: 6}, filter: {order: 8, cutoff: 40}, log: {rate: 500, jitter: 0.0, "
    "dropped: 0.0}, flexibility: {stiffness: 20000, damping: 20, encoder: motor}, simulation_rate: 4000}\n",
    "simulate: {truth: {seed: 1, viscous: 1.0, coulomb: 2.0, stribeck: 0.5, stribeck_velocity: 0.1, rotor_inertia: 0.1},"
    " control: {law: pd, stiffness: 100, derivative: 10}, payload: {frame: FRAME, mass: 2.0, centre: [0, 0, 0.05]}}\n",
)
OPTIONS = (
    "limits: {acceleration: 5.0, velocity: {JOINT: 1.0}}\ngravity: [0, 0, -9.81]\nlock: {JOINT: 0.1}\nmesh_root: ..\n",
)


def _named(texts: Iterable[str]) -> list[bytes]:
    frame = arm().frame_names[-1]
    return [text.replace("FRAME", frame).replace("JOINT", arm().joint_names[0]).encode() for text in texts]


def design(path: Path, rng: random.Random) -> None:
    config = read_config(path)
    family = config.trajectory()
    robot = config.robot.apply(arm())
    config.noise_of(robot)
    config.formulation_of()
    config.ramps(robot)
    config.to_dict()
    joint_terms(config.terms, robot, "terms")
    if robot.n == arm().n and rng.random() < 0.2:
        model = _model(json.dumps(config.terms, default=str))
        config.constraints(model)
        if not isinstance(family, RandomPoints | RandomSpline):
            config.criterion(model)


def identification(path: Path, rng: random.Random) -> None:
    config = IdentifyConfig.read(path)
    robot = config.robot.apply(arm())
    joint_terms(config.terms_or_usual, robot, "terms")
    config.formulation(())
    _ = config.route, config.uncertainty, config.folds, config.known_parameters, config.chooses_friction
    config.to_dict()
    if rng.random() < CHECKED:
        config.refuse_early(robot, planned=True)


def log(path: Path, rng: random.Random) -> None:
    recording = open_recording(path).read()
    if rng.random() < CHECKED and set(recording.joints) == set(arm().joint_names):
        check(recording, arm())
        repair(recording.arranged(arm()), Repairs())


def described_log(path: Path, rng: random.Random) -> None:
    (path.parent / "log.csv").write_bytes(log_files()["log.csv"])
    file = open_recording(path)
    recording, repairs = file.read(), Repairs.from_dict(file.repair, "repair")
    if rng.random() < CHECKED and set(recording.joints) == set(arm().joint_names):
        check(recording, arm())
        repair(recording.arranged(arm()), repairs)


def table(path: Path, rng: random.Random) -> None:
    """Any file of numbers, as a recording.yaml would have it read."""
    source = open_source(path)
    for _ in source.blocks(range(len(source.names)), 100):
        pass
    if rng.random() < 0.3:
        open_recording(path).read()


def trajectory(path: Path, rng: random.Random) -> None:
    curve = read_trajectory(path, arm())
    if rng.random() < CHECKED:
        certify(arm(), curve, [])


def checkpoint(path: Path, rng: random.Random) -> None:
    """A design that was interrupted. (Its folder is the user's, its content is not.)"""
    Checkpoint.opened(path, _search())


@cache
def _search() -> Any:
    from exciter.excitation.criteria import DOptimality
    from exciter.excitation.objective import Objective
    from exciter.excitation.optimiser.search import Search

    model = _model('["viscous"]')
    objective = Objective(model, DOptimality(), model.base.independent, np.ones(model.n))
    return Search(Fourier(2.0, 2), objective, (), 100, 0)


@cache
def checkpoint_file() -> bytes:
    from exciter.excitation.optimiser.checkpoint import fingerprint

    attempt = {
        "number": 0, "trajectory": Fourier(2.0, 2).to_dict(), "delta": [[0.0] * 5] * arm().n, "value": 1.0,
        "history": [[0.0, 1.0]], "evaluations": 1, "seconds": 1.0, "first_feasible": None, "complete": True, "obstacle": "",
    }  # fmt: skip
    return json.dumps({"fingerprint": fingerprint(_search()), "attempts": [attempt]}).encode()


def result(path: Path, rng: random.Random) -> None:
    """A folder of ``exciter identify``: result.json damaged, the description beside it whole."""
    folder = path.parent
    shutil.copy(_description(), folder / "robot.yaml")
    path.replace(folder / "result.json")
    found = IdentifiedModel.read(folder)
    _ = found.values, found.chi, found.gains, found.equivalent


def _description() -> Path:
    return Path(library.__file__).parent / f"{ARM}.yaml"


@cache
def result_file() -> bytes:
    import hashlib

    words = ["rotor", "viscous"]
    model = DynamicModel(arm(), joint_terms(words, arm(), "terms"))
    names = model.base.names
    about = {
        "name": ARM, "joints": list(arm().joint_names), "gravity": arm().gravity.tolist(), "file": "robot.yaml",
        "sha256": hashlib.sha256(_description().read_bytes()).hexdigest(),
    }  # fmt: skip
    return json.dumps(
        {
            "parameters": [{"name": name, "value": 0.5, "std": 0.1, "unit": "kg"} for name in names],
            "physically_consistent": True, "settings": {"terms": words, "identify": {"filter": {"cutoff": 10}}},
            "terms": words, "judged_through": {"cutoff": 10.0, "order": 4}, "dead_zone": dict.fromkeys(arm().joint_names, 0.0),
            "covariance": np.eye(len(names)).tolist(), "assumption": "white", "words": ["a"], "degrees_of_freedom": 100.0,
            "noise": dict.fromkeys(arm().joint_names, 1.0), "condition_number": 10.0, "condition_number_normalized": None,
            "standard": dict.fromkeys(model.standard, 0.1), "runs": [{"log": "log.csv", "sources": []}], "robot": about,
            "versions": {"exciter": "0"}, "gains": {"gains": [{"value": 1.0}]},
        }
    ).encode()  # fmt: skip


def designed(path: Path, rng: random.Random) -> None:
    """A folder of ``exciter design``, of which one file is damaged, for ``export --format ros2``."""
    folder, content = path.parent, path.read_bytes()
    files = {"trajectory.csv": "fourier.csv", "trajectory.json": "fourier.json"}
    for name, source in files.items():
        (folder / name).write_bytes(motion_files()[source])
    (folder / "design.json").write_bytes(design_file())
    (folder / rng.choice((*files, "design.json", "design.json"))).write_bytes(content)
    joint_trajectory(folder)


def design_file() -> bytes:
    data = {"robot": {"joints": list(arm().joint_names)}, "files": {"certificate": {"certified": True}, "rate": 5.0}}
    return json.dumps(data).encode()


def truth(path: Path, rng: random.Random) -> None:
    read_truth(path, arm())


@cache
def truth_file() -> bytes:
    return json.dumps(draw(arm(), 0).to_dict()).encode()


@dataclass(frozen=True)
class Reader:
    """read: a path, as far as a command goes. files: suffix, kind of damage, content. weight: share of the inputs."""

    read: Callable[[Path, random.Random], object]
    files: Callable[[], list[tuple[str, str, bytes]]]
    weight: float


def _files(
    suffix: str, kind: str, contents: Callable[[], Iterable[bytes]]
) -> Callable[[], list[tuple[str, str, bytes]]]:
    return lambda: [(suffix, kind, content) for content in contents()]


def _chosen(files: Callable[[], dict[str, bytes]], end: str, kind: str) -> Callable[[], list[tuple[str, str, bytes]]]:
    return lambda: [(Path(name).suffix, kind, text) for name, text in files().items() if name.endswith(end)]


READERS: dict[str, Reader] = {
    "urdf": Reader(lambda path, rng: load(path), _files(".urdf", "xml", lambda: [p.read_bytes() for p in sorted(ROBOTS.glob("*.urdf"))]), 5),
    "mjcf": Reader(lambda path, rng: load(path), _files(".xml", "xml", lambda: [p.read_bytes() for p in sorted(ROBOTS.glob("*.xml"))]), 5),
    "mdh": Reader(lambda path, rng: load(path), _files(".yaml", "tree", lambda: [(Path(library.__file__).parent / f"{name}.yaml").read_bytes() for name in (ARM, "kuka-ir361")]), 5),
    "options": Reader(lambda path, rng: read_options(path).apply(arm()), _files(".yaml", "tree", lambda: _named(OPTIONS)), 15),
    "yaml": Reader(lambda path, rng: parse_yaml(path.read_text("utf-8", "replace"), "text"), lambda: [*_files(".yaml", "tree", lambda: _named((*DESIGNS, *SIMULATIONS)))(), *_files(".yaml", "text", lambda: _named(BOMBS))()], 20),
    "design": Reader(design, _files(".yaml", "tree", lambda: _named(DESIGNS)), 8),
    "identify": Reader(identification, _files(".yaml", "tree", lambda: _named(IDENTIFICATIONS)), 8),
    "simulate": Reader(lambda path, rng: read_virtual(path, arm(), 0), _files(".yaml", "tree", lambda: _named(SIMULATIONS)), 4),
    "recording": Reader(described_log, _files(".yaml", "tree", lambda: [json.dumps(r).encode() for r in RECORDINGS]), 4),
    "csv": Reader(log, _chosen(log_files, "log.csv", "text"), 8),
    "text": Reader(table, _chosen(log_files, ".csv", "text"), 8),
    "npz": Reader(table, _chosen(log_files, ".npz", "zip"), 6),
    "npy": Reader(table, _chosen(log_files, ".npy", "binary"), 10),
    "mat": Reader(table, _chosen(log_files, ".mat", "binary"), 6),
    "mcap": Reader(table, _chosen(log_files, ".mcap", "binary"), 1),
    "db3": Reader(table, _chosen(log_files, ".db3", "binary"), 0.5),
    "trajectory-csv": Reader(trajectory, _chosen(motion_files, ".csv", "text"), 10),
    "trajectory-json": Reader(trajectory, _chosen(motion_files, ".json", "tree"), 10),
    "trajectory-yaml": Reader(trajectory, _chosen(motion_files, ".yaml", "tree"), 5),
    "truth": Reader(truth, _files(".json", "tree", lambda: [truth_file()]), 5),
    "result": Reader(result, _files(".json", "tree", lambda: [result_file()]), 1),
    "designed": Reader(designed, lambda: [(".json", "tree", design_file()), *_chosen(motion_files, "fourier.json", "tree")(), *_chosen(motion_files, "fourier.csv", "text")()], 3),
    "checkpoint": Reader(checkpoint, _files(".json", "tree", lambda: [checkpoint_file()]), 2),
}  # fmt: skip


@cache
def seeds_of(name: str) -> list[tuple[str, str, bytes]]:
    return READERS[name].files()


def made(name: str, seed: int) -> tuple[str, bytes]:
    """Suffix and content of an input: that of the same seed is always the same."""
    rng = random.Random(f"{name} {seed}")
    suffix, kind, content = rng.choice(seeds_of(name))
    return suffix, damaged(content, kind, rng, seed)


# -- running -----------------------------------------------------------------------------------------------------------


class Hang(BaseException):
    """Raised by the alarm: no reader may catch it."""


@dataclass
class Tally:
    """Of one reader. findings: (seed, what)."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    hangs: int = 0
    megabytes: float = 0.0
    seconds: float = 0.0
    findings: list[tuple[int, str]] = field(default_factory=list)


def trial(name: str, seed: int, folder: Path) -> str | None:
    """What is wrong with how an input was read; "" when it was accepted, None when it was refused in one line."""
    for old in folder.iterdir():
        old.unlink()
    try:
        suffix, content = made(name, seed)
        path = folder / f"input{suffix}"
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            READERS[name].read(path, random.Random(seed))
    except ExciterError as error:
        line = str(error)
        if len(line) > LONGEST_LINE or not line or any(ord(c) < 32 for c in line):
            return f"message: {len(line)} characters, {line[:200]!r}"
        return None
    except Hang:
        return f"hang: longer than {SECONDS:g} s"
    except MemoryError:
        return "memory: MemoryError"
    except Exception:
        return traceback.format_exc(limit=-6)
    return ""


def batch(name: str, first: int, count: int, place: mmap.mmap) -> Tally:
    """Inputs one after the other in this process; ``place`` always holds the seed that is being tried."""
    found, base = Tally(), _peak()

    def rung(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, rung)
    with tempfile.TemporaryDirectory(dir=_shared()) as folder:
        start = time.monotonic()
        for seed in range(first, first + count):
            place[:16] = struct.pack("<qd", seed, time.monotonic())
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            said = trial(name, seed, Path(folder))
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            found.inputs += 1
            found.megabytes = max(found.megabytes, _peak() - base)
            if said is None:
                found.refused += 1
            elif not said:
                found.accepted += 1
            else:
                found.hangs += said.startswith("hang")
                found.findings.append((seed, said))
            if _peak() - base > MEGABYTES:
                found.findings.append((seed, f"memory: {_peak() - base:.0f} MB"))
                break  # the peak stays: the others need another process
        found.seconds = time.monotonic() - start
    return found


def _peak() -> float:
    """[MB] largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def _shared() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@dataclass
class Child:
    """A forked process at work on a batch."""

    pid: int
    pipe: int
    place: mmap.mmap
    name: str
    first: int
    count: int
    answer: bytes = b""

    @classmethod
    def started(cls, name: str, first: int, count: int) -> Child:
        place = mmap.mmap(-1, 16)
        place[:16] = struct.pack("<qd", first, time.monotonic())
        out, into = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(out)
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, 1)
                os.dup2(nothing, 2)
                most = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + ADDRESSES
                resource.setrlimit(resource.RLIMIT_AS, (most, most))
                with os.fdopen(into, "wb") as stream:
                    pickle.dump(batch(name, first, count, place), stream)
            finally:
                os._exit(0)
        os.close(into)
        return cls(pid, out, place, name, first, count)

    def finished(self, ready: bool) -> Tally | None:
        """What came out, also of a child that died or had to be ended; None while it is at work."""
        if ready:
            part = os.read(self.pipe, 1 << 16)
            self.answer += part
            if part:
                return None
        seed, since = struct.unpack("<qd", self.place[:16])
        late = time.monotonic() - since > SECONDS + 5.0
        if not ready and not late:
            return None
        if late:
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.pipe)
        _, status = os.waitpid(self.pid, 0)
        if not late and self.answer:
            answer: Tally = pickle.loads(self.answer)  # of our own child
            return answer
        said = f"hang: longer than {SECONDS:g} s" if late else f"the process died (status {status})"
        done = seed - self.first + 1
        return Tally(inputs=done, refused=done - 1, hangs=int(late), findings=[(seed, said)])


def run(counts: dict[str, int], first: int, processes: int, say: Callable[[str], None] = print) -> dict[str, Tally]:
    """All inputs of every reader, ``processes`` at a time."""
    tallies = {name: Tally() for name in counts}
    for name in counts:
        seeds_of(name)
        warm(name)
    todo = [(name, start, min(BATCH, first + count - start)) for name, count in counts.items()
            for start in range(first, first + count, BATCH)]  # fmt: skip
    todo.sort(key=lambda one: one[1])  # readers in turn, so that an interrupted run has something of each
    children: list[Child] = []
    try:
        while todo or children:
            while todo and len(children) < processes:
                children.append(Child.started(*todo.pop(0)))
            ready, _, _ = select.select([child.pipe for child in children], [], [], 1.0)
            for child in list(children):
                if (found := child.finished(child.pipe in ready)) is None:
                    continue
                children.remove(child)
                _add(tallies[child.name], found, child.name, say)
                if found.inputs < child.count:
                    todo.insert(0, (child.name, child.first + found.inputs, child.count - found.inputs))
    except KeyboardInterrupt:
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
    return tallies


def _add(total: Tally, found: Tally, name: str, say: Callable[[str], None]) -> None:
    for key in ("inputs", "accepted", "refused", "hangs", "seconds"):
        setattr(total, key, getattr(total, key) + getattr(found, key))
    total.megabytes = max(total.megabytes, found.megabytes)
    for seed, said in found.findings:
        total.findings.append((seed, said))
        say(f"{name} {seed}: {said}")


def warm(name: str) -> None:
    """Read what is whole, here, so that children find modules loaded and kernels compiled."""
    with tempfile.TemporaryDirectory(dir=_shared()) as folder:
        for suffix, _, content in seeds_of(name):
            for old in Path(folder).iterdir():
                old.unlink()
            path = Path(folder) / f"input{suffix}"
            path.write_bytes(content)
            try:
                READERS[name].read(path, Always(0))
            except ExciterError:
                pass


class Always(random.Random):
    """Takes every optional step."""

    def random(self) -> float:
        return 0.0


def printed(tallies: dict[str, Tally]) -> str:
    head = ("reader", "inputs", "accepted", "refused", "unexpected", "hangs", "largest MB", "inputs/s")
    rows = [head]
    total = Tally()
    for name, one in tallies.items():
        _add(total, one, name, lambda _: None)
        rows.append(_row(name, one))
    rows.append(_row("all", total))
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _row(name: str, one: Tally) -> tuple[str, ...]:
    speed = one.inputs / one.seconds if one.seconds else 0.0
    counts = (one.inputs, one.accepted, one.refused, len(one.findings) - one.hangs, one.hangs)
    return (name, *map(str, counts), f"{one.megabytes:.0f}", f"{speed:.0f}")


def shared_out(inputs: int, names: Sequence[str]) -> dict[str, int]:
    """How many each reader gets."""
    whole = sum(READERS[name].weight for name in names)
    return {name: max(1, round(inputs * READERS[name].weight / whole)) for name in names}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="?", type=int, default=10_000)
    parser.add_argument("--reader", nargs="+", choices=READERS, default=list(READERS), metavar="NAME")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, metavar="N", help="inputs of every reader, instead of INPUTS in all")
    parser.add_argument("--processes", type=int, default=1, metavar="P")
    parser.add_argument("--keep", type=Path, metavar="F", help="write the first input there")
    given = parser.parse_args()
    if given.keep is not None:
        given.keep.write_bytes(made(given.reader[0], given.first)[1])
    names = given.reader
    counts = shared_out(given.inputs, names) if given.count is None else dict.fromkeys(names, given.count)
    tallies = run(counts, given.first, given.processes, lambda line: print(line, flush=True))
    print(printed(tallies))
    return int(any(one.findings for one in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
