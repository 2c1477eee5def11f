package funcmem.harness;

import com.sun.tools.javac.code.Flags;
import com.sun.tools.javac.code.Kinds;
import com.sun.tools.javac.code.Symbol;
import com.sun.tools.javac.code.Type;
import com.sun.tools.javac.code.TypeTag;
import com.sun.tools.javac.tree.JCTree;
import com.sun.tools.javac.tree.TreeInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Changes what sort of thing something made up is: a class or an interface, static, a constant, raising. */
final class Shaping extends Bench {
    Shaping(Bench bench) {
        super(bench);
    }

    /** What the place of a type says of it: annotation, exception, interface, number of parameters. */
    void shape(Stubs.StubType type, JCTree place) {
        JCTree parent = uses.parent(place);
        JCTree above = parent == null ? null : uses.parent(parent);
        if (parent instanceof JCTree.JCAnnotation) {
            type.kind = Stubs.Kind.ANNOTATION;
        } else if (type.kind == Stubs.Kind.CLASS && uses.isProxied(type.name)) {
            type.kind = Stubs.Kind.INTERFACE;
        } else if (parent instanceof JCTree.JCTypeApply apply && apply.clazz == place) {
            type.arity = Math.max(type.arity, Math.max(1, apply.arguments.size()));
            parent = above;
            place = apply;
        }
        if (parent instanceof JCTree.JCClassDecl declared) {
            if (declared.implementing.contains(place) || (declared.mods.flags & Flags.INTERFACE) != 0) {
                type.kind = Stubs.Kind.INTERFACE;
            } else if (declared.name.toString().endsWith("Exception") || declared.name.toString().endsWith("Error")) {
                type.superType = "RuntimeException";
            }
        }
        boolean isCaught = parent instanceof JCTree.JCVariableDecl && above instanceof JCTree.JCCatch
                || parent instanceof JCTree.JCTypeUnion
                || parent instanceof JCTree.JCMethodDecl method && method.thrown.contains(place)
                || parent instanceof JCTree.JCNewClass && above instanceof JCTree.JCThrow;
        if (isCaught || type.name.endsWith("Exception")) {
            type.superType = "RuntimeException";
        }
    }

    /** The call of a parent's constructor that takes nothing, or zeros; "" where the compiler makes it by itself. */
    String chain(Symbol.ClassSymbol type) {
        Type parent = types.supertype(type.type);
        if (parent == null || parent.tsym == null || stub(parent) != null || (type.flags() & (Flags.ENUM | Flags.RECORD)) != 0) {
            return "";
        }
        Symbol.MethodSymbol first = null;
        for (Symbol one : parent.tsym.members().getSymbolsByName(type.name.table.names.init)) {
            if (one instanceof Symbol.MethodSymbol method && (method.flags() & Flags.PRIVATE) == 0) {
                if (method.type.getParameterTypes().isEmpty()) {
                    return "";
                }
                boolean isEarlier = first == null || method.toString().compareTo(first.toString()) < 0;
                first = isEarlier ? method : first;
            }
        }
        if (first == null) {
            return "";
        }
        List<String> zeros = new ArrayList<>();
        for (Type one : first.type.getParameterTypes()) {
            String text = types.erasure(one).toString();
            zeros.add(one.hasTag(TypeTag.BOOLEAN) ? "false" : "(" + text + ") " + (one.isPrimitive() ? "0" : "null"));
        }
        return "super(" + String.join(", ", zeros) + "); ";
    }

    /** A method that is said to override one: what is made up above its class has one like it. */
    boolean overridden(JCTree tree) {
        JCTree.JCMethodDecl method = tree instanceof JCTree.JCMethodDecl one ? one : uses.enclosing(tree, JCTree.JCMethodDecl.class);
        JCTree.JCClassDecl around = method == null ? null : uses.enclosing(method, JCTree.JCClassDecl.class);
        if (around == null || around.sym == null || method.sym == null) {
            return false;
        }
        for (Type one : types.closure(around.sym.type)) {
            Stubs.StubType type = stub(one);
            if (type != null && type.kind != Stubs.Kind.ANNOTATION) {
                String text = signature(method.sym, method.sym.type);
                return text != null && type.extra.add("public " + (type.kind == Stubs.Kind.INTERFACE ? "default " : "") + text
                        + " { throw funcmem.harness.Made.up(); }");
            }
        }
        return false;
    }

