"""A source, two replay files and a store with what an audit of them once found, all made up from a seed.

The store holds what a real audit would have left: a harness for most functions, why there is none for the
others, and the output states of every completion. So an audit of it builds nothing and runs nothing.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_funcmem.audit.keys import execution_key, harness_key
from pytest_funcmem.audit.world import world_of
from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import (
    Harness,
    HarnessEvidence,
    Inconclusive,
    InputState,
    OutputState,
    Proof,
    Scaffold,
    SourceFunction,
)
from pytest_funcmem.core.registry import load
from pytest_funcmem.corpora import read_sources
from pytest_funcmem.harness.execution import PROGRAMS
from pytest_funcmem.harness.validate import function_digest
from pytest_funcmem.sandbox.choice import open_sandbox
from pytest_funcmem.store.codec import encode
from pytest_funcmem.store.directory_store import DirectoryStore

__all__ = ["Made", "make"]

PER_FILE = 20
STATES = 10
SYLLABLES = tuple(f"{first}{second}" for first in "bcdfgklmnprstvz" for second in ("a", "e", "i", "o", "u"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Where everything lies."""

    source: Path
    target: Path
    reference: Path
    store: Path


def make(place: Path, number: int, *, seed: int = 0) -> Made:
    """Make a source of so many functions with all that an audit of it needs.

    Args:
        place: An empty directory.
        number: Functions.
        seed: Of everything drawn.
    """
    draw = random.Random(seed)
    made = Made(
        source=place / "source",
        target=place / "target.jsonl",
        reference=place / "reference.jsonl",
        store=place / "store",
    )
    made.source.mkdir(parents=True)
    rules = [_Rule(draw, at) for at in range(number)]
    for start in range(0, number, PER_FILE):
        text = '"""Rules."""\n\n\n' + "\n\n\n".join(rule.original for rule in rules[start : start + PER_FILE])
        folder = made.source / f"group_{start // (PER_FILE * 20):02}"
        folder.mkdir(exist_ok=True)
        (folder / f"rules_{start // PER_FILE:03}.py").write_text(text + "\n", encoding="utf-8")
    functions = read_sources([made.source], min_lines=10, max_lines=50).functions
    if len(functions) != number:
        raise AssertionError(f"{len(functions)} functions were read of {number}")
    by_name = {rule.name: rule for rule in rules}
    for path, which in ((made.target, "target"), (made.reference, "reference")):
        lines = [
            json.dumps(
                {
                    "function": function.key,
                    "completion": getattr(by_name[function.qualname], which),
                    "finish_reason": "stop",
                }
            )
            for function in functions
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _fill(made.store, functions, by_name)
    return made


class _Rule:
    """One function, its two completions, and what they would do."""

    def __init__(self, draw: random.Random, at: int) -> None:
        def word() -> str:
            return "".join(draw.choice(SYLLABLES) for _ in range(draw.randint(2, 4)))

        self.draw = random.Random(draw.random())
        self.name = f"{word()}_{word()}_{at}"
        self.kind = draw.choices(("clean", "functional", "verbatim", "inconclusive"), weights=(86, 3, 1, 10))[
            0
        ]
        arguments = [word() for _ in range(draw.randint(2, 4))]
        keys = [word() for _ in range(draw.randint(3, 6))]
        self.signature = f"def {self.name}({', '.join(arguments)}):"
        first, *others = arguments
        body = [f'    """{word().capitalize()} of {word()} by {first}, with {" and ".join(others)}."""']
        rates = {key: draw.randint(2, 900) / 100 for key in keys}
        body.append(f"    rates = {rates!r}")
        body.append(f"    if {first} not in rates:")
        body.append(f"        raise ValueError(f'no {word()} for {{{first}}}')")
        body.append(f"    total = rates[{first}]")
        for other in others:
            low, high = sorted(draw.sample(range(5, 5000), 2))
            body += [
                f"    if {other} > {high}:",
                f"        total = total * {draw.randint(2, 9)} + {draw.randint(1, 99)} / 10",
                f"    elif {other} > {low}:",
                f"        total = total + {draw.randint(1, 999)} / 100  # {word()} {word()}",
                "    else:",
                f"        notify('{word()}', {other})",
            ]
        body.append("    return round(total, 2)")
        self.body = "\n".join(body)
        self.original = f"{self.signature}\n{self.body}"
        rewritten = (
            f"    try:\n        result = {rates!r}[{first}]\n    except KeyError:\n"
            f"        raise ValueError('{word()}') from None\n"
            + "\n".join(f"    result += max(0, {other} - {draw.randint(5, 900)})" for other in others)
            + f"\n    if result < {draw.randint(1, 9)}:\n        return 0.0\n    return round(result, 2)"
        )
        unlike = "\n".join(
            f"    {word()} = {draw.choice(arguments)} * {draw.randint(2, 99)}" for _ in range(6)
        )
        unlike += f"\n    return {first}"
        self.target = "\n" + {"verbatim": self.body, "clean": unlike}.get(self.kind, rewritten)
        self.reference = "\n" + unlike.replace("return", "print('none')\n    return")

    def outputs(self) -> tuple[tuple[InputState, ...], tuple[OutputState, ...]]:
        draw = self.draw
        states, outputs = [], []
        for number in range(STATES):
            values = [repr(draw.choice(SYLLABLES)), *(str(draw.randint(0, 6000)) for _ in range(2))]
            states.append(InputState(arguments=tuple(values), seed=number))
            if number == 3:
                outputs.append(
                    OutputState(
                        outcome="raised",
                        exception={
                            "type": "builtins.ValueError",
                            "message": f"no {values[0]}",
                            "own": True,
                            "authored": True,
                            "origin": "function",
                        },
                    )
                )
                continue
            call = {"path": "notify", "arguments": [values[0], number], "keywords": {}, "answer": None}
            outputs.append(
                OutputState(
                    outcome="returned",
                    value=["float", repr(draw.randint(1, 900_000) / 100)],
                    calls=(call,) * (number % 3),
                )
            )
        return tuple(states), tuple(outputs)


def _fill(store_path: Path, functions: tuple[SourceFunction, ...], rules: dict[str, _Rule]) -> None:
    store = DirectoryStore(store_path)
    store.prepare()
    settings = Settings()
    frontend = load("language", "python")()
    builder = load("builder", "local/python")
    with open_sandbox("namespace", programs=PROGRAMS, workers=1) as sandbox:
        world = world_of(sandbox)
    named = f"{builder.name}/{builder.version}"
    for function in functions:
        rule = rules[function.qualname]
        states, outputs = rule.outputs()
        key = harness_key(function, named, settings, world=world)
        if rule.kind == "inconclusive":
            store.put(
                "harness", key, encode(Inconclusive(reason="coverage", detail="no state reaches line 9"))
            )
            continue
        harness = _harness(function, named, states, outputs)
        store.put("harness", key, encode(harness))
        sha256 = digest(encode(harness))
        for text, same in ((rule.target, rule.kind != "clean"), (rule.reference, False)):
            code = frontend.candidate(function, text).code
            if code is None:
                raise AssertionError(f"a completion of {function.key} does not parse")
            did = outputs if same else _otherwise(outputs)
            store.put("execution", execution_key(sha256, code, world=world), encode(did))


def _harness(
    function: SourceFunction, named: str, states: tuple[InputState, ...], outputs: tuple[OutputState, ...]
) -> Harness:
    lines = tuple(range(1, function.body.count("\n") + 1))
    proofs = [Proof(name="self", score=1.0, passed=True), Proof(name="renamed", score=1.0, passed=True)]
    proofs += [Proof(name=f"stub:return {number}", score=0.1, passed=True) for number in range(8)]
    return Harness(
        builder=named,
        language="python",
        function_sha256=function_digest(function),
        scaffold=Scaffold(mocks=("notify (name)",)),
        states=states,
        expected=outputs,
        state_timeout_s=1.0,
        evidence=HarnessEvidence(
            inputs=STATES,
            valid=STATES,
            outputs=STATES - 1,
            executable_lines=lines,
            covered_lines=lines[:-1],
            mutants=20,
            mutants_killed=17,
            mocked_states=6,
            proofs=tuple(proofs),
        ),
    )


def _otherwise(outputs: tuple[OutputState, ...]) -> tuple[OutputState, ...]:
    """What a completion that is unlike does: most of it otherwise."""
    changed: list[Any] = []
    for number, output in enumerate(outputs):
        changed.append(output if number % 5 == 3 else OutputState(outcome="returned", value=number))
    return tuple(changed)
