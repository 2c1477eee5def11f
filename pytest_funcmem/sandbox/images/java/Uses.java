package funcmem.harness;

import com.sun.source.tree.Tree;
import com.sun.source.util.TreeScanner;
import com.sun.tools.javac.code.Flags;
import com.sun.tools.javac.code.Symbol;
import com.sun.tools.javac.code.Type;
import com.sun.tools.javac.code.TypeTag;
import com.sun.tools.javac.tree.JCTree;
import com.sun.tools.javac.tree.TreeInfo;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads off an attributed file what the place of an expression wants of it. */
final class Uses {
    static final String VOID = "void";
    /** The place selects something of it: it is of a type yet to be made up. */
    static final String FRESH = "?fresh";
    /** The place switches over names: it is of an enumeration yet to be made up. */
    static final String ENUM = "?enum";
    private static final Set<String> OF_STRING = Set.of("trim", "substring", "startsWith", "endsWith", "charAt",
            "toLowerCase", "toUpperCase", "equalsIgnoreCase", "indexOf", "lastIndexOf", "split", "replace", "replaceAll",
            "matches", "toCharArray", "concat", "intern", "getBytes", "compareToIgnoreCase", "codePointAt", "isBlank", "strip");
    private static final Set<String> OF_LIST = Set.of("size", "iterator", "get", "add", "addAll", "stream", "toArray", "isEmpty", "remove", "clear");
    private static final Set<String> OF_MAP = Set.of("put", "containsKey", "keySet", "entrySet", "values", "putAll");

    private final Map<Tree, JCTree> parents = new IdentityHashMap<>();
    /** All trees, outer before inner. */
    private final List<JCTree> trees = new ArrayList<>();
    private final String packageName;

    Uses(JCTree.JCCompilationUnit unit) {
        packageName = unit.getPackageName() == null ? "" : unit.getPackageName().toString();
        new TreeScanner<Void, JCTree>() {
            @Override
            public Void scan(Tree tree, JCTree parent) {
                if (tree != null) {
                    parents.put(tree, parent);
                    trees.add((JCTree) tree);
                    super.scan(tree, (JCTree) tree);
                }
                return null;
            }
        }.scan(unit, null);
    }

    /** Whether a name is selected somewhere from a type of this simple name. */
    boolean isNamedWith(String type, String name) {
        for (JCTree tree : trees) {
            if (tree instanceof JCTree.JCFieldAccess select && select.name.contentEquals(name)
                    && TreeInfo.name(select.selected) != null && TreeInfo.name(select.selected).contentEquals(type)) {
                return true;
            }
        }
        return false;
    }

    /** Whether the platform is asked to implement a type of this simple name, as it does for interfaces alone. */
    boolean isProxied(String type) {
        for (JCTree tree : trees) {
            if (tree instanceof JCTree.JCFieldAccess literal && literal.name.contentEquals("class")
                    && TreeInfo.name(literal.selected) != null && TreeInfo.name(literal.selected).contentEquals(type)
                    && parent(literal) instanceof JCTree.JCNewArray array && parent(array) instanceof JCTree.JCMethodInvocation call
                    && TreeInfo.name(call.meth).contentEquals("newProxyInstance")) {
                return true;
            }
        }
        return false;
    }

    /** The innermost tree at a position, where the compiler names none; null where there is none. */
    JCTree at(int position) {
        JCTree found = null;
        for (JCTree tree : trees) {
            if (tree.pos == position && !(tree instanceof JCTree.JCModifiers)
                    && (found == null || TreeInfo.getStartPos(tree) > TreeInfo.getStartPos(found) || enclosing(tree, found.getClass()) == found)) {
                found = tree;
            }
        }
        return found;
    }

    /** The first place where a name stands alone; null where there is none. */
    JCTree named(String name) {
        for (JCTree tree : trees) {
            if (tree instanceof JCTree.JCIdent ident && ident.name.contentEquals(name)) {
                return tree;
            }
        }
        return null;
    }

