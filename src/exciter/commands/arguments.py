"""What the command line understands: every command with its options, and a help that teaches by example."""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from textwrap import dedent
from typing import NoReturn

from exciter import __version__
from exciter.errors import shown, visible
from exciter_papers import NAMES


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"exciter: {visible(' '.join(message.split()))}; see '{self.prog} --help'\n")


ROBOT_HELP = "URDF, MJCF or modified-DH file, or the name of an embedded robot (exciter robots)"
STORY_HELP = """
    From a description to a model:

      exciter init arm.urdf                                     settings to start from: exciter.yaml
      exciter base arm.urdf                                     what can be identified at all
      exciter design arm.urdf -o motion --config exciter.yaml   the motion that shows it best, certified
      exciter simulate arm.urdf motion/trajectory.json -o log.csv   rehearse it; then run it on the robot
      exciter inspect arm.urdf log.csv                          what the log is good for
      exciter identify arm.urdf log.csv -o found   parameters, and how sure they are
      exciter validate found other.csv                          how they do on held-out motion
      exciter export found --format urdf -o identified.urdf     for other tools

    exciter COMMAND --help says more, with examples. Exit codes: 0 done, 1 a check failed, 2 wrong input,
    130 interrupted."""
MOST_COUNTED_DIGITS = 18
EXPORT_WORDS = ("urdf", "mjcf", "sdf", "yaml", "json", "c", "python", "ros2")
COMMAND_HELP = {  # of every command: a paragraph, examples, the page that has the rest
    "demo": """
        Design an exciting motion for an embedded robot, execute it on a virtual one,
        identify its parameters in several ways, check them on held-out motion, and
        compare them with the truth; every step is shown as the command it is.

          exciter demo
          exciter demo --robot ur10e -o out

        More: README.md.""",
    "base": """
        Which dynamic parameters of a robot can be identified, in which combinations,
        and why the others cannot. Joint terms are those of --terms, else of --config
        (terms:), else those whose values the description declares.

          exciter base panda --terms rotor,viscous,coulomb
          exciter base arm.urdf --config design.yaml --json

        More: docs/parameters.md.""",
    "design": """
        Search the motion that excites the parameters best within all limits, prove
        the limits for all time, and write trajectory.csv, trajectory.json, files for
        ROS 2, design.json and report.html; all of them or none.

          exciter design panda -o out
          exciter design arm.urdf -o out --config design.yaml --starts 32 --time-limit 60
          exciter design panda -o other --trajectory random-points    # drawn, to validate on

        More: docs/design.md.""",
    "check": """
        Prove or refute that a trajectory file keeps the limits of a robot, and those
        of --config, between its rows, too. Exit code 0 when no limit is broken or open:
        each is proved for all time, or kept and named as assumed; what is not checked
        is said. 1 when one is broken or cannot be proved, 2 on wrong input.

          exciter check arm.urdf trajectory.csv --config design.yaml

        More: docs/design.md.""",
    "slow": """
        The same path at part of the speed, for the first runs on hardware; certified
        again, for gravity does not get slower. Writes trajectory.csv, .json, and files
        for ROS 2, or nothing when a limit is broken.

          exciter slow arm.urdf motion/trajectory.json --speed 10 -o slow10 --config exciter.yaml

        More: docs/safety.md.""",
    "simulate": """
        A virtual robot with secret parameters executes a trajectory under its
        controller, and what its sensors say is logged: a rehearsal with a truth to
        compare with. A log.csv gets a log.yaml for what a table cannot say.

          exciter simulate tx40 out/trajectory.json -o log.csv --periods 5 --truth truth.json
          exciter simulate arm.urdf out/trajectory.csv -o log.npz --config simulate.yaml --motion motion.csv

        More: docs/simulate.md.""",
    "inspect": """
        Say what is wrong with a log before anything is computed from it: units,
        signs, order of joints, lost samples, delays, excitation. Exit code 0 when
        every log is usable, 1 when a problem makes one useless (with -o, what was
        written decides), 2 on wrong input or a file that cannot be read.

          exciter inspect ur10e recording.yaml
          exciter inspect arm.urdf log.csv --planned out/trajectory.json -o clean.csv

        More: docs/quality.md for the checks, docs/recordings.md for logs of any kind.""",
    "identify": """
        Base parameters of a robot from logs: values, standard deviations that hold
        for filtered data, too, and how well they predict held-out motion. Filters,
        friction of each joint, the weight of prior knowledge and the estimator
        (consistent) are chosen from the logs unless given; the report says why. Writes
        result.json, report.html, a copy of the description and, where a full set
        exists, identified.urdf.

          exciter identify ur10e log.csv -o out --validate other.csv
          exciter identify arm.urdf recording.yaml -o out --estimator wls
          exciter identify panda empty.csv -o out --loaded with_load.csv
          exciter identify ur10e log.csv -o out --compare ols huber consistent energy
          exciter identify tx40 log.csv -o out --estimator didim --planned trajectory.json

        Formulations: dynamic, filtered, energy, power, base-wrench. Estimators: ols,
        wls, irls, huber, tls, ml, sequential, nonnegative, consistent, prior,
        essential, links, two-step, static, friction-first, iv, didim.

        More: docs/identify.md.""",
    "validate": """
        How an identified model does on held-out motion: residuals beside those of
        the zero, the gravity-only and the description's model, against the noise
        floor, what depends on speed, load, time; whether its inertia matrix can be.

          exciter validate found other.csv
          exciter validate found slow.yaml fast.yaml -o checked --json

        DIR is a folder that exciter identify wrote. More: docs/validate.md.""",
    "export": """
        An identified model for other tools. urdf, mjcf and sdf need a full set (as exciter
        identify gives by default); yaml, json, c and python also take base
        parameters. ros2 is the JointTrajectory of a folder of exciter design.

          exciter export found --format urdf -o arm.urdf
          exciter export found --format c -o arm.c
          exciter export design --format ros2 -o motion.yaml

        More: docs/export.md.""",
    "init": """
        Write a commented configuration for a robot, to be changed and given to
        --config of every other command, and beside it the schema that lets an editor
        check it and complete its keys (exciter schema).

          exciter init arm.urdf
          exciter init panda -o panda.yaml

        More: docs/getting-started.md.""",
    "schema": """
        Print the JSON schema of the file of --config, or of a recording.yaml: an editor
        that knows it completes keys, and marks what is wrong while it is written.

          exciter schema > exciter.schema.json
          exciter schema recording > recording.schema.json

        More: docs/getting-started.md.""",
    "completion": """
        Print what a shell needs to complete commands, options, their words, and files:
        put it where the shell looks for such things, and open a new one.

          mkdir -p ~/.local/share/bash-completion/completions
          exciter completion bash > ~/.local/share/bash-completion/completions/exciter
          exciter completion zsh > ~/.zfunc/_exciter
          exciter completion fish > ~/.config/fish/completions/exciter.fish

        More: README.md.""",
    "reproduce": """
        Run the tables and figures of the papers behind the methods again: published
        and reached side by side, with a report of every paper, all tables as data, and
        a page that explains the differences. All five take some ten minutes, a quick
        run some two.

          exciter reproduce --quick
          exciter reproduce swevers-1997-ieee -o ieee
          exciter reproduce --json

        More: docs/papers.md.""",
    "robots": """
        The robots that come with Exciter, with their number of axes and where their
        data come from; their names stand for ROBOT in every other command.

          exciter robots

        More: docs/robots.md.""",
}


