"""Results on disk: a bad place is told before any work, and a reader never sees half a result, nor two that are mixed.

Files are written to a hidden folder and renamed. A rename is atomic, several are not; so a set of files has a ``Seal``:
a JSON file of the set with the SHA-256 of the others. Before the first rename an open seal takes its place, which every
reader refuses, and the new one comes last. Whenever a writer is killed, its folder holds all of the old set, all of the
new one, or an open seal. A name that is read from a file is followed only inside the file's own folder."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar, cast

from exciter.errors import ExciterError, shown, unseen

T = TypeVar("T")
STAGE_PREFIX = ".exciter-stage-"
STAGE_NAME = re.compile(re.escape(STAGE_PREFIX) + r"[a-z0-9_]{8}")  #: as ``tempfile.mkdtemp`` names it
HASHES, OPEN = "sha256", "unfinished"  #: keys of a seal
SHA256_DIGEST = re.compile(r"[0-9a-f]{64}")
MOST_SEAL_BYTES = 300_000_000
HIDDEN_LINE_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
HIDDEN_END = "at which some readers begin a new line and others do not; remove it"
FOR_PEOPLE = (".html",)  #: nothing is read of these, and another result may write its own


def path_of(given: Any, what: str) -> Path:
    """A path that Python code gives; what: it is called in messages."""
    if not isinstance(given, str | os.PathLike):
        raise ExciterError(f"{what} is {shown(given)}; give the path of a file or folder")
    return Path(given)


def prepare(folder: Path) -> None:
    """Make the folder before any work is done, so that a bad place is told at once; remove what killed runs left."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # permissions alone do not know of read-only media
            pass
        _sweep(folder)
    except OSError as error:
        raise ExciterError(f"cannot write to '{folder}': {error.strerror}; choose another folder with -o") from None


