"""What Python candidates lacked, by how they failed, and how a scaffold is widened by it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from pytest_funcmem.core.records import InputState, OutputState, Scaffold, SourceFunction
from pytest_funcmem.harness.local.analysis import UnreadableFunctionError, analyse, dotted_name
from pytest_funcmem.harness.local.scaffolds import WELL_KNOWN_NAMES

__all__ = ["READ_STYLE", "python_lack", "widened_python"]


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


READ_STYLE = "lines read as a file"
"""A list of lines, given for a file, that can be read in the other ways too."""

_MORE_MODULES = _words(
    "ast asyncio bz2 cmath codecs configparser difflib email errno fnmatch getpass glob gzip inspect keyword",
    "locale lzma mimetypes numbers pickle platform pprint queue select signal socket sqlite3 ssl stat",
    "subprocess tarfile threading timeit token tokenize weakref xml zipfile zoneinfo",
)
_SUBMODULES = _words(
    "collections.abc concurrent.futures ctypes.util email.header email.message email.mime email.parser",
    "email.policy email.utils html.entities html.parser http.client http.cookies http.server",
    "importlib.abc importlib.machinery importlib.metadata importlib.resources importlib.util",
    "json.decoder json.encoder logging.config logging.handlers multiprocessing.pool os.path",
    "unittest.mock urllib.error urllib.parse urllib.request urllib.robotparser wsgiref.util xml.dom",
    "xml.etree xml.sax",
)
_INNER = {"xml.etree": "xml.etree.ElementTree", "xml.dom": "xml.dom.minidom", "email.mime": "email.mime.text"}
_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
_NO_SUBMODULE = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_NOT_READ = re.compile(
    r"'list' object has no attribute '(?:read|readline|readlines|seek|tell|close|__enter__|__exit__)'"
    r"|'list' object does not support the (?:\w+ )?context manager protocol"
)
_FILES = _words(
    "f fd fh fin fp file file_handle file_obj filehandle fileobj handle in_file infile inp input_file",
    "reader source_file stdin stream text_file",
)
_FILE_HINTS = frozenset({"IO", "TextIO", "TextIOBase", "TextIOWrapper", "StringIO"})
_READER = "_read_as_a_file"
_READER_CODE = f"""\
class {_READER}(list):
    _at = 0
    closed = False

    def read(self, size=-1):
        text = "".join(line if line.endswith("\\n") else line + "\\n" for line in self[self._at:])
        self._at = len(self)
        return text

    def readline(self, size=-1):
        self._at += 1
        return self[self._at - 1] if self._at <= len(self) else ""

    def readlines(self, hint=-1):
        lines = list(self[self._at:])
        self._at = len(self)
        return lines

    def seek(self, place, whence=0):
        self._at = len(self) if whence == 2 else 0
        return place

    def tell(self):
        return self._at

    def readable(self):
        return True

    def close(self):
        self.closed = True

    def __enter__(self):
        return self

    def __exit__(self, *details):
        self.closed = True
"""


def python_lack(output: OutputState) -> str | None:
    """What a run failed for want of, as the statement that brings it in, or ``READ_STYLE``.

    None where the run did not fail so, or lacks what no short list of the standard library names. What the
    code itself raises is never a lack, whatever its message says.
    """
    exception = output.exception
    if output.outcome != "raised" or exception is None or exception["authored"]:
        return None
    kind, message = str(exception["type"]).rpartition(".")[2], str(exception["message"])
    if kind == "NameError":
        found = _UNDEFINED.fullmatch(message)
        name = found[1] if found is not None else ""
        return WELL_KNOWN_NAMES.get(name) or (f"import {name}" if name in _MORE_MODULES else None)
    if kind == "AttributeError":
        found = _NO_SUBMODULE.fullmatch(message)
        if found is not None:
            module = f"{found[1]}.{found[2]}"
            return f"import {_INNER.get(module, module)}" if module in _SUBMODULES else None
    if kind in ("AttributeError", "TypeError") and _NOT_READ.match(message):
        return READ_STYLE
    return None


def widened_python(
    function: SourceFunction, scaffold: Scaffold, states: Sequence[InputState], lacks: Sequence[str]
) -> tuple[Scaffold, tuple[InputState, ...]]:
    """The scaffold and the input states with what was lacking, in the order of the alphabet."""
    statements = [f"{lack}\n" for lack in sorted(lacks) if lack != READ_STYLE]
    if READ_STYLE in lacks:
        statements.append(_READER_CODE)
        states = [_read_as_files(state, _places(function)) for state in states]
    prelude = scaffold.prelude + "".join(statements)
    return replace(scaffold, prelude=prelude), tuple(states)


def _places(function: SourceFunction) -> tuple[frozenset[int], frozenset[str]]:
    """Where files are passed, by place and by name, as far as names and hints of parameters tell."""
    try:
        parameters = analyse(function).parameters
    except UnreadableFunctionError:
        return frozenset(), frozenset()
    names = {
        item.name
        for item in parameters
        if item.kind in ("positional", "keyword")
        and (
            item.name.lower() in _FILES
            or (item.hint is not None and dotted_name(item.hint).rpartition(".")[2] in _FILE_HINTS)
        )
    }
    places = {place for place, item in enumerate(parameters) if item.name in names}
    return frozenset(places), frozenset(names)


def _read_as_files(state: InputState, files: tuple[frozenset[int], frozenset[str]]) -> InputState:
    places, names = files
    return replace(
        state,
        arguments=tuple(
            _wrapped(text) if place in places else text for place, text in enumerate(state.arguments)
        ),
        keywords=tuple((name, _wrapped(text) if name in names else text) for name, text in state.keywords),
    )


def _wrapped(text: str) -> str:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text
    lines = isinstance(value, list) and all(isinstance(line, str) for line in value)
    return f"{_READER}({text})" if lines else text
