package funcmem.harness;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Lambdas and objects of anonymous classes that a function makes and leaves to others. What nobody called by the time
 * that it returns is called then, so that what stands in them counts. What only the function itself could call, such
 * as a step of a stream of nothing, is left alone: who writes a loop instead does the same.
 */
final class Callbacks {
    private static final int MOST_OBJECTS = 8;
    private static final int MOST_METHODS = 6;

    private final Run run;
    private final Map<Object, String> handed = new IdentityHashMap<>();
    private final List<Object> order = new ArrayList<>();
    private final Map<Object, Boolean> escaped = new IdentityHashMap<>();
    private final Set<String> entered = new HashSet<>();

    Callbacks(Run run) {
        this.run = run;
    }

    synchronized void handed(Object value, String name) {
        if (order.size() < MOST_OBJECTS && handed.put(value, name) == null) {
            order.add(value);
        }
    }

    synchronized void entered(String name) {
        entered.add(name);
    }

    /** A value left the function: it was returned, or given to something made up. */
    synchronized void escaped(Object value) {
        if (handed.containsKey(value)) {
            escaped.put(value, true);
        }
    }

    private boolean isLeft(Object value, Method method) {
        String home = method.getDeclaringClass().getPackageName();
        return escaped.containsKey(value) || !home.equals("java.util.function") && !home.equals("java.util");
    }

    /** Call what was not called; what that throws ends it, and is returned. */
    Throwable call() {
        for (int i = 0; i < order.size(); i++) { // what is called may make others
            Object one = order.get(i);
            if (entered.contains(handed.get(one))) {
                continue;
            }
            List<Method> methods = methods(one.getClass(), (Loader) run.loader);
            // Which is called first is not told, and some want another before them.
            java.util.Collections.rotate(methods, run.choices.at(Choices.hash("order")).below(Math.max(1, methods.size())));
            for (Method method : methods) {
                Throwable thrown = isLeft(one, method) ? call(one, method) : null;
                if (thrown != null) {
                    return thrown;
                }
            }
        }
        return null;
    }

    private Throwable call(Object value, Method method) {
        String path = parent(method.getDeclaringClass()) + "." + method.getName();
        Maker maker = run.maker.with(run.choices.at(Choices.hash("callback " + path) + run.ordinals.merge("callback " + path, 1, Integer::sum)));
        Object[] arguments = new Object[method.getParameterCount()];
        Type[] types = types(value, method);
        List<String> encoded = new ArrayList<>();
        int before = run.calls.size();
        try {
            method.setAccessible(true);
            for (int i = 0; i < arguments.length; i++) {
                Object made = maker.make(types[i], 1);
                arguments[i] = made == null ? Maker.zero(method.getParameterTypes()[i]) : made;
                encoded.add(new Encoder(run.loader).encode(arguments[i]));
            }
            Object result = method.invoke(value, arguments);
            encoded.add(result == value ? "[\"opaque\",\"this\"]" : new Encoder(run.loader).encode(result));
        } catch (InvocationTargetException exc) {
            if (isMisused(exc.getCause())) {
                run.calls.subList(before, run.calls.size()).clear();
                return null;
            }
            return exc.getCause();
        } catch (IllegalAccessException | RuntimeException exc) {
            return null; // nobody else could call it either
        }
        run.calls.add("{\"path\":" + Json.quote("call of " + path) + ",\"arguments\":[" + String.join(",", encoded)
                + "],\"keywords\":{},\"answer\":null}");
        return null;
    }

    /** Whether what was called could make nothing of what it was given, which is made up. */
    private boolean isMisused(Throwable thrown) {
        boolean isOfTheMachine = thrown instanceof NullPointerException || thrown instanceof ClassCastException
                || thrown instanceof ArrayIndexOutOfBoundsException;
        return isOfTheMachine && !run.meant.containsKey(thrown) && !run.given.containsKey(thrown);
    }

    /** The types of the parameters as the function writes them, which the method that others call may not tell. */
    private Type[] types(Object value, Method method) {
        int count = method.getParameterCount();
        String name = handed.get(value);
        int dot = name.lastIndexOf('.');
        try {
            Class<?> home = dot < 0 ? value.getClass() : Class.forName(name.substring(0, dot).replace('/', '.'), false, run.loader);
            for (Method one : home.getDeclaredMethods()) {
                boolean isWritten = dot < 0 ? one.getName().equals(method.getName()) && one.getParameterCount() == count
                        : one.getName().equals(name.substring(dot + 1)) && one.getParameterCount() >= count;
                if (isWritten && !one.isBridge()) {
                    Type[] all = dot < 0 ? one.getGenericParameterTypes() : one.getParameterTypes(); // what it captured comes first
                    return Arrays.copyOfRange(all, all.length - count, all.length);
                }
            }
        } catch (ReflectiveOperationException | LinkageError exc) {
            return method.getGenericParameterTypes();
        }
        return method.getGenericParameterTypes();
    }

    /** What a class is known as; an anonymous one as what it extends. */
    private static String parent(Class<?> type) {
        Class<?> named = !type.isAnonymousClass() ? type : type.getInterfaces().length > 0 ? type.getInterfaces()[0] : type.getSuperclass();
        return named.getSimpleName();
    }

    /**
     * What others can call: the methods of the interfaces and parents that the object's class writes. Of a made-up
     * parent nobody knows which those are, so all that are open count.
     */
    private static List<Method> methods(Class<?> type, Loader loader) {
        Set<String> own = new HashSet<>();
        for (Method one : type.getDeclaredMethods()) {
            if (!Modifier.isStatic(one.getModifiers()) && !one.isBridge()) {
                own.add(one.getName() + one.getParameterCount());
            }
        }
        List<Class<?>> above = new ArrayList<>(List.of(type.getInterfaces()));
        for (Class<?> parent = type.getSuperclass(); parent != null && parent != Object.class; parent = parent.getSuperclass()) {
            above.add(parent);
            above.addAll(Arrays.asList(parent.getInterfaces()));
        }
        for (int i = 0; i < above.size(); i++) {
            if (above.get(i).isInterface()) {
                above.addAll(Arrays.asList(above.get(i).getInterfaces()));
            }
        }
        if (above.stream().anyMatch(one -> loader.isStub(one.getName()))) {
            above.add(type);
        }
        List<Method> found = new ArrayList<>();
        for (Class<?> one : above) {
            Method[] declared = one.getDeclaredMethods();
            Arrays.sort(declared, Comparator.comparing(Method::toString));
            for (Method method : declared) {
                boolean isOpen = !Modifier.isStatic(method.getModifiers()) && !Modifier.isPrivate(method.getModifiers()) && !method.isSynthetic();
                String name = method.getName() + method.getParameterCount();
                isOpen &= one != type || (method.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0;
                if (isOpen && own.remove(name) && found.size() < MOST_METHODS) {
                    found.add(method);
                }
            }
        }
        return found;
    }
}
