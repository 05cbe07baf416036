/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of doctor's rules share; nobody else includes it. */
#pragma once

#include "cli/doctor/finding.h"

#include <errno.h>

#define SAY(f, ...) snprintf((f)->value, sizeof(f)->value, __VA_ARGS__)

extern const char doctor_paranoid_help[], doctor_seccomp_help[];

static inline bool doctor_refused(uint64_t error)
{
    return error == EACCES || error == EPERM;
}

void judge_paranoid(const struct machine *m, struct finding *f);
void judge_rate(const struct machine *m, struct finding *f);
void judge_bpf(const struct machine *m, struct finding *f);
void judge_btf(const struct machine *m, struct finding *f);
void judge_waits(const struct machine *m, struct finding *f);
void judge_regs(const struct machine *m, struct finding *f);
void judge_lbr(const struct machine *m, struct finding *f);
void judge_precise(const struct machine *m, struct finding *f);
void judge_breakpoints(const struct machine *m, struct finding *f);
void judge_seccomp(const struct machine *m, struct finding *f);
void judge_ptrace_scope(const struct machine *m, struct finding *f);
void judge_lockdown(const struct machine *m, struct finding *f);
void judge_hidden(const struct machine *m, struct finding *f);
void judge_cgroups(const struct machine *m, struct finding *f);
