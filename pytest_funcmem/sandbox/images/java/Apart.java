package funcmem.harness;

import java.lang.management.ThreadMXBean;

/** Runs work on a thread of its own, which has a large stack and can be stopped. */
final class Apart {
    private static final int PATIENCE = 10;
    /** Of the clock: what has used no processor for so long waits for ever. */
    private static final long IDLE_NANOS = 2_000_000_000L;
    /** The usual way to it starts a whole server of such things. */
    private static final ThreadMXBean THREADS = sun.management.ManagementFactoryHelper.getThreadMXBean();

    /** Work that may fail in any way. */
    interface Work {
        void run() throws Exception;
    }

    private Apart() {}

    /** Processor time that the running thread has used. */
    static long nanos() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /**
     * Run to the end, or until the time is up.
     *
     * @param timeoutMillis Of the processor; 0 for as long as it takes.
     * @return What it threw; null if it came to its end.
     * @throws InterruptedException It is still running.
     */
    @SuppressWarnings({"deprecation", "removal"})
    static Throwable run(Work work, long stackBytes, long timeoutMillis) throws InterruptedException {
        Throwable[] failure = new Throwable[1];
        Thread thread = new Thread(null, () -> {
            try {
                work.run();
            } catch (Throwable exc) { // whatever the code under test does
                failure[0] = exc;
            }
        }, "main", stackBytes);
        thread.setDaemon(true);
        thread.start();
        // Processor time, so that a busy machine cuts nothing; one that waits for ever is cut by the clock.
        long start = System.nanoTime();
        long moved = start;
        long used = 0;
        thread.join(timeoutMillis == 0 ? 0 : Math.min(timeoutMillis, 20));
        while (thread.isAlive()) {
            long now = System.nanoTime();
            long spent = THREADS.getThreadCpuTime(thread.getId());
            if (spent != used) {
                used = spent;
                moved = now;
            }
            if (used >= timeoutMillis * 1_000_000L || now - moved >= IDLE_NANOS
                    || now - start >= PATIENCE * timeoutMillis * 1_000_000L) {
                break;
            }
            thread.join(20);
        }
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
}
