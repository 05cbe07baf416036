/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Candidates are gathered source by source; a later, weaker source only fills what no earlier one covers. Of
 * symbols at one address the best-looking names it (global before weak before local, fewer leading
 * underscores, shorter). `f.cold` and `f.cold.N`, which GCC and clang put far away, become parts of `f`: same
 * file's `f` first. */
#include "image/procedures/procedures.h"
#include "image/file/eh_frame.h"
#include "image/isa/decode.h"
#include "image/procedures/entries.h"
#include "image/procedures/go_table.h"
#include "store/base/array.h"
#include "store/base/bisect.h"
#include "store/base/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSIZED_BYTES 512       /* a symbol without a size that has more may have taken what isn't its own */
#define SWEEP_MAX (64ULL << 20) /* bytes of code */
#define ENTRIES_MAX 200000
#define UNSIZED_EXPORTED_BYTES 32 /* the same where only exported names are known */
#define GO_FUNCTIONS_MAX 1000000  /* a large program has a fifth of them; the table is anybody's */

struct candidate {
    uint64_t start, size;
    const char *name;
    uint32_t file; /* which STT_FILE a local symbol follows, 0 = global */
    uint8_t source, rank;
    bool unsized;    /* hand-written code often is: it ends where the next thing begins */
    bool continues;  /* its frame description says that it is a piece of another */
    uint32_t parent; /* of a cold part: index of its procedure */
};

struct gathering {
    struct procedures *p;
    const struct elf_file *image;
    struct candidate *list;
    size_t n, capacity, n_settled; /* the first n_settled are in order, one a start */
    struct cs_image_ranges covered;
    bool described; /* frame descriptions are in the list */
    size_t
        n_open; /* symbols without a size: they end where the next thing begins, frame descriptions included,
                       or a compiler's code that has no names would be theirs */
    size_t n_entries; /* that were found by calls and pointers */
};

static int add(struct gathering *g, struct candidate c)
{
    if (g->n >= UINT32_MAX / 2 || cs_array_room(g->list, g->n, g->capacity) < 0)
        return -ENOMEM;
    c.parent = CS_IMAGE_RANGE_NONE;
    g->list[g->n++] = c;
    return 0;
}

static const struct elf_section *code_section_at(const struct elf_file *image, uint64_t offset)
{
    for (size_t i = 0; i < image->n_sections; i++) {
        const GElf_Shdr *h = &image->sections[i].header;
        if ((h->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR) &&
            offset >= h->sh_addr && offset - h->sh_addr < h->sh_size)
            return &image->sections[i];
    }
    return NULL;
}

static uint8_t rank(const char *name, unsigned binding)
{
    unsigned underscores = (unsigned)strspn(name, "_"), length = (unsigned)strlen(name);
    unsigned value = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 64 : 128;
    if (strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0)
        underscores = 0;
    value += (underscores > 3 ? 3 : underscores) * 16 + (length > 30 ? 15 : length / 2);
    return (uint8_t)value;
}

static int add_symbols(struct gathering *g, const struct elf_file *file, uint32_t type,
                       enum cs_image_procedure_source source)
{
    const struct elf_section *table = elf_file_section_of_type(file, type);
    Elf_Data *entries = table ? elf_getdata(table->section, NULL) : NULL;
    if (!entries || !table->header.sh_entsize)
        return 0;
    size_t n = entries->d_size / table->header.sh_entsize;
    uint32_t file_number = 0;
    const struct elf_section *section = NULL;
    for (size_t i = 1; i < n && i < INT32_MAX; i++) {
        GElf_Sym s;
        if (!gelf_getsym(entries, (int)i, &s))
            break;
        unsigned kind = GELF_ST_TYPE(s.st_info), binding = GELF_ST_BIND(s.st_info);
        if (kind == STT_FILE)
            file_number++;
        if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS ||
            !(kind == STT_FUNC || kind == STT_GNU_IFUNC || kind == STT_NOTYPE))
            continue;
        if (!section || s.st_value - section->header.sh_addr >= section->header.sh_size)
            section = code_section_at(g->image, s.st_value);
        if (!section)
            continue;
        const char *name = elf_strptr(file->elf, table->header.sh_link, s.st_name);
        if (!name || !*name || (kind == STT_NOTYPE && (name[0] == '.' || name[0] == '$')))
            continue;
        struct candidate c = {.start = s.st_value,
                              .size = s.st_size,
                              .name = name,
                              .file = binding == STB_LOCAL ? file_number : 0,
                              .source = (uint8_t)source,
                              .rank = rank(name, binding)};
        c.unsized = c.size == 0;
        if (kind == STT_NOTYPE)
            c.rank |= 128;
        if (add(g, c) < 0)
            return -ENOMEM;
    }
    return 0;
}

