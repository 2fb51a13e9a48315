// SPDX-License-Identifier: MIT
// The snooper stands between memory system and bus: see snooper.h. No hart runs between two overdue
// readings, therefore all overdue readings find equal values.
#include "pmu/ccache/snooper.h"

enum { REGISTER_BYTES = 8 };

struct tl_snooper {
    tl_bus bus;
    const tl_bus *below;
    tl_snooper_target target;
    uint64_t period_cycles, next;
    tl_snooper_log log;
};

static bool is_register(const tl_snooper *s, uint64_t paddr, uint32_t first_offset, uint32_t *ret_index) {
    uint64_t offset = paddr - s->target.paddr - first_offset;
    *ret_index = (uint32_t)(offset / REGISTER_BYTES);
    return paddr >= s->target.paddr + first_offset && offset / REGISTER_BYTES < s->target.n_counters;
}

// Records bytes of a register seen on the bus. Returns true if they are news.
static bool learn(uint64_t *known_value, bool is_known, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    uint32_t shift = 8 * (uint32_t)(paddr % REGISTER_BYTES);
    uint64_t mask = UINT64_MAX >> (64 - 8 * size_bytes) << shift, now = (*known_value & ~mask) | (value << shift & mask);
    bool is_new = !is_known || now != *known_value;
    *known_value = now;
    return is_new;
}

static void watch(tl_snooper *s, uint64_t paddr, uint32_t size_bytes, uint64_t value, bool is_write) {
    tl_snooper_log *log = &s->log;
    uint32_t i;
    log->n_beats += 1;
    *s->target.watched_tally += 1;
    if (is_register(s, paddr, s->target.counter_offset, &i)) {
        bool is_new = learn(&log->values[i], log->known >> i & 1, paddr, size_bytes, value);
        log->known |= UINT64_C(1) << i;
        log->n_watched += !is_write;
        log->n_watched_new += !is_write && is_new;
    } else if (is_write && is_register(s, paddr, s->target.select_offset, &i)) {
        (void)learn(&log->selects[i], true, paddr, size_bytes, value);
        log->n_configured += 1;
    }
}

static bool snooped_read(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t *ret_value) {
    tl_snooper *s = ctx;
    if (!s->below->read(s->below->ctx, agent, paddr, size_bytes, ret_value))
        return false;
    watch(s, paddr, size_bytes, *ret_value, false);
    return true;
}

static bool snooped_write(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    tl_snooper *s = ctx;
    if (!s->below->write(s->below->ctx, agent, paddr, size_bytes, value))
        return false;
    watch(s, paddr, size_bytes, value, true);
    return true;
}

static uint64_t master_read(tl_snooper *s, uint32_t offset) {
    uint64_t value = 0;
    *s->target.read_tally += 1;
    (void)tl_pmu_load(s->target.pmu, offset, REGISTER_BYTES, &value);
    return value;
}

static void look(tl_snooper *s) {
    tl_snooper_log *log = &s->log;
    log->n_looks += 1;
    for (uint32_t i = 0; i < s->target.n_counters; i++) {
        log->selects[i] = master_read(s, s->target.select_offset + i * REGISTER_BYTES);
        if (log->selects[i] == 0)
            continue;
        uint64_t value = master_read(s, s->target.counter_offset + i * REGISTER_BYTES);
        bool is_new = !(log->known >> i & 1) || value != log->values[i];
        log->values[i] = value;
        log->known |= UINT64_C(1) << i;
        log->n_read += 1;
        log->n_read_new += is_new;
    }
}

uint64_t tl_snooper_look(tl_snooper *s, uint64_t now) {
    if (now < s->next)
        return s->next;
    uint64_t n_due = (now - s->next) / s->period_cycles + 1, n_before = s->log.n_read, n_beats = *s->target.read_tally;
    look(s);
    s->log.n_looks += n_due - 1;
    s->log.n_read += (n_due - 1) * (s->log.n_read - n_before);
    *s->target.read_tally += (n_due - 1) * (*s->target.read_tally - n_beats);
    s->next += n_due * s->period_cycles;
    return s->next;
}

const tl_bus *tl_snooper_watch(tl_snooper *snooper, const tl_bus *below) {
    snooper->below = below;
    return &snooper->bus;
}

const tl_snooper_log *tl_snooper_log_of(const tl_snooper *snooper) { return &snooper->log; }

tl_status tl_snooper_new(const tl_snooper_target *target, uint64_t period_cycles, tl_arena *arena, tl_snooper **ret_snooper,
                         tl_error *err) {
    if (period_cycles == 0 || target->n_counters > TL_SNOOPED_COUNTERS)
        return tl_fail(err, TL_EINVAL, "a snooper needs a period of at least one cycle and at most %d counters", TL_SNOOPED_COUNTERS);
    tl_snooper *s = tl_arena_alloc(arena, sizeof *s);
    if (!s)
        return tl_fail(err, TL_ENOMEM, "no memory for the snooper");
    *s = (tl_snooper){.target = *target, .period_cycles = period_cycles, .next = period_cycles};
    s->bus = (tl_bus){.ctx = s, .read = snooped_read, .write = snooped_write};
    *ret_snooper = s;
    return TL_OK;
}
