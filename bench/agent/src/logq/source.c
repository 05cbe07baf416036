// SPDX-License-Identifier: GPL-2.0-or-later
// Reads parts of the log file through a window of it.
#include "logq.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool source_open(Source *source, int file)
{
    source->file = file;
    source->start = 0;
    source->filled = 0;
    source->bytes = malloc(WINDOW);
    return source->bytes != NULL;
}

void source_close(Source *source)
{
    free(source->bytes);
    close(source->file);
}

// Makes the window begin at an offset.
static bool fill(Source *source, off_t offset)
{
    source->start = offset;
    source->filled = 0;
    while (source->filled < WINDOW) {
        ssize_t got = pread(source->file, source->bytes + source->filled, WINDOW - source->filled,
                            offset + (off_t)source->filled);
        if (got < 0)
            return false;
        if (got == 0)
            break;
        source->filled += (size_t)got;
    }
    return true;
}

// The text at an offset, valid until the next call; NULL if the file ends before it.
const char *source_text(Source *source, off_t offset, uint32_t length)
{
    off_t end = source->start + (off_t)source->filled;
    if (offset < source->start || offset + (off_t)length > end) {
        if (length > WINDOW || !fill(source, offset) || source->filled < length)
            return NULL;
    }
    return source->bytes + (offset - source->start);
}
