// SPDX-License-Identifier: MIT
// The firmware's answers; see mcu.h. Order of checks: form, code, replay, rights. Nobody without a
// key learns anything, and a replay changes nothing.
#include "pmu/smpm/mcu.h"

#include <endian.h>
#include <string.h>

#include "sealed/bytes.h"
#include "sealed/hash.h"

enum {
    OP_AT = 6,
    REQUESTER_AT = 8,
    VM_AT = 12,
    CTX_AT = 16,
    HANDLE_AT = 20,
    SEQ_AT = 24,
    INTERVAL_AT = 32,
    LEASE_AT = 40,
    MASK_AT = 48,
    CODE_AT = 112,
    REQUEST_VERSION = 1,
    LATE_WORD = 6,         // of a block's header
    HANDLE_INDEX_BITS = 6, // of TL_SMPM_MAX_CAPS
};
_Static_assert(TL_SMPM_MAX_CAPS == 1 << HANDLE_INDEX_BITS && CODE_AT + TL_SHA256_BYTES == TL_SMPM_REQUEST_BYTES &&
                   MASK_AT + 8 * TL_SMPM_MASK_WORDS == CODE_AT,
               "the layout of a request");

void tl_smpm_mcu_init(tl_smpm_mcu *mcu, const tl_smpm_source *source, bool is_literal, const uint8_t secret[TL_SMPM_KEY_BYTES]) {
    memset(mcu, 0, sizeof *mcu);
    mcu->source = source;
    mcu->limits = (tl_smpm_limits){
        .snapshot_cycles = 10000,
        .snapshots_per_second = 1000,
        .pm_hz = 1000000000,
        .max_lease_cycles = UINT64_C(1) << 40,
    };
    tl_smpm_policy_init(&mcu->policy, is_literal);
    memcpy(mcu->secret, secret, sizeof mcu->secret);
}

tl_smpm_requester *tl_smpm_mcu_requester(tl_smpm_mcu *mcu, uint32_t id) {
    for (unsigned i = 0; id != 0 && i < TL_SMPM_MAX_REQUESTERS; i++)
        if (mcu->requesters[i].id == id)
            return &mcu->requesters[i];
    return NULL;
}

bool tl_smpm_mcu_enroll(tl_smpm_mcu *mcu, const tl_smpm_requester *requester) {
    if (requester->id == 0 || tl_smpm_mcu_requester(mcu, requester->id))
        return false;
    for (unsigned i = 0; i < TL_SMPM_MAX_REQUESTERS; i++) {
        if (mcu->requesters[i].id != 0)
            continue;
        mcu->requesters[i] = *requester;
        mcu->requesters[i].last_seq = 0;
        return true;
    }
    return false;
}

static uint64_t now_of(const tl_smpm_mcu *mcu) {
    tl_smpm_counts counts = {0};
    mcu->source->counts(mcu->source->device, &counts);
    return counts.now_cycles;
}

//  ---- requests

static void code_of(const uint8_t *request, const uint8_t key[TL_SMPM_KEY_BYTES], uint8_t ret_code[TL_SHA256_BYTES]) {
    tl_hmac mac;
    tl_hmac_init(&mac, key, TL_SMPM_KEY_BYTES);
    tl_hmac_add(&mac, request, CODE_AT);
    tl_hmac_end(&mac, ret_code);
}

void tl_smpm_request_sign(uint8_t request[TL_SMPM_REQUEST_BYTES], const uint8_t key[TL_SMPM_KEY_BYTES]) {
    code_of(request, key, request + CODE_AT);
}

