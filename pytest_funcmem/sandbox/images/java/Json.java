package funcmem.harness;

/** Texts of JSON, in ASCII; what people are shown may stand in Java as well, where an escaped line feed may not. */
final class Json {
    private static final String NAMED = "\n\r\t\b\f";

    private Json() {}

    static String quote(String text) {
        StringBuilder out = new StringBuilder(text.length() + 2).append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (Character.isSurrogate(c) && !paired(text, i)) {
                c = '\uFFFD';
            }
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (NAMED.indexOf(c) >= 0) {
                out.append('\\').append("nrtbf".charAt(NAMED.indexOf(c)));
            } else if (c < ' ' || c > '~') {
                hex(out.append("\\u"), c, 4);
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    /** Append the last digits of a number, in base 16. */
    static StringBuilder hex(StringBuilder out, int value, int digits) {
        for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
            out.append(Character.forDigit(value >> shift & 15, 16));
        }
        return out;
    }

    /** Whether a surrogate has its other half beside it. */
    static boolean paired(String text, int place) {
        char c = text.charAt(place);
        if (Character.isHighSurrogate(c)) {
            return place + 1 < text.length() && Character.isLowSurrogate(text.charAt(place + 1));
        }
        return place > 0 && Character.isHighSurrogate(text.charAt(place - 1));
    }
}
