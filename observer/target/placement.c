/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/target/placement.h"

#include <assert.h>
#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cs_topology {
    hwloc_topology_t hwloc;
};

int cs_topology_open(const char *synthetic, struct cs_topology **out, struct cs_error *err)
{
    struct cs_topology *t = calloc(1, sizeof *t);
    if (!t || hwloc_topology_init(&t->hwloc) < 0) {
        free(t);
        return cs_fail(err, ENOMEM, "no memory for the machine's topology");
    }
    hwloc_topology_set_flags(t->hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if ((synthetic && hwloc_topology_set_synthetic(t->hwloc, synthetic) < 0) ||
        hwloc_topology_load(t->hwloc) < 0) {
        cs_topology_close(t);
        return cs_fail(err, EINVAL, "hwloc cannot read this machine's topology%s%s", synthetic ? ": " : "",
                       synthetic ? synthetic : "");
    }
    *out = t;
    return 0;
}

void cs_topology_close(struct cs_topology *t)
{
    if (t) {
        hwloc_topology_destroy(t->hwloc);
        free(t);
    }
}

int cs_topology_allow(struct cs_topology *t, const char *cpus, struct cs_error *err)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int rc = hwloc_bitmap_list_sscanf(set, cpus) < 0 ||
                     hwloc_topology_allow(t->hwloc, set, NULL, HWLOC_ALLOW_FLAG_CUSTOM) < 0
                 ? cs_fail(err, EINVAL, "cannot restrict the topology to CPUs %s", cpus)
                 : 0;
    hwloc_bitmap_free(set);
    return rc;
}

static unsigned allowed_cpus(const struct cs_topology *t)
{
    int n = hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(t->hwloc));
    return n > 0 ? (unsigned)n : 0;
}

static bool allowed(const struct cs_topology *t, unsigned cpu)
{
    return hwloc_bitmap_isset(hwloc_topology_get_allowed_cpuset(t->hwloc), cpu) &&
           hwloc_get_pu_obj_by_os_index(t->hwloc, cpu);
}

static bool is_taken(const struct cs_cpu_set *taken, unsigned cpu)
{
    const unsigned bits = 8 * sizeof(unsigned long);
    return taken && cpu < 1024 && (taken->bits[cpu / bits] >> cpu % bits & 1);
}

/* A CPU that was asked for by number: usable, or why not. */
static int usable(const struct cs_topology *t, const char *role, int cpu, const struct cs_cpu_set *taken,
                  struct cs_error *err)
{
    unsigned u = (unsigned)cpu;
    if (cpu < 0 || !hwloc_bitmap_isset(hwloc_topology_get_complete_cpuset(t->hwloc), u))
        return cs_fail(err, EINVAL, "there is no CPU %d for the %s on this machine", cpu, role);
    if (!hwloc_get_pu_obj_by_os_index(t->hwloc, u))
        return cs_fail(err, EINVAL, "CPU %d for the %s is offline; bring it online or choose another", cpu,
                       role);
    if (!allowed(t, u))
        return cs_fail(err, EINVAL,
                       "CPU %d for the %s is outside this process's cgroup or cpuset; choose one inside", cpu,
                       role);
    if (is_taken(taken, u))
        return cs_fail(err, EINVAL, "CPU %d for the %s already has an observer or another target", cpu, role);
    return 0;
}

/* How near two CPUs are: the depth of what they share, deeper is nearer; a core counts as nearest. */
static hwloc_obj_t shared(const struct cs_topology *t, unsigned a, unsigned b)
{
    return hwloc_get_common_ancestor_obj(t->hwloc, hwloc_get_pu_obj_by_os_index(t->hwloc, a),
                                         hwloc_get_pu_obj_by_os_index(t->hwloc, b));
}

static bool one_core(const struct cs_topology *t, unsigned a, unsigned b)
{
    hwloc_obj_t both = shared(t, a, b);
    while (both && both->type != HWLOC_OBJ_CORE)
        both = both->parent;
    return both != NULL;
}