    JCTree parent(Tree tree) {
        return parents.get(tree);
    }

    <T extends JCTree> T enclosing(Tree tree, Class<T> kind) {
        for (JCTree one = parents.get(tree); one != null; one = parents.get(one)) {
            if (kind.isInstance(one)) {
                return kind.cast(one);
            }
        }
        return null;
    }

    /** The text of a type as any other file can write it; null where none can. */
    String text(Type type) {
        if (type == null || type.isErroneous() || type.hasTag(TypeTag.NONE) || type.hasTag(TypeTag.DEFERRED)) {
            return null;
        }
        if (type.isPrimitive() || type.hasTag(TypeTag.VOID)) {
            return type.toString();
        }
        if (type.hasTag(TypeTag.BOT)) {
            return null;
        }
        if (type instanceof Type.ArrayType array) {
            String item = text(array.elemtype);
            return item == null ? null : item + "[]";
        }
        if (type.hasTag(TypeTag.TYPEVAR) || type.hasTag(TypeTag.WILDCARD)) {
            return text(type.getUpperBound());
        }
        if (!(type instanceof Type.ClassType) || type.isCompound() || type.tsym.name.isEmpty()) {
            return null;
        }
        for (Symbol one = type.tsym; one != null && one.kind != com.sun.tools.javac.code.Kinds.Kind.PCK; one = one.owner) {
            boolean isOpen = (one.flags() & Flags.PUBLIC) != 0 || one.owner.kind == com.sun.tools.javac.code.Kinds.Kind.TYP && (one.owner.flags() & Flags.INTERFACE) != 0;
            boolean isNear = (one.flags() & Flags.PRIVATE) == 0 && one.packge().fullname.toString().equals(packageName);
            if (!(one instanceof Symbol.ClassSymbol) || !isOpen && !isNear || one.packge().fullname.isEmpty() && !packageName.isEmpty()) {
                return null;
            }
        }
        StringBuilder out = new StringBuilder(type.tsym.getQualifiedName().toString());
        if (type.getTypeArguments().nonEmpty() && !type.getEnclosingType().isParameterized()) {
            StringBuilder arguments = new StringBuilder();
            for (Type one : type.getTypeArguments()) {
                String argument = one.hasTag(TypeTag.TYPEVAR) ? null : text(one);
                if (argument == null || one.isPrimitive()) {
                    return out.toString();
                }
                arguments.append(arguments.length() > 0 ? ", " : "").append(argument);
            }
            out.append('<').append(arguments).append('>');
        }
        return out.toString();
    }

