/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the HTML page, embedded at build time. page.html holds a mark {{NAME}} where a part goes. */
#pragma once

struct page_part {
    const char *name, *start, *end;
};
extern const struct page_part page_parts[]; /* ends with a NULL name; the first is the page itself */
