"""From the OPTIONS table to pytest's command line and ini file, and back to Settings.

The only place that reads pytest's configuration.
"""

from __future__ import annotations

import argparse
import difflib
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.core.options import OPTIONS, Option, Settings, parse_value, settings_from

__all__ = [
    "AUDIT_SUFFIX",
    "add_options",
    "audit_file_settings",
    "command_line_settings",
    "is_controller",
    "quiet",
    "refuse_distribution",
    "refuse_lone_options",
    "rerun_command_start",
    "rerun_flags",
    "sources_named_in",
]

AUDIT_SUFFIX = ".funcmem.toml"
COMMAND_INI = "funcmem_command"

# What the rerun of one function must not do: replace a report of all, change the baseline, or sample.
_NOT_RERUN = (
    "report",
    "update-baseline",
    "accept-who",
    "accept-until",
    "accept-reason",
    "stop-early",
    "time-budget",
)


def add_options(parser: pytest.Parser) -> None:
    """Register every option of the table, with its ini twin."""
    group = parser.getgroup("funcmem", "audit code language models for functional memorization")
    group.addoption(
        "--funcmem",
        action="store_true",
        default=False,
        help="Collect every *.funcmem.toml audit file found, not only those named.",
    )
    parser.addini(COMMAND_INI, "Command that started pytest, for reruns; set by 'funcmem audit'.", default="")
    for option in OPTIONS:
        text = f"{option.help}{_default_note(option)}"
        if option.kind == "flag":
            group.addoption(option.flag, action=argparse.BooleanOptionalAction, default=None, help=text)
        else:
            group.addoption(
                option.flag,
                action="append" if option.repeatable else "store",
                default=None,
                metavar=option.metavar,
                help=text.replace("%", "%%"),
            )
        if option.repeatable:
            parser.addini(option.ini, text, type="linelist", default=[])
        else:
            parser.addini(option.ini, text, type="string", default="")


def _default_note(option: Option) -> str:
    if option.default is None or option.default == ():
        return ""
    return f" Default: {option.default}."


def command_line_settings(config: pytest.Config) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the ini file and the command line set, parsed, by field name.

    Raises:
        UsageError: A value is not one of its option.
    """
    ini: dict[str, Any] = {}
    line: dict[str, Any] = {}
    for option in OPTIONS:
        raw = config.getini(option.ini)
        if raw:
            where = f"{config.inipath or 'ini file'}, {option.ini}"
            ini[option.field] = _relative(option, parse_value(option, raw, where=where), config.rootpath)
        given = config.getoption(option.flag)
        if given is not None:
            line[option.field] = parse_value(option, given, where=f"command line, {option.flag}")
    return ini, line


def refuse_lone_options(config: pytest.Config, *, has_audit: bool) -> None:
    """Refuse a command line that means an audit and names no model: it would pass and audit nothing.

    Raises:
        UsageError: With what is missing.
    """
    empty = "" in (config.getoption("--funcmem-model") or ())
    given = [flag for flag in ("--funcmem-source", "--funcmem-reference") if config.getoption(flag)]
    if empty or (given and not has_audit):
        raise UsageError(
            "No target model was given.",
            where="command line, " + ("--funcmem-model" if empty else given[0]),
            expected="hf:PATH, openai:URL#MODEL or replay:FILE",
            remedy="Add --funcmem-model=SPEC; a variable in it may be unset.",
        )


def is_controller(config: pytest.Config) -> bool:
    """Whether pytest-xdist is to distribute this session's items to worker processes."""
    return bool(config.getoption("numprocesses", None) or config.getoption("tx", None))


def refuse_distribution(config: pytest.Config) -> None:
    """Refuse what cannot be audited by the processes of pytest-xdist.

    Raises:
        UsageError: Workers on other machines, or every item in every worker.
    """
    if not is_controller(config):
        return
    if any(
        not str(spec).partition("*")[2].startswith("popen") and not str(spec).startswith("popen")
        for spec in config.getoption("tx", None) or ()
    ):
        raise UsageError(
            "An audit does not run on other machines by way of pytest-xdist.",
            where="--tx",
            expected="worker processes on this machine, -n N",
            remedy="Run an audit on each machine, with one --funcmem-store that all of them see.",
        )
    if config.getoption("dist", "no") == "each":
        raise UsageError(
            "An audit runs each function once.",
            where="--dist=each",
            remedy="Leave --dist out, or use --dist=load.",
        )


