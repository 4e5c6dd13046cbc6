"""A certificate in words, for the command line and for reports."""

from __future__ import annotations

import math

from exciter.excitation.certificate.certificate import Certificate, LimitVerdict

CLOSE_PART, CLOSE_LENGTH = 0.05, 0.005  #: of a limit, and [m]: a bound this close to what is reached says no more
MOST = 10.0  #: a margin beyond ten times the limit says no more than that


def margin_words(limit: LimitVerdict) -> str:
    """Signed, in mm or %; what is beyond all measure is not counted out."""
    if limit.is_length or not abs(limit.margin) > MOST or math.isinf(limit.margin):
        return limit.margin_words
    return f"> +{100 * MOST:g} %" if limit.margin > 0 else f"< -{100 * MOST:g} %"


def reached_words(limit: LimitVerdict) -> str:
    """What is reached; also how far the proof came, where a limit is open or its margin is not that of what is
    reached."""
    beyond = limit.bound - limit.reached if limit.upper else limit.reached - limit.bound
    close = beyond <= (CLOSE_LENGTH if limit.is_length else CLOSE_PART * abs(limit.limit))
    if limit.status == "broken" or (limit.status != "open" and close):
        return f"{limit.reached:.6g}"
    side = "at most" if limit.upper else "at least"
    return (
        f"{limit.reached:.6g}, {side} {limit.bound:.6g}"
        if math.isfinite(limit.bound)
        else f"{limit.reached:.6g}, no bound"
    )


def limits_words(count: int) -> str:
    return "1 limit" if count == 1 else f"{count} limits"


def assumed_words(certificate: Certificate) -> str:
    """How many limits are kept but rest on what was assumed; empty where there are none."""
    count = len(certificate.assumed)
    if not count:
        return ""
    kept = "1 more is kept, but rests" if count == 1 else f"{count} more are kept, but rest"
    return f"{kept} on what was assumed or is missing"


def failures_words(certificate: Certificate) -> str:
    """How many limits are broken and how many open, of how many."""
    counts = {word: sum(limit.status == word for limit in certificate.limits) for word in ("broken", "open")}
    told = " and ".join(f"{count} {word}" for word, count in counts.items() if count)
    open_ = " (neither proved nor broken)" if counts["open"] else ""
    return f"of {limits_words(len(certificate.limits))}, {told}{open_}"


def verdict(certificate: Certificate) -> str:
    """One sentence."""
    if not certificate.limits:
        return "nothing to certify: there is no limit that could be broken"
    if not certificate.certified:
        return f"NOT certified: {failures_words(certificate)}"
    worst, count, assumed = certificate.worst, len(certificate.proved), assumed_words(certificate)
    if worst is None:
        return f"nothing to certify: no limit that could be broken is known; {assumed}"
    return (
        f"certified: {limits_words(count)} {'holds' if count == 1 else 'hold'} at every instant of "
        f"{certificate.duration:.3f} s; tightest is {worst.what} of {worst.where}, margin {margin_words(worst)}"
        f"{'; ' + assumed if assumed else ''}"
    )
