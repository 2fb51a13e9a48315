// SPDX-License-Identifier: MIT
// Bodies on the special cases that the manual spells out. Everything else is compared with another
// machine in tests/isa.
#include <stdlib.h>

#include "base/testing.h"
#include "isa/rv/csr.h"
#include "isa/rv/fp.h"
#include "isa/rv/insn.h"

typedef struct fixture {
    tl_rv_hart rv;
    tl_config config;
    uint64_t calls, last_vaddr, last_value; // of the port
    uint32_t last_size_bytes;
    bool refuses;
} fixture;

static fixture *fixture_of(tl_hart *h) { return (fixture *)h; }

static bool note(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    fixture *f = fixture_of(h);
    f->calls += 1;
    f->last_vaddr = vaddr;
    f->last_value = value;
    f->last_size_bytes = size_bytes;
    if (f->refuses)
        return tl_trap(h, TL_CAUSE_LOAD_PAGE, vaddr);
    h->mem_value = UINT64_C(0x8182838485868788) & (size_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size_bytes) - 1);
    return true;
}
static bool port_load(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) { return note(h, vaddr, size_bytes, 0); }
static bool port_store(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) { return note(h, vaddr, size_bytes, value); }
static bool port_amo(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, tl_amo amo, uint64_t operand) {
    return note(h, vaddr, size_bytes, operand ^ (uint64_t)amo << 60);
}
static bool port_sc(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    const bool is_done = note(h, vaddr, size_bytes, value);
    h->mem_value = 1;
    return is_done;
}
static void port_fence_i(tl_hart *h) { fixture_of(h)->calls += 1; }
static const tl_mem_port port = {.load = port_load,
                                 .store = port_store,
                                 .amo = port_amo,
                                 .load_reserved = port_load,
                                 .store_conditional = port_sc,
                                 .drop_code = port_fence_i};

static int setup(void **state) {
    fixture *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return -1;
    f->config.clock_hz = 1000000000;
    f->rv.hart.isa = &tl_isa_rv64;
    f->rv.hart.config = &f->config;
    f->rv.hart.port = &port;
    f->rv.hart.line_log2 = 6;
    f->rv.hart.line_mask = ~UINT64_C(63);
    for (size_t i = 0; i < TL_COUNT_OF(f->rv.hart.data_slot); i++)
        f->rv.hart.data_slot[i].read_tag = f->rv.hart.data_slot[i].write_tag = TL_NO_LINE;
    *state = f;
    return 0;
}
static int teardown(void **state) {
    free(*state);
    return 0;
}

enum { PC = 0x10000 };
static bool run(tl_hart *h, uint32_t bits) {
    tl_decoded insn;
    tl_op op = {0};
    tl_fp_saved saved;
    tl_decode(bits, &insn);
    tl_op_from_decoded(&insn, &op);
    tl_fp_enter(h, &saved);
    const bool is_done = tl_exec_full[insn.opc](h, &op, PC);
    tl_fp_leave(h, &saved);
    return is_done;
}

