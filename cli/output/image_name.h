/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every report calls an image. */
#pragma once

#include "store/store.h"

/* The file's base name, or what stands for it: "[kernel]". Lives as long as `image`. */
const char *image_name(const struct cs_store_image *image);
