"""What the expressions of input states may say beside the names of the file, and what they bring about."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from .fabrication import Raising, fabrication, short_path
from .made_classes import stand_in
from .made_objects import Fabricated
from .world import world


def fabricated(path: str) -> Any:
    """A fabricated object by its path, for the expressions of input states."""
    return fabrication.value(path, path)


def fabricated_name(name: str) -> Any:
    """What stands for a global name that nothing defines, for the scaffold's prelude."""
    return fabrication.named(name, "fabricated", name)


def outside(path: str) -> tuple[Any, ...]:
    """What a state says to a call of the real outside; empty if nothing."""
    if not fabrication.enabled:
        return ()
    fabrication.note_path(path, "outside")
    text = fabrication.answers.get(f"{path}()")
    if text is None:
        return ()
    found = fabrication.evaluate(text)
    if isinstance(found, Raising):
        raise found.error
    return (found,)


world.outside = outside


def raising(error: BaseException) -> Raising:
    """An answer that raises."""
    return Raising(error)


def either(*values: Any) -> Any:
    """An answer that is one value here and another there: which one, the full path decides."""
    return values[fabrication.chance(fabrication.current, "either", len(values))]


HELPERS: dict[str, Any] = {
    "either": either,
    "fabricated": fabricated,
    "fabricated_name": fabricated_name,
    "raising": raising,
    "stand_in": stand_in,
}
"""What the expressions of input states may use beside the names of the file."""

fabrication.expressions = HELPERS


def rebind() -> None:
    """Give the globals that were made up while loading the values that the state says."""
    modules = [vars(sys.modules[name]) for name in fabrication.made_modules if name in sys.modules]
    for names in (fabrication.space, *modules) if fabrication.answers else ():
        for name, value in list(names.items()):
            if isinstance(value, Fabricated) and short_path(value) in fabrication.answers:
                with contextlib.suppress(Exception):
                    names[name] = fabrication.evaluate(fabrication.answers[short_path(value)])
