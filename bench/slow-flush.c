/* Loaded by LD_PRELOAD: every flush to disk takes SLOW_FLUSH_MS milliseconds longer, as on a slow disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_a_while(void) {
  const char *text = getenv("SLOW_FLUSH_MS");
  long ms = text == NULL ? 0 : atol(text);
  struct timespec pause = {ms / 1000, (ms % 1000) * 1000000};
  if (ms > 0) nanosleep(&pause, NULL);
}

int fsync(int file) {
  wait_a_while();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}
int fdatasync(int file) {
  wait_a_while();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
