/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of the target to blocks of the code cache; shape and reasons in runner.h, their code in
 * block_code.c. Links between blocks are `jmp rel32` to an exit stub until the target is translated, then to
 * it. The cache is never partly freed: when it is full, or code changed, everything goes.
 *
 * Invariant: translated code leaves registers and flags at each copied instruction as the original would.
 * It reads and writes no memory but the target's copies, `hot` and the trace. */
#include "sampler/burst/replayer/translator/translate.h"
#include "sampler/burst/replayer/translator/block_code.h"
#include "sampler/burst/replayer/translator/code_memory.h"
#include "sampler/burst/replayer/translator/code_pages.h"
#include "sampler/burst/replayer/translator/emit.h"
#include "sampler/burst/replayer/translator/register_slots.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"

#define CACHE_BYTES CODE_CACHE_BYTES
#define EXPAND_MAX 512
#define BLOCK_CODE_MAX 8192 /* bytes of translated code, generously */

static struct link {
    uint8_t *patch; /* the rel32 */
    uint64_t target;
    uint32_t next; /* 1 + the next one that waits in the same place */
} links[LINKS_MAX];
#define WAITING 16384
static uint32_t waiting[WAITING]; /* 1 + first link to a target that hashes here and is not translated yet */
static uint32_t n_blocks, n_notes, n_links, n_slot_notes;
/* Free space. The common code of indirect branches. */
static uint8_t *code_end, *indirect;
uint8_t exit_stubs[(EXIT_STUBS + PAGE - 1) & ~(PAGE - 1)] __attribute__((aligned(4096)));
enum cs_burst_cause translate_cause;
unsigned blocks_translated;

#define BLOCK_SLOTS (BLOCKS_MAX * 4)
static uint32_t by_pc[BLOCK_SLOTS]; /* 1 + block */
#define TARGETS 16384
static struct {
    uint64_t pc;
    uint8_t *code;
} targets[TARGETS + 1]
    __attribute__((aligned(64))); /* a target is in the place that it hashes to, or in the next */
#define TARGET_HASH 0x9e3779b1U
#define TARGET_SHIFT 18 /* 32 bits to those of TARGETS */

static struct decoded decoded[BLOCK_INSNS_MAX];

static const struct probe *probes;
static unsigned n_probes;
#define REPLACED_MAX 256
static struct replaced {
    struct block *block;
    uint8_t code[5];
    unsigned slot;
    uint32_t number;
} replaced[REPLACED_MAX];
static unsigned n_replaced;

static unsigned slot_of(uint64_t pc)
{
    unsigned slot = (unsigned)(pc * 0x9e3779b97f4a7c15ULL >> 40) % BLOCK_SLOTS;
    while (by_pc[slot] && blocks[by_pc[slot] - 1].pc != pc)
        slot = (slot + 1) % BLOCK_SLOTS;
    return slot;
}

bool in_cache(uint64_t addr)
{
    return addr - (uint64_t)code_cache < CACHE_BYTES;
}

void translations_prepare(void)
{
    code_memory_touch(code_end);
}

bool translations_full(void)
{
    return n_blocks > BLOCKS_MAX - 8 || n_ops > OPS_MAX - 1024 || n_notes > NOTES_MAX - 1024 ||
           n_slot_notes > SLOT_NOTES_MAX - 1024 || n_links > LINKS_MAX - 64 ||
           code_end > code_cache + CACHE_BYTES - 8 * BLOCK_CODE_MAX;
}

/* hot.target holds where to go. */
static void write_indirect(void)
{
    indirect = at;
    save(&hot.save[0], RAX);
    save(&hot.save[1], RCX);
    flags_to_rax();
    save(&hot.save[2], RAX);
    load(RCX, &hot.target);
    put(0x69, 0xc1); /* imul eax, ecx, imm32 */
    word32(TARGET_HASH);
    put(0xc1, 0xe8, TARGET_SHIFT); /* shr eax, imm8 */
    put(0xc1, 0xe0, 4);            /* shl eax, 4 */
    put(0x48, 0x03, 0x05);         /* add rax, [table] */
    static const void *const table = targets;
    relative(&table, 0);
    put(0x48, 0x3b, 0x08); /* cmp rcx, [rax] */
    byte(0x74);            /* je */
    uint8_t *hit = at;
    byte(0);
    with_base(0x8d, RAX, RAX, 16, 1); /* lea rax, [rax + 16] */
    put(0x48, 0x3b, 0x08);            /* cmp rcx, [rax] */
    byte(0x75);                       /* jne */
    uint8_t *miss = at;
    byte(0);
    *(uint8_t *)writable(hit) = (uint8_t)(at - hit - 1);
    put(0x48, 0x8b, 0x48, 8); /* mov rcx, [rax + 8] */
    save(&hot.jump, RCX);
    load(RAX, &hot.save[2]);
    flags_from_rax();
    load(RAX, &hot.save[0]);
    load(RCX, &hot.save[1]);
    put(0xff, 0x25); /* jmp [hot.jump] */
    relative(&hot.jump, 0);
    *(uint8_t *)writable(miss) = (uint8_t)(at - miss - 1);
    load(RAX, &hot.save[2]);
    flags_from_rax();
    load(RAX, &hot.save[0]);
    load(RCX, &hot.save[1]);
    jump_to(exit_stubs + STUB_INDIRECT);
}

