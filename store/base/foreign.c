/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The helper shares our memory (clone with CLONE_VM), so that it costs a stack and no copy. Its own copy of our descriptors it
 * closes: one that hangs for ever must hold no lock and no socket of ours. What it may still write to, its question, is its
 * own as long as it lives. */
#include "store/base/foreign.h"
#include "store/base/clock.h"
#include "store/base/foreign_worker.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 16384
#define LEFT_MOST 64           /* children that were given up, and hang */
#define BUDGET_NS 250000000ULL /* that all calls may wait at once; a tenth of the time that passes is added */
#define TURNS 8                /* that a helper without a CPU is waited for */
#define REFUSED 256            /* who was late, by hash */
#define REFUSED_NS 60000000000ULL

#if defined __SANITIZE_THREAD__
#define HAS_HELPER false /* it would take the helper for our thread */
#else
#define HAS_HELPER true
#endif

struct helper {
    struct cs_foreign_question question;
    char bytes[CS_FOREIGN_BYTES];
    int socket, its_socket;
    _Alignas(16) char stack[STACK_BYTES];
};

static struct {
    pthread_mutex_t lock;
    unsigned limit_ms;
    pid_t owner, pid;
    struct helper *helper; /* NULL: none runs */
    uint64_t budget_ns, filled_ns, unanswered, seed;
    struct {
        uint64_t key, until_ns;
    } refused[REFUSED];
    struct {
        pid_t pid;
        struct helper *helper;
    } left[LEFT_MOST];
    unsigned n_left;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- children that hang ---- */

static void reap_left(void)
{
    for (unsigned i = 0; i < all.n_left;) {
        if (waitpid(all.left[i].pid, NULL, WNOHANG | __WALL) == 0) {
            i++;
            continue;
        }
        if (all.left[i].helper)
            munmap(all.left[i].helper, sizeof *all.left[i].helper);
        all.left[i] = all.left[--all.n_left];
    }
}

static void leave(pid_t pid, struct helper *helper)
{
    reap_left();
    if (all.n_left < LEFT_MOST) {
        all.left[all.n_left].pid = pid;
        all.left[all.n_left++].helper = helper;
    }
}

static int try_to_reap(pid_t pid, unsigned ms, int *status, struct rusage *used)
{
    const struct timespec pause = {0, 200000};
    for (uint64_t until = cs_monotonic_ns() + ms * 1000000ULL;; nanosleep(&pause, NULL)) {
        pid_t ended = wait4(pid, status, WNOHANG | __WALL, used);
        if (ended == pid)
            return 0;
        if (ended < 0 && errno != EINTR)
            return -errno;
        if (cs_monotonic_ns() >= until)
            return -ETIMEDOUT;
    }
}

int cs_end_child(pid_t pid, unsigned ms, int *status, struct rusage *used)
{
    assert(pid > 0 /* else it would kill a group, or all that we may */);
    (void)kill(pid, SIGKILL);
    int rc = try_to_reap(pid, ms, status, used);
    if (rc == -ETIMEDOUT) {
        pthread_mutex_lock(&all.lock);
        leave(pid, NULL);
        pthread_mutex_unlock(&all.lock);
    }
    return rc;
}

/* ---- the helper ---- */

static int serve(void *arg)
{
    struct helper *h = arg;
    return cs_foreign_serve(&h->question, h->its_socket);
}

static void give_up(void)
{
    struct helper *h = all.helper;
    all.helper = NULL;
    close(h->socket);
    (void)kill(all.pid, SIGKILL);
    if (try_to_reap(all.pid, 0, &(int){0}, NULL) == 0)
        munmap(h, sizeof *h);
    else
        leave(all.pid, h);
}

static int begin(void)
{
    sigset_t every, before;
    int pair[2];
    reap_left();
    if (all.n_left == LEFT_MOST)
        return -EAGAIN;
    struct helper *h =
        mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (h == MAP_FAILED)
        return -ENOMEM;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        int rc = -errno;
        munmap(h, sizeof *h);
        return rc;
    }
    h->socket = pair[0];
    h->its_socket = pair[1];
    sigfillset(&every); /* our handlers are not its own */
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pid_t pid = clone(serve, h->stack + STACK_BYTES, CLONE_VM, h);
    int rc = pid < 0 ? -errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(pair[1]);
    if (rc < 0) {
        close(pair[0]);
        munmap(h, sizeof *h);
        return rc;
    }
    all.helper = h;
    all.pid = pid;
    all.owner = getpid();
    return 0;
}

