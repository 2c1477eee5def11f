/* Forks a process for each input state, makes its arguments, calls, and passes on what came of it. */
#define _GNU_SOURCE
#include "runtime.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUT 3
#define RESULT 200
#define MOST_STREAM 65536
#define MOST_BODY (4 << 20)
#define VIOLATION 99

struct fm_program fm_program;

static void *parameter_values[64];
static char *before_arguments[64], *before_globals[512];
static void *result_value;
static int with_lines, with_input;
static struct fm_text shown;

/* What a state gives the function, for people; every part of it is told once. */
void fm_given(const char *text, size_t length)
{
    if (shown.length > 65536)
        return;
    if (shown.length)
        fm_put(&shown, ", ");
    fm_put_json(&shown, text, length);
}

/* A value as given; where it is cut short, a digest of the whole tells it from others. */
static void give(const char *name, const void *at, int type, const char *dumped)
{
    struct fm_text one = {0};
    if (name != NULL)
        fm_printf(&one, "%s = ", name);
    fm_show(&one, at, type);
    if (one.data == NULL)
        return;
    if (dumped != NULL && strstr(one.data, "...") != NULL)
        fm_printf(&one, " /* %06llx */", (unsigned long long)fm_hash_text(dumped, strlen(dumped)) & 0xffffff);
    fm_given(one.data, one.length);
    free(one.data);
}

