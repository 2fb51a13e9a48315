// SPDX-License-Identifier: MIT
// All actions of two clients on two managers of three counters. From reset, the test tries every
// combination of instructions in every cycle and every reachable state, until no new state appears.
// A state is the fabric's content with times relative to now, because the states must be finite. A
// model beside each client knows only the time and manager of a request. The model, not epochs,
// decides whether an arriving datum is correct or stale. Every state must satisfy:
//   no stale datum is accepted, no correct one is dropped, data arrive once and in order;
//   a request at a port is granted within (clients - 1) times the longest service;
//   when software stops, every request ends, except one that waits for room in its own FIFO.
#include <stdlib.h>

#include "isa/rv/arch.h"
#include "pmu/dhpc/test_rig.h"

enum { CLIENTS = 2, COUNTERS = 3, NOW = 1000, STATE_BYTES = 120 };

// SELECT_n writes hpcm, and the next instruction of that client starts a request to manager n;
// START starts one with what hpcm holds.
typedef enum action { NOTHING, SELECT_0, SELECT_1, START, CANCEL, READ, TRAP, N_ACTIONS } action;

typedef struct observer { // one per client
    bool is_running;
    uint8_t manager, bitmap, age; // of the request; age stops where all data can have arrived
    uint8_t received;
    uint8_t selected; // 1 + manager that the next instruction starts
} observer;

typedef struct world {
    tl_arena arena;
    tl_dhpc *d;
    tl_dhpc_config config;
    observer seen[CLIENTS];
    uint64_t longest_service, latency;
    uint32_t worst_wait;
} world;

static const uint32_t ids[] = {TL_DHPC_ID(TL_DHPC_CORE, 0, 0), TL_DHPC_ID(TL_DHPC_LLC, 0, 0)};
static const uint8_t implemented[] = {7, 5}; // the second manager lacks counter 1

// ---- states ----

typedef struct packer {
    uint8_t bytes[STATE_BYTES];
    uint32_t n;
} packer;

static void put(packer *p, uint64_t value) {
    assert_true(p->n < STATE_BYTES && value < 256);
    p->bytes[p->n++] = (uint8_t)value;
}
static uint64_t get(packer *p) { return p->bytes[p->n++]; }
// A time from now, 128 standing for now; 0: never.
static void put_time(packer *p, uint64_t time, uint64_t now) {
    int64_t from_now = (int64_t)(time - now);
    assert_true(time == TL_DHPC_NEVER || (from_now > -128 && from_now < 128));
    put(p, time == TL_DHPC_NEVER ? 0 : (uint64_t)(from_now + 128));
}
static uint64_t get_time(packer *p) {
    uint64_t from_now = get(p);
    return from_now == 0 ? TL_DHPC_NEVER : NOW + from_now - 128;
}

static void pack(const world *w, uint64_t now, packer *p) {
    memset(p, 0, sizeof *p);
    for (uint32_t c = 0; c < CLIENTS; c++) {
        const tl_dhpc_client *client = w->d->clients[c];
        const tl_dhpc_flight *flight = &client->flight;
        const observer *seen = &w->seen[c];
        bool has_flight = flight->port != TL_DHPC_NO_PORT;
        put(p, (uint64_t)client->trigger | (uint64_t)client->interrupted << 1 | (uint64_t)client->is_pending << 2 |
                   (uint64_t)client->is_cancel_unknown << 3 | (uint64_t)has_flight << 4 | (uint64_t)seen->selected << 5);
        put(p, (client->trigger || seen->selected || client->bitmap == 7 ? client->bitmap : 0) | (uint64_t)client->fifo_n << 4);
        put(p, client->is_pending ? client->pending_port | client->pending_bitmap << 4 : 0);
        if (has_flight) {
            put(p, flight->port | (flight->is_granted ? 0 : flight->bitmap) << 3 | (uint64_t)flight->is_granted << 6);
            put(p, client->epoch != flight->epoch);
            put_time(p, flight->is_granted ? now : flight->arrives_at, now);
            put_time(p, flight->cancel_at, now);
        }
        put(p, client->inbox_n);
        for (uint32_t k = 0; k < client->inbox_n; k++) {
            const tl_dhpc_message *message = &client->inbox[(client->inbox_head + k) % TL_DHPC_INBOX];
            put(p, message->index | (uint64_t)message->has_data << 2 | (uint64_t)message->is_last << 3 |
                       (uint64_t)message->is_confirmation << 4 | (message->data & 1) << 5);
            put_time(p, message->arrives_at, now);
            put(p, !message->is_confirmation && client->epoch != message->epoch);
        }
        put(p, seen->is_running ? 1 | (uint64_t)seen->manager << 1 | (uint64_t)seen->bitmap << 2 | (uint64_t)seen->received << 5 : 0);
        put(p, seen->is_running ? seen->age : 0);
    }
    for (uint32_t m = 0; m < 2; m++) { // only one hart uses a port without a manager
        const tl_dhpc_manager_port *port = &w->d->ports[m];
        bool is_busy = port->server != TL_DHPC_NO_CLIENT;
        put(p, (is_busy ? port->server + 1 : 0) | port->last_granted << 2 | (is_busy ? port->left : 0) << 4);
        put_time(p, is_busy ? port->beat_at : port->free_at > now ? port->free_at : now, now);
    }
}

