"""Attacks on what comes back: forged, damaged and monstrous records, and a harness turned against itself.

Each is a source file with a function ``f(x)``, run by the harness on two input states, as a candidate is.
What a candidate says about itself it may forge: the host keeps what it expects to itself and compares there.
"""

from __future__ import annotations

from attack_catalogue.record import LONG, SHORT, Attack

FORGE = """
import json, os, struct

def record(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    whole = text + b"\\n" + body
    os.write(3, struct.pack(">I", len(whole)) + whole)

LOADED = {"kind": "load", "loaded": True, "detail": "", "skipped": [], "executable_lines": []}

def state(index, body, outcome="recorded", seconds=0.0):
    record({"kind": "state", "index": index, "outcome": outcome, "seconds": seconds, "detail": ""}, body)

def output(value):
    return json.dumps({"outcome": "returned", "value": value, "exception": None, "calls": [],
        "receiver": ["unchanged"], "arguments": {}, "module_globals": {}, "stdout": "", "stderr": "",
        "files": {}, "lines": [], "detail": ""}).encode()

"""
"""What a forger writes itself: it knows the format of the records as well as we do."""

END = """
os._exit(0)

def f(x):
    return x
"""


def forgery(
    name: str,
    code: str,
    *,
    answers: tuple[str, ...] = (),
    outcomes: tuple[str, ...] = ("missing",),
) -> Attack:
    """A file that writes records of its own while it is loaded, and ends before any state runs."""
    return Attack(
        name=name, way="harness", code=FORGE + code + END, answers=answers, outcomes=outcomes, limits=LONG
    )


