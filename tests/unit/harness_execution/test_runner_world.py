"""The tamed world: random sources, clocks, identifiers, processes and the network."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.outputs import same_output
from pytest_funcmem.harness.values import show_value


def paths(output: Any) -> list[str]:
    assert output.outcome in ("returned", "raised")
    return [call["path"] for call in output.calls]


DRAWS = """
import random, secrets, uuid, os, time, datetime, tempfile
from random import randint, Random
from datetime import datetime as dt, date

def draw():
    return [randint(1, 10**9), random.random(), random.choice("abc"), random.sample(range(99), 3),
            secrets.token_hex(4), secrets.randbelow(1000), str(uuid.uuid4()), str(uuid.uuid1()),
            os.urandom(4), Random().random(), random.SystemRandom().randint(1, 10**9),
            time.time(), time.monotonic(), time.perf_counter_ns(), time.strftime("%Y-%m-%d"),
            time.localtime().tm_year, dt.now(), dt.utcnow(), dt.today(), date.today(),
            dt.now(datetime.timezone.utc), os.path.basename(tempfile.mkdtemp()), os.getpid()]

def twice():
    return random.random(), time.time(), random.random(), time.time()

def twice_apart():
    a, b = random.random(), random.random()
    return a, time.time(), b, time.time()

def seeded():
    random.seed(42)
    return [random.randint(1, 100) for _ in range(3)], random.Random(7).random()

def shuffled(items):
    random.shuffle(items)
