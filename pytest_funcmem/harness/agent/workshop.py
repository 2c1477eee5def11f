"""Where an agent works: a directory of files, and commands that run on it inside the sandbox.

The files are kept here, on the host, as data. Each command gets them laid into the empty directory of a fresh
process without network, under a user of its own, and what it leaves is carried back. So nothing but files
lives on between two commands, and a workshop needs no place of its own that could be broken out of.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_funcmem.core.protocols import Limits, Sandbox, SandboxTask
from pytest_funcmem.core.records import Json, Language

__all__ = ["WORKSHOP_PROGRAM", "CommandEnd", "Workshop", "WorkshopError"]

WORKSHOP_PROGRAM = "workshop"
"""Name of the program that a sandbox has to be made with."""

MOST_BYTES = 16 * 1024 * 1024
MOST_FILES = 400
_SHOWN_BYTES = 6_000
_MOST_RECORDS = MOST_FILES + 16
_LIMITS = {"memory_mib": 1024, "processes": 64, "files_mib": 64}
_PART = re.compile(r"[A-Za-z0-9_.+@=,~ -]{1,100}")


class WorkshopError(Exception):
    """Something cannot be done; the message is for the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnd:
    """How a command ended.

    Attributes:
        exit: Exit status, negative for a signal; None where the sandbox ended it.
        output: Beginning and end of what it wrote to either stream.
        note: For the agent: what else became of it.
    """

    exit: int | None
    output: str
    note: str = ""


