/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and addresses that were chosen to meet in one place of a table whose hash everybody knows. They cost no more
 * than the same number of others. */
#include "sampler/images/images.h"
#include "sampler/images/labels.h"
#include "store/table/table.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define N 4000
#define SHARED 4095 /* their hashes are the same in these bits */

static char chosen[N][40], others[N][40];

static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* `format`: the text that is hashed, with the name in it. `with_end`: and the NUL behind it. */
static void choose(const char *format, bool with_end)
{
    unsigned n = 0;
    for (unsigned i = 0; n < N; i++) {
        char name[40], text[80];
        snprintf(name, sizeof name, "n%u", i);
        size_t length = (size_t)snprintf(text, sizeof text, format, name) + with_end;
        if (i < N)
            memcpy(others[i], name, sizeof name);
        if ((XXH3_64bits(text, length) & SHARED) == 17)
            memcpy(chosen[n++], name, sizeof name);
    }
}

static void cost_the_same(double (*run)(char names[N][40]))
{
    double least = 1e9, most = 0;
    for (int i = 0; i < 3; i++) {
        double first = run(others), second = run(chosen);
        least = second < least ? second : least;
        most = first > most ? first : most;
    }
    if (least > 3 * most + 0.003)
        fail_msg("%d names that were chosen take %.4f s, others %.4f", N, least, most);
}

static double add_images(char names[N][40])
{
    struct cs_images *images = cs_images_open("/proc");
    double began = seconds();
    for (int again = 0; again < 4; again++)
        for (unsigned i = 0; i < N; i++)
            assert_non_null(cs_images_special(images, CS_IMAGE_JIT, NULL, names[i], ""));
    double took = seconds() - began;
    assert_int_equal(cs_images_count(images), N);
    cs_images_close(images);
    return took;
}

static double add_labels(char names[N][40])
{
    struct cs_labels *labels = cs_labels_open();
    double began = seconds();
    for (int again = 0; again < 4; again++)
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(cs_labels_number(labels, names[i]), i + 1);
    double took = seconds() - began;
    cs_labels_close(labels);
    return took;
}

static double add_texts(char names[N][40])
{
    static const struct cs_schema schema = {"t", 1, 1, {{"text", CS_KEY_TEXT}}};
    struct cs_table *table = cs_table_open(&schema);
    double began = seconds();
    for (int again = 0; again < 4; again++)
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(cs_table_text(table, names[i]), i);
    double took = seconds() - began;
    cs_table_close(table);
    return took;
}

TEST(names_that_were_chosen_cost_what_others_cost)
{
    char format[20];
    snprintf(format, sizeof format, "s%d::%%s", (int)CS_IMAGE_JIT);
    choose(format, false);
    cost_the_same(add_images);
    choose("%s", true);
    cost_the_same(add_labels);
    choose("%s", false);
    cost_the_same(add_texts);
}

/* Of the hash that a table had: which rows of one key share a place among 16,384. */
static double add_rows(bool collide)
{
    static const struct cs_schema schema = {"t", 2, 1, {{"key", CS_KEY}, {"n", CS_SUM}}};
    struct cs_table *table = cs_table_open(&schema);
    static uint64_t keys[N];
    unsigned n = 0;
    for (uint64_t key = 1; n < N; key++) {
        uint64_t h = (0x9e3779b97f4a7c15ull ^ key) * 0xd6e8feb86659fd93ull;
        h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
        if (!collide || (h >> 20 & SHARED) == 17)
            keys[n++] = key;
    }
    double began = seconds();
    for (int again = 0; again < 4; again++)
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(cs_table_add(table, (uint64_t[]){keys[i], 1}), 0);
    double took = seconds() - began;
    assert_int_equal(cs_table_rows(table), N);
    cs_table_close(table);
    return took;
}

TEST(addresses_that_were_chosen_cost_what_others_cost)
{
    double chosen_s = add_rows(true), others_s = add_rows(false);
    if (chosen_s > 3 * others_s + 0.003)
        fail_msg("%d addresses that were chosen take %.4f s, others %.4f", N, chosen_s, others_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_were_chosen_cost_what_others_cost),
        cmocka_unit_test(addresses_that_were_chosen_cost_what_others_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
