"""What a file takes for granted: names of the standard library, and all that has to be made up for it.

A name is brought in only where the original, or something of its file that it uses, reads it and nothing in
the file defines it; a module, only where the file imports it. Names that nothing uses stay undefined, so that
a candidate which invents an import of its own fails as it would in the file.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pytest_funcmem.core.records import Scaffold
from pytest_funcmem.harness.local.analysis import Analysis, dotted_name

__all__ = ["WELL_KNOWN_NAMES", "narrowed", "scaffold_for"]


def _words(*texts: str) -> tuple[str, ...]:
    return tuple(word for text in texts for word in text.split())


_FROM = {
    "typing": "Any AnyStr Awaitable Callable ClassVar Collection Coroutine DefaultDict Deque Dict Final "
    "FrozenSet Generator Generic Hashable Iterable Iterator List Literal Mapping MutableMapping NamedTuple "
    "NoReturn Optional Sequence Set Text Tuple Type TypedDict TypeVar Union cast overload",
    "collections": "Counter OrderedDict defaultdict deque namedtuple",
    "dataclasses": "asdict dataclass field",
    "enum": "Enum IntEnum",
    "functools": "lru_cache partial reduce wraps",
    "itertools": "chain combinations groupby permutations product zip_longest",
    "abc": "ABC abstractmethod",
    "pathlib": "Path",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "contextlib": "contextmanager suppress",
    "copy": "deepcopy",
    "datetime": "timedelta",
    "math": "ceil sqrt",
    "urllib.parse": "parse_qs quote unquote urlencode urljoin urlparse",
    "heapq": "heappop heappush",
}
_MODULES = _words(
    "abc argparse base64 binascii bisect calendar collections contextlib copy csv",
    "datetime decimal enum functools",
    "hashlib heapq hmac html io itertools json logging math operator os pathlib",
    "random re secrets shlex shutil",
    "statistics string struct sys tempfile textwrap time traceback types typing",
    "unicodedata urllib uuid warnings",
    "zlib",
)

WELL_KNOWN_NAMES: dict[str, str] = {
    **{module: f"import {module}" for module in _MODULES},
    "urllib": "import urllib.parse",
    **{name: f"from {module} import {name}" for module, names in _FROM.items() for name in names.split()},
}
"""Name -> the statement that brings it in."""

_OLD_NAMES: dict[str, str] = {
    "unicode": "unicode = str",
    "basestring": "basestring = str",
    "xrange": "xrange = range",
    "raw_input": "raw_input = input",
    "unichr": "unichr = chr",
    "long": "long = int",
    "unicode_literals": "unicode_literals = None",
    "reload": "from importlib import reload",
    "execfile": "execfile = None",
}
"""Built-in names of Python 2 -> the statement that gives their like."""

_MAX_DEFINITIONS = 200
_MAX_MADE_UP = 60
_EXCEPTION_MARK = " (exception)"
_NAME_MARK = " (name)"
_IMPLICIT = frozenset(dir(builtins)) | {
    "__file__",
    "__name__",
    "__doc__",
    "__class__",
    "__annotations__",
    "__package__",
    "__spec__",
    "__path__",
}


def scaffold_for(analysis: Analysis) -> Scaffold:
    """The first scaffold of a function.

    Well-known names that it lacks are imported. Every other name that it, or what it uses of its file, takes
    for granted is made up, and so is whatever the file imports and the sandbox lacks.
    """
    statements: dict[str, str] = {}
    mocks: dict[str, None] = {}
    for name in _lacking(analysis):
        if name in WELL_KNOWN_NAMES or name in _OLD_NAMES:
            statements[name] = WELL_KNOWN_NAMES.get(name) or _OLD_NAMES[name]
        elif len(mocks) < _MAX_MADE_UP:
            statements[name] = f"{name} = fabricated_name({name!r})"
            mocks[name + _NAME_MARK] = None
    caught = _caught(analysis)
    for name in caught:
        if name.isidentifier() and name not in _IMPLICIT:
            mocks[name + _EXCEPTION_MARK] = None
    modules, bound = _imported(analysis)
    for module in modules:
        mocks[module] = None
    for name in caught:
        head, _, rest = name.partition(".")
        if head in bound:
            mocks[".".join(part for part in (bound[head], rest) if part) + _EXCEPTION_MARK] = None
    return Scaffold(
        prelude="".join(f"{statements[name]}\n" for name in sorted(statements)), mocks=tuple(sorted(mocks))
    )


def narrowed(
    analysis: Analysis, scaffold: Scaffold, fabricated: Sequence[str], lost: Iterable[str]
) -> Scaffold:
    """The same scaffold with only those mocks that something rests on.

    Args:
        analysis: The original and its file.
        scaffold: What was allowed to be made up.
        fabricated: Modules that were.
        lost: Names of the file whose definitions failed.
    """
    inner = {
        module for module in _inner_modules(analysis) if module.split(".")[0] not in sys.stdlib_module_names
    }
    kept = {*fabricated, *inner}
    mocks = {name for name in scaffold.mocks if name.endswith(_NAME_MARK) or name in kept}
    mocks |= {
        name
        for name in scaffold.mocks
        if name.endswith(_EXCEPTION_MARK)
        and (_rests_on(name, kept) or name[: -len(_EXCEPTION_MARK)] + _NAME_MARK in mocks)
    }
    mocks |= {name + _NAME_MARK for name in lost if name.isidentifier()}
    mocks |= {name + _EXCEPTION_MARK for name in lost if name + _EXCEPTION_MARK in scaffold.mocks}
    return replace(scaffold, mocks=tuple(sorted(mocks)))


def _rests_on(name: str, modules: set[str]) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:count]) in modules for count in range(1, len(parts)))


def absolute_module(module: str | None, level: int) -> str:
    """What a relative import is called in the sandbox: the package around the file is ``package``."""
    return ".".join(["package", *["above"] * (level - 1), *([module] if module else [])])


def _imported(analysis: Analysis) -> tuple[list[str], dict[str, str]]:
    """Modules that the file imports anywhere, and the dotted names that imported names stand for."""
    modules: dict[str, None] = {}
    bound: dict[str, str] = {}
    for item in _all_nodes(analysis):
        if isinstance(item, ast.Import):
            for alias in item.names:
                modules[alias.name] = None
                bound[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(item, ast.ImportFrom) and item.module != "__future__":
            module = absolute_module(item.module, item.level) if item.level else item.module or ""
            modules[module] = None
            for alias in item.names:
                bound[alias.asname or alias.name] = f"{module}.{alias.name}"
    return list(modules), bound


def _inner_modules(analysis: Analysis) -> list[str]:
    """Modules that are imported inside functions."""
    found: dict[str, None] = {}
    for item in _all_nodes(analysis):
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            for inner in ast.walk(item):
                if isinstance(inner, ast.Import):
                    found.update(dict.fromkeys(alias.name for alias in inner.names))
                elif isinstance(inner, ast.ImportFrom):
                    module = absolute_module(inner.module, inner.level) if inner.level else inner.module or ""
                    found[module] = None
    return list(found)


def _all_nodes(analysis: Analysis) -> Iterator[ast.AST]:
    for statement in (*analysis.module, analysis.node):
        yield from ast.walk(statement)


def _caught(analysis: Analysis) -> list[str]:
    """Dotted names that the file catches or raises."""
    found: dict[str, None] = {}
    for item in _all_nodes(analysis):
        if isinstance(item, ast.ExceptHandler) and item.type is not None:
            for kind in item.type.elts if isinstance(item.type, ast.Tuple) else [item.type]:
                found[dotted_name(kind)] = None
        elif isinstance(item, ast.Raise) and item.exc is not None:
            name = dotted_name(item.exc)
            if isinstance(item.exc, ast.Call) or name[:1].isupper():
                found[name] = None
    found.pop("", None)
    return list(found)


def _lacking(analysis: Analysis) -> list[str]:
    """Names without a definition that the original reads, or what it uses of its file does."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    queue: list[ast.AST] = [analysis.node, *analysis.owners]
    while queue and len(seen) < _MAX_DEFINITIONS:
        node = queue.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        bound = _bound(node)
        for item in ast.walk(node):
            if not isinstance(item, ast.Name) or not isinstance(item.ctx, ast.Load):
                continue
            definition = analysis.definitions.get(item.id)
            if definition is not None:
                queue.append(definition)
            elif item.id not in analysis.imports and item.id not in bound and item.id not in _IMPLICIT:
                found.setdefault(item.id)
    return list(found)


def _bound(node: ast.AST) -> set[str]:
    """Names that something inside a definition binds."""
    bound: set[str] = set()
    for item in ast.walk(node):
        match item:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                bound.add(name)
            case ast.alias(name=name, asname=asname):
                bound.add(asname or name.split(".")[0])
            case _:
                pass
    return bound
