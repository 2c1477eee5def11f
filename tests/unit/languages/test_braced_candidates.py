from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_funcmem.core.records import Candidate, Language, SourceFunction
from pytest_funcmem.languages import frontend

SOURCES: dict[str, tuple[Language, str]] = {
    "c": ("c", "int f(int x)\n{\n    return x;\n}\n"),
    "c_same_line": ("c", "int f(int x) {\n    return x;\n}\n"),
    "java": ("java", "class A {\n    int f(int x) {\n        return x;\n    }\n}\n"),
    "rust": ("rust", "impl A {\n    fn f<'a>(&'a self, x: i32) -> i32 {\n        x\n    }\n}\n"),
    "go": ("go", "func (a *A) f(x int) interface{} {\n\treturn x\n}\n"),
}
FUNCTIONS: dict[str, SourceFunction] = {
    name: frontend(language).scan(source, path="x").functions[0]
    for name, (language, source) in SOURCES.items()
}


def read(name: str, completion: str) -> Candidate:
    return frontend(FUNCTIONS[name].language).candidate(FUNCTIONS[name], completion)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("c", "\n{\n    char *s = \"}\"; char c = '}'; /* } */ // }\n    if (x) { x++; }\n    return x;\n}"),
        (
            "c",
            "\n{\n#if A\n    if (x) {\n#elif B\n    if (!x) {\n#else\n"
            "    {\n#endif\n    }\n#define E }\n    return x;\n}",
        ),
        ("c", "\n/* why */\n{\n    return '\\'' + '\\\\';\n}"),
        ("c_same_line", "\n    return x; // don't\n}"),
        ("java", '\n        String s = """\n            }"}\n            """;\n        return s;\n    }'),
        (
            "rust",
            "\n        let c = '}'; let s: &'a str = r#\"}\"\"#; /* /* } */ } */ b'}'; '\\u{7d}';\n"
            "        x\n    }",
        ),
        ("go", "\n\ts := `}\n}`\n\tr := '}'\n\treturn s + \"}\"\n}"),
        ("go", " return x }"),
    ],
)
@pytest.mark.parametrize(
    "after", ["", "\n\nint g() { return", "\n```\nDone", "}\n}", "<|endoftext|>", "</s>x", "\n#endif\n"]
)
def test_the_body_ends_at_its_closing_brace(name: str, body: str, after: str) -> None:
    candidate = read(name, body + after)
    assert (candidate.status, candidate.body) == ("ok", body)
    assert candidate.code == FUNCTIONS[name].signature + body
    assert frontend(FUNCTIONS[name].language).function_ended(FUNCTIONS[name], body + after)
    assert not frontend(FUNCTIONS[name].language).function_ended(FUNCTIONS[name], body[:-1])
    assert bool(candidate.detail) == bool(after.strip())


@pytest.mark.parametrize(
    ("name", "completion", "body"),
    [
        (
            "c",
            "\n```c\n#include <a.h>\nstatic long\nf(long y)\n{\n    return 1;\n}\n```",
            "\n{\n    return 1;\n}",
        ),
        ("c", "int f(x)\n    int x;\n{\n    return 1;\n}", "\n{\n    return 1;\n}"),
        ("c_same_line", "\nint f(int x)\n{\n    return 1;\n}", "\n    return 1;\n}"),
        ("c_same_line", "\n```\n    return 1;\n}\n```", "\n    return 1;\n}"),
        (
            "java",
            "\nHere's one:\n```java\nimport a.b;\npublic class A {\n"
            "    @Override public int f(int x) throws E {\n        return 1;\n    }\n}\n```",
            "\n        return 1;\n    }",
        ),
        (
            "rust",
            "```rust\nuse a::b;\n#[inline]\nimpl A {\npub fn f(x: i32) -> i32 {\n    1\n}\n}\n```",
            "\n    1\n}",
        ),
        (
            "go",
            "\n```go\npackage a\n\nfunc (b *B) f(x interface{}) interface{} {\n\treturn 1\n}\n```\n",
            "\n\treturn 1\n}",
        ),
    ],
)
def test_fences_and_repeated_signatures_are_dropped(name: str, completion: str, body: str) -> None:
    candidate = read(name, completion)
    assert (candidate.status, candidate.body) == ("ok", body)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("go", "\n\tf(x)\n\tif x > 0 {\n\t\treturn 1\n\t}\n\treturn 2\n}"),
        ("go", "\n\ty := f(x)\n\tfor {\n\t}\n}"),
        ("go", "\n\tg := func() int { return f(x) }\n\treturn g\n}"),
        ("java", "\n        f(x);\n        if (x) { return 1; }\n        return f(x);\n    }"),
        ("java", "\n        if (f(x)) { return 1; }\n        return 2;\n    }"),
        ("c_same_line", "\n    while (f(x)) { x--; }\n    return x;\n}"),
        ("rust", "\n        f(x);\n        match f(x) { _ => {} }\n    }"),
    ],
)
def test_a_recursive_call_is_no_repeated_signature(name: str, body: str) -> None:
    candidate = read(name, body)
    assert (candidate.status, candidate.body) == ("ok", body)


@pytest.mark.parametrize("name", list(FUNCTIONS))
@pytest.mark.parametrize(
    "completion", ["", "\n  \n", "\n    // nothing\n", "/* a\nb", "<|endoftext|>}", "\n```\n", "</s>"]
)
def test_blanks_and_comments_are_empty(name: str, completion: str) -> None:
    candidate = read(name, completion)
    assert (candidate.status, candidate.code) == ("empty", None)


@pytest.mark.parametrize("name", list(FUNCTIONS))
@pytest.mark.parametrize(
    "body", [" x = 1;", '{ { s = "', "\n    if (x) {\n    }\n", "{ '", "{ x /* }", "x\ud800"]
)
def test_a_body_that_does_not_close_is_unparsed(name: str, body: str) -> None:
    candidate = read(name, body)
    assert (candidate.status, candidate.body, candidate.code) == ("unparsed", body, None)
    assert candidate.detail


def test_a_body_without_its_opening_brace_is_unparsed() -> None:
    assert read("c", "\n    return x;\n}\n").status == "unparsed"


PIECES = st.sampled_from(
    [
        "{",
        "}",
        "\n",
        '"',
        "'",
        "//",
        "/*",
        "*/",
        "#",
        "#if\n",
        "\n#else\n",
        "\n#endif",
        "\\",
        "`",
        '"""',
        'r#"',
        '"#',
        "```",
        "\n```c\n",
        "f",
        "f(",
        ")",
        "(",
        ";",
        "=",
        "int ",
        "func ",
        "fn ",
        "class A ",
        "interface",
        "return ",
        " ",
        "\r",
        "'a",
        "<|endoftext|>",
        "</s>",
        "<",
        "import ",
        "é",
        "�",
        "u{7d}",
        "if",
    ]
)


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=20).map("".join), st.sampled_from(list(FUNCTIONS)))
def test_once_ended_the_candidate_never_changes(text: str, name: str) -> None:
    function = FUNCTIONS[name]
    front = frontend(function.language)
    whole = front.candidate(function, text)
    assert (whole.code is None) == (whole.status != "ok")
    has_ended = False
    for length in range(len(text) + 1):
        ended = front.function_ended(function, text[:length])
        assert ended or not has_ended, "an end was taken back"
        if ended and not has_ended:
            early = front.candidate(function, text[:length])
            assert (early.status, early.code) == (whole.status, whole.code)
            if whole.status != "unparsed":
                assert early.body == whole.body
        has_ended = ended
