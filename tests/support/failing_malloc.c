/*
 * A library to preload: it makes the n-th allocation of the C core fail, and counts the blocks
 * that the core has allocated and not freed. The core is identified by the caller's address.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static uintptr_t first, last;
static atomic_long asked, held, failing;

/* Set the addresses of the core, [from, to). */
void watch(uintptr_t from, uintptr_t to) {
    first = from;
    last = to;
}

/* Restart counting, and make the n-th allocation fail; 0: none. */
void fail(long n) {
    asked = 0;
    failing = n;
}

long n_asked(void) { return asked; }
long n_held(void) { return held; }

static int of_core(const void *caller) {
    return (uintptr_t)caller >= first && (uintptr_t)caller < last;
}

static int refused(const void *caller) {
    return of_core(caller) && atomic_fetch_add(&asked, 1) + 1 == failing;
}

static void *given(void *block, const void *caller) {
    if (block && of_core(caller))
        atomic_fetch_add(&held, 1);
    return block;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size) {
    return refused(CALLER) ? NULL : given(__libc_malloc(size), CALLER);
}

void *calloc(size_t n, size_t size) {
    return refused(CALLER) ? NULL : given(__libc_calloc(n, size), CALLER);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    void *found = refused(CALLER) ? NULL : given(__libc_memalign(alignment, size), CALLER);
    if (!found)
        return ENOMEM;
    *block = found;
    return 0;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return refused(CALLER) ? NULL : given(__libc_memalign(alignment, size), CALLER);
}

void free(void *block) {
    if (block && of_core(CALLER))
        atomic_fetch_sub(&held, 1);
    __libc_free(block);
}
