/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings that span epochs: profiles added up, and what the epochs say of themselves. */
#pragma once

#include "store/store.h"

/* Reads a profile's table and adds it to *into, which is NULL before the first. The caller closes it. */
int cs_store_load_into(const struct cs_store_profile_ref *ref, struct cs_table **into, struct cs_error *err);
