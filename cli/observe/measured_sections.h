/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program measured of itself (signals/cyclescope_measure.h), for hist --sections. */
#pragma once

#include "cli/output/output.h"

/* Prints all sections of the file, or the one of that name. Returns an exit code; it has said why. */
int measured_sections_print(struct output *out, const char *path, const char *only);
