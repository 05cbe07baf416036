/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that a report prints: terminal escapes, shell text, a cell's formula, a page's script, broken UTF-8; as the names of
 * methods in a perf map, and of a thread.   Usage: names SECONDS FOLDER */
#include "hostile.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define SHELL "$(touch owned)`touch owned`;touch owned;'$(touch owned)'\"`touch owned`\""
static const char *const names[] = {
    "\033]0;owned\007\033[2J" SHELL "=1+1,\"x\xff\xc0\xaf\r\b\x9b",
    "=cmd|' /c touch owned'!A1",
    "</script><script>owned()</script><img src=x onerror=owned()>",
    SHELL,
};
#define METHODS (sizeof names / sizeof *names)
#define METHOD_BYTES 1024

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    char map[64];
    prctl(PR_SET_NAME, "\033[31m$(id)\r");
    uint8_t *code =
        mmap(NULL, METHODS * METHOD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static const uint8_t loop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
    if (code == MAP_FAILED)
        harmed("mmap");
    snprintf(map, sizeof map, "/tmp/perf-%d.map", (int)getpid());
    FILE *file = fopen(map, "w");
    if (!file)
        harmed("the map");
    for (size_t i = 0; i < METHODS; i++) {
        memcpy(code + i * METHOD_BYTES, loop, sizeof loop);
        fprintf(file, "%lx %x %s\n", (unsigned long)(uintptr_t)code + i * METHOD_BYTES, METHOD_BYTES,
                names[i]);
    }
    fclose(file);
    mprotect(code, METHODS * METHOD_BYTES, PROT_READ | PROT_EXEC);
    for (double until = seconds_now() + strtod(argv[1], NULL); seconds_now() < until;)
        for (size_t i = 0; i < METHODS; i++) {
            void (*run)(uint64_t) = (void (*)(uint64_t))(uintptr_t)(code + i * METHOD_BYTES);
            run(1000000);
        }
    unlink(map);
    return unharmed();
}
