// SPDX-License-Identifier: MIT
// Generic interrupt controller, architecture version 2 (IHI 0048B), as a GIC-400 has it: Security
// Extensions, 32 levels of priority, 256 shared interrupts, up to 8 harts. The distributor stands
// at the base. The interface of the accessing hart stands 64 KiB behind. Virtualization is absent.
//
// An interrupt is pending while its latch is set, or while its line is high if it is sensitive to
// the level. Software generated interrupts (SGI) have a latch for each hart that sent one. Priority
// drop and deactivation are one with EOIMODE clear. Legacy bypass signals do not exist.
#include "dev/devices.h"
#include "model/config.h"

enum {
    N_SGIS = 16,
    N_PRIVATE = 32,
    N_INTERRUPTS = N_PRIVATE + TL_GIC_SPIS,
    N_WORDS = N_INTERRUPTS / 32,
    MAX_CPUS = 8,
    INTERFACE = 0x10000,
    WINDOW_BYTES = 0x20000,
    SPURIOUS = 1023,
    OTHER_GROUP = 1022,
    LINE_IRQ = 0,
    LINE_FIQ = 1,
    IDLE_PRIORITY = 0xff,
    PRIORITY_BITS = 0xf8,
    MIN_BINARY_POINT = 2, // ABPR: one more
};
// Distributor, table 4-1.
enum {
    D_CTLR = 0x000,
    D_TYPER = 0x004,
    D_IIDR = 0x008,
    D_IGROUPR = 0x080,
    D_ISENABLER = 0x100,
    D_ICENABLER = 0x180,
    D_ISPENDR = 0x200,
    D_ICPENDR = 0x280,
    D_ISACTIVER = 0x300,
    D_ICACTIVER = 0x380,
    D_IPRIORITYR = 0x400,
    D_ITARGETSR = 0x800,
    D_ICFGR = 0xc00,
    D_NSACR = 0xe00,
    D_SGIR = 0xf00,
    D_CPENDSGIR = 0xf10,
    D_SPENDSGIR = 0xf20,
    D_ID = 0xfd0,
};
// Interface of a hart, table 4-2.
enum {
    C_CTLR = 0x00,
    C_PMR = 0x04,
    C_BPR = 0x08,
    C_IAR = 0x0c,
    C_EOIR = 0x10,
    C_RPR = 0x14,
    C_HPPIR = 0x18,
    C_ABPR = 0x1c,
    C_AIAR = 0x20,
    C_AEOIR = 0x24,
    C_AHPPIR = 0x28,
    C_APR0 = 0xd0,
    C_NSAPR0 = 0xe0,
    C_IIDR = 0xfc,
    C_DIR = 0x1000,
};
enum {
    ENABLE_GROUP0 = 1,
    ENABLE_GROUP1 = 2,
    ACK_CTL = 4,
    FIQ_EN = 8,
    CBPR = 0x10,
    EOI_MODE_S = 0x200,
    EOI_MODE_NS = 0x400,
    CTLR_BITS = 0x61f
};

typedef struct cpu { // of a hart; its private interrupts are words 0 of the banked registers
    uint32_t ctlr;
    uint8_t pmr, bpr, abpr;
    uint32_t active_levels[2];   // of each group: bit p / 8 for an active priority p
    uint8_t sgi_sources[N_SGIS]; // harts whose SGI is pending
    uint32_t group, enabled, latched, active, level;
    uint8_t priority[N_PRIVATE];
    bool line[2];
} cpu;

typedef struct gic {
    tl_device device;
    uint32_t n_cpus, ctlr;
    cpu cpus[MAX_CPUS];
    // Shared interrupts; word 0 is unused.
    uint32_t group[N_WORDS], enabled[N_WORDS], latched[N_WORDS], active[N_WORDS], level[N_WORDS], edge[N_WORDS];
    uint8_t priority[N_INTERRUPTS], targets[N_INTERRUPTS];
} gic;

typedef struct view { // who accesses
    gic *g;
    cpu *c;
    uint32_t number;
    bool is_secure;
} view;

// -- State of one interrupt.

static uint32_t *word(uint32_t *private, uint32_t *shared, uint32_t w) { return w == 0 ? private : &shared[w]; }
#define WORD(v, name, w) word(&(v)->c->name, (v)->g->name, w)

