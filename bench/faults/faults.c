/*
 * Loaded by LD_PRELOAD: makes calls of the C library fail for the files of one folder.
 *
 *   FAULT_FOLDER  only files below this folder count
 *   FAULT_LOG     one line per fault, "operation number path"; with FAULT_NTH=0 one line per counted call
 *   FAULT_OPS     what counts, separated by commas: open write grow fsync rename unlink link mkdir truncate read stat
 *                 lock map cut. "grow" is a write, a truncation or an allocation that makes a file longer. "cut" fails
 *                 nothing: after a flush of a log with content, the log is emptied, as another program could do
 *   FAULT_NTH     which of the counted calls fails, from 1; 0 only counts
 *   FAULT_MODE    once | sticky (this one and all that follow) | short (a write takes half of its bytes)
 *   FAULT_ERRNO   the error number
 *
 * A file is recognized by /proc/self/fd at the time of the call, so no descriptor is tracked.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))next(#name))

static void *next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

static const char *folder, *ops;
static size_t folder_length;
static long nth;
static int failure, log_file = -1;
static enum { ONCE, STICKY, SHORT } mode;
static atomic_long counted;
static atomic_int is_ready;

__attribute__((constructor)) static void prepare(void) {
  const char *text;
  folder = getenv("FAULT_FOLDER");
  ops = getenv("FAULT_OPS");
  if (folder == NULL || ops == NULL) return;
  folder_length = strlen(folder);
  nth = (text = getenv("FAULT_NTH")) ? atol(text) : 0;
  failure = (text = getenv("FAULT_ERRNO")) ? atoi(text) : EIO;
  text = getenv("FAULT_MODE");
  mode = text == NULL ? ONCE : strcmp(text, "sticky") == 0 ? STICKY : strcmp(text, "short") == 0 ? SHORT : ONCE;
  if ((text = getenv("FAULT_LOG")) != NULL)
    log_file = (int)syscall(SYS_openat, AT_FDCWD, text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  atomic_store(&is_ready, 1);
}

static int is_below(const char *path) {
  return path != NULL && strncmp(path, folder, folder_length) == 0 &&
         (path[folder_length] == '/' || path[folder_length] == 0);
}

static int is_wanted(const char *op) {
  size_t length = strlen(op);
  for (const char *at = ops; *at != 0;) {
    const char *end = strchrnul(at, ',');
    if ((size_t)(end - at) == length && strncmp(at, op, length) == 0) return 1;
    at = *end == 0 ? end : end + 1;
  }
  return 0;
}

/* Counts the call. Gives 1 where it is to fail. */
static int meets(const char *op, const char *path) {
  long number = atomic_fetch_add(&counted, 1) + 1;
  int fails = nth > 0 && (mode == STICKY ? number >= nth : number == nth);
  if (log_file >= 0 && (nth == 0 || number == nth)) {
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%s %ld %s\n", op, number, path);
    if (length > 0) (void)!syscall(SYS_write, log_file, line, (size_t)length);
  }
  return fails;
}

static int fails_path(const char *op, const char *path) {
  if (!atomic_load(&is_ready) || !is_wanted(op) || !is_below(path) || !meets(op, path)) return 0;
  errno = failure;
  return 1;
}

static int fails_file(const char *op, int file) {
  if (!atomic_load(&is_ready) || !is_wanted(op)) return 0;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (!is_below(path) || !meets(op, path)) return 0;
  errno = failure;
  return 1;
}

static off_t size_of(int file) {
  struct stat found;
  return syscall(SYS_fstat, file, &found) == 0 && S_ISREG(found.st_mode) ? found.st_size : LONG_MAX;
}

/* Gives how many bytes may be written; -1 where the write fails. `at`: -1 for the place of the descriptor. */
static ssize_t allowed(int file, size_t bytes, off_t at) {
  if (!atomic_load(&is_ready)) return (ssize_t)bytes;
  int saved = errno;
  off_t from = at >= 0 ? at : lseek(file, 0, SEEK_CUR);
  int fails = fails_file("write", file);
  if (!fails && is_wanted("grow") && from >= 0 && from + (off_t)bytes > size_of(file)) fails = fails_file("grow", file);
  if (fails && mode != SHORT) return -1;
  errno = saved;
  return fails && bytes > 1 ? (ssize_t)(bytes / 2) : (ssize_t)bytes;
}

