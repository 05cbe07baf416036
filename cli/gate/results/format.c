/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/results/results.h"

#include "store/base/array.h"
#include "store/base/regular_file.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every time counts, or the file is refused: half of a benchmark is another one. */
int results_add(struct result_times *r, const char *name, double seconds, const char *path,
                struct cs_error *err)
{
    if (!name || !*name)
        return cs_fail(err, EINVAL, "%s: a benchmark has no name", path);
    if (!(seconds > 0) || !isfinite(seconds))
        return cs_fail(err, EINVAL, "%s: a time of \"%.100s\" isn't a positive number", path, name);
    if (r->n == RESULTS_RUNS_MAX)
        return cs_fail(err, E2BIG, "%s has more than %d runs", path, RESULTS_RUNS_MAX);
    if (cs_array_room(r->at, r->n, r->capacity) < 0)
        return cs_fail(err, ENOMEM, "out of memory for the runs of %s", path);
    r->at[r->n++] = (struct result_time){name, seconds};
    assert(r->n <= RESULTS_RUNS_MAX);
    return 0;
}

static int add_list(struct result_times *r, const char *name, const json_t *times, const char *path,
                    struct cs_error *err)
{
    size_t i;
    json_t *time;
    int rc = 0;
    json_array_foreach(times, i, time)
    {
        if ((rc = results_add(r, name, json_is_number(time) ? json_number_value(time) : (double)NAN, path,
                              err)) < 0)
            break;
    }
    return rc;
}

/* hyperfine --export-json: the times of a command. */
static int read_hyperfine(struct result_times *r, const json_t *results, const char *path,
                          struct cs_error *err)
{
    size_t i;
    json_t *one;
    int rc = 0;
    json_array_foreach(results, i, one)
    {
        const json_t *times = json_object_get(one, "times");
        if (!json_is_array(times))
            return cs_fail(err, EINVAL, "%s: a result has no list of times", path);
        if ((rc = add_list(r, json_string_value(json_object_get(one, "command")), times, path, err)) < 0)
            break;
    }
    return rc;
}

static double unit_of(const char *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].seconds;
    return (double)NAN;
}

/* pytest-benchmark has its rounds in stats.data. Google Benchmark has one entry a repetition, besides aggregates. */
static int read_benchmark(struct result_times *r, const json_t *one, const char *path, struct cs_error *err)
{
    const json_t *stats = json_object_get(one, "stats"), *data = json_object_get(stats, "data");
    const char *name = json_string_value(json_object_get(one, "fullname"));
    if (!name)
        name = json_string_value(json_object_get(one, "name"));
    if (json_is_object(stats) && !json_is_array(data))
        return cs_fail(err, EINVAL,
                       "%s: \"%.100s\" has no single times; write them with --benchmark-save-data", path,
                       name ? name : "");
    if (json_is_array(data))
        return add_list(r, name, data, path, err);
    const char *type = json_string_value(json_object_get(one, "run_type"));
    if (type && strcmp(type, "iteration") != 0)
        return 0;
    const char *of = json_string_value(json_object_get(one, "run_name"));
    const json_t *time = json_object_get(one, "cpu_time");
    const double unit = unit_of(json_string_value(json_object_get(one, "time_unit")));
    return results_add(r, of ? of : name, json_is_number(time) ? json_number_value(time) * unit : (double)NAN,
                       path, err);
}

static int read_benchmarks(struct result_times *r, const json_t *list, const char *path, struct cs_error *err)
{
    size_t i;
    json_t *one;
    int rc = 0;
    json_array_foreach(list, i, one)
    {
        if ((rc = read_benchmark(r, one, path, err)) < 0)
            break;
    }
    return rc;
}

/* "BenchmarkParse-8   	 1000	 1234567 ns/op ...": with -count=N a line a run. Other lines are the tool's. */
static int read_go(struct result_times *r, const char *path, struct cs_error *err)
{
    int rc = 0;
    char *left = NULL;
    for (char *line = strtok_r(r->text, "\n", &left); rc == 0 && line; line = strtok_r(NULL, "\n", &left)) {
        char *field = NULL, *name = strtok_r(line, " \t\r", &field), *end;
        if (!name || strncmp(name, "Benchmark", 9) != 0)
            continue;
        const char *times = strtok_r(NULL, " \t\r", &field), *value = strtok_r(NULL, " \t\r", &field),
                   *unit = strtok_r(NULL, " \t\r", &field);
        if (!times || !value || !unit || strcmp(unit, "ns/op") != 0)
            continue;
        const double ns = strtod(value, &end);
        rc = results_add(r, name, *end ? (double)NAN : ns * 1e-9, path, err);
    }
    return rc;
}

static int read_text(struct result_times *r, const char *path, struct cs_error *err)
{
    struct stat st;
    int fd = cs_open_regular(NULL, path, RESULTS_BYTES_MAX, &st);
    if (fd == -EFBIG)
        return cs_fail(err, EFBIG, "%s has more than %d MB", path, RESULTS_BYTES_MAX >> 20);
    if (fd == -EINVAL)
        return cs_fail(err, EINVAL, "%s is no regular file", path);
    if (fd < 0)
        return cs_fail(err, -fd, "%s can't be read: %s", path, strerror(-fd));
    size_t size = (size_t)st.st_size, n = 0;
    r->text = malloc(size + 1);
    while (r->text && n < size) {
        ssize_t got = read(fd, r->text + n, size - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(fd);
    if (!r->text)
        return cs_fail(err, ENOMEM, "out of memory for %s", path);
    r->text[n] = '\0';
    if (n < size)
        return cs_fail(err, EIO, "%s can't be read to its end", path);
    if (strlen(r->text) != n)
        return cs_fail(err, EINVAL, "%s isn't text", path);
    return 0;
}

int results_open(struct result_times *r, const char *path, struct cs_error *err)
{
    json_error_t at;
    struct stat st;
    *r = (struct result_times){0};
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return results_read_criterion(r, path, err);
    int rc = read_text(r, path, err);
    if (rc < 0)
        return rc;
    const char *first = r->text + strspn(r->text, " \t\r\n");
    if (*first == '{') {
        r->root = json_loads(r->text, JSON_REJECT_DUPLICATES, &at);
        const json_t *results = json_object_get(r->root, "results"),
                     *benchmarks = json_object_get(r->root, "benchmarks");
        if (!r->root)
            rc = cs_fail(err, EINVAL, "%s isn't JSON, line %d: %.100s", path, at.line, at.text);
        else if (json_is_array(results))
            rc = read_hyperfine(r, results, path, err);
        else if (json_is_array(benchmarks))
            rc = read_benchmarks(r, benchmarks, path, err);
        else
            rc = cs_fail(err, EINVAL,
                         "%s is of none of the known tools: hyperfine, pytest-benchmark, Google Benchmark, "
                         "Criterion, go test",
                         path);
    } else {
        rc = read_go(r, path, err);
    }
    if (rc == 0 && !r->n)
        rc = cs_fail(err, ENODATA, "%s has no times of single runs", path);
    return rc;
}

void results_close(struct result_times *r)
{
    json_decref(r->root);
    free(r->text);
    free(r->at);
    *r = (struct result_times){0};
}