static uint32_t sgis_pending(const cpu *c) {
    uint32_t pending = 0;
    for (uint32_t i = 0; i < N_SGIS; i++)
        pending |= (uint32_t)(c->sgi_sources[i] != 0) << i;
    return pending;
}
// Private interrupts beyond the SGIs are sensitive to the level.
static uint32_t pending_in(const gic *g, const cpu *c, uint32_t w) {
    if (w == 0)
        return c->latched | c->level | sgis_pending(c);
    return g->latched[w] | (g->level[w] & ~g->edge[w]);
}
static uint8_t priority_of(const gic *g, const cpu *c, uint32_t id) { return id < N_PRIVATE ? c->priority[id] : g->priority[id]; }
static bool is_group1(const gic *g, const cpu *c, uint32_t id) { return (id < N_PRIVATE ? c->group : g->group[id / 32]) >> id % 32 & 1; }

static uint32_t targeted_in(const gic *g, uint32_t number, uint32_t w) {
    uint32_t mask = 0;
    if (w == 0 || g->n_cpus == 1)
        return ~0u;
    for (uint32_t i = 0; i < 32; i++)
        mask |= (uint32_t)(g->targets[w * 32 + i] >> number & 1) << i;
    return mask;
}

// The pending, enabled and inactive interrupt of highest priority, SPURIOUS: none. Ties go to the
// lower number. Interrupts of a disabled group are not forwarded.
static uint32_t best_of(const gic *g, uint32_t number) {
    const cpu *c = &g->cpus[number];
    uint32_t best = SPURIOUS, best_priority = 0x100;
    for (uint32_t w = 0; w < N_WORDS; w++) {
        const uint32_t group = w == 0 ? c->group : g->group[w];
        const uint32_t forwarded = (g->ctlr & ENABLE_GROUP0 ? ~group : 0) | (g->ctlr & ENABLE_GROUP1 ? group : 0);
        uint32_t bits = pending_in(g, c, w) & (w == 0 ? c->enabled & ~c->active : g->enabled[w] & ~g->active[w]) & forwarded;
        if (bits != 0)
            bits &= targeted_in(g, number, w);
        for (; bits != 0; bits &= bits - 1) {
            const uint32_t id = w * 32 + (uint32_t)__builtin_ctz(bits), priority = priority_of(g, c, id);
            if (priority < best_priority) {
                best = id;
                best_priority = priority;
            }
        }
    }
    return best;
}

// -- Priorities.

static uint32_t running_priority(const cpu *c) {
    const uint32_t levels = c->active_levels[0] | c->active_levels[1];
    return levels == 0 ? IDLE_PRIORITY : (uint32_t)__builtin_ctz(levels) * 8;
}
// Bits of a priority that count for preemption, sec. 3.3.3.
static uint32_t group_mask(const cpu *c, bool is_one) {
    const bool is_own = is_one && !(c->ctlr & CBPR);
    return is_own ? 0xffu << c->abpr & 0xff : 0xffu << (c->bpr + 1) & 0xff;
}
static bool is_signaled(const gic *g, const cpu *c, uint32_t id) {
    if (id == SPURIOUS)
        return false;
    const bool is_one = is_group1(g, c, id);
    const uint32_t priority = priority_of(g, c, id);
    return (c->ctlr & (is_one ? ENABLE_GROUP1 : ENABLE_GROUP0)) && priority < c->pmr &&
           (priority & group_mask(c, is_one)) < running_priority(c);
}

static void update(gic *g) {
    for (uint32_t number = 0; number < g->n_cpus; number++) {
        cpu *c = &g->cpus[number];
        const uint32_t id = best_of(g, number);
        const bool is_up = is_signaled(g, c, id), is_fiq = is_up && !is_group1(g, c, id) && (c->ctlr & FIQ_EN);
        const bool lines[2] = {[LINE_IRQ] = is_up && !is_fiq, [LINE_FIQ] = is_fiq};
        for (uint32_t line = 0; line < 2; line++) {
            if (lines[line] == c->line[line])
                continue;
            c->line[line] = lines[line];
            g->device.host->set_hart_irq(g->device.host->ctx, number, line, lines[line]);
        }
    }
}

// -- Acknowledge and end, sec. 3.2.

