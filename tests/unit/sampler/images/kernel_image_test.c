/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel, its modules and BPF programs as images, and the names of their procedures. */
#include "sampler/images/bpf_programs.h"
#include "sampler/images/kernel_image.h"
#include "sampler/images/kernel_symbol.h"
#include "tests/unit/made_root.h"

#include <bpf/bpf.h>
#include <inttypes.h>
#include <unistd.h>

static void write_kernel(void)
{
    put("proc/kallsyms", "ffffffff81000000 T _text\n"
                         "ffffffff81000100 T first\n"
                         "ffffffff81000200 t second\n"
                         "ffffffff81000280 d no_code\n"
                         "ffffffff81000300 T third\n"
                         "ffffffff81001000 T _etext\n"
                         "ffffffffc0001000 t probe\t[driver]\n"
                         "ffffffffc0002000 t bpf_prog_0123456789abcdef_count\t[bpf]\n");
    put("proc/modules", "driver 8192 0 - Live 0xffffffffc0000000 (O)\n");
}

static const char *kernel_at(struct cs_kernel *k, uint64_t addr, uint64_t *offset)
{
    struct cs_mapped_image *image;
    return cs_kernel_find(k, addr, &image, offset) == 0 ? image->image.path : "unknown";
}

static void kernel_modules_and_bpf_programs_are_images(void **state)
{
    (void)state;
    uint64_t offset = 0;
    write_kernel();
    struct cs_images *images = cs_images_open(proc);
    struct cs_kernel *k = cs_kernel_open(images, proc, sys);
    assert_string_equal(cs_kernel_reason(k), "");
    assert_string_equal(kernel_at(k, 0xffffffff81000210, &offset), "[kernel]");
    assert_int_equal(offset, 0x210);
    assert_string_equal(kernel_at(k, 0xffffffffc0001010, &offset), "[driver]");
    assert_int_equal(offset, 0x1010);
    assert_string_equal(kernel_at(k, 0xffffffffc0002004, &offset), "bpf_prog_0123456789abcdef_count");
    assert_int_equal(offset, 4);
    assert_string_equal(kernel_at(k, 0xffffffff90000000, &offset), "unknown");
    cs_kernel_close(k);
    cs_images_close(images);
}

struct program {
    uint64_t start, end;
    unsigned n;
    char name[64];
};
static void take_program(void *arg, uint64_t start, uint64_t end, const char *name)
{
    struct program *p = arg;
    size_t n = strlen(name);
    if (n > 12 && strcmp(name + n - 12, "_found_by_id") == 0)
        *p = (struct program){start, end, p->n + 1, ""};
}

static void take_at(void *arg, uint64_t start, uint64_t end, const char *name)
{
    struct program *p = arg;
    if (start != p->start)
        return;
    p->n++;
    p->end = end;
    snprintf(p->name, sizeof p->name, "%s", name);
}

/* The reference is /proc/kallsyms. A program's tag is of all its functions, the tag of its first function is another. */
static void a_bpf_program_of_two_functions_has_the_kernels_tag(void **state)
{
    (void)state;
    /* main: call f; exit. f: r0 = 3; exit */
    const struct bpf_insn code[] = {
        {.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 1},
        {.code = BPF_JMP | BPF_EXIT},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 3},
        {.code = BPF_JMP | BPF_EXIT},
    };
    const int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "of_two", "GPL", code, 4, NULL);
    struct program listed = {.n = 0};
    char line[512], type, name[256] = "";
    uint64_t addr;
    FILE *f = fopen("/proc/kallsyms", "re");
    while (f && !listed.start && fgets(line, sizeof line, f))
        if (strstr(line, "_of_two\t") && sscanf(line, "%" SCNx64 " %c %255s", &addr, &type, name) == 3)
            listed.start = addr;
    if (f)
        fclose(f);
    if (fd < 0 || !listed.start) {
        print_message("no root here, or no JIT\n");
        skip();
    }
    cs_bpf_programs_each(take_at, &listed);
    assert_int_equal(listed.n, 1);
    assert_string_equal(listed.name, name);
    close(fd);
}

/* The truth is /proc/kallsyms. */
static void a_bpf_program_is_found_where_the_kernel_has_it(void **state)
{
    (void)state;
    /* r0 = 0; exit */
    const struct bpf_insn code[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
    const int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "found_by_id", "GPL", code, 2, NULL);
    struct program listed = {.n = 0};
    char line[512], type, name[256];
    uint64_t addr, truth = 0;
    FILE *f = fopen("/proc/kallsyms", "re");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "_found_by_id") && sscanf(line, "%" SCNx64 " %c %255s", &addr, &type, name) == 3)
            truth = addr;
    if (f)
        fclose(f);
    if (fd < 0 || !truth) {
        print_message("no root here, or no JIT\n");
        skip();
    }
    cs_bpf_programs_each(take_program, &listed);
    assert_int_equal(listed.n, 1);
    assert_int_equal(listed.start, truth);
    assert_true(listed.end > truth && listed.end - truth < 4096);

    uint64_t offset = 0;
    struct cs_images *images = cs_images_open("/proc");
    struct cs_kernel *k = cs_kernel_open(images, "/proc", "/sys");
    assert_string_equal(kernel_at(k, truth + 1, &offset), name);
    assert_int_equal(offset, 1);
    cs_kernel_close(k);
    cs_images_close(images);
    close(fd);
}

