"""Mutants made by editing tokens, in the four grammars."""

from __future__ import annotations

import pytest

from pytest_funcmem.core.records import Language
from pytest_funcmem.core.registry import load
from pytest_funcmem.harness.compiled.mutants import tree_mutants

SOURCES: dict[Language, str] = {
    "c": """int pick(int a, const char *s) {
    int n = 3;
    if (a > n && !s) {
        n += 2;
    }
    return a == 7 ? n : 0x10;
}
""",
    "java": """class Box {
    int pick(int a, String s) {
        int n = 3;
        if (a > n && !s.isEmpty()) {
            n += 2;
        }
        return a == 7 ? n : 0x10;
    }
}
""",
    "go": """package box

func pick(a int, s string) int {
    n := 3
    if a > n && !empty(s) {
        n += 2
    }
    return n - 0x10
}
""",
    "rust": """fn pick(a: i32, s: &str) -> i32 {
    let mut n = 3;
    if a > n && !s.is_empty() {
        n += 2;
    }
    n - 0x10
}
""",
}


def mutants_of(language: Language, text: str, limit: int = 100) -> list[tuple[str, str, set[int]]]:
    (function,) = load("language", language)().scan(text, path="box").functions
    return [
        (mutant.name, mutant.code, set(mutant.lines or ())) for mutant in tree_mutants(function, limit=limit)
    ]


@pytest.mark.parametrize("language", SOURCES)
def test_every_sort_of_change_is_made_once_where_it_stands(language: Language) -> None:
    found = mutants_of(language, SOURCES[language])
    sorts = {name.split()[0] for name, _, _ in found}
    assert sorts == {"branch", "boolean", "comparison", "constant", "operator"}
    codes = [code for _, code, _ in found]
    assert len(codes) == len(set(codes))
    original = SOURCES[language]
    start = original.index("pick")
    for name, code, lines in found:
        lines_of_code = code[code.index("pick") :].splitlines()
        lines_of_original = original[start:].splitlines()[: len(lines_of_code)]
        # Java's class closes behind the function.
        changed = {
            number
            for number, (one, other) in enumerate(zip(lines_of_code, lines_of_original, strict=True))
            if one.strip() != other.strip()
        }
        assert changed == lines, name


def test_a_mutant_changes_the_operator_that_it_names() -> None:
    codes = [code for _, code, _ in mutants_of("c", SOURCES["c"])]
    assert any("if (a >= n && !s)" in code for code in codes)
    assert any("if (!(a > n && !s))" in code for code in codes)
    assert any("if (a > n || !s)" in code for code in codes)
    assert any("if (a > n && s)" in code for code in codes)
    assert any("n -= 2;" in code for code in codes)
    assert any("int n = 4;" in code for code in codes)
    assert any("a == 7 ? 0x10 : n" in code for code in codes)
    assert any("0x11" in code for code in codes)


def test_types_and_attributes_are_left_alone() -> None:
    text = (
        "fn pick(a: [u8; 4]) -> usize {\n"
        "    let v: Vec<u8> = Vec::new();\n"
        "    let b: [u8; 4] = a;\n"
        "    v.len() + b.len()\n"
        "}\n"
    )
    codes = [code for _, code, _ in mutants_of("rust", text)]
    assert all("Vec<u8>" in code for code in codes)
    assert any("v.len() - b.len()" in code for code in codes)


def test_more_than_wanted_are_spread_over_the_function() -> None:
    body = "".join(f"    n += {number};\n" for number in range(2, 40))
    text = f"int pick(int n) {{\n{body}    return n;\n}}\n"
    found = mutants_of("c", text, limit=8)
    lines = [min(lines) for _, _, lines in found]
    assert len(found) == 8
    assert lines == sorted(lines)
    assert lines[0] < 5 < 30 < lines[-1]


def test_strings_grow_and_conditions_with_let_are_left_alone() -> None:
    text = (
        "fn pick(a: Option<i32>) -> String {\n"
        "    if let Some(n) = a {\n"
        '        return format!("{}", n);\n'
        "    }\n"
        '    "none".to_string()\n'
        "}\n"
    )
    codes = [code for _, code, _ in mutants_of("rust", text)]
    assert any('"xnone"' in code for code in codes)
    assert not any("!(let" in code for code in codes)


def test_a_change_counts_from_the_first_line_of_its_statement() -> None:
    text = (
        "fn pick(a: usize, b: Kind) -> (usize, usize) {\n"
        "    let c = a\n"
        "        + 2;\n"
        "    match b {\n"
        "        Kind::One => (\n"
        "            3,\n"
        "            c,\n"
        "        ),\n"
        "        Kind::Two => (c, c),\n"
        "    }\n"
        "}\n"
    )
    lines = {
        code.partition("a\n        ")[2].partition(";")[0]: lines
        for _, code, lines in mutants_of("rust", text)
    }
    assert lines["- 2"] == lines["+ 3"] == {1, 2}
    found = [lines for _, code, lines in mutants_of("rust", text) if "            4,\n" in code]
    assert found == [{4, 5}]
