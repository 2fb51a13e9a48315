// SPDX-License-Identifier: MIT
// The mailbox's commands; see mailbox.h.
#include "pmu/smpm/mailbox.h"

#include <string.h>

#include "sealed/bytes.h"
#include "sealed/hash.h"

enum { SCOPE_DEV, SCOPE_VM, SCOPE_CTX, N_AUTH = 4, MAX_FAILURES = 3, LOCK_CYCLES = 1 << 20 };
enum { AUTH_BEGIN, AUTH_PROVE, AUTH_END };

void tl_smpm_mailbox_init(tl_smpm_mailbox *mailbox, tl_smpm_mcu *mcu) {
    memset(mailbox, 0, sizeof *mailbox);
    mailbox->mcu = mcu;
}

//  ---- codes

static void put_challenge(const uint32_t challenge[2], uint8_t ret_bytes[8]) {
    tl_put_u32(ret_bytes, challenge[0]);
    tl_put_u32(ret_bytes + 4, challenge[1]);
}

static void to_words(const uint8_t code[TL_SHA256_BYTES], uint32_t ret_auth[N_AUTH]) {
    for (unsigned i = 0; i < N_AUTH; i++)
        ret_auth[i] = tl_get_u32(code + 4 * i);
}

// HMAC(key, label || bytes); the label has its NUL, so that no label begins another one.
static void keyed(const uint8_t *key, const char *label, const uint8_t *bytes, size_t n_bytes, uint8_t ret_code[TL_SHA256_BYTES]) {
    tl_hmac mac;
    tl_hmac_init(&mac, key, TL_SMPM_KEY_BYTES);
    tl_hmac_add(&mac, label, strlen(label) + 1);
    tl_hmac_add(&mac, bytes, n_bytes);
    tl_hmac_end(&mac, ret_code);
}

void tl_smpm_oob_proof(const uint8_t key[TL_SMPM_KEY_BYTES], uint32_t requester, const uint32_t challenge[2], uint32_t ret_auth[4]) {
    uint8_t bytes[12], code[TL_SHA256_BYTES];
    put_challenge(challenge, bytes);
    tl_put_u32(bytes + 8, requester);
    keyed(key, "oob proof", bytes, sizeof bytes, code);
    to_words(code, ret_auth);
}

void tl_smpm_oob_session(const uint8_t key[TL_SMPM_KEY_BYTES], const uint32_t challenge[2], uint8_t ret_key[32]) {
    uint8_t bytes[8];
    put_challenge(challenge, bytes);
    keyed(key, "oob session", bytes, sizeof bytes, ret_key);
}

void tl_smpm_oob_code(const uint8_t session_key[32], uint64_t n_codes, uint32_t cmd, uint32_t data_in, uint32_t ret_auth[4]) {
    uint8_t bytes[16], code[TL_SHA256_BYTES];
    tl_put_u64(bytes, n_codes);
    tl_put_u32(bytes + 8, cmd & 0xffffff);
    tl_put_u32(bytes + 12, data_in);
    keyed(session_key, "oob command", bytes, sizeof bytes, code);
    to_words(code, ret_auth);
}

//  ---- authentication

static void end_session(tl_smpm_mailbox *mailbox) {
    mailbox->is_open = mailbox->has_challenge = false;
    mailbox->requester = 0;
    mailbox->n_codes = 0;
    tl_wipe(mailbox->key, sizeof mailbox->key);
}

void tl_smpm_mailbox_hang_up(tl_smpm_mailbox *mailbox) {
    end_session(mailbox);
    tl_wipe(mailbox->latch, sizeof mailbox->latch);
    mailbox->has_latch = false;
    mailbox->scope = mailbox->cmd = mailbox->data_in = mailbox->data_out = mailbox->ext_out = 0;
    mailbox->idle_at_latch = mailbox->total_at_latch = mailbox->idle_sample = mailbox->total_sample = 0;
    memset(mailbox->auth, 0, sizeof mailbox->auth);
}

