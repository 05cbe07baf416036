/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycles a turn of pieces of a running program's code, each alone in a loop: _cost_truth IMAGE PIECES LOOKS COMMAND...
 *
 * PIECES has a line for each, "START N", a hexadecimal address in the image and how many instructions: straight code, of which
 * the last may be a branch. The program runs until it comes to START, and stands. A child takes over its registers and, page by
 * page when they are touched, copies of its memory at the same addresses. There the piece runs in place, with its own
 * alignment, as the loop that analysis/experiment makes of it (piece.h), and is timed as there (child/bare_loop.h). Each piece
 * is measured at LOOKS moments. A program that ends before is started again.
 *
 * Prints "piece INDEX look CYCLES SPREAD_PERCENT TURNS PAGES", "refused INDEX why", "model INDEX CYCLES" (our scheduler's, of
 * the code as it ran), "experiment INDEX CYCLES PAGES" or "unable INDEX why" (the product's own run, with nothing of the
 * process), "kept INDEX CYCLES" (of the two, what an account of a closed path takes), and "text INDEX INSTRUCTION" for
 * llvm-mca. */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/account/cycle_account_internal.h"
#include "analysis/machine/machine.h"
#include "analysis/schedule/schedule.h"
#include "bench/bare_loop.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

enum {
    PIECES_MAX = 256,
    SETTLE_MS = 300,
    LOOK_MS = 6000,
    TRIES = 20,   /* of a look, where others have a part of the core */
    SHARED = 105, /* cycles of what takes 100 where nobody has */
};

static struct chosen pieces[PIECES_MAX];
static size_t n_pieces;
static struct cs_isa_op ops_of[PIECES_MAX][PIECE_OPS_MAX];
static double models[PIECES_MAX]; /* cycles; 0: none */

static uint64_t bias_of(const char *image)
{
    Elf64_Ehdr head;
    int fd = open(image, O_RDONLY);
    if (fd < 0 || read(fd, &head, sizeof head) != sizeof head)
        exit(2);
    close(fd);
    if (head.e_type == ET_EXEC)
        return 0;
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/maps", target);
    FILE *maps = fopen(path, "r");
    uint64_t start = 0;
    while (maps && fgets(line, sizeof line, maps) && !strstr(line, image))
        ;
    if (!maps || sscanf(line, "%lx", &start) != 1)
        exit(2);
    fclose(maps);
    return start;
}

