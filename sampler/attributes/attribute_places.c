/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/attributes/attribute_places.h"
#include "image/thread_variable.h"
#include "sampler/attributes/process_context.h"
#include "store/base/array.h"
#include "store/base/foreign.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define VARIABLE "otel_thread_ctx_v1"
#define FIRST_LOOK_NS 5000000ULL /* doubled each time */
#define LOOK_DOUBLINGS 13        /* up to 41 seconds: who publishes late is found within twice its age */
#define LOOKS_AT_ONCE 32
#define ASK_NS 1000000000ULL
#define MODULES_MAX 4096
#define READS_AT_ONCE 16384U /* of memory: some 50 ms. A process whose modules want more has no place */

struct followed {
    pid_t pid;
    uint32_t generation;
    uint64_t next_ns;
    unsigned looks;
};

struct cs_attribute_places {
    const struct cs_attribute_kernel *kernel;
    const char *proc;
    char *name;
    CS_ARRAY(struct followed) pending;
    uint64_t due_ns;
    unsigned told;
    struct { /* by slot: who has it, until it ends */
        pid_t pid;
        uint32_t generation;
        uint64_t ask_ns; /* then another may ask whether it has ended */
    } met[CS_ATTRIBUTE_PLACES];
};

struct reader {
    pid_t pid;
    unsigned reads; /* up to now */
};

static bool read_memory(void *arg, uint64_t addr, void *to, size_t n)
{
    struct reader *r = arg;
    return r->reads++ < READS_AT_ONCE && cs_foreign_memory(r->pid, addr, to, n);
}

/* ---- a process ---- */

static uint64_t program_headers_at(const char *proc, pid_t pid)
{
    uint64_t pair[2], at = 0;
    char path[256];
    snprintf(path, sizeof path, "%s/%d/auxv", proc, (int)pid);
    FILE *f = fopen(path, "re");
    while (f && !at && fread(pair, sizeof pair, 1, f) == 1 && pair[0] != AT_NULL)
        at = pair[0] == AT_PHDR ? pair[1] : 0;
    if (f)
        fclose(f);
    return at;
}

/* The first mapping of each file begins with its ELF header, and the program's with its program headers, too. */
static int find_variable(const char *proc, const struct cs_process_memory *memory, pid_t pid,
                         struct cs_thread_variable *out)
{
    const uint64_t headers = program_headers_at(proc, pid);
    char path[256], *line = NULL;
    size_t capacity = 0;
    uint64_t start, end, offset, inode, last = 0;
    unsigned n = 0;
    int rc = -ENOENT;
    snprintf(path, sizeof path, "%s/%d/maps", proc, (int)pid);
    FILE *f = cs_foreign_proc(path);
    while (f && rc != 0 && n < MODULES_MAX && getline(&line, &capacity, f) > 0) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64, &start, &end, &offset,
                   &inode) != 4 ||
            offset || !inode || inode == last)
            continue;
        last = inode;
        n++;
        rc = cs_thread_variable_find(memory, start, headers >= start && headers < end, VARIABLE, out);
    }
    if (f)
        fclose(f);
    free(line);
    return rc == 0 ? 0 : -ENOENT;
}

/* Reads /proc and the process's memory. 0: `out` is filled but for pid and generation; -ENOENT: there is nothing to read
 * (yet). */
static int place_of(const char *proc, struct reader *reader, const char *name, struct cs_attribute_place *out)
{
    const pid_t pid = reader->pid;
    const struct cs_process_memory memory = {read_memory, reader};
    const bool trace = strcmp(name, "trace_id") == 0, span = strcmp(name, "span_id") == 0;
    struct cs_process_context context;
    struct cs_thread_variable variable;
    const uint64_t at = cs_process_context_at(proc, pid);
    if (!at || cs_process_context_read(&memory, at, name, &context) < 0 || !context.has_threads ||
        (context.key < 0 && !trace && !span) || find_variable(proc, &memory, pid, &variable) < 0)
        return -ENOENT;
    *out = (struct cs_attribute_place){.module = variable.module,
                                       .offset = variable.offset,
                                       .wanted = trace  ? CS_ATTRIBUTE_TRACE
                                                 : span ? CS_ATTRIBUTE_SPAN
                                                        : (uint32_t)context.key};
    return 0;
}

/* ---- all ---- */

static bool has_ended(const struct cs_attribute_places *p, pid_t pid)
{
    struct stat st;
    char path[256];
    snprintf(path, sizeof path, "%s/%d", p->proc, (int)pid);
    return stat(path, &st) != 0;
}

