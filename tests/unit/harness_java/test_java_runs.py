"""What running Java functions in their sandbox gives: made-up types, effects, exceptions, hostile code."""

from __future__ import annotations

import pytest

from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import Inconclusive, InputState
from pytest_funcmem.harness.compiled.java.toolkit import JavaToolkit
from pytest_funcmem.harness.compiled.toolkit import Prepared
from pytest_funcmem.harness.execution import original_program, spliced_program
from pytest_funcmem.harness.outputs import same_output, validity
from tests.unit.harness_java.conftest import Runner, function_of

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

MISSING = """package shop;
import org.absent.Client;
import static org.absent.Rules.limit;

public class Orders extends org.absent.Base {
    private Client client;
    private int seen;

    @org.absent.Traced
    String check(String name, int count) throws org.absent.GoneException {
        if (client.isOpen(name) && count > limit(count)) {
            seen++;
            return client.lookup(name).getTitle().trim();
        }
        switch (getMode()) {
            case Client.FAST: return "fast";
            default: break;
        }
        if (count == 77) {
            throw new org.absent.GoneException("gone " + name);
        }
        return null;
    }
}
"""


def test_missing_types_are_made_up_and_their_calls_logged(run_java: Runner) -> None:
    execution = run_java(MISSING, "Orders.check", states=150)
    assert execution.loaded, execution.load_detail
    valid = [output for output in execution.outputs if validity(output, output)[0]]
    assert len(valid) >= 10
    paths = {call["path"] for output in valid for call in output.calls}
    assert {"Client.isOpen", "Rules.limit", "Base.getMode"} <= paths
    assert {output.value for output in valid} >= {None, "fast"}
    assert any(execution.made_up)


WORLD = """import java.util.*;
class World {
    static int calls;
    List<String> names = new ArrayList<>();
    String look(int[] xs, String name) {
        calls++;
        xs = xs == null ? new int[1] : xs;
        if (xs.length > 0) xs[0] = 5;
        names.add(name);
        System.out.println("hello");
        return System.currentTimeMillis() + " " + new Random().nextInt() + " " + new Object() + Math.random();
    }
}
"""


def test_effects_are_recorded_and_clock_and_chance_stand_still(run_java: Runner) -> None:
    first, again = (run_java(WORLD, "World.look", states=10) for _ in range(2))
    assert first.loaded, first.load_detail
    for one, two in zip(first.outputs, again.outputs, strict=True):
        assert same_output(one, two, float_tolerance=0.0)
    valid = [output for output in first.outputs if output.outcome == "returned"]
    assert valid
    assert all(output.stdout == "hello\n" for output in valid)
    # In some states the variable holds another number than the file gives it.
    assert {"World.calls": 1} in [output.module_globals for output in valid]
    assert all(list(output.module_globals) == ["World.calls"] for output in valid)
    assert all(str(output.value).startswith("1600000000000 ") for output in valid)
    assert any(output.arguments.get("0") not in (None, ["unchanged"]) for output in valid)
    assert any(output.receiver != ["unchanged"] for output in valid)


CHANCE = """import java.security.SecureRandom;
import java.time.*;
import java.util.*;
import java.util.concurrent.ThreadLocalRandom;
class Token {
    private final SecureRandom generator = new SecureRandom();
    String make(int length, boolean strong) throws Exception {
        byte[] bytes = new byte[4 + (length & 7)];
        SecureRandom used = strong ? SecureRandom.getInstance("SHA1PRNG") : generator;
        used.nextBytes(bytes);
        bytes[0] = (byte) new SecureRandom(bytes).nextInt(50);
        int own = ThreadLocalRandom.current().nextInt(10, 20);
        long now = Clock.systemUTC().millis() + new GregorianCalendar().getTimeInMillis();
        LocalTime time = LocalTime.now();
        ZonedDateTime there = ZonedDateTime.now(ZoneId.of("Asia/Tokyo"));
        Calendar calendar = Calendar.getInstance(TimeZone.getTimeZone("UTC"));
        return Arrays.toString(bytes) + own + " " + now + time + there + calendar.getTimeInMillis();
    }
}
"""


def test_whoever_asks_for_chance_or_the_time_is_told_by_the_state(run_java: Runner) -> None:
    first, again = (run_java(CHANCE, "Token.make", states=12) for _ in range(2))
    assert first.loaded, first.load_detail
    texts = [str(output.value) for output in first.outputs if output.outcome == "returned"]
    assert first.outputs == again.outputs
    assert len(set(texts)) == len(texts) == 12
    assert all(
        text.partition(" ")[2] == "320000000000012:26:402020-09-13T21:26:40+09:00[Asia/Tokyo]1600000000000"
        for text in (text[text.index("]") :] for text in texts)
    )


RAISING = """class Raising {
    static int pick(int way, String s) {
        switch (Math.abs(way) % 5) {
            case 0: throw new NullPointerException("meant");
            case 1: return ((String) null).length();
            case 2: return 1 / (way - way);
            case 3: return Integer.parseInt("x");
            default: throw new IllegalArgumentException("no " + way);
        }
    }
}
"""


