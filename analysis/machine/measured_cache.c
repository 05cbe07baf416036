/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measuring takes most of a second, which a program of one second would pay each time. So one measurement
 * serves for an hour: in the cache folder, by boot, CPUs, features and sizes. A file that says anything else
 * is as good as none; it is replaced by rename. */
#include "analysis/machine/machine.h"
#include "store/base/cache.h"
#include "store/base/clock.h"
#include "store/base/kernel_files.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_SECONDS 3600.0

static void read_boot_id(char id[64])
{
    (void)cs_kernel_line(id, 64, "", "/proc/sys/kernel/random/boot_id");
}

static double since_boot(void)
{
    return (double)cs_clock_ns(CLOCK_BOOTTIME) * 1e-9; /* goes on while the machine sleeps */
}

static bool file_path(char *path, size_t size)
{
    char folder[PATH_MAX];
    if (cs_cache_folder(folder, sizeof folder) < 0)
        return false;
    int n = snprintf(path, size, "%s/machine.json", folder);
    return n > 0 && (size_t)n < size;
}

/* Detected facts are this moment's; only what was measured is taken over. */
static bool take(struct cs_machine *m, const json_t *kept, const char *boot_id, double *age_s)
{
    const char *boot = json_string_value(json_object_get(kept, "boot_id"));
    *age_s = since_boot() - json_number_value(json_object_get(kept, "measured_s"));
    char *text = json_dumps(json_object_get(kept, "machine"), JSON_COMPACT);
    struct cs_machine then;
    bool same =
        text && boot && *boot && strcmp(boot, boot_id) == 0 && *age_s >= 0 && *age_s <= MOST_SECONDS &&
        json_integer_value(json_object_get(kept, "cpus")) == sysconf(_SC_NPROCESSORS_ONLN) &&
        cs_machine_from_json(text, &then) == 0 && cs_machine_alike(&then, m) &&
        then.l3.bytes == m->l3.bytes && then.core_hz > 0 && then.memory_cycles > 0 &&
        then.huge_walk_cycles > 0 && then.forward_cycles > 0 && then.update_cycles > 0 &&
        then.divide_cycles > 0 && json_object_get(json_object_get(kept, "machine"), "shared_most_cycles");
    free(text);
    if (!same)
        return false;
    m->core_hz = then.core_hz;
    m->tsc_hz = then.tsc_hz;
    m->lock_cycles = then.lock_cycles;
    m->forward_cycles = then.forward_cycles;
    m->update_cycles = then.update_cycles;
    m->divide_cycles = then.divide_cycles;
    m->divide_each_cycles = then.divide_each_cycles;
    m->walk_cycles = then.walk_cycles;
    m->huge_walk_cycles = then.huge_walk_cycles;
    m->memory_cycles = then.memory_cycles;
    m->l1d.latency_cycles = then.l1d.latency_cycles;
    m->l2.latency_cycles = then.l2.latency_cycles;
    m->l3.latency_cycles = then.l3.latency_cycles;
    memcpy(m->shared_least_cycles, then.shared_least_cycles, sizeof m->shared_least_cycles);
    memcpy(m->shared_most_cycles, then.shared_most_cycles, sizeof m->shared_most_cycles);
    memcpy(m->ladder_cycles, then.ladder_cycles, sizeof m->ladder_cycles);
    return true;
}

static void keep(const struct cs_machine *m, const char *boot_id, const char *path)
{
    char text[2048];
    if (cs_machine_to_json(m, text, sizeof text) <= 0)
        return;
    json_t *root = json_pack("{s:s, s:f, s:I, s:o}", "boot_id", boot_id, "measured_s", since_boot(), "cpus",
                             (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "machine", json_loads(text, 0, NULL));
    char *whole = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    if (whole)
        cs_cache_put(path, &(struct iovec){whole, strlen(whole)}, 1, false);
    free(whole);
    json_decref(root);
}

int cs_machine_recall(struct cs_machine *machine, double *age_s, struct cs_error *err)
{
    char path[PATH_MAX], boot_id[64];
    bool can_keep = file_path(path, sizeof path);
    read_boot_id(boot_id);
    json_t *kept = can_keep ? json_load_file(path, 0, NULL) : NULL;
    bool taken = kept && take(machine, kept, boot_id, age_s);
    json_decref(kept);
    if (taken)
        return 0;
    *age_s = 0;
    int rc = cs_machine_measure(machine, err);
    if (rc == 0 && can_keep && boot_id[0])
        keep(machine, boot_id, path);
    return rc;
}
