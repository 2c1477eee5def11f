/* The world around a function: a log of calls, a clock that stands still, and no luck.
 *
 * What is defined here takes the place of the library's for the function under test.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MOST_CALLS 2000
#define MOST_LOG (1 << 20)
#define MOST_FILE 65536

struct fm_text fm_calls;
int fm_made_up, fm_ended;
static int call_count;
static uint64_t asked[MOST_CALLS];

/* How often the same was asked before; it counts as asked from now on. */
uint64_t fm_times_asked(uint64_t where)
{
    uint64_t nth = 0;
    for (int i = 0; i < call_count; i++)
        nth += asked[i] == where;
    asked[call_count] = where;
    return nth;
}

void fm_put_call(const char *name, struct fm_text *arguments, struct fm_text *answer)
{
    if (call_count)
        fm_put(&fm_calls, ", ");
    fm_put(&fm_calls, "{\"path\": ");
    fm_put_json(&fm_calls, name, strlen(name));
    fm_put(&fm_calls, ", \"arguments\": [");
    fm_put(&fm_calls, arguments->data ? arguments->data : "");
    fm_put(&fm_calls, "], \"keywords\": {}, \"answer\": ");
    fm_put(&fm_calls, answer->data ? answer->data : "null");
    fm_put(&fm_calls, "}");
    if (++call_count >= MOST_CALLS || fm_calls.length > MOST_LOG)
        fm_finish("endless", "");
}

/* ------------------------------------------------------------------------------------ clock and chance */

static uint64_t random_state;
static int told_seed, told_time;

static uint32_t draw(void)
{
    if (!told_seed && fm_active) {
        char text[60];
        told_seed = 1;
        fm_given(text, (size_t)snprintf(text, sizeof text, "random numbers: %016llx", (unsigned long long)random_state));
    }
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

static time_t now(void)
{
    time_t value = (time_t)(1700000000 + fm_mix(fm_seed(), 5) % 10000000);
    if (!told_time && fm_active) {
        char text[60];
        told_time = 1;
        fm_given(text, (size_t)snprintf(text, sizeof text, "clock: %lld", (long long)value));
    }
    return value;
}

time_t time(time_t *out)
{
    if (out != NULL)
        *out = now();
    return now();
}
int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    (void)zone;
    out->tv_sec = now();
    out->tv_usec = 250000;
    return 0;
}
int clock_gettime(clockid_t which, struct timespec *out)
{
    out->tv_sec = which == CLOCK_REALTIME ? now() : 1000;
    out->tv_nsec = 250000000;
    return 0;
}
clock_t clock(void) { return 250000; }
int rand(void) { return (int)(draw() & 0x7fffffff); }
void srand(unsigned from) { random_state = fm_mix(from, 9); }
long random(void) { return (long)(draw() & 0x7fffffff); }
void srandom(unsigned from) { random_state = fm_mix(from, 9); }
int rand_r(unsigned *from) { *from = *from * 1103515245u + 12345u; return (int)(*from >> 1 & 0x7fffffff); }
double drand48(void) { return draw() / 4294967296.0; }
long lrand48(void) { return (long)(draw() & 0x7fffffff); }
long mrand48(void) { return (int32_t)draw(); }
void srand48(long from) { random_state = fm_mix((uint64_t)from, 9); }
uint32_t arc4random(void) { return draw(); }
ssize_t getrandom(void *into, size_t size, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)into)[i] = (unsigned char)draw();
    return (ssize_t)size;
}

pid_t getpid(void) { return 4242; }
pid_t getppid(void) { return 4241; }
uid_t getuid(void) { return 1000; }
uid_t geteuid(void) { return 1000; }
gid_t getgid(void) { return 1000; }
gid_t getegid(void) { return 1000; }
int gethostname(char *name, size_t size) { snprintf(name, size, "host"); return 0; }

/* ------------------------------------------------- what would leave the process: it is logged and fails */

