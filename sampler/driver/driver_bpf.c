/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF driver: the table is in the kernel (aggregate.bpf.c), we read it by mmap.
 *
 * Invariant: no sample is lost by reading. The handler counts in one half of its table. We let it turn to the
 * other, then wait until no handler that began before can still be running. This is a grace period,
 * membarrier(2); DCPI sent an interrupt for it (section 4.2.3). Then we empty the first at leisure. */
#define CS_TREE_HALF struct cs_tree_line *
#define CS_TREE_LINE(half, number) (&(half)[number])
#include "sampler/chains/context_tree.h"
#include "sampler/driver/aggregate.h"
#include "sampler/driver/attribute_maps.h"
#include "sampler/driver/chain_maps.h"
#include "sampler/driver/driver.h"
#include "sampler/driver/entry.h"
#include "sampler/driver/programs.h"
#include "sampler/driver/wait_maps.h"
#include "sampler/perf/process_filter.h"
#include "store/base/clock.h"
#include "store/base/kernel_files.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS_MAX 16384 /* of a half of a CPU: 64 Ki entries, 1 MB */
#define BUCKETS_MIN 1024
#define TABLES_BYTES (16UL << 20) /* of all CPUs together */
#define INIT_PID_NAMESPACE 0xEFFFFFFCUL

struct cs_driver_state {
    struct cs_driver_config config;
    struct aggregate_bpf *bpf;
    unsigned n_slots; /* CPU numbers that are tabled: highest + 1 */
    uint32_t n_buckets;
    struct cs_hot_bucket *table;
    struct cs_hot_entry *log;
    struct cs_aggregate_begun *begun;
    size_t table_bytes, log_bytes, begun_bytes;
    uint64_t *log_until; /* a CPU's log goes to here in this drain */
    char *kernel_log;    /* what the verifier says: where it refused, and we ask why */
    bool old;            /* by the programs for older kernels (chains/kernel_age.bpf.h) */
    bool turned;         /* the halves have been changed in this drain */
    uint64_t line_ns, since_ns, next_since_ns, turned_ns;
    uint64_t begun_lost; /* as of the last drain */
    uint64_t entries;
    struct cs_chain_maps chains;         /* with config.chains */
    struct cs_wait_maps waits;           /* with config.waits */
    struct cs_attribute_maps attributes; /* with config.attributes */
    uint64_t chain[CS_CHAIN_FRAMES];
};

static void emit_entry(struct cs_driver_state *s, const struct cs_hot_entry *e, cs_driver_entry_fn emit,
                       void *arg)
{
    struct cs_driver_entry out = cs_driver_entry_of(&s->config, e, s->since_ns, s->line_ns);
    s->entries++;
    emit(arg, &out);
}

/* Every handler that runs now has ended when this returns. */
static void grace_period(void)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0) { /* not on nohz_full kernels */
        struct timespec rest = {0, 20000000};
        nanosleep(&rest, NULL);
    }
}

/* Trees that fill up turn early; so they do when lists of mappings are short of room, which comes with a turn. */
static bool is_filling(const struct cs_driver_state *s)
{
    if (s->config.attributes && cs_attribute_maps_are_filling(&s->attributes))
        return true;
    if (s->config.chains && cs_chain_lists_are_short(&s->chains.kernel.lists))
        return true;
    for (unsigned c = 0; s->config.chains && c < s->n_slots; c++)
        if (__atomic_load_n(&s->chains.kernel.cpus[c].filling, __ATOMIC_RELAXED))
            return true;
    return false;
}

static void turn_trees(struct cs_driver_state *s)
{
    s->chains.kernel.turns++;
    for (unsigned c = 0; c < s->chains.kernel.n_cpus; c++) {
        __atomic_store_n(&s->chains.kernel.cpus[c].filling, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&s->chains.kernel.cpus[c].turn, s->chains.kernel.turns, __ATOMIC_RELAXED);
    }
}

