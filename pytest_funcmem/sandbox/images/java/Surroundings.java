package funcmem.harness;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** What code finds around itself in every input state: properties, standard streams, and a directory with a file. */
final class Surroundings {
    private static final int MOST_PRINTED = 100_000;
    private static final Pattern FRAMES =
            Pattern.compile("(?m)^\\t+(?:at [^\\n(]*\\([^\\n)]*\\)|\\.\\.\\. \\d+ more)(?:\\n|\\z)");
    private static final java.util.Properties PROPERTIES = (java.util.Properties) System.getProperties().clone();
    private static final File HERE = new File(".");
    private static final File FILE = new File("file.txt");
    private static final String CONTENT = "one 1\ntwo 2\n\nthree 3\n";
    private static final String CONTENT_SHOWN = "[\"bytes\"," + Json.quote(CONTENT) + "]";
    /** Long ago, so that whatever is written to the file since shows. */
    private static final long WRITTEN = Run.CLOCK_MILLIS;

    /** Whether the last state was seen to leave the directory as it found it. */
    private static boolean isSettled;

    final Capture out = new Capture();
    final Capture err = new Capture();

    /** What the code prints, up to a bound. */
    static final class Capture extends ByteArrayOutputStream {
        @Override
        public synchronized void write(byte[] bytes, int start, int length) {
            if (count < MOST_PRINTED) {
                super.write(bytes, start, length);
            }
        }

        @Override
        public synchronized void write(int one) {
            if (count < MOST_PRINTED) {
                super.write(one);
            }
        }

        /** What was printed, but for the frames of stack traces: they tell lines, which a rewriting moves. */
        String text() {
            return count == 0
                    ? "\"\"" : Json.quote(FRAMES.matcher(toString(StandardCharsets.UTF_8)).replaceAll(""));
        }
    }

    /** Put back what code can change for all that runs after it in this machine. */
    void settle() {
        System.setProperties((java.util.Properties) PROPERTIES.clone());
        java.util.Locale.setDefault(java.util.Locale.US);
        java.util.TimeZone.setDefault(null);
        System.setOut(new PrintStream(out, false, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, false, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(new byte[0]));
        if (!isSettled && !isDirectoryAsFound()) {
            File[] left = HERE.listFiles();
            for (File one : left == null ? new File[0] : left) {
                delete(one);
            }
            try {
                Files.writeString(FILE.toPath(), CONTENT);
            } catch (IOException exc) {
                throw new IllegalStateException(exc);
            }
            FILE.setLastModified(WRITTEN);
        }
        isSettled = false;
    }

    /** Whether nothing of these was changed since they were settled; of the directory, what is in it. */
    static boolean isAsSettled() {
        return System.getProperties().equals(PROPERTIES) && java.util.Locale.getDefault().equals(java.util.Locale.US)
                && java.util.TimeZone.getDefault().getID().equals("UTC") && isDirectoryAsFound();
    }

    private static boolean isDirectoryAsFound() {
        String[] names = HERE.list();
        if (names == null || names.length != 1 || !names[0].equals(FILE.getName())) {
            return false;
        }
        return FILE.lastModified() == WRITTEN && FILE.length() == CONTENT.length() && FILE.canRead() && FILE.canWrite()
                && !FILE.canExecute();
    }

    private static void delete(File file) {
        File[] inner = Files.isSymbolicLink(file.toPath()) ? null : file.listFiles();
        for (File one : inner == null ? new File[0] : inner) {
            delete(one);
        }
        file.delete();
    }

    /** What became of the directory, as JSON: files by name where they are not as they were found. */
    static String files() {
        isSettled = isDirectoryAsFound();
        if (isSettled) {
            return "{}";
        }
        Map<String, String> found = new TreeMap<>();
        collect(HERE, "", found);
        if (CONTENT_SHOWN.equals(found.get("file.txt"))) {
            found.remove("file.txt");
        } else {
            found.putIfAbsent("file.txt", "[\"deleted\"]");
        }
        StringBuilder shown = new StringBuilder("{");
        found.forEach((name, content) ->
                shown.append(shown.length() > 1 ? "," : "").append(Json.quote(name)).append(':').append(content));
        return shown.append('}').toString();
    }

    private static void collect(File directory, String prefix, Map<String, String> found) {
        File[] inner = directory.listFiles();
        for (File one : inner == null ? new File[0] : inner) {
            String name = prefix + one.getName();
            if (found.size() > 50) {
                return;
            }
            if (one.isDirectory()) {
                found.put(name, "[\"directory\"]");
                if (prefix.length() < 200 && !Files.isSymbolicLink(one.toPath())) {
                    collect(one, name + "/", found);
                }
            } else {
                found.put(name, content(one));
            }
        }
    }

    private static String content(File file) {
        try {
            return file.length() > 50_000 ? "[\"opaque\",\"" + file.length() + " bytes\"]"
                    : "[\"bytes\"," + Json.quote(Files.readString(file.toPath(), StandardCharsets.ISO_8859_1)) + "]";
        } catch (IOException exc) {
            return "[\"opaque\",\"unreadable\"]";
        }
    }
}
