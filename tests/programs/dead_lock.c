/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads that each hold the lock that the other waits for, and a third that waits for one of them. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void take_right_under_left(void)
{
    pthread_mutex_lock(&left);
    usleep(100000);
    pthread_mutex_lock(&right);
    __asm__ volatile(""); /* no jump instead of the call */
}

__attribute__((noinline)) static void take_left_under_right(void)
{
    pthread_mutex_lock(&right);
    usleep(100000);
    pthread_mutex_lock(&left);
    __asm__ volatile(""); /* no jump instead of the call */
}

__attribute__((noinline)) static void take_left(void)
{
    usleep(300000);
    pthread_mutex_lock(&left);
    __asm__ volatile(""); /* no jump instead of the call */
}

static void *run(void *arg)
{
    static void (*const does[])(void) = {take_right_under_left, take_left_under_right, take_left};
    static const char *const names[] = {"bank-1", "bank-2", "bystander"};
    long n = (long)arg;
    pthread_setname_np(pthread_self(), names[n]);
    does[n]();
    return NULL;
}

int main(void)
{
    pthread_t thread[3];
    for (long n = 0; n < 3; n++)
        pthread_create(&thread[n], NULL, run, (void *)n); // NOLINT(performance-no-int-to-ptr)
    return pthread_join(thread[0], NULL);
}
