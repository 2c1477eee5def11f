package funcmem.harness;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** A scaffold: what stands before and after a function in its file, what is made up, and the plan. */
final class Program {
    final String before;
    final String after;
    final Map<String, String> stubs = new TreeMap<>();
    final Plan plan;

    Program(Map<String, String> files) {
        before = files.getOrDefault("before.java", "");
        after = files.getOrDefault("after.java", "");
        plan = Plan.read(files.getOrDefault("plan", ""));
        files.forEach((name, text) -> {
            if (name.startsWith("stubs/")) {
                stubs.put(name, text);
            }
        });
    }

    /** Compile a function into the scaffold and instrument it. */
    Built build(String code) {
        Built built = new Built();
        built.firstLine = 1 + (int) before.chars().filter(c -> c == '\n').count();
        built.lastLine = built.firstLine + (int) code.chars().filter(c -> c == '\n').count();
        Compilation.Classes compiled = Compilation.compile(plan.path, before + code + after, stubs);
        if (!compiled.complaint().isEmpty()) {
            built.problem = compiled.complaint();
            return built;
        }
        Set<String> internal = Compilation.internalNames(compiled.stubs());
        Set<String> written = Compilation.internalNames(compiled.own());
        Instrumentation own = new Instrumentation(false, written, internal, plan.caught, built.firstLine, built.lastLine);
        Instrumentation made = new Instrumentation(true, written, internal, List.of(), 0, -1);
        try {
            compiled.own().forEach((name, bytes) -> built.classes.put(name, own.rewrite(bytes)));
            compiled.stubs().forEach((name, bytes) -> built.classes.put(name, made.rewrite(bytes)));
        } catch (RuntimeException exc) {
            built.problem = "it cannot be instrumented: " + exc;
            return built;
        }
        built.own.addAll(compiled.own().keySet());
        built.stubs.addAll(compiled.stubs().keySet());
        built.stateful.addAll(own.stateful);
        built.stateful.addAll(made.stateful);
        built.executable.addAll(own.executable);
        built.executable.remove(0);
        return built;
    }

    static String numbers(Iterable<?> values) {
        StringBuilder out = new StringBuilder("[");
        for (Object one : values) {
            out.append(out.length() > 1 ? "," : "").append(one);
        }
        return out.append(']').toString();
    }

    static String texts(List<String> values) {
        StringBuilder out = new StringBuilder("[");
        for (String one : values) {
            out.append(out.length() > 1 ? "," : "").append(Json.quote(one));
        }
        return out.append(']').toString();
    }
}
