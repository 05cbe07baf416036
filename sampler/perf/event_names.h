/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the name of an event stands for. Three kinds of names are known. They are libpfm4's ("INST_RETIRED:ANY_P",
 * "skl::INST_RETIRED", "perf::cycles"), and perf's ("inst_retired.any_p", "LLC-load-misses"). Intel's of the
 * fixed counters are known, too ("INST_RETIRED:ANY"). Perf's modifiers come in one word or several ("cycles:u",
 * "cycles:ukpp", "instructions:t"). Pure but for libpfm4's own state. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>

/* 0, or libpfm4's code. *any_thread: the name asks for both hardware threads of a core (`t`); the attributes don't have
 * that bit. */
int cs_event_encode(const char *name, struct perf_event_attr *attr, bool *any_thread);

/* Visits the kernel's generic events and those that libpfm4 knows for this machine, with a line of what each means. The names
 * of the latter begin with the model ("skl::"). Stops at a negative return. */
int cs_event_names_each(int (*visit)(void *arg, const char *name, const char *meaning), void *arg);
