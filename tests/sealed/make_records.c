// SPDX-License-Identifier: MIT
// Writes the files that tests/sealed/run.py needs: a session and its records, and every secret of
// the session. Other software can derive the keys from them and open the records again.
//
//   make_records FOLDER
//
// FOLDER receives records.bin, literal.bin, other.bin (records of another VM) and their .key files.
// Its file session.txt has a line "name hexadecimal" for each secret and each message.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sealed/key_file.h"
#include "sealed/record.h"
#include "sealed/session.h"

enum { N = 70, N_RECORDS = 6, MAX_PATH = 4096 };

static FILE *session_text; // what the watched provider writes to
static const tl_crypto *real;

static void require(bool is_so) {
    if (!is_so)
        abort();
}

static void put(const char *name, const uint8_t *bytes, size_t n_bytes) {
    if (!session_text)
        return;
    fprintf(session_text, "%s ", name);
    for (size_t i = 0; i < n_bytes; i++)
        fprintf(session_text, "%02x", bytes[i]);
    fputc('\n', session_text);
}

static tl_status watched_keygen(uint8_t ret_secret[TL_KEY_BYTES], uint8_t ret_public[TL_KEY_BYTES]) {
    tl_status status = real->keygen(ret_secret, ret_public);
    put("ephemeral", ret_secret, TL_KEY_BYTES); // the VM's first, then the device's
    return status;
}

static FILE *create(const char *folder, const char *name) {
    char path[MAX_PATH];
    require(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
    FILE *file = fopen(path, "wb");
    require(file != NULL);
    return file;
}

static void finish(FILE *file) { require(ferror(file) == 0 && fclose(file) == 0); }

static void write_key(const char *folder, const char *name, const tl_sealed_guest *guest, bool is_literal) {
    tl_key_file file = {.device = guest->expected.device, .vm = guest->vm, .epoch = guest->epoch, .n_values = N, .is_literal = is_literal};
    memcpy(file.key, guest->keys.to_vm.key, sizeof file.key);
    memcpy(file.iv_mask, guest->keys.to_vm.iv_mask, sizeof file.iv_mask);
    FILE *stream = create(folder, name);
    require(tl_key_file_write(&file, stream));
    finish(stream);
}

// Value m of record r is r << 40 | m; metric 3 is unavailable; metric 5 has late units.
static void write_records(const char *folder, const char *name, tl_sealed_device *device, uint32_t vm, bool is_literal) {
    tl_sealed_link *link = tl_sealed_device_link(device, vm);
    uint8_t scratch[64 + 24 * N], record[128 + 24 * N], unavailable[N] = {[3] = 1};
    uint64_t values[N], late[N] = {[5] = 9};
    require(link != NULL);
    tl_record_sender sender = {device->crypto, &link->keys.to_vm, device->identity.device, vm, link->epoch, is_literal, scratch};
    FILE *stream = create(folder, name);
    for (uint64_t r = 1; r <= N_RECORDS; r++) {
        for (uint64_t m = 0; m < N; m++)
            values[m] = r << 40 | m;
        const tl_record_image image = {.gen = 2 * r,
                                       .t_commit = 1000 * r,
                                       .t_active = 900 * r,
                                       .ctx = r % 2 ? TL_RECORD_NO_CTX : 4,
                                       .flags = r == 2 ? 2 : 0, // lossy
                                       .n = N,
                                       .values = values,
                                       .late = late,
                                       .unavailable = unavailable};
        require(tl_record_seal(&sender, &image, 1000 * r + 7, record) == TL_OK);
        require(fwrite(record, tl_record_bytes(N, is_literal), 1, stream) == 1);
    }
    finish(stream);
}

static void open_session(tl_sealed_device *device, tl_sealed_guest *guest) {
    uint8_t hello[TL_HELLO_BYTES], quote[TL_QUOTE_BYTES];
    require(tl_sealed_guest_hello(guest, hello, NULL) == TL_OK);
    require(tl_sealed_device_answer(device, guest->vm, hello, quote, NULL) == TL_OK);
    require(tl_sealed_guest_accept(guest, quote, NULL) == TL_OK);
    put("hello", hello, sizeof hello);
    put("quote", quote, sizeof quote);
    put("d2v_key", guest->keys.to_vm.key, TL_KEY_BYTES);
    put("d2v_iv", guest->keys.to_vm.iv_mask, TL_NONCE_BYTES);
    put("v2d_key", guest->keys.to_device.key, TL_KEY_BYTES);
    put("v2d_iv", guest->keys.to_device.iv_mask, TL_NONCE_BYTES);
}

int main(int argc, char **argv) {
    static tl_sealed_device device;
    const tl_sealed_identity identity = {.device = 0x2a, .protocol = "smpm/1"};
    const uint8_t secret[TL_KEY_BYTES] = {1, 2, 3};
    require(argc == 2 && tl_crypto_get(&real, NULL) == TL_OK);
    tl_crypto watched = *real;
    watched.keygen = watched_keygen;
    require(tl_sealed_device_init(&device, &watched, &identity, secret, NULL) == TL_OK);
    tl_sealed_guest guest = {.crypto = &watched, .expected = device.identity, .vm = 2};
    session_text = create(argv[1], "session.txt");
    put("identity", device.identity.public_key, TL_KEY_BYTES);
    open_session(&device, &guest);
    finish(session_text);
    session_text = NULL;
    write_key(argv[1], "records.key", &guest, false);
    write_records(argv[1], "records.bin", &device, 2, false);

    tl_sealed_guest other = {.crypto = &watched, .expected = device.identity, .vm = 3};
    open_session(&device, &other);
    write_key(argv[1], "other.key", &other, false);
    write_records(argv[1], "other.bin", &device, 3, false);

    open_session(&device, &guest); // epoch 2
    write_key(argv[1], "literal.key", &guest, true);
    write_records(argv[1], "literal.bin", &device, 2, true);
    tl_sealed_device_done(&device);
    return 0;
}
