/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's text, modules and BPF programs, from /proc/kallsyms and /proc/modules read line by line. Their 200,000
 * symbols are never held in memory. A pass over all of them takes 70 ms, most of it the kernel's, so as little as
 * possible is read. The first lines show where the kernel begins. For an address that lies nowhere there, the kernel
 * lists its BPF programs; the rest is read only if it is in none of them. Names are asked of the kernel one by one
 * (kernel_symbol.h) where that is permitted. */
#include "sampler/images/kernel_image.h"
#include "image/procedures/kallsyms.h"
#include "sampler/images/bpf_programs.h"
#include "sampler/images/kernel_symbol.h"
#include "sampler/images/labels_unknowns.h"
#include "store/base/array.h"
#include "store/base/bisect.h"
#include "store/base/kernel_files.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct region {
    uint64_t start, end;
    struct cs_mapped_image *image;
};

struct cs_kernel {
    struct cs_images *images;
    const char *proc, *sys;
    char symbols[256];      /* path of the list of symbols */
    struct region *regions; /* ascending */
    size_t n_regions, room_regions;
    struct cs_kallsyms_wanted *wanted; /* those not named yet */
    size_t n_wanted, room_wanted;
    struct region *named; /* procedures that the store knows by now, unsorted within a merge */
    size_t n_named, room_named;
    char reason[200];
    bool begun; /* where the kernel and its modules lie is known */
    bool stale; /* all of /proc/kallsyms is worth reading for an address that lies nowhere */
};

#define TEXT_MAX (64UL << 20) /* of the kernel, while its end isn't known */

CS_ORDER(by_start, struct region, cs_order(a->start, b->start))

static const struct region *region_at(const struct region *regions, size_t n, uint64_t addr)
{
    size_t low = cs_bisect(n, i, regions[i].end <= addr);
    return low < n && regions[low].start <= addr ? &regions[low] : NULL;
}

static bool add_region(struct region **list, size_t *n, size_t *capacity, struct region add)
{
    if (cs_array_room(*list, *n, *capacity) < 0)
        return false;
    (*list)[(*n)++] = add;
    return true;
}

static const char hidden_reason[] = "kernel addresses are hidden (/proc/sys/kernel/kptr_restrict, or not "
                                    "root): samples in the kernel are counted as unknown";

static struct cs_mapped_image *special(struct cs_kernel *k, enum cs_store_image_kind kind, const char *notes,
                                       const char *name)
{
    char text[4097], hex[CS_IMAGE_BUILD_ID_MAX], bracketed[160];
    cs_image_build_id_of_notes(text, cs_kernel_text(text, sizeof text, "%s/%s", k->sys, notes), hex);
    snprintf(bracketed, sizeof bracketed, "[%s]", name);
    return cs_images_special(k->images, kind, hex[0] ? hex : NULL, bracketed, hex);
}

static void read_modules(struct cs_kernel *k)
{
    char path[256], line[1024], name[128];
    snprintf(path, sizeof path, "%s/modules", k->proc);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        uint64_t size, base;
        if (sscanf(line, "%127s %" SCNu64 " %*s %*s %*s %" SCNx64, name, &size, &base) != 3 || base == 0)
            continue;
        char notes[256];
        snprintf(notes, sizeof notes, "module/%s/notes/.note.gnu.build-id", name);
        struct cs_mapped_image *image = special(k, CS_IMAGE_MODULE, notes, name);
        if (image)
            add_region(&k->regions, &k->n_regions, &k->room_regions,
                       (struct region){base, base + size, image});
    }
    if (f)
        fclose(f);
}

/* Text of the kernel and, unless only the beginning is asked for, BPF programs, whose end is the next symbol's start. A
 * kernel that lists only functions (AArch64's, without CONFIG_KALLSYMS_ALL) has no _text, which would be at or before _stext. */
static void read_symbols(struct cs_kernel *k, bool beginning)
{
    struct cs_kallsyms_symbol s;
    uint64_t text = 0, etext = 0;
    bool hidden = true;
    FILE *f = cs_kallsyms_open(k->symbols);
    while (f && !(beginning && text) && cs_kallsyms_next(f, &s)) {
        if (s.addr == 0)
            continue;
        hidden = false;
        if (!text && (strcmp(s.name, "_text") == 0 || strcmp(s.name, "_stext") == 0))
            text = s.addr;
        else if (strcmp(s.name, "_etext") == 0)
            etext = s.addr;
        if (strcmp(s.module, "bpf") == 0 && (s.type == 't' || s.type == 'T')) {
            struct cs_mapped_image *image = cs_images_special(k->images, CS_IMAGE_JIT, NULL, s.name, "");
            if (image)
                add_region(&k->regions, &k->n_regions, &k->room_regions,
                           (struct region){s.addr, s.addr + 65536, image});
        }
    }
    if (f)
        fclose(f);
    if (hidden || !text)
        snprintf(k->reason, sizeof k->reason, "%s", hidden_reason);
    else
        add_region(&k->regions, &k->n_regions, &k->room_regions,
                   (struct region){text, etext ? etext : text + TEXT_MAX,
                                   special(k, CS_IMAGE_KERNEL, "kernel/notes", "kernel")});
}

