// SPDX-License-Identifier: MIT
// The mailbox: every opcode and status, authentication, T-OOB-1 (no allocation), T-OOB-2
// (coverage), and its wire.
#include "pmu/smpm/test_device.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmu/smpm/oob.h"
#include "sealed/bytes.h"
#include "sealed/hash.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED
#endif
#endif
#if !defined(IS_SANITIZED) && !defined(__SANITIZE_ADDRESS__)
#define HAS_ALLOCATOR_HOOK
#endif

static bool forbids_memory;

#ifdef HAS_ALLOCATOR_HOOK
extern void *__libc_malloc(size_t n_bytes);
extern void *__libc_calloc(size_t n, size_t n_bytes);
extern void *__libc_realloc(void *block, size_t n_bytes);

void *malloc(size_t n_bytes) { return forbids_memory ? abort(), NULL : __libc_malloc(n_bytes); }
void *calloc(size_t n, size_t n_bytes) { return forbids_memory ? abort(), NULL : __libc_calloc(n, n_bytes); }
void *realloc(void *block, size_t n_bytes) { return forbids_memory ? abort(), NULL : __libc_realloc(block, n_bytes); }
#endif

static fake_device device;
static tl_smpm_source source;
static tl_smpm_mcu mcu;
static tl_smpm_mailbox mailbox;
static uint8_t session_key[32];
static uint64_t n_codes;

static int begin(void **state) {
    (void)state;
    fake_begin(&device, &source, &mcu);
    tl_smpm_mailbox_init(&mailbox, &mcu);
    return 0;
}

static uint32_t get(uint32_t offset) {
    uint32_t value = 0xdeadbeef;
    assert_true(tl_smpm_mailbox_read(&mailbox, offset, &value));
    return value;
}

static tl_smpm_oob_status execute(uint32_t cmd, uint32_t data_in, const uint32_t *auth) {
    assert_true(tl_smpm_mailbox_write(&mailbox, TL_SMPM_OOB_DATA_IN, data_in));
    for (uint32_t i = 0; auth && i < 4; i++)
        assert_true(tl_smpm_mailbox_write(&mailbox, TL_SMPM_OOB_AUTH + 4 * i, auth[i]));
    assert_true(tl_smpm_mailbox_write(&mailbox, TL_SMPM_OOB_CMD, cmd));
    uint32_t result = get(TL_SMPM_OOB_CMD);
    assert_int_equal(result & 0xffffff, cmd & 0xffffff);
    assert_int_equal(result & TL_SMPM_OOB_EXEC, 0);
    return (tl_smpm_oob_status)TL_SMPM_OOB_STATUS_OF(result);
}

static tl_smpm_oob_status plain(uint8_t opcode, unsigned arg, uint32_t data_in) {
    return execute(TL_SMPM_OOB_CMD_OF(opcode, arg & 0xff, arg >> 8), data_in, NULL);
}

static tl_smpm_oob_status coded(uint8_t opcode, unsigned arg, uint32_t data_in) {
    uint32_t auth[4], cmd = TL_SMPM_OOB_CMD_OF(opcode, arg & 0xff, arg >> 8);
    tl_smpm_oob_code(session_key, n_codes++, cmd, data_in, auth);
    return execute(cmd, data_in, auth);
}

static tl_smpm_oob_status authenticate_as(uint32_t requester, uint32_t key_owner) {
    uint8_t key[TL_SMPM_KEY_BYTES];
    key_of(key_owner, key);
    tl_smpm_oob_status status = plain(TL_SMPM_OOB_BEGIN, 0, requester);
    if (status != TL_SMPM_OOB_SUCCESS)
        return status;
    const uint32_t challenge[2] = {get(TL_SMPM_OOB_DATA_OUT), get(TL_SMPM_OOB_EXT_OUT)};
    uint32_t auth[4];
    tl_smpm_oob_proof(key, requester, challenge, auth);
    tl_smpm_oob_session(key, challenge, session_key);
    n_codes = 0;
    return execute(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 1, 0), requester, auth);
}

static tl_smpm_cause last_cause(void) {
    uint64_t n = mcu.audit.n_of_subject[TL_SMPM_AUDIT_CONTROLLER];
    assert_true(n > 0);
    return mcu.audit.entries[TL_SMPM_AUDIT_CONTROLLER][(n - 1) % TL_SMPM_AUDIT_ENTRIES].cause;
}

