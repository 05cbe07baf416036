/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sample costs beyond the bare event, page faults driving the overflow path (a timer's own cost is a
 * hundred times larger and nobody's to remove). Bursts of faults take turns: no event, a bare event that
 * nobody reads, our two drivers (whole sessions: placing and profiles included), `perf record`, which is
 * switched on and off through its control pipe. What stands in the table are the differences to the bare
 * event's burst of the same round, without the fifth on either side, and their standard errors. Drains run
 * between the bursts, on this thread, and are timed. "floor" rows are the least programs that write a ring:
 * one event, records of so many fields, nobody reads them (the tail is set to the head): what no user of
 * rings can go below. Independently the kernel's own account of BPF run time (kernel.bpf_stats_enabled): of
 * our program less that of one that does nothing.
 *
 *     sampler-handler [--quick]      value: ns in the handler above the bare event, BPF driver, 24,000 PCs
 *     sampler-handler --collector    value: ns of collector CPU a sample, the same */
#include "bench/faults.h"
#include "sampler/perf/ring.h"
#include "store/base/clock.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE 4096UL
#define BURST 2048U
#define ROUNDS_MAX 4000
#define DRAIN_ROUNDS 8 /* 32,768 samples: at 1 MHz 30 drains a second; rings hold 6,500 */

enum { NONE, BARE, BPF, RING, PERF, FLOOR_IP, FLOOR_TID, FLOOR_TIME, FLOOR_PATH, VARIANTS };
static const char *const names[] = {"no event",
                                    "bare event",
                                    "bpf",
                                    "ring",
                                    "perf record",
                                    "floor: ring, IP",
                                    "floor: ring, IP TID",
                                    "floor: ring, IP TID TIME",
                                    "floor: ring, a path's beginning"};
static const uint64_t floor_fields[VARIANTS] = {
    [FLOOR_IP] = PERF_SAMPLE_IP,
    [FLOOR_TID] = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
    [FLOOR_TIME] = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
    [FLOOR_PATH] = PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
};
#define FLOOR_PAGES 64
#define PATH_PAGES 512          /* 2,048 records of 696 bytes */
#define PATH_REGISTERS 0xff03ff /* of x86: all but segments */
#define PATH_STACK 512

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
    double begin = cs_thread_cpu_seconds(); /* what else runs here does not count */
    for (unsigned done = 0; done < BURST; done += code->reads)
        read_pages(pages + done * PAGE);
    return (cs_thread_cpu_seconds() - begin) * 1e9 / BURST;
}

static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof *values, ascending);
    return n ? values[n / 2] : 0;
}

static struct cs_sampler *open_session(enum cs_sampler_driver driver)
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

/* A ring of its own for an event of ours, disabled. */
struct floor {
    int fd;
    struct cs_ring ring;
};

static bool open_floor(struct floor *floor, uint64_t fields)
{
    struct cs_event event;
    struct cs_error err;
    floor->fd = -1;
    if (cs_event_parse("page-faults", &event, &err) < 0)
        return false;
    event.attr.sample_period = 1;
    event.attr.sample_type = fields;
    bool path = (fields & PERF_SAMPLE_STACK_USER) != 0;
    event.attr.sample_regs_user = path ? PATH_REGISTERS : 0;
    event.attr.sample_stack_user = path ? PATH_STACK : 0;
    event.attr.watermark = 1;
    event.attr.wakeup_watermark = 1U << 30;
    floor->fd = cs_event_open(&event, 0, -1, &err);
    return floor->fd >= 0 && cs_ring_open(&floor->ring, floor->fd, path ? PATH_PAGES : FLOOR_PAGES) == 0;
}

/* Reads every record's words and does nothing with them: what no collector of rings can go below. Seconds. */
static double read_floor(struct cs_ring *ring, uint64_t *records)
{
    static volatile uint64_t all;
    (void)all;
    const struct perf_event_header *header;
    double before = cs_thread_cpu_seconds();
    uint64_t words = 0;
    cs_ring_snapshot(ring);
    while ((header = cs_ring_next(ring)) != NULL) {
        const uint64_t *word = (const void *)header;
        for (unsigned w = 0; w < header->size / sizeof *word; w++)
            words ^= word[w];
        ++*records;
    }
    cs_ring_release(ring);
    all = words;
    return cs_thread_cpu_seconds() - before;
}

