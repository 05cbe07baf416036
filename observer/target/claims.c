/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/target/claims.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A socket with the CPU's name, -1 when somebody has it. */
static int claim(unsigned cpu)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "cyclescope-observer-cpu-%u", cpu);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&name,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void cs_claims_taken(unsigned cpus, struct cs_cpu_set *taken)
{
    memset(taken, 0, sizeof *taken);
    for (unsigned cpu = 0; cpu < cpus && cpu < 8 * sizeof *taken; cpu++) {
        int fd = claim(cpu);
        if (fd < 0)
            taken->bits[cpu / (8 * sizeof taken->bits[0])] |= 1ul << cpu % (8 * sizeof taken->bits[0]);
        else
            close(fd);
    }
}

bool cs_claims_open(const struct cs_placement *p, struct cs_claims *claims)
{
    assert(p->target != p->observer);
    claims->target = claim(p->target);
    claims->observer = claim(p->observer);
    if (claims->target >= 0 && claims->observer >= 0)
        return true;
    cs_claims_close(claims);
    return false;
}

void cs_claims_close(struct cs_claims *claims)
{
    if (claims->target >= 0)
        close(claims->target);
    if (claims->observer >= 0)
        close(claims->observer);
    claims->target = claims->observer = -1;
}
