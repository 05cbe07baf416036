/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exchange/import/kernel_names.h"

#include "image/procedures/kallsyms.h"
#include "store/base/array.h"
#include "store/base/kernel_files.h"
#include "store/base/order.h"
#include "store/base/regular_file.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VMLINUX_BYTES_MAX (4ull << 30)

struct list {       /* of symbols */
    char path[512]; /* "" = none was found */
    uint64_t text;  /* its address of the recorded mapping's symbol */
    bool same_boot; /* its addresses are those of the recording */
    bool is_elf;    /* vmlinux */
};

struct addresses {
    struct cs_kallsyms_wanted *at;
    size_t n, capacity;
};

CS_ORDER(by_addr, struct cs_kallsyms_wanted, cs_order(a->addr, b->addr))

/* Where the kernel's text begins in a list, as sampler/images/kernel_image.c has it; 0 where it isn't listed. */
static uint64_t text_of(const char *path)
{
    struct cs_kallsyms_symbol s;
    uint64_t text = 0;
    FILE *f = cs_kallsyms_open(path);
    while (f && !text && cs_kallsyms_next(f, &s))
        if (strcmp(s.name, "_text") == 0 || strcmp(s.name, "_stext") == 0)
            text = s.addr;
    if (f)
        fclose(f);
    return text;
}

static void running_build_id(char hex[CS_IMAGE_BUILD_ID_MAX])
{
    char notes[4097];
    cs_image_build_id_of_notes(notes, cs_kernel_text(notes, sizeof notes, "/sys/kernel/notes"), hex);
}

static bool take_list(struct list *list, const char *path)
{
    uint64_t text = text_of(path);
    if (!text)
        return false;
    *list = (struct list){.text = text};
    snprintf(list->path, sizeof list->path, "%s", path);
    return true;
}

static bool running_kernel(struct list *list, const struct cs_imported_image *kernel,
                           const struct cs_perfdata *in)
{
    char id[CS_IMAGE_BUILD_ID_MAX], host[256] = "";
    if (!take_list(list, "/proc/kallsyms"))
        return false;
    running_build_id(id);
    gethostname(host, sizeof host - 1);
    bool same = *kernel->build_id && strcmp(id, kernel->build_id) == 0;
    bool here = !*cs_perfdata_host(in) || strcmp(cs_perfdata_host(in), host) == 0;
    list->same_boot = list->text == kernel->base && (same || (!*kernel->build_id && here));
    return same || list->same_boot;
}

/* A kernel's ELF file of this build-id, and where its text begins. */
static bool take_vmlinux(struct list *list, const char *path, const char *build_id)
{
    char id[CS_IMAGE_BUILD_ID_MAX] = "";
    struct cs_image_segments layout = {.is_elf = false};
    int fd = cs_open_regular(NULL, path, VMLINUX_BYTES_MAX, NULL);
    if (fd < 0)
        return false;
    bool read = cs_image_segments_of_file(&layout, fd) == 0 && layout.is_elf;
    close(fd);
    snprintf(id, sizeof id, "%s", layout.build_id);
    if (!read || !*build_id || strcmp(id, build_id) != 0)
        return false;
    *list = (struct list){.is_elf = true};
    snprintf(list->path, sizeof list->path, "%s", path);
    for (unsigned i = 0; i < layout.n_segments; i++)
        if (layout.segments[i].executable && (!list->text || layout.segments[i].vaddr < list->text))
            list->text = layout.segments[i].vaddr;
    return list->text != 0;
}

static bool find_list(struct list *list, const struct cs_imported_image *kernel, const struct cs_perfdata *in)
{
    static const char *const vmlinux[] = {"/usr/lib/debug/boot/vmlinux-%s",
                                          "/usr/lib/debug/lib/modules/%s/vmlinux", "/boot/vmlinux-%s",
                                          "/lib/modules/%s/build/vmlinux"};
    static const char *const maps[] = {"/boot/System.map-%s", "/lib/modules/%s/System.map",
                                       "/usr/lib/debug/boot/System.map-%s"};
    const char *release = cs_perfdata_release(in), *home = getenv("HOME");
    char path[512];
    if (running_kernel(list, kernel, in))
        return true;
    if (*kernel->build_id && home &&
        snprintf(path, sizeof path, "%s/.debug/[kernel.kallsyms]/%s/kallsyms", home, kernel->build_id) <
            (int)sizeof path &&
        take_list(list, path))
        return true;
    if (!*release || strchr(release, '/') || *release == '.')
        return false;
    for (size_t i = 0; i < sizeof vmlinux / sizeof *vmlinux; i++) {
        snprintf(path, sizeof path, vmlinux[i], release);
        if (take_vmlinux(list, path, kernel->build_id))
            return true;
    }
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        snprintf(path, sizeof path, maps[i], release);
        if (take_list(list, path))
            return true;
    }
    return false;
}

