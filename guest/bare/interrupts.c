/* SPDX-License-Identifier: MIT
 * Interrupts: the mode by delegation and enables, priority, vector, and the end of WFI. mip raises
 * SSI, STI and SEI; the CLINT raises MSI and MTI; the serial port raises MEI through the PLIC. */
#include "bare.h"

static const u64 lines[] = {IRQ_MEI, IRQ_MSI, IRQ_MTI, IRQ_SEI, IRQ_SSI, IRQ_STI, IRQ_LCOFI}; /* in order of priority */
enum { N_LINES = 7, PLIC_UART = 10 };
static u32 n_lines; /* without LCOFI when the machine has none */
#define S_LINES UINT64_C(0x2222)

static void raise(u64 irq, bool level) {
    switch (irq) {
    case IRQ_MSI: MSIP(0) = level; break;
    case IRQ_MTI: MTIMECMP(0) = level ? 0 : NEVER; break;
    case IRQ_MEI:
        MMIO8(UART_BASE + 1) = level ? 2 : 0; /* transmitter empty */
        if (!level) {
            u32 source = MMIO32(PLIC_BASE + 0x200004);
            MMIO32(PLIC_BASE + 0x200004) = source;
        }
        break;
    default:
        if (level)
            csr_set(mip, BIT(irq));
        else
            csr_clear(mip, BIT(irq));
    }
    for (u32 i = 0; i < 100000 && (csr_read(mip) >> irq & 1) != level; i++) /* the timer of QEMU takes a moment */
        ;
    check_context = irq << 8 | level;
    CHECK(csr_read(mip) >> irq & 1, level);
}
static void raise_only(u64 wanted) {
    for (u32 i = 0; i < n_lines; i++) {
        bool is_up = csr_read(mip) >> lines[i] & 1, want = wanted >> lines[i] & 1;
        if (is_up != want)
            raise(lines[i], want);
    }
}

SNIPPET(idle, "nop\n nop\n nop\n nop\n li a0, 9");

static void check_taken(outcome *o, bool is_taken, u64 irq, u64 mode, u64 handler) {
    if (!is_taken) {
        CHECK(o->trapped, 0);
        CHECK(o->x[10], 9);
        return;
    }
    CHECK(o->trapped, 1);
    CHECK(o->cause, CAUSE_IRQ(irq));
    CHECK(o->mode, handler);
    CHECK(o->epc, (u64)idle); /* before the first instruction of the mode in which it is enabled */
    CHECK(o->tval, 0);
    CHECK(o->slot, irq);
    CHECK(o->x[10], 0);
    if (handler == MODE_M)
        CHECK(o->status >> 11 & 3, mode);
    else
        CHECK(o->status >> 8 & 1, mode);
}

static void set_enables(bool mie, bool sie) {
    csr_clear(mstatus, MSTATUS_MPIE | MSTATUS_SIE | MSTATUS_SPIE);
    csr_set(mstatus, (mie ? MSTATUS_MPIE : 0) | (sie ? MSTATUS_SIE : 0)); /* run's MRET makes MIE of MPIE */
}

static void test_enable_and_delegate_matrix(void) {
    static const u64 modes[] = {MODE_U, MODE_S, MODE_M};
    for (u32 l = 0; l < n_lines; l++) {
        u64 irq = lines[l];
        raise_only(BIT(irq));
        for (u32 m = 0; m < 3; m++)
            for (u32 i = 0; i < 16; i++) {
                bool mie = i & 1, sie = i & 2, is_enabled = i & 4, is_delegated = i & 8 && (S_LINES >> irq & 1);
                csr_write(mideleg, i & 8 ? S_LINES : 0);
                csr_write(mie, is_enabled ? BIT(irq) : 0);
                set_enables(mie, sie);
                u64 mode = modes[m];
                bool to_m = !is_delegated && (mode != MODE_M || mie), to_s = is_delegated && (mode == MODE_U || (mode == MODE_S && sie));
                outcome *o = run(mode, idle, 0, 0);
                csr_write(mie, 0);
                check_context = irq << 16 | mode << 8 | i;
                check_taken(o, is_enabled && (to_m || to_s), irq, mode, to_s ? MODE_S : MODE_M);
                if (o->trapped)
                    CHECK(o->ip >> irq & 1, 1);
            }
    }
    raise_only(0);
    check_context = 0;
}

