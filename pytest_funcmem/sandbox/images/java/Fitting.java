package funcmem.harness;

import com.sun.tools.javac.code.Flags;
import com.sun.tools.javac.code.Symbol;
import com.sun.tools.javac.code.Type;
import com.sun.tools.javac.code.TypeTag;
import com.sun.tools.javac.tree.JCTree;
import com.sun.tools.javac.tree.TreeInfo;
import java.util.ArrayList;
import java.util.List;

/** Gives what is made up other types, where those that it has do not fit their places. */
final class Fitting extends Bench {
    private final Shaping shaping;

    Fitting(Bench bench, Shaping shaping) {
        super(bench);
        this.shaping = shaping;
    }

    boolean mismatched(JCTree tree, Object[] arguments) {
        JCTree inner = strip(tree);
        if (inner instanceof JCTree.JCThrow thrown) {
            return mismatched(thrown.expr, arguments);
        }
        if (inner instanceof JCTree.JCConditional conditional) {
            return mismatched(conditional.truepart, arguments) | mismatched(conditional.falsepart, arguments);
        }
        if (uses.parent(inner) instanceof JCTree.JCCase) {
            return shaping.constant(inner);
        }
        Stubs.Member member = made(inner);
        String wanted = uses.wanted(inner, member == null ? "" : member.name);
        if (member != null && retype(member, fitting(wanted, member.name))) {
            return true;
        }
        if (member != null && member.type == null && uses.parent(inner) instanceof JCTree.JCThrow) {
            member.type = "RuntimeException"; // of all places this one does not tell the compiler what it wants
            return true;
        }
        if (inner instanceof JCTree.JCBinary && operands(inner) || held(inner, wanted)) {
            return true;
        }
        List<Type> told = new ArrayList<>();
        for (Object one : arguments) {
            if (one instanceof com.sun.tools.javac.util.JCDiagnostic detail) {
                for (Object part : detail.getArgs()) {
                    if (part instanceof Type type) {
                        told.add(type);
                    }
                }
            }
        }
        if (told.size() == 2) {
            boolean isCast = uses.parent(inner) instanceof JCTree.JCTypeCast || uses.parent(inner) instanceof JCTree.JCInstanceOf
                    || inner instanceof JCTree.JCTypeCast || inner instanceof JCTree.JCInstanceOf;
            if (isCast && related(told.get(1), told.get(0))) {
                return true;
            }
            return related(told.get(0), told.get(1));
        }
        return related(typeOf(inner), required(inner));
    }

    /** What is taken out of a container that is made up tells what the container holds. */
    private boolean held(JCTree taken, String wanted) {
        if (!(taken instanceof JCTree.JCMethodInvocation call && call.meth instanceof JCTree.JCFieldAccess select) || wanted == null) {
            return false;
        }
        Stubs.Member container = made(select.selected);
        String item = Uses.boxed(wanted);
        boolean isTold = !item.startsWith("?") && !item.equals(Uses.VOID) && !item.equals("Object");
        return isTold && container != null && container.type != null && container.type.matches("java\\.util\\..*Object>")
                && retype(container, container.type.replaceAll("Object>$", java.util.regex.Matcher.quoteReplacement(item) + ">"));
    }

    /** A type argument has to be what its parameter says: what is made up becomes a kind of that. */
    boolean bounded(Object[] arguments) {
        if (arguments.length < 2 || !(arguments[0] instanceof Type given) || !(arguments[1] instanceof Type parameter)) {
            return false;
        }
        Type bound = parameter.getUpperBound();
        return bound != null && related(given, types.subst(bound, com.sun.tools.javac.util.List.of(parameter), com.sun.tools.javac.util.List.of(given)));
    }