// Source: unprivileged manual, M, table of division by zero and overflow.
static void test_division_by_zero_and_overflow(void **state) {
    tl_hart *h = &((fixture *)*state)->rv.hart;
    const uint64_t min64 = UINT64_C(1) << 63, min32 = UINT64_C(0xffffffff80000000);
    const struct {
        int line;
        uint32_t bits; // a2 = a0 op a1
        uint64_t a, b, want;
    } rows[] = {
        {__LINE__, 0x02b54633, 7, 0, UINT64_MAX}, // div
        {__LINE__, 0x02b55633, 7, 0, UINT64_MAX}, // divu
        {__LINE__, 0x02b56633, 7, 0, 7},          // rem
        {__LINE__, 0x02b57633, 7, 0, 7},          // remu
        {__LINE__, 0x02b54633, min64, UINT64_MAX, min64},
        {__LINE__, 0x02b56633, min64, UINT64_MAX, 0},
        {__LINE__, 0x02b5463b, 7, min64, UINT64_MAX},         // divw: the low word of b is 0
        {__LINE__, 0x02b5563b, 7, min64, UINT64_MAX},         // divuw
        {__LINE__, 0x02b5663b, 0x80000007, min64, min32 + 7}, // remw: the dividend, sign-extended
        {__LINE__, 0x02b5763b, 0x80000007, min64, min32 + 7}, // remuw
        {__LINE__, 0x02b5463b, 0x80000000, 0xffffffff, min32},
        {__LINE__, 0x02b5663b, 0x80000000, 0xffffffff, 0},
        {__LINE__, 0x02b54633, UINT64_MAX - 6, 2, UINT64_MAX - 2}, // toward zero: -7 / 2 = -3
        {__LINE__, 0x02b56633, UINT64_MAX - 6, 2, UINT64_MAX},
        {__LINE__, 0x02b51633, min64, min64, min64 >> 1},               // mulh
        {__LINE__, 0x02b52633, UINT64_MAX, UINT64_MAX, UINT64_MAX},     // mulhsu
        {__LINE__, 0x02b53633, UINT64_MAX, UINT64_MAX, UINT64_MAX - 1}, // mulhu
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_rv(h)->x[10] = rows[i].a;
        tl_rv(h)->x[11] = rows[i].b;
        assert_true(run(h, rows[i].bits));
        if (tl_rv(h)->x[12] != rows[i].want)
            fail_msg("line %d: %llx", rows[i].line, (unsigned long long)tl_rv(h)->x[12]);
    }
}

static void test_zero_counts_look_at_the_low_word_only(void **state) {
    tl_hart *h = &((fixture *)*state)->rv.hart;
    tl_rv(h)->x[10] = UINT64_C(1) << 33;
    assert_true(run(h, 0x6005161b)); // clzw a2,a0
    assert_int_equal(tl_rv(h)->x[12], 32);
    assert_true(run(h, 0x6015161b)); // ctzw
    assert_int_equal(tl_rv(h)->x[12], 32);
    assert_true(run(h, 0x6025161b)); // cpopw
    assert_int_equal(tl_rv(h)->x[12], 0);
    tl_rv(h)->x[10] = 0;
    assert_true(run(h, 0x60051613)); // clz
    assert_int_equal(tl_rv(h)->x[12], 64);
    assert_true(run(h, 0x60151613)); // ctz
    assert_int_equal(tl_rv(h)->x[12], 64);
}

static void test_x0_stays_zero(void **state) {
    tl_hart *h = &((fixture *)*state)->rv.hart;
    tl_rv(h)->x[10] = 7;
    assert_true(run(h, 0x00a50033)); // add zero,a0,a0
    assert_true(run(h, 0x00053003)); // ld zero,0(a0)
    assert_true(run(h, 0x00a5302f)); // amoadd.d zero,a0,(a0)
    assert_true(run(h, 0x00102073)); // frflags zero
    assert_int_equal(tl_rv(h)->x[0], 0);
}

