"""The tables that guesses rest on: what names, hints and methods suggest, and values that look real.

Tables only; how they are used is up to ``uses``, ``shapes`` and ``strategies``.
"""

from __future__ import annotations

__all__ = [
    "ARGUMENT_KINDS",
    "ATTRIBUTE_KINDS",
    "CALLABLES",
    "DATETIMES",
    "DATE_SAMPLES",
    "DICT_HINTS",
    "EDGE_TEXTS",
    "FLAVOURED",
    "FLAVOURS",
    "FLOATS",
    "ITERATORS",
    "LIST_HINTS",
    "METHOD_KINDS",
    "NAME_KINDS",
    "PATTERN_SAMPLES",
    "PLAIN_HINTS",
    "SENTENCES",
    "SET_HINTS",
    "TEXT_KEEPERS",
    "TYPE_KINDS",
    "WORDS",
]


def _words(*texts: str) -> tuple[str, ...]:
    return tuple(word for text in texts for word in text.split())


def _ending_in(*texts: str) -> str:
    """Regular expression for names that are, or end in, one of some words."""
    return rf"(^|_)({'|'.join(_words(*texts))})$"


def _votes(kind: str, weight: int, *texts: str) -> dict[str, tuple[str, int]]:
    return dict.fromkeys(_words(*texts), (kind, weight))


# ---------------------------------------------------------------------------------------- hints and names

PLAIN_HINTS: dict[str, str] = {
    **{name: name for name in _words("int float complex str bytes bool datetime date time timedelta")},
    **dict.fromkeys(_words("object Any"), "any"),
    **dict.fromkeys(_words("AnyStr Text LiteralString Hashable"), "str"),
    **dict.fromkeys(_words("Number Real"), "number"),
    **dict.fromkeys(_words("Path PurePath PosixPath"), "path"),
    **dict.fromkeys(_words("TextIO IO StringIO"), "file"),
    **dict.fromkeys(_words("Exception BaseException"), "exception"),
    "bytearray": "bytes",
    "None": "none",
    "Decimal": "decimal",
    "Fraction": "fraction",
    "UUID": "uuid",
    "Pattern": "pattern",
    "SupportsFloat": "float",
}
"""Last part of a hint -> kind."""

LIST_HINTS = frozenset(
    _words(
        "list List Sequence MutableSequence Iterable Iterator Collection Container Generator",
        "deque Deque Sized",
    )
)
SET_HINTS = frozenset(_words("set Set MutableSet AbstractSet frozenset FrozenSet"))
DICT_HINTS = frozenset(_words("dict Dict Mapping MutableMapping DefaultDict defaultdict OrderedDict Counter"))

NAME_KINDS: tuple[tuple[str, str], ...] = (
    (_ending_in("grid board matrix maze image"), "grid"),
    (r"^(is|has|use|should|enable|include|allow|with|no|do)_", "bool"),
    (_ending_in("flag verbose debug strict force recursive"), "bool"),
    (
        _ending_in(
            "dict mapping map config cfg options params kwargs headers settings payload",
            "record meta metadata json",
            "info context env attrs properties",
        ),
        "dict",
    ),
    (
        _ending_in(
            "items values lines words numbers nums list lst arr array rows elements points",
            "names ids keys tokens",
            "args files strings prices scores weights edges nodes vals seq sequence records entries results",
            "intervals",
        ),
        "list",
    ),
    (_ending_in("callback func fn function predicate handler key_func"), "callable"),
    (_ending_in("datetime timestamp dt"), "datetime"),
    (_ending_in("date day_of"), "date"),
    (
        _ending_in(
            "price rate ratio weight score threshold alpha beta temperature temp percent",
            "percentage factor amount",
            "lat lon lng radius distance speed income salary balance volume probability tolerance eps",
        ),
        "float",
    ),
    (
        _ending_in(
            "count num n m size length len width height index idx i j k x y z a b limit max",
            "min level depth port",
            "age year month day hour hours minute minutes seconds number offset start end",
            "stop step id cols columns",
            "total page low high left right target quantity capacity steps retries timeout value val",
        ),
        "int",
    ),
    (
        _ending_in(
            "name title label text msg message word sentence line url uri path filename file",
            "key prefix suffix token",
            "content code s string str char delimiter sep separator email lang language city",
            "country password user",
            "username query pattern expr expression type mode status command cmd tag format",
            "fmt address phone input",
        ),
        "str",
    ),
    (_ending_in("data"), "list"),
)
"""What a name suggests, the first match counts: (regular expression, kind)."""

