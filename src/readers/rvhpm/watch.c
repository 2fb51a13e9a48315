// SPDX-License-Identifier: MIT
// Two counters in the core, shared as Linux shares them. At a timer interrupt the kernel
// (supervisor mode) stops the counters through firmware (machine mode). SBI calls of the extension
// PMU stop, configure and start each counter. The kernel adds the values to the sums of the two
// events, rotates the list of events by one, and starts the next two. With two events or fewer the
// kernel only reads. An estimate is the sum times the time since the beginning over the time on a
// counter.
//
// This kernel and firmware execute the necessary work only; the real ones take longer. The truth is
// taken inside the instruction that reads a counter, by a port in front of the PMU's own. The cost
// of the read itself (the drain around a CSR access) is therefore in value and truth alike.
#include "compare/handler.h"
#include "isa/rv/arch.h"
#include "readers/rvhpm/compare.h"
#include "readers/rvhpm/on.h"

#include <string.h>

enum {
    CSR_CYCLE = 0xc00,
    CSR_INSTRET = 0xc02,
    CSR_COUNTER = 0xc00, // + n, as supervisor mode reads them
    CSR_MCOUNTER = 0xb00,
    CSR_EVENT = 0x320,
    CSR_INHIBIT = 0x320,
    CSR_MCOUNTEREN = 0x306,
    CSR_MCAUSE = 0x342,
    FIRST_COUNTER = 3,
    N_COUNTERS = 2,
    SBI_PMU = 0x504d55,
    SBI_CONFIG = 2,
    SBI_START = 3,
    SBI_STOP = 4,
    // The kernel's data, beyond its registers.
    STARTED = 0x100,
    FIRST = 0x108,   // address of the row at the front of the list
    BEGIN = 0x110,   // cycle of the first start
    SLICE = 0x118,   // cycle of the last start
    ENABLED = 0x120, // cycles since BEGIN, at the last reading
    FIXED = 0x140,   // cycle, instret: value at the first reading, value now; 16 bytes each
    ROWS = 0x200,    // selector, sum, cycles on a counter: 24 bytes each
    ROW_BYTES = 24,
    ROW_SUM = 8,
    ROW_RUNNING = 16,
};

typedef struct own {
    tl_watch *watch;
    tl_pmu_port port;                                 // in front of
    const tl_pmu_port *behind;                        // the PMU's own
    uint32_t events[TL_COMPARE_MAX_EVENTS], n_events; // that need a counter: row by row
    bool turns;
    uint64_t start_pc[N_COUNTERS]; // of the instruction that lets a counter run
    bool has_base[N_COUNTERS];
    uint64_t base[TL_COMPARE_MAX_EVENTS], truth[TL_COMPARE_MAX_EVENTS];
    uint64_t fixed_base[2], fixed_truth[2]; // cycle, instret
    bool has_fixed_base;
} own;

// ---- Taking the truth.

static void note_truths(own *o, uint64_t *truths, uint32_t first, uint32_t n) {
    tl_watch *w = o->watch;
    for (uint32_t i = first; i < first + n && i < o->n_events; i++)
        truths[i] = tl_watch_truth(w, &w->truths[o->events[i]]);
}

// The PMU answers. A read of a requested counter takes the truth first.
static bool port_find(const void *ctx, uint32_t csr, tl_reg_at *ret_at) {
    const own *o = ctx;
    bool is_ours =
        csr == CSR_CYCLE || csr == CSR_INSTRET || (csr >= CSR_COUNTER + FIRST_COUNTER && csr < CSR_COUNTER + FIRST_COUNTER + N_COUNTERS);
    return is_ours && o->behind->find(o->behind->ctx, csr, ret_at);
}

static bool port_permits(void *ctx, const tl_hart *h, const tl_reg_at *at, tl_reg_use use, uint64_t operand) {
    const own *o = ctx;
    return use == TL_REG_READ && o->behind->permits(o->behind->ctx, h, at, use, operand);
}

