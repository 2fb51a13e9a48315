// SPDX-License-Identifier: MIT
// tl_records opens sealed records: counter values that a device encrypted for one virtual machine
// and that others carried. The key file comes from the session of that machine. Every record is
// classified; nothing of a record whose tag is wrong is shown.
//
//   tl_records_open("records.bin", "session.key", &records, &err)
//   while (tl_records_next(records, &entry)) ...
//   tl_records_free(records)
//
// A key file has a line for each name: device, vm, epoch, values (per record), key (64 hexadecimal
// digits), iv (24), and optionally form (inner or literal). Text behind # is a comment.
#ifndef TALLY_RECORDS_H
#define TALLY_RECORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>

TL_BEGIN_DECLS

typedef struct tl_records tl_records;

// TL_ENOENT: a file does not exist, or this build has no cryptography. TL_EFORMAT: the key file is
// none; the error names the line. TL_EIO, TL_EACCESS: a file cannot be read.
TL_MUST_CHECK TL_API tl_status tl_records_open(const char *records_path, const char *key_path, tl_records **ret_records, tl_error *err);
TL_API void tl_records_free(tl_records *records); // erases the key; NULL is fine

typedef enum tl_record_flag {
    TL_RECORD_FLAG_OVERFLOW = 1 << 0,    // a counter overflowed on the way
    TL_RECORD_FLAG_LOSSY = 1 << 1,       // counts were lost on the way
    TL_RECORD_FLAG_UNAVAILABLE = 1 << 2, // the value is no count
    TL_RECORD_FLAG_SATURATED = 1 << 3,   // a counter held its maximum
} tl_record_flag;

// One record, or bytes that are none. Pointers are valid until the next call.
typedef struct tl_record_entry {
    uint32_t size; // set by the caller to sizeof(tl_record_entry)
    // One of "good", "short", "malformed", "foreign", "old_epoch", "next_epoch", "forged",
    // "replayed", "reordered".
    const char *verdict;
    bool is_good;                   // the members below n_lost are 0 if not
    uint64_t offset_bytes, n_bytes; // in the file
    // As claimed, if the record is not good. The same holds for epoch, vm and t_cycle.
    uint64_t seq;
    uint32_t epoch, vm;
    uint64_t t_cycle;            // cycle in which the record was sent
    uint64_t n_lost;             // records that are missing before this one
    uint32_t ctx;                // process within the virtual machine; UINT32_MAX: the whole of it
    uint32_t flags;              // of all values, tl_record_flag
    uint64_t gen;                // grows when the values may have changed
    uint64_t t_commit, t_active; // cycles; 0 in the literal form, which does not have them
    uint32_t n_values;
} tl_record_entry;

// False: the file ends.
TL_API bool tl_records_next(tl_records *records, tl_record_entry *ret_entry);
// One value of the entry that tl_records_next returned last, and its flags. `late` counts what
// arrived while the process did not run. Any index; beyond n_values the value is unavailable.
typedef struct tl_record_value {
    uint32_t size; // set by the caller to sizeof(tl_record_value)
    uint32_t flags;
    uint64_t count, late; // 0 if unavailable
} tl_record_value;
TL_API void tl_records_value(const tl_records *records, uint32_t index, tl_record_value *ret_value);

typedef struct tl_records_summary {
    uint32_t size; // set by the caller to sizeof(tl_records_summary)
    uint64_t n_entries, n_good, n_lost;
} tl_records_summary;
// Sums up the entries that tl_records_next returned.
TL_API void tl_records_summary_of(const tl_records *records, tl_records_summary *ret_summary);

typedef enum tl_records_format {
    TL_RECORDS_TEXT,
    TL_RECORDS_JSON, // one object a line, schema "tally.records/1"
} tl_records_format;

// Writes all entries from the next on, and a summary.
TL_MUST_CHECK TL_API tl_status tl_records_write(tl_records *records, tl_records_format format, FILE *stream, tl_error *err);

TL_END_DECLS

#endif
