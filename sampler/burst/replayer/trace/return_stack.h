/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A processor's return stack: each call pushes the address behind it, each return is guessed to go to the
 * youngest. It is a ring. A call deeper than its places overwrites the oldest, and returns from beyond find
 * what deeper calls left there. With one call site that is right all the same, as measured on Zen 4. What the
 * ring held when a burst began isn't recorded, so the first returns below that depth are neither right nor
 * wrong. One owner. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RETURN_STACK_PLACES_MAX = 64 };

enum return_outcome {
    RETURN_UNKNOWN,   /* its call is older than the burst */
    RETURN_RIGHT,     /* as guessed */
    RETURN_TOO_DEEP,  /* wrong: the place of its call was taken by a deeper call */
    RETURN_ELSEWHERE, /* wrong: its place held another call, as where stacks are switched */
};

struct return_stack_model {
    unsigned places; /* 0: a processor that nobody looked into, and no return is wrong */
    bool falls_back; /* beyond its places it guesses where this return went last */
};

struct return_stack {
    uint64_t place[RETURN_STACK_PLACES_MAX]; /* 0 = not known */
    struct return_stack_model model;
    unsigned top;  /* of the next call */
    unsigned kept; /* calls of this burst that nobody has returned from or overwritten */
};

void return_stack_begin(struct return_stack *stack, struct return_stack_model model);
/* A call of the next instruction only asks for its own address: processors don't push that. */
void return_stack_call(struct return_stack *stack, uint64_t to, uint64_t after);
/* `last`: where this instruction returned to the time before, 0 = nowhere yet. */
enum return_outcome return_stack_return(struct return_stack *stack, uint64_t to, uint64_t last);

/* Pure: of a processor by vendor ("AuthenticAMD") and family. */
struct return_stack_model return_stack_model_of(const char vendor[12], unsigned family);
struct return_stack_model return_stack_model_here(void);
