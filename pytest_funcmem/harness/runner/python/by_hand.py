"""A file's names, and what is made up beside them, for a person who runs an input state by hand.

Unlike in the sandbox nothing is tamed: the file is executed for real, in this very process. What is made up
answers as it does in the sandbox. Only for code that one would run anyway.
"""

# ruff: noqa: PTH123
# It runs on Python 3.9 too.
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from .absent import finder
from .expressions import HELPERS, rebind
from .fabrication import fabrication
from .loading import load
from .world import world

__all__ = ["beside"]


def beside(
    path: str,
    qualname: str,
    line: int,
    *,
    prelude: str = "",
    mocks: Sequence[str] = (),
    seed: int = 0,
    answers: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Load a file as the sandbox does.

    Args:
        path: The file.
        qualname: The function, ``Type.method`` or ``function``.
        line: Line of its signature.
        prelude: Source executed before the file.
        mocks: What may be made up.
        seed: Of the state.
        answers: What made-up things answer, by path or question.

    Returns:
        The names of the file, and those that the expressions of input states use beside them.

    Raises:
        ImportError: The function cannot be loaded.
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    sys.meta_path.append(finder)
    task = {"text": text, "qualname": qualname, "line": line, "prelude": prelude, "mocks": list(mocks)}
    loaded = load({**task, "load_timeout_s": 60.0})
    if loaded.problem is not None:
        raise ImportError(f"{path}: {loaded.problem}")
    world.reset(seed)
    fabrication.begin(seed, dict(answers), loaded.space)
    rebind()
    loaded.space.update({name: value for name, value in HELPERS.items() if name not in loaded.space})
    return loaded.space
