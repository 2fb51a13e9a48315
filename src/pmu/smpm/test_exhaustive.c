// SPDX-License-Identifier: MIT
// Small model, explored (specification 17.3 with K13): 2 ULCs of 2 counters of 3 bits, T = 7, one
// CCU, 2 VMs of 2 contexts, FIFOs of depth 2. A switch begins in every cycle of a stretch and leads
// to the other context or to the other VM; a second one leads back. In every cycle one of these may
// deviate: units are silent, software triggers, the network stalls, the manager stalls, memory
// refuses. All schedules with a bounded number of deviations are visited; equal states are visited
// once. Conservation is checked in each state, attribution at the end of each switch.
//
// M-ACK needs a deeper FIFO: in one of depth 2 only empty rows of the flush wait before its EMPTY.
#include <stdio.h>

#include "pmu/smpm/test_rig.h"

enum { N_TENANTS = 4, N_VALUES = 2, HORIZON = 220, BACK = 105, STALL = 9, FIRST = 17, N_SEEN = 1 << 21 };
typedef enum deviation { NONE, SILENT, TRIGGER, STALL_NETWORK, STALL_MANAGER, REFUSE, N_DEVIATIONS } deviation;

typedef struct tally { // truth
    bool is_enabled[2], has_request[2];
    uint8_t runs, comes, n_switches;
    uint64_t stall_until;
    uint32_t window_cycles[2];
    uint64_t busy_until[2], sums[N_TENANTS][N_VALUES];
} tally;

typedef struct explorer {
    rig r;
    tally now;
    deviation present;
    uint64_t switch_at, horizon, n_states, n_fails;
    const char *first_fail;
    uint64_t *seen, n_seen;
    size_t n_bytes;
    void *state;
    uint8_t *stack; // a state and a tally for each cycle
} explorer;

static uint32_t vm_of(uint32_t tenant) { return 1 + tenant / 2; }
static uint32_t ctx_of(uint32_t tenant) { return 1 + tenant % 2; }

static void inputs(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    explorer *e = r->user;
    (void)cycle;
    ret_inputs->bits = e->present != SILENT;
    ret_inputs->multi[0] = e->present != SILENT && ulc == 0;
}
static uint32_t fault_of(void *ctx, tl_smpm_fault kind, uint32_t index, uint64_t cycle) {
    explorer *e = ctx;
    (void)index;
    return (kind == TL_SMPM_STALL_CHANNEL && cycle < e->now.stall_until) ||
           (kind == TL_SMPM_STALL_MANAGER && e->present == STALL_MANAGER) || (kind == TL_SMPM_REFUSE_ADD && e->present == REFUSE);
}

static void breach(explorer *e, const char *what) {
    if (e->n_fails++ == 0)
        e->first_fail = what;
}

static bool line_of(const explorer *e, uint64_t cycle) {
    const tl_smpm *m = e->r.model;
    tl_smpm_switched s;
    tl_smpm_switched_get(m, 0, &s);
    if (s.at[2] == 0 || cycle <= s.at[2] || (s.at[12] && cycle > s.at[12]))
        return true;
    return !m->is_safe && m->core->ccus[0].line && s.at[9] == 0;
}

static void advance(explorer *e, uint64_t cycle) { // what counts in this cycle
    tally *t = &e->now;
    for (uint32_t u = 0; u < 2; u++) {
        bool line = line_of(e, cycle);
        if (line && !t->is_enabled[u]) {
            t->is_enabled[u] = true;
            t->has_request[u] = false;
            t->window_cycles[u] = u * (e->r.config.ulc_period / e->r.config.ccu_ulcs);
            t->busy_until[u] = 0;
        } else if (!line && t->is_enabled[u]) {
            t->has_request[u] = true;
        }
        if (t->is_enabled[u] && t->has_request[u] && cycle >= t->busy_until[u])
            t->is_enabled[u] = false;
        if (!t->is_enabled[u])
            continue;
        if (t->window_cycles[u] >= e->r.config.ulc_period && e->r.model->core->ccus[0].transfers && cycle >= t->busy_until[u]) {
            t->window_cycles[u] = 0;
            t->busy_until[u] = cycle + tl_smpm_frame_cycles(&e->r.config, false);
        }
        t->window_cycles[u] += e->r.model->core->ccus[0].transfers;
        t->sums[t->runs][0] += e->present != SILENT;
        t->sums[t->runs][1] += e->present != SILENT && u == 0;
    }
}