static uint64_t bpf_begin_drain(struct cs_driver_state *s, enum cs_driver_drain how)
{
    s->turned =
        how != CS_DRIVER_DRAIN_SOME || cs_monotonic_ns() - s->turned_ns >= s->config.keep_ns || is_filling(s);
    for (unsigned c = 0; s->turned && c < s->n_slots; c++) {
        struct cs_aggregate_cpu *cpu = &s->bpf->bss->cpus[c];
        __atomic_store_n(&cpu->half, cpu->half ^ 1, __ATOMIC_RELEASE);
    }
    if (s->turned && s->config.chains)
        turn_trees(s);
    if (s->turned && s->config.attributes)
        cs_attribute_maps_turn(&s->attributes);
    if (s->turned && !(how == CS_DRIVER_DRAIN_LAST && s->config.in_interrupts))
        grace_period();
    for (unsigned c = 0; c < s->n_slots; c++)
        s->log_until[c] = __atomic_load_n(&s->bpf->bss->cpus[c].log_head, __ATOMIC_ACQUIRE);
    s->line_ns = cs_monotonic_ns();
    return s->line_ns;
}

/* Notices were lost because we were kept from reading: what runs under each number now began before the line,
 * when is not known. Its samples belong to what runs there at the line; those of numbers in between stay
 * uncertain. `numbers` is from before the records were read, so that it is never newer than they are. */
static void catch_up(struct cs_driver_state *s, const uint32_t *numbers)
{
    for (uint32_t slot = 0; slot < CS_GENERATION_SLOTS; slot++) {
        uint32_t known = cs_generations_now(s->config.generations, slot);
        uint32_t ahead = (numbers[slot] - known) & CS_HOT_GENERATION_MASK;
        if (ahead > 0 && ahead <= CS_HOT_GENERATION_MASK / 2)
            (void)cs_generations_resume(s->config.generations, slot, numbers[slot], s->line_ns);
    }
}

static uint64_t lost_records(const struct cs_driver_state *s)
{
    uint64_t lost = 0;
    for (unsigned c = 0; c < s->n_slots; c++)
        lost += __atomic_load_n(&s->bpf->bss->cpus[c].begun_lost, __ATOMIC_RELAXED);
    return lost;
}

static void read_begun(struct cs_driver_state *s)
{
    uint64_t lost = lost_records(s);
    uint32_t *numbers = lost != s->begun_lost ? malloc(sizeof s->bpf->bss->generation) : NULL;
    if (numbers)
        memcpy(numbers, s->bpf->bss->generation, sizeof s->bpf->bss->generation);
    for (unsigned c = 0; c < s->n_slots; c++) {
        struct cs_aggregate_cpu *cpu = &s->bpf->bss->cpus[c];
        uint64_t head = __atomic_load_n(&cpu->begun_head, __ATOMIC_ACQUIRE);
        for (uint64_t i = cpu->begun_tail; i < head; i++) {
            const struct cs_aggregate_begun *b =
                &s->begun[c * CS_AGGREGATE_BEGUN_LOG + (i & (CS_AGGREGATE_BEGUN_LOG - 1))];
            (void)cs_generations_note(s->config.generations, b->slot, b->number, b->time_ns);
        }
        __atomic_store_n(&cpu->begun_tail, head, __ATOMIC_RELEASE);
    }
    if (numbers) {
        catch_up(s, numbers);
        s->begun_lost = lost;
    }
    free(numbers);
}

static void empty_half(struct cs_driver_state *s, unsigned c, cs_driver_entry_fn emit, void *arg)
{
    unsigned half = (s->bpf->bss->cpus[c].half ^ 1) & 1;
    struct cs_hot_bucket *buckets = s->table + (size_t)(c * 2 + half) * s->n_buckets;
    for (uint32_t b = 0; b < s->n_buckets; b++)
        for (unsigned w = 0; w < CS_HOT_WAYS && buckets[b].way[w].count; w++) {
            emit_entry(s, &buckets[b].way[w], emit, arg);
            buckets[b].way[w].count = 0;
        }
}