static uint64_t port_read(void *ctx, tl_hart *h, const tl_reg_at *at) {
    own *o = ctx;
    const uint32_t csr = tl_reg_number(at);
    h->engine->sync(h);
    if (csr == CSR_CYCLE || csr == CSR_INSTRET)
        o->fixed_truth[csr == CSR_INSTRET] = h->tally[csr == CSR_CYCLE ? TL_S_HART_CYCLE : TL_S_HART_INSTRET];
    else if (o->turns)
        note_truths(o, o->truth, 0, o->n_events);
    else
        note_truths(o, o->truth, csr - CSR_COUNTER - FIRST_COUNTER, 1);
    return o->behind->read(o->behind->ctx, h, at);
}

static void port_nothing(void *ctx, tl_hart *h) { (void)ctx, (void)h; }
static void port_leave_mode(void *ctx, tl_hart *h, tl_priv to) { (void)ctx, (void)h, (void)to; }
static uint64_t port_deadline(void *ctx, tl_hart *h) { return (void)ctx, (void)h, UINT64_MAX; }

static void after(tl_watch *w, uint64_t pc, uint64_t cycle) {
    own *o = w->own;
    (void)cycle;
    for (uint32_t c = 0; c < N_COUNTERS; c++) {
        if (pc != o->start_pc[c] || w->hart->priv != TL_PRIV_M || o->has_base[c])
            continue;
        o->has_base[c] = true;
        tl_machine_sync(w->environment.machine);
        if (!o->turns)
            note_truths(o, o->base, c, 1);
        else if (!o->has_base[1]) // the first of all starts
            note_truths(o, o->base, 0, o->n_events);
    }
}

static void keep_fixed_base(own *o) {
    if (o->has_fixed_base)
        return;
    o->has_fixed_base = true;
    o->fixed_base[0] = o->fixed_truth[0];
    o->fixed_base[1] = o->fixed_truth[1];
}

static void reading_begins(tl_watch *w) {
    if (w->result->n_looks == 1)
        keep_fixed_base(w->own);
}

// ---- Firmware.

static void write_firmware(own *o, tl_assembler *a) {
    tl_handler_enter(a, TL_PRIV_M, TL_T1);
    tl_asm_csrr(a, TL_T0, CSR_MCAUSE);
    tl_asm_addi(a, TL_T0, TL_T0, -TL_CAUSE_ECALL_S);
    uint32_t is_strange[2] = {tl_asm_branch(a, TL_ASM_NE, TL_T0, TL_X0)};
    tl_asm_load_constant(a, TL_T0, SBI_PMU);
    is_strange[1] = tl_asm_branch(a, TL_ASM_NE, TL_A7, TL_T0);
    tl_asm_addi(a, TL_T0, TL_X0, SBI_STOP);
    uint32_t is_not_stop = tl_asm_branch(a, TL_ASM_NE, TL_A6, TL_T0), done[2 * N_COUNTERS + 1], n_done = 0;
    tl_asm_csrs(a, CSR_INHIBIT, TL_A1);
    done[n_done++] = tl_asm_jump(a);
    tl_asm_bind(a, is_not_stop);
    tl_asm_addi(a, TL_T0, TL_X0, SBI_START);
    uint32_t is_config = tl_asm_branch(a, TL_ASM_NE, TL_A6, TL_T0);
    // Start of the code: a0 is the counter, a1 its bit, a3 its first value.
    for (uint32_t c = 0; c < N_COUNTERS; c++) {
        tl_asm_addi(a, TL_T1, TL_X0, (int32_t)(FIRST_COUNTER + c));
        uint32_t is_other = tl_asm_branch(a, TL_ASM_NE, TL_A0, TL_T1);
        tl_asm_csrw(a, CSR_MCOUNTER + FIRST_COUNTER + c, TL_A3);
        o->start_pc[c] = tl_asm_here(a);
        tl_asm_csrc(a, CSR_INHIBIT, TL_A1);
        done[n_done++] = tl_asm_jump(a);
        tl_asm_bind(a, is_other);
    }
    tl_asm_bind(a, is_config);
    for (uint32_t c = 0; c < N_COUNTERS; c++) { // configure: a0 the counter, a4 the selector
        tl_asm_addi(a, TL_T1, TL_X0, (int32_t)(FIRST_COUNTER + c));
        uint32_t is_other = tl_asm_branch(a, TL_ASM_NE, TL_A0, TL_T1);
        tl_asm_csrw(a, CSR_EVENT + FIRST_COUNTER + c, TL_A4);
        done[n_done++] = tl_asm_jump(a);
        tl_asm_bind(a, is_other);
    }
    for (uint32_t i = 0; i < n_done; i++)
        tl_asm_bind(a, done[i]);
    tl_asm_addi(a, TL_A0, TL_X0, 0);
    tl_handler_skip_call(a, TL_PRIV_M);
    tl_handler_leave(a, TL_PRIV_M, TL_T1);
    tl_asm_bind(a, is_strange[0]);
    tl_asm_bind(a, is_strange[1]);
    tl_asm_ebreak(a);
}