@contextmanager
def output_folder(folder: Path) -> Iterator[Path]:
    """A folder for results, made if need be; what was made for nothing is removed again."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    prepare(folder)
    try:
        yield folder
    except BaseException:
        with suppress(OSError):  # not empty: what is there stays
            for path in made:
                path.rmdir()
        raise


# -- a set of files and its seal -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seal:
    """name: of the JSON file with the hashes of its companions. own: patterns of the names that companions can have;
    a file of another name is never removed, whatever a seal says. again: what to do about a set that is not whole."""

    name: str
    own: tuple[str, ...]
    again: str

    def write(self, stage: Path, data: Mapping[str, Any]) -> dict[str, Any]:
        """Write the seal of all that lies in ``stage``, as the last of its files; its content."""
        companions = sorted(path for path in stage.iterdir() if path.name != self.name)
        sealed = {**data, HASHES: {path.name: sha256(path) for path in companions}}
        (stage / self.name).write_text(json_text(sealed), encoding="utf-8")
        return sealed

    def recorded(self, folder: Path) -> dict[str, str]:
        """Hashes by name, of a seal that is whole or open, for those who write another in its place; empty where there
        is none, and without what is none."""
        try:
            found = self._content(folder).get(HASHES)
        except ValueError:
            return {}
        if not isinstance(found, Mapping):
            return {}
        return {name: digest for name, digest in found.items() if _is_hash(name, digest)}

    def hashes(self, folder: Path) -> dict[str, str]:
        """Hashes by name of a folder that has a seal, for those who read its files; one that is open, damaged, or
        without hashes (as earlier versions wrote) is refused, for nothing shows then what belongs to it."""
        self.refuse_open(folder)
        try:
            found = self._content(folder).get(HASHES)
            if not isinstance(found, Mapping) or not found:
                raise ValueError("it has no hashes, as of an earlier version")
            for name, digest in found.items():
                if not _is_hash(name, digest):
                    raise ValueError(f"the hash of {shown(name)} is none")
        except ValueError as why:
            raise ExciterError(
                f"'{folder / self.name}' does not show which files belong to it: {why}; {self.aside}"
            ) from None
        return dict(found)

    def refuse_open(self, folder: Path) -> None:
        """Refuse a folder whose writer was killed between two renames."""
        with suppress(ValueError):
            if OPEN in self._content(folder):
                raise ExciterError(
                    f"'{folder}' is not whole: the run that wrote it was stopped between two files ({self.name} says "
                    f"so); {self.again}"
                )

    def refuse_changed(self, folder: Path, read: Mapping[str, bytes]) -> None:
        """Refuse a folder with a file that is not the one of the seal. read: content that was read already."""
        for name, digest in self.hashes(folder).items():
            path = folder / name
            content = read.get(name)
            if content is None and (name.endswith(FOR_PEOPLE) or not os.path.lexists(path)):
                continue
            found = hashlib.sha256(content).hexdigest() if content is not None else sha256(inside(folder, name))
            if found != digest:
                raise ExciterError(
                    f"'{path}' is not the file that {self.name} beside it was written with: one of them was moved or "
                    f"changed since; {self.aside}"
                )

    @property
    def aside(self) -> str:
        """What to do about a file that a seal does not answer for."""
        return f"{self.again}, or copy the file alone to another folder, where it counts for itself"

    def is_there(self, folder: Path) -> bool:
        return os.path.lexists(folder / self.name)

    def owns(self, path: Path) -> bool:
        """Whether a file is the seal beside it, one of its companions, or can be one: a seal that is damaged, or of an
        earlier version, does not name them. Names count in any case, as they do on some file systems."""
        folder, name = path.absolute().parent, path.name.casefold()
        if not self.is_there(folder):
            return False
        named = (self.name, *self.recorded(folder))
        return name in map(str.casefold, named) or any(fnmatchcase(name, pattern) for pattern in self.own)

    def _content(self, folder: Path) -> dict[str, Any]:
        """Of a seal, empty where there is none; ValueError: it cannot be read as one."""
        path = folder / self.name
        if not os.path.lexists(path):
            return {}
        if not path.is_file():  # opening a pipe would wait for ever
            raise ValueError("it is no regular file")
        try:
            with path.open("rb") as stream:
                content = stream.read(MOST_SEAL_BYTES + 1)
            if len(content) > MOST_SEAL_BYTES:
                raise ValueError(f"it is larger than {MOST_SEAL_BYTES / 1e6:g} MB")
            data = json.loads(content.decode("utf-8"), object_pairs_hook=unique_keys)
        except OSError as error:
            raise ValueError(error.strerror) from None
        except UnicodeDecodeError:
            raise ValueError("it is no UTF-8 text") from None
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        except json.JSONDecodeError as error:
            raise ValueError(f"it is not readable JSON (line {error.lineno})") from None
        if not isinstance(data, dict):
            raise ValueError("it is no JSON object")
        return data


def sha256(path: Path) -> str:
    """Of a file's content."""
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise ExciterError(f"'{path}' is no file; remove it")
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ExciterError(f"cannot read '{path}': {error.strerror}; check what it is, and its permissions") from None


def _is_hash(name: Any, digest: Any) -> bool:
    return is_plain(name) and isinstance(digest, str) and SHA256_DIGEST.fullmatch(digest) is not None


