/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages that the replayer asks for: it gets those of a thread that stands and of no other, and none comes into being by that. */
#include "sampler/burst/holder/kept_pages.h"
#include "sampler/burst/holder/poll_words.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 200U
static uint8_t *area;
static int file;

/* A process with every other page of a memory file, each of which begins with `mark`. */
static pid_t process(uint8_t mark, bool traced)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (traced)
            ptrace(PTRACE_TRACEME, 0, 0, 0);
        for (unsigned i = 0; i < PAGES; i += 2)
            area[i * PAGE] = mark;
        raise(SIGSTOP);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    int status;
    assert_int_equal(waitpid(pid, &status, traced ? 0 : WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void open_as(int number, pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(dup2(fd, number), number);
    if (fd != number)
        close(fd);
}

static void map_area(int flags)
{
    file = flags & MAP_ANONYMOUS ? -1 : memfd_create("sparse", 0);
    assert_true(file < 0 || ftruncate(file, PAGES * PAGE) == 0);
    area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags, file, 0);
    assert_ptr_not_equal(area, MAP_FAILED);
}

static void ask_for_all(void)
{
    for (unsigned i = 0; i < PAGES; i++)
        boundary->kept[i] = (uint64_t)area + i * PAGE;
    boundary->n_kept = PAGES;
    kept_pages_prepare(false);
    memset(boundary->page, 0xee, PAGES * PAGE);
}

static void those_that_are_there_come(int flags)
{
    map_area(flags);
    pid_t pid = process(7, true);
    open_as(CS_BURST_FD_PAGES, pid, "pagemap");
    struct stat before, after;
    assert_true(file < 0 || fstat(file, &before) == 0);
    ask_for_all();
    assert_int_equal(kept_pages_copy((uint32_t)pid, UINT64_MAX), PAGES / 2);
    for (unsigned i = 0; i < PAGES; i++) {
        assert_int_equal(boundary->kept_there[i], i % 2 == 0);
        assert_int_equal(boundary->page[i][0], i % 2 ? 0xee : 7);
    }
    if (file >= 0) { /* a hole that was made since they were asked for stays one, too */
        ask_for_all();
        assert_int_equal(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 100 * PAGE), 0);
        assert_int_equal(kept_pages_copy((uint32_t)pid, UINT64_MAX), 50);
        assert_int_equal(fstat(file, &after), 0);
        assert_int_equal(after.st_blocks * 2, before.st_blocks);
        close(file);
    }
    end(pid);
    munmap(area, PAGES * PAGE);
}

TEST(pages_that_are_there_come_and_no_others)
{
    those_that_are_there_come(MAP_SHARED);
    those_that_are_there_come(MAP_PRIVATE | MAP_ANONYMOUS);
}

/* As after a thread's death: its number is another's, which could be read, but which isn't ours to have stand. */
TEST(nothing_comes_of_a_thread_that_does_not_stand)
{
    map_area(MAP_PRIVATE | MAP_ANONYMOUS);
    pid_t stood = process(7, true), other = process(9, false);
    open_as(CS_BURST_FD_PAGES, stood, "pagemap");
    ask_for_all();
    assert_int_equal(kept_pages_copy((uint32_t)other, UINT64_MAX), 0);
    for (unsigned i = 0; i < PAGES; i++) {
        assert_int_equal(boundary->kept_there[i], 0);
        assert_int_equal(boundary->page[i][0], 0xee);
    }
    assert_int_equal(kept_pages_copy((uint32_t)stood, UINT64_MAX), PAGES / 2);
    end(other);
    end(stood);
    munmap(area, PAGES * PAGE);
}

/* ---- a group that becomes a program with rights while one of its threads stands ---- */

#define CHOSEN ((uint8_t *)0x20000000UL) /* where both programs have pages */
#define ROUNDS 30
#define SOMEBODY 65533U

struct signs { /* shared with the attacker */
    volatile bool begun, go;
};
static char with_rights[64]; /* a copy of this file */
static struct signs *signs;

static void map_chosen(uint8_t mark)
{
    if (mmap(CHOSEN, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
             -1, 0) != CHOSEN)
        _exit(2);
    for (unsigned i = 0; i < PAGES; i++)
        CHOSEN[i * PAGE] = mark;
}

static int be_victim(void)
{
    if (geteuid() != 0 || getuid() != SOMEBODY)
        return 3;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    map_chosen(9);
    for (;;)
        pause();
}

static void *become(void *argument)
{
    while (!signs->go)
        ;
    execl(with_rights, with_rights, "victim", NULL);
    _exit(4);
    return argument;
}

static pid_t attacker(void)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) || setresuid(SOMEBODY, SOMEBODY, SOMEBODY))
        _exit(2);
    map_chosen(7);
    if (pthread_create(&thread, NULL, become, NULL))
        _exit(2);
    signs->begun = true;
    for (;;) /* what a burst stops */
        ;
}

