/* Makes values of any type out of integers. Every choice means the same in every run with one table. */
#define _GNU_SOURCE
#include "runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL 65536u          /* choices below are an index into a pool */
#define MOST_PARTS 20000
#define MOST_OBJECTS_OF_ONE_FILL 300
#define HISTORY 16
#define CARDS 2               /* the pool whose numbers mean something only as a whole */

static const uint32_t *choices;
static int choice_count, position, argument_choices = -1;
static uint64_t seed, place;
static int at_place;          /* whether choices are read at hashed places instead of in order */
static int answered;           /* whether a choice has decided an answer */
static uint64_t aside;         /* where not 0: all comes from a hash of this, and uses up no choice */
static int parts, objects_made, last_count = 8;
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

static uint32_t next_choice(void)
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

static int64_t remember(int64_t value)
{
    history[history_count++ % HISTORY] = value;
    return value;
}

static int64_t number_of(uint32_t c, int pool, int wide)
{
    const struct fm_pool *from = &fm_table.pools[pool < fm_table.pool_count ? pool : 0];
    if (c >= SMALL && (c & 15) == 7 && history_count && pool == 0)
        return history[(c >> 4) % (history_count < HISTORY ? history_count : HISTORY)];
    if (c < SMALL || (c & 3) || (pool == CARDS && (c & 31)))
        return fm_table.numbers[from->first + (int)((c < SMALL ? c : c >> 2) % (unsigned)from->count)];
    unsigned bits = wide && (c & 4) ? 8 + (c >> 7) % 50 : 1 + (c >> 7) % 16;
    int64_t value = (int64_t)(fm_mix(c, 1) & (((uint64_t)1 << bits) - 1));
    return (c & 64) ? -value : value;
}

static void store_integer(void *at, int size, int64_t value)
{
    switch (size) {
    case 1: { int8_t v = (int8_t)value; memcpy(at, &v, 1); break; }
    case 2: { int16_t v = (int16_t)value; memcpy(at, &v, 2); break; }
    case 4: { int32_t v = (int32_t)value; memcpy(at, &v, 4); break; }
    case 16: memset((char *)at + 8, value < 0 ? 255 : 0, 8); /* fall through */
    case 8: memcpy(at, &value, 8); break;
    default: memset(at, 0, (size_t)size);
    }
}

static void store_scalar(void *at, const struct fm_type *type, uint32_t c, int pool)
{
    switch (type->kind) {
    case FM_CHAR:
        store_integer(at, type->size, number_of(c, pool ? pool : 1, 0));
        break;
    case FM_SIGNED:
        store_integer(at, type->size, remember(number_of(c, pool, type->size > 4)));
        break;
    case FM_UNSIGNED: {
        int64_t value = number_of(c, pool, type->size > 4);
        store_integer(at, type->size, remember(value < 0 && (c & 1024) == 0 ? -value : value));
        break;
    }
    case FM_BOOL:
        store_integer(at, type->size, c & 1);
        break;
    case FM_ENUM: {
        unsigned count = (unsigned)type->b;
        int64_t value = count && (c % 64 != 63) ? fm_table.enumerators[type->a + (int)(c % count)]
                                                : number_of(c >> 6, 0, 0);
        store_integer(at, type->size, remember(value));
        break;
    }
    case FM_FLOAT: {
        static const double parts_of_one[] = {0.0, 0.5, 0.25, 0.1, 0.75, 0.0, 0.0, 0.001};
        double value = (double)number_of(c, pool, 0) + parts_of_one[(c >> 3) % 8];
        if (type->size == 4) { float v = (float)value; memcpy(at, &v, 4); }
        else if (type->size == 8) memcpy(at, &value, 8);
        else { long double v = value; memset(at, 0, (size_t)type->size); memcpy(at, &v, sizeof v); }
        break;
    }
    default:
        memset(at, 0, (size_t)type->size);
    }
}

