// SPDX-License-Identifier: MIT
// The firmware's requests (F-19), capabilities, leases and rates, on a device of blocks written by
// hand.
#include "pmu/smpm/test_device.h"

#include "sealed/bytes.h"

static fake_device device;
static tl_smpm_source source;
static tl_smpm_mcu mcu;
static uint64_t next_seq;

static const tl_smpm_identity client = {TL_SMPM_GUEST_CTX, 1, 0}, system_of_1 = {TL_SMPM_GUEST_OS, 1, TL_SMPM_NO_CTX};

static int begin(void **state) {
    (void)state;
    fake_begin(&device, &source, &mcu);
    next_seq = 1;
    return 0;
}

static tl_smpm_request grant_of(uint32_t vm, uint32_t ctx) {
    return (tl_smpm_request){.op = TL_SMPM_OP_GRANT,
                             .requester = OWNER,
                             .vm = vm,
                             .ctx = ctx,
                             .seq = next_seq++,
                             .min_interval = 100,
                             .lease = 50000,
                             .mask = {~UINT64_C(0), 0x3f}};
}

static tl_smpm_reply ask(const tl_smpm_request *request, uint32_t *ret_handle) {
    uint8_t bytes[TL_SMPM_REQUEST_BYTES], key[TL_SMPM_KEY_BYTES];
    key_of(request->requester, key);
    tl_smpm_request_write(request, key, bytes);
    return tl_smpm_mcu_request(&mcu, &system_of_1, bytes, sizeof bytes, ret_handle);
}

static uint32_t granted(uint32_t vm, uint32_t ctx) {
    const tl_smpm_request request = grant_of(vm, ctx);
    uint32_t handle = 0;
    assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_OK);
    return handle;
}

static tl_smpm_reply read_as(const tl_smpm_identity *identity, uint32_t handle, bool of_vm, tl_smpm_block *ret_block) {
    static uint64_t words[BLOCK_WORDS];
    tl_smpm_reply reply = tl_smpm_mcu_read(&mcu, identity, handle, of_vm, words, BLOCK_WORDS);
    if (reply == TL_SMPM_REPLY_OK)
        assert_int_equal(tl_smpm_block_decode(words, BLOCK_WORDS, ret_block, NULL), TL_OK);
    return reply;
}

static tl_smpm_cause last_cause(unsigned subject) {
    uint64_t n = mcu.audit.n_of_subject[subject];
    assert_true(n > 0);
    return mcu.audit.entries[subject][(n - 1) % TL_SMPM_AUDIT_ENTRIES].cause;
}

static void test_capability_reads_its_own_block(void **state) {
    (void)state;
    uint32_t handle = granted(1, 0);
    tl_smpm_block block;
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_OK);
    assert_true(block.shape.kind == TL_SMPM_CTX && block.shape.vm == 1 && block.shape.ctx == 0);
    for (uint32_t i = 0; i < N_METRICS; i++) {
        tl_smpm_value value = tl_smpm_block_value(&block, TL_SMPM_CTR, i);
        assert_int_equal(value.flags, i == 3 ? TL_SMPM_UNAVAILABLE : 0);
        assert_int_equal(value.count, i == 3 ? 0 : expected_value(22, i));
    }
    assert_int_equal(mcu.audit.n_entries, 0);
}

static void test_system_reads_its_vm(void **state) {
    (void)state;
    uint32_t handle = granted(1, TL_SMPM_NO_CTX);
    tl_smpm_block block;
    assert_int_equal(read_as(&system_of_1, handle, false, &block), TL_SMPM_REPLY_OK);
    assert_true(block.shape.kind == TL_SMPM_VM && block.shape.vm == 1);
    assert_int_equal(tl_smpm_block_value(&block, TL_SMPM_CTR, 0).count, expected_value(11, 0));
}

static void test_context_reads_its_vm_if_granted(void **state) {
    (void)state;
    uint32_t handle = granted(1, 0);
    tl_smpm_block block;
    assert_int_equal(read_as(&client, handle, true, &block), TL_SMPM_REPLY_DENIED);
    assert_int_equal(last_cause(1), TL_SMPM_CAUSE_ACCESS);
    assert_int_equal(device.n_reads, 0);
    mcu.policy.ctx_reads_vm = 2;
    assert_int_equal(read_as(&client, handle, true, &block), TL_SMPM_REPLY_OK);
    assert_int_equal(block.shape.kind, TL_SMPM_VM);
}

