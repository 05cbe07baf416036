/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/page_sizes.h"
#include "store/base/bisect.h"
#include "store/base/clock.h"
#include "store/base/foreign.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPPINGS 4096      /* with huge pages, of a process */
#define TIME_BETWEEN 1000  /* times as long as it took to read them */
#define LINES_MOST 1000000 /* some 40,000 mappings */
#define PAGES_MOST 4194304 /* of 4 KB */

struct mapping {
    uint64_t start, end;
};

struct cs_page_sizes {
    bool by_mapping;
    pid_t read;       /* whose mappings these are; 0: none were read */
    uint64_t next_ns; /* not before */
    struct mapping mapping[MAPPINGS];
    unsigned n_mappings;
};

struct cs_page_sizes *cs_page_sizes_open(void)
{
    return calloc(1, sizeof(struct cs_page_sizes));
}

void cs_page_sizes_close(struct cs_page_sizes *s)
{
    free(s);
}

void cs_page_sizes_by_mapping(struct cs_page_sizes *s)
{
    s->by_mapping = true;
}

/* Mappings most of whose memory is on huge pages; the kernel lists them by address. */
static bool read_mappings(struct cs_page_sizes *s, pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
    FILE *file = cs_foreign_proc(path);
    struct mapping now = {0};
    uint64_t start, end, kb, there = 0, huge = 0;
    bool begins = true;
    s->n_mappings = 0;
    for (unsigned n = 0; file && n < LINES_MOST && fgets(line, sizeof line, file); n++) {
        const bool whole = begins; /* the rest of a long name is no line of its own */
        char key[32];
        begins = strchr(line, '\n') != NULL;
        if (!whole)
            continue;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2) {
            now = (struct mapping){start, end};
            there = huge = 0;
        } else if (sscanf(line, "%31[A-Za-z_]: %" SCNu64 " kB", key, &kb) == 2) {
            there += strcmp(key, "Rss") == 0 ? kb : 0;
            if (strstr(key, "_Hugetlb")) /* not in Rss */
                there += kb;
            if (strcmp(key, "AnonHugePages") == 0 || strstr(key, "PmdMapped") || strstr(key, "_Hugetlb"))
                huge += kb;
        } else if (strncmp(line, "VmFlags:", 8) == 0 && 2 * huge > there && s->n_mappings < MAPPINGS) {
            s->mapping[s->n_mappings++] = now;
        }
    }
    const bool read = file && !ferror(file) && now.end;
    if (file)
        fclose(file);
    return read;
}

static long pages_of(pid_t pid)
{
    char text[128];
    unsigned long there = 0;
    cs_kernel_text(text, sizeof text, "/proc/%d/statm", (int)pid);
    return sscanf(text, "%*u %lu", &there) == 1 ? (long)there : -1;
}

static bool ask_mappings(struct cs_page_sizes *s, pid_t pid, uint64_t *at, unsigned n)
{
    const uint64_t now = cs_monotonic_ns();
    if (now >= s->next_ns) {
        s->read = pages_of(pid) < PAGES_MOST && read_mappings(s, pid) ? pid : 0;
        s->next_ns = cs_monotonic_ns() + TIME_BETWEEN * (cs_monotonic_ns() - now);
    }
    for (unsigned i = 0; s->read == pid && i < n; i++) {
        const size_t m = cs_bisect(s->n_mappings, k, s->mapping[k].end <= at[i]);
        at[i] =
            m < s->n_mappings && s->mapping[m].start <= at[i] ? CS_FOREIGN_PAGE_HUGE : CS_FOREIGN_PAGE_SMALL;
    }
    return s->read == pid;
}

bool cs_page_sizes_ask(struct cs_page_sizes *s, pid_t pid, uint64_t *at, unsigned n)
{
    assert(pid > 0 && n <= CS_PAGE_SIZES_MOST);
    const int rc = s->by_mapping ? -ENOTTY : cs_foreign_page_sizes(pid, at, n);
    s->by_mapping |= rc == -ENOTTY;
    return rc == -ENOTTY ? ask_mappings(s, pid, at, n) : rc >= 0;
}
