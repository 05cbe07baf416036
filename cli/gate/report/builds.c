/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/report/report.h"

#include "store/base/when.h"

void gate_report_builds(struct output *out, const struct gate_builds *b)
{
    static const struct column columns[] = {
        {.key = "side", .head = "side", .kind = COLUMN_TEXT},
        {.key = "build_id", .head = "build", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "label", .head = "label", .kind = COLUMN_TEXT, .elastic = true, .spare = true},
        {.key = "commit", .head = "commit", .kind = COLUMN_TEXT, .elastic = true, .spare = true},
        {.key = "epochs", .head = "epochs", .kind = COLUMN_COUNT},
        {.key = "times", .head = "from, to", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .head = "image", .kind = COLUMN_TEXT, .elastic = true, .keep_end = true},
    };
    struct table *table = output_table(out, "builds", columns, sizeof columns / sizeof columns[0]);
    for (unsigned side = 0; side < 2; side++) {
        const struct gate_build *one = b->side[side];
        char times[CS_WHEN_RANGE_MAX], brief[13];
        snprintf(brief, sizeof brief, "%.12s", one->id);
        cs_when_range(one->epoch[0].began_ms, one->epoch[one->n_epochs - 1].ended_ms, times);
        table_text(table, side ? "head" : "base");
        table_names(table, one->id, brief);
        table_text(table, *one->label ? one->label : NULL);
        table_text(table, *one->commit ? one->commit : NULL);
        table_count(table, one->n_used);
        table_text(table, times);
        table_text(table, one->path);
    }
    output_line(out, "%s", "");
    if (!b->repository)
        return;
    const struct gate_commits *c = &b->commits;
    json_t *lines = json_array();
    for (size_t i = 0; i < c->n_lines; i++)
        json_array_append_new(lines, json_text(c->line[i]));
    output_set(out, "commits", c->known ? json_integer((json_int_t)c->n) : json_null());
    output_set(out, "commits_backwards", json_boolean(c->backwards));
    output_set(out, "newest_commits", lines);
    if (!c->known)
        output_line(
            out,
            "commits: not known: no git note in %s has the build-ids, and the files name no commit of it",
            b->repository);
    else if (c->n == 0)
        output_line(out, "commits: both builds are of %.12s", b->side[0]->commit);
    else
        output_line(out, "commits: %zu, %.12s..%.12s%s", c->n, b->side[c->backwards]->commit,
                    b->side[!c->backwards]->commit, c->backwards ? ": the head's is the older one" : "");
    for (size_t i = 0; i < c->n_lines; i++)
        output_line(out, "  %s", c->line[i]);
    if (c->n > c->n_lines)
        output_line(out, "  and %zu more", c->n - c->n_lines);
    output_line(out, "%s", "");
}
