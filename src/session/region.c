// SPDX-License-Identifier: MIT
// Borders of regions. Places become breakpoints of all harts. The set only grows, by return
// addresses, because engines decode anew whenever it changes. A stop without meaning continues.
#include "session/region.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/isa.h"

typedef struct place {
    const char *name; // NULL: there is none
    bool is_known;
    uint64_t pc;
} place;

typedef struct region {
    const char *name;
    place start, stop;
    bool is_marker, is_used; // a marker's number has been seen
    bool is_inside;
    uint64_t return_pc, return_sp; // while inside, without a stop
    uint64_t *entry;               // totals when the visit began; NULL: no visit yet
    uint64_t *sum;                 // of completed visits
    uint64_t n_visits;
} region;

struct tl_regions {
    tl_machine *machine;
    tl_arena *arena;
    region *list; // in option order, then markers by number
    uint32_t n, n_asked;
    bool are_several, may_load_more;
    // The program proper begins here, and then every name must lead somewhere. 0: it has begun.
    uint64_t entry_pc;
    tl_breaks breaks;
    uint32_t n_fixed_breaks;
    tl_region_visit_fn *visit; // NULL: nobody watches
    void *visit_ctx;
};

static bool give_totals(tl_regions *regions, region *r) {
    size_t bytes = regions->machine->probe.n_cells * sizeof(uint64_t);
    r->entry = tl_arena_alloc(regions->arena, bytes);
    r->sum = tl_arena_alloc(regions->arena, bytes);
    return r->entry && r->sum;
}

static bool ask(tl_regions *regions, const char *start, const char *stop) {
    region *r = &regions->list[regions->n++];
    r->start.name = tl_arena_strdup(regions->arena, start);
    r->stop.name = stop ? tl_arena_strdup(regions->arena, stop) : NULL;
    r->name = stop ? tl_arena_printf(regions->arena, "%s..%s", start, stop) : r->start.name;
    r->is_used = true;
    return r->start.name && r->name && (r->stop.name || !stop) && give_totals(regions, r);
}

tl_status tl_regions_new(const tl_run_options *options, tl_machine *machine, tl_arena *arena, tl_regions **ret_regions, tl_error *err) {
    *ret_regions = NULL;
    if (options->n_regions > TL_MAX_REGIONS)
        return tl_fail(err, TL_EINVAL, "%u regions of interest: at most %d can be counted in one run", options->n_regions, TL_MAX_REGIONS);
    uint32_t n_asked = options->n_regions + (options->roi_start != NULL);
    if (n_asked == 0 && !options->markers)
        return TL_OK;
    if (options->pmu && options->sample_period == 0 && (n_asked > 1 || options->markers))
        return tl_fail(err, TL_EINVAL, "a pmu is read for one region only; give one --roi, without --markers");
    tl_regions *regions = tl_arena_alloc(arena, sizeof *regions);
    region *list = tl_arena_alloc(arena, (n_asked + TL_MAX_MARKERS) * sizeof *list);
    if (!regions || !list)
        return tl_no_memory(err);
    memset(list, 0, (n_asked + TL_MAX_MARKERS) * sizeof *list);
    *regions = (tl_regions){.machine = machine, .arena = arena, .list = list, .are_several = options->n_regions > 0 || options->markers};
    bool is_fine = !options->roi_start || ask(regions, options->roi_start, options->roi_stop);
    for (uint32_t i = 0; is_fine && i < options->n_regions; i++)
        is_fine = ask(regions, options->regions[i].start, options->regions[i].stop);
    regions->n_asked = regions->n;
    for (uint32_t i = 0; options->markers && i < TL_MAX_MARKERS; i++)
        regions->list[regions->n++].is_marker = true;
    if (!is_fine)
        return tl_no_memory(err);
    *ret_regions = regions;
    return TL_OK;
}

bool tl_regions_are_several(const tl_regions *regions) { return regions->are_several; }

const tl_breaks *tl_regions_breaks(const tl_regions *regions) { return regions->breaks.n > 0 ? &regions->breaks : NULL; }

