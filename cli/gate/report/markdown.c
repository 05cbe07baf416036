/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A summary for a pull request, and annotations of a pipeline. Names come from programs: in Markdown they are code spans without
 * backquotes, in an annotation all that its format reads is escaped. */
#include "cli/gate/report/report.h"
#include "store/base/text.h"

#include <math.h>
#include <string.h>

#define CHECKS_SHOWN 50

/* A cell's text as a code span. */
static void put_code(FILE *to, const char *text)
{
    char clean[512];
    cs_text_clean(clean, sizeof clean, text, strlen(text));
    fputc('`', to);
    for (const char *c = clean; *c; c++)
        fputc(*c == '`' ? '\'' : *c == '|' ? '/' : *c, to);
    fputc('`', to);
}

static void put_percent(FILE *to, bool known, double share)
{
    if (known && isfinite(share))
        fprintf(to, " %+.2f %% |", 100 * share);
    else
        fputs(" |", to);
}

int gate_markdown(const struct gate *gate, FILE *to)
{
    fprintf(to, "### cyclescope gate: %s\n\n", gate_verdict_names[gate->verdict]);
    fputs("| check | verdict | change | from | to | would see |\n|---|---|---:|---:|---:|---:|\n", to);
    for (size_t i = 0; i < gate->n_checks && i < CHECKS_SHOWN; i++) {
        const struct gate_check *c = &gate->check[i];
        fputs("| ", to);
        put_code(to, c->name);
        fprintf(to, " | %s |", gate_verdict_names[c->verdict]);
        put_percent(to, c->known, c->estimate.change);
        put_percent(to, c->known, c->estimate.low);
        put_percent(to, c->known, c->estimate.high);
        put_percent(to, c->known, c->estimate.visible);
        fputc('\n', to);
    }
    if (gate->n_checks > CHECKS_SHOWN)
        fprintf(to, "\n%zu more checks are in the JSON.\n", gate->n_checks - CHECKS_SHOWN);
    if (gate->n_guilty)
        fputs("\n| growth | what | where | line | cause |\n|---:|---|---|---|---|\n", to);
    for (size_t i = 0; i < gate->n_guilty; i++) {
        const struct gate_guilty *g = &gate->guilty[i];
        fprintf(to, "| %+.2f %% | %s | ", g->share, g->kind);
        put_code(to, g->function);
        fputs(" | ", to);
        if (g->file) {
            char line[1200];
            snprintf(line, sizeof line, "%.1100s:%u", g->file, g->line);
            put_code(to, line);
        }
        fprintf(to, " | %s |\n", g->cause_text);
    }
    fputc('\n', to);
    for (size_t i = 0; i < gate->n_checks && i < CHECKS_SHOWN; i++)
        if (gate->check[i].verdict == GATE_CANT_TELL || gate->check[i].verdict == GATE_SLOWER) {
            fputs("- ", to);
            put_code(to, gate->check[i].name);
            fprintf(to, ": %s: %s.\n", gate_verdict_names[gate->check[i].verdict], gate->check[i].sentence);
        }
    for (size_t i = 0; i < gate->n_notes; i++)
        fprintf(to, "- %s\n", gate->note[i]);
    return ferror(to) ? -1 : 0;
}

/* As the workflow's runner reads them: %, CR and LF everywhere, and in properties also : and , */
static void put_escaped(FILE *to, const char *text, bool property)
{
    char clean[1200];
    cs_text_clean(clean, sizeof clean, text, strlen(text));
    for (const char *c = clean; *c; c++)
        if (*c == '%' || (property && (*c == ':' || *c == ',')))
            fprintf(to, "%%%02X", (unsigned)(unsigned char)*c);
        else
            fputc(*c, to);
}

void gate_annotations(const struct gate *gate, FILE *to)
{
    const char *level = gate->verdict == GATE_SLOWER      ? "error"
                        : gate->verdict == GATE_CANT_TELL ? "warning"
                                                          : "notice";
    char sentence[1024];
    for (size_t i = 0; i < gate->n_guilty; i++) {
        const struct gate_guilty *g = &gate->guilty[i];
        fprintf(to, "::%s ", level);
        if (g->file) {
            fputs("file=", to);
            put_escaped(to, gate_relative(g->file), true);
            fprintf(to, ",line=%u,", g->line);
        }
        fprintf(to, "title=%s::", gate_verdict_names[gate->verdict]);
        put_escaped(to, g->function, false);
        fprintf(to, " (%s) grew by %.2f %%25 of the time of a run\n", g->kind, g->share);
    }
    gate_sentence(gate, sentence, sizeof sentence);
    fprintf(to, "::%s title=cyclescope gate::", level);
    put_escaped(to, sentence, false);
    fputc('\n', to);
}
