/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as a file of callgrind: counts in order and each a number, or refused in a sentence.
 * Sources: analysis/validation/callgrind.c store/base/error.c store/base/text.c */
#include "analysis/validation/callgrind.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void judge(const struct cs_truth *truth)
{
    assert(isfinite(truth->total) && truth->total >= 0);
    for (size_t i = 0; i < truth->n_insns; i++) {
        const struct cs_truth_insn *insn = &truth->insns[i];
        assert(isfinite(insn->count) && insn->count > 0);
        assert(i == 0 || insn[-1].offset < insn->offset);
        assert(cs_truth_count(truth, insn->offset) == insn->count);
    }
    for (size_t i = 0; i < truth->n_edges; i++) {
        const struct cs_truth_edge *edge = &truth->edges[i];
        assert(isfinite(edge->count) && edge->count > 0);
        assert(i == 0 || edge[-1].from < edge->from ||
               (edge[-1].from == edge->from && edge[-1].to < edge->to));
        assert(cs_truth_taken(truth, edge->from, edge->to) == edge->count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[64];
    struct cs_truth *truth = NULL;
    struct cs_error err = {0};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int rc = cs_truth_load(path, "/opt/tool", &truth, &err);
    assert((rc == 0) == (truth != NULL));
    if (rc == 0)
        judge(truth);
    else
        assert(err.code == -rc && err.text[0] && !strchr(err.text, '\n'));
    cs_truth_close(truth);
    close(fd);
    return 0;
}
