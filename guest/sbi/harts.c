/* SPDX-License-Identifier: MIT
 * Counters of two harts through firmware. Each hart configures, reads and samples its own counters.
 * A stopped hart (HSM) leaves no state. IPIs and remote fences are events of the firmware. */
#include "sbi.h"

#define LCOFI BIT(IRQ_LCOFI)
#define SSIP BIT(IRQ_SSI)
#define scountovf 0xda0
enum { STARTED, STOPPED, START_PENDING, STOP_PENDING };
COUNTED_CODE(nops_100, ".rept 100\n nop\n .endr");
COUNTED_CODE(nops_300, ".rept 300\n nop\n .endr");
COUNTED_CODE(turns, "1: addi a1, a1, 1\n addi a0, a0, -1\n bnez a0, 1b");

static u64 first, second; /* the hart that booted, and the other one */
static void meet(void) {
    static u64 arrived;
    u64 round = __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST) / 2;
    while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) / 2 == round)
        ;
}
static void await_status(u64 hart, u64 status) {
    u64 now;
    do
        now = hart_status(hart);
    while (now != status && (now == START_PENDING || now == STOP_PENDING || (now == STARTED && status == STOPPED)));
    CHECK(now, status);
}
static void run_second(void (*code)(u64 hart)) { /* to its end */
    CHECK(sbi_hart_start(second, code), 0);
    await_status(second, STOPPED);
}

/* Results of the second hart. Only the first hart checks. */
static u64 found[32];
static void need(u64 i, u64 value) { found[i] = value; }

/* -- hart state management, as far as counters depend on it */
static void leaves_counters_running(u64 hart) {
    need(0, hart);
    sbi_result r = pmu_config(0, BIT(3), 0, EVENT_INSTRUCTIONS, 0);
    need(1, r.error);
    need(2, r.value);
    need(3, pmu_start(3, 1, START_SET_VALUE, 5));
    need(4, pmu_start(3, 1, START_SET_VALUE, 5));
    r = pmu_config(0, (BIT(16) - 1) << n_hardware, CONFIG_CLEAR | CONFIG_START, EVENT_FIRMWARE | FW_SET_TIMER, 0);
    need(5, r.error);
    need(6, r.value);
    need(7, sbi_call(EID_TIME, 0, NEVER, 0, 0, 0, 0).error);
    need(8, pmu_fw_read(r.value).value);
    need(9, pmu_stop(2, 1, STOP_RESET)); /* instret */
}
static void finds_nothing(u64 hart) {
    need(0, hart);
    need(1, pmu_start(3, 1, 0, 0));
    need(2, pmu_stop(3, 1, 0));
    need(3, pmu_fw_read(n_hardware).error);
    u64 before = counter(3);
    need(4, counter(3) - before);
    before = counter(2);
    need(5, counter(2) > before);
    need(6, pmu_start(2, 1, 0, 0));
    u64 mask = 0;
    for (u64 i = 0; i < n_hpm; i++) {
        sbi_result r = pmu_config(0, hpm_mask, 0, EVENT_INSTRUCTIONS, 0);
        mask |= r.error == 0 && r.value < 64 ? BIT(r.value) : 0;
    }
    need(7, mask);
    need(8, pmu_stop(0, mask, STOP_RESET));
}
static void test_stop_forgets(void) {
    CHECK(hart_status(first), STARTED);
    CHECK(hart_status(second), STOPPED);
    CHECK(sbi_hart_start(first, finds_nothing), ERROR(-6)); /* already available */
    CHECK(sbi_call(EID_HSM, 0, 77, RAM_BASE + 0x200000, 0, 0, 0).error, INVALID_PARAM);
    CHECK(configured(BIT(3), 0, EVENT_INSTRUCTIONS, 0), 3);
    CHECK(pmu_start(3, 1, START_SET_VALUE, 0), 0);
    run_second(leaves_counters_running);
    static const u64 want[] = {0, 0, 3, 0, ERROR(ALREADY_STARTED), 0, 0, 0, 1, 0};
    CHECK(found[0], second);
    for (u32 i = 1; i < sizeof want / sizeof *want; i++) {
        check_context = i;
        CHECK(found[i], i == 6 ? n_hardware : want[i]);
    }
    check_context = 0;
    CHECK(pmu_start(3, 1, 0, 0), ALREADY_STARTED); /* ours goes on */
    u64 before = counter(3);
    CHECK_TRUE(counter(3) > before);
    before = counter(2);
    CHECK_TRUE(counter(2) > before);
    CHECK(pmu_fw_read(n_hardware).error, INVALID_PARAM);
    CHECK(pmu_stop(3, 1, STOP_RESET), 0);
    for (u32 round = 0; round < 2; round++) {
        run_second(finds_nothing);
        CHECK(found[1], INVALID_PARAM);
        CHECK(found[2], INVALID_PARAM);
        CHECK(found[3], INVALID_PARAM);
        CHECK_BUT_QEMU("a second look at a stopped counter gives something else", found[4], 0);
        CHECK(found[5], 1);
        CHECK(found[6], ALREADY_STARTED);
        CHECK(found[7], hpm_mask);
        CHECK(found[8], ALREADY_STOPPED);
    }
}

