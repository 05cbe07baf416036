/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one way out when memory is short while output is collected. */
#include "cli/output/memory.h"
#include "cli/command/command.h"

#include <assert.h>
#include <stdlib.h>

void *need(void *pointer)
{
    if (!pointer) {
        failed_with("out of memory while collecting the output");
        exit(CS_EXIT_FAILED);
    }
    assert(pointer);
    return pointer;
}
