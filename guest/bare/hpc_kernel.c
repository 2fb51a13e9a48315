/* SPDX-License-Identifier: MIT
 * Four threads and a kernel fight over one hart's unit. A monitor in M passes the timer on; a kernel in S switches threads at every tick, in
 * the middle of whatever they read, and reads counters itself now and then; each thread in U asks its own manager and knows its values
 * when it sees them. With the reference reader not one wrong value may come through. With a reader that does not look at `interrupted`,
 * wrong ones do: the check would see them. */
#include "bare.h"

#define TALLY_HPC_USER /* what threads execute; the kernel below keeps useren by hand */
#include <tally/hpc.h>

enum { N_THREADS = 4, N_INTERRUPTED = 10000, N_NAIVE = 1000, OUT = 256 };
typedef struct thread {
    u64 x[32], pc; /* offsets are used below */
    u64 n_reads, n_interrupted, n_wrong;
} thread;
static thread threads[N_THREADS];
static u64 stacks_of_threads[N_THREADS][1024] __attribute__((aligned(16)));
thread *current;
static volatile u64 is_naive, stop;
static u64 ticks, n_kernel_reads, n_kernel_wrong, n_switches, random = 1;

/* The monitor: a machine timer interrupt becomes a supervisor one; one call sets the timer. */
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
        "2: ld t0, 0(sp)\n ld t1, 8(sp)\n"
        " csrrw sp, mscratch, sp\n"
        " mret\n"
        "3: la t0, monitor_panic\n csrw mepc, t0\n li t0, 3 << 11\n csrs mstatus, t0\n mret\n"
        ".data\n .balign 16\n monitor_stack: .space 64\n .text\n");
extern char monitor[], monitor_stack[];
void monitor_panic(void);
void monitor_panic(void) {
    print("the monitor was asked for something else\n");
    finish(200);
}

/* The kernel's entry saves all registers, calls C on the boot stack and restores them. */
#define EACH_X(op)                                                                                                                     \
    op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(11) op(12) op(13) op(14) op(15) op(16) op(17) op(18) op(19) op(20) op(21) \
        op(22) op(23) op(24) op(25) op(26) op(27) op(28) op(29) op(30) op(31)
#define SAVE_X(n) " sd x" #n ", 8*" #n "(a0)\n"
#define LOAD_X(n) " ld x" #n ", 8*" #n "(a0)\n"
__asm__(".text\n .balign 4\n"
        "kernel_entry:\n"
        " csrrw a0, sscratch, a0\n" EACH_X(SAVE_X) " csrr t0, sscratch\n sd t0, 80(a0)\n csrr t0, sepc\n sd t0, 256(a0)\n"
                                                   " la sp, kernel_sp\n ld sp, 0(sp)\n"
                                                   " csrr a0, scause\n csrr a1, stval\n"
                                                   " call kernel_trap\n"
                                                   "resume:\n" /* a0: the thread */
                                                   " csrw sscratch, a0\n ld t0, 256(a0)\n csrw sepc, t0\n" EACH_X(
                                                       LOAD_X) " ld a0, 80(a0)\n sret\n"
                                                               "kernel_start:\n" /* a0: the first thread */
                                                               " la t0, kernel_sp\n sd sp, 0(t0)\n la t0, kernel_ra\n sd ra, 0(t0)\n"
                                                               " j resume\n"
                                                               ".globl kernel_end\n"
                                                               "kernel_end: ld ra, kernel_ra\n ld sp, kernel_sp\n ret\n"
                                                               ".data\n .balign 8\n kernel_sp: .dword 0\n kernel_ra: .dword 0\n .text\n");
_Static_assert(offsetof(thread, pc) == 256, "the entry's offset");
extern char kernel_entry[];
_Noreturn void kernel_end(void);

static void set_timer(u64 at) {
    register u64 a0 __asm__("a0") = at;
    __asm__ volatile("ecall" : "+r"(a0)::"memory");
}

/* Slices are a random few ticks of mtime, so interrupts hit every instruction of a reader. */
static void next_slice(void) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    set_timer(csr_read(time) + ticks + (random >> 33) % (4 * ticks));
}