static void poke(uint64_t address, uint8_t byte)
{
    uint64_t at = address & ~UINT64_C(7), shift = 8 * (address & 7);
    uint64_t word = (uint64_t)ptrace(PTRACE_PEEKTEXT, target, at, 0);
    word = (word & ~(UINT64_C(0xff) << shift)) | (uint64_t)byte << shift;
    ptrace(PTRACE_POKETEXT, target, at, word);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void tell_model(struct cs_scheduler *scheduler, size_t index)
{
    const struct chosen *k = &pieces[index];
    const struct piece *p = &k->piece;
    struct cs_isa_op ops[PIECE_OPS_MAX + 2];
    struct cs_schedule_step steps[PIECE_OPS_MAX + 2], *const to[] = {steps};
    struct cs_schedule_path path = {.ops = ops, .closed = true};
    char text[CS_ISA_OP_TEXT];
    for (size_t at = p->head; at < p->turn_end; at += ops[path.n++].length) {
        cs_isa_op_decode(CS_ISA_X86_64, p->code + at, p->turn_end - at, p->first + at, &ops[path.n]);
        cs_isa_op_text(CS_ISA_X86_64, &ops[path.n], text);
        printf("text %zu %s\n", index, text);
    }
    struct cs_error err;
    size_t generic = 0;
    if (cs_scheduler_run(scheduler, &path, 1, to, &generic, &err))
        return;
    double sum = 0;
    for (size_t i = 0; i < path.n; i++)
        sum += steps[i].m;
    printf("model %zu %.3f%s\n", index, sum, generic ? " generic" : "");
    models[index] = sum;
}

/* Of the code at its place: false, where it can't run by itself. */
static bool make(size_t index, const uint8_t *bytes)
{
    struct chosen *k = &pieces[index];
    struct cs_isa_op *ops = ops_of[index];
    size_t n = 0;
    for (size_t at = 0; n < k->n; at += ops[n++].length)
        cs_isa_op_decode(CS_ISA_X86_64, bytes + at, BYTES_MAX - at, k->start + at, &ops[n]);
    enum cs_experiment_why why = piece_make(ops, n, &k->piece);
    k->original = bytes[0];
    if (why)
        printf("refused %zu %s\n", index, cs_experiment_why_names[why]);
    return !why;
}

/* As account_experiment does. `found`: by experiment; 0: none. */
static void tell_kept(size_t i, double found)
{
    const struct cs_schedule_path path = {.ops = ops_of[i], .n = pieces[i].n, .closed = true};
    const bool values =
        found > models[i] && (found > CS_MODEL_EXPERIMENT_MOST * models[i] || account_by_values(&path));
    if (models[i] > 0)
        printf("kept %zu %.4f\n", i, found > 0 && !values ? found : models[i]);
}

/* The product's own runs, again where others have a part of the core: all of them, and those that remain once more. */
static void run_experiments(void)
{
    enum { ROUNDS = 2, PAUSE_US = 10000 };
    enum cs_experiment_why whys[PIECES_MAX];
    struct cs_experiments *experiments = cs_experiments_open(NULL, ROUNDS * TRIES * PIECES_MAX);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < n_pieces; i++) {
            struct cs_experiment_result result;
            for (int k = 0; k < TRIES && pieces[i].n && (k + round == 0 || whys[i] == CS_EXPERIMENT_NOISY);
                 k++) {
                if (k)
                    usleep(PAUSE_US);
                whys[i] = cs_experiments_run(experiments, ops_of[i], pieces[i].n, &result);
                if (!whys[i]) {
                    printf("experiment %zu %.4f %u\n", i, result.cycles, result.pages);
                    tell_kept(i, result.cycles);
                }
            }
        }
    for (size_t i = 0; i < n_pieces; i++)
        if (pieces[i].n && whys[i]) {
            printf("unable %zu %s\n", i, cs_experiment_why_names[whys[i]]);
            tell_kept(i, 0);
        }
    cs_experiments_close(experiments);
}

/* At the start of a piece: measures it in a child. */
static void look(struct chosen *p, uint64_t bias)
{
    size_t index = (size_t)(p - pieces);
    registers.rip = p->start + bias;
    struct iovec state = {vector_state, sizeof vector_state};
    ptrace(PTRACE_GETREGSET, target, NT_X86_XSTATE, &state);
    int status = 0;
    /* Another machine's thread on this core may halve its speed: the reference says so. */
    for (int tries = 0; tries < TRIES && (tries == 0 || shared->time.reference > SHARED); tries++) {
        memset(shared, 0, sizeof *shared);
        pid_t child = fork();
        if (!child)
            measure(p, bias);
        waitpid(child, &status, 0);
    }
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        printf("piece %zu look %.4f %.2f %u %u\n", index, shared->time.cycles, shared->time.spread,
               shared->time.turns, shared->time.pages);
    else
        printf("refused %zu %s\n", index, shared->why[0] ? shared->why : "crashed");
}

/* The program from its beginning: it may be over before all were looked at. */
static uint64_t start(const char *image, char **command)
{
    int status;
    target = fork();
    if (!target) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execvp(command[0], command);
        _exit(127);
    }
    if (waitpid(target, &status, 0) != target || !WIFSTOPPED(status))
        exit(2);
    ptrace(PTRACE_SETOPTIONS, target, 0, PTRACE_O_EXITKILL);
    return bias_of(image);
}

static void plant(uint64_t bias)
{
    for (struct chosen *p = pieces; p < pieces + n_pieces; p++)
        if (p->wanted) {
            poke(p->start + bias, 0xcc);
            p->planted = true;
        }
}

static void take_out(uint64_t bias)
{
    for (struct chosen *p = pieces; p < pieces + n_pieces; p++)
        if (p->planted) {
            poke(p->start + bias, p->original);
            p->planted = false;
        }
}