static void close_floor(struct floor *floor)
{
    cs_ring_close(&floor->ring);
    if (floor->fd >= 0)
        close(floor->fd);
}

struct figures {
    double cost[VARIANTS], above[VARIANTS], error[VARIANTS], collector[VARIANTS];
    double run_ns, empty_run_ns; /* by the kernel's account; 0 = not told */
    uint64_t lost[VARIANTS];
};

/* ---- the kernel's account of our program ---- */

/* Newest program of that name: ours. */
static int program_fd(const char *name)
{
    int found = -1;
    for (__u32 id = 0; bpf_prog_get_next_id(id, &id) == 0;) {
        struct bpf_prog_info info = {0};
        __u32 size = sizeof info;
        int fd = bpf_prog_get_fd_by_id(id);
        if (fd < 0)
            continue;
        if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && strcmp(info.name, name) == 0) {
            if (found >= 0)
                close(found);
            found = fd;
        } else {
            close(fd);
        }
    }
    return found;
}

static double run_time(int program, uint64_t *runs)
{
    struct bpf_prog_info info = {0};
    __u32 size = sizeof info;
    if (bpf_obj_get_info_by_fd(program, &info, &size) != 0)
        return 0;
    *runs = info.run_cnt;
    return (double)info.run_time_ns;
}

static int attach_empty(int event)
{
    const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
                                       {.code = BPF_JMP | BPF_EXIT}};
    int program = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "nothing", "GPL", nothing, 2, NULL);
    if (program >= 0 && ioctl(event, PERF_EVENT_IOC_SET_BPF, program) == 0)
        return program;
    return -1;
}

static void by_the_kernel(struct cs_sampler *session, const struct code *code, unsigned char *pages,
                          unsigned rounds, struct figures *out)
{
    int event = open_bare(), empty = event >= 0 ? attach_empty(event) : -1, ours = program_fd("count_0"),
        statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
    struct cs_error err;
    uint64_t before[2] = {0}, runs[2] = {0};
    if (empty < 0 || ours < 0 || statistics < 0)
        goto out;
    double ns[2] = {-run_time(empty, &before[0]), -run_time(ours, &before[1])};
    for (unsigned r = 0; r < rounds; r++) {
        turn_on(session, true);
        burst(code, r, pages);
        turn_on(session, false);
        ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
        burst(code, r, pages);
        ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
        if (r % DRAIN_ROUNDS == 0)
            cs_session_drain(session, CS_DRIVER_DRAIN_SOME, &err);
    }
    ns[0] += run_time(empty, &runs[0]);
    ns[1] += run_time(ours, &runs[1]);
    out->empty_run_ns = ns[0] / (double)(runs[0] - before[0] + 1);
    out->run_ns = ns[1] / (double)(runs[1] - before[1] + 1);
out:
    close(statistics);
    close(ours);
    close(empty);
    close(event);
}

static void drain(struct cs_sampler *session, double *collected)
{
    struct cs_error err;
    struct timespec settle = {0, 400000}; /* the ring's samples wait for their notices */
    nanosleep(&settle, NULL);
    double before = cs_thread_cpu_seconds();
    cs_session_drain(session, CS_DRIVER_DRAIN_SOME, &err);
    *collected += cs_thread_cpu_seconds() - before;
}

