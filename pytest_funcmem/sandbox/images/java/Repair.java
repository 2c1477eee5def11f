package funcmem.harness;

import com.sun.tools.javac.api.BasicJavacTask;
import com.sun.tools.javac.code.Flags;
import com.sun.tools.javac.code.Kinds;
import com.sun.tools.javac.code.Symbol;
import com.sun.tools.javac.code.Symtab;
import com.sun.tools.javac.code.Type;
import com.sun.tools.javac.code.TypeTag;
import com.sun.tools.javac.code.Types;
import com.sun.tools.javac.tree.JCTree;
import com.sun.tools.javac.tree.TreeInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Makes up what one error of the compiler says is missing. */
final class Repair {
    private final Stubs stubs;
    private final JCTree.JCCompilationUnit unit;
    private final Reading reading;
    private final Types types;
    private final Symtab symtab;
    private final Uses uses;
    private final String packageName;
    private final List<Edit> edits = new ArrayList<>();
    /** What this round made up: the same thing is missed at many places. */
    private final Set<Object> fresh = new java.util.HashSet<>();

    /** A piece of the file to be replaced. */
    record Edit(int start, int end, String text) {}

    Repair(Stubs stubs, JCTree.JCCompilationUnit unit, Reading reading, BasicJavacTask task) {
        this.stubs = stubs;
        this.unit = unit;
        this.reading = reading;
        this.types = Types.instance(task.getContext());
        this.symtab = Symtab.instance(task.getContext());
        this.uses = new Uses(unit);
        this.packageName = unit.getPackageName() == null ? "" : unit.getPackageName().toString();
    }

    List<Edit> edits() {
        return edits;
    }

    /** Something in a made-up type: a member whose type cannot be written there gets another. */
    boolean inStub(Preparation.Problem problem) {
        Stubs.Member member = stubs.memberAt(problem.unit().path, problem.line());
        if (member != null && member.retype(member.isMethod ? null : "Object")) {
            return true;
        }
        for (Stubs.StubType type : stubs.types.values()) {
            if (problem.unit().path.equals("stubs/" + type.qualified().replace('.', '/') + ".java") && problem.line() == 1) {
                boolean had = type.superType != null || !type.interfaces.isEmpty();
                type.superType = null;
                type.interfaces.clear();
                return had;
            }
        }
        return false;
    }

    /** Whether an error is about what types there are, and so comes before all others. */
    static boolean isStructural(Preparation.Problem problem) {
        String kind = problem.code().replace("compiler.err.", "");
        Object[] arguments = problem.diagnostic().getArgs();
        return switch (kind) {
            case "doesnt.exist", "package.not.visible", "type.doesnt.take.params", "wrong.number.type.args",
                    "intf.expected.here", "no.intf.expected.here", "not.annotation.type", "cant.inherit.from.final" -> true;
            default -> kind.startsWith("cant.resolve") && arguments.length > 0
                    && (arguments[0] == Kinds.KindName.CLASS || arguments[0] == Kinds.KindName.INTERFACE
                    || arguments[0] == Kinds.KindName.ANNOTATION || arguments[0] == Kinds.KindName.ENUM
                    || arguments[0] == Kinds.KindName.STATIC);
        };
    }