static void audit(tl_smpm_mailbox *mailbox, uint64_t now, tl_smpm_cause cause, tl_smpm_object object) {
    tl_smpm_audit_add(&mailbox->mcu->audit, &(tl_smpm_audit_entry){.t_cycle = now,
                                                                   .cause = cause,
                                                                   .identity = {TL_SMPM_CONTROLLER, TL_SMPM_NO_VM, TL_SMPM_NO_CTX},
                                                                   .operation = TL_SMPM_REQUEST,
                                                                   .object = object,
                                                                   .requester = mailbox->requester});
}

static tl_smpm_oob_status fail_code(tl_smpm_mailbox *mailbox, uint64_t now, tl_smpm_object object) {
    audit(mailbox, now, TL_SMPM_CAUSE_SIGNATURE, object);
    if (++mailbox->n_failures >= MAX_FAILURES) {
        audit(mailbox, now, TL_SMPM_CAUSE_LOCKED, object);
        end_session(mailbox);
        mailbox->n_failures = 0;
        mailbox->locked_until = now > UINT64_MAX - LOCK_CYCLES ? UINT64_MAX : now + LOCK_CYCLES;
    }
    return TL_SMPM_OOB_DENIED;
}

// The requester of the session if AUTH is the code of this command; else NULL after an audit entry.
static tl_smpm_requester *verify(tl_smpm_mailbox *mailbox, uint64_t now, tl_smpm_object object) {
    uint32_t expected[N_AUTH];
    tl_smpm_requester *requester = mailbox->is_open ? tl_smpm_mcu_requester(mailbox->mcu, mailbox->requester) : NULL;
    if (!requester) {
        audit(mailbox, now, TL_SMPM_CAUSE_SIGNATURE, object);
        return NULL;
    }
    tl_smpm_oob_code(mailbox->key, mailbox->n_codes, mailbox->cmd, mailbox->data_in, expected);
    if (!tl_bytes_equal(expected, mailbox->auth, sizeof expected)) {
        (void)fail_code(mailbox, now, object);
        return NULL;
    }
    mailbox->n_codes++;
    mailbox->n_failures = 0;
    return requester;
}

static tl_smpm_oob_status begin(tl_smpm_mailbox *mailbox) {
    tl_smpm_mcu *mcu = mailbox->mcu;
    uint8_t bytes[8], code[TL_SHA256_BYTES];
    end_session(mailbox);
    tl_put_u64(bytes, ++mcu->n_challenges);
    keyed(mcu->secret, "oob challenge", bytes, sizeof bytes, code);
    memcpy(mailbox->challenge, code, sizeof mailbox->challenge);
    mailbox->requester = mailbox->data_in; // known or not: the challenge does not tell
    mailbox->has_challenge = true;
    mailbox->data_out = tl_get_u32(code);
    mailbox->ext_out = tl_get_u32(code + 4);
    return TL_SMPM_OOB_SUCCESS;
}

static tl_smpm_oob_status prove(tl_smpm_mailbox *mailbox, uint64_t now) {
    static const uint8_t nobody[TL_SMPM_KEY_BYTES];
    if (!mailbox->has_challenge)
        return TL_SMPM_OOB_STALE;
    mailbox->has_challenge = false; // one try
    const tl_smpm_requester *requester = tl_smpm_mcu_requester(mailbox->mcu, mailbox->requester);
    const uint8_t *key = requester ? requester->key : nobody;
    const uint32_t challenge[2] = {tl_get_u32(mailbox->challenge), tl_get_u32(mailbox->challenge + 4)};
    uint32_t expected[N_AUTH];
    tl_smpm_oob_proof(key, mailbox->requester, challenge, expected);
    if (!tl_bytes_equal(expected, mailbox->auth, sizeof expected) || !requester)
        return fail_code(mailbox, now, (tl_smpm_object){TL_SMPM_OBJECT_KEYS, TL_SMPM_NO_VM, TL_SMPM_NO_CTX});
    tl_smpm_oob_session(key, challenge, mailbox->key);
    mailbox->is_open = true;
    mailbox->n_codes = mailbox->n_failures = 0;
    return TL_SMPM_OOB_SUCCESS;
}

