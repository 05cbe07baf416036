/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a kernel address lies: the kernel proper ("[kernel]", offset from _text), a module (offset from its
 * base), a BPF program (an image of its own, because its address changes with every load). Names come from
 * /proc/kallsyms while sampling, because the next boot has other addresses; only those sampled are kept.
 *
 * kptr_restrict or lack of rights hide addresses: then everything is one image and unknown, and `reason`
 * says it. One owner. */
#ifndef CS_SAMPLER_KERNEL_IMAGE_H
#define CS_SAMPLER_KERNEL_IMAGE_H

#include "sampler/images.h"

struct cs_kernel;

/* `proc` and `sys` are "/proc" and "/sys" but in tests. What lies where is read with the first address that
 * is asked for: by then the command runs. */
struct cs_kernel *cs_kernel_open(struct cs_images *images, const char *proc, const char *sys);
void cs_kernel_close(struct cs_kernel *kernel);
const char *cs_kernel_reason(const struct cs_kernel *kernel); /* "" when addresses are known */
/* Modules or BPF programs came or went: read again when next needed. */
void cs_kernel_changed(struct cs_kernel *kernel);

/* The next unknown address costs a pass over /proc/kallsyms, some 25 ms. */
bool cs_kernel_is_stale(const struct cs_kernel *kernel);

/* 0, or -(1 + CS_UNKNOWN_KERNEL). */
int cs_kernel_find(struct cs_kernel *kernel, uint64_t addr, struct cs_mapped_image **image, uint64_t *offset);

/* Puts the names of the procedures at the addresses found since the last call into the store. Costs one pass
 * over /proc/kallsyms, and only when there are new ones. */
int cs_kernel_name(struct cs_kernel *kernel, struct cs_store *store, struct cs_error *err);

#endif
