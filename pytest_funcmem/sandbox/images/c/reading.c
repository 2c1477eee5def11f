/* Reads the table of types, and the numbers of input states. */
#include "runtime.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct fm_table fm_table;

static char *input, *input_end;

long fm_read_number(void)
{
    char *end;
    long value = strtol(input, &end, 10);
    if (end == input || end > input_end) { fprintf(stderr, "the table is damaged\n"); exit(71); }
    input = end;
    return value;
}

static int64_t wide(void) { return (int64_t)fm_read_number(); }

static char *word(void)   /* hexadecimal digits of a text, or "-" for an empty one */
{
    while (*input == ' ' || *input == '\n') input++;
    char *start = input;
    while (*input != ' ' && *input != '\n' && *input) input++;
    size_t length = *start == '-' ? 0 : (size_t)(input - start) / 2;
    char *made = malloc(length + 1);
    for (size_t i = 0; i < length; i++) {
        unsigned value;
        sscanf(start + 2 * i, "%2x", &value);
        made[i] = (char)value;
    }
    made[length] = 0;
    return made;
}

void *fm_room_for(long count, size_t size) { return calloc((size_t)count + 1, size); }

char *fm_slurp(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &info) != 0) { fprintf(stderr, "cannot read %s\n", path); exit(71); }
    char *text = malloc((size_t)info.st_size + 1);
    ssize_t got = read(fd, text, (size_t)info.st_size);
    text[got < 0 ? 0 : got] = 0;
    close(fd);
    input = text;
    input_end = text + info.st_size;
    return text;
}

static struct fm_place *places(int *count)
{
    *count = (int)fm_read_number();
    struct fm_place *list = fm_room_for(*count, sizeof *list);
    for (int i = 0; i < *count; i++) {
        list[i].type = (int)fm_read_number();
        list[i].flags = (int)fm_read_number();
        list[i].pool = (int)fm_read_number();
        list[i].name = word();
    }
    return list;
}

void fm_read_table(const char *path)
{
    struct fm_table *t = &fm_table;
    fm_slurp(path);
    t->result = (int)fm_read_number();
    t->uses_errno = (int)fm_read_number();
    t->uses_stdin = (int)fm_read_number();
    t->room = (int)fm_read_number();
    t->type_count = (int)fm_read_number();
    t->types = fm_room_for(t->type_count, sizeof *t->types);
    for (int i = 0; i < t->type_count; i++) {
        t->types[i].kind = (int)fm_read_number();
        t->types[i].size = (int)fm_read_number();
        t->types[i].a = (int)fm_read_number();
        t->types[i].b = (int)fm_read_number();
        t->types[i].name = word();
    }
    t->member_count = (int)fm_read_number();
    t->members = fm_room_for(t->member_count, sizeof *t->members);
    for (int i = 0; i < t->member_count; i++) {
        struct fm_member *m = &t->members[i];
        m->type = (int)fm_read_number();
        m->offset = (int)fm_read_number();
        m->bit = (int)fm_read_number();
        m->bits = (int)fm_read_number();
        m->flags = (int)fm_read_number();
        m->name = word();
    }
    t->enumerator_count = (int)fm_read_number();
    t->enumerators = fm_room_for(t->enumerator_count, sizeof *t->enumerators);
    for (int i = 0; i < t->enumerator_count; i++)
        t->enumerators[i] = wide();
    t->parameters = places(&t->parameter_count);
    t->globals = places(&t->global_count);
    t->callbacks = places(&t->callback_count);
    t->stub_count = (int)fm_read_number();
    t->stubs = fm_room_for(t->stub_count, sizeof *t->stubs);
    int total = (int)fm_read_number(), place = 0;
    t->stub_types = fm_room_for(total, sizeof *t->stub_types);
    for (int i = 0; i < t->stub_count; i++) {
        t->stubs[i].name = word();
        t->stubs[i].result = (int)fm_read_number();
        int kind = (int)fm_read_number();
        t->stubs[i].variadic = kind & 1;
        t->stubs[i].asks_system = kind >> 1 & 1;
        t->stubs[i].count = (int)fm_read_number();
        t->stubs[i].first = place;
        for (int k = 0; k < t->stubs[i].count; k++)
            t->stub_types[place++] = (int)fm_read_number();
    }
    t->function_count = (int)fm_read_number();
    t->functions = fm_room_for(t->function_count, sizeof *t->functions);
    for (int i = 0; i < t->function_count; i++)
        t->functions[i] = word();
    t->pool_count = (int)fm_read_number();
    t->pools = fm_room_for(t->pool_count, sizeof *t->pools);
    total = (int)fm_read_number();
    t->numbers = fm_room_for(total, sizeof *t->numbers);
    place = 0;
    for (int i = 0; i < t->pool_count; i++) {
        t->pools[i].first = place;
        t->pools[i].count = (int)fm_read_number();
        for (int k = 0; k < t->pools[i].count; k++)
            t->numbers[place++] = wide();
    }
    t->text_count = (int)fm_read_number();
    t->texts = fm_room_for(t->text_count, sizeof *t->texts);
    for (int i = 0; i < t->text_count; i++)
        t->texts[i] = word();
    t->block_count = (int)fm_read_number();
    total = (int)fm_read_number();
    t->block_starts = fm_room_for(t->block_count + 1, sizeof *t->block_starts);
    t->block_lines = fm_room_for(total, sizeof *t->block_lines);
    place = 0;
    for (int i = 0; i < t->block_count; i++) {
        t->block_starts[i] = place;
        for (int count = (int)fm_read_number(); count > 0; count--)
            t->block_lines[place++] = (int)fm_read_number();
    }
    t->block_starts[t->block_count] = place;
}
