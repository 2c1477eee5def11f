"""From ``--funcmem-source`` paths to the functions of an audit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_funcmem.core.errors import SourceError
from pytest_funcmem.core.records import LANGUAGES, Language, SourceFunction
from pytest_funcmem.corpora.datasets import ListedFunction, Row, is_data_set, read_rows
from pytest_funcmem.corpora.files import MAX_FILE_BYTES, check_language, read_text, source_files
from pytest_funcmem.corpora.tallies import Tally
from pytest_funcmem.languages import body_lines, frontend, language_of, left_out

__all__ = ["Corpus", "read_sources"]

_LANGUAGE_NAMES: dict[str, Language] = {
    **{name: name for name in LANGUAGES},
    "py": "python",
    "python3": "python",
    "golang": "go",
    "rs": "rust",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The functions of an audit.

    Attributes:
        functions: By path, then by place; no two have the same key.
        dropped: How many functions, files and rows were left out, by reason, in a fixed order
            (``tallies.DROP_REASONS``); reasons without a count are absent.
        files: Source files and rows that were read.
    """

    functions: tuple[SourceFunction, ...]
    dropped: Mapping[str, int]
    files: int


@dataclass(slots=True, kw_only=True)
class _Unit:
    """One file or row, before its final name is known."""

    source: Path
    path: str
    order: int
    row: Row | None
    functions: tuple[SourceFunction, ...]


def read_sources(paths: Sequence[Path], *, min_lines: int, max_lines: int) -> Corpus:
    """Find the functions of all sources.

    A function's path is relative to the directory that was named; a file that was named goes by its name,
    a row of a data set by its ``path`` (else its ``id``, else its number). Where two sources give the
    same path, it is prefixed with as much of each source's own path as tells them apart. Where two rows
    of a data set share a path, each gets its ``id`` (else its number) as ``row``. A file that several
    sources reach is read once.

    The limits on length hold for all functions but those that a row lists by name.

    Args:
        paths: Files, directories and data sets.
        min_lines: Fewest body lines, as ``languages.body_lines`` counts them.
        max_lines: Most body lines.

    Raises:
        SourceError: A path is missing or cannot be audited, a data set is broken, or a function that a row
            lists is not in it.
        MissingExtraError: A data set needs a package that is not installed.
    """
    reader = _Reader(min_lines=min_lines, max_lines=max_lines)
    for path in paths:
        reader.read(path)
    return reader.corpus()


class _Reader:
    def __init__(self, *, min_lines: int, max_lines: int) -> None:
        self._limits = (min_lines, max_lines)
        self._tally = Tally()
        self._units: list[_Unit] = []
        self._seen: set[Path] = set()

    def read(self, source: Path) -> None:
        try:
            real = source.resolve(strict=True)
            is_directory = real.is_dir()
        except (OSError, RuntimeError) as exc:
            is_missing = isinstance(exc, FileNotFoundError)
            raise SourceError(
                "A source does not exist." if is_missing else f"A source cannot be reached: {exc}.",
                where=str(source),
                expected="a file, a directory, or a data set (.jsonl, .parquet)",
                remedy="Check the path." if is_missing else "Check the path for links that lead in a circle.",
            ) from exc
        if is_directory:
            for path in source_files(source, self._tally):
                self._read_file(source, path, path.relative_to(source).as_posix(), is_named=False)
        elif is_data_set(source) and real.is_file():
            if real not in self._seen:
                self._seen.add(real)
                self._read_data_set(source)
        else:
            check_language(source)
            self._read_file(source, source, source.name, is_named=True)

    def _read_file(self, source: Path, path: Path, name: str, *, is_named: bool) -> None:
        real = path.resolve()
        if real in self._seen:
            return
        self._seen.add(real)
        text = read_text(path)
        if not isinstance(text, str):
            if is_named:
                raise text.error(path)
            self._tally.add(text.reason)
            return
        language = language_of(path.name)
        assert language is not None
        scan = frontend(language).scan(text, path=name)
        self._tally.add_all(scan.dropped)
        self._keep(source, name, None, self._within_limits(scan.functions))

    def _read_data_set(self, source: Path) -> None:
        for row in read_rows(source):
            path = row.path or row.identifier or f"row-{row.number}"
            if row.language is None:
                language = language_of(path)
            else:
                language = _LANGUAGE_NAMES.get(row.language.lower())
            if language is None:
                self._tally.add("unknown_language")
            elif len(row.content) > MAX_FILE_BYTES:
                self._tally.add("too_large")
            elif "\0" in row.content:
                self._tally.add("binary_file")
            else:
                self._keep(source, path, row, self._row_functions(row, path, language))

    def _row_functions(self, row: Row, path: str, language: Language) -> tuple[SourceFunction, ...]:
        scan = frontend(language).scan(row.content, path=path, metadata=row.metadata)
        if row.functions is None:
            self._tally.add_all(scan.dropped)
            return self._within_limits(scan.functions)
        chosen: dict[int, SourceFunction] = {}
        for listed in row.functions:
            found = _listed_among(scan.functions, listed)
            if found is not None:
                chosen[found.signature_start] = found
                continue
            reason = next(
                (
                    dropped.reason
                    for dropped in left_out(language, row.content)
                    if _is_listed(listed, dropped.qualname, dropped.first_line, dropped.line)
                ),
                None,
            )
            if reason is None:
                raise _not_found(row, listed, scan.functions)
            self._tally.add(reason)
        unlisted = len(scan.functions) - len(chosen)
        if unlisted:
            self._tally.add("unlisted", unlisted)
        return tuple(chosen[place] for place in sorted(chosen))

    def _within_limits(self, functions: Iterable[SourceFunction]) -> tuple[SourceFunction, ...]:
        low, high = self._limits
        kept = []
        for function in functions:
            lines = body_lines(function)
            if lines < low:
                self._tally.add("too_short")
            elif lines > high:
                self._tally.add("too_long")
            else:
                kept.append(function)
        return tuple(kept)

    def _keep(self, source: Path, path: str, row: Row | None, functions: tuple[SourceFunction, ...]) -> None:
        self._units.append(
            _Unit(source=source, path=path, order=len(self._units), row=row, functions=functions)
        )

    def corpus(self) -> Corpus:
        named = [(unit, *names) for unit, names in zip(self._units, _names(self._units), strict=True)]
        named.sort(key=lambda item: (item[1], item[0].order))
        functions = []
        keys: set[str] = set()
        for unit, path, row in named:
            for function in unit.functions:
                if (path, row) != (function.path, function.row):
                    function = replace(function, path=path, row=row)
                if function.key in keys:
                    self._tally.add("duplicate")
                    continue
                keys.add(function.key)
                functions.append(function)
        return Corpus(functions=tuple(functions), dropped=self._tally.counts(), files=len(self._units))


