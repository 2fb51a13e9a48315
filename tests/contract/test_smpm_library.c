// SPDX-License-Identifier: MIT
// The guest library guest/include/tally/smpm.h, executed on the host. It reads blocks that the
// device's own code writes, with a racing writer (F-14), and freed and reborn blocks (F-15). It
// uses the request registers of the firmware.
#include <pthread.h>
#include <sched.h>

#include "pmu/smpm/test_device.h"
#include "pmu/smpm/test_tear.h"
#include "pmu/smpm/window.h"

// A library's register access is the window's. The fake mapping is the window itself.
static uint64_t register_read(volatile uint64_t *request, unsigned reg) {
    uint64_t value = 0;
    assert_true(tl_smpm_window_read((const tl_smpm_window *)(uintptr_t)request, 8 * reg, 8, &value));
    return value;
}
static void register_write(volatile uint64_t *request, unsigned reg, uint64_t value) {
    assert_true(tl_smpm_window_write((tl_smpm_window *)(uintptr_t)request, 8 * reg, 8, value));
}
#define SMPM_REG_READ(request, reg) register_read(request, reg)
#define SMPM_REG_WRITE(request, reg, value) register_write(request, reg, value)
#include "../../guest/include/tally/smpm.h"

static fake_device device;
static tl_smpm_source source;
static tl_smpm_mcu mcu;
static tl_smpm_window window;
static uint64_t list[8 + 8 * 4];
static struct smpm s;
static struct smpm_cap cap;
static struct smpm_stamp stamp;
static uint64_t values[N_METRICS];

static int begin(void **state) {
    (void)state;
    const uint8_t secret[TL_SMPM_KEY_BYTES] = {9};
    static const tl_smpm_metric metrics[] = {
        {"hart.active", "cycles", 1, 0}, {"hart.lost", "events", 1, 3}, {"hart.lanes", "lanes", 32, 69}, {"far", "events", 1, 70}};
    fake_init(&device);
    fake_source(&device, &source);
    tl_smpm_mcu_init(&mcu, &source, false, secret);
    enroll_all(&mcu);
    tl_smpm_list_format(list, metrics, 4);
    window = (tl_smpm_window){.mcu = &mcu, .client = {TL_SMPM_GUEST_CTX, 1, 0}};
    uint8_t request[TL_SMPM_REQUEST_BYTES], key[TL_SMPM_KEY_BYTES];
    uint32_t handle;
    key_of(OWNER, key);
    tl_smpm_request_write(
        &(tl_smpm_request){.op = TL_SMPM_OP_GRANT, .requester = OWNER, .vm = 1, .ctx = 0, .seq = 1, .lease = 1u << 30, .mask = {1}}, key,
        request);
    assert_int_equal(tl_smpm_mcu_request(&mcu, &window.client, request, sizeof request, &handle), TL_SMPM_REPLY_OK);
    cap = (struct smpm_cap){.block = device.ctx[1][0],
                            .block_words = BLOCK_WORDS,
                            .list = list,
                            .list_words = sizeof list / 8,
                            .request = (volatile uint64_t *)(uintptr_t)&window,
                            .handle = handle};
    memset(&stamp, 0xee, sizeof stamp);
    memset(values, 0xee, sizeof values);
    return 0;
}

