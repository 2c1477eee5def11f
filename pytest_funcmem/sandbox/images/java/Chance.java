package funcmem.harness;

import java.security.SecureRandom;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import sun.misc.Unsafe;

/** Random numbers of a state; called in place of the platform's. */
public final class Chance {
    private static final Unsafe UNSAFE = Instances.unsafe();
    private static final long SEED = place("threadLocalRandomSeed");
    private static final long PROBE = place("threadLocalRandomProbe");

    private Chance() {}

    private static long place(String field) {
        try {
            return UNSAFE.objectFieldOffset(Thread.class.getDeclaredField(field));
        } catch (NoSuchFieldException exc) {
            throw new IllegalStateException("another Java than the harness is made for", exc);
        }
    }

    public static double random() {
        return generator().nextDouble();
    }

    public static long seed() {
        return generator().nextLong();
    }

    public static Random generator() {
        World.run.ask();
        return World.run.random;
    }

    /** The generator of a thread, which nobody can construct, with a seed of the state. */
    public static ThreadLocalRandom ownGenerator() {
        Thread thread = Thread.currentThread();
        UNSAFE.putInt(thread, PROBE, 1);
        UNSAFE.putLong(thread, SEED, seed());
        return ThreadLocalRandom.current();
    }

    public static SecureRandom secure() {
        return new FixedRandom();
    }

    public static SecureRandom secure(String algorithm) {
        return new FixedRandom();
    }

    public static UUID uuid() {
        return new UUID(seed(), seed());
    }

    public static void shuffle(List<?> list) {
        Collections.shuffle(list, generator());
    }
}
