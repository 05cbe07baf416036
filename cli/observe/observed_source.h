/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where hist and tags take what was observed from: --log FILE, else the store. */
#pragma once

#include "cli/observe/observed.h"
#include "observer/log/replay.h"
#include "observer/log/save.h"
#include "store/base/array.h"
#include "store/base/text.h"

#define OPTIONS_OBSERVED                                                                                     \
    {"program", 0, "NAME", "which program, where the store has several"}, OPTION_RATIO, OPTION_RAW,          \
        OPTION_LOG, OPTION_EPOCH, OPTION_STORE

#define OPTION_SUBSAMPLE                                                                                     \
    {                                                                                                        \
        "subsample", 0, "N", "with --log: as if only every N-th sample had been taken; again for more rows"  \
    }

enum { SUBSAMPLES_MAX = 16 };
/* Those of --subsample. CS_EXIT_OK, or the exit code when they are wrong: it has printed why. */
int observed_subsamples(const struct parsed *args, unsigned *periods, unsigned *n);

struct observed_source {
    struct observed view;
    struct cs_observe_saved kept; /* its sink is the view's, also when it came from a log */
    struct cs_store *store;
    struct cs_observe_log_reader *log;
    CS_ARRAY(struct observed_name {
        unsigned tag;
        uint64_t value;
        size_t order;
        char *text;
    })
    names; /* of a store, by tag and value */
};

/* `options` is for logs (NULL: the paper's rule, tag-consistent rates). Returns an exit code; it has printed
 * why. */
int observed_open(const struct parsed *args, const struct cs_observe_replay_options *options,
                  struct observed_source *source);
/* The same of one log, whatever the options say. */
int observed_open_log(const char *log, const struct cs_observe_replay_options *wish,
                      struct observed_source *source);
/* As if only every N-th sample had been taken: rates within a tag, however long the gaps. */
int observed_open_every(const struct parsed *args, unsigned every, struct observed_source *source);
void observed_close(struct observed_source *source);
/* Those of --ratio, at most CS_RATIOS_MAX. CS_EXIT_OK, or the exit code when they are too many: it has printed why. */
int observed_ratios(const struct parsed *args, const char *ratios[CS_RATIOS_MAX], unsigned *n);
/* Index of the tag of that name, -1 none. NULL = the first. Series: series.h. */
int observed_tag(const struct observed *o, const char *name);
/* The same of a log that isn't read yet; -1: it has said why there is none. */
int observed_log_tag(const char *log, const char *name);
/* What may have been meant by a counter's, a tag's or a value's name that isn't there. */
struct cs_did_you_mean observed_counter_meant(const struct observed *o, const char *name);
struct cs_did_you_mean observed_tag_meant(const struct observed *o, const char *name);
struct cs_did_you_mean observed_value_meant(const struct observed *o, unsigned tag, const char *name);
/* The tag value that `text` names or writes: whole, without " (FILE:LINE)", or by a beginning that no other value has. False
 * when there is none. */
bool observed_named(const struct observed *o, unsigned tag, const char *text, uint64_t *value);
/* A note if other values' names go on where this one's ends, as those of a function's loops do. */
void observed_namesakes(struct output *out, const struct observed *o, unsigned tag, const char *text,
                        uint64_t value);
