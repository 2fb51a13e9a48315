// SPDX-License-Identifier: MIT
// Connects clients, ports and managers, and holds the configuration.
#include "pmu/dhpc/dhpc.h"

#include <string.h>

#include "base/bits.h"
#include "isa/rv/arch.h"
#include "pmu/dhpc/fabric.h"

#define DEFAULTS                                                                                                 \
    .fifo_depth = 64, .t_req = 1, .t_grant = 1, .t_lookup = 1, .t_resp = 1, .beat = 1, .sampling = TL_DHPC_LIVE, \
    .ctxsw_policy = TL_DHPC_TRAP, .user_class_mask = 0xff, .hpcc = 0x8e0, .hpcm = 0x8e1, .hpcmh = 0x8e2, .hpcr = 0xce0, .hpcrh = 0xce1
const tl_dhpc_config tl_dhpc_defaults = {.mode = TL_DHPC_TIMED, DEFAULTS};
const tl_dhpc_config tl_dhpc_functional = {.mode = TL_DHPC_FUNCTIONAL, DEFAULTS};
#undef DEFAULTS

static tl_status check_latency(const char *name, uint32_t value, uint32_t least, tl_error *err) {
    if (value < least || value > TL_DHPC_MAX_LATENCY)
        return tl_fail(err, TL_EINVAL, "dhpc.%s = %u: must be %u to %u cycles", name, value, least, TL_DHPC_MAX_LATENCY);
    return TL_OK;
}

// User mode must reach the registers, because useren is meaningless otherwise. The number of hpcr
// must be read-only.
static tl_status check_numbers(const tl_dhpc_config *config, tl_error *err) {
    const struct {
        const char *name;
        uint32_t csr;
        bool is_read_only;
    } rows[] = {{"hpcc", config->hpcc, false},
                {"hpcm", config->hpcm, false},
                {"hpcmh", config->hpcmh, false},
                {"hpcr", config->hpcr, true},
                {"hpcrh", config->hpcrh, true}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        uint32_t csr = rows[i].csr;
        if (csr > 0xfff || (csr >> 8 & 3) != 0 || (csr >> 10 == 3) != rows[i].is_read_only)
            return tl_fail(err, TL_EINVAL, "dhpc.%s = 0x%x: must be a %s register of user level, such as 0x%x", rows[i].name, csr,
                           rows[i].is_read_only ? "read-only" : "writable", rows[i].is_read_only ? 0xce0 : 0x8e0);
        for (size_t k = 0; k < i; k++)
            if (rows[k].csr == csr)
                return tl_fail(err, TL_EINVAL, "dhpc.%s = 0x%x: %s has that number already", rows[i].name, csr, rows[k].name);
    }
    return TL_OK;
}

tl_status tl_dhpc_config_check(const tl_dhpc_config *config, tl_error *err) {
    tl_status status;
    if (config->fifo_depth < 1 || config->fifo_depth > TL_DHPC_MAX_FIFO)
        return tl_fail(err, TL_EINVAL, "dhpc.fifo_depth = %u: must be 1 to %u", config->fifo_depth, TL_DHPC_MAX_FIFO);
    if ((status = check_latency("t_req", config->t_req, 1, err)) != TL_OK ||
        (status = check_latency("t_grant", config->t_grant, 0, err)) != TL_OK ||
        (status = check_latency("t_lookup", config->t_lookup, 0, err)) != TL_OK ||
        (status = check_latency("t_resp", config->t_resp, 1, err)) != TL_OK ||
        (status = check_latency("beat", config->beat, 1, err)) != TL_OK)
        return status;
    return check_numbers(config, err);
}

static tl_status check_managers(const tl_dhpc_manager *managers, uint32_t n, uint32_t n_harts, tl_error *err) {
    for (uint32_t m = 0; m < n; m++) {
        const tl_dhpc_manager *manager = &managers[m];
        if (manager->id > TL_DHPC_ID_MASK || (m > 0 && manager->id <= managers[m - 1].id))
            return tl_fail(err, TL_EINVAL, "manager 0x%x: ids have 17 bits and ascend", manager->id);
        for (uint32_t bit = 0; bit < TL_DHPC_COUNTERS; bit++) {
            const tl_dhpc_counter *counter = &manager->counters[bit];
            bool is_built = manager->implemented >> bit & 1;
            if (is_built && counter->origin == TL_DHPC_FROM_CLIENT &&
                (manager->hart >= n_harts || counter->which >= TL_DHPC_N_CLIENT_STATS))
                return tl_fail(err, TL_EINVAL, "manager 0x%x, counter %u: counts a client that is not there", manager->id, bit);
            if (is_built && counter->origin == TL_DHPC_FROM_FABRIC && counter->which >= TL_DHPC_N_FABRIC_STATS)
                return tl_fail(err, TL_EINVAL, "manager 0x%x, counter %u: the fabric has no such number", manager->id, bit);
        }
    }
    return TL_OK;
}

