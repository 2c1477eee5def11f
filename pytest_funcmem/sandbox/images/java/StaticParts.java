package funcmem.harness;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.IincInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LookupSwitchInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Lets a static initialiser go on where one of its parts raises, as those do that want a file, a library or a machine
 * that is not there: else nothing of the class could be run. A part ends where a field was set, or a statement's
 * value dropped, and nothing of it is needed afterwards.
 */
final class StaticParts {
    private static final String WORLD = "funcmem/harness/World";

    private final String owner;
    private final MethodNode method;
    private final AbstractInsnNode[] all;
    private final Map<AbstractInsnNode, Integer> places = new HashMap<>();
    /** For each instruction, how many things span the cut before it: differences, to be summed up. */
    private final int[] spanning;

    private StaticParts(String owner, MethodNode method) {
        this.owner = owner;
        this.method = method;
        this.all = method.instructions.toArray();
        this.spanning = new int[all.length + 2];
        for (int i = 0; i < all.length; i++) {
            places.put(all[i], i);
        }
    }

    /** Guard the parts of an initialiser, whose frames are all whole. */
    static void guard(String owner, MethodNode method) {
        new StaticParts(owner, method).guard();
    }

    private void guard() {
        int end = -1;
        for (int i = 0; i < all.length; i++) {
            if (all[i].getOpcode() == Opcodes.RETURN) {
                if (end >= 0) {
                    return;
                }
                end = i;
            }
        }
        jumps();
        variables();
        List<Integer> cuts = new ArrayList<>();
        int open = 0;
        for (int i = 0; i <= end; i++) {
            open += spanning[i];
            if (open == 0 && (i == end || i > 0 && ends(all[i - 1]))) {
                cuts.add(i);
            }
        }
        if (cuts.isEmpty() || cuts.get(cuts.size() - 1) != end) {
            return;
        }
        AbstractInsnNode first = all[0];
        for (int cut : cuts) {
            guard(first, all[cut], cut > 0 ? all[cut - 1] : null);
            first = all[cut];
        }
    }

    /** Whether an instruction ends a statement, with nothing left to be used. */
    private boolean ends(AbstractInsnNode one) {
        AbstractInsnNode before = one.getPrevious();
        return switch (one.getOpcode()) {
            case Opcodes.PUTSTATIC -> ((FieldInsnNode) one).owner.equals(owner)
                    && (before.getOpcode() < Opcodes.DUP || before.getOpcode() > Opcodes.DUP2_X2);
            case Opcodes.POP, Opcodes.POP2 -> true;
            case Opcodes.INVOKESTATIC, Opcodes.INVOKEVIRTUAL, Opcodes.INVOKEINTERFACE -> ((MethodInsnNode) one).desc.endsWith(")V");
            default -> false;
        };
    }

    private void span(int from, int to) {
        spanning[Math.min(from, to) + 1]++;
        spanning[Math.max(from, to) + 1]--;
    }

    private void jumps() {
        for (int i = 0; i < all.length; i++) {
            List<LabelNode> targets = new ArrayList<>();
            if (all[i] instanceof JumpInsnNode jump) {
                targets.add(jump.label);
            } else if (all[i] instanceof TableSwitchInsnNode choice) {
                targets.addAll(choice.labels);
                targets.add(choice.dflt);
            } else if (all[i] instanceof LookupSwitchInsnNode choice) {
                targets.addAll(choice.labels);
                targets.add(choice.dflt);
            }
            for (LabelNode target : targets) {
                span(i, places.get(target));
            }
        }
        for (TryCatchBlockNode block : method.tryCatchBlocks) {
            int start = places.get(block.start);
            span(start, places.get(block.end));
            span(start, places.get(block.handler));
        }
    }

    /** No cut parts a variable's use, or a frame that names it, from where it was set last. */
    private void variables() {
        Map<Integer, Integer> set = new HashMap<>();
        for (int i = 0; i < all.length; i++) {
            if (all[i] instanceof VarInsnNode one && one.getOpcode() >= Opcodes.ISTORE && one.getOpcode() <= Opcodes.ASTORE) {
                set.put(one.var, i);
            } else if (all[i] instanceof VarInsnNode one) {
                span(set.getOrDefault(one.var, 0), i);
            } else if (all[i] instanceof IincInsnNode one) {
                span(set.getOrDefault(one.var, 0), i);
            } else if (all[i] instanceof FrameNode frame && frame.local != null) {
                int slot = 0;
                for (Object type : frame.local) {
                    if (type != Opcodes.TOP) {
                        span(set.getOrDefault(slot, 0), i);
                    }
                    slot += type == Opcodes.LONG || type == Opcodes.DOUBLE ? 2 : 1;
                }
            }
        }
    }

    private void guard(AbstractInsnNode first, AbstractInsnNode behind, AbstractInsnNode last) {
        AbstractInsnNode one = first;
        while (one != behind && one.getOpcode() < 0) {
            one = one.getNext();
        }
        if (one == behind) {
            return; // nothing runs there
        }
        LabelNode start = new LabelNode();
        LabelNode stop = new LabelNode();
        LabelNode handler = new LabelNode();
        LabelNode next = new LabelNode();
        InsnList code = method.instructions;
        code.insertBefore(first, start);
        InsnList after = new InsnList();
        after.add(stop);
        after.add(new JumpInsnNode(Opcodes.GOTO, next));
        after.add(handler);
        after.add(new FrameNode(Opcodes.F_NEW, 0, new Object[0], 1, new Object[] {"java/lang/Throwable"}));
        after.add(new MethodInsnNode(Opcodes.INVOKESTATIC, WORLD, "failed", "(Ljava/lang/Throwable;)V"));
        if (last instanceof FieldInsnNode field && field.getOpcode() == Opcodes.PUTSTATIC && Type.getType(field.desc).getSort() >= Type.ARRAY) {
            Type type = Type.getType(field.desc);
            after.add(new LdcInsnNode(type));
            after.add(new LdcInsnNode("static " + owner + "." + field.name));
            after.add(new MethodInsnNode(Opcodes.INVOKESTATIC, WORLD, "instead", "(Ljava/lang/Class;Ljava/lang/String;)Ljava/lang/Object;"));
            after.add(new TypeInsnNode(Opcodes.CHECKCAST, type.getInternalName()));
            after.add(new FieldInsnNode(Opcodes.PUTSTATIC, field.owner, field.name, field.desc));
        }
        after.add(next);
        after.add(new FrameNode(Opcodes.F_NEW, 0, new Object[0], 0, new Object[0]));
        code.insertBefore(behind, after);
        method.tryCatchBlocks.add(new TryCatchBlockNode(start, stop, handler, "java/lang/Throwable"));
    }
}
