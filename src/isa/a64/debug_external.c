// SPDX-License-Identifier: MIT
// The external debug registers: debug_external.h.
#include "isa/a64/debug_external.h"

#include "base/bits.h"
#include "isa/a64/debug.h"
#include "isa/a64/debug_execute.h"
#include "isa/a64/sysreg.h"

typedef struct use { // an access that is permitted
    uint64_t now;
    uint32_t index;   // of a register that stands there several times
    bool has_effects; // a read may have side effects: the software lock is open
} use;

static tl_a64_debug *debug_of(tl_hart *h) { return &tl_a64(h)->debug; }
static uint64_t *reg_of(tl_hart *h, uint32_t reg) { return &tl_a64(h)->sys.reg[reg]; }
enum { WORD_BITS = 32 };

static uint32_t get_zero(tl_hart *h, const use *u) { return (void)h, (void)u, 0; }

// -- Control of events.

static uint32_t get_edesr(tl_hart *h, const use *u) { return (void)u, debug_of(h)->edesr; }
static void set_edesr(tl_hart *h, const use *u, uint32_t value) {
    (void)u;
    debug_of(h)->edesr &= ~value;
    tl_a64_update_line(h);
}
static uint32_t get_edecr(tl_hart *h, const use *u) { return (void)u, debug_of(h)->edecr; }
static void set_edecr(tl_hart *h, const use *u, uint32_t value) {
    (void)u;
    debug_of(h)->edecr = value & (TL_A64_EDECR_OSUCE | TL_A64_EDECR_RCE | TL_A64_EDECR_SS);
}
// Levels that exist: EL1 and EL3 in Secure state, EL1 in Non-secure state.
static uint32_t get_edeccr(tl_hart *h, const use *u) { return (void)u, debug_of(h)->edeccr; }
static void set_edeccr(tl_hart *h, const use *u, uint32_t value) {
    enum { LEVELS = 1 << 1 | 1 << 3 | 1 << 5 };
    (void)u;
    debug_of(h)->edeccr = value & LEVELS;
}
static uint32_t get_edwar_low(tl_hart *h, const use *u) { return (void)u, (uint32_t)debug_of(h)->edwar; }
static uint32_t get_edwar_high(tl_hart *h, const use *u) { return (void)u, (uint32_t)(debug_of(h)->edwar >> WORD_BITS); }

// -- EDSCR, and the channels that it controls (H4).

// The core is ready when it has executed the last instruction, in its own time.
static bool is_ready(const tl_hart *h, const use *u) { return h->is_halted && !tl_a64(h)->debug.is_executing && u->now >= h->now; }
static bool has_memory_access(const tl_hart *h) { return h->is_halted && (tl_a64(h)->debug.edscr & TL_A64_EDSCR_MA); }

static uint32_t get_edscr(tl_hart *h, const use *u) {
    const tl_a64_debug *d = debug_of(h);
    uint32_t value = d->edscr | d->status | TL_A64_EDSCR_RW;
    if (h->irq_lines >> TL_A64_SERROR & 1)
        value |= TL_A64_EDSCR_A;
    if (tl_a64_secure_debug_disabled(h))
        value |= TL_A64_EDSCR_SDD;
    if (h->is_halted)
        value |= h->priv << TL_A64_EDSCR_EL_LSB | (tl_a64_is_secure(h) ? 0 : TL_A64_EDSCR_NS);
    else if (h->instret != d->advanced_from)
        value |= TL_A64_EDSCR_PIPEADV;
    return value | (is_ready(h, u) ? TL_A64_EDSCR_ITE : 0);
}
static void set_edscr(tl_hart *h, const use *u, uint32_t value) {
    const uint32_t always = TL_A64_EDSCR_HDE | TL_A64_EDSCR_TDA | 3u << TL_A64_EDSCR_INTDIS_LSB;
    const uint32_t mask = always | (h->is_halted ? TL_A64_EDSCR_MA : 0);
    tl_a64_debug *d = debug_of(h);
    const uint32_t old = d->edscr;
    (void)u;
    d->edscr = (old & ~mask) | (value & mask);
    if ((old ^ d->edscr) & always)
        tl_a64_debug_changed(h);
}
static void set_edrcr(tl_hart *h, const use *u, uint32_t value) {
    enum { CSE = 1 << 2, CSPA = 1 << 3 };
    tl_a64_debug *d = debug_of(h);
    (void)u;
    if (value & CSE)
        d->edscr &= ~(uint32_t)(TL_A64_EDSCR_TXU | TL_A64_EDSCR_RXO | TL_A64_EDSCR_ERR | (h->is_halted ? TL_A64_EDSCR_ITO : 0));
    if (value & CSPA)
        d->advanced_from = h->instret;
}

