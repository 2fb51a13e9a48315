// SPDX-License-Identifier: MIT
// One battery for every PMU design, with every preset, on a 64-bit and a 32-bit hart. Registers do
// as the kinds of their fields say. Tables are complete and honest, and events exist on every
// machine. No sequence of accesses does harm. A design is tested by being named in the build; what
// only one design does is tested in its folder.
#include <stdlib.h>

#include "base/bits.h"
#include "base/strbuf.h"
#include "isa/rv/arch.h"
#include "machine/machine.h"
#include "model/test_pmu_rig.h"
#include "readers/rvhpm/on.h"
#include "session/description.h"
#include "session/run.h"

static pmu_rig rig;

typedef void check_fn(const tl_pmu_type *type, const tl_pmu_preset *preset);

static void for_each(check_fn *check) {
    uint32_t n = 0;
    for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++)
        for (const tl_pmu_preset *const *preset = (*type)->presets; *preset; preset++)
            for (uint32_t access_bits = 64; access_bits >= 32; access_bits -= 32, n++) {
                rig_done(&rig);
                rig_init(&rig);
                rig_attach(&rig, *type, *preset, access_bits, 0);
                check(*type, *preset);
            }
    assert_true(n >= 6);
    rig_done(&rig);
}

// Every register that this file answers for, halves one by one.
typedef void reg_fn(tl_regfile *file, const tl_reg_at *at, uint32_t addr);

static void for_each_register(reg_fn *check) {
    tl_regfile *file = &rig.pmu->file;
    for (uint32_t i = 0; i < file->map->n_regs; i++) {
        const tl_reg *reg = &file->map->regs[i];
        for (uint32_t k = 0; k < 2 * tl_reg_count(reg); k++) {
            uint32_t addr = (k % 2 ? reg->high_addr : reg->addr) + k / 2 * (reg->stride > 0 ? reg->stride : 1);
            tl_reg_at at;
            if ((k % 2 && reg->high_addr == 0) || !tl_regfile_find(file, addr, &at))
                continue;
            assert_ptr_equal(at.reg, reg);
            assert_int_equal(at.index, k / 2);
            assert_int_equal(at.is_high, k % 2);
            check(file, &at, addr);
        }
    }
}

static bool is_zero(const tl_regfile *file, const tl_reg_at *at) {
    return at->reg->presence && at->reg->presence(file, at->index, at->is_high) == TL_ZERO;
}

static uint64_t value_at(tl_regfile *file, uint32_t addr) {
    uint64_t value = 0;
    assert_true(tl_regfile_read(file, addr, &value));
    return value;
}

// Bits of this access whose fields are of one kind.
static uint64_t bits_of(const tl_regfile *file, const tl_reg_at *at, tl_reg_access access) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < at->reg->n_fields; i++) {
        const tl_field *field = &at->reg->fields[i];
        if (field->access == access)
            bits |= (field->width_bits == 64 ? UINT64_MAX : (UINT64_C(1) << field->width_bits) - 1) << field->lsb;
    }
    if (file->access_bits == 32)
        bits = at->is_high ? bits >> 32 : bits & UINT32_MAX;
    return bits;
}

// ---- registers ----

static void check_kinds(tl_regfile *file, const tl_reg_at *at, uint32_t addr) {
    static const uint64_t patterns[] = {UINT64_MAX, 0, UINT64_C(0xaaaaaaaaaaaaaaaa), UINT64_C(0x5555555555555555),
                                        UINT64_C(0x123456789abcdef)};
    const uint64_t rw = bits_of(file, at, TL_RW), ro = bits_of(file, at, TL_RO), w1c = bits_of(file, at, TL_W1C),
                   w1s = bits_of(file, at, TL_W1S), warl = bits_of(file, at, TL_WARL), rc = bits_of(file, at, TL_RC),
                   silent = bits_of(file, at, TL_WPRI) | bits_of(file, at, TL_WO);
    for (uint32_t i = 0; i < TL_COUNT_OF(patterns); i++) {
        uint64_t old = value_at(file, addr), given = patterns[i];
        assert_true(tl_regfile_write(file, addr, given));
        if (file->access_bits == 32)
            given &= UINT32_MAX;
        uint64_t now = value_at(file, addr);
        if (is_zero(file, at)) {
            assert_int_equal(now, 0);
            continue;
        }
        assert_int_equal(now & rw, given & rw);
        assert_int_equal(now & ro, old & ro);
        assert_int_equal(now & w1c, old & ~given & w1c);
        assert_int_equal(now & w1s, (old | given) & w1s);
        assert_int_equal(now & silent, 0);
        assert_int_equal(value_at(file, addr) & rc, 0); // the read before cleared them
        assert_true(tl_regfile_write(file, addr, now & ~w1c));
        // The value that was read is legal.
        assert_int_equal(value_at(file, addr) & (warl | rw), now & (warl | rw));
    }
}