/* -- both count at the same time, by the same number of counter, something else */
enum { ROUNDS = 40 };
static u64 wrong[N_HARTS], n_done[N_HARTS];
static void count_together(u64 hart) {
    bool is_first = hart == first;
    u64 n = pmu_config(0, BIT(3), 0, EVENT_INSTRUCTIONS, 0).value;
    meet();
    for (u32 i = 0; i < ROUNDS; i++) {
        void (*code)(void) = (i % 2 == 0) == is_first ? nops_100 : nops_300;
        u64 error = counted(n, 1, code, 0, 0), want = (code == nops_100 ? 100 : 300) + 1 + COUNTED_INSNS;
        if (error != 0 || (counter(n) != want && !is_qemu))
            wrong[hart] += 1;
        n_done[hart] += 1;
    }
    if (pmu_stop(n, 1, STOP_RESET) != ERROR(ALREADY_STOPPED))
        wrong[hart] += 1;
    meet();
}
static void test_counting_together(void) {
    CHECK(sbi_hart_start(second, count_together), 0);
    count_together(first);
    await_status(second, STOPPED);
    for (u64 hart = 0; hart < 2; hart++) {
        CHECK(wrong[hart], 0);
        CHECK(n_done[hart], ROUNDS);
    }
}

/* -- both sample at the same time: 0 stands for instructions, 1 for branches */
enum { TURNS = 9001 };
static struct { u64 period, n, n_samples, wrong, left; } samplers[N_HARTS];
static bool handle(outcome *o) {
    u64 hart = hart_id(), n = samplers[hart].n;
    if (o->cause != CAUSE_IRQ(IRQ_LCOFI))
        return false;
    pmu_stop(n, 1, 0);
    u64 overflowed = csr_read(scountovf);
    csr_clear(sip, LCOFI);
    samplers[hart].n_samples += 1;
    u64 done = samplers[hart].n_samples * samplers[hart].period;
    u64 pc = (u64)turns + (hart == first ? done % 3 * 4 : 0); /* branches are taken */
    samplers[hart].wrong += overflowed != BIT(n) || counter(n) != 0 || o->epc != pc;
    pmu_start(n, 1, START_SET_VALUE, -samplers[hart].period);
    return true;
}
static void sample_together(u64 hart) {
    bool is_first = hart == first;
    u64 n = is_first ? 3 : 4;
    for (u64 other = 3; other < n_hardware; other++) { /* their flags are set since the firmware has begun */
        pmu_config(other, 1, 0, EVENT_INSTRUCTIONS, 0);
        pmu_stop(other, 1, STOP_RESET);
    }
    pmu_config(n, 1, CONFIG_SINH, is_first ? EVENT_INSTRUCTIONS : EVENT_BRANCHES, 0);
    samplers[hart].n = n;
    samplers[hart].period = is_first ? 100 : 77;
    pmu_start(n, 1, START_SET_VALUE, -samplers[hart].period);
    csr_write(sie, LCOFI);
    meet();
    outcome *o = run(MODE_U, turns, TURNS, 0);
    samplers[hart].wrong += o->x[11] != TURNS;
    csr_write(sie, 0);
    samplers[hart].wrong += pmu_stop(n, 1, STOP_RESET) != 0;
    samplers[hart].left = counter(n) + samplers[hart].period;
    meet();
}
static void test_sampling_together(void) {
    trap_hook = handle;
    CHECK(sbi_hart_start(second, sample_together), 0);
    sample_together(first);
    await_status(second, STOPPED);
    trap_hook = NULL;
    CHECK(samplers[first].wrong, 0);
    CHECK(samplers[first].n_samples, (3 * TURNS + 1) / 100);
    CHECK(samplers[first].left, (3 * TURNS + 1) % 100);
    CHECK(samplers[second].wrong, 0);
    CHECK(samplers[second].n_samples, (TURNS + 1) / 77);
    CHECK(samplers[second].left, (TURNS + 1) % 77);
}

