/* Writes values down as canonical encodings (see harness/values.py), never an address. */
#define _GNU_SOURCE
#include "runtime.h"
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 9
#define MOST_NODES 6000
#define MOST_LISTED 2048
#define MOST_MET 512          /* structs that are written down once in a value, however often they are pointed to */
#define MOST_TEXT 4096

extern void *__libc_realloc(void *, size_t);

static int nodes;
static const void *path_addresses[DEEPEST + 2];
static int path_types[DEEPEST + 2];
static int path_length;
static const void *met_addresses[MOST_MET];
static int met_types[MOST_MET];
static int met_count;

void fm_put_bytes(struct fm_text *out, const char *data, size_t length)
{
    if (out->length + length + 1 > out->room) {
        out->room = (out->length + length + 1) * 2 + 256;
        out->data = __libc_realloc(out->data, out->room);
        if (out->data == NULL)
            abort();
    }
    memcpy(out->data + out->length, data, length);
    out->length += length;
    out->data[out->length] = 0;
}

void fm_put(struct fm_text *out, const char *text) { fm_put_bytes(out, text, strlen(text)); }

void fm_printf(struct fm_text *out, const char *format, ...)
{
    char line[512];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    fm_put_bytes(out, line, length < (int)sizeof line ? (size_t)length : sizeof line - 1);
}

/* Every byte as the character of that number, so that any text is well-formed. */
void fm_put_json(struct fm_text *out, const char *text, size_t length)
{
    fm_put(out, "\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        char piece[8];
        if (c == '"' || c == '\\') { piece[0] = '\\'; piece[1] = (char)c; piece[2] = 0; }
        else if (c < 32 || c > 126) snprintf(piece, sizeof piece, "\\u%04x", c);
        else { piece[0] = (char)c; piece[1] = 0; }
        fm_put(out, piece);
    }
    fm_put(out, "\"");
}

static void put_text(struct fm_text *out, const char *text, size_t length)
{
    int plain = 1;
    for (size_t i = 0; i < length; i++)
        plain &= (unsigned char)text[i] < 128;
    if (plain)
        fm_put_json(out, text, length);
    else {
        fm_put(out, "[\"bytes\", ");
        fm_put_json(out, text, length);
        fm_put(out, "]");
    }
}

static int64_t load_signed(const void *at, int size)
{
    int8_t a; int16_t b; int32_t c; int64_t d = 0;
    switch (size) {
    case 1: memcpy(&a, at, 1); return a;
    case 2: memcpy(&b, at, 2); return b;
    case 4: memcpy(&c, at, 4); return c;
    default: memcpy(&d, at, 8); return d;
    }
}

static uint64_t load_unsigned(const void *at, int size)
{
    uint64_t value = 0;
    memcpy(&value, at, size < 8 ? (size_t)size : 8);
    return value;
}

static void put_signed(struct fm_text *out, int64_t value)
{
    if (value > -(1LL << 53) && value < 1LL << 53)
        fm_printf(out, "%lld", (long long)value);
    else
        fm_printf(out, "[\"int\", \"%s%llx\"]", value < 0 ? "-" : "",
                  (unsigned long long)(value < 0 ? -(uint64_t)value : (uint64_t)value));
}

static void put_unsigned(struct fm_text *out, uint64_t value)
{
    if (value < 1ULL << 53)
        fm_printf(out, "%llu", (unsigned long long)value);
    else
        fm_printf(out, "[\"int\", \"%llx\"]", (unsigned long long)value);
}

int fm_points(int number)
{
    const struct fm_type *type = &fm_table.types[number];
    if (type->kind == FM_POINTER || type->kind == FM_STREAM)
        return 1;
    if (type->kind == FM_ARRAY)
        return fm_points(type->a);
    if (type->kind == FM_STRUCT || type->kind == FM_UNION)
        for (int i = 0; i < type->b; i++)
            if (fm_points(fm_table.members[type->a + i].type))
                return 1;
    return 0;
}

static sigjmp_buf unreadable;
static void on_fault(int number) { (void)number; siglongjmp(unreadable, 1); }

/* Length of a text in memory of which nothing is known, or -1 where it cannot be read. */
static long foreign_length(const char *text)
{
    struct sigaction mine, was, was_bus;
    volatile long length = 0;
    memset(&mine, 0, sizeof mine);
    mine.sa_handler = on_fault;
    mine.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &mine, &was);
    sigaction(SIGBUS, &mine, &was_bus);
    if (sigsetjmp(unreadable, 1) == 0)
        while (length < MOST_TEXT && text[length])
            length++;
    else
        length = -1;
    sigaction(SIGSEGV, &was, NULL);
    sigaction(SIGBUS, &was_bus, NULL);
    return length;
}