static void test_mask_hides_metrics_and_their_sum(void **state) {
    (void)state;
    tl_smpm_request request = grant_of(1, 0);
    memset(request.mask, 0, sizeof request.mask);
    request.mask[1] = 1u << 5; // metric 69
    uint32_t handle;
    tl_smpm_block block;
    assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_OK);
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_OK);
    for (uint32_t i = 0; i < N_METRICS; i++)
        for (tl_smpm_part part = TL_SMPM_CTR; part <= TL_SMPM_LATE; part++) {
            tl_smpm_value value = tl_smpm_block_value(&block, part, i);
            assert_int_equal(value.flags, i == 69 ? 0 : TL_SMPM_UNAVAILABLE);
            assert_int_equal(block.words[tl_smpm_block_part_at(N_METRICS, block.shape.parts, part) + i], i != 69 ? 0
                                                                                                         : part == TL_SMPM_CTR
                                                                                                             ? expected_value(22, i)
                                                                                                             : 70);
        }
    assert_int_equal(block.late, 70); // not 71 * 70 / 2
}

static void test_mask_of_a_literal_block_is_all_or_nothing(void **state) {
    (void)state;
    uint64_t words[8 + 2] = {0}, all[TL_SMPM_MASK_WORDS] = {3}, one[TL_SMPM_MASK_WORDS] = {1};
    tl_smpm_block block;
    tl_smpm_block_format(words, &(tl_smpm_shape){TL_SMPM_VM, 1, TL_SMPM_NO_CTX, 2, 0});
    tl_smpm_block_set_available(words, 0, true);
    tl_smpm_block_begin(words);
    tl_smpm_block_add(words, TL_SMPM_CTR, 0, 5);
    tl_smpm_block_end(words, 1);
    tl_smpm_mask_copy(words, all);
    assert_int_equal(tl_smpm_block_decode(words, 10, &block, NULL), TL_OK);
    assert_int_equal(tl_smpm_block_value(&block, TL_SMPM_CTR, 0).count, 5);
    assert_int_equal(tl_smpm_block_value(&block, TL_SMPM_CTR, 0).flags, 0);
    tl_smpm_mask_copy(words, one);
    assert_int_equal(tl_smpm_block_decode(words, 10, &block, NULL), TL_OK);
    assert_int_equal(tl_smpm_block_value(&block, TL_SMPM_CTR, 0).flags, TL_SMPM_UNAVAILABLE);
    memset(words, 0xff, sizeof words);
    tl_smpm_mask_copy(words, one); // no block: left alone
    assert_int_equal(words[9], UINT64_MAX);
}

static tl_smpm_reply view_as(tl_smpm_who who, tl_smpm_object_kind kind, uint32_t vm, uint64_t ret_words[VM0_WORDS]) {
    const tl_smpm_identity reader = {who, who == TL_SMPM_GUEST_OS ? 1 : TL_SMPM_NO_VM, TL_SMPM_NO_CTX};
    const tl_smpm_object object = {kind, vm, 1};
    memset(ret_words, 0x5a, 8 * VM0_WORDS);
    return tl_smpm_mcu_view(&mcu, &reader, &object, ret_words, VM0_WORDS);
}

static uint64_t value_in(const uint64_t *words, tl_smpm_part part, uint32_t index) {
    tl_smpm_block block;
    assert_int_equal(tl_smpm_block_decode(words, VM0_WORDS, &block, NULL), TL_OK);
    tl_smpm_value value = tl_smpm_block_value(&block, part, index);
    return value.flags ? UINT64_MAX : value.count;
}

