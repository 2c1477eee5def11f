"""A sandbox program whose payload names what it is to do; most of it is what hostile code would do."""

# Run in isolation on plain paths; the loop variables are used before the loop goes on.
# ruff: noqa: B023, PTH101, PTH102, PTH109, PTH115, PTH118, PTH123, PTH208, SIM115

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
import time

MARK = "left for the next candidate"


def main(payload, emit):
    request = json.loads(payload)
    answer = globals()[request.pop("do")](emit, **request)
    emit(json.dumps(answer).encode())


def attempt(call):
    try:
        return call()
    except BaseException as error:
        return type(error).__name__


def read(path):
    with open(path) as file:
        return file.read()


def echo(emit, *, value):
    return value


def state(emit):
    return {
        "uid": os.getuid(),
        "gid": os.getgid(),
        "groups": os.getgroups(),
        "cwd": os.getcwd(),
        "entries": sorted(os.listdir(".")),
        "environment": dict(os.environ),
        "hash": hash("an ordinary text"),
        "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1],
        "capabilities": [line.split()[1] for line in read("/proc/self/status").splitlines() if "Cap" in line],
        "stdin": sys.stdin.read(),
        "utf8": sys.flags.utf8_mode,
    }


def count(emit, *, upto):
    for number in range(upto):
        emit(str(number).encode())
    return "end"


def file_contents(emit, *, paths):
    return [read(path) for path in paths]


def say(emit, *, out, err):
    sys.stdout.write(out)
    sys.stderr.write(err)


def leave(emit, *, how):
    emit(b"before")
    if how == "exit 3":
        raise SystemExit(3)
    if how == "_exit 0":
        os._exit(0)
    if how == "raise":
        raise ValueError("out of main")
    if how == "segv":
        ctypes.string_at(0)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "abort":
        os.abort()
    if how == "bpf":
        ctypes.CDLL(None).syscall({"x86_64": 321, "aarch64": 280}[os.uname().machine], 0, 0, 0)


def hang(emit):
    emit(b"before")
    for number in range(1, 65):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


def burn(emit, *, processes):
    """Use the processor, in one child after the other and, in the end, without end."""
    for _ in range(processes):
        child = os.fork()
        if child == 0:
            while time.process_time() < 0.3:
                pass
            os._exit(0)
        os.waitpid(child, 0)
    emit(b'"burnt"')
    if processes == 0:
        while True:
            pass


def partial_record(emit):
    emit(b"whole")
    os.write(3, b"\0\0\0\x10half")
    os.kill(os.getpid(), signal.SIGKILL)


def monstrous_record(emit):
    emit(b"whole")
    os.write(3, b"\xff\xff\xff\xff and not that much")
    os._exit(0)


def eat_memory(emit):
    emit(b"before")
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1 << 20)))


def eat_shared_memory(emit, *, processes):
    """Beyond what a limit on each process' private memory can see."""
    emit(b"before")
    for _ in range(processes):
        os.fork()
    kept = []
    while True:
        kept.append(mmap.mmap(-1, 1 << 20))
        kept[-1].write(b"x" * (1 << 20))


def fork_bomb(emit):
    emit(b"before")
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def thread_bomb(emit):
    started = 0
    with contextlib.suppress(RuntimeError):
        while started < 2000:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            started += 1
    return started


def flood(emit, *, what, mebibytes):
    piece = b"x" * (1 << 20)
    for _ in range(mebibytes):
        if what == "records":
            emit(piece)
        elif what == "empty records":
            os.write(3, b"\0" * (1 << 20))
        else:
            os.write(1 if what == "stdout" else 2, piece)
    return "through"


def network(emit):
    def connect(family, address):
        with socket.socket(family) as link:
            link.settimeout(2)
            link.connect(address)

    def listen_and_connect():
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            connect(socket.AF_INET, server.getsockname())

    def datagram():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            link.sendto(b"x", ("192.0.2.1", 53))

    return {
        "outside": attempt(lambda: connect(socket.AF_INET, ("192.0.2.1", 80))),
        "metadata": attempt(lambda: connect(socket.AF_INET, ("169.254.169.254", 80))),
        "outside6": attempt(lambda: connect(socket.AF_INET6, ("2001:db8::1", 80))),
        "datagram": attempt(datagram),
        "loopback": attempt(lambda: connect(socket.AF_INET, ("127.0.0.1", 22))),
        "own server": attempt(listen_and_connect),
        "names": attempt(lambda: socket.getaddrinfo("example.com", 80)),
        "vsock": attempt(lambda: socket.socket(40, socket.SOCK_STREAM).close()),
    }


