/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tags: the table of what ran under each value of a tag. shim-2015 figure 1c, 6.1. */
#include "cli/observe/observed_source.h"

static int run(const struct parsed *args)
{
    struct observed_source source;
    int rc = observed_open(args, NULL, &source);
    if (rc)
        return rc;
    const struct observed *o = &source.view;
    int tag = observed_tag(o, option(args, "tag"));
    if (tag < 0) {
        rc = option_given(args, "tag") ? failed_with("%s has no tag %s here", o->program, option(args, "tag"))
                                       : failed_with("%s was observed without a tag", o->program);
        observed_close(&source);
        return rc;
    }
    struct output *out = output_open(args);
    output_line(out, "%s", o->program);
    output_set(out, "program", json_text(o->program));
    output_set(out, "tag", json_text(o->tags[tag]));
    observed_tags(out, o, (unsigned)tag, (uint64_t)option_number(args, "top", 10, 0, 1e9));
    rc = output_close(out);
    observed_close(&source);
    return rc;
}

static const struct option_entry options[] = {
    OPTION_TAG,
    OPTION_TOP,
    OPTIONS_OBSERVED,
    {NULL, 0, NULL, NULL},
};

extern const struct command command_tags;
const struct command command_tags = {
    "tags",
    "",
    "what an observed program did under each value of its tags",
    "For each value of a tag: samples, TSC cycles and their share, how often it was entered, and the rates "
    "of all\n"
    "counters with their deviation from interval to interval.",
    options,
    run,
};