    /** What the place of an expression wants: the text of a type, one of the constants here, or null. */
    String wanted(JCTree tree, String name) {
        JCTree parent = parents.get(tree);
        if (parent instanceof JCTree.JCParens) {
            return wanted(parent, name);
        }
        if (parent instanceof JCTree.JCVariableDecl variable) {
            return variable.vartype == null ? guess(name) : text(variable.vartype.type);
        }
        if (parent instanceof JCTree.JCAssign assign) {
            return orGuess(assign.lhs == tree ? assign.rhs.type : assign.lhs.type, name);
        }
        if (parent instanceof JCTree.JCReturn) {
            for (JCTree one = parent; one != null; one = parents.get(one)) {
                if (one instanceof JCTree.JCLambda) {
                    return guess(name);
                }
                if (one instanceof JCTree.JCMethodDecl method) {
                    return method.restype == null ? null : text(method.restype.type);
                }
            }
        }
        if (parent instanceof JCTree.JCIf || parent instanceof JCTree.JCWhileLoop || parent instanceof JCTree.JCDoWhileLoop
                || parent instanceof JCTree.JCForLoop || parent instanceof JCTree.JCAssert) {
            return "boolean";
        }
        if (parent instanceof JCTree.JCUnary unary) {
            return unary.hasTag(JCTree.Tag.NOT) ? "boolean" : "int";
        }
        if (parent instanceof JCTree.JCBinary binary) {
            return beside(binary, binary.lhs == tree ? binary.rhs : binary.lhs, name);
        }
        if (parent instanceof JCTree.JCAssignOp assign) {
            Type other = assign.lhs == tree ? assign.rhs.type : assign.lhs.type;
            return other == null || other.isErroneous() ? "int" : text(other);
        }
        if (parent instanceof JCTree.JCConditional conditional) {
            if (conditional.cond == tree) {
                return "boolean";
            }
            String outer = wanted(parent, name);
            return outer != null && outer.startsWith("?") ? guess(name) : outer;
        }
        if (parent instanceof JCTree.JCArrayAccess access) {
            if (access.index == tree) {
                return "int";
            }
            String item = wanted(parent, name);
            return item == null || item.startsWith("?") || item.equals(VOID) ? "Object[]" : item + "[]";
        }
        if (parent instanceof JCTree.JCFieldAccess select) {
            return selected(select);
        }
        if (parent instanceof JCTree.JCMethodInvocation call) {
            String like = compared(call);
            return like != null ? like : argument(TreeInfo.symbol(call.meth), call.args.indexOf((JCTree.JCExpression) tree), name);
        }
        if (parent instanceof JCTree.JCNewClass created) {
            return argument(created.constructor, created.args.indexOf((JCTree.JCExpression) tree), name);
        }
        if (parent instanceof JCTree.JCEnhancedForLoop loop) {
            String item = loop.var.vartype == null ? null : text(loop.var.vartype.type);
            return item == null ? "java.util.List<Object>" : loop.var.vartype.type.isPrimitive() ? item + "[]" : "java.util.List<" + item + ">";
        }
        if (parent instanceof JCTree.JCSwitch choice) {
            return cases(choice.cases);
        }
        if (parent instanceof JCTree.JCSwitchExpression choice) {
            return cases(choice.cases);
        }
        if (parent instanceof JCTree.JCTypeCast cast) {
            return text(cast.clazz.type);
        }
        if (parent instanceof JCTree.JCInstanceOf || parent instanceof JCTree.JCSynchronized) {
            return "Object";
        }
        if (parent instanceof JCTree.JCThrow) {
            return "RuntimeException";
        }
        if (parent instanceof JCTree.JCExpressionStatement) {
            return VOID;
        }
        if (parent instanceof JCTree.JCNewArray array) {
            return array.dims.contains(tree) ? "int" : array.elemtype == null ? guess(name) : text(array.elemtype.type);
        }
        if (parent instanceof JCTree.JCCase || parent != null && parent.hasTag(JCTree.Tag.CASE)) {
            return "int";
        }
        return guess(name);
    }

    private String orGuess(Type type, String name) {
        return type == null || type.isErroneous() || type.hasTag(TypeTag.BOT) ? guess(name) : text(type);
    }

    private String beside(JCTree.JCBinary binary, JCTree.JCExpression other, String name) {
        Type type = other.type;
        boolean isKnown = type != null && !type.isErroneous() && !type.hasTag(TypeTag.BOT);
        return switch (binary.getTag()) {
            case AND, OR -> "boolean";
            case EQ, NE -> isKnown ? text(type) : type != null && type.hasTag(TypeTag.BOT) ? primitive(guess(name)) ? "Object" : guess(name) : guess(name);
            case PLUS -> isKnown && type.isPrimitive() ? text(type) : isKnown ? "String" : guess(name);
            default -> isKnown && type.isPrimitive() ? text(type) : "int";
        };
    }

    /** The class of the values of a type that is written so, where it is a primitive one. */
    static String boxed(String type) {
        return !primitive(type) ? type : type.equals("int") ? "Integer" : type.equals("char") ? "Character"
                : Character.toUpperCase(type.charAt(0)) + type.substring(1);
    }