def test_an_exception_is_its_own_only_if_its_code_raised_it(run_java: Runner) -> None:
    execution = run_java(RAISING, "Raising.pick", states=40)
    found = {
        (output.exception["type"].rpartition(".")[2], output.exception["own"])
        for output in execution.outputs
        if output.exception is not None
    }
    assert found == {
        ("NullPointerException", True),
        ("NullPointerException", False),
        ("ArithmeticException", False),
        ("NumberFormatException", False),
        ("IllegalArgumentException", True),
    }


HOSTILE = """class Hostile {
    static String state = "";
    static int go(int way) {
        state += "x";
        return state.length();
    }
}
"""
ATTACKS = {
    "endless": "while (true) { }",
    "deaf": "while (true) { try { while (true) { } } catch (Throwable t) { } }",
    "hungry": "var all = new java.util.ArrayList<long[]>(); while (true) all.add(new long[1 << 20]);",
    "leaving": "Runtime.getRuntime().halt(3); return 0;",
    "flooding": "while (true) System.out.println(state);",
    "deep": "return go(way);",
}


def test_a_hostile_state_does_not_spoil_the_next_program(java_sandbox: Sandbox) -> None:
    toolkit = JavaToolkit()
    function = function_of(HOSTILE, "Hostile.go")
    prepared = toolkit.prepare(function, java_sandbox, check_time=lambda: None)
    assert isinstance(prepared, Prepared), prepared
    programs = []
    for body in ATTACKS.values():
        code = f"static int go(int way) {{ {body} }}"
        programs += [spliced_program(function, prepared.scaffold, code)]
        programs += [original_program(function, prepared.scaffold)]
    programs.append(
        spliced_program(function, prepared.scaffold, "static int go(int way) { return nothing; }")
    )
    state = InputState(seed=1)
    runs = toolkit.execute(
        java_sandbox, programs, [[state]] * len(programs), coverage=False, state_timeout_s=5.0
    )
    for attack, honest in zip(runs[:-1:2], runs[1::2], strict=True):
        assert attack.loaded
        assert attack.outputs[0].outcome in ("timeout", "memory", "missing", "raised")
        assert honest.outputs[0].value == 1
    assert not runs[-1].loaded
    assert "cannot find symbol" in runs[-1].load_detail


def test_a_function_that_cannot_compile_is_inconclusive(java_sandbox: Sandbox) -> None:
    text = 'class Broken { int f(int x) { int y = "text"; return y; } }'
    answer = JavaToolkit().prepare(function_of(text, "Broken.f"), java_sandbox, check_time=lambda: None)
    assert isinstance(answer, Inconclusive)
    assert answer.reason == "load_failed"
    assert "incompatible types" in answer.detail


LEAKING = """import java.util.*;
import java.util.concurrent.atomic.*;
class Leaking {
    enum Kind { ONE; int seen; }
    static class Holder { static final Holder ONLY = new Holder(); int seen; }
    static final AtomicInteger COUNT = new AtomicInteger();
    static final int[] CELLS = {0};
    static final Map<String, Integer> MAP = new HashMap<>();
    static final ThreadLocal<int[]> LOCAL = ThreadLocal.withInitial(() -> new int[1]);
    static final Random RANDOM = new Random(7);
    static final Iterator<Integer> ITEMS = List.of(1, 2, 3, 4, 5, 6, 7, 8).iterator();
    static String go(int way) {
        switch (way) {
            case 0: return "" + ++Kind.ONE.seen;
            case 1: return "" + ++Holder.ONLY.seen;
            case 2: return "" + COUNT.incrementAndGet();
            case 3: return "" + ++CELLS[0];
            case 4: return "" + MAP.merge("x", 1, Integer::sum);
            case 5: return "" + ++LOCAL.get()[0];
            case 6: return "" + RANDOM.nextInt(1000);
            case 7: return "" + ITEMS.next();
            default: return "" + way;
        }
    }
}
"""


def test_no_state_meets_what_another_left_in_the_classes(java_sandbox: Sandbox) -> None:
    toolkit = JavaToolkit()
    function = function_of(LEAKING, "Leaking.go")
    prepared = toolkit.prepare(function, java_sandbox, check_time=lambda: None)
    assert isinstance(prepared, Prepared), prepared
    # Numbers of the body come first among the choices: the place of each is found by asking for all.
    states = [InputState(seed=1, choices=(place,)) for place in range(12)] * 3
    program = original_program(function, prepared.scaffold)
    (run,) = toolkit.execute(java_sandbox, [program], [states], coverage=False, state_timeout_s=5.0)
    values = [output.value for output in run.outputs]
    assert values[:12] == values[12:24] == values[24:]
    assert {shown[0] for shown in run.shown} >= {str(way) for way in range(8)}


KEEPING = """import java.util.*;
class Keeping {
    static final Map<String, Integer> WORTH = new HashMap<>();
    static int loads;
    static { WORTH.put("a", 1); loads = new Object() { int much() { return 1; } }.much(); }
    static int go(int way) {
        if (way % 3 == 0) loads++;
        return loads + WORTH.get("a");
    }
}
"""


def test_classes_that_were_changed_are_loaded_again(run_java: Runner) -> None:
    execution = run_java(KEEPING, "Keeping.go", states=40)
    found = {
        (int(shown[0]) % 3 == 0, output.value)
        for shown, output in zip(execution.shown, execution.outputs, strict=True)
        if len(shown) == 1  # what the variable holds is not the state's
    }
    assert found == {(True, 3), (False, 2)}
