// SPDX-License-Identifier: MIT
// HPCClient: the three registers of one hart, the FIFO behind hpcr, and at most one request. Access
// rights are checked before an instruction has an effect. Writes follow the state machine of
// docs/dhpc.md line by line.
#include <assert.h>
#include <string.h>

#include "isa/rv/arch.h"
#include "pmu/dhpc/fabric.h"

static void count(tl_dhpc_client *client, tl_dhpc_client_stat stat) { tl_dhpc_add(&client->stats[stat], 1, client->cycle); }

// A request may need samples, and harts must then stop for them.
static void tell_harts(const tl_dhpc_client *client) {
    if (client->pmu.host && client->pmu.host->changed)
        for (uint32_t h = 0; h < client->dhpc->n_harts; h++)
            if (tl_dhpc_next_event(client->dhpc, h, client->cycle) != TL_DHPC_NEVER)
                client->pmu.host->changed(client->pmu.host->ctx, h);
}

// ---- receiving ----

void tl_dhpc_receive(tl_dhpc_client *client, const tl_dhpc_message *message) {
    uint32_t depth = client->dhpc->config.fifo_depth;
    if (message->has_data) {
        // The request left only because the FIFO had room for all data.
        assert(client->fifo_n < depth);
        client->fifo[(client->fifo_head + client->fifo_n) % depth] = message->data;
        client->fifo_n += 1;
        client->bitmap |= UINT64_C(1) << message->index;
    }
    if (message->is_last)
        client->trigger = false;
}

// ---- registers (regs.c) ----

uint64_t tl_dhpc_read_hpcc(tl_regfile *file, uint32_t index, uint64_t stored) {
    const tl_dhpc_client *client = tl_dhpc_client_of(file);
    (void)index, (void)stored;
    return (client->trigger ? TL_DHPC_TRIGGER : 0) | (client->interrupted ? TL_DHPC_INTERRUPTED : 0) |
           (client->fifo_n == 0 ? TL_DHPC_EMPTY : 0) | (client->readerror ? TL_DHPC_READERROR : 0) |
           (uint64_t)client->id << TL_DHPC_ID_LSB | (client->useren ? TL_DHPC_USEREN : 0);
}

static void start(tl_dhpc_client *client) {
    client->is_pending = true;
    client->ready_at = client->cycle;
    client->pending_port = tl_dhpc_port_of(client, client->id);
    client->pending_bitmap = client->bitmap;
    client->bitmap = 0;
    client->trigger = true;
    count(client, TL_DHPC_HPC_REQ);
    tl_dhpc_inject(client, client->cycle);
}

static void cancel(tl_dhpc_client *client) {
    tl_dhpc_cancel(client, client->cycle);
    client->epoch += 1;
    client->trigger = false;
}

void tl_dhpc_hpcc_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    tl_dhpc_client *client = tl_dhpc_client_of(file);
    (void)index, (void)old;
    if (client->trigger && !(value & TL_DHPC_TRIGGER))
        cancel(client);
    if (!client->trigger)
        client->id = (uint32_t)(value >> TL_DHPC_ID_LSB & TL_DHPC_ID_MASK);
    if (client->priv != TL_PRIV_U)
        client->useren = (value & TL_DHPC_USEREN) != 0;
    if (!client->trigger && (value & TL_DHPC_TRIGGER))
        start(client);
}

uint64_t tl_dhpc_read_hpcm(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)index, (void)stored;
    return tl_dhpc_client_of(file)->bitmap;
}

void tl_dhpc_hpcm_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    tl_dhpc_client *client = tl_dhpc_client_of(file);
    (void)index, (void)old;
    if (client->trigger)
        return;
    // Nothing may happen between the halves, because a context switch there must stay visible.
    if (client->is_high) {
        client->bitmap = value;
        return;
    }
    client->bitmap = file->access_bits == 32 ? value & UINT32_MAX : value;
    client->interrupted = client->readerror = false;
    client->fifo_n = 0;
    client->latch = 0;
}

uint64_t tl_dhpc_read_hpcr(tl_regfile *file, uint32_t index, uint64_t stored) {
    const tl_dhpc_client *client = tl_dhpc_client_of(file);
    (void)index, (void)stored;
    return client->is_high || client->fifo_n == 0 ? client->latch : client->fifo[client->fifo_head];
}