    /** A method of the file that what is made up above its class declares otherwise: there it is declared likewise. */
    boolean redeclared(JCTree tree) {
        JCTree.JCMethodDecl method = tree instanceof JCTree.JCMethodDecl one ? one : uses.enclosing(tree, JCTree.JCMethodDecl.class);
        JCTree.JCClassDecl around = method == null ? null : uses.enclosing(method, JCTree.JCClassDecl.class);
        boolean changed = false;
        if (around == null || around.sym == null || method.sym == null) {
            return false;
        }
        for (Type one : types.closure(around.sym.type)) {
            Stubs.StubType type = stub(one);
            String text = type == null ? null : signature(method.sym, method.sym.type);
            if (text != null) {
                String head = " " + method.name + "(";
                boolean removed = type.members.values().removeIf(member -> member.isMethod && member.name.contentEquals(method.name))
                        | type.extra.removeIf(other -> other.contains(head));
                changed |= removed && type.extra.add("public " + (type.kind == Stubs.Kind.INTERFACE ? "default " : "") + text
                        + " { throw funcmem.harness.Made.up(); }");
            }
        }
        return changed;
    }

    /** How a method is declared as a class sees it, which what implements it has to agree with; null as below. */
    private String exactly(Symbol.MethodSymbol method, Type seen, boolean isInside) {
        List<String> variables = new ArrayList<>();
        for (Type one : seen.getTypeArguments()) {
            if (!types.isSameType(one.getUpperBound(), symtab.objectType)) {
                return signature(method, seen);
            }
            variables.add(one.toString());
        }
        boolean isWritten = isInside || !variables.isEmpty();
        List<String> parameters = new ArrayList<>();
        for (Type one : seen.getParameterTypes()) {
            String text = isWritten ? one.toString() : uses.text(one);
            if (text == null) {
                return null;
            }
            parameters.add(text + " p" + parameters.size());
        }
        List<String> thrown = new ArrayList<>();
        for (Type one : seen.getThrownTypes()) {
            thrown.add(one.toString());
        }
        Type result = seen.getReturnType();
        String returned = isWritten || result.hasTag(TypeTag.VOID) ? result.toString() : uses.text(result);
        return returned == null ? null : (variables.isEmpty() ? "" : "<" + String.join(", ", variables) + "> ") + returned + " " + method.name
                + "(" + String.join(", ", parameters) + ")" + (thrown.isEmpty() ? "" : " throws " + String.join(", ", thrown));
    }

    /** How a method is declared, without its type parameters; null where a type cannot be written elsewhere. */
    String signature(Symbol.MethodSymbol method, Type seen) {
        List<String> parameters = new ArrayList<>();
        for (Type one : seen.getParameterTypes()) {
            parameters.add(uses.text(types.erasure(one)));
        }
        List<String> thrown = new ArrayList<>();
        for (Type one : method.type.getThrownTypes()) {
            thrown.add(uses.text(one));
        }
        Type result = seen.getReturnType();
        String returned = result.hasTag(TypeTag.VOID) ? "void" : uses.text(types.erasure(result));
        if (returned == null || parameters.contains(null) || thrown.contains(null)) {
            return null;
        }
        for (int i = 0; i < parameters.size(); i++) {
            parameters.set(i, parameters.get(i) + " p" + i);
        }
        return returned + " " + method.name + "(" + String.join(", ", parameters) + ")"
                + (thrown.isEmpty() ? "" : " throws " + String.join(", ", thrown));
    }

    /** Made-up bodies of the methods that a class inherits without one from what is not made up. */
    List<String> bodies(Symbol.ClassSymbol type, boolean isInside) {
        Set<String> found = new java.util.TreeSet<>();
        for (Type above : types.closure(type.type)) {
            for (Symbol one : above.tsym.members().getSymbols(symbol -> symbol instanceof Symbol.MethodSymbol)) {
                Symbol.MethodSymbol method = (Symbol.MethodSymbol) one;
                boolean isOpen = (method.flags() & Flags.ABSTRACT) != 0 && (method.flags() & (Flags.DEFAULT | Flags.PRIVATE)) == 0;
                if (above.tsym == type || !isOpen) {
                    continue;
                }
                Symbol.MethodSymbol written = method.implementation(type, types, true);
                boolean isOfParent = (above.tsym.flags() & Flags.INTERFACE) == 0 && above.tsym.outermostClass().sourcefile == unit.sourcefile;
                if (!isOfParent && (written == null || written == method || (written.flags() & (Flags.ABSTRACT | Flags.DEFAULT)) == Flags.ABSTRACT)) {
                    String text = exactly(method, types.memberType(type.type, method), isInside);
                    if (text != null) {
                        found.add("public " + text + " { throw funcmem.harness.Made.up(); }");
                    }
                }
            }
        }
        return List.copyOf(found);
    }

