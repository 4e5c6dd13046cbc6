"""The chapter's filters: ``decimate`` after [12.21], F(s) of [12.29] on both sides and on one, [12.16] on positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import signal

import exciter as ex
from exciter.experiment.signals.differentiation import first_difference, second_difference
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth, Chebyshev, SecondOrder
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.khalil_dombre import set_up
from exciter_papers.khalil_dombre.four_models import CHAPTER_FIGURES, DECIMATE, SAID, estimate
from exciter_papers.paper import DataTable, Effort, Part, claim, same, shown

DECIMATE_FIGURES = CHAPTER_FIGURES["decimate"]
SECOND = CHAPTER_FIGURES["second_order"]
MIDDLE: float = CHAPTER_FIGURES["noise"]["cutoffs"][1]  # [Hz], for positions
SETTLING_SAMPLES = round(
    2.0 * set_up.SAMPLE_RATE
)  # samples after which a causal filter of 10 rad/s has forgotten its start
DECIMATE_RIPPLE_DB = 0.05  # dB of one pass of decimate
TRIED_FILTER_ORDERS = range(5, 12)


def run(effort: Effort) -> Sequence[Part]:
    return (decimate(), second_order(), positions())


# -- decimate ----------------------------------------------------------------------------------------------------------


def decimate() -> Part:
    """Whether the chapter's numbers are those of the "decimate" it names."""
    factor = DECIMATE_FIGURES["factor"]
    frequency, gain = response_of_decimate(factor)
    edge = _edge(frequency, gain)
    rate = DECIMATE_FIGURES["cutoff"] / edge
    chosen, _ = DECIMATE.at(rate)
    order = _order(frequency, gain, edge)
    ours = np.abs(signal.freqz_sos(chosen.sections(rate), worN=frequency, fs=1.0)[1]) ** 2
    return Part(
        "after [12.21]",
        "The filter of 'decimate'",
        f"SciPy's decimate(x, {factor}, zero_phase=True), the counterpart of MATLAB's, as a black box: its response to "
        f"{factor} shifted impulses, Fourier transformed. Cut-off: where the gain of both passes leaves the ripple of "
        f"{2 * DECIMATE_RIPPLE_DB:g} dB for good. Order: that of the Chebyshev filter with this ripple and cut-off "
        "that fits best. "
        "The chapter does not print the sampling rate.",
        (
            same(
                "order of the filter",
                DECIMATE_FIGURES["order"],
                order,
                0.0,
                f"best fit of orders {TRIED_FILTER_ORDERS[0]} … {TRIED_FILTER_ORDERS[-1]}",
            ),
            shown("cut-off over the sampling rate", edge, f"{2 * edge * factor:.3g} of half the new rate"),
            shown(
                "sampling rate that the text implies [Hz]",
                rate,
                f"that of its cut-off, {DECIMATE_FIGURES['cutoff']:g} Hz, with its factor, {factor}; it is not printed",
            ),
            shown("largest difference between its gain and Exciter's", np.abs(ours - gain).max()),
        ),
        figures=_gains(),
    )


def response_of_decimate(factor: int, samples: int = 20_000) -> tuple[Array, Array]:
    """Frequencies over the rate, and the gain at them."""
    impulse, centre = np.zeros(samples), samples // 2
    answer = np.zeros(samples)
    for shift in range(factor):  # every shift shows another one of ``factor`` samples of the answer
        impulse[:] = 0.0
        impulse[centre + shift] = 1.0
        kept = signal.decimate(impulse, factor, zero_phase=True)
        answer[np.arange(len(kept)) * factor - centre - shift] = kept
    return np.asarray(np.fft.rfftfreq(samples), dtype=np.float64), np.fft.rfft(answer).real


def _edge(frequency: Array, gain: Array) -> float:
    """Last frequency at which the gain is not below the ripple, between samples of it."""
    level = 10.0 ** (-2.0 * DECIMATE_RIPPLE_DB / 20.0)
    last = int(np.flatnonzero(gain >= level * (1.0 - 1e-9))[-1])
    part = slice(last, last + 2)
    return float(np.interp(-level, -gain[part], frequency[part]))


