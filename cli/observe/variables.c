/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/observe/variables.h"

#include "image/file/segments.h"
#include "image/variable.h"
#include "store/base/regular_file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "name", "name+8", "0x7ffd00001000", each with "/4" and ":counter" behind. */
static bool parse(const char *text, struct cs_observe_variable *out)
{
    char *end;
    *out = (struct cs_observe_variable){.bytes = 0};
    snprintf(out->name, sizeof out->name, "%s", text);
    char *kind = strrchr(out->name, ':');
    if (kind && kind > out->name && kind[-1] != ':') { /* not C++'s "a::b" */
        out->counter = strcmp(kind, ":counter") == 0;
        if (!out->counter && strcmp(kind, ":tag") != 0)
            return false;
        *kind = '\0';
    }
    char *bytes = strrchr(out->name, '/');
    if (bytes) {
        out->bytes = (unsigned)strtoul(bytes + 1, &end, 10);
        if (*end || (out->bytes != 1 && out->bytes != 2 && out->bytes != 4 && out->bytes != 8))
            return false;
        *bytes = '\0';
    }
    return *out->name != '\0' && strlen(text) < sizeof out->name;
}

/* First mapping of each file: where its first byte lies. */
struct mapped {
    uint64_t start, offset;
    char path[4096];
};

static bool next_file(FILE *maps, struct mapped *m)
{
    char line[4400];
    while (fgets(line, sizeof line, maps)) {
        int at = 0;
        if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %n", &m->start, &m->offset, &at) == 2 &&
            at && line[at] == '/') {
            snprintf(m->path, sizeof m->path, "%.*s", (int)strcspn(line + at, "\n"), line + at);
            return true;
        }
    }
    return false;
}

/* By the file as the process sees it, in its own root. */
static int in_file(pid_t pid, const struct mapped *m, const char *name, uint64_t *addr, uint64_t *size)
{
    char path[4200], root[64];
    struct cs_image_segments layout;
    struct cs_error ignored;
    uint64_t vaddr = 0;
    snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
    int fd = cs_open_regular(root, m->path, INT64_MAX, NULL);
    if (fd < 0)
        return -ENOENT;
    int rc = cs_image_segments_of_file(&layout, fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (rc == 0 && layout.is_elf)
        rc = cs_image_variable(path, name, &vaddr, size, &ignored);
    close(fd);
    if (rc < 0 || !layout.is_elf)
        return -ENOENT;
    *addr = vaddr + (m->start - cs_image_vaddr(&layout, m->offset));
    return 0;
}

/* For cs_observe_options.locate: the address of one in a process that lives. */
static int locate(void *arg, pid_t pid, struct cs_observe_variable *v, struct cs_error *err)
{
    char name[sizeof v->name], path[64], *end, last[4096] = "";
    uint64_t offset = 0, size = 8;
    (void)arg;
    snprintf(name, sizeof name, "%s", v->name);
    char *plus = strrchr(name, '+');
    if (plus) {
        offset = strtoull(plus + 1, &end, 0);
        if (*end || end == plus + 1)
            offset = 0, plus = NULL;
        else
            *plus = '\0';
    }
    v->addr = strtoull(name, &end, 0);
    if (*end || strncmp(name, "0x", 2) != 0) {
        snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
        FILE *maps = fopen(path, "re");
        struct mapped m;
        int rc = -ENOENT;
        while (rc < 0 && maps && next_file(maps, &m)) {
            if (strcmp(m.path, last) != 0)
                rc = in_file(pid, &m, name, &v->addr, &size);
            snprintf(last, sizeof last, "%s", m.path);
        }
        if (maps)
            fclose(maps);
        if (rc < 0)
            return cs_fail(err, ENOENT,
                           "process %d has no global or static variable %s, or its images are stripped of "
                           "their symbols; give its address (--variable 0x...)",
                           (int)pid, name);
    }
    v->addr += offset;
    if (!v->bytes)
        v->bytes = size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : 1;
    return 0;
}

int variables_options(const struct parsed *args, struct cs_observe_options *options)
{
    assert(options->n_variables == 0);
    const char *text;
    while ((text = option_nth(args, "variable", options->n_variables))) {
        if (options->n_variables == CS_VARIABLES_MAX)
            return usage_error("--variable: at most %d", CS_VARIABLES_MAX);
        if (!parse(text, &options->variables[options->n_variables++]))
            return usage_error("--variable %s: expected a name or an address, then perhaps +OFFSET, /1, /2, "
                               "/4 or /8 for its bytes, and :counter",
                               text);
    }
    options->locate = locate;
    return CS_EXIT_OK;
}
