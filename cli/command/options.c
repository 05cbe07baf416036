/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of a subcommand, parsed by its entry, and how the subcommand reads them. */
#include "cli/command/figures.h"
#include "cli/command/parsed.h"
#include "store/base/text.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
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
    bool old = last && strcmp(name, "by") == 0 && strcmp(last, "procedure") == 0; /* its word until 0.2 */
    return old ? "function" : last;
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
    path = path ? path : getenv("CYCLESCOPE_STORE");
    return path && *path ? path : "cyclescope.store";
}

double option_number(const struct parsed *args, const char *name, double fallback, double least, double most)
{
    assert(least <= most);
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
        char from[48], to[48];
        usage_error("--%s %s: expected a number from %s to %s", name, text, figures(least, 6, from),
                    figures(most, 6, to));
        exit(CS_EXIT_USAGE);
    }
    return value;
}

const char *option_joined(const struct parsed *args, const char *name, char *to, size_t size)
{
    size_t used = 0;
    const char *value;
    for (unsigned i = 0; (value = option_nth(args, name, i)) != NULL; i++) {
        int n = snprintf(to + used, size - used, "%s%s", i ? "," : "", value);
        if (n < 0 || (size_t)n >= size - used)
            return NULL;
        used += (size_t)n;
    }
    return used ? to : NULL;
}

unsigned option_choice(const struct parsed *args, const char *name, const char *const *choices,
                       unsigned fallback)
{
    assert(choices && choices[0]);
    const char *text = option(args, name);
    char all[256];
    size_t used = 0;
    for (unsigned i = 0; text && choices[i]; i++) {
        if (strcmp(choices[i], text) == 0)
            return i;
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s",
                                 i == 0           ? ""
                                 : choices[i + 1] ? ", "
                                                  : " or ",
                                 choices[i]);
    }
    if (text) {
        struct cs_resembling r = {.word = text};
        for (unsigned i = 0; choices[i]; i++)
            cs_resembling_try(&r, choices[i]);
        usage_error("--%s %s: expected %s%s", name, text, all, cs_did_you_mean(&r).text);
        exit(CS_EXIT_USAGE);
    }
    return fallback;
}

double option_seconds(const struct parsed *args, const char *name, double fallback)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    const char *text = option(args, name);
    if (!text)
        return fallback;
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; end != text && value >= 0 && value < 1e12 && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0)
            return value * units[i].seconds;
    usage_error("--%s %s: expected a time, as 10m or 90d", name, text);
    exit(CS_EXIT_USAGE);
}

static int collect(const struct command *c, struct option_entry *known)
{
    int n = 0;
    const struct option_entry *const lists[] = {c->options, common_options};
    for (int l = 0; l < 2; l++)
        for (const struct option_entry *e = lists[l]; e->name && n < OPTIONS_MAX; e++)
            known[n++] = *e;
    return n;
}

static int named(const struct option_entry *known, int n, const char *name)
{
    int i = 0;
    while (i < n && strcmp(known[i].name, name) != 0)
        i++;
    return i < n ? i : -1;
}

/* A pair of switches --x and --no-x may also be written --x on, --x off. */
static const char *switched(const struct option_entry *known, int n, const struct option_entry *k, int argc,
                            char **argv)
{
    char no[64];
    const char *word = optarg ? optarg : optind < argc ? argv[optind] : "";
    snprintf(no, sizeof no, "no-%s", k->name);
    for (int i = 0; i < n; i++)
        if (strcmp(known[i].name, no) == 0 && (strcmp(word, "on") == 0 || strcmp(word, "off") == 0)) {
            optind += !optarg;
            return strcmp(word, "on") == 0 ? k->name : known[i].name;
        }
    return optarg ? NULL : k->name;
}

static void unknown_option(const char *what, const struct option_entry *known, int n)
{
    char word[64];
    struct cs_resembling r = {.word = word + 2};
    snprintf(word, sizeof word, "%.*s", (int)strcspn(what, "="), what);
    for (int i = 0; i < n && strncmp(what, "--", 2) == 0; i++) {
        char typed[64];
        snprintf(typed, sizeof typed, "--%s", known[i].name);
        cs_resembling_try_as(&r, known[i].name, typed);
    }
    usage_error("unknown option %s%s", what, cs_did_you_mean(&r).text);
}

/* A folder with recordings in it: folders named by their time, as 20261130T140051Z-host. */
static bool has_recordings(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    bool has = false;
    while (folder && !has && (entry = readdir(folder)) != NULL)
        has = strlen(entry->d_name) > 16 && strspn(entry->d_name, "0123456789") == 8 &&
              entry->d_name[8] == 'T' && strspn(entry->d_name + 9, "0123456789") == 6 &&
              entry->d_name[15] == 'Z';
    if (folder)
        closedir(folder);
    return has;
}

/* Many write `explain STORE` after `prof STORE`: where only a function is expected, a store is one, too. */
static void take_store(const struct command *c, struct parsed *args)
{
    if ((*c->operands && strncmp(c->operands + (*c->operands == '['), "FUNCTION", 8) != 0) ||
        option_given(args, "store"))
        return;
    for (int i = 0; i < args->n_operands; i++)
        if (args->n_given < GIVEN_MAX && has_recordings(args->operands[i])) {
            args->given[args->n_given].name = "store";
            args->given[args->n_given++].value = args->operands[i];
            args->n_operands--;
            memmove(args->operands + i, args->operands + i + 1,
                    (size_t)(args->n_operands - i + 1) * sizeof *args->operands);
            return;
        }
}

int parse_options(const struct command *c, int argc, char **argv, struct parsed *args)
{
    struct option_entry known[OPTIONS_MAX];
    struct option longs[OPTIONS_MAX + 2];
    char shorts[2 * OPTIONS_MAX + 4] = "+:";
    size_t n_shorts = 2;
    int n = collect(c, known);
    for (int i = 0; i < n; i++) {
        const struct option_entry *e = &known[i];
        longs[i] =
            (struct option){e->name, e->argument ? required_argument : optional_argument, NULL, 1000 + i};
        if (e->letter) {
            shorts[n_shorts++] = e->letter;
            if (e->argument)
                shorts[n_shorts++] = ':';
        }
    }
    int until = named(known, n, "until"), end = n;
    if (until >= 0 && named(known, n, "to") < 0) /* where it means nothing else */
        longs[end++] = (struct option){"to", required_argument, NULL, 1000 + until};
    longs[end] = (struct option){NULL, 0, NULL, 0};
    shorts[n_shorts] = '\0';

    opterr = 0;
    optind = 0; /* begins afresh, whatever an earlier call left */
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
            if (got == ':')
                usage_error("%s needs a value", what);
            else
                unknown_option(what, known, n);
            return -EINVAL;
        }
        const struct option_entry *k = known;
        while (k < known + n && got != 1000 + (int)(k - known) && got != k->letter)
            k++;
        if (k == known + n)
            return -EINVAL; /* getopt gives none but those that it was given */
        const char *name = k->argument ? k->name : switched(known, n, k, argc, argv);
        if (!name) {
            usage_error("--%s takes no value", k->name);
            return -EINVAL;
        }
        if (args->n_given < GIVEN_MAX) {
            args->given[args->n_given].name = name;
            args->given[args->n_given++].value = k->argument ? optarg : "";
        }
    }
    while (optind < argc)
        operands[args->n_operands++] = argv[optind++];
    if (named(known, n, "store") >= 0)
        take_store(c, args);
    return 0;
}

void parsed_fini(struct parsed *args)
{
    free(args->operands);
}
