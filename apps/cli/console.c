// SPDX-License-Identifier: MIT
// A thread reads the terminal and passes the keys through a pipe. The guest may sleep in a wait for
// input when Ctrl-A comes. The pipe never blocks the thread. Bytes that the guest leaves unread are
// lost, as on any serial line.
#include "console.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { ESCAPE = 'A' & 0x1f, NUDGE_MS = 50 };

static const int fatal_signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP, SIGXCPU};

static struct termios cooked, raw;
static volatile sig_atomic_t is_raw, wants_quit;
static bool is_open;
static int keys[2] = {-1, -1}, ending[2] = {-1, -1}; // pipes: to the guest; to the thread
static pthread_t thread, main_thread;

void cli_console_restore(void) {
    if (is_raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &cooked);
    is_raw = 0;
}

bool cli_console_wants_quit(void) { return wants_quit; }

static void on_fatal(int number) { // SA_RESETHAND: the second one kills
    cli_console_restore();
    raise(number);
}

static void on_stop(int number) {
    (void)number;
    int saved = errno;
    cli_console_restore();
    raise(SIGSTOP);
    if (is_open && tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0) // continued
        is_raw = 1;
    errno = saved;
}

static void on_nudge(int number) { (void)number; } // ends a wait of the guest's

static void say(const char *text) {
    // A terminal can be written to by its input, too.
    int fd = isatty(STDERR_FILENO) ? STDERR_FILENO : STDIN_FILENO;
    ssize_t n = write(fd, text, strlen(text));
    (void)n;
}

// Removes escapes from `bytes` in place. Returns the length left for the guest.
static size_t take_escapes(char *bytes, size_t n, bool *is_escaped) {
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!*is_escaped && bytes[i] == ESCAPE) {
            *is_escaped = true;
            continue;
        }
        if (!*is_escaped || bytes[i] == ESCAPE)
            bytes[n_kept++] = bytes[i];
        else if (bytes[i] == 'x' || bytes[i] == 'X')
            wants_quit = 1;
        else if (bytes[i] == 'h' || bytes[i] == '?')
            say("\nCtrl-A x       end the run\nCtrl-A h       this help\nCtrl-A Ctrl-A  send Ctrl-A to the guest\n");
        *is_escaped = false;
    }
    return n_kept;
}

static void *read_keys(void *unused) {
    (void)unused;
    struct pollfd waits[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = ending[0], .events = POLLIN}};
    bool is_escaped = false;
    for (;;) {
        int n_ready = poll(waits, 2, wants_quit ? NUDGE_MS : -1);
        if (waits[1].revents || (n_ready < 0 && errno != EINTR))
            break;
        if (wants_quit)
            // Repeats, because one signal may come just before the guest begins to wait.
            pthread_kill(main_thread, SIGUSR1);
        if (!(waits[0].revents & (POLLIN | POLLHUP | POLLERR)))
            continue;
        char bytes[256];
        ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
        if (n <= 0) { // the terminal is gone
            close(keys[1]);
            keys[1] = -1;
            waits[0].fd = -1;
            continue;
        }
        size_t n_kept = take_escapes(bytes, (size_t)n, &is_escaped);
        if (n_kept > 0 && write(keys[1], bytes, n_kept) < 0)
            continue; // lost
    }
    return NULL;
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_fatal, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof fatal_signals / sizeof fatal_signals[0]; i++) {
        if (sigaction(fatal_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(fatal_signals[i], &action, NULL);
    }
    action = (struct sigaction){.sa_handler = on_stop};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTSTP, &action, NULL);
    action.sa_handler = on_nudge;
    sigaction(SIGUSR1, &action, NULL);
}

// All signals come to the main thread, which waits for the host.
static int start_thread(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, read_keys, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void close_pipes(void) {
    int *ends[] = {&keys[0], &keys[1], &ending[0], &ending[1]};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (*ends[i] >= 0)
            close(*ends[i]);
        *ends[i] = -1;
    }
}

bool cli_console_open(int *ret_input) {
    if (!isatty(STDIN_FILENO)) {
        *ret_input = STDIN_FILENO;
        return true;
    }
    if (tcgetpgrp(STDIN_FILENO) != getpgrp()) {
        *ret_input = -1;
        return true;
    }
    if (tcgetattr(STDIN_FILENO, &cooked) != 0 || pipe2(keys, O_CLOEXEC | O_NONBLOCK) != 0 || pipe2(ending, O_CLOEXEC) != 0) {
        close_pipes();
        return false;
    }
    raw = cooked;
    cfmakeraw(&raw);
    raw.c_oflag |= OPOST; // so that lines of ours stay lines
    main_thread = pthread_self();
    catch_signals();
    atexit(cli_console_restore);
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0) {
        close_pipes();
        return false;
    }
    is_raw = 1;
    int error = start_thread();
    if (error) {
        cli_console_restore();
        close_pipes();
        errno = error;
        return false;
    }
    is_open = true;
    *ret_input = keys[0];
    return true;
}

void cli_console_close(void) {
    if (!is_open)
        return;
    is_open = false;
    cli_console_restore();
    ssize_t n = write(ending[1], "", 1);
    (void)n;
    pthread_join(thread, NULL);
    close_pipes();
}