static uint64_t out(void) { return get(TL_SMPM_OOB_DATA_OUT) | (uint64_t)get(TL_SMPM_OOB_EXT_OUT) << 32; }

static void test_identity_and_status(void **state) {
    (void)state;
    assert_int_equal(plain(TL_SMPM_OOB_ID, 0, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(get(TL_SMPM_OOB_DATA_OUT), 1 | N_METRICS << 16);
    assert_int_equal(get(TL_SMPM_OOB_EXT_OUT), 1 + VMS + VMS * CTXS);
    assert_int_equal(plain(TL_SMPM_OOB_STATUS, 0, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(get(TL_SMPM_OOB_DATA_OUT), 0x301);
    device.counts.is_driver_loaded = false;
    device.counts.is_lossy = true;
    assert_int_equal(plain(TL_SMPM_OOB_STATUS, 0, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(get(TL_SMPM_OOB_DATA_OUT), 0x302);
    device.counts.is_lossy = false;
    device.counts.has_overflow = true;
    device.counts.n_partitions = 300;
    assert_int_equal(plain(TL_SMPM_OOB_STATUS, 0, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(get(TL_SMPM_OOB_DATA_OUT), 0xff04);
}

static void test_device_latch_reads_64_bits(void **state) {
    (void)state;
    assert_int_equal(plain(TL_SMPM_OOB_READ64, 0, 0), TL_SMPM_OOB_STALE);
    assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(get(TL_SMPM_OOB_DATA_OUT), 4); // formatted, and one commit
    tl_smpm_block_begin(device.dev);
    tl_smpm_block_add(device.dev, TL_SMPM_CTR, 0, 1); // the latch stays as it is
    tl_smpm_block_end(device.dev, 600);
    for (unsigned i = 0; i < N_METRICS; i++) {
        assert_int_equal(plain(TL_SMPM_OOB_READ64, i, 0), i == 3 ? TL_SMPM_OOB_UNAVAILABLE : TL_SMPM_OOB_SUCCESS);
        assert_int_equal(out(), i == 3 ? 0 : expected_value(0, i));
    }
    assert_int_equal(plain(TL_SMPM_OOB_READ64, N_METRICS, 0), TL_SMPM_OOB_BAD_ARG);
    assert_int_equal(plain(TL_SMPM_OOB_READ64, 256, 0), TL_SMPM_OOB_BAD_ARG); // arg2 counts
    assert_int_equal(out(), 0);
    assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(plain(TL_SMPM_OOB_READ64, 0, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(out(), expected_value(0, 0) + 1);
    assert_int_equal(mcu.audit.n_entries, 0);
}

static void test_values_carry_the_flags_of_the_latch(void **state) {
    (void)state;
    const struct {
        uint32_t flags, bits;
    } rows[] = {{TL_SMPM_OVF, TL_SMPM_OOB_INEXACT}, {TL_SMPM_SATURATED, TL_SMPM_OOB_INEXACT}, {TL_SMPM_LOSSY, TL_SMPM_OOB_LOSSY}};
    for (size_t i = 0; i < 3; i++) {
        begin(NULL);
        assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_SUCCESS);
        assert_int_equal(plain(TL_SMPM_OOB_READ64, 0, 0), TL_SMPM_OOB_SUCCESS);
        assert_int_equal(get(TL_SMPM_OOB_CMD) >> 29, 0);
        tl_smpm_block_set_flags(device.dev, rows[i].flags);
        assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_SUCCESS);
        assert_int_equal(plain(TL_SMPM_OOB_READ64, 0, 0), TL_SMPM_OOB_SUCCESS);
        assert_int_equal(get(TL_SMPM_OOB_CMD) >> 29, rows[i].bits >> 29);
        assert_int_equal(plain(TL_SMPM_OOB_ID, 0, 0), TL_SMPM_OOB_SUCCESS);
        assert_int_equal(get(TL_SMPM_OOB_CMD) >> 29, 0);
    }
}

static void test_idle_counts_since_the_latch(void **state) {
    (void)state;
    device.counts.idle_cycles = UINT64_C(0x500000007);
    device.counts.total_cycles = UINT64_C(0x900000009);
    assert_int_equal(plain(TL_SMPM_OOB_IDLE, 0, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(get(TL_SMPM_OOB_DATA_OUT), 7);
    assert_int_equal(get(TL_SMPM_OOB_EXT_OUT), 9);
    device.counts.idle_cycles = UINT64_C(0x700000000); // the second half is of the same sample
    assert_int_equal(plain(TL_SMPM_OOB_IDLE, 1, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(get(TL_SMPM_OOB_DATA_OUT), 5);
    assert_int_equal(get(TL_SMPM_OOB_EXT_OUT), 9);
    assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_SUCCESS);
    device.counts.idle_cycles += 11;
    device.counts.total_cycles += 13;
    assert_int_equal(plain(TL_SMPM_OOB_IDLE, 0, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(get(TL_SMPM_OOB_DATA_OUT), 11);
    assert_int_equal(get(TL_SMPM_OOB_EXT_OUT), 13);
    assert_int_equal(plain(TL_SMPM_OOB_IDLE, 2, 0), TL_SMPM_OOB_BAD_ARG);
}

static void test_latch_is_stale_after_a_change_of_partitions(void **state) {
    (void)state;
    assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_SUCCESS);
    device.is_switching = true;
    assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_BUSY);
    assert_int_equal(plain(TL_SMPM_OOB_READ64, 0, 0), TL_SMPM_OOB_STALE); // half a latch is none
    device.is_switching = false;
    assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_SUCCESS);
    device.counts.generation++;
    assert_int_equal(plain(TL_SMPM_OOB_READ64, 0, 0), TL_SMPM_OOB_STALE);
    device.is_switching = true;
    assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_BUSY);
    device.is_switching = false;
    // The failed latch left none.
    assert_int_equal(plain(TL_SMPM_OOB_READ64, 0, 0), TL_SMPM_OOB_STALE);
    assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(plain(TL_SMPM_OOB_READ64, 0, 0), TL_SMPM_OOB_SUCCESS);
}

static void test_unknown_opcodes_and_scopes(void **state) {
    (void)state;
    static const uint8_t known[] = {TL_SMPM_OOB_ID,     TL_SMPM_OOB_LATCH, TL_SMPM_OOB_READ64, TL_SMPM_OOB_IDLE,
                                    TL_SMPM_OOB_STATUS, TL_SMPM_OOB_NAME,  TL_SMPM_OOB_BEGIN,  TL_SMPM_OOB_CONFIG};
    for (unsigned opcode = 0; opcode < 256; opcode++)
        if (!memchr(known, (int)opcode, sizeof known))
            // Opcode 06 READVM is among them (K5).
            assert_int_equal(plain((uint8_t)opcode, 0, 0), TL_SMPM_OOB_BAD_OPCODE);
    const uint32_t scopes[] = {1, 1u << 16, TL_SMPM_OOB_SCOPE(1, 1, 1), TL_SMPM_OOB_SCOPE(3, 0, 0)};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, scopes[i]), TL_SMPM_OOB_BAD_ARG);
    assert_int_equal(plain(TL_SMPM_OOB_BEGIN, 3, 0), TL_SMPM_OOB_BAD_ARG);
}

static void test_registers_are_where_the_map_says(void **state) {
    (void)state;
    uint32_t value = 5;
    for (uint32_t offset = 0; offset < 64; offset++) {
        bool is_there = offset < TL_SMPM_OOB_BYTES && offset % 4 == 0;
        assert_int_equal(tl_smpm_mailbox_read(&mailbox, offset, &value), is_there);
        assert_int_equal(tl_smpm_mailbox_write(&mailbox, offset, 0x12345678), is_there);
    }
    assert_int_equal(get(TL_SMPM_OOB_CMD), 0x345678); // without exec nothing runs
    assert_int_equal(get(TL_SMPM_OOB_DATA_IN), 0x12345678);
    assert_int_equal(get(TL_SMPM_OOB_DATA_OUT), 0);
    assert_int_equal(get(TL_SMPM_OOB_EXT_OUT), 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(get(TL_SMPM_OOB_AUTH + 4 * i), 0); // write-only
}

static void test_vm_latch_needs_codes_and_rights(void **state) {
    (void)state;
    const uint32_t vm_1 = TL_SMPM_OOB_SCOPE(1, 1, 0), ctx_1_1 = TL_SMPM_OOB_SCOPE(2, 1, 1), vm_2 = TL_SMPM_OOB_SCOPE(1, 2, 0);
    assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, vm_1), TL_SMPM_OOB_DENIED);
    assert_int_equal(last_cause(), TL_SMPM_CAUSE_SIGNATURE);
    assert_int_equal(authenticate_as(OPERATOR, OPERATOR), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, vm_1), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(coded(TL_SMPM_OOB_READ64, 5, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(out(), expected_value(11, 5));
    // This is the next program on the bus.
    assert_int_equal(plain(TL_SMPM_OOB_READ64, 5, 0), TL_SMPM_OOB_DENIED);
    assert_int_equal(out(), 0);
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, ctx_1_1), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(coded(TL_SMPM_OOB_READ64, 69, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(out(), expected_value(23, 69));
    uint64_t n_reads = device.n_reads;
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, vm_2), TL_SMPM_OOB_DENIED);
    assert_int_equal(last_cause(), TL_SMPM_CAUSE_RIGHT);
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, TL_SMPM_OOB_SCOPE(1, 33, 0)), TL_SMPM_OOB_DENIED);
    // There is no such context.
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, TL_SMPM_OOB_SCOPE(2, 1, 9)), TL_SMPM_OOB_BAD_ARG);
    assert_int_equal(device.n_reads, n_reads + 1);
    // The VM is its own, but it has no right to latch.
    assert_int_equal(authenticate_as(OWNER, OWNER), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, vm_1), TL_SMPM_OOB_DENIED);
    assert_int_equal(authenticate_as(STRANGER, STRANGER), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, vm_1), TL_SMPM_OOB_DENIED);
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, TL_SMPM_OOB_SCOPE(1, 3, 0)), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(authenticate_as(OPERATOR, OPERATOR), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(coded(TL_SMPM_OOB_READ64, 0, 0), TL_SMPM_OOB_DENIED); // STRANGER's latch
}

static void test_confidential_vms_are_never_latched(void **state) {
    (void)state;
    assert_int_equal(authenticate_as(OPERATOR, OPERATOR), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, TL_SMPM_OOB_SCOPE(1, 1, 0)), TL_SMPM_OOB_SUCCESS);
    mcu.policy.confidential = 1u << 1;
    assert_int_equal(coded(TL_SMPM_OOB_READ64, 0, 0), TL_SMPM_OOB_DENIED);
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, TL_SMPM_OOB_SCOPE(1, 1, 0)), TL_SMPM_OOB_DENIED);
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, TL_SMPM_OOB_SCOPE(2, 1, 0)), TL_SMPM_OOB_DENIED);
    // The whole device is that VM, so only listed metrics remain.
    mcu.listed[1] = 1u << 4; // metric 68
    assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_SUCCESS);
    for (unsigned i = 0; i < N_METRICS; i++) {
        assert_int_equal(plain(TL_SMPM_OOB_READ64, i, 0), i == 68 ? TL_SMPM_OOB_SUCCESS : TL_SMPM_OOB_DENIED);
        assert_int_equal(out(), i == 68 ? expected_value(0, 68) : 0);
    }
}

