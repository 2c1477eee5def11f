/* Makes values of any type. */
#define _GNU_SOURCE
#include "runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_PARTS 20000
#define MOST_OBJECTS_OF_ONE_FILL 48

static int parts, objects_made, last_count = 8;

int fm_last_count(void) { return last_count; }
void fm_count_with(int count) { last_count = count; }

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
        store_integer(at, type->size, fm_number(c, pool ? pool : 1, 0));
        break;
    case FM_SIGNED:
        store_integer(at, type->size, fm_remember(fm_number(c, pool, type->size > 4)));
        break;
    case FM_UNSIGNED: {
        int64_t value = fm_number(c, pool, type->size > 4);
        store_integer(at, type->size, fm_remember(value < 0 && (c & 1024) == 0 ? -value : value));
        break;
    }
    case FM_BOOL:
        store_integer(at, type->size, c & 1);
        break;
    case FM_ENUM: {
        unsigned count = (unsigned)type->b;
        int64_t value = count && (c % 64 != 63) ? fm_table.enumerators[type->a + (int)(c % count)]
                                                : fm_number(c >> 6, 0, 0);
        store_integer(at, type->size, fm_remember(value));
        break;
    }
    case FM_FLOAT: {
        static const double parts_of_one[] = {0.0, 0.5, 0.25, 0.1, 0.75, 0.0, 0.0, 0.001};
        static const double scales[] = {1, 1, 1, 1, 1, 1, 1e9, 1e-3};
        double value = ((double)fm_number(c, pool, 0) + parts_of_one[(c >> 3) % 8]) * scales[(c >> 6) % 8];
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

static int is_integer(const struct fm_type *type) { return type->kind == FM_SIGNED || type->kind == FM_UNSIGNED; }

/* Bytes all over a buffer, such as a record or a page of a device has. */
static void fill_bytes(char *at, int count, uint32_t c)
{
    const struct fm_pool *from = &fm_table.pools[1];
    for (int i = 0; i < count; i++) {
        uint64_t h = fm_mix(c, (uint64_t)i);
        at[i] = (char)(h & 3 ? fm_table.numbers[from->first + (int)(h / 4 % (unsigned)from->count)] : (int64_t)(h / 4 % (h & 4 ? 8 : 256)));
    }
}

static void fill_scalars(char *at, const struct fm_type *type, int count, int flags, int pool)
{
    uint32_t c = fm_next();
    int given = count > MOST_PARTS - parts ? MOST_PARTS - parts : count;
    if (type->kind == FM_CHAR && (c & 7) != 6) {
        char text[300];
        uint32_t letters = fm_next();
        int length = type->a && letters % 4 ? fm_make_bytes(text, letters / 4) : fm_make_text(text, letters);
        memset(at, 0, (size_t)count * (size_t)type->size);
        if (type->size == 1)
            memcpy(at, text, (size_t)(length < count ? length : count - 1));
        return;
    }
    parts += given;
    memset(at, 0, (size_t)count * (size_t)type->size);
    int small = (flags & FM_SMALL) && is_integer(type) && c % 4;   /* they are indices themselves */
    int pattern = c < 4 ? (int)c : c < FM_SMALL_CHOICE ? (int)(c % 6) : (int)(c % 5 ? 4 : c / 5 % 6);
    for (int i = 0; i < given; i++) {
        uint32_t own = pattern == 0 ? 0 : pattern == 3 ? c >> 3 : (uint32_t)(fm_mix(c, (uint64_t)i) & 0x7fffffffu);
        if (small && pattern != 0)
            store_integer(at + i * type->size, type->size, own % 8);
        else if ((pattern == 1 || pattern == 2) && type->kind != FM_ENUM && type->kind != FM_BOOL && type->kind != FM_FLOAT)
            store_integer(at + i * type->size, type->size, pattern == 1 ? i + 1 : given - i);
        else if (pattern == 5)
            store_scalar(at + i * type->size, type, own % 3 == 0 ? own % FM_SMALL_CHOICE : 0, pool);
        else if (pattern != 0)
            store_scalar(at + i * type->size, type, own, pool);
    }
    uint32_t other = fm_next();
    if (other % 4 != 3 && given > 0 && !small)
        store_scalar(at + (int)(other / 4 % (unsigned)(given < 6 ? given : 6)) * type->size, type, fm_next(), pool);
}

static void fill_several(char *at, int type, int count, int flags, int pool, int depth)
{
    const struct fm_type *one = &fm_table.types[type];
    int is_aside = 0;
    if (is_scalar(one->kind) && count > 1) {
        fill_scalars(at, one, count, flags, pool);
        return;
    }
    if (one->kind == FM_ARRAY) {
        const struct fm_type *inner = &fm_table.types[one->a];
        if (is_scalar(inner->kind) && inner->kind != FM_CHAR) {
            fill_scalars(at, inner, count * one->b, flags, pool);
            return;
        }
    }
    for (int i = 0; i < count; i++) {
        if (parts >= MOST_PARTS || i >= 64) {
            memset(at + (size_t)i * (size_t)one->size, 0, (size_t)(count - i) * (size_t)one->size);
            break;
        }
        if (i == 3)
            is_aside = fm_aside_begin();
        fm_fill(at + (size_t)i * (size_t)one->size, type, flags, pool, depth + (i > 1));
    }
    if (is_aside)
        fm_aside_end();
}

static size_t alignment(int size) { return size % 16 == 0 ? 16 : size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1; }

static void *new_text(int constant, int binary)
{
    char text[300];
    uint32_t c = fm_next();
    int length = binary && c % 4 ? fm_make_bytes(text, c / 4) : fm_make_text(text, c);
    int whole = binary && c % 4 > 1;      /* a buffer full of bytes, rather than a few of them */
    size_t room = constant && !whole ? (size_t)length + 1 : (size_t)fm_table.room;
    char *made = fm_allocate(room, 1, -2, (int)room);
    if (made != NULL) {
        memset(made, 0, room);
        memcpy(made, text, (size_t)length + 1);
        if (whole)
            fill_bytes(made + length, (int)room - length, c);
        last_count = whole && c & 64 ? (int)room : length;
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
                made[i] = fm_number(fm_next(), 0, 0);
            /* Some code keeps a head before what it hands out. */
            uint32_t ahead = fm_next() % 8;
            made += ahead == 6 ? 1 : ahead == 7 ? 2 : 0;
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
        filled = 1 + (int)(fm_next() % 5);
    } else if (flags & FM_INDEXED || (one->size <= 32 && depth == 0))
        count = filled = one->size <= 64 ? 12 : one->size <= 1024 ? 9 : 2;
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
    uint32_t c = fm_next();
    unsigned way = c < FM_SMALL_CHOICE ? c % 8 : (c >> 3) % 8;
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
        int length = fm_make_text(text, fm_next());
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
    if (flags & FM_FOLLOWED && depth < 5)
        null = way == 6 && c / 64 % 2;       /* what is behind it is wanted at once */
    else if (composed && depth > 1 && way > 2)
        null = 1;                            /* nothing is known to look there */
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
    uint64_t value = type->kind == FM_BOOL ? c & 1 : (uint64_t)fm_number(c, 0, 0);
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
    if (depth == 0)
        parts = objects_made = 0;
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
                fill_bits(at, member, fm_next());
            else
                fm_fill((char *)at + member->offset, member->type, member->flags % FM_POOL, member->flags / FM_POOL, depth + (depth == 0));
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
        uint32_t c = fm_next();
        if ((flags & FM_LENGTH) && (is_integer(type) || type->kind == FM_CHAR)
            && (c < FM_SMALL_CHOICE ? c % 8 < 6 : (c >> 3) % 8 < 6))
            store_integer(at, type->size, fm_remember((int64_t)((c >> 6 ^ c) % (unsigned)(last_count + 1))));
        else if ((flags & FM_SMALL) && is_integer(type)
                 && (c < FM_SMALL_CHOICE ? c % 4 : (c >> 3) % 4))
            store_integer(at, type->size, fm_remember((int64_t)((c >> 5 ^ c) % 8)));
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
        else if (is_scalar(inner->kind) && (fm_next() & 1)) {
            if (member->bits)
                fill_bits(at, member, fm_next());
            else
                fm_fill(at + member->offset, member->type, member->flags % FM_POOL, member->flags / FM_POOL, 1);
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
        uint32_t c = fm_next();
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
    parts = objects_made = 0;
    fm_fill(at, global->type, global->flags, global->pool, type->kind == FM_POINTER ? 0 : 1);
}

/* What something made up answers: decided by the state's choices at a place that hashes what was asked. */
void fm_fill_answer(void *at, int type, const char *name, uint64_t where)
{
    struct fm_reading was = fm_read_at(fm_asked(name, where));
    parts = objects_made = 0;
    fm_fill(at, type, FM_OUT, 0, 1);
    fm_read_on(was);
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

/* Lines of texts and numbers, or small numbers of four bytes, into a file that the function may read. */
void fm_file_text(int fd, uint64_t where)
{
    struct fm_reading was = fm_read_at(fm_mix(77, where));
    uint32_t lines = fm_next(), binary = fm_next() % 4 == 3 && where;
    for (uint32_t i = 0; i < (binary ? 48 : lines % 6); i++) {
        char text[300];
        uint32_t c = binary ? 0 : fm_next();
        int length = (c & 1) ? snprintf(text, sizeof text, "%lld", (long long)fm_number(fm_next(), 0, 0))
                             : fm_make_text(text, fm_next());
        text[length++] = '\n';
        if (binary) {
            store_integer(text, 4, fm_number(fm_next() % 64, 0, 0));
            length = 4;
        }
        if (write(fd, text, (size_t)length) != length)
            break;
    }
    fm_read_on(was);
}
