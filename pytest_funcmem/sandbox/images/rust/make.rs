//! Makes values of built-in types and of what holds other values, from choices.

use std::any::type_name;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::*;
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::str::FromStr;
use std::sync::{Arc, Mutex, RwLock};

use crate::world::{mixed, unmakeable, Source};

/// How many bytes there may be where a number of the function's own says how many.
const MOST_BYTES: usize = 2048;
/// Texts that types of other crates can be read from: numbers, dates, versions, addresses, data.
const READABLE: [&str; 16] = [
    "12", "{\"a\": 1, \"b\": [\"x\"]}", "1.2.3", "0.5", "http://a.b/c?d=1", "true", "[1, -2.5, null]", "2020-02-29",
    "\"text\"", "127.0.0.1", "a=1", "2021-03-04T05:06:07Z", "/a/b", "en", "a", "00000000-0000-0000-0000-00000000000a",
];

/// How a value of a type is made.
pub trait Make: Sized {
    fn make(source: &mut Source) -> Self;
    fn make_vec(source: &mut Source) -> Vec<Self>;
}

impl<T> Make for T {
    default fn make(source: &mut Source) -> T {
        T::make_otherwise(source)
    }

    default fn make_vec(source: &mut Source) -> Vec<T> {
        several(source)
    }
}

fn several<T>(source: &mut Source) -> Vec<T> {
    let length = source.length();
    source.deeper(|source| (0..length).map_while(|_| made_or_none(source)).collect())
}

/// A value, where one can be made; of what nothing can be made, nothing is put into what can do without.
fn made_or_none<T>(source: &mut Source) -> Option<T> {
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| source.deeper(T::make)));
    match made {
        Ok(value) => Some(value),
        Err(panic) => match crate::world::forget_unmakeable() {
            true => None,
            false => std::panic::resume_unwind(panic),
        },
    }
}