def _order(frequency: Array, gain: Array, edge: float) -> int:
    def misfit(order: int) -> float:
        sections = Chebyshev(edge, order, DECIMATE_RIPPLE_DB).sections(1.0)
        return float(np.abs(np.abs(signal.freqz_sos(sections, worN=frequency, fs=1.0)[1]) ** 2 - gain).max())

    return min(TRIED_FILTER_ORDERS, key=misfit)


def _gains() -> Plot:
    frequency = np.geomspace(0.1, 200.0, 400)
    passes = {
        f"decimate, {DECIMATE_FIGURES['cutoff']:g} Hz": DECIMATE.at(set_up.SAMPLE_RATE)[0],
        f"Butterworth of order {CHAPTER_FIGURES['noise']['order']}, {MIDDLE:g} Hz": Butterworth(
            MIDDLE, CHAPTER_FIGURES["noise"]["order"]
        ),
        **{f"F(s), a = {a:g} rad/s": SecondOrder.of(a) for a in SECOND["compared"]},
    }
    lines = []
    for name, low_pass in passes.items():
        gain = (
            np.abs(signal.freqz_sos(low_pass.sections(set_up.SAMPLE_RATE), worN=frequency, fs=set_up.SAMPLE_RATE)[1])
            ** 2
        )
        lines.append(Line(name, np.maximum(gain, 1e-6)))
    return Plot("Gain of both passes", np.log10(frequency), "log₁₀ of the frequency [Hz]", "gain", lines, log=True)


# -- F(s) --------------------------------------------------------------------------------------------------------------


def second_order() -> Part:
    """F(s) = a²/(s + a)²: on both sides nothing is lost, on Y alone tens of per cent."""
    rows = []
    for a in SECOND["compared"]:
        causal_both, momentum, only_y = causal(a)
        both = ParallelFilter(SecondOrder.of(a), factor=1)
        found = {
            "F on Y and W": causal_both,
            "F on Y, s F on B1, F on B2": momentum,
            "Exciter, dynamic": estimate(set_up.exact(), ex.InverseDynamic(both)).values,
            "Exciter, filtered dynamic": estimate(set_up.exact(), ex.FilteredDynamic(both)).values,
            "F on Y alone": only_y,
            "F on Y alone, without its phase": zero_phase_only_y(a),
        }
        errors = {name: set_up.relative_error(values) for name, values in found.items()}
        rows.append({"a [rad/s]": a, "a [Hz]": a / (2.0 * np.pi), **errors})
    wrong = [row["F on Y alone"] for row in rows]
    right = [row[name] for row in rows for name in ("F on Y and W", "Exciter, dynamic", "Exciter, filtered dynamic")]
    at_a = float(np.abs(signal.freqs([1.0], [1.0, 2.0, 1.0], worN=[1.0])[1][0]))
    percent = ", ".join(f"{100 * error:.0f} % (a = {a:g})" for a, error in zip(SECOND["compared"], wrong, strict=True))
    least, most = (SECOND[key] / (2.0 * np.pi) for key in ("least", "most"))
    return Part(
        "[12.28]–[12.30]",
        "F(s) = a²/(s + a)² on both sides, and on one",
        f"{set_up.AS_BEFORE} Exact data, ordinary least squares. Causal F(s) and s F(s) by Tustin's rule, the first "
        f"{SETTLING_SAMPLES / set_up.SAMPLE_RATE:g} s left out; Exciter's second-order filter has the same gain and "
        "no phase.",
        (
            claim(
                SAID["parallel"],
                max(right) < 1e-9 and min(wrong) > 0.1,
                f"relative error without any noise: {max(right):.1g} at most with F(s) on Y and W, {percent} with "
                "F(s) on Y alone",
            ),
            *(
                shown(f"relative error, F(s) on Y alone, a = {a:g} rad/s", error)
                for a, error in zip(SECOND["compared"], wrong, strict=True)
            ),
            shown("gain of F(s) at a [dB]", 20.0 * np.log10(at_a), "the chapter calls a the cut-off frequency"),
            shown("recommended a in Hz", f"{least:.2g} … {most:.2g}", "a is in rad/s, which the chapter does not say"),
        ),
        DataTable.by_rows("second-order", "Relative error by what is filtered", rows),
    )


