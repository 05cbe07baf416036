/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of interpreted code whose memory becomes other code's. The interpreter is made up: a function's name is the
 * letter at the address of its code. */
#include "sampler/dynamic/interpreted.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND 1000000000ULL

static char memory[64] __attribute__((aligned(8)));

static void name_of(const struct cs_process_memory *of, const struct cs_interpreter_offsets *offsets,
                    const struct cs_interpreted_frame *frame, struct cs_interpreted_name *name)
{
    (void)offsets;
    *name = (struct cs_interpreted_name){.file = "letters", .first_line = 1};
    if (!of->read(of->arg, frame->code, name->function, 1))
        name->function[0] = '\0';
}
static const struct cs_interpreter_kind letters = {.name = name_of};

static const struct cs_store_image ours = {.id = "12ab"};

struct fixture {
    struct cs_images *images;
    struct cs_maps *maps;
    struct cs_interpreted *it;
    unsigned number;
};

static void begin(struct fixture *f)
{
    const struct cs_interpreter_place place = {.kind = &letters, .version = "letters"};
    f->images = cs_images_open("/proc");
    f->maps = cs_maps_open(f->images, "/proc", CS_LABEL_COMMAND);
    assert_non_null(f->maps);
    f->it = cs_interpreted_open(f->images, f->maps);
    int number = cs_interpreted_add(f->it, &place, &ours);
    assert_true(number >= 0);
    f->number = (unsigned)number;
}

static void end(struct fixture *f)
{
    cs_interpreted_close(f->it);
    cs_maps_close(f->maps);
    cs_images_close(f->images);
}

static uint64_t find(struct fixture *f, unsigned at, uint64_t module, bool runs)
{
    const struct cs_interpreted_frame frame = {.code = (uint64_t)(uintptr_t)(memory + at)};
    struct cs_mapped_image *image;
    uint64_t offset = 0;
    assert_true(cs_interpreted_find(f->it, f->number, getpid(), module, &frame, runs, &image, &offset));
    return offset;
}

/* Each has another loop, as false ones would. */
static int add(struct fixture *f, const char *id)
{
    static uint64_t loop = 1;
    const struct cs_interpreter_place place = {.kind = &letters, .version = "letters", .loop = loop++};
    struct cs_store_image image = {.kind = CS_IMAGE_ELF};
    snprintf(image.id, sizeof image.id, "%s", id);
    return cs_interpreted_add(f->it, &place, &image);
}

TEST(false_interpreters_of_strangers_switch_nobody_elses_off)
{
    struct fixture f;
    begin(&f);
    for (int i = 0; i < 20; i++)
        assert_int_equal(add(&f, "34cd-u1000") >= 0, i < 4);
    for (int i = 0; i < 20; i++)
        assert_int_equal(add(&f, "34cd-u1001") >= 0, i < 4);
    assert_int_equal(add(&f, "34cd-u1002"), -1);
    assert_int_equal(cs_interpreted_cut(f.it), 16 + 16 + 1);
    for (int i = 0; i < 7; i++)
        assert_true(add(&f, "34cd") >= 0);
    assert_int_equal(add(&f, "34cd"), -1);
    end(&f);
}

TEST(a_strangers_interpreter_names_an_image_of_its_own)
{
    struct fixture f;
    begin(&f);
    const struct cs_interpreter_place place = {.kind = &letters, .version = "letters"};
    const struct cs_store_image theirs = {.id = "12ab-u1000"};
    const struct cs_interpreted_frame frame = {.code = (uint64_t)(uintptr_t)memory};
    struct cs_mapped_image *image[2];
    uint64_t offset;
    const int number = cs_interpreted_add(f.it, &place, &theirs);
    assert_true(number >= 0 && (unsigned)number != f.number);
    memory[0] = 'a';
    assert_true(cs_interpreted_find(f.it, f.number, getpid(), 0, &frame, true, &image[0], &offset));
    assert_true(cs_interpreted_find(f.it, (unsigned)number, getpid(), 0, &frame, true, &image[1], &offset));
    assert_ptr_not_equal(image[0], image[1]);
    assert_string_equal(image[0]->image.path, image[1]->image.path);
    assert_string_equal(strchr(image[1]->image.id, '-'), "-u1000");
    end(&f);
}

