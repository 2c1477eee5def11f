package funcmem.harness;

import com.sun.source.tree.CaseTree;
import com.sun.source.tree.CatchTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.InstanceOfTree;
import com.sun.source.tree.LiteralTree;
import com.sun.source.tree.MemberReferenceTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.TypeCastTree;
import com.sun.source.tree.UnaryTree;
import com.sun.source.tree.UnionTypeTree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.TreeScanner;
import com.sun.tools.javac.api.BasicJavacTask;
import com.sun.tools.javac.code.Flags;
import com.sun.tools.javac.code.Symbol;
import com.sun.tools.javac.code.Type;
import com.sun.tools.javac.code.Types;
import com.sun.tools.javac.tree.JCTree;
import com.sun.tools.javac.tree.TreeInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a parsed file says: its members, which of them the function reaches by name, and its literals. */
final class Reading {
    private static final int MOST_LITERALS = 40;
    private static final int MOST_EARLIER = 12;
    /** What a method that may never come back calls. */
    private static final Set<String> WAITING = Set.of("wait", "await", "join", "take", "start");
    /** What code that loads classes by name is given: one to be made, one that cannot be, one that lists constants. */
    private static final List<String> CLASS_NAMES = List.of("java.lang.String", "java.util.ArrayList", "java.lang.Runnable",
            "java.util.concurrent.TimeUnit");
    /** A name of the platform, and texts that code which names it is given. */
    private static final List<String> TOLD_BY_NAME = List.of(
            "Mac HmacSHA256 HmacMD5", "MessageDigest SHA-256 MD5", "Cipher AES AES/CBC/PKCS5Padding", "KeyFactory RSA DSA",
            "Charset UTF-8 ISO-8859-1", "getBytes UTF-8 no-such-charset", "SimpleDateFormat yyyy-MM-dd HH:mm",
            "URL http://example.org/a file:file.txt", "URI http://example.org/a?b=c urn:a", "File file.txt .", "Files file.txt .",
            "FileInputStream file.txt", "FileReader file.txt", "RandomAccessFile file.txt", "Paths file.txt a/b");
    /** Names of the platform's methods whose first argument is a pattern. */
    private static final Set<String> PATTERN_TAKERS = Set.of("compile", "matches", "split", "replaceAll", "replaceFirst");

    final JCTree.JCCompilationUnit unit;
    JCTree.JCMethodDecl target;
    private final List<JCTree> members = new ArrayList<>();
    private final Map<JCTree, JCTree.JCClassDecl> owners = new HashMap<>();
    private final Set<JCTree> reached = new LinkedHashSet<>();
    private final Set<String> names = new LinkedHashSet<>();
    private final List<JCTree.JCMethodDecl> earlier = new ArrayList<>();
    /** What may have run before the function does. */
    private final Set<JCTree> past = new HashSet<>();

    Reading(JCTree.JCCompilationUnit unit, int start, int end, String name) {
        this.unit = unit;
        for (JCTree one : unit.defs) {
            if (one instanceof JCTree.JCClassDecl type) {
                collect(type);
            }
        }
        for (JCTree one : members) {
            int from = TreeInfo.getStartPos(one);
            if (one instanceof JCTree.JCMethodDecl method && method.pos >= start && method.pos < end && from <= method.pos
                    && (name.equals(method.name.toString()) || method.restype == null)
                    && (target == null || method.pos < target.pos)) {
                target = method;
            }
        }
        reach();
        remember();
    }

    private void collect(JCTree.JCClassDecl type) {
        for (JCTree one : type.defs) {
            owners.put(one, type);
            if (one instanceof JCTree.JCClassDecl inner) {
                collect(inner);
            } else {
                members.add(one);
                if (one instanceof JCTree.JCVariableDecl constant && (constant.mods.flags & Flags.ENUM) != 0
                        && constant.init instanceof JCTree.JCNewClass created && created.def != null) {
                    collect(created.def); // a constant of an enumeration with a body of its own
                }
            }
        }
    }

    /** Everything whose name the function uses, and what that uses in turn. */
    private void reach() {
        if (target == null) {
            return;
        }
        List<JCTree> open = new ArrayList<>(List.of(target));
        reached.add(target);
        while (!open.isEmpty()) {
            JCTree one = open.remove(open.size() - 1);
            Set<String> used = new LinkedHashSet<>();
            used(one, used);
            if (!names.addAll(used)) {
                continue;
            }
            for (JCTree member : members) {
                String name = member instanceof JCTree.JCMethodDecl method
                        ? method.restype == null ? owners.get(member).name.toString() : method.name.toString()
                        : member instanceof JCTree.JCVariableDecl variable ? variable.name.toString() : "";
                if (used.contains(name) && reached.add(member)) {
                    open.add(member);
                }
            }
        }
    }

