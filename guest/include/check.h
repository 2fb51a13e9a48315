/* SPDX-License-Identifier: MIT
 *
 * Checks for self-testing guest programs. Every check site has a number, fixed at compile time; the
 * first one that fails names itself on standard error and ends the whole process with its number as
 * exit status, so a bare status already says where. Standard output carries only what is the same
 * on every correct system: one line per finished section. */
#ifndef GUEST_CHECK_H
#define GUEST_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
#define GUEST_NORETURN [[noreturn]]
#else
#define GUEST_NORETURN _Noreturn
#endif

/* Formats into a local buffer and uses write(2): works in a forked child, in a signal handler and
 * with a broken heap. */
GUEST_NORETURN static inline void check_failed(int number, int line, const char *what, long got, long want, int error) {
    char text[512];
    int length = snprintf(text, sizeof text, "check %d failed, line %d: %s (got %ld = %#lx, want %ld = %#lx, errno %d)\n", number, line,
                          what, got, (unsigned long)got, want, (unsigned long)want, error);
    ssize_t ignored = write(2, text, (size_t)length);
    (void)ignored;
    _exit(number);
}

/* Statements, not expressions. CHECK_OK wants anything but -1; CHECK_FAILS wants -1 with that
 * errno. */
#define CHECK_EQ(got, want) CHECK_EQ_NUMBERED(__COUNTER__ + 1, got, want)
#define CHECK_EQ_NUMBERED(number, got, want)                                                 \
    do {                                                                                     \
        long check_got = (long)(got), check_want = (long)(want);                             \
        if (check_got != check_want)                                                         \
            check_failed(number, __LINE__, #got " == " #want, check_got, check_want, errno); \
    } while (0)
#define CHECK(condition) CHECK_NUMBERED(__COUNTER__ + 1, condition)
#define CHECK_NUMBERED(number, condition)                            \
    do {                                                             \
        if (!(condition))                                            \
            check_failed(number, __LINE__, #condition, 0, 1, errno); \
    } while (0)
#define CHECK_OK(call) CHECK_OK_NUMBERED(__COUNTER__ + 1, call)
#define CHECK_OK_NUMBERED(number, call)                          \
    do {                                                         \
        errno = 0;                                               \
        if ((long)(call) == -1)                                  \
            check_failed(number, __LINE__, #call, -1, 0, errno); \
    } while (0)
#define CHECK_FAILS(call, error) CHECK_FAILS_NUMBERED(__COUNTER__ + 1, call, error)
#define CHECK_FAILS_NUMBERED(number, call, error)                                              \
    do {                                                                                       \
        errno = 0;                                                                             \
        long check_got = (long)(call);                                                         \
        if (check_got != -1 || errno != (error))                                               \
            check_failed(number, __LINE__, #call " fails with " #error, check_got, -1, errno); \
    } while (0)

/* One line on standard output, unbuffered, so that a fork never prints it twice. */
static inline void section(const char *name) {
    char text[128];
    int length = snprintf(text, sizeof text, "ok %s\n", name);
    if (write(1, text, (size_t)length) != length)
        _exit(120);
}

/* The last part of a path. */
static inline const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Ends main. Numbers must stay clear of 124 (timeout), 125 to 127 (the tool's own failures) and 128
 * + signal. */
#ifdef __cplusplus
#define CHECK_END                                                       \
    static_assert(__COUNTER__ < 120, "too many checks in one program"); \
    return 0
#else
#define CHECK_END                                                        \
    _Static_assert(__COUNTER__ < 120, "too many checks in one program"); \
    return 0
#endif

#endif
