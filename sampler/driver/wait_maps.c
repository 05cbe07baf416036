/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/driver/wait_maps.h"
#include "image/procedures/kallsyms.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST "finish_task_switch"
#define ROWS_BYTES (CS_WAIT_THREADS * sizeof(struct cs_wait_thread))

/* The type that BTF has of it: a pointer to a function of the arguments, with one before them. */
bool cs_wait_maps_state_is_given(void)
{
    struct btf *btf = btf__load_vmlinux_btf();
    const struct btf_type *type = NULL;
    int id = btf ? btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF) : -1;
    if (id > 0 && (type = btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type)) && btf_is_ptr(type))
        type = btf__type_by_id(btf, type->type);
    bool given = type && btf_is_func_proto(type) && btf_vlen(type) >= 5;
    btf__free(btf);
    return given;
}

static int dont_load(const struct cs_wait_maps *m, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        if (bpf_program__set_autoload(m->programs[i], false) != 0)
            return -EINVAL;
    return 0;
}

int cs_wait_maps_size(struct cs_wait_maps *m, unsigned n_cpus)
{
    assert(n_cpus > 0);
    if (!m->kernel) {
        if (dont_load(m, 0, CS_WAIT_PROGRAMS) < 0)
            return -EINVAL;
        return bpf_map__set_autocreate(m->rows, false) != 0 ||
                       bpf_map__set_autocreate(m->guesses, false) != 0 ||
                       bpf_map__set_autocreate(m->threads, false) != 0 ||
                       bpf_map__set_autocreate(m->scratch, false) != 0 ||
                       bpf_map__set_autocreate(m->records, false) != 0 ||
                       bpf_map__set_autocreate(m->free_rows, false) != 0
                   ? -EINVAL
                   : 0;
    }
    unsigned other = libbpf_find_vmlinux_btf_id("sched_exit_tp", BPF_TRACE_RAW_TP) > 0 ? CS_WAIT_BACK_PROBED
                                                                                       : CS_WAIT_BACK;
    if (dont_load(m, other, other + 1) < 0)
        return -EINVAL;
    return (!m->old && bpf_map__set_autocreate(m->free_rows, false) != 0) ||
                   bpf_map__set_max_entries(m->guesses, CS_WAIT_GUESSES) != 0 ||
                   bpf_map__set_max_entries(m->threads, CS_WAIT_THREADS) != 0 ||
                   bpf_map__set_max_entries(m->scratch, 2 * n_cpus + 1) != 0 ||
                   bpf_map__set_max_entries(m->records, CS_WAIT_RING) != 0
               ? -EINVAL
               : 0;
}

/* What a thread runs first when it has the CPU again. Compilers give it a suffix where they leave out an argument. */
static bool name_of_first(char *name, size_t size)
{
    FILE *f = cs_kallsyms_open("/proc/kallsyms");
    struct cs_kallsyms_symbol s;
    bool found = false;
    while (f && !found && cs_kallsyms_next(f, &s)) {
        found = strncmp(s.name, FIRST, sizeof FIRST - 1) == 0 &&
                (s.name[sizeof FIRST - 1] == '\0' || s.name[sizeof FIRST - 1] == '.') &&
                !strstr(s.name, ".cold");
        if (found)
            snprintf(name, size, "%s", s.name);
    }
    if (f)
        fclose(f);
    return found;
}

