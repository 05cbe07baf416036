/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process is started from an anonymous file with an image of its own. It has nothing of ours but one file of memory, the
 * order. Where registers and memory as they were made up lead nowhere, others are tried. */
#include "analysis/experiment/experiment.h"
#include "analysis/experiment/variant.h"
#include "store/base/cache.h"
#include "store/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

const char *const cs_experiment_why_names[CS_N_EXPERIMENT_WHY] = {
    [CS_EXPERIMENT_DONE] = "measured",
    [CS_EXPERIMENT_OFF] = "not tried",
    [CS_EXPERIMENT_CALL] = "call or indirect jump",
    [CS_EXPERIMENT_SYSTEM] = "system or string instruction",
    [CS_EXPERIMENT_SEGMENT] = "memory of the thread",
    [CS_EXPERIMENT_REGISTER] = "no free register",
    [CS_EXPERIMENT_LONG] = "length",
    [CS_EXPERIMENT_CODE] = "not decoded",
    [CS_EXPERIMENT_WILD] = "wild address",
    [CS_EXPERIMENT_DIVISION] = "division",
    [CS_EXPERIMENT_PAGES] = "too much memory",
    [CS_EXPERIMENT_SIGNAL] = "not allowed here",
    [CS_EXPERIMENT_NOISY] = "turns differ",
    [CS_EXPERIMENT_RIGHTS] = "rights not given up",
    [CS_EXPERIMENT_VALUES] = "depends on values",
    [CS_EXPERIMENT_FAILED] = "no end",
    [CS_EXPERIMENT_ABSENT] = "nothing to remove",
    [CS_EXPERIMENT_FIXED] = "no replacement",
};

enum {
    WAIT_MS = 300, /* a hundred times what one needs */
    PROCESSES = 4, /* that run the same */
    CACHE_BYTES = 4 << 20,
    VERSION = 7, /* of what is run and kept */
    PASSES_S = 600,
};
#define CYCLES_MOST 20000.0 /* of a turn */
#define CYCLES_LEAST 0.2
#define SPREAD_MOST 3.0      /* % */
#define AGREE 0.02           /* of cycles, in two processes */
#define REFERENCE_MOST 115.0 /* cycles of a hundred: another thread takes a part of the core */

struct cs_experiments {
    pthread_mutex_t lock; /* one runs at a time: two on one core would disturb each other */
    char processor[256];
    struct cs_cache cache;
    bool keeps;
    unsigned left, most;
    int image, memory; /* anonymous files: the program, and the order */
    struct order *order;
};

#ifdef CS_EXPERIMENT_CHILD
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "cs_experiment_child: .incbin \"" CS_EXPERIMENT_CHILD "\"\n"
        "cs_experiment_child_end:\n"
        ".popsection\n");
extern const char cs_experiment_child[], cs_experiment_child_end[];
#else
static const char cs_experiment_child[1] = {0}, *cs_experiment_child_end = cs_experiment_child;
#endif

static int anonymous(const char *name, size_t size, const void *bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && (bytes ? write(fd, bytes, size) != (ssize_t)size : ftruncate(fd, (off_t)size) != 0)) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    return fd;
}

struct cs_experiments *cs_experiments_open(const char *processor, unsigned most)
{
    struct cs_experiments *e = calloc(1, sizeof *e);
    const size_t size = (size_t)(cs_experiment_child_end - cs_experiment_child);
    if (!e)
        return NULL;
    pthread_mutex_init(&e->lock, NULL);
    e->image = e->memory = -1;
    e->keeps = processor != NULL;
    e->left = e->most = size ? most : 0;
    snprintf(e->processor, sizeof e->processor, "%s", processor ? processor : "");
    cs_cache_init(&e->cache, NULL, "experiment", CACHE_BYTES);
    return e;
}