static int logged_failure(const char *name, const char *text)
{
    int was = fm_active;
    struct fm_text arguments = {0}, answer = {0};
    fm_active = 0;
    fm_put_json(&arguments, text ? text : "", text ? strnlen(text, 1024) : 0);
    fm_put(&answer, "-1");
    asked[call_count] = 0;
    fm_put_call(name, &arguments, &answer);
    __libc_free(arguments.data);
    __libc_free(answer.data);
    fm_active = was;
    errno = EPERM;
    return -1;
}

int system(const char *command) { return logged_failure("system", command); }
FILE *popen(const char *command, const char *mode) { (void)mode; logged_failure("popen", command); return NULL; }

/* Nothing is forked: the caller goes on as the parent, as the child, or after a failure. */
pid_t fork(void)
{
    static const pid_t answers[] = {4243, 0, -1};
    if (!fm_active)
        return -1;
    int64_t drawn = fm_draw_answer("fork", (uint64_t)call_count, 3);
    logged_failure("fork", "");
    return answers[drawn];
}
pid_t vfork(void) { return fork(); }
int execve(const char *path, char *const a[], char *const e[]) { (void)a; (void)e; return logged_failure("exec", path); }
int execv(const char *path, char *const a[]) { (void)a; return logged_failure("exec", path); }
int execvp(const char *path, char *const a[]) { (void)a; return logged_failure("exec", path); }
int execl(const char *path, const char *a, ...) { (void)a; return logged_failure("exec", path); }
int execlp(const char *path, const char *a, ...) { (void)a; return logged_failure("exec", path); }
int kill(pid_t pid, int number) { (void)pid; char text[16]; snprintf(text, sizeof text, "%d", number); return logged_failure("kill", text); }
unsigned sleep(unsigned seconds) { (void)seconds; return 0; }
int usleep(useconds_t duration) { (void)duration; return 0; }
int nanosleep(const struct timespec *duration, struct timespec *rest) { (void)duration; (void)rest; return 0; }
unsigned alarm(unsigned seconds) { (void)seconds; return 0; }
int pause(void) { errno = EINTR; return -1; }

void _exit(int status)
{
    if (fm_active) {
        char text[16];
        snprintf(text, sizeof text, "%d", status);
        fm_finish("_exit", text);
    }
    for (;;)
        syscall(231, status);  /* exit_group */
}
void _Exit(int status) { _exit(status); }

static void on_exit_of(int status, void *nothing)
{
    (void)nothing;
    if (fm_active) {
        char text[16];
        snprintf(text, sizeof text, "%d", status);
        fm_finish("exit", text);
    }
}

void fm_world_begin(void)
{
    random_state = fm_mix(fm_seed(), 3);
    on_exit(on_exit_of, NULL);
}

static void dump_file(struct fm_text *out, const char *name)
{
    char content[MOST_FILE];
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    ssize_t length = fd < 0 ? -1 : read(fd, content, sizeof content);
    if (fd >= 0)
        close(fd);
    if (length < 0)
        fm_put(out, "[\"opaque\", \"unreadable\"]");
    else {
        fm_put(out, "[\"bytes\", ");
        fm_put_json(out, content, (size_t)length);
        fm_put(out, "]");
    }
}

void fm_files_dump(struct fm_text *out)
{
    struct dirent **entries;
    int count = scandir(".", &entries, NULL, alphasort), first = 1;
    for (int i = 0; i < count && i < 64; i++) {
        const char *name = entries[i]->d_name;
        struct stat info;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || lstat(name, &info) != 0)
            continue;
        if (!first)
            fm_put(out, ", ");
        first = 0;
        fm_put_json(out, name, strlen(name));
        fm_put(out, ": ");
        if (S_ISDIR(info.st_mode)) fm_put(out, "[\"directory\"]");
        else if (S_ISREG(info.st_mode)) dump_file(out, name);
        else fm_put(out, "[\"opaque\", \"special\"]");
    }
}
