package funcmem.harness;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
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

    /** Files and directories that were made for the state, by name; a directory's content is null. */
    private static final Map<String, String> MADE = new TreeMap<>();

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
        MADE.clear();
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

    /**
     * Make a file that is not there, or a directory.
     *
     * @param content Null for a directory.
     */
    static void make(String path, String content) {
        File file = new File(path);
        List<File> above = new ArrayList<>();
        for (File one = file.getParentFile(); one != null; one = one.getParentFile()) {
            above.add(one);
        }
        try {
            for (int i = above.size() - 1; i >= 0; i--) {
                if (above.get(i).mkdir()) {
                    MADE.put(above.get(i).getPath(), null);
                }
            }
            boolean isNew = !file.exists() || file.equals(FILE) && !MADE.containsKey(path);
            if (!isNew || content == null && !file.mkdir()) {
                return;
            }
            if (content != null) {
                Files.writeString(file.toPath(), content);
            }
            MADE.put(path, content);
        } catch (IOException exc) {
            return; // something else has the name
        }
        file.setLastModified(WRITTEN);
        above.forEach(one -> one.setLastModified(WRITTEN));
    }

    /** What was made for the state, as its inputs show it. */
    static List<String> made() {
        List<String> shown = new ArrayList<>();
        MADE.forEach((path, content) -> shown.add("file " + path + (content == null ? "/" : " " + Json.quote(content))));
        return shown;
    }

    private static String shown(String content) {
        return content == null ? "[\"directory\"]"
                : "[\"bytes\"," + Json.quote(new String(content.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1)) + "]";
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
        isSettled = MADE.isEmpty() && isDirectoryAsFound();
        if (isSettled) {
            return "{}";
        }
        Map<String, String> found = new TreeMap<>();
        collect(HERE, "", found);
        Map<String, String> before = new TreeMap<>(Map.of("file.txt", CONTENT_SHOWN));
        MADE.forEach((path, content) -> before.put(path, shown(content)));
        before.forEach((path, content) -> {
            if (content.equals(found.get(path))) {
                found.remove(path);
            } else {
                found.putIfAbsent(path, "[\"deleted\"]");
            }
        });
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
