package funcmem.harness;

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreeScanner;
import com.sun.tools.javac.api.BasicJavacTask;
import com.sun.tools.javac.api.ClientCodeWrapper;
import com.sun.tools.javac.tree.JCTree;
import com.sun.tools.javac.util.JCDiagnostic;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticListener;
import javax.tools.JavaFileObject;

/**
 * Writes a scaffold around a function: compiles its file, reads off the errors what is missing, makes that up, and
 * tries again. The function's own text is never touched; other members that do not compile are made up.
 */
final class Preparation {
    static final int ROUNDS = 60;
    private static final int PATIENCE = 6;
    private static final List<String> OPTIONS =
            List.of("-XDshould-stop.ifError=FLOW", "-Xdiags:verbose", "-Xmaxerrs", "2000");

    private final String path;
    private final String code;
    private final String name;
    private String before;
    private String after;
    private final Stubs stubs = new Stubs();
    private final Map<String, Integer> attempts = new HashMap<>();
    private final List<Edit> edits = new ArrayList<>();
    private Map<String, String> made = Map.of();
    /** What the file's methods set, before any of them is made up. */
    private Set<String> assigned = Set.of();
    /** Whether abstract classes were looked at, and the file as it was before bodies were written into them. */
    private boolean isWhole;
    private String[] unwritten;

    /** One error of the compiler. */
    record Problem(JCDiagnostic diagnostic, String code, String message, Compilation.Source unit, long line, int position) {}

    /** A piece of the file to be replaced. */
    private record Edit(int start, int end, String text) {}

    Preparation(String path, String whole, int definition, int start, int end, String name) {
        this.path = path;
        this.before = whole.substring(0, start);
        this.code = whole.substring(start, end);
        this.after = whole.substring(end);
        this.name = name;
    }

    /** Gathers the errors of a round. */
    @ClientCodeWrapper.Trusted
    private static final class Complaints implements DiagnosticListener<JavaFileObject> {
        final List<Problem> problems = new ArrayList<>();

        @Override
        public void report(Diagnostic<? extends JavaFileObject> one) {
            if (one.getKind() == Diagnostic.Kind.ERROR && one instanceof JCDiagnostic diagnostic) {
                Compilation.Source unit = one.getSource() instanceof Compilation.Source source ? source : null;
                String message = one.getMessage(Locale.ROOT).lines().findFirst().orElse("");
                problems.add(new Problem(diagnostic, diagnostic.getCode(), message, unit, one.getLineNumber(), (int) one.getPosition()));
            }
        }
    }

    /** The record that tells what came of it. */
    String run() throws Exception {
        String problem = "";
        Reading reading = null;
        for (int round = 0; round < ROUNDS; round++) {
            Complaints complaints = new Complaints();
            Map<String, String> sources = stubs.sources();
            List<Compilation.Source> units = new ArrayList<>();
            Compilation.Source main = new Compilation.Source(path, before + code + after);
            units.add(main);
            sources.forEach((unit, text) -> units.add(new Compilation.Source(unit, text)));
            JavacTask task = Compilation.task(units, new Compilation.Memory(), OPTIONS, complaints);
            JCTree.JCCompilationUnit tree = null;
            for (CompilationUnitTree one : task.parse()) {
                if (one.getSourceFile() == main) {
                    tree = (JCTree.JCCompilationUnit) one;
                }
            }
            reading = new Reading(tree, before.length(), before.length() + code.length(), name);
            if (reading.target == null) {
                return failed("load_failed", complaints.problems.isEmpty() ? "the function is not found in its file"
                        : complaints.problems.get(0).message());
            }
            if (round == 0) {
                assigned = reading.assigned();
            }
            if (round == 0 && blankAnnotations(tree)) {
                continue;
            }
            Reading literal = reading;
            task.analyze();
            if (complaints.problems.isEmpty()) {
                if (!isWhole && writeBodies(tree, (BasicJavacTask) task)) {
                    continue;
                }
                return finished(literal, (BasicJavacTask) task);
            }
            if (unwritten != null) {
                before = unwritten[0];
                after = unwritten[1];
                unwritten = null;
                continue;
            }
            problem = repair(complaints.problems, main, tree, reading, (BasicJavacTask) task, round);
            if (problem != null) {
                return failed(problem.contains("cannot find symbol") || problem.contains("does not exist")
                        ? "missing_dependency" : "load_failed", problem);
            }
            problem = complaints.problems.get(0).message();
        }
        return failed("missing_dependency", "still after " + ROUNDS + " rounds: " + problem);
    }