// Returns the value of IAR (is_alias: AIAR): the interrupt, or why there is none.
static uint32_t acknowledgeable(const view *v, bool is_alias) {
    const uint32_t id = best_of(v->g, v->number);
    if (!is_signaled(v->g, v->c, id))
        return SPURIOUS;
    const bool is_one = is_group1(v->g, v->c, id);
    if (is_alias || !v->is_secure)
        return is_one ? id : SPURIOUS;
    return is_one && !(v->c->ctlr & ACK_CTL) ? OTHER_GROUP : id;
}

static uint32_t acknowledge(const view *v, bool is_alias) {
    const uint32_t id = acknowledgeable(v, is_alias);
    uint32_t source = 0;
    if (id >= OTHER_GROUP)
        return id;
    if (id < N_SGIS) {
        source = (uint32_t)__builtin_ctz(v->c->sgi_sources[id]);
        v->c->sgi_sources[id] &= (uint8_t) ~(1u << source);
    }
    *WORD(v, latched, id / 32) &= ~(1u << id % 32);
    *WORD(v, active, id / 32) |= 1u << id % 32;
    const bool is_one = is_group1(v->g, v->c, id);
    v->c->active_levels[is_one] |= 1u << (priority_of(v->g, v->c, id) & group_mask(v->c, is_one)) / 8;
    update(v->g);
    return id | source << 10;
}

// Whether this interrupt belongs to those that the access may name.
static bool is_own(const view *v, uint32_t id, bool is_alias) {
    return id < N_INTERRUPTS && (is_alias || !v->is_secure ? is_group1(v->g, v->c, id) : true);
}

static void end(const view *v, uint32_t value, bool is_alias) {
    const uint32_t id = value & 0x3ff;
    if (!is_own(v, id, is_alias))
        return;
    const bool is_one = is_group1(v->g, v->c, id);
    if (v->is_secure && is_one && !is_alias && !(v->c->ctlr & ACK_CTL))
        return;
    v->c->active_levels[is_one] &= v->c->active_levels[is_one] - 1;
    if (!(v->c->ctlr & (v->is_secure ? EOI_MODE_S : EOI_MODE_NS)))
        *WORD(v, active, id / 32) &= ~(1u << id % 32);
    update(v->g);
}

static void deactivate(const view *v, uint32_t value) {
    const uint32_t id = value & 0x3ff;
    if (is_own(v, id, false) && (v->c->ctlr & (v->is_secure ? EOI_MODE_S : EOI_MODE_NS)))
        *WORD(v, active, id / 32) &= ~(1u << id % 32);
    update(v->g);
}

// -- The interface of a hart. Non-secure software sees the lower half of the priorities, shifted.

static uint32_t shown_priority(const view *v, uint32_t priority) {
    if (v->is_secure)
        return priority;
    return priority < 0x80 ? 0 : priority << 1 & 0xff;
}

static uint32_t read_interface(const view *v, uint64_t offset) {
    const cpu *c = v->c;
    switch (offset) {
    case C_CTLR: return v->is_secure ? c->ctlr : (c->ctlr & ENABLE_GROUP1) >> 1 | (c->ctlr & EOI_MODE_NS) >> 1;
    case C_PMR: return shown_priority(v, c->pmr);
    case C_BPR:
        if (v->is_secure)
            return c->bpr;
        return !(c->ctlr & CBPR) ? c->abpr : c->bpr < 7 ? c->bpr + 1u : 7;
    case C_IAR: return acknowledge(v, false);
    case C_RPR: return running_priority(c) == IDLE_PRIORITY ? IDLE_PRIORITY : shown_priority(v, running_priority(c));
    case C_HPPIR: return acknowledgeable(v, false);
    case C_ABPR: return v->is_secure ? c->abpr : 0;
    case C_AIAR: return v->is_secure ? acknowledge(v, true) : 0;
    case C_AHPPIR: return v->is_secure ? acknowledgeable(v, true) : 0;
    case C_APR0: return v->is_secure ? c->active_levels[0] : c->active_levels[1] >> 16;
    case C_NSAPR0: return v->is_secure ? c->active_levels[1] : 0;
    case C_IIDR: return 0x0202143b;
    default: return 0;
    }
}