static void test_wrong_proof_opens_nothing(void **state) {
    (void)state;
    assert_int_equal(authenticate_as(OPERATOR, OWNER), TL_SMPM_OOB_DENIED);
    assert_int_equal(coded(TL_SMPM_OOB_LATCH, 0, TL_SMPM_OOB_SCOPE(1, 1, 0)), TL_SMPM_OOB_DENIED);
    assert_int_equal(authenticate_as(999, OPERATOR), TL_SMPM_OOB_DENIED); // unknown
    // A challenge is good for one try.
    assert_int_equal(plain(TL_SMPM_OOB_BEGIN, 1, 0), TL_SMPM_OOB_STALE);
    const uint32_t zeros[4] = {0};
    assert_int_equal(execute(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 1, 0), 0, zeros), TL_SMPM_OOB_STALE);
}

static void test_challenges_differ_and_proofs_cannot_be_replayed(void **state) {
    (void)state;
    uint8_t key[TL_SMPM_KEY_BYTES];
    key_of(OPERATOR, key);
    assert_int_equal(plain(TL_SMPM_OOB_BEGIN, 0, OPERATOR), TL_SMPM_OOB_SUCCESS);
    const uint32_t challenge[2] = {get(TL_SMPM_OOB_DATA_OUT), get(TL_SMPM_OOB_EXT_OUT)};
    uint32_t auth[4];
    tl_smpm_oob_proof(key, OPERATOR, challenge, auth);
    assert_int_equal(execute(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 1, 0), 0, auth), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(plain(TL_SMPM_OOB_BEGIN, 0, OPERATOR), TL_SMPM_OOB_SUCCESS);
    assert_true(get(TL_SMPM_OOB_DATA_OUT) != challenge[0] && get(TL_SMPM_OOB_EXT_OUT) != challenge[1]);
    assert_int_equal(execute(TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 1, 0), 0, auth), TL_SMPM_OOB_DENIED);
}

