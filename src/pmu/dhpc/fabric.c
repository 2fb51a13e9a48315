// SPDX-License-Identifier: MIT
// Interconnect and managers. A port's activity is a chain of three kinds of steps: a cancel
// arrives, a request is granted, a beat is produced. The cycle of each step is known once the step
// before it has happened. Time therefore passes by taking the earliest step. Only ports that the
// asking client depends on take steps, because the steps of other ports do not depend on when they
// are computed.
#include "pmu/dhpc/fabric.h"

#include "isa/rv/arch.h"

#include <assert.h>
#include <string.h>

typedef enum step_kind {
    STEP_ARRIVAL,
    STEP_LEAVE,
    STEP_CANCEL,
    STEP_GRANT,
    STEP_ACCEPT,
    STEP_BEAT
} step_kind; // in this order within a cycle
typedef struct step {
    uint64_t cycle; // TL_DHPC_NEVER: nothing to do
    step_kind kind;
    uint32_t port;
    tl_dhpc_client *client; // ARRIVAL, LEAVE, CANCEL: client of the step
} step;

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

void tl_dhpc_add(tl_dhpc_count *count, uint64_t n, uint64_t cycle) {
    if (cycle > count->at) {
        count->before = count->value;
        count->at = cycle;
    } else if (cycle < count->at) {
        count->before += n;
    }
    count->value += n;
}

static uint64_t count_in(const tl_dhpc_count *count, uint64_t cycle) { return cycle > count->at ? count->value : count->before; }

static tl_dhpc_message *message_at(tl_dhpc_client *client, uint32_t k) { return &client->inbox[(client->inbox_head + k) % TL_DHPC_INBOX]; }

static bool is_stale(const tl_dhpc_client *client, const tl_dhpc_message *message) {
    return !message->is_confirmation && (message->epoch != client->epoch || !client->trigger);
}

// ---- values ----

static uint64_t fabric_stat_in(const tl_dhpc *d, uint32_t stat, uint64_t cycle) {
    uint64_t n = count_in(&d->stats[stat], cycle);
    for (uint32_t c = 0; c < d->n_harts; c++) {
        tl_dhpc_client *client = d->clients[c];
        const tl_dhpc_flight *flight = &client->flight;
        if (stat == TL_DHPC_WAIT_CYCLES && flight->port != TL_DHPC_NO_PORT && !flight->is_granted && cycle > flight->arrives_at)
            n += cycle - flight->arrives_at;
        // Data that arrived and were not absorbed yet.
        for (uint32_t k = 0; stat == TL_DHPC_STALE && k < client->inbox_n; k++)
            n += message_at(client, k)->arrives_at < cycle && is_stale(client, message_at(client, k));
    }
    return n;
}

static uint64_t value_of(const tl_dhpc *d, const tl_dhpc_manager *m, uint32_t bit, uint64_t cycle) {
    const tl_dhpc_counter *counter = &m->counters[bit];
    switch (counter->origin) {
    case TL_DHPC_FROM_HOST: return d->total(d->total_ctx, counter->which, m->hart, cycle);
    case TL_DHPC_FROM_CLIENT: return count_in(&d->clients[m->hart]->stats[counter->which], cycle);
    case TL_DHPC_FROM_FABRIC: return fabric_stat_in(d, counter->which, cycle);
    case TL_DHPC_CONSTANT: break;
    }
    return counter->which;
}

static bool counts_fabric(const tl_dhpc_manager_port *port) {
    return port->manager && tl_dhpc_class_of(port->manager->id) == TL_DHPC_FABRIC;
}

// ---- from port to client ----

static void send(tl_dhpc_client *client, tl_dhpc_message message) {
    // There is one request at a time: 64 beats, the rest of a cancelled one, a confirmation.
    assert(client->inbox_n < TL_DHPC_INBOX);
    assert(client->inbox_n == 0 || message_at(client, client->inbox_n - 1)->arrives_at <= message.arrives_at);
    *message_at(client, client->inbox_n++) = message;
}

