"""What Java functions leave to others, and what is given to them to throw, to compare and to call."""

from __future__ import annotations

import pytest

from tests.unit.harness_java.conftest import Runner

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

LISTENING = """import java.util.*;
import java.util.function.*;
class Listening {
    static absent.Button wire(absent.Button button, List<String> names, int step) {
        button.onPress(new absent.Handler() {
            public void handle(String name) {
                names.add(name + step);
            }
        });
        button.count((total) -> {
            return total + ":" + step;
        });
        names.stream().map(name -> name.length()).forEach(length -> names.size());
        return button;
    }
    static Supplier<String> named(String name) {
        return () -> name + "!";
    }
    static Thread late(StringBuilder seen) {
        return new Thread(new Runnable() {
            public void run() {
                seen.append("ran");
            }
        });
    }
}
"""


def calls_of(run_java: Runner, name: str) -> list[list[str]]:
    execution = run_java(LISTENING, name, states=40)
    assert execution.loaded, execution.load_detail
    assert {line for output in execution.outputs for line in output.lines} >= set(execution.executable_lines)
    return [[call["path"] for call in output.calls] for output in execution.outputs]  # type: ignore[index,call-overload]


def test_what_a_function_leaves_to_others_is_called(run_java: Runner) -> None:
    calls = calls_of(run_java, "Listening.named")
    assert all(paths == ["call of Supplier.get"] for paths in calls)
    assert all(paths == ["call of Runnable.run"] for paths in calls_of(run_java, "Listening.late") if paths)


def test_a_thread_is_shown_without_its_number(run_java: Runner) -> None:
    values = {str(output.value) for output in run_java(LISTENING, "Listening.late", states=5).outputs}
    assert values == {"['opaque', 'java.lang.Thread']"}


TRACING = """class Tracing {
    static int share(int total, int parts) {
        try {
            return total / (parts - parts);
        } catch (ArithmeticException cause) {
            new IllegalStateException("no parts", cause).printStackTrace();
            System.err.println("\\tat last");
            return -1;
        }
    }
}
"""


def test_stack_traces_are_printed_without_their_frames(run_java: Runner) -> None:
    printed = {output.stderr for output in run_java(TRACING, "Tracing.share", states=5).outputs}
    assert printed == {
        "java.lang.IllegalStateException: no parts\n"
        "Caused by: java.lang.ArithmeticException: / by zero\n\tat last\n"
    }


def test_steps_of_streams_are_no_calls(run_java: Runner) -> None:
    execution = run_java(LISTENING, "Listening.wire", states=60)
    paths = {call["path"] for output in execution.outputs for call in output.calls}  # type: ignore[index,call-overload]
    assert any(path.startswith("call of Function.") for path in paths), paths
    assert not any("Consumer" in path for path in paths)


PASSING = """class Passing {
    static int take(absent.Source source, Exception told) throws Exception {
        if (told.getMessage() != null) {
            throw told;
        }
        throw source.failure(new IllegalStateException("no"));
    }
    static String close(absent.Source source) {
        try {
            return source.read();
        } finally {
            source.close();
        }
    }
    static int read(absent.Source source) {
        try {
            return source.amount();
        } catch (IllegalStateException failure) {
            source.close();
            throw failure;
        }
    }
}
"""


@pytest.mark.parametrize("name", ["Passing.take", "Passing.read"])
def test_exceptions_that_were_given_are_thrown_on_purpose(run_java: Runner, name: str) -> None:
    execution = run_java(PASSING, name, states=80)
    assert execution.loaded, execution.load_detail
    raised = [output.exception for output in execution.outputs if output.exception is not None]
    assert sum(bool(one["own"]) for one in raised) > 4
    assert {line for output in execution.outputs for line in output.lines} >= set(execution.executable_lines)


EQUALITY = """class Pair {
    private final String left;
    private final int right;
    Pair(String left, int right) {
        this.left = left;
        this.right = right;
    }
    public boolean equals(Object other) {
        if (other == this) {
            return true;
        }
        if (!(other instanceof Pair)) {
            return false;
        }
        Pair pair = (Pair) other;
        return left.equals(pair.left) && right == pair.right;
    }
}
"""


