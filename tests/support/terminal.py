"""What commands print where there is no terminal."""

PROGRESS_MARK = "… "  #: begins every line on what a long command is doing


def without_progress(text: str) -> str:
    """Standard error without the lines on what the command was doing."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(PROGRESS_MARK))
