/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/explain/explain.h"
#include "cli/output/hint.h"
#include "cli/output/memory.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_MAX 2000 /* bytes: a longer one is for the reader to type */

void explain_number(struct explanation *e, const char *what, double value, double low, double high,
                    const char *unit)
{
    assert(e->n_evidence <= EXPLAIN_EVIDENCE_MAX && what && unit);
    if (e->n_evidence < EXPLAIN_EVIDENCE_MAX)
        e->evidence[e->n_evidence++] =
            (struct explain_evidence){.what = what, .value = value, .low = low, .high = high, .unit = unit};
}

void explain_text(struct explanation *e, const char *what, const char *text)
{
    const size_t n = e->n_evidence;
    explain_number(e, what, NAN, NAN, NAN, "");
    if (e->n_evidence > n)
        snprintf(e->evidence[n].text, sizeof e->evidence[n].text, "%s", text);
}

char *explain_store_word(const struct parsed *args)
{
    const char *store = option(args, "store");
    char *word = store ? hint_word(store) : NULL, *text = NULL;
    if (store && word && asprintf(&text, " --store %s", word) < 0)
        need(NULL);
    free(word);
    return store ? text : need(strdup(""));
}

/* An argument may begin like an option: it comes after "--". */
static char *argument_word(const char *argument)
{
    if (*argument != '-')
        return hint_word(argument);
    char *word = hint_word(argument + 1), *whole = NULL;
    if (word && asprintf(&whole, "-%s", word) < 0)
        need(NULL);
    free(word);
    return whole;
}

/* The newest recording's command. "COMMAND" where the recording doesn't say it, or where it can't be pasted. */
static char *recorded_command(struct cs_store *store)
{
    struct cs_error ignored = {0};
    const struct cs_store_epoch *epochs;
    size_t n = 0, at = 0;
    if (cs_store_epochs(store, &epochs, &n, &ignored) < 0)
        n = 0;
    while (at < n && !cs_store_sees(store, epochs[at].name))
        at++;
    json_t *meta = at < n ? json_loads(epochs[at].meta, 0, NULL) : NULL;
    const json_t *arguments = json_object_get(meta, "arguments");
    char *all = json_array_size(arguments) ? need(strdup("")) : NULL;
    for (size_t i = 0; all && i < json_array_size(arguments); i++) {
        const char *argument = json_string_value(json_array_get(arguments, i));
        char *word = argument && (i || *argument != '-') ? argument_word(argument) : NULL, *longer = NULL;
        if (word && strlen(all) + strlen(word) < COMMAND_MAX &&
            asprintf(&longer, "%s%s%s", all, *all ? " " : "", word) < 0)
            need(NULL);
        free(word);
        free(all);
        all = longer;
    }
    json_decref(meta);
    return all ? all : need(strdup("COMMAND"));
}

void explain_verify(struct explanation *e, const struct parsed *args, struct cs_store *store, bool waits)
{
    char *where = explain_store_word(args), *command = recorded_command(store);
    const char *option = waits ? " --waits" : "";
    if (where && asprintf(&e->verify, "cyclescope record%s%s -- %s && cyclescope diff%s%s", option, where,
                          command, option, where) < 0)
        need(NULL);
    free(where);
    free(command);
}