FLAVOURS: tuple[tuple[str, str], ...] = (
    (_ending_in("url uri link endpoint"), "url"),
    (_ending_in("email mail"), "email"),
    (_ending_in("path file filename filepath dir directory"), "path"),
    (_ending_in("date day date_str day_str date_string"), "date"),
    (_ending_in("time timestamp datetime time_str time_string"), "time"),
    (_ending_in("sentence text content message msg paragraph description body document line"), "sentence"),
    (_ending_in("phone digits number phone_number number_str"), "digits"),
    (_ending_in("json json_str json_string json_data json_text"), "json"),
    (_ending_in("version"), "version"),
    (_ending_in("ip host hostname ip_address"), "ip"),
)
"""What texts of a name look like: (regular expression, key of ``FLAVOURED``)."""

# ------------------------------------------------------------------------------------------------- uses

TEXT_KEEPERS = frozenset(
    _words(
        "strip lstrip rstrip lower upper title capitalize casefold swapcase replace zfill ljust rjust center",
        "removeprefix removesuffix expandtabs translate format",
    )
)
"""Methods of a text that give a text like it."""

METHOD_KINDS: dict[str, tuple[str, int]] = {
    **dict.fromkeys(sorted(TEXT_KEEPERS), ("str", 3)),
    **_votes(
        "str", 3, "split rsplit splitlines partition rpartition startswith endswith encode isdigit isalpha"
    ),
    **_votes(
        "str", 3, "isalnum isnumeric isspace isupper islower isdecimal isidentifier istitle find rfind rindex"
    ),
    **_votes("list", 3, "append extend insert sort reverse"),
    **_votes("list", 1, "index count copy pop"),
    **_votes("dict", 3, "items keys values get setdefault popitem"),
    **_votes("set", 2, "add discard union intersection difference issubset issuperset"),
    **_votes("datetime", 3, "strftime isoformat timestamp weekday isoweekday astimezone"),
    **_votes("timedelta", 3, "total_seconds"),
    **_votes("file", 3, "read readline readlines write writelines seek flush"),
    **_votes("path", 3, "exists is_file is_dir read_text write_text mkdir joinpath iterdir"),
    **_votes("bytes", 3, "decode hex"),
    **_votes("float", 3, "is_integer as_integer_ratio"),
    **_votes("int", 3, "bit_length to_bytes"),
}
"""Method -> (kind of its object, votes)."""

ATTRIBUTE_KINDS: dict[str, tuple[str, int]] = {
    **_votes("datetime", 2, "year month day hour minute second microsecond tzinfo"),
    **_votes("timedelta", 1, "days seconds"),
    **_votes("path", 2, "stem suffix parent parts"),
}
"""Attribute -> (kind of its object, votes)."""

ARGUMENT_KINDS: dict[str, tuple[str, int]] = {
    **_votes("int", 3, "range chr bin hex"),
    **_votes("int", 2, "divmod"),
    **_votes("number", 3, "abs round"),
    **_votes("number", 1, "Decimal"),
    **_votes("char", 3, "ord"),
    **_votes("list", 1, "len"),
    **_votes("callable", 1, "callable"),
    **_votes("str", 3, "os.path.join os.path.exists os.path.basename os.path.splitext os.path.dirname"),
    **_votes("str", 3, "urllib.parse.quote bytes.fromhex"),
    **_votes("str", 2, "open Path os.listdir base64.b64decode"),
    **_votes("json", 3, "json.loads"),
    **_votes("url", 3, "urlparse urllib.parse.urlparse"),
    **_votes("bytes", 2, "base64.b64encode"),
}
"""Function -> (kind of its first argument, votes)."""

ITERATORS = frozenset(_words("list tuple set frozenset sorted reversed iter sum max min any all enumerate"))
"""Functions that iterate over their only argument."""

