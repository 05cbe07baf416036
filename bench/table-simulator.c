/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trace-driven simulator of the sample table (dcpi-1997 section 5.4): associativity, replacement and size, on
 * traces of (PID, PC) that are taken of three workloads here, at 20 kHz. A shape's cost a sample is counted
 * in what the handler pays for: cache lines touched in the table, and evictions (each writes a log entry that
 * is read again). table-simulator [--quick]          records traces, prints one JSON row table-simulator
 * FILE...            reads lines of "PID HEXPC" instead, prints a table */
#include "sampler/driver/hot_table.h"
#include "sampler/sampler.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sample {
    uint64_t pc;
    uint32_t pid;
};
struct trace {
    const char *name;
    struct sample *at;
    size_t n, room;
};

enum policy { ROUND_ROBIN, SWAP_TO_FRONT, LRU };
static const char *const policies[] = {"round robin", "swap to front", "LRU"};

struct shape {
    unsigned ways, entries;
    enum policy policy;
    bool scattered; /* the whole address hashed; else neighbours of 64 bytes side by side */
};
struct result {
    double evictions, lines; /* a sample */
    double pages;            /* 4 KB pages of the table that a thousand samples touch: its TLB's misses */
};

static uint32_t hash_of(const struct shape *shape, uint64_t key, uint32_t pid)
{
    if (shape->scattered)
        return (uint32_t)(((key ^ ((uint64_t)pid << 32) ^ pid) * 0x9E3779B97F4A7C15ULL) >> 40);
    return cs_hot_hash(key, pid);
}

/* Generic table: bucket of `ways` entries in order; 16 bytes an entry, 4 to a line. */
static struct result simulate(const struct trace *trace, const struct shape *shape)
{
    unsigned buckets = 1;
    while (buckets * 2 * shape->ways <= shape->entries)
        buckets *= 2;
    struct cs_hot_entry *table = calloc((size_t)buckets * shape->ways, sizeof *table);
    uint32_t turn = 0;
    uint64_t evictions = 0, lines = 0, pages = 0;
    static uint32_t touched[65536]; /* when each page was touched last, in thousands of samples */
    memset(touched, 0xff, sizeof touched);
    if (!table)
        exit(1);
    for (size_t i = 0; i < trace->n; i++) {
        const struct sample *s = &trace->at[i];
        uint64_t key = cs_hot_key(s->pc, s->pc >> 63 != 0, 0, 0);
        size_t first = (size_t)(hash_of(shape, key, s->pid) & (buckets - 1)) * shape->ways;
        struct cs_hot_entry *b = table + first;
        uint32_t *page = &touched[first * sizeof *b / 4096 % 65536];
        pages += *page != i / 1000;
        *page = (uint32_t)(i / 1000);
        unsigned w = 0;
        while (w < shape->ways && b[w].count && !(b[w].key == key && b[w].pid == s->pid))
            w++;
        bool hit = w < shape->ways && b[w].count;
        lines += (w < shape->ways ? w : shape->ways - 1) / 4 + 1;
        struct cs_hot_entry entry = hit ? b[w] : (struct cs_hot_entry){key, s->pid, 0};
        entry.count++;
        if (!hit && w == shape->ways) {
            evictions++;
            w = shape->policy == ROUND_ROBIN ? turn++ % shape->ways : shape->ways - 1;
        }
        if (shape->policy == LRU || (shape->policy == SWAP_TO_FRONT && !hit)) {
            memmove(b + 1, b, w * sizeof *b); /* a new entry comes first, the others move up */
            w = 0;
        } else if (shape->policy == SWAP_TO_FRONT) {
            b[w] = b[0];
            w = 0;
        }
        b[w] = entry;
    }
    free(table);
    double n = (double)trace->n;
    return (struct result){(double)evictions / n, (double)lines / n, 1000 * (double)pages / n};
}

static void append(struct trace *trace, struct sample sample)
{
    if (trace->n == trace->room) {
        trace->room = trace->room ? 2 * trace->room : 65536;
        trace->at = realloc(trace->at, trace->room * sizeof *trace->at);
        if (!trace->at)
            exit(1);
    }
    trace->at[trace->n++] = sample;
}

static bool read_trace(struct trace *trace, FILE *f)
{
    char line[256];
    struct sample s;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%" SCNu32 " %" SCNx64, &s.pid, &s.pc) == 2)
            append(trace, s);
    return trace->n > 0;
}

/* A sample as it comes: with call chains the ring driver counts nothing up. The image's number stands for
 * where it lies. */
static void note(void *arg, const struct cs_sampler_placed *placed)
{
    struct trace *trace = arg;
    uint64_t pc = (uint64_t)(uintptr_t)placed->image << 24;
    pc = ((pc ^ placed->offset) & CS_HOT_PC_MASK) |
         (placed->image->kind == CS_IMAGE_KERNEL ? ~CS_HOT_PC_MASK : 0);
    for (uint64_t i = 0; i < placed->samples; i++)
        append(trace, (struct sample){pc, (uint32_t)placed->pid});
}

