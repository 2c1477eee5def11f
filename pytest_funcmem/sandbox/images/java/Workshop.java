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
 * <p>A request is a block that begins with what is wanted. Its answer is one block or several, then {@link #DONE},
 * or {@link #SPENT} where this machine should be asked nothing more.
 */
final class Workshop {
    private static final int DONE = -1;
    private static final int SPENT = -2;
    private static final int MOST_BYTES = 64 << 20;
    private static final int MOST_KEPT = 64;
    private static final int MOST_KEPT_BYTES = 32 << 20;
    private static final long STACK_BYTES = 64L << 20;

    /** All that a compilation reads; the same gives the same. */
    private record Sources(Map<String, String> files, String code) {}

    private final Map<Sources, Built> kept = new LinkedHashMap<>(MOST_KEPT, 0.75f, true);
    private long keptBytes;
    private boolean spent;

    /** Serve requests on standard input until it ends. */
    static void serve() throws Exception {
        DataInputStream requests = new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in)));
        DataOutputStream answers =
                new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16));
        System.setOut(System.err);
        System.setIn(InputStream.nullInputStream());
        Workshop workshop = new Workshop();
        answers.writeInt(DONE); // "ready"
        answers.flush();
        while (true) {
            byte[] request;
            try {
                int length = requests.readInt();
                if (length < 0 || length > MOST_BYTES) {
                    throw new IOException("not a length: " + length);
                }
                request = new byte[length];
                requests.readFully(request);
            } catch (EOFException end) {
                return;
            }
            for (byte[] block : workshop.answer(request)) {
                answers.writeInt(block.length);
                answers.write(block);
            }
            answers.writeInt(workshop.spent ? SPENT : DONE);
            answers.flush();
        }
    }

    /** The blocks of an answer. */
    List<byte[]> answer(byte[] request) throws Exception {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(request));
        String wanted = Built.readText(in);
        List<byte[]> blocks = new ArrayList<>();
        if (wanted.equals("prepare")) {
            blocks.add(prepare(in).getBytes(StandardCharsets.US_ASCII));
        } else if (wanted.equals("build")) {
            build(in, blocks);
        } else {
            throw new IOException("not a request: " + wanted);
        }
        return blocks;
    }

    private String prepare(DataInputStream in) throws Exception {
        String path = Built.readText(in);
        String whole = Built.readText(in);
        int definition = in.readInt();
        int start = in.readInt();
        int end = in.readInt();
        String name = Built.readText(in);
        String[] record = new String[1];
        Throwable failure = Apart.run(
                () -> record[0] = new Preparation(path, whole, definition, start, end, name).run(), STACK_BYTES, 0);
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
        Throwable failure = Apart.run(() -> found[0] = program.build(sources.code), STACK_BYTES, 0);
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
