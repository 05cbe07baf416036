/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTML page: report.
 *
 * Files of this module:
 *   report           the subcommand report
 *   page             what its parts share
 *   page_parts       the page's fixed files, linked in
 *   page_procedures  rows, sources, instructions, culprits
 *   page_images      the images of those, each opened once
 *   page_cfg         graphs
 *   page_labels      samples by thread, or what else was kept apart
 *   page_timeline    intervals and phases
 *   page_chains      call chains, for the flame graph
 *   page_waits       where threads waited
 *   page_thread_lines  what they did over time
 *   page_observed    histograms, comparison
 *   page_joint       two rates against each other
 *   page_log         rates over time
 *
 * What the HTML page shows, as the JSON that report/page.js reads (docs/json.md, "report"). Each builder adds
 * its members to `page`; a store that lacks something gets an empty member, never an error.
 */
#pragma once

#include "analysis/contexts/calls.h"
#include "analysis/frequency/edge_flow.h"
#include "cli/observe/observed.h"
#include "cli/output/output.h"
#include "cli/procedure/analysed_image.h"
#include "cli/profile/profile.h"

/* A sentence of "advice": what to look at first. */
void page_advise(json_t *advice, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Procedures, their details (the hottest `n_details`), totals. */
int page_procedures(json_t *page, const struct parsed *args, struct profile *profile,
                    struct profile_rows *rows, unsigned n_details, struct cs_error *err);
/* A procedure's control-flow graph: "svg", how many blocks are "shown" of "blocks"; null where there is none.
 */
json_t *page_cfg(const struct analysed_image *image, const struct profile_row *row);
/* "timeline": charts of the store's interval profiles; "phases". */
void page_timeline(json_t *page, struct cs_store *store);
/* Adds the charts of a sample log to "timeline". */
void page_log(json_t *page, const struct parsed *args);
/* "labels": samples of the page's rows by thread, process, ...; null where nothing was kept apart. After page_procedures. */
int page_labels(json_t *page, struct profile *profile, const struct profile_rows *rows, struct cs_error *err);
/* "chains": call chains, a tree a process; null where there are none. "rows", which are of `rows`, get samples of `event` (its
 * index) with what they called. The calls are folded, here and in the next. */
int page_chains(json_t *page, struct cs_calls *calls, const struct profile_rows *rows, unsigned event,
                struct cs_error *err);
/* As `member`, without rows. page_chains_of opens the store. */
int page_calls(json_t *page, const char *member, struct cs_calls *calls, struct cs_error *err);
int page_chains_of(json_t *page, const char *member, const char *store, const struct cs_calls_wanted *wanted,
                   struct cs_error *err);
/* "waits": where threads waited, and "chains_waits", in ns; "waits" null where there are none. Where they waited for longer
 * than they ran, "advice" begins with that. */
int page_waits(json_t *page, struct cs_store *store, const struct cs_calls_wanted *wanted,
               struct cs_error *err);
/* "thread_lines": what each thread of the one recording did over time; null where that isn't known. */
int page_thread_lines(json_t *page, struct cs_store *store, const char *label, struct cs_error *err);
/* "observed": tags, histograms; null when nothing was observed. */
int page_observed(json_t *page, const struct parsed *args, const struct profile *profile);
/* "observed"'s "joint": histograms in two dimensions; those of two rates only from a sample log (else NULL).
 */
json_t *page_joint(const struct observed *o, const char *log);
/* "compare": changes from this store to `other`. */
int page_compare(json_t *page, const char *store, const char *other, struct cs_error *err);
