/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/dynamic/interpreted.h"
#include "sampler/dynamic/jit_code.h"
#include "sampler/dynamic/jit_methods.h"
#include "store/base/foreign.h"
#include "store/base/hash_seed.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define SLOTS 16384U /* of code seen; power of two. When three quarters are taken it starts anew */
#define FRESH_NS 600000000000ULL /* then a name is read again, where it still can be */
#define MEETINGS_MOST                                                                                        \
    8 /* that are read between two drains: two that share a place of the handler's table are always new */
#define INTERPRETERS 16
#define OF_OTHERS (INTERPRETERS / 2)
#define OF_ONE (INTERPRETERS / 4)
#define NOBODY 65534U /* whoever may write the file */

struct seen {
    uint64_t code; /* and its module; 0: free */
    uint64_t offset;
    uint64_t met_ns; /* drain in which it was met as if it were new, `met` times */
    uint32_t met;
    uint32_t pid;
    uint32_t number;
};

struct cs_interpreted {
    struct cs_images *images;
    struct cs_maps *maps;
    struct cs_interpreter_place places[INTERPRETERS];
    struct cs_mapped_image *image_of[INTERPRETERS];
    struct cs_table *names[INTERPRETERS]; /* waiting for the store */
    char owners[INTERPRETERS][24];        /* "" is root's or ours, else as the image's id has it */
    unsigned n;
    uint64_t cut;
    uint64_t now_ns; /* of the drain */
    uint64_t fresh_until_ns;
    struct seen *seen, *before; /* before: what was seen before that, for processes that have ended */
    uint32_t n_seen;
    uint64_t *named; /* offsets of functions that callers name, by hash; 0: free */
    uint32_t n_named;
};

struct cs_interpreted *cs_interpreted_open(struct cs_images *images, struct cs_maps *maps)
{
    struct cs_interpreted *it = calloc(1, sizeof *it);
    if (!it)
        return NULL;
    it->images = images;
    it->maps = maps;
    it->seen = calloc(SLOTS, sizeof *it->seen);
    it->before = calloc(SLOTS, sizeof *it->before);
    it->named = calloc(SLOTS, sizeof *it->named);
    if (it->seen && it->before && it->named)
        return it;
    cs_interpreted_close(it);
    return NULL;
}

void cs_interpreted_close(struct cs_interpreted *it)
{
    if (!it)
        return;
    for (unsigned i = 0; i < it->n; i++)
        cs_table_close(it->names[i]);
    free(it->seen);
    free(it->before);
    free(it->named);
    free(it);
}

/* Has this owner a number left? */
static bool has_share(const struct cs_interpreted *it, const char *owner)
{
    unsigned others = 0, own = 0;
    for (unsigned i = 0; i < it->n; i++) {
        others += it->owners[i][0] != '\0';
        own += strcmp(it->owners[i], owner) == 0;
    }
    return it->n < INTERPRETERS && (!*owner || (others < OF_OTHERS && own < OF_ONE));
}

uint64_t cs_interpreted_cut(const struct cs_interpreted *it)
{
    return it->cut;
}

int cs_interpreted_add(struct cs_interpreted *it, const struct cs_interpreter_place *place,
                       const struct cs_store_image *of)
{
    assert(place->kind);
    char path[64];
    const char *mark = strchr(of->id, '-'), *owner = mark ? mark : "";
    unsigned user = NOBODY;
    for (unsigned i = 0; i < it->n; i++)
        if (strcmp(it->owners[i], owner) == 0 && it->places[i].kind == place->kind &&
            memcmp(it->places[i].offsets.bytes, place->offsets.bytes, sizeof place->offsets.bytes) == 0 &&
            it->places[i].loop == place->loop && it->places[i].root == place->root)
            return (int)i;
    if (!has_share(it, owner)) {
        it->cut++;
        return -1;
    }
    snprintf(path, sizeof path, "[%.*s]", (int)strcspn(place->version, " "), place->version);
    (void)sscanf(owner, "-u%u", &user);
    it->image_of[it->n] = *owner ? cs_images_made(it->images, path, user)
                                 : cs_images_special(it->images, CS_IMAGE_JIT, NULL, path, "");
    if (!it->image_of[it->n])
        return -1;
    it->places[it->n] = *place;
    snprintf(it->owners[it->n], sizeof it->owners[it->n], "%s", owner);
    return (int)it->n++;
}

static bool read_memory(void *arg, uint64_t addr, void *to, size_t n)
{
    return cs_foreign_memory(*(const pid_t *)arg, addr, to, n);
}

/* Where in `path` the folder of Python's own library begins ("/usr/lib/python3.11/": at "python3.11/"), NULL: nowhere. */
static const char *library_of(const char *path)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/", "/lib/python3.",
                                          "/lib64/python3."};
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *at = strstr(path, folders[i]);
        if (at)
            return i < 2 ? at + 1 : strstr(at, "python3.");
    }
    return NULL;
}

/* The last two parts of a path tell files apart well enough for people; the hash is made of the whole. Of a library
 * all that is below its folder, so that it is told from a program's own code. */
static const char *end_of_path(const char *path)
{
    const char *library = library_of(path);
    if (library)
        return library;
    const char *last = strrchr(path, '/'), *at = last;
    while (at && at > path && at[-1] != '/')
        at--;
    return at ? at : path;
}

static bool is_new(struct cs_interpreted *it, uint64_t offset)
{
    if (it->n_named >= SLOTS / 4 * 3) {
        memset(it->named, 0, SLOTS * sizeof *it->named);
        it->n_named = 0;
    }
    for (uint64_t at = offset * cs_hash_seed >> 32;; at++) {
        uint64_t *named = &it->named[at & (SLOTS - 1)];
        if (*named == offset)
            return false;
        if (!*named) {
            *named = offset;
            it->n_named++;
            return true;
        }
    }
}