static void test_accesses_that_do_not_hit_ask_the_port(void **state) {
    fixture *f = *state;
    tl_hart *h = &f->rv.hart;
    const struct {
        int line;
        uint32_t bits, size_bytes;
        uint64_t want; // in a2
    } loads[] = {
        {__LINE__, 0x00350603, 1, UINT64_C(0xffffffffffffff88)},
        {__LINE__, 0x00351603, 2, UINT64_C(0xffffffffffff8788)},
        {__LINE__, 0x00352603, 4, UINT64_C(0xffffffff85868788)},
        {__LINE__, 0x00353603, 8, UINT64_C(0x8182838485868788)},
        {__LINE__, 0x00354603, 1, 0x88},
        {__LINE__, 0x00355603, 2, 0x8788},
        {__LINE__, 0x00356603, 4, 0x85868788},
    };
    tl_rv(h)->x[10] = 0x1000;
    for (size_t i = 0; i < TL_COUNT_OF(loads); i++) {
        f->calls = 0;
        assert_true(run(h, loads[i].bits));
        if (f->calls != 1 || f->last_vaddr != 0x1003 || f->last_size_bytes != loads[i].size_bytes || tl_rv(h)->x[12] != loads[i].want)
            fail_msg("line %d: %llx", loads[i].line, (unsigned long long)tl_rv(h)->x[12]);
    }
    assert_true(run(h, 0x00352607)); // flw fa2,3(a0)
    assert_int_equal(tl_rv(h)->f[12], UINT64_C(0xffffffff85868788));
    assert_true(run(h, 0x00353607)); // fld
    assert_int_equal(tl_rv(h)->f[12], UINT64_C(0x8182838485868788));
    tl_rv(h)->x[12] = tl_rv(h)->f[12] = UINT64_C(0x1112131415161718);
    // The stores are sb, sh, sw, sd a2,0(a0).
    static const uint32_t stores[] = {0x00c50023, 0x00c51023, 0x00c52023, 0x00c53023};
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(run(h, stores[i]));
        assert_int_equal(f->last_size_bytes, 1u << i);
        assert_int_equal(f->last_value, tl_rv(h)->x[12] & (UINT64_MAX >> (64 - (8u << i))));
    }
    assert_true(run(h, 0x00c52027)); // fsw fa2,0(a0): no box needed
    assert_int_equal(f->last_value, 0x15161718);
}

static void test_refused_accesses_change_nothing(void **state) {
    fixture *f = *state;
    tl_hart *h = &f->rv.hart;
    static const uint32_t words[] = {0x00353603, 0x00353607, 0x00352607, 0x00c53023, 0x00c52027, 0x00c5362f, 0x1005362f, 0x18c5362f};
    for (size_t i = 0; i < TL_COUNT_OF(words); i++) {
        tl_rv(h)->x[10] = 0x1000;
        tl_rv(h)->x[12] = tl_rv(h)->f[12] = 5;
        f->refuses = true;
        assert_false(run(h, words[i]));
        assert_int_equal(h->trap_cause, TL_CAUSE_LOAD_PAGE);
        assert_int_equal(tl_rv(h)->x[12], 5);
        assert_int_equal(tl_rv(h)->f[12], 5);
    }
}

static void test_hits_touch_memory_and_recency_only(void **state) {
    fixture *f = *state;
    tl_hart *h = &f->rv.hart;
    static const uint64_t base = 0x40000;
    uint8_t line[64] = {[8] = 0x80, [15] = 0xff};
    uint64_t stamps[4] = {0};
    h->stamps = stamps;
    tl_rv(h)->x[10] = base;
    *tl_data_slot_of(h, base) = (tl_data_slot){base, TL_NO_LINE, (uintptr_t)line - base, 2, 3};
    assert_true(run(h, 0x00853603)); // ld a2,8(a0)
    assert_int_equal(tl_rv(h)->x[12], UINT64_C(0xff00000000000080));
    assert_int_equal(f->calls, 0);
    assert_int_equal(stamps[2], 1);
    assert_int_equal(stamps[3], 1);
    assert_true(run(h, 0x00c53023)); // sd: the line may not be written
    assert_int_equal(f->calls, 1);
    assert_int_equal(line[0], 0);
    tl_data_slot_of(h, base)->write_tag = base;
    assert_true(run(h, 0x00c53023));
    assert_int_equal(f->calls, 1);
    assert_int_equal(line[0], 0x80);
    assert_int_equal(stamps[2], 2);
    assert_true(run(h, 0x00153603)); // ld a2,1(a0): misaligned
    assert_int_equal(f->calls, 2);
}

