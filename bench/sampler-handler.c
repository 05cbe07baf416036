/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sample costs beyond the bare event, page faults driving the overflow path (a timer's own cost is a
 * hundred times larger and nobody's to remove). Bursts of faults alternate between: no event, a bare event
 * that nobody reads, our two drivers (whole sessions: placing and profiles included); `perf record` beside
 * them, for a second of its own. Drains run between the bursts, on this thread, and are timed.
 *   sampler-handler [--quick]     value: ns in the handler above the bare event, BPF driver, 24,000 PCs
 *   sampler-handler --collector   value: ns of collector CPU a sample, the same */
#include "sampler/session.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096UL
#define BURST 2048U
#define ROUNDS_MAX 4000
#define DRAIN_ROUNDS 8 /* 32,768 samples: at 1 MHz 30 drains a second; rings hold 6,500 */

enum { NONE, BARE, BPF, RING, VARIANTS };
static const char *const names[] = {"no event", "bare event", "bpf", "ring"};

/* Code that reads BURST pages one after the other, each by an instruction of its own: mov disp32(%rdi),%al.
 * `pcs` instructions in all, BURST a chunk; with few PCs one chunk of so many, called again and again. */
struct code {
    unsigned char *at[16];
    unsigned chunks, reads;
    char *file;
};

static void make_code(struct code *code, unsigned pcs)
{
    code->chunks = pcs > BURST ? (pcs + BURST - 1) / BURST : 1;
    code->reads = pcs > BURST ? BURST : pcs;
    size_t size = (size_t)code->chunks * (code->reads * 6 + 1);
    char file[] = "/tmp/cyclescope-code-XXXXXX"; /* of a file, as programs are */
    int fd = mkstemp(file);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        exit(1);
    unsigned char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        exit(1);
    unsigned char *begin = at;
    for (unsigned c = 0; c < code->chunks; c++) {
        code->at[c] = at;
        for (unsigned i = 0; i < code->reads; i++) {
            uint32_t disp = (uint32_t)(i * PAGE);
            *at++ = 0x8a;
            *at++ = 0x87;
            memcpy(at, &disp, 4);
            at += 4;
        }
        *at++ = 0xc3;
    }
    mprotect(begin, size, PROT_READ | PROT_EXEC);
    close(fd);
    code->file = strdup(file); /* there until the sampler has looked at it */
}

static double burst(const struct code *code, unsigned turn, unsigned char *pages)
{
    void (*read_pages)(unsigned char *) = (void (*)(unsigned char *))(uintptr_t)code->at[turn % code->chunks];
    madvise(pages, BURST * PAGE, MADV_DONTNEED);
    read_pages(pages); /* the code and the path, warm; these count for nothing */
    madvise(pages, BURST * PAGE, MADV_DONTNEED);
    uint64_t begin = cs_now_ns();
    for (unsigned done = 0; done < BURST; done += code->reads)
        read_pages(pages + done * PAGE);
    return (double)(cs_now_ns() - begin) / BURST;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof *values, ascending);
    return n ? values[n / 2] : 0;
}