static void dump(struct fm_text *out, const char *at, int number, int depth);

static void dump_list(struct fm_text *out, const char *at, int number, long count, int depth)
{
    const struct fm_type *one = &fm_table.types[number];
    if (one->kind == FM_CHAR && one->size == 1) {
        long end = count;
        while (end > 0 && at[end - 1] == 0)
            end--;
        if (end > MOST_TEXT)
            fm_printf(out, "[\"opaque\", \"%ld characters %016llx\"]", end,
                      (unsigned long long)fm_hash_text(at, (size_t)end));
        else
            put_text(out, at, (size_t)end);
        return;
    }
    if (count > MOST_LISTED && !fm_points(number)) {
        fm_printf(out, "[\"opaque\", \"%ld items %016llx\"]", count,
                  (unsigned long long)fm_hash_text(at, (size_t)count * (size_t)one->size));
        return;
    }
    fm_put(out, "[\"list\", [");
    for (long i = 0; i < count && i < MOST_LISTED; i++) {
        if (i)
            fm_put(out, ", ");
        dump(out, at + i * one->size, number, depth);
    }
    fm_put(out, "]]");
}

static void dump_target(struct fm_text *out, const char *at, const struct fm_type *pointer, int depth)
{
    int number = pointer->a;
    const struct fm_type *type = &fm_table.types[number];
    size_t room = fm_room(at);
    struct fm_object *object = fm_object_at(at);
    if (object != NULL && object->freed) {
        fm_put(out, "[\"opaque\", \"freed\"]");
        return;
    }
    if (object != NULL && room == 0) {
        fm_put(out, "[\"opaque\", \"end\"]");
        return;
    }
    if (type->kind == FM_CHAR && type->size == 1) {
        char here;
        if (room == 0) {
            long length = at > &here - 65536 && at < &here + (1 << 23) ? -1 : foreign_length(at);
            if (length < 0)
                fm_put(out, "[\"opaque\", \"dangling\"]");
            else
                put_text(out, at, (size_t)length);
            return;
        }
        size_t length = strnlen(at, room);
        if (length == room)
            dump_list(out, at, number, (long)room, depth);
        else if (length > MOST_TEXT)
            dump_list(out, at, number, (long)length, depth);
        else
            put_text(out, at, length);
        return;
    }
    if (type->kind == FM_VOID && object != NULL && object->type >= 0) {
        number = object->type;
        type = &fm_table.types[number];
    }
    if (room == 0 || type->size <= 0 || type->kind == FM_VOID) {
        if (object != NULL && object->type == -2 && room <= 64)
            fm_printf(out, "[\"opaque\", \"memory %016llx\"]", (unsigned long long)fm_hash_text(at, room));
        else if (room)
            fm_printf(out, "[\"opaque\", \"memory of %zu\"]", room);
        else
            fm_put(out, "[\"opaque\", \"elsewhere\"]");
        return;
    }
    long count = (long)(room / (size_t)type->size);
    if (count == 0) {
        fm_printf(out, "[\"opaque\", \"%zu bytes\"]", room);
        return;
    }
    for (int i = 0; i < path_length; i++)
        if (path_addresses[i] == at && path_types[i] == number) {
            fm_printf(out, "[\"opaque\", \"loop of %d\"]", path_length - i);
            return;
        }
    for (int i = 0; i < met_count && type->kind == FM_STRUCT; i++)
        if (met_addresses[i] == at && met_types[i] == number) {
            fm_printf(out, "[\"opaque\", \"that of %d\"]", i);
            return;
        }
    if (path_length > DEEPEST || depth > DEEPEST) {
        fm_put(out, "[\"opaque\", \"deeper\"]");
        return;
    }
    if (type->kind == FM_STRUCT && met_count < MOST_MET) {
        met_addresses[met_count] = at;
        met_types[met_count++] = number;
    }
    path_addresses[path_length] = at;
    path_types[path_length++] = number;
    if (type->kind == FM_POINTER && count > 1) {  /* a list of pointers ends at the first that is null */
        long end = 0;
        while (end < count && *(void *const *)(at + end * 8) != NULL)
            end++;
        dump_list(out, at, number, end, depth + 1);
    } else if (count == 1)
        dump(out, at, number, depth + 1);
    else
        dump_list(out, at, number, count, depth + 1);
    path_length--;
}

