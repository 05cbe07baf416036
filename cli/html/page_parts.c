/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of report/ as bytes of this program, so that a page needs no other file. */
#include "cli/html/page_parts.h"

#define EMBED(name, path)                                                                                    \
    __asm__(".pushsection .rodata\n.global " #name "_start\n.global " #name "_end\n" #name                   \
            "_start: .incbin \"" path "\"\n" #name "_end: .byte 0\n.popsection\n");                          \
    extern const char name##_start[], name##_end[];

EMBED(page_html, "report/page.html")
EMBED(page_css, "report/page.css")
EMBED(page_colours, "report/colours.js")
EMBED(page_state, "report/state.js")
EMBED(page_plot, "report/plot.js")
EMBED(page_charts, "report/charts.js")
EMBED(page_table, "report/table.js")
EMBED(page_js, "report/page.js")
EMBED(page_procedure, "report/procedure.js")
EMBED(page_waits_js, "report/waits.js")
EMBED(page_threads, "report/threads.js")
EMBED(page_flame, "report/flame.js")
EMBED(page_tree, "report/tree.js")
EMBED(page_keys, "report/keys.js")

const struct page_part page_parts[] = {
    {"page", page_html_start, page_html_end},
    {"page.css", page_css_start, page_css_end},
    {"colours.js", page_colours_start, page_colours_end},
    {"state.js", page_state_start, page_state_end},
    {"plot.js", page_plot_start, page_plot_end},
    {"charts.js", page_charts_start, page_charts_end},
    {"table.js", page_table_start, page_table_end},
    {"page.js", page_js_start, page_js_end},
    {"procedure.js", page_procedure_start, page_procedure_end},
    {"waits.js", page_waits_js_start, page_waits_js_end},
    {"threads.js", page_threads_start, page_threads_end},
    {"flame.js", page_flame_start, page_flame_end},
    {"tree.js", page_tree_start, page_tree_end},
    {"keys.js", page_keys_start, page_keys_end},
    {0, 0, 0},
};