"""


def test_equal_states_draw_equally_and_other_seeds_otherwise(run_states: Any) -> None:
    first, second = (
        run_states(DRAWS, "draw", InputState(seed=1), InputState(seed=1), InputState(seed=2))
        for _ in range(2)
    )
    a, b, other = first.outputs
    assert a.outcome == "returned", a.exception
    assert same_output(a, b, float_tolerance=0)
    assert same_output(a, second.outputs[0], float_tolerance=0)
    same = [x == y for x, y in zip(a.value[1], other.value[1], strict=True)]
    # The pid, the elapsed clocks, the name of a temporary directory and a choice among three may agree.
    assert sum(same) <= 6, show_value(a.value, 2000)


def test_the_log_names_who_was_asked_in_order_with_the_answers(call: Any) -> None:
    output = call(DRAWS, "twice", seed=3)
    assert paths(output) == ["random.random", "time.time", "random.random", "time.time"]
    answers = [item["answer"] for item in output.calls]
    assert answers == output.value[1]
    assert answers[0] != answers[2]
    assert float(answers[3][1]) > float(answers[1][1])


def test_the_order_of_calls_shifts_no_answer(call: Any) -> None:
    together, apart = (call(DRAWS, name, seed=3) for name in ("twice", "twice_apart"))
    assert together.value == apart.value


def test_a_seed_of_the_code_itself_gives_what_python_gives(call: Any) -> None:
    assert show_value(call(DRAWS, "seeded").value) == "([82, 15, 4], 0.32383276483316237)"


def test_shuffling_changes_the_argument(call: Any) -> None:
    output = call(DRAWS, "shuffled", "list(range(9))")
    after = output.arguments["0"][1]
    assert sorted(after) == list(range(9)) != after
    assert paths(output) == ["random.shuffle"]


def test_classes_of_datetime_stay_what_they_are(call: Any) -> None:
    text = """
    from datetime import datetime, date, timedelta
    import copy, pickle
    def f(given):
        now = datetime.now()
        same = pickle.loads(pickle.dumps(now)) == copy.deepcopy(now) == now
        return (isinstance(given, datetime), isinstance(now, date), type(now) is datetime, type(now).__name__,
                type(now.date()) is date, now - given > timedelta(0), same, repr(now.replace(year=2000)))
    """
    output = call(text, "f", "datetime(2001, 1, 1)")
    assert show_value(output.value, 300).startswith(
        "(True, True, True, 'datetime', True, True, True, 'datetime.d"
    )


def test_sleeping_costs_no_time_and_moves_the_clock(run_states: Any) -> None:
    text = """
    import time, asyncio
    def f():
        start = time.time()
        time.sleep(3600)
        asyncio.run(asyncio.sleep(3600))
        return round(time.time() - start)
    """
    execution = run_states(text, "f", InputState())
    assert execution.outputs[0].value == 3600
    assert paths(execution.outputs[0]) == ["time.time", "time.sleep", "time.time"]
    assert execution.state_seconds[0] < 1


def test_plumbing_of_the_standard_library_is_not_logged(call: Any) -> None:
    text = """
    import json, logging, hashlib, tempfile, re
    def f():
        logging.warning("careful %s", 1)
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x")
        return json.dumps([1]), hashlib.md5(b"x").hexdigest(), re.sub("a", "b", "a")
    """
    output = call(text, "f")
    assert output.outcome == "returned"
    assert output.calls == ()
    assert output.stderr == "WARNING:root:careful 1\n"


@pytest.mark.parametrize(
    ("body", "expected", "logged"),
    [
        ("import os; return os.system('true')", "32512", ["os.system"]),
        ("import subprocess; return subprocess.run(['ls'])", "FileNotFoundError", ["subprocess.run"]),
        ("import subprocess; return subprocess.check_output('ls', shell=True)", "FileNotFoundError",
         ["subprocess.check_output"]),
        ("import subprocess; return subprocess.Popen(['ls'])", "FileNotFoundError", ["subprocess.Popen"]),
        ("import os; return os.popen('ls').read()", "FileNotFoundError", ["os.popen"]),
        ("import os; return os.fork()", "BlockingIOError", ["os.fork"]),
        ("import os; os.kill(1, 9)", "ProcessLookupError", ["os.kill"]),
        ("import socket; socket.create_connection(('example.org', 80))", "socket.gaierror",
         ["socket.create_connection"]),
        ("import socket; socket.socket().connect(('127.0.0.1', 80))", "ConnectionRefusedError",
         ["socket.socket.connect"]),
        ("import urllib.request; urllib.request.urlopen('http://example.org/x')", "urllib.error.URLError",
         ["urllib.request.urlopen"]),
        ("import http.client; http.client.HTTPConnection('h').request('GET', '/')", "socket.gaierror",
         ["http.client.HTTPConnection.request"]),
        ("import smtplib; smtplib.SMTP('mail.example.org')", "socket.gaierror", ["smtplib.SMTP.connect"]),
        ("import platform, socket, getpass; return platform.node(), socket.gethostname(), getpass.getuser()",
         "('host', 'host', 'user')", []),
    ],
)  # fmt: skip
def test_the_outside_is_refused_alike_every_time(
    call: Any, body: str, expected: str, logged: list[str]
) -> None:
    output = call(f"def f():\n    {body}\n", "f")
    assert paths(output) == logged
    if output.outcome == "raised":
        assert output.exception["type"] == expected
        assert output.exception["origin"] == "library"
    else:
        assert show_value(output.value) == expected


def test_a_flood_of_calls_is_counted_not_kept(call: Any) -> None:
    text = "import time\ndef f():\n    for _ in range(1500): time.time()\n"
    output = call(text, "f")
    assert len(output.calls) == 1001
    assert output.calls[-1] == {"path": "and more calls", "arguments": [500], "keywords": {}, "answer": None}


def test_warnings_and_tracebacks_carry_no_lines(call: Any) -> None:
    text = """
    import warnings, traceback, logging
    def f():
        warnings.warn("old")
        try:
            1 / 0
        except ZeroDivisionError:
            traceback.print_exc()
            logging.exception("failed")
            return traceback.format_exc()
    """
    output = call(text, "f")
    last = "Traceback (most recent call last):\nZeroDivisionError: division by zero\n"
    assert output.value == last
    assert output.stderr == f"UserWarning: old\n{last}ERROR:root:failed\n{last}"


def test_threads_run_and_their_output_is_kept(call: Any) -> None:
    text = """
    import threading
    from concurrent.futures import ThreadPoolExecutor
    def f(n):
        out = []
        thread = threading.Thread(target=lambda: out.append(n))
        thread.start(); thread.join()
        with ThreadPoolExecutor(2) as pool:
            return out + list(pool.map(lambda x: x * 2, range(n)))
    """
    assert show_value(call(text, "f", "3").value) == "[3, 0, 2, 4]"


def test_passwords_are_read_from_standard_input(call: Any) -> None:
    text = "import getpass\ndef f():\n    return getpass.getpass('pw: ')\n"
    output = call(text, "f", stdin="secret\n")
    assert (output.value, output.stderr) == ("secret", "pw: ")


def test_drawing_from_much_again_and_again_is_affordable(run_states: Any) -> None:
    text = """
    import random
    words = [str(n) for n in range(50_000)]
    def f():
        return len({random.choice(words) for _ in range(50)})
    """
    execution = run_states(text, "f", InputState(), InputState())
    assert execution.outputs[0].outcome == "returned"
    assert execution.outputs[0].value > 40
    assert same_output(*execution.outputs, float_tolerance=0)
