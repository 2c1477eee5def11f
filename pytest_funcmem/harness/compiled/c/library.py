"""Which standard header declares what: a file may have had it through a header of its own."""

from __future__ import annotations

from types import MappingProxyType

__all__ = ["CONSTANTS", "HEADERS", "KNOWN_TYPES"]

_BY_HEADER = {
    "string.h": "strlen strcpy strncpy strcat strncat strcmp strncmp strchr strrchr strstr strtok strtok_r "
    "strdup strndup strspn strcspn strpbrk strerror strcoll strsep strnlen memcpy memmove memset "
    "memcmp memchr memrchr mempcpy stpcpy strchrnul strcasestr strsignal basename",
    "strings.h": "strcasecmp strncasecmp bzero bcopy bcmp index rindex ffs",
    "stdlib.h": "malloc calloc realloc free exit abort atexit atoi atol atoll atof strtol strtoul strtoll "
    "strtoull strtod strtof qsort bsearch abs labs llabs div ldiv rand srand random srandom "
    "getenv setenv unsetenv putenv system mkstemp mkdtemp realpath EXIT_SUCCESS EXIT_FAILURE "
    "RAND_MAX drand48 lrand48 srand48 reallocarray",
    "stdio.h": "printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf dprintf asprintf "
    "vasprintf puts fputs fputc putc putchar getc fgetc getchar fgets gets ungetc fopen fdopen "
    "freopen fclose fflush fread fwrite fseek ftell rewind fseeko ftello feof ferror clearerr "
    "perror remove rename tmpfile tmpnam setvbuf setbuf fileno popen pclose getline getdelim "
    "scanf fscanf sscanf FILE EOF stdin stdout stderr SEEK_SET SEEK_CUR SEEK_END BUFSIZ "
    "FILENAME_MAX putc_unlocked getc_unlocked putchar_unlocked fputs_unlocked",
    "ctype.h": "isalpha isdigit isalnum isspace isupper islower ispunct isprint iscntrl isxdigit isgraph "
    "isblank isascii toupper tolower toascii",
    "unistd.h": "read write close open_ lseek unlink access isatty getpid getppid getuid geteuid getgid "
    "getegid sleep usleep fork execv execvp execl execlp execve pipe dup dup2 chdir getcwd rmdir "
    "link symlink readlink ftruncate truncate fsync getopt optarg optind optopt opterr _exit "
    "alarm pause sysconf gethostname ttyname setsid STDIN_FILENO STDOUT_FILENO STDERR_FILENO R_OK "
    "W_OK X_OK F_OK pread pwrite chown getlogin environ",
    "fcntl.h": "open creat fcntl O_RDONLY O_WRONLY O_RDWR O_CREAT O_TRUNC O_APPEND O_NONBLOCK O_EXCL "
    "O_CLOEXEC F_GETFL F_SETFL F_GETFD F_SETFD FD_CLOEXEC",
    "sys/types.h": "ssize_t off_t pid_t uid_t gid_t mode_t dev_t ino_t u_int u_char u_short u_long time_t "
    "u_int8_t u_int16_t u_int32_t u_int64_t uint ushort ulong caddr_t key_t",
    "sys/stat.h": "stat lstat fstat mkdir chmod umask mkfifo S_ISDIR S_ISREG S_ISLNK S_IRUSR S_IWUSR S_IXUSR "
    "S_IRWXU S_IFMT S_IFDIR S_IFREG fchmod",
    "sys/time.h": "gettimeofday timeval itimerval setitimer utimes timersub timeradd",
    "sys/wait.h": "wait waitpid WIFEXITED WEXITSTATUS WIFSIGNALED WTERMSIG WNOHANG",
    "sys/select.h": "select fd_set FD_ZERO FD_SET FD_CLR FD_ISSET",
    "sys/ioctl.h": "ioctl TIOCGWINSZ winsize",
    "sys/socket.h": "socket bind listen accept connect send recv sendto recvfrom setsockopt getsockopt "
    "shutdown sockaddr socklen_t AF_INET AF_UNIX SOCK_STREAM SOCK_DGRAM SOL_SOCKET SO_REUSEADDR "
    "sockaddr_storage",
    "netinet/in.h": "sockaddr_in sockaddr_in6 in_addr in6_addr INADDR_ANY IPPROTO_TCP in_addr_t in_port_t",
    "arpa/inet.h": "htons ntohs htonl ntohl inet_ntoa inet_addr inet_pton inet_ntop",
    "netdb.h": "getaddrinfo freeaddrinfo gethostbyname hostent addrinfo gai_strerror",
    "sys/mman.h": "mmap munmap PROT_READ PROT_WRITE MAP_SHARED MAP_PRIVATE MAP_FAILED mprotect",
    "time.h": "time ctime asctime localtime gmtime localtime_r gmtime_r mktime strftime difftime clock "
    "nanosleep clock_gettime tm timespec clock_t CLOCKS_PER_SEC CLOCK_REALTIME CLOCK_MONOTONIC "
    "timegm tzset strptime",
    "signal.h": "signal raise kill sigaction sigemptyset sigaddset sigprocmask SIGINT SIGTERM SIGHUP SIGCHLD "
    "SIGALRM SIGPIPE SIG_DFL SIG_IGN SIGKILL sig_atomic_t sigset_t SIGQUIT SIGUSR1 SIGUSR2 "
    "SIGTSTP SIGCONT SIGWINCH",
    "errno.h": "errno ENOENT EINVAL ENOMEM EINTR EAGAIN EEXIST EACCES EPERM ERANGE EIO EPIPE EBADF ENOSYS "
    "EWOULDBLOCK ENOTDIR EISDIR ENOSPC EDOM E2BIG ETIMEDOUT EBUSY EOVERFLOW ENOTSUP EINPROGRESS",
    "math.h": "sin cos tan asin acos atan atan2 sinh cosh tanh exp log log10 log2 pow sqrt ceil floor fabs "
    "fmod round lround trunc ldexp frexp modf hypot cbrt M_PI M_E HUGE_VAL INFINITY NAN isnan "
    "isinf isfinite fmin fmax exp2 rint lrint expm1 log1p fmaf sqrtf powf sinf cosf floorf ceilf "
    "fabsf M_PI_2 M_SQRT2 roundf",
    "limits.h": "INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN ULONG_MAX CHAR_BIT CHAR_MAX UCHAR_MAX SHRT_MAX "
    "USHRT_MAX PATH_MAX LLONG_MAX LLONG_MIN ULLONG_MAX SCHAR_MAX SCHAR_MIN SHRT_MIN CHAR_MIN "
    "NAME_MAX SSIZE_MAX",
    "float.h": "DBL_MAX DBL_MIN DBL_EPSILON FLT_MAX FLT_MIN FLT_EPSILON DBL_DIG",
    "stdint.h": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t "
    "intmax_t uintmax_t INT32_MAX INT32_MIN UINT32_MAX INT64_MAX INT64_MIN UINT64_MAX UINT8_MAX "
    "UINT16_MAX SIZE_MAX INT16_MAX INT16_MIN INT8_MAX INT8_MIN uint_fast8_t uint_fast16_t "
    "uint_fast32_t int_fast32_t uint_least32_t int_least32_t uint_least8_t uint_least16_t INT64_C "
    "UINT64_C UINT32_C PTRDIFF_MAX UINTPTR_MAX",
    "inttypes.h": "PRId64 PRIu64 PRIx64 PRId32 PRIu32 PRIx32 PRIuMAX PRIdMAX strtoimax strtoumax",
    "stdbool.h": "bool true false",
    "stddef.h": "size_t ptrdiff_t NULL offsetof wchar_t max_align_t",
    "stdarg.h": "va_list va_start va_end va_arg va_copy",
    "assert.h": "assert",
    "setjmp.h": "jmp_buf setjmp longjmp sigjmp_buf sigsetjmp siglongjmp",
    "locale.h": "setlocale localeconv LC_ALL LC_CTYPE lconv LC_NUMERIC",
    "wchar.h": "wcslen wcscpy wcscmp wcschr mbstowcs wcstombs mbrtowc wcrtomb mbstate_t wint_t WEOF wcwidth "
    "wmemcpy",
    "wctype.h": "iswalpha iswdigit iswspace iswupper iswlower towupper towlower iswprint",
    "dirent.h": "opendir readdir closedir DIR dirent scandir alphasort",
    "pwd.h": "getpwnam getpwuid passwd",
    "grp.h": "getgrnam getgrgid group",
    "termios.h": "tcgetattr tcsetattr termios TCSANOW TCSADRAIN ECHO ICANON VMIN VTIME cfsetispeed "
    "cfsetospeed",
    "err.h": "err errx warn warnx verr vwarn",
    "getopt.h": "getopt_long option required_argument no_argument",
    "poll.h": "poll pollfd POLLIN POLLOUT POLLERR POLLHUP nfds_t",
    "syslog.h": "syslog openlog closelog LOG_ERR LOG_INFO LOG_WARNING LOG_DEBUG LOG_NOTICE LOG_DAEMON "
    "LOG_PID",
    "libgen.h": "dirname",
    "pthread.h": "pthread_t pthread_mutex_t pthread_mutex_lock pthread_mutex_unlock pthread_create "
    "pthread_join pthread_cond_t pthread_mutex_init PTHREAD_MUTEX_INITIALIZER pthread_self "
    "pthread_key_t pthread_once_t",
    "regex.h": "regcomp regexec regfree regex_t regmatch_t REG_EXTENDED REG_NOSUB REG_ICASE regerror",
    "fnmatch.h": "fnmatch FNM_NOMATCH FNM_PATHNAME",
    "glob.h": "glob globfree glob_t",
    "endian.h": "htobe16 htobe32 htobe64 be16toh be32toh be64toh htole16 htole32 le16toh le32toh le64toh",
    "sys/param.h": "MAXPATHLEN MIN MAX",
    "sys/queue.h": "TAILQ_HEAD TAILQ_ENTRY TAILQ_FOREACH TAILQ_INIT TAILQ_INSERT_TAIL TAILQ_INSERT_HEAD "
    "TAILQ_REMOVE TAILQ_FIRST TAILQ_NEXT TAILQ_PREV TAILQ_LAST TAILQ_EMPTY "
    "TAILQ_INSERT_AFTER TAILQ_INSERT_BEFORE TAILQ_HEAD_INITIALIZER TAILQ_FOREACH_REVERSE "
    "TAILQ_CONCAT LIST_HEAD LIST_ENTRY LIST_FOREACH LIST_INIT LIST_INSERT_HEAD "
    "LIST_INSERT_AFTER LIST_INSERT_BEFORE LIST_REMOVE LIST_FIRST LIST_NEXT LIST_EMPTY "
    "LIST_HEAD_INITIALIZER SLIST_HEAD SLIST_ENTRY SLIST_FOREACH SLIST_INIT "
    "SLIST_INSERT_HEAD SLIST_REMOVE SLIST_REMOVE_HEAD SLIST_FIRST SLIST_NEXT SLIST_EMPTY "
    "STAILQ_HEAD STAILQ_ENTRY STAILQ_FOREACH STAILQ_INIT STAILQ_INSERT_TAIL "
    "STAILQ_INSERT_HEAD STAILQ_REMOVE STAILQ_REMOVE_HEAD STAILQ_FIRST STAILQ_NEXT "
    "STAILQ_EMPTY SIMPLEQ_HEAD SIMPLEQ_ENTRY SIMPLEQ_FOREACH SIMPLEQ_INIT "
    "SIMPLEQ_INSERT_TAIL SIMPLEQ_INSERT_HEAD SIMPLEQ_REMOVE SIMPLEQ_REMOVE_HEAD "
    "SIMPLEQ_FIRST SIMPLEQ_NEXT SIMPLEQ_EMPTY CIRCLEQ_HEAD CIRCLEQ_ENTRY",
    "sys/uio.h": "iovec readv writev",
    "sys/resource.h": "getrlimit setrlimit rlimit getrusage rusage RLIMIT_NOFILE",
    "sys/utsname.h": "uname utsname",
    "libintl.h": "gettext dgettext ngettext bindtextdomain textdomain",
    "search.h": "hsearch hcreate tsearch",
    "complex.h": "creal cimag cabs",
}