static int measure(unsigned pcs, unsigned rounds, struct figures *out)
{
    static double costs[VARIANTS][ROUNDS_MAX], differences[ROUNDS_MAX];
    struct code code;
    struct perf perf;
    make_code(&code, pcs);
    struct cs_sampler *session[VARIANTS] = {
        [BPF] = open_session(CS_SAMPLER_DRIVER_BPF), [RING] = open_session(CS_SAMPLER_DRIVER_RING)};
    double collected[VARIANTS] = {0};
    uint64_t read[VARIANTS] = {0};
    struct cs_error err;
    int bare = open_bare();
    unsigned char *pages = mmap(NULL, BURST * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bare < 0 || !session[RING] || pages == MAP_FAILED)
        return 1;
    struct floor floors[VARIANTS] = {0};
    for (unsigned v = FLOOR_IP; v < VARIANTS; v++)
        if (!open_floor(&floors[v], floor_fields[v]))
            return 1;
    ioctl(bare, PERF_EVENT_IOC_DISABLE, 0);
    madvise(pages, BURST * PAGE, MADV_NOHUGEPAGE);
    open_perf(&perf, NULL);
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned k = 0; k < VARIANTS; k++) {
            unsigned v = (k + r) % VARIANTS;
            if (v == PERF && !tell_perf(&perf, "enable\n"))
                continue;
            if (v == BARE)
                ioctl(bare, PERF_EVENT_IOC_ENABLE, 0);
            if (v >= FLOOR_IP)
                ioctl(floors[v].fd, PERF_EVENT_IOC_ENABLE, 0);
            turn_on(session[v], true);
            costs[v][r] = burst(&code, r, pages);
            turn_on(session[v], false);
            if (v == BARE)
                ioctl(bare, PERF_EVENT_IOC_DISABLE, 0);
            if (v == PERF)
                tell_perf(&perf, "disable\n");
            if (v >= FLOOR_IP) {
                ioctl(floors[v].fd, PERF_EVENT_IOC_DISABLE, 0);
                collected[v] += read_floor(&floors[v].ring, &read[v]);
            }
            if (session[v] && (v != BPF || r % DRAIN_ROUNDS == DRAIN_ROUNDS - 1 || r == rounds - 1))
                drain(session[v], &collected[v]);
        }
    close_perf(&perf);
    for (unsigned v = FLOOR_IP; v < VARIANTS; v++)
        close_floor(&floors[v]);
    if (session[BPF])
        by_the_kernel(session[BPF], &code, pages, rounds / 5, out);
    for (unsigned v = 0; v < VARIANTS; v++) {
        for (unsigned r = 0; r < rounds; r++)
            differences[r] = costs[v][r] - costs[BARE][r];
        out->above[v] = trimmed(differences, rounds, &out->error[v]);
        if (read[v])
            out->collector[v] = collected[v] * 1e9 / (double)read[v];
        if (!session[v])
            continue;
        struct cs_sampler_statistics s;
        cs_sampler_stop(session[v], &err);
        cs_sampler_statistics(session[v], &s);
        out->collector[v] = collected[v] * 1e9 / (double)(s.delivered ? s.delivered : 1);
        out->lost[v] = s.lost;
        cs_sampler_close(session[v]);
    }
    for (unsigned v = 0; v < VARIANTS; v++)
        out->cost[v] = median(costs[v], rounds);
    close(bare);
    munmap(pages, BURST * PAGE);
    remove(code.file);
    return 0;
}

int main(int argc, char **argv)
{
    bool quick = false, collector = false;
    static const unsigned pcs[] = {16, 24000};
    struct figures f[2] = {{.run_ns = 0}};
    for (int i = 1; i < argc; i++) {
        quick |= strcmp(argv[i], "--quick") == 0;
        collector |= strcmp(argv[i], "--collector") == 0;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
    for (unsigned p = 0; p < 2; p++)
        if (measure(pcs[p], quick ? 150 : p ? 1200 : 300, &f[p]))
            return 1;
    double value = collector ? f[1].collector[BPF] : f[1].above[BPF];
    printf("{\"name\": \"sampler-%s\", \"value\": %.1f, \"unit\": \"ns a sample%s, BPF driver, 24,000 PCs\", "
           "\"target\": \"%s\", \"noise\": %.1f, \"detail\": {",
           collector ? "collector" : "handler", value,
           collector ? " of collector CPU" : " above the bare event",
           collector ? "at most 5; ring driver: 20" : "at most 10; ring driver: 60",
           collector ? 1.0 : f[1].error[BPF]);
    for (unsigned p = 0; p < 2; p++)
        for (unsigned v = 0; v < VARIANTS; v++)
            printf("\"%s, %u PCs\": {\"fault_ns\": %.1f, \"above_bare_ns\": [%.1f, %.1f], "
                   "\"collector_ns\": %.1f, \"lost\": %llu}, ",
                   names[v], pcs[p], f[p].cost[v], f[p].above[v], f[p].error[v], f[p].collector[v],
                   (unsigned long long)f[p].lost[v]);
    printf("\"bpf run time by the kernel's account, ns\": {");
    for (unsigned p = 0; p < 2; p++)
        printf("%s\"%u PCs\": {\"ours\": %.1f, \"a program that does nothing\": %.1f, \"difference\": %.1f}",
               p ? ", " : "", pcs[p], f[p].run_ns, f[p].empty_run_ns, f[p].run_ns - f[p].empty_run_ns);
    printf("}}}\n");
    return 0;
}