def parser() -> Parser:
    form = argparse.RawDescriptionHelpFormatter
    top = Parser(
        prog="exciter",
        description="Identify the dynamics of robots.",
        epilog=dedent(STORY_HELP).strip(),
        formatter_class=form,
    )
    top.add_argument("--version", action="version", version=f"exciter {__version__}")
    top.set_defaults(began=time.monotonic())  # from when a time limit counts
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str, summary: str) -> Parser:
        return commands.add_parser(
            name, help=summary, description=dedent(COMMAND_HELP[name]).strip(), formatter_class=form
        )

    demo = add("demo", "the whole story on an embedded robot: design, experiment, identification")
    demo.add_argument("-o", "--output", type=place, metavar="DIR", help="keep everything there; report.html first")
    demo.add_argument("--robot", default="panda", help="embedded robot or file (default: panda)")
    demo.add_argument("--seed", type=whole, default=0, metavar="S", help="of start, truth and noise (default: 0)")
    demo.add_argument("--json", action="store_true", help="also print true and identified values as data")
    demo.add_argument("--lock", action="append", default=[], metavar="JOINT[=POSITION]", help="freeze a joint")
    demo.add_argument("--gravity", nargs=3, type=float, metavar=("X", "Y", "Z"), help="gravity in the base [m/s²]")

    base = add("base", "base parameters: what can be identified, in which combinations, and why")
    base.add_argument("robot", metavar="ROBOT", help=ROBOT_HELP)
    base.add_argument("--json", action="store_true", help="print plain data instead of tables")
    base.add_argument("--all", action="store_true", help="say of every standard parameter what becomes of it")
    base.add_argument("--mdh", action="store_true", help="also show the modified-DH table the parameters refer to")
    base.add_argument("--only", choices=("gravity", "inertia"), help="poses at rest, or second moments, only")
    base.add_argument(
        "--terms",
        metavar="LIST",
        help="joint terms, comma-separated: rotor, viscous, coulomb, offset, …; or none (default: those of --config, "
        "else those declared)",
    )
    add_robot_options(base, "terms, gravity, lock")
    base.add_argument("--numeric", action="store_true", help="decide from random samples instead of in closed form")

    design = add("design", "the most exciting motion within all limits, certified for all time")
    design.add_argument("robot", metavar="ROBOT", help=ROBOT_HELP)
    design.add_argument("-o", "--output", type=place, metavar="DIR", required=True, help="folder for the results")
    design.add_argument(
        "--trajectory",
        metavar="W",
        help="fourier (default), bspline, quintic, acceleration; random-points, random-spline",
    )
    design.add_argument("--criterion", metavar="W", help="d-optimal (default), condition, a-optimal, e-optimal, …")
    design.add_argument("--starts", type=positive, metavar="K", help="random starts, the best one counts (default: 16)")
    design.add_argument("--seed", type=whole, metavar="S", help="of the starts (default: 0)")
    design.add_argument(
        "--time-limit", type=seconds, metavar="S", help="for the whole command [s]: the best that is found within"
    )
    design.add_argument("--jobs", type=positive, metavar="J", help="processes for the starts (default: 1)")
    design.add_argument("--resume", action="store_true", help="go on from the checkpoint of an interrupted run in DIR")
    design.add_argument("--json", action="store_true", help="print the content of design.json")
    add_robot_options(design, "the whole design: limits, gravity, lock, terms, trajectory, criterion, constraints, …")

    check = add("check", "certificate of a trajectory file; exit code 1 when a limit is broken")
    check.add_argument("robot", metavar="ROBOT", help=ROBOT_HELP)
    check.add_argument(
        "trajectory", type=Path, metavar="TRAJECTORY", help="trajectory.csv, .json, or ROS 2 YAML or JSON"
    )
    check.add_argument("--json", action="store_true", help="print plain data instead of a table")
    add_robot_options(check, "limits, gravity, lock, terms and constraints, as for design")

    slow = add("slow", "a trajectory at part of its speed, certified again")
    slow.add_argument("robot", metavar="ROBOT", help=ROBOT_HELP)
    slow.add_argument("trajectory", type=Path, metavar="TRAJECTORY", help="any file that check understands")
    slow.add_argument("--speed", type=percent, required=True, metavar="P", help="1 … 100 [%%] of its own speed")
    slow.add_argument("-o", "--output", type=place, metavar="DIR", required=True, help="folder for the files")
    add_robot_options(slow, "limits, gravity, lock, terms, constraints and trajectory: rate, as for design")

    simulate = add("simulate", "a virtual robot executes a trajectory and logs what it measures")
    simulate.add_argument("robot", metavar="ROBOT", help=ROBOT_HELP)
    simulate.add_argument("trajectory", type=Path, metavar="TRAJECTORY", help="any file that check understands")
    simulate.add_argument("-o", "--output", type=place, metavar="LOG", required=True, help="log.csv or log.npz")
    simulate.add_argument("--periods", type=positive, metavar="K", help="repeat the periodic part (default: as it is)")
    simulate.add_argument("--seed", type=whole, default=0, metavar="S", help="of truth and noise (default: 0)")
    simulate.add_argument("--truth", type=Path, metavar="F", help="write the true parameters there (.json)")
    simulate.add_argument(
        "--motion", type=Path, metavar="F", help="write the exact q, q̇, q̈ and torque at the log's instants (.csv, .npz)"
    )
    simulate.add_argument("--json", action="store_true", help="print plain data instead of a table")
    add_robot_options(simulate, "the section simulate: (truth, control, drive, encoder, log, …), limits, gravity, lock")

    inspect = add("inspect", "what a log is good for; exit code 1 when a problem makes it useless")
    inspect.add_argument("robot", metavar="ROBOT", help=ROBOT_HELP)
    inspect.add_argument("logs", type=Path, nargs="+", metavar="LOG", help="a recording.yaml, or a log of a known kind")
    inspect.add_argument("--planned", type=Path, metavar="TRAJECTORY", help="compare with the motion it was sent")
    inspect.add_argument("--periods", type=positive, metavar="K", help="how often that was run through")
    inspect.add_argument("--data", type=Path, metavar="DIR", help="folder of the files that a recording.yaml names")
    inspect.add_argument("-o", "--output", type=place, metavar="CLEAN", help="write the repaired log (.csv or .npz)")
    inspect.add_argument("--json", action="store_true", help="print plain data instead of tables")
    add_robot_options(inspect, "limits, gravity, lock of the robot; what a log is like stands in its recording.yaml")

    identify = add("identify", "parameters from logs, how sure they are, how well they predict")
    identify.add_argument("robot", metavar="ROBOT", help=ROBOT_HELP)
    identify.add_argument(
        "logs", type=Path, nargs="+", metavar="LOG", help="a recording.yaml, or a log of a known kind"
    )
    identify.add_argument("-o", "--output", type=place, metavar="DIR", required=True, help="folder for the results")
    identify.add_argument("--formulation", metavar="W", help="dynamic (default), filtered, energy, power, base-wrench")
    identify.add_argument("--estimator", metavar="W", help="consistent with chosen settings (default); wls, ols, ml, …")
    identify.add_argument(
        "--validate",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="LOG",
        help="logs of other motion, to be predicted",
    )
    identify.add_argument(
        "--loaded",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="LOG",
        help="logs with a payload that is to be identified",
    )
    identify.add_argument(
        "--compare",
        nargs="+",
        action="extend",
        default=[],
        metavar="W",
        help="other formulations or estimators side by side: huber, energy, energy/ols, …",
    )
    identify.add_argument("--planned", type=Path, metavar="TRAJECTORY", help="the motion sent to the robot (iv, didim)")
    identify.add_argument("--periods", type=positive, metavar="K", help="how often it was run through (iv, didim)")
    identify.add_argument("--data", type=Path, metavar="DIR", help="folder of the files that a recording.yaml names")
    identify.add_argument("--json", action="store_true", help="print the content of result.json")
    add_robot_options(identify, "the section identify: (formulation, estimator, filter, …), terms, gravity, lock")

    validate = add("validate", "an identified model on motion it never saw, against baselines and the noise floor")
    validate.add_argument("folder", type=Path, metavar="DIR", help="a folder that exciter identify wrote")
    validate.add_argument("logs", type=Path, nargs="+", metavar="LOG", help="logs of other motion")
    validate.add_argument(
        "-o", "--output", type=place, metavar="DIR", help="write validation.json and report.html there"
    )
    validate.add_argument("--data", type=Path, metavar="DIR", help="folder of the files that a recording.yaml names")
    validate.add_argument("--json", action="store_true", help="print the content of validation.json")

    export = add("export", "an identified model as URDF, MJCF, SDF, YAML, JSON, C or Python; a motion for ROS 2")
    export.add_argument("folder", type=Path, metavar="DIR", help="a folder that exciter identify (ros2: design) wrote")
    export.add_argument("--format", required=True, choices=EXPORT_WORDS, help="what is written")
    export.add_argument("-o", "--output", type=place, metavar="F", required=True, help="the file")

    init = add("init", "a commented configuration to start from")
    init.add_argument("robot", metavar="ROBOT", help=ROBOT_HELP)
    default = Path("exciter.yaml")
    init.add_argument("-o", "--output", type=place, metavar="F", default=default, help=f"the file (default: {default})")
    init.add_argument("--force", action="store_true", help="write over files that are there")

    schema = add("schema", "JSON schema of the settings files, for editors")
    schema.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        choices=("exciter", "recording"),
        default="exciter",
        help="exciter (default): that of --config; recording: what a foreign log is like",
    )

    reproduce = add("reproduce", "the papers' tables and figures, published and reached side by side")
    papers = f"{', '.join(NAMES)} (default: all)"
    reproduce.add_argument("paper", metavar="PAPER", nargs="?", choices=NAMES, help=papers)
    reproduce.add_argument(
        "-o", "--output", type=place, metavar="DIR", help="folder of reports (default: reproduced; none with --json)"
    )
    reproduce.add_argument("--quick", action="store_true", help="the same items with fewer starts and repetitions")
    reproduce.add_argument("--jobs", type=positive, metavar="J", help="processes (default: one for every core)")
    reproduce.add_argument("--json", action="store_true", help="print all findings as data")

    robots = add("robots", "the embedded robots")
    robots.add_argument("--json", action="store_true", help="print plain data instead of a table")

    completion = add("completion", "completion of commands and options for a shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh", "powershell"), help="which shell")
    for command in commands.choices.values():
        command.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors, and data of --json")
    return top


