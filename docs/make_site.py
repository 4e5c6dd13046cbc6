"""What the documentation site has beside docs/: README, CONTRIBUTING and CHANGELOG as pages, and the gallery.

A hook of MkDocs (mkdocs.yml). Links are written as they work in the repository; here they are turned to where the same
things stand on the site. What is no page of the site (a folder of code) becomes plain text; MkDocs refuses the rest.
"""

from __future__ import annotations

import contextlib
import io
import posixpath
import re
import runpy
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
#: Page of the site → file of the repository.
PAGES = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "real-logs.md": "examples/real/README.md",
}
ELSEWHERE = {"examples": "gallery.md", "examples/notebooks": "gallery.md", "examples/real": "real-logs.md"}
#: Material fetches this from outside, so that search works on pages opened as files; the site carries it along.
WORKER = "https://unpkg.com/iframe-worker/shim"
LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    text, pictures = gallery()
    files.append(File.generated(config, "gallery.md", content=text))
    for name, content in pictures.items():
        files.append(File.generated(config, f"pictures/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    here = PAGES.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    return LINK.sub(lambda match: turned(match, here), markdown)


def on_post_page(output: str, **_: Any) -> str:
    return output.replace(WORKER, "assets/iframe-worker.js")


on_post_template = on_post_page  # the page for what is not found


def turned(match: re.Match[str], here: str) -> str:
    """A link of the file ``here`` of the repository, as it works on the site."""
    picture, text, target = match.groups()
    path, _, anchor = target.partition("#")
    if not path or ":" in path:
        return match[0]
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
    known = {source: page for page, source in PAGES.items()} | ELSEWHERE
    found = known.get(wanted, wanted.removeprefix("docs/") if wanted.startswith("docs/") else "")
    if not found:
        if not (ROOT / wanted).exists():
            return match[0]  # which MkDocs refuses
        return text
    return f"{picture}[{text}]({found}{'#' if anchor else ''}{anchor})"


def gallery() -> tuple[str, dict[str, bytes]]:
    """Every example with what it prints, and a picture where it has something to draw; notebooks with their titles."""
    import matplotlib

    matplotlib.use("Agg")
    pictures: dict[str, bytes] = {}
    cards, sections = [], []
    for path in sorted((ROOT / "examples").glob("[0-9]*.py")):
        code = path.read_text(encoding="utf-8")
        about, _, rest = code.removeprefix('"""').partition('"""\n')
        printed, picture = run(path)
        title = path.stem[3:].replace("_", " ").capitalize()
        sections += [f"## {title}\n", f"{about}\n"]
        if picture:
            name = f"{path.stem}.png"
            pictures[name] = picture
            cards += [f"- [![{title}](pictures/{name})](#{path.stem[3:].replace('_', '-')})\n\n    **{title}**\n"]
            sections += [f"![what {path.name} draws](pictures/{name})\n"]
        sections += [
            f'```python title="examples/{path.name}"\n{rest.strip()}\n```\n',
            f"```text\n{printed.rstrip()}\n```\n",
        ]
    lines = [
        "# Gallery\n",
        "Numbered, runnable, short: each example needs `import exciter as ex` only. Output and pictures are made when "
        "this site is built.\n",
        '<div class="grid cards" markdown>\n',
        *cards,
        "</div>\n",
        *sections,
    ]
    lines += ["## Notebooks\n", "In `examples/notebooks`, kept without outputs:\n"]
    lines += [f"- `{path.name}`" for path in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))]
    return "\n".join(lines) + "\n", pictures


def run(path: Path) -> tuple[str, bytes]:
    """What an example prints, and the picture of the last thing it made that can draw itself; empty if nothing can."""
    import matplotlib.pyplot as pyplot

    printed = io.StringIO()
    picture = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        made = runpy.run_path(str(path), run_name="__main__")
        drawn = [value for value in made.values() if not isinstance(value, type) and hasattr(value, "plot")]
        if drawn:
            drawn[-1].plot()
            for axes in pyplot.gcf().axes:
                axes.set_title(axes.get_title().replace(f"{folder}/", ""))
            pyplot.gcf().savefig(picture, dpi=90, bbox_inches="tight")
            pyplot.close("all")
    return printed.getvalue().replace(f"{folder}/", ""), picture.getvalue()
