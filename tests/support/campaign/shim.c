/* Faults on purpose: counts what a process changes below one folder, and fails or ends it at a chosen change.

   Loaded with LD_PRELOAD. fault_set() says what is to happen at which change; fault_log() also writes down
   every change, with a copy of each file as it was when it was flushed, so that a loss of power can be played. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { NOTHING, END, FAIL };

static char root[PATH_MAX], copies[PATH_MAX];
static int action = NOTHING, code = 0, log_to = -1, n_copies = 0;
static long at = -1, done = 0, shift = 0;

void fault_set(const char *folder, int what, int error, long when, long clock)
{
    snprintf(root, sizeof root, "%s", folder);
    action = what; code = error; at = when; done = 0; shift = clock;
}

void fault_log(const char *file, const char *folder)
{
    snprintf(copies, sizeof copies, "%s", folder);
    log_to = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

long fault_count(void) { return done; }

static int below(const char *path)
{
    size_t n = strlen(root);
    return n && path && strncmp(path, root, n) == 0 && (path[n] == '/' || !path[n]);
}

static int full(int dir, const char *path, char *out)
{
    if (!path) return 0;
    if (path[0] == '/') { snprintf(out, PATH_MAX, "%s", path); return 1; }
    char link[64], base[PATH_MAX];
    ssize_t n;
    if (dir == AT_FDCWD) n = readlink("/proc/self/cwd", base, sizeof base - 1);
    else { snprintf(link, sizeof link, "/proc/self/fd/%d", dir); n = readlink(link, base, sizeof base - 1); }
    if (n < 0) return 0;
    base[n] = 0;
    snprintf(out, PATH_MAX, "%.2000s/%.2000s", base, path);
    return 1;
}

static int of_handle(int handle, char *out)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t n = readlink(link, out, PATH_MAX - 1);
    if (n < 0) return 0;
    out[n] = 0;
    return 1;
}

static void note(const char *what, const char *one, const char *other)
{
    if (log_to < 0) return;
    char line[2 * PATH_MAX + 64];
    int n = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, one, other ? other : "");
    syscall(SYS_write, log_to, line, n);
}

/* 1 if the change is to fail; errno is set. */
static int fails(const char *path)
{
    if (!below(path)) return 0;
    long now = __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
    if (action == NOTHING || now < at || at < 0) return 0;
    if (action == END && now == at) syscall(SYS_kill, getpid(), SIGKILL);
    if (action == FAIL) { errno = code; return 1; }
    return 0;
}

static void keep_copy(int handle, const char *path)
{
    if (log_to < 0) return;
    struct stat st;
    if (fstat(handle, &st)) return;
    if (S_ISDIR(st.st_mode)) { note("flush-folder", path, 0); return; }
    char name[PATH_MAX], buffer[65536];
    snprintf(name, sizeof name, "%.3000s/%d", copies, __atomic_fetch_add(&n_copies, 1, __ATOMIC_SEQ_CST));
    int in = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
    int out = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n;
    while (in >= 0 && out >= 0 && (n = syscall(SYS_read, in, buffer, sizeof buffer)) > 0)
        syscall(SYS_write, out, buffer, n);
    if (in >= 0) syscall(SYS_close, in);
    if (out >= 0) syscall(SYS_close, out);
    note("flush", path, name);
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int opened(int dir, const char *path, int flags, mode_t mode)
{
    char name[PATH_MAX];
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) && full(dir, path, name) && below(name)) {
        int there = syscall(SYS_faccessat, dir, path, F_OK, 0) == 0;
        if ((flags & O_CREAT && !there) || flags & O_TRUNC) {
            if (fails(name)) return -1;
            note(there ? "truncate" : "create", name, 0);
        }
    }
    long result = syscall(SYS_openat, dir, path, flags, mode);
    return result;
}

