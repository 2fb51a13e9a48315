// SPDX-License-Identifier: MIT
// Compares the block with a naive one that counts event by event, and replays transcripts/*.txt.
// tests/contract/test_pmu.c checks the rules of every PMU.
#include "base/bits.h"
#include "model/test_transcript.h"
#include "pmu/ccache/ccache.h"

static pmu_rig rig;

static tl_ccache_settings settings;
static const void *settings_of(void *ctx, const tl_pmu_type *type) {
    (void)ctx, (void)type;
    return &settings;
}

// n_counters 0: the default of a host that is no machine.
static void start(const tl_config *config, uint32_t n_counters) {
    rig_init(&rig);
    rig.host.config = config;
    settings = (tl_ccache_settings){.n_counters = n_counters};
    rig.host.settings = n_counters ? settings_of : NULL;
    rig_attach(&rig, &tl_pmu_ccache, tl_ccache_presets[0], 64, 0);
}

static uint64_t load(uint64_t offset, uint32_t size) {
    uint64_t value = 0;
    assert_true(tl_pmu_load(rig.pmu, offset, size, &value));
    return value;
}

static void store(uint64_t offset, uint32_t size, uint64_t value) { assert_true(tl_pmu_store(rig.pmu, offset, size, value)); }

static void test_transcripts_replay(void **state) {
    (void)state;
    assert_int_equal(replay_folder(&tl_pmu_ccache, "src/pmu/ccache/transcripts"), 5);
}

static void test_config_says_what_the_cache_is_made_of(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.l2 = (tl_cache_config){.size_bytes = 2 << 20, .ways = 16, .line_bytes = 64};
    config.l2_slices = 4;
    start(&config, 6);
    // The FU740 answers the same: 4 banks, 16 ways, 2^9 sets, 2^6 bytes.
    assert_int_equal(load(0, 8), 0x06091004);
    rig_done(&rig);
}

static void test_there_are_as_many_counters_as_the_machine_says(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    start(&config, 3);
    for (uint32_t i = 0; i < TL_CCACHE_MAX_COUNTERS; i++) {
        store(TL_CCACHE_COUNTER + 8 * i, 8, UINT64_MAX);
        store(TL_CCACHE_SELECT + 8 * i, 8, TL_CCACHE_EVENT(1, 6));
        assert_int_equal(load(TL_CCACHE_COUNTER + 8 * i, 8), i < 3 ? UINT64_MAX : 0);
        assert_int_equal(load(TL_CCACHE_SELECT + 8 * i, 8), i < 3 ? TL_CCACHE_EVENT(1, 6) : 0);
    }
    rig_done(&rig);
}

static void test_only_words_and_double_words_answer(void **state) {
    (void)state;
    uint64_t value = 7;
    start(NULL, 0);
    assert_false(tl_pmu_load(rig.pmu, TL_CCACHE_COUNTER, 1, &value));
    assert_false(tl_pmu_load(rig.pmu, TL_CCACHE_COUNTER, 2, &value));
    assert_false(tl_pmu_store(rig.pmu, TL_CCACHE_COUNTER, 1, 1));
    assert_false(tl_pmu_load(rig.pmu, TL_CCACHE_COUNTER + 4, 8, &value));
    assert_false(tl_pmu_load(rig.pmu, TL_CCACHE_COUNTER + 2, 4, &value));
    assert_false(tl_pmu_load(rig.pmu, TL_CCACHE_WINDOW_BYTES, 8, &value));
    assert_false(tl_pmu_load(rig.pmu, UINT64_MAX - 7, 8, &value));
    // The access would end behind the window.
    assert_false(tl_pmu_load(rig.pmu, TL_CCACHE_WINDOW_BYTES - 4, 8, &value));
    assert_false(tl_pmu_store(rig.pmu, TL_CCACHE_WINDOW_BYTES, 4, 1));
    assert_false(tl_pmu_load(rig.pmu, TL_CCACHE_COUNTER, 16, &value));
    assert_int_equal(value, 7);
    // The last double word of the window has no register.
    assert_true(tl_pmu_load(rig.pmu, TL_CCACHE_WINDOW_BYTES - 8, 8, &value));
    assert_int_equal(value, 0);
    store(TL_CCACHE_WINDOW_BYTES - 4, 4, 1);
    // Words and double words of one register may be mixed.
    store(TL_CCACHE_COUNTER, 8, UINT64_C(0x1122334455667788));
    assert_int_equal(load(TL_CCACHE_COUNTER, 4), 0x55667788);
    assert_int_equal(load(TL_CCACHE_COUNTER + 4, 4), 0x11223344);
    store(TL_CCACHE_COUNTER + 4, 4, 0xaabbccdd);
    assert_int_equal(load(TL_CCACHE_COUNTER, 8), UINT64_C(0xaabbccdd55667788));
    rig_done(&rig);
}