bool tl_regions_is_inside(const tl_regions *regions) { return regions->list[0].is_inside; }

static void add_break(tl_regions *regions, uint64_t pc) {
    tl_breaks *breaks = &regions->breaks;
    if (tl_breaks_have(breaks, pc))
        return;
    if (breaks->n == TL_MAX_BREAKS) { // drop return addresses, except those of active calls
        breaks->n = regions->n_fixed_breaks;
        for (uint32_t i = 0; i < regions->n_asked; i++) {
            const region *r = &regions->list[i];
            if (r->is_inside && !r->stop.name && r->return_pc != pc)
                breaks->pc[breaks->n++] = r->return_pc;
        }
        breaks->filter = 0;
        for (uint32_t i = 0; i < breaks->n; i++)
            breaks->filter |= tl_break_bit(breaks->pc[i]);
    }
    breaks->pc[breaks->n++] = pc;
    breaks->filter |= tl_break_bit(pc);
    breaks->generation++;
}

// ---- Finding places.

static tl_status resolve_place(tl_regions *regions, place *p, const tl_guest *guest, const tl_guest_search *how, tl_error *err) {
    if (!p->name || p->is_known)
        return TL_OK;
    tl_status status = TL_OK;
    if (!strncmp(p->name, "0x", 2)) {
        char *end;
        p->pc = strtoull(p->name, &end, 16);
        if (*end || !p->name[2] || strlen(p->name) > 18)
            return tl_fail(err, TL_EINVAL, "%s is not an address", p->name);
    } else {
        status = guest->type->symbol(guest, p->name, how, &p->pc, err);
    }
    if (status != TL_OK)
        return status;
    p->is_known = true;
    // Places stand before what calls return to, which may be forgotten.
    tl_breaks *breaks = &regions->breaks;
    if (!tl_breaks_have(breaks, p->pc) && breaks->n > regions->n_fixed_breaks) {
        uint64_t moved = breaks->pc[regions->n_fixed_breaks];
        breaks->pc[regions->n_fixed_breaks] = p->pc;
        breaks->filter |= tl_break_bit(p->pc);
        breaks->generation++;
        regions->n_fixed_breaks++;
        if (breaks->n < TL_MAX_BREAKS)
            breaks->pc[breaks->n++] = moved;
    } else if (!tl_breaks_have(breaks, p->pc)) {
        add_break(regions, p->pc);
        regions->n_fixed_breaks = breaks->n;
    }
    return TL_OK;
}

// All that can be found. is_missing is set, with the first reason in err, when a name leads nowhere
// yet.
static tl_status resolve_all(tl_regions *regions, const tl_guest *guest, const tl_guest_search *how, bool *ret_is_missing, tl_error *err) {
    *ret_is_missing = false;
    for (uint32_t i = 0; i < regions->n_asked; i++) {
        place *const places[] = {&regions->list[i].start, &regions->list[i].stop};
        for (size_t k = 0; k < TL_COUNT_OF(places); k++) {
            tl_error why;
            tl_status status = resolve_place(regions, places[k], guest, how, &why);
            if (status == TL_ENOENT && !*ret_is_missing && err)
                *err = why;
            if (status == TL_ENOENT)
                *ret_is_missing = true;
            else if (status != TL_OK && err)
                *err = why;
            if (status != TL_OK && status != TL_ENOENT)
                return status == TL_ENOMEM ? status : TL_EINVAL;
        }
    }
    return TL_OK;
}

tl_status tl_regions_resolve(tl_regions *regions, const tl_guest *guest, tl_error *err) {
    bool is_first = regions->breaks.n == 0 && regions->entry_pc == 0 && !regions->may_load_more, is_missing;
    uint64_t entry_pc = is_first && guest->type->entry ? guest->type->entry(guest) : 0;
    const tl_guest_search how = {.with_prefixes = is_first && entry_pc == 0};
    tl_status status = resolve_all(regions, guest, &how, &is_missing, err);
    if (status != TL_OK || !is_missing || !is_first)
        return status;
    if (entry_pc == 0)
        return TL_EINVAL; // nothing will follow; err says which name
    regions->entry_pc = entry_pc;
    add_break(regions, entry_pc);
    regions->n_fixed_breaks = regions->breaks.n;
    return TL_OK;
}