static void check_reset_value(tl_regfile *file, const tl_reg_at *at, uint32_t addr) {
    uint64_t want = 0;
    for (uint32_t i = 0; i < at->reg->n_fields; i++)
        want |= at->reg->fields[i].reset << at->reg->fields[i].lsb;
    if (file->access_bits == 32)
        want = at->is_high ? want >> 32 : want & UINT32_MAX;
    if (is_zero(file, at))
        want = 0;
    if (!at->reg->read)
        assert_int_equal(value_at(file, addr), want & ~bits_of(file, at, TL_WO));
}

static void check_registers(const tl_pmu_type *type, const tl_pmu_preset *preset) {
    (void)preset;
    tl_error err = {0};
    if (tl_regmap_check(type->regmap, &err) != TL_OK)
        fail_msg("%s: %s", type->name, err.text);
    for_each_register(check_reset_value);
    for_each_register(check_kinds);
    type->reset(rig.pmu);
    for_each_register(check_reset_value);
}

static uint32_t n_answering;
static void count_register(tl_regfile *file, const tl_reg_at *at, uint32_t addr) { (void)file, (void)at, (void)addr, n_answering++; }

// The next address that is not far from every register: the map may have wide gaps.
static uint32_t next_near(const tl_pmu_type *type, uint32_t addr) {
    enum { FAR = 4096 };
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < type->regmap->n_regs; i++) {
        const tl_reg *reg = &type->regmap->regs[i];
        const uint32_t firsts[] = {reg->addr, reg->high_addr};
        for (size_t k = 0; k < TL_COUNT_OF(firsts); k++) {
            const uint32_t end = firsts[k] + tl_reg_count(reg) * (reg->stride > 0 ? reg->stride : 1) + FAR;
            const uint32_t first = firsts[k] < FAR ? 0 : firsts[k] - FAR;
            if (addr < end)
                next = first < addr ? addr : first < next ? first : next;
        }
    }
    return next;
}

static void check_addresses(const tl_pmu_type *type, const tl_pmu_preset *preset) {
    (void)type, (void)preset;
    uint32_t n = 0, last = 0;
    for (uint32_t i = 0; i < type->regmap->n_regs; i++) {
        const tl_reg *reg = &type->regmap->regs[i];
        uint32_t first = reg->high_addr > reg->addr ? reg->high_addr : reg->addr;
        uint32_t end = first + tl_reg_count(reg) * (reg->stride > 0 ? reg->stride : 1);
        last = end > last ? end : last;
    }
    for (uint32_t addr = 0; addr < last + 4096; addr = next_near(type, addr + 1)) {
        tl_reg_at at;
        uint64_t value;
        bool is_there = tl_regfile_find(&rig.pmu->file, addr, &at);
        n += is_there;
        if (!is_there) {
            assert_false(tl_regfile_read(&rig.pmu->file, addr, &value));
            assert_false(tl_regfile_write(&rig.pmu->file, addr, 1));
        }
        if (rig.pmu->port.find && strcmp(type->regmap->space, "CSR") == 0)
            assert_int_equal(addr < 4096 && rig.pmu->port.find(rig.pmu->port.ctx, addr & 4095, &at), is_there);
    }
    n_answering = 0;
    for_each_register(count_register);
    assert_int_equal(n, n_answering);
}

