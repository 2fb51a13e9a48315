// SPDX-License-Identifier: MIT
// Reads tenants files in two steps: libyaml's events become a small tree of nodes with their lines;
// then each mapping takes its keys from a table. Nodes, depth and sizes are bounded, so whatever a
// file contains ends the reading with a sentence.
#include "session/tenants_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/bits.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "session/yaml_error.h"

enum { MAX_FILE_BYTES = 256 * 1024, MAX_NODES = 16384, MAX_DEPTH = 8, MAX_WORDS = 256, MAX_VALUE_BYTES = 4096 };

static const char NOUN[] = "a tenants file";
const char TL_STD_INHERITED[] = "inherit";

typedef enum node_kind { VALUE, LIST, MAPPING } node_kind;

typedef struct node {
    node_kind kind;
    uint32_t line;
    const char *key;  // in a mapping
    const char *text; // of a value; NULL: it is empty
    struct node *first, *next;
    uint32_t n;
} node;

typedef struct reader {
    tl_yaml_file file;
    const char *folder;
    tl_tenants_plan *plan;
    yaml_parser_t parser;
    uint32_t n_nodes;
} reader;

#define fail_at(r, ...) tl_yaml_fail_at(&(r)->file, __VA_ARGS__)
static tl_status no_memory(const reader *r) { return tl_yaml_no_memory(&r->file); }

// ---- YAML to nodes.

static tl_status next_event(reader *r, yaml_event_t *event) {
    if (!yaml_parser_parse(&r->parser, event))
        return tl_yaml_malformed(&r->file, &r->parser);
    bool is_marked = (event->type == YAML_SCALAR_EVENT && (event->data.scalar.anchor || event->data.scalar.tag)) ||
                     (event->type == YAML_MAPPING_START_EVENT && (event->data.mapping_start.anchor || event->data.mapping_start.tag)) ||
                     (event->type == YAML_SEQUENCE_START_EVENT && (event->data.sequence_start.anchor || event->data.sequence_start.tag));
    if (event->type != YAML_ALIAS_EVENT && !is_marked)
        return TL_OK;
    tl_status status =
        fail_at(r, (uint32_t)event->start_mark.line + 1, "anchors, aliases and tags are not supported; write the value itself");
    yaml_event_delete(event);
    return status;
}

static tl_status text_of(const reader *r, const yaml_event_t *event, const char **ret_text) {
    const char *text = (const char *)event->data.scalar.value;
    uint32_t line = (uint32_t)event->start_mark.line + 1;
    if (strlen(text) != event->data.scalar.length)
        return fail_at(r, line, "a value has a NUL character; remove it");
    if (event->data.scalar.length > MAX_VALUE_BYTES)
        return fail_at(r, line, "a value is longer than %d bytes; shorten it", MAX_VALUE_BYTES);
    *ret_text = tl_arena_strdup(&r->plan->arena, text);
    return *ret_text ? TL_OK : no_memory(r);
}

static tl_status read_node(reader *r, const yaml_event_t *event, uint32_t depth, node **ret_node);

// Reads a list or mapping from behind its beginning up to its end.
static tl_status read_children(reader *r, node *parent, uint32_t depth) {
    node **link = &parent->first;
    for (;;) {
        yaml_event_t event;
        const char *key = NULL;
        tl_status status = next_event(r, &event);
        if (status != TL_OK)
            return status;
        uint32_t line = (uint32_t)event.start_mark.line + 1;
        bool is_end = event.type == (parent->kind == LIST ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT);
        if (!is_end && parent->kind == MAPPING) {
            status =
                event.type == YAML_SCALAR_EVENT ? text_of(r, &event, &key) : fail_at(r, line, "a key is one word, not a list or a mapping");
            yaml_event_delete(&event);
            for (const node *other = parent->first; status == TL_OK && other; other = other->next)
                if (strcmp(other->key, key) == 0)
                    status = fail_at(r, line, "%.60s: given twice, first on line %u; remove one", key, other->line);
            if (status == TL_OK)
                status = next_event(r, &event);
            if (status != TL_OK)
                return status;
        }
        node *child = NULL;
        if (!is_end)
            status = read_node(r, &event, depth, &child);
        yaml_event_delete(&event);
        if (status != TL_OK || is_end)
            return status;
        child->key = key;
        child->line = key ? line : child->line;
        *link = child;
        link = &child->next;
        parent->n++;
    }
}

