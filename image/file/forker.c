/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork(2), unix(7). The forker is a process of one thread, so the bare system call is as good as the C library's fork. */
#include "image/file/forker.h"
#include "store/base/foreign.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE_S 1
#define END_MS 50

static struct {
    pthread_mutex_t lock;
    pid_t pid, owner; /* 0: there is none */
    int socket;
} forker = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct message {
    struct iovec part;
    struct msghdr all;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control; /* last: a cmsghdr has no length of its own */
};

static void prepare(struct message *m, struct cs_forker_question *question)
{
    memset(m, 0, sizeof *m);
    m->part = (struct iovec){question, sizeof *question};
    m->all = (struct msghdr){.msg_iov = &m->part,
                             .msg_iovlen = 1,
                             .msg_control = m->control.bytes,
                             .msg_controllen = sizeof m->control.bytes};
}

/* False: nobody asks any more. */
static bool take(int socket, struct cs_forker_question *question)
{
    struct message m;
    ssize_t n;
    do {
        prepare(&m, question);
        n = recvmsg(socket, &m.all, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n != sizeof *question || m.all.msg_controllen < sizeof m.control.head)
        return false;
    memcpy(&question->fd, CMSG_DATA(&m.control.head), sizeof question->fd);
    memcpy(&question->memory, CMSG_DATA(&m.control.head) + sizeof question->fd, sizeof question->memory);
    return true;
}

static _Noreturn void serve(int socket, pid_t parent, const sigset_t *before, cs_forker_child *child)
{
    struct cs_forker_question question;
    (void)prctl(PR_SET_NAME, "cyclescope-fork");
    bool alone = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
                 (socket == 0 || syscall(SYS_close_range, 0, socket - 1, 0) == 0) &&
                 syscall(SYS_close_range, socket + 1, ~0U, 0) == 0;
    while (alone && take(socket, &question)) {
        long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
            (void)sigprocmask(SIG_SETMASK, before, NULL);
            child(&question);
            _exit(255);
        }
        pid = pid < 0 ? -errno : pid;
        close(question.fd);
        close(question.memory);
        if (send(socket, &pid, sizeof pid, MSG_NOSIGNAL) != sizeof pid)
            break;
    }
    _exit(0);
}

void cs_forker_begin(cs_forker_child *child)
{
    const struct timeval patience = {PATIENCE_S, 0};
    const pid_t parent = getpid();
    sigset_t every, before;
    int pair[2];
    pthread_mutex_lock(&forker.lock);
    bool needed = !forker.pid || forker.owner != parent;
    if (needed && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
        (void)setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        sigfillset(&every); /* our handlers are not its own */
        pthread_sigmask(SIG_SETMASK, &every, &before);
        pid_t pid = fork();
        if (pid == 0)
            serve(pair[1], parent, &before, child);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        close(pair[1]);
        forker.pid = pid > 0 ? pid : 0;
        forker.owner = parent;
        forker.socket = pair[0];
        if (pid < 0)
            close(pair[0]);
    }
    pthread_mutex_unlock(&forker.lock);
}

static long ask(const struct cs_forker_question *question)
{
    struct cs_forker_question copy = *question;
    const int both[2] = {question->fd, question->memory};
    struct message m;
    long pid;
    prepare(&m, &copy);
    m.control.head = (struct cmsghdr){CMSG_LEN(sizeof both), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&m.control.head), both, sizeof both);
    if (sendmsg(forker.socket, &m.all, MSG_NOSIGNAL) == sizeof copy &&
        recv(forker.socket, &pid, sizeof pid, 0) == sizeof pid)
        return pid;
    close(forker.socket);
    (void)cs_end_child(forker.pid, END_MS, &(int){0}, NULL);
    forker.pid = 0;
    return -EIO;
}

pid_t cs_forker_ask(const struct cs_forker_question *question)
{
    assert(question->work && question->parent == getpid());
    pthread_mutex_lock(&forker.lock);
    long pid = forker.pid && forker.owner == getpid() ? ask(question) : -ESRCH;
    pthread_mutex_unlock(&forker.lock);
    return (pid_t)pid;
}
