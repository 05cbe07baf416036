/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that work on requests and report it by a writer of OpenTelemetry's thread context. The writer is cyclescope's
 * own or another one, linked or (WRITER in the environment: a shared object) loaded at run time. Each route is worked
 * on in a function of its own, so where a sample lies says what its attribute must be.
 *
 *      work SECONDS THREADS   works until a reader has had time to know the program, then each thread so long (CPU time); prints
 *                             "route NAME NS": CPU time of all threads; "none": with nothing attached
 *      work hold              threads attach, print "thread TID WHAT", and wait: for a reader */
#include "tests/otel/writer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURNS 400000
#define ROUTES 4
#define LATE "late.key"

static struct writer writer;
static double seconds;
static int route_key, tenant_key;
static volatile unsigned long sink;

static unsigned long long thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

#define WORK(name, rounds)                                                                                   \
    void name(void);                                                                                         \
    __attribute__((noipa)) void name(void)                                                                   \
    {                                                                                                        \
        unsigned long x = 1;                                                                                 \
        for (unsigned long i = 0; i < (rounds) * (unsigned long)TURNS; i++) {                                \
            x = x * 2862933555777941757u + 3037000493u;                                                      \
            __asm__ volatile("" : "+r"(x));                                                                  \
        }                                                                                                    \
        sink += x;                                                                                           \
    }
WORK(work_cart, 1)
WORK(work_pay, 2)
WORK(work_search, 3)
WORK(work_none, 2)

static const struct {
    const char *route;
    void (*work)(void);
} routes[ROUTES] = {{"/cart", work_cart}, {"/pay", work_pay}, {"/search", work_search}, {NULL, work_none}};

static unsigned long long spent[ROUTES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Half a second of wall-clock time, however little of it one has a CPU. */
static void warm_up(void)
{
    struct timespec end, now;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += 500000000;
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - end.tv_sec) * 1000000000L < end.tv_nsec - now.tv_nsec);
}

static void *serve(void *number)
{
    unsigned long long mine[ROUTES] = {0};
    unsigned request = (unsigned)(size_t)number * 1000003u;
    char tenant[32];
    do {
        for (unsigned r = 0; r < ROUTES; r++) {
            const unsigned long long before = thread_ns();
            snprintf(tenant, sizeof tenant, "tenant-%u", ++request % 3);
            if (routes[r].route)
                writer.attach(request,
                              (struct writer_attribute[]){{route_key, routes[r].route}, {tenant_key, tenant}},
                              2);
            routes[r].work();
            writer.detach();
            mine[r] += thread_ns() - before;
        }
    } while ((double)thread_ns() / 1e9 < seconds);
    pthread_mutex_lock(&lock);
    for (unsigned r = 0; r < ROUTES; r++)
        spent[r] += mine[r];
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* What each thread shows a reader, by its number. */
static void *hold(void *which)
{
    static char longest[256];
    memset(longest, 'x', 255);
    const char *what = which;
    if (strcmp(what, "two") == 0)
        writer.attach(7, (struct writer_attribute[]){{route_key, "/cart"}, {tenant_key, "é-1"}}, 2);
    else if (strcmp(what, "again") == 0)
        writer.attach(
            8, (struct writer_attribute[]){{route_key, "/old"}, {tenant_key, "t"}, {route_key, "/new"}}, 3);
    else if (strcmp(what, "longest") == 0)
        writer.attach(9, (struct writer_attribute[]){{route_key, longest}}, 1);
    else if (strcmp(what, "late") == 0)
        writer.attach(10, (struct writer_attribute[]){{writer.key(LATE), "new"}}, 1);
    else if (strcmp(what, "bare") == 0)
        writer.attach(11, NULL, 0);
    else if (strcmp(what, "left") == 0) {
        writer.attach(12, NULL, 0);
        writer.detach();
    }
    printf("thread %ld %s\n", syscall(SYS_gettid), what);
    fflush(stdout);
    for (;;)
        pause();
    return NULL;
}

static int start(unsigned n, void *(*run)(void *), void *const *arguments)
{
    pthread_t thread[64];
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, run, arguments[i]) != 0)
            return 1;
    for (unsigned i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    static char *const shown[] = {"never", "two", "again", "longest", "late", "bare", "left"};
    void *numbers[64];
    if (getenv("WRITER")) {
        void *library = dlopen(getenv("WRITER"), RTLD_NOW);
        const struct writer *(*loaded)(void) =
            library ? (const struct writer *(*)(void))dlsym(library, "writer_of") : NULL;
        if (!loaded) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        writer = *loaded();
    } else {
        writer = *writer_of();
    }
    writer.key("unused");
    route_key = writer.key("http.route");
    tenant_key = writer.key("tenant");
    if (route_key < 0 || tenant_key < 0)
        return 3;
    if (argc == 2)
        return start(sizeof shown / sizeof *shown, hold, (void *const *)shown);
    if (argc != 3)
        return 2;
    seconds = atof(argv[1]);
    writer.attach(1, (struct writer_attribute[]){{route_key, routes[0].route}}, 1);
    writer.detach();
    warm_up();
    unsigned n = (unsigned)atoi(argv[2]);
    for (unsigned i = 0; i < n && i < 64; i++)
        numbers[i] = (void *)(size_t)(i + 1);
    if (start(n < 64 ? n : 64, serve, numbers) != 0)
        return 1;
    for (unsigned r = 0; r < ROUTES; r++)
        printf("route %s %llu\n", routes[r].route ? routes[r].route : "none", spent[r]);
    return 0;
}
