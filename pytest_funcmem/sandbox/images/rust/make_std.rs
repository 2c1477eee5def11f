//! Makes values of the standard library's own types, and functions that answer for themselves.

use std::error::Error;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::*;
use std::os::unix::process::ExitStatusExt;
use std::sync::{mpsc, Arc};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant, SystemTime};

use crate::make::{made, of_parts, Make};
use crate::pointers::{boxed, lent};
use crate::world::{answer, Source};

fn path(source: &mut Source) -> PathBuf {
    const PATHS: [&str; 7] = ["a.txt", "src/main.rs", "/usr/lib", "", "dir", "..", "/"];
    let choice = source.next() as usize;
    match choice % 3 {
        2 => source.text().replace('\0', "").into(),
        _ => PATHS[choice / 3 % PATHS.len()].into(),
    }
}

/// A file of the state's own directory, with a text in it.
fn file(source: &mut Source) -> std::fs::File {
    let _ = std::fs::write("made.txt", source.text());
    let opened = std::fs::OpenOptions::new().read(true).write(true).open("made.txt");
    opened.unwrap_or_else(|_| crate::world::unmakeable("File"))
}

fn metadata(source: &mut Source) -> std::fs::Metadata {
    let found = std::fs::metadata(if source.below(3) == 1 { "." } else { "a.txt" });
    found.unwrap_or_else(|_| crate::world::unmakeable("Metadata"))
}

fn layout(source: &mut Source) -> std::alloc::Layout {
    let (size, power) = (source.int().unsigned_abs() as usize % 4096, source.below(7));
    std::alloc::Layout::from_size_align(size, 1 << power).unwrap_or(std::alloc::Layout::new::<u64>())
}

fn duration(source: &mut Source) -> Duration {
    let (kind, number) = (source.below(4), source.int().unsigned_abs() as u64 % 100_000_000_000);
    match kind {
        0 => Duration::from_secs(number),
        1 => Duration::from_millis(number % 100_000_000),
        2 => Duration::new(number, source.int().unsigned_abs() as u32 % 1_000_000_000),
        _ => Duration::from_secs(number + source.int().unsigned_abs() as u64 % 100_000_000),
    }
}

const KINDS: [io::ErrorKind; 6] = [
    io::ErrorKind::NotFound,
    io::ErrorKind::Interrupted,
    io::ErrorKind::UnexpectedEof,
    io::ErrorKind::InvalidData,
    io::ErrorKind::PermissionDenied,
    io::ErrorKind::Other,
];

made! {
    PathBuf => |source| path(source);
    OsString => |source| source.text().into();
    CString => |source| CString::new(source.text().replace('\0', "")).unwrap_or_default();
    Duration => |source| duration(source);
    SystemTime => |source| SystemTime::UNIX_EPOCH + Duration::from_secs(source.next() as u64);
    Instant => |source| Instant::now() + Duration::from_millis(source.next() as u64 % 100_000);
    Ipv4Addr => |source| [[127, 0, 0, 1], [10, 0, 0, 7], [0, 0, 0, 0], [8, 8, 4, 4]][source.below(4) as usize].into();
    Ipv6Addr => |source| (source.next() as u128).into();
    IpAddr => |source| if source.below(3) == 1 { Ipv6Addr::make(source).into() } else { Ipv4Addr::make(source).into() };
    SocketAddr => |source| SocketAddr::new(IpAddr::make(source), source.int() as u16);
    std::cmp::Ordering => |source| [std::cmp::Ordering::Less, std::cmp::Ordering::Equal, std::cmp::Ordering::Greater][source.below(3) as usize];
    io::ErrorKind => |source| KINDS[source.below(6) as usize];
    io::Error => |source| io::Error::new(KINDS[source.below(6) as usize], "made up");
    std::fmt::Error => |_source| std::fmt::Error;
    ParseIntError => |source| ["", "x", "99999999999"][source.below(3) as usize].parse::<i32>().unwrap_err();
    ParseFloatError => |source| ["", "x"][source.below(2) as usize].parse::<f64>().unwrap_err();
    std::str::ParseBoolError => |_source| "x".parse::<bool>().unwrap_err();
    std::char::ParseCharError => |_source| "xy".parse::<char>().unwrap_err();
    std::str::Utf8Error => |source| std::str::from_utf8(if source.below(2) == 0 { &[97, 255] } else { &[0xe2, 0x82] }).unwrap_err();
    std::string::FromUtf8Error => |_source| String::from_utf8(vec![97, 255]).unwrap_err();
    NonZeroU8 => |source| NonZeroU8::new(source.int() as u8).unwrap_or(NonZeroU8::MIN);
    NonZeroU16 => |source| NonZeroU16::new(source.int() as u16).unwrap_or(NonZeroU16::MIN);
    NonZeroU32 => |source| NonZeroU32::new(source.int() as u32).unwrap_or(NonZeroU32::MIN);
    NonZeroU64 => |source| NonZeroU64::new(source.int() as u64).unwrap_or(NonZeroU64::MIN);
    NonZeroUsize => |source| NonZeroUsize::new(source.int() as usize).unwrap_or(NonZeroUsize::MIN);
    NonZeroI32 => |source| NonZeroI32::new(source.int() as i32).unwrap_or(NonZeroI32::MIN);
    AtomicBool => |source| AtomicBool::new(bool::make(source));
    AtomicU8 => |source| AtomicU8::new(u8::make(source));
    AtomicU32 => |source| AtomicU32::new(u32::make(source));
    AtomicU64 => |source| AtomicU64::new(u64::make(source));
    AtomicUsize => |source| AtomicUsize::new(usize::make(source));
    AtomicI32 => |source| AtomicI32::new(i32::make(source));
    AtomicI64 => |source| AtomicI64::new(i64::make(source));
    Box<dyn Error> => |source| source.text().into();
    Box<dyn Error + Send + Sync> => |source| source.text().into();
    std::fs::File => |source| file(source);
    std::fs::Metadata => |source| metadata(source);
    std::fs::FileType => |source| metadata(source).file_type();
    std::process::ExitStatus => |source| ExitStatusExt::from_raw([0, 256, 2 << 8, 9][source.below(4) as usize]);
    std::process::Output => |source| std::process::Output {
        status: Make::make(source), stdout: Make::make(source), stderr: Make::make(source),
    };
    std::alloc::Layout => |source| layout(source);
    std::thread::Thread => |_source| std::thread::current();
    std::thread::ThreadId => |_source| std::thread::current().id();
    std::sync::Once => |_source| std::sync::Once::new();
    io::Stdin => |_source| io::stdin();
    io::Stdout => |_source| io::stdout();
    io::Stderr => |_source| io::stderr();
    Box<dyn std::any::Any> => |source| boxed(String::make(source));
    Box<dyn std::any::Any + Send> => |source| boxed(String::make(source));
    std::hash::RandomState => |_source| std::hash::RandomState::new();
    std::process::Command => |source| std::process::Command::new(source.text());
    io::Sink => |_source| io::sink();
    io::Empty => |_source| io::empty();
    Box<dyn io::Read> => |source| boxed(io::Cursor::new(Vec::<u8>::make(source)));
    Box<dyn io::Write> => |_source| boxed(Vec::<u8>::new());
    Box<dyn io::Write + Send> => |_source| boxed(Vec::<u8>::new());
    Waker => |_source| Arc::new(Woken).into();
    Box<dyn io::BufRead> => |source| boxed(io::Cursor::new(Vec::<u8>::make(source)));
}