    boolean mend(Preparation.Problem problem) {
        JCTree tree = problem.diagnostic().getDiagnosticPosition().getTree();
        String kind = problem.code().replace("compiler.err.", "");
        if (tree == null) {
            tree = uses.at(problem.position());
        }
        if (tree == null) {
            return false;
        }
        if (kind.startsWith("cant.resolve")) {
            return unresolved(problem, tree);
        }
        Object[] arguments = problem.diagnostic().getArgs();
        return switch (kind) {
            case "doesnt.exist", "package.not.visible" -> missingPackage(tree);
            case "preview.feature.disabled.plural", "preview.feature.disabled" -> switched(tree);
            case "prob.found.req", "void.not.allowed.here", "illegal.initializer.for.type", "illegal.start.of.type" -> mismatched(tree, arguments);
            case "operator.cant.be.applied.1", "operator.cant.be.applied", "incomparable.types", "array.req.but.found",
                    "foreach.not.applicable.to.type", "not.stmt" -> operands(tree);
            case "cant.apply.symbol", "cant.apply.symbols", "ref.ambiguous", "cant.apply.diamond.1" -> misapplied(tree);
            case "cant.deref" -> operands(tree);
            case "non-static.cant.be.ref" -> makeStatic(arguments);
            case "except.never.thrown.in.try" -> throwing(tree, arguments);
            case "unreported.exception.need.to.catch.or.throw", "unreported.exception.default.constructor",
                    "unreported.exception.implicit.close" -> notThrowing(tree, arguments);
            case "intf.expected.here" -> kind(tree, Stubs.Kind.INTERFACE);
            case "no.intf.expected.here" -> kind(tree, Stubs.Kind.CLASS);
            case "not.annotation.type" -> kind(tree, Stubs.Kind.ANNOTATION);
            case "abstract.cant.be.instantiated" -> kind(tree, Stubs.Kind.CLASS);
            case "wrong.number.type.args", "cant.apply.diamond", "type.doesnt.take.params" -> arity(tree);
            case "does.not.override.abstract" -> makeAbstract(tree);
            case "const.expr.req", "string.const.req", "enum.label.must.be.known.enum.constant", "enum.label.must.be.enum.constant",
                    "enum.label.must.be.unqualified.enum", "enum.label.must.be.unqualified.enum.constant" -> constant(tree);
            case "var.might.not.have.been.initialized", "var.might.already.be.assigned", "var.not.initialized.in.default.constructor",
                    "cant.assign.val.to.var", "cant.assign.val.to.final.var" -> notFinal(arguments);
            case "not.def.public.cant.access", "not.def.access.class.intf.cant.access", "report.access" -> open(tree);
            case "method.does.not.override.superclass", "static.imp.only.classes.and.interfaces" -> false;
            default -> false;
        };
    }

    private Stubs.StubType stub(Type type) {
        return type == null || type.tsym == null ? null : stubs.find(type.tsym.getQualifiedName().toString());
    }

    private Stubs.StubType stub(Symbol symbol) {
        return symbol == null ? null : stubs.find(symbol.getQualifiedName().toString());
    }

    // ---------------------------------------------------------------------------------- what is not there

    private boolean unresolved(Preparation.Problem problem, JCTree tree) {
        Object[] arguments = problem.diagnostic().getArgs();
        Kinds.KindName kind = arguments.length > 0 && arguments[0] instanceof Kinds.KindName one ? one : Kinds.KindName.VAR;
        JCTree.JCImport imported = tree instanceof JCTree.JCImport one ? one : uses.enclosing(tree, JCTree.JCImport.class);
        if (imported != null) {
            return missingImport(imported);
        }
        if (tree instanceof JCTree.JCMemberReference reference) {
            Stubs.StubType owner = stub(reference.expr.type);
            return owner != null && owner.add(new Stubs.Member(reference.name.toString(), true)) != null;
        }
        boolean isType = kind == Kinds.KindName.CLASS || kind == Kinds.KindName.INTERFACE || kind == Kinds.KindName.ANNOTATION
                || kind == Kinds.KindName.ENUM;
        if (tree instanceof JCTree.JCIdent ident) {
            return isType ? missingType(ident) : missingName(ident, kind == Kinds.KindName.METHOD);
        }
        if (tree instanceof JCTree.JCFieldAccess select) {
            return isType ? missingNested(select) : missingMember(select, kind == Kinds.KindName.METHOD);
        }
        return false;
    }

    private boolean missingType(JCTree.JCIdent ident) {
        String name = ident.name.toString();
        for (JCTree.JCImport one : unit.getImports()) {
            if (!one.staticImport && one.qualid instanceof JCTree.JCFieldAccess select && select.name == ident.name) {
                boolean done = missingImport(one);
                Stubs.StubType imported = stubs.find(one.qualid.toString());
                if (imported != null) {
                    shape(imported, ident);
                }
                return done;
            }
        }
        Stubs.StubType known = stubs.find(packageName.isEmpty() ? name : packageName + "." + name);
        Stubs.StubType type = known != null ? known : stubs.add(packageName, null, name);
        if (known != null && !fresh.contains(known)) {
            return false;
        }
        fresh.add(type);
        shape(type, ident);
        return true;
    }

