/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runner (runner/runner.h) as the bytes of an ELF executable, which the profiler carries along. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* A position-independent executable; NULL on architectures that have none. */
const unsigned char *cs_burst_image(size_t *size);
/* The same, made to run at an address drawn at random where this process has nothing: to be freed. NULL, errno. */
unsigned char *cs_burst_image_for(pid_t pid, size_t *size);
