/* SPDX-License-Identifier: MIT */
/* Sleds are on while somebody observes: an observer holds a lock on the segment's file (segment.h). A thread of our own asks
 * for that. It sleeps until an observer wakes it; once a second it looks by itself, should a wake have come while it was
 * awake. That takes some 5 us of a CPU a second.
 *
 * In a forked child the sleds are as the parent left them, and a new thread switches them off. */
#include "signals/reader/reader_open.h"
#include "signals/xray/xray.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SOON_NS 20000000L      /* after a start or a wake: the observer may be about to lock */
#define OBSERVED_NS 100000000L /* whether it still is there */

/* Held while the loader's lock may be: a child forked meanwhile would find it taken for ever. */
static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static bool on;       /* the sleds */
static int file = -1; /* of the segment, our own description */
static struct stat file_was;

static bool is_locked(void)
{
    struct flock lock = {.l_type = F_WRLCK};
    struct stat st;
    if (file >= 0 && (fstat(file, &st) != 0 || st.st_ino != file_was.st_ino || st.st_dev != file_was.st_dev))
        file = -1; /* the program closed all descriptors, and may have opened others */
    if (file < 0) {
        char why[CS_WHY_MAX];
        uint32_t inside;
        bool nested;
        file = cs_locate(getpid(), &inside, &nested, why);
        if (file < 0 || fstat(file, &file_was) != 0)
            return false;
    }
    return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* What threads were at is nobody's any more. */
static void clear_tags(void)
{
    struct cs_segment_header *h = cs_segment;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); /* those that are in a sled leave it */
    for (uint32_t i = 0; i < h->lines_used && i < CS_LINES_MAX; i++)
        cs_segment_line(h, i)[CS_WORD_CODE] = 0;
}

static void *watch(void *unused)
{
    (void)unused;
    uint64_t images = 0;
    prctl(PR_SET_NAME, "cyclescope-xray");
    for (unsigned calm = 0;; calm++) {
        const bool observed = is_locked();
        pthread_mutex_lock(&busy);
        if (observed) {
            const uint64_t now = xray_images_changed();
            if (!on)
                __atomic_add_fetch(&xray_epoch, 1, __ATOMIC_RELEASE);
            if (!on || now != images)
                xray_switch(true);
            images = now;
            calm = 0;
        } else if (on) {
            xray_switch(false);
            calm = 0;
        }
        const bool left = on && !observed;
        on = observed;
        pthread_mutex_unlock(&busy);
        if (left)
            clear_tags();
        const struct timespec wait = {.tv_sec = !observed && calm >= 5,
                                      .tv_nsec = observed   ? OBSERVED_NS
                                                 : calm < 5 ? SOON_NS
                                                            : 0};
        if (syscall(SYS_futex, &cs_segment->pid, FUTEX_WAIT, cs_segment->pid, &wait, NULL, 0) == 0)
            calm = 0;
    }
    return NULL;
}

/* Not by way of our own pthread_create: this thread needs no line. */
static void start(void)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (!create || pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    (void)create(&thread, &attributes, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static void before_fork(void)
{
    pthread_mutex_lock(&busy);
}
static void in_parent(void)
{
    pthread_mutex_unlock(&busy);
}
static void in_child(void)
{
    pthread_mutex_unlock(&busy);
    if (file >= 0)
        close(file); /* the parent's segment */
    file = -1;
    if (cs_segment)
        start();
}

/* After lines.c opened the segment; its fork handlers come before ours, too. */
__attribute__((constructor(103))) static void begin(void)
{
    if (cs_open() != 0 || !xray_any_sleds())
        return;
    cs_define(CS_WORD_CODE, "code", CS_TAG | CS_ADDRESS);
    pthread_atfork(before_fork, in_parent, in_child);
    start();
}
