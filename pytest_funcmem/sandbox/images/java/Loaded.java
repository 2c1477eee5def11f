package funcmem.harness;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * The classes of a program, brought up. They serve one input state, and the next one where nobody could tell them from
 * classes that are loaded afresh: to bring them up asked for nothing that a state decides, and all that they hold in
 * static fields can be seen and is as it was.
 */
final class Loaded {
    final Loader loader;
    Class<?> type;
    Executable target;
    Class<?>[] raw;
    Type[] generic;
    /** Static fields of the file's own classes whose contents can change. */
    final List<Field> statics = new ArrayList<>();
    /** What may have been called on the function's object before. */
    final List<Method> earlier = new ArrayList<>();
    private final Built built;
    /** Made-up classes whose static fields every state fills. */
    private final List<Class<?>> filled = new ArrayList<>();
    private int steps;
    /** What the static fields held once all was brought up; null where these classes serve one state only. */
    private List<String> held;

    Loaded(Built built) {
        this.built = built;
        this.loader = new Loader(built.classes, built.stubs);
    }

    /** Steps that bringing the classes up took; every state counts them as its own. */
    int steps() {
        return steps;
    }

    /** Make the classes ready for a state, whose run the world has begun. */
    void begin(Plan plan, Run run) throws ReflectiveOperationException {
        if (target != null) {
            for (Class<?> one : filled) {
                run.maker.fillStatics(one);
            }
            meetTexts(plan, run);
            return;
        }
        boolean isKnown = true;
        int threads = Thread.activeCount();
        for (String name : built.stateful) {
            if (built.stubs.contains(name)) {
                fill(name, run);
            }
        }
        type = Class.forName(plan.type, true, loader);
        for (String name : built.stateful) {
            if (built.own.contains(name)) {
                isKnown &= note(name);
            }
        }
        target = find(plan);
        target.setAccessible(true);
        for (Method one : type.getDeclaredMethods()) {
            if (plan.earlier.contains(one.getName() + org.objectweb.asm.Type.getMethodDescriptor(one)) && !one.isSynthetic()) {
                one.setAccessible(true);
                earlier.add(one);
            }
        }
        earlier.sort(java.util.Comparator.comparing(Method::toString));
        raw = target.getParameterTypes();
        Type[] declared = target.getGenericParameterTypes();
        generic = declared.length == raw.length ? declared : raw;
        steps = run.steps();
        if (isKnown && !run.isAsked() && Thread.activeCount() <= threads && Surroundings.isAsSettled()) {
            hold();
        }
        meetTexts(plan, run);
    }

    /** What the file's containers of texts hold may be asked of them. */
    private void meetTexts(Plan plan, Run run) {
        for (Field field : statics) {
            if (!plan.names.contains(field.getName())) {
                continue;
            }
            try {
                Object content = field.get(null);
                if (content instanceof java.util.Map<?, ?> map && content.getClass().getClassLoader() == null) {
                    map.keySet().forEach(run.maker::meetText);
                } else if (content instanceof java.util.Collection<?> all && content.getClass().getClassLoader() == null) {
                    all.forEach(run.maker::meetText);
                } else if (content instanceof Object[] all) {
                    List.of(all).forEach(run.maker::meetText);
                }
            } catch (IllegalAccessException | LinkageError | RuntimeException exc) {
                continue; // it is not to be seen
            }
        }
    }

    private void fill(String name, Run run) {
        try {
            Class<?> one = Class.forName(name, true, loader);
            run.maker.fillStatics(one);
            filled.add(one);
        } catch (ReflectiveOperationException | LinkageError exc) {
            return; // what is made up and does not come up is missed where it is used
        }
    }

    /** Bring up a class of the file's own and note its static fields; false where it does not come up. */
    private boolean note(String name) {
        try {
            Class<?> one = Class.forName(name, true, loader);
            for (Field field : one.getDeclaredFields()) {
                boolean isText = field.getType().isPrimitive() || field.getType() == String.class;
                boolean isConstant = isText && Modifier.isFinal(field.getModifiers());
                if (Modifier.isStatic(field.getModifiers()) && !field.isSynthetic() && !isConstant) {
                    field.setAccessible(true);
                    statics.add(field);
                }
            }
            return true;
        } catch (ReflectiveOperationException | LinkageError exc) {
            return false;
        }
    }

    private Executable find(Plan plan) throws NoSuchMethodException {
        boolean isConstructor = plan.method.equals("<init>");
        for (Executable one : isConstructor ? type.getDeclaredConstructors() : type.getDeclaredMethods()) {
            if (!isConstructor && !one.getName().equals(plan.method)) {
                continue;
            }
            String descriptor = one instanceof Method method
                    ? org.objectweb.asm.Type.getMethodDescriptor(method)
                    : org.objectweb.asm.Type.getConstructorDescriptor((Constructor<?>) one);
            if (descriptor.equals(plan.descriptor)) {
                return one;
            }
        }
        throw new NoSuchMethodException(plan.method + plan.descriptor);
    }

    private void hold() {
        List<String> texts = new ArrayList<>();
        for (Field field : statics) {
            Encoder encoder = new Encoder(loader);
            texts.add(read(field, encoder));
            if (encoder.isPartial()) {
                return;
            }
        }
        held = texts;
    }

    /** What the static fields hold, each in its encoding. */
    List<String> read() {
        List<String> texts = new ArrayList<>();
        for (Field field : statics) {
            texts.add(read(field, new Encoder(loader)));
        }
        return texts;
    }

    private static String read(Field field, Encoder encoder) {
        try {
            return encoder.encode(field.get(null));
        } catch (IllegalAccessException | LinkageError | RuntimeException exc) {
            return "[\"opaque\",\"unreadable\"]";
        }
    }

    /** Whether a state that left these contents in the static fields can be followed by another. */
    boolean serves(List<String> left) {
        return left.equals(held);
    }

    /** Whether there is any hope that these classes serve another state. */
    boolean isKept() {
        return held != null;
    }
}
