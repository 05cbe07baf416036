// SPDX-License-Identifier: GPL-2.0-or-later
// Splits the log into lines and terms.
#include "logq.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 256 * 1024 };

static int number(const char *text, int digits)
{
    int value = 0;
    for (int i = 0; i < digits; i++)
        value = value * 10 + (text[i] - '0');
    return value;
}

static int64_t days_of(int year, int month, int day)
{
    if (month <= 2)
        year--;
    int era = year / 400, of_era = year - era * 400;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return (int64_t)era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// 2031-04-05T12:33:44.123
int64_t time_parse(const char *text)
{
    int64_t days = days_of(number(text, 4), number(text + 5, 2), number(text + 8, 2));
    int64_t seconds = number(text + 11, 2) * 3600 + number(text + 14, 2) * 60 + number(text + 17, 2);
    return (days * 86400 + seconds) * 1000 + number(text + 20, 3);
}

static bool is_separator(char c)
{
    return c == ' ' || c == '[' || c == ']' || c == ',' || c == ':';
}

static void index_line(Log *log, const char *text, uint32_t length, off_t offset)
{
    if (length < 24)
        return;
    if (log->line_count == log->line_room) {
        log->line_room = log->line_room ? 2 * log->line_room : 4096;
        log->lines = realloc(log->lines, log->line_room * sizeof *log->lines);
        if (!log->lines)
            abort();
    }
    uint32_t line = log->line_count++;
    log->lines[line] = (Line){.offset = offset, .length = length, .time = time_parse(text)};
    uint32_t at = 24;
    while (at < length) {
        while (at < length && is_separator(text[at]))
            at++;
        uint32_t first = at;
        while (at < length && !is_separator(text[at]))
            at++;
        if (at > first)
            postings_add(&terms_add(&log->terms, text + first, at - first)->postings, line);
    }
}

bool log_index(Log *log, int file)
{
    memset(log, 0, sizeof *log);
    terms_open(&log->terms);
    if (!source_open(&log->source, file))
        return false;
    char *block = malloc(BLOCK);
    if (!block)
        return false;
    size_t kept = 0;
    off_t offset = 0; // of the block's first byte in the file
    for (;;) {
        ssize_t got = pread(file, block + kept, BLOCK - kept, offset + (off_t)kept);
        if (got <= 0)
            break;
        size_t filled = kept + (size_t)got;
        char *line = block, *end;
        while ((end = memchr(line, '\n', filled - (size_t)(line - block)))) {
            index_line(log, line, (uint32_t)(end - line), offset + (line - block));
            line = end + 1;
        }
        kept = filled - (size_t)(line - block);
        memmove(block, line, kept);
        offset += line - block;
    }
    free(block);
    return true;
}

void log_close(Log *log)
{
    source_close(&log->source);
    terms_close(&log->terms);
    free(log->lines);
}
