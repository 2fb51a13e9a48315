// SPDX-License-Identifier: MIT
// Physical pages of the machine's RAM. Placement is deterministic: fresh pages in ascending order,
// then the page freed last. A page that was used before is zeroed when it is handed out again.
// Pages are counted, so that forks and mappings of one file can share them.
#ifndef TL_OS_FRAMES_H
#define TL_OS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tl_frames tl_frames;

tl_frames *tl_frames_new(uint8_t *ram, uint64_t ram_bytes); // NULL: no host memory
void tl_frames_free(tl_frames *frames);                     // NULL is fine

// A page with one reference; 0: RAM (or the host's memory for the books) is full. With is_zeroed
// its bytes are zero, else anything.
uint64_t tl_frame_alloc(tl_frames *frames, bool is_zeroed);
void tl_frame_ref(tl_frames *frames, uint64_t paddr);
void tl_frame_unref(tl_frames *frames, uint64_t paddr);      // the last reference frees it
bool tl_frames_has(const tl_frames *frames, uint64_t paddr); // false: no page of RAM, so no frame
uint32_t tl_frame_n_refs(const tl_frames *frames, uint64_t paddr);
uint8_t *tl_frame_bytes(const tl_frames *frames, uint64_t paddr);
uint64_t tl_frames_used(const tl_frames *frames); // pages
uint64_t tl_frames_peak(const tl_frames *frames); // the most that were used at once
uint64_t tl_frames_total(const tl_frames *frames);

// Has code been executed from this page since the caches were last told? Set when a page is mapped
// executable; returns what it was.
bool tl_frame_set_code(tl_frames *frames, uint64_t paddr, bool is_code);
bool tl_frame_is_code(const tl_frames *frames, uint64_t paddr);

#endif
