// SPDX-License-Identifier: MIT
// perf.data, version 2: the records of Linux's perf_event.h in the file that perf's
// documentation describes. An exact count is one sample, whose period is the count. Addresses are
// those of the run. perf finds symbols by build-id or path; both are in the file.
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/strbuf.h"
#include "export/formats.h"
#include "export/stacks.h"

enum {
    ATTR_BYTES = 128, // of perf_event_attr, PERF_ATTR_SIZE_VER7
    HEADER_BYTES = 104,
    SECTION_BYTES = 16,
    ALIGN_BYTES = 64, // of texts in features
    FEATURE_ARCH = 6,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12,
};

static const uint64_t magic = UINT64_C(0x32454c4946524550); // "PERFILE2"

typedef struct perfdata {
    const tl_profile *profile;
    const tl_export_measures *measures;
    tl_strbuf data;
    uint64_t time; // of the next record: their order
    bool has_chains;
} perfdata;

static void put(tl_strbuf *out, uint64_t value, uint32_t n_bytes) {
    for (uint32_t i = 0; i < n_bytes; i++)
        tl_strbuf_add_char(out, (char)(uint8_t)(value >> 8 * i));
}

static void pad(tl_strbuf *out, size_t n_bytes) {
    for (; n_bytes > 0; n_bytes--)
        tl_strbuf_add_char(out, '\0');
}

static uint64_t sample_type(const perfdata *f) {
    return (uint64_t)PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
           (f->has_chains ? PERF_SAMPLE_CALLCHAIN : 0);
}

static void put_attr(const perfdata *f, tl_strbuf *out, uint32_t measure) {
    const struct perf_event_attr attr = {
        .type = PERF_TYPE_RAW,
        .size = ATTR_BYTES,
        .config = measure,
        .sample_period = 1,
        .sample_type = sample_type(f),
        .exclude_kernel = 0,
        .mmap = measure == 0,
        .mmap2 = measure == 0,
        .comm = measure == 0,
        .precise_ip = 3, // no skid
        .sample_id_all = 1,
    };
    tl_strbuf_add_n(out, (const char *)&attr, ATTR_BYTES);
}

