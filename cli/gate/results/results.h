/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that benchmark tools write: the times of single runs, by benchmark. A file is bounded in bytes, and what is read of it in
 * benchmarks and runs.
 *
 * Files of this module:
 *   results    two files compared: a check for each benchmark
 *   format     the formats of the tools
 *   criterion  ... Criterion's folder */
#pragma once

#include "cli/gate/verdict/verdict.h"
#include "store/base/error.h"

#include <jansson.h>

#define RESULTS_BYTES_MAX (64 << 20)
#define RESULTS_BENCHMARKS_MAX 10000
#define RESULTS_RUNS_MAX 1000000 /* of a file */

struct result_time {
    const char *name; /* the file's, until it is closed */
    double seconds;
};

struct result_times {
    json_t *root;
    char *text; /* of a format that is lines */
    struct result_time *at;
    size_t n, capacity;
};

/* One run's time, or why the file is refused. */
int results_add(struct result_times *results, const char *name, double seconds, const char *path,
                struct cs_error *err);
int results_read_criterion(struct result_times *results, const char *folder, struct cs_error *err);
/* hyperfine's and pytest-benchmark's JSON, Google Benchmark's (--benchmark_out_format=json), Go's `go test -bench` text, and Criterion's folder. 0, or
 * negative errno with its sentence. */
int results_open(struct result_times *results, const char *path, struct cs_error *err);
void results_close(struct result_times *results);

/* Two files of one benchmark tool. */
int gate_compare_results(struct gate *gate, struct cs_error *err);
