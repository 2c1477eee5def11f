"""Which values Java functions are given: what patterns find, what untyped containers hold, classes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import InputState
from pytest_funcmem.harness.compiled.java.toolkit import JavaToolkit
from pytest_funcmem.harness.compiled.toolkit import Prepared
from pytest_funcmem.harness.execution import original_program
from pytest_funcmem.harness.outputs import same_output
from tests.unit.harness_java.conftest import Runner, function_of

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


ASKING = """class Asking {
    int both(absent.Shop shop, int n) {
        return shop.price(n) > 3 ? shop.price(n + 1) : n;
    }
}
"""


def test_choices_that_nothing_asked_for_can_be_left_out(java_sandbox: Sandbox) -> None:
    toolkit, function = JavaToolkit(), function_of(ASKING, "Asking.both")
    prepared = toolkit.prepare(function, java_sandbox, check_time=lambda: None)
    assert isinstance(prepared, Prepared), prepared
    programs = [original_program(function, prepared.scaffold)]
    whole = [InputState(seed=3, choices=tuple(range(place, place + 12))) for place in range(30)]
    (first,) = toolkit.execute(java_sandbox, programs, [whole], coverage=False, state_timeout_s=5.0)
    cut = [
        replace(state, choices=state.choices[:used])
        for state, used in zip(whole, first.choices_used, strict=True)
    ]
    (again,) = toolkit.execute(java_sandbox, programs, [cut], coverage=False, state_timeout_s=5.0)
    # Answers of what is made up depend on how many choices there are, so none can be left out there.
    assert any(first.made_up)
    assert all(
        same_output(one, two, float_tolerance=0.0)
        for one, two in zip(first.outputs, again.outputs, strict=True)
    )


FAILING = """import java.io.*;
class Failing {
    static String copy(InputStream in, Writer out) {
        try {
            out.write(in.read());
            return "copied";
        } catch (IOException failure) {
            return "failed";
        }
    }
}
"""


def test_streams_fail_at_times_where_that_is_caught(run_java: Runner) -> None:
    execution = run_java(FAILING, "Failing.copy", states=60)
    values = [output.value for output in execution.outputs if output.outcome == "returned"]
    assert 0 < values.count("failed") < values.count("copied")


SOUGHT = """import java.io.*;
class Sought {
    static String kind(String path, CharSequence text, InputStream stream) {
        StringBuilder seen = new StringBuilder();
        if (path.startsWith("/") && path.endsWith("/*") && path.split(";").length > 1) {
            seen.append("mapped ");
        }
        if (text.length() > 300) {
            seen.append("long ");
        }
        return seen.append(stream instanceof BufferedInputStream ? "buffered" : "bare").toString();
    }
}
"""


def test_what_code_looks_for_in_texts_and_values_is_there(run_java: Runner) -> None:
    execution = run_java(SOUGHT, "Sought.kind", states=600)
    assert execution.loaded, execution.load_detail
    words = {word for output in execution.outputs for word in str(output.value).split()}
    assert words >= {"mapped", "long", "buffered", "bare"}


STACKED = """import absent.Failure;
class Stacked {
    private final char[] open = new char[9];
    private int top;
    private char mode = 'i';
    void begin() {
        if (mode == 'x') {
            throw new Failure("closed");
        }
        push('o');
    }
    private void push(char one) {
        open[top++] = one;
        mode = one;
    }
    String end(char one) {
        if (mode != one) {
            return "other";
        }
        if (top <= 0 || open[top - 1] != one) {
            return "nothing is open";
        }
        top--;
        return "closed";
    }
}
"""


def test_objects_have_a_past(run_java: Runner) -> None:
    execution = run_java(STACKED, "Stacked.end", states=300)
    assert execution.loaded, execution.load_detail
    assert {output.value for output in execution.outputs} >= {"other", "nothing is open", "closed"}


ASKED_AGAIN = """class AskedAgain {
    static String located(absent.Failure failure) {
        if (failure.getPlace() == null || failure.getPlace().getName() == null) {
            return "nowhere";
        }
        String first = failure.getPlace().getName();
        return first.equals(failure.getPlace().getName()) ? "steady" : "other";
    }
    static String referred(absent.Project project, String id) {
        return project.reference(id) == null ? "none" : "some";
    }
}
"""


def test_properties_of_what_is_made_up_stay_in_some_states(run_java: Runner) -> None:
    execution = run_java(ASKED_AGAIN, "AskedAgain.located", states=100)
    assert execution.loaded, execution.load_detail
    words = [output.value for output in execution.outputs]
    assert {"nowhere", "steady", "other"} <= set(words)
    assert words.count("steady") > 25


def test_answers_that_are_only_compared_can_be_there(run_java: Runner) -> None:
    execution = run_java(ASKED_AGAIN, "AskedAgain.referred", states=60)
    assert execution.loaded, execution.load_detail
    assert {output.value for output in execution.outputs} >= {"none", "some"}


VARIABLES = """import java.io.*;
import java.util.*;
class Variables {
    private static final Hashtable<String, Integer> CACHE = new Hashtable<>();
    private static final Map<String, Integer> TABLE = new TreeMap<>(Map.of("a", 1));
    private static String name;
    static void name(String next) {
        name = next;
    }
    static String released(int n) {
        int size = CACHE.size();
        CACHE.clear();
        return (size > 0 ? "held" : "empty") + (name == null ? "" : " named") + " " + TABLE.size();
    }
    static int read(InputStream stream) throws IOException {
        return stream.read();
    }
    static boolean isExtender(char c) {
        if (c < 0x309D) {
            return false;
        }
        return c <= 0x309E;
    }
}
"""


def test_variables_of_the_class_hold_other_values_in_some_states(run_java: Runner) -> None:
    execution = run_java(VARIABLES, "Variables.released", states=200)
    assert execution.loaded, execution.load_detail
    assert {output.value for output in execution.outputs} == {
        "empty 1",
        "held 1",
        "empty named 1",
        "held named 1",
    }
    for output, shown in zip(execution.outputs, execution.shown, strict=True):
        told = [one for one in shown if one.startswith("Variables.")]
        assert ("named" in str(output.value)) <= any(one.startswith("Variables.name = ") for one in told)
        assert ("held" in str(output.value)) <= any(one.startswith("Variables.CACHE = ") for one in told)


def test_states_show_what_streams_hold(run_java: Runner) -> None:
    execution = run_java(VARIABLES, "Variables.read", states=60)
    assert execution.loaded, execution.load_detail
    assert len(set(execution.shown)) > 20


def test_characters_are_those_that_code_compares_as_numbers(run_java: Runner) -> None:
    execution = run_java(VARIABLES, "Variables.isExtender", states=100)
    assert execution.loaded, execution.load_detail
    assert {output.value for output in execution.outputs} == {False, True}
    assert len(execution.executable_lines) == len(
        {line for one in execution.outputs for line in one.lines} - {0}
    )


PLACED = """class Placed {
    static String at(String text, int[] list, int place) {
        boolean isInside = place > 0 && place + 4 <= text.length();
        boolean isFound = isInside && text.substring(place, place + 4).equals("CHAE");
        return (isFound ? "found" : "not") + (place >= 0 && place == list.length - 1 ? " last" : "");
    }
}
"""


def test_numbers_are_places_in_what_was_made_before(run_java: Runner) -> None:
    execution = run_java(PLACED, "Placed.at", states=500)
    assert execution.loaded, execution.load_detail
    assert {output.value for output in execution.outputs} >= {"found", "not", "not last"}


TABLES = """class Tables {
    private int[] box;
    private int[] keys;
    int mixed(int[] block, int start) {
        int left = block[start];
        int sum = 0;
        for (int round = 0; round < 4; round++) {
            sum += box[0x200 | (left >> 4 * round & 0xff)] ^ box[0x100 | (left & 0xff)];
            sum ^= keys[17 - round];
        }
        block[start] = sum;
        return sum;
    }
}
"""


def test_tables_have_a_place_for_what_code_looks_up(run_java: Runner) -> None:
    execution = run_java(TABLES, "Tables.mixed", states=900)
    assert sum(output.outcome == "returned" for output in execution.outputs) >= 3