CS_ORDER(by_start, struct candidate, cs_order(a->start, b->start), cs_order(a->rank, b->rank),
         strcmp(a->name, b->name))

static bool in_order(const struct candidate *list, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (by_start(&list[i - 1], &list[i]) > 0)
            return false;
    return true;
}

/* The new candidates are sorted and merged into those that are in order already. */
static int merge_new(struct gathering *g)
{
    struct candidate *fresh = g->list + g->n_settled;
    size_t n_fresh = g->n - g->n_settled, a = 0, b = 0, kept = 0;
    if (!in_order(fresh, n_fresh))
        cs_sort(fresh, n_fresh, by_start);
    /* The first time in place: nothing is overtaken. */
    struct candidate *merged = g->n_settled ? malloc((g->n + 1) * sizeof *merged) : g->list;
    if (!merged)
        return -ENOMEM;
    while (a < g->n_settled || b < n_fresh) {
        bool old = b == n_fresh || (a < g->n_settled && by_start(&g->list[a], &fresh[b]) <= 0);
        const struct candidate *c = old ? &g->list[a++] : &fresh[b++];
        if (kept && merged[kept - 1].start == c->start) {
            if (merged[kept - 1].size < c->size)
                merged[kept - 1].size = c->size;
            merged[kept - 1].unsized &= c->unsized;
        } else
            merged[kept++] = *c;
    }
    if (merged != g->list) {
        free(g->list);
        g->list = merged;
        g->capacity = g->n + 1;
    }
    g->n = g->n_settled = kept;
    return 0;
}

