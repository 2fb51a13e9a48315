/* SPDX-License-Identifier: MIT
 * What the laboratories of the cross-core monitor run at EL0: work with a result that can be checked,
 * and walks that leave branch target buffer, return stack, TLBs and caches in a random state. The
 * bare program guest/bare/a64/monitored.c includes it, and guest/linux/xcm_lab.c.
 *
 * The includer defines XCM_WORK_HEAP, the address of a heap whose first 4 MiB have pages of 4 KiB,
 * and XCM_WORK_WALK_BYTES, the range behind them in which walks begin; with XCM_WORK_EXCLUSIVES there
 * is also a loop of exclusives, store_counted. */
#ifndef XCM_WORK_H
#define XCM_WORK_H

#include <stdint.h>

enum { N_VALUES = 48, N_STUBS = 24, N_PAGES = 64, N_TARGETS = 4, N_OF_A_SET = 24 };

uint64_t work(uint64_t seed);
void probe_point(uint64_t round);
void jump_to(uint32_t index);
void load_from(uint64_t address);
void store_counted(uint64_t *at, uint64_t n);
extern uint32_t jump_site[], jump_targets[], probe_return[], load_site[], stubs[];

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* An insertion sort and a sum that depends on the order. */
__attribute__((noinline)) uint64_t work(uint64_t seed) {
    uint64_t values[N_VALUES], sum = 0;
    for (uint32_t i = 0; i < N_VALUES; i++)
        values[i] = next_random(&seed) % 1000;
    for (uint32_t i = 1; i < N_VALUES; i++)
        for (uint32_t k = i; k > 0 && values[k - 1] > values[k]; k--) {
            const uint64_t moved = values[k];
            values[k] = values[k - 1];
            values[k - 1] = moved;
        }
    for (uint32_t i = 0; i < N_VALUES; i++)
        sum = sum * 31 + values[i];
    return sum;
}

/* An indirect branch with four targets; a load; the probe point; pages of code. */
__asm__("    .text\n"
        "    .balign 64\n"
        "    .global jump_to, jump_site, jump_targets, load_from, load_site, probe_point, probe_return, stubs\n"
        "jump_to: adr x1, jump_targets\n"
        "    add x1, x1, x0, lsl #3\n"
        "jump_site: br x1\n"
        "jump_targets: ret\n nop\n ret\n nop\n ret\n nop\n ret\n nop\n"
        "    .balign 64\n"
        "load_from:\n"
        "load_site: ldr x1, [x0]\n"
        "    ret\n"
        "    .balign 64\n"
        "probe_point: mov x1, x0\n"
        "probe_return: ret\n"
#ifdef XCM_WORK_EXCLUSIVES
        "    .balign 64\n"
        "    .global store_counted\n"
        "store_counted: ldxr x2, [x0]\n"
        "    add x2, x2, #1\n"
        "    stxr w3, x2, [x0]\n"
        "    cbnz w3, store_counted\n"
        "    subs x1, x1, #1\n"
        "    b.ne store_counted\n"
        "    ret\n"
#endif
        "    .balign 4096\n"
        "stubs:\n"
        "    .rept 24\n"
        "    nop\n ret\n"
        "    .balign 4096\n"
        "    .endr\n");

/* Lines of one set push each other out of L1 in half of the walks. Returns the first of them, or 0. */
static inline uint64_t scatter(uint64_t *seed) {
    jump_to((uint32_t)(next_random(seed) % N_TARGETS));
    for (uint32_t n = next_random(seed) % 16; n > 0; n--)
        ((void (*)(void))((char *)stubs + 4096 * (next_random(seed) % N_STUBS)))();
    for (uint32_t n = next_random(seed) % 24; n > 0; n--)
        load_from(XCM_WORK_HEAP + 4096 * (next_random(seed) % N_PAGES));
    const uint64_t line = XCM_WORK_HEAP + 0x400000 + next_random(seed) % XCM_WORK_WALK_BYTES / 64 * 64;
    if (next_random(seed) % 2 == 0)
        return 0;
    for (uint32_t i = 0; i < N_OF_A_SET; i++)
        load_from(line + i * 0x2000);
    return line;
}

#endif
