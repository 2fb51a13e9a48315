// SPDX-License-Identifier: MIT
// From rows of an attribution to a profile: instructions are rows of one object and address, and
// their counts are summed by thread. See recording.h.
#include "session/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "machine/machine.h"
#include "model/attribution.h"
#include "model/code_map.h"
#include "model/hart_signals.h"
#include "model/isa.h"
#include "session/guest.h"
#include "session/recording_contexts.h"
#include "session/recording_names.h"
#include "session/recording_samples.h"
#include "session/recording_tap.h"
#include "session/recording_timeline.h"

struct tl_recording {
    tl_recorded_tap tap; // attached on detailed cores
    tl_session *session;
    tl_machine *machine;
    tl_attribution *attribution;
    tl_code_map *map;
    tl_recorded_contexts contexts; // its graph is NULL without -g
    tl_recorded_samples samples;   // its source is NULL without a PMU
    tl_recorded_timeline timeline; // its machine is NULL without intervals
    uint32_t n_inside;             // regions that are being visited
    uint64_t n_visits;
    uint32_t region; // the first one that was visited
    const char *region_name;
    bool has_other_regions;
};

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left for a profile"); }

static void take_interval(void *ctx, uint64_t now_cycles) { tl_recorded_timeline_step(ctx, now_cycles); }

// Without -I a profile is of what is inside of some region.
static void take_visit(void *ctx, uint32_t region, const char *name, bool is_begin, uint64_t cycle) {
    tl_recording *recording = ctx;
    (void)cycle;
    if (recording->n_visits == 0) {
        recording->region = region;
        recording->region_name = name;
    }
    recording->has_other_regions |= region != recording->region;
    recording->n_inside += is_begin ? 1 : UINT32_MAX;
    recording->n_visits += is_begin;
    if (recording->n_inside != is_begin)
        return;
    tl_session_tell_losses(recording->session);
    tl_attribution_set_outside(recording->attribution, !is_begin);
}

// Before the run, because a wrong name must not cost one.
static tl_status choose_events(tl_recording *recording, const tl_session_parts *parts, bool with_calls, tl_error *err) {
    tl_profile *profile;
    uint32_t *event_of_cell = NULL;
    bool *is_cycle_cause = NULL;
    tl_status status = tl_profile_new(&profile, err);
    if (status != TL_OK)
        return status;
    status = tl_recorded_events(profile, parts->outline, parts->has_events, &event_of_cell, &is_cycle_cause, err);
    if (status == TL_OK && with_calls)
        status = tl_recorded_contexts_begin(profile, recording->attribution, &parts->machine->probe, event_of_cell, is_cycle_cause,
                                            &recording->contexts, err);
    if (status == TL_OK && with_calls && parts->options->kind != TL_RUN_USER)
        status = tl_recorded_contexts_follow_machine(&recording->contexts, recording->map, err);
    if (status == TL_OK && parts->options->interval != TL_INTERVAL_NONE)
        status =
            tl_recorded_timeline_begin(&recording->timeline, recording->machine, recording->map, event_of_cell, profile->n_events, err);
    tl_profile_release(profile);
    free(event_of_cell);
    free(is_cycle_cause);
    return status;
}

tl_status tl_recording_new(tl_session *session, bool with_calls, tl_recording **ret_recording, tl_error *err) {
    tl_session_parts parts = tl_session_parts_of(session);
    const bool is_detailed = parts.machine->config.core.kind == TL_CORE_OUT_OF_ORDER;
    if (parts.is_partial)
        return tl_fail(err, TL_EINVAL, "a profile is of the whole run; leave --fast-forward and --sample out");
    tl_recording *recording = calloc(1, sizeof *recording);
    if (!recording)
        return no_memory(err);
    recording->session = session;
    recording->machine = parts.machine;
    tl_status status = tl_attribution_new(&parts.machine->probe, parts.machine->n_harts, &recording->attribution, err);
    if (status == TL_OK)
        status = tl_code_map_new(recording->attribution, &recording->map, err);
    if (status == TL_OK)
        status = choose_events(recording, &parts, with_calls, err);
    if (status == TL_OK && parts.options->sample_period != 0)
        status = tl_recorded_samples_begin(session, recording->attribution, parts.options->sample_period, &recording->samples, err);
    for (uint32_t i = 0; status == TL_OK && i < parts.machine->n_harts; i++)
        parts.machine->harts[i]->attribution = recording->attribution;
    if (status == TL_OK && is_detailed)
        status = tl_recorded_tap_begin(&recording->tap, parts.machine, recording->contexts.graph, err);
    if (status != TL_OK) {
        tl_recording_free(recording);
        return status;
    }
    tl_session_set_code_map(session, recording->map);
    if (recording->timeline.machine) {
        tl_session_watch_course(session, take_interval, tl_recorded_timeline_visit, &recording->timeline);
    } else if (parts.has_regions) {
        tl_session_watch_course(session, NULL, take_visit, recording);
        tl_attribution_set_outside(recording->attribution, true);
        recording->contexts.is_of_region = true;
    }
    if (parts.options->kind != TL_RUN_USER)
        tl_recorded_board_begin(recording->map, recording->machine);
    *ret_recording = recording;
    return TL_OK;
}