tl_status tl_dhpc_new(const tl_dhpc_config *config, uint32_t access_bits, uint32_t n_harts, const tl_dhpc_manager *managers,
                      uint32_t n_managers, tl_dhpc_total *total, void *total_ctx, tl_arena *arena, tl_dhpc **ret_dhpc, tl_error *err) {
    tl_status status = tl_dhpc_config_check(config, err);
    if (status == TL_OK && (n_harts < 1 || n_harts > TL_DHPC_MAX_HARTS))
        status = tl_fail(err, TL_EINVAL, "pmu dhpc serves 1 to %u harts, not %u", TL_DHPC_MAX_HARTS, n_harts);
    if (status == TL_OK && access_bits != 32 && access_bits != 64)
        status = tl_fail(err, TL_EINVAL, "pmu dhpc: harts have 32 or 64 bits, not %u", access_bits);
    if (status == TL_OK)
        status = check_managers(managers, n_managers, n_harts, err);
    if (status != TL_OK)
        return status;
    tl_dhpc *d = tl_arena_alloc(arena, sizeof *d);
    if (!d || !(d->managers = tl_arena_alloc(arena, (n_managers + 1) * sizeof *managers)) ||
        !(d->clients = tl_arena_alloc(arena, n_harts * sizeof(tl_dhpc_client *))))
        return tl_fail(err, TL_ENOMEM, "no memory for pmu dhpc");
    if (n_managers > 0)
        memcpy(d->managers, managers, n_managers * sizeof *managers);
    d->config = *config;
    d->access_bits = access_bits;
    d->n_harts = n_harts;
    d->n_managers = n_managers;
    d->total = total;
    d->total_ctx = total_ctx;
    if ((status = tl_dhpc_fabric_init(d, arena, err)) != TL_OK)
        return status;
    for (uint32_t h = 0; h < n_harts; h++) {
        uint64_t *stored = tl_arena_alloc(arena, tl_regmap_n_cells(&tl_dhpc_regmap) * sizeof *stored);
        d->clients[h] = tl_arena_alloc(arena, sizeof *d->clients[h]);
        if (!stored || !d->clients[h])
            return tl_fail(err, TL_ENOMEM, "no memory for the registers of pmu dhpc");
        d->clients[h]->pmu =
            (tl_pmu){.file = {.map = &tl_dhpc_regmap, .stored = stored, .access_bits = access_bits}, .type = &tl_pmu_dhpc, .hart = h};
        if ((status = tl_dhpc_client_init(d->clients[h], d, h, arena, err)) != TL_OK)
            return status;
    }
    tl_dhpc_reset(d);
    *ret_dhpc = d;
    return TL_OK;
}

void tl_dhpc_reset(tl_dhpc *d) {
    tl_dhpc_fabric_reset(d);
    for (uint32_t h = 0; h < d->n_harts; h++)
        tl_dhpc_client_reset(d->clients[h]);
}

const tl_pmu_port *tl_dhpc_port(const tl_dhpc *d, uint32_t hart) { return &d->clients[hart]->pmu.port; }
tl_pmu *tl_dhpc_pmu(const tl_dhpc *d, uint32_t hart) { return &d->clients[hart]->pmu; }
const tl_dhpc_config *tl_dhpc_config_of(const tl_dhpc *d) { return &d->config; }
tl_dhpc_hart_account tl_dhpc_account(const tl_dhpc *d, uint32_t hart) { return d->clients[hart]->account; }
const tl_dhpc_manager *tl_dhpc_managers(const tl_dhpc *d, uint32_t *ret_n) {
    *ret_n = d->n_managers;
    return d->managers;
}

tl_dhpc *tl_dhpc_of(const tl_pmu *pmu) { return pmu ? ((const tl_dhpc_client *)pmu)->dhpc : NULL; }

// ---- the design's row ----

