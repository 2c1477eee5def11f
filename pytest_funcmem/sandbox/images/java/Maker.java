package funcmem.harness;

import java.lang.reflect.Array;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** Makes values of a type out of choices. Small choices mean the more telling values. */
final class Maker {
    static final int DEEP = 4;
    private static final int LONG = 150;
    /** Arrays of numbers longer than this take one choice for all that comes behind their first items. */
    private static final int SHORT = 24;
    private static final int FIRST = 2;
    private static final int LARGEST_ROOM = 1024;
    private static final int MOST_MET = 24;

    /** Of every sort that code tells apart. */
    private static final List<Class<?>> CLASSES = List.of(String.class, Integer.class, int.class, Object.class, List.class,
            String[].class, int[].class, Runnable.class, ArrayList.class, boolean.class, Number.class, Map.class, Double.class,
            java.util.concurrent.TimeUnit.class, IllegalStateException.class, long.class, java.util.Set.class,
            Deprecated.class, void.class);

    private static final List<Class<?>> NUMBERS = List.of(Double.class, Long.class, java.math.BigDecimal.class, Float.class,
            java.math.BigInteger.class, Short.class, Byte.class, Character.class);

    private static final List<Class<?>> ANY_CONTAINERS = List.of(List.class, Map.class, String[].class, int[].class);

    private final Plan plan;
    private final ClassLoader loader;
    private final Choices choices;
    private final Map<TypeVariable<?>, Type> bound;
    private final List<Object> made;
    private final IdentityHashMap<Object, Boolean> filled;
    private final List<Class<?>> known;
    private final Plain plain;
    private final Instances objects;

    Maker(Plan plan, ClassLoader loader, Choices choices) {
        this(plan, loader, choices, new HashMap<>(), new ArrayList<>(), new IdentityHashMap<>(), new ArrayList<>(),
                new ArrayList<>(), new ArrayList<>());
        for (String name : plan.types) {
            try {
                known.add(Class.forName(name, false, loader));
            } catch (ClassNotFoundException | LinkageError exc) {
                continue; // a candidate's program may lack what the original's has
            }
        }
    }

    private Maker(Plan plan, ClassLoader loader, Choices choices, Map<TypeVariable<?>, Type> bound,
            List<Object> made, IdentityHashMap<Object, Boolean> filled, List<Class<?>> known, List<String> texts, List<Integer> sizes) {
        this.plan = plan;
        this.loader = loader;
        this.choices = choices;
        this.bound = bound;
        this.made = made;
        this.filled = filled;
        this.known = known;
        this.plain = new Plain(plan, choices, texts, sizes);
        this.objects = new Instances(this, plan, loader, choices, made, filled, known);
    }

    /** The same maker with other choices. */
    Maker with(Choices other) {
        return new Maker(plan, loader, other, bound, made, filled, known, plain.texts, plain.sizes);
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
        Object value = value(given, depth);
        Run run = World.run;
        if (value instanceof Throwable thrown && run != null) {
            run.given.put(thrown, true);
        }
        return value;
    }

