// SPDX-License-Identifier: MIT
// Host code that a front-end made, told to whoever names it for a profiler of the host. A front-end
// calls publish for each part of a block, before the block runs, if the hart has a log; without one
// nothing is noted.
#ifndef TL_MODEL_CODE_LOG_H
#define TL_MODEL_CODE_LOG_H

#include <stdbool.h>
#include <stdint.h>

struct tl_hart;

typedef struct tl_code_line { // one instruction of the guest
    uint32_t offset_bytes;    // where its host code begins
    uint64_t pc;
} tl_code_line;

typedef struct tl_code_piece {
    const uint8_t *code; // as it is executed, readable
    uint64_t n_bytes;
    uint64_t pc;               // of the block
    bool is_cold;              // what the block jumps to when something does not hit
    const tl_code_line *lines; // by offset
    uint32_t n_lines;
} tl_code_piece;

typedef struct tl_code_log tl_code_log;
struct tl_code_log { // first member of the listener's own struct
    void (*publish)(tl_code_log *log, const struct tl_hart *h, const tl_code_piece *piece);
};

enum { TL_CODE_MAX_LINES = 80 }; // more than any block has instructions

#endif
