"""Which values Java functions are given: what patterns find, what untyped containers hold, classes."""

from __future__ import annotations

import pytest

from tests.unit.harness_java.conftest import Runner

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

INPUTS = """import java.util.*;
import java.util.regex.*;
class Inputs {
    static final Pattern RANGE = Pattern.compile("(?<low>\\\\d{2})-(?:[x-z]+|\\\\Q.\\\\E)(?!!)");
    static String look(String text, Map untyped, Class<?> type) {
        StringBuilder seen = new StringBuilder();
        Matcher range = RANGE.matcher(text);
        if (range.find()) {
            seen.append("range ");
        }
        if (text.matches("[^\\\\]a-c]?=\\\\w*;")) {
            seen.append("setting ");
        }
        for (Object one : untyped.values()) {
            seen.append(((String) one).length() > 2 ? "long " : "short ");
        }
        seen.append(type.isArray() ? "array" : type.isPrimitive() ? "plain" : "");
        return seen.append(type.isInterface() ? "open" : "class").toString();
    }
}
"""


def test_patterns_are_found_and_containers_and_classes_are_of_use(run_java: Runner) -> None:
    execution = run_java(INPUTS, "Inputs.look", states=200)
    assert execution.loaded, execution.load_detail
    words = {
        word for output in execution.outputs if isinstance(output.value, str) for word in output.value.split()
    }
    assert words >= {"range", "setting", "long", "short", "arrayclass", "plainclass", "open", "class"}
