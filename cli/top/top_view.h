/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `top` shows and what its keys do: a state that knows nothing of sampling and terminals' ways. */
#pragma once

#include "cli/output/screen.h"
#include "cli/output/source.h"
#include "cli/top/live.h"

/* What the head says. */
struct top_head {
    const char *event, *target;
    double rate_hz, window_s;
    bool ended;        /* the process is gone */
    char trouble[200]; /* the last remark, "" = none */
};

struct top_view {
    enum live_by by;
    struct live_only only;
    char image[256], words[64], part[320]; /* what `only` points to; how the part is called */
    size_t at, first;                      /* selected row or instruction, the first one shown */
    bool help, typing, paused, quit, clear;
    bool inside; /* instructions are shown */
    uint32_t procedure;
    struct live_rows rows;
    struct live_insns insns;
    struct source source;
    char source_file[512];
};

void top_view_init(struct top_view *view);
void top_view_fini(struct top_view *view);
/* Takes what is to be shown from `live`; not while paused. */
int top_view_update(struct top_view *view, struct live *live);
/* True when what is shown has to be taken anew. */
bool top_view_key(struct top_view *view, int key, unsigned rows);
void top_view_draw(struct top_view *view, struct screen *screen, const struct top_head *head);