    /** Blocks have no name: one is reached where it names a field that is. */
    private boolean isReachedBlock(JCTree block) {
        Set<String> used = new LinkedHashSet<>();
        used(block, used);
        for (JCTree one : reached) {
            if (one instanceof JCTree.JCVariableDecl field && used.contains(field.name.toString())) {
                return true;
            }
        }
        return false;
    }

    private static void used(Tree tree, Set<String> names) {
        new TreeScanner<Void, Void>() {
            @Override
            public Void visitIdentifier(IdentifierTree node, Void nothing) {
                names.add(node.getName().toString());
                return super.visitIdentifier(node, nothing);
            }

            @Override
            public Void visitMemberSelect(MemberSelectTree node, Void nothing) {
                names.add(node.getIdentifier().toString());
                return super.visitMemberSelect(node, nothing);
            }

            @Override
            public Void visitMemberReference(MemberReferenceTree node, Void nothing) {
                names.add(node.getName().toString());
                return super.visitMemberReference(node, nothing);
            }
        }.scan(tree, null);
    }

    boolean isReached(JCTree member) {
        return reached.contains(member) || member instanceof JCTree.JCBlock && isReachedBlock(member);
    }

    /** Whether a member is to be compiled as it stands, if that can be. */
    boolean isWanted(JCTree member) {
        return past.contains(member) || isReached(member);
    }

    JCTree memberAt(int position) {
        JCTree found = null;
        for (JCTree one : members) {
            if (TreeInfo.getStartPos(one) <= position && position < TreeInfo.getEndPos(one, unit.endPositions)) {
                found = one;
            }
        }
        return found;
    }

    boolean isInBody(JCTree member, int position) {
        JCTree body = member instanceof JCTree.JCMethodDecl method ? method.body
                : member instanceof JCTree.JCVariableDecl variable ? variable.init
                : member instanceof JCTree.JCBlock ? member : null;
        return body != null && position >= TreeInfo.getStartPos(body) && position < TreeInfo.getEndPos(body, unit.endPositions);
    }

    JCTree.JCClassDecl owner(JCTree member) {
        return owners.get(member);
    }

    /** Write down where the function is and what its values are made from. The file is attributed by now. */
    void fill(Plan plan, BasicJavacTask task, Stubs stubs) {
        Types types = Types.instance(task.getContext());
        Symbol.MethodSymbol symbol = target.sym;
        plan.type = symbol.owner.flatName().toString();
        plan.method = symbol.name.toString();
        plan.descriptor = descriptor(symbol, types);
        Literals literals = new Literals(plan, types);
        literals.scan(target, null);
        for (JCTree member : reached) {
            if (member != target) {
                literals.scan(member, null);
            }
        }
        for (JCTree member : members) {
            if (member instanceof JCTree.JCBlock && isReachedBlock(member)) {
                literals.scan(member, null);
            }
        }
        literals.finish(stubs);
        plan.names.addAll(names);
        for (JCTree.JCMethodDecl one : earlier) {
            Set<String> used = new HashSet<>();
            used(one.body, used);
            if (one.sym != null && !used.contains("Made")) { // else it is made up
                plan.earlier.add(one.sym.name + descriptor(one.sym, types));
            }
        }
        for (JCTree one : members) {
            JCTree.JCClassDecl owner = owners.get(one);
            if (owner.sym != null && owner.sym.flatName().toString().equals(plan.type) && plan.types.size() < MOST_LITERALS) {
                continue;
            }
            if (owner.sym != null && names.contains(owner.name.toString()) && !plan.types.contains(owner.sym.flatName().toString())
                    && plan.types.size() < MOST_LITERALS) {
                plan.types.add(owner.sym.flatName().toString());
            }
        }
    }

    /** Methods that may have been called on the function's object before: those that use the fields that it reaches. */
    private void remember() {
        JCTree.JCClassDecl home = target == null ? null : owners.get(target);
        if (target == null || target.restype == null || (target.mods.flags & Flags.STATIC) != 0) {
            return;
        }
        Set<String> fields = new HashSet<>();
        for (JCTree one : reached) {
            if (one instanceof JCTree.JCVariableDecl field && owners.get(one) == home && (field.mods.flags & Flags.STATIC) == 0) {
                fields.add(field.name.toString());
            }
        }
        for (JCTree one : members) {
            if (earlier.size() < MOST_EARLIER && one instanceof JCTree.JCMethodDecl other && other != target && other.body != null
                    && other.restype != null && !other.name.contentEquals("run") && owners.get(one) == home && (other.mods.flags & (Flags.STATIC | Flags.PRIVATE)) == 0) {
                Set<String> used = new HashSet<>();
                used(one, used);
                List<JCTree> called = members.stream().filter(inner -> inner instanceof JCTree.JCMethodDecl method
                        && owners.get(inner) == home && used.contains(method.name.toString())).toList();
                called.forEach(inner -> used(inner, used));
                if (used.stream().anyMatch(fields::contains) && used.stream().noneMatch(WAITING::contains)) {
                    earlier.add(other);
                    past.add(other);
                    past.addAll(called);
                }
            }
        }
    }

