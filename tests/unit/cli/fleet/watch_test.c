/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fleet watch's judgement of services whose past is made up. The random numbers are fixed: no test depends on chance. */
#include "cli/fleet/watch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FUNCTIONS 20
#define DAYS 40
#define HOSTS 3
#define BEGIN 1000 /* number of the first epoch */

struct past {
    struct watch_cell cell[FUNCTIONS * DAYS * HOSTS * 2];
    size_t n;
    char names[FUNCTIONS][8];
    uint64_t state;
};

/* What a service does: `times` of function `changed` from day `from` on; builds change at `release` (0: never), a day later on
 * each further host. */
struct plan {
    int changed, from, release;
    double times, hosts_differ;
    bool follows_release; /* on each host from its own release on */
};

static double uniform(struct past *p)
{
    p->state ^= p->state << 13;
    p->state ^= p->state >> 7;
    p->state ^= p->state << 17;
    return ((double)(p->state >> 11) + 1) / 9007199254740993.0;
}

static double normal(struct past *p)
{
    const double radius = sqrt(-2 * log(uniform(p)));
    return radius * cos(6.283185307179586 * uniform(p));
}

static void make(struct past *p, const struct plan *plan)
{
    static const char *const hosts[HOSTS] = {"web1", "web2", "web3"};
    double of_host[HOSTS][FUNCTIONS];
    p->n = 0;
    p->state = 88172645463325252ull;
    for (int h = 0; h < HOSTS; h++)
        for (int f = 0; f < FUNCTIONS; f++)
            of_host[h][f] = 1 + plan->hosts_differ * normal(p);
    for (int day = 0; day < DAYS; day++)
        for (int h = 0; h < HOSTS; h++) {
            const bool new = plan->release &&day >= plan->release + h;
            const bool after = plan->follows_release ? new : day >= plan->from;
            for (int f = 0; f < FUNCTIONS; f++) {
                snprintf(p->names[f], sizeof p->names[f], "f%d", f);
                double mean = 200000.0 / (f + 2) * of_host[h][f];
                mean *= f == plan->changed && after ? plan->times : 1;
                p->cell[p->n++] = (struct watch_cell){.host = hosts[h],
                                                      .image = f < 15 ? "server" : "libc.so.6",
                                                      .build = f >= 15 ? "c"
                                                               : new   ? "bbb"
                                                                       : "aaa",
                                                      .function = p->names[f],
                                                      .epoch = BEGIN + day,
                                                      .samples = round(mean + sqrt(mean) * normal(p))};
            }
        }
}

static void judge(struct watch *w, struct past *p, const struct plan *plan)
{
    *w = (struct watch){.least = 0.05, .since = INT64_MIN};
    make(p, plan);
    assert_int_equal(watch_service(w, "shop", p->cell, p->n), 0);
    assert_int_equal(watch_conclude(w), 0);
}

static void a_quiet_service_has_no_finding(void **state)
{
    struct watch w;
    judge(&w, *state, &(struct plan){.changed = -1, .release = 20, .hosts_differ = 0.2});
    assert_int_equal(w.n_found, 0);
    assert_int_equal(w.services_untold, 0);
    assert_int_equal(w.builds, 1);
    assert_true(w.looked_at >= 5 * FUNCTIONS);
    watch_fini(&w);
}

static void a_build_that_reaches_hosts_one_by_one_is_named(void **state)
{
    struct watch w;
    judge(&w, *state,
          &(struct plan){
              .changed = 3, .release = 20, .times = 1.05, .hosts_differ = 0.2, .follows_release = true});
    assert_int_equal(w.n_found, 1);
    assert_string_equal(w.test[0].function, "f3");
    assert_string_equal(w.test[0].cause, "server");
    assert_string_equal(w.test[0].build, "bbb");
    assert_string_equal(w.test[0].old_build, "aaa");
    assert_int_equal(w.test[0].epoch, BEGIN + 20);
    assert_false(w.test[0].moved);
    /* 5 % of a function that has 1/5 of the sum of 1/2 ... 1/21 */
    assert_true(fabs(w.test[0].percent - 5 / 5.0 / 2.645) < 0.1);
    watch_fini(&w);
}

