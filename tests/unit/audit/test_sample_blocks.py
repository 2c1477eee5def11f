"""Generation of a sample: block by block in random order, both models in turn, kept where they fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_funcmem.audit.generation import sample_blocks
from pytest_funcmem.audit.pipeline import Audit
from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.records import Completion, ModelIdentity, SourceFunction
from pytest_funcmem.models.prompts import FallbackCutter
from pytest_funcmem.store.memory_store import MemoryStore

BODY = "\n    return a"


def function(number: int) -> SourceFunction:
    signature = f"def f{number}(a):"
    return SourceFunction(
        path="a.py",
        qualname=f"f{number}",
        language="python",
        line=1,
        text=signature + BODY,
        definition_start=0,
        signature_start=0,
        signature_end=len(signature),
        end=len(signature + BODY),
    )


FUNCTIONS = [function(number) for number in range(10)]
KEYS = [item.key for item in FUNCTIONS]
RANDOM = [KEYS[number] for number in (7, 2, 9, 0, 5, 1, 8, 3, 6, 4)]


class Tape:
    """What two models were asked, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def batches(self, side: str) -> list[set[str]]:
        return [set(keys) for name, keys in self.events if name == side]


class TapedModel:
    batch_size = 2

    def __init__(self, side: str, tape: Tape) -> None:
        self.identity = ModelIdentity(spec=f"openai:{side}", kind="openai", revision=side)
        self._side = side
        self._tape = tape
        self._open = False

    def cutter(self) -> Any:
        return FallbackCutter()

    def complete(
        self, functions: Sequence[SourceFunction], prompts: object, *, max_new_tokens: int
    ) -> tuple[Completion, ...]:
        if not self._open:
            self._open = True
            self._tape.events.append(("open", self._side))
        self._tape.events.append((self._side, [item.key for item in functions]))
        return tuple(Completion(text=BODY, token_ids=None, stop="stop") for _ in functions)

    def close(self) -> None:
        self._open = False


class NoSandbox:
    workers = 1

    def identity(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        pass


def audited(
    tape: Tape, selected: Sequence[str], *, sample: Sequence[str] | None, crowded: bool = False
) -> dict[str, str]:
    """Verdicts by key; without a sandbox for the language every function is decided by its text."""
    audit = Audit(
        Settings(batch_size=2),
        FUNCTIONS,
        target=TapedModel("target", tape),  # type: ignore[arg-type]
        reference=TapedModel("reference", tape),  # type: ignore[arg-type]
        sandbox=NoSandbox(),  # type: ignore[arg-type]
        builders={},
        store=MemoryStore(),
        worlds={},
        lacking={"python": "not here"},
        listener=lambda event: None,
        sample=sample,
        crowded=lambda: crowded,
    )
    audit.start(selected)
    try:
        return {key: audit.future(key).result(timeout=30).verdict.kind for key in selected}
    finally:
        audit.close()


def test_blocks_cut_a_random_order() -> None:
    assert sample_blocks([3, 1, 4, 0, 2], 1) == ((3, 1), (4, 0), (2,))
    assert sample_blocks([3, 1, 4, 0, 2], 16) == ((3, 1, 4, 0, 2),)


def test_a_whole_audit_completes_with_the_target_first() -> None:
    tape = Tape()
    audited(tape, KEYS, sample=None)
    sides = [name for name, _ in tape.events if name != "open"]
    assert sides == ["target"] * 5 + ["reference"] * 5


def test_a_sample_completes_what_comes_first_with_both_models_in_turn() -> None:
    tape = Tape()
    verdicts = audited(tape, KEYS, sample=RANDOM)
    assert set(verdicts) == set(KEYS)
    sides = [name for name, _ in tape.events if name != "open"]
    assert sides == ["target", "target", "reference", "reference"] * 2 + ["target", "reference"]
    for side in ("target", "reference"):
        done = tape.batches(side)
        assert [set().union(*done[start : start + 2]) for start in (0, 2, 4)] == [
            set(RANDOM[:4]),
            set(RANDOM[4:8]),
            set(RANDOM[8:]),
        ]
    assert [name for name, _ in tape.events].count("open") == 2


def test_where_memory_is_short_turns_double_so_that_models_are_seldom_loaded() -> None:
    roomy, crowded = Tape(), Tape()
    audited(roomy, KEYS, sample=RANDOM)
    audited(crowded, KEYS, sample=RANDOM, crowded=True)
    sides = [name for name, _ in crowded.events]
    assert sides.count("open") == 4
    assert [name for name in sides if name != "open"] == (
        ["target", "target", "reference", "reference"] + ["target"] * 3 + ["reference"] * 3
    )
    for side in ("target", "reference"):
        assert crowded.batches(side) == roomy.batches(side)


def test_batches_of_a_sample_do_not_depend_on_what_is_selected() -> None:
    whole, part = Tape(), Tape()
    audited(whole, KEYS, sample=RANDOM)
    audited(part, RANDOM[3:5], sample=RANDOM)
    for side in ("target", "reference"):
        assert part.batches(side) == [batch for batch in whole.batches(side) if batch & set(RANDOM[3:5])]
        assert len(part.batches(side)) == 2


@pytest.mark.parametrize("free", [None, 10_000, 10_000_000])
def test_models_are_kept_where_half_of_the_free_memory_holds_them(
    free: int | None, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_funcmem.models import memory
    from pytest_funcmem.models.checkpoint import Checkpoint
    from pytest_funcmem.models.spec import parse_spec

    (tmp_path / "model.safetensors").write_bytes(b"x" * 100_000)
    found = Checkpoint(directory=tmp_path, gguf=None, tokenizer_in_gguf=False, revision="r")
    monkeypatch.setattr(memory, "find_checkpoint", lambda spec, hashed: found)
    monkeypatch.setattr(memory, "_free_bytes", lambda device: free)
    specs = [parse_spec(f"hf:{tmp_path}")]
    assert memory.weights_fit(specs, Settings()) is (free == 10_000_000)
    assert memory.weights_fit([parse_spec("openai:http://localhost:1/v1#m")], Settings())
    # 200 kB in float32, 100 kB in 16 bits.
    monkeypatch.setattr(memory, "_free_bytes", lambda device: 300_000)
    assert not memory.weights_fit(specs, Settings(dtype="float32"))
    assert memory.weights_fit(specs, Settings(dtype="bfloat16"))
