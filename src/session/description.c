// SPDX-License-Identifier: MIT
// Reads machine descriptions in two steps: libyaml's events are collected as (key, value, line),
// all structure checked on the way; then the base machine is taken and the values are applied
// through the table of keys. A description is two levels deep at most and has no aliases, so
// whatever else a file contains ends the reading where it stands.
#include "session/description.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/bits.h"
#include "base/embedded.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "session/yaml_error.h"

enum {
    MAX_FILE_BYTES = 64 * 1024,
    MAX_PATH_BYTES = 64,
    MAX_VALUE_BYTES = 256,
    MAX_BASES = 4, // a machine may be based on one that is based on another, so often
};

static const char *const BASE = "base"; // the one key that is no value of tl_config

typedef struct entry {
    const tl_key *key; // NULL: base
    uint32_t line;
    char value[MAX_VALUE_BYTES];
} entry;

typedef struct reader {
    tl_yaml_file file;
    yaml_parser_t parser;
    entry *entries; // [TL_MAX_KEYS + 1], so that every key fits once
    uint32_t n_entries;
} reader;

#define fail_at(r, ...) tl_yaml_fail_at(&(r)->file, __VA_ARGS__)

static uint32_t line_of(const yaml_event_t *event) { return (uint32_t)event->start_mark.line + 1; }

// Every key and section, for suggestions.
static void offer_keys(tl_nearest *nearest) {
    tl_key_list list;
    tl_key_list_init(&list);
    for (uint32_t i = 0; i < list.n; i++) {
        char section[MAX_PATH_BYTES];
        snprintf(section, sizeof section, "%.*s", (int)strcspn(list.keys[i]->path, "."), list.keys[i]->path);
        tl_nearest_offer(nearest, list.keys[i]->path);
        tl_nearest_offer(nearest, section);
    }
    tl_nearest_offer(nearest, BASE);
}

// The nearest keys; if none is near, those with the same last part ("cache.ways"), or the place
// where all are.
static const char *suggestion(const char *path, char *text, size_t size_bytes) {
    tl_nearest nearest;
    tl_nearest_init(&nearest, path);
    offer_keys(&nearest);
    if (*tl_nearest_text(&nearest, text, size_bytes))
        return text;
    const char *dot = strrchr(path, '.'), *last = dot ? dot + 1 : path;
    size_t used = 0;
    uint32_t n_found = 0;
    tl_key_list list;
    tl_key_list_init(&list);
    for (uint32_t i = 0; i < list.n && n_found < TL_NEAREST_MAX; i++) {
        const char *of = strrchr(list.keys[i]->path, '.');
        if (!of || strcmp(of + 1, last) != 0)
            continue;
        int n = snprintf(text + used, size_bytes - used, "%s%s", n_found++ ? ", " : "; did you mean one like ", list.keys[i]->path);
        used += (size_t)n < size_bytes - used ? (size_t)n : 0;
    }
    if (n_found > 0)
        snprintf(text + used, size_bytes - used, "?");
    else
        snprintf(text, size_bytes, "; tally list keys names them all");
    return text;
}

static tl_status unknown_key(const reader *r, uint32_t line, const char *path) {
    char text[256];
    suggestion(path, text, sizeof text);
    return fail_at(r, line, "%s: unknown key%s", path, text);
}

// Which entry an event may become: a new one with its key found. `path` is complete.
static tl_status new_entry(reader *r, uint32_t line, const char *path, entry **ret_entry) {
    bool is_base = strcmp(path, BASE) == 0;
    const tl_key *key = tl_key_find(path);
    if (!is_base && !key)
        return unknown_key(r, line, path);
    for (uint32_t i = 0; i < r->n_entries; i++)
        if (r->entries[i].key == key)
            return fail_at(r, line, "%s: given twice, first on line %u; remove one", path, r->entries[i].line);
    entry *e = &r->entries[r->n_entries++];
    *e = (entry){.key = key, .line = line};
    *ret_entry = e;
    return TL_OK;
}

