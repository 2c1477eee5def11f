package funcmem;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * A compiler that stays warm: sources in on standard input, classes out on standard output, none of them run.
 *
 * <p>A request is a count of sources, then for each its path and its text; the answer is a status, a message,
 * and a count of classes, for each its binary name and its bytes. Numbers have four bytes, highest first, and
 * stand before every text and block as its length. All that a request leaves is garbage of this process: the
 * compiler gets a new context each time, no annotation processor or plugin can be found, and sources and
 * classes are in memory only.
 */
public final class CompilerService {
    private static final int COMPILED = 0;
    private static final int REFUSED = 1;
    private static final int EXHAUSTED = 2;
    private static final int MOST_SOURCES = 4096;
    private static final int MOST_BYTES = 64 << 20;
    private static final long STACK_BYTES = 16L << 20;
    private static final List<String> OPTIONS =
            List.of("-proc:none", "-implicit:class", "-g", "-Xlint:none", "-nowarn", "-Xmaxerrs", "1");

    private final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();

    /** What became of one request. */
    private record Answer(int status, String message, Map<String, byte[]> classes) {}

    public static void main(String[] arguments) throws Exception {
        Locale.setDefault(Locale.ROOT);
        DataInputStream requests =
                new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in)));
        DataOutputStream answers =
                new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)));
        System.setOut(System.err);
        System.setIn(InputStream.nullInputStream());
        CompilerService service = new CompilerService();
        service.rehearse();
        if (arguments.length > 0) {
            return;
        }
        answers.writeInt(COMPILED); // "ready"
        answers.flush();
        while (true) {
            Map<String, String> sources;
            try {
                sources = readSources(requests);
            } catch (EOFException end) {
                return;
            }
            Answer answer = service.compileApart(sources);
            write(answers, answer);
            if (answer.status == EXHAUSTED) {
                return; // nothing of a compiler that ran out of something is used again
            }
        }
    }

    private static Map<String, String> readSources(DataInputStream requests) throws IOException {
        int count = requests.readInt();
        if (count < 0 || count > MOST_SOURCES) {
            throw new IOException("not a count of sources: " + count);
        }
        Map<String, String> sources = new TreeMap<>();
        for (int i = 0; i < count; i++) {
            String path = readText(requests);
            sources.put(path, readText(requests));
        }
        return sources;
    }

    private static String readText(DataInputStream requests) throws IOException {
        int length = requests.readInt();
        if (length < 0 || length > MOST_BYTES) {
            throw new IOException("not a length: " + length);
        }
        byte[] bytes = new byte[length];
        requests.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static void write(DataOutputStream answers, Answer answer) throws IOException {
        answers.writeInt(answer.status);
        writeBlock(answers, answer.message.getBytes(StandardCharsets.UTF_8));
        answers.writeInt(answer.classes.size());
        for (Map.Entry<String, byte[]> entry : answer.classes.entrySet()) {
            writeBlock(answers, entry.getKey().getBytes(StandardCharsets.UTF_8));
            writeBlock(answers, entry.getValue());
        }
        answers.flush();
    }

    private static void writeBlock(DataOutputStream answers, byte[] block) throws IOException {
        answers.writeInt(block.length);
        answers.write(block);
    }

    /** Compile what code under test is made of, so that the first request finds the compiler warm. */
    private void rehearse() throws InterruptedException {
        String source = "import java.util.*; import java.util.function.*; import java.util.stream.*;\n"
                + "public class Rehearsal<T extends Comparable<T>> {\n"
                + "  enum Kind { A, B }\n  record Pair(int left, String right) {}\n"
                + "  interface Shape { double area(); }\n"
                + "  private final Map<String, List<Integer>> seen = new HashMap<>();\n"
                + "  int count(int[] xs) throws Exception { int n = 0; for (int x : xs) { if (x % 2 == 0) n += x;"
                + " else if (x < 0) throw new IllegalArgumentException(\"no \" + x); } return n; }\n"
                + "  String text(List<String> words) { StringBuilder s = new StringBuilder(); words.stream()"
                + ".filter(w -> !w.isEmpty()).map(String::trim).sorted().forEach(w -> s.append(w).append(','));"
                + " return s.toString(); }\n"
                + "  static <U> Optional<U> first(Collection<? extends U> all) { for (U u : all)"
                + " return Optional.of(u); return Optional.empty(); }\n"
                + "  public static void main(String[] a) { Scanner in = new Scanner(System.in); try {"
                + " switch (Kind.valueOf(a[0])) { case A: System.out.println(new Pair(1, \"x\")); break;"
                + " default: System.out.printf(\"%d%n\", in.nextInt()); } } finally { in.close(); } }\n}\n";
        for (int i = 0; i < 12; i++) {
            Answer answer = compileApart(Map.of("Rehearsal.java", source));
            if (answer.status != COMPILED) {
                throw new IllegalStateException(answer.message);
            }
        }
    }

    /** Compile on a thread of its own: deeply nested sources need, and use up, a larger stack. */
    private Answer compileApart(Map<String, String> sources) throws InterruptedException {
        Answer[] answer = new Answer[1];
        Thread thread = new Thread(
                null,
                () -> {
                    try {
                        answer[0] = compile(sources);
                    } catch (Throwable failure) { // also errors of the compiler itself
                        answer[0] = new Answer(EXHAUSTED, "the compiler failed: " + failure, Map.of());
                    }
                },
                "compile",
                STACK_BYTES);
        thread.start();
        thread.join();
        return answer[0];
    }

    private Answer compile(Map<String, String> sources) throws IOException {
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        ByteArrayOutputStream complaints = new ByteArrayOutputStream();
        java.io.Writer said = new java.io.OutputStreamWriter(complaints, StandardCharsets.UTF_8);
        try (Memory memory = new Memory(compiler.getStandardFileManager(found, Locale.ROOT, StandardCharsets.UTF_8))) {
            List<JavaFileObject> units = new ArrayList<>();
            sources.forEach((path, text) -> units.add(new Source(path, text)));
            boolean compiled = compiler.getTask(said, memory, found, OPTIONS, null, units).call();
            if (compiled) {
                return new Answer(COMPILED, "", memory.classes());
            }
            said.flush();
            for (Diagnostic<? extends JavaFileObject> one : found.getDiagnostics()) {
                if (one.getKind() == Diagnostic.Kind.ERROR) {
                    String place = one.getSource() == null ? "" : ((Source) one.getSource()).path + ":"
                            + one.getLineNumber() + ": ";
                    return new Answer(REFUSED, place + one.getMessage(Locale.ROOT), Map.of());
                }
            }
            // The compiler swallows an exhausted stack or heap and tells its writer alone.
            return new Answer(EXHAUSTED, "the compiler failed: " + complaints.toString(StandardCharsets.UTF_8)
                    .lines().filter(line -> line.contains("Error")).findFirst().orElse("no reason given"), Map.of());
        }
    }

    /** A source text. */
    private static final class Source extends SimpleJavaFileObject {
        private final String path;
        private final String text;

        Source(String path, String text) {
            super(URI.create("memory:///" + path.replaceAll("[^A-Za-z0-9_/.$]", "_")), Kind.SOURCE);
            this.path = path;
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    /** Files in memory, before those of the platform; nothing of the disk beside them. */
    private static final class Memory extends ForwardingJavaFileManager<JavaFileManager> {
        private final Map<String, ByteArrayOutputStream> written = new TreeMap<>();

        Memory(JavaFileManager platform) {
            super(platform);
        }

        Map<String, byte[]> classes() {
            Map<String, byte[]> classes = new TreeMap<>();
            written.forEach((name, bytes) -> classes.put(name, bytes.toByteArray()));
            return classes;
        }

        @Override
        public Iterable<JavaFileObject> list(
                Location location, String packageName, java.util.Set<JavaFileObject.Kind> kinds, boolean recurse)
                throws IOException {
            boolean disk = location == StandardLocation.CLASS_PATH || location == StandardLocation.SOURCE_PATH;
            return disk ? List.of() : super.list(location, packageName, kinds, recurse);
        }

        @Override
        public String inferBinaryName(Location location, JavaFileObject file) {
            return file instanceof Source ? null : super.inferBinaryName(location, file);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                Location location, String className, JavaFileObject.Kind kind, FileObject sibling) {
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
}