static int is_scalar(int kind) { return kind >= FM_SIGNED && kind <= FM_ENUM; }

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
static int make_text(char *into, uint32_t c)
{
    uint32_t edits = next_choice();
    if (fm_table.text_count && (c < SMALL || (c & 3))) {
        const char *text = fm_table.texts[(c < SMALL ? c : c >> 2) % (unsigned)fm_table.text_count];
        int length = (int)strnlen(text, 240);
        memcpy(into, text, (size_t)length);
        for (uint32_t i = edits < SMALL ? edits % 8 / 4 : edits % 4; i > 0; i--)
            length = edit_text(into, length, next_choice());
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
static int make_bytes(char *into, uint32_t c)
{
    const struct fm_pool *from = &fm_table.pools[1];
    int length = 1 + (int)(c % 12);
    for (int i = 0; i < length; i++) {
        uint64_t h = fm_mix(c, (uint64_t)i);
        unsigned among = (h & 64) && from->count > 12 ? 12 : (unsigned)from->count;
        unsigned value = (unsigned)fm_table.numbers[from->first + (int)(h / 128 % among)] & 255;
        into[i] = (char)(value >= 128 && (h & 1) ? value | (h >> 32 & 31) : value);
    }
    for (uint32_t edits = next_choice() % 3; edits > 0; edits--)
        length = edit_text(into, length, next_choice());
    into[length] = 0;
    return length;
}

static void fill_scalars(char *at, const struct fm_type *type, int count, int pool)
{
    uint32_t c = next_choice();
    int given = count > MOST_PARTS - parts ? MOST_PARTS - parts : count;
    parts += given;
    if (type->kind == FM_CHAR && (c & 7) != 6) {
        char text[300];
        uint32_t letters = next_choice();
        int length = type->a && letters % 4 ? make_bytes(text, letters / 4) : make_text(text, letters);
        memset(at, 0, (size_t)count * (size_t)type->size);
        if (type->size == 1)
            memcpy(at, text, (size_t)(length < count ? length : count - 1));
        return;
    }
    memset(at, 0, (size_t)count * (size_t)type->size);
    int pattern = c < 4 ? (int)c : c < SMALL ? (int)(c % 6) : (int)(c % 5 ? 4 : c / 5 % 6);
    for (int i = 0; i < given; i++) {
        uint32_t own = pattern == 0 ? 0 : pattern == 3 ? c >> 3 : (uint32_t)(fm_mix(c, (uint64_t)i) & 0x7fffffffu);
        if ((pattern == 1 || pattern == 2) && type->kind != FM_ENUM && type->kind != FM_BOOL && type->kind != FM_FLOAT)
            store_integer(at + i * type->size, type->size, pattern == 1 ? i + 1 : given - i);
        else if (pattern == 5)
            store_scalar(at + i * type->size, type, own % 3 == 0 ? own % SMALL : 0, pool);
        else if (pattern != 0)
            store_scalar(at + i * type->size, type, own, pool);
    }
    uint32_t other = next_choice();
    if (other % 4 != 3 && given > 0)
        store_scalar(at + (int)(other / 4 % (unsigned)(given < 6 ? given : 6)) * type->size, type, next_choice(), pool);
}

static void fill_several(char *at, int type, int count, int flags, int pool, int depth)
{
    const struct fm_type *one = &fm_table.types[type];
    uint64_t was_aside = aside;
    if (is_scalar(one->kind) && count > 1) {
        fill_scalars(at, one, count, pool);
        return;
    }
    if (one->kind == FM_ARRAY) {
        const struct fm_type *inner = &fm_table.types[one->a];
        if (is_scalar(inner->kind) && inner->kind != FM_CHAR) {
            fill_scalars(at, inner, count * one->b, pool);
            return;
        }
    }
    for (int i = 0; i < count; i++) {
        if (parts >= MOST_PARTS || i >= 64) {
            memset(at + (size_t)i * (size_t)one->size, 0, (size_t)(count - i) * (size_t)one->size);
            break;
        }
        if (i == 3 && !aside)
            aside = fm_mix(next_choice(), 3) | 1;
        fm_fill(at + (size_t)i * (size_t)one->size, type, flags, pool, depth + (i > 1));
    }
    if (!was_aside)
        aside = 0;
}

static size_t alignment(int size) { return size % 16 == 0 ? 16 : size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1; }

static void *new_text(int constant, int binary)
{
    char text[300];
    uint32_t c = next_choice();
    int length = binary && c % 4 ? make_bytes(text, c / 4) : make_text(text, c);
    size_t room = constant ? (size_t)length + 1 : 256;
    char *made = fm_allocate(room, 1, -2, (int)room);
    if (made != NULL) {
        memset(made, 0, room);
        memcpy(made, text, (size_t)length + 1);
        last_count = length;
    }
    return made;
}

static void *new_target(int type, int constant, int flags, int pool, int depth)
{
    const struct fm_type *one = &fm_table.types[type];
    if (++objects_made > MOST_OBJECTS_OF_ONE_FILL)
        return NULL;
    if (one->kind == FM_CHAR && one->size == 1) {
        void *made = new_text(constant, one->a);
        struct fm_object *object = fm_object_at(made);
        if (object != NULL)
            object->type = type;
        return made;
    }
    if (one->kind == FM_VOID) {
        int64_t *made = fm_allocate(64, 8, -2, 64);
        if (made != NULL) {
            memset(made, 0, 64);
            for (int i = 0; i < 2; i++)
                made[i] = number_of(next_choice(), 0, 0);
        }
        return made;
    }
    if (one->size <= 0 || one->size > (1 << 22))
        return fm_allocate(16, 8, -2, 16);
    int count = 1, filled = 1;
    if (is_scalar(one->kind))
        count = filled = (flags & FM_OUT) && !(flags & FM_INDEXED) ? 1 : 24;
    else if (one->kind == FM_POINTER) {
        count = 8;
        filled = 1 + (int)(next_choice() % 5);
    } else if (flags & FM_INDEXED || (one->size <= 32 && depth == 0))
        count = filled = one->size <= 64 ? 12 : one->size <= 256 ? 6 : 2;
    char *made = fm_allocate((size_t)one->size * (size_t)count, alignment(one->size), type, count);
    if (made == NULL)
        return NULL;
    memset(made, 0, (size_t)one->size * (size_t)count);
    fill_several(made, type, filled, flags & ~FM_LENGTH, pool, depth + 1);
    last_count = filled;
    return made;
}

static FILE *streams[8];
static int stream_count;

static void fill_pointer(void *at, const struct fm_type *type, int flags, int pool, int depth)
{
    const struct fm_type *target = &fm_table.types[type->a];
    void *value = NULL;
    uint32_t c = next_choice();
    unsigned way = c < SMALL ? c % 8 : (c >> 3) % 8;
    if (target->kind == FM_FUNCTION) {
        int fitting = 0;
        for (int i = 0; i < fm_table.callback_count; i++)
            fitting += fm_table.callbacks[i].type == type->a;
        int wanted = fitting ? (int)(c / 8 % (unsigned)fitting) : 0;
        if (way != 6)
            for (int i = 0; i < fm_table.callback_count; i++)
                if (fm_table.callbacks[i].type == type->a && wanted-- == 0)
                    value = fm_program.callbacks[i];
        memcpy(at, &value, sizeof value);
        return;
    }
    if (target->kind == FM_STREAM) {
        char text[300];
        if (way == 4 && stream_count) {
            memcpy(at, &streams[c / 8 % (unsigned)stream_count], sizeof(void *));
            return;
        }
        int length = make_text(text, next_choice());
        int was = fm_active;
        fm_active = 0;
        FILE *stream = tmpfile();
        if (stream != NULL) {
            fwrite(text, 1, (size_t)length, stream);
            rewind(stream);
        }
        fm_active = was;
        if (stream != NULL && stream_count < 8)
            streams[stream_count++] = stream;
        memcpy(at, &stream, sizeof stream);
        return;
    }
    int composed = target->kind == FM_STRUCT || target->kind == FM_UNION;
    int null = depth < 2 ? way == 6 : composed ? way >= 5 || depth > 5 : way == 6 || depth > 7;
    int alias = depth < 1 ? way == 5 : way == 3 || way == 4;
    if (composed && depth > 3 && way > 2)
        null = 1;
    if (!null && alias) {
        struct fm_object *like = fm_find_like(type->a, c / 8);
        if (like != NULL) {
            int size = target->size;
            unsigned count = like->count > 1 && size > 0 && like->type == type->a && composed ? (unsigned)like->count : 1;
            value = like->start + (size_t)(c / 64 % count) * (size_t)(size > 0 ? size : 0);
        }
    }
    if (!null && value == NULL)
        value = new_target(type->a, type->b, flags, pool, depth);
    memcpy(at, &value, sizeof value);
}

static void fill_bits(char *at, const struct fm_member *member, uint32_t c)
{
    const struct fm_type *type = &fm_table.types[member->type];
    uint64_t value = type->kind == FM_BOOL ? c & 1 : (uint64_t)number_of(c, 0, 0);
    for (int bit = 0; bit < member->bits; bit++) {
        int where = member->bit + bit;
        unsigned char mask = (unsigned char)(1u << (where % 8));
        if (value >> bit & 1)
            at[where / 8] = (char)(at[where / 8] | mask);
        else
            at[where / 8] = (char)(at[where / 8] & ~mask);
    }
}

void fm_fill(void *at, int number, int flags, int pool, int depth)
{
    const struct fm_type *type = &fm_table.types[number];
    if (++parts > MOST_PARTS || depth > 12) {
        memset(at, 0, (size_t)(type->size > 0 ? type->size : 0));
        return;
    }
    switch (type->kind) {
    case FM_POINTER:
        fill_pointer(at, type, flags, pool, depth);
        break;
    case FM_STRUCT:
        memset(at, 0, (size_t)type->size);
        for (int i = 0; i < type->b; i++) {
            const struct fm_member *member = &fm_table.members[type->a + i];
            if (member->bits)
                fill_bits(at, member, next_choice());
            else
                fm_fill((char *)at + member->offset, member->type, member->flags, 0, depth + (depth == 0));
        }
        break;
    case FM_UNION:
        memset(at, 0, (size_t)type->size);
        if (type->b)
            fm_fill((char *)at + fm_table.members[type->a].offset, fm_table.members[type->a].type, flags, 0, depth + 1);
        break;
    case FM_ARRAY:
        if (type->b > 0)
            fill_several(at, type->a, type->b, flags, pool, depth + 1);
        if (type->b > 0)
            last_count = type->b;
        break;
    case FM_VOID: case FM_FUNCTION: case FM_OPAQUE: case FM_STREAM:
        if (type->size > 0)
            memset(at, 0, (size_t)type->size);
        break;
    default: {
        uint32_t c = next_choice();
        if ((flags & FM_LENGTH) && (type->kind == FM_SIGNED || type->kind == FM_UNSIGNED)
            && (c < SMALL ? c % 8 < 6 : (c >> 3) % 8 < 6))
            store_integer(at, type->size, remember((int64_t)((c >> 6 ^ c) % (unsigned)(last_count + 1))));
        else if ((flags & FM_SMALL) && (type->kind == FM_SIGNED || type->kind == FM_UNSIGNED)
                 && (c < SMALL ? c % 4 : (c >> 3) % 4))
            store_integer(at, type->size, remember((int64_t)((c >> 5 ^ c) % 8)));
        else
            store_scalar(at, type, c, pool);
    }
    }
}

/* Some of the numbers of an initialised struct become others. */
static void change_scalars(char *at, const struct fm_type *type)
{
    for (int i = 0; i < type->b && i < 24; i++) {
        const struct fm_member *member = &fm_table.members[type->a + i];
        const struct fm_type *inner = &fm_table.types[member->type];
        if (inner->kind == FM_STRUCT)
            change_scalars(at + member->offset, inner);
        else if (is_scalar(inner->kind) && (next_choice() & 1)) {
            if (member->bits)
                fill_bits(at, member, next_choice());
            else
                fm_fill(at + member->offset, member->type, member->flags, 0, 1);
        }
    }
}

void fm_fill_global(void *at, const struct fm_place *global)
{
    const struct fm_type *type = &fm_table.types[global->type];
    if (global->flags & FM_KEEP)
        return;
    if (global->flags & FM_STARTS) {
        static const char zero[sizeof(void *)];
        uint32_t c = next_choice();
        if ((c & 1) == 0)
            return;
        if (type->kind == FM_STRUCT) {
            change_scalars(at, type);
            return;
        }
        /* An initialised table or pointer means something as it is, a pointer that is null does not. */
        if (!is_scalar(type->kind) && !(type->kind == FM_POINTER && memcmp(at, zero, sizeof zero) == 0))
            return;
    }
    fm_fill(at, global->type, global->flags, global->pool, type->kind == FM_POINTER ? 0 : 1);
}

/* What something made up answers: decided by the state's choices at a place that hashes what was asked. */
void fm_fill_answer(void *at, int type, const char *name, uint64_t where)
{
    int was = at_place;
    uint64_t was_place = place;
    place = fm_mix(where, fm_hash_text(name, strlen(name)));
    at_place = 1;
    parts = objects_made = 0;
    fm_fill(at, type, FM_OUT, 0, 1);
    at_place = was;
    place = was_place;
}

/* Numbers among the globals become others, as what is made up might have changed them. */
void fm_change_globals(uint64_t where)
{
    for (int i = 0; i < fm_table.global_count; i++) {
        const struct fm_place *global = &fm_table.globals[i];
        if (!(global->flags & FM_KEEP) && is_scalar(fm_table.types[global->type].kind))
            fm_fill_answer(fm_program.globals[i], global->type, global->name, where);
    }
}

/* One of some answers, decided like those of stand-ins. */
int64_t fm_draw_answer(const char *name, uint64_t where, int count)
{
    int was = at_place;
    uint64_t was_place = place;
    place = fm_mix(where, fm_hash_text(name, strlen(name)));
    at_place = 1;
    uint32_t c = next_choice();
    at_place = was;
    place = was_place;
    return c % (unsigned)count;
}

/* A text, decided like the answers of stand-ins, into a buffer of 300 bytes. */
void fm_draw_text(const char *name, uint64_t where, char *into)
{
    int was = at_place;
    uint64_t was_place = place;
    place = fm_mix(where, fm_hash_text(name, strlen(name)));
    at_place = 1;
    make_text(into, next_choice());
    at_place = was;
    place = was_place;
}

/* Lines of texts and numbers, or small numbers of four bytes, into a file that the function may read. */
void fm_file_text(int fd, uint64_t where)
{
    int was = at_place;
    uint64_t was_place = place;
    place = fm_mix(77, where);
    at_place = 1;
    uint32_t lines = next_choice(), binary = next_choice() % 4 == 3 && where;
    for (uint32_t i = 0; i < (binary ? 48 : lines % 6); i++) {
        char text[300];
        uint32_t c = binary ? 0 : next_choice();
        int length = (c & 1) ? snprintf(text, sizeof text, "%lld", (long long)number_of(next_choice(), 0, 0))
                             : make_text(text, next_choice());
        text[length++] = '\n';
        if (binary) {
            store_integer(text, 4, number_of(next_choice() % 64, 0, 0));
            length = 4;
        }
        if (write(fd, text, (size_t)length) != length)
            break;
    }
    at_place = was;
    place = was_place;
}
