// SPDX-License-Identifier: MIT
// tally/records.h: a file of sealed records, one after the other, all of one size. Where one is
// damaged, the next header of this size is looked for, because a truncated record shifts all that
// follow.
#include <tally/records.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/fill.h"
#include "report/records.h"
#include "sealed/hash.h"
#include "sealed/key_file.h"
#include "sealed/record.h"

struct tl_records {
    uint8_t *bytes;
    size_t n_bytes, at;
    size_t record_bytes;
    tl_seal_key key;
    tl_record_receiver receiver;
    tl_record_image image; // of the entry that was returned last
    bool is_good;
    tl_records_summary summary;
};

static tl_status host_error(const char *path, tl_error *err) {
    tl_status status = errno == ENOENT ? TL_ENOENT : errno == EACCES ? TL_EACCESS : TL_EIO;
    return tl_fail(err, status, "%s: %s", path, strerror(errno));
}

static tl_status read_all(const char *path, uint8_t **ret_bytes, size_t *ret_n_bytes, tl_error *err) {
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return host_error(path, err);
    size_t n = 0, capacity = 0;
    uint8_t *bytes = NULL;
    tl_status status = TL_OK;
    for (;;) {
        if (n == capacity) {
            uint8_t *larger = realloc(bytes, capacity = capacity ? 2 * capacity : 65536);
            if (!larger) {
                status = tl_fail(err, TL_ENOMEM, "%s: the host has no memory left", path);
                break;
            }
            bytes = larger;
        }
        size_t part = fread(bytes + n, 1, capacity - n, stream);
        n += part;
        if (part > 0)
            continue;
        if (ferror(stream))
            status = host_error(path, err);
        break;
    }
    fclose(stream);
    if (status != TL_OK) {
        free(bytes);
        return status;
    }
    *ret_bytes = bytes;
    *ret_n_bytes = n;
    return TL_OK;
}

static tl_status read_key(const char *path, tl_key_file *ret_file, tl_error *err) {
    FILE *stream = fopen(path, "r");
    if (!stream)
        return host_error(path, err);
    setvbuf(stream, NULL, _IONBF, 0); // no copy of the key stays in a buffer
    tl_status status = tl_key_file_read(stream, path, ret_file, err);
    fclose(stream);
    return status;
}

static bool allocate_image(tl_records *records, uint32_t n) {
    records->image.values = calloc(n, sizeof *records->image.values);
    records->image.late = calloc(n, sizeof *records->image.late);
    records->image.unavailable = calloc(n, sizeof *records->image.unavailable);
    records->receiver.scratch = malloc(tl_record_payload_bytes(n, records->receiver.is_literal));
    return records->image.values && records->image.late && records->image.unavailable && records->receiver.scratch;
}

TL_API tl_status tl_records_open(const char *records_path, const char *key_path, tl_records **ret_records, tl_error *err) {
    const tl_crypto *crypto;
    tl_key_file file;
    tl_status status = tl_crypto_get(&crypto, err);
    if (status == TL_OK)
        status = read_key(key_path, &file, err);
    if (status != TL_OK)
        return status;
    tl_records *records = calloc(1, sizeof *records);
    if (records) {
        tl_seal_key_init(&records->key, file.key, file.iv_mask, NULL);
        records->record_bytes = tl_record_bytes(file.n_values, file.is_literal);
        records->receiver = (tl_record_receiver){.crypto = crypto,
                                                 .key = &records->key,
                                                 .device = file.device,
                                                 .vm = file.vm,
                                                 .epoch = file.epoch,
                                                 .n = file.n_values,
                                                 .is_literal = file.is_literal};
    }
    if (!records || !allocate_image(records, file.n_values))
        status = tl_fail(err, TL_ENOMEM, "%s: the host has no memory left", records_path);
    tl_wipe(&file, sizeof file);
    if (status == TL_OK)
        status = read_all(records_path, &records->bytes, &records->n_bytes, err);
    if (status != TL_OK) {
        tl_records_free(records);
        return status;
    }
    *ret_records = records;
    return TL_OK;
}

