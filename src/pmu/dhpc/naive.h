// SPDX-License-Identifier: MIT
// The distributed HPC as hardware written from the specification: every register takes a step every
// cycle. It shares no code with the fabric under test. It is slow and cannot handle late accesses.
// Messages sit in pipes and move one place per cycle. A counter shows the number latched at the
// beginning of the cycle.
#ifndef TL_PMU_DHPC_NAIVE_H
#define TL_PMU_DHPC_NAIVE_H

#include "isa/rv/arch.h"
#include "pmu/dhpc/test_rig.h"

enum { NAIVE_HARTS = 8, NAIVE_PORTS = 16, NAIVE_PIPE = 256, NAIVE_FIFO = 64 };

typedef struct naive_word { // on a wire
    uint32_t delay;         // cycles until arrival
    bool is_cancel, is_confirm, has_data, is_last;
    uint32_t index, epoch;
    uint64_t payload; // bitmap or datum
} naive_word;
typedef struct naive_pipe {
    naive_word words[NAIVE_PIPE];
    uint32_t n;
} naive_pipe;

typedef struct naive_client {
    bool trigger, interrupted, readerror, useren;
    uint32_t id;
    uint64_t hpcm, latch, fifo[NAIVE_FIFO];
    uint32_t n_fifo, epoch;
    bool has_request, awaits_cancel; // request: still here
    uint64_t request_bitmap;
    uint32_t request_port, sent_port;
    naive_pipe out, in; // to a port, which sent_port tells; from it
    // At the port.
    bool is_queued;
    uint64_t queued_bitmap;
    uint32_t queued_epoch;
    uint64_t reads, starts, retries, reads_was, starts_was, retries_was;
    uint64_t wait, max_wait, n_granted;
} naive_client;

typedef struct naive_port {
    const tl_dhpc_manager *manager;
    int server;              // -1: idle
    uint32_t last, cooldown; // cooldown: cycles in which no grant is possible
    uint32_t until_accept, until_beat;
    uint64_t bitmap, captured[64];
    uint32_t epoch;
    bool has_captured;
} naive_port;

typedef struct naive {
    tl_dhpc_config config;
    uint32_t n_harts, n_managers;
    const tl_dhpc_manager *managers;
    naive_client clients[NAIVE_HARTS];
    naive_port ports[NAIVE_PORTS];
    uint64_t stats[8], stats_was[8];
    uint64_t cycle;
} naive;

static inline void naive_init(naive *n, const tl_dhpc_config *config, uint32_t n_harts, const tl_dhpc_manager *managers,
                              uint32_t n_managers) {
    memset(n, 0, sizeof *n);
    n->config = *config;
    n->n_harts = n_harts;
    n->managers = managers;
    n->n_managers = n_managers;
    for (uint32_t p = 0; p < n_managers + n_harts; p++) {
        n->ports[p].manager = p < n_managers ? &managers[p] : NULL;
        n->ports[p].server = -1;
        n->ports[p].last = n_harts - 1;
    }
}

static inline void naive_put(naive_pipe *pipe, naive_word word) {
    assert_true(pipe->n < NAIVE_PIPE);
    pipe->words[pipe->n++] = word;
}
static inline bool naive_take(naive_pipe *pipe, naive_word *ret_word) { // removes an arrived word
    for (uint32_t i = 0; i < pipe->n; i++)
        if (pipe->words[i].delay == 0) {
            *ret_word = pipe->words[i];
            memmove(&pipe->words[i], &pipe->words[i + 1], (pipe->n - i - 1) * sizeof pipe->words[0]);
            pipe->n--;
            return true;
        }
    return false;
}
static inline void naive_move(naive_pipe *pipe) {
    for (uint32_t i = 0; i < pipe->n; i++)
        pipe->words[i].delay--;
}

static inline uint64_t naive_value(const naive *n, const tl_dhpc_manager *manager, uint32_t bit) {
    const tl_dhpc_counter *counter = &manager->counters[bit];
    if (counter->origin == TL_DHPC_FROM_FABRIC)
        return n->stats_was[counter->which];
    if (counter->origin == TL_DHPC_FROM_CLIENT) {
        const naive_client *c = &n->clients[manager->hart];
        return counter->which == TL_DHPC_HPCR_READ ? c->reads_was : counter->which == TL_DHPC_HPC_REQ ? c->starts_was : c->retries_was;
    }
    return counter->origin == TL_DHPC_CONSTANT ? counter->which : stamped(NULL, counter->which, manager->hart, n->cycle);
}

// Phase a.
static inline void naive_absorb(naive *n, naive_client *c) {
    naive_word word;
    while (naive_take(&c->in, &word)) {
        if (word.is_confirm) {
            c->awaits_cancel = false;
        } else if (!c->trigger || word.epoch != c->epoch) {
            n->stats[TL_DHPC_STALE]++;
            if (word.is_last)
                c->awaits_cancel = false;
        } else {
            if (word.has_data) {
                assert_true(c->n_fifo < n->config.fifo_depth);
                c->fifo[c->n_fifo++] = word.payload;
                c->hpcm |= UINT64_C(1) << word.index;
            }
            if (word.is_last)
                c->trigger = false;
        }
    }
}

