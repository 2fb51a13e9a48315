/* SPDX-License-Identifier: MIT
 *
 * Programs that sleep for ever, each in another way; -DDEADLOCK=NAME picks one. On a real machine
 * they hang. A simulator knows that nothing can wake them any more: no thread can run, no timer is
 * armed, no input is awaited. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define CASE static __attribute__((unused)) void

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold_one;

static void *left_then_right(void *arg) {
    pthread_mutex_lock(&left);
    pthread_barrier_wait(&both_hold_one);
    pthread_mutex_lock(&right);
    return arg;
}

static void *right_then_left(void *arg) {
    pthread_mutex_lock(&right);
    pthread_barrier_wait(&both_hold_one);
    pthread_mutex_lock(&left);
    return arg;
}

CASE deadlock_mutex(void) {
    pthread_t threads[2];
    pthread_barrier_init(&both_hold_one, NULL, 2);
    pthread_create(&threads[0], NULL, left_then_right, NULL);
    pthread_create(&threads[1], NULL, right_then_left, NULL);
    pthread_join(threads[0], NULL);
}

/* It reads what only it could write. */
CASE deadlock_pipe(void) {
    int fds[2];
    char byte;
    if (pipe(fds) != 0 || read(fds[0], &byte, 1) != 1)
        exit(1);
}

/* The child waits for the parent's byte, the parent for the child's end. */
CASE deadlock_processes(void) {
    int fds[2];
    char byte;
    if (pipe(fds) != 0)
        exit(1);
    if (fork() == 0)
        _exit((int)read(fds[0], &byte, 1));
    wait(NULL);
}

CASE deadlock_pause(void) {
    signal(SIGUSR1, SIG_IGN);
    pause();
}

CASE deadlock_poll(void) {
    struct pollfd fd = {.fd = eventfd(0, 0), .events = POLLIN};
    poll(&fd, 1, -1);
}

int main(void) {
    if (write(1, "before\n", 7) != 7)
        return 1;
    DEADLOCK();
    return 2;
}
