/* SPDX-License-Identifier: MIT
 * Every call of the SBI PMU extension with every error of OpenSBI 1.1, for N_HPM programmable
 * counters of HPM_BITS bits. Comments name deviations from SBI 1.0, chapter 11. */
#include "sbi.h"

#ifdef U74
enum { N_HPM = 2, HPM_BITS = 40, HAS_SSCOFPMF = 0 };
static const u64 events[] = {1, 2, 5, 6, 0x10009, 0x10021};
#else
enum { N_HPM = 29, HPM_BITS = 64, HAS_SSCOFPMF = 1 };
static const u64 events[] = {1,       2,       3,       4,       5,       6,       8,       9,       10,
                             0x10000, 0x10001, 0x10002, 0x10003, 0x10005, 0x10008, 0x10009, 0x1000d, 0x10010,
                             0x10011, 0x10019, 0x1001b, 0x10020, 0x10021, 0x10028, 0x10029};
#endif
static const u64 events_of_qemu[] = {1, 2, 0x10019, 0x1001b, 0x10021};
enum { N_HARDWARE = 3 + N_HPM, N_FIRMWARE = 16, N_COUNTERS = N_HARDWARE + N_FIRMWARE };
#define HARDWARE (BIT(N_HARDWARE) - 1)
#define PROGRAMMABLE (HARDWARE & ~UINT64_C(7))
#define FIRMWARE_COUNTERS ((BIT(N_FIRMWARE) - 1) << N_HARDWARE)
#define EVERY (BIT(N_COUNTERS) - 1)

static bool is_known(u64 event) {
    for (u32 i = 0; i < sizeof events / sizeof *events && !is_qemu; i++)
        if (events[i] == event)
            return true;
    for (u32 i = 0; i < sizeof events_of_qemu / sizeof *events_of_qemu && is_qemu; i++)
        if (events_of_qemu[i] == event)
            return true;
    return false;
}
static u64 width_bits(void) { return is_qemu ? 64 : HPM_BITS; }
static void check_config(sbi_result r, u64 error, u64 value) {
    CHECK(r.error, error);
    CHECK(r.value, error == 0 ? value : 0);
}
/* A programmable event that the flags of config_matching start and clear in this firmware. */
static u64 plain_event(void) { return HAS_SSCOFPMF ? EVENT_CYCLES : EVENT_BRANCHES; }
static void forget(u64 n) {
    u64 error = pmu_stop(n, 1, STOP_RESET);
    CHECK_TRUE(error == 0 || error == ERROR(ALREADY_STOPPED));
}

static void test_presence(void) {
    CHECK(sbi_call(EID_BASE, 0, 0, 0, 0, 0, 0).value >> 24, 1); /* SBI 1.x */
    CHECK(sbi_call(EID_BASE, 1, 0, 0, 0, 0, 0).value, 1);       /* OpenSBI */
    CHECK(sbi_call(EID_BASE, 3, EID_PMU, 0, 0, 0, 0).value, 1);
    sbi_result r = sbi_call(EID_PMU, PMU_NUM_COUNTERS, 0, 0, 0, 0, 0);
    CHECK(r.error, 0);
    CHECK(r.value, N_COUNTERS);
    for (u64 fid = PMU_FW_READ_HI; fid < 16; fid++) { /* SBI 2.0 and later */
        check_context = fid;
        CHECK(sbi_call(EID_PMU, fid, 3, 0, 0, 0, 0).error, NOT_SUPPORTED);
    }
    check_context = 0;
}

