/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts on their way to the store, while more of them come. */
#include "sampler/placing/profiles.h"
#include "tests/unit/test.h"
#include <stdio.h>
#include <stdlib.h>

#define ENDLESS 1000

struct storm {
    struct cs_session_profiles *profiles;
    const struct cs_mapped_image *image;
    uint32_t labels, told;
    char text[32];
};

static const char *label_text(void *arg, uint32_t number)
{
    struct storm *storm = arg;
    snprintf(storm->text, sizeof storm->text, "process-%u", number);
    return storm->text;
}

/* Whatever is merged, there is more. */
static void another_process_runs(void *arg)
{
    struct storm *storm = arg;
    if (++storm->told > ENDLESS)
        return;
    assert_int_equal(cs_session_profiles_add(storm->profiles, storm->image, 0, storm->labels++, 0x1000, 1),
                     0);
}

TEST(a_merge_ends_though_ever_new_profiles_come_meanwhile_and_the_next_has_them)
{
    char path[] = "/tmp/session_profiles.XXXXXX", command[64];
    struct cs_error err;
    struct cs_store *store;
    const struct cs_event event = {.name = "cycles", .unit = ""};
    const struct cs_session_profiles_times times = {0, 0, 1.0};
    struct cs_mapped_image image = {.image = {.kind = CS_IMAGE_FILE, .id = "aa", .path = "/bin/a"}};
    struct storm storm = {.profiles = cs_session_profiles_open(&event, 1), .image = &image, .labels = 1};
    const struct cs_session_profiles_merging with = {label_text, another_process_runs, &storm};
    uint64_t merged = 0;
    assert_non_null(mkdtemp(path));
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, "{}", &err), 0);
    for (unsigned i = 0; i < 200; i++) /* the slots grow, and all move, while it goes on */
        assert_int_equal(cs_session_profiles_add(storm.profiles, &image, 0, storm.labels++, 0x1000, 1), 0);
    assert_int_equal(cs_session_profiles_merge(storm.profiles, store, &times, &with, &merged, &err), 0);
    assert_int_equal(merged, 200);
    assert_int_equal(cs_session_profiles_pending(storm.profiles), 200);
    storm.told = ENDLESS;
    assert_int_equal(cs_session_profiles_merge(storm.profiles, store, &times, &with, &merged, &err), 0);
    assert_int_equal(merged, 400);
    assert_int_equal(cs_session_profiles_pending(storm.profiles), 0);
    cs_session_profiles_close(storm.profiles);
    cs_store_close(store);
    snprintf(command, sizeof command, "rm -r %s", path);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merge_ends_though_ever_new_profiles_come_meanwhile_and_the_next_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
