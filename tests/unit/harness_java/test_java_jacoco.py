"""Lines that the harness of a Java function says were run, beside what JaCoCo counts for the same calls."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_funcmem.core.protocols import Limits, Sandbox, SandboxTask
from pytest_funcmem.core.records import InputState, SourceFunction
from pytest_funcmem.harness.compiled.java.toolkit import JavaToolkit
from pytest_funcmem.harness.compiled.toolkit import Prepared
from pytest_funcmem.harness.execution import original_program
from pytest_funcmem.languages.java import JavaFrontend

pytestmark = pytest.mark.docker

KIT = JavaToolkit()
FILE = """\
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;

class Lines {
    static int steps(int n) {
        int count = 0;

        while (n > 1 && count < 50) {
            if (n % 2 == 0) {
                n /= 2;
            } else {
                n = (3 * n + 1) & 0xffff;
            }
            count++;
        }
        return count;
    }

    static int kind(int c, String text) {
        // Comments are no lines that run.
        switch (c & 3) {
        case 0:
            return 10;
        case 1:
            c += 2;

            // falls through
        case 2:
            c ^= 5;
            break;
        default:
            if (c < 0)
                return -2;
            c = c > 40
                ? c - 40
                : c;
        }
        if (c > 100 &&
            c < 1000 &&
            (c & 8) != 0) {
            return c &
                255;
        } else if (text.startsWith("a")) {
            c = Math.max(
                text.length(),
                3);
        } else if (text.isEmpty()) { return -2; }
        return c;
    }

    static int words(String text, int least) {
        int found = 0, length = 0;
        outer:
        for (String part : text.split("[,.]")) {
            for (char letter : part.toCharArray()) {
                if (letter == ' ')
                    continue outer;
                if (letter == 'x') {
                    break outer;
                }
                length++;
            }
            do {
                found += length > (least & 3) ? 1 : 0;
            } while (--length > 3);
        }
        return found;
    }

    static String caught(String text, int way) {
        StringBuilder line = new StringBuilder();
        try {
            int value = Integer.parseInt(text);
            line.append(value);
            if (value > way) {
                throw new IllegalStateException("more");
            }
        } catch (NumberFormatException wrong) {
            line.append("none");
        } catch (IllegalStateException more) {
            return more.getMessage();
        } finally {
            line.append(';');
        }
        synchronized (line) {
            switch (text) {
            case "0":
                line.append('0');
                break;
            case "abc":
                return line.reverse().toString();
            }
        }
        return line.toString();
    }

    static List<Integer> chosen(int[] values, int least) {
        List<Integer> found = new ArrayList<>();
        IntPredicate wanted = value -> {
            if (value < least) {
                return false;
            }
            return value % 2 == 0;
        };
        Runnable last = new Runnable() {
            @Override
            public void run() {
                if (found.isEmpty())
                    found.add(-1);
            }
        };
        for (int value : values) {
            if (wanted.test(value))
                found.add(value);
        }
        last.run();
        return found;
    }
}
"""
COUNT = """\
import java.nio.file.*;
import java.util.*;
import org.jacoco.core.analysis.*;
import org.jacoco.core.data.*;
import org.jacoco.core.instr.Instrumenter;
import org.jacoco.core.runtime.*;

