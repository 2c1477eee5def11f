/* Memory that the function under test sees: every object on pages of its own, its end at the end of a page.
 *
 * The page after an object cannot be read, so a library function that runs over the end dies of it, and the
 * checks that the compiler puts before each access (outlined, as for a kernel) find what a page is too coarse
 * for. Addresses are the same in every run. What a function allocates is filled with one pattern.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

#define PAGE ((size_t)4096)
#define PAGES ((size_t)1 << 16)
#define MOST_OBJECTS 20000
#define BASE ((char *)0x100000000000)
#define FILL 0xA5

volatile int fm_active;
static struct fm_object objects[MOST_OBJECTS + 1];
static int object_count;
static size_t next_page = 1;
static uint16_t owner[PAGES];

struct global { const char *start; size_t size, padded; const char *name, *module; size_t init; void *at, *odr; };
static const struct global *groups[64];
static size_t group_sizes[64];
static int group_count;

void fm_memory_begin(void)
{
    void *got = mmap(BASE, PAGES * PAGE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != BASE) {
        fprintf(stderr, "no memory for objects\n");
        _exit(70);
    }
}

void *fm_allocate(size_t size, size_t align, int type, int count)
{
    size_t pages = (size + PAGE - 1) / PAGE + (size == 0);
    if (size > (64u << 20) || next_page + pages + 2 > PAGES || object_count >= MOST_OBJECTS) {
        errno = ENOMEM;
        return NULL;
    }
    char *first = BASE + next_page * PAGE;
    if (mprotect(first, pages * PAGE, PROT_READ | PROT_WRITE) != 0) {
        errno = ENOMEM;
        return NULL;
    }
    struct fm_object *object = &objects[++object_count];
    size_t gap = (pages * PAGE - size) & ~(align - 1);
    object->start = first + gap;
    object->size = size;
    object->type = type;
    object->count = count;
    object->freed = 0;
    object->fresh = type < 0;
    memset(first, FILL, pages * PAGE);
    for (size_t page = next_page; page < next_page + pages; page++)
        owner[page] = (uint16_t)object_count;
    next_page += pages + 1;
    return object->start;
}

struct fm_object *fm_object_at(const void *address)
{
    const char *at = address;
    if (at < BASE || at >= BASE + PAGES * PAGE)
        return NULL;
    unsigned number = owner[(size_t)(at - BASE) / PAGE];
    if (number == 0 || at < objects[number].start || at > objects[number].start + objects[number].size)
        return NULL;
    return &objects[number];
}

/* The nth object of a type that was made while arguments were, so that pointers can be equal. */
struct fm_object *fm_find_like(int type, unsigned nth)
{
    int found = 0;
    for (int number = 1; number <= object_count; number++)
        found += objects[number].type == type;
    if (found == 0)
        return NULL;
    nth %= (unsigned)found;
    for (int number = 1; number <= object_count; number++)
        if (objects[number].type == type && nth-- == 0)
            return &objects[number];
    return NULL;
}

static int in_arena(const void *address)
{
    return (const char *)address >= BASE && (const char *)address < BASE + PAGES * PAGE;
}

size_t fm_room(const void *address)
{
    const char *at = address;
    if (in_arena(at)) {
        struct fm_object *object = fm_object_at(at);
        return object == NULL || object->freed ? 0 : (size_t)(object->start + object->size - at);
    }
    for (int group = 0; group < group_count; group++)
        for (size_t number = 0; number < group_sizes[group]; number++) {
            const struct global *global = &groups[group][number];
            if (at >= global->start && at < global->start + global->size)
                return (size_t)(global->start + global->size - at);
        }
    return 0;
}

/* ------------------------------------------------------------------------------------ what is allocated */

#define MAY_FAIL 4            /* allocations, the first of a run, for which there may be no memory */

/* Whether there is no memory for what is asked now: a choice, or what comes after a failure is never seen. */
static int is_refused(const char *caller)
{
    static int asked;
    char text[60];
    if (caller < fm_program.start || caller >= fm_program.end || ++asked > MAY_FAIL)
        return 0;
    fm_active = 0;
    int refused = fm_draw_answer("memory", (uint64_t)asked, 12) == 11;
    if (refused)
        fm_given(text, (size_t)snprintf(text, sizeof text, "allocation %d fails", asked));
    fm_active = 1;
    if (refused)
        errno = ENOMEM;
    return refused;
}

