// SPDX-License-Identifier: GPL-2.0-or-later
// What is written goes through a piece of text of fixed size.
#include "render.h"
#include <string.h>

void output_open(Output *output)
{
    output->length = 0;
    output->text[0] = '\0';
    output->bytes = 0;
    output->digest = 14695981039346656037u;
}

// Takes all whole words of the text; the rest becomes the beginning of what follows.
void output_flush(Output *output)
{
    uint64_t word;
    size_t taken = output->length / sizeof word * sizeof word;
    for (size_t at = 0; at < taken; at += sizeof word) {
        memcpy(&word, output->text + at, sizeof word);
        output->digest = (output->digest ^ word) * 1099511628211u;
    }
    output->bytes += taken;
    output->length -= taken;
    memmove(output->text, output->text + taken, output->length + 1);
}

void output_text(Output *output, const char *text, size_t length)
{
    while (output->length + length > OUTPUT_ROOM) {
        size_t part = OUTPUT_ROOM - output->length;
        memcpy(output->text + output->length, text, part);
        output->length += part;
        output->text[output->length] = '\0';
        output_flush(output);
        text += part;
        length -= part;
    }
    memcpy(output->text + output->length, text, length);
    output->length += length;
    output->text[output->length] = '\0';
}

static const char *const entities[256] = {['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;"};

// How many characters from here on can stand for themselves in markup.
static size_t plain_length(const char *text, size_t length)
{
    size_t plain = 0;
    while (plain < length && !entities[(unsigned char)text[plain]])
        plain++;
    return plain;
}

void output_escaped(Output *output, const char *text, size_t length)
{
    while (length > 0) {
        size_t plain = plain_length(text, length);
        output_text(output, text, plain);
        text += plain;
        length -= plain;
        if (length > 0) {
            const char *entity = entities[(unsigned char)*text++];
            output_text(output, entity, strlen(entity));
            length--;
        }
    }
}

void output_number(Output *output, int64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do
        digits[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        digits[--at] = '-';
    output_text(output, digits + at, sizeof digits - at);
}