// F-19 for commands: each bit of the code, another command, another value, a replay.
static void test_code_is_of_one_command_once(void **state) {
    (void)state;
    uint32_t auth[4], cmd = TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_CONFIG, 0, 0);
    for (unsigned bit = 0; bit < 128; bit++) {
        if (bit % 2 == 0) // before the third failure in turn
            assert_int_equal(authenticate_as(OPERATOR, OPERATOR), TL_SMPM_OOB_SUCCESS);
        tl_smpm_oob_code(session_key, n_codes, cmd, 77, auth);
        auth[bit / 32] ^= 1u << bit % 32;
        assert_int_equal(execute(cmd, 77, auth), TL_SMPM_OOB_DENIED);
        assert_int_equal(last_cause(), TL_SMPM_CAUSE_SIGNATURE);
    }
    assert_int_equal(device.n_configured, 0);
    assert_int_equal(authenticate_as(OPERATOR, OPERATOR), TL_SMPM_OOB_SUCCESS);
    tl_smpm_oob_code(session_key, 0, cmd, 77, auth);
    assert_int_equal(execute(cmd, 78, auth), TL_SMPM_OOB_DENIED);
    assert_int_equal(execute(cmd | 2 << 8, 77, auth), TL_SMPM_OOB_DENIED);
    // A refused command used up no number.
    assert_int_equal(execute(cmd, 77, auth), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(execute(cmd, 77, auth), TL_SMPM_OOB_DENIED);
    assert_int_equal(device.n_configured, 1);
    assert_int_equal(device.configured[0], 77);
}

