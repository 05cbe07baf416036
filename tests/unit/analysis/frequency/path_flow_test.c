/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flows from short paths, against a program whose flows are known. D goes to A or B, one as often as the
 * other. Both go to C, which takes its branch after A and falls through after B. A stalls, so that nine
 * paths of ten begin there. */
#include "analysis/frequency/edge_flow_internal.h"
#include "store/table/burst_schemas.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

enum { A = 0x10, B = 0x20, C = 0x30, D = 0x40 };
enum { A_C, B_C, C_TAKEN, C_FALLS, D_A, D_B, TRANSFERS };
static const uint64_t branch[] = {0, A, B, C, D};
enum { STATES = 5 };

struct program {
    struct cs_edge_flow t;
    struct cs_counted_edge list[TRANSFERS];
    char images[1][CS_IMAGE_ID_MAX];
    uint32_t from[TRANSFERS + 2 * STATES], to[TRANSFERS + 2 * STATES];
    struct path_groups groups;
    struct burst_edge rows[32];
    uint64_t number[4];
    struct sampled_time samples[4];
};

static void set_up(struct program *p)
{
    static const uint32_t from[] = {1, 2, 3, 3, 4, 4}, to[] = {3, 3, 4, 4, 1, 2};
    memset(p, 0, sizeof *p);
    strcpy(p->images[0], "image");
    for (unsigned i = 0; i < TRANSFERS; i++) {
        p->list[i] =
            (struct cs_counted_edge){.from = branch[from[i]], .to = branch[to[i]] - (i == C_FALLS ? 0xf : 0)};
        p->from[i] = from[i];
        p->to[i] = to[i];
    }
    for (uint32_t k = 1; k < STATES; k++) {
        p->to[TRANSFERS + 2 * (k - 1)] = k;
        p->from[TRANSFERS + 2 * (k - 1) + 1] = k;
    }
    p->t = (struct cs_edge_flow){
        .list = p->list, .n = TRANSFERS, .images = p->images, .n_images = 1, .from_paths = true};
    p->groups.rows = (struct burst_edges){.rows = p->rows, .number = p->number, .samples = p->samples};
}

/* So many paths that come first to that branch, with these edges. */
static void add_paths(struct program *p, uint64_t first, double n, unsigned one, unsigned two)
{
    uint64_t id = cs_path_group("image", first);
    uint32_t group = 0;
    while (group < p->groups.n && p->number[group] != id)
        group++;
    if (group == p->groups.n) {
        p->number[p->groups.n++] = id;
        p->samples[p->groups.rows.n_samples++] = (struct sampled_time){.offset = first};
    }
    for (unsigned i = 0; i < p->groups.rows.n_samples; i++)
        p->samples[i].count += p->samples[i].offset == first ? n : 0;
    const unsigned edge[] = {one, two};
    for (unsigned i = 0; i < 2; i++) {
        p->rows[p->groups.rows.n++] = (struct burst_edge){.burst = group, .edge = edge[i], .count = n};
        p->list[edge[i]].count += n;
        p->t.total_count += n;
    }
}

/* The numbers of groups are ascending in what is loaded. */
static void put_in_order(struct program *p)
{
    for (uint32_t i = 0; i < p->groups.n; i++)
        for (uint32_t k = i + 1; k < p->groups.n; k++)
            if (p->number[k] < p->number[i]) {
                uint64_t number = p->number[i];
                p->number[i] = p->number[k];
                p->number[k] = number;
                for (size_t r = 0; r < p->groups.rows.n; r++)
                    p->rows[r].burst = p->rows[r].burst == i   ? k
                                       : p->rows[r].burst == k ? i
                                                               : p->rows[r].burst;
            }
}

static void solve(struct program *p)
{
    put_in_order(p);
    struct path_chain chain = {cs_markov_open(STATES, p->from, p->to, TRANSFERS + 2 * (STATES - 1)), p->from,
                               p->to, STATES};
    assert_non_null(chain.chain);
    assert_int_equal(path_flow_solve(&p->t, &p->groups, &chain), 0);
    cs_markov_close(chain.chain);
}

TEST(where_time_goes_tells_no_more_of_directions)
{
    struct program p;
    set_up(&p);
    add_paths(&p, A, 9000, A_C, C_TAKEN);
    add_paths(&p, B, 1000, B_C, C_FALLS);
    add_paths(&p, D, 500, D_A, A_C);
    add_paths(&p, D, 500, D_B, B_C);
    solve(&p);
    double all = p.list[C_TAKEN].flow + p.list[C_FALLS].flow;
    assert_true(fabs(p.list[C_TAKEN].flow / all - 0.5) < 0.05);
    assert_true(fabs(p.list[A_C].flow / p.list[B_C].flow - 1) < 0.05);
    assert_true(fabs(p.list[D_A].flow / p.list[D_B].flow - 1) < 0.05);
}

TEST(where_nobody_knows_the_way_the_paths_behind_it_say_it)
{
    struct program p;
    set_up(&p);
    add_paths(&p, A, 3000, A_C, C_TAKEN);
    add_paths(&p, B, 1000, B_C, C_FALLS);
    p.list[D_A].ends = p.list[D_B].ends = 2000;
    solve(&p);
    assert_true(fabs(p.list[D_A].flow / p.list[D_B].flow - 3) < 0.1);
    double in = p.list[C_TAKEN].flow + p.list[C_FALLS].flow, out = p.list[D_A].flow + p.list[D_B].flow;
    assert_true(fabs(in / out - 1) < 0.01); /* nothing is lost there */
    double spread = 0;
    for (int r = 0; r < CS_EDGE_FLOW_REPLICATES; r++) {
        double off = log((double)(p.list[D_A].replicate[r] / p.list[D_B].replicate[r]) / 3);
        spread += off * off / CS_EDGE_FLOW_REPLICATES;
    }
    assert_true(sqrt(spread) > 0.2); /* the bias of moments is in it, however many there are */
}

/* Two loops in which paths end because they are long enough. One was once seen to go into the other, which
 * nothing was seen to leave: that one turn isn't all there is to know of them. */
TEST(a_loop_that_nothing_was_seen_to_leave_has_not_all)
{
    enum { STAYS_A, A_TO_B, STAYS_B };
    struct cs_counted_edge list[] = {{.from = A, .to = A - 8, .count = 160000},
                                     {.from = A, .to = B - 8, .count = 1},
                                     {.from = B, .to = B - 8, .count = 80000}};
    char images[1][CS_IMAGE_ID_MAX] = {"image"};
    struct cs_edge_flow t = {
        .list = list, .n = 3, .images = images, .n_images = 1, .total_count = 240001, .from_paths = true};
    struct sampled_time began[] = {{.offset = A, .count = 10000}, {.offset = B, .count = 5000}};
    struct path_groups groups = {.rows = {.samples = began, .n_samples = 2}};
    const uint32_t from[] = {1, 1, 2, 0, 1, 0, 2}, to[] = {1, 2, 2, 1, 0, 2, 0};
    struct path_chain chain = {cs_markov_open(3, from, to, 7), from, to, 3};
    assert_int_equal(path_flow_solve(&t, &groups, &chain), 0);
    cs_markov_close(chain.chain);
    assert_true(list[STAYS_A].flow > 1.5 * list[STAYS_B].flow &&
                list[STAYS_A].flow < 2.5 * list[STAYS_B].flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_time_goes_tells_no_more_of_directions),
        cmocka_unit_test(a_loop_that_nothing_was_seen_to_leave_has_not_all),
        cmocka_unit_test(where_nobody_knows_the_way_the_paths_behind_it_say_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
