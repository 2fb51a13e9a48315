// SPDX-License-Identifier: MIT
// The distributed counters in a comparison.
#include "readers/dhpc/compare.h"

#include "readers/dhpc/fabric_reader.h"
#include "readers/dhpc/on.h"
#include "readers/dhpc/sweep.h"

enum { INSTRET_BIT = 1 };

static tl_status complete(tl_compare_setup *s, tl_error *err) {
    switch (tl_dhpc_settings_of(&s->config).mode) {
    case TL_DHPC_KEY_NONE: return tl_compare_add_setting(s, "hpc=timed", err);
    case TL_DHPC_KEY_FUNCTIONAL:
        return tl_fail(err, TL_EINVAL, "the comparison wants distributed counters that take their time; leave out hpc=functional");
    default: return TL_OK;
    }
}

static tl_status permit(tl_compare_setup *s, tl_error *err) {
    return tl_dhpc_settings_of(&s->config).grant == TL_GRANTED ? TL_OK : tl_compare_add_setting(s, "os.hpc=granted", err);
}

// Readers run in user mode, therefore user mode must find the requested counters.
static tl_status check(const tl_compare_setup *s, tl_error *err) {
    static const char *const names[] = {[TL_DHPC_CORE] = "cores", [TL_DHPC_LLC] = "slices"};
    const tl_dhpc_settings settings = tl_dhpc_settings_of(&s->config);
    uint32_t asked = 1u << TL_DHPC_CORE | (s->with_sweeps ? 1u << TL_DHPC_LLC : 0), found = settings.user_classes;
    for (uint32_t i = 0; i < s->n_events; i++) {
        uint64_t selector;
        if (tl_dhpc_selector_of(s->events[i], &selector))
            asked |= 1u << tl_dhpc_class_of((uint32_t)(selector >> 6));
    }
    for (uint32_t class = TL_DHPC_CORE; class <= TL_DHPC_LLC; class ++)
        if (asked & ~found & 1u << class)
            return tl_fail(err, TL_EINVAL,
                           "dhpc.user_classes = %u hides the %s from user mode, where they are read; set it to %u, or leave out dhpc",
                           found, names[class], found | asked);
    if (!(settings.core_events >> INSTRET_BIT & 1))
        return tl_fail(
            err, TL_EINVAL,
            "dhpc.core_events = %llu leaves out counter %d, instret, by which it is tried who can read; build it, or leave out dhpc",
            (unsigned long long)settings.core_events, INSTRET_BIT);
    return TL_OK;
}

static bool counts(const tl_watchable *event) {
    uint64_t selector;
    return tl_dhpc_selector_of(event, &selector);
}

// Manager by manager, as many counters of each as there are.
static uint32_t write_access(tl_assembler *a, const tl_testbench *s, uint32_t method, uint32_t n) {
    const tl_dhpc_config *config = tl_dhpc_config_of(tl_dhpc_on(s->machine));
    uint32_t n_managers, n_read = 0, at_once = tl_hpc_values_at_once(config);
    const tl_dhpc_manager *managers = tl_dhpc_managers(tl_dhpc_on(s->machine), &n_managers);
    for (uint32_t m = 0; m < n_managers && n_read < n; m++) {
        uint64_t left = managers[m].implemented;
        while (left != 0 && n_read < n) {
            uint64_t bitmap = 0;
            uint32_t k = 0;
            for (; k < at_once && left != 0 && n_read + k < n; k++, left &= left - 1)
                bitmap |= left & -left;
            if (n_read > 0)
                tl_access_store(a, at_once);
            tl_hpc_write_read(a, config, (tl_hpc_method)method, managers[m].id, bitmap);
            n_read += k;
        }
    }
    return n_read;
}

const tl_compare_design_type tl_compare_dhpc = {
    .name = "dhpc",
    .title = "Counters in every unit, behind three registers",
    .meaning = "Counters in every unit of the chip, which answer a request that a process makes by three control registers.",
    .pmu = &tl_pmu_dhpc,
    .complete = complete,
    .permit = permit,
    .check = check,
    .counts = counts,
    .watch = &tl_dhpc_watch,
    .n_grant_calls = 1,
    .write_grant = tl_dhpc_write_grant,
    .trials = tl_dhpc_trials,
    .n_trials = TL_DHPC_TRIALS,
    .permit_trial = tl_dhpc_permit_trial,
    .write_trial = tl_dhpc_write_trial,
    .is_value = tl_dhpc_is_value,
    .methods = tl_hpc_method_names,
    .write_access = write_access,
    .sets_reach = true,
    .sweep_name = "sweep over fabrics",
    .sweep = tl_dhpc_sweep_fabrics,
    .slow_keys = "dhpc.*",
    .too_slow = tl_hpc_too_slow,
};