    private Object value(Type given, int depth) {
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
        if (Enum.class.isAssignableFrom(raw) && raw != Enum.class) {
            return constant(raw);
        }
        if (raw == Class.class) {
            List<Class<?>> pool = new ArrayList<>(known);
            pool.addAll(CLASSES);
            return pool.get(choices.below(pool.size()));
        }
        if (raw.getClassLoader() != loader) {
            Object narrower = narrower(raw, depth);
            if (narrower != null) {
                return narrower;
            }
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
        Object constant = objects.constant(raw);
        if (constant != null) {
            return constant;
        }
        Object like = like(raw);
        if (like != null) {
            return like;
        }
        Object value = raw.isInterface() ? objects.implementation(raw, type, depth) : instance(raw, type, depth);
        if (value != null) {
            made.add(value);
        }
        return value;
    }

    /** At times an object of a class that the function asks after, where one of a wider type is wanted; else null. */
    private Object narrower(Class<?> raw, int depth) {
        List<Class<?>> fitting = new ArrayList<>();
        for (Class<?> one : known) {
            if (one != raw && raw.isAssignableFrom(one) && one.getClassLoader() != loader) {
                fitting.add(one);
            }
        }
        return fitting.isEmpty() || choices.below(3) != 2 ? null : make(fitting.get(choices.below(fitting.size())), depth + 1);
    }

    /** One of the constants of an enumeration; of a constant's own class, the only one. */
    Object constant(Class<?> raw) {
        Object[] constants = (raw.isEnum() ? raw : raw.getSuperclass()).getEnumConstants();
        if (raw.isEnum()) {
            return constants.length == 0 ? null : constants[choices.below(constants.length)];
        }
        for (Object one : constants) {
            if (one.getClass() == raw) {
                return one;
            }
        }
        return null;
    }

    /** The simplest value, where nesting has to end. */
    Object shallow(Class<?> raw) {
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

    /** At times one that differs little from an object of the file's own that was made before; else null. */
    private Object like(Class<?> raw) {
        List<Object> fitting = new ArrayList<>();
        for (Object one : made) {
            if (raw.isInstance(one) && objects.isCopied(one)) {
                fitting.add(one);
            }
        }
        return fitting.isEmpty() || choices.below(6) != 5 ? null : objects.copy(fitting.get(choices.below(fitting.size())));
    }

    /** Note a text that may be met again; other things are passed over. */
    void meetText(Object value) {
        if (value instanceof String text && plain.texts.size() < MOST_MET) {
            plain.texts.add(text);
        }
    }

    /** Note an object that may be met again. */
    void meet(Object value) {
        made.add(value);
    }

    private Object array(Type item, int depth) {
        Class<?> raw = raw(resolved(item));
        if (raw == byte.class && choices.below(3) == 0) {
            return plain.text().getBytes(java.nio.charset.StandardCharsets.UTF_8);
        }
        if (raw == char.class && choices.below(3) == 0) {
            return plain.text().toCharArray();
        }
        int length = raw.isPrimitive() && depth < 2 ? roomy(depth) : length(depth);
        Object array = Array.newInstance(raw, length);
        int theme = theme();
        boolean isLong = raw.isPrimitive() && length > SHORT;
        for (int i = 0; i < (isLong ? FIRST : length); i++) {
            Array.set(array, i, make(item, depth + 1));
        }
        if (isLong) {
            with(choices.apart()).goOn(array, item, depth + 1, plain.theme);
        }
        plain.theme = theme;
        return array;
    }

    /** Fill the rest of a long array: one choice stands for all of it, and numbers in one of two are places of such arrays. */
    private void goOn(Object array, Type item, int depth, int theme) {
        int length = Array.getLength(array);
        boolean isOfPlaces = array instanceof int[] && choices.below(2) == 0;
        plain.theme = theme;
        for (int i = isOfPlaces ? 0 : FIRST; i < length; i++) {
            Array.set(array, i, isOfPlaces ? (Object) choices.below(length) : make(item, depth));
        }
    }

    /** Length of an array of numbers; at times one that has a place for every number in sight, as tables do. */
    private int roomy(int depth) {
        int room = plan.numbers.subList(0, plan.literals).stream().filter(one -> one < LARGEST_ROOM).mapToInt(Long::intValue).max().orElse(0);
        room = Integer.highestOneBit(Math.max(room, 1)) * 2;
        int choice = choices.next();
        // Code that reads one table in a state reads others as well.
        if (room <= SHORT || choice % (plain.sizes.contains(room) ? 2 : 16) != (plain.sizes.contains(room) ? 1 : 7)) {
            return length(depth, choice);
        }
        if (plain.sizes.size() < MOST_MET) {
            plain.sizes.add(room);
        }
        return room;
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
        return length(depth, choices.next());
    }

    private int length(int depth, int choice) {
        if (depth < 2 && plan.literals > 0 && choice % 16 == 15) {
            long wanted = plan.numbers.get(choice / 16 % plan.literals) + choice / 16 % 3;
            if (wanted > 0 && wanted < LONG) {
                return (int) wanted; // code tells long ones from short ones
            }
        }
        int[] usual = depth > 2 ? new int[] {1, 0, 2} : new int[] {3, 1, 2, 0, 4, 5, 8, 2, 6, 12};
        if (plain.sizes.size() < MOST_MET) {
            plain.sizes.add(usual[choice % usual.length]);
        }
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
            case 5 -> raw != Object.class ? plain.make(Double.class) : known();
            case 6 -> choices.below(2) == 0 ? plain.make(Boolean.class) : make(NUMBERS.get(choices.below(NUMBERS.size())), depth + 1);
            default -> raw != Object.class ? plain.make(Long.class)
                    : make(ANY_CONTAINERS.get(choices.below(ANY_CONTAINERS.size())), depth + 1);
        };
    }

    /** Null, an object that was made before, or one like it. */
    private Object known() {
        int way = choices.below(3);
        if (way == 0 || made.isEmpty()) {
            return null;
        }
        Object one = made.get(choices.below(made.size()));
        return way == 2 && objects.isCopied(one) ? objects.copy(one) : one;
    }

    /** Note what the parameters of a generic class stand for. */
    void bind(Class<?> raw, Type type) {
        if (type instanceof ParameterizedType parameterized) {
            TypeVariable<?>[] variables = raw.getTypeParameters();
            for (int i = 0; i < variables.length; i++) {
                Type argument = resolved(parameterized.getActualTypeArguments()[i]);
                bound.putIfAbsent(variables[i], argument);
            }
        }
    }

    /** Whether the function catches exceptions of a named type. */
    boolean catches(String name) {
        return plan.caught.contains(name);
    }

    /** An object of a class, whatever was made before. */
    Object instance(Class<?> raw, Type type, int depth) {
        return objects.instance(raw, type, depth);
    }

    /** An implementation of an interface, whose methods answer by choice. */
    Object implementation(Class<?> raw) {
        return objects.implementation(raw, raw, 1);
    }

    /** Fill what a made-up constructor leaves empty. */
    void fillOnce(Object value) {
        objects.fillOnce(value);
    }

    /** Put made values into the static fields of a made-up class. */
    void fillStatics(Class<?> type) {
        objects.fillStatics(type);
    }

    /** An exception of a named type; null where it cannot be made. */
    Throwable exception(String name) {
        return objects.exception(name);
    }
}