    /** What the place of a type says of it: annotation, exception, interface, number of parameters. */
    private void shape(Stubs.StubType type, JCTree place) {
        JCTree parent = uses.parent(place);
        JCTree above = parent == null ? null : uses.parent(parent);
        if (parent instanceof JCTree.JCAnnotation) {
            type.kind = Stubs.Kind.ANNOTATION;
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

    private Stubs.StubType inheritedFrom(JCTree tree) {
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

    private boolean missingName(JCTree.JCIdent ident, boolean isMethod) {
        String name = ident.name.toString();
        JCTree parent = uses.parent(ident);
        if (name.equals("super") || name.equals("this")) {
            return false;
        }
        boolean isQualifier = parent instanceof JCTree.JCFieldAccess || parent instanceof JCTree.JCMemberReference;
        if (!isMethod && isQualifier && Character.isUpperCase(name.charAt(0)) && !name.matches("[A-Z][A-Z0-9]*_[A-Z0-9_]*")) {
            return missingType(ident);
        }
        JCTree.JCCase label = parent instanceof JCTree.JCCase one ? one : null;
        if (label != null) {
            JCTree.JCSwitch around = uses.enclosing(ident, JCTree.JCSwitch.class);
            Type selector = around == null ? null : strip(around.selector).type;
            // What is switched over comes first: that decides what its labels are.
            return selector != null && selector.isErroneous() || constant(ident);
        }
        for (JCTree one : unit.getImports()) {
            JCTree.JCImport imported = (JCTree.JCImport) one;
            if (imported.staticImport && imported.qualid instanceof JCTree.JCFieldAccess select
                    && (select.name.contentEquals(name) || select.name.contentEquals("*"))) {
                Stubs.StubType owner = stub(select.selected.type);
                if (owner != null) {
                    return add(owner, ident, name, isMethod, true);
                }
            }
        }
        Stubs.StubType owner = inheritedFrom(ident);
        if (owner == null) {
            owner = orphanage();
        }
        return owner != null && add(owner, ident, name, isMethod, owner.kind == Stubs.Kind.INTERFACE && !isMethod || isOrphanage(owner));
    }

    /** Names that nothing in sight declares come from a class of which the file imports everything. */
    private Stubs.StubType orphanage() {
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

    private static boolean isOrphanage(Stubs.StubType type) {
        return type.name.equals("FuncmemNames");
    }

    private boolean add(Stubs.StubType owner, JCTree use, String name, boolean isMethod, boolean isStatic) {
        Stubs.Member known = owner.member(name, isMethod);
        if (owner.kind == Stubs.Kind.ANNOTATION || known != null) {
            return known != null && fresh.contains(known);
        }
        JCTree place = use;
        if (isMethod) {
            place = uses.enclosing(use, JCTree.JCMethodInvocation.class);
            if (place == null) {
                return false;
            }
        }
        Stubs.Member member = new Stubs.Member(name, isMethod);
        member.isStatic = isStatic;
        member.type = fitting(uses.wanted(place, name), name);
        if (!isMethod) {
            member.type = member.type == null || member.type.equals(Uses.VOID) ? "Object" : member.type;
            if (isStatic && name.matches("[A-Z][A-Z0-9_]*") && Set.of("int", "char", "long", "short", "byte", "String").contains(member.type)) {
                member.constant = 2 + Math.floorMod(name.hashCode(), member.type.equals("byte") ? 90 : 900);
            }
        }
        member.tried.add(String.valueOf(member.type));
        if (isMethod) {
            functional(member, ((JCTree.JCMethodInvocation) place).args);
        }
        fresh.add(member);
        owner.add(member);
        return true;
    }

    /** A made-up method that is given lambdas has parameters that take them. */
    private void functional(Stubs.Member member, com.sun.tools.javac.util.List<JCTree.JCExpression> given) {
        boolean any = false;
        StringBuilder parameters = new StringBuilder();
        int place = 0;
        for (JCTree.JCExpression one : given) {
            String type = "Object";
            if (one instanceof JCTree.JCLambda lambda) {
                any = true;
                boolean isVoid = lambda.body instanceof JCTree.JCBlock block && !returns(block);
                type = switch (lambda.params.size()) {
                    case 0 -> isVoid ? "Runnable" : "java.util.function.Supplier<Object>";
                    case 1 -> isVoid ? "java.util.function.Consumer<Object>" : "java.util.function.Function<Object, Object>";
                    default -> isVoid ? "java.util.function.BiConsumer<Object, Object>" : "java.util.function.BiFunction<Object, Object, Object>";
                };
            } else if (one instanceof JCTree.JCMemberReference) {
                any = true;
                type = "java.util.function.Function<Object, Object>";
            }
            parameters.append(place > 0 ? ", " : "").append(type).append(" argument").append(place++);
        }
        if (any) {
            member.parameters = parameters.toString();
        }
    }

    private static boolean returns(JCTree.JCBlock block) {
        boolean[] found = new boolean[1];
        new com.sun.source.util.TreeScanner<Void, Void>() {
            @Override
            public Void visitReturn(com.sun.source.tree.ReturnTree node, Void nothing) {
                found[0] |= node.getExpression() != null;
                return null;
            }
        }.scan(block, null);
        return found[0];
    }

    /** A wanted type, where it stands for one that has to be made up: that one. */
    private String fitting(String wanted, String name) {
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

    private boolean missingNested(JCTree.JCFieldAccess select) {
        Symbol qualifier = TreeInfo.symbol(select.selected);
        String name = select.name.toString();
        Stubs.StubType outer = stub(select.selected.type);
        Stubs.StubType made;
        if (qualifier instanceof Symbol.PackageSymbol found) {
            made = stubs.add(found.fullname.toString(), null, name);
        } else if (outer != null) {
            made = stubs.add("", outer, name);
        } else {
            return false;
        }
        fresh.add(made);
        shape(made, select);
        return true;
    }

    private boolean missingMember(JCTree.JCFieldAccess select, boolean isMethod) {
        Type site = select.selected.type;
        String name = select.name.toString();
        Stubs.StubType owner = stub(site);
        if (owner == null && site != null && site.tsym != null) {
            for (Type type : types.closure(site)) {
                owner = owner == null ? stub(type) : owner;
            }
        }
        boolean isStatic = TreeInfo.symbol(select.selected) instanceof Symbol.ClassSymbol;
        if (owner != null) {
            if (owner.kind == Stubs.Kind.ENUM && !isMethod && isStatic) {
                return owner.constants.add(name);
            }
            boolean isQualifier = uses.parent(select) instanceof JCTree.JCFieldAccess;
            if (!isMethod && isStatic && isQualifier && name.matches("[A-Z][a-z]\\w*")) {
                stubs.add("", owner, name);
                return true;
            }
            if (uses.parent(select) instanceof JCTree.JCCase) {
                return constant(select);
            }
            return add(owner, select, name, isMethod, isStatic);
        }
        // The type was guessed, and wrongly: it has to be one that has this member.
        Stubs.Member member = made(select.selected);
        if (member == null) {
            return false;
        }
        if (fresh.contains(member)) {
            return true;
        }
        String wanted = fitting(uses.wanted(strip(select.selected), member.name), member.name);
        boolean changed = member.retype(wanted) || member.retype(fitting(Uses.FRESH, member.name));
        fresh.add(member);
        return changed;
    }

    private boolean missingPackage(JCTree tree) {
        JCTree.JCImport imported = tree instanceof JCTree.JCImport one ? one : uses.enclosing(tree, JCTree.JCImport.class);
        if (imported != null) {
            return missingImport(imported);
        }
        // A qualified name in an expression: the first part in upper case is a class.
        JCTree top = tree;
        String name = top.toString();
        while (uses.parent(top) instanceof JCTree.JCFieldAccess above && !hasClass(name)) {
            top = above;
            name = top.toString();
        }
        return declare(name, null) != null;
    }

    private static boolean hasClass(String name) {
        for (String part : name.split("\\.")) {
            if (Character.isUpperCase(part.charAt(0))) {
                return true;
            }
        }
        return false;
    }

    /** Make up the class that a dotted name names, and those that it is nested in. */
    private Stubs.StubType declare(String dotted, JCTree.JCImport imported) {
        String[] parts = dotted.split("\\.");
        int first = 0;
        while (first < parts.length && !Character.isUpperCase(parts[first].charAt(0))) {
            first++;
        }
        if (first == parts.length) {
            first = parts.length - 1;
        }
        String home = first == 0 ? packageName : String.join(".", java.util.Arrays.copyOfRange(parts, 0, first));
        boolean isTaken = home.startsWith("java.") || symtab.listPackageModules(symtab.unnamedModule.name.table.fromString(home)).stream()
                .anyMatch(module -> module != symtab.unnamedModule);
        if (isTaken) {
            if (imported != null) {
                edits.add(new Edit(TreeInfo.getStartPos(imported), TreeInfo.getEndPos(imported, unit.endPositions), ""));
            }
            home = packageName;
        }
        Stubs.StubType type = stubs.add(home, null, parts[first]);
        for (int i = first + 1; i < parts.length; i++) {
            if (!Character.isUpperCase(parts[i].charAt(0)) || parts[i].matches("[A-Z][A-Z0-9_]+")) {
                break;
            }
            type = stubs.add("", type, parts[i]);
        }
        return type;
    }

    private boolean missingImport(JCTree.JCImport imported) {
        boolean done = fresh.contains(imported) || importMissing(imported);
        if (done) {
            fresh.add(imported);
        }
        return done;
    }

    private boolean importMissing(JCTree.JCImport imported) {
        String dotted = imported.qualid.toString();
        int end = TreeInfo.getEndPos(imported, unit.endPositions);
        boolean isAll = dotted.endsWith(".*");
        String holder = isAll || imported.staticImport ? dotted.substring(0, dotted.lastIndexOf('.')) : dotted;
        if (isAll && !hasClass(holder)) {
            edits.add(new Edit(TreeInfo.getStartPos(imported), end, ""));
            return true;
        }
        Stubs.StubType type = stubs.find(holder);
        boolean isNew = type == null;
        type = isNew ? declare(holder, imported) : type;
        if (imported.staticImport && !isAll) {
            String name = dotted.substring(dotted.lastIndexOf('.') + 1);
            boolean isCalled = isCalled(name);
            if (type.member(name, isCalled) == null) {
                Stubs.Member member = new Stubs.Member(name, isCalled);
                member.isStatic = true;
                member.type = isCalled ? null : Uses.guess(name);
                if (!isCalled && name.matches("[A-Z][A-Z0-9_]*")) {
                    member.constant = 2 + Math.floorMod(name.hashCode(), 900);
                }
                type.add(member);
                return true;
            }
            return isNew;
        }
        if (!type.qualified().startsWith(holder.substring(0, Math.max(0, holder.lastIndexOf('.'))))) {
            return true;
        }
        return isNew;
    }

    private boolean isCalled(String name) {
        boolean[] found = new boolean[1];
        new com.sun.source.util.TreeScanner<Void, Void>() {
            @Override
            public Void visitMethodInvocation(com.sun.source.tree.MethodInvocationTree node, Void nothing) {
                found[0] |= node.getMethodSelect() instanceof JCTree.JCIdent ident && ident.name.contentEquals(name);
                return super.visitMethodInvocation(node, nothing);
            }
        }.scan(unit, null);
        return found[0];
    }

    // --------------------------------------------------------------------------------- what does not fit

    private static JCTree strip(JCTree tree) {
        JCTree inner = tree;
        while (inner instanceof JCTree.JCParens parens) {
            inner = parens.expr;
        }
        return inner;
    }

    /** The type of an expression, also where it does not fit its place. */
    private static Type typeOf(JCTree tree) {
        JCTree inner = strip(tree);
        Type type = inner instanceof JCTree.JCNewClass created && created.def == null ? created.clazz.type : inner.type;
        return type instanceof Type.ErrorType error && error.getOriginalType() != null ? error.getOriginalType() : type;
    }

    /** The made-up member that an expression asks; null where it asks none. */
    private Stubs.Member made(JCTree tree) {
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

    private boolean mismatched(JCTree tree, Object[] arguments) {
        JCTree inner = strip(tree);
        if (inner instanceof JCTree.JCConditional conditional) {
            return mismatched(conditional.truepart, arguments) | mismatched(conditional.falsepart, arguments);
        }
        if (uses.parent(inner) instanceof JCTree.JCCase) {
            return constant(inner);
        }
        Stubs.Member member = made(inner);
        String wanted = uses.wanted(inner, member == null ? "" : member.name);
        if (member != null && member.retype(fitting(wanted, member.name))) {
            return true;
        }
        if (inner instanceof JCTree.JCBinary && operands(inner)) {
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

    /** A switch over something made up by names: an enumeration of them. */
    private boolean switched(JCTree tree) {
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
            // The file's own class has to be what is made up: its made-up ancestor becomes that.
            Stubs.StubType wanted = stub(required);
            if (wanted == null || found.tsym == null || found.isPrimitive()) {
                return false;
            }
            for (Type one : types.closure(found)) {
                Stubs.StubType ancestor = stub(one);
                if (ancestor != null && ancestor != wanted) {
                    return extend(ancestor, wanted.qualified(), wanted.kind == Stubs.Kind.INTERFACE, required);
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
        if (plain.equals(type.qualified()) || plain.equals(type.superType) || type.interfaces.contains(plain)) {
            return false;
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
        if (stub(required) == null) {
            implement(type, required);
        }
        return true;
    }

    /** Give a made-up class the methods that it has to have. */
    private void implement(Stubs.StubType type, Type required) {
        for (Symbol one : types.membersClosure(required, false).getSymbols()) {
            if (one instanceof Symbol.MethodSymbol method && (method.flags() & Flags.ABSTRACT) != 0
                    && method.implementation(required.tsym, types, true) == method) {
                StringBuilder parameters = new StringBuilder();
                int place = 0;
                for (Type parameter : method.type.getParameterTypes()) {
                    String text = uses.text(types.erasure(parameter));
                    parameters.append(place > 0 ? ", " : "").append(text == null ? "Object" : text).append(" p").append(place++);
                }
                String returned = uses.text(types.erasure(method.type.getReturnType()));
                type.extra.add("public " + (returned == null ? "Object" : returned) + " " + method.name + "(" + parameters
                        + ") { throw funcmem.harness.Made.up(); }");
            }
        }
    }

    /** The parts of an operation, or of something that is not what its place needs. */
    private boolean operands(JCTree tree) {
        boolean changed = false;
        for (JCTree part : parts(strip(tree))) {
            Stubs.Member member = made(part);
            if (member != null) {
                changed |= member.retype(fitting(uses.wanted(strip(part), member.name), member.name));
            } else if (strip(part) instanceof JCTree.JCBinary inner) {
                changed |= operands(inner);
            }
        }
        if (!changed && tree instanceof JCTree.JCBinary binary && (binary.hasTag(JCTree.Tag.EQ) || binary.hasTag(JCTree.Tag.NE))) {
            changed = related(binary.lhs.type, binary.rhs.type) || related(binary.rhs.type, binary.lhs.type);
        }
        if (!changed && strip(tree) instanceof JCTree.JCFieldAccess select && made(select.selected) != null) {
            Stubs.Member member = made(select.selected);
            changed = member.retype(fitting(uses.wanted(strip(select.selected), member.name), member.name));
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

    private boolean misapplied(JCTree tree) {
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
            return lambdas(owner, name, given, call);
        }
        return site != null && site.tsym != null && fit(site, name, given);
    }

    private boolean lambdas(Stubs.StubType owner, String name, com.sun.tools.javac.util.List<JCTree.JCExpression> given, JCTree call) {
        Stubs.Member probe = new Stubs.Member(name, true);
        functional(probe, given);
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
            JCTree argument = strip(given.get(i));
            Type type = typeOf(argument);
            boolean isPoly = type == null || type.isErroneous() || type.hasTag(TypeTag.DEFERRED) || type.hasTag(TypeTag.NONE);
            Stubs.Member member = made(argument);
            if (member != null && (isPoly || !types.isAssignable(type, wanted.get(i)) || candidates.size() > 1 && member.type == null)) {
                changed |= member.retype(uses.text(wanted.get(i)));
            } else if (member == null && !isPoly && !types.isAssignable(type, wanted.get(i))) {
                changed |= related(type, wanted.get(i));
            }
        }
        return changed;
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

    // ---------------------------------------------------------------------------------- what kind it has

    private boolean makeStatic(Object[] arguments) {
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

    private boolean throwing(JCTree tree, Object[] arguments) {
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

    private boolean notThrowing(JCTree tree, Object[] arguments) {
        Stubs.Member member = made(tree instanceof JCTree.JCMethodInvocation ? tree : uses.parent(tree));
        if (member != null && !member.thrown.isEmpty()) {
            member.thrown.clear();
            return true;
        }
        return false;
    }

    private boolean kind(JCTree tree, Stubs.Kind kind) {
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

    private boolean arity(JCTree tree) {
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

    private boolean makeAbstract(JCTree tree) {
        if (tree instanceof JCTree.JCClassDecl declared && (declared.mods.flags & Flags.ENUM) == 0) {
            int place = declared.pos;
            edits.add(new Edit(place, place, "abstract "));
            return true;
        }
        return false;
    }

    /** A label of a case has to be a constant. */
    private boolean constant(JCTree tree) {
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
    private boolean notFinal(Object[] arguments) {
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

    private boolean open(JCTree tree) {
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
