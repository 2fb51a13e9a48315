/* SPDX-License-Identifier: MIT
 * Code that changes: written at one address, executed at another after FENCE.I, in S, U; pages of
 * code exchanged under SFENCE.VMA; other code at one address by address space and by mode. */
#include "bare.h"

static u32 code[2048] __attribute__((aligned(4096)));
static const u64 EXECUTE = UINT64_C(0x200000000), EXECUTE_U = UINT64_C(0x240000000); /* the same pages, for S and for U */
static u32 li_a0(u32 value) { return value << 20 | 10 << 7 | 0x13; }
enum { RET = 0x00008067 };

/* A lower mode writes an instruction, synchronizes, and jumps to it. */
SNIPPET(writes_and_jumps, "sw a1, 0(a0)\n fence.i\n jr a0");
SNIPPET(jumps, "jr a0");

int main(void) {
    csr_write(stvec, (u64)s_trap);
    u64 *root = standard_map();
    for (u32 i = 0; i < 2; i++) {
        map(root, 3, EXECUTE + i * 4096, (u64)code + i * 4096, 0, PTE_RWX & ~(u64)PTE_W);
        map(root, 3, EXECUTE_U + i * 4096, (u64)code + i * 4096, 0, (PTE_RWX | PTE_U) & ~(u64)PTE_W);
    }
    csr_write(satp, satp_of(root, SATP_SV39));
    sfence();
    alias = USER_ALIAS;

    /* in M, then S, then U: every iteration other code at the same place */
    for (u32 i = 0; i < 300; i++) {
        check_context = i;
        code[0] = li_a0(i);
        code[1] = RET;
        fence_i();
        CHECK(run(MODE_M, jumps, (u64)code, 0)->x[10], i);
        CHECK(run(MODE_S, jumps, EXECUTE, 0)->x[10], i);
        CHECK(run(MODE_U, jumps, EXECUTE_U, 0)->x[10], i);
        CHECK(run(MODE_S, jumps, (u64)code, 0)->x[10], i);
        code[0] = li_a0(i + 1000); /* also when it has just run */
        fence_i();
        CHECK(run(MODE_U, jumps, EXECUTE_U, 0)->x[10], i + 1000);
        CHECK(run(MODE_S, jumps, EXECUTE, 0)->x[10], i + 1000);
        CHECK(run(MODE_M, jumps, (u64)code, 0)->x[10], i + 1000);
    }

    /* lower modes write and synchronize themselves */
    for (u32 i = 0; i < 300; i++) {
        check_context = 0x10000 | i;
        for (u64 mode = MODE_U; mode <= MODE_S; mode++) {
            u64 below = mode == MODE_U ? USER_ALIAS : 0;
            code[17] = RET;
            outcome *o = run(mode, writes_and_jumps, (u64)&code[16] - below, li_a0(i + mode));
            CHECK(o->trapped, 0);
            CHECK(o->x[10], i + mode);
        }
    }

    /* the page table changes under the code */
    code[0] = li_a0(11);
    code[1] = RET;
    code[1024] = li_a0(22);
    code[1025] = RET;
    fence_i();
    u64 *leaf = pte_of(root, 3, EXECUTE, 0), *second = pte_of(root, 3, EXECUTE + 4096, 0);
    for (u32 i = 0; i < 100; i++) {
        check_context = 0x20000 | i;
        CHECK(run(MODE_S, jumps, EXECUTE, 0)->x[10], i & 1 ? 22 : 11);
        CHECK(run(MODE_S, jumps, EXECUTE + 4096, 0)->x[10], i & 1 ? 11 : 22);
        u64 swap = *leaf;
        *leaf = *second;
        *second = swap;
        sfence();
    }

    /* two address spaces, two modes, one virtual address */
    u64 *other = standard_map();
    map(other, 3, EXECUTE, (u64)code + 4096, 0, PTE_RWX & ~(u64)PTE_W);
    map(root, 3, EXECUTE, (u64)code, 0, PTE_RWX & ~(u64)PTE_W);
    for (u32 i = 0; i < 100; i++) {
        check_context = 0x30000 | i;
        csr_write(satp, satp_of(i & 1 ? other : root, SATP_SV39));
        sfence();
        CHECK(run(MODE_S, jumps, EXECUTE, 0)->x[10], i & 1 ? 22 : 11);
        CHECK(run(MODE_U, jumps, EXECUTE, 0)->cause, CAUSE_FETCH_PAGE); /* S's page */
    }
    check_context = 0;
    return 0;
}
