/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Four workers that write a journal, and wait for the disk while they hold the lock: journal SECONDS FILE */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file;
static time_t until;

static void append(const char *entry, size_t n)
{
    pthread_mutex_lock(&lock);
    if (write(file, entry, n) == (ssize_t)n)
        fsync(file); /* GUILTY */
    pthread_mutex_unlock(&lock);
}

static void *work(void *argument)
{
    char entry[200];
    while (time(NULL) < until)
        append(entry, (size_t)snprintf(entry, sizeof entry, "worker %p: %ld\n", argument, (long)time(NULL)));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t workers[4];
    until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2) + 1;
    file = open(argv[2], O_CREAT | O_WRONLY | O_APPEND, 0600);
    for (int i = 0; i < 4; i++)
        pthread_create(&workers[i], NULL, work, &workers[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
