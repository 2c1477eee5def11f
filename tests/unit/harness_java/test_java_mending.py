"""Files of Java whose gaps are mended, and what the made-up parts answer there."""

from __future__ import annotations

import pytest

from pytest_funcmem.harness.outputs import validity
from tests.unit.harness_java.conftest import Runner

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

THROWN = """package shop;
import static org.absent.Complaints.tooFew;
class Thrown {
    static int check(int count) {
        if (count < 3) { throw tooFew(); }
        return count;
    }
}
"""


def test_what_a_missing_method_makes_can_be_thrown(run_java: Runner) -> None:
    execution = run_java(THROWN, "Thrown.check", states=30)
    assert execution.loaded, execution.load_detail
    assert {output.outcome for output in execution.outputs} == {"returned", "raised"}


CHAINED = """package shop;
import java.io.*;
import org.absent.Marks;
class Chained extends FilterInputStream {
    private int seen;
    Chained(InputStream in) { this(in, Marks.FIRST.also(3)); }
    Chained(InputStream in, int seen) { super(in); this.seen = seen; }
    int count(int more) { return seen > 2 ? more : more + 1; }
}
"""


def test_a_constructor_that_is_made_up_calls_its_parent(run_java: Runner) -> None:
    execution = run_java(CHAINED, "Chained.count", states=30)
    assert execution.loaded, execution.load_detail
    assert any(output.outcome == "returned" for output in execution.outputs)


SHARED = """package shop;
import org.absent.Words;
import org.absent.Phrases;
class Shared implements Words, Phrases {
    String pick(int way) {
        return way > 2 ? Words.GREETING : GREETING + way;
    }
    int other() { return FAREWELL.length(); }
}
"""


def test_a_name_that_two_missing_interfaces_could_have_belongs_to_one(run_java: Runner) -> None:
    execution = run_java(SHARED, "Shared.pick", states=30)
    assert execution.loaded, execution.load_detail
    assert len({str(output.value) for output in execution.outputs if validity(output, output)[0]}) > 1


KINDS = """package shop;
import org.absent.Kind;
class Kinds {
    static String name(Kind kind, Object one) {
        String text = "none";
        if (kind == Kind.SMALL) { text = "small"; }
        if (kind == Kind.LARGE) { text = "large"; }
        if (kind == Kind.ODD) { text = "odd"; }
        if (isWhole(one)) { return text + " whole"; }
        return text + " " + (one instanceof Character);
    }
    private static boolean isWhole(Object one) { return one != null && one.getClass() == Short.class; }
}
"""


def test_constants_of_missing_classes_are_met_again_and_any_object_may_be_any_number(
    run_java: Runner,
) -> None:
    execution = run_java(KINDS, "Kinds.name", states=150)
    assert execution.loaded, execution.load_detail
    values = {str(output.value) for output in execution.outputs if output.outcome == "returned"}
    assert {value.split()[0] for value in values} == {"small", "large", "odd", "none"}
    assert {value.split()[1] for value in values} == {"whole", "true", "false"}


SAME = """import java.util.*;
class Same {
    static List<String> copy(List<String> items, boolean fresh) {
        return fresh ? new ArrayList<>(items) : items;
    }
}
"""


def test_an_argument_that_comes_back_is_no_copy_of_it(run_java: Runner) -> None:
    execution = run_java(SAME, "Same.copy", states=40)
    found = {
        (shown[1], output.value == ["opaque", "argument 0"])
        for shown, output in zip(execution.shown, execution.outputs, strict=True)
        if output.outcome == "returned" and shown[0] != "null"
    }
    assert found == {("true", False), ("false", True)}


OWN = """import java.util.*;
class Own extends ArrayList<String> {
    int much(int more) { return size() + more; }
}
"""


def test_a_collection_of_the_file_is_filled_and_shows_what_it_holds(run_java: Runner) -> None:
    execution = run_java(OWN, "Own.much", states=60)
    assert len({shown[0] for shown in execution.shown if shown}) > 3
    assert all(shown[0].startswith("Own{[") for shown in execution.shown if shown)


BODIES = """package shop;
enum Bodies {
    PLAIN { int worth(int n) { return n; } },
    DOUBLE { int worth(int n) { return n > 2 ? 2 * n : n - 1; } };
    abstract int worth(int n);
}
"""


def test_a_method_of_one_constant_is_called_on_that_constant(run_java: Runner) -> None:
    execution = run_java(BODIES, "DOUBLE.worth", states=30)
    assert execution.loaded, execution.load_detail
    for shown, output in zip(execution.shown, execution.outputs, strict=True):
        number = int(shown[1])
        assert output.value == (2 * number if number > 2 else number - 1) or abs(number) > 1 << 29


