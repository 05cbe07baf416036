/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths are on where there are no bursts; elsewhere they are asked for. */
#include "cli/command/figures.h"
#include "cli/record/record.h"

#include <errno.h>
#include <stdio.h>

int record_paths_open(const struct parsed *args, const struct cs_sampler_config *config,
                      struct cs_sampler *sampler, bool bursts, struct recorded_paths *out,
                      struct cs_error *err)
{
    bool asked = option_given(args, "paths") || option_given(args, "path-rate");
    *out = (struct recorded_paths){.paths = NULL};
    if (option_given(args, "no-paths") || (!asked && bursts))
        return 0;
    struct cs_paths_config paths = {
        .sampler = sampler,
        .target = config->target,
        .pid = config->target == CS_TARGET_COMMAND ? cs_sampler_child(sampler) : config->pid,
        .rate_hz = option_number(args, "path-rate", 0, 1, 20000),
        .follow = follow_path,
    };
    int rc = path_follower_open(&out->follower, err);
    paths.arg = out->follower;
    if (rc == 0)
        rc = cs_paths_open(&paths, &out->paths, err);
    if (rc == 0)
        return 0;
    record_paths_close(out);
    if (rc == -ESRCH && config->target == CS_TARGET_COMMAND)
        return 0; /* it has ended already */
    if (!asked && rc == -ENOTSUP)
        return 0;
    if (!asked) {
        remark("no paths: %s", err->text);
        return 0;
    }
    return rc;
}

void record_paths_summary(const struct recorded_paths *paths)
{
    struct cs_paths_statistics s;
    if (!paths->paths)
        return;
    cs_paths_statistics(paths->paths, &s);
    fprintf(stderr, "%s path%s of %s register snapshot%s, %.1f branches each",
            thousands((double)s.paths).text, plural((double)s.paths), thousands((double)s.snapshots).text,
            plural((double)s.snapshots), s.paths ? (double)s.edges / (double)s.paths : 0);
    if (s.lost)
        fprintf(stderr, "; %llu snapshot%s lost (the buffer was full)", (unsigned long long)s.lost,
                plural((double)s.lost));
    fputs("\n", stderr);
}

void record_paths_close(struct recorded_paths *paths)
{
    cs_paths_close(paths->paths);
    path_follower_close(paths->follower);
    *paths = (struct recorded_paths){.paths = NULL};
}
