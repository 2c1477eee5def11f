package funcmem.harness;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/** Makes values of the platform's own classes. */
final class Platform {
    static final Object UNKNOWN = new Object();
    private static final List<Class<?>> NUMBERS = List.of(Integer.class, Double.class, Long.class, Float.class,
            java.math.BigDecimal.class, java.math.BigInteger.class, Short.class, Byte.class);

    private static final List<java.lang.reflect.Method> METHODS = new ArrayList<>();
    private static final List<java.lang.reflect.Constructor<?>> CONSTRUCTORS = new ArrayList<>();

    static {
        try {
            METHODS.add(Integer.class.getMethod("parseInt", String.class));
            METHODS.add(String.class.getMethod("length"));
            METHODS.add(Object.class.getMethod("toString"));
            METHODS.add(String.class.getMethod("concat", String.class));
            METHODS.add(Integer.class.getMethod("valueOf", String.class));
            METHODS.add(Runnable.class.getMethod("run"));
            METHODS.add(Map.class.getMethod("put", Object.class, Object.class));
            CONSTRUCTORS.add(String.class.getConstructor(String.class));
            CONSTRUCTORS.add(ArrayList.class.getConstructor());
            CONSTRUCTORS.add(Integer.class.getConstructor(String.class));
            CONSTRUCTORS.add(ArrayList.class.getConstructor(int.class));
        } catch (ReflectiveOperationException exc) {
            throw new IllegalStateException(exc);
        }
    }

    private final Maker maker;
    private final Choices choices;
    private final Plain plain;

    Platform(Maker maker, Choices choices, Plain plain) {
        this.maker = maker;
        this.choices = choices;
        this.plain = plain;
    }

    /** A value of a class; {@link #UNKNOWN} where this does not know how. */
    Object make(Class<?> raw, IntFunction<Type> argument, int depth) {
        Object container = container(raw, argument, depth);
        return container != UNKNOWN ? container : simple(raw, argument, depth);
    }

    private Object container(Class<?> raw, IntFunction<Type> argument, int depth) {
        if (Map.class.isAssignableFrom(raw)) {
            Map<Object, Object> map = map(raw);
            if (map != null) {
                boolean isTexts = raw == java.util.Properties.class;
                int size = depth > 10 ? 0 : maker.length(depth + 1);
                int theme = maker.theme();
                for (int i = 0; i < size; i++) {
                    Object key = maker.make(isTexts ? String.class : argument.apply(0), depth + 1);
                    put(map, key, maker.make(isTexts ? String.class : argument.apply(1), depth + 1));
                }
                plain.theme = theme;
                return map;
            }
        }
        if (Iterable.class.isAssignableFrom(raw) || raw == Iterator.class || raw == java.util.ListIterator.class
                || raw == java.util.Enumeration.class || java.util.stream.BaseStream.class.isAssignableFrom(raw)) {
            Collection<Object> all = collection(raw);
            if (all != null) {
                int size = depth > 10 ? 0 : maker.length(depth);
                int theme = maker.theme();
                for (int i = 0; i < size; i++) {
                    try {
                        all.add(maker.make(argument.apply(0), depth + 1));
                    } catch (RuntimeException exc) {
                        continue; // it takes no null, or cannot compare the two
                    }
                }
                plain.theme = theme;
                if (raw == Iterator.class) {
                    return all.iterator();
                } else if (raw == java.util.ListIterator.class) {
                    return ((List<?>) all).listIterator();
                } else if (raw == java.util.Enumeration.class) {
                    return java.util.Collections.enumeration(all);
                }
                return raw == java.util.stream.Stream.class ? all.stream() : all;
            }
        }
        if (raw == Map.Entry.class) {
            return new java.util.AbstractMap.SimpleEntry<>(
                    maker.make(argument.apply(0), depth + 1), maker.make(argument.apply(1), depth + 1));
        }
        if (raw == java.util.Optional.class) {
            return java.util.Optional.ofNullable(maker.make(argument.apply(0), depth + 1));
        }
        return UNKNOWN;
    }

