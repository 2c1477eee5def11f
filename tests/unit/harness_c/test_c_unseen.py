"""What real C files take for granted: types only used, old definitions, the system, runs that end badly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.harness.compiled.c.constants import constant_value
from pytest_funcmem.harness.compiled.c.parameters import buffer_room, flags_of, views_of
from pytest_funcmem.harness.compiled.c.pools import texts
from pytest_funcmem.harness.compiled.c.renaming import renamed_code
from pytest_funcmem.harness.compiled.c.slicing import SourceFile
from pytest_funcmem.harness.compiled.c.standins import StandIns
from pytest_funcmem.harness.compiled.c.system import system_calls
from pytest_funcmem.harness.compiled.c.table import FOLLOWED, INDEXED, SMALL
from pytest_funcmem.harness.execution_records import ENDLESS, Execution
from pytest_funcmem.languages.c import CFrontend

Ran = Callable[..., Execution]
FILE = """\
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "shelf.h"

int greet(int fd, const char *name)
{
    struct sockaddr there;
    memset(&there, 0, sizeof there);
    strncpy(there.sa_data, name, sizeof there.sa_data);
    return connect(fd, &there, sizeof there) == 0 ? 7 : -7;
}

static void shrink();

int volumes(Shelf *shelf)
{
    Book *book = shelf->first;
    int n = 0;
    while (book) {
        n += book->volumes;
        book = book->next;
    }
    return n;
}

int color(enum shade shade)
{
    return shade == DARK ? 1 : shade == LIGHT ? 2 : 3;
}

int taller(shelf)
Shelf *shelf;
{
    shrink(shelf->height, 2);
    return shelf->height[0];
}

static void shrink(height, by)
int *height, by;
{
    *height -= by;
}

int reach(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM, port);
    if (fd < 0)
        return -1;
    if (listen(fd, 5) < 0) {
        close(fd);
        return -2;
    }
    return 7;
}

int first_byte(int fd)
{
    char line[16];
    int n = read(fd, line, sizeof line);
    return n > 0 ? line[0] : n - 300;
}

int endless(int n)
{
    volatile int i = 0;
    for (;;)
        i ^= n;
}

int far(int *list, int place)
{
    place += 1000000;
    return list[place];
}

int told(struct bell *bell)
{
    struct tone tone = TONE_START;
    if (ring_all(bell, 1, 2, 3, 4, &tone) > 2)
        return bell->ring(7);
    return tone.pitch;
}

int fill(Lexer *lexer, int letter)
{
    if (lexer->buffer.len == lexer->buffer.cap)
        return -1;
    lexer->buffer.text[lexer->buffer.len++] = letter;
    return lexer->buffer.len;
}

int passed_on(struct crate *crate, int n)
{
    if (n > 3)
        return lift(crate, n);
    return drop(crate);
}

int sealed(char *key, int n)
{
    struct parcel parcel = { key, n };
    return seal(&parcel) > 3 ? n : -1;
}

static unsigned sum_of(const unsigned char *from, int count)
{
    unsigned sum = 0;
    while (count-- > 0)
        sum += from[count];
    return sum;
}

int piled(Pile *pile, int letter)
{
    pile->letters[pile->height & 3] = letter;
    return sum_of(pile->letters, pile->height & 3) % 100;
}

int appended(Row *row, unsigned count, unsigned *more)
{
    if (row->used > 0 && row->cells[row->used - 1] == more[0])
        return -1;
    memcpy(row->cells + row->used, more, count * 4);
    return row->used + count;
}

int noted(const char *from, int n)
{
    Note note;
    int i;
    for (i = 0; from[i] && i < 9; i++)
        note.marks[i] = from[i] + n;
    note.next = 0;
    strcpy(note.title, from);
    note.rest = from;
    return note.marks[0] + (note.rest == from) + note.title[0];
}

int labelled(Jar *jar, Shop *shop)
{
    if (jar->label.len > 3 && shop->sign.len != jar->label.len) {
        shop->sign = jar->label;
        return shop->sign.len;
    }
    return -1;
}

int spun(Wheels *set)
{
    turn(&set->wheel, 3);
    if (set->wheel.speed > 3)
        return 1;
    return set->wheel.speed < 0 ? 2 : 3;
}

int queued(Queue *line)
{
    Guest *guest = OWNER(line, Guest, place);
    return guest->seats > 2 ? 1 : guest->seats;
}

