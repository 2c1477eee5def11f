"""Executes a file statement by statement as a module, as far as it can live, and finds the function in it."""

# It runs on Python 3.9 too, which has no strict zip, and touches files before and after hostile code does.
from __future__ import annotations
import __future__

import ast
import builtins
import collections.abc
import contextlib
import importlib
import linecache
import re
import signal
import sys
import types
from collections.abc import Iterator
from typing import Any

from .absent import finder
from .encoding import FILENAME, MODULE, Json, class_name, message_of, writable
from .expressions import HELPERS
from .fabrication import fabrication


class _LoadTimeoutError(BaseException):
    """The file's top-level statements took too long."""


class Loaded:
    """A file as a module, with the function to call.

    ``problem`` says why the function cannot be called; None if it can.
    """

    def __init__(self, task: dict[str, Any]) -> None:
        self.line = task["line"]
        self.qualname = task["qualname"]
        self.problem: str | None = None
        self.notes: list[str] = []
        self.skipped: list[dict[str, Json]] = []
        self.captured: Any = None
        self.node: Any = None
        self.owner: type[Any] | None = None
        self.raw: Any = None
        self.flags = 0
        self.named: set[str] = set()
        self.module = types.ModuleType(MODULE)
        self.space = vars(self.module)
        self.space["__file__"] = FILENAME
        self.space["__builtins__"] = {
            **vars(builtins),
            "__funcmem_capture__": self.capture,
            "id": _Identities(),
        }
        sys.modules[MODULE] = self.module

    def capture(self, function: Any) -> Any:
        """The innermost decorator of the function: notes it and leaves it as it is."""
        self.captured = function
        return function


