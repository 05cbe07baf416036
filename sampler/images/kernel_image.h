/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a kernel address lies: the kernel proper ("[kernel]", offset from _text), a module (offset from its
 * base), or a BPF program. That is an image of its own, because its address changes with every load. Names
 * come from /proc/kallsyms while sampling, because the next boot has other addresses; only those sampled
 * are kept.
 *
 * kptr_restrict or lack of rights hide addresses: then everything is one image and unknown, and `reason`
 * says it. One owner. */
#pragma once

#include "sampler/images/images.h"

struct cs_kernel;

/* `proc` and `sys` are "/proc" and "/sys" but in tests. What lies where is read with the first address that
 * is asked for: by then the command runs. BPF programs are looked for with the first that is in neither the
 * kernel nor a module. */
struct cs_kernel *cs_kernel_open(struct cs_images *images, const char *proc, const char *sys);
void cs_kernel_close(struct cs_kernel *kernel);
const char *cs_kernel_reason(const struct cs_kernel *kernel); /* "" when addresses are known */
/* Modules or BPF programs came or went: read again when next needed. */
void cs_kernel_changed(struct cs_kernel *kernel);

/* Finding this address will take a pass over all of /proc/kallsyms, some 70 ms. */
bool cs_kernel_must_read(const struct cs_kernel *kernel, uint64_t addr);

/* 0, or -(1 + CS_UNKNOWN_KERNEL). */
int cs_kernel_find(struct cs_kernel *kernel, uint64_t addr, struct cs_mapped_image **image, uint64_t *offset);

/* Puts the names of the procedures at the addresses found since the last call into the store. When there are
 * new ones they are asked of the kernel (kernel_symbol.h), or, where that is not permitted, looked for in one
 * pass over /proc/kallsyms. */
int cs_kernel_name(struct cs_kernel *kernel, struct cs_store *store, struct cs_error *err);
