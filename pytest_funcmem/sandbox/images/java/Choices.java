package funcmem.harness;

/** A sequence of integers that decides what is made; where it is used up, a hash of seed and place decides. */
final class Choices {
    private final int[] given;
    private final long seed;
    private int used;
    private boolean isPlaced;

    Choices(int[] given, long seed) {
        this.given = given;
        this.seed = seed;
    }

    /** How many of the given choices decide: all of them where an answer was, whose place goes by their number. */
    int used() {
        return isPlaced ? Math.max(used, given.length) : used;
    }

    /** The next choice, in [0, 2**31). */
    int next() {
        int place = used++;
        return place < given.length ? given[place] : (int) (mix(seed, place) >>> 33);
    }

    /** The next choice, as one of a number of ways. */
    int below(int ways) {
        return next() % ways;
    }

    /** The choices of an answer: the first is the given choice at the place, or what that place hashes to. */
    Choices at(long place) {
        int length = given.length;
        isPlaced = true;
        long first = mix(place, 1) >>> 33;
        int one = length > 0 ? given[(int) (first % length)] : (int) (mix(seed, place) >>> 33);
        return new Choices(new int[] {one}, mix(seed ^ one, place));
    }

    /** Choices that all follow from the next one. */
    Choices apart() {
        return new Choices(new int[0], mix(seed, next()));
    }

    static long mix(long seed, long place) {
        long z = seed * 0x9E3779B97F4A7C15L + (place + 1) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    static long hash(String text) {
        long hash = 1125899906842597L;
        for (int i = 0; i < text.length(); i++) {
            hash = 31 * hash + text.charAt(i);
        }
        return mix(hash, text.length());
    }
}
