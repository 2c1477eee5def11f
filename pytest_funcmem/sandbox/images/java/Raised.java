package funcmem.harness;

import java.lang.reflect.Executable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.Type;

/** Knows which checked exceptions the platform's methods and constructors declare. */
final class Raised {
    /** What stands for all exceptions among what a function catches. */
    private static final String ALL = "java.lang.RuntimeException";
    private static final String SECURITY = "java.lang.SecurityException";
    /** Classes of the platform whose methods ask whether they may, and beginnings of the names of those that do. */
    private static final Map<String, List<String>> GUARDED = Map.ofEntries(
            Map.entry("java/lang/System", List.of("get", "set")),
            Map.entry("java/lang/ClassLoader", List.of("get", "loadClass")),
            Map.entry("java/lang/Class", List.of("getClassLoader", "getDeclared", "getMethod", "getConstructor", "getField")),
            Map.entry("java/lang/Thread", List.of("getContextClassLoader", "set", "interrupt")),
            Map.entry("java/lang/SecurityManager", List.of("check")),
            Map.entry("java/lang/Boolean", List.of("getBoolean")),
            Map.entry("java/lang/Integer", List.of("getInteger")),
            Map.entry("java/security/AccessController", List.of("")),
            Map.entry("java/lang/reflect/AccessibleObject", List.of("set")),
            Map.entry("java/lang/reflect/Field", List.of("setAccessible")),
            Map.entry("java/lang/reflect/Method", List.of("setAccessible")),
            Map.entry("java/lang/reflect/Constructor", List.of("setAccessible")),
            Map.entry("java/io/File", List.of("exists", "can", "is", "list", "delete", "mk", "create", "length", "last", "set", "renameTo")));
    private static final ConcurrentHashMap<String, List<Class<?>>> KNOWN = new ConcurrentHashMap<>();

    private Raised() {}

    /**
     * The exceptions that a call may raise for a function to catch, with a space between them; null where there is none.
     *
     * @param caught Names of what the function catches; where none is declared, one for all exceptions stands for
     *     the first that is.
     */
    static String by(String owner, String name, String descriptor, List<String> caught) {
        if (caught.isEmpty() || !(owner.startsWith("java/") || owner.startsWith("javax/") || owner.startsWith("org/w3c/") || owner.startsWith("org/xml/"))) {
            return null;
        }
        List<Class<?>> all = KNOWN.computeIfAbsent(owner + "." + name + descriptor, key -> declared(owner, name, descriptor));
        List<String> found = new ArrayList<>();
        for (Class<?> one : all) {
            if (caught.stream().anyMatch(other -> !other.equals(ALL) && isRelated(one, other))) {
                found.add(one.getName());
            }
        }
        if (caught.contains(SECURITY) && isGuarded(owner, name)) {
            found.add(SECURITY);
        }
        if (found.isEmpty() && !all.isEmpty() && caught.contains(ALL)) {
            found.add(all.get(0).getName());
        }
        return found.isEmpty() ? null : String.join(" ", found);
    }

    /** Whether a method may be forbidden, which it does not declare. */
    private static boolean isGuarded(String owner, String name) {
        return GUARDED.getOrDefault(owner, List.of()).stream().anyMatch(name::startsWith);
    }

    /** Of some exceptions of the platform those that a function catches who catches one. */
    static List<String> related(List<String> names, String caught) {
        return names.stream().filter(name -> {
            try {
                return caught.equals(ALL) || isRelated(Class.forName(name, false, ClassLoader.getPlatformClassLoader()), caught);
            } catch (ClassNotFoundException exc) {
                return false;
            }
        }).toList();
    }

    private static boolean isRelated(Class<?> declared, String caught) {
        for (Class<?> one = declared; one != Exception.class && one != null; one = one.getSuperclass()) {
            if (one.getName().equals(caught)) {
                return true;
            }
        }
        return false;
    }

    private static List<Class<?>> declared(String owner, String name, String descriptor) {
        List<Class<?>> found = new ArrayList<>();
        try {
            List<Class<?>> open = new ArrayList<>(List.of(Class.forName(owner.replace('/', '.'), false, ClassLoader.getPlatformClassLoader())));
            for (int i = 0; i < open.size() && found.isEmpty(); i++) {
                Class<?> type = open.get(i);
                boolean isConstructor = name.equals("<init>");
                for (Executable one : isConstructor ? type.getDeclaredConstructors() : type.getDeclaredMethods()) {
                    String parameters = descriptor.substring(0, descriptor.indexOf(')') + 1);
                    if ((isConstructor || one.getName().equals(name)) && parameters.equals(parameters(one))) {
                        for (Class<?> thrown : one.getExceptionTypes()) {
                            if (Exception.class.isAssignableFrom(thrown) && !RuntimeException.class.isAssignableFrom(thrown)) {
                                found.add(thrown);
                            }
                        }
                        return found;
                    }
                }
                if (!isConstructor) {
                    open.addAll(List.of(type.getInterfaces()));
                    if (type.getSuperclass() != null) {
                        open.add(type.getSuperclass());
                    }
                }
            }
        } catch (ClassNotFoundException | LinkageError exc) {
            return found; // it is not of the platform
        }
        return found;
    }

    private static String parameters(Executable one) {
        StringBuilder out = new StringBuilder("(");
        for (Class<?> type : one.getParameterTypes()) {
            out.append(Type.getDescriptor(type));
        }
        return out.append(')').toString();
    }
}
