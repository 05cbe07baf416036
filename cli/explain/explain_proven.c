/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Claims that a function's text proves, whatever its stalls are: loops that wait for another thread, and copies. */
#include "analysis/culprit/spin.h"
#include "cli/explain/explain.h"
#include "cli/profile/called/chain_line.h"
#include "store/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLAIM_FROM 0.5 /* of the function's samples */

/* Twice the standard error of a share of so many samples. */
static double uncertain(double share, double samples)
{
    return samples > 0 ? 2 * sqrt(fmax(share * (1 - share), 0) / samples) : 1;
}

/* "FUNCTION has 90.0 % of the samples, and 80.0 % of this function is in WHAT, mostly at ADDRESS (FILE:LINE)ALSO" */
static void claim(struct explanation *e, const struct calc_subject *s, double share, double part,
                  const char *what, const char *also)
{
    const double total = (double)s->rows.total[s->profile.main_event], samples = (double)s->account->samples;
    const double off = uncertain(part, samples), whole = uncertain(share, total);
    struct cs_image_frame frame;
    e->about = EXPLAIN_CODE;
    if (chain_line_frame(s->code, e->address, &frame) || cs_image_line_at(s->code, e->address, &frame)) {
        snprintf(e->file, sizeof e->file, "%s", frame.file);
        e->line = frame.line;
    }
    snprintf(e->claim, sizeof e->claim,
             "%.200s has %.1f %% of the samples, and %.1f %% of this function is in %s, mostly at 0x%" PRIx64,
             e->function, 100 * share, 100 * part, what, e->address);
    if (e->line)
        snprintf(e->claim + strlen(e->claim), sizeof e->claim - strlen(e->claim), " (%.200s:%u)",
                 cs_base_name(e->file), e->line);
    snprintf(e->claim + strlen(e->claim), sizeof e->claim - strlen(e->claim), "%s", also);
    explain_number(e, e->words, 100 * part, 100 * fmax(part - off, 0), 100 * fmin(part + off, 1),
                   "% of the function");
    e->of_program = (struct explain_gain){(double)NAN, 0, 100 * fmin(part + off, 1) * fmin(share + whole, 1)};
}

/* A struct that is passed or assigned by value is copied by one instruction, which no rule explains: the copy itself is what
 * costs. */
static bool claim_copy(struct explanation *e, const struct calc_subject *s, double share)
{
    const struct cs_cycle_account *a = s->account;
    const struct cs_cycle_account_insn *most = NULL;
    double copying = 0;
    for (uint32_t i = 0; i < a->cfg->n_insns; i++)
        if (a->insns[i].op.flags & CS_ISA_OP_REPEAT) {
            copying += a->insns[i].attributed;
            most = most && most->attributed >= a->insns[i].attributed ? most : &a->insns[i];
        }
    const double part = a->samples ? fmin(copying / (double)a->samples, 1) : 0;
    if (!most || part < CLAIM_FROM)
        return false;
    e->address = most->op.offset;
    snprintf(e->cause, sizeof e->cause, "copy");
    snprintf(e->words, sizeof e->words, "Copy");
    e->advice = "a pointer or a reference in place of a struct by value, or less data to copy";
    claim(e, s, share, part, "instructions that copy or fill a block of memory", "");
    return true;
}

/* What the loop costs is the time for which another thread lets it wait. */
static bool claim_spin(struct explanation *e, const struct calc_subject *s, double share)
{
    struct cs_culprit_spin spin;
    if (!cs_culprit_spin(s->account, cs_image_isa(s->code), &spin))
        return false;
    const double part = s->account->samples ? fmin(spin.samples / (double)s->account->samples, 1) : 0;
    if (part < CLAIM_FROM)
        return false;
    e->address = spin.load;
    snprintf(e->cause, sizeof e->cause, "spin");
    snprintf(e->words, sizeof e->words, "Spinning");
    e->advice = "a wait in which the thread sleeps after a few tries (a condition, a semaphore, a futex)";
    claim(e, s, share, part, "a loop that waits for another thread",
          ": it loads the same words again and again, and only a change of them ends it");
    return true;
}

bool explain_proven(struct explanation *e, const struct calc_subject *s, double share)
{
    return claim_copy(e, s, share) || claim_spin(e, s, share);
}
