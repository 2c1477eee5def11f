"""Functions of the library that ask the system for what no input state has: stand-ins take their place.

Real ones would always answer the same in a sandbox, mostly that there is no such thing, so that what comes
after success is never seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

__all__ = ["system_calls"]

_ALWAYS = (
    "socket socketpair bind listen accept accept4 connect shutdown setsockopt getsockopt getsockname",
    "getpeername send sendto sendmsg recv recvfrom recvmsg select pselect poll ppoll epoll_create",
    "epoll_create1 epoll_ctl epoll_wait eventfd timerfd_create timerfd_settime signalfd inotify_init",
    "inotify_add_watch inotify_rm_watch getaddrinfo freeaddrinfo getnameinfo gethostbyname",
    "gethostbyname2 gethostbyaddr getservbyname getservbyport getprotobyname if_nametoindex getifaddrs",
    "freeifaddrs res_init res_query ioctl fcntl fcntl64 flock lockf isatty ttyname ttyname_r tcgetattr",
    "tcsetattr tcflush tcsendbreak tcgetpgrp tcsetpgrp openpty forkpty posix_openpt grantpt unlockpt",
    "ptsname getpwnam getpwuid getpwnam_r getpwuid_r getpwent setpwent endpwent getgrnam getgrgid",
    "getgrnam_r getgrgid_r getgrent setgrent endgrent getspnam getlogin getlogin_r setuid seteuid",
    "setgid setegid setreuid setregid setresuid setresgid setgroups getgroups initgroups setsid",
    "setpgid getpgrp getpgid chroot mount umount umount2 statfs fstatfs statvfs fstatvfs uname sysinfo",
    "getrlimit setrlimit getrusage getpriority setpriority nice sched_yield sched_setscheduler wait",
    "waitpid wait3 wait4 pipe pipe2 dup dup2 dup3 stat lstat stat64 lstat64 opendir readdir readdir64",
    "closedir rewinddir scandir readlink realpath statx chdir fchdir mkdir rmdir mkfifo mknod symlink",
    "link chown lchown fchown utime utimes futimens utimensat dlopen dlsym dlclose dlerror",
    "pthread_create pthread_join pthread_detach pthread_cancel pthread_kill pthread_mutex_init",
    "pthread_mutex_destroy pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock",
    "pthread_cond_init pthread_cond_destroy pthread_cond_wait pthread_cond_timedwait",
    "pthread_cond_signal pthread_cond_broadcast pthread_rwlock_init pthread_rwlock_destroy",
    "pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_unlock pthread_setspecific",
    "pthread_getspecific pthread_key_create sem_init sem_destroy sem_open sem_close sem_wait",
    "sem_trywait sem_post shmget shmat shmdt shmctl semget semop semctl msgget msgsnd msgrcv shm_open",
    "shm_unlink mq_open mq_close mq_send mq_receive sigwait sigsuspend setitimer getitimer klogctl",
    "reboot ptrace prctl iopl ioperm",
)
_WITHOUT_FILES = (
    "read write close lseek pread pwrite readv writev fstat fstat64 ftruncate fsync fchmod unlink rename",
    "remove chmod truncate mmap munmap msync mprotect",
)
_FILES = ("open open64 openat creat fopen fopen64 freopen tmpfile mkstemp mkstemps fileno fdopen",)


def system_calls(borrowed: Collection[str]) -> list[str]:
    """Of the names that a program takes from the library, those that stand-ins take the place of, sorted.

    What works on descriptors and names of files stays real where the program opens files of its own.
    """
    names = set(borrowed)
    opens_files = not names.isdisjoint(_names(_FILES))
    return sorted(names & (_names(_ALWAYS) if opens_files else _names(_ALWAYS) | _names(_WITHOUT_FILES)))


def _names(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(name for line in lines for name in line.split())
