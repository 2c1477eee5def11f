package funcmem.harness;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** Shows made values to people, much as Java would write them. */
final class Show {
    private static final int MOST = 400;

    /** Fields in which streams and readers keep what is read from them. */
    private static final Map<String, String> HOLDING = Map.of("java.io.ByteArrayInputStream", "buf", "java.io.StringReader", "str",
            "java.io.FilterInputStream", "in", "java.io.BufferedReader", "in", "java.io.FilterReader", "in");

    private Show() {}

    static String text(Object value, ClassLoader loader) {
        StringBuilder out = new StringBuilder();
        write(value, loader, 0, out);
        return out.length() > MOST ? out.substring(0, MOST) + "..." : out.toString();
    }

    private static void write(Object value, ClassLoader loader, int depth, StringBuilder out) {
        if (out.length() > MOST) {
            return;
        }
        if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Double) {
            out.append(value);
        } else if (value instanceof String || value instanceof Character) {
            String quoted = Json.quote(value.toString());
            out.append(value instanceof String ? quoted
                    : "'" + quoted.substring(1, quoted.length() - 1).replace("'", "\\'").replace("\\\"", "\"") + "'");
        } else if (value instanceof Long) {
            out.append(value).append('L');
        } else if (value instanceof Float) {
            out.append(value).append('f');
        } else if (value instanceof Enum<?> one) {
            out.append(one.getDeclaringClass().getSimpleName()).append('.').append(one.name());
        } else if (value instanceof Class<?> type) {
            out.append(type.getSimpleName()).append(".class");
        } else if (depth > 4) {
            out.append("...");
        } else if (value.getClass().isArray()) {
            List<Object> items = new ArrayList<>();
            for (int i = 0; i < Math.min(40, Array.getLength(value)); i++) {
                items.add(Array.get(value, i));
            }
            out.append("new ").append(value.getClass().getComponentType().getSimpleName()).append("[]");
            several(items, loader, depth, "{", "}", out);
        } else if (Proxy.isProxyClass(value.getClass())) {
            out.append(Instances.proxyName(value));
        } else if (value.getClass().getClassLoader() == loader) {
            out.append(value.getClass().getSimpleName()).append('{');
            int place = 0;
            for (Class<?> type = value.getClass(); type != null && type.getClassLoader() == loader; type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    try {
                        if (!Modifier.isStatic(field.getModifiers()) && !field.isSynthetic()) {
                            field.setAccessible(true);
                            out.append(place++ > 0 ? ", " : "").append(field.getName()).append('=');
                            write(field.get(value), loader, depth + 1, out);
                        }
                    } catch (IllegalAccessException | RuntimeException exc) {
                        continue;
                    }
                }
            }
            if (value instanceof Collection<?> all) {
                several(all, loader, depth, place > 0 ? ", [" : "[", "]", out);
            } else if (value instanceof Map<?, ?> map) {
                out.append(place > 0 ? ", " : "");
                entries(map, loader, depth, out);
            }
            out.append('}');
        } else if (value instanceof Collection<?> all && !(value instanceof java.util.concurrent.BlockingQueue)) {
            several(all, loader, depth, value.getClass().getSimpleName() + "[", "]", out);
        } else if (value instanceof Map<?, ?> map) {
            out.append(value.getClass().getSimpleName()).append('{');
            entries(map, loader, depth, out);
            out.append('}');
        } else if (value instanceof CharSequence || value instanceof Number || value instanceof java.io.File) {
            out.append(value.getClass().getSimpleName()).append('(').append(value).append(')');
        } else {
            out.append(value.getClass().getSimpleName());
            held(value, loader, depth, out);
        }
    }

    /** What a stream or reader holds, and the text of what else of the platform has one. */
    private static void held(Object value, ClassLoader loader, int depth, StringBuilder out) {
        for (Class<?> type = value.getClass(); type != null && type != Object.class; type = type.getSuperclass()) {
            String name = HOLDING.get(type.getName());
            if (name != null) {
                Object content = Encoder.field(value, type, name);
                out.append('(');
                write(content instanceof byte[] bytes ? new String(bytes, java.nio.charset.StandardCharsets.ISO_8859_1) : content, loader, depth + 1, out);
                out.append(')');
                return;
            }
        }
        try {
            boolean isTold = !(value instanceof Thread) && !(value instanceof Collection)
                    && value.getClass().getMethod("toString").getDeclaringClass() != Object.class;
            if (isTold && value.getClass().getClassLoader() == null) {
                out.append('(').append(value).append(')');
            }
        } catch (NoSuchMethodException | RuntimeException exc) {
            return; // it has none
        }
    }

    private static void entries(Map<?, ?> map, ClassLoader loader, int depth, StringBuilder out) {
        int place = 0;
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            out.append(place++ > 0 ? ", " : "");
            write(entry.getKey(), loader, depth + 1, out);
            out.append("=");
            write(entry.getValue(), loader, depth + 1, out);
        }
    }

    private static void several(Collection<?> all, ClassLoader loader, int depth, String open, String close, StringBuilder out) {
        out.append(open);
        int place = 0;
        for (Object one : all) {
            out.append(place++ > 0 ? ", " : "");
            write(one, loader, depth + 1, out);
        }
        out.append(close);
    }
}
