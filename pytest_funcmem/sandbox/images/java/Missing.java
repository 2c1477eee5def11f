package funcmem.harness;

import com.sun.tools.javac.code.Kinds;
import com.sun.tools.javac.code.Symbol;
import com.sun.tools.javac.code.Type;
import com.sun.tools.javac.tree.JCTree;
import com.sun.tools.javac.tree.TreeInfo;

/** Makes up what the compiler does not find: types, members, imports, packages. */
final class Missing extends Bench {
    private final Shaping shaping;

    Missing(Bench bench, Shaping shaping) {
        super(bench);
        this.shaping = shaping;
    }

    boolean unresolved(Preparation.Problem problem, JCTree tree) {
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
                    shaping.shape(imported, ident);
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
        shaping.shape(type, ident);
        return true;
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
            return selector != null && selector.isErroneous() || shaping.constant(ident);
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

    private boolean add(Stubs.StubType owner, JCTree use, String name, boolean isMethod, boolean isStatic) {
        Stubs.Member known = owner.member(name, isMethod);
        if (known != null || owner.kind == Stubs.Kind.ANNOTATION && !isMethod) {
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
            if (isStatic && name.matches("[A-Z][A-Z0-9_]*") && Stubs.CONSTANT.contains(member.type)) {
                member.constant = 2 + Math.floorMod(name.hashCode(), member.type.equals("byte") ? 90 : 900);
            }
        }
        if (owner.kind == Stubs.Kind.ANNOTATION) {
            member.type = element(member.type);
        }
        member.tried.add(String.valueOf(member.type));
        if (isMethod) {
            functional(member, ((JCTree.JCMethodInvocation) place).args);
        }
        fresh.add(member);
        owner.add(member);
        return true;
    }

    /** What an annotation may have for a wanted type. */
    private static String element(String wanted) {
        String type = wanted == null ? "String" : wanted.replaceAll("^java.util.List<(.*)>$", "$1[]");
        String item = type.replace("[]", "");
        boolean isAllowed = Uses.primitive(item) || item.equals("String") || item.equals("java.lang.String") || item.matches("(java.lang.)?Class(<.*>)?");
        return isAllowed ? type : type.endsWith("[]") ? "String[]" : "String";
    }

    /** A made-up method that is given lambdas has parameters that take them. */
    static void functional(Stubs.Member member, com.sun.tools.javac.util.List<JCTree.JCExpression> given) {
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
        shaping.shape(made, select);
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
                return shaping.constant(select);
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

    boolean missingPackage(JCTree tree) {
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
                JCTree use = isCalled ? null : uses.named(name);
                String wanted = use == null ? null : fitting(uses.wanted(use, name), name);
                member.type = isCalled ? null : wanted == null || wanted.equals(Uses.VOID) ? Uses.guess(name) : wanted;
                if (!isCalled && name.matches("[A-Z][A-Z0-9_]*") && Stubs.CONSTANT.contains(member.type)) {
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
}
