/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A database gives each transaction a private view of a table (a mapping of a file, copied on write) and updates
 * one row on each page. The first write to a page makes the kernel copy it.
 * Variant 1: the transactions share one view, whose pages are copied already. */
#define _GNU_SOURCE
#include "../kernels/kernel.h"

#include <unistd.h>

enum { PAGES = 1024, PAGE = 4096 };

struct table {
    int file, shared;
    char *view;
};

HOT static void update(char *view, uint64_t by)
{
    for (size_t page = 0; page < PAGES; page++) {
        uint64_t *row = (uint64_t *)(view + page * PAGE + page * 64 % PAGE);
        for (int column = 0; column < 8; column++)
            row[column] += by;
    }
}

static char *view_of(const struct table *t)
{
    return mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, t->file, 0);
}

static uint64_t turn(void *argument)
{
    struct table *t = argument;
    if (!t->shared && t->view) {
        munmap(t->view, PAGES * PAGE);
        t->view = NULL;
    }
    if (!t->view)
        t->view = view_of(t);
    update(t->view, 3);
    return PAGES;
}

int main(int argc, char **argv)
{
    struct table t = {memfd_create("table", 0), variant(argc, argv), NULL};
    char page[PAGE] = "row";
    for (int i = 0; i < PAGES; i++)
        if (write(t.file, page, PAGE) != PAGE)
            return 1;
    return run_kernel("private_view", argc, argv, turn, &t);
}
