package funcmem.harness;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.IntInsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Rewrites the classes of a program: probes for lines and steps, made-up bodies that record, and the platform's
 * clock and chance replaced by those of the input state.
 */
final class Instrumentation {
    private static final String HERE = "funcmem/harness/";
    private static final String WORLD = HERE + "World";
    private static final String SECURE = "java/security/SecureRandom";
    private static final String FIXED = HERE + "FixedRandom";
    private static final Set<String> RAISED_BY_THE_MACHINE = Set.of(
            "java/lang/NullPointerException", "java/lang/ArithmeticException", "java/lang/ClassCastException",
            "java/lang/ArrayIndexOutOfBoundsException", "java/lang/NegativeArraySizeException",
            "java/lang/ArrayStoreException", "java/lang/StackOverflowError", "java/lang/OutOfMemoryError",
            "java/lang/NoClassDefFoundError", "java/lang/IncompatibleClassChangeError",
            "java/lang/AbstractMethodError", "java/lang/ExceptionInInitializerError");
    private static final Map<String, String> REPLACED = new HashMap<>();

    static {
        REPLACED.put("java/lang/System.exit(I)V", "World.exit");
        REPLACED.put("java/lang/System.getenv(Ljava/lang/String;)Ljava/lang/String;", "World.environment");
        REPLACED.put("java/lang/System.getProperty(Ljava/lang/String;)Ljava/lang/String;", "World.property");
        REPLACED.put("java/lang/System.getProperty(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;", "World.property");
        REPLACED.put("java/lang/Boolean.getBoolean(Ljava/lang/String;)Z", "World.flag");
        REPLACED.put("java/lang/System.getenv()Ljava/util/Map;", "World.environment");
        REPLACED.put("java/lang/Thread.sleep(J)V", "World.sleep");
        REPLACED.put("java/lang/System.currentTimeMillis()J", "Now.currentTimeMillis");
        REPLACED.put("java/lang/System.nanoTime()J", "Now.nanoTime");
        REPLACED.put("java/time/Clock.systemUTC()Ljava/time/Clock;", "Now.clock");
        REPLACED.put("java/time/Clock.systemDefaultZone()Ljava/time/Clock;", "Now.clock");
        REPLACED.put("java/time/Clock.system(Ljava/time/ZoneId;)Ljava/time/Clock;", "Now.clock");
        for (String given : new String[] {"", "Ljava/util/TimeZone;", "Ljava/util/Locale;",
                "Ljava/util/TimeZone;Ljava/util/Locale;"}) {
            REPLACED.put("java/util/Calendar.getInstance(" + given + ")Ljava/util/Calendar;", "Now.calendar");
        }
        String own = "java/util/concurrent/ThreadLocalRandom";
        REPLACED.put(own + ".current()L" + own + ";", "Chance.ownGenerator");
        REPLACED.put(SECURE + ".getInstance(Ljava/lang/String;)L" + SECURE + ";", "Chance.secure");
        REPLACED.put(SECURE + ".getInstanceStrong()L" + SECURE + ";", "Chance.secure");
        REPLACED.put("java/lang/Math.random()D", "Chance.random");
        REPLACED.put("java/util/UUID.randomUUID()Ljava/util/UUID;", "Chance.uuid");
        REPLACED.put("java/util/Collections.shuffle(Ljava/util/List;)V", "Chance.shuffle");
        REPLACED.put("java/lang/System.loadLibrary(Ljava/lang/String;)V", "World.library");
        REPLACED.put("java/lang/System.load(Ljava/lang/String;)V", "World.library");
        for (String owner : List.of("java/lang/Class", "java/lang/ClassLoader")) {
            REPLACED.put(owner + ".getResourceAsStream(Ljava/lang/String;)Ljava/io/InputStream;", "World.resourceStream");
            REPLACED.put(owner + ".getResource(Ljava/lang/String;)Ljava/net/URL;", "World.resource");
        }
        for (String owner : List.of("Class", "reflect/AnnotatedElement", "reflect/AccessibleObject", "reflect/Executable",
                "reflect/Field", "reflect/Method", "reflect/Constructor", "reflect/Parameter")) {
            REPLACED.put("java/lang/" + owner + ".isAnnotationPresent(Ljava/lang/Class;)Z", "World.isAnnotated");
            REPLACED.put("java/lang/" + owner + ".getAnnotation(Ljava/lang/Class;)Ljava/lang/annotation/Annotation;", "World.annotation");
        }
        REPLACED.put("java/lang/ClassLoader.getResources(Ljava/lang/String;)Ljava/util/Enumeration;", "World.resources");
        REPLACED.put("java/lang/ClassLoader.getSystemResourceAsStream(Ljava/lang/String;)Ljava/io/InputStream;", "World.resourceStream");
        REPLACED.put("java/lang/ClassLoader.getSystemResource(Ljava/lang/String;)Ljava/net/URL;", "World.resource");
        REPLACED.put("java/lang/ClassLoader.getSystemResources(Ljava/lang/String;)Ljava/util/Enumeration;", "World.resources");
        REPLACED.put("java/util/ResourceBundle.getBundle(Ljava/lang/String;)Ljava/util/ResourceBundle;", "World.bundle");
        REPLACED.put("java/util/ResourceBundle.getBundle(Ljava/lang/String;Ljava/util/Locale;)Ljava/util/ResourceBundle;", "World.bundle");
        REPLACED.put("java/util/ResourceBundle.getBundle(Ljava/lang/String;Ljava/util/Locale;Ljava/lang/ClassLoader;)"
                + "Ljava/util/ResourceBundle;", "World.bundle");
    }

