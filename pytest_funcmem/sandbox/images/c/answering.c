/* Stand-ins: every call is logged, and answered by choice. */
#define _GNU_SOURCE
#include "runtime.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENT 8             /* equal calls after which a stand-in does what may have been waited for */
#define MOST_BUFFER 65536

static const int errors[] = {EINTR, EAGAIN, ENOENT, EACCES, EINVAL, ECONNREFUSED, EINPROGRESS, ENOMEM, EEXIST, EIO};

static int on_stack(const void *address)
{
    char here;
    return (const char *)address > &here && (const char *)address < &here + (8 << 20);
}

/* Whether a stand-in writes through this pointer: what has no value yet, and single numbers on the stack. */
static int is_wanted(const void *target, const struct fm_type *pointer)
{
    static const unsigned char untouched[8] = {0xFE, 0xFE, 0xFE, 0xFE, 0xFE, 0xFE, 0xFE, 0xFE};
    const struct fm_type *type = &fm_table.types[pointer->a];
    if (target == NULL || pointer->b || type->size <= 0 || !on_stack(target))
        return 0;
    if (type->kind == FM_CHAR)
        return memcmp(target, untouched, 8) == 0;
    if (type->kind >= FM_SIGNED && type->kind <= FM_ENUM)
        return 1;
    return memcmp(target, untouched, type->size < 8 ? (size_t)type->size : 8) == 0;
}

static int is_readable(const char *target, size_t length)
{
    return on_stack(target) ? on_stack(target + length) : fm_room(target) >= length;
}

/* The type of a parameter; of a union of pointers the first, as the library declares addresses of sockets. */
static int parameter_type(const struct fm_stub *stub, int i)
{
    int number = fm_table.stub_types[stub->first + i];
    const struct fm_type *type = &fm_table.types[number];
    if (type->kind == FM_UNION && type->b && fm_table.types[fm_table.members[type->a].type].kind == FM_POINTER)
        return fm_table.members[type->a].type;
    return number;
}

/* Bytes of a buffer that a function of the system is given: the next argument says how many. */
static size_t buffer_length(const struct fm_stub *stub, int i, void **arguments)
{
    if (!stub->asks_system || i + 1 >= stub->count)
        return 0;
    const struct fm_type *pointer = &fm_table.types[parameter_type(stub, i)];
    const struct fm_type *number = &fm_table.types[fm_table.stub_types[stub->first + i + 1]];
    if (pointer->kind != FM_POINTER || number->size != 8 || number->kind != FM_UNSIGNED)
        return 0;
    int kind = fm_table.types[pointer->a].kind;
    uint64_t length;
    memcpy(&length, arguments[i + 1], sizeof length);
    return (kind == FM_VOID || kind == FM_CHAR) && length <= MOST_BUFFER ? (size_t)length : 0;
}

/* The buffer that a function of the system is to fill, and how long it is; 0 if there is none. */
static size_t buffer_of(const struct fm_stub *stub, void **arguments, void **buffer)
{
    for (int i = 0; i < stub->count; i++) {
        const struct fm_type *pointer = &fm_table.types[parameter_type(stub, i)];
        size_t length = buffer_length(stub, i, arguments);
        void *target;
        if (!length || pointer->b)
            continue;
        memcpy(&target, arguments[i], sizeof target);
        if (target != NULL && is_readable(target, length)) {
            *buffer = target;
            return length;
        }
    }
    return 0;
}

static void store(void *at, int size, int64_t value) { memcpy(at, &value, size < 8 ? (size_t)size : 8); }

/* Functions of the system answer that they failed, that all is well, or a small number; now and then any. */
static int answer_as_system(void *at, int size, const struct fm_stub *stub, uint64_t where)
{
    static const int usual[] = {-1, -1, 0, 0, 0, 1, 3, 5};
    int64_t way = fm_draw_answer(stub->name, where, 10);
    if (way >= 8)
        return 0;
    store(at, size, usual[way]);
    return 1;
}

static int is_failure(const void *at, const struct fm_type *type)
{
    int64_t value = 0;
    int32_t narrow;
    if (type->kind == FM_SIGNED && type->size == 4) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow < 0;
    }
    if (type->size == 8)
        memcpy(&value, at, sizeof value);
    return type->kind == FM_SIGNED ? value < 0 : type->kind == FM_POINTER && type->size == 8 && value == 0;
}

/* What arrives: a text, or bytes; as long as it is, and as there is room for. */
static int64_t fill_buffer(char *buffer, size_t length, const struct fm_stub *stub, uint64_t where)
{
    char text[304];
    memset(text, 0, sizeof text);
    fm_draw_text(stub->name, fm_mix(where, 11), text);
    size_t got = strlen(text), given = fm_draw_answer("arrives", where, 4) == 0 ? length : got + 1;
    given = given < length ? given : length;
    memset(buffer, 0, given);
    memcpy(buffer, text, got < given ? got : given);
    return (int64_t)(given > got && given != length ? got : given);
}

