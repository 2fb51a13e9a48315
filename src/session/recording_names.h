// SPDX-License-Identifier: MIT
// Names of a recording: its events, and functions, lines and inlined calls of its instructions.
#ifndef TL_SESSION_RECORDING_NAMES_H
#define TL_SESSION_RECORDING_NAMES_H

#include <tally/run.h>

#include "loader/elf.h"
#include "model/code_map.h"
#include "profile/profile.h"
#include "result/outline.h"

// Adds signals, constants, aliases and metrics to the profile. is_asked: the events of the outline
// are shown; else default ones. The caller frees both arrays:
// *ret_event_of_cell has an event or TL_PROFILE_NONE for each cell, *ret_is_cycle_cause tells for
// each event whether it counts cycles by cause. TL_EINVAL: an event of the options has no counts by
// instruction.
TL_MUST_CHECK tl_status tl_recorded_events(tl_profile *p, const tl_outline *outline, bool is_asked, uint32_t **ret_event_of_cell,
                                           bool **ret_is_cycle_cause, tl_error *err);

struct tl_machine;

typedef struct tl_recorded_image { // a file of code
    tl_elf elf;
    bool is_elf;
} tl_recorded_image;
void tl_recorded_image_init(tl_recorded_image *ret_image, const tl_code_object *object);
// Link-time address of a byte of the file.
uint64_t tl_recorded_address(const tl_recorded_image *image, uint64_t offset);

// Of system software: before the first run, and after the last.
void tl_recorded_board_begin(tl_code_map *map, const struct tl_machine *machine);
// Harts whose address space has changed get spaces of their own. A board's spaces are told apart by
// their page tables.
void tl_recorded_board_spaces(tl_code_map *map, const struct tl_machine *machine);
void tl_recorded_board_end(tl_code_map *map, const struct tl_machine *machine, const tl_run_options *options);

// Names instructions, which are sorted by object and address.
TL_MUST_CHECK tl_status tl_recorded_names(tl_profile *p, const tl_code_map *map, const tl_run_options *options, bool with_sources,
                                          tl_error *err);

#endif
