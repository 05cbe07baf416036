/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last part of a path. */
#include "cli/output/image_name.h"

#include <string.h>

const char *image_name(const struct cs_store_image *image)
{
    const char *slash = strrchr(image->path, '/');
    return slash && slash[1] ? slash + 1 : image->path;
}