    private final boolean isStub;
    private final Set<String> own;
    private final Set<String> stubs;
    /** What the function catches. */
    private final List<String> caught;
    private final int firstLine;
    private final int lastLine;
    /** Lines of the function that hold code. */
    final Set<Integer> executable = new HashSet<>();
    /** Binary names of the classes that have something to bring up. */
    final Set<String> stateful = new HashSet<>();

    Instrumentation(boolean isStub, Set<String> own, Set<String> stubs, List<String> caught, int firstLine, int lastLine) {
        this.isStub = isStub;
        this.own = own;
        this.stubs = stubs;
        this.caught = caught;
        this.firstLine = firstLine;
        this.lastLine = lastLine;
    }

    byte[] rewrite(byte[] original) {
        ClassNode type = new ClassNode();
        new ClassReader(original).accept(type, ClassReader.EXPAND_FRAMES);
        boolean isInterface = (type.access & Opcodes.ACC_INTERFACE) != 0;
        if (!isInterface) {
            type.access &= ~Opcodes.ACC_ABSTRACT;
        }
        for (MethodNode method : type.methods) {
            boolean isAbstract = (method.access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) != 0;
            if (isAbstract && isInterface) {
                continue;
            }
            if (isAbstract || isMade(method)) {
                method.access &= ~(Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE);
                makeUp(type.name, method);
            } else if (!isStub) {
                if (method.name.equals("<clinit>")) {
                    StaticParts.guard(type.name, method);
                }
                probe(type, method);
            }
        }
        if (isStateful(type)) {
            stateful.add(type.name.replace('/', '.'));
        }
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        type.accept(writer);
        return writer.toByteArray();
    }

    private static boolean isStateful(ClassNode type) {
        return type.methods.stream().anyMatch(method -> method.name.equals("<clinit>"))
                || type.fields.stream().anyMatch(field -> (field.access & Opcodes.ACC_STATIC) != 0 && field.value == null);
    }

    private static boolean isMade(MethodNode method) {
        for (AbstractInsnNode one = method.instructions.getFirst(); one != null; one = one.getNext()) {
            if (one.getOpcode() >= 0) {
                return one instanceof MethodInsnNode call && call.owner.equals("funcmem/harness/Made");
            }
        }
        return false;
    }

