package funcmem;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Touches what small programs use, while the classes that are loaded are noted for an archive. */
public final class Warmup {
    public static void main(String[] arguments) throws Exception {
        Map<String, Integer> counts = new HashMap<>();
        Scanner words = new Scanner("3 1 2 x");
        while (words.hasNextInt()) {
            counts.merge(String.valueOf(words.nextInt() % 2), 1, Integer::sum);
        }
        List<String> lines = new ArrayList<>(new TreeMap<>(counts).keySet());
        String joined = lines.stream().map(line -> "<" + line + ">").sorted().collect(Collectors.joining(","));
        System.err.println(String.format("%s %d %.3f", joined, counts.size(), Math.sqrt(2)));
        new BufferedReader(new InputStreamReader(System.in)).readLine();
        try {
            throw new IllegalArgumentException(joined.split(",")[0]);
        } catch (IllegalArgumentException expected) {
            System.err.println(expected.getMessage() + expected.getStackTrace().length);
        }
    }
}