static void test_atomics_pass_operands_and_extend_words(void **state) {
    fixture *f = *state;
    tl_hart *h = &f->rv.hart;
    tl_rv(h)->x[10] = 0x1000;
    tl_rv(h)->x[11] = 3;
    static const uint32_t funct5[] = {1, 0, 4, 12, 8, 16, 20, 24, 28}; // in the order of tl_amo
    for (uint32_t amo = 0; amo < TL_COUNT_OF(funct5); amo++) {
        assert_true(run(h, 0x00b5262f | funct5[amo] << 27)); // amo*.w a2,a1,(a0)
        assert_int_equal(f->last_value, 3 ^ (uint64_t)amo << 60);
        assert_int_equal(f->last_size_bytes, 4);
        assert_int_equal(tl_rv(h)->x[12], UINT64_C(0xffffffff85868788));
        assert_true(run(h, 0x00b5362f | funct5[amo] << 27));
        assert_int_equal(f->last_size_bytes, 8);
        assert_int_equal(tl_rv(h)->x[12], UINT64_C(0x8182838485868788));
    }
    assert_true(run(h, 0x1005262f)); // lr.w a2,(a0)
    assert_int_equal(tl_rv(h)->x[12], UINT64_C(0xffffffff85868788));
    assert_true(run(h, 0x18b5262f)); // sc.w a2,a1,(a0)
    assert_int_equal(tl_rv(h)->x[12], 1);
    assert_int_equal(f->last_value, 3);
}

static void test_traps_say_what_and_why(void **state) {
    tl_hart *h = &((fixture *)*state)->rv.hart;
    const struct {
        int line;
        uint32_t bits;
        uint64_t cause;
        uint64_t value;
    } rows[] = {
        {__LINE__, 0x00000073, TL_CAUSE_ECALL_U, 0},          {__LINE__, 0x00100073, TL_CAUSE_BREAKPOINT, PC},
        {__LINE__, 0x9002, TL_CAUSE_BREAKPOINT, PC},          {__LINE__, 0x30200073, TL_CAUSE_ILLEGAL, 0x30200073}, // mret
        {__LINE__, 0x10200073, TL_CAUSE_ILLEGAL, 0x10200073}, {__LINE__, 0x10500073, TL_CAUSE_ILLEGAL, 0x10500073},
        {__LINE__, 0x12b50073, TL_CAUSE_ILLEGAL, 0x12b50073}, {__LINE__, 0x00000000, TL_CAUSE_ILLEGAL, 0},
        {__LINE__, 0x9c41, TL_CAUSE_ILLEGAL, 0x9c41},         {__LINE__, 0xffffffff, TL_CAUSE_ILLEGAL, 0xffffffff},
        {__LINE__, 0x30002573, TL_CAUSE_ILLEGAL, 0x30002573}, // csrr a0,mstatus
        {__LINE__, 0x7c002573, TL_CAUSE_ILLEGAL, 0x7c002573}, // csrr a0,0x7c0
        {__LINE__, 0xc0001073, TL_CAUSE_ILLEGAL, 0xc0001073}, // unimp: csrrw zero,cycle,zero
        {__LINE__, 0x00106073, TL_CAUSE_ILLEGAL, 0},          // csrrsi with 0 does not write: no trap
        {__LINE__, 0xc000e073, TL_CAUSE_ILLEGAL, 0xc000e073}, // csrrsi zero,cycle,1
        {__LINE__, 0x02b55053, TL_CAUSE_ILLEGAL, 0x02b55053}, // fadd.d ft0,fa0,fa1 with reserved rounding mode 5
        {__LINE__, 0x6ac5e543, TL_CAUSE_ILLEGAL, 0x6ac5e543}, // fmadd.d with 6
        {__LINE__, 0xc225e053, TL_CAUSE_ILLEGAL, 0xc225e053}, // fcvt.l.d zero,fa1 with 6: rd in the bits is 0, not the sink
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const bool is_done = run(h, rows[i].bits);
        if (rows[i].bits == 0x00106073)
            assert_true(is_done);
        else if (is_done || h->trap_cause != rows[i].cause || h->trap_value != rows[i].value)
            fail_msg("line %d: cause %llu, value %llx", rows[i].line, (unsigned long long)h->trap_cause, (unsigned long long)h->trap_value);
    }
    h->priv = TL_PRIV_M;
    assert_false(run(h, 0x00000073));
    assert_int_equal(h->trap_cause, TL_CAUSE_ECALL_M);
}

