package funcmem.harness;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The harness of Java. As a workshop it compiles for many tasks and runs nothing; otherwise it is one machine for one
 * task, which is read from standard input: compiled programs, and the input states to run them on.
 *
 * <p>Records go to standard output, each after its length. A state that does not end is left behind, and if it
 * cannot be stopped this machine ends; whoever started it starts another at the next state.
 */
public final class Harness {
    /** Exit status of a machine that is of no more use; whoever started it goes on with another. */
    static final int SPENT = 75;

    private static final long STACK_BYTES = 16L << 20;

    private final DataInputStream request;
    private final OutputStream records;

    private Harness(InputStream request, OutputStream records) {
        this.request = new DataInputStream(request);
        this.records = records;
    }

    public static void main(String[] arguments) throws Exception {
        Locale.setDefault(Locale.US);
        String mode = arguments.length > 0 ? arguments[0] : "run";
        fixOrderOfSets();
        if (mode.equals("workshop")) {
            Workshop.serve();
            return;
        }
        if (mode.equals("rehearse")) {
            rehearse();
            return;
        }
        Harness harness = new Harness(new BufferedInputStream(new FileInputStream(FileDescriptor.in), 1 << 16),
                new FileOutputStream(FileDescriptor.out));
        Runtime.getRuntime().halt(harness.execute());
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
        Workshop workshop = new Workshop();
        ByteArrayOutputStream prepare = new ByteArrayOutputStream();
        DataOutputStream wanted = new DataOutputStream(prepare);
        Built.writeText(wanted, "prepare");
        Built.writeText(wanted, "Rehearsal.java");
        Built.writeText(wanted, head + code + tail);
        wanted.writeInt(head.length());
        wanted.writeInt(head.length());
        wanted.writeInt(head.length() + code.length());
        Built.writeText(wanted, "count");
        List<byte[]> answers = new ArrayList<>();
        workshop.answer(prepare.toByteArray(), answers);
        Map<String, String> files = new Preparation("Rehearsal.java", head + code + tail, head.length(), head.length(),
                head.length() + code.length(), "count").files();
        if (files.isEmpty()) {
            throw new IllegalStateException(new String(answers.get(0), StandardCharsets.US_ASCII));
        }
        ByteArrayOutputStream build = new ByteArrayOutputStream();
        wanted = new DataOutputStream(build);
        Built.writeText(wanted, "build");
        wanted.writeInt(files.size());
        for (Map.Entry<String, String> file : files.entrySet()) {
            Built.writeText(wanted, file.getKey());
            Built.writeText(wanted, file.getValue());
        }
        wanted.writeInt(1);
        Built.writeText(wanted, code);
        workshop.answer(build.toByteArray(), answers);
        new Harness(new ByteArrayInputStream(task(new Program(files).build(code), files.get("plan"))),
                new ByteArrayOutputStream()).execute();
    }

    /** A task that runs a program on some states. */
    private static byte[] task(Built built, String plan) throws IOException {
        ByteArrayOutputStream task = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(task);
        out.writeInt(0);
        out.writeInt(0);
        out.writeBoolean(true);
        out.writeInt(5000);
        Built.writeText(out, plan);
        out.writeInt(built.classes.size());
        for (byte[] bytes : built.classes.values()) {
            out.writeInt(bytes.length);
            out.write(bytes);
        }
        out.writeInt(1);
        out.writeInt(0);
        out.writeInt(built.firstLine);
        out.writeInt(built.lastLine);
        out.writeInt(built.classes.size());
        int place = 0;
        for (String name : built.classes.keySet()) {
            Built.writeText(out, name);
            out.writeByte(built.marks(name));
            out.writeInt(place++);
        }
        out.writeInt(40);
        for (int seed = 0; seed < 40; seed++) {
            out.writeLong(seed);
            out.writeInt(0);
        }
        return task.toByteArray();
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

    private void emit(String record) {
        byte[] bytes = record.getBytes(StandardCharsets.US_ASCII);
        try {
            records.write(ByteBuffer.allocate(4 + bytes.length).putInt(bytes.length).put(bytes).array());
            records.flush();
        } catch (IOException exc) {
            Runtime.getRuntime().halt(1); // nobody listens
        }
    }

    private int execute() throws Exception {
        Task task = new Task();
        new Shift(task, STACK_BYTES, task.timeoutMillis).run();
        return task.isSpent ? SPENT : 0;
    }

    /** The states of the task, which are read one after the other. */
    private final class Task implements Shift.Source {
        private final int skipPrograms = request.readInt();
        private final int skipStates = request.readInt();
        private final boolean coverage = request.readBoolean();
        private final int timeoutMillis = request.readInt();
        private final Plan plan = Plan.read(Built.readText(request));
        private final byte[][] blocks = new byte[request.readInt()][];
        private int programsLeft;
        private int program = -1;
        private int number;
        private Built built;
        private int states;
        private int index;
        private String record;
        private boolean isSpent;

        Task() throws IOException {
            for (int i = 0; i < blocks.length; i++) {
                blocks[i] = Built.readBlock(request);
            }
            programsLeft = request.readInt();
        }

        @Override
        public Apart.Work next() throws IOException {
            while (true) {
                while (++index >= states) {
                    if (programsLeft-- == 0) {
                        return null;
                    }
                    program++;
                    number = request.readInt();
                    built = Built.read(request, blocks);
                    states = request.readInt();
                    index = -1;
                }
                long seed = request.readLong();
                int[] choices = new int[request.readInt()];
                for (int i = 0; i < choices.length; i++) {
                    choices[i] = request.readInt();
                }
                if (program > skipPrograms || program == skipPrograms && index >= skipStates) {
                    StateRun run = new StateRun(plan, built, seed, choices, coverage);
                    record = null;
                    return () -> record = run.run();
                }
            }
        }

        @Override
        public boolean ended(Throwable failure, long nanos) {
            World.begin(null);
            String head = "{\"kind\":\"state\",\"program\":" + number + ",\"index\":" + index;
            String seconds = ",\"seconds\":" + nanos / 1e9 + "}\n";
            if (failure instanceof OutOfMemoryError) {
                emit(head + ",\"outcome\":\"memory\",\"detail\":\"the heap is full\"" + seconds);
            } else if (failure instanceof Run.Exhausted || failure instanceof InterruptedException) {
                emit(head + ",\"outcome\":\"timeout\",\"detail\":\"it did not end in time\"" + seconds);
            } else if (failure != null) {
                emit(head + ",\"outcome\":\"missing\",\"detail\":" + Json.quote(failure.toString()) + seconds);
            } else {
                emit(head + ",\"outcome\":\"recorded\",\"detail\":\"\"" + seconds + record);
            }
            isSpent = failure instanceof OutOfMemoryError || failure instanceof InterruptedException;
            return !isSpent;
        }
    }
}
