package funcmem.harness;

import java.security.SecureRandom;
import java.security.SecureRandomSpi;

/** What code gets that wants chance nobody can foresee: the numbers of the state. */
public final class FixedRandom extends SecureRandom {
    private static final long serialVersionUID = 1L;

    public FixedRandom() {
        super(new Numbers(), null);
    }

    public FixedRandom(byte[] seed) {
        this();
    }

    private static final class Numbers extends SecureRandomSpi {
        private static final long serialVersionUID = 1L;

        @Override
        protected void engineSetSeed(byte[] seed) {}

        @Override
        protected void engineNextBytes(byte[] bytes) {
            Chance.generator().nextBytes(bytes);
        }

        @Override
        protected byte[] engineGenerateSeed(int count) {
            byte[] bytes = new byte[count];
            engineNextBytes(bytes);
            return bytes;
        }
    }
}