static tl_status next_event(reader *r, yaml_event_t *event) {
    if (!yaml_parser_parse(&r->parser, event))
        return tl_yaml_malformed(&r->file, &r->parser);
    bool is_marked = (event->type == YAML_SCALAR_EVENT && (event->data.scalar.anchor || event->data.scalar.tag)) ||
                     (event->type == YAML_MAPPING_START_EVENT && (event->data.mapping_start.anchor || event->data.mapping_start.tag)) ||
                     (event->type == YAML_SEQUENCE_START_EVENT && (event->data.sequence_start.anchor || event->data.sequence_start.tag));
    if (event->type != YAML_ALIAS_EVENT && !is_marked)
        return TL_OK;
    tl_status status = fail_at(r, line_of(event), "anchors, aliases and tags are not supported; write the value itself");
    yaml_event_delete(event);
    return status;
}

// A key: section + name joined in path. The event is a scalar.
static tl_status join_path(const reader *r, const yaml_event_t *event, const char *section, char path[MAX_PATH_BYTES]) {
    const char *name = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    bool is_plain = length > 0 && strlen(name) == length && strcspn(name, " \t\r\n") == length;
    if (!is_plain || strlen(section) + 1 + length >= MAX_PATH_BYTES)
        return fail_at(r, line_of(event), "'%.40s': not a key; a key is one short word", name);
    snprintf(path, MAX_PATH_BYTES, "%s%s%s", section, *section ? "." : "", name);
    return TL_OK;
}

