"""The baseline on disk: a TOML file that people read, edit and review. Format version 1.

::

    format_version = 1

    [[accepted]]
    function = "tariffs.py::parcel_fee"   # for people; the digest decides
    sha256 = "9f86d08…"                   # of signature and body, as in the JSON report
    verdict = "functional"                # or "verbatim"
    reason = "public-domain formula"
    who = "r.meier"
    until = 2027-03-31                    # the last day on which it is accepted

Comments do not survive ``--funcmem-update-baseline``; what is worth keeping goes into ``reason``.
"""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.reporting.files import write_whole
from pytest_funcmem.verdict.baseline import AcceptedLeak, Baseline

__all__ = ["FORMAT_VERSION", "parse_day", "read_baseline", "write_baseline"]

FORMAT_VERSION = 1
"""Version of the file's format. 1: the first."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_TEXTS = ("function", "sha256", "verdict", "reason", "who")
_FIELDS = (*_TEXTS, "until")
_HEAD = """# Leaks that were accepted. pytest-funcmem reads this file by --funcmem-baseline, and
# --funcmem-update-baseline writes it. An entry is in force up to and including its last day ("until").
"""


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Args:
        path: The file.

    Raises:
        UsageError: It is missing, or is no baseline of this format.
    """
    try:
        table = tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError as exc:
        raise UsageError(
            "The baseline does not exist.",
            where=str(path),
            expected="a file of accepted leaks",
            remedy="Mend the path, or add --funcmem-update-baseline to write it from this run's leaks.",
        ) from exc
    except OSError as exc:
        raise UsageError(f"The baseline cannot be read: {exc.strerror or exc}.", where=str(path)) from exc
    except UnicodeDecodeError as exc:
        raise _broken(f"{path}, byte {exc.start}", "UTF-8") from exc
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise _broken(str(path), f"TOML ({exc})") from exc
    version = table.pop("format_version", None)
    if version != FORMAT_VERSION or isinstance(version, bool):
        raise _broken(str(path), f"format_version = {FORMAT_VERSION}, not {str(version)[:20]}")
    rows = table.pop("accepted", [])
    if table or not isinstance(rows, list):
        raise _broken(str(path), "format_version and [[accepted]] tables, and nothing else")
    entries: dict[tuple[str, str], AcceptedLeak] = {}
    for number, row in enumerate(rows, start=1):
        entry = _entry(row, where=f"{path}, [[accepted]] number {number}")
        if (entry.sha256, entry.verdict) in entries:
            raise _broken(
                f"{path}, [[accepted]] number {number}",
                "one entry for each digest and verdict; this is a second",
            )
        entries[entry.sha256, entry.verdict] = entry
    return Baseline(entries.values())


def _difference(row: Any) -> str:
    if not isinstance(row, Mapping):
        return "this is no table"
    lacking = [name for name in _FIELDS if name not in row]
    unknown = sorted(str(name) for name in row if name not in _FIELDS)
    parts = [
        f"{what} {', '.join(names)}" for what, names in (("lacking", lacking), ("unknown", unknown)) if names
    ]
    return ", ".join(parts)


def _entry(row: Any, *, where: str) -> AcceptedLeak:
    if not isinstance(row, Mapping) or set(row) != set(_FIELDS):
        raise _broken(where, f"the fields {', '.join(_FIELDS)}; {_difference(row)}")
    for name in _TEXTS:
        if not isinstance(row[name], str):
            raise _broken(where, f"a text as {name!r}")
    if not _DIGEST.fullmatch(row["sha256"]):
        raise _broken(where, "64 hexadecimal digits as 'sha256'")
    verdict = row["verdict"]
    if verdict not in ("functional", "verbatim"):
        raise _broken(where, "'functional' or 'verbatim' as 'verdict'")
    until = row["until"]
    if not isinstance(until, datetime.date) or isinstance(until, datetime.datetime):
        raise _broken(where, "a day without quotes as 'until', such as 2027-03-31")
    return AcceptedLeak(
        sha256=row["sha256"],
        verdict=verdict,
        function=row["function"],
        reason=row["reason"],
        who=row["who"],
        until=until,
    )


def parse_day(text: str, *, where: str) -> datetime.date:
    """Read a day, ``YYYY-MM-DD``.

    Raises:
        UsageError: It is none.
    """
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            return datetime.date.fromisoformat(text)
    except ValueError:
        pass
    raise UsageError(
        f"{text!r} is no day.", where=where, expected="YYYY-MM-DD", remedy="Write for instance 2027-03-31."
    )


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline beside its place and rename it.

    Raises:
        AuditError: It cannot be written; the one that was there is untouched.
    """
    write_whole(path, _pieces(baseline), what="baseline")


def _pieces(baseline: Baseline) -> Iterator[str]:
    yield f"{_HEAD}format_version = {FORMAT_VERSION}\n"
    for entry in baseline.entries:
        yield "\n[[accepted]]\n"
        for name in _TEXTS:
            yield f"{name} = {_quoted(getattr(entry, name))}\n"
        yield f"until = {entry.until.isoformat()}\n"


def _quoted(text: str) -> str:
    """A basic string of TOML: JSON's, in UTF-8, but for DEL and what no encoding has."""
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return json.dumps(shown, ensure_ascii=False).replace("\x7f", "\\u007f")


def _broken(where: str, expected: str) -> UsageError:
    return UsageError(
        "The baseline cannot be used.",
        where=where,
        expected=expected,
        remedy="Mend it, or move it away and write it anew with --funcmem-update-baseline.",
    )
