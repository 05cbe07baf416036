/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/driver/programs.h"
#include "store/base/text.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "sampler/driver/aggregate_old.skel.h"
#pragma GCC diagnostic pop

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SAME(section, name)                                                                                  \
    _Static_assert(offsetof(struct aggregate_bpf__##section, name) ==                                        \
                           offsetof(struct aggregate_old_bpf__##section, name) &&                            \
                       sizeof((struct aggregate_bpf__##section *)0)->name ==                                 \
                           sizeof((struct aggregate_old_bpf__##section *)0)->name,                           \
                   #name " is elsewhere in the programs for older kernels")
SAME(rodata, n_buckets);
SAME(rodata, attributes);
SAME(rodata, wait_reason_of);
SAME(rodata, wait_look_of);
SAME(rodata, wait_ways);
SAME(bss, cpus);
SAME(bss, generation);
SAME(bss, attribute_used);
SAME(bss, wait_began_ns);
SAME(bss, wait_free);
_Static_assert(sizeof(struct aggregate_bpf__rodata) == sizeof(struct aggregate_old_bpf__rodata) &&
                   sizeof(struct aggregate_bpf__bss) == sizeof(struct aggregate_old_bpf__bss),
               "both builds have the same variables");

bool cs_programs_are_old(void)
{
    libbpf_set_print(NULL); /* errors come back as numbers */
    return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 0;
}

static struct aggregate_bpf *open_old(const struct bpf_object_open_opts *opts)
{
    struct aggregate_bpf *bpf = calloc(1, sizeof *bpf);
    if (!bpf || aggregate_bpf__create_skeleton(bpf) != 0) {
        free(bpf);
        return NULL;
    }
    bpf->skeleton->data = (void *)aggregate_old_bpf__elf_bytes(&bpf->skeleton->data_sz);
    if (bpf_object__open_skeleton(bpf->skeleton, opts) == 0)
        return bpf;
    aggregate_bpf__destroy(bpf);
    return NULL;
}

struct aggregate_bpf *cs_programs_open(bool old, char *log)
{
    LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = log,
                .kernel_log_size = log ? CS_PROGRAMS_LOG : 0);
    return old ? open_old(&opts) : aggregate_bpf__open_opts(&opts);
}

/* The last line before the verifier's account of its work. */
void cs_programs_refusal(char *log, char *out, size_t size)
{
    assert(size > 0);
    char *end = strstr(log, "\nprocessed ");
    if (end)
        *end = '\0';
    size_t n = strlen(log);
    while (n && log[n - 1] == '\n')
        log[--n] = '\0';
    const char *last = strrchr(log, '\n');
    last = last ? last + 1 : log;
    (void)cs_text_clean(out, size, last, strlen(last));
}