static void *target_malloc(size_t size)
{
    size_t align = size % 16 == 0 ? 16 : size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1;
    return fm_allocate(size, align, -1, 0);
}

#define CALLER ((const char *)__builtin_return_address(0))

void *malloc(size_t size)
{
    if (!fm_active)
        return __libc_malloc(size);
    return is_refused(CALLER) ? NULL : target_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    size_t total;
    if (!fm_active)
        return __libc_calloc(count, size);
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    void *made = is_refused(CALLER) ? NULL : target_malloc(total);
    return made == NULL ? NULL : memset(made, 0, total);
}

void free(void *address)
{
    if (!in_arena(address)) {
        __libc_free(address);
        return;
    }
    struct fm_object *object = fm_object_at(address);
    if (object == NULL || object->start != address || object->freed)
        fm_violation("free of what is not allocated", 0);
    object->freed = 1;
    char *first = (char *)((uintptr_t)object->start & ~(PAGE - 1));
    size_t pages = (size_t)(object->start + object->size - first + PAGE - 1) / PAGE + (object->size == 0);
    mprotect(first, pages * PAGE, PROT_NONE);
}

void *realloc(void *address, size_t size)
{
    if (!in_arena(address) && (address != NULL || !fm_active))
        return __libc_realloc(address, size);
    if (fm_active && is_refused(CALLER))
        return NULL;
    if (address == NULL)
        return target_malloc(size);
    struct fm_object *object = fm_object_at(address);
    if (object == NULL || object->start != address || object->freed)
        fm_violation("reallocation of what is not allocated", 0);
    void *made = target_malloc(size);
    if (made == NULL)
        return NULL;
    memcpy(made, address, object->size < size ? object->size : size);
    fm_object_at(made)->type = object->type;
    free(address);
    return made;
}

void *memalign(size_t align, size_t size)
{
    return fm_active ? fm_allocate((size + align - 1) & ~(align - 1), align, -1, 0) : __libc_memalign(align, size);
}
void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void **out, size_t align, size_t size)
{
    void *made = memalign(align, size);
    if (made == NULL)
        return ENOMEM;
    *out = made;
    return 0;
}

/* ----------------------------------------------------------------------- the checks that a compiler puts */

static void check(const char *at, size_t size, const char *what)
{
    if (in_arena(at)) {
        struct fm_object *object = fm_object_at(at);
        if (object == NULL || object->freed || at + size > object->start + object->size)
            fm_violation(what, size);
    } else if (at >= fm_program.start && at < fm_program.end) {
        for (int group = 0; group < group_count; group++)
            for (size_t number = 0; number < group_sizes[group]; number++) {
                const struct global *global = &groups[group][number];
                if (at >= global->start && at < global->start + global->padded) {
                    if (at + size > global->start + global->size)
                        fm_violation(what, size);
                    return;
                }
            }
    }
}

#define CHECKS(n) \
    void __asan_load##n##_noabort(const char *at) { if (fm_active) check(at, n, "read out of bounds"); } \
    void __asan_store##n##_noabort(const char *at) { if (fm_active) check(at, n, "write out of bounds"); }
CHECKS(1)
CHECKS(2)
CHECKS(4)
CHECKS(8)
CHECKS(16)
void __asan_loadN_noabort(const char *at, size_t size) { if (fm_active && size) check(at, size, "read out of bounds"); }
void __asan_storeN_noabort(const char *at, size_t size) { if (fm_active && size) check(at, size, "write out of bounds"); }
void __asan_handle_no_return(void) { }
void __asan_register_globals(const struct global *list, size_t count)
{
    if (group_count < 64) {
        groups[group_count] = list;
        group_sizes[group_count++] = count;
    }
}
void __asan_unregister_globals(const struct global *list, size_t count) { (void)list; (void)count; }
void *__asan_memcpy(void *to, const void *from, size_t size)
{
    if (fm_active && size) { check(from, size, "read out of bounds"); check(to, size, "write out of bounds"); }
    return memcpy(to, from, size);
}
void *__asan_memmove(void *to, const void *from, size_t size)
{
    if (fm_active && size) { check(from, size, "read out of bounds"); check(to, size, "write out of bounds"); }
    return memmove(to, from, size);
}
void *__asan_memset(void *to, int value, size_t size)
{
    if (fm_active && size) check(to, size, "write out of bounds");
    return memset(to, value, size);
}