# ---------------------------------------------------------------------------------- listed functions


def _is_listed(listed: ListedFunction, qualname: str, first_line: int, line: int) -> bool:
    """Whether a list means this definition.

    Lists come from other tools: their line may be that of the first decorator, and their qualname may
    leave out enclosing types. Name and line together still mean one definition.
    """
    return first_line <= listed.line <= line and f".{qualname}".endswith(f".{listed.qualname}")


def _first_line(function: SourceFunction) -> int:
    return function.line - function.text.count("\n", function.definition_start, function.signature_start)


def _listed_among(functions: Sequence[SourceFunction], listed: ListedFunction) -> SourceFunction | None:
    matches = [
        function
        for function in functions
        if _is_listed(listed, function.qualname, _first_line(function), function.line)
    ]
    matches.sort(key=lambda function: (function.qualname != listed.qualname, function.line != listed.line))
    return matches[0] if matches else None


def _not_found(row: Row, listed: ListedFunction, functions: Sequence[SourceFunction]) -> SourceError:
    name = listed.qualname.rpartition(".")[2]
    near = [f"{f.qualname} at line {f.line}" for f in functions if f.qualname.rpartition(".")[2] == name]
    return SourceError(
        f"A row lists a function that its content does not have: {listed.qualname} at line {listed.line}.",
        where=row.where,
        expected="the qualname and signature line of a function of the row"
        + (f", such as {', '.join(near[:3])}" if near else ""),
        remedy="Correct the row's 'functions', or remove that column to audit all functions of the row.",
    )


# --------------------------------------------------------------------------------------------- names


def _names(units: Sequence[_Unit]) -> list[tuple[str, str | None]]:
    """Path and row of every unit, distinct for all of them."""
    owners: defaultdict[str, dict[Path, None]] = defaultdict(dict)
    sharers: defaultdict[tuple[Path, str], list[_Unit]] = defaultdict(list)
    for unit in units:
        owners[unit.path][unit.source] = None
        sharers[unit.source, unit.path].append(unit)
    rows: dict[int, str | None] = {}
    for group in sharers.values():
        rows.update(_row_names(group))
    return [
        (_harmless(_prefixed(unit, tuple(owners[unit.path]))), _harmless_row(rows[unit.order]))
        for unit in units
    ]


def _harmless(name: str) -> str:
    """A name that can stand in a node id and on a terminal, whatever its file or row is called.

    Control characters, bytes that are no UTF-8 and the like could forge lines, recolour a terminal or break
    an XML report; ``::`` would end the path in a node id.
    """
    escaped = "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode()
        for character in name
    )
    return escaped.replace("::", "\\x3a\\x3a")


def _harmless_row(row: str | None) -> str | None:
    return None if row is None else _harmless(row)


def _prefixed(unit: _Unit, sources: Sequence[Path]) -> str:
    if len(sources) == 1:
        return unit.path
    mine = _prefix_parts(unit, unit.source)
    others = [_prefix_parts(unit, source) for source in sources if source != unit.source]
    length = next(
        (n for n in range(1, len(mine)) if all(mine[-n:] != other[-n:] for other in others)), len(mine)
    )
    return "/".join([*mine[-length:], unit.path])


def _prefix_parts(unit: _Unit, source: Path) -> tuple[str, ...]:
    real = source.resolve()
    # A file that was named goes by its name already: what tells it apart are the directories above it.
    return real.parts[1:-1] if source.name == unit.path and not is_data_set(source) else real.parts[1:]


def _row_names(group: Sequence[_Unit]) -> dict[int, str | None]:
    """What tells the rows of one path apart, by the units' order; nothing where there is but one."""
    if len(group) == 1 or group[0].row is None:
        return {unit.order: None for unit in group}
    names: dict[str, _Unit] = {}
    for unit in group:
        assert unit.row is not None
        name = unit.row.identifier or str(unit.row.number)
        first = names.setdefault(name, unit)
        if first is not unit:
            assert first.row is not None
            raise SourceError(
                f"Two rows have the same path and the same id: {unit.path}, {name}.",
                where=f"{unit.row.where}, and before it row {first.row.number}",
                expected="an id of its own for every row that shares its path with another",
                remedy="Give the rows different ids, or remove one.",
            )
    return {unit.order: name for name, unit in names.items()}
