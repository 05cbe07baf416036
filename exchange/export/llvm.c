/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LLVM's sample profile, text form (clang -fprofile-sample-use):
 * https://clang.llvm.org/docs/UsersManual.html, "Sample Profile Text Format". */
#include "exchange/export/source_profile.h"

#include <inttypes.h>

static void indent(FILE *to, unsigned depth)
{
    while (depth--)
        fputc(' ', to);
}

static void place(FILE *to, uint32_t line, uint32_t discriminator)
{
    fprintf(to, "%" PRIu32, line);
    if (discriminator)
        fprintf(to, ".%" PRIu32, discriminator);
}

static void body(FILE *to, const struct cs_export_source_function *f, unsigned depth)
{
    for (unsigned i = 0; i < f->n_sites; i++) {
        const struct cs_export_source_site *site = &f->sites[i];
        indent(to, depth);
        place(to, site->line, site->discriminator);
        fprintf(to, ": %.0f", site->count);
        for (unsigned k = 0; k < site->n_calls; k++)
            if (site->calls[k].count >= 0.5 && cs_export_name_is_word(site->calls[k].callee))
                fprintf(to, " %s:%.0f", site->calls[k].callee, site->calls[k].count);
        fputc('\n', to);
    }
    for (unsigned i = 0; i < f->n_inlined; i++) {
        if (!cs_export_name_is_word(f->inlined[i].name))
            continue;
        indent(to, depth);
        place(to, f->inlined[i].line, f->inlined[i].discriminator);
        fprintf(to, ": %s:%.0f\n", f->inlined[i].name, cs_export_source_total(&f->inlined[i]));
        body(to, &f->inlined[i], depth + 1);
    }
}

static int write_llvm(struct cs_export *from, FILE *to, struct cs_error *err)
{
    struct cs_export_source_profile profile;
    int rc = cs_export_source_profile_open(from, CS_EXPORT_DISCRIMINATORS_LLVM, &profile, err);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < profile.n_functions; i++) {
        const struct cs_export_source_function *f = &profile.functions[i];
        if (!cs_export_name_is_word(f->name))
            continue;
        fprintf(to, "%s:%.0f:%.0f\n", f->name, cs_export_source_total(f), f->head);
        body(to, f, 1);
    }
    cs_export_source_loss_text(&profile.loss, from->note, sizeof from->note);
    cs_export_source_profile_close(&profile);
    return 0;
}

const struct cs_exporter cs_export_llvm = {"llvm", false, write_llvm};
