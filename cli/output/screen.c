/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One write a picture, so that nothing flickers. The terminal is given back as it was found. */
#include "cli/output/screen.h"
#include "cli/output/memory.h"
#include "cli/output/table.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ESCAPE_WAIT_MS 30 /* a lone Escape is told from a sequence by what follows it */

struct screen {
    int fd;
    struct termios before;
    unsigned rows, columns, line;
    bool colour;
    char *text;
    size_t n_text;
    FILE *to;
};

static const char *const styles[] = {[STYLE_PLAIN] = "",
                                     [STYLE_HEAD] = "\033[1m",
                                     [STYLE_DIM] = "\033[2m",
                                     [STYLE_HOT] = "\033[1;33m",
                                     [STYLE_SELECTED] = "\033[7m"};

static void put(const struct screen *s, const char *text, size_t n)
{
    while (n) {
        ssize_t done = write(s->fd, text, n);
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            return;
        if (done > 0) {
            text += done;
            n -= (size_t)done;
        }
    }
}

static void put_text(const struct screen *s, const char *text)
{
    put(s, text, strlen(text));
}

static void ask_size(struct screen *s)
{
    struct winsize size;
    s->rows = 24;
    s->columns = 80;
    if (ioctl(s->fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 3 && size.ws_col > 20) {
        s->rows = size.ws_row;
        s->columns = size.ws_col;
    }
}

int screen_open(struct screen **out, struct cs_error *err)
{
    struct screen *s = calloc(1, sizeof *s);
    if (!s)
        return cs_fail(err, ENOMEM, "no memory for the screen");
    s->fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (s->fd < 0 || tcgetattr(s->fd, &s->before) != 0) {
        int rc = cs_fail(err, errno, "can't use the terminal: %s", strerror(errno));
        if (s->fd >= 0)
            close(s->fd);
        free(s);
        return rc;
    }
    struct termios raw = s->before;
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    raw.c_iflag &= (tcflag_t) ~(ICRNL | IXON);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* stopped, it would leave the terminal as it is */
    tcsetattr(s->fd, TCSAFLUSH, &raw);
    s->colour = colour_wanted();
    put_text(s, "\033[?1049h\033[?25l");
    ask_size(s);
    *out = s;
    return 0;
}

void screen_close(struct screen *s)
{
    if (!s)
        return;
    put_text(s, "\033[0m\033[?25h\033[?1049l");
    tcsetattr(s->fd, TCSAFLUSH, &s->before);
    close(s->fd);
    free(s);
}

int screen_fd(const struct screen *s)
{
    return s->fd;
}

unsigned screen_rows(const struct screen *s)
{
    return s->rows;
}

unsigned screen_columns(const struct screen *s)
{
    return s->columns;
}

void screen_begin(struct screen *s)
{
    ask_size(s);
    s->line = 0;
    s->text = NULL;
    s->to = need(open_memstream(&s->text, &s->n_text));
    fputs("\033[H", s->to);
}

void screen_line(struct screen *s, enum screen_style style, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    if (s->line >= s->rows)
        return;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    need(n < 0 ? NULL : text);
    char *clean = text_clean(text);
    size_t end = 0;
    unsigned shown = 0;
    while (clean[end] && shown < s->columns) {
        for (end++; (clean[end] & 0xc0) == 0x80;)
            end++;
        shown++;
    }
    bool styled = style == STYLE_SELECTED || s->colour; /* what is selected must be seen */
    /* Erased first: after a character in the last column it would be that one. */
    fprintf(s->to, "%s\033[K%s%.*s", s->line ? "\r\n" : "", styled ? styles[style] : "", (int)end, clean);
    if (style == STYLE_SELECTED)
        fprintf(s->to, "%*s", (int)(s->columns - shown), "");
    if (styled && *styles[style])
        fputs("\033[0m", s->to);
    s->line++;
    free(clean);
    free(text);
}

void screen_end(struct screen *s)
{
    fputs("\033[J", s->to);
    if (fclose(s->to) == 0)
        put(s, s->text, s->n_text);
    free(s->text);
    s->text = NULL;
}

static int next_byte(const struct screen *s, int wait_ms)
{
    unsigned char byte;
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    if (wait_ms && poll(&p, 1, wait_ms) <= 0)
        return -1;
    return read(s->fd, &byte, 1) == 1 ? byte : -1;
}

int screen_key(struct screen *s)
{
    int byte = next_byte(s, 0);
    if (byte < 0)
        return KEY_NONE;
    if (byte == '\n')
        return KEY_ENTER;
    if (byte == '\b')
        return KEY_BACKSPACE;
    if (byte != KEY_ESCAPE)
        return byte;
    byte = next_byte(s, ESCAPE_WAIT_MS);
    if (byte != '[' && byte != 'O')
        return KEY_ESCAPE;
    int number = 0, last = next_byte(s, ESCAPE_WAIT_MS);
    for (; last >= '0' && last <= '9'; last = next_byte(s, ESCAPE_WAIT_MS))
        number = number < 1000 ? 10 * number + last - '0' : number;
    while (last == ';' || (last >= '0' && last <= '9')) /* modifiers */
        last = next_byte(s, ESCAPE_WAIT_MS);
    static const struct {
        char last;
        int number, key;
    } keys[] = {{'A', 0, KEY_UP},   {'B', 0, KEY_DOWN}, {'C', 0, KEY_RIGHT},   {'D', 0, KEY_LEFT},
                {'H', 0, KEY_HOME}, {'F', 0, KEY_END},  {'~', 5, KEY_PAGE_UP}, {'~', 6, KEY_PAGE_DOWN},
                {'~', 1, KEY_HOME}, {'~', 7, KEY_HOME}, {'~', 4, KEY_END},     {'~', 8, KEY_END}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].last == last && (last != '~' || keys[i].number == number))
            return keys[i].key;
    return KEY_NONE;
}
