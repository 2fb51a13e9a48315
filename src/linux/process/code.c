// SPDX-License-Identifier: MIT
// Keeps the code map of a run: see code.h. Nothing here changes a count or a page.
#include "linux/process/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/memory/frames.h"
#include "linux/memory/page_table.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"
#include "model/code_map.h"
#include "model/isa.h"

static const uint64_t MAX_FILE_BYTES = UINT64_C(1) << 31; // larger ones have no names

static uint32_t process_number(tl_code_map *map, const tl_process *p, const char *name) {
    // A parent that never ran has no number.
    uint32_t parent = TL_CODE_NONE;
    for (uint32_t i = 0; p->parent && i < map->n_processes; i++)
        if (map->processes[i].pid == p->parent->pid)
            parent = i;
    return tl_code_map_process(map, p->pid, parent, name);
}

static uint32_t set_space(tl_thread *t) {
    tl_code_map *map = t->os->options.code_map;
    const tl_thread *leader = t->process->threads ? t->process->threads : t;
    const uint32_t process = process_number(map, t->process, leader->comm);
    const uint32_t thread = tl_code_map_thread(map, t->tid, process, t->comm);
    // It stays 0 if there is no memory.
    if (t->code_space == 0)
        t->code_space = tl_code_map_space(map, thread, t->process->vm->id) + 1;
    if (t->code_space == 0)
        return thread;
    tl_machine_sync(t->os->machine);
    tl_attribution_set_space(map->attribution, t->hart->id, t->code_space - 1);
    return thread;
}

void tl_code_arrive(tl_thread *t) {
    const uint32_t thread = set_space(t);
    tl_code_map_arrive(t->os->options.code_map, t->hart->id, thread, t->hart->now);
}

void tl_code_leave(tl_thread *t) { tl_code_map_leave(t->os->options.code_map, t->hart->id, t->hart->now); }

void tl_code_changed(tl_thread *t) {
    t->code_space = 0;
    (void)set_space(t);
}

static uint8_t *read_file(tl_os *os, tl_file *file, uint64_t *ret_n) {
    const int64_t n = tl_file_size(os, file);
    uint8_t *bytes = n > 0 && (uint64_t)n <= MAX_FILE_BYTES ? malloc((size_t)n) : NULL;
    uint64_t done = 0;
    while (bytes && done < (uint64_t)n) {
        const int64_t part = tl_file_pread(os, file, bytes + done, (size_t)((uint64_t)n - done), done);
        if (part <= 0)
            break;
        done += (uint64_t)part;
    }
    *ret_n = done;
    return bytes;
}

// Code of a JIT belongs to its process, and so do stack and heap.
static uint32_t object_of(tl_vm *vm, const tl_vma *area, const tl_code_process *process) {
    tl_code_map *map = vm->os->options.code_map;
    tl_code_object like = {.kind = "anonymous", .pid = process->pid};
    char anonymous[48];
    const char *path = anonymous;
    snprintf(anonymous, sizeof anonymous, "[anonymous %d]", process->pid);
    if (area->kind == TL_VMA_TRAMPOLINE) {
        like.pid = 0;
        path = "[vdso]";
    }
    if (area->file) {
        like = (tl_code_object){.kind = "library"};
        path = tl_file_path(area->file);
        tl_file_identity(area->file, &like.device, &like.inode);
        for (const tl_process *p = tl_process_first(vm->os); p; p = p->next)
            if (p->vm == vm && p->exe_path && strcmp(p->exe_path, path) == 0)
                like.kind = "program";
    }
    bool is_new;
    const uint32_t object = tl_code_map_object(map, &like, path, &is_new);
    if (is_new && area->file)
        map->objects[object].bytes = read_file(vm->os, area->file, &map->objects[object].n_bytes);
    return object;
}

// Of pages that are present; a fetch made them so.
static void take_bytes(const tl_vm *vm, uint64_t pc, tl_code_row *row) {
    for (uint32_t i = 0; i < TL_CODE_INSN_BYTES; i += 2) {
        const uint64_t *pte = tl_vm_pte(vm, (pc + i) & ~(uint64_t)(TL_PAGE_BYTES - 1));
        if (!pte || !tl_pte_is_valid(vm->format, *pte))
            return;
        const uint8_t *page = tl_frame_bytes(vm->os->frames, tl_pte_paddr(vm->format, *pte));
        memcpy(row->bytes + i, page + ((pc + i) & (TL_PAGE_BYTES - 1)), 2);
        row->n_bytes = (uint8_t)(i + 2);
        if (i == 0 && vm->os->machine->engine->isa->number == TL_ISA_RISCV64 && (row->bytes[0] & 3) != 3)
            return; // a compressed one
    }
}

