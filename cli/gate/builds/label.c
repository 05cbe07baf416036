/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A binary may say which build it is. The note is specified by the UAPI group ("Package Metadata for Executable Files"): owner
 * FDO, JSON. Go writes the module's revision as a line into a section of its own (debug/buildinfo). */
#include "cli/gate/builds/builds.h"

void gate_build_label(const struct cs_image_code *code, struct gate_build *build)
{
    size_t n = 0;
    const uint8_t *at = cs_image_section(code, ".note.package", &n);
    if (at)
        gate_label_of_package(at, n, build);
    at = cs_image_section(code, ".go.buildinfo", &n);
    if (at)
        gate_label_of_go(at, n, build);
}