    /** Whether a stream is to fail: where the code catches that, at times. */
    private boolean fails() {
        return maker.catches("java.io.IOException") && choices.below(4) == 3;
    }

    private static void put(Map<Object, Object> map, Object key, Object value) {
        try {
            map.put(key, value);
        } catch (RuntimeException exc) {
            return; // it takes no null, or cannot compare the two
        }
    }

    private static Map<Object, Object> map(Class<?> raw) {
        if (raw.isAssignableFrom(java.util.LinkedHashMap.class)) {
            return new java.util.LinkedHashMap<>();
        } else if (raw.isAssignableFrom(java.util.TreeMap.class)) {
            return new java.util.TreeMap<>();
        } else if (raw.isAssignableFrom(java.util.concurrent.ConcurrentSkipListMap.class)) {
            return new java.util.concurrent.ConcurrentSkipListMap<>();
        }
        return fresh(raw);
    }

    private static Collection<Object> collection(Class<?> raw) {
        if (raw.isAssignableFrom(ArrayList.class) || !Iterable.class.isAssignableFrom(raw)) {
            return new ArrayList<>();
        } else if (raw.isAssignableFrom(java.util.LinkedHashSet.class)) {
            return new java.util.LinkedHashSet<>();
        } else if (raw.isAssignableFrom(java.util.TreeSet.class)) {
            return new java.util.TreeSet<>();
        } else if (raw.isAssignableFrom(java.util.LinkedList.class)) {
            return new java.util.LinkedList<>();
        } else if (raw.isAssignableFrom(java.util.concurrent.LinkedBlockingDeque.class)) {
            return new java.util.concurrent.LinkedBlockingDeque<>();
        }
        return Collection.class.isAssignableFrom(raw) ? fresh(raw) : null; // exceptions of databases can be iterated over
    }

    @SuppressWarnings("unchecked")
    private static <T> T fresh(Class<?> raw) {
        try {
            return (T) raw.getConstructor().newInstance();
        } catch (ReflectiveOperationException | RuntimeException exc) {
            return null;
        }
    }

