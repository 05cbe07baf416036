/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wants to answers. A process's list is made when one of its samples found none, and again whenever its mappings
 * change. Tables of images come with the process that is asked for as long as much memory is free, then one by
 * one. */
#include "sampler/placing/chains.h"
#include "sampler/chains/context_tree.h"
#include "store/base/array.h"
#include "store/base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#define ASK_AGAIN_NS 1000000000ULL
#define UNASKED_NS 10000000ULL          /* of a drain, for tables that nobody has asked for */
#define FORKS_LOOK 64U                  /* changes before a fork in which its parent is looked for */
#define EXPECTED_NS 5000000000ULL       /* until what was expected is given up */
#define EXPECTED_AGAIN_NS 1000000000ULL /* after a change */
#define SYMBOLS_NS 2000000000ULL /* for symbols of anybody's interpreters; then a twentieth of the time */
#define SEARCH_NS 2000000000ULL  /* for one of them, of ten milliseconds, on a busy machine */
#define WAIT_NS 3000000ULL       /* that it is waited for; later is no loss */
#define TURNS_UNUSED 6           /* a table goes if it wasn't used for a minute, where there is no room */

struct mapped { /* an image, and where to have it from */
    struct cs_mapped_image *image;
    uint64_t start, end, pgoff;
};

struct cs_session_chains {
    struct cs_chain_kernel *kernel;
    struct cs_session_places *places;
    struct cs_generations *generations;
    CS_ARRAY(pid_t) changed;
    CS_ARRAY(struct cs_chain_want) wants;
    pid_t pid;                              /* the process at hand */
    CS_ARRAY(struct cs_chain_mapping) list; /* its */
    CS_ARRAY(struct mapped) images;         /* the same one's */
    uint64_t next_asking_ns, unasked_until_ns;
    uint32_t swept; /* at this turn */
    struct cs_image_tables *tables;
    pid_t expected; /* not all of its tables are there yet; 0: nobody is expected */
    uint64_t expected_until_ns;
    bool follows_one;                 /* a command or a process was asked for, and its children */
    uint64_t began_ns, symbols_ns;    /* what interpreters' symbols took so far */
    struct cs_apart search;           /* a child looks whether an image is an interpreter, */
    struct cs_mapped_image *searched; /* this one */
    uint64_t search_began_ns;
};

static void note_change(void *arg, pid_t pid)
{
    struct cs_session_chains *c = arg;
    pid_t *last = c->changed.n ? &c->changed.at[c->changed.n - 1] : NULL;
    if (!(last && *last == pid) && (last = cs_array_add(&c->changed)) != NULL)
        *last = pid;
}

/* The kernel gave it its parent's list (inherit_list), which lacks what the parent has mapped since the last feed. Where it forked
 * before that feed, and is met after it, its parent has another list by now. */
static void note_fork(void *arg, pid_t pid, pid_t parent)
{
    const struct cs_session_chains *c = arg;
    const size_t last = c->changed.n;
    bool stale = !cs_chain_lists_share(&c->kernel->lists, (uint32_t)pid, (uint32_t)parent);
    for (size_t i = 0; !stale && i < last && i < FORKS_LOOK; i++)
        stale = c->changed.at[last - 1 - i] == parent;
    if (stale)
        note_change(arg, pid);
}

static void note_want(void *arg, const struct cs_chain_want *want)
{
    struct cs_session_chains *c = arg;
    struct cs_mapped_image *image;
    uint64_t offset;
    if (want->code) { /* at once: a process may end, and its frames are placed much later */
        const struct cs_interpreted_frame frame = {
            .code = want->code & CS_TREE_CODE_MASK, .caller = want->caller, .caller_at = want->caller_at};
        (void)cs_interpreted_find(c->places->interpreted, want->code >> CS_TREE_INTERPRETER_SHIFT & 15,
                                  (pid_t)want->pid, want->code & CS_TREE_MODULE_BITS, &frame, true, &image,
                                  &offset);
        return;
    }
    struct cs_chain_want *more = cs_array_add(&c->wants);
    if (more)
        *more = *want;
}

static void load(struct cs_session_chains *c, uint32_t number, const struct cs_unwind_header *table, size_t n)
{
    struct cs_chain_tables *tables = &c->kernel->tables;
    int rc = cs_chain_tables_load(tables, number, table, n);
    if (rc == -ENOSPC) /* room comes with the next sweep; then it is asked for again */
        cs_chain_tables_evict(tables, TURNS_UNUSED, (uint32_t)(n / 4));
    else if (rc == -EINVAL)
        cs_chain_tables_none(tables, number);
}

