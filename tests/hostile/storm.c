/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many events a second that a profiler of everything must follow: mappings, processes, execs, threads, libraries. Bounded in
 * count, and ends by itself.   Usage: storm SECONDS mmap|fork|exec|thread|dlopen|files|maps [HOW-MANY] */
#include "hostile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

static const char *self;

static void *nothing(void *arg)
{
    return arg;
}

static void mappings(void)
{
    int fd = open(self, O_RDONLY);
    for (int i = 0; i < 2000; i++) {
        void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED && errno == ENOMEM)
            break; /* as many as the kernel allows one process: half of them stay */
        if (at == MAP_FAILED)
            harmed("mmap");
        if (i % 2)
            munmap(at, 4096);
        else if (i % 64 == 0)
            mprotect(at, 4096, PROT_READ);
    }
    close(fd);
}

static void processes(int exec)
{
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child < 0)
            return;
        if (child == 0) {
            if (exec)
                execl("/bin/true", "true", (char *)NULL);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status)
            harmed("a child");
    }
}

static void threads(void)
{
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL))
            return;
        if (pthread_join(thread, NULL))
            harmed("pthread_join");
    }
}

static void libraries(void)
{
    static const char *const names[] = {"libm.so.6", "libdl.so.2", "librt.so.1", "libz.so.1", "libelf.so.1"};
    for (unsigned i = 0; i < 20; i++) {
        void *library = dlopen(names[i % 5], RTLD_NOW | RTLD_LOCAL);
        if (library)
            dlclose(library);
    }
}

/* Ever new files, each mapped once for execution. */
static void files(void)
{
    for (int i = 0; i < 1000; i++) {
        char name[200];
        memset(name, 'x', sizeof name);
        name[sizeof name - 1] = '\0';
        int fd = memfd_create(name, MFD_CLOEXEC);
        void *at = fd < 0 || ftruncate(fd, 4096)
                       ? MAP_FAILED
                       : mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED)
            harmed("a file's mapping");
        munmap(at, 4096);
        close(fd);
    }
}

/* Mappings that stay. */
static void many(int most)
{
    static int made;
    for (; made < most; made++) {
        void *at = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            break;
        mprotect(at, 4096, PROT_READ);
    }
    burn(0.05);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    self = argv[0];
    const char *how = argv[2];
    for (double until = seconds_now() + strtod(argv[1], NULL); seconds_now() < until;) {
        if (!strcmp(how, "mmap"))
            mappings();
        else if (!strcmp(how, "fork") || !strcmp(how, "exec"))
            processes(*how == 'e');
        else if (!strcmp(how, "thread"))
            threads();
        else if (!strcmp(how, "dlopen"))
            libraries();
        else if (!strcmp(how, "files"))
            files();
        else
            many(argc > 3 ? atoi(argv[3]) : 60000);
        burn(0.001);
    }
    return unharmed();
}
