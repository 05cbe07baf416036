/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of a subcommand, parsed by its entry, and how the subcommand reads them. */
#include "cli/command/parsed.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

const struct option_entry common_options[] = {
    {"help", 'h', NULL, "show this help"},
    {"json", 0, NULL, "print JSON instead of text (stable, documented in cyclescope-json(5))"},
    {"csv", 0, NULL, "print the tables as CSV"},
    {NULL, 0, NULL, NULL},
};

const char *option_nth(const struct parsed *args, const char *name, unsigned i)
{
    for (unsigned k = 0; k < args->n_given; k++)
        if (strcmp(args->given[k].name, name) == 0 && i-- == 0)
            return args->given[k].value;
    return NULL;
}

const char *option(const struct parsed *args, const char *name)
{
    const char *last = NULL, *value;
    for (unsigned i = 0; (value = option_nth(args, name, i)) != NULL; i++)
        last = value;
    return last;
}

bool option_given(const struct parsed *args, const char *name)
{
    return option(args, name) != NULL;
}
int operand_count(const struct parsed *args)
{
    return args->n_operands;
}
const char *operand(const struct parsed *args, int i)
{
    return i < args->n_operands ? args->operands[i] : NULL;
}
char **operand_vector(const struct parsed *args)
{
    return args->operands;
}

const char *store_location(const struct parsed *args)
{
    const char *path = option(args, "store");
    path = path ? path : option(args, "output");
    path = path ? path : getenv("CYCLESCOPE_STORE");
    return path && *path ? path : "cyclescope.store";
}

double option_number(const struct parsed *args, const char *name, double fallback, double least, double most)
{
    const char *text = option(args, name);
    if (!text)
        return fallback;
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    const char *suffixes = "kMG";
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    for (long i = suffix ? suffix - suffixes : -1; i >= 0; i--)
        value *= 1000;
    if (suffix)
        end++;
    if (end == text || *end || errno || !(value >= least && value <= most)) {
        usage_error("--%s %s: expected a number from %g to %g", name, text, least, most);
        exit(CS_EXIT_USAGE);
    }
    return value;
}

int parse_options(const struct command *c, int argc, char **argv, struct parsed *args)
{
    const struct option_entry *all[OPTIONS_MAX];
    struct option longs[OPTIONS_MAX + 1];
    char shorts[2 * OPTIONS_MAX + 4] = "+:";
    size_t n_shorts = 2;
    int n = 0;
    const struct option_entry *const lists[] = {c->options, common_options};
    for (int l = 0; l < 2; l++) {
        for (const struct option_entry *e = lists[l]; e->name && n < OPTIONS_MAX; e++, n++) {
            all[n] = e;
            longs[n] =
                (struct option){e->name, e->argument ? required_argument : no_argument, NULL, 1000 + n};
            if (e->letter) {
                shorts[n_shorts++] = e->letter;
                if (e->argument)
                    shorts[n_shorts++] = ':';
            }
        }
    }
    longs[n] = (struct option){NULL, 0, NULL, 0};
    shorts[n_shorts] = '\0';

    opterr = 0;
    optind = 1;
    /* Options may follow operands (`prof STORE --json`), but nothing after "--" is touched. */
    char **operands = calloc((size_t)argc + 1, sizeof *operands);
    if (!operands)
        return -ENOMEM;
    args->operands = operands;
    while (optind < argc) {
        int got = getopt_long(argc, argv, shorts, longs, NULL);
        if (got == -1) {
            if (optind > 1 && strcmp(argv[optind - 1], "--") == 0)
                break;
            if (optind < argc)
                operands[args->n_operands++] = argv[optind++];
            continue;
        }
        if (got == '?' || got == ':') {
            const char *what = argv[optind - 1];
            usage_error(got == ':' ? "%s needs a value" : "unknown option %s", what);
            return -EINVAL;
        }
        const struct option_entry *e = NULL;
        for (int i = 0; i < n; i++)
            if (got == 1000 + i || (all[i]->letter && got == all[i]->letter)) {
                e = all[i];
                break;
            }
        if (e && args->n_given < GIVEN_MAX) {
            args->given[args->n_given].name = e->name;
            args->given[args->n_given++].value = e->argument ? optarg : "";
        }
    }
    while (optind < argc)
        operands[args->n_operands++] = argv[optind++];
    return 0;
}

void parsed_fini(struct parsed *args)
{
    free(args->operands);
}