static void turn_on(struct cs_sampler *s, bool on)
{
    for (size_t i = 0; s && i < s->n_open; i++)
        ioctl(s->open[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static struct cs_sampler *open_session(enum cs_driver_choice driver)
{
    static const char *const events[] = {"page-faults"};
    struct cs_sampler_config config = {.events = events,
                                       .n_events = 1,
                                       .period = 1,
                                       .target = CS_TARGET_PID,
                                       .pid = getpid(),
                                       .driver = driver};
    struct cs_sampler *s = NULL;
    struct cs_error err;
    if (cs_sampler_open(&config, &s, &err) < 0) {
        fprintf(stderr, "sampler-handler: %s\n", err.text);
        return NULL;
    }
    turn_on(s, false);
    return s;
}

static int open_bare(void)
{
    struct cs_event event;
    struct cs_error err;
    if (cs_event_parse("page-faults", &event, &err) < 0)
        return -1;
    event.attr.sample_period = 1;
    event.attr.sample_type = PERF_SAMPLE_IP;
    return cs_event_open(&event, 0, -1, &err);
}

struct figures {
    double cost[VARIANTS], noise[VARIANTS], collector[VARIANTS], perf;
    uint64_t lost[VARIANTS];
};

/* `perf record` on this process for a second: the median fault under it. */
static double under_perf(const struct code *code, unsigned char *pages)
{
    static double costs[ROUNDS_MAX];
    char pid[16], file[] = "/tmp/cyclescope-perf-XXXXXX";
    unsigned n = 0;
    int fd = mkstemp(file);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    pid_t perf = fork();
    if (perf == 0) {
        dup2(open("/dev/null", 2), 2);
        execlp("perf", "perf", "record", "-q", "-B", "-N", "-e", "page-faults", "-c", "1", "-p", pid, "-o",
               file, (char *)NULL);
        _exit(127);
    }
    sleep(1);
    for (uint64_t end = cs_now_ns() + 1000000000; cs_now_ns() < end && n < ROUNDS_MAX;) {
        costs[n] = burst(code, n, pages);
        n++;
        usleep(2000);
    }
    kill(perf, SIGINT);
    waitpid(perf, NULL, 0);
    remove(file);
    close(fd);
    return median(costs, n);
}

static int measure(unsigned pcs, unsigned rounds, struct figures *out)
{
    static double costs[VARIANTS][ROUNDS_MAX];
    struct code code;
    make_code(&code, pcs);
    struct cs_sampler *session[VARIANTS] = {
        [BPF] = open_session(CS_DRIVER_BPF), [RING] = open_session(CS_DRIVER_RING)};
    double collected[VARIANTS] = {0};
    struct cs_error err;
    int bare = open_bare();
    unsigned char *pages = mmap(NULL, BURST * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bare < 0 || !session[RING] || pages == MAP_FAILED)
        return 1;
    ioctl(bare, PERF_EVENT_IOC_DISABLE, 0);
    madvise(pages, BURST * PAGE, MADV_NOHUGEPAGE);
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned k = 0; k < VARIANTS; k++) {
            unsigned v = (k + r) % VARIANTS;
            if (v == BARE)
                ioctl(bare, PERF_EVENT_IOC_ENABLE, 0);
            turn_on(session[v], true);
            costs[v][r] = burst(&code, r, pages);
            if (v == BARE)
                ioctl(bare, PERF_EVENT_IOC_DISABLE, 0);
            turn_on(session[v], false);
            if (!session[v] || (v == BPF && r % DRAIN_ROUNDS != DRAIN_ROUNDS - 1 && r != rounds - 1))
                continue;
            struct timespec settle = {0, 400000}; /* the ring's samples wait for their notices */
            nanosleep(&settle, NULL);
            double before = cs_thread_cpu_seconds();
            cs_collect_drain(session[v], CS_DRAIN_SOME, &err);
            collected[v] += cs_thread_cpu_seconds() - before;
        }
    for (unsigned v = 0; v < VARIANTS; v++) {
        out->cost[v] = median(costs[v], rounds);
        out->noise[v] = (costs[v][rounds * 3 / 4] - costs[v][rounds / 4]) / 2;
        if (!session[v])
            continue;
        struct cs_sampler_statistics s;
        cs_sampler_stop(session[v], &err);
        cs_sampler_statistics(session[v], &s);
        out->collector[v] = collected[v] * 1e9 / (double)(s.delivered ? s.delivered : 1);
        out->lost[v] = s.lost;
        cs_sampler_close(session[v]);
    }
    close(bare);
    out->perf = under_perf(&code, pages);
    munmap(pages, BURST * PAGE);
    remove(code.file);
    return 0;
}

int main(int argc, char **argv)
{
    bool quick = false, collector = false;
    static const unsigned pcs[] = {16, 24000};
    struct figures f[2] = {{.perf = 0}};
    for (int i = 1; i < argc; i++) {
        quick |= strcmp(argv[i], "--quick") == 0;
        collector |= strcmp(argv[i], "--collector") == 0;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
    for (unsigned p = 0; p < 2; p++)
        if (measure(pcs[p], quick ? 500 : 1200, &f[p]))
            return 1;
    double value = collector ? f[1].collector[BPF] : f[1].cost[BPF] - f[1].cost[BARE];
    printf("{\"name\": \"sampler-%s\", \"value\": %.1f, \"unit\": \"ns a sample%s, BPF driver, 24,000 PCs\", "
           "\"target\": \"%s\", \"noise\": %.1f, \"detail\": {",
           collector ? "collector" : "handler", value,
           collector ? " of collector CPU" : " above the bare event",
           collector ? "at most 5; ring driver: 20" : "at most 10; ring driver: 60",
           f[1].noise[BPF] / (quick ? 11 : 17));
    for (unsigned p = 0; p < 2; p++)
        for (unsigned v = 0; v < VARIANTS; v++)
            printf("\"%s, %u PCs\": {\"fault_ns\": %.1f, \"above_bare_ns\": %.1f, "
                   "\"half_quartile_range_ns\": %.1f, "
                   "\"collector_ns\": %.1f, \"lost\": %llu}, ",
                   names[v], pcs[p], f[p].cost[v], f[p].cost[v] - f[p].cost[BARE], f[p].noise[v],
                   f[p].collector[v], (unsigned long long)f[p].lost[v]);
    printf("\"perf record\": {\"16 PCs, above_bare_ns\": %.1f, \"24000 PCs, above_bare_ns\": %.1f}}}\n",
           f[0].perf - f[0].cost[BARE], f[1].perf - f[1].cost[BARE]);
    return 0;
}
