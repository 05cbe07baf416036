/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An address space that holds nothing but the replayer. */
#ifndef CS_SAMPLER_BURST_REPLAYER_ADDRESS_SPACE_H
#define CS_SAMPLER_BURST_REPLAYER_ADDRESS_SPACE_H

void leave_only_ourselves(void);

#endif
