// SPDX-License-Identifier: MIT
// Any packets for the cross-core monitor, over registers that hold anything, and any ring for its
// reader. Nothing may crash or hang. Each packet has one reply, and a refused one reaches no
// register and changes no state. An owner that goes leaves the monitor ended. Input: commands of
// one byte plus operands.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "monitor/registers.h"
#include "monitor/xcm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_COMMANDS = 64, MAX_ELEMENTS = 12, RING_BYTES = 1 << 16, LIST = 32, HASH = 64, PROGRAM_WORDS = 64, TICKS = 64 };
static const uint64_t OWNER = 1;

typedef struct world {
    input *in;
    uint32_t reg[XCM_N_BLOCKS][1024];
    uint64_t now_ns, n_accesses;
    uint32_t n_replies, n_events;
    uint8_t code;
} world;

static void require(bool is_so, const char *what) {
    if (is_so)
        return;
    fprintf(stderr, "fuzz_monitor: %s\n", what);
    abort();
}

// -- A target whose registers keep what is written. Now and then the input changes one of them.

static void step_time(world *w) {
    w->now_ns += 150;
    w->n_accesses += 1;
}
static void disturb(world *w) {
    if (w->n_accesses % 16 == 0 && w->in->at < w->in->end) {
        const uint64_t what = take(w->in, 3);
        const uint32_t bit = UINT32_C(1) << (what & 31);
        w->reg[(what >> 5 & 7) % XCM_N_BLOCKS][what >> 8 & 1023] ^= bit;
    }
}
static uint32_t rd32(void *ctx, xcm_block block, uint32_t offset) {
    world *w = ctx;
    step_time(w);
    disturb(w);
    require(offset < 4096 && offset % 4 == 0 && block < XCM_N_BLOCKS, "an access outside of the blocks");
    return w->reg[block][offset / 4];
}
static void wr32(void *ctx, xcm_block block, uint32_t offset, uint32_t value) {
    world *w = ctx;
    uint32_t *prsr = &w->reg[XCM_DBG][EDPRSR / 4], *scr = &w->reg[XCM_DBG][EDSCR / 4];
    step_time(w);
    require(offset < 4096 && offset % 4 == 0 && block < XCM_N_BLOCKS, "an access outside of the blocks");
    if (block == XCM_CTI && offset == CTIAPPPULSE) {
        *prsr = value & CHANNEL_HALT ? *prsr | PRSR_HALTED : (*prsr & ~(uint32_t)PRSR_HALTED) | PRSR_SDR;
        *scr = (*scr & ~SCR_STATUS) | (value & CHANNEL_HALT ? STATUS_REQUEST : STATUS_RUNNING);
    } else if (block == XCM_DBG && offset == OSLAR) {
        *prsr = value & 1 ? *prsr | PRSR_OSLK : *prsr & ~(uint32_t)PRSR_OSLK;
    } else if (block == XCM_DBG && offset == CLAIMSET) {
        w->reg[XCM_DBG][CLAIMCLR / 4] |= value;
    } else if (block == XCM_DBG && offset == CLAIMCLR) {
        w->reg[XCM_DBG][CLAIMCLR / 4] &= ~value;
    } else if (block == XCM_DBG && offset == EDITR) {
        *scr |= SCR_ITE | (value == I_MSR_DTR || value == I_MSR_DTRTX ? SCR_TXFULL : 0);
    } else if (offset != LAR && (block != XCM_DBG || offset != EDSCR)) {
        w->reg[block][offset / 4] = value;
    }
}
static uint64_t now_ns(void *ctx) { return ((world *)ctx)->now_ns; }
static void relax(void *ctx) { ((world *)ctx)->now_ns += 100000; }
static xcm_progress run_on_target(void *ctx, xcm_routine routine, bool is_start) {
    world *w = ctx;
    (void)routine;
    return is_start ? XCM_RUNS : (xcm_progress)(take(w->in, 1) % 3);
}
static void notify(void *ctx, const uint8_t *packet, uint32_t n_bytes) {
    world *w = ctx;
    xcm_packet header;
    require(xcm_check_packet(packet, n_bytes, XCM_REPLY, &header) == XCM_DONE, "a packet of the monitor is not whole");
    require(strcmp(xcm_state_name(header.state), "unknown") != 0, "a state without a name");
    if (header.op == XCM_EVENT_OP) {
        w->n_events += 1;
        return;
    }
    w->n_replies += 1;
    w->code = header.code;
    require(strcmp(xcm_code_text(header.code), xcm_code_text(0)) != 0, "a code without a sentence");
}

