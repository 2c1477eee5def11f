"""Reads the score out of a judge's answer, however the model wraps it, and never guesses one.

Accepted: the object asked for, bare, in a code fence or among prose; ``[[0.9]]``; the key with a value; an
answer that is one number; prose that names one score. A per cent sign divides by 100; a decimal comma is a
point. What lies outside 0 to 1, is no number, or stands beside another score is a failure with a reason.

This module knows no model.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["JudgeAnswer", "read_answer", "read_rating"]

_NUMBER = r"[-+]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:[eE][-+]?\d+)?|NaN|nan|-?[Ii]nf(?:inity)?"
_BRACKETS = re.compile(rf"\[\[\s*({_NUMBER})\s*(%?)\s*\]\]")
_ALONE = re.compile(rf"[\s*`\"']*({_NUMBER})\s*(%?)\s*(?:/\s*1(?:\.0+)?)?[\s.*`\"']*")
_PROSE = re.compile(
    r"\b(?:score|rating|similarity|equivalence)\b[^\n\d%]{0,40}?" rf"({_NUMBER})(?![\d.]*\w)\s*(%?)",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\b0(?:\.0+)?\s*(?:to|-|\u2013|and|\.\.)\s*1(?:\.0+)?\b", re.IGNORECASE)
_OTHER_SCALE = re.compile(r"\s*(?:/|out of)\s*(?!1(?:\.0+)?\b)\d", re.IGNORECASE)
_SPAN = re.compile(r"\s*(?:to|and|or|-|\u2013)\s*[\d.,]+", re.IGNORECASE)
_LONGEST = 100_000
_MOST_BRACES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """What an answer says.

    Attributes:
        score: In [0, 1]; None where the answer gives none.
        failure: Why there is none; "" where there is one.
    """

    score: float | None
    failure: str = ""


def read_answer(text: str, *, key: str) -> JudgeAnswer:
    """Read a judge's answer.

    Args:
        text: All that the model wrote.
        key: Key of the object that was asked for; "" where ``[[score]]`` was.
    """
    text = text[:_LONGEST].strip()
    if not text:
        return _failed("the answer is empty")
    for found in (
        _in_brackets(text),
        _in_objects(text, key),
        _after_key(text, key),
        _alone(text),
        _in_prose(text),
    ):
        values = list(dict.fromkeys(found))
        if len(values) > 1:
            return _failed(f"the answer gives {len(values)} scores that differ")
        if values:
            return _checked(values[0])
    return _failed("the answer gives no score in the form that was asked for")


def read_rating(text: str, *, key: str, low: int, high: int) -> tuple[int | None, str]:
    """Read a whole number on a scale out of an answer.

    Args:
        text: All that the model wrote.
        key: Key of the object that was asked for, and the word that a rating in prose follows.
        low: Lowest of the scale.
        high: Highest of the scale.

    Returns:
        The rating, or None and why there is none.
    """
    text = text[:_LONGEST].strip()
    if not text:
        return None, "the answer is empty"
    scale = rf"(?:\s*(?:/|out of)\s*{high}\b)?"
    alone = re.compile(rf"[\s*`\"']*({_NUMBER}){scale}[\s.*`\"']*")
    prose = re.compile(rf"\b{key}\b[\"'*]*[^\n\d%]{{0,40}}?({_NUMBER})(?!\.?\d){scale}", re.IGNORECASE)
    plain = re.sub(rf"\b{low}\s*(?:to|-|\u2013)\s*{high}\b", " ", text)
    for found in (_values(text, key), alone.fullmatch(text), prose.findall(plain)):
        texts = [found[1]] if isinstance(found, re.Match) else list(found or ())
        values = list(dict.fromkeys(_number(item, "") for item in texts))
        if len(values) > 1:
            return None, f"the answer gives {len(values)} ratings that differ"
        if values:
            if not math.isfinite(values[0]) or not values[0].is_integer():
                return None, f"the rating {texts[0]} is no whole number"
            if not low <= values[0] <= high:
                return None, f"the rating {texts[0]} is outside {low} to {high}"
            return int(values[0]), ""
    return None, "the answer gives no rating in the form that was asked for"


def _values(text: str, key: str) -> list[str]:
    """What stands under a key in the objects of a text, where it is a number or the text of one."""
    values = []
    for found in _objects(text):
        value = found.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            values.append(repr(float(value)) if abs(value) < 1e300 else "inf")
        elif isinstance(value, str) and re.fullmatch(_NUMBER, value.strip()):
            values.append(value.strip())
    return values


def _failed(why: str) -> JudgeAnswer:
    return JudgeAnswer(score=None, failure=why)


def _checked(value: float) -> JudgeAnswer:
    if not math.isfinite(value):
        return _failed("the score is no finite number")
    if not 0.0 <= value <= 1.0:
        return _failed(f"the score {value:g} is outside 0 to 1")
    return JudgeAnswer(score=value)


def _number(text: str, percent: str) -> float:
    value = float(text.replace(",", "."))
    return value / 100 if percent else value


def _in_brackets(text: str) -> list[float]:
    return [_number(number, percent) for number, percent in _BRACKETS.findall(text)]


def _in_objects(text: str, key: str) -> list[float]:
    values = []
    for found in _objects(text):
        value = found.get(key or "score", found.get("score"))
        if isinstance(value, bool):
            continue
        if isinstance(value, (int, float)):
            # float() of an integer of a thousand digits raises; it is outside 0 to 1 anyway.
            values.append(float(value) if abs(value) < 1e300 or value != value else math.inf)
        elif isinstance(value, str) and (match := _ALONE.fullmatch(value)):
            values.append(_number(match[1], match[2]))
    # NaN equals nothing, itself included, so two of them would count as two scores.
    return [math.nan] if values and all(map(math.isnan, values)) else values


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects that stand in a text, outermost ones, in order."""
    decoder = json.JSONDecoder()
    place = 0
    for _ in range(_MOST_BRACES):
        place = text.find("{", place)
        if place < 0:
            return
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if isinstance(value, dict):
            yield value


def _after_key(text: str, key: str) -> list[float]:
    """The key and a value in what is no valid JSON: cut off, with single quotes, with comments."""
    if not key:
        return []
    pattern = re.compile(rf"[\"']?\b{key}\b[\"']?\s*[:=]\s*[\"']?({_NUMBER})\s*(%?)(?!\s*(?:to\b|[\d.]))")
    # An object that breaks off within its number may have meant another one.
    broken = len(text) if text.count("{") > text.count("}") else -1
    return [_number(match[1], match[2]) for match in pattern.finditer(text) if match.end() != broken]


def _alone(text: str) -> list[float]:
    match = _ALONE.fullmatch(text)
    return [_number(match[1], match[2])] if match else []


def _in_prose(text: str) -> list[float]:
    plain = _RANGE.sub(" ", text.replace("*", " "))
    values = []
    for match in _PROSE.finditer(plain):
        if _OTHER_SCALE.match(plain, match.end()) or _SPAN.match(plain, match.end()):
            return []  # on a scale that was not asked for, or a span rather than a score
        values.append(_number(match[1], match[2]))
    return values
