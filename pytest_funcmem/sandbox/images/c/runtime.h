/* The native half of the C harness: what the parts of the runtime share.
 *
 * A program is a shared object with one function under test, its stand-ins and a small tail (fm_call,
 * fm_globals, ...). This runtime forks once for every input state, makes arguments and globals from integers
 * by a table of types, calls the function, and writes down what became of everything. Whatever a program
 * does is up to hostile code: nothing that comes out of here is trusted outside the sandbox.
 */
#ifndef FM_RUNTIME_H
#define FM_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

enum fm_kind {
    FM_VOID, FM_SIGNED, FM_UNSIGNED, FM_CHAR, FM_BOOL, FM_FLOAT, FM_ENUM, FM_POINTER, FM_STRUCT, FM_UNION,
    FM_ARRAY, FM_FUNCTION, FM_OPAQUE, FM_STREAM
};

struct fm_type { int kind, size, a, b; const char *name; };
struct fm_member { int type, offset, bit, bits, flags; const char *name; };
struct fm_place { int type, flags, pool; const char *name; };
struct fm_stub { const char *name; int result, count, variadic, asks_system, first; };
struct fm_pool { int first, count; };

/* Flags of a place (parameter, global or member), as the host reads them off names and uses. */
enum {
    FM_LENGTH = 1, FM_INDEXED = 2, FM_KEEP = 4, FM_STARTS = 8, FM_TEXT = 16, FM_OUT = 32, FM_SMALL = 64, FM_SHOWN = 128,
    FM_FOLLOWED = 256, FM_POOL = 1 << 16   /* from that bit on: the pool that a member draws its numbers from */
};

struct fm_table {
    struct fm_type *types; int type_count;
    struct fm_member *members; int member_count;
    int64_t *enumerators; int enumerator_count;
    struct fm_place *parameters; int parameter_count;
    struct fm_place *globals; int global_count;
    struct fm_stub *stubs; int stub_count;
    int *stub_types;
    char **functions; int function_count;
    struct fm_place *callbacks; int callback_count;
    int64_t *numbers; struct fm_pool *pools; int pool_count;
    char **texts; int text_count;
    int *block_lines, *block_starts; int block_count;
    int result, uses_errno, uses_stdin, room;
};
extern struct fm_table fm_table;

/* Of the program. */
struct fm_program {
    void (*call)(void **arguments, void *result);
    void **globals, **functions, **callbacks;
    const uint64_t *blocks; int block_count;
    char *start, *end;
};
extern struct fm_program fm_program;

extern void __libc_free(void *);

/* memory.c */
struct fm_object { char *start; size_t size; int type, count, freed, fresh; };
extern volatile int fm_active;
void fm_memory_begin(void);
void *fm_allocate(size_t size, size_t align, int type, int count);
struct fm_object *fm_object_at(const void *address);
size_t fm_room(const void *address);   /* bytes that may be read from here; 0 if unknown or none */
struct fm_object *fm_find_like(int type, unsigned nth);
void fm_violation(const char *what, size_t size) __attribute__((noreturn));

/* reading.c */
long fm_read_number(void);
char *fm_slurp(const char *path);
void *fm_room_for(long count, size_t size);
void fm_read_table(const char *path);

/* choosing.c */
#define FM_SMALL_CHOICE 65536u          /* choices below are an index into a pool */
struct fm_reading { int at_place; uint64_t place; };
void fm_choices_begin(const uint32_t *choices, int count, uint64_t seed);
void fm_arguments_done(void);
int fm_choices_used(void);
uint64_t fm_mix(uint64_t a, uint64_t b);
uint64_t fm_hash_text(const char *text, size_t length);
uint64_t fm_seed(void);
uint32_t fm_next(void);
int64_t fm_remember(int64_t value);
int64_t fm_number(uint32_t c, int pool, int wide);
int fm_aside_begin(void);
void fm_aside_end(void);
struct fm_reading fm_read_at(uint64_t where);
void fm_read_on(struct fm_reading was);
uint64_t fm_asked(const char *name, uint64_t where);
void fm_draw_text(const char *name, uint64_t place, char *into);
int64_t fm_draw_answer(const char *name, uint64_t place, int count);
int fm_make_text(char *into, uint32_t c);
int fm_make_bytes(char *into, uint32_t c);

/* filling.c */
void fm_fill(void *at, int type, int flags, int pool, int depth);
int fm_last_count(void);               /* things in what was filled last */
void fm_count_with(int count);         /* what a length that is filled next counts */
void fm_fill_global(void *at, const struct fm_place *place);
void fm_change_globals(uint64_t place);
void fm_fill_answer(void *at, int type, const char *name, uint64_t place);
void fm_file_text(int fd, uint64_t where);

/* dumping.c */
struct fm_text { char *data; size_t length, room; };
void fm_put(struct fm_text *out, const char *text);
void fm_printf(struct fm_text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fm_put_json(struct fm_text *out, const char *text, size_t length);
void fm_dump(struct fm_text *out, const void *at, int type);
void fm_show(struct fm_text *out, const void *at, int type);
int fm_points(int type);

/* world.c */
void fm_world_begin(void);
void fm_put_call(const char *name, struct fm_text *arguments, struct fm_text *answer);
uint64_t fm_times_asked(uint64_t where);
extern struct fm_text fm_calls;
extern int fm_made_up, fm_ended;
void fm_files_dump(struct fm_text *out);

/* tracing.c */
void fm_trace_begin(void);
void fm_trace_clear(void);
void fm_trace_choices(int used);
void fm_trace_dump(struct fm_text *out, int with_lines);

/* given.c */
void fm_given_begin(void);

/* running.c */
void fm_given(const char *text, size_t length);
void fm_finish(const char *exception, const char *message) __attribute__((noreturn));

#endif