static void absorb_one(tl_dhpc *d, tl_dhpc_client *client) {
    tl_dhpc_message message = *message_at(client, 0);
    client->inbox_head = (client->inbox_head + 1) % TL_DHPC_INBOX;
    client->inbox_n -= 1;
    bool ends_cancel = message.is_confirmation;
    if (is_stale(client, &message)) {
        tl_dhpc_add(&d->stats[TL_DHPC_STALE], 1, message.arrives_at);
        ends_cancel = message.is_last;
    } else if (!message.is_confirmation) {
        tl_dhpc_receive(client, &message);
    }
    if (ends_cancel) {
        client->is_cancel_unknown = false;
        client->flight.cancel_at = TL_DHPC_NEVER; // the cancel finds no request
        client->ready_at = message.arrives_at;
    }
}

static bool has_room(const tl_dhpc_client *client) {
    return (uint32_t)__builtin_popcountll(client->pending_bitmap) <= client->dhpc->config.fifo_depth - client->fifo_n;
}

// A waiting request will leave its client without an instruction of its hart.
static bool leaves_alone(const tl_dhpc_client *client) { return client->is_pending && has_room(client); }

// Cycle in which the blocking cancel is known to be over. TL_DHPC_NEVER: no confirmation has been
// sent yet.
static uint64_t known_at(tl_dhpc_client *client) {
    for (uint32_t k = 0; k < client->inbox_n; k++) {
        const tl_dhpc_message *message = message_at(client, k);
        if (message->is_confirmation || message->is_last)
            return message->arrives_at;
    }
    return TL_DHPC_NEVER;
}

// ---- from client to port ----

