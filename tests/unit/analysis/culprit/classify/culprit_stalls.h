/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions, a machine and stalls that the tests of culprits share. */
#ifndef CS_TESTS_UNIT_ANALYSIS_CULPRIT_CULPRIT_STALLS_H
#define CS_TESTS_UNIT_ANALYSIS_CULPRIT_CULPRIT_STALLS_H

#include "analysis/culprit/classify/culprit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UNUSED __attribute__((unused)) /* by one of the tests */

UNUSED static const struct cs_isa_op load = {
    .offset = 0x100, .length = 4, .flags = CS_ISA_OP_LOAD, .access_bytes = 8};
UNUSED static const struct cs_isa_op store = {
    .offset = 0x104, .length = 4, .flags = CS_ISA_OP_STORE, .access_bytes = 8};
UNUSED static const struct cs_isa_op branch = {.offset = 0x108, .length = 2, .flags = CS_ISA_OP_BRANCH};
UNUSED static const struct cs_isa_op plain = {.offset = 0x10a, .length = 3};
UNUSED static const struct cs_isa_op divide = {.offset = 0x110, .length = 3, .flags = CS_ISA_OP_DIVIDE};
UNUSED static const struct cs_isa_op locked = {
    .offset = 0x120, .length = 4, .flags = CS_ISA_OP_LOCK | CS_ISA_OP_LOAD | CS_ISA_OP_STORE};
UNUSED static const struct cs_isa_op multiply = {.offset = 0x130, .length = 4, .flags = CS_ISA_OP_FLOAT};

UNUSED static struct cs_machine machine(void)
{
    struct cs_machine m;
    cs_machine_default(&m);
    m.vendor = CS_MACHINE_INTEL;
    return m;
}

/* Cases leave event rates out: nothing counted. */
UNUSED static struct cs_culprit_classification classify(const struct cs_culprit_stall *given)
{
    struct cs_machine m = machine();
    struct cs_culprit_classification v;
    struct cs_culprit_stall s = *given, blank;
    cs_culprit_stall_init(&blank, given->op);
    memcpy(s.event_rate, blank.event_rate, sizeof s.event_rate);
    memcpy(s.event_likely, blank.event_likely, sizeof s.event_likely);
    cs_culprit_classify(&s, &m, &v);
    return v;
}

UNUSED static const struct cs_culprit_suspect *find(const struct cs_culprit_classification *v,
                                                    enum cs_culprit_cause cause)
{
    for (unsigned i = 0; i < v->n; i++)
        if (v->suspects[i].cause == cause)
            return &v->suspects[i];
    return NULL;
}

/* Lines: a load with `bytes` of footprint whose every execution brings a new line. */
UNUSED static struct cs_culprit_memory chase(double bytes)
{
    return (struct cs_culprit_memory){.seen = true,
                                      .executions = 1000,
                                      .new_lines = 1,
                                      .far_lines = 0.5,
                                      .pointer = 1,
                                      .footprint_bytes = bytes,
                                      .footprint_pages = 16};
}

#endif
