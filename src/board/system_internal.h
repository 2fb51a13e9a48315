// SPDX-License-Identifier: MIT
// Declarations that the files of this folder share: the system and the loader of its images.
#ifndef TL_SYSTEM_SYSTEM_INTERNAL_H
#define TL_SYSTEM_SYSTEM_INTERNAL_H

#include "board/board.h"
#include "board/system.h"
#include "loader/elf.h"
#include "machine/limits.h"

enum { TL_MAX_IMAGES = 3 };

struct tl_system {
    tl_machine *machine;
    tl_system_options options;
    tl_board board;
    bool has_board;
    // Symbols of the program, or of kernel and firmware, in the order in which they are searched.
    tl_symbols *symbols[TL_MAX_IMAGES];
    uint32_t n_symbols;
    bool has_kernel_symbols; // it is an ELF file
    tl_system_entry entry;
    uint64_t tohost, fromhost; // HTIF words of a bare program, or 0
    bool wants_htif_byte;      // the program asked for console input and has no answer yet
    uint32_t n_htif_warnings;
    bool has_ended, is_at_break;
    bool has_new_space; // of hart space_hart; tl_system_run has yet to report it
    uint32_t space_hart;
    uint64_t spaces[TL_MAX_HARTS]; // of each hart, as last seen
    tl_run_limits limits;
    const tl_breaks *breaks; // of the host, in this run
    tl_system_report report;
    tl_turn turn;          // the one that a limit cut short
    tl_turns turns;        // steady: the hart's horizon holds until somebody asks the board
    uint32_t n_trap_loops; // traps in a row that led where they came from
    uint64_t n_exceptions; // of all harts, before the last of these traps
};

// Puts everything the options name into RAM and fills entry, device_tree and the rest.
TL_MUST_CHECK tl_status tl_system_load(tl_system *system, tl_error *err);

// The run is over; the loop ends.
void tl_system_end(tl_system *system, tl_system_stop stop, int32_t status, const char *message);
// htif.c: serves what the program has written to tohost. Called when there is such a word.
void tl_htif_look(tl_system *system);

#endif
