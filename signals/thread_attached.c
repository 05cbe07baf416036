/* SPDX-License-Identifier: MIT */
/* A thread that attaches itself before it goes on to its start function. */
#include "signals/runtime.h"

#include <stdlib.h>

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

int cs_create_attached(cs_create_function *next, pthread_t *thread, const pthread_attr_t *attributes,
                       void *(*run)(void *), void *argument)
{
    struct start *s = malloc(sizeof *s);
    if (!s)
        return next(thread, attributes, run, argument); /* without a line rather than not at all */
    *s = (struct start){run, argument};
    const int rc = next(thread, attributes, begin, s);
    if (rc != 0)
        free(s);
    return rc;
}