    private Object simple(Class<?> raw, IntFunction<Type> argument, int depth) {
        switch (raw.getName()) {
            case "java.lang.CharSequence":
                return choices.below(4) == 3 ? new StringBuilder(plain.text()) : plain.make(String.class);
            case "java.lang.StringBuilder", "java.lang.Appendable":
                return new StringBuilder(plain.text());
            case "java.lang.StringBuffer":
                return new StringBuffer(plain.text());
            case "java.lang.Number":
                return maker.make(NUMBERS.get(choices.below(NUMBERS.size())), depth + 1);
            case "java.math.BigInteger":
                return java.math.BigInteger.valueOf(plain.number()).pow(choices.below(8) == 7 ? 5 : 1);
            case "java.math.BigDecimal":
                return java.math.BigDecimal.valueOf(plain.number(), choices.below(4));
            case "java.util.Date":
                return new java.util.Date(Run.CLOCK_MILLIS + plain.number() * 3_600_000L);
            case "java.util.Calendar", "java.util.GregorianCalendar":
                java.util.Calendar calendar = new java.util.GregorianCalendar();
                calendar.setTimeInMillis(Run.CLOCK_MILLIS + plain.number() * 3_600_000L);
                return calendar;
            case "java.time.LocalDate":
                return java.time.LocalDate.ofEpochDay(18_000 + plain.number() % 20_000);
            case "java.time.LocalDateTime":
                return java.time.LocalDateTime.ofEpochSecond(Run.CLOCK_MILLIS / 1000 + plain.number(), 0, java.time.ZoneOffset.UTC);
            case "java.time.Instant":
                return java.time.Instant.ofEpochSecond(Run.CLOCK_MILLIS / 1000 + plain.number());
            case "java.time.Duration":
                return java.time.Duration.ofSeconds(plain.number());
            case "java.util.Locale":
                return List.of(java.util.Locale.ENGLISH, java.util.Locale.GERMANY, java.util.Locale.ROOT, new java.util.Locale("tr")).get(choices.below(4));
            case "java.util.Random":
                return new java.util.Random(choices.next());
            case "java.security.SecureRandom":
                return new FixedRandom();
            case "java.util.UUID":
                return new java.util.UUID(plain.number(), plain.number());
            case "java.nio.charset.Charset":
                return choices.below(3) == 1 ? StandardCharsets.ISO_8859_1 : choices.below(2) == 0 ? StandardCharsets.UTF_8 : StandardCharsets.UTF_16BE;
            case "java.util.regex.Pattern":
                return java.util.regex.Pattern.compile(List.of("[a-z]+", "\\d+", ".*", "a|b", "\\s").get(choices.below(5)));
            case "java.util.regex.Matcher":
                return java.util.regex.Pattern.compile(List.of("([a-z]+)(\\d*)", "(\\d+)", "(.)").get(choices.below(3))).matcher(plain.text());
            case "java.util.StringTokenizer":
                return new java.util.StringTokenizer(plain.text(), " ,.");
            case "java.util.Scanner":
                return new java.util.Scanner(lines());
            case "java.io.File":
                return new java.io.File(path());
            case "java.nio.file.Path":
                return java.nio.file.Path.of(path());
            case "java.net.URI":
                return java.net.URI.create("http://example.org/" + choices.below(9));
            case "java.net.URL":
                try {
                    return new java.net.URL(choices.below(3) == 2 ? "file:" + path() : "http://example.org/" + choices.below(9));
                } catch (java.net.MalformedURLException exc) {
                    return null;
                }
            case "java.io.InputStream":
                return fails() ? Failing.input() : new ByteArrayInputStream(bytes());
            case "java.io.ByteArrayInputStream":
                return new ByteArrayInputStream(bytes());
            case "java.io.BufferedInputStream":
                return new java.io.BufferedInputStream(new ByteArrayInputStream(bytes()));
            case "java.io.DataInputStream", "java.io.DataInput":
                return new java.io.DataInputStream(new ByteArrayInputStream(bytes()));
            case "java.io.PushbackInputStream":
                return new java.io.PushbackInputStream(new ByteArrayInputStream(bytes()), 16);
            case "java.io.Reader":
                return fails() ? Failing.reader() : new java.io.StringReader(lines());
            case "java.io.StringReader":
                return new java.io.StringReader(lines());
            case "java.io.BufferedReader":
                return new java.io.BufferedReader(new java.io.StringReader(lines()));
            case "java.io.LineNumberReader":
                return new java.io.LineNumberReader(new java.io.StringReader(lines()));
            case "java.io.PushbackReader":
                return new java.io.PushbackReader(new java.io.StringReader(lines()), 16);
            case "java.io.OutputStream":
                return fails() ? Failing.output() : new ByteArrayOutputStream();
            case "java.io.ByteArrayOutputStream":
                return new ByteArrayOutputStream();
            case "java.io.Writer":
                return fails() ? Failing.writer() : new java.io.StringWriter();
            case "java.io.StringWriter":
                return new java.io.StringWriter();
            case "java.lang.Throwable", "java.lang.Exception":
                return thrown();
            case "java.security.MessageDigest":
                return digest();
            case "javax.crypto.Mac":
                return mac();
            case "java.util.BitSet":
                return java.util.BitSet.valueOf(new long[] {plain.number()});
            case "java.util.concurrent.atomic.AtomicInteger":
                return new java.util.concurrent.atomic.AtomicInteger((int) plain.number());
            case "java.util.concurrent.atomic.AtomicLong":
                return new java.util.concurrent.atomic.AtomicLong(plain.number());
            case "java.util.concurrent.atomic.AtomicBoolean":
                return new java.util.concurrent.atomic.AtomicBoolean(choices.below(2) == 1);
            case "java.util.concurrent.atomic.AtomicReference":
                return new java.util.concurrent.atomic.AtomicReference<>(maker.make(argument.apply(0), depth + 1));
            case "java.util.OptionalInt":
                return choices.below(3) == 0 ? java.util.OptionalInt.empty() : java.util.OptionalInt.of((int) plain.number());
            case "java.nio.ByteBuffer":
                return java.nio.ByteBuffer.wrap(bytes());
            case "java.nio.CharBuffer":
                return java.nio.CharBuffer.wrap(plain.text().toCharArray());
            case "java.text.SimpleDateFormat", "java.text.DateFormat":
                return new java.text.SimpleDateFormat("yyyy-MM-dd HH:mm:ss", java.util.Locale.ROOT);
            case "java.text.NumberFormat", "java.text.DecimalFormat":
                return new java.text.DecimalFormat("#,##0.##", java.text.DecimalFormatSymbols.getInstance(java.util.Locale.ROOT));
            case "java.awt.Graphics", "java.awt.Graphics2D":
                return new java.awt.image.BufferedImage(8, 8, java.awt.image.BufferedImage.TYPE_INT_ARGB).createGraphics();
            case "java.awt.image.BufferedImage", "java.awt.Image":
                return new java.awt.image.BufferedImage(1 + choices.below(4), 1 + choices.below(4), java.awt.image.BufferedImage.TYPE_INT_ARGB);
            case "java.lang.reflect.Method":
                return METHODS.get(choices.below(METHODS.size()));
            case "java.lang.reflect.Constructor":
                return CONSTRUCTORS.get(choices.below(CONSTRUCTORS.size()));
            case "java.lang.Thread":
                return Thread.currentThread();
            case "java.lang.ClassLoader":
                int way = choices.below(3);
                return way == 0 ? World.run.loader : way == 1 ? null : ClassLoader.getPlatformClassLoader();
            default:
                return UNKNOWN;
        }
    }

