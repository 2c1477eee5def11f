from __future__ import annotations

import pytest

from pytest_funcmem.core.protocols import LanguageFrontend
from pytest_funcmem.core.records import Language
from pytest_funcmem.languages import body_lines, frontend

C_SOURCE = """\
#include <stdio.h>
#define CHECK(x) do { if (!(x)) return; } while (0)

int prototype(int x);

static inline int one(int x) {
    return x;
}

static char *
gnu (const char *s, int n)
{
  return s + n;
}

int
knr(a, b)
    int a;
    char *b;
{
    CHECK(b);
    return a;
}

void (*pointer(int n))(void)
{
    return 0;
}

void macros(struct list *l) {
    FOREACH(item, l) {
        use(item)
    }
    EXPAND(l, +)
}

#ifdef A
int chosen(int x) {
#else
int chosen(long x) {
#endif
    return x;
}

int empty(void) { /* nothing */ }

int branch(int x) {
#if A
    if (x) {
#else
    if (!x) {
#endif
        x++;
    }
    return x;
}
"""
JAVA_SOURCE = """\
package a.b;

public class Outer<T> extends Base {
    private int x = 1;

    public Outer(int x) {
        this.x = x;
    }

    @Override
    @SuppressWarnings("unchecked")
    // why
    public <R> Map<String, R> generic(List<? extends R> in)
            throws IOException
    {
        Runnable r = new Runnable() { public void run() { x(); } };
        return null;
    }

    public @Nullable String late() { return "}"; }

    abstract void nothing();

    interface Inner {
        void declared();

        default int method() { return 1; }

        enum Kind {
            A { int f() { return 1; } }, B;

            int f() { return 2; }
        }
    }

    record Point(int x, int y) {
        Point {
            check(x);
        }
    }
}
"""
RUST_SOURCE = """\
mod inner {
    pub(crate) fn function<T: Into<String>>(x: T) -> String
    where
        T: Clone,
    {
        fn nested() {}
        x.into()
    }
}

impl<'a, T> Encoder<'a, T> {
    /// Doc.
    #[inline]
    // why
    #[must_use]
    pub fn write(&mut self) -> char { '}' }
}

impl<T> fmt::Display for &'a path::Shown<T> {
    fn fmt(&self) -> R { r#"}"# }
}

trait Shape {
    fn area(&self) -> f64;
    fn double(&self) -> f64 { self.area() * 2.0 }
}

impl Trait for [u8] {
    unsafe extern "C" fn raw(x: i32) -> i32 { x }
}
"""
GO_SOURCE = """\
package main

type T struct{}

func plain(x int) (y int, err error) {
	return x, nil
}

func (c *Crawler[K, V]) Preprocess(v interface{}) interface{} {
	f := func() { go run() }
	return f
}

func (List) Len() int { return `}` }

func Generic[K comparable, V any](m map[K]V) []K {
	return nil
}

func external(x int) int
"""
EXPECTED: dict[Language, tuple[str, list[tuple[str, int, str]], dict[str, int]]] = {
    "c": (
        C_SOURCE,
        [
            ("one", 6, "static inline int one(int x) {"),
            ("gnu", 10, "static char *\ngnu (const char *s, int n)"),
            ("knr", 16, "int\nknr(a, b)\n    int a;\n    char *b;"),
            ("pointer", 25, "void (*pointer(int n))(void)"),
            ("macros", 30, "void macros(struct list *l) {"),
            ("chosen", 38, "int chosen(int x) {"),
            ("branch", 47, "int branch(int x) {"),
        ],
        {"no_body": 1},
    ),
    "java": (
        JAVA_SOURCE,
        [
            ("Outer.Outer", 6, "public Outer(int x) {"),
            (
                "Outer.generic",
                13,
                "public <R> Map<String, R> generic(List<? extends R> in)\n            throws IOException",
            ),
            ("Outer.late", 20, "public @Nullable String late() {"),
            ("Outer.Inner.method", 27, "default int method() {"),
            ("Outer.Inner.Kind.A.f", 30, "int f() {"),
            ("Outer.Inner.Kind.f", 32, "int f() {"),
            ("Outer.Point.Point", 37, "Point {"),
        ],
        {"no_body": 2},
    ),
    "rust": (
        RUST_SOURCE,
        [
            (
                "function",
                2,
                "pub(crate) fn function<T: Into<String>>(x: T) -> String\n    where\n        T: Clone,",
            ),
            ("Encoder.write", 16, "pub fn write(&mut self) -> char {"),
            ("Shown.fmt", 20, "fn fmt(&self) -> R {"),
            ("Shape.double", 25, "fn double(&self) -> f64 {"),
            ("u8.raw", 29, 'unsafe extern "C" fn raw(x: i32) -> i32 {'),
        ],
        {"no_body": 1},
    ),
    "go": (
        GO_SOURCE,
        [
            ("plain", 5, "func plain(x int) (y int, err error) {"),
            ("Crawler.Preprocess", 9, "func (c *Crawler[K, V]) Preprocess(v interface{}) interface{} {"),
            ("List.Len", 14, "func (List) Len() int {"),
            ("Generic", 16, "func Generic[K comparable, V any](m map[K]V) []K {"),
        ],
        {"no_body": 1},
    ),
}
BRACED: tuple[Language, ...] = ("c", "java", "rust", "go")