    private static String descriptor(Symbol.MethodSymbol symbol, Types types) {
        StringBuilder descriptor = new StringBuilder("(");
        Type external = symbol.externalType(types);
        for (Type one : external.getParameterTypes()) {
            descriptor.append(descriptor(types.erasure(one)));
        }
        return descriptor.append(')').append(symbol.isConstructor() ? "V" : descriptor(types.erasure(external.getReturnType()))).toString();
    }

    private static String descriptor(Type type) {
        if (type instanceof Type.ArrayType array) {
            return "[" + descriptor(array.elemtype);
        }
        return switch (type.getTag()) {
            case BOOLEAN -> "Z";
            case BYTE -> "B";
            case CHAR -> "C";
            case SHORT -> "S";
            case INT -> "I";
            case LONG -> "J";
            case FLOAT -> "F";
            case DOUBLE -> "D";
            case VOID -> "V";
            default -> "L" + type.tsym.flatName().toString().replace('.', '/') + ";";
        };
    }

    /** Gathers what a function compares, casts, catches and writes. */
    private final class Literals extends TreeScanner<Void, Void> {
        private final Plan plan;
        private final Types types;
        private final Set<Long> numbers = new LinkedHashSet<>();
        private final Set<Long> beside = new LinkedHashSet<>();
        private final Set<String> strings = new LinkedHashSet<>();
        private final Set<String> characters = new LinkedHashSet<>();
        private final Set<String> prefixes = new LinkedHashSet<>();
        private final Set<String> suffixes = new LinkedHashSet<>();
        private final Set<String> infixes = new LinkedHashSet<>();
        private final Set<Double> fractions = new LinkedHashSet<>();
        private final Set<String> classes = new LinkedHashSet<>();
        private final Set<String> caught = new LinkedHashSet<>();
        private final Set<Symbol> seen = new HashSet<>();

        Literals(Plan plan, Types types) {
            this.plan = plan;
            this.types = types;
        }

        @Override
        public Void visitLiteral(LiteralTree node, Void nothing) {
            value(node.getValue());
            return null;
        }

        private void value(Object value) {
            if (value instanceof Character c) {
                characters.add(c.toString());
            } else if (value instanceof Integer || value instanceof Long || value instanceof Short || value instanceof Byte) {
                long number = ((Number) value).longValue();
                numbers.add(number);
                beside.add(number + 1);
                beside.add(number - 1);
            } else if (value instanceof Number number) {
                fractions.add(number.doubleValue());
            } else if (value instanceof String text && text.length() <= 200) {
                strings.add(text);
                text.chars().limit(8).forEach(c -> characters.add(String.valueOf((char) c)));
            }
        }

        /** What a pattern is found in is as telling as the pattern itself. */
        @Override
        public Void visitMethodInvocation(MethodInvocationTree node, Void nothing) {
            Symbol called = TreeInfo.symbol(((JCTree.JCMethodInvocation) node).meth);
            if (called != null && node.getArguments().size() > 0) {
                sought(called.name.toString(), ((JCTree) node.getArguments().get(0)).type);
            }
            if (called != null && PATTERN_TAKERS.contains(called.name.toString()) && !node.getArguments().isEmpty()) {
                Type given = ((JCTree) node.getArguments().get(0)).type;
                if (given != null && given.constValue() instanceof String pattern && pattern.length() <= 200) {
                    strings.addAll(Examples.of(pattern));
                }
            }
            return super.visitMethodInvocation(node, nothing);
        }

        /** Note what is looked for in a text, and where. */
        private void sought(String method, Type given) {
            Object value = given == null ? null : given.constValue();
            String text = value instanceof Integer code && given.hasTag(com.sun.tools.javac.code.TypeTag.CHAR)
                    ? String.valueOf((char) code.intValue()) : value instanceof String one ? one : "";
            Set<String> all = switch (method) {
                case "startsWith" -> prefixes;
                case "endsWith" -> suffixes;
                case "contains", "indexOf", "lastIndexOf" -> infixes;
                case "split" -> text.matches("(?:\\\\[^\\w]|[^\\\\\\[(.*+?^$|])+") ? infixes : null;
                default -> null;
            };
            if (all != null && !text.isEmpty() && text.length() <= 100 && all.size() < MOST_LITERALS) {
                all.add(all == infixes ? text.replaceAll("\\\\(?=[^\\w])", "") : text);
            }
        }

