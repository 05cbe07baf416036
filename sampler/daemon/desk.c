/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One lock guards all that the two threads share. The desk never holds it while it talks to a peer. */
#include "sampler/daemon/desk.h"

#include "store/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WAITING_MOST 8

struct cs_daemon_desk {
    struct cs_daemon_control *control;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t published;
    int wake;
    bool closing, status_asked;
    uint64_t n_published, published_ns;
    char status[CS_DAEMON_CONTROL_ANSWER_MAX];
    struct waiting {
        int fd;
        char request[CS_DAEMON_CONTROL_REQUEST_MAX];
    } waiting[WAITING_MOST];
    unsigned n_waiting;
};

static void wake_main(struct cs_daemon_desk *desk)
{
    (void)!write(desk->wake, &(uint64_t){1}, sizeof(uint64_t));
}

static void give_status(struct cs_daemon_desk *desk, int fd)
{
    char text[CS_DAEMON_CONTROL_ANSWER_MAX], line[64];
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += CS_DAEMON_DESK_PATIENCE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;

    pthread_mutex_lock(&desk->lock);
    const uint64_t before = desk->n_published;
    desk->status_asked = true;
    wake_main(desk);
    while (desk->n_published == 0 && !desk->closing) /* it begins */
        pthread_cond_wait(&desk->published, &desk->lock);
    while (desk->n_published == before && !desk->closing &&
           pthread_cond_timedwait(&desk->published, &desk->lock, &until) == 0)
        ;
    const bool any = desk->n_published > 0;
    memcpy(text, desk->status, sizeof text);
    const double age_s = (double)(cs_monotonic_ns() - desk->published_ns) / 1e9;
    pthread_mutex_unlock(&desk->lock);

    snprintf(line, sizeof line, "status_age_s %.1f\n", age_s);
    if (strlen(text) + strlen(line) < sizeof text)
        strcat(text, line);
    cs_daemon_control_reply(fd, any, any ? text : "the daemon didn't begin");
}

static void give_work(struct cs_daemon_desk *desk, int fd, const char *request)
{
    pthread_mutex_lock(&desk->lock);
    const bool has_room = desk->n_waiting < WAITING_MOST && !desk->closing;
    if (has_room) {
        struct waiting *w = &desk->waiting[desk->n_waiting++];
        w->fd = fd;
        strcpy(w->request, request);
    }
    pthread_mutex_unlock(&desk->lock);
    if (has_room)
        wake_main(desk);
    else
        cs_daemon_control_reply(fd, false, "too many requests wait for the daemon; try again later");
}

static void *serve_peers(void *arg)
{
    struct cs_daemon_desk *desk = arg;
    for (;;) {
        char request[CS_DAEMON_CONTROL_REQUEST_MAX], text[32];
        const int fd = cs_daemon_control_accept(desk->control, request);
        if (fd == -ECONNABORTED)
            continue;
        if (fd < 0)
            return NULL;
        if (strcmp(request, "status") == 0) {
            give_status(desk, fd);
        } else if (strcmp(request, "stop") == 0) {
            kill(getpid(), SIGTERM);
            snprintf(text, sizeof text, "%ld", (long)getpid());
            cs_daemon_control_reply(fd, true, text);
        } else {
            give_work(desk, fd, request);
        }
    }
}

void cs_daemon_desk_publish(struct cs_daemon_desk *desk, cs_daemon_answer_fn *answer, void *arg)
{
    char text[CS_DAEMON_CONTROL_ANSWER_MAX];
    answer("status", text, arg);
    pthread_mutex_lock(&desk->lock);
    strcpy(desk->status, text);
    desk->published_ns = cs_monotonic_ns();
    desk->n_published++;
    desk->status_asked = false;
    pthread_cond_signal(&desk->published);
    pthread_mutex_unlock(&desk->lock);
}

static bool next_waiting(struct cs_daemon_desk *desk, struct waiting *next)
{
    pthread_mutex_lock(&desk->lock);
    const bool any = desk->n_waiting > 0;
    if (any) {
        *next = desk->waiting[0];
        memmove(desk->waiting, desk->waiting + 1, --desk->n_waiting * sizeof *desk->waiting);
    }
    pthread_mutex_unlock(&desk->lock);
    return any;
}

void cs_daemon_desk_serve(struct cs_daemon_desk *desk, cs_daemon_answer_fn *answer, void *arg)
{
    assert(answer);
    char text[CS_DAEMON_CONTROL_ANSWER_MAX] = "";
    uint64_t count;
    if (read(desk->wake, &count, sizeof count) != sizeof count)
        return;
    for (struct waiting next; next_waiting(desk, &next);) {
        const bool well = answer(next.request, text, arg);
        cs_daemon_desk_publish(desk, answer, arg); /* who asks afterwards sees what was done */
        cs_daemon_control_reply(next.fd, well, text);
    }
    pthread_mutex_lock(&desk->lock);
    const bool asked = desk->status_asked;
    pthread_mutex_unlock(&desk->lock);
    if (asked)
        cs_daemon_desk_publish(desk, answer, arg);
}

int cs_daemon_desk_open(struct cs_daemon_control *control, struct cs_daemon_desk **out, int *wake,
                        struct cs_error *err)
{
    pthread_condattr_t monotonic;
    struct cs_daemon_desk *desk = calloc(1, sizeof *desk);
    *out = NULL;
    if (!desk)
        return cs_fail(err, ENOMEM, "not enough memory for the daemon");
    desk->control = control;
    desk->published_ns = cs_monotonic_ns();
    desk->wake = *wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&desk->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&desk->published, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int rc = desk->wake < 0 ? errno : pthread_create(&desk->thread, NULL, serve_peers, desk);
    if (rc != 0) {
        if (desk->wake >= 0)
            close(desk->wake);
        free(desk);
        return cs_fail(err, rc, "can't serve the control socket: %s", strerror(rc));
    }
    *out = desk;
    return 0;
}

void cs_daemon_desk_close(struct cs_daemon_desk *desk)
{
    struct waiting next;
    if (!desk)
        return;
    pthread_mutex_lock(&desk->lock);
    desk->closing = true;
    pthread_cond_signal(&desk->published);
    pthread_mutex_unlock(&desk->lock);
    cs_daemon_control_hang_up(desk->control);
    pthread_join(desk->thread, NULL);
    while (next_waiting(desk, &next))
        cs_daemon_control_reply(next.fd, false, "the daemon ends");
    pthread_cond_destroy(&desk->published);
    pthread_mutex_destroy(&desk->lock);
    close(desk->wake);
    free(desk);
}
