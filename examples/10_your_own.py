"""Your own constraint, proved between samples; your own motion, certified; your own parameters, designed for."""

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.spans import Spans
from exciter.excitation.constraints.user import UserConstraint
from exciter.excitation.criteria import AOptimality, Columns
from exciter.excitation.design import design
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.parameters.terms import Viscous
from exciter.robot import Motion, load

robot = load("kuka-ir361")
model = DynamicModel(robot, (Viscous(),))

# A cable between joints 2 and 3 allows |q2 + q3| ≤ 1 rad: rows that must stay ≥ 0, one per side, 1 in the middle.
ALLOWED = 1.0


def room(motion: Motion) -> np.ndarray:
    turned = (motion.q[:, 1] + motion.q[:, 2]) / ALLOWED
    return np.stack([1.0 - turned, 1.0 + turned])


def room_between(spans: Spans) -> np.ndarray:
    """On an interval of width h a function stays within h²/8 of its largest second derivative of its chord."""
    bend = spans.width**2 / 8.0 * (spans.rates[1, 1] + spans.rates[1, 2]) / ALLOWED  # rates[1] ≥ |q̈| of every joint
    return np.minimum(room(spans.left), room(spans.right)) - bend


cable = UserConstraint("cable", room, count=2, bound=room_between)
designed = design(model, Fourier(8.0, 4, at_rest=True), constraints=[cable], starts=2)
tight = min(limit.margin for limit in designed.certificate.limits if limit.what == "cable")
print(f"designed with the cable: certified {designed.certificate.certified}, room left {tight:.3f} of 1")

# A motion of your own: samples of q, q̇, q̈, joined by quintics, or any piecewise polynomial by its coefficients.
time, omega = np.linspace(0.0, 6.0, 61), 2 * np.pi / 6.0
swing = 1.0 - np.cos(omega * time), omega * np.sin(omega * time), omega**2 * np.cos(omega * time)
q, qd, qdd = (np.outer(x, [0.5, 0.15, 0.15]) for x in swing)
own = Curve((PolynomialPiece.from_samples(time, q + np.array([0.0, 0.1, 0.1]), qd, qdd),))
certificate = certify(robot, own, [cable])
print(f"your own motion: certified {certificate.certified}; at rest when it starts: {certificate.starts_at_rest}")

# Parameters of your own, each a combination of standard ones: a load on link 3 of unknown mass at a known place.
x = 0.3  # [m] along the link
load_mass = {"M3": 1.0, "MX3": x, "YY3": x**2, "ZZ3": x**2}
columns = Columns.combined(model, {"load": load_mass, "Fv1": {"Fv1": 1.0}, "Fv2": {"Fv2": 1.0}, "Fv3": {"Fv3": 1.0}})
few = design(model, Fourier(8.0, 4, at_rest=True), criterion=AOptimality(), columns=columns, noise=2.0, starts=2)
for name, std in zip(few.parameters, few.predicted_std, strict=True):
    print(f"{name:5} σ {std:.4f}")
