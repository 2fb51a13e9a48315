// SPDX-License-Identifier: MIT
// The library is busy in one call, so a timer writes the line. Its handler uses nothing but the
// clock, write and two texts that take turns.
#include "progress.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_SECONDS = 2, EVERY_US = 250000, STEP_BYTES = 80 };

static char steps[2][STEP_BYTES];
static volatile sig_atomic_t current, is_running, is_shown;
static struct timespec begin;

static size_t append(char *text, size_t used, const char *more) {
    while (*more)
        text[used++] = *more++;
    return used;
}

static void on_tick(int number) {
    (void)number;
    int saved = errno;
    struct timespec now;
    char text[STEP_BYTES + 64], digits[24];
    clock_gettime(CLOCK_MONOTONIC, &now);
    size_t n_digits = 0, used = append(text, 0, "\r\033[K tally: ");
    for (long seconds = now.tv_sec - begin.tv_sec; seconds > 0 || n_digits == 0; seconds /= 10)
        digits[n_digits++] = (char)('0' + seconds % 10);
    while (n_digits > 0)
        text[used++] = digits[--n_digits];
    used = append(text, used, " s, ");
    used = append(text, used, steps[current]);
    ssize_t n = write(STDERR_FILENO, text, used);
    (void)n;
    is_shown = 1;
    errno = saved;
}

void cli_progress_begin(bool is_wanted) {
    if (!is_wanted || !isatty(STDERR_FILENO))
        return;
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct itimerval every = {.it_interval = {.tv_usec = EVERY_US}, .it_value = {.tv_sec = FIRST_SECONDS}};
    sigemptyset(&action.sa_mask);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    is_running = sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0;
}

void cli_progress_set(const char *step) {
    int next = !current;
    snprintf(steps[next], sizeof steps[next], "%s", step);
    current = next;
}

void cli_progress_erase(void) {
    if (is_shown)
        fputs("\r\033[K", stderr);
    is_shown = 0;
}

void cli_progress_end(void) {
    struct itimerval never = {.it_value = {.tv_sec = 0}};
    if (!is_running)
        return;
    setitimer(ITIMER_REAL, &never, NULL);
    is_running = 0;
    cli_progress_erase();
}
