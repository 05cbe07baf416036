/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the target's memory map, for the replayer. */
#pragma once

/* 0, 1 when it changed, -1 when the target is gone. */
int regions_refresh(void);
