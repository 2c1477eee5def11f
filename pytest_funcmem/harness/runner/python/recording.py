"""Runs one input state and records what the run did: streams, files, lines, changed values."""

# ruff: noqa: B905, PTH108, PTH115, PTH123
# It runs on Python 3.9 too, which has no strict zip, and touches files before and after hostile code does.
from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pathlib
import sys
import threading
import types
from typing import Any

from .calling import Taken, bound, describe, take
from .encoding import FILENAME, MODULE, Json, encode, encode_bytes, encode_text, neutral, writable
from .expressions import HELPERS, rebind
from .fabrication import MAX_QUESTIONS, fabrication
from .failures import note_failure
from .loading import Loaded
from .world import world

STREAM_BYTES = 256 * 1024  # kept of standard output and of standard error
FILE_BYTES = 64 * 1024  # a longer file is recorded by its digest


class _Stream(io.RawIOBase):
    """Keeps the head of what is written, and a digest of all of it."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.kept, self.length, self.digest = bytearray(), 0, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        content = bytes(content)
        self.kept += content[: max(0, STREAM_BYTES - len(self.kept))]
        self.length += len(content)
        self.digest.update(content)
        return len(content)

    def text(self) -> str:
        found = bytes(self.kept).decode("utf-8", "replace")
        if self.length > len(self.kept):
            found += f"\n… {self.length} bytes, SHA-256 {self.digest.hexdigest()}"
        return writable(neutral(found))


class Streams:
    """Standard output and standard error, both as Python's objects and as file descriptors."""

    def __init__(self) -> None:
        self.raw = [_Stream(), _Stream()]
        wrapped = [
            io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors=errors, write_through=True)
            for raw, errors in zip(self.raw, ("surrogateescape", "backslashreplace"))
        ]
        self.wrapped = wrapped
        self.files: list[int] = []
        for _ in range(2):  # files without a name; sandboxes refuse memfd_create, whose memory nobody sees
            self.files.append(os.open(".stream", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            os.unlink(".stream")
        standard = vars(sys)
        standard["stdout"], standard["stderr"] = standard["__stdout__"], standard["__stderr__"] = wrapped

    def begin(self, stdin: str) -> None:
        """In the child: forget what loading printed, and lay standard input."""
        for number, file in enumerate(self.files):
            os.dup2(file, number + 1)
        content = io.BytesIO(stdin.encode("utf-8", "surrogatepass"))
        reader = io.TextIOWrapper(content, encoding="utf-8", errors="surrogateescape")
        vars(sys)["stdin"] = vars(sys)["__stdin__"] = reader

    def truncate(self) -> None:
        """Before a child is made: forget what an earlier one wrote past Python's objects."""
        for file in self.files:
            if os.fstat(file).st_size:
                os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)

    def clear(self) -> None:
        """Forget what was written so far."""
        self._flush()
        for raw in self.raw:
            raw.clear()

    def _flush(self) -> None:
        # The code may have put wrappers of its own around them, or closed them.
        for stream in (sys.stdout, sys.stderr, *self.wrapped):
            with contextlib.suppress(Exception):
                stream.flush()

    def texts(self) -> list[str]:
        """What was written to standard output and to standard error."""
        found = []
        self._flush()
        for raw, file in zip(self.raw, self.files):
            if os.fstat(file).st_size:
                os.lseek(file, 0, os.SEEK_SET)
                raw.write(os.read(file, STREAM_BYTES))
            found.append(raw.text())
        return found


def _function_codes(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.extend(_function_codes(constant))
    return found


def _code_lines(code: types.CodeType) -> set[int]:
    if hasattr(code, "co_lines"):
        return {line for _, _, line in code.co_lines() if line is not None}
    import dis

    return {line for _, line in dis.findlinestarts(code)}


def executable_lines(loaded: Loaded) -> list[int]:
    """Lines of the function's code relative to its signature; without decorators, signature and docstring."""
    lines: set[int] = set()
    for code in _function_codes(loaded.captured.__code__):
        lines |= _code_lines(code)
    relative = {line - loaded.line for line in lines if line >= loaded.line}
    body = {line for line in relative if line > 0}
    return sorted(body or relative)


# Cheaper than tracing, from 3.12 on.
_monitoring: Any = getattr(sys, "monitoring", None)


class Coverage:
    """Lines of the function that were executed, its inner functions included."""

    def __init__(self, codes: list[types.CodeType]) -> None:
        self.codes = {id(code): code for code in codes}
        self.lines: set[int] = set()

    def start(self) -> None:
        """Begin to watch."""
        if _monitoring is not None:
            events, tool = _monitoring.events, _monitoring.COVERAGE_ID
            _monitoring.use_tool_id(tool, "funcmem")
            _monitoring.register_callback(tool, events.LINE, self._monitored)
            for code in self.codes.values():
                _monitoring.set_local_events(tool, code, events.LINE)
        else:
            threading.settrace(self._called)
            sys.settrace(self._called)

    def stop(self) -> None:
        """Watch no longer."""
        if _monitoring is not None:
            _monitoring.free_tool_id(_monitoring.COVERAGE_ID)
        else:
            sys.settrace(None)

    def _monitored(self, code: types.CodeType, line: int) -> Any:
        self.lines.add(line)
        return _monitoring.DISABLE

    def _called(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        return self._traced if id(frame.f_code) in self.codes else None

    def _traced(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines.add(frame.f_lineno)
        return self._traced


_FIXED: tuple[Any, ...] = (type(None), bool, int, float, complex, str, bytes, range, type)
_FIXED += (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)


class Snapshot:
    """Encodings of what a call may change, taken before it; the differences, taken after it."""

    def __init__(self, loaded: Loaded, receiver: Any, has_receiver: bool, arguments: dict[str, Any]) -> None:
        self.loaded = loaded
        self.receiver = receiver
        self.has_receiver = has_receiver
        self.arguments = {name: value for name, value in arguments.items() if not isinstance(value, _FIXED)}
        self.before_receiver = encode(receiver) if has_receiver else None
        self.before_arguments = {name: encode(value) for name, value in self.arguments.items()}
        self.identities = self._globals()
        self.before_globals = {
            name: encode(value) for name, value in self.identities.items() if not isinstance(value, _FIXED)
        }

    def _globals(self) -> dict[str, Any]:
        """Global values that the file's code names, and data of the file's classes, by dotted name."""
        found = {}
        for name, value in list(self.loaded.space.items()):
            if isinstance(value, type) and vars(value).get("__module__") == MODULE:
                for attribute, item in list(vars(value).items()):
                    if not attribute.startswith("__") and not hasattr(type(item), "__get__"):
                        found[f"{name}.{attribute}"] = item
            elif name in self.loaded.named and not isinstance(value, (type, types.ModuleType)):
                found[name] = value
        return found

    def receiver_after(self) -> Json:
        """State of the receiver, ``unchanged`` if so, None where there is none."""
        if not self.has_receiver:
            return None
        after = encode(self.receiver)
        return ["unchanged"] if after == self.before_receiver else after

    def arguments_after(self) -> dict[str, Json]:
        """States of the mutable arguments by position or name."""
        found = {}
        for name, value in self.arguments.items():
            after = encode(value)
            changed = after != self.before_arguments[name]
            if changed or not isinstance(value, (tuple, frozenset)):
                found[writable(name)] = after if changed else ["unchanged"]
        return found

    def globals_after(self) -> dict[str, Json]:
        """Globals whose value changed."""
        after = self._globals()
        found = {writable(name): ["deleted"] for name in self.identities if name not in after}
        for name, value in after.items():
            if name in self.identities and isinstance(value, _FIXED) and value is self.identities[name]:
                continue
            encoded = encode(value)
            before = self.before_globals.get(name)
            if name in self.identities and before is None:
                before = encode(self.identities[name])
            if name not in self.identities or encoded != before:
                found[writable(name)] = encoded
        return found


def named_globals(space: dict[str, Any]) -> set[str]:
    """Names that the functions of the file refer to, so that data no code names is not watched."""
    names: set[str] = set()
    pending: list[Any] = [value for value in space.values() if isinstance(value, (types.FunctionType, type))]
    seen = set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.CodeType):
            names.update(value.co_names)
            pending.extend(item for item in value.co_consts if isinstance(item, types.CodeType))
        elif isinstance(value, types.FunctionType):
            if value.__code__.co_filename == FILENAME:
                pending.append(value.__code__)
            pending.extend(item for item in (value.__dict__.get("__wrapped__"),) if item is not None)
        elif isinstance(value, (staticmethod, classmethod)):
            pending.append(value.__func__)
        elif isinstance(value, property):
            pending.extend(item for item in (value.fget, value.fset, value.fdel) if item is not None)
        elif isinstance(value, type) and vars(value).get("__module__") == MODULE:
            pending.extend(vars(value).values())
    return names


def _lay_files(files: list[list[str]]) -> None:
    for path, content in files:
        place = pathlib.Path(path)
        if place.is_absolute() or ".." in place.parts:
            raise ValueError(f"the path of a file leaves the working directory: {path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode("utf-8", "surrogatepass"))


def _read_files() -> dict[str, bytes | None]:
    """Contents of the working directory by relative path; None for a directory."""
    found: dict[str, bytes | None] = {}
    pending = ["."]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                path = entry.path[2:]
                if entry.is_dir(follow_symlinks=False):
                    found[path + "/"] = None
                    pending.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    with open(entry.path, "rb") as file:
                        found[path] = file.read()
                else:
                    found[path] = os.fsencode(os.readlink(entry.path)) if entry.is_symlink() else b""
    return found


def _changed_files(before: dict[str, bytes | None]) -> dict[str, Json]:
    after = _read_files()
    found: dict[str, Json] = {path: ["deleted"] for path in before if path not in after}
    for path, content in after.items():
        if path in before and before[path] == content:
            continue
        if content is None:
            found[path] = ["directory"]
        elif len(content) > FILE_BYTES:
            digest = hashlib.sha256(content).hexdigest()
            found[path] = ["cut", "file", len(content), digest, repr(content[:100])]
        else:
            try:
                found[path] = encode_text(content.decode("utf-8"))
            except UnicodeDecodeError:
                found[path] = encode_bytes("bytes", content)
    return {writable(path): found[path] for path in sorted(found)}


def _watch_files(event: str, args: tuple[Any, ...]) -> None:
    """Note which files are read that the state could have."""
    if event in ("open", "os.listdir", "os.scandir") and args and isinstance(args[0], str):
        writes = event == "open" and isinstance(args[1], str) and args[1][:1] in "wax"
        path = os.path.relpath(args[0]) if args[0][:1] == "/" else args[0]
        if not writes and not path.startswith("..") and threading.current_thread() is threading.main_thread():
            fabrication.note_path(path, "file" if event == "open" else "directory")


def run_state(
    loaded: Loaded, streams: Streams, state: dict[str, Any], with_coverage: bool
) -> dict[str, Json]:
    """Run the function on one input state, in a process of its own, and describe what it did."""
    record: dict[str, Json] = {
        "outcome": "raised",
        "value": None,
        "exception": None,
        "calls": [],
        "receiver": None,
        "arguments": {},
        "module_globals": {},
        "stdout": "",
        "stderr": "",
        "files": {},
        "lines": [],
        "detail": "",
        "asked": [],
    }
    world.reset(state["seed"])
    fabrication.begin(state["seed"], dict(state["answers"]), loaded.space)
    if state["environment"]:
        os.environ.update(state["environment"])
    streams.begin(state["stdin"])
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(state["seed"] % 2**32)
    has_receiver = state["receiver"] is not None
    codes = _function_codes(loaded.captured.__code__)
    identities = {id(code) for code in codes}
    fabrication.codes = {id(code): loaded.line for code in codes}
    try:
        _lay_files(state["files"])
        rebind()
        helped = [name for name in HELPERS if name not in loaded.space]
        loaded.space.update({name: HELPERS[name] for name in helped})
        for statement in state["setup"]:
            exec(compile(statement, "<setup>", "exec", dont_inherit=True), loaded.space)

        def value(expression: str) -> Any:
            return eval(compile(expression.strip(), "<input state>", "eval", dont_inherit=True), loaded.space)

        receiver = value(state["receiver"]) if has_receiver else None
        positional = [value(expression) for expression in state["arguments"]]
        keywords = {name: value(expression) for name, expression in state["keywords"]}
        for name in helped:
            loaded.space.pop(name, None)
        function = bound(loaded, receiver, has_receiver)
        named = {**{str(place): item for place, item in enumerate(positional)}, **keywords}
        snapshot = Snapshot(loaded, receiver, has_receiver, named)
        files = _read_files()
    except BaseException as error:
        record["exception"] = {**describe(error, loaded, identities), "own": False, "origin": "scaffold"}
        return record
    # What building the state printed, drew or asked is none of the function's doing.
    streams.clear()
    world.forget()
    fabrication.forget()
    sys.addaudithook(_watch_files)
    coverage = Coverage(codes) if with_coverage else None
    taken = Taken()
    depth = sys.getrecursionlimit()
    try:
        if coverage is not None:
            coverage.start()
        try:
            take(function(*positional, **keywords), taken)
            record["outcome"] = "returned"
        finally:
            if coverage is not None:
                coverage.stop()
    except BaseException as error:
        sys.setrecursionlimit(depth)
        record["exception"] = describe(error, loaded, identities)
        note_failure(error)
    sys.setrecursionlimit(depth)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(0.2)
    record["asked"] = [list(item) for item in fabrication.asked]
    if fabrication.questions > MAX_QUESTIONS:
        record["outcome"], record["exception"] = "endless", None
        return record
    record["value"] = taken.value
    record["calls"] = world.log()
    record["receiver"] = snapshot.receiver_after()
    record["arguments"] = snapshot.arguments_after()
    record["module_globals"] = snapshot.globals_after()
    record["stdout"], record["stderr"] = streams.texts()
    record["files"] = _changed_files(files)
    if coverage is not None:
        record["lines"] = sorted(line - loaded.line for line in coverage.lines if line >= loaded.line)
    return record