/* -- what one hart asks the firmware to do to the other */
enum { N_IPIS = 5, N_FENCES_I = 3, N_SFENCES = 4, N_SFENCES_ASID = 2 };
static const u64 traffic[] = {FW_IPI_SENT,    FW_IPI_RECEIVED,    FW_FENCE_I_SENT,     FW_FENCE_I_RECEIVED,
                              FW_SFENCE_SENT, FW_SFENCE_RECEIVED, FW_SFENCE_ASID_SENT, FW_SFENCE_ASID_RECEIVED};
static u64 traffic_of[N_HARTS][8];
static u64 errors;
static void exchange(u64 hart) {
    u64 counters[8];
    for (u32 i = 0; i < 8; i++)
        counters[i] = pmu_config(0, (BIT(16) - 1) << n_hardware, CONFIG_CLEAR | CONFIG_START, EVENT_FIRMWARE | traffic[i], 0).value;
    meet();
    for (u32 i = 0; i < N_IPIS; i++) {
        if (hart == first)
            errors += sbi_call(EID_IPI, 0, BIT(second), 0, 0, 0, 0).error != 0;
        else
            while (!(csr_read(sip) & SSIP))
                ;
        csr_clear(sip, SSIP);
        meet();
    }
    if (hart == first) {
        for (u32 i = 0; i < N_FENCES_I; i++)
            errors += sbi_call(EID_RFENCE, 0, BIT(second), 0, 0, 0, 0).error != 0;
        for (u32 i = 0; i < N_SFENCES; i++)
            errors += sbi_call(EID_RFENCE, 1, BIT(second), 0, 0x200000000, 0x1000, 0).error != 0;
        for (u32 i = 0; i < N_SFENCES_ASID; i++)
            errors += sbi_call(EID_RFENCE, 2, BIT(second), 0, 0x200000000, 0x1000, 1).error != 0;
    }
    meet();
    for (u32 i = 0; i < 8; i++)
        traffic_of[hart][i] = pmu_fw_read(counters[i]).value;
    errors += pmu_stop(0, (BIT(16) - 1) << n_hardware, STOP_RESET) != 0;
    meet();
}
static void test_traffic(void) {
    CHECK(sbi_hart_start(second, exchange), 0);
    exchange(first);
    await_status(second, STOPPED);
    CHECK(errors, 0);
    /* OpenSBI counts a fence request as an IPI. It merges an IPI with a pending one. */
    enum { N_ALL = N_IPIS + N_FENCES_I + N_SFENCES + N_SFENCES_ASID };
    static const u64 sent[] = {N_ALL, 0, N_FENCES_I, 0, N_SFENCES, 0, N_SFENCES_ASID, 0};
    static const u64 received[] = {0, N_ALL, 0, N_FENCES_I, 0, N_SFENCES, 0, N_SFENCES_ASID};
    for (u32 i = 0; i < 8; i++) {
        check_context = traffic[i];
        CHECK(traffic_of[first][i], sent[i]);
        if (traffic[i] == FW_IPI_RECEIVED)
            CHECK_TRUE(traffic_of[second][i] > N_IPIS && traffic_of[second][i] <= N_ALL);
        else
            CHECK(traffic_of[second][i], received[i]);
    }
    check_context = 0;
}

int main(void) {
    first = hart_id();
    second = 1 - first;
    find_counters();
    CHECK(contexts[first].boot_a0, first);
    test_stop_forgets();
    test_counting_together();
    test_traffic();
    if (!is_qemu) /* see `sampling` */
        test_sampling_together();
    return 0;
}