static tl_smpm_oob_status authenticate(tl_smpm_mailbox *mailbox, uint64_t now) {
    switch (mailbox->cmd >> 8 & 0xff) {
    case AUTH_BEGIN: return now < mailbox->locked_until ? TL_SMPM_OOB_BUSY : begin(mailbox);
    case AUTH_PROVE: return prove(mailbox, now);
    case AUTH_END: end_session(mailbox); return TL_SMPM_OOB_SUCCESS;
    default: return TL_SMPM_OOB_BAD_ARG;
    }
}

//  ---- the latch

// Object and rights of a scope; false: no such scope.
static bool read_scope(uint32_t data, uint32_t *ret_scope, tl_smpm_object *ret_object) {
    uint32_t scope = data >> 30, ctx = data >> 16 & 0x3fff, vm = data & 0xffff;
    bool is_valid = scope == SCOPE_DEV ? vm == 0 && ctx == 0 : scope == SCOPE_VM ? ctx == 0 : scope == SCOPE_CTX;
    static const tl_smpm_object_kind kinds[] = {TL_SMPM_OBJECT_DEV, TL_SMPM_OBJECT_VM, TL_SMPM_OBJECT_CTX};
    if (!is_valid)
        return false;
    *ret_scope = scope;
    *ret_object = (tl_smpm_object){kinds[scope], vm, scope == SCOPE_CTX ? ctx : TL_SMPM_NO_CTX};
    return true;
}

// Whether the command may touch the object now. Confidential VMs are never seen through the
// mailbox.
static bool may_read(tl_smpm_mailbox *mailbox, uint64_t now, uint32_t scope, tl_smpm_object object) {
    if (scope == SCOPE_DEV)
        return true;
    const tl_smpm_requester *requester = verify(mailbox, now, object);
    if (!requester)
        return false;
    uint32_t vm = object.vm;
    bool has_right = vm < TL_SMPM_MAX_VMS && requester->rights & TL_SMPM_RIGHT_LATCH_VM && requester->vms >> vm & 1;
    if (has_right && !(mailbox->mcu->policy.confidential >> vm & 1))
        return true;
    audit(mailbox, now, TL_SMPM_CAUSE_RIGHT, object);
    return false;
}

static tl_smpm_oob_status latch(tl_smpm_mailbox *mailbox, const tl_smpm_counts *counts) {
    const tl_smpm_source *source = mailbox->mcu->source;
    static const tl_smpm_kind kinds[] = {TL_SMPM_DEV, TL_SMPM_VM, TL_SMPM_CTX};
    uint32_t scope;
    tl_smpm_object object;
    if (!read_scope(mailbox->data_in, &scope, &object))
        return TL_SMPM_OOB_BAD_ARG;
    if (!may_read(mailbox, counts->now_cycles, scope, object))
        return TL_SMPM_OOB_DENIED;
    mailbox->has_latch = false;
    uint32_t vm = scope == SCOPE_DEV ? 0 : object.vm;
    switch (source->read(source->device, kinds[scope], vm, object.ctx, mailbox->latch, TL_SMPM_LATCH_WORDS)) {
    case TL_SMPM_COPIED: break;
    case TL_SMPM_BUSY: return TL_SMPM_OOB_BUSY;
    default: return TL_SMPM_OOB_BAD_ARG;
    }
    tl_smpm_block block;
    if (tl_smpm_block_decode(mailbox->latch, TL_SMPM_LATCH_WORDS, &block, NULL) != TL_OK)
        return TL_SMPM_OOB_BAD_ARG;
    mailbox->has_latch = true;
    mailbox->scope = mailbox->data_in;
    mailbox->latch_generation = counts->generation;
    mailbox->idle_at_latch = counts->idle_cycles;
    mailbox->total_at_latch = counts->total_cycles;
    mailbox->data_out = (uint32_t)block.gen;
    return TL_SMPM_OOB_SUCCESS;
}

static bool is_listed(const tl_smpm_mcu *mcu, uint32_t index) {
    return index < 64 * TL_SMPM_MASK_WORDS && mcu->listed[index / 64] >> index % 64 & 1;
}