class _Identities:
    """The built-in ``id`` as small numbers in the order of asking, so that no address reaches a value."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[int, Any]] = {}

    def __call__(self, value: Any) -> int:
        number, _ = self.known.setdefault(id(value), (len(self.known) + 1, value))
        return number


def load(task: dict[str, Any]) -> Loaded:
    """Execute a file statement by statement and find the function in it."""
    loaded = Loaded(task)
    previous = signal.signal(signal.SIGALRM, _stop_loading)
    # Again and again, since the file may catch the first one.
    signal.setitimer(signal.ITIMER_REAL, task["load_timeout_s"], 0.05)
    try:
        fabrication.loading = True
        fabrication.begin(0, {}, loaded.space)
        nodes, rejected = _parsed(task["text"], loaded, task["line"])
        _expect(task["mocks"], nodes, task["text"])
        loaded.space.update(HELPERS)
        for index, node in enumerate(_parsed(task["prelude"], loaded, 0)[0]):
            _execute(loaded, node, -1 - index, "<prelude>")
        for name in HELPERS:
            del loaded.space[name]
        target = _find_target(nodes, loaded)
        if target is None:
            reason = next((error for first, last, error in rejected if first <= loaded.line <= last), None)
            loaded.problem = reason or f"there is no function {loaded.qualname} at line {loaded.line}"
            return loaded
        linecache.cache[FILENAME] = (len(task["text"]), None, task["text"].splitlines(True), FILENAME)
        for index, node in enumerate(nodes):
            if node is target:
                _execute_target(loaded, node, index)
            else:
                _execute(loaded, node, index, FILENAME)
        if loaded.problem is None:
            _resolve(loaded)
    except _LoadTimeoutError:
        loaded.problem = f"its top-level statements took more than {task['load_timeout_s']:g} s"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        fabrication.loading = False
    return loaded


_UNFIT = frozenset({"antigravity", "this", "idlelib", "turtledemo", "test", "lib2to3"})


def import_ahead(text: str) -> None:
    """Import what a file imports of the standard library, for processes that will load the file.

    Where many programs share a file, its imports would otherwise be made again for each.
    """
    try:
        nodes = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    known: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset())
    for node in nodes:
        names = []
        if isinstance(node, ast.Import):
            names = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module]
        for name in names:
            root = name.partition(".")[0]
            if root in known and root not in _UNFIT:
                with contextlib.suppress(Exception):
                    importlib.import_module(name)


def _expect(mocks: list[str], nodes: list[ast.stmt], text: str) -> None:
    """Let what the scaffold names be made up where it is not there."""
    fabrication.enabled = bool(mocks)
    for name in mocks:
        if name.endswith(EXCEPTION_MARK):
            fabrication.exceptions.add(name[: -len(EXCEPTION_MARK)])
        if name.endswith(")"):
            continue
        parts = name.split(".")
        fabrication.modules.update(".".join(parts[: count + 1]) for count in range(len(parts)))
    pending: list[Any] = list(nodes)
    while pending:
        item = pending.pop()
        if isinstance(item, ast.ImportFrom) and item.level:
            item.module, item.level = absolute_module(item.module, item.level), 0
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending.extend(getattr(item, part, ()))
    lines = [number for number, line in enumerate(text.split("\n"), 1) if "super" in line]
    for node in nodes:
        if any(node.lineno <= line <= (node.end_lineno or 0) for line in lines):
            fabrication.inherited.update(_asked_of_bases(node))


def _asked_of_bases(node: ast.stmt) -> Iterator[str]:
    """Names of the methods that a statement calls by ``super()``."""
    for item in ast.walk(node):
        if (
            isinstance(item, ast.Attribute)
            and isinstance(item.value, ast.Call)
            and isinstance(item.value.func, ast.Name)
            and item.value.func.id == "super"
        ):
            yield item.attr


EXCEPTION_MARK = " (exception)"


def absolute_module(module: str | None, level: int) -> str:
    """What a relative import is called: the package around the file goes by the name of ``package``."""
    return ".".join(["package", *["above"] * (level - 1), *([module] if module else [])])


def _stop_loading(number: int, frame: Any) -> None:
    raise _LoadTimeoutError


def _parsed(text: str, loaded: Loaded, line: int) -> tuple[list[ast.stmt], list[tuple[int, int, str]]]:
    """Top-level statements of a text as far as it parses; (first line, last line, error) of the rest."""
    try:
        return ast.parse(text).body, []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    lines = text.replace("\0", " ").split("\n")
    starts = [
        number for number, content in enumerate(lines) if content[:1] == "@" or content[:1].isidentifier()
    ]
    starts = [number for number in starts if not re.match(r"(elif|else|except|finally)\b", lines[number])]
    edges = [*starts, len(lines)]
    nodes: list[ast.stmt] = []
    rejected: list[tuple[int, int, str]] = []
    if edges[0] > 0 and any(content.strip() for content in lines[: edges[0]]):
        rejected.append((1, edges[0], "SyntaxError: the file begins in the middle of something"))
    place = 0
    while place < len(starts):
        first_error = ""
        # A statement may go on past a line that looks like a start (a text in triple quotes, a decorator).
        for end in range(place + 1, min(place + 13, len(edges))):
            chunk = "\n".join(lines[edges[place] : edges[end]]) + "\n"
            try:
                found = ast.parse(chunk).body
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                if not first_error:
                    first_error = f"{type(error).__name__}: {getattr(error, 'msg', error)}"
                continue
            nodes.extend(ast.increment_lineno(node, edges[place]) for node in found)
            place = end
            break
        else:
            rejected.append((edges[place] + 1, edges[place + 1], first_error))
            place += 1
    for first, _, problem in rejected:
        kind, _, message = problem.partition(": ")
        loaded.skipped.append(
            {"index": -1, "line": first, "names": [], "error": kind, "message": writable(message)}
        )
    return nodes, rejected


def _find_target(nodes: list[ast.stmt], loaded: Loaded) -> ast.stmt | None:
    """The top-level statement that holds the function; its own node is noted."""
    name = loaded.qualname.rpartition(".")[2]
    for statement in nodes:
        if not statement.lineno - 50 <= loaded.line <= (statement.end_lineno or 0):
            continue
        for node in ast.walk(statement):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            if node.name == name and first <= loaded.line <= node.lineno:
                loaded.node, loaded.line = node, node.lineno
                return statement
    return None


def _names(node: ast.stmt) -> list[str]:
    found = []
    for item in ast.walk(node):
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.append(item.name)
        elif isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            found.append(item.id)
        elif isinstance(item, ast.alias):
            found.append((item.asname or item.name).partition(".")[0])
    return sorted({writable(name) for name in found})


def _attempt(loaded: Loaded, node: ast.stmt, filename: str, flags: int = 0) -> BaseException | None:
    """Compile and execute one statement; the exception if it fails."""
    try:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for item in node.names:
                loaded.flags |= getattr(getattr(__future__, item.name, None), "compiler_flag", 0)
        tree = ast.Module(body=[node], type_ignores=[])
        code = compile(tree, filename, "exec", flags=loaded.flags | flags, dont_inherit=True)
        exec(code, loaded.space)
    except _LoadTimeoutError:
        raise
    except BaseException as error:
        return error
    return None


_POSTPONED = __future__.annotations.compiler_flag


def _execute(loaded: Loaded, node: ast.stmt, index: int, filename: str) -> None:
    if isinstance(node, ast.Try) and _imports(node.body) and _has_alternative(loaded, node, filename):
        return
    error = _attempt(loaded, node, filename)
    if error is not None and isinstance(node, ast.ImportFrom) and fabrication.enabled:
        error = _import_singly(loaded, node, error)
    if error is not None and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        # A hint that cannot be evaluated is no reason to lose what it stands on.
        again = _attempt_in_parts(loaded, node, index, filename)
        error = again and error
    if error is not None:
        names = _names(node) if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) else [node.name]
        _skip(loaded, index, node, names, error)
        if fabrication.enabled and filename == FILENAME:
            for name in names:
                if name not in loaded.space:
                    loaded.space[name] = fabrication.named(name, MODULE, name)


def _imports(body: list[ast.stmt]) -> list[str]:
    """Names that imports among some statements bind."""
    found = [item for item in body if isinstance(item, (ast.Import, ast.ImportFrom))]
    return [(name.asname or name.name).partition(".")[0] for item in found for name in item.names]


def _has_alternative(loaded: Loaded, node: ast.Try, filename: str) -> bool:
    """Whether guarded imports come out well without anything made up: really, or by what the guard does."""
    if not fabrication.enabled:
        return False
    finder.enabled = False
    try:
        error = _attempt(loaded, node, filename)
    finally:
        finder.enabled = True
    return error is None and not any(loaded.space.get(name) in (None, False) for name in _imports(node.body))


def _import_singly(loaded: Loaded, node: ast.ImportFrom, error: BaseException) -> BaseException | None:
    """Bind what a module has of the names that are imported from it, and make up the rest."""
    if node.module not in fabrication.modules or node.names[0].name == "*":
        return error
    try:
        module = importlib.import_module(node.module)
    except Exception:
        return error
    for item in node.names:
        found = vars(module).get(item.name, vars(collections.abc).get(item.name))
        if found is None:
            found = fabrication.named(f"{node.module}.{item.name}", node.module, item.name)
            fabrication.made_modules.append(node.module)
        loaded.space[item.asname or item.name] = found
    return None


def _skip(loaded: Loaded, index: int, node: Any, names: list[str], error: BaseException) -> None:
    loaded.skipped.append(
        {
            "index": index,
            "line": node.lineno,
            "names": names,
            "error": class_name(type(error)),
            "message": message_of(error),
        }
    )


def _attempt_in_parts(loaded: Loaded, node: Any, index: int, filename: str) -> BaseException | None:
    """Execute a definition without the hints and, of a class, without the parts that fail by themselves."""
    error = _attempt(loaded, node, filename, _POSTPONED)
    if (
        error is not None
        and not isinstance(node, ast.ClassDef)
        and node.decorator_list
        and node is not loaded.node
    ):
        node.decorator_list = []
        error = _attempt(loaded, node, filename, _POSTPONED)
    while error is not None and isinstance(node, ast.ClassDef):
        found = _failing_part(loaded, node, error, filename)
        if found is None:
            break
        parts, part = found
        parts.remove(part)
        if not node.body:
            node.body.append(ast.copy_location(ast.Pass(), node))
        names = _names(part) if isinstance(part, ast.stmt) else [writable(ast.unparse(part))]
        _skip(loaded, index, part, [f"{node.name}.{name}" for name in names], error)
        error = _attempt(loaded, node, filename, _POSTPONED)
    return error


def _failing_part(
    loaded: Loaded, node: ast.ClassDef, error: BaseException, filename: str
) -> tuple[list[Any], Any] | None:
    """The statement, base or decorator of a class that an error comes from, with the list it stands in."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == filename and code.co_name == node.name:
            for part in node.body:
                inner = list(ast.walk(part))
                first = min(item.lineno for item in inner if hasattr(item, "lineno"))
                if first <= trace.tb_lineno <= (part.end_lineno or 0):
                    return None if loaded.node in inner else (node.body, part)
            return None
        trace = trace.tb_next
    for parts in (node.bases, node.decorator_list):
        for base in parts:
            if _attempt(loaded, ast.copy_location(ast.Expr(base), node), filename) is not None:
                return parts, base
    return None