class Count {
    public static void main(String[] arguments) throws Exception {
        IRuntime runtime = new LoggerRuntime();
        RuntimeData data = new RuntimeData();
        runtime.startup(data);
        Map<String, byte[]> classes = new TreeMap<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of("plain"), "*.class")) {
            for (Path file : files) {
                classes.put(file.getFileName().toString().replace(".class", ""), Files.readAllBytes(file));
            }
        }
        Map<String, byte[]> instrumented = new TreeMap<>();
        for (Map.Entry<String, byte[]> one : classes.entrySet()) {
            byte[] changed = new Instrumenter(runtime).instrument(one.getValue(), one.getKey());
            instrumented.put(one.getKey(), changed);
        }
        ClassLoader loader = new ClassLoader() {
            @Override
            protected Class<?> findClass(String name) {
                return defineClass(name, instrumented.get(name), 0, instrumented.get(name).length);
            }
        };
        Runnable[] calls = (Runnable[]) loader.loadClass("Calls").getField("ALL").get(null);
        for (Runnable call : calls) {
            data.reset();
            call.run();
            ExecutionDataStore store = new ExecutionDataStore();
            data.collect(store, new SessionInfoStore(), false);
            CoverageBuilder built = new CoverageBuilder();
            Analyzer analyzer = new Analyzer(store, built);
            for (Map.Entry<String, byte[]> one : classes.entrySet()) {
                if (one.getKey().startsWith("Lines")) {
                    analyzer.analyzeClass(one.getValue(), one.getKey());
                }
            }
            StringJoiner counts = new StringJoiner(", ", "{", "}");
            for (ISourceFileCoverage file : built.getSourceFiles()) {
                for (int line = file.getFirstLine(); line <= file.getLastLine(); line++) {
                    ICounter counter = file.getLine(line).getInstructionCounter();
                    if (counter.getTotalCount() > 0) {
                        counts.add("\\"" + line + "\\": " + counter.getCoveredCount());
                    }
                }
            }
            System.out.println(counts);
        }
    }
}
"""
COMMAND = """\
set -e
jars=/usr/share/java/org.jacoco.core.jar:/usr/share/java/asm.jar:/usr/share/java/asm-commons.jar
jars=$jars:/usr/share/java/asm-tree.jar:/usr/share/java/asm-analysis.jar
javac -nowarn -g --release 11 -d plain Lines.java Calls.java
javac -nowarn -cp $jars -d . Count.java
java -Xshare:auto -cp $jars:. Count
"""


@pytest.fixture(scope="module")
def sandbox(docker_engine: None) -> Iterator[Sandbox]:
    """The image for Java with JaCoCo beside."""
    from pytest_funcmem.sandbox.docker_sandbox import DockerSandbox

    packages = ("libjacoco-java",)
    with DockerSandbox(programs=KIT.programs, language="java", workers=1, packages=packages) as opened:
        yield opened


def counted(function: SourceFunction, calls: list[str], sandbox: Sandbox) -> list[dict[int, int]]:
    """For each call, how many instructions JaCoCo saw run on each line, relative to the signature's."""
    items = "".join(f"        () -> {call},\n" for call in calls)
    all_calls = f"    public static final Runnable[] ALL = {{\n{items}    }};\n"
    result = sandbox.run(
        SandboxTask(
            command=("sh", "count.sh"),
            files={
                "Lines.java": FILE.encode(),
                "Calls.java": f"public class Calls {{\n{all_calls}}}\n".encode(),
                "Count.java": COUNT.encode(),
                "count.sh": COMMAND.encode(),
            },
            limits=Limits(wall_s=120.0),
            language="java",
        )
    )
    assert result.exit_code == 0, result.stderr
    runs: list[dict[str, Any]] = [json.loads(line) for line in result.stdout.splitlines()]
    last = function.line + function.code.count("\n")
    return [
        {
            int(line) - function.line: count
            for line, count in run.items()
            if function.line <= int(line) <= last
        }
        for run in runs
    ]


# What is judged otherwise, by line: JaCoCo counts line 17 of "kind", where a value of line 16 is put away by
# code of line 17; it does not see a line that an exception leaves, and leaves out what repeats a "finally".
UNLIKE = {"kind": {17}, "caught": {3, 14}}


@pytest.mark.parametrize("name", ["steps", "kind", "words", "caught", "chosen"])
def test_the_same_lines_are_run_as_jacoco_counts(sandbox: Sandbox, name: str) -> None:
    scan = JavaFrontend().scan(FILE, path="Lines.java")
    function = next(item for item in scan.functions if item.qualname.endswith(name))
    made = KIT.prepare(function, sandbox, check_time=lambda: None)
    assert isinstance(made, Prepared), made
    generator = random.Random(0)
    states = [
        InputState(seed=number, choices=tuple(generator.randrange(4096) for _ in range(24)))
        for number in range(80)
    ]
    (run,) = KIT.execute(
        sandbox, [original_program(function, made.scaffold)], [states], coverage=True, state_timeout_s=5.0
    )
    known = [
        (output, shown)
        for output, shown in zip(run.outputs, run.shown, strict=True)
        if output.outcome == "returned" and not any("..." in one for one in shown)
    ]
    assert len(known) >= 20
    theirs = counted(function, [f"Lines.{name}({', '.join(shown)})" for _, shown in known], sandbox)
    executable = set(run.executable_lines) - UNLIKE.get(name, set())
    assert executable == set(theirs[0]) - UNLIKE.get(name, set())
    for (output, shown), counts in zip(known, theirs, strict=True):
        assert set(output.lines) & executable == {line for line in executable if counts[line]}, shown
    assert {line for output, _ in known for line in output.lines} >= executable, "more states are wanted"
