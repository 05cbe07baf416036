/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/images/bpf_programs.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <stdio.h>
#include <unistd.h>

#define PROGRAMS_MAX 4096 /* beyond, names come from /proc/kallsyms */
#define FUNCTIONS_MAX 256 /* of a program, as the kernel has it */

static void of_program(int fd, void (*each)(void *arg, uint64_t start, uint64_t end, const char *name),
                       void *arg)
{
    uint64_t start[FUNCTIONS_MAX];
    uint32_t bytes[FUNCTIONS_MAX];
    uint8_t tag[FUNCTIONS_MAX][BPF_TAG_SIZE];
    struct bpf_prog_info info = {.nr_jited_ksyms = FUNCTIONS_MAX,
                                 .nr_jited_func_lens = FUNCTIONS_MAX,
                                 .nr_prog_tags = FUNCTIONS_MAX,
                                 .jited_ksyms = (uint64_t)(uintptr_t)start,
                                 .jited_func_lens = (uint64_t)(uintptr_t)bytes,
                                 .prog_tags = (uint64_t)(uintptr_t)tag};
    uint32_t size = sizeof info;
    if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0 || info.nr_jited_ksyms > FUNCTIONS_MAX ||
        info.nr_jited_func_lens != info.nr_jited_ksyms || info.nr_prog_tags != info.nr_jited_ksyms ||
        !info.jited_ksyms || !info.jited_func_lens || !info.prog_tags) /* the kernel hides them */
        return;
    for (uint32_t i = 0; i < info.nr_jited_ksyms; i++) {
        /* The first function bears the program's tag; the one listed for it is of its own instructions. */
        const uint8_t *const its = i > 0 ? tag[i] : info.tag;
        char name[64] = "bpf_prog_";
        int n = 9;
        for (unsigned b = 0; b < BPF_TAG_SIZE; b++)
            n += snprintf(name + n, sizeof name - (size_t)n, "%02x", its[b]);
        if (i > 0 || info.name[0])
            snprintf(name + n, sizeof name - (size_t)n, "_%.15s", i > 0 ? "F" : info.name);
        if (start[i] != 0) /* hidden from who isn't root */
            each(arg, start[i], start[i] + bytes[i], name);
    }
}

void cs_bpf_programs_each(void (*each)(void *arg, uint64_t start, uint64_t end, const char *name), void *arg)
{
    assert(each);
    uint32_t id = 0;
    for (unsigned i = 0; i < PROGRAMS_MAX && bpf_prog_get_next_id(id, &id) == 0; i++) {
        int fd = bpf_prog_get_fd_by_id(id);
        if (fd < 0) /* it has gone; or that isn't permitted */
            continue;
        of_program(fd, each, arg);
        close(fd);
    }
}
