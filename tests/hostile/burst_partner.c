/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wants to know what a program has that gets rights which its user hasn't. It shares its memory with a partner, runs
 * for a while where that program will run, and becomes that program. Suppose a replayer goes on repeating its
 * instructions by the old memory's code, with the new program's registers, vectors or pages. It then touches pages of
 * the old memory by what they hold, and the partner sees which.
 *
 * Usage: burst_partner HOW BY DELAY SECONDS VICTIM KIND
 *   HOW     fixed: the victim's loop and its secret lie where they always do, as of a program that isn't position-independent
 *           anywhere: they don't; what may be seen is where it runs
 *   BY      main: the thread that is followed becomes the victim; thread: another one does
 *   VICTIM  a copy of this file with rights, which is run as "VICTIM victim HOW SECONDS KIND"
 *   KIND    group, capability: the file's; dropping: set-uid, and it gives that up once it has the secret
 * The partner's last line is "kept", or "leaked:" and what. */
#include "hostile.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define HOT 0x10000000UL
#define DATA 0x20000000UL /* the secret, a count, whether to end */
#define PROBE 0x30000000UL
#define PAGE 4096UL
#define VALUES 256UL
enum { OF_PAGE, OF_REGISTER, OF_VECTOR, WAYS };
/* Where executables that are position-independent lie. */
#define TRAP 0x550000000000UL
#define TRAP_END 0x570000000000UL

/* Both are copied to HOT, and the victim's is within the first 64 bytes of the attacker's. */
extern const uint8_t attack_code[], attack_end[], victim_code[], victim_end[];
__asm__(".pushsection .text\n"
        "attack_code:\n"
        "  .rept 64\n"
        "  nop\n"
        "  .endr\n"
        "  mov $0x20000000, %edi\n"
        "  movzbl (%rdi), %eax\n"
        "  shl $12, %eax\n"
        "  mov 0x30000000(%rax), %cl\n"
        "  movzbl %bl, %eax\n"
        "  shl $12, %eax\n"
        "  mov 0x30100000(%rax), %cl\n"
        "  movd %xmm7, %eax\n"
        "  movzbl %al, %eax\n"
        "  shl $12, %eax\n"
        "  mov 0x30200000(%rax), %cl\n"
        "  incq 8(%rdi)\n"
        "  cmpb $0, 16(%rdi)\n"
        "  je attack_code\n"
        "  ret\n"
        "attack_end:\n"
        "victim_code:\n"
        "  mov $0x20000000, %edi\n"
        "  movzbl (%rdi), %eax\n"
        "  incq 8(%rdi)\n"
        "  cmpb $0, 16(%rdi)\n"
        "  je victim_code\n"
        "  ret\n"
        "victim_end:\n"
        ".popsection\n");

static void run(const void *code, uint64_t secret)
{
    __asm__ volatile("movq %[secret], %%xmm7\n"
                     "mov %[secret], %%rbx\n"
                     "call *%[code]\n"
                     :
                     : [code] "r"(code), [secret] "r"(secret)
                     : "rax", "rbx", "rcx", "rdi", "xmm7", "cc", "memory");
}

