/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server looks before each request whether its configuration has changed, by the size and the time of the file. Variant 1:
 * before each 64th. */
#define _GNU_SOURCE
#include "../kernels/kernel.h"

#include <sys/stat.h>
#include <unistd.h>

enum { REQUESTS = 512, PATH = 40 };

struct server {
    int fd, every;
    struct stat known;
    char paths[REQUESTS][PATH];
    uint64_t sum;
};

static int changed(struct server *s)
{
    struct stat now;
    if (fstat(s->fd, &now))
        exit(1);
    int differs = now.st_size != s->known.st_size || now.st_mtim.tv_sec != s->known.st_mtim.tv_sec;
    s->known = now;
    return differs;
}

HOT static uint64_t serve(struct server *s)
{
    uint64_t sum = 0;
    for (int i = 0; i < REQUESTS; i++) {
        if (i % s->every == 0 && changed(s))
            sum++;
        for (int k = 0; k < PATH; k++)
            sum += (uint64_t)s->paths[i][k];
    }
    return sum;
}

static uint64_t turn(void *argument)
{
    struct server *s = argument;
    s->sum += serve(s);
    return REQUESTS;
}

int main(int argc, char **argv)
{
    static struct server s;
    s.fd = memfd_create("configuration", 0);
    s.every = variant(argc, argv) ? 64 : 1;
    if (write(s.fd, "port=80\n", 8) != 8 || fstat(s.fd, &s.known))
        return 1;
    for (int i = 0; i < REQUESTS; i++)
        snprintf(s.paths[i], PATH, "/photos/%d/album/%d.jpg", i * 37, i);
    int status = run_kernel("reload_config", argc, argv, turn, &s);
    printf("result=%llu\n", (unsigned long long)s.sum);
    return status;
}
