/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of two builds, whose files lie in different folders or have changed. A function's file is the one of the same name in
 * the other set. Of several it is the one whose path agrees most from its end. A line is the one with the same text. If the
 * function has that text several times, it is the same one of them. That needs both files as they were built. Else it is the
 * line as far from the function's first line. */
#include "cli/compare/runs.h"
#include "cli/output/source.h"
#include "store/base/array.h"
#include "store/base/regular_file.h"
#include "store/table/dictionary.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of a function in both sets: of more, lines that have moved stay apart. */
#define FILES_MAX 128
#define ROWS_MAX 2048
#define BACK_MAX 1024 /* lines in which a text is counted */
#define FILE_BYTES_MAX (4 << 20)
#define ALL_BYTES_MAX (256 << 20)

struct file { /* of the function at hand, in a set */
    const char *path;
    unsigned set;
    size_t other; /* in the other set; SIZE_MAX: none */
};

struct text {
    struct source source;
    uint64_t changed_ms; /* written last */
};

struct matching {
    struct runs *runs;
    CS_ARRAY(struct file) file;
    struct cs_dictionary paths;
    CS_ARRAY(struct text) text; /* by path */
    int64_t bytes;              /* of all texts */
};

/* ---- files ---- */

/* Parts of the paths that are the same, from the end; at least the name. */
static unsigned common_parts(const char *a, const char *b)
{
    unsigned parts = 0;
    size_t i = strlen(a), k = strlen(b);
    for (; i && k && a[i - 1] == b[k - 1]; i--, k--)
        parts += a[i - 1] == '/';
    return parts + (!i && !k);
}

static struct file *file_of(struct matching *m, const char *path, unsigned set)
{
    for (size_t i = 0; i < m->file.n; i++)
        if (m->file.at[i].set == set && strcmp(m->file.at[i].path, path) == 0)
            return &m->file.at[i];
    struct file *more = cs_array_add(&m->file);
    if (more)
        *more = (struct file){path, set, SIZE_MAX};
    return more;
}

/* The two that agree most belong together, then the next two. */
static void pair_files(struct matching *m)
{
    for (;;) {
        size_t pair[2] = {0, 0};
        unsigned most = 0;
        for (size_t a = 0; a < m->file.n; a++)
            for (size_t b = 0; b < m->file.n; b++) {
                const struct file *x = &m->file.at[a], *y = &m->file.at[b];
                unsigned parts = x->set == 0 && y->set == 1 && x->other == SIZE_MAX && y->other == SIZE_MAX
                                     ? common_parts(x->path, y->path)
                                     : 0;
                if (parts > most) {
                    most = parts;
                    pair[0] = a;
                    pair[1] = b;
                }
            }
        if (!most)
            return;
        m->file.at[pair[0]].other = pair[1];
        m->file.at[pair[1]].other = pair[0];
    }
}

/* ---- texts ---- */

/* SIZE_MAX: it isn't there, or was written after a run of its set began. */
static size_t text_of(struct matching *m, const struct file *f)
{
    struct stat st;
    int64_t n = cs_dictionary_add(&m->paths, f->path, strlen(f->path));
    if (n == (int64_t)m->text.n) {
        struct text *more = cs_array_add(&m->text);
        if (!more)
            return SIZE_MAX;
        *more = (struct text){.changed_ms = UINT64_MAX};
        if (cs_everybody_may_read(f->path) && stat(f->path, &st) == 0 && st.st_size <= FILE_BYTES_MAX &&
            m->bytes + st.st_size <= ALL_BYTES_MAX) {
            m->bytes += st.st_size;
            source_read(&more->source, f->path, NULL);
            more->changed_ms = 1000 * (uint64_t)st.st_mtim.tv_sec + (uint64_t)st.st_mtim.tv_nsec / 1000000;
        }
    }
    if (n < 0 || (size_t)n >= m->text.n || !m->text.at[n].source.n_lines)
        return SIZE_MAX;
    for (size_t r = 0; r < m->runs->n_runs; r++)
        if (m->runs->run[r].set == f->set && m->runs->run[r].began_ms < m->text.at[n].changed_ms)
            return SIZE_MAX;
    return (size_t)n;
}

/* Without the blanks around it. */
static const char *bare(const struct source *s, unsigned line, size_t *n)
{
    const char *text = source_line(s, line);
    text += strspn(text, " ");
    *n = strlen(text);
    while (*n && text[*n - 1] == ' ')
        --*n;
    return text;
}

