/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/placing/wait_tables.h"

#include "sampler/waits/reasons.h"
#include "store/base/array.h"
#include "store/base/clock.h"
#include "store/contexts.h"
#include "store/table/wait_schemas.h"

#include <assert.h>
#include <stdio.h>

struct cs_session_wait_label {
    uint32_t label;
    struct cs_table *waits, *threads, *blame;
    struct cs_session_wait_tables *tables;
};

struct cs_session_wait_tables {
    CS_ARRAY(struct cs_session_wait_label) labels;
    bool by_name;
    uint64_t random;
};

struct cs_session_wait_tables *cs_session_wait_tables_open(bool by_name)
{
    struct cs_session_wait_tables *t = calloc(1, sizeof *t);
    if (t) {
        t->by_name = by_name;
        t->random = cs_monotonic_ns() | 1;
    }
    return t;
}

void cs_session_wait_tables_close(struct cs_session_wait_tables *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->labels.n; i++) {
        cs_table_close(t->labels.at[i].waits);
        cs_table_close(t->labels.at[i].threads);
        cs_table_close(t->labels.at[i].blame);
    }
    cs_array_free(&t->labels);
    free(t);
}

struct cs_session_wait_label *cs_session_wait_tables_of(struct cs_session_wait_tables *t, uint32_t label)
{
    struct cs_session_wait_label *found = NULL;
    for (size_t i = 0; i < t->labels.n && !found; i++)
        if (t->labels.at[i].label == label)
            found = &t->labels.at[i];
    if (!found && (found = cs_array_add(&t->labels)) != NULL)
        *found = (struct cs_session_wait_label){.label = label, .tables = t};
    if (!found)
        return NULL;
    found->waits = found->waits ? found->waits : cs_table_open(&cs_schema_waits);
    found->threads = found->threads ? found->threads : cs_table_open(&cs_schema_threads);
    found->blame = found->blame ? found->blame : cs_table_open(&cs_schema_blame);
    return found->waits && found->threads && found->blame ? found : NULL;
}

/* xorshift64 */
static uint64_t draw(struct cs_session_wait_tables *t)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    return t->random ^= t->random << 17;
}

uint64_t cs_session_wait_tables_rounded(struct cs_session_wait_tables *t, double value)
{
    assert(value >= 0);
    uint64_t whole = (uint64_t)value;
    return whole + ((double)(draw(t) >> 11) / 0x1p53 < value - (double)whole);
}

static int64_t text(struct cs_table *table, const char *string)
{
    return cs_table_text(table, string);
}

static bool is_full(const struct cs_table *table)
{
    return cs_table_rows(table) >= CS_SESSION_WAIT_ROWS;
}

void cs_session_wait_tables_wait(struct cs_session_wait_label *label, const struct cs_session_wait_row *row)
{
    struct cs_table *table = label->waits;
    bool full = is_full(table);
    int64_t reason = text(table, row->reason), call = text(table, row->call),
            object = text(table, full ? "" : row->object), thread = text(table, row->thread),
            waker = text(table, full ? "" : row->waker);
    /* Whole waits of its length: then no sum is above what its waits can have. */
    const uint64_t waits = cs_session_wait_tables_rounded(label->tables, row->factor);
    unsigned log2 = row->ns ? 63 - (unsigned)__builtin_clzll(row->ns) : 0;
    if (reason >= 0 && call >= 0 && object >= 0 && thread >= 0 && waker >= 0)
        (void)cs_table_add(table,
                           (uint64_t[]){row->context, (uint64_t)reason, (uint64_t)call, (uint64_t)object,
                                        (uint64_t)thread, (uint64_t)waker, full ? 0 : row->waker_context,
                                        log2, waits, waits * row->ns, row->ns});
}

void cs_session_wait_tables_blame(void *blaming, const struct cs_blame_part *part)
{
    struct cs_session_wait_blaming *b = blaming;
    struct cs_table *table = b->label->blame;
    bool full = is_full(table);
    int64_t reason = text(table, b->reason), object = text(table, full ? "" : b->object),
            holder = text(table, part->thread),
            what = text(table, part->reason == -1   ? "running"
                               : part->reason == -2 ? "not followed"
                               : part->reason < 0   ? "waiting"
                                                    : cs_wait_reason_name((unsigned)part->reason));
    if (reason >= 0 && object >= 0 && holder >= 0 && what >= 0)
        (void)cs_table_add(table, (uint64_t[]){full ? 0 : b->context, (uint64_t)reason, (uint64_t)object,
                                               (uint64_t)holder, (uint64_t)what, full ? 0 : part->context,
                                               cs_session_wait_tables_rounded(b->label->tables,
                                                                              b->factor * (double)part->ns)});
}

void cs_session_wait_tables_thread(struct cs_session_wait_label *label, const struct cs_wait_added *added)
{
    struct cs_table *table = label->threads;
    bool full = is_full(table), nameless = full || label->tables->by_name;
    int64_t thread = text(table, full ? "[others]" : added->thread), what = text(table, added->what);
    if (thread >= 0 && what >= 0)
        (void)cs_table_add(table, (uint64_t[]){nameless ? 0 : added->pid, nameless ? 0 : added->tid,
                                               (uint64_t)thread, (uint64_t)what, added->ns, added->times});
}

static int merge_table(struct cs_store *store, struct cs_table *table, const char *label, unsigned ns,
                       struct cs_error *err)
{
    struct cs_store_profile_head head = {.event = CS_WAITS_EVENT, .unit = "ns"};
    if (!table || !cs_table_rows(table))
        return 0;
    snprintf(head.label, sizeof head.label, "%s", label);
    head.period_sum = cs_table_sum(table, ns);
    int rc = cs_store_merge(store, &cs_contexts_profile, &head, table, err);
    if (rc == 0)
        cs_table_clear(table);
    return rc;
}

int cs_session_wait_tables_merge(struct cs_session_wait_tables *t, struct cs_store *store,
                                 const struct cs_session_profiles_merging *with, struct cs_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < t->labels.n && rc == 0; i++) {
        const struct cs_session_wait_label *of = &t->labels.at[i];
        char label[64];
        snprintf(label, sizeof label, "%s", with->label(with->arg, of->label));
        rc = merge_table(store, of->waits, label, CS_WAITS_NS, err);
        if (rc == 0)
            rc = merge_table(store, of->threads, label, CS_THREADS_NS, err);
        if (rc == 0)
            rc = merge_table(store, of->blame, label, CS_BLAME_NS, err);
    }
    return rc;
}
