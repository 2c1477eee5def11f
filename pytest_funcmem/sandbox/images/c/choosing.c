/* Reads integers off a state, and makes numbers and texts out of them. Every one means the same in every run. */
#define _GNU_SOURCE
#include "runtime.h"
#include <stdio.h>
#include <string.h>

#define HISTORY 16
#define CARDS 2               /* the pool whose numbers mean something only as a whole */

static const uint32_t *choices;
static int choice_count, position, argument_choices = -1;
static uint64_t seed, place;
static int at_place;          /* whether choices are read at hashed places instead of in order */
static int answered;          /* whether a choice has decided an answer */
static uint64_t aside;        /* where not 0: all comes from a hash of this, and uses up no choice */
static int64_t history[HISTORY];
static unsigned history_count;

uint64_t fm_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9E3779B97F4A7C15u + b + 0x632BE59BD9B4E019u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

uint64_t fm_hash_text(const char *text, size_t length)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001B3u;
    return hash;
}

uint64_t fm_seed(void) { return seed; }
int fm_choices_used(void)
{
    /* Which choice answers depends on how many there are: then all of them are in use. */
    return answered ? choice_count : argument_choices < 0 ? position : argument_choices;
}
void fm_arguments_done(void) { argument_choices = position; }

void fm_choices_begin(const uint32_t *list, int count, uint64_t of_seed)
{
    choices = list;
    choice_count = count;
    seed = of_seed;
}

uint32_t fm_next(void)
{
    if (aside)
        return (uint32_t)((aside = fm_mix(aside, 17) | 1) >> 8 & 0x7fffffffu);
    if (at_place) {
        int first = argument_choices < 0 ? 0 : argument_choices, left = choice_count - first;
        uint64_t here = fm_mix(place, (uint64_t)at_place++);
        answered |= left > 0;
        if (left > 0)
            return choices[first + (int)(here % (unsigned)left)];
        return (uint32_t)(fm_mix(seed, here) & 0x7fffffffu);
    }
    int here = position++;
    return here < choice_count ? choices[here] : (uint32_t)(fm_mix(seed, (uint64_t)here) & 0x7fffffffu);
}

int64_t fm_remember(int64_t value)
{
    history[history_count++ % HISTORY] = value;
    return value;
}

int64_t fm_number(uint32_t c, int pool, int wide)
{
    const struct fm_pool *from = &fm_table.pools[pool < fm_table.pool_count ? pool : 0];
    if (c >= FM_SMALL_CHOICE && (c & 15) == 7 && history_count && pool == 0)
        return history[(c >> 4) % (history_count < HISTORY ? history_count : HISTORY)];
    if (c < FM_SMALL_CHOICE || (c & 3) || (pool == CARDS && (c & 31)))
        return fm_table.numbers[from->first + (int)((c < FM_SMALL_CHOICE ? c : c >> 2) % (unsigned)from->count)];
    unsigned bits = wide && (c & 4) ? 8 + (c >> 7) % 50 : 1 + (c >> 7) % 16;
    int64_t value = (int64_t)(fm_mix(c, 1) & (((uint64_t)1 << bits) - 1));
    return (c & 64) ? -value : value;
}

/* From here on all comes from a hash of one choice, where nothing did before; says whether it was so. */
int fm_aside_begin(void)
{
    if (aside)
        return 0;
    aside = fm_mix(fm_next(), 3) | 1;
    return 1;
}

void fm_aside_end(void) { aside = 0; }

/* From here on choices are read at a place that a hash names, as the answers of what is made up are. */
struct fm_reading fm_read_at(uint64_t where)
{
    struct fm_reading was = {at_place, place};
    place = where;
    at_place = 1;
    return was;
}

void fm_read_on(struct fm_reading was)
{
    at_place = was.at_place;
    place = was.place;
}

uint64_t fm_asked(const char *name, uint64_t where) { return fm_mix(where, fm_hash_text(name, strlen(name))); }

/* One of some answers, decided like those of stand-ins. */
int64_t fm_draw_answer(const char *name, uint64_t where, int count)
{
    struct fm_reading was = fm_read_at(fm_asked(name, where));
    uint32_t c = fm_next();
    fm_read_on(was);
    return c % (unsigned)count;
}

/* A text, decided like the answers of stand-ins, into a buffer of 300 bytes. */
void fm_draw_text(const char *name, uint64_t where, char *into)
{
    struct fm_reading was = fm_read_at(fm_asked(name, where));
    fm_make_text(into, fm_next());
    fm_read_on(was);
}

/* Insert, replace or take away one letter. */
static int edit_text(char *text, int length, uint32_t c)
{
    const struct fm_pool *from = &fm_table.pools[1];
    unsigned way = c % 4;
    int where = length ? (int)(c / 4 % (unsigned)(length + 1)) : 0;
    char letter = (char)fm_table.numbers[from->first + (int)(c / 1024 % (unsigned)from->count)];
    if (way == 3 && length) {
        where = where < length ? where : length - 1;
        memmove(text + where, text + where + 1, (size_t)(length - where - 1));
        return length - 1;
    }
    if (letter == 0)
        return way == 2 ? length : where;
    if (way == 2 && where < length) {
        text[where] = letter;
        return length;
    }
    memmove(text + where + 1, text + where, (size_t)(length - where));
    text[where] = letter;
    return length + 1;
}

/* A text from a choice, into a buffer of 300 bytes; returns its length. */
int fm_make_text(char *into, uint32_t c)
{
    uint32_t edits = fm_next();
    if (fm_table.text_count && (c < FM_SMALL_CHOICE || (c & 3))) {
        const char *text = fm_table.texts[(c < FM_SMALL_CHOICE ? c : c >> 2) % (unsigned)fm_table.text_count];
        int length = (int)strnlen(text, 240);
        memcpy(into, text, (size_t)length);
        for (uint32_t i = edits < FM_SMALL_CHOICE ? edits % 8 / 4 : edits % 4; i > 0; i--)
            length = edit_text(into, length, fm_next());
        into[length] = 0;
        return length;
    }
    int length = (int)((c >> 2) % 24);
    const struct fm_pool *from = &fm_table.pools[1];
    int made = 0;
    for (int i = 0; i < length; i++) {
        uint64_t h = fm_mix(c, (uint64_t)i);
        unsigned among = (c & 64) && from->count > 10 ? 10 : (unsigned)from->count;
        char letter = (char)fm_table.numbers[from->first + (int)(h % among)];
        if (letter)
            into[made++] = letter;
    }
    into[made] = 0;
    return made;
}

/* Bytes of a pool that the function's numbers are in; those above ASCII with some of their low bits set. */
int fm_make_bytes(char *into, uint32_t c)
{
    const struct fm_pool *from = &fm_table.pools[1];
    int length = 1 + (int)(c % 12);
    for (int i = 0; i < length; i++) {
        uint64_t h = fm_mix(c, (uint64_t)i);
        unsigned among = (h & 64) && from->count > 12 ? 12 : (unsigned)from->count;
        unsigned value = (unsigned)fm_table.numbers[from->first + (int)(h / 128 % among)] & 255;
        into[i] = (char)(value >= 128 && (h & 1) ? value | (h >> 32 & 31) : value);
    }
    for (uint32_t edits = fm_next() % 3; edits > 0; edits--)
        length = edit_text(into, length, fm_next());
    into[length] = 0;
    return length;
}
