package funcmem.harness;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.Writer;

/** Streams that fail when they are used. */
final class Failing {
    private Failing() {}

    private static IOException failure() {
        return new IOException("the stream failed");
    }

    static InputStream input() {
        return new InputStream() {
            @Override
            public int read() throws IOException {
                throw failure();
            }
        };
    }

    static OutputStream output() {
        return new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                throw failure();
            }
        };
    }

    static Reader reader() {
        return new Reader() {
            @Override
            public int read(char[] buffer, int start, int length) throws IOException {
                throw failure();
            }

            @Override
            public void close() {
                // nothing is open
            }
        };
    }

    static Writer writer() {
        return new Writer() {
            @Override
            public void write(char[] buffer, int start, int length) throws IOException {
                throw failure();
            }

            @Override
            public void flush() throws IOException {
                throw failure();
            }

            @Override
            public void close() {
                // nothing is open
            }
        };
    }
}
