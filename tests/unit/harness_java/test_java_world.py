"""What Java functions find around themselves, and what may go wrong there."""

from __future__ import annotations

import pytest

from tests.unit.harness_java.conftest import Runner

pytestmark = [pytest.mark.docker, pytest.mark.slow_images]

FILES = """import java.io.*;
class Files {
    static String first(File file) throws IOException {
        if (file.isDirectory()) {
            return "directory";
        }
        BufferedReader reader = new BufferedReader(new FileReader(file));
        String line = reader.readLine();
        reader.close();
        return line == null ? "empty" : "line " + line;
    }
}
"""


def test_files_that_a_state_is_given_hold_what_its_inputs_show(run_java: Runner) -> None:
    execution = run_java(FILES, "Files.first", states=120)
    assert execution.loaded, execution.load_detail
    returned = [
        (output.value, shown)
        for output, shown in zip(execution.outputs, execution.shown, strict=True)
        if output.outcome == "returned"
    ]
    assert {"directory", "line one 1"} <= {value for value, _ in returned}
    others = [
        (value, shown) for value, shown in returned if value not in ("directory", "empty", "line one 1")
    ]
    assert len({value for value, _ in others}) > 5
    assert all(any(one.startswith("file ") for one in shown) for _, shown in others)
    # What was made for a state is nothing that the function did.
    assert all(not output.files for output in execution.outputs)


RESOURCES = """import java.io.*;
import java.util.*;
class Resources {
    static final ResourceBundle TEXTS = ResourceBundle.getBundle("texts");
    static { System.loadLibrary("native"); }
    static native int count(int n);
    static String look(String name, ClassLoader loader) throws IOException {
        InputStream stream = Resources.class.getResourceAsStream("/" + name);
        if (stream == null) {
            if (loader == null) {
                return TEXTS.getString("none");
            }
            return loader.getResource(name) == null ? "lost" : "beside";
        }
        Properties read = new Properties();
        read.load(stream);
        return "read " + read.size() + " " + count(2);
    }
}
"""


def test_resources_and_libraries_are_made_up(run_java: Runner) -> None:
    execution = run_java(RESOURCES, "Resources.look", states=400)
    assert execution.loaded, execution.load_detail
    values = {output.value for output in execution.outputs if isinstance(output.value, str)}
    assert {"none", "lost", "beside"} <= values
    assert len({value for value in values if value.startswith("read ")}) > 5


CATCHING = """import java.io.*;
import java.lang.reflect.*;
class Catching {
    static String copy(byte[] bytes, Method method, Object on) {
        StringBuilder seen = new StringBuilder();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try {
            out.write(bytes == null ? new byte[1] : bytes);
            seen.append("written ");
        } catch (IOException exc) {
            seen.append("full ");
        }
        try {
            seen.append(method.invoke(on) == null ? "null" : "value");
        } catch (InvocationTargetException exc) {
            seen.append("inside");
        } catch (IllegalAccessException | RuntimeException exc) {
            seen.append(exc instanceof IllegalAccessException ? "closed" : "wrong");
        }
        return seen.toString();
    }
}
"""


def test_what_the_platform_may_raise_is_raised_in_some_states(run_java: Runner) -> None:
    execution = run_java(CATCHING, "Catching.copy", states=200)
    assert execution.loaded, execution.load_detail
    words = {word for output in execution.outputs for word in str(output.value).split()}
    assert words >= {"written", "full", "inside", "closed", "wrong"}
    failed = [output for output in execution.outputs if "full" in str(output.value)]
    assert all(
        [call["path"] for call in output.calls] == ["failure: java.io.IOException"] for output in failed
    )


BROUGHT_UP = """import java.util.*;
class BroughtUp {
    static final String FIRST = "first";
    static final List<String> LOADED = load(null);
    static int count;
    static {
        int begun = 3;
        for (int i = 0; i < begun; i++) {
            count += i;
        }
    }
    static final int PARSED = Integer.parseInt("none");
    static final Map<String, String> LAST = new TreeMap<>(Map.of("a", "b"));
    static List<String> load(String name) {
        return List.of(name.trim());
    }
    static String all(int n) {
        String loaded = LOADED == null ? " " : " list ";
        return FIRST + loaded + count + " " + PARSED + " " + LAST.get("a") + (n > 3);
    }
}
"""


def test_a_static_initialiser_goes_on_behind_what_raises(run_java: Runner) -> None:
    execution = run_java(BROUGHT_UP, "BroughtUp.all", states=30)
    assert execution.loaded, execution.load_detail
    assert {output.outcome for output in execution.outputs} == {"returned"}
    values = {str(output.value).removesuffix("true").removesuffix("false") for output in execution.outputs}
    assert values <= {"first list 3 0 b", "first 3 0 b"}
    assert "first list 3 0 b" in values


ANNOTATED = """import java.lang.reflect.*;
import absent.Wanted;
import absent.Named;
class Annotated {
    static String wanted(Class<?> type) {
        StringBuilder out = new StringBuilder();
        for (Field field : type.getDeclaredFields()) {
            if (field.isAnnotationPresent(Wanted.class)) {
                Named named = field.getAnnotation(Named.class);
                out.append(named == null ? "unnamed " : "named " + named.value().length() + " ");
            }
        }
        return out.toString();
    }
}
"""


def test_what_bears_annotations_that_are_missing_is_made_up(run_java: Runner) -> None:
    execution = run_java(ANNOTATED, "Annotated.wanted", states=120)
    assert execution.loaded, execution.load_detail
    words = {word for output in execution.outputs for word in str(output.value).split()}
    assert words >= {"unnamed", "named"}


SETTINGS = """class Settings {
    static String of(String other) {
        String home = System.getProperty("settings.home");
        String place = System.getenv("SETTINGS_PLACE");
        if (home != null && home.equals(System.getProperty("settings.home", "x"))) {
            return "home";
        }
        if (place != null) {
            return "place";
        }
        if (Boolean.getBoolean("settings.verbose")) {
            return "verbose";
        }
        return System.getProperty("settings.other", other) == other ? "none" : "other";
    }
}
"""


def test_properties_and_the_environment_say_something_in_some_states(run_java: Runner) -> None:
    outputs = run_java(SETTINGS, "Settings.of", states=150).outputs
    assert {output.value for output in outputs} == {"home", "place", "verbose", "other", "none"}
    noted = {(call["path"], *call["arguments"]) for output in outputs for call in output.calls}  # type: ignore[index,call-overload,misc]
    assert ("property", "settings.home") in noted
    assert ("variable", "SETTINGS_PLACE") in noted
