// SPDX-License-Identifier: MIT
// Storage of the hierarchy against the figures of its specification, and activity against registers
// and wires that are simulated bit by bit and cycle by cycle.
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "pmu/smpm/cost.h"
#include "pmu/smpm/smpm.h"

static tl_smpm_layout layout;
static tl_smpm_meter meter;

static const tl_smpm_chip cloud4 = {.n_partitions = 4, .n_harts = 2, .n_slices = 2, .n_mem_channels = 1, .has_shared = true};
static const tl_smpm_route own_route = {.target = TL_SMPM_TO_CURRENT, .channel = 1, .to_d = true};

// ---- storage ----

static void test_a_group_has_the_bits_that_its_parameters_give(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    const tl_smpm_storage atomic = tl_smpm_storage_of_group(&config);
    assert_int_equal(atomic.ulc_ctrs + atomic.ulc_shadow, 38880);
    assert_int_equal(atomic.ulc_ovf + atomic.ulc_ovf_shadow + atomic.ulc_wcnt + atomic.ulc_residues, 5712);
    assert_int_equal(atomic.ccu_rows, 129024);
    assert_int_equal(atomic.ccu_residue_rows, 21504);
    assert_int_equal(atomic.frame_values, 19440);
    assert_int_equal(atomic.frame_rest, 48 * (20 + 2));
    assert_int_equal(atomic.serial_wires, 96);
    assert_int_equal(atomic.enable_wires, 1);
    assert_int_equal(atomic.record_wires, 258);
    assert_int_equal(atomic.ulc_control, 48 * (2 + 9 + 20 + 2 + 1)); // a final frame has 430 cycles
    assert_int_equal(atomic.ccu_control, 48 * (9 + 2) + 336 * 2 + 33);
    assert_int_equal(atomic.ff_bits, 38880 + 5712 + atomic.ulc_control + atomic.ccu_control);
    assert_int_equal(atomic.sram_bits, 129024 + 21504 + 19440 + 1056);
    config.snap_mode = TL_SMPM_ROLLING;
    const tl_smpm_storage rolling = tl_smpm_storage_of_group(&config);
    assert_int_equal(rolling.ulc_ctrs + rolling.ulc_shadow, 19872);
    assert_int_equal(rolling.ulc_ovf_shadow, 48);
    config = tl_smpm_config_default(TL_SMPM_LITERAL);
    assert_int_equal(tl_smpm_storage_of_group(&config).ccu_residue_rows, 0);
    assert_int_equal(tl_smpm_storage_of_group(&config).ulc_control, 48 * (2 + 9 + 2)); // 409 cycles
}

// Published: an array bit as 0.15 or 0.25 of a flip-flop, without and with what was left out first.
static void test_a_group_is_about_half_of_flat_counters(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    uint64_t flat, sram;
    tl_smpm_storage_of_way(TL_SMPM_WAY_POLL, 2160, &flat, &sram);
    assert_int_equal(flat, 138240);
    assert_int_equal(sram, 0);
    for (uint32_t is_rolling = 0; is_rolling < 2; is_rolling++) {
        static const double at_first[2][2] = {{2.3, 1.8}, {3.3, 2.4}};
        static const double prices[2] = {0.15, 0.25};
        config.snap_mode = is_rolling ? TL_SMPM_ROLLING : TL_SMPM_ATOMIC;
        const tl_smpm_storage s = tl_smpm_storage_of_group(&config);
        for (uint32_t k = 0; k < 2; k++) {
            const double first = (double)(s.ulc_ctrs + s.ulc_shadow) + prices[k] * (double)(s.ccu_rows + s.frame_values);
            assert_int_equal((int)((double)flat / first * 10 + 0.5), (int)(at_first[is_rolling][k] * 10 + 0.5));
        }
        const double ff = (double)(s.ulc_ctrs + s.ulc_shadow + s.ulc_ovf + s.ulc_ovf_shadow + s.ulc_wcnt + s.ulc_residues);
        const double all = ff + 0.15 * (double)(s.ccu_rows + s.ccu_residue_rows + s.frame_values);
        assert_int_equal((int)((double)flat / all * 100 + 0.5), is_rolling ? 282 : 197);
    }
}

