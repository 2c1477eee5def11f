"""A harness as a directory that a person can read, and that holds all that a verdict rests on.

::

    DIR/tariffs.py/Depot.store/
        function.py       the function's whole file, as it was audited
        harness.json      where in it the function stands, scaffold, input states, what the original does
        states.md         the same input states and outputs, for people; never read back
        target.txt        the raw completions, where an audit wrote the directory
        reference.txt
        verdict.json      what that audit decided

``harness.json`` may be edited: its digest tells, and an edited harness is proved again before it judges. What
is read back is hostile: it is bounded, and held to its types exactly. This module runs nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.errors import FuncmemError, SourceError
from pytest_funcmem.core.records import (
    AuditRecord,
    Completion,
    Harness,
    Json,
    ModelIdentity,
    SourceFunction,
    Verdict,
)
from pytest_funcmem.harness.validate import function_digest
from pytest_funcmem.reporting.files import write_whole
from pytest_funcmem.reporting.states import input_lines, output_parts
from pytest_funcmem.store.codec import decode, encode

__all__ = ["FORMAT_VERSION", "Exchanged", "ExchangedSide", "find_harnesses", "read_harness", "write_harness"]

FORMAT_VERSION = 1
"""Format history: 1, the first."""

HARNESS_FILE = "harness.json"
_FORMAT = "pytest-funcmem harness"
_SUFFIXES: Mapping[str, str] = {"python": ".py", "java": ".java", "c": ".c", "rust": ".rs", "go": ".go"}
_MOST_BYTES = 64 * 1024 * 1024
_WIDTH = 400
_FUNCTION_FIELDS = (
    "path",
    "row",
    "qualname",
    "ambiguous",
    "language",
    "line",
    "definition_start",
    "signature_start",
    "signature_end",
    "end",
    "metadata",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangedSide:
    """A model's completion, as an audit saw it."""

    model: ModelIdentity
    completion: Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """What a directory holds.

    Attributes:
        place: The directory.
        function: The original, in its file.
        harness: As it stands in the file.
        edited: Whether the harness is another than was written.
        target: None where no audit wrote the directory.
        reference: Likewise.
        verdict: What that audit decided; None likewise.
    """

    place: Path
    function: SourceFunction
    harness: Harness
    edited: bool
    target: ExchangedSide | None = None
    reference: ExchangedSide | None = None
    verdict: Verdict | None = None


def write_harness(
    root: Path, function: SourceFunction, harness: Harness, *, record: AuditRecord | None = None
) -> Path:
    """Write a harness into a directory of its own under ``root``, in the place of an earlier one.

    Args:
        root: Where the directories of harnesses stand.
        function: The original.
        harness: Its harness.
        record: What an audit found with it; its completions and verdict are written, too.

    Returns:
        The directory.

    Raises:
        AuditError: A file cannot be written.
        SourceError: The directory cannot be made, or the function's file holds what UTF-8 does not have.
    """
    if _plain(function.text) != function.text:
        raise SourceError(
            "The function's file holds halves of characters, which UTF-8 does not have.", where=function.key
        )
    place = root / _directory_of(function)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise SourceError(
            f"The harness cannot be written: {exc.strerror or exc}.",
            where=str(place),
            remedy="name a directory that can be written",
        ) from exc
    source = f"function{_SUFFIXES[function.language]}"
    encoded = encode(harness)
    content = {
        "format": _FORMAT,
        "format_version": FORMAT_VERSION,
        "function": {
            **{name: getattr(function, name) for name in _FUNCTION_FIELDS},
            "file": source,
            "sha256": function_digest(function),
        },
        "sha256": digest(encoded),
        "harness": encoded,
    }
    write_whole(place / source, (function.text,), what="function's file")
    write_whole(place / HARNESS_FILE, (_pretty(content),), what="harness")
    write_whole(place / "states.md", _described(function, harness), what="description of the harness")
    if record is not None and record.target is not None and record.reference is not None:
        sides = (("target", record.target), ("reference", record.reference))
        said: dict[str, Json] = {"verdict": encode(record.verdict)}
        for name, side in sides:
            write_whole(place / f"{name}.txt", (_plain(side.completion.text),), what=f"{name}'s completion")
            said[name] = {
                "model": encode(side.model),
                "completion": {**encode(side.completion), "text": None, "token_ids": None},
                "file": f"{name}.txt",
                "text_sha256": digest(_plain(side.completion.text)),
                "func": side.func,
            }
        write_whole(place / "verdict.json", (_pretty(said),), what="verdict")
    return place


