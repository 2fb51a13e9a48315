// SPDX-License-Identifier: MIT
// The secure controller of a chip beside its model: firmware, window of clients, mailbox. All
// memory is of the chip's arena; nothing allocates after tl_smpm_service_new.
//
// The window is what software of a partition reaches by loads and stores. Hardware decides each
// access by the identity of who makes it; a refused one is a fault and an audit entry.
//
//   0x00000  registers of the client itself: window.h, and from 0x20 on
//            20 WHO: VM in bits 31:0, context in 63:32
//            28 SELF, 30 VM, 38 LIST: offset in bits 31:0, words in 63:32; 0: not this client's
//   0x01000  directory of metrics: block.h
//   0x10000  blocks by number, TL_SMPM_STRIDE_BYTES each: VM0, D, those of VMs and contexts
//   then     a page each: registers of TB and CCUs, filters, keys, audit
//
// The page of audit holds the client's own entries, the oldest first, of 4 words each: number,
// cycle, cause | operation << 8 | object << 16, VM | context << 32 of the object.
#ifndef TL_PMU_SMPM_SERVICE_H
#define TL_PMU_SMPM_SERVICE_H

#include "model/chip_monitor.h"
#include "pmu/smpm/mailbox.h"
#include "pmu/smpm/model.h"
#include "pmu/smpm/window.h"

enum {
    TL_SMPM_PAGE_BYTES = 0x1000,
    TL_SMPM_LIST_AT = 0x1000,
    TL_SMPM_BLOCKS_AT = 0x10000,
    TL_SMPM_STRIDE_BYTES = 0x10000,
    TL_SMPM_SERVICE_WHO = 0x20,
    TL_SMPM_SERVICE_SELF = 0x28,
    TL_SMPM_SERVICE_VM = 0x30,
    TL_SMPM_SERVICE_LIST = 0x38,
    TL_SMPM_AUDIT_ENTRY_WORDS = 4,
    TL_SMPM_OPERATOR = 1, // requester of the out-of-band operator
};
typedef enum tl_smpm_page {
    TL_SMPM_PAGE_REGISTERS,
    TL_SMPM_PAGE_FILTERS,
    TL_SMPM_PAGE_KEYS,
    TL_SMPM_PAGE_AUDIT,
    TL_SMPM_N_PAGES
} tl_smpm_page;

// Keys of opcode CONFIG.
enum {
    TL_SMPM_CONFIG_HV_READS_VM, // 0 or 1: policy K4
    TL_SMPM_CONFIG_MASK,        // number of a ULC: all of its counters are masked
};

typedef struct tl_smpm_service tl_smpm_service;

typedef struct tl_smpm_service_plan {
    tl_smpm *model;
    const tl_smpm_config *config;
    const tl_monitor_plan *chip; // borrowed: tenants, rules, key of the operator
    const uint64_t *list;        // directory of metrics
    uint32_t n_list_words, n_ulcs;
    void *ctx;
    // Device cycles in which no partition had a VM, of all, and how many partitions have one.
    void (*idle)(void *ctx, uint64_t *ret_idle_cycles, uint32_t *ret_n_partitions);
    // The partition on which the VM is at present; TL_MONITOR_NONE: another VM is there.
    uint32_t (*partition_of)(void *ctx, uint32_t vm);
} tl_smpm_service_plan;

// TL_EINVAL: a block does not fit into the window.
TL_MUST_CHECK tl_status tl_smpm_service_new(const tl_smpm_service_plan *plan, tl_arena *arena, tl_smpm_service **ret_service,
                                            tl_error *err);
uint64_t tl_smpm_service_bytes(const tl_smpm_service *service);
// Offset of a page in the window.
uint64_t tl_smpm_service_page(const tl_smpm_service *service, tl_smpm_page page);
// Offset of a block; context TL_MONITOR_NONE: that of the VM.
uint64_t tl_smpm_service_block(const tl_smpm_service *service, uint32_t vm, uint32_t context);
bool tl_smpm_service_load(tl_smpm_service *service, const tl_monitor_client *client, uint64_t offset, uint32_t size_bytes,
                          uint64_t *ret_value);
bool tl_smpm_service_store(tl_smpm_service *service, const tl_monitor_client *client, uint64_t offset, uint32_t size_bytes, uint64_t value);
// The controller of a monitor of this design (chip.c).
tl_smpm_service *tl_smpm_chip_service(tl_chip_monitor *monitor);
tl_smpm_mcu *tl_smpm_service_mcu(tl_smpm_service *service);
tl_smpm_mailbox *tl_smpm_service_mailbox(tl_smpm_service *service);

#endif
