// SPDX-License-Identifier: MIT
// A stop at every instruction (tally/debugger.h): what it did to registers and memory, and what
// changed in caches, TLB and counters. Addresses and values of memory follow from the instruction
// and the registers around it, because an access of the debugger would disturb the caches.
#include <tally/debugger.h>

#include <stdlib.h>
#include <string.h>

#include "api/debugger_internal.h"
#include "base/bits.h"
#include "isa/a64/insn.h"

enum { SP = 31, PC = 32, DUMP_MS = 100, MAIN_TLB = 7, TAGS_ONLY = 1, CYCLES = 31 };
static const uint64_t WAIT_NS = 1000000000, USER_ONLY = UINT64_C(0x80000000);
// Instructions, misses of L1D and L1I, of their TLBs, mispredictions: the names are in
// tl_debugger_count_name.
static const uint16_t events[TL_DEBUGGER_COUNTS] = {0x08, 0x03, 0x01, 0x05, 0x02, 0x10};
static const char *const names[TL_DEBUGGER_COUNTS] = {"INST_RETIRED",   "L1D_CACHE_REFILL", "L1I_CACHE_REFILL",
                                                      "L1D_TLB_REFILL", "L1I_TLB_REFILL",   "BR_MIS_PRED"};

TL_API const char *tl_debugger_count_name(uint32_t index) { return index < TL_DEBUGGER_COUNTS ? names[index] : "unknown"; }

// -- Memory (DDI 0487, C4.1.4).

static uint64_t field(uint32_t word, uint32_t low, uint32_t n) { return word >> low & ((1u << n) - 1); }
static uint64_t signed_field(uint32_t word, uint32_t low, uint32_t n) { return (uint64_t)tl_sext(field(word, low, n), n); }

static uint64_t extended(uint32_t word, const uint64_t *x, uint32_t scale) {
    const uint32_t m = (uint32_t)field(word, 16, 5), option = (uint32_t)field(word, 13, 3);
    uint64_t offset = m == SP ? 0 : x[m];
    if (option == 2) // UXTW
        offset = (uint32_t)offset;
    else if (option == 6) // SXTW
        offset = (uint64_t)tl_sext(offset, 32);
    return offset << (field(word, 12, 1) ? scale : 0);
}

// Of an instruction that accesses memory.
static uint64_t address_of(uint32_t word, uint64_t pc, const uint64_t *x) {
    const uint64_t base = x[field(word, 5, 5)];
    const bool is_vector = field(word, 26, 1);
    const uint32_t size = (uint32_t)field(word, 30, 2), scale = is_vector && field(word, 23, 1) ? 4 : size;
    if ((word & 0x3b000000) == 0x18000000) // literal
        return pc + signed_field(word, 5, 19) * 4;
    if ((word & 0x3a000000) == 0x28000000) { // pair
        const uint32_t log2 = is_vector ? 2 + size : 2 + size / 2;
        return field(word, 23, 2) == 1 ? base : base + (signed_field(word, 15, 7) << log2);
    }
    if ((word & 0x3b000000) == 0x39000000) // unsigned offset
        return base + (field(word, 10, 12) << scale);
    if ((word & 0x3b200c00) == 0x38200800) // register offset
        return base + extended(word, x, scale);
    if ((word & 0x3b200000) == 0x38000000) // 9 bits of offset
        return field(word, 10, 2) == 1 ? base : base + signed_field(word, 12, 9);
    return base; // exclusive, ordered, structures
}

static uint64_t low_bytes(uint64_t value, uint32_t n) { return n >= 8 ? value : value & ((UINT64_C(1) << 8 * n) - 1); }
static uint64_t general(const uint64_t *x, uint32_t n) { return n == SP ? 0 : x[n]; }

static void find_access(tl_debugger_step *step) {
    tl_a64_decoded insn;
    tl_a64_decode(step->word, &insn);
    const tl_a64_accesses accesses = tl_a64_accesses_of(&insn);
    const uint8_t cls = tl_a64_rows[insn.opc].cls;
    step->is_store = cls == TL_CLASS_STORE || cls == TL_CLASS_FP_STORE || cls == TL_CLASS_SC;
    step->is_load = accesses.n > 0 && !step->is_store;
    if (accesses.n == 0)
        return;
    step->address = address_of(step->word, step->before[PC], step->before);
    step->n_bytes = accesses.bytes;
    // A store-exclusive that has failed stored nothing.
    if (cls == TL_CLASS_SC && general(step->after, (uint32_t)field(step->word, 16, 5)) != 0) {
        step->is_store = false;
        step->n_bytes = 0;
        return;
    }
    if (field(step->word, 26, 1) || accesses.n > 2) // vector registers stay in the target
        return;
    const uint64_t *x = step->is_store ? step->before : step->after;
    const uint32_t each = accesses.bytes / accesses.n,
                   registers[] = {(uint32_t)field(step->word, 0, 5), (uint32_t)field(step->word, 10, 5)};
    for (uint32_t i = 0; i < accesses.n; i++)
        step->values[i] = low_bytes(general(x, registers[i]), each);
    step->n_values = accesses.n;
}

// -- Steps.

static uint8_t call(tl_debugger *monitor, tl_debugger_function function, const uint64_t *args, uint32_t n, tl_debugger_reply *reply) {
    tl_debugger_call(monitor, function, args, n, reply);
    return reply->code;
}
#define TRY(call)                      \
    do {                               \
        const uint8_t code_ = (call);  \
        if (code_ != TL_DEBUGGER_DONE) \
            return code_;              \
    } while (0)

