/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interval profiles that grew too large become coarser in time: intervals of length L are joined to ones of
 * length 2L. No sample is lost, only when it came. sprof-1998 section 3.3 bounds its histograms in space;
 * here they are bounded in time too. */
#pragma once

#include "store/store.h"

/* A new table in which no interval is shorter than length_ms; NULL when memory is short. Pure. */
struct cs_table *cs_store_intervals_coarser(struct cs_table *intervals, uint64_t length_ms);

/* Bytes of all interval profiles of the current epoch. */
int cs_store_interval_bytes(struct cs_store *store, uint64_t *bytes, struct cs_error *err);
/* Rewrites them so that no interval is shorter than length_ms. */
int cs_store_coarsen(struct cs_store *store, uint64_t length_ms, struct cs_error *err);