static tl_smpm_oob_status read64(tl_smpm_mailbox *mailbox, const tl_smpm_counts *counts) {
    uint32_t index = mailbox->cmd >> 8 & 0xffff, scope;
    tl_smpm_object object;
    if (!mailbox->has_latch || mailbox->latch_generation != counts->generation)
        return TL_SMPM_OOB_STALE;
    if (!read_scope(mailbox->scope, &scope, &object) || !may_read(mailbox, counts->now_cycles, scope, object))
        return TL_SMPM_OOB_DENIED;
    tl_smpm_block block;
    if (tl_smpm_block_decode(mailbox->latch, TL_SMPM_LATCH_WORDS, &block, NULL) != TL_OK)
        return TL_SMPM_OOB_STALE;
    if (index >= block.shape.n)
        return TL_SMPM_OOB_BAD_ARG;
    if (scope == SCOPE_DEV && mailbox->mcu->policy.confidential && !is_listed(mailbox->mcu, index))
        return TL_SMPM_OOB_DENIED;
    tl_smpm_value value = tl_smpm_block_value(&block, TL_SMPM_CTR, index);
    if (value.flags & TL_SMPM_UNAVAILABLE)
        return TL_SMPM_OOB_UNAVAILABLE;
    mailbox->data_out = (uint32_t)value.count;
    mailbox->ext_out = (uint32_t)(value.count >> 32);
    mailbox->cmd |=
        (value.flags & (TL_SMPM_OVF | TL_SMPM_SATURATED) ? TL_SMPM_OOB_INEXACT : 0) | (value.flags & TL_SMPM_LOSSY ? TL_SMPM_OOB_LOSSY : 0);
    return TL_SMPM_OOB_SUCCESS;
}

//  ---- counts and configuration

static tl_smpm_oob_status identify(tl_smpm_mailbox *mailbox, const tl_smpm_counts *counts) {
    mailbox->data_out = TL_SMPM_OOB_VERSION | (counts->n_metrics & 0xffff) << 16;
    mailbox->ext_out = counts->n_blocks;
    return TL_SMPM_OOB_SUCCESS;
}

static tl_smpm_oob_status idle(tl_smpm_mailbox *mailbox, const tl_smpm_counts *counts) {
    unsigned half = mailbox->cmd >> 8 & 0xff;
    if (half > 1)
        return TL_SMPM_OOB_BAD_ARG;
    if (half == 0) {
        mailbox->idle_sample = counts->idle_cycles - mailbox->idle_at_latch;
        mailbox->total_sample = counts->total_cycles - mailbox->total_at_latch;
    }
    mailbox->data_out = (uint32_t)(mailbox->idle_sample >> 32 * half);
    mailbox->ext_out = (uint32_t)(mailbox->total_sample >> 32 * half);
    return TL_SMPM_OOB_SUCCESS;
}

static tl_smpm_oob_status status(tl_smpm_mailbox *mailbox, const tl_smpm_counts *counts) {
    uint32_t n = counts->n_partitions < 0xff ? counts->n_partitions : 0xff;
    mailbox->data_out = (uint32_t)counts->is_driver_loaded | (uint32_t)counts->is_lossy << 1 | (uint32_t)counts->has_overflow << 2 | n << 8;
    return TL_SMPM_OOB_SUCCESS;
}

static tl_smpm_oob_status tell_name(tl_smpm_mailbox *mailbox, const tl_smpm_counts *counts) {
    const tl_smpm_source *source = mailbox->mcu->source;
    const uint32_t index = mailbox->cmd >> 8 & 0xffff, first = mailbox->data_in;
    uint8_t bytes[(TL_SMPM_NAME_BYTES + 7) / 8 * 8] = {0};
    if (index >= counts->n_metrics || first >= sizeof bytes / 8)
        return TL_SMPM_OOB_BAD_ARG;
    const char *name = source->name ? source->name(source->device, index) : NULL;
    if (!name)
        return TL_SMPM_OOB_UNAVAILABLE;
    memcpy(bytes, name, strnlen(name, TL_SMPM_NAME_BYTES - 1));
    mailbox->data_out = tl_get_u32(bytes + 8 * first);
    mailbox->ext_out = tl_get_u32(bytes + 8 * first + 4);
    return TL_SMPM_OOB_SUCCESS;
}

