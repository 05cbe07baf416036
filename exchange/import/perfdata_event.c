/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of a perf.data file: attributes of any size, their names, the ids that tie samples to them, and
 * the listed build-ids. Attributes after the known fields are ignored. */
#include "exchange/import/perfdata_internal.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static uint8_t reversed_bits(uint8_t b)
{
    b = (uint8_t)((b & 0xf0) >> 4 | (b & 0x0f) << 4);
    b = (uint8_t)((b & 0xcc) >> 2 | (b & 0x33) << 2);
    return (uint8_t)((b & 0xaa) >> 1 | (b & 0x55) << 1);
}

/* The flags are a C bit field: on a machine of the other byte order each byte's bits stand reversed. */
static uint64_t load_flags(const struct cs_perfdata *in, const uint8_t *p)
{
    uint64_t flags = 0;
    for (unsigned i = 0; i < 8; i++)
        flags |= (uint64_t)(in->swapped ? reversed_bits(p[i]) : p[i]) << (8 * i);
    return flags;
}

static void name_from_attr(struct cs_perfdata_attr *event)
{
    static const char *const hardware[] = {
        "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
        "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
    static const char *const software[] = {
        "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
        "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
        "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};
    uint64_t config = event->config & 0xffffffff; /* the upper half names a PMU of a hybrid CPU */
    if (event->type == 0 && config < sizeof hardware / sizeof *hardware)
        snprintf(event->name, sizeof event->name, "%s", hardware[config]);
    else if (event->type == 1 && config < sizeof software / sizeof *software)
        snprintf(event->name, sizeof event->name, "%s", software[config]);
    else if (event->type == 4)
        snprintf(event->name, sizeof event->name, "r%" PRIx64, event->config);
    else
        snprintf(event->name, sizeof event->name, "type%" PRIu32 "-config%" PRIx64, event->type,
                 event->config);
}

int cs_perfdata_add_attr(struct cs_perfdata *in, const uint8_t *attr, size_t bytes, unsigned *index,
                         struct cs_error *err)
{
    if (bytes < 64)
        return cs_perfdata_malformed(in, err,
                                     "an event attribute is shorter than its first version, 64 bytes,");
    if (in->n_events == EVENTS_MAX)
        return cs_perfdata_malformed(in, err, "more than 4096 events are described");
    if (cs_array_resize(in->events, in->n_events + 1) < 0)
        return cs_fail(err, ENOMEM, "%s: out of memory while reading its events", in->name);
    struct cs_perfdata_attr *event = &in->events[in->n_events];
    *event = (struct cs_perfdata_attr){
        .type = load32(in, attr),
        .config = load64(in, attr + 8),
        .period = load64(in, attr + 16),
        .sample_type = load64(in, attr + 24),
        .read_format = load64(in, attr + 32),
        .flags = load_flags(in, attr + 40),
        .branch_type = bytes >= 80 ? load64(in, attr + 72) : 0,
        .registers_user = bytes >= 88 ? load64(in, attr + 80) : 0,
        .clock = bytes >= 96 ? (int32_t)load32(in, attr + 92) : 0,
    };
    if (event->flags & ATTR_FREQUENCY)
        event->period = 0;
    name_from_attr(event);
    *index = in->n_events++;
    return 0;
}

int cs_perfdata_add_id(struct cs_perfdata *in, uint64_t id, unsigned event, struct cs_error *err)
{
    assert(event < in->n_events);
    if (cs_array_room(in->ids, in->n_ids, in->ids_capacity) < 0)
        return cs_fail(err, ENOMEM, "%s: out of memory while reading its event ids", in->name);
    in->ids[in->n_ids++] = (struct id_entry){id, event};
    in->ids_sorted = false;
    return 0;
}

CS_ORDER(by_id, struct id_entry, cs_order(a->id, b->id))

int cs_perfdata_find_event(struct cs_perfdata *in, uint64_t id)
{
    if (!in->ids_sorted && in->n_ids) {
        cs_sort(in->ids, in->n_ids, by_id);
        in->ids_sorted = true;
    }
    struct id_entry key = {.id = id};
    const struct id_entry *found = cs_find(&key, in->ids, in->n_ids, by_id);
    return found ? (int)found->event : -1;
}

int cs_perfdata_add_build_id(struct cs_perfdata *in, const uint8_t *event, size_t bytes, struct cs_error *err)
{
    /* header, pid, 20 bytes of id, its length (when misc says so) and padding, then the path */
    if (bytes < 8 + 4 + 24 + 1)
        return cs_perfdata_malformed(in, err, "a build-id entry is too short");
    size_t path_bytes = strnlen((const char *)event + 36, bytes - 36);
    int rc = cs_array_resize(in->build_ids, in->n_build_ids + 1);
    char *path = rc == 0 ? strndup((const char *)event + 36, path_bytes) : NULL;
    if (!path)
        return cs_fail(err, ENOMEM, "%s: out of memory while reading its build-ids", in->name);
    struct build_id_entry *entry = &in->build_ids[in->n_build_ids++];
    entry->path = path;
    memcpy(entry->id, event + 12, CS_PERFDATA_BUILD_ID_BYTES);
    bool sized = load16(in, event + 4) & (1u << 15);
    entry->bytes = sized && event[32] <= CS_PERFDATA_BUILD_ID_BYTES ? event[32] : CS_PERFDATA_BUILD_ID_BYTES;
    while (!sized && entry->bytes > 0 && entry->bytes % 4 == 0 &&
           load32(in, entry->id + entry->bytes - 4) == 0)
        entry->bytes -= 4; /* short ids of older files are padded with zeros */
    return 0;
}

static int build_ids(struct cs_perfdata *in, const uint8_t *bytes, size_t size, struct cs_error *err)
{
    while (size >= 8) {
        size_t length = load16(in, bytes + 6);
        if (length > size)
            return cs_perfdata_malformed(in, err, "a build-id entry is longer than its table");
        int rc = cs_perfdata_add_build_id(in, bytes, length, err);
        if (rc < 0)
            return rc;
        bytes += length;
        size -= length;
    }
    return 0;
}

/* A string of a feature: its length, then its bytes with NULs to a multiple of 64. */
static size_t feature_string(const struct cs_perfdata *in, const uint8_t *bytes, size_t size, char *to,
                             size_t capacity)
{
    if (size < 4)
        return 0;
    size_t length = load32(in, bytes);
    if (length > size - 4)
        return 0;
    snprintf(to, capacity, "%.*s", (int)strnlen((const char *)bytes + 4, length), (const char *)bytes + 4);
    return 4 + length;
}

/* EVENT_DESC repeats the attributes with names and ids; the attributes themselves were read from the header.
 */
static int event_descriptions(struct cs_perfdata *in, const uint8_t *bytes, size_t size, struct cs_error *err)
{
    if (size < 8)
        return cs_perfdata_malformed(in, err, "the table of event names is cut short");
    uint32_t n = load32(in, bytes);
    size_t attr_bytes = load32(in, bytes + 4);
    size_t at = 8;
    for (uint32_t i = 0; i < n; i++) {
        if (size - at < attr_bytes || size - at - attr_bytes < 8)
            return cs_perfdata_malformed(in, err, "the table of event names is cut short");
        at += attr_bytes;
        size_t n_ids = load32(in, bytes + at);
        at += 4;
        char name[64] = "";
        size_t used = feature_string(in, bytes + at, size - at, name, sizeof name);
        if (!used || (size - at - used) / 8 < n_ids)
            return cs_perfdata_malformed(in, err, "the table of event names is cut short");
        at += used;
        int event = n_ids ? cs_perfdata_find_event(in, load64(in, bytes + at)) : -1;
        if (event < 0 && i < in->n_events)
            event = (int)i;
        if (event >= 0 && *name)
            memcpy(in->events[event].name, name, sizeof name);
        at += 8 * n_ids;
    }
    return 0;
}

int cs_perfdata_feature(struct cs_perfdata *in, unsigned feature, const uint8_t *bytes, size_t size,
                        struct cs_error *err)
{
    switch (feature) {
    case FEATURE_BUILD_ID:
        return build_ids(in, bytes, size, err);
    case FEATURE_HOSTNAME:
        feature_string(in, bytes, size, in->host, sizeof in->host);
        return 0;
    case FEATURE_ARCH:
        feature_string(in, bytes, size, in->arch, sizeof in->arch);
        return 0;
    case FEATURE_RELEASE:
        feature_string(in, bytes, size, in->release, sizeof in->release);
        return 0;
    case FEATURE_CPU_DESCRIPTION:
        feature_string(in, bytes, size, in->cpu, sizeof in->cpu);
        return 0;
    case FEATURE_CPUID:
        feature_string(in, bytes, size, in->cpuid, sizeof in->cpuid);
        return 0;
    case FEATURE_EVENT_DESC:
        return event_descriptions(in, bytes, size, err);
    default:
        return 0;
    }
}

int cs_perfdata_update_event(struct cs_perfdata *in, const uint8_t *record, size_t bytes,
                             struct cs_error *err)
{
    enum { UPDATE_NAME = 2 };
    if (bytes < RECORD_HEADER + 16)
        return cs_perfdata_malformed(in, err, "an event update is too short");
    int event = cs_perfdata_find_event(in, load64(in, record + 16));
    size_t length = strnlen((const char *)record + 24, bytes - 24);
    if (load64(in, record + 8) == UPDATE_NAME && event >= 0 && length > 0)
        snprintf(in->events[event].name, sizeof in->events[event].name, "%.*s", (int)length,
                 (const char *)record + 24);
    return 0;
}

unsigned cs_perfdata_build_id(const struct cs_perfdata *in, const char *path,
                              uint8_t id[CS_PERFDATA_BUILD_ID_BYTES])
{
    for (size_t i = 0; i < in->n_build_ids; i++)
        if (strcmp(in->build_ids[i].path, path) == 0) {
            memcpy(id, in->build_ids[i].id, CS_PERFDATA_BUILD_ID_BYTES);
            return in->build_ids[i].bytes;
        }
    return 0;
}
