/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains: each frame is placed as a sample is, at the sample's own time. */
#include "sampler/session/stacks.h"

#include "store/array.h"

#include <inttypes.h>
#include <stdio.h>

#define CONTEXT_FIRST ((uint64_t)-4095) /* marks among the addresses: what follows is kernel, user, ... */
#define CONTEXT_KERNEL ((uint64_t)-128)
#define FRAME_MAX (CS_IMAGE_ID_MAX + 24)

const char *cs_session_stack_text(struct cs_session_stacks *stacks, struct cs_session_places *places,
                                  struct cs_session_profiles *profiles, const struct cs_driver_entry *entry,
                                  uint32_t label)
{
    bool kernel = entry->kernel;
    size_t used = 0;
    for (unsigned i = 0; i < entry->n_chain; i++) {
        uint64_t addr = entry->chain[i];
        if (addr >= CONTEXT_FIRST) {
            kernel = addr == CONTEXT_KERNEL;
            continue;
        }
        struct cs_driver_entry frame = *entry;
        struct cs_maps_location found;
        frame.pc = addr;
        frame.kernel = kernel;
        frame.chain = NULL;
        (void)cs_session_resolve(places, &frame, &found);
        /* An image that is only called from still needs to be in the store, to be named by. */
        (void)cs_session_profiles_touch(profiles, found.image, entry->event, label);
        if (cs_array_reserve_in(stacks->text, used + FRAME_MAX, stacks->capacity) < 0)
            return NULL;
        used += (size_t)sprintf(stacks->text + used, "%s%s+%" PRIx64, used ? ";" : "", found.image->image.id,
                                found.offset);
    }
    return used ? stacks->text : NULL;
}