static void test_hypervisor_sees_what_the_policy_says(void **state) {
    (void)state;
    uint64_t words[VM0_WORDS];
    assert_int_equal(view_as(TL_SMPM_HYPERVISOR, TL_SMPM_OBJECT_VM0, 77, words), TL_SMPM_REPLY_OK);
    assert_int_equal(value_in(words, TL_SMPM_CTR, 9), expected_value(50, 9));
    assert_int_equal(view_as(TL_SMPM_HYPERVISOR, TL_SMPM_OBJECT_VM, 2, words), TL_SMPM_REPLY_OK);
    assert_int_equal(value_in(words, TL_SMPM_CTR, 9), expected_value(12, 9));
    assert_int_equal(view_as(TL_SMPM_HYPERVISOR, TL_SMPM_OBJECT_CTX, 2, words), TL_SMPM_REPLY_OK);
    assert_int_equal(value_in(words, TL_SMPM_CTR, 9), expected_value(25, 9));
    assert_int_equal(mcu.audit.n_entries, 0);
    mcu.policy.confidential = 1u << 2;
    mcu.listed[0] = 1u << 9;
    assert_int_equal(view_as(TL_SMPM_HYPERVISOR, TL_SMPM_OBJECT_VM0, 0, words), TL_SMPM_REPLY_OK);
    for (uint32_t i = 0; i < N_METRICS; i++) {
        assert_int_equal(value_in(words, TL_SMPM_CTR, i), i == 9 ? expected_value(50, 9) : UINT64_MAX);
        assert_int_equal(value_in(words, TL_SMPM_RETIRED, i), i == 9 ? 0 : UINT64_MAX);
        assert_int_equal(words[8 + i], i == 9 ? expected_value(50, 9) : 0);
    }
    mcu.policy = (tl_smpm_policy){.hv_reads_vm = false};
    assert_int_equal(view_as(TL_SMPM_HYPERVISOR, TL_SMPM_OBJECT_VM, 2, words), TL_SMPM_REPLY_DENIED);
    assert_int_equal(last_cause(TL_SMPM_AUDIT_HYPERVISOR), TL_SMPM_CAUSE_ACCESS);
}

static void test_refused_view_is_a_fault_and_no_zeros(void **state) {
    (void)state;
    uint64_t words[VM0_WORDS];
    const struct {
        tl_smpm_who who;
        tl_smpm_object_kind kind;
        uint32_t vm;
        tl_smpm_reply reply;
    } rows[] = {{TL_SMPM_GUEST_OS, TL_SMPM_OBJECT_VM, 1, TL_SMPM_REPLY_OK},
                {TL_SMPM_GUEST_OS, TL_SMPM_OBJECT_VM, 2, TL_SMPM_REPLY_DENIED},
                {TL_SMPM_GUEST_OS, TL_SMPM_OBJECT_VM0, 1, TL_SMPM_REPLY_DENIED},
                {TL_SMPM_GUEST_OS, TL_SMPM_OBJECT_DEV, 1, TL_SMPM_REPLY_DENIED},
                {TL_SMPM_HYPERVISOR, TL_SMPM_OBJECT_DEV, 0, TL_SMPM_REPLY_DENIED},
                {TL_SMPM_CONTROLLER, TL_SMPM_OBJECT_DEV, 0, TL_SMPM_REPLY_OK},
                {TL_SMPM_CONTROLLER, TL_SMPM_OBJECT_CTX, 9, TL_SMPM_REPLY_NO_BLOCK},
                {TL_SMPM_CONTROLLER, TL_SMPM_OBJECT_KEYS, 1, TL_SMPM_REPLY_MALFORMED}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t n_entries = mcu.audit.n_entries;
        assert_int_equal(view_as(rows[i].who, rows[i].kind, rows[i].vm, words), rows[i].reply);
        assert_int_equal(mcu.audit.n_entries, n_entries + (rows[i].reply == TL_SMPM_REPLY_DENIED));
        for (unsigned w = 0; rows[i].reply == TL_SMPM_REPLY_DENIED && w < VM0_WORDS; w++)
            assert_int_equal(words[w], 0x5a5a5a5a5a5a5a5a);
    }
    device.is_switching = true;
    assert_int_equal(view_as(TL_SMPM_CONTROLLER, TL_SMPM_OBJECT_DEV, 0, words), TL_SMPM_REPLY_BUSY);
}