thread *kernel_trap(u64 cause, u64 value);
thread *kernel_trap(u64 cause, u64 value) {
    if (cause != CAUSE_IRQ(IRQ_STI)) {
        print("the kernel did not expect ");
        print_hex(cause);
        print(" ");
        print_hex(value);
        print("\n");
        finish(201);
    }
    if (stop)
        kernel_end();
    n_switches += 1;
    if (n_switches % 3 == 0) { /* T-24: the handler uses the unit, too. Nobody interrupts it, so its first try counts */
        u64 out[2] = {0}, received = 0, cycle = csr_read(cycle);
        TALLY_HPC_CSRCI(TALLY_HPCC, 1);
        TALLY_HPC_CSRW(TALLY_HPCM, 3);
        TALLY_HPC_CSRW(TALLY_HPCC, (u64)TALLY_HPC_ID(TALLY_HPC_CORE, 0, 0) << TALLY_HPC_ID_LSB | TALLY_HPC_TRIGGER | TALLY_HPC_USEREN);
        while (TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_TRIGGER)
            ;
        out[0] = TALLY_HPC_CSRR(TALLY_HPCR);
        out[1] = TALLY_HPC_CSRR(TALLY_HPCR);
        received = TALLY_HPC_CSRR(TALLY_HPCM);
        n_kernel_reads += 1;
        n_kernel_wrong += received != 3 || out[0] <= cycle || out[0] >= csr_read(cycle) || out[1] >= csr_read(instret);
    }
    current = &threads[((u64)(current - threads) + 1) % N_THREADS];
    next_slice();
    return current;
}

/* -- the threads, in U */
/* Reads all values that arrive, at most `max`, and ignores `interrupted`. */
static int naive_read(u32 id, u64 bitmap, u64 *out, int max) {
    int n = 0;
    tally_hpc_start(id, bitmap);
    for (;;) {
        u64 status = TALLY_HPC_CSRR(TALLY_HPCC);
        if (!(status & TALLY_HPC_EMPTY)) {
            u64 value = TALLY_HPC_CSRR(TALLY_HPCR);
            if (n < max)
                out[n++] = value;
        } else if (!(status & TALLY_HPC_TRIGGER)) {
            return n;
        }
    }
}
static void body(u64 me) {
    thread *t = &threads[me];
    /* Two managers have four values, so a count cannot reveal a mix-up; one has six, one constants. */
    static const u32 ids[N_THREADS] = {TALLY_HPC_ID(TALLY_HPC_DIRECTORY, 0, 0), TALLY_HPC_ID(TALLY_HPC_CORE, 0, 0),
                                       TALLY_HPC_ID(TALLY_HPC_LLC, 0, 0), TALLY_HPC_ID(TALLY_HPC_FABRIC, 0, 0)};
    static const u64 bitmaps[N_THREADS] = {BIT(0) | BIT(1) | BIT(5) | BIT(7), BIT(0) | BIT(1) | BIT(9) | BIT(19), 0x9f, 0x9};
    static u64 lasts[N_THREADS][64], outs[N_THREADS][OUT];
    u64 *last = lasts[me], *out = outs[me], then = csr_read(cycle);
    u64 n_expected = (u64)tally_hpc_count(bitmaps[me]), directory[4];
    bool is_first = true;
    for (;;) {
        u64 received = bitmaps[me], cycle = csr_read(cycle), instret = csr_read(instret);
        int n =
            is_naive && me != 0 ? naive_read(ids[me], bitmaps[me], out, OUT) : tally_hpc_read(ids[me], bitmaps[me], out, OUT, &received, 0);
        if (n == TALLY_HPC_INTERRUPTED_TOO_OFTEN) {
            t->n_interrupted += 1;
            continue;
        }
        u64 cycle_after = csr_read(cycle), instret_after = csr_read(instret);
        bool is_wrong = n < 0 || (u64)n != n_expected || received != bitmaps[me];
        switch (me) {
        case 0: /* cores, slices, fabrics, directories: always the same */
            for (u32 i = 0; i < 4; i++) {
                if (is_first)
                    directory[i] = out[i];
                is_wrong |= out[i] != directory[i];
            }
            is_wrong |= out[0] != 1 || out[2] != 1 || out[3] != 1;
            break;
        case 1: /* the clock and the instructions of this very moment */
            is_wrong |= out[0] <= cycle || out[0] >= cycle_after || out[1] <= instret || out[1] >= instret_after;
            break;
        default: break;
        }
        /* counters only grow, and by less than the cycles that have passed */
        for (u32 i = 0; me != 0 && i < n_expected; i++) {
            if (!is_first)
                is_wrong |= out[i] < last[i] || out[i] - last[i] > cycle_after - then;
            if (!is_wrong)
                last[i] = out[i];
        }
        if (me == 3) /* every value of ours is a beat, every read a request */
            is_wrong |= out[1] < out[0];
        if (!is_wrong) {
            then = cycle;
            is_first = false;
        }
        t->n_wrong += is_wrong;
        t->n_reads += 1;
        u64 sum = 0, reads = 0;
        for (u32 i = 0; i < N_THREADS; i++) {
            sum += *(volatile u64 *)&threads[i].n_interrupted;
            reads += *(volatile u64 *)&threads[i].n_reads;
        }
        if (is_naive ? reads >= N_NAIVE : sum >= N_INTERRUPTED)
            stop = 1;
    }
}