static void place(unsigned long at, size_t bytes, int protection, const uint8_t *code)
{
    void *memory =
        mmap((void *)at, bytes, protection | (code ? PROT_WRITE : 0),
             (code ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != (void *)at)
        harmed("mmap");
    if (code) {
        memcpy(memory, code, 128);
        mprotect(memory, bytes, protection);
    }
}

static void place_data(void)
{
    if (mmap((void *)DATA, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
             -1, 0) != (void *)DATA)
        harmed("mmap");
}

/* All that is free there. */
static void place_traps(void)
{
    unsigned long free_from = TRAP, from, to;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long gaps[64][2];
    unsigned n = 0;
    while (maps && n < 63 && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2 && to > TRAP && from < TRAP_END) {
            if (from > free_from)
                gaps[n][0] = free_from, gaps[n++][1] = from;
            free_from = to;
        }
    gaps[n][0] = free_from, gaps[n++][1] = TRAP_END;
    fclose(maps);
    for (unsigned i = 0; i < n; i++)
        place(gaps[i][0], gaps[i][1] - gaps[i][0], PROT_READ | PROT_EXEC, NULL);
}

static struct {
    double delay, seconds;
    bool fixed, by_thread;
    char *victim[6];
} how;

/* What the system holds of memory that nobody but the attacker has mapped, in kB. */
static long shared_memory(void)
{
    char text[4096] = "";
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    const char *line = n > 0 ? strstr(text, "RssShmem:") : NULL;
    return line ? strtol(line + 9, NULL, 10) : -1;
}

/* Of the pages of one way, that of zero aside: the value; -1: none is there. */
static int seen(unsigned way)
{
    static uint8_t there[VALUES];
    if (mincore((void *)(PROBE + way * VALUES * PAGE), VALUES * PAGE, there))
        return -1;
    for (int i = 1; i < (int)VALUES; i++)
        if (there[i] & 1)
            return i;
    return -1;
}

static int partner(void *argument)
{
    static const char *const names[WAYS] = {"a page", "a register", "a vector"};
    char text[200] = "leaked:";
    (void)argument;
    usleep((useconds_t)(how.delay * 1e6));
    long before = shared_memory();
    if (!how.by_thread)
        *(volatile uint8_t *)(DATA + 16) = 1;
    usleep((useconds_t)(how.seconds * 1e6));
    size_t n = strlen(text);
    for (unsigned way = 0; how.fixed && way < WAYS; way++)
        if (seen(way) >= 0)
            n += (size_t)snprintf(text + n, sizeof text - n, " %s %02x", names[way], (unsigned)seen(way));
    if (!how.fixed && shared_memory() > before)
        n += (size_t)snprintf(text + n, sizeof text - n, " where it runs");
    n = text[n - 1] == ':' ? (size_t)snprintf(text, sizeof text, "kept\n")
                           : n + (size_t)snprintf(text + n, sizeof text - n, "\n");
    _exit(write(1, text, n) == (ssize_t)n ? 0 : 1);
}

static void *become(void *argument)
{
    if (how.by_thread)
        usleep((useconds_t)(how.delay * 1e6));
    execv(how.victim[0], how.victim);
    harmed("execv");
    return argument;
}

static int attack(void)
{
    static uint8_t stack[65536] __attribute__((aligned(16)));
    pthread_t thread;
    place_data();
    place(HOT, PAGE, PROT_READ | PROT_EXEC, attack_code);
    place(PROBE, WAYS * VALUES * PAGE, PROT_READ | PROT_WRITE, NULL);
    if (!how.fixed)
        place_traps();
    if (how.by_thread && pthread_create(&thread, NULL, become, NULL))
        harmed("pthread_create");
    if (clone(partner, stack + sizeof stack, CLONE_VM | CLONE_PARENT | SIGCHLD, NULL) < 0)
        harmed("clone");
    run((const void *)HOT, 0);
    become(NULL);
    return 1;
}

static int be_victim(bool fixed, unsigned seconds, const char *kind)
{
    uint8_t secret = 0;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (read(fd, &secret, 1) != 1)
        return 1;
    close(fd);
    secret |= 1;
    bool has = !strcmp(kind, "group")        ? getegid() != getgid()
               : !strcmp(kind, "capability") ? prctl(PR_GET_DUMPABLE) != 1
                                             : geteuid() != getuid();
    if (!has || (!strcmp(kind, "dropping") && setresuid(getuid(), getuid(), getuid())))
        return 2;
    printf("victim: %s, secret %02x\n", kind, secret);
    fflush(stdout);
    place_data();
    *(volatile uint8_t *)DATA = secret;
    if (fixed)
        place(HOT, PAGE, PROT_READ | PROT_EXEC, victim_code);
    alarm(seconds);
    run(fixed ? (const void *)HOT : victim_code, secret);
    return 3;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "victim"))
        return be_victim(!strcmp(argv[2], "fixed"), (unsigned)atoi(argv[3]) + 1, argv[4]);
    if (argc != 7)
        return 2;
    how.fixed = !strcmp(argv[1], "fixed");
    how.by_thread = !strcmp(argv[2], "thread");
    how.delay = strtod(argv[3], NULL);
    how.seconds = strtod(argv[4], NULL);
    char *victim[] = {argv[5], "victim", argv[1], argv[4], argv[6], NULL};
    memcpy(how.victim, victim, sizeof victim);
    return attack();
}
