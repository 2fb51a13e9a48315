// SPDX-License-Identifier: MIT
// One PMU design from its tables: presets, registers bit by bit, events. docs/ref/pmu-*.md contain
// this output.
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "report/describe.h"

enum { NAME_BYTES = 64, LINE_BYTES = 2048 };

typedef struct page {
    const tl_pmu_type *type;
    const tl_pmu_preset *preset; // NULL: all of them
    FILE *stream;
} page;

static bool is_wanted(const page *p, const tl_pmu_preset *preset) { return !p->preset || preset == p->preset; }

// "mhpmevent3..31", "mcycle"
static const char *range_name(const tl_reg *reg, char text[NAME_BYTES]) {
    int length = tl_reg_name(reg, 0, false, text, NAME_BYTES);
    if (tl_reg_count(reg) > 1 && length > 0 && length < NAME_BYTES - 16)
        snprintf(text + length, NAME_BYTES - (size_t)length, "..%u", reg->first + tl_reg_count(reg) - 1);
    return text;
}

// "0x323..0x33f"
static const char *range_addr(const tl_reg *reg, uint32_t first, char text[NAME_BYTES]) {
    uint32_t stride = reg->stride > 0 ? reg->stride : 1, last = first + (tl_reg_count(reg) - 1) * stride;
    if (last > first)
        snprintf(text, NAME_BYTES, "0x%03x..0x%03x", first, last);
    else
        snprintf(text, NAME_BYTES, "0x%03x", first);
    return text;
}

static const char *bits_text(const tl_field *field, char text[NAME_BYTES]) {
    if (field->width_bits > 1)
        snprintf(text, NAME_BYTES, "%u:%u", field->lsb + field->width_bits - 1u, field->lsb);
    else
        snprintf(text, NAME_BYTES, "%u", field->lsb);
    return text;
}

static const char *sources_text(const tl_event *event) { return event->sources ? event->sources : "-"; }

// -- text

static void put_text(const page *p) {
    FILE *stream = p->stream;
    char a[NAME_BYTES], b[NAME_BYTES];
    fprintf(stream, "%s: %s (%s)\n\nPresets\n", p->type->name, p->type->title, p->type->cite);
    for (const tl_pmu_preset *const *preset = p->type->presets; *preset; preset++)
        fprintf(stream, "  %-10s %s%s\n", (*preset)->name, (*preset)->title, preset == p->type->presets ? " (the default)" : "");
    fprintf(stream, "\nRegisters: %s, name, bits\n", p->type->regmap->space);
    if (p->type->regmap->access)
        fprintf(stream, "  %s\n", p->type->regmap->access);
    for (uint32_t i = 0; i < p->type->regmap->n_regs; i++) {
        const tl_reg *reg = &p->type->regmap->regs[i];
        fprintf(stream, "  %-14s %-18s %2u  %s [%s]\n", range_addr(reg, reg->addr, a), range_name(reg, b), reg->width_bits, reg->meaning,
                reg->cite);
        for (uint32_t k = reg->n_fields; k-- > 0;) {
            const tl_field *field = &reg->fields[k];
            fprintf(stream, "      %7s %-8s %-5s reset %" PRIx64 "  %s\n", bits_text(field, a), field->name,
                    tl_reg_access_name(field->access), field->reset, field->meaning);
        }
    }
    for (const tl_pmu_preset *const *preset = p->type->presets; *preset; preset++) {
        if (!is_wanted(p, *preset) || (*preset)->n_events == 0)
            continue;
        fprintf(stream, "\nEvents of preset %s: selector, name, fidelity, what is counted\n  %s\n", (*preset)->name,
                (*preset)->selectors ? (*preset)->selectors : "");
        for (uint32_t i = 0; i < (*preset)->n_events; i++) {
            const tl_event *event = &(*preset)->events[i];
            fprintf(stream, "  0x%-9" PRIx64 " %-26s %-11s  %s\n", event->selector, event->name, tl_fidelity_name(event->fidelity),
                    sources_text(event));
            if (event->note)
                fprintf(stream, "  %11s %s\n", "", event->note);
        }
    }
}

// -- Markdown

