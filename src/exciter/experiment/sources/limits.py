"""How much of a file is taken, and how much it may become when it is unpacked.

Packed zeros shrink about a thousandfold, so a small file can hold more numbers than a computer has memory for. Rows
are read in blocks, whatever their number; but who asks for all of them must not be surprised. A recording has noise
somewhere, which hardly shrinks: a file that becomes very large and shrank very much, too, is not one.
"""

from __future__ import annotations

from pathlib import Path

from exciter.errors import RecordingError

MOST_UNPACKED = 1 << 30  # bytes that any file may become
MOST_SHRUNK = 200  # times its size that a larger one may become
MOST_WHOLE = 1 << 30  # bytes of columns that cannot be read row by row


def brief(words: object) -> str:
    """What a file or a library says, short enough for a message; damaged files say long things."""
    text = " ".join(str(words).split())
    return text if len(text) <= 120 else f"{text[:120]} …"


def check_unpacked(path: Path, unpacked: int, packed: int) -> None:
    """Refuse what no recording shrinks to; constant signals beside measured ones pass, and so do short ones alone."""
    if unpacked > MOST_UNPACKED and unpacked > MOST_SHRUNK * packed:
        raise RecordingError(
            f"{path} has {packed} bytes and unpacks to {unpacked}, as no recording does; "
            "if it is one, save it without compression"
        )


def check_whole(path: Path, values: int, advice: str) -> None:
    """Refuse columns of ``values`` numbers that would have to be in memory all at once."""
    if 8 * values > MOST_WHOLE:
        raise RecordingError(
            f"{path}: the chosen columns need {8 * values} bytes at once, at most {MOST_WHOLE} are taken; {advice}"
        )
