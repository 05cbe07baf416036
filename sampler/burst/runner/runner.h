/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The burst runner: repeats natively, in an address space of its own, what a held thread is about to do.
 *
 * The runner is a process that contains nothing but itself, in [CS_BURST_BASE, + CS_BURST_SPAN). Copies of
 * the target's pages appear *at their own addresses* on first touch, so that instructions run unchanged, with
 * any extension that the machine has; only control transfers are translated, into code that notes the block
 * and goes to the translation of the target. A block of the target becomes, in the code cache:
 *
 *     note the block's number and, in slots, those registers that its memory operands need
 *     instructions, copied; a register that has changed before an operand needs it is noted there
 *     branch: to a translation, or to a mark, a place that can't be run, where the signal handler makes one
 *
 * Nothing counts instructions: the trace has room for as many bytes as that many instructions of this program
 * have lately taken, and ends in a page that can't be written; what is too much is cut off afterwards. None
 * of what is added changes a flag.
 *
 * Every way into and out of translated code is a page fault, which becomes a signal: a jump to a mark enters
 * (the handler puts the target's registers into the signal frame), touched pages are brought, jumps to other
 * marks ask for translations, and the end restores the runner's own frame. The kernel saves and restores the
 * whole vector state on the way. Page faults, because they are the one exception that a hypervisor leaves
 * alone: 3.5 us from there to the handler and back, where `ud2` takes 11.
 *
 *   file         what
 *   start.c      entry, own stack, what the kernel mapped is unmapped, the loop over commands
 *   decoder.c    loads libZydis's shared object into the runner
 *   regions.c    the target's memory map
 *   pages.c      copies of data pages and of code pages; windows.c where data pages come and go for less
 *   translate.c  blocks; instruction.c what an instruction is; plan.c which registers to note
 *   enter.c      signal handlers: in, out, faults, misses
 *   hold.c       holding a thread without its noticing
 *   pace.c       how fast it runs natively, once let go, what the burst has followed
 *   watch.c      by words of its memory, read meanwhile; history.c when the trace changes them; progress.c
 *                where it was
 *   awake.c      keeps the CPU of the held thread from sleeping; warm.c gives it its caches back
 *   match.c      by its registers, where a trace writes nothing; stretch.c when to look
 *   digest.c     trace to rows; touch.c, predict.c what memory and branches did
 *   verify.c     compares a trace with single-stepping
 *
 * A *paced* burst goes on for some hundred thousand instructions, so that its trace covers what the thread
 * does in the next tenths of a millisecond. The thread is let go and watched from here while it runs what was
 * followed: how many instructions it ran in how much time. Nothing stops it again. Edges come from the whole
 * trace, other rows from its beginning, as of any burst.
 *
 * One thread runs at a time; all state is static, because the process is nothing else than this state. */
#ifndef CS_BURST_RUNNER_H
#define CS_BURST_RUNNER_H

#include "sampler/burst/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE 4096ULL

/* ---- regions.c ---- */
enum region_kind { REGION_FILE, REGION_ANONYMOUS, REGION_STACK, REGION_CLOCK, REGION_VDSO };
struct region {
    uint64_t start, end;
    uint64_t identity; /* changes with file, position in the file and permissions */
    bool r, w, x, shared;
    uint8_t kind;
};
/* Reads the map again. 0, 1 when it changed, -1 when the target is gone, -2 when it uses the runner's
 * addresses. */
int regions_refresh(void);
const struct region *region_at(uint64_t addr);          /* NULL: none known */
const struct region *region_stack_above(uint64_t addr); /* the stack, if growing it downwards reaches addr */
uint64_t region_identity(const struct region *region, uint64_t addr);

/* ---- pages.c ---- */
/* Brings the data page of `addr` in. CS_BURST_FULL when done, else the cause that ends the burst. */
enum cs_burst_cause page_in(uint64_t addr, bool write);
unsigned pages_refresh(pid_t pid); /* copies the kept working set again; how many pages */
void pages_rewind(void);           /* a long burst: to where it began; from now on no page is brought */
void pages_warm(void);             /* what a long burst needs room for, before anything is held */
void pages_settle(void);           /* after a burst: drops what is not worth keeping */
void pages_forget_changed(void);
void page_touched(uint64_t addr);
/* Of a long burst: a word as it was when the thread stood, and as the burst left it. False: not of a page
 * that the target can write. */
bool page_word(uint64_t addr, uint64_t *before, uint64_t *after);
uint64_t
page_changed_word(uint64_t random); /* one that it changed, on a page chosen by `random`; 0: none there */
void page_make_writable(uint64_t addr);
extern unsigned pages_faulted;
extern bool pages_many; /* a long burst: a fault brings the pages around it, too */

/* Up to 15 bytes of code at `addr`; how many. */
unsigned code_bytes(uint64_t addr, uint8_t bytes[15]);
void code_ran(uint64_t from, uint64_t to); /* marks the pages of [from, to) */
bool code_is_at(uint64_t addr);            /* is code of this page translated? */
bool code_unchanged(void);                 /* compares marked pages with the target; clears marks */
void code_forget(void);                    /* forgets all copies */
bool code_moved(void);                     /* do copied pages belong to other regions now? */

/* ---- windows.c ---- */
#define WINDOW_BRING_MAX (8 * PAGE)
void windows_open(void);
void window_make(const struct region *region, uint64_t addr); /* over all of the region, if it can be */
bool window_at(uint64_t addr, uint64_t *from, uint64_t *to);
/* Copies of pages that are not there yet, at most WINDOW_BRING_MAX within one window. How many bytes, whole
 * pages, could be read; -1: none brought. */
long window_bring(uint64_t from, uint64_t to);
void window_drop(uint64_t addr); /* at the latest by the next window_drop_done() */
void window_drop_done(void);
void windows_forget_changed(void); /* those of regions that are gone, with the pages that they hold */

/* ---- translate.c ---- */
enum { END_COND, END_IJUMP, END_ICALL, END_RET, END_JUMP, END_CALL, END_FALL, END_STOP };
enum { OP_READ = 1, OP_WRITE = 2, OP_FS = 4, OP_REPEAT = 8, OP_GS = 16, OP_ADDRESS32 = 32 };
struct memory_op { /* address = slot[base] + slot[index] * scale + disp */
    int64_t disp;
    uint16_t size;    /* bytes */
    uint16_t insn;    /* number of the instruction in its block */
    uint16_t address; /* registers that the address is made of, bit = number */
    uint8_t base, index, scale, flags, count_slot;
};
#define NO_SLOT 255
struct insn_note {
    uint16_t offset;        /* bytes from the block's start */
    uint16_t reads, writes; /* general registers, bit = number */
    bool stack_moves;       /* the stack pointer, by `stack` and nothing else */
    bool repeats;           /* a string instruction, which may be interrupted in its middle */
    int32_t stack;
};
struct slot_note { /* what a slot holds: this register's value before this instruction; AT_START: the first */
    uint16_t insn;
    uint8_t reg; /* 16 and above: words of the stack, from its top */
};
#define AT_START 0xffff
#define STACK_WORDS 64
#define NOTED_WORD (16 + STACK_WORDS) /* and above: words that are watched */
struct block {
    uint64_t pc, branch; /* start; last instruction */
    uint64_t taken;      /* of a direct branch */
    uint8_t *code;
    uint32_t first_op, first_note, first_slot;
    uint16_t n_ops, n_insns, n_slots, bytes;
    uint8_t end, cause, last_length;
};
extern struct block blocks[];
extern struct memory_op memory_ops[];
extern uint32_t n_ops;
extern struct insn_note insn_notes[];
extern struct slot_note slot_notes[];
/* The translation of the block at pc, made if need be; jumps to it that waited are linked. NULL: see
 * translate_cause. */
struct block *translate(uint64_t pc);
extern enum cs_burst_cause translate_cause;
extern unsigned blocks_translated;
bool translations_full(void);
void translations_flush(void);
uint8_t *translation_target(struct block *block);
uint64_t translation_link_target(uint32_t link);
void translation_remember_indirect(const struct block *block);
void translations_expand(const uint32_t *executed, unsigned n,
                         unsigned levels); /* translates what may come next */
/* Another translation of each of these blocks that also notes, before the instructions at the given
 * addresses, registers (bit = number) and words of the stack, in the place of the present one until
 * translations_unprobe(). */
struct probe {
    uint64_t pc;
    uint32_t registers, words; /* of the stack */
    uint32_t watched;          /* words that are watched, bit = number; the address is a block's first */
};
void translations_probe(const uint32_t *numbers, unsigned n, const struct probe *probes, unsigned n_probes);
void translations_unprobe(void);
/* Marks: addresses of the runner's own that nothing can be run at, one for each reason why translated code
 * leaves. Only translated code and run_burst() get there: the target's jumps go to translations. */
#define BLOCKS_MAX 65536
#define LINKS_MAX 131072
enum {
    MARK_ENTER,
    MARK_INDIRECT,                      /* to hot.target, which isn't among the targets known */
    MARK_STOP,                          /* + number of the block that ends the burst */
    MARK_MISS = MARK_STOP + BLOCKS_MAX, /* + number of the link that waits for its target's translation */
    MARKS = MARK_MISS + LINKS_MAX
};
extern uint8_t marks[];
bool in_cache(uint64_t addr);

/* Read and written by translated code. */
struct hot {
    uint64_t save[4];
    uint64_t cursor, target, jump;
};
extern struct hot hot;

/* ---- enter.c ---- */
struct registers { /* as PTRACE_GETREGSET gives them */
    uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs,
        eflags, rsp, ss, fs_base, gs_base, ds, es, fs, gs;
};
/* The trace: records of a block number (32 bits) and the block's slots (64 bits each), without gaps. */
#define TRACE_BYTES (32ULL << 20)
struct run {
    enum cs_burst_cause cause;
    const uint8_t *start, *end; /* of the trace */
    uint64_t next;              /* address where it stopped */
    bool last_partial;          /* the last block was left in its middle */
};
void signals_install(void);
void trace_warm(void); /* before a long burst */
void signals_thread(void *stack, uint64_t bytes);
/* Runs from these registers. `deadline` in TSC. */
void run_burst(const struct registers *registers, const void *xstate, uint64_t xstate_bytes,
               uint64_t trace_bytes, uint64_t deadline, struct run *run);
typedef uint32_t loose32 __attribute__((aligned(1), may_alias));
typedef uint64_t loose64 __attribute__((aligned(1), may_alias));
static inline struct block *record_block(const uint8_t *record)
{
    return &blocks[*(const loose32 *)record];
}
static inline const loose64 *record_slots(const uint8_t *record)
{
    return (const loose64 *)(record + 4);
}
static inline uint64_t operand_address(const struct memory_op *op, const loose64 *slots,
                                       const struct registers *registers)
{
    uint64_t addr = (uint64_t)op->disp + (op->base != NO_SLOT ? slots[op->base] : 0) +
                    (op->index != NO_SLOT ? slots[op->index] * op->scale : 0);
    if (op->flags & OP_ADDRESS32)
        addr = (uint32_t)addr;
    if (op->flags & OP_FS)
        addr += registers->fs_base;
    if (op->flags & OP_GS)
        addr += registers->gs_base;
    return addr;
}
static inline const uint8_t *record_next(const uint8_t *record)
{
    return record + 4 + 8 * record_block(record)->n_slots;
}

/* ---- pace.c: how fast the thread, let go, ran what the trace holds ---- */
void pace_warm(void);         /* once, nothing being held: touches what a paced burst needs */
void pace_open(uint32_t tid); /* before the thread is seized; if it fails what writes nothing isn't timed */
uint64_t pace_trace_room(uint64_t trace_bytes);
void pace_begin(const struct run *run, const struct registers *registers, uint32_t tid,
                uint64_t ticks_a_us); /* the thread is about to go */
void pace_watch(uint32_t tid);        /* it went; returns when it was seen often enough */
void pace_end(struct cs_burst_outcome *outcome, const struct run *run, const struct registers *registers,
              const void *vectors, uint64_t vectors_bytes);
void pace_close(void);

/* ---- watch.c: words of the thread's memory, read from outside while it runs ---- */
#define WATCHED_MAX 12
#define POLLS_MAX 40
struct watched {
    uint64_t addr, before, after; /* what it held when the thread stood, and at the trace's end */
};
struct poll {
    uint32_t begin_ns, end_ns; /* since the thread was let go */
    uint64_t value[WATCHED_MAX];
};
struct watch {
    unsigned n_words, n_polls;
    bool warm;                     /* the thread's caches are as they were before it was held */
    uint64_t released, ticks_a_us; /* TSC */
    struct watched word[WATCHED_MAX];
    struct poll poll[POLLS_MAX];
};
extern struct watch watched;
/* False: there is no word to watch. */
bool watch_choose(const struct run *run, const struct registers *registers, uint64_t ticks_a_us);
void watch_poll(pid_t pid); /* until it has been seen often enough, or the trace is over */

/* ---- history.c: when the trace changes them ---- */
struct change {
    uint32_t position; /* instructions before the block that makes it */
    uint64_t value;    /* until then */
};
struct history {
    const struct change *change;
    uint32_t n, room;
    uint64_t before, after;
    bool known; /* else the word tells nothing */
    bool some;  /* values between the first change and the last are not known */
};
extern struct history histories[WATCHED_MAX];
/* Of words that are written a few times. How many instructions the trace has. */
uint64_t history_begin(const struct run *run, const struct registers *registers);
/* Of the others, too: runs the burst once more, which puts *second in the place of the trace. False: there
 * are none, or it could not be done. */
bool history_again(const struct run *run, uint64_t length, const struct registers *registers,
                   const void *vectors, uint64_t vectors_bytes, struct run *second);

/* ---- progress.c: how far the thread was ---- */
struct progress {
    unsigned fit, within; /* polls that fit the trace; of them, those surely within it */
    uint64_t least[POLLS_MAX], most[POLLS_MAX]; /* instructions run; most: of those within */
};
struct progress progress(const struct watch *watch, const struct history *h, uint64_t length);
struct progress_stretch {
    uint64_t from_ns, to_ns;
    uint64_t from, to; /* instructions */
    uint64_t off;      /* thousandths of it that it may be off by; above 1000: there is none */
};
/* The stretches that are known best: one from the thread's start on, with cold caches, and a later one. */
void progress_stretches(const struct watch *watch, const struct progress *known,
                        struct progress_stretch *early, struct progress_stretch *late);

/* ---- match.c ---- */
struct moment { /* in: a thread's registers at a moment. out: where in the trace that may be */
    uint64_t pc, time_ns;
    uint64_t reg[16], word[STACK_WORDS]; /* words of the stack, from its top */
    uint32_t n_words;
    uint64_t first, last; /* instructions before it */
    uint32_t n;           /* places; 0: none */
    uint32_t visits;      /* of its PC */
    uint32_t known;       /* registers compared at each of them, bit = number */
};
/* At most 32 moments. How many instructions the trace has. */
extern uint32_t match_blocks[], match_n_blocks; /* of the last call: blocks that hold a moment's PC */
uint64_t match(const struct run *run, const struct registers *registers, struct moment *moments, unsigned n);
/* The same by nothing but what the trace noted right before a moment's instruction: several times as fast. Of
 * a trace that noted nothing there all visits fit. */
uint64_t match_noted(const struct run *run, struct moment *moments, unsigned n);

/* The branch that instructions [from, to) of the trace executed most; 0: none. */
uint64_t busiest_branch(const struct run *run, uint64_t from, uint64_t to);

/* ---- stretch.c ---- */
#define PACE_MOMENTS 2
#define PACE_PLACES 64
struct pace_clock {
    uint32_t period_ns; /* from the release to the first moment, and to each other one */
    uint32_t n_moments;
    uint64_t fast_ns_64k; /* what 64 KB of trace take where the program is fast; 0: unknown */
    uint64_t place;       /* of this burst's; 0: it has no moments */
    struct {
        uint64_t place, fast_ns_64k;
    } at[PACE_PLACES];
};
/* The room of a trace, at least `trace_bytes`: fast code needs more to last as long. */
uint64_t pace_room(const struct pace_clock *clock, uint64_t trace_bytes);
/* Period and number of moments, for a trace of so many bytes, and the branch that its beginning executes
 * most. */
void pace_plan(struct pace_clock *clock, uint64_t place, uint64_t trace_bytes, uint32_t random);
/* Of the first of a burst's moments, whose time_ns is the clock's when it was noted. */
uint64_t pace_own_ns(const struct pace_clock *clock, const struct moment *moment);
uint32_t pace_cost_ns(const struct pace_clock *clock, const struct moment *moment,
                      unsigned n); /* a burst's */
/* From a burst's stretches; own_ns: without any, of a trace that was over by then. */
void pace_learn(struct pace_clock *clock, const struct cs_burst_outcome *outcome, uint64_t trace_bytes,
                uint64_t trace_instructions, uint64_t own_ns);
/* By the 1 to PACE_MOMENTS moments that came. */
void pace_stretch(struct cs_burst_outcome *outcome, const struct run *run, const struct moment *moment,
                  unsigned n, const struct pace_clock *clock);

/* ---- awake.c: a held thread's CPU ---- */
void awake_place(uint32_t cpu, bool keep); /* beforehand: the CPU that the thread runs on */
void awake_begin(void);                    /* the thread stands */
void awake_end(void);                      /* it will run again at once */
bool awake_elsewhere(void);                /* are we on another CPU? Else it can't run while we do */
/* Reading the thread's pages there, between those two; false: nobody does. */
#define AWAKE_PAGES_MAX 256
bool awake_read_begin(int32_t tid);
void awake_read(uint64_t page); /* at most AWAKE_PAGES_MAX; returns at once */
uint32_t awake_unread(void);    /* how many are not read yet */

/* ---- warm.c: what the thread will use is in its CPU's caches ---- */
void warm_begin(const struct run *run, const struct registers *registers, uint32_t tid, uint64_t ticks_a_us);
bool warm_end(void); /* false: they can't be, or it took too long */

/* ---- hold.c ---- */
/* A thread of ours with a stack of its own; *tid becomes 0, with a futex wake, when it has ended. */
void start_thread(int (*entry)(void), void *stack_top, volatile int32_t *tid);
void burst(struct cs_burst_shared *shared);
uint64_t clock_of(clockid_t which); /* ns */
uint64_t waited_ns(uint32_t tid);   /* time that a thread, able to run, has had no CPU; 0: unknown */
void sleep_us(long us);             /* less than a second */
/* ---- digest.c, verify.c ---- */
void digest(struct cs_burst_shared *shared, const struct run *run, const struct registers *registers);
void verify(struct cs_burst_outcome *outcome, int tid, const struct run *run, uint32_t wanted);
uint64_t trace_room(uint32_t instructions); /* bytes of trace that so many will need */
void after_answer(void);                    /* work that nobody waits for */
/* touch.c: one memory access (`number`: which of its instruction's), code run; rows into `shared` */
void touch_begin(struct cs_burst_shared *shared);
void touch(uint64_t insn, unsigned number, unsigned flags, uint64_t addr, uint64_t size, bool pointer);
void touch_code(uint64_t from, uint64_t to);
/* predict.c: one execution of a branch; `after` is the address behind it */
void predict_begin(struct cs_burst_shared *shared);
void predict(uint64_t branch, unsigned end, uint64_t to, uint64_t after);

/* ---- decoder.c ---- */
bool decoder_load(int fd);

/* ---- start.c ---- */
extern bool have_fsgsbase;
extern void *own_fs;
_Noreturn void die(int code);
#define CLOCK_PAGES_MAX 4
struct clock_pages {
    uint64_t at, bytes;
};
extern struct clock_pages clock_pages[CLOCK_PAGES_MAX]; /* in the order of the map */
extern unsigned n_clock_pages;

#endif