def test_objects_meet_themselves_and_their_like(run_java: Runner) -> None:
    execution = run_java(EQUALITY, "Pair.equals", states=200)
    lines = [tuple(output.lines) for output in execution.outputs if output.value is True]
    assert len(set(lines)) == 2  # the same object, and another that is equal


LACKING = """import java.sql.*;
import java.util.*;
abstract class Lacking extends absent.Parent implements Iterator<String>, ResultSetMetaData {
    String first() throws SQLException {
        return hasNext() ? next() : getColumnName(getColumnCount());
    }
}
class Half extends absent.Parent implements Iterator<String> {
    public boolean hasNext() {
        return false;
    }
    String second() {
        this.hasNext("name");
        return next();
    }
}
class Wrapped extends absent.Parent implements Wrapper, Iterable<String> {
    String third() throws SQLException {
        Iterator<String> all = iterator();
        return isWrapperFor(String.class) ? unwrap(String.class) : all.hasNext() ? all.next() : "none";
    }
}
abstract class Typed<T> implements Iterable<T>, Comparable<Typed<T>> {
    T fourth() {
        return compareTo(this) > 3 ? iterator().next() : null;
    }
}
"""


@pytest.mark.parametrize("name", ["Lacking.first", "Half.second", "Wrapped.third"])
def test_what_a_class_inherits_without_a_body_is_made_up(run_java: Runner, name: str) -> None:
    execution = run_java(LACKING, name, states=40)
    assert execution.loaded, execution.load_detail
    assert {output.outcome for output in execution.outputs} == {"returned"}
    assert any(output.value for output in execution.outputs)


def test_bodies_agree_with_the_types_of_a_class(run_java: Runner) -> None:
    execution = run_java(LACKING, "Typed.fourth", states=60)
    assert execution.loaded, execution.load_detail
    assert {line for output in execution.outputs for line in output.lines} >= set(execution.executable_lines)
    assert any(output.value for output in execution.outputs)


OPEN = """import java.util.*;
import javax.xml.parsers.SAXParser;
import static absent.Library.LIBRARY;
class Open {
    static final Map<String, Integer> SIZES = new HashMap<>();
    static {
        SIZES.put("ge" + "nerous".length(), 3);
    }
    static String ask(SAXParser parser) {
        return parser.isNamespaceAware() ? "aware" : "unaware";
    }
    static int size(String name) {
        Integer found = SIZES.get(name);
        return found == null ? absent.Texts.hashCode(name, 1) : LIBRARY.weight(found);
    }
}
"""


@pytest.mark.parametrize("name", ["Open.ask", "Open.size"])
def test_what_the_platform_leaves_open_and_what_containers_hold_is_met(run_java: Runner, name: str) -> None:
    execution = run_java(OPEN, name, states=200)
    assert execution.loaded, execution.load_detail
    paths = {call["path"] for output in execution.outputs for call in output.calls}  # type: ignore[index,call-overload]
    expected = (
        {"SAXParser.isNamespaceAware"} if name == "Open.ask" else {"Texts.hashCode", "MadeLibrary.weight"}
    )
    assert paths == expected


LARGE = """class Large {
    String first = "a word that comes again ".repeat(10);
    String second = first + first;
    int last;
    int next() {
        return last + 1;
    }
}
"""


def test_large_receivers_are_told_apart_by_what_is_not_shown(run_java: Runner) -> None:
    execution = run_java(LARGE, "Large.next", states=60)
    shown = {shown[0]: output.value for shown, output in zip(execution.shown, execution.outputs, strict=True)}
    assert any("... #" in text for text in shown)
    assert len(shown) >= len({output.value for output in execution.outputs}) > 3


REFLECTED = """import java.lang.reflect.*;
class Reflected {
    static String about(Method method, Constructor<?> constructor) {
        if (method.getParameterCount() == 0) {
            return method.getReturnType().getSimpleName();
        }
        return Modifier.isStatic(method.getModifiers()) ? constructor.getDeclaringClass().getName() : "bound";
    }
}
"""


