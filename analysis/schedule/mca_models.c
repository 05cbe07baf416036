/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks for programs on PATH, newest version first. The list of models is kept next to the cache of schedules, so
 * that a procedure whose paths are all cached needs no subprocess. */
#include "analysis/schedule/mca_models.h"
#include "analysis/schedule/mca_call.h"
#include "store/base/cache.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NEWEST = 30, OLDEST = 11 };

static bool find_program(char *out, size_t size)
{
    const char *path = getenv("PATH");
    char *folders = strdup(path ? path : "/usr/bin:/bin");
    bool found = false;
    for (int version = NEWEST; folders && version >= OLDEST - 1 && !found; version--) {
        char *copy = strdup(folders), *rest = copy, *folder;
        while (!found && copy && (folder = strsep(&rest, ":"))) {
            if (version >= OLDEST)
                snprintf(out, size, "%s/llvm-mca-%d", folder, version);
            else
                snprintf(out, size, "%s/llvm-mca", folder);
            found = *folder == '/' && access(out, X_OK) == 0;
        }
        free(copy);
    }
    free(folders);
    return found;
}

/* Is `cpu` a word of the listing that `-mcpu=help` printed? */
static bool listed(const char *help, const char *cpu)
{
    size_t n = strlen(cpu);
    for (const char *at = help; (at = strstr(at, cpu)); at += n)
        if (at > help && strchr(" \n", at[-1]) && strchr(" \n", at[n]))
            return true;
    return false;
}

/* What makes a listing that program's: "PATH BYTES SECONDS\n". */
static void stamp_of(const char *program, char *text, size_t size)
{
    struct stat st = {0};
    (void)stat(program, &st);
    snprintf(text, size, "%s %lld %lld\n", program, (long long)st.st_size, (long long)st.st_mtime);
}

static char *read_listing(const char *file, const char *stamp)
{
    char text[65536];
    FILE *f = file ? fopen(file, "re") : NULL;
    if (!f)
        return NULL;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    return !strncmp(text, stamp, strlen(stamp)) ? strdup(text + strlen(stamp)) : NULL;
}

static void keep_listing(const char *file, const char *stamp, const struct mca_answer *answer)
{
    if (!file || !answer->out || !answer->err)
        return;
    const struct iovec parts[] = {{(void *)stamp, strlen(stamp)},
                                  {answer->err, strlen(answer->err)},
                                  {answer->out, strlen(answer->out)}};
    cs_cache_put(file, parts, 3, false);
}

/* The models that the program lists, malloced. */
static char *models_of(const char *program, const char *triple, const char *file)
{
    char stamp[400];
    stamp_of(program, stamp, sizeof stamp);
    char *text = read_listing(file, stamp);
    if (text)
        return text;
    char *args[] = {(char *)program, (char *)triple, (char *)"-mcpu=help", NULL};
    struct mca_answer answer;
    if (mca_call(program, args, "", 0, &answer) == 0 && asprintf(&text, "%s%s", answer.err, answer.out) >= 0)
        keep_listing(file, stamp, &answer);
    mca_answer_free(&answer);
    return text;
}

bool mca_choose(enum cs_isa isa, const char *const *cpus, const char *cache, struct mca_model *model)
{
    assert(cpus);
    char *listing = NULL, *file = NULL;
    const char *slash = cache ? strrchr(cache, '/') : NULL;
    *model = (struct mca_model){.cpu = ""};
    snprintf(model->triple, sizeof model->triple, "-mtriple=%s", cs_isa_name(isa));
    if (!find_program(model->program, sizeof model->program))
        return false;
    if (slash &&
        asprintf(&file, "%.*s/llvm-mca.%s.models", (int)(slash - cache), cache, cs_isa_name(isa)) < 0)
        file = NULL;
    listing = models_of(model->program, model->triple, file);
    for (int i = 0; listing && cpus[i] && !model->cpu[0]; i++)
        if (listed(listing, cpus[i]))
            snprintf(model->cpu, sizeof model->cpu, "%s", cpus[i]);
    free(listing);
    free(file);
    return model->cpu[0];
}
