"""``exciter campaign``: design, log, identify, design again until a stated σ is reached; goes on where it stopped."""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from exciter.commands.common import chosen_workers, console, plain_table, running, shown, steps, with_flags
from exciter.files import json_text
from exciter.pipeline.campaign import Campaign, campaign
from exciter.pipeline.campaign_logs import LOG_FILES
from exciter.pipeline.campaign_rounds import round_name
from exciter.pipeline.campaign_settings import SigmaByName
from exciter.pipeline.settings_file import SettingsFile
from exciter.settings import fill

STEPS_PER_ROUND = 4  #: designing, executing, identifying, what came of it
MOST_SHORT_PRINTED = 8
NOT_REACHED_EXIT_CODE = 1


def run(arguments: argparse.Namespace) -> int:
    """0 when every σ is reached, or a log is waited for; 1 when all rounds were not enough."""
    file = SettingsFile.read(arguments.config)
    flags = {key: getattr(arguments, key) for key in ("starts", "seed", "jobs")}
    motions = file.design.overridden(**flags)
    motions = replace(motions, robot=with_flags(motions.robot, arguments))
    stated: dict[str, Any] = {key: getattr(arguments, key) for key in ("rounds", "criterion", "logs")}
    if arguments.target:
        stated["target"] = fill(SigmaByName().hint, by_name(arguments.target), "--target")
    if arguments.torque is not None:
        stated["torque"] = fill(SigmaByName().hint, arguments.torque, "--torque")
    changes = {key: value for key, value in stated.items() if value is not None}
    most = changes.get("rounds") or file.campaign.rounds
    made: Campaign | None = None
    try:
        with running(chosen_workers(arguments, motions.jobs)) as workers, steps(STEPS_PER_ROUND * most) as step:
            asked = {"design": motions, "workers": workers, **changes}
            made = campaign(arguments.robot, arguments.output, arguments.config, progress=step, **asked)
    except KeyboardInterrupt:
        if made is None:  # else all is written, and what it came to counts
            raise
    if arguments.json:
        print(json_text(made.to_dict()), end="")
    else:
        with suppress(KeyboardInterrupt):
            print_campaign(console(), made, arguments.output)
    return 0 if made.reached or made.waiting is not None else NOT_REACHED_EXIT_CODE


def by_name(given: list[str]) -> Any:
    """``5 %``, or several ``NAME=5 %``."""
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    return {name.strip(): value for name, _, value in (one.partition("=") for one in given)}


def print_campaign(out: Console, made: Campaign, folder: Path) -> None:
    history = made.history
    rows = []
    for k, seconds in enumerate(history.seconds):
        known = k < len(history.sigma)
        predicted = history.predicted[k] if known else None
        expected = float("nan") if predicted is None else float((predicted / history.wanted[k]).max())
        worst = float(history.ratios[k].max()) if known else float("nan")
        reached = f"{int((history.ratios[k] <= 1.0).sum())} of {len(history.goals)}" if known else "waits for its log"
        total = sum(history.seconds[: k + 1])
        rows.append((str(k + 1), f"{seconds:.4g}", f"{total:.4g}", shown(worst), shown(expected), reached))
    headings = ("round", "motion [s]", "robot time [s]", "largest σ / target", "as predicted", "σ reached")
    out.print(plain_table(headings, rows, right=range(5)))
    for k in history.short[:MOST_SHORT_PRINTED]:
        last = history.sigma[-1][k], history.wanted[-1][k]
        out.print(
            f"short: {history.goals[k]} σ {last[0]:.3g}, wanted {last[1]:.3g} {history.units[k]}: {history.why(k)}"
        )
    out.print(f"written to {folder}: campaign.json, report.html, {round_name(1)} …")
    if (waiting := made.waiting) is not None:
        home = folder / round_name(waiting.number)
        out.print(f"run {home / 'trajectory.csv'} and put its log there: {home / LOG_FILES[1]}; then call again",
                  style="bold", soft_wrap=True)  # fmt: skip
    elif made.reached:
        out.print(f"reached after {made.robot_time:.4g} s of motion", style="green")
    else:
        out.print(f"not reached in {len(made.done)} rounds; more: --rounds", style="yellow")