static bool record_trace(struct trace *trace, const char *command, int seconds)
{
    static const char *const events[] = {"cpu-clock"};
    char limit[16];
    snprintf(limit, sizeof limit, "%d", seconds);
    char *argv[] = {"timeout", limit, "sh", "-c", strdup(command), NULL};
    struct cs_sampler_config config = {.events = events,
                                       .n_events = 1,
                                       .frequency_hz = 20000,
                                       .target = CS_TARGET_COMMAND,
                                       .command = argv,
                                       .driver = CS_SAMPLER_DRIVER_RING,
                                       .chains = true,
                                       .arg = trace,
                                       .placed = note};
    struct cs_sampler *sampler = NULL;
    struct cs_error err;
    int rc = cs_sampler_open(&config, &sampler, &err);
    while (rc == 0 && (rc = cs_sampler_poll(sampler, 1000, &err)) > 0)
        rc = 0;
    if (rc == 0)
        rc = cs_sampler_stop(sampler, &err);
    if (rc < 0)
        fprintf(stderr, "table-simulator: %s\n", err.text);
    cs_sampler_close(sampler);
    free(argv[4]);
    return rc == 0 && trace->n > 0;
}

static const struct shape shapes[] = {
    {4, 0, ROUND_ROBIN, false}, {4, 0, ROUND_ROBIN, true}, {4, 0, SWAP_TO_FRONT, true},
    {4, 0, LRU, true},          {6, 0, ROUND_ROBIN, true}, {6, 0, SWAP_TO_FRONT, true},
    {8, 0, ROUND_ROBIN, true},  {8, 0, LRU, true},         {64, 0, LRU, true},
};
static const unsigned sizes[] = {512, 2048, 8192, 65536};
#define SHIPPED 65536U /* entries of a half of a CPU's table */
#define N(a) (sizeof(a) / sizeof *(a))

int main(int argc, char **argv)
{
    struct trace traces[16] = {{.name = NULL}};
    unsigned n = 0;
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0, files = argc > 1 && !quick;
    static const struct {
        const char *name, *command;
    } work[] = {
        {"xz", "while :; do xz -T1 -k -c /usr/lib/x86_64-linux-gnu/libc.so.6 >/dev/null; done"},
        {"gcc", "cd /tmp; while :; do echo \"int f(int x){return x*3;}\" | gcc -O2 -x c -c - -o "
                "table-simulator.o; done"},
        {"python3",
         "while :; do python3 -c \"import json,re,decimal;json.dumps([list(range(99))]*2000)\"; done"},
    };
    for (int i = 1; files && i < argc && n < N(traces); i++) {
        FILE *f = fopen(argv[i], "r");
        traces[n].name = argv[i];
        if (f && read_trace(&traces[n], f))
            n++;
        if (f)
            fclose(f);
    }
    for (unsigned i = 0; !files && i < N(work); i++) {
        traces[n].name = work[i].name;
        if (record_trace(&traces[n], work[i].command, quick ? 2 : 8))
            n++;
    }
    if (n == 0) {
        fprintf(stderr, "table-simulator: no trace (may you sample here?)\n");
        return 1;
    }
    double worst = 0;
    const char *worst_trace = "";
    printf("%-10s %8s %7s  %-36s %10s %8s %8s\n", "trace", "samples", "entries", "shape", "evicted %",
           "lines", "pages/k");
    for (unsigned t = 0; t < n; t++)
        for (unsigned s = 0; s < N(sizes); s++)
            for (unsigned i = 0; i < N(shapes); i++) {
                struct shape shape = shapes[i];
                char text[64];
                shape.entries = sizes[s];
                struct result r = simulate(&traces[t], &shape);
                snprintf(text, sizeof text, "%u-way, %s%s", shape.ways, policies[shape.policy],
                         shape.scattered ? ", scattered" : "");
                printf("%-10s %8zu %7u  %-36s %10.2f %8.2f %8.1f\n", traces[t].name, traces[t].n, sizes[s],
                       text, 100 * r.evictions, r.lines, r.pages);
                if (i == 0 && sizes[s] == SHIPPED && r.evictions > worst) {
                    worst = r.evictions;
                    worst_trace = traces[t].name;
                }
            }
    printf("{\"name\": \"table-simulator\", \"value\": %.3f, \"unit\": \"%% of samples that evict an entry, "
           "worst "
           "trace\", \"target\": 38, \"noise\": 0, \"detail\": {\"shape\": \"4-way, round robin, neighbours "
           "side by "
           "side, %u entries\", \"trace\": \"%s\", \"samples\": %zu}}\n",
           100 * worst, SHIPPED, worst_trace, traces[0].n);
    return 0;
}
