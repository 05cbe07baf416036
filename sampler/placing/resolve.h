/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session knows about images, and how an entry of the table is placed on (image, offset) by it.
 * dcpi-1997 section 4.3. One owner; `maps` may be asked by other threads too.
 *
 * Files of this module:
 *   resolve         from an entry of the table to (image, offset)
 *   profiles        counts in memory on their way to the store
 *   image_tables    unwind tables of mapped images
 *   chains          answers what the handler asks for to unwind
 *   attributes      labels from what threads say that they work on
 *   stack_copies    chains that are made of copies of stacks
 *   held_rows       rows whose names may come later
 *   contexts        call chains in memory on their way to the store
 *   wait_tables     waits summed
 *   hook_frames     kernel frames between a tracepoint and our program on it
 *   wait_standing   threads that still wait when a recording ends
 *   wait_times      when the longest waits were
 *   waits           waits in memory on their way to the store
 *   intervals       the time-resolved mode, beside a session */
#pragma once

#include "sampler/driver/driver.h"
#include "sampler/dynamic/interpreted.h"
#include "sampler/dynamic/jit.h"
#include "sampler/images/images.h"
#include "sampler/images/kernel_image.h"
#include "sampler/images/maps.h"

struct cs_session_places {
    struct cs_images *images;
    struct cs_maps *maps;
    struct cs_kernel *kernel;
    struct cs_jit *jit;
    struct cs_interpreted *interpreted;
    struct cs_mapped_image *unknown_image;
    pid_t scanned[64]; /* PIDs whose maps were read in this drain because something was missing */
    unsigned n_scanned;
    bool unknown_met;           /* something was not to be placed */
    double kernel_read_seconds; /* CPU time of passes over all of the kernel's symbols, since it was taken */
};

/* When code last took the place of other code in some process; 0: never. */
uint64_t cs_session_replaced_ns(const struct cs_session_places *places);

int cs_session_places_open(struct cs_session_places *places, enum cs_label label, struct cs_error *err);
void cs_session_places_close(struct cs_session_places *places);
/* A drain begins. */
void cs_session_places_refresh(struct cs_session_places *places);
/* The drain's records have been applied: looks at processes that may have ended when their samples come. */
void cs_session_places_meet(struct cs_session_places *places);
/* The first time within the entry's at which a frame of it becomes another method's or another file's; 0: none does. Where nothing was there
 * when it begins, it begins later. */
uint64_t cs_session_code_change(struct cs_session_places *places, struct cs_driver_entry *entry);
/* Places an entry; what can't be is at its cause in "[unknown]": then -(1 + cause). */
int cs_session_resolve(struct cs_session_places *places, const struct cs_driver_entry *entry,
                       struct cs_maps_location *found);
