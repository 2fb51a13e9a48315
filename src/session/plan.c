// SPDX-License-Identifier: MIT
// Resolves the options of a run once.
#include "session/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/text.h"
#include "board/system.h"
#include "linux/os.h"
#include "session/description.h"
#include "session/machine_names.h"
#include "session/pmus.h"
#include "session/portable.h"
#include "session/program.h"

// The one-screen view: these aliases in this order, each with the metric that makes it readable.
// The rate of a miss counts its own kind only.
static const struct {
    const char *alias, *metric;
} screen[] = {
    {"cycles", NULL},           {"instructions", "ipc"},
    {"branches", NULL},         {"branch-misses", "branch_miss_rate"},
    {"L1-icache-loads", NULL},  {"L1-icache-load-misses", "l1i_mpki"},
    {"L1-dcache-loads", NULL},  {"L1-dcache-load-misses", "l1d_load_miss_rate"},
    {"L1-dcache-stores", NULL}, {"L1-dcache-store-misses", "l1d_store_miss_rate"},
    {"cache-references", NULL}, {"cache-misses", "l2_miss_rate"},
    {"iTLB-load-misses", NULL}, {"dTLB-load-misses", "dtlb_load_miss_rate"},
    {"page-faults", NULL},      {"context-switches", NULL},
    {"syscalls", NULL},
};
// Printed at detail 0; the other groups follow.
static const char default_groups[] = "ipc,topdown,cycle_shares";
// Printed for a machine that has them.
static const char detailed_groups[] = "topdown2,slots,stalls,wrong_path,replay,parallelism";

static void *list_alloc(tl_arena *arena, size_t n, size_t size) { return tl_arena_alloc(arena, n ? n * size : 1); }

static const char *const *copy_list(tl_arena *arena, const char *const *list) {
    size_t n = 0;
    while (list && list[n])
        n++;
    const char **copy = list_alloc(arena, n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = tl_arena_strdup(arena, list[i]);
        if (!copy[i])
            return NULL;
    }
    return copy;
}

static const char *const caches[] = {"l1i", "l1d", "l2"};

// The caches for which overrides state a size of lines, as bits by index of `caches`.
typedef struct stated_lines {
    unsigned caches;
    size_t last;         // of a whole geometry, the only kind that changes the lines of others
    const char *setting; // that one; NULL: there is none
} stated_lines;

static tl_status set_geometry(tl_config *config, size_t cache, const char *setting, stated_lines *stated, tl_error *err) {
    const char *geometry = strchr(setting, '=') + 1, *comma = strchr(geometry, ',');
    uint32_t before = config->l1d.line_bytes;
    tl_status status = tl_config_set_cache(config, caches[cache], geometry, err);
    if (status != TL_OK || !comma || !strchr(comma + 1, ','))
        return status;
    if (stated->setting && stated->last != cache && config->l1d.line_bytes != before)
        return tl_fail(err, TL_EINVAL, "%s and %s: the lines differ, but all caches of a machine have lines of one size", stated->setting,
                       setting);
    stated->setting = setting;
    stated->last = cache;
    stated->caches |= 1u << cache;
    return TL_OK;
}

static bool is_key_of(const char *setting, const char *cache, const char *rest) {
    size_t n = strlen(cache);
    return !strncmp(setting, cache, n) && !strncmp(setting + n, rest, strlen(rest));
}

static tl_status apply_overrides(const char *const *overrides, tl_config *config, stated_lines *stated, tl_error *err) {
    tl_status status = TL_OK;
    for (; status == TL_OK && overrides && *overrides; overrides++) {
        size_t cache = 0;
        while (cache < TL_COUNT_OF(caches) && !is_key_of(*overrides, caches[cache], "="))
            cache++;
        for (size_t i = 0; i < TL_COUNT_OF(caches); i++)
            stated->caches |= is_key_of(*overrides, caches[i], ".line=") ? 1u << i : 0u;
        status =
            cache < TL_COUNT_OF(caches) ? set_geometry(config, cache, *overrides, stated, err) : tl_config_set(config, *overrides, err);
    }
    return status;
}

