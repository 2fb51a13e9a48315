// SPDX-License-Identifier: MIT
// Confidential path from block to receiver: values and flags arrive, size and cadence do not depend
// on values, and without a key nothing leaves.
#include "pmu/smpm/test_device.h"

#include "pmu/smpm/copier.h"

enum { SLOTS = 16, SLOT_BYTES = 64 + 8 * (4 + 2 * N_METRICS + 2) + 16, INTERVAL = 100, CONFIDENTIAL_VM = 2 };

static const tl_crypto *crypto;
static fake_device device;
static tl_smpm_source source;
static tl_smpm_mcu mcu;
static tl_sealed_device sealer;
static tl_sealed_guest guest;
static tl_smpm_copier copier;
static uint64_t memory[2000];
static uint8_t slots[SLOTS * SLOT_BYTES], copy[SLOT_BYTES], scratch[SLOT_BYTES];
static uint64_t told[SLOTS], values[N_METRICS], late[N_METRICS];
static uint8_t unavailable[N_METRICS];
static tl_record_receiver receiver;
static tl_record_poller poller;
static tl_record_header header;
static tl_record_image image;
static uint64_t n_lost;

static const tl_smpm_identity its_system = {TL_SMPM_GUEST_OS, CONFIDENTIAL_VM, TL_SMPM_NO_CTX};

static tl_status open_session(const tl_smpm_identity *sender, uint64_t now) {
    uint8_t hello[TL_HELLO_BYTES], quote[TL_QUOTE_BYTES];
    tl_error err;
    assert_int_equal(tl_sealed_guest_hello(&guest, hello, NULL), TL_OK);
    tl_status status = tl_smpm_copier_answer(&copier, sender, now, hello, quote, &err);
    if (status != TL_OK)
        return status;
    assert_int_equal(tl_sealed_guest_accept(&guest, quote, NULL), TL_OK);
    receiver.epoch = guest.epoch;
    receiver.last_seq = receiver.window = 0;
    return TL_OK;
}

static int begin(void **state) {
    (void)state;
    const uint8_t secret[TL_SMPM_KEY_BYTES] = {9};
    const tl_sealed_identity identity = {.device = 42, .protocol = "smpm/1"};
    fake_init(&device);
    fake_source(&device, &source);
    tl_smpm_mcu_init(&mcu, &source, false, secret);
    mcu.policy.confidential = 1u << CONFIDENTIAL_VM;
    if (tl_crypto_get(&crypto, NULL) != TL_OK || tl_sealed_device_init(&sealer, crypto, &identity, secret, NULL) != TL_OK)
        return -1;
    guest = (tl_sealed_guest){.crypto = crypto, .expected = sealer.identity, .vm = CONFIDENTIAL_VM};
    memset(slots, 0, sizeof slots);
    memset(told, 0, sizeof told);
    assert_true(tl_smpm_copier_bytes(N_METRICS, false) <= sizeof memory);
    tl_smpm_copier_init(&copier,
                        &(tl_smpm_copier){.mcu = &mcu,
                                          .device = &sealer,
                                          .ring = {slots, SLOTS, SLOT_BYTES},
                                          .vm = CONFIDENTIAL_VM,
                                          .n = N_METRICS,
                                          .n_ctxs = CTXS,
                                          .interval_cycles = INTERVAL},
                        memory);
    receiver = (tl_record_receiver){.crypto = crypto,
                                    .key = &guest.keys.to_vm,
                                    .device = 42,
                                    .vm = CONFIDENTIAL_VM,
                                    .n = N_METRICS,
                                    .interval_cycles = INTERVAL,
                                    .scratch = scratch};
    poller = (tl_record_poller){copier.ring, &receiver, told, copy};
    image = (tl_record_image){.values = values, .late = late, .unavailable = unavailable};
    return 0;
}

static bool poll_one(void) { return tl_record_poll(&poller, 0, &header, &image, &n_lost); }

