//! The world of one input state: its choices, what is asked of made-up things, and which lines run.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::dump::Dump;
use crate::encoding::{digest, Encoding};
use crate::make::Make;

/// Values that the scaffold offers, fixed for a function.
pub struct Pools {
    pub ints: &'static [i128],
    pub floats: &'static [f64],
    pub texts: &'static [&'static str],
    pub chars: &'static [char],
}

pub const NO_POOLS: Pools = Pools { ints: &[], floats: &[], texts: &[], chars: &[] };

const BASIC_INTS: [i128; 16] = [0, 1, 2, 3, -1, 4, 5, 8, 10, 7, 16, 100, 255, 256, 65535, -128];
const BASIC_FLOATS: [f64; 10] = [0.0, 1.0, 0.5, -1.5, 2.0, 100.0, 1e10, -0.001, f64::INFINITY, f64::NAN];
const BASIC_TEXTS: [&str; 12] = ["a", "", "hello", "abc", "1", "42", "foo bar", "-7", "A_b", "x=1", "a,b", "é"];
const BASIC_CHARS: [char; 24] = [
    'a', 'b', ' ', '0', '1', 'Z', '_', '-', '.', ',', '/', '\n', ':', '"', '=', '(', ')', '%', '9', 'x', '\\', '#',
    '\t', 'é',
];
/// Characters that are encoded in two, three and four bytes, at the ends of each kind.
const WIDE_CHARS: [char; 12] = [
    '\u{7f}', '\u{80}', '\u{7ff}', '\u{800}', '\u{ffff}', '\u{10000}', 'ß', '中', '😀', '\u{301}', '\u{a0}', '\u{10ffff}',
];
const WIDTH: u64 = 64;
const MOST_CALLS: usize = 400;
const MOST_HITS: u64 = 4_000_000;
pub const LINES: usize = 4096;

pub struct World {
    choices: Vec<u32>,
    seed: u64,
    next: usize,
    pub used: usize,
    pub made_up: bool,
    pub calls: Vec<String>,
    counts: HashMap<u128, u32>,
    texts: Vec<String>,
    lengths: Vec<usize>,
    parked: Vec<(Vec<u32>, u64, usize, usize)>,
    pub scaffold_problem: Option<String>,
    /// What else is shown to people of what was made: parts that no encoding tells.
    pub notes: Vec<String>,
}

static WORLD: Mutex<Option<World>> = Mutex::new(None);
static mut POOLS: &Pools = &NO_POOLS;
static mut HITS: [bool; LINES] = [false; LINES];
static mut EDGES: [u64; LINES] = [0; LINES];
static mut EDGE_COUNT: usize = 0;
static mut LAST: u64 = 0;
static mut COUNT: u64 = 0;

pub fn with_world<R>(act: impl FnOnce(&mut World) -> R) -> R {
    let mut guard = WORLD.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    act(guard.as_mut().expect("a world"))
}

pub fn begin(choices: Vec<u32>, seed: u64, pools: &'static Pools) {
    unsafe { POOLS = pools };
    *WORLD.lock().unwrap() = Some(World {
        choices,
        seed,
        next: 0,
        used: 0,
        made_up: false,
        calls: Vec::new(),
        counts: HashMap::new(),
        texts: Vec::new(),
        lengths: Vec::new(),
        parked: Vec::new(),
        scaffold_problem: None,
        notes: Vec::new(),
    });
}

pub fn mixed(mut value: u64) -> u64 {
    value = value.wrapping_add(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d049bb133111eb);
    value ^ (value >> 31)
}

impl World {
    fn at(&mut self, place: u64, own: u64) -> u32 {
        match self.choices.get(place as usize) {
            Some(&choice) => choice,
            None => {
                let drawn = mixed(self.seed.wrapping_mul(0x2545f4914f6cdd1d) ^ mixed(own));
                // Small choices mean the more telling values, so that a seed alone gives them mostly.
                if drawn & 7 != 0 { (drawn >> 8) as u32 % 40 } else { (drawn >> 8) as u32 & 0x7fff_ffff }
            }
        }
    }
}

/// Where choices come from: the state's sequence, or a place in it that a call's hash names.
pub struct Source {
    place: Option<u64>,
    own: u64,
    pub depth: u32,
}

/// Depth from which on values should end.
pub const DEEP: u32 = 7;

pub fn is_deep(source: &Source) -> bool {
    source.depth >= DEEP
}

impl Source {
    pub fn main() -> Source {
        Source { place: None, own: 0, depth: 0 }
    }

    fn of_call(hash: u128) -> Source {
        Source { place: Some(hash as u64 % WIDTH), own: (hash >> 64) as u64, depth: 2 }
    }

    pub fn next(&mut self) -> u32 {
        with_world(|world| match &mut self.place {
            None => {
                let place = world.next;
                world.next += 1;
                world.used = world.used.max(world.next);
                world.at(place as u64, place as u64)
            }
            Some(place) => {
                let at = *place;
                *place += 1;
                self.own = self.own.wrapping_add(1);
                world.used = world.used.max(at as usize + 1);
                world.at(at, self.own | 1 << 63)
            }
        })
    }