OVERRIDING = """package shop;
import org.absent.Task;
import org.absent.Pool;
class Overriding {
    static int go(Pool pool, int n) {
        pool.add(new Task() {
            @Override
            public void run(String name) { pool.remove(name); }
        });
        return n + 1;
    }
}
"""


def test_a_missing_parent_has_what_is_said_to_override_it(run_java: Runner) -> None:
    execution = run_java(OVERRIDING, "Overriding.go", states=20)
    assert execution.loaded, execution.load_detail
    assert any(output.outcome == "returned" for output in execution.outputs)


FACTORIES = """import java.security.MessageDigest;
import java.text.NumberFormat;
import javax.crypto.Mac;
class Factories {
    static String all(MessageDigest digest, Mac mac, NumberFormat format, java.time.DayOfWeek day) {
        mac.update(digest.digest(new byte[3]));
        return mac.doFinal().length + format.format(3) + day;
    }
}
"""


def test_objects_of_the_platform_come_from_their_factories(run_java: Runner) -> None:
    execution = run_java(FACTORIES, "Factories.all", states=40)
    assert sum(output.outcome == "returned" for output in execution.outputs) > 20


PROXIED = """import java.lang.reflect.*;
import java.sql.Connection;
import absent.*;
class Proxied {
    static class Guard extends Delegating {
        Guard(Connection inner) {
            super(inner);
        }
    }
    static Object watched(InvocationHandler handler, Connection inner) {
        Connection guarded = inner == null ? null : new Guard(inner);
        ClassLoader loader = Listener.class.getClassLoader();
        Object listener = Proxy.newProxyInstance(loader, new Class<?>[] {Listener.class}, handler);
        return guarded == null ? "none" : Proxy.isProxyClass(listener.getClass());
    }
}
"""


def test_what_is_made_up_becomes_what_its_places_ask_for(run_java: Runner) -> None:
    execution = run_java(PROXIED, "Proxied.watched", states=60)
    assert execution.loaded, execution.load_detail
    assert {output.value for output in execution.outputs if output.outcome == "returned"} >= {"none", True}


LOOPED = """import absent.Elements;
class Looped {
    static int longest(Elements all) {
        int longest = -1;
        for (String one : all) {
            longest = Math.max(longest, one.length());
        }
        return longest;
    }
}
"""


def test_what_a_loop_goes_over_has_items(run_java: Runner) -> None:
    execution = run_java(LOOPED, "Looped.longest", states=60)
    assert execution.loaded, execution.load_detail
    assert len({output.value for output in execution.outputs if output.outcome == "returned"}) > 3


HELD = """import absent.*;
class Held extends Absent {
    private final int limit;
    Held(Settings settings, int limit) {
        super(settings.NAME);
        this.limit = limit < 0 ? 7 : limit + 7;
    }
    int upTo(String name) {
        for (int place = 0; place < stack.size() && place < limit; place++) {
            Element one = stack.get(place);
            if (one.name().equals(name) || name.equals(Settings.FIRST)) {
                return place;
            }
        }
        return limit;
    }
}
"""


def test_items_constants_and_constructors_are_what_code_says_of_them(run_java: Runner) -> None:
    execution = run_java(HELD, "Held.upTo", states=150)
    assert execution.loaded, execution.load_detail
    assert sum(shown[0].startswith("Held{limit=7,") for shown in execution.shown) > 3
    assert {output.value for output in execution.outputs if output.outcome == "returned"} >= {0, 7}
    assert any(
        '"FIRST"' in shown[1] and output.value == 0
        for shown, output in zip(execution.shown, execution.outputs, strict=True)
    )


REDECLARED = """import absent.*;
class Redeclared extends Content {
    Element parent;
    public Object clone() {
        Redeclared next = (Redeclared) super.clone();
        return next == null ? "none" : "copied";
    }
    String without(java.sql.SQLException why) {
        parent.remove();
        return why == null ? "fine" : why.getNextException() == null ? "one" : "more";
    }
}
"""


def test_missing_parents_declare_methods_as_the_file_overrides_them(run_java: Runner) -> None:
    execution = run_java(REDECLARED, "Redeclared.clone", states=40)
    assert execution.loaded, execution.load_detail
    assert {output.value for output in execution.outputs if output.outcome == "returned"} >= {"none"}
    execution = run_java(REDECLARED, "Redeclared.without", states=60)
    assert execution.loaded, execution.load_detail
    assert {output.value for output in execution.outputs if output.outcome == "returned"} == {"fine", "one"}
