package funcmem.harness;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.Type;

/** What instrumented code calls: probes, answers of what is made up. */
public final class World {
    static volatile Run run;
    /** Made-up methods by class, name and descriptor, of one loader. */
    private static final ConcurrentHashMap<String, Method> METHODS = new ConcurrentHashMap<>();
    private static ClassLoader loader;

    private World() {}

    static void begin(Run next) {
        if (next != null && next.loader != loader) {
            METHODS.clear();
            loader = next.loader;
        }
        run = next;
    }

    public static void line(int line) {
        Run now = run;
        if (now != null) {
            now.line(line);
        }
    }

    public static void step() {
        Run now = run;
        if (now != null) {
            now.step();
        }
    }

    /** The type that the next answer is cast to. */
    public static void expect(Class<?> type) {
        Run now = run;
        if (now != null) {
            now.expected = type;
        }
    }

    /** A call of a made-up method. */
    public static Object call(Object self, Class<?> owner, String name, String descriptor, Object[] arguments)
            throws Throwable {
        Run now = run;
        if (now == null) {
            return null;
        }
        Class<?> expected = now.expected;
        now.expected = null;
        String key = owner.getName() + "." + name + descriptor;
        Method method = METHODS.get(key);
        if (method == null) {
            for (Method one : owner.getDeclaredMethods()) {
                if (one.getName().equals(name) && Type.getMethodDescriptor(one).equals(descriptor)) {
                    method = one;
                }
            }
            METHODS.put(key, method);
        }
        return now.answerMethod(self, method, expected, arguments);
    }

    /** A made-up object was constructed. */
    public static void created(Object self, Object[] arguments) {
        Run now = run;
        if (now != null) {
            now.created(self, arguments);
        }
    }

    /** The value of a constant of a made-up interface. */
    public static Object constant(Class<?> type) {
        Run now = run;
        if (now != null) {
            now.ask();
        }
        Object value = now == null ? null : now.maker.with(now.choices.at(Choices.hash(type.getName()))).make(type, 2);
        return value == null ? Maker.zero(type) : value;
    }

    /** A static field of something made up is read. */
    public static void looked() {
        Run now = run;
        if (now != null) {
            now.ask();
        }
    }

    /** The function made an object whose methods it writes itself: a lambda, or one of an anonymous class. */
    public static void handed(Object value, String name) {
        Run now = run;
        if (now != null && now.recording) {
            now.callbacks.handed(value, name);
        }
    }

    /** A method of such an object begins. */
    public static void entered(String name) {
        Run now = run;
        if (now != null) {
            now.callbacks.entered(name);
        }
    }

    /** A call of the platform comes that declares an exception which the function catches. */
    public static void may(String names) throws Throwable {
        Run now = run;
        if (now != null) {
            now.may(names);
        }
    }

    /** A part of a static initialiser raised: the rest goes on without it, but for what ends the state. */
    public static void failed(Throwable thrown) throws Throwable {
        if (thrown instanceof Run.Exhausted || thrown instanceof OutOfMemoryError) {
            throw thrown;
        }
    }

    /** What stands in a static field whose value raised. */
    public static Object instead(Class<?> type, String name) {
        Run now = run;
        if (now == null) {
            return null;
        }
        now.ask();
        Object value = now.maker.with(now.choices.at(Choices.hash(name))).make(type, 2);
        return type.isInstance(value) ? value : null;
    }

    /** The file's own code constructed an exception that the machine also raises by itself. */
    public static void meant(Throwable thrown) {
        Run now = run;
        if (now != null) {
            now.meant.put(thrown, true);
        }
    }

    public static void sleep(long millis) {
        run.step();
        run.ask();
        run.clock += Math.max(0, millis);
    }

    public static String environment(String name) {
        String value = environment().get(name);
        return value == null ? run.setting("variable", name, null) : value;
    }

    public static String property(String name) {
        String value = System.getProperty(name);
        return value == null ? run.setting("property", name, null) : value;
    }

    public static String property(String name, String other) {
        String value = property(name);
        return value == null ? other : value;
    }

    public static boolean flag(String name) {
        if (name == null || name.isEmpty() || System.getProperty(name) != null) {
            return Boolean.getBoolean(name);
        }
        return Boolean.parseBoolean(run.setting("property", name, "true"));
    }

    public static java.util.Map<String, String> environment() {
        return java.util.Map.of("HOME", "/work", "USER", "user", "LANG", "C.UTF-8");
    }

    /** Nothing native is ever called: methods without a body are made up. */
    public static void library(String name) {
        run.step();
    }

    public static java.io.InputStream resourceStream(Class<?> home, String name) throws Throwable {
        java.util.Objects.requireNonNull(home);
        return resourceStream(name);
    }

    public static java.io.InputStream resourceStream(ClassLoader home, String name) throws Throwable {
        java.util.Objects.requireNonNull(home);
        return resourceStream(name);
    }

    /** What lies beside the code is not there, or is made up. */
    public static java.io.InputStream resourceStream(String name) throws Throwable {
        return (java.io.InputStream) run.resource("resource", name, java.io.InputStream.class);
    }

    public static java.net.URL resource(Class<?> home, String name) throws Throwable {
        java.util.Objects.requireNonNull(home);
        return resource(name);
    }

    public static java.net.URL resource(ClassLoader home, String name) throws Throwable {
        java.util.Objects.requireNonNull(home);
        return resource(name);
    }

    public static java.net.URL resource(String name) throws Throwable {
        boolean isThere = (Boolean) run.resource("is there", name, boolean.class);
        return isThere ? new java.net.URL("file:file.txt") : null;
    }

    public static java.util.Enumeration<java.net.URL> resources(ClassLoader home, String name) throws Throwable {
        java.util.Objects.requireNonNull(home);
        return resources(name);
    }

    public static java.util.Enumeration<java.net.URL> resources(String name) throws Throwable {
        java.net.URL one = resource(name);
        return java.util.Collections.enumeration(one == null ? java.util.List.of() : java.util.List.of(one));
    }

    /** Whether something bears an annotation that is made up is made up too, once for a state. */
    public static boolean isAnnotated(java.lang.reflect.AnnotatedElement element, Class<? extends java.lang.annotation.Annotation> type) {
        return run.isMadeUp(type) ? run.isAnnotated(element, type) : element.isAnnotationPresent(type);
    }

    public static java.lang.annotation.Annotation annotation(
            java.lang.reflect.AnnotatedElement element, Class<? extends java.lang.annotation.Annotation> type) {
        if (!run.isMadeUp(type)) {
            return element.getAnnotation(type);
        }
        return run.isAnnotated(element, type) ? type.cast(run.annotation(element, type)) : null;
    }

    public static java.util.ResourceBundle bundle(String name) {
        return run.bundle(name);
    }

    public static java.util.ResourceBundle bundle(String name, java.util.Locale locale) {
        return run.bundle(name);
    }

    public static java.util.ResourceBundle bundle(String name, java.util.Locale locale, ClassLoader home) {
        return run.bundle(name);
    }

    public static void exit(int status) {
        throw new Exit(status);
    }

    /** The code ended the program. */
    static final class Exit extends Error {
        Exit(int status) {
            super(Integer.toString(status));
        }
    }

    static StackTraceElement[] trace(Throwable thrown) {
        return Arrays.stream(thrown.getStackTrace())
                .filter(frame -> !frame.getClassName().equals("funcmem.harness.World"))
                .toArray(StackTraceElement[]::new);
    }
}