const char *tl_plan_lines_remark(const tl_run_options *options, tl_arena *arena) {
    tl_config before, after;
    stated_lines stated = {0};
    char names[32] = "";
    size_t n = 0;
    if (tl_description_open(options->machine ? options->machine : "rocket", &before, NULL) != TL_OK)
        return NULL;
    after = before;
    if (apply_overrides(options->overrides, &after, &stated, NULL) != TL_OK || !stated.setting ||
        before.l1d.line_bytes == after.l1d.line_bytes)
        return NULL;
    for (size_t i = 0; i < TL_COUNT_OF(caches); i++) {
        if (!(stated.caches & 1u << i))
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? " and " : "", caches[i]);
    }
    if (n == 0)
        return NULL;
    return tl_arena_printf(arena, "%s: %s now %s lines of %u bytes, too, because all caches of a machine have lines of one size",
                           stated.setting, names, strchr(names, ' ') ? "have" : "has", after.l1d.line_bytes);
}

tl_status tl_plan_config(const char *machine, const char *const *overrides, tl_config *ret_config, tl_error *err) {
    tl_config config;
    stated_lines stated = {0};
    tl_status status = tl_description_open(machine ? machine : "rocket", &config, err);
    if (status == TL_OK)
        status = apply_overrides(overrides, &config, &stated, err);
    if (status == TL_OK)
        status = tl_keys_check(&config, err);
    if (status == TL_OK)
        *ret_config = config;
    return status;
}

tl_status tl_plan_settings(const tl_config *config, const tl_key_list *list, tl_arena *arena, const tl_setting **ret_settings,
                           tl_error *err) {
    tl_setting *settings = list_alloc(arena, list->n, sizeof *settings);
    for (uint32_t i = 0; settings && i < list->n; i++) {
        tl_strbuf text = {0};
        tl_key_format(list->keys[i], config, &text);
        settings[i] = (tl_setting){list->keys[i]->path, text.has_failed ? NULL : tl_arena_strdup(arena, tl_strbuf_text(&text))};
        tl_strbuf_done(&text);
        if (!settings[i].value)
            settings = NULL;
    }
    if (!settings)
        return tl_no_memory(err);
    *ret_settings = settings;
    return TL_OK;
}

// The first preset is what the design comes with, so the key that chooses it is as it comes.
static bool is_as_it_comes(const tl_key *key, const tl_pmu_type *type, const tl_pmu_preset *preset, const tl_config *config) {
    uint64_t value = tl_key_number(key, config);
    return value == tl_key_read(key, type->default_settings) || strncmp(key->path, "os.", 3) == 0 ||
           (preset == type->presets[0] && key->kind == TL_KEY_CHOICE && strcmp(key->choices[value], preset->name) == 0);
}

static const tl_pmu_type *remarkable_pmu(void) {
    const tl_pmu_type *const *type = tl_pmu_types;
    while (*type && !(*type)->settings_title)
        type++;
    return *type;
}

tl_status tl_plan_pmu_settings(const tl_config *config, tl_arena *arena, const char **ret_text, tl_error *err) {
    const tl_pmu_type *type = remarkable_pmu();
    const tl_pmu_preset *preset = type ? tl_pmu_chosen(type, config) : NULL;
    tl_strbuf text = {0};
    *ret_text = NULL;
    for (const tl_key *key = preset ? type->keys : NULL; key && key->path; key++) {
        if (is_as_it_comes(key, type, preset, config))
            continue;
        tl_strbuf_add(&text, *tl_strbuf_text(&text) ? ", " : "");
        tl_strbuf_add(&text, key->path);
        tl_strbuf_add(&text, " = ");
        tl_key_format(key, config, &text);
    }
    bool is_usual = *tl_strbuf_text(&text) == '\0', has_failed = text.has_failed;
    if (!is_usual && !has_failed)
        *ret_text = tl_arena_strdup(arena, tl_strbuf_text(&text));
    tl_strbuf_done(&text);
    return !has_failed && (is_usual || *ret_text) ? TL_OK : tl_no_memory(err);
}

