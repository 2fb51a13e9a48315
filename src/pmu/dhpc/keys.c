// SPDX-License-Identifier: MIT
// Rows of keys.def, and the configuration of a fabric made from them.
#include "pmu/dhpc/dhpc.h"

static const char *const modes[] = {"none", "timed", "functional", NULL};
static const char *const samplings[] = {"live", "snapshot", NULL};
static const char *const policies[] = {"trap", "satp", "ecall", "never", NULL};
static const char *const switches[] = {"off", "on", NULL};
static const char *const grants[] = {"denied", "granted", "until_exec", NULL};

const tl_key tl_dhpc_keys[] = {
#define NUMBER(...) TL_KEY_NUMBER(tl_dhpc_settings, __VA_ARGS__)
#define CHOICE(...) TL_KEY_NAMED(tl_dhpc_settings, __VA_ARGS__)
#include "pmu/dhpc/keys.def"
#undef NUMBER
#undef CHOICE
    {.path = NULL},
};

const tl_dhpc_settings tl_dhpc_default_settings = {
    .t_req = 1,
    .t_grant = 1,
    .t_lookup = 1,
    .t_resp = 1,
    .beat = 1,
    .fifo_depth = 64,
    .user_classes = 0xff,
    .csr_base = 0x8e0,
    .csr_read_base = 0xce0,
    .core_events = UINT64_MAX,
    .u74_events = UINT64_MAX,
    .stack_events = UINT64_MAX,
    .slice_events = UINT64_MAX,
    .slice_core_events = UINT64_MAX,
    .memory_events = UINT64_MAX,
    .device_events = UINT64_MAX,
    .bus_events = UINT64_MAX,
    .fabric_events = UINT64_MAX,
};

tl_dhpc_config tl_dhpc_config_from(const tl_dhpc_settings *settings) {
    return (tl_dhpc_config){
        .fifo_depth = settings->fifo_depth,
        .mode = settings->mode == TL_DHPC_KEY_FUNCTIONAL ? TL_DHPC_FUNCTIONAL : TL_DHPC_TIMED,
        .t_req = settings->t_req,
        .t_grant = settings->t_grant,
        .t_lookup = settings->t_lookup,
        .t_resp = settings->t_resp,
        .beat = settings->beat,
        .sampling = (tl_dhpc_sampling)settings->sampling,
        .ctxsw_policy = (tl_dhpc_ctxsw)settings->ctxsw_policy,
        .strict_user = settings->strict_user != 0,
        .user_class_mask = (uint8_t)settings->user_classes,
        .hpcc = settings->csr_base,
        .hpcm = settings->csr_base + 1,
        .hpcmh = settings->csr_base + 2,
        .hpcr = settings->csr_read_base,
        .hpcrh = settings->csr_read_base + 1,
        .left_out[TL_DHPC_CORE] = {~settings->core_events, ~settings->u74_events, ~settings->stack_events},
        .left_out[TL_DHPC_LLC] = {~settings->slice_events, ~settings->slice_core_events},
        .left_out[TL_DHPC_MEM] = {~settings->memory_events},
        .left_out[TL_DHPC_DEVICE] = {~settings->device_events},
        .left_out[TL_DHPC_MMIO] = {~settings->bus_events},
        .left_out[TL_DHPC_FABRIC] = {~settings->fabric_events},
    };
}
