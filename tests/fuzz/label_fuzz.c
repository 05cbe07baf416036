/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as what gate reads of a binary's own label. The first byte says which: .note.package (JSON in
 * an ELF note), Go's build information, or git's answer about notes. Texts are within their bounds, a commit is
 * hex, and an answer in pieces has the lines that it has in one.
 * Sources: cli/gate/builds/note.c cli/gate/builds/git_lines.c */
#include "cli/gate/builds/builds.h"
#include "cli/gate/builds/git.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define REST 0xa5

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void label_of(void (*read)(const uint8_t *at, size_t n, struct gate_build *build),
                     const uint8_t *bytes, size_t size)
{
    struct gate_build build = {.n_epochs = 7, .n_used = 7};
    read(bytes, size, &build);
    assert(memchr(build.label, 0, sizeof build.label) && memchr(build.commit, 0, sizeof build.commit));
    const size_t n = strlen(build.commit);
    assert(n == strspn(build.commit, "0123456789abcdefABCDEF") && (n == 0 || n >= 7));
    assert(build.n_epochs == 7 && build.n_used == 7 && !build.epoch && !build.path && !*build.id);
}

static void judge(const struct git_lines *lines, size_t most)
{
    assert(lines->n <= most);
    for (size_t i = 0; i < lines->n; i++) {
        char commit[GIT_COMMIT_MAX + 1];
        memset(commit, REST, sizeof commit);
        assert(strlen(lines->line[i]) <= GIT_LINE_MAX && !strchr(lines->line[i], '\n'));
        const bool is = git_note_commit(lines->line[i], commit);
        assert((unsigned char)commit[GIT_COMMIT_MAX] == REST && memchr(commit, 0, GIT_COMMIT_MAX));
        assert(!is || (strlen(commit) == strspn(commit, "0123456789abcdef") && strlen(commit) >= 40));
    }
}

static void answer(const char *bytes, size_t size)
{
    const size_t most = size ? (uint8_t)bytes[0] % 8 : 0, piece = size ? 1 + (uint8_t)bytes[0] / 8 : 1;
    struct git_lines whole, pieces;
    git_lines_init(&whole, most);
    git_lines_init(&pieces, most);
    if (size)
        assert(git_lines_feed(&whole, bytes, size) >= 0);
    for (size_t at = 0; at < size; at += piece)
        assert(git_lines_feed(&pieces, bytes + at, size - at < piece ? size - at : piece) >= 0);
    assert(git_lines_feed(&whole, NULL, 0) == 0 && git_lines_feed(&pieces, NULL, 0) == 0);
    judge(&whole, most);
    assert(whole.n == pieces.n && whole.seen == pieces.seen);
    for (size_t i = 0; i < whole.n; i++)
        assert(strcmp(whole.line[i], pieces.line[i]) == 0);
    git_lines_fini(&whole);
    git_lines_fini(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *copy = malloc(size); /* of its size exactly, so that a read behind it is seen */
    if (!copy)
        return 0;
    memcpy(copy, bytes + 1, size - 1);
    copy = realloc(copy, size - 1 ? size - 1 : 1);
    switch (bytes[0] % 3) {
    case 0:
        label_of(gate_label_of_package, copy, size - 1);
        break;
    case 1:
        label_of(gate_label_of_go, copy, size - 1);
        break;
    default:
        answer((const char *)copy, size - 1);
    }
    free(copy);
    return 0;
}
