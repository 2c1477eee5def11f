"""Attack by attack: it is contained as its record says, and the next candidate is none the worse for it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import socket
import statistics
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from pytest_funcmem.core.protocols import SandboxResult, SandboxTask
from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.execution import PROGRAMS, Execution, Program, execute
from pytest_funcmem.sandbox.choice import open_sandbox
from pytest_funcmem.sandbox.pool import WarmSandbox

HERE = Path(__file__).parent


def load_catalogue() -> ModuleType:
    """Import the catalogue beside this file as a package of its own name."""
    spec = importlib.util.spec_from_file_location(
        "attack_catalogue",
        HERE / "catalogue" / "__init__.py",
        submodule_search_locations=[str(HERE / "catalogue")],
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


catalogue = load_catalogue()
ATTACKS = catalogue.ATTACKS

HONEST = '''
def wrap(words, width):
    """mark of the honest candidate: it breaks lines."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]
'''
HONEST_STATES = (
    InputState(arguments=("['some', 'few', 'words']", "8")),
    InputState(arguments=("['mark of the honest candidate: input']", "80")),
)
HONEST_VALUES = [["list", ["some few", "words"]], ["list", ["mark of the honest candidate: input"]]]

USUAL_FACTOR = 10.0
"""How many times its usual time the next candidate may take …"""
REPLACEMENT_S = 5.0
"""… and so many seconds for another container, where the attack has cost one."""


def honest_seconds(sandbox: WarmSandbox) -> float:
    """Run the honest candidate, check its values, and tell how long it took."""
    program = Program(text=HONEST, qualname="wrap", line=2, language="python")
    start = time.monotonic()
    execution = execute(sandbox, program, HONEST_STATES, coverage=False, state_timeout_s=10.0)
    seconds = time.monotonic() - start
    assert [output.outcome for output in execution.outputs] == ["returned", "returned"], execution
    assert [output.value for output in execution.outputs] == HONEST_VALUES
    return seconds


@pytest.fixture(scope="module", params=["namespace", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request: pytest.FixtureRequest) -> Iterator[WarmSandbox]:
    if request.param == "docker":
        docker_sandbox = pytest.importorskip("pytest_funcmem.sandbox.docker_sandbox")
        why_not = docker_sandbox.docker_answers()
        if why_not is not None:
            if os.environ.get("CI") == "true":
                pytest.fail(f"CI must have a Docker engine: {why_not}", pytrace=False)
            pytest.skip(f"no Docker engine: {why_not}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUNCMEM_TEST_SECRET", "of the host")
        programs = {**PROGRAMS, "attack": HERE / "attack_program.py"}
        with open_sandbox(request.param, programs=programs, workers=1) as opened:
            yield opened


@pytest.fixture(scope="module")
def usual_s(sandbox: WarmSandbox) -> float:
    """The honest candidate's usual time here."""
    return statistics.median(honest_seconds(sandbox) for _ in range(5))


@pytest.fixture(scope="module")
def given() -> Iterator[Mapping[str, object]]:
    """Things of the host that attacks look for: a file, servers on the loopback and on Unix sockets."""
    with tempfile.TemporaryDirectory(prefix="funcmem-host-") as directory:
        Path(directory).chmod(0o755)  # it is not its rights that are to hide it
        yield from things_of_the_host(Path(directory))


def things_of_the_host(place: Path) -> Iterator[Mapping[str, object]]:
    (place / "secret").write_text("of the host", encoding="utf-8")
    abstract = f"funcmem-test-{os.getpid()}"
    with (
        socket.socket() as loopback,
        socket.socket(socket.AF_UNIX) as hidden,
        socket.socket(socket.AF_UNIX) as path,
    ):
        loopback.bind(("127.0.0.1", 0))
        hidden.bind(f"\0{abstract}")
        path.bind(str(place / "socket"))
        for server in (loopback, hidden, path):
            server.listen()
        yield {
            "file": str(place / "secret"),
            "repository": str(HERE),
            "port": loopback.getsockname()[1],
            "abstract": abstract,
            "socket": str(place / "socket"),
        }


def run_program(
    sandbox: WarmSandbox, code: str, given: Mapping[str, object], **limits: object
) -> SandboxResult:
    payload = json.dumps({"code": textwrap.dedent(code), "given": given}).encode()
    return sandbox.run(SandboxTask(program="attack", payload=payload, **limits))


def answers_of(result: SandboxResult) -> list[str]:
    """The answers of the last record, if the attack came as far as to give them."""
    if not result.records or result.outcome != "ended":
        return []
    return [str(answer) for answer in json.loads(result.records[-1])]


def check_answers(answers: Iterable[str], allowed: tuple[str, ...]) -> None:
    strange = [
        answer for answer in answers if not any(re.fullmatch(one, answer, re.DOTALL) for one in allowed)
    ]
    assert not strange, f"expected nothing but {allowed}"


def make_attack(sandbox: WarmSandbox, attack: catalogue.Attack, given: Mapping[str, object]) -> None:
    """Make the attack and check that it was contained as its record says."""
    allowed = attack.answers
    if sandbox.name == "namespace" and os.geteuid() != 0:
        allowed += attack.as_user
    if attack.way == "harness":
        check_execution(attack, run_candidate(sandbox, attack))
        return
    if attack.way == "command":
        result = sandbox.run(SandboxTask(command=("sh", "-c", attack.code), limits=attack.limits))
        answers = sorted(set((result.stdout + result.stderr).decode("utf-8", "replace").splitlines()))
    else:
        result = run_program(sandbox, attack.code, given, limits=attack.limits)
        answers = answers_of(result)
    assert result.outcome in attack.outcomes, result.stderr.decode("utf-8", "replace")[-2000:]
    if result.outcome == "ended" and attack.exit_codes:
        assert result.exit_code in attack.exit_codes, result.stderr.decode("utf-8", "replace")[-2000:]
    check_answers(answers, allowed)


def run_candidate(sandbox: WarmSandbox, attack: catalogue.Attack) -> Execution:
    line = next(n for n, text in enumerate(attack.code.split("\n"), 1) if text.startswith("def f("))
    program = Program(text=attack.code, qualname="f", line=line, language="python")
    states = (InputState(arguments=("1",)), InputState(arguments=("2",)))
    return execute(sandbox, program, states, coverage=False, state_timeout_s=5.0, limits=attack.limits)


def check_execution(attack: catalogue.Attack, execution: Execution) -> None:
    assert len(execution.outputs) == 2
    # What a forger has not claimed itself nobody claims for it: where records lack, the state is missing.
    for output in execution.outputs:
        assert output.outcome in (*attack.outcomes, "missing"), output
    assert {output.outcome for output in execution.outputs} & set(attack.outcomes)
    check_answers(
        (json.dumps(output.value) for output in execution.outputs if output.outcome == "returned"),
        attack.answers,
    )
    assert all(0 <= seconds < 1000 for seconds in execution.state_seconds)
    json.dumps([output.value for output in execution.outputs], allow_nan=False)


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_attack(
    sandbox: WarmSandbox, usual_s: float, given: Mapping[str, object], attack: catalogue.Attack
) -> None:
    if sandbox.name == "namespace" and attack.spared:
        pytest.skip(attack.spared)
    make_attack(sandbox, attack, given)
    assert honest_seconds(sandbox) < USUAL_FACTOR * usual_s + REPLACEMENT_S
    if attack.then:
        after = run_program(sandbox, attack.then, given)
        assert after.outcome == "ended", after
        check_answers(answers_of(after), attack.then_answers)


def test_names_are_distinct() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names) >= 60
