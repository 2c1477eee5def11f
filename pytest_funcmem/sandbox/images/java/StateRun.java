package funcmem.harness;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;

/** Runs a built program on one input state and writes down what came of it. */
final class StateRun {
    private static final int MOST_EARLIER_STEPS = 50_000;

    private final Plan plan;
    private final Built built;
    private final long seed;
    private final int[] choices;
    private final boolean coverage;
    private final Surroundings surroundings = new Surroundings();
    private final Variables variables = new Variables();

    StateRun(Plan plan, Built built, long seed, int[] choices, boolean coverage) {
        this.plan = plan;
        this.built = built;
        this.seed = seed;
        this.choices = choices;
        this.coverage = coverage;
    }

    /** The record's fields, as JSON. */
    String run() {
        surroundings.settle();
        int threads = Thread.activeCount();
        Loaded loaded = built.loaded == null ? new Loaded(built) : built.loaded;
        // Whatever ends this state otherwise than here leaves nothing behind that another could meet.
        built.loaded = null;
        Run run = new Run(plan, built.firstLine, built.lastLine, loaded.loader, seed, choices, loaded.steps());
        World.begin(run);
        List<String> left = new ArrayList<>();
        String record = record(loaded, run, left);
        if (variables.isChanged()) {
            left = new ArrayList<>(variables.restore() ? loaded.read() : List.of("lost"));
        }
        if (loaded.isKept() && !run.exhausted && loaded.serves(left.isEmpty() ? loaded.read() : left)
                && Thread.activeCount() <= threads) {
            built.loaded = loaded;
        }
        return record;
    }

    private String record(Loaded loaded, Run run, List<String> left) {
        Object receiver = null;
        Object[] arguments;
        try {
            loaded.begin(plan, run);
            Class<?> type = loaded.type;
            if (loaded.target instanceof Method && !Modifier.isStatic(loaded.target.getModifiers())) {
                boolean isConstant = Enum.class.isAssignableFrom(type);
                receiver = isConstant ? run.maker.constant(type) : run.maker.instance(type, type, 0);
                if (receiver == null) {
                    return failed("scaffold", "NoReceiver", "no receiver can be made");
                }
                run.maker.meet(receiver);
            }
            arguments = new Object[loaded.raw.length];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = run.maker.make(loaded.generic[i], 0);
                if (arguments[i] == null && loaded.raw[i].isPrimitive()) {
                    arguments[i] = Maker.zero(loaded.raw[i]);
                }
            }
            if (receiver != null && !loaded.earlier.isEmpty()) {
                callEarlier(loaded, run, receiver);
            }
            variables.change(loaded.statics, plan, run);
        } catch (ReflectiveOperationException | LinkageError | RuntimeException exc) {
            return failed("scaffold", exc.getClass().getName(), String.valueOf(exc.getMessage()));
        }
        return call(loaded, run, receiver, arguments, left);
    }

    /** In some states the object has a past: some of its methods were called before. */
    private static void callEarlier(Loaded loaded, Run run, Object receiver) throws IllegalAccessException {
        run.allow(MOST_EARLIER_STEPS);
        for (int left = new int[] {0, 0, 1, 2, 3, 4}[run.choices.below(6)]; left > 0; left--) {
            Method method = loaded.earlier.get(run.choices.below(loaded.earlier.size()));
            Object[] given = new Object[method.getParameterCount()];
            for (int i = 0; i < given.length; i++) {
                given[i] = run.maker.make(method.getGenericParameterTypes()[i], 1);
                given[i] = given[i] == null ? Maker.zero(method.getParameterTypes()[i]) : given[i];
            }
            try {
                method.invoke(receiver, given);
            } catch (InvocationTargetException exc) {
                if (exc.getCause() instanceof Run.Exhausted exhausted) {
                    throw exhausted;
                }
            }
        }
        run.allow(0);
    }

    private String call(Loaded loaded, Run run, Object receiver, Object[] arguments, List<String> left) {
        Loader loader = loaded.loader;
        Executable target = loaded.target;
        Class<?>[] raw = loaded.raw;
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
        tellApart(shown, receiver == null ? before : java.util.stream.Stream.concat(java.util.stream.Stream.of(receiverBefore), before.stream()).toList());
        List<String> staticsBefore = loaded.read();
        surroundings.out.reset();
        surroundings.err.reset();
        int threads = Thread.activeCount();
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
        if (thrown == null && Thread.activeCount() <= threads) {
            run.callbacks.escaped(value);
            thrown = run.callbacks.call();
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
        left.addAll(loaded.read());
        for (int i = 0; i < left.size(); i++) {
            String after = left.get(i);
            if (!after.equals(staticsBefore.get(i))) {
                Field field = loaded.statics.get(i);
                globals.append(globals.length() > 0 ? "," : "")
                        .append(Json.quote(field.getDeclaringClass().getSimpleName() + "." + field.getName()))
                        .append(':').append(after);
            }
        }
        shown.addAll(variables.shown());
        shown.addAll(Surroundings.made());
        Class<?> returned = target instanceof Method method ? method.getReturnType() : Object.class;
        String result = thrown != null || returned == void.class ? "null"
                : value == receiver && receiver != null ? "[\"opaque\",\"this\"]"
                : given(value, arguments) >= 0 ? "[\"opaque\",\"argument " + given(value, arguments) + "\"]"
                : new Encoder(loader).draining().encode(value, returned);
        return "{\"outcome\":\"" + (thrown == null ? "returned" : "raised") + "\",\"value\":" + result
                + ",\"exception\":" + (thrown == null ? "null" : exception(run, thrown))
                + ",\"calls\":[" + String.join(",", run.calls) + "]"
                + ",\"receiver\":" + (receiver != null && receiverAfter.equals(receiverBefore) ? "[\"unchanged\"]" : receiverAfter)
                + ",\"arguments\":{" + fields + "},\"module_globals\":{" + globals + "}"
                + ",\"stdout\":" + surroundings.out.text() + ",\"stderr\":" + surroundings.err.text() + ",\"detail\":\"\""
                + ",\"files\":" + Surroundings.files() + ",\"lines\":" + (coverage ? numbers(run.lines) : "[]")
                + ",\"features\":" + (coverage ? Program.numbers(run.edges) : "[]")
                + ",\"shown\":" + Program.texts(shown) + ",\"choices_used\":" + Math.min(run.choices.used(), 100_000)
                + ",\"made_up\":" + run.madeUp + "}";
    }

    /** What is too large to be shown whole is shown with a hash of all of it, for states are told apart by what they show. */
    private static void tellApart(List<String> shown, List<String> encoded) {
        for (int i = 0; i < shown.size(); i++) {
            if (shown.get(i).endsWith("...")) {
                shown.set(i, shown.get(i) + " #" + Long.toHexString(Choices.hash(encoded.get(i))));
            }
        }
    }

    /** Place of the argument that an object is, where it can be told from another like it by changing it; else -1. */
    private static int given(Object value, Object[] arguments) {
        boolean isPlain = value == null || value instanceof String || value instanceof Number || value instanceof Boolean
                || value instanceof Character || value instanceof Enum || value instanceof Class;
        for (int i = 0; i < arguments.length && !isPlain; i++) {
            if (arguments[i] == value) {
                return i;
            }
        }
        return -1;
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
        boolean own = run.given.containsKey(thrown) || inFile && (run.meant.containsKey(thrown) || !isOfTheMachine(thrown));
        String message = thrown.getMessage();
        boolean isScaffold = top.startsWith("funcmem.") && !own;
        String origin = inFunction ? "function" : inFile ? "file" : isScaffold ? "scaffold" : "library";
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
}