// The loader has mapped what the program names. A name that is still unknown can come with dlopen
// only.
static tl_status begin_program(tl_regions *regions, const tl_guest *guest, void (*note)(void *ctx, const char *sentence), void *ctx,
                               tl_error *err) {
    bool waits = false, is_missing;
    tl_error why;
    const tl_guest_search how = {.with_prefixes = true, .ret_waits = &waits};
    regions->entry_pc = 0;
    tl_status status = resolve_all(regions, guest, &how, &is_missing, &why);
    if (status == TL_OK && is_missing && !waits)
        status = TL_EINVAL;
    if (status != TL_OK) {
        if (err)
            *err = why;
        return tl_fail(err, status, "%s", why.text);
    }
    if (is_missing) {
        char sentence[sizeof why.text + 64];
        regions->may_load_more = true;
        snprintf(sentence, sizeof sentence, "%s; a library that is loaded later may have it", why.text);
        note(ctx, sentence);
    }
    return TL_OK;
}

// ---- Crossing borders.

void tl_regions_watch_visits(tl_regions *regions, tl_region_visit_fn *visit, void *ctx) {
    regions->visit = visit;
    regions->visit_ctx = ctx;
}

static void tell(const tl_regions *regions, const region *r, const tl_hart *hart) {
    if (regions->visit)
        regions->visit(regions->visit_ctx, (uint32_t)(r - regions->list), r->name, r->is_inside, hart->now);
}

static void enter(tl_regions *regions, region *r, const tl_hart *hart) {
    const tl_machine *machine = regions->machine;
    r->is_inside = true;
    r->n_visits++;
    memcpy(r->entry, machine->tally, machine->probe.n_cells * sizeof *r->entry);
    tell(regions, r, hart);
}

static void leave(tl_regions *regions, region *r, const tl_hart *hart) {
    const tl_machine *machine = regions->machine;
    r->is_inside = false;
    for (uint32_t i = 0; i < machine->probe.n_cells; i++)
        r->sum[i] += machine->tally[i] - r->entry[i];
    tell(regions, r, hart);
}

// The call that began the visit returns. A return on another stack, or deeper in a recursion, does
// not match.
static bool is_at_end(const region *r, const tl_hart *hart) {
    if (!r->stop.name)
        return hart->pc == r->return_pc && tl_hart_register_value(hart, TL_ROLE_STACK) == r->return_sp;
    return r->stop.is_known && hart->pc == r->stop.pc;
}

tl_status tl_regions_cross(tl_regions *regions, const tl_guest *guest, const tl_hart *hart, void (*note)(void *ctx, const char *sentence),
                           void *ctx, bool *ret_crossed, tl_error *err) {
    *ret_crossed = false;
    if (regions->entry_pc != 0 && hart->pc == regions->entry_pc) {
        tl_status status = begin_program(regions, guest, note, ctx, err);
        if (status != TL_OK)
            return status;
    }
    for (uint32_t i = 0; i < regions->n_asked; i++) {
        region *r = &regions->list[i];
        bool ends = r->is_inside && is_at_end(r, hart), begins = !r->is_inside && r->start.is_known && hart->pc == r->start.pc;
        if (!ends && !begins)
            continue;
        if (!*ret_crossed)
            tl_machine_sync(regions->machine);
        *ret_crossed = true;
        if (ends) {
            leave(regions, r, hart);
            continue;
        }
        enter(regions, r, hart);
        r->return_pc = tl_hart_register_value(hart, TL_ROLE_RETURN);
        r->return_sp = tl_hart_register_value(hart, TL_ROLE_STACK);
        if (!r->stop.name)
            add_break(regions, r->return_pc);
    }
    return TL_OK;
}

// ---- Markers.

