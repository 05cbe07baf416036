/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A terminal as a screen of lines: taken over, drawn whole, given back as it was. Plain control sequences of
 * ECMA-48, which every terminal of today knows: what `top` needs is too little for a library.
 *
 *     screen_open(&screen, &err);              alternate screen, keys one by one
 *     screen_begin(screen);                    then at most screen_rows(screen) lines
 *     screen_line(screen, STYLE_PLAIN, "...");
 *     screen_end(screen);                      one write: nothing flickers
 *     while ((key = screen_key(screen)) != KEY_NONE) ...
 *     screen_close(screen);
 */
#pragma once

#include "cli/command/command.h"

enum screen_key { /* else the character itself */
                  KEY_NONE = 0,
                  KEY_ENTER = '\r',
                  KEY_ESCAPE = 27,
                  KEY_BACKSPACE = 127,
                  KEY_UP = 256,
                  KEY_DOWN,
                  KEY_LEFT,
                  KEY_RIGHT,
                  KEY_PAGE_UP,
                  KEY_PAGE_DOWN,
                  KEY_HOME,
                  KEY_END,
};

enum screen_style { STYLE_PLAIN, STYLE_HEAD, STYLE_DIM, STYLE_HOT, STYLE_SELECTED };

struct screen;

int screen_open(struct screen **out, struct cs_error *err);
void screen_close(struct screen *screen); /* NULL is fine */
/* Where keys come from: to be waited for. */
int screen_fd(const struct screen *screen);
unsigned screen_rows(const struct screen *screen);
unsigned screen_columns(const struct screen *screen);
void screen_begin(struct screen *screen); /* asks for the size again */
/* One line, cut at the right edge; lines past the last row are dropped. */
void screen_line(struct screen *screen, enum screen_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void screen_end(struct screen *screen);
/* The next key, KEY_NONE when none waits. */
int screen_key(struct screen *screen);