static uint8_t binary_point(uint32_t value, uint32_t least) { return (uint8_t)((value & 7) < least ? least : value & 7); }

static void write_interface(const view *v, uint64_t offset, uint32_t value) {
    cpu *c = v->c;
    switch (offset) {
    case C_CTLR:
        if (v->is_secure)
            c->ctlr = value & CTLR_BITS;
        else
            c->ctlr = (c->ctlr & ~(uint32_t)(ENABLE_GROUP1 | EOI_MODE_NS)) | (value & 1) << 1 | (value & EOI_MODE_S) << 1;
        break;
    case C_PMR:
        if (v->is_secure)
            c->pmr = (uint8_t)(value & PRIORITY_BITS);
        else if (c->pmr >= 0x80)
            c->pmr = (uint8_t)((value >> 1 & PRIORITY_BITS) | 0x80);
        break;
    case C_BPR:
        if (v->is_secure)
            c->bpr = binary_point(value, MIN_BINARY_POINT);
        else if (!(c->ctlr & CBPR))
            c->abpr = binary_point(value, MIN_BINARY_POINT + 1);
        break;
    case C_EOIR: end(v, value, false); break;
    case C_ABPR:
        if (v->is_secure)
            c->abpr = binary_point(value, MIN_BINARY_POINT + 1);
        break;
    case C_AEOIR:
        if (v->is_secure)
            end(v, value, true);
        break;
    case C_APR0:
        if (v->is_secure)
            c->active_levels[0] = value;
        else
            c->active_levels[1] = (c->active_levels[1] & 0xffff) | value << 16;
        break;
    case C_NSAPR0:
        if (v->is_secure)
            c->active_levels[1] = value;
        break;
    case C_DIR: deactivate(v, value); break;
    default: break;
    }
    update(v->g);
}

// -- The distributor. Interrupts of group 0 read as 0 to Non-secure software, and ignore it.

static uint32_t visible_in(const view *v, uint32_t w) { return v->is_secure ? ~0u : *WORD(v, group, w); }
static bool is_visible(const view *v, uint32_t id) { return visible_in(v, id / 32) >> id % 32 & 1; }

static uint32_t read_word(const view *v, uint64_t bank, uint32_t w) {
    if (w >= N_WORDS)
        return 0;
    const uint32_t visible = visible_in(v, w);
    switch (bank) {
    case D_IGROUPR: return v->is_secure ? *WORD(v, group, w) : 0;
    case D_ISENABLER:
    case D_ICENABLER: return (*WORD(v, enabled, w) | (w == 0 ? 0xffff : 0)) & visible;
    case D_ISPENDR:
    case D_ICPENDR: return pending_in(v->g, v->c, w) & visible;
    default: return *WORD(v, active, w) & visible;
    }
}

static void write_word(const view *v, uint64_t bank, uint32_t w, uint32_t value) {
    if (w >= N_WORDS)
        return;
    // SGIs have registers of their own.
    const uint32_t bits = value & visible_in(v, w), latchable = w == 0 ? bits & ~0xffffu : bits;
    switch (bank) {
    case D_IGROUPR:
        if (v->is_secure)
            *WORD(v, group, w) = value;
        break;
    case D_ISENABLER: *WORD(v, enabled, w) |= bits; break;
    case D_ICENABLER: *WORD(v, enabled, w) &= ~bits; break;
    case D_ISPENDR: *WORD(v, latched, w) |= latchable; break;
    case D_ICPENDR: *WORD(v, latched, w) &= ~latchable; break;
    case D_ISACTIVER: *WORD(v, active, w) |= bits; break;
    default: *WORD(v, active, w) &= ~bits; break;
    }
}

// Registers with a byte for each interrupt.
static uint8_t read_byte(const view *v, uint64_t offset) {
    const uint32_t id = (uint32_t)offset & 0x3ff;
    if (offset >= D_SPENDSGIR || offset >= D_CPENDSGIR)
        return is_visible(v, id & 15) ? v->c->sgi_sources[id & 15] : 0;
    if (id >= N_INTERRUPTS || !is_visible(v, id))
        return 0;
    if (offset < D_ITARGETSR)
        return (uint8_t)shown_priority(v, priority_of(v->g, v->c, id));
    if (v->g->n_cpus == 1)
        return 0;
    return id < N_PRIVATE ? (uint8_t)(1u << v->number) : v->g->targets[id];
}