// ---- Kernel. s0: end of the rows, s1: current row, s2: cycles, s3: counter's number; sp: data.

static void call_firmware(tl_assembler *a, uint32_t function, uint32_t counter) {
    tl_asm_addi(a, TL_A0, TL_X0, (int32_t)(FIRST_COUNTER + counter));
    tl_asm_addi(a, TL_A1, TL_X0, 1 << (FIRST_COUNTER + counter));
    tl_asm_addi(a, TL_A6, TL_X0, (int32_t)function);
    tl_asm_ecall(a);
}

// The next row, around the end of the list.
static void next_row(tl_assembler *a, uint64_t rows_vaddr) {
    tl_asm_addi(a, TL_S1, TL_S1, ROW_BYTES);
    uint32_t is_inside = tl_asm_branch(a, TL_ASM_NE, TL_S1, TL_S0);
    tl_asm_load_constant(a, TL_S1, rows_vaddr);
    tl_asm_bind(a, is_inside);
}

static void add_to(tl_assembler *a, uint32_t offset, uint32_t what) {
    tl_asm_ld(a, TL_T0, TL_S1, (int32_t)offset);
    tl_asm_op(a, TL_ASM_ADD, TL_T0, TL_T0, what);
    tl_asm_sd(a, TL_T0, TL_S1, (int32_t)offset);
}

static void take_from_counters(tl_assembler *a, uint64_t rows_vaddr, uint32_t n_used) {
    for (uint32_t c = 0; c < n_used; c++)
        call_firmware(a, SBI_STOP, c);
    tl_asm_csrr(a, TL_S2, CSR_CYCLE);
    tl_asm_ld(a, TL_T0, TL_SP, BEGIN);
    tl_asm_op(a, TL_ASM_SUB, TL_T0, TL_S2, TL_T0);
    tl_asm_sd(a, TL_T0, TL_SP, ENABLED);
    tl_asm_ld(a, TL_T0, TL_SP, SLICE);
    tl_asm_op(a, TL_ASM_SUB, TL_S2, TL_S2, TL_T0);
    tl_asm_ld(a, TL_S1, TL_SP, FIRST);
    for (uint32_t c = 0; c < n_used; c++) {
        if (c > 0)
            next_row(a, rows_vaddr);
        tl_asm_csrr(a, TL_T1, CSR_COUNTER + FIRST_COUNTER + c);
        add_to(a, ROW_SUM, TL_T1);
        add_to(a, ROW_RUNNING, TL_S2);
    }
    tl_asm_ld(a, TL_S1, TL_SP, FIRST); // perf turns its list by one
    next_row(a, rows_vaddr);
    tl_asm_sd(a, TL_S1, TL_SP, FIRST);
}

static void put_on_counters(tl_assembler *a, uint64_t rows_vaddr, uint32_t n_used) {
    tl_asm_ld(a, TL_S1, TL_SP, FIRST);
    for (uint32_t c = 0; c < n_used; c++) {
        if (c > 0)
            next_row(a, rows_vaddr);
        tl_asm_ld(a, TL_A4, TL_S1, 0);
        call_firmware(a, SBI_CONFIG, c);
    }
    tl_asm_addi(a, TL_A3, TL_X0, 0);
    for (uint32_t c = 0; c < n_used; c++)
        call_firmware(a, SBI_START, c);
    tl_asm_csrr(a, TL_S2, CSR_CYCLE);
    tl_asm_sd(a, TL_S2, TL_SP, SLICE);
}

