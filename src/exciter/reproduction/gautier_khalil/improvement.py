"""What the optimum gains over random sequences, with the noise of the paper and with the same noise for both."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exciter.reproduction.finding import Finding, claim, shown, typical
from exciter.reproduction.gautier_khalil.perturbed import Draws
from exciter.reproduction.gautier_khalil.printed import NoiseTable, noise_levels
from exciter.reproduction.paper import Part
from exciter.typing import Array

Made = dict[tuple[int, str], tuple[Array, Draws]]
SEED = 0  # of the pairs
CALM = 0.1  # relative change of cond(W) that counts as none
TABLES = {30: ("3", "4"), 15: ("8", "9")}


def improvement_part(made: Made, samples: Mapping[tuple[int, str], str]) -> Part:
    findings = [*_improvements(made, samples), *_bounds(made), *_sensitivity(made)]
    return Part(
        "Section 6.3",
        "What the optimum gains over random sequences, and how sharp the bounds are",
        "The draws of Tables 3–5 and 8–10. Improvement: ‖δX‖ of a random sequence over that of an optimum one, "
        "both drawn "
        f"at random (seed {SEED}), geometric mean over the three k. cond(W) counts as not sensitive where its median "
        f"change is {100 * CALM:g} % at most.",
        tuple(findings),
        differences=(
            "Noise on Y is scaled with max|Y|, and an optimum sequence has small energy differences, so it also "
            "gets less noise. With the same noise in joules on both, the gain is several times "
            "smaller than the tables suggest."
        ),
    )


def _improvements(made: Made, samples: Mapping[tuple[int, str], str]) -> list[Finding]:
    found = []
    for r, numbers in TABLES.items():
        for number, attribute, where in zip(numbers, ("dx_y", "dx_w"), ("Y", "W"), strict=True):
            sizes = [NoiseTable.of(number, kind).corrected["dx"] for kind in ("random", "optimum")]
            published = float(np.exp(np.log(sizes[0] / sizes[1]).mean()))
            random, optimum = (getattr(made[r, kind][1], attribute) for kind in ("random", "optimum"))
            sample = _pairs(random, optimum)
            quantity = f"‖δX‖ random / optimum, r = {r}, noise on {where}"
            words = f"pairs of {samples[r, 'random']} (random) and {samples[r, 'optimum']} (optimum)"
            found.append(typical(quantity, published, sample, f"Table {number}", of=words))
        equal = _equal_noise(made[r, "random"][0]), _equal_noise(made[r, "optimum"][0])
        found.append(
            shown(
                f"the same with one and the same noise on Y [J], r = {r}, ratio of medians",
                float(np.median(equal[0]) / np.median(equal[1])),
                "root of the trace of (WᵀW)⁻¹, random over optimum",
            )
        )
    return found


def _pairs(random: Array, optimum: Array) -> Array:
    """Geometric means over k of random / optimum, of draws that are paired at random."""
    rng = np.random.default_rng(SEED)
    first, second = np.log(random).mean(axis=1), np.log(optimum).mean(axis=1)
    many = max(len(first), len(second))
    return np.asarray(np.exp(rng.choice(first, many) - rng.choice(second, many)))


def _equal_noise(w: Array) -> Array:
    """√tr (WᵀW)⁻¹ (M,): root of the sum of variances for noise of 1 J."""
    return np.asarray(np.sqrt((np.linalg.svd(w, compute_uv=False) ** -2.0).sum(axis=1)))


def _bounds(made: Made) -> list[Finding]:
    drawn = [one for _, one in made.values()]
    smallest = min(float(one.ratio.min()) for one in drawn)
    medians = {key: float(np.median(one.ratio)) for key, (_, one) in made.items()}
    note = (
        f"right side over left side: {smallest:.3g} at least in {sum(one.ratio.size for one in drawn)} draws; medians "
        f"{medians[30, 'optimum']:.3g} (optimum) and {medians[30, 'random']:.3g} (random) at r = 30, "
        f"{medians[15, 'optimum']:.3g} and {medians[15, 'random']:.3g} at r = 15"
    )
    square = [made[15, kind][1].ratio_w for kind in ("optimum", "random")]
    least = min(float(one.min()) for one in square)
    return [
        claim("(12) bounds ‖δX‖/‖X‖ in every draw with noise on Y, r = 15 and 30", smallest >= 1.0, note),
        claim(
            "(13) bounds ‖δX‖/‖X + δX‖ in every draw with noise on W, r = b = 15",
            least >= 1.0,
            f"right side over left side: {least:.3g} at least",
        ),
    ]


def _sensitivity(made: Made) -> list[Finding]:
    """Is cond(W + δW) near cond(W)?"""
    found = []
    levels = noise_levels()
    for at in (1, 2):
        medians = {
            key: float(np.median(np.abs(one.cond_perturbed[:, at] / one.cond - 1.0))) for key, (_, one) in made.items()
        }
        words = ", ".join(f"{100 * value:.2g} % ({kind}, r = {r})" for (r, kind), value in medians.items())
        largest = max(medians.values())
        found.append(
            claim(
                f"cond(W) is not sensitive to noise on W, k = {levels[at]:g}",
                largest <= CALM,
                f"median change of cond(W): {words}"
                + ("; the larger the noise, the less it holds" if largest > CALM else ""),
            )
        )
    return found
