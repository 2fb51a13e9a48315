// SPDX-License-Identifier: MIT
// The cases of vectors.h through the bodies of isa/rv. The full form gives the result. The fast
// form must give an equal one, or give up without having touched anything.
#define TL_EXEC_FAST
#include "isa/rv/exec_all.h"

#include "vectors.h"
#include "vectors_port.h"

static tl_exec_fn *const fast[TL_N_OPCS] = {
#define INSN_BRANCH(id, ...)
#define INSN_JUMP(id, ...)
#define INSN(id, ...) [TL_OPC_##id] = fast_##id,
#include "isa/rv/hart.h"
#include "isa/rv/insn_all.def"
#undef INSN
};

static uint8_t memory[VECTORS_DATA_BYTES];
static uint64_t stamps[4];
static const tl_config config; // nothing here asks
static unsigned long n_fast, n_slow;

static uint8_t *bytes_at(uint64_t vaddr, uint32_t size_bytes) {
    if (vaddr < VECTORS_DATA || vaddr + size_bytes > VECTORS_DATA + VECTORS_DATA_BYTES) {
        fprintf(stderr, "vectors: access to %" PRIx64 "\n", vaddr);
        exit(2);
    }
    return memory + (vaddr - VECTORS_DATA);
}
static bool port_amo(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, tl_amo amo, uint64_t operand) {
    port_load(h, vaddr, size_bytes);
    const unsigned width = 8 * size_bytes;
    const uint64_t old = h->mem_value, mask = ~UINT64_C(0) >> (64 - width);
    const int64_t a = tl_sext(old, width), b = tl_sext(operand, width);
    uint64_t now = operand;
    switch (amo) {
    case TL_AMO_SWAP: break;
    case TL_AMO_ADD: now = old + operand; break;
    case TL_AMO_XOR: now = old ^ operand; break;
    case TL_AMO_AND: now = old & operand; break;
    case TL_AMO_OR: now = old | operand; break;
    case TL_AMO_MIN: now = a < b ? old : operand; break;
    case TL_AMO_MAX: now = a > b ? old : operand; break;
    case TL_AMO_MINU: now = old < (operand & mask) ? old : operand; break;
    case TL_AMO_MAXU: now = old > (operand & mask) ? old : operand; break;
    }
    return port_store(h, vaddr, size_bytes, now);
}
static bool port_store_conditional(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    (void)vaddr, (void)size_bytes, (void)value;
    h->mem_value = 1;
    return true;
}
static const tl_mem_port port = {
    .load = port_load,
    .store = port_store,
    .amo = port_amo,
    .load_reserved = port_load,
    .store_conditional = port_store_conditional,
    .drop_code = port_drop_code,
};

// Loads and stores hit in the fast form: one line that covers the data.
static void set_slot(tl_hart *h, bool is_hit) {
    h->line_log2 = 7;
    h->line_mask = ~UINT64_C(127);
    h->stamps = stamps;
    tl_data_slot *slot = tl_data_slot_of(h, VECTORS_DATA);
    *slot = (tl_data_slot){.read_tag = is_hit ? VECTORS_DATA : TL_NO_LINE, .write_tag = is_hit ? VECTORS_DATA : TL_NO_LINE};
    slot->host_minus_vaddr = (uintptr_t)memory - (uintptr_t)VECTORS_DATA;
}

static void set_case(tl_hart *h, const vector_case *c) {
    for (unsigned i = 0; i < 33; i++)
        tl_rv(h)->x[i] = i == 0 ? 0 : UINT64_C(0x5a5a5a5a00000000) + i;
    for (unsigned i = 0; i < 32; i++)
        tl_rv(h)->f[i] = UINT64_C(0xa5a5a5a500000000) + i;
    for (unsigned i = 0; i < 3; i++)
        tl_rv(h)->x[RS1 + i] = tl_rv(h)->f[RS1 + i] = c->operand[i];
    tl_rv(h)->x[RD] = tl_rv(h)->f[RD] = 0;
    tl_rv(h)->frm = c->fcsr >> 5 & 7;
    tl_rv(h)->fflags = c->fcsr & 31;
    h->stamp = 0;
    h->mem_value = 0;
    fill_data(memory, c->data);
}

