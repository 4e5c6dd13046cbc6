"""``bounds:`` of the estimator consistent: what is known of masses and centres of mass.

bounds:
  - {mass: [10, 20]}                                     # [kg] of all moving links; one number: known to 1 %
  - {joint: elbow, mass: [2, 4]}                         # of the link that a joint moves
  - {joint: elbow, centre: {lower: [-0.1, -0.1, 0], upper: [0.1, 0.1, 0.4]}}     # [m] in the joint frame
  - {joint: wrist, centre: {near: [0, 0, 0.05], radius: 0.03}}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exciter.errors import ExciterError, shown
from exciter.excitation.config.section import Section, number
from exciter.identification.physical.bounds import Bound, CentreBox, CentreSphere, MassBound

KNOWN_TO = 0.01  # a mass given as one number


def bounds_of(entries: Sequence[Any], where: str) -> tuple[Bound, ...]:
    return tuple(bound for entry in entries for bound in _bound(Section.of(entry, where, ("joint", "mass", "centre"))))


def _bound(section: Section) -> list[Bound]:
    joint = section.get("joint")
    if joint is not None and not isinstance(joint, str):
        raise ExciterError(f"{section.at('joint')} is {shown(joint)}; give the name of a joint")
    bounds: list[Bound] = []
    if "mass" in section:
        bounds.append(MassBound(joint, *_masses(section)))
    if "centre" in section:
        bounds.append(_centre(section, joint))
    if not bounds:
        raise ExciterError(f"{section.where} has an entry without a mass and without a centre; give one of them")
    return bounds


def _masses(section: Section) -> tuple[float, float]:
    given = section.get("mass")
    if isinstance(given, list):
        lower, upper = section.vector("mass", 2).tolist()
        return lower, upper
    mass = number(given, section.at("mass"), above=0.0)
    return (1.0 - KNOWN_TO) * mass, (1.0 + KNOWN_TO) * mass


def _centre(section: Section, joint: str | None) -> Bound:
    if joint is None:
        raise ExciterError(f"{section.where} bounds a centre of mass without a joint; name the joint that moves it")
    centre = section.section("centre", ("lower", "upper", "near", "radius"))
    if "near" in centre and ("lower" in centre or "upper" in centre):
        raise ExciterError(f"{centre.where} has near and lower or upper; give one of both, or two entries")
    if "near" in centre:
        near = tuple(centre.vector("near", 3).tolist())
        return CentreSphere(joint, near, centre.number("radius", 0.0, above=0.0))
    lower, upper = (tuple(centre.vector(key, 3).tolist()) for key in ("lower", "upper"))
    return CentreBox(joint, lower, upper)
