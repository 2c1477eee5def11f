package funcmem.harness;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The harness of Java inside the sandbox: one machine for one task, which is read from standard input. It either
 * prepares a scaffold, running nothing of what it reads, or builds programs and runs them on input states.
 *
 * <p>Records go to standard output, each after its length. A state that does not end is left behind, and if it
 * cannot be stopped this machine ends; whoever started it starts another at the next state.
 */
public final class Harness {
    /** Exit status of a machine that is of no more use; whoever started it goes on with another. */
    static final int SPENT = 75;

    private static final long STACK_BYTES = 16L << 20;
    private static final int PATIENCE = 8;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final DataInputStream request;
    private final OutputStream records;

    private Harness(InputStream request, OutputStream records) {
        this.request = new DataInputStream(new BufferedInputStream(request));
        this.records = records;
    }

    public static void main(String[] arguments) throws Exception {
        Locale.setDefault(Locale.US);
        fixOrderOfSets();
        if (arguments.length > 0) {
            rehearse();
            return;
        }
        Harness harness = new Harness(new FileInputStream(FileDescriptor.in), new FileOutputStream(FileDescriptor.out));
        String mode = harness.text();
        int status = 0;
        if (mode.equals("prepare")) {
            harness.apart(() -> harness.prepare(), 0);
        } else {
            status = harness.execute();
        }
        Runtime.getRuntime().halt(status);
    }

    /** Do all that tasks do, so that the classes for it are noted. */
    private static void rehearse() throws Exception {
        String head = "import java.util.*; import org.absent.Gone;\npublic class Rehearsal {\n"
                + "  private final Map<String, Integer> seen = new HashMap<>(); private Gone gone; enum Kind { A, B }\n"
                + "  interface Shape { double area(); }\n";
        String code = "int count(int[] xs, List<String> words, Kind kind, Shape shape) {\n    int n = gone.size();\n"
                + "    for (int x : xs) {\n      if (x % 2 == 0) n += x; else if (x < 0) throw new IllegalArgumentException(\"no \" + x);\n    }\n"
                + "    for (String word : words) { seen.merge(word.trim(), 1, Integer::sum); }\n"
                + "    words.stream().filter(w -> !w.isEmpty()).map(String::trim).forEach(w -> System.out.println(w));\n"
                + "    switch (kind) { case A: return n; default: return (int) shape.area() + seen.size(); }\n  }";
        String tail = "\n}\n";
        java.io.ByteArrayOutputStream records = new java.io.ByteArrayOutputStream();
        java.io.ByteArrayOutputStream task = new java.io.ByteArrayOutputStream();
        java.io.DataOutputStream out = new java.io.DataOutputStream(task);
        for (String text : new String[] {"Rehearsal.java", head + code + tail}) {
            out.writeInt(text.length());
            out.writeBytes(text);
        }
        out.writeInt(head.length());
        out.writeInt(head.length());
        out.writeInt(head.length() + code.length());
        out.writeInt(5);
        out.writeBytes("count");
        new Harness(new java.io.ByteArrayInputStream(task.toByteArray()), records).prepare();
        Preparation preparation = new Preparation("Rehearsal.java", head + code + tail, head.length(), head.length(),
                head.length() + code.length(), "count");
        Map<String, String> files = preparation.files();
        if (files.isEmpty()) {
            throw new IllegalStateException(records.toString());
        }
        Program program = new Program(files);
        Program.Built built = program.build(code);
        for (int seed = 0; seed < 40; seed++) {
            new Harness(InputStream.nullInputStream(), records)
                    .state(new StateRun(program, built, seed, new int[0], true), 0, seed, 5000);
        }
    }

    /** Sets and maps of the platform that do not change go in an order that differs between machines. */
    private static void fixOrderOfSets() {
        try {
            java.lang.reflect.Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            sun.misc.Unsafe unsafe = (sun.misc.Unsafe) field.get(null);
            Class<?> type = Class.forName("java.util.ImmutableCollections");
            for (java.lang.reflect.Field one : type.getDeclaredFields()) {
                if (one.getName().equals("SALT32L")) {
                    unsafe.putLong(unsafe.staticFieldBase(one), unsafe.staticFieldOffset(one), 0x2545F491L);
                } else if (one.getName().equals("REVERSE")) {
                    unsafe.putBoolean(unsafe.staticFieldBase(one), unsafe.staticFieldOffset(one), false);
                }
            }
        } catch (ReflectiveOperationException exc) {
            throw new IllegalStateException(exc);
        }
    }

