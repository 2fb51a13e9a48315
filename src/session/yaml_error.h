// SPDX-License-Identifier: MIT
// Sentences on a YAML file: its name, the line, what is wrong there.
#ifndef TL_SESSION_YAML_ERROR_H
#define TL_SESSION_YAML_ERROR_H

#include <stdint.h>

#include <yaml.h>

#include "base/status.h"

typedef struct tl_yaml_file {
    const char *name; // borrowed
    const char *noun; // "a tenants file"
    tl_error *err;    // may be NULL
} tl_yaml_file;

// Lines count from 1. Returns TL_EFORMAT.
tl_status tl_yaml_fail_at(const tl_yaml_file *file, uint32_t line, const char *format, ...) TL_PRINTF(3, 4);
tl_status tl_yaml_no_memory(const tl_yaml_file *file);
// Says why `parser` refused the file. Returns TL_EFORMAT or TL_ENOMEM.
tl_status tl_yaml_malformed(const tl_yaml_file *file, const yaml_parser_t *parser);

#endif