static void test_other_ways_have_their_own_bits(void **state) {
    (void)state;
    static const struct {
        tl_smpm_way way;
        uint64_t ff, sram;
    } rows[] = {{TL_SMPM_WAY_FLAT64, 1280, 0}, {TL_SMPM_WAY_FLAT64_SR, 640, 0}, {TL_SMPM_WAY_FLAT48, 960, 0},
                {TL_SMPM_WAY_CLASS44, 220, 0}, {TL_SMPM_WAY_HYB12, 130, 520},   {TL_SMPM_WAY_POLL, 640, 0}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        uint64_t ff, sram;
        tl_smpm_storage_of_way(rows[i].way, 10, &ff, &sram);
        assert_int_equal(ff, rows[i].ff);
        assert_int_equal(sram, rows[i].sram);
    }
}

static void test_a_chip_adds_channels_and_memory(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    tl_error err;
    assert_int_equal(tl_smpm_layout_new(&config, &cloud4, &layout, &err), TL_OK);
    const tl_smpm_storage s = tl_smpm_storage_of(&config, &layout, 12);
    assert_int_equal(s.ulc_ctrs, 53 * 405);
    assert_int_equal(s.ccu_rows, 53 * 6 * 448);
    assert_int_equal(s.ccu_residue_rows, 53 * 448);
    assert_int_equal(s.tb, 5 * 256);
    assert_int_equal(s.fifos, (4 * (64 + 1024) + 2 * (4 * 64 + 1024)) * 256);
    assert_int_equal(s.accumulators, 8 * 441 * 64);
    assert_int_equal(s.blocks, 14 * (512 + 448) + (5 + 1 + 12 * 3) * 441 * 64);
    assert_int_equal(s.enable_wires, 5);
    assert_int_equal(s.ff_bits, s.ulc_ctrs * 2 + 53 * (45 + 45 + 9 + 20) + s.ulc_control + s.ccu_control + s.tb);
    config = tl_smpm_config_default(TL_SMPM_LITERAL);
    assert_int_equal(tl_smpm_layout_new(&config, &cloud4, &layout, &err), TL_OK);
    assert_int_equal(tl_smpm_storage_of(&config, &layout, 12).blocks, 14 * (512 + 405 * 64));
}

static void test_a_chip_of_a_size_is_groups_and_three_channels(void **state) {
    (void)state;
    const tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    const tl_smpm_storage group = tl_smpm_storage_of_group(&config), s = tl_smpm_storage_of_size(&config, 96);
    assert_int_equal(s.ff_bits, 2 * group.ff_bits + 256);
    assert_int_equal(s.sram_bits, 2 * group.sram_bits + 3 * 64 * 256 + 5 * 49 * 64);
    assert_int_equal(s.wires, 2 * group.wires);
    // The 49th needs a second wire.
    assert_int_equal(tl_smpm_storage_of_size(&config, 49).record_wires, 2 * 258);
}

// ---- activity, against simulated registers ----

static uint64_t seed;
static uint32_t draw(uint32_t n) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(seed >> 33) % n;
}

// Increments a register n times and counts the bits that change.
static uint64_t count_up(uint64_t *reg, uint64_t n, uint64_t mask) {
    uint64_t n_changes = 0;
    for (; n > 0; n--) {
        const uint64_t next = (*reg + 1) & mask;
        n_changes += (uint64_t)__builtin_popcountll(*reg ^ next);
        *reg = next;
    }
    return n_changes;
}

// The serial line as a ULC drives it: one level for each cycle and wire.
typedef struct line {
    uint8_t data[8], mark;
    uint64_t n_transitions;
} line;

static void drive(line *l, uint32_t n_lanes, uint8_t mark, const uint8_t *data) {
    l->n_transitions += l->mark != mark;
    l->mark = mark;
    for (uint32_t i = 0; i < n_lanes; i++) {
        l->n_transitions += l->data[i] != data[i];
        l->data[i] = data[i];
    }
}

typedef struct expected {
    uint64_t wire, tog, gated, events;
} expected;