static void test_information(void) {
    for (u64 n = 0; n < 80; n++) {
        check_context = n;
        sbi_result r = sbi_call(EID_PMU, PMU_COUNTER_INFO, n, 0, 0, 0, 0);
        CHECK(r.error, n == 1 || n >= N_COUNTERS ? ERROR(INVALID_PARAM) : 0);
        if (n == 1 || n >= N_COUNTERS)
            CHECK(r.value, 0);
        else if (n < N_HARDWARE)
            CHECK(r.value, (0xc00 + n) | ((n == 0 || n == 2 ? 64 : width_bits()) - 1) << 12);
        else
            CHECK(r.value, BIT(63) | 63 << 12);
    }
    check_context = 0;
    CHECK(sbi_call(EID_PMU, PMU_COUNTER_INFO, 0xffffffff, 0, 0, 0, 0).error, INVALID_PARAM);
    CHECK(sbi_call(EID_PMU, PMU_COUNTER_INFO, -1, 0, 0, 0, 0).error, INVALID_PARAM);
}

/* Linux's probe: every general event and every cache event, undefined codes included. */
static void test_events(void) {
    for (u64 type = 0; type < 2; type++)
        for (u64 code = 0; code < 80; code++) {
            u64 event = type << 16 | code;
            check_context = event;
            sbi_result r = pmu_config(0, HARDWARE, 0, event, 0);
            if (!is_known(event)) {
                check_config(r, NOT_SUPPORTED, 0);
                continue;
            }
            CHECK(r.error, 0);
            if (!HAS_SSCOFPMF && event == EVENT_CYCLES)
                CHECK(r.value, 0);
            else if (!HAS_SSCOFPMF && event == EVENT_INSTRUCTIONS)
                CHECK(r.value, 2);
            else
                CHECK_TRUE(r.value < 64 && (PROGRAMMABLE >> r.value & 1) == 1);
            /* counters are stopped before their start, but cycle and instret always run */
            CHECK(pmu_stop(r.value, 1, STOP_RESET), r.value < 3 ? 0 : ERROR(ALREADY_STOPPED));
            CHECK(pmu_stop(r.value, 1, STOP_RESET), INVALID_PARAM); /* forgotten */
        }
    for (u64 type = 3; type < 15; type++) {
        check_context = type << 16;
        check_config(pmu_config(0, EVERY, 0, type << 16, 0), NOT_SUPPORTED, 0);
        check_config(pmu_config(0, EVERY, 0, type << 16 | 1, 0), NOT_SUPPORTED, 0);
    }
    check_context = 0;
    CHECK(pmu_config(0, HARDWARE, 0, EVENT_FIRMWARE | FW_SET_TIMER, 0).error, NOT_SUPPORTED); /* none of its counters is in the mask */
}

/* Raw events: the data must be a selector that the device tree lists. */
static void test_raw_events(void) {
#ifdef U74
    static const u64 good[] = {0x100, 0x200, 0x4000, 0x4200, 0x3ffff00, 0x101, 0x6001, 0x7ff01, 0x102, 0x3f02, 0x0, 0x1};
    static const u64 bad[] = {0x3, 0x103, 0x4000100, 0x80001, 0x80101, 0x4002, 0x4102, 0x100000000100, 0x10};
#else
    static const u64 good[] = {0x100000, 0x100005, 0x10000d, 0x100051, 0x100100, 0x100706, 0x100fff};
    static const u64 bad[] = {0, 1, 2, 5, 0x10000, 0xff005, 0x101000, 0x200000, 0x1100000, 0x800000100005, 0x100000000100005};
#endif
    for (u32 i = 0; i < sizeof good / sizeof *good; i++) {
        check_context = good[i];
        sbi_result r = pmu_config(0, HARDWARE, 0, EVENT_RAW, good[i]);
        if (is_qemu) {
            check_config(r, NOT_SUPPORTED, 0);
        } else if (good[i] == 0) { /* fits, but selects nothing */
            check_config(r, NOT_SUPPORTED, 0);
        } else {
            CHECK(r.error, 0);
            CHECK_TRUE(r.value < 64 && (PROGRAMMABLE >> r.value & 1) == 1);
            CHECK(pmu_stop(r.value, 1, STOP_RESET), ALREADY_STOPPED);
        }
    }
    for (u32 i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_context = bad[i];
        check_config(pmu_config(0, HARDWARE, 0, EVENT_RAW, bad[i]), NOT_SUPPORTED, 0);
    }
    for (u64 code = 1; code < 16; code++) {
        check_context = code;
        check_config(pmu_config(0, HARDWARE, 0, EVENT_RAW | code, good[1]), NOT_SUPPORTED, 0);
    }
    check_context = 0;
}

