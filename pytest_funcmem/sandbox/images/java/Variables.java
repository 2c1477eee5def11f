package funcmem.harness;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Gives static fields of the file that the function names other contents in some states: those that something sets or
 * that begin empty, and containers that do. What they held is put back afterwards.
 */
final class Variables {
    private final List<Runnable> restoring = new ArrayList<>();
    private final List<String> shown = new ArrayList<>();

    /** What was changed, as a state's inputs show it. */
    List<String> shown() {
        return shown;
    }

    boolean isChanged() {
        return !restoring.isEmpty();
    }

    /** Change some of the fields, if the state is one of those. */
    void change(List<Field> statics, Plan plan, Run run) {
        List<Field> open = statics.stream().filter(field -> isOpen(field, plan)).toList();
        if (open.isEmpty() || run.choices.below(3) != 2) {
            return;
        }
        for (Field field : open) {
            if (run.choices.below(2) == 1) {
                try {
                    change(field, run);
                    String name = field.getDeclaringClass().getSimpleName() + "." + field.getName();
                    shown.add(name + " = " + Show.text(field.get(null), run.loader));
                } catch (IllegalAccessException | RuntimeException | LinkageError exc) {
                    continue; // it stays as it is
                }
            }
        }
    }

    private static boolean isOpen(Field field, Plan plan) {
        if (!plan.names.contains(field.getName())) {
            return false;
        }
        try {
            Object held = field.get(null);
            boolean isEmpty = held == null || held instanceof Collection<?> all && all.isEmpty() || held instanceof Map<?, ?> map && map.isEmpty();
            boolean isContainer = (held instanceof Collection || held instanceof Map) && held.getClass().getClassLoader() == null;
            return Modifier.isFinal(field.getModifiers()) ? isEmpty && isContainer : isEmpty || plan.assigned.contains(field.getName());
        } catch (IllegalAccessException | RuntimeException exc) {
            return false;
        }
    }

    @SuppressWarnings("unchecked")
    private void change(Field field, Run run) throws IllegalAccessException {
        Object held = field.get(null);
        Object made = run.maker.make(field.getGenericType(), 1);
        if (held instanceof Map<?, ?> map && made instanceof Map<?, ?> more) {
            Map<Object, Object> before = new LinkedHashMap<>(map);
            restoring.add(() -> {
                map.clear();
                ((Map<Object, Object>) map).putAll(before);
            });
            ((Map<Object, Object>) map).putAll(more);
        } else if (held instanceof Collection<?> all && made instanceof Collection<?> more) {
            List<Object> before = new ArrayList<>(all);
            restoring.add(() -> {
                all.clear();
                ((Collection<Object>) all).addAll(before);
            });
            ((Collection<Object>) all).addAll(more);
        } else if (!Modifier.isFinal(field.getModifiers()) && (made != null || !field.getType().isPrimitive())) {
            restoring.add(() -> {
                try {
                    field.set(null, held);
                } catch (IllegalAccessException exc) {
                    throw new IllegalStateException(exc);
                }
            });
            field.set(null, made);
        }
    }

    /** Put back what the fields held; false where that cannot be done. */
    boolean restore() {
        try {
            for (int i = restoring.size() - 1; i >= 0; i--) {
                restoring.get(i).run();
            }
            return true;
        } catch (RuntimeException exc) {
            return false;
        }
    }
}
