"""The dynamic step: optimised trajectories beside random ones, and what torque term and a known payload change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exciter import BSpline
from exciter.excitation.criteria.criterion import evaluate
from exciter.excitation.design import Design
from exciter.excitation.trajectories.trajectory import motion
from exciter.excitation.validation_motion.random_families import random_trajectory
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.paper import DataTable, Effort, Part, Terms, at_most, claim, published, shown, text_of, typical
from exciter_papers.rackl import designs, printed, set_up
from exciter_papers.rackl.designs import Weighted, weighted

SHOWN_AXIS = 1  # the one that Figure 3 shows, from 0
DESIGN_LIMITS_STATEMENT = "joint limits, torque limits, box and sphere"


def run(effort: Effort) -> Sequence[Part]:
    found = designs.full_criterion(effort.pick(2, 12), payload=True)
    bare = designs.full_criterion(effort.pick(1, 12), payload=False)
    plain = {
        len(names): designs.plain(names, effort.pick(1, 8))
        for names in (set_up.names_16(), set_up.names_31(found.model))
    }
    reached = weighted(found, set_up.weights_16())
    return (
        optimised(effort, found, reached, plain),
        torque_term_part(effort, found, reached),
        random_part(effort, reached.condition, {k: d.condition_number for k, d in plain.items()}),
        payload_part(found, bare),
    )


def optimised(effort: Effort, found: Design, reached: Weighted, plain: dict[int, Design]) -> Part:
    weights, target = set_up.weights_16(), published("rackl")["condition"]["optimised"]
    lowest = weighted(designs.smallest_bound(effort.pick(1, 8)), weights)
    as_printed = {row[0]: row[1] for row in published("rackl")["table_1"]}
    readings = {
        words: weighted(designs.weighted_only(values, effort.pick(1, 6)), values)
        for words, table in printed.readings_of(as_printed).items()
        if (values := tuple(table[name] for name in set_up.names_16())) != weights
    }
    everything = [found, *plain.values()]
    assert isinstance(found.trajectory, BSpline)
    return Part(
        "Section IV, Figure 3",
        "The optimised trajectory",
        f"B-spline of degree {found.trajectory.degree} through {set_up.SEGMENTS + 1} way-points per joint, criterion "
        f"(15) with |τ|, {DESIGN_LIMITS_STATEMENT} of (33)–(44), kept for all time and not at samples; duration free "
        "within "
        f"{set_up.DURATIONS[0]:g} … {set_up.DURATIONS[1]:g} s. {len(found.attempts)} starts, seed "
        f"{designs.WEIGHTED_DESIGN_SEED}. "
        f"{set_up.OPEN}, the number of way-points, a steel payload of {set_up.payload().mass:.2f} kg. Φ_CAD is not "
        "published: the values of Table I stand for it.",
        (
            at_most(
                "condition number λ of the optimised trajectory, (15)",
                target,
                reached.condition,
                Terms(
                    "λ(Π_dyn diag Φ) + 1/Σ|τ| (15), sixteen columns of Table I",
                    "degree 4, printed limits (33)–(44)",
                    "Φ_CAD, the payload, ξ₁, ξ₂ and the number of way-points are not printed",
                ),
                explanation(target, reached, lowest),
            ),
            shown(
                f"{DESIGN_LIMITS_STATEMENT} hold, certified for all time",
                all(one.certificate.certified for one in everything),
                f"{len(everything)} designs; the paper checks selected points",
            ),
            claim("velocity and acceleration are zero at both ends", ends_at_rest(found)),
            shown("lower bound of λ on our trajectory: longest over shortest column", reached.bound),
            shown("smallest such bound of any motion we found, the bound itself minimised", lowest.bound),
            shown("condition number, the sixteen columns of Table I without weights", plain[16].condition_number),
            shown("condition number, all 31 inertia columns without weights", plain[31].condition_number),
        ),
        (
            DataTable(
                "starts",
                "Every start of the optimisation",
                ("start", "criterion (15)", "duration [s]", "all limits kept"),
                [(one.number, one.value, one.trajectory.duration, one.feasible) for one in found.attempts],
            ),
            DataTable(
                "bounds",
                "Weighted condition numbers and their lower bounds",
                ("optimised for", "λ", "lower bound of λ", "longest column", "shortest column"),
                [
                    (words, one.condition, one.bound, one.longest, one.shortest)
                    for words, one in {"Table I as weights": reached, "smallest bound": lowest, **readings}.items()
                ],
            ),
        ),
        figures_3(found),
        differences(readings),
    )


def explanation(target: float, reached: Weighted, lowest: Weighted) -> str:
    return (
        f"λ ≥ longest/shortest weighted column, here {reached.longest} and {reached.shortest}: {reached.bound:.1f} "
        f"on our trajectory. Minimising that bound alone, we found none below {lowest.bound:.1f}, which is "
        f"{lowest.bound / target:.1f} times {target:g}; not a proof. The weights of the authors, Φ_CAD, are not "
        "published"
    )


def differences(readings: dict[str, Weighted]) -> str:
    limits = published("rackl")["limits"]
    others = "; ".join(f"{words} λ = {one.condition:.0f}" for words, one in readings.items())
    return (
        "(15) sums signed torques: they may cancel, and the sum may be negative; we sum |τ|. (17) lacks the norm of "
        f"x_ee, (36) prints ≤ for a radius that is {limits['sphere']:g} m. The sphere (41) follows from the box: "
        f"z ≥ {limits['box_lower'][2]:g} m (35) keeps the end-effector outside. With the values of Table I read "
        f"otherwise as weights: {others}."
    )


def ends_at_rest(found: Design) -> bool:
    ends = found.curve.motion(np.array([0.0, found.curve.duration]))
    return bool(max(np.abs(ends.qd).max(), np.abs(ends.qdd).max()) < 1e-9)


def figures_3(found: Design) -> tuple[Plot, ...]:
    """Position, velocity and acceleration of one joint between their limits; way-points as dots."""
    assert isinstance(found.trajectory, BSpline)
    robot, spline = found.model.robot, found.trajectory
    points = spline.waypoint_times
    time = np.union1d(np.linspace(0.0, spline.duration, 1000), points)
    motion = found.curve.motion(time)
    dots = np.where(np.isin(time, points), motion.q[:, SHOWN_AXIS], np.nan)
    plots, name = [], set_up.joint_name(SHOWN_AXIS)
    speed, force = robot.limit("velocity"), robot.limit("acceleration")
    for title, unit, values, (lower, upper) in (
        ("Position", "rad", motion.q, robot.position_range()),
        ("Velocity", "rad/s", motion.qd, (-speed, speed)),
        ("Acceleration", "rad/s²", motion.qdd, (-force, force)),
    ):
        lines = [Line(name, values[:, SHOWN_AXIS], unit)]
        if title == "Position":
            lines.append(Line("optimised points", dots, unit, points=True))
        lines += [
            Line(f"{side} limit", np.full(len(time), limit[SHOWN_AXIS]), unit, width=1.2, colour="poor")
            for side, limit in (("lower", lower), ("upper", upper))
        ]
        plots.append(
            Plot(f"{title} of {name} (Figure 3)", time, "time [s]", f"{title.lower()} [{unit}]", lines, "figure-3")
        )
    return tuple(plots)


# -- the torque term and the free duration -----------------------------------------------------------------------------

DURATION_CHANGE_RATIO = 2.0  # times as long: how far the duration is changed


def torque_term_part(effort: Effort, found: Design, reached: Weighted) -> Part:
    """found: optimised with ξ₂ = ξ₁, with payload; reached: its λ."""
    weights, chi = set_up.weights_16(), set_up.loaded_chi(found.model)
    torque = designs.torque_sum(found, chi)
    heavy = set_up.XI_1 * reached.condition * torque  # ξ₂ for which both summands of (15) are equal
    active = designs.full_criterion(effort.pick(1, 4), payload=True, xi_2=heavy)
    condition = weighted(active, weights).condition
    slower = weighted(found, weights, DURATION_CHANGE_RATIO).condition
    summand = set_up.XI_2 / torque
    return Part(
        "Section III-A, criterion (15)",
        "The torque term and the free duration",
        f"The trajectory of Figure 3 (ξ₂ = ξ₁), and one found with ξ₂ = {heavy:.0f} ξ₁: for this value both summands "
        "of (15) are equal at the trajectory of Figure 3, the mean |τ| of all joints summed in "
        f"N·m. {len(active.attempts)} starts, seed {designs.WEIGHTED_DESIGN_SEED}; limits and payload as there. ξ₁ "
        "and ξ₂ are not "
        "published.",
        (
            shown(
                "relative change of λ when the same way-points take longer",
                abs(slower / reached.condition - 1.0),
                f"{DURATION_CHANGE_RATIO:g} times as long; rounding alone. Every row of the inertia columns is of "
                "second order in "
                "1/t_f, so that λ cannot depend on t_f: with λ alone, a free t_f decides nothing but which limits hold",
            ),
            shown(
                "share of the torque term in (15), ξ₂ = ξ₁ [%]",
                100.0 * summand / (set_up.XI_1 * reached.condition + summand),
                "too small to have an effect; its weight depends on the units",
            ),
            shown("duration of the optimised trajectory, ξ₂ = ξ₁ [s]", found.trajectory.duration),
            shown(
                "Σ mean |τ| with equal summands over that with ξ₂ = ξ₁",
                designs.torque_sum(active, chi) / torque,
                f"while λ becomes {condition / reached.condition:.2f} times as large",
            ),
            shown("all limits hold with equal summands, certified for all time", active.certificate.certified),
        ),
        DataTable(
            "torque-term",
            "Criterion (15) with two values of ξ₂",
            ("ξ₂ / ξ₁", "λ", "Σ mean |τ| [N·m]", "duration [s]"),
            [
                (xi / set_up.XI_1, value, designs.torque_sum(one, chi), one.trajectory.duration)
                for xi, value, one in ((set_up.XI_2, reached.condition, found), (heavy, condition, active))
            ],
        ),
    )


# -- random trajectories -----------------------------------------------------------------------------------------------

RANDOM_SAMPLE_RATE = 25.0  # [1/s] samples
#: Segments and durations [s], for the paper gives neither
RANDOM_TRAJECTORY_KINDS = ((6, 5.0), (8, 10.0), (12, 20.0))
PUBLISHED_KIND_INDEX = RANDOM_TRAJECTORY_KINDS.index((set_up.SEGMENTS, set_up.DURATION))
CONDITION_READINGS = ("16 columns", "31 columns", "16 columns, weighted")


def random_part(effort: Effort, optimised: float, plain: dict[int, float]) -> Part:
    printed = published("rackl")["condition"]
    count = effort.pick(50, 200)
    samples = [conditions(segments, duration, count) for segments, duration in RANDOM_TRAJECTORY_KINDS]
    usual = samples[PUBLISHED_KIND_INDEX]
    medians = np.median(samples, axis=1)
    weighted, best = usual[:, 2], np.array([plain[16], plain[31], optimised])
    return Part(
        "Section IV, random trajectories",
        "Random splines beside the optimised one",
        f"{count} splines each with way-points drawn from a normal distribution (seeds 0 … {count - 1}), every joint "
        "scaled up to the first of its position, velocity and acceleration limits. Weighted by the values of Table I. "
        "Number of way-points and duration are not published: "
        + ", ".join(f"{segments + 1} in {duration:g} s" for segments, duration in RANDOM_TRAJECTORY_KINDS)
        + f". Findings are for {set_up.SEGMENTS + 1} in {set_up.DURATION:g} s.",
        (
            typical(
                "condition number of random trajectories, weighted",
                printed["random"],
                weighted,
                f"medians of the {len(RANDOM_TRAJECTORY_KINDS)} kinds {span(medians[:, 2])}; without weights "
                f"{span(medians[:, 0])} (16 "
                f"columns) and {span(medians[:, 1])} (31). The weights of Table I alone span a factor of "
                f"{max(set_up.weights_16()) / min(set_up.weights_16()):.0f}; those the authors used, Φ_CAD, are not "
                "published",
                of="trajectories",
            ),
            shown(
                "median of random trajectories over the optimised one, weighted",
                np.median(weighted) / optimised,
                f"the two printed figures have a ratio of {printed['random'] / printed['optimised']:.1f}",
            ),
            claim(
                "optimised trajectories have smaller condition numbers than random ones",
                (best < usual.min(axis=0)).all(),
                f"with weights {optimised:.4g} beside {weighted.min():.4g} at best; without, {best[0]:.3g} beside "
                f"{usual[:, 0].min():.3g} (16 columns) and {best[1]:.3g} beside {usual[:, 1].min():.3g} (31)",
            ),
            shown(
                "median condition number of random trajectories, 16 columns without weights",
                medians[PUBLISHED_KIND_INDEX, 0],
            ),
            shown(
                "median condition number of random trajectories, 31 columns without weights",
                medians[PUBLISHED_KIND_INDEX, 1],
            ),
        ),
        random_table(samples),
        random_plot(weighted, optimised, printed),
    )


def conditions(segments: int, duration: float, count: int) -> Array:
    """(count, 3): 16 columns, 31 columns, 16 weighted."""
    model, family = set_up.paper_model(), set_up.spline(segments, duration)
    many = set_up.columns(model, set_up.names_31(model))
    few = set_up.columns(model, set_up.names_16())
    times = family.sample_times(round(RANDOM_SAMPLE_RATE * duration))
    found = np.empty((count, 3))
    for seed in range(count):
        rows = model.regressor(motion(family, random_trajectory(family, model.robot, seed), times))
        w, all_of_them = (rows[:, :, chosen].reshape(-1, len(chosen)) for chosen in (few, many))
        found[seed] = [np.linalg.cond(x) for x in (w, all_of_them, w * set_up.weights_16())]
    return found


def span(values: Array) -> str:
    return f"{text_of(float(values.min()))} … {text_of(float(values.max()))}"


def random_table(samples: list[Array]) -> DataTable:
    rows = []
    for (segments, duration), found in zip(RANDOM_TRAJECTORY_KINDS, samples, strict=True):
        for words, column in zip(CONDITION_READINGS, found.T, strict=True):
            low, middle, high = np.quantile(column, [0.05, 0.5, 0.95])
            rows.append((segments + 1, duration, words, low, middle, high))
    headings = ("way-points", "duration [s]", "condition number of", "5 %", "median", "95 %")
    return DataTable("random", "Condition numbers of random splines", headings, rows)


def random_plot(sample: Array, optimised: float, printed: Mapping[str, float]) -> Plot:
    """How many random trajectories are at least as good; our optimum and both printed figures as dots."""
    marks = {
        "our optimised one": optimised,
        "random, as printed": printed["random"],
        "optimised, as printed": printed["optimised"],
    }
    x = np.union1d(np.geomspace(0.9 * min(marks.values()), sample.max(), 300), list(marks.values()))
    share = (sample[:, None] <= x).mean(axis=0)
    lines = [Line("random trajectories", 100.0 * share, "%")]
    lines += [
        Line(words, np.where(x == value, np.interp(value, x, 100.0 * share), np.nan), "%", points=True)
        for words, value in marks.items()
    ]
    return Plot(
        "Share of random trajectories up to a condition number (weighted)", x, "condition number", "share [%]", lines
    )


# -- a known payload ---------------------------------------------------------------------------------------------------


def payload_part(loaded: Design, bare: Design) -> Part:
    model = loaded.model
    chi, own = set_up.loaded_chi(model), model.nominal
    log = loaded.curve.motion(loaded.trajectory.sample_times(loaded.samples))
    noise = set_up.repeated_noise()
    ratio = snr(model.torque(log, chi), noise) / snr(model.torque(log, own), noise)
    sigma = evaluate(model, log, noise**-2.0).predicted_std
    heavier, lighter = (np.abs(model.base.base_values(x)) for x in (chi, own))
    gained = heavier / np.maximum(lighter, 1e-300)
    grown = [k for k in range(len(sigma)) if heavier[k] > 1e-12 and gained[k] > 1.01]
    conditions = {"with": weighted(loaded, set_up.weights_16()), "without": weighted(bare, set_up.weights_16())}
    return Part(
        "Section IV, payload (design)",
        "Trajectories optimised with a known payload and without",
        f"Payload: a steel cylinder of {set_up.payload().mass:.2f} kg on the flange (the paper's is not published). "
        f"Criterion (15) and limits as for Figure 3, {len(loaded.attempts)} starts with payload and "
        f"{len(bare.attempts)} without, seed {designs.WEIGHTED_DESIGN_SEED}. σ is predicted for one log of the "
        "trajectory at "
        f"{loaded.samples / loaded.trajectory.duration:.0f} Hz with the noise that is left after decimation.",
        (
            claim(
                "a known payload improves the signal-to-noise ratio of the torques",
                (ratio >= 1.0 - 1e-9).all() and (ratio > 1.0).any(),
                "rms torque over noise with payload, of that without, joint by joint: "
                + ", ".join(f"{r:.2f}" for r in ratio),
            ),
            shown("condition number λ, optimised with payload", conditions["with"].condition),
            shown(
                "condition number λ, optimised without payload",
                conditions["without"].condition,
                f"starts with payload end at {ends(loaded)}, without at {ends(bare)}: the difference is scatter "
                "between starts, not the payload's doing",
            ),
            shown(
                "both trajectories keep all limits, certified for all time",
                loaded.certificate.certified and bare.certificate.certified,
            ),
        ),
        DataTable(
            "payload-relative",
            "Parameters that hold the payload: size and σ % without and with it",
            ("parameter", "unit", "value without", "value with", "σ", "σ % without", "σ % with"),
            [
                (
                    model.base.names[k],
                    "kg·m" if model.base.names[k].startswith("M") else "kg·m²",
                    lighter[k],
                    heavier[k],
                    sigma[k],
                    float(100 * sigma[k] / lighter[k]) if lighter[k] > 1e-12 else None,
                    100 * sigma[k] / heavier[k],
                )
                for k in grown
            ],
        ),
        differences="A payload cannot change λ by itself: the regressor of the robot's own parameters does not contain "
        "it. It changes torques, and with them the second summand of (15) and what the torque limits allow. For a "
        "given noise, σ of every parameter stays; σ % of the parameters that hold the payload falls because they grow.",
    )


def ends(found: Design) -> str:
    """Between which values the starts of a search ended."""
    values = [one.value for one in found.attempts if one.feasible]
    return f"{min(values):.1f}" if len(values) == 1 else f"{min(values):.1f} … {max(values):.1f}"


def snr(torque: Array, noise: Array) -> Array:
    """(n,) rms torque over σ."""
    return np.asarray(np.sqrt((torque**2).mean(axis=0)) / noise)