void translations_flush(void)
{
    n_blocks = n_ops = n_notes = n_links = n_slot_notes = 0;
    memset(by_pc, 0, sizeof by_pc);
    memset(targets, 0, sizeof targets);
    memset(waiting, 0, sizeof waiting);
    at = code_cache;
    write_indirect();
    code_end = at;
}

static uint32_t *waiting_for(uint64_t target)
{
    return &waiting[(target * 0x9e3779b97f4a7c15ULL >> 40) % WAITING];
}

static void patch(uint8_t *rel32, const uint8_t *to)
{
    *(int32_t *)writable(rel32) = (int32_t)(to - (rel32 + 4));
}

/* Who waits for this block jumps to it from now on: to find out by an exit stub takes 4 us, while a thread is
 * stopped. */
static void answer_waiting(const struct block *block)
{
    uint32_t *place = waiting_for(block->pc);
    while (*place) {
        struct link *link = &links[*place - 1];
        if (link->target == block->pc) {
            patch(link->patch, block->code);
            *place = link->next;
        } else {
            place = &link->next;
        }
    }
}

static void write_link(uint8_t *rel32, uint64_t target)
{
    unsigned slot = slot_of(target);
    if (by_pc[slot]) {
        patch(rel32, blocks[by_pc[slot] - 1].code);
        return;
    }
    links[n_links].patch = rel32;
    links[n_links].target = target;
    patch(rel32, exit_stubs + STUB_MISS + n_links);
    uint32_t *place = waiting_for(target);
    links[n_links].next = *place;
    *place = ++n_links;
}

/* A `jmp rel32` whose target comes later. */
static uint8_t *write_jump(void)
{
    byte(0xe9);
    word32(0);
    return at - 4;
}

static void write_end(struct block *block, const struct decoded *d)
{
    uint64_t next = d->addr + d->insn.length;
    uint64_t taken = next + (uint64_t)d->operands[0].imm.value.s;
    uint8_t *taken_at, *next_at;
    block->taken = taken;
    switch (block->end) {
    case END_COND:
        if (d->insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
            d->insn.opcode >= 0xe0) { /* loop, jrcxz: short only */
            if (d->insn.address_width == 32)
                byte(0x67);
            put(d->insn.opcode, 5);
            next_at = write_jump();
            taken_at = write_jump();
        } else {
            put(0x0f, 0x80 | (d->insn.opcode & 15));
            word32(0);
            taken_at = at - 4;
            next_at = write_jump();
        }
        write_link(taken_at, taken);
        write_link(next_at, next);
        break;
    case END_CALL:
        write_push_return(next);
        /* fall through */
    case END_JUMP:
        write_link(write_jump(), taken);
        break;
    case END_ICALL:
        write_target(d);
        write_push_return(next);
        jump_to(indirect);
        break;
    case END_IJUMP:
        write_target(d);
        jump_to(indirect);
        break;
    case END_RET:
        put(0x8f, 0x05); /* pop [hot.target] */
        relative(&hot.target, 0);
        if (d->insn.raw.imm[0].size)
            lea(RSP, RSP, 16, 1, (int32_t)d->insn.raw.imm[0].value.u, 0);
        jump_to(indirect);
        break;
    default: /* END_FALL: the block grew too long */
        copy_insn(d);
        write_link(write_jump(), next);
    }
}

static bool decode_one(struct decoded *d, uint64_t addr)
{
    d->addr = addr;
    unsigned here = (unsigned)(PAGE - addr % PAGE), n = 0;
    /* The page behind it is read by an instruction alone that goes on there. */
    for (unsigned most = here < 15 ? here : 15; most; most = most < 15 && n ? 15 : 0) {
        n = code_bytes(addr, d->bytes, most);
        if (n && ZYAN_SUCCESS(decoder.decode(&decoder.state, d->bytes, n, &d->insn, d->operands)))
            return true;
    }
    return false;
}