static void test_every_event_that_is_modeled_can_be_counted_alone(void **state) {
    (void)state;
    start(NULL, 0);
    const tl_pmu_preset *preset = tl_ccache_presets[0];
    assert_int_equal(preset->n_events, 20 + 19 + 14 + 1);
    for (uint32_t i = 0; i < preset->n_events; i++) {
        const tl_event *event = &preset->events[i];
        store(TL_CCACHE_SELECT, 8, 0);
        store(TL_CCACHE_COUNTER, 8, 0);
        store(TL_CCACHE_SELECT, 8, event->selector);
        assert_int_equal(load(TL_CCACHE_SELECT, 8), event->fidelity == TL_NOT_MODELED ? 0 : event->selector);
        tl_sources sources = {0};
        tl_error err = {0};
        if (event->sources && tl_sources_resolve(event->sources, &rig.probe, 0, &rig.arena, &sources, &err) != TL_OK)
            fail_msg("%s: %s", event->name, err.text);
        for (tl_cell cell = 0; cell < RIG_CELLS; cell++)
            rig_advance(&rig, cell, 1);
        assert_int_equal(load(TL_CCACHE_COUNTER, 8), sources.n_cells);
    }
    rig_done(&rig);
}

// ---- a naive block: every counter inspects each step of a total ----

typedef struct naive {
    uint64_t selects[4], counters[4], filter;
} naive;

// Parses a term of an event's sources without the library: unit, client, signal.
static bool counts(const naive *n, const char *sources, const char *unit, int client, const char *signal) {
    char text[256], term[64];
    if (client >= 0 && (n->filter >> client & 1))
        return false;
    snprintf(text, sizeof text, "%s + ", sources);
    snprintf(term, sizeof term, "%s.%s + ", unit, signal);
    const char *at = strstr(text, term);
    return at && (at == text || at[-1] == ' ');
}

static void naive_step(naive *n, const char *unit, int client, const char *signal) {
    const tl_pmu_preset *preset = tl_ccache_presets[0];
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t e = 0; e < preset->n_events; e++) {
            const tl_event *event = &preset->events[e];
            bool is_selected = (n->selects[i] & 0xff) == (event->selector & 0xff) && (n->selects[i] & event->selector & ~UINT64_C(0xff));
            n->counters[i] += is_selected && event->sources && counts(n, event->sources, unit, client, signal);
        }
}

static uint64_t draw(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *seed >> 24;
}

static void test_block_equals_a_naive_one(void **state) {
    (void)state;
    static const char *const data[] = {"acquire_nb_hit",    "acquire_nt_hit",     "acquire_nb_miss", "acquire_nt_miss", "acquire_nb_shared",
                                       "acquire_perm",      "release_tb",         "release_tn",      "release_bn",      "release_data_tb",
                                       "release_data_tn",   "probe_get",          "probe_load",      "probe_store",     "probe_take",
                                       "acquire_nt_shared", "acquire_perm_shared"},
                             *const fetch[] = {"get_hit", "get_miss", "get_shared", "probe_i"},
                             *const device[] = {"dma_read", "dma_read_hit", "dma_write_full", "dma_write_partial_hit"},
                             *const own[] = {"evict_clean", "writeback"};
    uint64_t seed = 77;
    naive n = {0};
    start(NULL, 0);
    for (uint32_t step = 0; step < 40000; step++) {
        uint64_t number = draw(&seed);
        uint32_t hart = number >> 8 & 1, index = number >> 9 & 3;
        char path[64];
        const char *unit = "link", *signal = NULL;
        int client = -1;
        switch (number & 15) {
        case 0:
            n.selects[index] =
                tl_ccache_legal_select(tl_ccache_of(&rig.pmu->file), (draw(&seed) & UINT64_C(0xfffff00)) | (1 + draw(&seed) % 3));
            store(TL_CCACHE_SELECT + 8 * index, 8, n.selects[index]);
            break;
        case 1: store(TL_CCACHE_COUNTER + 8 * index, 8, n.counters[index] = draw(&seed)); break;
        case 2: store(TL_CCACHE_FILTER, 8, n.filter = draw(&seed) & draw(&seed) & 0x1f); break;
        case 3:
        case 4: assert_int_equal(load(TL_CCACHE_COUNTER + 8 * index, 8), n.counters[index]); break;
        case 5:
        case 6:
            client = 2 * (int)hart + 1;
            signal = fetch[draw(&seed) % TL_COUNT_OF(fetch)];
            break;
        case 7: unit = "l2", client = 4, signal = device[draw(&seed) % TL_COUNT_OF(device)]; break;
        case 8: unit = "l2", signal = own[draw(&seed) % TL_COUNT_OF(own)]; break;
        default:
            client = 2 * (int)hart;
            signal = data[draw(&seed) % TL_COUNT_OF(data)];
            break;
        }
        if (!signal)
            continue;
        tl_cell cell;
        snprintf(path, sizeof path, *unit == 'l' && unit[1] == '2' ? "l2.%u.%s" : "link%u.%s", hart, signal);
        assert_int_equal(tl_probe_resolve(&rig.probe, path, &cell), TL_OK);
        rig_advance(&rig, cell, 1);
        naive_step(&n, unit, client, signal);
    }
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(load(TL_CCACHE_COUNTER + 8 * i, 8), n.counters[i]);
    rig_done(&rig);
}

