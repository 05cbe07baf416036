/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that isn't linked with the library and loads it late: threads that were there before attach
 * themselves. signals_dlopen LIBRARY */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile uint64_t *(*attach)(void);
static volatile int go, done;

static void *early(void *argument)
{
    while (!go)
        usleep(100);
    attach()[4] = 22;
    done = 1;
    pause();
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 2 || pthread_create(&thread, NULL, early, NULL) != 0)
        return 2;
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    unsigned (*define)(unsigned, const char *, unsigned);
    *(void **)&define = dlsym(library, "cs_define");
    *(void **)&attach = dlsym(library, "cs_attach");
    if (define(0xffffffffu, "late", 1) != 4)
        return 1;
    attach()[4] = 11;
    dlclose(library); /* stays: the library is marked so */
    go = 1;
    while (!done)
        usleep(100);
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