TEST(other_code_of_another_module_is_another_function)
{
    struct fixture f;
    begin(&f);
    memory[0] = 'a';
    cs_interpreted_drain(f.it, SECOND);
    const uint64_t a = find(&f, 0, 2, true);
    memory[0] = 'b';
    const uint64_t b = find(&f, 0, 4, true);
    assert_int_not_equal(a, b);
    cs_interpreted_drain(f.it, 1001000000); /* what ran before is told as what it was */
    assert_int_equal(find(&f, 0, 2, false), a);
    assert_int_equal(find(&f, 0, 4, false), b);
    end(&f);
}

TEST(code_of_a_process_that_has_ended_is_read_in_its_parent)
{
    struct fixture f;
    begin(&f);
    memory[0] = 'a';
    const uint64_t a = find(&f, 0, 0, true);
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct cs_mapped_image *image;
    uint64_t offset = 0;
    const struct cs_interpreted_frame frame = {.code = (uint64_t)(uintptr_t)memory};
    assert_false(cs_interpreted_find(f.it, f.number, child, 0, &frame, true, &image, &offset));
    assert_int_equal(cs_maps_exec(f.maps, getpid(), "parent", 1), 0);
    assert_int_equal(cs_maps_fork(f.maps, child, getpid(), 2), 0);
    assert_true(cs_interpreted_find(f.it, f.number, child, 0, &frame, true, &image, &offset));
    assert_int_equal(offset, a);
    assert_int_equal(cs_maps_exec(f.maps, getpid(), "another", 3), 0); /* with other memory */
    assert_false(cs_interpreted_find(f.it, f.number, child, 8, &frame, true, &image, &offset));
    end(&f);
}

TEST(code_that_is_met_again_has_its_new_name)
{
    struct fixture f;
    begin(&f);
    memory[0] = 'a';
    memory[8] = 'b';
    const uint64_t a = find(&f, 0, 0, true), b = find(&f, 8, 0, true);
    memory[0] = 'b';
    assert_int_equal(find(&f, 0, 0, true), b);
    /* Two that share a place of the handler's table are met again and again: not each time is read. */
    memory[0] = 'a';
    for (int i = 0; i < 6; i++)
        assert_int_equal(find(&f, 0, 0, true), a);
    for (int i = 0; i < 20; i++)
        (void)find(&f, 0, 0, true);
    memory[0] = 'b';
    assert_int_equal(find(&f, 0, 0, true), a);
    end(&f);
}

TEST(after_ten_minutes_a_name_is_read_again)
{
    struct fixture f;
    begin(&f);
    memory[0] = 'a';
    memory[8] = 'b';
    cs_interpreted_drain(f.it, SECOND);
    const uint64_t a = find(&f, 0, 0, true), b = find(&f, 8, 0, true);
    memory[0] = 'b';
    cs_interpreted_drain(f.it, 600 * SECOND);
    assert_int_equal(find(&f, 0, 0, false), a);
    cs_interpreted_drain(f.it, 602 * SECOND);
    assert_int_equal(find(&f, 0, 0, false), b);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(false_interpreters_of_strangers_switch_nobody_elses_off),
        cmocka_unit_test(a_strangers_interpreter_names_an_image_of_its_own),
        cmocka_unit_test(other_code_of_another_module_is_another_function),
        cmocka_unit_test(code_of_a_process_that_has_ended_is_read_in_its_parent),
        cmocka_unit_test(code_that_is_met_again_has_its_new_name),
        cmocka_unit_test(after_ten_minutes_a_name_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
