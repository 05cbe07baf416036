/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to git, and its answers as lines. A repository may be hostile, so an answer is bounded in lines, bytes and time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GIT_LINE_MAX 4000 /* bytes of a line; further ones are dropped */
#define GIT_LINES_MAX 256
#define GIT_ANSWER_MAX (16u << 20) /* bytes that are looked at */
#define GIT_COMMIT_MAX 72

struct git_lines {
    char **line;
    size_t n, most;
    char *part; /* the line that hasn't ended */
    size_t n_part, seen;
};

void git_lines_init(struct git_lines *lines, size_t most);
/* The next bytes of an answer; `n` == 0: its end. 1: more is wanted; 0: the answer is complete, or long enough; or -ENOMEM. */
int git_lines_feed(struct git_lines *lines, const char *bytes, size_t n);
void git_lines_fini(struct git_lines *lines);
/* The commit of a note, from its line in `git grep -l`. */
bool git_note_commit(const char *line, char commit[GIT_COMMIT_MAX]);

/* At most `most` lines of what git says in a repository. Its exit code; -1: it can't be started, took longer than a minute, or said more
 * than an answer may have. `lines` may be closed in any case. */
int git_ask(const char *repository, const char *const *words, size_t most, struct git_lines *lines);