/* Best partner of `cpu`, or CS_ANY_CPU. Deepest shared object wins; then the lower number. */
static int partner(const struct cs_topology *t, unsigned cpu, bool smt, const struct cs_cpu_set *taken)
{
    int best = CS_ANY_CPU, best_depth = -1;
    const struct hwloc_bitmap_s *all = hwloc_topology_get_allowed_cpuset(t->hwloc);
    for (int next = hwloc_bitmap_first(all); next >= 0; next = hwloc_bitmap_next(all, next)) {
        unsigned other = (unsigned)next;
        if (other != cpu && allowed(t, other) && !is_taken(taken, other) && one_core(t, cpu, other) == smt) {
            int depth = (int)shared(t, cpu, other)->depth;
            if (depth > best_depth) {
                best = (int)other;
                best_depth = depth;
            }
        }
    }
    return best;
}

static void describe(const struct cs_topology *t, struct cs_placement *p)
{
    hwloc_obj_t both = shared(t, p->target, p->observer);
    p->smt = one_core(t, p->target, p->observer);
    char what[16];
    if (p->smt) {
        snprintf(p->relation, sizeof p->relation, "are threads of one core");
        return;
    }
    /* Several levels can cover the same CPUs (a package and its only L3): name the cache. */
    for (hwloc_obj_t o = both; o && hwloc_bitmap_isequal(o->cpuset, both->cpuset); o = o->first_child) {
        if (hwloc_obj_type_is_cache(o->type)) {
            both = o;
            break;
        }
        if (o->arity != 1)
            break;
    }
    for (hwloc_obj_t o = both; o; o = o->parent)
        if (hwloc_obj_type_is_cache(o->type)) {
            both = o;
            break;
        }
    hwloc_obj_type_snprintf(what, sizeof what, both, 0);
    if (hwloc_obj_type_is_cache(both->type))
        snprintf(p->relation, sizeof p->relation, "share the %s cache", what);
    else
        snprintf(p->relation, sizeof p->relation, "share no cache, only the %.15s", what);
}

int cs_placement_choose(const struct cs_topology *t, int target, int observer, bool smt,
                        const struct cs_cpu_set *taken, struct cs_placement *out, struct cs_error *err)
{
    int rc;
    if (target != CS_ANY_CPU && (rc = usable(t, "target", target, taken, err)) < 0)
        return rc;
    if (observer != CS_ANY_CPU && (rc = usable(t, "observer", observer, taken, err)) < 0)
        return rc;
    if (target != CS_ANY_CPU && target == observer)
        return cs_fail(err, EINVAL,
                       "target and observer cannot share CPU %d: the observer spins, so the target would "
                       "only run while nobody looks",
                       target);
    if (allowed_cpus(t) < 2)
        return cs_fail(err, EINVAL, "only one CPU may be used here, and the observer needs one of its own");
    if (target == CS_ANY_CPU && observer != CS_ANY_CPU)
        target = partner(t, (unsigned)observer, smt, taken);
    if (target == CS_ANY_CPU && observer == CS_ANY_CPU) {
        /* The highest CPU: the lowest ones get most interrupts. */
        const struct hwloc_bitmap_s *all = hwloc_topology_get_allowed_cpuset(t->hwloc);
        for (int cpu = hwloc_bitmap_last(all); cpu >= 0 && target == CS_ANY_CPU; cpu--)
            if (allowed(t, (unsigned)cpu) && !is_taken(taken, (unsigned)cpu) &&
                partner(t, (unsigned)cpu, smt, taken) != CS_ANY_CPU)
                target = cpu;
    }
    if (target != CS_ANY_CPU && observer == CS_ANY_CPU)
        observer = partner(t, (unsigned)target, smt, taken);
    if (target == CS_ANY_CPU || observer == CS_ANY_CPU)
        return cs_fail(
            err, EINVAL,
            smt ? "no free pair of hardware threads of one core here; leave out the SMT options"
                : "no free pair of CPUs on two cores here; --smt observes from the same core's other thread");
    out->target = (unsigned)target;
    out->observer = (unsigned)observer;
    assert(target != observer);
    describe(t, out);
    return 0;
}
