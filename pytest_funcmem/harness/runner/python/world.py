"""The tamed world: one answer for each question to chance, clocks, processes, network and identity.

It knows nothing of the audited file.
"""

# ruff: noqa: PTH120
# It runs on Python 3.9 too, which has no strict zip, and touches files before and after hostile code does.
from __future__ import annotations

import asyncio
import contextlib
import ctypes
import datetime
import functools
import gc
import getpass
import hashlib
import itertools
import json
import os
import platform
import random
import secrets
import selectors
import socket
import sys
import tempfile
import threading
import time
import traceback
import uuid
import warnings
from collections.abc import Callable
from typing import IO, Any, NoReturn

from .encoding import Json, class_name, encode, writable

LOGGED_CALLS = 1_000

# The program's own use of what it takes away from the code under test.
real_monotonic = time.monotonic
real_sleep = time.sleep
real_fork = os.fork
real_exit = os._exit
real_kill = os.kill
RealRandom = random.Random


def _light_fork() -> Callable[[], int]:
    """The C library's own fork, where there is one.

    Python's does much in the child (seeding, locks of modules) that a process of one thread does without, and
    which costs as much as a whole small state. Only for that case.
    """
    try:
        fork: Callable[[], int] = ctypes.PyDLL(None).fork
    except (AttributeError, OSError):
        return real_fork
    return fork


fork_light = _light_fork()


_STDLIB = os.path.dirname(os.__file__) + os.sep
EPOCH_S = 1_709_294_400  # 2024-03-01 12:00:00 UTC
STEP_NS = 1_000_000  # by which a clock advances from one call to the next


def _is_plumbing(filename: str) -> bool:
    """Whether code belongs to the standard library (or to this program), whose calls are not logged."""
    if filename.startswith(_STDLIB):
        return "-packages" + os.sep not in filename
    return filename.startswith(("<frozen", "<program "))


def encode_argument(value: Any) -> Json:
    """The encoding of what a logged call takes or gives: asked for often, so that it must be cheap."""
    found = encode(value, 500, 20_000)
    if type(value) in (list, tuple, dict, set, frozenset) and found[0] == "cut" and not found[3]:
        return ["cut", type(value).__name__, len(value), "unread", ""]
    return found