// ---- tables ----

static void check_sentence(const char *what, const char *text) {
    if (!text || strlen(text) < 8 || *text < 'A' || *text > 'Z' || text[strlen(text) - 1] != '.')
        fail_msg("%s: '%s' is no sentence", what, text ? text : "");
}

static void check_words(const tl_pmu_type *type, const tl_pmu_preset *preset) {
    assert_true(strlen(type->title) > 0 && strlen(type->cite) > 0 && strlen(preset->title) > 0);
    check_sentence(preset->name, preset->selectors);
    for (uint32_t i = 0; i < type->regmap->n_regs; i++) {
        const tl_reg *reg = &type->regmap->regs[i];
        check_sentence(reg->name, reg->meaning);
        assert_true(reg->cite && strlen(reg->cite) > 0);
        assert_int_equal(strchr(reg->name, '#') != NULL, tl_reg_count(reg) > 1);
        for (uint32_t k = 0; k < reg->n_fields; k++)
            check_sentence(reg->fields[k].name, reg->fields[k].meaning);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(type->regmap->regs[k].name, reg->name);
    }
}

static bool can_be_granted(const tl_key *key) {
    for (uint32_t i = 0; key->kind == TL_KEY_CHOICE && key->choices[i]; i++)
        if (!strcmp(key->choices[i], "granted"))
            return i == TL_GRANTED;
    return false;
}

static void check_grant(const tl_pmu_type *type, const tl_pmu_preset *preset) {
    (void)preset;
    char path[64];
    uint32_t n_found = 0;
    assert_int_equal(type->grant != NULL, type->grant_name != NULL);
    snprintf(path, sizeof path, "os.%s", type->grant_name ? type->grant_name : "");
    for (const tl_key *key = type->keys; type->grant_name && key && key->path; key++) {
        if (strcmp(key->path, path) != 0)
            continue;
        n_found++;
        assert_true(can_be_granted(key));
        check_sentence(key->path, key->meaning);
    }
    assert_int_equal(n_found, type->grant_name != NULL);
}

// A unit that this machine does not have: its events are not modeled there, and selectors say so. A
// signal that a unit does not have is a mistake.
static bool lacks_a_unit(const tl_probe *probe, const char *sources) {
    for (const char *at = sources; at; at = strstr(at, " + ") ? strstr(at, " + ") + 3 : NULL) {
        bool is_there = false;
        for (uint32_t u = 0; u < probe->n_units; u++)
            is_there |= strncmp(at, probe->units[u].type->name, strcspn(at, ".")) == 0;
        if (!is_there)
            return true;
    }
    return false;
}

static void check_events(const tl_pmu_type *type, const tl_pmu_preset *preset) {
    (void)type;
    for (uint32_t i = 0; i < preset->n_events; i++) {
        const tl_event *event = &preset->events[i];
        assert_true(event->name && event->cite);
        assert_int_equal(event->sources == NULL, event->fidelity == TL_NOT_MODELED);
        if (event->fidelity != TL_EXACT || event->note)
            check_sentence(event->name, event->note);
        for (uint32_t k = 0; k < i; k++) {
            assert_int_not_equal(preset->events[k].selector, event->selector);
            assert_string_not_equal(preset->events[k].name, event->name);
        }
        tl_sources sources;
        tl_error err = {0};
        if (event->sources && tl_sources_resolve(event->sources, &rig.probe, 1, &rig.arena, &sources, &err) == TL_EINVAL)
            fail_msg("%s: %s", event->name, err.text);
    }
}

static void test_registers_obey_the_kinds_of_their_fields(void **state) { (void)state, for_each(check_registers); }
static void test_addresses_are_unique_and_others_do_not_answer(void **state) { (void)state, for_each(check_addresses); }
static void test_every_row_is_said_in_a_sentence_with_its_source(void **state) { (void)state, for_each(check_words); }
static void test_what_can_be_granted_has_a_key(void **state) { (void)state, for_each(check_grant); }
static void test_events_are_unique_and_honest(void **state) { (void)state, for_each(check_events); }

