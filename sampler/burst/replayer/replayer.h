/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that runs the target's code over copies of its pages, and has no rights. It runs as the user of the
 * target or nobody, without capabilities and without root's groups. Its only files are the target's memory and its list
 * of pages, to be read. It has the few system calls that give_up_rights.c allows. An attacker who takes it over has
 * what the target had anyway.
 *
 * The code is run by translator/, what it left is read by trace/. A file calls only files above it.
 *
 * Files of this module:
 *   address_space   an address space that holds nothing but the replayer
 *   give_up_rights  from there on this process can do next to nothing
 *   replayer        starts with nothing, then answers the holder's questions
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern bool have_fsgsbase; /* start.c learns it */
/* In a process of its own, whose parent is the holder: gives up all rights, as this user and group or less,
 * and serves. */
_Noreturn void replayer_main(int32_t parent, uint32_t uid, uint32_t gid);