/* ---- a process's mappings ---- */

/* Code that is copies of a template has one row: its table is that of all such mappings of the program. */
static bool take_templates(struct cs_session_chains *c, const struct cs_mapped_piece *piece)
{
    const struct cs_unwind_header *table;
    size_t n;
    const uint32_t number = piece->image->index;
    const struct cs_chain_tables *tables = &c->kernel->tables;
    if (number >= tables->n_images ||
        !cs_image_tables_made(c->tables, c->pid, piece->start, piece->end, &table, &n))
        return false;
    if (tables->images[number].state == CS_CHAIN_IMAGE_ABSENT)
        load(c, number, table, n);
    return tables->images[number].state == CS_CHAIN_IMAGE_LOADED;
}

/* Mappings of the same part of the same file right below it. */
static unsigned before(const struct cs_session_chains *c, const struct cs_mapped_piece *piece)
{
    unsigned n = 0;
    for (size_t i = c->images.n;
         i-- > 0 && c->images.at[i].image == piece->image && n < CS_IMAGE_SEGMENTS_MAX;)
        n += c->images.at[i].pgoff == piece->pgoff &&
             c->images.at[i].end - c->images.at[i].start == piece->end - piece->start;
    return n;
}

static void add_mapping(void *arg, const struct cs_mapped_piece *piece)
{
    struct cs_session_chains *c = arg;
    const struct cs_mapped_image *image = piece->image;
    bool rows = !piece->jit && image->index < c->kernel->tables.n_images &&
                (image->image.kind == CS_IMAGE_VDSO || (image->placeable && image->layout.is_elf));
    const bool templates = piece->jit && take_templates(c, piece);
    uint64_t vaddr = rows ? cs_image_vaddr_of_mapping(&image->layout, piece->pgoff, piece->end - piece->start,
                                                      before(c, piece))
                          : UINT64_MAX;
    if (image->image.kind == CS_IMAGE_VDSO)
        vaddr = piece->pgoff;
    if (templates)
        vaddr = 0;
    struct cs_chain_mapping *m = cs_array_add(&c->list);
    struct mapped *of = rows && vaddr != UINT64_MAX ? cs_array_add(&c->images) : NULL;
    if (m)
        *m =
            (struct cs_chain_mapping){.start = piece->start,
                                      .bias = piece->start - vaddr,
                                      .pages = (uint32_t)((piece->end - piece->start) >> CS_CHAIN_PAGE_SHIFT),
                                      .image = of || templates ? image->index : CS_CHAIN_NO_IMAGE};
    if (of)
        *of = (struct mapped){piece->image, piece->start, piece->end, piece->pgoff};
}

static bool tell_mappings(struct cs_session_chains *c, pid_t pid, uint64_t line_ns)
{
    c->pid = pid;
    c->list.n = c->images.n = 0;
    if (!cs_maps_each(c->places->maps, pid, add_mapping, c) || c->list.n == 0)
        return false;
    uint32_t generation = cs_generations_span(c->generations, (uint32_t)pid, line_ns).number;
    bool told = cs_chain_lists_put(&c->kernel->lists, (uint32_t)pid, generation, c->list.at,
                                   (uint32_t)c->list.n) == 0;
    if (told)
        cs_chain_answered(c->kernel, (uint32_t)pid);
    return told;
}

/* ---- an image's table ---- */

/* Every one that is ready: a large file's would else wait behind all small ones. */
static void take_built(struct cs_session_chains *c)
{
    const struct cs_unwind_header *table;
    const struct cs_mapped_image *image;
    size_t n;
    for (int rc; (rc = cs_image_tables_poll(c->tables, &image, &table, &n)) != 0;) {
        c->next_asking_ns = 0; /* another one may wait */
        const uint32_t number = image->index;
        if (number >= c->kernel->tables.n_images ||
            c->kernel->tables.images[number].state != CS_CHAIN_IMAGE_ABSENT)
            continue;
        if (rc < 0)
            cs_chain_tables_none(&c->kernel->tables, number);
        else if (image->searched || !cs_interpreter_may_be(image->image.path))
            load(c, number, table, n);
        /* else copies of stacks asked for it: the handler gets it when it asks, and it is searched */
    }
}