struct names {
    unsigned n;
    struct {
        uint64_t offset, size;
        char name[64];
    } at[8];
};
static int take_name(uint64_t offset, uint64_t size, const char *name, void *arg)
{
    struct names *n = arg;
    if (n->n < 8) {
        n->at[n->n].offset = offset;
        n->at[n->n].size = size;
        snprintf(n->at[n->n++].name, sizeof n->at[0].name, "%s", name);
    }
    return 0;
}

static void names_of_sampled_kernel_procedures_are_kept_in_the_store(void **state)
{
    (void)state;
    char path[128];
    struct cs_store *store;
    struct cs_error err;
    struct names names = {.n = 0};
    uint64_t offset;
    write_kernel();
    snprintf(path, sizeof path, "%s/store", root);
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    struct cs_images *images = cs_images_open(proc);
    struct cs_kernel *k = cs_kernel_open(images, proc, sys);
    struct cs_mapped_image *image;
    assert_int_equal(cs_kernel_find(k, 0xffffffff81000210, &image, &offset), 0);
    assert_int_equal(cs_kernel_find(k, 0xffffffff810002f0, &image, &offset), 0); /* data in between is none */
    assert_int_equal(cs_kernel_find(k, 0xffffffff81000fff, &image, &offset), 0);
    assert_int_equal(cs_kernel_name(k, store, &err), 0);
    assert_int_equal(cs_store_names(store, image->image.id, take_name, &names, &err), 0);
    assert_int_equal(names.n, 2);
    assert_string_equal(names.at[0].name, "second");
    assert_int_equal(names.at[0].offset, 0x200);
    assert_int_equal(names.at[0].size, 0x100);
    assert_string_equal(names.at[1].name, "third");
    assert_int_equal(names.at[1].size, 0xd00);
    cs_kernel_close(k);
    cs_images_close(images);
    cs_store_close(store);
}

/* No record says that another program took the place: a recording of one command gets none. */
static void a_bpf_program_never_gets_the_name_of_its_successor(void **state)
{
    (void)state;
    static const uint64_t addr = 0xffffffffc0002004;
    char path[128];
    struct cs_store *store;
    struct cs_error err;
    struct names before = {.n = 0}, after = {.n = 0};
    struct cs_mapped_image *old, *new;
    uint64_t offset;
    write_kernel();
    snprintf(path, sizeof path, "%s/replaced", root);
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    struct cs_images *images = cs_images_open(proc);
    struct cs_kernel *k = cs_kernel_open(images, proc, sys);
    assert_int_equal(cs_kernel_find(k, addr, &old, &offset), 0);
    assert_string_equal(old->image.path, "bpf_prog_0123456789abcdef_count");
    put("proc/kallsyms", "ffffffff81000000 T _text\n"
                         "ffffffff81001000 T _etext\n"
                         "ffffffffc0002000 t bpf_prog_fedcba9876543210_other\t[bpf]\n");
    assert_int_equal(cs_kernel_name(k, store, &err), 0);
    assert_int_equal(cs_store_names(store, old->image.id, take_name, &before, &err), 0);
    assert_int_equal(before.n, 0);
    assert_int_equal(cs_kernel_find(k, addr, &new, &offset), 0);
    assert_string_equal(new->image.path, "bpf_prog_fedcba9876543210_other");
    assert_int_equal(cs_kernel_name(k, store, &err), 0);
    assert_int_equal(cs_store_names(store, new->image.id, take_name, &after, &err), 0);
    assert_int_equal(after.n, 1);
    assert_string_equal(after.at[0].name, new->image.path);
    /* Named, then gone, by a record this time: the next one at its place gets a name, too. */
    write_kernel();
    cs_kernel_changed(k);
    assert_int_equal(cs_kernel_find(k, addr, &old, &offset), 0);
    assert_int_equal(cs_kernel_name(k, store, &err), 0);
    assert_int_equal(cs_store_names(store, old->image.id, take_name, &before, &err), 0);
    assert_int_equal(before.n, 1);
    assert_string_equal(before.at[0].name, "bpf_prog_0123456789abcdef_count");
    cs_kernel_close(k);
    cs_images_close(images);
    cs_store_close(store);
}