static tl_smpm_oob_status configure(tl_smpm_mailbox *mailbox, const tl_smpm_counts *counts) {
    const tl_smpm_source *source = mailbox->mcu->source;
    const tl_smpm_object object = {TL_SMPM_OBJECT_REGISTERS, TL_SMPM_NO_VM, TL_SMPM_NO_CTX};
    const tl_smpm_requester *requester = verify(mailbox, counts->now_cycles, object);
    if (!requester)
        return TL_SMPM_OOB_DENIED;
    if (!(requester->rights & TL_SMPM_RIGHT_CONFIGURE)) {
        audit(mailbox, counts->now_cycles, TL_SMPM_CAUSE_RIGHT, object);
        return TL_SMPM_OOB_DENIED;
    }
    switch (source->configure(source->device, mailbox->cmd >> 8 & 0xff, mailbox->data_in)) {
    case TL_SMPM_CONFIGURED: return TL_SMPM_OOB_SUCCESS;
    case TL_SMPM_CONFIGURE_REFUSED: audit(mailbox, counts->now_cycles, TL_SMPM_CAUSE_COVERAGE, object); return TL_SMPM_OOB_DENIED;
    default: return TL_SMPM_OOB_BAD_ARG;
    }
}

static tl_smpm_oob_status execute(tl_smpm_mailbox *mailbox) {
    tl_smpm_counts counts = {0};
    mailbox->mcu->source->counts(mailbox->mcu->source->device, &counts);
    switch (mailbox->cmd & 0xff) {
    case TL_SMPM_OOB_ID: return identify(mailbox, &counts);
    case TL_SMPM_OOB_LATCH: return latch(mailbox, &counts);
    case TL_SMPM_OOB_READ64: return read64(mailbox, &counts);
    case TL_SMPM_OOB_IDLE: return idle(mailbox, &counts);
    case TL_SMPM_OOB_STATUS: return status(mailbox, &counts);
    case TL_SMPM_OOB_NAME: return tell_name(mailbox, &counts);
    case TL_SMPM_OOB_BEGIN: return authenticate(mailbox, counts.now_cycles);
    case TL_SMPM_OOB_CONFIG: return configure(mailbox, &counts);
    default: return TL_SMPM_OOB_BAD_OPCODE;
    }
}

//  ---- registers

bool tl_smpm_mailbox_write(tl_smpm_mailbox *mailbox, uint32_t offset, uint32_t value) {
    if (offset >= TL_SMPM_OOB_AUTH && offset < TL_SMPM_OOB_BYTES && offset % 4 == 0) {
        mailbox->auth[(offset - TL_SMPM_OOB_AUTH) / 4] = value;
        return true;
    }
    switch (offset) {
    case TL_SMPM_OOB_CMD: break;
    case TL_SMPM_OOB_DATA_IN: mailbox->data_in = value; return true;
    case TL_SMPM_OOB_DATA_OUT:
    case TL_SMPM_OOB_EXT_OUT: return true; // read-only
    default: return false;
    }
    mailbox->cmd = value & 0xffffff;
    if (!(value & TL_SMPM_OOB_EXEC))
        return true;
    mailbox->data_out = mailbox->ext_out = 0; // of a refused command nothing is left to read
    tl_smpm_oob_status result = execute(mailbox);
    mailbox->cmd |= (uint32_t)result << 24;
    memset(mailbox->auth, 0, sizeof mailbox->auth);
    return true;
}

bool tl_smpm_mailbox_read(const tl_smpm_mailbox *mailbox, uint32_t offset, uint32_t *ret_value) {
    switch (offset) {
    case TL_SMPM_OOB_CMD: *ret_value = mailbox->cmd; return true;
    case TL_SMPM_OOB_DATA_IN: *ret_value = mailbox->data_in; return true;
    case TL_SMPM_OOB_DATA_OUT: *ret_value = mailbox->data_out; return true;
    case TL_SMPM_OOB_EXT_OUT: *ret_value = mailbox->ext_out; return true;
    default: break;
    }
    if (offset < TL_SMPM_OOB_AUTH || offset >= TL_SMPM_OOB_BYTES || offset % 4 != 0)
        return false;
    *ret_value = 0;
    return true;
}