static void test_reserved_dynamic_rounding_is_illegal_until_repaired(void **state) {
    tl_hart *h = &((fixture *)*state)->rv.hart;
    tl_rv(h)->x[10] = 5;
    assert_true(run(h, 0x00251073)); // fsrm a0: holds any three bits
    assert_int_equal(tl_rv(h)->frm, 5);
    assert_false(run(h, 0x02b57053)); // fadd.d, dynamic
    assert_int_equal(h->trap_cause, TL_CAUSE_ILLEGAL);
    assert_int_equal(h->trap_value, 0x02b57053);
    assert_true(run(h, 0x02b50053)); // static modes do not care
    assert_true(run(h, 0x22b50053)); // fsgnj has none
    assert_true(run(h, 0x00205073)); // fsrmi 0
    assert_true(run(h, 0x02b57053));
}

// A PMU of two registers: 0xc00 reads 41 and cannot be written, 0xb00 is kept.
typedef struct fake_pmu {
    uint64_t kept;
    uint32_t n_retired;
} fake_pmu;
static const tl_reg pmu_regs[] = {{.name = "shown", .addr = 0xc00}, {.name = "kept", .addr = 0xb00}};
static bool pmu_find(const void *ctx, uint32_t csr, tl_reg_at *ret_at) {
    (void)ctx;
    for (size_t i = 0; i < TL_COUNT_OF(pmu_regs); i++)
        if (pmu_regs[i].addr == csr) {
            *ret_at = (tl_reg_at){.reg = &pmu_regs[i]};
            return true;
        }
    return false;
}
static uint64_t pmu_read(void *ctx, tl_hart *h, const tl_reg_at *at) {
    (void)h;
    return at->reg == &pmu_regs[0] ? 41 : ((const fake_pmu *)ctx)->kept;
}
static void pmu_write(void *ctx, tl_hart *h, const tl_reg_at *at, uint64_t value) {
    (void)h;
    assert_ptr_equal(at->reg, &pmu_regs[1]);
    ((fake_pmu *)ctx)->kept = value;
}
static void pmu_retired(void *ctx, tl_hart *h) {
    (void)h;
    ((fake_pmu *)ctx)->n_retired += 1;
}

static void test_counters_are_asked_of_the_pmu(void **state) {
    fixture *f = *state;
    tl_hart *h = &f->rv.hart;
    assert_false(run(h, 0xc0002573)); // rdcycle a0: nobody has it
    fake_pmu pmu = {0};
    const tl_pmu_port pmu_port = {.ctx = &pmu, .find = pmu_find, .read = pmu_read, .write = pmu_write, .retired = pmu_retired};
    assert_true(tl_hart_hang_pmu(h, &pmu_port, false));
    assert_true(run(h, 0xc0002573));
    assert_int_equal(tl_rv(h)->x[10], 41);
    assert_false(run(h, 0xc0001073)); // csrrw zero,cycle,zero: its number says read-only
    assert_false(run(h, 0xc0202573)); // rdinstret a0: not of this PMU
    tl_rv(h)->x[11] = 7;
    assert_false(run(h, 0xb0059073)); // csrw 0xb00,a1: not in user mode
    h->priv = TL_PRIV_M;
    assert_true(run(h, 0xb0059073));
    assert_int_equal(pmu.kept, 7);
    assert_int_equal(pmu.n_retired, 0); // that is due when the instruction has been counted
    assert_true(h->has_after);
    tl_hart_retired(h);
    assert_int_equal(pmu.n_retired, 1);
    assert_false(h->has_after);
}

