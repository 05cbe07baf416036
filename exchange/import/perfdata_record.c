/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One record of a perf.data file into a struct cs_perfdata_record. The order of a sample's fields is the kernel's
 * (perf_event_open(2), PERF_RECORD_SAMPLE); every field's length is checked before it is read. */
#include "exchange/import/perfdata_internal.h"

/* A cursor over the payload; `ok` turns false at the first read past the end and stays so. */
struct cursor {
    const struct cs_perfdata *in;
    const uint8_t *at, *end;
    bool ok;
};

static const uint8_t *take(struct cursor *c, uint64_t bytes)
{
    if (!c->ok || (uint64_t)(c->end - c->at) < bytes) {
        c->ok = false;
        return NULL;
    }
    const uint8_t *p = c->at;
    c->at += bytes;
    return p;
}

static uint64_t take64(struct cursor *c)
{
    const uint8_t *p = take(c, 8);
    return p ? load64(c->in, p) : 0;
}

static uint32_t take32(struct cursor *c)
{
    const uint8_t *p = take(c, 4);
    return p ? load32(c->in, p) : 0;
}

static struct cursor payload(const struct cs_perfdata *in, const uint8_t *record)
{
    return (struct cursor){in, record + RECORD_HEADER, record + load16(in, record + 6), true};
}

static enum cs_perfdata_mode mode_of(uint16_t misc)
{
    static const enum cs_perfdata_mode modes[8] = {CS_PERFDATA_MODE_UNKNOWN, CS_PERFDATA_MODE_KERNEL,
                                                   CS_PERFDATA_MODE_USER,    CS_PERFDATA_MODE_HYPERVISOR,
                                                   CS_PERFDATA_MODE_GUEST,   CS_PERFDATA_MODE_GUEST};
    return modes[misc & 7];
}

/* Bytes of the identity that ends every record but samples, and where in it the time stands (-1: nowhere). */
static size_t trailer_bytes(const struct cs_perfdata_attr *event, int *time_at)
{
    uint64_t type = event->sample_type;
    *time_at = -1;
    if (!(event->flags & ATTR_SAMPLE_ID_ALL))
        return 0;
    size_t bytes = type & SAMPLE_TID ? 8 : 0;
    if (type & SAMPLE_TIME) {
        *time_at = (int)bytes;
        bytes += 8;
    }
    static const uint64_t eight[] = {SAMPLE_ID, SAMPLE_STREAM_ID, SAMPLE_CPU, SAMPLE_IDENTIFIER};
    for (size_t i = 0; i < sizeof eight / sizeof *eight; i++)
        bytes += type & eight[i] ? 8 : 0;
    return bytes;
}

/* Where a sample's id stands is the same for all events of a file, or it begins with IDENTIFIER. */
static int sample_event(struct cs_perfdata *in, const uint8_t *record)
{
    if (in->n_events == 0)
        return -1;
    const uint64_t type = in->events[0].sample_type;
    struct cursor c = payload(in, record);
    if (in->n_ids == 0)
        return 0;
    uint64_t id;
    if (type & SAMPLE_IDENTIFIER) {
        id = take64(&c);
    } else if (type & SAMPLE_ID) {
        static const uint64_t before[] = {SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_ADDR};
        for (size_t i = 0; i < sizeof before / sizeof *before; i++)
            if (type & before[i])
                take(&c, 8);
        id = take64(&c);
    } else {
        return 0;
    }
    if (!c.ok)
        return -1;
    int event = cs_perfdata_find_event(in, id);
    return event < 0 && (in->n_events == 1 || id == 0) ? 0 : event; /* as perf does */
}

uint64_t cs_perfdata_record_time(struct cs_perfdata *in, const uint8_t *record)
{
    if (in->n_events == 0)
        return 0;
    if (load32(in, record) == RECORD_SAMPLE) {
        int event = sample_event(in, record);
        uint64_t type = event >= 0 ? in->events[event].sample_type : 0;
        if (!(type & SAMPLE_TIME))
            return 0;
        struct cursor c = payload(in, record);
        static const uint64_t before[] = {SAMPLE_IDENTIFIER, SAMPLE_IP, SAMPLE_TID};
        for (size_t i = 0; i < sizeof before / sizeof *before; i++)
            if (type & before[i])
                take(&c, 8);
        return take64(&c);
    }
    int time_at;
    size_t trailer = trailer_bytes(&in->events[0], &time_at), size = load16(in, record + 6);
    if (time_at < 0 || size < RECORD_HEADER + trailer)
        return 0;
    return load64(in, record + size - trailer + (size_t)time_at);
}