static bool equal(const tl_debugger_entry *a, const tl_debugger_entry *b) {
    return a->state == b->state && a->vaddr == b->vaddr && a->paddr == b->paddr && a->bytes == b->bytes && a->asid == b->asid;
}

// Reads all tags and TLB entries. Changes since the last reading go to the step; NULL: there was
// none.
static uint8_t look(tl_debugger *monitor, tl_debugger_step *step, tl_debugger_reply *reply) {
    const uint64_t args[] = {MAIN_TLB, TAGS_ONLY, DUMP_MS};
    tl_debugger_entry e = {.size = sizeof e};
    uint32_t n = 0;
    while (tl_debugger_next_entry(monitor, &e)) // of earlier dumps
        ;
    TRY(call(monitor, TL_DEBUGGER_UARCH_DUMP, args, 3, reply));
    for (; tl_debugger_next_entry(monitor, &e); n++) {
        if (n == TL_DEBUGGER_PLACES)
            continue;
        tl_debugger_entry *seen = &monitor->places[n];
        if (step && !equal(seen, &e)) {
            if (step->n_changes < TL_DEBUGGER_CHANGES)
                step->changes[step->n_changes] = (tl_debugger_change){*seen, e};
            step->n_changes += 1;
        }
        *seen = e;
    }
    return TL_DEBUGGER_DONE;
}

static uint8_t read_counts(tl_debugger *monitor, uint64_t ret[TL_DEBUGGER_COUNTS + 1], tl_debugger_reply *reply) {
    const uint64_t args[] = {UINT64_C(1) << CYCLES | ((1u << TL_DEBUGGER_COUNTS) - 1)};
    TRY(call(monitor, TL_DEBUGGER_PMU_READ, args, 1, reply));
    memcpy(ret, reply->values, (TL_DEBUGGER_COUNTS + 1) * sizeof *ret);
    return TL_DEBUGGER_DONE;
}

static uint8_t read_registers(tl_debugger *monitor, uint64_t ret[TL_DEBUGGER_REGISTERS], tl_debugger_reply *reply) {
    static const uint64_t all[] = {0, 0, TL_DEBUGGER_REGISTERS};
    TRY(call(monitor, TL_DEBUGGER_REG_XFER, all, 3, reply));
    memcpy(ret, reply->values, TL_DEBUGGER_REGISTERS * sizeof *ret);
    return TL_DEBUGGER_DONE;
}

TL_API uint8_t tl_debugger_trace_begin(tl_debugger *monitor) {
    enum { ON = 1, PROGRAM = 2, ZERO = 3 };
    tl_debugger_reply *reply = calloc(1, sizeof *reply);
    uint8_t code = TL_DEBUGGER_DONE;
    if (!monitor->places)
        monitor->places = calloc(TL_DEBUGGER_PLACES, sizeof *monitor->places);
    if (!reply || !monitor->places) {
        free(reply);
        return TL_DEBUGGER_INTERNAL;
    }
    for (uint32_t i = 0; i < TL_DEBUGGER_COUNTS && code == TL_DEBUGGER_DONE; i++) {
        const uint64_t program[] = {PROGRAM, i, USER_ONLY | events[i]};
        code = call(monitor, TL_DEBUGGER_PMU_CTL, program, 3, reply);
    }
    const uint64_t zero[] = {ZERO}, on[] = {ON, UINT64_C(1) << CYCLES | ((1u << TL_DEBUGGER_COUNTS) - 1)};
    if (code == TL_DEBUGGER_DONE)
        code = call(monitor, TL_DEBUGGER_PMU_CTL, zero, 1, reply);
    if (code == TL_DEBUGGER_DONE)
        code = call(monitor, TL_DEBUGGER_PMU_CTL, on, 2, reply);
    if (code == TL_DEBUGGER_DONE)
        code = look(monitor, NULL, reply);
    free(reply);
    return code;
}

static uint8_t step_with(tl_debugger *monitor, uint32_t word, tl_debugger_step *step, tl_debugger_reply *reply) {
    static const uint64_t one[] = {0, 1};
    uint64_t counts[2][TL_DEBUGGER_COUNTS + 1];
    TRY(read_registers(monitor, step->before, reply));
    TRY(read_counts(monitor, counts[0], reply));
    step->word = word;
    TRY(call(monitor, TL_DEBUGGER_RESUME, one, 2, reply));
    step->has_excepted = reply->n_values == 0;
    tl_debugger_event event = {.size = sizeof event};
    while (step->has_excepted && event.kind != 1) // its handler runs, up to the return
        if (!tl_debugger_wait(monitor, WAIT_NS, &event))
            return TL_DEBUGGER_TIMEOUT;
    TRY(read_counts(monitor, counts[1], reply));
    TRY(read_registers(monitor, step->after, reply));
    for (uint32_t i = 0; i <= TL_DEBUGGER_COUNTS; i++) // cycles come first
        step->counts[i] = i == 0 ? counts[1][0] - counts[0][0] : (uint32_t)(counts[1][i] - counts[0][i]);
    find_access(step);
    return look(monitor, step, reply);
}

TL_API uint8_t tl_debugger_trace_step(tl_debugger *monitor, uint32_t word, tl_debugger_step *ret_step) {
    tl_debugger_reply *reply = calloc(1, sizeof *reply);
    tl_debugger_step *step = calloc(1, sizeof *step);
    uint8_t code = TL_DEBUGGER_INTERNAL;
    if (reply && step && monitor->places)
        code = step_with(monitor, word, step, reply);
    if (code == TL_DEBUGGER_DONE)
        tl_api_fill(ret_step, step, sizeof *step);
    free(step);
    free(reply);
    return code;
}