/* Base and mask choose counters: each alone, all in turn, none, and more than exist. */
static void test_choice(void) {
    u64 event = is_qemu ? EVENT_DTLB_READ_MISS : EVENT_BRANCHES;
#ifdef U74
    event = is_qemu ? EVENT_ITLB_MISS : EVENT_BRANCHES;
#endif
    for (u64 n = 3; n < N_HARDWARE; n++) {
        check_context = n;
        check_config(pmu_config(n, 1, 0, event, 0), 0, n);
        check_config(pmu_config(0, BIT(n), 0, event, 0), NOT_SUPPORTED, 0); /* taken */
        CHECK(pmu_stop(0, BIT(n), STOP_RESET), ALREADY_STOPPED);
        check_config(pmu_config(0, BIT(n), 0, event, 0), 0, n);
        CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
        check_config(pmu_config(n - 3, 8, 0, event, 0), 0, n);
        CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
    }
    check_context = 0;
    u64 taken = 0;
    for (u64 i = 0; i < N_HPM; i++) {
        check_context = i;
        u64 n = configured(HARDWARE, 0, event, 0);
        CHECK(n, N_HARDWARE - 1 - i); /* OpenSBI takes the highest one */
        taken |= BIT(n);
    }
    CHECK(taken, PROGRAMMABLE);
    check_config(pmu_config(0, HARDWARE, 0, event, 0), NOT_SUPPORTED, 0);
    check_config(pmu_config(0, EVERY, 0, event, 0), NOT_SUPPORTED, 0);
    check_config(pmu_config(0, HARDWARE, 0, EVENT_CYCLES, 0), 0, 0); /* for these two the fixed ones are left */
    check_config(pmu_config(0, HARDWARE, 0, EVENT_INSTRUCTIONS, 0), 0, 2);
    CHECK(pmu_stop(0, PROGRAMMABLE, STOP_RESET), ALREADY_STOPPED);
    CHECK(pmu_stop(0, PROGRAMMABLE, STOP_RESET), INVALID_PARAM);

    check_config(pmu_config(0, 0, 0, event, 0), NOT_SUPPORTED, 0);
    check_config(pmu_config(0, 7, 0, event, 0), NOT_SUPPORTED, 0); /* cycle, time, instret count nothing else */
    check_config(pmu_config(N_HARDWARE, 1, 0, event, 0), NOT_SUPPORTED, 0);
    check_config(pmu_config(0, BIT(N_COUNTERS), 0, event, 0), INVALID_PARAM, 0);
    check_config(pmu_config(N_COUNTERS, 1, 0, event, 0), INVALID_PARAM, 0);
    check_config(pmu_config(N_COUNTERS - 1, 3, 0, event, 0), INVALID_PARAM, 0);
    check_config(pmu_config(3, BIT(60), 0, event, 0), INVALID_PARAM, 0);
    check_config(pmu_config(0, -1, 0, event, 0), INVALID_PARAM, 0);
    CHECK(pmu_start(0, BIT(N_COUNTERS), 0, 0), INVALID_PARAM);
    CHECK(pmu_start(N_COUNTERS, 1, 0, 0), INVALID_PARAM);
    CHECK(pmu_start(0, -1, 0, 0), INVALID_PARAM);
    CHECK(pmu_stop(0, BIT(N_COUNTERS), 0), INVALID_PARAM);
    CHECK(pmu_stop(N_COUNTERS, 1, 0), INVALID_PARAM);
    CHECK(pmu_stop(0, -1, 0), INVALID_PARAM);
    CHECK(pmu_start(0, 0, 0, 0), INVALID_PARAM);
    CHECK(pmu_stop(0, 0, 0), INVALID_PARAM);
}

