/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JUnit XML: a check is a test case. Slower is a failure; a required check that can't tell is an error, another one is skipped. */
#include "cli/gate/report/report.h"
#include "store/base/text.h"

#include <string.h>

/* An attribute's or an element's text. Cleaning leaves valid UTF-8 without controls; XML has no U+FFFE and U+FFFF either. */
static void put_text(FILE *to, const char *text)
{
    char clean[1200];
    cs_text_clean(clean, sizeof clean, text, strlen(text));
    for (const char *c = clean; *c; c++)
        if (strchr("&<>\"'", *c))
            fprintf(to, "&#%d;", *c);
        else if (strncmp(c, "\xEF\xBF", 2) == 0 &&
                 ((unsigned char)c[2] == 0xBE || (unsigned char)c[2] == 0xBF)) {
            fputc('?', to);
            c += 2;
        } else
            fputc(*c, to);
}

static const char *element_of(const struct gate_check *c)
{
    if (c->verdict == GATE_SLOWER)
        return "failure";
    return c->verdict != GATE_CANT_TELL ? NULL : c->required ? "error" : "skipped";
}

int gate_junit(const struct gate *gate, FILE *to)
{
    size_t failures = 0, errors = 0, skipped = 0;
    for (size_t i = 0; i < gate->n_checks; i++) {
        const char *element = element_of(&gate->check[i]);
        failures += element && *element == 'f';
        errors += element && *element == 'e';
        skipped += element && *element == 's';
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", to);
    fprintf(to,
            "<testsuite name=\"cyclescope gate\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
            "skipped=\"%zu\">\n",
            gate->n_checks, failures, errors, skipped);
    for (size_t i = 0; i < gate->n_checks; i++) {
        const struct gate_check *c = &gate->check[i];
        const char *element = element_of(c);
        fputs("  <testcase classname=\"cyclescope.gate\" name=\"", to);
        put_text(to, c->name);
        fputs("\">", to);
        if (element) {
            fprintf(to, "<%s message=\"", element);
            put_text(to, c->sentence);
            fputs("\"/>", to);
        } else {
            fputs("<system-out>", to);
            put_text(to, c->sentence);
            fputs("</system-out>", to);
        }
        fputs("</testcase>\n", to);
    }
    fputs("</testsuite>\n", to);
    return ferror(to) ? -1 : 0;
}
