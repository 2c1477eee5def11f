"""What of a C file is compiled around a function: chunks, slices, stand-ins, values; without a compiler."""

from __future__ import annotations

import json

import pytest

from pytest_funcmem.core.records import OutputState, SourceFunction
from pytest_funcmem.harness.compiled.c.chunks import cut
from pytest_funcmem.harness.compiled.c.complaints import read_complaints, types_in
from pytest_funcmem.harness.compiled.c.conditionals import inactive_lines
from pytest_funcmem.harness.compiled.c.description import (
    UnspeakableTypeError,
    read_description,
)
from pytest_funcmem.harness.compiled.c.pools import CARD_NUMBERS, number_pools, pool_for, texts
from pytest_funcmem.harness.compiled.c.renaming import renamed_code
from pytest_funcmem.harness.compiled.c.slicing import SourceFile
from pytest_funcmem.harness.compiled.c.standins import StandIns, shape_of
from pytest_funcmem.harness.compiled.c.stubs import stub_codes
from pytest_funcmem.languages.c import CFrontend

FILE = """\
#include <stdio.h>
#include "local.h"
typedef struct point { int x, y; } point;
enum colour { RED, GREEN = 4 };
#define TWICE(v) (factor * (v))
static int factor = 2, unused_one;
int table[3] = { 1, 2, 3 };

static int helper(point *p) { return p->x + unrelated_depth; }
int other(void) { return 7; }

#ifdef NEVER
int target(int n) { return n; }
#else
static int
target(point *p, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += TWICE(i) + table[i % 3];
    return n == 3 ? helper(p) : sum;
}
#endif

int old(a, b)
    int a;
    char *b;
{ return a; }
"""


def function_of(text: str, qualname: str, number: int = -1) -> SourceFunction:
    found = [item for item in CFrontend().scan(text, path="a.c").functions if item.qualname == qualname]
    return found[number]


def test_chunks_are_functions_and_declarations_with_the_names_they_declare() -> None:
    function = function_of(FILE, "target")
    chunks, directives = cut(FILE, function.signature_start, function.end)
    named = {name: chunk.kind for chunk in chunks for name in chunk.declared()}
    assert named["point"] == named["RED"] == named["GREEN"] == named["factor"] == "declaration"
    assert named["helper"] == named["other"] == named["old"] == "function"
    assert [chunk.kind for chunk in chunks].count("target") == 1
    assert len(directives) == 6
    old = next(chunk for chunk in chunks if "old" in chunk.declared())
    assert FILE[old.start : old.end].startswith("int old(a, b)")
    assert FILE[old.start : old.end].endswith("{ return a; }")


def test_a_slice_holds_what_the_function_reaches_and_keeps_lines() -> None:
    function = function_of(FILE, "target")
    source = SourceFile(function)
    sliced = source.slice(stubbed=frozenset(), dropped=frozenset())
    lines = sliced.declarations.split("\n")
    assert lines[2].startswith("typedef struct point")
    assert lines[6].startswith("int table[3]")
    assert "other" not in sliced.declarations + sliced.helpers
    assert "include" not in sliced.declarations
    assert "NEVER" not in sliced.declarations
    assert sliced.included == ("helper",)
    assert "static int helper ( point * p ) ;" in sliced.prototypes
    assert "static int target ( point * p , int n ) ;" in sliced.prototypes
    assert source.headers == ("stdio.h", "local.h")
    stubbed = source.slice(stubbed=frozenset({"helper"}), dropped=frozenset())
    assert stubbed.included == ()
    assert "helper ( point * p )" in stubbed.prototypes


def test_directives_stay_balanced_where_a_conditional_tears_what_is_left_out() -> None:
    text = "int a\n#ifdef X\n = 1;\n#else\n = 2;\n#endif\nint f(int n) { return n; }\n"
    function = function_of(text, "f")
    sliced = SourceFile(function).slice(stubbed=frozenset(), dropped=frozenset())
    for part in (sliced.declarations, sliced.helpers):
        assert part.count("#if") == part.count("#endif")


def test_initialised_variables_are_told_from_others() -> None:
    given = SourceFile(function_of(FILE, "target")).initialised()
    assert "factor" in given
    assert "table" in given
    assert "unused_one" not in given


@pytest.mark.parametrize(
    ("written", "shape"),
    [
        ("char *", "char *@"),
        ("int", "int @"),
        ("int (*)(void)", "int (*@)(void)"),
        ("char[4]", "char @[4]"),
    ],
)
def test_types_become_shapes(written: str, shape: str) -> None:
    assert shape_of(written) == shape


def test_stand_ins_are_written_in_an_order_that_compiles() -> None:
    made = StandIns()
    made.add_type("outer_t", "struct")
    made.add_type("inner_t", "struct")
    made.structs["fm_outer_t"]["one"] = "inner_t @"
    made.structs["fm_inner_t"]["n"] = "int @"
    made.add_constant("LIMIT")
    made.variables["shared"] = "char *@"
    text = made.early()
    assert text.index("struct fm_inner_t {") < text.index("struct fm_outer_t {")
    assert "enum { LIMIT = 8 };" in text
    assert made.late() == [("shared", "char *shared;")]
    assert made.owner("outer_t") == made.owner("struct fm_outer_t *") == "fm_outer_t"
    assert made.owner("int") is None


