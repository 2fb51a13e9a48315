/* SPDX-License-Identifier: MIT
 * A small kernel: a monitor in M that forwards the timer, a kernel in S with page tables and
 * preemption, and three programs in U that compute, call and touch absent pages. Each checks
 * its registers and memory; the kernel checks the reports against its own counts. */
#include "bare.h"

enum { N_TASKS = 3, N_ROUNDS = 60, N_LAZY_PAGES = 8, SLICE = 200 };
typedef struct task {
    u64 x[32], pc; /* offsets are used below */
    u64 f[32], fcsr;
    u64 *root;
    u64 sum, n_calls, n_faults, n_preemptions;
    bool is_done;
} task;
static task tasks[N_TASKS];
task *current;
static u64 unexpected;
static u64 lazy_pages[N_TASKS][N_LAZY_PAGES][512] __attribute__((aligned(4096)));
static u64 user_stacks[N_TASKS][512] __attribute__((aligned(4096)));
static const u64 LAZY = UINT64_C(0x300000000), STACK_TOP = UINT64_C(0x340001000);

/* The monitor turns a machine timer interrupt into a supervisor one; one call sets the timer. */
__asm__(".text\n .balign 4\n"
        "monitor:\n"
        " csrrw sp, mscratch, sp\n"
        " sd t0, 0(sp)\n sd t1, 8(sp)\n"
        " csrr t0, mcause\n"
        " bltz t0, 1f\n"
        " li t1, 9\n bne t0, t1, 3f\n"
        " li t0, 0x2004000\n sd a0, 0(t0)\n" /* mtimecmp of hart 0 */
        " li t0, 0x20\n csrc mip, t0\n"      /* STIP */
        " csrr t0, mepc\n addi t0, t0, 4\n csrw mepc, t0\n"
        " j 2f\n"
        "1: li t0, 0x2004000\n li t1, -1\n sd t1, 0(t0)\n"
        " li t0, 0x20\n csrs mip, t0\n"
        " la t0, n_timer_m_counter\n ld t1, 0(t0)\n addi t1, t1, 1\n sd t1, 0(t0)\n"
        "2: ld t0, 0(sp)\n ld t1, 8(sp)\n"
        " csrrw sp, mscratch, sp\n"
        " mret\n"
        "3: la t0, monitor_panic\n csrw mepc, t0\n li t0, 3 << 11\n csrs mstatus, t0\n mret\n"
        ".data\n .balign 8\n n_timer_m_counter: .dword 0\n monitor_stack: .space 64\n .text\n");
extern char monitor[], monitor_stack[];
extern u64 n_timer_m_counter;
void monitor_panic(void);
void monitor_panic(void) {
    print("the monitor was asked for something else\n");
    finish(200);
}

/* The kernel's entry saves all registers, calls C on the boot stack and restores them. */
#define EACH_X(op)                                                                                                                     \
    op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(11) op(12) op(13) op(14) op(15) op(16) op(17) op(18) op(19) op(20) op(21) \
        op(22) op(23) op(24) op(25) op(26) op(27) op(28) op(29) op(30) op(31)
#define EACH_F(op)                                                                                                                    \
    op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11) op(12) op(13) op(14) op(15) op(16) op(17) op(18) op(19) \
        op(20) op(21) op(22) op(23) op(24) op(25) op(26) op(27) op(28) op(29) op(30) op(31)
