// SPDX-License-Identifier: MIT
// Machine descriptions: YAML text to tl_config. One table of keys drives reading, range checks, overrides, listings and
// docs/machines.md. Messages name file, line, key, value and remedy: "machines/tiny.yaml:12: l1d.ways = 3: must be a power of two".
#ifndef TL_SESSION_DESCRIPTION_H
#define TL_SESSION_DESCRIPTION_H

#include <stddef.h>

#include "base/parse.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "model/config.h"

typedef enum tl_key_kind { TL_KEY_U32, TL_KEY_U64, TL_KEY_CHOICE, TL_KEY_TEXT } tl_key_kind;

typedef struct tl_key {
    const char *path; // "l1d.ways"
    tl_key_kind kind;
    tl_scale scale;             // numbers: how the value may be written
    uint64_t min, max;          // numbers: the range; text: max is the longest, in bytes
    const char *unit;           // "cycles", "bytes", "Hz" or ""
    const char *const *choices; // TL_KEY_CHOICE: names in order of the enum, NULL-terminated
    const char *rule;           // what must hold beyond the range, or NULL: "a power of two"
    const char *meaning;        // one sentence
    size_t offset;              // in tl_config
} tl_key;

extern const tl_key tl_keys[];
extern const uint32_t tl_n_keys;

// Reads a description. `file_name` is for messages only. Keys that are left out take the value of `base:` (a built-in machine), or
// of rocket. The result has passed tl_config_check.
TL_MUST_CHECK tl_status tl_description_read(const char *text, size_t n_bytes, const char *file_name, tl_config *ret_config, tl_error *err);
// A built-in name ("rocket"), or a file when it has a slash or ends in .yaml or .yml.
TL_MUST_CHECK tl_status tl_description_open(const char *name_or_path, tl_config *ret_config, tl_error *err);

typedef struct tl_builtin_machine {
    const char *name, *text; // "tiny", its YAML
    size_t n_bytes;
} tl_builtin_machine;
uint32_t tl_description_n_builtins(void);
tl_builtin_machine tl_description_builtin(uint32_t index); // in order of listing, rocket first

// Overrides. They check the value against its own row only, so that several can be applied in a row; call tl_config_check (model/config.h) after
// the last one. tl_config_set takes "l1d.ways=4". tl_config_set_cache takes which = "l1i", "l1d" or "l2" and "SIZE,WAYS,LINE", e.g. "32768,8,64" or
// "32KiB,8,64"; trailing parts may be left out ("64KiB"); a line size given here is set for all three caches, since they must agree.
TL_MUST_CHECK tl_status tl_config_set(tl_config *config, const char *assignment, tl_error *err);
TL_MUST_CHECK tl_status tl_config_set_cache(tl_config *config, const char *which, const char *geometry, tl_error *err);

const tl_key *tl_key_find(const char *path); // NULL: no such key
// The value as a description would spell it ("32KiB", "lru").
void tl_key_format(const tl_key *key, const tl_config *config, tl_strbuf *out);
uint64_t tl_key_number(const tl_key *key, const tl_config *config); // TL_KEY_U32, U64, CHOICE (index); 0 for text
// The whole configuration as YAML that reads back to the same config.
void tl_description_write(const tl_config *config, tl_strbuf *out);
// The key table as Markdown: docs/machines.md carries it between two marker lines.
void tl_description_keys_markdown(tl_strbuf *out);

#endif
