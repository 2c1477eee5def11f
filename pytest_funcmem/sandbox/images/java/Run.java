package funcmem.harness;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** What one input state's run has at hand and what is noted of it. */
final class Run {
    static final long CLOCK_MILLIS = 1_600_000_000_000L;
    private static final int MOST_STEPS = 2_000_000;
    private static final int MOST_CALLS = 2_000;
    private static final int MOST_EDGES = 4_096;

    final Plan plan;
    final int firstLine;
    final int lastLine;
    final ClassLoader loader;
    final Choices choices;
    final Maker maker;
    final BitSet lines = new BitSet();
    final TreeSet<Long> edges = new TreeSet<>();
    final List<String> calls = new ArrayList<>();
    final IdentityHashMap<Throwable, Boolean> meant = new IdentityHashMap<>();
    /** Exceptions that were made as values, or that made-up calls raised: who throws or passes them on means to. */
    final IdentityHashMap<Throwable, Boolean> given = new IdentityHashMap<>();
    final Callbacks callbacks = new Callbacks(this);
    final Map<String, Integer> ordinals = new HashMap<>();
    final long seed;
    boolean recording;
    boolean madeUp;
    boolean exhausted;
    long clock = CLOCK_MILLIS;
    java.util.Random random;
    Class<?> expected;
    private int steps;
    private boolean asked;
    private int previous = -1;
    private int answering;

    Run(Plan plan, int firstLine, int lastLine, ClassLoader loader, long seed, int[] given, int steps) {
        this.plan = plan;
        this.firstLine = firstLine;
        this.lastLine = lastLine;
        this.loader = loader;
        this.seed = seed;
        this.steps = steps;
        this.choices = new Choices(given, seed);
        this.random = new java.util.Random(seed);
        this.maker = new Maker(plan, loader, choices);
    }

    void line(int line) {
        step();
        int place = line - firstLine;
        if (recording && place >= 0 && line <= lastLine) {
            lines.set(place);
            if (edges.size() < MOST_EDGES) {
                edges.add((previous + 1) * 65_536L + place);
            }
            previous = place;
        }
    }

    int steps() {
        return steps;
    }

    /** Note that something was asked whose answer depends on the state. */
    void ask() {
        asked = true;
    }

    /** Whether anything was asked so far whose answer depends on the state. */
    boolean isAsked() {
        return asked;
    }

    void step() {
        if (++steps > MOST_STEPS) {
            exhausted = true;
            throw new Exhausted();
        }
    }

    /** It ran for too many steps. */
    static final class Exhausted extends Error {
        Exhausted() {
            super("too many steps", null, false, false);
        }
    }

    /** Answer a call of something made up, and note it. */
    Object answer(Object self, String path, Type returned, Class<?> raw, Object[] arguments) throws Throwable {
        step();
        ask();
        if (calls.size() > MOST_CALLS) {
            exhausted = true;
            throw new Exhausted();
        }
        if (answering > 3) {
            return Maker.zero(raw);
        }
        answering++;
        try {
            List<String> encoded = new ArrayList<>();
            StringBuilder key = new StringBuilder(path);
            for (Object argument : arguments) {
                callbacks.escaped(argument);
                String text = argument == self && self != null ? "[\"opaque\",\"this\"]" : new Encoder(loader).encode(argument);
                encoded.add(text);
                key.append('\n').append(text);
            }
            int nth = ordinals.merge(key.toString(), 1, Integer::sum);
            long place = Choices.hash(key.toString()) + nth;
            Choices own = choices.at(place);
            Object answer = null;
            boolean isVoid = raw == void.class || returned == Void.class;
            if (recording) {
                madeUp |= !isVoid;
            }
            if (!isVoid) {
                answer = maker.with(own).make(returned, 1);
                if (answer == null && raw.isPrimitive()) {
                    answer = Maker.zero(raw);
                }
            }
            if (recording) {
                calls.add("{\"path\":" + Json.quote(path) + ",\"arguments\":[" + String.join(",", encoded)
                        + "],\"keywords\":{},\"answer\":" + (isVoid ? "null" : new Encoder(loader).encode(answer)) + "}");
            }
            if (!plan.caught.isEmpty() && own.below(9) == 8) {
                Throwable thrown = maker.with(own).exception(plan.caught.get(own.below(plan.caught.size())));
                if (thrown != null) {
                    given.put(thrown, true);
                    throw thrown;
                }
            }
            return answer;
        } finally {
            answering--;
        }
    }

    /** Note the construction of something made up, and fill it. */
    void created(Object self, Object[] arguments) {
        step();
        ask();
        if (recording && calls.size() <= MOST_CALLS) {
            List<String> encoded = new ArrayList<>();
            for (Object argument : arguments) {
                callbacks.escaped(argument);
                encoded.add(new Encoder(loader).encode(argument));
            }
            calls.add("{\"path\":" + Json.quote("new " + self.getClass().getSimpleName()) + ",\"arguments\":["
                    + String.join(",", encoded) + "],\"keywords\":{},\"answer\":null}");
        }
        if (answering > 3) {
            return;
        }
        answering++;
        try {
            maker.with(choices.at(Choices.hash("new " + self.getClass().getName()) + ordinals.merge("new " + self.getClass().getName(), 1, Integer::sum))).fillOnce(self);
        } finally {
            answering--;
        }
    }

    Object answerMethod(Object self, Method method, Class<?> expected, Object[] arguments) throws Throwable {
        Type returned = method.getGenericReturnType();
        Class<?> raw = method.getReturnType();
        if (method.getTypeParameters().length > 0 && raw == Object.class) {
            raw = expected == null ? Void.class : expected;
            returned = raw;
        }
        Object[] flat = method.isVarArgs() && arguments.length == 1 && arguments[0] instanceof Object[] all ? all : arguments;
        return answer(self, method.getDeclaringClass().getSimpleName() + "." + method.getName(), returned, raw, flat);
    }
}