    boolean makeStatic(Object[] arguments) {
        for (Object one : arguments) {
            if (one instanceof Symbol symbol && stub(symbol.owner) != null) {
                boolean changed = false;
                for (Stubs.Member member : stub(symbol.owner).members.values()) {
                    if (member.name.contentEquals(symbol.name) && !member.isStatic) {
                        member.isStatic = true;
                        changed = true;
                    }
                }
                return changed;
            }
        }
        return false;
    }

    boolean throwing(JCTree tree, Object[] arguments) {
        JCTree.JCTry around = uses.enclosing(tree, JCTree.JCTry.class);
        Type type = null;
        for (Object one : arguments) {
            type = one instanceof Type found ? found : type;
        }
        if (around == null || type == null) {
            return false;
        }
        String text = uses.text(type);
        boolean[] changed = new boolean[1];
        new com.sun.source.util.TreeScanner<Void, Void>() {
            @Override
            public Void visitMethodInvocation(com.sun.source.tree.MethodInvocationTree node, Void nothing) {
                Stubs.Member member = made((JCTree) node);
                if (member != null && text != null) {
                    changed[0] |= member.thrown.add(text);
                }
                return super.visitMethodInvocation(node, nothing);
            }
        }.scan(around.body, null);
        return changed[0];
    }

    boolean notThrowing(JCTree tree, Object[] arguments) {
        Stubs.Member member = made(tree instanceof JCTree.JCMethodInvocation ? tree : uses.parent(tree));
        if (member != null && !member.thrown.isEmpty()) {
            member.thrown.clear();
            return true;
        }
        return false;
    }

    boolean kind(JCTree tree, Stubs.Kind kind) {
        JCTree named = tree instanceof JCTree.JCNewClass created ? created.clazz : tree;
        Stubs.StubType type = stub(named.type);
        if (type == null) {
            type = stub(TreeInfo.symbol(named));
        }
        if (type == null || type.kind == kind) {
            return false;
        }
        type.kind = kind;
        return true;
    }

    boolean arity(JCTree tree) {
        JCTree.JCTypeApply apply = tree instanceof JCTree.JCTypeApply one ? one
                : tree instanceof JCTree.JCNewClass created && created.clazz instanceof JCTree.JCTypeApply one ? one
                : uses.parent(tree) instanceof JCTree.JCTypeApply one ? one : null;
        if (apply == null) {
            return false;
        }
        Stubs.StubType type = stub(TreeInfo.symbol(apply.clazz));
        if (type == null) {
            type = stub(apply.clazz.type);
        }
        int count = Math.max(1, apply.arguments.size());
        if (type == null || type.arity == count || type.arity > 0 && apply.arguments.isEmpty()) {
            return false;
        }
        type.arity = count;
        return true;
    }

    /** A class lacks what an interface asks of it: a missing parent has that, or it is written into the class. */
    boolean makeAbstract(JCTree tree) {
        if (tree instanceof JCTree.JCClassDecl lacking && lacking.sym != null) {
            for (Type one = types.supertype(lacking.sym.type); one != null && one.tsym != null; one = types.supertype(one)) {
                if (stub(one) != null) {
                    return stub(one).extra.addAll(bodies(lacking.sym, false));
                }
            }
            List<String> bodies = bodies(lacking.sym, true);
            if (!bodies.isEmpty()) {
                int end = TreeInfo.getEndPos(lacking, unit.endPositions) - 1;
                edits.add(new Edit(end, end, " " + String.join(" ", bodies) + " "));
                return true;
            }
        }
        if (tree instanceof JCTree.JCClassDecl declared && (declared.mods.flags & Flags.ENUM) == 0) {
            int place = declared.pos;
            edits.add(new Edit(place, place, "abstract "));
            return true;
        }
        return false;
    }

