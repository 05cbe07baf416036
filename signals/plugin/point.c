/* SPDX-License-Identifier: MIT */
#include "signals/plugin/point.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

void cs_point_options_init(struct cs_point_options *options)
{
    *options = (struct cs_point_options){
        .loops = true, .min_body = 20, .min_loop = 80, .short_stretch = 4, .strict = true};
}

static bool number(const char *value, unsigned *out)
{
    char *end;
    const unsigned long n = value && *value ? strtoul(value, &end, 10) : 0;
    if (!value || !*value || *end || n > 1000000)
        return false;
    *out = (unsigned)n;
    return true;
}

static bool counts(struct cs_point_options *o, const char *value)
{
    char copy[128];
    if (!value || strlen(value) >= sizeof copy)
        return false;
    strcpy(copy, value);
    for (char *rest = copy, *word; (word = strsep(&rest, ",")) != NULL;) {
        if (strcmp(word, "iterations") == 0)
            o->count_iterations = true;
        else if (strcmp(word, "calls") == 0)
            o->count_calls = true;
        else if (strcmp(word, "allocations") == 0)
            o->count_allocations = true;
        else if (strcmp(word, "points") == 0)
            o->count_points = true;
        else
            return false;
    }
    return true;
}

/* "@FILE" becomes the file's lines joined by commas; an empty file, a list of nothing. */
static const char *list(const char *value)
{
    if (!value || value[0] != '@')
        return value;
    FILE *file = fopen(value + 1, "r");
    char *text = NULL;
    size_t size = 0;
    if (!file)
        return NULL;
    const ssize_t n = getdelim(&text, &size, '\0', file);
    const bool empty = n < 0 && feof(file);
    fclose(file);
    if (n < 0) {
        free(text);
        return empty ? strdup("") : NULL;
    }
    for (char *p = text; *p; p++)
        if (*p == '\n' || *p == ' ')
            *p = ',';
    return text;
}

bool cs_point_option(struct cs_point_options *o, const char *key, const char *value, char *why, size_t size)
{
    bool ok = true;
    if (strcmp(key, "methods") == 0)
        o->loops = false;
    else if (strcmp(key, "loops") == 0)
        o->loops = true;
    else if (strcmp(key, "every-iteration") == 0)
        o->every_iteration = true;
    else if (strcmp(key, "count") == 0)
        ok = counts(o, value);
    else if (strcmp(key, "min-body") == 0)
        ok = number(value, &o->min_body);
    else if (strcmp(key, "min-loop") == 0)
        ok = number(value, &o->min_loop);
    else if (strcmp(key, "short") == 0)
        ok = number(value, &o->short_stretch);
    else if (strcmp(key, "allow") == 0)
        ok = (o->allow = list(value)) != NULL;
    else if (strcmp(key, "deny") == 0)
        ok = (o->deny = list(value)) != NULL;
    else if (strcmp(key, "brief") == 0)
        ok = (o->brief = list(value)) != NULL;
    else if (strcmp(key, "shared-runtime") == 0)
        o->shared_runtime = true;
    else if (strcmp(key, "strict") == 0)
        o->strict = true;
    else if (strcmp(key, "trusting") == 0)
        o->strict = false;
    else if (strcmp(key, "verbose") == 0)
        o->verbose = true;
    else
        ok = false;
    if (!ok)
        snprintf(why, size,
                 "cyclescope plugin: option %s%s%s makes no sense; known: methods, loops, every-iteration, "
                 "count=iterations,calls,allocations,points, min-body=N, min-loop=N, short=N, allow=LIST, "
                 "deny=LIST, brief=LIST "
                 "(names "
                 "with * and ?, or @FILE), shared-runtime, strict, trusting, verbose",
                 key, value ? "=" : "", value ? value : "");
    return ok;
}

static bool listed(const char *patterns, const char *name)
{
    char pattern[256];
    for (const char *p = patterns; *p;) {
        const size_t n = strcspn(p, ",");
        /* Lists of a profile are long: most names differ at once. */
        const bool may = *p == *name || strchr("*?[\\", *p) != NULL;
        if (n > 0 && n < sizeof pattern && may) {
            memcpy(pattern, p, n);
            pattern[n] = '\0';
            if (fnmatch(pattern, name, 0) == 0)
                return true;
        }
        p += n + (p[n] == ',');
    }
    return false;
}

bool cs_point_brief(const struct cs_point_options *o, const char *name, const char *source_name)
{
    return o->brief && (listed(o->brief, name) || listed(o->brief, source_name));
}