struct weight { int grams, pieces; };

int weigh(void *thing, void *other)
{
    struct weight *it = (struct weight *) thing;
    unsigned char *bytes = other;
    if (it->pieces < 3 || bytes[0] != 'k')
        return -1;
    return it->grams % 100;
}

int options(int argc, char **argv)
{
    int loud = 0, letter;
    while ((letter = getopt(argc, argv, "vq")) > 0)
        switch (letter) {
        case 'v': loud = 1; break;
        case 'q': loud = 2; break;
        }
    return loud;
}
"""


def function_of(text: str, name: str) -> SourceFunction:
    return next(item for item in CFrontend().scan(text, path="a.c").functions if item.qualname == name)


def values(run: Execution) -> set[object]:
    return {output.value for output in run.outputs if output.outcome == "returned"}


@pytest.mark.docker
@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("volumes", {2, 3, 4, 5, 6, 8}),
        ("color", {2}),
        ("taller", {3, 4}),
        ("fill", {3, 4, 5}),
        ("passed_on", {2, 3, 4}),
        ("piled", {2, 3}),
        ("labelled", {2, 3, 4, 6}),
        ("spun", {2, 3, 4, 5}),
        ("queued", {2, 3}),
        ("noted", {5, 6, 7, 8, 9}),
        ("appended", {2, 3, 4, 5}),
        ("sealed", {2, 3}),
    ],
)
def test_types_are_those_that_uses_tell(ran: Ran, name: str, lines: set[int]) -> None:
    run = ran(FILE, name)
    assert lines <= {line for output in run.outputs for line in output.lines if output.outcome == "returned"}
    assert len(values(run)) > 2


@pytest.mark.docker
def test_the_system_answers_by_choice_and_is_asked_in_sight(ran: Ran) -> None:
    run = ran(FILE, "reach")
    assert values(run) == {-1, -2, 7}
    returned = [output for output in run.outputs if output.outcome == "returned"]
    assert {call["path"] for output in returned for call in output.calls} == {"socket", "listen", "close"}
    read = values(ran(FILE, "first_byte"))
    assert -301 in read
    assert len(read) > 4, "what arrives differs"


@pytest.mark.docker
def test_addresses_of_sockets_are_no_part_of_what_is_asked(ran: Ran) -> None:
    run = ran(FILE, "greet")
    assert values(run) == {7, -7}
    passed = {str(call["arguments"][1]) for output in run.outputs for call in output.calls}
    assert passed == {"['opaque', 'union']"}, "where it lies differs from run to run"


@pytest.mark.docker
def test_runs_that_end_badly_tell_how_far_they_came(ran: Ran) -> None:
    run = ran(FILE, "far", count=5)
    assert {output.outcome for output in run.outputs} == {"signal"}
    assert all(2 in output.lines for output in run.outputs)
    run = ran(FILE, "endless", count=5)
    assert {(output.outcome, output.detail) for output in run.outputs} == {("timeout", ENDLESS)}
    assert all(4 in output.lines for output in run.outputs)
    assert max(run.state_seconds) < 0.8, "it is counted, not waited for"


@pytest.mark.docker
def test_pointers_to_functions_are_called_with_what_they_take(ran: Ran) -> None:
    first, again = (ran(FILE, "told") for _ in range(2))
    assert first.outputs == again.outputs
    rings = [call for output in first.outputs for call in output.calls if call["path"].startswith("callback")]
    assert rings
    assert all(len(call["arguments"]) < 2 for call in rings)


@pytest.mark.docker
def test_memory_of_any_type_is_filled_as_the_code_takes_it(ran: Ran) -> None:
    run = ran(FILE, "weigh", count=200)
    assert len(values(run) - {-1}) > 1
    assert any("weight" in str(output.arguments) or ".pieces" in str(run.shown) for output in run.outputs)


@pytest.mark.docker
def test_no_address_is_among_the_members_of_a_struct_that_is_only_listed(
    ran: Ran,
) -> None:
    first, again = (ran(FILE, "sealed") for _ in range(2))
    assert first.outputs == again.outputs


@pytest.mark.docker
def test_options_are_given_as_many_as_are_counted(ran: Ran) -> None:
    assert values(ran(FILE, "options", count=400)) == {0, 1, 2}


def test_what_was_guessed_becomes_what_it_is_taken_for() -> None:
    made = StandIns()
    made.add_type("Book", "struct")
    guessed = made.fresh_struct("next")
    made.structs[guessed].update(next="int @", pages="long @")
    made.structs["fm_Book"]["next"] = "Book *@"
    made.variables["shelf"] = f"struct {guessed} *@"
    assert made.unify(guessed, "Book")
    assert made.structs == {"fm_Book": {"next": "Book *@", "pages": "long @"}}
    assert made.variables == {"shelf": "Book *@"}


def test_constants_are_bits_bounds_or_room_by_their_use_and_name() -> None:
    made = StandIns()
    for name in ("RED", "MAX_ITEMS", "LINE_SIZE", "BLUE"):
        made.add_constant(name)
    for name in ("IS_OLD", "IS_NEW"):
        made.add_constant(name, is_flag=True)
    assert made.constants == {
        "RED": 1,
        "MAX_ITEMS": 8,
        "LINE_SIZE": 256,
        "BLUE": 2,
        "IS_OLD": 4,
        "IS_NEW": 16,
    }
    made.enums["shade"] = None
    assert "enum shade { fm_shade_0, " in made.early()


def test_macros_stand_for_numbers_where_their_text_says_so() -> None:
    known = {"BASE": 16}
    for text, value in (
        ("(BASE << 2) | 1", 65),
        ("0x10UL /* a page */", 16),
        ("'a'", 97),
        ("((unsigned int) -1)", -1),
        ("sizeof(x)", None),
        ("OTHER + 1", None),
        ("1 << 9999", None),
    ):
        assert constant_value(text, known.get) == value, text


def test_uses_tell_what_is_followed_indexed_and_small() -> None:
    flags = flags_of(["for (i = 0; i < h->count; i++) t = h->rows[i].name; c = h->cell; c->x = 1;"])
    assert flags["h"] & FOLLOWED
    assert flags["rows"] & INDEXED
    assert flags["cell"] & FOLLOWED, "its copy is followed"
    assert flags["i"] & flags["count"] & SMALL
    assert buffer_room(["x = page[0x200]; y = *(page + 516);"]) == 768
    assert buffer_room(["x = page[3];"]) == 256


def test_what_points_to_anything_is_what_it_is_taken_for() -> None:
    code = (
        "struct a *x = (struct a *) p->one; b_t *y = q; const char *z = (const char*)r->s; return (void *)v;"
    )
    assert views_of([code]) == {"one": "struct a", "q": "b_t", "s": "char"}
    assert views_of(["int f(void *p) {\n  node *n = p;\n  n = 2 * p; }"]) == {"p": "node"}


def test_files_that_a_program_opens_stay_real() -> None:
    assert system_calls(["read", "socket", "strlen"]) == ["read", "socket"]
    assert system_calls(["fopen", "read", "socket"]) == ["socket"]


def test_heads_in_the_old_style_tell_their_types() -> None:
    text = (
        "static int f(a, n)\nregister struct s *a;\n{ return n; }\nvoid g(c) char c; { c++; }\n"
        "#ifdef SLOW\nstatic int h(int n)\n#else\nint h(int n)\n#endif\n{ return n + 1; }\n"
        "int main_one(void) { g('a'); return f(0, 1) + h(2); }\n"
    )
    source = SourceFile(function_of(text, "main_one"))
    prototypes = source.slice(stubbed=frozenset(), dropped=frozenset()).prototypes
    assert "static int f ( struct s * a , int n ) ;" in prototypes
    assert "void g () ;" in prototypes, "a call widens what it gives"
    loose = source.slice(stubbed=frozenset(), dropped=frozenset(), loose=frozenset({"f"}))
    assert "static int f () ;" in loose.prototypes
    assert "return n + 1" in source.slice(stubbed=frozenset(), dropped=frozenset()).helpers


def test_options_are_texts_of_their_own() -> None:
    function = function_of("int f(int c, char **argv) { return argv[1][1] == 'x'; }", "f")
    assert b"-x" in texts(SourceFile(function).code_tokens, ())


def test_a_macro_behind_a_name_is_no_variable() -> None:
    code = renamed_code(function_of("int f(int n) { int unused __MAYBE__; int m = n; return m; }", "f"))
    assert code is not None
    assert "__MAYBE__;" in code
    assert "m_0_renamed" in code
