package funcmem.harness;

/** Texts of JSON, in ASCII. */
final class Json {
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
            } else if (c < ' ' || c > '~') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
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
