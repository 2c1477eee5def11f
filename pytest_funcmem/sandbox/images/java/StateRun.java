package funcmem.harness;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Runs a built program on one input state and writes down what came of it. */
final class StateRun {
    private static final int MOST_PRINTED = 100_000;
    private static final java.util.Properties PROPERTIES = (java.util.Properties) System.getProperties().clone();

    private final Plan plan;
    private final Built built;
    private final long seed;
    private final int[] choices;
    private final boolean coverage;
    private final Capture out = new Capture();
    private final Capture err = new Capture();

    StateRun(Plan plan, Built built, long seed, int[] choices, boolean coverage) {
        this.plan = plan;
        this.built = built;
        this.seed = seed;
        this.choices = choices;
        this.coverage = coverage;
    }

    /** What the code prints, up to a bound. */
    private static final class Capture extends ByteArrayOutputStream {
        @Override
        public synchronized void write(byte[] bytes, int start, int length) {
            if (count < MOST_PRINTED) {
                super.write(bytes, start, length);
            }
        }

        @Override
        public synchronized void write(int one) {
            if (count < MOST_PRINTED) {
                super.write(one);
            }
        }

        String text() {
            return Json.quote(toString(StandardCharsets.UTF_8));
        }
    }

    /** The record's fields, as JSON. */
    String run() {
        settle();
        Loader loader = new Loader(built.classes, built.stubs);
        Run run = new Run(plan, built.firstLine, built.lastLine, loader, seed, choices);
        World.begin(run);
        Object receiver = null;
        Object[] arguments;
        Executable target;
        Class<?> type;
        List<Field> statics = new ArrayList<>();
        try {
            for (String name : built.stubs) {
                initialise(name, loader, run);
            }
            type = Class.forName(plan.type, true, loader);
            for (String name : built.own) {
                try {
                    Class<?> one = Class.forName(name, true, loader);
                    for (Field field : one.getDeclaredFields()) {
                        if (Modifier.isStatic(field.getModifiers()) && !field.isSynthetic()) {
                            field.setAccessible(true);
                            statics.add(field);
                        }
                    }
                } catch (LinkageError exc) {
                    continue; // a class beside the function's own that does not come up
                }
            }
            target = find(type);
            target.setAccessible(true);
            if (target instanceof Method && !Modifier.isStatic(target.getModifiers())) {
                receiver = type.isEnum() ? run.maker.make(type, 1) : run.maker.instance(type, type, 0);
                if (receiver == null) {
                    return failed("scaffold", "NoReceiver", "no receiver can be made");
                }
            }
            Type[] generic = target.getGenericParameterTypes();
            Class<?>[] raw = target.getParameterTypes();
            arguments = new Object[raw.length];
            for (int i = 0; i < raw.length; i++) {
                arguments[i] = run.maker.make(generic.length == raw.length ? generic[i] : raw[i], 0);
                if (arguments[i] == null && raw[i].isPrimitive()) {
                    arguments[i] = Maker.zero(raw[i]);
                }
            }
        } catch (ReflectiveOperationException | LinkageError | RuntimeException exc) {
            return failed("scaffold", exc.getClass().getName(), String.valueOf(exc.getMessage()));
        }
        return call(run, loader, target, receiver, arguments, statics);
    }

    private static void initialise(String name, Loader loader, Run run) {
        try {
            run.maker.fillStatics(Class.forName(name, true, loader));
        } catch (ReflectiveOperationException | LinkageError exc) {
            return; // what is made up and does not come up is missed where it is used
        }
    }

    private Executable find(Class<?> type) throws NoSuchMethodException {
        boolean isConstructor = plan.method.equals("<init>");
        for (Executable one : isConstructor ? type.getDeclaredConstructors() : type.getDeclaredMethods()) {
            String descriptor = one instanceof Method method
                    ? org.objectweb.asm.Type.getMethodDescriptor(method)
                    : org.objectweb.asm.Type.getConstructorDescriptor((Constructor<?>) one);
            if ((isConstructor || one.getName().equals(plan.method)) && descriptor.equals(plan.descriptor)) {
                return one;
            }
        }
        throw new NoSuchMethodException(plan.method + plan.descriptor);
    }