/// How values of types that only a scaffold knows are made, by the name of the type.
static MAKERS: Mutex<Vec<(&'static str, usize)>> = Mutex::new(Vec::new());

/// Make values of a type so from now on.
pub fn register<T>(make: fn(&mut Source) -> T) {
    MAKERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((type_name::<T>(), make as usize));
}

fn registered<T>() -> Option<fn(&mut Source) -> T> {
    let makers = MAKERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let found = makers.iter().find(|(name, _)| *name == type_name::<T>());
    found.map(|&(_, make)| unsafe { std::mem::transmute::<usize, fn(&mut Source) -> T>(make) })
}

trait MakeOtherwise: Sized {
    fn make_otherwise(source: &mut Source) -> Self;
}

impl<T> MakeOtherwise for T {
    default fn make_otherwise(source: &mut Source) -> T {
        match registered::<T>() {
            Some(make) => source.deeper(make),
            None => T::made_of_items(source),
        }
    }
}

/// What can be collected from what it gives when it is walked through.
trait MakeOfItems: Sized {
    fn made_of_items(source: &mut Source) -> Self;
}

impl<T> MakeOfItems for T {
    default fn made_of_items(source: &mut Source) -> T {
        T::made_from_text(source)
    }
}

impl<T: IntoIterator + FromIterator<<T as IntoIterator>::Item>> MakeOfItems for T {
    fn made_of_items(source: &mut Source) -> T {
        Vec::<T::Item>::make(source).into_iter().collect()
    }
}

/// What can be read from a text: from one that was chosen, or from the next usual one that can be read.
trait MakeFromText: Sized {
    fn made_from_text(source: &mut Source) -> Self;
}

impl<T> MakeFromText for T {
    default fn made_from_text(source: &mut Source) -> T {
        T::made_by_default(source)
    }
}

impl<T: FromStr> MakeFromText for T {
    fn made_from_text(source: &mut Source) -> T {
        let (text, start) = (source.text(), source.next() as usize);
        let chosen = text.parse().or_else(|_| (start / READABLE.len() % 256).to_string().parse());
        let usual = || (0..READABLE.len()).find_map(|place| READABLE[(start + place) % READABLE.len()].parse().ok());
        chosen.ok().or_else(usual).unwrap_or_else(|| T::made_by_default(source))
    }
}

trait MakeByDefault: Sized {
    fn made_by_default(source: &mut Source) -> Self;
}

impl<T> MakeByDefault for T {
    default fn made_by_default(source: &mut Source) -> T {
        T::make_last(source)
    }
}

impl<T: Default> MakeByDefault for T {
    fn made_by_default(_source: &mut Source) -> T {
        T::default()
    }
}

trait MakeLast: Sized {
    fn make_last(source: &mut Source) -> Self;
}

impl<T> MakeLast for T {
    default fn make_last(source: &mut Source) -> T {
        let name = type_name::<T>();
        let is_plain = name.starts_with("libc::") || name.starts_with("core::core_arch::");
        if is_plain && !std::mem::needs_drop::<T>() {
            return plain(source);
        }
        // A type with one value needs no choice. What has none is at the most said to be impossible.
        if std::mem::size_of::<T>() == 0 && !name.starts_with("main::") && !name.ends_with("Infallible") {
            return unsafe { std::mem::zeroed() };
        }
        unmakeable(name)
    }
}

/// A record of the C library, or numbers side by side: zeros, and numbers at its beginning and somewhere else.
fn plain<T>(source: &mut Source) -> T {
    let mut made = std::mem::MaybeUninit::<T>::zeroed();
    let words = std::mem::size_of::<T>() / 4;
    let mut note = crate::dump::short_name::<T>();
    for turn in 0..1 + source.below(4) {
        let (place, number) = (if turn == 0 { 0 } else { source.next() as usize }, source.int() as u32);
        if words > 0 {
            note += &format!(" {}: {number}", place % words);
            unsafe { made.as_mut_ptr().cast::<u32>().add(place % words).write_unaligned(number) };
        }
    }
    crate::world::with_world(|world| world.notes.push(note));
    unsafe { made.assume_init() }
}

/// Of whatever form a pointer to a function is, it leads to what must not be called.
impl<T: std::marker::FnPtr> MakeLast for T {
    fn make_last(_source: &mut Source) -> T {
        let function: fn() -> ! = uncallable;
        unsafe { std::mem::transmute_copy(&function) }
    }
}

fn uncallable() -> ! {
    crate::world::unreached("what a pointer to a function leads to")
}

pub fn make_string(source: &mut Source) -> String {
    source.text()
}

/// Bytes: a text's, or numbers; or as many as one of the function's own numbers says, with few choices.
pub fn make_bytes(source: &mut Source) -> Vec<u8> {
    match source.below(6) {
        0..=3 => source.text().into_bytes(),
        4 => {
            let length = source.length();
            (0..length).map(|_| source.int() as u8).collect()
        }
        _ => {
            let (length, kind) = (source.own_length(MOST_BYTES), source.next());
            let first: Vec<u8> = (0..length.min(4)).map(|_| source.int() as u8).collect();
            let rest = (first.len()..length).map(|place| match kind % 3 {
                0 => place as u8,
                1 => kind as u8,
                _ => mixed(kind as u64 + place as u64) as u8,
            });
            first.iter().copied().chain(rest).collect()
        }
    }
}

macro_rules! made {
    ($($kind:ty => |$source:ident| $made:expr;)*) => {$(
        impl Make for $kind {
            fn make($source: &mut Source) -> $kind { $made }
        }
    )*};
}
pub(crate) use made;

made! {
    i8 => |source| source.int() as i8;
    i16 => |source| source.int() as i16;
    i32 => |source| source.int() as i32;
    i64 => |source| source.int() as i64;
    i128 => |source| source.int();
    isize => |source| source.int() as isize;
    u16 => |source| source.int() as u16;
    u32 => |source| source.int() as u32;
    u64 => |source| source.int() as u64;
    u128 => |source| source.int() as u128;
    usize => |source| source.index() as usize;
    bool => |source| source.below(2) == 1;
    f32 => |source| source.float() as f32;
    f64 => |source| source.float();
    char => |source| source.character();
    String => |source| source.text();
    () => |_source| ();
}

impl Make for u8 {
    fn make(source: &mut Source) -> u8 {
        source.int() as u8
    }

    fn make_vec(source: &mut Source) -> Vec<u8> {
        make_bytes(source)
    }
}

/// References live for ever: a state's process ends soon.
fn kept<'a, T: ?Sized>(value: Box<T>) -> &'a mut T {
    unsafe { &mut *Box::into_raw(value) }
}

macro_rules! of_parts {
    ($([$($parameter:tt)*] $kind:ty => |$source:ident| $made:expr;)*) => {$(
        impl<$($parameter)*> Make for $kind {
            fn make($source: &mut Source) -> $kind { $made }
        }
    )*};
}
pub(crate) use of_parts;

of_parts! {
    ['a, T] &'a T => |source| kept(Box::new(T::make(source)));
    ['a, T] &'a mut T => |source| kept(Box::new(T::make(source)));
    ['a] &'a str => |source| kept(source.text().into_boxed_str());
    ['a] &'a mut str => |source| kept(source.text().into_boxed_str());
    ['a, T] &'a [T] => |source| kept(T::make_vec(source).into_boxed_slice());
    ['a, T] &'a mut [T] => |source| kept(T::make_vec(source).into_boxed_slice());
    [T] Vec<T> => |source| T::make_vec(source);
    [T] VecDeque<T> => |source| T::make_vec(source).into();
    [T] LinkedList<T> => |source| T::make_vec(source).into_iter().collect();
    [T] Box<T> => |source| Box::new(source.deeper(T::make));
    [] Box<str> => |source| source.text().into_boxed_str();
    [T] Box<[T]> => |source| T::make_vec(source).into_boxed_slice();
    [T] Rc<T> => |source| Rc::new(source.deeper(T::make));
    [] Rc<str> => |source| source.text().into();
    [T] Rc<[T]> => |source| T::make_vec(source).into();
    [T] Arc<T> => |source| Arc::new(source.deeper(T::make));
    [] Arc<str> => |source| source.text().into();
    [T] Arc<[T]> => |source| T::make_vec(source).into();
    [T] Cell<T> => |source| Cell::new(T::make(source));
    [T] std::cell::UnsafeCell<T> => |source| std::cell::UnsafeCell::new(T::make(source));
    [T] std::mem::ManuallyDrop<T> => |source| std::mem::ManuallyDrop::new(T::make(source));
    [T] std::pin::Pin<Box<T>> => |source| Box::pin(source.deeper(T::make));
    ['a, T] std::pin::Pin<&'a mut T> =>
        |source| unsafe { std::pin::Pin::new_unchecked(kept(Box::new(T::make(source)))) };
    [T] RefCell<T> => |source| RefCell::new(T::make(source));
    [T] Mutex<T> => |source| Mutex::new(T::make(source));
    [T] RwLock<T> => |source| RwLock::new(T::make(source));
    [T: Ord] BinaryHeap<T> => |source| T::make_vec(source).into();
    [T: Ord] BTreeSet<T> => |source| T::make_vec(source).into_iter().collect();
    [T: Eq + Hash, S: BuildHasher + Default] HashSet<T, S> => |source| T::make_vec(source).into_iter().collect();
    [K: Ord, V] BTreeMap<K, V> => |source| pairs(source).into_iter().collect();
    [K: Eq + Hash, V, S: BuildHasher + Default] HashMap<K, V, S> => |source| pairs(source).into_iter().collect();
    ['a] Cow<'a, str> => |source| Cow::Owned(source.text());
    ['a, T: Clone] Cow<'a, [T]> => |source| Cow::Owned(T::make_vec(source));
    [T: ?Sized] std::marker::PhantomData<T> => |_source| std::marker::PhantomData;
    [T, const N: usize] [T; N] => |source| source.deeper(|source| std::array::from_fn(|_| T::make(source)));
    [T] std::cmp::Reverse<T> => |source| std::cmp::Reverse(T::make(source));
    [T] std::num::Wrapping<T> => |source| std::num::Wrapping(T::make(source));
    [T] std::ops::RangeInclusive<T> => |source| T::make(source)..=T::make(source);
    [T] std::ops::RangeFrom<T> => |source| T::make(source)..;
    [T] std::ops::RangeTo<T> => |source| ..T::make(source);
    [T] std::vec::IntoIter<T> => |source| T::make_vec(source).into_iter();
    ['a, T] std::slice::Iter<'a, T> => |source| (*kept::<[T]>(T::make_vec(source).into_boxed_slice())).iter();
    ['a] std::str::Chars<'a> => |source| (*kept::<str>(source.text().into_boxed_str())).chars();
    ['a] std::str::CharIndices<'a> => |source| (*kept::<str>(source.text().into_boxed_str())).char_indices();
    ['a] std::str::Bytes<'a> => |source| (*kept::<str>(source.text().into_boxed_str())).bytes();
    ['a] std::str::Lines<'a> => |source| (*kept::<str>(source.text().into_boxed_str())).lines();
    ['a] std::str::SplitWhitespace<'a> =>
        |source| (*kept::<str>(source.text().into_boxed_str())).split_whitespace();
    [I: Iterator] std::iter::Peekable<I> => |source| I::make(source).peekable();
    [I: Iterator] std::iter::Enumerate<I> => |source| I::make(source).enumerate();
    [I: Iterator] std::iter::Skip<I> => |source| I::make(source).skip(0);
    [I: Iterator] std::iter::Fuse<I> => |source| I::make(source).fuse();
    [I: DoubleEndedIterator] std::iter::Rev<I> => |source| I::make(source).rev();
    ['a, T: 'a + Clone, I: Iterator<Item = &'a T>] std::iter::Cloned<I> => |source| I::make(source).cloned();
    ['a, T: 'a + Copy, I: Iterator<Item = &'a T>] std::iter::Copied<I> => |source| I::make(source).copied();
    [I: Clone + Iterator] std::iter::Cycle<I> => |source| I::make(source).cycle();
}

fn pairs<K, V>(source: &mut Source) -> Vec<(K, V)> {
    let length = source.length();
    source.deeper(|source| (0..length).map(|_| (K::make(source), V::make(source))).collect())
}

impl<T> Make for std::ops::Range<T> {
    default fn make(source: &mut Source) -> std::ops::Range<T> {
        T::make(source)..T::make(source)
    }
}

impl Make for std::ops::Range<usize> {
    fn make(source: &mut Source) -> std::ops::Range<usize> {
        let start = source.below(6) as usize;
        start..start.saturating_add(source.length()).saturating_sub(source.below(16).saturating_sub(14) as usize)
    }
}

impl<T> Make for Option<T> {
    fn make(source: &mut Source) -> Option<T> {
        let choice = source.below(4);
        if choice == 1 || crate::world::is_deep(source) {
            return None;
        }
        made_or_none(source)
    }
}

impl<T, E> Make for Result<T, E> {
    fn make(source: &mut Source) -> Result<T, E> {
        if source.below(4) == 1 {
            return Err(E::make(source));
        }
        match made_or_none(source) {
            Some(value) => Ok(value),
            None => Err(E::make(source)),
        }
    }
}

macro_rules! tuples {
    ($(($($name:ident),+);)*) => {$(
        impl<$($name),+> Make for ($($name,)+) {
            fn make(source: &mut Source) -> Self { ($($name::make(source),)+) }
        }
    )*};
}

tuples! {
    (A);
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, F);
    (A, B, C, D, E, F, G);
    (A, B, C, D, E, F, G, H);
}
