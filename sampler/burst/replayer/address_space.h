/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An address space that holds nothing but the replayer. */
#pragma once

void leave_only_ourselves(void);
