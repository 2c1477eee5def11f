"""Names of the standard library that a file takes for granted: cut files often lack their imports.

The table is closed. A name is brought in only where the original, or something of its file that it uses,
reads it and nothing in the file defines it; names that nothing uses stay undefined, so that a candidate which
invents an import of its own fails as it would in the file.
"""

from __future__ import annotations

import ast

from pytest_funcmem.core.records import Scaffold
from pytest_funcmem.harness.local.analysis import Analysis

__all__ = ["WELL_KNOWN_NAMES", "scaffold_for"]


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

_MAX_DEFINITIONS = 200


def scaffold_for(analysis: Analysis) -> Scaffold:
    """The first scaffold of a function: imports of the well-known names that it lacks, one a line."""
    missing: dict[str, None] = {}
    for name in _lacking(analysis):
        if name in WELL_KNOWN_NAMES:
            missing.setdefault(name)
    return Scaffold(prelude="".join(f"{WELL_KNOWN_NAMES[name]}\n" for name in sorted(missing)))


def _lacking(analysis: Analysis) -> list[str]:
    """Names without a definition that the original reads, or what it uses of its file does."""
    if analysis.missing == () and not analysis.definitions:
        return []
    found: dict[str, None] = dict.fromkeys(analysis.missing)
    seen: set[int] = set()
    queue: list[ast.AST] = [analysis.node, *analysis.owners]
    while queue and len(seen) < _MAX_DEFINITIONS:
        node = queue.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        bound = {
            item.id
            for item in ast.walk(node)
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        }
        bound |= {item.arg for item in ast.walk(node) if isinstance(item, ast.arg)}
        for item in ast.walk(node):
            if not isinstance(item, ast.Name) or not isinstance(item.ctx, ast.Load):
                continue
            definition = analysis.definitions.get(item.id)
            if definition is not None:
                queue.append(definition)
            elif item.id in WELL_KNOWN_NAMES and item.id not in analysis.imports and item.id not in bound:
                found.setdefault(item.id)
    return list(found)
