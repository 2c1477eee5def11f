package funcmem.harness;

import com.sun.tools.javac.api.ClientCodeWrapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import javax.tools.DiagnosticListener;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/** A compiler whose sources and classes are in memory only; no processor, plugin or class path is found. */
final class Compilation {
    /** How a complaint begins that is not about the source. */
    static final String FAILED = "the compiler failed";

    private static final JavaCompiler COMPILER = ToolProvider.getSystemJavaCompiler();
    private static final JavaFileManager PLATFORM =
            COMPILER.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8);
    /** Texts are joined by plain calls: the platform would make up classes for each place, in every state anew. */
    private static final List<String> OPTIONS =
            List.of("-proc:none", "-g", "-Xlint:none", "-nowarn", "-implicit:none", "-XDstringConcat=inline");

    /** Classes of a unit that is not made up, and of those that are, by binary name. */
    record Classes(Map<String, byte[]> own, Map<String, byte[]> stubs, String complaint) {}

    private Compilation() {}

    /** A task of the compiler over sources; the classes that it makes go to the given map with their unit. */
    static com.sun.source.util.JavacTask task(
            Iterable<? extends JavaFileObject> units, Memory memory, List<String> more,
            DiagnosticListener<JavaFileObject> listener) {
        List<String> options = new ArrayList<>(OPTIONS);
        options.addAll(more);
        return (com.sun.source.util.JavacTask)
                COMPILER.getTask(new StringWriter(), memory, listener, options, null, units);
    }

    /** Compile a file with what is made up around it. */
    static Classes compile(String path, String text, Map<String, String> stubs) {
        List<Source> units = new ArrayList<>();
        Source main = new Source(path, text);
        units.add(main);
        stubs.forEach((name, source) -> units.add(new Source(name, source)));
        Memory memory = new Memory();
        StringBuilder complaint = new StringBuilder();
        boolean compiled = task(units, memory, List.of("-Xmaxerrs", "1"), one -> {
            if (one.getKind() == javax.tools.Diagnostic.Kind.ERROR && complaint.length() == 0) {
                complaint.append(one.getMessage(Locale.ROOT).lines().findFirst().orElse("error"));
            }
        }).call();
        Map<String, byte[]> own = new TreeMap<>();
        Map<String, byte[]> made = new TreeMap<>();
        memory.written.forEach((name, bytes) ->
                (memory.units.get(name) == main ? own : made).put(name, bytes.toByteArray()));
        if (!compiled && complaint.length() == 0) {
            complaint.append(FAILED);
        }
        return new Classes(own, made, complaint.toString());
    }

    private static final java.util.regex.Pattern TOKENS = java.util.regex.Pattern.compile(
            "//[^\n]*|/\\*[\\s\\S]*?\\*/|\"(?:[^\"\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\n]|\\\\.)*'|(?<![\\w$])(enum)(?=\\s*[.=;),\\]:+])");

    /** A source text. */
    @ClientCodeWrapper.Trusted
    static final class Source extends SimpleJavaFileObject {
        final String path;
        private final String text;

        Source(String path, String text) {
            super(URI.create("memory:///" + path.replaceAll("[^A-Za-z0-9_/.$]", "_")), Kind.SOURCE);
            this.path = path;
            this.text = withoutOldNames(text);
        }

        /** Old sources use a name that has become a keyword: it is spelt otherwise where it is a name. */
        private static String withoutOldNames(String text) {
            if (!text.contains("enum")) {
                return text;
            }
            StringBuilder out = new StringBuilder(text);
            java.util.regex.Matcher tokens = TOKENS.matcher(text);
            while (tokens.find()) {
                if (tokens.start(1) >= 0) {
                    out.setCharAt(tokens.end(1) - 1, 'n');
                }
            }
            return out.toString();
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }

        @Override
        public boolean isNameCompatible(String simpleName, Kind kind) {
            return true; // a public class may stand in a file of any name
        }
    }

    /** Files in memory, before those of the platform; nothing of the disk beside them. */
    @ClientCodeWrapper.Trusted
    static final class Memory extends ForwardingJavaFileManager<JavaFileManager> {
        final Map<String, ByteArrayOutputStream> written = new TreeMap<>();
        final Map<String, FileObject> units = new TreeMap<>();

        Memory() {
            super(PLATFORM);
        }

        @Override
        public Iterable<JavaFileObject> list(
                Location location, String packageName, Set<JavaFileObject.Kind> kinds, boolean recurse)
                throws IOException {
            // Of all that is on the disk, what is made up needs the two classes that it calls.
            boolean disk = location == StandardLocation.SOURCE_PATH
                    || location == StandardLocation.CLASS_PATH && !packageName.equals("funcmem.harness");
            return disk ? List.of() : super.list(location, packageName, kinds, recurse);
        }

        @Override
        public String inferBinaryName(Location location, JavaFileObject file) {
            return file instanceof Source ? null : super.inferBinaryName(location, file);
        }

        @Override
        public void close() {
            // the platform's files serve the next compilation too
        }

        @Override
        public void flush() {
            // nothing waits to be written
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                Location location, String className, JavaFileObject.Kind kind, FileObject sibling) {
            units.put(className, sibling);
            return new SimpleJavaFileObject(URI.create("memory:///" + className.replace('.', '/') + kind.extension), kind) {
                @Override
                public OutputStream openOutputStream() {
                    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                    written.put(className, bytes);
                    return bytes;
                }
            };
        }
    }

    static Set<String> internalNames(Map<String, byte[]> classes) {
        Set<String> names = new TreeSet<>();
        classes.keySet().forEach(name -> names.add(name.replace('.', '/')));
        return names;
    }
}
