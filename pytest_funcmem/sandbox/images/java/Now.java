package funcmem.harness;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Calendar;
import java.util.Locale;
import java.util.TimeZone;

/** The clock of a state, which stands still but for sleep; called in place of the platform's. */
public final class Now {
    private Now() {}

    public static long currentTimeMillis() {
        return World.run.clock;
    }

    public static long nanoTime() {
        return World.run.clock * 1_000_000L;
    }

    public static Clock clock() {
        return Clock.fixed(Instant.ofEpochMilli(World.run.clock), ZoneOffset.UTC);
    }

    public static Clock clock(ZoneId zone) {
        return clock().withZone(zone);
    }

    public static Calendar calendar() {
        Calendar calendar = Calendar.getInstance();
        setNow(calendar);
        return calendar;
    }

    public static Calendar calendar(TimeZone zone) {
        Calendar calendar = Calendar.getInstance(zone);
        setNow(calendar);
        return calendar;
    }

    public static Calendar calendar(Locale locale) {
        Calendar calendar = Calendar.getInstance(locale);
        setNow(calendar);
        return calendar;
    }

    public static Calendar calendar(TimeZone zone, Locale locale) {
        Calendar calendar = Calendar.getInstance(zone, locale);
        setNow(calendar);
        return calendar;
    }

    public static void setNow(Calendar calendar) {
        calendar.setTimeInMillis(World.run.clock);
    }
}
