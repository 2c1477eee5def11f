"""Modules that are not there: made up as far as the scaffold names them, or small enough to be known."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import types
from typing import Any

from .fabrication import fabrication


class FabricatedModule(types.ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" and name[-2:] == "__":
            raise AttributeError(name)
        value = fabrication.named(f"{self.__name__}.{name}", self.__name__, name)
        vars(self)[name] = value
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules that nothing else finds, if the scaffold names them."""

    enabled = True

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Stand in for a named module."""
        if not self.enabled or name not in fabrication.modules:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        """Make it."""
        if spec.name in SOURCES:
            module = types.ModuleType(spec.name)
            exec(SOURCES[spec.name], vars(module))
            return module
        fabrication.made_modules.append(spec.name)
        return FabricatedModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to execute."""


SOURCES: dict[str, str] = {
    "six": """
import io
PY2, PY3, PY34 = False, True, True
text_type, binary_type, string_types, integer_types, class_types = str, bytes, (str,), (int,), (type,)
unichr, StringIO, BytesIO, MAXSIZE = chr, io.StringIO, io.BytesIO, 2**63 - 1
iteritems, iterkeys = (lambda d: iter(d.items())), (lambda d: iter(d))
itervalues = lambda d: iter(d.values())
viewitems, viewkeys, viewvalues = (lambda d: d.items()), (lambda d: d.keys()), (lambda d: d.values())
b, u, next, indexbytes = (lambda s: s.encode("latin-1")), (lambda s: s), next, (lambda b, i: b[i])
add_metaclass = lambda meta: (lambda cls: cls)
with_metaclass = lambda meta, *bases: bases[0] if bases else object
python_2_unicode_compatible = lambda cls: cls
ensure_str = ensure_text = lambda s, *a: s.decode() if isinstance(s, bytes) else s
ensure_binary = lambda s, *a: s.encode() if isinstance(s, str) else s
def raise_from(value, cause):
    raise value from cause
def reraise(kind, value, trace=None):
    raise value
""",
    "six.moves": """
import builtins, configparser, functools, html, http.client, io, itertools, pickle, queue, urllib
import urllib.error, urllib.parse, urllib.request
range, zip, map, filter, input, reduce = range, zip, map, filter, input, functools.reduce
xrange, cPickle, cStringIO, StringIO, http_client = range, pickle, io.StringIO, io.StringIO, http.client
zip_longest, filterfalse, unichr = itertools.zip_longest, itertools.filterfalse, chr
""",
    "six.moves.urllib": "from urllib import error, parse, request",
    "six.moves.urllib.parse": "from urllib.parse import *",
    "six.moves.urllib.request": "from urllib.request import *",
    "six.moves.urllib.error": "from urllib.error import *",
    "typing_extensions": "from typing import *\nfrom typing import Literal, Protocol, TypedDict",
}
"""Tiny libraries whose behaviour is known, so that nothing need be made up."""

finder = Finder()
