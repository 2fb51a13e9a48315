// SPDX-License-Identifier: MIT
// Lines of "name: value", each name once.
#include "sealed/key_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "sealed/hash.h"
#include "sealed/record.h"

enum { LINE_BYTES = 256 };
typedef enum name { DEVICE, VM, EPOCH, VALUES, FORM, KEY, IV, N_NAMES } name;
static const char *const names[N_NAMES] = {"device", "vm", "epoch", "values", "form", "key", "iv"};

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_hex(const char *text, uint8_t *ret_bytes, size_t n_bytes) {
    if (strlen(text) != 2 * n_bytes)
        return false;
    for (size_t i = 0; i < n_bytes; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret_bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool read_number(const char *text, uint64_t most, uint64_t *ret_value) {
    return tl_parse_u64(text, TL_SCALE_COUNT, ret_value, NULL) == TL_OK && *ret_value <= most;
}

// NULL: the value is good; else what it must be.
static const char *set(tl_key_file *file, name which, const char *text) {
    uint64_t value = 0;
    switch (which) {
    case DEVICE: return read_number(text, UINT64_MAX, &file->device) ? NULL : "must be a number of 64 bits";
    case VM:
    case EPOCH:
        if (!read_number(text, UINT32_MAX, &value))
            return "must be a number of 32 bits";
        *(which == VM ? &file->vm : &file->epoch) = (uint32_t)value;
        return NULL;
    case VALUES:
        if (!read_number(text, TL_RECORD_MAX_VALUES, &value) || value == 0)
            return "must be 1 to 4096";
        file->n_values = (uint32_t)value;
        return NULL;
    case FORM:
        file->is_literal = !strcmp(text, "literal");
        return file->is_literal || !strcmp(text, "inner") ? NULL : "must be inner or literal";
    case KEY: return read_hex(text, file->key, TL_KEY_BYTES) ? NULL : "must be 64 hexadecimal digits";
    case IV: return read_hex(text, file->iv_mask, TL_NONCE_BYTES) ? NULL : "must be 24 hexadecimal digits";
    default: return "is unknown";
    }
}

static name find(const char *text) {
    name which = DEVICE;
    while (which < N_NAMES && strcmp(names[which], text) != 0)
        which++;
    return which;
}

// Cuts comment and blanks at both ends.
static char *trim(char *text) {
    text[strcspn(text, "#\n")] = '\0';
    text += strspn(text, " \t\r");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1]))
        text[--n] = '\0';
    return text;
}

static tl_status read_lines(FILE *stream, const char *path, tl_key_file *file, char line[LINE_BYTES], unsigned *found, tl_error *err) {
    for (unsigned number = 1; fgets(line, LINE_BYTES, stream); number++) {
        if (!strchr(line, '\n') && !feof(stream))
            return tl_fail(err, TL_EFORMAT, "%s:%u: the line is too long; this is no session key", path, number);
        char *text = trim(line), *colon = strchr(text, ':');
        if (*text == '\0')
            continue;
        if (!colon)
            return tl_fail(err, TL_EFORMAT, "%s:%u: no \"name: value\"; this is no session key", path, number);
        *colon = '\0';
        text = trim(text);
        name which = find(text);
        if (which == N_NAMES)
            return tl_fail(err, TL_EFORMAT, "%s:%u: %.40s is unknown; names are device, vm, epoch, values, form, key, iv", path, number,
                           text);
        if (*found & 1u << which)
            return tl_fail(err, TL_EFORMAT, "%s:%u: %s is there twice; remove one", path, number, names[which]);
        *found |= 1u << which;
        const char *fault = set(file, which, trim(colon + 1));
        if (fault)
            return tl_fail(err, TL_EFORMAT, "%s:%u: %s: %s", path, number, names[which], fault);
    }
    return ferror(stream) ? tl_fail(err, TL_EIO, "%s: cannot be read", path) : TL_OK;
}

tl_status tl_key_file_read(FILE *stream, const char *path, tl_key_file *ret_file, tl_error *err) {
    tl_key_file file = {0};
    char line[LINE_BYTES];
    unsigned found = 0;
    tl_status status = read_lines(stream, path, &file, line, &found, err);
    tl_wipe(line, sizeof line);
    for (name which = DEVICE; status == TL_OK && which < N_NAMES; which++)
        if (which != FORM /* has a default */ && !(found & 1u << which))
            status = tl_fail(err, TL_EFORMAT, "%s: %s is missing", path, names[which]);
    if (status == TL_OK)
        *ret_file = file;
    tl_wipe(&file, sizeof file);
    return status;
}

static bool put_hex(FILE *stream, const char *text, const uint8_t *bytes, size_t n_bytes) {
    bool is_good = fprintf(stream, "%s: ", text) > 0;
    for (size_t i = 0; i < n_bytes; i++)
        is_good = fprintf(stream, "%02x", bytes[i]) > 0 && is_good;
    return fputc('\n', stream) != EOF && is_good;
}

bool tl_key_file_write(const tl_key_file *file, FILE *stream) {
    return fprintf(stream, "device: 0x%" PRIx64 "\nvm: %" PRIu32 "\nepoch: %" PRIu32 "\nvalues: %" PRIu32 "\nform: %s\n", file->device,
                   file->vm, file->epoch, file->n_values, file->is_literal ? "literal" : "inner") > 0 &&
           put_hex(stream, "key", file->key, sizeof file->key) && put_hex(stream, "iv", file->iv_mask, sizeof file->iv_mask);
}