/* QEMU 7.2 without AIA takes the lowest number first, whatever the manual says. */
static void test_priorities(void) {
    for (u32 set = 1; set < 1u << n_lines; set++) {
        u64 pending = 0;
        for (u32 l = 0; l < n_lines; l++)
            if (set >> l & 1)
                pending |= BIT(lines[l]);
        raise_only(pending);
        csr_write(mie, 0x2aaa);
        for (u32 delegation = 0; delegation < 4; delegation++) {
            static const u64 delegated[] = {0, S_LINES, BIT(IRQ_SEI), BIT(IRQ_STI) | BIT(IRQ_SSI)};
            for (u64 mode = MODE_U; mode <= MODE_S; mode++) {
                csr_write(mideleg, delegated[delegation]);
                set_enables(false, true);
                u64 irq = 0, handler = MODE_M, to_m = pending & ~delegated[delegation], now = to_m ? to_m : pending;
                for (u32 l = N_LINES; l-- > 0;)
                    if (now >> lines[l] & 1)
                        irq = lines[l];
                handler = to_m ? MODE_M : MODE_S;
                outcome *o = run(mode, idle, 0, 0);
                check_context = pending << 16 | delegation << 8 | mode;
                CHECK(o->mode, handler); /* machine level before supervisor level */
                CHECK_BUT_QEMU("QEMU takes the lowest number first", o->cause, CAUSE_IRQ(irq));
                CHECK(o->epc, (u64)idle);
                if (!is_qemu)
                    check_taken(o, true, irq, mode, handler);
            }
        }
        csr_write(mie, 0);
    }
    raise_only(0);
    csr_write(mideleg, 0);
    check_context = 0;
}

/* An interrupt that becomes enabled by an instruction is taken before the next one. */
SNIPPET(enables_in_mie, "li t0, 8\n csrs mstatus, t0\n csrs mie, t0\n .globl enables_in_mie_next\n enables_in_mie_next: li a0, 9");
SNIPPET(enables_in_mstatus,
        "li t0, 8\n csrs mie, t0\n csrs mstatus, t0\n .globl enables_in_mstatus_next\n enables_in_mstatus_next: li a0, 9");
SNIPPET(raises_in_mip,
        "li t0, 2\n csrs mie, t0\n csrsi mstatus, 8\n csrs mip, t0\n .globl raises_in_mip_next\n raises_in_mip_next: li a0, 9");
SNIPPET(enables_in_sstatus, "csrsi sstatus, 2\n .globl enables_in_sstatus_next\n enables_in_sstatus_next: li a0, 9");
SNIPPET(enables_in_sie, "csrsi sstatus, 2\n csrsi sie, 2\n .globl enables_in_sie_next\n enables_in_sie_next: li a0, 9");
SNIPPET(raises_in_sip, "csrsi sie, 2\n csrsi sstatus, 2\n csrsi sip, 2\n .globl raises_in_sip_next\n raises_in_sip_next: li a0, 9");
SNIPPET(returns_into_it, "la t0, returns_into_it_next\n csrw sepc, t0\n csrsi sie, 2\n csrsi sstatus, 2\n .globl returns_into_it_next\n"
                         " returns_into_it_next: li a0, 9");
SNIPPET(sret_into_it, "la t0, sret_into_it_next\n csrw sepc, t0\n csrsi sie, 2\n li t0, 0x100\n csrs sstatus, t0\n "
                      " li t0, 0x20\n csrs sstatus, t0\n sret\n .balign 4\n .globl sret_into_it_next\n sret_into_it_next: li a0, 9");