static void write_byte(const view *v, uint64_t offset, uint8_t value) {
    const uint32_t id = (uint32_t)offset & 0x3ff;
    if (offset >= D_CPENDSGIR) {
        uint8_t *sources = &v->c->sgi_sources[id & 15];
        const uint8_t all = (uint8_t)((1u << v->g->n_cpus) - 1);
        if (is_visible(v, id & 15))
            *sources = offset >= D_SPENDSGIR ? *sources | (value & all) : *sources & (uint8_t)~value;
    } else if (id >= N_INTERRUPTS || !is_visible(v, id)) {
        return;
    } else if (offset < D_ITARGETSR) {
        const uint8_t priority = (uint8_t)((v->is_secure ? value : value >> 1 | 0x80) & PRIORITY_BITS);
        *(id < N_PRIVATE ? &v->c->priority[id] : &v->g->priority[id]) = priority;
    } else if (id >= N_PRIVATE) {
        v->g->targets[id] = value & (uint8_t)((1u << v->g->n_cpus) - 1);
    }
}

// Each of 16 interrupts has two bits. The upper one means edge.
static uint32_t read_config(const view *v, uint32_t index) {
    if (index == 0)
        return 0xaaaaaaaa; // SGIs
    uint32_t value = 0;
    for (uint32_t i = 0; index >= 2 && index < N_INTERRUPTS / 16 && i < 16; i++) {
        const uint32_t id = index * 16 + i;
        value |= (is_visible(v, id) && (v->g->edge[id / 32] >> id % 32 & 1) ? 2u : 0) << 2 * i;
    }
    return value;
}
static void write_config(const view *v, uint32_t index, uint32_t value) {
    for (uint32_t i = 0; index >= 2 && index < N_INTERRUPTS / 16 && i < 16; i++) {
        const uint32_t id = index * 16 + i, bit = 1u << id % 32;
        if (is_visible(v, id))
            v->g->edge[id / 32] = value >> 2 * i & 2 ? v->g->edge[id / 32] | bit : v->g->edge[id / 32] & ~bit;
    }
}

// Sec. 4.3.15. A Secure SGI reaches harts where the interrupt has the group that NSATT names; a
// Non-secure one reaches only those where it is in group 1.
static void send_sgi(const view *v, uint32_t value) {
    enum { LISTED, ALL_BUT_SELF, SELF };
    const uint32_t id = value & 15, filter = value >> 24 & 3, all = (1u << v->g->n_cpus) - 1, self = 1u << v->number;
    const uint32_t targets = filter == LISTED ? value >> 16 & 0xff & all : filter == ALL_BUT_SELF ? all & ~self : filter == SELF ? self : 0;
    for (uint32_t i = 0; i < v->g->n_cpus; i++) {
        cpu *c = &v->g->cpus[i];
        const bool is_one = c->group >> id & 1;
        if ((targets >> i & 1) && (v->is_secure ? is_one == (value >> 15 & 1) : is_one))
            c->sgi_sources[id] |= (uint8_t)self;
    }
}

static uint32_t read_distributor(const view *v, uint64_t offset) {
    static const uint8_t ids[] = {0x04, 0, 0, 0, 0x90, 0xb4, 0x2b, 0, 0x0d, 0xf0, 0x05, 0xb1};
    const gic *g = v->g;
    if (offset == D_CTLR)
        return v->is_secure ? g->ctlr : g->ctlr >> 1;
    if (offset == D_TYPER)
        return (N_WORDS - 1) | (g->n_cpus - 1) << 5 | 1u << 10;
    if (offset == D_IIDR)
        return 0x0200143b;
    if (offset >= D_IGROUPR && offset < D_IPRIORITYR)
        return read_word(v, offset & ~UINT64_C(0x7f), (uint32_t)(offset & 0x7f) / 4);
    if (offset >= D_ICFGR && offset < D_NSACR)
        return read_config(v, (uint32_t)(offset - D_ICFGR) / 4);
    if (offset >= D_ID && offset < 0x1000)
        return ids[(offset - D_ID) / 4];
    return 0;
}