static bool execute(tl_hart *h, const use *u, uint32_t bits) {
    tl_hart_idle_until(h, u->now);
    return tl_a64_debug_execute(h, bits);
}
static void fail(tl_hart *h, uint32_t flag) { debug_of(h)->edscr |= flag | TL_A64_EDSCR_ERR; }
static bool has_failed(tl_hart *h) { return debug_of(h)->edscr & TL_A64_EDSCR_ERR; }

static void set_editr(tl_hart *h, const use *u, uint32_t value) {
    if (!h->is_halted || has_failed(h))
        return;
    if (!is_ready(h, u) || has_memory_access(h)) {
        fail(h, TL_A64_EDSCR_ITO);
        return;
    }
    (void)execute(h, u, value);
}

// In Memory access mode a transfer makes the core load or store through X0, with X1 as a scratch
// register (H4.3.2).
enum { STR_W1 = 0xb8004401, LDR_W1 = 0xb8404401 };

static uint32_t get_dtrrx(tl_hart *h, const use *u) { return (void)u, debug_of(h)->dtrrx; }
static void set_dtrrx(tl_hart *h, const use *u, uint32_t value) {
    tl_a64_debug *d = debug_of(h);
    if (has_failed(h))
        return;
    if ((d->edscr & TL_A64_EDSCR_RXFULL) || (has_memory_access(h) && !is_ready(h, u))) {
        fail(h, TL_A64_EDSCR_RXO);
        return;
    }
    d->dtrrx = value;
    d->edscr |= TL_A64_EDSCR_RXFULL;
    if (!has_memory_access(h))
        return;
    tl_a64(h)->x[1] = tl_a64_dtrrx_take(h);
    if (!execute(h, u, STR_W1))
        d->edscr |= TL_A64_EDSCR_RXFULL;
}

static uint32_t get_dtrtx(tl_hart *h, const use *u) {
    tl_a64_debug *d = debug_of(h);
    const uint32_t value = d->dtrtx;
    if (has_failed(h) || !u->has_effects)
        return value;
    if (!(d->edscr & TL_A64_EDSCR_TXFULL) || (has_memory_access(h) && !is_ready(h, u))) {
        fail(h, TL_A64_EDSCR_TXU);
        return value;
    }
    d->edscr &= ~(uint32_t)TL_A64_EDSCR_TXFULL;
    if (has_memory_access(h) && execute(h, u, LDR_W1))
        tl_a64_dtrtx_put(h, (uint32_t)tl_a64(h)->x[1]);
    return value;
}
static void set_dtrtx(tl_hart *h, const use *u, uint32_t value) {
    (void)u;
    if (!has_failed(h))
        debug_of(h)->dtrtx = value;
}

// -- Samples of the program counter (H7).

enum { NO_SAMPLE = -1 };

static uint32_t get_edpcsr_low(tl_hart *h, const use *u) {
    tl_a64_debug *d = debug_of(h);
    const bool is_secure = tl_a64_is_secure(h);
    const uint32_t needed = is_secure ? 3u << 6 : 3u << 2; // SNID, NSNID
    if (h->is_halted || (tl_a64_authentication(h) & needed) != needed)
        return (uint32_t)NO_SAMPLE;
    if (!u->has_effects)
        return (uint32_t)h->pc;
    d->sample_pc = h->pc;
    d->sample_context = (uint32_t)*reg_of(h, TL_A64_R_CONTEXTIDR_EL1);
    // NS, E3; EL2 is absent. HV: the upper half of the address is known.
    d->sample_state = (uint32_t)!is_secure << 31 | (uint32_t)(h->priv == TL_A64_EL3) << 29 | 1u << 28;
    return (uint32_t)d->sample_pc;
}
static uint32_t get_edpcsr_high(tl_hart *h, const use *u) { return (void)u, (uint32_t)(debug_of(h)->sample_pc >> WORD_BITS); }
static uint32_t get_edcidsr(tl_hart *h, const use *u) { return (void)u, debug_of(h)->sample_context; }
static uint32_t get_edvidsr(tl_hart *h, const use *u) { return (void)u, debug_of(h)->sample_state; }

