/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains: each frame is placed as a sample is, at the sample's own time. */
#include "sampler/session/stacks.h"

#include "store/array.h"

#include <inttypes.h>
#include <stdio.h>

#define FRAME_MAX (CS_IMAGE_ID_MAX + 24)

const char *cs_session_stack_text(struct cs_session_stacks *stacks, struct cs_session_places *places,
                                  struct cs_session_profiles *profiles, const struct cs_driver_entry *entry,
                                  uint32_t label)
{
    size_t used = 0;
    for (unsigned i = 0; i < entry->n_chain; i++) {
        struct cs_driver_entry frame = *entry;
        struct cs_maps_location found;
        frame.pc = entry->chain[i] + (i > 0); /* the text has returns */
        frame.kernel = i < entry->n_kernel;
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
