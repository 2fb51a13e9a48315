// SPDX-License-Identifier: MIT
// The sentences of yaml_error.h.
#include "session/yaml_error.h"

#include <stdio.h>

tl_status tl_yaml_fail_at(const tl_yaml_file *file, uint32_t line, const char *format, ...) {
    char sentence[sizeof(tl_error) - 64];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return tl_fail(file->err, TL_EFORMAT, "%.200s:%u: %s", file->name, line, sentence);
}

tl_status tl_yaml_no_memory(const tl_yaml_file *file) { return tl_fail(file->err, TL_ENOMEM, "%.200s: no memory to read it", file->name); }

tl_status tl_yaml_malformed(const tl_yaml_file *file, const yaml_parser_t *parser) {
    const char *problem = parser->problem ? parser->problem : "no memory";
    if (parser->error == YAML_MEMORY_ERROR)
        return tl_yaml_no_memory(file);
    if (parser->error == YAML_READER_ERROR)
        return tl_fail(file->err, TL_EFORMAT, "%.200s: byte %zu: %s; %s is UTF-8 text", file->name, parser->problem_offset, problem,
                       file->noun);
    return tl_yaml_fail_at(file, (uint32_t)parser->problem_mark.line + 1, "not valid YAML: %s", problem);
}