def is_plain(name: Any) -> bool:
    """Whether a name that a file gives can only mean something in the file's own folder."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\:\0")


def inside(folder: Path, name: Any) -> Path:
    """The file of a name that was read from a file in ``folder``: there, and no link out of it."""
    if not is_plain(name):
        raise ExciterError(
            f"{str(name)[:80]!r} in '{folder}' is no plain name of a file beside it; nothing else is read"
        )
    path = folder / str(name)
    if os.path.islink(path) and path.resolve().parent != folder.resolve():
        raise ExciterError(f"'{path}' is a link out of its folder; put the file itself there")
    return path


# -- written whole ---------------------------------------------------------------------------------------------------


@contextmanager
def staged(
    folder: Path, seal: Seal | None = None, *, last: str | None = None, remove: Iterable[Path] = ()
) -> Iterator[Path]:
    """A hidden folder to write a set of files to. When the block ends well they are renamed into ``folder``; when it
    fails none of them appears, and what was there before stays.

    With a seal, which the block writes, see above: what the seal before it names and the new one does not is removed.
    Without one, several files replace older ones after those are gone, so that no mixture can be: ``last`` is the one
    that the others are read through. remove: further files that speak of the older set; they go with it."""
    with scratch(folder) as stage:
        yield stage
        written = sorted(stage.iterdir())
        for path in written:  # before the first is renamed: all or none
            if (folder / path.name).is_dir() and not (folder / path.name).is_symlink():
                raise ExciterError(
                    f"'{folder / path.name}' is a folder, where a file is to be written; choose another place"
                )
            _sync(path)
        if seal is None:
            _replace(folder, sorted(written, key=lambda path: path.name == last), remove)
        else:
            _replace_sealed(folder, seal, written, remove)


def _replace(folder: Path, written: list[Path], remove: Iterable[Path]) -> None:
    for path in remove:
        path.unlink(missing_ok=True)
    for path in reversed(written) if len(written) > 1 else ():
        (folder / path.name).unlink(missing_ok=True)
    _sync(folder)
    for path in written:
        os.replace(path, folder / path.name)
    _sync(folder)


def _replace_sealed(folder: Path, seal: Seal, written: list[Path], remove: Iterable[Path]) -> None:
    stage = written[0].parent
    before, after = seal.recorded(folder), seal.recorded(stage)
    assert {path.name for path in written} == {*after, seal.name}, "the seal is written last, and of all files"
    marker = stage / f"{seal.name}.{OPEN}"
    words = f"the run that was writing this folder was stopped; {seal.again}"
    marker.write_text(json_text({OPEN: words, HASHES: {**before, **after}}), encoding="utf-8")
    _sync(marker)
    os.replace(marker, folder / seal.name)
    _sync(folder)
    for path in remove:
        path.unlink(missing_ok=True)
    for name in before:
        if name not in after and any(fnmatchcase(name, pattern) for pattern in seal.own):
            path = folder / name  # of the older set; what somebody changed since is theirs
            if path.is_file() and not path.is_symlink() and sha256(path) == before[name]:
                path.unlink()
    for name in after:
        os.replace(stage / name, folder / name)
    _sync(folder)  # the seal must not be on disk before what it speaks of
    os.replace(stage / seal.name, folder / seal.name)
    _sync(folder)


def _sync(path: Path) -> None:
    """On disk before what comes next, as far as the file system can."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# -- hidden folders --------------------------------------------------------------------------------------------------


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """A hidden folder below ``parent`` (the system's folder for such, unless given), removed at the end. A lock on it
    tells the next run whether its owner lives: what a killed one left is removed then."""
    if parent is None:
        parent = Path(tempfile.gettempdir())
        _sweep(parent)
    folder, handle = _locked(parent)
    try:
        yield folder
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
        if handle is not None:
            os.close(handle)


def _locked(parent: Path) -> tuple[Path, int | None]:
    """A new folder and the lock on it; another one where a run that tidies up was faster than the lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=STAGE_PREFIX, dir=parent))
        try:
            handle = _lock(folder)
        except (BlockingIOError, FileNotFoundError):
            continue
        if handle is None or folder.exists():
            return folder, handle
        os.close(handle)


def _lock(folder: Path) -> int | None:
    """A handle that holds the lock of a folder; None where there are no locks. BlockingIOError: another one has it."""
    if sys.platform == "win32":
        return None
    import fcntl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:  # a file system without locks
        os.close(handle)
        return None
    return handle


def _sweep(parent: Path) -> None:
    """Remove hidden folders of this user whose owner is dead; never a link, nor a folder of another name."""
    if sys.platform == "win32":
        return
    for entry in os.scandir(parent):
        if STAGE_NAME.fullmatch(entry.name) is None:
            continue
        with suppress(OSError):  # somebody else's, at work, or gone meanwhile
            status = entry.stat(follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            handle = _lock(Path(entry.path))
            if handle is None:
                continue
            try:
                shutil.rmtree(entry.path)
            finally:
                os.close(handle)


# -- JSON ------------------------------------------------------------------------------------------------------------


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write to a temporary name, then rename."""
    with staged(path.parent) as stage:
        (stage / path.name).write_text(json_text(data), encoding="utf-8")


