/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/frequency/flow_cache.h"
#include "store/base/cache.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC 0x32776f6c66735343 /* "CSsflow2" */
/* One more whenever the same edges give other flows: the solver, its weights or its draws changed. */
#define SOLVER_VERSION 18

struct head {
    uint64_t magic, key, sum;
    double executions_a_flow_ns;
    uint32_t n, n_bursts;
    uint64_t n_timed;
};

struct row {
    double flow;
    float replicate[CS_EDGE_FLOW_REPLICATES];
};

uint64_t flow_cache_key(const struct cs_edge_flow *t, uint64_t bursts)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return 0;
    XXH3_64bits_reset_withSeed(state, SOLVER_VERSION);
    XXH3_64bits_update(state, &bursts, sizeof bursts);
    XXH3_64bits_update(state, t->images, t->n_images * sizeof *t->images);
    for (size_t i = 0; i < t->n; i++) {
        const struct cs_counted_edge *one = &t->list[i];
        const uint64_t seen[] = {one->image,           one->to_image,          one->from,          one->to,
                                 (uint64_t)one->count, (uint64_t)one->squares, (uint64_t)one->ends};
        XXH3_64bits_update(state, seen, sizeof seen);
    }
    uint64_t key = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return key ? key : 1;
}

static void name_file(char *path, size_t size, const char *store)
{
    snprintf(path, size, "%s/.flows", store);
}

static uint64_t checksum(const struct row *rows, const struct head *head)
{
    uint64_t scale = XXH3_64bits(&head->executions_a_flow_ns, sizeof head->executions_a_flow_ns);
    return XXH3_64bits_withSeed(rows, head->n * sizeof *rows, head->n_bursts + scale + (head->n_timed << 32));
}

static bool read_all(int fd, void *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = read(fd, (char *)to + done, n - done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool flow_cache_load(const char *store, uint64_t key, struct cs_edge_flow *t)
{
    char path[4096];
    struct head head;
    struct stat st;
    name_file(path, sizeof path, store);
    int fd = key ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    struct row *rows = calloc(t->n + 1, sizeof *rows);
    bool good = rows && read_all(fd, &head, sizeof head) && head.magic == MAGIC && head.key == key &&
                head.n == t->n && fstat(fd, &st) == 0 &&
                (uint64_t)st.st_size == sizeof head + t->n * sizeof *rows &&
                read_all(fd, rows, t->n * sizeof *rows) && checksum(rows, &head) == head.sum;
    for (size_t i = 0; good && i < t->n; i++) {
        t->list[i].flow = rows[i].flow;
        memcpy(t->list[i].replicate, rows[i].replicate, sizeof rows[i].replicate);
    }
    if (good) {
        t->n_bursts = head.n_bursts;
        t->n_timed = (uint32_t)head.n_timed;
        t->executions_a_flow_ns = head.executions_a_flow_ns;
    }
    free(rows);
    close(fd);
    return good;
}

void flow_cache_save(const char *store, uint64_t key, const struct cs_edge_flow *t)
{
    assert(t->n <= UINT32_MAX);
    char path[4096];
    struct row *rows = calloc(t->n + 1, sizeof *rows);
    name_file(path, sizeof path, store);
    if (rows && key) {
        for (size_t i = 0; i < t->n; i++) {
            rows[i].flow = t->list[i].flow;
            memcpy(rows[i].replicate, t->list[i].replicate, sizeof rows[i].replicate);
        }
        struct head head = {MAGIC, key, 0, t->executions_a_flow_ns, (uint32_t)t->n, t->n_bursts, t->n_timed};
        head.sum = checksum(rows, &head);
        const struct iovec parts[] = {{&head, sizeof head}, {rows, t->n * sizeof *rows}};
        cs_cache_put(path, parts, 2, true);
    }
    free(rows);
}
