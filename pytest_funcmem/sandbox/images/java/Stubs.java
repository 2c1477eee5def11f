package funcmem.harness;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The made-up types of a scaffold, and their text: one line for each member, so that errors name a member. */
final class Stubs {
    private static final String BODY = " { throw funcmem.harness.Made.up(); }";

    /** What a constant that the compiler knows can be. */
    static final Set<String> CONSTANT = Set.of("int", "char", "long", "short", "byte", "String", "java.lang.String");

    final Map<String, StubType> types = new LinkedHashMap<>();

    enum Kind { CLASS, INTERFACE, ENUM, ANNOTATION }

    /** A made-up field, or a method without parameters of its own; a null type is what the place of use wants. */
    static final class Member {
        final String name;
        final boolean isMethod;
        boolean isStatic;
        String type;
        Integer constant;
        String parameters = "Object... arguments";
        final Set<String> thrown = new LinkedHashSet<>();
        final List<String> tried = new ArrayList<>();

        Member(String name, boolean isMethod) {
            this.name = name;
            this.isMethod = isMethod;
        }

        /** Give it another type; false where that was tried before. */
        boolean retype(String next) {
            if (next != null && next.equals(type) || tried.contains(String.valueOf(next))) {
                if (isMethod && type != null && !tried.contains("null")) {
                    tried.add("null");
                    type = null;
                    return true;
                }
                return false;
            }
            tried.add(String.valueOf(next));
            type = next;
            if (next == null || !CONSTANT.contains(next)) {
                constant = null;
            }
            return true;
        }
    }

    /** A made-up type. */
    static final class StubType {
        final String packageName;
        final String name;
        final StubType outer;
        Kind kind = Kind.CLASS;
        int arity;
        String superType;
        final Set<String> interfaces = new LinkedHashSet<>();
        final Map<String, Member> members = new LinkedHashMap<>();
        final Set<String> constants = new LinkedHashSet<>();
        final Set<String> extra = new LinkedHashSet<>();
        final Set<String> constructors = new LinkedHashSet<>();
        final Map<String, StubType> nested = new LinkedHashMap<>();

        StubType(String packageName, StubType outer, String name) {
            this.packageName = packageName;
            this.outer = outer;
            this.name = name;
        }

        String qualified() {
            return outer != null ? outer.qualified() + "." + name : packageName.isEmpty() ? name : packageName + "." + name;
        }

        Member member(String member, boolean isMethod) {
            return members.get((isMethod ? "m " : "f ") + member);
        }

        Member add(Member member) {
            members.put((member.isMethod ? "m " : "f ") + member.name + (member.parameters.startsWith("Object...") ? "" : " " + member.parameters), member);
            return member;
        }
    }

    StubType find(String qualified) {
        return types.get(qualified);
    }

    StubType add(String packageName, StubType outer, String name) {
        StubType type = new StubType(packageName, outer, name);
        StubType known = types.get(type.qualified());
        if (known != null) {
            return known;
        }
        types.put(type.qualified(), type);
        if (outer != null) {
            outer.nested.put(name, type);
        }
        return type;
    }

    /** The sources by unit name. */
    Map<String, String> sources() {
        Map<String, String> units = new TreeMap<>();
        for (StubType type : types.values()) {
            if (type.outer == null) {
                StringBuilder out = new StringBuilder();
                if (!type.packageName.isEmpty()) {
                    out.append("package ").append(type.packageName).append("; ");
                }
                write(type, out);
                units.put("stubs/" + type.qualified().replace('.', '/') + ".java", out.toString());
            }
        }
        return units;
    }