static void test_start_and_stop(void) {
    for (u64 n = 3; n < N_COUNTERS; n++) { /* nothing configured */
        check_context = n;
        CHECK(pmu_start(n, 1, 0, 0), INVALID_PARAM);
        CHECK(pmu_start(n, 1, START_SET_VALUE, 5), INVALID_PARAM);
        CHECK(pmu_stop(n, 1, 0), INVALID_PARAM);
        CHECK(pmu_stop(n, 1, STOP_RESET), INVALID_PARAM);
    }
    check_context = 1; /* time is not a counter */
    CHECK(pmu_start(1, 1, 0, 0), INVALID_PARAM);
    CHECK(pmu_stop(1, 1, 0), INVALID_PARAM);
    for (u64 n = 3; n < N_HARDWARE; n++) {
        check_context = n;
        check_config(pmu_config(n, 1, 0, is_qemu ? EVENT_ITLB_MISS : EVENT_BRANCHES, 0), 0, n);
        CHECK(pmu_stop(n, 1, 0), ALREADY_STOPPED);
        CHECK(pmu_start(n, 1, START_SET_VALUE, 1000), 0);
        CHECK(pmu_start(n, 1, START_SET_VALUE, 5), ALREADY_STARTED);
        CHECK(pmu_start(n, 1, 0, 0), ALREADY_STARTED);
        check_config(pmu_config(n, 1, 0, EVENT_ITLB_MISS, 0), NOT_SUPPORTED, 0);
        CHECK(pmu_stop(n, 1, 0), 0);
        u64 value = counter(n);
        CHECK_TRUE(value >= 1000 && value < 200000); /* ALREADY_STARTED wrote nothing; QEMU counts M, too */
        CHECK(pmu_stop(n, 1, 0), ALREADY_STOPPED);
        CHECK(counter(n), value);          /* stands still */
        CHECK(pmu_start(n, 1, 0, 999), 0); /* goes on: no flag, no value */
        CHECK(pmu_stop(n, 1, 0), 0);
        CHECK_TRUE(counter(n) >= value && counter(n) < value + 100000);
        CHECK(pmu_start(n, 1, START_SET_VALUE, 0), 0);
        CHECK(pmu_stop(n, 1, STOP_RESET), 0);
        CHECK(pmu_start(n, 1, 0, 0), INVALID_PARAM);
        CHECK(pmu_stop(n, 1, 0), INVALID_PARAM);
    }
    check_context = 0;
    /* Several counters: the call returns the error of the last one and starts the others. */
    check_config(pmu_config(3, 1, 0, EVENT_ITLB_MISS, 0), 0, 3);
    check_config(pmu_config(4, 1, 0, EVENT_ITLB_MISS, 0), 0, 4);
    CHECK(pmu_start(0, HARDWARE & ~UINT64_C(5), START_SET_VALUE, 7), 0);
    CHECK(pmu_stop(4, 1, 0), 0);
    CHECK(pmu_start(3, 3, START_SET_VALUE, 9), 0); /* 3 had been started: its error is hidden by the success of 4 */
    CHECK(pmu_stop(3, 1, 0), 0);
    CHECK(pmu_start(3, 3, START_SET_VALUE, 9), ALREADY_STARTED); /* 3 is started, and 4 was */
    CHECK(pmu_stop(3, 1, 0), 0);
    CHECK(pmu_stop(4, 1, 0), 0);
    CHECK(pmu_stop(3, 3, STOP_RESET), ALREADY_STOPPED);
}

/* The width as a value: what has more bits loses them. */
static void test_values(void) {
    static const u64 values[] = {0, 1, 0x123456789abcdef0, 0xff00000000, 0x8000000000, 0xfffffffff0000000, BIT(63)};
    for (u64 n = 3; n < N_HARDWARE; n++)
        for (u32 i = 0; i < sizeof values / sizeof *values; i++) {
            check_context = n << 8 | i;
            check_config(pmu_config(n, 1, 0, EVENT_ITLB_MISS, 0), 0, n); /* does not occur: no translation */
            CHECK(pmu_start(n, 1, START_SET_VALUE, values[i]), 0);
            CHECK(pmu_stop(n, 1, STOP_RESET), 0);
            CHECK(counter(n), values[i] & ~UINT64_C(0) >> (64 - width_bits()));
        }
    check_context = 0;
}

