"""Batches are fixed over the plan."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_funcmem.core.records import Prompt
from pytest_funcmem.models.batches import batch_digest, plan_batches


def prompt(text: str) -> Prompt:
    return Prompt(text=text, token_ids=tuple(range(len(text))), tokenizer="t", context_tokens=0)


TEXTS = st.lists(st.text("ab", min_size=1, max_size=4), max_size=30)


@given(TEXTS, st.integers(1, 7))
def test_every_prompt_is_in_one_batch(texts: list[str], size: int) -> None:
    batches = plan_batches([prompt(text) for text in texts], size)
    assert sorted(place for batch in batches for place in batch) == list(range(len(texts)))
    assert all(len(batch) == size for batch in batches[:-1])
    assert all(1 <= len(batch) <= size for batch in batches)


@given(st.data(), TEXTS, st.integers(1, 7))
def test_the_order_of_the_prompts_does_not_matter(data: st.DataObject, texts: list[str], size: int) -> None:
    shuffled = data.draw(st.permutations(texts))

    def composed(order: list[str]) -> list[str]:
        prompts = [prompt(text) for text in order]
        return [batch_digest([prompts[place] for place in batch]) for batch in plan_batches(prompts, size)]

    assert composed(texts) == composed(shuffled)


@given(TEXTS)
def test_long_prompts_come_first(texts: list[str]) -> None:
    prompts = [prompt(text) for text in texts]
    lengths = [len(prompts[place].token_ids) for batch in plan_batches(prompts, 3) for place in batch]
    assert lengths == sorted(lengths, reverse=True)


def test_the_digest_of_a_batch_depends_on_texts_and_order() -> None:
    a, b = prompt("a"), prompt("b")
    assert batch_digest([a, b]) != batch_digest([b, a])
    assert batch_digest([a, b]) != batch_digest([prompt("ab")])
    assert len(batch_digest([a])) == 64