// One frame, bit by bit: counters, shift registers of each lane, wires.
static void simulate(const tl_smpm_config *config, bool is_final, const uint16_t *values, const uint16_t *residues, expected *ret) {
    uint8_t bits[2048] = {0}, zeros[8] = {0}, ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, parity = 0;
    uint32_t n = 0;
    line l = {0};
    for (uint32_t i = 0; i < config->ulc_ctrs; i++) {
        uint64_t reg = 0;
        ret->events += values[i];
        ret->tog += count_up(&reg, values[i], UINT64_MAX);
        ret->tog += (uint64_t)__builtin_popcountll(reg); // cleared
        ret->gated += config->ulc_bits * (uint64_t)(values[i] + (values[i] != 0));
        for (uint32_t b = 0; b < config->ulc_bits; b++)
            bits[n++] = values[i] >> b & 1;
    }
    if (is_final && config->residue_policy == TL_SMPM_EXPORT)
        for (uint32_t i = 0; i < config->mb_inputs; i++)
            for (uint32_t b = 0; b < 5; b++)
                bits[n++] = residues[i] >> b & 1;
    if (config->frame_flags == TL_SMPM_ON) {
        bits[n++] = 0;
        bits[n++] = is_final;
    }
    for (uint32_t i = 0; i < n; i++)
        parity ^= bits[i];
    if (config->frame_parity == TL_SMPM_ON)
        bits[n++] = parity;
    drive(&l, config->ulc_lanes, 1, zeros);
    const uint32_t n_cycles = (n + config->ulc_lanes - 1) / config->ulc_lanes;
    for (uint32_t c = 0; c < n_cycles; c++)
        // Bits behind the payload are 0.
        drive(&l, config->ulc_lanes, 0, bits + (size_t)c * config->ulc_lanes);
    drive(&l, config->ulc_lanes, 1, ones);
    drive(&l, config->ulc_lanes, 0, zeros);
    ret->wire += l.n_transitions;
    if (config->snap_mode == TL_SMPM_ATOMIC) { // the whole payload shifts by L in each cycle
        uint8_t reg[2048] = {0};
        for (uint32_t c = 0; c <= n_cycles; c++) {
            for (uint32_t i = 0; i < n; i++) {
                const uint32_t from = i + config->ulc_lanes;
                const uint8_t next = c == 0 ? bits[i] : from < n ? reg[from] : 0;
                ret->tog += reg[i] != next;
                reg[i] = next;
            }
            ret->gated += n;
        }
    } else { // one counter at a time
        for (uint32_t k = 0; k < config->ulc_ctrs; k++) {
            uint8_t reg[17] = {0};
            for (uint32_t c = 0; c <= config->ulc_bits; c++) {
                for (uint32_t i = 0; i < config->ulc_bits; i++) {
                    const uint8_t next = c == 0 ? bits[k * config->ulc_bits + i] : reg[i + 1];
                    ret->tog += reg[i] != next;
                    reg[i] = next;
                }
                ret->gated += config->ulc_bits;
            }
        }
    }
    if (!is_final) {
        uint64_t wcnt = 0;
        ret->tog += count_up(&wcnt, config->ulc_period - 1, UINT64_MAX);
        ret->tog += (uint64_t)__builtin_popcountll(wcnt);
        ret->gated += (uint64_t)config->ulc_period * config->ulc_bits;
    }
}

