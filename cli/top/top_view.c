/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State in, lines out: keys change the state, drawing reads it. */
#include "cli/top/top_view.h"
#include "cli/command/figures.h"
#include "cli/output/output.h"
#include "cli/profile/nameless.h"
#include "store/base/text.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_LINES 4
#define FOOT_LINES 2

static const char *const by_names[LIVE_BYS] = {"functions", "processes", "images"};

static const char *const help_lines[] = {
    "up, down, j, k      move             page up, page down, home, end",
    "Enter, right        open: instructions; of a process or image its functions",
    "Esc, left           back",
    "n                   the next hottest instruction",
    "Tab                 functions, processes, images",
    "1  2  3             the same directly",
    "/                   only names with these letters; Enter keeps them, Esc forgets them",
    "Space               pause, go on",
    "z                   forget all samples and start again",
    "h, ?                this help",
    "q                   quit",
    "",
    "Samples are of the last seconds, see the first line. A sampled instruction",
    "is the one after that which took the time; cyclescope calc tells why.",
};

void top_view_init(struct top_view *v)
{
    *v = (struct top_view){.by = LIVE_PROCEDURES};
}

void top_view_fini(struct top_view *v)
{
    live_rows_fini(&v->rows);
    live_insns_fini(&v->insns);
    source_fini(&v->source);
}

static size_t count(const struct top_view *v)
{
    return v->inside ? v->insns.n : v->rows.n;
}

static void hottest(struct top_view *v)
{
    size_t best = 0;
    for (size_t i = 0; i < v->insns.n; i++)
        if (v->insns.insn[i].samples > v->insns.insn[best].samples)
            best = i;
    v->at = best;
}

/* The hottest one that is cooler than the selected one, the hottest of all after the last. */
static void next_hottest(struct top_view *v)
{
    if (v->at >= v->insns.n)
        return;
    uint64_t now = v->insns.insn[v->at].samples;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < v->insns.n; i++) {
        uint64_t n = v->insns.insn[i].samples;
        bool later = n < now || (n == now && i > v->at);
        if (n && later && (best == SIZE_MAX || n > v->insns.insn[best].samples))
            best = i;
    }
    if (best == SIZE_MAX)
        hottest(v);
    else
        v->at = best;
}

static int update_instructions(struct top_view *v, struct live *live)
{
    struct live_insns insns;
    int rc = live_instructions(live, v->procedure, v->only.pid, &insns);
    if (rc < 0)
        return rc;
    bool first = v->insns.n == 0;
    live_insns_fini(&v->insns);
    v->insns = insns;
    if (first)
        hottest(v);
    if (*insns.file && strcmp(insns.file, v->source_file) != 0) {
        source_fini(&v->source);
        snprintf(v->source_file, sizeof v->source_file, "%s", insns.file);
        source_read(&v->source, insns.file, NULL);
    }
    return 0;
}

int top_view_update(struct top_view *v, struct live *live)
{
    int rc;
    if (v->inside) {
        rc = update_instructions(v, live);
    } else {
        struct live_rows rows;
        rc = live_rows(live, v->by, &v->only, &rows);
        if (rc == 0) {
            live_rows_fini(&v->rows);
            v->rows = rows;
        }
    }
    if (v->at >= count(v))
        v->at = count(v) ? count(v) - 1 : 0;
    assert(v->at == 0 || v->at < count(v));
    return rc;
}

/* ---- keys ---- */

static void show(struct top_view *v, enum live_by by)
{
    v->by = by;
    v->at = v->first = 0;
}

static void enter(struct top_view *v)
{
    if (v->inside || v->at >= v->rows.n)
        return;
    const struct live_row *row = &v->rows.row[v->at];
    if (v->by == LIVE_PROCEDURES) {
        v->inside = true;
        v->procedure = row->procedure;
        live_insns_fini(&v->insns);
    } else if (v->by == LIVE_PROCESSES) {
        v->only.pid = row->pid;
        snprintf(v->part, sizeof v->part, "process %d (%.200s)", (int)row->pid, row->name);
    } else {
        snprintf(v->image, sizeof v->image, "%.255s", row->name);
        snprintf(v->part, sizeof v->part, "image %.255s", row->name);
        v->only.image = v->image;
    }
    v->words[0] = 0;
    v->only.words = NULL;
    show(v, LIVE_PROCEDURES);
}

