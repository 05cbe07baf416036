/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CS_SAMPLER_BURST_IMAGE_H
#define CS_SAMPLER_BURST_IMAGE_H

#include <stddef.h>

/* An ELF executable; NULL on architectures that have none. */
const unsigned char *cs_burst_image(size_t *size);

#endif