/* A leaf's chain, innermost first. The half's other cells are as they were when the handler left it. */
static void emit_leaf(struct cs_driver_state *s, const struct cs_tree_cell *cells,
                      const struct cs_tree_cell *leaf, cs_driver_entry_fn emit, void *arg)
{
    const uint32_t n_cells = s->n_buckets * CS_TREE_WAYS;
    const struct cs_tree_cell *cell = leaf;
    unsigned n = 0, n_kernel = 0;
    while (!(cell->key & CS_TREE_ROOT) && cell->parent < n_cells && n < CS_CHAIN_FRAMES) {
        n_kernel += (cell->key & CS_TREE_KERNEL) != 0;
        s->chain[n++] = cs_tree_addr(cell->key);
        cell = &cells[cell->parent];
    }
    struct cs_hot_entry e = {cs_hot_key(cs_tree_addr(leaf->key), (leaf->key & CS_TREE_KERNEL) != 0,
                                        cs_tree_event(leaf->key), cs_tree_generation(cell->key)),
                             (uint32_t)cell->key, leaf->count};
    struct cs_driver_entry out = cs_driver_entry_of(&s->config, &e, s->since_ns, s->line_ns);
    out.chain = s->chain;
    out.n_chain = n;
    out.n_kernel = n_kernel;
    out.chain_end = (uint8_t)cs_tree_end(cell->key);
    s->entries++;
    emit(arg, &out);
}

static void empty_tree(struct cs_driver_state *s, unsigned c, cs_driver_entry_fn emit, void *arg)
{
    unsigned half = (s->bpf->bss->cpus[c].half ^ 1) & 1;
    struct cs_tree_cell *cells = (void *)(s->table + (size_t)(c * 2 + half) * s->n_buckets);
    uint32_t n = s->n_buckets * CS_TREE_WAYS;
    struct cs_chain_cpu *cpu = &s->chains.kernel.cpus[c];
    if (cpu->room[half] == CS_TREE_ROOM(n))
        return;
    for (uint32_t i = 0; i < n; i++)
        if ((cells[i].key & CS_TREE_LEAF) && cells[i].count)
            emit_leaf(s, cells, &cells[i], emit, arg);
    memset(cells, 0, n * sizeof *cells);
    cpu->room[half] = CS_TREE_ROOM(n);
}

struct copies_to {
    struct cs_driver_state *state;
    cs_driver_entry_fn emit;
    void *arg;
};

static void emit_copy(void *arg, const struct cs_chain_copy *copy)
{
    const struct copies_to *to = arg;
    struct cs_driver_state *s = to->state;
    bool kernel = copy->n_kernel > 0;
    uint64_t pc = kernel ? copy->kernel[0] : copy->pc;
    struct cs_hot_entry e = {cs_hot_key(pc, kernel, copy->event & CS_TREE_EVENT_MASK, copy->generation),
                             copy->row, 1};
    if (copy->event >= s->config.n_events)
        return;
    struct cs_driver_entry out = cs_driver_entry_of(&s->config, &e, 0, s->line_ns);
    if (out.uncertain) { /* copies come up to now: its program may have begun since the notices were read */
        read_begun(s);
        out = cs_driver_entry_of(&s->config, &e, 0, s->line_ns);
    }
    out.from_ns = out.to_ns = copy->time_ns;
    out.copy = copy;
    s->entries++;
    to->emit(to->arg, &out);
}