// -- Locks, power and reset.

static void set_oslar(tl_hart *h, const use *u, uint32_t value) {
    (void)u;
    tl_a64_set_os_lock(h, value & 1);
}

enum { CORENPDRQ = 1 << 0, CWRR = 1 << 1, COREPURQ = 1 << 3 };
static uint32_t get_edprcr(tl_hart *h, const use *u) {
    const tl_a64_debug *d = debug_of(h);
    const uint32_t no_power_down = d->is_off ? 0 : (uint32_t)*reg_of(h, TL_A64_R_DBGPRCR_EL1) & CORENPDRQ;
    return (void)u, no_power_down | (d->wants_power ? COREPURQ : 0);
}
// H9.2.36: CORENPDRQ and CWRR are ignored while a lock is set. CWRR needs Secure invasive debug,
// because the core has EL3.
static void set_edprcr(tl_hart *h, const use *u, uint32_t value) {
    enum { SECURE_INVASIVE = 3 << 4 };
    tl_a64_debug *d = debug_of(h);
    const tl_a64_host *host = tl_a64(h)->sys.host;
    (void)u;
    d->wants_power = value & COREPURQ;
    if (!d->is_off && !tl_a64_os_locked(h) && !tl_a64_double_locked(h)) {
        *reg_of(h, TL_A64_R_DBGPRCR_EL1) = value & CORENPDRQ;
        const bool may_reset = (tl_a64_authentication(h) & SECURE_INVASIVE) == SECURE_INVASIVE;
        if ((value & CWRR) && may_reset && host && host->reset)
            d->wants_reset = true;
        tl_a64_update_line(h);
    }
    if (host && host->power_requested)
        host->power_requested(host->ctx);
}

static uint32_t get_edprsr(tl_hart *h, const use *u) {
    tl_a64_debug *d = debug_of(h);
    if (d->is_off)
        return 0;
    const uint32_t value = TL_A64_EDPRSR_PU | d->sticky | (h->is_halted ? TL_A64_EDPRSR_HALTED : 0) |
                           (tl_a64_os_locked(h) ? TL_A64_EDPRSR_OSLK : 0) | (tl_a64_double_locked(h) ? TL_A64_EDPRSR_DLK : 0) |
                           (tl_a64_debug_access(h) ? 0 : TL_A64_EDPRSR_EDAD) | (tl_a64_pmu_access(h) ? 0 : TL_A64_EDPRSR_EPMAD);
    if (u->has_effects && !tl_a64_double_locked(h))
        d->sticky = 0;
    return value;
}

// -- Breakpoints and watchpoints.

enum { LOW, HIGH };
static uint32_t get_half(tl_hart *h, uint32_t reg, uint32_t half) { return (uint32_t)(*reg_of(h, reg) >> half * WORD_BITS); }
static void set_half(tl_hart *h, uint32_t reg, uint32_t half, uint32_t value) {
    const uint64_t mask = UINT64_C(0xffffffff) << half * WORD_BITS;
    tl_a64_sysreg_store(h, reg, (*reg_of(h, reg) & ~mask) | (uint64_t)value << half * WORD_BITS);
    tl_a64_debug_changed(h);
}
#define HALF(name, first, half)                                                                                          \
    static uint32_t get_##name(tl_hart *h, const use *u) { return get_half(h, (uint32_t)(first) + 2 * u->index, half); } \
    static void set_##name(tl_hart *h, const use *u, uint32_t value) { set_half(h, (uint32_t)(first) + 2 * u->index, half, value); }
HALF(bvr_low, TL_A64_R_DBGBVR0_EL1, LOW)
HALF(bvr_high, TL_A64_R_DBGBVR0_EL1, HIGH)
HALF(bcr, TL_A64_R_DBGBCR0_EL1, LOW)
HALF(wvr_low, TL_A64_R_DBGWVR0_EL1, LOW)
HALF(wvr_high, TL_A64_R_DBGWVR0_EL1, HIGH)
HALF(wcr, TL_A64_R_DBGWCR0_EL1, LOW)
#undef HALF

// -- Identification and claims.