static void dump_pointer(struct fm_text *out, const char *at, const struct fm_type *type, int depth)
{
    const char *value;
    memcpy(&value, at, sizeof value);
    const struct fm_type *target = &fm_table.types[type->a];
    if (value == NULL)
        fm_put(out, "null");
    else if (target->kind == FM_FUNCTION) {
        for (int i = 0; i < fm_table.function_count; i++)
            if (fm_program.functions[i] == value) {
                fm_put(out, "[\"function\", ");
                fm_put_json(out, fm_table.functions[i], strlen(fm_table.functions[i]));
                fm_put(out, "]");
                return;
            }
        for (int i = 0; i < fm_table.callback_count; i++)
            if (fm_program.callbacks[i] == value) {
                fm_printf(out, "[\"function\", \"callback %d\"]", i);
                return;
            }
        fm_put(out, "[\"opaque\", \"function\"]");
    } else if (target->kind == FM_STREAM) {
        FILE *stream = (FILE *)value;
        fm_put(out, stream == stdout ? "[\"opaque\", \"stdout\"]" : stream == stderr ? "[\"opaque\", \"stderr\"]"
                    : stream == stdin ? "[\"opaque\", \"stdin\"]" : "");
        if (stream == stdout || stream == stderr || stream == stdin)
            return;
        if (fm_object_at(value) != NULL || foreign_length(value) < 0) {
            fm_put(out, "[\"opaque\", \"stream\"]");
            return;
        }
        char content[4096];
        long place = ftell(stream);
        fflush(stream);
        rewind(stream);
        size_t length = fread(content, 1, sizeof content, stream);
        if (place >= 0)
            fseek(stream, place, SEEK_SET);
        fm_printf(out, "[\"tuple\", [%ld, ", place);
        put_text(out, content, length);
        fm_put(out, "]]");
    } else
        dump_target(out, value, type, depth);
}

static void dump_bits(struct fm_text *out, const char *at, const struct fm_member *member)
{
    uint64_t value = 0;
    for (int bit = 0; bit < member->bits; bit++) {
        int where = member->bit + bit;
        value |= (uint64_t)(((unsigned char)at[where / 8] >> (where % 8)) & 1) << bit;
    }
    if (fm_table.types[member->type].kind == FM_SIGNED && member->bits < 64 && value >> (member->bits - 1) & 1)
        put_signed(out, (int64_t)(value | ~(uint64_t)0 << member->bits));
    else
        put_unsigned(out, value);
}

static void dump(struct fm_text *out, const char *at, int number, int depth)
{
    const struct fm_type *type = &fm_table.types[number];
    if (++nodes > MOST_NODES) {
        fm_put(out, "[\"opaque\", \"more\"]");
        return;
    }
    switch (type->kind) {
    case FM_VOID:
        fm_put(out, "null");
        break;
    case FM_SIGNED: case FM_CHAR:
        put_signed(out, load_signed(at, type->size));
        break;
    case FM_ENUM:
        put_signed(out, type->size == 4 ? load_signed(at, 4) : (int64_t)load_unsigned(at, type->size));
        break;
    case FM_UNSIGNED:
        put_unsigned(out, load_unsigned(at, type->size));
        break;
    case FM_BOOL:
        fm_put(out, *(const unsigned char *)at ? "true" : "false");
        break;
    case FM_FLOAT: {
        double value = 0;
        if (type->size == 4) { float v; memcpy(&v, at, 4); value = v; }
        else if (type->size == 8) memcpy(&value, at, 8);
        else if (type->size == 16) { long double v; memcpy(&v, at, 16); value = (double)v; }
        if (isnan(value)) fm_put(out, "[\"float\", \"nan\"]");
        else if (isinf(value)) fm_put(out, value < 0 ? "[\"float\", \"-inf\"]" : "[\"float\", \"inf\"]");
        else fm_printf(out, "[\"float\", \"%.17g\"]", value);
        break;
    }
    case FM_POINTER:
        dump_pointer(out, at, type, depth);
        break;
    case FM_STRUCT:
        fm_put(out, "[\"object\", ");
        fm_put_json(out, type->name, strlen(type->name));
        fm_put(out, ", [");
        for (int i = 0; i < type->b; i++) {
            const struct fm_member *member = &fm_table.members[type->a + i];
            fm_put(out, i ? ", [" : "[");
            fm_put_json(out, member->name, strlen(member->name));
            fm_put(out, ", ");
            if (member->bits)
                dump_bits(out, at, member);
            else
                dump(out, at + member->offset, member->type, depth + 1);
            fm_put(out, "]");
        }
        fm_put(out, "], null]");
        break;
    case FM_UNION:
        /* Of some unions of pointers, such as the library declares for addresses of sockets, the debugging
           information tells no members: their bytes would be an address. */
        if (!type->b)
            fm_put(out, "[\"opaque\", \"union\"]");
        else if (!fm_points(number))
            fm_printf(out, "[\"opaque\", \"union %016llx\"]",
                      (unsigned long long)fm_hash_text(at, (size_t)type->size));
        else
            dump(out, at + fm_table.members[type->a].offset, fm_table.members[type->a].type, depth + 1);
        break;
    case FM_ARRAY:
        dump_list(out, at, type->a, type->b, depth + 1);
        break;
    default:
        fm_put(out, "[\"opaque\", \"value\"]");
    }
}