def find_harnesses(root: Path) -> Iterator[Path]:
    """The directories of harnesses at or below a path, in order of their names.

    Raises:
        SourceError: There is none.
    """
    found = sorted(path.parent for path in root.rglob(HARNESS_FILE)) if root.is_dir() else []
    if not found:
        raise SourceError(
            "There is no harness at or below this path.",
            where=str(root),
            expected=f"a directory with a file {HARNESS_FILE}",
            remedy="write one with --funcmem-report=harness:DIR, or funcmem harness export",
        )
    yield from found


def read_harness(place: Path) -> Exchanged:
    """Read the directory of one harness.

    Raises:
        SourceError: A file is missing, damaged, of another version, or does not belong to the others.
    """
    content = _object(place / HARNESS_FILE)
    if content.get("format") != _FORMAT or content.get("format_version") != FORMAT_VERSION:
        raise SourceError(
            "This is no harness that this version reads.",
            where=str(place / HARNESS_FILE),
            expected=f'"format": "{_FORMAT}", "format_version": {FORMAT_VERSION}',
            remedy="export it again with this version",
        )
    about = _mapping(content.get("function"), place / HARNESS_FILE, "function")
    function = _function(place, about)
    encoded = content.get("harness")
    harness: Harness = _decoded(Harness, encoded, place / HARNESS_FILE, "harness")
    if harness.language != function.language or harness.function_sha256 != function_digest(function):
        raise SourceError(
            "The harness belongs to another function, or the function's file was changed.",
            where=str(place),
            expected=f"function_sha256 {function_digest(function)}",
            remedy="undo the change of the function's file, or export the harness again",
        )
    if len(harness.states) != len(harness.expected):
        # States may be added or dropped by hand; what the original does on them is found out again.
        edited = True
    else:
        edited = digest(encode(harness)) != content.get("sha256")
    sides = _sides(place)
    return Exchanged(place=place, function=function, harness=harness, edited=edited, **sides)


def _function(place: Path, about: Mapping[str, Json]) -> SourceFunction:
    where = place / HARNESS_FILE
    name = about.get("file")
    if not isinstance(name, str) or not re.fullmatch(r"function\.[a-z]{1,4}", name):
        raise SourceError(
            "The function's file has no usable name.", where=str(where), expected='"file": "function.py"'
        )
    fields = {field: about.get(field) for field in _FUNCTION_FIELDS}
    text = _text(place / name)
    function: SourceFunction = _decoded(SourceFunction, {**fields, "text": text}, where, "function")
    places = (
        function.definition_start,
        function.signature_start,
        function.signature_end,
        function.end,
    )
    if not 0 <= places[0] <= places[1] < places[2] <= places[3] <= len(text):
        raise SourceError(
            "The function does not lie inside its file.",
            where=str(where),
            expected=f"offsets in order, up to {len(text)}",
        )
    return function