/* Files and memory, when the first is run. */
static bool prepare(struct cs_experiments *e)
{
    if (e->order)
        return true;
    e->image = anonymous("cyclescope-experiment", (size_t)(cs_experiment_child_end - cs_experiment_child),
                         cs_experiment_child);
    e->memory = anonymous("cyclescope-order", sizeof *e->order, NULL);
    void *map = e->memory >= 0 && e->image >= 0
                    ? mmap(NULL, sizeof *e->order, PROT_READ | PROT_WRITE, MAP_SHARED, e->memory, 0)
                    : MAP_FAILED;
    e->order = map == MAP_FAILED ? NULL : map;
    return e->order != NULL;
}

void cs_experiments_close(struct cs_experiments *e)
{
    if (!e)
        return;
    if (e->order)
        munmap(e->order, sizeof *e->order);
    if (e->image >= 0)
        close(e->image);
    if (e->memory >= 0)
        close(e->memory);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* No terminal, no files but the order, no environment; signals as they are at first. */
static bool start(const struct cs_experiments *e, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char path[32], *argv[] = {(char *)"cyclescope-experiment", NULL}, *envp[] = {NULL};
    sigset_t none, all;
    snprintf(path, sizeof path, "/proc/self/fd/%d", e->image);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, e->memory, ORDER_FD);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int failed = posix_spawn(pid, path, &actions, &attributes, argv, envp);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed == 0;
}

/* Whether it ended by itself, and in time. It is no more then, in any case. */
static bool wait_for(pid_t pid)
{
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd one = {.fd = fd, .events = POLLIN};
    const uint64_t until_ns = cs_clock_ns(CLOCK_MONOTONIC) + WAIT_MS * UINT64_C(1000000);
    int status = 0, ready = 0;
    while (fd >= 0 && (ready = poll(&one, 1, WAIT_MS)) < 0 && errno == EINTR &&
           cs_clock_ns(CLOCK_MONOTONIC) < until_ns)
        ;
    if (ready <= 0)
        kill(pid, SIGKILL);
    if (fd >= 0)
        close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return ready > 0 && WIFEXITED(status);
}

enum cs_experiment_why piece_judge(const struct order *answer, struct cs_experiment_result *out)
{
    static const enum cs_experiment_why whys[] = {
        [ORDER_DONE] = CS_EXPERIMENT_DONE,         [ORDER_WILD] = CS_EXPERIMENT_WILD,
        [ORDER_DIVISION] = CS_EXPERIMENT_DIVISION, [ORDER_PAGES] = CS_EXPERIMENT_PAGES,
        [ORDER_SIGNAL] = CS_EXPERIMENT_SIGNAL,     [ORDER_RIGHTS] = CS_EXPERIMENT_RIGHTS,
        [ORDER_UNKNOWN] = CS_EXPERIMENT_FAILED};
    const struct bare_time *t = &answer->time;
    if (answer->trouble >= sizeof whys / sizeof *whys)
        return CS_EXPERIMENT_FAILED;
    if (answer->trouble != ORDER_DONE)
        return whys[answer->trouble];
    if (!(t->cycles >= CYCLES_LEAST && t->cycles <= CYCLES_MOST) || !isfinite(t->spread) || t->spread < 0 ||
        !isfinite(t->reference))
        return CS_EXPERIMENT_FAILED;
    if (t->spread > SPREAD_MOST || t->reference > REFERENCE_MOST)
        return CS_EXPERIMENT_NOISY;
    *out = (struct cs_experiment_result){t->cycles, t->pages};
    return CS_EXPERIMENT_DONE;
}

