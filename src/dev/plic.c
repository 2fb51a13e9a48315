// SPDX-License-Identifier: MIT
// Platform-level interrupt controller, RISC-V PLIC specification 1.0.0, with the numbers of QEMU's
// virt board: two contexts per hart (2 * hart: M, 2 * hart + 1: S), priorities 0 to 7. Every source
// is a level. The gateway of a source passes one request on and then waits for completion. A
// request stays pending until a claim, even if the level falls. A claim takes the highest priority;
// ties go to the lower number. A claim ignores the threshold (sec. 8). The threshold only keeps the
// context's line low (sec. 7).
#include "dev/devices.h"
#include "isa/rv/arch.h"
#include "model/config.h"
#include "model/hart.h"

enum {
    PENDING = 0x1000,
    ENABLE = 0x2000,
    ENABLE_STRIDE = 0x80,
    CONTEXT = 0x200000,
    CONTEXT_STRIDE = 0x1000,
    CLAIM = 4, // beside the threshold at 0
    WINDOW_BYTES = 0x600000,
    N_WORDS = TL_PLIC_SOURCES / 32 + 1,
    MAX_CONTEXTS = 2 * TL_MAX_HARTS,
    MAX_PRIORITY = 7,
};

typedef struct plic {
    tl_device device;
    uint32_t n_contexts;
    uint8_t priority[N_WORDS * 32];
    // in_service: claimed and not completed yet.
    uint32_t level[N_WORDS], pending[N_WORDS], in_service[N_WORDS];
    uint32_t enable[MAX_CONTEXTS][N_WORDS];
    uint8_t threshold[MAX_CONTEXTS];
    bool line[MAX_CONTEXTS];
} plic;

// Bits of word `index` that belong to sources. Source 0 means "none".
static uint32_t sources_in(uint32_t index) {
    uint32_t mask = index == 0 ? ~1u : ~0u;
    return index == TL_PLIC_SOURCES / 32 ? mask & (uint32_t)((UINT64_C(2) << TL_PLIC_SOURCES % 32) - 1) : mask;
}

// The pending and enabled source of highest priority, 0: none. A source of priority 0 never
// interrupts.
static uint32_t best_of(const plic *p, uint32_t context) {
    uint32_t best = 0;
    for (uint32_t w = 0; w < N_WORDS; w++)
        for (uint32_t bits = p->pending[w] & p->enable[context][w]; bits != 0; bits &= bits - 1) {
            uint32_t source = w * 32 + (uint32_t)__builtin_ctz(bits);
            if (p->priority[source] > (best != 0 ? p->priority[best] : 0))
                best = source;
        }
    return best;
}

static void update(plic *p) {
    for (uint32_t w = 0; w < N_WORDS; w++) // the gateways
        p->pending[w] |= p->level[w] & ~p->in_service[w] & sources_in(w);
    for (uint32_t context = 0; context < p->n_contexts; context++) {
        // priority[0] is always 0.
        bool line = p->priority[best_of(p, context)] > p->threshold[context];
        if (line == p->line[context])
            continue;
        p->line[context] = line;
        p->device.host->set_hart_irq(p->device.host->ctx, context / 2, context % 2 == 0 ? TL_IRQ_MEI : TL_IRQ_SEI, line);
    }
}

static uint32_t claim(plic *p, uint32_t context) {
    uint32_t source = best_of(p, context);
    if (source == 0)
        return 0;
    p->pending[source / 32] &= ~(1u << source % 32);
    p->in_service[source / 32] |= 1u << source % 32;
    update(p);
    return source;
}

static void complete(plic *p, uint32_t context, uint64_t source) {
    if (source > TL_PLIC_SOURCES || !(p->enable[context][source / 32] >> source % 32 & 1))
        return; // sec. 9: silently ignored
    p->in_service[source / 32] &= ~(1u << source % 32);
    update(p);
}

static bool plic_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    plic *p = (plic *)device;
    if (size_bytes != 4)
        return false;
    uint64_t value = 0; // of what is reserved
    if (offset < PENDING) {
        value = offset / 4 <= TL_PLIC_SOURCES ? p->priority[offset / 4] : 0;
    } else if (offset < ENABLE) {
        uint64_t w = (offset - PENDING) / 4;
        value = w < N_WORDS ? p->pending[w] : 0;
    } else if (offset < CONTEXT) {
        uint64_t context = (offset - ENABLE) / ENABLE_STRIDE, w = (offset - ENABLE) % ENABLE_STRIDE / 4;
        value = context < p->n_contexts && w < N_WORDS ? p->enable[context][w] : 0;
    } else {
        uint64_t context = (offset - CONTEXT) / CONTEXT_STRIDE, reg = (offset - CONTEXT) % CONTEXT_STRIDE;
        if (context < p->n_contexts && reg == 0)
            value = p->threshold[context];
        else if (context < p->n_contexts && reg == CLAIM)
            value = claim(p, (uint32_t)context);
    }
    *ret_value = value;
    return true;
}

static bool plic_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    plic *p = (plic *)device;
    if (size_bytes != 4)
        return false;
    if (offset < PENDING) {
        if (offset >= 4 && offset / 4 <= TL_PLIC_SOURCES)
            p->priority[offset / 4] = value & MAX_PRIORITY;
    } else if (offset >= ENABLE && offset < CONTEXT) {
        uint64_t context = (offset - ENABLE) / ENABLE_STRIDE, w = (offset - ENABLE) % ENABLE_STRIDE / 4;
        if (context < p->n_contexts && w < N_WORDS)
            p->enable[context][w] = (uint32_t)value & sources_in((uint32_t)w);
    } else if (offset >= CONTEXT) {
        uint64_t context = (offset - CONTEXT) / CONTEXT_STRIDE, reg = (offset - CONTEXT) % CONTEXT_STRIDE;
        if (context < p->n_contexts && reg == 0)
            p->threshold[context] = value & MAX_PRIORITY;
        else if (context < p->n_contexts && reg == CLAIM)
            complete(p, (uint32_t)context, value);
    }
    update(p);
    return true;
}

static const tl_device_type plic_type = {
    .name = "plic", .title = "platform-level interrupt controller", .read = plic_read, .write = plic_write};

void tl_plic_set_source(tl_device *device, uint32_t source, bool level) {
    plic *p = (plic *)device;
    if (source == 0 || source > TL_PLIC_SOURCES)
        return;
    uint32_t bit = 1u << source % 32, *word = &p->level[source / 32];
    *word = level ? *word | bit : *word & ~bit;
    update(p);
}

tl_status tl_plic_new(const tl_device_place *place, uint32_t n_harts, tl_device **ret_device, tl_error *err) {
    plic *p = tl_device_new(place, &plic_type, WINDOW_BYTES, sizeof *p, err);
    if (!p)
        return TL_ENOMEM;
    p->n_contexts = n_harts < TL_MAX_HARTS ? 2 * n_harts : MAX_CONTEXTS;
    *ret_device = &p->device;
    return TL_OK;
}
