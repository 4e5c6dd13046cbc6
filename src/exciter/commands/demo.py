"""``exciter demo``: the whole story on a virtual robot, told by the commands that a person would type."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from exciter.commands.common import console, plain_table, steps, with_flags
from exciter.commands.design import progress_bar as search_bar
from exciter.commands.simulate import progress_bar as simulation_bar
from exciter.dynamics.kernels.cache import kept
from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.excitation.validation_motion.random_families import RandomSpline
from exciter.files import json_text, output_folder, scratch, write_json, write_texts
from exciter.identification.identified_model import IdentifiedModel
from exciter.identification.identify_config import IdentifyConfig
from exciter.notes import texts
from exciter.parameters.terms import declared_terms
from exciter.pipeline.check import check
from exciter.pipeline.design import Designed, design
from exciter.pipeline.identify import identify
from exciter.pipeline.simulate import simulate, virtual_settings
from exciter.robot import Motion, Robot, load
from exciter.robot import embedded_robots as embedded
from exciter.robot.load import RobotOptions

STARTS, PERIODS = 4, 3
ESTIMATOR, METHODS = "consistent", ("wls", "huber", "filtered")
IDENTIFICATION_STEPS = 6  #: of the identification
NOTICEABLE_COMPILE_TIME = 5.0  #: [s] of compiling that are worth a line
EXCITATION_KERNELS = "exciter.excitation.kernels"
DEMO_SETTINGS_FILE = "demo.yaml"
LOG, OTHER_LOG, TRUTH = "log.csv", "other.csv", "truth.json"
DEMO_STORY_FILE = "demo.json"  #: there when all the rest is of one story


def run(arguments: argparse.Namespace) -> None:
    """Without a folder nothing is kept."""
    fresh = arguments.output is None or not arguments.output.exists()
    place = scratch() if arguments.output is None else output_folder(arguments.output)
    with place as folder:
        out = Console(quiet=True) if arguments.json else console()
        story = Story(out, arguments.robot, folder, arguments.seed)
        try:
            data = story.tell(with_flags(RobotOptions(), arguments))
            if arguments.json:
                print(json_text(data), end="")
        except BaseException:  # a story that ends early leaves nothing in a folder that was made for it
            for path in folder.iterdir() if fresh else ():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            raise
        if arguments.output is not None:
            story.say_what_is_there()


class Story:
    """Chapters that follow each other; every one is a command, and is shown as one."""

    def __init__(self, out: Console, robot: str, folder: Path, seed: int) -> None:
        self.out, self.robot, self.folder, self.seed = out, robot, folder, seed

    def tell(self, options: RobotOptions) -> dict[str, Any]:
        self.options = options
        robot = load(self.robot, options)
        (self.folder / DEMO_STORY_FILE).unlink(missing_ok=True)  # of an earlier story, whose files go one by one
        clock = time.perf_counter()
        self.meet(robot)
        self.experiment(robot, *self.design(robot))
        self.identify(robot)
        return self.compare_with_truth(time.perf_counter() - clock)

    # -- chapters --------------------------------------------------------------------------------------------------

    def meet(self, robot: Robot) -> None:
        model = DynamicModel(robot, declared_terms(robot))
        seconds = compiled(model)
        self.chapter("robot", f"{robot.name}: {robot.n} joints, {len(model.base)} base parameters")
        if seconds > NOTICEABLE_COMPILE_TIME:
            self.say(f"numerical kernels compiled in {seconds:.0f} s: once per machine, kept on disk")
        for remark in texts(robot.remarks):
            self.say(f"note: {remark}", style="yellow")
        text = yaml.safe_dump({"simulate": virtual_settings(robot, self.seed)}, sort_keys=False)
        write_texts(self.folder, {DEMO_SETTINGS_FILE: text})  # a link of that name is replaced, and not followed

    def design(self, robot: Robot) -> tuple[Designed, Designed]:
        self.chapter("design", "a motion that shows the parameters, and another one to check them with")
        self.show("design", self.robot, "-o", self.at("design"), "--starts", STARTS, "--seed", self.seed)
        with search_bar(STARTS) as tell:
            motion = design(robot, starts=STARTS, seed=self.seed, progress=tell)
        if motion.design.interrupted:
            raise KeyboardInterrupt
        motion.save(self.folder / "design")
        limits = [limit for limit in motion.certificate.limits if limit.status == "holds"]
        kinds, lasts = ", ".join(dict.fromkeys(limit.what for limit in limits)), f"{motion.curve.duration:.0f} s"
        self.say(f"{lasts} of motion; {len(limits)} limits ({kinds}) hold at every instant: certified")
        flags = ("--trajectory", "random-spline", "--seed", self.seed)
        self.show("design", self.robot, "-o", self.at("other"), *flags)
        other = design(robot, RandomSpline(), seed=self.seed)
        other.save(self.folder / "other")
        self.say(f"{other.curve.duration:.0f} s of random motion, certified as well: it will not be used to identify")
        return motion, other

    def experiment(self, robot: Robot, motion: Designed, other: Designed) -> None:
        self.chapter("experiment", "a virtual robot whose bodies and friction are off the description; noise")
        settings = ("--config", self.at(DEMO_SETTINGS_FILE))
        planned, unseen = (self.at(f"{name}/trajectory.json") for name in ("design", "other"))
        truth = ("--truth", self.at(TRUTH))
        self.show("simulate", self.robot, planned, "-o", self.at(LOG), "--periods", PERIODS, *truth, *settings)
        with simulation_bar() as tell:
            first = simulate(robot, motion, self.folder / DEMO_SETTINGS_FILE, periods=PERIODS, progress=tell)
        first.save(self.folder / LOG, self.folder / TRUTH)
        seed = self.seed + 1  # of the noise: the robot is the same
        self.show("simulate", self.robot, unseen, "-o", self.at(OTHER_LOG), "--seed", seed, *settings)
        with simulation_bar() as tell:
            second = simulate(robot, other, self.folder / DEMO_SETTINGS_FILE, seed=seed, progress=tell)
        second.save(self.folder / OTHER_LOG)

    def identify(self, robot: Robot) -> None:
        self.chapter("identify", f"{len(METHODS) + 1} methods on the same log, tried on held-out motion")
        words = ("--estimator", ESTIMATOR, "--compare", *METHODS, "--validate", self.at(OTHER_LOG))
        self.show("identify", self.robot, self.at(LOG), "-o", self.at("."), *words)
        with steps(IDENTIFICATION_STEPS) as step:
            found = identify(
                robot,
                self.folder / LOG,
                replace(IdentifyConfig(), robot=self.options).overridden(estimator=ESTIMATOR),
                validate=self.folder / OTHER_LOG,
                compare=METHODS,
                progress=step,
            )
            step("writing")
            data = found.write(self.folder)
        self.say("; ".join(data["runs"][0]["words"][:2]))
        for line in found.verdict.lines:
            self.say(line)
        rows = []
        for one in data["comparison"]["methods"]:
            unseen = ", ".join(f"{seen['percent']:.3g}" for seen in one["validation"])
            rows.append((one["name"], f"{one['fit_percent']:.3g}", unseen, f"{one['seconds']:.2f}"))
        described = ", ".join(f"{one['description_percent']:.3g}" for one in data["validation"])
        rows.append(("description", f"{data['description']['total_percent']:.3g}", described, ""))
        self.table(("method", "fit [%]", "held-out motion [%]", "seconds"), rows)

    def compare_with_truth(self, seconds: float) -> dict[str, Any]:
        self.chapter("truth", "what the virtual robot really has, beside what was found")
        found = IdentifiedModel.read(self.folder)
        truth = json.loads((self.folder / TRUTH).read_text(encoding="utf-8"))
        known = {one["name"]: one["value"] for one in truth["parameters"]}
        rows = found.beside(known)
        inside, cells = sum(row.inside for row in rows), []
        for row in rows:
            interval = f"{row.interval[0]:.4f} … {row.interval[1]:.4f}"
            mark = Text("yes", style="green") if row.inside else Text("no", style="yellow")
            cells.append((row.name, f"{row.true:.4f}", f"{row.value:.4f}", interval, mark, row.unit))
        self.table(("parameter", "true", "identified", "95 % interval", "inside", "unit"), cells)
        self.say(
            f"{inside} of {len(rows)} true values within their 95 % intervals; errors of neighbours go together, "
            "so that some experiments have more and some fewer"
        )
        self.say(f"{seconds:.0f} s from the description to the model")
        data = {
            "robot": found.model.robot.name,
            "seed": self.seed,
            "seconds": seconds,
            "inside": inside,
            "parameters": [
                {"name": row.name, "true": row.true, "value": row.value, "interval": list(row.interval)} for row in rows
            ],
        }
        write_json(self.folder / DEMO_STORY_FILE, data)
        return data

    def say_what_is_there(self) -> None:
        folder = self.folder
        self.out.print(
            f"\nOpen {folder / 'report.html'} in a browser: torques, parameters, the robot moving.\n"
            f"{folder / 'identified.urdf'} loads in any simulator; {folder / 'design/report.html'} shows the motion.\n"
            f"More: exciter validate {folder} {folder / OTHER_LOG}; exciter export {folder} --format c -o arm.c",
            soft_wrap=True,
        )

    # -- how it is told --------------------------------------------------------------------------------------------

    def chapter(self, title: str, text: str) -> None:
        self.out.print(Text.assemble("\n", (title, "bold"), "  "), end="")
        self.out.print(text)

    def say(self, text: str, style: str | None = None) -> None:
        self.out.print(f"  {text}", style=style)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> None:
        self.out.print(Padding(plain_table(headings, rows, right=range(1, len(headings))), (0, 0, 0, 2)))

    def at(self, name: str) -> str:
        return str(self.folder / name)

    def show(self, *words: object) -> None:
        """A command as a person would type it."""
        text = shlex.join(str(word) for word in words)
        self.out.print(f"  $ exciter {text}", style="dim", markup=False, soft_wrap=True)


def compiled(model: DynamicModel) -> float:
    """[s] that the numerical kernels take to be ready, compiled or from the disk."""
    clock = time.perf_counter()
    code = "from exciter.commands.demo import prepare_limits; prepare_limits()"
    with steps(1) as step:
        step("preparing numerical kernels")
        quiet, beside = subprocess.DEVNULL, None
        if not all(kept(module, EXCITATION_KERNELS) for module in ("capsules", "torque")):
            beside = subprocess.Popen([sys.executable, "-c", code], stdout=quiet, stderr=quiet)
        try:
            rows = model.rows(Motion.at(np.zeros((8, model.n))), model.layout(model.base.independent))
            rows.pullback(rows.gram())
            if beside is not None:
                beside.wait()
        finally:
            if beside is not None:
                beside.kill()
    return time.perf_counter() - clock


def prepare_limits() -> None:
    """Whatever limits and their certificate compile, compiled and kept on disk: on another core, meanwhile."""
    family = Fourier(10.0, 1)
    still = family.still(embedded.home("panda"))
    for constraint in check("panda", family.curve(still)).constraints:
        constraint.linearised(motion(family, still, np.linspace(0.0, 1.0, 8)))
