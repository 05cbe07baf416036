/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/images/moved_text.h"
#include "store/base/foreign.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#define PROBES 16u
#define PROBE_BYTES 64u
#define ALIKE_MIN 12u /* a debugger or a static key may have written some */

/* Whether the file has code at `pgoff` that an executable segment holds. */
static bool is_code(const struct cs_image_segments *layout, uint64_t pgoff)
{
    for (unsigned i = 0; i < layout->n_segments; i++) {
        const struct cs_image_segment *s = &layout->segments[i];
        if (s->executable && pgoff >= (s->file_offset & ~UINT64_C(4095)) &&
            pgoff < s->file_offset + s->file_size)
            return true;
    }
    return false;
}

bool cs_text_was_moved(const struct cs_images *images, const struct cs_mapped_image *image,
                       const struct cs_mapped_file *beside, uint64_t start, uint64_t end, uint64_t pgoff)
{
    assert(start < end);
    unsigned alike = 0, told = 0;
    if (image->image.kind != CS_IMAGE_ELF || !image->placeable || !image->layout.is_elf ||
        !is_code(&image->layout, pgoff))
        return false;
    int file = cs_images_reopen(images, image, beside->pid, beside->start, beside->end);
    for (unsigned i = 0; file >= 0 && i < PROBES; i++) {
        char there[PROBE_BYTES], here[PROBE_BYTES];
        const uint64_t at = (end - start) / PROBES * i;
        if (!is_code(&image->layout, pgoff + at) ||
            !cs_foreign_memory(beside->pid, start + at, there, sizeof there) ||
            pread(file, here, sizeof here, (off_t)(pgoff + at)) != sizeof here)
            continue;
        told++;
        alike += memcmp(there, here, sizeof here) == 0;
    }
    if (file >= 0)
        close(file);
    return told > 0 && alike * PROBES >= told * ALIKE_MIN;
}
