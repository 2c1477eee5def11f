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
        return environment().get(name);
    }

    public static java.util.Map<String, String> environment() {
        return java.util.Map.of("HOME", "/work", "USER", "user", "LANG", "C.UTF-8");
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
