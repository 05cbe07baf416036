/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readable names against what rustc's own demangler, c++filt and the language specifications give for the same names. */
#include "image/code.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

TEST(names_of_each_mangling_are_read)
{
    static const char *const names[][2] = {
        /* Rust, legacy: with its hash left out */
        {"_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h95833a34d0af2a98E",
         "<&T as core::fmt::Debug>::fmt"},
        {"_ZN1r4spin17h95833a34d0af2a98E", "r::spin"},
        {"_ZN1r4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "r::main::{{closure}}"},
        {"_ZN1r4spin17h95833a34d0af2a98E.llvm.1234567", "r::spin"},
        /* Rust, v0 */
        {"_RNvCs1234_1r4spin", "r::spin"},
        {"_RNvXCs1234_1rNtB2_1ANtB2_4Work2go", "<r::A as r::Work>::go"},
        {"_RNvNtNtNtNtNtCsjrHSEGnQ3l9_3std3sys3pal4unix14stack_overflow3imp12make_handler",
         "std::sys::pal::unix::stack_overflow::imp::make_handler"},
        {"_RNCNvCs1234_1r4main0B3_", "r::main::{closure#0}"},
        {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
        /* C++ */
        {"_ZNSt6vectorImSaImEE9push_backEOm",
         "std::vector<unsigned long, std::allocator<unsigned long> >::push_back(unsigned long&&)"},
        {"_Z3addii@plt", "add(int, int)@plt"},
        {"_Z3addii.isra.0", "add(int, int) [clone .isra.0]"},
        /* D */
        {"_D8demangle4testFaZv", "demangle.test(char)"},
        {"_Dmain", "D main"},
        /* none of these */
        {"_Zebra", "_Zebra"},
        {"_Rhino", "_Rhino"},
        {"_D", "_D"},
        {"_", "_"},
        {"", ""},
        {"main", "main"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[256];
        assert_string_equal(cs_image_demangle(names[i][0], text, sizeof text), names[i][1]);
    }
}

TEST(a_rust_function_is_found_by_its_readable_name)
{
    assert_int_equal(cs_image_name_fits("_RNvCs1234_1r4spin", "r::spin"), 3);
    assert_int_equal(cs_image_name_fits("_RNvCs1234_1r4spin", "spin"), 1);
    assert_int_equal(cs_image_name_fits("_ZN1r4spin17h95833a34d0af2a98E", "r::spin"), 3);
    assert_int_equal(cs_image_name_fits("_RNvXCs1234_1rNtB2_1ANtB2_4Work2go", "<r::A as r::Work>::go"), 3);
    assert_int_equal(cs_image_name_fits("_RNvCs1234_1r4spin", "pin"), 0);
}

TEST(names_that_are_cut_stay_different)
{
    char long_a[3000], long_b[3000], mangled_a[3100], mangled_b[3100], a[512], b[512];
    memset(long_a, 'x', sizeof long_a - 1);
    long_a[sizeof long_a - 1] = '\0';
    memcpy(long_b, long_a, sizeof long_b);
    long_b[sizeof long_b - 2] = 'y';
    assert_string_not_equal(cs_image_demangle(long_a, a, sizeof a), cs_image_demangle(long_b, b, sizeof b));
    assert_int_equal(strlen(a), sizeof a - 1);
    snprintf(mangled_a, sizeof mangled_a, "_Z%zu%sv", strlen(long_a), long_a);
    snprintf(mangled_b, sizeof mangled_b, "_Z%zu%sv", strlen(long_b), long_b);
    cs_image_demangle(mangled_a, a, sizeof a);
    assert_string_not_equal(a, cs_image_demangle(mangled_b, b, sizeof b));
    assert_memory_equal(a, "xxxx", 4);
    assert_string_not_equal(cs_image_short_name(mangled_a, a, sizeof a),
                            cs_image_short_name(mangled_b, b, sizeof b));
    char tiny[3];
    assert_string_equal(cs_image_demangle("_Z3addii", tiny, sizeof tiny), "ad");
}

/* Each parameter is a pair of the one before, twice: the whole would be 2^60 names long. */
TEST(a_name_that_stands_for_gigabytes_takes_no_time)
{
    char name[2048], text[1024];
    size_t n = (size_t)snprintf(name, sizeof name, "_Z1f1AI1a1aE");
    for (int i = 1; i < 36; i++)
        n += (size_t)snprintf(name + n, sizeof name - n, "S_IS%c_S%c_E",
                              "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
                              "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
    char rust[2048] = "_RINvC1c1f";
    size_t at = strlen(rust), before = at;
    at += (size_t)snprintf(rust + at, sizeof rust - at, "Tuu");
    for (int i = 0; i < 40; i++) {    /* a tuple of two references to the tuple before */
        const size_t to = before - 2; /* positions count from behind "_R" */
        char number[8] = "";
        if (to > 0) {
            static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
            size_t v = to - 1;
            snprintf(number, sizeof number, v >= 62 ? "%c%c" : "%c", digits[v >= 62 ? v / 62 : v],
                     digits[v % 62]);
        }
        at += (size_t)snprintf(rust + at, sizeof rust - at, "E");
        before = at;
        at += (size_t)snprintf(rust + at, sizeof rust - at, "TB%s_B%s_", number, number);
    }
    snprintf(rust + at, sizeof rust - at, "EE");
    clock_t start = clock();
    for (int i = 0; i < 100; i++) {
        cs_image_demangle(name, text, sizeof text);
        assert_true(strlen(text) < sizeof text);
        cs_image_demangle(rust, text, sizeof text);
        assert_memory_equal(text, "c::f::<((), ())", 15);
    }
    assert_true(clock() - start < CLOCKS_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_each_mangling_are_read),
        cmocka_unit_test(a_rust_function_is_found_by_its_readable_name),
        cmocka_unit_test(names_that_are_cut_stay_different),
        cmocka_unit_test(a_name_that_stands_for_gigabytes_takes_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