// Settings that overrides and the requested PMU changed in the machine file.
static tl_status list_changed(tl_plan *plan, const tl_key_list *keys, const char *machine, tl_error *err) {
    tl_header *header = &plan->outline->header;
    const tl_setting *before;
    tl_config config;
    tl_status status = tl_description_open(machine ? machine : "rocket", &config, err);
    if (status == TL_OK)
        status = tl_plan_settings(&config, keys, &plan->outline->arena, &before, err);
    if (status != TL_OK)
        return status;
    tl_setting *changed = list_alloc(&plan->outline->arena, header->n_settings, sizeof *changed);
    if (!changed)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < header->n_settings; i++) {
        if (strcmp(before[i].value, header->settings[i].value) != 0)
            changed[header->n_changed++] = header->settings[i];
    }
    header->changed = changed;
    return TL_OK;
}

uint32_t tl_plan_images(const tl_run_options *options, tl_isa_number isa, tl_image_path ret_images[TL_MAX_IMAGE_PATHS]) {
    bool boots = options->kind == TL_RUN_BOOT;
    const tl_image_path all[] = {{"program", boots ? NULL : options->program},
                                 {"kernel", boots ? options->kernel : NULL},
                                 {"bios", !boots          ? NULL
                                          : options->bios ? options->bios
                                                          : tl_system_packaged_bios(isa)},
                                 {"initrd", boots ? options->initrd : NULL},
                                 {"disk", options->kind == TL_RUN_USER ? NULL : options->disk}};
    uint32_t n = 0;
    for (size_t i = 0; i < TL_COUNT_OF(all) && n < TL_MAX_IMAGE_PATHS; i++) {
        if (all[i].path)
            ret_images[n++] = all[i];
    }
    return n;
}

static tl_status fill_images(tl_plan *plan, const tl_run_options *options, tl_error *err) {
    tl_header *header = &plan->outline->header;
    tl_image_path paths[TL_MAX_IMAGE_PATHS];
    uint32_t n = tl_plan_images(options, plan->config.isa, paths);
    header->images = list_alloc(&plan->outline->arena, n, sizeof *header->images);
    for (uint32_t i = 0; header->images && i < n; i++) {
        header->images[i] = (tl_image){.role = paths[i].role, .name = tl_arena_strdup(&plan->outline->arena, tl_base_name(paths[i].path))};
        if (!header->images[i].name)
            return tl_no_memory(err);
        header->n_images++;
    }
    header->append = options->append ? tl_arena_strdup(&plan->outline->arena, options->append) : NULL;
    return header->images && (header->append || !options->append) ? TL_OK : tl_no_memory(err);
}

static tl_status fill_header(tl_plan *plan, const tl_run_options *options, tl_error *err) {
    static const char *const intervals[] = {"none", "instructions", "cycles", "ns"}, *const kinds[] = {"user", "bare", "boot"};
    tl_header *header = &plan->outline->header;
    tl_arena *arena = &plan->outline->arena;
    tl_key_list list;
    tl_key_list_of(&plan->config, &list);
    tl_image_path images[TL_MAX_IMAGE_PATHS] = {{0}};
    tl_plan_images(options, plan->config.isa, images);
    const char *program = tl_base_name(images[0].path); // it comes first
    bool has_folder = options->kind == TL_RUN_USER && program != images[0].path;
    const char *const only_program[] = {has_folder ? tl_arena_printf(arena, "./%s", program) : program, NULL};
    *header = (tl_header){
        .version = TL_VERSION,
        .machine = tl_arena_strdup(arena, plan->config.name),
        .summary = tl_arena_strdup(arena, plan->config.summary),
        .kind = kinds[options->kind],
        .program = tl_arena_strdup(arena, program),
        .argv = copy_list(arena, options->kind == TL_RUN_USER && options->argv ? options->argv : only_program),
        .env = copy_list(arena, options->env),
        .interval = intervals[options->interval],
        .interval_length = options->interval_length,
        .roi_start = options->roi_start ? tl_arena_strdup(arena, options->roi_start) : NULL,
        .roi_stop = options->roi_stop ? tl_arena_strdup(arena, options->roi_stop) : NULL,
        .max_insns = options->max_insns,
        .seed = plan->config.seed,
        .clock_hz = plan->config.clock_hz,
        .n_harts = plan->config.n_harts,
        .pmu_settings_title = remarkable_pmu() ? remarkable_pmu()->settings_title : NULL,
        .n_settings = list.n,
    };
    if (!header->machine || !header->summary || !header->program || !header->argv || !header->env)
        return tl_no_memory(err);
    tl_status status = fill_images(plan, options, err);
    if (status != TL_OK)
        return status;
    status = tl_plan_settings(&plan->config, &list, arena, &header->settings, err);
    if (status == TL_OK)
        status = list_changed(plan, &list, options->machine, err);
    if (status == TL_OK)
        status = tl_plan_pmu_settings(&plan->config, arena, &header->pmu_settings, err);
    if (status != TL_OK)
        return status;
    const char **scopes = list_alloc(arena, plan->config.n_harts, sizeof *scopes);
    for (uint32_t i = 0; scopes && i < plan->config.n_harts; i++)
        scopes[i] = tl_arena_printf(arena, "hart%u", i);
    plan->outline->hart_scopes = scopes;
    return scopes ? TL_OK : tl_no_memory(err);
}

