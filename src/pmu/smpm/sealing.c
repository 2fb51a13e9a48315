// SPDX-License-Identifier: MIT
// Records of confidential VMs; see sealing.h.
#include "pmu/smpm/sealing.h"

#include <string.h>

#include "base/bits.h"
#include "sealed/hash.h"
#include "sealed/key_file.h"

enum { DEVICE = 1 }; // number of the chip in headers

typedef struct sealed_vm {
    tl_smpm_copier copier;
    FILE *records;
} sealed_vm;

struct tl_smpm_sealing {
    tl_smpm_sealing_plan plan;
    tl_sealed_device device;
    uint32_t n_vms, most_ctxs;
    sealed_vm *vms[TL_SEALED_MAX_VMS];
};

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "no memory for sealed records"); }

tl_status tl_smpm_sealing_new(const tl_smpm_sealing_plan *plan, tl_arena *arena, tl_smpm_sealing **ret_sealing, tl_error *err) {
    const tl_sealed_identity identity = {.device = DEVICE, .protocol = "smpm/1"};
    const tl_crypto *crypto;
    uint8_t secret[TL_KEY_BYTES];
    tl_status status = tl_crypto_get(&crypto, err);
    if (status != TL_OK)
        return status;
    tl_smpm_sealing *s = tl_arena_alloc(arena, sizeof *s);
    if (!s)
        return no_memory(err);
    s->plan = *plan;
    status = crypto->random(secret, sizeof secret);
    if (status != TL_OK)
        return tl_fail(err, status, "sealed records: the cryptographic library gives no random numbers");
    status = tl_sealed_device_init(&s->device, crypto, &identity, secret, err);
    tl_wipe(secret, sizeof secret);
    if (status == TL_OK)
        *ret_sealing = s;
    return status;
}

// The VM's side of the session. Its owner keeps the key.
static tl_status begin_session(tl_smpm_sealing *s, tl_smpm_copier *copier, uint64_t now_cycles, FILE *key, tl_error *err) {
    const tl_smpm_identity system = {TL_SMPM_GUEST_OS, copier->vm, TL_SMPM_NO_CTX};
    tl_sealed_guest guest = {.crypto = s->device.crypto, .expected = s->device.identity, .vm = copier->vm};
    uint8_t hello[TL_HELLO_BYTES], quote[TL_QUOTE_BYTES];
    tl_status status = tl_sealed_guest_hello(&guest, hello, err);
    if (status == TL_OK)
        status = tl_smpm_copier_answer(copier, &system, now_cycles, hello, quote, err);
    if (status == TL_OK)
        status = tl_sealed_guest_accept(&guest, quote, err);
    if (status == TL_OK) {
        tl_key_file file = {
            .device = DEVICE, .vm = copier->vm, .epoch = guest.epoch, .n_values = s->plan.n, .is_literal = s->plan.is_literal};
        memcpy(file.key, guest.keys.to_vm.key, sizeof file.key);
        memcpy(file.iv_mask, guest.keys.to_vm.iv_mask, sizeof file.iv_mask);
        (void)!tl_key_file_write(&file, key); // the stream keeps its error
        tl_wipe(&file, sizeof file);
    }
    tl_sealed_guest_done(&guest);
    return status;
}

tl_status tl_smpm_sealing_add(tl_smpm_sealing *s, uint32_t vm, uint32_t n_ctxs, uint64_t now_cycles, FILE *records, FILE *key,
                              tl_arena *arena, tl_error *err) {
    const uint32_t n = s->plan.n, slot_bytes = tl_record_bytes(n, s->plan.is_literal);
    if (vm >= TL_SEALED_MAX_VMS)
        return tl_fail(err, TL_EINVAL, "VM %u: at most %d VMs have sealed records; run fewer", vm, TL_SEALED_MAX_VMS - 1);
    sealed_vm *its = tl_arena_alloc(arena, sizeof *its);
    void *memory = tl_arena_alloc(arena, tl_smpm_copier_bytes(n, s->plan.is_literal));
    uint8_t *slot = tl_arena_alloc(arena, slot_bytes);
    if (!its || !memory || !slot)
        return no_memory(err);
    const tl_smpm_copier settings = {.mcu = s->plan.mcu,
                                     .device = &s->device,
                                     .ring = {slot, 1, slot_bytes},
                                     .vm = vm,
                                     .n = n,
                                     .n_ctxs = n_ctxs,
                                     .is_literal = s->plan.is_literal,
                                     .interval_cycles = s->plan.interval_cycles};
    tl_smpm_copier_init(&its->copier, &settings, memory);
    its->records = records;
    const tl_status status = begin_session(s, &its->copier, now_cycles, key, err);
    if (status != TL_OK)
        return status;
    s->vms[s->n_vms++] = its;
    s->most_ctxs = n_ctxs > s->most_ctxs ? n_ctxs : s->most_ctxs;
    return TL_OK;
}

uint64_t tl_smpm_sealing_next(const tl_smpm_sealing *s) {
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < s->n_vms; i++)
        next = s->vms[i]->copier.is_stopped ? next : tl_lesser(next, s->vms[i]->copier.next_cycle);
    return next;
}

void tl_smpm_sealing_tick(tl_smpm_sealing *s, uint64_t now_cycles) {
    for (uint32_t i = 0; i < s->n_vms; i++) {
        tl_smpm_copier *copier = &s->vms[i]->copier;
        while (!copier->is_stopped && copier->next_cycle <= now_cycles) {
            const uint64_t n_before = copier->n_sent;
            tl_smpm_copier_tick(copier, copier->next_cycle); // one record
            if (copier->n_sent != n_before)
                fwrite(copier->ring.slots, 1, copier->ring.slot_bytes, s->vms[i]->records);
        }
    }
}

uint64_t tl_smpm_sealing_round_cycles(const tl_smpm_sealing *s) { return (uint64_t)(s->most_ctxs + 2) * s->plan.interval_cycles; }
