/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The observer in a process that can start a session of its own (observer/target/fair_share.h). A shell's job
 * leads a process group, and may not. */
#pragma once

#include <stdbool.h>

/* Forks. False in the child, which observes, and also where there is no second process: go on then. True in the
 * parent when the child has ended, with its exit code: signals that end us were handed on to it. */
bool own_session_parent(int *exit_code);
