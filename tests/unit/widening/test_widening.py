"""A candidate that fails only for want of scaffolding gets it, and so does everyone else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from pytest_funcmem.audit.events import Counters
from pytest_funcmem.audit.generation import Generated
from pytest_funcmem.audit.judging import Built, judge
from pytest_funcmem.audit.widening import known_lacks
from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import (
    AuditRecord,
    Completion,
    Harness,
    Inconclusive,
    InputState,
    ModelIdentity,
    OutputState,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.harness.execution import execute, spliced_program
from pytest_funcmem.harness.proving import prove_states
from pytest_funcmem.harness.widening.labels import widened_label, widenings
from pytest_funcmem.harness.widening.python_lacks import READ_STYLE, python_lack
from pytest_funcmem.harness.widening.widen import MOST_LACKS, Widened, lacks_of_candidate, widen
from pytest_funcmem.languages.python import PythonFrontend
from pytest_funcmem.store.codec import encode
from pytest_funcmem.store.memory_store import MemoryStore

ReadFunction = Callable[..., SourceFunction]

STEPS = '''
def steps(length, stride):
    """How many strides a length takes."""
    if length < 0:
        raise ValueError("no length")
    count = 0
    while length > 0:
        length -= stride
        count += 1
    if count > 20:
        return "far"
    return count
'''
BY_MATH = """
    if length < 0:
        raise ValueError("no length")
    count = math.ceil(length / stride)
    return "far" if count > 20 else count
"""
BY_MATH_AND_MORE = """
    if length < 0:
        raise ValueError("no length")
    count = math.ceil(length / stride)
    shown = json.dumps(count)
    return "far" if count > 20 else int(re.sub("x", "", shown))
"""
WRONG = """
    return stride - length
"""
TOTAL = '''
def total(handle, limit):
    """Sums numbers, a line each."""
    found = 0
    for line in handle:
        line = line.strip()
        if line.isdigit():
            found += int(line)
        else:
            found -= 1
    if found > limit:
        return limit
    return found
'''
AT_ONCE = """
    with handle:
        rows = handle.read().splitlines()
    found = sum(int(row) if row.strip().isdigit() else -1 for row in rows)
    return min(found, limit)