/* Vector registers hold 1.0 where the code calculates with that, else 0; denormals are taken for 0. */
static void set_state(struct order *o, const struct piece *p)
{
    enum { CONTROL = 0, TAGS = 4, MXCSR = 24, ST = 32, XMM = 160, HEADER = 512, FULL = 4 };
    static const uint8_t one[10] = {0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f};
    const uint64_t pattern = p->floats && !p->gathers ? UINT64_C(0x3ff000003ff00000) : 0, present = 3;
    memset(o->state, 0, sizeof o->state);
    memcpy(o->state + CONTROL, &(const uint16_t){0x037f}, 2);
    o->state[TAGS] = 0xf0; /* four values, the last of which is the stack's top */
    o->state[3] = 4 << 3;  /* of the status word: where the top is */
    for (int i = 0; i < FULL; i++)
        memcpy(o->state + ST + 16 * i, one, sizeof one);
    memcpy(o->state + MXCSR, &(const uint32_t){0x9fc0}, 4);
    for (int i = 0; i < 32; i++)
        memcpy(o->state + XMM + 8 * i, &pattern, 8);
    memcpy(o->state + HEADER, &present, 8);
}

enum { ATTEMPTS = 4 };

/* The first takes what the code seems to expect; then memory holds addresses; then registers do, too. The last is for a
 * division by half of an address, which is 0 where it is the upper one. */
static void write_order(struct order *o, const struct piece *p, int attempt)
{
    memset(o, 0, offsetof(struct order, state));
    o->first = ORDER_CODE_AT + (p->first & 0xffff);
    o->n = (uint32_t)p->n;
    o->head = (uint32_t)p->head;
    o->exit_at = (uint32_t)p->exit_at;
    o->counter = p->counter;
    o->parent = getpid();
    o->trouble = ORDER_UNKNOWN;
    o->grain = p->grain;
    o->pool = attempt > 2 ? ORDER_POOL_HIGH_AT : ORDER_POOL_AT;
    o->fill = attempt > 0 || p->loaded_address ? ORDER_FILL_POINTERS
              : p->floats && p->grain >= 4     ? ORDER_FILL_FLOAT
              : p->branches                    ? ORDER_FILL_SAME
                                               : ORDER_FILL_SMALL;
    for (int reg = 0; reg < 16; reg++)
        o->registers[reg] =
            piece_register(attempt == 2 ? &(const struct piece){.addresses = 0xffff} : p, reg);
    set_state(o, p);
    memcpy(o->code, p->code, sizeof o->code);
}

static enum cs_experiment_why run_once(struct cs_experiments *e, const struct piece *p, int attempt,
                                       struct cs_experiment_result *out)
{
    pid_t pid;
    write_order(e->order, p, attempt);
    return start(e, &pid) && wait_for(pid) ? piece_judge(e->order, out) : CS_EXPERIMENT_FAILED;
}

/* What another thread on the core does to its caches makes one process in forty slower, in all its passes. So the
 * least of two counts, and of a few where these differ. */
static void run_again(struct cs_experiments *e, const struct piece *p, int attempt,
                      struct cs_experiment_result *out)
{
    bool agree = false;
    for (int k = 1; k < PROCESSES && !agree; k++) {
        struct cs_experiment_result other;
        if (run_once(e, p, attempt, &other))
            continue;
        agree = fabs(other.cycles / out->cycles - 1) < AGREE;
        if (other.cycles < out->cycles)
            *out = other;
    }
}

/* What a busy machine did to it. It is kept for a while only: so long reports of one recording agree. */
static bool passes(uint32_t why)
{
    return why == CS_EXPERIMENT_NOISY || why == CS_EXPERIMENT_FAILED;
}

enum cs_experiment_why piece_run(struct cs_experiments *e, const struct piece *p,
                                 struct cs_experiment_result *out)
{
    enum cs_experiment_why why = CS_EXPERIMENT_FAILED;
    bool divides = false;
    if (e->left == 0 || !prepare(e))
        return CS_EXPERIMENT_OFF;
    e->left--;
    for (int attempt = 0; attempt < ATTEMPTS - !divides; attempt++) {
        const enum cs_experiment_why now = run_once(e, p, attempt, out);
        why = attempt == 0 || now == CS_EXPERIMENT_DONE || passes(now) ? now : why;
        divides |= now == CS_EXPERIMENT_DIVISION;
        if (now == CS_EXPERIMENT_FAILED)
            return now;
        if (now == CS_EXPERIMENT_DONE)
            run_again(e, p, attempt, out);
        if (now != CS_EXPERIMENT_WILD && now != CS_EXPERIMENT_DIVISION && now != CS_EXPERIMENT_PAGES)
            break;
    }
    return why;
}

