// SPDX-License-Identifier: MIT
// The cases of vectors.h on the machine that runs this program. Each instruction is written into a
// page of code and called.
#include "vectors.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

typedef struct exchange { // offsets are known to the code below
    uint64_t operand[3], fcsr;
    uint64_t x, f, fcsr_after, not_taken;
} exchange;

__asm__(".balign 4\n"
        ".option push\n"
        ".option norvc\n"
        "template_begin:\n"
        "  mv t0, a0\n"
        "  ld t1, 24(t0)\n"
        "  fscsr t1\n"
        "  ld a0, 0(t0)\n"
        "  ld a1, 8(t0)\n"
        "  ld a2, 16(t0)\n"
        "  fmv.d.x fa0, a0\n"
        "  fmv.d.x fa1, a1\n"
        "  fmv.d.x fa2, a2\n"
        "  li a3, 0\n"
        "  fmv.d.x fa3, zero\n"
        "  li t3, 0\n"
        "template_slot:\n"
        "  nop\n"
        "  addi t3, t3, 1\n"
        "  frcsr t1\n"
        "  sd a3, 32(t0)\n"
        "  fsd fa3, 40(t0)\n"
        "  sd t1, 48(t0)\n"
        "  sd t3, 56(t0)\n"
        "  ret\n"
        "template_end:\n"
        ".option pop\n");
extern const char template_begin[], template_slot[], template_end[];

static volatile sig_atomic_t was_illegal;
static void on_illegal(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    was_illegal = 1;
    ((ucontext_t *)context)->uc_mcontext.__gregs[0] += 4; // pc
}

static void execute(uint32_t word, const vector_case *cases, vector_result *ret_results, size_t n) {
    uint32_t *slot = (uint32_t *)VECTORS_PC;
    const uint64_t entry = VECTORS_PC - (uint64_t)(template_slot - template_begin);
    *slot = word;
    __asm__ volatile("fence.i" ::: "memory");
    for (size_t i = 0; i < n; i++) {
        exchange e = {{cases[i].operand[0], cases[i].operand[1], cases[i].operand[2]}, cases[i].fcsr, 0, 0, 0, 0};
        fill_data((uint8_t *)VECTORS_DATA, cases[i].data);
        was_illegal = 0;
        register uint64_t in __asm__("a0") = (uint64_t)&e;
        register uint64_t target __asm__("t2") = entry;
        __asm__ volatile("jalr ra, 0(t2)"
                         : "+r"(in), "+r"(target)
                         :
                         : "ra", "t0", "t1", "t3", "a1", "a2", "a3", "fa0", "fa1", "fa2", "fa3", "memory");
        ret_results[i] = (vector_result){e.x, e.f, e.fcsr_after & 31, e.not_taken, hash_data((uint8_t *)VECTORS_DATA), was_illegal};
    }
    __asm__ volatile("fscsr zero");
}

int main(int argc, char **argv) {
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC, how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    char *code = mmap((void *)(VECTORS_PC & ~0xfffUL), 4096, all, how, -1, 0);
    char *data = mmap((void *)VECTORS_DATA, 4096, PROT_READ | PROT_WRITE, how, -1, 0);
    if (code == MAP_FAILED || data == MAP_FAILED)
        return 2;
    memcpy((char *)VECTORS_PC - (template_slot - template_begin), template_begin, (size_t)(template_end - template_begin));
    struct sigaction action = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGILL, &action, NULL);
    run_all(argc, argv);
    return 0;
}
