//! Encodes values of any type; types that nothing better is known of by their Debug text.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::*;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::{Bound, ControlFlow, Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::task::Poll;

use crate::encoding::Encoding;
use crate::pointers::{dump_pointer, dump_unnamed};

const DEEPEST: usize = 60;
const MOST_ITEMS: usize = 20_000;
pub const MOST_DRAINED: usize = 2_000;

/// How a value is encoded; ``depth`` counts the values around it.
pub trait Dump {
    fn dump(&self, depth: usize) -> Encoding;
    fn dump_slice(items: &[Self], depth: usize) -> Encoding
    where
        Self: Sized;

    fn encoded(&self) -> Encoding {
        self.dump(0)
    }
}

impl<T: ?Sized> Dump for T {
    default fn dump(&self, depth: usize) -> Encoding {
        if std::mem::size_of::<&T>() > std::mem::size_of::<usize>() {
            if let Some(known) = dump_unnamed(self as *const T as *const u8 as usize, depth) {
                return known;
            }
        }
        self.described()
    }

    default fn dump_slice(items: &[Self], depth: usize) -> Encoding
    where
        Self: Sized,
    {
        Encoding::List(several(items.iter(), depth))
    }
}

fn several<'a, T: 'a>(items: impl Iterator<Item = &'a T>, depth: usize) -> Vec<Encoding> {
    if depth > DEEPEST {
        return vec![Encoding::Opaque("deep".to_string())];
    }
    items.take(MOST_ITEMS).map(|item| item.dump(depth + 1)).collect()
}

trait Described {
    fn described(&self) -> Encoding;
}

/// The last name of a type's path, without its parameters.
pub fn short_name<T: ?Sized>() -> String {
    let name = std::any::type_name::<T>();
    let bare = name.split('<').next().unwrap_or(name);
    bare.rsplit("::").next().unwrap_or(bare).to_string()
}

impl<T: ?Sized> Described for T {
    default fn described(&self) -> Encoding {
        Encoding::Opaque(short_name::<T>())
    }
}

impl<T: ?Sized + Debug> Described for T {
    fn described(&self) -> Encoding {
        Encoding::Value(short_name::<T>(), without_addresses(&format!("{:?}", self)))
    }
}

