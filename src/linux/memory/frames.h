// SPDX-License-Identifier: MIT
// Physical pages of the machine's RAM. Placement is deterministic: fresh pages in ascending order,
// then the page freed last. A page that was used before is zeroed when it is handed out again.
// Pages are counted, so that forks and mappings of one file can share them.
#ifndef TL_OS_FRAMES_H
#define TL_OS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tl_frames tl_frames;

// Pages of ram_bytes bytes from offset_bytes on; `ram` is where RAM begins. NULL: no host memory.
tl_frames *tl_frames_new(uint8_t *ram, uint64_t offset_bytes, uint64_t ram_bytes);
void tl_frames_free(tl_frames *frames); // NULL is fine

// A page with one reference; 0: RAM is full, or the host has no memory for the table of pages.
// is_zeroed: all bytes are zero, else undefined.
uint64_t tl_frame_alloc(tl_frames *frames, bool is_zeroed);
void tl_frame_ref(tl_frames *frames, uint64_t paddr);
void tl_frame_unref(tl_frames *frames, uint64_t paddr);      // the last reference frees it
bool tl_frames_has(const tl_frames *frames, uint64_t paddr); // false: no page of RAM, so no frame
uint32_t tl_frame_n_refs(const tl_frames *frames, uint64_t paddr);
uint8_t *tl_frame_bytes(const tl_frames *frames, uint64_t paddr);
uint64_t tl_frames_used(const tl_frames *frames); // pages
uint64_t tl_frames_peak(const tl_frames *frames); // the most that were used at once
uint64_t tl_frames_total(const tl_frames *frames);

// The code mark of a page: harts may hold its code since the last invalidation. The mark is set
// when the page is mapped executable. Returns the old mark.
bool tl_frame_set_code(tl_frames *frames, uint64_t paddr, bool is_code);
bool tl_frame_is_code(const tl_frames *frames, uint64_t paddr);

#endif