/* Reads its name from the process; one that hasn't the offset `known` is kept for the store. */
static bool read_name(struct cs_interpreted *it, unsigned number, pid_t pid,
                      const struct cs_interpreted_frame *frame, uint64_t known, uint64_t *offset)
{
    const struct cs_process_memory memory = {read_memory, &pid};
    struct cs_interpreted_name name;
    char whole[600], text[600];
    const struct cs_interpreter_kind *kind = it->places[number].kind;
    kind->name(&memory, &it->places[number].offsets, frame, &name);
    if (!name.function[0])
        return false;
    for (char *c = name.function; *c;
         c++) /* the process's own text: no line of a listing may end within it */
        *c = (unsigned char)*c < ' ' ? '?' : *c;
    for (char *c = name.file; *c; c++)
        *c = (unsigned char)*c < ' ' ? '?' : *c;
    snprintf(whole, sizeof whole, "%s %s:%u", kind->named_by_caller ? "" : name.function, name.file,
             name.first_line);
    if (name.file[0] && name.first_line)
        snprintf(text, sizeof text, "%s (%s:%u)", name.function, end_of_path(name.file), name.first_line);
    else if (name.file[0])
        snprintf(text, sizeof text, "%s (%s)", name.function, end_of_path(name.file));
    else
        snprintf(text, sizeof text, "%s", name.function);
    *offset = cs_jit_name_offset(whole);
    if (*offset == known || (kind->named_by_caller && !is_new(it, *offset)))
        return true; /* what its first caller called it */
    if (!it->names[number])
        it->names[number] = cs_table_open(&cs_schema_names);
    int64_t at = it->names[number] ? cs_table_text(it->names[number], text) : -1;
    return at >= 0 &&
           cs_table_add(it->names[number], (uint64_t[]){*offset, CS_JIT_METHOD_MAX, (uint64_t)at}) == 0;
}

/* Of a process whose memory is gone: it's read in its parent, where the code was before the fork. */
static bool read_parents(struct cs_interpreted *it, unsigned number, pid_t pid,
                         const struct cs_interpreted_frame *frame, uint64_t *offset)
{
    const pid_t parent = it->maps ? cs_maps_parent(it->maps, pid) : 0;
    char byte;
    return parent && !cs_foreign_memory(pid, frame->code, &byte, 1) &&
           read_name(it, number, parent, frame, 0, offset);
}

static struct seen *slot_of(struct seen *table, unsigned number, pid_t pid, uint64_t code)
{
    uint64_t key[2] = {code, (uint64_t)number << 32 | (uint32_t)pid};
    for (uint64_t at = XXH3_64bits_withSeed(key, sizeof key, cs_hash_seed);; at++) {
        struct seen *seen = &table[at & (SLOTS - 1)];
        if (!seen->code || (seen->code == code && seen->pid == (uint32_t)pid && seen->number == number))
            return seen;
    }
}

static void begin_anew(struct cs_interpreted *it)
{
    struct seen *empty = it->before;
    memset(empty, 0, SLOTS * sizeof *empty);
    it->before = it->seen;
    it->seen = empty;
    it->n_seen = 0;
}

/* The handler met it as if it were new: it was freed, perhaps, and its memory is other code's, which runs. */
static void meet_again(struct cs_interpreted *it, struct seen *seen, const struct cs_interpreted_frame *frame)
{
    uint64_t offset;
    seen->met = seen->met_ns == it->now_ns ? seen->met + 1 : 1;
    seen->met_ns = it->now_ns;
    if (seen->met <= MEETINGS_MOST &&
        read_name(it, seen->number, (pid_t)seen->pid, frame, seen->offset, &offset))
        seen->offset = offset;
}

bool cs_interpreted_find(struct cs_interpreted *it, unsigned number, pid_t pid, uint64_t module,
                         const struct cs_interpreted_frame *frame, bool runs, struct cs_mapped_image **image,
                         uint64_t *offset)
{
    const uint64_t code = frame->code ^ module;
    if (number >= it->n || !frame->code)
        return false;
    struct seen *seen = slot_of(it->seen, number, pid, code);
    *image = it->image_of[number];
    if (seen->code && runs) {
        meet_again(it, seen, frame);
    } else if (!seen->code) {
        const struct seen *was = slot_of(it->before, number, pid, code);
        if (!read_name(it, number, pid, frame, 0, offset) && !read_parents(it, number, pid, frame, offset)) {
            if (!was->code)
                return false;
            *offset = was->offset;
        }
        if (it->n_seen >= SLOTS / 4 * 3) {
            begin_anew(it);
            seen = slot_of(it->seen, number, pid, code);
        }
        *seen = (struct seen){.code = code, .offset = *offset, .pid = (uint32_t)pid, .number = number};
        it->n_seen++;
    }
    *offset = seen->offset;
    return true;
}

void cs_interpreted_drain(struct cs_interpreted *it, uint64_t now_ns)
{
    it->now_ns = now_ns;
    if (it->fresh_until_ns && now_ns >= it->fresh_until_ns)
        begin_anew(it);
    if (now_ns >= it->fresh_until_ns)
        it->fresh_until_ns = now_ns + FRESH_NS;
}

int cs_interpreted_name(struct cs_interpreted *it, struct cs_store *store, struct cs_error *err)
{
    for (unsigned i = 0; i < it->n; i++) {
        int rc = it->names[i] ? cs_store_merge_names(store, &it->image_of[i]->image, it->names[i], err) : 0;
        if (rc < 0)
            return rc;
        cs_table_close(it->names[i]);
        it->names[i] = NULL;
    }
    return 0;
}