static void back(struct top_view *v)
{
    if (v->help) {
        v->help = false;
        return;
    }
    if (v->inside) {
        v->inside = false;
    } else if (*v->words) {
        v->words[0] = 0;
        v->only.words = NULL;
    } else if (v->only.pid || v->only.image) {
        enum live_by by = v->only.pid ? LIVE_PROCESSES : LIVE_IMAGES;
        v->only = (struct live_only){.pid = 0};
        v->part[0] = 0;
        show(v, by);
        return;
    }
    v->at = v->first = 0;
}

static void type_word(struct top_view *v, int key)
{
    size_t n = strlen(v->words);
    if (key == KEY_ENTER) {
        v->typing = false;
    } else if (key == KEY_ESCAPE) {
        v->typing = false;
        v->words[0] = 0;
    } else if (key == KEY_BACKSPACE && n) {
        v->words[n - 1] = 0;
    } else if (key < 128 && isprint(key) && n + 1 < sizeof v->words) {
        v->words[n] = (char)key;
        v->words[n + 1] = 0;
    }
    v->only.words = v->words;
    v->at = v->first = 0;
}

static bool move(struct top_view *v, int key, unsigned rows)
{
    size_t page = rows > HEAD_LINES + FOOT_LINES + 1 ? rows - HEAD_LINES - FOOT_LINES - 1 : 1;
    size_t n = count(v), last = n ? n - 1 : 0;
    switch (key) {
    case KEY_UP:
    case 'k':
        v->at -= v->at > 0;
        return true;
    case KEY_DOWN:
    case 'j':
        v->at += v->at < last;
        return true;
    case KEY_PAGE_UP:
        v->at = v->at > page ? v->at - page : 0;
        return true;
    case KEY_PAGE_DOWN:
        v->at = v->at + page < last ? v->at + page : last;
        return true;
    case KEY_HOME:
        v->at = 0;
        return true;
    case KEY_END:
        v->at = last;
        return true;
    default:
        return false;
    }
}

bool top_view_key(struct top_view *v, int key, unsigned rows)
{
    if (v->typing) {
        type_word(v, key);
        return true;
    }
    if (move(v, key, rows))
        return false;
    switch (key) {
    case 'q':
    case 'Q':
        v->quit = true;
        break;
    case 'h':
    case '?':
        v->help = !v->help;
        break;
    case KEY_ENTER:
    case KEY_RIGHT:
        enter(v);
        break;
    case KEY_ESCAPE:
    case KEY_LEFT:
    case KEY_BACKSPACE:
        back(v);
        break;
    case '\t':
        v->inside = false;
        show(v, (v->by + 1) % LIVE_BYS);
        break;
    case '1':
    case '2':
    case '3':
        v->inside = false;
        show(v, (enum live_by)(key - '1'));
        break;
    case '/':
        v->typing = !v->inside;
        break;
    case 'n':
        if (v->inside)
            next_hottest(v);
        break;
    case ' ':
        v->paused = !v->paused;
        break;
    case 'z':
        v->clear = true;
        break;
    default:
        return false;
    }
    return true;
}

/* ---- drawing ---- */

static double share(uint64_t n, uint64_t total)
{
    return total ? 100.0 * (double)n / (double)total : 0;
}

static void draw_head(const struct top_view *v, struct screen *s, const struct top_head *h)
{
    uint64_t total = v->inside ? v->insns.total : v->rows.total;
    screen_line(s, STYLE_HEAD, "cyclescope top%s%s: %s, %s at %.0f Hz, last %s s",
                h->ended ? " [it has ended]" : "", v->paused ? " [paused]" : "", h->target, h->event,
                h->rate_hz, figure(h->window_s, 3).text);
    if (v->inside)
        screen_line(s, STYLE_PLAIN, "%s: %s sample%s%s%s", v->insns.name, thousands((double)total).text,
                    plural((double)total), *v->part ? " in " : "", v->part);
    else
        screen_line(s, STYLE_PLAIN, "%s: %s sample%s, %.1f %% of one CPU%s%s; %.2f %% unknown",
                    by_names[v->by], thousands((double)total).text, plural((double)total),
                    100 * (double)total / (h->rate_hz * h->window_s), *v->part ? ", " : "", v->part,
                    share(v->rows.unknown, v->rows.total));
    screen_line(s, STYLE_DIM, "%s", h->trouble);
}