static void take_place(struct cs_session_chains *c, const struct cs_mapped_image *of,
                       const struct cs_interpreter_place *place)
{
    if (place->kind != &cs_interpreter_python && place->kind != &cs_interpreter_lua)
        return;
    int which = cs_interpreted_add(c->places->interpreted, place, &of->image);
    if (which < 0)
        return;
    struct cs_chain_interpreter it = {.loop = place->loop,
                                      .loop_bytes = place->loop_bytes,
                                      .root = place->root,
                                      .kind = place->kind == &cs_interpreter_lua ? CS_CHAIN_LUA
                                                                                 : CS_CHAIN_PYTHON};
    if (it.kind == CS_CHAIN_LUA)
        it.lua = place->offsets.lua;
    else
        it.python = place->offsets.python;
    c->kernel->interpreters[which] = it;
    __atomic_store_n(&c->kernel->tables.images[of->index].interpreter, (uint32_t)which + 1, __ATOMIC_RELEASE);
}

/* What the child has found, if it is at an end or late. */
static void take_search(struct cs_session_chains *c)
{
    struct cs_interpreter_place place;
    struct cs_error ignored;
    if (!c->search.pid)
        return;
    uint64_t took = cs_monotonic_ns() - c->search_began_ns;
    int rc = cs_interpreter_answer(&c->search, c->searched->image.path, &place, &ignored);
    if (rc == 0 && took < SEARCH_NS)
        return;
    cs_apart_end(&c->search);
    cs_image_tables_pay(c->tables, c->search.cpu_ns);
    c->symbols_ns += took;
    c->next_asking_ns = 0; /* its table is waited for */
    c->searched->searched = true;
    if (rc > 0)
        take_place(c, c->searched, &place);
}

/* Is it known whether the image is an interpreter? Before its table goes to the handler, which keeps what it found. */
static bool is_searched(struct cs_session_chains *c, pid_t pid, const struct mapped *of)
{
    uint64_t now = cs_monotonic_ns();
    if (of->image->searched || !cs_interpreter_may_be(of->image->image.path) ||
        c->symbols_ns > SYMBOLS_NS + (now - c->began_ns) / 20)
        return true;
    if (c->search.pid || !cs_image_tables_may_begin(c->tables))
        return false;
    int fd = cs_images_reopen(c->places->images, of->image, pid, of->start, of->end);
    of->image->searched = fd < 0 || cs_interpreter_ask(&c->search, fd) < 0;
    if (fd >= 0)
        close(fd);
    c->searched = of->image;
    c->search_began_ns = now;
    if (c->search.pid && cs_apart_wait(&c->search, WAIT_NS))
        take_search(c);
    return of->image->searched;
}

static void tell_table(struct cs_session_chains *c, pid_t pid, const struct mapped *of)
{
    const struct cs_chain_tables *tables = &c->kernel->tables;
    const struct cs_unwind_header *table;
    uint32_t number = of->image->index;
    size_t n;
    if (number >= tables->n_images || tables->images[number].state != CS_CHAIN_IMAGE_ABSENT)
        return;
    if (of->image->image.kind != CS_IMAGE_VDSO && !is_searched(c, pid, of))
        return;
    int rc = cs_image_tables_get(c->tables, of->image, pid, of->start, of->end, &table, &n);
    if (rc > 0)
        load(c, number, table, n);
    else if (rc < 0 && rc != -EAGAIN)
        cs_chain_tables_none(&c->kernel->tables, number);
    cs_image_tables_trim(c->tables);
}

/* The image that was asked for, and others that the process has while there is room and time: who waits gets copies of stacks,
 * and those have no room for long. */
static void tell_tables(struct cs_session_chains *c, pid_t pid, uint32_t wanted)
{
    const struct cs_chain_tables *tables = &c->kernel->tables;
    for (size_t i = 0; i < c->images.n; i++)
        if (c->images.at[i].image->index == wanted ||
            (tables->n_segments < tables->most_segments / 2 && cs_monotonic_ns() < c->unasked_until_ns))
            tell_table(c, pid, &c->images.at[i]);
}

static bool any_absent(const struct cs_session_chains *c)
{
    const struct cs_chain_tables *tables = &c->kernel->tables;
    for (size_t i = 0; i < c->images.n; i++) {
        uint32_t number = c->images.at[i].image->index;
        if (number < tables->n_images && tables->images[number].state == CS_CHAIN_IMAGE_ABSENT)
            return true;
    }
    return false;
}

