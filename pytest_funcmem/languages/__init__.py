"""Source files -> functions, and raw completions -> candidates, by syntax alone.

One front end per language, each named in ``core.registry``; this module tells which language a file has and
how long a function is, and loads no parser. The room knows nothing of files on disk, models or sandboxes, and
never imports, compiles or runs the code it reads.
"""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, cast

from pytest_funcmem.core.protocols import LanguageFrontend
from pytest_funcmem.core.records import Language, SourceFunction
from pytest_funcmem.core.registry import load

if TYPE_CHECKING:
    from pytest_funcmem.languages.findings import LeftOut, ScanningFrontend

__all__ = ["SUFFIXES", "body_lines", "frontend", "language_of", "left_out"]

SUFFIXES: dict[str, Language] = {
    ".py": "python",
    ".java": "java",
    ".c": "c",
    ".rs": "rust",
    ".go": "go",
}
"""Language by the suffix of a file. Headers are left out: ``.h`` may as well be C++."""


def language_of(path: str) -> Language | None:
    """Language of a file by its suffix; None where there is no front end for it."""
    suffix = PurePosixPath(path).suffix
    return None if suffix == ".C" else SUFFIXES.get(suffix.lower())  # .C is C++


@cache
def frontend(language: Language) -> LanguageFrontend:
    """The front end of a language; its parser is loaded by the first call.

    Raises:
        UsageError: There is no front end of that name.
    """
    return cast("LanguageFrontend", load("language", language)())


def left_out(language: Language, text: str) -> tuple[LeftOut, ...]:
    """The definitions that a scan of a file drops, with the reasons: tells why a function was not found."""
    return cast("ScanningFrontend", frontend(language)).left_out(text)


def body_lines(function: SourceFunction) -> int:
    """Count the lines of a function's body, as the limits on length count them.

    Counted are the lines from the first that holds text after the signature to the last that holds text,
    docstring, comments and blank lines between them included. The signature's own lines are not counted,
    unless the body stands on the last of them (``def f(): return 1`` has one). In languages with braces,
    neither is the body's closing brace, nor an opening brace that has a line to itself.

    Returns:
        Number of lines; 0 for a body without any text.
    """
    body = function.body
    if function.language != "python":
        body = body.rstrip().removesuffix("}")
        if not function.signature.endswith("{"):
            body = body.lstrip().removeprefix("{")
    body = body.strip()
    return body.count("\n") + 1 if body else 0