def causal(a: float) -> tuple[Array, Array, Array]:
    """χ̂ of exact data with the causal filter on both sides of [12.18], in [12.28], and on Y alone."""
    model, motion, torque = set_up.model(), set_up.motion(), set_up.torque()
    columns, late = model.base.independent, slice(SETTLING_SAMPLES, None)
    plain, derived = (signal.bilinear(top, [1.0, 2 * a, a * a], set_up.SAMPLE_RATE) for top in ([a * a], [a * a, 0.0]))
    phi = model.regressor(motion)[:, :, columns]
    b1, b2 = (rows[:, :, columns] for rows in model.momentum_rows(motion))
    y = signal.lfilter(*plain, torque, axis=0)[late]
    both = signal.lfilter(*plain, phi, axis=0)[late]
    momentum = (signal.lfilter(*derived, b1, axis=0) + signal.lfilter(*plain, b2, axis=0))[late]
    return _solve(both, y), _solve(momentum, y), _solve(phi[late], y)


def zero_phase_only_y(a: float) -> Array:
    """χ̂ with F on Y alone, forwards and backwards."""
    model, late = set_up.model(), slice(SETTLING_SAMPLES, -SETTLING_SAMPLES)
    y = SecondOrder.of(a).zero_phase(set_up.torque(), set_up.SAMPLE_RATE)
    return _solve(model.regressor(set_up.motion())[late][:, :, model.base.independent], y[late])


def _solve(w: Array, y: Array) -> Array:
    return np.asarray(np.linalg.lstsq(w.reshape(-1, w.shape[2]), y.ravel())[0])


# -- positions ---------------------------------------------------------------------------------------------------------


def positions() -> Part:
    """[12.16]: filters in one direction and one-sided differences are late."""
    cutoff, order = MIDDLE, CHAPTER_FIGURES["noise"]["order"]
    low_pass = Butterworth(cutoff, order)
    q = set_up.motion().q
    forward = np.asarray(signal.sosfilt(low_pass.sections(set_up.SAMPLE_RATE), q, axis=0))
    kinds = {
        "exact positions, central differences": _differences(q),
        "exact positions, backward differences": _backward(q),
        "filtered both ways, central differences": _differences(low_pass.zero_phase(q, set_up.SAMPLE_RATE)),
        "filtered forwards only, central differences": _differences(forward),
    }
    errors = {name: set_up.relative_error(_of_motion(motion)) for name, motion in kinds.items()}
    central, backward, both, one = errors.values()
    return Part(
        "12.3.5, [12.16]",
        "Velocities and accelerations without a phase shift",
        f"{set_up.AS_BEFORE} Exact positions; Butterworth filter of order {order}, {cutoff:g} Hz; differences; dynamic "
        f"model, ordinary least squares on the samples between {SETTLING_SAMPLES / set_up.SAMPLE_RATE:g} s from both "
        "ends.",
        (
            claim(
                SAID["central"],
                backward > 100.0 * central,
                f"relative error {central:.2g} central, {backward:.2g} backward",
            ),
            claim(
                SAID["both_ways"], one > 100.0 * both, f"relative error {both:.2g} both ways, {one:.2g} forwards only"
            ),
        ),
        DataTable(
            "positions",
            "Relative error by how positions are filtered and differentiated",
            ("how", "relative error"),
            [[name, error] for name, error in errors.items()],
        ),
        differences="[12.16] ends with / 2T; meant is division by 2T.",
    )


def _differences(q: Array) -> ex.Motion:
    qd, qdd = first_difference(q, set_up.SAMPLE_RATE), second_difference(q, set_up.SAMPLE_RATE)
    return ex.Motion(set_up.motion().time[1:-1], q[1:-1], qd, qdd)


def _backward(q: Array) -> ex.Motion:
    qd = np.diff(q, axis=0) * set_up.SAMPLE_RATE
    return ex.Motion(set_up.motion().time[2:], q[2:], qd[1:], np.diff(qd, axis=0) * set_up.SAMPLE_RATE)


def _of_motion(motion: ex.Motion) -> Array:
    """χ̂ of exact torques beside a motion that is not."""
    first = round(motion.time[0] * set_up.SAMPLE_RATE)
    torque = set_up.torque()[first : first + len(motion)]
    inner = slice(SETTLING_SAMPLES, -SETTLING_SAMPLES)
    model = set_up.model()
    return _solve(model.regressor(motion[inner])[:, :, model.base.independent], torque[inner])
