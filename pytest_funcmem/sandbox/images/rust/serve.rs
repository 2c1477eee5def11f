//! The main loop of a program: reads input states, runs each in a process of its own, and passes on what it says.

use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::encoding::write_text;
use crate::run::{run_state, watch_panics, Place, Run};
use crate::system::*;
use crate::world::Pools;

/// Exit status of a process that would go on without end.
pub const ENDLESS: i32 = 97;
const MOST_RECORD: usize = 8 << 20;
const MOST_SAID: usize = 65_536;
const POLL_IN: i16 = 1;
const SIGKILL: i32 = 9;
const RLIMIT_DATA: i32 = 2;
const MEMORY: u64 = 384 << 20;

/// One program: where its function stands in its file, and how it is driven.
pub struct Program {
    pub number: u32,
    pub file: &'static str,
    pub first: u32,
    pub last: u32,
    pub driver: u32,
    pub pools: &'static Pools,
    pub drive: fn(&mut Run),
}

/// What stands in the directory of every state.
const FILES: [(&str, &str); 3] =
    [("a.txt", "first line\nsecond line\n3\n"), ("dir/main.rs", "fn main() {}\n"), ("dir/notes", "x = 1\n")];

static PIPE: AtomicI32 = AtomicI32::new(-1);
static SAID: AtomicI32 = AtomicI32::new(-1);
static COMPLAINED: AtomicI32 = AtomicI32::new(-1);

/// Read states from standard input, one a line: program, index, seed, milliseconds, choices. Records go to
/// descriptor 1, each after its length.
pub fn serve(programs: &[Program]) {
    let mut request = String::new();
    std::io::stdin().read_to_string(&mut request).expect("a request");
    for line in request.lines() {
        let mut words = line.split(' ').map(|word| word.parse::<u64>().expect("a number"));
        let mut word = || words.next().expect("a word");
        let (number, index, seed, limit_ms) = (word() as u32, word(), word(), word() as i64);
        let choices = words.map(|choice| choice as u32).collect();
        if let Some(program) = programs.iter().find(|program| program.number == number) {
            let record = one_state(program, index, seed, limit_ms, choices);
            let mut out = std::io::stdout();
            out.write_all(&(record.len() as u32).to_be_bytes()).and_then(|_| out.write_all(&record)).expect("a reader");
            out.flush().expect("a reader");
        }
    }
}

fn one_state(program: &Program, index: u64, seed: u64, limit_ms: i64, choices: Vec<u32>) -> Vec<u8> {
    let directory = format!("state{}", index);
    std::fs::create_dir(&directory).expect("a directory");
    let mut ends = [0; 2];
    let (child, complained) = unsafe {
        assert_eq!(pipe(ends.as_mut_ptr()), 0);
        let files = (nameless_file(), nameless_file());
        let child = fork();
        assert!(child >= 0, "no process");
        if child == 0 {
            in_child(program, &directory, seed, choices, ends, files);
        }
        close(ends[1]);
        close(files.0);
        (child, files.1)
    };
    let mut watch = Watch::new(child, limit_ms);
    let (body, is_late) = read_body(ends[0], &mut watch);
    let (mut status, mut usage) = (0, [0; 18]);
    unsafe {
        if is_late || !body.is_empty() {
            kill(child, SIGKILL);
        }
        // Whoever closed the pipe without a record is about to end, or is stopped where its time is up.
        while body.is_empty() && !is_late && wait4(child, &mut status, 1, &mut usage) == 0 {
            if watch.left() <= 0 {
                kill(child, SIGKILL);
                break;
            }
            poll(std::ptr::null_mut(), 0, 1);
        }
        wait4(child, &mut status, 0, &mut usage);
        close(ends[0]);
        kill(-child, SIGKILL);
    }
    let complaint = read_file(complained);
    let seconds = (usage[0] + usage[2]) as f64 + (usage[1] + usage[3]) as f64 / 1e6;
    let (outcome, detail) = match (status & 0x7f, (status >> 8) & 0xff) {
        _ if !body.is_empty() && body.len() <= MOST_RECORD => ("recorded", String::new()),
        _ if body.len() > MOST_RECORD => ("refused", "its record is too long".to_string()),
        _ if is_late => ("timeout", format!("it did not end within {limit_ms} ms")),
        (0, ENDLESS) => ("timeout", "it went on without end".to_string()),
        (0, code) => ("missing", format!("the process ended with status {code}")),
        (_, _) if complaint.contains("memory allocation of") => ("memory", "memory ran out".to_string()),
        (signal, _) => ("signal", format!("signal {signal}")),
    };
    let _ = std::fs::remove_dir_all(&directory);
    let mut head = format!(
        "{{\"kind\":\"state\",\"program\":{},\"index\":{},\"outcome\":\"{}\",\"seconds\":{:.6},\"detail\":",
        program.number, index, outcome, seconds,
    );
    write_text(&detail, &mut head);
    head.push_str("}\n");
    let mut record = head.into_bytes();
    if outcome == "recorded" {
        record.extend_from_slice(&body);
    }
    record
}