static void sort_regions(struct cs_kernel *k)
{
    cs_sort(k->regions, k->n_regions, by_start);
    for (size_t i = 0; i + 1 < k->n_regions; i++)
        if (k->regions[i].end > k->regions[i + 1].start)
            k->regions[i].end = k->regions[i + 1].start;
}

static void read_regions(struct cs_kernel *k, bool beginning)
{
    k->n_regions = 0;
    k->reason[0] = '\0';
    read_symbols(k, beginning);
    if (!k->reason[0])
        read_modules(k);
    sort_regions(k);
    k->begun = true;
    k->stale = beginning;
}

struct program_wanted {
    struct cs_kernel *kernel;
    uint64_t addr;
    bool found;
};

static void take_program(void *arg, uint64_t start, uint64_t end, const char *name)
{
    struct program_wanted *w = arg;
    struct cs_kernel *k = w->kernel;
    if (w->found || w->addr < start || w->addr >= end)
        return;
    struct cs_mapped_image *image = cs_images_special(k->images, CS_IMAGE_JIT, NULL, name, "");
    w->found =
        image && add_region(&k->regions, &k->n_regions, &k->room_regions, (struct region){start, end, image});
}

/* Our own programs are sampled, too; a pass over all symbols would take too long while samples come. */
static bool read_program(struct cs_kernel *k, uint64_t addr)
{
    struct program_wanted wanted = {.kernel = k, .addr = addr};
    if (strcmp(k->proc, "/proc") == 0) /* else it speaks of another kernel than this */
        cs_bpf_programs_each(take_program, &wanted);
    if (wanted.found)
        sort_regions(k);
    return wanted.found;
}

CS_ORDER(by_addr, struct cs_kallsyms_wanted, cs_order(a->addr, b->addr))

static void want(struct cs_kernel *k, uint64_t addr)
{
    if (region_at(k->named, k->n_named, addr))
        return;
    if (k->n_wanted == k->room_wanted) {
        /* Most are repeats: sort them out before taking more memory. */
        size_t kept = 0;
        cs_sort(k->wanted, k->n_wanted, by_addr);
        for (size_t i = 0; i < k->n_wanted; i++)
            if (kept == 0 || k->wanted[kept - 1].addr != k->wanted[i].addr)
                k->wanted[kept++] = k->wanted[i];
        k->n_wanted = kept;
        const size_t room = k->room_wanted ? 2 * k->room_wanted : 1024;
        if (kept >= k->room_wanted / 2 &&
            (room > 1U << 15 || cs_array_reserve_in(k->wanted, room, k->room_wanted) < 0))
            return; /* this one stays without a name in this round */
    }
    k->wanted[k->n_wanted++] = (struct cs_kallsyms_wanted){.addr = addr};
}

int cs_kernel_find(struct cs_kernel *k, uint64_t addr, struct cs_mapped_image **image, uint64_t *offset)
{
    if (!k->begun && !k->reason[0])
        read_regions(k, true);
    const struct region *r = region_at(k->regions, k->n_regions, addr);
    if (!r && k->stale && !k->reason[0]) {
        if (!read_program(k, addr))
            read_regions(k, false);
        r = region_at(k->regions, k->n_regions, addr);
    }
    if (!r || !r->image)
        return -(1 + CS_UNKNOWN_KERNEL);
    *image = r->image;
    *offset = addr - r->start;
    want(k, addr);
    return 0;
}

/* Asks the kernel for each. False where it may not be asked, or `proc` speaks of another kernel than this. */
static bool ask_kernel(struct cs_kernel *k)
{
    struct cs_kernel_symbols *symbols = strcmp(k->proc, "/proc") == 0 ? cs_kernel_symbols_open() : NULL;
    if (!symbols)
        return false;
    for (size_t i = 0; i < k->n_wanted; i++) {
        struct cs_kallsyms_wanted *w = &k->wanted[i];
        if (i && w->addr < w[-1].end && w->addr >= w[-1].start)
            *w = (struct cs_kallsyms_wanted){
                .addr = w->addr, .start = w[-1].start, .end = w[-1].end}; /* known by now */
        else
            (void)cs_kernel_symbol_at(symbols, w->addr, &w->start, &w->end, w->name, sizeof w->name);
    }
    cs_kernel_symbols_close(symbols);
    return true;
}