static tl_status read_node(reader *r, const yaml_event_t *event, uint32_t depth, node **ret_node) {
    uint32_t line = (uint32_t)event->start_mark.line + 1;
    if (depth == MAX_DEPTH || r->n_nodes == MAX_NODES)
        return fail_at(r, line, "nested too deep, or too long, for a tenants file");
    node *n = tl_arena_alloc(&r->plan->arena, sizeof *n);
    if (!n)
        return no_memory(r);
    r->n_nodes++;
    n->line = line;
    *ret_node = n;
    switch (event->type) {
    case YAML_SCALAR_EVENT: {
        bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        tl_status status = text_of(r, event, &n->text);
        if (status == TL_OK && is_plain && (!n->text[0] || strcmp(n->text, "~") == 0 || strcmp(n->text, "null") == 0))
            n->text = NULL;
        return status;
    }
    case YAML_SEQUENCE_START_EVENT: n->kind = LIST; return read_children(r, n, depth + 1);
    case YAML_MAPPING_START_EVENT: n->kind = MAPPING; return read_children(r, n, depth + 1);
    default: return fail_at(r, line, "not a tenants file; it begins with `machine:` and `vms:`");
    }
}

static tl_status expect(reader *r, yaml_event_type_t type, const char *otherwise) {
    yaml_event_t event;
    tl_status status = next_event(r, &event);
    if (status != TL_OK)
        return status;
    if (event.type != type)
        status = fail_at(r, (uint32_t)event.start_mark.line + 1, "%s", otherwise);
    yaml_event_delete(&event);
    return status;
}

static tl_status read_tree(reader *r, node **ret_node) {
    static const char what[] = "not a tenants file; it begins with `machine:` and `vms:`";
    yaml_event_t event;
    tl_status status = expect(r, YAML_STREAM_START_EVENT, what);
    if (status == TL_OK)
        status = expect(r, YAML_DOCUMENT_START_EVENT, "empty; a tenants file needs `vms:`");
    if (status == TL_OK)
        status = next_event(r, &event);
    if (status != TL_OK)
        return status;
    status = event.type == YAML_MAPPING_START_EVENT ? read_node(r, &event, 0, ret_node)
                                                    : fail_at(r, (uint32_t)event.start_mark.line + 1, "%s", what);
    yaml_event_delete(&event);
    if (status == TL_OK)
        status = expect(r, YAML_DOCUMENT_END_EVENT, what);
    if (status == TL_OK)
        status = expect(r, YAML_STREAM_END_EVENT, "a second document begins here; one file holds one list of tenants");
    return status;
}

// ---- Nodes to a plan.

// Keys of one kind of mapping. `where` is in front of them in messages: "vms[1].".
typedef struct key_row {
    const char *name;
    node_kind kind;
    const char *example; // for a value of the wrong kind
} key_row;

static tl_status check_keys(const reader *r, const node *mapping, const char *where, const key_row *rows, size_t n_rows) {
    for (const node *n = mapping->first; n; n = n->next) {
        const key_row *row = NULL;
        for (size_t i = 0; i < n_rows; i++)
            if (strcmp(rows[i].name, n->key) == 0)
                row = &rows[i];
        if (!row) {
            tl_nearest nearest;
            char text[256];
            tl_strbuf all = {0};
            tl_nearest_init(&nearest, n->key);
            for (size_t i = 0; i < n_rows; i++) {
                tl_nearest_offer(&nearest, rows[i].name);
                tl_strbuf_addf(&all, "%s%s", i == 0 ? "" : ", ", rows[i].name);
            }
            tl_nearest_text(&nearest, text, sizeof text);
            tl_status status = fail_at(r, n->line, "%s%.60s: unknown key%s%s%s", where, n->key, text, *text ? "" : "; keys are ",
                                       *text ? "" : tl_strbuf_text(&all));
            tl_strbuf_done(&all);
            return status;
        }
        if (n->kind != row->kind)
            return fail_at(r, n->line, "%s%s: must be %s; write %s: %s", where, n->key,
                           row->kind == VALUE  ? "one value"
                           : row->kind == LIST ? "a list"
                                               : "a mapping",
                           n->key, row->example);
        if (n->kind == VALUE && !n->text)
            return fail_at(r, n->line, "%s%s: has no value; write one, or remove the line", where, n->key);
    }
    return TL_OK;
}