static void power_on(world *w) {
    static const uint32_t cidr[] = {0x0d, 0x90, 0x05, 0xb1}, types[] = {0x15, 0x14, 0x16};
    for (uint32_t block = 0; block < XCM_N_BLOCKS; block++) {
        for (uint32_t i = 0; i < 4; i++)
            w->reg[block][CIDR0 / 4 + i] = cidr[i];
        w->reg[block][DEVTYPE / 4] = types[block];
    }
    w->reg[XCM_DBG][AUTHSTATUS / 4] = AUTH_NSID | AUTH_SID;
    w->reg[XCM_DBG][EDDFR / 4] = 5 << 12 | 1 << 28;
    w->reg[XCM_DBG][EDPRSR / 4] = PRSR_PU;
    w->reg[XCM_DBG][EDSCR / 4] = STATUS_RUNNING | 0xf << SCR_RW_LSB | SCR_ITE;
    w->reg[XCM_PMU][PMCR / 4] = 6 << PMCR_N_LSB;
    w->reg[XCM_PMU][PMCEID0 / 4] = UINT32_MAX;
}

// -- Packets.

static uint32_t make_packet(input *in, uint8_t command, uint8_t packet[XCM_HEADER_BYTES + 8 * MAX_ELEMENTS]) {
    const uint32_t n = (uint32_t)take(in, 1) % (MAX_ELEMENTS + 1);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t choice = take(in, 1);
        xcm_put_element(packet, i, choice < 0xc0 ? choice & 63 : choice < 0xe0 ? 0x400000 + 4 * take(in, 1) : take(in, 8));
    }
    const uint8_t function = command & 31;
    const uint16_t op = command & 32 ? xcm_op_code(function) : (uint16_t)take(in, 2);
    uint32_t bytes = xcm_seal(packet, XCM_GET, op, 0, 0, n);
    if (command & 64) { // damage, behind a checksum that may be right again
        packet[take(in, 1) % bytes] ^= (uint8_t)(1 << take(in, 1) % 8);
        bytes -= (uint32_t)take(in, 1) % 3 * 4;
        if (take(in, 1) & 1 && bytes >= XCM_HEADER_BYTES) {
            const uint16_t sum = xcm_checksum(packet, bytes);
            memcpy(packet + 6, &sum, 2);
        }
    }
    return bytes;
}

static void send(world *w, xcm *m, uint8_t command) {
    uint8_t packet[XCM_HEADER_BYTES + 8 * MAX_ELEMENTS];
    const uint32_t n = make_packet(w->in, command, packet);
    const uint64_t owner = OWNER + (take(w->in, 1) > 0xf0), accesses = w->n_accesses;
    const uint32_t replies = w->n_replies;
    const xcm_state state = xcm_state_of(m);
    const bool was_busy = xcm_is_busy(m), is_privileged = take(w->in, 1) < 0xf0;
    xcm_submit(m, packet, n, owner, is_privileged);
    require(w->n_accesses == accesses && xcm_state_of(m) == state, "a submitted packet reached the target");
    if (w->n_replies != replies) {
        require(w->n_replies == replies + 1 && xcm_is_busy(m) == was_busy, "a refused packet is under way");
        require(w->code < XCM_DONE, "a packet was accepted and answered at once");
        return;
    }
    require(xcm_is_busy(m) && is_privileged, "a packet has no reply");
    for (uint32_t i = 0; i < TICKS && xcm_is_busy(m) && (take(w->in, 1) & 0x80) == 0; i++)
        xcm_tick(m);
    require(w->n_replies <= replies + 1, "a packet has two replies");
}

