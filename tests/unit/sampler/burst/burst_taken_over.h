/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an attack has agreed on: the target, the replayer that it took over, and the program with rights. */
#ifndef CS_TESTS_UNIT_SAMPLER_BURST_BURST_TAKEN_OVER_H
#define CS_TESTS_UNIT_SAMPLER_BURST_BURST_TAKEN_OVER_H

#define CHOSEN 0x20000000UL /* where both programs have a page */
#define PROBES 0x30000000UL /* pages of a file: absent, until the replayer touches one */
#define OWN 0x7777777777777777UL
#define SECRET 0x9e9e9e9e9e9e9e9eUL /* fills the page, and the registers, of the program with rights */
/* What the replayer passes on: by pages that it touches, and by gigabytes of its address space. */
enum { PROBE_OWN = 1, PROBE_SECRET = 8, N_PROBES = 16 };

#endif