static void write_distributor(const view *v, uint64_t offset, uint32_t value) {
    gic *g = v->g;
    if (offset == D_CTLR)
        g->ctlr = v->is_secure ? value & 3 : (g->ctlr & ~2u) | (value & 1) << 1;
    else if (offset >= D_IGROUPR && offset < D_IPRIORITYR)
        write_word(v, offset & ~UINT64_C(0x7f), (uint32_t)(offset & 0x7f) / 4, value);
    else if (offset >= D_ICFGR && offset < D_NSACR)
        write_config(v, (uint32_t)(offset - D_ICFGR) / 4, value);
    else if (offset == D_SGIR)
        send_sgi(v, value);
}

static bool is_of_bytes(uint64_t offset) {
    return (offset >= D_IPRIORITYR && offset < D_ICFGR) || (offset >= D_CPENDSGIR && offset < D_SPENDSGIR + N_SGIS);
}

static view view_of(tl_device *device) {
    gic *g = (gic *)device;
    const tl_requester who = device->host->requester ? device->host->requester(device->host->ctx) : (tl_requester){0, true};
    return (view){.g = g, .c = &g->cpus[who.hart < g->n_cpus ? who.hart : 0], .number = who.hart, .is_secure = who.is_secure};
}

static bool gic_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    const view v = view_of(device);
    if (size_bytes == 8 || (size_bytes < 4 && !is_of_bytes(offset)))
        return false;
    *ret_value = 0;
    if (offset >= INTERFACE)
        *ret_value = read_interface(&v, offset - INTERFACE);
    else if (!is_of_bytes(offset))
        *ret_value = read_distributor(&v, offset);
    else
        for (uint32_t i = 0; i < size_bytes; i++)
            *ret_value |= (uint64_t)read_byte(&v, offset + i) << 8 * i;
    return true;
}

static bool gic_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    const view v = view_of(device);
    if (size_bytes == 8 || (size_bytes < 4 && !is_of_bytes(offset)))
        return false;
    if (offset >= INTERFACE)
        write_interface(&v, offset - INTERFACE, (uint32_t)value);
    else if (!is_of_bytes(offset))
        write_distributor(&v, offset, (uint32_t)value);
    else
        for (uint32_t i = 0; i < size_bytes; i++)
            write_byte(&v, offset + i, (uint8_t)(value >> 8 * i));
    update(v.g);
    return true;
}

static const tl_device_type gic_type = {
    .name = "gic", .title = "generic interrupt controller, version 2", .read = gic_read, .write = gic_write};

static void set_level(uint32_t *levels, uint32_t *latched, uint32_t edge, uint32_t bit, bool level) {
    if (level && !(*levels & bit) && (edge & bit))
        *latched |= bit;
    *levels = level ? *levels | bit : *levels & ~bit;
}

void tl_gic_set_shared(tl_device *device, uint32_t intid, bool level) {
    gic *g = (gic *)device;
    if (intid < N_PRIVATE || intid >= N_INTERRUPTS)
        return;
    const uint32_t w = intid / 32;
    set_level(&g->level[w], &g->latched[w], g->edge[w], 1u << intid % 32, level);
    update(g);
}

void tl_gic_set_private(tl_device *device, uint32_t hart, uint32_t intid, bool level) {
    gic *g = (gic *)device;
    if (hart >= g->n_cpus || intid < N_SGIS || intid >= N_PRIVATE)
        return;
    set_level(&g->cpus[hart].level, &g->cpus[hart].latched, 0, 1u << intid, level);
    update(g);
}

tl_status tl_gic_new(const tl_device_place *place, uint32_t n_harts, tl_device **ret_device, tl_error *err) {
    if (n_harts > MAX_CPUS)
        return tl_fail(err, TL_EINVAL, "a GICv2 serves at most %d harts, and the machine has %u: lower harts", MAX_CPUS, n_harts);
    gic *g = tl_device_new(place, &gic_type, WINDOW_BYTES, sizeof *g, err);
    if (!g)
        return TL_ENOMEM;
    g->n_cpus = n_harts;
    for (uint32_t i = 0; i < n_harts; i++) {
        g->cpus[i].bpr = MIN_BINARY_POINT;
        g->cpus[i].abpr = MIN_BINARY_POINT + 1;
    }
    *ret_device = &g->device;
    return TL_OK;
}
