// SPDX-License-Identifier: MIT
// Lists of a code map; see code_map.h.
#include "model/code_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tl_status tl_code_map_new(tl_attribution *attribution, tl_code_map **ret_log, tl_error *err) {
    tl_code_map *map = calloc(1, sizeof *map);
    if (!map)
        return tl_fail(err, TL_ENOMEM, "no memory for a map of code");
    map->attribution = attribution;
    *ret_log = map;
    return TL_OK;
}

void tl_code_map_free(tl_code_map *map) {
    if (!map)
        return;
    for (uint32_t i = 0; i < map->n_objects; i++) {
        free(map->objects[i].path);
        free(map->objects[i].bytes);
    }
    free(map->objects);
    free(map->processes);
    free(map->threads);
    free(map->spaces);
    free(map->mappings);
    free(map->rows);
    for (uint32_t i = 0; i < map->n_dumps; i++)
        free(map->dumps[i].bytes);
    free(map->dumps);
    free(map->stints);
    free(map);
}

// Room for one more item: it doubles at powers of two.
static bool make_room(tl_code_map *map, void **items, uint32_t n, size_t item_bytes) {
    if ((n & (n - 1)) != 0)
        return true;
    void *larger = realloc(*items, (n == 0 ? 1 : 2 * (size_t)n) * item_bytes);
    map->lacks_memory |= !larger;
    if (larger)
        *items = larger;
    return larger != NULL;
}

uint32_t tl_code_map_process(tl_code_map *map, int32_t pid, uint32_t parent, const char *name) {
    uint32_t i = 0;
    while (i < map->n_processes && map->processes[i].pid != pid)
        i++;
    if (i == map->n_processes) {
        if (!make_room(map, (void **)&map->processes, i, sizeof *map->processes))
            return TL_CODE_NONE;
        map->processes[map->n_processes++] = (tl_code_process){.pid = pid, .parent = parent};
    }
    snprintf(map->processes[i].name, sizeof map->processes[i].name, "%s", name);
    return i;
}

uint32_t tl_code_map_thread(tl_code_map *map, int32_t tid, uint32_t process, const char *name) {
    uint32_t i = 0;
    while (i < map->n_threads && !(map->threads[i].tid == tid && map->threads[i].process == process))
        i++;
    if (i == map->n_threads) {
        if (process == TL_CODE_NONE || !make_room(map, (void **)&map->threads, i, sizeof *map->threads))
            return TL_CODE_NONE;
        map->threads[map->n_threads++] = (tl_code_thread){.tid = tid, .process = process};
    }
    snprintf(map->threads[i].name, sizeof map->threads[i].name, "%s", name);
    return i;
}

uint32_t tl_code_map_space(tl_code_map *map, uint32_t thread, uint64_t memory) {
    if (thread == TL_CODE_NONE || !make_room(map, (void **)&map->spaces, map->n_spaces, sizeof *map->spaces))
        return TL_CODE_NONE;
    map->spaces[map->n_spaces] = (tl_code_space){.memory = memory, .thread = thread, .last_row = TL_CODE_NONE};
    return map->n_spaces++;
}

void tl_code_map_dump(tl_code_map *map, int32_t pid, uint8_t *bytes, uint64_t n_bytes) {
    uint32_t i = 0;
    while (i < map->n_dumps && map->dumps[i].pid != pid)
        i++;
    if (i < map->n_dumps) {
        free(map->dumps[i].bytes);
    } else if (make_room(map, (void **)&map->dumps, i, sizeof *map->dumps)) {
        map->n_dumps++;
    } else {
        free(bytes);
        return;
    }
    map->dumps[i] = (tl_code_dump){pid, bytes, n_bytes};
}

void tl_code_map_arrive(tl_code_map *map, uint32_t hart, uint32_t thread, uint64_t cycle) {
    if (!map->keeps_stints || thread == TL_CODE_NONE)
        return;
    if (map->open_stint[hart] != 0 && map->stints[map->open_stint[hart] - 1].thread == thread)
        return; // it has not left
    if (!make_room(map, (void **)&map->stints, map->n_stints, sizeof *map->stints))
        return;
    tl_code_map_leave(map, hart, cycle);
    map->stints[map->n_stints] = (tl_code_stint){thread, hart, cycle, cycle};
    map->open_stint[hart] = ++map->n_stints;
}

void tl_code_map_leave(tl_code_map *map, uint32_t hart, uint64_t cycle) {
    if (map->open_stint[hart] != 0)
        map->stints[map->open_stint[hart] - 1].end_cycles = cycle;
    map->open_stint[hart] = 0;
}

uint32_t tl_code_map_mapping(tl_code_map *map, const tl_code_mapping *mapping) {
    for (uint32_t i = map->n_mappings; i-- > 0;) {
        const tl_code_mapping *m = &map->mappings[i];
        if (m->process == mapping->process && m->object == mapping->object && m->start == mapping->start && m->end == mapping->end &&
            m->offset == mapping->offset)
            return i;
    }
    if (!make_room(map, (void **)&map->mappings, map->n_mappings, sizeof *map->mappings))
        return TL_CODE_NONE;
    map->mappings[map->n_mappings] = *mapping;
    return map->n_mappings++;
}

uint32_t tl_code_map_object(tl_code_map *map, const tl_code_object *like, const char *path, bool *ret_is_new) {
    *ret_is_new = false;
    for (uint32_t i = 0; i < map->n_objects; i++) {
        const tl_code_object *o = &map->objects[i];
        if (o->device == like->device && o->inode == like->inode && o->pid == like->pid && strcmp(o->path, path) == 0)
            return i;
    }
    char *copy = strdup(path);
    map->lacks_memory |= !copy;
    if (!copy || !make_room(map, (void **)&map->objects, map->n_objects, sizeof *map->objects)) {
        free(copy);
        return TL_CODE_NONE;
    }
    *ret_is_new = true;
    map->objects[map->n_objects] = *like;
    map->objects[map->n_objects].path = copy;
    return map->n_objects++;
}

void tl_code_map_scan(tl_code_map *map) {
    uint32_t n;
    const tl_attribution_row *rows = tl_attribution_rows(map->attribution, &n);
    while (map->n_rows < n) {
        if (!make_room(map, (void **)&map->rows, map->n_rows, sizeof *map->rows))
            return;
        const uint32_t i = map->n_rows++;
        map->rows[i] = (tl_code_row){.object = TL_CODE_NONE, .mapping = TL_CODE_NONE, .previous_row = TL_CODE_NONE};
        const uint64_t number = rows[i].space & ~TL_OUTSIDE;
        if (number < map->n_spaces) {
            tl_code_space *space = &map->spaces[number];
            map->rows[i].previous_row = space->last_row;
            space->last_row = i;
        }
    }
}
