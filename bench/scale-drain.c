/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collector of a large machine, without the machine: 1 to 256 synthetic CPUs, each with its own table of
 * (PID, PC, EVENT) as the drivers have it (sampler/driver/hot_table.h) and its own processes, are filled with skewed
 * samples over real libraries, drained through the shipped image maps and merged into a real store. What
 * grows with the number of CPUs, what doesn't? `docs/scale.md` extrapolates from these figures.
 *
 * Value: the exponent of the drain's cost an entry against the number of CPUs (0: an entry costs the same on
 * any). */
#include "sampler/driver/hot_table.h"
#include "sampler/images/maps.h"
#include "sampler/placing/profiles.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { BUCKETS = 1024, PROCESSES = 16, LIBRARIES = 48, MAPPED = 6, SAMPLES = 20000, DRAINS = 3 };

static uint64_t state = 88172645463325252ull;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Skewed as profiles are: the n-th address gets about 1/n of the first's samples. */
static uint64_t skewed(uint64_t n)
{
    double u = (double)(next_random() >> 11) * 0x1p-53;
    return (uint64_t)(pow((double)n, u)) - 1;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static pid_t pid_of(unsigned cpu, uint64_t process)
{
    return (pid_t)(1000 + cpu * PROCESSES + process);
}

static uint64_t start_of(unsigned library)
{
    return 0x7f0000000000u + (uint64_t)library * 0x10000000u;
}

static int map_all(struct cs_maps *maps, unsigned cpus, const glob_t *files)
{
    for (unsigned cpu = 0; cpu < cpus; cpu++)
        for (unsigned p = 0; p < PROCESSES; p++) {
            int rc = cs_maps_exec(maps, pid_of(cpu, p), "synthetic", 1);
            for (unsigned l = 0; rc == 0 && l < MAPPED; l++) {
                unsigned library = (cpu * 7 + p * 3 + l) % LIBRARIES;
                const char *path = files->gl_pathv[library % files->gl_pathc];
                struct stat st;
                if (stat(path, &st) != 0)
                    return -errno;
                struct cs_mapped_file file = {.pid = pid_of(cpu, p),
                                              .start = start_of(library),
                                              .end = start_of(library) + 0x1000000,
                                              .path = path,
                                              .build_id = "",
                                              .major = major(st.st_dev),
                                              .minor = minor(st.st_dev),
                                              .inode = st.st_ino};
                rc = cs_maps_mmap(maps, &file, 2);
            }
            if (rc < 0)
                return rc;
        }
    return 0;
}

static void fill(struct cs_hot_bucket *table, __u32 *turn, unsigned cpu, uint64_t *evicted)
{
    for (unsigned i = 0; i < SAMPLES; i++) {
        uint64_t process = skewed(PROCESSES), l = skewed(MAPPED);
        unsigned library = (unsigned)((cpu * 7 + process * 3 + l) % LIBRARIES);
        __u32 pid = (__u32)pid_of(cpu, process);
        __u64 key = cs_hot_key(start_of(library) + 0x1000 + 16 * skewed(8000), 0, 0, 0);
        struct cs_hot_entry out;
        *evicted += (uint64_t)cs_hot_add(&table[cs_hot_hash(key, pid) % BUCKETS], turn, key, pid, &out);
    }
}

static const char *no_label(void *arg, uint32_t number)
{
    (void)arg, (void)number;
    return "";
}

static void nothing_between(void *arg)
{
    (void)arg;
}

struct point {
    double drain_ns, merge_ms, entries, memory_mb;
};

static int measure(unsigned cpus, const glob_t *files, const char *place, struct point *out,
                   struct cs_error *err)
{
    struct cs_event event;
    struct cs_images *images = cs_images_open("/nonexistent");
    struct cs_maps *maps = images ? cs_maps_open(images, "/nonexistent", CS_LABEL_NONE) : NULL;
    struct cs_hot_bucket *tables = calloc((size_t)cpus * BUCKETS, sizeof *tables);
    struct cs_store *store = NULL;
    struct cs_session_profiles *profiles = NULL;
    double drain = 0, merge = 0;
    uint64_t entries = 0, evicted = 0, merged = 0;
    __u32 turn = 0;
    int rc = cs_event_parse("cpu-clock", &event, err);
    if (rc == 0 && (!maps || !tables || !(profiles = cs_session_profiles_open(&event, 1)) ||
                    map_all(maps, cpus, files) < 0))
        rc = cs_fail(err, ENOMEM, "no memory for %u CPUs", cpus);
    if (rc == 0 && (rc = cs_store_open(place, CS_STORE_WRITE, &store, err)) == 0)
        rc = cs_store_epoch(store, NULL, err);
    for (unsigned round = 0; rc == 0 && round < DRAINS; round++) {
        for (unsigned cpu = 0; cpu < cpus; cpu++)
            fill(tables + (size_t)cpu * BUCKETS, &turn, cpu, &evicted);
        double start = now();
        for (size_t b = 0; b < (size_t)cpus * BUCKETS; b++)
            for (unsigned w = 0; w < CS_HOT_WAYS; w++) {
                struct cs_hot_entry *e = &tables[b].way[w];
                struct cs_maps_location found;
                if (!e->count)
                    continue;
                if (cs_maps_find(maps, (pid_t)e->pid, cs_hot_pc(e->key), 3, 4, &found) == 0)
                    rc |= cs_session_profiles_add(profiles, found.image, 0, 0, found.offset, e->count);
                entries++;
                e->count = 0;
            }
        double middle = now();
        struct cs_session_profiles_times times = {1, 1, 1e6};
        struct cs_session_profiles_merging with = {no_label, nothing_between, NULL};
        if (rc == 0)
            rc = cs_session_profiles_merge(profiles, store, &times, &with, &merged, err);
        drain += middle - start;
        merge += now() - middle;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    *out = (struct point){1e9 * drain / (double)(entries ? entries : 1), 1e3 * merge / DRAINS,
                          (double)entries / DRAINS, (double)usage.ru_maxrss / 1024};
    uint64_t delivered = (uint64_t)cpus * SAMPLES * DRAINS;
    if (rc == 0 && merged + evicted > delivered)
        rc = cs_fail(err, EINVAL, "more samples came out than went in");
    if (rc == 0 && merged == 0)
        rc = cs_fail(err, EINVAL, "nothing was merged");
    cs_session_profiles_close(profiles);
    cs_store_close(store);
    if (maps)
        cs_maps_close(maps);
    if (images)
        cs_images_close(images);
    free(tables);
    return rc;
}

int main(int argc, char **argv)
{
    static const unsigned cpus[] = {1, 4, 16, 64, 256};
    unsigned n = argc > 1 && !strcmp(argv[1], "--quick") ? 4 : 5;
    struct cs_error err = {0};
    struct point point[5];
    char place[] = "/tmp/scale-drain.XXXXXX", command[64];
    glob_t files;
    if (glob("/usr/lib/*-linux-gnu/*.so.*", 0, NULL, &files) != 0 || files.gl_pathc < 8 || !mkdtemp(place)) {
        puts("no shared libraries to play with");
        return 77;
    }
    printf("%6s %12s %16s %12s %12s\n", "CPUs", "entries", "drain, ns each", "merge, ms", "memory, MB");
    double x = 0, y = 0, xx = 0, xy = 0;
    int rc = 0;
    for (unsigned i = 0; i < n && rc == 0; i++) {
        char store[64];
        snprintf(store, sizeof store, "%s/%u", place, cpus[i]);
        rc = measure(cpus[i], &files, store, &point[i], &err);
        printf("%6u %12.0f %16.1f %12.1f %12.0f\n", cpus[i], point[i].entries, point[i].drain_ns,
               point[i].merge_ms, point[i].memory_mb);
        fflush(stdout);
        double lx = log(cpus[i]), ly = log(point[i].drain_ns);
        x += lx, y += ly, xx += lx * lx, xy += lx * ly;
    }
    snprintf(command, sizeof command, "rm -rf %s", place);
    globfree(&files);
    if (system(command) != 0 || rc < 0) {
        fprintf(stderr, "scale-drain: %s\n", err.text);
        return 1;
    }
    printf("{\"name\":\"scale-drain\",\"value\":%.3f,\"unit\":\"exponent\",\"target\":0.2,\"noise\":0.05,"
           "\"detail\":{",
           (n * xy - x * y) / (n * xx - x * x));
    for (unsigned i = 0; i < n; i++)
        printf("%s\"%u\":{\"entries\":%.0f,\"drain_ns\":%.1f,\"merge_ms\":%.1f,\"memory_mb\":%.0f}",
               i ? "," : "", cpus[i], point[i].entries, point[i].drain_ns, point[i].merge_ms,
               point[i].memory_mb);
    puts("}}");
    return 0;
}