static void draw_row(const struct top_view *v, struct screen *s, size_t i)
{
    const struct live_row *r = &v->rows.row[i];
    double percent = share(r->samples, v->rows.total);
    enum screen_style style = i == v->at ? STYLE_SELECTED : percent >= 10 ? STYLE_HOT : STYLE_PLAIN;
    unsigned columns = screen_columns(s);
    unsigned room = columns > 68 ? columns - 48 : 20; /* what the name gets; the image has the rest */
    if (v->by == LIVE_PROCEDURES)
        screen_line(s, style, "%8" PRIu64 "  %5.1f  %7.1f  %-*.*s  %s", r->samples, percent,
                    share(r->total, v->rows.in_any_image), (int)room, (int)room, r->name, r->image);
    else if (v->by == LIVE_PROCESSES)
        screen_line(s, style, "%8" PRIu64 "  %5.1f  %8d  %s", r->samples, percent, (int)r->pid, r->name);
    else
        screen_line(s, style, "%8" PRIu64 "  %5.1f  %s", r->samples, percent, r->name);
}

static void draw_insn(const struct top_view *v, struct screen *s, size_t i)
{
    const struct live_insn *insn = &v->insns.insn[i];
    double percent = share(insn->samples, v->insns.total);
    char line[16] = "", counts[40] = "";
    if (insn->line)
        snprintf(line, sizeof line, "%u", insn->line);
    if (insn->samples)
        snprintf(counts, sizeof counts, "%8" PRIu64 "  %5.1f", insn->samples, percent);
    screen_line(s,
                i == v->at      ? STYLE_SELECTED
                : percent >= 10 ? STYLE_HOT
                                : STYLE_PLAIN,
                "%15s  %6s  %8" PRIx64 "  %s", counts, line, insn->offset,
                *insn->text ? insn->text : "(bytes not known)");
}

static void draw_table(struct top_view *v, struct screen *s)
{
    unsigned rows = screen_rows(s),
             room = rows > HEAD_LINES + FOOT_LINES ? rows - HEAD_LINES - FOOT_LINES : 1;
    static const char *const heads[LIVE_BYS] = {"total %  function", "     PID  process", "image"};
    size_t n = count(v);
    if (v->inside)
        screen_line(s, STYLE_HEAD, "%8s  %5s  %6s  %8s  %s", "samples", "%", "line", "offset", "instruction");
    else
        screen_line(s, STYLE_HEAD, "%8s  %5s  %s", "samples", "%", heads[v->by]);
    if (v->at < v->first)
        v->first = v->at > room / 4 ? v->at - room / 4 : 0;
    if (v->at >= v->first + room)
        v->first = v->inside ? v->at - room / 2 : v->at - room + 1;
    for (unsigned k = 0; k < room; k++) {
        size_t i = v->first + k;
        if (i >= n)
            screen_line(s, STYLE_DIM, "%s", n == 0 && k == 0 ? "  (nothing was sampled yet)" : "");
        else if (v->inside)
            draw_insn(v, s, i);
        else
            draw_row(v, s, i);
    }
}

static void draw_foot(const struct top_view *v, struct screen *s)
{
    if (v->inside && v->at < v->insns.n && v->insns.insn[v->at].line) {
        screen_line(s, STYLE_PLAIN, "%s:%u:  %s", cs_base_name(v->insns.file), v->insns.insn[v->at].line,
                    source_line(&v->source, v->insns.insn[v->at].line));
    } else if (!v->inside && v->by == LIVE_PROCEDURES && v->rows.n &&
               nameless_is_made_up(v->rows.row[0].name))
        screen_line(s, STYLE_DIM, "%s has no symbols. " NAMELESS_REMEDY, v->rows.row[0].image);
    else
        screen_line(s, STYLE_DIM, "%s", v->inside ? v->insns.trouble : "");
    if (v->typing || *v->words)
        screen_line(s, STYLE_HEAD, "/%s%s", v->words, v->typing ? "_" : "   (Esc: all names)");
    else if (v->inside)
        screen_line(s, STYLE_DIM, "n next hottest  Esc back  Space pause  h help  q quit");
    else
        screen_line(s, STYLE_DIM, "Enter open  Tab other view  / search  h help  q quit");
}

void top_view_draw(struct top_view *v, struct screen *s, const struct top_head *h)
{
    screen_begin(s);
    draw_head(v, s, h);
    if (v->help) {
        screen_line(s, STYLE_HEAD, "Keys");
        for (size_t i = 0; i < sizeof help_lines / sizeof *help_lines; i++)
            screen_line(s, STYLE_PLAIN, "  %s", help_lines[i]);
    } else {
        draw_table(v, s);
        draw_foot(v, s);
    }
    screen_end(s);
}
