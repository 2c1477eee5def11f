"""Rows of a data set (JSONL or Parquet, plain or compressed), streamed and checked.

A row is a whole source file. This module knows the columns of a row and how the formats are stored; it
does not know what becomes of a row.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pytest_funcmem.core.digests import canonical_json
from pytest_funcmem.core.errors import MissingExtraError, SourceError

__all__ = ["MAX_ROW_BYTES", "ListedFunction", "Row", "is_data_set", "read_rows"]

MAX_ROW_BYTES = 64 * 1024 * 1024
"""Largest line of a JSONL file; a source file of the largest size, written as escapes, takes half of that."""

_FORMATS = (".jsonl", ".parquet")
_COMPRESSIONS = (".gz", ".zst")
_BATCH_ROWS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFunction:
    """An entry of a row's list of functions; ``line`` counts from 1."""

    qualname: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row.

    Attributes:
        number: Line of a JSONL file or row of a Parquet file, counted from 1.
        where: ``file:number``, for messages.
        path: The row's path; None if it has none.
        identifier: The row's id as text; None if it has none.
        language: As the row names it; None if it does not.
        functions: The functions to audit; None for all that pass the filters.
        metadata: Unknown columns, as canonical JSON text; "" if there are none.
    """

    number: int
    where: str
    content: str
    path: str | None
    identifier: str | None
    language: str | None
    functions: tuple[ListedFunction, ...] | None
    metadata: str


def is_data_set(path: Path) -> bool:
    """Whether a file is a data set, by its name."""
    return _format_and_compression(path)[0] is not None


def _format_and_compression(path: Path) -> tuple[str | None, str | None]:
    name = path.name.lower()
    compression = next((suffix for suffix in _COMPRESSIONS if name.endswith(suffix)), None)
    stem = name.removesuffix(compression) if compression else name
    return next((suffix for suffix in _FORMATS if stem.endswith(suffix)), None), compression


def read_rows(path: Path) -> Iterator[Row]:
    """Stream the rows of a data set.

    Raises:
        SourceError: The file cannot be read, or a row is not as the format asks; names file and line.
        MissingExtraError: A package that the format needs is not installed.
    """
    file_format, compression = _format_and_compression(path)
    rows = _parquet_rows(path, compression) if file_format == ".parquet" else _jsonl_rows(path, compression)
    for number, columns in rows:
        yield _row(columns, number, f"{path}:{number}")


# ---------------------------------------------------------------------------------------- columns


def _row(columns: Mapping[str, Any], number: int, where: str) -> Row:
    rest = dict(columns)
    content = rest.pop("content", None)
    if content is None:
        content = rest.pop("text", None)
    if not isinstance(content, str):
        raise SourceError(
            "A row has no content." if content is None else "A row's content is not a text.",
            where=where,
            expected="a column 'content' (or 'text') that holds a whole source file",
            remedy="Add the column, or remove the row.",
        )
    functions = rest.pop("functions", None)
    identifier = rest.pop("id", None)
    if identifier is not None and (isinstance(identifier, bool) or not isinstance(identifier, (str, int))):
        raise _wrong("id", "a text or a whole number", where)
    return Row(
        number=number,
        where=where,
        content=content,
        path=_text(rest, "path", where),
        identifier=None if identifier is None or identifier == "" else str(identifier),
        language=_text(rest, "language", where),
        functions=None if functions is None else tuple(_listed(functions, where)),
        metadata=canonical_json(_storable(rest)) if rest else "",
    )


def _text(rest: dict[str, Any], column: str, where: str) -> str | None:
    value = rest.pop(column, None)
    if value is not None and not isinstance(value, str):
        raise _wrong(column, "a text", where)
    return value or None


def _listed(functions: Any, where: str) -> Iterator[ListedFunction]:
    expected = 'a list of {"qualname": text, "line": number from 1}'
    if not isinstance(functions, list):
        raise _wrong("functions", expected, where)
    for entry in functions:
        qualname = entry.get("qualname") if isinstance(entry, dict) else None
        line = entry.get("line") if isinstance(entry, dict) else None
        if not isinstance(qualname, str) or not isinstance(line, int) or isinstance(line, bool) or line < 1:
            raise _wrong("functions", expected, where)
        yield ListedFunction(qualname=qualname, line=line)


def _wrong(column: str, expected: str, where: str) -> SourceError:
    return SourceError(
        f"A row's column '{column}' is not as it should be.",
        where=where,
        expected=expected,
        remedy="Correct the row, or remove it.",
    )


def _storable(value: Any) -> Any:
    """Unknown columns as JSON: dates, decimals and the like, which Parquet has and JSON lacks, as text."""
    if isinstance(value, dict):
        return {str(key): _storable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


# ---------------------------------------------------------------------------------------- formats


@contextmanager
def _opened(path: Path, compression: str | None) -> Iterator[IO[bytes]]:
    """Open a data set for reading its uncompressed bytes, and translate the errors of doing so."""
    broken: tuple[type[Exception], ...] = (EOFError, zlib.error)
    try:
        with path.open("rb") as file:
            if compression == ".gz":
                with gzip.GzipFile(fileobj=file) as unzipped:
                    yield unzipped  # type: ignore[misc]  # GzipFile is no IO[bytes] by name, only by nature
            elif compression == ".zst":
                zstandard = _zstandard()
                broken = (*broken, zstandard.ZstdError)
                reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
                yield io.BufferedReader(reader)
            else:
                yield file
    except broken as exc:
        raise SourceError(
            f"'{path.name}' is not a whole {compression} file: {exc}.",
            where=str(path),
            expected=f"a file compressed as {compression}",
            remedy="Compress or copy it again.",
        ) from exc
    except OSError as exc:
        raise SourceError(
            f"'{path.name}' cannot be read: {exc.strerror or exc}.",
            where=str(path),
            expected="a data set that may be read",
            remedy="Check the file and its permissions.",
        ) from exc


def _zstandard() -> Any:
    try:
        import zstandard
    except ModuleNotFoundError as exc:
        raise MissingExtraError.for_package(
            "zstandard", extra="data", purpose="to read a .zst data set"
        ) from exc
    return zstandard


def _jsonl_rows(path: Path, compression: str | None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with _opened(path, compression) as file:
        number = 0
        while line := file.readline(MAX_ROW_BYTES + 1):
            number += 1
            where = f"{path}:{number}"
            if len(line) > MAX_ROW_BYTES:
                raise SourceError(
                    "A line is too long.",
                    where=where,
                    expected=f"at most {MAX_ROW_BYTES:,} bytes a line, one JSON object a line",
                    remedy="Remove the row.",
                )
            columns = _json_object(line, where, is_first=number == 1)
            if columns is not None:
                yield number, columns


def _json_object(line: bytes, where: str, *, is_first: bool) -> Mapping[str, Any] | None:
    expected = "one JSON object a line, in UTF-8"
    remedy = "Correct the line, or remove it."
    try:
        text = line.decode("utf-8-sig" if is_first else "utf-8")
        if not text.strip():
            return None
        value = json.loads(text)
    except UnicodeDecodeError as exc:
        raise SourceError(
            f"A line is not UTF-8 (byte {exc.start} of the line).",
            where=where,
            expected=expected,
            remedy=remedy,
        ) from exc
    except json.JSONDecodeError as exc:
        raise SourceError(
            f"A line is not JSON: {exc.msg} (column {exc.colno}).",
            where=where,
            expected=expected,
            remedy=remedy,
        ) from exc
    except (ValueError, RecursionError) as exc:
        raise SourceError(
            f"A line cannot be read as JSON: {exc}.", where=where, expected=expected, remedy=remedy
        ) from exc
    if not isinstance(value, dict):
        raise SourceError("A line is not a JSON object.", where=where, expected=expected, remedy=remedy)
    return value


def _parquet_rows(path: Path, compression: str | None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as exc:
        raise MissingExtraError.for_package(
            "pyarrow", extra="data", purpose="to read a .parquet data set"
        ) from exc
    with _opened(path, compression) as file, tempfile.TemporaryFile() as seekable:
        if compression is not None:
            # Parquet is read from its end, which a stream does not have.
            shutil.copyfileobj(file, seekable)
            seekable.seek(0)
        number = 0
        try:
            table = pyarrow.parquet.ParquetFile(file if compression is None else seekable)
            for batch in table.iter_batches(batch_size=_BATCH_ROWS):
                for columns in batch.to_pylist():
                    number += 1
                    yield number, columns
        except (pyarrow.ArrowException, UnicodeDecodeError) as exc:
            message = str(exc).splitlines()[0] if str(exc) else type(exc).__name__
            raise SourceError(
                f"'{path.name}' cannot be read as Parquet: {message}",
                where=f"{path}, after row {number}",
                expected="a Parquet file whose rows are source files",
                remedy="Write it again, or convert it to .jsonl.",
            ) from exc
