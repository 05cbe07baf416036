/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GCC's AutoFDO profile (gcc -fauto-profile=FILE), version 2. As gcc/auto-profile.cc reads it: 32-bit words.
 * A string is its length in bytes with the NUL (from GCC 12 on) and those bytes. A counter is two words, the
 * low one first. */
#include "exchange/export/source_profile.h"

#include <errno.h>
#include <string.h>

enum {
    MAGIC = 0x67636461, /* "gcda" */
    VERSION = 2,
    TAG_FILE_NAMES = (int)0xaa000000,
    TAG_FUNCTION = (int)0xac000000,
    TAG_MODULES = (int)0xae000000,
    TAG_WORKING_SET = (int)0xaf000000,
    WORKING_SETS = 128, /* pairs of a number and a counter; GCC doesn't read them */
};

struct writer {
    FILE *to;
    struct cs_table *names; /* its dictionary numbers them */
    int64_t n_names;
};

static void word(FILE *to, uint32_t value)
{
    fwrite(&value, sizeof value, 1, to);
}

static void counter(FILE *to, double count)
{
    uint64_t value = (uint64_t)(count + 0.5);
    word(to, (uint32_t)value);
    word(to, (uint32_t)(value >> 32));
}

static uint32_t number_of(struct writer *w, const char *name)
{
    int64_t index = cs_table_text(w->names, name);
    if (index >= w->n_names)
        w->n_names = index + 1;
    return index < 0 ? 0 : (uint32_t)index;
}

static void collect_names(struct writer *w, const struct cs_export_source_function *f)
{
    number_of(w, f->name);
    for (unsigned i = 0; i < f->n_sites; i++)
        for (unsigned k = 0; k < f->sites[i].n_calls; k++)
            number_of(w, f->sites[i].calls[k].callee);
    for (unsigned i = 0; i < f->n_inlined; i++)
        collect_names(w, &f->inlined[i]);
}

static uint32_t packed(uint32_t line, uint32_t discriminator)
{
    return line << 16 | (discriminator & 0xffff);
}

static void function(struct writer *w, const struct cs_export_source_function *f)
{
    enum { INDIRECT_CALL = 7 }; /* HIST_TYPE_INDIR_CALL_TOPN; the reader ignores the kind */
    word(w->to, number_of(w, f->name));
    word(w->to, f->n_sites);
    word(w->to, f->n_inlined);
    for (unsigned i = 0; i < f->n_sites; i++) {
        const struct cs_export_source_site *site = &f->sites[i];
        word(w->to, packed(site->line, site->discriminator));
        word(w->to, site->n_calls);
        counter(w->to, site->count);
        for (unsigned k = 0; k < site->n_calls; k++) {
            word(w->to, INDIRECT_CALL);
            counter(w->to, number_of(w, site->calls[k].callee));
            counter(w->to, site->calls[k].count);
        }
    }
    for (unsigned i = 0; i < f->n_inlined; i++) {
        word(w->to, packed(f->inlined[i].line, f->inlined[i].discriminator));
        function(w, &f->inlined[i]);
    }
}

static void string(FILE *to, const char *text, bool words)
{
    uint32_t bytes = (uint32_t)strlen(text) + 1, padded = (bytes + 3) & ~3u;
    word(to, words ? padded / 4 : bytes);
    fwrite(text, 1, bytes, to);
    for (uint32_t i = bytes; words && i < padded; i++)
        fputc(0, to);
}

static int write_either(struct cs_export *from, FILE *to, bool words, struct cs_error *err)
{
    struct cs_export_source_profile profile;
    struct writer w = {to, cs_table_open(&cs_schema_stacks), 0};
    int rc = w.names ? cs_export_source_profile_open(from, CS_EXPORT_DISCRIMINATORS_PLAIN, &profile, err)
                     : cs_fail(err, ENOMEM, "out of memory");
    if (rc < 0) {
        cs_table_close(w.names);
        return rc;
    }
    for (unsigned i = 0; i < profile.n_functions; i++)
        collect_names(&w, &profile.functions[i]);
    word(to, MAGIC);
    word(to, VERSION);
    word(to, 0);
    word(to, (uint32_t)TAG_FILE_NAMES);
    word(to, 0); /* the sections' lengths are skipped by the reader */
    word(to, (uint32_t)w.n_names);
    for (int64_t i = 0; i < w.n_names; i++)
        string(to, cs_table_string(w.names, (uint64_t)i), words);
    word(to, (uint32_t)TAG_FUNCTION);
    word(to, 0);
    word(to, profile.n_functions);
    for (unsigned i = 0; i < profile.n_functions; i++) {
        counter(to, profile.functions[i].head);
        function(&w, &profile.functions[i]);
    }
    word(to, (uint32_t)TAG_MODULES);
    word(to, 0);
    word(to, 0);
    word(to, (uint32_t)TAG_WORKING_SET);
    word(to, 3 * WORKING_SETS);
    for (unsigned i = 0; i < 3 * WORKING_SETS; i++)
        word(to, 0);
    cs_table_close(w.names);
    cs_export_source_loss_text(&profile.loss, from->note, sizeof from->note);
    cs_export_source_profile_close(&profile);
    return 0;
}

static int write_gcov(struct cs_export *from, FILE *to, struct cs_error *err)
{
    return write_either(from, to, false, err);
}
static int write_gcov11(struct cs_export *from, FILE *to, struct cs_error *err)
{
    return write_either(from, to, true, err);
}

const struct cs_exporter cs_export_gcov = {"gcov", true, write_gcov};
const struct cs_exporter cs_export_gcov11 = {"gcov11", true, write_gcov11};
