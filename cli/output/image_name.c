/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last part of a path. */
#include "cli/output/image_name.h"

#include "store/base/text.h"

#include <assert.h>

const char *image_name(const struct cs_store_image *image)
{
    assert(image->path);
    return cs_base_name(image->path);
}