SNIPPET(disabled_in_time, "li t0, 8\n csrs mie, t0\n csrc mie, t0\n csrsi mstatus, 8\n li a0, 9\n csrci mstatus, 8");
extern char enables_in_mie_next[], enables_in_mstatus_next[], raises_in_mip_next[], enables_in_sstatus_next[], enables_in_sie_next[],
    raises_in_sip_next[], returns_into_it_next[], sret_into_it_next[];
static void test_enabling_acts_at_once(void) {
    csr_write(mideleg, 0);
    csr_write(mie, 0);
    set_enables(false, false);
    raise_only(BIT(IRQ_MSI));
    outcome *o = run(MODE_M, enables_in_mie, 0, 0);
    CHECK(o->cause, CAUSE_IRQ(IRQ_MSI));
    CHECK(o->epc, (u64)enables_in_mie_next);
    csr_write(mie, 0);
    set_enables(false, false);
    o = run(MODE_M, enables_in_mstatus, 0, 0);
    CHECK(o->cause, CAUSE_IRQ(IRQ_MSI));
    CHECK(o->epc, (u64)enables_in_mstatus_next);
    csr_write(mie, 0);
    set_enables(false, false);
    o = run(MODE_M, disabled_in_time, 0, 0);
    CHECK(o->trapped, 0);
    raise_only(0);
    set_enables(false, false);
    o = run(MODE_M, raises_in_mip, 0, 0);
    CHECK(o->cause, CAUSE_IRQ(IRQ_SSI));
    CHECK(o->epc, (u64)raises_in_mip_next);
    csr_write(mie, 0);

    csr_write(mideleg, S_LINES);
    raise_only(BIT(IRQ_SSI));
    csr_write(mie, BIT(IRQ_SSI));
    set_enables(true, false);
    o = run(MODE_S, enables_in_sstatus, 0, 0);
    CHECK(o->cause, CAUSE_IRQ(IRQ_SSI));
    CHECK(o->epc, (u64)enables_in_sstatus_next);
    csr_write(mie, 0);
    set_enables(true, false);
    o = run(MODE_S, enables_in_sie, 0, 0);
    CHECK(o->cause, CAUSE_IRQ(IRQ_SSI));
    CHECK(o->epc, (u64)enables_in_sie_next);
    csr_write(mie, 0);
    set_enables(true, false);
    o = run(MODE_S, returns_into_it, 0, 0);
    CHECK(o->epc, (u64)returns_into_it_next);
    csr_write(mie, 0);
    set_enables(true, false);
    o = run(MODE_S, sret_into_it, 0, 0);
    CHECK(o->cause, CAUSE_IRQ(IRQ_SSI));
    CHECK(o->epc, (u64)sret_into_it_next);
    raise_only(0);
    csr_write(mie, 0);
    set_enables(true, false);
    o = run(MODE_S, raises_in_sip, 0, 0);
    CHECK(o->cause, CAUSE_IRQ(IRQ_SSI));
    CHECK(o->epc, (u64)raises_in_sip_next);
    raise_only(0);
    csr_write(mie, 0);
    csr_write(mideleg, 0);
    set_enables(false, false);
}

