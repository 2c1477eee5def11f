package funcmem.harness;

/** What stands in the place of a body that is made up; {@link Instrumentation} puts a recording one there. */
public final class Made {
    private Made() {}

    /** Never runs: a call of it marks the bodies that are replaced. */
    public static Error up() {
        return new Error("a made-up body was not replaced");
    }
}
