/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a recording of perf in pipe form to standard output: perfdata_stream MEGABYTES. Samples with times
 * and call chains of 16 over 64 images, ordered only between FINISHED_ROUND records, as several CPUs' buffers
 * leave them. Prints the number of samples to standard error. */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGES 64
#define IMAGE_BYTES 0x100000ull
#define DEPTH 16
#define STACK_BYTES 8192
#define ROUND 4096 /* samples between two FINISHED_ROUND */
enum { HEADER_ATTR = 64, FINISHED_ROUND = 68 };

static void put(const void *bytes, size_t n)
{
    if (fwrite(bytes, 1, n, stdout) != n)
        exit(1);
}

static void put_record(uint32_t type, uint16_t misc, const void *body, size_t n)
{
    struct perf_event_header header = {type, misc, (uint16_t)(sizeof header + n)};
    put(&header, sizeof header);
    if (n)
        put(body, n);
}

static void put_images(void)
{
    for (uint64_t i = 0; i < IMAGES; i++) {
        struct {
            uint32_t pid, tid;
            uint64_t addr, len, pgoff;
            char path[64];
        } map = {.pid = 1, .tid = 1, .addr = 0x400000 + 2 * i * IMAGE_BYTES, .len = IMAGE_BYTES};
        snprintf(map.path, sizeof map.path, "/nowhere/lib%02u.so", (unsigned)i);
        put_record(PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, &map, sizeof map);
    }
}

int main(int argc, char **argv)
{
    uint64_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) << 20, written = 0, samples = 0, state = 1;
    static const uint64_t file[] = {0x32454c4946524550ull, 16}; /* "PERFILE2", size */
    struct {
        struct perf_event_attr attr;
        uint64_t id;
    } attr = {
        .attr = {.type = PERF_TYPE_HARDWARE, .size = sizeof attr.attr, .config = PERF_COUNT_HW_CPU_CYCLES},
        .id = 1};
    attr.attr.sample_period = 1000;
    attr.attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
                            PERF_SAMPLE_PERIOD | PERF_SAMPLE_STACK_USER;
    attr.attr.sample_stack_user = STACK_BYTES;
    put(file, sizeof file);
    put_record(HEADER_ATTR, 0, &attr, sizeof attr);
    put_images();
    while (written < bytes) {
        struct {
            uint64_t ip;
            uint32_t pid, tid;
            uint64_t time, period, n, chain[DEPTH], stack_bytes;
            uint8_t stack[STACK_BYTES];
            uint64_t stack_used;
        } sample = {.stack_bytes = STACK_BYTES,
                    .stack_used = STACK_BYTES,
                    .pid = 1,
                    .tid = 1,
                    .period = 1000,
                    .n = DEPTH};
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t image = state >> 58, hot = state >> 33 & 1023;
        sample.ip = 0x400000 + 2 * image * IMAGE_BYTES + 0x1000 + 16 * hot;
        sample.time = 1000 * (samples ^ 1023); /* backwards within a thousand */
        sample.chain[0] = sample.ip;
        for (unsigned k = 1; k < DEPTH; k++)
            sample.chain[k] = 0x400000 + 2 * ((image + k) % IMAGES) * IMAGE_BYTES + 0x100 * k;
        put_record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &sample, sizeof sample);
        written += sizeof sample + sizeof(struct perf_event_header);
        if (++samples % ROUND == 0)
            put_record(FINISHED_ROUND, 0, NULL, 0);
    }
    fprintf(stderr, "%llu\n", (unsigned long long)samples);
    return fflush(stdout) == 0 ? 0 : 1;
}