// One fabric for all harts. Its instance is the client of hart 0. A host that is no machine has one
// hart.
static tl_status attach(tl_pmu *pmu, tl_arena *arena, tl_error *err) {
    const tl_dhpc_preset *preset = (const tl_dhpc_preset *)pmu->preset;
    const tl_dhpc_config config = pmu->host->settings ? tl_dhpc_config_from(pmu->settings) : *preset->config;
    uint32_t n_harts = pmu->host->n_harts ? pmu->host->n_harts : pmu->hart + 1;
    tl_dhpc *d;
    tl_status status = tl_dhpc_new_on(&config, pmu->file.access_bits, n_harts, pmu->host, arena, &d, err);
    if (status != TL_OK)
        return status;
    d->clients[pmu->hart] = (tl_dhpc_client *)pmu;
    return tl_dhpc_client_init(d->clients[pmu->hart], d, pmu->hart, arena, err);
}

static void reset(tl_pmu *pmu) { tl_dhpc_reset(tl_dhpc_of(pmu)); }

static tl_pmu *of_hart(tl_pmu *pmu, uint32_t hart) { return tl_dhpc_pmu(tl_dhpc_of(pmu), hart); }

static void notice(tl_pmu *pmu, const tl_hart *h, tl_notice what) {
    static const tl_dhpc_notice_kind kinds[] = {[TL_NOTICE_TRAP_ENTRY] = TL_DHPC_TRAP_ENTRY,
                                                [TL_NOTICE_TRAP_RETURN] = TL_DHPC_TRAP_RETURN,
                                                [TL_NOTICE_ECALL] = TL_DHPC_ECALL_TAKEN,
                                                [TL_NOTICE_CONTEXT] = TL_DHPC_SATP_WRITTEN};
    if (what < TL_COUNT_OF(kinds)) // it knows no other
        tl_dhpc_notice(tl_dhpc_of(pmu), h->id, kinds[what], h->now);
}

// Acts as a kernel would: each step is a CSR instruction without a result. useren is written by set
// and clear, because a write of hpcc would write a stale trigger back.
static void hand_over(tl_pmu *pmu, uint32_t hart, uint64_t now, uint64_t process, bool is_granted) {
    tl_dhpc *d = tl_dhpc_of(pmu);
    (void)process;
    const tl_dhpc_access accesses[] = {
        {.csr = d->config.hpcc, .op = TL_REG_CLEAR, .operand = TL_DHPC_TRIGGER, .priv = TL_PRIV_S},
        {.csr = d->config.hpcm, .op = TL_REG_WRITE, .is_rd_x0 = true, .is_rs1_x0 = true, .priv = TL_PRIV_S},
        {.csr = d->config.hpcc, .op = is_granted ? TL_REG_SET : TL_REG_CLEAR, .operand = TL_DHPC_USEREN, .priv = TL_PRIV_S},
    };
    for (size_t i = 0; i < TL_COUNT_OF(accesses); i++)
        (void)tl_dhpc_execute(d, hart, now, &accesses[i], NULL);
}

static tl_status check_grant(const void *settings, tl_error *err) {
    const tl_dhpc_settings *s = settings;
    if (s->grant != TL_DENIED && s->mode == TL_DHPC_KEY_NONE)
        return tl_fail(err, TL_EINVAL, "os.hpc = %s: this machine has no distributed counters; set hpc=timed",
                       s->grant == TL_GRANTED ? "granted" : "until_exec");
    return TL_OK;
}

static const tl_pmu_preset *choose(const void *settings) {
    const tl_dhpc_settings *s = settings;
    return s->mode == TL_DHPC_KEY_NONE ? NULL : tl_dhpc_presets[s->mode == TL_DHPC_KEY_FUNCTIONAL];
}

static tl_grant grant(const void *settings) { return (tl_grant)((const tl_dhpc_settings *)settings)->grant; }

const tl_pmu_type tl_pmu_dhpc = {
    .name = "dhpc",
    .title = "Distributed hardware performance counters",
    .cite = "Xue, Xie, Song: A new hardware performance counter based on RISC-V, 2021",
    .regmap = &tl_dhpc_regmap,
    .presets = tl_dhpc_presets,
    .scope = TL_PMU_OF_MACHINE,
    .state_size = sizeof(tl_dhpc_client),
    .keys = tl_dhpc_keys,
    .default_settings = &tl_dhpc_default_settings,
    .settings_size = sizeof(tl_dhpc_settings),
    .settings_title = "Distributed counters",
    .check_grant = check_grant,
    .choose = choose,
    .grant = grant,
    .grant_name = "hpc",
    .attach = attach,
    .reset = reset,
    .of_hart = of_hart,
    .notice = notice,
    .hand_over = hand_over,
};