struct block *translate(uint64_t pc)
{
    unsigned slot = slot_of(pc);
    if (by_pc[slot])
        return &blocks[by_pc[slot] - 1];
    struct block *block = &blocks[n_blocks];
    *block = (struct block){.pc = pc, .end = END_FALL, .first_op = n_ops, .first_note = n_notes};
    unsigned n = 0;
    uint64_t addr = pc;
    for (; n < BLOCK_INSNS_MAX; n++) {
        struct decoded *d = &decoded[n];
        block->cause = CS_BURST_UNDECODED;
        if (!decode_one(d, addr)) {
            block->end = END_STOP;
            if (!n && !code_bytes(addr, d->bytes, 1)) {
                translate_cause = CS_BURST_FAULT;
                return NULL;
            }
            break;
        }
        block->cause = (uint8_t)stops(d);
        if (block->cause != CS_BURST_FULL) {
            block->end = END_STOP;
            break;
        }
        addr += d->insn.length;
        block->end = (uint8_t)end_of(d);
        if (block->end != END_FALL) {
            if (d->insn.operand_width == 16) {
                block->end = END_STOP;
                block->cause = CS_BURST_UNSUPPORTED;
                addr -= d->insn.length;
                break;
            }
            n++;
            break;
        }
    }
    block->n_insns = (uint16_t)n;
    block->bytes = (uint16_t)(addr - pc);
    if (n) {
        block->branch = decoded[n - 1].addr;
        block->last_length = decoded[n - 1].insn.length;
    }
    at = block->code = (uint8_t *)(((uint64_t)code_end + 15) & ~15ULL);
    capture_begin();
    for (unsigned i = 0; i < n; i++) {
        note_operands(&decoded[i], i);
        for (unsigned k = 0; k < n_probes; k++)
            if (probes[k].pc == decoded[i].addr && (!i || !probes[k].polled))
                capture_probe(i, &probes[k]);
        insn_notes[n_notes] = effects(&decoded[i]);
        insn_notes[n_notes++].offset = (uint16_t)(decoded[i].addr - pc);
    }
    write_entry(n_blocks, dead_register(decoded, &insn_notes[block->first_note], n));
    for (unsigned i = 0; i < n; i++) {
        write_late_slots(i);
        write_word_slots(i, n_probes ? probes->word_addrs : NULL);
        if (i + 1 < n || block->end == END_STOP)
            copy_insn(&decoded[i]);
        else
            write_end(block, &decoded[i]);
    }
    if (block->end == END_STOP)
        jump_to(exit_stubs + STUB_STOP + (block - blocks));
    block->n_slots = (uint16_t)n_slots;
    block->n_ops = (uint16_t)(n_ops - block->first_op);
    block->first_slot = n_slot_notes;
    for (unsigned i = 0; i < n_slots; i++)
        slot_notes[n_slot_notes++] = capture_slots[i];
    code_end = at;
    by_pc[slot] = ++n_blocks;
    blocks_translated++;
    answer_waiting(block);
    return block;
}

void translations_probe(const uint32_t *numbers, unsigned n, const struct probe *with, unsigned n_with)
{
    probes = with;
    n_probes = n_with;
    for (unsigned i = 0; i < n && n_replaced < REPLACED_MAX && !translations_full(); i++) {
        struct block *old = &blocks[numbers[i]];
        struct replaced *r = &replaced[n_replaced];
        *r = (struct replaced){.block = old, .slot = slot_of(old->pc)};
        r->number = by_pc[r->slot];
        if (r->number != numbers[i] + 1)
            continue;
        by_pc[r->slot] =
            0; /* who looks for what comes behind it finds nothing, for a snapshot: it is found later */
        const struct block *with_probes = translate(old->pc);
        if (!with_probes) {
            by_pc[r->slot] = r->number;
            continue;
        }
        n_replaced++;
        memcpy(r->code, old->code, sizeof r->code);
        *(uint8_t *)writable(old->code) = 0xe9; /* jmp rel32 */
        patch(old->code + 1, with_probes->code);
    }
    n_probes = 0;
}

void translations_unprobe(void)
{
    while (n_replaced) {
        const struct replaced *r = &replaced[--n_replaced];
        memcpy(writable(r->block->code), r->code, sizeof r->code);
        by_pc[r->slot] = r->number;
    }
}

uint64_t translation_link_target(uint32_t link)
{
    return links[link].target;
}

void translation_remember_indirect(const struct block *block)
{
    unsigned i = (uint32_t)block->pc * TARGET_HASH >> TARGET_SHIFT;
    if (targets[i].pc == block->pc || targets[i + 1].pc == block->pc)
        return;
    if (targets[i].pc) /* the newcomer takes the second place: the first stays with who came first */
        i++;
    targets[i].pc = block->pc;
    targets[i].code = block->code;
}

static void expand(const struct block *block)
{
    bool falls = block->end == END_COND || block->end == END_CALL || block->end == END_ICALL;
    bool jumps = block->end == END_COND || block->end == END_CALL || block->end == END_JUMP;
    if (falls && !translations_full()) {
        const struct block *behind = translate(block->pc + block->bytes);
        if (behind && block->end != END_COND) /* a return comes there */
            translation_remember_indirect(behind);
    }
    if (jumps && !translations_full())
        translate(block->taken);
}

/* Both ways out of each executed block, and out of those, `levels` deep: misses then happen while nobody
 * waits. */
void translations_expand(const uint32_t *executed, unsigned n, unsigned levels)
{
    uint32_t first = n_blocks, done = n_blocks;
    for (unsigned i = 0; i < n; i++)
        expand(&blocks[executed[i]]);
    while (--levels && n_blocks - first < EXPAND_MAX)
        for (uint32_t end = n_blocks; done < end; done++)
            expand(&blocks[done]);
}
