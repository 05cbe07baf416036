/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SARIF 2.1.0: a result for each function or wait that grew, and one for the gate as a whole. */
#include "cli/gate/report/report.h"

#include <string.h>

static json_t *result_of(const char *rule, const char *level, const char *message)
{
    return json_pack("{s:s, s:s, s:{s:o}}", "ruleId", rule, "level", level, "message", "text",
                     json_text(message));
}

static json_t *location_of(const struct gate_guilty *g)
{
    const char *file = gate_relative(g->file);
    json_t *artifact = json_pack("{s:o}", "uri", json_text(file));
    if (*file != '/')
        json_object_set_new(artifact, "uriBaseId", json_string("%SRCROOT%"));
    return json_pack("{s:{s:o, s:{s:i}}}", "physicalLocation", "artifactLocation", artifact, "region",
                     "startLine", g->line ? (int)g->line : 1);
}

int gate_sarif(const struct gate *gate, FILE *to)
{
    const char *level = gate->verdict == GATE_SLOWER      ? "error"
                        : gate->verdict == GATE_CANT_TELL ? "warning"
                                                          : "note";
    char message[1600];
    json_t *results = json_array();
    for (size_t i = 0; i < gate->n_guilty; i++) {
        const struct gate_guilty *g = &gate->guilty[i];
        snprintf(message, sizeof message, "%.1024s (%s) grew by %.2f %% of the time of a run.", g->function,
                 g->kind, g->share);
        json_t *result = result_of("slower", level, message);
        json_t *locations = json_array();
        if (g->file)
            json_array_append_new(locations, location_of(g));
        json_object_set_new(result, "locations", locations);
        json_array_append_new(results, result);
    }
    gate_sentence(gate, message, sizeof message);
    json_array_append_new(results, result_of("gate", level, message));
    json_t *rules = json_pack("[{s:s, s:{s:s}}, {s:s, s:{s:s}}]", "id", "slower", "shortDescription", "text",
                              "A function or a wait that grew", "id", "gate", "shortDescription", "text",
                              "The verdict of head against base");
    json_t *run = json_pack("{s:{s:{s:s, s:s, s:o}}, s:o}", "tool", "driver", "name", "cyclescope gate",
                            "version", CS_VERSION, "rules", rules, "results", results);
    json_t *root = json_pack("{s:s, s:s, s:[o]}", "$schema", "https://json.schemastore.org/sarif-2.1.0.json",
                             "version", "2.1.0", "runs", run);
    if (!root)
        return -1;
    int rc = json_dumpf(root, to, JSON_INDENT(2)) == 0 && fputc('\n', to) != EOF ? 0 : -1;
    json_decref(root);
    return rc;
}