/* read_format: values of one counter or of a group, with the times for which it was wanted and ran. */
static void take_read(struct cursor *c, uint64_t format, struct cs_perfdata_record *out)
{
    enum { ENABLED = 1, RUNNING = 2, ID = 4, GROUP = 8, LOST = 16 };
    size_t each = 8 + (format & ID ? 8u : 0) + (format & LOST ? 8u : 0);
    uint64_t n = 1;
    if (format & GROUP)
        n = take64(c);
    else
        take(c, 8);
    if (format & ENABLED)
        out->enabled_ns = take64(c);
    if (format & RUNNING)
        out->running_ns = take64(c);
    if (format & GROUP) {
        if (n > RECORD_MAX / each)
            c->ok = false;
        else
            take(c, n * each);
    } else {
        take(c, each - 8);
    }
}

static void take_chain(struct cs_perfdata *in, struct cursor *c, struct cs_perfdata_record *out)
{
    uint64_t n = take64(c);
    const uint8_t *p = n <= RECORD_MAX / 8 ? take(c, 8 * n) : NULL;
    if (!p) {
        c->ok = false;
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        in->chain[i] = load64(in, p + 8 * i);
    out->chain = in->chain;
    out->n_chain = n;
}

/* The flags are a C bit field: in a file of the other byte order its first bits stand at the other end. */
static uint64_t load_branch_flags(const struct cs_perfdata *in, const uint8_t *p)
{
    uint64_t flags = load64(in, p);
    return in->swapped ? (flags >> 63 & 1) | (flags >> 61 & 2) : flags;
}

static void take_branches(struct cs_perfdata *in, struct cursor *c, uint64_t branch_type,
                          struct cs_perfdata_record *out)
{
    enum { HARDWARE_INDEX = 1 << 17 };
    uint64_t n = take64(c);
    if (branch_type & HARDWARE_INDEX)
        take(c, 8);
    const uint8_t *p = n <= RECORD_MAX / 24 ? take(c, 24 * n) : NULL;
    if (!p) {
        c->ok = false;
        return;
    }
    for (uint64_t i = 0; i < n; i++, p += 24)
        in->branches[i] =
            (struct cs_perfdata_branch){load64(in, p), load64(in, p + 8), load_branch_flags(in, p + 16)};
    out->branches = in->branches;
    out->n_branches = n;
}

static void take_registers(struct cs_perfdata *in, struct cursor *c, uint64_t mask,
                           struct cs_perfdata_record *out)
{
    enum { ABI_NONE, ABI_32, ABI_64 };
    uint64_t abi = take64(c);
    const uint8_t *p = abi != ABI_NONE ? take(c, 8 * (uint64_t)__builtin_popcountll(mask)) : NULL;
    for (int i = 0; p && i < __builtin_popcountll(mask); i++)
        in->registers[i] = load64(in, p + 8 * i);
    if (p && abi == ABI_64) {
        out->registers = in->registers;
        out->registers_mask = mask;
    }
}

static void take_stack(struct cursor *c, struct cs_perfdata_record *out)
{
    uint64_t bytes = take64(c);
    const uint8_t *p = bytes ? take(c, bytes) : NULL;
    uint64_t written = p ? take64(c) : 0;
    if (p && written && written <= bytes && !c->in->swapped) { /* whose words would be in another order */
        out->stack = p;
        out->stack_bytes = written;
    }
}

static int parse_sample(struct cs_perfdata *in, const uint8_t *record, struct cs_perfdata_record *out,
                        struct cs_error *err)
{
    int index = sample_event(in, record);
    in->counts.samples++;
    if (index < 0) {
        in->counts.without_event++;
        return 0;
    }
    const struct cs_perfdata_attr *event = &in->events[index];
    const uint64_t type = event->sample_type;
    struct cursor c = payload(in, record);
    out->kind = CS_PERFDATA_SAMPLE;
    out->event = (unsigned)index;
    out->mode = mode_of(load16(in, record + 4));
    out->period = event->period;
    if (type & SAMPLE_IDENTIFIER)
        take(&c, 8);
    if (type & SAMPLE_IP)
        out->ip = take64(&c);
    if (type & SAMPLE_TID) {
        out->pid = take32(&c);
        out->tid = take32(&c);
    }
    if (type & SAMPLE_TIME)
        out->time_ns = take64(&c);
    static const uint64_t unused[] = {SAMPLE_ADDR, SAMPLE_ID, SAMPLE_STREAM_ID, SAMPLE_CPU};
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        if (type & unused[i])
            take(&c, 8);
    if (type & SAMPLE_PERIOD)
        out->period = take64(&c);
    if (type & SAMPLE_READ)
        take_read(&c, event->read_format, out);
    if (type & SAMPLE_CALLCHAIN)
        take_chain(in, &c, out);
    if (type & SAMPLE_RAW)
        take(&c, take32(&c));
    if (type & SAMPLE_BRANCHES)
        take_branches(in, &c, event->branch_type, out);
    if (type & SAMPLE_REGISTERS)
        take_registers(in, &c, event->registers_user, out);
    if (type & SAMPLE_STACK)
        take_stack(&c, out);
    if (type & SAMPLE_WEIGHT)
        out->weight = take64(&c);
    else if (type & SAMPLE_WEIGHT_STRUCT) /* in three parts, of which the lowest is the latency */
        out->weight = take64(&c) & UINT32_MAX;
    if (type & SAMPLE_DATA_SOURCE)
        out->data_source = take64(&c);
    if (!c.ok)
        return cs_perfdata_malformed(in, err, "a sample is shorter than its fields");
    return 1;
}

static int parse_mapping(struct cs_perfdata *in, const uint8_t *record, bool second,
                         struct cs_perfdata_record *out, struct cs_error *err)
{
    enum { MISC_DATA = 1 << 13, MISC_BUILD_ID = 1 << 14 };
    uint16_t misc = load16(in, record + 4);
    struct cursor c = payload(in, record);
    out->kind = CS_PERFDATA_MMAP;
    out->mode = mode_of(misc);
    out->pid = take32(&c);
    out->tid = take32(&c);
    out->start = take64(&c);
    out->length = take64(&c);
    out->page_offset = take64(&c);
    if (second) {
        const uint8_t *identity = take(&c, 24);
        take(&c, 8); /* protection, flags: what isn't data may have been made executable later */
        if (c.ok && !(misc & MISC_BUILD_ID)) {
            out->device_major = load32(in, identity);
            out->device_minor = load32(in, identity + 4);
            out->inode = load64(in, identity + 8);
        } else if (c.ok && identity[0] <= CS_PERFDATA_BUILD_ID_BYTES) {
            out->build_id_bytes = identity[0];
            memcpy(out->build_id, identity + 4, CS_PERFDATA_BUILD_ID_BYTES);
        }
    }
    if (!c.ok || memchr(c.at, 0, (size_t)(c.end - c.at)) == NULL)
        return cs_perfdata_malformed(in, err, "a mapping's file name doesn't end");
    out->name = (const char *)c.at;
    if ((misc & MISC_DATA) || out->length == 0)
        return 0;
    if (out->start + out->length < out->start)
        out->length = UINT64_MAX - out->start;
    in->counts.mappings++;
    return 1;
}

static int parse_task(struct cs_perfdata *in, const uint8_t *record, enum cs_perfdata_kind kind,
                      struct cs_perfdata_record *out, struct cs_error *err)
{
    struct cursor c = payload(in, record);
    out->kind = kind;
    out->pid = take32(&c);
    out->parent = take32(&c);
    out->tid = take32(&c);
    return c.ok ? 1 : cs_perfdata_malformed(in, err, "a fork or exit record is too short");
}

int cs_perfdata_parse(struct cs_perfdata *in, const uint8_t *record, struct cs_perfdata_record *out,
                      struct cs_error *err)
{
    enum { MISC_EXEC = 1 << 13 };
    struct cursor c = payload(in, record);
    memset(out, 0, sizeof *out);
    out->time_ns = cs_perfdata_record_time(in, record);
    in->counts.records++;
    switch (load32(in, record)) {
    case RECORD_SAMPLE:
        return parse_sample(in, record, out, err);
    case RECORD_MMAP:
        return parse_mapping(in, record, false, out, err);
    case RECORD_MMAP2:
        return parse_mapping(in, record, true, out, err);
    case RECORD_FORK:
        return parse_task(in, record, CS_PERFDATA_FORK, out, err);
    case RECORD_EXIT:
        return parse_task(in, record, CS_PERFDATA_EXIT, out, err);
    case RECORD_COMM:
        out->kind = CS_PERFDATA_COMM;
        out->pid = take32(&c);
        out->tid = take32(&c);
        out->exec = load16(in, record + 4) & MISC_EXEC;
        if (!c.ok || memchr(c.at, 0, (size_t)(c.end - c.at)) == NULL)
            return cs_perfdata_malformed(in, err, "a command's name doesn't end");
        out->name = (const char *)c.at;
        return 1;
    case RECORD_LOST:
        take(&c, 8);
        out->lost = take64(&c);
        break;
    case RECORD_LOST_SAMPLES:
        out->lost = take64(&c);
        break;
    case RECORD_THROTTLE:
    case RECORD_UNTHROTTLE:
        in->counts.throttled++;
        return 0;
    default:
        in->counts.skipped++;
        return 0;
    }
    if (!c.ok)
        return cs_perfdata_malformed(in, err, "a record of lost samples is too short");
    out->kind = CS_PERFDATA_LOST;
    in->counts.lost += out->lost;
    in->counts.lost_records++;
    return 1;
}