static void test_reset_forgets_filter_selects_and_counts(void **state) {
    (void)state;
    tl_cell cell;
    start(NULL, 0);
    assert_int_equal(tl_probe_resolve(&rig.probe, "link0.acquire_nb_hit", &cell), TL_OK);
    uint64_t select = 0;
    const tl_pmu_preset *preset = tl_ccache_presets[0];
    for (uint32_t i = 0; i < preset->n_events && select == 0; i++)
        if (preset->events[i].sources && strstr(preset->events[i].sources, "acquire_nb_hit"))
            select = preset->events[i].selector;
    assert_int_not_equal(select, 0);
    store(TL_CCACHE_FILTER, 8, 0x1f);
    for (uint32_t i = 0; i < TL_CCACHE_MAX_COUNTERS; i++) {
        store(TL_CCACHE_SELECT + 8 * i, 8, select);
        store(TL_CCACHE_COUNTER + 8 * i, 8, 100 + i);
    }
    rig_advance(&rig, cell, 7);
    rig.pmu->type->reset(rig.pmu);
    assert_int_equal(load(TL_CCACHE_FILTER, 8), 0);
    for (uint32_t i = 0; i < TL_CCACHE_MAX_COUNTERS; i++) {
        assert_int_equal(load(TL_CCACHE_SELECT + 8 * i, 8), 0);
        assert_int_equal(load(TL_CCACHE_COUNTER + 8 * i, 8), 0);
    }
    rig_advance(&rig, cell, 11); // nothing is selected
    assert_int_equal(load(TL_CCACHE_COUNTER, 8), 0);
    store(TL_CCACHE_SELECT, 8, select);
    rig_advance(&rig, cell, 13); // the filter omits no client
    assert_int_equal(load(TL_CCACHE_COUNTER, 8), 13);
    rig_done(&rig);
}

static void test_cost_is_that_of_the_registers(void **state) {
    (void)state;
    tl_ccache_cost cost = tl_ccache_cost_of(6, 5);
    assert_int_equal(cost.counter_bits, 6 * 64);
    uint64_t bits = 0, n_modeled = 0;
    for (uint32_t i = 0; i < tl_ccache_presets[0]->n_events; i++)
        if (tl_ccache_presets[0]->events[i].fidelity != TL_NOT_MODELED) {
            bits |= tl_ccache_presets[0]->events[i].selector & ~UINT64_C(0xff);
            n_modeled += 1;
        }
    assert_int_equal(cost.selector_bits, 6 * (3 + (uint64_t)__builtin_popcountll(bits)) + 5);
    assert_int_equal(cost.state_bits, cost.counter_bits + cost.selector_bits);
    assert_int_equal(tl_ccache_cost_of(0, 5).wires, 0);
    // Wires do not depend on the number of counters.
    assert_int_equal(tl_ccache_cost_of(1, 5).wires, n_modeled + 64 + 64 + 40);
    assert_int_equal(cost.wires, n_modeled + 64 + 64 + 40);
}

static void test_the_register_map_is_sound(void **state) {
    (void)state;
    tl_error err;
    assert_int_equal(tl_regmap_check(&tl_ccache_regmap, &err), TL_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_cost_is_that_of_the_registers),
    cmocka_unit_test(test_the_register_map_is_sound),
    cmocka_unit_test(test_reset_forgets_filter_selects_and_counts),
    cmocka_unit_test(test_transcripts_replay),
    cmocka_unit_test(test_config_says_what_the_cache_is_made_of),
    cmocka_unit_test(test_there_are_as_many_counters_as_the_machine_says),
    cmocka_unit_test(test_only_words_and_double_words_answer),
    cmocka_unit_test(test_every_event_that_is_modeled_can_be_counted_alone),
    cmocka_unit_test(test_block_equals_a_naive_one),
};
TL_TEST_MAIN(tests)