def audit_file_settings(path: Path, config: pytest.Config) -> Settings:
    """The settings of an audit file, over the ini file's and under the command line's.

    Paths in it are relative to the file.

    Raises:
        UsageError: The file cannot be read, or holds what is no setting.
    """
    ini, line = command_line_settings(config)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise UsageError(f"The audit file cannot be read: {exc.strerror}.", where=str(path)) from exc
    except UnicodeDecodeError as exc:
        raise UsageError(
            "The audit file is not UTF-8.",
            where=f"{path}, byte {exc.start}",
            remedy="Save it as UTF-8.",
        ) from exc
    except tomllib.TOMLDecodeError as exc:
        raise UsageError(
            f"The audit file is not TOML: {exc}.", where=str(path), remedy="Mend that line."
        ) from exc
    by_field = {option.field: option for option in OPTIONS}
    own: dict[str, Any] = {}
    for name, raw in table.items():
        option = by_field.get(name)
        if option is None:
            close = difflib.get_close_matches(name.removeprefix("funcmem_").replace("-", "_"), by_field, n=1)
            raise UsageError(
                f"{name!r} is no setting.",
                where=str(path),
                expected="one of " + ", ".join(sorted(by_field)),
                remedy=f"Write {close[0]!r}?" if close else "Mend the name or remove the line.",
            )
        value = parse_value(option, raw, where=f"{path}, {name}")
        own[name] = _relative(option, value, path.parent)
    return settings_from([("ini file", ini), (str(path), own), ("command line", line)])


def sources_named_in(path: Path) -> list[Path]:
    """The sources of an audit file as far as they can be told; its faults come out when it is collected."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    raw = table.get("source", [])
    items = raw if isinstance(raw, list) else [raw]
    return [path.parent / item for item in items if isinstance(item, str)]


def _relative(option: Option, value: Any, base: Path) -> Any:
    """Make a path that a file names relative to where that file stands."""
    if option.kind == "path":
        if option.repeatable:
            return tuple(str(base / item) for item in value)
        return str(base / value)
    if option.name == "model":
        return tuple(_relative_spec(item, base) for item in value)
    if option.name == "reference":
        return _relative_spec(value, base)
    if option.name == "filter":
        kind, colon, rest = value.partition(":")
        return f"{kind}:{base / rest}" if kind == "labels" and colon else value
    if option.name == "report":
        return tuple(_relative_report(item, base) for item in value)
    return value


def _relative_spec(spec: str, base: Path) -> str:
    kind, colon, rest = spec.partition(":")
    if not colon or kind not in ("hf", "replay"):
        kind, colon, rest = "", "", spec
    if kind != "replay" and not (base / rest.partition("@")[0]).exists():
        return spec  # an id of a model hub, or an address
    return f"{kind}{colon}{base / rest}"


def _relative_report(report: str, base: Path) -> str:
    form, colon, file = report.partition(":")
    return f"{form}{colon}{base / file}" if colon else report


def rerun_flags(config: pytest.Config) -> list[str]:
    """The options of the command line that an item's rerun needs, as arguments."""
    flags: list[str] = []
    own = ("source", "store") if config.getini(COMMAND_INI) else ()  # the command adds them itself
    for option in OPTIONS:
        given = config.getoption(option.flag)
        if given is None or option.name in _NOT_RERUN or option.name in own:
            continue
        if option.kind == "flag":
            flags.append(option.flag if given else option.flag.replace("--", "--no-", 1))
            continue
        values: Mapping[int, Any] | list[Any] = given if option.repeatable else [given]
        flags.extend(f"{option.flag}={value}" for value in values)
    return flags


def rerun_command_start(config: pytest.Config) -> list[str]:
    """What a rerun's command begins with: ``pytest``, or the command that started pytest for the user."""
    return shlex.split(config.getini(COMMAND_INI)) or ["pytest"]


def quiet(config: pytest.Config) -> bool:
    """Whether the user asked for less output."""
    return bool(config.getoption("verbose") < 0)
