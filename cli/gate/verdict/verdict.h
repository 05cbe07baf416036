/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is judged, and the verdicts: what all modules of gate share. It includes none of them.
 *
 * Files of this module:
 *   verdict   checks and their verdicts (this header): from a change to a verdict, and what would tell more
 *   estimate  runs in turn or apart: a change with its range
 *   ranks     runs in turn whose values are mostly nothing: is one side larger?
 *
 * A check is one thing that is judged: a measure (work, pace, waits), or a benchmark of a results file. It is "slower" only
 * where chance makes that in fewer than one of 2,000 comparisons of a program with itself. It is "same" only where a growth
 * of `must_see` would have been seen. All else is "can't tell", with what would tell. */
#pragma once

#include "cli/gate/verdict/estimate.h"

#define GATE_CHANCE 0.0005 /* two-sided, each check: with four of them one false alarm in 1,000 */
#define GATE_IGNORE_BELOW 1.0
#define GATE_IGNORE_BELOW_APART 5.0 /* results files: the sides weren't measured in turn */
#define GATE_MUST_SEE 3.0
#define GATE_GUILTY_MAX 10
#define GATE_LAYOUTS_MAX 12

/* Layout: the time changed, and what ran is the same: where code or data lie made the difference. No failure. */
enum gate_verdict { GATE_SAME, GATE_FASTER, GATE_SLOWER, GATE_CANT_TELL, GATE_LAYOUT };
#define GATE_COUNTED "instructions"            /* kind of a function that executes more */
#define GATE_IN_KERNEL "kernel"                /* kind of a function whose time in the kernel grew */
extern const char *const gate_verdict_names[]; /* "same", "faster", "slower", "can't tell", "layout" */

struct gate_limits {
    double ignore_below; /* percent: a smaller growth is never "slower" */
    double must_see;     /* percent: "same" says that this would have been seen */
};

struct gate_check {
    char *name;           /* "pace", or a benchmark's */
    const char *what;     /* "CPU time per run" */
    double base, head;    /* means of the runs, in `unit`; NAN: unknown */
    const char *unit;     /* "s", "instructions"; "" */
    bool known, required; /* known: there is an estimate; required: without a verdict the gate can't tell */
    struct gate_estimate estimate;
    enum gate_verdict verdict;
    char sentence[400]; /* why, or what would tell */
};

struct gate_guilty {
    char *function, *image;
    char *file; /* NULL: no line is known */
    unsigned line;
    bool line_sure;       /* its own growth is significant, too */
    double base, head;    /* seconds per run; NAN of GATE_COUNTED, and of a daemon's epochs */
    double weight[2];     /* of a daemon's epochs: percent of the program's time */
    double share;         /* of the base's total that it grew by, percent */
    double ratio;         /* head / base, the common factor removed; infinite: new */
    char kind[32];        /* "function", GATE_COUNTED, or of a wait: "mutex", ... */
    char cause[40];       /* that grew: a cause of calc's, GATE_COUNTED, or a wait's kind; "": not known */
    char cause_text[240]; /* with figures; without a cause what is missing, "": nothing was asked */
    double
        cause_growth; /* seconds a run (percent of a daemon's epochs) that the named cause likely grew by */
    double cause_chance; /* that recordings show such a growth of it by chance; 0: wasn't asked */
    bool sure_cause;     /* it grew beyond what recordings vary by, and layout can't make that */
    bool differs;        /* the function executed other instructions, or not as often: by counts */
    bool other_code;     /* its instructions are other ones: by their text */
    bool candidate;      /* its growth alone isn't significant: without a cause it isn't shown, ... */
    bool dominant;       /* ... unless it has most of the growth of a pace that is slower */
};

struct gate_layout { /* the head linked again: against the base */
    unsigned number; /* that the command was given */
    struct gate_estimate estimate;
};

struct gate {
    struct gate_limits limits;
    const char *base, *head;    /* what was compared: stores or files */
    struct gate_builds *builds; /* both are builds in one store; NULL: they aren't */
    struct gate_check *check;
    size_t n_checks;
    struct gate_guilty guilty[GATE_GUILTY_MAX];
    size_t n_guilty, n_guilty_all;
    struct gate_layout layout[GATE_LAYOUTS_MAX];
    size_t n_layouts;
    bool unproven; /* the pace grew and the work didn't: layout, unless a cause grew */
    bool
        hashed; /* ... and some functions executed a few instructions more or fewer, as hashes of addresses do */
    bool waits_grew;     /* recorded ones, surely, next to a slower pace; perhaps too little to count */
    bool time_only;      /* the work is the same, and nothing but the time changed */
    bool turns;          /* both commands ran here: some runs were to be only timed */
    bool relinks;        /* layouts are tried */
    bool base_relinked;  /* of the base, too: each has another one */
    bool no_experiments; /* hot loops aren't run for their cycles */
    enum gate_verdict verdict;
    char note[12][600];
    size_t n_notes;
    char of_waits[120]; /* what waits are a share of, for the check's `what` */
};

/* NULL: no memory. */
struct gate_check *gate_add(struct gate *gate, const char *name, const char *what, const char *unit);
/* NULL: there is none of that name. */
struct gate_check *gate_find(const struct gate *gate, const char *name);
void gate_note(struct gate *gate, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* From the checks: slower if one is slower, can't tell if a required one can't tell. */
void gate_conclude(struct gate *gate);
void gate_fini(struct gate *gate);

/* Fills verdict and sentence from the estimate. `seconds_a_pair`: what one run of each takes, 0: unknown. */
void gate_judge(const struct gate_limits *limits, struct gate_check *check, double seconds_a_pair);
/* "+4.2 %"; "" where there is no estimate. */
const char *gate_percent(double share, char text[32]);
/* A row that is neither a function's nor of a function's time in the kernel. */
bool gate_is_wait(const struct gate_guilty *guilty);
/* One line for people: "slower: pace +4.2 % ..." */
void gate_sentence(const struct gate *gate, char *text, size_t size);