static int find_range(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    if ((void *)info->dlpi_addr != base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            char *start = (char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            char *end = start + info->dlpi_phdr[i].p_memsz;
            if (fm_program.start == NULL || start < fm_program.start) fm_program.start = start;
            if (end > fm_program.end) fm_program.end = end;
        }
    return 1;
}

/* Let the function under test begin with a jump to another that stands in its place in this run. */
static void send_elsewhere(char *const *functions, int place)
{
    if (functions == NULL) { fprintf(stderr, "there is no other function\n"); exit(72); }
    char *from = functions[0];
    int64_t far = functions[place] - from;
    uintptr_t page = (uintptr_t)from & ~(uintptr_t)4095;
    size_t length = (uintptr_t)from + 8 - page;
    if (mprotect((void *)page, length, PROT_READ | PROT_WRITE) != 0) { fprintf(stderr, "cannot change code\n"); exit(72); }
#if defined(__x86_64__)
    int32_t way = (int32_t)(far - 5);
    from[0] = (char)0xE9;
    memcpy(from + 1, &way, sizeof way);
#elif defined(__aarch64__)
    uint32_t way = 0x14000000u | ((uint32_t)(far / 4) & 0x03FFFFFFu);
    memcpy(from, &way, sizeof way);
#else
#error "no jump is known for this machine"
#endif
    if (mprotect((void *)page, length, PROT_READ | PROT_EXEC) != 0) { fprintf(stderr, "cannot run code\n"); exit(72); }
    __builtin___clear_cache(from, from + 8);
}

static void load(const char *path, int place)
{
    void *handle = dlopen(path, RTLD_NOW);
    if (handle == NULL) { fprintf(stderr, "%s\n", dlerror()); exit(72); }
    struct link_map *map;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    dl_iterate_phdr(find_range, (void *)map->l_addr);
    fm_program.call = (void (*)(void **, void *))dlsym(handle, "fm_call");
    fm_program.globals = dlsym(handle, "fm_globals");
    fm_program.functions = dlsym(handle, "fm_functions");
    fm_program.callbacks = dlsym(handle, "fm_callbacks");
    fm_program.blocks = dlsym(handle, "fm_blocks");
    const uint64_t *end = dlsym(handle, "fm_blocks_end");
    if (fm_program.blocks != NULL && end != NULL)
        fm_program.block_count = (int)(end - fm_program.blocks);
    if (fm_program.call == NULL) { fprintf(stderr, "there is nothing to call\n"); exit(72); }
    if (place > 0)
        send_elsewhere(dlsym(handle, "fm_instead"), place);
}

/* --------------------------------------------------------------------------------------- in the child */

static void write_all(int fd, const char *data, size_t length)
{
    while (length) {
        ssize_t done = write(fd, data, length);
        if (done < 0) {
            if (errno == EINTR) continue;
            syscall(SYS_exit_group, 3);
        }
        data += done;
        length -= (size_t)done;
    }
}

void fm_violation(const char *what, size_t size)
{
    char line[120];
    fm_active = 0;
    int length = snprintf(line, sizeof line, "%s, %zu bytes", what, size);
    write_all(RESULT, line, (size_t)length);
    syscall(SYS_exit_group, VIOLATION);
    __builtin_unreachable();
}

static void put_stream(struct fm_text *out, int fd)
{
    static char content[MOST_STREAM];
    ssize_t length = pread(fd, content, sizeof content, 0);
    fm_put_json(out, content, length < 0 ? 0 : (size_t)length);
}

static int stdout_copy, stderr_copy;

void fm_finish(const char *exception, const char *message)
{
    int was_errno = errno;
    struct fm_text out = {0};
    fm_active = 0;
    fflush(NULL);
    if (exception != NULL && strcmp(exception, "endless") == 0) {
        fm_put(&out, "{\"outcome\": \"endless\", ");
        fm_trace_dump(&out, with_lines);
        fm_put(&out, "}");
        write_all(RESULT, out.data, out.length);
        syscall(SYS_exit_group, 0);
    }
    fm_printf(&out, "{\"outcome\": \"%s\", \"value\": ", exception ? "raised" : "returned");
    if (exception == NULL && fm_table.types[fm_table.result].kind != FM_VOID)
        fm_dump(&out, result_value, fm_table.result);
    else
        fm_put(&out, "null");
    fm_put(&out, ", \"exception\": ");
    if (exception == NULL)
        fm_put(&out, "null");
    else
        fm_printf(&out, "{\"type\": \"%s\", \"message\": \"%s\", \"own\": true, \"authored\": true, "
                        "\"origin\": \"function\"}", exception, message);
    fm_put(&out, ", \"calls\": [");
    fm_put(&out, fm_calls.data ? fm_calls.data : "");
    fm_put(&out, "], \"receiver\": null, \"arguments\": {");
    int first = 1;
    for (int i = 0; i < fm_table.parameter_count; i++) {
        const struct fm_place *place = &fm_table.parameters[i];
        if (before_arguments[i] == NULL)
            continue;
        struct fm_text now = {0};
        fm_dump(&now, parameter_values[i], place->type);
        if (!first)
            fm_put(&out, ", ");
        first = 0;
        fm_put_json(&out, place->name, strlen(place->name));
        fm_put(&out, ": ");
        fm_put(&out, strcmp(now.data, before_arguments[i]) == 0 ? "[\"unchanged\"]" : now.data);
        free(now.data);
    }
    fm_put(&out, "}, \"module_globals\": {");
    first = 1;
    if (fm_table.uses_errno && was_errno) {
        fm_printf(&out, "\"errno\": %d", was_errno);
        first = 0;
    }
    for (int i = 0; i < fm_table.global_count && i < 512; i++) {
        const struct fm_place *place = &fm_table.globals[i];
        if (before_globals[i] == NULL)
            continue;
        struct fm_text now = {0};
        fm_dump(&now, fm_program.globals[i], place->type);
        if (strcmp(now.data, before_globals[i]) != 0) {
            if (!first)
                fm_put(&out, ", ");
            first = 0;
            fm_put_json(&out, place->name, strlen(place->name));
            fm_put(&out, ": ");
            fm_put(&out, now.data);
        }
        free(now.data);
    }
    fm_put(&out, "}, \"stdout\": ");
    put_stream(&out, stdout_copy);
    fm_put(&out, ", \"stderr\": ");
    put_stream(&out, stderr_copy);
    fm_put(&out, ", \"files\": {");
    fm_files_dump(&out);
    fm_put(&out, "}, ");
    fm_trace_choices(fm_choices_used());
    fm_trace_dump(&out, with_lines);
    fm_printf(&out, ", \"detail\": \"\", \"made_up\": %s, \"shown\": [", fm_made_up ? "true" : "false");
    fm_put(&out, shown.data ? shown.data : "");
    fm_put(&out, "]}");
    write_all(RESULT, out.data, out.length);
    syscall(SYS_exit_group, 0);
    __builtin_unreachable();
}

static int nameless_file(void)
{
    int fd = open("stream", O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || unlink("stream") != 0)
        syscall(SYS_exit_group, 4);
    return fd;
}

static void prepare_process(const char *directory)
{
    int in = nameless_file(), out = nameless_file(), err = nameless_file();
    struct rlimit limit = {1 << 20, 1 << 20};
    if (chdir(directory) != 0)
        syscall(SYS_exit_group, 4);
    if (fm_table.uses_stdin) {
        fm_file_text(in, 0);
        lseek(in, 0, SEEK_SET);
        with_input = 1;
    }
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    stdout_copy = fcntl(out, F_DUPFD, RESULT + 1);
    stderr_copy = fcntl(err, F_DUPFD, RESULT + 1);
    if (syscall(SYS_close_range, 3, RESULT - 1, 0) != 0)
        for (int fd = 3; fd < RESULT; fd++)
            close(fd);
    setrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max = 0;
    setrlimit(RLIMIT_CORE, &limit);
    setpgid(0, 0);
}

/* Lengths come after what they count: the list before them, or else the one behind them. */
static void fill_parameters(void)
{
    int counts[64] = {0};
    for (int lengths = 0; lengths < 2; lengths++)
        for (int i = 0; i < fm_table.parameter_count; i++) {
            const struct fm_place *place = &fm_table.parameters[i];
            const struct fm_type *type = &fm_table.types[place->type];
            int is_length = place->flags & FM_LENGTH && type->kind != FM_POINTER, from = i;
            if (is_length != lengths)
                continue;
            while (from > 0 && counts[from] == 0) from--;
            while (from < fm_table.parameter_count - 1 && counts[from] == 0) from++;
            if (is_length && counts[from])
                fm_count_with(counts[from]);
            parameter_values[i] = calloc(1, (size_t)(type->size > 0 ? type->size : 8));
            fm_fill(parameter_values[i], place->type, place->flags, place->pool, 0);
            if (type->kind == FM_POINTER)
                counts[i] = fm_last_count();
        }
}

static void run_state(uint64_t seed, const uint32_t *choices, int count, const char *directory)
{
    fm_choices_begin(choices, count, seed);
    prepare_process(directory);
    fill_parameters();
    for (int i = 0; i < fm_table.global_count; i++)
        fm_fill_global(fm_program.globals[i], &fm_table.globals[i]);
    fm_arguments_done();
    fm_trace_choices(fm_choices_used());
    for (int i = 0; i < fm_table.parameter_count; i++) {
        const struct fm_place *place = &fm_table.parameters[i];
        struct fm_text text = {0};
        fm_dump(&text, parameter_values[i], place->type);
        give(NULL, parameter_values[i], place->type, text.data);
        if (fm_points(place->type))
            before_arguments[i] = text.data;
        else
            free(text.data);
    }
    for (int i = 0; i < fm_table.global_count && i < 512; i++) {
        struct fm_text text = {0};
        fm_dump(&text, fm_program.globals[i], fm_table.globals[i].type);
        before_globals[i] = text.data;
        if (fm_table.globals[i].flags & FM_SHOWN)
            give(fm_table.globals[i].name, fm_program.globals[i], fm_table.globals[i].type, text.data);
    }
    if (with_input) {
        char text[512], line[600];
        ssize_t length = pread(0, text, sizeof text, 0);
        fm_given(line, (size_t)snprintf(line, sizeof line, "stdin: %.*s", length < 0 ? 0 : (int)length, text));
    }
    int size = fm_table.types[fm_table.result].size;
    result_value = calloc(1, (size_t)(size > 0 ? size : 8));
    fm_world_begin();
    errno = 0;
    fm_active = 1;
    fm_program.call(parameter_values, result_value);
    fm_finish(NULL, NULL);
}

/* -------------------------------------------------------------------------------------- in the parent */

#define PATIENCE 10   /* times as long on the clock as of the processor: waiting costs no processor */
#define IDLE 2.0      /* seconds after which a process that has used no processor meanwhile waits for ever */
#define PARTING 10.0  /* seconds to end in, for one that has said all: a busy machine takes its time */

/* Seconds on a clock; -1 where there is none. */
static double clock_of(clockid_t which)
{
    struct timespec now;
    if (syscall(SYS_clock_gettime, which, &now) != 0)
        return -1;
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double clock_now(void) { return clock_of(CLOCK_MONOTONIC); }

/* How long a process may still go on: by what it used of the processor, which a busy machine hardly changes. */
struct watch { clockid_t processor; double limit, start, used, moved; };

static struct watch watch(pid_t process, double limit)
{
    double now = clock_now();
    struct watch one = {(clockid_t)((~(unsigned)process << 3) | 2), limit, now, 0, now};
    return one;
}

/* Seconds after which it is worth looking again; none where its time is up. */
static double left(struct watch *one)
{
    double now = clock_now(), used = clock_of(one->processor), soonest = one->limit - used;
    if (used < 0)
        return one->start + one->limit - now;
    if (used > one->used) { one->used = used; one->moved = now; }
    if (one->moved + IDLE - now < soonest) soonest = one->moved + IDLE - now;
    if (one->start + PATIENCE * one->limit - now < soonest) soonest = one->start + PATIENCE * one->limit - now;
    return soonest;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info; (void)kind; (void)at;
    return remove(path), 0;
}

static void one_state(int index, uint64_t seed, const uint32_t *choices, int count, double timeout)
{
    int ends[2];
    const char *directory = "state";
    static char body[MOST_BODY];
    size_t length = 0;
    if (mkdir(directory, 0700) != 0 || pipe(ends) != 0) { fprintf(stderr, "cannot prepare a state\n"); exit(73); }
    fm_trace_clear();
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child < 0) { fprintf(stderr, "cannot fork\n"); exit(73); }
    if (child == 0) {
        dup2(ends[1], RESULT);
        run_state(seed, choices, count, directory);
    }
    close(ends[1]);
    struct watch its = watch(child, timeout);
    int late = 0, flood = 0;
    for (;;) {
        double wait_s = left(&its);
        struct pollfd wait_for = {ends[0], POLLIN, 0};
        if (wait_s <= 0) { late = 1; break; }
        if (poll(&wait_for, 1, (int)(wait_s * 1000) + 1) == 0)
            continue;
        if (length == sizeof body) { flood = 1; break; }
        ssize_t got = read(ends[0], body + length, sizeof body - length);
        if (got <= 0) break;
        length += (size_t)got;
    }
    close(ends[0]);
    int status = 0;
    struct rusage usage;
    if (late || flood) {
        syscall(SYS_kill, -child, SIGKILL);
        syscall(SYS_kill, child, SIGKILL);
    }
    /* It has closed its result, or is killed; should it live on all the same, it is given a moment. */
    for (double until = clock_now() + PARTING; wait4(child, &status, WNOHANG, &usage) == 0;) {
        if (clock_now() > until) { syscall(SYS_kill, child, SIGKILL); until += 1e9; }
        struct timespec moment = {0, 200000};
        syscall(SYS_nanosleep, &moment, NULL);
    }
    syscall(SYS_kill, -child, SIGKILL);
    double spent = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
                 + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    const char *outcome = "recorded";
    char detail[128] = "-";
    if (late) outcome = "timeout";
    else if (flood) outcome = "refused";
    else if (WIFSIGNALED(status)) {
        outcome = WTERMSIG(status) == SIGXFSZ ? "refused" : "signal";
        snprintf(detail, sizeof detail, "%s", strsignal(WTERMSIG(status)));
    } else if (WEXITSTATUS(status) == VIOLATION) {
        outcome = "signal";
        snprintf(detail, sizeof detail, "%.*s", length < 100 ? (int)length : 100, body);
    } else if (WEXITSTATUS(status) != 0)
        outcome = "missing";
    struct fm_text way = {0};
    if (strcmp(outcome, "recorded") != 0) {
        fm_put(&way, "{");
        fm_trace_dump(&way, with_lines);
        fm_put(&way, "}");
    }
    const char *said = way.data ? way.data : body;
    if (way.data)
        length = way.length;
    char head[256];
    int head_length = snprintf(head, sizeof head, "%d %s %.6f %zu %s\n", index, outcome, spent, length, detail);
    write_all(OUT, head, (size_t)head_length);
    write_all(OUT, said, length);
    free(way.data);
    if (rmdir(directory) != 0)
        nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Arguments: table, states, program, whether lines are wanted, milliseconds for a state, and which of the
 * functions that the program holds for the one under test. */
int fm_main(int argc, char **argv)
{
    if (argc < 7)
        return 70;
    fm_read_table(argv[1]);
    load(argv[3], atoi(argv[6]));
    with_lines = atoi(argv[4]);
    double timeout = atof(argv[5]) / 1000.0;
    fm_memory_begin();
    fm_given_begin();
    fm_trace_begin();
    char *text = fm_slurp(argv[2]);
    long states = fm_read_number();
    for (long index = 0; index < states; index++) {
        uint64_t seed = (uint64_t)fm_read_number();
        long count = fm_read_number();
        uint32_t *choices = fm_room_for(count, sizeof *choices);
        for (long i = 0; i < count; i++)
            choices[i] = (uint32_t)fm_read_number();
        one_state((int)index, seed, choices, (int)count, timeout);
        free(choices);
    }
    free(text);
    return 0;
}
