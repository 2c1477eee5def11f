"""Fills the reference pages from the code they describe, when the site is built.

A page holds a marker, such as ``<!-- options -->``, in whose place the text of this module goes.
"""

from __future__ import annotations

import argparse
import re
from typing import Any

from pytest_funcmem import cli
from pytest_funcmem.core.options import OPTIONS, Option
from pytest_funcmem.reporting.json_report import report_schema

# What stands beside the pages in the repository is named, not linked: the site does not hold it.
_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./(?!reference/)[^)]*\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Fill in what is made from code, and unlink what lies outside of the site."""
    made = {
        "<!-- options -->": _options,
        "<!-- commands -->": _commands,
        "<!-- schema -->": _schema,
    }
    for marker, make in made.items():
        if marker in markdown:
            markdown = markdown.replace(marker, make())
    return _OUTSIDE.sub(r"\1", markdown) if "/" not in page.file.src_uri else markdown


def _options() -> str:
    rows = ["| option | value | default | what it does |", "| --- | --- | --- | --- |"]
    rows += [_option(option) for option in OPTIONS]
    return "\n".join(rows)


def _option(option: Option) -> str:
    value = " or ".join(f"`{choice}`" for choice in option.choices) or (
        f"`{option.metavar}`" if option.metavar else ""
    )
    if option.repeatable:
        value += ", repeatable"
    default = "" if option.default in (None, ()) else f"`{option.default}`"
    cells = (f"`{option.flag}`", value, default, option.help)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _commands() -> str:
    parser = cli._parser()
    lines: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help for choice in action._choices_actions}
            for name, sub in action.choices.items():
                lines += [
                    f"## funcmem {name}",
                    "",
                    f"{(sub.description or helps.get(name) or name).capitalize()}.".replace("..", "."),
                    "",
                ]
                lines += ["```text", sub.format_help().strip(), "```", ""]
    return "\n".join(lines)


def _schema() -> str:
    definitions = report_schema()["$defs"]
    lines: list[str] = []
    for kind in ("manifest", "function", "summary"):
        lines += [f"## A {kind} line", "", "| field | value | always there |", "| --- | --- | --- |"]
        required = definitions[kind]["required"]
        for name, schema in _fields(definitions[kind], definitions):
            top = name.split(".")[0]
            lines.append(f"| `{name}` | {_kind(schema)} | {'yes' if top in required else ''} |")
        lines.append("")
    return "\n".join(lines)


def _fields(
    schema: dict[str, Any], definitions: dict[str, Any], prefix: str = ""
) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name, value in schema.get("properties", {}).items():
        resolved = _resolved(value, definitions)
        found.append((prefix + name, resolved))
        if prefix.count(".") < 1:
            found += _fields(resolved, definitions, f"{prefix}{name}.")
    return found


def _resolved(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return dict(definitions[schema["$ref"].rpartition("/")[2]])
    if "allOf" in schema:
        merged: dict[str, Any] = {}
        for part in schema["allOf"]:
            merged.update(_resolved(part, definitions))
        return merged
    return schema


def _kind(schema: dict[str, Any]) -> str:
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{'null' if value is None else value}`" for value in schema["enum"])
    kind = schema.get("type", "any")
    text = " or ".join(kind) if isinstance(kind, list) else kind
    if "maximum" in schema:
        text += f", {schema.get('minimum', '')} to {schema['maximum']}"
    return f"{text}; {schema['description']}" if "description" in schema else text