void tl_smpm_request_write(const tl_smpm_request *request, const uint8_t key[TL_SMPM_KEY_BYTES], uint8_t ret_bytes[TL_SMPM_REQUEST_BYTES]) {
    tl_put_u32(ret_bytes, TL_SMPM_REQUEST_MAGIC);
    tl_put_u16(ret_bytes + 4, REQUEST_VERSION);
    tl_put_u16(ret_bytes + OP_AT, request->op);
    tl_put_u32(ret_bytes + REQUESTER_AT, request->requester);
    tl_put_u32(ret_bytes + VM_AT, request->vm);
    tl_put_u32(ret_bytes + CTX_AT, request->ctx);
    tl_put_u32(ret_bytes + HANDLE_AT, request->handle);
    tl_put_u64(ret_bytes + SEQ_AT, request->seq);
    tl_put_u64(ret_bytes + INTERVAL_AT, request->min_interval);
    tl_put_u64(ret_bytes + LEASE_AT, request->lease);
    for (unsigned i = 0; i < TL_SMPM_MASK_WORDS; i++)
        tl_put_u64(ret_bytes + MASK_AT + 8 * i, request->mask[i]);
    tl_smpm_request_sign(ret_bytes, key);
}

static void read_request(const uint8_t *bytes, tl_smpm_request *ret_request) {
    *ret_request = (tl_smpm_request){
        .op = tl_get_u16(bytes + OP_AT),
        .requester = tl_get_u32(bytes + REQUESTER_AT),
        .vm = tl_get_u32(bytes + VM_AT),
        .ctx = tl_get_u32(bytes + CTX_AT),
        .handle = tl_get_u32(bytes + HANDLE_AT),
        .seq = tl_get_u64(bytes + SEQ_AT),
        .min_interval = tl_get_u64(bytes + INTERVAL_AT),
        .lease = tl_get_u64(bytes + LEASE_AT),
    };
    for (unsigned i = 0; i < TL_SMPM_MASK_WORDS; i++)
        ret_request->mask[i] = tl_get_u64(bytes + MASK_AT + 8 * i);
}

static uint32_t handle_of(const tl_smpm_mcu *mcu, const tl_smpm_cap *cap) {
    return cap->generation << HANDLE_INDEX_BITS | (uint32_t)(cap - mcu->caps);
}

static void end_cap(tl_smpm_cap *cap) { *cap = (tl_smpm_cap){.generation = cap->generation}; }

// NULL: no such capability, or its lease is over.
static tl_smpm_cap *find_cap(tl_smpm_mcu *mcu, uint32_t handle, uint64_t now) {
    tl_smpm_cap *cap = &mcu->caps[handle % TL_SMPM_MAX_CAPS];
    if (!cap->is_used || handle_of(mcu, cap) != handle)
        return NULL;
    if (now < cap->until)
        return cap;
    end_cap(cap);
    return NULL;
}

static uint64_t end_of_lease(const tl_smpm_mcu *mcu, uint64_t now, uint64_t lease) {
    uint64_t length = lease < mcu->limits.max_lease_cycles ? lease : mcu->limits.max_lease_cycles;
    return length > UINT64_MAX - now ? UINT64_MAX : now + length;
}

static tl_smpm_reply grant(tl_smpm_mcu *mcu, const tl_smpm_request *request, uint64_t now, uint32_t *ret_handle) {
    tl_smpm_cap *free_cap = NULL;
    if (request->lease == 0)
        return TL_SMPM_REPLY_MALFORMED;
    for (unsigned i = 0; i < TL_SMPM_MAX_CAPS && !free_cap; i++)
        if (!mcu->caps[i].is_used || now >= mcu->caps[i].until)
            free_cap = &mcu->caps[i];
    if (!free_cap)
        return TL_SMPM_REPLY_FULL;
    *free_cap = (tl_smpm_cap){
        .is_used = true,
        .generation = (free_cap->generation + 1) & (UINT32_MAX >> HANDLE_INDEX_BITS),
        .vm = request->vm,
        .ctx = request->ctx,
        .requester = request->requester,
        .min_interval = request->min_interval,
        .until = end_of_lease(mcu, now, request->lease),
    };
    memcpy(free_cap->mask, request->mask, sizeof free_cap->mask);
    *ret_handle = handle_of(mcu, free_cap);
    return TL_SMPM_REPLY_OK;
}