    private static void makeUp(String owner, MethodNode method) {
        InsnList code = new InsnList();
        boolean isStatic = (method.access & Opcodes.ACC_STATIC) != 0;
        code.add(isStatic ? new InsnNode(Opcodes.ACONST_NULL) : new VarInsnNode(Opcodes.ALOAD, 0));
        code.add(new LdcInsnNode(Type.getObjectType(owner)));
        code.add(new LdcInsnNode(method.name));
        code.add(new LdcInsnNode(method.desc));
        Type[] arguments = Type.getArgumentTypes(method.desc);
        push(code, arguments.length);
        code.add(new TypeInsnNode(Opcodes.ANEWARRAY, "java/lang/Object"));
        int slot = isStatic ? 0 : 1;
        for (int i = 0; i < arguments.length; i++) {
            code.add(new InsnNode(Opcodes.DUP));
            push(code, i);
            code.add(new VarInsnNode(arguments[i].getOpcode(Opcodes.ILOAD), slot));
            box(code, arguments[i]);
            code.add(new InsnNode(Opcodes.AASTORE));
            slot += arguments[i].getSize();
        }
        code.add(new MethodInsnNode(Opcodes.INVOKESTATIC, WORLD, "call",
                "(Ljava/lang/Object;Ljava/lang/Class;Ljava/lang/String;Ljava/lang/String;[Ljava/lang/Object;)Ljava/lang/Object;"));
        Type returned = Type.getReturnType(method.desc);
        if (returned.getSort() == Type.VOID) {
            code.add(new InsnNode(Opcodes.POP));
            code.add(new InsnNode(Opcodes.RETURN));
        } else {
            unbox(code, returned);
            code.add(new InsnNode(returned.getOpcode(Opcodes.IRETURN)));
        }
        method.instructions = code;
        method.tryCatchBlocks.clear();
        method.localVariables = null;
        method.visibleLocalVariableAnnotations = null;
        method.invisibleLocalVariableAnnotations = null;
    }

    /** The code of a class without a constructor whose methods are made up where its parent leaves them open. */
    static byte[] heir(String name, Class<?> parent, Class<?> other) {
        ClassNode type = new ClassNode();
        type.version = Opcodes.V11;
        type.access = Opcodes.ACC_PUBLIC | Opcodes.ACC_SUPER;
        type.name = name;
        type.superName = Type.getInternalName(parent);
        Set<String> written = new HashSet<>();
        List<Class<?>> above = new ArrayList<>();
        for (Class<?> one = parent; one != null; one = one.getSuperclass()) {
            above.add(one);
        }
        if (other != null) {
            type.interfaces.add(Type.getInternalName(other));
            above.add(other);
        }
        for (int i = 0; i < above.size(); i++) {
            above.addAll(List.of(above.get(i).getInterfaces()));
            java.lang.reflect.Method[] methods = above.get(i).getDeclaredMethods();
            java.util.Arrays.sort(methods, java.util.Comparator.comparing(java.lang.reflect.Method::toString));
            for (java.lang.reflect.Method one : methods) {
                String descriptor = Type.getMethodDescriptor(one);
                int open = one.getModifiers() & (Opcodes.ACC_PUBLIC | Opcodes.ACC_PROTECTED);
                boolean isFirst = written.add(one.getName() + descriptor);
                if (isFirst && open != 0 && java.lang.reflect.Modifier.isAbstract(one.getModifiers())) {
                    MethodNode method = new MethodNode(open, one.getName(), descriptor, null, null);
                    makeUp(name, method);
                    type.methods.add(method);
                }
            }
        }
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        type.accept(writer);
        return writer.toByteArray();
    }

    private static void push(InsnList code, int value) {
        code.add(value < 128 ? new IntInsnNode(Opcodes.BIPUSH, value) : new LdcInsnNode(value));
    }

    private static String wrapper(Type type) {
        return switch (type.getSort()) {
            case Type.BOOLEAN -> "java/lang/Boolean";
            case Type.CHAR -> "java/lang/Character";
            case Type.BYTE -> "java/lang/Byte";
            case Type.SHORT -> "java/lang/Short";
            case Type.INT -> "java/lang/Integer";
            case Type.LONG -> "java/lang/Long";
            case Type.FLOAT -> "java/lang/Float";
            case Type.DOUBLE -> "java/lang/Double";
            default -> null;
        };
    }

    private static void box(InsnList code, Type type) {
        String wrapper = wrapper(type);
        if (wrapper != null) {
            code.add(new MethodInsnNode(Opcodes.INVOKESTATIC, wrapper, "valueOf",
                    "(" + type.getDescriptor() + ")L" + wrapper + ";"));
        }
    }