// A register whose reading takes something out of it: each read counts in `kept`. Setting bit 0 is
// refused, whatever it holds.
static const tl_reg queue_reg = {.name = "queue", .addr = 0x8ff};
static bool queue_find(const void *ctx, uint32_t csr, tl_reg_at *ret_at) {
    (void)ctx;
    *ret_at = (tl_reg_at){.reg = &queue_reg};
    return csr == queue_reg.addr;
}
static uint64_t queue_read(void *ctx, tl_hart *h, const tl_reg_at *at) { return (void)h, (void)at, ((const fake_pmu *)ctx)->kept; }
static void queue_was_read(void *ctx, tl_hart *h, const tl_reg_at *at) {
    (void)h, (void)at;
    ((fake_pmu *)ctx)->kept += 1;
}
static void queue_write(void *ctx, tl_hart *h, const tl_reg_at *at, uint64_t value) {
    (void)h, (void)at, (void)value;
    ((fake_pmu *)ctx)->n_retired += 1; // stands for writes here
}
static bool queue_permits(void *ctx, const tl_hart *h, const tl_reg_at *at, tl_reg_use use, uint64_t operand) {
    (void)ctx, (void)h, (void)at;
    return use == TL_REG_READ || use == TL_REG_CLEAR || !(operand & 1);
}

static void test_csr_instructions_read_and_write_as_the_table_of_zicsr_says(void **state) {
    tl_hart *h = &((fixture *)*state)->rv.hart;
    fake_pmu pmu = {0};
    const tl_pmu_port queue = {.ctx = &pmu,
                               .find = queue_find,
                               .permits = queue_permits,
                               .read = queue_read,
                               .was_read = queue_was_read,
                               .write = queue_write,
                               .retired = pmu_retired};
    assert_true(tl_hart_hang_pmu(h, &queue, false));
    const struct {
        int line;
        uint32_t bits;
        uint64_t a1;
        bool is_legal;
        uint32_t n_reads, n_writes;
    } rows[] = {
        {__LINE__, 0x8ff59573, 2, true, 1, 1},                                          // csrrw a0,0x8ff,a1
        {__LINE__, 0x8ff59073, 2, true, 0, 1},                                          // csrrw zero,0x8ff,a1
        {__LINE__, 0x8ff15573, 0, true, 1, 1},                                          // csrrwi a0,0x8ff,2
        {__LINE__, 0x8ff15073, 0, true, 0, 1},                                          // csrrwi zero,0x8ff,2
        {__LINE__, 0x8ff5a573, 0, true, 1, 1},                                          // csrrs a0,0x8ff,a1: a1 is 0, and it writes
        {__LINE__, 0x8ff02573, 0, true, 1, 0},                                          // csrrs a0,0x8ff,zero
        {__LINE__, 0x8ff02073, 0, true, 1, 0},                                          // csrrs zero,0x8ff,zero
        {__LINE__, 0x8ff5b073, 1, true, 1, 1},                                          // csrrc zero,0x8ff,a1
        {__LINE__, 0x8ff06573, 0, true, 1, 0},                                          // csrrsi a0,0x8ff,0
        {__LINE__, 0x8ff07573, 0, true, 1, 0},                                          // csrrci a0,0x8ff,0
        {__LINE__, 0x8ff59573, 1, false, 0, 0},                                         // refused: nothing is read either
        {__LINE__, 0x8ff5a073, 1, false, 0, 0}, {__LINE__, 0x8ff0e073, 0, false, 0, 0}, // csrrsi zero,0x8ff,1
        {__LINE__, 0x8ff0d073, 0, false, 0, 0},                                         // csrrwi zero,0x8ff,1
        {__LINE__, 0x8ff0f073, 0, true, 1, 1},                                          // csrrci zero,0x8ff,1
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        pmu = (fake_pmu){0};
        tl_rv(h)->x[11] = rows[i].a1;
        bool is_legal = run(h, rows[i].bits);
        if (is_legal != rows[i].is_legal || pmu.kept != rows[i].n_reads || pmu.n_retired != rows[i].n_writes)
            fail_msg("line %d: legal %d, %u reads, %u writes", rows[i].line, is_legal, (unsigned)pmu.kept, pmu.n_retired);
    }
}

