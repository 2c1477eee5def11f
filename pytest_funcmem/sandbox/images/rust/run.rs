//! One run of the function on one input state: what the driver of a program reports to.

use std::any::Any;
use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe, PanicHookInfo};
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use crate::dump::Dump;
use crate::encoding::{write_text, Encoding};
use crate::make::Make;
use crate::world::{with_world, Source};

/// Where a program's function and its file stand in the compiled source.
#[derive(Clone, Copy)]
pub struct Place {
    pub file: &'static str,
    pub first: u32,
    pub last: u32,
    pub driver: u32,
}

#[derive(Clone, Default)]
struct Panic {
    message: String,
    line: u32,
    is_in_file: bool,
}

static PANIC: Mutex<Option<Panic>> = Mutex::new(None);
static PLACE: Mutex<Option<Place>> = Mutex::new(None);

/// How long a future may be asked again.
const MOST_POLLS: usize = 1000;

/// Messages that begin so are written by the runtime, not by the code.
const RUNTIME_MESSAGES: [&str; 26] = [
    "called `Option::unwrap()`", "called `Result::unwrap", "index out of bounds", "attempt to ", "range ",
    "slice index ", "byte index ", "begin <= end", "assertion `left", "assertion failed", "already ", "RefCell ",
    "not implemented", "not yet implemented", "internal error: entered unreachable code", "explicit panic",
    "capacity overflow", "mid > len", "source slice length", "copy_from_slice", "chunk size", "removal index",
    "insertion index", "swap_remove index", "no entry found", "unsafe precondition",
];

pub struct Run {
    pub source: Source,
    receiver: Option<(String, Box<dyn Fn() -> Encoding>)>,
    arguments: Vec<(String, String, Box<dyn Fn() -> Encoding>)>,
    globals: Vec<(String, String, Box<dyn Fn() -> Encoding>)>,
    shown: Vec<String>,
    value: Option<String>,
}

static RESULT: Mutex<Option<String>> = Mutex::new(None);

pub fn watch_panics(place: Place) {
    *PLACE.lock().unwrap() = Some(place);
    std::panic::set_hook(Box::new(|info: &PanicHookInfo| {
        let message = text_of(info.payload());
        let place = *PLACE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let found = info.location().zip(place).map(|(location, place)| Panic {
            is_in_file: location.file().ends_with(place.file),
            line: location.line(),
            message: message.clone(),
        });
        *PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = found;
    }));
}

fn text_of(payload: &dyn Any) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text.to_string()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a value that is no text".to_string()
    }
}

impl Run {
    pub fn new() -> Run {
        Run {
            source: Source::main(),
            receiver: None,
            arguments: Vec::new(),
            globals: Vec::new(),
            shown: Vec::new(),
            value: None,
        }
    }

    /// Make an argument.
    pub fn make<T>(&mut self) -> T {
        T::make(&mut self.source)
    }

    /// Show to people what was made.
    pub fn show<T: ?Sized>(&mut self, value: &T) {
        self.shown.push(value.encoded().source());
    }

    /// Choose what a variable of the environment is: a text, or not there.
    pub fn environment(&mut self, name: &str) {
        let value = (self.source.below(4) != 1).then(|| self.source.text().replace('\0', ""));
        match &value {
            Some(text) => std::env::set_var(name, text),
            None => std::env::remove_var(name),
        }
        self.shown.push(format!("{name} = {value:?}"));
    }

    pub fn show_text(&mut self, text: &str) {
        self.shown.push(text.to_string());
    }

    /// Watch what an argument refers to. The pointer stays good: nothing that was made is ever freed.
    pub unsafe fn watch<T: ?Sized + 'static>(&mut self, name: &str, value: *const T) {
        let now = (*value).encoded().json();
        self.arguments.push((name.to_string(), now, Box::new(move || unsafe { (*value).encoded() })));
    }

    pub unsafe fn watch_receiver<T: ?Sized + 'static>(&mut self, value: *const T) {
        let now = (*value).encoded().json();
        self.receiver = Some((now, Box::new(move || unsafe { (*value).encoded() })));
    }

    pub unsafe fn watch_global<T: 'static>(&mut self, name: &str, value: *const T) {
        let now = (*value).encoded().json();
        self.globals.push((name.to_string(), now, Box::new(move || unsafe { (*value).encoded() })));
    }

    /// The function has come back.
    pub fn returned(&mut self, value: Encoding) {
        self.value = Some(value.json());
    }
}

fn place_of(panic: &Panic) -> (&'static str, bool) {
    let place = *PLACE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match place {
        Some(place) if panic.is_in_file && (place.first..=place.last).contains(&panic.line) => ("function", true),
        Some(place) if panic.is_in_file && panic.line < place.driver => ("file", true),
        Some(_) if panic.is_in_file => ("scaffold", false),
        _ => ("library", false),
    }
}