static int add_go_functions(struct gathering *g)
{
    struct go_table go;
    if (!go_table_init(&go, g->image))
        return 0;
    for (uint64_t i = 0; i < go.n_functions && i < GO_FUNCTIONS_MAX; i++) {
        struct candidate c = {.source = CS_IMAGE_FROM_GO};
        uint64_t end;
        if (!go_table_function(&go, i, &c.start, &end, &c.name) || !code_section_at(g->image, c.start))
            continue;
        c.size = end - c.start;
        c.rank = rank(c.name, STB_LOCAL);
        if (add(g, c) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Sorts, keeps one a start, gives the sizeless their size, and notes what is covered. */
static int settle(struct gathering *g)
{
    if (g->n == g->n_settled && !(g->described && g->n_open))
        return 0;
    if (merge_new(g) < 0)
        return -ENOMEM;
    g->covered.n = 0;
    g->n_open = 0;
    for (size_t i = 0; i < g->n; i++) {
        struct candidate *c = &g->list[i];
        const struct elf_section *s = g->image ? code_section_at(g->image, c->start) : NULL;
        uint64_t end = s ? s->header.sh_addr + s->header.sh_size : UINT64_MAX;
        if (c->unsized && g->image) {
            c->size = 0;
            g->n_open++;
            if (!g->described)
                continue;
        }
        if (c->size == 0) {
            uint64_t next = i + 1 < g->n && g->list[i + 1].start < end ? g->list[i + 1].start : end;
            if (next != UINT64_MAX)
                c->size = next - c->start;
        }
        if (c->size > end - c->start)
            c->size = end - c->start;
        if (cs_image_ranges_add(&g->covered, c->start, c->start + c->size, (uint32_t)i) < 0)
            return -ENOMEM;
    }
    cs_image_ranges_nest(&g->covered);
    return 0;
}

static int add_stubs(struct gathering *g, const struct imports *imports)
{
    for (size_t i = 0; i < imports->n_stubs; i++) {
        uint64_t start = imports->stubs[i].offset;
        if (cs_image_ranges_find(&g->covered, start) != CS_IMAGE_RANGE_NONE)
            continue;
        const char *name = procedures_join_name(g->p, imports->stubs[i].name, "@plt");
        if (!name || add(g, (struct candidate){.start = start,
                                               .size = imports_stub_size(imports, i),
                                               .name = name,
                                               .source = CS_IMAGE_FROM_PLT}) < 0)
            return -ENOMEM;
    }
    return settle(g);
}

static int add_description(uint64_t start, uint64_t size, bool continues, void *arg)
{
    struct gathering *g = arg;
    const struct elf_section *section = code_section_at(g->image, start);
    if (cs_image_ranges_find(&g->covered, start) != CS_IMAGE_RANGE_NONE || !section ||
        strncmp(section->name, ".plt", 4) == 0)
        return 0;
    const char *name = start == g->image->header.e_entry ? "_start" : procedures_address_name(g->p, start);
    return !name ? -ENOMEM
                 : add(g, (struct candidate){.start = start,
                                             .size = size,
                                             .name = name,
                                             .source = CS_IMAGE_FROM_CFI,
                                             .rank = 255,
                                             .continues = continues});
}

static int add_descriptions(struct gathering *g)
{
    const struct elf_section *section = elf_file_section(g->image, ".eh_frame");
    size_t n;
    const uint8_t *bytes = section ? elf_file_contents(g->image, section, &n) : NULL;
    if (bytes && cs_image_cfi_each(g->image->header.e_ident, bytes, n, section->header.sh_addr,
                                   add_description, g) < 0)
        return -ENOMEM;
    g->described = true;
    return settle(g);
}

static bool may_hold_others(const struct candidate *c)
{
    return c->unsized &&
           c->size >= (c->source == CS_IMAGE_FROM_SYMBOL ? UNSIZED_BYTES : UNSIZED_EXPORTED_BYTES);
}

static int add_entry(uint64_t target, void *arg)
{
    struct gathering *g = arg;
    const uint32_t r = cs_image_ranges_find(&g->covered, target);
    const struct candidate *c = r == CS_IMAGE_RANGE_NONE ? NULL : &g->list[g->covered.range[r].id];
    if (!c || !may_hold_others(c) || c->start == target || g->n_entries == ENTRIES_MAX)
        return 0;
    const char *name = procedures_address_name(g->p, target);
    g->n_entries++;
    return !name ? -ENOMEM
                 : add(g, (struct candidate){.start = target,
                                             .name = name,
                                             .unsized = true,
                                             .source = CS_IMAGE_FROM_CFI,
                                             .rank = 255});
}

/* What the code of a section reaches, piece by piece: each begins where something is known to. */
static int sweep(struct gathering *g, const struct elf_section *s)
{
    const uint64_t end = s->header.sh_addr + s->header.sh_size;
    uint64_t at = s->header.sh_addr;
    int rc = 0;
    for (size_t i = 0; i < g->n_settled && rc == 0; i++) {
        const struct candidate c = g->list[i]; /* the list may move */
        if (c.start < at || c.start >= end)
            continue;
        if (c.start > at)
            rc = entries_of_code(g->image, at, c.start, add_entry, g);
        at = c.size <= end - c.start ? c.start + c.size : end;
        rc = rc == 0 ? entries_of_code(g->image, c.start, at, add_entry, g) : rc;
    }
    return rc == 0 && at < end ? entries_of_code(g->image, at, end, add_entry, g) : rc;
}

static int add_entries(struct gathering *g, const struct imports *imports)
{
    uint64_t bytes = 0;
    bool any = false;
    for (size_t i = 0; i < g->n && !any; i++)
        any = may_hold_others(&g->list[i]);
    int rc = 0;
    for (size_t i = 0; any && rc == 0 && i < g->image->n_sections; i++) {
        const struct elf_section *s = &g->image->sections[i];
        if (code_section_at(g->image, s->header.sh_addr) == s && (bytes += s->header.sh_size) <= SWEEP_MAX)
            rc = sweep(g, s);
    }
    for (size_t i = 0; any && rc == 0 && i < imports->n_relatives; i++)
        rc = add_entry(imports->relatives[i].value, g);
    return rc == 0 ? settle(g) : rc;
}

static int add_sections(struct gathering *g)
{
    size_t known = g->n;
    for (size_t i = 0; i < g->image->n_sections; i++) {
        const struct elf_section *s = &g->image->sections[i];
        uint64_t start = s->header.sh_addr, end = start + s->header.sh_size;
        if (code_section_at(g->image, start) != s ||
            cs_image_ranges_find(&g->covered, start) != CS_IMAGE_RANGE_NONE)
            continue;
        for (size_t k = 0; k < known; k++)
            if (g->list[k].start >= start && g->list[k].start < end)
                end = g->list[k].start;
        if (end != start + s->header.sh_size && strncmp(s->name, ".plt", 4) != 0)
            continue;
        const char *name = s->name;
        if (add(g, (struct candidate){.start = start,
                                      .size = end - start,
                                      .name = name,
                                      .source = CS_IMAGE_FROM_SECTION,
                                      .rank = 255}) < 0)
            return -ENOMEM;
    }
    return settle(g);
}

static int by_name(const void *a, const void *b, void *list)
{
    const struct candidate *c = list, *x = &c[*(const uint32_t *)a], *y = &c[*(const uint32_t *)b];
    int order = strcmp(x->name, y->name);
    return order ? order : (x->start > y->start) - (x->start < y->start);
}

static bool is_cold(const char *name)
{
    const char *cold = strstr(name, ".cold");
    return cold && cold != name && (!cold[5] || cold[5] == '.');
}

static int join_cold(struct candidate *list, size_t n)
{
    uint32_t *order = NULL; /* by name: most images have no cold parts and need none */
    for (size_t i = 0; i < n; i++) {
        if (!is_cold(list[i].name))
            continue;
        if (!order) {
            if ((order = malloc(n * sizeof *order)) == NULL)
                return -ENOMEM;
            for (size_t k = 0; k < n; k++)
                order[k] = (uint32_t)k;
            qsort_r(order, n, sizeof *order, by_name, list);
        }
        size_t length = (size_t)(strstr(list[i].name, ".cold") - list[i].name);
        size_t low = cs_bisect(n, k, strncmp(list[order[k]].name, list[i].name, length) < 0);
        for (; low < n; low++) {
            const struct candidate *c = &list[order[low]];
            if (strncmp(c->name, list[i].name, length) != 0 || c->name[length])
                break;
            if (list[i].parent == CS_IMAGE_RANGE_NONE || c->file == list[i].file)
                list[i].parent = order[low];
        }
    }
    free(order);
    return 0;
}

/* Without symbols: a piece that continues another's frame belongs to the procedure into whose middle it
 * jumps. */
static void join_nameless(struct gathering *g)
{
    for (size_t i = 0; i < g->n; i++) {
        struct candidate *c = &g->list[i];
        uint64_t at = c->start, end = at + c->size;
        while (c->continues && c->parent == CS_IMAGE_RANGE_NONE && at < end) {
            struct cs_isa_insn insn;
            size_t room;
            const uint8_t *bytes = elf_file_at(g->image, at, &room, NULL);
            if (!bytes || !cs_isa_decode_flow(elf_file_isa(g->image), bytes, room, at, &insn))
                break;
            at += insn.length;
            if (insn.flow != CS_ISA_FLOW_JUMP && insn.flow != CS_ISA_FLOW_BRANCH)
                continue;
            uint32_t r = cs_image_ranges_find(&g->covered, insn.target);
            uint32_t to = r == CS_IMAGE_RANGE_NONE ? CS_IMAGE_RANGE_NONE : g->covered.range[r].id;
            if (to != CS_IMAGE_RANGE_NONE && to != i && g->list[to].start != insn.target &&
                !g->list[to].continues)
                c->parent = to;
        }
    }
}

/* From candidates to the final list. */
static int finish(struct gathering *g)
{
    struct procedures *p = g->p;
    size_t n = g->n, n_procedures = 0, n_parts = 0;
    uint32_t *final = malloc((n + 1) * sizeof *final);
    int rc = -ENOMEM;
    p->list = calloc(n + 1, sizeof *p->list);
    p->parts = calloc(n + 1, sizeof *p->parts);
    if (!final || !p->list || !p->parts || join_cold(g->list, n) < 0)
        goto out;
    if (g->image)
        join_nameless(g);
    for (size_t i = 0; i < n; i++) {
        if (g->list[i].parent != CS_IMAGE_RANGE_NONE &&
            g->list[g->list[i].parent].parent == CS_IMAGE_RANGE_NONE)
            continue;
        const struct candidate *c = &g->list[i];
        final[i] = (uint32_t)n_procedures;
        p->list[n_procedures++] = (struct cs_image_procedure){
            c->name, c->start, c->size, (enum cs_image_procedure_source)c->source, 1, NULL};
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t parent = g->list[i].parent;
        if (parent != CS_IMAGE_RANGE_NONE && g->list[parent].parent == CS_IMAGE_RANGE_NONE) {
            final[i] = final[parent];
            p->list[final[i]].n_parts++;
        }
    }
    for (size_t i = 0; i < n_procedures; i++) {
        p->list[i].parts = &p->parts[n_parts];
        p->parts[n_parts] = (struct cs_image_part){p->list[i].start, p->list[i].size};
        n_parts += p->list[i].n_parts;
        p->list[i].n_parts = 1;
    }
    for (size_t i = 0; i < n; i++) {
        const struct candidate *c = &g->list[i];
        struct cs_image_procedure *to = &p->list[final[i]];
        if (to->start != c->start)
            p->parts[to->parts - p->parts + to->n_parts++] = (struct cs_image_part){c->start, c->size};
        if (cs_image_ranges_add(&p->ranges, c->start, c->start + c->size, final[i]) < 0)
            goto out;
    }
    cs_image_ranges_nest(&p->ranges);
    p->n = n_procedures;
    rc = 0;
out:
    free(final);
    return rc;
}

static int end(struct gathering *g, int rc)
{
    if (rc == 0)
        rc = finish(g);
    free(g->list);
    cs_image_ranges_fini(&g->covered);
    if (rc < 0)
        procedures_fini(g->p);
    return rc;
}

int procedures_init(struct procedures *p, const struct elf_file *image, const struct elf_file *debug,
                    const struct elf_file *mini, const struct imports *imports)
{
    struct gathering g = {.p = p, .image = image};
    *p = (struct procedures){0};
    int rc = add_symbols(&g, image, SHT_SYMTAB, CS_IMAGE_FROM_SYMBOL);
    if (rc == 0 && g.n == 0 && debug)
        rc = add_symbols(&g, debug, SHT_SYMTAB, CS_IMAGE_FROM_SYMBOL);
    if (rc == 0 && g.n == 0) {
        rc = add_symbols(&g, image, SHT_DYNSYM, CS_IMAGE_FROM_DYNSYM);
        if (rc == 0 && mini)
            rc = add_symbols(&g, mini, SHT_SYMTAB, CS_IMAGE_FROM_MINI);
        if (rc == 0)
            rc = add_go_functions(&g);
    }
    if (rc == 0)
        rc = settle(&g);
    if (rc == 0)
        rc = add_stubs(&g, imports);
    if (rc == 0)
        rc = add_descriptions(&g);
    if (rc == 0)
        rc = add_entries(&g, imports);
    if (rc == 0)
        rc = add_sections(&g);
    return end(&g, rc);
}

int procedures_init_names(struct procedures *p, const struct named_range *names, size_t n)
{
    struct gathering g = {.p = p};
    int rc = 0;
    *p = (struct procedures){0};
    for (size_t i = 0; i < n && rc == 0; i++) {
        const char *name = procedures_join_name(p, names[i].name, "");
        rc = !name ? -ENOMEM
                   : add(&g, (struct candidate){.start = names[i].start,
                                                .size = names[i].size,
                                                .name = name,
                                                .source = CS_IMAGE_FROM_STORE});
    }
    if (rc == 0)
        rc = settle(&g);
    return end(&g, rc);
}