static const node *find(const node *mapping, const char *key) {
    for (const node *n = mapping->first; n; n = n->next)
        if (strcmp(n->key, key) == 0)
            return n;
    return NULL;
}

static const char *value_of(const node *mapping, const char *key) {
    const node *n = find(mapping, key);
    return n ? n->text : NULL;
}

static tl_status read_number(const reader *r, const node *mapping, const char *where, const char *key, uint64_t least, uint64_t most,
                             uint64_t *ret_value) {
    const node *n = find(mapping, key);
    tl_error why;
    if (!n)
        return TL_OK;
    if (tl_parse_u64(n->text, TL_SCALE_COUNT, ret_value, &why) != TL_OK)
        return fail_at(r, n->line, "%s%s = %.60s: %s", where, key, n->text, why.text);
    if (*ret_value < least || *ret_value > most)
        return fail_at(r, n->line, "%s%s = %.60s: must be between %" PRIu64 " and %" PRIu64, where, key, n->text, least, most);
    return TL_OK;
}

static tl_status read_choice(const reader *r, const node *mapping, const char *where, const char *key, const char *first,
                             const char *second, bool *ret_is_second) {
    const node *n = find(mapping, key);
    if (!n)
        return TL_OK;
    if (strcmp(n->text, first) != 0 && strcmp(n->text, second) != 0)
        return fail_at(r, n->line, "%s%s = %.60s: must be %s or %s", where, key, n->text, first, second);
    *ret_is_second = strcmp(n->text, second) == 0;
    return TL_OK;
}

// Paths stand relative to the file. NULL: no memory.
static const char *path_of(reader *r, const char *path) {
    return path[0] == '/' || !*r->folder ? tl_arena_strdup(&r->plan->arena, path)
                                         : tl_arena_printf(&r->plan->arena, "%s/%s", r->folder, path);
}

static tl_status read_path(reader *r, const node *mapping, const char *key, const char **ret_path) {
    const char *text = value_of(mapping, key);
    if (!text)
        return TL_OK;
    *ret_path = path_of(r, text);
    return *ret_path ? TL_OK : no_memory(r);
}

// A list of words behind `n_before` free places; NULL-terminated.
static tl_status read_words(reader *r, const node *list, const char *where, const char *key, uint32_t n_before, const char ***ret_words) {
    uint32_t n = list ? list->n : 0;
    if (n > MAX_WORDS)
        return fail_at(r, list->line, "%s%s: more than %d words", where, key, MAX_WORDS);
    const char **words = tl_arena_alloc(&r->plan->arena, (n_before + n + 1) * sizeof *words);
    if (!words)
        return no_memory(r);
    uint32_t i = n_before;
    for (const node *word = list ? list->first : NULL; word; word = word->next) {
        if (word->kind != VALUE || !word->text)
            return fail_at(r, word->line, "%s%s: a word is missing here; write it, in quotes if it is empty or has : or #", where, key);
        words[i++] = word->text;
    }
    *ret_words = words;
    return TL_OK;
}

static tl_status read_std(reader *r, const node *mapping, const char *key, bool is_inherited, const char **ret_path) {
    const char *text = value_of(mapping, key);
    if (!text)
        text = is_inherited ? "inherit" : "none";
    *ret_path = strcmp(text, "inherit") == 0 ? TL_STD_INHERITED : strcmp(text, "none") == 0 ? NULL : path_of(r, text);
    return *ret_path || strcmp(text, "none") == 0 ? TL_OK : no_memory(r);
}

static const uint64_t MOST_CYCLES = UINT64_C(1) << 60;
enum { LEAST_QUANTUM_CYCLES = 1000 };

