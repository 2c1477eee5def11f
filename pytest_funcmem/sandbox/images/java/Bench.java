package funcmem.harness;

import com.sun.tools.javac.api.BasicJavacTask;
import com.sun.tools.javac.code.Symbol;
import com.sun.tools.javac.code.Symtab;
import com.sun.tools.javac.code.Type;
import com.sun.tools.javac.code.Types;
import com.sun.tools.javac.tree.JCTree;
import com.sun.tools.javac.tree.TreeInfo;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** What mending the errors of one round works with: the file, what is made up around it, and edits of the file. */
class Bench {
    final Stubs stubs;
    final JCTree.JCCompilationUnit unit;
    final Types types;
    final Symtab symtab;
    final Uses uses;
    final String packageName;
    final List<Edit> edits;
    /** What this round made up: the same thing is missed at many places. */
    final Set<Object> fresh;

    /** A piece of the file to be replaced. */
    record Edit(int start, int end, String text) {}

    Bench(Stubs stubs, JCTree.JCCompilationUnit unit, BasicJavacTask task) {
        this.stubs = stubs;
        this.unit = unit;
        this.types = Types.instance(task.getContext());
        this.symtab = Symtab.instance(task.getContext());
        this.uses = new Uses(unit);
        this.packageName = unit.getPackageName() == null ? "" : unit.getPackageName().toString();
        this.edits = new ArrayList<>();
        this.fresh = new HashSet<>();
    }

    /** The same bench, for another part of the work. */
    Bench(Bench bench) {
        this.stubs = bench.stubs;
        this.unit = bench.unit;
        this.types = bench.types;
        this.symtab = bench.symtab;
        this.uses = bench.uses;
        this.packageName = bench.packageName;
        this.edits = bench.edits;
        this.fresh = bench.fresh;
    }

    Stubs.StubType stub(Type type) {
        return type == null || type.tsym == null ? null : stubs.find(type.tsym.getQualifiedName().toString());
    }

    Stubs.StubType stub(Symbol symbol) {
        return symbol == null ? null : stubs.find(symbol.getQualifiedName().toString());
    }

    Stubs.StubType inheritedFrom(JCTree tree) {
        for (JCTree one = tree; one != null; one = uses.parent(one)) {
            if (one instanceof JCTree.JCClassDecl declared && declared.sym != null) {
                for (Type type : types.closure(declared.sym.type)) {
                    Stubs.StubType found = stub(type);
                    if (found != null && found.kind != Stubs.Kind.ANNOTATION) {
                        return found;
                    }
                }
            }
        }
        return null;
    }

    /** Names that nothing in sight declares come from a class of which the file imports everything. */
    Stubs.StubType orphanage() {
        String home = packageName.isEmpty() ? "funcmem.made" : packageName;
        Stubs.StubType type = stubs.find(home + ".FuncmemNames");
        if (type == null) {
            type = stubs.add(home, null, "FuncmemNames");
            String line = "import static " + home + ".FuncmemNames.*;";
            int place = unit.getPackage() != null ? TreeInfo.getEndPos(unit.getPackage(), unit.endPositions) : -1;
            edits.add(place > 0 ? new Edit(place - 1, place, "; " + line) : new Edit(0, 0, line));
        }
        return type;
    }

    static boolean isOrphanage(Stubs.StubType type) {
        return type.name.equals("FuncmemNames");
    }

    /** A wanted type, where it stands for one that has to be made up: that one. */
    String fitting(String wanted, String name) {
        if (Uses.FRESH.equals(wanted) || Uses.ENUM.equals(wanted)) {
            String base = name.replaceFirst("^(get|find|create|new|make|build|current|to|as)(?=[A-Z])", "");
            base = base.matches("[A-Z0-9_]+") ? base.charAt(0) + base.substring(1).toLowerCase(java.util.Locale.ROOT) : base;
            base = Character.toUpperCase(base.charAt(0)) + base.substring(1);
            Stubs.StubType type = stubs.add(packageName.isEmpty() ? "funcmem.made" : packageName, null, "Made" + base);
            if (Uses.ENUM.equals(wanted)) {
                type.kind = Stubs.Kind.ENUM;
            }
            return type.qualified();
        }
        return wanted;
    }

    static JCTree strip(JCTree tree) {
        JCTree inner = tree;
        while (inner instanceof JCTree.JCParens parens) {
            inner = parens.expr;
        }
        return inner;
    }

    /** The type of an expression, also where it does not fit its place. */
    static Type typeOf(JCTree tree) {
        JCTree inner = strip(tree);
        Type type = inner instanceof JCTree.JCNewClass created && created.def == null ? created.clazz.type : inner.type;
        return type instanceof Type.ErrorType error && error.getOriginalType() != null ? error.getOriginalType() : type;
    }

    /** The made-up member that an expression asks; null where it asks none. */
    Stubs.Member made(JCTree tree) {
        JCTree inner = strip(tree);
        boolean isMethod = inner instanceof JCTree.JCMethodInvocation;
        Symbol symbol = TreeInfo.symbol(isMethod ? ((JCTree.JCMethodInvocation) inner).meth : inner);
        if (symbol == null || symbol.owner == null) {
            return null;
        }
        Stubs.StubType owner = stub(symbol.owner);
        if (owner == null) {
            return null;
        }
        for (Stubs.Member member : owner.members.values()) {
            if (member.name.contentEquals(symbol.name) && member.isMethod == isMethod) {
                return member;
            }
        }
        return null;
    }

    /** Give a member another type, once in a round: all that is said of it meanwhile is of the type that it had. */
    boolean retype(Stubs.Member member, String type) {
        return fresh.contains(member) || member.retype(type) && fresh.add(member);
    }
}
