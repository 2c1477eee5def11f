package funcmem.harness;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Prepares scaffolds and compiles programs for as long as it is asked to, and so stays warm. It loads no class that
 * it has compiled: source texts are all that it ever gets, and class files all that leaves it.
 *
 * <p>A request is the milliseconds of the processor that it may take, then a block that begins with what is wanted.
 * Its answer is one block or several, then {@link #DONE}, or {@link #SPENT} where this machine should be asked nothing
 * more, or {@link #LATE} where it ended before all was done; then the milliseconds that it took.
 */
final class Workshop {
    private static final int DONE = -1;
    private static final int SPENT = -2;
    private static final int LATE = -3;
    private static final int MOST_BYTES = 64 << 20;
    private static final int MOST_KEPT = 64;
    private static final int MOST_KEPT_BYTES = 32 << 20;
    private static final long STACK_BYTES = 64L << 20;

    private static final com.sun.management.OperatingSystemMXBean SYSTEM =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    /** All that a compilation reads; the same gives the same. */
    private record Sources(Map<String, String> files, String code) {}

    private final Map<Sources, Built> kept = new LinkedHashMap<>(MOST_KEPT, 0.75f, true);
    private long keptBytes;
    private boolean spent;
    private long end = Long.MAX_VALUE;

    /** Serve requests on standard input until it ends. */
    static void serve() throws Exception {
        DataInputStream requests = new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in)));
        DataOutputStream answers =
                new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16));
        System.setOut(System.err);
        System.setIn(InputStream.nullInputStream());
        Workshop workshop = new Workshop();
        answers.writeInt(DONE); // "ready"
        answers.writeInt(0);
        answers.flush();
        while (true) {
            byte[] request;
            int most;
            try {
                most = requests.readInt();
                int length = requests.readInt();
                if (length < 0 || length > MOST_BYTES) {
                    throw new IOException("not a length: " + length);
                }
                request = new byte[length];
                requests.readFully(request);
            } catch (EOFException end) {
                return;
            }
            long start = usedMillis();
            workshop.end = start + most;
            List<byte[]> blocks = new ArrayList<>();
            boolean isLate = false;
            try {
                workshop.answer(request, blocks);
            } catch (LateException exc) {
                isLate = true;
            }
            for (byte[] block : blocks) {
                answers.writeInt(block.length);
                answers.write(block);
            }
            answers.writeInt(isLate ? LATE : workshop.spent ? SPENT : DONE);
            answers.writeInt((int) Math.min(usedMillis() - start, Integer.MAX_VALUE));
            answers.flush();
        }
    }

    /** The time of a request is up. */
    private static final class LateException extends Exception {}

    /** Milliseconds of the processor that this machine has used, its compiler and collector included. */
    private static long usedMillis() {
        return SYSTEM.getProcessCpuTime() / 1_000_000;
    }

    /** Work for a request in what is left of its time; what it threw, null if it came to its end. */
    private Throwable apart(Apart.Work work) throws LateException {
        long left = end == Long.MAX_VALUE ? 0 : Math.max(1, end - usedMillis());
        try {
            Throwable failure = Apart.run(work, STACK_BYTES, left);
            if (failure instanceof Run.Exhausted) {
                throw new LateException();
            }
            return failure;
        } catch (InterruptedException exc) {
            throw new LateException();
        }
    }

    /** Add the blocks of an answer. */
    void answer(byte[] request, List<byte[]> blocks) throws Exception {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(request));
        String wanted = Built.readText(in);
        if (wanted.equals("prepare")) {
            blocks.add(prepare(in).getBytes(StandardCharsets.US_ASCII));
        } else if (wanted.equals("build")) {
            build(in, blocks);
        } else {
            throw new IOException("not a request: " + wanted);
        }
    }

    private String prepare(DataInputStream in) throws Exception {
        String path = Built.readText(in);
        String whole = Built.readText(in);
        int definition = in.readInt();
        int start = in.readInt();
        int end = in.readInt();
        String name = Built.readText(in);
        String[] record = new String[1];
        Throwable failure =
                apart(() -> record[0] = new Preparation(path, whole, definition, start, end, name).run());
        if (failure != null) {
            spent = true;
            return Preparation.failed("load_failed", Compilation.FAILED + ": " + failure);
        }
        return record[0];
    }

    private void build(DataInputStream in, List<byte[]> blocks) throws Exception {
        Map<String, String> files = new TreeMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            String name = Built.readText(in);
            files.put(name, Built.readText(in));
        }
        Program program = new Program(files);
        Map<ByteBuffer, Integer> sent = new HashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            ByteArrayOutputStream block = new ByteArrayOutputStream();
            built(program, new Sources(files, Built.readText(in))).write(new DataOutputStream(block), sent);
            blocks.add(block.toByteArray());
        }
    }

    private Built built(Program program, Sources sources) throws Exception {
        Built known = kept.get(sources);
        if (known != null) {
            return known;
        }
        Built[] found = new Built[1];
        Throwable failure = apart(() -> found[0] = program.build(sources.code));
        if (failure != null) {
            found[0] = Built.failed(Compilation.FAILED + ": " + failure);
        }
        if (found[0].isBroken()) {
            spent = true;
            return found[0];
        }
        kept.put(sources, found[0]);
        keptBytes += found[0].size();
        for (var oldest = kept.values().iterator(); kept.size() > MOST_KEPT || keptBytes > MOST_KEPT_BYTES; ) {
            keptBytes -= oldest.next().size();
            oldest.remove();
        }
        return found[0];
    }
}
