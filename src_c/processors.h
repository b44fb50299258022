/* Which processors threads run on, where the system tells and lets us choose (Linux).
 * Not without Python's GIL: a thread might have ended before it can be kept off a processor. */
#ifndef NNK_PROCESSORS_H
#define NNK_PROCESSORS_H

#if defined(__linux__) && !defined(Py_GIL_DISABLED)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>

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

#endif
