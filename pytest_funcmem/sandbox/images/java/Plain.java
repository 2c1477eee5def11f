package funcmem.harness;

import java.util.List;
import java.util.Map;

/** Makes numbers, characters and texts. */
final class Plain {
    static final Map<Class<?>, Class<?>> WRAPPERS = Map.of(
            Boolean.class, boolean.class, Character.class, char.class, Byte.class, byte.class,
            Short.class, short.class, Integer.class, int.class, Long.class, long.class,
            Float.class, float.class, Double.class, double.class);
    private static final long[] USUAL = {
        0, 1, 2, -1, 3, 5, 10, 4, 7, 8, 16, 100, 31, 64, 255, 127, 128, 1000, -2, 65535, -128,
        Integer.MAX_VALUE, Integer.MIN_VALUE
    };
    private static final String[] WORDS = {"a", "", "abc", "b", "1", "0", " ", "foo", "12", "true", "A1", "x y", "-1", "1.5", "Ab c", "UTF-8"};
    private static final int SHORTEST = 8;
    private static final int LONGEST = 4_200;
    private static final String LETTERS = "ab01 ZAz9_-.\n\t/\u00e9:,;=()\"'<";

    /** Texts made so far in this state: to be met again. */
    final List<String> texts;
    /** How many items containers have that were made so far. */
    final List<Integer> sizes;
    /** What the items of a container have in common: 0 nothing, 1 literals, 2 small numbers. */
    int theme;
    private final Plan plan;
    private final Choices choices;

    Plain(Plan plan, Choices choices, List<String> texts, List<Integer> sizes) {
        this.sizes = sizes;
        this.plan = plan;
        this.choices = choices;
        this.texts = texts;
    }

    Object make(Class<?> type) {
        Class<?> primitive = WRAPPERS.get(type);
        if (primitive != null && choices.below(20) == 19) {
            return null;
        }
        Class<?> kind = primitive == null ? type : primitive;
        if (kind == boolean.class) {
            return choices.below(2) == 1;
        } else if (kind == int.class) {
            return (int) number();
        } else if (kind == long.class) {
            long value = number();
            return choices.below(12) == 11 ? value << 33 : value;
        } else if (kind == short.class) {
            return (short) number();
        } else if (kind == byte.class) {
            return (byte) number();
        } else if (kind == char.class) {
            return character();
        } else if (kind == double.class) {
            return fraction();
        } else if (kind == float.class) {
            return (float) fraction();
        } else if (kind == void.class) {
            return null;
        }
        int choice = choices.next();
        if (choice % 16 == 15) {
            return null;
        }
        String text = text(choice);
        if (texts.size() < 64) {
            texts.add(text);
        }
        return text;
    }

    long number() {
        int choice = choices.next();
        if (theme == 1 && plan.literals > 0) {
            return plan.numbers.get(choice % plan.literals);
        } else if (theme == 2) {
            return choice % 7 - 1;
        }
        int pool = plan.numbers.size() + USUAL.length;
        int rest = choice / 4;
        if (choice < pool) {
            return pooled(choice);
        } else if (choice % 4 == 1 && !(texts.isEmpty() && sizes.isEmpty())) {
            return measured(rest);
        } else if (plan.literals > 0 && choice % 4 < 2) {
            return plan.numbers.get(rest % plan.literals);
        } else if (choice % 4 < 3) {
            return pooled(rest % pool);
        }
        return switch (rest % 8) {
            case 7 -> (int) Choices.mix(rest, 7);
            case 6 -> rest / 8 % 2000 - 500;
            case 5 -> rest / 8 % 300;
            default -> rest / 8 % 34 - 4;
        };
    }

    /** A place in a text or list that was made before, the end included; in texts mostly of what code looks for. */
    private long measured(int rest) {
        int place = rest % (texts.size() + sizes.size());
        int way = rest / (texts.size() + sizes.size());
        if (place >= texts.size()) {
            int size = sizes.get(sizes.size() - 1 - (place - texts.size()));
            return new int[] {size - 1, size, size / 2, 1}[way % 4];
        }
        String text = texts.get(texts.size() - 1 - place);
        int own = plan.strings.size();
        for (int i = 0; i < own && way % 4 < 2; i++) {
            int found = text.indexOf(plan.strings.get((way / 4 + i) % own), way % 2);
            if (found >= 0) {
                return found;
            }
        }
        return new int[] {text.length() / 2, text.length(), text.length() - 1, 1}[way % 4];
    }

    private long pooled(int place) {
        int own = plan.numbers.size();
        return place < own ? plan.numbers.get(place) : USUAL[place - own];
    }