static int bpf_drain(struct cs_driver_state *s, enum cs_driver_drain how, cs_driver_entry_fn emit, void *arg,
                     struct cs_error *err)
{
    (void)how;
    (void)err;
    read_begun(s);
    for (unsigned c = 0; c < s->n_slots; c++) {
        struct cs_aggregate_cpu *cpu = &s->bpf->bss->cpus[c];
        for (uint64_t i = cpu->log_tail; i < s->log_until[c]; i++)
            emit_entry(s, &s->log[c * CS_AGGREGATE_LOG + (i & (CS_AGGREGATE_LOG - 1))], emit, arg);
        __atomic_store_n(&cpu->log_tail, s->log_until[c], __ATOMIC_RELEASE);
        if (s->turned && s->config.chains)
            empty_tree(s, c, emit, arg);
        else if (s->turned)
            empty_half(s, c, emit, arg);
    }
    if (s->config.chains) {
        struct copies_to to = {s, emit, arg};
        cs_chain_maps_copies(&s->chains, emit_copy, &to);
    }
    if (s->turned && s->config.attributes)
        for (unsigned c = 0; c < s->n_slots; c++)
            cs_attribute_maps_empty(&s->attributes, c, (s->bpf->bss->cpus[c].half ^ 1) & 1);
    if (s->turned) { /* what is in the other half was taken after the turn */
        s->since_ns = s->next_since_ns;
        s->turned_ns = s->next_since_ns = s->line_ns;
    }
    return 0;
}

static uint64_t bpf_oldest(const struct cs_driver_state *s)
{
    return s->since_ns;
}

static void bpf_counts(const struct cs_driver_state *s, struct cs_driver_counts *out)
{
    *out = (struct cs_driver_counts){.entries = s->entries};
    for (unsigned c = 0; c < s->n_slots; c++) {
        out->delivered += __atomic_load_n(&s->bpf->bss->cpus[c].delivered, __ATOMIC_RELAXED);
        out->lost += __atomic_load_n(&s->bpf->bss->cpus[c].lost, __ATOMIC_RELAXED);
    }
    out->delivered -= out->lost; /* what reaches us, as with the ring driver */
}

static double bpf_mean_period(const struct cs_driver_state *s, unsigned event)
{
    uint64_t samples = 0, periods = 0;
    for (unsigned c = 0; c < s->n_slots; c++) {
        const struct cs_aggregate_event *of = &s->bpf->bss->cpus[c].events[event];
        samples += __atomic_load_n(&of->samples, __ATOMIC_RELAXED);
        periods += __atomic_load_n(&of->periods, __ATOMIC_RELAXED);
    }
    return samples ? (double)periods / (double)samples : 0;
}

static void bpf_clock_period(struct cs_driver_state *s, unsigned event, uint64_t period)
{
    __atomic_store_n(&s->bpf->bss->clock_period[event], period, __ATOMIC_RELAXED);
}

static int bpf_fd(const struct cs_driver_state *s, unsigned i)
{
    return s->config.chains && i == 0 ? cs_chain_maps_fd(&s->chains) : -1;
}

static struct cs_chain_kernel *bpf_chains(struct cs_driver_state *s)
{
    return s->config.chains ? &s->chains.kernel : NULL;
}

/* ---- setting up ---- */

static void bpf_prepare(const struct cs_driver_state *s, struct perf_event_attr *attr)
{
    (void)s;
    attr->sample_type = PERF_SAMPLE_IP;
    attr->use_clockid = 1; /* as the ring's that its throttling is written to */
    attr->clockid = CLOCK_MONOTONIC;
}

static int bpf_attach(struct cs_driver_state *s, int fd, unsigned event, unsigned cpu_index,
                      struct cs_error *err)
{
    char name[32];
    (void)cpu_index;
    snprintf(name, sizeof name, "count_%u", event);
    const struct bpf_program *program = bpf_object__find_program_by_name(s->bpf->obj, name);
    if (!program || ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(program)) != 0)
        return cs_fail(err, errno, "the BPF program can't be attached to an event: %s", strerror(errno));
    return 0;
}