static void build_group(const tl_smpm_config *config) {
    static const tl_smpm_chip chip = {.n_partitions = 1, .n_harts = 1, .n_slices = 1, .n_mem_channels = 1};
    tl_error err = {0};
    if (tl_smpm_layout_new(config, &chip, &layout, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_smpm_meter_init(config, &layout, &meter);
}

static void test_frames_move_the_bits_that_registers_and_wires_move(void **state) {
    (void)state;
    seed = 7;
    for (uint32_t round = 0; round < 60; round++) {
        tl_smpm_config config = tl_smpm_config_default(round % 2 ? TL_SMPM_SAFE : TL_SMPM_LITERAL);
        uint16_t values[TL_SMPM_MAX_CTRS] = {0}, residues[TL_SMPM_MAX_MULTI];
        const bool is_final = round % 3 == 0;
        expected want = {0};
        config.ulc_lanes = 1 + draw(8);
        config.snap_mode = draw(2);
        config.frame_flags = 1 + draw(2);
        build_group(&config);
        for (uint32_t i = 0; i < config.ulc_ctrs; i++)
            values[i] = (uint16_t)(draw(3) ? draw(512) : 0);
        for (uint32_t i = 0; i < config.mb_inputs; i++)
            residues[i] = (uint16_t)draw(32);
        simulate(&config, is_final, values, residues, &want);
        tl_smpm_meter_frame(&meter, 0, is_final, values, residues);
        const tl_smpm_activity *got = &meter.all[TL_SMPM_WAY_HIERARCHY];
        assert_int_equal(got->wire, want.wire);
        assert_int_equal(got->tog, want.tog);
        assert_int_equal(got->gated, want.gated);
        assert_int_equal(meter.n_events, want.events);
        const uint32_t n_rows = is_final && round % 2 ? 7 : 6;
        assert_int_equal(got->sram, 2 * tl_smpm_payload_bits(&config, is_final) + 2 * 224 * n_rows);
        assert_int_equal(got->noc + got->mem + got->host + got->clk, 0);
    }
}

static void test_wires_across_partitions_are_longer(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    tl_error err;
    uint16_t values[TL_SMPM_MAX_CTRS] = {3, 0, 500};
    assert_int_equal(tl_smpm_layout_new(&config, &cloud4, &layout, &err), TL_OK);
    tl_smpm_meter_init(&config, &layout, &meter);
    tl_smpm_meter_frame(&meter, 0, false, values, NULL);
    const uint64_t near = meter.all[TL_SMPM_WAY_HIERARCHY].wire;
    tl_smpm_meter_frame(&meter, 20, false, values, NULL); // of a shared unit
    assert_int_equal(meter.all[TL_SMPM_WAY_HIERARCHY].wire, 5 * near);
}

static void test_a_zero_frame_is_two_pulses(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    uint16_t values[TL_SMPM_MAX_CTRS] = {0};
    config.zero_frames = TL_SMPM_ON;
    build_group(&config);
    tl_smpm_meter_frame(&meter, 0, false, values, NULL);
    assert_int_equal(meter.all[TL_SMPM_WAY_HIERARCHY].wire, 4);
    assert_int_equal(meter.all[TL_SMPM_WAY_HIERARCHY].sram, 0);
    assert_int_equal(meter.all[TL_SMPM_WAY_HIERARCHY].tog, 2 * 510);
    tl_smpm_meter_frame(&meter, 0, true, values, NULL); // a final frame goes whole
    assert_int_equal(meter.all[TL_SMPM_WAY_HIERARCHY].sram, 2 * 428 + 2 * 224 * 7);
    values[44] = 1;
    meter.all[TL_SMPM_WAY_HIERARCHY].wire = 0;
    // START and END of mark, 1 and parity with END on data.
    tl_smpm_meter_frame(&meter, 0, false, values, NULL);
    assert_int_equal(meter.all[TL_SMPM_WAY_HIERARCHY].wire, 4 + 2 + 2);
}

// A selector: the register changes when it is loaded, the position counts to the end and back.
static void test_a_selector_moves_few_bits(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_LITERAL);
    uint16_t values[TL_SMPM_MAX_CTRS] = {0};
    build_group(&config);
    meter.is_selected = true;
    const tl_smpm_activity *got = &meter.all[TL_SMPM_WAY_HIERARCHY];
    values[3] = 0x155; // 5 bits
    tl_smpm_meter_frame(&meter, 0, false, values, NULL);
    assert_int_equal(got->tog, 2 * 0x155 + 2 * 510 + 5 + 2 * 407);
    assert_int_equal(got->gated, 9 * (0x155 + 1) + 9 * 511 + 407 + 9 * 407);
    values[3] = 0x154; // one bit less
    tl_smpm_meter_frame(&meter, 0, false, values, NULL);
    assert_int_equal(got->tog, 2 * (0x155 + 0x154) + 2 * 2 * 510 + 5 + 1 + 2 * 2 * 407);
    tl_smpm_meter_frame(&meter, 1, false, values, NULL); // a register of its own
    assert_int_equal(got->tog, 2 * (0x155 + 2 * 0x154) + 3 * 2 * 510 + 5 + 1 + 4 + 3 * 2 * 407);
}

// All other ways over some epochs, each with registers of its own.
static void test_other_ways_move_the_bits_that_their_registers_move(void **state) {
    (void)state;
    const tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    static uint64_t flat[64][64], low[64][64], class44[64][64], snapshot[64][64];
    uint64_t tog64 = 0, tog12 = 0, tog44 = 0, events = 0, class_events = 0, carries = 0, snaps = 0, bus = 0, bus_wire = 0, class_bus = 0,
             class_wire = 0, sr_extra = 0, n_words = 0, n_class_words = 0, n_switch_words = 0;
    memset(flat, 0, sizeof flat);
    seed = 99;
    build_group(&config);
    for (uint32_t epoch = 0; epoch < 7; epoch++) {
        const bool is_switch = epoch % 3 == 2;
        tl_smpm_meter_switch(&meter, is_switch);
        for (uint32_t w = 0; w < 40; w++)
            for (uint32_t u = 0; u < layout.n_ulcs; u++) {
                uint16_t values[TL_SMPM_MAX_CTRS] = {0};
                for (uint32_t i = 0; i < config.ulc_ctrs; i++) {
                    if (layout.types[layout.ulcs[u].type].ctrs[i].feed == TL_SMPM_FEED_NONE)
                        continue;
                    values[i] = (uint16_t)draw(512);
                    events += values[i];
                    tog64 += count_up(&flat[u][i], values[i], UINT64_MAX);
                    const uint64_t before = flat[u][i] - values[i];
                    tog12 += count_up(&low[u][i], values[i], 4095);
                    carries += flat[u][i] / 4096 - before / 4096;
                    if (i % 2 == epoch % 2) {
                        class_events += values[i];
                        tog44 += count_up(&class44[u][i], values[i], UINT64_MAX);
                    }
                }
                tl_smpm_meter_frame(&meter, u, false, values, NULL);
            }
        tl_smpm_meter_deliver(&meter, 0);
        for (uint32_t u = 0; u < layout.n_ulcs; u++)
            for (uint32_t i = 0; i < config.ulc_ctrs; i++) {
                if (layout.types[layout.ulcs[u].type].ctrs[i].feed == TL_SMPM_FEED_NONE)
                    continue;
                const uint64_t move = (uint64_t)__builtin_popcountll(bus ^ flat[u][i]);
                bus_wire += move;
                sr_extra += is_switch ? move : 0;
                bus = flat[u][i];
                snaps += (uint64_t)__builtin_popcountll(snapshot[u][i] ^ flat[u][i]);
                snapshot[u][i] = flat[u][i];
                n_words++;
                n_switch_words += is_switch;
                if (i % 2 == epoch % 2) {
                    class_wire += (uint64_t)__builtin_popcountll(class_bus ^ class44[u][i]);
                    class_bus = class44[u][i];
                    n_class_words++;
                }
            }
    }
    assert_int_equal(meter.n_switches, 2);
    tl_smpm_activity got[TL_SMPM_N_WAYS];
    for (tl_smpm_way way = 0; way < TL_SMPM_N_WAYS; way++)
        got[way] = tl_smpm_activity_sum(&meter.all[way], &meter.in_switches[way]);
    const tl_smpm_activity want[TL_SMPM_N_WAYS] = {
        [TL_SMPM_WAY_FLAT64] = {.gated = 64 * (events + n_words), .tog = tog64 + snaps, .wire = bus_wire, .mem = 192 * n_words},
        [TL_SMPM_WAY_FLAT64_SR] = {.gated = 64 * (events + n_switch_words),
                                   .tog = tog64,
                                   .wire = bus_wire + sr_extra,
                                   .mem = 128 * n_switch_words,
                                   .host = 8 * (n_words - n_switch_words)},
        [TL_SMPM_WAY_FLAT48] = {.gated = 48 * (events + n_words), .tog = tog64 + snaps, .wire = bus_wire, .mem = 192 * n_words},
        [TL_SMPM_WAY_CLASS44] = {.gated = 44 * class_events, .tog = tog44, .wire = class_wire, .host = 8 * n_class_words},
        [TL_SMPM_WAY_HYB12] =
            {.gated = 12 * events, .tog = tog12, .wire = bus_wire, .sram = 104 * carries + 52 * n_words, .mem = 192 * n_words},
        [TL_SMPM_WAY_POLL] = {.gated = 64 * events, .tog = tog64, .wire = bus_wire, .host = 8 * n_words},
    };
    for (tl_smpm_way way = TL_SMPM_WAY_FLAT64; way < TL_SMPM_N_WAYS; way++)
        assert_memory_equal(&got[way], &want[way], sizeof want[way]);
}

static void test_records_and_commits_move_their_bits(void **state) {
    (void)state;
    const tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    const tl_smpm_activity *got = &meter.all[TL_SMPM_WAY_HIERARCHY];
    build_group(&config);
    tl_smpm_meter_record(&meter, &own_route, true); // own channel, 0 and D
    assert_int_equal(got->noc, 256 * (1 + 2 + 2));
    assert_int_equal(got->sram, 2 * 256 * 3 + 2 * 224 + 2 * 512 * 3);
    tl_smpm_meter_record(&meter, &own_route, false);
    assert_int_equal(got->noc, 2 * 256 * 5);
    assert_int_equal(got->sram, 2 * (2 * 256 * 3) + 2 * 224 + 2 * 512 * 3);
    build_group(&config);
    tl_smpm_meter_record(&meter, &(tl_smpm_route){.target = TL_SMPM_TO_UNASSIGNED}, true);
    assert_int_equal(got->noc, 256 * 2);
    assert_int_equal(got->sram, 2 * 256 + 2 * 224 + 2 * 512);
    build_group(&config);
    tl_smpm_meter_record(&meter, &(tl_smpm_route){.target = TL_SMPM_TO_FIXED, .channel = 1}, true);
    assert_int_equal(got->noc, 256 * 3);
    assert_int_equal(got->sram, 2 * 256 * 2 + 2 * 224 + 2 * 512);
    build_group(&config);
    tl_smpm_meter_commit(&meter, 10, 20, 2);
    assert_int_equal(got->sram, 2 * 10 * 64);
    assert_int_equal(got->mem, (20 + 2 * 4) * 64);
    assert_int_equal(meter.n_commits, 1);
}

static void test_what_a_switch_does_is_counted_apart(void **state) {
    (void)state;
    const tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    build_group(&config);
    tl_smpm_meter_switch(&meter, true);
    tl_smpm_meter_switch(&meter, true);
    tl_smpm_meter_commit(&meter, 1, 2, 0);
    tl_smpm_meter_switch(&meter, false);
    tl_smpm_meter_commit(&meter, 1, 3, 0);
    assert_int_equal(meter.n_switches, 1);
    assert_int_equal(meter.in_switches[TL_SMPM_WAY_HIERARCHY].mem, 128);
    assert_int_equal(meter.all[TL_SMPM_WAY_HIERARCHY].mem, 192);
}

static void test_cycles_clock_every_register_of_each_way(void **state) {
    (void)state;
    const tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    build_group(&config);
    tl_smpm_meter_cycles(&meter, 1000);
    // A hart has 45 signals, a slice 4, a memory channel 4, noc 3, bus 4, dma 3.
    assert_int_equal(meter.all[TL_SMPM_WAY_POLL].clk, 1000 * 64 * 63);
    assert_int_equal(meter.all[TL_SMPM_WAY_FLAT64].clk, 1000 * 128 * 63);
    assert_int_equal(meter.all[TL_SMPM_WAY_CLASS44].clk, 1000 * 44 * 32);
    assert_int_equal(meter.all[TL_SMPM_WAY_HIERARCHY].clk, 1000 * tl_smpm_storage_of(&config, &layout, 0).ff_bits);
    assert_int_equal(meter.n_cycles, 1000);
}

// ---- weights ----

static void test_energy_is_the_weighted_sum(void **state) {
    (void)state;
    const tl_smpm_activity a = {.clk = 1000, .gated = 10, .tog = 3, .wire = 5, .sram = 20, .noc = 7, .mem = 2, .host = 4};
    tl_smpm_weights w = tl_smpm_default_weights;
    assert_int_equal((int)(tl_smpm_energy(&a, &w) + 0.5), 2 + 3 + 10 + 6 + 14 + 20 + 400);
    w.is_gated = false;
    assert_int_equal((int)(tl_smpm_energy(&a, &w) + 0.5), 200 + 3 + 10 + 6 + 14 + 20 + 400);
    const tl_smpm_activity twice = tl_smpm_activity_sum(&a, &a);
    const tl_smpm_activity want = {.clk = 2000, .gated = 20, .tog = 6, .wire = 10, .sram = 40, .noc = 14, .mem = 4, .host = 8};
    assert_memory_equal(&twice, &want, sizeof want);
}

static void test_sensitivity_moves_one_weight_at_a_time(void **state) {
    (void)state;
    const tl_smpm_activity one = {.wire = 10, .mem = 8}, other = {.host = 1}; // 20 + 80, 100
    const tl_smpm_sensitivity s = tl_smpm_sensitivity_of(&one, &other, &tl_smpm_default_weights);
    static const struct {
        double quarter, fourfold;
    } rows[TL_SMPM_N_WEIGHTS] = {{1, 1}, {1, 1}, {0.85, 1.6}, {1, 1}, {1, 1}, {0.4, 3.4}, {4, 0.25}};
    assert_int_equal((int)(s.ratio * 1000 + 0.5), 1000);
    for (uint32_t i = 0; i < TL_SMPM_N_WEIGHTS; i++) {
        assert_int_equal((int)(s.quarter[i] * 1000 + 0.5), (int)(rows[i].quarter * 1000 + 0.5));
        assert_int_equal((int)(s.fourfold[i] * 1000 + 0.5), (int)(rows[i].fourfold * 1000 + 0.5));
    }
}

static void test_a_weights_file_changes_what_it_names(void **state) {
    (void)state;
    tl_smpm_weights w;
    tl_error err = {0};
    assert_int_equal(tl_smpm_weights_parse("# of our library\n\nwire 8.5 # long\n  host\t250\ngated no\nsram .25", "w.txt", &w, &err),
                     TL_OK);
    assert_true(w.wire == 8.5 && w.host == 250 && w.sram == 0.25 && !w.is_gated);
    assert_true(w.tog == 1 && w.clk == 0.2 && w.mem == 10 && w.noc == 2);
}

static void test_a_bad_weights_file_names_its_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"wire", "w.txt:1: write a name and a value, as in 'wire 2'"},
        {"\nwire 1 2", "w.txt:2: write a name and a value, as in 'wire 2'"},
        {"wires 1", "w.txt:1: wires is no weight; there are clk, tog, wire, sram, noc, mem, host and gated"},
        {"tog 1\nmem -3", "w.txt:2: mem needs a number like 2 or 0.25"},
        {"mem 1e9", "w.txt:1: mem needs a number like 2 or 0.25"},
        {"mem .", "w.txt:1: mem needs a number like 2 or 0.25"},
        {"mem 1.2.3", "w.txt:1: mem needs a number like 2 or 0.25"},
        {"mem 1234567", "w.txt:1: mem needs a number like 2 or 0.25"},
        {"gated maybe", "w.txt:1: gated is yes or no"},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_smpm_weights w = {.tog = 77};
        tl_error err = {0};
        assert_int_equal(tl_smpm_weights_parse(rows[i].text, "w.txt", &w, &err), TL_EFORMAT);
        assert_string_equal(err.text, rows[i].message);
        assert_true(w.tog == 77);
    }
    char text[300];
    tl_smpm_weights w;
    tl_error err;
    memset(text, ' ', sizeof text);
    text[299] = '\0';
    assert_int_equal(tl_smpm_weights_parse(text, "w.txt", &w, &err), TL_EFORMAT);
    assert_string_equal(err.text, "w.txt:1: the line is longer than 199 bytes");
}