/// Drive a program once, and write what it did as the fields of a record.
pub fn run_state(drive: fn(&mut Run)) -> String {
    let mut run = Run::new();
    let ended = catch_unwind(AssertUnwindSafe(|| drive(&mut run)));
    match ended {
        Ok(()) => {
            let value = run.value.take().unwrap_or_else(|| "null".to_string());
            finish(&mut run, "returned", &value, "null")
        }
        Err(payload) => {
            let panic = PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone().unwrap_or_default();
            let problem = with_world(|world| world.scaffold_problem.clone());
            let message = problem.clone().unwrap_or_else(|| match panic.message.is_empty() {
                true => text_of(&*payload),
                false => panic.message.clone(),
            });
            let (origin, is_own) = if problem.is_some() { ("scaffold", false) } else { place_of(&panic) };
            let is_authored = is_own && !RUNTIME_MESSAGES.iter().any(|start| message.starts_with(start));
            let exception = exception("panic", &message, is_own, is_authored, origin);
            finish(&mut run, "raised", "null", &exception)
        }
    }
}

fn exception(kind: &str, message: &str, own: bool, authored: bool, origin: &str) -> String {
    let mut text = format!("{{\"type\":\"{kind}\",\"message\":");
    write_text(message, &mut text);
    text.push_str(&format!(",\"own\":{own},\"authored\":{authored},\"origin\":\"{origin}\"}}"));
    text
}

fn changed(before: &str, now: &dyn Fn() -> Encoding) -> String {
    let now = catch_unwind(AssertUnwindSafe(now)).unwrap_or(Encoding::Opaque("broken".to_string())).json();
    if now == before { "[\"unchanged\"]".to_string() } else { now }
}

fn finish(run: &mut Run, outcome: &str, value: &str, exception: &str) -> String {
    let receiver = run.receiver.as_ref().map_or("null".to_string(), |(before, now)| changed(before, now));
    let mut fields = format!("\"outcome\":\"{outcome}\",\"value\":{value},\"exception\":{exception},\"receiver\":{receiver}");
    fields.push_str(",\"arguments\":{");
    write_changes(&run.arguments, false, &mut fields);
    fields.push_str("},\"module_globals\":{");
    write_changes(&run.globals, true, &mut fields);
    fields.push_str("},\"shown\":[");
    let notes = with_world(|world| std::mem::take(&mut world.notes));
    for (place, text) in run.shown.iter().chain(&notes).enumerate() {
        if place > 0 {
            fields.push(',');
        }
        write_text(text, &mut fields);
    }
    fields.push_str("]");
    with_world(|world| {
        fields.push_str(&format!(
            ",\"calls\":[{}],\"choices_used\":{},\"made_up\":{}",
            world.calls.join(","), world.used, world.made_up,
        ));
    });
    let (lines, features) = crate::world::lines_and_features();
    fields.push_str(&format!(",\"lines\":{lines:?},\"features\":{features:?}"));
    fields
}

fn write_changes(watched: &[(String, String, Box<dyn Fn() -> Encoding>)], only_changed: bool, fields: &mut String) {
    let mut count = 0;
    for (name, before, now) in watched {
        let state = changed(before, now);
        if only_changed && state == "[\"unchanged\"]" {
            continue;
        }
        if count > 0 {
            fields.push(',');
        }
        count += 1;
        write_text(name, fields);
        fields.push(':');
        fields.push_str(&state);
    }
}

/// The program asked to end: that is what the run did.
pub fn ended_by_exit(status: i32) {
    let mut run = Run::new();
    let exception = exception("exit", &status.to_string(), true, true, "function");
    let fields = finish(&mut run, "raised", "null", &exception);
    crate::serve::deliver(&fields);
}

/// Give the text that a formatting function writes, and its result.
pub fn formatted<F>(source: &mut Source, act: F) -> Encoding
where
    F: Fn(&mut std::fmt::Formatter) -> std::fmt::Result,
{
    struct Adapter<F>(F);
    impl<F: Fn(&mut std::fmt::Formatter) -> std::fmt::Result> std::fmt::Display for Adapter<F> {
        fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
            (self.0)(formatter)
        }
    }
    use std::fmt::Write;
    let shown = Adapter(act);
    let mut text = String::new();
    let result = match source.below(8) {
        1 => write!(text, "{:#}", shown),
        2 => write!(text, "{:12}", shown),
        3 => write!(text, "{:>9.3}", shown),
        4 => write!(text, "{:+}", shown),
        5 => write!(text, "{:02}", shown),
        _ => write!(text, "{}", shown),
    };
    (result, text).encoded()
}

/// Wait for a future, which nothing wakes: it is asked again and again.
pub fn blocked<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..MOST_POLLS {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
    crate::world::unreached("what the future waits for")
}
