/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/placing/wait_times.h"

#include "store/base/array.h"
#include "store/contexts.h"
#include "store/table/wait_schemas.h"

#include <assert.h>
#include <stdio.h>

struct labels {
    uint32_t *at;
    size_t n, capacity;
};

struct cs_session_wait_times {
    CS_ARRAY(struct cs_session_wait_time) waits; /* a heap: none is shorter than its parent */
    CS_ARRAY(struct cs_session_wait_time) threads;
    size_t waits_max, threads_max;
    uint64_t waits_cut, threads_cut;
};

struct cs_session_wait_times *cs_session_wait_times_open(size_t waits_max, size_t threads_max)
{
    assert(waits_max > 0 && threads_max > 0);
    struct cs_session_wait_times *t = calloc(1, sizeof *t);
    if (t) {
        t->waits_max = waits_max;
        t->threads_max = threads_max;
    }
    return t;
}

void cs_session_wait_times_close(struct cs_session_wait_times *t)
{
    if (!t)
        return;
    cs_array_free(&t->waits);
    cs_array_free(&t->threads);
    free(t);
}

static uint64_t length(const struct cs_session_wait_time *wait)
{
    return wait->end_ns - wait->begin_ns;
}

static void sift_up(struct cs_session_wait_time *heap, size_t i)
{
    struct cs_session_wait_time moved = heap[i];
    for (; i && length(&heap[(i - 1) / 2]) > length(&moved); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = moved;
}

static void sift_down(struct cs_session_wait_time *heap, size_t n)
{
    struct cs_session_wait_time moved = heap[0];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && length(&heap[child + 1]) < length(&heap[child]);
        if (length(&heap[child]) >= length(&moved))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

void cs_session_wait_times_wait(struct cs_session_wait_times *t, const struct cs_session_wait_time *wait)
{
    struct cs_session_wait_time *more;
    if (wait->end_ns <= wait->begin_ns)
        return;
    if (t->waits.n < t->waits_max && (more = cs_array_add(&t->waits)) != NULL) {
        *more = *wait;
        sift_up(t->waits.at, t->waits.n - 1);
        return;
    }
    t->waits_cut++;
    if (t->waits.n && length(wait) > length(&t->waits.at[0])) {
        t->waits.at[0] = *wait;
        sift_down(t->waits.at, t->waits.n);
    }
}

void cs_session_wait_times_thread(struct cs_session_wait_times *t, const struct cs_session_wait_time *thread)
{
    struct cs_session_wait_time *more = t->threads.n < t->threads_max ? cs_array_add(&t->threads) : NULL;
    if (more)
        *more = *thread;
    else
        t->threads_cut++;
}

static int put(const struct cs_session_wait_time *time, struct cs_table *table)
{
    int64_t what = cs_table_text(table, time->what), thread = cs_table_text(table, time->thread);
    if (what < 0 || thread < 0)
        return -ENOMEM;
    return cs_table_add(table, (uint64_t[CS_WAIT_TIMES_N]){
                                   [CS_WAIT_TIMES_PID] = time->pid,
                                   [CS_WAIT_TIMES_TID] = time->tid,
                                   [CS_WAIT_TIMES_BEGIN] = time->begin_ns,
                                   [CS_WAIT_TIMES_WHAT] = (uint64_t)what,
                                   [CS_WAIT_TIMES_NAME] = (uint64_t)thread,
                                   [CS_WAIT_TIMES_CONTEXT] = time->context,
                                   [CS_WAIT_TIMES_WAKE] = time->wake_ns,
                                   [CS_WAIT_TIMES_END] = time->end_ns,
                                   [CS_WAIT_TIMES_ON] = time->on_ns,
                               });
}

static int merge_label(const struct cs_session_wait_times *t, uint32_t label, struct cs_store *store,
                       struct cs_store_profile_head *head, struct cs_error *err)
{
    struct cs_table *table = cs_table_open(&cs_schema_wait_times);
    int rc = table ? 0 : -ENOMEM;
    for (size_t i = 0; i < t->threads.n && rc == 0; i++)
        rc = t->threads.at[i].label == label ? put(&t->threads.at[i], table) : 0;
    for (size_t i = 0; i < t->waits.n && rc == 0; i++)
        rc = t->waits.at[i].label == label ? put(&t->waits.at[i], table) : 0;
    if (rc < 0) {
        cs_table_close(table);
        return cs_fail(err, ENOMEM, "out of memory for the times of waits");
    }
    head->period_sum = cs_table_sum(table, CS_WAIT_TIMES_ON);
    rc = cs_store_merge(store, &cs_contexts_profile, head, table, err);
    cs_table_close(table);
    return rc;
}

static int add_label(uint32_t label, struct labels *labels)
{
    for (size_t i = 0; i < labels->n; i++)
        if (labels->at[i] == label)
            return 0;
    uint32_t *more = cs_array_add(labels);
    if (more)
        *more = label;
    return more ? 0 : -ENOMEM;
}

int cs_session_wait_times_merge(const struct cs_session_wait_times *t, struct cs_store *store,
                                const struct cs_session_profiles_merging *with, struct cs_error *err)
{
    struct labels labels = {0};
    int rc = 0;
    for (size_t i = 0; i < t->threads.n && rc == 0; i++)
        rc = add_label(t->threads.at[i].label, &labels);
    for (size_t i = 0; i < t->waits.n && rc == 0; i++)
        rc = add_label(t->waits.at[i].label, &labels);
    if (rc < 0)
        rc = cs_fail(err, ENOMEM, "out of memory for the times of waits");
    for (size_t i = 0; i < labels.n && rc == 0; i++) {
        struct cs_store_profile_head head = {.event = CS_WAITS_EVENT, .unit = "ns"};
        snprintf(head.label, sizeof head.label, "%s", with->label(with->arg, labels.at[i]));
        rc = merge_label(t, labels.at[i], store, &head, err);
    }
    cs_array_free(&labels);
    struct cs_counter cut[] = {{CS_WAIT_TIMES_CUT, t->waits_cut},
                               {CS_WAIT_TIMES_CUT_THREADS, t->threads_cut}};
    if (rc == 0 && (t->waits_cut || t->threads_cut))
        rc = cs_store_count_all(store, cut, 2, err);
    return rc;
}