/* cycle and instret run from the beginning; nothing but their own event can be counted there. */
static void test_fixed_counters(void) {
    for (u64 n = 0; n < 3; n += 2) {
        check_context = n;
        u64 event = n == 0 ? EVENT_CYCLES : EVENT_INSTRUCTIONS;
        /* an earlier test reset them, as Linux's probe of events does; this restores them */
        check_config(pmu_config(n, 1, 0, event, 0), 0, n);
        u64 error = pmu_start(n, 1, 0, 0);
        CHECK_TRUE(error == 0 || error == ERROR(ALREADY_STARTED));
        CHECK(pmu_start(n, 1, 0, 0), ALREADY_STARTED);
        u64 before = counter(n);
        CHECK_TRUE(counter(n) > before);
        CHECK(pmu_stop(n, 1, 0), 0);
        before = counter(n);
        CHECK_TRUE(before > 0);
        CHECK_BUT_QEMU("a second look at stopped cycles or instret gives 0", counter(n), before);
        CHECK(pmu_stop(n, 1, 0), ALREADY_STOPPED);
        CHECK(pmu_start(n, 1, START_SET_VALUE, UINT64_C(0x1000000000000)), 0);
        CHECK(counter(n) >> 48, 1);
        CHECK(pmu_stop(n, 1, STOP_RESET), 0);
        CHECK(pmu_start(n, 1, 0, 0), INVALID_PARAM);
        check_config(pmu_config(n, 1, CONFIG_CLEAR | CONFIG_START, event, 0), 0, n);
        CHECK(pmu_start(n, 1, 0, 0), ALREADY_STARTED);
        CHECK_TRUE(counter(n) < UINT64_C(0x1000000000000));
        /* an event that does not fit */
        check_config(pmu_config(n, 1, 0, is_qemu ? EVENT_ITLB_MISS : EVENT_BRANCHES, 0), NOT_SUPPORTED, 0);
    }
    check_context = 0;
}

/* config_matching: OpenSBI 1.1 obeys CLEAR and START for general events only. */
static void test_flags(void) {
    u64 event = plain_event();
    for (u64 flags = 0; flags < 256; flags += 2) {
        check_context = flags;
        if (is_qemu && !HAS_SSCOFPMF)
            break;
        check_config(pmu_config(5 % N_HPM + 3, 1, 0, EVENT_ITLB_MISS, 0), 0, 5 % N_HPM + 3);
        u64 n = 5 % N_HPM + 3;
        CHECK(pmu_start(n, 1, START_SET_VALUE, BIT(35)), 0);
        CHECK(pmu_stop(n, 1, STOP_RESET), 0);
        check_config(pmu_config(n, 1, flags, event, 0), 0, n);
        CHECK(pmu_start(n, 1, 0, 0), flags & CONFIG_START ? ERROR(ALREADY_STARTED) : 0);
        CHECK(pmu_stop(n, 1, 0), 0);
        CHECK_BUT_QEMU("stopped cycles are read as the host's", counter(n) >> 35, flags & CONFIG_CLEAR ? 0 : 1);
        forget(n);
    }
    check_context = 0;
    u64 n = 3;
    check_config(pmu_config(n, 1, 0, EVENT_ITLB_MISS, 0), 0, n);
    CHECK(pmu_start(n, 1, START_SET_VALUE, 77), 0);
    CHECK(pmu_stop(n, 1, STOP_RESET), 0);
    check_config(pmu_config(n, 1, CONFIG_CLEAR | CONFIG_START, EVENT_ITLB_MISS, 0), 0, n);
    CHECK(counter(n), 77);
    CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
    if (is_qemu)
        return;
    check_config(pmu_config(n, 1, CONFIG_CLEAR | CONFIG_START, EVENT_RAW, HAS_SSCOFPMF ? 0x10000b : 0x20000), 0, n);
    CHECK(counter(n), 77);
    CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
}