struct kept {
    double cycles;
    uint32_t pages, why;
    int64_t at; /* s, of the wall clock */
};

static bool recall(const struct cs_experiments *e, const char *key, struct kept *kept)
{
    struct cs_cache_entry entry;
    if (!e->keeps || !cs_cache_load(&e->cache, key, &entry))
        return false;
    const bool fits = entry.n == sizeof *kept;
    if (fits)
        memcpy(kept, entry.bytes, sizeof *kept);
    cs_cache_entry_fini(&entry);
    if (!fits || kept->why >= CS_N_EXPERIMENT_WHY)
        return false;
    const int64_t age = (int64_t)time(NULL) - kept->at;
    if (passes(kept->why) && (age < 0 || age > PASSES_S))
        return false;
    return kept->why || (kept->cycles >= CYCLES_LEAST && kept->cycles <= CYCLES_MOST);
}

/* As it was kept, else now; not the last `spared` that may be made. */
static enum cs_experiment_why look(struct cs_experiments *e, const struct piece *piece, unsigned spared,
                                   struct cs_experiment_result *result)
{
    char key[512];
    struct kept kept;
    snprintf(key, sizeof key, "version %d, %s, %zu bytes from %" PRIx64 ", %016" PRIx64, VERSION,
             e->processor, piece->n, piece->first & 0xffff, XXH3_64bits(piece->code, piece->n));
    if (recall(e, key, &kept)) {
        *result = (struct cs_experiment_result){kept.cycles, kept.pages};
        return (enum cs_experiment_why)kept.why;
    }
    pthread_mutex_lock(&e->lock);
    const enum cs_experiment_why why = e->left > spared ? piece_run(e, piece, result) : CS_EXPERIMENT_OFF;
    pthread_mutex_unlock(&e->lock);
    if (why != CS_EXPERIMENT_OFF && e->keeps && why != CS_EXPERIMENT_RIGHTS) {
        kept = (struct kept){result->cycles, result->pages, why, (int64_t)time(NULL)};
        (void)cs_cache_save(&e->cache, key, &(const struct iovec){&kept, sizeof kept}, 1);
    }
    return why;
}

enum cs_experiment_why cs_experiments_run(struct cs_experiments *e, const struct cs_isa_op *ops, size_t n,
                                          struct cs_experiment_result *result)
{
    struct piece piece;
    *result = (struct cs_experiment_result){0};
    if (!e)
        return CS_EXPERIMENT_OFF;
    const enum cs_experiment_why why = piece_make(ops, n, &piece);
    return why ? why : look(e, &piece, 0, result);
}

enum cs_experiment_why cs_experiments_without(struct cs_experiments *e, enum cs_experiment_variant what,
                                              const struct cs_isa_op *ops, size_t n,
                                              struct cs_experiment_result *result)
{
    struct piece whole;
    struct cs_isa_op out[PIECE_OPS_MAX];
    bool there;
    *result = (struct cs_experiment_result){0};
    if (!e)
        return CS_EXPERIMENT_OFF;
    enum cs_experiment_why why = piece_make(ops, n, &whole);
    if (why)
        return why;
    if (what == CS_EXPERIMENT_ALIGNED) {
        why = variant_align(ops, n, &whole);
    } else {
        const size_t made = variant_make(what, ops, n, &whole, out, &there);
        why = made ? piece_make(out, made, &whole) : there ? CS_EXPERIMENT_FIXED : CS_EXPERIMENT_ABSENT;
    }
    return why ? why : look(e, &whole, e->most / 2, result); /* loops as they are go first */
}
