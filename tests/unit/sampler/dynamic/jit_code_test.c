/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of JIT methods: versions distinguished, kept in a store, recognised from there. */
#include "image/code.h"
#include "sampler/dynamic/jit_code.h"
#include "sampler/dynamic/jit_methods.h"
#include "store/kept_code.h"
#include "tests/unit/give_name.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cs_store_image image = {
    .id = "x0123456789abcdef", .kind = CS_IMAGE_JIT, .path = "[jit] x", .build_id = ""};
static char folder[] = "/tmp/jit-code-XXXXXX";

static uint64_t offset_of(struct cs_jit_code *code, const char *name, const uint8_t *bytes, size_t n,
                          const char *expected)
{
    char versioned[CS_JIT_CODE_NAME_MAX];
    const uint64_t offset = cs_jit_code_offset(code, &image, name, bytes, n, NULL, versioned);
    assert_string_equal(versioned, expected);
    assert_int_equal(offset, cs_jit_name_offset(expected));
    assert_true(offset >> 63 && (offset & (CS_JIT_METHOD_MAX - 1)) == 0);
    return offset;
}

static void a_version_can_be_taken_off_a_name(void **state)
{
    static const struct {
        const char *name;
        size_t n;
    } of[] = {{"f (2)", 1}, {"JS:*f /a.js:1:15 (9)", 16}, {"f", 1}, {"f (1)", 5}, {"f (12)", 6}, {"f(2)", 4},
              {"", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
        assert_int_equal(cs_image_unversioned_bytes(of[i].name), of[i].n);
}

TEST(versions_of_a_name_are_told_apart)
{
    uint8_t bytes[64];
    struct cs_error err;
    memset(bytes, 0x90, sizeof bytes);
    struct cs_jit_code *code = cs_jit_code_open(folder);
    const uint64_t first = offset_of(code, "f", bytes, 64, "f");
    assert_int_equal(offset_of(code, "f", bytes, 64, "f"), first);
    memset(bytes, 0x11, 16); /* a quarter: addresses of another run */
    assert_int_equal(offset_of(code, "f", bytes, 64, "f"), first);
    bytes[16] = 0x11;
    const uint64_t second = offset_of(code, "f", bytes, 64, "f (2)");
    assert_true(second != first);
    offset_of(code, "f", bytes, 60, "f (3)"); /* another size */
    offset_of(code, "g", bytes, 64, "g");
    assert_true(cs_jit_code_save(code, 1 << 20, &err) >= 0);
    cs_jit_code_close(code);

    code = cs_jit_code_open(folder); /* the next recording */
    offset_of(code, "f", bytes, 60, "f (3)");
    offset_of(code, "f", bytes, 64, "f (2)");
    for (unsigned i = 4; i < CS_JIT_CODE_VERSIONS; i++) {
        char name[16];
        snprintf(name, sizeof name, "f (%u)", i);
        offset_of(code, "f", bytes, i, name);
    }
    offset_of(code, "f", bytes, 40, "f (9)"); /* all the others: without code */
    offset_of(code, "f", bytes, 41, "f (9)");
    assert_true(cs_jit_code_save(code, 1 << 20, &err) >= 0);
    cs_jit_code_close(code);
}

TEST(what_is_kept_is_an_elf_file_with_the_code_at_the_offsets)
{
    struct cs_error err;
    struct cs_store *store;
    struct cs_image_code *open;
    assert_int_equal(cs_store_open(folder, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    assert_int_equal(give_name(store, &image, cs_jit_name_offset("f (2)"), CS_JIT_METHOD_MAX, "f (2)", &err),
                     0);
    assert_int_equal(give_name(store, &image, cs_jit_name_offset("f (9)"), CS_JIT_METHOD_MAX, "f (9)", &err),
                     0);
    assert_int_equal(cs_image_open(&image, store, &open, &err), 0);
    size_t n;
    bool executable;
    const uint8_t *bytes = cs_image_bytes_at(open, cs_jit_name_offset("f (2)") + 1, &n, &executable);
    assert_non_null(bytes);
    assert_int_equal(n, 63);
    assert_true(executable && bytes[0] == 0x11 && bytes[16] == 0x90);
    assert_null(cs_image_bytes_at(open, cs_jit_name_offset("f (9)"), &n, &executable));
    assert_int_equal(cs_image_procedure_at(open, cs_jit_name_offset("f (2)"))->size, 64);
    assert_int_equal(cs_image_procedure_at(open, cs_jit_name_offset("f (9)"))->size, CS_JIT_METHOD_MAX);
    assert_true(cs_image_isa(open) != CS_ISA_NONE);
    cs_image_close(open);
    cs_store_close(store);
}

TEST(more_than_the_bounds_has_no_code)
{
    static uint8_t big[CS_JIT_CODE_METHOD_MAX + 1];
    static const struct cs_store_image other = {
        .id = "xfedcba9876543210", .kind = CS_IMAGE_JIT, .path = "[jit] y", .build_id = ""};
    struct cs_error err;
    char name[32], versioned[CS_JIT_CODE_NAME_MAX], *kept;
    size_t n;
    struct cs_jit_code *code = cs_jit_code_open(folder);
    assert_true(cs_jit_code_offset(code, &other, "big", big, sizeof big, NULL, versioned) >> 63);
    for (unsigned i = 0; i < 3 * CS_JIT_CODE_METHODS; i++) {
        snprintf(name, sizeof name, "m%u", i);
        assert_int_equal(cs_jit_code_offset(code, &other, name, big, 32, NULL, versioned),
                         cs_jit_name_offset(name));
    }
    assert_true(cs_jit_code_save(code, 1 << 20, &err) >= 0);
    cs_jit_code_close(code);
    assert_int_equal(cs_kept_code_load(folder, other.id, &kept, &n, &err), 0);
    assert_true(n >= 32 * CS_JIT_CODE_METHODS && n < 128 * CS_JIT_CODE_METHODS);
    free(kept);
    /* A file that lies is read within its bounds. */
    uint8_t lies[256];
    memset(lies, 0xff, sizeof lies);
    assert_true(cs_kept_code_put(folder, other.id, lies, sizeof lies, 1 << 20, &err) >= 0);
    code = cs_jit_code_open(folder);
    assert_int_equal(cs_jit_code_offset(code, &other, "m", big, 32, NULL, versioned),
                     cs_jit_name_offset("m"));
    cs_jit_code_close(code);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_can_be_taken_off_a_name),
        cmocka_unit_test(versions_of_a_name_are_told_apart),
        cmocka_unit_test(what_is_kept_is_an_elf_file_with_the_code_at_the_offsets),
        cmocka_unit_test(more_than_the_bounds_has_no_code),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 ? 1 : rc;
}