// Phase b: one instruction. false: illegal.
static inline bool naive_access(naive *n, uint32_t hart, const tl_dhpc_access *a, uint64_t *ret_old) {
    naive_client *c = &n->clients[hart];
    bool reads = !(a->op == TL_REG_WRITE && a->is_rd_x0);
    bool writes = a->op == TL_REG_WRITE || (a->is_immediate ? a->operand != 0 : !a->is_rs1_x0);
    bool is_shut = n->config.strict_user && a->priv == TL_PRIV_U && !c->useren;
    uint64_t operand = a->is_immediate ? a->operand & 31 : a->is_rs1_x0 ? 0 : a->operand, old = 0;
    if (a->csr == HPCR && writes)
        return false;
    if (is_shut && (a->csr != HPCC || writes)) {
        n->stats[TL_DHPC_DENIALS]++;
        return false;
    }
    if (a->csr == HPCC && writes && a->priv == TL_PRIV_U && !c->useren && a->op != TL_REG_CLEAR && (operand & 1)) {
        n->stats[TL_DHPC_DENIALS]++;
        return false;
    }
    if (a->csr == HPCC) {
        old = (uint64_t)c->id << 4 | (c->trigger ? 1 : 0) | (c->interrupted ? 2 : 0) | (c->n_fifo == 0 ? 4 : 0) | (c->readerror ? 8 : 0) |
              (c->useren ? 1 << 21 : 0);
    } else if (a->csr == HPCM) {
        old = c->hpcm;
    } else if (reads) {
        c->reads++;
        if (c->n_fifo == 0) {
            c->readerror = true;
        } else {
            c->latch = c->fifo[0];
            c->n_fifo--;
            memmove(&c->fifo[0], &c->fifo[1], c->n_fifo * sizeof c->fifo[0]);
        }
        old = c->latch;
    }
    *ret_old = reads ? old : 0;
    if (!writes)
        return true;
    uint64_t wanted = a->op == TL_REG_WRITE ? operand : a->op == TL_REG_SET ? (reads ? old : 0) | operand : old & ~operand;
    if (a->csr == HPCM) {
        if (!c->trigger) {
            c->hpcm = wanted;
            c->interrupted = c->readerror = false;
            c->n_fifo = 0;
            c->latch = 0;
        }
        return true;
    }
    bool wants_trigger = wanted & 1;
    if (c->trigger && !wants_trigger) {
        n->stats[TL_DHPC_CANCELS]++;
        if (c->has_request) {
            c->has_request = false;
        } else {
            naive_put(&c->out, (naive_word){.delay = n->config.t_req, .is_cancel = true, .epoch = c->epoch});
            c->awaits_cancel = true;
        }
        c->epoch++;
        c->trigger = false;
    }
    bool was_running = c->trigger;
    if (!was_running)
        c->id = (uint32_t)(wanted >> 4 & 0x1ffff);
    if (a->priv != TL_PRIV_U)
        c->useren = wanted >> 21 & 1;
    if (!was_running && wants_trigger) {
        c->has_request = c->trigger = true;
        c->request_bitmap = c->hpcm;
        c->hpcm = 0;
        c->starts++;
        c->request_port = n->n_managers + hart;
        for (uint32_t m = 0; m < n->n_managers; m++)
            if (n->managers[m].id == c->id && (a->priv != TL_PRIV_U || (n->config.user_class_mask >> (c->id >> 14) & 1)))
                c->request_port = m;
    }
    return true;
}

static inline void naive_trap(naive *n, uint32_t hart) {
    naive_client *c = &n->clients[hart];
    c->retries += !c->interrupted;
    c->interrupted = true;
}

static inline uint32_t naive_ones(uint64_t value) {
    uint32_t n = 0;
    for (; value != 0; value >>= 1)
        n += value & 1;
    return n;
}

// Phase c.
static inline void naive_inject(naive *n, naive_client *c) {
    if (!c->has_request || c->awaits_cancel || n->config.fifo_depth - c->n_fifo < naive_ones(c->request_bitmap))
        return;
    c->has_request = false;
    n->stats[TL_DHPC_REQUESTS]++;
    c->sent_port = c->request_port;
    naive_put(&c->out, (naive_word){.delay = n->config.t_req, .payload = c->request_bitmap, .epoch = c->epoch});
    if (n->config.mode == TL_DHPC_FUNCTIONAL) { // no wires
        naive_port *p = &n->ports[c->sent_port];
        uint64_t left = p->manager ? c->request_bitmap & p->manager->implemented : 0;
        c->out.n--;
        n->stats[TL_DHPC_GRANTS]++;
        n->stats[TL_DHPC_EMPTY_COMPLETIONS] += left == 0;
        for (uint32_t bit = 0; bit < 64; bit++)
            if (left >> bit & 1) {
                c->fifo[c->n_fifo++] = naive_value(n, p->manager, bit);
                n->stats[TL_DHPC_BEATS]++;
            }
        c->hpcm = left;
        c->trigger = false;
    }
}

