"""What a C function is given beside its arguments, and macros that its file lacks, with a real compiler."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_funcmem.harness.compiled.c.conditionals import condition_lines, inactive_lines, static_lines
from pytest_funcmem.harness.compiled.c.places import call_around
from pytest_funcmem.harness.compiled.c.standins import type_macro
from pytest_funcmem.harness.compiled.c.toolkit import CToolkit
from pytest_funcmem.harness.execution_records import Execution
from pytest_funcmem.languages.c import CFrontend

Ran = Callable[..., Execution]
KIT = CToolkit()
FILE = """\
#include <stdio.h>
#include <stdlib.h>
#include <stdarg.h>
#include "missing.h"

static struct { int pos; const char *title; } bar = { 7, "kept" };

int mode(void)
{
    return bar.title[0] == 'k' ? bar.pos * 2 : -1;
}

int length_of_setting(void)
{
    const char *text = getenv("A_SETTING");
    int n = 0;
    while (text && text[n])
        n++;
    return text ? n : -1;
}

int first_letter(void)
{
    FILE *file = fopen("/a/file/that/is/not/there", "r");
    int letter = file ? fgetc(file) : -2;
    if (file)
        fclose(file);
    return letter;
}

int *room(int n)
{
    int *cells = make_cells(n & 7, int);
    if (MISSING_CHECK(cells != 0 && widget_at(n)->state.depth > 2))
        cells[0] = 5;
    return cells;
}

int complain(const char *format, ...)
{
    char line[200];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    return n;
}
"""


@pytest.mark.docker
def test_globals_are_given_and_shown_and_those_with_a_value_keep_their_pointers(
    ran: Ran,
) -> None:
    run = ran(FILE, "mode")
    shown = [texts for texts in run.shown if texts]  # a state that ended badly shows nothing
    assert all(len(texts) == 1 and texts[0].startswith("bar = {.pos = ") for texts in shown)
    values = {output.value for output in run.outputs if output.outcome == "returned"}
    assert 14 in values, "the value of the file is among them"
    assert len(values) > 3
    assert -1 not in values


@pytest.mark.docker
@pytest.mark.parametrize(
    ("name", "told", "absent"),
    [
        ("length_of_setting", 'getenv("A_SETTING"): ', -1),
        ("first_letter", "file /a/file/that/is/not/there: ", -2),
    ],
)
def test_environment_and_files_are_there_by_choice(ran: Ran, name: str, told: str, absent: int) -> None:
    run = ran(FILE, name)
    assert all(shown[-1].startswith(told) for shown in run.shown)
    assert absent in {output.value for output in run.outputs}
    assert len({output.value for output in run.outputs}) > 4
    assert all(not output.files for output in run.outputs), "what is given is not written"


@pytest.mark.docker
def test_macros_that_take_types_or_whole_conditions_are_made_up(ran: Ran) -> None:
    run = ran(FILE, "room")
    assert any(output.value for output in run.outputs if output.outcome == "returned")


@pytest.mark.docker
def test_a_function_with_any_number_of_arguments_is_called(ran: Ran) -> None:
    run = ran(FILE, "complain")
    assert len({output.value for output in run.outputs if output.outcome == "returned"}) > 3


@pytest.mark.parametrize(
    ("name", "arguments", "place", "text"),
    [
        ("NEW", ["int"], 0, "(t) ((t *)calloc(1, sizeof(t)))"),
        ("OWNER", ["p", "struct a", "next"], 1, "(a, t, c) ((t *)((char *)(a) - offsetof(t, c)))"),
        (
            "GROW",
            ["p", "n + 1", "char"],
            2,
            "(a, b, t) ((t *)realloc((void *)(size_t)(a), (size_t)(b) * sizeof(t)))",
        ),
        ("ANY", ["a", "b", "c", "int"], 3, None),
        ("X_CALLOC", ["struct a *", "1", "sizeof(*p)"], 0, "(t, b, c) ((t)calloc((size_t)(b), (size_t)(c)))"),
        ("X_MALLOC", ["char*", "n"], 0, "(t, b) ((t)calloc(1, (size_t)(b)))"),
        ("alloc_n", ["char", "n"], 0, "(t, b) ((t *)calloc(1, (size_t)(b) * sizeof(t)))"),
        ("X_REALLOC", ["p", "int *", "n"], 1, "(a, t, c) ((t)realloc((void *)(a), (size_t)(c)))"),
        ("X_FREE", ["struct a *", "p"], 0, "(t, b) free((void *)(b))"),
        ("X_MIN", ["size_t", "1", "n"], 0, "(t, b, c) ((t)(b) < (t)(c) ? (t)(b) : (t)(c))"),
        ("X_ASSERT", ["p", "struct a"], 1, "(...) ((void)0)"),
        (
            "X_ASSERT_RETURN_VALUE",
            ["p", "shape", "NULL"],
            1,
            "(a, t, c) do { if (!(a)) return c; } while (0)",
        ),
    ],
)
def test_a_macro_with_a_type_does_what_its_name_and_place_say(
    name: str, arguments: list[str], place: int, text: str | None
) -> None:
    assert type_macro(name, arguments, place) == text


def test_the_call_around_a_place_is_found_by_its_brackets() -> None:
    text = "x = grow(list,\n   n(1, 2), struct item);"
    assert call_around(text, 2, 13) == ("grow", ["list", "n(1, 2)", "struct item"], 2)
    assert call_around("int x;", 1, 5) is None


def test_conditions_are_no_code_and_those_around_the_function_hold() -> None:
    text = "#ifdef NOT_THERE\nint f(int n)\n{\n#if N > 2\n  n++;\n#endif\n  return n;\n}\n#endif\n"
    assert inactive_lines(text, 1, 7) == {3}, "and nothing else"
    assert condition_lines("int f(int n)\n{\n#if N > 2\n  n++;\n#endif\n}") == {2, 4}


def test_any_state_may_tell_a_change_of_static_data_apart() -> None:
    text = "int f(int n)\n{\n  static int t[] = {\n    10, 20,\n    30 };\n  n += 7;\n  return t[n & 1];\n}\n"
    assert static_lines(text) == {2, 3, 4}
    (function,) = CFrontend().scan(text, path="a.c").functions
    lines = {mutant.lines for mutant in KIT.mutants(function, limit=20)}
    assert None in lines
    assert frozenset({5}) in lines