/// A Debug text in which no address stands: they differ from run to run.
fn without_addresses(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(place) = rest.find("0x") {
        let digits = rest[place + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
        out.push_str(&rest[..place + 2]);
        out.push_str(if digits > 6 { "_" } else { &rest[place + 2..place + 2 + digits] });
        rest = &rest[place + 2 + digits..];
    }
    out.push_str(rest);
    out
}

/// What an iterator gives, up to a bound.
pub fn drained<I: Iterator>(items: I) -> Encoding {
    Encoding::Iterator("impl Iterator".to_string(), items.take(MOST_DRAINED).map(|item| item.dump(1)).collect())
}

/// How long a stand-in walks through what it is given to walk through.
const MOST_GIVEN: usize = 256;

/// What is given away for good is encoded; an iterator is walked through, since only then its closures run.
pub trait Given: Sized {
    fn given(self) -> Encoding;
}

impl<T> Given for T {
    default fn given(self) -> Encoding {
        self.encoded()
    }
}

impl<I: Iterator> Given for I {
    default fn given(self) -> Encoding {
        Encoding::Iterator("impl Iterator".to_string(), self.take(MOST_GIVEN).map(|item| item.dump(1)).collect())
    }
}

/// What is only lent will be walked through by somebody else.
impl<I: Iterator + ?Sized> Given for &mut I {
    fn given(self) -> Encoding {
        (*self).encoded()
    }
}

fn variant(name: &str, fields: Vec<Encoding>) -> Encoding {
    let fields = fields.into_iter().enumerate().map(|(place, field)| (place.to_string(), field)).collect();
    Encoding::Object(name.to_string(), fields)
}

macro_rules! scalars {
    ($($kind:ty => |$value:ident| $made:expr;)*) => {$(
        impl Dump for $kind {
            fn dump(&self, _depth: usize) -> Encoding { let $value = self; $made }
        }
    )*};
}

scalars! {
    i8 => |value| Encoding::Int(*value as i128);
    i16 => |value| Encoding::Int(*value as i128);
    i32 => |value| Encoding::Int(*value as i128);
    i64 => |value| Encoding::Int(*value as i128);
    i128 => |value| Encoding::Int(*value);
    isize => |value| Encoding::Int(*value as i128);
    u16 => |value| Encoding::Int(*value as i128);
    u32 => |value| Encoding::Int(*value as i128);
    u64 => |value| Encoding::Int(*value as i128);
    u128 => |value| Encoding::Unsigned(*value);
    usize => |value| Encoding::Int(*value as i128);
    bool => |value| Encoding::Bool(*value);
    f32 => |value| Encoding::Float(float_text(*value as f64, format!("{:?}", value)));
    f64 => |value| Encoding::Float(float_text(*value, format!("{:?}", value)));
    char => |value| Encoding::Value("char".to_string(), value.to_string());
    str => |value| Encoding::Text(value.to_string());
    String => |value| Encoding::Text(value.clone());
    OsStr => |value| Encoding::Text(value.to_string_lossy().into_owned());
    OsString => |value| Encoding::Text(value.to_string_lossy().into_owned());
    Path => |value| Encoding::Value("Path".to_string(), value.to_string_lossy().into_owned());
    PathBuf => |value| Encoding::Value("Path".to_string(), value.to_string_lossy().into_owned());
    CStr => |value| Encoding::Bytes(value.to_bytes().to_vec());
    CString => |value| Encoding::Bytes(value.as_bytes().to_vec());
    () => |_value| Encoding::Null;
    dyn std::error::Error => |value| Encoding::Value("Error".to_string(), value.to_string());
    dyn std::error::Error + Send => |value| Encoding::Value("Error".to_string(), value.to_string());
    dyn std::error::Error + Send + Sync => |value| Encoding::Value("Error".to_string(), value.to_string());
    std::fs::File => |_value| Encoding::Opaque("File".to_string());
    std::fs::Metadata => |value| variant("Metadata", vec![
        Encoding::Bool(value.is_dir()), Encoding::Int(if value.is_dir() { 0 } else { value.len() as i128 }),
    ]);
    std::thread::Thread => |_value| Encoding::Opaque("Thread".to_string());
    std::thread::ThreadId => |_value| Encoding::Opaque("ThreadId".to_string());
    std::task::Waker => |_value| Encoding::Opaque("Waker".to_string());
    std::task::Context<'_> => |_value| Encoding::Opaque("Context".to_string());
    std::io::Error => |value| Encoding::Value("io::Error".to_string(), format!("{:?}: {}", value.kind(), value));
}

impl Dump for u8 {
    fn dump(&self, _depth: usize) -> Encoding {
        Encoding::Int(*self as i128)
    }

    fn dump_slice(items: &[u8], _depth: usize) -> Encoding {
        Encoding::Bytes(items.to_vec())
    }
}

/// Shortest text in the way that hosts write floats.
fn float_text(value: f64, shortest: String) -> String {
    if value.is_nan() {
        return "nan".to_string();
    }
    shortest
}

macro_rules! transparent {
    ($([$($parameter:tt)*] $kind:ty => |$value:ident| $inner:expr;)*) => {$(
        impl<$($parameter)*> Dump for $kind {
            fn dump(&self, depth: usize) -> Encoding {
                if depth > DEEPEST { return Encoding::Opaque("deep".to_string()); }
                let $value = self;
                $inner.dump(depth + 1)
            }
        }
    )*};
}

transparent! {
    ['a, T: ?Sized] &'a T => |value| **value;
    ['a, T: ?Sized] &'a mut T => |value| **value;
    [T: ?Sized] Box<T> => |value| **value;
    [T: ?Sized] Rc<T> => |value| **value;
    [T: ?Sized] Arc<T> => |value| **value;
    [T: Copy] Cell<T> => |value| value.get();
    [T] Reverse<T> => |value| value.0;
    [T] std::num::Wrapping<T> => |value| value.0;
    ['a, T: ?Sized + ToOwned] Cow<'a, T> => |value| **value;
    [T: ?Sized] std::cell::Ref<'_, T> => |value| **value;
    [T: ?Sized] std::cell::RefMut<'_, T> => |value| **value;
    [T: ?Sized] std::sync::MutexGuard<'_, T> => |value| **value;
}

impl<T: ?Sized> Dump for RefCell<T> {
    fn dump(&self, depth: usize) -> Encoding {
        self.try_borrow().map_or(Encoding::Opaque("borrowed".to_string()), |value| value.dump(depth + 1))
    }
}

impl<T: ?Sized> Dump for Mutex<T> {
    fn dump(&self, depth: usize) -> Encoding {
        self.try_lock().map_or(Encoding::Opaque("locked".to_string()), |value| value.dump(depth + 1))
    }
}

impl<T: ?Sized> Dump for RwLock<T> {
    fn dump(&self, depth: usize) -> Encoding {
        self.try_read().map_or(Encoding::Opaque("locked".to_string()), |value| value.dump(depth + 1))
    }
}

/// Nothing runs while this looks, so that nothing has the value in its hands.
impl<T: ?Sized> Dump for std::cell::UnsafeCell<T> {
    fn dump(&self, depth: usize) -> Encoding {
        unsafe { (*self.get()).dump(depth) }
    }
}

impl<T> Dump for OnceCell<T> {
    fn dump(&self, depth: usize) -> Encoding {
        self.get().dump(depth)
    }
}

impl<T> Dump for OnceLock<T> {
    fn dump(&self, depth: usize) -> Encoding {
        self.get().dump(depth)
    }
}

impl<T: ?Sized> Dump for PhantomData<T> {
    fn dump(&self, _depth: usize) -> Encoding {
        Encoding::Null
    }
}

impl<T: ?Sized> Dump for *const T {
    fn dump(&self, depth: usize) -> Encoding {
        if depth > DEEPEST { return Encoding::Opaque("deep".to_string()); }
        dump_pointer(*self as *const u8 as usize, depth)
    }
}

impl<T: ?Sized> Dump for *mut T {
    fn dump(&self, depth: usize) -> Encoding {
        self.cast_const().dump(depth)
    }
}

impl<T: ?Sized> Dump for std::ptr::NonNull<T> {
    fn dump(&self, depth: usize) -> Encoding {
        self.as_ptr().cast_const().dump(depth)
    }
}

impl<T> Dump for std::sync::atomic::AtomicPtr<T> {
    fn dump(&self, depth: usize) -> Encoding {
        self.load(std::sync::atomic::Ordering::SeqCst).dump(depth)
    }
}

impl<T> Dump for Option<T> {
    fn dump(&self, depth: usize) -> Encoding {
        match self {
            None => variant("None", vec![]),
            Some(value) => variant("Some", vec![value.dump(depth + 1)]),
        }
    }
}

impl<T, E> Dump for Result<T, E> {
    fn dump(&self, depth: usize) -> Encoding {
        match self {
            Ok(value) => variant("Ok", vec![value.dump(depth + 1)]),
            Err(error) => variant("Err", vec![error.dump(depth + 1)]),
        }
    }
}

impl<T> Dump for Poll<T> {
    fn dump(&self, depth: usize) -> Encoding {
        match self {
            Poll::Pending => variant("Pending", vec![]),
            Poll::Ready(value) => variant("Ready", vec![value.dump(depth + 1)]),
        }
    }
}

impl<B, C> Dump for ControlFlow<B, C> {
    fn dump(&self, depth: usize) -> Encoding {
        match self {
            ControlFlow::Break(value) => variant("Break", vec![value.dump(depth + 1)]),
            ControlFlow::Continue(value) => variant("Continue", vec![value.dump(depth + 1)]),
        }
    }
}

impl<T> Dump for Bound<T> {
    fn dump(&self, depth: usize) -> Encoding {
        match self {
            Bound::Included(value) => variant("Included", vec![value.dump(depth + 1)]),
            Bound::Excluded(value) => variant("Excluded", vec![value.dump(depth + 1)]),
            Bound::Unbounded => variant("Unbounded", vec![]),
        }
    }
}

impl<T> Dump for [T] {
    fn dump(&self, depth: usize) -> Encoding {
        T::dump_slice(self, depth)
    }
}

impl<T> Dump for Vec<T> {
    fn dump(&self, depth: usize) -> Encoding {
        T::dump_slice(self, depth)
    }
}

impl<T, const N: usize> Dump for [T; N] {
    fn dump(&self, depth: usize) -> Encoding {
        T::dump_slice(self, depth)
    }
}

impl<T> Dump for VecDeque<T> {
    fn dump(&self, depth: usize) -> Encoding {
        Encoding::List(several(self.iter(), depth))
    }
}

impl<T> Dump for LinkedList<T> {
    fn dump(&self, depth: usize) -> Encoding {
        Encoding::List(several(self.iter(), depth))
    }
}

impl<T> Dump for BinaryHeap<T> {
    fn dump(&self, depth: usize) -> Encoding {
        Encoding::Set(several(self.iter(), depth))
    }
}

impl<T> Dump for BTreeSet<T> {
    fn dump(&self, depth: usize) -> Encoding {
        Encoding::Set(several(self.iter(), depth))
    }
}

impl<T, S> Dump for HashSet<T, S> {
    fn dump(&self, depth: usize) -> Encoding {
        Encoding::Set(several(self.iter(), depth))
    }
}

impl<K, V> Dump for BTreeMap<K, V> {
    fn dump(&self, depth: usize) -> Encoding {
        Encoding::Map(self.iter().map(|(key, value)| (key.dump(depth + 1), value.dump(depth + 1))).collect())
    }
}

impl<K, V, S> Dump for HashMap<K, V, S> {
    fn dump(&self, depth: usize) -> Encoding {
        Encoding::Map(self.iter().map(|(key, value)| (key.dump(depth + 1), value.dump(depth + 1))).collect())
    }
}

impl<T> Dump for Range<T> {
    fn dump(&self, depth: usize) -> Encoding {
        variant("Range", vec![self.start.dump(depth + 1), self.end.dump(depth + 1)])
    }
}

impl<T> Dump for RangeInclusive<T> {
    fn dump(&self, depth: usize) -> Encoding {
        variant("RangeInclusive", vec![self.start().dump(depth + 1), self.end().dump(depth + 1)])
    }
}

impl<T: Clone> Dump for std::vec::IntoIter<T> {
    fn dump(&self, depth: usize) -> Encoding {
        Encoding::Iterator("IntoIter".to_string(), several(self.as_slice().iter(), depth))
    }
}

impl<T> Dump for std::slice::Iter<'_, T> {
    fn dump(&self, depth: usize) -> Encoding {
        Encoding::Iterator("Iter".to_string(), several(self.as_slice().iter(), depth))
    }
}

impl Dump for std::str::Chars<'_> {
    fn dump(&self, _depth: usize) -> Encoding {
        Encoding::Value("Chars".to_string(), self.as_str().to_string())
    }
}

impl<T: AsRef<[u8]>> Dump for std::io::Cursor<T> {
    fn dump(&self, _depth: usize) -> Encoding {
        let bytes = Encoding::Bytes(self.get_ref().as_ref().to_vec());
        Encoding::Object("Cursor".to_string(), vec![
            ("bytes".to_string(), bytes), ("position".to_string(), Encoding::Int(self.position() as i128)),
        ])
    }
}

macro_rules! tuples {
    ($(($($name:ident $place:tt),+);)*) => {$(
        impl<$($name),+> Dump for ($($name,)+) {
            fn dump(&self, depth: usize) -> Encoding {
                Encoding::Tuple(vec![$(self.$place.dump(depth + 1)),+])
            }
        }
    )*};
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}
