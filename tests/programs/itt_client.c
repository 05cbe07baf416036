/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that calls the ITT API as programs do: its static part (written from the interface, independent of
 * signals/itt) loads what INTEL_LIBITTNOTIFY64 names. Tasks of three kinds, nested, by turns of random length, in a
 * frame, and a counter. Its reference is on standard output: turns of one loop in each task, without nested ones.
 *
 *      itt_client [SECONDS]          "task outer 0.301234" lines: shares of all turns
 *      itt_client --cost             ns of a begin and end: without a collector's function, and as loaded
 *      itt_client --map              also reports one JIT method to INTEL_JIT_PROFILER64 and prints its line */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct id {
    unsigned long long d1, d2, d3;
};
struct domain {
    volatile int flags;
    const char *name;
};
struct string;
struct function {
    const char *name;
    void **pointer;
    void *first, *none;
    int group;
};
struct global {
    unsigned char magic[8];
    unsigned long major, minor, build;
    volatile long initialised, mutex_initialised, counter;
    pthread_mutex_t mutex;
    void *library, *handler;
    const char **path;
    struct function *functions;
};

static struct domain *(*domain_create)(const char *);
static struct string *(*string_handle_create)(const char *);
static void (*task_begin)(const struct domain *, struct id, struct id, struct string *);
static void (*task_end)(const struct domain *);
static void (*frame_begin)(const struct domain *, struct id *);
static void (*frame_end)(const struct domain *, struct id *);
static void *(*counter_create)(const char *, const char *);
static void (*counter_inc_delta)(void *, unsigned long long);
static void (*thread_set_name)(const char *);
static void (*heap_record)(unsigned); /* of the interface, but unknown to most collectors */

static struct function functions[] = {
    {"__itt_domain_create", (void **)&domain_create, NULL, NULL, 1},
    {"__itt_string_handle_create", (void **)&string_handle_create, NULL, NULL, 1},
    {"__itt_task_begin", (void **)&task_begin, NULL, NULL, 1},
    {"__itt_task_end", (void **)&task_end, NULL, NULL, 1},
    {"__itt_frame_begin_v3", (void **)&frame_begin, NULL, NULL, 1},
    {"__itt_frame_end_v3", (void **)&frame_end, NULL, NULL, 1},
    {"__itt_counter_create", (void **)&counter_create, NULL, NULL, 1},
    {"__itt_counter_inc_delta", (void **)&counter_inc_delta, NULL, NULL, 1},
    {"__itt_thread_set_name", (void **)&thread_set_name, NULL, NULL, 1},
    {"__itt_heap_record", (void **)&heap_record, NULL, NULL, 1},
    {NULL, NULL, NULL, NULL, 0},
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void spin(unsigned n)
{
    for (volatile unsigned i = 0; i < n; i++)
        ;
}

static int load(void)
{
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    void (*init)(struct global *, int) =
        library ? (void (*)(struct global *, int))dlsym(library, "__itt_api_init") : NULL;
    static struct global global = {.major = 3, .functions = functions};
    if (!init)
        return fprintf(stderr, "no collector in INTEL_LIBITTNOTIFY64: %s\n", path ? dlerror() : "not set"), 1;
    init(&global, -1);
    return heap_record != NULL; /* what a collector doesn't know stays as it was */
}

static double cost(const struct domain *domain, struct string *name, unsigned n)
{
    const struct id none = {0, 0, 0};
    double start = seconds();
    for (unsigned i = 0; i < n; i++) {
        if (task_begin)
            task_begin(domain, none, none, name);
        __asm__ volatile("" ::: "memory");
        if (task_end)
            task_end(domain);
    }
    return (seconds() - start) / n * 1e9;
}

static int costs(void)
{
    double least[2] = {1e9, 1e9};
    for (unsigned round = 0; round < 31; round++) {
        void (*begin)(const struct domain *, struct id, struct id, struct string *) = task_begin;
        void (*end)(const struct domain *) = task_end;
        struct domain *domain = domain_create("cost");
        struct string *name = string_handle_create("work");
        double loaded = cost(domain, name, 200000);
        task_begin = NULL;
        task_end = NULL;
        double bare = cost(domain, name, 200000);
        task_begin = begin;
        task_end = end;
        least[0] = bare < least[0] ? bare : least[0];
        least[1] = loaded < least[1] ? loaded : least[1];
    }
    printf("bare %.3f\nloaded %.3f\n", least[0], least[1]);
    return 0;
}

static int report_method(void)
{
    struct {
        unsigned id;
        const char *name;
        void *code;
        unsigned size;
        unsigned rest[32];
    } method = {1, "Shop.price (shop.js:12)", (void *)spin, 64, {0}};
    const char *path = getenv("INTEL_JIT_PROFILER64");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*notify)(int, const void *) =
        library ? (int (*)(int, const void *))dlsym(library, "NotifyEvent") : NULL;
    if (!notify || notify(13, &method) != 1)
        return 1;
    char map[64], line[256];
    snprintf(map, sizeof map, "/tmp/perf-%d.map", (int)getpid());
    FILE *f = fopen(map, "r");
    if (!f)
        return 1;
    unsigned long at = 0;
    int found = 0;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%lx", &at) == 1 && at == (unsigned long)(uintptr_t)spin &&
            strstr(line, method.name))
            found++;
    fclose(f);
    unlink(map);
    return found != 1;
}

int main(int argc, char **argv)
{
    if (load() != 0)
        return 1;
    if (argc > 1 && strcmp(argv[1], "--cost") == 0)
        return costs();
    if (argc > 1 && strcmp(argv[1], "--map") == 0)
        return report_method();
    const struct id none = {0, 0, 0};
    const char *const names[3] = {"outer", "inner", "alone"};
    struct domain *domain = domain_create("shop");
    struct string *handle[3];
    for (unsigned i = 0; i < 3; i++)
        handle[i] = string_handle_create(names[i]);
    if (string_handle_create("outer") != handle[0] || domain_create("shop") != domain)
        return 1;
    void *sold = counter_create("sold", "shop");
    thread_set_name("the shop");
    double end = seconds() + (argc > 1 ? atof(argv[1]) : 2);
    uint64_t in[3] = {0, 0, 0}, random = 88172645463325252ull, n = 0;
    frame_begin(domain, NULL);
    while (seconds() < end) {
        unsigned turn[3];
        for (unsigned i = 0; i < 3; i++) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            turn[i] = 10000 * (3 - i) + (unsigned)(random >> 33) % 20000;
            in[i] += turn[i];
        }
        task_begin(domain, none, none, handle[0]);
        spin(turn[0] / 2);
        task_begin(domain, none, none, handle[1]);
        spin(turn[1]);
        task_end(domain);
        spin(turn[0] - turn[0] / 2);
        task_end(domain);
        task_begin(domain, none, none, handle[2]);
        spin(turn[2]);
        task_end(domain);
        counter_inc_delta(sold, 3);
        n += 3;
    }
    frame_end(domain, NULL);
    double all = (double)(in[0] + in[1] + in[2]);
    for (unsigned i = 0; i < 3; i++)
        printf("task %s %.6f\n", names[i], (double)in[i] / all);
    printf("sold %llu\n", (unsigned long long)n);
    return 0;
}
