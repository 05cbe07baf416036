/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several observers at once: each tells the others which CPUs are its own, so that the next one takes a free
 * pair. A claim is an abstract socket's name that holds as long as the process has it open. Nothing is left
 * behind, whatever becomes of the process. It keeps nobody out; who finds no free pair shares one and says
 * so. Claims are seen within a network namespace. */
#pragma once

#include "observer/target/placement.h"

struct cs_claims {
    int target, observer; /* sockets, -1 = none */
};

/* CPUs that other observers have for themselves or for their targets, of the first `cpus`. */
void cs_claims_taken(unsigned cpus, struct cs_cpu_set *taken);
/* Claims both CPUs; false when somebody else has one (then none is claimed). */
bool cs_claims_open(const struct cs_placement *p, struct cs_claims *claims);
void cs_claims_close(struct cs_claims *claims);
