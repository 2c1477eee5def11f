"""Functions that share one text: which may, what the text is, and in which the compiler found errors."""

from __future__ import annotations

import pytest

from pytest_funcmem.harness.runner.c.together import at_fault, can_share, joined

AROUND = 'int helper(int);\n# 1 "function.c"\n/*@*/\n# 1 "helpers.c"\nint helper(int a) { return f(a); }\n'


@pytest.mark.parametrize(
    "code",
    [
        "int f(int a) { return a ? f(a - 1) : 0; }",
        "static inline int\nf(int a)\n{\n# ifdef X\n    a++;\n#else\n    a--;\n# endif\n    return a;\n}",
        'int f(int a) { return g("#define"); }',
    ],
)
def test_functions_may_share(code: str) -> None:
    assert can_share(code, "f", AROUND)


@pytest.mark.parametrize(
    ("code", "around"),
    [
        ("int f(int a)\n{\n#define B 1\n    return B;\n}", AROUND),
        ("int f(int a)\n{\n# undef B\n    return a;\n}", AROUND),
        ('int f(int a) { asm("nop"); return a; }', AROUND),
        ("int f(int a) { static int b __attribute__((used)); return a; }", AROUND),
        ("extern inline int f(int a) { return a; }", AROUND),
        ("HEAD(f) { return 1; }", AROUND),
        ("int (f)(int a) { return a; }", AROUND),
        ("int f(int a) { return f_fm_instead_1(a); }", AROUND),
        ("int f(int a) { return a; }", "#define f(a) g(a)\n" + AROUND),
        ("INLINE int f(int a) { return a; }", "#define INLINE __attribute__((always_inline))\n" + AROUND),
    ],
)
def test_what_reaches_beyond_the_function_stays_alone(code: str, around: str) -> None:
    assert not can_share(code, "f", around)


def test_another_main_returns_nothing_where_it_ends() -> None:
    text = joined(AROUND, "/*@*/", "main", ["int main(void) { g(1); }", "int main(void) { g(2); }\n"])
    assert "int main(void) { g(1); }" in text
    assert "int main_fm_instead_1(void) { g(2); return 0;}" in text


def test_the_first_function_keeps_its_name() -> None:
    text = joined(AROUND, "/*@*/", "f", ["int f(int a) { return f(a); }", "int f(int a) { return f(1); }"])
    assert "int f(int a) { return f(a); }" in text
    assert '# 1 "function.c"\nint f_fm_instead_1(int a) { return f(1); }\n' in text
    assert text.endswith("void *fm_instead[] = {(void *)&f, (void *)&f_fm_instead_1};\n")


def test_errors_are_those_of_the_function_they_stand_in() -> None:
    said = (
        "function.c: In function \u2018f_fm_instead_2\u2019:\nfunction.c:2:5: error: no such thing\n"
        "function.c: In function 'f':\nfunction.c:2:5: warning: odd\n"
    )
    assert at_fault(said, "f") == {2}


def test_errors_outside_belong_to_none() -> None:
    assert (
        at_fault("function.c: In function 'f':\nhelpers.c: At top level:\nhelpers.c:1:1: error: x\n", "f")
        is None
    )
    assert at_fault("helpers.c: In function 'helper':\nhelpers.c:1:1: error: x\n", "f") is None
    assert at_fault("cc1: out of memory\n", "f") is None