static bool is_listed(const tl_quantities *list, const char *name) {
    for (uint32_t i = 0; i < list->n_items; i++) {
        if (!strcmp(list->items[i].name, name))
            return true;
    }
    return false;
}

// All aliases, those of the screen first, then every signal summed over its instances.
static tl_status default_events(tl_catalogue *catalogue, tl_quantities *list, tl_error *err) {
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < TL_COUNT_OF(screen); i++) {
        for (uint32_t k = 0; status == TL_OK && k < tl_catalogue_n_aliases(catalogue); k++) {
            if (!strcmp(tl_catalogue_alias_at(catalogue, k)->name, screen[i].alias))
                status = tl_catalogue_events(catalogue, screen[i].alias, list, err);
        }
    }
    for (uint32_t k = 0; status == TL_OK && k < tl_catalogue_n_aliases(catalogue); k++)
        status = tl_catalogue_events(catalogue, tl_catalogue_alias_at(catalogue, k)->name, list, err);
    uint32_t n_cells = tl_catalogue_n_cells(catalogue);
    for (tl_cell cell = 0; status == TL_OK && cell < n_cells; cell++) {
        tl_catalogue_signal signal = tl_catalogue_signal_at(catalogue, cell);
        bool is_first = signal.hart <= 0; // those of other harts have been listed
        if (is_first && !is_listed(list, signal.event))
            status = tl_catalogue_events(catalogue, signal.event, list, err);
    }
    return status;
}

static tl_status default_metrics(tl_outline *outline, tl_error *err) {
    tl_catalogue *catalogue = outline->catalogue;
    tl_status status = tl_catalogue_metrics(catalogue, default_groups, &outline->metrics, err);
    if (status == TL_OK && tl_catalogue_group(catalogue, "slots"))
        status = tl_catalogue_metrics(catalogue, detailed_groups, &outline->metrics, err);
    outline->n_default_metrics = outline->metrics.n_items;
    for (uint32_t i = 0; status == TL_OK && i < tl_catalogue_n_groups(catalogue); i++)
        status = tl_catalogue_metrics(catalogue, tl_catalogue_group_at(catalogue, i)->name, &outline->metrics, err);
    return status;
}

// The unit type whose signal this event names, or "".
static const char *group_of(const tl_catalogue *catalogue, const tl_quantity *quantity) {
    const tl_cell *cells;
    const char *dot = strrchr(quantity->name, '.');
    if (dot && tl_formula_cells(quantity->formula, &cells) > 0)
        return tl_catalogue_signal_at(catalogue, cells[0]).type->name;
    return "";
}

