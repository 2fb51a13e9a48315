/* SPDX-License-Identifier: MIT
 *
 * What is not an instruction must say so, and what only looks odd must not. Each encoding below is
 * placed in a small function and called; the outcome is SIGILL with the right program counter, or a
 * normal return. Reserved encodings that an implementation may define are left out. */
#include "isa.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

struct encoding {
    const char *what;
    uint32_t bits;
    int is_illegal;
};

static const struct encoding rows[] = {
    /* -- 32 bits -- */
    {"all ones", 0xffffffff, 1},
    {"custom-0 opcode", 0x0000000b, 1},
    {"custom-1 opcode", 0x0000002b, 1},
    {"load, width 7", 0x00057003 | 0x7000, 1},
    {"store, width 4", 0x00a54023, 1},
    {"branch, condition 2", 0x00002063, 1},
    {"branch, condition 3", 0x00003063, 1},
    {"jalr, funct3 1", 0x00001067, 1},
    {"slli with bit 26", 0x04051513, 1},
    {"slliw by 32", 0x0205151b, 1},
    {"srliw by 32", 0x0205551b, 1},
    {"sraiw by 32", 0x4205551b, 1},
    {"addiw group, funct3 2", 0x0005251b, 1},
    {"op, funct7 0x7f", 0xfeb50533, 1},
    {"op, sub variant of slt", 0x40b52533, 1},
    {"op-32, funct3 2", 0x00b5253b, 1},
    {"mulh of words", 0x02b5153b, 1},
    {"amo, width 1", 0x00b5152f, 1},
    {"amo, width 4", 0x00b5452f, 1},
    {"amo, funct5 0x1f", 0xf8b5252f, 1},
    {"lr.w with rs2", 0x1015252f, 1},
    {"fp load, width 1 (half)", 0x00051507, 1},
    {"fp load, width 4 (quad)", 0x00054507, 1},
    {"fadd in quad", 0x06b50553, 1},
    {"fadd, rounding mode 5", 0x00b55553, 1},
    {"fadd, rounding mode 6", 0x00b56553, 1},
    {"fmadd, rounding mode 5", 0x60b55543, 1},
    {"fsqrt with rs2 = 1", 0x58150553, 1},
    {"fsgnj, funct3 3", 0x20b53553, 1},
    {"fmin, funct3 2", 0x28b52553, 1},
    {"compare, funct3 3", 0xa0b53553, 1},
    {"fclass, rs2 = 1", 0xe0151553, 1},
    {"fcvt.w.s, rs2 = 4", 0xc0450553, 1},
    {"fmv.x.w, funct3 2", 0xe0052553, 1},
    {"mret", 0x30200073, 1},
    {"sret", 0x10200073, 1},
    {"sfence.vma", 0x12000073, 1},
    {"csr group, funct3 4", 0x30054573, 1},
    {"csrr of an unknown csr", 0x5c002573, 1},
    {"clz group, unknown function", 0x60651513, 1},
    {"orc.b group, unknown immediate", 0x28655513, 1},
    /* -- 16 bits: the word's upper half is c.nop -- */
    {"c: all zero", 0x00010000, 1},
    {"c: addi4spn of 0", 0x00010008, 1},
    {"c: reserved, quadrant 0, funct3 4", 0x00018000, 1},
    {"c: addiw to x0", 0x00012001, 1},
    {"c: addi16sp of 0", 0x00016101, 1},
    {"c: lui of 0", 0x00016501, 1},
    {"c: reserved, 0x9c41 (subw group 2)", 0x00019c41, 1},
    {"c: reserved, 0x9c61 (subw group 3)", 0x00019c61, 1},
    {"c: lwsp to x0", 0x00014002, 1},
    {"c: ldsp to x0", 0x00016002, 1},
    {"c: jr of x0", 0x00018002, 1},
    /* -- legal, though odd: hints and no-ops -- */
    {"addi x0, x0, 5", 0x00500013, 0},
    {"lui x0, 1", 0x00001037, 0},
    {"add x0, x10, x11", 0x00b50033, 0},
    {"slt x0, x10, x11", 0x00b52033, 0},
    {"fence with reserved fields", 0x0ff58f8f & ~0x70u, 0},
    {"fence.i with immediate and registers", 0xfff5958f, 0},
    {"pause", 0x0100000f, 0},
    {"c: nop with an immediate", 0x0001000d, 0},
    {"c: addi a0 of 0", 0x00010501, 0},
    {"c: li to x0", 0x00014005, 0},
    {"c: lui to x0", 0x00016005, 0},
    {"c: slli of x0", 0x0001000a, 0},
    {"c: mv to x0", 0x0001802e, 0},
    {"c: add to x0", 0x0001902e, 0},
    {"c: slli by 0", 0x00010502, 0},
};

static sigjmp_buf recovery;
static volatile uint64_t fault_pc;

static void on_illegal(int number, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    (void)info;
    fault_pc = uc->uc_mcontext.__gregs[REG_PC];
    siglongjmp(recovery, number);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO};
    if (sigaction(SIGILL, &action, NULL) != 0)
        return 1;
    static uint32_t data[32];
    volatile int n_wrong = 0;
    for (volatile unsigned i = 0; i < COUNT(rows); i++) {
        uint32_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (code == MAP_FAILED)
            return 2;
        code[0] = rows[i].bits;
        code[1] = 0x00008067; /* ret */
        __asm__ volatile("fence.i" ::: "memory");
        int is_illegal = sigsetjmp(recovery, 1);
        if (!is_illegal)
            ((void (*)(void *, void *))code)(data, data + 16);
        const char *outcome = !is_illegal ? "fine" : fault_pc == (uint64_t)code ? "SIGILL" : "SIGILL, wrong pc";
        printf("%-40s %s\n", rows[i].what, outcome);
        if (!!is_illegal != rows[i].is_illegal || (is_illegal && fault_pc != (uint64_t)code)) {
            fprintf(stderr, "%s (%08x): %s\n", rows[i].what, rows[i].bits, outcome);
            n_wrong++;
        }
        munmap(code, 4096);
    }
    return n_wrong > 100 ? 100 : n_wrong;
}