/* opening */

#define MODE_OF(flags) \
  mode_t rights = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    rights = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags)
  return fails_path("open", path) ? -1 : REAL(open)(path, flags, rights);
}
int open64(const char *path, int flags, ...) {
  MODE_OF(flags)
  return fails_path("open", path) ? -1 : REAL(open64)(path, flags, rights);
}
int openat(int at, const char *path, int flags, ...) {
  MODE_OF(flags)
  return fails_path("open", path) ? -1 : REAL(openat)(at, path, flags, rights);
}
int openat64(int at, const char *path, int flags, ...) {
  MODE_OF(flags)
  return fails_path("open", path) ? -1 : REAL(openat64)(at, path, flags, rights);
}

/* writing */

ssize_t write(int file, const void *bytes, size_t length) {
  ssize_t most = allowed(file, length, -1);
  return most < 0 ? -1 : REAL(write)(file, bytes, (size_t)most);
}
ssize_t pwrite(int file, const void *bytes, size_t length, off_t at) {
  ssize_t most = allowed(file, length, at);
  return most < 0 ? -1 : REAL(pwrite)(file, bytes, (size_t)most, at);
}
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
  ssize_t most = allowed(file, length, at);
  return most < 0 ? -1 : REAL(pwrite64)(file, bytes, (size_t)most, at);
}

static size_t length_of(const struct iovec *parts, int count) {
  size_t length = 0;
  for (int part = 0; part < count; part++) length += parts[part].iov_len;
  return length;
}

/* A short write of several parts writes half of the first. */
ssize_t writev(int file, const struct iovec *parts, int count) {
  size_t length = length_of(parts, count);
  ssize_t most = allowed(file, length, -1);
  if (most < 0) return -1;
  if ((size_t)most == length) return REAL(writev)(file, parts, count);
  return REAL(write)(file, parts[0].iov_base, (parts[0].iov_len + 1) / 2);
}
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at) {
  size_t length = length_of(parts, count);
  ssize_t most = allowed(file, length, at);
  if (most < 0) return -1;
  if ((size_t)most == length) return REAL(pwritev)(file, parts, count, at);
  return REAL(pwrite)(file, parts[0].iov_base, (parts[0].iov_len + 1) / 2, at);
}
ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t at) {
  size_t length = length_of(parts, count);
  ssize_t most = allowed(file, length, at);
  if (most < 0) return -1;
  if ((size_t)most == length) return REAL(pwritev64)(file, parts, count, at);
  return REAL(pwrite64)(file, parts[0].iov_base, (parts[0].iov_len + 1) / 2, at);
}

static int cannot_grow(int file, off_t to) {
  return atomic_load(&is_ready) && is_wanted("grow") && to > size_of(file) && fails_file("grow", file);
}
int ftruncate(int file, off_t to) {
  return fails_file("truncate", file) || cannot_grow(file, to) ? -1 : REAL(ftruncate)(file, to);
}
int ftruncate64(int file, off64_t to) {
  return fails_file("truncate", file) || cannot_grow(file, to) ? -1 : REAL(ftruncate64)(file, to);
}
/* Answers with the error instead of setting it. */
int posix_fallocate(int file, off_t from, off_t length) {
  if (fails_file("truncate", file) || cannot_grow(file, from + length)) return failure;
  return REAL(posix_fallocate)(file, from, length);
}
int posix_fallocate64(int file, off64_t from, off64_t length) {
  if (fails_file("truncate", file) || cannot_grow(file, from + length)) return failure;
  return REAL(posix_fallocate64)(file, from, length);
}

/* flushing */

static int flushed(int file, int result) {
  char link[64], path[PATH_MAX];
  if (!atomic_load(&is_ready) || !is_wanted("cut") || size_of(file) <= 32) return result;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (length < 4 || memcmp(path + length - 4, "-wal", 4) != 0) return result;
  if (fails_file("cut", file)) syscall(SYS_ftruncate, file, 0);
  return result;
}
int fsync(int file) { return fails_file("fsync", file) ? -1 : flushed(file, REAL(fsync)(file)); }
int fdatasync(int file) { return fails_file("fsync", file) ? -1 : flushed(file, REAL(fdatasync)(file)); }