static uint64_t units(const tl_smpm *m, uint32_t vm, uint32_t ctx, uint32_t k) {
    return k == 0 ? word_of(m, vm, ctx, TL_SMPM_CTR, 0)
                  : m->scale * word_of(m, vm, ctx, TL_SMPM_CTR, 1) + (m->exports ? word_of(m, vm, ctx, TL_SMPM_CTR, 2) : 0);
}

static void check_conserved(explorer *e) {
    const tl_smpm *m = e->r.model;
    uint64_t sums[N_VALUES] = {0};
    for (uint32_t i = 0; i < N_TENANTS; i++)
        for (uint32_t k = 0; k < N_VALUES; k++)
            sums[k] += e->now.sums[i][k];
    if (vm0_word(m, TL_SMPM_CTR, 0) + tl_smpm_in_flight(m, 0, 0) != sums[0])
        breach(e, "I8");
    uint64_t pulses = vm0_word(m, TL_SMPM_CTR, 1) + tl_smpm_in_flight(m, 0, 1);
    if (m->exports && m->scale * pulses + vm0_word(m, TL_SMPM_CTR, 2) + tl_smpm_in_flight(m, 0, TL_SMPM_MAX_CTRS) != sums[1])
        breach(e, "I8, I4");
}

static void check_attributed(explorer *e) {
    const tl_smpm *m = e->r.model;
    for (uint32_t k = 0; k < N_VALUES; k++) {
        uint64_t lost = k == 0 || m->exports ? 0 : 2 * (m->scale - 1u);
        for (uint32_t i = 0; i < N_TENANTS; i++) {
            uint64_t value = units(m, vm_of(i), ctx_of(i), k), expected = e->now.sums[i][k];
            if (value > expected || value + lost < expected)
                breach(e, k == 0 ? "I12 context" : "I4");
            value = units(m, vm_of(i), TL_SMPM_NO_CTX, k);
            expected += e->now.sums[i ^ 1][k];
            if (value > expected || value + 2 * lost < expected)
                breach(e, k == 0 ? "I12 VM" : "I4");
        }
    }
}

// One cycle with a deviation.
static void step(explorer *e, deviation present) {
    tl_smpm *m = e->r.model;
    uint64_t now = tl_smpm_now(m);
    tl_smpm_switched s;
    e->present = present;
    if (present == TRIGGER)
        tl_smpm_trigger(m, 0);
    if (present == STALL_NETWORK)
        e->now.stall_until = now + STALL;
    uint32_t target = now == e->switch_at ? e->now.comes : 0;
    if (now == e->switch_at || now == e->switch_at + BACK)
        MUST(tl_smpm_switch_to(m, 0, vm_of(target), ctx_of(target), &err));
    tl_smpm_switched_get(m, 0, &s);
    if (s.at[12] && s.at[12] + 1 == now) {
        check_attributed(e);
        e->now.n_switches++;
        e->now.runs = e->now.comes;
        e->now.comes = 0;
    }
    advance(e, now);
    tl_smpm_run(m, now + 1);
    check_conserved(e);
    e->n_states++;
}