// ---- synthetic load ----

// 2 units of 3 counters, 1 event in 10 cycles: sums that can be made by hand.
static void test_a_load_counts_epochs_frames_and_switches(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    const tl_smpm_load load = {.n_units = 2, .n_ctrs = 3, .events_per_million = 100000, .n_epochs = 4, .switch_every = 2};
    tl_smpm_activity got[TL_SMPM_N_WAYS];
    tl_error err = {0};
    config.tb_period = 5110; // ten windows
    config.mb_inputs = 0;
    assert_int_equal(tl_smpm_load_run(&config, &load, got, &err), TL_OK);
    const uint64_t n_cycles = 4 * 5110 + 2 * 255, k = 45;
    const uint64_t n_rows = 12, n_records = 4 * n_rows + 2 * (2 * n_rows + 1), n_commits = 4 + 2;
    assert_int_equal(got[TL_SMPM_WAY_POLL].clk, n_cycles * 64 * 6);
    assert_int_equal(got[TL_SMPM_WAY_HIERARCHY].noc, n_records * 256 * 5);
    assert_int_equal(got[TL_SMPM_WAY_HIERARCHY].mem, n_commits * 64 * (2 * k + 8 + 3 * k + 4 + k + 4));
    assert_int_equal(got[TL_SMPM_WAY_HIERARCHY].host, 0);
    assert_int_equal(got[TL_SMPM_WAY_POLL].host, 8 * 6 * 6);
    assert_int_equal(got[TL_SMPM_WAY_FLAT64].mem, 6 * 6 * 192);
    assert_int_equal(got[TL_SMPM_WAY_FLAT64_SR].mem, 2 * 6 * 128);
    // 6 counters of 20,950 cycles count 2,095 events each.
    assert_int_equal(got[TL_SMPM_WAY_POLL].gated, 64 * 6 * 2095);
}