static void unpack(world *w, packer *p) {
    p->n = 0;
    for (uint32_t c = 0; c < CLIENTS; c++) {
        tl_dhpc_client *client = w->d->clients[c];
        observer *seen = &w->seen[c];
        uint64_t bits = get(p);
        tl_dhpc_client_reset(client);
        client->epoch = 100;
        client->trigger = bits & 1;
        client->interrupted = bits >> 1 & 1;
        client->is_pending = bits >> 2 & 1;
        client->is_cancel_unknown = bits >> 3 & 1;
        // The client waits for room or for a confirmation here.
        client->ready_at = NOW - 1;
        bool has_flight = bits >> 4 & 1;
        uint8_t selected = bits >> 5 & 3;
        bits = get(p);
        client->bitmap = bits & 15;
        client->fifo_n = (uint32_t)(bits >> 4);
        bits = get(p);
        client->pending_port = (uint32_t)(bits & 15);
        client->pending_bitmap = bits >> 4;
        if (has_flight) {
            bits = get(p);
            client->flight.port = (uint32_t)(bits & 7);
            client->flight.bitmap = bits >> 3 & 7;
            client->flight.is_granted = bits >> 6 & 1;
            client->flight.epoch = client->epoch - get(p);
            client->flight.arrives_at = get_time(p);
            client->flight.cancel_at = get_time(p);
        }
        client->inbox_n = (uint32_t)get(p);
        for (uint32_t k = 0; k < client->inbox_n; k++) {
            tl_dhpc_message *message = &client->inbox[k];
            bits = get(p);
            *message = (tl_dhpc_message){.index = bits & 3,
                                         .has_data = bits >> 2 & 1,
                                         .is_last = bits >> 3 & 1,
                                         .is_confirmation = bits >> 4 & 1,
                                         .data = bits >> 5 & 1};
            message->arrives_at = get_time(p);
            message->epoch = client->epoch - get(p);
        }
        bits = get(p);
        *seen = (observer){bits & 1, bits >> 1 & 1, bits >> 2 & 7, (uint8_t)get(p), bits >> 5 & 7, selected};
        client->id = ids[seen->manager];
    }
    for (uint32_t m = 0; m < 2; m++) {
        tl_dhpc_manager_port *port = &w->d->ports[m];
        uint64_t bits = get(p);
        port->server = (bits & 3) == 0 ? TL_DHPC_NO_CLIENT : (uint32_t)(bits & 3) - 1;
        port->last_granted = bits >> 2 & 3;
        port->left = bits >> 4;
        port->is_accepted = true;
        port->done_at = NOW - 1;
        port->beat_at = port->free_at = get_time(p);
    }
}

// ---- one cycle ----

// Judges arrivals of this cycle without epochs. Correct data come from the requested manager, no
// sooner than the request can be answered.
static void absorb_and_judge(world *w, uint32_t c) {
    tl_dhpc_client *client = w->d->clients[c];
    observer *seen = &w->seen[c];
    uint32_t n_right = 0;
    for (uint32_t k = 0; k < client->inbox_n; k++) {
        const tl_dhpc_message *message = &client->inbox[(client->inbox_head + k) % TL_DHPC_INBOX];
        assert_true(message->arrives_at >= NOW);
        if (message->arrives_at > NOW || message->is_confirmation || !seen->is_running)
            continue;
        // the request was made `age` cycles ago; nothing of it can be here sooner than the latency
        if (seen->age < w->latency)
            continue;
        if (message->has_data) {
            assert_int_equal(message->data & 1, seen->manager);
            assert_true(seen->bitmap >> message->index & 1);
            assert_true(seen->received >> message->index == 0); // ascending, once
            seen->received |= (uint8_t)(1 << message->index);
            n_right++;
        }
        if (message->is_last) {
            // All of them were received.
            assert_int_equal(seen->received, seen->bitmap & implemented[seen->manager]);
            seen->is_running = false;
        }
    }
    uint32_t before = client->fifo_n;
    tl_dhpc_run(w->d, client, NOW);
    assert_int_equal(client->fifo_n, before + n_right);
    assert_int_equal(client->trigger, seen->is_running);
    if (seen->is_running)
        assert_int_equal(client->bitmap, seen->received);
}