    static String failed(String reason, String detail) {
        return "{\"kind\":\"prepare\",\"reason\":" + Json.quote(reason) + ",\"detail\":" + Json.quote(detail) + "}";
    }

    /** Write what abstract classes of the file inherit without a body, for objects are made of them; once. */
    private boolean writeBodies(JCTree.JCCompilationUnit tree, BasicJavacTask task) {
        isWhole = true;
        String[] found = {before, after};
        Repair repair = new Repair(stubs, tree, task);
        new TreeScanner<Void, Void>() {
            @Override
            public Void visitClass(com.sun.source.tree.ClassTree node, Void nothing) {
                JCTree.JCClassDecl type = (JCTree.JCClassDecl) node;
                long flags = type.mods.flags;
                boolean isAbstract = (flags & com.sun.tools.javac.code.Flags.ABSTRACT) != 0
                        && (flags & (com.sun.tools.javac.code.Flags.INTERFACE | com.sun.tools.javac.code.Flags.ENUM)) == 0;
                if (isAbstract && type.sym != null) {
                    int last = end(tree, type) - 1;
                    String bodies = String.join(" ", repair.bodies(type.sym));
                    if (!bodies.isEmpty()) {
                        replace(last, last, " " + bodies + " ");
                    }
                }
                return super.visitClass(node, nothing);
            }
        }.scan(tree, null);
        if (apply()) {
            unwritten = found;
            return true;
        }
        return false;
    }

    /** Annotations do not change what code does, and most of their types are missing. */
    private boolean blankAnnotations(JCTree.JCCompilationUnit tree) {
        new TreeScanner<Void, Void>() {
            @Override
            public Void visitAnnotation(com.sun.source.tree.AnnotationTree node, Void nothing) {
                JCTree one = (JCTree) node;
                blank(com.sun.tools.javac.tree.TreeInfo.getStartPos(one), end(tree, one));
                return null;
            }
        }.scan(tree, null);
        return apply();
    }

    private static int end(JCTree.JCCompilationUnit tree, JCTree one) {
        return com.sun.tools.javac.tree.TreeInfo.getEndPos(one, tree.endPositions);
    }

    private boolean isOutside(int start, int end) {
        return start >= 0 && end >= start && (end <= before.length() || start >= before.length() + code.length());
    }

    private void blank(int start, int end) {
        replace(start, end, "");
    }

    private void replace(int start, int end, String text) {
        if (isOutside(start, end)) {
            for (Edit one : edits) {
                if (start < one.end && one.start < end) {
                    return; // edits of one round never overlap
                }
            }
            edits.add(new Edit(start, end, text));
        }
    }

    private boolean apply() {
        boolean changed = !edits.isEmpty();
        edits.sort((a, b) -> Integer.compare(b.start, a.start));
        for (Edit one : edits) {
            boolean isBefore = one.end <= before.length();
            int shift = isBefore ? 0 : before.length() + code.length();
            // What was put in front of the function moves what stands behind it, so those behind come first.
            String part = isBefore ? before : after;
            String old = part.substring(one.start - shift, one.end - shift);
            String lines = "\n".repeat((int) old.chars().filter(c -> c == '\n').count());
            String next = part.substring(0, one.start - shift) + one.text + (one.text.isEmpty() && lines.isEmpty() ? " " : "") + lines
                    + part.substring(one.end - shift);
            if (isBefore) {
                before = next;
            } else {
                after = next;
            }
        }
        edits.clear();
        return changed;
    }