// The test computes the codes by hand, so that mailbox and client cannot be wrong together.
static void test_codes_are_hmacs_of_label_and_fields(void **state) {
    (void)state;
    static const char *const labels[3] = {"oob proof", "oob session", "oob command"};
    const uint8_t fields[3][16] = {{4, 3, 2, 1, 8, 7, 6, 5, 0x0c, 0x0b, 0x0a, 9},
                                   {4, 3, 2, 1, 8, 7, 6, 5},
                                   {9, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x22, 0x33, 0, 0x47, 0x46, 0x45, 0x44}};
    const size_t n_fields[3] = {12, 8, 16};
    const uint32_t challenge[2] = {0x01020304, 0x05060708};
    uint8_t key[TL_SMPM_KEY_BYTES], expected[3][32], session[32];
    uint32_t proof[4], code[4];
    key_of(OPERATOR, key);
    for (unsigned i = 0; i < 3; i++) {
        tl_hmac mac;
        tl_hmac_init(&mac, key, sizeof key);
        tl_hmac_add(&mac, labels[i], strlen(labels[i]) + 1);
        tl_hmac_add(&mac, fields[i], n_fields[i]);
        tl_hmac_end(&mac, expected[i]);
    }
    tl_smpm_oob_proof(key, 0x090a0b0c, challenge, proof);
    tl_smpm_oob_session(key, challenge, session);
    tl_smpm_oob_code(key, 9, 0xff332211, 0x44454647, code);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(proof[i], tl_get_u32(expected[0] + 4 * i));
        assert_int_equal(code[i], tl_get_u32(expected[2] + 4 * i));
    }
    assert_memory_equal(session, expected[1], 32);
}