    private static void unbox(InsnList code, Type type) {
        String wrapper = wrapper(type);
        if (wrapper == null) {
            code.add(new TypeInsnNode(Opcodes.CHECKCAST, type.getInternalName()));
        } else {
            code.add(new TypeInsnNode(Opcodes.CHECKCAST, wrapper));
            code.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, wrapper, type.getClassName() + "Value",
                    "()" + type.getDescriptor()));
        }
    }

    private void probe(ClassNode type, MethodNode method) {
        Map<LabelNode, Integer> places = new HashMap<>();
        int count = 0;
        for (AbstractInsnNode one : method.instructions) {
            if (one instanceof LabelNode label) {
                places.put(label, count);
            }
            count++;
        }
        int place = 0;
        boolean inside = false;
        for (AbstractInsnNode one : method.instructions.toArray()) {
            if (one instanceof LineNumberNode line) {
                inside = line.line >= firstLine && line.line <= lastLine;
                lineProbe(method, line);
            } else if (one.getOpcode() == Opcodes.NEW && one instanceof TypeInsnNode made && made.desc.equals(SECURE)) {
                made.desc = FIXED;
            } else if (one instanceof JumpInsnNode jump && places.get(jump.label) <= place) {
                method.instructions.insertBefore(one, call("step", "()V"));
            } else if (one instanceof MethodInsnNode called) {
                String raised = own.contains(called.owner) ? null : Raised.by(called.owner, called.name, called.desc, caught);
                if (raised != null) {
                    method.instructions.insertBefore(called, new LdcInsnNode(raised));
                    method.instructions.insertBefore(called, call("may", "(Ljava/lang/String;)V"));
                }
                replace(type, method, called);
                if (inside && called.name.equals("<init>") && isNameless(type, called.owner)) {
                    hand(method, called, called.owner);
                }
            } else if (inside && one instanceof InvokeDynamicInsnNode made && made.bsmArgs.length > 1
                    && made.bsmArgs[1] instanceof Handle body && made.bsm.getName().contains("etafactory")) {
                hand(method, made, body.getOwner() + "." + body.getName());
            } else if (one instanceof FieldInsnNode read && read.getOpcode() == Opcodes.GETSTATIC && stubs.contains(read.owner)) {
                method.instructions.insertBefore(one, call("looked", "()V"));
            }
            place++;
        }
        boolean isHanded = isNameless(type, type.name) || method.name.startsWith("lambda$");
        if (isHanded && !method.name.startsWith("<")) {
            InsnList entry = new InsnList();
            entry.add(new LdcInsnNode(isNameless(type, type.name) ? type.name : type.name + "." + method.name));
            entry.add(call("entered", "(Ljava/lang/String;)V"));
            method.instructions.insert(entry);
        }
        renameUninitialised(method);
    }

    /** Whether a class is anonymous. */
    private static boolean isNameless(ClassNode type, String name) {
        return type.innerClasses.stream().anyMatch(one -> one.name.equals(name) && one.innerName == null);
    }

    /** Tell the world of an object whose methods the function itself writes. */
    private static void hand(MethodNode method, AbstractInsnNode made, String name) {
        InsnList code = new InsnList();
        code.add(new InsnNode(Opcodes.DUP));
        code.add(new LdcInsnNode(name));
        code.add(call("handed", "(Ljava/lang/Object;Ljava/lang/String;)V"));
        method.instructions.insert(made, code);
    }

    /** Frames name an object that is not constructed yet by the label before its creation: no probe may part them. */
    private static void renameUninitialised(MethodNode method) {
        Map<LabelNode, LabelNode> renamed = new HashMap<>();
        for (AbstractInsnNode one : method.instructions.toArray()) {
            if (one instanceof FrameNode frame) {
                frame.local = renamed(frame.local, method, renamed);
                frame.stack = renamed(frame.stack, method, renamed);
            }
        }
    }

    private static List<Object> renamed(List<Object> types, MethodNode method, Map<LabelNode, LabelNode> renamed) {
        if (types == null) {
            return null;
        }
        List<Object> next = new ArrayList<>();
        for (Object type : types) {
            next.add(type instanceof LabelNode label ? renamed.computeIfAbsent(label, old -> {
                AbstractInsnNode creation = old;
                while (creation.getOpcode() != Opcodes.NEW) {
                    creation = creation.getNext();
                }
                LabelNode fresh = new LabelNode();
                method.instructions.insertBefore(creation, fresh);
                return fresh;
            }) : type);
        }
        return next;
    }

    private void lineProbe(MethodNode method, LineNumberNode line) {
        boolean inside = line.line >= firstLine && line.line <= lastLine;
        AbstractInsnNode before = line.getNext();
        while (before instanceof FrameNode || before instanceof LabelNode || before instanceof LineNumberNode) {
            before = before.getNext();
        }
        if (before == null) {
            return;
        }
        if (inside) {
            executable.add(line.line - firstLine);
        }
        InsnList probe = new InsnList();
        if (inside) {
            probe.add(new LdcInsnNode(line.line));
            probe.add(call("line", "(I)V"));
        } else {
            probe.add(call("step", "()V"));
        }
        method.instructions.insertBefore(before, probe);
    }

    private void replace(ClassNode type, MethodNode method, MethodInsnNode called) {
        InsnList code = method.instructions;
        if (called.name.equals("now") && called.owner.startsWith("java/time/")
                && (called.desc.startsWith("()") || called.desc.startsWith("(Ljava/time/ZoneId;)"))) {
            // Each of these types can be told by a clock as well.
            int end = called.desc.indexOf(')') + 1;
            code.insertBefore(called, call("Now", "clock", called.desc.substring(0, end) + "Ljava/time/Clock;"));
            called.desc = "(Ljava/time/Clock;)" + called.desc.substring(end);
            return;
        }
        String replacement = REPLACED.get(called.owner + "." + called.name + called.desc);
        if (replacement != null) {
            if (called.getOpcode() != Opcodes.INVOKESTATIC) {
                boolean isAnnotated = replacement.equals("World.isAnnotated") || replacement.equals("World.annotation");
                called.desc = "(L" + (isAnnotated ? "java/lang/reflect/AnnotatedElement" : called.owner) + ";" + called.desc.substring(1);
                called.setOpcode(Opcodes.INVOKESTATIC);
                called.itf = false;
            }
            int dot = replacement.indexOf('.');
            called.owner = HERE + replacement.substring(0, dot);
            called.name = replacement.substring(dot + 1);
            return;
        }
        if (called.name.equals("<init>")) {
            if (called.owner.equals(SECURE) && !(method.name.equals("<init>") && SECURE.equals(type.superName))) {
                called.owner = FIXED;
                return;
            }
            if (called.desc.equals("()V") && !(method.name.equals("<init>") && called.owner.equals(type.superName))) {
                if (called.owner.equals("java/util/GregorianCalendar")) {
                    code.insert(called, call("Now", "setNow", "(Ljava/util/Calendar;)V"));
                    code.insert(called, new InsnNode(Opcodes.DUP));
                } else if (called.owner.equals("java/util/Date")) {
                    code.insertBefore(called, call("Now", "currentTimeMillis", "()J"));
                    called.desc = "(J)V";
                } else if (called.owner.equals("java/util/Random")) {
                    code.insertBefore(called, call("Chance", "seed", "()J"));
                    called.desc = "(J)V";
                }
            }
            boolean isSuper = method.name.equals("<init>") && called.owner.equals(type.superName);
            if (RAISED_BY_THE_MACHINE.contains(called.owner) && !isSuper) {
                InsnList note = new InsnList();
                note.add(new InsnNode(Opcodes.DUP));
                note.add(call("meant", "(Ljava/lang/Throwable;)V"));
                code.insert(called, note);
            }
            return;
        }
        if (called.getNext() instanceof TypeInsnNode cast && cast.getOpcode() == Opcodes.CHECKCAST
                && stubs.contains(called.owner) && called.desc.endsWith(")Ljava/lang/Object;")) {
            InsnList expect = new InsnList();
            expect.add(new LdcInsnNode(Type.getObjectType(cast.desc)));
            expect.add(call("expect", "(Ljava/lang/Class;)V"));
            code.insertBefore(called, expect);
        } else if (stubs.contains(called.owner) && called.desc.endsWith(")Ljava/lang/Object;") && isUsed(called)) {
            InsnList expect = new InsnList();
            expect.add(new LdcInsnNode(Type.getObjectType("java/lang/Object")));
            expect.add(call("expect", "(Ljava/lang/Class;)V"));
            code.insertBefore(called, expect);
        }
    }

    /** Whether anything is done with what a call answers. */
    private static boolean isUsed(MethodInsnNode called) {
        AbstractInsnNode next = called.getNext();
        while (next != null && next.getOpcode() < 0) {
            next = next.getNext();
        }
        return next != null && next.getOpcode() != Opcodes.POP;
    }

    private static MethodInsnNode call(String name, String descriptor) {
        return call("World", name, descriptor);
    }

    private static MethodInsnNode call(String owner, String name, String descriptor) {
        return new MethodInsnNode(Opcodes.INVOKESTATIC, HERE + owner, name, descriptor);
    }
}