def write_to(emit, *, directories):
    def write(directory):
        with open(os.path.join(directory, "mark"), "w") as file:
            file.write(MARK)

    return {directory: attempt(lambda: write(directory)) for directory in directories}


def look_at(emit, *, paths):
    return {path: os.path.lexists(path) and attempt(lambda: read(path) and "read") for path in paths}


def list_directories(emit, *, directories):
    return {path: attempt(lambda: sorted(os.listdir(path))) for path in directories}


def leave_daemon(emit):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 64)
            for number in range(1, 65):
                with contextlib.suppress(OSError, ValueError):
                    signal.signal(number, signal.SIG_IGN)
            while True:
                time.sleep(1)
        os._exit(0)
    return "left"


def hold_pipes_open(emit):
    """Ends while a child of it holds every pipe."""
    emit(b"before")
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    os._exit(0)


def processes(emit):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                fields = read(f"/proc/{name}/status").split("\n")
                uid = next(line.split("\t")[1] for line in fields if line.startswith("Uid:"))
                found.append([int(name), int(uid)])
    return found


def attack_others(emit):
    libc = ctypes.CDLL(None, use_errno=True)
    others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    results = {
        "kill": [attempt(lambda: os.kill(pid, signal.SIGKILL)) for pid in others if pid != 1],
        "memory": [attempt(lambda: bool(open(f"/proc/{pid}/mem", "r+b"))) for pid in others],
        "environment": [attempt(lambda: len(read(f"/proc/{pid}/environ"))) for pid in others],
        "descriptors": [attempt(lambda: os.readlink(f"/proc/{pid}/fd/0")) for pid in others],
        "ptrace": [libc.ptrace(16, pid, 0, 0) for pid in others],
    }
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGTERM)
    return results


def rise(emit):
    libc = ctypes.CDLL(None, use_errno=True)
    return {
        "setuid": attempt(lambda: os.setuid(0)),
        "setgroups": attempt(lambda: os.setgroups([0])),
        "chroot": attempt(lambda: os.chroot(".")),
        "mknod": attempt(lambda: os.mknod("disk", 0o60666, os.makedev(8, 0))),
        "nice": attempt(lambda: os.nice(-5)),
        "user namespace": libc.unshare(0x10000000),
        "mount namespace": libc.unshare(0x20000),
        "mount": libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
        "io_uring": libc.syscall(425, 8, ctypes.create_string_buffer(256)),
        "shared memory": libc.shmget(0x1234, 4096, 0o1666),
        "su": subprocess.run(["su", "-c", "id"], capture_output=True, stdin=subprocess.DEVNULL).returncode,
    }


def deep_tree(emit, *, depth):
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    os.chmod(".", 0)
    return "made"


def fill_files(emit):
    written = 0
    with contextlib.suppress(OSError):
        for number in range(1000):
            with open(f"f{number}", "wb") as file:
                written += file.write(b"x" * (1 << 20))
    made = 0
    with contextlib.suppress(OSError):
        for number in range(100_000):
            os.close(os.open(f"i{number}", os.O_CREAT | os.O_WRONLY))
            made += 1
    return {"mebibytes": written >> 20, "inodes": made}


def run_python(emit):
    """Python started by the candidate, as a function under test may do."""
    done = subprocess.run(
        [sys.executable, "-c", "print(hash('an ordinary text'))"], capture_output=True, text=True
    )
    return done.stdout.strip()


def pool(emit):
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(2) as workers:
        return workers.map(abs, [-1, -2, 3])


def eat_hidden_memory(emit, *, processes):
    """In files that no process maps."""
    emit(b"before")
    return attempt(lambda: os.memfd_create("hidden"))
