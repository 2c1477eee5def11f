//! Values behind raw pointers. They stand in an arena that nothing frees, so that they can be looked at afterwards,
//! whatever the function does with them; a pointer that leads elsewhere is encoded as no more than a pointer.
//! What only a trait is known of is found in the arena too, by where it stands.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::Mutex;

use crate::dump::Dump;
use crate::encoding::Encoding;
use crate::make::{of_parts, Make};
use crate::world::{is_deep, unmakeable, Source};

const ARENA: usize = 1 << 20;
const ALIGNMENT: usize = 64;
/// Zeros behind every value, for code that reads on.
const MARGIN: usize = 256;

#[repr(C, align(64))]
struct Arena([u8; ARENA]);

static mut MEMORY: Arena = Arena([0; ARENA]);
static FREED: [AtomicBool; ARENA / ALIGNMENT] = [const { AtomicBool::new(false) }; ARENA / ALIGNMENT];
static BLOCKS: Mutex<Blocks> = Mutex::new(Blocks { used: 0, all: Vec::new(), open: Vec::new() });

struct Blocks {
    used: usize,
    all: Vec<Block>,
    /// Starts of those that are being encoded.
    open: Vec<usize>,
}

/// Values of one type, one behind the other.
#[derive(Clone, Copy)]
struct Block {
    start: usize,
    count: usize,
    size: usize,
    kind: &'static str,
    dump: unsafe fn(usize, usize, usize) -> Encoding,
}

