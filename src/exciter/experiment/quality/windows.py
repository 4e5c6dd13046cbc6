"""Evenly spread contiguous windows of a log of unknown length, for work that would be too much on all of it."""

from __future__ import annotations

from exciter.experiment.recording.recording import Recording

GOLDEN = 0.5 * (5.0**0.5 - 1.0)


class Windows:
    """Blocks of ``size`` samples. While the log grows beyond ``most`` samples, those with the largest fractional part
    of k φ, k their number and φ the golden ratio, are given up: what is kept stays evenly spread from beginning to end,
    at distances that never fall into step with a motion that repeats."""

    def __init__(self, size: int, most: int) -> None:
        self._size, self._blocks = size, max(most // size, 2)
        self._count = 0
        self._kept: dict[int, Recording] = {}
        self._rest: Recording | None = None

    def see(self, piece: Recording, old: int) -> None:
        fresh = piece[old:]
        rest = fresh if self._rest is None else Recording.join([self._rest, fresh])
        at = 0
        while len(rest) - at >= self._size:
            self._keep(rest[at : at + self._size])
            at += self._size
        self._rest = rest[at:]

    def _keep(self, block: Recording) -> None:
        self._kept[self._count] = block
        self._count += 1
        if len(self._kept) > self._blocks:
            del self._kept[max(self._kept, key=lambda k: k * GOLDEN % 1.0)]

    @property
    def complete(self) -> bool:
        """Whether nothing was left out."""
        return self._count == len(self._kept)

    def windows(self) -> tuple[Recording, ...]:
        """Neighbouring blocks joined."""
        blocks = dict(self._kept)
        if self._rest is not None and len(self._rest) and (self.complete or not blocks):
            blocks[self._count] = self._rest
        joined: list[list[Recording]] = []
        for k, block in sorted(blocks.items()):
            if joined and k - 1 in blocks:
                joined[-1].append(block)
            else:
                joined.append([block])
        return tuple(Recording.join(parts) for parts in joined)