TYPE_KINDS: dict[str, str] = {
    **{name: name for name in _words("str int float bool bytes list dict tuple set datetime date")},
    "Path": "path",
    "Decimal": "decimal",
}
"""Class -> kind, for ``isinstance`` and the parameters of helpers."""

# ----------------------------------------------------------------------------------------------- values

WORDS = _words("alpha beta gamma delta apple Bob x ab Hello test foo_bar Zed9 a b")
SENTENCES = (
    "the quick brown fox",
    "Hello World",
    "hello world hello",
    "a b c",
    "one, two, three",
    "Line one\nLine two",
    "It costs 42 dollars.",
    "racecar",
    "To be or not to be",
    "3 4 5",
)
EDGE_TEXTS = (
    "",
    " ",
    *_words("0 12 -7 3.5 A abc123"),
    "Mixed Case",
    "trailing ",
    *_words("a,b,c key=value x.y"),
)
FLAVOURED: dict[str, tuple[str, ...]] = {
    "url": _words(
        "http://example.com https://example.org/path/page?x=1&y=2 https://user@host.net:8080/a/b#frag",
        "ftp://files.example.com/x.txt example.com https://example.com/index.html",
    ),
    "email": _words("user@example.com first.last@sub.domain.org no-at-sign a@b name+tag@mail.co.uk @x.com"),
    "path": _words("data.txt /tmp/file.csv dir/sub/name.tar.gz no_extension ../up.py a/b/c.json .hidden"),
    "date": _words("2024-01-31 2023-12-25 2024-02-29 1999-07-04 31/12/2020 not-a-date 2024-13-01"),
    "time": ("2024-01-31T12:30:45", "2023-06-01 08:00:00", *_words("12:30:45 23:59 07:05 99:99")),
    "sentence": SENTENCES,
    "digits": (*_words("123 0 4111111111111111 555-1234 007 98765"), "+1 555 123 4567"),
    "json": (
        '{"a": 1, "b": [2, 3]}',
        "[]",
        "{}",
        '{"name": "Ann", "age": 30}',
        "not json",
        '[1, 2, {"x": null}]',
    ),
    "version": _words("1.2.3 0.9 2.0.0rc1 10.11.12 v1.4 1"),
    "ip": _words("192.168.0.1 10.0.0.255 256.1.1.1 localhost 127.0.0.1 1.2.3"),
}
CALLABLES = (
    "lambda *a, **k: None",
    "lambda *a: a[0] if a else 0",
    "lambda *a: True",
    "lambda *a: False",
    "lambda *a: len(a)",
    "str",
    "bool",
)
FLOATS = _words("0.0 0.5 1.0 2.5 10.0 99.99 -1.0 -2.5 100.0 1500.0 0.01 3.25 42.0")
DATETIMES = (
    (2024, 1, 31, 12, 30, 45),
    (2023, 12, 25, 0, 0, 0),
    (2024, 2, 29, 23, 59, 59),
    (2000, 7, 4, 8, 5, 0),
    (2021, 3, 14, 15, 9, 26),
    (1999, 12, 31, 6, 0, 0),
)

_DATE_CODES = _words("%Y %m %d %H %M %S %y %b %B %A %a %p %I %j %f %z %Z")
DATE_SAMPLES: tuple[dict[str, str], ...] = tuple(
    dict(zip(_DATE_CODES, _words(texts), strict=True))
    for texts in (
        "2024 02 29 13 45 07 24 Feb February Thursday Thu PM 01 060 000250 +0000 UTC",
        "1999 12 05 00 00 59 99 Dec December Sunday Sun AM 12 339 000000 +0000 UTC",
    )
)
"""Two moments, written in each of the codes of ``strptime``."""

PATTERN_SAMPLES: tuple[tuple[str, str], ...] = (
    (r"\d", "7"),
    (r"\w", "a"),
    (r"\s", " "),
    (r"\b", ""),
    (r"\S", "x"),
    (r"\D", "d"),
    (r"\W", "-"),
    (r"\.", "."),
    (r"\Z", ""),
    (r"\A", ""),
    (r"\n", "\n"),
    (r"\t", "\t"),
)
"""Escape of a regular expression -> a text that it matches."""
