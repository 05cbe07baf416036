/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main: finds the subcommand, prints help. */
#include "cli/command/parsed.h"
#include "cli/generate.h"
#include "cli/output/wrap.h"
#include "cli/tasks.h"
#include "store/base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_COLUMNS 80

static void print_options(const struct option_entry *entries)
{
    for (; entries->name; entries++) {
        char left[64];
        snprintf(left, sizeof left, "%c%c%s--%s%s%s", entries->letter ? '-' : ' ',
                 entries->letter ? entries->letter : ' ', entries->letter ? ", " : "  ", entries->name,
                 entries->argument ? " " : "", entries->argument ? entries->argument : "");
        printf("  %-26s ", left);
        unsigned at = text_width(left) > 26 ? text_width(left) + 3 : 29;
        text_wrap(stdout, entries->help, HELP_COLUMNS, at, 29);
        putchar('\n');
    }
}

static void print_command_help(const struct command *c)
{
    char usage[512];
    snprintf(usage, sizeof usage, "usage: cyclescope %s [OPTION...]%s%s", c->name, *c->operands ? " " : "",
             c->operands);
    text_wrap(stdout, usage, HELP_COLUMNS, 0, 7);
    printf("\n\n");
    text_flow(stdout, c->summary, HELP_COLUMNS);
    if (c->details) {
        putchar('\n');
        text_flow(stdout, c->details, HELP_COLUMNS);
    }
    printf("\noptions:\n");
    print_options(c->options);
    print_options(common_options);
    if (examples_of(c->name))
        printf("\nexamples:\n");
    for (const char *line = examples_of(c->name); line && *line;) {
        int n = (int)strcspn(line, "\n");
        printf("  %.*s\n", n, line);
        line += n + (line[n] == '\n');
    }
}

static void print_task(const char *name, const char *what)
{
    bool first = true;
    for (const struct command *const *c = commands; *c; c++) {
        const char *task = task_of((*c)->name);
        if (name ? !task || strcmp(task, name) != 0 : task != NULL)
            continue;
        if (first)
            printf("\n%s:\n", what);
        first = false;
        printf("  %-10s ", (*c)->name);
        text_wrap(stdout, (*c)->summary, HELP_COLUMNS, 13, 13);
        putchar('\n');
    }
}

static void print_help(void)
{
    printf("cyclescope %s: a profiler that shows the slow line and why it is slow\n\n"
           "usage: cyclescope SUBCOMMAND [OPTION...] [OPERAND...]\n",
           CS_VERSION);
    for (const struct task *t = tasks; t->name; t++)
        print_task(t->name, t->what);
    print_task(NULL, "other");
    printf("\nThe first minute: cyclescope record -- ./program, then cyclescope prof.\n"
           "`cyclescope SUBCOMMAND --help` tells the rest.\n"
           "What this machine can do: `cyclescope doctor`\n");
}

static int unknown_subcommand(const char *word)
{
    struct cs_resembling r = {.word = word};
    for (const struct command *const *c = commands; *c; c++)
        cs_resembling_try(&r, (*c)->name);
    return usage_error("there is no subcommand %s%s", word, cs_did_you_mean(&r).text);
}

/* `ps` shows everybody our arguments: the password of a URL is taken out of them, and kept for ourselves. */
static void hide_passwords(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *scheme = strstr(argv[i], "://"), *at = scheme ? strchr(scheme, '@') : NULL;
        char *colon = at ? memchr(scheme + 3, ':', (size_t)(at - scheme - 3)) : NULL;
        char *ours = colon ? strdup(argv[i]) : NULL; /* ends with us */
        if (!ours)
            continue;
        memset(colon + 1, '*', (size_t)(at - colon - 1));
        argv[i] = ours;
    }
}

/* What the C library calls when an assertion fails, here in place of its own. A store is replaced file by file, so none is half
 * written. */
_Noreturn void __assert_fail(const char *condition, const char *file, unsigned line, const char *function)
{
    fprintf(stderr,
            "cyclescope: internal error: %s:%u: %s: \"%s\" isn't true. Please report this line. What was "
            "recorded up to the last save is intact.\n",
            file, line, function, condition);
    abort();
}

int main(int argc, char **argv)
{
    hide_passwords(argc, argv);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help();
        return argc < 2 ? CS_EXIT_USAGE : CS_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("cyclescope %s\n", CS_VERSION);
        return CS_EXIT_OK;
    }
    if (strcmp(argv[1], "--man") == 0)
        return print_man(argc > 2 ? argv[2] : "cyclescope");
    if (strcmp(argv[1], "--subcommands") == 0) {
        for (const struct command *const *s = commands; *s; s++)
            puts((*s)->name);
        return CS_EXIT_OK;
    }
    if (strcmp(argv[1], "--completion") == 0)
        return print_completion(argc > 2 ? argv[2] : "bash");
    if (strcmp(argv[1], "--procedures") == 0)
        return print_procedures(argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : NULL);
    const struct command *const *c = commands;
    while (*c && strcmp((*c)->name, argv[1]) != 0)
        c++;
    if (!*c)
        return unknown_subcommand(argv[1]);
    messages_name((*c)->name);

    static struct parsed args; /* not on the stack: `record -a` copies its own, too */
    int rc = CS_EXIT_USAGE;
    if (parse_options(*c, argc - 1, argv + 1, &args) == 0) {
        if (option_given(&args, "help")) {
            print_command_help(*c);
            rc = CS_EXIT_OK;
        } else {
            rc = (*c)->run(&args);
        }
    }
    parsed_fini(&args);
    if (fflush(stdout) != 0 && rc == CS_EXIT_OK)
        rc = failed_with("could not write the output: %s", strerror(errno));
    return rc;
}