    private String call(Run run, Loader loader, Executable target, Object receiver, Object[] arguments, List<Field> statics) {
        Class<?>[] raw = target.getParameterTypes();
        List<String> shown = new ArrayList<>();
        if (receiver != null) {
            shown.add(Show.text(receiver, loader));
        }
        List<String> before = new ArrayList<>();
        for (int i = 0; i < arguments.length; i++) {
            shown.add(Show.text(arguments[i], loader));
            before.add(encode(loader, arguments[i]));
        }
        String receiverBefore = receiver == null ? "null" : encode(loader, receiver);
        List<String> staticsBefore = new ArrayList<>();
        for (Field field : statics) {
            staticsBefore.add(read(loader, field));
        }
        out.reset();
        err.reset();
        run.recording = true;
        Object value = null;
        Throwable thrown = null;
        try {
            value = target instanceof Method method
                    ? method.invoke(receiver, arguments)
                    : ((Constructor<?>) target).newInstance(arguments);
        } catch (InvocationTargetException exc) {
            thrown = exc.getCause();
        } catch (ReflectiveOperationException | RuntimeException exc) {
            return failed("scaffold", exc.getClass().getName(), String.valueOf(exc.getMessage()));
        }
        run.recording = false;
        System.out.flush();
        System.err.flush();
        if (run.exhausted || thrown instanceof Run.Exhausted) {
            return "{\"outcome\":\"endless\"}";
        }
        if (thrown instanceof OutOfMemoryError) {
            throw (OutOfMemoryError) thrown;
        }
        StringBuilder fields = new StringBuilder();
        for (int i = 0; i < arguments.length; i++) {
            if (raw[i].isPrimitive() || arguments[i] == null || arguments[i] instanceof String) {
                continue;
            }
            String after = encode(loader, arguments[i]);
            fields.append(fields.length() > 0 ? "," : "").append('"').append(i).append("\":")
                    .append(after.equals(before.get(i)) ? "[\"unchanged\"]" : after);
        }
        String receiverAfter = receiver == null ? "null" : encode(loader, receiver);
        StringBuilder globals = new StringBuilder();
        for (int i = 0; i < statics.size(); i++) {
            String after = read(loader, statics.get(i));
            if (!after.equals(staticsBefore.get(i))) {
                Field field = statics.get(i);
                globals.append(globals.length() > 0 ? "," : "")
                        .append(Json.quote(field.getDeclaringClass().getSimpleName() + "." + field.getName()))
                        .append(':').append(after);
            }
        }
        Class<?> returned = target instanceof Method method ? method.getReturnType() : Object.class;
        String result = thrown != null || returned == void.class ? "null"
                : value == receiver && receiver != null ? "[\"opaque\",\"this\"]"
                : new Encoder(loader).draining().encode(value, returned);
        return "{\"outcome\":\"" + (thrown == null ? "returned" : "raised") + "\",\"value\":" + result
                + ",\"exception\":" + (thrown == null ? "null" : exception(run, thrown))
                + ",\"calls\":[" + String.join(",", run.calls) + "]"
                + ",\"receiver\":" + (receiver != null && receiverAfter.equals(receiverBefore) ? "[\"unchanged\"]" : receiverAfter)
                + ",\"arguments\":{" + fields + "},\"module_globals\":{" + globals + "}"
                + ",\"stdout\":" + out.text() + ",\"stderr\":" + err.text() + ",\"detail\":\"\""
                + ",\"files\":" + files() + ",\"lines\":" + (coverage ? numbers(run.lines) : "[]")
                + ",\"features\":" + (coverage ? Program.numbers(run.edges) : "[]")
                + ",\"shown\":" + Program.texts(shown) + ",\"choices_used\":" + Math.min(run.choices.used(), 100_000)
                + ",\"made_up\":" + run.madeUp + "}";
    }

    private static String numbers(java.util.BitSet lines) {
        StringBuilder out = new StringBuilder("[");
        for (int line = lines.nextSetBit(0); line >= 0; line = lines.nextSetBit(line + 1)) {
            out.append(out.length() > 1 ? "," : "").append(line);
        }
        return out.append(']').toString();
    }

    private static String encode(Loader loader, Object value) {
        return new Encoder(loader).encode(value);
    }

    private static String read(Loader loader, Field field) {
        try {
            return new Encoder(loader).encode(field.get(null));
        } catch (IllegalAccessException | LinkageError | RuntimeException exc) {
            return "[\"opaque\",\"unreadable\"]";
        }
    }