static void bpf_detach(struct cs_driver_state *s, unsigned cpu_index)
{
    (void)s; /* its table stays, by the CPU's number */
    (void)cpu_index;
}

static void unmap(void *at, size_t size)
{
    if (at && at != MAP_FAILED)
        munmap(at, size);
}

static void close_maps(struct cs_driver_state *s)
{
    unmap(s->table, s->table_bytes);
    unmap(s->log, s->log_bytes);
    unmap(s->begun, s->begun_bytes);
    s->table = NULL;
    s->log = NULL;
    s->begun = NULL;
    if (s->config.chains && s->bpf)
        cs_chain_maps_close(&s->chains);
    if (s->config.waits && s->bpf)
        cs_wait_maps_close(&s->waits);
    if (s->attributes.kernel && s->bpf)
        cs_attribute_maps_close(&s->attributes);
    aggregate_bpf__destroy(s->bpf);
    s->bpf = NULL;
}

static void bpf_close(struct cs_driver_state *s)
{
    if (!s)
        return;
    close_maps(s);
    free(s->log_until);
    free(s);
}

static void *map_whole(const struct bpf_map *map, size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
}

static uint32_t generation_now(void *state, uint32_t pid)
{
    const struct cs_driver_state *s = state;
    return __atomic_load_n(&s->bpf->bss->generation[pid & (CS_GENERATION_SLOTS - 1)], __ATOMIC_ACQUIRE) &
           CS_HOT_GENERATION_MASK;
}

