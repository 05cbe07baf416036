/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of a machine, this one or a recorded one. */
#pragma once

#include "cli/doctor/machine.h"

/* First bytes of ROOT/path, trailing blanks cut; false when it can't be read. */
bool machine_read_file(const struct machine *machine, const char *path, char *text, size_t capacity);