/* SKIP_MATCH: the caller names a counter that it has configured before. */
static void test_skip_match(void) {
    u64 n = N_HARDWARE - 1, event = plain_event();
    for (u64 at = 3; at < N_COUNTERS; at++) {
        check_context = at;
        check_config(pmu_config(at, 1, CONFIG_SKIP_MATCH, event, 0), INVALID_PARAM, 0);
    }
    check_context = 0;
    check_config(pmu_config(1, 1, CONFIG_SKIP_MATCH, event, 0), INVALID_PARAM, 0);
    if (is_qemu && !HAS_SSCOFPMF)
        return;
    check_config(pmu_config(n, 1, 0, event, 0), 0, n);
    CHECK(pmu_start(n, 1, START_SET_VALUE, BIT(35)), 0);
    CHECK(pmu_stop(n, 1, 0), 0);
    check_config(pmu_config(n, 1, CONFIG_SKIP_MATCH, event, 0), 0, n);
    CHECK_BUT_QEMU("stopped cycles are read as the host's", counter(n) >> 35, 1);
    CHECK(pmu_stop(n, 1, 0), ALREADY_STOPPED);
    check_config(pmu_config(n, 1, CONFIG_SKIP_MATCH | CONFIG_CLEAR, event, 0), 0, n);
    CHECK_BUT_QEMU("stopped cycles are read as the host's", counter(n), 0);
    CHECK(pmu_stop(n, 1, 0), ALREADY_STOPPED);
    check_config(pmu_config(n, 1, CONFIG_SKIP_MATCH | CONFIG_START, event, 0), 0, n);
    CHECK(pmu_start(n, 1, 0, 0), ALREADY_STARTED);
    check_config(pmu_config(n, 1, CONFIG_SKIP_MATCH | CONFIG_START, event, 0), 0, n); /* started already: no error */
    CHECK(pmu_stop(n, 1, STOP_RESET), 0);
    check_config(pmu_config(n, 1, CONFIG_SKIP_MATCH, event, 0), INVALID_PARAM, 0);
}

/* Counters of the firmware itself, each for any of its events. */
static u64 set_timer(void) { return sbi_call(EID_TIME, 0, NEVER, 0, 0, 0, 0).error; }
static void test_firmware_counters(void) {
    for (u64 n = 0; n < N_COUNTERS + 3; n++) {
        check_context = n;
        sbi_result r = pmu_fw_read(n);
        if (n >= 3 || n == 1)
            check_config(r, INVALID_PARAM, 0);
    }
    check_context = 0;
    u64 taken = 0;
    for (u64 i = 0; i < N_FIRMWARE; i++) {
        sbi_result r = pmu_config(0, EVERY, 0, EVENT_FIRMWARE | i, 0);
        CHECK(r.error, 0);
        taken |= BIT(r.value);
    }
    CHECK(taken, FIRMWARE_COUNTERS);
    check_config(pmu_config(0, EVERY, 0, EVENT_FIRMWARE | FW_SET_TIMER, 0), NOT_SUPPORTED, 0);
    CHECK(pmu_stop(0, FIRMWARE_COUNTERS, STOP_RESET), 0);
    CHECK(pmu_stop(0, FIRMWARE_COUNTERS, STOP_RESET), INVALID_PARAM);

    for (u64 n = N_HARDWARE; n < N_COUNTERS; n++) {
        check_context = n;
        check_config(pmu_config(0, BIT(n), CONFIG_CLEAR, EVENT_FIRMWARE | FW_SET_TIMER, 0), 0, n);
        check_config(pmu_fw_read(n), 0, 0);
        CHECK(set_timer(), 0);
        check_config(pmu_fw_read(n), 0, 0); /* not started */
        CHECK(pmu_start(n, 1, START_SET_VALUE, 40), 0);
        CHECK(pmu_start(n, 1, 0, 0), 0); /* the specification asks for ALREADY_STARTED */
        for (u64 i = 1; i <= 5; i++) {
            CHECK(set_timer(), 0);
            check_config(pmu_fw_read(n), 0, 40 + i);
        }
        CHECK(pmu_stop(n, 1, 0), 0);
        CHECK(set_timer(), 0);
        check_config(pmu_fw_read(n), 0, 45);
        CHECK(pmu_stop(n, 1, 0), 0); /* the specification asks for ALREADY_STOPPED */
        CHECK(pmu_start(n, 1, 0, 0), 0);
        CHECK(set_timer(), 0);
        check_config(pmu_fw_read(n), 0, 46);
        CHECK(pmu_stop(n, 1, STOP_RESET), 0);
        check_config(pmu_fw_read(n), INVALID_PARAM, 0);
        check_config(pmu_config(n, 1, CONFIG_CLEAR | CONFIG_START, EVENT_FIRMWARE | FW_SET_TIMER, 0), 0, n);
        CHECK(set_timer(), 0);
        CHECK(set_timer(), 0);
        check_config(pmu_fw_read(n), 0, 2);
        CHECK(pmu_stop(n, 1, STOP_RESET), 0);
    }
    check_context = 0;
}