static void test_values_come_with_stamp_and_flags(void **state) {
    (void)state;
    assert_int_equal(smpm_open(&s, &cap), 0);
    assert_int_equal(s.n, N_METRICS);
    device.counts.now_cycles = 1000;
    tl_smpm_block_begin(device.ctx[1][0]);
    tl_smpm_block_add_active(device.ctx[1][0], 44);
    tl_smpm_block_end(device.ctx[1][0], 600);
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), 0);
    for (uint32_t i = 0; i < N_METRICS; i++) {
        assert_true(values[i] == (i == 3 ? SMPM_NO_VALUE : expected_value(22, i)));
        assert_int_equal(stamp.unavailable[i / 64] >> i % 64 & 1, i == 3);
    }
    for (uint32_t i = 2; i < SMPM_MAX_METRICS / 64; i++)
        assert_int_equal(stamp.unavailable[i], 0);
    assert_true(stamp.gen == 6 && stamp.t_commit == 600 && stamp.t_active == 44 && stamp.age == 400 && stamp.n == N_METRICS);
    assert_int_equal(stamp.flags, SMPM_PARTIAL);
    assert_int_equal(smpm_read(&s, SMPM_SELF | SMPM_LATE, values, &stamp), 0);
    for (uint32_t i = 0; i < N_METRICS; i++)
        assert_true(values[i] == (i == 3 ? SMPM_NO_VALUE : i + 1));
    tl_smpm_block_set_available(device.ctx[1][0], 3, true);
    tl_smpm_block_set_flags(device.ctx[1][0], TL_SMPM_LOSSY | TL_SMPM_OVF);
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), 0);
    assert_int_equal(stamp.flags, SMPM_LOSSY | SMPM_OVF);
    tl_smpm_block_set_flags(device.ctx[1][0], TL_SMPM_UNAVAILABLE);
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), 0);
    assert_int_equal(stamp.flags, SMPM_LOSSY | SMPM_OVF | SMPM_UNAVAILABLE | SMPM_PARTIAL);
    for (uint32_t i = 0; i < N_METRICS; i++)
        assert_true(values[i] == SMPM_NO_VALUE && (stamp.unavailable[i / 64] >> i % 64 & 1));
}

static void test_scopes_need_their_mapping(void **state) {
    (void)state;
    assert_int_equal(smpm_open(&s, &cap), 0);
    assert_int_equal(smpm_read(&s, SMPM_VM, values, &stamp), SMPM_DENIED);
    assert_int_equal(smpm_read(&s, 2, values, &stamp), SMPM_INVALID);
    assert_int_equal(smpm_read(&s, SMPM_VM | 0x200, values, &stamp), SMPM_INVALID);
    cap.vm_block = device.vm[1];
    cap.vm_block_words = BLOCK_WORDS;
    assert_int_equal(smpm_open(&s, &cap), 0);
    assert_int_equal(smpm_read(&s, SMPM_VM, values, &stamp), 0);
    assert_true(values[69] == expected_value(11, 69));
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), 0);
    assert_true(values[69] == expected_value(22, 69));
    cap.vm_block = device.ctx[1][1]; // not a VM's block
    assert_int_equal(smpm_open(&s, &cap), SMPM_INVALID);
}

static void test_memory_that_is_no_block_is_refused(void **state) {
    (void)state;
    uint64_t copy[BLOCK_WORDS];
    const struct {
        unsigned word;
        uint64_t flip;
    } rows[] = {{0, 1}, {0, 3ull << 32}, {0, 3ull << 48}, {5, 1u << 13}, {7, 64}, {5, 128}, {7, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memcpy(copy, device.ctx[1][0], sizeof copy);
        copy[rows[i].word] ^= rows[i].flip;
        cap.block = copy;
        assert_int_equal(smpm_open(&s, &cap), SMPM_INVALID);
    }
    cap.block = device.ctx[1][0];
    cap.block_words = BLOCK_WORDS - (N_METRICS + 0) /* the VM's part is not there */;
    assert_int_equal(smpm_open(&s, &cap), 0);
    cap.block_words--;
    assert_int_equal(smpm_open(&s, &cap), SMPM_INVALID);
    cap.block_words = 7;
    assert_int_equal(smpm_open(&s, &cap), SMPM_INVALID);
    cap.block = NULL;
    assert_int_equal(smpm_open(&s, &cap), SMPM_INVALID);
}

// F-15.
static void test_reborn_block_is_gone(void **state) {
    (void)state;
    assert_int_equal(smpm_open(&s, &cap), 0);
    tl_smpm_block_erase(device.ctx[1][0], BLOCK_WORDS);
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), SMPM_GONE);
    fake_block(device.ctx[1][0], TL_SMPM_CTX, 1, 0, 22); // the same id again
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), SMPM_GONE);
    assert_int_equal(smpm_open(&s, &cap), 0);
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), 0);
    tl_smpm_block_begin(device.ctx[1][0]);
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), SMPM_BUSY);
}