// The register as a row of boxes, bit 63 on the left, each as wide as its name and its bits need.
static void put_diagram(FILE *stream, const tl_reg *reg) {
    char lines[3][LINE_BYTES] = {"", "", ""}, bits[NAME_BYTES];
    size_t used = 0;
    for (uint32_t k = reg->n_fields; k-- > 0;) {
        const tl_field *field = &reg->fields[k];
        bits_text(field, bits);
        size_t width = strlen(bits) > strlen(field->name) ? strlen(bits) : strlen(field->name);
        if (used + width + 4 >= LINE_BYTES)
            return;
        snprintf(lines[0] + used, LINE_BYTES - used, "  %-*s ", (int)width, bits);
        snprintf(lines[1] + used, LINE_BYTES - used, "| %-*s ", (int)width, field->name);
        used += width + 3;
    }
    for (size_t end = strlen(lines[0]); end > 0 && lines[0][end - 1] == ' '; end--)
        lines[0][end - 1] = '\0';
    fprintf(stream, "\n    %s\n    %s|\n", lines[0], lines[1]);
}

static void put_code(FILE *stream, const char *text) { fprintf(stream, "`%s`", text); }

static void put_register_markdown(const page *p, const tl_reg *reg) {
    FILE *stream = p->stream;
    char a[NAME_BYTES], b[NAME_BYTES];
    fprintf(stream, "\n### %s\n\n%s %s", range_name(reg, b), p->type->regmap->space, range_addr(reg, reg->addr, a));
    if (reg->high_addr)
        fprintf(stream, ", upper half on a 32-bit hart %s", range_addr(reg, reg->high_addr, a));
    fprintf(stream, ", %u bits; %s.\n\n%s\n", reg->width_bits, reg->cite, reg->meaning);
    put_diagram(stream, reg);
    fputs("\n| bits | name | access | reset | meaning |\n|---|---|---|---|---|\n", stream);
    for (uint32_t k = reg->n_fields; k-- > 0;) {
        const tl_field *field = &reg->fields[k];
        fprintf(stream, "| %s | %s | %s | 0x%" PRIx64 " | ", bits_text(field, a), field->name, tl_reg_access_name(field->access),
                field->reset);
        tl_report_cell(stream, field->meaning);
        fputs(" |\n", stream);
    }
}

static void put_events_markdown(const tl_pmu_preset *preset, FILE *stream) {
    fprintf(stream, "\n## Events of preset %s\n\n%s\n", preset->name, preset->selectors ? preset->selectors : "");
    if (preset->n_events == 0)
        return;
    fputs("\n| selector | event | fidelity | counts | note | source |\n|---|---|---|---|---|---|\n", stream);
    for (uint32_t i = 0; i < preset->n_events; i++) {
        const tl_event *event = &preset->events[i];
        fprintf(stream, "| 0x%" PRIx64 " | ", event->selector);
        put_code(stream, event->name);
        fprintf(stream, " | %s | ", tl_fidelity_name(event->fidelity));
        if (event->sources)
            put_code(stream, event->sources);
        fputs(" | ", stream);
        tl_report_cell(stream, event->note ? event->note : "");
        fputs(" | ", stream);
        tl_report_cell(stream, event->cite ? event->cite : "");
        fputs(" |\n", stream);
    }
}

static void count_fidelity(const tl_pmu_preset *preset, uint32_t n[3]) {
    for (uint32_t i = 0; i < preset->n_events; i++)
        n[preset->events[i].fidelity]++;
}

static void put_markdown(const page *p) {
    FILE *stream = p->stream;
    fprintf(stream, "<!-- Written by make docs from what the program says of itself. -->\n\n# PMU %s\n\n%s. After: %s.\n", p->type->name,
            p->type->title, p->type->cite);
    fputs("\n| preset | | exact | approximate | not modeled |\n|---|---|---:|---:|---:|\n", stream);
    for (const tl_pmu_preset *const *preset = p->type->presets; *preset; preset++) {
        uint32_t n[3] = {0};
        count_fidelity(*preset, n);
        fprintf(stream, "| `%s` | ", (*preset)->name);
        tl_report_cell(stream, (*preset)->title);
        fprintf(stream, " | %u | %u | %u |\n", n[TL_EXACT], n[TL_APPROXIMATE], n[TL_NOT_MODELED]);
    }
    fputs("\n## Registers\n", stream);
    if (p->type->regmap->access)
        fprintf(stream, "\n%s\n", p->type->regmap->access);
    for (uint32_t i = 0; i < p->type->regmap->n_regs; i++)
        put_register_markdown(p, &p->type->regmap->regs[i]);
    for (const tl_pmu_preset *const *preset = p->type->presets; *preset; preset++) {
        if (is_wanted(p, *preset))
            put_events_markdown(*preset, stream);
    }
}