    private String exception(Run run, Throwable thrown) {
        if (thrown instanceof World.Exit) {
            return "{\"type\":\"System.exit\",\"message\":" + Json.quote(thrown.getMessage())
                    + ",\"own\":true,\"authored\":true,\"origin\":\"function\"}";
        }
        StackTraceElement[] trace = World.trace(thrown);
        String top = trace.length > 0 ? trace[0].getClassName() : "";
        boolean inFile = built.own.contains(top);
        int line = trace.length > 0 ? trace[0].getLineNumber() : -1;
        boolean inFunction = inFile && line >= built.firstLine && line <= built.lastLine;
        boolean own = inFile && (run.meant.containsKey(thrown) || !isOfTheMachine(thrown));
        String message = thrown.getMessage();
        String origin = inFunction ? "function" : inFile ? "file" : top.startsWith("funcmem.") ? "scaffold" : "library";
        return "{\"type\":" + Json.quote(thrown.getClass().getName()) + ",\"message\":"
                + Json.quote(message == null ? "" : message.length() > 2000 ? message.substring(0, 2000) : message)
                + ",\"own\":" + own + ",\"authored\":" + own + ",\"origin\":\"" + origin + "\"}";
    }

    private static boolean isOfTheMachine(Throwable thrown) {
        return thrown instanceof NullPointerException || thrown instanceof ArithmeticException
                || thrown instanceof ClassCastException || thrown instanceof ArrayIndexOutOfBoundsException
                || thrown instanceof NegativeArraySizeException || thrown instanceof ArrayStoreException
                || thrown instanceof VirtualMachineError || thrown instanceof LinkageError;
    }

    private static String failed(String origin, String type, String message) {
        return "{\"outcome\":\"raised\",\"value\":null,\"exception\":{\"type\":" + Json.quote(type) + ",\"message\":"
                + Json.quote(message) + ",\"own\":false,\"authored\":false,\"origin\":\"" + origin + "\"},\"calls\":[],"
                + "\"receiver\":null,\"arguments\":{},\"module_globals\":{},\"stdout\":\"\",\"stderr\":\"\",\"detail\":\"\","
                + "\"files\":{},\"lines\":[],\"features\":[],\"shown\":[],\"choices_used\":0,\"made_up\":false}";
    }

    /** Put back what code can change for all that runs after it in this machine. */
    private void settle() {
        System.setProperties((java.util.Properties) PROPERTIES.clone());
        java.util.Locale.setDefault(java.util.Locale.US);
        java.util.TimeZone.setDefault(null);
        System.setOut(new PrintStream(out, false, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, false, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(new byte[0]));
        File[] left = new File(".").listFiles();
        for (File one : left == null ? new File[0] : left) {
            delete(one);
        }
        try {
            Files.writeString(Path.of("file.txt"), "one 1\ntwo 2\n\nthree 3\n");
        } catch (IOException exc) {
            throw new IllegalStateException(exc);
        }
    }

    private static void delete(File file) {
        File[] inner = Files.isSymbolicLink(file.toPath()) ? null : file.listFiles();
        for (File one : inner == null ? new File[0] : inner) {
            delete(one);
        }
        file.delete();
    }

    private static String files() {
        Map<String, String> found = new TreeMap<>();
        collect(new File("."), "", found);
        if ("[\"bytes\",\"one 1\\u000atwo 2\\u000a\\u000athree 3\\u000a\"]".equals(found.get("file.txt"))) {
            found.remove("file.txt");
        } else {
            found.putIfAbsent("file.txt", "[\"deleted\"]");
        }
        StringBuilder out = new StringBuilder("{");
        found.forEach((name, content) ->
                out.append(out.length() > 1 ? "," : "").append(Json.quote(name)).append(':').append(content));
        return out.append('}').toString();
    }

    private static void collect(File directory, String prefix, Map<String, String> found) {
        File[] inner = directory.listFiles();
        for (File one : inner == null ? new File[0] : inner) {
            String name = prefix + one.getName();
            if (found.size() > 50) {
                return;
            }
            if (one.isDirectory()) {
                found.put(name, "[\"directory\"]");
                if (prefix.length() < 200 && !Files.isSymbolicLink(one.toPath())) {
                    collect(one, name + "/", found);
                }
            } else {
                found.put(name, content(one));
            }
        }
    }

    private static String content(File file) {
        try {
            return file.length() > 50_000 ? "[\"opaque\",\"" + file.length() + " bytes\"]"
                    : "[\"bytes\"," + Json.quote(Files.readString(file.toPath(), StandardCharsets.ISO_8859_1)) + "]";
        } catch (IOException exc) {
            return "[\"opaque\",\"unreadable\"]";
        }
    }
}