static bool is_same_text(const struct source *a, unsigned x, const struct source *b, unsigned y)
{
    size_t n, k;
    const char *s = bare(a, x, &n), *t = bare(b, y, &k);
    return n == k && memcmp(s, t, n) == 0;
}

static unsigned begin_of(const struct run_row *row)
{
    return row->begin && row->begin <= row->line ? row->begin : 1;
}

/* How many lines of its function before it have its text. */
static unsigned nth(const struct source *s, const struct run_row *row)
{
    unsigned n = 0, line = begin_of(row);
    for (line = row->line - line > BACK_MAX ? row->line - BACK_MAX : line; line < row->line; line++)
        n += is_same_text(s, line, s, row->line);
    return n;
}

static bool is_same_line(const struct run_row *a, const struct source *of_a, const struct run_row *b,
                         const struct source *of_b)
{
    if (of_a)
        return a->line <= of_a->n_lines && b->line <= of_b->n_lines &&
               is_same_text(of_a, a->line, of_b, b->line) && nth(of_a, a) == nth(of_b, b);
    return a->line - begin_of(a) == b->line - begin_of(b);
}

/* ---- rows ---- */

/* A's row takes B's place and samples; B's is left without a file. */
static int join(struct matching *m, struct run_row *a, struct run_row *b)
{
    char *where = NULL;
    assert(a->samples && b->samples);
    if (a->line != b->line && asprintf(&where, "%s (A: %u)", b->where, a->line) < 0)
        return -ENOMEM;
    free(a->where);
    a->where = where ? where : b->where;
    if (where)
        free(b->where);
    b->where = NULL;
    for (size_t r = 0; r < m->runs->n_runs; r++)
        a->samples[r] += b->samples[r];
    free(b->samples);
    b->samples = NULL;
    return 0;
}

static int join_row(struct matching *m, struct run_row *a, struct run_row *row, size_t n)
{
    const struct file *of_a = file_of(m, a->file, 0);
    if (!of_a || of_a->other == SIZE_MAX)
        return of_a ? 0 : -ENOMEM;
    const struct file *of_b = &m->file.at[of_a->other];
    const bool moved = strcmp(of_a->path, of_b->path) != 0;
    size_t text_a = moved ? text_of(m, of_a) : SIZE_MAX, text_b = moved ? text_of(m, of_b) : SIZE_MAX;
    const bool known = text_a != SIZE_MAX && text_b != SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        struct run_row *b = &row[i];
        if (b->samples && b->file && b->set == 1 && strcmp(b->file, of_b->path) == 0 &&
            is_same_line(a, known ? &m->text.at[text_a].source : NULL, b,
                         known ? &m->text.at[text_b].source : NULL))
            return join(m, a, b);
    }
    return 0;
}

static int join_function(struct matching *m, struct run_row *row, size_t n)
{
    int rc = 0;
    m->file.n = 0;
    for (size_t i = 0; i < n; i++)
        if (row[i].file && !file_of(m, row[i].file, row[i].set))
            return -ENOMEM;
    if (m->file.n <= FILES_MAX && n <= ROWS_MAX)
        pair_files(m);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (row[i].file && row[i].set == 0)
            rc = join_row(m, &row[i], row, n);
    return rc;
}

static bool is_one_function(const struct run_row *a, const struct run_row *b)
{
    return strcmp(a->image ? a->image : "", b->image ? b->image : "") == 0 &&
           strcmp(a->name ? a->name : "", b->name ? b->name : "") == 0;
}

int runs_join_lines(struct runs *runs)
{
    struct matching m = {.runs = runs};
    size_t left = 0;
    int rc = 0;
    for (size_t from = 0, to; rc == 0 && from < runs->n_rows; from = to) {
        for (to = from + 1; to < runs->n_rows && is_one_function(&runs->row[from], &runs->row[to]); to++)
            ;
        rc = join_function(&m, &runs->row[from], to - from);
    }
    for (size_t i = 0; i < runs->n_rows; i++) {
        if (runs->row[i].samples)
            runs->row[left++] = runs->row[i];
        else
            run_row_fini(&runs->row[i]);
    }
    runs->n_rows = left;
    for (size_t i = 0; i < m.text.n; i++)
        source_fini(&m.text.at[i].source);
    cs_array_free(&m.text);
    cs_array_free(&m.file);
    cs_dictionary_fini(&m.paths);
    return rc;
}