static bool is_new(explorer *e, uint32_t n_left) { // adds the state to those seen
    uint64_t hash = n_left, word;
    // A stall that stalled nothing leaves only statistics and its own end.
    e->r.model->core->counters = (tl_smpm_counters){.foreign = e->r.model->core->counters.foreign};
    if (e->now.stall_until <= tl_smpm_now(e->r.model))
        e->now.stall_until = 0;
    for (size_t at = 0; at < e->n_bytes; at += sizeof word) {
        memcpy(&word, (const uint8_t *)e->state + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
        hash ^= hash >> 29;
    }
    for (size_t at = 0; at + sizeof word <= sizeof e->now; at += sizeof word) {
        memcpy(&word, (const uint8_t *)&e->now + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
        hash ^= hash >> 29;
    }
    hash = mix(hash) | 1;
    for (size_t slot = hash >> 40;; slot++) {
        uint64_t *its = &e->seen[slot % N_SEEN];
        if (*its == hash)
            return false;
        if (*its == 0) {
            // A full table only means that states are visited again.
            if (e->n_seen < N_SEEN / 4 * 3) {
                *its = hash;
                e->n_seen++;
            }
            return true;
        }
    }
}

// Every schedule from here with at most n_left deviations. A failure ends the search.
static void explore(explorer *e, uint32_t n_left) {
    uint64_t now = tl_smpm_now(e->r.model);
    uint8_t *saved = e->stack + now * (e->n_bytes + sizeof e->now);
    if (now == e->switch_at + e->horizon) {
        tl_smpm_counters counters;
        tl_smpm_counters_get(e->r.model, &counters);
        if (e->now.n_switches != 2)
            breach(e, "switch ends");
        if (counters.foreign)
            breach(e, "I7");
        return;
    }
    memcpy(saved, e->state, e->n_bytes);
    memcpy(saved + e->n_bytes, &e->now, sizeof e->now);
    for (deviation d = NONE; d < (n_left ? N_DEVIATIONS : SILENT) && e->n_fails == 0; d++) {
        step(e, d);
        if (is_new(e, d == NONE ? n_left : n_left - 1))
            explore(e, d == NONE ? n_left : n_left - 1);
        memcpy(e->state, saved, e->n_bytes);
        memcpy(&e->now, saved + e->n_bytes, sizeof e->now);
    }
}

static void open_small(explorer *e, tl_smpm_profile profile, uint32_t mutations, uint32_t depth) {
    rig *r = &e->r;
    r->user = e;
    r->inputs = inputs;
    // LITERAL counts on until CS4 (F-22).
    r->config = rig_config(profile, 2, profile == TL_SMPM_SAFE ? 3 : 5, 7, 3);
    r->config.mb_inputs = 1;
    r->config.mb_max = 2;
    r->config.ccu_ulcs = 2;
    r->config.tb_period = 53;
    r->config.rcb_depth = depth;
    r->config.noc_cycles = 2;
    r->config.mem_cycles = 2;
    r->config.manager_cycles = 1;
    r->config.save_cycles = r->config.load_cycles = 1;
    rig_layout(r, 1, 2);
    r->plan.is_reference = true;
    r->plan.test = (tl_smpm_test){.ctx = e, .fault = fault_of, .mutations = mutations};
    rig_open(r);
    for (uint32_t i = 0; i < N_TENANTS; i++) {
        if (i % 2 == 0)
            MUST(tl_smpm_vm_new(r->model, vm_of(i), &err));
        MUST(tl_smpm_ctx_new(r->model, vm_of(i), ctx_of(i), &err));
    }
    e->state = tl_smpm_state(r->model, &e->n_bytes);
    e->stack = calloc(2 * FIRST + e->horizon, e->n_bytes + sizeof e->now);
    MUST(tl_smpm_start(r->model, 0, vm_of(0), ctx_of(0), &err));
}

// Returns the first failure, NULL: none. Adds the number of states.
static const char *search(tl_smpm_profile profile, uint32_t mutation, uint32_t n_deviations, uint32_t n_starts, uint64_t *ret_n_states) {
    explorer *e = calloc(1, sizeof *e);
    e->seen = calloc(N_SEEN, sizeof *e->seen);
    e->horizon = HORIZON + 60 * (n_deviations - 1); // a stall delays both switches
    open_small(e, profile, mutation ? 1u << mutation : 0, mutation == TL_SMPM_M_ACK ? 12 : 2);
    uint8_t *origin = malloc(e->n_bytes);
    memcpy(origin, e->state, e->n_bytes);
    for (e->switch_at = FIRST; e->switch_at < FIRST + n_starts && e->n_fails == 0; e->switch_at++)
        // It changes to the other context, then to a context of the other VM.
        for (uint8_t comes = 1; comes < N_TENANTS && e->n_fails == 0; comes += 2) {
            memcpy(e->state, origin, e->n_bytes);
            memset(&e->now, 0, sizeof e->now);
            memset(e->seen, 0, N_SEEN * sizeof *e->seen);
            e->n_seen = 0;
            e->now.comes = comes;
            explore(e, n_deviations);
        }
    *ret_n_states += e->n_states;
    const char *found = e->n_fails ? e->first_fail : NULL;
    rig_close(&e->r);
    free(origin);
    free(e->stack);
    free(e->seen);
    free(e);
    return found;
}

static uint32_t n_deviations(void) {
    const char *asked = getenv("TL_SMPM_DEVIATIONS"); // the slow suite asks for more
    return asked ? (uint32_t)strtoul(asked, NULL, 10) : 1;
}

static void test_the_protocol_holds_in_every_schedule(void **state) {
    (void)state;
    for (tl_smpm_profile profile = TL_SMPM_SAFE; profile <= TL_SMPM_LITERAL; profile++) {
        uint64_t n_states = 0;
        const char *found = search(profile, 0, n_deviations(), n_deviations() > 1 ? 1 : 3, &n_states);
        print_message("%s: %llu states, %u deviations at most\n", profile == TL_SMPM_SAFE ? "SAFE" : "LITERAL",
                      (unsigned long long)n_states, n_deviations());
        if (found)
            fail_msg("%s fails", found);
    }
}

static const struct {
    const char *name;
    uint32_t mutation;
    bool is_redundant[3]; // by profile, as test_mutations.c argues
} rows[] = {
    {"CS2", 2, {[TL_SMPM_LITERAL] = true}},
    {"CS3", 3, {[TL_SMPM_SAFE] = true, [TL_SMPM_LITERAL] = true}},
    {"CS4", 4, {0}},
    {"CS5", 5, {0}},
    {"CS6", 6, {0}},
    {"CS7", 7, {0}},
    {"CS8", 8, {[TL_SMPM_SAFE] = true, [TL_SMPM_LITERAL] = true}},
    {"CS9", 9, {[TL_SMPM_SAFE] = true, [TL_SMPM_LITERAL] = true}},
    {"CS10", 10, {0}},
    {"CS12", 12, {0}},
    {"CS13", 13, {[TL_SMPM_SAFE] = true, [TL_SMPM_LITERAL] = true}},
    {"CS7 and CS10 swapped", TL_SMPM_SWAP_CS7_CS10, {0}},
    {"M-ACC", TL_SMPM_M_ACC, {0}},
    {"M-ACK", TL_SMPM_M_ACK, {0}},
    {"M-BANK", TL_SMPM_M_BANK, {0}},
    {"M-RES", TL_SMPM_M_RES, {0}},
    {"M-RESET", TL_SMPM_M_RESET, {0}},
    {"M-BLIND", TL_SMPM_M_BLIND, {0}},
};

static void test_every_mutation_has_a_schedule_that_shows_it(void **state) {
    (void)state;
    uint32_t n_wrong = 0;
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++)
        for (tl_smpm_profile profile = TL_SMPM_SAFE; profile <= TL_SMPM_LITERAL; profile++) {
            uint64_t n_states = 0;
            const char *found = search(profile, rows[i].mutation, 1, 1, &n_states);
            print_message("%-8s %-22s %-12s after %llu states\n", profile == TL_SMPM_SAFE ? "SAFE" : "LITERAL", rows[i].name,
                          found ? found : "-", (unsigned long long)n_states);
            n_wrong += (found == NULL) != rows[i].is_redundant[profile];
        }
    assert_int_equal(n_wrong, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_the_protocol_holds_in_every_schedule),
    cmocka_unit_test(test_every_mutation_has_a_schedule_that_shows_it),
};
TL_TEST_MAIN(tests)