def _execute_target(loaded: Loaded, statement: ast.stmt, index: int) -> None:
    target = loaded.node
    hook = ast.copy_location(ast.Name(id="__funcmem_capture__", ctx=ast.Load()), target)
    # Innermost, on the line of ``def``: sees the plain function and shifts no line.
    hook.end_lineno, hook.end_col_offset = target.lineno, target.col_offset
    target.decorator_list.append(hook)
    error = _attempt(loaded, statement, FILENAME)
    if error is not None:
        again = _attempt_in_parts(loaded, statement, index, FILENAME)
        if again is not None and len(target.decorator_list) > 1:
            kept = [item for item in target.decorator_list if _is_plain_decorator(item)]
            if len(kept) < len(target.decorator_list):
                target.decorator_list = kept
                again = _attempt_in_parts(loaded, statement, index, FILENAME)
                if again is None:
                    loaded.notes.append(
                        "a decorator of the function failed and was left out: " + _line(error)
                    )
        if again is not None:
            loaded.problem = _line(again)
            return
    if loaded.captured is None and not any(
        isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node is not target
        for node in ast.walk(statement)
        if target in ast.walk(node)
    ):
        # It stands in a branch that was not taken (``if __name__ == "__main__"``).
        error = _attempt(loaded, target, FILENAME, _POSTPONED)
        loaded.problem = None if error is None else _line(error)