static void fuzz_monitor(input *in) {
    static uint64_t list[LIST], programs[PROGRAM_WORDS];
    static uint32_t hash[HASH];
    world w = {.in = in};
    uint8_t *ring = aligned_alloc(64, XCM_RING_HEADER_BYTES + RING_BYTES), payload[64];
    xcm *m = calloc(1, xcm_bytes());
    const xcm_host host = {
        .ctx = &w, .rd32 = rd32, .wr32 = wr32, .now_ns = now_ns, .relax = relax, .notify = notify, .run_on_target = run_on_target};
    const xcm_config config = {.host = &host,
                               .ring = ring,
                               .ring_bytes = RING_BYTES,
                               .list = list,
                               .list_capacity = LIST,
                               .hash = hash,
                               .hash_capacity = HASH,
                               .programs = programs,
                               .program_words = PROGRAM_WORDS,
                               .may_halt_kernel = take(in, 1) & 1};
    xcm_record record;
    require(ring && m && xcm_init(m, &config), "the monitor does not begin");
    memset(ring + XCM_RING_HEADER_BYTES, 0, RING_BYTES);
    power_on(&w);
    for (uint32_t n = 0; n < MAX_COMMANDS && in->at < in->end; n++) {
        const uint8_t command = (uint8_t)take(in, 1);
        if (command & 0x80) {
            w.now_ns += take(in, 2) * 1000;
            if (command & 1)
                xcm_tick(m);
            else if (command & 2)
                xcm_expire(m);
            else if (command & 4)
                wr32(&w, XCM_CTI, CTIAPPPULSE, CHANNEL_HALT);
            else
                (void)xcm_ring_take(ring, RING_BYTES, &record, payload, sizeof payload);
        } else {
            send(&w, m, command);
        }
    }
    xcm_owner_died(m);
    const xcm_state state = xcm_state_of(m);
    require(state == XCM_IDLE || state == XCM_ENDED || state == XCM_NONE, "the monitor goes on without its owner");
    require(!xcm_is_busy(m), "a request goes on without its owner");
    free(m);
    free(ring);
}

// A reader of a ring that holds anything: each record has its place, and the end comes.
static void fuzz_ring(input *in) {
    enum { BYTES = 256, AT_HEAD = 16, AT_TAIL = 64 };
    uint8_t *ring = aligned_alloc(64, XCM_RING_HEADER_BYTES + BYTES), payload[40];
    xcm_record record;
    require(ring != NULL, "no memory");
    memset(ring, 0, XCM_RING_HEADER_BYTES + BYTES);
    const uint64_t head = take(in, 8), distance = take(in, 2), tail = head - distance;
    memcpy(ring + AT_HEAD, &head, sizeof head);
    memcpy(ring + AT_TAIL, &tail, sizeof tail);
    const uint64_t data_bytes = take(in, 1) % 4 ? BYTES : take(in, 1);
    for (uint32_t i = 0; i < BYTES; i++)
        ring[XCM_RING_HEADER_BYTES + i] = (uint8_t)take(in, 1);
    for (uint32_t n = 0; data_bytes <= BYTES && xcm_ring_take(ring, data_bytes, &record, payload, sizeof payload); n++)
        require(n < BYTES / XCM_RECORD_BYTES && record.size >= XCM_RECORD_BYTES && record.size <= BYTES, "a record that is none");
    free(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, data + size};
    if (take(&in, 1) % 8 == 0)
        fuzz_ring(&in);
    else
        fuzz_monitor(&in);
    return 0;
}
