/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes stores for the tests.
 *   store_filler STORE random SEED N   one epoch; N merges of random tables of every schema; also names,
 * counters store_filler STORE count N         one epoch; N merges (0 = for ever) of one sample each into 8
 * images, in turn; prints "K" after merge K is on disk
 *   store_filler STORE shared PERCENT      two merges of 100 samples of an event that had a counter for so
 * long
 *   store_filler STORE day BUILD PERCENT SEED  one epoch of a program "shop" of this build-id: 20 functions, the first of which takes
 * PERCENT of its usual time */
#include "store/store.h"
#include "tests/unit/give_name.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cs_error err;
static uint64_t state = 88172645463325252ull;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static const struct cs_schema foreign = {
    "foreign",
    5,
    3,
    {{"a", CS_KEY}, {"what", CS_KEY_TEXT}, {"b", CS_KEY}, {"most", CS_MAX}, {"least", CS_MIN}}};

static struct cs_table *random_table(const struct cs_schema *schema, unsigned n)
{
    struct cs_table *table = cs_table_open(schema);
    if (!table)
        abort();
    for (unsigned i = 0; i < n; i++) {
        uint64_t row[CS_TABLE_COLUMNS_MAX];
        for (unsigned c = 0; c < schema->n_columns; c++) {
            row[c] = draw() >> (draw() % 64);
            if (schema->columns[c].kind == CS_SUM)
                row[c] = draw() % 1000000;
            if (schema->columns[c].kind == CS_KEY_TEXT) {
                char text[64];
                snprintf(text, sizeof text, "t\xc3\xa9xt %x;%x", (unsigned)(draw() % 64),
                         (unsigned)(draw() % 4));
                row[c] = (uint64_t)cs_table_text(table, text);
            }
        }
        if (cs_table_add(table, row) < 0)
            abort();
    }
    return table;
}

static int fill_random(struct cs_store *store, unsigned n)
{
    const struct cs_schema *schemas[] = {&cs_schema_points, &cs_schema_edges, &cs_schema_stacks,
                                         &cs_schema_intervals, &foreign};
    int rc = 0;
    for (unsigned i = 0; i < n && rc == 0; i++) {
        char path[64];
        struct cs_store_image image = {
            .kind = (enum cs_store_image_kind)(draw() % 6), .path = path, .build_id = "ab"};
        struct cs_store_profile_head head = {.unit = "ns", .period_sum = draw() % 100000, .enabled_ns = 5};
        snprintf(image.id, sizeof image.id, "image%u", (unsigned)(draw() % 4));
        snprintf(path, sizeof path, "/usr/bin/%s", image.id);
        if (draw() % 2)
            snprintf(head.event, sizeof head.event, "cpu-clock");
        else
            snprintf(head.event, sizeof head.event, ".odd/event%c%%", (char)(draw() % 90 + 33));
        if (draw() % 2)
            snprintf(head.label, sizeof head.label, "%s",
                     draw() % 2 ? "a b\t@+c"
                                : "////////////////////////////////////////////////////////////");
        struct cs_table *table = random_table(schemas[draw() % 5], (unsigned)(draw() % 300));
        rc = cs_store_merge(store, &image, &head, table, &err);
        cs_table_close(table);
        if (rc == 0)
            rc = give_name(store, &image, draw() % 64, 8, "a name", &err);
        if (rc == 0)
            rc = cs_store_count(store, draw() % 2 ? "lost" : "samples", draw() % 1000, &err);
    }
    return rc;
}