static void read_only(tl_assembler *a, uint64_t rows_vaddr, uint32_t n_used) {
    tl_asm_load_constant(a, TL_S1, rows_vaddr);
    for (uint32_t c = 0; c < n_used; c++) {
        tl_asm_csrr(a, TL_T1, CSR_COUNTER + FIRST_COUNTER + c);
        tl_asm_sd(a, TL_T1, TL_S1, (int32_t)(c * ROW_BYTES + ROW_SUM));
    }
}

static void write_kernel(const own *o, tl_assembler *a) {
    uint64_t rows_vaddr = TL_WATCH_VADDR + TL_WATCH_KERNEL_DATA + ROWS;
    uint32_t n_used = o->n_events < N_COUNTERS ? o->n_events : N_COUNTERS;
    tl_handler_enter(a, TL_PRIV_S, TL_S3);
    tl_asm_load_constant(a, TL_A7, SBI_PMU);
    tl_asm_load_constant(a, TL_S0, rows_vaddr + (uint64_t)o->n_events * ROW_BYTES);
    tl_asm_ld(a, TL_T0, TL_SP, STARTED);
    uint32_t is_first = tl_asm_branch(a, TL_ASM_EQ, TL_T0, TL_X0), end_of_read = 0;
    if (o->turns) {
        take_from_counters(a, rows_vaddr, n_used);
    } else {
        read_only(a, rows_vaddr, n_used);
        end_of_read = tl_asm_jump(a);
    }
    tl_asm_bind(a, is_first);
    put_on_counters(a, rows_vaddr, n_used);
    tl_asm_ld(a, TL_T0, TL_SP, STARTED);
    uint32_t goes_on = tl_asm_branch(a, TL_ASM_NE, TL_T0, TL_X0);
    tl_asm_sd(a, TL_S2, TL_SP, BEGIN);
    if (!o->turns)
        tl_asm_bind(a, end_of_read);
    tl_asm_bind(a, goes_on);
    for (uint32_t f = 0; f < 2; f++) {
        tl_asm_csrr(a, TL_T1, f == 0 ? CSR_CYCLE : CSR_INSTRET);
        tl_asm_ld(a, TL_T0, TL_SP, STARTED);
        uint32_t has_base = tl_asm_branch(a, TL_ASM_NE, TL_T0, TL_X0);
        tl_asm_sd(a, TL_T1, TL_SP, FIXED + 16 * (int32_t)f);
        tl_asm_bind(a, has_base);
        tl_asm_sd(a, TL_T1, TL_SP, FIXED + 16 * (int32_t)f + 8);
    }
    tl_asm_addi(a, TL_T0, TL_X0, 1);
    tl_asm_sd(a, TL_T0, TL_SP, STARTED);
    tl_handler_leave(a, TL_PRIV_S, TL_S3);
}

// ---- The design.

static void choose_events(tl_watch *w, own *o) {
    const tl_compare_setup *setup = w->environment.setup;
    for (uint32_t i = 0; i < setup->n_events; i++) {
        bool is_fixed = tl_rvhpm_counter_of(setup->events[i]) != 0;
        w->result->events[i] = (tl_watched){.has_value = true, .reason = "", .time_counted = 1};
        if (!is_fixed && tl_rvhpm_selector_of(setup->events[i]) == 0)
            w->result->events[i] = (tl_watched){.reason = "no selector of the core names it"};
        else if (!is_fixed)
            o->events[o->n_events++] = i;
    }
    o->turns = o->n_events > N_COUNTERS;
}

