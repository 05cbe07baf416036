/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts are on with a command; elsewhere they are asked for. */
#include "cli/command/figures.h"
#include "cli/output/output.h"
#include "cli/record/record.h"
#include "sampler/burst/runner_process.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

bool record_bursts_wanted(const struct parsed *args, const struct cs_sampler_config *config)
{
    bool asked = option_given(args, "bursts") || option_given(args, "burst-rate");
    return !option_given(args, "no-bursts") && (asked || config->target == CS_TARGET_COMMAND);
}

int record_bursts_open(const struct parsed *args, const struct cs_sampler_config *config,
                       struct cs_sampler *sampler, struct cs_burst **out, struct cs_error *err)
{
    bool asked = option_given(args, "bursts") || option_given(args, "burst-rate");
    *out = NULL;
    if (!record_bursts_wanted(args, config))
        return 0;
    struct cs_burst_config bursts = {
        .sampler = sampler,
        .target = config->target,
        .pid = config->target == CS_TARGET_COMMAND ? cs_sampler_child(sampler) : config->pid,
        .real_time_too = option_given(args, "burst-real-time"),
        .rate_hz = option_number(args, "burst-rate", 0, 0.01, 1000),
        .instructions = (uint32_t)option_number(args, "burst-length", 0, 1, CS_BURST_INSTRUCTIONS_MAX),
    };
    int rc = cs_burst_open(&bursts, out, err);
    if (rc == -ESRCH && config->target == CS_TARGET_COMMAND)
        return 0; /* it has ended already */
    if (rc < 0 && !asked) {
        remark("no bursts: %s", err->text);
        return 0;
    }
    return rc;
}

void record_bursts_summary(struct cs_burst *burst)
{
    struct cs_burst_statistics s;
    cs_burst_statistics(burst, &s);
    fprintf(stderr, "%s burst%s, %s instruction%s traced", thousands((double)s.bursts).text,
            plural((double)s.bursts), thousands((double)s.instructions).text, plural((double)s.instructions));
    if (s.bursts)
        fprintf(stderr,
                "; each paused a thread for %.2f ms (median), %.2f ms (99th percentile), %.2f ms at most",
                s.stopped_median_us / 1e3, s.stopped_p99_us / 1e3, s.stopped_max_us / 1e3);
    fputs("\n", stderr);
    if (!s.bursts && !s.triggers)
        fputs("  the program spent too little time in user code, or ended too early: run it for at least 2 "
              "s, or raise --burst-rate\n",
              stderr);
    for (unsigned i = 1; i < CS_BURST_CAUSE_N; i++)
        if (s.end[i] * 100 > s.bursts)
            fprintf(stderr, "  %llu burst%s ended early: %s\n", (unsigned long long)s.end[i],
                    plural((double)s.end[i]), cs_burst_cause_sentence(i));
    for (unsigned i = 1; i < CS_BURST_SKIP_N; i++)
        if (s.skip[i] * 100 > s.triggers)
            fprintf(stderr, "  %llu burst%s skipped: %s\n", (unsigned long long)s.skip[i],
                    plural((double)s.skip[i]), cs_burst_skip_sentence(i));
}

json_t *record_bursts_json(struct cs_burst *burst)
{
    struct cs_burst_statistics s;
    if (!burst)
        return json_null();
    cs_burst_statistics(burst, &s);
    json_t *skipped = json_object(), *stops = json_array();
    for (unsigned i = 0; i < CS_BURST_STOP_CLASSES; i++)
        if (s.stops[i])
            json_array_append_new(stops,
                                  json_pack("[i, i]", (int)(i * CS_BURST_STOP_CLASS_US), (int)s.stops[i]));
    for (unsigned i = 1; i < CS_BURST_SKIP_N; i++)
        if (s.skip[i])
            json_object_set_new(skipped, cs_burst_skip_name(i), json_integer((json_int_t)s.skip[i]));
    return json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:o, s:o}", "made", (json_int_t)s.bursts,
                     "triggers", (json_int_t)s.triggers, "instructions", (json_int_t)s.instructions,
                     "runners", (json_int_t)s.runners, "stopped_seconds", (double)s.stopped_ns * 1e-9,
                     "longest_stop_us", s.stopped_max_us, "cpu_seconds", s.cpu_us * 1e-6, "skipped", skipped,
                     "stops_us", stops);
}
