// SPDX-License-Identifier: MIT
// The program the command-line tests run: one small deed for each word. Built by run.py.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

// A known number of instructions: 3 for each round and 2 around the loop.
__attribute__((noinline)) uint64_t roi_work(uint64_t rounds) {
    uint64_t sum;
    __asm__ volatile("mv %0, zero\n1:\n\tadd %0, %0, %1\n\taddi %1, %1, -1\n\tbnez %1, 1b\n" : "=&r"(sum), "+r"(rounds));
    return sum;
}

__attribute__((noinline)) uint64_t roi_recursive(uint64_t depth) {
    uint64_t sum = roi_work(10);
    if (depth > 0)
        sum += roi_recursive(depth - 1);
    __asm__ volatile("" ::: "memory");
    return sum;
}

__attribute__((noinline)) void roi_begin(void) { __asm__ volatile(""); }
__attribute__((noinline)) void roi_end(void) { __asm__ volatile(""); }

static void *spin(void *argument) { return (void *)(uintptr_t)roi_work((uint64_t)(uintptr_t)argument); }

int main(int argc, char **argv) {
    const char *deed = argc > 1 ? argv[1] : "";
    const char *value = argc > 2 ? argv[2] : "0";
    if (!strcmp(deed, "exit"))
        return atoi(value);
    if (!strcmp(deed, "signal")) {
        signal(atoi(value), SIG_DFL);
        kill(getpid(), atoi(value));
        return 99;
    }
    if (!strcmp(deed, "crash"))
        return *(volatile int *)(uintptr_t)strtoull(value, NULL, 0);
    if (!strcmp(deed, "words")) {
        for (int i = 0; i < argc; i++)
            printf("%d=%s\n", i, argv[i]);
        for (char **variable = environ; *variable; variable++)
            printf("%s\n", *variable);
        return 0;
    }
    if (!strcmp(deed, "copy")) {
        char buffer[4096];
        ssize_t n;
        while ((n = read(0, buffer, sizeof buffer)) > 0) {
            if (write(1, buffer, (size_t)n) != n)
                return 1;
        }
        fputs("copied\n", stderr);
        return n < 0;
    }
    if (!strcmp(deed, "spin"))
        return (int)(roi_work(strtoull(value, NULL, 0)) & 0);
    if (!strcmp(deed, "hang")) { // prints when it runs
        if (write(1, "ready\n", 6) != 6)
            return 1;
        for (;;)
            roi_work(1000000);
    }
    if (!strcmp(deed, "threads")) {
        pthread_t threads[4];
        for (uintptr_t i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, spin, (void *)(uintptr_t)(strtoull(value, NULL, 0) * (i + 1)));
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        return 0;
    }
    // Does a load from each untouched page, then repeated stores to the pages.
    if (!strcmp(deed, "pages")) {
        static volatile char pages[600 * 4096];
        for (size_t i = 0; i < sizeof pages; i += 4096)
            (void)pages[i];
        for (int n = 0; n < 5; n++)
            for (size_t i = 0; i < sizeof pages; i += 4096)
                pages[i] = (char)n;
        return 0;
    }
    // Makes three visits of 10, 20, 30 rounds between the borders, 1000 outside.
    if (!strcmp(deed, "roi")) {
        for (uint64_t i = 1; i <= 3; i++) {
            roi_begin();
            roi_work(10 * i);
            roi_end();
            roi_work(1000);
        }
        return 0;
    }
    if (!strcmp(deed, "recurse"))
        return (int)(roi_recursive(strtoull(value, NULL, 0)) & 0);
    if (!strcmp(deed, "sleep")) {
        struct timespec time = {atoi(value), 0};
        return nanosleep(&time, NULL) != 0;
    }
    if (!strcmp(deed, "wait")) // for ever
        return poll(NULL, 0, -1);
    if (!strcmp(deed, "unsupported"))
        return syscall(4000) == -1 && errno == ENOSYS ? 0 : 1;
    if (!strcmp(deed, "append")) { // reads a file, and makes it longer for the next run
        FILE *file = fopen(value, "r+");
        uint64_t n = 0;
        while (file && fgetc(file) != EOF)
            n++;
        roi_work(1000 * (n + 1));
        return !file || fputc('x', file) == EOF || fclose(file) != 0;
    }
    if (!strcmp(deed, "where")) {
        char folder[4096];
        return getcwd(folder, sizeof folder) ? puts(folder) < 0 : 1;
    }
    puts("hello");
    return 0;
}
