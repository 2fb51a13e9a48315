// SPDX-License-Identifier: MIT
// Blocks become records; see copier.h.
#include "pmu/smpm/copier.h"

#include <assert.h>
#include <string.h>

static uint32_t n_words_of(uint32_t n) { return tl_smpm_block_n_words(n, tl_smpm_safe_parts(TL_SMPM_VM)); }

size_t tl_smpm_copier_bytes(uint32_t n, bool is_literal) {
    size_t n_bytes =
        8 * ((size_t)n_words_of(n) + 2 * (size_t)n) + tl_record_payload_bytes(n, is_literal) + tl_record_bytes(n, is_literal) + n;
    return (n_bytes + 7) / 8 * 8;
}

void tl_smpm_copier_init(tl_smpm_copier *copier, const tl_smpm_copier *settings, void *memory) {
    *copier = *settings;
    assert(copier->vm < TL_SEALED_MAX_VMS && copier->interval_cycles > 0 &&
           copier->ring.slot_bytes == tl_record_bytes(copier->n, copier->is_literal));
    uint64_t *words = memory;
    copier->words = words;
    copier->values = words + n_words_of(copier->n);
    copier->late = copier->values + copier->n;
    copier->scratch = (uint8_t *)(copier->late + copier->n);
    copier->record = copier->scratch + tl_record_payload_bytes(copier->n, copier->is_literal);
    copier->unavailable = copier->record + tl_record_bytes(copier->n, copier->is_literal);
    copier->is_stopped = true;
}

tl_status tl_smpm_copier_answer(tl_smpm_copier *copier, const tl_smpm_identity *sender, uint64_t now_cycles,
                                const uint8_t hello[TL_HELLO_BYTES], uint8_t ret_quote[TL_QUOTE_BYTES], tl_error *err) {
    tl_smpm_mcu *mcu = copier->mcu;
    const tl_smpm_object keys = {TL_SMPM_OBJECT_KEYS, copier->vm, TL_SMPM_NO_CTX};
    if (tl_smpm_access(&mcu->policy, &mcu->audit, now_cycles, sender, TL_SMPM_USE, &keys) != TL_SMPM_ALLOWED)
        return tl_fail(err, TL_EACCESS, "session request of VM %u: only its own system may begin a session", copier->vm);
    tl_status status = tl_sealed_device_answer(copier->device, copier->vm, hello, ret_quote, err);
    if (!tl_sealed_device_link(copier->device, copier->vm)) {
        tl_smpm_copier_stop(copier);
        return status;
    }
    if (status != TL_OK)
        return status; // no hello: the open session goes on
    mcu->policy.has_key |= UINT64_C(1) << copier->vm;
    copier->is_stopped = false;
    copier->turn = 0;
    copier->next_cycle = now_cycles + copier->interval_cycles;
    return TL_OK;
}

void tl_smpm_copier_stop(tl_smpm_copier *copier) {
    tl_sealed_device_close(copier->device, copier->vm);
    copier->mcu->policy.has_key &= ~(UINT64_C(1) << copier->vm);
    copier->is_stopped = true;
}

static void read_image(tl_smpm_copier *copier, uint32_t ctx, tl_record_image *ret_image) {
    const tl_smpm_source *source = copier->mcu->source;
    tl_smpm_kind kind = ctx == TL_SMPM_NO_CTX ? TL_SMPM_VM : TL_SMPM_CTX;
    tl_smpm_block block;
    *ret_image = (tl_record_image){.ctx = ctx,
                                   .n = copier->n,
                                   .flags = TL_SMPM_UNAVAILABLE,
                                   .values = copier->values,
                                   .late = copier->late,
                                   .unavailable = copier->unavailable};
    memset(copier->values, 0, 8 * (size_t)copier->n);
    memset(copier->late, 0, 8 * (size_t)copier->n);
    memset(copier->unavailable, 1, copier->n);
    uint32_t n_words = n_words_of(copier->n);
    if (source->read(source->device, kind, copier->vm, ctx, copier->words, n_words) != TL_SMPM_COPIED ||
        tl_smpm_block_decode(copier->words, n_words, &block, NULL) != TL_OK || block.shape.n != copier->n)
        return;
    ret_image->gen = block.gen;
    ret_image->t_commit = block.t_commit;
    ret_image->t_active = block.t_active;
    ret_image->flags = block.flags;
    for (uint32_t i = 0; i < copier->n; i++) {
        tl_smpm_value value = tl_smpm_block_value(&block, TL_SMPM_CTR, i), late = tl_smpm_block_value(&block, TL_SMPM_LATE, i);
        copier->unavailable[i] = value.flags & TL_SMPM_UNAVAILABLE ? 1 : 0;
        copier->values[i] = value.count;
        copier->late[i] = late.count;
        if (copier->is_literal)
            ret_image->flags |= value.flags & TL_SMPM_UNAVAILABLE; // the form has no flag per value
    }
}

static void send_one(tl_smpm_copier *copier) {
    tl_sealed_link *link = tl_sealed_device_link(copier->device, copier->vm);
    uint32_t ctx = copier->turn == 0 ? TL_SMPM_NO_CTX : copier->turn - 1;
    const tl_smpm_object object = {ctx == TL_SMPM_NO_CTX ? TL_SMPM_OBJECT_VM : TL_SMPM_OBJECT_CTX, copier->vm, ctx};
    const tl_smpm_identity engine = {TL_SMPM_COPY_ENGINE, copier->vm, TL_SMPM_NO_CTX};
    copier->turn = copier->turn == copier->n_ctxs ? 0 : copier->turn + 1;
    copier->is_stopped = true;
    if (!link ||
        tl_smpm_access(&copier->mcu->policy, &copier->mcu->audit, copier->next_cycle, &engine, TL_SMPM_READ, &object) != TL_SMPM_ALLOWED)
        return;
    tl_record_image image;
    read_image(copier, ctx, &image);
    tl_record_sender sender = {
        .crypto = copier->device->crypto,
        .key = &link->keys.to_vm,
        .device = copier->device->identity.device,
        .vm = copier->vm,
        .epoch = link->epoch,
        .is_literal = copier->is_literal,
        .scratch = copier->scratch,
    };
    if (tl_record_seal(&sender, &image, copier->next_cycle, copier->record) != TL_OK) {
        tl_smpm_copier_stop(copier); // the limit is reached: the VM asks for a new session
        return;
    }
    memcpy(tl_record_ring_slot(&copier->ring, link->keys.to_vm.seq), copier->record, copier->ring.slot_bytes);
    copier->n_sent++;
    copier->is_stopped = false;
}

void tl_smpm_copier_tick(tl_smpm_copier *copier, uint64_t now_cycles) {
    while (!copier->is_stopped && now_cycles >= copier->next_cycle) {
        send_one(copier);
        copier->next_cycle += copier->interval_cycles;
    }
}