class World:
    """Answers for random sources, clocks, identifiers, processes and the network, and logs who asked.

    The nth equal call gets an equal answer, whatever else is called in between: an answer depends on the
    state's seed, the path, the arguments and that n.
    """

    def __init__(self) -> None:
        self.seeded: random.Random | None = None  # the generator that the code itself seeded, if it did
        self.local = threading.local()
        self.outside: Callable[[str], tuple[Any, ...]] | None = None
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin a state."""
        self.seed = seed
        self.start_ns = (EPOCH_S + seed % 3_650 * 86_461) * 10**9
        self.forget()

    def forget(self) -> None:
        """Start counting and logging anew."""
        self.counts: dict[str, int] = {}
        self.calls: list[Json] = []
        self.dropped = 0
        self.slept_ns = 0

    def call(
        self,
        path: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        answer: Callable[..., Any],
        always: bool = False,
        made_up: bool = False,
    ) -> Any:
        """Answer a call of the outside, and log it unless it is plumbing or part of another one.

        ``answer`` gets the ordinal among equal calls and a random source of this call's own; it is not asked
        where the state has an answer to a call of the real outside.
        """
        busy = getattr(self.local, "busy", False)
        quiet = busy or not (always or not _is_plumbing(sys._getframe(2).f_code.co_filename))
        arguments = [encode_argument(item) for item in args]
        keywords = {writable(name): encode_argument(item) for name, item in sorted(kwargs.items())}
        key = json.dumps([path, quiet, arguments, keywords])
        ordinal = self.counts.get(key, 0)
        self.counts[key] = ordinal + 1
        entry = {"path": path, "arguments": arguments, "keywords": keywords, "answer": None}
        if not quiet:
            if len(self.calls) < LOGGED_CALLS:
                self.calls.append(entry)
            else:
                self.dropped += 1
        digest = hashlib.sha256(f"{self.seed} {ordinal} {key}".encode()).digest()
        self.local.busy = True
        try:
            asked = always and not made_up and not busy and self.outside is not None
            given = self.outside(path) if asked and self.outside is not None else ()
            result = given[0] if given else answer(ordinal, RealRandom(int.from_bytes(digest, "big")))
            entry["answer"] = encode_argument(result)
            return result
        except BaseException as error:
            entry["answer"] = ["value", "raised", class_name(type(error))]
            raise
        finally:
            self.local.busy = busy

    def log(self) -> list[Json]:
        """What was called, and how many calls more than are kept."""
        if not self.dropped:
            return self.calls
        rest: Json = {"path": "and more calls", "arguments": [self.dropped], "keywords": {}, "answer": None}
        return [*self.calls, rest]

    def now_ns(self, ordinal: int) -> int:
        """Nanoseconds since 1970 at the nth question for the time."""
        return self.start_ns + ordinal * STEP_NS + self.slept_ns


world = World()


def stand_in_for(
    path: str, original: Callable[..., Any], answer: Callable[..., Any], always: bool = False
) -> Callable[..., Any]:
    """A function that looks like the original and asks the world.

    ``answer`` gets the ordinal, a random source, and the call's own arguments.
    """

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return world.call(path, args, kwargs, lambda n, source: answer(n, source, *args, **kwargs), always)

    with contextlib.suppress(AttributeError, TypeError):
        functools.update_wrapper(stand_in, original)
        vars(stand_in).pop("__wrapped__", None)
    return stand_in


def _replace_in_type(kind: type[Any], name: str, value: Any) -> None:
    """Replace a method of a built-in class in place, so that the class stays the one that it is."""
    namespace = gc.get_referents(type.__dict__["__dict__"].__get__(kind))[0]
    namespace[name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


class _Random(RealRandom):
    """``random.Random`` that draws its missing seed from the world."""

    def __init__(self, x: Any = None) -> None:
        self.seed(x)

    def seed(self, a: Any = None, version: int = 2) -> None:
        if a is None:
            a = world.call("random.Random", (), {}, lambda n, source: source.getrandbits(64))
        super().seed(a, version)


class _SystemRandom(RealRandom):
    """``random.SystemRandom`` whose entropy is the world's."""

    def random(self) -> float:
        drawn: float = world.call("random.SystemRandom.random", (), {}, lambda n, source: source.random())
        return drawn

    def getrandbits(self, k: int) -> int:
        path = "random.SystemRandom.getrandbits"
        drawn: int = world.call(path, (k,), {}, lambda n, source: source.getrandbits(k))
        return drawn

    def randbytes(self, n: int) -> bytes:
        return self.getrandbits(n * 8).to_bytes(n, "big")

    def seed(self, *args: Any, **kwargs: Any) -> None:
        return None

    def getstate(self) -> NoReturn:
        raise NotImplementedError("System entropy source does not have state.")

    def setstate(self, state: Any) -> NoReturn:
        raise NotImplementedError("System entropy source does not have state.")