static tl_status take_value(reader *r, const yaml_event_t *event, const char *path, uint32_t key_line) {
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (tl_key_is_section(path))
        return fail_at(r, key_line, "%s: is a section; write its keys below it, indented", path);
    entry *e = NULL;
    tl_status status = new_entry(r, key_line, path, &e);
    if (status != TL_OK)
        return status;
    if (is_plain && (length == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
        return fail_at(r, key_line, "%s: has no value; write one, or remove the line", path);
    if (length >= sizeof e->value || strlen(text) != length)
        return fail_at(r, key_line, "%s: the value %s", path, length >= sizeof e->value ? "is too long" : "has a NUL character");
    memcpy(e->value, text, length + 1);
    return TL_OK;
}

// The mapping that has just begun, up to its end. `section` is "" at the top.
static tl_status read_mapping(reader *r, const char *section) {
    for (;;) {
        yaml_event_t event;
        char path[MAX_PATH_BYTES];
        tl_status status = next_event(r, &event);
        if (status != TL_OK)
            return status;
        uint32_t key_line = line_of(&event);
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return TL_OK;
        }
        status = event.type == YAML_SCALAR_EVENT ? join_path(r, &event, section, path)
                                                 : fail_at(r, key_line, "a list or a mapping cannot be a key; a key is one short word");
        yaml_event_delete(&event);
        if (status == TL_OK)
            status = next_event(r, &event);
        if (status != TL_OK)
            return status;
        bool is_nested = event.type == YAML_MAPPING_START_EVENT;
        if (event.type == YAML_SCALAR_EVENT)
            status = take_value(r, &event, path, key_line);
        else if (!is_nested)
            status = fail_at(r, key_line, "%s: must be one value, not a list", path);
        else if (*section || (!tl_key_is_section(path) && (tl_key_find(path) || strcmp(path, BASE) == 0)))
            status = fail_at(r, key_line, "%s: must be one value, not a section", path);
        else if (!tl_key_is_section(path))
            status = unknown_key(r, key_line, path);
        yaml_event_delete(&event);
        if (status == TL_OK && is_nested)
            status = read_mapping(r, path); // one level: section is not empty there
        if (status != TL_OK)
            return status;
    }
}

static tl_status expect(reader *r, yaml_event_type_t type, const char *otherwise) {
    yaml_event_t event;
    tl_status status = next_event(r, &event);
    if (status != TL_OK)
        return status;
    if (event.type != type)
        status = fail_at(r, line_of(&event), "%s", otherwise);
    yaml_event_delete(&event);
    return status;
}

static tl_status read_events(reader *r) {
    static const char *const not_a_mapping =
        "not a machine description; it is a list of lines of the form `key: value`, the first of them `name:`";
    tl_status status = expect(r, YAML_STREAM_START_EVENT, not_a_mapping);
    if (status == TL_OK)
        status = expect(r, YAML_DOCUMENT_START_EVENT, "empty; a machine description needs at least `name:`");
    if (status == TL_OK)
        status = expect(r, YAML_MAPPING_START_EVENT, not_a_mapping);
    if (status == TL_OK)
        status = read_mapping(r, "");
    if (status == TL_OK)
        status = expect(r, YAML_DOCUMENT_END_EVENT, not_a_mapping);
    if (status == TL_OK)
        status = expect(r, YAML_STREAM_END_EVENT, "a second document begins here; one file describes one machine");
    return status;
}

static const char *choices_text(const tl_key *key, char *text, size_t size_bytes) {
    size_t n = 0;
    for (uint32_t i = 0; key->choices[i] && n < size_bytes; i++)
        n += (size_t)snprintf(text + n, size_bytes - n, "%s%s", i == 0 ? "" : key->choices[i + 1] ? ", " : " or ", key->choices[i]);
    return text;
}

// TL_EINVAL with what must be; the caller puts "key = value: " in front.
static tl_status set_value(const tl_key *key, const char *value, tl_config *config, tl_error *err) {
    char text[300];
    uint64_t number = 0;
    if (key->kind == TL_KEY_TEXT) {
        size_t n = strlen(value);
        if (n < key->min || n > key->max)
            return tl_fail(err, TL_EINVAL, "must have %" PRIu64 " to %" PRIu64 " bytes", key->min, key->max);
        memcpy((char *)config + key->offset, value, n + 1);
        return TL_OK;
    }
    if (key->kind == TL_KEY_CHOICE) {
        while (key->choices[number] && strcmp(key->choices[number], value) != 0)
            number++;
        if (!key->choices[number])
            return tl_fail(err, TL_EINVAL, "must be %s", choices_text(key, text, sizeof text));
    } else {
        tl_error why;
        if (tl_parse_u64(value, key->scale, &number, &why) != TL_OK)
            return tl_fail(err, TL_EINVAL, "%s", why.text);
        tl_status status = tl_key_check_number(key, number, err);
        if (status != TL_OK)
            return status;
    }
    tl_key_set_number(key, config, number);
    return TL_OK;
}

static const tl_embedded_file *find_builtin(const char *name) {
    for (uint32_t i = 0; i < tl_machine_files_count; i++)
        if (strcmp(tl_machine_files[i].name, name) == 0)
            return &tl_machine_files[i];
    return NULL;
}

static tl_status read_description(const char *text, size_t n_bytes, const char *file_name, uint32_t n_bases, const tl_error *why,
                                  tl_config *ret_config, tl_error *err);

// "rocket, lowrisc2, tiny"
static void list_builtins(tl_strbuf *out) {
    for (uint32_t i = 0; i < tl_machine_files_count; i++)
        tl_strbuf_addf(out, "%s%s", i == 0 ? "" : ", ", tl_machine_files[i].name);
}

static tl_status read_base(const reader *r, const entry *base, uint32_t n_bases, tl_config *ret_config) {
    const tl_embedded_file *file = find_builtin(base->value);
    if (!file) {
        tl_strbuf names = {0};
        list_builtins(&names);
        tl_status status = fail_at(r, base->line, "base = %.60s: must be a built-in machine: %s", base->value, tl_strbuf_text(&names));
        tl_strbuf_done(&names);
        return status;
    }
    if (n_bases == MAX_BASES)
        return fail_at(r, base->line, "base = %.60s: machines are based on each other too often", base->value);
    return read_description(file->text, file->n_bytes, file->name, n_bases + 1, NULL, ret_config, r->file.err);
}

static const entry *find_entry(const reader *r, const char *path) {
    for (uint32_t i = 0; i < r->n_entries; i++)
        if (strcmp(r->entries[i].key ? r->entries[i].key->path : BASE, path) == 0)
            return &r->entries[i];
    return NULL;
}

// The last one of the same section.
static const entry *find_sibling(const reader *r, const char *path) {
    size_t n_section = strcspn(path, ".");
    for (uint32_t i = r->n_entries; i-- > 0;)
        if (r->entries[i].key && strncmp(r->entries[i].key->path, path, n_section) == 0 && r->entries[i].key->path[n_section] == '.')
            return &r->entries[i];
    return NULL;
}

// `why` begins with a key: "l1d.ways = 3: must ...".
static tl_status blame(const reader *r, const char *of, const tl_error *why) {
    char path[MAX_PATH_BYTES];
    snprintf(path, sizeof path, "%.*s", (int)strcspn(why->text, " :"), why->text);
    const entry *e = find_entry(r, path);
    if (e)
        return fail_at(r, e->line, "%s", why->text);
    e = find_sibling(r, path);
    if (e) // an inherited value clashes with one given here
        return fail_at(r, e->line, "with the %s of %s, %s", path, of, why->text);
    return tl_fail(r->file.err, TL_EFORMAT, "%.200s: with values of %s, %.200s", r->file.name, of, why->text);
}

static tl_status apply(const reader *r, uint32_t n_bases, tl_config *ret_config) {
    tl_config config;
    const entry *base = find_entry(r, BASE);
    if (!find_entry(r, "name"))
        return tl_fail(r->file.err, TL_EFORMAT, "%.200s: name: is missing; a description must name its machine", r->file.name);
    if (base) {
        tl_status status = read_base(r, base, n_bases, &config);
        if (status != TL_OK)
            return status;
    } else {
        tl_config_default(&config);
    }
    char of[sizeof config.name];
    memcpy(of, config.name, sizeof of);
    snprintf(config.summary, sizeof config.summary, "A variant of %s.", of);
    for (uint32_t i = 0; i < r->n_entries; i++) {
        const entry *e = &r->entries[i];
        tl_error why;
        if (e->key && set_value(e->key, e->value, &config, &why) != TL_OK)
            return fail_at(r, e->line, "%s = %.60s: %s", e->key->path, e->value, why.text);
    }

    tl_error why;
    if (tl_keys_check(&config, &why) != TL_OK)
        return blame(r, of, &why);
    *ret_config = config;
    return TL_OK;
}

// why: NULL, or a sentence whose key the description is to be blamed for.
static tl_status read_description(const char *text, size_t n_bytes, const char *file_name, uint32_t n_bases, const tl_error *why,
                                  tl_config *ret_config, tl_error *err) {
    reader r = {.file = {file_name, "a description", err}};
    if (n_bytes > MAX_FILE_BYTES)
        return tl_fail(err, TL_EFORMAT, "%.200s: larger than %d KiB; this cannot be a machine description", file_name,
                       MAX_FILE_BYTES / 1024);
    r.entries = calloc(TL_MAX_KEYS + 1, sizeof *r.entries);
    if (!r.entries || !yaml_parser_initialize(&r.parser)) {
        free(r.entries);
        return tl_fail(err, TL_ENOMEM, "%.200s: no memory to read it", file_name);
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n_bytes);
    tl_status status = read_events(&r);
    if (status == TL_OK)
        status = why ? blame(&r, find_entry(&r, BASE) ? find_entry(&r, BASE)->value : "rocket", why) : apply(&r, n_bases, ret_config);
    yaml_parser_delete(&r.parser);
    free(r.entries);
    return status;
}

tl_status tl_description_read(const char *text, size_t n_bytes, const char *file_name, tl_config *ret_config, tl_error *err) {
    return read_description(text, n_bytes, file_name, 0, NULL, ret_config, err);
}

static tl_status read_file(const char *path, const tl_error *why, tl_config *ret_config, tl_error *err) {
    FILE *file = fopen(path, "rbe");
    if (!file) {
        tl_status status = errno == ENOENT || errno == ENOTDIR ? TL_ENOENT : errno == EACCES ? TL_EACCESS : TL_EIO;
        return tl_fail(err, status, "%.200s: cannot open this machine description: %s", path, strerror(errno));
    }
    char *text = malloc(MAX_FILE_BYTES + 1); // one more, so that a larger file is seen to be larger
    errno = 0;
    size_t n_bytes = text ? fread(text, 1, MAX_FILE_BYTES + 1, file) : 0;
    tl_status status = TL_OK;
    if (!text)
        status = tl_fail(err, TL_ENOMEM, "%.200s: no memory to read it", path);
    else if (ferror(file))
        status = tl_fail(err, TL_EIO, "%.200s: cannot read this machine description: %s", path, strerror(errno));
    else
        status = read_description(text, n_bytes, path, 0, why, ret_config, err);
    free(text);
    fclose(file);
    return status;
}

static bool ends_with(const char *text, const char *end) {
    size_t n_text = strlen(text), n_end = strlen(end);
    return n_text >= n_end && strcmp(text + n_text - n_end, end) == 0;
}

static bool is_path(const char *name_or_path) {
    return strchr(name_or_path, '/') || ends_with(name_or_path, ".yaml") || ends_with(name_or_path, ".yml");
}

tl_status tl_description_blame(const char *name_or_path, const tl_error *why, tl_error *err) {
    return is_path(name_or_path) ? read_file(name_or_path, why, NULL, err) : tl_fail(err, TL_EFORMAT, "%s", why->text);
}

tl_status tl_description_open(const char *name_or_path, tl_config *ret_config, tl_error *err) {
    if (is_path(name_or_path))
        return read_file(name_or_path, NULL, ret_config, err);
    const tl_embedded_file *file = find_builtin(name_or_path);
    if (file)
        return tl_description_read(file->text, file->n_bytes, file->name, ret_config, err);

    tl_nearest nearest;
    char text[256];
    tl_strbuf names = {0};
    tl_nearest_init(&nearest, name_or_path);
    list_builtins(&names);
    for (uint32_t i = 0; i < tl_machine_files_count; i++)
        tl_nearest_offer(&nearest, tl_machine_files[i].name);
    tl_nearest_text(&nearest, text, sizeof text);
    tl_status status = tl_fail(err, TL_ENOENT, "unknown machine '%.60s'%s %s in are %s; a file is named with a slash or .yaml at the end",
                               name_or_path, *text ? text : ";", *text ? "Built" : "built", tl_strbuf_text(&names));
    tl_strbuf_done(&names);
    return status;
}

uint32_t tl_description_n_builtins(void) { return tl_machine_files_count; }

tl_builtin_machine tl_description_builtin(uint32_t index) {
    const tl_embedded_file *file = &tl_machine_files[index];
    return (tl_builtin_machine){.name = file->name, .text = file->text, .n_bytes = file->n_bytes};
}

tl_status tl_config_set(tl_config *config, const char *assignment, tl_error *err) {
    char path[MAX_PATH_BYTES], text[256];
    const char *equals = strchr(assignment, '=');
    size_t n_path = equals ? (size_t)(equals - assignment) : 0;
    if (n_path == 0 || n_path >= sizeof path)
        return tl_fail(err, TL_EINVAL, "'%.60s': write KEY=VALUE, such as l1d.ways=4", assignment);
    memcpy(path, assignment, n_path);
    path[n_path] = '\0';
    const tl_key *key = tl_key_find(path);
    if (!key)
        return tl_fail(err, TL_ENOENT, "%s: unknown key of a machine description%s", path, suggestion(path, text, sizeof text));
    tl_error why;
    if (set_value(key, equals + 1, config, &why) != TL_OK)
        return tl_fail(err, TL_EINVAL, "%s = %.60s: %s", path, equals + 1, why.text);
    return TL_OK;
}

tl_status tl_config_set_cache(tl_config *config, const char *which, const char *geometry, tl_error *err) {
    static const char *const parts[] = {"size", "ways", "line"};
    tl_config changed = *config;
    const char *rest = geometry;
    for (uint32_t i = 0; rest; i++) {
        char value[40], path[MAX_PATH_BYTES];
        size_t n = strcspn(rest, ",");
        if (i == TL_COUNT_OF(parts) || n == 0 || n >= sizeof value)
            return tl_fail(err, TL_EINVAL, "%s = %.60s: write SIZE,WAYS,LINE, such as 32KiB,8,64", which, geometry);
        snprintf(path, sizeof path, "%s.%s", which, parts[i]);
        memcpy(value, rest, n);
        value[n] = '\0';
        rest = rest[n] ? rest + n + 1 : NULL;
        const tl_key *key = tl_key_find(path);
        if (!key)
            return tl_fail(err, TL_EINVAL, "%s: no such cache; there are l1i, l1d and l2", which);
        tl_error why;
        if (set_value(key, value, &changed, &why) != TL_OK)
            return tl_fail(err, TL_EINVAL, "%s = %.60s: %s %s", which, geometry, parts[i], why.text);
        if (i == 2)
            changed.l1i.line_bytes = changed.l1d.line_bytes = changed.l2.line_bytes = (uint32_t)tl_key_number(key, &changed);
    }
    *config = changed;
    return TL_OK;
}

static void format_text(const char *text, tl_strbuf *out) { // as a double-quoted scalar, in ASCII
    tl_strbuf_add_char(out, '"');
    size_t n_left = strlen(text), length = 0;
    for (const char *p = text; n_left > 0; p += length, n_left -= length) {
        uint32_t code = 0;
        length = tl_utf8_length(p, n_left, &code);
        if (length == 1 && code >= 0x20 && code < 0x7f)
            tl_strbuf_addf(out, "%s%c", *p == '"' || *p == '\\' ? "\\" : "", *p);
        else
            tl_strbuf_addf(out, "\\U%08" PRIX32, length > 0 ? code : 0xfffd);
        length += length == 0;
    }
    tl_strbuf_add_char(out, '"');
}

void tl_key_format(const tl_key *key, const tl_config *config, tl_strbuf *out) {
    char text[32];
    uint64_t number = tl_key_number(key, config);
    switch (key->kind) {
    case TL_KEY_TEXT: tl_strbuf_add(out, tl_key_text(key, config)); break;
    case TL_KEY_CHOICE: tl_strbuf_add(out, number <= key->max ? key->choices[number] : "?"); break;
    case TL_KEY_U32:
    case TL_KEY_U64:
        tl_format_u64(number, key->scale, text);
        tl_strbuf_add(out, text);
        break;
    }
}

void tl_description_write(const tl_config *config, tl_strbuf *out) {
    tl_key_list list;
    tl_key_list_of(config, &list);
    const char *section = "";
    size_t n_section = 0;
    for (uint32_t i = 0; i < list.n; i++) {
        const tl_key *key = list.keys[i];
        const char *dot = strchr(key->path, '.');
        if (dot && (strncmp(key->path, section, n_section) != 0 || (size_t)(dot - key->path) != n_section)) {
            section = key->path;
            n_section = (size_t)(dot - key->path);
            tl_strbuf_addf(out, "%.*s:\n", (int)n_section, section);
        }
        tl_strbuf_addf(out, "%s%s: ", dot ? "  " : "", dot ? dot + 1 : key->path);
        if (key->kind == TL_KEY_TEXT)
            format_text(tl_key_text(key, config), out);
        else
            tl_key_format(key, config, out);
        tl_strbuf_add_char(out, '\n');
    }
}

static void range_text(const tl_key *key, char *text, size_t size_bytes) {
    char min[32], max[32];
    if (key->kind == TL_KEY_CHOICE) {
        choices_text(key, text, size_bytes);
    } else if (key->kind == TL_KEY_TEXT) {
        snprintf(text, size_bytes, "text, at most %" PRIu64 " bytes", key->max);
    } else if (key->max == UINT64_MAX) {
        snprintf(text, size_bytes, "any");
    } else {
        tl_format_u64(key->min, key->scale, min);
        tl_format_u64(key->max, key->scale, max);
        snprintf(text, size_bytes, "%s .. %s%s%s", min, max, key->rule ? "; " : "", key->rule ? key->rule : "");
    }
}

void tl_description_keys_markdown(tl_strbuf *out) {
    tl_key_list list;
    tl_key_list_init(&list);
    tl_config rocket;
    tl_config_default(&rocket);
    tl_strbuf_add(out, "| key | rocket | may be | unit | meaning |\n| --- | --- | --- | --- | --- |\n");
    for (uint32_t i = 0; i < list.n; i++) {
        const tl_key *key = list.keys[i];
        char range[200];
        range_text(key, range, sizeof range);
        tl_strbuf_addf(out, "| `%s` | ", key->path);
        tl_key_format(key, &rocket, out);
        tl_strbuf_addf(out, " | %s | %s | %s |\n", range, key->unit, key->meaning);
    }
}
