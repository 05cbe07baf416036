/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mcp/mcp.h"
#include "cli/output/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mcp_reader {
    int fd;
    size_t begin, end; /* of what was read and not yet given */
    char bytes[MCP_MESSAGE_MAX + 1];
};

struct mcp_reader *mcp_reader_open(int fd)
{
    struct mcp_reader *r = need(malloc(sizeof *r));
    r->fd = fd;
    r->begin = r->end = 0;
    return r;
}

void mcp_reader_close(struct mcp_reader *r)
{
    free(r);
}

/* False at the end of the input. */
static bool read_more(struct mcp_reader *r)
{
    ssize_t n;
    do
        n = read(r->fd, r->bytes + r->end, sizeof r->bytes - r->end);
    while (n < 0 && errno == EINTR);
    r->end += n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* The rest of a line that is too long. */
static bool skip_line(struct mcp_reader *r)
{
    for (;;) {
        char *newline = memchr(r->bytes, '\n', r->end);
        if (newline) {
            r->begin = (size_t)(newline - r->bytes) + 1;
            return true;
        }
        r->begin = r->end = 0;
        if (!read_more(r))
            return false;
    }
}

enum mcp_line mcp_read_line(struct mcp_reader *r, const char **line, size_t *n)
{
    size_t looked = 0;
    for (;;) {
        char *newline = memchr(r->bytes + r->begin + looked, '\n', r->end - r->begin - looked);
        if (newline) {
            *line = r->bytes + r->begin;
            *n = (size_t)(newline - *line);
            r->begin += *n + 1;
            return MCP_LINE_READ;
        }
        memmove(r->bytes, r->bytes + r->begin, r->end - r->begin);
        r->end -= r->begin;
        r->begin = 0;
        looked = r->end;
        if (r->end == sizeof r->bytes)
            return skip_line(r) ? MCP_LINE_TOO_LONG : MCP_LINE_END;
        if (!read_more(r)) {
            *line = r->bytes; /* the last line may have no newline */
            *n = r->end;
            r->begin = r->end;
            return *n ? MCP_LINE_READ : MCP_LINE_END;
        }
    }
}

static json_t *envelope(const json_t *id, const char *member, json_t *value)
{
    return need(json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id ? json_deep_copy(id) : json_null(),
                          member, value));
}

json_t *mcp_error(const json_t *id, int code, const char *sentence, json_t *about)
{
    json_t *error = need(json_pack("{s:i, s:s}", "code", code, "message", sentence));
    if (about)
        json_object_set_new(error, "data", about);
    return envelope(id, "error", error);
}

json_t *mcp_answer(const json_t *id, json_t *result)
{
    return envelope(id, "result", result);
}
