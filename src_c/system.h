/* What we ask of the operating system beside memory: where threads run, and pages in advance.
 * Elsewhere than on Linux nothing, and threads stay where they are in builds of Python without
 * its GIL: there one might have ended before it can be kept off a processor. */
#ifndef NNK_SYSTEM_H
#define NNK_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#if defined(__linux__) && !defined(Py_GIL_DISABLED)

/* The one this thread is on; -1 where the system does not tell. */
static int nnk_current_processor(void) { return sched_getcpu(); }

/* Keep a thread off a processor, if this one may use others.  The thread must not have ended. */
static void nnk_keep_off(unsigned long thread, int processor)
{
    cpu_set_t allowed;
    if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    CPU_CLR(processor, &allowed);
    if (CPU_COUNT(&allowed))
        pthread_setaffinity_np((pthread_t)thread, sizeof allowed, &allowed);
}

#else
static int nnk_current_processor(void) { return -1; }
static void nnk_keep_off(unsigned long thread, int processor) { (void)thread, (void)processor; }
#endif

/* Have the pages that lie wholly in some memory, as if it were written to; its bytes stay.
 * A wish: where it is not granted they come when they are first written to. */
static void nnk_populate(void *memory, size_t n_bytes)
{
#ifdef __linux__
    const int populate_write = 23; /* MADV_POPULATE_WRITE, which older headers lack */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)memory;
    const uintptr_t first = (start + page - 1) / page * page, end = (start + n_bytes) / page * page;
    if (first < end)
        (void)madvise((void *)first, end - first, populate_write);
#else
    (void)memory, (void)n_bytes;
#endif
}

#endif