static void test_handle_works_for_its_client_only(void **state) {
    (void)state;
    uint32_t handle = granted(1, 0), of_system = granted(1, TL_SMPM_NO_CTX);
    const tl_smpm_identity others[] = {
        {TL_SMPM_GUEST_CTX, 1, 1},  {TL_SMPM_GUEST_CTX, 2, 0},  {TL_SMPM_GUEST_OS, 1, 0},
        {TL_SMPM_HYPERVISOR, 1, 0}, {TL_SMPM_CONTROLLER, 1, 0}, {TL_SMPM_COPY_ENGINE, 1, 0},
    };
    tl_smpm_block block;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        uint64_t n_before = mcu.audit.n_entries;
        assert_int_equal(read_as(&others[i], handle, false, &block), TL_SMPM_REPLY_NO_HANDLE);
        assert_int_equal(tl_smpm_mcu_snapshot(&mcu, &others[i], handle), TL_SMPM_REPLY_NO_HANDLE);
        assert_int_equal(mcu.audit.n_entries, n_before + 2);
    }
    assert_int_equal(read_as(&client, of_system, false, &block), TL_SMPM_REPLY_NO_HANDLE);
    assert_int_equal(last_cause(1), TL_SMPM_CAUSE_HANDLE);
    const uint32_t wrong[] = {handle ^ 1, handle ^ 64, handle ^ 1u << 31, 0, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (wrong[i] != of_system)
            assert_int_equal(read_as(&client, wrong[i], false, &block), TL_SMPM_REPLY_NO_HANDLE);
    assert_int_equal(device.n_reads + device.n_snapshots[1] + device.n_snapshots[2], 0);
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_OK);
}

static void test_interval_holds_back_reads(void **state) {
    (void)state;
    uint32_t handle = granted(1, 0);
    tl_smpm_block block;
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_OK);
    device.counts.now_cycles += 99;
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_TOO_SOON);
    assert_int_equal(last_cause(1), TL_SMPM_CAUSE_RATE);
    device.counts.now_cycles += 1; // since the read that was answered
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_OK);
}

static void test_lease_ends_and_can_be_renewed(void **state) {
    (void)state;
    uint32_t handle = granted(1, 0), ignored = 77;
    tl_smpm_block block;
    device.counts.now_cycles += 49999;
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_OK);
    tl_smpm_request renew = grant_of(1, 0);
    renew.op = TL_SMPM_OP_RENEW;
    renew.handle = handle;
    renew.lease = 1000;
    assert_int_equal(ask(&renew, &ignored), TL_SMPM_REPLY_OK);
    assert_int_equal(ignored, 77);
    device.counts.now_cycles += 999;
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_OK);
    device.counts.now_cycles += 1;
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_NO_HANDLE);
    renew.seq = next_seq++;
    assert_int_equal(ask(&renew, &ignored), TL_SMPM_REPLY_NO_HANDLE); // what is over stays over
    uint32_t again = granted(1, 0);
    assert_int_not_equal(again, handle);
    // The handle has the slot of the old one and a new generation.
    assert_int_equal(again % TL_SMPM_MAX_CAPS, handle % TL_SMPM_MAX_CAPS);
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_NO_HANDLE);
}

static void test_lease_is_bounded(void **state) {
    (void)state;
    mcu.limits.max_lease_cycles = 10;
    uint32_t handle = granted(1, 0);
    tl_smpm_block block;
    device.counts.now_cycles += 9;
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_OK);
    device.counts.now_cycles += 1;
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_NO_HANDLE);
    mcu.limits.max_lease_cycles = UINT64_MAX;
    tl_smpm_request request = grant_of(1, 0);
    request.lease = UINT64_MAX; // now + lease does not wrap
    assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_OK);
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_OK);
    request = grant_of(1, 0);
    request.lease = 0;
    assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_MALFORMED);
}

static void test_revoked_and_dropped_capabilities_end(void **state) {
    (void)state;
    uint32_t first = granted(1, 0), second = granted(1, 1), of_system = granted(1, TL_SMPM_NO_CTX), of_2 = granted(2, 0), ignored;
    const tl_smpm_identity client_1 = {TL_SMPM_GUEST_CTX, 1, 1}, client_2 = {TL_SMPM_GUEST_CTX, 2, 0};
    tl_smpm_block block;
    tl_smpm_request revoke = grant_of(1, 1);
    revoke.op = TL_SMPM_OP_REVOKE;
    revoke.handle = first; // of another context than it says
    assert_int_equal(ask(&revoke, &ignored), TL_SMPM_REPLY_NO_HANDLE);
    revoke.seq = next_seq++;
    revoke.handle = second;
    assert_int_equal(ask(&revoke, &ignored), TL_SMPM_REPLY_OK);
    assert_int_equal(read_as(&client_1, second, false, &block), TL_SMPM_REPLY_NO_HANDLE);
    assert_int_equal(read_as(&client, first, false, &block), TL_SMPM_REPLY_OK);
    tl_smpm_mcu_drop(&mcu, 1, 0);
    assert_int_equal(read_as(&client, first, false, &block), TL_SMPM_REPLY_NO_HANDLE);
    assert_int_equal(read_as(&system_of_1, of_system, false, &block), TL_SMPM_REPLY_OK);
    tl_smpm_mcu_drop(&mcu, 1, TL_SMPM_NO_CTX);
    assert_int_equal(read_as(&system_of_1, of_system, false, &block), TL_SMPM_REPLY_NO_HANDLE);
    assert_int_equal(read_as(&client_2, of_2, false, &block), TL_SMPM_REPLY_OK);
}