    private static String parameters(StubType type) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < type.arity; i++) {
            out.append(i == 0 ? "<" : ", ").append("T").append(i);
        }
        return out.append(type.arity > 0 ? ">" : "").toString();
    }

    private static void write(StubType type, StringBuilder out) {
        out.append(type.outer == null ? "public " : "public static ");
        String name = type.name;
        switch (type.kind) {
            case ANNOTATION -> {
                out.append("@interface ").append(name).append(" {\n");
                for (Member member : type.members.values()) {
                    out.append(member.type == null ? "String" : member.type).append(' ').append(member.name).append("();\n");
                }
                out.append("}\n");
                return;
            }
            case ENUM -> out.append("enum ").append(name);
            case INTERFACE -> out.append("interface ").append(name).append(parameters(type));
            default -> out.append("class ").append(name).append(parameters(type));
        }
        if (type.superType != null && type.kind == Kind.CLASS) {
            out.append(" extends ").append(type.superType);
        }
        Set<String> interfaces = new LinkedHashSet<>(type.interfaces);
        if (type.superType != null && type.kind == Kind.INTERFACE) {
            interfaces.add(type.superType);
        }
        if (!interfaces.isEmpty()) {
            out.append(type.kind == Kind.INTERFACE ? " extends " : " implements ").append(String.join(", ", interfaces));
        }
        out.append(" {\n");
        if (type.kind == Kind.ENUM) {
            out.append(String.join(", ", type.constants)).append(";\n");
        } else if (type.kind == Kind.CLASS) {
            out.append("public ").append(name).append("(Object... arguments) { funcmem.harness.World.created(this, arguments); }\n");
            type.constructors.forEach(one -> out.append(one).append('\n'));
        }
        for (Member member : type.members.values()) {
            boolean isConstant = type.kind == Kind.ENUM && !member.isMethod && type.constants.contains(member.name);
            if (isConstant) {
                out.append('\n');
            } else {
                write(type, member, out);
            }
        }
        type.extra.forEach(one -> out.append(one).append('\n'));
        for (StubType nested : type.nested.values()) {
            write(nested, out);
        }
        out.append("}\n");
    }

    private static void write(StubType type, Member member, StringBuilder out) {
        String shown = member.type == null ? "Object" : member.type;
        if (!member.isMethod) {
            if (member.constant != null) {
                out.append("public static final ").append(shown).append(' ').append(member.name).append(" = ")
                        .append(shown.equals("String") || shown.equals("java.lang.String") ? "\"" + member.name + "\"" : "(" + shown + ") " + member.constant).append(";\n");
            } else {
                boolean isStatic = member.isStatic || type.kind == Kind.INTERFACE;
                String value = type.kind == Kind.INTERFACE ? " = (" + shown + ") funcmem.harness.World.constant(" + shown.replaceAll("<.*>", "") + ".class)" : "";
                out.append("public ").append(isStatic ? "static " : "").append(shown).append(' ').append(member.name).append(value).append(";\n");
            }
            return;
        }
        out.append("public ");
        if (member.isStatic) {
            out.append("static ");
        } else if (type.kind == Kind.INTERFACE) {
            out.append("default ");
        }
        // What overrides a method of all objects has no type parameter.
        String free = member.name.equals("clone") && member.parameters.isEmpty() ? "Object" : "<R> R";
        out.append(member.type == null ? free : member.type).append(' ').append(member.name).append('(').append(member.parameters).append(')');
        if (!member.thrown.isEmpty()) {
            out.append(" throws ").append(String.join(", ", member.thrown));
        }
        out.append(BODY).append('\n');
    }

    /** The member that a line of a unit declares; the lines are those of {@link #sources}. */
    Member memberAt(String unit, long line) {
        for (StubType type : types.values()) {
            if (type.outer == null && unit.equals("stubs/" + type.qualified().replace('.', '/') + ".java")) {
                return memberAt(type, new long[] {line});
            }
        }
        return null;
    }

    private static Member memberAt(StubType type, long[] left) {
        left[0]--; // the line that opens the type
        if (type.kind == Kind.ENUM || type.kind == Kind.CLASS) {
            left[0]--;
        }
        if (type.kind == Kind.CLASS) {
            left[0] -= type.constructors.size();
        }
        for (Member member : type.members.values()) {
            if (--left[0] == 0) {
                return member;
            }
        }
        left[0] -= type.extra.size();
        for (StubType nested : type.nested.values()) {
            Member found = memberAt(nested, left);
            if (found != null || left[0] <= 0) {
                return found;
            }
        }
        left[0]--; // the line that closes it
        return null;
    }
}
