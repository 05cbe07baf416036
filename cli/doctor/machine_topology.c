/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Topology: how many CPUs, cores and packages may run us, and who could observe whom. */
#include "cli/doctor/machine.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *relation(hwloc_obj_t common)
{
    switch (common->type) {
    case HWLOC_OBJ_CORE:
    case HWLOC_OBJ_L1CACHE:
        return "SMT sibling";
    case HWLOC_OBJ_L2CACHE:
        return "shares L2";
    case HWLOC_OBJ_L3CACHE:
        return "shares L3";
    case HWLOC_OBJ_L4CACHE:
        return "shares L4";
    case HWLOC_OBJ_MACHINE:
        return "other package";
    default:
        return "same package";
    }
}

/* The nearest other CPU: the smallest common ancestor, then the lowest number. Where the siblings of a core
 * are far from one another in no case: an SMT sibling always wins. */
static hwloc_obj_t nearest(hwloc_topology_t t, hwloc_obj_t target, const char **by)
{
    hwloc_obj_t best = NULL;
    int best_weight = 0;
    for (hwloc_obj_t other = NULL; (other = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, other)) != NULL;) {
        if (other == target)
            continue;
        hwloc_obj_t common = hwloc_get_common_ancestor_obj(t, target, other);
        int weight = hwloc_bitmap_weight(common->cpuset);
        if (!best || weight < best_weight) {
            best = other;
            best_weight = weight;
            *by = relation(common);
        }
    }
    return best;
}

static int load(const char *root, hwloc_topology_t *t, struct cs_error *err)
{
    if (hwloc_topology_init(t) < 0)
        return cs_fail(err, ENOMEM, "hwloc has no memory for a topology");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/topology.xml", root);
    if (*root && access(path, R_OK) == 0 && hwloc_topology_set_xml(*t, path) < 0) {
        hwloc_topology_destroy(*t);
        return cs_fail(err, EINVAL, "%s is no hwloc topology", path);
    }
    if (hwloc_topology_load(*t) < 0) {
        hwloc_topology_destroy(*t);
        return cs_fail(err, errno, "hwloc can't read this machine's topology: %s", strerror(errno));
    }
    return 0;
}

int machine_gather_topology(struct machine *m, struct cs_error *err)
{
    hwloc_topology_t t;
    int rc = load(m->root, &t, err);
    if (rc < 0)
        return rc;
    m->n_cpus = (unsigned)hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU);
    m->n_cores = (unsigned)hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);
    m->n_packages = (unsigned)hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE);
    m->smt = m->n_cores > 0 && m->n_cpus > m->n_cores;
    m->pairs = calloc(m->n_cpus ? m->n_cpus : 1, sizeof *m->pairs);
    if (!m->pairs)
        rc = cs_fail(err, ENOMEM, "out of memory for %u CPUs", m->n_cpus);
    for (hwloc_obj_t target = NULL;
         m->pairs && (target = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, target)) != NULL;) {
        const char *by = "";
        hwloc_obj_t observer = nearest(t, target, &by);
        if (observer)
            m->pairs[m->n_pairs++] = (struct cpu_pair){target->os_index, observer->os_index, by};
    }
    hwloc_topology_destroy(t);
    return rc;
}

int machine_save_topology(const char *file, struct cs_error *err)
{
    hwloc_topology_t t;
    int rc = load("", &t, err);
    if (rc < 0)
        return rc;
    if (hwloc_topology_export_xml(t, file, 0) < 0)
        rc = cs_fail(err, errno, "can't write %s: %s", file, strerror(errno));
    hwloc_topology_destroy(t);
    return rc;
}