ATTACKS = (
    # ------------------------------------------------------------------------------------- ends too early
    Attack(
        name="exit-behind-the-back-of-the-harness",
        way="harness",
        code="import os\ndef f(x):\n    os._exit(0)\n",
        outcomes=("missing",),
    ),
    Attack(
        name="exit-while-loading",
        way="harness",
        code="import os\nos._exit(0)\ndef f(x):\n    return x\n",
        outcomes=("unloadable",),
    ),
    Attack(
        name="polite-exit",
        way="harness",
        code="import sys\ndef f(x):\n    sys.exit(0)\n",
        outcomes=("raised", "missing"),
    ),
    Attack(
        name="death-by-a-signal",
        way="harness",
        code="import ctypes\ndef f(x):\n    ctypes.string_at(0)\n",
        outcomes=("signal",),
    ),
    Attack(
        name="parent-killed-by-its-state",
        way="harness",
        code="import ctypes\nlibc = ctypes.CDLL(None)\n"
        "def f(x):\n    libc.kill(libc.getppid(), 9)\n    while True: pass\n",
        outcomes=("signal", "missing"),
        limits=LONG,
    ),
    Attack(
        name="every-process-of-the-candidate-stopped",
        way="harness",
        code="import ctypes\ndef f(x):\n    ctypes.CDLL(None).kill(-1, 19)\n    while True: pass\n",
        outcomes=("timeout",),
        limits=SHORT,
    ),
    Attack(
        name="result-descriptor-closed",
        way="harness",
        code="import os\nos.closerange(0, 64)\ndef f(x):\n    return x\n",
        outcomes=("unloadable", "missing"),
    ),
    Attack(
        name="result-descriptor-closed-in-the-function",
        way="harness",
        code="import os\ndef f(x):\n    os.closerange(0, 64)\n    return x\n",
        outcomes=("missing", "returned"),
        answers=("1", "2"),
    ),
    Attack(
        name="result-descriptor-handed-to-a-daemon",
        way="harness",
        code="""
import os, time
if os.fork() == 0:
    os.setsid()
    while True:
        os.write(3, b"x")
        time.sleep(0.001)
def f(x):
    return x
""",
        outcomes=("unloadable", "missing", "returned", "refused"),
        answers=("1", "2"),
    ),
    # ---------------------------------------------------------------------------------------- forged ones
    forgery(
        "forged-results",
        "record(LOADED)\nstate(0, output(42))\nstate(1, output(42))\n",
        outcomes=("returned",),
        answers=("42",),
    ),
    forgery("load-record-alone", "record(LOADED)\n"),
    forgery("results-without-a-load-record", "state(0, output(42))\n", outcomes=("unloadable",)),
    forgery(
        "more-results-than-states",
        "record(LOADED)\nfor n in range(10_000):\n    state(n, output(n))\n",
        outcomes=("returned",),
        answers=("0", "1"),
    ),
    forgery(
        "results-of-impossible-states",
        "record(LOADED)\n"
        'for n in (-1, 2, True, 0.0, 1.0, "0", None, [], 10**30):\n    state(n, output(66))\n',
    ),
    forgery(
        "second-result-for-a-state",
        "record(LOADED)\nstate(0, output(1))\nstate(0, output(66))\nstate(1, output(1))\n",
        outcomes=("returned",),
        answers=("1",),
    ),
    forgery(
        "results-after-the-end",
        'record(LOADED)\nrecord({"kind": "done"})\nrecord({"kind": "done"})\nstate(0, output(1))\n',
        outcomes=("returned", "missing"),
        answers=("1",),
    ),
    forgery(
        "second-load-record",
        'record({**LOADED, "loaded": False, "detail": "x" * 100_000})\n'
        "record(LOADED)\nstate(0, output(66))\n",
        outcomes=("unloadable",),
    ),
    forgery("record-cut-off", 'record(LOADED)\nos.write(3, struct.pack(">I", 1000) + b"half")\n'),
    forgery("length-that-is-forged", 'record(LOADED)\nos.write(3, b"\\xff" * 64)\n', outcomes=("refused",)),
    # -------------------------------------------------------------------------------------- damaged ones
    forgery("nesting-of-a-million", 'record(LOADED)\nstate(0, b"[" * 1_000_000)\nrecord(b"[" * 1_000_000)\n'),
    forgery(
        "nesting-in-a-value",
        "record(LOADED)\n"
        'value = b"[\\"list\\", [" * 100_000 + b"]]" * 100_000\n'
        'state(0, output("V").replace(b"\\"V\\"", value))\n',
    ),
    forgery(
        "number-of-a-million-digits",
        'record(LOADED)\nstate(0, output("V").replace(b"\\"V\\"", b"9" * 1_000_000))\n'
        'state(1, output("V").replace(b"\\"V\\"", b"1e999999999"))\n',
    ),
    forgery(
        "not-a-number",
        "record(LOADED)\n"
        "for n, value in enumerate((b'NaN', b'-Infinity')):\n"
        '    state(n, output("V").replace(b"\\"V\\"", value))\n'
        'record(b\'{"kind": "state", "index": NaN, "outcome": "recorded", "seconds": Infinity}\')\n',
    ),
    forgery(
        "seconds-that-are-none",
        "record(LOADED)\n"
        'for n, s in enumerate((float("nan"), -1e308)):\n    state(n, output(1), seconds=s)\n',
        outcomes=("returned",),
        answers=("1",),
    ),
    forgery(
        "lone-surrogates",
        'record(LOADED)\nstate(0, output("\\ud800"))\nstate(1, output(["str", "\\udfff"]))\n',
    ),
    forgery(
        "nul-characters",
        'record(LOADED)\nstate(0, output("\\0"))\nrecord(b"\\0" * 1000)\nos.write(3, bytes(4000))\n',
        outcomes=("returned", "missing"),
        answers=(r'"\\u0000"',),
    ),
    forgery(
        "bytes-that-are-no-text", 'record(LOADED)\nrecord(b"\\xff\\xfe\\x80")\nstate(0, b"\\xff" * 1000)\n'
    ),
    forgery(
        "records-that-are-no-objects",
        "record(LOADED)\n"
        'for text in (b"1", b"null", b"[]", b"\\"x\\"", b""):\n    record(text)\n    state(0, text)\n',
    ),
    forgery(
        "keys-without-end",
        "record(LOADED)\nstate(0, json.dumps({str(n): n for n in range(300_000)}).encode())\n",
    ),
    forgery(
        "references-that-go-in-circles",
        "record(LOADED)\n"
        'state(0, output(["graph", ["ref", 0], [["ref", 0]]]))\n'
        'state(1, output(["graph", ["ref", 0], [["list", [["ref", 0], ["ref", 0]]]]]))\n',
        outcomes=("returned", "missing"),
        answers=(r"\[.*\]",),
    ),
    forgery(
        "reference-to-nothing",
        'record(LOADED)\nstate(0, output(["ref", 10**15]))\nstate(1, output(["graph", ["ref", 5], []]))\n',
    ),
    forgery(
        "outcomes-that-are-not-there",
        "record(LOADED)\n"
        'state(0, output(1), outcome="clean")\nstate(1, output(1).replace(b"returned", b"verbatim"))\n',
    ),
    forgery(
        "fields-too-many-and-too-few",
        "record(LOADED)\n"
        'state(0, b\'{"outcome": "returned", "value": 1}\')\n'
        "state(1, output(1).replace(b'\"calls\": []', b'\"calls\": [{}]'))\n",
    ),
    forgery(
        "line-of-a-gigabyte",
        'record(LOADED)\nos.write(3, struct.pack(">I", (1 << 30)))\n'
        "for _ in range(1024):\n    os.write(3, bytes(1 << 20))\n",
        outcomes=("refused", "missing"),
    ),
    forgery(
        "hundred-thousand-records",
        'record(LOADED)\nfor _ in range(100_000):\n    os.write(3, struct.pack(">I", 2) + b"{}")\n',
        outcomes=("missing", "refused"),
    ),
    # --------------------------------------------------------------------- the harness against itself
    Attack(
        name="harness-patched-through-its-frames",
        way="harness",
        code="""
import json, sys
def f(x):
    json.dumps = lambda *_a, **_k: '{"outcome": "returned", "value": 66}'
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        frame.f_locals.clear() if isinstance(frame.f_locals, dict) else None
    return x
""",
        outcomes=("returned", "missing"),
        answers=("1", "2"),
    ),
    Attack(
        name="expected-outputs-searched-for",
        way="harness",
        # The expected values of the states are nowhere in the candidate's process: there is nothing to find.
        code="""
import gc
def f(x):
    found = 0
    for thing in gc.get_objects():
        if isinstance(thing, dict) and "expected" in thing and "states" in thing:
            found += 1
    return "nothing" if not found else found
""",
        outcomes=("returned",),
        answers=('"nothing"',),
    ),
    Attack(
        name="value-that-equals-everything",
        way="harness",
        code="""
class Everything(int):
    __hash__ = int.__hash__
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def f(x):
    return Everything(7)
""",
        outcomes=("returned",),
        answers=(r"\[.*Everything.*\]",),
    ),
    Attack(
        name="value-with-a-hostile-class",
        way="harness",
        code="""
class Hostile:
    def __getattribute__(self, name): raise SystemExit(name)
    def __repr__(self): raise MemoryError
    def __reduce_ex__(self, version): return (print, ("unpickled",))
    __class__ = property(lambda self: 1 / 0)
def f(x):
    return Hostile()
""",
        outcomes=("returned", "missing", "raised"),
        answers=(r"\[.*\]",),
    ),
    Attack(
        name="value-without-an-end",
        way="harness",
        code="""
import itertools
def f(x):
    if x == 1:
        return itertools.count()
    loop = []
    loop.append(loop)
    return loop
""",
        outcomes=("returned", "timeout"),
        answers=(r"\[.*\]",),
        limits=LONG,
    ),
    Attack(
        name="value-of-half-a-gigabyte",
        way="harness",
        code='def f(x):\n    return "y" * (1 << 28)\n',
        outcomes=("returned", "memory", "missing", "raised"),
        answers=(r"\[.*\]",),
        limits=LONG,
    ),
    Attack(
        name="prints-within-a-state",
        way="harness",
        code='def f(x):\n    for _ in range(2000):\n        print("x" * 100_000)\n    return x\n',
        outcomes=("returned",),
        answers=("1", "2"),
        limits=LONG,
    ),
)