static void test_three_wrong_codes_lock_for_a_while(void **state) {
    (void)state;
    assert_int_equal(authenticate_as(OPERATOR, OPERATOR), TL_SMPM_OOB_SUCCESS);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(plain(TL_SMPM_OOB_CONFIG, 0, 5), TL_SMPM_OOB_DENIED);
    assert_int_equal(last_cause(), TL_SMPM_CAUSE_LOCKED);
    assert_int_equal(coded(TL_SMPM_OOB_CONFIG, 0, 5), TL_SMPM_OOB_DENIED);
    assert_int_equal(authenticate_as(OPERATOR, OPERATOR), TL_SMPM_OOB_BUSY);
    device.counts.now_cycles += (1 << 20) - 1;
    assert_int_equal(authenticate_as(OPERATOR, OPERATOR), TL_SMPM_OOB_BUSY);
    // A command that needs no code goes on.
    assert_int_equal(plain(TL_SMPM_OOB_LATCH, 0, 0), TL_SMPM_OOB_SUCCESS);
    device.counts.now_cycles += 1;
    assert_int_equal(authenticate_as(OPERATOR, OPERATOR), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(coded(TL_SMPM_OOB_CONFIG, 0, 5), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(plain(TL_SMPM_OOB_BEGIN, 2, 0), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(coded(TL_SMPM_OOB_CONFIG, 0, 6), TL_SMPM_OOB_DENIED);
    assert_int_equal(device.configured[0], 5);
}

// T-OOB-2.
static void test_coverage_of_the_device_block_cannot_be_reduced(void **state) {
    (void)state;
    tl_smpm_coverage before = device.coverage;
    assert_int_equal(authenticate_as(OPERATOR, OPERATOR), TL_SMPM_OOB_SUCCESS);
    for (uint32_t ulc = 0; ulc < 8; ulc++) {
        assert_int_equal(coded(TL_SMPM_OOB_CONFIG, 1, ulc), TL_SMPM_OOB_DENIED);
        assert_int_equal(last_cause(), TL_SMPM_CAUSE_COVERAGE);
    }
    assert_memory_equal(&device.coverage, &before, sizeof before);
    assert_int_equal(coded(TL_SMPM_OOB_CONFIG, 1, 8), TL_SMPM_OOB_SUCCESS); // was not covered
    assert_int_equal(coded(TL_SMPM_OOB_CONFIG, 2, 9), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(coded(TL_SMPM_OOB_CONFIG, 1, 9), TL_SMPM_OOB_DENIED); // now it is
    assert_int_equal(coded(TL_SMPM_OOB_CONFIG, 3, 0), TL_SMPM_OOB_BAD_ARG);
    assert_int_equal(coded(TL_SMPM_OOB_CONFIG, 0, UINT32_MAX), TL_SMPM_OOB_BAD_ARG);
    assert_int_equal(authenticate_as(STRANGER, STRANGER), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(coded(TL_SMPM_OOB_CONFIG, 0, 1), TL_SMPM_OOB_DENIED);
    assert_int_equal(last_cause(), TL_SMPM_CAUSE_RIGHT);
}

static void test_names_come_in_parts_of_eight_bytes(void **state) {
    (void)state;
    static const uint32_t known[] = {0, 1, 2, 4, 5};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char name[49] = "";
        for (uint32_t part = 0; part < 6; part++) {
            assert_int_equal(plain(TL_SMPM_OOB_NAME, known[i], part), TL_SMPM_OOB_SUCCESS);
            for (uint32_t k = 0; k < 8; k++)
                name[8 * part + k] = (char)(get(k < 4 ? TL_SMPM_OOB_DATA_OUT : TL_SMPM_OOB_EXT_OUT) >> 8 * (k % 4));
        }
        assert_string_equal(name, fake_name(NULL, known[i]));
    }
    assert_int_equal(plain(TL_SMPM_OOB_NAME, 3, 0), TL_SMPM_OOB_UNAVAILABLE);
    assert_int_equal(plain(TL_SMPM_OOB_NAME, 1, 6), TL_SMPM_OOB_BAD_ARG);
    assert_int_equal(plain(TL_SMPM_OOB_NAME, N_METRICS, 0), TL_SMPM_OOB_BAD_ARG);
    source.name = NULL;
    assert_int_equal(plain(TL_SMPM_OOB_NAME, 1, 0), TL_SMPM_OOB_UNAVAILABLE);
}

// T-OOB-1: all opcodes, allowed and refused, while the allocator aborts. The source is memory only:
// no driver, hart or guest is there at all.
static void test_no_command_allocates(void **state) {
    (void)state;
    forbids_memory = true;
    for (unsigned round = 0; round < 3; round++) {
        (void)authenticate_as(OPERATOR, OPERATOR);
        (void)coded(TL_SMPM_OOB_LATCH, 0, TL_SMPM_OOB_SCOPE(1, 1, 0));
        (void)coded(TL_SMPM_OOB_READ64, 1, 0);
        (void)coded(TL_SMPM_OOB_CONFIG, round, 3);
        for (unsigned opcode = 0; opcode < 256; opcode++)
            for (unsigned arg = 0; arg < 4; arg++)
                (void)plain((uint8_t)opcode, arg, arg << 30);
        device.counts.now_cycles += 1 << 20;
    }
    forbids_memory = false;
}

#ifdef HAS_ALLOCATOR_HOOK
static void test_the_hook_sees_allocations(void **state) {
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        forbids_memory = true;
        void *volatile block = malloc(16);
        free(block);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}
#endif

// Replies for the same command are the same whatever tenants counted.
static void test_statuses_do_not_depend_on_tenant_data(void **state) {
    (void)state;
    tl_smpm_oob_status statuses[2][256 * 8];
    for (unsigned run = 0; run < 2; run++) {
        begin(NULL);
        for (uint32_t vm = 0; run == 1 && vm < VMS; vm++) {
            fake_block(device.vm[vm], TL_SMPM_VM, vm, TL_SMPM_NO_CTX, 100 + 7 * vm);
            tl_smpm_block_set_flags(device.vm[vm], TL_SMPM_OVF | TL_SMPM_LOSSY);
        }
        if (run == 1)
            fake_block(device.dev, TL_SMPM_DEV, 0, TL_SMPM_NO_CTX, 77);
        unsigned n = 0;
        (void)authenticate_as(OPERATOR, OPERATOR);
        for (unsigned opcode = 0; opcode < 256; opcode++)
            for (unsigned i = 0; i < 8; i++)
                statuses[run][n++] = i % 2 ? plain((uint8_t)opcode, i / 2, i << 29) : coded((uint8_t)opcode, i / 2, i << 29);
    }
    assert_memory_equal(statuses[0], statuses[1], sizeof statuses[0]);
}

//  ---- the wire

typedef struct server {
    int fd;
    tl_status status;
} server;

static void *serve(void *argument) {
    server *s = argument;
    s->status = tl_smpm_oob_serve(&mailbox, s->fd, NULL);
    return NULL;
}

static int connect_to(server *ret_server, pthread_t *ret_thread) {
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    ret_server->fd = fds[1];
    assert_int_equal(pthread_create(ret_thread, NULL, serve, ret_server), 0);
    return fds[0];
}

static tl_status hang_up(int fd, server *s, pthread_t thread) {
    close(fd);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(s->fd);
    return s->status;
}

static void test_commands_travel_over_a_socket(void **state) {
    (void)state;
    server s;
    pthread_t thread;
    tl_smpm_oob_result result;
    int fd = connect_to(&s, &thread);
    assert_int_equal(tl_smpm_oob_command(fd, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_LATCH, 0, 0), 0, NULL, &result, NULL), TL_OK);
    assert_int_equal(TL_SMPM_OOB_STATUS_OF(result.cmd), TL_SMPM_OOB_SUCCESS);
    assert_int_equal(tl_smpm_oob_command(fd, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_READ64, 9, 0), 0, NULL, &result, NULL), TL_OK);
    assert_int_equal(result.data_out | (uint64_t)result.ext_out << 32, expected_value(0, 9));
    uint8_t key[TL_SMPM_KEY_BYTES];
    uint32_t auth[4];
    key_of(OPERATOR, key);
    assert_int_equal(tl_smpm_oob_command(fd, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 0, 0), OPERATOR, NULL, &result, NULL), TL_OK);
    const uint32_t challenge[2] = {result.data_out, result.ext_out};
    tl_smpm_oob_proof(key, OPERATOR, challenge, auth);
    assert_int_equal(tl_smpm_oob_command(fd, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 1, 0), 0, auth, &result, NULL), TL_OK);
    assert_int_equal(TL_SMPM_OOB_STATUS_OF(result.cmd), TL_SMPM_OOB_SUCCESS);
    uint32_t value = 0;
    assert_int_equal(tl_smpm_oob_read(fd, 0x20, &value, NULL), TL_ENOENT);
    assert_int_equal(tl_smpm_oob_read(fd, 0x02, &value, NULL), TL_ENOENT);
    assert_int_equal(hang_up(fd, &s, thread), TL_OK);
}