/* In S, from and to: the first thread is resumed, kernel_end returns here. */
static void fight(void) {
    for (u32 i = 0; i < N_THREADS; i++) {
        for (u32 k = 0; k < sizeof(thread) / sizeof(u64); k++)
            ((volatile u64 *)&threads[i])[k] = 0;
        threads[i].pc = (u64)body;
        threads[i].x[10] = i;
        threads[i].x[2] = (u64)stacks_of_threads[i + 1];
        __asm__("mv %0, gp" : "=r"(threads[i].x[3]));
        __asm__("mv %0, tp" : "=r"(threads[i].x[4]));
    }
    stop = 0;
    current = &threads[0];
    csr_clear(sstatus, MSTATUS_SPP | MSTATUS_SIE);
    csr_set(sstatus, MSTATUS_SPIE);
    next_slice();
    __asm__ volatile("mv a0, %0\n call kernel_start" ::"r"(&threads[0])
                     : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s1", "s2",
                       "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11");
}

int main(void) {
    ticks = 1 + 120 / cycles_per_tick();
    csr_write(mtvec, (u64)monitor);
    csr_write(mscratch, (u64)monitor_stack);
    csr_write(stvec, (u64)kernel_entry);
    csr_write(medeleg, BIT(CAUSE_ECALL_U) | BIT(CAUSE_ILLEGAL) | BIT(CAUSE_LOAD_ACCESS) | BIT(CAUSE_STORE_ACCESS));
    csr_write(mideleg, BIT(IRQ_STI) | BIT(IRQ_SSI) | BIT(IRQ_SEI));
    csr_write(mie, BIT(IRQ_MTI) | BIT(IRQ_STI));
    csr_write(mcounteren, 7);
    csr_write(scounteren, 7);
    csr_clear(mstatus, MSTATUS_MIE);
    TALLY_HPC_CSRS(TALLY_HPCC, TALLY_HPC_USEREN);
    csr_clear(mstatus, MSTATUS_MPP);
    csr_set(mstatus, UINT64_C(1) << 11);
    __asm__ volatile("la t0, 1f\n csrw mepc, t0\n mret\n 1:" ::: "t0", "memory");
    /* S from here on */
    fight();
    u64 n_interrupted = 0, n_reads = 0, n_wrong = 0;
    for (u32 i = 0; i < N_THREADS; i++) {
        check_context = i + 1;
        CHECK(threads[i].n_wrong, 0);
        CHECK_TRUE(threads[i].n_reads > N_INTERRUPTED / 100);
        CHECK_TRUE(threads[i].n_interrupted > N_INTERRUPTED / 100);
        n_interrupted += threads[i].n_interrupted;
        n_reads += threads[i].n_reads;
    }
    check_context = 0;
    CHECK_TRUE(n_interrupted >= N_INTERRUPTED);
    CHECK_TRUE(n_kernel_reads > N_INTERRUPTED / 100);
    CHECK(n_kernel_wrong, 0);
    print_number(n_reads);
    print(" reads, ");
    print_number(n_interrupted);
    print(" interrupted and made again, none wrong\n");
    is_naive = 1;
    fight();
    n_reads = 0;
    for (u32 i = 1; i < N_THREADS; i++) {
        n_reads += threads[i].n_reads;
        n_wrong += threads[i].n_wrong;
    }
    CHECK_TRUE(n_wrong > 0);
    CHECK(threads[0].n_wrong, 0); /* the reader that checks `interrupted` */
    print("without a look at `interrupted`: ");
    print_number(n_wrong);
    print(" wrong of ");
    print_number(n_reads);
    print("\n");
    return 0;
}
