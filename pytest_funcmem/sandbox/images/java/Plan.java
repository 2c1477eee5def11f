package funcmem.harness;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a scaffold says of a function beside the sources around it: where it is, and the pools that values come
 * from. As text it is one line an entry, a key and a value with a tab between them.
 */
final class Plan {
    String type = "";
    String method = "";
    String descriptor = "";
    String path = "";
    final List<Long> numbers = new ArrayList<>();
    /** How many of the numbers are literals, and not their neighbours. */
    int literals;
    final List<Double> fractions = new ArrayList<>();
    final List<String> strings = new ArrayList<>();
    final List<String> characters = new ArrayList<>();
    /** What the code looks for at the beginning of texts, at their end, and anywhere in them. */
    final List<String> prefixes = new ArrayList<>();
    final List<String> suffixes = new ArrayList<>();
    final List<String> infixes = new ArrayList<>();
    final List<String> types = new ArrayList<>();
    final List<String> caught = new ArrayList<>();
    /** Names and descriptors of methods of the function's class that have to do with the fields that it uses. */
    final List<String> earlier = new ArrayList<>();
    /** Names of variables that the file's methods set. */
    final Set<String> assigned = new java.util.TreeSet<>();
    final Set<String> names = new LinkedHashSet<>();

    static Plan read(String text) {
        Plan plan = new Plan();
        for (String line : text.split("\n")) {
            int tab = line.indexOf('\t');
            if (tab < 0) {
                continue;
            }
            String value = unescape(line.substring(tab + 1));
            switch (line.substring(0, tab)) {
                case "type" -> plan.type = value;
                case "method" -> plan.method = value;
                case "descriptor" -> plan.descriptor = value;
                case "path" -> plan.path = value;
                case "literals" -> plan.literals = Integer.parseInt(value);
                case "number" -> plan.numbers.add(Long.parseLong(value));
                case "fraction" -> plan.fractions.add(Double.parseDouble(value));
                case "string" -> plan.strings.add(value);
                case "character" -> plan.characters.add(value);
                case "prefix" -> plan.prefixes.add(value);
                case "suffix" -> plan.suffixes.add(value);
                case "infix" -> plan.infixes.add(value);
                case "class" -> plan.types.add(value);
                case "caught" -> plan.caught.add(value);
                case "earlier" -> plan.earlier.add(value);
                case "assigned" -> plan.assigned.add(value);
                case "name" -> plan.names.add(value);
                default -> throw new IllegalArgumentException("not an entry of a plan: " + line);
            }
        }
        return plan;
    }

    String write() {
        StringBuilder out = new StringBuilder();
        Map<String, Iterable<?>> lists = new LinkedHashMap<>();
        lists.put("type", List.of(type));
        lists.put("method", List.of(method));
        lists.put("descriptor", List.of(descriptor));
        lists.put("path", List.of(path));
        lists.put("literals", List.of(literals));
        lists.put("number", numbers);
        lists.put("fraction", fractions);
        lists.put("string", strings);
        lists.put("character", characters);
        lists.put("prefix", prefixes);
        lists.put("suffix", suffixes);
        lists.put("infix", infixes);
        lists.put("class", types);
        lists.put("caught", caught);
        lists.put("earlier", earlier);
        lists.put("assigned", assigned);
        lists.put("name", names);
        lists.forEach((key, values) -> {
            for (Object value : values) {
                out.append(key).append('\t').append(escape(value.toString())).append('\n');
            }
        });
        return out.toString();
    }

    private static String escape(String value) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c < ' ' || c == '\\' || c > '~') {
                Json.hex(out.append('\\'), c, 4);
            } else {
                out.append(c);
            }
        }
        return out.toString();
    }

    private static String unescape(String value) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '\\') {
                out.append((char) Integer.parseInt(value.substring(i + 1, i + 5), 16));
                i += 4;
            } else {
                out.append(c);
            }
        }
        return out.toString();
    }
}
