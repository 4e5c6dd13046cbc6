"""``exciter completion``: what a shell needs to complete commands, options, words and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import shtab

from exciter.commands.arguments import here, parser
from exciter.excitation.criteria.weighted_sums import SUFFICIENT_CRITERIA
from exciter.excitation.files.trajectory_files import TO_DESIGN
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.formulations import FORMULATIONS

WORDS: dict[str, Iterable[str]] = {
    "trajectory": TO_DESIGN.words,
    "criterion": SUFFICIENT_CRITERIA,
    "formulation": FORMULATIONS.words,
    "estimator": ESTIMATORS.words,
    "compare": (*FORMULATIONS.words, *ESTIMATORS.words),
}


def run(arguments: argparse.Namespace) -> None:
    print(shtab.complete(described(), shell=arguments.shell))


def described() -> argparse.ArgumentParser:
    """The parser, with what can be completed of each argument: files, folders, words."""
    top = parser()
    commands = next(action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    for command in commands.choices.values():
        for action in command._actions:
            if action.option_strings and action.dest in WORDS and action.type is not here:
                action.choices = tuple(WORDS[action.dest])
            elif action.type is here or action.dest == "robot":
                action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
    return top