static tl_smpm_reply obey(tl_smpm_mcu *mcu, const tl_smpm_request *request, uint64_t now, uint32_t *ret_handle) {
    if (request->op == TL_SMPM_OP_GRANT)
        return grant(mcu, request, now, ret_handle);
    tl_smpm_cap *cap = find_cap(mcu, request->handle, now);
    if (!cap || cap->requester != request->requester || cap->vm != request->vm || cap->ctx != request->ctx)
        return TL_SMPM_REPLY_NO_HANDLE;
    if (request->op == TL_SMPM_OP_REVOKE)
        end_cap(cap);
    else
        cap->until = end_of_lease(mcu, now, request->lease);
    return TL_SMPM_REPLY_OK;
}

tl_smpm_reply tl_smpm_mcu_request(tl_smpm_mcu *mcu, const tl_smpm_identity *sender, const uint8_t *bytes, size_t n_bytes,
                                  uint32_t *ret_handle) {
    tl_smpm_audit_entry entry = {.t_cycle = now_of(mcu), .identity = *sender, .operation = TL_SMPM_REQUEST};
    tl_smpm_reply reply = TL_SMPM_REPLY_MALFORMED;
    tl_smpm_request request;
    entry.cause = TL_SMPM_CAUSE_MALFORMED;
    if (n_bytes != TL_SMPM_REQUEST_BYTES || tl_get_u32(bytes) != TL_SMPM_REQUEST_MAGIC || tl_get_u16(bytes + 4) != REQUEST_VERSION)
        goto refuse;
    read_request(bytes, &request);
    entry.requester = request.requester;
    entry.object = (tl_smpm_object){TL_SMPM_OBJECT_CTX, request.vm, request.ctx};
    if (request.op < TL_SMPM_OP_GRANT || request.op > TL_SMPM_OP_REVOKE)
        goto refuse;
    // An unknown requester takes as long as a known one.
    static const tl_smpm_requester nobody;
    tl_smpm_requester *requester = tl_smpm_mcu_requester(mcu, request.requester);
    uint8_t code[TL_SHA256_BYTES];
    code_of(bytes, (requester ? requester : &nobody)->key, code);
    bool is_verified = tl_bytes_equal(code, bytes + CODE_AT, sizeof code) && requester;
    reply = TL_SMPM_REPLY_UNVERIFIED;
    entry.cause = is_verified ? TL_SMPM_CAUSE_REPLAY : TL_SMPM_CAUSE_SIGNATURE;
    if (!is_verified || request.seq <= requester->last_seq)
        goto refuse;
    requester->last_seq = request.seq;
    reply = TL_SMPM_REPLY_DENIED;
    entry.cause = TL_SMPM_CAUSE_RIGHT;
    if (!(requester->rights & TL_SMPM_RIGHT_GRANT) || request.vm >= TL_SMPM_MAX_VMS || !(requester->vms >> request.vm & 1))
        goto refuse;
    reply = obey(mcu, &request, entry.t_cycle, ret_handle);
    if (reply == TL_SMPM_REPLY_OK)
        return reply;
    entry.cause = reply == TL_SMPM_REPLY_NO_HANDLE ? TL_SMPM_CAUSE_HANDLE : TL_SMPM_CAUSE_MALFORMED;
refuse:
    tl_smpm_audit_add(&mcu->audit, &entry);
    return reply;
}

void tl_smpm_mcu_drop(tl_smpm_mcu *mcu, uint32_t vm, uint32_t ctx) {
    for (unsigned i = 0; i < TL_SMPM_MAX_CAPS; i++)
        if (mcu->caps[i].is_used && mcu->caps[i].vm == vm && (ctx == TL_SMPM_NO_CTX || mcu->caps[i].ctx == ctx))
            end_cap(&mcu->caps[i]);
    if (ctx == TL_SMPM_NO_CTX && vm < TL_SMPM_MAX_VMS)
        mcu->rates[vm] = (tl_smpm_rate){0};
}

//  ---- clients

