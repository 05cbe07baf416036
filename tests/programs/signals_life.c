/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One case of the life of a segment, judged by reading this very process from outside: signals_life CASE.
 * Exit 0 = as it should be. tests/integration/signals-lifecycle.sh runs all of them. */
#include "signals/cyclescope.h"
#include "signals/reader/reader.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static int failures;
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("signals_life.c:%d: not so: %s\n", __LINE__, #condition);                                 \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

static char why[CS_WHY_MAX];

static struct cs_reader *look(pid_t pid)
{
    struct cs_reader *reader = NULL;
    if (cs_reader_open_pid(pid, &reader, why) < 0) {
        printf("process %d: %s\n", (int)pid, why);
        failures++;
        exit(1);
    }
    return reader;
}

/* The thread's view from outside; false if it has no line. */
static bool see(struct cs_reader *reader, pid_t tid, struct cs_seen_thread *out)
{
    for (uint32_t line = 0; line < cs_reader_lines(reader); line++)
        if (cs_reader_thread(reader, line, out) && out->tid == (uint32_t)tid)
            return true;
    return false;
}

static pid_t my_tid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* ---- cases ---- */

static void basics(void)
{
    const cs_signal phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    const cs_signal bytes = cs_define(9, "bytes", CS_COUNTER);
    CHECK(phase == 4 && bytes == 9);
    CHECK(cs_define(CS_ANY_WORD, "phase", CS_TAG) == phase);             /* again: the same */
    CHECK(cs_define(CS_ANY_WORD, "phase", CS_COUNTER) == CS_WORD_SCRAP); /* another kind */
    CHECK(cs_define(9, "other", CS_TAG) == CS_WORD_SCRAP);               /* taken */
    CHECK(cs_define(CS_ANY_WORD, "", CS_TAG) == CS_WORD_SCRAP);
    CHECK(cs_define(CS_ANY_WORD, NULL, CS_TAG) == CS_WORD_SCRAP);
    CHECK(cs_define(15, "x", CS_TAG) == CS_WORD_SCRAP);
    CHECK(cs_name(phase, 7, "seven") == 0 && cs_name(phase, 8, "eight\033[31m\n") == 0);
    CHECK(cs_name(phase, 7, "seven again") == 0 && cs_name(CS_WORD_SCRAP, 1, "x") == -EINVAL);
    cs_set(phase, 7);
    cs_add(bytes, 5);
    cs_add(bytes, UINT64_C(1) << 40);
    cs_set(CS_WORD_SCRAP, 99);

    struct cs_reader *reader = look(getpid());
    struct cs_seen_signal signals[CS_SIGNALS_MAX];
    CHECK(cs_reader_signals(reader, signals) == 2 && strcmp(signals[1].name, "bytes") == 0);
    CHECK(cs_reader_find(reader, "phase") == 4 && cs_reader_find(reader, "nothing") == -ENOENT);
    struct cs_seen_thread me;
    CHECK(see(reader, my_tid(), &me) && me.values[phase] == 7 && me.values[9] == (UINT64_C(1) << 40) + 5);
    CHECK(strcmp(cs_reader_name(reader, phase, 7), "seven again") == 0);
    CHECK(strcmp(cs_reader_name(reader, phase, 8), "eight?[31m?") == 0);
    CHECK(cs_reader_name(reader, phase, 9) == NULL);
    const volatile uint64_t *word = cs_reader_word(reader, me.line, phase);
    cs_set(phase, 8);
    CHECK(*word == 8);
    CHECK(cs_reader_word(reader, CS_LINES_MAX, 0) == NULL && cs_reader_word(reader, 0, 16) == NULL);
    for (unsigned i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%u", i);
        CHECK((cs_define(CS_ANY_WORD, name, CS_TAG) != CS_WORD_SCRAP) == (i < 9)); /* 4 to 14 without two */
    }
    cs_reader_close(reader);
}

static void scoped_early_return(cs_signal phase, bool early)
{
    CS_SCOPE(phase, 3);
    if (early)
        return;
    CS_SCOPE(phase, 4);
    CHECK(cs_get(phase) == 4);
}
static void *cancelled(void *argument)
{
    const cs_signal phase = (cs_signal)(uintptr_t)argument;
    cs_set(phase, 1);
    CS_SCOPE(phase, 5);
    for (;;)
        usleep(1000);
    return NULL;
}
static void scope(void)
{
    const cs_signal phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    cs_set(phase, 2);
    scoped_early_return(phase, true);
    CHECK(cs_get(phase) == 2);
    scoped_early_return(phase, false);
    CHECK(cs_get(phase) == 2);
    for (unsigned i = 0; i < 3; i++) {
        CS_SCOPE(phase, 10 + i);
        if (i == 1)
            continue;
        CHECK(cs_get(phase) == 10 + i);
    }
    CHECK(cs_get(phase) == 2);
    pthread_t thread;
    pthread_create(&thread, NULL, cancelled, (void *)(uintptr_t)phase);
    usleep(5000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
}

static cs_signal job;
static pthread_barrier_t all_here, looked;
static void *pooled(void *argument)
{
    cs_set(job, (uintptr_t)argument);
    pthread_barrier_wait(&all_here);
    pthread_barrier_wait(&looked);
    return NULL;
}
static void start(pthread_t *threads, unsigned n)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384 + 65536);
    pthread_barrier_init(&all_here, NULL, n + 1);
    pthread_barrier_init(&looked, NULL, n + 1);
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&threads[i], &small, pooled, (void *)(uintptr_t)(i + 1)) != 0) {
            printf("no more threads than %u here: skipped\n", i);
            exit(77);
        }
    pthread_barrier_wait(&all_here);
}
static void finish(pthread_t *threads, unsigned n)
{
    pthread_barrier_wait(&looked);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* 20 waves of 200 threads: each has a line of its own while it lives, and lines are used again. */
static void pools(void)
{
    enum { N = 200 };
    pthread_t threads[N];
    job = cs_define(CS_ANY_WORD, "job", CS_TAG);
    struct cs_reader *reader = look(getpid());
    static struct cs_seen_thread seen[N + 10];
    for (unsigned wave = 0; wave < 20; wave++) {
        start(threads, N);
        uint64_t sum = 0;
        const unsigned n = cs_reader_threads(reader, seen, N + 10);
        CHECK(n == N + 1);
        for (unsigned i = 0; i < n && i < N + 10; i++)
            sum += seen[i].values[job];
        CHECK(sum == N * (N + 1) / 2);
        finish(threads, N);
        CHECK(cs_reader_threads(reader, seen, N + 10) == 1);
    }
    CHECK(cs_reader_lines(reader) <= N + 1);
    cs_reader_close(reader);
}

/* More threads than lines: those without one run on, and lines come back. */
static void thousands(void)
{
    enum { N = CS_LINES_MAX + 100 };
    static pthread_t threads[N];
    job = cs_define(CS_ANY_WORD, "job", CS_TAG);
    struct cs_reader *reader = look(getpid());
    start(threads, N);
    CHECK(cs_reader_threads(reader, NULL, 0) == CS_LINES_MAX);
    CHECK(cs_reader_lines_lost(reader) == N + 1 - CS_LINES_MAX);
    finish(threads, N);
    CHECK(cs_reader_threads(reader, NULL, 0) == 1);
    start(threads, 10);
    CHECK(cs_reader_threads(reader, NULL, 0) == 11);
    finish(threads, 10);
    cs_reader_close(reader);
}

static int thrd(void *argument)
{
    struct cs_seen_thread me;
    struct cs_reader *reader = look(getpid());
    CHECK(see(reader, my_tid(), &me));
    cs_reader_close(reader);
    (void)argument;
    return 5;
}
static void c11_threads(void)
{
    thrd_t t;
    int result = 0;
    CHECK(thrd_create(&t, thrd, NULL) == thrd_success && thrd_join(t, &result) == thrd_success &&
          result == 5);
}

static void forked_child(cs_signal phase, const volatile uint64_t *line)
{
    CHECK(line == cs_line); /* the same address: compiled code may hold it */
    CHECK(cs_get(phase) == 1);
    cs_set(phase, 2);
    struct cs_reader *reader = look(getpid());
    struct cs_seen_thread me;
    CHECK(see(reader, my_tid(), &me) && me.values[phase] == 2);
    CHECK(cs_reader_threads(reader, NULL, 0) == 1);
    CHECK(strcmp(cs_reader_name(reader, phase, 1), "one") == 0);
    CHECK(cs_name(phase, 2, "two") == 0 && strcmp(cs_reader_name(reader, phase, 2), "two") == 0);
    CHECK(cs_define(CS_ANY_WORD, "phase", CS_TAG) == phase);
    cs_reader_close(reader);
    exit(failures != 0);
}
static void *idle(void *argument)
{
    sem_post(argument); /* its line is there */
    pause();
    return argument;
}
static void forks(void)
{
    const cs_signal phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    cs_name(phase, 1, "one");
    cs_set(phase, 1);
    pthread_t other;
    sem_t begun;
    sem_init(&begun, 0, 0);
    pthread_create(&other, NULL, idle, &begun);
    while (sem_wait(&begun) != 0)
        ;
    const volatile uint64_t *line = cs_line;
    struct cs_reader *reader = look(getpid());
    for (unsigned i = 0; i < 20; i++) {
        int status;
        const pid_t pid = fork();
        if (pid == 0)
            forked_child(phase, line);
        waitpid(pid, &status, 0);
        CHECK(status == 0);
    }
    struct cs_seen_thread me;
    CHECK(see(reader, my_tid(), &me) && me.values[phase] == 1); /* no child wrote here */
    CHECK(cs_reader_threads(reader, NULL, 0) == 2);
    CHECK(cs_reader_name(reader, phase, 2) == NULL);
    cs_reader_close(reader);
}

/* A fork that runs no handlers: the reader refuses to take the parent's segment for the child's. */
static void raw_fork(void)
{
    int status;
    const pid_t pid = (pid_t)syscall(SYS_fork);
    if (pid == 0) {
        struct cs_reader *reader;
        const int rc = cs_reader_open_pid((pid_t)syscall(SYS_getpid), &reader, why);
        _exit(rc == -ENOENT && strstr(why, "parent's segment") ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    CHECK(status == 0);
}

static void exec_into(const char *self, char *stage)
{
    execl(self, self, stage, NULL);
    _exit(9);
}
static void execs(const char *self)
{
    int status, pipes[2];
    CHECK(pipe(pipes) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        cs_define(CS_ANY_WORD, "before", CS_TAG);
        dup2(pipes[1], 1);
        exec_into(self, "exec-second");
    }
    char byte;
    CHECK(read(pipes[0], &byte, 1) == 1);
    struct cs_reader *reader = look(pid);
    CHECK(cs_reader_find(reader, "before") == -ENOENT && cs_reader_find(reader, "after") >= 0);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    CHECK(cs_reader_find(reader, "after") >= 0); /* what was mapped stays */
    cs_reader_close(reader);
    CHECK(cs_reader_open_pid(pid, &reader, why) == -ESRCH);
}
static void exec_second(void)
{
    cs_define(CS_ANY_WORD, "after", CS_TAG);
    CHECK(write(1, "x", 1) == 1);
    pause();
}

/* A second copy of the library (the shared one, this program has the static one). */
static cs_signal (*other_define)(cs_signal, const char *, unsigned);
static volatile uint64_t *(*other_attach)(void);
static void *both(void *argument)
{
    CHECK(other_attach() == cs_line);
    cs_set(job, 77);
    *(unsigned *)argument = 1;
    return NULL;
}
static void two_copies(void)
{
    job = cs_define(CS_ANY_WORD, "job", CS_TAG);
    char path[4096];
    snprintf(path, sizeof path, "%s/libcyclescope.so", getenv("BUILD") ? getenv("BUILD") : "build");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        printf("%s\n", dlerror());
    CHECK(library);
    if (!library)
        return;
    *(void **)&other_define = dlsym(library, "cs_define");
    *(void **)&other_attach = dlsym(library, "cs_attach");
    CHECK(other_define != cs_define);
    CHECK(other_define(CS_ANY_WORD, "job", CS_TAG) == job);
    CHECK(other_attach() == cs_line);
    struct cs_reader *reader = look(getpid());
    unsigned done = 0;
    for (unsigned i = 0; i < 50; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, both, &done);
        pthread_join(thread, NULL);
    }
    CHECK(done == 1 && cs_reader_threads(reader, NULL, 0) == 1 && cs_reader_lines(reader) <= 3);
    cs_set(job, 5);
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
        CHECK(cs_get(job) == 5 && other_attach() == cs_line);
        cs_set(job, 6);
        struct cs_reader *mine = look(getpid());
        struct cs_seen_thread me;
        CHECK(see(mine, my_tid(), &me) && me.values[job] == 6 && cs_reader_threads(mine, NULL, 0) == 1);
        exit(failures != 0);
    }
    waitpid(pid, &status, 0);
    struct cs_seen_thread me;
    CHECK(status == 0 && see(reader, my_tid(), &me) && me.values[job] == 5);
    cs_reader_close(reader);
}

/* The parent writes its next tag before the child's fork handlers run: the child still starts with the tag
 * of the fork. Registered before the library registers its own, so that in the child this one runs first. */
static int parent_went_on[2] = {-1, -1};
static void wait_for_parent(void)
{
    char byte;
    if (parent_went_on[0] >= 0 && read(parent_went_on[0], &byte, 1) != 1)
        _exit(9);
}
static void before_all_constructors(void)
{
    pthread_atfork(NULL, NULL, wait_for_parent);
}
__attribute__((section(".preinit_array"),
               used)) static void (*const first_of_all)(void) = before_all_constructors;

static void fork_parent_ahead(void)
{
    const cs_signal phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    CHECK(pipe(parent_went_on) == 0);
    cs_set(phase, 1);
    const pid_t pid = fork();
    if (pid == 0) {
        CHECK(cs_get(phase) == 1);
        struct cs_reader *reader = look(getpid());
        struct cs_seen_thread me;
        CHECK(see(reader, my_tid(), &me) && me.values[phase] == 1);
        exit(failures != 0);
    }
    cs_set(phase, 2);
    CHECK(write(parent_went_on[1], "x", 1) == 1);
    int status;
    waitpid(pid, &status, 0);
    CHECK(status == 0 && cs_get(phase) == 2);
}

/* The child can't have a file of its own: it goes on in private memory, and nothing of it reaches the
 * parent's line. */
static void fork_no_file(void)
{
    const cs_signal phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    cs_name(phase, 1, "one");
    cs_set(phase, 1);
    const struct rlimit none = {4096, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
    const volatile uint64_t *line = cs_line;
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(20); /* ends it where it would wait for ever */
        CHECK(cs_line == line && cs_get(phase) == 1);
        cs_set(phase, 2);
        cs_add(9, 3);
        CHECK(cs_get(phase) == 2 && cs_get(9) == 3);
        CHECK(cs_define(CS_ANY_WORD, "phase", CS_TAG) == phase);
        pthread_t thread;
        unsigned done = 0;
        other_attach = cs_attach;
        job = phase;
        CHECK(pthread_create(&thread, NULL, both, &done) == 0 && pthread_join(thread, NULL) == 0 &&
              done == 1);
        CHECK(cs_get(phase) == 2);
        struct cs_reader *reader;
        CHECK(cs_reader_open_pid(getpid(), &reader, why) == -ENOENT);
        exit(failures != 0);
    }
    int status;
    waitpid(pid, &status, 0);
    struct cs_reader *reader = look(getpid());
    struct cs_seen_thread me;
    CHECK(status == 0 && see(reader, my_tid(), &me) && me.values[phase] == 1 && me.values[9] == 0);
    CHECK(cs_get(phase) == 1);
    cs_reader_close(reader);
}

/* The program closes every descriptor: root still finds the segment among its mappings. */
static void closed_descriptors(void)
{
    const cs_signal phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    cs_set(phase, 3);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    struct cs_reader *reader;
    const int rc = cs_reader_open_pid(getpid(), &reader, why);
    CHECK(rc == (geteuid() == 0 ? 0 : -EACCES));
    if (rc == 0) {
        struct cs_seen_thread me;
        CHECK(see(reader, my_tid(), &me) && me.values[phase] == 3);
        cs_reader_close(reader);
    }
    const int fd = open("/dev/null", O_RDONLY); /* may take the number that the segment had */
    const pid_t pid = fork();
    if (pid == 0)
        _exit(fcntl(fd, F_GETFD) < 0); /* the child's handler must not close what isn't its own */
    int status;
    waitpid(pid, &status, 0);
    CHECK(status == 0);
}

/* Nothing can be published: all calls answer, the program goes on. */
static void private(void)
{
    CHECK(cs_open() < 0);
    const cs_signal phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    CHECK(cs_name(phase, 1, "one") < 0);
    cs_set(phase, 12);
    CHECK(cs_get(phase) == 12);
    pthread_t thread;
    unsigned done = 0;
    other_attach = cs_attach;
    job = phase;
    CHECK(pthread_create(&thread, NULL, both, &done) == 0 && pthread_join(thread, NULL) == 0 && done == 1);
    CHECK(cs_get(phase) == 12);
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
        cs_set(phase, 13);
        alarm(20); /* ends it where the fork's lock is still held: the holder isn't in this process */
        CHECK(cs_define(CS_ANY_WORD, "phase", CS_TAG) == phase);
        CHECK(pthread_create(&thread, NULL, both, &done) == 0 && pthread_join(thread, NULL) == 0);
        _exit(cs_get(phase) != 13 || failures != 0);
    }
    waitpid(pid, &status, 0);
    CHECK(status == 0 && cs_get(phase) == 12);
    struct cs_reader *reader;
    CHECK(cs_reader_open_pid(getpid(), &reader, why) == -ENOENT);
}

