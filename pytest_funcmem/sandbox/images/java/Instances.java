package funcmem.harness;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Proxy;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import sun.misc.Unsafe;

/** Makes objects of classes and interfaces: by a constructor or without one, with their fields filled. */
final class Instances {
    private static final Unsafe UNSAFE = unsafe();

    private final Maker maker;
    private final Plan plan;
    private final ClassLoader loader;
    private final Choices choices;
    private final List<Object> made;
    private final IdentityHashMap<Object, Boolean> filled;
    private final List<Class<?>> known;

    Instances(Maker maker, Plan plan, ClassLoader loader, Choices choices, List<Object> made,
            IdentityHashMap<Object, Boolean> filled, List<Class<?>> known) {
        this.maker = maker;
        this.plan = plan;
        this.loader = loader;
        this.choices = choices;
        this.made = made;
        this.filled = filled;
        this.known = known;
    }

    static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException exc) {
            throw new IllegalStateException(exc);
        }
    }

    /** An implementation of the file's, or one that answers by choice. */
    Object implementation(Class<?> raw, Type type, int depth) {
        List<Class<?>> own = new ArrayList<>();
        for (Class<?> one : known) {
            if (raw.isAssignableFrom(one) && one != raw && one.getClassLoader() == loader && !one.isInterface()) {
                own.add(one);
            }
        }
        if (!own.isEmpty() && choices.below(2) == 0) {
            return maker.make(own.get(choices.below(own.size())), depth + 1);
        }
        List<Class<?>> classes = known.stream().filter(one -> isOpenStub(one) && !raw.isAssignableFrom(one)).toList();
        if (!classes.isEmpty() && Modifier.isPublic(raw.getModifiers()) && choices.below(3) == 2) {
            Object both = joined(classes.get(choices.below(classes.size())), raw, depth);
            if (both != null) {
                return both;
            }
        }
        maker.bind(raw, type);
        Run run = World.run;
        int number = made.size();
        InvocationHandler handler = new Answering(raw.getSimpleName() + "#" + number, run);
        ClassLoader place = raw.getClassLoader() == loader ? loader : Instances.class.getClassLoader();
        try {
            return Proxy.newProxyInstance(place, new Class<?>[] {raw}, handler);
        } catch (IllegalArgumentException exc) {
            return null; // a sealed or hidden interface
        }
    }

    private boolean isOpenStub(Class<?> type) {
        int modifiers = type.getModifiers();
        return isStub(type) && !type.isInterface() && !type.isEnum() && !Throwable.class.isAssignableFrom(type)
                && Modifier.isPublic(modifiers) && !Modifier.isFinal(modifiers);
    }

    /** What is of a made-up class and has an interface as well, for code that casts one to the other; null where none can be. */
    private Object joined(Class<?> parent, Class<?> other, int depth) {
        try {
            Object value = UNSAFE.allocateInstance(((Loader) loader).heir(parent, other));
            fill(value, parent, depth + 1, 0);
            return value;
        } catch (InstantiationException | LinkageError | RuntimeException exc) {
            return null; // the two do not go together
        }
    }

    static String proxyName(Object proxy) {
        InvocationHandler handler = Proxy.getInvocationHandler(proxy);
        return handler instanceof Answering answering ? answering.name : "proxy";
    }

    /** Answers the methods of an interface by choice. */
    private record Answering(String name, Run run) implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] given) throws Throwable {
            Object[] arguments = given == null ? new Object[0] : given;
            if (method.getDeclaringClass() == Object.class) {
                return switch (method.getName()) {
                    case "equals" -> proxy == arguments[0];
                    case "hashCode" -> 1;
                    default -> name;
                };
            }
            if (method.isDefault()) {
                return InvocationHandler.invokeDefault(proxy, method, arguments);
            }
            Class<?> expected = run.expected;
            run.expected = null;
            return run.answerMethod(proxy, method, expected, arguments);
        }
    }

    Object instance(Class<?> raw, Type type, int depth) {
        maker.bind(raw, type);
        boolean isOwn = raw.getClassLoader() == loader;
        List<Class<?>> heirs = new ArrayList<>();
        if (Modifier.isAbstract(raw.getModifiers()) && !isOwn) {
            Object given = factory(raw, depth);
            return given != null ? given : derived(raw);
        }
        for (Class<?> one : known) {
            if (one != raw && raw.isAssignableFrom(one) && one.getClassLoader() == loader) {
                heirs.add(one);
            }
        }
        if (!heirs.isEmpty() && depth < Maker.DEEP && choices.below(4) == 3) {
            return maker.make(heirs.get(choices.below(heirs.size())), depth + 1);
        }
        int way = choices.below(8);
        Object value = way == 7 && isOwn ? null : construct(raw, depth);
        if (value == null && isOwn) {
            try {
                value = UNSAFE.allocateInstance(raw);
            } catch (InstantiationException exc) {
                return null;
            }
            fill(value, raw, depth, 0);
        } else if (value != null && isOwn) {
            fill(value, raw, depth, 1 + way % 3);
        }
        if (isOwn && !isStub(raw) && (value instanceof Collection || value instanceof Map)) {
            hold(value, raw, depth);
        }
        return value;
    }

    /** Put items into a collection or map that the file itself declares, by its own code. */
    @SuppressWarnings("unchecked")
    private void hold(Object value, Class<?> raw, int depth) {
        Type parent = raw.getGenericSuperclass();
        Type[] items = parent instanceof ParameterizedType told ? told.getActualTypeArguments() : new Type[0];
        for (int left = depth > 2 ? 0 : maker.length(depth + 1); left > 0; left--) {
            try {
                Object first = maker.make(items.length > 0 ? items[0] : Object.class, depth + 1);
                if (value instanceof Map<?, ?> map) {
                    ((Map<Object, Object>) map).put(first, maker.make(items.length > 1 ? items[1] : Object.class, depth + 1));
                } else {
                    ((Collection<Object>) value).add(first);
                }
            } catch (RuntimeException | LinkageError exc) {
                return; // it takes none, or not this one
            }
        }
    }

    private Object construct(Class<?> raw, int depth) {
        List<Constructor<?>> usable = new ArrayList<>();
        for (Constructor<?> one : raw.getDeclaredConstructors()) {
            boolean isOpen = raw.getClassLoader() == loader || Modifier.isPublic(one.getModifiers());
            if (isOpen && !one.isSynthetic()) {
                usable.add(one);
            }
        }
        usable.sort(java.util.Comparator.comparingInt((Constructor<?> one) -> one.getParameterCount())
                .thenComparing(Constructor::toString));
        if (usable.isEmpty()) {
            return raw.getClassLoader() == loader ? null : factory(raw, depth);
        }
        int first = choices.below(usable.size());
        for (int i = 0; i < Math.min(usable.size(), 3); i++) {
            Constructor<?> one = usable.get((first + i) % usable.size());
            try {
                one.setAccessible(true);
                Type[] types = one.getGenericParameterTypes();
                Class<?>[] plainTypes = one.getParameterTypes();
                Object[] arguments = new Object[plainTypes.length];
                for (int k = 0; k < arguments.length; k++) {
                    arguments[k] = maker.make(types.length == plainTypes.length ? types[k] : plainTypes[k], depth + 1);
                    if (arguments[k] == null && k == 0 && isOuter(raw, plainTypes[0])) {
                        arguments[k] = UNSAFE.allocateInstance(plainTypes[0]);
                        fill(arguments[k], plainTypes[0], depth + 1, 0);
                    }
                }
                return one.newInstance(arguments);
            } catch (ReflectiveOperationException | RuntimeException | LinkageError | StackOverflowError exc) {
                if (exc.getCause() instanceof Run.Exhausted exhausted) {
                    throw exhausted;
                }
            }
        }
        return null;
    }

    /** An object of a class of the platform that has no constructor, from one of its static methods. */
    private Object factory(Class<?> raw, int depth) {
        List<Method> usable = new ArrayList<>();
        for (Method one : raw.getMethods()) {
            boolean isFree = !one.getName().matches("(now|random|current|open|getDefault|system).*");
            if (Modifier.isStatic(one.getModifiers()) && raw.isAssignableFrom(one.getReturnType()) && isFree) {
                usable.add(one);
            }
        }
        if (usable.isEmpty()) {
            return null;
        }
        usable.sort(java.util.Comparator.comparingInt(Method::getParameterCount).thenComparing(Method::toString));
        int first = choices.below(usable.size());
        for (int i = 0; i < Math.min(usable.size(), 3); i++) {
            Method one = usable.get((first + i) % usable.size());
            try {
                Object[] arguments = new Object[one.getParameterCount()];
                for (int k = 0; k < arguments.length; k++) {
                    arguments[k] = maker.make(one.getGenericParameterTypes()[k], depth + 1);
                }
                return one.invoke(null, arguments);
            } catch (ReflectiveOperationException | RuntimeException | LinkageError exc) {
                continue; // it does not take these
            }
        }
        return null;
    }

    /** An object of a class that answers by choice what a class of the platform leaves open; null where none can be. */
    private Object derived(Class<?> raw) {
        try {
            return UNSAFE.allocateInstance(((Loader) loader).heir(raw, null));
        } catch (InstantiationException | LinkageError | RuntimeException exc) {
            return null; // it is sealed, or hidden
        }
    }

    private static boolean isOuter(Class<?> raw, Class<?> first) {
        return raw.getEnclosingClass() == first && !Modifier.isStatic(raw.getModifiers());
    }

    /** Fill what a made-up constructor leaves empty. */
    void fillOnce(Object value) {
        if (filled.put(value, true) == null) {
            Class<?> type = value.getClass();
            while (type != null && type.getClassLoader() == loader && !isStub(type)) {
                type = type.getSuperclass();
            }
            if (type != null && type.getClassLoader() == loader) {
                fill(value, type, 2, 0);
            }
        }
    }

    boolean isStub(Class<?> type) {
        return ((Loader) loader).isStub(type.getName());
    }

    /**
     * Put made values into the fields of an object.
     *
     * @param share 0 for all fields; 1 for those that the function's code names and that hold nothing yet; else
     *     also one in so many of the others that it names.
     */
    void fill(Object value, Class<?> from, int depth, int share) {
        for (Class<?> type = from; type != null && type.getClassLoader() == loader; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers())) {
                    continue;
                }
                boolean isNamed = plan.names.contains(field.getName());
                if (share > 0 && (!isNamed || field.isSynthetic())) {
                    continue;
                }
                boolean isEmpty = !field.getType().isPrimitive() && get(field, value) == null;
                if (share > 0 && (isEmpty ? choices.below(5) == 4 : share == 1 || choices.below(share) != 0)) {
                    continue;
                }
                Object content;
                if (field.isSynthetic() && field.getName().startsWith("this$")) {
                    content = maker.make(field.getType(), depth);
                } else if (share > 0 || isNamed || depth <= 2) {
                    content = maker.make(field.getGenericType(), depth + 1);
                } else {
                    content = maker.shallow(field.getType());
                }
                set(field, value, content);
            }
        }
    }

    /** Whether an object is of a class that the file declares, and not one of its constants. */
    boolean isCopied(Object value) {
        Class<?> type = value.getClass();
        return type.getClassLoader() == loader && !isStub(type) && !Proxy.isProxyClass(type) && !(value instanceof Enum);
    }

    /** An object with the same in its fields; null where none can be. */
    static Object twin(Object value) {
        Object twin;
        try {
            twin = UNSAFE.allocateInstance(value.getClass());
        } catch (InstantiationException exc) {
            return null;
        }
        for (Class<?> type = value.getClass(); type != null && type != Object.class; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                Object content = Modifier.isStatic(field.getModifiers()) ? null : get(field, value);
                if (content != null && content != value) {
                    set(field, twin, content);
                }
            }
        }
        return twin;
    }

    /** An object with the same in its fields; in about half of the copies one field is another's. */
    Object copy(Object value) {
        Object copy = twin(value);
        if (copy == null) {
            return value;
        }
        List<Field> fields = new ArrayList<>();
        for (Class<?> type = value.getClass(); type != null && type != Object.class; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !field.isSynthetic() && type.getClassLoader() == loader) {
                    fields.add(field);
                }
            }
        }
        int place = choices.below(2 * fields.size() + 1);
        if (place < fields.size()) {
            set(fields.get(place), copy, maker.make(fields.get(place).getGenericType(), Maker.DEEP - 1));
        }
        return copy;
    }

    /** Put made values into the static fields of a made-up class; those of its own type get one object each. */
    void fillStatics(Class<?> type) {
        for (Field field : type.getDeclaredFields()) {
            int modifiers = field.getModifiers();
            if (Modifier.isStatic(modifiers) && !Modifier.isFinal(modifiers) && !field.isSynthetic()) {
                Maker own = maker.with(choices.at(Choices.hash(type.getName() + "." + field.getName())));
                set(field, null, field.getType() == type ? own.instance(type, type, 2) : own.make(field.getGenericType(), 2));
            }
        }
    }

    /** Mostly one of the objects that a made-up class has of its own type, which code compares with; null if none. */
    Object constant(Class<?> raw) {
        if (raw.isInterface() || raw.getClassLoader() != loader || !isStub(raw)) {
            return null;
        }
        List<Object> constants = new ArrayList<>();
        for (Field field : raw.getDeclaredFields()) {
            Object content = Modifier.isStatic(field.getModifiers()) && field.getType() == raw ? get(field, null) : null;
            if (content != null) {
                constants.add(content);
            }
        }
        return constants.isEmpty() || choices.below(4) == 3 ? null : constants.get(choices.below(constants.size()));
    }

    private static Object get(Field field, Object owner) {
        try {
            field.setAccessible(true);
            return field.get(owner);
        } catch (IllegalAccessException | RuntimeException exc) {
            return owner; // a field that cannot be read is left alone
        }
    }

    private static void set(Field field, Object owner, Object content) {
        if (content == null && field.getType().isPrimitive()) {
            return;
        }
        try {
            field.setAccessible(true);
            field.set(owner, content);
        } catch (IllegalAccessException | RuntimeException exc) {
            return; // a field that cannot be set stays as it is
        }
    }

    /** An exception of a named type; null where it cannot be made. */
    Throwable exception(String name) {
        try {
            Class<?> type = Class.forName(name, true, loader);
            Object made = construct(type, Maker.DEEP);
            if (made == null) {
                made = UNSAFE.allocateInstance(type);
            }
            return made instanceof Throwable thrown ? caused(thrown) : null;
        } catch (ReflectiveOperationException | LinkageError exc) {
            return null;
        }
    }

    /** The exception, at times with a cause of a type that the code asks after, and that with another. */
    private Throwable caused(Throwable thrown) {
        List<Class<?>> causes = known.stream().filter(one -> Throwable.class.isAssignableFrom(one) && one != thrown.getClass()).toList();
        try {
            if (!causes.isEmpty() && thrown.getCause() == null && choices.below(2) == 1
                    && construct(causes.get(choices.below(causes.size())), 1) instanceof Throwable cause) {
                thrown.initCause(cause);
            }
        } catch (IllegalStateException exc) {
            return thrown; // it was made with the cause that it has
        }
        return thrown;
    }
}