void fm_dump(struct fm_text *out, const void *at, int type)
{
    nodes = path_length = met_count = 0;
    dump(out, at, type, 0);
}

/* ---------------------------------------------------------------------------------------- for people */

static void show_text(struct fm_text *out, const char *text, size_t length)
{
    fm_put(out, "\"");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        fm_printf(out, c == '"' || c == '\\' ? "\\%c" : c < 32 || c > 126 ? "\\%03o" : "%c", c);
    }
    fm_put(out, "\"");
}

static void show(struct fm_text *out, const char *at, int number, int depth)
{
    const struct fm_type *type = &fm_table.types[number];
    if (out->length > 400) {
        fm_put(out, "...");
        return;
    }
    switch (type->kind) {
    case FM_SIGNED: fm_printf(out, "%lld", (long long)load_signed(at, type->size)); break;
    case FM_CHAR:
        if (*at >= 32 && *at < 127 && *at != '\'' && *at != '\\') fm_printf(out, "'%c'", *at);
        else fm_printf(out, "%lld", (long long)load_signed(at, type->size));
        break;
    case FM_UNSIGNED: fm_printf(out, "%lluu", (unsigned long long)load_unsigned(at, type->size)); break;
    case FM_BOOL: fm_put(out, *at ? "true" : "false"); break;
    case FM_ENUM: fm_printf(out, "%lld", (long long)load_signed(at, type->size)); break;
    case FM_FLOAT:
        if (type->size == 4) { float v; memcpy(&v, at, 4); fm_printf(out, "%.9g", (double)v); }
        else if (type->size == 8) { double v; memcpy(&v, at, 8); fm_printf(out, "%.17g", v); }
        else fm_put(out, "0.0L");
        break;
    case FM_POINTER: {
        const char *value;
        memcpy(&value, at, sizeof value);
        const struct fm_type *target = &fm_table.types[type->a];
        size_t room = fm_room(value);
        if (value == NULL) fm_put(out, "NULL");
        else if (target->kind == FM_CHAR && target->size == 1 && room && strnlen(value, room) < room)
            show_text(out, value, strnlen(value, room < 100 ? room : 100));
        else if (target->kind == FM_FUNCTION) fm_put(out, "callback");
        else if (target->kind == FM_STREAM) fm_put(out, "stream");
        else if (room == 0 || target->size <= 0 || depth > 3) fm_put(out, "&...");
        else {
            long count = (long)(room / (size_t)target->size);
            fm_put(out, count > 1 ? "{" : "&");
            for (long i = 0; i < count && i < 8 && out->length < 400; i++) {
                if (i) fm_put(out, ", ");
                show(out, value + i * target->size, type->a, depth + 1);
            }
            fm_put(out, count > 8 ? ", ...}" : count > 1 ? "}" : "");
        }
        break;
    }
    case FM_STRUCT:
        fm_put(out, "{");
        for (int i = 0; i < type->b && out->length < 400; i++) {
            const struct fm_member *member = &fm_table.members[type->a + i];
            fm_printf(out, "%s.%s = ", i ? ", " : "", member->name);
            if (member->bits) dump_bits(out, at, member);
            else show(out, at + member->offset, member->type, depth + 1);
        }
        fm_put(out, "}");
        break;
    case FM_ARRAY: {
        const struct fm_type *one = &fm_table.types[type->a];
        if (one->kind == FM_CHAR && one->size == 1) {
            show_text(out, at, strnlen(at, type->b < 100 ? (size_t)type->b : 100));
            break;
        }
        fm_put(out, "{");
        for (int i = 0; i < type->b && i < 8 && out->length < 400; i++) {
            if (i) fm_put(out, ", ");
            show(out, at + (long)i * one->size, type->a, depth + 1);
        }
        fm_put(out, type->b > 8 ? ", ...}" : "}");
        break;
    }
    default:
        fm_put(out, "{...}");
    }
}

void fm_show(struct fm_text *out, const void *at, int type) { show(out, at, type, 0); }