static int fill_count(struct cs_store *store, unsigned long n)
{
    const struct cs_store_profile_head head = {.event = "cpu-clock", .unit = "ns", .period_sum = 1};
    int rc = 0;
    for (unsigned long i = 0; (i < n || !n) && rc == 0; i++) {
        struct cs_store_image image = {.kind = CS_IMAGE_ELF, .path = "/usr/bin/counted", .build_id = ""};
        snprintf(image.id, sizeof image.id, "image%lu", i % 8);
        struct cs_table *table = cs_table_open(&cs_schema_points);
        if (!table || cs_table_add(table, (uint64_t[]){4 * (i % 100), 1}) < 0)
            abort();
        rc = cs_store_merge(store, &image, &head, table, &err);
        cs_table_close(table);
        char line[32];
        int length = snprintf(line, sizeof line, "%lu\n", i + 1);
        if (rc == 0 && write(STDOUT_FILENO, line, (size_t)length) != length)
            return 1;
    }
    return rc;
}

static int fill_shared(struct cs_store *store, unsigned long percent)
{
    const struct cs_store_profile_head head = {.event = "instructions",
                                               .unit = "events",
                                               .period_sum = 100000,
                                               .enabled_ns = 1000000000,
                                               .running_ns = percent * 10000000};
    struct cs_store_image image = {
        .id = "image", .kind = CS_IMAGE_ELF, .path = "/usr/bin/shared", .build_id = ""};
    int rc = 0;
    for (unsigned i = 0; i < 2 && rc == 0; i++) {
        struct cs_table *table = cs_table_open(&cs_schema_points);
        if (!table || cs_table_add(table, (uint64_t[]){16, 100}) < 0)
            abort();
        rc = cs_store_merge(store, &image, &head, table, &err);
        cs_table_close(table);
    }
    return rc;
}

static int fill_day(struct cs_store *store, const char *build, double percent)
{
    const struct cs_store_profile_head head = {
        .event = "cpu-clock", .label = "shop (77)", .unit = "ns", .period_sum = 1};
    struct cs_store_image image = {.kind = CS_IMAGE_ELF, .path = "/usr/bin/shop", .build_id = build};
    struct cs_table *table = cs_table_open(&cs_schema_points);
    int rc = table ? 0 : -1;
    snprintf(image.id, sizeof image.id, "shop-%s", build);
    for (unsigned f = 0; rc == 0 && f < 20; f++) {
        char name[16];
        /* The sum of twelve even numbers is nearly normal: here of the mean's standard deviation. */
        double mean = 400000.0 / (f + 4) * (f ? 1 : percent / 100), noise = -6;
        for (unsigned i = 0; i < 12; i++)
            noise += (double)(draw() % 1000000) / 1e6;
        snprintf(name, sizeof name, "f%u", f);
        if (cs_table_add(table, (uint64_t[]){16 * f + 16, (uint64_t)(mean + noise * sqrt(mean))}) < 0)
            abort();
        rc = give_name(store, &image, 16 * f + 16, 16, name, &err);
    }
    rc = rc < 0 ? rc : cs_store_merge(store, &image, &head, table, &err);
    cs_table_close(table);
    return rc;
}

int main(int argc, char **argv)
{
    struct cs_store *store;
    if (argc < 4)
        return 2;
    int rc = cs_store_open(argv[1], CS_STORE_WRITE, &store, &err);
    if (rc == 0)
        rc = cs_store_epoch(store, "{\"command\":\"store_filler\"}", &err);
    if (rc == 0 && strcmp(argv[2], "random") == 0) {
        state += strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15ull;
        rc = fill_random(store, argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 50);
    } else if (rc == 0 && strcmp(argv[2], "day") == 0 && argc > 5) {
        state += strtoull(argv[5], NULL, 10) * 0x9e3779b97f4a7c15ull;
        rc = fill_day(store, argv[3], strtod(argv[4], NULL));
    } else if (rc == 0 && strcmp(argv[2], "shared") == 0) {
        rc = fill_shared(store, strtoul(argv[3], NULL, 10));
    } else if (rc == 0) {
        rc = fill_count(store, strtoul(argv[3], NULL, 10));
    }
    if (rc < 0)
        fprintf(stderr, "store_filler: %s\n", err.text);
    cs_store_close(store);
    return rc < 0;
}