static void act(world *w, uint32_t c, action what) {
    tl_dhpc_client *client = w->d->clients[c];
    observer *seen = &w->seen[c];
    tl_dhpc_access access = {.csr = HPCM, .is_rd_x0 = true, .priv = TL_PRIV_M};
    uint64_t value;
    if (what == NOTHING)
        return;
    if (what == TRAP) {
        tl_dhpc_notice(w->d, c, TL_DHPC_TRAP_RETURN, NOW);
        return;
    }
    if (seen->selected != 0 || what == START) {
        uint8_t manager = seen->selected == 2;
        access.csr = HPCC;
        access.operand = go(ids[manager]);
        seen->selected = 0;
        if (!client->trigger)
            *seen = (observer){.is_running = true, .manager = manager, .bitmap = (uint8_t)client->bitmap};
    } else if (what == SELECT_0 || what == SELECT_1) {
        access.operand = what == SELECT_0 ? 7 : 6;
        if (!client->trigger) // else it is ignored
            seen->selected = what == SELECT_0 ? 1 : 2;
    } else if (what == CANCEL) {
        access = (tl_dhpc_access){.csr = HPCC, .op = TL_REG_CLEAR, .is_immediate = true, .operand = 1, .priv = TL_PRIV_M};
        seen->is_running = false;
    } else {
        access = (tl_dhpc_access){.csr = HPCR, .op = TL_REG_SET, .is_rs1_x0 = true, .priv = TL_PRIV_M};
    }
    assert_true(tl_dhpc_execute(w->d, c, NOW, &access, &value));
}

static void check_waits(world *w) {
    for (uint32_t c = 0; c < CLIENTS; c++) {
        const tl_dhpc_flight *flight = &w->d->clients[c]->flight;
        if (flight->port == TL_DHPC_NO_PORT || flight->is_granted || flight->arrives_at > NOW)
            continue;
        uint64_t waits = NOW + 1 - flight->arrives_at; // not granted in this cycle either
        w->worst_wait = waits > w->worst_wait ? (uint32_t)waits : w->worst_wait;
        assert_true(waits <= (CLIENTS - 1) * w->longest_service);
    }
}

static void cycle(world *w, const action what[CLIENTS]) {
    for (uint32_t c = 0; c < CLIENTS; c++)
        absorb_and_judge(w, c);
    for (uint32_t c = 0; c < CLIENTS; c++)
        act(w, c, what[c]);
    tl_dhpc_advance(w->d, NOW);
    check_waits(w);
    for (uint32_t c = 0; c < CLIENTS; c++)
        if (w->seen[c].age < w->latency)
            w->seen[c].age++;
}

// ---- all states ----

typedef struct table {
    packer *states; // in order of discovery
    uint32_t *cells;
    uint32_t n_states, max_states, n_cells;
} table;

static bool add(table *t, const packer *state) {
    uint64_t hash = 1469598103934665603u;
    for (uint32_t i = 0; i < state->n; i++)
        hash = (hash ^ state->bytes[i]) * 1099511628211u;
    for (uint32_t s = (uint32_t)(hash >> 32) % t->n_cells;; s = s + 1 < t->n_cells ? s + 1 : 0) {
        if (t->cells[s] == 0) {
            if (t->n_states == t->max_states)
                fail_msg("more than %u states", t->max_states);
            t->states[t->n_states++] = *state;
            t->cells[s] = t->n_states;
            return true;
        }
        if (memcmp(t->states[t->cells[s] - 1].bytes, state->bytes, STATE_BYTES) == 0)
            return false;
    }
}

