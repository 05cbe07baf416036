/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of interpreted code whose memory becomes other code's. The interpreter is made up: a function's name is the letter that
 * stands at the address of its code. */
#include "sampler/dynamic/interpreted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

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

struct fixture {
    struct cs_images *images;
    struct cs_interpreted *it;
    unsigned number;
};

static void begin(struct fixture *f)
{
    const struct cs_interpreter_place place = {.kind = &letters, .version = "letters"};
    f->images = cs_images_open("/proc");
    f->it = cs_interpreted_open(f->images);
    int number = cs_interpreted_add(f->it, &place);
    assert_true(number >= 0);
    f->number = (unsigned)number;
}

static void end(struct fixture *f)
{
    cs_interpreted_close(f->it);
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

static void other_code_of_another_module_is_another_function(void **state)
{
    (void)state;
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

static void code_that_is_met_again_has_its_new_name(void **state)
{
    (void)state;
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

static void after_ten_minutes_a_name_is_read_again(void **state)
{
    (void)state;
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
        cmocka_unit_test(other_code_of_another_module_is_another_function),
        cmocka_unit_test(code_that_is_met_again_has_its_new_name),
        cmocka_unit_test(after_ten_minutes_a_name_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