// As whom a context reads blocks of the monitor.
static tl_status read_client(const reader *r, const node *mapping, const char *where, tl_context_plan *c) {
    static const char *const roles[] = {
        [TL_MONITOR_CONTEXT] = "context", [TL_MONITOR_SYSTEM] = "system", [TL_MONITOR_HYPERVISOR] = "hypervisor"};
    const node *n = find(mapping, "client");
    c->has_no_window = !n || strcmp(n->text, "none") == 0;
    for (uint32_t i = 0; n && i < TL_COUNT_OF(roles); i++)
        if (strcmp(n->text, roles[i]) == 0) {
            c->client = (tl_monitor_role)i;
            return TL_OK;
        }
    return c->has_no_window ? TL_OK : fail_at(r, n->line, "%sclient = %.60s: must be context, system, hypervisor or none", where, n->text);
}

static tl_status read_context(reader *r, const node *n, const char *where, tl_context_plan *ret_context) {
    static const key_row rows[] = {{"name", VALUE, "lua"},        {"program", VALUE, "./prog"},  {"args", LIST, "[a, b]"},
                                   {"env", LIST, "[NAME=value]"}, {"stdin", VALUE, "input.txt"}, {"stdout", VALUE, "none"},
                                   {"stderr", VALUE, "none"},     {"quantum", VALUE, "1000000"}, {"client", VALUE, "context"}};
    if (n->kind != MAPPING)
        return fail_at(r, n->line, "%.*s: must be a mapping with program:", (int)strlen(where) - 1, where);
    tl_status status = check_keys(r, n, where, rows, TL_COUNT_OF(rows));
    if (status != TL_OK)
        return status;
    const char **argv = NULL, **env = NULL;
    tl_context_plan *c = ret_context;
    *c = (tl_context_plan){.line = n->line};
    const char *program = value_of(n, "program");
    if (!program)
        return fail_at(r, n->line, "%sprogram: is missing; name a RISC-V Linux executable", where);
    status = read_path(r, n, "program", &c->program);
    if (status == TL_OK)
        status = read_words(r, find(n, "args"), where, "args", 1, &argv);
    if (status == TL_OK)
        status = read_words(r, find(n, "env"), where, "env", 0, &env);
    for (uint32_t i = 0; status == TL_OK && env[i]; i++)
        if (!strchr(env[i], '=') || env[i][0] == '=')
            status = fail_at(r, find(n, "env")->line, "%senv: %.60s: write NAME=VALUE", where, env[i]);
    if (status == TL_OK)
        status = read_std(r, n, "stdin", false, &c->std[0]);
    if (status == TL_OK)
        status = read_std(r, n, "stdout", true, &c->std[1]);
    if (status == TL_OK)
        status = read_std(r, n, "stderr", true, &c->std[2]);
    if (status == TL_OK)
        status = read_number(r, n, where, "quantum", LEAST_QUANTUM_CYCLES, MOST_CYCLES, &c->quantum_cycles);
    if (status == TL_OK)
        status = read_client(r, n, where, c);
    if (status != TL_OK)
        return status;
    const char *slash = strrchr(program, '/'), *last = slash && slash[1] ? slash + 1 : program;
    // Names the program as tally stat does.
    argv[0] = slash && slash[1] ? tl_arena_printf(&r->plan->arena, "./%s", last) : program;
    c->name = value_of(n, "name") ? value_of(n, "name") : last;
    c->argv = argv;
    c->env = env;
    return argv[0] ? TL_OK : no_memory(r);
}

static const uint64_t MIB = 1 << 20, LEAST_RAM_BYTES = 16 << 20, MOST_RAM_BYTES = UINT64_C(1) << 40;
enum { DEFAULT_SPACES = 16 };

static tl_status read_size(const reader *r, const node *mapping, const char *where, const char *key, uint64_t *ret_bytes) {
    const node *n = find(mapping, key);
    tl_error why;
    if (!n)
        return TL_OK;
    if (tl_parse_u64(n->text, TL_SCALE_BYTES, ret_bytes, &why) != TL_OK)
        return fail_at(r, n->line, "%s%s = %.60s: %s", where, key, n->text, why.text);
    if (*ret_bytes < LEAST_RAM_BYTES || *ret_bytes > MOST_RAM_BYTES || *ret_bytes % MIB != 0)
        return fail_at(r, n->line, "%s%s = %.60s: must be whole MiB, 16MiB or more", where, key, n->text);
    return TL_OK;
}

