"""Attacks that try to use up what the machine has: processes, memory, space, descriptors, time."""

from __future__ import annotations

from attack_catalogue.record import FOREIGN, NONE, SHORT, Attack

from pytest_funcmem.core.protocols import Limits

ATTACKS = (
    # ------------------------------------------------------------------------------ processes and threads
    Attack(
        name="fork-bomb",
        code="""
            while True:
                attempt(os.fork)
        """,
        outcomes=("timeout",),
        limits=SHORT,
    ),
    Attack(
        name="fork-bomb-of-a-shell",
        way="command",
        code="bomb() { bomb | bomb & }; bomb; sleep 30",
        outcomes=("timeout", "ended"),
        exit_codes=(),
        answers=(".*",),  # what a shell says that cannot fork
        limits=SHORT,
    ),
    Attack(
        name="fork-race-that-changes-its-number-all-the-time",
        code="""
            for _ in range(8):
                attempt(os.fork)
            while True:
                try:
                    if os.fork():
                        os._exit(0)
                except OSError:
                    pass
        """,
        outcomes=("timeout", "ended"),
        limits=SHORT,
        then=FOREIGN,
        then_answers=NONE,
    ),
    Attack(
        name="zombie-flood",
        code="""
            try:
                while True:
                    if os.fork() == 0:
                        os._exit(0)
            except OSError as error:
                answers.append(name_of(error))
        """,
        answers=("EAGAIN",),
    ),
    Attack(
        name="thread-bomb",
        code="""
            import threading, time
            started = 0
            try:
                while started < 5000:
                    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
                    started += 1
            except RuntimeError:
                answers.append("few" if started < 64 else str(started))
        """,
        answers=("few",),
    ),
    Attack(
        name="spinning-in-every-process",
        code="""
            for _ in range(4):
                os.fork()
            while True:
                pass
        """,
        outcomes=("timeout",),
        limits=SHORT,
    ),
    # --------------------------------------------------------------------------------------------- memory
    Attack(
        name="memory-bomb",
        code="""
            kept = []
            while True:
                kept.append(bytearray(b"x") * (1 << 22))
        """,
        outcomes=("memory",),
    ),
    Attack(
        name="memory-bomb-in-many-processes",
        code="""
            for _ in range(3):
                os.fork()
            kept = []
            while True:
                kept.append(bytearray(b"x") * (1 << 22))
        """,
        outcomes=("memory", "timeout"),
    ),
    Attack(
        name="memory-that-is-shared",
        code="""
            import mmap
            kept = []
            while True:
                kept.append(mmap.mmap(-1, 1 << 22))
                kept[-1].write(b"x" * (1 << 22))
        """,
        outcomes=("memory",),
    ),
    Attack(
        name="memfd-bomb",
        code="""
            kept = []
            try:
                while len(kept) < 200:
                    kept.append(os.memfd_create("hidden"))
                    for _ in range(16):
                        os.write(kept[-1], b"x" * (1 << 20))
            except OSError as error:
                answers.append(name_of(error))
        """,
        outcomes=("memory", "ended"),
        answers=("EPERM", "EFBIG", "ENOSPC"),
    ),
    Attack(
        name="address-space-bomb",
        code="""
            import mmap
            kept = []
            try:
                while len(kept) < 64:
                    kept.append(mmap.mmap(-1, 1 << 34, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
            except OSError as error:
                answers.append(name_of(error))
        """,
        answers=("ENOMEM", "EAGAIN"),
    ),
    Attack(
        name="text-of-a-terabyte",
        code='answers.append(attempt(lambda: "x" * (1 << 40)))',
        answers=("MemoryError",),
    ),
    Attack(
        name="memory-that-cannot-be-swapped",
        code="""
            place = ctypes.create_string_buffer(32 << 20)
            answers.append(system_call("mlock", ctypes.addressof(place), 32 << 20))
        """,
        answers=("EPERM", "ENOMEM"),
    ),
    Attack(
        name="full-socket-buffers",
        code="""
            import socket
            kept = []
            try:
                while True:
                    pair = socket.socketpair()
                    kept += pair
                    pair[0].setblocking(False)
                    while attempt(pair[0].send, b"x" * 65536) == "done":
                        pass
            except OSError as error:
                answers.append(name_of(error))
        """,
        answers=("EMFILE", "ENOBUFS", "ENOMEM"),
        outcomes=("ended", "memory"),
    ),
    Attack(
        name="full-pipes",
        code="""
            import fcntl
            kept = []
            try:
                while True:
                    kept += os.pipe()
                    attempt(fcntl.fcntl, kept[-1], 1031, 1 << 20)
                    os.set_blocking(kept[-1], False)
                    while attempt(os.write, kept[-1], b"x" * 65536) == "done":
                        pass
            except OSError as error:
                answers.append(name_of(error))
        """,
        answers=("EMFILE",),
        outcomes=("ended", "memory"),
    ),
    # ---------------------------------------------------------------------------------------------- space
    Attack(
        name="working-directory-filled",
        code="""
            try:
                for number in range(100_000):
                    write(f"f{number}", "x" * (1 << 20))
            except OSError as error:
                answers.append(name_of(error))
        """,
        answers=("ENOSPC",),
        limits=Limits(wall_s=30.0, memory_mib=256, files_mib=16),
    ),
    Attack(
        name="shared-memory-files-filled",
        code="""
            for place in ("/dev/shm", "/tmp"):
                try:
                    for number in range(100_000):
                        write(f"{place}/f{number}", "x" * (1 << 20))
                except OSError as error:
                    answers.append(name_of(error))
        """,
        answers=("ENOSPC", "EACCES"),
        then="answers.extend(str(len(os.listdir(place))) for place in ('/dev/shm', '/tmp'))",
        then_answers=("0",),
        outcomes=("ended", "memory"),
    ),
    Attack(
        name="inode-bomb",
        code="""
            try:
                for number in range(1_000_000):
                    os.close(os.open(f"i{number}", os.O_CREAT | os.O_WRONLY))
            except OSError as error:
                answers.append(name_of(error))
        """,
        answers=("ENOSPC",),
    ),
    Attack(
        name="hard-link-bomb",
        code="""
            write("one")
            try:
                for number in range(1_000_000):
                    os.link("one", f"l{number}")
            except OSError as error:
                answers.append(name_of(error))
        """,
        answers=("ENOSPC", "EMLINK"),
    ),
    Attack(
        name="file-of-a-terabyte-with-nothing-in-it",
        code="""
            write("sparse")
            answers.append(attempt(os.truncate, "sparse", 1 << 40))
        """,
        answers=("EFBIG",),
    ),
    Attack(
        name="tree-deeper-than-any-path",
        code="""
            for _ in range(1500):
                os.mkdir("d")
                os.chdir("d")
            os.chmod(".", 0)
        """,
        then="answers.append(str(os.listdir('.')))",
        then_answers=(r"\[\]",),
    ),
    # ---------------------------------------------------------------------------------------- descriptors
    Attack(
        name="descriptors-used-up",
        code="""
            try:
                while True:
                    os.open("/dev/null", os.O_RDONLY)
            except OSError as error:
                answers.append(name_of(error))
        """,
        # Without a descriptor left even the last record is written: its pipe is open already.
        answers=("EMFILE",),
    ),
    Attack(
        name="inotify-used-up",
        code="""
            while libc.inotify_init() >= 0:
                pass
            answers.append(errno.errorcode[ctypes.get_errno()])
        """,
        answers=("EMFILE",),
    ),
    Attack(
        name="queued-signals",
        code="""
            import signal
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
            sent = 0
            while sent < 2_000_000 and libc.sigqueue(os.getpid(), signal.SIGRTMIN, None) == 0:
                sent += 1
            answers.append(errno.errorcode.get(ctypes.get_errno(), "none"))
        """,
        answers=("EAGAIN",),
    ),
    Attack(
        name="arguments-of-many-megabytes",
        code="""
            words = ["x" * 100_000] * 300
            answers.append(attempt(os.execv, "/bin/true", ["true", *words]))
            variables = {f"V{n}": word for n, word in enumerate(words)}
            answers.append(attempt(os.execve, "/bin/true", ["true"], variables))
        """,
        answers=("E2BIG",),
        outcomes=("ended", "memory"),
    ),
    # ----------------------------------------------------------------------------------- time and stack
    Attack(
        name="every-signal-ignored",
        code="""
            import signal, time
            for number in range(1, 65):
                attempt(signal.signal, number, signal.SIG_IGN)
            while True:
                time.sleep(1)
        """,
        outcomes=("timeout",),
        limits=SHORT,
    ),
    Attack(
        name="stopped-by-itself",
        code="import signal; os.kill(os.getpid(), signal.SIGSTOP)",
        outcomes=("timeout",),
        limits=SHORT,
    ),
    Attack(
        name="waiting-in-c",
        code="libc.pause()",
        outcomes=("timeout",),
        limits=SHORT,
    ),
    Attack(
        name="regular-expression-that-never-ends",
        code="import re; re.match('(a+)+$', 'a' * 60 + 'b')",
        outcomes=("timeout",),
        limits=SHORT,
    ),
    Attack(
        name="number-that-never-ends",
        code="10 ** 10 ** 10",
        outcomes=("timeout", "memory"),
        limits=SHORT,
    ),
    Attack(
        name="recursion",
        code="""
            def f():
                f()
            answers.append(attempt(f))
        """,
        answers=("RecursionError",),
    ),
    Attack(
        name="recursion-without-a-limit",
        code="""
            import sys
            sys.setrecursionlimit(2**31 - 1)
            def f():
                f()
            f()
        """,
        outcomes=("memory", "signal", "ended", "timeout"),
        exit_codes=(1, 125),
        limits=Limits(wall_s=2.0, memory_mib=96),
    ),
    Attack(
        name="stack-of-c-overflown",
        code="""
            import sys
            sys.setrecursionlimit(2**31 - 1)
            deep = []
            for _ in range(1_000_000):
                deep = [deep]
            answers.append(attempt(repr, deep))
            os._exit(0)
        """,
        outcomes=("signal", "ended"),
        answers=("RecursionError", "MemoryError"),
    ),
    Attack(
        name="json-that-is-too-deep",
        code="answers.append(attempt(json.loads, '[' * 1_000_000))",
        answers=("RecursionError",),
    ),
    Attack(
        name="limits-raised",
        code="""
            import resource
            for name in ("NPROC", "NOFILE", "DATA", "FSIZE", "CORE", "CPU", "MEMLOCK", "MSGQUEUE"):
                what = getattr(resource, f"RLIMIT_{name}", 12)
                answers.append(attempt(resource.setrlimit, what, (-1, -1)))
        """,
        answers=("ValueError", "EPERM"),
    ),
    Attack(
        name="limits-of-others-changed",
        code="""
            import resource
            for pid in others():
                answers.append(attempt(resource.prlimit, pid, resource.RLIMIT_NOFILE, (1, 1)))
        """,
        answers=("EPERM", "PermissionError", "ESRCH", "ProcessLookupError"),
        as_user=("done",),
    ),
    Attack(
        name="priority-raised",
        code="""
            answers.append(attempt(os.nice, -20))
            answers.append(system_call("sched_setscheduler", 0, 1, ctypes.byref(ctypes.c_int(50))))
        """,
        answers=("EPERM",),
    ),
    Attack(
        name="out-of-memory-killer-sent-to-others",
        code="""
            answers.append(attempt(write, "/proc/self/oom_score_adj", "-1000"))
            for pid in others():
                answers.append(attempt(write, f"/proc/{pid}/oom_score_adj", "1000"))
        """,
        answers=("EACCES", "EPERM", "EROFS", "ENOENT"),
        as_user=("done",),
    ),
    Attack(
        name="core-dumped",
        code="""
            import resource
            attempt(resource.setrlimit, resource.RLIMIT_CORE, (1 << 30, 1 << 30))
            os.abort()
        """,
        outcomes=("signal",),
        then="answers.append(str(os.listdir('.')))",
        then_answers=(r"\[\]",),
    ),
)
