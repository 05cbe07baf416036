/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks git, without a shell. A note that has the build-id names its commit. Several commits may have made one binary: then the base's
 * newest and the head's oldest bound the range. Git reads a repository's configuration, so ours turns off what could start programs. */
#include "cli/gate/builds.h"

#include "store/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define REFS_MAX 16
#define COMMITS_MAX 64 /* of one build */
#define LINES_MAX 10
#define ARGUMENTS_MAX 100
#define FIXED 9

struct answer {
    char **line;
    size_t n;
};

static void forget(struct answer *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->line[i]);
    free(a->line);
    *a = (struct answer){.n = 0};
}

static _Noreturn void become_git(const char *const *argv, int out)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(out, 1) >= 0 && dup2(nothing, 2) >= 0)
        execvp("git", (char *const *)argv);
    _exit(127);
}

/* At most `most` lines of what git says. Its exit code; -1: it can't be started, or out of memory. */
static int ask_git(const char *repository, const char *const *words, size_t most, struct answer *out)
{
    const char *argv[FIXED + ARGUMENTS_MAX + 1] = {"git",
                                                   "-C",
                                                   repository,
                                                   "--no-pager",
                                                   "--no-optional-locks",
                                                   "-c",
                                                   "core.fsmonitor=false",
                                                   "-c",
                                                   "log.showSignature=false"};
    size_t n = FIXED, room = 0;
    int ends[2], status = 0;
    char *line = NULL;
    *out = (struct answer){.n = 0};
    while (*words && n < FIXED + ARGUMENTS_MAX)
        argv[n++] = *words++;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    const pid_t pid = fork();
    if (pid == 0)
        become_git(argv, ends[1]);
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    bool bad = pid < 0 || !from;
    while (!bad && getline(&line, &room, from) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (out->n == most)
            continue;
        bad = cs_array_resize(out->line, out->n + 1) < 0 || !(out->line[out->n] = strdup(line));
        out->n += !bad;
    }
    free(line);
    if (from)
        fclose(from);
    else
        close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            bad = true;
    return bad || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}

/* "refs/notes/commits:ab/cdef": the annotated object's name has slashes where there are many notes. */
static bool commit_of(const char *line, char commit[72])
{
    const char *at = strrchr(line, ':');
    size_t n = 0;
    for (at = at ? at + 1 : ""; *at && n < 71; at++)
        if (*at != '/')
            commit[n++] = *at;
    commit[n] = '\0';
    return strspn(commit, "0123456789abcdef") == n && (n == 40 || n == 64);
}

/* By notes. 1: found; 0: no note has it. */
static int find_commit(const char *repository, struct gate_build *build, bool newest)
{
    struct answer refs, found, sorted;
    const char *words[6 + REFS_MAX] = {"grep", "-l", "-F", "-e", build->id};
    char commit[COMMITS_MAX][72];
    const char *list[3 + COMMITS_MAX] = {"rev-list", "--no-walk=sorted"};
    size_t n = 2, k = 0;
    if (ask_git(repository, (const char *const[]){"for-each-ref", "--format=%(refname)", "refs/notes", NULL},
                REFS_MAX, &refs) != 0)
        refs.n = 0;
    for (size_t i = 0; i < refs.n; i++)
        words[5 + i] = refs.line[i];
    if (refs.n && ask_git(repository, words, COMMITS_MAX, &found) == 0) {
        for (size_t i = 0; i < found.n; i++)
            if (commit_of(found.line[i], commit[k]))
                list[n++] = commit[k++];
        forget(&found);
    }
    forget(&refs);
    if (k && ask_git(repository, list, COMMITS_MAX, &sorted) == 0) {
        if (sorted.n)
            snprintf(build->commit, sizeof build->commit, "%s", sorted.line[newest ? 0 : sorted.n - 1]);
        k = sorted.n;
        forget(&sorted);
    } else {
        k = 0;
    }
    return k > 0;
}

static size_t count(const char *repository, const char *from, const char *to)
{
    char range[160];
    struct answer a;
    snprintf(range, sizeof range, "%s..%s", from, to);
    const int rc =
        ask_git(repository, (const char *const[]){"rev-list", "--count", range, "--", NULL}, 1, &a);
    const size_t n = rc == 0 && a.n ? strtoul(a.line[0], NULL, 10) : 0;
    forget(&a);
    return n;
}

int gate_builds_find_commits(struct gate_builds *b, const char *repository, struct cs_error *err)
{
    struct gate_commits *c = &b->commits;
    struct answer a;
    b->repository = repository;
    int rc = ask_git(repository, (const char *const[]){"rev-parse", "--git-dir", NULL}, 1, &a);
    forget(&a);
    if (rc != 0)
        return cs_fail(err, ENOENT, "--repository %s: git says that it is no repository, or git isn't here",
                       repository);
    c->known = true;
    for (unsigned side = 0; side < 2; side++) {
        if (!find_commit(repository, b->side[side], side == 0) && *b->side[side]->commit) {
            char object[96];
            snprintf(object, sizeof object, "%s^{commit}", b->side[side]->commit);
            rc = ask_git(repository, (const char *const[]){"rev-parse", "--verify", "--quiet", object, NULL},
                         1, &a);
            c->known &= rc == 0;
            forget(&a);
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
    (void)ask_git(
        repository,
        (const char *const[]){"log", "--no-decorate", "--no-notes", "--format=%h %s", range, "--", NULL},
        LINES_MAX, &a);
    c->line = a.line;
    c->n_lines = a.n;
    return 0;
}