// A board boots firmware and perhaps a kernel, or one bare program.
static tl_status check_software(const reader *r, const node *n, const char *where) {
    static const char *const of_boot[] = {"firmware", "kernel", "initrd", "append"}, *const of_kernel[] = {"initrd", "append"};
    for (size_t i = 0; find(n, "program") && i < TL_COUNT_OF(of_boot); i++)
        if (find(n, of_boot[i]))
            return fail_at(r, find(n, of_boot[i])->line, "%s%s: program: runs alone in machine mode; remove one of them", where,
                           of_boot[i]);
    for (size_t i = 0; !find(n, "kernel") && i < TL_COUNT_OF(of_kernel); i++)
        if (find(n, of_kernel[i]))
            return fail_at(r, find(n, of_kernel[i])->line, "%s%s: is for a kernel; give kernel:, too", where, of_kernel[i]);
    return TL_OK;
}

// Address spaces become contexts. Harts of a board run several at a time, and a partition has one
// channel, so only a board of one hart has contexts.
static tl_status read_spaces(reader *r, const node *n, const char *where, uint32_t n_harts, tl_vm_plan *vm) {
    uint64_t n_spaces = n_harts == 1 ? DEFAULT_SPACES : 1;
    tl_status status = read_number(r, n, where, "spaces", 1, TL_MAX_CONTEXTS_OF_VM, &n_spaces);
    if (status != TL_OK)
        return status;
    if (n_spaces > 1 && n_harts > 1)
        return fail_at(r, find(n, "spaces")->line,
                       "%sspaces = %u: %u harts run several address spaces at a time, which one partition cannot tell apart; set harts: 1, "
                       "or spaces: 1",
                       where, (uint32_t)n_spaces, n_harts);
    vm->contexts = tl_arena_alloc(&r->plan->arena, (size_t)n_spaces * sizeof *vm->contexts);
    if (!vm->contexts)
        return no_memory(r);
    vm->n_contexts = (uint32_t)n_spaces;
    for (uint32_t i = 0; i < vm->n_contexts; i++) {
        const char *name = i == 0 ? "board" : tl_arena_printf(&r->plan->arena, "space%u", i);
        if (!name)
            return no_memory(r);
        vm->contexts[i] = (tl_context_plan){.line = n->line, .name = name, .program = ""};
    }
    return TL_OK;
}

static tl_status read_board(reader *r, const node *n, const char *where, tl_vm_plan *vm) {
    static const key_row rows[] = {{"firmware", VALUE, "fw_jump.elf"},
                                   {"kernel", VALUE, "Image"},
                                   {"initrd", VALUE, "initramfs.cpio"},
                                   {"append", VALUE, "quiet"},
                                   {"program", VALUE, "bare.elf"},
                                   {"ram", VALUE, "256MiB"},
                                   {"harts", VALUE, "1"},
                                   {"spaces", VALUE, "8"},
                                   {"console", VALUE, "console.txt"}};
    tl_board_plan *board = tl_arena_alloc(&r->plan->arena, sizeof *board);
    uint64_t n_harts = 1;
    if (!board)
        return no_memory(r);
    tl_status status = check_keys(r, n, where, rows, TL_COUNT_OF(rows));
    if (status == TL_OK)
        status = check_software(r, n, where);
    if (status == TL_OK)
        status = read_path(r, n, "program", &board->program);
    if (status == TL_OK)
        status = read_path(r, n, "firmware", &board->firmware);
    if (status == TL_OK)
        status = read_path(r, n, "kernel", &board->kernel);
    if (status == TL_OK)
        status = read_path(r, n, "initrd", &board->initrd);
    if (status == TL_OK)
        status = read_std(r, n, "console", true, &board->console);
    if (status == TL_OK)
        status = read_size(r, n, where, "ram", &board->ram_bytes);
    if (status == TL_OK)
        status = read_number(r, n, where, "harts", 1, TL_MAX_HARTS, &n_harts);
    if (status == TL_OK)
        status = read_spaces(r, n, where, (uint32_t)n_harts, vm);
    board->line = n->line;
    board->append = value_of(n, "append");
    board->n_harts = (uint32_t)n_harts;
    vm->board = board;
    return status;
}