fn blocks<R>(act: impl FnOnce(&mut Blocks) -> R) -> R {
    act(&mut BLOCKS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Where in the arena an address is.
fn offset_of(address: usize) -> Option<usize> {
    let offset = address.wrapping_sub(&raw const MEMORY as usize);
    (offset < ARENA).then_some(offset)
}

/// The system's memory, but that what stands in the arena is only marked when it is freed.
struct Memory;

#[global_allocator]
static ALLOCATOR: Memory = Memory;

unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        System.alloc(layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        System.alloc_zeroed(layout)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match offset_of(pointer as usize) {
            Some(offset) => FREED[offset / ALIGNMENT].store(true, Ordering::Relaxed),
            None => System.dealloc(pointer, layout),
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if offset_of(pointer as usize).is_none() {
            return System.realloc(pointer, layout, size);
        }
        let new = System.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !new.is_null() {
            std::ptr::copy_nonoverlapping(pointer, new, size.min(layout.size()));
            self.dealloc(pointer, layout);
        }
        new
    }
}

unsafe fn dump_values<T>(address: usize, count: usize, depth: usize) -> Encoding {
    let values = std::slice::from_raw_parts(address as *const T, count);
    match values {
        [value] => value.dump(depth),
        values => values.dump(depth),
    }
}

/// Move values into the arena; null where it is full, and the values stay where they are.
fn placed<T>(values: &mut Vec<T>) -> *mut T {
    let (size, count) = (std::mem::size_of::<T>(), values.len());
    let whole = (size * count + MARGIN).next_multiple_of(ALIGNMENT);
    let start = blocks(|blocks| {
        if whole > ARENA - blocks.used || std::mem::align_of::<T>() > ALIGNMENT {
            return None;
        }
        let start = &raw const MEMORY as usize + blocks.used;
        blocks.used += whole;
        blocks.all.push(Block { start, count, size, kind: std::any::type_name::<T>(), dump: dump_values::<T> });
        Some(start)
    });
    let Some(start) = start else { return null_mut() };
    unsafe {
        std::ptr::copy_nonoverlapping(values.as_ptr(), start as *mut T, count);
        values.set_len(0);
    }
    start as *mut T
}

/// What a pointer leads to.
trait Pointee: Sized {
    fn behind(source: &mut Source) -> *mut Self;
}

impl<T> Pointee for T {
    default fn behind(source: &mut Source) -> *mut T {
        let value = source.deeper(T::make);
        placed(&mut vec![value])
    }
}

macro_rules! in_a_row {
    ($($kind:ty),*) => {$(
        impl Pointee for $kind {
            fn behind(source: &mut Source) -> *mut $kind {
                let mut values = <$kind>::make_vec(source);
                if values.is_empty() {
                    values.push(Default::default());
                }
                placed(&mut values)
            }
        }
    )*};
}

in_a_row!(u16, i16, u32, i32, u64, i64, u128, i128, usize, isize, f32, f64, bool, char);

impl Pointee for u8 {
    fn behind(source: &mut Source) -> *mut u8 {
        let mut bytes = u8::make_vec(source);
        bytes.push(0);
        placed(&mut bytes)
    }
}

impl Pointee for i8 {
    fn behind(source: &mut Source) -> *mut i8 {
        u8::behind(source).cast()
    }
}

impl Pointee for c_void {
    fn behind(source: &mut Source) -> *mut c_void {
        u8::behind(source).cast()
    }
}

/// A pointer to something new, to what another of its type leads to, or to nothing.
fn pointer<T>(source: &mut Source, may_be_null: bool) -> *mut T {
    let choice = source.below(8);
    if may_be_null && (choice == 1 || is_deep(source)) {
        return null_mut();
    }
    let kind = std::any::type_name::<T>();
    let earlier = blocks(|blocks| blocks.all.iter().rev().find(|block| block.kind == kind).map(|block| block.start));
    match earlier {
        Some(start) if choice == 6 => start as *mut T,
        _ => T::behind(source),
    }
}

fn no_null<T>(source: &mut Source) -> NonNull<T> {
    NonNull::new(pointer(source, false)).unwrap_or_else(|| unmakeable(std::any::type_name::<NonNull<T>>()))
}

of_parts! {
    [T] *mut T => |source| pointer(source, true);
    [T] *const T => |source| pointer(source, true);
    [T] NonNull<T> => |source| no_null(source);
    [T] AtomicPtr<T> => |source| AtomicPtr::new(pointer(source, true));
    [T] *const [T] => |source| Box::into_raw(T::make_vec(source).into_boxed_slice());
    [T] *mut [T] => |source| Box::into_raw(T::make_vec(source).into_boxed_slice());
    [] *const str => |source| Box::into_raw(source.text().into_boxed_str());
}

/// A value that may be forgotten to be of its type, and is seen nevertheless.
pub fn boxed<T>(value: T) -> Box<T> {
    let mut values = vec![value];
    match placed(&mut values) {
        pointer if !pointer.is_null() => unsafe { Box::from_raw(pointer) },
        _ => Box::new(values.remove(0)),
    }
}

/// The same, lent.
pub fn lent<'l, T>(value: T) -> &'l mut T {
    unsafe { &mut *Box::into_raw(boxed(value)) }
}

/// What stands at an address of which only a trait is known.
pub fn dump_unnamed(address: usize, depth: usize) -> Option<Encoding> {
    let found = blocks(|blocks| {
        let is_open = blocks.open.contains(&address);
        blocks.all.iter().copied().find(|block| block.start == address && block.count == 1 && !is_open)
    });
    let block = found.filter(|block| !is_freed(block))?;
    blocks(|blocks| blocks.open.push(block.start));
    let value = unsafe { (block.dump)(address, 1, depth + 1) };
    blocks(|blocks| blocks.open.pop());
    Some(value)
}

fn is_freed(block: &Block) -> bool {
    FREED[(block.start - (&raw const MEMORY as usize)) / ALIGNMENT].load(Ordering::Relaxed)
}

/// What stands where a pointer leads to, if that was made.
pub fn dump_pointer(address: usize, depth: usize) -> Encoding {
    let named = |text: &str| Encoding::Opaque(text.to_string());
    if address == 0 {
        return named("null pointer");
    }
    let found = blocks(|blocks| {
        blocks.all.iter().copied().find(|block| {
            (block.start..=block.start + block.size * block.count).contains(&address)
        })
    });
    let Some(block) = found else { return named("pointer") };
    if is_freed(&block) {
        return named("pointer to what was freed");
    }
    let inside = address - block.start;
    let place = if block.size == 0 { 0 } else { inside / block.size };
    if place >= block.count || inside % block.size.max(1) != 0 {
        return named("pointer behind or into a value");
    }
    let is_open = blocks(|blocks| {
        let is_open = blocks.open.contains(&block.start);
        if !is_open {
            blocks.open.push(block.start);
        }
        is_open
    });
    if is_open {
        return named("pointer to what is around it");
    }
    let values = unsafe { (block.dump)(address, block.count - place, depth + 1) };
    blocks(|blocks| blocks.open.pop());
    Encoding::Object("pointer".to_string(), vec![
        ("place".to_string(), Encoding::Int(place as i128)), ("values".to_string(), values),
    ])
}
