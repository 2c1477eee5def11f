"""What is known of Rust beforehand: the crates of the image, and names of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

__all__ = [
    "GENERIC_NAMES",
    "LIKELY_TYPES",
    "MACRO_CRATES",
    "STANDARD_PATHS",
    "STANDARD_TRAITS",
    "TRAIT_PATHS",
    "crates_of_image",
]

_LIBRARY_NAMES = {"md-5": "md5"}
"""Crates that code knows by another name than that of their package."""

STANDARD_TRAITS = frozenset(
    word
    for line in (
        "Display Debug Default From Clone Copy PartialEq Eq PartialOrd Ord Hash Drop Deref DerefMut Iterator",
        "IntoIterator Index IndexMut Add Sub Mul Div Rem Neg Not AddAssign SubAssign MulAssign DivAssign",
        "RemAssign BitAnd BitOr BitXor Shl Shr BitOrAssign BitAndAssign BitXorAssign ShlAssign ShrAssign",
        "Error AsRef AsMut Borrow FromStr TryFrom TryInto Into Extend FromIterator Write Read Seek BufRead",
        "DoubleEndedIterator ExactSizeIterator Future Unpin ToString Sum Product BuildHasher Hasher",
        "Send Sync",
    )
    for word in line.split()
)
"""Traits whose implementations are used without being named."""

_MODULES = {
    "std::collections": "HashMap HashSet BTreeMap BTreeSet VecDeque BinaryHeap LinkedList",
    "std::path": "Path PathBuf",
    "std::ffi": "OsStr OsString CStr CString",
    "std::rc": "Rc",
    "std::sync": "Arc Mutex RwLock",
    "std::sync::atomic": "AtomicBool AtomicPtr AtomicUsize AtomicIsize AtomicU8 AtomicU16 AtomicU32 "
    "AtomicU64 AtomicI8 AtomicI16 AtomicI32 AtomicI64",
    "std::pin": "Pin",
    "std::task": "Poll Waker",
    "std::mem": "ManuallyDrop MaybeUninit",
    "std::os::raw": "c_char c_double c_float c_int c_long c_short c_uchar c_uint c_ulong c_ushort",
    "std::time": "Duration Instant SystemTime",
    "std::cell": "Cell RefCell",
    "std::borrow": "Cow",
    "std::ops": "Range RangeInclusive RangeFrom RangeTo Deref Index",
    "std::cmp": "Ordering",
    "std::marker": "PhantomData",
    "std::fs": "File ReadDir DirEntry",
    "std::str": "Chars CharIndices Split Lines Utf8Error",
    "std::iter": "Peekable",
    "std::vec": "IntoIter",
    "std::slice": "Iter",
    "std::num": "ParseIntError ParseFloatError NonZeroUsize NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64",
    "std::string": "FromUtf8Error",
    "std::net": "IpAddr Ipv4Addr Ipv6Addr SocketAddr",
}
STANDARD_PATHS: Mapping[str, str] = MappingProxyType(
    {name: module for module, names in _MODULES.items() for name in names.split()}
)
"""Where the types of the standard library are that a compiler's messages name without a path."""


GENERIC_NAMES = frozenset(
    word
    for line in (
        "HashMap HashSet BTreeMap BTreeSet VecDeque BinaryHeap LinkedList Vec Option Result Box Rc Arc Mutex",
        "RwLock Cell RefCell Cow Range RangeInclusive RangeFrom RangeTo PhantomData Peekable IntoIter",
        "Iter Split",
    )
    for word in line.split()
)
"""Types of the standard library that are none without what they hold."""

_TRAIT_MODULES = {
    "std::io": "Read Write Seek BufRead",
    "std::fmt": "Display Debug LowerHex UpperHex Binary",
    "std::hash": "Hash Hasher BuildHasher",
    "std::str": "FromStr",
    "std::error": "Error",
    "std::borrow": "Borrow BorrowMut ToOwned",
    "std::ops": "Deref DerefMut Index IndexMut Add Sub Mul Div Rem Neg Not AddAssign SubAssign RangeBounds",
    "std::future": "Future",
}
TRAIT_PATHS: Mapping[str, str] = MappingProxyType(
    {name: module for module, names in _TRAIT_MODULES.items() for name in names.split()}
)
"""Where the traits of the standard library are that a file may take from another of its crate."""

_LIKELY = {
    "Option<?>": "expect unwrap unwrap_or unwrap_or_else unwrap_or_default is_some is_none ok_or ok_or_else "
    "and_then or_else cloned copied is_some_and take",
    "std::result::Result<?, ?>": "map_err is_ok is_err ok err unwrap_err",
    "Vec<?>": "iter iter_mut into_iter push pop extend first last get get_mut is_empty len sort "
    "truncate drain swap remove concat join",
    "String": "as_bytes bytes chars char_indices trim to_lowercase to_uppercase push_str parse split lines "
    "trim_end trim_start split_whitespace to_ascii_lowercase find rfind replace as_str starts_with ends_with",
    "std::collections::HashMap<String, ?>": "contains_key entry keys values",
    "i64": "wrapping_add wrapping_sub wrapping_mul checked_add checked_sub checked_mul saturating_add pow "
    "saturating_sub overflowing_add leading_zeros trailing_zeros count_ones rotate_left abs to_le_bytes",
    "char": "is_whitespace is_alphabetic is_alphanumeric is_numeric is_ascii_digit is_digit to_digit "
    "len_utf8 is_uppercase is_lowercase is_control",
    "f64": "sqrt floor ceil round powi powf sin cos",
    "std::cell::RefCell<?>": "borrow_mut",
    "std::sync::Mutex<?>": "lock",
}
LIKELY_TYPES: Mapping[str, str] = MappingProxyType(
    {method: kind for kind, methods in _LIKELY.items() for method in methods.split()}
)
"""What a value may be of which only a method is known that is called; ``?`` is not known either."""

_MACROS = {
    "lazy_static": "lazy_static",
    "bitflags": "bitflags",
    "cfg_if": "cfg_if",
    "anyhow": "anyhow bail ensure",
    "smallvec": "smallvec",
    "static_assertions": "const_assert const_assert_eq assert_impl_all assert_not_impl_any assert_eq_size",
    "itertools": "iproduct izip",
    "serde_json": "json",
    "scopeguard": "defer",
    "tinyvec": "array_vec tiny_vec",
}
MACRO_CRATES: Mapping[str, str] = MappingProxyType(
    {name: crate for crate, names in _MACROS.items() for name in names.split()}
)
"""Which crate a macro is of that a file takes from the root of its own crate."""


@cache
def crates_of_image() -> frozenset[str]:
    """The crates that the image has, by the names that code knows them by."""
    listed = resources.files("pytest_funcmem.sandbox.images").joinpath("rust", "crates.txt")
    names = listed.read_text(encoding="ascii").split()
    return frozenset(_LIBRARY_NAMES.get(name, name).replace("-", "_") for name in names)
