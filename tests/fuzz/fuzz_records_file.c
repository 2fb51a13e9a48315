// SPDX-License-Identifier: MIT
// A file of sealed records, whole, cut, damaged and mixed with any bytes, through tally/records.h.
// The entries cover the file without gap or overlap; a good one is a record that was sealed,
// unchanged.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tally/records.h>

#include "sealed/key_file.h"
#include "sealed/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N = 3, RECORD_BYTES = 64 + 8 * (4 + 2 * N + 1) + 16, N_SEALED = 8, MAX_PIECES = 64 };
enum { WHOLE, CUT, FLIPPED, RAW, N_PIECES };

static void require(bool is_so) {
    if (!is_so)
        abort();
}

static void seal_all(const tl_crypto *crypto, uint8_t ret_sealed[N_SEALED][RECORD_BYTES]) {
    static tl_seal_key key;
    static uint64_t witness;
    uint8_t scratch[RECORD_BYTES];
    const uint8_t bytes[TL_KEY_BYTES] = {5}, mask[TL_NONCE_BYTES] = {6};
    tl_seal_key_init(&key, bytes, mask, &witness);
    tl_record_sender sender = {crypto, &key, 7, 2, 9, false, scratch};
    for (uint64_t r = 0; r < N_SEALED; r++) {
        uint64_t values[N] = {r + 1, r + 2, r + 3}, late[N] = {0};
        uint8_t unavailable[N] = {0};
        const tl_record_image image = {.n = N, .values = values, .late = late, .unavailable = unavailable};
        require(tl_record_seal(&sender, &image, 1, ret_sealed[r]) == TL_OK);
    }
}

static FILE *memory_file(char ret_path[32]) {
    int fd = memfd_create("records", 0);
    require(fd >= 0 && snprintf(ret_path, 32, "/proc/self/fd/%d", fd) < 32);
    FILE *file = fdopen(fd, "w+");
    require(file != NULL);
    return file;
}

static void write_key(FILE *file) {
    const tl_key_file key = {.device = 7, .vm = 2, .epoch = 9, .n_values = N, .key = {5}, .iv_mask = {6}};
    require(tl_key_file_write(&key, file) && fflush(file) == 0);
}

static void check(tl_records *records, uint64_t n_bytes) {
    tl_record_entry entry = {.size = sizeof entry};
    tl_records_summary summary = {.size = sizeof summary};
    uint64_t at = 0, n_good = 0, n = 0, last_seq = 0;
    while (tl_records_next(records, &entry)) {
        require(entry.offset_bytes == at && entry.n_bytes > 0 && entry.verdict);
        at += entry.n_bytes;
        n++;
        for (uint32_t i = 0; i <= N; i++) {
            tl_record_value value = {.size = sizeof value};
            tl_records_value(records, i, &value);
            bool is_there = entry.is_good && i < N;
            require(value.flags == (is_there ? 0 : TL_RECORD_FLAG_UNAVAILABLE) && value.count == (is_there ? entry.seq + i : 0));
        }
        if (!entry.is_good)
            continue;
        require(entry.n_bytes == RECORD_BYTES && entry.seq > last_seq && entry.n_lost == entry.seq - last_seq - 1);
        last_seq = entry.seq;
        n_good++;
    }
    tl_records_summary_of(records, &summary);
    require(at == n_bytes && summary.n_entries == n && summary.n_good == n_good && summary.n_good + summary.n_lost == last_seq);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tl_crypto *crypto;
    static uint8_t sealed[N_SEALED][RECORD_BYTES];
    if (tl_crypto_get(&crypto, NULL) != TL_OK)
        return 0;
    seal_all(crypto, sealed);
    char path[32], key_path[32];
    FILE *file = memory_file(path), *key_file = memory_file(key_path), *nowhere = fopen("/dev/null", "w");
    require(nowhere != NULL);
    write_key(key_file);
    uint64_t n_bytes = 0;
    for (unsigned n = 0; size >= 3 && n < MAX_PIECES; n++) {
        uint8_t piece[RECORD_BYTES], amount = data[1], position = data[2];
        size_t n_piece = RECORD_BYTES;
        memcpy(piece, sealed[data[0] / N_PIECES % N_SEALED], sizeof piece);
        uint8_t kind = data[0] % N_PIECES;
        data += 3;
        size -= 3;
        if (kind == CUT)
            n_piece = position % RECORD_BYTES;
        if (kind == FLIPPED)
            piece[position % RECORD_BYTES] ^= (uint8_t)(amount | 1);
        if (kind == RAW) {
            n_piece = amount < size ? amount : size;
            n_piece = n_piece < RECORD_BYTES ? n_piece : RECORD_BYTES;
            memcpy(piece, data, n_piece);
            data += n_piece;
            size -= n_piece;
        }
        require(fwrite(piece, 1, n_piece, file) == n_piece);
        n_bytes += n_piece;
    }
    require(fflush(file) == 0);
    for (unsigned pass = 0; pass < 3; pass++) {
        tl_records *records = NULL;
        require(tl_records_open(path, key_path, &records, NULL) == TL_OK);
        if (pass == 0)
            check(records, n_bytes);
        else
            require(tl_records_write(records, pass == 1 ? TL_RECORDS_TEXT : TL_RECORDS_JSON, nowhere, NULL) == TL_OK);
        tl_records_free(records);
    }
    fclose(file);
    fclose(key_file);
    fclose(nowhere);
    return 0;
}
