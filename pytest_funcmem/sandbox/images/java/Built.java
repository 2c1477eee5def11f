package funcmem.harness;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A function compiled into its scaffold and instrumented, or why it is not: what goes from the machine that compiles
 * to the one that runs. Numbers have four bytes, highest first, and stand before every text and block as its length.
 */
final class Built {
    private static final int MADE_UP = 1;
    private static final int STATEFUL = 2;

    String problem = "";
    int firstLine;
    int lastLine;
    /** Lines of the function that hold code, beside that of its signature. */
    final Set<Integer> executable = new TreeSet<>();
    final Map<String, byte[]> classes = new TreeMap<>();
    final Set<String> own = new TreeSet<>();
    final Set<String> stubs = new TreeSet<>();
    /** Classes that have something to bring up: static fields, or code that runs when they are. */
    final Set<String> stateful = new TreeSet<>();
    /** In the machine that runs it: classes that the last state left as it found them. */
    Loaded loaded;

    static Built failed(String problem) {
        Built built = new Built();
        built.problem = problem;
        return built;
    }

    /** Whether the compiler itself went wrong, and not the source. */
    boolean isBroken() {
        return problem.startsWith(Compilation.FAILED);
    }

    int size() {
        return classes.values().stream().mapToInt(bytes -> bytes.length).sum();
    }

    /**
     * Write it as an answer.
     *
     * @param sent Numbers of the classes that this answer holds already, by their bytes; more are added.
     */
    void write(DataOutputStream out, Map<ByteBuffer, Integer> sent) throws IOException {
        writeText(out, problem);
        out.writeInt(firstLine);
        out.writeInt(lastLine);
        out.writeInt(executable.size());
        for (int line : executable) {
            out.writeInt(line);
        }
        out.writeInt(classes.size());
        for (Map.Entry<String, byte[]> one : classes.entrySet()) {
            writeText(out, one.getKey());
            out.writeByte(marks(one.getKey()));
            byte[] bytes = one.getValue();
            Integer known = sent.putIfAbsent(ByteBuffer.wrap(bytes), sent.size());
            if (known != null) {
                out.writeInt(-1 - known);
            } else {
                out.writeInt(bytes.length);
                out.write(bytes);
            }
        }
    }

    /** What a task is told of a class. */
    int marks(String name) {
        return (stubs.contains(name) ? MADE_UP : 0) | (stateful.contains(name) ? STATEFUL : 0);
    }

    /** Read it as a task of the machine that runs it, whose classes stand together before all programs. */
    static Built read(DataInputStream in, byte[][] blocks) throws IOException {
        Built built = new Built();
        built.firstLine = in.readInt();
        built.lastLine = in.readInt();
        for (int left = in.readInt(); left > 0; left--) {
            String name = readText(in);
            int marks = in.readByte();
            ((marks & MADE_UP) != 0 ? built.stubs : built.own).add(name);
            if ((marks & STATEFUL) != 0) {
                built.stateful.add(name);
            }
            built.classes.put(name, blocks[in.readInt()]);
        }
        return built;
    }

    static void writeText(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    static String readText(DataInputStream in) throws IOException {
        return new String(readBlock(in), StandardCharsets.UTF_8);
    }

    static byte[] readBlock(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return bytes;
    }
}
