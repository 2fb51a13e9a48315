// SPDX-License-Identifier: MIT
// Machine descriptions: YAML text to tl_config. The table of keys (model/config_keys.h) drives
// reading, range checks, overrides, listings and docs/machines.md. Messages name file, line, key,
// value and remedy: "machines/tiny.yaml:12: l1d.ways = 3: must be a power of two".
#ifndef TL_SESSION_DESCRIPTION_H
#define TL_SESSION_DESCRIPTION_H

#include <stddef.h>

#include "base/status.h"
#include "base/strbuf.h"
#include "machine/keys.h"

// Reads a description. `file_name` is for messages only. Keys that are left out take the value of
// `base:` (a built-in machine), or of rocket. The result has passed tl_config_check.
TL_MUST_CHECK tl_status tl_description_read(const char *text, size_t n_bytes, const char *file_name, tl_config *ret_config, tl_error *err);
// A built-in name ("rocket"), or a file when it has a slash or ends in .yaml or .yml.
TL_MUST_CHECK tl_status tl_description_open(const char *name_or_path, tl_config *ret_config, tl_error *err);

// Says file and line of the key with which a sentence of a later check begins ("l1d.ways = 3:
// ..."). Returns TL_EFORMAT, or why the file cannot be read again.
tl_status tl_description_blame(const char *name_or_path, const tl_error *why, tl_error *err);

typedef struct tl_builtin_machine {
    const char *name, *text; // "tiny", its YAML
    size_t n_bytes;
} tl_builtin_machine;
uint32_t tl_description_n_builtins(void);
tl_builtin_machine tl_description_builtin(uint32_t index); // in order of listing, rocket first

// Overrides. They check the value against its own row only, so that several can be applied in a
// row; call tl_config_check (model/config.h) after the last one. tl_config_set takes "l1d.ways=4".
// tl_config_set_cache takes which = "l1i", "l1d" or "l2" and "SIZE,WAYS,LINE", e.g. "32768,8,64" or
// "32KiB,8,64"; trailing parts may be left out ("64KiB"); a line size given here is set for all
// three caches, since they must agree.
TL_MUST_CHECK tl_status tl_config_set(tl_config *config, const char *assignment, tl_error *err);
TL_MUST_CHECK tl_status tl_config_set_cache(tl_config *config, const char *which, const char *geometry, tl_error *err);

// The value as a description would spell it ("32KiB", "lru").
void tl_key_format(const tl_key *key, const tl_config *config, tl_strbuf *out);
// The whole configuration as YAML that reads back to the same config.
void tl_description_write(const tl_config *config, tl_strbuf *out);
// The key table as Markdown: docs/machines.md carries it between two marker lines.
void tl_description_keys_markdown(tl_strbuf *out);

#endif
