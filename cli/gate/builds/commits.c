/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A note that has the build-id names its commit. Several commits may have made one binary: then the base's newest and the head's
 * oldest one bound the range. */
#include "cli/gate/builds/builds.h"
#include "cli/gate/builds/git.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFS_MAX 16
#define COMMITS_MAX 64 /* of one build */
#define LINES_MAX 10   /* as --max-count has it */

/* By notes. False: no note has it. */
static bool find_commit(const char *repository, struct gate_build *build, bool newest)
{
    struct git_lines refs, found = {.n = 0}, sorted = {.n = 0};
    const char *words[6 + REFS_MAX] = {"grep", "-l", "-F", "-e", build->id};
    char commit[COMMITS_MAX][GIT_COMMIT_MAX];
    const char *list[3 + COMMITS_MAX] = {"rev-list", "--no-walk=sorted"};
    size_t n = 2, k = 0;
    bool ok =
        git_ask(repository, (const char *const[]){"for-each-ref", "--format=%(refname)", "refs/notes", NULL},
                REFS_MAX, &refs) == 0;
    for (size_t i = 0; i < refs.n; i++)
        words[5 + i] = refs.line[i];
    ok = ok && refs.n && git_ask(repository, words, COMMITS_MAX, &found) == 0;
    for (size_t i = 0; ok && i < found.n; i++)
        if (git_note_commit(found.line[i], commit[k]))
            list[n++] = commit[k++];
    ok = ok && k && git_ask(repository, list, COMMITS_MAX, &sorted) == 0 && sorted.n;
    if (ok)
        snprintf(build->commit, sizeof build->commit, "%s", sorted.line[newest ? 0 : sorted.n - 1]);
    git_lines_fini(&refs);
    git_lines_fini(&found);
    git_lines_fini(&sorted);
    return ok;
}

static size_t count(const char *repository, const char *from, const char *to)
{
    char range[160];
    struct git_lines a;
    snprintf(range, sizeof range, "%s..%s", from, to);
    const int rc =
        git_ask(repository, (const char *const[]){"rev-list", "--count", range, "--", NULL}, 1, &a);
    const size_t n = rc == 0 && a.n ? strtoul(a.line[0], NULL, 10) : 0;
    git_lines_fini(&a);
    return n;
}

int gate_builds_find_commits(struct gate_builds *b, const char *repository, struct cs_error *err)
{
    struct gate_commits *c = &b->commits;
    struct git_lines a;
    b->repository = repository;
    int rc = git_ask(repository, (const char *const[]){"rev-parse", "--git-dir", NULL}, 1, &a);
    git_lines_fini(&a);
    if (rc != 0)
        return cs_fail(err, ENOENT, "--repository %s: git says that it is no repository, or git isn't here",
                       repository);
    c->known = true;
    for (unsigned side = 0; side < 2; side++) {
        if (!find_commit(repository, b->side[side], side == 0) && *b->side[side]->commit) {
            char object[96];
            snprintf(object, sizeof object, "%s^{commit}", b->side[side]->commit);
            rc = git_ask(repository, (const char *const[]){"rev-parse", "--verify", "--quiet", object, NULL},
                         1, &a);
            c->known &= rc == 0;
            git_lines_fini(&a);
        }
        c->known &= *b->side[side]->commit != '\0';
    }
    if (!c->known)
        return 0;
    char range[160];
    c->n = count(repository, b->side[0]->commit, b->side[1]->commit);
    if (c->n == 0) {
        c->n = count(repository, b->side[1]->commit, b->side[0]->commit);
        c->backwards = c->n > 0;
    }
    snprintf(range, sizeof range, "%s..%s", b->side[c->backwards]->commit, b->side[!c->backwards]->commit);
    (void)git_ask(repository,
                  (const char *const[]){"log", "--max-count=10", "--no-decorate", "--no-notes",
                                        "--format=%h %s", range, "--", NULL},
                  LINES_MAX, &a);
    free(a.part);
    c->line = a.line;
    c->n_lines = a.n;
    return 0;
}
