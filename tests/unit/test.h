/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmocka, with what it needs before it, and the head of a test: TEST(a_sentence) { ... }. */
#ifndef CS_TESTS_UNIT_TEST_H
#define CS_TESTS_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) static void name(__attribute__((unused)) void **cmocka_state_)

#endif