// An event without its signal on a machine that exists would be a silent zero there.
static void test_events_resolve_on_every_machine(void **state) {
    (void)state;
    for (uint32_t i = 0; i < tl_description_n_builtins(); i++) {
        tl_config config;
        tl_machine *machine;
        tl_error err = {0};
        assert_int_equal(tl_description_open(tl_description_builtin(i).name, &config, &err), TL_OK);
        config.ram_bytes = 16 << 20;
        const tl_engine_type *engine =
            config.core.kind == TL_CORE_IN_ORDER ? tl_session_engine(TL_ENGINE_STEP, config.isa) : &tl_engine_ooo;
        assert_int_equal(tl_machine_new(&config, engine, &machine, &err), TL_OK);
        tl_arena arena = {0};
        for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++)
            for (const tl_pmu_preset *const *preset = (*type)->presets; *preset; preset++)
                for (uint32_t e = 0; e < (*preset)->n_events; e++)
                    for (uint32_t hart = 0; hart < machine->n_harts && (*preset)->events[e].sources; hart++) {
                        const char *text = (*preset)->events[e].sources;
                        tl_sources sources;
                        if (*text == '\0') // the design counts it by itself
                            continue;
                        if (lacks_a_unit(&machine->probe, text) && *type != tl_rvhpm_on(machine, hart)->type)
                            continue; // whoever puts the design into the machine brings the unit
                        if (tl_sources_resolve(text, &machine->probe, hart, &arena, &sources, &err) != TL_OK)
                            fail_msg("%s on %s: %s", (*preset)->events[e].name, config.name, err.text);
                        assert_true(sources.n_cells > 0 && sources.max_step > 0);
                    }
        tl_arena_done(&arena);
        tl_machine_free(machine);
    }
}

// ---- hostile software ----

// Any access, at any place, of any size; what is refused changes nothing, and what is not refused
// answers.
static void check_hostile_window(const tl_pmu_type *type) {
    uint64_t seed = 54321, value;
    for (uint32_t step = 0; step < 60000; step++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t offset = (seed >> 20) % (type->window_bytes + 64), given = seed >> (seed >> 8 & 63);
        uint32_t size = 1u << (seed >> 60 & 3);
        if (seed >> 55 & 3)
            offset &= ~UINT64_C(7);
        bool is_known = size >= 4 && offset % size == 0 && offset + size <= type->window_bytes, is_done = is_known;
        switch (seed >> 57 & 7) {
        case 0: rig_advance(&rig, (uint32_t)(seed >> 30) % RIG_CELLS, given); break;
        case 1:
        case 2:
        case 3: is_done = tl_pmu_store(rig.pmu, offset, size, given); break;
        default: is_done = tl_pmu_load(rig.pmu, offset, size, &value); break;
        }
        // A design with rules of its own may refuse more.
        assert_true(is_done == is_known || (!is_done && type->permits_window));
    }
}

static void check_hostile(const tl_pmu_type *type, const tl_pmu_preset *preset) {
    static const tl_priv modes[] = {TL_PRIV_U, TL_PRIV_S, TL_PRIV_M};
    (void)preset;
    uint64_t seed = 12345;
    if (type->window_bytes != 0)
        check_hostile_window(type);
    for (uint32_t step = 0; step < 60000; step++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        const tl_reg *reg = &type->regmap->regs[(seed >> 25) % type->regmap->n_regs];
        uint32_t index = (uint32_t)(seed >> 40) % tl_reg_count(reg), csr = (uint32_t)(seed >> 20) & 0xfff;
        if (seed >> 60 & 3)
            csr = reg->addr + index * (reg->stride > 0 ? reg->stride : 1);
        uint64_t value = seed >> (seed >> 8 & 63);
        switch (seed >> 50 & 15) {
        case 0:
        case 1:
        case 2: (void)rig_read(&rig, csr, &value); break;
        case 3: rig_set_mode(&rig, modes[value % 3]); break;
        case 4: rig_poll(&rig); break;
        case 5: (void)rig_deadline(&rig); break;
        case 6:
        case 7: rig_advance(&rig, (uint32_t)(seed >> 30) % RIG_CELLS, value); break;
        default:
            // Two writes before one retires: a front-end's mistake, but no crash.
            if (rig_begin_write(&rig, csr, value) && seed >> 57 & 3)
                rig_retire(&rig);
            break;
        }
    }
}

