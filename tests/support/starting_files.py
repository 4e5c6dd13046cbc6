"""The settings file that ``exciter init`` writes."""

import re

import pytest

from exciter.cli import main


def exciter(*arguments) -> int:
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    return int(left.value.code or 0)


def uncommented(text: str) -> str:
    """With every line that could be said; a locked joint would take the pairs of bodies with it."""
    return re.sub(r"^( *)# ( *(?!lock)[a-z_]+:)(?= |$)", r"\1\2", text, flags=re.MULTILINE)