/* Who asks gets the old program's pages or none: also while its number becomes the new one's. What of the new program could be
 * read by that number, and how often, is the answer: else the round has tried nothing. */
static unsigned race(void)
{
    uint8_t secret = 0;
    const struct iovec here = {&secret, 1}, there = {CHOSEN, 1};
    unsigned readable = 0;
    int status;
    *signs = (struct signs){.begun = false};
    pid_t pid = attacker();
    while (!signs->begun)
        usleep(100); /* sleeps: between two looks */
    assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
    assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSTOPPED(status));
    open_as(CS_BURST_FD_PAGES, pid, "pagemap");
    area = CHOSEN;
    ask_for_all();
    assert_int_equal(kept_pages_copy((uint32_t)pid, UINT64_MAX), PAGES);
    signs->go = true;
    for (time_t until = time(NULL) + 10; readable < 20 && time(NULL) < until;) {
        (void)kept_pages_copy((uint32_t)pid, UINT64_MAX);
        for (unsigned i = 0; i < PAGES; i++)
            assert_int_equal(boundary->page[i][0], 7);
        readable += process_vm_readv(pid, &here, 1, &there, 1, 0) == 1 && secret == 9;
    }
    end(pid);
    return readable;
}

TEST(nothing_comes_of_the_program_that_a_group_becomes)
{
    struct statvfs fs;
    if (geteuid() != 0 || statvfs("/tmp", &fs) != 0 || fs.f_flag & ST_NOSUID)
        skip();
    signs = mmap(NULL, sizeof *signs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char command[200];
    snprintf(with_rights, sizeof with_rights, "/tmp/burst-kept-%d", (int)getpid());
    snprintf(command, sizeof command, "cp /proc/%d/exe %s && chmod 4755 %s", (int)getpid(), with_rights,
             with_rights);
    assert_int_equal(system(command), 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        if (race() < 20)
            fail_msg("round %u: the program with rights couldn't be read by the number", i);
    munmap(signs, sizeof *signs);
}

static int remove_victim(void **state)
{
    (void)state;
    if (with_rights[0])
        unlink(with_rights);
    return 0;
}

/* Words are read by the descriptor, of one page by one call: each arrives at its own place. */
TEST(polled_words_are_of_the_descriptors_memory)
{
    map_area(MAP_PRIVATE | MAP_ANONYMOUS);
    static struct polled_words polled;
    static const uint64_t places[] = {4 * PAGE + 4088, 8, 4 * PAGE, 0, 2 * PAGE - 4, 4 * PAGE + 64};
    for (unsigned i = 0; i < PAGES * PAGE / 8; i++)
        ((uint64_t *)area)[i] = i * 0x0001000100010001ULL;
    pid_t pid = process(7, true);
    for (unsigned i = 0; i < PAGES * PAGE; i++)
        area[i] = 1; /* ours is another */
    open_as(CS_BURST_FD_MEMORY, pid, "mem");
    polled = (struct polled_words){.n_words = 6, .ticks_a_us = 3000};
    for (unsigned i = 0; i < 6; i++)
        polled.word[i] = (struct polled_word){.addr = (uint64_t)area + places[i], .after = ~0ULL};
    poll_words(&polled);
    assert_true(polled.n_polls > 0);
    for (unsigned i = 0; i < 6; i++) {
        uint64_t expected = 0;
        for (unsigned k = 0; k < 8; k++) {
            uint64_t at = places[i] + k, byte = at / 8 * 0x0001000100010001ULL >> 8 * (at % 8) & 0xff;
            if (at % PAGE == 0 && at / PAGE % 2 == 0)
                byte = 7;
            expected |= byte << 8 * k;
        }
        assert_int_equal(polled.poll[0].value[i], expected);
    }
    end(pid);
    munmap(area, PAGES * PAGE);
}

static int room(void **state) /* where the runner has what holder and replayer share */
{
    (void)state;
    return mmap(boundary, BOUNDARY_BYTES_MAX, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0) == MAP_FAILED;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "victim") == 0)
        return be_victim();
    /* The heap, at a random distance behind the program, would be where the room is to be in one run of twenty. */
    if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE) && personality(ADDR_NO_RANDOMIZE) >= 0)
        execv("/proc/self/exe", argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_are_there_come_and_no_others),
        cmocka_unit_test(nothing_comes_of_a_thread_that_does_not_stand),
        cmocka_unit_test_teardown(nothing_comes_of_the_program_that_a_group_becomes, remove_victim),
        cmocka_unit_test(polled_words_are_of_the_descriptors_memory),
    };
    return cmocka_run_group_tests(tests, room, NULL);
}
