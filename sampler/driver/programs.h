/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF programs of aggregate.bpf.c as this kernel takes them. One source has two builds (chains/kernel_age.bpf.h),
 * with the same maps and variables. Internal to the module. */
#pragma once

#include "sampler/chains/kernel_tables.h"
#include "sampler/driver/aggregate.h"
#include "sampler/waits/wait_records.h"

#include <stdbool.h>
#include <stddef.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* generated code */
#include "sampler/driver/aggregate.skel.h"
#pragma GCC diagnostic pop

/* The kernel has no bpf_loop: it takes the old ones. Nothing of libbpf's is printed from now on. */
bool cs_programs_are_old(void);

/* Opened, not loaded; NULL and errno. `log` (CS_PROGRAMS_LOG bytes, or NULL) gets what the verifier says of what it refuses. */
#define CS_PROGRAMS_LOG (16U << 20)
struct aggregate_bpf *cs_programs_open(bool old, char *log);

/* Of that the sentence that names the reason. Empty: there is none. Changes `log`. */
void cs_programs_refusal(char *log, char *out, size_t size);
