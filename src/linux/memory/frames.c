// SPDX-License-Identifier: MIT
// Physical pages: see frames.h. The table of pages grows with the highest page ever used, not with
// the size of RAM.
#include "linux/memory/frames.h"

#include <stdlib.h>
#include <string.h>

#include "linux/memory/vm.h"
#include "model/config.h"

typedef struct frame {
    uint32_t n_refs;
    uint32_t next_free; // index + 1; valid when free
    bool is_code;
} frame;

struct tl_frames {
    uint8_t *ram;
    uint64_t base_paddr;       // of page 0
    uint64_t n_total, n_fresh; // pages [0, n_fresh) have been used at least once
    uint64_t n_used, capacity;
    uint32_t first_free; // index + 1
    frame *frames;
};

tl_frames *tl_frames_new(uint8_t *ram, uint64_t offset_bytes, uint64_t ram_bytes) {
    tl_frames *frames = calloc(1, sizeof *frames);
    if (!frames)
        return NULL;
    frames->ram = ram;
    frames->base_paddr = TL_RAM_BASE_PADDR + offset_bytes;
    frames->n_total = ram_bytes >> TL_PAGE_LOG2;
    return frames;
}

void tl_frames_free(tl_frames *frames) {
    if (!frames)
        return;
    free(frames->frames);
    free(frames);
}

static uint64_t index_of(const tl_frames *frames, uint64_t paddr) { return (paddr - frames->base_paddr) >> TL_PAGE_LOG2; }

uint8_t *tl_frame_bytes(const tl_frames *frames, uint64_t paddr) { return frames->ram + (paddr - TL_RAM_BASE_PADDR); }

uint64_t tl_frame_alloc(tl_frames *frames, bool is_zeroed) {
    uint64_t index;
    if (frames->first_free) {
        index = frames->first_free - 1;
        frames->first_free = frames->frames[index].next_free;
        if (is_zeroed)
            memset(tl_frame_bytes(frames, frames->base_paddr + (index << TL_PAGE_LOG2)), 0, TL_PAGE_BYTES);
    } else {
        if (frames->n_fresh == frames->n_total)
            return 0;
        if (frames->n_fresh == frames->capacity) {
            uint64_t wanted = frames->capacity ? 2 * frames->capacity : 1024;
            frame *grown = realloc(frames->frames, wanted * sizeof *grown);
            if (!grown)
                return 0;
            frames->frames = grown;
            frames->capacity = wanted;
        }
        index = frames->n_fresh++;
        frames->frames[index] = (frame){0};
    }
    frames->frames[index].n_refs = 1;
    ++frames->n_used;
    return frames->base_paddr + (index << TL_PAGE_LOG2);
}

void tl_frame_ref(tl_frames *frames, uint64_t paddr) { ++frames->frames[index_of(frames, paddr)].n_refs; }

void tl_frame_unref(tl_frames *frames, uint64_t paddr) {
    uint64_t index = index_of(frames, paddr);
    frame *f = &frames->frames[index];
    if (--f->n_refs > 0)
        return;
    f->next_free = frames->first_free;
    frames->first_free = (uint32_t)index + 1;
    --frames->n_used;
}

bool tl_frames_has(const tl_frames *frames, uint64_t paddr) {
    return paddr >= frames->base_paddr && index_of(frames, paddr) < frames->n_total;
}

uint32_t tl_frame_n_refs(const tl_frames *frames, uint64_t paddr) { return frames->frames[index_of(frames, paddr)].n_refs; }

uint64_t tl_frames_used(const tl_frames *frames) { return frames->n_used; }
// Freed pages are used again before fresh ones.
uint64_t tl_frames_peak(const tl_frames *frames) { return frames->n_fresh; }
uint64_t tl_frames_total(const tl_frames *frames) { return frames->n_total; }

bool tl_frame_set_code(tl_frames *frames, uint64_t paddr, bool is_code) {
    frame *f = &frames->frames[index_of(frames, paddr)];
    bool was = f->is_code;
    f->is_code = is_code;
    return was;
}

bool tl_frame_is_code(const tl_frames *frames, uint64_t paddr) { return frames->frames[index_of(frames, paddr)].is_code; }