    /** A name that two made-up types have: it stays with the one that is named with it somewhere. */
    boolean ambiguous(JCTree tree, Object[] arguments) {
        List<Stubs.StubType> owners = new ArrayList<>();
        for (Object one : arguments) {
            if (one instanceof Symbol.VarSymbol variable && stub(variable.owner) != null) {
                owners.add(stub(variable.owner));
            }
        }
        if (owners.size() < 2 || !(tree instanceof JCTree.JCIdent ident)) {
            return false;
        }
        String name = ident.name.toString();
        owners.sort(java.util.Comparator.comparing((Stubs.StubType one) -> uses.isNamedWith(one.name, name)));
        return owners.get(0).members.remove("f " + name) != null;
    }

    /** A switch over something made up by names: an enumeration of them. */
    boolean switched(JCTree tree) {
        JCTree.JCSwitch choice = tree instanceof JCTree.JCSwitch one ? one : uses.enclosing(tree, JCTree.JCSwitch.class);
        Stubs.StubType type = choice == null ? null : stub(strip(choice.selector).type);
        if (type == null || type.kind == Stubs.Kind.ENUM) {
            return false;
        }
        type.kind = Stubs.Kind.ENUM;
        for (JCTree.JCCase one : choice.cases) {
            for (JCTree label : one.labels) {
                if (label instanceof JCTree.JCIdent ident) {
                    type.constants.add(ident.name.toString());
                }
            }
        }
        return true;
    }

    /** The type that the place of an expression requires, as the compiler knows it. */
    private Type required(JCTree tree) {
        JCTree parent = uses.parent(tree);
        if (parent instanceof JCTree.JCParens || parent instanceof JCTree.JCConditional) {
            return required(parent);
        }
        if (parent instanceof JCTree.JCVariableDecl variable) {
            return variable.vartype == null || variable.vartype == tree ? symtab.throwableType : variable.vartype.type;
        }
        if (parent instanceof JCTree.JCAssign assign) {
            return assign.lhs.type;
        }
        if (parent instanceof JCTree.JCThrow || parent instanceof JCTree.JCTypeUnion) {
            return symtab.runtimeExceptionType;
        }
        if (parent instanceof JCTree.JCMethodDecl method) {
            return method.thrown.contains(tree) ? symtab.throwableType : null;
        }
        if (parent instanceof JCTree.JCReturn) {
            JCTree.JCMethodDecl method = uses.enclosing(tree, JCTree.JCMethodDecl.class);
            return method == null || method.restype == null ? null : method.restype.type;
        }
        if (parent instanceof JCTree.JCTypeCast cast) {
            return cast.clazz.type;
        }
        if (parent instanceof JCTree.JCMethodInvocation call) {
            return parameter(TreeInfo.symbol(call.meth), call.args.indexOf((JCTree.JCExpression) tree));
        }
        return null;
    }

    private static Type parameter(Symbol called, int place) {
        if (called instanceof Symbol.MethodSymbol method && method.type != null && place >= 0
                && place < method.type.getParameterTypes().size()) {
            return method.type.getParameterTypes().get(place);
        }
        return null;
    }

    /** Make one type a kind of another. */
    private boolean related(Type found, Type required) {
        Stubs.StubType type = stub(found);
        if (required == null || required.isErroneous() || found == null) {
            return false;
        }
        if (type == null) {
            // The file's own class has to be what is made up, or of the platform: its made-up ancestor becomes that.
            Stubs.StubType wanted = stub(required);
            String name = wanted != null ? wanted.qualified() : required.isInterface() ? uses.text(required) : null;
            if (name == null || found.tsym == null || found.isPrimitive()) {
                return false;
            }
            for (Type one : types.closure(found)) {
                Stubs.StubType ancestor = stub(one);
                if (ancestor != null && ancestor != wanted && ancestor.kind != Stubs.Kind.ANNOTATION) {
                    return extend(ancestor, name, wanted == null || wanted.kind == Stubs.Kind.INTERFACE, required);
                }
            }
            return false;
        }
        if (types.isSubtype(required, symtab.throwableType) && stub(required) == null) {
            String base = required.tsym == symtab.throwableType.tsym || required.tsym == symtab.exceptionType.tsym ? "RuntimeException" : uses.text(required);
            if (base == null || base.equals(type.superType)) {
                return false;
            }
            type.superType = base;
            return true;
        }
        String text = uses.text(required);
        if (text == null || required.isPrimitive() || required instanceof Type.ArrayType || (required.tsym.flags() & Flags.FINAL) != 0) {
            return false;
        }
        return extend(type, text, required.isInterface(), required);
    }