HEADERS = MappingProxyType(
    {name: header for header, names in reversed(_BY_HEADER.items()) for name in names.split()}
)
"""Header by the name that it declares."""

_BY_SHAPE = {
    "unsigned char @": "u8 U8 UINT8 uint8 byte BYTE uchar UCHAR u_char Byte Uint8 guint8",
    "signed char @": "s8 S8 INT8 int8 schar gint8 Sint8",
    "unsigned short @": "u16 U16 UINT16 uint16 WORD word ushort USHORT u_short Uint16 guint16 CHAR16 WCHAR",
    "short @": "s16 S16 INT16 int16 gint16 Sint16 SHORT",
    "unsigned int @": "u32 U32 UINT32 uint32 DWORD dword uint UINT u_int Uint32 guint32 guint",
    "int @": "s32 S32 INT32 int32 gint32 Sint32 INT gint BOOL Bool boolean Boolean BOOLEAN gboolean bool_t",
    "unsigned long @": "u64 U64 UINT64 uint64 QWORD ulong ULONG u_long Uint64 guint64 gulong gsize uLong "
    "UINTN ULONGLONG",
    "long @": "s64 S64 INT64 int64 gint64 Sint64 LONG glong gssize INTN LONGLONG",
    "_Bool @": "bool",
    "char *@": "string String STRING LPSTR",
    "char @": "CHAR gchar CHAR8",
    "double @": "real REAL Float64 gdouble DOUBLE",
    "float @": "gfloat FLOAT GLfloat",
    "void *@": "gpointer VOIDP PVOID LPVOID HANDLE voidp voidpf",
    "void @": "VOID",
}

KNOWN_TYPES = MappingProxyType({name: shape for shape, names in _BY_SHAPE.items() for name in names.split()})
"""Types that go by their names, as far as files of many projects agree; shapes as in ``standins``."""

CONSTANTS = MappingProxyType(
    {
        "NULL": " ((void *)0)",
        **dict.fromkeys(("true", "TRUE", "True"), " 1"),
        **dict.fromkeys(("false", "FALSE", "False"), " 0"),
        **dict.fromkeys(("LIKELY", "UNLIKELY", "likely", "unlikely"), "(x) (x)"),
        **dict.fromkeys(("_", "N_"), "(x) (x)"),
        "UNUSED": "(x) (void)(x)",
        "ARRAY_SIZE": "(x) (sizeof(x) / sizeof *(x))",
    }
)
"""Text behind the names of macros that files take for granted."""