def test_methods_and_constructors_are_given_to_code_that_reflects(run_java: Runner) -> None:
    execution = run_java(REFLECTED, "Reflected.about", states=60)
    assert {line for output in execution.outputs for line in output.lines} >= set(execution.executable_lines)
    assert len({output.value for output in execution.outputs if output.outcome == "returned"}) > 3


MISSING_PARENT = """import absent.Filter;
import absent.Reader;
class MissingParent {
    static Filter<String> above(final int limit) {
        return new Filter<String>() {
            public boolean isOut(String text) {
                return text == null || text.length() > limit;
            }

            private int unseen() {
                throw new IllegalStateException();
            }
        };
    }
}
"""


def test_methods_of_anonymous_classes_with_a_missing_parent_are_called(run_java: Runner) -> None:
    execution = run_java(MISSING_PARENT, "MissingParent.above", states=60)
    assert execution.loaded, execution.load_detail
    calls = [call for output in execution.outputs for call in output.calls]
    assert {call["path"] for call in calls} == {"new ", "call of Filter.isOut"}
    assert {str(call["arguments"]) for call in calls} >= {"[None, True]"}


BOTH = """import java.io.Closeable;
class Both {
    static String closed(Closeable one) throws java.io.IOException {
        String kind = "none";
        if (one != null) {
            kind = ((absent.Traced) one).kind();
            one.close();
        }
        return kind;
    }
    static boolean isOfTheDisk(absent.Store store) {
        try {
            store.keep();
            return false;
        } catch (IllegalStateException e) {
            if (e.getCause() instanceof java.io.IOException) {
                return true;
            }
            throw e;
        }
    }
    static String home(ClassLoader loader) {
        try {
            return loader.getParent() == null ? "top" : "below";
        } catch (SecurityException e) {
            return "secret";
        }
    }
    static void wire(absent.Bus bus, java.util.Map<String, Integer> sizes) {
        bus.onName(new absent.Named() {
            public void named(String name) {
                bus.tell(sizes.get(name).intValue() + 1);
            }
        });
    }
}
"""


def test_a_value_is_of_a_missing_class_and_has_an_interface(run_java: Runner) -> None:
    execution = run_java(BOTH, "Both.closed", states=60)
    returned = [output for output in execution.outputs if output.outcome == "returned"]
    paths = {call["path"] for output in returned for call in output.calls}  # type: ignore[index,call-overload]
    assert {"Traced.kind", "Traced_Closeable.close"} <= paths


def test_exceptions_have_causes_that_code_asks_after(run_java: Runner) -> None:
    values = {str(output.value) for output in run_java(BOTH, "Both.isOfTheDisk", states=300).outputs}
    assert {"True", "False"} <= values


def test_a_call_of_the_platform_may_be_forbidden(run_java: Runner) -> None:
    values = {str(output.value) for output in run_java(BOTH, "Both.home", states=200).outputs}
    assert any("secret" in value for value in values)
    assert any("top" in value or "below" in value for value in values)


def test_a_listener_that_misuses_what_it_is_given_is_left(run_java: Runner) -> None:
    execution = run_java(BOTH, "Both.wire", states=60)
    returned = [output for output in execution.outputs if output.outcome == "returned"]
    assert len(returned) > len(execution.outputs) // 2


COPIED = """class Copied extends absent.Base {
    private java.util.List<String> names = new java.util.ArrayList<>();
    public Object clone() {
        Copied copy = (Copied) super.clone();
        copy.names = new java.util.ArrayList<>(names);
        copy.names.add("copied");
        return copy;
    }
}
"""


def test_a_missing_parent_copies_the_object(run_java: Runner) -> None:
    returned = [
        output
        for output in run_java(COPIED, "Copied.clone", states=24).outputs
        if output.outcome == "returned"
    ]
    assert len(returned) > 6
    assert sum("copied" in str(output.value) for output in returned) > 6
