// SPDX-License-Identifier: MIT
// The host-target interface of riscv-tests, riscv-pk and Spike: two words of memory, the symbols
// `tohost` and `fromhost`. A word in tohost names a device (bits 56 to 63), a command (48 to 55)
// and a payload. Device 0 ends the program (odd payload) or serves a request block: eight words,
// the number of a Linux system call and its arguments. The result replaces the first word. Device 1
// is the console. Unknown commands are reported, because a program that waits for an answer hangs.
// The run loop polls the words between runs of a hart.
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "board/system_internal.h"

enum { CALL_WRITE = 64, CALL_EXIT = 93, CALL_EXIT_GROUP = 94, CALL_CLOCK_GETTIME = 113, CALL_GETTIMEOFDAY = 169, CALL_TIME = 1062 };
enum { CONSOLE_READ = 0, CONSOLE_WRITE = 1, CONSOLE_BYTE = 0x100 };
enum { BLOCK_WORDS = 8, MAX_WARNINGS = 8 };
static const uint64_t PAYLOAD_MASK = (UINT64_C(1) << 48) - 1, MOST_WRITE_BYTES = 1 << 20;

// NULL: not all of it is RAM.
static uint8_t *ram_at(const tl_system *system, uint64_t paddr, uint64_t size_bytes) {
    uint64_t offset = paddr - TL_RAM_BASE_PADDR, ram_bytes = system->machine->config.ram_bytes;
    if (paddr < TL_RAM_BASE_PADDR || offset > ram_bytes || size_bytes > ram_bytes - offset)
        return NULL;
    return tl_machine_ram(system->machine, paddr);
}

static void TL_PRINTF(2, 3) warn(tl_system *system, const char *format, ...) {
    char text[300];
    va_list args;
    if (!system->options.warn || system->n_htif_warnings == MAX_WARNINGS)
        return;
    system->n_htif_warnings++;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    system->options.warn(system->options.ctx, text);
}

static void respond(tl_system *system, uint64_t device_and_command, uint64_t payload) {
    uint64_t word = device_and_command << 48 | payload;
    if (system->fromhost)
        memcpy(tl_machine_ram(system->machine, system->fromhost), &word, sizeof word);
    else
        warn(system, "the program waits for answers to what it writes to tohost, but has no symbol fromhost of 8 bytes in RAM");
}

static uint64_t write_bytes(tl_system *system, const uint64_t *args) {
    if (args[0] != 1 && args[0] != 2)
        return (uint64_t)-EBADF;
    uint64_t n = args[2] < MOST_WRITE_BYTES ? args[2] : MOST_WRITE_BYTES;
    const uint8_t *bytes = ram_at(system, args[1], n);
    if (!bytes)
        return (uint64_t)-EFAULT;
    system->board.host.put(system->board.host.ctx, bytes, (size_t)n);
    return n;
}

// Simulated time since 1970: seconds, and parts of a second.
static uint64_t give_time(tl_system *system, uint64_t paddr, uint64_t parts_per_s) {
    const tl_device_host *host = &system->board.host;
    uint64_t ticks = host->time_of_cycle(host->ctx, tl_system_now_cycles(system));
    uint64_t pair[2] = {TL_POWER_ON_S + ticks / TL_TIMEBASE_HZ, 0};
    if (parts_per_s)
        pair[1] = ticks % TL_TIMEBASE_HZ * (parts_per_s / 1000000) / (TL_TIMEBASE_HZ / 1000000);
    uint64_t size_bytes = parts_per_s ? sizeof pair : sizeof *pair;
    if (paddr || parts_per_s) {
        uint8_t *at = ram_at(system, paddr, size_bytes);
        if (!at)
            return (uint64_t)-EFAULT;
        memcpy(at, pair, size_bytes);
    }
    return parts_per_s ? 0 : pair[0];
}

static void serve_block(tl_system *system, uint64_t paddr) {
    uint64_t block[BLOCK_WORDS];
    uint8_t *at = paddr % sizeof *block == 0 ? ram_at(system, paddr, sizeof block) : NULL;
    if (!at) {
        warn(system, "the program wrote 0x%" PRIx64 " to tohost: no request block of 64 bytes lies there, aligned and in RAM", paddr);
        return;
    }
    memcpy(block, at, sizeof block);
    uint64_t result;
    switch (block[0]) {
    case CALL_WRITE: result = write_bytes(system, block + 1); break;
    case CALL_EXIT:
    case CALL_EXIT_GROUP: tl_system_end(system, TL_SYSTEM_EXITED, (int32_t)(block[1] & 0x7fffffff), ""); return;
    case CALL_CLOCK_GETTIME: result = give_time(system, block[2], 1000000000); break;
    case CALL_GETTIMEOFDAY: result = give_time(system, block[1], 1000000); break;
    case CALL_TIME: result = give_time(system, block[1], 0); break;
    default:
        result = (uint64_t)-ENOSYS;
        warn(system,
             "the program asked through tohost for system call %" PRIu64 ", which is not answered; write (%d), exit (%d, %d), "
             "clock_gettime (%d), gettimeofday (%d) and time (%d) are; it was told ENOSYS",
             block[0], CALL_WRITE, CALL_EXIT, CALL_EXIT_GROUP, CALL_CLOCK_GETTIME, CALL_GETTIMEOFDAY, CALL_TIME);
        break;
    }
    memcpy(at, &result, sizeof result);
    respond(system, 0, 1);
}

static void serve_read(tl_system *system) {
    uint8_t byte;
    if (system->board.host.get(system->board.host.ctx, &byte, 1) != 1)
        return;
    system->wants_htif_byte = false;
    respond(system, UINT64_C(1) << 8 | CONSOLE_READ, CONSOLE_BYTE | byte);
}

void tl_htif_look(tl_system *system) {
    uint64_t word;
    uint8_t *at = tl_machine_ram(system->machine, system->tohost);
    memcpy(&word, at, sizeof word);
    if (system->wants_htif_byte)
        serve_read(system);
    if (word == 0)
        return;
    memset(at, 0, sizeof word);
    uint64_t device = word >> 56, command = word >> 48 & 0xff, payload = word & PAYLOAD_MASK;
    if (device == 0 && payload & 1) {
        tl_system_end(system, TL_SYSTEM_EXITED, (int32_t)(word >> 1 & 0x7fffffff), "");
    } else if (device == 0 && command == 0) {
        serve_block(system, payload);
    } else if (device == 1 && command == CONSOLE_WRITE) {
        uint8_t byte = (uint8_t)word;
        system->board.host.put(system->board.host.ctx, &byte, 1);
        respond(system, word >> 48, CONSOLE_BYTE | byte);
    } else if (device == 1 && command == CONSOLE_READ) {
        system->wants_htif_byte = true;
    } else {
        warn(system,
             "the program wrote 0x%" PRIx64 " to tohost: device %" PRIu64 ", command %" PRIu64
             " is not known; device 0 ends the program or serves a request block, device 1 is the console (0 reads, 1 writes)",
             word, device, command);
    }
}
