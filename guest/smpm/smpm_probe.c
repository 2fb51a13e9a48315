/* SPDX-License-Identifier: MIT
 *
 * Tries accesses to the window of counters, as the identity of its context.
 *
 *   smpm_probe rOFFSET | wOFFSET | cCOMMAND ...
 *
 * Offsets are hexadecimal, and sizes are 8 bytes; rOFFSET:SIZE is a load of 1, 2, 4 or 8. A line for
 * each: "rOFFSET value", or "rOFFSET fault" where the access raised SIGSEGV. A command is written to
 * the client's registers and answered by their status. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tally/smpm_device.h"

static sigjmp_buf back;

static void on_fault(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}

static uint64_t load(const volatile char *at, int size) {
    switch (size) {
    case 1: return *(const volatile uint8_t *)at;
    case 2: return *(const volatile uint16_t *)at;
    case 4: return *(const volatile uint32_t *)at;
    default: return *(const volatile uint64_t *)at;
    }
}

static void try_one(int fd, const char *word) {
    char *end;
    uint64_t number = strtoull(word + 1, &end, 16);
    int size = *end == ':' ? atoi(end + 1) : 8;
    uint64_t page = word[0] == 'c' ? 0 : number & ~UINT64_C(4095);
    volatile char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page);
    if (at == MAP_FAILED) {
        printf("%s unmapped\n", word);
        return;
    }
    if (sigsetjmp(back, 1)) {
        printf("%s fault\n", word);
    } else if (word[0] == 'w') {
        *(volatile uint64_t *)(at + number % 4096) = 1;
        printf("%s done\n", word);
    } else if (word[0] == 'c') {
        ((volatile uint64_t *)at)[SMPM_REG_CMD] = number;
        printf("%s %llu\n", word, (unsigned long long)((volatile uint64_t *)at)[SMPM_REG_STATUS]);
    } else {
        printf("%s %llu\n", word, (unsigned long long)load(at + number % 4096, size));
    }
    munmap((void *)at, 4096);
}

int main(int argc, char **argv) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_fault;
    sigaction(SIGSEGV, &action, NULL);
    int fd = open("/dev/smpm", O_RDWR);
    if (fd < 0) {
        printf("no device\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        try_one(fd, argv[i]);
    return 0;
}
