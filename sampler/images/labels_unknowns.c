/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The causes for which a sample has no image, as counters of the store and as sentences. */
#include "sampler/images/labels_unknowns.h"

#include <assert.h>

static const struct {
    const char *counter, *sentence;
} causes[CS_UNKNOWN_N] = {
    [CS_UNKNOWN_NO_MAPPING] = {"unknown.no-mapping",
                               "the address is in no executable mapping that was recorded"},
    [CS_UNKNOWN_NO_PROCESS] = {"unknown.no-process", "the process ended before its mappings could be read"},
    [CS_UNKNOWN_REPLACED] = {"unknown.replaced", "one image replaced another at the address at that moment"},
    [CS_UNKNOWN_NO_FILE] = {"unknown.no-file", "the image's file was gone, and it has no build-id"},
    [CS_UNKNOWN_KERNEL] =
        {"unknown.kernel",
         "a kernel address outside of its text and modules, or kernel addresses are hidden"},
    [CS_UNKNOWN_GENERATION] = {"unknown.generation", "the kernel's record of a fork or exec was lost"},
    [CS_UNKNOWN_CUT] = {"unknown.cut", "the process has more mappings than the limit"},
};

const char *cs_unknown_counter(enum cs_unknown cause)
{
    assert((unsigned)cause < sizeof causes / sizeof *causes);
    return causes[cause].counter;
}

const char *cs_unknown_name(enum cs_unknown cause)
{
    return causes[cause].counter + sizeof "unknown." - 1;
}

const char *cs_unknown_sentence(enum cs_unknown cause)
{
    assert((unsigned)cause < sizeof causes / sizeof *causes);
    return causes[cause].sentence;
}