static uint32_t get_midr(tl_hart *h, const use *u) { return (void)u, (uint32_t)*reg_of(h, TL_A64_R_MIDR_EL1); }
static uint32_t get_pfr_low(tl_hart *h, const use *u) { return (void)u, get_half(h, TL_A64_R_ID_AA64PFR0_EL1, LOW); }
static uint32_t get_pfr_high(tl_hart *h, const use *u) { return (void)u, get_half(h, TL_A64_R_ID_AA64PFR0_EL1, HIGH); }
static uint32_t get_dfr_low(tl_hart *h, const use *u) { return (void)u, get_half(h, TL_A64_R_ID_AA64DFR0_EL1, LOW); }
static uint32_t get_dfr_high(tl_hart *h, const use *u) { return (void)u, get_half(h, TL_A64_R_ID_AA64DFR0_EL1, HIGH); }
static uint32_t get_claim_all(tl_hart *h, const use *u) { return (void)h, (void)u, 0xff; }
static uint32_t get_claim(tl_hart *h, const use *u) { return (void)u, tl_a64(h)->sys.debug_claim; }
static void set_claim_set(tl_hart *h, const use *u, uint32_t value) {
    (void)u;
    tl_a64_set_claim(h, tl_a64(h)->sys.debug_claim | (uint8_t)value);
}
static void set_claim_clear(tl_hart *h, const use *u, uint32_t value) {
    (void)u;
    tl_a64_set_claim(h, tl_a64(h)->sys.debug_claim & (uint8_t)~value);
}

// -- The rows.

enum { ERROR_OFF = 1, ERROR_DLK = 2, ERROR_OSLK = 4, ERROR_EDAD = 8 };
enum {
    ERRORS_NEVER = 0,
    ERRORS_CORE = ERROR_OFF | ERROR_DLK,
    ERRORS_OSLK = ERRORS_CORE | ERROR_OSLK,
    ERRORS_EDAD = ERRORS_OSLK | ERROR_EDAD,
    ERRORS_LOCK = ERRORS_CORE | ERROR_EDAD,
};
enum { RO, RW, WO };

typedef struct row {
    uint16_t offset, count, stride;
    uint8_t errors, access;
    uint32_t (*get)(tl_hart *h, const use *u);
    void (*set)(tl_hart *h, const use *u, uint32_t value);
} row;
#define set_none NULL
static const row rows[] = {
#define EXTERNAL(name, offset, count, stride, errors, access, get, set) \
    {offset, count, stride, ERRORS_##errors, access, get_##get, set_##set},
#include "isa/a64/debug_external.def"
#undef EXTERNAL
};
#undef set_none

static const row *row_at(uint64_t offset, uint32_t *ret_index) {
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const row *at = &rows[i];
        for (uint32_t k = 0; k < at->count; k++)
            if (offset == at->offset + (uint64_t)k * at->stride) {
                *ret_index = k;
                return at;
            }
    }
    return NULL;
}

// H8.6.1: the first state that makes the access an error.
static bool is_error(tl_hart *h, const row *at) {
    tl_a64_debug *d = debug_of(h);
    if ((at->errors & ERROR_OFF) && d->is_off)
        return true;
    if ((at->errors & ERROR_DLK) && tl_a64_double_locked(h))
        return true;
    if ((at->errors & ERROR_OSLK) && tl_a64_os_locked(h))
        return true;
    if (!(at->errors & ERROR_EDAD) || tl_a64_debug_access(h))
        return false;
    d->sticky |= TL_A64_EDPRSR_SDAD;
    return true;
}

// Offsets without a register read as 0 and ignore writes.
bool tl_a64_debug_read(tl_hart *h, uint64_t offset, uint64_t now, uint32_t *ret_value) {
    const tl_coresight *component = &debug_of(h)->component;
    use u = {.now = now, .has_effects = !component->is_locked};
    const row *at = row_at(offset, &u.index);
    *ret_value = tl_coresight_has(offset) ? tl_coresight_read(component, offset, tl_a64_authentication(h)) : 0;
    if (!at)
        return true;
    if (is_error(h, at))
        return false;
    *ret_value = at->access == WO ? 0 : at->get(h, &u);
    return true;
}

bool tl_a64_debug_write(tl_hart *h, uint64_t offset, uint64_t now, uint32_t value) {
    tl_coresight *component = &debug_of(h)->component;
    use u = {.now = now, .has_effects = !component->is_locked};
    const row *at = row_at(offset, &u.index);
    if (tl_coresight_has(offset))
        tl_coresight_write(component, offset, value);
    if (!at)
        return true;
    if (is_error(h, at))
        return false;
    if (at->access != RO && !component->is_locked)
        at->set(h, &u, value);
    return true;
}