static void test_csr_forms(void **state) {
    tl_hart *h = &((fixture *)*state)->rv.hart;
    const struct {
        int line;
        uint32_t bits;
        uint64_t a1, fcsr, want_a0, want_fcsr;
    } rows[] = {
        {__LINE__, 0x00359573, 0xfff, 0x03, 0x03, 0xff}, // csrrw a0,fcsr,a1: eight bits
        {__LINE__, 0x0035a573, 0x0f0, 0x03, 0x03, 0xf3}, // csrrs
        {__LINE__, 0x0035b573, 0x001, 0xe3, 0xe3, 0xe2}, // csrrc
        {__LINE__, 0x003fd573, 0x000, 0x83, 0x83, 0x1f}, // csrrwi 31
        {__LINE__, 0x00346573, 0x000, 0x83, 0x83, 0x8b}, // csrrsi 8
        {__LINE__, 0x0031f573, 0x000, 0x83, 0x83, 0x80}, // csrrci 3
        {__LINE__, 0x00159573, 0xffe, 0xe1, 0x01, 0xfe}, // fsflags a0,a1 leaves frm alone
        {__LINE__, 0x00259573, 0xff9, 0xe1, 0x07, 0x21}, // fsrm a0,a1 leaves fflags alone
        {__LINE__, 0x00151573, 0x000, 0x03, 0x03, 0x00}, // fsflags a0,a0: reads before it writes; a0 was 0
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_rv(h)->x[10] = 0;
        tl_rv(h)->x[11] = rows[i].a1;
        tl_rv(h)->fflags = rows[i].fcsr & 31;
        tl_rv(h)->frm = (uint8_t)(rows[i].fcsr >> 5);
        assert_true(run(h, rows[i].bits));
        const uint64_t fcsr = (uint64_t)tl_rv(h)->frm << 5 | tl_rv(h)->fflags;
        if (tl_rv(h)->x[10] != rows[i].want_a0 || fcsr != rows[i].want_fcsr)
            fail_msg("line %d: a0 %llx, fcsr %llx", rows[i].line, (unsigned long long)tl_rv(h)->x[10], (unsigned long long)fcsr);
    }
}

static void test_csr_names(void **state) {
    (void)state;
    char name[32];
    assert_int_equal(tl_csr_name(0x001, name, sizeof(name)), 6);
    assert_string_equal(name, "fflags");
    tl_csr_name(0xc1f, name, sizeof(name));
    assert_string_equal(name, "hpmcounter31");
    tl_csr_name(0x723, name, sizeof(name));
    assert_string_equal(name, "mhpmevent3h");
    tl_csr_name(0x7c0, name, sizeof(name));
    assert_string_equal(name, "0x7c0");
}

static void test_fences(void **state) {
    fixture *f = *state;
    assert_true(run(&f->rv.hart, 0x0ff0000f));
    assert_true(run(&f->rv.hart, 0x0100000f)); // pause
    assert_int_equal(f->calls, 0);
    assert_true(run(&f->rv.hart, 0x0000100f));
    assert_int_equal(f->calls, 1);
}

static void test_every_row_has_a_body(void **state) {
    (void)state;
    for (uint32_t opc = 0; opc < TL_N_OPCS; opc++) {
        const uint8_t cls = tl_insn_rows[opc].cls;
        const bool is_transfer = cls == TL_CLASS_BRANCH || cls == TL_CLASS_JAL || cls == TL_CLASS_JALR;
        assert_int_equal(tl_exec_full[opc] == NULL, is_transfer);
        assert_int_equal(tl_taken[opc] != NULL, cls == TL_CLASS_BRANCH);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
    CASE(test_division_by_zero_and_overflow),
    CASE(test_zero_counts_look_at_the_low_word_only),
    CASE(test_x0_stays_zero),
    CASE(test_accesses_that_do_not_hit_ask_the_port),
    CASE(test_refused_accesses_change_nothing),
    CASE(test_hits_touch_memory_and_recency_only),
    CASE(test_atomics_pass_operands_and_extend_words),
    CASE(test_traps_say_what_and_why),
    CASE(test_reserved_dynamic_rounding_is_illegal_until_repaired),
    CASE(test_counters_are_asked_of_the_pmu),
    CASE(test_csr_instructions_read_and_write_as_the_table_of_zicsr_says),
    CASE(test_csr_forms),
    CASE(test_csr_names),
    CASE(test_fences),
    CASE(test_every_row_has_a_body),
};
TL_TEST_MAIN(tests)
