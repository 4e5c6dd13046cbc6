"""A word, or a word with settings: ``energy``, or ``{energy: {interval: 0.1}}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from exciter.errors import ExciterError, shown
from exciter.excitation.config.section import Section


def word_with_settings(given: Any, where: str, words: Sequence[str]) -> tuple[str, Any]:
    """The word, which must be one of ``words``, and its settings as they stand there (None: none)."""
    word, settings = next(iter(given.items())) if isinstance(given, Mapping) and len(given) == 1 else (given, None)
    if not isinstance(word, str) or word not in words:
        raise ExciterError(f"{where} is {shown(given)}; allowed are {', '.join(words)}")
    return word, settings


def settings_section(settings: Any, where: str, word: str, keys: Sequence[str]) -> Section:
    """The settings of a word; a word without any refuses all."""
    if settings and not keys:
        raise ExciterError(f"{where}: {word} takes no settings; write {word} alone")
    return Section.of(settings, f"{where}: {word}", keys)