static void test_malformed_messages_are_answered(void **state) {
    (void)state;
    const uint8_t messages[][8] = {{2, 0}, {0, 0, 1}, {0, 0, 0, 1}, {0, 3}, {1, 0x20}, {0, 4}};
    const uint8_t replies[] = {2, 2, 2, 1, 1, 0};
    mailbox.data_in = 0x01020304;
    for (size_t i = 0; i < 6; i++) {
        uint8_t answer[8];
        tl_smpm_oob_answer(&mailbox, messages[i], answer);
        const uint8_t expected[8] = {replies[i], messages[i][1], 0, 0, i == 5 ? 4 : 0, i == 5 ? 3 : 0, i == 5 ? 2 : 0, i == 5 ? 1 : 0};
        assert_memory_equal(answer, expected, 8);
    }
}

static void test_peer_that_stops_within_a_message(void **state) {
    (void)state;
    server s;
    pthread_t thread;
    int fd = connect_to(&s, &thread);
    assert_int_equal(write(fd, "\0\0\0", 3), 3);
    assert_int_equal(hang_up(fd, &s, thread), TL_EFORMAT);
    tl_error err = {0};
    assert_int_equal(tl_smpm_oob_serve(&mailbox, -1, &err), TL_EIO);
    assert_true(err.text[0] != '\0');
    int fds[2];
    uint32_t value;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    const uint8_t answers[][8] = {{7, 4}, {0, 5}, {0, 4, 1}, {0, 4, 0, 1}}; // none of them is one
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(write(fds[1], answers[i], 8), 8);
        assert_int_equal(tl_smpm_oob_read(fds[0], 4, &value, &err), TL_EFORMAT);
    }
    const uint8_t refused[8] = {1, 4}, good[8] = {0, 4, 0, 0, 4, 3, 2, 1};
    assert_int_equal(write(fds[1], refused, 8), 8);
    assert_int_equal(tl_smpm_oob_read(fds[0], 4, &value, &err), TL_ENOENT);
    assert_int_equal(write(fds[1], good, 8), 8);
    assert_int_equal(tl_smpm_oob_read(fds[0], 4, &value, &err), TL_OK);
    assert_int_equal(value, 0x01020304);
    assert_int_equal(shutdown(fds[1], SHUT_WR), 0); // closed instead of an answer
    assert_int_equal(tl_smpm_oob_read(fds[0], 4, &value, &err), TL_EFORMAT);
    close(fds[1]);
    assert_int_equal(tl_smpm_oob_read(fds[0], 4, &value, &err), TL_EIO);
    close(fds[0]);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)