def _is_plain_decorator(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id in ("staticmethod", "classmethod", "property", "__funcmem_capture__")
    return isinstance(node, ast.Attribute) and node.attr in ("setter", "getter", "deleter")


def _line(error: BaseException) -> str:
    return f"{class_name(type(error))}: {message_of(error)}"[:500]


def leads_to(value: Any, function: Any, depth: int = 0) -> bool:
    """Whether an object is the function or wraps it in one of the usual ways."""
    if value is function:
        return True
    if depth > 6 or value is None or isinstance(value, (type, types.ModuleType)):
        return False
    for name in ("__func__", "__wrapped__", "fget", "fset", "fdel", "func"):
        with contextlib.suppress(Exception):
            if leads_to(object.__getattribute__(value, name), function, depth + 1):
                return True
    for cell in getattr(value, "__closure__", None) or () if isinstance(value, types.FunctionType) else ():
        with contextlib.suppress(ValueError):
            if leads_to(cell.cell_contents, function, depth + 1):
                return True
    return False


def _resolve(loaded: Loaded) -> None:
    """Find what the function's name stands for: the decorated function if that lives, else the plain one."""
    if loaded.captured is None:
        loaded.problem = f"{loaded.qualname} is defined inside a function or in a branch that was not taken"
        return
    owner: Any = loaded.module
    value: Any = loaded.module
    for part in loaded.qualname.split("."):
        owner = value
        value = vars(owner).get(part) if isinstance(owner, (type, types.ModuleType)) else None
    loaded.owner = owner if isinstance(owner, type) else None
    if leads_to(value, loaded.captured):
        loaded.raw = value
        return
    loaded.raw = loaded.captured
    for node in loaded.node.decorator_list:
        if isinstance(node, ast.Name) and node.id in ("staticmethod", "classmethod"):
            loaded.raw = {"staticmethod": staticmethod, "classmethod": classmethod}[node.id](loaded.captured)
    loaded.notes.append("the plain function is called: its name stands for something that hides it")
