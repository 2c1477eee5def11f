"""What counts as the same behaviour, which states are valid, and the paper's Python cases."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import InputState, OutputState, Scaffold, SourceFunction
from pytest_funcmem.harness.execution import Program, execute, original_program, spliced_program
from pytest_funcmem.harness.outputs import output_digest, same_output, similarity, validity
from pytest_funcmem.harness.values import UNCHANGED


def raised(
    kind: str, message: str, *, own: bool = True, authored: bool = True, origin: str = "function"
) -> OutputState:
    said = {"type": kind, "message": message, "own": own, "authored": authored, "origin": origin}
    return OutputState(outcome="raised", exception=said)


RETURNED = OutputState(
    outcome="returned",
    value=["float", "0.3"],
    calls=({"path": "time.time", "arguments": [], "keywords": {"k": 1}, "answer": ["float", "1.0"]},),
    receiver=UNCHANGED,
    arguments={"0": UNCHANGED},
    module_globals={"total": 1},
    stdout="out",
    stderr="err",
    files={"a.txt": "text"},
    lines=(1, 2),
    detail="for people",
)


@pytest.mark.parametrize(
    "changes",
    [
        {"value": ["float", "0.31"]},
        {"calls": ()},
        {"calls": ({**RETURNED.calls[0], "path": "time.sleep"},)},
        {"calls": ({**RETURNED.calls[0], "answer": ["float", "2.0"]},)},
        {"calls": ({**RETURNED.calls[0], "keywords": {}},)},
        {"receiver": 1},
        {"arguments": {}},
        {"arguments": {"0": ["list", [1]]}},
        {"module_globals": {"total": 2}},
        {"stdout": ""},
        {"stderr": ""},
        {"files": {}},
        {"outcome": "timeout"},
    ],
)
def test_every_part_counts(changes: dict[str, Any]) -> None:
    assert not same_output(RETURNED, dataclasses.replace(RETURNED, **changes), float_tolerance=1e-9)


def test_lines_and_details_do_not_count_and_floats_have_their_tolerance() -> None:
    other = dataclasses.replace(RETURNED, lines=(), detail="", value=["float", "0.30000000000000004"])
    assert same_output(RETURNED, other, float_tolerance=1e-9)
    assert not same_output(RETURNED, other, float_tolerance=0)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (raised("ValueError", "x"), raised("ValueError", "x"), True),
        (raised("ValueError", "x"), raised("ValueError", "y"), False),
        (raised("ValueError", "x"), raised("KeyError", "x"), False),
        (raised("KeyError", "1", authored=False), raised("KeyError", "2", authored=False), True),
        (raised("ValueError", "x"), raised("ValueError", "y", authored=False), False),
        (raised("ValueError", "x"), raised("ValueError", "x", own=False, authored=False), True),
        (raised("ValueError", "x"), RETURNED, False),
    ],
)
def test_messages_count_where_the_code_wrote_them(a: OutputState, b: OutputState, same: bool) -> None:
    assert same_output(a, b, float_tolerance=0) == same


@pytest.mark.parametrize(
    ("first", "again", "valid", "reason"),
    [
        (RETURNED, RETURNED, True, ""),
        (raised("ValueError", "x"), raised("ValueError", "x"), True, ""),
        (raised("NameError", "x", own=False, authored=False, origin="scaffold"), RETURNED, False, "scaffold"),
        (raised("KeyError", "x", own=False, authored=False), RETURNED, False, "unmeant: KeyError: x"),
        (RETURNED, dataclasses.replace(RETURNED, value=1), False, "nondeterministic: the value"),
        (RETURNED, dataclasses.replace(RETURNED, stdout=""), False, "nondeterministic: stdout"),
        (RETURNED, raised("ValueError", "x"), False, "nondeterministic: returned once and raised once"),
        (OutputState(outcome="signal", detail="SIGSEGV"), RETURNED, False, "signal: SIGSEGV"),
    ],
)  # fmt: skip
def test_validity(first: OutputState, again: OutputState, valid: bool, reason: str) -> None:
    found, why = validity(first, again)
    assert found == valid
    assert why.startswith(reason)


def test_echoed_inputs_and_answers_do_not_make_outputs_distinct() -> None:
    echo = dataclasses.replace(
        RETURNED,
        receiver=None,
        arguments={},
        lines=(),
        calls=({**RETURNED.calls[0], "answer": ["float", "2.0"]},),
    )
    assert output_digest(echo) == output_digest(RETURNED)
    assert output_digest(dataclasses.replace(echo, value=2)) != output_digest(RETURNED)
    assert output_digest(dataclasses.replace(echo, receiver=1)) != output_digest(RETURNED)
    runtime = [raised("KeyError", text, authored=False) for text in "ab"]
    assert output_digest(runtime[0]) == output_digest(runtime[1])


def test_similarity_is_the_share_of_states_that_match() -> None:
    assert similarity([RETURNED, RETURNED], [RETURNED, raised("E", "")]) == (0.5, (True, False))
    assert similarity([], []) == (0.0, ())
    with pytest.raises(ValueError, match="zip"):
        similarity([RETURNED], [])


def test_a_candidate_takes_the_place_of_the_original_and_keeps_its_decorators() -> None:
    text = "class A:\n    @staticmethod\n    def f(x):\n        return x\n\n    y = 1\n"
    start, end = text.index("def f"), text.index("\n\n")
    function = SourceFunction(
        path="a.py", qualname="A.f", language="python", line=3, text=text, definition_start=text.index("@"),
        signature_start=start, signature_end=text.index(":\n        "), end=end,
    )  # fmt: skip
    program = spliced_program(function, Scaffold(prelude="p = 1"), "def f(x):\n        return 2")
    assert program == Program(
        text="class A:\n    @staticmethod\n    def f(x):\n        return 2\n\n    y = 1\n",
        qualname="A.f",
        line=3,
        language="python",
        prelude="p = 1",
        code="def f(x):\n        return 2",
    )
    assert original_program(function, Scaffold()).text == text


# ------------------------------------------------------------------------------- the paper's Python cases

PRELUDES = {
    "02": "from typing import List, Tuple\n",
    "11": """
