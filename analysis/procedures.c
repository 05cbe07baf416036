/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Candidates are gathered source by source; a later, weaker source only fills what no earlier one covers. Of
 * symbols at one address the best-looking names it (global before weak before local, fewer leading
 * underscores, shorter). `f.cold` and `f.cold.N`, which GCC and clang put far away, become parts of `f`: same
 * file's `f` first. */
#include "analysis/procedures.h"
#include "analysis/cfi.h"
#include "analysis/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct candidate {
    uint64_t start, size;
    const char *name;
    uint32_t file; /* which STT_FILE a local symbol follows, 0 = global */
    uint8_t source, rank;
    bool continues;  /* its frame description says that it is a piece of another */
    uint32_t parent; /* of a cold part: index of its procedure */
};

struct gathering {
    struct procedures *p;
    const struct elf_file *image;
    struct candidate *list;
    size_t n, room;
    struct cs_ranges covered;
};

static int add(struct gathering *g, struct candidate c)
{
    if (g->n == g->room) {
        size_t room = g->room ? 2 * g->room : 1024;
        struct candidate *grown = realloc(g->list, room * sizeof *grown);
        if (!grown || room > UINT32_MAX / 2) {
            free(grown ? grown : g->list);
            g->list = NULL;
            g->n = g->room = 0;
            return -ENOMEM;
        }
        g->list = grown;
        g->room = room;
    }
    c.parent = CS_RANGE_NONE;
    g->list[g->n++] = c;
    return 0;
}