static void tell(struct cs_attribute_places *p, const struct followed *f,
                 const struct cs_attribute_place *found)
{
    struct cs_attribute_place *slot = &p->kernel->places[(unsigned)f->pid & (CS_ATTRIBUTE_PLACES - 1)];
    __atomic_store_n(&slot->pid, 0, __ATOMIC_SEQ_CST);
    slot->generation = f->generation;
    slot->module = found->module;
    slot->offset = found->offset;
    slot->wanted = found->wanted;
    __atomic_store_n(&slot->pid, (uint32_t)f->pid, __ATOMIC_SEQ_CST);
    p->told++;
}

/* By the kernel's own count, which is ahead of what was drained: a place is of the program that was there while it was read. */
static uint32_t generation_of(const struct cs_attribute_places *p, pid_t pid)
{
    return p->kernel->generation(p->kernel->arg, (uint32_t)pid);
}

void cs_attribute_places_meet(struct cs_attribute_places *p, pid_t pid, uint64_t now_ns)
{
    const unsigned slot = (unsigned)pid & (CS_ATTRIBUTE_PLACES - 1);
    if (pid <= 0)
        return;
    if (p->met[slot].pid && p->met[slot].pid != pid) {
        if (now_ns < p->met[slot].ask_ns)
            return;
        p->met[slot].ask_ns = now_ns + ASK_NS;
        if (!has_ended(p, p->met[slot].pid))
            return;
    }
    const uint32_t generation = generation_of(p, pid);
    if (p->met[slot].pid == pid && p->met[slot].generation == generation)
        return;
    struct followed *more = cs_array_add(&p->pending);
    if (!more)
        return;
    p->met[slot].pid = pid;
    p->met[slot].generation = generation;
    *more = (struct followed){pid, generation, now_ns, 0};
    p->due_ns = now_ns < p->due_ns ? now_ns : p->due_ns;
}

uint64_t cs_attribute_places_due(const struct cs_attribute_places *p)
{
    return p->due_ns;
}

/* True: there is no more to look for. */
static bool look(struct cs_attribute_places *p, struct followed *f, uint64_t now_ns, unsigned *reads)
{
    struct reader reader = {f->pid, *reads};
    const unsigned slot = (unsigned)f->pid & (CS_ATTRIBUTE_PLACES - 1);
    struct cs_attribute_place found;
    if (p->met[slot].pid != f->pid || p->met[slot].generation != f->generation)
        return true;                                 /* another one is followed there */
    if (generation_of(p, f->pid) != f->generation) { /* another program by now: this one's looks begin anew */
        p->met[slot].generation = f->generation = generation_of(p, f->pid);
        f->looks = 0;
    }
    int rc = place_of(p->proc, &reader, p->name, &found);
    *reads = reader.reads;
    if (rc == 0 && generation_of(p, f->pid) == f->generation) {
        tell(p, f, &found);
        return true;
    }
    f->next_ns = now_ns + (FIRST_LOOK_NS << f->looks);
    if (f->looks < LOOK_DOUBLINGS)
        f->looks++;
    return has_ended(p, f->pid);
}

void cs_attribute_places_look(struct cs_attribute_places *p, uint64_t now_ns)
{
    unsigned looks = 0, reads = 0;
    size_t left = 0;
    p->due_ns = UINT64_MAX;
    for (size_t i = 0; i < p->pending.n; i++) {
        struct followed f = p->pending.at[i];
        if (f.next_ns <= now_ns && looks++ < LOOKS_AT_ONCE && reads < READS_AT_ONCE &&
            look(p, &f, now_ns, &reads))
            continue;
        p->due_ns = f.next_ns < p->due_ns ? f.next_ns : p->due_ns;
        p->pending.at[left++] = f;
    }
    p->pending.n = left;
}

unsigned cs_attribute_places_told(const struct cs_attribute_places *p)
{
    return p->told;
}

struct cs_attribute_places *cs_attribute_places_open(const struct cs_attribute_kernel *kernel,
                                                     const char *proc, const char *name)
{
    assert(kernel && proc && name);
    struct cs_attribute_places *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->kernel = kernel;
    p->proc = proc;
    p->name = strdup(name);
    p->due_ns = UINT64_MAX;
    if (p->name)
        return p;
    cs_attribute_places_close(p);
    return NULL;
}

void cs_attribute_places_close(struct cs_attribute_places *p)
{
    if (!p)
        return;
    cs_array_free(&p->pending);
    free(p->name);
    free(p);
}
