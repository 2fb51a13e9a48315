// SPDX-License-Identifier: MIT
// The counters of the RISC-V privileged architecture: views of the hart's clock.
#include "pmu/rvhpm/rvhpm.h"

static bool has(const void *ctx, uint32_t csr) {
    (void)ctx;
    return csr >= 0xc00 && csr <= 0xc02;
}

static bool read(void *ctx, tl_hart *h, uint32_t csr, uint64_t *ret_value) {
    (void)ctx;
    if (csr == 0xc00)
        *ret_value = h->now - h->idle_cycles;
    else
        *ret_value = csr == 0xc02 ? h->instret : (uint64_t)((unsigned __int128)h->now * TL_TIMEBASE_HZ / h->config->clock_hz);
    return true;
}

static bool may_write(void *ctx, const tl_hart *h, uint32_t csr) { return (void)ctx, (void)h, (void)csr, false; }
static void write(void *ctx, tl_hart *h, uint32_t csr, uint64_t value) { (void)ctx, (void)h, (void)csr, (void)value; }
static void nothing(void *ctx, tl_hart *h) { (void)ctx, (void)h; }
static uint64_t deadline(void *ctx, tl_hart *h) { return (void)ctx, (void)h, UINT64_MAX; }

static const tl_pmu_port port = {
    .has = has,
    .read = read,
    .may_write = may_write,
    .write = write,
    .retired = nothing,
    .leave_mode = nothing,
    .deadline = deadline,
    .poll = nothing,
};

tl_status tl_rvhpm_attach(tl_hart *h, tl_arena *arena, tl_error *err) {
    (void)arena;
    (void)err;
    h->pmus[h->n_pmus++] = &port;
    return TL_OK;
}