/* The program stands: those that begin here are measured, and wanted no more. */
static void look_here(uint64_t bias)
{
    ptrace(PTRACE_GETREGS, target, 0, &registers);
    const uint64_t here = registers.rip - 1 - bias;
    bool any = false;
    for (struct chosen *p = pieces; p < pieces + n_pieces; p++)
        if (p->planted && p->start == here) {
            any = true;
            poke(p->start + bias, p->original);
            look(p, bias);
            p->planted = p->wanted = false;
        }
    if (any)
        ptrace(PTRACE_SETREGS, target, 0, &registers);
}

/* Runs until a piece begins or the time comes. False: it has ended. */
static bool run_until(double until, int *signal)
{
    int status;
    pid_t done;
    ptrace(PTRACE_CONT, target, 0, 0);
    while (!(done = waitpid(target, &status, WNOHANG)) && now_ms() < until)
        usleep(200);
    if (!done) {
        kill(target, SIGSTOP);
        done = waitpid(target, &status, 0);
    }
    *signal = done == target && WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
    return *signal != 0;
}

static bool any_wanted(void)
{
    for (size_t i = 0; i < n_pieces; i++)
        if (pieces[i].wanted)
            return true;
    return false;
}

/* One moment for each piece. It begins again where it ends, and is looked at sooner then. */
static void look_at_all(const char *image, char **command, uint64_t *bias)
{
    double settle = SETTLE_MS;
    for (size_t i = 0; i < n_pieces; i++)
        pieces[i].wanted = pieces[i].n > 0;
    for (const double over = now_ms() + LOOK_MS; any_wanted() && now_ms() < over;) {
        int signal = 0;
        bool runs = true;
        for (const double until = now_ms() + settle; runs && now_ms() < until;)
            runs = run_until(until, &signal);
        if (runs) {
            plant(*bias);
            while (any_wanted() && now_ms() < over && (runs = run_until(over, &signal)))
                if (signal == SIGTRAP)
                    look_here(*bias);
        }
        if (runs) {
            take_out(*bias);
            continue;
        }
        for (size_t i = 0; i < n_pieces; i++)
            pieces[i].planted = false;
        *bias = start(image, command);
        settle /= 2;
    }
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    FILE *list = fopen(argv[2], "r");
    while (list && n_pieces < PIECES_MAX &&
           fscanf(list, "%lx %u", &pieces[n_pieces].start, &pieces[n_pieces].n) == 2)
        n_pieces++;
    setvbuf(stdout, NULL, _IOLBF, 0);
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t bias = start(argv[1], argv + 4);
    struct cs_machine machine;
    struct cs_scheduler *scheduler;
    struct cs_error err;
    cs_machine_detect(&machine);
    if (cs_scheduler_open(CS_ISA_X86_64, cs_machine_models(machine.vendor, machine.features), NULL, false,
                          &scheduler, &err))
        return 2;
    printf("scheduler %s\n", cs_scheduler_name(scheduler));
    for (size_t i = 0; i < n_pieces; i++) {
        struct chosen *p = &pieces[i];
        uint8_t bytes[BYTES_MAX] = {0};
        const uint64_t from = p->start + bias, first = PAGE - from % PAGE;
        struct iovec own = {bytes, sizeof bytes},
                     its[] = {{(void *)from, first < BYTES_MAX ? first : BYTES_MAX},
                              {(void *)(from + first), first < BYTES_MAX ? BYTES_MAX - first : 0}};
        const char *why = p->n > PIECE_OPS_MAX                                ? "too long"
                          : process_vm_readv(target, &own, 1, its, 2, 0) <= 0 ? "not read"
                                                                              : NULL;
        if (why)
            printf("refused %zu %s\n", i, why);
        if (why || !make(i, bytes))
            p->n = 0;
        else
            tell_model(scheduler, i);
    }
    cs_scheduler_close(scheduler);
    for (int turn = 0; turn < atoi(argv[3]); turn++)
        look_at_all(argv[1], argv + 4, &bias);
    kill(target, SIGKILL);
    waitpid(target, NULL, 0);
    run_experiments();
    return 0;
}