    private Throwable thrown() {
        return switch (choices.below(6)) {
            case 0, 1 -> new IllegalStateException(plain.text());
            case 2, 3 -> new java.io.IOException(plain.text());
            case 4 -> new IllegalArgumentException();
            default -> new RuntimeException(plain.text(), new java.io.IOException(plain.text()));
        };
    }

    private Object digest() {
        try {
            return java.security.MessageDigest.getInstance(List.of("MD5", "SHA-1", "SHA-256").get(choices.below(3)));
        } catch (java.security.NoSuchAlgorithmException exc) {
            return null;
        }
    }

    private static Object mac() {
        try {
            javax.crypto.Mac mac = javax.crypto.Mac.getInstance("HmacSHA256");
            mac.init(new javax.crypto.spec.SecretKeySpec(new byte[] {1, 2, 3}, "HmacSHA256"));
            return mac;
        } catch (java.security.GeneralSecurityException exc) {
            return null;
        }
    }

    private String lines() {
        StringBuilder text = new StringBuilder(plain.text());
        for (int more = choices.below(4); more > 0; more--) {
            text.append(List.of("", "\n", "\n", "\n", "=").get(choices.below(5))).append(plain.text());
        }
        return text.toString();
    }

    private byte[] bytes() {
        if (choices.below(2) == 0) {
            return lines().getBytes(StandardCharsets.UTF_8);
        }
        byte[] bytes = new byte[choices.below(12)];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) plain.number();
        }
        return bytes;
    }

    /** A relative path mostly; at times something is there. */
    private String path() {
        int way = choices.below(8);
        if (way == 0 || way > 4) {
            StringBuilder path = new StringBuilder(way == 7 ? "/" : "");
            for (int more = way == 0 ? 0 : choices.below(3); more >= 0; more--) {
                path.append(way == 0 ? "file.txt" : List.of("a", "b", "data", "c.txt", "d.xml").get(choices.below(5))).append(more > 0 ? "/" : "");
            }
            if (way != 7 && choices.below(2) == 1) {
                Surroundings.make(path.toString(), way != 0 && choices.below(4) == 3 ? null : lines());
            }
            return path.toString();
        }
        String path = List.of("missing.txt", ".", "data/a.b", "a/b").get(way - 1);
        if (way > 2 && choices.below(2) == 1) {
            Surroundings.make(path, way == 4 ? null : lines());
        }
        return path;
    }
}