// Software stops. All requests end, or wait for room.
static void check_end(world *w, packer state) {
    const action nothing[CLIENTS] = {NOTHING, NOTHING};
    unpack(w, &state);
    for (uint32_t n = 0; n < 4 * w->longest_service + 4 * (w->config.t_req + w->config.t_resp); n++) {
        cycle(w, nothing);
        pack(w, NOW + 1, &state);
        unpack(w, &state);
    }
    for (uint32_t c = 0; c < CLIENTS; c++) {
        const tl_dhpc_client *client = w->d->clients[c];
        bool has_no_room =
            client->is_pending && (uint32_t)__builtin_popcountll(client->pending_bitmap) > w->config.fifo_depth - client->fifo_n;
        assert_true(!client->trigger || has_no_room);
        assert_true(client->flight.port == TL_DHPC_NO_PORT && client->inbox_n == 0);
    }
}

static uint64_t which_manager(void *ctx, uint32_t which, uint32_t hart, uint64_t when) {
    (void)ctx, (void)hart, (void)when;
    return which;
}

static void explore(const tl_dhpc_config *config, const action *choices, uint32_t n_choices) {
    world w = {.config = *config,
               .longest_service = config->t_grant + config->t_lookup + (COUNTERS - 1) * config->beat + 1,
               .latency = config->t_req + config->t_grant + config->t_lookup + config->t_resp};
    table t = {.max_states = 6000000, .n_cells = 16000057};
    tl_dhpc_manager managers[2];
    tl_error err;
    uint64_t n_steps = 0;
    for (uint32_t m = 0; m < 2; m++) {
        managers[m] = stamped_manager(ids[m], TL_DHPC_NO_HART, implemented[m], 0);
        for (uint32_t bit = 0; bit < COUNTERS; bit++)
            managers[m].counters[bit].which = m;
    }
    if (tl_dhpc_new(config, 64, CLIENTS, managers, 2, which_manager, NULL, &w.arena, &w.d, &err) != TL_OK)
        fail_msg("%s", err.text);
    t.states = malloc((size_t)t.max_states * sizeof *t.states);
    t.cells = calloc(t.n_cells, sizeof *t.cells);
    assert_true(t.states != NULL && t.cells != NULL);
    packer state;
    for (uint32_t c = 0; c < CLIENTS; c++)
        w.d->clients[c]->id = ids[0];
    pack(&w, NOW, &state);
    (void)add(&t, &state);
    for (uint32_t s = 0; s < t.n_states; s++) {
        check_end(&w, t.states[s]);
        for (uint32_t a = 0; a < n_choices; a++)
            for (uint32_t b = 0; b < n_choices; b++) {
                const action what[CLIENTS] = {choices[a], choices[b]};
                state = t.states[s];
                unpack(&w, &state);
                cycle(&w, what);
                pack(&w, NOW + 1, &state);
                (void)add(&t, &state);
                n_steps++;
            }
    }
    print_message("t_req %u, t_resp %u, beat %u, FIFO of %u: %u states, %llu steps, worst wait %u of %llu cycles\n", config->t_req,
                  config->t_resp, config->beat, config->fifo_depth, t.n_states, (unsigned long long)n_steps, w.worst_wait,
                  (unsigned long long)((CLIENTS - 1) * w.longest_service));
    assert_int_equal(w.worst_wait, (CLIENTS - 1) * w.longest_service); // the bound is tight
    free(t.states);
    free(t.cells);
    tl_arena_done(&w.arena);
}

static void test_everything_two_clients_can_do(void **state) {
    (void)state;
    const action choices[] = {NOTHING, SELECT_0, SELECT_1, START, CANCEL, READ, TRAP};
    tl_dhpc_config config = tl_dhpc_defaults;
    config.fifo_depth = 3;
    explore(&config, choices, TL_COUNT_OF(choices));
}

static void test_everything_two_clients_can_do_on_slower_wires(void **state) {
    (void)state; // more messages can travel at once
    const action choices[] = {NOTHING, SELECT_0, SELECT_1, CANCEL, READ};
    tl_dhpc_config config = tl_dhpc_defaults;
    config.fifo_depth = 3;
    config.t_req = config.t_resp = config.beat = 2;
    config.t_grant = 0;
    explore(&config, choices, TL_COUNT_OF(choices));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_everything_two_clients_can_do),
    cmocka_unit_test(test_everything_two_clients_can_do_on_slower_wires),
};

TL_TEST_MAIN(tests)
