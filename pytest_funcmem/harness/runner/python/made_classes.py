"""Real classes and exception types that stand in for what is not there.

They can be subclassed, raised, caught, instantiated and asked with ``isinstance``. They know nothing of the
audited file.
"""

from __future__ import annotations

import abc
import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from .encoding import mro_of
from .fabrication import fabrication, full_path, short_path
from .made_objects import Fabricated, called, is_definition, make
from .questions import is_instance

_DOTTED = re.compile(r"\w+(\.\w+)+")
_EXCEPTION_NAME = re.compile(r"(Error|Exception|Warning|Interrupt|NotFound|DoesNotExist|Timeout|Failure)$")


def unanswered(full: str, short: str) -> Any:
    """What stands at a path that the state says nothing of."""
    module, _, name = short.rpartition(".")
    if short in fabrication.exceptions:
        return class_for(short, module, name, Exception)
    if full == short and short.partition(".")[0] in fabrication.modules and _DOTTED.fullmatch(short):
        return named(short, module, name)
    return make(full, short)


def named(path: str, module: str, name: str) -> Any:
    """What stands for a missing name of a module: an exception type, a class, or an object."""
    if path in fabrication.exceptions or (_EXCEPTION_NAME.search(name) and name[:1].isupper()):
        return class_for(path, module, name, Exception)
    if name[:1].isupper() and not name.isupper():
        return class_for(path, module, name, None)
    return make(path, path)


def class_for(path: str, module: str, name: str, base: type[Any] | None) -> type[Any]:
    """A real class that can be caught, raised, subclassed and instantiated."""
    if path not in fabrication.classes:
        members: dict[str, Any] = {"__module__": module, "__qualname__": name}
        if base is not None:
            fabrication.classes[path] = FabricatedExceptionClass(name, (FabricatedException, base), members)
        else:
            members["_fabricated_path"] = path
            members.update(
                {item: _inherited(path, item) for item in sorted(fabrication.inherited) if item[:2] != "__"}
            )
            fabrication.classes[path] = FabricatedClass(name, (FabricatedBase,), members)
    return fabrication.classes[path]


def _inherited(path: str, name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return called(f"{path}.{name}", f"{path}.{name}", args, kwargs)

    method.__name__ = name
    return method


class FabricatedBase:
    """What fabricated classes inherit from: its instances make up the attributes that they lack."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            with contextlib.suppress(AttributeError):
                setattr(self, name, value)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    def __getattr__(self, name: str) -> Any:
        return lacked(self, name)


def lacked(receiver: Any, name: str, whose: str = "self") -> Any:
    """An attribute that an instance lacks."""
    if name[:2] == "__" and name[-2:] == "__":
        raise AttributeError(f"{type(receiver).__name__!r} object has no attribute {name!r}")
    key = (id(receiver), name)
    if key not in fabrication.held:
        fabrication.note_path(whose, "attribute", name)
        fabrication.held[key] = fabrication.value(f"{whose}.{name}", f"{whose}.{name}")
    return fabrication.held[key]


class FabricatedExceptionClass(type):
    """The class of fabricated exceptions: a made-up object may be one of them."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, Fabricated):
            return is_instance(instance, cls.__qualname__)
        return cls in mro_of(type(instance))


class FabricatedException(Exception, metaclass=FabricatedExceptionClass):  # noqa: N818  (the base of what bears all kinds of names)
    """What fabricated exceptions inherit from."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args)
        self.__dict__.update(kwargs)

    def __getattr__(self, name: str) -> Any:
        return lacked(self, name, "error")


class FabricatedClass(abc.ABCMeta):
    """The class of fabricated classes, and of what the file derives from them."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an instance: of a derived class really, of a made-up one by a logged call."""
        path = cls.__dict__.get("_fabricated_path")
        if path is None:
            return super().__call__(*args, **kwargs)
        if fabrication.loading and len(args) == 1 and not kwargs and is_definition(args[0]):
            return args[0]
        return called(path, path, args, kwargs, cls)

    def __getattr__(cls, name: str) -> Any:
        path = next(
            (
                base.__dict__["_fabricated_path"]
                for base in mro_of(cls)
                if "_fabricated_path" in base.__dict__
            ),
            None,
        )
        if path is None or (name[:2] == "__" and name[-2:] == "__") or name[:5] == "_abc_":
            raise AttributeError(name)
        return fabrication.value(f"{path}.{name}", f"{path}.{name}")

    def __dir__(cls) -> list[str]:
        names = [name for name in super().__dir__() if name[:12] != "_fabricated_" and name[:5] != "_abc_"]
        return names + (["attribute_1", "attribute_2"] if "_fabricated_path" in cls.__dict__ else [])

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(cls.__dict__.get("_fabricated_path"), str):
            return super().__instancecheck__(instance)
        if isinstance(instance, Fabricated):
            known = object.__getattribute__(instance, "_fabricated_class")
            return known is cls if known is not None else is_instance(instance, cls.__qualname__)
        return cls in mro_of(type(instance))

    def __subclasscheck__(cls, kind: Any) -> bool:
        if not isinstance(kind, Fabricated):
            return super().__subclasscheck__(kind)
        fabrication.note(kind, "instance", cls.__qualname__)
        decided = fabrication.decided(f"isinstance({short_path(kind)}, {cls.__qualname__})")
        return fabrication.chance(full_path(kind), "subclass", 2) == 0 if decided is None else bool(decided)

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls.__getattr__("members"))

    def __or__(cls, other: Any) -> Any:
        return cls

    def __ror__(cls, other: Any) -> Any:
        return cls


def stand_in(kind: Any, **attributes: Any) -> Any:
    """An instance of a class made without its constructor; attributes that it lacks are made up."""
    members: dict[str, Any] = {
        "__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__
    }  # fmt: skip
    if "__getattr__" not in {name for base in mro_of(kind) for name in vars(base)}:
        members["__getattr__"] = lacked
    members.update(
        {name: value for name, value in attributes.items() if hasattr(type(_declared(kind, name)), "__set__")}
    )
    derived: Any = type(kind)(kind.__name__, (kind,), members)
    with contextlib.suppress(AttributeError, TypeError):
        derived.__abstractmethods__ = frozenset()
    made = derived.__new__(derived)
    for name, value in attributes.items():
        if name not in members:
            object.__setattr__(made, name, value)
    return made


def _declared(kind: Any, name: str) -> Any:
    return next((vars(base)[name] for base in mro_of(kind) if name in vars(base)), None)


fabrication.unanswered = unanswered
fabrication.named = named
fabrication.class_for = class_for