void tl_recording_free(tl_recording *recording) {
    if (!recording)
        return;
    tl_session_set_code_map(recording->session, NULL);
    const tl_session_parts parts = tl_session_parts_of(recording->session);
    if (parts.guest && parts.guest->type->end_code_map) // a run that did not come so far
        parts.guest->type->end_code_map(parts.guest);
    tl_recorded_tap_done(&recording->tap);
    for (uint32_t i = 0; i < recording->machine->n_harts; i++)
        recording->machine->harts[i]->attribution = NULL;
    tl_session_watch_course(recording->session, NULL, NULL, NULL);
    tl_recorded_timeline_done(&recording->timeline);
    tl_recorded_samples_done(&recording->samples);
    tl_recorded_contexts_done(&recording->contexts);
    tl_code_map_free(recording->map);
    tl_attribution_free(recording->attribution);
    free(recording);
}

// ---- The heading and the events.

static tl_status add_setting(tl_profile *p, const char *name, const char *value, tl_error *err) {
    char *copy = tl_arena_strdup(&p->arena, value);
    tl_profile_setting *setting = copy ? TL_PROFILE_ADD(p, settings) : NULL;
    if (!setting)
        return no_memory(err);
    *setting = (tl_profile_setting){name, copy};
    return TL_OK;
}

static tl_status add_number(tl_profile *p, const char *name, uint64_t value, tl_error *err) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return add_setting(p, name, text, err);
}

// argv as a JSON array.
static tl_status add_words(tl_profile *p, const char *name, const char *const *words, tl_error *err) {
    tl_strbuf text = {0};
    tl_json json;
    tl_json_init_strbuf(&json, &text, TL_JSON_LINES);
    tl_json_begin_array(&json, NULL);
    for (; words && *words; words++)
        tl_json_string(&json, NULL, *words);
    tl_json_end_array(&json);
    tl_status status = tl_json_flush(&json, err);
    if (status == TL_OK)
        status = add_setting(p, name, tl_strbuf_text(&text), err);
    tl_strbuf_done(&text);
    return status;
}

static int by_setting(const void *a, const void *b) {
    return strcmp(((const tl_profile_setting *)a)->name, ((const tl_profile_setting *)b)->name);
}

static tl_status add_settings(tl_profile *p, const tl_session_parts *parts, tl_error *err) {
    const tl_header *h = &parts->outline->header;
    const struct {
        const char *name, *value;
    } texts[] = {{"digest", h->digest},
                 {"kind", h->kind},
                 {"machine", h->machine},
                 {"program", h->program},
                 {"summary", h->summary},
                 {"version", h->version},
                 {"append", h->append},
                 {"end", tl_end_reason_name(parts->reason)},
                 {"isa", parts->machine->engine->isa->name}};
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"clock_hz", h->clock_hz},
                   {"harts", h->n_harts},
                   {"seed", h->seed},
                   {"status", (uint64_t)parts->status},
                   {"signal", (uint64_t)parts->signal}};
    tl_status status = add_words(p, "argv", h->argv, err);
    if (status == TL_OK)
        status = add_words(p, "env", h->env, err);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == TL_OK; i++)
        if (texts[i].value)
            status = add_setting(p, texts[i].name, texts[i].value, err);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == TL_OK; i++)
        status = add_number(p, numbers[i].name, numbers[i].value, err);
    for (uint32_t i = 0; i < h->n_changed && status == TL_OK; i++) {
        const char *key = tl_arena_printf(&p->arena, "machine.%s", h->changed[i].key);
        status = key ? add_setting(p, key, h->changed[i].value, err) : no_memory(err);
    }
    if (status == TL_OK)
        qsort(p->settings, p->n_settings, sizeof *p->settings, by_setting);
    return status;
}