uint32_t tl_dhpc_port_of(const tl_dhpc_client *client, uint32_t id) {
    const tl_dhpc *d = client->dhpc;
    uint32_t low = 0, high = d->n_managers;
    bool is_hidden = client->priv == TL_PRIV_U && !(d->config.user_class_mask >> tl_dhpc_class_of(id) & 1);
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (d->managers[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_built = low < d->n_managers && d->managers[low].id == id;
    return is_built && !is_hidden ? low : d->n_managers + client->index;
}

static void serve_at_once(tl_dhpc_client *client, uint64_t cycle) {
    tl_dhpc *d = client->dhpc;
    const tl_dhpc_manager *manager = d->ports[client->pending_port].manager;
    uint64_t left = manager ? client->pending_bitmap & manager->implemented : 0;
    tl_dhpc_message message = {.arrives_at = cycle, .epoch = client->epoch, .is_last = left == 0};
    uint64_t values[TL_DHPC_COUNTERS], n = 0;
    for (uint64_t bits = left; bits != 0; bits &= bits - 1)
        values[n++] = value_of(d, manager, (uint32_t)__builtin_ctzll(bits), cycle);
    tl_dhpc_add(&d->stats[TL_DHPC_GRANTS], 1, cycle);
    client->account.n_grants += 1;
    if (left == 0) {
        tl_dhpc_add(&d->stats[TL_DHPC_EMPTY_COMPLETIONS], 1, cycle);
        tl_dhpc_receive(client, &message);
    }
    for (uint64_t k = 0; left != 0; k++) {
        message.has_data = true;
        message.index = (uint8_t)__builtin_ctzll(left);
        message.data = values[k];
        left &= left - 1;
        message.is_last = left == 0;
        tl_dhpc_add(&d->stats[TL_DHPC_BEATS], 1, cycle);
        tl_dhpc_receive(client, &message);
    }
}

void tl_dhpc_inject(tl_dhpc_client *client, uint64_t cycle) {
    tl_dhpc *d = client->dhpc;
    if (!client->is_pending || client->is_cancel_unknown || !has_room(client))
        return;
    client->is_pending = false;
    client->account.n_requests += 1;
    tl_dhpc_add(&d->stats[TL_DHPC_REQUESTS], 1, cycle);
    if (d->config.mode == TL_DHPC_FUNCTIONAL) {
        serve_at_once(client, cycle);
        return;
    }
    assert(client->flight.port == TL_DHPC_NO_PORT); // at most one manager ever sends to a client
    client->flight = (tl_dhpc_flight){
        .port = client->pending_port,
        .bitmap = client->pending_bitmap,
        .epoch = client->epoch,
        .arrives_at = cycle + d->config.t_req,
        .cancel_at = TL_DHPC_NEVER,
    };
}

void tl_dhpc_cancel(tl_dhpc_client *client, uint64_t cycle) {
    tl_dhpc *d = client->dhpc;
    tl_dhpc_add(&d->stats[TL_DHPC_CANCELS], 1, cycle);
    if (client->is_pending) { // still in the client: no message is needed
        client->is_pending = false;
        return;
    }
    client->is_cancel_unknown = true;
    if (client->flight.port != TL_DHPC_NO_PORT)
        client->flight.cancel_at = cycle + d->config.t_req;
}

// ---- steps of a port ----

static void leave_wait(tl_dhpc *d, const tl_dhpc_flight *flight, uint64_t cycle) {
    if (cycle > flight->arrives_at)
        // Counts cycles before this one, whenever software asks.
        d->stats[TL_DHPC_WAIT_CYCLES].value += cycle - flight->arrives_at;
}

static void grant(tl_dhpc *d, uint32_t p, uint64_t cycle) {
    tl_dhpc_manager_port *port = &d->ports[p];
    uint32_t c = port->last_granted;
    for (uint32_t k = 0; k < d->n_harts; k++) {
        c = c + 1 < d->n_harts ? c + 1 : 0;
        const tl_dhpc_flight *flight = &d->clients[c]->flight;
        if (flight->port == p && flight->arrives_at <= cycle)
            break;
    }
    tl_dhpc_client *client = d->clients[c];
    tl_dhpc_flight *flight = &client->flight;
    assert(flight->port == p && flight->arrives_at <= cycle);
    uint64_t wait = cycle - flight->arrives_at;
    leave_wait(d, flight, cycle);
    tl_dhpc_add(&d->stats[TL_DHPC_GRANTS], 1, cycle);
    client->account.n_grants += 1;
    client->account.wait_cycles += wait;
    client->account.max_wait_cycles = later(client->account.max_wait_cycles, wait);
    flight->is_granted = true;
    port->server = port->last_granted = c;
    port->left = port->manager ? flight->bitmap & port->manager->implemented : 0;
    port->accept_at = cycle + d->config.t_grant;
    port->beat_at = port->accept_at + d->config.t_lookup;
    port->is_accepted = d->config.sampling == TL_DHPC_LIVE; // nothing to do then
}

static void release(tl_dhpc_manager_port *port, tl_dhpc_client *client, uint64_t cycle) {
    client->flight.port = TL_DHPC_NO_PORT;
    port->server = TL_DHPC_NO_CLIENT;
    port->free_at = cycle + 1;
}

static void accept(tl_dhpc *d, tl_dhpc_manager_port *port, uint64_t cycle) {
    port->is_accepted = true;
    for (uint64_t bits = port->left; bits != 0; bits &= bits - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(bits);
        port->snapshot[bit] = value_of(d, port->manager, bit, cycle);
    }
}

static void produce(tl_dhpc *d, tl_dhpc_manager_port *port, uint64_t cycle) {
    tl_dhpc_client *client = d->clients[port->server];
    tl_dhpc_message message = {.arrives_at = cycle + d->config.t_resp, .epoch = client->flight.epoch};
    if (port->left != 0) {
        message.has_data = true;
        message.index = (uint8_t)__builtin_ctzll(port->left);
        message.data =
            d->config.sampling == TL_DHPC_SNAPSHOT ? port->snapshot[message.index] : value_of(d, port->manager, message.index, cycle);
        port->left &= port->left - 1;
    }
    message.is_last = port->left == 0;
    tl_dhpc_add(&d->stats[message.has_data ? TL_DHPC_BEATS : TL_DHPC_EMPTY_COMPLETIONS], 1, cycle);
    send(client, message);
    if (message.is_last)
        release(port, client, cycle);
    port->beat_at = cycle + d->config.beat;
}

static void arrive_cancel(tl_dhpc *d, tl_dhpc_manager_port *port, tl_dhpc_client *client, uint64_t cycle) {
    client->flight.cancel_at = TL_DHPC_NEVER;
    if (client->flight.is_granted) {
        release(port, client, cycle);
    } else {
        leave_wait(d, &client->flight, cycle);
        client->flight.port = TL_DHPC_NO_PORT;
    }
    send(client, (tl_dhpc_message){.arrives_at = cycle + d->config.t_resp, .is_confirmation = true});
}

// ---- the passing of time ----

static void consider(step *best, uint64_t cycle, step_kind kind, uint32_t port, tl_dhpc_client *client) {
    if (cycle < best->cycle || (cycle == best->cycle && kind < best->kind))
        *best = (step){cycle, kind, port, client};
}

// Next step at the port for this client's request, which has left the client.
static void consider_flight(const tl_dhpc *d, tl_dhpc_client *client, step *best) {
    const tl_dhpc_flight *flight = &client->flight;
    const tl_dhpc_manager_port *port = &d->ports[flight->port];
    if (flight->cancel_at != TL_DHPC_NEVER)
        consider(best, later(flight->cancel_at, port->done_at), STEP_CANCEL, flight->port, client);
    if (!flight->is_granted) {
        if (port->server == TL_DHPC_NO_CLIENT)
            consider(best, later(flight->arrives_at, port->free_at), STEP_GRANT, flight->port, client);
    } else if (!port->is_accepted) {
        consider(best, port->accept_at, STEP_ACCEPT, flight->port, client);
    } else {
        consider(best, port->beat_at, STEP_BEAT, flight->port, client);
    }
}

// Marks the ports on which `client` or the counters of its hart depend. These are its own port, the
// ports of its core's managers, and ports whose requests end and release another request. A counter
// of the fabric depends on all ports.
static void mark_ports(tl_dhpc *d, const tl_dhpc_client *client, bool is_all) {
    for (uint32_t c = 0; c < d->n_harts; c++)
        if (d->clients[c]->flight.port != TL_DHPC_NO_PORT)
            d->ports[d->clients[c]->flight.port].is_wanted = is_all;
    for (uint32_t c = 0; c < d->n_harts && !is_all; c++) {
        const tl_dhpc_client *other = d->clients[c];
        if (other->flight.port == TL_DHPC_NO_PORT)
            continue;
        tl_dhpc_manager_port *port = &d->ports[other->flight.port];
        port->is_wanted |= other == client || leaves_alone(other) || (port->manager && port->manager->hart == client->index);
    }
}

static bool is_fabric_counted(const tl_dhpc *d) {
    for (uint32_t c = 0; c < d->n_harts; c++) {
        const tl_dhpc_client *client = d->clients[c];
        if (client->flight.port != TL_DHPC_NO_PORT && counts_fabric(&d->ports[client->flight.port]))
            return true;
        if (leaves_alone(client) && counts_fabric(&d->ports[client->pending_port]))
            return true;
    }
    return false;
}

// With a client: up to and including phase (b) of `cycle`, because an instruction may still cancel
// a request that leaves in that cycle. Without a client: to the end of the cycle.
static step next_step(tl_dhpc *d, const tl_dhpc_client *client, uint64_t cycle) {
    step best = {.cycle = TL_DHPC_NEVER};
    mark_ports(d, client, client == NULL || is_fabric_counted(d));
    for (uint32_t c = 0; c < d->n_harts; c++) {
        tl_dhpc_client *other = d->clients[c];
        if (other->flight.port != TL_DHPC_NO_PORT && d->ports[other->flight.port].is_wanted)
            consider_flight(d, other, &best);
        if (leaves_alone(other) && other->is_cancel_unknown)
            consider(&best, known_at(other), STEP_ARRIVAL, other->flight.port, other);
        else if (leaves_alone(other) && (other->ready_at < cycle || client == NULL))
            consider(&best, other->ready_at, STEP_LEAVE, other->pending_port, other);
    }
    return best;
}

static void take(tl_dhpc *d, const step *s) {
    if (s->kind == STEP_ARRIVAL) {
        while (s->client->inbox_n > 0 && message_at(s->client, 0)->arrives_at <= s->cycle)
            absorb_one(d, s->client);
        return;
    }
    if (s->kind == STEP_LEAVE) {
        tl_dhpc_inject(s->client, s->cycle);
        return;
    }
    tl_dhpc_manager_port *port = &d->ports[s->port];
    port->done_at = later(port->done_at, s->cycle);
    switch (s->kind) {
    case STEP_CANCEL: arrive_cancel(d, port, s->client, s->cycle); break;
    case STEP_GRANT: grant(d, s->port, s->cycle); break;
    case STEP_ACCEPT: accept(d, port, s->cycle); break;
    case STEP_BEAT: produce(d, port, s->cycle); break;
    case STEP_ARRIVAL:
    case STEP_LEAVE: break;
    }
}

void tl_dhpc_run(tl_dhpc *d, tl_dhpc_client *client, uint64_t cycle) {
    for (;;) {
        step s = next_step(d, client, cycle);
        if (s.cycle == TL_DHPC_NEVER || s.cycle > cycle)
            break;
        take(d, &s);
    }
    while (client && client->inbox_n > 0 && message_at(client, 0)->arrives_at <= cycle)
        absorb_one(d, client);
}

void tl_dhpc_advance(tl_dhpc *d, uint64_t cycle) {
    tl_dhpc_run(d, NULL, cycle);
    for (uint32_t c = 0; c < d->n_harts; c++)
        tl_dhpc_run(d, d->clients[c], cycle);
}

// Returns a lower bound, because earlier requests can only delay the sample.
static uint64_t next_sample(const tl_dhpc *d, const tl_dhpc_client *client, uint64_t now) {
    const tl_dhpc_flight *flight = &client->flight;
    const tl_dhpc_manager_port *port = &d->ports[flight->port];
    if (flight->is_granted)
        return port->is_accepted ? d->config.sampling == TL_DHPC_LIVE ? port->beat_at : TL_DHPC_NEVER : port->accept_at;
    uint64_t granted_at = later(flight->arrives_at, port->server == TL_DHPC_NO_CLIENT ? port->free_at : now);
    return granted_at + d->config.t_grant + (d->config.sampling == TL_DHPC_LIVE ? d->config.t_lookup : 0);
}

uint64_t tl_dhpc_next_event(const tl_dhpc *d, uint32_t hart, uint64_t now) {
    uint64_t next = TL_DHPC_NEVER;
    for (uint32_t c = 0; c < d->n_harts; c++) {
        const tl_dhpc_client *client = d->clients[c];
        bool is_held = leaves_alone(client);
        uint32_t p = is_held ? client->pending_port : client->flight.port;
        if (p == TL_DHPC_NO_PORT || d->ports[p].manager == NULL)
            continue;
        uint32_t owner = d->ports[p].manager->hart;
        if (owner != hart && !(owner == TL_DHPC_NO_HART && c == hart))
            continue;
        next = tl_lesser(next, is_held ? now + d->config.t_req + d->config.t_grant : next_sample(d, client, now));
    }
    return next == TL_DHPC_NEVER ? next : later(next, now);
}

uint64_t tl_dhpc_longest_service(const tl_dhpc_config *config) {
    return (uint64_t)config->t_grant + config->t_lookup + (uint64_t)(TL_DHPC_COUNTERS - 1) * config->beat + 1;
}

uint64_t tl_dhpc_stat(const tl_dhpc *d, tl_dhpc_fabric_stat stat) { return d->stats[stat].value; }

// ---- creation ----

tl_status tl_dhpc_fabric_init(tl_dhpc *d, tl_arena *arena, tl_error *err) {
    uint32_t n_ports = d->n_managers + d->n_harts;
    d->ports = tl_arena_alloc(arena, n_ports * sizeof *d->ports);
    if (!d->ports)
        return tl_fail(err, TL_ENOMEM, "no memory for the ports of pmu dhpc");
    for (uint32_t p = 0; p < d->n_managers; p++) {
        d->ports[p].manager = &d->managers[p];
        if (d->config.sampling == TL_DHPC_SNAPSHOT && !(d->ports[p].snapshot = tl_arena_alloc(arena, TL_DHPC_COUNTERS * sizeof(uint64_t))))
            return tl_fail(err, TL_ENOMEM, "no memory for the ports of pmu dhpc");
    }
    return TL_OK;
}

void tl_dhpc_fabric_reset(tl_dhpc *d) {
    for (uint32_t p = 0; p < d->n_managers + d->n_harts; p++) {
        tl_dhpc_manager_port *port = &d->ports[p];
        *port = (tl_dhpc_manager_port){
            .manager = port->manager, .snapshot = port->snapshot, .server = TL_DHPC_NO_CLIENT, .last_granted = d->n_harts - 1};
    }
}