    private String text() throws IOException {
        byte[] bytes = new byte[request.readInt()];
        request.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private Map<String, String> texts() throws IOException {
        Map<String, String> all = new TreeMap<>();
        for (int left = request.readInt(); left > 0; left--) {
            String name = text();
            all.put(name, text());
        }
        return all;
    }

    private void emit(String record) {
        byte[] bytes = record.getBytes(StandardCharsets.US_ASCII);
        try {
            records.write(ByteBuffer.allocate(4 + bytes.length).putInt(bytes.length).put(bytes).array());
            records.flush();
        } catch (IOException exc) {
            Runtime.getRuntime().halt(1); // nobody listens
        }
    }

    /** Work that may fail in any way. */
    private interface Work {
        void run() throws Exception;
    }

    /**
     * Run on a thread of its own, which has a large stack.
     *
     * @param timeoutMillis Of the processor; 0 for as long as it takes.
     * @return What it threw; null if it came to its end.
     * @throws InterruptedException It is still running.
     */
    @SuppressWarnings({"deprecation", "removal"})
    private Throwable apart(Work work, long timeoutMillis) throws InterruptedException {
        Throwable[] failure = new Throwable[1];
        Thread thread = new Thread(null, () -> {
            try {
                work.run();
            } catch (Throwable exc) { // whatever the code under test does
                failure[0] = exc;
            }
        }, "main", STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
        // Processor time, so that a busy machine cuts nothing; one that waits for ever is cut by the clock.
        long start = System.nanoTime();
        long wait = timeoutMillis == 0 ? 0 : Math.min(timeoutMillis, 20);
        do {
            thread.join(wait);
        } while (wait > 0 && thread.isAlive() && THREADS.getThreadCpuTime(thread.getId()) < timeoutMillis * 1_000_000L
                && System.nanoTime() - start < PATIENCE * timeoutMillis * 1_000_000L);
        if (thread.isAlive()) {
            thread.stop();
            thread.join(200);
            if (thread.isAlive()) {
                throw new InterruptedException();
            }
            return new Run.Exhausted();
        }
        return failure[0];
    }

    private void prepare() throws Exception {
        String path = text();
        String whole = text();
        int definition = request.readInt();
        int start = request.readInt();
        int end = request.readInt();
        String name = text();
        emit(new Preparation(path, whole, definition, start, end, name).run());
    }

    private int execute() throws Exception {
        boolean coverage = request.readBoolean();
        int timeoutMillis = request.readInt();
        int skipPrograms = request.readInt();
        int skipStates = request.readInt();
        Program program = new Program(texts());
        int count = request.readInt();
        Thread main = Thread.currentThread();
        for (int number = 0; number < count; number++) {
            String code = text();
            List<int[]> choices = new ArrayList<>();
            List<Long> seeds = new ArrayList<>();
            for (int left = request.readInt(); left > 0; left--) {
                seeds.add(request.readLong());
                int[] given = new int[request.readInt()];
                for (int i = 0; i < given.length; i++) {
                    given[i] = request.readInt();
                }
                choices.add(given);
            }
            if (number < skipPrograms) {
                continue;
            }
            Program.Built[] built = new Program.Built[1];
            Throwable failure = apart(() -> built[0] = program.build(code), 0);
            String problem = failure != null ? "the compiler failed: " + failure : built[0].problem;
            int from = number == skipPrograms ? skipStates : 0;
            if (from == 0) {
                emit("{\"kind\":\"load\",\"program\":" + number + ",\"loaded\":" + problem.isEmpty()
                        + ",\"detail\":" + Json.quote(problem) + ",\"executable_lines\":"
                        + (problem.isEmpty() ? Program.numbers(built[0].executable) : "[]") + "}\n");
            }
            if (!problem.isEmpty()) {
                continue;
            }
            for (int index = from; index < choices.size(); index++) {
                if (!state(new StateRun(program, built[0], seeds.get(index), choices.get(index), coverage), number, index, timeoutMillis)) {
                    return SPENT;
                }
            }
        }
        return 0;
    }

    /** Run one state; false where this machine should not run another. */
    private boolean state(StateRun run, int program, int index, int timeoutMillis) {
        String head = "{\"kind\":\"state\",\"program\":" + program + ",\"index\":" + index;
        String[] record = new String[1];
        long[] spent = new long[1];
        Throwable failure;
        try {
            failure = apart(() -> {
                record[0] = run.run();
                spent[0] = THREADS.getCurrentThreadCpuTime();
            }, timeoutMillis);
        } catch (InterruptedException exc) {
            emit(head + ",\"outcome\":\"timeout\",\"detail\":\"it did not end in time\",\"seconds\":" + timeoutMillis / 1e3 + "}\n");
            return false;
        } finally {
            World.begin(null);
        }
        String seconds = ",\"seconds\":" + spent[0] / 1e9 + "}\n";
        if (failure instanceof OutOfMemoryError) {
            emit(head + ",\"outcome\":\"memory\",\"detail\":\"the heap is full\"" + seconds);
            return false;
        } else if (failure instanceof Run.Exhausted) {
            emit(head + ",\"outcome\":\"timeout\",\"detail\":\"it did not end in time\"" + seconds);
        } else if (failure != null) {
            emit(head + ",\"outcome\":\"missing\",\"detail\":" + Json.quote(failure.toString()) + seconds);
        } else {
            emit(head + ",\"outcome\":\"recorded\",\"detail\":\"\"" + seconds + record[0]);
        }
        return true;
    }
}
