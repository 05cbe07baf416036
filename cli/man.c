/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Man pages from the same entries as --help: `cyclescope --man NAME`, NAME a subcommand or "cyclescope". */
#include "cli/generate.h"
#include "cli/tasks.h"

#include <stdio.h>
#include <string.h>

static void put(const char *text)
{
    for (bool start = true; *text; text++) {
        if (start && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else
            fputc(*text, stdout);
        start = *text == '\n';
    }
}

/* Paragraphs of --help: lines that begin with a blank are shown as they stand, an empty line ends a
 * paragraph. */
static void put_paragraphs(const char *text)
{
    bool literal = false;
    while (*text) {
        size_t n = strcspn(text, "\n");
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        bool indented = line[0] == ' ';
        if (indented != literal)
            puts(indented ? ".nf\n.RS" : ".RE\n.fi");
        literal = indented;
        if (n == 0) {
            puts(".PP");
        } else {
            put(line);
            fputc('\n', stdout);
        }
        text += n + (text[n] == '\n');
    }
    if (literal)
        puts(".RE\n.fi");
}

static void put_options(const struct option_entry *e)
{
    for (; e->name; e++) {
        puts(".TP");
        printf(".B ");
        if (e->letter)
            printf("\\-%c, ", e->letter);
        fputs("\\-\\-", stdout);
        put(e->name);
        if (e->argument) {
            fputs(" \\fI", stdout);
            put(e->argument);
            fputs("\\fR", stdout);
        }
        fputc('\n', stdout);
        put(e->help);
        fputc('\n', stdout);
    }
}

/* Commands, each with the lines below that say what it does. */
static void put_examples(const char *text)
{
    puts(".SH EXAMPLES");
    while (*text) {
        size_t n = strcspn(text, "\n"), blanks = strspn(text, " ");
        char line[256];
        snprintf(line, sizeof line, "%.*s", (int)(n - (blanks < n ? blanks : n)),
                 text + (blanks < n ? blanks : n));
        puts(blanks ? ".RS" : ".PP\n.nf");
        if (!blanks)
            fputs(".B ", stdout);
        put(line);
        puts(blanks ? "\n.RE" : "\n.fi");
        text += n + (text[n] == '\n');
    }
}

static void head(const char *title, const char *name, const char *summary)
{
    printf(".TH \"%s\" 1 \"\" \"cyclescope %s\" \"cyclescope\"\n.SH NAME\n", title, CS_VERSION);
    put(name);
    fputs(" \\- ", stdout);
    put(summary);
    fputc('\n', stdout);
}

static void foot(void)
{
    puts(".SH EXIT STATUS\n0 done, 1 failed (one sentence on standard error says why), 2 wrong usage.");
    puts(".SH ENVIRONMENT\n.TP\n.B CYCLESCOPE_STORE\nthe profile store, if no option names one\n"
         ".TP\n.B NO_COLOR\nno colours on a terminal\n.TP\n.B CYCLESCOPE_PAGER, PAGER\nthe pager of long "
         "output\n.TP\n.B CYCLESCOPE_CACHE\na cache of function lists and facts of this machine (default: "
         "$XDG_CACHE_HOME/cyclescope, ~/.cache/cyclescope; empty: none). It may be removed at any "
         "time\n.TP\n.B DEBUGINFOD_URLS\nservers that reports ask (by debuginfod-find) for missing "
         "executables and debug files; unset: none\n.TP\n.B DEBUGINFOD_MAXTIME\nlongest time in seconds that "
         "a report waits for them in all (60)\n.TP\n.B CYCLESCOPE_DEBUG_PATH\na folder of executables and "
         "debug files (.build-id/XX/REST, REST.debug)");
}

int print_man(const char *name)
{
    if (strcmp(name, "cyclescope") == 0) {
        head("CYCLESCOPE", "cyclescope", "a profiler that shows the slow line and why it is slow");
        puts(".SH SYNOPSIS\n.B cyclescope\n.I SUBCOMMAND\n[\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]");
        puts(".SH DESCRIPTION\nAn interrupt sampler and an observer thread on a neighbouring CPU fill one "
             "profile store. The sampler can run for months. Reports show where the cycles went and "
             "why.\n.SH SUBCOMMANDS");
        for (const struct command *const *c = commands; *c; c++) {
            printf(".TP\n.BR cyclescope\\-%s (1)\n", (*c)->name);
            put((*c)->summary);
            fputc('\n', stdout);
        }
        foot();
        puts(".SH SEE ALSO\n.BR cyclescope\\-store (5), cyclescope\\-log (5), cyclescope\\-json (5)");
        return CS_EXIT_OK;
    }
    for (const struct command *const *c = commands; *c; c++) {
        if (strcmp((*c)->name, name) != 0)
            continue;
        char page[64];
        snprintf(page, sizeof page, "cyclescope-%s", name);
        head(page, page, (*c)->summary);
        printf(".SH SYNOPSIS\n.B cyclescope %s\n[\\fIOPTION\\fR...] ", name);
        put((*c)->operands);
        puts("\n.SH DESCRIPTION");
        put_paragraphs((*c)->details ? (*c)->details : (*c)->summary);
        puts(".SH OPTIONS");
        put_options((*c)->options);
        put_options(common_options);
        if (examples_of(name))
            put_examples(examples_of(name));
        foot();
        puts(".SH SEE ALSO\n.BR cyclescope (1)");
        return CS_EXIT_OK;
    }
    return usage_error("--man %s: there is no such subcommand", name);
}