static void test_no_sequence_of_accesses_does_harm(void **state) { (void)state, for_each(check_hostile); }

// ---- lists that must agree ----

static void read_tree_file(const char *name, tl_strbuf *ret_text) {
    const char *top = getenv("TALLY_SOURCE_ROOT");
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", top ? top : ".", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;)
        tl_strbuf_addf(ret_text, "%c", c);
    fclose(file);
}

static void test_u74_events_are_those_of_the_map(void **state) {
    (void)state;
    const tl_pmu_preset *preset = tl_pmu_find_preset(tl_pmu_find("rvhpm"), "u74");
    tl_strbuf text = {0};
    read_tree_file("metrics/u74.map", &text);
    char *owned = tl_strbuf_take(&text), *rest = owned;
    uint32_t n = 0;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *cells[5] = {"", "", "", "", ""};
        unsigned class, bit;
        if (*line == '#' || *line == '\0')
            continue;
        for (uint32_t i = 0; i < 5 && line; i++) {
            cells[i] = strsep(&line, "|");
            cells[i] += strspn(cells[i], " ");
            for (size_t length = strlen(cells[i]); length > 0 && cells[i][length - 1] == ' '; length--)
                cells[i][length - 1] = '\0';
        }
        assert_int_equal(sscanf(cells[0], "%u.%u", &class, &bit), 2);
        assert_true(n < preset->n_events);
        const tl_event *event = &preset->events[n++];
        assert_int_equal(event->selector, UINT64_C(1) << bit | class);
        assert_string_equal(event->name, cells[1]);
        assert_string_equal(event->sources, cells[2]);
        assert_string_equal(tl_fidelity_name(event->fidelity), cells[3]);
        assert_string_equal(event->note ? event->note : "", cells[4]);
    }
    assert_int_equal(n, preset->n_events);
    free(owned);
}

// A signal that is added gets a selector of its own. Its number is the next free one of the unit.
static void test_every_signal_of_a_hart_has_a_raw_selector(void **state) {
    (void)state;
    const tl_pmu_preset *preset = tl_pmu_find_preset(tl_pmu_find("rvhpm"), "linux");
    for (uint32_t u = 0; u < TL_N_HART_UNITS; u++) {
        const tl_unit_type *unit = &tl_hart_units[u].type;
        if (u == TL_HART_UNIT_OS)
            continue; // the Linux personality's: nothing of it is hardware
        for (uint32_t s = 0; s < unit->n_signals; s++) {
            char name[64];
            uint32_t n = 0;
            snprintf(name, sizeof name, "%s.%s", unit->name, unit->signals[s].name);
            for (uint32_t i = 0; i < preset->n_events; i++)
                if (strcmp(preset->events[i].name, name) == 0) {
                    assert_int_equal(preset->events[i].selector >> 8, 0x1000 | u);
                    assert_string_equal(preset->events[i].sources, name);
                    n += 1;
                }
            if (n != 1)
                fail_msg("%s has %u raw selectors in src/pmu/rvhpm/events.c, not one", name, n);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_registers_obey_the_kinds_of_their_fields),
    cmocka_unit_test(test_addresses_are_unique_and_others_do_not_answer),
    cmocka_unit_test(test_every_row_is_said_in_a_sentence_with_its_source),
    cmocka_unit_test(test_what_can_be_granted_has_a_key),
    cmocka_unit_test(test_events_are_unique_and_honest),
    cmocka_unit_test(test_events_resolve_on_every_machine),
    cmocka_unit_test(test_no_sequence_of_accesses_does_harm),
    cmocka_unit_test(test_u74_events_are_those_of_the_map),
    cmocka_unit_test(test_every_signal_of_a_hart_has_a_raw_selector),
};
TL_TEST_MAIN(tests)
