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
    private static final int MOST_CALLS = 500;
    private static final int MOST_EDGES = 4_096;
    private static final int NEVER = -1;
    private static final int UNDECIDED = -2;
    /** How often the same is told; a loop may wait for another answer. */
    private static final int MOST_TOLD = 4;
    private static final java.util.regex.Pattern STEADY = java.util.regex.Pattern.compile("(get|is)(?!Next|And)[A-Z].*");

    final Plan plan;
    final int firstLine;
    final int lastLine;
    final ClassLoader loader;
    final Choices choices;
    final Maker maker;
    final BitSet lines = new BitSet();
    final TreeSet<Long> edges = new TreeSet<>();
    final List<String> calls = new ArrayList<>();
    private final Map<String, String> settings = new HashMap<>();
    final IdentityHashMap<Throwable, Boolean> meant = new IdentityHashMap<>();
    /** Exceptions that were made as values, or that made-up calls raised: who throws or passes them on means to. */
    final IdentityHashMap<Throwable, Boolean> given = new IdentityHashMap<>();
    final Callbacks callbacks = new Callbacks(this);
    private final IdentityHashMap<Object, Map<String, Told>> told = new IdentityHashMap<>();
    final Map<String, Integer> ordinals = new HashMap<>();
    final long seed;
    boolean recording;
    boolean madeUp;
    boolean exhausted;
    long clock = CLOCK_MILLIS;
    java.util.Random random;
    Class<?> expected;
    private int steps;
    private int most = MOST_STEPS;
    private boolean asked;
    private int previous = -1;
    private int answering;
    /** How many calls that could fail are left before the one that does. */
    private int failing = UNDECIDED;
    /** What it raises, or what that is a kind of. */
    private String feared;

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

    /** Let what comes now take so many steps; zero stands for as many as a state may take. */
    void allow(int some) {
        most = some == 0 ? MOST_STEPS : Math.min(MOST_STEPS, steps + some);
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
        if (++steps > most) {
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
                // A class that leaves its copy to a missing parent goes on with what it is given, mostly.
                boolean isCopy = self != null && arguments.length == 0 && path.endsWith(".clone") && raw.isInstance(self) && own.below(4) != 3;
                answer = isCopy ? Instances.twin(self) : maker.with(own).make(returned, 1);
                if (answer == null && raw.isPrimitive()) {
                    answer = Maker.zero(raw);
                }
            }
            if (recording) {
                calls.add("{\"path\":" + Json.quote(path) + ",\"arguments\":[" + String.join(",", encoded)
                        + "],\"keywords\":{},\"answer\":" + (isVoid ? "null" : new Encoder(loader).encode(answer)) + "}");
            }
            if (!plan.caught.isEmpty() && !path.equals("resource") && !path.equals("is there") && own.below(9) == 8) {
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

    /** What is found beside the code under a name: something made up, and noted as an answer. */
    Object resource(String path, String name, Class<?> type) throws Throwable {
        java.util.Objects.requireNonNull(name);
        return answer(null, path, type, type, new Object[] {name});
    }

    boolean isMadeUp(Class<?> type) {
        return type != null && ((Loader) loader).isStub(type.getName());
    }

    boolean isAnnotated(java.lang.reflect.AnnotatedElement element, Class<?> type) {
        step();
        ask();
        String name = type.getSimpleName() + " of " + element;
        boolean isThere = choices.at(Choices.hash(name)).below(2) == 0;
        if (recording && calls.size() <= MOST_CALLS) {
            madeUp = true;
            calls.add("{\"path\":\"annotation\",\"arguments\":[" + Json.quote(name) + "],\"keywords\":{},\"answer\":" + isThere + "}");
        }
        return isThere;
    }

    Object annotation(java.lang.reflect.AnnotatedElement element, Class<?> type) {
        return maker.with(choices.at(Choices.hash(type.getSimpleName() + " on " + element))).implementation(type);
    }

    /**
     * What a property or variable of the environment says that nobody has set: in some states something, and noted.
     *
     * @param usual What it says in half of these states; null where only the state tells.
     */
    String setting(String kind, String name, String usual) {
        if (!recording || name.isEmpty() || calls.size() > MOST_CALLS) {
            return null;
        }
        String key = kind + " " + name;
        if (!settings.containsKey(key)) {
            ask();
            Choices own = choices.at(Choices.hash(key));
            int way = own.below(4);
            String value = way % 2 == 0 ? null : way == 1 && usual != null ? usual : (String) maker.with(own).make(String.class, 1);
            settings.put(key, value);
            calls.add("{\"path\":" + Json.quote(kind) + ",\"arguments\":[" + Json.quote(name) + "],\"keywords\":{},\"answer\":"
                    + (value == null ? "null" : Json.quote(value)) + "}");
        }
        return settings.get(key);
    }

    /** A bundle whose texts are their keys; where the function expects that there may be none, at times none. */
    java.util.ResourceBundle bundle(String name) {
        java.util.Objects.requireNonNull(name);
        String missing = java.util.MissingResourceException.class.getName();
        if (recording && plan.caught.contains(missing)) {
            ask();
            boolean isThere = choices.at(Choices.hash("bundle " + name)).below(3) != 2;
            calls.add("{\"path\":\"bundle\",\"arguments\":[" + Json.quote(name) + "],\"keywords\":{},\"answer\":" + isThere + "}");
            if (!isThere) {
                java.util.MissingResourceException thrown = new java.util.MissingResourceException("no bundle " + name, name, "");
                given.put(thrown, true);
                throw thrown;
            }
        }
        return new java.util.ResourceBundle() {
            @Override
            protected Object handleGetObject(String key) {
                return key;
            }

            @Override
            public java.util.Enumeration<String> getKeys() {
                return java.util.Collections.emptyEnumeration();
            }
        };
    }

    /** Raise, once in some states, something that a call of the platform that is about to be made declares to raise. */
    void may(String names) throws Throwable {
        if (!recording || failing == NEVER) {
            return;
        }
        ask();
        if (failing == UNDECIDED) {
            Choices own = choices.at(Choices.hash("failing"));
            failing = own.below(6) != 5 ? NEVER : own.below(4) < 3 ? 0 : own.below(4);
            feared = plan.caught.get(own.below(plan.caught.size()));
        }
        List<String> all = failing == NEVER ? List.of() : Raised.related(List.of(names.split(" ")), feared);
        if (!all.isEmpty() && failing-- == 0) {
            failing = NEVER;
            Choices own = choices.at(Choices.hash("failing " + names));
            String name = all.get(own.below(all.size()));
            Throwable thrown = maker.with(own).exception(name);
            if (thrown != null) {
                calls.add("{\"path\":" + Json.quote("failure: " + name) + ",\"arguments\":[],\"keywords\":{},\"answer\":"
                        + new Encoder(loader).encode(thrown.getMessage()) + "}");
                given.put(thrown, true);
                throw thrown;
            }
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

    /** What somebody was told who may ask the same again. */
    private static final class Told {
        final Object answer;
        int times;

        Told(Object answer) {
            this.answer = answer;
        }
    }

    /** In some states whoever asks something made up for one of its properties again is told the same, for a while. */
    private boolean isSteady(Method method) {
        return STEADY.matcher(method.getName()).matches() && method.getParameterCount() <= 2 && method.getReturnType() != void.class
                && choices.at(Choices.hash("steady")).below(2) == 0;
    }

    Object answerMethod(Object self, Method method, Class<?> expected, Object[] arguments) throws Throwable {
        if (!isSteady(method)) {
            return answerAnew(self, method, expected, arguments);
        }
        StringBuilder key = new StringBuilder(method.getDeclaringClass().getName() + "." + method.getName());
        for (Object argument : arguments) {
            key.append('\n').append(new Encoder(loader).encode(argument));
        }
        Map<String, Told> all = told.computeIfAbsent(self == null ? this : self, one -> new HashMap<>());
        Told known = all.get(key.toString());
        Class<?> wanted = expected == null ? Object.class : expected;
        if (known != null && ++known.times < MOST_TOLD && (known.answer == null || wanted.isInstance(known.answer))) {
            step();
            return known.answer;
        }
        Object answer = answerAnew(self, method, expected, arguments);
        all.put(key.toString(), new Told(answer));
        return answer;
    }

    private Object answerAnew(Object self, Method method, Class<?> expected, Object[] arguments) throws Throwable {
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