static tl_status resolve_source(tl_plan *plan, const tl_run_options *options, tl_error *err) {
    tl_outline *outline = plan->outline;
    tl_status status = plan->sides.n > 0 ? tl_sides_resolve(&plan->sides, options, &plan->config, outline->catalogue, &outline->arena,
                                                            &plan->source_type, &plan->source, err)
                                         : tl_portable_resolve(plan->source_type, options, &plan->config, outline->catalogue,
                                                               &outline->arena, &plan->source_type, &plan->source, err);
    if (status != TL_OK)
        return status;
    if (options->sample_period != 0) // the profile has its samples, and counts are the truth
        return TL_OK;
    outline->counted = plan->source->counted;
    outline->n_counted = plan->source->n_counted;
    outline->unread = plan->source->unread;
    outline->n_unread = plan->source->n_unread;
    outline->header.pmu = plan->source->name;
    outline->header.is_read_at_end = plan->source_type->read_at_end != NULL;
    return TL_OK;
}

static tl_status resolve(tl_plan *plan, const tl_run_options *options, tl_error *err) {
    if (plan->source_type)
        return resolve_source(plan, options, err);
    tl_outline *outline = plan->outline;
    bool is_default = !options->events && !options->metrics;
    tl_quantities events = {0};
    tl_status status = TL_OK;
    if (is_default)
        status = default_events(outline->catalogue, &events, err);
    else if (options->events)
        status = tl_catalogue_events(outline->catalogue, options->events, &events, err);
    if (status == TL_OK && is_default)
        status = default_metrics(outline, err);
    if (status == TL_OK && options->metrics) {
        status = tl_catalogue_metrics(outline->catalogue, options->metrics, &outline->metrics, err);
        outline->n_default_metrics = outline->metrics.n_items;
    }
    if (status == TL_OK) {
        outline->events = list_alloc(&outline->arena, events.n_items, sizeof *outline->events);
        status = outline->events ? TL_OK : tl_no_memory(err);
    }
    for (uint32_t i = 0; status == TL_OK && i < events.n_items; i++) {
        tl_outline_event *event = &outline->events[i];
        *event = (tl_outline_event){.quantity = events.items[i], .group = group_of(outline->catalogue, &events.items[i])};
        event->detail = is_default ? (*event->group ? 1 : 2) : 0;
        for (size_t k = 0; k < TL_COUNT_OF(screen); k++) {
            if (!strcmp(event->quantity.name, screen[k].alias)) {
                event->metric = screen[k].metric;
                event->detail = 0;
            }
        }
        outline->n_events++;
    }
    tl_quantities_done(&events);
    return status;
}

