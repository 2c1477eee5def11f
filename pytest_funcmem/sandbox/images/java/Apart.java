package funcmem.harness;

/** Does one piece of work on a thread of its own, which has a large stack and can be stopped. */
final class Apart {
    /** Work that may fail in any way. */
    interface Work {
        void run() throws Exception;
    }

    private Apart() {}

    /**
     * Run to the end, or until the time is up.
     *
     * @param timeoutMillis Of the processor; 0 for as long as it takes.
     * @return What it threw; null if it came to its end.
     * @throws InterruptedException It is still running.
     */
    static Throwable run(Work work, long stackBytes, long timeoutMillis) throws InterruptedException {
        Throwable[] thrown = new Throwable[1];
        new Shift(new Shift.Source() {
            private boolean isTaken;

            @Override
            public Work next() {
                boolean isFirst = !isTaken;
                isTaken = true;
                return isFirst ? work : null;
            }

            @Override
            public boolean ended(Throwable failure, long nanos) {
                thrown[0] = failure;
                return false;
            }
        }, stackBytes, timeoutMillis).run();
        if (thrown[0] instanceof InterruptedException stillRunning) {
            throw stillRunning;
        }
        return thrown[0];
    }
}
