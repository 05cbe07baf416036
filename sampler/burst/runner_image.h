/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runner (runner/start.c) as the bytes of an ELF executable, which the profiler carries along. */
#ifndef CS_SAMPLER_BURST_RUNNER_IMAGE_H
#define CS_SAMPLER_BURST_RUNNER_IMAGE_H

#include <stddef.h>

/* An ELF executable; NULL on architectures that have none. */
const unsigned char *cs_burst_image(size_t *size);

#endif
