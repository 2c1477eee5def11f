package funcmem.harness;

import java.util.Map;
import java.util.Set;

/** The classes of a program, fresh for each input state. */
final class Loader extends ClassLoader {
    private final Map<String, byte[]> classes;
    private final Set<String> stubs;

    Loader(Map<String, byte[]> classes, Set<String> stubs) {
        super(Loader.class.getClassLoader());
        this.classes = classes;
        this.stubs = stubs;
    }

    /** Whether a class is made up. */
    boolean isStub(String name) {
        return stubs.contains(name);
    }

    /** A class that extends an open one, and has another's interface unless that is null; what they leave open is made up. */
    Class<?> heir(Class<?> parent, Class<?> other) {
        String name = "funcmem.made." + parent.getSimpleName() + (other == null ? "" : "_" + other.getSimpleName());
        synchronized (getClassLoadingLock(name)) {
            Class<?> found = findLoadedClass(name);
            if (found == null) {
                byte[] code = Instrumentation.heir(name.replace('.', '/'), parent, other);
                found = defineClass(name, code, 0, code.length);
            }
            return found;
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!classes.containsKey(name)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> found = findLoadedClass(name);
            if (found == null) {
                byte[] code = classes.get(name);
                found = defineClass(name, code, 0, code.length);
            }
            return found;
        }
    }
}