TL_API void tl_records_free(tl_records *records) {
    if (!records)
        return;
    tl_seal_key_done(&records->key);
    free(records->image.values);
    free(records->image.late);
    free(records->image.unavailable);
    free(records->receiver.scratch);
    free(records->bytes);
    free(records);
}

// The first place from `from` on where a record of this configuration may begin; the end if none.
static size_t next_header(const tl_records *records, size_t from) {
    uint32_t n_payload = tl_record_payload_bytes(records->receiver.n, records->receiver.is_literal);
    tl_record_header header;
    for (size_t at = from; at < records->n_bytes; at++)
        if (tl_record_read_header(records->bytes + at, records->n_bytes - at, &header) && header.payload_bytes == n_payload &&
            header.n == records->receiver.n)
            return at;
    return records->n_bytes;
}

TL_API bool tl_records_next(tl_records *records, tl_record_entry *ret_entry) {
    size_t left = records->n_bytes - records->at, n = left < records->record_bytes ? left : records->record_bytes;
    tl_record_header header;
    tl_record_entry entry = {.offset_bytes = records->at};
    records->is_good = false;
    if (left == 0)
        return false;
    tl_record_class class = tl_record_open(&records->receiver, records->bytes + records->at, n, 0, &header, &records->image, &entry.n_lost);
    if (class == TL_RECORD_FORGED || class == TL_RECORD_MALFORMED || class == TL_RECORD_SHORT) {
        // A truncated record has the next one's bytes where its own should be.
        size_t next = next_header(records, records->at + 1);
        bool is_cut = class == TL_RECORD_FORGED && next < records->at + records->record_bytes;
        n = class == TL_RECORD_FORGED && !is_cut ? n : next - records->at;
        class = is_cut ? TL_RECORD_SHORT : class;
    }
    records->at += n;
    entry.verdict = tl_record_class_names[class];
    entry.is_good = records->is_good = class == TL_RECORD_GOOD;
    entry.n_bytes = n;
    entry.seq = header.seq;
    entry.epoch = header.epoch;
    entry.vm = header.vm;
    entry.t_cycle = header.t_cycle;
    if (entry.is_good) {
        entry.ctx = records->image.ctx;
        entry.flags = records->image.flags;
        entry.gen = records->image.gen;
        entry.t_commit = records->image.t_commit;
        entry.t_active = records->image.t_active;
        entry.n_values = records->image.n;
    }
    records->summary.n_entries++;
    records->summary.n_good += entry.is_good;
    records->summary.n_lost += entry.n_lost;
    tl_api_fill(ret_entry, &entry, sizeof entry);
    return true;
}

TL_API void tl_records_value(const tl_records *records, uint32_t index, tl_record_value *ret_value) {
    tl_record_value value = {.flags = TL_RECORD_FLAG_UNAVAILABLE};
    if (records->is_good && index < records->image.n) {
        value.flags = records->image.flags | (records->image.unavailable[index] ? TL_RECORD_FLAG_UNAVAILABLE : 0);
        value.count = records->image.values[index];
        value.late = records->image.late[index];
    }
    tl_api_fill(ret_value, &value, sizeof value);
}

TL_API void tl_records_summary_of(const tl_records *records, tl_records_summary *ret_summary) {
    tl_api_fill(ret_summary, &records->summary, sizeof records->summary);
}

static void value_of(const void *source, uint32_t index, tl_record_value *ret_value) { tl_records_value(source, index, ret_value); }

TL_API tl_status tl_records_write(tl_records *records, tl_records_format format, FILE *stream, tl_error *err) {
    tl_json json;
    tl_record_entry entry = {.size = sizeof entry};
    bool is_json = format == TL_RECORDS_JSON;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    if (is_json)
        tl_report_records_header_json(&json);
    while (tl_records_next(records, &entry)) {
        if (is_json)
            tl_report_record_json(&entry, value_of, records, &json);
        else
            tl_report_record_text(&entry, records->summary.n_entries, value_of, records, stream);
    }
    if (is_json) {
        tl_report_records_summary_json(&records->summary, &json);
        return tl_json_flush(&json, err);
    }
    tl_report_records_summary_text(&records->summary, stream);
    return fflush(stream) == 0 && !ferror(stream) ? TL_OK : tl_fail(err, TL_EIO, "the output: %s", strerror(errno));
}