static void refuse_client(tl_smpm_mcu *mcu, const tl_smpm_identity *client, tl_smpm_operation operation, tl_smpm_object object,
                          uint64_t now, tl_smpm_cause cause) {
    tl_smpm_audit_add(
        &mcu->audit, &(tl_smpm_audit_entry){.t_cycle = now, .cause = cause, .identity = *client, .operation = operation, .object = object});
}

// The capability of this very client, or NULL after an audit entry.
static tl_smpm_cap *cap_of(tl_smpm_mcu *mcu, const tl_smpm_identity *client, uint32_t handle, tl_smpm_operation operation,
                           tl_smpm_object object, uint64_t now) {
    tl_smpm_cap *cap = find_cap(mcu, handle, now);
    bool is_guest = client->who == TL_SMPM_GUEST_CTX || client->who == TL_SMPM_GUEST_OS;
    uint32_t ctx = client->who == TL_SMPM_GUEST_OS ? TL_SMPM_NO_CTX : client->ctx;
    if (cap && is_guest && cap->vm == client->vm && cap->ctx == ctx)
        return cap;
    refuse_client(mcu, client, operation, object, now, TL_SMPM_CAUSE_HANDLE);
    return NULL;
}

static bool is_in(const uint64_t mask[TL_SMPM_MASK_WORDS], uint32_t index) {
    return index < 64 * TL_SMPM_MASK_WORDS && mask[index / 64] >> index % 64 & 1;
}

void tl_smpm_mask_copy(uint64_t *words, const uint64_t mask[TL_SMPM_MASK_WORDS]) {
    tl_smpm_block block;
    if (tl_smpm_block_decode(words, TL_SMPM_MAX_BLOCK_WORDS, &block, NULL) != TL_OK)
        return;
    for (uint32_t i = 0; i < block.shape.n; i++) {
        if (is_in(mask, i))
            continue;
        for (tl_smpm_part part = TL_SMPM_CTR; part < TL_SMPM_BITMAP; part++) {
            uint32_t at = tl_smpm_block_part_at(block.shape.n, block.shape.parts, part);
            if (at)
                words[at + i] = 0;
        }
        tl_smpm_block_set_available(words, i, false);
    }
    uint32_t late = tl_smpm_block_part_at(block.shape.n, block.shape.parts, TL_SMPM_LATE);
    uint64_t sum = 0; // the header's own sum would tell of metrics outside
    for (uint32_t i = 0; late && i < block.shape.n; i++)
        sum += le64toh(words[late + i]);
    words[LATE_WORD] = htole64(sum);
}

tl_smpm_reply tl_smpm_mcu_read(tl_smpm_mcu *mcu, const tl_smpm_identity *client, uint32_t handle, bool of_vm, uint64_t *ret_words,
                               uint32_t n_words) {
    uint64_t now = now_of(mcu);
    bool is_vm = of_vm || client->who == TL_SMPM_GUEST_OS;
    tl_smpm_object object = {is_vm ? TL_SMPM_OBJECT_VM : TL_SMPM_OBJECT_CTX, client->vm, is_vm ? TL_SMPM_NO_CTX : client->ctx};
    tl_smpm_cap *cap = cap_of(mcu, client, handle, TL_SMPM_READ, object, now);
    if (!cap)
        return TL_SMPM_REPLY_NO_HANDLE;
    if (tl_smpm_access(&mcu->policy, &mcu->audit, now, client, TL_SMPM_READ, &object) != TL_SMPM_ALLOWED)
        return TL_SMPM_REPLY_DENIED;
    if (cap->has_read && now - cap->last_read < cap->min_interval) {
        refuse_client(mcu, client, TL_SMPM_READ, object, now, TL_SMPM_CAUSE_RATE);
        return TL_SMPM_REPLY_TOO_SOON;
    }
    switch (mcu->source->read(mcu->source->device, is_vm ? TL_SMPM_VM : TL_SMPM_CTX, object.vm, object.ctx, ret_words, n_words)) {
    case TL_SMPM_COPIED: break;
    case TL_SMPM_BUSY: return TL_SMPM_REPLY_BUSY;
    default: return TL_SMPM_REPLY_NO_BLOCK;
    }
    cap->has_read = true;
    cap->last_read = now;
    tl_smpm_mask_copy(ret_words, cap->mask);
    return TL_SMPM_REPLY_OK;
}

