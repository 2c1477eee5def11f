package funcmem.harness;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Enumeration;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Writes values in the canonical encoding that hosts compare. A value is written in place until it is found to
 * hold itself or to grow; then all objects go into a table and refer to each other.
 */
final class Encoder {
    private static final int DEEP = 60;
    private static final int MOST_NODES = 20_000;
    private static final int MOST_TEXT = 200_000;
    private static final int MOST_DRAINED = 300;
    private static final int BUFFER = 64;

    private final ClassLoader loader;
    private final StringBuilder out = new StringBuilder();
    private final IdentityHashMap<Object, Boolean> open = new IdentityHashMap<>();
    private IdentityHashMap<Object, Integer> table;
    private final List<Object> entries = new ArrayList<>();
    private int nodes;
    private boolean draining;
    private boolean partial;

    Encoder(ClassLoader loader) {
        this.loader = loader;
    }

    /** Whether what was written may hold more than the text shows. */
    boolean isPartial() {
        return partial;
    }

    /** Iterators are read to their end: for values that nobody reads afterwards. */
    Encoder draining() {
        draining = true;
        return this;
    }

    /** It cannot be written in place. */
    private static final class Entangled extends RuntimeException {
        Entangled() {
            super("", null, false, false);
        }
    }

    /** It is too large to be written. */
    private static final class Large extends RuntimeException {
        Large() {
            super("", null, false, false);
        }
    }

    String encode(Object value) {
        return encode(value, Object.class);
    }

    /** The encoding of a value; numbers of a primitive declared type need no name of their type. */
    String encode(Object value, Class<?> declared) {
        if (declared == long.class || declared == short.class || declared == byte.class) {
            return whole(((Number) value).longValue());
        }
        String text;
        try {
            write(value, 0);
            text = out.toString();
        } catch (Entangled entangled) {
            try {
                text = graph(value);
            } catch (Large large) {
                partial = true;
                return "[\"cut\"," + Json.quote(value.getClass().getName()) + ",0,\"\",\"\"]";
            }
        } catch (Large large) {
            partial = true;
            return "[\"cut\"," + Json.quote(value.getClass().getName()) + ",0,\"\",\"\"]";
        }
        return text.length() <= MOST_TEXT ? text : cut(value.getClass().getName(), text);
    }

    private String graph(Object value) {
        table = new IdentityHashMap<>();
        open.clear();
        nodes = 0;
        out.setLength(0);
        write(value, 1);
        String root = out.toString();
        List<String> written = new ArrayList<>();
        for (int i = 0; i < entries.size(); i++) {
            out.setLength(0);
            contents(entries.get(i), 1);
            written.add(out.toString());
        }
        return "[\"graph\"," + root + ",[" + String.join(",", written) + "]]";
    }

