package funcmem.harness;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Set;

/** Knows of which objects that are not written part by part an encoding shows all that code could change. */
final class Seen {
    /** Classes of the platform whose text says all, whose objects never change, or are the machine's and no state's. */
    private static final Set<String> SHOWN = Set.of(
            "java.lang.Object", "java.lang.String$CaseInsensitiveComparator", "java.lang.StringBuilder",
            "java.lang.StringBuffer", "java.math.BigInteger", "java.math.BigDecimal", "java.math.MathContext",
            "java.util.Locale", "java.util.UUID", "java.util.BitSet", "java.util.regex.Pattern",
            "java.util.Collections$ReverseComparator", "java.util.Comparators$NaturalOrderComparator",
            "java.util.logging.Logger", "java.util.logging.Level", "java.io.File", "java.net.URI", "java.net.URL",
            "java.util.concurrent.atomic.AtomicInteger", "java.util.concurrent.atomic.AtomicLong",
            "java.util.concurrent.atomic.AtomicBoolean");

    private Seen() {}

    /** Whether the text of an object of this class leaves nothing out. */
    static boolean isShown(Class<?> type) {
        if (type.isHidden() || type.isSynthetic()) {
            return type.getDeclaredFields().length == 0; // a lambda that holds nothing
        }
        return SHOWN.contains(type.getName()) || type.getName().startsWith("java.time.")
                || java.nio.charset.Charset.class.isAssignableFrom(type);
    }

    /** Whether an object that is written by its name alone has fields that can change. */
    static boolean holdsMore(Class<?> from) {
        for (Class<?> type = from; type != null && type != Enum.class; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                boolean isText = field.getType().isPrimitive() || field.getType() == String.class;
                if (!Modifier.isStatic(field.getModifiers()) && !(isText && Modifier.isFinal(field.getModifiers()))) {
                    return true;
                }
            }
        }
        return false;
    }
}
