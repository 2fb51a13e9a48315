// SPDX-License-Identifier: MIT
// Any bytes as a tenants file. It is refused with a sentence that begins with the file's name, or
// it yields a plan. In a plan every VM has a program and every bound holds.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "session/description.h"
#include "session/tenants_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_context(const tl_context_plan *c) {
    if (!c->program || !c->name || !c->argv[0] || c->line == 0)
        abort();
    for (uint32_t i = 0; c->env[i]; i++)
        if (!strchr(c->env[i], '='))
            abort();
}

static void check_board(const tl_vm_plan *vm) {
    const tl_board_plan *board = vm->board;
    if (board->line == 0 || board->n_harts < 1 || board->n_harts > TL_MAX_HARTS || (board->n_harts > 1 && vm->n_contexts > 1) ||
        (board->program && board->kernel) || (board->initrd && !board->kernel))
        abort();
    for (uint32_t k = 0; k < vm->n_contexts; k++)
        if (!vm->contexts[k].name)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char name[] = "input.yaml";
    tl_tenants_plan plan;
    tl_config config;
    tl_error err = {.status = TL_OK};
    if (tl_tenants_plan_read((const char *)data, size, name, "folder", &plan, &err) != TL_OK) {
        if (err.status == TL_OK || strncmp(err.text, name, strlen(name)) != 0 || strlen(err.text) < sizeof name + 4)
            abort(); // refused without a word
        tl_tenants_plan_done(&plan);
        return 0;
    }
    if (plan.n_vms < 1 || plan.n_vms > TL_MAX_VMS)
        abort();
    for (uint32_t i = 0; i < plan.n_vms; i++) {
        const tl_vm_plan *vm = &plan.vms[i];
        if (vm->n_contexts < 1 || vm->n_contexts > TL_MAX_CONTEXTS_OF_VM || !vm->name)
            abort();
        if (vm->board)
            check_board(vm);
        for (uint32_t k = 0; !vm->board && k < vm->n_contexts; k++)
            check_context(&vm->contexts[k]);
    }
    if (tl_description_open("cloud4", &config, NULL) != TL_OK)
        abort();
    const bool is_valid = tl_tenants_plan_check(&plan, &config, &err) == TL_OK;
    for (uint32_t i = 0; is_valid && i < plan.n_vms; i++)
        if (plan.vms[i].partition >= config.n_partitions)
            abort();
    tl_tenants_plan_done(&plan);
    return 0;
}
