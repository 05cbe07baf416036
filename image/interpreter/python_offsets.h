/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where CPython keeps what, in bytes. Plain structs, so that a reader in the kernel may share them. From the headers of
 * each version (Include/internal/pycore_*.h, Include/cpython/code.h), on 64-bit machines. The test
 * tests/integration/python_chains.sh checks them against running interpreters. */
#pragma once

#include <linux/types.h>

#define CS_PYTHON_NO_OFFSET 0xffff

struct cs_python_offsets {
    __u32 version; /* major << 8 | minor */
    /* _PyRuntime → interpreters → threads */
    __u16 interpreters, interpreter_next, threads, thread_next, thread_id;
    __u16
        c_frame; /* 3.11, 3.12: the thread's C frame, which has the current frame; else CS_PYTHON_NO_OFFSET */
    __u16 current_frame; /* in the C frame, or in the thread */
    /* a frame */
    __u16 frame_code, frame_previous, frame_owner, frame_globals;
    __u16 frame_is_entry; /* 3.11; else CS_PYTHON_NO_OFFSET: the frame behind the first is a shim */
    __u16 owner_of_shims; /* its frame_owner */
    /* a code object */
    __u16 code_qualname, code_filename, code_first_line;
    /* a string */
    __u16 string_ascii, string_other; /* where characters begin */
};