static int load(struct cs_driver_state *s)
{
    s->bpf = cs_programs_open(s->old, s->kernel_log);
    if (!s->bpf)
        return -errno;
    for (unsigned e = s->config.n_events; e < 16; e++) {
        char name[32];
        snprintf(name, sizeof name, "count_%u", e);
        struct bpf_program *program = bpf_object__find_program_by_name(s->bpf->obj, name);
        if (program)
            bpf_program__set_autoload(program, false);
    }
    s->bpf->rodata->n_buckets = s->n_buckets;
    s->bpf->rodata->filtered = s->config.filter != NULL;
    s->bpf->rodata->chains = s->config.chains;
    s->chains.scratch = s->bpf->maps.chain_scratch;
    s->chains.rules = s->bpf->maps.chain_rules;
    s->chains.cpus = s->bpf->maps.chain_cpus;
    s->chains.words = s->bpf->maps.chain_words;
    s->chains.mappings = s->bpf->maps.chain_mappings;
    s->chains.images = s->bpf->maps.chain_images;
    s->chains.interpreters = s->bpf->maps.chain_interpreters;
    s->chains.segments = s->bpf->maps.chain_segments;
    s->chains.wants = s->bpf->maps.chain_wants;
    s->chains.copy = s->bpf->maps.chain_copy;
    s->chains.copies = s->bpf->maps.chain_copies;
    if (s->config.chains && cs_chain_maps_size(&s->chains, s->n_slots, s->config.waits ? 3 : 1,
                                               s->config.filter != NULL, s->old) < 0)
        return -EINVAL;
    s->waits = (struct cs_wait_maps){
        .rows = s->bpf->maps.wait_rows,
        .guesses = s->bpf->maps.wait_guesses,
        .threads = s->bpf->maps.wait_threads,
        .scratch = s->bpf->maps.wait_scratch,
        .records = s->bpf->maps.wait_records,
        .free_rows = s->bpf->maps.wait_free_rows,
        .old = s->old,
        .programs = {s->bpf->progs.wait_switch, s->bpf->progs.wait_woken, s->bpf->progs.wait_is_back,
                     s->bpf->progs.wait_is_back_probed, s->bpf->progs.wait_stands},
        .kernel = s->config.waits};
    if (s->config.waits) {
        s->bpf->rodata->wait_cpus = s->n_slots;
        s->bpf->rodata->wait_state_given = cs_wait_maps_state_is_given();
        cs_wait_maps_ways(s->bpf->rodata->wait_ways);
        for (unsigned i = 0; i < CS_WAIT_CALLS; i++) {
            s->bpf->rodata->wait_reason_of[i] = (__u8)cs_wait_reason_of_call((int)i);
            s->bpf->rodata->wait_look_of[i] = (__u8)cs_wait_look_of_call((int)i);
        }
    }
    if (cs_wait_maps_size(&s->waits, s->n_slots) < 0)
        return -EINVAL;
    s->bpf->rodata->by_thread = s->config.process_of && !s->config.attributes;
    s->attributes = (struct cs_attribute_maps){.places = s->bpf->maps.attribute_places,
                                               .values = s->bpf->maps.attribute_values,
                                               .scratches = s->bpf->maps.attribute_scratches,
                                               .kernel = s->config.attributes};
    s->bpf->rodata->attributes = s->config.attributes != NULL;
    s->bpf->rodata->n_attribute_values = cs_attribute_maps_size(&s->attributes, s->n_slots);
    if (!s->bpf->rodata->n_attribute_values)
        return -EINVAL;
    if ((s->config.filter &&
         bpf_map__reuse_fd(s->bpf->maps.chosen, cs_process_filter_map(s->config.filter)) != 0) ||
        bpf_map__set_max_entries(s->bpf->maps.table, s->n_slots * 2 * s->n_buckets) != 0 ||
        bpf_map__set_max_entries(s->bpf->maps.evictions, s->n_slots * CS_AGGREGATE_LOG) != 0 ||
        bpf_map__set_max_entries(s->bpf->maps.begun, s->n_slots * CS_AGGREGATE_BEGUN_LOG) != 0)
        return -EINVAL;
    int rc = aggregate_bpf__load(s->bpf);
    if (rc == 0)
        rc = aggregate_bpf__attach(s->bpf); /* the tracepoints; the others wait for their events */
    if (rc == 0)
        rc = cs_wait_maps_attach(&s->waits);
    if (rc != 0)
        return rc;
    s->table_bytes = (size_t)s->n_slots * 2 * s->n_buckets * sizeof *s->table;
    s->log_bytes = (size_t)s->n_slots * CS_AGGREGATE_LOG * sizeof *s->log;
    s->begun_bytes = (size_t)s->n_slots * CS_AGGREGATE_BEGUN_LOG * sizeof *s->begun;
    s->table = map_whole(s->bpf->maps.table, s->table_bytes);
    s->log = map_whole(s->bpf->maps.evictions, s->log_bytes);
    s->begun = map_whole(s->bpf->maps.begun, s->begun_bytes);
    if (s->table == MAP_FAILED || s->log == MAP_FAILED || s->begun == MAP_FAILED)
        return -errno;
    if (s->config.waits) {
        struct aggregate_bpf__bss *bss = s->bpf->bss;
        *s->config.waits = (struct cs_wait_kernel){.free = &bss->wait_free,
                                                   .interval_ns = &bss->wait_interval_ns,
                                                   .began_ns = &bss->wait_began_ns,
                                                   .lost = &bss->wait_lost,
                                                   .no_row = &bss->wait_no_row};
        rc = cs_wait_maps_open(&s->waits);
        if (rc < 0)
            return rc;
    }
    if (s->config.attributes) {
        s->attributes.used = s->bpf->bss->attribute_used;
        s->config.attributes->lost = s->bpf->bss->attribute_lost;
        s->config.attributes->generation = generation_now;
        s->config.attributes->arg = s;
        rc = cs_attribute_maps_open(&s->attributes);
        if (rc < 0)
            return rc;
    }
    return s->config.chains ? cs_chain_maps_open(&s->chains, CS_TREE_ROOM(s->n_buckets * CS_TREE_WAYS)) : 0;
}

