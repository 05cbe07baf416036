/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main: finds the subcommand, parses its options by its entry, prints help. */
#include "cli/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIVEN_MAX 256
#define OPTIONS_MAX 64

struct parsed {
    struct {
        const char *name, *value;
    } given[GIVEN_MAX];
    unsigned n_given;
    char **operands;
    int n_operands;
};

static const char *current = "";

static const struct option_entry common[] = {
    {"help", 'h', NULL, "show this help"},
    {"json", 0, NULL, "print JSON instead of text (stable, documented in cyclescope-json(5))"},
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

int failed_with(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "cyclescope %s: ", current);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return CS_EXIT_FAILED;
}

int failed(const struct cs_error *err)
{
    return failed_with("%s", err->text);
}

int usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "cyclescope%s%s: ", *current ? " " : "", current);
    vfprintf(stderr, format, args);
    fprintf(stderr, "; see cyclescope %s%s--help\n", current, *current ? " " : "");
    va_end(args);
    return CS_EXIT_USAGE;
}

static void print_options(const struct option_entry *entries)
{
    for (; entries->name; entries++) {
        char left[64];
        snprintf(left, sizeof left, "%c%c%s--%s%s%s", entries->letter ? '-' : ' ',
                 entries->letter ? entries->letter : ' ', entries->letter ? ", " : "  ", entries->name,
                 entries->argument ? " " : "", entries->argument ? entries->argument : "");
        printf("  %-28s %s\n", left, entries->help);
    }
}

static void print_command_help(const struct command *c)
{
    printf("usage: cyclescope %s [OPTION...]%s%s\n\n%s\n", c->name, *c->operands ? " " : "", c->operands,
           c->summary);
    if (c->details)
        printf("\n%s\n", c->details);
    printf("\noptions:\n");
    print_options(c->options);
    print_options(common);
}

static void print_help(void)
{
    printf("cyclescope %s: a performance microscope for Linux\n\n"
           "usage: cyclescope SUBCOMMAND [OPTION...] [OPERAND...]\n\n",
           CS_VERSION);
    for (const struct command *const *c = commands; *c; c++)
        printf("  %-10s %s\n", (*c)->name, (*c)->summary);
    printf("\n`cyclescope SUBCOMMAND --help` tells the rest. New here? `cyclescope doctor` first.\n");
}

static int parse(const struct command *c, int argc, char **argv, struct parsed *args)
{
    const struct option_entry *all[OPTIONS_MAX];
    struct option longs[OPTIONS_MAX + 1];
    char shorts[2 * OPTIONS_MAX + 4] = "+:";
    size_t n_shorts = 2;
    int n = 0;
    const struct option_entry *const lists[] = {c->options, common};
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

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help();
        return argc < 2 ? CS_EXIT_USAGE : CS_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("cyclescope %s\n", CS_VERSION);
        return CS_EXIT_OK;
    }
    const struct command *const *c = commands;
    while (*c && strcmp((*c)->name, argv[1]) != 0)
        c++;
    if (!*c)
        return usage_error("there is no subcommand %s", argv[1]);
    current = (*c)->name;

    struct parsed args = {.n_given = 0};
    int rc = CS_EXIT_USAGE;
    if (parse(*c, argc - 1, argv + 1, &args) == 0) {
        if (option_given(&args, "help")) {
            print_command_help(*c);
            rc = CS_EXIT_OK;
        } else {
            rc = (*c)->run(&args);
        }
    }
    free(args.operands);
    if (fflush(stdout) != 0 && rc == CS_EXIT_OK)
        rc = failed_with("could not write the output: %s", strerror(errno));
    return rc;
}
