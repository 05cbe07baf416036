/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few instructions of the observer that differ by architecture; the only place that asks which it is. */
#ifndef CS_OBSERVER_ARCH_H
#define CS_OBSERVER_ARCH_H

#if defined(__x86_64__)
#include "observer/source/arch_x86_64.h"
#elif defined(__aarch64__)
#include "observer/source/arch_aarch64.h"
#else
#error "cyclescope runs on x86-64 and AArch64"
#endif

#endif