static vector_result result_of(const tl_hart *h, bool is_illegal) {
    return (vector_result){tl_rv(h)->x[RD], tl_rv(h)->f[RD], tl_rv(h)->fflags, 1, hash_data(memory), is_illegal};
}

// Compares all but the memory system's answer and the recency.
static bool is_same(const tl_hart *a, const tl_hart *b) {
    return memcmp(tl_rv(a)->x, tl_rv(b)->x, sizeof(tl_rv(a)->x)) == 0 && memcmp(tl_rv(a)->f, tl_rv(b)->f, sizeof(tl_rv(a)->f)) == 0 &&
           tl_rv(a)->frm == tl_rv(b)->frm && tl_rv(a)->fflags == tl_rv(b)->fflags;
}

static void fail(const char *what, uint32_t word, const vector_case *c) {
    printf("%s: %08" PRIx32 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " fcsr %02" PRIx64 "\n", what, word, c->operand[0], c->operand[1],
           c->operand[2], c->fcsr);
    exit(1);
}

// Registers and control of a hart, without its slots.
enum { CONTROL_BYTES = offsetof(tl_hart, fetch_slot), OWN_OFFSET = offsetof(tl_rv_hart, x), OWN_BYTES = sizeof(tl_rv_hart) - OWN_OFFSET };
typedef struct image {
    uint8_t control[CONTROL_BYTES], own[OWN_BYTES];
} image;

static void remember(image *ret_image, const tl_hart *h) {
    memcpy(ret_image->control, h, CONTROL_BYTES);
    memcpy(ret_image->own, (const uint8_t *)h + OWN_OFFSET, OWN_BYTES);
}

static bool is_untouched(const image *before, const tl_hart *h) {
    return memcmp(before->control, h, CONTROL_BYTES) == 0 && memcmp(before->own, (const uint8_t *)h + OWN_OFFSET, OWN_BYTES) == 0;
}

static void execute(uint32_t word, const vector_case *cases, vector_result *ret_results, size_t n) {
    static tl_rv_hart harts[2];
    image before;
    tl_hart *hart = &harts[0].hart, *quick = &harts[1].hart;
    tl_decoded insn;
    tl_op op = {0};
    tl_decode(word, &insn);
    tl_op_from_decoded(&insn, &op);
    hart->port = quick->port = &port;
    hart->config = quick->config = &config;
    for (size_t i = 0; i < n; i++) {
        const vector_case *c = &cases[i];
        tl_fp_saved saved;
        if (tl_taken[insn.opc] != NULL) {
            set_case(hart, c);
            ret_results[i] = result_of(hart, false);
            ret_results[i].not_taken = !tl_taken[insn.opc](hart, &op);
            continue;
        }
        // Half of the full runs hit, half ask the port.
        set_slot(hart, i & 1);
        set_case(hart, c);
        tl_fp_enter(hart, &saved);
        const bool is_done = tl_exec_full[insn.opc](hart, &op, VECTORS_PC);
        tl_fp_leave(hart, &saved);
        if (!is_done && (hart->trap_cause != TL_CAUSE_ILLEGAL || hart->trap_value != word))
            fail("trap is not illegal instruction with its bits", word, c);
        ret_results[i] = result_of(hart, !is_done);

        set_slot(quick, i & 2);
        set_case(quick, c);
        remember(&before, quick);
        tl_fp_enter(quick, &saved);
        const bool is_quick = fast[insn.opc](quick, &op, VECTORS_PC);
        tl_fp_leave(quick, &saved);
        const vector_result result = result_of(quick, false);
        if (is_quick && (!is_same(quick, hart) || result.data != ret_results[i].data))
            fail("fast form differs", word, c);
        if (!is_quick && !is_untouched(&before, quick))
            fail("fast form gave up with a side effect", word, c);
        if (is_quick)
            n_fast += 1;
        else
            n_slow += 1;
    }
}

int main(int argc, char **argv) {
    run_all(argc, argv);
    fprintf(stderr, "vectors: the fast form did %lu of %lu cases\n", n_fast, n_fast + n_slow);
    return 0;
}