    pub fn below(&mut self, count: u32) -> u32 {
        self.next() % count
    }

    /// A length: small choices give the usual ones.
    pub fn length(&mut self) -> usize {
        let choice = self.next();
        if self.depth >= DEEP {
            return 0;
        }
        const USUAL: [usize; 12] = [2, 1, 3, 0, 4, 5, 2, 6, 8, 1, 12, 3];
        let most = if self.depth > 3 { 3 } else { 64 };
        let length = match choice as usize {
            place if place < USUAL.len() => USUAL[place],
            place if place % 3 == 2 => return self.length_of(place / 3, most),
            place => place % 17,
        };
        remember_length(length.min(most))
    }

    /// A length that one of the function's own numbers says, or a multiple of it.
    pub fn own_length(&mut self, most: usize) -> usize {
        let choice = self.next() as usize;
        self.length_of(choice, most)
    }

    fn length_of(&self, choice: usize, most: usize) -> usize {
        let usable = |number: &&i128| (0..=most as i128).contains(*number);
        let pools = unsafe { POOLS };
        let length = match pools.ints.iter().filter(usable).count() {
            0 => choice % 17,
            count => {
                let number = *pools.ints.iter().filter(usable).nth(choice % count).unwrap_or(&0) as usize;
                [number, number, number * 2, number + choice % 17, number * 4][choice / count % 5]
            }
        };
        remember_length(length.min(most))
    }

    /// A number that may be a place in something made before, or its length.
    pub fn index(&mut self) -> i128 {
        let choice = self.next() as usize;
        let step = choice / 3;
        let length = with_world(|world| match world.lengths.len() {
            0 => None,
            count => Some(world.lengths[count - 1 - step / 3 % count] as i128),
        });
        match (choice % 3, length) {
            (0, Some(length)) => (length + [0, -1, 1][step % 3]).max(0),
            (1, _) => step as i128 % 64,
            _ => self.int_of(step),
        }
    }

    pub fn int(&mut self) -> i128 {
        let choice = self.next() as usize;
        self.int_of(choice)
    }

    fn int_of(&self, choice: usize) -> i128 {
        let pools = unsafe { POOLS };
        let own = pools.ints.len();
        if choice < own {
            pools.ints[choice]
        } else if choice < own + BASIC_INTS.len() {
            BASIC_INTS[choice - own]
        } else if choice < 1 << 16 {
            (choice - own - BASIC_INTS.len()) as i128
        } else {
            // Sums and multiples of the function's own numbers, numbers that fill their type, and plain ones.
            match choice & 3 {
                0 if own > 0 => {
                    let (one, other) = (pools.ints[(choice >> 2) % own], pools.ints[(choice >> 8) % own]);
                    one.wrapping_add(other.wrapping_mul((choice >> 14) as i128 % 7))
                }
                1 => mixed(choice as u64) as i64 as i128,
                _ => choice as i128,
            }
        }
    }

    pub fn float(&mut self) -> f64 {
        let choice = self.next() as usize;
        let pools = unsafe { POOLS };
        let own = pools.floats.len();
        if choice < own {
            pools.floats[choice]
        } else if choice < own + BASIC_FLOATS.len() {
            BASIC_FLOATS[choice - own]
        } else {
            choice as f64 / 16.0 - 20.0
        }
    }

    pub fn character(&mut self) -> char {
        let choice = self.next() as usize;
        let pools = unsafe { POOLS };
        let own = pools.chars.len();
        if choice < own {
            pools.chars[choice]
        } else if choice < own + BASIC_CHARS.len() {
            BASIC_CHARS[choice - own]
        } else {
            let place = choice / 4;
            match (choice % 4, pools.ints.len()) {
                (1, _) => WIDE_CHARS[place % WIDE_CHARS.len()],
                (2, own) if own > 0 => char::from_u32(pools.ints[place % own] as u32).unwrap_or('?'),
                _ => char::from_u32(32 + (choice % 95) as u32).unwrap_or('?'),
            }
        }
    }

    fn piece(&mut self, out: &mut String) {
        let choice = self.next() as usize;
        let pools = unsafe { POOLS };
        // The function's own characters, texts and numbers are half of all; the usual characters the others.
        let counts = [pools.chars.len(), pools.texts.len(), pools.ints.len()];
        let own = counts.iter().sum::<usize>();
        let mut place = choice >> 1;
        if own == 0 || choice & 1 == 1 {
            return out.push(match place % 16 {
                15 => WIDE_CHARS[place / 16 % WIDE_CHARS.len()],
                _ => BASIC_CHARS[place % BASIC_CHARS.len()],
            });
        }
        place %= own;
        if place < counts[0] {
            return out.push(pools.chars[place]);
        }
        place -= counts[0];
        if place < counts[1] {
            return out.push_str(pools.texts[place]);
        }
        out.push_str(&pools.ints[place - counts[1]].to_string())
    }