// F-19: bit flips, replays, unknown requesters; no state changes but the audit log.
static void test_wrong_code_changes_nothing_but_the_log(void **state) {
    (void)state;
    const tl_smpm_request request = grant_of(1, 0);
    uint8_t bytes[TL_SMPM_REQUEST_BYTES], key[TL_SMPM_KEY_BYTES];
    uint32_t handle = 0;
    key_of(OWNER, key);
    tl_smpm_request_write(&request, key, bytes);
    for (unsigned bit = 0; bit < 8 * TL_SMPM_REQUEST_BYTES; bit++) {
        tl_smpm_mcu before = mcu;
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        tl_smpm_reply reply = tl_smpm_mcu_request(&mcu, &system_of_1, bytes, sizeof bytes, &handle);
        // Op 1 with bit 0 off is 0.
        bool is_form = bit / 8 < 6 || (bit / 8 == 6 && bit % 8 >= 2) || bit / 8 == 7 || bit == 48;
        assert_int_equal(reply, is_form ? TL_SMPM_REPLY_MALFORMED : TL_SMPM_REPLY_UNVERIFIED);
        assert_int_equal(last_cause(1), is_form ? TL_SMPM_CAUSE_MALFORMED : TL_SMPM_CAUSE_SIGNATURE);
        assert_int_equal(mcu.audit.n_entries, before.audit.n_entries + 1);
        before.audit = mcu.audit;
        assert_memory_equal(&mcu, &before, sizeof mcu);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(tl_smpm_mcu_request(&mcu, &system_of_1, bytes, sizeof bytes, &handle), TL_SMPM_REPLY_OK);
    tl_smpm_mcu before = mcu;
    assert_int_equal(tl_smpm_mcu_request(&mcu, &system_of_1, bytes, sizeof bytes, &handle), TL_SMPM_REPLY_UNVERIFIED);
    assert_int_equal(last_cause(1), TL_SMPM_CAUSE_REPLAY);
    before.audit = mcu.audit;
    assert_memory_equal(&mcu, &before, sizeof mcu);
    for (size_t n = 0; n < sizeof bytes; n++)
        assert_int_equal(tl_smpm_mcu_request(&mcu, &system_of_1, bytes, n, &handle), TL_SMPM_REPLY_MALFORMED);
}

static void test_unknown_requester_is_as_unverified_as_a_wrong_code(void **state) {
    (void)state;
    uint8_t bytes[TL_SMPM_REQUEST_BYTES];
    const uint8_t zeros[TL_SMPM_KEY_BYTES] = {0};
    tl_smpm_request request = grant_of(1, 0);
    uint32_t handle;
    for (uint32_t id = 0; id < 5; id += 4) { // a key of zeros is nobody's
        request.requester = id;
        tl_smpm_request_write(&request, zeros, bytes);
        assert_int_equal(tl_smpm_mcu_request(&mcu, &system_of_1, bytes, sizeof bytes, &handle), TL_SMPM_REPLY_UNVERIFIED);
        assert_int_equal(last_cause(1), TL_SMPM_CAUSE_SIGNATURE);
    }
}

static void test_old_numbers_are_replays_even_if_unused(void **state) {
    (void)state;
    tl_smpm_request request = grant_of(1, 0);
    uint32_t handle;
    request.seq = 100;
    assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_OK);
    request.seq = 99;
    assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_UNVERIFIED);
    request.seq = 101;
    assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_OK);
    request.requester = STRANGER; // has a numbering of its own
    request.vm = 3;
    request.seq = 1;
    assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_OK);
}

