/* SPDX-License-Identifier: MIT */
/* The recorder is the child of a child that ends at once. Its stderr is a socket of ours: first its process number,
 * then we let it go, then its words. The line "ready" says that it samples, the end of file that it is done. */
#include "signals/cyclescope_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 32
#define OPTIONS_MAX 512

static int busy; /* a profile is being started, runs, or is being stopped: who made it 1 owns the rest */
static int words = -1;
static pid_t recorder;
static char why[256] = "no failure yet";

struct command {
    char options[OPTIONS_MAX], pid[16];
    const char *argv[WORDS_MAX + 12];
};

static int fail(int code, const char *sentence)
{
    snprintf(why, sizeof why, "%s", sentence);
    return -code;
}

static int prepare(struct command *c, const char *store, const char *options)
{
    const char *program = secure_getenv("CYCLESCOPE");
    char *save = NULL;
    unsigned n = 0, most;
    if (options && strlen(options) >= sizeof c->options)
        return fail(E2BIG, "the options are too long");
    snprintf(c->options, sizeof c->options, "%s", options ? options : "");
    snprintf(c->pid, sizeof c->pid, "%d", (int)getpid());
    c->argv[n++] = program && *program ? program : "cyclescope";
    c->argv[n++] = "record";
    c->argv[n++] = "--ready-fd";
    c->argv[n++] = "2";
    c->argv[n++] = "-p";
    c->argv[n++] = c->pid;
    c->argv[n++] = "--store";
    c->argv[n++] = store;
    most = n + WORDS_MAX;
    for (char *word = strtok_r(c->options, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        if (n == most)
            return fail(E2BIG, "too many options");
        c->argv[n++] = word;
    }
    c->argv[n] = NULL;
    return 0;
}

/* In the grandchild: calls that are safe after a fork of a program with threads. */
static _Noreturn void become_recorder(const struct command *c, int theirs)
{
    const pid_t pid = getpid();
    sigset_t none;
    char go;
    close(words); /* else nobody's end of it would be the last, and we would wait for a dead program */
    sigemptyset(&none);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_IGN); /* the program may end first, and the store shall be whole all the same */
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (write(theirs, &pid, sizeof pid) != (ssize_t)sizeof pid || read(theirs, &go, 1) != 1 ||
        dup2(theirs, 1) < 0 || dup2(theirs, 2) < 0)
        _exit(127);
#ifdef SYS_close_range
    syscall(SYS_close_range, 3u, ~0u, 0u);
#endif
    execvp(c->argv[0], (char *const *)c->argv);
    static const char sentence[] = "the program `cyclescope` can't be run: is it in PATH?\n";
    (void)!write(2, sentence, sizeof sentence - 1);
    _exit(127);
}

/* A line without its end; false: end of file. */
static bool read_line(char *line, size_t size)
{
    size_t n = 0;
    char c;
    ssize_t got;
    while ((got = read(words, &c, 1)) == 1 || (got < 0 && errno == EINTR)) {
        if (got == 1 && c == '\n')
            break;
        if (got == 1 && n + 1 < size)
            line[n++] = c;
    }
    line[n] = '\0';
    return got == 1 || n > 0;
}

static int start_recorder(const struct command *c, int theirs)
{
    const pid_t child = fork();
    if (child == 0) {
        const pid_t grandchild = fork();
        if (grandchild == 0)
            become_recorder(c, theirs);
        _exit(grandchild < 0);
    }
    const int code = errno;
    close(theirs);
    if (child < 0)
        return fail(code, strerror(code));
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    ssize_t got;
    while ((got = read(words, &recorder, sizeof recorder)) < 0 && errno == EINTR) {
    }
    if (got != (ssize_t)sizeof recorder)
        return fail(ECANCELED, "the recorder can't be started");
#ifdef PR_SET_PTRACER
    (void)prctl(PR_SET_PTRACER, (unsigned long)recorder, 0, 0, 0); /* it may trace us, whatever Yama says */
#endif
    if (send(words, "g", 1, MSG_NOSIGNAL) != 1)
        return fail(ECANCELED, "the recorder can't be started");
    for (char line[sizeof why]; read_line(line, sizeof line);) {
        if (strcmp(line, "ready") == 0)
            return 0;
        (void)fail(0, line);
    }
    return -ECANCELED;
}

int cs_profile_start(const char *store, const char *options)
{
    struct command c;
    int free_one = 0, ends[2], rc;
    if (!__atomic_compare_exchange_n(&busy, &free_one, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return -EBUSY;
    rc = getauxval(AT_SECURE) ? fail(EPERM, "a set-user-id program doesn't start a recorder")
                              : prepare(&c, store, options);
    if (rc == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        rc = fail(errno, "no socket for the recorder");
    if (rc == 0) {
        words = ends[0];
        rc = start_recorder(&c, ends[1]);
        if (rc < 0)
            close(words);
    }
    if (rc < 0)
        __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    else
        __atomic_store_n(&busy, 2, __ATOMIC_RELEASE);
    return rc;
}

int cs_profile_stop(void)
{
    int running = 2;
    char line[128];
    if (!__atomic_compare_exchange_n(&busy, &running, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return -ESRCH;
    while (recv(words, line, sizeof line, MSG_DONTWAIT) > 0) { /* what it said meanwhile */
    }
    if (recv(words, line, 1, MSG_DONTWAIT) != 0) /* it lives, so its number is its own */
        (void)kill(recorder, SIGINT);
    while (read_line(line, sizeof line)) {
    }
#ifdef PR_SET_PTRACER
    (void)prctl(PR_SET_PTRACER, 0, 0, 0, 0);
#endif
    close(words);
    words = -1;
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return 0;
}

const char *cs_profile_why(void)
{
    return why;
}