static void ask_why(struct cs_driver_state *s, char *why, size_t size)
{
    why[0] = '\0';
    s->kernel_log = calloc(1, CS_PROGRAMS_LOG);
    if (!s->kernel_log)
        return;
    close_maps(s);
    (void)load(s);
    close_maps(s);
    cs_programs_refusal(s->kernel_log, why, size);
    free(s->kernel_log);
    s->kernel_log = NULL;
}

/* Where the kernel has not what waits need, they are left out. */
static int load_what_can_be(struct cs_driver_state *s)
{
    s->old = cs_programs_are_old();
    if (s->old && s->config.attributes)
        return -EOPNOTSUPP;
    int rc = load(s);
    if (rc < 0 && rc != -EPERM && s->config.waits) { /* -EACCES: the verifier's no, or a lack of rights */
        close_maps(s);
        *s->config.waits = (struct cs_wait_kernel){0};
        ask_why(s, s->config.waits->refused, sizeof s->config.waits->refused);
        s->config.waits = NULL;
        rc = load(s);
    }
    return rc;
}

/* The kernel's interpreter can't call back, as bpf_loop does in the walk of a chain. */
static bool is_interpreted(void)
{
    return cs_kernel_number(1, "/proc/sys/net/core/bpf_jit_enable") == 0;
}

static const char *refusal(struct cs_driver_state *s, int error, char *why, size_t size)
{
    const struct cs_driver_config *config = &s->config;
    if (error == EOPNOTSUPP && s->old && config->attributes)
        return "profiles by attribute need Linux 5.17";
    if (error == EPERM)
        return "root or CAP_BPF and CAP_PERFMON are needed";
    if (error == EINVAL && config->chains && is_interpreted())
        return "call chains need the kernel's compiler for them: sysctl net.core.bpf_jit_enable=1";
    ask_why(s, why, size);
    if (why[0])
        return why;
    return error == EACCES ? "root or CAP_BPF and CAP_PERFMON are needed" : strerror(error);
}

static int bpf_open(const struct cs_driver_config *config, struct cs_driver_state **out, struct cs_error *err)
{
    struct stat namespace;
    /* In a container's PID namespace the program would see other PIDs than perf's records tell. */
    if (stat("/proc/self/ns/pid", &namespace) == 0 && namespace.st_ino != INIT_PID_NAMESPACE)
        return cs_fail(err, ENOTSUP, "the BPF driver does not work within a PID namespace");
    struct cs_driver_state *s = calloc(1, sizeof *s);
    if (!s)
        return cs_fail(err, ENOMEM, "out of memory for the BPF driver");
    s->config = *config;
    for (unsigned c = 0; c < config->cpus->n; c++)
        if ((unsigned)config->cpus->cpu[c].number >= s->n_slots)
            s->n_slots = (unsigned)config->cpus->cpu[c].number + 1;
    s->n_buckets = BUCKETS_MAX;
    while (s->n_buckets > BUCKETS_MIN && 2UL * s->n_slots * s->n_buckets * sizeof *s->table > TABLES_BYTES)
        s->n_buckets /= 2;
    s->log_until = calloc(s->n_slots, sizeof *s->log_until);
    int rc = s->n_slots > CS_AGGREGATE_CPUS ? -E2BIG : s->log_until ? load_what_can_be(s) : -ENOMEM;
    if (rc < 0) {
        char why[160];
        cs_fail(err, -rc, "BPF programs can't be used (%s)", refusal(s, -rc, why, sizeof why));
        bpf_close(s);
        return rc;
    }
    s->since_ns = s->next_since_ns = s->turned_ns = cs_monotonic_ns();
    *out = s;
    return 0;
}

const struct cs_driver cs_driver_bpf = {
    "bpf",      bpf_open,   bpf_prepare, bpf_attach,      bpf_detach,       bpf_begin_drain,
    bpf_drain,  bpf_oldest, bpf_counts,  bpf_mean_period, bpf_clock_period, bpf_fd,
    bpf_chains, bpf_close,  false,
};