    private static String cut(String name, String text) {
        try {
            StringBuilder hex = new StringBuilder();
            for (byte one : MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8))) {
                Json.hex(hex, one, 2);
            }
            return "[\"cut\"," + Json.quote(name) + "," + text.length() + ",\"" + hex + "\","
                    + Json.quote(text.substring(0, 200)) + "]";
        } catch (java.security.NoSuchAlgorithmException exc) {
            throw new IllegalStateException(exc);
        }
    }

    static String whole(long value) {
        return Math.abs(value) <= 1L << 53 ? Long.toString(value) : "[\"int\",\"" + Long.toString(value, 16) + "\"]";
    }

    private void write(Object value, int depth) {
        if (++nodes > MOST_NODES || out.length() > 16 * MOST_TEXT) {
            throw new Large();
        }
        if (value == null || value instanceof Boolean || value instanceof Integer) {
            out.append(value);
        } else if (value instanceof String text) {
            text(text);
        } else if (value instanceof Double || value instanceof Float) {
            String shown = value.toString();
            tagged("float", shown.replace("Infinity", "inf").replace("NaN", "nan"));
        } else if (value instanceof Long || value instanceof Short || value instanceof Byte
                || value instanceof Character || value instanceof Enum) {
            partial |= value instanceof Enum && Seen.holdsMore(value.getClass());
            tagged("value", name(value), value instanceof Enum<?> one ? one.name() : value.toString());
        } else if (value instanceof Class<?> type) {
            tagged("type", type.getName());
        } else if (value instanceof byte[] bytes) {
            buffer("byte", new String(bytes, StandardCharsets.ISO_8859_1));
        } else if (value instanceof char[] characters && characters.length >= BUFFER) {
            buffer("char", new String(characters));
        } else if (!isContainer(value)) {
            plain(value);
        } else if (table != null) {
            Integer index = table.get(value);
            if (index == null) {
                index = entries.size();
                table.put(value, index);
                entries.add(value);
            }
            out.append("[\"ref\",").append(index).append(']');
        } else {
            if (depth > DEEP || open.put(value, true) != null) {
                throw new Entangled();
            }
            contents(value, depth + 1);
            open.remove(value);
        }
    }

    private boolean isContainer(Object value) {
        return value.getClass().isArray() || isOwn(value.getClass()) || value instanceof Collection
                || value instanceof Map || value instanceof Map.Entry
                || draining && (value instanceof Iterator || value instanceof Enumeration) || value instanceof Optional || value instanceof Throwable;
    }

    private boolean isOwn(Class<?> type) {
        return type.getClassLoader() == loader && !Proxy.isProxyClass(type) && !type.isHidden() && !type.isSynthetic();
    }

    private void contents(Object value, int depth) {
        if (value.getClass().isArray()) {
            out.append("[\"tuple\",[");
            int length = Array.getLength(value);
            for (int i = 0; i < length; i++) {
                comma(i);
                if (value instanceof long[] longs) {
                    out.append(whole(longs[i]));
                } else if (value instanceof char[] characters) {
                    text(String.valueOf(characters[i]));
                } else {
                    write(value instanceof short[] shorts ? (Object) (int) shorts[i] : Array.get(value, i), depth);
                }
            }
            out.append("]]");
        } else if (isOwn(value.getClass())) {
            object(value, depth);
        } else if (value instanceof Set<?> set) {
            unordered(set);
        } else if (value instanceof Collection<?> all) {
            out.append("[\"list\",");
            items(all.iterator(), depth, MOST_NODES);
            out.append(']');
        } else if (value instanceof Map<?, ?> map) {
            map(map, depth);
        } else if (value instanceof Map.Entry<?, ?> entry) {
            out.append("[\"tuple\",");
            items(java.util.Arrays.asList(entry.getKey(), entry.getValue()).iterator(), depth, 2);
            out.append(']');
        } else if (value instanceof Optional<?> optional) {
            out.append("[\"object\",\"Optional\",[],");
            write(optional.orElse(null), depth);
            out.append(']');
        } else if (value instanceof Throwable thrown) {
            partial = true;
            out.append("[\"object\",").append(Json.quote(thrown.getClass().getName())).append(",[[\"message\",");
            write(thrown.getMessage(), depth);
            out.append("]],null]");
        } else {
            partial = true;
            Iterator<?> iterator = value instanceof Iterator<?> own ? own : ((Enumeration<?>) value).asIterator();
            out.append("[\"iterator\",\"Iterator\",");
            items(iterator, depth, MOST_DRAINED);
            out.append(",null]");
        }
    }

    private void items(Iterator<?> all, int depth, int most) {
        out.append('[');
        for (int i = 0; i < most && all.hasNext(); i++) {
            comma(i);
            write(all.next(), depth);
        }
        out.append(']');
    }

    /** Items of a set or keys of a map stand apart from the table: they are sorted and compared as texts. */
    private String apart(Object item) {
        Encoder other = new Encoder(loader);
        other.nodes = nodes;
        try {
            other.write(item, DEEP - 8);
            partial |= other.partial;
        } catch (Entangled entangled) {
            partial = true;
            return "[\"opaque\"," + Json.quote(item.getClass().getName()) + "]";
        }
        nodes = other.nodes;
        return other.out.toString();
    }

    private void unordered(Set<?> set) {
        List<String> written = new ArrayList<>();
        for (Object item : set) {
            written.add(apart(item));
        }
        written.sort(null);
        out.append("[\"set\",[").append(String.join(",", written)).append("]]");
    }

    private void map(Map<?, ?> map, int depth) {
        out.append("[\"dict\",[");
        int place = 0;
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            comma(place++);
            out.append('[').append(apart(entry.getKey())).append(',');
            write(entry.getValue(), depth);
            out.append(']');
        }
        out.append("]]");
    }

    private void object(Object value, int depth) {
        out.append("[\"object\",").append(Json.quote(name(value))).append(",[");
        int place = 0;
        Class<?> type = value.getClass();
        for (; type != null && isOwn(type); type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) || field.isSynthetic()) {
                    continue;
                }
                Object content;
                try {
                    field.setAccessible(true);
                    content = field.get(value);
                } catch (IllegalAccessException | RuntimeException exc) {
                    continue;
                }
                comma(place++);
                out.append('[').append(Json.quote(field.getName())).append(',');
                if (field.getType() == long.class) {
                    out.append(whole((Long) content));
                } else {
                    write(content, depth);
                }
                out.append(']');
            }
        }
        out.append("],");
        boolean holds = type != null && !Modifier.isAbstract(type.getModifiers());
        partial |= type != null && type != Object.class && !(value instanceof Collection || value instanceof Map);
        if (holds && value instanceof Set<?> set) {
            unordered(set);
        } else if (holds && value instanceof Collection<?> all) {
            out.append("[\"list\",");
            items(all.iterator(), depth, MOST_NODES);
            out.append(']');
        } else if (holds && value instanceof Map<?, ?> map) {
            map(map, depth);
        } else if (value instanceof Throwable thrown) {
            write(thrown.getMessage(), depth);
        } else {
            out.append("null");
        }
        out.append(']');
    }

    /** Values of the platform that have a text of their own, and things known by name only. */
    private void plain(Object value) {
        Class<?> type = value.getClass();
        partial |= !Seen.isShown(type);
        if (value instanceof java.io.ByteArrayOutputStream bytes) {
            tagged("bytes", bytes.toString(StandardCharsets.ISO_8859_1));
            return;
        }
        if (value instanceof java.io.ByteArrayInputStream stream) {
            tagged("value", type.getSimpleName(), stream.available() + " left");
            return;
        }
        if (value instanceof java.io.StringReader) {
            tagged("value", "StringReader", "at " + field(value, java.io.StringReader.class, "next"));
            return;
        }
        if (Proxy.isProxyClass(type)) {
            tagged("opaque", Instances.proxyName(value));
            return;
        }
        if (type.isHidden() || type.isSynthetic() || type.getName().contains("$$Lambda")) {
            tagged("opaque", "lambda");
            return;
        }
        String shown = null;
        try {
            // A thread without a name of its own is numbered by how many there were before it.
            if (!(value instanceof Thread)
                    && type.getMethod("toString").getDeclaringClass() != Object.class) {
                shown = value.toString();
            }
        } catch (NoSuchMethodException | RuntimeException exc) {
            shown = null;
        }
        if (shown == null) {
            tagged("opaque", type.getName());
        } else {
            tagged("value", type.getSimpleName(), shown);
        }
    }

    /** What a field of the platform holds; "?" where it is not to be seen. */
    static Object field(Object value, Class<?> type, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(value);
        } catch (ReflectiveOperationException | RuntimeException exc) {
            return "?";
        }
    }

    private void text(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i)) && !Json.paired(text, i)) {
                StringBuilder hex = new StringBuilder();
                for (int k = 0; k < text.length(); k++) {
                    Json.hex(hex, text.charAt(k), 4);
                }
                tagged("str", hex.toString());
                return;
            }
        }
        out.append(Json.quote(text));
    }

    /** Buffers are mostly empty at their end: what is there is written, and how long they are. */
    private void buffer(String type, String text) {
        int end = text.length();
        while (end > 0 && text.charAt(end - 1) == 0) {
            end--;
        }
        if (text.length() >= BUFFER && end < text.length()) {
            tagged("value", type + "[" + text.length() + "]", text.substring(0, end));
        } else if (type.equals("byte")) {
            tagged("bytes", text);
        } else {
            tagged("value", type + "[]", text);
        }
    }

    private void tagged(String tag, String... texts) {
        out.append("[\"").append(tag).append('"');
        for (String text : texts) {
            out.append(',').append(Json.quote(text));
        }
        out.append(']');
    }

    private void comma(int place) {
        if (place > 0) {
            out.append(',');
        }
    }

    private static String name(Object value) {
        Class<?> type = value instanceof Enum<?> one ? one.getDeclaringClass() : value.getClass();
        String name = type.getName();
        return name.substring(name.lastIndexOf('.') + 1);
    }
}
