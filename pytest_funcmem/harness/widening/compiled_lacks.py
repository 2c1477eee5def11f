"""What candidates in C, Rust and Go lacked, by the compiler's first message, and how a scaffold gets it.

Scaffolds of these languages hold what the original reaches of its file, so that a header or an import which
only a candidate uses is not there even if the file has it. Java's messages name no class and are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from pytest_funcmem.core.records import Language, OutputState, Scaffold

__all__ = ["compiled_lack", "widened_compiled"]


def _by_name(table: Mapping[str, str]) -> Mapping[str, str]:
    """Each word of the values, with its key."""
    return MappingProxyType({word: key for key, words in table.items() for word in words.split()})


def _by_base(*texts: str) -> Mapping[str, str]:
    """Import paths by the name that they bind."""
    paths = [path for text in texts for path in text.split()]
    return MappingProxyType({path.rpartition("/")[2]: path for path in paths})


_C_HEADERS = _by_name(
    {
        "errno.h": "errno EACCES EAGAIN EBADF EBUSY EDOM EEXIST EINTR EINVAL EIO ENOENT ENOMEM ENOSPC ENOSYS "
        "ENOTSUP EOVERFLOW EPERM EPIPE ERANGE ETIMEDOUT EWOULDBLOCK",
        "float.h": "DBL_DIG DBL_EPSILON DBL_MAX DBL_MIN FLT_EPSILON FLT_MAX FLT_MIN LDBL_MAX",
        "inttypes.h": "PRId32 PRId64 PRIu32 PRIu64 PRIx32 PRIx64 SCNd64 SCNu64",
        "limits.h": "CHAR_BIT CHAR_MAX CHAR_MIN INT_MAX INT_MIN LLONG_MAX LLONG_MIN LONG_MAX LONG_MIN "
        "PATH_MAX SCHAR_MAX SHRT_MAX SHRT_MIN UCHAR_MAX UINT_MAX ULLONG_MAX ULONG_MAX USHRT_MAX",
        "math.h": "HUGE_VAL INFINITY M_E M_LN2 M_PI M_PI_2 M_SQRT2 NAN",
        "stdarg.h": "va_list",
        "stdbool.h": "bool false true",
        "stddef.h": "NULL ptrdiff_t size_t wchar_t",
        "stdint.h": "INT16_MAX INT16_MIN INT32_MAX INT32_MIN INT64_MAX INT64_MIN INT8_MAX INT8_MIN SIZE_MAX "
        "UINT16_MAX UINT32_MAX UINT64_MAX UINT8_MAX int16_t int32_t int64_t int8_t intmax_t intptr_t "
        "uint16_t uint32_t uint64_t uint8_t uintmax_t uintptr_t",
        "stdio.h": "BUFSIZ EOF FILE SEEK_CUR SEEK_END SEEK_SET stderr stdin stdout",
        "stdlib.h": "EXIT_FAILURE EXIT_SUCCESS RAND_MAX",
        "sys/types.h": "off_t pid_t ssize_t uint",
        "time.h": "CLOCKS_PER_SEC clock_t time_t",
    }
)
_RUST_ITEMS = _by_name(
    {
        "std": "cell cmp collections env fmt fs hash io iter mem ops path process ptr rc sync thread time",
        "std::borrow": "Borrow Cow",
        "std::cell": "Cell OnceCell RefCell",
        "std::cmp": "Ordering Reverse",
        "std::collections": "BTreeMap BTreeSet BinaryHeap HashMap HashSet LinkedList VecDeque",
        "std::collections::hash_map": "DefaultHasher",
        "std::ffi": "CStr CString OsStr OsString",
        "std::fmt": "Debug Display",
        "std::hash": "Hash Hasher",
        "std::marker": "PhantomData",
        "std::num": "NonZeroU32 NonZeroUsize ParseFloatError ParseIntError Wrapping",
        "std::ops": "Add AddAssign Deref DerefMut Div Index IndexMut Mul Neg Not Range RangeInclusive Sub",
        "std::path": "Path PathBuf",
        "std::rc": "Rc",
        "std::str": "FromStr Utf8Error",
        "std::sync": "Arc Mutex OnceLock RwLock",
        "std::time": "Duration Instant SystemTime",
    }
)
_GO_PACKAGES = _by_base(
    "bufio bytes cmp container/heap container/list context crypto/md5 crypto/sha1 crypto/sha256",
    "crypto/sha512 encoding/base64 encoding/binary encoding/csv encoding/hex encoding/json errors fmt",
    "hash/crc32 hash/fnv html io log maps math math/big math/bits math/cmplx math/rand net/url os path",
    "path/filepath reflect regexp slices sort strconv strings sync sync/atomic time unicode unicode/utf16",
    "unicode/utf8",
)

_C_UNKNOWN = re.compile(
    r"function\.c:\d+:\d+: error: (?:unknown type name [\u2018'](\w+)[\u2019']"
    r"|[\u2018'](\w+)[\u2019'] undeclared).*"
)
_RUST_UNKNOWN = re.compile(r"error\[E0(?:405|412|422|425|433)\]: [^`]*`(\w+)`.*")
_GO_UNKNOWN = re.compile(r"function\.go:\d+: undefined: (\w+)")
_C_PROGRAM, _RUST_PROGRAM, _GO_OUTLINE = "program.c", "program.rs", "outline.json"


def compiled_lack(language: Language, output: OutputState) -> str | None:
    """What a candidate did not compile for want of, as the statement that brings it in; None if nothing."""
    if output.outcome != "unloadable":
        return None
    said = output.detail.partition("\n")[0]
    match language:
        case "c":
            found = _C_UNKNOWN.fullmatch(said)
            header = _C_HEADERS.get(found[1] or found[2]) if found is not None else None
            return None if header is None else f"#include <{header}>"
        case "rust":
            found = _RUST_UNKNOWN.fullmatch(said)
            path = _RUST_ITEMS.get(found[1]) if found is not None else None
            return None if found is None or path is None else f"use {path}::{found[1]};"
        case "go":
            found = _GO_UNKNOWN.fullmatch(said)
            package = _GO_PACKAGES.get(found[1]) if found is not None else None
            return None if package is None else f'import "{package}"'
        case _:
            return None


def widened_compiled(language: Language, scaffold: Scaffold, lacks: Sequence[str]) -> Scaffold:
    """The scaffold with what was lacking, in the order of the alphabet."""
    head = "".join(f"{lack}\n" for lack in sorted(lacks))
    files = []
    for name, text in scaffold.files:
        if (language, name) == ("c", _C_PROGRAM):
            text = f'# 1 "wider.c"\n{head}{text}'
        elif (language, name) == ("rust", _RUST_PROGRAM):
            text = head + text
        elif (language, name) == ("go", _GO_OUTLINE):
            text = _with_packages(text, [lack.split('"')[1] for lack in lacks])
        files.append((name, text))
    return replace(scaffold, files=tuple(files))


def _with_packages(text: str, paths: Sequence[str]) -> str:
    """An outline that knows more packages of the standard library; each is imported where it is used."""
    outline = json.loads(text)
    standard = {path.rpartition("/")[2]: path for path in sorted(paths)}
    outline["standard"] = {**standard, **(outline.get("standard") or {})}
    return json.dumps(outline, separators=(",", ":"))
