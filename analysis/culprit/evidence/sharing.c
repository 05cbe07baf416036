/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/culprit/evidence/sharing.h"
#include "analysis/culprit/evidence/evidence_model.h"
#include "store/base/bisect.h"
#include "store/table/burst_schemas.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct taken_line {
    double taken, executions, instructions, bursts, most;
    const uint64_t *row; /* the one with the most taken */
};

static bool overlap(const uint64_t *row)
{
    return row[CS_SHARING_AT] < row[CS_SHARING_OTHER_AT] + row[CS_SHARING_OTHER_SIZE] &&
           row[CS_SHARING_OTHER_AT] < row[CS_SHARING_AT] + row[CS_SHARING_SIZE];
}

static void add_row(struct taken_line *t, const uint64_t *row)
{
    double taken = (double)row[CS_SHARING_TAKEN];
    t->taken += taken;
    t->executions += (double)row[CS_SHARING_EXECUTIONS];
    t->instructions += (double)row[CS_SHARING_INSTRUCTIONS];
    t->bursts += (double)row[CS_SHARING_BURSTS];
    if (taken > t->most || !t->row) {
        t->most = taken;
        t->row = row;
    }
}

static struct cs_culprit_sharing summed(const struct taken_line *t, struct cs_table *table, double executions)
{
    struct cs_culprit_sharing s = {0};
    if (!t->row || t->bursts < CS_MODEL_SHARED_BURSTS || !(t->executions > 0))
        return s;
    s.taken = fmin(1, t->taken / executions);
    s.between = t->instructions / t->executions;
    s.other_here = !*cs_table_string(table, t->row[CS_SHARING_OTHER_IMAGE]);
    s.other = t->row[CS_SHARING_OTHER];
    s.other_writes = t->row[CS_SHARING_OTHER_WRITES] != 0;
    s.at = (unsigned)(t->row[CS_SHARING_AT] % 64);
    s.size = (unsigned)t->row[CS_SHARING_SIZE];
    s.other_at = (unsigned)(t->row[CS_SHARING_OTHER_AT] % 64);
    s.other_size = (unsigned)t->row[CS_SHARING_OTHER_SIZE];
    return s;
}

void culprit_take_sharing(struct cs_table *table, uint64_t offset, struct cs_culprit_memory *f)
{
    assert(!table || cs_table_schema(table)->n_columns == CS_SHARING_N);
    struct taken_line same = {0}, apart = {0};
    size_t n = table ? cs_table_rows(table) : 0;
    for (size_t i = cs_bisect(n, k, cs_table_row(table, k)[CS_SHARING_OFFSET] < offset); i < n; i++) {
        const uint64_t *row = cs_table_row(table, i);
        if (row[CS_SHARING_OFFSET] != offset)
            break;
        add_row(overlap(row) ? &same : &apart, row);
    }
    if (!(f->executions > 0))
        return;
    f->true_sharing = summed(&same, table, f->executions);
    f->false_sharing = summed(&apart, table, f->executions);
}