/* names */

int rename(const char *from, const char *to) { return fails_path("rename", to) ? -1 : REAL(rename)(from, to); }
int renameat(int a, const char *from, int b, const char *to) {
  return fails_path("rename", to) ? -1 : REAL(renameat)(a, from, b, to);
}
int unlink(const char *path) { return fails_path("unlink", path) ? -1 : REAL(unlink)(path); }
int unlinkat(int at, const char *path, int flags) {
  return fails_path("unlink", path) ? -1 : REAL(unlinkat)(at, path, flags);
}
int remove(const char *path) { return fails_path("unlink", path) ? -1 : REAL(remove)(path); }
int link(const char *from, const char *to) { return fails_path("link", to) ? -1 : REAL(link)(from, to); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
  return fails_path("link", to) ? -1 : REAL(linkat)(a, from, b, to, flags);
}
int mkdir(const char *path, mode_t rights) { return fails_path("mkdir", path) ? -1 : REAL(mkdir)(path, rights); }

/* reading and looking */

ssize_t read(int file, void *bytes, size_t length) {
  return fails_file("read", file) ? -1 : REAL(read)(file, bytes, length);
}
ssize_t pread(int file, void *bytes, size_t length, off_t at) {
  return fails_file("read", file) ? -1 : REAL(pread)(file, bytes, length, at);
}
ssize_t pread64(int file, void *bytes, size_t length, off64_t at) {
  return fails_file("read", file) ? -1 : REAL(pread64)(file, bytes, length, at);
}
int stat(const char *restrict path, struct stat *restrict found) {
  return fails_path("stat", path) ? -1 : REAL(stat)(path, found);
}
int stat64(const char *restrict path, struct stat64 *restrict found) {
  return fails_path("stat", path) ? -1 : REAL(stat64)(path, found);
}
int lstat(const char *restrict path, struct stat *restrict found) {
  return fails_path("stat", path) ? -1 : REAL(lstat)(path, found);
}
int lstat64(const char *restrict path, struct stat64 *restrict found) {
  return fails_path("stat", path) ? -1 : REAL(lstat64)(path, found);
}
int fstat(int file, struct stat *found) { return fails_file("stat", file) ? -1 : REAL(fstat)(file, found); }
int fstat64(int file, struct stat64 *found) { return fails_file("stat", file) ? -1 : REAL(fstat64)(file, found); }
/* libuv looks at files this way. */
long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long input[6];
  for (int at = 0; at < 6; at++) input[at] = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_statx && atomic_load(&is_ready)) {
    const char *path = (const char *)input[1];
    if (path != NULL && path[0] != 0 ? fails_path("stat", path) : fails_file("stat", (int)input[0])) return -1;
  }
  return REAL(syscall)(number, input[0], input[1], input[2], input[3], input[4], input[5]);
}

/* Only the locks: other uses of fcntl work as they are. */
#define LOCKING(command) ((command) == F_SETLK || (command) == F_SETLKW || (command) == F_OFD_SETLK)

int fcntl(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void *value = va_arg(rest, void *);
  va_end(rest);
  if (LOCKING(command) && ((struct flock *)value)->l_type != F_UNLCK && fails_file("lock", file)) return -1;
  return REAL(fcntl)(file, command, value);
}
int fcntl64(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void *value = va_arg(rest, void *);
  va_end(rest);
  if (LOCKING(command) && ((struct flock *)value)->l_type != F_UNLCK && fails_file("lock", file)) return -1;
  return REAL(fcntl64)(file, command, value);
}
void *mmap(void *at, size_t length, int rights, int flags, int file, off_t from) {
  if (file >= 0 && fails_file("map", file)) return MAP_FAILED;
  return REAL(mmap)(at, length, rights, flags, file, from);
}
void *mmap64(void *at, size_t length, int rights, int flags, int file, off64_t from) {
  if (file >= 0 && fails_file("map", file)) return MAP_FAILED;
  return REAL(mmap64)(at, length, rights, flags, file, from);
}
