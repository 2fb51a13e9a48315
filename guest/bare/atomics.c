/* SPDX-License-Identifier: MIT
 * LR and SC across traps, modes and address spaces. A trap between them makes SC fail
 * (docs/model.md 5.14; QEMU agrees). Every SC ends the reservation. AMOs and LR/SC with paging. */
#include "bare.h"

static u64 words[16] __attribute__((aligned(64)));
SNIPPET(pairs, "lr.d t0, (a0)\n sc.d a0, a1, (a0)");
SNIPPET(traps_between, "lr.d t0, (a0)\n ecall");
SNIPPET(stores_conditionally, "sc.d a0, a1, (a0)");
SNIPPET(twice, "lr.d t0, (a0)\n sc.d t1, a1, (a0)\n sc.d a0, a1, (a0)\n slli t1, t1, 8\n or a0, a0, t1");
SNIPPET(elsewhere, "lr.d t0, (a0)\n addi t1, a0, 64\n sc.d a0, a1, (t1)");
SNIPPET(then_again, "sc.d t0, a1, (a0)\n lr.d t1, (a0)\n sc.d a0, a1, (a0)");
/* ECALL from M within, to a handler that only returns */
__asm__(".text\n .balign 4\n back_handler: csrrw t6, mepc, t6\n addi t6, t6, 4\n csrrw t6, mepc, t6\n mret\n");
SNIPPET(through_a_handler,
        ".option push\n .option norvc\n la t0, back_handler\n csrrw t0, mtvec, t0\n lr.d t1, (a0)\n ecall\n sc.d a0, a1, (a0)\n"
        " csrw mtvec, t0\n .option pop");

static void test_reservations(void) {
    static const u64 modes[] = {MODE_U, MODE_S, MODE_M};
    for (u32 m = 0; m < 3; m++) {
        check_context = m;
        u64 mode = modes[m];
        words[0] = 1;
        CHECK(run(mode, pairs, (u64)words, 2)->x[10], 0);
        CHECK(words[0], 2);
        CHECK(run(mode, stores_conditionally, (u64)words, 3)->x[10], 1);
        CHECK(words[0], 2);
        CHECK(run(mode, twice, (u64)words, 4)->x[10], 1);
        CHECK(words[0], 4);
        CHECK(run(mode, elsewhere, (u64)words, 5)->x[10], 1);
        CHECK(words[8], 0);
        for (u32 n = 0; n < 3; n++) { /* LR here, a trap, SC there */
            run(mode, traps_between, (u64)words, 0);
            CHECK(run(modes[n], stores_conditionally, (u64)words, 6)->x[10], 1);
            CHECK(words[0], 4);
        }
        CHECK(run(mode, then_again, (u64)words, 7)->x[10], 0);
        CHECK(words[0], 7);
    }
    outcome *o = run(MODE_M, through_a_handler, (u64)words, 8);
    CHECK(o->x[10], 1);
    CHECK(words[0], 7);
    check_context = 0;
}

SNIPPET(all_amos, "li a2, 3\n amoadd.d t0, a2, (a0)\n li a2, 0x55\n amoxor.d t1, a2, (a0)\n li a2, 0xf0\n amoand.d t2, a2, (a0)\n"
                  " li a2, 0x0f\n amoor.d t3, a2, (a0)\n li a2, -5\n amomin.d t4, a2, (a0)\n li a2, 9\n amomax.d t5, a2, (a0)\n"
                  " li a2, 7\n amominu.d t6, a2, (a0)\n li a2, -1\n amomaxu.d a3, a2, (a0)\n li a2, 1\n amoswap.d a4, a2, (a0)");
static void test_amos_through_page_tables(void) {
    u64 *root = standard_map();
    csr_write(satp, satp_of(root, SATP_SV39));
    sfence();
    alias = USER_ALIAS;
    for (u64 mode = MODE_U; mode <= MODE_S; mode++) {
        words[1] = 0x100;
        outcome *o = run(mode, all_amos, mode == MODE_U ? user(&words[1]) : (u64)&words[1], 0);
        check_context = mode;
        CHECK(o->trapped, 0);
        CHECK(o->x[5], 0x100);
        CHECK(o->x[6], 0x103);
        CHECK(o->x[7], 0x156);
        CHECK(o->x[28], 0x50);
        CHECK(o->x[29], 0x5f);
        CHECK(o->x[30], -5);
        CHECK(o->x[31], 9);
        CHECK(o->x[13], 7);
        CHECK(o->x[14], -1);
        CHECK(words[1], 1);
        words[0] = 10;
        CHECK(run(mode, pairs, mode == MODE_U ? user(words) : (u64)words, 20)->x[10], 0);
        CHECK(words[0], 20);
    }
    alias = 0;
    csr_write(satp, 0);
    sfence();
    check_context = 0;
}

int main(void) {
    csr_write(stvec, (u64)s_trap);
    test_reservations();
    test_amos_through_page_tables();
    return 0;
}