static void a_step_between_releases_is_not_the_builds(void **state)
{
    struct watch w;
    judge(&w, *state, &(struct plan){.changed = 3, .from = 30, .release = 20, .times = 1.05});
    assert_int_equal(w.n_found, 1);
    assert_string_equal(w.test[0].function, "f3");
    assert_null(w.test[0].cause);
    assert_true(llabs(w.test[0].epoch - (BEGIN + 30)) <= 1);
    watch_fini(&w);
}

static void what_others_gain_by_share_is_no_finding(void **state)
{
    struct watch w;
    judge(&w, *state, &(struct plan){.changed = 0, .release = 20, .times = 0.02, .follows_release = true});
    assert_int_equal(w.n_found, 0);
    watch_fini(&w);
}

static void code_that_moved_is_marked(void **state)
{
    struct past *p = *state;
    struct watch w = {.least = 0.05, .since = INT64_MIN};
    make(p, &(struct plan){.changed = 2, .release = 20, .times = 0.7, .follows_release = true});
    for (size_t i = 0; i < p->n; i++) /* what f2 lost, f8 has more */
        if (strcmp(p->cell[i].function, "f8") == 0 && strcmp(p->cell[i].build, "bbb") == 0)
            p->cell[i].samples += 0.3 * 50000;
    assert_int_equal(watch_service(&w, "shop", p->cell, p->n), 0);
    assert_int_equal(watch_conclude(&w), 0);
    assert_int_equal(w.n_found, 1);
    assert_string_equal(w.test[0].function, "f8");
    assert_true(w.test[0].moved);
    watch_fini(&w);
}

static void one_library_in_two_services_is_one_cause(void **state)
{
    struct past *p = *state;
    struct watch w = {.least = 0.05, .since = INT64_MIN};
    static const char *const services[] = {"shop", "mail"};
    for (int s = 0; s < 2; s++) {
        make(p, &(struct plan){.changed = 3, .release = 20, .times = 1.1, .follows_release = true});
        assert_int_equal(watch_service(&w, services[s], p->cell, p->n), 0);
    }
    assert_int_equal(watch_conclude(&w), 0);
    assert_int_equal(w.n_found, 2);
    assert_int_equal(w.causes, 1);
    watch_fini(&w);
}

static void a_short_past_cannot_be_told(void **state)
{
    struct past *p = *state;
    struct watch w = {.least = 0.05, .since = INT64_MIN};
    make(p, &(struct plan){.changed = -1});
    assert_int_equal(watch_service(&w, "shop", p->cell, (size_t)4 * HOSTS * FUNCTIONS), 0);
    assert_int_equal(watch_service(&w, "empty", p->cell, 0), 0);
    assert_int_equal(watch_conclude(&w), 0);
    assert_int_equal(w.n_found, 0);
    assert_int_equal(w.services_untold, 2);
    watch_fini(&w);
}

static void earlier_changes_than_since_are_left_out(void **state)
{
    struct past *p = *state;
    struct watch w = {.least = 0.05, .since = BEGIN + 25};
    make(p, &(struct plan){.changed = 3, .release = 20, .times = 1.1, .follows_release = true});
    assert_int_equal(watch_service(&w, "shop", p->cell, p->n), 0);
    assert_int_equal(watch_conclude(&w), 0);
    assert_int_equal(w.n_found, 0);
    watch_fini(&w);
}

static int open_past(void **state)
{
    *state = malloc(sizeof(struct past));
    return *state ? 0 : -1;
}

static int close_past(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_service_has_no_finding),
        cmocka_unit_test(a_build_that_reaches_hosts_one_by_one_is_named),
        cmocka_unit_test(a_step_between_releases_is_not_the_builds),
        cmocka_unit_test(what_others_gain_by_share_is_no_finding),
        cmocka_unit_test(code_that_moved_is_marked),
        cmocka_unit_test(one_library_in_two_services_is_one_cause),
        cmocka_unit_test(a_short_past_cannot_be_told),
        cmocka_unit_test(earlier_changes_than_since_are_left_out),
    };
    return cmocka_run_group_tests(tests, open_past, close_past);
}