static void hang_in_front(own *o, tl_hart *h) {
    o->behind = &tl_rvhpm_on(o->watch->environment.machine, 0)->port;
    o->port = (tl_pmu_port){.ctx = o,
                            .find = port_find,
                            .permits = port_permits,
                            .read = port_read,
                            .retired = port_nothing,
                            .leave_mode = port_leave_mode,
                            .deadline = port_deadline,
                            .poll = port_nothing};
    (void)tl_hart_hang_pmu(h, &o->port, true);
    // Firmware does so before the kernel runs.
    (void)tl_port_write(o->behind, h, CSR_MCOUNTEREN, UINT32_MAX);
    o->behind->retired(o->behind->ctx, h);
    (void)tl_port_write(o->behind, h, CSR_INHIBIT, UINT64_C(3) << FIRST_COUNTER);
    o->behind->retired(o->behind->ctx, h);
}

static tl_status prepare(tl_watch *w, tl_error *err) {
    own *o = tl_arena_alloc(&w->arena, sizeof *o);
    if (!o)
        return tl_no_memory(err);
    *o = (own){.watch = w};
    w->own = o;
    if (w->hart->n_pmus == TL_MAX_PMU_PORTS)
        return tl_fail(err, TL_EINVAL, "hart 0 has no place left for one who watches its counters");
    choose_events(w, o);
    hang_in_front(o, w->hart);
    uint32_t first = o->turns ? w->first_event % o->n_events : 0;
    tl_watch_set_word(w, TL_WATCH_KERNEL_DATA + FIRST, TL_WATCH_VADDR + TL_WATCH_KERNEL_DATA + ROWS + (uint64_t)first * ROW_BYTES);
    for (uint32_t i = 0; i < o->n_events; i++)
        tl_watch_set_word(w, TL_WATCH_KERNEL_DATA + ROWS + i * ROW_BYTES, tl_rvhpm_selector_of(w->environment.setup->events[o->events[i]]));
    tl_assembler kernel = tl_watch_code(w, TL_WATCH_KERNEL, TL_WATCH_KERNEL_DATA - TL_WATCH_KERNEL), firmware;
    write_kernel(o, &kernel);
    tl_asm_init(&firmware, tl_watch_bytes(w, TL_WATCH_FIRMWARE), TL_WATCH_FIRMWARE_DATA - TL_WATCH_FIRMWARE,
                w->base_paddr + TL_WATCH_FIRMWARE);
    write_firmware(o, &firmware);
    return kernel.is_full || firmware.is_full ? tl_watch_no_room(err) : TL_OK;
}

static uint64_t kernel_word(const tl_watch *w, uint32_t offset) { return tl_watch_word(w, TL_WATCH_KERNEL_DATA + offset); }

static void estimate(const tl_watch *w, const own *o, uint32_t row, tl_watched *event) {
    uint32_t at = ROWS + row * ROW_BYTES;
    uint64_t sum = kernel_word(w, at + ROW_SUM), running = kernel_word(w, at + ROW_RUNNING), enabled = kernel_word(w, ENABLED);
    event->truth = o->truth[row] - o->base[row];
    event->value = sum;
    if (!o->turns)
        return;
    if (running == 0) {
        *event = (tl_watched){.truth = event->truth, .reason = "never on a counter: the run was too short for its turn"};
        return;
    }
    event->value = (uint64_t)((unsigned __int128)sum * enabled / running); // as perf does it
    event->time_counted = (double)running / (double)enabled;
}

static tl_status finish(tl_watch *w, tl_error *err) {
    const own *o = w->own;
    const tl_compare_setup *setup = w->environment.setup;
    (void)err;
    for (uint32_t row = 0; row < o->n_events; row++)
        estimate(w, o, row, &w->result->events[o->events[row]]);
    for (uint32_t i = 0; i < setup->n_events; i++) {
        uint32_t f = tl_rvhpm_counter_of(setup->events[i]) == CSR_INSTRET;
        if (tl_rvhpm_counter_of(setup->events[i]) == 0)
            continue;
        w->result->events[i].value = kernel_word(w, FIXED + 16 * f + 8) - kernel_word(w, FIXED + 16 * f);
        w->result->events[i].truth = o->fixed_truth[f] - o->fixed_base[f];
    }
    return TL_OK;
}

const tl_watch_type tl_rvhpm_watch = {.prepare = prepare, .after = after, .reading_begins = reading_begins, .finish = finish};
