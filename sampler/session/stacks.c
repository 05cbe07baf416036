/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains: each frame is placed as a sample is, at the sample's own time. */
#include "sampler/session/stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CONTEXT_FIRST ((uint64_t)-4095) /* marks among the addresses: what follows is kernel, user, ... */
#define CONTEXT_KERNEL ((uint64_t)-128)
#define FRAME_MAX (CS_IMAGE_ID_MAX + 24)

const char *cs_stack_text(struct cs_sampler *s, const struct cs_drained *entry, uint32_t label)
{
    bool kernel = entry->kernel;
    size_t used = 0;
    for (unsigned i = 0; i < entry->n_chain; i++) {
        uint64_t addr = entry->chain[i];
        if (addr >= CONTEXT_FIRST) {
            kernel = addr == CONTEXT_KERNEL;
            continue;
        }
        struct cs_drained frame = *entry;
        struct cs_found found;
        frame.pc = addr;
        frame.kernel = kernel;
        frame.chain = NULL;
        (void)cs_collect_find(s, &frame, &found);
        /* An image that is only called from still needs to be in the store, to be named by. */
        (void)cs_profiles_touch(s->profiles, found.image, entry->event, label);
        if (used + FRAME_MAX > s->stack_room) {
            size_t room = 2 * s->stack_room + 1024;
            char *more = realloc(s->stack_text, room);
            if (!more)
                return NULL;
            s->stack_text = more;
            s->stack_room = room;
        }
        used += (size_t)sprintf(s->stack_text + used, "%s%s+%" PRIx64, used ? ";" : "", found.image->image.id,
                                found.offset);
    }
    return used ? s->stack_text : NULL;
}
