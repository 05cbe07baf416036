/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Labels: what profiles are kept apart by besides image and event. A label is a small number; 0 is "".
 * One owner, no locking. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cs_labels;
struct cs_labels *cs_labels_open(void);
void cs_labels_close(struct cs_labels *labels);
/* The number of a text, new or known; 0 when memory is short (the samples then go without a label). A text that
 * a profile's head can't hold is shortened first: "…its end~hash of the whole". Paths of cgroups differ at their
 * ends (all pods of a node begin alike), and two long ones stay two. */
uint32_t cs_labels_number(struct cs_labels *labels, const char *text);
/* The same, but where there are `most` already, a text that isn't among them is "(others)". */
uint32_t cs_labels_number_within(struct cs_labels *labels, const char *text, uint32_t most);
const char *cs_labels_text(const struct cs_labels *labels, uint32_t number);

/* Path of a process's cgroup (unified hierarchy, else the first named one), "" when it can't be read. */
void cs_labels_cgroup_of(const char *proc, pid_t pid, char *out, size_t size);
/* Makes of such a path, in place, what a person calls it by: "docker 0123456789ab", "pod 01234567 cri-containerd
 * 0123456789ab" (the first twelve digits of the container's id, as its runtime shows it), "nginx.service"; other paths stay. */
void cs_labels_container_of(char *path);