static void test_requester_is_bound_to_its_vms_and_rights(void **state) {
    (void)state;
    uint32_t handle = 55, ignored;
    const uint32_t vms[] = {0, 3, TL_SMPM_MAX_VMS, 64 + 1, UINT32_MAX};
    for (size_t i = 0; i < 5; i++) {
        tl_smpm_request request = grant_of(vms[i], 0);
        assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_DENIED);
        assert_int_equal(last_cause(1), TL_SMPM_CAUSE_RIGHT);
    }
    assert_int_equal(handle, 55);
    tl_smpm_request request = grant_of(1, 0);
    request.requester = OPERATOR; // VM 1, but no right to grant
    assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_DENIED);
    uint32_t mine = granted(1, 0);
    request = grant_of(3, 0);
    request.requester = STRANGER;
    request.op = TL_SMPM_OP_REVOKE;
    request.handle = mine;
    assert_int_equal(ask(&request, &ignored), TL_SMPM_REPLY_NO_HANDLE);
    assert_int_equal(last_cause(1), TL_SMPM_CAUSE_HANDLE);
    tl_smpm_block block;
    assert_int_equal(read_as(&client, mine, false, &block), TL_SMPM_REPLY_OK);
}

static void test_full_table_refuses_until_a_lease_ends(void **state) {
    (void)state;
    tl_smpm_request request;
    uint32_t handle, first = granted(1, 0);
    for (unsigned i = 1; i < TL_SMPM_MAX_CAPS; i++)
        (void)granted(1, i);
    request = grant_of(1, 0);
    assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_FULL);
    device.counts.now_cycles += 50000;
    request = grant_of(1, 0);
    assert_int_equal(ask(&request, &handle), TL_SMPM_REPLY_OK);
    tl_smpm_block block;
    assert_int_equal(read_as(&client, first, false, &block), TL_SMPM_REPLY_NO_HANDLE);
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_OK);
}

static void test_snapshots_are_limited_per_vm(void **state) {
    (void)state;
    uint32_t first = granted(1, 0), second = granted(1, 1), of_2 = granted(2, 0);
    const tl_smpm_identity client_1 = {TL_SMPM_GUEST_CTX, 1, 1}, client_2 = {TL_SMPM_GUEST_CTX, 2, 0};
    assert_int_equal(tl_smpm_mcu_snapshot(&mcu, &client, first), TL_SMPM_REPLY_OK);
    device.counts.now_cycles += 9999;
    // Another handle helps nobody.
    assert_int_equal(tl_smpm_mcu_snapshot(&mcu, &client_1, second), TL_SMPM_REPLY_TOO_SOON);
    assert_int_equal(last_cause(1), TL_SMPM_CAUSE_RATE);
    // Another VM is not held back.
    assert_int_equal(tl_smpm_mcu_snapshot(&mcu, &client_2, of_2), TL_SMPM_REPLY_OK);
    device.counts.now_cycles += 1;
    device.is_switching = true;
    assert_int_equal(tl_smpm_mcu_snapshot(&mcu, &client, first), TL_SMPM_REPLY_BUSY);
    device.is_switching = false; // a refused one did not count
    assert_int_equal(tl_smpm_mcu_snapshot(&mcu, &client, first), TL_SMPM_REPLY_OK);
    assert_int_equal(device.n_snapshots[1], 2);
    assert_int_equal(device.n_snapshots[2], 1);
}

static void test_snapshots_are_limited_per_second(void **state) {
    (void)state;
    mcu.limits = (tl_smpm_limits){.snapshot_cycles = 10, .snapshots_per_second = 3, .pm_hz = 1000, .max_lease_cycles = UINT64_MAX};
    uint32_t handle = granted(1, 0);
    uint64_t begin_cycle = device.counts.now_cycles;
    for (unsigned i = 0; i < 3; i++, device.counts.now_cycles += 10)
        assert_int_equal(tl_smpm_mcu_snapshot(&mcu, &client, handle), TL_SMPM_REPLY_OK);
    device.counts.now_cycles = begin_cycle + 999;
    assert_int_equal(tl_smpm_mcu_snapshot(&mcu, &client, handle), TL_SMPM_REPLY_TOO_SOON);
    device.counts.now_cycles = begin_cycle + 1000;
    for (unsigned i = 0; i < 3; i++, device.counts.now_cycles += 10)
        assert_int_equal(tl_smpm_mcu_snapshot(&mcu, &client, handle), TL_SMPM_REPLY_OK);
    assert_int_equal(tl_smpm_mcu_snapshot(&mcu, &client, handle), TL_SMPM_REPLY_TOO_SOON);
    tl_smpm_mcu_drop(&mcu, 1, TL_SMPM_NO_CTX); // the next VM of this number begins anew
    handle = granted(1, 0);
    assert_int_equal(tl_smpm_mcu_snapshot(&mcu, &client, handle), TL_SMPM_REPLY_OK);
}