/* A BPF program that has gone leaves its place to another, and no record of that may have come. What is asked now is the
 * newcomer's name then, which isn't the image's. Names of one function begin alike: "bpf_prog_", 16 digits. */
static bool was_replaced(const struct region *r, const struct cs_kallsyms_wanted *now)
{
    return r->image->image.kind == CS_IMAGE_JIT && now->name[0] &&
           (now->start != r->start || strncmp(now->name, r->image->image.path, 9 + 16) != 0);
}

/* Merges what was gathered for an image, and remembers it as named. */
static int merge_names(struct cs_kernel *k, struct cs_store *store, const struct region *found, size_t n,
                       struct cs_table *names, struct cs_error *err)
{
    int rc = n ? cs_store_merge_names(store, &found->image->image, names, err) : 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        add_region(&k->named, &k->n_named, &k->room_named, found[i]);
    cs_table_clear(names);
    return rc;
}

int cs_kernel_name(struct cs_kernel *k, struct cs_store *store, struct cs_error *err)
{
    int rc = 0;
    if (k->n_wanted == 0)
        return 0;
    cs_sort(k->wanted, k->n_wanted, by_addr);
    if (!ask_kernel(k) && !cs_kallsyms_look_up(k->symbols, k->wanted, k->n_wanted))
        return 0;
    size_t n = 0;
    struct region *found = malloc(k->n_wanted * sizeof *found); /* of one image at a time */
    struct cs_table *names = cs_table_open(&cs_schema_names);
    if (!found || !names)
        rc = cs_fail(err, ENOMEM, "out of memory for the kernel's names");
    uint64_t last = 0;
    bool replaced = false;
    for (size_t i = 0; rc == 0 && i < k->n_wanted; i++) {
        const struct cs_kallsyms_wanted *w = &k->wanted[i];
        const struct region *r = region_at(k->regions, k->n_regions, w->addr);
        const bool other = r && r->image && was_replaced(r, w);
        replaced |= other;
        if (!r || other || !w->name[0] || w->start < r->start || w->start == last)
            continue;
        if (n && found[0].image != r->image) {
            rc = merge_names(k, store, found, n, names, err);
            n = 0;
        }
        uint64_t end = w->end && w->end < r->end ? w->end : r->end;
        int64_t text = cs_table_text(names, w->name);
        if (text >= 0 &&
            cs_table_add(names, (uint64_t[]){w->start - r->start, end - w->start, (uint64_t)text}) == 0)
            found[n++] = (struct region){w->start, end, r->image};
        last = w->start;
    }
    if (rc == 0)
        rc = merge_names(k, store, found, n, names, err);
    cs_table_close(names);
    free(found);
    k->n_wanted = 0; /* after a failure they are wanted again when sampled again */
    cs_sort(k->named, k->n_named, by_start);
    if (replaced)
        cs_kernel_changed(k);
    return rc;
}

static size_t without_programs(struct region *regions, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (!regions[i].image || regions[i].image->image.kind != CS_IMAGE_JIT)
            regions[left++] = regions[i];
    return left;
}

/* Code of a BPF program that has gone makes room for another's. */
void cs_kernel_changed(struct cs_kernel *k)
{
    k->n_regions = without_programs(k->regions, k->n_regions);
    k->n_named = without_programs(k->named, k->n_named);
    k->stale = true;
}

const char *cs_kernel_reason(const struct cs_kernel *k)
{
    return k->reason;
}

bool cs_kernel_must_read(const struct cs_kernel *k, uint64_t addr)
{
    return k->begun && k->stale && !k->reason[0] && !region_at(k->regions, k->n_regions, addr);
}

/* Whether addresses are known: the first that isn't nought says so. */
static void look_for_addresses(struct cs_kernel *k)
{
    struct cs_kallsyms_symbol s = {.addr = 0};
    FILE *f = cs_kallsyms_open(k->symbols);
    while (f && s.addr == 0 && cs_kallsyms_next(f, &s))
        ;
    if (f)
        fclose(f);
    if (s.addr == 0)
        snprintf(k->reason, sizeof k->reason, "%s", hidden_reason);
}

struct cs_kernel *cs_kernel_open(struct cs_images *images, const char *proc, const char *sys)
{
    assert(images && proc && sys);
    struct cs_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    k->images = images;
    k->proc = proc;
    k->sys = sys;
    snprintf(k->symbols, sizeof k->symbols, "%s/kallsyms", proc);
    look_for_addresses(k);
    k->stale = true;
    return k;
}

void cs_kernel_close(struct cs_kernel *k)
{
    if (!k)
        return;
    free(k->regions);
    free(k->wanted);
    free(k->named);
    free(k);
}
