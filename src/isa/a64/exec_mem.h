// SPDX-License-Identifier: MIT
// Bodies of loads and stores: insn_mem.def. Accesses are of 8 bytes at most; vectors, pairs and
// structures make several. Registers are written when all accesses are done, so a fault leaves
// them as they were. Stores before a fault stay, as the manual permits.
#ifndef TL_ISA_A64_EXEC_MEM_H
#define TL_ISA_A64_EXEC_MEM_H

#include "isa/a64/exec_int.h"

#define BASE tl_a64(h)->x[op->rn]
#define OFFSET ((uint64_t)(int64_t)op->imm)
#define INDEX tl_a64_extend(tl_a64(h)->x[op->rm], (uint32_t)op->imm & 7, (uint32_t)op->imm >> 3)
#define VD tl_a64(h)->v[op->rd]
#define VA tl_a64(h)->v[op->ra]

// Each form of addressing: its address, and what becomes of the base.
#define FORMS(BODY, name, unscaled, ...)                        \
    BODY(unscaled, BASE + OFFSET, (void)0, __VA_ARGS__)         \
    BODY(name##_uimm, BASE + OFFSET, (void)0, __VA_ARGS__)      \
    BODY(name##_reg, BASE + INDEX, (void)0, __VA_ARGS__)        \
    BODY(name##_post, BASE, BASE = vaddr + OFFSET, __VA_ARGS__) \
    BODY(name##_pre, BASE + OFFSET, BASE = vaddr, __VA_ARGS__)
#define PAIRS(BODY, name, no_allocate, ...)                     \
    BODY(name, BASE + OFFSET, (void)0, __VA_ARGS__)             \
    BODY(no_allocate, BASE + OFFSET, (void)0, __VA_ARGS__)      \
    BODY(name##_post, BASE, BASE = vaddr + OFFSET, __VA_ARGS__) \
    BODY(name##_pre, BASE + OFFSET, BASE = vaddr, __VA_ARGS__)

// type: of the bytes in memory; wide: what they are extended to.
#define LOAD(name, address, writeback, type, wide) \
    EXEC(name) {                                   \
        const uint64_t vaddr = (address);          \
        uint64_t value;                            \
        if (!READ(vaddr, sizeof(type), &value))    \
            return false;                          \
        writeback;                                 \
        RD = (uint64_t)(wide)(type)value;          \
        return true;                               \
    }
#define STORE(name, address, writeback, type) \
    EXEC(name) {                              \
        const uint64_t vaddr = (address);     \
        if (!WRITE(vaddr, sizeof(type), RD))  \
            return false;                     \
        writeback;                            \
        return true;                          \
    }
FORMS(LOAD, ldrb, ldurb, uint8_t, uint8_t)
FORMS(LOAD, ldrsb_x, ldursb_x, int8_t, int64_t)
FORMS(LOAD, ldrsb_w, ldursb_w, int8_t, uint32_t)
FORMS(LOAD, ldrh, ldurh, uint16_t, uint16_t)
FORMS(LOAD, ldrsh_x, ldursh_x, int16_t, int64_t)
FORMS(LOAD, ldrsh_w, ldursh_w, int16_t, uint32_t)
FORMS(LOAD, ldr_w, ldur_w, uint32_t, uint32_t)
FORMS(LOAD, ldrsw, ldursw, int32_t, int64_t)
FORMS(LOAD, ldr_x, ldur_x, uint64_t, uint64_t)
FORMS(STORE, strb, sturb, uint8_t)
FORMS(STORE, strh, sturh, uint16_t)
FORMS(STORE, str_w, stur_w, uint32_t)
FORMS(STORE, str_x, stur_x, uint64_t)
// Accesses of EL1 with the rights of EL0. Other levels have their own rights (C3.2.5).
#define UNPRIVILEGED(name, privileged)                          \
    EXEC_SLOW(name) {                                           \
        const uint32_t view = h->view;                          \
        h->view = view == TL_VIEW_S ? TL_VIEW_U : view;         \
        const bool is_done = BODY(privileged, h, op, pc);       \
        h->view = view;                                         \
        if (!is_done && h->trap_cause != TL_TRAP_NOT_YET)       \
            tl_a64(h)->sys.is_unprivileged = view == TL_VIEW_S; \
        return is_done;                                         \
    }
UNPRIVILEGED(ldtrb, ldurb)
UNPRIVILEGED(ldtrsb_x, ldursb_x)
UNPRIVILEGED(ldtrsb_w, ldursb_w)
UNPRIVILEGED(ldtrh, ldurh)
UNPRIVILEGED(ldtrsh_x, ldursh_x)
UNPRIVILEGED(ldtrsh_w, ldursh_w)
UNPRIVILEGED(ldtr_w, ldur_w)
UNPRIVILEGED(ldtrsw, ldursw)
UNPRIVILEGED(ldtr_x, ldur_x)
UNPRIVILEGED(sttrb, sturb)
UNPRIVILEGED(sttrh, sturh)
UNPRIVILEGED(sttr_w, stur_w)
UNPRIVILEGED(sttr_x, stur_x)
#undef UNPRIVILEGED
LOAD(ldr_w_lit, pc + OFFSET, (void)0, uint32_t, uint32_t)
LOAD(ldr_x_lit, pc + OFFSET, (void)0, uint64_t, uint64_t)
LOAD(ldrsw_lit, pc + OFFSET, (void)0, int32_t, int64_t)

// A prefetch is a hint that this machine does not take.
EXEC(prfm_uimm) { return true; }
EXEC(prfm_reg) { return true; }
EXEC(prfm_lit) { return true; }
EXEC(prfum) { return true; }

// -- Vector registers. A load clears what it does not fill.
#define VLOAD(name, address, writeback, size_bytes) \
    EXEC(name) {                                    \
        const uint64_t vaddr = (address);           \
        uint64_t value;                             \
        if (!READ(vaddr, size_bytes, &value))       \
            return false;                           \
        writeback;                                  \
        VD = (tl_a64_vector){.d = {value, 0}};      \
        return true;                                \
    }
#define VLOAD_Q(name, address, writeback, unused)             \
    EXEC(name) {                                              \
        const uint64_t vaddr = (address);                     \
        uint64_t value[2];                                    \
        if (!tl_a64_is_aligned(h, vaddr, 16, TL_ACCESS_LOAD)) \
            return false;                                     \
        if (!READ_N(vaddr, 8, 2, value))                      \
            return false;                                     \
        writeback;                                            \
        VD = (tl_a64_vector){.d = {value[0], value[1]}};      \
        return true;                                          \
    }
#define VSTORE(name, address, writeback, size_bytes) \
    EXEC(name) {                                     \
        const uint64_t vaddr = (address);            \
        if (!WRITE(vaddr, size_bytes, VD.d[0]))      \
            return false;                            \
        writeback;                                   \
        return true;                                 \
    }
#define VSTORE_Q(name, address, writeback, unused)             \
    EXEC(name) {                                               \
        const uint64_t vaddr = (address);                      \
        if (!tl_a64_is_aligned(h, vaddr, 16, TL_ACCESS_STORE)) \
            return false;                                      \
        if (!WRITE_N(vaddr, 8, 2, VD.d))                       \
            return false;                                      \
        writeback;                                             \
        return true;                                           \
    }
FORMS(VLOAD, ldr_b, ldur_b, 1)
FORMS(VLOAD, ldr_h, ldur_h, 2)
FORMS(VLOAD, ldr_s, ldur_s, 4)
FORMS(VLOAD, ldr_d, ldur_d, 8)
FORMS(VLOAD_Q, ldr_q, ldur_q, 16)
FORMS(VSTORE, str_b, stur_b, 1)
FORMS(VSTORE, str_h, stur_h, 2)
FORMS(VSTORE, str_s, stur_s, 4)
FORMS(VSTORE, str_d, stur_d, 8)
FORMS(VSTORE_Q, str_q, stur_q, 16)
VLOAD(ldr_s_lit, pc + OFFSET, (void)0, 4)
VLOAD(ldr_d_lit, pc + OFFSET, (void)0, 8)
VLOAD_Q(ldr_q_lit, pc + OFFSET, (void)0, 16)

// -- Pairs.
#define LOAD_PAIR(name, address, writeback, type, wide)        \
    EXEC(name) {                                               \
        const uint64_t vaddr = (address);                      \
        uint64_t value[2];                                     \
        if (!READ_N(vaddr, sizeof(type), 2, value))            \
            return false;                                      \
        writeback;                                             \
        RD = (uint64_t)(wide)(type)value[0];                   \
        tl_a64(h)->x[op->ra] = (uint64_t)(wide)(type)value[1]; \
        return true;                                           \
    }
#define STORE_PAIR(name, address, writeback, type)            \
    EXEC(name) {                                              \
        const uint64_t vaddr = (address);                     \
        const uint64_t value[2] = {RD, tl_a64(h)->x[op->ra]}; \
        if (!WRITE_N(vaddr, sizeof(type), 2, value))          \
            return false;                                     \
        writeback;                                            \
        return true;                                          \
    }
PAIRS(LOAD_PAIR, ldp_w, ldnp_w, uint32_t, uint32_t)
PAIRS(LOAD_PAIR, ldp_x, ldnp_x, uint64_t, uint64_t)
LOAD_PAIR(ldpsw, BASE + OFFSET, (void)0, int32_t, int64_t)
LOAD_PAIR(ldpsw_post, BASE, BASE = vaddr + OFFSET, int32_t, int64_t)
LOAD_PAIR(ldpsw_pre, BASE + OFFSET, BASE = vaddr, int32_t, int64_t)
PAIRS(STORE_PAIR, stp_w, stnp_w, uint32_t)
PAIRS(STORE_PAIR, stp_x, stnp_x, uint64_t)
#define VLOAD_PAIR(name, address, writeback, size_bytes) \
    EXEC(name) {                                         \
        const uint64_t vaddr = (address);                \
        uint64_t value[2];                               \
        if (!READ_N(vaddr, size_bytes, 2, value))        \
            return false;                                \
        writeback;                                       \
        VD = (tl_a64_vector){.d = {value[0], 0}};        \
        VA = (tl_a64_vector){.d = {value[1], 0}};        \
        return true;                                     \
    }
#define VLOAD_PAIR_Q(name, address, writeback, unused)        \
    EXEC(name) {                                              \
        const uint64_t vaddr = (address);                     \
        uint64_t value[4];                                    \
        if (!tl_a64_is_aligned(h, vaddr, 16, TL_ACCESS_LOAD)) \
            return false;                                     \
        if (!READ_N(vaddr, 8, 4, value))                      \
            return false;                                     \
        writeback;                                            \
        VD = (tl_a64_vector){.d = {value[0], value[1]}};      \
        VA = (tl_a64_vector){.d = {value[2], value[3]}};      \
        return true;                                          \
    }
#define VSTORE_PAIR(name, address, writeback, size_bytes) \
    EXEC(name) {                                          \
        const uint64_t vaddr = (address);                 \
        const uint64_t value[2] = {VD.d[0], VA.d[0]};     \
        if (!WRITE_N(vaddr, size_bytes, 2, value))        \
            return false;                                 \
        writeback;                                        \
        return true;                                      \
    }
#define VSTORE_PAIR_Q(name, address, writeback, unused)                 \
    EXEC(name) {                                                        \
        const uint64_t vaddr = (address);                               \
        const uint64_t value[4] = {VD.d[0], VD.d[1], VA.d[0], VA.d[1]}; \
        if (!tl_a64_is_aligned(h, vaddr, 16, TL_ACCESS_STORE))          \
            return false;                                               \
        if (!WRITE_N(vaddr, 8, 4, value))                               \
            return false;                                               \
        writeback;                                                      \
        return true;                                                    \
    }
PAIRS(VLOAD_PAIR, ldp_s, ldnp_s, 4)
PAIRS(VLOAD_PAIR, ldp_d, ldnp_d, 8)
PAIRS(VLOAD_PAIR_Q, ldp_q, ldnp_q, 16)
PAIRS(VSTORE_PAIR, stp_s, stnp_s, 4)
PAIRS(VSTORE_PAIR, stp_d, stnp_d, 8)
PAIRS(VSTORE_PAIR_Q, stp_q, stnp_q, 16)

// -- Ordered and exclusive accesses must be aligned to all that they access. Harts take turns, so
// there is nothing to order.
TL_ALWAYS_INLINE bool tl_a64_is_misaligned(tl_hart *h, uint64_t vaddr, uint64_t size_bytes, tl_access access) {
    if (TL_LIKELY((vaddr & (size_bytes - 1)) == 0))
        return false;
#ifdef TL_EXEC_FAST
    (void)h, (void)access; // no slot shows it
#else
    (void)tl_trap_fault(h, TL_FAULT_MISALIGNED, access, vaddr);
#endif
    return true;
}
static inline bool tl_a64_load_exclusive(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    const uint64_t plain = tl_a64_untag(h, vaddr);
    if (TL_LIKELY(h->port->load_reserved(h, plain, size_bytes))) {
        tl_a64(h)->sys.is_exclusive = true;
        return true;
    }
    h->trap_value ^= plain ^ vaddr;
    return false;
}
static inline bool tl_a64_store_exclusive(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    const uint64_t plain = tl_a64_untag(h, vaddr);
    if (TL_LIKELY(h->port->store_conditional(h, plain, size_bytes, value))) {
        tl_a64(h)->sys.is_exclusive = false;
        return true;
    }
    h->trap_value ^= plain ^ vaddr;
    return false;
}
#define ORDERED(k, size_bytes)                                                                                                 \
    EXEC(ldar_##k) {                                                                                                           \
        uint64_t value;                                                                                                        \
        if (tl_a64_is_misaligned(h, BASE, size_bytes, TL_ACCESS_LOAD) || !READ(BASE, size_bytes, &value))                      \
            return false;                                                                                                      \
        RD = value;                                                                                                            \
        return true;                                                                                                           \
    }                                                                                                                          \
    EXEC(stlr_##k) { return !tl_a64_is_misaligned(h, BASE, size_bytes, TL_ACCESS_STORE) && WRITE(BASE, size_bytes, RD); }      \
    EXEC_SLOW(ldxr_##k) {                                                                                                      \
        if (tl_a64_is_misaligned(h, BASE, size_bytes, TL_ACCESS_LOAD) || !tl_a64_load_exclusive(h, BASE, size_bytes))          \
            return false;                                                                                                      \
        RD = h->mem_value;                                                                                                     \
        return true;                                                                                                           \
    }                                                                                                                          \
    EXEC_SLOW(ldaxr_##k) { return exec_ldxr_##k(h, op, pc); }                                                                  \
    EXEC_SLOW(stxr_##k) {                                                                                                      \
        const uint64_t value = (size_bytes) == 8 ? RD : tl_bits(RD, 0, 8 * (size_bytes)&63);                                   \
        if (tl_a64_is_misaligned(h, BASE, size_bytes, TL_ACCESS_STORE) || !tl_a64_store_exclusive(h, BASE, size_bytes, value)) \
            return false;                                                                                                      \
        tl_a64(h)->x[op->rm] = h->mem_value;                                                                                   \
        return true;                                                                                                           \
    }                                                                                                                          \
    EXEC_SLOW(stlxr_##k) { return exec_stxr_##k(h, op, pc); }
ORDERED(b, 1)
ORDERED(h, 2)
ORDERED(w, 4)
ORDERED(x, 8)

EXEC_SLOW(ldxp_w) {
    if (tl_a64_is_misaligned(h, BASE, 8, TL_ACCESS_LOAD) || !tl_a64_load_exclusive(h, BASE, 8))
        return false;
    RD = (uint32_t)h->mem_value;
    tl_a64(h)->x[op->ra] = h->mem_value >> 32;
    return true;
}
// Both halves lie in one line, which is what a reservation holds.
EXEC_SLOW(ldxp_x) {
    uint64_t second;
    const uint64_t vaddr = BASE;
    if (tl_a64_is_misaligned(h, vaddr, 16, TL_ACCESS_LOAD) || !tl_a64_load_exclusive(h, vaddr, 8))
        return false;
    const uint64_t first = h->mem_value;
    if (!tl_a64_read_more(h, vaddr + 8, 8, &second, 1))
        return false;
    RD = first;
    tl_a64(h)->x[op->ra] = second;
    return true;
}
EXEC_SLOW(stxp_w) {
    const uint64_t value = (uint32_t)RD | tl_a64(h)->x[op->ra] << 32;
    if (tl_a64_is_misaligned(h, BASE, 8, TL_ACCESS_STORE) || !tl_a64_store_exclusive(h, BASE, 8, value))
        return false;
    tl_a64(h)->x[op->rm] = h->mem_value;
    return true;
}
EXEC_SLOW(stxp_x) {
    const uint64_t vaddr = BASE;
    if (tl_a64_is_misaligned(h, vaddr, 16, TL_ACCESS_STORE) || !tl_a64_store_exclusive(h, vaddr, 8, RD))
        return false;
    const uint64_t has_failed = h->mem_value;
    if (has_failed == 0) { // the memory system counts the look-up of the first half
        if (!tl_a64_write_more(h, vaddr + 8, 8, tl_a64(h)->x[op->ra], 1))
            return false;
        h->tally[TL_S_L1D_STORE] += 1;
        h->tally[TL_S_DTLB_ACCESS] += 1;
        h->tally[TL_S_HART_STORE_BYTES] += 8;
    }
    tl_a64(h)->x[op->rm] = has_failed;
    return true;
}
EXEC_SLOW(ldaxp_w) { return exec_ldxp_w(h, op, pc); }
EXEC_SLOW(ldaxp_x) { return exec_ldxp_x(h, op, pc); }
EXEC_SLOW(stlxp_w) { return exec_stxp_w(h, op, pc); }
EXEC_SLOW(stlxp_x) { return exec_stxp_x(h, op, pc); }

// -- Structures. They are contiguous in memory, and move in accesses of 8 bytes.
// The registers of a list are consecutive modulo 32. Tells how their lanes lie in memory.
typedef struct tl_a64_list {
    uint32_t n, n_interleaved; // n_interleaved 1: one register after the other
    uint32_t size;             // log2 of a lane's bytes
    uint32_t bytes;            // of a register that take part
} tl_a64_list;

static inline tl_a64_list tl_a64_list_of(uint32_t raw) {
    static const uint8_t counts[16] = {[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2};
    const uint32_t opcode = raw >> 12 & 15, n = counts[opcode];
    return (tl_a64_list){n, opcode & 2 ? 1 : n, raw >> 10 & 3, raw >> 30 & 1 ? 16 : 8};
}
// Where byte `at` of register `i` lies in memory.
static inline uint32_t tl_a64_list_offset(const tl_a64_list *list, uint32_t i, uint32_t at) {
    if (list->n_interleaved == 1)
        return i * list->bytes + at;
    const uint32_t lane = at >> list->size, within = at & ((1u << list->size) - 1);
    return ((lane * list->n + i) << list->size) + within;
}
static inline void tl_a64_after(tl_hart *h, const tl_op *op, uint32_t n_bytes) { // post-indexed
    if ((uint32_t)op->imm >> 23 & 1)
        tl_a64(h)->x[op->rn] += op->rm == TL_A64_ZERO ? n_bytes : tl_a64(h)->x[op->rm];
}

static inline bool tl_a64_load_list(tl_hart *h, const tl_op *op) {
    const tl_a64_list list = tl_a64_list_of((uint32_t)op->imm);
    const uint32_t n_bytes = list.n * list.bytes;
    uint64_t words[8];
    const bool checks = tl_a64(h)->sys.checks_alignment;
    bool is_done = tl_a64_is_aligned(h, BASE, 1u << list.size, TL_ACCESS_LOAD);
    tl_a64(h)->sys.checks_alignment = false; // of elements, not of what is accessed at once
    for (uint32_t i = 0; is_done && i < n_bytes / 8; i++)
        is_done = tl_a64_read_more(h, BASE + 8 * i, 8, &words[i], i);
    tl_a64(h)->sys.checks_alignment = checks;
    if (!is_done)
        return false;
    const uint8_t *bytes = (const uint8_t *)words;
    for (uint32_t i = 0; i < list.n; i++) {
        tl_a64_vector *v = &tl_a64(h)->v[(op->rd + i) & 31];
        *v = (tl_a64_vector){.d = {0, 0}};
        for (uint32_t at = 0; at < list.bytes; at++)
            v->b[at] = bytes[tl_a64_list_offset(&list, i, at)];
    }
    tl_a64_after(h, op, n_bytes);
    return true;
}
static inline bool tl_a64_store_list(tl_hart *h, const tl_op *op) {
    const tl_a64_list list = tl_a64_list_of((uint32_t)op->imm);
    const uint32_t n_bytes = list.n * list.bytes;
    uint64_t words[8];
    uint8_t *bytes = (uint8_t *)words;
    for (uint32_t i = 0; i < list.n; i++)
        for (uint32_t at = 0; at < list.bytes; at++)
            bytes[tl_a64_list_offset(&list, i, at)] = tl_a64(h)->v[(op->rd + i) & 31].b[at];
    const bool checks = tl_a64(h)->sys.checks_alignment;
    bool is_done = tl_a64_is_aligned(h, BASE, 1u << list.size, TL_ACCESS_STORE);
    tl_a64(h)->sys.checks_alignment = false;
    for (uint32_t i = 0; is_done && i < n_bytes / 8; i++)
        is_done = tl_a64_write_more(h, BASE + 8 * i, 8, words[i], i);
    tl_a64(h)->sys.checks_alignment = checks;
    if (!is_done)
        return false;
    tl_a64_after(h, op, n_bytes);
    return true;
}
#define LIST(name)                                                 \
    EXEC_SLOW(ld##name) { return tl_a64_load_list(h, op); }        \
    EXEC_SLOW(ld##name##_post) { return tl_a64_load_list(h, op); } \
    EXEC_SLOW(st##name) { return tl_a64_store_list(h, op); }       \
    EXEC_SLOW(st##name##_post) { return tl_a64_store_list(h, op); }
LIST(1_1)
LIST(1_2)
LIST(1_3)
LIST(1_4)
LIST(2)
LIST(3)
LIST(4)

typedef struct tl_a64_single { // one lane of n registers
    uint32_t n, size, index;
} tl_a64_single;
static inline tl_a64_single tl_a64_lane_of(uint32_t raw) {
    const uint32_t all = (raw >> 30 & 1) << 3 | (raw >> 12 & 1) << 2 | (raw >> 10 & 3), n = 1 + (raw >> 21 & 1) + 2 * (raw >> 13 & 1);
    switch (raw >> 14 & 3) {
    case 0: return (tl_a64_single){n, 0, all};
    case 1: return (tl_a64_single){n, 1, all >> 1};
    case 2: return raw >> 10 & 1 ? (tl_a64_single){n, 3, all >> 3} : (tl_a64_single){n, 2, all >> 2};
    default: return (tl_a64_single){n, raw >> 10 & 3, 0}; // replicated
    }
}
static inline bool tl_a64_read_lanes(tl_hart *h, const tl_op *op, const tl_a64_single *lane, uint64_t ret_values[4]) {
    for (uint32_t i = 0; i < lane->n; i++)
        if (!tl_a64_read_more(h, BASE + ((uint64_t)i << lane->size), 1u << lane->size, &ret_values[i], i))
            return false;
    return true;
}
static inline bool tl_a64_load_lane(tl_hart *h, const tl_op *op) {
    const tl_a64_single lane = tl_a64_lane_of((uint32_t)op->imm);
    uint64_t values[4];
    if (!tl_a64_read_lanes(h, op, &lane, values))
        return false;
    for (uint32_t i = 0; i < lane.n; i++)
        memcpy(&tl_a64(h)->v[(op->rd + i) & 31].b[lane.index << lane.size], &values[i], (size_t)1 << lane.size);
    tl_a64_after(h, op, lane.n << lane.size);
    return true;
}
static inline bool tl_a64_load_replicated(tl_hart *h, const tl_op *op) {
    const tl_a64_single lane = tl_a64_lane_of((uint32_t)op->imm);
    uint64_t values[4];
    if (!tl_a64_read_lanes(h, op, &lane, values))
        return false;
    for (uint32_t i = 0; i < lane.n; i++) {
        tl_a64_vector *v = &tl_a64(h)->v[(op->rd + i) & 31];
        *v = (tl_a64_vector){.d = {0, 0}};
        for (uint32_t at = 0; at < ((uint32_t)op->imm >> 30 & 1 ? 16u : 8u); at += 1u << lane.size)
            memcpy(&v->b[at], &values[i], (size_t)1 << lane.size);
    }
    tl_a64_after(h, op, lane.n << lane.size);
    return true;
}
static inline bool tl_a64_store_lane(tl_hart *h, const tl_op *op) {
    const tl_a64_single lane = tl_a64_lane_of((uint32_t)op->imm);
    for (uint32_t i = 0; i < lane.n; i++) {
        uint64_t value = 0;
        memcpy(&value, &tl_a64(h)->v[(op->rd + i) & 31].b[lane.index << lane.size], (size_t)1 << lane.size);
        if (!tl_a64_write_more(h, BASE + ((uint64_t)i << lane.size), 1u << lane.size, value, i))
            return false;
    }
    tl_a64_after(h, op, lane.n << lane.size);
    return true;
}
#define LANE(n)                                                       \
    EXEC_SLOW(ld##n##_lane) { return tl_a64_load_lane(h, op); }       \
    EXEC_SLOW(ld##n##_lane_post) { return tl_a64_load_lane(h, op); }  \
    EXEC_SLOW(st##n##_lane) { return tl_a64_store_lane(h, op); }      \
    EXEC_SLOW(st##n##_lane_post) { return tl_a64_store_lane(h, op); } \
    EXEC_SLOW(ld##n##r) { return tl_a64_load_replicated(h, op); }     \
    EXEC_SLOW(ld##n##r_post) { return tl_a64_load_replicated(h, op); }
LANE(1)
LANE(2)
LANE(3)
LANE(4)

#undef BASE
#undef OFFSET
#undef INDEX
#undef VD
#undef VA
#undef FORMS
#undef PAIRS
#undef LOAD
#undef STORE
#undef LIST
#undef LANE

#endif
