/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answer in each form.
 *
 * Files of this module:
 *   report    text and JSON
 *   builds    ... the two builds as tables
 *   markdown  Markdown for a pull request, and annotations
 *   sarif     SARIF
 *   junit     JUnit XML */
#pragma once

#include "cli/gate/builds/builds.h"
#include "cli/output/output.h"

/* A file below the current folder without that folder, as pipelines name files; else as it is. */
const char *gate_relative(const char *file);
/* An exit code of output_close. */
int gate_report(const struct parsed *args, const struct gate *gate);
int gate_markdown(const struct gate *gate, FILE *to);
void gate_annotations(const struct gate *gate, FILE *to);
int gate_sarif(const struct gate *gate, FILE *to);
int gate_junit(const struct gate *gate, FILE *to);
void gate_report_builds(struct output *out, const struct gate_builds *builds);