    private boolean extend(Stubs.StubType type, String text, boolean isInterface, Type required) {
        String plain = text.replaceAll("<.*>", "");
        List<Object> relation = List.of(type, plain);
        if (plain.equals(type.qualified()) || plain.equals(type.superType) || type.interfaces.contains(plain)) {
            return fresh.contains(relation);
        }
        for (Stubs.StubType one = stubs.find(plain); one != null; one = one.superType == null ? null : stubs.find(one.superType)) {
            if (one == type) {
                return false; // it would be its own ancestor
            }
        }
        if (isInterface) {
            type.interfaces.add(plain);
        } else if (type.superType == null || type.superType.equals("RuntimeException")) {
            if (type.kind == Stubs.Kind.INTERFACE) {
                type.kind = Stubs.Kind.CLASS;
            }
            type.superType = plain;
        } else {
            return false;
        }
        fresh.add(relation);
        if (stub(required) == null) {
            implement(type, required);
        }
        return true;
    }

    /** Give a made-up class the methods that it has to have. */
    private void implement(Stubs.StubType type, Type required) {
        for (Symbol one : types.membersClosure(required, false).getSymbols()) {
            if (one instanceof Symbol.MethodSymbol method && (method.flags() & Flags.ABSTRACT) != 0
                    && (method.implementation(required.tsym, types, true) == null || method.implementation(required.tsym, types, true) == method)) {
                String text = shaping.signature(method, method.type);
                if (text != null) {
                    type.extra.add("public " + (type.kind == Stubs.Kind.INTERFACE ? "default " : "") + text
                            + " { throw funcmem.harness.Made.up(); }");
                }
            }
        }
    }

    /** The parts of an operation, or of something that is not what its place needs. */
    boolean operands(JCTree tree) {
        boolean changed = false;
        for (JCTree part : parts(strip(tree))) {
            Stubs.Member member = made(part);
            if (member != null) {
                changed |= retype(member, fitting(uses.wanted(strip(part), member.name), member.name));
            } else if (strip(part) instanceof JCTree.JCBinary inner) {
                changed |= operands(inner);
            }
        }
        if (!changed && tree instanceof JCTree.JCBinary binary && (binary.hasTag(JCTree.Tag.EQ) || binary.hasTag(JCTree.Tag.NE))) {
            changed = related(binary.lhs.type, binary.rhs.type) || related(binary.rhs.type, binary.lhs.type);
        }
        if (!changed && strip(tree) instanceof JCTree.JCFieldAccess select && made(select.selected) != null) {
            Stubs.Member member = made(select.selected);
            changed = retype(member, fitting(uses.wanted(strip(select.selected), member.name), member.name));
        }
        return changed;
    }

    private static List<JCTree> parts(JCTree tree) {
        if (tree instanceof JCTree.JCBinary binary) {
            return List.of(binary.lhs, binary.rhs);
        } else if (tree instanceof JCTree.JCUnary unary) {
            return List.of(unary.arg);
        } else if (tree instanceof JCTree.JCAssignOp assign) {
            return List.of(assign.lhs, assign.rhs);
        } else if (tree instanceof JCTree.JCArrayAccess access) {
            return List.of(access.indexed, access.index);
        } else if (tree instanceof JCTree.JCEnhancedForLoop loop) {
            return List.of(loop.expr);
        } else if (tree instanceof JCTree.JCInstanceOf one) {
            return List.of(one.expr);
        } else if (tree instanceof JCTree.JCTypeCast cast) {
            return List.of(cast.expr);
        }
        return List.of(tree);
    }

