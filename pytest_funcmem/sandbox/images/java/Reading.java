package funcmem.harness;

import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.MemberReferenceTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.UnaryTree;
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

/** What a parsed file says: its members, and which of them the function reaches by name. */
final class Reading {
    private static final int MOST_LITERALS = 40;
    private static final int MOST_EARLIER = 12;
    /** What a method that may never come back calls. */
    private static final Set<String> WAITING = Set.of("wait", "await", "join", "take", "start");

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

    /** Names of what methods set, those among them that nothing will be left of included. */
    Set<String> assigned() {
        Set<String> found = new HashSet<>();
        for (JCTree one : members) {
            if (one instanceof JCTree.JCMethodDecl) {
                new TreeScanner<Void, Void>() {
                    @Override
                    public Void visitAssignment(com.sun.source.tree.AssignmentTree node, Void nothing) {
                        return set(node.getVariable(), super.visitAssignment(node, nothing));
                    }

                    @Override
                    public Void visitCompoundAssignment(com.sun.source.tree.CompoundAssignmentTree node, Void nothing) {
                        return set(node.getVariable(), super.visitCompoundAssignment(node, nothing));
                    }

                    @Override
                    public Void visitUnary(UnaryTree node, Void nothing) {
                        return set(node.getExpression(), super.visitUnary(node, nothing));
                    }

                    private Void set(Tree variable, Void nothing) {
                        if (TreeInfo.name((JCTree) variable) != null) {
                            found.add(TreeInfo.name((JCTree) variable).toString());
                        }
                        return nothing;
                    }
                }.scan(one, null);
            }
        }
        return found;
    }

    /** Write down where the function is and what its values are made from. The file is attributed by now. */
    void fill(Plan plan, BasicJavacTask task, Stubs stubs) {
        Types types = Types.instance(task.getContext());
        Symbol.MethodSymbol symbol = target.sym;
        plan.type = symbol.owner.flatName().toString();
        plan.method = symbol.name.toString();
        plan.descriptor = descriptor(symbol, types);
        Literals literals = new Literals(plan, types, names);
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
            if (one instanceof JCTree.JCMethodDecl constructor && constructor.restype == null && owners.get(one) == home) {
                past.add(one);
            }
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

    static String descriptor(Type type) {
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
}
