// SPDX-License-Identifier: GPL-2.0-or-later
/* The same for Linux 5.8 to 5.16 (chains/kernel_age.bpf.h): the same maps and variables, in the same places. */
#define CS_OLD_KERNEL
#include "sampler/driver/aggregate.bpf.c"