/* Events of the firmware that one hart can cause alone. */
static u64 counted_by_firmware(u64 event, void (*cause)(void)) {
    check_context = EVENT_FIRMWARE | event;
    sbi_result r = pmu_config(0, FIRMWARE_COUNTERS, CONFIG_CLEAR | CONFIG_START, EVENT_FIRMWARE | event, 0);
    CHECK(r.error, 0);
    cause();
    u64 n = pmu_fw_read(r.value).value;
    CHECK(pmu_stop(r.value, 1, STOP_RESET), 0);
    check_context = 0;
    return n;
}
SNIPPET(loads, "ld a0, 0(a0)");
SNIPPET(stores, "sd a0, 0(a0)");
static void expect_trap(const outcome *o, u64 cause) {
    CHECK(o->trapped, 1);
    CHECK(o->cause, cause);
    CHECK(o->mode, MODE_S);
}
static void illegal_instructions(void) {
    for (u32 i = 0; i < 3; i++)
        expect_trap(run_insn(i % 2, csr_insn(CSRRW, 0x7c0, 10, 10), 0, 0), CAUSE_ILLEGAL);
}
static void loads_of_firmware(void) {
    for (u32 i = 0; i < 4; i++)
        expect_trap(run(i % 2, loads, RAM_BASE + 64 * i, 0), CAUSE_LOAD_ACCESS);
}
static void stores_to_firmware(void) {
    for (u32 i = 0; i < 5; i++)
        expect_trap(run(i % 2, stores, RAM_BASE + 64 * i, 0), CAUSE_STORE_ACCESS);
}
static void timers(void) {
    for (u32 i = 0; i < 6; i++)
        CHECK(set_timer(), 0);
}
static void nothing(void) {}
static void test_firmware_events(void) {
    CHECK(counted_by_firmware(FW_ILLEGAL, illegal_instructions), 3);
    CHECK(counted_by_firmware(FW_ACCESS_LOAD, loads_of_firmware), 4);
    CHECK(counted_by_firmware(FW_ACCESS_STORE, stores_to_firmware), 5);
    CHECK(counted_by_firmware(FW_SET_TIMER, timers), 6);
    CHECK(counted_by_firmware(FW_SET_TIMER, illegal_instructions), 0);
    for (u64 event = 0; event < 22; event++)
        CHECK(counted_by_firmware(event, nothing), 0);
}

int main(void) {
    find_counters();
    CHECK(n_hpm, N_HPM);
    CHECK(n_hardware, N_HARDWARE);
    CHECK(n_counters, N_COUNTERS);
    test_presence();
    test_start_and_stop();
    test_information();
    test_events();
    test_raw_events();
    test_choice();
    test_values();
    test_fixed_counters();
    test_flags();
    test_skip_match();
    test_firmware_counters();
    test_firmware_events();
    return 0;
}