    boolean misapplied(JCTree tree) {
        JCTree.JCMethodInvocation call = tree instanceof JCTree.JCMethodInvocation one ? one : uses.parent(tree) instanceof JCTree.JCMethodInvocation one ? one : null;
        JCTree.JCNewClass created = tree instanceof JCTree.JCNewClass one ? one : null;
        if (call == null && created == null) {
            return false;
        }
        com.sun.tools.javac.util.List<JCTree.JCExpression> given = call != null ? call.args : created.args;
        Type site;
        String name;
        if (created != null) {
            site = created.clazz.type;
            name = "<init>";
        } else if (call.meth instanceof JCTree.JCFieldAccess select) {
            site = select.selected.type;
            name = select.name.toString();
        } else {
            JCTree.JCClassDecl around = uses.enclosing(call, JCTree.JCClassDecl.class);
            site = around == null || around.sym == null ? null : around.sym.type;
            name = ((JCTree.JCIdent) call.meth).name.toString();
            if (name.equals("super") || name.equals("this")) {
                site = site == null ? null : name.equals("super") ? types.supertype(site) : site;
                name = "<init>";
            }
        }
        Stubs.StubType owner = stub(site);
        if (owner != null) {
            return lambdas(owner, name, given, call) || call != null && !name.equals("<init>") && overloaded(owner, name, call);
        }
        if (site == null || site.tsym == null) {
            return false;
        }
        if (fit(site, name, given) || call != null && !name.equals("<init>") && inherited(site, name, call)) {
            return true;
        }
        // The type was guessed, and has nothing of the name that takes what is given.
        Stubs.Member guessed = call != null && call.meth instanceof JCTree.JCFieldAccess select ? made(select.selected) : null;
        return guessed != null && retype(guessed, fitting(Uses.FRESH, guessed.name));
    }

    /** A method that no declared one is: a missing parent of the class has it. */
    private boolean inherited(Type site, String name, JCTree.JCMethodInvocation call) {
        for (Type one : types.closure(site)) {
            Stubs.StubType parent = stub(one);
            if (parent != null && overloaded(parent, name, call)) {
                return true;
            }
        }
        return false;
    }

    /** A method of something made up beside those of the same name that it has as any object has. */
    private boolean overloaded(Stubs.StubType owner, String name, JCTree.JCMethodInvocation call) {
        if (owner.kind == Stubs.Kind.ANNOTATION || owner.member(name, true) != null) {
            return false;
        }
        Stubs.Member member = new Stubs.Member(name, true);
        Missing.functional(member, call.args);
        member.type = fitting(uses.wanted(call, name), name);
        member.isStatic = call.meth instanceof JCTree.JCFieldAccess select && TreeInfo.symbol(select.selected) instanceof Symbol.ClassSymbol;
        member.tried.add(String.valueOf(member.type));
        owner.add(member);
        return true;
    }

    private boolean lambdas(Stubs.StubType owner, String name, com.sun.tools.javac.util.List<JCTree.JCExpression> given, JCTree call) {
        Stubs.Member probe = new Stubs.Member(name, true);
        Missing.functional(probe, given);
        if (probe.parameters.startsWith("Object...")) {
            return false;
        }
        if (name.equals("<init>")) {
            StringBuilder names = new StringBuilder();
            for (int i = 0; i < given.size(); i++) {
                names.append(i > 0 ? ", " : "").append("argument").append(i);
            }
            return owner.constructors.add("public " + owner.name + "(" + probe.parameters + ") { funcmem.harness.World.created(this, new Object[] {" + names + "}); }");
        }
        Stubs.Member known = owner.member(name, true);
        probe.type = known == null ? uses.wanted(call, name) : known.type;
        probe.isStatic = known != null && known.isStatic;
        int size = owner.members.size();
        owner.add(probe);
        return owner.members.size() > size;
    }