static void resolve(tl_vm *vm, uint32_t number, uint32_t space, uint64_t pc) {
    tl_code_map *map = vm->os->options.code_map;
    const tl_vma *area = tl_vm_find(vm, pc);
    const uint32_t process = map->threads[map->spaces[space].thread].process;
    if (!area || process == TL_CODE_NONE)
        return;
    tl_code_row *row = &map->rows[number];
    const uint32_t object = object_of(vm, area, &map->processes[process]);
    if (object == TL_CODE_NONE)
        return;
    const uint64_t offset = area->file ? area->offset : area->start;
    row->object = object;
    row->mapping = tl_code_map_mapping(
        map, &(tl_code_mapping){.process = process, .object = object, .start = area->start, .end = area->end, .offset = offset});
    take_bytes(vm, pc, row);
}

static bool has_code(const tl_vm *vm, uint64_t start, uint64_t end) {
    for (const tl_vma *area = tl_areas_after(vm, start); area && area->start < end; area = area->next)
        if (area->prot & TL_PROT_EXEC)
            return true;
    return false;
}

// The process of a file "jit-PID.dump"; 0: the file has another name.
static int32_t dumped_pid(const tl_file *file) {
    const char *path = tl_file_path(file), *slash = path ? strrchr(path, '/') : NULL;
    int pid = 0, n = 0;
    if (!slash || sscanf(slash, "/jit-%9d.dump%n", &pid, &n) != 1 || n == 0 || slash[n] != '\0')
        return 0;
    return pid > 0 ? pid : 0;
}

// A JIT maps its jitdump file as code, so that profilers find it, and unmaps it when all is
// written.
static void take_dumps(const tl_vm *vm, uint64_t start, uint64_t end) {
    for (const tl_vma *area = tl_areas_after(vm, start); area && area->start < end; area = area->next) {
        const int32_t pid = (area->prot & TL_PROT_EXEC) && area->file ? dumped_pid(area->file) : 0;
        uint64_t n;
        uint8_t *bytes = pid != 0 ? read_file(vm->os, area->file, &n) : NULL;
        if (bytes)
            tl_code_map_dump(vm->os->options.code_map, pid, bytes, n);
    }
}

void tl_code_leaves(tl_vm *vm, uint64_t start, uint64_t end) {
    tl_code_map *map = vm->os->options.code_map;
    if (!has_code(vm, start, end))
        return;
    take_dumps(vm, start, end);
    tl_machine *machine = vm->os->machine;
    tl_machine_sync(machine);
    if (machine->n_harts > 0) // rows of what the kernel counted since the last run
        tl_attribution_begin(machine->harts[0]);
    tl_code_map_scan(map);
    uint32_t n_rows;
    const tl_attribution_row *rows = tl_attribution_rows(map->attribution, &n_rows);
    bool is_gone = false;
    for (uint32_t s = 0; s < map->n_spaces; s++) {
        if (map->spaces[s].memory != vm->id)
            continue;
        for (uint32_t i = map->spaces[s].last_row; i != TL_CODE_NONE; i = map->rows[i].previous_row)
            if (rows[i].pc >= start && rows[i].pc < end) {
                is_gone = true;
                if (map->rows[i].object == TL_CODE_NONE)
                    resolve(vm, i, s, rows[i].pc);
            }
    }
    if (!is_gone)
        return;
    // Other code may come to these addresses: counts of it have rows of their own.
    for (tl_process *p = tl_process_first(vm->os); p; p = p->next) {
        for (tl_thread *t = p->vm == vm ? p->threads : NULL; t; t = t->next_in_process) {
            t->code_space = 0;
            if (t->hart)
                (void)set_space(t);
        }
    }
}

void tl_os_end_code_map(tl_os *os) {
    if (!os->options.code_map)
        return;
    for (const tl_process *p = tl_process_first(os); p; p = p->next)
        if (p->vm)
            tl_code_leaves(p->vm, 0, TL_USER_END);
    tl_code_map_scan(os->options.code_map);
    os->options.code_map = NULL;
}