bool cs_point_wanted(const struct cs_point_options *o, const char *name, const char *source_name)
{
    if (cs_point_brief(o, name, source_name))
        return false;
    if (o->deny && (listed(o->deny, name) || listed(o->deny, source_name)))
        return false;
    return !o->allow || listed(o->allow, name) || listed(o->allow, source_name);
}

/* ---- text ---- */

struct text {
    char *at;
    size_t left;
    bool full;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= t->left) {
        t->full = true;
        return;
    }
    t->at += n;
    t->left -= (size_t)n;
}

/* A string in an assembler template: characters that the assembler or the compiler's template would take for
 * their own go as octal. */
static void put_string(struct text *t, const char *label, const char *s)
{
    put(t, "\n\t.pushsection .debug_cyclescope_str,\"MS\",@progbits,1\n%s:\t.asciz \"", label);
    for (; *s && !t->full; s++)
        if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
            strchr("_./+-", *s))
            put(t, "%c", *s);
        else
            put(t, "\\%03o", (unsigned)(unsigned char)*s);
    put(t, "\"\n\t.popsection");
}

static void put_record(struct text *t, const struct cs_point *p)
{
    put_string(t, "2", p->file);
    put_string(t, "3", p->function);
    put(t,
        "\n\t.pushsection .debug_cyclescope_tags,\"\",@progbits"
        "\n\t.quad 1b\n\t.long 2b,3b,%u\n\t.short %u\n\t.byte %u,%u\n\t.popsection",
        p->line, p->loop & 0xffffu, p->depth < 255 ? p->depth : 255, (unsigned)p->kind);
}

/* Once in an object file, and once in a linked image: that the program calls `definer` before main. */
static void put_definer(struct text *t, const char *definer)
{
    put(t,
        "\n\t.ifndef .L%s\n\t.set .L%s, 1"
        "\n\t.pushsection .init_array.00102,\"awG\",@init_array,%s.init,comdat"
        "\n\t.balign 8\n\t.quad %s\n\t.popsection\n\t.endif",
        definer, definer, definer, definer);
}

static void put_definers(struct text *t, const struct cs_point *p)
{
    static const char *const counters[16] = {[1] = "cs_compiled_iterations",
                                             [2] = "cs_compiled_calls",
                                             [3] = "cs_compiled_allocations",
                                             [14] = "cs_compiled_points"};
    if (p->tag)
        put_definer(t, "cs_compiled_code");
    for (unsigned word = 1; word < 16; word++)
        if ((p->add_words & (1u << word)) && counters[word])
            put_definer(t, counters[word]);
}

unsigned cs_point_registers(const struct cs_point *p)
{
    return p->tls == CS_TLS_PAGE ? 0 : p->tag && p->position_independent ? 2 : 1;
}

/* The line's first word: by one instruction from %fs in an executable, else through the pointer in %0. */
#define ENTRY "# cyclescope: entry\n"

bool cs_point_may_move(const char *text)
{
    return strncmp(text, ENTRY, strlen(ENTRY)) == 0;
}

size_t cs_point_text(const struct cs_point *p, char *out, size_t size)
{
    struct text t = {out, size, false};
    const bool direct = p->tls == CS_TLS_PAGE;
    if (direct && p->kind == CS_POINT_METHOD)
        put(&t, ENTRY);
    if (!direct)
        put(&t, "movq\tcs_line@gottpoff(%%%%rip), %%0\n\tmovq\t%%%%fs:(%%0), %%0\n\t");
    if (p->tag && p->position_independent)
        put(&t, "\n1:\tleaq\t1b(%%%%rip), %%1\n\tmovq\t%%1, (%%0)");
    else if (p->tag)
        put(&t, "\n\t.hidden __ehdr_start\n1:\tmovq\t$__ehdr_start-1b, %s",
            direct ? "%%fs:cs_page@tpoff+1664" : "(%0)");
    for (unsigned word = 1; word < 16; word++)
        if (p->add_words & (1u << word)) {
            if (direct)
                put(&t, "\n\taddq\t$1, %%%%fs:cs_page@tpoff+%u", 1664 + 8 * word);
            else
                put(&t, "\n\taddq\t$1, %u(%%0)", 8 * word);
        }
    if (p->tag)
        put_record(&t, p);
    put_definers(&t, p);
    return t.full ? 0 : size - t.left;
}

size_t cs_point_text_llvm(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; *text && n + 2 < size; text++) {
        if (*text == '$')
            out[n++] = '$';
        if (*text == '%' && text[1] == '%')
            text++;
        else if (*text == '%') {
            out[n++] = '$';
            continue;
        }
        out[n++] = *text;
    }
    out[n] = '\0';
    return *text ? 0 : n;
}