#define SAVE_X(n) " sd x" #n ", 8*" #n "(a0)\n"
#define LOAD_X(n) " ld x" #n ", 8*" #n "(a0)\n"
#define SAVE_F(n) " fsd f" #n ", 264+8*" #n "(a0)\n"
#define LOAD_F(n) " fld f" #n ", 264+8*" #n "(a0)\n"
__asm__(".text\n .balign 4\n"
        "kernel_entry:\n"
        " csrrw a0, sscratch, a0\n" EACH_X(SAVE_X) " csrr t0, sscratch\n sd t0, 80(a0)\n csrr t0, sepc\n sd t0, 256(a0)\n" EACH_F(
            SAVE_F) " frcsr t0\n sd t0, 520(a0)\n"
                    " la sp, kernel_sp\n ld sp, 0(sp)\n"
                    " .option push\n .option norelax\n la gp, __global_pointer$\n .option pop\n"
                    " csrr a0, scause\n csrr a1, stval\n csrr a2, sstatus\n"
                    " call kernel_trap\n"
                    "resume:\n" /* a0: the task */
                    " csrw sscratch, a0\n ld t0, 256(a0)\n csrw sepc, t0\n ld t0, 520(a0)\n fscsr t0\n" EACH_F(LOAD_F)
                        EACH_X(LOAD_X) " ld a0, 80(a0)\n sret\n"
                                       "kernel_start:\n" /* a0: the first task */
                                       " la t0, kernel_sp\n sd sp, 0(t0)\n la t0, kernel_ra\n sd ra, 0(t0)\n"
                                       " j resume\n"
                                       ".globl kernel_end\n"
                                       "kernel_end: ld ra, kernel_ra\n ld sp, kernel_sp\n ret\n"
                                       ".data\n .balign 8\n kernel_sp: .dword 0\n kernel_ra: .dword 0\n .text\n");
_Static_assert(offsetof(task, pc) == 256 && offsetof(task, f) == 264 && offsetof(task, fcsr) == 520, "the entry's offsets");
extern char kernel_entry[], kernel_start[];
_Noreturn void kernel_end(void);

static void set_timer(u64 at) {
    register u64 a0 __asm__("a0") = at;
    __asm__ volatile("ecall" : "+r"(a0)::"memory");
}

static task *next_task(task *after) {
    for (u32 i = 1; i <= N_TASKS; i++) {
        task *t = &tasks[((u64)(after - tasks) + i) % N_TASKS];
        if (!t->is_done)
            return t;
    }
    return NULL;
}

enum { CALL_ADD = 1, CALL_YIELD = 2, CALL_EXIT = 3 };
task *kernel_trap(u64 cause, u64 value, u64 status);
task *kernel_trap(u64 cause, u64 value, u64 status) {
    task *t = current;
    if (status & MSTATUS_SPP)
        unexpected += 1; /* the kernel itself never traps */
    if (cause == CAUSE_IRQ(IRQ_STI)) {
        t->n_preemptions += 1;
        set_timer(csr_read(time) + SLICE);
        t = next_task(t);
    } else if (cause == CAUSE_ECALL_U) {
        t->pc += 4;
        t->n_calls += t->x[17] != CALL_EXIT;
        switch (t->x[17]) {
        case CALL_ADD:
            t->sum += t->x[10];
            t->x[10] = t->sum;
            break;
        case CALL_YIELD: t = next_task(t); break;
        default: /* a task not yet preempted continues, because QEMU's time is the host's */
            if (t->n_preemptions != 0) {
                t->is_done = true;
                t = next_task(t);
            }
        }
    } else if (cause == CAUSE_LOAD_PAGE || cause == CAUSE_STORE_PAGE) {
        u64 index = (value - LAZY) / 4096;
        if (value < LAZY || index >= N_LAZY_PAGES) {
            unexpected += 1;
            kernel_end();
        }
        t->n_faults += 1;
        map(t->root, 3, value & ~UINT64_C(4095), (u64)lazy_pages[t - tasks][index], 0, PTE_RW | PTE_U);
        sfence_page(value);
    } else {
        unexpected += 1;
        print("the kernel did not expect ");
        print_hex(cause);
        print(" ");
        print_hex(value);
        print("\n");
        kernel_end();
    }
    if (t == NULL)
        kernel_end();
    if (t != current) {
        csr_write(satp, satp_of(t->root, SATP_SV39));
        sfence();
        current = t;
    }
    return t;
}