fn read_body(descriptor: i32, watch: &mut Watch) -> (Vec<u8>, bool) {
    let mut pipe = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(descriptor) });
    let mut body = Vec::new();
    let mut part = vec![0; 65536];
    while body.len() <= MOST_RECORD {
        let left = watch.left();
        let mut entry = PollEntry { descriptor, events: POLL_IN, found: 0 };
        if left <= 0 {
            return (Vec::new(), true);
        }
        if unsafe { poll(&mut entry, 1, left as i32) } <= 0 {
            continue;
        }
        match pipe.read(&mut part) {
            Ok(0) => break,
            Ok(count) => body.extend_from_slice(&part[..count]),
            Err(_) => break,
        }
        // A record ends in a line feed, and none stands in it.
        if body.last() == Some(&b'\n') {
            break;
        }
    }
    (body, false)
}

fn read_file(descriptor: i32) -> String {
    let mut file = unsafe { std::fs::File::from_raw_fd(descriptor) };
    let mut bytes = Vec::new();
    let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(MOST_SAID as u64).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

unsafe fn in_child(
    program: &Program, directory: &str, seed: u64, choices: Vec<u32>, ends: [i32; 2], files: (i32, i32),
) -> ! {
    setpgid(0, 0);
    close(ends[0]);
    dup2(files.0, 1);
    dup2(files.1, 2);
    PIPE.store(ends[1], Ordering::SeqCst);
    SAID.store(files.0, Ordering::SeqCst);
    COMPLAINED.store(files.1, Ordering::SeqCst);
    setrlimit(RLIMIT_DATA, &[MEMORY, MEMORY]);
    if std::env::set_current_dir(directory).is_err() {
        leave(98);
    }
    let _ = std::fs::create_dir("dir");
    for (name, content) in FILES {
        let _ = std::fs::write(name, content);
    }
    // First of all: the seeds of hash maps are drawn when the first map is made.
    tame(seed);
    crate::world::begin(choices, seed, program.pools);
    watch_panics(Place { file: program.file, first: program.first, last: program.last, driver: program.driver });
    let fields = run_state(program.drive);
    deliver(&fields);
    leave(0)
}

/// Add what was printed and written, and hand the record to the parent.
pub fn deliver(fields: &str) {
    let _ = std::io::stdout().flush();
    let mut record = String::from("{");
    record.push_str(fields);
    for (name, file) in [("stdout", &SAID), ("stderr", &COMPLAINED)] {
        record.push_str(&format!(",\"{name}\":"));
        write_text(&read_file(file.load(Ordering::SeqCst)), &mut record);
    }
    record.push_str(",\"detail\":\"\",\"files\":{");
    let mut written = Vec::new();
    list_files(std::path::Path::new("."), &mut written);
    written.sort();
    record.push_str(&written.join(","));
    record.push_str("}}\n");
    let pipe = PIPE.load(Ordering::SeqCst);
    let mut pipe = unsafe { std::fs::File::from_raw_fd(pipe) };
    let _ = pipe.write_all(record.as_bytes());
}

fn list_files(directory: &std::path::Path, written: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten().take(64) {
        let path = entry.path();
        if path.is_dir() {
            list_files(&path, written);
            continue;
        }
        let content = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
        let name = path.to_string_lossy().trim_start_matches("./").to_string();
        if FILES.contains(&(name.as_str(), content.as_str())) {
            continue;
        }
        let mut text = String::new();
        write_text(&name, &mut text);
        text.push(':');
        write_text(&content.chars().take(MOST_SAID).collect::<String>(), &mut text);
        written.push(text);
    }
}
