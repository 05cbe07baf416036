/* SPDX-License-Identifier: MIT */
/* A thread's line appears by itself. The pthread_create and thrd_create of the program are ours: they attach
 * the new thread and go on to its start function. They call the next ones in the search order, so that other
 * wrappers (sanitizers, a second copy of this library) work too. In a fully static program there is no search
 * order: link with -Wl,--wrap=pthread_create. */
#include "signals/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

typedef int thrd_create_function(thrd_t *, thrd_start_t, void *);

const int cs_threads_wrapped = 1;

struct start {
    thrd_start_t run;
    void *argument;
};

static int begin(void *p)
{
    const struct start s = *(struct start *)p;
    free(p);
    cs_attach();
    return s.run(s.argument);
}

CS_API int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                          void *(*run)(void *), void *restrict argument)
{
    cs_create_function *next;
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return next ? cs_create_attached(next, thread, attributes, run, argument) : EAGAIN;
}

CS_API int thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
    thrd_create_function *next;
    *(void **)&next = dlsym(RTLD_NEXT, "thrd_create");
    struct start *s = next ? malloc(sizeof *s) : NULL;
    if (!s)
        return next ? next(thread, run, argument) : thrd_nomem;
    *s = (struct start){run, argument};
    const int rc = next(thread, begin, s);
    if (rc != thrd_success)
        free(s);
    return rc;
}