def test_diagnostics_are_checked() -> None:
    place = {"caret": {"file": "function.c", "line": 3, "byte-column": 7}}
    good = {"kind": "error", "message": "\u2018x\u2019 undeclared", "locations": [place], "children": []}
    bad = [None, 7, {"kind": "error"}, {"kind": "note", "message": "m"}, {"kind": "error", "message": 3}]
    complaints = read_complaints([*bad, good, {**good, "locations": "?", "children": [3, {}]}])
    assert [(item.message, item.line, item.column) for item in complaints] == [
        ("'x' undeclared", 3, 7),
        ("'x' undeclared", 0, 0),
    ]
    assert read_complaints({"a": 1}) == ()
    said = {**good, "message": "assignment to 'char *' from 'int' makes pointer from integer without a cast"}
    assert types_in(read_complaints([said])[0]) == ("char *", "int")


DESCRIPTION = {
    "types": [
        ["void", "", 0, 0, []],
        ["base", "char", 1, 0, [6]],
        ["const", "", 0, 1, []],
        ["pointer", "", 8, 2, []],
        ["array", "", 0, 3, [4, 2]],
        ["function", "", 0, 3, [3, 1]],
        ["pointer", "", 8, 5, []],
        ["struct", "", 4, 0, [["x", 1, 0, 0, 0]]],
        ["typedef", "node_t", 0, 7, []],
    ],
    "functions": [],
    "variables": [],
}


def test_types_are_written_as_c_again() -> None:
    description = read_description(DESCRIPTION)
    assert description is not None
    assert description.declared(3, "a") == "const char *a"
    assert description.declared(4, "a") == "const char *a[4][2]"
    assert description.declared(6, "f") == "const char *(*f)(const char *, char)"
    assert description.declared(8, "n") == "node_t n"
    assert description.is_constant(4) is False
    assert description.is_constant(2)
    with pytest.raises(UnspeakableTypeError):
        description.declared(7, "n")


@pytest.mark.parametrize(
    "change",
    [
        {"types": []},
        {"types": [["void", "", 0, 9, []]]},
        {"types": [["struct", "a; system", 0, 0, []]]},
        {"types": [["base", "int", 1 << 50, 0, [5]]]},
        {"functions": [{"name": "f()", "result": 0, "parameters": [], "variadic": False, "defined": True}]},
        {"variables": [{"name": "v", "type": 99, "defined": True}]},
        {"variables": [3]},
        {"functions": None},
    ],
)
def test_a_damaged_description_is_none(change: dict[str, object]) -> None:
    assert read_description({**json.loads(json.dumps(DESCRIPTION)), **change}) is None


def test_pools_hold_literals_and_their_neighbours_and_what_names_say() -> None:
    function = function_of("int f(int n) { return n == 41 ? 'q' : \"wx%d\"[n]; }", "f")
    words = SourceFile(function).code_tokens
    numbers, letters, *named = number_pools(words, [77])
    assert {40, 41, 42, 0, 1} <= set(numbers)
    assert ord("q") in letters[:4]
    assert tuple(named[0]) == CARD_NUMBERS
    assert pool_for("credit_number", "base") == 2
    assert pool_for("credit_number", "pointer") == pool_for("n", "base") == 0
    found = texts(words, ())
    assert b"wx5" in found
    assert b"" in found
    assert not any(b"%" in text for text in found)


def test_local_names_change_and_shared_ones_stay() -> None:
    text = (
        "#define LOOK cursor\nint f(int n) { int cursor = n, total = 0; struct { int total2; } s; goto end; "
        "end: return total + LOOK; }"
    )
    code = renamed_code(function_of(text, "f"))
    assert code is not None
    assert "total_1_renamed = 0" in code or "total_0_renamed = 0" in code
    assert "int cursor = n" in code
    assert "goto end" in code
    assert "int n)" in code
    assert renamed_code(function_of("int f(int n) { return n; }", "f")) is None


def test_stubs_keep_the_signature_and_echo_arguments() -> None:
    function = function_of("long f(long a, char *b) { return a + 42; }", "f")
    expected = [OutputState(outcome="returned", value=5)] * 2 + [OutputState(outcome="returned", value=6)]
    stubs = {item.name: item.code for item in stub_codes(function, expected)}
    assert "return 42;" in stubs["constant 0"]
    assert "return 5;" in stubs["commonest"]
    assert "return (__typeof__(f(a, b)))b;" in stubs["echo 2"]
    assert all(code.startswith("long f(long a, char *b)") for code in stubs.values())
    nothing = stub_codes(function_of("void g(int a)\n{ a++; }", "g"), ())
    assert [item.name for item in nothing] == ["nothing", "crash"]
    old = stub_codes(function_of("int h(a)\n    int a;\n{ return a; }", "h"), ())
    assert "int a;" in old[0].code


def test_lines_that_conditionals_leave_out_are_known() -> None:
    text = (
        "#define YEAR 1917\n#define HAVE 1\nint f(int n) {\n#if YEAR == 1917 && !defined NOT_THERE\n  n++;\n"
        "#elif YEAR == 1753\n  n--;\n#else\n  n *= 2;\n#endif\n#ifdef NOT_THERE\n  n = 3;\n#endif\n"
        "#if SIZE(n) > 2\n  n = 4;\n#else\n  n = 5;\n#endif\n  return n;\n}\n"
    )
    assert inactive_lines(text, 2, 19) == {4, 6, 9}
