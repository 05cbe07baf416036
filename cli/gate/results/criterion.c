/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Criterion's folder (target/criterion) has a folder a benchmark. Its newest run is new/sample.json: how many iterations each
 * sample had, and the nanoseconds of them all. new/benchmark.json has the benchmark's name. */
#include "cli/gate/results/results.h"

#include "store/base/regular_file.h"

#include <errno.h>
#include <fts.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 1000000
#define DEPTH_MAX 16

static json_t *read_json(const char *path, struct cs_error *err)
{
    json_error_t at;
    int fd = cs_open_regular(NULL, path, RESULTS_BYTES_MAX, NULL);
    if (fd < 0) {
        cs_fail(err, -fd, "%s can't be read: %s", path, strerror(-fd));
        return NULL;
    }
    json_t *root = json_loadfd(fd, JSON_REJECT_DUPLICATES, &at);
    close(fd);
    if (!root)
        cs_fail(err, EINVAL, "%s isn't JSON, line %d: %.100s", path, at.line, at.text);
    return root;
}

/* The samples of one benchmark; `path` is its sample.json, which ends so. */
static int read_samples(struct result_times *r, const char *path, struct cs_error *err)
{
    char named[4096];
    const size_t folder = strlen(path) - strlen("sample.json");
    snprintf(named, sizeof named, "%.*sbenchmark.json", (int)folder, path);
    json_t *sample = read_json(path, err), *benchmark = sample ? read_json(named, err) : NULL;
    const json_t *iterations = json_object_get(sample, "iters"), *times = json_object_get(sample, "times");
    const char *name = json_string_value(json_object_get(benchmark, "full_id"));
    int rc = 0;
    if (!benchmark)
        rc = -EINVAL;
    else if (!json_is_array(times) || json_array_size(times) != json_array_size(iterations))
        rc = cs_fail(err, EINVAL, "%s: its lists of times and of iterations don't belong together", path);
    for (size_t i = 0; rc == 0 && i < json_array_size(times); i++) {
        const double n = json_number_value(json_array_get(iterations, i)),
                     ns = json_number_value(json_array_get(times, i));
        rc = results_add(r, name, n > 0 ? ns / n * 1e-9 : (double)NAN, path, err);
    }
    json_decref(sample);
    if (benchmark && json_array_append_new(r->root, benchmark) < 0 && rc == 0) /* it holds the name */
        rc = cs_fail(err, ENOMEM, "out of memory for the names of %s", path);
    return rc;
}

int results_read_criterion(struct result_times *r, const char *folder, struct cs_error *err)
{
    char *const paths[] = {(char *)(uintptr_t)folder, NULL};
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    r->root = json_array(); /* the names' owner */
    int rc = walk && r->root ? 0 : cs_fail(err, errno, "%s can't be read: %s", folder, strerror(errno));
    size_t files = 0;
    for (FTSENT *e; rc == 0 && (e = fts_read(walk)) != NULL;) {
        if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR)
            rc = cs_fail(err, e->fts_errno, "%s can't be read: %s", e->fts_path, strerror(e->fts_errno));
        else if (e->fts_level > DEPTH_MAX || ++files > FILES_MAX)
            rc = cs_fail(err, E2BIG, "%s has more than %d files, or folders more than %d deep", folder,
                         FILES_MAX, DEPTH_MAX);
        else if (e->fts_info == FTS_F && strcmp(e->fts_name, "sample.json") == 0 && e->fts_level > 1 &&
                 strcmp(e->fts_parent->fts_name, "new") == 0)
            rc = read_samples(r, e->fts_path, err);
    }
    if (walk)
        fts_close(walk);
    if (rc == 0 && !r->n)
        rc = cs_fail(err, ENODATA,
                     "%s has no new/sample.json: it isn't Criterion's folder (target/criterion)", folder);
    return rc;
}
