/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures of graphs by graphviz's library, which is loaded when the first one is asked for. */
#pragma once

#include "store/base/error.h"

#include <stdio.h>

/* Renders a graph in the dot language as "svg" or "ps". */
int graph_render(const char *dot, const char *format, FILE *to, struct cs_error *err);
