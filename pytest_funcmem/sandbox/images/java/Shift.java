package funcmem.harness;

import java.lang.management.ThreadMXBean;

/**
 * Does pieces of work one after the other on a thread of their own, which has a large stack, and watches it: a piece
 * that takes too long is stopped with its thread, and the next one begins on another.
 */
final class Shift {
    /** Where the pieces come from. Its methods are called by one thread at a time. */
    interface Source {
        /** The next piece; null where none is left. */
        Apart.Work next() throws Exception;

        /**
         * The piece that was taken last has ended.
         *
         * @param failure What it threw, null if it came to its end; {@link Run.Exhausted} where it was stopped, and
         *     {@link InterruptedException} where it could not be.
         * @param nanos What it took of the processor.
         * @return Whether another may follow.
         */
        boolean ended(Throwable failure, long nanos);
    }

    private static final int PATIENCE = 10;
    /** Of the clock: what has used no processor for so long waits for ever. */
    private static final long IDLE_NANOS = 2_000_000_000L;
    private static final int LOOK_MILLIS = 20;
    private static final int FAREWELL_MILLIS = 200;
    /** The usual way to it starts a whole server of such things. */
    private static final ThreadMXBean THREADS = sun.management.ManagementFactoryHelper.getThreadMXBean();

    private final Source source;
    private final long stackBytes;
    private final long mostNanos;
    /** The thread that works; another one that still runs was stopped. */
    private Thread worker;
    private int begun;
    private boolean isBusy;
    private boolean isOver;
    private long usedBefore;
    private Throwable broken;

    /**
     * @param timeoutMillis What a piece may take of the processor; 0 for as long as it takes.
     */
    Shift(Source source, long stackBytes, long timeoutMillis) {
        this.source = source;
        this.stackBytes = stackBytes;
        this.mostNanos = timeoutMillis * 1_000_000L;
    }

    /** Do all that there is to do, or what is done before the source wants no more. */
    synchronized void run() throws InterruptedException {
        while (!isOver) {
            worker = new Thread(null, this::work, "main", stackBytes);
            worker.setDaemon(true);
            worker.start();
            watch();
        }
        if (broken != null) {
            throw new IllegalStateException(broken);
        }
    }

    private void work() {
        Thread thread = Thread.currentThread();
        ClassLoader usual = thread.getContextClassLoader();
        try {
            for (Apart.Work work = source.next(); work != null; work = source.next()) {
                long before = THREADS.getCurrentThreadCpuTime();
                synchronized (this) {
                    begun++;
                    usedBefore = before;
                    isBusy = true;
                }
                Throwable failure = null;
                try {
                    work.run();
                } catch (Throwable exc) { // whatever the code under test does
                    failure = exc;
                }
                synchronized (this) {
                    if (worker != thread) {
                        return;
                    }
                    isBusy = false;
                }
                if (!source.ended(failure, THREADS.getCurrentThreadCpuTime() - before)) {
                    break;
                }
                Thread.interrupted();
                thread.setContextClassLoader(usual);
                if (!thread.getName().equals("main")) {
                    thread.setName("main");
                }
            }
            finish(thread, null);
        } catch (Throwable exc) { // of the source, or of being stopped
            finish(thread, exc);
        }
    }

    private synchronized void finish(Thread thread, Throwable failure) {
        if (worker == thread) {
            broken = failure;
            isOver = true;
            notifyAll();
        }
    }

    /** Wait until all is over, or stop the piece that takes too long. */
    @SuppressWarnings({"deprecation", "removal"})
    private void watch() throws InterruptedException {
        int seen = 0;
        long start = 0;
        long moved = 0;
        long used = 0;
        while (!isOver) {
            wait(LOOK_MILLIS);
            if (!isBusy || mostNanos == 0) {
                continue;
            }
            long now = System.nanoTime();
            long spent = THREADS.getThreadCpuTime(worker.getId()) - usedBefore;
            if (begun != seen) {
                seen = begun;
                start = now;
                moved = now;
            } else if (spent != used) {
                moved = now;
            }
            used = spent;
            // Processor time, so that a busy machine cuts nothing; one that waits for ever is cut by the clock.
            if (used >= mostNanos || now - moved >= IDLE_NANOS || now - start >= PATIENCE * mostNanos) {
                Thread stopped = worker;
                worker = null;
                isBusy = false;
                stopped.stop();
                for (long left = FAREWELL_MILLIS; stopped.isAlive() && left > 0; left -= LOOK_MILLIS) {
                    wait(LOOK_MILLIS); // it may need this lock to come to its end
                }
                Throwable end = stopped.isAlive() ? new InterruptedException() : new Run.Exhausted();
                isOver = !source.ended(end, mostNanos) || stopped.isAlive();
                return;
            }
        }
    }
}