    /** Give the made-up arguments of a call the types that the likeliest of the methods takes. */
    private boolean fit(Type site, String name, com.sun.tools.javac.util.List<JCTree.JCExpression> given) {
        boolean changed = false;
        List<Symbol.MethodSymbol> candidates = new ArrayList<>();
        for (Symbol one : types.membersClosure(site, false).getSymbolsByName(site.tsym.name.table.fromString(name))) {
            if (one instanceof Symbol.MethodSymbol method && method.type.getParameterTypes().size() == given.size()
                    && (!name.equals("<init>") || method.owner == site.tsym)) {
                candidates.add(method);
            }
        }
        candidates.sort(java.util.Comparator.comparingInt((Symbol.MethodSymbol method) -> misfits(site, method, given)).thenComparing(Symbol::toString));
        if (candidates.isEmpty()) {
            return false;
        }
        Symbol.MethodSymbol chosen = candidates.get(0);
        com.sun.tools.javac.util.List<Type> wanted = types.memberType(site, chosen).getParameterTypes();
        for (int i = 0; i < given.size(); i++) {
            changed |= fit(given.get(i), wanted.get(i), candidates.size() > 1);
        }
        return changed;
    }

    /** Give what is made up of an argument the type that is wanted of it. */
    private boolean fit(JCTree given, Type wanted, boolean isOverloaded) {
        JCTree argument = strip(given);
        if (argument instanceof JCTree.JCFieldAccess select && select.name.contentEquals("class") && stub(select.selected.type) != null) {
            return wanted.getTypeArguments().nonEmpty() && limited(select.selected.type, wanted.getTypeArguments().head);
        }
        if (argument instanceof JCTree.JCConditional conditional) {
            return fit(conditional.truepart, wanted, isOverloaded) | fit(conditional.falsepart, wanted, isOverloaded);
        }
        Type type = typeOf(argument);
        boolean isPoly = type == null || type.isErroneous() || type.hasTag(TypeTag.DEFERRED) || type.hasTag(TypeTag.NONE);
        Stubs.Member member = made(argument);
        if (member != null) {
            boolean fits = !isPoly && types.isAssignable(type, wanted) && !(isOverloaded && member.type == null);
            return !fits && retype(member, uses.text(wanted));
        }
        return !isPoly && !types.isAssignable(type, wanted) && related(type, wanted);
    }

    /** Make what a class literal names one of the kind that its place takes. */
    private boolean limited(Type type, Type wanted) {
        Type bound = types.wildUpperBound(wanted);
        Type limit = bound.getUpperBound() == null ? bound : bound.getUpperBound();
        if (types.isSameType(limit, symtab.annotationType)) {
            Stubs.StubType named = stub(type);
            boolean changed = named.kind != Stubs.Kind.ANNOTATION;
            named.kind = Stubs.Kind.ANNOTATION;
            return changed;
        }
        return related(type, limit);
    }

    private int misfits(Type site, Symbol.MethodSymbol method, com.sun.tools.javac.util.List<JCTree.JCExpression> given) {
        int count = 0;
        com.sun.tools.javac.util.List<Type> wanted = types.memberType(site, method).getParameterTypes();
        for (int i = 0; i < given.size(); i++) {
            Type type = typeOf(given.get(i));
            boolean isMade = made(given.get(i)) != null || stub(type) != null;
            if (!isMade && (type == null || type.isErroneous() || !types.isAssignable(type, wanted.get(i)))) {
                count += 100;
            } else if (isMade && uses.text(wanted.get(i)) == null) {
                count += 10;
            } else if (isMade && !"java.lang.String".equals(uses.text(wanted.get(i)))) {
                count++;
            }
        }
        return count;
    }
}
