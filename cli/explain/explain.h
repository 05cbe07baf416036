/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One document about the hottest function, about calls that cost more, or about the wait that comes before both. It has
 * a claim and all that speaks for it.
 *
 * Files of this module:
 *   explain         the subcommand explain: which of these it is about
 *   explain_code    from calc's answer
 *   explain_proven  what a function's text proves: copies, and loops that wait for another thread
 *   explain_call    from what the program's own lines call
 *   explain_wait    from the first row of waits
 *   explain_parts   what both have: evidence, source, the command that verifies a change
 *   explain_stand_out  the document about the place that stands out most
 *   explain_output  the document as text and as JSON
 *   stand_out        what stands out: the list, in order
 *   stand_out_waits  ... waits
 *   stand_out_calls  ... calls of libraries and the kernel
 *   stand_out_code   ... causes of the hottest functions
 *   stand_out_loops  ... loops that turn often
 *   stand_out_counts  calls a second, bytes a call
 *
 * Text and JSON are written from one struct explanation. Where the evidence doesn't carry a claim there is none: then
 * `missing` says what to do, and nothing is ruled out. */
#pragma once

#include "analysis/waits/wait_groups.h"
#include "cli/explain/stand_out.h"
#include "cli/output/output.h"
#include "cli/procedure/subject.h"

/* Of the document's schema (docs/json.md): a member that goes, or means something else, makes it one more. */
#define EXPLAIN_VERSION 1

#define EXPLAIN_EVIDENCE_MAX 16
#define EXPLAIN_CONTEXT 3 /* lines of source before the line and after it */

enum explain_about { EXPLAIN_NOTHING, EXPLAIN_CODE, EXPLAIN_CALL, EXPLAIN_WAIT };

struct explain_evidence {
    const char *what;        /* "share of samples" */
    double value, low, high; /* NAN: not known; low and high: bounds, or twice the standard error away */
    const char *unit;        /* "%", "s"; "" = a count */
    char text[400];          /* instead of a number; "" = none */
};

struct explain_ruled_out {
    const char *cause, *words;
    double most; /* percent */
};

struct explain_gain { /* percent; NAN: not known */
    double likely, low, high;
};

struct explanation {
    enum explain_about about;
    char claim[1600];   /* one sentence without its full stop; "" = none */
    char missing[1600]; /* why there is none, and what to do */
    char function[1024];
    char image[4096];          /* path; "" = none */
    char cause[64], words[64]; /* of the cause or the kind of wait; "" = none */
    uint64_t address;          /* of the instruction; 0: none */
    char file[1024];           /* "": not known */
    unsigned line;
    struct explain_evidence evidence[EXPLAIN_EVIDENCE_MAX];
    size_t n_evidence;
    struct explain_ruled_out ruled_out[CS_N_CAUSES];
    size_t n_ruled_out;
    const char *advice; /* NULL: none */
    char absence[400];  /* a sentence on time without samples; "" = none */
    char machine[256];  /* a sentence on time that the machine took; "" = none */
    struct explain_gain of_function, of_program;
    bool gain_elsewhere;      /* time that the cause takes in the functions that are called isn't in them */
    struct stand_outs places; /* what stands out, whatever the document is about */
    bool from_list;           /* it is about the first of them */
    char *verify;             /* a command; NULL: none that can be pasted */
};

/* Each is dropped beyond EXPLAIN_EVIDENCE_MAX. */
void explain_number(struct explanation *e, const char *what, double value, double low, double high,
                    const char *unit);
void explain_text(struct explanation *e, const char *what, const char *text);
/* "cyclescope record ... && cyclescope diff ...": the recorded command's arguments, each as a shell takes it for one word,
 * or a word in their place. */
void explain_verify(struct explanation *e, const struct parsed *args, struct cs_store *store, bool waits);
/* An option of one of these commands as a shell takes it: " --store DIR" where it was given, else "". NULL: it can't be
 * pasted. The caller frees it. */
char *explain_store_word(const struct parsed *args);

/* Of an opened subject. */
void explain_code(struct explanation *e, const struct parsed *args, const struct calc_subject *subject);
/* Of what the function's text proves. False: there is none with half of its time, and nothing was changed. */
bool explain_proven(struct explanation *e, const struct calc_subject *subject, double share);
/* Of the calls that cost more than any function of the program itself, or of those that lead to `through`, whose code isn't
 * the program's own. False: there are none, and nothing was changed. */
bool explain_call(struct explanation *e, const struct parsed *args, const struct calc_subject *subject,
                  const struct profile_row *through);
/* Of what the subject causes in the kernel. False: the store says nothing of that. */
bool explain_kernel(struct explanation *e, const struct parsed *args, const struct calc_subject *subject);
/* Of one row of waits. */
void explain_wait(struct explanation *e, const struct parsed *args, struct cs_store *store,
                  const struct cs_wait_groups *waits, const struct cs_wait_group *group);
/* Where the hottest function has no claim, one that ordinary code mostly has, or one that promises less: a document about the
 * first of `places`, or that nothing stands out. */
void explain_first_place(struct explanation *e, const struct parsed *args, const struct calc_subject *s);
/* Which of these. `share`: of all samples, that the hottest function has. Pure. */
enum explain_instead { EXPLAIN_AS_IT_IS, EXPLAIN_FIRST_PLACE, EXPLAIN_ORDINARY };
enum explain_instead explain_instead(const struct explanation *e, double share);
/* What usually helps against a wait of that kind; NULL: nothing is recorded. */
const char *explain_wait_advice(const char *kind);
/* Fills `machine` where others had the CPUs that threads waited for. */
void explain_machine(struct explanation *e, const struct cs_wait_groups *waits);

/* Fills `absence` with the longest wait, where it is long enough to be worth a look although threads ran longer. */
void explain_besides(struct explanation *e, const struct parsed *args, const struct cs_wait_groups *waits);

/* Writes it to `out`; and, behind all notes, what to type next. */
void explanation_print(struct output *out, const struct parsed *args, const struct explanation *e);
void explanation_print_next(struct output *out, const struct parsed *args, const struct explanation *e);
