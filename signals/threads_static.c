/* SPDX-License-Identifier: MIT */
/* threads.c for libcyclescope-static.a: in a program without a dynamic linker, the static one does the
 * wrapping (-Wl,--wrap=pthread_create). */
#include "signals/runtime.h"

const int cs_threads_wrapped = 0;

extern cs_create_function
    __real_pthread_create; /* undefined without the option: better at link time than later */
CS_HIDDEN cs_create_function __wrap_pthread_create;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    return cs_create_attached(__real_pthread_create, thread, attributes, run, argument);
}
