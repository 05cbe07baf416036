/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the compiler and libZydis call by themselves, in a program without libc. */
#pragma once

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *text);