// Keys of programs do not go with board:.
static tl_status check_board_alone(const reader *r, const node *vm, const char *where) {
    static const char *const of_programs[] = {"contexts", "root", "sysroot", "network"};
    for (size_t i = 0; i < TL_COUNT_OF(of_programs); i++)
        if (find(vm, of_programs[i]))
            return fail_at(r, find(vm, of_programs[i])->line, "%s%s: is for programs, and this VM is a board; remove it, or board:", where,
                           of_programs[i]);
    if (find(vm, "quantum"))
        return fail_at(r, find(vm, "quantum")->line, "%squantum: a board has its partition alone; remove it", where);
    return TL_OK;
}

static tl_status read_contexts(reader *r, const node *n, const char *where, tl_vm_plan *vm) {
    const node *contexts = find(n, "contexts");
    tl_status status = TL_OK;
    if (!contexts || contexts->n == 0)
        return fail_at(r, n->line, "%scontexts: is missing or empty; a VM runs at least one program, or has a board:", where);
    if (contexts->n > TL_MAX_CONTEXTS_OF_VM)
        return fail_at(r, contexts->line, "%scontexts: has %u, but a VM has at most %d", where, contexts->n, TL_MAX_CONTEXTS_OF_VM);
    vm->contexts = tl_arena_alloc(&r->plan->arena, contexts->n * sizeof *vm->contexts);
    if (!vm->contexts)
        return no_memory(r);
    for (const node *c = contexts->first; c && status == TL_OK; c = c->next) {
        char inner[64];
        snprintf(inner, sizeof inner, "%scontexts[%u].", where, vm->n_contexts);
        status = read_context(r, c, inner, &vm->contexts[vm->n_contexts]);
        for (uint32_t i = 0; status == TL_OK && i < vm->n_contexts; i++)
            if (strcmp(vm->contexts[i].name, vm->contexts[vm->n_contexts].name) == 0)
                status =
                    fail_at(r, c->line, "%sname = %.60s: another context of this VM has that name; give each its own with name:", inner,
                            vm->contexts[i].name);
        vm->n_contexts++;
    }
    return status;
}

static tl_status read_vm(reader *r, const node *n, const char *where, uint32_t index, tl_vm_plan *ret_vm) {
    static const key_row rows[] = {{"name", VALUE, "web"},
                                   {"partition", VALUE, "0"},
                                   {"quantum", VALUE, "10000000"},
                                   {"root", VALUE, "./files"},
                                   {"sysroot", VALUE, "/"},
                                   {"network", VALUE, "off"},
                                   {"contexts", LIST, "[{program: ./prog}]"},
                                   {"confidential", VALUE, "off"},
                                   {"contexts_read_vm", VALUE, "off"},
                                   {"board", MAPPING, "{kernel: Image}"}};
    if (n->kind != MAPPING)
        return fail_at(r, n->line, "%.*s: must be a mapping with contexts: or board:", (int)strlen(where) - 1, where);
    tl_status status = check_keys(r, n, where, rows, TL_COUNT_OF(rows));
    tl_vm_plan *vm = ret_vm;
    uint64_t partition = index;
    *vm = (tl_vm_plan){.line = n->line};
    if (status == TL_OK)
        status = read_number(r, n, where, "partition", 0, UINT32_MAX, &partition);
    if (status == TL_OK)
        status = read_number(r, n, where, "quantum", LEAST_QUANTUM_CYCLES, MOST_CYCLES, &vm->quantum_cycles);
    if (status == TL_OK)
        status = read_choice(r, n, where, "network", "off", "on", &vm->allow_network);
    if (status == TL_OK)
        status = read_choice(r, n, where, "confidential", "off", "on", &vm->is_confidential);
    vm->confidential_line = find(n, "confidential") ? find(n, "confidential")->line : n->line;
    if (status == TL_OK)
        status = read_choice(r, n, where, "contexts_read_vm", "off", "on", &vm->contexts_read_vm);
    if (status == TL_OK)
        status = read_path(r, n, "root", &vm->root);
    if (status == TL_OK)
        status = read_path(r, n, "sysroot", &vm->sysroot);
    if (status != TL_OK)
        return status;
    vm->partition = (uint32_t)partition;
    vm->name = value_of(n, "name") ? value_of(n, "name") : tl_arena_printf(&r->plan->arena, "vm%u", index + 1);
    if (!vm->name)
        return no_memory(r);
    const node *board = find(n, "board");
    if (!board)
        return read_contexts(r, n, where, vm);
    char inner[48];
    snprintf(inner, sizeof inner, "%sboard.", where);
    status = check_board_alone(r, n, where);
    return status == TL_OK ? read_board(r, board, inner, vm) : status;
}

