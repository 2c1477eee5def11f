"""How often execution calls like what is unlike in compiled languages, and unlike what is like.

Used by ``conclusive.py``; the counterpart of ``conclusive_errors.py``. Every stand-in here is one that the
harness's own proofs did not use. What does not compile is not counted, since a compiler, not the harness,
tells it apart.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from compiled_rewritings import rewritten
from compiled_siblings import siblings
from conclusive_errors import MUTANTS, PROVED_MUTANTS, STRANGERS, Errors

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Harness, SourceFunction
from pytest_funcmem.harness.compiled.toolkit import toolkit_for
from pytest_funcmem.harness.execution import spliced_program
from pytest_funcmem.harness.outputs import similarity
from pytest_funcmem.metrics.text import bleu

__all__ = ["measure"]

_MOST_TRIED = 12


def measure(
    function: SourceFunction,
    harness: Harness,
    others: Sequence[SourceFunction],
    sandbox: Sandbox,
    *,
    seed: int,
    tau: float,
    kinds: Collection[str],
) -> Errors:
    """Score the stand-ins of one function; see ``conclusive_errors.measure``."""
    toolkit = toolkit_for(function.language)
    generator = random.Random(int(digest([seed, function.key])[:15], 16))
    stand_ins = [
        *(("equivalent", name, code) for name, code in rewritten(function).items()),
        *(("strangers", name, code) for name, code in _strangers(function, others, generator)),
        *(("siblings", name, code) for name, code in siblings(function, generator)),
        *(("stubs", name, code) for name, code in _stubs(function, harness)),
        *(("mutants", name, code) for name, code in _mutants(function, generator)),
    ]
    stand_ins = [item for item in stand_ins if item[0] in kinds]
    errors = Errors()
    if not stand_ins:
        return errors
    runs = toolkit.execute(
        sandbox,
        [spliced_program(function, harness.scaffold, code) for _, _, code in stand_ins],
        [harness.states] * len(stand_ins),
        coverage=False,
        state_timeout_s=harness.state_timeout_s,
    )
    for (kind, name, code), run in zip(stand_ins, runs, strict=True):
        if not run.loaded:
            continue
        score, _ = similarity(harness.expected, run.outputs)
        if kind == "mutants" and score == 1.0:
            continue
        errors.scores[kind].append(score)
        if kind == "equivalent":
            errors.bleu.append(bleu(function.body, code[len(function.signature) :]))
        if (score >= tau) != (kind == "equivalent") and kind != "mutants":
            errors.worst.append(f"{kind} {name}: {score:.2f} on {function.key}")
    return errors


def _strangers(
    function: SourceFunction, others: Sequence[SourceFunction], generator: random.Random
) -> Iterator[tuple[str, str]]:
    """Bodies of functions of other files behind this signature, with this function's parameter names."""
    own = _parameters(function)
    found = 0
    for other in generator.sample(list(others), len(others)):
        theirs = _parameters(other)
        if other.path == function.path or len(own) != len(theirs):
            continue
        body = _renamed(other.body, dict(zip(theirs, own, strict=True)))
        found += 1
        yield f"stranger {other.key}", function.signature + body
        if found == min(STRANGERS, _MOST_TRIED):
            return


def _renamed(body: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda match: names.get(match[0], match[0]), body)


def _parameters(function: SourceFunction) -> list[str]:
    """Names that look like parameters: one identifier of each part between the signature's parentheses."""
    inner = function.signature[function.signature.find("(") + 1 : function.signature.rfind(")")]
    found = []
    for part in inner.split(","):
        words = re.findall(r"[A-Za-z_]\w*", part.split(":")[0])
        if words:
            found.append(words[0] if function.language == "go" else words[-1])
    return found


def _stubs(function: SourceFunction, harness: Harness) -> Iterator[tuple[str, str]]:
    """Stubs that the proofs do not know: odd constants, and what gives one of two things."""
    known = {stub.code for stub in toolkit_for(function.language).stand_ins(function, harness.scaffold, ())}
    end = "}" if function.signature.rstrip().endswith("{") else ""
    start = "" if end else " {"
    close = end or "}"
    semicolon = "" if function.language == "go" else ";"
    for value in ("17", "-1", '"stub"', "true", "false", "1.5", "Some(17)", "null", "NULL", "nil"):
        code = f"{function.signature}{start} return {value}{semicolon} {close}"
        if code not in known:
            yield f"return {value}", code


def _mutants(function: SourceFunction, generator: random.Random) -> Iterator[tuple[str, str]]:
    """First-order mutants beyond those that chose the states."""
    toolkit = toolkit_for(function.language)
    used = {mutant.code for mutant in toolkit.mutants(function, limit=PROVED_MUTANTS)}
    fresh = [mutant for mutant in toolkit.mutants(function, limit=200) if mutant.code not in used]
    for mutant in generator.sample(fresh, min(MUTANTS, len(fresh))):
        yield mutant.name, mutant.code
