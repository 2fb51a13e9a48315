// SPDX-License-Identifier: MIT
// See snapshot.h. A machine lives in its arena, in its RAM and in its struct, and it keeps its
// addresses. A copy of the bytes is therefore its state. Engines over blocks keep code elsewhere,
// so their machines are refused. tl_engine_type.is_in_arena says which engines can be saved.
#include "machine/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena_copy.h"

enum { PAGE_BYTES = 4096 };

struct tl_snapshot {
    tl_machine *machine;
    tl_machine copy;
    void *arena;     // as tl_arena_save has it
    uint8_t *pages;  // of RAM that are not zero, one behind the other
    uint32_t *which; // number of each
    uint32_t n_pages;
};

static bool is_zero(const uint8_t *page) {
    static const uint8_t zeros[PAGE_BYTES];
    return memcmp(page, zeros, sizeof zeros) == 0;
}

static uint32_t pages_of(const tl_machine *machine) { return (uint32_t)(machine->config.ram_bytes / PAGE_BYTES); }

static uint32_t count_pages(const tl_machine *machine) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < pages_of(machine); i++)
        n += !is_zero(machine->ram + (size_t)i * PAGE_BYTES);
    return n;
}

static void save_pages(tl_snapshot *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; n < s->n_pages; i++) {
        const uint8_t *page = s->machine->ram + (size_t)i * PAGE_BYTES;
        if (is_zero(page))
            continue;
        memcpy(s->pages + (size_t)n * PAGE_BYTES, page, PAGE_BYTES);
        s->which[n++] = i;
    }
}

// A page that was zero is written only if it is not zero now, so that untouched pages stay so.
static void load_pages(const tl_snapshot *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < pages_of(s->machine); i++) {
        uint8_t *page = s->machine->ram + (size_t)i * PAGE_BYTES;
        if (n < s->n_pages && s->which[n] == i)
            memcpy(page, s->pages + (size_t)n++ * PAGE_BYTES, PAGE_BYTES);
        else if (!is_zero(page))
            memset(page, 0, PAGE_BYTES);
    }
}

static bool is_whole(const tl_machine *machine) {
    bool is_in_arena = machine->engine->is_in_arena && !machine->forwarder;
    for (uint32_t i = 0; i < machine->n_harts && is_in_arena; i++)
        is_in_arena = machine->engine->is_in_arena(machine->harts[i]);
    return is_in_arena;
}

tl_status tl_snapshot_take(tl_machine *machine, tl_snapshot **ret_snapshot, tl_error *err) {
    if (!is_whole(machine))
        return tl_fail(err, TL_EINVAL,
                       "machine %s cannot be saved: it needs a detailed core, as machines netburst and ooo have, or engine step, "
                       "and no second engine",
                       machine->config.name);
    tl_snapshot *s = calloc(1, sizeof *s);
    if (s) {
        s->machine = machine;
        s->copy = *machine;
        s->n_pages = count_pages(machine);
        s->arena = malloc(tl_arena_copy_bytes(&machine->arena));
        s->pages = malloc((size_t)s->n_pages * PAGE_BYTES + 1);
        s->which = malloc((size_t)s->n_pages * sizeof *s->which + 1);
    }
    if (!s || !s->arena || !s->pages || !s->which) {
        tl_snapshot_free(s);
        return tl_fail(err, TL_ENOMEM, "no memory for a snapshot of machine %s", machine->config.name);
    }
    tl_arena_save(&machine->arena, s->arena);
    save_pages(s);
    *ret_snapshot = s;
    return TL_OK;
}

void tl_snapshot_restore(const tl_snapshot *snapshot) {
    tl_machine *machine = snapshot->machine;
    for (uint32_t i = 0; i < machine->n_harts && machine->engine->drop_rest; i++)
        machine->engine->drop_rest(machine->harts[i]);
    const tl_arena arena = machine->arena; // chunks allocated since are freed with the others
    *machine = snapshot->copy;
    machine->arena = arena;
    tl_arena_load(snapshot->arena);
    load_pages(snapshot);
}

void tl_snapshot_free(tl_snapshot *snapshot) {
    if (!snapshot)
        return;
    free(snapshot->arena);
    free(snapshot->pages);
    free(snapshot->which);
    free(snapshot);
}