void tl_dhpc_hpcr_was_read(tl_regfile *file, uint32_t index, bool is_high) {
    tl_dhpc_client *client = tl_dhpc_client_of(file);
    (void)index;
    if (is_high)
        return;
    count(client, TL_DHPC_HPCR_READ);
    if (client->fifo_n == 0) {
        client->readerror = true;
        return;
    }
    client->latch = client->fifo[client->fifo_head];
    client->fifo_head = (client->fifo_head + 1) % client->dhpc->config.fifo_depth;
    client->fifo_n -= 1;
    if (client->is_pending) { // the FIFO has no room
        tl_dhpc_inject(client, client->cycle);
        tell_harts(client);
    }
}

// ---- the port ----

// Maps a CSR to the number that regs.c gives it; 0: no register of this design.
static uint32_t map_csr(const tl_dhpc_client *client, uint32_t csr) {
    const tl_dhpc_config *config = &client->dhpc->config;
    if (csr == config->hpcc)
        return tl_dhpc_defaults.hpcc;
    if (csr == config->hpcm)
        return tl_dhpc_defaults.hpcm;
    if (csr == config->hpcr)
        return tl_dhpc_defaults.hpcr;
    if (client->pmu.file.access_bits != 32)
        return 0;
    return csr == config->hpcmh ? tl_dhpc_defaults.hpcmh : csr == config->hpcrh ? tl_dhpc_defaults.hpcrh : 0;
}

static void begin(tl_dhpc_client *client, uint64_t cycle, tl_priv priv) {
    client->cycle = cycle;
    client->priv = priv;
    tl_dhpc_run(client->dhpc, client, cycle);
}

static bool deny(tl_dhpc_client *client, uint64_t cycle) {
    begin(client, cycle, TL_PRIV_U);
    tl_dhpc_add(&client->dhpc->stats[TL_DHPC_DENIALS], 1, cycle);
    return false;
}

static bool is_shut_out(const tl_dhpc_client *client, tl_priv priv) {
    return client->dhpc->config.strict_user && priv == TL_PRIV_U && !client->useren;
}

static bool find(const void *ctx, uint32_t csr, tl_reg_at *ret_at) {
    const tl_dhpc_client *client = ctx;
    uint32_t addr = map_csr(client, csr);
    return addr != 0 && tl_regfile_find(&client->pmu.file, addr, ret_at);
}

static bool permits_at(tl_dhpc_client *client, const tl_reg_at *at, tl_reg_use use, uint64_t operand, uint64_t cycle, tl_priv priv) {
    const bool is_hpcc = at->reg->addr == tl_dhpc_defaults.hpcc, is_hpcr = at->reg->addr == tl_dhpc_defaults.hpcr;
    if (use == TL_REG_READ)
        return !is_hpcc && is_shut_out(client, priv) ? deny(client, cycle) : true;
    if (is_hpcr)
        return false;
    bool sets_trigger = is_hpcc && use != TL_REG_CLEAR && (operand & TL_DHPC_TRIGGER);
    bool is_denied = is_shut_out(client, priv) || (sets_trigger && priv == TL_PRIV_U && !client->useren);
    return is_denied ? deny(client, cycle) : true;
}

static uint64_t read_at(tl_dhpc_client *client, const tl_reg_at *at, uint64_t cycle, tl_priv priv) {
    begin(client, cycle, priv);
    client->is_high = at->is_high;
    uint64_t value = tl_regfile_value_at(&client->pmu.file, at);
    client->is_high = false;
    return value;
}

static void write_at(tl_dhpc_client *client, const tl_reg_at *at, uint64_t value, uint64_t cycle, tl_priv priv) {
    begin(client, cycle, priv);
    client->is_high = at->is_high;
    tl_regfile_write_at(&client->pmu.file, at, value);
    client->is_high = false;
    tell_harts(client);
}

static bool permits(void *ctx, const tl_hart *h, const tl_reg_at *at, tl_reg_use use, uint64_t operand) {
    return permits_at(ctx, at, use, operand, h->now, h->priv);
}
static uint64_t read(void *ctx, tl_hart *h, const tl_reg_at *at) { return read_at(ctx, at, h->now, h->priv); }
static void was_read(void *ctx, tl_hart *h, const tl_reg_at *at) {
    (void)h;
    tl_regfile_was_read_at(&((tl_dhpc_client *)ctx)->pmu.file, at);
}
static void write(void *ctx, tl_hart *h, const tl_reg_at *at, uint64_t value) { write_at(ctx, at, value, h->now, h->priv); }
static void retired(void *ctx, tl_hart *h) { (void)ctx, (void)h; }
static uint64_t deadline(void *ctx, tl_hart *h) {
    const tl_dhpc_client *client = ctx;
    uint64_t next = tl_dhpc_next_event(client->dhpc, client->index, h->now);
    return next == TL_DHPC_NEVER ? TL_DHPC_NEVER : next - h->now;
}
static void poll(void *ctx, tl_hart *h) {
    tl_dhpc_client *client = ctx;
    tl_dhpc_run(client->dhpc, client, h->now);
}

