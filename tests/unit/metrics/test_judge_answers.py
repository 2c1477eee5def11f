"""What is read out of judges' answers, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_funcmem.core.protocols import CodePair
from pytest_funcmem.metrics.judging.answers import read_answer
from pytest_funcmem.metrics.judging.prompts import PROMPTS

KEY = "equivalence_score"


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("[[0.9]]", 0.9),
        ("The structures differ a little: [[ 0.777 ]].", 0.777),
        ("[[90 %]]", 0.9),
        ("[[0,5]] … so [[0.5]]", 0.5),
        ('{"equivalence_score": 0.8, "reasoning": "a {brace} and [[0.1"}', 0.8),
        ('```json\n{\n  "equivalence_score": 1,\n  "reasoning": "same"\n}\n```', 1.0),
        ('Sure! Here it is:\n```\n{"equivalence_score": "0.4"}\n```\nAnything else?', 0.4),
        ('{"equivalence_score": "90 %"}', 0.9),
        ('{"score": 0.3}', 0.3),
        ("{'equivalence_score': 0.4, 'reasoning': 'single quotes'}", 0.4),
        ('{"equivalence_score": 0.6, "reasoning": "cut off in the mid', 0.6),
        ("equivalence_score = 0.25", 0.25),
        ("0.85", 0.85),
        (" **0.85**\n", 0.85),
        ("90 %", 0.9),
        ("0,85", 0.85),
        ("1", 1.0),
        ("0.5/1", 0.5),
        ("On a scale from 0 to 1 the similarity score is 0.35, as 3 lines differ.", 0.35),
        ("**Score:** 0.6", 0.6),
        ("The rating is .75", 0.75),
        ("0", 0.0),
        ("1e-3", 0.001),
    ],
)
def test_scores_in_many_forms(text: str, score: float) -> None:
    answer = read_answer(text, key=KEY)
    assert (answer.score, answer.failure) == (pytest.approx(score), "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("They are alike.", "no score in the form"),
        ("I cannot compare 2 functions of 30 lines.", "no score in the form"),
        ("1.2", "1.2 is outside 0 to 1"),
        ("[[1.2]]", "1.2 is outside 0 to 1"),
        ("-0.5", "-0.5 is outside 0 to 1"),
        ("90", "90 is outside 0 to 1"),
        ("120 %", "1.2 is outside 0 to 1"),
        ("NaN", "no finite number"),
        ("[[NaN]]", "no finite number"),
        ('{"equivalence_score": NaN}', "no finite number"),
        ('{"equivalence_score": Infinity}', "no finite number"),
        ('{"equivalence_score": 1' + "0" * 400 + "}", "no finite number"),
        ('{"equivalence_score": true}', "no score in the form"),
        ('{"equivalence_score": null}', "no score in the form"),
        ('{"equivalence_score": 0.0 to 1.0}', "no score in the form"),
        ('{"equivalence_score": "high"}', "no score in the form"),
        ("[[0.1]] or [[0.9]]", "2 scores that differ"),
        ('{"equivalence_score": 0.1} {"equivalence_score": 0.2}', "2 scores that differ"),
        ("Score: 8/10", "no score in the form"),
        ("a score of 8 out of 10", "no score in the form"),
        ("The score is between 0.2 and 0.9", "no score in the form"),
        ("The score lies from 0.2 to 0.9", "no score in the form"),
        ("{" * 5000, "no score in the form"),
        ('{"a":' * 5000, "no score in the form"),
        ("\u202e[[0.9", "no score in the form"),
        ('{"equivalence_score": 0.9', "no score in the form"),
    ],
)
def test_what_is_no_score_is_a_failure_with_a_reason(text: str, why: str) -> None:
    answer = read_answer(text, key=KEY)
    assert answer.score is None
    assert why in answer.failure


@given(st.text(alphabet='[]{}"0123.,%:eE-+ naNscore\n', max_size=60))
@settings(max_examples=300, deadline=None)
def test_anything_is_read_or_refused(text: str) -> None:
    answer = read_answer(text, key="score")
    assert (answer.score is None) == bool(answer.failure)
    assert answer.score is None or 0 <= answer.score <= 1


def test_prompts_hold_both_texts_as_they_are() -> None:
    pair = CodePair(language="rust", original="{candidate} {language}", candidate="{original} \\1 {}")
    for prompt in PROMPTS.values():
        system, user = prompt.texts(pair)
        assert user.count("{candidate} {language}") == 1
        assert user.count("{original} \\1 {}") == 1
        assert user.index("{candidate} {language}") < user.index("{original} \\1 {}")
        assert "Rust" in user + system
    assert "[[0.777]]" in PROMPTS["song"].user
    assert PROMPTS["song"].key == ""
    assert PROMPTS["nikiema"].key in PROMPTS["nikiema"].user
    assert PROMPTS["ours"].key in PROMPTS["ours"].user