struct message {
    char byte;
    struct iovec part;
    struct msghdr head;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control; /* last: a cmsghdr has no length of its own */
};

static void prepare(struct message *m)
{
    memset(m, 0, sizeof *m);
    m->part = (struct iovec){&m->byte, 1};
    m->head = (struct msghdr){.msg_iov = &m->part,
                              .msg_iovlen = 1,
                              .msg_control = m->control.bytes,
                              .msg_controllen = sizeof m->control.bytes};
}

static bool put(int fd)
{
    struct message m;
    prepare(&m);
    if (fd < 0) {
        m.head.msg_control = NULL;
        m.head.msg_controllen = 0;
    } else {
        m.control.head = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&m.control.head), &fd, sizeof fd);
    }
    return sendmsg(all.helper->socket, &m.head, MSG_NOSIGNAL) == 1;
}

/* False: it has ended. `fd`: what came with the answer, -1: nothing. */
static bool take(int *fd)
{
    struct message m;
    prepare(&m);
    if (recvmsg(all.helper->socket, &m.head, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
        return false;
    *fd = -1;
    if (m.head.msg_controllen >= sizeof m.control.head)
        memcpy(fd, CMSG_DATA(&m.control.head), sizeof *fd);
    return true;
}

/* A machine so busy that the helper doesn't get a CPU is nobody's silence. */
static bool waits_for_cpu(void)
{
    char text[64];
    cs_kernel_text(text, sizeof text, "/proc/%d/stat", (int)all.pid);
    const char *state = cs_stat_field(text, 3);
    return state && *state == 'R';
}

static bool wait_for(uint64_t most)
{
    struct pollfd answer = {.fd = all.helper->socket, .events = POLLIN};
    for (int turn = 0; turn == 0 || (turn < TURNS && waits_for_cpu()); turn++)
        for (uint64_t until = cs_monotonic_ns() + most, now = until - most;; now = cs_monotonic_ns()) {
            uint64_t rest = until > now ? until - now : 0;
            int n = ppoll(&answer, 1, &(struct timespec){0, (long)rest}, NULL);
            if (n > 0)
                return true;
            if (rest == 0)
                break;
        }
    return false;
}

/* ---- what may be waited ---- */

static uint64_t may_wait(uint64_t key, uint64_t now)
{
    const uint64_t most = all.limit_ms * 1000000ULL;
    if (all.refused[key % REFUSED].key == key && all.refused[key % REFUSED].until_ns > now)
        return 0;
    all.budget_ns += (now - all.filled_ns) / 10;
    all.budget_ns = all.budget_ns < BUDGET_NS && all.filled_ns ? all.budget_ns : BUDGET_NS;
    all.filled_ns = now;
    return all.budget_ns < most ? all.budget_ns : most;
}

static void was_late(uint64_t key, uint64_t began, uint64_t now)
{
    all.refused[key % REFUSED].key = key;
    all.refused[key % REFUSED].until_ns = now + REFUSED_NS;
    all.budget_ns -= now - began < all.budget_ns ? now - began : all.budget_ns;
}

static uint64_t key_of(const void *bytes, size_t n)
{
    uint64_t hash = all.seed;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x9E3779B97F4A7C15ULL, hash ^= hash >> 29;
    return hash;
}

/* A descriptor is the caller's; else what the kernel returned, with the bytes that were read. */
static long ask(uint64_t key, const struct cs_foreign_question *q, int fd, void *bytes, struct stat *st)
{
    int came = -1;
    long rc = -ETIMEDOUT;
    uint64_t began = cs_monotonic_ns(), most = may_wait(key, began);
    if (most == 0) {
        all.unanswered++;
        return -ETIMEDOUT;
    }
    for (int tries = 0; tries < 2; tries++) { /* it ends with the thread that began it: then another one */
        rc = all.helper && all.owner == getpid() ? 0 : begin();
        if (rc < 0)
            break;
        assert(all.helper);
        struct cs_foreign_question *its = &all.helper->question;
        memcpy(its, q, offsetof(struct cs_foreign_question, bytes));
        its->bytes = all.helper->bytes;
        strcpy(its->root, q->root);
        strcpy(its->path, q->path);
        if (q->what == CS_FOREIGN_PAGES)
            memcpy(its->bytes, q->bytes, q->n);
        if (put(fd) && !wait_for(most)) {
            give_up();
            was_late(key, began, cs_monotonic_ns());
            rc = -ETIMEDOUT;
            break;
        }
        if (take(&came)) {
            rc = its->code;
            if (bytes && rc > 0)
                memcpy(bytes, its->bytes, (size_t)rc);
            if (st)
                *st = its->st;
            return rc >= 0 && (q->what == CS_FOREIGN_OPEN || q->what == CS_FOREIGN_REGULAR)
                       ? (came >= 0 ? came : -EMFILE)
                       : rc;
        }
        give_up();
        rc = -EIO;
    }
    all.unanswered++;
    return rc;
}

static long locked(uint64_t key, const struct cs_foreign_question *q, int fd, void *bytes, struct stat *st)
{
    pthread_mutex_lock(&all.lock);
    long rc = ask(key, q, fd, bytes, st);
    pthread_mutex_unlock(&all.lock);
    return rc;
}

static bool asks(void)
{
    return HAS_HELPER && __atomic_load_n(&all.limit_ms, __ATOMIC_RELAXED) > 0;
}

/* ---- the calls ---- */

void cs_foreign_limit(unsigned ms)
{
    pthread_mutex_lock(&all.lock);
    if (!all.seed && getrandom(&all.seed, sizeof all.seed, 0) != sizeof all.seed)
        all.seed = cs_monotonic_ns();
    __atomic_store_n(&all.limit_ms, ms, __ATOMIC_RELAXED);
    if (!ms && all.helper && all.owner == getpid())
        give_up();
    pthread_mutex_unlock(&all.lock);
}

uint64_t cs_foreign_unanswered(void)
{
    return __atomic_load_n(&all.unanswered, __ATOMIC_RELAXED);
}

static bool read_directly(pid_t pid, uint64_t addr, void *to, size_t n)
{
    struct iovec ours = {to, n}, theirs = {(void *)(uintptr_t)addr, n};
    return process_vm_readv(pid, &ours, 1, &theirs, 1, 0) == (ssize_t)n;
}

bool cs_foreign_memory(pid_t pid, uint64_t addr, void *to, size_t n)
{
    assert(to || n == 0);
    if (!asks())
        return read_directly(pid, addr, to, n);
    struct cs_foreign_question q = {.what = CS_FOREIGN_MEMORY, .pid = pid};
    for (size_t done = 0; done < n; done += q.n) {
        q.addr = addr + done;
        q.n = n - done < CS_FOREIGN_BYTES ? n - done : CS_FOREIGN_BYTES;
        long got = locked(key_of(&pid, sizeof pid), &q, -1, (char *)to + done, NULL);
        if (got == -EPERM &&
            geteuid() != 0) /* Yama: only who started it may, and that are we, not the helper */
            return read_directly(pid, addr, to, n);
        if (got != (long)q.n)
            return false;
    }
    return true;
}

static int regular(enum cs_foreign_what what, const char *root, const char *path, uint64_t bytes_max,
                   const uid_t *owner, struct stat *st)
{
    static const char own[] = "/proc/self/"; /* the helper's descriptors are others, by the same numbers */
    struct cs_foreign_question q;
    q.what = what;
    q.bytes_max = bytes_max;
    q.owned = owner != NULL;
    q.owner = owner ? *owner : 0;
    q.copy = asks() && (root || strncmp(path, own, sizeof own - 1) != 0);
    if (strlen(path) >= sizeof q.path || strlen(root ? root : "") >= sizeof q.root)
        return -ENAMETOOLONG;
    strcpy(q.path, path);
    strcpy(q.root, root ? root : "");
    if (q.copy)
        return (int)locked(key_of(q.path, strlen(path)) ^ key_of(q.root, strlen(q.root)), &q, -1, NULL, st);
    cs_foreign_work(&q, -1);
    if (st)
        *st = q.st;
    return (int)q.code;
}

int cs_foreign_regular(const char *root, const char *path, uint64_t bytes_max, const uid_t *owner,
                       struct stat *st)
{
    return regular(CS_FOREIGN_REGULAR, root, path, bytes_max, owner, st);
}

int cs_foreign_stat(const char *root, const char *path, struct stat *st)
{
    return regular(CS_FOREIGN_LOOK, root, path, UINT64_MAX, NULL, st);
}

static long read_part(int fd, uint64_t at, void *to, size_t n)
{
    struct cs_foreign_question q = {
        .what = CS_FOREIGN_READ, .addr = at, .n = n < CS_FOREIGN_BYTES ? n : CS_FOREIGN_BYTES};
    struct stat st;
    uint64_t key = fstat(fd, &st) == 0 ? key_of(&st.st_ino, sizeof st.st_ino) : 0;
    return locked(key, &q, fd, to, NULL);
}

ssize_t cs_foreign_read(int fd, uint64_t at, void *to, size_t n)
{
    size_t done = 0;
    if (!asks())
        return pread(fd, to, n, (off_t)at);
    for (long got = 1; got > 0 && done<n; done += got> 0 ? (size_t)got : 0) {
        got = read_part(fd, at + done, (char *)to + done, n - done);
        if (got < 0 && done == 0) {
            errno = (int)-got;
            return -1;
        }
    }
    return (ssize_t)done;
}

int cs_foreign_page_sizes(pid_t pid, uint64_t *at, size_t n)
{
    assert(n <= CS_FOREIGN_PAGES_MOST);
    struct cs_foreign_question q = {.what = CS_FOREIGN_PAGES, .n = n * sizeof *at, .bytes = (char *)at};
    snprintf(q.path, sizeof q.path, "/proc/%d/pagemap", (int)pid);
    if (asks())
        return (int)locked(key_of(&pid, sizeof pid), &q, -1, at, NULL);
    cs_foreign_work(&q, -1);
    return (int)q.code;
}

struct stream {
    int fd;
    uint64_t at;
};

static ssize_t read_stream(void *cookie, char *to, size_t n)
{
    struct stream *s = cookie;
    long got = read_part(s->fd, s->at, to, n);
    s->at += got > 0 ? (uint64_t)got : 0;
    errno = got < 0 ? (int)-got : 0;
    return got < 0 ? -1 : got;
}

static int close_stream(void *cookie)
{
    close(((struct stream *)cookie)->fd);
    free(cookie);
    return 0;
}

FILE *cs_foreign_proc(const char *path)
{
    struct cs_foreign_question q;
    if (!asks())
        return fopen(path, "re");
    q.what = CS_FOREIGN_OPEN;
    q.root[0] = '\0';
    if (strlen(path) >= sizeof q.path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    strcpy(q.path, path);
    struct stream *s = malloc(sizeof *s);
    long fd = s ? locked(key_of(path, strlen(path)), &q, -1, NULL, NULL) : -ENOMEM;
    if (fd == -EPERM || fd == -EACCES) { /* as in cs_foreign_memory */
        free(s);
        return geteuid() != 0 ? fopen(path, "re") : NULL;
    }
    FILE *f = NULL;
    if (fd >= 0) {
        *s = (struct stream){.fd = (int)fd};
        f = fopencookie(s, "r", (cookie_io_functions_t){.read = read_stream, .close = close_stream});
        if (f)
            setvbuf(f, NULL, _IOFBF, CS_FOREIGN_BYTES);
        else
            close((int)fd);
    } else {
        errno = (int)-fd;
    }
    if (!f)
        free(s);
    return f;
}