bool tl_dhpc_execute(tl_dhpc *dhpc, uint32_t hart, uint64_t cycle, const tl_dhpc_access *access, uint64_t *ret_old) {
    tl_dhpc_client *client = dhpc->clients[hart];
    const uint32_t csr = access->csr;
    const bool is_zero = access->is_immediate ? access->operand == 0 : access->is_rs1_x0;
    const bool reads = access->op != TL_REG_WRITE || !access->is_rd_x0, writes = access->op == TL_REG_WRITE || !is_zero;
    uint64_t operand = access->is_immediate ? access->operand & 31 : access->is_rs1_x0 ? 0 : access->operand, old = 0;
    if (client->pmu.file.access_bits == 32)
        operand &= UINT32_MAX;
    tl_reg_at at;
    if (!find(client, csr, &at) || tl_csr_lowest_priv(csr) > access->priv || (writes && tl_csr_is_read_only(csr)))
        return false;
    if (writes && !permits_at(client, &at, access->op, operand, cycle, access->priv))
        return false;
    if (reads && !permits_at(client, &at, TL_REG_READ, 0, cycle, access->priv))
        return false;
    if (reads) {
        old = read_at(client, &at, cycle, access->priv);
        tl_regfile_was_read_at(&client->pmu.file, &at);
    }
    if (writes) {
        uint64_t value = access->op == TL_REG_WRITE ? operand : access->op == TL_REG_SET ? old | operand : old & ~operand;
        write_at(client, &at, value, cycle, access->priv);
    }
    if (ret_old)
        *ret_old = old;
    return true;
}

void tl_dhpc_notice(tl_dhpc *d, uint32_t hart, tl_dhpc_notice_kind kind, uint64_t cycle) {
    tl_dhpc_client *client = d->clients[hart];
    bool is_switch = false;
    switch (d->config.ctxsw_policy) {
    case TL_DHPC_TRAP: is_switch = kind == TL_DHPC_TRAP_ENTRY || kind == TL_DHPC_TRAP_RETURN || kind == TL_DHPC_DEBUG; break;
    case TL_DHPC_SATP: is_switch = kind == TL_DHPC_SATP_WRITTEN; break;
    case TL_DHPC_ECALL: is_switch = kind == TL_DHPC_ECALL_TAKEN; break;
    case TL_DHPC_NEVER_SET: break;
    }
    if (!is_switch || client->interrupted)
        return;
    begin(client, cycle, client->priv);
    client->interrupted = true;
    count(client, TL_DHPC_HPC_RETRY_FLAG);
}

// ---- creation and reset ----

tl_status tl_dhpc_client_init(tl_dhpc_client *client, tl_dhpc *d, uint32_t index, tl_arena *arena, tl_error *err) {
    client->dhpc = d;
    client->index = index;
    client->fifo = tl_arena_alloc(arena, d->config.fifo_depth * sizeof *client->fifo);
    if (!client->fifo)
        return tl_fail(err, TL_ENOMEM, "no memory for the FIFO of pmu dhpc");
    client->pmu.port = (tl_pmu_port){
        .ctx = client,
        .find = find,
        .permits = permits,
        .read = read,
        .was_read = was_read,
        .write = write,
        .retired = retired,
        .deadline = deadline,
        .poll = poll,
    };
    return TL_OK;
}

void tl_dhpc_client_reset(tl_dhpc_client *client) {
    client->trigger = client->interrupted = client->readerror = client->useren = false;
    client->id = 0;
    client->bitmap = client->latch = 0;
    client->fifo_head = client->fifo_n = 0;
    client->is_pending = client->is_cancel_unknown = false;
    client->flight = (tl_dhpc_flight){.port = TL_DHPC_NO_PORT, .cancel_at = TL_DHPC_NEVER};
    client->inbox_head = client->inbox_n = 0;
    client->epoch += 1;
    client->priv = TL_PRIV_M;
}