static int want(struct addresses *a, uint64_t addr)
{
    if (cs_array_room(a->at, a->n, a->capacity) < 0)
        return -ENOMEM;
    a->at[a->n++] = (struct cs_kallsyms_wanted){.addr = addr};
    return 0;
}

/* Offsets of the image that samples or call chains name. */
static int gather(struct cs_imported_images *images, const struct cs_imported_image *image,
                  struct addresses *out)
{
    size_t id_length = strlen(image->image.id);
    for (unsigned i = 0; i < images->n; i++) {
        struct cs_imported_image *other = &images->at[i];
        for (unsigned t = 0; t < other->n_events * CS_IMPORT_TABLES; t++) {
            struct cs_table *table = other->tables[t];
            bool stacks = t % CS_IMPORT_TABLES == CS_IMPORT_STACKS;
            for (size_t r = 0; table && (stacks || other == image) && r < cs_table_rows(table); r++) {
                uint64_t key = cs_table_row(table, r)[0];
                if (!stacks && want(out, key) < 0)
                    return -ENOMEM;
                const char *at = stacks ? cs_table_string(table, key) : NULL;
                for (; at && *at; at += strcspn(at, ";"), at += *at == ';')
                    if (strncmp(at, image->image.id, id_length) == 0 && at[id_length] == '+' &&
                        want(out, strtoull(at + id_length + 1, NULL, 16)) < 0)
                        return -ENOMEM;
            }
        }
    }
    return 0;
}

/* Names from the symbol table of an ELF file. */
static void look_up_elf(const char *path, struct cs_kallsyms_wanted *w, size_t n)
{
    int fd = cs_open_regular(NULL, path, VMLINUX_BYTES_MAX, NULL);
    elf_version(EV_CURRENT);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    Elf_Scn *section = NULL;
    GElf_Shdr head;
    while (elf && (section = elf_nextscn(elf, section)) && gelf_getshdr(section, &head)) {
        Elf_Data *data = head.sh_type == SHT_SYMTAB && head.sh_entsize ? elf_getdata(section, NULL) : NULL;
        GElf_Sym symbol;
        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
            if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_size)
                continue;
            const char *name = elf_strptr(elf, head.sh_link, symbol.st_name);
            for (size_t k = cs_kallsyms_first(w, n, symbol.st_value);
                 name && k < n && w[k].addr - symbol.st_value < symbol.st_size; k++) {
                w[k].start = symbol.st_value;
                w[k].end = symbol.st_value + symbol.st_size;
                snprintf(w[k].name, sizeof w[k].name, "%.119s", name);
            }
        }
    }
    elf_end(elf);
    if (fd >= 0)
        close(fd);
}

/* `shift` is added to the image's offsets to make the list's addresses. */
static int name_image(struct cs_imported_images *images, struct cs_imported_image *image,
                      const struct list *list, uint64_t shift, struct cs_store *store, struct cs_error *err)
{
    struct addresses a = {0};
    struct cs_table *names = cs_table_open(&cs_schema_names);
    int rc = names ? gather(images, image, &a) : -ENOMEM;
    for (size_t i = 0; i < a.n; i++)
        a.at[i].addr += shift;
    cs_sort(a.at, a.n, by_addr);
    if (rc == 0 && a.n && list->is_elf)
        look_up_elf(list->path, a.at, a.n);
    else if (rc == 0 && a.n)
        (void)cs_kallsyms_look_up(list->path, a.at, a.n);
    uint64_t last = 0;
    for (size_t i = 0; rc == 0 && i < a.n; i++) {
        const struct cs_kallsyms_wanted *w = &a.at[i];
        if (!w->name[0] || w->start == last || w->start > w->addr || w->start < shift)
            continue;
        int64_t text = cs_table_text(names, w->name);
        rc = text < 0 ? -ENOMEM
                      : cs_table_add(names,
                                     (uint64_t[]){w->start - shift, w->end > w->start ? w->end - w->start : 0,
                                                  (uint64_t)text});
        last = w->start;
    }
    if (rc < 0)
        rc = cs_fail(err, ENOMEM, "out of memory for the kernel's names");
    struct cs_store_image as_stored = image->image;
    as_stored.path = image->path;
    as_stored.build_id = image->build_id;
    if (rc == 0 && last)
        rc = cs_store_merge_names(store, &as_stored, names, err);
    cs_table_close(names);
    free(a.at);
    return rc;
}

int cs_import_name_kernel(struct cs_imported_images *images, const struct cs_perfdata *in,
                          struct cs_store *store, struct cs_error *err)
{
    struct list list = {.path = ""};
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < images->n; i++) {
        struct cs_imported_image *kernel = &images->at[i];
        if (kernel->image.kind == CS_IMAGE_KERNEL && kernel->base && find_list(&list, kernel, in))
            rc = name_image(images, kernel, &list, list.text, store, err);
    }
    for (unsigned i = 0; rc == 0 && list.same_boot && i < images->n; i++)
        if (images->at[i].image.kind == CS_IMAGE_MODULE)
            rc = name_image(images, &images->at[i], &list, images->at[i].base, store, err);
    return rc;
}