static tl_status read_plan(reader *r, const node *top) {
    static const key_row rows[] = {{"machine", VALUE, "cloud4"},   {"profile", VALUE, "SAFE"},    {"monitor", VALUE, "none"},
                                   {"interval", VALUE, "1000000"}, {"max_cycles", VALUE, "100M"}, {"vms", LIST, "[...]"}};
    tl_tenants_plan *plan = r->plan;
    bool is_literal = false;
    tl_status status = check_keys(r, top, "", rows, TL_COUNT_OF(rows));
    if (status == TL_OK)
        status = read_choice(r, top, "", "profile", "SAFE", "LITERAL", &is_literal);
    if (status == TL_OK)
        status = read_number(r, top, "", "interval", LEAST_QUANTUM_CYCLES, MOST_CYCLES, &plan->interval_cycles);
    if (status == TL_OK)
        status = read_number(r, top, "", "max_cycles", 1, MOST_CYCLES, &plan->max_cycles);
    if (status != TL_OK)
        return status;
    plan->profile = is_literal ? TL_CHIP_LITERAL : TL_CHIP_SAFE;
    plan->machine = value_of(top, "machine") ? value_of(top, "machine") : "cloud4";
    plan->monitor = value_of(top, "monitor");
    plan->monitor_line = plan->monitor ? find(top, "monitor")->line : 1;
    plan->machine_line = find(top, "machine") ? find(top, "machine")->line : 1;
    if (strchr(plan->machine, '/') && !(plan->machine = path_of(r, plan->machine)))
        return no_memory(r);
    const node *vms = find(top, "vms");
    if (!vms || vms->n == 0)
        return fail_at(r, vms ? vms->line : 1, "vms: is missing or empty; it lists the tenants, each with contexts:");
    if (vms->n > TL_MAX_VMS)
        return fail_at(r, vms->line, "vms: has %u, but a chip has at most %d", vms->n, TL_MAX_VMS);
    plan->vms = tl_arena_alloc(&plan->arena, vms->n * sizeof *plan->vms);
    if (!plan->vms)
        return no_memory(r);
    for (const node *vm = vms->first; vm && status == TL_OK; vm = vm->next) {
        char where[32];
        snprintf(where, sizeof where, "vms[%u].", plan->n_vms);
        status = read_vm(r, vm, where, plan->n_vms, &plan->vms[plan->n_vms]);
        for (uint32_t i = 0; status == TL_OK && i < plan->n_vms; i++)
            if (strcmp(plan->vms[i].name, plan->vms[plan->n_vms].name) == 0)
                status = fail_at(r, vm->line, "%sname = %.60s: the VM on line %u has that name, too; give each its own", where,
                                 plan->vms[i].name, plan->vms[i].line);
        plan->n_vms++;
    }
    return status;
}

// ---- Files.

tl_status tl_tenants_plan_read(const char *text, size_t n_bytes, const char *file_name, const char *folder, tl_tenants_plan *ret_plan,
                               tl_error *err) {
    *ret_plan = (tl_tenants_plan){0};
    reader r = {.file = {file_name, NOUN, err}, .folder = folder, .plan = ret_plan};
    if (n_bytes > MAX_FILE_BYTES)
        return tl_fail(err, TL_EFORMAT, "%.200s: longer than %d KiB; that is no tenants file", file_name, MAX_FILE_BYTES / 1024);
    ret_plan->file_name = tl_arena_strdup(&ret_plan->arena, file_name);
    if (!ret_plan->file_name || !yaml_parser_initialize(&r.parser))
        return no_memory(&r);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n_bytes);
    node *top = NULL;
    tl_status status = read_tree(&r, &top);
    yaml_parser_delete(&r.parser);
    return status == TL_OK ? read_plan(&r, top) : status;
}