static void the_kernels_answer_is_taken_apart(void **state)
{
    (void)state;
    uint64_t start = 0, end = 0;
    char name[16];
    assert_true(cs_kernel_symbol_parse("vfs_read+0x12/0x340", 0x1012, &start, &end, name, sizeof name));
    assert_string_equal(name, "vfs_read");
    assert_int_equal(start, 0x1000);
    assert_int_equal(end, 0x1340);
    assert_true(cs_kernel_symbol_parse("a+0xb+0x1/0x2 [ext4 0123]", 0x1001, &start, &end, name, sizeof name));
    assert_string_equal(name, "a+0xb");
    assert_true(cs_kernel_symbol_parse("a_name_that_is_long+0x0/0x8", 8, &start, &end, name, sizeof name));
    assert_string_equal(name, "a_name_that_is_");
    static const char *const none[] = {"",      "0xffffffff81000000", "+0x1/0x2", "f+0x2/0x2",
                                       "f+0x1", "f+0x99/0xff"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(cs_kernel_symbol_parse(none[i], 0x40, &start, &end, name, sizeof name));
}

/* What the running kernel answers is what its /proc/kallsyms says. It may know less (text alone), and leave
 * off what a linker put behind a name. */
static void the_running_kernel_names_its_addresses_as_kallsyms_does(void **state)
{
    (void)state;
    enum { EACH = 997, ALIASES = 16 };
    struct cs_kernel_symbols *symbols = cs_kernel_symbols_open();
    FILE *f = symbols ? fopen("/proc/kallsyms", "re") : NULL;
    char line[1024], names[ALIASES][512], name[512], type;
    uint64_t at = 0, addr;
    unsigned n_names = 0, n_lines = 0, n_compared = 0;
    bool wanted = false;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%" SCNx64 " %c %511s", &addr, &type, name) != 3 || addr == 0)
            continue;
        if (addr != at) { /* all names of the address before are known now */
            uint64_t start, end;
            char found[512];
            if (wanted && n_names < ALIASES &&
                cs_kernel_symbol_at(symbols, at, &start, &end, found, sizeof found)) {
                unsigned i = 0;
                while (i < n_names && strncmp(names[i], found, strlen(found)) != 0)
                    i++;
                if (i == n_names)
                    fail_msg("%s at the address of %s", found, names[0]);
                assert_true(start == at && end > at);
                n_compared++;
            }
            at = addr;
            n_names = 0;
            wanted = n_lines++ % EACH == 0 && !strchr(line, '[');
        }
        if (n_names < ALIASES)
            snprintf(names[n_names++], sizeof names[0], "%s", name);
    }
    if (f)
        fclose(f);
    cs_kernel_symbols_close(symbols);
    if (n_compared == 0)
        skip(); /* not permitted, or addresses are hidden */
    print_message("%u names of the kernel compared\n", n_compared);
}

/* Debian 12's of AArch64, which lists functions only. */
static void a_kernel_without_its_first_symbol_begins_at_the_next_one(void **state)
{
    (void)state;
    uint64_t offset = 0;
    put("proc/kallsyms", "ffff800008010000 t gic_handle_irq\n"
                         "ffff800008010000 T _stext\n"
                         "ffff8000080101d0 T __do_softirq\n"
                         "ffff800008bd0000 D _etext\n");
    struct cs_images *images = cs_images_open(proc);
    struct cs_kernel *k = cs_kernel_open(images, proc, sys);
    assert_string_equal(cs_kernel_reason(k), "");
    assert_string_equal(kernel_at(k, 0xffff8000080101d4, &offset), "[kernel]");
    assert_int_equal(offset, 0x1d4);
    cs_kernel_close(k);
    cs_images_close(images);
    write_kernel();
}

static void hidden_kernel_addresses_are_said_and_never_placed(void **state)
{
    (void)state;
    uint64_t offset;
    put("proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T first\n");
    struct cs_images *images = cs_images_open(proc);
    struct cs_kernel *k = cs_kernel_open(images, proc, sys);
    assert_non_null(strstr(cs_kernel_reason(k), "kptr_restrict"));
    assert_string_equal(kernel_at(k, 0xffffffff81000210, &offset), "unknown");
    cs_kernel_close(k);
    cs_images_close(images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_modules_and_bpf_programs_are_images),
        cmocka_unit_test(a_bpf_program_is_found_where_the_kernel_has_it),
        cmocka_unit_test(a_bpf_program_of_two_functions_has_the_kernels_tag),
        cmocka_unit_test(names_of_sampled_kernel_procedures_are_kept_in_the_store),
        cmocka_unit_test(a_bpf_program_never_gets_the_name_of_its_successor),
        cmocka_unit_test(the_kernels_answer_is_taken_apart),
        cmocka_unit_test(the_running_kernel_names_its_addresses_as_kallsyms_does),
        cmocka_unit_test(a_kernel_without_its_first_symbol_begins_at_the_next_one),
        cmocka_unit_test(hidden_kernel_addresses_are_said_and_never_placed),
    };
    return cmocka_run_group_tests(tests, make_root, drop_root);
}