// -- JSON

static void hex(tl_json *json, const char *key, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    tl_json_string(json, key, text);
}

static void put_register_json(tl_json *json, const tl_reg *reg) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "name", reg->name);
    hex(json, "address", reg->addr);
    if (reg->high_addr)
        hex(json, "high_address", reg->high_addr);
    else
        tl_json_null(json, "high_address");
    tl_json_u64(json, "count", tl_reg_count(reg));
    tl_json_u64(json, "stride", reg->stride > 0 ? reg->stride : 1);
    tl_json_u64(json, "first", reg->first);
    tl_json_u64(json, "width", reg->width_bits);
    tl_json_string(json, "meaning", reg->meaning);
    tl_json_string(json, "cite", reg->cite);
    tl_json_begin_array(json, "fields");
    for (uint32_t k = 0; k < reg->n_fields; k++) {
        const tl_field *field = &reg->fields[k];
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "name", field->name);
        tl_json_u64(json, "lsb", field->lsb);
        tl_json_u64(json, "width", field->width_bits);
        tl_json_string(json, "access", tl_reg_access_name(field->access));
        hex(json, "reset", field->reset);
        tl_json_string(json, "meaning", field->meaning);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    tl_json_end_object(json);
}

static void put_preset_json(tl_json *json, const tl_pmu_preset *preset) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "name", preset->name);
    tl_json_string(json, "title", preset->title);
    tl_json_string(json, "selectors", preset->selectors);
    tl_json_begin_array(json, "events");
    for (uint32_t i = 0; i < preset->n_events; i++) {
        const tl_event *event = &preset->events[i];
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "name", event->name);
        hex(json, "selector", event->selector);
        tl_json_string(json, "fidelity", tl_fidelity_name(event->fidelity));
        tl_json_string(json, "sources", event->sources);
        tl_json_string(json, "note", event->note);
        tl_json_string(json, "cite", event->cite);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    tl_json_end_object(json);
}

static void put_json(const page *p) {
    tl_json json;
    tl_json_init_file(&json, p->stream, TL_JSON_LINES);
    tl_json_begin_object(&json, NULL);
    tl_json_string(&json, "schema", "tally.describe/1");
    tl_json_string(&json, "type", "pmu");
    tl_json_string(&json, "name", p->type->name);
    tl_json_string(&json, "title", p->type->title);
    tl_json_string(&json, "cite", p->type->cite);
    tl_json_string(&json, "space", p->type->regmap->space);
    tl_json_string(&json, "access", p->type->regmap->access);
    tl_json_begin_array(&json, "presets");
    for (const tl_pmu_preset *const *preset = p->type->presets; *preset; preset++) {
        if (is_wanted(p, *preset))
            put_preset_json(&json, *preset);
    }
    tl_json_end_array(&json);
    tl_json_begin_array(&json, "registers");
    for (uint32_t i = 0; i < p->type->regmap->n_regs; i++)
        put_register_json(&json, &p->type->regmap->regs[i]);
    tl_json_end_array(&json);
    tl_json_end_object(&json);
}

tl_status tl_report_pmu(const tl_pmu_type *type, const tl_pmu_preset *preset, tl_describe_format format, FILE *stream, tl_error *err) {
    const page p = {type, preset, stream};
    switch (format) {
    case TL_DESCRIBE_TEXT: put_text(&p); break;
    case TL_DESCRIBE_MARKDOWN: put_markdown(&p); break;
    case TL_DESCRIBE_JSON: put_json(&p); break;
    case TL_DESCRIBE_SVG: return tl_fail(err, TL_EINVAL, "a design has no picture of its own; choose format text, md or json");
    }
    if (fflush(stream) != 0 || ferror(stream))
        return tl_fail(err, TL_EIO, "the description could not be written in full");
    return TL_OK;
}
