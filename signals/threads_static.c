/* SPDX-License-Identifier: MIT */
/* threads.c for libcyclescope-static.a: in a program without a dynamic linker, the static one does the
 * wrapping (-Wl,--wrap=pthread_create). */
#include "signals/runtime.h"

#include <pthread.h>
#include <stdlib.h>

const int cs_threads_wrapped = 0;

struct start {
    void *(*run)(void *);
    void *argument;
};

static void *begin(void *p)
{
    const struct start s = *(struct start *)p;
    free(p);
    cs_attach();
    return s.run(s.argument);
}

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
extern create_function
    __real_pthread_create; /* undefined without the option: better at link time than later */
CS_HIDDEN create_function __wrap_pthread_create;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    struct start *s = malloc(sizeof *s);
    if (!s)
        return __real_pthread_create(thread, attributes, run, argument);
    *s = (struct start){run, argument};
    const int rc = __real_pthread_create(thread, attributes, begin, s);
    if (rc != 0)
        free(s);
    return rc;
}