def json_text(data: Any) -> str:
    """Indented JSON. Infinity and NaN are refused by most readers of JSON: they become null."""
    return readable_json(finite(data), indent=2) + "\n"


def readable_json(data: Any, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """JSON with letters of all languages as they are. Characters that do not show themselves are written as escapes,
    which read back the same: a terminal does not act on them, and UTF-8 can hold the halves of surrogate pairs."""
    text = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False, separators=separators)
    for mark in set(unseen(text, keep="\n")):
        text = text.replace(mark, json.dumps(mark)[1:-1])
    return text


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, for ``json.loads``; a key that is there twice is refused: readers differ in which counts."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {shown(key)} is there twice")
        found[key] = value
    return found


def finite(data: T) -> T:
    """Plain data with None for infinity and NaN, which JSON does not have."""
    if isinstance(data, dict):
        return cast("T", {key: finite(value) for key, value in data.items()})
    if isinstance(data, list | tuple):
        return cast("T", [finite(value) for value in data])
    return cast("T", None) if isinstance(data, float) and not abs(data) < float("inf") else data


def by_name(names: Iterable[str], **columns: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """A table as plain data: by the name of its row, values by column."""
    rows = zip(*columns.values(), strict=True)
    return {name: dict(zip(columns, row, strict=True)) for name, row in zip(names, rows, strict=True)}


# -- lines and headings of tables --------------------------------------------------------------------------------------


def lines_of(text: str) -> list[str]:
    """The lines of a text, which end in \\n, \\r\\n or \\r. ``str.splitlines`` and a few other readers end them at
    further characters, too, and find rows that nobody else sees: see ``hidden_end``."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def hidden_end(text: str) -> str | None:
    """What is wrong with a text that has a character at which some readers end a line and others do not."""
    if "\n" in text and "\r" in text.replace("\r\n", "\n"):  # of old files every line ends so, or none
        return f"it has lines that end in '\\n' and a '\\r' alone, {HIDDEN_END}"
    if not any(mark in text for mark in HIDDEN_LINE_ENDS):
        return None
    number, mark = next((k, c) for k, line in enumerate(lines_of(text), 1) for c in line if c in HIDDEN_LINE_ENDS)
    return f"line {number} has the character {shown(mark)}, {HIDDEN_END}"


def csv_line(cells: Iterable[str]) -> str:
    """Cells with commas between them. Those that a reader could take for something else are in quotes, quotes within
    them doubled, as csv readers have it."""
    odd = set(",;|#'\"\t")
    quoted = ((cell, cell.strip() != cell or odd & set(cell)) for cell in cells)
    return ",".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' if wrapped else cell for cell, wrapped in quoted)


def csv_cells(line: str, delimiter: str) -> list[str]:
    """The cells of such a line, with any delimiter. Blanks around a cell do not count, those within its quotes do; a
    quote that is never closed, or that something follows, is a character like others."""
    mark = re.escape(delimiter)
    cell = re.compile(rf'\s*"((?:[^"]|"")*+)"\s*(?={mark}|$)|([^{mark}]*)')
    cells, at = [], 0
    while found := cell.match(line, at):
        quoted = found[1]
        cells.append(found[2].strip() if quoted is None else quoted.replace('""', '"'))
        at = found.end() + 1
        if at > len(line):
            break
    return cells


# -- single files ------------------------------------------------------------------------------------------------------


def write_texts(folder: Path, texts: Mapping[str, str]) -> tuple[Path, ...]:
    """Write texts to files of these names in a folder that exists, all of them or none, readable by everyone."""
    try:
        with staged(folder) as stage:
            for name, text in texts.items():
                (stage / name).write_text(text, encoding="utf-8", newline="\n")
                os.chmod(stage / name, 0o644)
    except OSError as error:
        raise ExciterError(f"cannot write to '{folder}': {error.strerror}; choose another place") from None
    return tuple(folder / name for name in texts)


def require_suffix(path: Path, *suffixes: str) -> None:
    """Refuse a file name that says something else than what is in it."""
    if path.suffix not in suffixes:
        raise ExciterError(f"'{path}' must end in {' or '.join(suffixes)}; choose another name")