#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, int); va_end(list); }
int open(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int dir, const char *path, int flags, ...) { MODE return opened(dir, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { MODE return opened(dir, path, flags | O_LARGEFILE, mode); }

#define WRITES(handle) char name[PATH_MAX]; if (root[0] && of_handle(handle, name) && below(name)) { if (fails(name)) return -1; note("write", name, 0); }
ssize_t write(int handle, const void *data, size_t n) { WRITES(handle) return syscall(SYS_write, handle, data, n); }
ssize_t pwrite(int handle, const void *data, size_t n, off_t off) { WRITES(handle) return syscall(SYS_pwrite64, handle, data, n, off); }
ssize_t pwrite64(int handle, const void *data, size_t n, off_t off) { WRITES(handle) return syscall(SYS_pwrite64, handle, data, n, off); }
ssize_t writev(int handle, const struct iovec *parts, int n) { WRITES(handle) return syscall(SYS_writev, handle, parts, n); }
int ftruncate(int handle, off_t n) { WRITES(handle) return syscall(SYS_ftruncate, handle, n); }
int ftruncate64(int handle, off_t n) { WRITES(handle) return syscall(SYS_ftruncate, handle, n); }

static int flushed(int handle, int call)
{
    char name[PATH_MAX];
    int ours = root[0] && of_handle(handle, name) && below(name);
    if (ours && fails(name)) return -1;
    int result = syscall(call, handle);
    if (ours && result == 0) keep_copy(handle, name);
    return result;
}
int fsync(int handle) { return flushed(handle, SYS_fsync); }
int fdatasync(int handle) { return flushed(handle, SYS_fdatasync); }

static int two(int call, const char *what, int a, const char *one, int b, const char *other, int flags)
{
    char x[PATH_MAX], y[PATH_MAX];
    int ours = full(a, one, x) && full(b, other, y) && (below(x) || below(y));
    if (ours && fails(below(y) ? y : x)) return -1;
    int result = call == SYS_renameat2 ? syscall(SYS_renameat2, a, one, b, other, flags) : syscall(SYS_linkat, a, one, b, other, flags);
    if (ours && result == 0) note(what, x, y);
    return result;
}
int rename(const char *one, const char *other) { return two(SYS_renameat2, "rename", AT_FDCWD, one, AT_FDCWD, other, 0); }
int renameat(int a, const char *one, int b, const char *other) { return two(SYS_renameat2, "rename", a, one, b, other, 0); }
int renameat2(int a, const char *one, int b, const char *other, unsigned flags)
{ return two(SYS_renameat2, flags & 2 ? "exchange" : "rename", a, one, b, other, flags); }
int link(const char *one, const char *other) { return two(SYS_linkat, "link", AT_FDCWD, one, AT_FDCWD, other, 0); }
int linkat(int a, const char *one, int b, const char *other, int flags) { return two(SYS_linkat, "link", a, one, b, other, flags); }

static int removed(int dir, const char *path, int flags)
{
    char name[PATH_MAX];
    int ours = full(dir, path, name) && below(name);
    if (ours && fails(name)) return -1;
    int result = syscall(SYS_unlinkat, dir, path, flags);
    if (ours && result == 0) note("remove", name, 0);
    return result;
}
int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }
int unlinkat(int dir, const char *path, int flags) { return removed(dir, path, flags); }
int rmdir(const char *path) { return removed(AT_FDCWD, path, AT_REMOVEDIR); }

static int made(int dir, const char *path, mode_t mode)
{
    char name[PATH_MAX];
    int ours = full(dir, path, name) && below(name);
    if (ours && fails(name)) return -1;
    int result = syscall(SYS_mkdirat, dir, path, mode);
    if (ours && result == 0) note("folder", name, 0);
    return result;
}
int mkdir(const char *path, mode_t mode) { return made(AT_FDCWD, path, mode); }
int mkdirat(int dir, const char *path, mode_t mode) { return made(dir, path, mode); }

static long jump(void)
{
    static unsigned long state = 88172645463325252UL;
    state ^= state << 13; state ^= state >> 7; state ^= state << 17;
    return shift ? (long)(state % (2 * (unsigned long)shift + 1)) - shift : 0;
}

/* A clock that jumps back and forth, by up to the given number of seconds, at every look. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    int result = syscall(SYS_clock_gettime, clock, out);
    if (clock == CLOCK_REALTIME) out->tv_sec += jump();
    return result;
}

time_t time(time_t *out)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    now.tv_sec += jump();
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
