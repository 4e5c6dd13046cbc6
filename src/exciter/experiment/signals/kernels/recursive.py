"""Recursive sections over many series at once, forwards and then backwards.

A recursion waits for its last result; series side by side do not wait for each other, and the compiler makes vectors of
them. Each keeps its own order of operations, so that results do not depend on what is beside."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

import numpy as np

from exciter.dynamics.kernels.blocks import jit_exact as jit
from exciter.dynamics.kernels.blocks import kernel_exact as kernel

LANES = 16  # series side by side
TURNED = 8  # instants of a series that are brought beside others at a time: a line of the cache


@jit
def passed(x, p, r, b0, b1, b2, a1, a2):
    """One instant (LANES,) of a section in place, p and r (LANES,) being its states."""
    for lane in range(LANES):
        before = x[lane]
        after = b0 * before + p[lane]
        p[lane] = b1 * before - a1 * after + r[lane]
        r[lane] = b2 * before - a2 * after
        x[lane] = after


@jit
def one_way(buffer, first, step, length, sections, at_rest, states):
    """Through all sections, from instant ``first`` on by ``step`` (1 or −1), in place, as if the first value had been
    there for ever. buffer (length · LANES,); states (2 · sections · LANES,): room."""
    start = buffer[first * LANES : (first + 1) * LANES]
    for s in range(sections.shape[0]):
        for lane in range(LANES):
            states[2 * s * LANES + lane] = at_rest[s, 0] * start[lane]
            states[(2 * s + 1) * LANES + lane] = at_rest[s, 1] * start[lane]
    k = first
    for _ in range(length):
        x = buffer[k * LANES : (k + 1) * LANES]
        for s in range(sections.shape[0]):
            p = states[2 * s * LANES : (2 * s + 1) * LANES]
            r = states[(2 * s + 1) * LANES : (2 * s + 2) * LANES]
            passed(x, p, r, sections[s, 0], sections[s, 1], sections[s, 2], sections[s, 4], sections[s, 5])
        k += step


@kernel
def both_ways(samples, pad, sections, at_rest, first, step, out):
    """Series samples (c, N), N > pad, continued by their reflection about the end points by ``pad`` instants, through
    sections (s, 6), forwards and backwards; of the result the instants ``first``, ``first`` + ``step`` … into out
    (c, M). at_rest (s, 2): states after ones without beginning."""
    series, count = samples.shape
    length = count + 2 * pad
    buffer, states = np.zeros(length * LANES), np.zeros(2 * sections.shape[0] * LANES)
    for start in range(0, series, LANES):
        here = min(LANES, series - start)
        for begin in range(0, count, TURNED):
            for lane in range(here):
                for k in range(begin, min(begin + TURNED, count)):
                    buffer[(pad + k) * LANES + lane] = samples[start + lane, k]
        for lane in range(here):
            low, high = 2.0 * samples[start + lane, 0], 2.0 * samples[start + lane, count - 1]
            for k in range(pad):
                buffer[k * LANES + lane] = low - samples[start + lane, pad - k]
                buffer[(pad + count + k) * LANES + lane] = high - samples[start + lane, count - 2 - k]
        for entry, turn in ((0, 1), (length - 1, -1)):  # called with literals, it would be compiled for each of them
            one_way(buffer, entry, turn, length, sections, at_rest, states)
        for k in range(out.shape[1]):
            for lane in range(here):
                out[start + lane, k] = buffer[(pad + first + k * step) * LANES + lane]
