"""Attacks that try to get out: to the host's files, its kernel, its network, and to more rights."""

from __future__ import annotations

from attack_catalogue.record import OUTSIDE, QUICK, Attack

DENIED = ("EPERM", "ENOSYS")

ATTACKS = (
    # --------------------------------------------------------------------------------------------- rights
    Attack(
        name="user-changed",
        code="""
            for call in (os.setuid, os.seteuid, os.setgid, os.setegid):
                answers.append(attempt(call, 0))
            answers.append(attempt(os.setgroups, [0]))
            answers.append(system_call("setresuid", 0, 0, 0))
            answers.append(system_call("setresuid", os.getuid() + 1, -1, -1))
            answers.append(system_call("setresgid", 0, 0, 0))
        """,
        answers=("EPERM", "EINVAL"),
    ),
    Attack(
        name="capabilities-taken",
        code="""
            header = (ctypes.c_uint32 * 2)(0x20080522, 0)
            answers.append(system_call("capset", header, (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)))
            answers.append(system_call("prctl", 47, 2, 0, 0, 0))  # raise an ambient capability
            lines = read("/proc/self/status").decode().splitlines()
            status = dict(line.split(":", 1) for line in lines if ":" in line)
            answers.extend(status[name].strip() for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"))
            answers.append(status["NoNewPrivs"].strip())
        """,
        answers=("EPERM", "EINVAL", "0000000000000000", "1"),
    ),
    Attack(
        name="programs-that-raise-rights",
        code="""
            import subprocess
            for command in ("su -c 'id -u'", "newgrp", "mount -t tmpfs none /tmp", "chsh", "sudo -n id"):
                try:
                    done = subprocess.run(
                        command, shell=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=5
                    )
                    answers.append("refused" if done.returncode else f"{command} {done.stdout!r}")
                except OSError as error:
                    answers.append(name_of(error))
                except subprocess.TimeoutExpired:
                    answers.append("refused")
        """,
        answers=("refused", "ENOENT", "EACCES", "EPERM"),
    ),
    Attack(
        name="own-program-with-the-rights-of-root",
        code="""
            import shutil
            shutil.copy("/bin/sh", "shell")
            answers.append(attempt(os.chown, "shell", 0, 0))
            os.chmod("shell", 0o6755)
            became = os.popen("./shell -p -c 'id -u'").read().strip()
            answers.append("itself" if became == str(os.getuid()) else became)
        """,
        answers=("EPERM", "EINVAL", "itself"),
    ),
    Attack(
        name="filter-taken-off",
        code="""
            answers.append(system_call("prctl", 22, 0, 0, 0, 0))  # back to no filter
            answers.append(system_call("prctl", 38, 0, 0, 0, 0))  # new privileges again
            answers.append(system_call("mount", b"none", b"/tmp", b"tmpfs", 0, 0))
        """,
        answers=("EPERM", "EINVAL"),
    ),
    # ------------------------------------------------------------------------------ mounts and namespaces
    Attack(
        name="mounts",
        code="""
            answers.append(system_call("mount", b"none", b"/tmp", b"tmpfs", 0, 0))
            answers.append(system_call("mount", b"proc", b"/work/task", b"proc", 0, 0))
            answers.append(system_call("mount", b"/", b"/work/task", b"", 4096, 0))
            answers.append(system_call("mount", b"", b"/", b"", 32 | 4096, 0))
            answers.append(system_call("umount2", b"/proc", 2))
            answers.append(system_call("umount2", b"/work", 2))
            answers.append(system_call("open_tree", -100, b"/", 1))
            answers.append(system_call("fsopen", b"tmpfs", 0))
            answers.append(system_call("mount_setattr", -100, b"/", 0, 0, 0))
        """,
        answers=DENIED,
    ),
    Attack(
        name="another-root",
        code="""
            os.mkdir("root")
            answers.append(system_call("pivot_root", b"root", b"root"))
            answers.append(attempt(os.chroot, "root"))
        """,
        answers=DENIED,
    ),
    Attack(
        name="out-of-the-root-by-a-second-one",
        code="""
            top = os.open("/", os.O_RDONLY)
            os.mkdir("deeper")
            answers.append(attempt(os.chroot, "deeper"))
            os.fchdir(top)
            for _ in range(64):
                os.chdir("..")
            answers.append(attempt(os.chroot, "."))
            answers.append("same" if os.stat(".").st_ino == os.stat("/").st_ino else "another")
            answers.append(attempt(os.listdir, "/.host"))
        """,
        answers=("EPERM", "same", "ENOENT"),
    ),
    Attack(
        name="new-namespaces",
        code="""
            for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000, 0x80):
                answers.append(system_call("unshare", flag))
                if flag != 0x80:
                    answers.append(system_call("clone", flag | 17, 0, 0, 0, 0))
        """,
        answers=DENIED,
    ),
    Attack(
        name="new-namespaces-by-the-newer-call",
        code="""
            arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
            answers.append(system_call("clone3", ctypes.byref(arguments), 88))
        """,
        answers=DENIED,
    ),
    Attack(
        name="namespaces-of-others",
        code="""
            for pid in {1, *others()}:
                for name in ("mnt", "net", "pid", "user"):
                    answers.append(attempt(lambda: os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)))
            answers.append(system_call("setns", os.open("/proc/self/ns/pid", os.O_RDONLY), 0))
        """,
        answers=("EPERM", "EACCES", "ENOENT"),
    ),
    Attack(
        name="files-by-their-handle",
        code="""
            handle = ctypes.create_string_buffer(b"\\x80" + bytes(135), 136)
            mount = ctypes.byref(ctypes.c_int())
            answers.append(system_call("name_to_handle_at", -100, b"/", handle, mount, 0))
            answers.append(system_call("open_by_handle_at", os.open("/", os.O_RDONLY), handle, 0))
        """,
        answers=DENIED,
    ),
    # --------------------------------------------------------------------------------------------- kernel
    Attack(name="bpf", code='system_call("bpf", 0, 0, 0)', outcomes=("refused",)),
    Attack(name="kernel-module", code='system_call("init_module", 0, 0, b"")', outcomes=("refused",)),
    Attack(
        name="kernel-module-from-a-file", code='system_call("finit_module", 0, b"", 0)', outcomes=("refused",)
    ),
    Attack(
        name="kernel-module-removed", code='system_call("delete_module", b"ext4", 0)', outcomes=("refused",)
    ),
    Attack(name="another-kernel", code='system_call("kexec_load", 0, 0, 0, 0)', outcomes=("refused",)),
    Attack(
        name="reboot",
        code='system_call("reboot", 0xFEE1DEAD, 672274793, 0x1234567, 0)',
        outcomes=("refused",),
    ),
    Attack(
        name="ports-of-the-machine",
        code='answers.append(system_call("iopl", 3))',
        outcomes=("refused", "ended"),
        answers=("no such call",),
    ),
    Attack(
        name="segments-of-the-processor",
        code='answers.append(system_call("modify_ldt", 1, 0, 0))',
        outcomes=("refused", "ended"),
        answers=("no such call",),
    ),
    Attack(
        name="system-calls-of-the-32-bit-kernel",
        code="""
            import mmap
            if os.uname().machine == "x86_64":
                place = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
                place.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20; int 0x80; ret
                ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(place)))()
                answers.append("it ran")
        """,
        outcomes=("refused", "signal", "ended"),
    ),
    Attack(
        name="system-calls-of-the-x32-kernel",
        code="""
            if os.uname().machine == "x86_64":
                libc.syscall(ctypes.c_long(0x40000000 + 39))
                answers.append("it ran")
        """,
        outcomes=("refused", "ended"),
    ),
    Attack(
        name="io-uring",
        code='answers.append(system_call("io_uring_setup", 8, ctypes.create_string_buffer(256)))',
        answers=DENIED,
    ),
    Attack(
        name="calls-with-a-record-of-faults",
        code="""
            answers.append(system_call("userfaultfd", 0))
            answers.append(system_call("perf_event_open", ctypes.create_string_buffer(128), 0, -1, -1, 0))
            answers.append(system_call("fanotify_init", 0, 0))
            answers.append(system_call("kcmp", os.getpid(), 1, 0, 0, 0))
            answers.append(system_call("memfd_secret", 0))
            answers.append(system_call("vhangup"))
            answers.append(system_call("syslog", 3, 0, 0))
        """,
        answers=DENIED,
    ),
    Attack(
        name="personality-without-random-addresses",
        code="""
            for persona in (0x0040000, 0x0400000, 0x0008):
                answers.append(system_call("personality", persona))
        """,
        answers=DENIED,
    ),
    Attack(
        name="clock-set",
        code="""
            answers.append(system_call("clock_settime", 0, (ctypes.c_long * 2)(0, 0)))
            answers.append(system_call("settimeofday", (ctypes.c_long * 2)(0, 0), 0))
        """,
        answers=DENIED,
    ),
    Attack(
        name="swap-accounting-quota-and-name",
        code="""
            write("swap")
            answers.append(system_call("swapon", b"swap", 0))
            answers.append(system_call("acct", b"swap"))
            answers.append(system_call("quotactl", 0, 0, 0, 0))
            answers.append(system_call("sethostname", b"mine", 4))
        """,
        answers=DENIED,
    ),
    Attack(
        name="settings-of-the-kernel",
        code="""
            for path in ("kernel/core_pattern", "kernel/modprobe", "kernel/hostname", "vm/overcommit_memory",
                         "vm/drop_caches", "kernel/randomize_va_space", "fs/binfmt_misc/register",
                         "net/ipv4/ip_forward", "kernel/ns_last_pid", "user/max_user_namespaces"):
                answers.append(attempt(write, f"/proc/sys/{path}", "|/work/task/handler"))
            answers.append(attempt(write, "/proc/sysrq-trigger", "c"))
        """,
        answers=(*OUTSIDE, "EINVAL"),
    ),
    Attack(
        name="sys-written",
        code="""
            for path in ("power/state", "kernel/uevent_helper", "kernel/mm/transparent_hugepage/enabled",
                         "module/kernel/parameters/panic", "class/net/lo/flags", "fs/cgroup/release_agent"):
                answers.append(attempt(write, f"/sys/{path}", "0"))
        """,
        answers=OUTSIDE,
    ),
    Attack(
        name="memory-and-secrets-of-the-kernel",
        code="""
            for path in ("/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/timer_list", "/dev/mem",
                         "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/kvm", "/sys/kernel/debug/tracing",
                         "/sys/firmware/dmi"):
                answers.append(attempt(lambda: read(path) or 1 / 0))
            if os.path.exists("/proc/kallsyms"):
                addresses = {line.split()[0] for line in read("/proc/kallsyms").splitlines()[:50]}
                answers.append("hidden" if addresses == {b"0" * 16} else "shown")
        """,
        answers=(*OUTSIDE, "EISDIR", "ZeroDivisionError", "hidden"),
    ),
    Attack(
        name="disks-and-terminals",
        code="""
            import fcntl, glob
            for path in (*glob.glob("/dev/sd*"), *glob.glob("/dev/vd*"), "/dev/sda", "/dev/vda",
                         "/dev/nvme0n1", "/dev/loop-control", "/dev/fuse", "/dev/net/tun", "/dev/tty",
                         "/dev/console", "/dev/vcs", "/dev/input/event0"):
                answers.append(attempt(lambda: os.open(path, os.O_RDWR)))
            answers.append(attempt(fcntl.ioctl, 0, 0x5412, b"x"))  # type into a terminal
        """,
        answers=(*OUTSIDE, "ENOTTY"),
    ),
    # -------------------------------------------------------------------------------- network and the host
    Attack(
        name="network",
        code="""
            import socket
            for family, kind, address in ((socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)),
                                          (socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)),
                                          (socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 80))):
                link = socket.socket(family, kind)
                link.settimeout(2)
                answers.append(attempt(link.connect, address))
        """,
        answers=("ENETUNREACH", "EADDRNOTAVAIL"),
    ),
    Attack(
        name="cloud-metadata",
        code="""
            import socket
            for address in (("169.254.169.254", 80), ("169.254.170.2", 80), ("100.100.100.200", 80)):
                link = socket.socket()
                link.settimeout(2)
                answers.append(attempt(link.connect, address))
            link = socket.socket(socket.AF_INET6)
            link.settimeout(2)
            answers.append(attempt(link.connect, ("fd00:ec2::254", 80)))
        """,
        answers=("ENETUNREACH", "EADDRNOTAVAIL"),
    ),
    Attack(
        name="names-of-the-network",
        code="""
            import socket
            for name in ("example.com", "metadata.google.internal", "host.docker.internal"):
                answers.append(attempt(socket.getaddrinfo, name, 80))
        """,
        answers=(r"-\d+",),  # the resolver's own numbers
    ),
    Attack(
        name="raw-and-other-sockets",
        code="""
            import socket
            for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, 1), (17, socket.SOCK_RAW, 768),
                                           (40, socket.SOCK_STREAM, 0), (38, socket.SOCK_SEQPACKET, 0),
                                           (44, socket.SOCK_RAW, 0)):
                answers.append(attempt(socket.socket, family, kind, protocol))
        """,
        answers=("EPERM", "EAFNOSUPPORT", "EACCES"),
    ),
    Attack(
        name="network-configured",
        code="""
            import fcntl, socket, struct
            link = socket.socket()
            request = struct.pack("16sH14s", b"lo", 0x41, b"")
            answers.append(attempt(fcntl.ioctl, link, 0x8914, request))  # bring the loopback up, or down
            route = socket.socket(16, socket.SOCK_RAW, 0)
            add = struct.pack("=IHHIIBBBBIII", 28, 16, 5, 1, 0, 0, 0, 0, 0, 0, 0x41, 0x41)
            route.send(add)
            answer = route.recv(4096)
            answers.append(errno.errorcode.get(-struct.unpack_from("=i", answer, 16)[0], "done"))
        """,
        answers=("EPERM", "EACCES", "ENODEV", "EINVAL"),
    ),
    Attack(
        name="server-of-the-host",
        # The test listens on the host at these addresses while the attack runs.
        code="""
            import socket
            answers.append(attempt(socket.socket().connect, ("127.0.0.1", given["port"])))
            answers.append(attempt(socket.socket(socket.AF_UNIX).connect, "\\0" + given["abstract"]))
            answers.append(attempt(socket.socket(socket.AF_UNIX).connect, given["socket"]))
        """,
        answers=("ECONNREFUSED", "ENETUNREACH", "ENOENT"),
    ),
    Attack(
        name="docker-socket",
        code="""
            import socket
            for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock",
                         "/run/podman/podman.sock", "/run/crio/crio.sock"):
                answers.append(attempt(socket.socket(socket.AF_UNIX).connect, path))
            answers.append(attempt(os.listdir, "/var/lib/docker"))
        """,
        answers=("ENOENT", "ENOTDIR", "EACCES"),
    ),
    Attack(
        name="secrets-in-the-environment-of-the-host",
        # The test sets a variable of this name in its own environment, which the engine's client sees.
        code="""
            answers.append(str("FUNCMEM_TEST_SECRET" in os.environ))
            answers.append(os.popen("env | grep -c FUNCMEM_TEST_SECRET").read().strip())
        """,
        answers=("False", "0"),
    ),
    Attack(
        name="files-of-the-host",
        # The test has made a file of this name on the host, readable for all.
        code="""
            for path in (given["file"], "/.host" + given["file"], "/proc/1/root" + given["file"]):
                answers.append(attempt(read, path))
            for path in (given["repository"], "/root/.ssh", "/root/.docker", "/etc/ssh"):
                answers.append(attempt(os.listdir, path))
            answers.append(attempt(read, "/etc/shadow"))
        """,
        answers=OUTSIDE,
    ),
    Attack(
        name="programs-replaced",
        code="""
            import sys
            for path in (sys.executable, "/usr/bin/env", "/etc/passwd", "/etc/ld.so.preload",
                         "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/python3/x.pth", json.__file__,
                         "/sbin/docker-init", "/dev/init", "/proc/self/exe"):
                answers.append(attempt(lambda: os.open(path, os.O_WRONLY | os.O_CREAT, 0o755)))
        """,
        answers=(*OUTSIDE, "ETXTBSY"),
    ),
    Attack(
        name="attributes-and-extended-attributes",
        code="""
            import fcntl
            write("file")
            answers.append(attempt(os.setxattr, "file", b"security.capability", b"\\1\\0\\0\\2" + bytes(16)))
            answers.append(attempt(os.setxattr, "file", b"trusted.overlay.opaque", b"y"))
            immutable = (16).to_bytes(8, "little")
            answers.append(attempt(fcntl.ioctl, os.open("file", os.O_RDONLY), 0x40086602, immutable))
        """,
        answers=("EPERM", "EOPNOTSUPP", "ENOTTY", "EACCES"),
        then="answers.append(str(os.listdir('.')))",
        then_answers=(r"\[\]",),
        limits=QUICK,
    ),
)