/* SEIP is software's bit OR the PLIC's line; writes of other bits must not latch the line. */
static void test_seip_is_two_things(void) {
    MMIO32(PLIC_BASE + 0x2080) = 1 << PLIC_UART; /* context 1: S of hart 0 */
    MMIO32(PLIC_BASE + 0x201000) = 0;
    MMIO8(UART_BASE + 1) = 2;
    for (u32 i = 0; i < 1000 && !(csr_read(mip) >> IRQ_SEI & 1); i++)
        ;
    CHECK(csr_read(mip) >> IRQ_SEI & 1, 1);
    csr_clear(mip, BIT(IRQ_SEI));
    CHECK_BUT_QEMU("QEMU keeps one bit for both", csr_read(mip) >> IRQ_SEI & 1, 1);
    csr_set(mip, BIT(IRQ_STI)); /* a read-modify-write: the line's level must not go into software's bit */
    MMIO8(UART_BASE + 1) = 0;
    u32 source = MMIO32(PLIC_BASE + 0x201004);
    CHECK(source, PLIC_UART);
    MMIO32(PLIC_BASE + 0x201004) = source;
    CHECK(csr_read(mip) >> IRQ_SEI & 1, 0);
    csr_set(mip, BIT(IRQ_SEI));
    CHECK(csr_read(mip) >> IRQ_SEI & 1, 1);
    csr_clear(mip, BIT(IRQ_SEI) | BIT(IRQ_STI));
    CHECK(csr_read(mip) >> IRQ_SEI & 1, 0);
    MMIO32(PLIC_BASE + 0x2080) = 0;
}

/* A pending interrupt enabled in mie ends WFI, whatever mstatus says; epc is the next insn. */
SNIPPET(waits, ".globl waits_at\n waits_at: wfi\n .globl waits_next\n waits_next: li a0, 9");
extern char waits_at[], waits_next[];
static void test_wfi(void) {
    static const u64 modes[] = {MODE_S, MODE_M};
    for (u32 l = 0; l < n_lines; l++)
        for (u32 m = 0; m < 2; m++)
            for (u32 i = 0; i < 2; i++) {
                u64 irq = lines[l];
                raise_only(BIT(irq));
                csr_write(mie, BIT(irq));
                csr_write(mideleg, S_LINES);
                set_enables(false, false);
                if (modes[m] == MODE_S && !(S_LINES >> irq & 1))
                    continue; /* taken at once, before WFI */
                check_context = irq << 8 | modes[m] << 4 | i;
                outcome *o = run(modes[m], waits, 0, 0);
                CHECK(o->trapped, 0);
                CHECK(o->x[10], 9);
                csr_write(mie, 0);
            }
    raise_only(0);
    /* WFI until the timer: MIE off continues, MIE on traps behind WFI; S always traps */
    for (u32 i = 0; i < 3; i++) {
        check_context = i;
        u64 mode = i == 2 ? MODE_S : MODE_M;
        csr_write(mideleg, 0);
        csr_write(mie, BIT(IRQ_MTI));
        set_enables(i == 1, false);
        u64 due = MTIME + 20000;
        MTIMECMP(0) = due;
        outcome *o = run(mode, waits, 0, 0);
        u64 woke = MTIME;
        CHECK(woke >= due, 1);
        CHECK(o->trapped, i != 0);
        if (i != 0) {
            CHECK(o->cause, CAUSE_IRQ(IRQ_MTI));
            CHECK(o->epc, (u64)waits_next);
        } else {
            CHECK(o->x[10], 9);
        }
        CHECK_BUT_QEMU("host time", woke - due <= 3 + 500 / cycles_per_tick(), 1);
        MTIMECMP(0) = NEVER;
        csr_write(mie, 0);
    }
    check_context = 0;
}

int main(void) {
    csr_write(mtvec, (u64)m_vectors | 1);
    csr_write(stvec, (u64)s_vectors | 1);
    csr_write(mie, BIT(IRQ_LCOFI));
    n_lines = csr_read(mie) >> IRQ_LCOFI & 1 ? 7 : 6;
    csr_write(mie, 0);
    MMIO32(PLIC_BASE + 4 * PLIC_UART) = 1;
    MMIO32(PLIC_BASE + 0x200000) = 0;
    MMIO32(PLIC_BASE + 0x2000) = 1 << PLIC_UART;
    raise_only(0);
    test_enable_and_delegate_matrix();
    test_priorities();
    test_enabling_acts_at_once();
    test_wfi();
    raise_only(0);
    MMIO32(PLIC_BASE + 0x2000) = 0;
    test_seip_is_two_things();
    return 0;
}
