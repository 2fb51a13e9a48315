// SPDX-License-Identifier: MIT
// Code map: who executed which code. A space of an attribution is a thread between two changes of
// its code; a row of the attribution gets the object that its instruction came from, and its bytes.
// The guest's kernel or board writes it, and a profile is made of it.
#ifndef TL_MODEL_CODE_MAP_H
#define TL_MODEL_CODE_MAP_H

#include "model/attribution.h"

enum { TL_CODE_INSN_BYTES = 4 };
static const uint32_t TL_CODE_NONE = UINT32_MAX;

typedef struct tl_code_object {
    char *path;       // as the guest names it
    const char *kind; // docs/schema/profile-1.sql
    uint8_t *bytes;   // of its file; NULL: there is none
    bool is_fixed;    // executed at the addresses it was linked for
    bool is_map;      // bytes are no code but text that names addresses from `first` to `last`
    uint64_t first, last;
    uint64_t n_bytes;
    uint64_t device, inode; // of a file
    int32_t pid;            // of code without a file; 0: none
} tl_code_object;

typedef struct tl_code_process {
    int32_t pid;
    uint32_t parent; // or TL_CODE_NONE
    char name[16];
} tl_code_process;

typedef struct tl_code_thread {
    int32_t tid;
    uint32_t process;
    char name[16];
} tl_code_thread;

typedef struct tl_code_space {
    uint64_t memory; // address space, by its maker's number
    uint32_t thread;
    uint32_t last_row; // of the list by previous_row; or TL_CODE_NONE
} tl_code_space;

typedef struct tl_code_mapping {
    uint32_t process, object;
    uint64_t start, end, offset;
} tl_code_mapping;

typedef struct tl_code_dump { // a file in which a JIT of this process described its code
    int32_t pid;
    uint8_t *bytes;
    uint64_t n_bytes;
} tl_code_dump;

typedef struct tl_code_stint { // of a thread on a hart
    uint32_t thread, hart;
    uint64_t begin_cycles, end_cycles;
} tl_code_stint;

typedef struct tl_code_row { // beside the attribution's row of this number
    uint32_t object;         // or TL_CODE_NONE: not known yet
    uint32_t mapping;
    uint32_t previous_row; // of this space
    uint8_t n_bytes, bytes[TL_CODE_INSN_BYTES];
} tl_code_row;

typedef struct tl_code_map {
    tl_attribution *attribution;
    tl_code_object *objects;
    tl_code_process *processes;
    tl_code_thread *threads;
    tl_code_space *spaces;
    tl_code_mapping *mappings;
    tl_code_row *rows;
    tl_code_dump *dumps;
    tl_code_stint *stints; // in order of their begin
    uint32_t n_objects, n_processes, n_threads, n_spaces, n_mappings, n_rows, n_dumps, n_stints;
    bool keeps_stints;                 // they grow with the length of the run
    uint32_t open_stint[TL_MAX_HARTS]; // + 1; 0: no thread is on the hart
    bool lacks_memory;
} tl_code_map;

TL_MUST_CHECK tl_status tl_code_map_new(tl_attribution *attribution, tl_code_map **ret_log, tl_error *err);
void tl_code_map_free(tl_code_map *map); // NULL is fine; the attribution stays

// Each returns the number of the thing, which may have been there. TL_CODE_NONE: no memory, and
// map->lacks_memory.
uint32_t tl_code_map_process(tl_code_map *map, int32_t pid, uint32_t parent, const char *name);
uint32_t tl_code_map_thread(tl_code_map *map, int32_t tid, uint32_t process, const char *name);
uint32_t tl_code_map_space(tl_code_map *map, uint32_t thread, uint64_t memory); // always a new one
uint32_t tl_code_map_mapping(tl_code_map *map, const tl_code_mapping *mapping);
// An object of this kind, device, inode and pid. *ret_is_new: the caller fills its bytes.
uint32_t tl_code_map_object(tl_code_map *map, const tl_code_object *like, const char *path, bool *ret_is_new);

// Takes ownership of the bytes. They replace those of the process before.
void tl_code_map_dump(tl_code_map *map, int32_t pid, uint8_t *bytes, uint64_t n_bytes);

// With keeps_stints. A thread comes onto the hart; it leaves the hart.
void tl_code_map_arrive(tl_code_map *map, uint32_t hart, uint32_t thread, uint64_t cycle);
void tl_code_map_leave(tl_code_map *map, uint32_t hart, uint64_t cycle);

// Rows that the attribution got since the last call come to their spaces.
void tl_code_map_scan(tl_code_map *map);

#endif