static inline void naive_end_service(naive_port *p) {
    p->server = -1;
    p->cooldown = 1; // the next grant is one cycle later
}

static inline void naive_port_step(naive *n, uint32_t index) {
    naive_port *p = &n->ports[index];
    if (p->cooldown > 0)
        p->cooldown--; // since the last cycle
    for (uint32_t h = 0; h < n->n_harts; h++) {
        naive_client *c = &n->clients[h];
        naive_word word;
        while (c->sent_port == index && naive_take(&c->out, &word)) {
            if (!word.is_cancel) {
                assert_false(c->is_queued);
                c->is_queued = true;
                c->queued_bitmap = word.payload;
                c->queued_epoch = word.epoch;
                c->wait = 0;
                continue;
            }
            naive_word confirm = {.delay = n->config.t_resp, .is_confirm = true};
            if (c->is_queued && c->queued_epoch == word.epoch) {
                c->is_queued = false;
                naive_put(&c->in, confirm);
            } else if (p->server == (int)h && p->epoch == word.epoch) {
                naive_end_service(p);
                naive_put(&c->in, confirm);
            }
        }
    }
    if (p->server < 0 && p->cooldown == 0)
        for (uint32_t k = 1; k <= n->n_harts; k++) {
            uint32_t h = (p->last + k) % n->n_harts;
            naive_client *c = &n->clients[h];
            if (!c->is_queued || c->sent_port != index)
                continue;
            c->is_queued = false;
            c->n_granted++;
            if (c->wait > c->max_wait)
                c->max_wait = c->wait;
            n->stats[TL_DHPC_GRANTS]++;
            p->server = (int)h;
            p->last = h;
            p->epoch = c->queued_epoch;
            p->bitmap = p->manager ? c->queued_bitmap & p->manager->implemented : 0;
            p->until_accept = n->config.t_grant;
            p->until_beat = n->config.t_grant + n->config.t_lookup;
            p->has_captured = false;
            break;
        }
    if (p->server >= 0) {
        if (p->until_accept == 0 && !p->has_captured) {
            p->has_captured = true;
            for (uint32_t bit = 0; bit < 64 && n->config.sampling == TL_DHPC_SNAPSHOT; bit++)
                if (p->bitmap >> bit & 1)
                    p->captured[bit] = naive_value(n, p->manager, bit);
        }
        if (p->until_beat == 0) {
            naive_word word = {.delay = n->config.t_resp, .epoch = p->epoch};
            for (uint32_t bit = 0; bit < 64; bit++)
                if (p->bitmap >> bit & 1) {
                    word.has_data = true;
                    word.index = bit;
                    word.payload = n->config.sampling == TL_DHPC_SNAPSHOT ? p->captured[bit] : naive_value(n, p->manager, bit);
                    p->bitmap &= ~(UINT64_C(1) << bit);
                    break;
                }
            word.is_last = p->bitmap == 0;
            n->stats[word.has_data ? TL_DHPC_BEATS : TL_DHPC_EMPTY_COMPLETIONS]++;
            naive_put(&n->clients[p->server].in, word);
            p->until_beat = n->config.beat;
            if (word.is_last)
                naive_end_service(p);
        }
        if (p->until_accept > 0)
            p->until_accept--;
        if (p->until_beat > 0)
            p->until_beat--;
    }
    for (uint32_t h = 0; h < n->n_harts; h++)
        if (n->clients[h].is_queued && n->clients[h].sent_port == index) {
            n->clients[h].wait++;
            n->stats[TL_DHPC_WAIT_CYCLES]++;
        }
}

static inline void naive_begin(naive *n, uint64_t cycle) { // phase a
    n->cycle = cycle;
    memcpy(n->stats_was, n->stats, sizeof n->stats);
    for (uint32_t h = 0; h < n->n_harts; h++) {
        naive_client *c = &n->clients[h];
        c->reads_was = c->reads;
        c->starts_was = c->starts;
        c->retries_was = c->retries;
        naive_absorb(n, c);
    }
}

static inline void naive_end(naive *n) { // after this cycle's instructions
    for (uint32_t h = 0; h < n->n_harts; h++)
        naive_inject(n, &n->clients[h]);
    for (uint32_t p = 0; p < n->n_managers + n->n_harts; p++)
        naive_port_step(n, p);
    for (uint32_t h = 0; h < n->n_harts; h++) {
        naive_move(&n->clients[h].out);
        naive_move(&n->clients[h].in);
    }
}

#endif