static const struct CMUnitTest tests[] = {
    TEST(test_identity_and_status),
    TEST(test_device_latch_reads_64_bits),
    TEST(test_values_carry_the_flags_of_the_latch),
    TEST(test_idle_counts_since_the_latch),
    TEST(test_latch_is_stale_after_a_change_of_partitions),
    TEST(test_unknown_opcodes_and_scopes),
    TEST(test_registers_are_where_the_map_says),
    TEST(test_vm_latch_needs_codes_and_rights),
    TEST(test_confidential_vms_are_never_latched),
    TEST(test_names_come_in_parts_of_eight_bytes),
    TEST(test_wrong_proof_opens_nothing),
    TEST(test_challenges_differ_and_proofs_cannot_be_replayed),
    TEST(test_code_is_of_one_command_once),
    TEST(test_codes_are_hmacs_of_label_and_fields),
    TEST(test_three_wrong_codes_lock_for_a_while),
    TEST(test_coverage_of_the_device_block_cannot_be_reduced),
    TEST(test_no_command_allocates),
#ifdef HAS_ALLOCATOR_HOOK
    TEST(test_the_hook_sees_allocations),
#endif
    TEST(test_statuses_do_not_depend_on_tenant_data),
    TEST(test_commands_travel_over_a_socket),
    TEST(test_malformed_messages_are_answered),
    TEST(test_peer_that_stops_within_a_message),
};

TL_TEST_MAIN(tests)
