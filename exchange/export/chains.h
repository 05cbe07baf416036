/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which samples have call chains, and these. For export.c. */
#pragma once

#include "exchange/export/export.h"

/* Before profiles are read: notes which epochs, labels and events have chains. */
int cs_export_chains_note(struct cs_export *from, struct cs_store *store, struct cs_error *err);
bool cs_export_event_is_chained(const struct cs_export *from, const char *event);
bool cs_export_is_chained(const struct cs_export *from, const struct cs_store_profile_ref *ref,
                          const char *event);
/* Afterwards: makes trees of them, and adds the images that they name. */
int cs_export_chains_open(struct cs_export *from, struct cs_store *store, struct cs_error *err);
void cs_export_chains_close(struct cs_export *from);

/* The image, added if new; NULL: out of memory. Images move when one is added. */
struct cs_exported_image *cs_export_image_of(struct cs_export *from, const struct cs_store_image *image);