    double fraction() {
        int choice = choices.next();
        int pool = plan.fractions.size();
        int place = choice % (pool + 8);
        if (place < pool) {
            return plan.fractions.get(place);
        }
        int rest = choice / (pool + 8);
        return switch (place - pool) {
            case 0 -> 0.5;
            case 1, 2 -> (rest % 4001 - 1000) / 8.0;
            case 3 -> rest % 2 == 0 ? 0.0 : 1.0;
            case 4 -> (rest % 1001) / 1000.0;
            case 5 -> rest % 9 == 8 ? Double.NaN : rest % 9 == 7 ? Double.POSITIVE_INFINITY : rest % 40 - 8;
            default -> number();
        };
    }

    char character() {
        int choice = choices.next();
        int own = plan.characters.size();
        if (theme == 1 && own > 0) {
            return plan.characters.get(choice % own).charAt(0);
        }
        int place = choice % (2 * own + LETTERS.length());
        if (place < 2 * own) {
            return plan.characters.get(place / 2).charAt(0);
        }
        return choice / 7 % 23 == 22 ? (char) (choice % 0x3000) : LETTERS.charAt(place - 2 * own);
    }

    String text() {
        return text(choices.next());
    }

    private String text(int choice) {
        int rest = choice / 16;
        int own = plan.strings.size();
        if (choice < own + 4) {
            return choice < own ? plan.strings.get(choice) : WORDS[choice - own];
        }
        if (theme == 1 && own > 0 && choice % 4 != 3) {
            return plan.strings.get(choice / 4 % own);
        }
        switch (choice % 16) {
            case 0, 1, 2, 3 -> {
                int place = rest % (own + WORDS.length);
                return place < own ? plan.strings.get(place) : WORDS[place - own];
            }
            case 4, 5 -> {
                if (!texts.isEmpty()) {
                    return texts.get(rest % texts.size());
                }
                return WORDS[rest % WORDS.length];
            }
            case 6 -> {
                return Long.toString(number());
            }
            case 7, 8, 9, 10 -> {
                StringBuilder text = new StringBuilder();
                for (int i = 0; i <= 1 + rest % 4; i++) {
                    text.append(piece());
                }
                return text.toString();
            }
            case 11 -> {
                if (own > 0) {
                    String text = plan.strings.get(rest % own);
                    return choices.below(2) == 0 ? text.toUpperCase(java.util.Locale.ROOT) : text + piece();
                }
                return WORDS[rest % WORDS.length];
            }
            case 13 -> {
                return shaped(rest);
            }
            case 14 -> {
                return lengthened(rest);
            }
            default -> {
                StringBuilder text = new StringBuilder();
                for (int i = 0; i <= rest % 9; i++) {
                    text.append(character());
                }
                return text.toString();
            }
        }
    }

    /** Words between what code looks for at the beginning, in the middle and at the end of texts. */
    private String shaped(int rest) {
        StringBuilder text = new StringBuilder();
        if (!plan.prefixes.isEmpty() && rest % 4 != 3) {
            text.append(plan.prefixes.get(rest / 4 % plan.prefixes.size()));
        }
        int words = 1 + choices.below(4) % 3;
        for (int i = 0; i < words; i++) {
            if (i > 0) {
                text.append(plan.infixes.isEmpty() ? "/" : plan.infixes.get(choices.below(plan.infixes.size())));
            }
            text.append(piece());
        }
        if (!plan.suffixes.isEmpty() && choices.below(4) != 3) {
            text.append(plan.suffixes.get(choices.below(plan.suffixes.size())));
        }
        return text.toString();
    }

    /** A text about as long as one of the literals says, where code tells long texts from short ones. */
    private String lengthened(int rest) {
        List<Long> lengths = plan.numbers.subList(0, plan.literals).stream().filter(one -> one >= SHORTEST && one <= LONGEST
                && !plan.characters.contains(String.valueOf((char) one.intValue()))).toList();
        if (lengths.isEmpty()) {
            return shaped(rest);
        }
        String text = piece();
        int length = lengths.get(rest % lengths.size()).intValue();
        length = new int[] {length + 1, length, 2 * length, length - 1}[rest / lengths.size() % 4];
        return text.isEmpty() ? "a".repeat(length) : text.repeat(length / text.length() + 1).substring(0, length);
    }

    private String piece() {
        int choice = choices.next();
        int own = plan.strings.size();
        int place = choice % (own + own + 10);
        if (place < 2 * own) {
            return plan.strings.get(place / 2);
        }
        return switch ((place - 2 * own) % 5) {
            case 0 -> String.valueOf(character());
            case 1 -> Integer.toString(choice / 16 % 100);
            case 2 -> WORDS[choice / 16 % WORDS.length];
            case 3 -> texts.isEmpty() ? "" : texts.get(choice / 16 % texts.size());
            default -> String.valueOf(character());
        };
    }
}