/* The program in U: a1 is its number. Results go to its lazy pages; page 0 word 0: verdict. */
static u64 call(u64 number, u64 argument) {
    register u64 a0 __asm__("a0") = argument, a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0;
}
static void program(u64 me) {
    volatile u64 *memory = (volatile u64 *)LAZY;
    u64 sum = 0, wrong = 0;
    for (u64 round = 1; round <= N_ROUNDS; round++) {
        u64 value = round * (me + 1);
        double x = (double)value, y = 0;
        for (u64 i = 0; i < 300; i++) { /* long enough to be preempted, in registers of both kinds */
            __asm__ volatile("fadd.d %0, %0, %1" : "+f"(y) : "f"(x));
            value = value * 5 + i;
        }
        u64 again = round * (me + 1);
        for (u64 i = 0; i < 300; i++)
            again = again * 5 + i;
        wrong += value != again || y != 300 * x;
        u64 at = round % N_LAZY_PAGES * 512 + 8 + round / N_LAZY_PAGES;
        memory[at] = value;
        sum += round;
        wrong += call(CALL_ADD, round) != sum;
        wrong += memory[at] != value;
        if (round % 7 == me)
            call(CALL_YIELD, 0);
    }
    for (u64 round = 1; round <= N_ROUNDS; round++) {
        u64 value = round * (me + 1);
        for (u64 i = 0; i < 300; i++)
            value = value * 5 + i;
        wrong += memory[round % N_LAZY_PAGES * 512 + 8 + round / N_LAZY_PAGES] != value;
    }
    memory[1] = sum;
    memory[0] = 1000 + wrong;
    for (;;)
        call(CALL_EXIT, 0);
}

int main(void) {
    for (u32 i = 0; i < N_TASKS; i++) {
        task *t = &tasks[i];
        t->root = standard_map();
        map(t->root, 3, STACK_TOP - 4096, (u64)user_stacks[i], 0, PTE_RW | PTE_U);
        t->x[10] = i;
        t->x[2] = STACK_TOP;
        t->pc = user((void *)(u64)program);
    }
    current = &tasks[0];
    csr_write(mtvec, (u64)monitor);
    csr_write(mscratch, (u64)monitor_stack);
    csr_write(stvec, (u64)kernel_entry);
    csr_write(medeleg, BIT(CAUSE_ECALL_U) | BIT(CAUSE_LOAD_PAGE) | BIT(CAUSE_STORE_PAGE) | BIT(CAUSE_FETCH_PAGE) | BIT(CAUSE_ILLEGAL));
    csr_write(mideleg, BIT(IRQ_STI) | BIT(IRQ_SSI) | BIT(IRQ_SEI));
    csr_write(mie, BIT(IRQ_MTI) | BIT(IRQ_STI));
    csr_write(mcounteren, 7);
    csr_write(satp, satp_of(tasks[0].root, SATP_SV39));
    sfence();
    csr_clear(mstatus, MSTATUS_SPP | MSTATUS_SIE | MSTATUS_MIE);
    csr_set(mstatus, MSTATUS_SPIE);
    MTIMECMP(0) = MTIME + SLICE;
    /* into S, where the first task is resumed; kernel_end returns there, still in S */
    csr_clear(mstatus, MSTATUS_MPP);
    csr_set(mstatus, UINT64_C(1) << 11);
    __asm__ volatile("la t0, 1f\n csrw mepc, t0\n mret\n 1: mv a0, %0\n call kernel_start" ::"r"(&tasks[0])
                     : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s1", "s2",
                       "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11");
    /* S: the verdict. Devices are mapped for it, and so is the program */
    CHECK(unexpected, 0);
    u64 n_preemptions = 0;
    for (u32 i = 0; i < N_TASKS; i++) {
        check_context = i + 1;
        CHECK(tasks[i].is_done, 1);
        CHECK(lazy_pages[i][0][0], 1000);
        CHECK(lazy_pages[i][0][1], N_ROUNDS * (N_ROUNDS + 1) / 2);
        CHECK(tasks[i].sum, N_ROUNDS * (N_ROUNDS + 1) / 2);
        CHECK(tasks[i].n_faults, N_LAZY_PAGES);
        u64 n_yields = 0;
        for (u64 round = 1; round <= N_ROUNDS; round++)
            n_yields += round % 7 == i;
        CHECK(tasks[i].n_calls, N_ROUNDS + n_yields);
        n_preemptions += tasks[i].n_preemptions;
    }
    check_context = 0;
    CHECK(n_preemptions >= N_TASKS, 1);
    CHECK(n_timer_m_counter >= n_preemptions, 1);
    return 0;
}