    /** What a loop goes over has items of the type that the loop names. */
    boolean iterable(JCTree tree) {
        JCTree.JCEnhancedForLoop loop = tree instanceof JCTree.JCEnhancedForLoop one ? one : uses.enclosing(tree, JCTree.JCEnhancedForLoop.class);
        Stubs.StubType type = loop == null ? null : stub(loop.expr.type);
        if (type == null || type.kind == Stubs.Kind.ANNOTATION || type.kind == Stubs.Kind.ENUM) {
            return false;
        }
        String item = loop.var.vartype == null || loop.var.vartype.type.isPrimitive() ? null : uses.text(loop.var.vartype.type);
        String items = "<" + (item == null ? "Object" : item) + ">";
        type.extra.add("public " + (type.kind == Stubs.Kind.INTERFACE ? "default " : "") + "java.util.Iterator" + items
                + " iterator() { throw funcmem.harness.Made.up(); }");
        return type.interfaces.add("Iterable" + items);
    }

    /** A label of a case has to be a constant. */
    boolean constant(JCTree tree) {
        Symbol symbol = TreeInfo.symbol(tree);
        String name = tree instanceof JCTree.JCIdent ident ? ident.name.toString() : tree instanceof JCTree.JCFieldAccess select ? select.name.toString() : "";
        JCTree.JCSwitch around = uses.enclosing(tree, JCTree.JCSwitch.class);
        Type selector = around == null ? null : strip(around.selector).type;
        Stubs.StubType enumeration = stub(selector);
        if (enumeration != null && tree instanceof JCTree.JCIdent) {
            enumeration.kind = Stubs.Kind.ENUM;
            return enumeration.constants.add(name);
        }
        Stubs.StubType owner = symbol != null && symbol.owner != null ? stub(symbol.owner) : null;
        if (owner == null && tree instanceof JCTree.JCFieldAccess select) {
            owner = stub(select.selected.type);
        }
        if (owner == null && tree instanceof JCTree.JCIdent) {
            owner = inheritedFrom(tree);
            owner = owner == null ? orphanage() : owner;
        }
        if (owner == null || name.isEmpty()) {
            return false;
        }
        Stubs.Member member = owner.member(name, false);
        if (member == null) {
            member = owner.add(new Stubs.Member(name, false));
        } else if (member.constant != null) {
            return false;
        }
        member.isStatic = true;
        String text = selector == null ? "int" : uses.text(types.unboxedTypeOrType(selector));
        member.type = text == null || !Set.of("int", "char", "short", "byte", "String", "java.lang.String").contains(text) ? "int" : text;
        member.constant = 2 + Math.floorMod(name.hashCode(), member.type.equals("byte") ? 90 : 900);
        for (Stubs.Member other : owner.members.values()) {
            if (other != member && member.constant.equals(other.constant)) {
                member.constant++;
            }
        }
        return true;
    }

    /** A field that a made-up constructor leaves alone cannot be final. */
    boolean notFinal(Object[] arguments) {
        for (Object one : arguments) {
            if (one instanceof Symbol.VarSymbol variable && variable.owner.kind == Kinds.Kind.TYP) {
                for (JCTree.JCClassDecl declared : classes()) {
                    for (JCTree member : declared.defs) {
                        if (member instanceof JCTree.JCVariableDecl field && field.sym == variable) {
                            int start = TreeInfo.getStartPos(field);
                            try {
                                String text = unit.sourcefile.getCharContent(true).subSequence(start, field.pos).toString();
                                int place = text.indexOf("final");
                                if (place >= 0) {
                                    edits.add(new Edit(start + place, start + place + 5, " "));
                                    return true;
                                }
                            } catch (java.io.IOException exc) {
                                return false;
                            }
                        }
                    }
                }
            }
        }
        return false;
    }

    private List<JCTree.JCClassDecl> classes() {
        List<JCTree.JCClassDecl> found = new ArrayList<>();
        new com.sun.source.util.TreeScanner<Void, Void>() {
            @Override
            public Void visitClass(com.sun.source.tree.ClassTree node, Void nothing) {
                found.add((JCTree.JCClassDecl) node);
                return super.visitClass(node, nothing);
            }
        }.scan(unit, null);
        return found;
    }

    boolean open(JCTree tree) {
        if (!(tree instanceof JCTree.JCFieldAccess select) || stub(select.selected.type) == null) {
            return false;
        }
        // A method that every object has, and that is not for all: the made-up type opens it.
        JCTree call = uses.parent(select);
        Stubs.Member member = new Stubs.Member(select.name.toString(), true);
        member.parameters = "";
        member.type = fitting(uses.wanted(call, member.name), member.name);
        return call instanceof JCTree.JCMethodInvocation && stub(select.selected.type).members.put("m " + member.name, member) == null;
    }
}