@pytest.mark.parametrize("language", BRACED)
def test_definitions_names_lines_and_signatures(language: Language) -> None:
    source, expected, dropped = EXPECTED[language]
    front = frontend(language)
    assert isinstance(front, LanguageFrontend)
    found = front.scan(source, path="x")
    assert [(f.qualname, f.line, f.signature) for f in found.functions] == expected
    assert found.dropped == dropped
    for function in found.functions:
        assert function.code.endswith("}")
        assert front.candidate(function, source[function.signature_end :]).code == function.code


def test_annotations_and_attributes_stand_before_the_signature() -> None:
    (generic,) = [
        f for f in frontend("java").scan(JAVA_SOURCE, path="x").functions if f.qualname == "Outer.generic"
    ]
    assert generic.text[generic.definition_start :].startswith("@Override")
    (write,) = [
        f for f in frontend("rust").scan(RUST_SOURCE, path="x").functions if f.qualname == "Encoder.write"
    ]
    assert write.text[write.definition_start :].startswith("#[inline]")


def test_java_overloads_are_ambiguous() -> None:
    source = (
        "class A {\n    int f() { return 1; }\n    int f(int x) { return x; }\n    int g() { return 2; }\n}\n"
    )
    found = frontend("java").scan(source, path="A.java").functions
    assert [f.key for f in found] == ["A.java::A.f@2", "A.java::A.f@3", "A.java::A.g"]


@pytest.mark.parametrize(
    ("language", "before", "broken", "after"),
    [
        ("c", "int a(void) { return 1; }\n", "int b(void) { return (1; }\n", "int c(void) { return 1; }\n"),
        ("go", "func a() { x() }\n", "func b() { x( }\n", "func c() { x() }\n"),
        ("rust", "fn a() { x() }\n", "fn b() { let = ; }\n", "fn c() { x() }\n"),
        (
            "java",
            "class A {\n    void a() { x(); }\n",
            "    void b() { x(; }\n",
            "    void c() { x(); }\n}\n",
        ),
    ],
)
def test_a_syntax_error_costs_only_its_own_function(
    language: Language, before: str, broken: str, after: str
) -> None:
    found = frontend(language).scan(before + broken + after, path="x")
    assert [f.qualname.rpartition(".")[2] for f in found.functions] == ["a", "c"]
    assert found.dropped == {"syntax_error": 1}


@pytest.mark.parametrize("language", BRACED)
def test_generated_and_reordered_files_are_dropped(language: Language) -> None:
    source, _, _ = EXPECTED[language]
    front = frontend(language)
    total = len(front.scan(source, path="x").functions)
    generated = front.scan("// Code generated by protoc-gen-go. DO NOT EDIT.\n" + source, path="x")
    assert generated.functions == ()
    assert generated.dropped["generated"] >= total
    reordered = front.scan(source + "<fim_suffix>\n", path="x")
    assert reordered.functions == ()
    assert set(reordered.dropped) == {"fill_in_the_middle"}


def test_html_in_a_comment_is_no_sentinel() -> None:
    source = "class A {\n    /** <PRE>x</PRE> */\n    int f() { return 1; }\n}\n"
    assert [f.qualname for f in frontend("java").scan(source, path="x").functions] == ["A.f"]


@pytest.mark.parametrize("language", BRACED)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "{",
        "}",
        "{" * 5000,
        "(" * 5000,
        '"',
        "'",
        "/*",
        "#",
        "�",
        "fn",
        "func",
        "class",
        "int f(",
        "`",
        "impl {",
        "int f(x) int x; {",
        "func (",
        "func () f() {}",
        "class A { void f( }",
        "é𝄞{}",
        "#if\n",
        "#else\n{}",
    ],
)
def test_hostile_text_never_raises(language: Language, text: str) -> None:
    front = frontend(language)
    for source in (text, EXPECTED[language][0] + text, text + "\n" + EXPECTED[language][0]):
        for function in front.scan(source, path="x").functions:
            assert (
                function.definition_start <= function.signature_start < function.signature_end <= function.end
            )


@pytest.mark.parametrize("language", BRACED)
def test_offsets_count_characters(language: Language) -> None:
    source, expected, _ = EXPECTED[language]
    shifted = "// é€𝄞\n" * 2000 + source.replace("// why", "// wé𝄞y")
    found = frontend(language).scan(shifted, path="x").functions
    assert [(f.qualname, f.line - 2000, f.signature) for f in found] == expected


@pytest.mark.parametrize(
    ("language", "source", "lines"),
    [
        ("c", "int f(void) {\n    int x;\n\n    return x;\n}\n", 3),
        ("c", "int f(void)\n{\n    return 1;\n}\n", 1),
        ("java", "class A { int f() { return 1; } }", 1),
        ("go", "func f() {\n\t// c\n\tx()\n}\n", 2),
        ("rust", "fn f()\n{\n    x() }\n", 1),
    ],
)
def test_body_lines_count_neither_signature_nor_outer_braces(
    language: Language, source: str, lines: int
) -> None:
    (function,) = frontend(language).scan(source, path="x").functions
    assert body_lines(function) == lines
