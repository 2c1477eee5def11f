//! The few system calls that the runtime makes itself, and those of the program that it answers: clock, sleep,
//! random bytes and exit. They are symbols of the program, so they come before the C library's.

use std::ffi::{c_int, c_long, c_uint};
use std::os::fd::IntoRawFd;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

extern "C" {
    pub fn fork() -> c_int;
    pub fn pipe(ends: *mut c_int) -> c_int;
    pub fn dup2(from: c_int, to: c_int) -> c_int;
    pub fn close(descriptor: c_int) -> c_int;
    pub fn kill(process: c_int, signal: c_int) -> c_int;
    pub fn setpgid(process: c_int, group: c_int) -> c_int;
    pub fn poll(entries: *mut PollEntry, count: u64, timeout_ms: c_int) -> c_int;
    pub fn wait4(process: c_int, status: *mut c_int, options: c_int, usage: *mut [c_long; 18]) -> c_int;
    pub fn setrlimit(resource: c_int, limit: *const [u64; 2]) -> c_int;
    fn _exit(status: c_int) -> !;
    fn __errno_location() -> *mut c_int;
}

#[repr(C)]
pub struct PollEntry {
    pub descriptor: c_int,
    pub events: i16,
    pub found: i16,
}

#[repr(C)]
pub struct Time {
    pub seconds: i64,
    pub nanoseconds: i64,
}

static TAMED: AtomicBool = AtomicBool::new(false);
static CLOCK: AtomicI64 = AtomicI64::new(0);
static ASKED: AtomicU64 = AtomicU64::new(0);
static RANDOM: AtomicU64 = AtomicU64::new(0);

/// Seconds since 1970 at which every input state begins: 2023-11-14 22:13:20 UTC.
const START_S: i64 = 1_700_000_000;
/// Answers of the clock before it begins to run, so that waiting for a time ends.
const STILL: u64 = 1000;

/// From now on clock and random bytes are those of an input state.
pub fn tame(seed: u64) {
    RANDOM.store(seed, Ordering::SeqCst);
    TAMED.store(true, Ordering::SeqCst);
}

pub fn leave(status: i32) -> ! {
    unsafe { _exit(status) }
}

/// A file without a name, for what a process prints.
pub fn nameless_file() -> c_int {
    let name = ".said";
    let opened = std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(name);
    let _ = std::fs::remove_file(name);
    opened.expect("a file").into_raw_fd()
}

#[cfg(target_arch = "x86_64")]
unsafe fn raw(number: i64, a: i64, b: i64, c: i64, d: i64, e: i64, f: i64) -> i64 {
    let result: i64;
    std::arch::asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c,
        in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    result
}

#[cfg(target_arch = "aarch64")]
unsafe fn raw(number: i64, a: i64, b: i64, c: i64, d: i64, e: i64, f: i64) -> i64 {
    let result: i64;
    std::arch::asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d,
        in("x4") e, in("x5") f, options(nostack));
    result
}

#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: i64 = 228;
#[cfg(target_arch = "x86_64")]
const GETRANDOM: i64 = 318;
#[cfg(target_arch = "aarch64")]
const CLOCK_GETTIME: i64 = 113;
#[cfg(target_arch = "aarch64")]
const GETRANDOM: i64 = 278;

fn clock_ms(which: i64) -> Option<i64> {
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    let answer = unsafe { raw(CLOCK_GETTIME, which, &mut time as *mut Time as i64, 0, 0, 0, 0) };
    (answer == 0).then(|| time.seconds * 1000 + time.nanoseconds / 1_000_000)
}

/// Milliseconds of the machine's own steady clock.
pub fn steady_ms() -> i64 {
    clock_ms(1).expect("a clock")
}

/// Times as long on the clock as of the processor: waiting costs no processor.
const PATIENCE: i64 = 10;
/// Milliseconds after which a process that has used no processor meanwhile waits for ever.
const IDLE_MS: i64 = 2000;

/// How long a process may still go on: by what it used of the processor, which a busy machine hardly changes.
pub struct Watch {
    processor: i64,
    limit: i64,
    start: i64,
    used: i64,
    moved: i64,
}

impl Watch {
    pub fn new(process: c_int, limit: i64) -> Watch {
        let now = steady_ms();
        Watch { processor: ((!process << 3) | 2) as i64, limit, start: now, used: 0, moved: now }
    }

    /// Milliseconds after which it is worth looking again; none where its time is up.
    pub fn left(&mut self) -> i64 {
        let now = steady_ms();
        let Some(used) = clock_ms(self.processor) else {
            return self.start + self.limit - now;
        };
        if used > self.used {
            (self.used, self.moved) = (used, now);
        }
        (self.limit - used).min(self.moved + IDLE_MS - now).min(self.start + PATIENCE * self.limit - now)
    }
}

unsafe fn result_of(result: i64) -> i64 {
    if (-4095..0).contains(&result) {
        *__errno_location() = -result as c_int;
        return -1;
    }
    result
}

fn fill(bytes: *mut u8, count: usize) {
    for place in 0..count {
        let state = RANDOM.fetch_add(1, Ordering::SeqCst);
        unsafe { *bytes.add(place) = crate::world::mixed(state) as u8 };
    }
}

#[no_mangle]
pub unsafe extern "C" fn clock_gettime(which: c_int, time: *mut Time) -> c_int {
    if !TAMED.load(Ordering::SeqCst) {
        return result_of(raw(CLOCK_GETTIME, which as i64, time as i64, 0, 0, 0, 0)) as c_int;
    }
    if ASKED.fetch_add(1, Ordering::SeqCst) >= STILL {
        CLOCK.fetch_add(1_000_000_000, Ordering::SeqCst);
    }
    let passed = CLOCK.load(Ordering::SeqCst);
    let start = if which == 0 || which == 5 { START_S } else { 1000 };
    *time = Time { seconds: start + passed / 1_000_000_000, nanoseconds: passed % 1_000_000_000 };
    0
}

#[no_mangle]
pub unsafe extern "C" fn nanosleep(wanted: *const Time, left: *mut Time) -> c_int {
    CLOCK.fetch_add((*wanted).seconds.saturating_mul(1_000_000_000) + (*wanted).nanoseconds, Ordering::SeqCst);
    if !left.is_null() {
        *left = Time { seconds: 0, nanoseconds: 0 };
    }
    0
}

#[no_mangle]
pub unsafe extern "C" fn clock_nanosleep(_which: c_int, flags: c_int, wanted: *const Time, left: *mut Time) -> c_int {
    if flags != 0 {
        return 0;
    }
    nanosleep(wanted, left)
}

#[no_mangle]
pub unsafe extern "C" fn getrandom(bytes: *mut u8, count: usize, flags: c_uint) -> isize {
    if !TAMED.load(Ordering::SeqCst) {
        return result_of(raw(GETRANDOM, bytes as i64, count as i64, flags as i64, 0, 0, 0)) as isize;
    }
    fill(bytes, count);
    count as isize
}

#[no_mangle]
pub unsafe extern "C" fn syscall(number: c_long, a: i64, b: i64, c: i64, d: i64, e: i64, f: i64) -> c_long {
    if number == GETRANDOM && TAMED.load(Ordering::SeqCst) {
        fill(a as *mut u8, b as usize);
        return b;
    }
    result_of(raw(number, a, b, c, d, e, f))
}

#[no_mangle]
pub extern "C" fn exit(status: c_int) -> ! {
    if TAMED.load(Ordering::SeqCst) {
        crate::run::ended_by_exit(status);
    }
    leave(status)
}