    pub fn text(&mut self) -> String {
        let choice = self.next() as usize;
        let pools = unsafe { POOLS };
        let own = pools.texts.len();
        let text = if choice < own {
            pools.texts[choice].to_string()
        } else if choice < own + BASIC_TEXTS.len() {
            BASIC_TEXTS[choice - own].to_string()
        } else {
            let kind = choice - own - BASIC_TEXTS.len();
            let earlier = with_world(|world| match world.texts.len() {
                0 => None,
                count => Some(world.texts[kind / 4 % count].clone()),
            });
            match (kind % 4, earlier) {
                (0, Some(text)) => text,
                _ => {
                    let mut text = String::new();
                    for _ in 0..1 + kind / 4 % 8 {
                        self.piece(&mut text);
                    }
                    text
                }
            }
        };
        remember_length(text.len());
        with_world(|world| {
            if world.texts.len() < 64 {
                world.texts.push(text.clone())
            }
        });
        text
    }

    pub fn deeper<R>(&mut self, act: impl FnOnce(&mut Source) -> R) -> R {
        self.depth += 1;
        let made = act(self);
        self.depth -= 1;
        made
    }
}

fn remember_length(length: usize) -> usize {
    with_world(|world| {
        if world.lengths.len() < 64 {
            world.lengths.push(length)
        }
    });
    length
}

const UNMAKEABLE: &str = "nothing can be made of type ";

/// A scaffold's own failure: the input state is none.
pub fn unmakeable(what: &str) -> ! {
    let problem = format!("{UNMAKEABLE}{what}");
    with_world(|world| world.scaffold_problem = Some(problem.clone()));
    panic!("{problem}")
}

/// Whether nothing was wrong but that something could not be made, which is then as if not tried.
pub fn forget_unmakeable() -> bool {
    with_world(|world| {
        let is_that = world.scaffold_problem.as_ref().is_some_and(|text| text.starts_with(UNMAKEABLE));
        if is_that {
            world.scaffold_problem = None;
        }
        is_that
    })
}

/// What stands in for code that was left out and should not be reached.
pub fn unreached(what: &str) -> ! {
    with_world(|world| world.scaffold_problem = Some(format!("{what} is not there")));
    panic!("{what} is not there")
}

/// An identity for a value of a type that nothing is known of.
pub fn opaque_id(source: &mut Source) -> u64 {
    source.next() as u64
}

/// The value that a type which stands in begins with: the same in every state.
pub fn made_default<T: Make>() -> T {
    let mut source = Source { place: None, own: 0, depth: DEEP };
    with_world(|world| {
        let kept = (std::mem::take(&mut world.choices), world.seed, world.next, world.used);
        world.seed = 0;
        world.parked.push(kept);
    });
    let made = T::make(&mut source);
    with_world(|world| {
        if let Some((choices, seed, next, used)) = world.parked.pop() {
            (world.choices, world.seed, world.next, world.used) = (choices, seed, next, used);
        }
    });
    made
}

/// What something made up answers: the nth equal call gets an equal answer, in whatever order calls come.
pub fn answer<R>(path: &str, arguments: Vec<Encoding>) -> R {
    let texts: Vec<String> = arguments.iter().map(|argument| argument.json()).collect();
    let arguments = format!("[{}]", texts.join(","));
    let key = digest(format!("{path}\0{arguments}").as_bytes());
    let ordinal = with_world(|world| {
        world.made_up = true;
        let count = world.counts.entry(key).or_insert(0);
        *count += 1;
        *count
    });
    let mut source = Source::of_call(digest(format!("{key:x}\0{ordinal}").as_bytes()));
    let made = R::make(&mut source);
    let mut call = String::from("{\"path\":");
    crate::encoding::write_text(path, &mut call);
    call.push_str(&format!(",\"arguments\":{arguments},\"keywords\":{{}},\"answer\":{}}}", made.encoded().json()));
    let is_endless = with_world(|world| {
        if world.calls.len() < MOST_CALLS {
            world.calls.push(call);
        }
        *world.counts.entry(0).or_insert(0) += 1;
        world.counts[&0] > 20_000
    });
    if is_endless {
        crate::system::leave(crate::serve::ENDLESS);
    }
    made
}

/// A statement of the function is about to run; `line` is relative to its signature.
pub fn hit(line: u32) {
    let place = line as u64 % LINES as u64;
    unsafe {
        COUNT += 1;
        if COUNT > MOST_HITS {
            crate::system::leave(crate::serve::ENDLESS);
        }
        HITS[place as usize] = true;
        let edge = (LAST << 16 | place) + 1;
        LAST = place;
        let mut slot = mixed(edge) as usize % LINES;
        for _ in 0..16 {
            if EDGES[slot] == edge {
                return;
            }
            if EDGES[slot] == 0 && EDGE_COUNT < LINES / 2 {
                EDGES[slot] = edge;
                EDGE_COUNT += 1;
                return;
            }
            slot = (slot + 1) % LINES;
        }
    }
}

pub fn lines_and_features() -> (Vec<u64>, Vec<u64>) {
    let lines = (0..LINES).filter(|&line| unsafe { HITS[line] }).map(|line| line as u64).collect();
    let mut edges: Vec<u64> = (0..LINES).map(|slot| unsafe { EDGES[slot] }).filter(|&edge| edge != 0).collect();
    edges.sort_unstable();
    (lines, edges)
}