def _sides(place: Path) -> dict[str, Any]:
    where = place / "verdict.json"
    if not where.exists():
        return {}
    said = _object(where)
    found: dict[str, Any] = {"verdict": _decoded(Verdict, said.get("verdict"), where, "verdict")}
    for name in ("target", "reference"):
        about = _mapping(said.get(name), where, name)
        text = _text(place / f"{name}.txt")
        if digest(text) != about.get("text_sha256"):
            raise SourceError(
                f"The {name}'s completion was changed.",
                where=str(place / f"{name}.txt"),
                remedy="undo the change; to run other code, use funcmem harness run --code=FILE",
            )
        fields = {**_mapping(about.get("completion"), where, f"{name}.completion"), "text": text}
        found[name] = ExchangedSide(
            model=_decoded(ModelIdentity, about.get("model"), where, f"{name}.model"),
            completion=_decoded(Completion, fields, where, f"{name}.completion"),
        )
    return found


def _directory_of(function: SourceFunction) -> Path:
    """Path and qualified name, as in a node id, with whatever no file system likes escaped."""
    parts = [part for part in function.key.partition("::")[0].split("/") if part]
    names = [_name(part) for part in (*parts, function.key.partition("::")[2])]
    return Path(*names)


def _name(text: str) -> str:
    escaped = quote(text, safe="@#+,=~ ()[]{}-_.", errors="backslashreplace")
    if escaped.strip(".") == "":
        escaped = escaped.replace(".", "%2E")
    return escaped if len(escaped) <= 120 else f"{escaped[:90]}~{digest(text)[:16]}"


def _described(function: SourceFunction, harness: Harness) -> Iterator[str]:
    """The states and outputs for people, in Markdown."""
    evidence = harness.evidence
    strength = "no mutants" if evidence.strength is None else f"{evidence.strength:.0%}"
    yield f"# {_plain(function.key)}\n\n"
    yield (
        f"Built by `{harness.builder}`; {evidence.valid} input states, {evidence.outputs} distinct outputs, "
        f"coverage {evidence.coverage:.0%}, strength {strength}.\n"
    )
    if harness.scaffold.mocks:
        yield "\nMade up: " + ", ".join(f"`{_plain(name)}`" for name in harness.scaffold.mocks) + "\n"
    for number, (state, output) in enumerate(zip(harness.states, harness.expected, strict=False), start=1):
        yield f"\n## State {number}\n\n"
        yield _block(input_lines(state, width=_WIDTH, most=40))
        yield "\nThe original:\n\n"
        yield _block([f"{name}: {part.text}" for name, part in output_parts(output).items()])


def _block(lines: Sequence[str]) -> str:
    body = "".join(f"    {_plain(line)}\n" for line in "\n".join(lines).splitlines())
    return body or "    (nothing)\n"


def _plain(text: str) -> str:
    """The text, with what UTF-8 does not have replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _pretty(value: Json) -> str:
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SourceError("This file is too large.", where=str(path), expected=f"{_MOST_BYTES} bytes")
        return path.read_bytes().decode("utf-8")
    except OSError as exc:
        raise SourceError(
            f"A file of the harness cannot be read: {exc.strerror or exc}.", where=str(path)
        ) from exc
    except UnicodeDecodeError as exc:
        raise SourceError(
            "A file of the harness is not UTF-8.", where=f"{path}, byte {exc.start}", expected="UTF-8"
        ) from exc


def _object(path: Path) -> dict[str, Json]:
    try:
        value = json.loads(_text(path))
    except (ValueError, RecursionError) as exc:
        line = f", line {exc.lineno}" if isinstance(exc, json.JSONDecodeError) else ""
        raise SourceError("This is no JSON.", where=f"{path}{line}", remedy="mend the file") from exc
    return dict(_mapping(value, path, "the file"))


def _mapping(value: Json, where: Path, what: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise SourceError(f"{what} is no JSON object.", where=str(where), expected="{…}")
    return value


def _decoded(kind: type[Any], value: Json, where: Path, what: str) -> Any:
    try:
        return decode(kind, value)
    except FuncmemError as error:
        raise SourceError(
            f"{what} is not as it should be: {error.what}", where=str(where), remedy="mend the file"
        ) from error
