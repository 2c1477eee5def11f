package funcmem.harness;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Texts in which regular expressions find something: simple ones, of what patterns in code are mostly made of. */
final class Examples {
    private static final int VARIANTS = 3;
    private static final int LONGEST = 60;
    private static final String CANDIDATES = "a1 b.-_Z/\n";

    private final String pattern;
    private final int variant;
    private final StringBuilder out = new StringBuilder();
    private int place;

    private Examples(String pattern, int variant) {
        this.pattern = pattern;
        this.variant = variant;
    }

    /** Some texts that a pattern is found in; none where it is beyond what is read here. */
    static List<String> of(String pattern) {
        List<String> found = new ArrayList<>();
        try {
            Pattern compiled = Pattern.compile(pattern);
            for (int variant = 0; variant < VARIANTS; variant++) {
                Examples examples = new Examples(pattern, variant);
                examples.alternatives(false);
                String text = examples.out.toString();
                if (!text.isEmpty() && text.length() <= LONGEST && !found.contains(text) && compiled.matcher(text).find()) {
                    found.add(text);
                }
            }
        } catch (IllegalArgumentException | IndexOutOfBoundsException | StackOverflowError exc) {
            return found;
        }
        return found;
    }

    /** Alternatives up to the end of their group; one of them is written, unless all are to be passed over. */
    private void alternatives(boolean isSilent) {
        int start = out.length();
        List<String> ways = new ArrayList<>();
        while (true) {
            sequence();
            ways.add(out.substring(start));
            out.setLength(start);
            if (place >= pattern.length() || pattern.charAt(place) != '|') {
                break;
            }
            place++;
        }
        if (!isSilent) {
            out.append(ways.get(variant % ways.size()));
        }
    }

    private void sequence() {
        while (place < pattern.length() && pattern.charAt(place) != '|' && pattern.charAt(place) != ')') {
            int start = out.length();
            piece();
            repeated(start);
        }
    }

    private void piece() {
        char c = pattern.charAt(place++);
        switch (c) {
            case '(' -> group();
            case '[' -> out.append(member());
            case '\\' -> escape();
            case '.' -> out.append('a');
            case '^', '$' -> { }
            default -> out.append(c);
        }
    }

    private void group() {
        boolean isSilent = false;
        if (pattern.charAt(place) == '?') {
            boolean isNamed = pattern.startsWith("?<", place) && Character.isLetter(pattern.charAt(place + 2));
            isSilent = !isNamed && pattern.charAt(place + 1) != ':' && pattern.charAt(place + 1) != '>';
            if (isNamed) {
                place = pattern.indexOf('>', place) + 1;
            } else {
                while ("?:>=!<".indexOf(pattern.charAt(place)) >= 0) {
                    place++;
                }
            }
        }
        alternatives(isSilent);
        place++;
    }

    /** A member of a class of characters, whose bracket was read. */
    private char member() {
        int start = place - 1;
        int depth = 1;
        for (boolean isFirst = true; depth > 0; isFirst = false) {
            char c = pattern.charAt(place++);
            if (c == '\\') {
                place++;
            } else if (c == '[') {
                depth++;
            } else if (c == ']' && !(isFirst || place - 2 == start + 1 && pattern.charAt(start + 1) == '^')) {
                depth--;
            }
        }
        Pattern one = Pattern.compile(pattern.substring(start, place), Pattern.DOTALL);
        for (int i = 0; i < CANDIDATES.length(); i++) {
            String candidate = String.valueOf(CANDIDATES.charAt((i + variant) % CANDIDATES.length()));
            if (one.matcher(candidate).matches()) {
                return candidate.charAt(0);
            }
        }
        for (char c = ' '; c < 256; c++) {
            if (one.matcher(String.valueOf(c)).matches()) {
                return c;
            }
        }
        throw new IndexOutOfBoundsException("an empty class");
    }

    private void escape() {
        char c = pattern.charAt(place++);
        switch (c) {
            case 'd' -> out.append((char) ('1' + variant));
            case 'w', 'S', 'D' -> out.append('a');
            case 's' -> out.append(' ');
            case 'W' -> out.append('-');
            case 't' -> out.append('\t');
            case 'n' -> out.append('\n');
            case 'r' -> out.append('\r');
            case 'b', 'B', 'A', 'Z', 'z', 'G', 'E' -> { }
            case 'Q' -> {
                int end = pattern.indexOf("\\E", place);
                end = end < 0 ? pattern.length() : end;
                out.append(pattern, place, end);
                place = end;
            }
            case 'p', 'P', 'u', 'x', 'k', 'c', '0' -> throw new IndexOutOfBoundsException("not read here");
            default -> out.append(c);
        }
    }

    /** How often the piece comes that was written from a place on. */
    private void repeated(int start) {
        if (place >= pattern.length()) {
            return;
        }
        char c = pattern.charAt(place);
        String once = out.substring(start);
        int times = 1;
        if (c == '*' || c == '+') {
            place++;
            times = variant == 2 ? 2 : 1;
        } else if (c == '?') {
            place++;
            times = variant == 1 ? 0 : 1;
        } else if (c == '{') {
            int end = pattern.indexOf('}', place);
            times = Integer.parseInt(pattern.substring(place + 1, end).split(",")[0].trim());
            place = end + 1;
        } else {
            return;
        }
        if (start + (long) times * once.length() > LONGEST) {
            throw new IndexOutOfBoundsException("too long");
        }
        out.setLength(start);
        out.append(once.repeat(times));
        if (place < pattern.length() && (pattern.charAt(place) == '?' || pattern.charAt(place) == '+')) {
            place++;
        }
    }
}
