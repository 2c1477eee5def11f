"""What is known of Rust beforehand: the crates of the image, and names of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType

__all__ = ["STANDARD_PATHS", "STANDARD_TRAITS", "crates_of_image"]

_LIBRARY_NAMES = {"md-5": "md5"}
"""Crates that code knows by another name than that of their package."""

STANDARD_TRAITS = frozenset(
    word
    for line in (
        "Display Debug Default From Clone Copy PartialEq Eq PartialOrd Ord Hash Drop Deref DerefMut Iterator",
        "IntoIterator Index IndexMut Add Sub Mul Div Rem Neg Not AddAssign SubAssign MulAssign DivAssign",
        "RemAssign BitAnd BitOr BitXor Shl Shr BitOrAssign BitAndAssign BitXorAssign ShlAssign ShrAssign",
        "Error AsRef AsMut Borrow FromStr TryFrom TryInto Into Extend FromIterator Write Read Seek BufRead",
        "DoubleEndedIterator ExactSizeIterator Future ToString Sum Product BuildHasher Hasher",
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
    "std::num": "ParseIntError ParseFloatError NonZeroUsize NonZeroU32",
    "std::string": "FromUtf8Error",
    "std::net": "IpAddr Ipv4Addr Ipv6Addr SocketAddr",
}
STANDARD_PATHS: Mapping[str, str] = MappingProxyType(
    {name: module for module, names in _MODULES.items() for name in names.split()}
)
"""Where the types of the standard library are that a compiler's messages name without a path."""


@cache
def crates_of_image() -> frozenset[str]:
    """The crates that the image has, by the names that code knows them by."""
    listed = resources.files("pytest_funcmem.sandbox.images").joinpath("rust", "crates.txt")
    names = listed.read_text(encoding="ascii").split()
    return frozenset(_LIBRARY_NAMES.get(name, name).replace("-", "_") for name in names)