static void test_differences_wrap_and_keep_flags(void **state) {
    (void)state;
    uint64_t after[N_METRICS];
    struct smpm_stamp second;
    uint32_t flags = 0;
    volatile uint32_t beyond = N_METRICS; // volatile, because the compiler would see the access
    assert_int_equal(smpm_open(&s, &cap), 0);
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), 0);
    tl_smpm_block_begin(device.ctx[1][0]);
    // The sum wraps.
    tl_smpm_block_add(device.ctx[1][0], TL_SMPM_CTR, 0, 17 - expected_value(22, 0) - expected_value(22, 0));
    tl_smpm_block_set_flags(device.ctx[1][0], TL_SMPM_SATURATED);
    tl_smpm_block_end(device.ctx[1][0], 700);
    assert_int_equal(smpm_read(&s, SMPM_SELF, after, &second), 0);
    assert_true(smpm_since(values, &stamp, after, &second, 0, &flags) == 17 - 2 * expected_value(22, 0));
    assert_int_equal(flags, SMPM_SATURATED);
    assert_true(smpm_since(values, &stamp, after, &second, 3, &flags) == SMPM_NO_VALUE);
    assert_int_equal(flags, SMPM_SATURATED | SMPM_UNAVAILABLE);
    assert_true(smpm_since(values, &stamp, after, &second, beyond, &flags) == SMPM_NO_VALUE);
    assert_true(smpm_since(after, &second, values, &stamp, 0, &flags) == SMPM_NO_VALUE);
}

static void test_list_names_what_is_available(void **state) {
    (void)state;
    struct smpm_metric metrics[4];
    size_t n = 0;
    assert_int_equal(smpm_open(&s, &cap), 0);
    assert_int_equal(smpm_list(&s, NULL, &n), 0);
    assert_int_equal(n, 4);
    n = 3;
    assert_int_equal(smpm_list(&s, metrics, &n), SMPM_NO_SPACE);
    assert_int_equal(n, 4);
    assert_int_equal(smpm_list(&s, metrics, &n), 0);
    const struct smpm_metric expected[] = {{"hart.active", "cycles", 1, 0, 1},
                                           {"hart.lost", "events", 1, 3, 0},
                                           {"hart.lanes", "lanes", 32, 69, 1},
                                           {"far", "events", 1, 70, 0}};
    for (unsigned i = 0; i < 4; i++) {
        assert_string_equal(metrics[i].name, expected[i].name);
        assert_string_equal(metrics[i].unit, expected[i].unit);
        assert_true(metrics[i].scale == expected[i].scale && metrics[i].index == expected[i].index &&
                    metrics[i].is_available == expected[i].is_available);
    }
    list[8 + 5] |= UINT64_C(0xff) << 24; // a name without an end
    assert_int_equal(smpm_list(&s, metrics, &n), SMPM_INVALID);
    list[1] = 5;
    assert_int_equal(smpm_list(&s, metrics, &n), SMPM_INVALID);
    s.cap.list = NULL;
    assert_int_equal(smpm_list(&s, metrics, &n), SMPM_DENIED);
}

static void test_snapshots_reach_the_firmware(void **state) {
    (void)state;
    assert_int_equal(smpm_open(&s, &cap), 0);
    assert_int_equal(smpm_snapshot(&s), 0);
    assert_int_equal(device.n_snapshots[1], 1);
    assert_int_equal(smpm_snapshot(&s), SMPM_TOO_SOON);
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), 0); // stays readable
    device.counts.now_cycles += 10000;
    device.is_switching = true;
    assert_int_equal(smpm_snapshot(&s), SMPM_BUSY);
    device.is_switching = false;
    window.client.ctx = 1; // another process's registers
    assert_int_equal(smpm_snapshot(&s), SMPM_DENIED);
    window.client.ctx = 0;
    assert_int_equal(smpm_snapshot(&s), 0);
    register_write(s.cap.request, SMPM_REG_HANDLE, cap.handle | UINT64_C(1) << 32);
    device.counts.now_cycles += 10000;
    assert_int_equal(smpm_snapshot(&s), SMPM_DENIED);
    assert_int_equal(device.n_snapshots[1], 2);
    s.cap.request = NULL;
    assert_int_equal(smpm_snapshot(&s), SMPM_DENIED);
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), 0);
    assert_true(stamp.age == SMPM_NO_VALUE && (stamp.flags & SMPM_AGE_UNKNOWN));
}

