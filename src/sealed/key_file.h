// SPDX-License-Identifier: MIT
// A session's key as text: what the owner of a VM keeps to open its records later.
//
//   device: 0x2a
//   vm: 2
//   epoch: 1
//   values: 70
//   form: inner
//   key: 64 hexadecimal digits
//   iv: 24 hexadecimal digits
#ifndef TL_SEALED_KEY_FILE_H
#define TL_SEALED_KEY_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sealed/crypto.h"

typedef struct tl_key_file {
    uint64_t device;
    uint32_t vm, epoch, n_values;
    bool is_literal;
    uint8_t key[TL_KEY_BYTES], iv_mask[TL_NONCE_BYTES];
} tl_key_file;

// TL_EFORMAT: the sentence names `path` and the line. Any text.
TL_MUST_CHECK tl_status tl_key_file_read(FILE *stream, const char *path, tl_key_file *ret_file, tl_error *err);
// False: the stream failed.
bool tl_key_file_write(const tl_key_file *file, FILE *stream);

#endif