static void test_a_load_that_does_not_fit_is_refused(void **state) {
    (void)state;
    const tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    tl_smpm_activity got[TL_SMPM_N_WAYS];
    tl_error err = {0};
    tl_smpm_load load = {.n_units = 49, .n_ctrs = 3, .n_epochs = 1};
    assert_int_equal(tl_smpm_load_run(&config, &load, got, &err), TL_EINVAL);
    assert_string_equal(err.text, "a group of 49 units does not fit a collection unit of 48; take 1 to 48");
    load = (tl_smpm_load){.n_units = 1, .n_ctrs = 46, .n_epochs = 1};
    assert_int_equal(tl_smpm_load_run(&config, &load, got, &err), TL_EINVAL);
    assert_string_equal(err.text, "a unit has 45 counters and not 46; take fewer signals");
    load = (tl_smpm_load){.n_units = 1, .n_ctrs = 1, .events_per_million = 1000001};
    assert_int_equal(tl_smpm_load_run(&config, &load, got, &err), TL_EINVAL);
    assert_string_equal(err.text, "1000001 events in a million cycles are more than one a cycle; take at most 1000000");
}

static void test_break_even_lies_where_lines_cross(void **state) {
    (void)state;
    tl_smpm_curve curve = {0};
    for (uint32_t i = 0; i < TL_SMPM_CURVE_POINTS; i++) {
        curve.events_per_million[i] = 10 * i;
        curve.energy[TL_SMPM_WAY_HIERARCHY][i] = 50;
        curve.energy[TL_SMPM_WAY_POLL][i] = 15 * i; // 45 at 30, 60 at 40
        curve.energy[TL_SMPM_WAY_HYB12][i] = 10;
        curve.energy[TL_SMPM_WAY_FLAT64][i] = 90;
    }
    assert_int_equal((int)(tl_smpm_break_even(&curve, TL_SMPM_WAY_POLL) * 1000 + 0.5), 33333);
    assert_true(tl_smpm_break_even(&curve, TL_SMPM_WAY_HYB12) == -1);
    assert_true(tl_smpm_break_even(&curve, TL_SMPM_WAY_FLAT64) == 0);
}

