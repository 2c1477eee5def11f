package funcmem.harness;

import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Proxy;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import sun.misc.Unsafe;

/** Makes values of a type out of choices. Small choices mean the more telling values. */
final class Maker {
    private static final int DEEP = 4;
    private static final Unsafe UNSAFE = unsafe();

    private final Plan plan;
    /** Of every sort that code tells apart. */
    private static final List<Class<?>> CLASSES = List.of(String.class, Integer.class, int.class, Object.class, List.class,
            String[].class, int[].class, Runnable.class, ArrayList.class, boolean.class, Number.class, Map.class, Double.class,
            java.util.concurrent.TimeUnit.class, IllegalStateException.class, long.class, java.util.Set.class,
            Deprecated.class, void.class);

    private static final List<Class<?>> ANY_CONTAINERS = List.of(List.class, Map.class, String[].class, int[].class);

    private final ClassLoader loader;
    private final Choices choices;
    private final Map<TypeVariable<?>, Type> bound;
    private final List<Object> made;
    private final IdentityHashMap<Object, Boolean> filled;
    private final List<Class<?>> known;
    private final Plain plain;

    Maker(Plan plan, ClassLoader loader, Choices choices) {
        this(plan, loader, choices, new HashMap<>(), new ArrayList<>(), new IdentityHashMap<>(), new ArrayList<>(),
                new ArrayList<>());
        for (String name : plan.types) {
            try {
                known.add(Class.forName(name, false, loader));
            } catch (ClassNotFoundException | LinkageError exc) {
                continue; // a candidate's program may lack what the original's has
            }
        }
    }

    private Maker(Plan plan, ClassLoader loader, Choices choices, Map<TypeVariable<?>, Type> bound,
            List<Object> made, IdentityHashMap<Object, Boolean> filled, List<Class<?>> known, List<String> texts) {
        this.plan = plan;
        this.loader = loader;
        this.choices = choices;
        this.bound = bound;
        this.made = made;
        this.filled = filled;
        this.known = known;
        this.plain = new Plain(plan, choices, texts);
    }

    /** The same maker with other choices. */
    Maker with(Choices other) {
        return new Maker(plan, loader, other, bound, made, filled, known, plain.texts);
    }

