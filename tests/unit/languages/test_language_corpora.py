"""Every function that the measuring corpora list is found, at its place, and survives its own completion."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_funcmem.core.records import LANGUAGES, Language, SourceFunction
from pytest_funcmem.languages import body_lines, frontend

EXPECTED = {"python": 300, "c": 60, "java": 60, "rust": 60, "go": 60}


def listed_functions(path: Path, language: Language) -> list[SourceFunction]:
    found = []
    front = frontend(language)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        functions = front.scan(row["content"], path=row["path"]).functions
        for listed in row["functions"]:
            # The lists count a first decorator's line as the function's own, and name only the innermost type
            # in Java; the contract counts the signature's line and names every type.
            matches = [
                function
                for function in functions
                if f".{function.qualname}".endswith(f".{listed['qualname']}")
                and listed["line"] in (function.line, definition_line(function))
            ]
            assert len(matches) == 1, (row["id"], listed)
            assert matches[0].text == row["content"].replace("\r\n", "\n")
            found += matches
    return found


def definition_line(function: SourceFunction) -> int:
    return function.text.count("\n", 0, function.definition_start) + 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_listed_functions_are_found_whole(shared_dir: Path, language: Language) -> None:
    front = frontend(language)
    functions = listed_functions(shared_dir / "corpora" / f"{language}.jsonl", language)
    assert len(functions) == EXPECTED[language]
    for function in functions:
        assert function.code == function.text[function.signature_start : function.end]
        assert function.signature + function.body == function.code
        assert not function.signature[-1].isspace()
        assert body_lines(function) >= 10
        rest = function.text[function.signature_end :]
        candidate = front.candidate(function, rest)
        assert (candidate.status, candidate.body, candidate.code) == ("ok", function.body, function.code)
        assert front.candidate(function, function.body).code == function.code
        fenced = front.candidate(
            function, f"\n```{language}\n{function.signature}{function.body}\n```\nDone, isn't it"
        )
        assert fenced.status == "ok"
        assert (fenced.code or "").split() == function.code.split()
        assert front.function_ended(function, rest + "\n\nx")