static tl_status no_source(const tl_pmu_type *type, tl_error *err) {
    char text[200] = "";
    size_t used = 0;
    for (const tl_source_type *const *source = tl_source_types; *source && used < sizeof text; source++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s-P %s", used ? " and " : "", (*source)->pmu->name);
    return tl_fail(err, TL_EINVAL, "nothing reads pmu %s for a report; %s can be read", type->name, text);
}

static const char *const isa_titles[TL_N_ISAS] = {[TL_ISA_RISCV64] = "RISC-V", [TL_ISA_AARCH64] = "AArch64"};

// Gives the machine a PMU.
static tl_status choose_source(tl_plan *plan, const char *name, const tl_run_options *options, tl_error *err) {
    const tl_pmu_type *type;
    const tl_pmu_preset *preset;
    tl_status status = tl_pmus_find(name, &type, &preset, err);
    if (status != TL_OK)
        return status;
    const tl_isa_number isa = plan->config.isa, readers_isa = type->isas == 1 << TL_ISA_AARCH64 ? TL_ISA_AARCH64 : TL_ISA_RISCV64;
    if (isa != readers_isa)
        return tl_fail(err, TL_EINVAL, "software that reads pmu %s is written for %s, and machine %s executes %s; leave the pmu away",
                       type->name, isa_titles[readers_isa], plan->config.name, isa_titles[isa]);
    plan->source_type = tl_source_find(type);
    if (plan->source_type && plan->source_type->choose && plan->source_type->choose(preset))
        plan->source_type = plan->source_type->choose(preset);
    return plan->source_type ? plan->source_type->configure(options, preset, &plan->config, err) : no_source(type, err);
}

// "NAME", or "NAME,NAME" for several side by side.
static tl_status choose_sources(tl_plan *plan, const tl_run_options *options, tl_error *err) {
    if (!strchr(options->pmu, ','))
        return choose_source(plan, options->pmu, options, err);
    char *list = tl_arena_strdup(&plan->outline->arena, options->pmu), *rest = NULL;
    tl_status status = list ? TL_OK : tl_no_memory(err);
    for (char *name = list ? strtok_r(list, ",", &rest) : NULL; name && status == TL_OK; name = strtok_r(NULL, ",", &rest)) {
        status = choose_source(plan, name, options, err);
        if (status == TL_OK)
            status = tl_sides_add(&plan->sides, plan->source_type, options, err);
    }
    if (status == TL_OK && plan->sides.n == 0)
        return tl_fail(err, TL_EINVAL, "-P: an empty list of pmus");
    return status;
}

// Checks that the options are possible.
static tl_status check_request(const tl_run_options *options, tl_error *err) {
    if (options->kind > TL_RUN_BOOT)
        return tl_fail(err, TL_EINVAL, "there is no such kind of run");
    if (options->kind != TL_RUN_BOOT && (!options->program || !*options->program))
        return tl_fail(err, TL_EINVAL, "no program was named");
    bool has_kernel = options->kernel && *options->kernel, has_bios = options->bios && *options->bios;
    if (options->kind == TL_RUN_BOOT && !has_kernel && (options->kernel || !has_bios))
        return tl_fail(err, TL_EINVAL, "neither a kernel nor a firmware was named");
    if (options->kind == TL_RUN_BOOT && !has_kernel && (options->initrd || options->append))
        return tl_fail(err, TL_EINVAL, "an initial RAM disk and a command line are for a kernel, and none was named");
    if (options->pmu && options->kind != TL_RUN_USER)
        return tl_fail(
            err, TL_EINVAL,
            options->sample_period != 0
                ? "-P samples Linux programs only: the pmu of a system belongs to the guest's own software; leave -P out, and use "
                  "perf in the guest"
                : "a pmu can be read for a Linux program only; in a system it belongs to the guest");
    if (options->sample_period != 0 && !options->pmu)
        return tl_fail(err, TL_EINVAL, "a period is of the counters of a pmu, and none is named");
    if (options->pmu && options->metrics)
        return tl_fail(err, TL_EINVAL, "metrics are formulas over the truth; they do not go with a pmu");
    if (options->interval > TL_INTERVAL_NS || (options->interval != TL_INTERVAL_NONE && options->interval_length == 0))
        return tl_fail(err, TL_EINVAL, "the length of an interval must be at least 1");
    return TL_OK;
}

// Programs choose the machine when the user does not.
static const char *default_machine(const tl_run_options *options) {
    const char *name = options->kind == TL_RUN_USER ? tl_os_default_machine(tl_program_elf_machine(options->root, options->program)) : NULL;
    return name ? name : "rocket";
}

tl_status tl_plan_new(const tl_run_options *given, tl_plan **ret_plan, tl_error *err) {
    tl_status status = check_request(given, err);
    if (status != TL_OK)
        return status;
    tl_run_options with_machine = *given;
    const tl_run_options *options = &with_machine;
    if (!given->machine)
        with_machine.machine = default_machine(given);
    tl_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return tl_no_memory(err);
    status = tl_outline_new(&plan->outline, err);
    if (status == TL_OK)
        status = tl_plan_config(options->machine, options->overrides, &plan->config, err);
    if (status == TL_OK && options->pmu)
        status = choose_sources(plan, options, err);
    if (status == TL_OK && options->kind == TL_RUN_USER)
        status = tl_keys_check_grants(&plan->config, err);
    if (status == TL_OK) {
        plan->outline->per_hart = options->per_hart;
        plan->outline->per_unit = options->per_unit;
        plan->remark = tl_plan_lines_remark(options, &plan->outline->arena);
        status = tl_machine_names_new(&plan->config, &plan->outline->catalogue, err);
    }
    if (status == TL_OK)
        status = fill_header(plan, options, err);
    if (status == TL_OK)
        status = resolve(plan, options, err);
    if (status != TL_OK) {
        tl_plan_free(plan);
        return status;
    }
    *ret_plan = plan;
    return TL_OK;
}

void tl_plan_free(tl_plan *plan) {
    if (!plan)
        return;
    tl_outline_free(plan->outline);
    free(plan);
}
