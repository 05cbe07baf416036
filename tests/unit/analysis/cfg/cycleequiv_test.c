/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycle equivalence against its definition: two edges are equivalent when every directed cycle through one
 * goes through the other. */
#include "analysis/cfg/cfg.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NODES 12
#define EDGES 40

static uint32_t from[EDGES], to[EDGES], n_edges, n_nodes, class_of[EDGES];

/* Is there a cycle through edge `through` that avoids edge `without`? */
static bool cycle(uint32_t through, uint32_t without)
{
    bool seen[NODES] = {false};
    if (through == without)
        return false;
    seen[to[through]] = true;
    for (uint32_t round = 0; round < n_nodes; round++)
        for (uint32_t e = 0; e < n_edges; e++)
            if (e != without && seen[from[e]])
                seen[to[e]] = true;
    return seen[from[through]];
}

static uint64_t state = 88172645463325252;
static uint32_t draw(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

static void make_strongly_connected(void)
{
    n_nodes = 2 + draw(NODES - 2);
    n_edges = 0;
    for (uint32_t i = 0; i < n_nodes; i++, n_edges++) { /* a ring, its nodes in any order */
        from[n_edges] = i;
        to[n_edges] = (i + 1) % n_nodes;
    }
    for (uint32_t more = draw(EDGES - NODES); more > 0; more--, n_edges++) {
        from[n_edges] = draw(n_nodes);
        to[n_edges] = draw(n_nodes);
    }
    for (uint32_t i = n_edges; i-- > 1;) { /* order of edges shouldn't matter: shuffle */
        uint32_t k = draw(i + 1), f = from[i], t = to[i];
        from[i] = from[k], to[i] = to[k];
        from[k] = f, to[k] = t;
    }
}

TEST(edges_are_in_one_class_exactly_when_they_lie_on_the_same_cycles)
{
    for (int round = 0; round < 4000; round++) {
        make_strongly_connected();
        assert_true(cs_cfg_cycle_equivalence(n_nodes, from, to, n_edges, class_of) > 0);
        for (uint32_t a = 0; a < n_edges; a++)
            for (uint32_t b = 0; b < n_edges; b++) {
                bool same = a == b || (!cycle(a, b) && !cycle(b, a));
                if (same != (class_of[a] == class_of[b]))
                    fail_msg("round %d: edges %u and %u of %u", round, a, b, n_edges);
            }
    }
}

static double seconds(uint32_t n)
{
    uint32_t *f = malloc(3 * n * sizeof *f), *t = malloc(3 * n * sizeof *t), *c = malloc(3 * n * sizeof *c),
             m = 0;
    struct timespec start, end;
    for (uint32_t i = 0; i < n; i++) {
        f[m] = i, t[m++] = (i + 1) % n;
        f[m] = i, t[m++] = i > 3 ? i - 3 : 0;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    assert_true(cs_cfg_cycle_equivalence(n, f, t, m, c) > 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    free(f);
    free(t);
    free(c);
    return (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

TEST(time_grows_linearly)
{
    seconds(100000);
    double small = seconds(100000), large = seconds(800000);
    assert_true(large < 30 * small + 0.05); /* 8 times the work; the square would be 64 times */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_are_in_one_class_exactly_when_they_lie_on_the_same_cycles),
        cmocka_unit_test(time_grows_linearly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
