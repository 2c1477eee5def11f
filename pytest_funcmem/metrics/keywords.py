"""Keywords of the five languages, which weigh more in CodeBLEU's second part.

The sets are those with which CodeBLEU's figures are usually computed, oddities included (the fragment
specifiers of Rust's macros count, Go's ``nil`` does not), so that figures can be compared.
"""

from __future__ import annotations

from pytest_funcmem.core.records import Language

__all__ = ["KEYWORDS"]

_WORDS: dict[Language, str] = {
    "python": """
        False None True and as assert async await break case class continue def del elif else except
        finally for from global if import in is lambda match nonlocal not or pass raise return try type
        while with yield
    """,
    "java": """
        abstract assert boolean break byte case catch char class const continue default do double else
        enum extends final finally float for goto if implements import instanceof int interface long
        native new package private protected public return short static strictfp super switch
        synchronized this throw throws transient try void volatile while
    """,
    "c": """
        _Packed auto break case char const continue default do double else enum extern float for goto
        if int long register return short signed sizeof static struct switch typedef union unsigned
        void volatile while
    """,
    "rust": """
        as async await block bool break char const continue crate default dyn else enum expr extern f32
        f64 false fn for i128 i16 i32 i64 i8 ident if impl in isize item let lifetime literal loop
        macro_rules! match meta mod move mut pat path pub ref return self static stmt str struct super
        trait true tt ty type u128 u16 u32 u64 u8 union unsafe use usize vis where while yield
    """,
    "go": """
        break case chan const continue default defer else fallthrough false for func go goto if import
        interface map package range return select struct switch true type var
    """,
}

KEYWORDS: dict[Language, frozenset[str]] = {
    language: frozenset(words.split()) for language, words in _WORDS.items()
}
