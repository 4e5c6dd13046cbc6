"""Logs at a URL: every machine that reads one has its own copy, fetched once.

``https://…``, ``s3://…`` and what else fsspec reads is copied into a cache folder of this machine, and read there as
any file; a worker fetches what it reads. A copy is of one version, as the server tells it (size, date, ETag): a file
that changed is fetched anew. Those that were not used for longest go where the folder would become too large. In
messages and results an address has no user, password or query, for these may be secrets."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from exciter.errors import ExciterError, RecordingError, shown
from exciter.files import is_plain, path_of

URL_FORM = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
#: a name and password with /, ? or # in it as they are: what follows the colon is no port, and an @ comes later
UNESCAPED_USER = re.compile(r"^([^:/]+://)[^/?#@:[]*:(?!\d*(?:[/?#]|$))[^@/?#]*[/?#].*@")
WEB_SCHEMES, NOT_FOUND = ("http", "https"), 404
#: whose content is given as it is; others of fsspec compute, join, or look into other files
READ_SCHEMES = (*WEB_SCHEMES, "file", "s3", "gs", "abfs", "az", "hf", "ftp", "sftp", "smb", "hdfs", "webhdfs")
CHAIN_MARK = "::"  #: of fsspec, for a file in a file
CACHE_VARIABLE = "EXCITER_CACHE"
MOST_CACHED_BYTES = 50_000_000_000  #: of all copies together, and so of one
CONNECTION_PATIENCE_S, SILENCE_PATIENCE_S = 20.0, 60.0  #: for a web server to answer, and to say no more
VERSION_KEYS = (  #: of what file systems say of a file
    *("size", "ETag", "Content-MD5", "Digest", "Last-Modified", "LastModified", "last_modified", "mtime", "modified"),
    *("updated", "generation", "version_id", "content_hash", "oid"),
)
LONGEST_NAME, LONGEST_REASON = 100, 160  # characters
UNFINISHED_COPY = ".unfinished"


def is_url(given: Any) -> bool:
    return isinstance(given, str) and URL_FORM.match(given) is not None


def place_of(given: Any, what: str) -> str | Path:
    """A URL as it is, else a path; what: it is called in messages."""
    return given if is_url(given) else path_of(given, what)


def address(given: str | Path) -> str:
    """For messages and results: a path as it is, a URL without its secrets. Queries that differ stay different."""
    if not isinstance(given, str) or not is_url(given):
        return str(given)
    given = UNESCAPED_USER.sub(r"\1", given)
    bare, mark, secret = given.partition("?")
    scheme, _, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    told = f"?{hashlib.sha256(secret.encode()).hexdigest()[:8]}" if mark else ""
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path.partition('#')[0]}{told}"


def suffix_of(given: str) -> str:
    """Of the name of a file, or of the last name of a URL; in small letters."""
    return Path(_name(given) if is_url(given) else given).suffix.lower()


def beside(url: str, name: str) -> str:
    """The URL of a file that a file at a URL names."""
    return f"{url.partition('?')[0].rpartition('/')[0]}/{name}"


def version_of(url: str) -> str:
    """A hash of what its server says of the file, which need not be fetched."""
    with _told(url):
        return _version(_found(url)[2])


def local_file(given: str | Path) -> Path:
    """Where this machine can read it: a path itself, of a URL the copy."""
    if not isinstance(given, str) or not is_url(given):
        return Path(given)
    with _told(given):
        system, place, about = _found(given)
        if urlsplit(given).scheme.lower() == "file":
            return Path(place)
        folder = cache_folder() / hashlib.sha256(f"{given} {_version(about)}".encode()).hexdigest()[:32]
        copy = folder / _name(given)
        if not copy.is_file():
            most = _room(folder.parent, int(about.get("size") or 0))
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = folder / f"{os.getpid()}-{threading.get_ident()}{UNFINISHED_COPY}"
            try:
                system.get_file(place, str(unfinished), callback=_bounded(most))
                os.replace(unfinished, copy)
            finally:
                unfinished.unlink(missing_ok=True)
        os.utime(folder)  # used now
        return copy


def cache_folder() -> Path:
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "exciter" / "logs"
    return Path(os.environ.get(CACHE_VARIABLE) or usual)


# -- by fsspec -------------------------------------------------------------------------------------------------------


def _library(name: str) -> Any:
    """Of those that the extra brings."""
    try:
        return importlib.import_module(name)
    except ImportError:
        why = f"needs {name}, which is not installed; pip install 'exciter[cluster]'"
        raise RecordingError(f"a log at a URL {why}") from None


def _found(url: str) -> tuple[Any, str, dict[str, Any]]:
    """The file system of fsspec, the place in it, and what it says of the file."""
    scheme = urlsplit(url).scheme.lower()
    if scheme not in READ_SCHEMES or CHAIN_MARK in url:
        raise RecordingError(f"{shown(address(url))} is no URL that logs are read from; give {', '.join(READ_SCHEMES)}")
    options: dict[str, Any] = {}
    fsspec = _library("fsspec")
    if scheme in WEB_SCHEMES:  # of which a whole transfer may take long
        patience = {"sock_connect": CONNECTION_PATIENCE_S, "sock_read": SILENCE_PATIENCE_S}
        options["client_kwargs"] = {"timeout": _library("aiohttp").ClientTimeout(total=None, **patience)}
    system, place = fsspec.core.url_to_fs(url, **options)
    about = system.info(place)
    if about.get("type") == "directory":
        raise RecordingError(f"{address(url)} is a folder; give the URL of a file")
    return system, place, about


def _version(about: dict[str, Any]) -> str:
    told = [(key, str(about[key])) for key in VERSION_KEYS if about.get(key) is not None]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _name(url: str) -> str:
    """Of the copy: the last one of the address, whose suffix says what it is."""
    name = unquote(PurePosixPath(urlsplit(url).path).name)[-LONGEST_NAME:]
    return name if is_plain(name) and name.isprintable() else "log"


@contextmanager
def _told(url: str) -> Iterator[None]:
    """Whatever goes wrong in one line without secrets; every file system of fsspec has errors of its own."""
    try:
        yield
    except ExciterError:
        raise
    except Exception as error:
        cause = error.__cause__ if isinstance(error, FileNotFoundError) else None  # a web server that does not answer
        if isinstance(error, FileNotFoundError) and (cause is None or getattr(cause, "status", None) == NOT_FOUND):
            raise RecordingError(f"there is nothing at {address(url)}; check the URL") from None
        words = " ".join(re.sub(r"\S+://\S+", address(url), str(cause or error)).split())[:LONGEST_REASON]
        todo = "" if isinstance(error, ImportError) else "; check the URL"
        raise RecordingError(f"cannot read {address(url)}: {words or type(error).__name__}{todo}") from None


# -- bounded -----------------------------------------------------------------------------------------------------------


def _room(cache: Path, size: int) -> int:
    """[B] that one more copy may have, when those that were not used for longest are gone; size: as far as known."""
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    copies = {one: _used(one) for one in cache.iterdir()}
    total = sum(taken for _, taken in copies.values())
    possible = min(MOST_CACHED_BYTES, total + shutil.disk_usage(cache).free)
    if size > possible:  # before anything goes for nothing
        raise _too_large(possible)
    for oldest in sorted(copies, key=copies.__getitem__):
        if total + size > MOST_CACHED_BYTES:
            shutil.rmtree(oldest, ignore_errors=True)
            total -= copies[oldest][1]
    most = min(MOST_CACHED_BYTES - total, shutil.disk_usage(cache).free)
    if size > most:
        raise _too_large(most)
    return most


def _used(copy: Path) -> tuple[float, int]:
    """When last, and how large it is [B]; zeros of what another process has removed meanwhile."""
    with suppress(OSError):
        return copy.stat().st_mtime, sum(file.stat().st_size for file in copy.iterdir())
    return 0.0, 0


def _bounded(most: int) -> Any:
    """What counts as a copy is made; a server may send more than it says."""

    class Counting(_library("fsspec").callbacks.Callback):  # type: ignore[misc]
        def relative_update(self, inc: int = 1) -> None:
            super().relative_update(inc)
            if self.value > most:
                raise _too_large(most)

    return Counting()


def _too_large(most: int) -> RecordingError:
    return RecordingError(
        f"the file is larger than the {most / 1e9:.3g} GB that copies may have here; give more room "
        f"({CACHE_VARIABLE}: another folder), or copy the log yourself"
    )
