package funcmem.harness;

import com.sun.source.tree.CatchTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.InstanceOfTree;
import com.sun.source.tree.LiteralTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.TypeCastTree;
import com.sun.source.tree.UnaryTree;
import com.sun.source.tree.UnionTypeTree;
import com.sun.source.util.TreeScanner;
import com.sun.tools.javac.code.Symbol;
import com.sun.tools.javac.code.Type;
import com.sun.tools.javac.code.Types;
import com.sun.tools.javac.tree.JCTree;
import com.sun.tools.javac.tree.TreeInfo;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Gathers what a function compares, casts, catches and writes. */
final class Literals extends TreeScanner<Void, Void> {
    private static final int MOST = 40;
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

    private final Plan plan;
    private final Types types;
    /** Names that the function reaches. */
    private final Set<String> names;
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

    Literals(Plan plan, Types types, Set<String> names) {
        this.plan = plan;
        this.types = types;
        this.names = names;
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
        if (all != null && !text.isEmpty() && text.length() <= 100 && all.size() < MOST) {
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

    /** A number that a character is compared with is one. */
    @Override
    public Void visitBinary(com.sun.source.tree.BinaryTree node, Void nothing) {
        JCTree.JCBinary binary = (JCTree.JCBinary) node;
        for (JCTree.JCExpression one : List.of(binary.lhs, binary.rhs)) {
            JCTree.JCExpression other = one == binary.lhs ? binary.rhs : binary.lhs;
            if (other.type != null && other.type.hasTag(com.sun.tools.javac.code.TypeTag.CHAR) && one.type != null
                    && one.type.constValue() instanceof Integer code && code > 0 && code < 0xFFFF) {
                characters.add(String.valueOf((char) code.intValue()));
                characters.add(String.valueOf((char) (code + 1)));
            }
        }
        return super.visitBinary(node, nothing);
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

    /** What an array is made of may be put there from a container that does not tell what it holds. */
    @Override
    public Void visitNewArray(com.sun.source.tree.NewArrayTree node, Void nothing) {
        if (node.getType() != null && !node.getDimensions().isEmpty()) {
            type(((JCTree) node.getType()).type);
        }
        return super.visitNewArray(node, nothing);
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
            String name = erased instanceof Type.ArrayType ? Reading.descriptor(erased).replace('/', '.')
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
        numbers.stream().limit(MOST).forEach(plan.numbers::add);
        plan.literals = plan.numbers.size();
        beside.removeAll(numbers);
        beside.stream().limit(MOST).forEach(plan.numbers::add);
        strings.stream().limit(MOST).forEach(plan.strings::add);
        characters.stream().limit(3 * MOST).forEach(plan.characters::add);
        plan.prefixes.addAll(prefixes);
        plan.suffixes.addAll(suffixes);
        plan.infixes.addAll(infixes);
        fractions.stream().limit(MOST).forEach(plan.fractions::add);
        classes.stream().limit(MOST).forEach(plan.types::add);
        caught.stream().limit(8).forEach(plan.caught::add);
    }
}
