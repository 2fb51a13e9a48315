// SPDX-License-Identifier: MIT
#include "session/machine_names.h"
#include "session/run.h"

#include "base/testing.h"
#include "model/engine.h"
#include "session/description.h"

// A machine that is not built has the same units and cells as the built one, in the same places.
static void test_slots_are_those_of_the_built_machine(void **state) {
    (void)state;
    for (uint32_t i = 0; i < tl_description_n_builtins(); i++) {
        tl_config config;
        tl_machine *machine = NULL;
        tl_catalogue *planned = NULL, *built = NULL;
        assert_int_equal(tl_description_open(tl_description_builtin(i).name, &config, NULL), TL_OK);
        const tl_engine_type *engine =
            config.core.kind == TL_CORE_IN_ORDER ? tl_session_engine(TL_ENGINE_STEP, config.isa) : &tl_engine_ooo;
        assert_int_equal(tl_machine_new(&config, engine, &machine, NULL), TL_OK);
        assert_int_equal(tl_machine_names_new(&config, &planned, NULL), TL_OK);
        assert_int_equal(tl_machine_names_new_of(machine, &built, NULL), TL_OK);
        assert_int_equal(tl_catalogue_n_cells(planned), machine->probe.n_cells);
        assert_int_equal(tl_catalogue_n_cells(built), machine->probe.n_cells);
        assert_int_equal(tl_catalogue_n_units(planned), machine->probe.n_units);
        for (tl_cell cell = 0; cell < machine->probe.n_cells; cell++) {
            tl_catalogue_signal a = tl_catalogue_signal_at(planned, cell), b = tl_catalogue_signal_at(built, cell);
            tl_cell resolved;
            assert_string_equal(a.path, b.path);
            assert_string_equal(a.event, b.event);
            assert_int_equal(a.hart, b.hart);
            assert_int_equal(tl_probe_resolve(&machine->probe, a.path, &resolved), TL_OK);
            assert_int_equal(resolved, cell);
        }
        tl_catalogue_free(planned);
        tl_catalogue_free(built);
        tl_machine_free(machine);
    }
}

static void test_impossible_machines_have_no_catalogue(void **state) {
    (void)state;
    tl_config config;
    tl_catalogue *catalogue = NULL;
    tl_config_default(&config);
    config.n_harts = 0;
    assert_int_equal(tl_machine_names_new(&config, &catalogue, NULL), TL_EINVAL);
    assert_null(catalogue);
    tl_catalogue_free(NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_slots_are_those_of_the_built_machine),
    cmocka_unit_test(test_impossible_machines_have_no_catalogue),
};
TL_TEST_MAIN(tests)
