/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The burst runner's executable, carried in ours: it is started from an anonymous file. */
#include "sampler/burst/runner_image.h"

#ifdef CS_BURST_RUNNER
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "cs_burst_image_bytes: .incbin \"" CS_BURST_RUNNER "\"\n"
        "cs_burst_image_end:\n"
        ".popsection\n");

extern const unsigned char cs_burst_image_bytes[], cs_burst_image_end[];

const unsigned char *cs_burst_image(size_t *size)
{
    *size = (size_t)(cs_burst_image_end - cs_burst_image_bytes);
    return cs_burst_image_bytes;
}
#else
const unsigned char *cs_burst_image(size_t *size)
{
    *size = 0; /* none for this architecture */
    return NULL;
}
#endif
