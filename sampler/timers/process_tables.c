/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/timers/process_tables.h"
#include "image/unwind/child.h"
#include "sampler/images/images.h"
#include "store/base/bisect.h"
#include "store/base/clock.h"
#include "store/base/foreign.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define MAPPINGS_MAX 4096    /* of one process */
#define VDSO_NS 100000000ULL /* until it is given up */
#define VDSO_BYTES_MAX 65536
#define TIME_MAX_NS 5000000000ULL
#define TIME_SHARE 20
#define LOOK_NS 500000

struct reading {
    struct process_tables *tables;
    struct process_tables_time *time;
    pid_t pid;
    int memory;
    bool unwind;
    uint64_t inode, pgoff, bytes; /* of the last mapping, */
    unsigned before;              /* and how many right below it are of the same part of its file */
    void (*tell)(void *arg, const struct cs_mapped_file *file);
    void *arg;
};

static void of_vdso(const struct reading *r, struct process_table *t)
{
    size_t n = t->end - t->start;
    char *bytes = n <= VDSO_BYTES_MAX ? malloc(n) : NULL;
    if (!bytes)
        return;
    if (cs_foreign_read(r->memory, t->start, bytes, n) == (ssize_t)n)
        t->unwind = cs_unwind_child_of_memory(bytes, n, VDSO_NS);
    free(bytes);
    t->to_vaddr = -t->start;
}

static void earn(struct process_tables_time *time)
{
    uint64_t now = cs_monotonic_ns();
    time->left_ns += time->counted_ns ? (now - time->counted_ns) / TIME_SHARE : TIME_MAX_NS;
    if (time->left_ns > TIME_MAX_NS)
        time->left_ns = TIME_MAX_NS;
    time->counted_ns = now;
}

static struct cs_unwind *make(struct process_tables_time *time, int fd)
{
    struct cs_apart child = {0};
    struct cs_unwind *unwind = NULL;
    uint64_t begin = cs_monotonic_ns(), waited = 0;
    if (time->left_ns < LOOK_NS || cs_unwind_child_start(&child, fd) < 0)
        return NULL;
    int rc;
    while ((rc = cs_unwind_child_done(&child, true, &unwind)) == 0 && waited < time->left_ns) {
        (void)cs_apart_wait(&child, LOOK_NS);
        waited = cs_monotonic_ns() - begin;
    }
    cs_apart_end(&child);
    time->left_ns -= waited < time->left_ns ? waited : time->left_ns;
    return rc > 0 ? unwind : NULL;
}

static void of_file(struct reading *r, const struct cs_mapped_file *file, struct process_table *t)
{
    const uint64_t bytes = file->end - file->start;
    const bool again = file->inode == r->inode && file->pgoff == r->pgoff && bytes == r->bytes;
    r->before = again ? r->before + 1 : 0;
    r->inode = file->inode;
    r->pgoff = file->pgoff;
    r->bytes = bytes;
    struct cs_image_segments layout;
    struct stat st;
    char path[40];
    int fd = cs_images_open_mapped("/proc", file, &layout, &st);
    if (fd < 0)
        return;
    uint64_t vaddr =
        layout.is_elf ? cs_image_vaddr_of_mapping(&layout, file->pgoff, bytes, r->before) : UINT64_MAX;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* this file, whatever its path means by now */
    if (vaddr != UINT64_MAX && cs_unwind_open_cached(path, &t->unwind) < 0)
        t->unwind = make(r->time, fd);
    if (t->unwind)
        t->to_vaddr = vaddr - file->start;
    close(fd);
}

static int mapping(void *arg, const struct cs_mapped_file *file)
{
    struct reading *r = arg;
    struct process_table *t = r->tables->at.n < MAPPINGS_MAX ? cs_array_add(&r->tables->at) : NULL;
    if (!t)
        return 1;
    t->start = file->start;
    t->end = file->end;
    r->tell(r->arg, file);
    if (r->unwind && strcmp(file->path, "[vdso]") == 0)
        of_vdso(r, t);
    else if (r->unwind && file->path[0] == '/' && file->inode)
        of_file(r, file, t);
    return 0;
}

void process_tables_read(struct process_tables *tables, struct process_tables_time *time, pid_t pid,
                         int memory, bool unwind, void (*tell)(void *arg, const struct cs_mapped_file *file),
                         void *arg)
{
    assert(pid > 0 && tell);
    struct reading r = {.tables = tables,
                        .time = time,
                        .pid = pid,
                        .memory = memory,
                        .unwind = unwind,
                        .tell = tell,
                        .arg = arg};
    earn(time);
    process_tables_fini(tables);
    (void)cs_proc_mappings("/proc", pid, mapping, &r);
}

const struct process_table *process_tables_find(const struct process_tables *tables, uint64_t addr)
{
    /* /proc lists them ascending */
    size_t low = cs_bisect(tables->at.n, i, tables->at.at[i].end <= addr);
    return low < tables->at.n && addr >= tables->at.at[low].start ? &tables->at.at[low] : NULL;
}

void process_tables_fini(struct process_tables *tables)
{
    for (size_t i = 0; i < tables->at.n; i++)
        cs_unwind_close(tables->at.at[i].unwind);
    cs_array_free(&tables->at);
}
