/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files are read when a process's first nameless address is met: a recording is complete by then. */
#include "exchange/import/recorded_jit.h"

#include "sampler/dynamic/jit_code.h"
#include "sampler/dynamic/jit_methods.h"
#include "sampler/dynamic/jitdump.h"
#include "store/base/array.h"
#include "store/base/regular_file.h"
#include "store/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (1ULL << 36)
#define LINE_MAX_BYTES 4096
#define CALLS_MAX 64 /* of cs_jitdump_read, which is bounded itself */

struct process {
    uint32_t pid;
    char *dump;
    bool read;
    struct cs_jit_methods methods;
};

struct of_image {
    const char *id;
    struct cs_table *names;
};

struct cs_recorded_jit {
    char *beside;
    CS_ARRAY(struct process) processes;
    CS_ARRAY(struct of_image) images;
    struct cs_jit_kept kept;
};

struct cs_recorded_jit *cs_recorded_jit_open(const char *beside)
{
    struct cs_recorded_jit *jit = calloc(1, sizeof *jit);
    if (jit && beside && !(jit->beside = strdup(beside))) {
        free(jit);
        return NULL;
    }
    return jit;
}

void cs_recorded_jit_close(struct cs_recorded_jit *jit)
{
    if (!jit)
        return;
    for (size_t i = 0; i < jit->processes.n; i++) {
        free(jit->processes.at[i].dump);
        cs_jit_methods_fini(&jit->processes.at[i].methods, &jit->kept);
    }
    for (size_t i = 0; i < jit->images.n; i++) {
        cs_table_close(jit->images.at[i].names);
        free((char *)(uintptr_t)jit->images.at[i].id);
    }
    cs_array_free(&jit->processes);
    cs_array_free(&jit->images);
    free(jit->beside);
    free(jit);
}

static struct process *process_of(struct cs_recorded_jit *jit, uint32_t pid)
{
    for (size_t i = jit->processes.n; i-- > 0;)
        if (jit->processes.at[i].pid == pid)
            return &jit->processes.at[i];
    struct process *p = cs_array_add(&jit->processes);
    if (p)
        p->pid = pid;
    return p;
}

void cs_recorded_jit_mapped(struct cs_recorded_jit *jit, uint32_t pid, const char *path)
{
    const char *base = cs_base_name(path);
    const size_t n = strlen(base);
    if (n < 10 || strncmp(base, "jit-", 4) != 0 || strcmp(base + n - 5, ".dump") != 0)
        return;
    struct process *p = process_of(jit, pid);
    if (p && !p->dump)
        p->dump = strdup(path);
}

static int open_named(const struct cs_recorded_jit *jit, const char *path, bool made_here)
{
    char beside[4200];
    int fd = -1;
    if (jit->beside &&
        (size_t)snprintf(beside, sizeof beside, "%s/%s", jit->beside, cs_base_name(path)) < sizeof beside)
        fd = cs_open_regular(NULL, beside, FILE_MAX, NULL);
    return fd < 0 && made_here ? cs_open_owned(NULL, path, FILE_MAX, geteuid()) : fd;
}

static void keep(struct cs_recorded_jit *jit, struct process *p, uint64_t start, uint64_t size,
                 uint64_t since_ns, const char *name)
{
    const long text = cs_jit_methods_text(&p->methods, &jit->kept, name);
    if (text >= 0)
        (void)cs_jit_methods_add(&p->methods, &jit->kept, start, size, since_ns, (size_t)text);
}

struct reading {
    struct cs_recorded_jit *jit;
    struct process *process;
};

static bool take_record(void *arg, const struct cs_jitdump_record *code)
{
    struct reading *r = arg;
    struct cs_jit_methods *m = &r->process->methods;
    const char *name = code->name;
    if (!name) { /* moved: what was there before */
        cs_jit_methods_sort(m);
        const struct cs_jit_method *was = cs_jit_methods_at(m, code->was_start, UINT64_MAX - 1);
        char *copy = was ? strdup(m->text + was->name) : NULL; /* the text may move as it grows */
        if (copy)
            keep(r->jit, r->process, code->start, code->size, code->time_ns, copy);
        free(copy);
    } else {
        keep(r->jit, r->process, code->start, code->size, code->time_ns, name);
    }
    return !m->cut;
}

static void read_map(struct cs_recorded_jit *jit, struct process *p, int fd)
{
    char line[LINE_MAX_BYTES], *size, *name;
    FILE *f = fdopen(fd, "r");
    while (f && !p->methods.cut && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        const uint64_t start = strtoull(line, &size, 16), bytes = strtoull(size, &name, 16);
        if (*name == ' ')
            keep(jit, p, start, bytes, 0, name + 1);
    }
    if (f)
        fclose(f);
    else
        close(fd);
}

static void read_names(struct cs_recorded_jit *jit, struct process *p, bool made_here)
{
    char path[64];
    int fd = p->dump ? open_named(jit, p->dump, made_here) : -1;
    p->read = true;
    uint64_t at = 0;
    for (unsigned calls = 0; fd >= 0 && calls < CALLS_MAX; calls++) {
        const uint64_t before = at;
        if (cs_jitdump_read(fd, &at, take_record, &(struct reading){jit, p}) != 0 || at == before)
            break;
    }
    if (fd >= 0)
        close(fd);
    snprintf(path, sizeof path, "/tmp/perf-%u.map", p->pid);
    if (p->methods.n == 0 && (fd = open_named(jit, path, made_here)) >= 0)
        read_map(jit, p, fd);
    cs_jit_methods_sort(&p->methods);
}

static struct cs_table *names_of(struct cs_recorded_jit *jit, const char *id)
{
    for (size_t i = 0; i < jit->images.n; i++)
        if (strcmp(jit->images.at[i].id, id) == 0)
            return jit->images.at[i].names;
    char *copy = strdup(id);
    struct of_image *image = copy ? cs_array_add(&jit->images) : NULL;
    if (!image) {
        free(copy);
        return NULL;
    }
    image->id = copy;
    image->names = cs_table_open(&cs_schema_names);
    return image->names;
}

uint64_t cs_recorded_jit_offset(struct cs_recorded_jit *jit, const struct cs_imported_image *image,
                                uint32_t pid, bool made_here, uint64_t time_ns, uint64_t addr,
                                uint64_t fallback)
{
    assert(image->image.id[0]);
    struct process *p = process_of(jit, pid);
    if (p && !p->read)
        read_names(jit, p, made_here);
    const struct cs_jit_method *method = p ? cs_jit_methods_at(&p->methods, addr, time_ns) : NULL;
    struct cs_table *names = method ? names_of(jit, image->image.id) : NULL;
    if (!names)
        return fallback;
    const char *name = p->methods.text + method->name;
    const uint64_t offset = cs_jit_name_offset(name);
    const int64_t text = cs_table_text(names, name);
    if (text < 0 || cs_table_add(names, (uint64_t[]){offset, CS_JIT_METHOD_MAX, (uint64_t)text}) < 0)
        return fallback;
    return offset + (addr - method->start);
}

struct cs_table *cs_recorded_jit_names(const struct cs_recorded_jit *jit,
                                       const struct cs_imported_image *image)
{
    for (size_t i = 0; i < jit->images.n; i++)
        if (strcmp(jit->images.at[i].id, image->image.id) == 0)
            return jit->images.at[i].names;
    return NULL;
}