/* The kernel's own symbols come by address. */
void cs_wait_maps_ways(struct cs_wait_way ways[CS_WAIT_WAYS])
{
    static const char *const names[CS_WAIT_WAYS] = {[CS_WAIT_WAY_OF_CALL] = "__local_bh_enable_ip",
                                                    [CS_WAIT_WAY_OF_TIMER] = "hrtimer_interrupt",
                                                    [CS_WAIT_WAY_OF_OLD_TIMER] = "run_timer_softirq"};
    FILE *f = cs_kallsyms_open("/proc/kallsyms");
    struct cs_kallsyms_symbol s;
    unsigned known = 0;
    memset(ways, 0, CS_WAIT_WAYS * sizeof *ways);
    while (f && known < CS_WAIT_WAYS && cs_kallsyms_next(f, &s)) /* those of each CPU come first, from 0 on */
        for (unsigned i = 0; i < CS_WAIT_WAYS; i++) {
            if (!ways[i].start && strcmp(s.name, names[i]) == 0) {
                ways[i].start = s.addr;
            } else if (ways[i].start && !ways[i].size && s.addr > ways[i].start) {
                ways[i].size = s.addr - ways[i].start;
                known++;
            }
        }
    if (f)
        fclose(f);
}

int cs_wait_maps_attach(struct cs_wait_maps *m)
{
    char name[128];
    if (!m->kernel || !bpf_program__autoload(m->programs[CS_WAIT_BACK_PROBED]))
        return 0;
    if (!name_of_first(name, sizeof name))
        return -ENOENT;
    m->probe = bpf_program__attach_kprobe(m->programs[CS_WAIT_BACK_PROBED], false, name);
    return m->probe ? 0 : -errno;
}

static int one(void *arg, void *record, size_t n)
{
    struct cs_wait_maps *m = arg;
    m->each(m->each_arg, record, n);
    return 0;
}

static void records(void *arg, void (*each)(void *arg, const struct cs_wait_record *record, size_t n),
                    void *each_arg)
{
    struct cs_wait_maps *m = arg;
    m->each = each;
    m->each_arg = each_arg;
    (void)ring_buffer__consume(m->ring);
}

static void give(void *arg, uint32_t row)
{
    const struct cs_wait_maps *m = arg;
    (void)bpf_map_update_elem(bpf_map__fd(m->free_rows), NULL, &row, BPF_ANY);
}

/* Threads that are away, each with its registers. What can't be read is left out. */
static void standing(void *arg,
                     void (*each)(void *arg, const struct cs_wait_record *record,
                                  const struct cs_chain_copy *registers),
                     void *each_arg)
{
    enum { COPY_HEAD = offsetof(struct cs_chain_copy, stack), BYTES = CS_WAIT_HEAD + COPY_HEAD };
    const struct cs_wait_maps *m = arg;
    struct bpf_link *link = bpf_program__attach_iter(m->programs[CS_WAIT_STANDING], NULL);
    int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    struct cs_wait_copied *one_of = f ? calloc(1, sizeof *one_of) : NULL;
    uint8_t bytes[BYTES];
    for (unsigned i = 0; one_of && i < CS_WAIT_STANDING_MAX && fread(bytes, 1, BYTES, f) == BYTES; i++) {
        memcpy(&one_of->record, bytes, CS_WAIT_HEAD);
        memcpy(&one_of->copy, bytes + CS_WAIT_HEAD, COPY_HEAD);
        each(each_arg, &one_of->record, &one_of->copy);
    }
    free(one_of);
    if (f)
        (void)fclose(f);
    else if (fd >= 0)
        close(fd);
    bpf_link__destroy(link);
}

int cs_wait_maps_open(struct cs_wait_maps *m)
{
    struct cs_wait_kernel *k = m->kernel;
    void *at = mmap(NULL, ROWS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m->threads), 0);
    if (at == MAP_FAILED)
        return -errno;
    k->rows = at;
    k->arg = m;
    k->records = records;
    k->standing = standing;
    k->give = m->old ? give : NULL;
    m->ring = ring_buffer__new(bpf_map__fd(m->records), one, m, NULL);
    return m->ring ? 0 : -ENOMEM;
}

void cs_wait_maps_close(struct cs_wait_maps *m)
{
    bpf_link__destroy(m->probe);
    m->probe = NULL;
    ring_buffer__free(m->ring);
    m->ring = NULL;
    if (m->kernel && m->kernel->rows) {
        munmap(m->kernel->rows, ROWS_BYTES);
        m->kernel->rows = NULL;
    }
}
