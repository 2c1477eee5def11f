package funcmem.harness;

import java.time.Clock;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.MonthDay;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
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

    public static Instant instant() {
        return clock().instant();
    }

    public static LocalDate localDate() {
        return LocalDate.now(clock());
    }

    public static LocalDate localDate(ZoneId zone) {
        return LocalDate.now(clock(zone));
    }

    public static LocalTime localTime() {
        return LocalTime.now(clock());
    }

    public static LocalTime localTime(ZoneId zone) {
        return LocalTime.now(clock(zone));
    }

    public static LocalDateTime localDateTime() {
        return LocalDateTime.now(clock());
    }

    public static LocalDateTime localDateTime(ZoneId zone) {
        return LocalDateTime.now(clock(zone));
    }

    public static ZonedDateTime zonedDateTime() {
        return ZonedDateTime.now(clock());
    }

    public static ZonedDateTime zonedDateTime(ZoneId zone) {
        return ZonedDateTime.now(clock(zone));
    }

    public static OffsetDateTime offsetDateTime() {
        return OffsetDateTime.now(clock());
    }

    public static OffsetDateTime offsetDateTime(ZoneId zone) {
        return OffsetDateTime.now(clock(zone));
    }

    public static OffsetTime offsetTime() {
        return OffsetTime.now(clock());
    }

    public static OffsetTime offsetTime(ZoneId zone) {
        return OffsetTime.now(clock(zone));
    }

    public static Year year() {
        return Year.now(clock());
    }

    public static Year year(ZoneId zone) {
        return Year.now(clock(zone));
    }

    public static YearMonth yearMonth() {
        return YearMonth.now(clock());
    }

    public static YearMonth yearMonth(ZoneId zone) {
        return YearMonth.now(clock(zone));
    }

    public static MonthDay monthDay() {
        return MonthDay.now(clock());
    }

    public static MonthDay monthDay(ZoneId zone) {
        return MonthDay.now(clock(zone));
    }
}