    private static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException exc) {
            throw new IllegalStateException(exc);
        }
    }

    static Object zero(Class<?> type) {
        return type.isPrimitive() && type != void.class ? Array.get(Array.newInstance(type, 1), 0) : null;
    }

    /** The class that a type is at run time. */
    Class<?> raw(Type type) {
        if (type instanceof Class<?> one) {
            return one;
        }
        if (type instanceof ParameterizedType parameterized) {
            return (Class<?>) parameterized.getRawType();
        }
        if (type instanceof GenericArrayType array) {
            return Array.newInstance(raw(array.getGenericComponentType()), 0).getClass();
        }
        if (type instanceof WildcardType wildcard) {
            return raw(wildcard.getUpperBounds()[0]);
        }
        TypeVariable<?> variable = (TypeVariable<?>) type;
        Type known = bound.get(variable);
        return known != null && known != variable ? raw(known) : raw(variable.getBounds()[0]);
    }

    private Type argument(Type type, int place) {
        if (type instanceof ParameterizedType parameterized && parameterized.getActualTypeArguments().length > place) {
            Type found = resolved(parameterized.getActualTypeArguments()[place]);
            return found != Object.class || parameterized.getActualTypeArguments()[place] == found ? found : untold();
        }
        return untold();
    }

    /** What a container holds that does not tell: one type for all, mostly, for code casts what it takes out. */
    private Type untold() {
        int choice = choices.below(2 * known.size() + 5);
        if (choice < 2 * known.size()) {
            Class<?> one = known.get(choice / 2);
            return one.isPrimitive() ? Object.class : one;
        }
        return List.of(String.class, String.class, String.class, Integer.class, Object.class).get(choice - 2 * known.size());
    }

    /** A variable that nothing binds is one class for a whole state. */
    private Type resolved(Type type) {
        if (type instanceof WildcardType wildcard) {
            return resolved(wildcard.getLowerBounds().length > 0 ? wildcard.getLowerBounds()[0] : wildcard.getUpperBounds()[0]);
        }
        if (type instanceof TypeVariable<?> variable) {
            Type found = bound.get(variable);
            if (found == null) {
                Class<?> limit = raw(variable.getBounds()[0]);
                if (limit == Object.class || limit == Comparable.class) {
                    found = choices.below(3) == 1 ? Integer.class : String.class;
                } else {
                    found = limit;
                }
                bound.put(variable, found);
            }
            return found;
        }
        return type;
    }

    Object make(Type given, int depth) {
        Type type = resolved(given);
        Class<?> raw = raw(type);
        if (raw.isPrimitive() || raw == String.class || Plain.WRAPPERS.containsKey(raw)) {
            return plain.make(raw);
        }
        if (raw == Object.class || raw == java.io.Serializable.class || raw == Comparable.class || raw == Cloneable.class) {
            return anything(raw, depth);
        }
        if (depth > DEEP) {
            return shallow(raw);
        }
        if (choices.below(20) == 19) {
            return null;
        }
        if (raw.isArray()) {
            Type item = type instanceof GenericArrayType array ? array.getGenericComponentType() : raw.getComponentType();
            return array(item, depth);
        }
        if (raw.isEnum()) {
            Object[] constants = raw.getEnumConstants();
            return constants.length == 0 ? null : constants[choices.below(constants.length)];
        }
        if (raw == Class.class) {
            List<Class<?>> pool = new ArrayList<>(known);
            pool.addAll(CLASSES);
            return pool.get(choices.below(pool.size()));
        }
        if (raw.getClassLoader() != loader) {
            Type[] items = new Type[2];
            Object value = new Platform(this, choices, plain).make(raw, place -> {
                if (items[place] == null) {
                    items[place] = argument(type, place);
                }
                return items[place];
            }, depth);
            if (value != Platform.UNKNOWN) {
                return value;
            }
        }
        Object again = reused(raw);
        if (again != null) {
            return again;
        }
        Object value = raw.isInterface() ? implementation(raw, type, depth) : instance(raw, type, depth);
        if (value != null) {
            made.add(value);
        }
        return value;
    }

    /** The simplest value, where nesting has to end. */
    private Object shallow(Class<?> raw) {
        if (raw.isArray()) {
            return Array.newInstance(raw.getComponentType(), 0);
        }
        if (raw.isEnum() && raw.getEnumConstants().length > 0) {
            return raw.getEnumConstants()[0];
        }
        Object again = reused(raw);
        if (again != null || raw.getClassLoader() == loader) {
            return again;
        }
        Object value = new Platform(this, choices, plain).make(raw, place -> Object.class, 99);
        return value == Platform.UNKNOWN ? null : value;
    }

    private Object reused(Class<?> raw) {
        List<Object> fitting = new ArrayList<>();
        for (Object one : made) {
            if (raw.isInstance(one)) {
                fitting.add(one);
            }
        }
        return fitting.isEmpty() || choices.below(6) != 5 ? null : fitting.get(choices.below(fitting.size()));
    }

    private Object array(Type item, int depth) {
        Class<?> raw = raw(resolved(item));
        if (raw == byte.class && choices.below(3) == 0) {
            return plain.text().getBytes(java.nio.charset.StandardCharsets.UTF_8);
        }
        if (raw == char.class && choices.below(3) == 0) {
            return plain.text().toCharArray();
        }
        int length = length(depth);
        Object array = Array.newInstance(raw, length);
        int theme = theme();
        for (int i = 0; i < length; i++) {
            Array.set(array, i, make(item, depth + 1));
        }
        plain.theme = theme;
        return array;
    }

    /** Begin a container: its items may have something in common. Returns the theme to go back to. */
    int theme() {
        int before = plain.theme;
        if (before == 0) {
            plain.theme = new int[] {1, 0, 2, 1, 0}[choices.below(5)];
        }
        return before;
    }

    int length(int depth) {
        int choice = choices.next();
        int[] usual = depth > 2 ? new int[] {1, 0, 2} : new int[] {3, 1, 2, 0, 4, 5, 8, 2, 6, 12};
        return usual[choice % usual.length];
    }

    private Object anything(Class<?> raw, int depth) {
        int ways = known.size() + 8;
        int choice = choices.below(2 * ways);
        if (depth > DEEP) {
            return plain.make(choice % 2 == 0 ? String.class : Integer.class);
        }
        if (choice / 2 < known.size()) {
            Class<?> one = known.get(choice / 2);
            if (raw.isAssignableFrom(one) || one.isPrimitive()) {
                return make(one, depth + 1);
            }
        }
        return switch (choice % 8) {
            case 0, 1, 2 -> plain.make(String.class);
            case 3, 4 -> plain.make(Integer.class);
            case 5 -> raw != Object.class ? plain.make(Double.class) : choices.below(2) == 0 ? null : made.isEmpty() ? null : made.get(choices.below(made.size()));
            case 6 -> plain.make(choices.below(2) == 0 ? Boolean.class : Double.class);
            default -> raw != Object.class ? plain.make(Long.class)
                    : make(ANY_CONTAINERS.get(choices.below(ANY_CONTAINERS.size())), depth + 1);
        };
    }

    /** An implementation of the file's, or one that answers by choice. */
    private Object implementation(Class<?> raw, Type type, int depth) {
        List<Class<?>> own = new ArrayList<>();
        for (Class<?> one : known) {
            if (raw.isAssignableFrom(one) && one != raw && one.getClassLoader() == loader && !one.isInterface()) {
                own.add(one);
            }
        }
        if (!own.isEmpty() && choices.below(2) == 0) {
            return make(own.get(choices.below(own.size())), depth + 1);
        }
        bind(raw, type);
        Run run = World.run;
        int number = made.size();
        InvocationHandler handler = new Answering(raw.getSimpleName() + "#" + number, run);
        ClassLoader place = raw.getClassLoader() == loader ? loader : Maker.class.getClassLoader();
        try {
            return Proxy.newProxyInstance(place, new Class<?>[] {raw}, handler);
        } catch (IllegalArgumentException exc) {
            return null; // a sealed or hidden interface
        }
    }

    private void bind(Class<?> raw, Type type) {
        if (type instanceof ParameterizedType parameterized) {
            TypeVariable<?>[] variables = raw.getTypeParameters();
            for (int i = 0; i < variables.length; i++) {
                Type argument = resolved(parameterized.getActualTypeArguments()[i]);
                bound.putIfAbsent(variables[i], argument);
            }
        }
    }

    static String proxyName(Object proxy) {
        InvocationHandler handler = Proxy.getInvocationHandler(proxy);
        return handler instanceof Answering answering ? answering.name : "proxy";
    }

    /** Answers the methods of an interface by choice. */
    private record Answering(String name, Run run) implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, java.lang.reflect.Method method, Object[] given) throws Throwable {
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
        bind(raw, type);
        boolean isOwn = raw.getClassLoader() == loader;
        List<Class<?>> heirs = new ArrayList<>();
        if (Modifier.isAbstract(raw.getModifiers()) && !isOwn) {
            return null;
        }
        for (Class<?> one : known) {
            if (one != raw && raw.isAssignableFrom(one) && one.getClassLoader() == loader) {
                heirs.add(one);
            }
        }
        if (!heirs.isEmpty() && depth < DEEP && choices.below(4) == 3) {
            return make(heirs.get(choices.below(heirs.size())), depth + 1);
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
        return value;
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
            return null;
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
                    arguments[k] = make(types.length == plainTypes.length ? types[k] : plainTypes[k], depth + 1);
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

    /** Whether the function catches exceptions of a named type. */
    boolean catches(String name) {
        return plan.caught.contains(name);
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
                    content = make(field.getType(), depth);
                } else if (share > 0 || isNamed || depth <= 2) {
                    content = make(field.getGenericType(), depth + 1);
                } else {
                    content = shallow(field.getType());
                }
                set(field, value, content);
            }
        }
    }

    /** Put made values into the static fields of a made-up class. */
    void fillStatics(Class<?> type) {
        for (Field field : type.getDeclaredFields()) {
            int modifiers = field.getModifiers();
            if (Modifier.isStatic(modifiers) && !Modifier.isFinal(modifiers) && !field.isSynthetic()) {
                Choices own = choices.at(Choices.hash(type.getName() + "." + field.getName()));
                set(field, null, with(own).make(field.getGenericType(), 2));
            }
        }
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
            Object made = construct(type, DEEP);
            if (made == null) {
                made = UNSAFE.allocateInstance(type);
            }
            return made instanceof Throwable thrown ? thrown : null;
        } catch (ReflectiveOperationException | LinkageError exc) {
            return null;
        }
    }
}