static const char *make_name(struct procedures *p, const char *format, const char *text, uint64_t number)
{
    char buffer[512], *copy;
    snprintf(buffer, sizeof buffer, format, text, number);
    if ((p->n_made & (p->n_made - 1)) == 0) {
        char **grown = realloc(p->made_names, (p->n_made ? 2 * p->n_made : 1) * sizeof *grown);
        if (!grown)
            return NULL;
        p->made_names = grown;
    }
    if ((copy = strdup(buffer)) != NULL)
        p->made_names[p->n_made++] = copy;
    return copy;
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
                       enum cs_procedure_source source)
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
        if (kind == STT_NOTYPE)
            c.rank |= 128;
        if (add(g, c) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Sorts, keeps one a start, gives the sizeless their size, and notes what is covered. */
static int settle(struct gathering *g)
{
    size_t kept = 0;
    if (g->n)
        qsort(g->list, g->n, sizeof *g->list, by_start);
    for (size_t i = 0; i < g->n; i++) {
        if (kept && g->list[kept - 1].start == g->list[i].start) {
            if (g->list[kept - 1].size < g->list[i].size)
                g->list[kept - 1].size = g->list[i].size;
        } else
            g->list[kept++] = g->list[i];
    }
    g->n = kept;
    g->covered.n = 0;
    for (size_t i = 0; i < g->n; i++) {
        struct candidate *c = &g->list[i];
        const struct elf_section *s = g->image ? code_section_at(g->image, c->start) : NULL;
        uint64_t end = s ? s->header.sh_addr + s->header.sh_size : UINT64_MAX;
        if (c->size == 0) {
            uint64_t next = i + 1 < g->n && g->list[i + 1].start < end ? g->list[i + 1].start : end;
            if (next != UINT64_MAX)
                c->size = next - c->start;
        }
        if (c->size > end - c->start)
            c->size = end - c->start;
        if (cs_ranges_add(&g->covered, c->start, c->start + c->size, (uint32_t)i) < 0)
            return -ENOMEM;
    }
    cs_ranges_nest(&g->covered);
    return 0;
}

static int add_stubs(struct gathering *g, const struct imports *imports)
{
    for (size_t i = 0; i < imports->n_stubs; i++) {
        uint64_t start = imports->stubs[i].offset;
        if (cs_ranges_find(&g->covered, start) != CS_RANGE_NONE)
            continue;
        const char *name = make_name(g->p, "%s@plt", imports->stubs[i].name, 0);
        if (!name || add(g, (struct candidate){.start = start,
                                               .size = imports_stub_size(imports, i),
                                               .name = name,
                                               .source = CS_FROM_PLT}) < 0)
            return -ENOMEM;
    }
    return settle(g);
}

static int add_description(uint64_t start, uint64_t size, bool continues, void *arg)
{
    struct gathering *g = arg;
    const struct elf_section *section = code_section_at(g->image, start);
    if (cs_ranges_find(&g->covered, start) != CS_RANGE_NONE || !section ||
        strncmp(section->name, ".plt", 4) == 0)
        return 0;
    const char *name =
        make_name(g->p, start == g->image->header.e_entry ? "_start" : "sub_%s%" PRIx64, "", start);
    return !name ? -ENOMEM
                 : add(g, (struct candidate){.start = start,
                                             .size = size,
                                             .name = name,
                                             .source = CS_FROM_CFI,
                                             .rank = 255,
                                             .continues = continues});
}

static int add_descriptions(struct gathering *g)
{
    const struct elf_section *section = elf_file_section(g->image, ".eh_frame");
    size_t n;
    const uint8_t *bytes = section ? elf_file_contents(g->image, section, &n) : NULL;
    if (bytes && cs_cfi_each(bytes, n, section->header.sh_addr, add_description, g) < 0)
        return -ENOMEM;
    return settle(g);
}

static int add_sections(struct gathering *g)
{
    size_t known = g->n;
    for (size_t i = 0; i < g->image->n_sections; i++) {
        const struct elf_section *s = &g->image->sections[i];
        uint64_t start = s->header.sh_addr, end = start + s->header.sh_size;
        if (code_section_at(g->image, start) != s || cs_ranges_find(&g->covered, start) != CS_RANGE_NONE)
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
                                      .source = CS_FROM_SECTION,
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

static void join_cold(struct candidate *list, size_t n, const uint32_t *order)
{
    for (size_t i = 0; i < n; i++) {
        const char *cold = strstr(list[i].name, ".cold");
        if (!cold || cold == list[i].name || (cold[5] && cold[5] != '.'))
            continue;
        size_t length = (size_t)(cold - list[i].name), low = 0, high = n;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            const char *name = list[order[middle]].name;
            int c = strncmp(name, list[i].name, length);
            if (c < 0)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < n; low++) {
            const struct candidate *c = &list[order[low]];
            if (strncmp(c->name, list[i].name, length) != 0 || c->name[length])
                break;
            if (list[i].parent == CS_RANGE_NONE || c->file == list[i].file)
                list[i].parent = order[low];
        }
    }
}

/* Without symbols: a piece that continues another's frame belongs to the procedure into whose middle it
 * jumps. */
static void join_nameless(struct gathering *g)
{
    for (size_t i = 0; i < g->n; i++) {
        struct candidate *c = &g->list[i];
        uint64_t at = c->start, end = at + c->size;
        while (c->continues && c->parent == CS_RANGE_NONE && at < end) {
            struct cs_insn insn;
            size_t room;
            const uint8_t *bytes = elf_file_at(g->image, at, &room, NULL);
            if (!bytes || !cs_decode_flow(elf_file_isa(g->image), bytes, room, at, &insn))
                break;
            at += insn.length;
            if (insn.flow != CS_FLOW_JUMP && insn.flow != CS_FLOW_BRANCH)
                continue;
            uint32_t r = cs_ranges_find(&g->covered, insn.target);
            uint32_t to = r == CS_RANGE_NONE ? CS_RANGE_NONE : g->covered.range[r].id;
            if (to != CS_RANGE_NONE && to != i && g->list[to].start != insn.target && !g->list[to].continues)
                c->parent = to;
        }
    }
}

/* From candidates to the final list. */
static int finish(struct gathering *g)
{
    struct procedures *p = g->p;
    size_t n = g->n, n_procedures = 0, n_parts = 0;
    uint32_t *order = malloc((n + 1) * sizeof *order), *final = malloc((n + 1) * sizeof *final);
    int rc = -ENOMEM;
    p->list = calloc(n + 1, sizeof *p->list);
    p->parts = calloc(n + 1, sizeof *p->parts);
    p->by_name = malloc((n + 1) * sizeof *p->by_name);
    if (!order || !final || !p->list || !p->parts || !p->by_name)
        goto out;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, n, sizeof *order, by_name, g->list);
    join_cold(g->list, n, order);
    if (g->image)
        join_nameless(g);
    for (size_t i = 0; i < n; i++) {
        if (g->list[i].parent != CS_RANGE_NONE && g->list[g->list[i].parent].parent == CS_RANGE_NONE)
            continue;
        const struct candidate *c = &g->list[i];
        final[i] = (uint32_t)n_procedures;
        p->list[n_procedures++] =
            (struct cs_procedure){c->name, c->start, c->size, (enum cs_procedure_source)c->source, 1, NULL};
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t parent = g->list[i].parent;
        if (parent != CS_RANGE_NONE && g->list[parent].parent == CS_RANGE_NONE) {
            final[i] = final[parent];
            p->list[final[i]].n_parts++;
        }
    }
    for (size_t i = 0; i < n_procedures; i++) {
        p->list[i].parts = &p->parts[n_parts];
        p->parts[n_parts] = (struct cs_part){p->list[i].start, p->list[i].size};
        n_parts += p->list[i].n_parts;
        p->list[i].n_parts = 1;
    }
    for (size_t i = 0; i < n; i++) {
        const struct candidate *c = &g->list[i];
        struct cs_procedure *to = &p->list[final[i]];
        if (to->start != c->start)
            p->parts[to->parts - p->parts + to->n_parts++] = (struct cs_part){c->start, c->size};
        if (cs_ranges_add(&p->ranges, c->start, c->start + c->size, final[i]) < 0)
            goto out;
    }
    cs_ranges_nest(&p->ranges);
    p->n = n_procedures;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (p->list[final[order[i]]].start == g->list[order[i]].start)
            p->by_name[k++] = final[order[i]];
    rc = 0;
out:
    free(order);
    free(final);
    return rc;
}

int procedures_init(struct procedures *p, const struct elf_file *image, const struct elf_file *debug,
                    const struct elf_file *mini, const struct imports *imports)
{
    struct gathering g = {.p = p, .image = image};
    *p = (struct procedures){0};
    int rc = add_symbols(&g, image, SHT_SYMTAB, CS_FROM_SYMBOL);
    if (rc == 0 && g.n == 0 && debug)
        rc = add_symbols(&g, debug, SHT_SYMTAB, CS_FROM_SYMBOL);
    if (rc == 0 && g.n == 0) {
        rc = add_symbols(&g, image, SHT_DYNSYM, CS_FROM_DYNSYM);
        if (rc == 0 && mini)
            rc = add_symbols(&g, mini, SHT_SYMTAB, CS_FROM_MINI);
    }
    if (rc == 0)
        rc = settle(&g);
    if (rc == 0)
        rc = add_stubs(&g, imports);
    if (rc == 0)
        rc = add_descriptions(&g);
    if (rc == 0)
        rc = add_sections(&g);
    if (rc == 0)
        rc = finish(&g);
    free(g.list);
    cs_ranges_fini(&g.covered);
    if (rc < 0)
        procedures_fini(p);
    return rc;
}

int procedures_init_names(struct procedures *p, const struct named_range *names, size_t n)
{
    struct gathering g = {.p = p};
    int rc = 0;
    *p = (struct procedures){0};
    for (size_t i = 0; i < n && rc == 0; i++) {
        const char *name = make_name(p, "%s", names[i].name, 0);
        rc = !name ? -ENOMEM
                   : add(&g, (struct candidate){.start = names[i].start,
                                                .size = names[i].size,
                                                .name = name,
                                                .source = CS_FROM_STORE});
    }
    if (rc == 0)
        rc = settle(&g);
    if (rc == 0)
        rc = finish(&g);
    free(g.list);
    cs_ranges_fini(&g.covered);
    if (rc < 0)
        procedures_fini(p);
    return rc;
}

void procedures_fini(struct procedures *p)
{
    for (size_t i = 0; i < p->n_made; i++)
        free(p->made_names[i]);
    free(p->made_names);
    free(p->list);
    free(p->parts);
    free(p->by_name);
    cs_ranges_fini(&p->ranges);
    *p = (struct procedures){0};
}

const struct cs_procedure *procedures_at(const struct procedures *p, uint64_t offset)
{
    uint32_t i = cs_ranges_find(&p->ranges, offset);
    return i == CS_RANGE_NONE ? NULL : &p->list[p->ranges.range[i].id];
}

const struct cs_procedure *procedures_named(const struct procedures *p, const char *name, unsigned i,
                                            unsigned *n_found)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(p->list[p->by_name[middle]].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    unsigned n = 0;
    const struct cs_procedure *found = NULL;
    for (; low < p->n && strcmp(p->list[p->by_name[low]].name, name) == 0; low++)
        if (n++ == i)
            found = &p->list[p->by_name[low]];
    if (n_found)
        *n_found = n;
    return found;
}