    /** Do something about each error; null, or the error that nothing can be done about. */
    private String repair(List<Problem> problems, Compilation.Source main, JCTree.JCCompilationUnit tree,
            Reading reading, BasicJavacTask task, int round) {
        Repair repair = new Repair(stubs, tree, task);
        boolean changed = false;
        String stubborn = null;
        Map<JCTree, Integer> members = new LinkedHashMap<>();
        Set<String> met = new HashSet<>();
        // What types there are decides what the rest means, so the rest waits for them.
        List<Problem> structural = problems.stream().filter(Repair::isStructural).toList();
        for (List<Problem> some : structural.isEmpty() ? List.of(problems) : List.of(structural, problems)) {
        if (changed) {
            break;
        }
        for (Problem problem : some) {
            if (problem.unit() != main) {
                changed |= problem.unit() != null && repair.inStub(problem);
                stubborn = stubborn == null ? problem.message() : stubborn;
                continue;
            }
            JCTree member = reading.memberAt(problem.position());
            boolean isBody = member != null && reading.isInBody(member, problem.position());
            boolean isTarget = member == reading.target && member != null;
            boolean isLeftOver = problem.code().contains("initialized"); // by what was made up before
            if (isBody && !isTarget && !isLeftOver && !reading.isWanted(member)) {
                members.put(member, PATIENCE);
                continue;
            }
            // Lines and the function's own places stay where they are, whatever is replaced.
            String key = problem.code() + "@" + (isTarget ? problem.position() - before.length() : problem.line()) + problem.message();
            int tries = met.add(key) ? attempts.merge(key, 1, Integer::sum) : attempts.get(key);
            boolean done = tries <= PATIENCE && repair.mend(problem);
            repair.edits().forEach(edit -> replace(edit.start(), edit.end(), edit.text()));
            repair.edits().clear();
            changed |= done;
            if (!done && isBody && !isTarget && !isLeftOver) {
                members.merge(member, PATIENCE, Integer::sum);
            } else if (!done && stubborn == null) {
                stubborn = problem.message();
            }
        }
        }
        for (JCTree member : members.keySet()) {
            blankMember(member, tree, repair.chain(reading.owner(member)));
        }
        changed |= apply();
        return changed ? null : stubborn == null ? problems.get(0).message() : stubborn;
    }

    /** Make a member up: its body, or what it begins with; a constructor calls its parent's as it is told. */
    private void blankMember(JCTree member, JCTree.JCCompilationUnit tree, String chain) {
        if (member instanceof JCTree.JCMethodDecl method && method.body != null) {
            int start = method.body.pos;
            boolean isConstructor = method.restype == null;
            if (!isConstructor) {
                replace(start, end(tree, method.body), "{ throw funcmem.harness.Made.up(); }");
                return;
            }
            com.sun.tools.javac.util.List<JCTree.JCStatement> all = method.body.stats;
            boolean chains = all.nonEmpty() && com.sun.tools.javac.tree.TreeInfo.isSelfCall(all.head);
            // The compiler puts a call of the parent's constructor, which has no place, where there is none.
            boolean rest = chains && all.tail.nonEmpty() && end(tree, all.head) > start;
            replace(rest ? end(tree, all.head) : start + 1, end(tree, method.body) - 1, rest ? " " : " " + chain);
        } else if (member instanceof JCTree.JCVariableDecl variable && variable.init != null) {
            int start = com.sun.tools.javac.tree.TreeInfo.getStartPos(variable.init);
            String type = variable.vartype == null ? "" : variable.vartype.toString();
            String value = type.equals("boolean") ? "false" : Uses.primitive(type) ? "(" + type + ") 0" : "null";
            replace(start, end(tree, variable.init), value);
        } else if (member instanceof JCTree.JCBlock block) {
            int open = (before + code + after).indexOf('{', block.pos); // a static one begins before its brace
            replace(open + 1, end(tree, block) - 1, " ");
        }
    }

    /** The files of the scaffold; none where there is no way to one. */
    Map<String, String> files() throws Exception {
        run();
        return made;
    }

    private String finished(Reading reading, BasicJavacTask task) {
        Plan plan = new Plan();
        plan.path = path;
        reading.fill(plan, task, stubs);
        assigned.stream().filter(plan.names::contains).forEach(plan.assigned::add);
        Map<String, String> files = new TreeMap<>(stubs.sources());
        files.put("before.java", before);
        files.put("after.java", after);
        files.put("plan", plan.write());
        Built built = new Program(files).build(code);
        if (!built.problem.isEmpty()) {
            return failed("load_failed", built.problem);
        }
        made = files;
        StringBuilder out = new StringBuilder("{\"kind\":\"prepare\",\"files\":[");
        int place = 0;
        for (Map.Entry<String, String> file : files.entrySet()) {
            out.append(place++ > 0 ? "," : "").append('[').append(Json.quote(file.getKey())).append(',')
                    .append(Json.quote(file.getValue())).append(']');
        }
        Set<String> mocks = new HashSet<>();
        stubs.types.values().forEach(type -> mocks.add(type.qualified()));
        return out.append("],\"mocks\":").append(Program.texts(mocks.stream().sorted().toList()))
                .append(",\"specials\":").append(plan.numbers.size() + plan.strings.size()).append("}").toString();
    }
}