static void test_window_has_four_registers_of_eight_bytes(void **state) {
    (void)state;
    uint64_t value;
    device.counts.now_cycles = 77;
    for (uint64_t offset = 0; offset < 64; offset++)
        for (uint32_t size = 1; size <= 8; size *= 2) {
            bool is_there = size == 8 && offset % 8 == 0 && offset < TL_SMPM_WINDOW_BYTES;
            assert_int_equal(tl_smpm_window_read(&window, offset, size, &value), is_there);
            assert_int_equal(tl_smpm_window_write(&window, offset, size, 9), is_there);
        }
    const uint64_t expected[] = {9, 0, TL_SMPM_WINDOW_DENIED, 77};
    for (unsigned i = 0; i < 4; i++) {
        assert_true(tl_smpm_window_read(&window, 8 * i, 8, &value));
        assert_int_equal(value, expected[i]);
    }
}

static unsigned is_over;

static void *write_for_ever(void *argument) {
    uint64_t *words = argument;
    for (uint64_t round = 1; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); round++) {
        tl_smpm_block_begin(words);
        for (uint32_t i = 0; i < N_METRICS; i++)
            tl_smpm_block_add(words, TL_SMPM_CTR, i, 1);
        tl_smpm_block_end(words, 1000 + round);
        if (round % 8 == 0)
            sched_yield(); // hosts of one core, too
    }
    return NULL;
}

// F-14.
static void test_racing_reader_never_sees_half_a_commit(void **state) {
    (void)state;
    pthread_t writer;
    assert_int_equal(smpm_open(&s, &cap), 0);
    is_over = 0;
    assert_int_equal(pthread_create(&writer, NULL, write_for_ever, device.ctx[1][0]), 0);
    uint64_t last = 0;
    for (unsigned n = 0; n < 1000;) {
        int result = smpm_read(&s, SMPM_SELF, values, &stamp);
        if (result == SMPM_BUSY) {
            sched_yield();
            continue;
        }
        assert_int_equal(result, 0);
        uint64_t rounds = stamp.gen / 2 - 2; // the format and the first commit
        assert_true(rounds == 0 || stamp.t_commit == 1000 + rounds);
        for (uint32_t i = 0; i < N_METRICS; i++)
            assert_true(i == 3 || values[i] == expected_value(22, i) + rounds);
        assert_true(rounds >= last);
        last = rounds;
        n++;
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(writer, NULL), 0);
}

static void test_commit_within_a_read_makes_it_start_again(void **state) {
    (void)state;
    struct sigaction old;
    const tl_smpm_shape shape = {TL_SMPM_CTX, 1, 0, N_METRICS, tl_smpm_safe_parts(TL_SMPM_CTX)};
    cap.block = tear_begin(&shape);
    assert_int_equal(smpm_open(&s, &cap), 0);
    tear_arm(&old);
    assert_int_equal(smpm_read(&s, SMPM_SELF, values, &stamp), 0);
    assert_int_equal(tear.n_faults, 1);
    for (uint32_t i = 0; i < N_METRICS; i++)
        assert_int_equal(values[i], 1); // not 0 before the tear
    assert_int_equal(stamp.t_commit, 1);
    tear_done(&old);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)
static const struct CMUnitTest tests[] = {
    TEST(test_values_come_with_stamp_and_flags),       TEST(test_scopes_need_their_mapping),
    TEST(test_memory_that_is_no_block_is_refused),     TEST(test_reborn_block_is_gone),
    TEST(test_differences_wrap_and_keep_flags),        TEST(test_list_names_what_is_available),
    TEST(test_snapshots_reach_the_firmware),           TEST(test_window_has_four_registers_of_eight_bytes),
    TEST(test_racing_reader_never_sees_half_a_commit), TEST(test_commit_within_a_read_makes_it_start_again),
};

TL_TEST_MAIN(tests)
