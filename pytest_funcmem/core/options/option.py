"""What an option is, and how what the user gave for one becomes its value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from pytest_funcmem.core.errors import UsageError

__all__ = ["Option", "parse_value"]

OptionKind = Literal["text", "path", "choice", "float", "int", "flag"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One setting.

    Attributes:
        name: Words joined by hyphens, without the prefix.
        kind: What its text is parsed into.
        default: Value where it is given nowhere; repeatable options default to ().
        help: One sentence for the command line and the reference page.
        metavar: What stands for the value in the help.
        choices: Accepted texts of a ``choice``.
        low: Smallest accepted number.
        high: Largest accepted number.
        repeatable: Whether it may be given several times (a list in an audit file, lines in an ini file).
    """

    name: str
    kind: OptionKind
    default: Any
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    repeatable: bool = False

    @property
    def flag(self) -> str:
        """Name on the command line."""
        return f"--funcmem-{self.name}"

    @property
    def field(self) -> str:
        """Name in ``Settings`` and in audit files."""
        return self.name.replace("-", "_")

    @property
    def ini(self) -> str:
        """Name in ini files."""
        return f"funcmem_{self.field}"


def parse_value(option: Option, raw: object, *, where: str) -> Any:
    """Turn what the user gave for an option into its value.

    Args:
        option: The option.
        raw: Text from a command line or ini file, or a TOML value.
        where: Place for error messages.

    Raises:
        UsageError: It is not a value of this option.
    """
    if option.repeatable:
        items = raw if isinstance(raw, (list, tuple)) else [raw]
        return tuple(_parse_one(option, item, where=where) for item in items)
    return _parse_one(option, raw, where=where)


def _parse_one(option: Option, raw: object, *, where: str) -> Any:
    match option.kind:
        case "text" | "path":
            if isinstance(raw, str) and raw:
                return raw
            raise _refusal(option, raw, where, "a non-empty text")
        case "choice":
            if isinstance(raw, str) and raw in option.choices:
                return raw
            raise _refusal(option, raw, where, "one of " + ", ".join(option.choices))
        case "float" | "int":
            return _parse_number(option, raw, where=where)
        case "flag":
            if isinstance(raw, bool):
                return raw
            if isinstance(raw, str) and raw.lower() in ("true", "yes", "on", "1", "false", "no", "off", "0"):
                return raw.lower() in ("true", "yes", "on", "1")
            raise _refusal(option, raw, where, "true or false")


def _parse_number(option: Option, raw: object, *, where: str) -> int | float:
    whole = option.kind == "int"
    expected = f"{'a whole number' if whole else 'a number'} from {option.low:g} to {option.high:g}"
    if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
        raise _refusal(option, raw, where, expected)
    try:
        value: int | float = int(raw) if whole and not isinstance(raw, float) else float(raw)
    except ValueError:
        raise _refusal(option, raw, where, expected) from None
    if whole and isinstance(value, float):
        if not value.is_integer():
            raise _refusal(option, raw, where, expected)
        value = int(value)
    if not option.low <= value <= option.high:  # also refuses NaN
        raise _refusal(option, raw, where, expected)
    return value


def _refusal(option: Option, raw: object, where: str, expected: str) -> UsageError:
    return UsageError(
        f"{raw!r} is not a value of {option.flag}.",
        where=where,
        expected=expected,
        remedy=f"Set {option.flag}={option.metavar or 'VALUE'}, or leave it out for {option.default!r}.",
    )
