/* SPDX-License-Identifier: GPL-2.0-or-later */
/* count: the instructions of a command, exactly. */
#include "sampler/count/count.h"
#include "cli/command/command.h"
#include "cli/output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/utsname.h>

static int begin(struct cs_store *store, char **command, struct cs_error *err)
{
    struct utsname host;
    json_t *words = json_array();
    uname(&host);
    for (unsigned i = 0; command[i]; i++)
        json_array_append_new(words, json_text(command[i]));
    json_t *meta =
        json_pack("{s:s, s:o, s:o}", "writer", "count", "host", json_text(host.nodename), "arguments", words);
    char *text = meta ? json_dumps(meta, JSON_COMPACT) : NULL;
    int rc = text ? cs_store_epoch(store, text, err) : cs_fail(err, ENOMEM, "out of memory");
    free(text);
    json_decref(meta);
    return rc;
}

static void report(const struct parsed *args, const char *epoch, const struct cs_count_summary *s)
{
    struct output *out = output_open(args);
    output_set(out, "store", json_text(store_location(args)));
    output_set(out, "recording", json_text(epoch));
    output_set(out, "exit_code", json_integer(s->exit_code));
    output_set(out, "instructions", json_integer((json_int_t)s->instructions));
    output_set(out, "calls", json_integer((json_int_t)s->calls));
    output_set(out, "branches", json_integer((json_int_t)s->branches));
    output_set(out, "system_calls", json_integer((json_int_t)s->system_calls));
    output_set(out, "processes", json_integer((json_int_t)s->processes));
    output_line(out,
                "%" PRIu64 " instructions, %" PRIu64 " calls, %" PRIu64 " conditional branches, %" PRIu64
                " system calls",
                s->instructions, s->calls, s->branches, s->system_calls);
    output_hint(out, "next:", "prof", NULL, "--store", store_location(args), "");
    (void)output_close(out);
}

static int run(const struct parsed *args)
{
    struct cs_error err = {0};
    struct cs_store *store;
    struct cs_count_summary summary = {.exit_code = -1};
    if (operand_count(args) < 1)
        return usage_error("give the command to count, behind --");
    if (cs_store_open(store_location(args), CS_STORE_WRITE, &store, &err) < 0)
        return failed(&err);
    int rc = begin(store, operand_vector(args), &err);
    if (rc == 0)
        rc = cs_count_command(operand_vector(args), option_number(args, "seconds", 0, 0.001, 1e9), store,
                              &summary, &err);
    if (rc == 0)
        report(args, cs_store_epoch_name(store), &summary);
    cs_store_close(store);
    return rc < 0 ? failed(&err) : CS_EXIT_OK;
}

static const struct option_entry options[] = {
    OPTION_STORE,
    OPTION_SECONDS,
    {NULL, 0, NULL, NULL},
};

extern const struct command command_count;
const struct command command_count = {
    "count",
    "-- COMMAND [ARG...]",
    "count a command's instructions exactly, by function, without a PMU",
    "The command runs translated, so that it counts its own instructions. It takes about three times as "
    "long. Addresses aren't random in it. What the store gets are profiles of the events instructions and "
    "instruction-mix; prof, list and diff read them.\n"
    "\n"
    "Programs that make code as they run (JIT) can't be counted. With --seconds, a command that takes longer "
    "is killed, "
    "and nothing is kept. x86-64 only.",
    options,
    run,
};
