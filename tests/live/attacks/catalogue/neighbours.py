"""Attacks on other processes, on candidates that ran before, and on those that come after."""

from __future__ import annotations

from attack_catalogue.record import FOREIGN, NONE, QUICK, SHORT, Attack

ATTACKS = (
    # --------------------------------------------------------------------------------- processes of others
    Attack(
        name="kill-everybody",
        code="""
            import signal
            for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
                answers.append(attempt(os.kill, -1, number))
        """,
        answers=("done", "ESRCH", "EPERM"),
    ),
    Attack(
        name="kill-each-by-its-number",
        code="""
            import signal
            for pid in {1, os.getppid(), *others()} - {0}:
                for number in (0, signal.SIGSTOP, signal.SIGKILL):
                    answers.append(attempt(os.kill, pid, number))
        """,
        answers=("EPERM", "ESRCH"),
        as_user=("done",),  # the kernel drops them: a first process cannot be killed from inside
    ),
    Attack(
        name="signal-through-a-process-descriptor",
        code="""
            import signal
            for pid in {1, *others()}:
                fd = libc.syscall(NUMBERS["pidfd_open"][0], pid, 0)
                if fd >= 0:
                    answers.append(system_call("pidfd_send_signal", fd, signal.SIGKILL, 0, 0))
                    answers.append(system_call("pidfd_getfd", fd, 1, 0))
        """,
        answers=("EPERM", "ESRCH", "ENOSYS"),
        as_user=("done",),
    ),
    Attack(
        name="ptrace",
        code="""
            for pid in {1, *others()}:
                for request in (16, 0x4206):
                    answers.append(system_call("ptrace", request, pid, 0, 0))
            answers.append(system_call("ptrace", 0, 0, 0, 0))
        """,
        answers=("EPERM",),
    ),
    Attack(
        name="memory-of-others-read",
        code="""
            place = ctypes.create_string_buffer(64)
            vector = ctypes.byref((ctypes.c_size_t * 2)(ctypes.addressof(place), 64))
            for pid in {1, *others()}:
                answers.append(system_call("process_vm_readv", pid, vector, 1, vector, 1, 0))
                answers.append(attempt(open, f"/proc/{pid}/mem", "r+b"))
                answers.append(attempt(lambda: read(f"/proc/{pid}/maps") or 1 / 0))
        """,
        answers=("EPERM", "EACCES", "ENOENT"),
    ),
    Attack(
        name="secrets-of-others-in-proc",
        code="""
            for pid in {1, *others()}:
                for name in ("environ", "stack", "auxv", "io", "personality"):
                    answers.append(attempt(read, f"/proc/{pid}/{name}"))
                for name in ("fd", "map_files", "task/1/fd"):
                    answers.append(attempt(os.listdir, f"/proc/{pid}/{name}"))
                for name in ("root", "cwd", "exe"):
                    answers.append(attempt(os.readlink, f"/proc/{pid}/{name}"))
        """,
        answers=("EPERM", "EACCES", "ENOENT", "ESRCH"),
        as_user=("done",),  # the numbers of its descriptors, not what is behind them
    ),
    Attack(
        name="pipes-of-the-supervisor",
        code="""
            for pid in {1, *others()}:
                for number in range(10):
                    answers.append(attempt(open, f"/proc/{pid}/fd/{number}", "wb"))
        """,
        answers=("EPERM", "EACCES", "ENOENT"),
    ),
    Attack(
        name="descriptors-beyond-its-own",
        code="""
            for name in os.listdir("/proc/self/fd"):
                if int(name) > 3 and os.path.exists(f"/proc/self/fd/{name}"):
                    answers.append(name)
        """,
        answers=(),
    ),
    Attack(
        name="root-through-proc-of-others",
        code="""
            for pid in {1, *others()}:
                answers.append(attempt(os.listdir, f"/proc/{pid}/root"))
                answers.append(attempt(os.chdir, f"/proc/{pid}/cwd/.."))
                answers.append(attempt(read, f"/proc/{pid}/root/etc/shadow"))
        """,
        answers=("EPERM", "EACCES", "ENOENT"),
    ),
    # ------------------------------------------------------------------------------------- what is left over
    Attack(
        name="daemon",
        code="""
            import signal, time
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.closerange(0, 64)
                    for number in range(1, 65):
                        attempt(signal.signal, number, signal.SIG_IGN)
                    while True:
                        attempt(write, "/dev/shm/beat")
                        attempt(write, "/tmp/beat")
                        time.sleep(0.001)
                os._exit(0)
            os.wait()
            time.sleep(0.05)
            answers.append("left")
        """,
        answers=("left",),
        then=FOREIGN
        + "\nimport time; time.sleep(0.1); answers.append(str(os.listdir('/tmp') + os.listdir('/dev/shm')))",
        then_answers=NONE,
    ),
    Attack(
        name="child-that-keeps-the-pipes-open",
        code="""
            import time
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)
            emit(b'["left"]')
            os._exit(0)
        """,
        answers=("left",),
        then=FOREIGN,
        then_answers=NONE,
    ),
    Attack(
        name="storm-of-orphans",
        code="""
            import time
            for _ in range(12):
                if attempt(os.fork) == "done" and os.fork() == 0:
                    os.setsid()
            if os.getpid() != os.getsid(0):
                time.sleep(1000)
        """,
        exit_codes=(0, 1),
        outcomes=("ended", "timeout"),
        limits=SHORT,
        then=FOREIGN,
        then_answers=NONE,
    ),
    Attack(
        name="files-left-where-all-may-write",
        code="""
            for place in ("/tmp", "/dev/shm", "/work/tmp", "."):
                answers.append(attempt(write, f"{place}/left"))
            for place in ("/var/tmp", "/dev/mqueue", "/run", "/run/lock", "/work", "/", "/home", "/root"):
                answers.append(attempt(write, f"{place}/left"))
        """,
        answers=("done", "EACCES", "EROFS", "ENOENT", "EPERM", "EMFILE"),
        then="""
            for place in ("/tmp", "/dev/shm", "/work/tmp", ".", "/var/tmp", "/run", "/work"):
                answers.append(attempt(read, f"{place}/left"))
            """,
        then_answers=("ENOENT",),
    ),
    Attack(
        name="names-that-are-hard-to-remove",
        code=r"""
            for name in (b"\n", b"-rf", b"*", b"\xff\xfe", b"x" * 255, b" ", b"\x1b[2J"):
                for place in (b".", b"/tmp", b"/dev/shm"):
                    # Two of these places may be one.
                    attempt(os.mkdir, os.path.join(place, name))
                    attempt(write, os.path.join(place, name, b"inside"))
                    os.chmod(os.path.join(place, name), 0)
        """,
        then="answers.extend(str(os.listdir(place)) for place in ('/tmp', '/dev/shm', '.', '/work/tmp'))",
        then_answers=NONE,
    ),
    Attack(
        name="links-that-point-outside",
        code="""
            for number, target in enumerate(("/etc", "/etc/passwd", "/proc/1", "/work", "/usr", "/", "loop")):
                for place in (".", "/tmp", "/dev/shm", "/work/tmp"):
                    attempt(os.symlink, target, f"{place}/link{number}")
            os.symlink("loop", "loop")
            os.rename("/work/tmp", "/work/other") if os.access("/work", os.W_OK) else None
        """,
        then="""
            answers.extend(str(os.path.exists(path)) for path in ("/etc/passwd", "/usr/bin/env"))
            answers.extend(str(os.listdir(place)) for place in (".", "/tmp", "/dev/shm"))
            """,
        then_answers=("True", *NONE),
    ),
    Attack(
        name="working-directory-put-elsewhere",
        code="""
            os.mkdir("/tmp/aside")
            answers.append(attempt(os.rename, "/work/task", "/tmp/aside/task"))
            answers.append(attempt(os.rmdir, "/work/task"))
            answers.append(attempt(os.symlink, "/etc", "/work/task2"))
        """,
        answers=("EACCES", "EPERM", "EXDEV", "EBUSY", "EROFS", "done"),
        then="answers.extend([os.getcwd(), str(os.listdir('.')), str(os.path.lexists('/work/task2'))])",
        then_answers=("/work/task", r"\[\]", "False"),
    ),
    Attack(
        name="directory-pulled-from-under-its-feet",
        code="""
            import shutil
            attempt(shutil.rmtree, "/work/task")
            attempt(shutil.rmtree, "/work/tmp")
            attempt(os.rmdir, "/work/task")
        """,
        then="write('note'); answers.append(str(os.listdir('.')))",
        then_answers=(r"\['note'\]",),
    ),
    Attack(
        name="devices-in-the-working-directory",
        code="""
            import stat
            for kind in (stat.S_IFBLK, stat.S_IFCHR):
                for place in (".", "/tmp", "/dev/shm"):
                    answers.append(attempt(os.mknod, f"{place}/disk", kind | 0o666, os.makedev(8, 0)))
        """,
        answers=("EPERM",),
    ),
    Attack(
        name="named-pipes-and-sockets-left",
        code="""
            import socket
            for place in (".", "/tmp", "/dev/shm"):
                attempt(os.mkfifo, f"{place}/fifo")
                attempt(socket.socket(socket.AF_UNIX).bind, f"{place}/socket")
        """,
        then="answers.extend(str(os.listdir(place)) for place in ('/tmp', '/dev/shm', '.'))",
        then_answers=NONE,
    ),
    Attack(
        name="abstract-socket-with-a-daemon-behind-it",
        code=r"""
            import socket, time
            server = socket.socket(socket.AF_UNIX)
            server.bind("\0left")
            server.listen()
            if os.fork() == 0:
                os.setsid()
                os.closerange(0, 3)
                time.sleep(1000)
            answers.append("left")
        """,
        answers=("left",),
        then=r"""
            import socket
            answers.append(attempt(socket.socket(socket.AF_UNIX).connect, "\0left"))
            """,
        then_answers=("ECONNREFUSED",),
    ),
    Attack(
        name="server-on-the-loopback-left",
        code="""
            import socket, time
            server = socket.socket()
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            answers.append(attempt(server.bind, ("127.0.0.1", 8765)))
            attempt(server.listen)
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)
        """,
        answers=("done",),
        then="""
            import socket
            answers.append(attempt(socket.socket().connect, ("127.0.0.1", 8765)))
            """,
        then_answers=("ECONNREFUSED", "ENETUNREACH"),
    ),
    Attack(
        name="message-queue-left",
        code="""
            answers.append(system_call("mq_open", b"left", os.O_CREAT | os.O_RDWR, 0o666, 0))
            answers.append(attempt(write, "/dev/mqueue/left"))
        """,
        answers=("EPERM", "ENOSYS", "ENOENT", "EACCES", "EROFS", "EMFILE"),
    ),
    Attack(
        name="system-v-objects-left",
        code="""
            for name in ("shmget", "msgget", "semget"):
                answers.append(system_call(name, 0x1234, 4096, 0o1666))
        """,
        answers=("EPERM", "ENOSYS"),
    ),
    Attack(
        name="keys-left-in-a-keyring",
        code="""
            answers.append(system_call("keyctl", 0, -3, 1))
            answers.append(system_call("add_key", b"user", b"left", b"x", 1, -4))
            answers.append(system_call("request_key", b"user", b"left", 0, -4))
        """,
        answers=("EPERM", "ENOSYS"),
    ),
    Attack(
        name="lock-on-a-file-of-all",
        code="""
            import fcntl, sys, time
            for path in (sys.executable, "/etc/passwd", "/dev/null", "/work"):
                fd = os.open(path, os.O_RDONLY)
                attempt(fcntl.flock, fd, fcntl.LOCK_EX)
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)
        """,
        then="""
            import fcntl, sys
            for path in (sys.executable, "/etc/passwd", "/work"):
                fd = os.open(path, os.O_RDONLY)
                answers.append(attempt(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB))
            """,
        then_answers=("done",),
    ),
    Attack(
        name="code-planted-for-the-next-interpreter",
        code="""
            for path in ("usercustomize.py", "sitecustomize.py", "json.py", "audited.py", "/tmp/json.py"):
                attempt(write, path, "raise SystemExit('planted')")
            os.makedirs(".local/lib/python3.11/site-packages", exist_ok=True)
            write(".local/lib/python3.11/site-packages/planted.pth", "import os; os._exit(66)")
            write(".bashrc", "exit 66")
        """,
        then="""
            import subprocess, sys
            command = [sys.executable, "-c", "import json; print(json.__file__)"]
            done = subprocess.run(command, capture_output=True, text=True)
            answers.append(f"{done.returncode} {'planted' in done.stdout + done.stderr}")
            answers.append(str(os.listdir(".")))
            """,
        then_answers=("0 False", r"\[\]"),
    ),
    Attack(
        name="libraries-of-the-worker-patched",
        code="""
            import builtins, sys
            json.loads = json.dumps = lambda *_a, **_k: 66
            os.write = os.read = os.fork = lambda *_a, **_k: 66
            for module in list(sys.modules.values()):
                if getattr(module, "__name__", "").startswith(("worker", "funcmem_program")):
                    for name in list(vars(module)):
                        setattr(module, name, None)
            builtins.len = lambda _thing: 66
        """,
        exit_codes=(0, 1, 125),
        then="answers.append(str(len(json.loads('[1, 2]'))))",
        then_answers=("2",),
    ),
    Attack(
        name="memory-searched-for-earlier-candidates",
        # Each honest candidate of this suite carries this mark in its code and in its input.
        code="""
            mark = b"mark of the " + b"honest candidate"
            found = 0
            with open("/proc/self/mem", "rb", 0) as memory, open("/proc/self/maps") as maps:
                for line in maps:
                    place, rights, *_rest = line.split()
                    if "r" not in rights or line.rstrip().endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                        continue
                    start, end = (int(number, 16) for number in place.split("-"))
                    try:
                        memory.seek(start)
                        content = memory.read(end - start)
                    except (OSError, ValueError, OverflowError):
                        continue
                    at = content.find(mark)
                    while at >= 0:
                        # This very search keeps the mark itself, which nothing follows.
                        found += content[at + len(mark) :].startswith(b":")
                        at = content.find(mark, at + 1)
                    del content
            answers.append(str(found))
        """,
        answers=("0",),
        limits=QUICK,
    ),
    Attack(
        name="files-of-earlier-candidates",
        code="""
            for path in ("/work/task", "/work/tmp", "/tmp", "/dev/shm", "/var/tmp", "/dev/mqueue"):
                try:
                    answers.extend(os.listdir(path))
                except OSError:
                    continue
            answers.extend(name for name in os.listdir("/work") if name not in ("task", "tmp"))
        """,
        answers=(),
    ),
    Attack(
        name="control-groups",
        code="""
            found = []
            files = ("cgroup.procs", "tasks", "memory.limit_in_bytes", "pids.max", "release_agent")
            for directory, _subdirectories, names in os.walk("/sys/fs/cgroup"):
                for name in names:
                    if name in files:
                        found.append(attempt(write, os.path.join(directory, name), "0"))
            answers.extend(set(found))
        """,
        answers=("EPERM", "EACCES", "EROFS", "ENOENT"),
    ),
)