/* Feeds go on until all of its tables are there, or there is no more room or time for what nobody has asked for. */
static void tell_expected(struct cs_session_chains *c, uint64_t line_ns, uint64_t now)
{
    const struct cs_chain_tables *tables = &c->kernel->tables;
    if (tell_mappings(c, c->expected, line_ns))
        tell_tables(c, c->expected, CS_CHAIN_NO_IMAGE);
    const bool absent = c->images.n == 0 || any_absent(c); /* 0: it isn't known yet */
    if (!absent || now >= c->expected_until_ns || tables->n_segments >= tables->most_segments / 2)
        c->expected = 0;
}

/* ---- a feed ---- */

/* A process that is followed may have mapped what nobody had a table of. It may wait there for long, and its frames would be asked for
 * when that wait has ended. */
static void tell_change(struct cs_session_chains *c, pid_t pid, uint64_t line_ns, uint64_t now)
{
    if (!cs_chain_lists_has(&c->kernel->lists, (uint32_t)pid) || !tell_mappings(c, pid, line_ns))
        return;
    tell_tables(c, pid, CS_CHAIN_NO_IMAGE);
    if (c->follows_one && !c->expected && any_absent(c)) {
        c->expected = pid;
        c->expected_until_ns = now + EXPECTED_AGAIN_NS;
    }
}

static bool lives(void *arg, uint32_t pid)
{
    struct cs_session_chains *c = arg;
    return cs_maps_is_running(c->places->maps, (pid_t)pid);
}

static void ask_for_absent(struct cs_session_chains *c)
{
    for (uint32_t i = 0; i < c->kernel->tables.n_images; i++)
        if (c->kernel->tables.images[i].asked && c->kernel->tables.images[i].state == CS_CHAIN_IMAGE_ABSENT)
            __atomic_store_n(&c->kernel->tables.images[i].asked, 0, __ATOMIC_RELAXED);
    cs_chain_ask_again(c->kernel);
}

void cs_session_chains_expect(struct cs_session_chains *c, pid_t pid)
{
    c->follows_one = true;
    c->expected = pid;
    c->expected_until_ns = cs_monotonic_ns() + EXPECTED_NS;
}

bool cs_session_chains_busy(const struct cs_session_chains *c)
{
    return c && (c->expected || c->search.pid || cs_image_tables_busy(c->tables));
}

void cs_session_chains_wants(struct cs_session_chains *c)
{
    c->kernel->wants(c->kernel->arg, note_want, c);
}

void cs_session_chains_feed(struct cs_session_chains *c, uint64_t line_ns)
{
    uint64_t now = cs_monotonic_ns();
    c->unasked_until_ns = now + UNASKED_NS;
    c->kernel->tables.turn = c->kernel->turns;
    if (c->swept !=
        c->kernel->turns) { /* since the last feed a grace period has passed: what went then is nobody's */
        cs_chain_lists_sweep(&c->kernel->lists, lives, c);
        cs_chain_tables_sweep(&c->kernel->tables);
        c->swept = c->kernel->turns;
    }
    take_built(c);
    take_search(c);
    for (size_t i = 0; i < c->changed.n; i++)
        tell_change(c, c->changed.at[i], line_ns, now);
    for (size_t i = 0; i < c->wants.n; i++)
        if (c->wants.at[i].pid && tell_mappings(c, (pid_t)c->wants.at[i].pid, line_ns))
            tell_tables(c, (pid_t)c->wants.at[i].pid, c->wants.at[i].image);
    c->changed.n = c->wants.n = 0;
    if (c->expected)
        tell_expected(c, line_ns, now);
    if (now >= c->next_asking_ns) {
        ask_for_absent(c);
        c->next_asking_ns = now + ASK_AGAIN_NS;
    }
}

struct cs_session_chains *cs_session_chains_open(struct cs_chain_kernel *kernel,
                                                 struct cs_session_places *places,
                                                 struct cs_image_tables *tables,
                                                 struct cs_generations *generations)
{
    assert(kernel && places && tables);
    struct cs_session_chains *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->kernel = kernel;
    c->places = places;
    c->tables = tables;
    c->generations = generations;
    c->began_ns = cs_monotonic_ns();
    cs_maps_tell_changes(places->maps, note_change, note_fork, c);
    return c;
}

void cs_session_chains_close(struct cs_session_chains *c)
{
    if (!c)
        return;
    cs_maps_tell_changes(c->places->maps, NULL, NULL, NULL);
    cs_apart_end(&c->search);
    cs_array_free(&c->changed);
    cs_array_free(&c->wants);
    cs_array_free(&c->list);
    cs_array_free(&c->images);
    free(c);
}