"""


def states(*pairs: tuple[object, object]) -> list[InputState]:
    return [InputState(arguments=tuple(map(repr, pair))) for pair in pairs]


STRIDES = states((0, 1), (1, 1), (5, 2), (9, 3), (10, 3), (44, 2), (90, 4), (100, 1), (-1, 2), (7, 7))
FILES = states(
    (["1", "2"], 9), ([], 3), (["x"], 3), (["4", "y", "5"], 20), (["30"], 20), (["7", "8"], 9),
    (["2\n", "3\n"], 90), (["a", "b", "c"], 1), (["11"], 11), (["1", "z"], 5),
)  # fmt: skip


@pytest.fixture
def proved(sandbox: Sandbox, read_function: ReadFunction) -> Callable[..., tuple[SourceFunction, Harness]]:
    def prove(text: str, given: Sequence[InputState]) -> tuple[SourceFunction, Harness]:
        function = read_function(text)
        harness = prove_states(function, Scaffold(), given, sandbox, Settings(), builder="local/5")
        assert isinstance(harness, Harness), harness
        return function, harness

    return prove


def code_of(function: SourceFunction, body: str) -> str:
    return function.signature + body.rstrip("\n")


def outputs_of(
    function: SourceFunction, harness: Harness, code: str, sandbox: Sandbox
) -> tuple[OutputState, ...]:
    program = spliced_program(function, harness.scaffold, code)
    return execute(sandbox, program, harness.states, coverage=False, state_timeout_s=2.0).outputs


def failed(kind: str, message: str, *, authored: bool = False) -> OutputState:
    exception = {
        "type": kind,
        "message": message,
        "own": authored,
        "authored": authored,
        "origin": "function",
    }
    return OutputState(outcome="raised", exception=exception)


@pytest.mark.parametrize(
    ("output", "lack"),
    [
        (failed("NameError", "name 'math' is not defined"), "import math"),
        (failed("NameError", "name 'pickle' is not defined"), "import pickle"),
        (failed("NameError", "name 'defaultdict' is not defined"), "from collections import defaultdict"),
        (failed("NameError", "name 'math' is not defined", authored=True), None),
        (failed("NameError", "name 'numpy' is not defined"), None),
        (failed("NameError", "name 'os; import x' is not defined"), None),
        (failed("NameError", "name 'helper' is not defined"), None),
        (failed("UnboundLocalError", "name 'math' is not defined"), None),
        (failed("AttributeError", "module 'importlib' has no attribute 'util'"), "import importlib.util"),
        (failed("AttributeError", "module 'xml' has no attribute 'etree'"), "import xml.etree.ElementTree"),
        (failed("AttributeError", "module 'math' has no attribute 'cel'"), None),
        (failed("AttributeError", "'list' object has no attribute 'readlines'"), READ_STYLE),
        (failed("TypeError", "'list' object does not support the context manager protocol"), READ_STYLE),
        (failed("AttributeError", "'list' object has no attribute 'items'"), None),
        (failed("AttributeError", "'dict' object has no attribute 'read'"), None),
        (failed("ModuleNotFoundError", "No module named 'math'"), None),
        (OutputState(outcome="returned", value="name 'math' is not defined"), None),
        (OutputState(outcome="unloadable", detail="NameError: name 'math' is not defined"), None),
    ],
)
def test_only_short_lists_of_the_standard_library_are_ever_lacking(
    output: OutputState, lack: str | None
) -> None:
    assert python_lack(output) == lack


def test_a_candidate_lacks_all_that_it_runs_into(proved, sandbox: Sandbox) -> None:
    function, harness = proved(STEPS, STRIDES)
    for body, lacks in (
        (BY_MATH, ("import math",)),
        (BY_MATH_AND_MORE, ("import json", "import math", "import re")),
        (WRONG, ()),
        ("\n    return helper(length)\n", ()),
        ("\n    raise NameError(\"name 'math' is not defined\")\n", ()),
    ):
        code = code_of(function, body)
        outputs = outputs_of(function, harness, code, sandbox)
        assert lacks_of_candidate(function, harness, code, outputs, sandbox) == lacks


def test_what_lacks_too_much_is_not_repaired(proved, sandbox: Sandbox) -> None:
    function, harness = proved(STEPS, STRIDES)
    names = ["math", "json", "re", "os", "sys", "csv", "copy", "html", "glob", "gzip", "stat", "queue"]
    names.append("string")
    assert len(names) == MOST_LACKS + 1
    code = code_of(function, "\n" + "".join(f"    {name}.__name__\n" for name in names))
    outputs = outputs_of(function, harness, code, sandbox)
    assert lacks_of_candidate(function, harness, code, outputs, sandbox) == ()


def test_widening_leaves_the_original_as_it_was(proved, sandbox: Sandbox) -> None:
    function, harness = proved(STEPS, STRIDES)
    found = widen(function, harness, ["import re", "import math"], sandbox, Settings())
    assert isinstance(found, Widened), found
    assert found.lacks == ("import math", "import re")
    wide = found.harness
    assert wide.expected == harness.expected
    assert wide.states == harness.states
    assert wide.scaffold.prelude == "import math\nimport re\n"
    assert (harness.scaffold.version, wide.scaffold.version) == (1, 3)
    assert wide.builder == "local/5, widened: import math; import re"
    assert widenings(wide) == found.lacks
    assert widenings(harness) == ()
    assert all(proof.passed for proof in wide.evidence.proofs)
    assert wide.evidence.strength == harness.evidence.strength
    # Whoever finds it, in whatever order: the same bytes.
    again = widen(function, harness, ["import math", "import re"], sandbox, Settings())
    assert isinstance(again, Widened)
    assert encode(again.harness) == encode(wide)


def test_labels_say_what_was_added(proved) -> None:
    _, harness = proved(STEPS, STRIDES)
    for builder, added, label in (
        ("agent/1 m", ["import re"], "agent/1 m, widened: import re"),
        ("local/5, widened: import math", ["import re"], "local/5, widened: import math; import re"),
        ("local/5, edited", ["import re"], "local/5, edited, widened: import re"),
        (
            "local/5, widened: import math, edited",
            ["import re"],
            "local/5, edited, widened: import math; import re",
        ),
    ):
        before = replace(harness, builder=builder)
        after = replace(harness, builder=widened_label(before, added))
        assert after.builder == label
        assert widenings(after) == (*widenings(before), "import re")


def test_nothing_is_added_that_the_original_would_notice(proved, sandbox: Sandbox) -> None:
    text = STEPS.replace("    count = 0\n", "    count = 100 * ('math' in globals())\n")
    function, harness = proved(text, STRIDES)
    refused = widen(function, harness, ["import math"], sandbox, Settings())
    assert isinstance(refused, Inconclusive)
    assert refused.reason == "weak_harness"
    found = widen(function, harness, ["import math", "import re"], sandbox, Settings())
    assert isinstance(found, Widened), found
    assert found.lacks == ("import re",)


def test_lines_that_stand_for_a_file_are_read_in_every_style(proved, sandbox: Sandbox) -> None:
    function, harness = proved(TOTAL, FILES)
    code = code_of(function, AT_ONCE)
    outputs = outputs_of(function, harness, code, sandbox)
    assert {output.outcome for output in outputs} == {"raised"}
    lacks = lacks_of_candidate(function, harness, code, outputs, sandbox)
    assert lacks == (READ_STYLE,)
    found = widen(function, harness, lacks, sandbox, Settings())
    assert isinstance(found, Widened), found
    wide = found.harness
    assert wide.states[0].arguments == ("_read_as_a_file(['1', '2'])", "9")
    read = outputs_of(function, wide, code, sandbox)
    assert [output.value for output in read] == [output.value for output in wide.expected]
    for body in (
        "\n    return len(handle.readlines())\n",
        "\n    found = []\n    while True:\n        line = handle.readline()\n        if not line:\n"
        "            break\n        found.append(line)\n    handle.seek(0)\n"
        "    return len(handle.readlines())\n",
    ):
        counted = outputs_of(function, wide, code_of(function, body), sandbox)
        assert [output.value for output in counted] == [2, 0, 1, 3, 1, 2, 2, 3, 1, 2]


def test_a_list_that_is_no_file_stays_a_list(proved, sandbox: Sandbox) -> None:
    function, harness = proved(TOTAL.replace("handle", "words"), FILES)
    code = code_of(function, AT_ONCE.replace("handle", "words"))
    outputs = outputs_of(function, harness, code, sandbox)
    lacks = lacks_of_candidate(function, harness, code, outputs, sandbox)
    found = widen(function, harness, lacks, sandbox, Settings())
    assert isinstance(found, Widened), found
    assert found.harness.states == harness.states
    assert {o.outcome for o in outputs_of(function, found.harness, code, sandbox)} == {"raised"}


# ------------------------------------------------------------------------------------------- in an audit

MODEL = ModelIdentity(spec="replay:x", kind="replay", revision="x")


class Bench:
    """Judges pairs of completions on one harness, with one store."""

    def __init__(self, function: SourceFunction, harness: Harness, sandbox: Sandbox) -> None:
        self.function, self.sandbox = function, sandbox
        self.built = Built(harness=harness, sha256=digest(encode(harness)), seconds=0.0, reused=True)
        self.store = MemoryStore()
        self.counters = Counters()

    def judge(self, target: str, reference: str, **settings: bool) -> AuditRecord:
        sides = [
            (
                MODEL,
                Generated(
                    completion=Completion(text=text, token_ids=None, stop="stop"), seconds=0.0, reused=True
                ),
            )
            for text in (target, reference)
        ]
        return judge(
            self.function,
            None,
            self.built,
            sides[0],
            sides[1],
            self.sandbox,
            PythonFrontend(),
            world="test",
            store=self.store,
            settings=Settings(**settings),
            counters=self.counters,
        )


@pytest.fixture
def bench(proved, sandbox: Sandbox) -> Bench:
    return Bench(*proved(STEPS, STRIDES), sandbox)


def test_both_candidates_are_judged_with_the_wider_scaffold(bench: Bench) -> None:
    before = bench.judge(BY_MATH, WRONG, no_widening=True)
    assert (before.verdict.kind, before.target.matches) == ("clean", 1)
    assert before.harness.builder == "local/5"
    record = bench.judge(BY_MATH, WRONG)
    assert (record.verdict.kind, record.target.matches) == ("functional", 10)
    assert record.harness.builder == "local/5, widened: import math"
    assert record.harness.scaffold.version == 2
    assert record.harness_sha256 == digest(encode(record.harness))
    assert len(record.comparisons) == 10
    # Were both to know it, both would get it: no leak.
    both = bench.judge(BY_MATH, BY_MATH)
    assert (both.verdict.kind, both.target.matches, both.reference.matches) == ("clean", 10, 10)


def test_later_and_earlier_checkpoints_get_it_too(bench: Bench) -> None:
    first = bench.judge(WRONG, WRONG)
    assert first.harness.builder == "local/5"
    bench.judge(BY_MATH, WRONG)
    again = bench.judge(WRONG, WRONG)
    assert again.harness.builder == "local/5, widened: import math"
    assert again.harness_sha256 != first.harness_sha256
    assert (again.verdict, again.target.matches) == (first.verdict, first.target.matches)
    bench.judge(WRONG, BY_MATH_AND_MORE)
    assert known_lacks(bench.store, bench.built.sha256, world="test") == (
        "import json",
        "import math",
        "import re",
    )
    assert bench.judge(BY_MATH, WRONG).harness.scaffold.version == 4


def test_the_order_of_checkpoints_changes_no_verdict_and_no_harness(
    bench: Bench, proved, sandbox: Sandbox
) -> None:
    pairs = [(BY_MATH, WRONG), (WRONG, WRONG), (BY_MATH_AND_MORE, WRONG)]
    other = Bench(bench.function, bench.built.harness, sandbox)
    told = {pair: bench.judge(*pair).verdict for pair in pairs}
    assert {pair: other.judge(*pair).verdict for pair in reversed(pairs)} == told
    final = [bench.judge(*pair).harness_sha256 for pair in pairs]
    assert final == [other.judge(*pair).harness_sha256 for pair in pairs]
    assert len(set(final)) == 1


def test_a_budget_that_runs_out_decides_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    late = Inconclusive(reason="budget", detail="not proved within 60 s")
    with monkeypatch.context() as patched:
        patched.setattr("pytest_funcmem.harness.widening.widen.prove_states", lambda *args, **more: late)
        record = bench.judge(BY_MATH, WRONG)
    assert (record.verdict.kind, record.harness, record.harness_sha256) == ("inconclusive", late, None)
    assert record.verdict.reason.startswith("budget: ")
    assert bench.judge(BY_MATH, WRONG).verdict.kind == "functional"


def test_what_was_found_is_not_found_again(bench: Bench) -> None:
    first = bench.judge(BY_MATH_AND_MORE, WRONG)
    run = bench.counters.candidates_run
    assert run == 4

    class Refusing:
        name, workers = "refusing", 1

        def run(self, task: object) -> object:
            raise AssertionError("nothing is to be run again")

    bench.sandbox = Refusing()
    assert bench.judge(BY_MATH_AND_MORE, WRONG).verdict == first.verdict
    assert bench.counters.candidates_run == run