def add_robot_options(command: argparse.ArgumentParser, content: str) -> None:
    """What may be said of a robot beside its description; content: what the command reads in the file of --config."""
    command.add_argument("--config", type=Path, metavar="F", help=f"YAML file, of which this command reads {content}")
    command.add_argument("--lock", action="append", default=[], metavar="JOINT[=POSITION]", help="freeze a joint")
    xyz = ("X", "Y", "Z")
    command.add_argument("--gravity", nargs=3, type=float, metavar=xyz, help="gravity in the base frame [m/s²]")


def place(text: str) -> Path:
    """Where something is to be written, for argparse."""
    if not text.strip():
        raise argparse.ArgumentTypeError("-o is empty; give a name")
    return Path(text)


def whole(text: str) -> int:
    """A whole number ≥ 0, for argparse."""
    return _counted(text, 0)


def positive(text: str) -> int:
    """A whole number ≥ 1, for argparse."""
    return _counted(text, 1)


def _counted(text: str, least: int) -> int:
    """Of digits that a computer counts with; what each number may come to is for the work to say."""
    if not text.isdecimal() or len(text) > MOST_COUNTED_DIGITS or int(text) < least:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number ≥ {least}")
    return int(text)


def percent(text: str) -> float:
    """1 … 100 [%], for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1.0 <= value <= 100.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to 100")
    return value


def seconds(text: str) -> float:
    """A positive time [s], for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number of seconds")
    return value