/* Not even private memory: everything goes to the sink. */
static void *sets(void *argument)
{
    cs_set(job, 1);
    return argument;
}
static void no_memory(void)
{
    pthread_t thread;
    CHECK(cs_open() < 0);
    job = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    CHECK(job == CS_WORD_SCRAP && cs_name(job, 1, "one") < 0);
    cs_set(job, 12);
    cs_add(job, 12);
    CHECK(pthread_create(&thread, NULL, sets, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

/* Killed while it registers names: the reader sees whole names only. */
static int whole(unsigned signal, uint64_t value, const char *name, void *arg)
{
    char expected[64];
    snprintf(expected, sizeof expected, "name of value %llu", (unsigned long long)value);
    *(uint64_t *)arg += strcmp(name, expected) == 0 && signal == 4;
    return strcmp(name, expected) == 0 ? 0 : 1;
}
static void killed_registering(void)
{
    for (unsigned i = 0; i < 15; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            const cs_signal phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
            for (uint64_t value = 0;; value++) {
                char name[64];
                snprintf(name, sizeof name, "name of value %llu", (unsigned long long)value);
                cs_name(phase, value, name);
            }
        }
        struct cs_reader *reader = NULL;
        for (unsigned tries = 0; tries < 1000 && cs_reader_open_pid(pid, &reader, why) < 0; tries++)
            usleep(1000); /* until the child has its own */
        CHECK(reader);
        if (!reader)
            return;
        uint64_t n = 0;
        for (unsigned tries = 0; tries < 2000 && n == 0; tries++) { /* a busy machine lets it start late */
            usleep(1000);
            CHECK(cs_reader_names(reader, whole, &n) == 0);
        }
        usleep(137 * i);
        kill(pid, SIGKILL);
        int status;
        CHECK(cs_reader_names(reader, whole, &n) == 0);
        waitpid(pid, &status, 0);
        n = 0;
        CHECK(cs_reader_names(reader, whole, &n) == 0 && n > 0);
        cs_reader_close(reader);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"basics", basics},
    {"scope", scope},
    {"pools", pools},
    {"thousands", thousands},
    {"thrd", c11_threads},
    {"fork", forks},
    {"raw-fork", raw_fork},
    {"fork-parent-ahead", fork_parent_ahead},
    {"fork-no-file", fork_no_file},
    {"exec-second", exec_second},
    {"two-copies", two_copies},
    {"closed-descriptors", closed_descriptors},
    {"private", private},
    {"no-memory", no_memory},
    {"killed-registering", killed_registering},
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "exec") == 0) {
        execs(argv[0]);
        return failures != 0;
    }
    for (unsigned i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return failures != 0;
        }
    return 2;
}