class Workshop:
    """The files of one agent.

    Args:
        sandbox: Open, made with ``WORKSHOP_PROGRAM``.
        language: Whose image the commands need.
        files: The first files, by path.
    """

    def __init__(self, sandbox: Sandbox, language: Language, files: Mapping[str, str]) -> None:
        self._sandbox = sandbox
        self._language = language
        self._files = {path: text.encode("utf-8", "replace") for path, text in files.items()}
        self._executable: set[str] = set()

    def read(self, path: str) -> str:
        """The text of a file.

        Raises:
            WorkshopError: There is no such file.
        """
        content = self._files.get(_checked(path))
        if content is None:
            names = ", ".join(sorted(self._files)[:40])
            raise WorkshopError(f"there is no file {path!r}; there are: {names}")
        return content.decode("utf-8", "replace")

    def write(self, path: str, text: str) -> None:
        """Write a file, in the place of an earlier one.

        Raises:
            WorkshopError: It cannot be called so, or there is no room.
        """
        path, content = _checked(path), text.encode("utf-8", "replace")
        others = [other for other in self._files if other != path]
        size = len(content) + sum(len(self._files[other]) for other in others)
        if size > MOST_BYTES or len(others) >= MOST_FILES:
            raise WorkshopError(f"the directory may hold {MOST_BYTES >> 20} MiB in {MOST_FILES} files")
        if _clashes(path, others):
            raise WorkshopError(f"{path!r} cannot be a file and a directory")
        self._files[path] = content

    def kept(self) -> Json:
        """All files, for a store; ``take`` gives them back."""
        return {
            path: [base64.b64encode(content).decode("ascii"), path in self._executable]
            for path, content in sorted(self._files.items())
        }

    def take(self, kept: Json) -> bool:
        """Take over files in the place of all that there are; whether ``kept`` is such."""
        files: dict[str, bytes] = {}
        executable: set[str] = set()
        try:
            for path, (content, runs) in kept.items():
                if _clashes(_checked(path), files):
                    return False
                files[_checked(path)] = base64.b64decode(content, validate=True)
                if runs:
                    executable.add(path)
        except (AttributeError, TypeError, ValueError, WorkshopError):
            return False
        self._files, self._executable = files, executable
        return True

    def run(self, command: str, *, timeout_s: float) -> CommandEnd:
        """Run a shell command on the files.

        Args:
            command: For ``sh -c``.
            timeout_s: Wall-clock seconds.

        Raises:
            SandboxError: The sandbox failed; nothing is known about the command.
        """
        if "\0" in command:
            raise WorkshopError("a command cannot hold a zero byte")
        payload = {
            "command": command.encode("utf-8", "replace").decode("utf-8"),
            "timeout_s": timeout_s,
            "executable": sorted(self._executable),
            "known": {path: hashlib.sha256(content).hexdigest() for path, content in self._files.items()},
            "shown_bytes": _SHOWN_BYTES,
            "most_files": MOST_FILES,
            "most_bytes": MOST_BYTES,
        }
        task = SandboxTask(
            program=WORKSHOP_PROGRAM,
            payload=json.dumps(payload).encode("ascii"),
            files=dict(sorted(self._files.items())),
            limits=Limits(wall_s=timeout_s + 5.0, output_bytes=MOST_BYTES + (1 << 20), **_LIMITS),
            language=self._language,
        )
        result = self._sandbox.run(task)
        end, whole = self._take_back(result.records)
        reasons = {
            "timeout": f"it was ended after {timeout_s:g} s",
            "memory": f"it was ended for memory ({_LIMITS['memory_mib']} MiB)",
            "refused": "it was ended for a forbidden system call or a flood of output",
            "signal": f"it died by signal {result.signal}",
        }
        note = reasons.get(result.outcome, "")
        if end is None:
            return CommandEnd(exit=None, output="", note=note or "it ended without a word")
        notes = [part for part in (end.note, note) if part]
        if not whole:
            notes.append("its files were not taken over")
        return CommandEnd(exit=end.exit, output=end.output, note="; ".join(notes))

    # ------------------------------------------------------------------------- what comes back is hostile

    def _take_back(self, records: tuple[bytes, ...]) -> tuple[CommandEnd | None, bool]:
        end: CommandEnd | None = None
        changed: dict[str, bytes] = {}
        for record in records[:_MOST_RECORDS]:
            head, _, content = record.partition(b"\n")
            about = _object(head)
            kind = about.get("kind")
            if kind == "ended" and end is None:
                end = _end(about)
            elif kind == "file":
                path = about.get("path")
                if isinstance(path, str) and _is_path(path):
                    changed[path] = content
            elif kind == "files" and end is not None:
                return self._taken_over(end, about, changed), True
        return end, False

    def _taken_over(self, end: CommandEnd, about: dict[str, Any], changed: dict[str, bytes]) -> CommandEnd:
        files: dict[str, bytes] = {}
        executable: set[str] = set()
        size = 0
        listed = about.get("paths")
        for item in listed[:MOST_FILES] if isinstance(listed, list) else []:
            path, runs = item if isinstance(item, list) and len(item) == 2 else (None, False)
            if not isinstance(path, str) or not _is_path(path):
                continue
            content = changed.get(path, self._files.get(path))
            if content is None or size + len(content) > MOST_BYTES or _clashes(path, files):
                continue
            size += len(content)
            files[path] = content
            if runs is True:
                executable.add(path)
        self._files, self._executable = files, executable
        left_out = about.get("left_out")
        names = [name for name in left_out if isinstance(name, str)] if isinstance(left_out, list) else []
        if not names:
            return end
        note = f"{len(names)} files too many or too large were not kept, such as {names[0][:100]!r}"
        return CommandEnd(exit=end.exit, output=end.output, note="; ".join(filter(None, (end.note, note))))


def _end(about: dict[str, Any]) -> CommandEnd:
    code, output = about.get("exit"), about.get("output")
    return CommandEnd(
        exit=code if isinstance(code, int) else None,
        output=output[: 3 * _SHOWN_BYTES] if isinstance(output, str) else "",
        note="it was ended for its time" if about.get("timed_out") is True else "",
    )


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_path(path: str) -> bool:
    parts = path.split("/")
    return len(path) <= 200 and all(_PART.fullmatch(part) and part not in (".", "..") for part in parts)


def _checked(path: str) -> str:
    path = path.removeprefix("./")
    if not _is_path(path):
        raise WorkshopError(
            f"{path!r} is no path: relative, below the working directory, in plain characters"
        )
    return path


def _clashes(path: str, others: Iterable[str]) -> bool:
    """Whether a file cannot stand beside others: one of them would have to be a directory, too."""
    return any(path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in others)
