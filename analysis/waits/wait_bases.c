/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/wait_bases.h"

#include "store/base/array.h"

#include <assert.h>
#include <string.h>

/* The kernel's part has one name for several kinds of waits: those whose call says no more. */
static const char *const bases[CS_WAIT_BASES] = {"socket", "lock", "read-write", "poll"};

int cs_wait_base_of(const char *reason, const char *call)
{
    assert(reason && call);
    static const char *const calls[] = {"read",     "readv",   "pread64",  "preadv", "write", "writev",
                                        "pwrite64", "pwritev", "sendfile", "splice", "ioctl"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(call, calls[i]) == 0)
            return 2;
    for (int i = 0; i < CS_WAIT_BASES; i++) {
        size_t n = strlen(bases[i]);
        if (strncmp(reason, bases[i], n) == 0 && (reason[n] == ':' || !reason[n]))
            return i;
    }
    return -1;
}

static struct cs_wait_total *total_of(struct cs_wait_groups *w, const char *what)
{
    for (size_t i = 0; i < w->n_totals; i++)
        if (strcmp(w->totals[i].what, what) == 0)
            return &w->totals[i];
    return NULL;
}

static void refine(struct cs_wait_groups *w, unsigned base)
{
    struct cs_wait_total *total = total_of(w, bases[base]);
    double whole = 0, waits = 0, left = total ? (double)total->ns : 0,
           times = total ? (double)total->count : 0;
    for (size_t i = 0; i < w->n; i++) {
        whole += (double)w->at[i].base[base].ns;
        waits += (double)w->at[i].base[base].count;
    }
    if (!total || whole <= 0 || waits <= 0)
        return;
    total->ns = total->count = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct cs_wait_group *g = &w->at[i];
        if (!g->base[base].ns && !g->base[base].count)
            continue;
        struct cs_wait_total *part = total_of(w, g->kind);
        if (!part) {
            if (cs_array_room(w->totals, w->n_totals, w->totals_capacity) < 0)
                continue;
            part = &w->totals[w->n_totals++];
            *part = (struct cs_wait_total){g->kind, 0, 0};
        }
        part->ns += (uint64_t)(left * (double)g->base[base].ns / whole);
        part->count += (uint64_t)(times * (double)g->base[base].count / waits + 0.5);
    }
}

void cs_wait_refine_totals(struct cs_wait_groups *w)
{
    for (unsigned base = 0; base < CS_WAIT_BASES; base++)
        refine(w, base);
}

const char *cs_wait_mostly(const struct cs_wait_groups *w, const struct cs_waiting_thread *t)
{
    const struct cs_wait_total *most = NULL;
    const struct cs_wait_group *best = NULL;
    for (size_t i = 0; i < t->n; i++)
        most = most && most->ns >= t->totals[i].ns ? most : &t->totals[i];
    int base = most ? cs_wait_base_of(most->what, "") : -1;
    for (size_t i = 0; base >= 0 && i < w->n; i++)
        if (w->at[i].thread.text && strcmp(w->at[i].thread.text, t->name) == 0 &&
            w->at[i].base[base].ns > (best ? best->base[base].ns : 0))
            best = &w->at[i];
    return best ? best->kind : most ? most->what : NULL;
}