def tame_random() -> None:
    """Let every random source ask the world."""
    names = "random uniform randint randrange choice choices sample shuffle gauss normalvariate betavariate"
    names += (
        " expovariate gammavariate lognormvariate triangular vonmisesvariate paretovariate weibullvariate"
    )
    names += " getrandbits randbytes"

    def drawn(name: str) -> Callable[..., Any]:
        return lambda n, source, *args, **kwargs: getattr(world.seeded or source, name)(*args, **kwargs)

    for name in names.split():
        setattr(random, name, stand_in_for("random." + name, getattr(random, name), drawn(name)))

    def seed(n: int, source: random.Random, a: Any = None, version: int = 2) -> None:
        world.seeded = None
        if a is not None:
            world.seeded = RealRandom()
            world.seeded.seed(a, version)

    def setstate(n: int, source: random.Random, state: Any) -> None:
        world.seeded = RealRandom()
        world.seeded.setstate(state)

    random.seed = stand_in_for("random.seed", random.seed, seed)
    random.setstate = stand_in_for("random.setstate", random.setstate, setstate)
    random.getstate = lambda: (world.seeded or RealRandom(world.seed)).getstate()
    for kind, name in ((_Random, "Random"), (_SystemRandom, "SystemRandom")):
        kind.__name__ = kind.__qualname__ = name
        kind.__module__ = "random"
        setattr(random, name, kind)
    setattr(secrets, "SystemRandom", _SystemRandom)  # noqa: B010 - or mypy sees a redefinition
    draws: dict[str, Callable[..., Any]] = {
        "token_bytes": lambda n, s, nbytes=None: s.randbytes(32 if nbytes is None else nbytes),
        "token_hex": lambda n, s, nbytes=None: s.randbytes(32 if nbytes is None else nbytes).hex(),
        "token_urlsafe": lambda n, s, nbytes=None: _urlsafe(s.randbytes(32 if nbytes is None else nbytes)),
        "choice": lambda n, s, seq: s.choice(seq),
        "randbelow": lambda n, s, exclusive_upper_bound: s.randrange(exclusive_upper_bound),
        "randbits": lambda n, s, k: s.getrandbits(k),
    }
    for name, draw in draws.items():
        setattr(secrets, name, stand_in_for("secrets." + name, getattr(secrets, name), draw))
    os.urandom = stand_in_for("os.urandom", os.urandom, lambda n, s, size: s.randbytes(size))
    os.getrandom = stand_in_for("os.getrandom", os.urandom, lambda n, s, size, flags=0: s.randbytes(size))
    uuid.uuid1 = stand_in_for(
        "uuid.uuid1",
        uuid.uuid1,
        lambda n, s, node=None, clock_seq=None: uuid.UUID(bytes=s.randbytes(16), version=1),
    )
    uuid.uuid4 = stand_in_for(
        "uuid.uuid4", uuid.uuid4, lambda n, s: uuid.UUID(bytes=s.randbytes(16), version=4)
    )
    vars(tempfile)["_name_sequence"] = (f"name{number:04}" for number in itertools.count())


