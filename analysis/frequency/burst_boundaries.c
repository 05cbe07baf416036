/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In which state of the chain each burst began and ended. The state that it left once more than it came to is
 * the first. The one that it came to once more than it left is the last. A burst that has no such states ended
 * where it had begun, which the address of its first instruction tells. */
#include "analysis/frequency/edge_flow_internal.h"

#include <errno.h>
#include <stdlib.h>

static void find_open(const struct burst_edges *w, size_t from_row, size_t to_row, const uint32_t *from,
                      const uint32_t *to, double *net, uint32_t *start, uint32_t *end)
{
    double most = 0, least = 0;
    for (size_t i = from_row; i < to_row; i++) {
        net[to[w->rows[i].edge]] += w->rows[i].count;
        net[from[w->rows[i].edge]] -= w->rows[i].count;
    }
    for (size_t i = from_row; i < to_row; i++) {
        uint32_t left = from[w->rows[i].edge], reached = to[w->rows[i].edge];
        if (left && net[left] < least) {
            least = net[left];
            *start = left;
        }
        if (reached && net[reached] > most) {
            most = net[reached];
            *end = reached;
        }
    }
    for (size_t i = from_row; i < to_row; i++)
        net[to[w->rows[i].edge]] = net[from[w->rows[i].edge]] = 0;
}

int burst_boundaries_find(const struct burst_edges *w, const uint32_t *from, const uint32_t *to,
                          uint32_t n_states, uint32_t *start, uint32_t *end)
{
    double *net = calloc(n_states, sizeof *net);
    if (!net)
        return -ENOMEM;
    for (size_t i = 0, next; i < w->n; i = next) {
        uint64_t burst = w->rows[i].burst;
        uint32_t last = 0;
        for (next = i; next < w->n && w->rows[next].burst == burst;)
            next++;
        find_open(w, i, next, from, to, net, &start[burst], &last);
        end[burst] = last ? last : start[burst];
    }
    free(net);
    return 0;
}