tl_status tl_tenants_plan_open(const char *path, tl_tenants_plan *ret_plan, tl_error *err) {
    *ret_plan = (tl_tenants_plan){0};
    FILE *file = fopen(path, "rbe");
    if (!file) {
        tl_status status = errno == ENOENT || errno == ENOTDIR ? TL_ENOENT : errno == EACCES ? TL_EACCESS : TL_EIO;
        return tl_fail(err, status, "%.200s: cannot open this tenants file: %s", path, strerror(errno));
    }
    char *text = malloc(MAX_FILE_BYTES + 1); // one more, so that a larger file is seen to be larger
    char *folder = strdup(path);
    size_t n_bytes = text && folder ? fread(text, 1, MAX_FILE_BYTES + 1, file) : 0;
    tl_status status = TL_OK;
    if (!text || !folder) {
        status = tl_fail(err, TL_ENOMEM, "%.200s: no memory to read it", path);
    } else if (ferror(file)) {
        status = tl_fail(err, TL_EIO, "%.200s: cannot read this tenants file: %s", path, strerror(errno));
    } else {
        char *slash = strrchr(folder, '/');
        folder[slash ? slash - folder : 0] = '\0';
        status = tl_tenants_plan_read(text, n_bytes, path, slash == folder ? "/" : folder, ret_plan, err);
    }
    free(folder);
    free(text);
    fclose(file);
    return status;
}

static tl_status check_board(const reader *r, const tl_vm_plan *vm, uint32_t index, const tl_config *config) {
    if (vm->board->n_harts > config->n_harts)
        return fail_at(r, vm->board->line, "vms[%u].board.harts = %u: a partition of %s has %u", index, vm->board->n_harts, config->name,
                       config->n_harts);
    if (vm->board->ram_bytes > config->ram_bytes)
        return fail_at(r, vm->board->line, "vms[%u].board.ram = %" PRIu64 " MiB: a partition of %s has %" PRIu64 " MiB", index,
                       vm->board->ram_bytes >> 20, config->name, config->ram_bytes >> 20);
    return TL_OK;
}

tl_status tl_tenants_plan_check(const tl_tenants_plan *plan, const tl_config *config, tl_error *err) {
    const reader r = {.file = {plan->file_name, NOUN, err}};
    for (uint32_t i = 0; i < plan->n_vms; i++) {
        const tl_vm_plan *vm = &plan->vms[i];
        if (vm->partition >= config->n_partitions) {
            if (config->n_partitions == 1)
                return fail_at(&r, vm->line,
                               "vms[%u].partition = %u: %s has one partition, 0; choose a machine with partitions, such as cloud4", i,
                               vm->partition, config->name);
            return fail_at(&r, vm->line, "vms[%u].partition = %u: %s has partitions 0 to %u", i, vm->partition, config->name,
                           config->n_partitions - 1);
        }
        tl_status status = vm->board ? check_board(&r, vm, i, config) : TL_OK;
        if (status != TL_OK)
            return status;
        for (uint32_t k = 0; k < plan->n_vms; k++) {
            if (k == i || plan->vms[k].partition != vm->partition)
                continue;
            if (vm->board)
                return fail_at(&r, vm->line,
                               "vms[%u].partition = %u: a board has its partition alone, but %.60s (line %u) is there, too; "
                               "give one of them another partition",
                               i, vm->partition, plan->vms[k].name, plan->vms[k].line);
            if (plan->vms[k].board)
                continue; // its own row says it
            if (vm->quantum_cycles == 0)
                return fail_at(
                    &r, vm->line,
                    "vms[%u].quantum: is missing, but %.60s (line %u) is on partition %u, too; give both a quantum: in cycles, or "
                    "another partition",
                    i, plan->vms[k].name, plan->vms[k].line, vm->partition);
        }
    }
    return TL_OK;
}

void tl_tenants_plan_done(tl_tenants_plan *plan) {
    tl_arena_done(&plan->arena);
    *plan = (tl_tenants_plan){0};
}
