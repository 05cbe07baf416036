/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of calc that sum shares: the table of figure 4, and where time went in words. */
#ifndef CS_CLI_CALC_H
#define CS_CLI_CALC_H

#include "analysis/culprit/cycle_account.h"
#include "cli/output/output.h"

/* The model that --cpu names, else the machine's own; its answers are cached per image. */
int calc_scheduler(const struct parsed *args, enum cs_isa isa, const struct cs_machine *machine,
                   const char *image_id, struct cs_scheduler **out, struct cs_error *err);

/* Adds `from` to `into`. */
void summary_add(struct cs_summary *into, const struct cs_summary *from);
/* dcpi-1997 figure 4: rows that add up to 100 %. */
void summary_print(struct output *out, const struct cs_summary *summary, bool all);
json_t *summary_json(const struct cs_summary *summary);
/* The cause with the largest share, static and dynamic together; CS_N_CAUSES when there is none. */
enum cs_cause summary_first(const struct cs_summary *summary, double *share);

/* The instruction and the cause that cost most. */
struct charge {
    enum cs_cause cause;      /* CS_N_CAUSES = unexplained */
    uint64_t stalled, guilty; /* offsets */
    double share;             /* of the procedure's samples */
    double low, high, heaviest;
    bool observed, overlaps; /* as in struct cs_suspect */
    bool spread; /* share, low, high are the cause's in the whole procedure; the place is its worst */
    const char *reason;
};
struct charge worst_charge(const struct cs_account *account);
/* "41.0 % of this procedure waits for the load at 0x11c0 (list.c:20), which chases pointers through 3.1 MB".
 */
void charge_sentence(const struct charge *charge, struct cs_code *code, char *text, size_t size);
/* What usually helps; NULL when there is nothing to say. */
const char *charge_advice(enum cs_cause cause);
/* The share of the procedure's time that this usually takes away: blame less what the remedy itself costs. */
double charge_saves(const struct charge *charge, const struct cs_machine *machine);

void listing_print(struct output *out, const struct cs_account *account, struct cs_code *code, bool source,
                   bool all);
json_t *listing_json(const struct cs_account *account, struct cs_code *code);

#endif