/* Called by every stand-in: logs the call, and decides what it answers and writes. */
void fm_stub(int number, void **arguments, void *result, void *list)
{
    int was_errno = errno, was = fm_active, failed = 0;
    void *buffer = NULL;
    size_t length = 0;
    const struct fm_stub *stub = &fm_table.stubs[number];
    struct fm_text text = {0}, answer = {0};
    fm_active = 0;
    for (int i = 0; i < stub->count; i++) {
        int number_of_type = parameter_type(stub, i);
        const struct fm_type *type = &fm_table.types[number_of_type];
        size_t length = buffer_length(stub, i, arguments);
        if (i)
            fm_put(&text, ", ");
        void *target = NULL;
        if (type->kind == FM_POINTER)
            memcpy(&target, arguments[i], sizeof target);
        if (length && target != NULL && type->b && is_readable(target, length))
            fm_put_json(&text, target, length < 4096 ? length : 4096);
        else if (length && target != NULL && !type->b)
            fm_put(&text, "[\"opaque\", \"buffer\"]");
        else if (type->kind == FM_POINTER && is_wanted(target, type))
            fm_put(&text, "[\"opaque\", \"place\"]");
        else if (target != NULL && on_stack(target) && fm_table.types[type->a].size > 0
                 && fm_table.types[type->a].kind != FM_CHAR)
            fm_dump(&text, target, type->a);
        else if (target != NULL && on_stack(target) && fm_table.types[type->a].kind == FM_CHAR)
            fm_put_json(&text, target, strnlen(target, 1024));
        else
            fm_dump(&text, arguments[i], number_of_type);
    }
    if (stub->variadic && list != NULL && stub->count) {
        const struct fm_type *last = &fm_table.types[fm_table.stub_types[stub->first + stub->count - 1]];
        const char *format = NULL;
        if (last->kind == FM_POINTER && fm_table.types[last->a].kind == FM_CHAR)
            memcpy(&format, arguments[stub->count - 1], sizeof format);
        if (format != NULL && strchr(format, '%') != NULL) {
            char line[2048];
            int length = vsnprintf(line, sizeof line, format, *(va_list *)list);
            fm_put(&text, ", ");
            fm_put_json(&text, line, strnlen(line, length < 0 ? 0 : sizeof line));
        }
    }
    uint64_t where = fm_mix(fm_hash_text(stub->name, strlen(stub->name)),
                            fm_hash_text(text.data ? text.data : "", text.length));
    uint64_t nth = fm_times_asked(where);
    where = fm_mix(where, nth);
    if (nth >= PATIENT)
        fm_change_globals(where);
    const struct fm_type *type = &fm_table.types[stub->result];
    if (type->kind != FM_VOID && type->size > 0) {
        fm_made_up = 1;
        if (!stub->asks_system || type->kind != FM_SIGNED || !answer_as_system(result, type->size, stub, where))
            fm_fill_answer(result, stub->result, stub->name, where);
        failed = stub->asks_system && is_failure(result, type);
        length = buffer_of(stub, arguments, &buffer);
        if (length && !failed && stub->asks_system) {
            int64_t given = fill_buffer(buffer, length, stub, where);
            if (type->kind == FM_SIGNED)
                store(result, type->size, given);
        }
        fm_dump(&answer, result, stub->result);
    }
    for (int i = 0; i < stub->count; i++) {
        const struct fm_type *pointer = &fm_table.types[parameter_type(stub, i)];
        void *target;
        if (pointer->kind != FM_POINTER || failed)
            continue;
        memcpy(&target, arguments[i], sizeof target);
        if (target == buffer || !is_wanted(target, pointer))
            continue;
        fm_made_up = 1;
        where = fm_mix(where, (uint64_t)i);
        if (fm_table.types[pointer->a].kind == FM_CHAR) {
            char *written = NULL;
            int number_of_type = parameter_type(stub, i);
            fm_fill_answer(&written, number_of_type, stub->name, where);
            snprintf(target, 8, "%s", written == NULL ? "" : written);
        } else
            fm_fill_answer(target, pointer->a, stub->name, where);
    }
    fm_put_call(stub->name, &text, &answer);
    __libc_free(text.data);
    __libc_free(answer.data);
    fm_active = was;
    errno = failed ? errors[fm_draw_answer("errno", where, (int)(sizeof errors / sizeof *errors))] : was_errno;
}

/* Called by stand-ins for what is said not to come back. */
void fm_no_return(const char *name) { fm_finish("never returns", name); }