// Byte at the hart's virtual address; '\0' if the page is not mapped. Counts nothing, because the
// host reads it.
static char byte_at(const tl_regions *regions, const tl_hart *h, uint64_t vaddr) {
    uint64_t paddr;
    if (!tl_memory_translate(regions->machine->memory, h, vaddr, &paddr) || paddr - TL_RAM_BASE_PADDR >= h->config->ram_bytes)
        return '\0';
    return (char)h->ram[paddr - TL_RAM_BASE_PADDR];
}

static const char *marker_name(tl_regions *regions, uint32_t number, const tl_hart *hart, uint64_t vaddr) {
    enum { MAX_NAME = 63 };
    char text[MAX_NAME + 1];
    size_t n = 0;
    for (; vaddr != 0 && n < MAX_NAME; n++) {
        text[n] = byte_at(regions, hart, vaddr + n);
        if (text[n] == '\0')
            break;
        text[n] = text[n] < 0x20 || text[n] > 0x7e ? '?' : text[n];
    }
    text[n] = '\0';
    return n > 0 ? tl_arena_strdup(regions->arena, text) : tl_arena_printf(regions->arena, "region %u", number);
}

static void take_marker(void *ctx, const tl_hart *hart, tl_mark mark, uint32_t number, uint64_t name_vaddr) {
    tl_regions *regions = ctx;
    region *r = &regions->list[regions->n_asked + number % TL_MAX_MARKERS];
    if (!r->is_used) {
        r->is_used = true;
        if (!give_totals(regions, r))
            r->entry = r->sum = NULL;
    }
    if (!r->name || mark == TL_MARK_NAME)
        r->name = marker_name(regions, number, hart, mark == TL_MARK_NAME ? name_vaddr : 0);
    if (mark == TL_MARK_NAME || !r->sum || !r->name || r->is_inside == (mark == TL_MARK_START))
        return;
    tl_machine_sync(regions->machine);
    if (mark == TL_MARK_START)
        enter(regions, r, hart);
    else
        leave(regions, r, hart);
}

void tl_regions_watch_markers(tl_regions *regions) {
    if (regions->n == regions->n_asked)
        return;
    for (uint32_t i = 0; i < regions->machine->n_harts; i++) {
        regions->machine->harts[i]->mark = take_marker;
        regions->machine->harts[i]->mark_ctx = regions;
    }
}

// ---- Totals.

static void read_region(const tl_regions *regions, const region *r, uint64_t *ret_values) {
    for (uint32_t i = 0; i < regions->machine->probe.n_cells; i++)
        ret_values[i] = r->sum[i] + (r->is_inside ? regions->machine->tally[i] - r->entry[i] : 0);
}

void tl_regions_totals(const tl_regions *regions, uint64_t *ret_values) { read_region(regions, &regions->list[0], ret_values); }

tl_status tl_regions_result(const tl_regions *regions, tl_result *result, tl_error *err) {
    uint32_t n_cells = regions->machine->probe.n_cells;
    tl_arena *arena = &result->arena;
    result->regions = tl_arena_alloc(arena, (regions->n + 1) * sizeof *result->regions);
    result->totals = tl_arena_alloc(arena, ((size_t)regions->n * n_cells + 1) * sizeof *result->totals);
    if (!result->regions || !result->totals)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < regions->n; i++) {
        const region *r = &regions->list[i];
        if (!r->is_used || !r->sum)
            continue;
        tl_result_region *to = &result->regions[result->n_regions];
        *to = (tl_result_region){.name = tl_arena_strdup(arena, r->name),
                                 .start = r->start.name ? tl_arena_strdup(arena, r->start.name) : NULL,
                                 .stop = r->stop.name ? tl_arena_strdup(arena, r->stop.name) : NULL,
                                 .key = i,
                                 .n_visits = r->n_visits};
        if (!to->name || (r->start.name && !to->start) || (r->stop.name && !to->stop))
            return tl_no_memory(err);
        read_region(regions, r, result->totals + (size_t)n_cells * result->n_regions++);
        result->n_roi_visits += r->n_visits;
    }
    result->is_by_region = regions->are_several;
    result->n_totals = regions->are_several ? n_cells * result->n_regions : n_cells;
    return TL_OK;
}