        @Override
        public Void visitUnary(UnaryTree node, Void nothing) {
            if (node.getKind() == Tree.Kind.UNARY_MINUS && node.getExpression() instanceof LiteralTree literal
                    && literal.getValue() instanceof Integer number) {
                value(-number);
            }
            return super.visitUnary(node, nothing);
        }

        @Override
        public Void visitIdentifier(IdentifierTree node, Void nothing) {
            constant(((JCTree.JCIdent) node).sym);
            return super.visitIdentifier(node, nothing);
        }

        @Override
        public Void visitMemberSelect(MemberSelectTree node, Void nothing) {
            if (node.getIdentifier().contentEquals("class")) {
                type(((JCTree.JCFieldAccess) node).selected.type);
            }
            constant(((JCTree.JCFieldAccess) node).sym);
            return super.visitMemberSelect(node, nothing);
        }

        private void constant(Symbol symbol) {
            if (symbol instanceof Symbol.VarSymbol variable && seen.add(symbol) && variable.getConstValue() != null) {
                Object value = variable.getConstValue();
                if (variable.type.hasTag(com.sun.tools.javac.code.TypeTag.CHAR)) {
                    characters.add(String.valueOf((char) ((Integer) value).intValue()));
                } else if (!variable.type.hasTag(com.sun.tools.javac.code.TypeTag.BOOLEAN)) {
                    value(value);
                }
            }
        }

        @Override
        public Void visitTypeCast(TypeCastTree node, Void nothing) {
            type(((JCTree.JCTypeCast) node).clazz.type);
            return super.visitTypeCast(node, nothing);
        }

        @Override
        public Void visitInstanceOf(InstanceOfTree node, Void nothing) {
            JCTree pattern = ((JCTree.JCInstanceOf) node).pattern;
            type(pattern instanceof JCTree.JCBindingPattern binding ? binding.var.type : pattern.type);
            return super.visitInstanceOf(node, nothing);
        }

        @Override
        public Void visitCatch(CatchTree node, Void nothing) {
            Tree type = node.getParameter().getType();
            for (Tree one : type instanceof UnionTypeTree union ? union.getTypeAlternatives() : List.of(type)) {
                Type found = ((JCTree) one).type;
                if (found != null && found.tsym instanceof Symbol.ClassSymbol symbol) {
                    String name = symbol.flatName().toString();
                    caught.add(name.equals("java.lang.Throwable") || name.equals("java.lang.Exception") ? "java.lang.RuntimeException" : name);
                }
            }
            return super.visitCatch(node, nothing);
        }

        private void type(Type type) {
            if (type != null && !type.isPrimitive() && !type.isErroneous()) {
                Type erased = types.erasure(type);
                String name = erased instanceof Type.ArrayType ? descriptor(erased).replace('/', '.')
                        : erased.tsym.flatName().toString();
                if (!name.equals("java.lang.Object")) {
                    classes.add(name);
                }
            }
        }

        void finish(Stubs stubs) {
            for (Stubs.StubType type : stubs.types.values()) {
                for (Stubs.Member member : type.members.values()) {
                    if (member.constant != null) {
                        numbers.add((long) member.constant);
                    }
                }
            }
            if (names.contains("forName") || names.contains("loadClass")) {
                strings.addAll(CLASS_NAMES);
                classes.stream().filter(name -> !name.startsWith("[")).forEach(strings::add);
            }
            for (String told : TOLD_BY_NAME) {
                List<String> words = List.of(told.split(" "));
                if (names.contains(words.get(0))) {
                    strings.addAll(words.subList(1, words.size()));
                }
            }
            characters.forEach(c -> numbers.add((long) c.charAt(0)));
            numbers.stream().limit(MOST_LITERALS).forEach(plan.numbers::add);
            plan.literals = plan.numbers.size();
            beside.removeAll(numbers);
            beside.stream().limit(MOST_LITERALS).forEach(plan.numbers::add);
            strings.stream().limit(MOST_LITERALS).forEach(plan.strings::add);
            characters.stream().limit(MOST_LITERALS).forEach(plan.characters::add);
            plan.prefixes.addAll(prefixes);
            plan.suffixes.addAll(suffixes);
            plan.infixes.addAll(infixes);
            fractions.stream().limit(MOST_LITERALS).forEach(plan.fractions::add);
            classes.stream().limit(MOST_LITERALS).forEach(plan.types::add);
            caught.stream().limit(8).forEach(plan.caught::add);
        }
    }
}
