"""Functions that a file lacks and that by name and type are those of the library for memory: these serve.

Wrappers such as ``xmalloc`` abound, and what one makes up in their place gives memory of the wrong size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["library_call"]

_NAME = re.compile(
    r"(?i)(?:[a-z]{1,4}|(?:[a-z]+_)+)?(?P<what>malloc|calloc|realloc|strdup|strndup|free)(?P<zero>_?z|_?zero|0)?_?"
)
_CALLS = {
    ("malloc", "pointer", ("number",)): "malloc(a0)",
    ("calloc", "pointer", ("number", "number")): "calloc(a0, a1)",
    ("calloc", "pointer", ("number",)): "calloc(1, a0)",
    ("realloc", "pointer", ("pointer", "number")): "realloc((void *)a0, a1)",
    ("strdup", "pointer", ("pointer",)): "strdup((const char *)a0)",
    ("strndup", "pointer", ("pointer", "number")): "strndup((const char *)a0, a1)",
    ("free", "void", ("pointer",)): "free((void *)a0)",
}
_NUMBERS = frozenset({"base", "enum"})
_DECLARATIONS = (
    "extern void *malloc(__SIZE_TYPE__), *calloc(__SIZE_TYPE__, __SIZE_TYPE__); extern void free(void *);"
    " extern void *realloc(void *, __SIZE_TYPE__); extern char *strdup(const char *);"
    " extern char *strndup(const char *, __SIZE_TYPE__);"
)


def library_call(name: str, result: str, parameters: Sequence[str]) -> str | None:
    """Statements that do what a function of a name and type does, its parameters being ``a0``, ``a1``, ...

    Args:
        name: Of the function.
        result: Kind of its result, as descriptions have it.
        parameters: Kinds of its parameters.

    Returns:
        None for a function of another kind.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    kinds = tuple("number" if kind in _NUMBERS else kind for kind in parameters)
    what = match["what"].lower()
    if what == "malloc" and match["zero"]:
        what = "calloc"
    call = _CALLS.get((what, result, kinds))
    if call is None:
        return None
    return f"{_DECLARATIONS} {'' if result == 'void' else 'return '}{call};"
