/* Has one allocation of the calling thread fail; to be preloaded. */
#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_realloc(void *block, size_t size);

static __thread long left;

/* The `count`-th allocation from now on fails; with 0, none. Returns how many were left until then. */
long fail_after(long count) {
  const long before = left;
  left = count;
  return before;
}

static int fails(void) { return left > 0 && --left == 0; }

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *realloc(void *block, size_t size) { return fails() ? NULL : __libc_realloc(block, size); }