// A text of a feature: its padded length, its bytes, padding.
static void put_text(tl_strbuf *out, const char *text) {
    const size_t n = strlen(text) + 1, n_padded = (n + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    put(out, n_padded, 4);
    tl_strbuf_add_n(out, text, n);
    pad(out, n_padded - n);
}

// -- records

// Begins a record; end_record writes its size.
static size_t begin_record(perfdata *f, uint32_t type, uint32_t misc) {
    const size_t at = f->data.n_bytes;
    put(&f->data, type, 4);
    put(&f->data, misc, 2);
    put(&f->data, 0, 2);
    return at;
}

static void end_record(perfdata *f, size_t at) {
    const size_t n = f->data.n_bytes - at;
    if (f->data.has_failed)
        return;
    f->data.text[at + 6] = (char)(uint8_t)n;
    f->data.text[at + 7] = (char)(uint8_t)(n >> 8);
}

// The identity behind a record, which sample_id_all asks for.
static void put_sample_id(perfdata *f, const tl_profile_thread *thread) {
    put(&f->data, (uint32_t)f->profile->processes[thread->process].pid, 4);
    put(&f->data, (uint32_t)thread->tid, 4);
    put(&f->data, f->time++, 8);
    put(&f->data, 1, 8); // identifier of the first event
}

static void put_name(tl_strbuf *out, const char *name, size_t max_bytes) {
    const size_t n = strnlen(name, max_bytes - 1);
    tl_strbuf_add_n(out, name, n);
    pad(out, 8 - n % 8);
}

static void put_comm(perfdata *f, const tl_profile_thread *thread) {
    const size_t at = begin_record(f, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    put(&f->data, (uint32_t)f->profile->processes[thread->process].pid, 4);
    put(&f->data, (uint32_t)thread->tid, 4);
    put_name(&f->data, thread->name, 16);
    put_sample_id(f, thread);
    end_record(f, at);
}

static uint32_t digit_of(char c) { return c >= 'a' ? (uint32_t)(c - 'a' + 10) : (uint32_t)(c - '0'); }

// The object's build-id, at most 20 bytes. Returns its length.
static uint32_t build_id_of(const tl_profile_object *object, uint8_t *ret_bytes) {
    uint32_t n = 0;
    for (const char *c = object->build_id; c[0] && c[1] && n < 20; c += 2)
        ret_bytes[n++] = (uint8_t)(digit_of(c[0]) << 4 | digit_of(c[1]));
    return n;
}

static const tl_profile_thread *first_thread_of(const tl_profile *p, uint32_t process) {
    for (uint32_t i = 0; i < p->n_threads; i++)
        if (p->threads[i].process == process)
            return &p->threads[i];
    return NULL;
}

static void put_mapping(perfdata *f, const tl_profile_mapping *m) {
    const tl_profile_object *object = &f->profile->objects[m->object];
    const tl_profile_thread *thread = first_thread_of(f->profile, m->process);
    if (!thread)
        return;
    uint8_t id[20] = {0};
    const uint32_t n_id = build_id_of(object, id);
    const bool is_kernel = strcmp(object->kind, "kernel") == 0;
    const size_t at = begin_record(f, PERF_RECORD_MMAP2,
                                   (n_id > 0 ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0u) |
                                       (uint32_t)(is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER));
    put(&f->data, (uint32_t)f->profile->processes[m->process].pid, 4);
    put(&f->data, (uint32_t)thread->tid, 4);
    put(&f->data, m->start, 8);
    put(&f->data, m->end - m->start, 8);
    put(&f->data, m->offset, 8);
    if (n_id > 0) {
        put(&f->data, n_id, 4); // and three reserved bytes
        tl_strbuf_add_n(&f->data, (const char *)id, sizeof id);
    } else {
        pad(&f->data, 24); // device and inode
    }
    put(&f->data, 5, 4); // PROT_READ | PROT_EXEC
    put(&f->data, 2, 4); // MAP_PRIVATE
    put_name(&f->data, object->kind[0] && strcmp(object->kind, "none") == 0 ? "[unknown]" : tl_profile_object_path(f->profile, m->object),
             4096);
    put_sample_id(f, thread);
    end_record(f, at);
}

// Where an address of an object lay in a process.
static uint64_t run_address(const tl_profile *p, uint32_t process, uint32_t object, uint64_t address) {
    for (uint32_t i = 0; i < p->n_mappings; i++) {
        const tl_profile_mapping *m = &p->mappings[i];
        if (m->process == process && m->object == object && address + m->bias >= m->start && address + m->bias < m->end)
            return address + m->bias;
    }
    return address;
}

static uint64_t address_of(const perfdata *f, uint32_t process, const tl_export_frame *frame, bool is_caller) {
    const tl_profile *p = f->profile;
    // A caller's address is that of the return.
    const uint64_t behind = is_caller && frame->insn != TL_PROFILE_NONE ? p->insns[frame->insn].n_bytes : 0;
    if (frame->object == TL_PROFILE_NONE)
        return frame->address + behind;
    return run_address(p, process, frame->object, frame->address) + behind;
}

static void put_chain(perfdata *f, const tl_export_stack *stack, uint32_t process) {
    enum { MAX_FRAMES = 4096 }; // a record has 16 bits of size
    uint64_t addresses[MAX_FRAMES];
    uint32_t n = 0;
    for (uint32_t i = stack->n_frames; i-- > 0 && n < MAX_FRAMES;)
        if (!stack->frames[i].is_inlined) { // perf finds inlined calls by itself
            addresses[n] = address_of(f, process, &stack->frames[i], n > 0);
            n++;
        }
    put(&f->data, n + 1, 8);
    put(&f->data, (uint64_t)PERF_CONTEXT_USER, 8);
    for (uint32_t i = 0; i < n; i++)
        put(&f->data, addresses[i], 8);
}

static tl_status put_samples(void *ctx, const tl_export_stack *stack, tl_error *err) {
    perfdata *f = ctx;
    const tl_profile_thread *thread = &f->profile->threads[stack->thread];
    const tl_export_frame *leaf = &stack->frames[stack->n_frames - 1];
    const bool is_kernel = leaf->object != TL_PROFILE_NONE && strcmp(f->profile->objects[leaf->object].kind, "kernel") == 0;
    for (uint32_t m = 0; m < f->measures->n_items; m++) {
        if (stack->weights[m] == 0)
            continue;
        const size_t at = begin_record(f, PERF_RECORD_SAMPLE,
                                       (uint32_t)(is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) | PERF_RECORD_MISC_EXACT_IP);
        put(&f->data, m + 1u, 8);
        put(&f->data, address_of(f, thread->process, leaf, false), 8);
        put(&f->data, (uint32_t)f->profile->processes[thread->process].pid, 4);
        put(&f->data, (uint32_t)thread->tid, 4);
        put(&f->data, f->time++, 8);
        put(&f->data, stack->weights[m], 8);
        if (f->has_chains)
            put_chain(f, stack, thread->process);
        end_record(f, at);
    }
    return f->data.has_failed ? tl_export_no_memory(err) : TL_OK;
}

// -- the file

static void put_features(const perfdata *f, tl_strbuf *out, uint64_t at) {
    tl_strbuf texts = {0};
    size_t begins[4];
    begins[0] = texts.n_bytes;
    const char *isa = tl_profile_setting_of(f->profile, "isa");
    put_text(&texts, strstr(isa, "a64") || strstr(isa, "arm") || strstr(isa, "aarch64") ? "aarch64" : "riscv64");
    begins[1] = texts.n_bytes;
    put(&texts, 1, 4); // words of the command line
    put_text(&texts, tl_profile_setting_of(f->profile, "program"));
    begins[2] = texts.n_bytes;
    put(&texts, f->measures->n_items, 4);
    put(&texts, ATTR_BYTES, 4);
    for (uint32_t m = 0; m < f->measures->n_items; m++) {
        put_attr(f, &texts, m);
        put(&texts, 1, 4);
        put_text(&texts, f->measures->items[m].name);
        put(&texts, m + 1u, 8);
    }
    begins[3] = texts.n_bytes;
    for (uint32_t i = 0; i < 3; i++) {
        put(out, at + 3 * SECTION_BYTES + begins[i], 8);
        put(out, begins[i + 1] - begins[i], 8);
    }
    tl_strbuf_add_n(out, tl_strbuf_text(&texts), texts.n_bytes);
    out->has_failed |= texts.has_failed;
    tl_strbuf_done(&texts);
}

static void put_header(const perfdata *f, tl_strbuf *out, uint64_t attrs_at, uint64_t data_at) {
    put(out, magic, 8);
    put(out, HEADER_BYTES, 8);
    put(out, ATTR_BYTES + SECTION_BYTES, 8);
    put(out, attrs_at, 8);
    put(out, (uint64_t)f->measures->n_items * (ATTR_BYTES + SECTION_BYTES), 8);
    put(out, data_at, 8);
    put(out, f->data.n_bytes, 8);
    put(out, 0, 8); // event types: unused
    put(out, 0, 8);
    put(out, 1u << FEATURE_ARCH | 1u << FEATURE_CMDLINE | 1u << FEATURE_EVENT_DESC, 8);
    pad(out, 24); // further features
    for (uint32_t m = 0; m < f->measures->n_items; m++)
        put(out, m + 1u, 8);
    for (uint32_t m = 0; m < f->measures->n_items; m++) {
        put_attr(f, out, m);
        put(out, HEADER_BYTES + 8u * m, 8);
        put(out, 8, 8);
    }
}

tl_status tl_export_perfdata(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    perfdata f = {.profile = profile, .measures = measures, .time = 1, .has_chains = measures->has_contexts};
    const uint64_t attrs_at = HEADER_BYTES + 8u * measures->n_items;
    const uint64_t data_at = attrs_at + (uint64_t)measures->n_items * (ATTR_BYTES + SECTION_BYTES);
    tl_strbuf out = {0};
    for (uint32_t i = 0; i < profile->n_threads; i++)
        put_comm(&f, &profile->threads[i]);
    for (uint32_t i = 0; i < profile->n_mappings; i++)
        put_mapping(&f, &profile->mappings[i]);
    tl_status status = tl_export_each_stack(profile, measures, put_samples, &f, err);
    put_header(&f, &out, attrs_at, data_at);
    if (status == TL_OK && !out.has_failed) {
        fwrite(tl_strbuf_text(&out), 1, out.n_bytes, stream);
        fwrite(tl_strbuf_text(&f.data), 1, f.data.n_bytes, stream);
        tl_strbuf_clear(&out);
        put_features(&f, &out, data_at + f.data.n_bytes);
        fwrite(tl_strbuf_text(&out), 1, out.n_bytes, stream);
    }
    if (status == TL_OK && (out.has_failed || f.data.has_failed))
        status = tl_export_no_memory(err);
    tl_strbuf_done(&out);
    tl_strbuf_done(&f.data);
    return status;
}