static void test_the_curve_is_energy_for_1000_cycles_and_unit(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    tl_smpm_curve curve;
    tl_smpm_activity got[TL_SMPM_N_WAYS];
    tl_error err = {0};
    config.tb_period = 5110;
    config.ccu_ulcs = 4;
    assert_int_equal(tl_smpm_curve_of(&config, &tl_smpm_default_weights, 0, false, &curve, &err), TL_OK);
    assert_int_equal(curve.events_per_million[3], 64);
    const tl_smpm_load load = {.n_units = 4, .n_ctrs = 45, .events_per_million = 64, .n_epochs = 2};
    assert_int_equal(tl_smpm_load_run(&config, &load, got, &err), TL_OK);
    for (tl_smpm_way way = 0; way < TL_SMPM_N_WAYS; way++) {
        const double want = tl_smpm_energy(&got[way], &tl_smpm_default_weights) / 10.220 / 4;
        assert_true(curve.energy[way][3] > want * 0.999999 && curve.energy[way][3] < want * 1.000001);
    }
}

static void test_ablations_change_one_thing_and_hold_their_rules(void **state) {
    (void)state;
    const tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    static tl_smpm_ablation list[TL_SMPM_MAX_ABLATIONS];
    const uint32_t n = tl_smpm_ablations_of(&config, list);
    uint32_t widths = 0;
    assert_int_equal(n, 17); // every row is feasible with the defaults
    assert_memory_equal(&list[0].config, &config, sizeof config);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(tl_smpm_config_check(&list[i].config, NULL), TL_OK);
        widths |= 1u << list[i].config.ulc_bits;
        for (uint32_t k = 0; k < i; k++) {
            assert_string_not_equal(list[i].name, list[k].name);
            assert_true(list[i].is_selected || memcmp(&list[i].config, &list[k].config, sizeof config) != 0);
        }
    }
    assert_int_equal(widths, 0x1ff0); // 4 to 12
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_group_has_the_bits_that_its_parameters_give),
    cmocka_unit_test(test_a_group_is_about_half_of_flat_counters),
    cmocka_unit_test(test_other_ways_have_their_own_bits),
    cmocka_unit_test(test_a_chip_adds_channels_and_memory),
    cmocka_unit_test(test_a_chip_of_a_size_is_groups_and_three_channels),
    cmocka_unit_test(test_frames_move_the_bits_that_registers_and_wires_move),
    cmocka_unit_test(test_wires_across_partitions_are_longer),
    cmocka_unit_test(test_a_zero_frame_is_two_pulses),
    cmocka_unit_test(test_a_selector_moves_few_bits),
    cmocka_unit_test(test_other_ways_move_the_bits_that_their_registers_move),
    cmocka_unit_test(test_records_and_commits_move_their_bits),
    cmocka_unit_test(test_what_a_switch_does_is_counted_apart),
    cmocka_unit_test(test_cycles_clock_every_register_of_each_way),
    cmocka_unit_test(test_energy_is_the_weighted_sum),
    cmocka_unit_test(test_sensitivity_moves_one_weight_at_a_time),
    cmocka_unit_test(test_a_weights_file_changes_what_it_names),
    cmocka_unit_test(test_a_bad_weights_file_names_its_line),
    cmocka_unit_test(test_a_load_counts_epochs_frames_and_switches),
    cmocka_unit_test(test_a_load_that_does_not_fit_is_refused),
    cmocka_unit_test(test_break_even_lies_where_lines_cross),
    cmocka_unit_test(test_the_curve_is_energy_for_1000_cycles_and_unit),
    cmocka_unit_test(test_ablations_change_one_thing_and_hold_their_rules),
};
TL_TEST_MAIN(tests)