    static boolean primitive(String type) {
        return Set.of("int", "boolean", "long", "double", "char", "byte", "short", "float").contains(type);
    }

    private String selected(JCTree.JCFieldAccess select) {
        String name = select.name.toString();
        boolean isCall = parents.get(select) instanceof JCTree.JCMethodInvocation call && call.meth == select;
        if (!isCall) {
            return name.equals("length") ? "Object[]" : FRESH;
        }
        int count = ((JCTree.JCMethodInvocation) parents.get(select)).args.size();
        if (OF_STRING.contains(name) || name.equals("length") || name.equals("equals")) {
            return "String";
        }
        if (OF_MAP.contains(name) && (count < 3)) {
            return "java.util.Map<String, Object>";
        }
        boolean takesOne = name.equals("get") || name.equals("add") || name.equals("addAll") || name.equals("remove");
        if (OF_LIST.contains(name) && count < 2 && (count == 1) == takesOne | name.equals("toArray")) {
            return "java.util.List<Object>";
        }
        return switch (name) {
            case "append" -> "StringBuilder";
            case "hasNext", "next" -> "java.util.Iterator<Object>";
            case "hasMoreElements", "nextElement" -> "java.util.Enumeration<Object>";
            case "intValue", "longValue", "doubleValue" -> "Number";
            default -> FRESH;
        };
    }

    /** The type of what something is asked to equal; null where that is no such call. */
    private String compared(JCTree.JCMethodInvocation call) {
        boolean isCompared = call.args.size() == 1 && call.meth instanceof JCTree.JCFieldAccess select && select.name.contentEquals("equals");
        String type = isCompared ? text(((JCTree.JCFieldAccess) call.meth).selected.type) : null;
        return "java.lang.Object".equals(type) ? null : type;
    }

    private String argument(Symbol called, int place, String name) {
        if (called instanceof Symbol.MethodSymbol method && place >= 0 && method.type != null && !method.type.isErroneous()) {
            com.sun.tools.javac.util.List<Type> types = method.type.getParameterTypes();
            if (method.isVarArgs() && place >= types.size() - 1) {
                Type last = types.last();
                String item = last instanceof Type.ArrayType array ? text(array.elemtype) : null;
                return item == null || item.equals("java.lang.Object") ? guess(name) : item;
            }
            if (place < types.size()) {
                String found = text(types.get(place));
                return found == null || found.equals("java.lang.Object") ? guess(name) : found;
            }
        }
        return guess(name);
    }

    private static String cases(com.sun.tools.javac.util.List<JCTree.JCCase> cases) {
        for (JCTree.JCCase one : cases) {
            for (JCTree label : one.labels) {
                if (label instanceof JCTree.JCLiteral literal) {
                    return literal.typetag == TypeTag.CLASS ? "String" : literal.typetag == TypeTag.CHAR ? "char" : "int";
                }
                if (label instanceof JCTree.JCFieldAccess) {
                    return "int";
                }
                if (label instanceof JCTree.JCIdent) {
                    return label.type != null && !label.type.isErroneous() ? label.type.baseType().toString() : ENUM;
                }
            }
        }
        return "int";
    }

    /** A type that a name suggests. */
    static String guess(String name) {
        if (name.matches("(is|has|can|should|contains|exists|equals|matches|supports|accepts|was|are|will)([A-Z].*)?")) {
            return "boolean";
        }
        String last = name.replaceAll(".*(?=[A-Z][a-z]+$)", "").toLowerCase(java.util.Locale.ROOT);
        if (Set.of("size", "count", "length", "index", "num", "width", "height", "offset", "position", "compare", "depth",
                "level", "line", "column", "hash", "code", "read", "max", "min", "total", "number", "x", "y").contains(last)) {
            return "int";
        }
        return name.matches("[A-Z][A-Z0-9_]+") ? "int" : "String";
    }
}