def _urlsafe(content: bytes) -> str:
    import base64

    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def tame_clock() -> None:
    """Let every clock ask the world."""

    def seconds(n: int, source: random.Random) -> float:
        return world.now_ns(n) / 10**9

    def elapsed_s(n: int, source: random.Random) -> float:
        return (world.now_ns(n) - world.start_ns) / 10**9 + 1_000.0

    def elapsed_ns(n: int, source: random.Random) -> int:
        return world.now_ns(n) - world.start_ns + 1_000 * 10**9

    answers: dict[str, Callable[..., Any]] = {"time": seconds, "time_ns": lambda n, source: world.now_ns(n)}
    answers["clock_gettime"] = lambda n, source, clock: seconds(n, source)
    answers["clock_gettime_ns"] = lambda n, source, clock: world.now_ns(n)
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        answers[name] = elapsed_s
        answers[name + "_ns"] = elapsed_ns
    for name, answer in answers.items():
        setattr(time, name, stand_in_for("time." + name, getattr(time, name), answer))

    def sleep(n: int, source: random.Random, secs: float) -> None:
        if secs < 0:
            raise ValueError("sleep length must be non-negative")
        world.slept_ns += int(secs * 10**9)
        real_sleep(0)  # lets other threads run

    time.sleep = stand_in_for("time.sleep", time.sleep, sleep)

    def told(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """``gmtime`` and its like: they ask the clock only where no time is given."""
        asked = stand_in_for("time." + name, original, lambda n, source: original(world.now_ns(n) // 10**9))
        return lambda secs=None: asked() if secs is None else original(secs)

    gmtime = time.gmtime
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, told(name, getattr(time, name)))
    strftime, asctime = time.strftime, time.asctime

    def formatted(n: int, source: random.Random, layout: str) -> str:
        return strftime(layout, gmtime(world.now_ns(n) // 10**9))

    asked = stand_in_for("time.strftime", strftime, formatted)
    time.strftime = lambda layout, t=None: asked(layout) if t is None else strftime(layout, t)
    asked_plain = stand_in_for(
        "time.asctime", asctime, lambda n, source: asctime(gmtime(world.now_ns(n) // 10**9))
    )
    time.asctime = lambda t=None: asked_plain() if t is None else asctime(t)

    utc = datetime.timezone.utc  # noqa: UP017 - the alias is newer than the oldest interpreter
    start = datetime.datetime(1970, 1, 1, tzinfo=utc)

    def moment(n: int) -> datetime.datetime:
        return start + datetime.timedelta(microseconds=world.now_ns(n) // 1_000)

    def as_class(cls: Any, at: datetime.datetime, tz: datetime.tzinfo | None) -> Any:
        at = at.astimezone(tz) if tz is not None else at.replace(tzinfo=None)
        return cls(*at.timetuple()[:6], at.microsecond, at.tzinfo)

    def now(cls: Any, tz: datetime.tzinfo | None = None) -> Any:
        args = () if tz is None else (tz,)
        return world.call("datetime.datetime.now", args, {}, lambda n, source: as_class(cls, moment(n), tz))

    def utcnow(cls: Any) -> Any:
        return world.call("datetime.datetime.utcnow", (), {}, lambda n, s: as_class(cls, moment(n), None))

    def today(cls: Any) -> Any:
        if issubclass(cls, datetime.datetime):
            path = "datetime.datetime.today"
            return world.call(path, (), {}, lambda n, source: as_class(cls, moment(n), None))
        return world.call("datetime.date.today", (), {}, lambda n, s: cls(*moment(n).timetuple()[:3]))

    _replace_in_type(datetime.datetime, "now", classmethod(now))
    _replace_in_type(datetime.datetime, "utcnow", classmethod(utcnow))
    _replace_in_type(datetime.date, "today", classmethod(today))
    if datetime.date.today().year < 2024 or datetime.datetime.now().year < 2024:
        raise RuntimeError("the clock of this interpreter's datetime module cannot be replaced")


def tame_identity() -> None:
    """What would tell one run or machine from another, and is no effect: fixed and not logged."""
    fixed = {"getpid": 4242, "getppid": 4241, "getlogin": "user", "cpu_count": 4}
    fixed.update(dict.fromkeys(("getuid", "geteuid", "getgid", "getegid"), 1000))
    for name, value in fixed.items():
        setattr(os, name, lambda value=value: value)
    machine = os.uname_result(("Linux", "host", "6.1.0", "#1 SMP", "x86_64"))
    os.uname = lambda: machine
    socket.gethostname = lambda: "host"
    socket.getfqdn = lambda name="": name or "host"
    platform.uname = lambda: platform.uname_result("Linux", "host", "6.1.0", "#1 SMP", "x86_64")
    platform.node = lambda: "host"
    platform.platform = lambda aliased=False, terse=False: "Linux-6.1.0-x86_64"
    uuid.getnode = lambda: 0x02AABBCCDDEE

    def read_password(prompt: str = "Password: ", stream: IO[str] | None = None) -> str:
        (stream or sys.stderr).write(prompt)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    getpass.getpass = read_password
    # Frames, line numbers and source lines are the runtime's own; the last line of a traceback is not.
    setattr(traceback.StackSummary, "format", lambda self, **options: [])  # noqa: B010 - as above
    warnings.formatwarning = lambda message, category, *place: f"{category.__name__}: {message}\n"
    warnings.resetwarnings()
    for category in (
        DeprecationWarning,
        PendingDeprecationWarning,
        ImportWarning,
        ResourceWarning,
        SyntaxWarning,
    ):
        warnings.simplefilter("ignore", category)
    warnings.simplefilter("always", UserWarning)
    asyncio.set_event_loop_policy(_Policy())


class _Selector(selectors.DefaultSelector):
    """Waits for no timer: where nothing is ready, the loop's own time jumps."""

    loop: Loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        # Only a worker thread of the loop could make something ready meanwhile.
        ready = super().select(0.05 if vars(self.loop)["_default_executor"] is not None else 0)
        if not ready:
            self.loop.passed_s += timeout
        return ready


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose timers take no real time."""

    def __init__(self) -> None:
        self.passed_s = 0.0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        """Seconds by the loop's own clock."""
        return 1_000.0 + self.passed_s


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the policy system is deprecated from 3.14 on

    class _Policy(asyncio.DefaultEventLoopPolicy):
        _loop_factory = Loop
