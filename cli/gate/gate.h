/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verdict for a pipeline: is the head slower than the base? Here two stores are judged, by what their runs used. The folders
 * hold what else gate needs, and none of them includes this one:
 *   verdict/  what is judged, and the verdicts: start there
 *   turns/    runs base and head
 *   builds/   two builds of one program in one store
 *   results/  files of benchmark tools
 *   causes/   the cause that grew
 *   report/   the answer in each form
 *
 * Files of this module:
 *   gate        the subcommand gate; its header has the verdicts by two stores
 *   judge       from the evidence to the three measures
 *   apart       what the machine may have to do with runs that didn't take turns
 *   evidence    what each run of two stores used, without a shell's wait for its only child
 *   wait_kinds  all waits of a run, by kind, exactly
 *   off_cpu     waiting and time in the kernel, by runs that nothing recorded
 *   wait_places  the lines of waits that grew
 *   counted     runs that counted their instructions
 *   guilty      functions and lines that grew
 *   in_kernel   time in the kernel, by the program's lines that made it
 *   notes       what a reader has to know of how the verdict came about
 *   shares      the verdict on two builds by epochs of a daemon */
#pragma once

#include "cli/gate/verdict/verdict.h"
#include "store/base/error.h"

/* Every recording of two stores is a run of its side. 0 or negative errno with its sentence. */
int gate_compare_stores(struct gate *gate, struct cs_error *err);
/* The verdict by the shares of the program's functions, for epochs of a daemon. */
int gate_compare_shares(struct gate *gate, struct cs_error *err);