of_parts! {
    ['a] &'a Path => |source| Box::leak(path(source).into_boxed_path());
    ['a] &'a OsStr => |source| Box::leak(OsString::make(source).into_boxed_os_str());
    ['a] &'a std::ffi::CStr => |source| Box::leak(CString::make(source).into_boxed_c_str());
    ['a] &'a (dyn Error + 'static) => |source| Box::leak(Box::<dyn Error>::make(source));
    ['a] &'a mut dyn std::fmt::Write => |_source| lent(String::new());
    ['a] &'a mut dyn io::Read => |source| lent(io::Cursor::new(Vec::<u8>::make(source)));
    ['a] &'a mut dyn io::BufRead => |source| lent(io::Cursor::new(Vec::<u8>::make(source)));
    [T] std::cell::OnceCell<T> => |source| Option::<T>::make(source).map_or_else(Default::default, Into::into);
    [T] std::sync::OnceLock<T> => |source| Option::<T>::make(source).map_or_else(Default::default, Into::into);
    [T] std::rc::Weak<T> => |source| match source.below(4) {
        1 => std::rc::Weak::new(),
        _ => std::rc::Rc::downgrade(lent(std::rc::Rc::new(source.deeper(T::make)))),
    };
    [T] std::sync::Weak<T> => |source| match source.below(4) {
        1 => std::sync::Weak::new(),
        _ => Arc::downgrade(lent(Arc::new(source.deeper(T::make)))),
    };
    [T] mpsc::Sender<T> => |_source| { let (sender, receiver) = mpsc::channel(); lent(receiver); sender };
    [T] mpsc::SyncSender<T> => |_source| { let (sender, receiver) = mpsc::sync_channel(64); lent(receiver); sender };
    [T] mpsc::Receiver<T> => |source| {
        let (sender, receiver) = mpsc::channel();
        Vec::<T>::make(source).into_iter().for_each(|value| drop(sender.send(value)));
        receiver
    };
    ['a] Context<'a> => |source| Context::from_waker(lent(Waker::make(source)));
    [T] std::task::Poll<T> =>
        |source| if source.below(4) == 1 { std::task::Poll::Pending } else { std::task::Poll::Ready(T::make(source)) };
    [T] std::future::Ready<T> => |source| std::future::ready(T::make(source));
    [T: 'static] Box<dyn Iterator<Item = T>> => |source| boxed(Vec::<T>::make(source).into_iter());
    [T: 'static + Send] Box<dyn Iterator<Item = T> + Send> => |source| boxed(Vec::<T>::make(source).into_iter());
    [T: 'static] Box<dyn DoubleEndedIterator<Item = T>> => |source| boxed(Vec::<T>::make(source).into_iter());
    ['a, T: 'static] &'a mut dyn Iterator<Item = T> =>
        |source| lent(Vec::<T>::make(source).into_iter());
    ['a] &'a mut dyn io::Write => |_source| lent(Vec::<u8>::new());
    [T] io::Cursor<T> => |source| io::Cursor::new(T::make(source));
    [R: io::Read] io::BufReader<R> => |source| io::BufReader::new(R::make(source));
    [W: io::Write] io::BufWriter<W> => |source| io::BufWriter::new(W::make(source));
    [R: io::Read] io::Take<R> => |source| { let limit = source.below(64) as u64; io::Read::take(R::make(source), limit) };
}

/// Whom a future tells that it is worth asking again.
struct Woken;

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        answer::<()>("Waker.wake", vec![])
    }
}