static void test_blocks_arrive_in_turn(void **state) {
    (void)state;
    assert_int_equal(open_session(&its_system, 1000), TL_OK);
    tl_smpm_copier_tick(&copier, 1000 + INTERVAL - 1);
    assert_false(poll_one());
    tl_smpm_copier_tick(&copier, 1000 + 6 * INTERVAL);
    const unsigned numbers[3] = {12, 24, 25};
    for (unsigned i = 0; i < 6; i++) {
        assert_true(poll_one());
        assert_int_equal(header.seq, i + 1);
        assert_int_equal(header.t_cycle, 1000 + (i + 1) * INTERVAL);
        assert_int_equal(header.ctx, TL_RECORD_NO_CTX);
        assert_int_equal(header.gen, 0);
        assert_int_equal(image.ctx, i % 3 == 0 ? TL_SMPM_NO_CTX : i % 3 - 1);
        assert_int_equal(image.gen, 4);
        assert_int_equal(image.t_commit, 500 + numbers[i % 3]);
        for (unsigned m = 0; m < N_METRICS; m++) {
            assert_int_equal(unavailable[m], m == 3);
            assert_int_equal(values[m], m == 3 ? 0 : expected_value(numbers[i % 3], m));
            assert_int_equal(late[m], m == 3 ? 0 : m + 1);
        }
    }
    assert_false(poll_one());
    assert_int_equal(copier.n_sent, 6);
    assert_int_equal(mcu.audit.n_entries, 0);
}

static void test_block_that_is_gone_is_sent_as_unavailable(void **state) {
    (void)state;
    assert_int_equal(open_session(&its_system, 0), TL_OK);
    tl_smpm_copier_tick(&copier, INTERVAL);
    assert_true(poll_one());
    device.is_switching = true;
    tl_smpm_copier_tick(&copier, 2 * INTERVAL);
    device.is_switching = false;
    tl_smpm_block_erase(device.ctx[CONFIDENTIAL_VM][1], BLOCK_WORDS);
    tl_smpm_copier_tick(&copier, 3 * INTERVAL);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(poll_one());
        assert_int_equal(image.flags, TL_SMPM_UNAVAILABLE);
        for (unsigned m = 0; m < N_METRICS; m++)
            assert_true(unavailable[m] && values[m] == 0 && late[m] == 0);
        // Nothing of the block before was sealed, either.
        for (unsigned m = 0; m < N_METRICS; m++)
            assert_true(copier.values[m] == 0 && copier.late[m] == 0);
    }
}

// L5 at the model's level: sizes, times and clear headers of two workloads are equal.
static void test_clear_bytes_do_not_depend_on_values(void **state) {
    (void)state;
    uint8_t clear[2][SLOTS][TL_RECORD_HEADER_BYTES];
    for (unsigned run = 0; run < 2; run++) {
        begin(NULL);
        if (run == 1)
            for (unsigned i = 0; i < 1000; i++) {
                tl_smpm_block_begin(device.ctx[CONFIDENTIAL_VM][0]);
                tl_smpm_block_add(device.ctx[CONFIDENTIAL_VM][0], TL_SMPM_CTR, 5, UINT64_MAX / 3);
                tl_smpm_block_end(device.ctx[CONFIDENTIAL_VM][0], i);
            }
        assert_int_equal(open_session(&its_system, 0), TL_OK);
        tl_smpm_copier_tick(&copier, SLOTS * INTERVAL);
        for (unsigned i = 0; i < SLOTS; i++)
            memcpy(clear[run][i], slots + i * SLOT_BYTES, TL_RECORD_HEADER_BYTES);
    }
    assert_memory_equal(clear[0], clear[1], sizeof clear[0]);
}