static void test_unreadable_block_is_said_to_be(void **state) {
    (void)state;
    uint32_t handle = granted(1, 0);
    tl_smpm_block block;
    device.is_switching = true;
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_BUSY);
    device.is_switching = false;
    tl_smpm_block_erase(device.ctx[1][0], BLOCK_WORDS);
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_NO_BLOCK);
    fake_block(device.ctx[1][0], TL_SMPM_CTX, 1, 0, 22);
    // Failures did not count as reads.
    assert_int_equal(read_as(&client, handle, false, &block), TL_SMPM_REPLY_OK);
}

static void test_requesters_are_enrolled_once(void **state) {
    (void)state;
    tl_smpm_requester requester = {.id = OWNER};
    assert_false(tl_smpm_mcu_enroll(&mcu, &requester));
    requester.id = 0;
    assert_false(tl_smpm_mcu_enroll(&mcu, &requester));
    assert_null(tl_smpm_mcu_requester(&mcu, 0));
    for (requester.id = 100; requester.id < 100 + TL_SMPM_MAX_REQUESTERS - 3; requester.id++)
        assert_true(tl_smpm_mcu_enroll(&mcu, &requester));
    assert_false(tl_smpm_mcu_enroll(&mcu, &requester));
    assert_int_equal(tl_smpm_mcu_requester(&mcu, 100)->id, 100);
}

// The layout of a request, byte by byte.
static void test_request_has_its_layout(void **state) {
    (void)state;
    const tl_smpm_request request = {0x0102,
                                     0x03040506,
                                     0x0708090a,
                                     0x0b0c0d0e,
                                     0x0f101112,
                                     0x131415161718191a,
                                     0x1b1c1d1e1f202122,
                                     0x232425262728292a,
                                     {0x2b2c2d2e2f303132, 0, 0, 0, 0, 0, 0, 0x333435363738393a}};
    uint8_t bytes[TL_SMPM_REQUEST_BYTES], key[TL_SMPM_KEY_BYTES] = {1};
    tl_smpm_request_write(&request, key, bytes);
    const uint8_t expected[56] = {'S',  'M',  'P',  'Q',  1,    0,    2,    1,    6,    5,    4,    3,    0x0a, 9,
                                  8,    7,    0x0e, 0x0d, 0x0c, 0x0b, 0x12, 0x11, 0x10, 0x0f, 0x1a, 0x19, 0x18, 0x17,
                                  0x16, 0x15, 0x14, 0x13, 0x22, 0x21, 0x20, 0x1f, 0x1e, 0x1d, 0x1c, 0x1b, 0x2a, 0x29,
                                  0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x32, 0x31, 0x30, 0x2f, 0x2e, 0x2d, 0x2c, 0x2b};
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(tl_get_u64(bytes + 104), 0x333435363738393a);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)
static const struct CMUnitTest tests[] = {
    TEST(test_capability_reads_its_own_block),
    TEST(test_system_reads_its_vm),
    TEST(test_context_reads_its_vm_if_granted),
    TEST(test_mask_hides_metrics_and_their_sum),
    TEST(test_mask_of_a_literal_block_is_all_or_nothing),
    TEST(test_hypervisor_sees_what_the_policy_says),
    TEST(test_refused_view_is_a_fault_and_no_zeros),
    TEST(test_handle_works_for_its_client_only),
    TEST(test_interval_holds_back_reads),
    TEST(test_lease_ends_and_can_be_renewed),
    TEST(test_lease_is_bounded),
    TEST(test_revoked_and_dropped_capabilities_end),
    TEST(test_wrong_code_changes_nothing_but_the_log),
    TEST(test_unknown_requester_is_as_unverified_as_a_wrong_code),
    TEST(test_old_numbers_are_replays_even_if_unused),
    TEST(test_requester_is_bound_to_its_vms_and_rights),
    TEST(test_full_table_refuses_until_a_lease_ends),
    TEST(test_snapshots_are_limited_per_vm),
    TEST(test_snapshots_are_limited_per_second),
    TEST(test_unreadable_block_is_said_to_be),
    TEST(test_requesters_are_enrolled_once),
    TEST(test_request_has_its_layout),
};

TL_TEST_MAIN(tests)