// ---- Rows.

static tl_status add_region(tl_profile *p, const tl_recording *recording, tl_error *err) {
    const char *text = tl_arena_printf(&p->arena, "%s%s", recording->region_name, recording->has_other_regions ? " and others" : "");
    const tl_status status = text ? add_setting(p, "region", text, err) : no_memory(err);
    if (status == TL_OK)
        qsort(p->settings, p->n_settings, sizeof *p->settings, by_setting);
    return status;
}

typedef struct recorded_row { // of the attribution, in the order of the profile
    uint32_t object, thread, row;
    uint64_t address;
} recorded_row;

static int by_address(const void *a, const void *b) {
    const recorded_row *x = a, *y = b;
    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

// Rows without a space or an object belong to an object and a thread of their own.
static bool sort_rows(tl_code_map *map, const tl_recorded_image *images, recorded_row *rows, uint32_t n) {
    uint32_t n_rows, nowhere = TL_CODE_NONE, nobody = TL_CODE_NONE;
    const tl_attribution_row *booked = tl_attribution_rows(map->attribution, &n_rows);
    for (uint32_t i = 0; i < n; i++) {
        const tl_code_row *row = &map->rows[i];
        recorded_row *to = &rows[i];
        *to = (recorded_row){.object = row->object, .thread = TL_CODE_NONE, .row = i, .address = booked[i].pc};
        const uint64_t space = booked[i].space & ~TL_OUTSIDE;
        if (space < map->n_spaces)
            to->thread = map->spaces[space].thread;
        if (row->object != TL_CODE_NONE) {
            const tl_code_mapping *mapping = &map->mappings[row->mapping];
            to->address = tl_recorded_address(&images[row->object], booked[i].pc - mapping->start + mapping->offset);
        }
        if (to->object == TL_CODE_NONE) {
            bool is_new;
            if (nowhere == TL_CODE_NONE)
                nowhere = tl_code_map_object(map, &(tl_code_object){.kind = "none"}, "[unknown]", &is_new);
            to->object = nowhere;
        }
        if (to->thread == TL_CODE_NONE) {
            if (nobody == TL_CODE_NONE)
                nobody = tl_code_map_thread(map, 0, tl_code_map_process(map, 0, TL_CODE_NONE, "machine"), "machine");
            to->thread = nobody;
        }
    }
    qsort(rows, n, sizeof *rows, by_address);
    return !map->lacks_memory;
}

static void disassemble(const tl_isa *isa, tl_profile_insn *insn, tl_arena *arena) {
    char text[128] = "";
    uint32_t bits = 0;
    memcpy(&bits, insn->bytes, insn->n_bytes < sizeof bits ? insn->n_bytes : sizeof bits);
    insn->disassembly = "";
    insn->target = UINT64_MAX;
    if (!isa->disassemble || insn->n_bytes == 0)
        return;
    isa->disassemble(bits, insn->address, text, sizeof text);
    for (char *tab = strchr(text, '\t'); tab; tab = strchr(tab, '\t'))
        *tab = ' ';
    insn->disassembly = tl_arena_strdup(arena, text);
    insn->target = isa->target(bits, insn->address);
}

typedef struct counting { // sums of one instruction in one thread
    const tl_profile *profile;
    const uint32_t *event_of_cell;
    const bool *is_cycle_cause; // by event
    uint32_t cycle, instret;    // events; or TL_PROFILE_NONE
    uint64_t *sums;
    uint64_t *has_sum; // a bit for each event
} counting;

static void add_sum(const counting *c, uint32_t event, uint64_t n) {
    c->sums[event] += n;
    c->has_sum[event / 64] |= UINT64_C(1) << event % 64;
}

// Code outside of the regions has no counts; its functions may be callers.
static void sum_row(const counting *c, const tl_attribution_row *row) {
    if (row->space & TL_OUTSIDE)
        return;
    for (uint32_t k = 0; k < row->n_counts; k++) {
        const uint32_t event = c->event_of_cell[row->counts[k].cell];
        if (event == TL_PROFILE_NONE)
            continue;
        add_sum(c, event, row->counts[k].n);
        if (c->cycle != TL_PROFILE_NONE && c->is_cycle_cause[event])
            add_sum(c, c->cycle, row->counts[k].n);
    }
    if (c->instret != TL_PROFILE_NONE)
        add_sum(c, c->instret, row->n_executed);
}

static bool put_sums(tl_profile *p, const counting *c, uint32_t thread) {
    for (uint32_t word = 0; word <= p->n_events / 64; word++)
        for (; c->has_sum[word] != 0; c->has_sum[word] &= c->has_sum[word] - 1) {
            const uint32_t event = word * 64 + (uint32_t)__builtin_ctzll(c->has_sum[word]);
            const uint64_t n = c->sums[event];
            if (n == 0)
                continue;
            c->sums[event] = 0;
            tl_profile_count *count = TL_PROFILE_ADD(p, counts);
            if (!count)
                return false;
            *count = (tl_profile_count){.thread = thread, .event = event, .n = n};
            p->events[event].total += n;
            p->insns[p->n_insns - 1].n_counts++;
        }
    return true;
}

static bool add_insns(tl_profile *p, const tl_code_map *map, const recorded_row *rows, uint32_t n, const counting *c, const tl_isa *isa,
                      uint32_t *insn_of_row, uint32_t *thread_of_row) {
    uint32_t n_booked;
    const tl_attribution_row *booked = tl_attribution_rows(map->attribution, &n_booked);
    for (uint32_t i = 0; i < n;) {
        const recorded_row *first = &rows[i];
        tl_profile_insn *insn = TL_PROFILE_ADD(p, insns);
        if (!insn)
            return false;
        *insn = (tl_profile_insn){.address = first->address,
                                  .object = first->object,
                                  .function = TL_PROFILE_NONE,
                                  .source = TL_PROFILE_NONE,
                                  .inlined = TL_PROFILE_NONE,
                                  .first_count = p->n_counts};
        while (i < n && rows[i].object == first->object && rows[i].address == first->address) {
            const uint32_t thread = rows[i].thread;
            for (; i < n && rows[i].object == first->object && rows[i].address == first->address && rows[i].thread == thread; i++) {
                const tl_code_row *row = &map->rows[rows[i].row];
                insn_of_row[rows[i].row] = p->n_insns - 1;
                thread_of_row[rows[i].row] = thread;
                sum_row(c, &booked[rows[i].row]);
                insn->n_bytes = row->n_bytes ? row->n_bytes : insn->n_bytes;
                memcpy(insn->bytes, row->bytes, row->n_bytes);
            }
            if (!put_sums(p, c, thread))
                return false;
        }
        disassemble(isa, insn, &p->arena);
        if (!insn->disassembly)
            return false;
    }
    return true;
}

static bool add_code(tl_profile *p, const tl_code_map *map, const tl_recorded_image *images) {
    for (uint32_t i = 0; i < map->n_objects; i++) {
        tl_profile_object *object = TL_PROFILE_ADD(p, objects);
        if (!object)
            return false;
        *object = (tl_profile_object){tl_arena_strdup(&p->arena, map->objects[i].path), map->objects[i].kind, ""};
        if (!object->path)
            return false;
    }
    for (uint32_t i = 0; i < map->n_processes; i++) {
        tl_profile_process *process = TL_PROFILE_ADD(p, processes);
        if (!process)
            return false;
        *process =
            (tl_profile_process){map->processes[i].pid, map->processes[i].parent, tl_arena_strdup(&p->arena, map->processes[i].name)};
        if (!process->name)
            return false;
    }
    for (uint32_t i = 0; i < map->n_threads; i++) {
        tl_profile_thread *thread = TL_PROFILE_ADD(p, threads);
        if (!thread)
            return false;
        *thread = (tl_profile_thread){map->threads[i].tid, map->threads[i].process, tl_arena_strdup(&p->arena, map->threads[i].name)};
        if (!thread->name)
            return false;
    }
    for (uint32_t i = 0; i < map->n_mappings; i++) {
        const tl_code_mapping *from = &map->mappings[i];
        tl_profile_mapping *mapping = TL_PROFILE_ADD(p, mappings);
        if (!mapping)
            return false;
        const bool is_file = map->objects[from->object].bytes != NULL;
        *mapping = (tl_profile_mapping){from->process,
                                        from->object,
                                        from->start,
                                        from->end,
                                        is_file ? from->offset : 0,
                                        from->start - tl_recorded_address(&images[from->object], from->offset)};
    }
    return true;
}

static tl_status make_profile(tl_recording *recording, const tl_session_parts *parts, tl_profile *p, bool with_sources, tl_error *err) {
    tl_code_map *map = recording->map;
    counting c = {.profile = p};
    uint32_t *event_of_cell = NULL;
    bool *is_cycle_cause = NULL;
    tl_recorded_image *images = calloc((size_t)map->n_objects + 1, sizeof *images);
    recorded_row *rows = malloc(((size_t)map->n_rows + 1) * sizeof *rows);
    uint32_t *insn_of_row = malloc(((size_t)map->n_rows + 1) * sizeof *insn_of_row);
    uint32_t *thread_of_row = malloc(((size_t)map->n_rows + 1) * sizeof *thread_of_row);
    tl_status status = images && rows && insn_of_row && thread_of_row ? add_settings(p, parts, err) : no_memory(err);
    if (status == TL_OK && recording->region_name)
        status = add_region(p, recording, err);
    if (status == TL_OK)
        status = tl_recorded_events(p, parts->outline, parts->has_events, &event_of_cell, &is_cycle_cause, err);
    if (status == TL_OK) {
        for (uint32_t i = 0; i < map->n_objects; i++)
            tl_recorded_image_init(&images[i], &map->objects[i]);
        c.event_of_cell = event_of_cell;
        c.is_cycle_cause = is_cycle_cause;
        c.cycle = tl_profile_find_event(p, "hart.cycle");
        c.instret = tl_profile_find_event(p, "hart.instret");
        c.sums = calloc((size_t)p->n_events + 1, sizeof *c.sums);
        c.has_sum = calloc((size_t)p->n_events / 64 + 1, sizeof *c.has_sum);
        // Sorting may add an object, which has no image.
        if (!c.sums || !c.has_sum || !sort_rows(map, images, rows, map->n_rows) || !add_code(p, map, images) ||
            !add_insns(p, map, rows, map->n_rows, &c, recording->machine->engine->isa, insn_of_row, thread_of_row))
            status = no_memory(err);
    }
    if (status == TL_OK)
        status = tl_recorded_names(p, map, parts->options, with_sources, err);
    if (status == TL_OK && recording->contexts.graph)
        status = tl_recorded_contexts_end(&recording->contexts, p, map, insn_of_row, err);
    tl_session_tell_losses(recording->session);
    if (status == TL_OK && recording->samples.source)
        status = tl_recorded_samples_end(&recording->samples, parts->outline, p, insn_of_row, thread_of_row, err);
    if (status == TL_OK && recording->timeline.machine)
        status = tl_recorded_timeline_end(&recording->timeline, parts->now_cycles, p, err);
    free(thread_of_row);
    free(insn_of_row);
    free(c.sums);
    free(c.has_sum);
    free(event_of_cell);
    free(is_cycle_cause);
    free(images);
    free(rows);
    return status;
}

static bool is_of_region(const tl_recording *recording, const tl_session_parts *parts) {
    return parts->has_regions && !recording->timeline.machine;
}

tl_status tl_recording_end(tl_recording *recording, bool with_sources, tl_profile **ret_profile, tl_error *err) {
    const tl_session_parts parts = tl_session_parts_of(recording->session);
    tl_recorded_tap_end(&recording->tap);
    tl_machine_sync(recording->machine);
    for (uint32_t i = 0; i < recording->machine->n_harts; i++)
        tl_attribution_begin(recording->machine->harts[i]);
    if (parts.guest && parts.guest->type->end_code_map)
        parts.guest->type->end_code_map(parts.guest);
    if (parts.options->kind != TL_RUN_USER)
        tl_recorded_board_end(recording->map, recording->machine, parts.options);
    tl_code_map_scan(recording->map);
    tl_status status = tl_attribution_check(recording->attribution, err);
    if (status == TL_OK && is_of_region(recording, &parts) && recording->n_visits == 0)
        status = tl_fail(err, TL_EINVAL, "the program visited no region, so there is nothing to record");
    if (status == TL_OK && recording->map->lacks_memory)
        status = no_memory(err);
    tl_profile *profile;
    if (status == TL_OK)
        status = tl_profile_new(&profile, err);
    if (status != TL_OK)
        return status;
    status = make_profile(recording, &parts, profile, with_sources, err);
    if (status != TL_OK) {
        tl_profile_release(profile);
        return status;
    }
    *ret_profile = profile;
    return TL_OK;
}
