/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One open and one unpacking of debug information an image, for all readers of a store. The images used last stay open
 * until the store is closed. For one thread. */
#pragma once

#include "image/code.h"

/* As cs_image_open; the caller closes it by cs_image_close as always. `store` NULL: it isn't kept. */
int cs_image_open_shared(const struct cs_store_image *image, struct cs_store *store,
                         struct cs_image_code **out, struct cs_error *err);