static void assert_silent(void) {
    uint8_t before[sizeof slots];
    uint64_t n_sent = copier.n_sent;
    memcpy(before, slots, sizeof slots);
    tl_smpm_copier_tick(&copier, UINT64_MAX / 2);
    assert_int_equal(copier.n_sent, n_sent);
    assert_memory_equal(slots, before, sizeof slots);
}

static void test_nothing_leaves_without_a_session(void **state) {
    (void)state;
    assert_silent();
    const tl_smpm_identity strangers[] = {{TL_SMPM_GUEST_OS, 1, TL_SMPM_NO_CTX},
                                          {TL_SMPM_HYPERVISOR, TL_SMPM_NO_VM, TL_SMPM_NO_CTX},
                                          {TL_SMPM_GUEST_CTX, CONFIDENTIAL_VM, 0}};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(open_session(&strangers[i], 0), TL_EACCESS);
        assert_int_equal(mcu.audit.n_entries, i + 1);
        assert_silent();
    }
}

static void test_limit_stops_emission_until_a_new_epoch(void **state) {
    (void)state;
    sealer.limit = 4;
    assert_int_equal(open_session(&its_system, 0), TL_OK);
    tl_smpm_copier_tick(&copier, 10 * INTERVAL);
    assert_int_equal(copier.n_sent, 4);
    assert_int_equal(mcu.policy.has_key, 0);
    assert_silent();
    assert_int_equal(open_session(&its_system, 2000), TL_OK);
    tl_smpm_copier_tick(&copier, 2000 + INTERVAL);
    assert_int_equal(copier.n_sent, 5);
    assert_true(poll_one());
    assert_int_equal(header.epoch, 2);
    assert_int_equal(header.seq, 1);
}

static void test_stopped_copier_is_silent(void **state) {
    (void)state;
    assert_int_equal(open_session(&its_system, 0), TL_OK);
    tl_smpm_copier_stop(&copier);
    assert_silent();
    assert_int_equal(open_session(&its_system, 0), TL_OK);
    tl_sealed_device_reset(&sealer); // a restored checkpoint
    assert_silent();
    assert_int_equal(open_session(&its_system, 0), TL_OK);
    mcu.policy.has_key = 0; // the key slot is switched away
    assert_silent();
    mcu.policy.has_key = UINT64_MAX; // only a new session starts it again
    assert_silent();
    assert_int_equal(mcu.audit.n_of_subject[TL_SMPM_AUDIT_CONTROLLER], 1);
}

static void test_refused_hello_leaves_the_session_open(void **state) {
    (void)state;
    uint8_t hello[TL_HELLO_BYTES] = {0}, quote[TL_QUOTE_BYTES];
    tl_error err;
    assert_int_equal(open_session(&its_system, 0), TL_OK);
    assert_int_equal(tl_smpm_copier_answer(&copier, &its_system, 0, hello, quote, &err), TL_EFORMAT);
    tl_smpm_copier_tick(&copier, INTERVAL);
    assert_true(poll_one());
    assert_int_equal(tl_sealed_guest_hello(&guest, hello, NULL), TL_OK);
    // The key has small order. The old session is gone, and there is no new one.
    memset(hello + 40, 0, 32);
    assert_int_equal(tl_smpm_copier_answer(&copier, &its_system, 0, hello, quote, &err), TL_EACCESS);
    assert_int_equal(mcu.policy.has_key, 0);
    assert_silent();
}

#define TEST(name) cmocka_unit_test_setup(name, begin)
static const struct CMUnitTest tests[] = {
    TEST(test_blocks_arrive_in_turn),
    TEST(test_block_that_is_gone_is_sent_as_unavailable),
    TEST(test_clear_bytes_do_not_depend_on_values),
    TEST(test_nothing_leaves_without_a_session),
    TEST(test_limit_stops_emission_until_a_new_epoch),
    TEST(test_stopped_copier_is_silent),
    TEST(test_refused_hello_leaves_the_session_open),
};

TL_TEST_MAIN(tests)
