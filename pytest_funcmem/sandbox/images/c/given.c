/* What a state gives a function beside arguments and globals: its environment, and files that it reads.
 *
 * A variable or file that is there is real. One that is not may be there all the same, with a content by
 * choice. Whatever is given so is told (fm_given), so that states that differ in it are known to differ.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;
static FILE *(*real_fopen)(const char *, const char *);

void fm_given_begin(void) { real_fopen = (FILE *(*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen"); }

static int real_open(const char *path, int flags, mode_t mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static char *real_getenv(const char *name)
{
    size_t length = name == NULL ? 0 : strlen(name);
    for (char **one = environ; length && one != NULL && *one != NULL; one++)
        if (strncmp(*one, name, length) == 0 && (*one)[length] == '=')
            return *one + length + 1;
    return NULL;
}

#define MOST_GIVEN 16

struct given { char name[120]; char text[320]; int fd, there; };
static struct given environment[MOST_GIVEN], files[MOST_GIVEN];
static int environment_count, file_count;

static struct given *given_at(struct given *list, int *count, const char *name, int *fresh)
{
    *fresh = 0;
    for (int i = 0; i < *count; i++)
        if (strncmp(list[i].name, name, sizeof list[i].name - 1) == 0)
            return &list[i];
    if (*count == MOST_GIVEN)
        return NULL;
    *fresh = 1;
    snprintf(list[*count].name, sizeof list[*count].name, "%s", name);
    return &list[(*count)++];
}

char *getenv(const char *name)
{
    int fresh, was = fm_active;
    if (!fm_active || name == NULL)
        return real_getenv(name);
    fm_active = 0;
    struct given *one = given_at(environment, &environment_count, name, &fresh);
    if (fresh) {
        char line[500], *real = real_getenv(name);
        uint64_t where = fm_hash_text(name, strlen(name));
        int64_t way = fm_draw_answer("getenv", where, 4);
        one->there = real != NULL || way != 0;
        if (real != NULL)
            snprintf(one->text, sizeof one->text, "%s", real);
        else if (one->there)
            fm_draw_text("getenv", where, one->text);
        fm_given(line, (size_t)snprintf(line, sizeof line, "getenv(\"%s\"): %s", one->name,
                                        one->there ? one->text : "not set"));
    }
    fm_active = was;
    return one != NULL && one->there ? one->text : NULL;
}
char *secure_getenv(const char *name) { return getenv(name); }

/* A file that is not there may be there all the same: with a content by choice, or not, by choice too. */
static struct given *made_file(const char *path)
{
    int fresh, was = fm_active, was_errno = errno;
    struct stat info;
    if (path == NULL || stat(path, &info) == 0) {
        errno = was_errno;
        return NULL;
    }
    fm_active = 0;
    struct given *one = given_at(files, &file_count, path, &fresh);
    if (fresh) {
        char content[300] = "", line[600];
        uint64_t where = fm_hash_text(path, strlen(path)) | 1;
        one->there = fm_draw_answer("file", where, 4) != 0;
        FILE *stream = one->there ? tmpfile() : NULL;
        one->there = stream != NULL;
        if (one->there) {
            one->fd = dup(fileno(stream));
            fclose(stream);
            fm_file_text(one->fd, where);
            ssize_t length = pread(one->fd, content, sizeof content - 1, 0);
            for (ssize_t i = 0; i < length; i++)
                content[i] = content[i] ? content[i] : '.';
        }
        fm_given(line, (size_t)snprintf(line, sizeof line, "file %s: %s", one->name, one->there ? content : "none"));
    }
    fm_active = was;
    errno = was_errno;
    return one != NULL && one->there ? one : NULL;
}

static int opened(const struct given *one)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", one->fd);
    return real_open(path, O_RDONLY, 0);
}

FILE *fopen(const char *path, const char *mode)
{
    if (fm_active && mode != NULL && mode[0] == 'r' && strchr(mode, '+') == NULL) {
        struct given *one = made_file(path);
        int fd = one == NULL ? -1 : opened(one);
        if (fd >= 0)
            return fdopen(fd, "r");
    }
    return real_fopen(path, mode);
}
FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list list;
        va_start(list, flags);
        mode = (mode_t)va_arg(list, int);
        va_end(list);
    } else if (fm_active && (flags & O_ACCMODE) == O_RDONLY) {
        struct given *one = made_file(path);
        if (one != NULL)
            return opened(one);
    }
    return real_open(path, flags, mode);
}
int open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? (mode_t)va_arg(list, int) : 0;
    va_end(list);
    return open(path, flags, mode);
}
int access(const char *path, int mode)
{
    if (fm_active && mode != W_OK && made_file(path) != NULL)
        return 0;
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}
