/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sorted list of mappings a process; a child shares the list of its parent until one of them changes it. */
#include "exchange/import/address_spaces.h"

#include "store/base/bisect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list {
    unsigned owners;
    size_t n, capacity;
    struct cs_import_mapping mappings[]; /* ascending, disjoint */
};

struct process {
    uint32_t pid;
    struct list *list; /* NULL: this slot of the hash table is free */
};

struct cs_import_spaces {
    struct process
        *slots; /* open addressing; processes are never removed, an ended one costs a slot and its list */
    size_t n, capacity;
};

static void release(struct list *list)
{
    if (list && --list->owners == 0)
        free(list);
}

static struct process *slot_of(const struct cs_import_spaces *spaces, uint32_t pid)
{
    size_t i = (pid * 2654435761u) & (spaces->capacity - 1);
    while (spaces->slots[i].list && spaces->slots[i].pid != pid)
        i = (i + 1) & (spaces->capacity - 1);
    return &spaces->slots[i];
}

static int grow(struct cs_import_spaces *spaces)
{
    struct cs_import_spaces larger = {calloc(2 * spaces->capacity, sizeof(struct process)), spaces->n,
                                      2 * spaces->capacity};
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < spaces->capacity; i++)
        if (spaces->slots[i].list)
            *slot_of(&larger, spaces->slots[i].pid) = spaces->slots[i];
    free(spaces->slots);
    *spaces = larger;
    return 0;
}

struct cs_import_spaces *cs_import_spaces_open(void)
{
    struct cs_import_spaces *spaces = calloc(1, sizeof *spaces);
    if (!spaces)
        return NULL;
    spaces->capacity = 64;
    spaces->slots = calloc(spaces->capacity, sizeof *spaces->slots);
    if (!spaces->slots) {
        free(spaces);
        return NULL;
    }
    return spaces;
}

void cs_import_spaces_close(struct cs_import_spaces *spaces)
{
    if (!spaces)
        return;
    for (size_t i = 0; i < spaces->capacity; i++)
        release(spaces->slots[i].list);
    free(spaces->slots);
    free(spaces);
}

/* Puts `list` (owned by the call) in place of the process's own. */
static int replace(struct cs_import_spaces *spaces, uint32_t pid, struct list *list)
{
    struct process *process = slot_of(spaces, pid);
    if (!process->list) {
        if (2 * (spaces->n + 1) > spaces->capacity) {
            if (grow(spaces) < 0) {
                release(list);
                return -ENOMEM;
            }
            process = slot_of(spaces, pid);
        }
        spaces->n++;
    }
    release(process->list);
    *process = (struct process){pid, list};
    return 0;
}

static struct list *copy_of(const struct list *old, size_t capacity)
{
    struct list *list = malloc(sizeof *list + capacity * sizeof list->mappings[0]);
    if (!list)
        return NULL;
    list->owners = 1;
    list->capacity = capacity;
    list->n = old ? old->n : 0;
    if (old)
        memcpy(list->mappings, old->mappings, old->n * sizeof old->mappings[0]);
    return list;
}

/* Index of the first mapping that ends above `addr`. */
static size_t first_ending_above(const struct list *list, uint64_t addr)
{
    return cs_bisect(list->n, i, list->mappings[i].end <= addr);
}

int cs_import_spaces_map(struct cs_import_spaces *spaces, uint32_t pid,
                         const struct cs_import_mapping *mapping)
{
    struct list *list = slot_of(spaces, pid)->list;
    if (!list || list->owners > 1 || list->n + 2 > list->capacity) {
        list = copy_of(list, list ? 2 * list->n + 8 : 8);
        if (!list)
            return -ENOMEM;
        int rc = replace(spaces, pid, list);
        if (rc < 0)
            return rc;
    }
    struct cs_import_mapping *m = list->mappings;
    size_t first = first_ending_above(list, mapping->start), last = first;
    while (last < list->n && m[last].start < mapping->end)
        last++;
    /* [first, last) overlap: keep what sticks out at either side. */
    struct cs_import_mapping put[3];
    size_t n_put = 0;
    if (first < last && m[first].start < mapping->start) {
        put[n_put] = m[first];
        put[n_put++].end = mapping->start;
    }
    put[n_put++] = *mapping;
    if (first < last && m[last - 1].end > mapping->end) {
        put[n_put] = m[last - 1];
        put[n_put].page_offset += mapping->end - put[n_put].start;
        put[n_put++].start = mapping->end;
    }
    memmove(&m[first + n_put], &m[last], (list->n - last) * sizeof *m);
    memcpy(&m[first], put, n_put * sizeof *m);
    list->n = list->n - (last - first) + n_put;
    return 0;
}

int cs_import_spaces_fork(struct cs_import_spaces *spaces, uint32_t parent, uint32_t child)
{
    if (parent == child)
        return 0; /* a new thread */
    struct list *list = slot_of(spaces, parent)->list;
    if (!list)
        return cs_import_spaces_exec(spaces, child);
    list->owners++;
    return replace(spaces, child, list);
}

int cs_import_spaces_exec(struct cs_import_spaces *spaces, uint32_t pid)
{
    struct list *empty = copy_of(NULL, 8);
    return empty ? replace(spaces, pid, empty) : -ENOMEM;
}

const struct cs_import_mapping *cs_import_spaces_find(const struct cs_import_spaces *spaces, uint32_t pid,
                                                      uint64_t addr)
{
    const struct list *list = slot_of(spaces, pid)->list;
    if (!list)
        return NULL;
    size_t i = first_ending_above(list, addr);
    return i < list->n && list->mappings[i].start <= addr ? &list->mappings[i] : NULL;
}