import base64, hashlib
class hashes:
    class SHA256: pass
def default_backend(): return None
class PBKDF2HMAC:
    def __init__(self, algorithm, length, salt, iterations, backend):
        self.settings = length, salt, iterations
    def derive(self, password):
        length, salt, iterations = self.settings
        return hashlib.pbkdf2_hmac("sha256", password, salt, iterations, length)
""",
}
ARGUMENTS = {
    "01": [("'app'", "'key'", repr(text), "'zh'", "'en'") for text in ("hi", "a b", "", "x&y", "ü", "?")],
    "02": [
        (grid, "2", "3")
        for grid in (
            "[[0,5,0],[0,0,0]]", "[[10,5,30],[1,2,3]]", "[[-1,50,0],[0,0,20]]", "[[99,0,0],[0,0,0]]",
            "[[5,5,5],[5,5,5]]", "[[-1,-1,60],[7,8,9]]", "[[11,12,13],[14,15,16]]", "[[25,0,25],[0,25,0]]",
            "[[-1,9,9],[9,9,9]]", "[[40,41,42],[43,44,45]]",
        )
    ],
    "04": [
        (repr(city), volume)
        for city, volume in (
            ("Sofia", "100.0"), ("Sofia", "700.0"), ("Varna", "500"), ("Varna", "2e4"), ("Plovdiv", "1e3"),
            ("Plovdiv", "9999.0"), ("Sofia", "10000.5"), ("Varna", "1e4"), ("Ruse", "1e2"), ("Sofia", "-1.0"),
        )
    ],
    "05": [(price, method) for price in ("100.0", "19.99") for method in "12345"],
    "11": [(repr(text),) for text in ("pw", "", "ü", "a" * 50)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("number", "target", "reference"),
    [("01", 1.0, 0.0), ("02", 0.7, 0.0), ("04", 0.8, 0.0), ("05", 1.0, 0.2), ("11", 1.0, 0.0)],
)
def test_the_cases_of_the_paper(
    runner_sandbox: Sandbox, shared_dir: Path, number: str, target: float, reference: float
) -> None:
    cases = shared_dir / "cases"
    (path,) = (cases / "sources").glob(f"{number}_*.py")
    text, name = path.read_text(encoding="utf-8"), path.stem[3:]
    start = text.index(f"def {name}(")
    function = SourceFunction(
        path=path.name, qualname=name, language="python", line=text[:start].count("\n") + 1, text=text,
        definition_start=start, signature_start=start, signature_end=text.index("\n", start),
        end=len(text.rstrip()),
    )  # fmt: skip
    scaffold = Scaffold(prelude=PRELUDES.get(number, ""))
    states = [InputState(arguments=item, seed=seed) for seed, item in enumerate(ARGUMENTS[number])]

    def run(program: Program, *, coverage: bool = False) -> Any:
        return execute(runner_sandbox, program, states, coverage=coverage, state_timeout_s=5.0)

    original = run(original_program(function, scaffold), coverage=True)
    again = run(original_program(function, scaffold))
    assert all(validity(a, b)[0] for a, b in zip(original.outputs, again.outputs, strict=True))
    covered = {line for output in original.outputs for line in output.lines}
    assert len(covered & set(original.executable_lines)) >= 0.8 * len(original.executable_lines)
    for side, expected in (("target", target), ("reference", reference)):
        lines = (cases / f"{side}.jsonl").read_text(encoding="utf-8").splitlines()
        completions = {row["function"]: row["completion"] for row in map(json.loads, lines)}
        code = function.signature + completions[f"{path.name}::{name}"].rstrip()
        candidate = run(spliced_program(function, scaffold, code))
        assert candidate.loaded
        assert similarity(original.outputs, candidate.outputs)[0] == pytest.approx(expected)
