"""Replay files: completions made elsewhere, and the prompts that are to be completed there.

A replay file has one JSON object a line, ``{"function": "PATH::QUALNAME", "completion": TEXT_THAT_FOLLOWS,
"finish_reason": "stop" or "length"}``, one file a model. Blank lines and further fields are ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from pytest_funcmem.core.errors import ReplayError
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import GenerationProgress, PromptCutter
from pytest_funcmem.core.records import Completion, ModelIdentity, Prompt, SourceFunction
from pytest_funcmem.models.prompts import FallbackCutter
from pytest_funcmem.models.spec import ModelSpec

__all__ = ["ReplayModel", "write_prompts"]

_LINE_FORM = '{"function": "PATH::QUALNAME", "completion": "…", "finish_reason": "stop" or "length"}'


class ReplayModel:
    """A model whose completions are read from a file.

    Args:
        spec: A parsed ``replay:FILE``.
        settings: Not used; all engines are made alike.

    Raises:
        ReplayError: The file is missing, broken, or names a function twice.
    """

    def __init__(self, spec: ModelSpec, settings: Settings) -> None:
        path = Path(spec.location).expanduser()
        try:
            content = path.read_bytes()
        except OSError as exc:
            raise ReplayError(
                f"The replay file cannot be read: {exc.strerror or exc}.",
                where=str(path),
                remedy="Check the path after 'replay:'.",
            ) from exc
        self._path = path
        sha256 = hashlib.sha256(content).hexdigest()
        self._completions = _parsed(path, content, sha256)
        self._identity = ModelIdentity(spec=spec.text, kind="replay", revision=f"sha256:{sha256}")

    @property
    def identity(self) -> ModelIdentity:
        """The file's digest is the revision."""
        return self._identity

    @property
    def batch_size(self) -> int:
        """Completions of a replay file are independent."""
        return 1

    def cutter(self) -> PromptCutter:
        """The fallback: a replay file says nothing of its model's tokenizer."""
        return FallbackCutter()

    def functions_named(self) -> frozenset[str]:
        """Keys of the functions that the file completes; the others are to be deselected."""
        return frozenset(self._completions)

    def complete(
        self,
        functions: Sequence[SourceFunction],
        prompts: Sequence[Prompt],
        *,
        max_new_tokens: int,
        progress: GenerationProgress | None = None,
    ) -> tuple[Completion, ...]:
        """Look the completions up; ``max_new_tokens`` was applied where they were made.

        Raises:
            ReplayError: The file does not name one of the functions.
        """
        found = []
        for function in functions:
            completion = self._completions.get(function.key)
            if completion is None:
                raise ReplayError(
                    f"The replay file has no completion for {function.key}.",
                    where=str(self._path),
                    expected=f"one line for every audited function; it names {len(self._completions)}",
                    remedy="Add the line, or deselect the function.",
                )
            found.append(completion)
        if progress is not None and found:
            progress(len(found))
        return tuple(found)

    def close(self) -> None:
        """Nothing is held open."""


_KEPT = 8  # files; a run has a reference and a few targets
_parsed_files: dict[tuple[Path, str], Mapping[str, Completion]] = {}
_lock = threading.Lock()


def _parsed(path: Path, content: bytes, sha256: str) -> Mapping[str, Completion]:
    """Parse a file once for all that open it: a run checks it, asks for its names, and completes with it."""
    with _lock:
        found = _parsed_files.get((path, sha256))
        if found is None:
            found = _parse(path, content)
            while len(_parsed_files) >= _KEPT:
                del _parsed_files[next(iter(_parsed_files))]
            _parsed_files[path, sha256] = found
        return found


def _parse(path: Path, content: bytes) -> dict[str, Completion]:
    completions: dict[str, Completion] = {}
    line_of: dict[str, int] = {}
    # Only b"\n" ends a line: JSON strings may hold U+2028 and its like unescaped.
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not raw.strip():
            continue
        where = f"{path}:{number}"
        row = _parse_line(raw, where)
        key = row["function"]
        if key in completions:
            raise ReplayError(
                f"The replay file completes {key} twice.",
                where=where,
                expected=f"one line a function; the first is line {line_of[key]}",
                remedy="Delete one of the two lines.",
            )
        line_of[key] = number
        completions[key] = Completion(text=row["completion"], token_ids=None, stop=row["finish_reason"])
    if not completions:
        raise ReplayError(
            "The replay file has no completion in it.",
            where=str(path),
            expected=f"lines of {_LINE_FORM}",
            remedy="Write the prompts with 'funcmem prompts', complete them, and put the answers here.",
        )
    return completions


def _parse_line(raw: bytes, where: str) -> dict[str, Any]:
    try:
        row = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise ReplayError(
            f"This line is not UTF-8 (byte {exc.start}).", where=where, remedy="Write the file in UTF-8."
        ) from exc
    except (ValueError, RecursionError) as exc:
        detail = f"{exc.msg} at column {exc.colno}" if isinstance(exc, json.JSONDecodeError) else str(exc)
        raise ReplayError(
            f"This line is not JSON: {detail}.",
            where=where,
            expected=_LINE_FORM,
            remedy="Mend or delete the line; a file that was cut off ends in such a line.",
        ) from exc
    if not isinstance(row, dict):
        raise ReplayError(
            "This line is not a JSON object.",
            where=where,
            expected=_LINE_FORM,
            remedy="Mend or delete the line.",
        )
    for name in ("function", "completion", "finish_reason"):
        if name not in row:
            raise ReplayError(
                f"This line lacks the field '{name}'.",
                where=where,
                expected=_LINE_FORM,
                remedy=f"Add '{name}'.",
            )
        if not isinstance(row[name], str):
            raise ReplayError(
                f"The field '{name}' holds {json.dumps(row[name])[:40]}.",
                where=where,
                expected="a text",
                remedy=f"Write '{name}' as a JSON string.",
            )
    if row["finish_reason"] not in ("stop", "length"):
        raise ReplayError(
            f"The field 'finish_reason' holds {row['finish_reason']!r}.",
            where=where,
            expected='"stop" (the model ended, or was stopped) or "length" (the token limit was reached)',
            remedy="Write one of the two.",
        )
    return row


def write_prompts(
    destination: str | os.PathLike[str] | TextIO,
    functions: Sequence[SourceFunction],
    prompts: Sequence[Prompt],
) -> None:
    """Write prompts for another machine to complete, one JSON object a line.

    A line is ``{"function", "prompt", "tokenizer", "context_tokens"}``; a replay file answers each with
    ``{"function", "completion", "finish_reason"}``.

    Args:
        destination: Path of the file, which is replaced as a whole, or an open text stream.
        functions: The functions, in the order of the lines.
        prompts: Their prompts.
    """
    lines = [
        json.dumps(
            {
                "function": function.key,
                "prompt": prompt.text,
                "tokenizer": prompt.tokenizer,
                "context_tokens": prompt.context_tokens,
            }
        )
        + "\n"
        for function, prompt in zip(functions, prompts, strict=True)
    ]
    if not isinstance(destination, (str, os.PathLike)):
        destination.writelines(lines)
        return
    path = Path(destination)
    beside = path.with_name(path.name + ".tmp")
    beside.write_text("".join(lines), encoding="utf-8", newline="\n")
    beside.replace(path)