tl_smpm_reply tl_smpm_mcu_view(tl_smpm_mcu *mcu, const tl_smpm_identity *reader, const tl_smpm_object *object, uint64_t *ret_words,
                               uint32_t n_words) {
    static const tl_smpm_kind kinds[] = {[TL_SMPM_OBJECT_CTX] = TL_SMPM_CTX,
                                         [TL_SMPM_OBJECT_VM] = TL_SMPM_VM,
                                         [TL_SMPM_OBJECT_VM0] = TL_SMPM_VM0,
                                         [TL_SMPM_OBJECT_DEV] = TL_SMPM_DEV};
    if ((unsigned)object->kind > TL_SMPM_OBJECT_DEV)
        return TL_SMPM_REPLY_MALFORMED;
    tl_smpm_decision decision = tl_smpm_access(&mcu->policy, &mcu->audit, now_of(mcu), reader, TL_SMPM_READ, object);
    if (decision == TL_SMPM_FAULT)
        return TL_SMPM_REPLY_DENIED;
    bool has_vm = object->kind == TL_SMPM_OBJECT_CTX || object->kind == TL_SMPM_OBJECT_VM;
    uint32_t ctx = object->kind == TL_SMPM_OBJECT_CTX ? object->ctx : TL_SMPM_NO_CTX;
    tl_smpm_copied copied = mcu->source->read(mcu->source->device, kinds[object->kind], has_vm ? object->vm : 0, ctx, ret_words, n_words);
    if (copied != TL_SMPM_COPIED)
        return copied == TL_SMPM_BUSY ? TL_SMPM_REPLY_BUSY : TL_SMPM_REPLY_NO_BLOCK;
    if (decision == TL_SMPM_ALLOWED_LISTED)
        tl_smpm_mask_copy(ret_words, mcu->listed);
    return TL_SMPM_REPLY_OK;
}

static bool is_too_soon(const tl_smpm_mcu *mcu, const tl_smpm_rate *rate, uint64_t now) {
    if (!rate->has_snapshot)
        return false;
    bool is_same_second = now - rate->window_begin < mcu->limits.pm_hz;
    return now - rate->last < mcu->limits.snapshot_cycles || (is_same_second && rate->n_in_window >= mcu->limits.snapshots_per_second);
}

tl_smpm_reply tl_smpm_mcu_snapshot(tl_smpm_mcu *mcu, const tl_smpm_identity *client, uint32_t handle) {
    uint64_t now = now_of(mcu);
    tl_smpm_object object = {TL_SMPM_OBJECT_VM, client->vm, TL_SMPM_NO_CTX};
    if (!cap_of(mcu, client, handle, TL_SMPM_REQUEST, object, now) || client->vm >= TL_SMPM_MAX_VMS)
        return TL_SMPM_REPLY_NO_HANDLE;
    tl_smpm_rate *rate = &mcu->rates[client->vm]; // of the VM: more handles give no more snapshots
    if (is_too_soon(mcu, rate, now)) {
        refuse_client(mcu, client, TL_SMPM_REQUEST, object, now, TL_SMPM_CAUSE_RATE);
        return TL_SMPM_REPLY_TOO_SOON;
    }
    if (!mcu->source->snapshot(mcu->source->device, client->vm))
        return TL_SMPM_REPLY_BUSY;
    if (!rate->has_snapshot || now - rate->window_begin >= mcu->limits.pm_hz) {
        rate->window_begin = now;
        rate->n_in_window = 0;
    }
    rate->has_snapshot = true;
    rate->last = now;
    rate->n_in_window++;
    return TL_SMPM_REPLY_OK;
}
