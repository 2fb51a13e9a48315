// SPDX-License-Identifier: MIT
// Tenants files: what is read, and every mistake with its sentence.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/testing.h"
#include "session/description.h"
#include "session/tenants_file.h"

static tl_status read_text(const char *text, tl_tenants_plan *ret_plan, tl_error *err) {
    return tl_tenants_plan_read(text, strlen(text), "t.yaml", "", ret_plan, err);
}

static void test_every_key_reaches_the_plan(void **state) {
    (void)state;
    static const char text[] = "machine: tiny\n"
                               "profile: LITERAL\n"
                               "interval: 5000\n"
                               "max_cycles: 2M\n"
                               "vms:\n"
                               "  - contexts: [{program: a}]\n"
                               "  - name: web\n"
                               "    partition: 3\n"
                               "    quantum: 4k\n"
                               "    root: files\n"
                               "    sysroot: /lib\n"
                               "    network: on\n"
                               "    confidential: on\n"
                               "    contexts_read_vm: on\n"
                               "    contexts:\n"
                               "      - program: bin/prog\n"
                               "        args: [one, 'two three', \"\"]\n"
                               "        env: [A=1, B=]\n"
                               "        stdin: in.txt\n"
                               "        stdout: none\n"
                               "        stderr: /tmp/e\n"
                               "        quantum: 1000\n"
                               "        client: system\n"
                               "      - {name: two, program: /abs, stdin: inherit, client: hypervisor}\n"
                               "      - {name: three, program: /abs, client: none}\n"
                               "      - {name: four, program: /abs, client: context}\n";
    tl_tenants_plan plan;
    tl_error err;
    if (tl_tenants_plan_read(text, strlen(text), "dir/t.yaml", "dir", &plan, &err) != TL_OK)
        fail_msg("%s", err.text);
    assert_string_equal(plan.machine, "tiny");
    assert_int_equal(plan.machine_line, 1);
    assert_int_equal(plan.profile, TL_CHIP_LITERAL);
    assert_int_equal(plan.interval_cycles, 5000);
    assert_int_equal(plan.max_cycles, 2000000);
    assert_int_equal(plan.n_vms, 2);
    const tl_vm_plan *vm = &plan.vms[0];
    assert_string_equal(vm->name, "vm1");
    assert_int_equal(vm->partition, 0);
    assert_int_equal(vm->quantum_cycles, 0);
    assert_null(vm->root);
    assert_false(vm->allow_network);
    assert_string_equal(vm->contexts[0].program, "dir/a");
    assert_string_equal(vm->contexts[0].argv[0], "a");
    assert_null(vm->contexts[0].std[0]);
    assert_ptr_equal(vm->contexts[0].std[1], TL_STD_INHERITED);
    assert_ptr_equal(vm->contexts[0].std[2], TL_STD_INHERITED);
    vm = &plan.vms[1];
    assert_int_equal(vm->line, 7);
    assert_string_equal(vm->name, "web");
    assert_int_equal(vm->partition, 3);
    assert_int_equal(vm->quantum_cycles, 4000);
    assert_string_equal(vm->root, "dir/files");
    assert_string_equal(vm->sysroot, "/lib");
    assert_true(vm->allow_network);
    assert_true(vm->is_confidential && vm->contexts_read_vm);
    assert_false(plan.vms[0].is_confidential || plan.vms[0].contexts_read_vm);
    assert_int_equal(vm->n_contexts, 4);
    static const tl_monitor_role roles[] = {TL_MONITOR_SYSTEM, TL_MONITOR_HYPERVISOR, TL_MONITOR_CONTEXT, TL_MONITOR_CONTEXT};
    for (uint32_t i = 0; i < TL_COUNT_OF(roles); i++) {
        assert_int_equal(vm->contexts[i].client, roles[i]);
        assert_int_equal(vm->contexts[i].has_no_window, i == 2);
    }
    const tl_context_plan *c = &vm->contexts[0];
    assert_int_equal(c->line, 16);
    assert_string_equal(c->name, "prog");
    assert_string_equal(c->program, "dir/bin/prog");
    static const char *const argv[] = {"./prog", "one", "two three", ""};
    for (uint32_t i = 0; i < TL_COUNT_OF(argv); i++)
        assert_string_equal(c->argv[i], argv[i]);
    assert_null(c->argv[4]);
    assert_string_equal(c->env[0], "A=1");
    assert_string_equal(c->env[1], "B=");
    assert_null(c->env[2]);
    assert_string_equal(c->std[0], "dir/in.txt");
    assert_null(c->std[1]);
    assert_string_equal(c->std[2], "/tmp/e");
    assert_int_equal(c->quantum_cycles, 1000);
    assert_string_equal(vm->contexts[1].name, "two");
    assert_string_equal(vm->contexts[1].program, "/abs");
    assert_ptr_equal(vm->contexts[1].std[0], TL_STD_INHERITED);
    assert_int_equal(vm->contexts[1].quantum_cycles, 0);
    tl_tenants_plan_done(&plan);
}

static void test_a_short_file_has_defaults(void **state) {
    (void)state;
    tl_tenants_plan plan;
    assert_int_equal(read_text("vms: [{contexts: [{program: p}]}, {contexts: [{program: p}]}]\n", &plan, NULL), TL_OK);
    assert_string_equal(plan.machine, "cloud4");
    assert_int_equal(plan.profile, TL_CHIP_SAFE);
    assert_int_equal(plan.interval_cycles, 0);
    assert_int_equal(plan.max_cycles, 0);
    assert_int_equal(plan.vms[1].partition, 1); // one partition each, in order
    assert_string_equal(plan.vms[1].name, "vm2");
    tl_tenants_plan_done(&plan);
}

static void test_every_key_of_a_board_reaches_the_plan(void **state) {
    (void)state;
    static const char text[] = "vms:\n"
                               "  - name: linux\n"
                               "    partition: 2\n"
                               "    board:\n"
                               "      firmware: /fw\n"
                               "      kernel: Image\n"
                               "      initrd: cpio\n"
                               "      append: 'quiet x=1'\n"
                               "      ram: 256MiB\n"
                               "      spaces: 5\n"
                               "      console: out.txt\n"
                               "  - board: {program: bare.elf, harts: 2, console: none}\n"
                               "  - board: {}\n";
    tl_tenants_plan plan;
    tl_error err;
    if (tl_tenants_plan_read(text, strlen(text), "dir/t.yaml", "dir", &plan, &err) != TL_OK)
        fail_msg("%s", err.text);
    const tl_vm_plan *vm = &plan.vms[0];
    assert_int_equal(vm->partition, 2);
    assert_int_equal(vm->n_contexts, 5);
    assert_string_equal(vm->contexts[0].name, "board");
    assert_string_equal(vm->contexts[4].name, "space4");
    assert_int_equal(vm->board->line, 4);
    assert_string_equal(vm->board->firmware, "/fw");
    assert_string_equal(vm->board->kernel, "dir/Image");
    assert_string_equal(vm->board->initrd, "dir/cpio");
    assert_string_equal(vm->board->append, "quiet x=1");
    assert_string_equal(vm->board->console, "dir/out.txt");
    assert_true(vm->board->ram_bytes == 256 << 20);
    assert_int_equal(vm->board->n_harts, 1);
    assert_null(vm->board->program);
    vm = &plan.vms[1];
    assert_string_equal(vm->board->program, "dir/bare.elf");
    assert_int_equal(vm->board->n_harts, 2);
    assert_int_equal(vm->n_contexts, 1);
    assert_null(vm->board->console);
    vm = &plan.vms[2];
    assert_null(vm->board->kernel);
    assert_int_equal(vm->n_contexts, 16);
    assert_int_equal(vm->board->ram_bytes, 0);
    assert_ptr_equal(vm->board->console, TL_STD_INHERITED);
    tl_tenants_plan_done(&plan);
}

static void test_mistakes_are_named_with_line_key_and_remedy(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *text, *sentence;
    } rows[] = {
        {__LINE__, "", "t.yaml:1: empty; a tenants file needs `vms:`"},
        {__LINE__, "- a\n", "t.yaml:1: not a tenants file; it begins with `machine:` and `vms:`"},
        {__LINE__, "just text\n", "t.yaml:1: not a tenants file; it begins with `machine:` and `vms:`"},
        {__LINE__, "machine: x\n", "t.yaml:1: vms: is missing or empty; it lists the tenants, each with contexts:"},
        {__LINE__, "machine: x\nvms: []\n", "t.yaml:2: vms: is missing or empty; it lists the tenants, each with contexts:"},
        {__LINE__, "vms: x\n", "t.yaml:1: vms: must be a list; write vms: [...]"},
        {__LINE__, "machine: [x]\n", "t.yaml:1: machine: must be one value; write machine: cloud4"},
        {__LINE__, "machine:\nvms: []\n", "t.yaml:1: machine: has no value; write one, or remove the line"},
        {__LINE__, "machin: x\n", "t.yaml:1: machin: unknown key; did you mean machine?"},
        {__LINE__, "color: x\n", "t.yaml:1: color: unknown key; keys are machine, profile, monitor, interval, max_cycles, vms"},
        {__LINE__, "machine: a\nmachine: b\n", "t.yaml:2: machine: given twice, first on line 1; remove one"},
        {__LINE__, "profile: safe\n", "t.yaml:1: profile = safe: must be SAFE or LITERAL"},
        {__LINE__, "monitor: [x]\n", "t.yaml:1: monitor: must be one value; write monitor: none"},
        {__LINE__, "interval: 10\n", "t.yaml:1: interval = 10: must be between 1000 and 1152921504606846976"},
        {__LINE__, "max_cycles: 0\n", "t.yaml:1: max_cycles = 0: must be between 1 and 1152921504606846976"},
        {__LINE__, "vms:\n  - 3\n", "t.yaml:2: vms[0]: must be a mapping with contexts: or board:"},
        {__LINE__, "vms:\n  - name: a\n",
         "t.yaml:2: vms[0].contexts: is missing or empty; a VM runs at least one program, or has a board:"},
        {__LINE__, "vms:\n  - contexts: []\n",
         "t.yaml:2: vms[0].contexts: is missing or empty; a VM runs at least one program, or has a board:"},
        {__LINE__, "vms:\n  - contexts: {a: b}\n", "t.yaml:2: vms[0].contexts: must be a list; write contexts: [{program: ./prog}]"},
        {__LINE__, "vms:\n  - partition: -1\n    contexts: [{program: a}]\n",
         "t.yaml:2: vms[0].partition = -1: '-1' is not a number; write one such as 64, 10M or 64Ki"},
        {__LINE__, "vms:\n  - quantum: 999\n", "t.yaml:2: vms[0].quantum = 999: must be between 1000 and 1152921504606846976"},
        {__LINE__, "vms:\n  - network: maybe\n", "t.yaml:2: vms[0].network = maybe: must be off or on"},
        {__LINE__, "vms:\n  - contexts:\n      - x\n", "t.yaml:3: vms[0].contexts[0]: must be a mapping with program:"},
        {__LINE__, "vms:\n  - contexts:\n      - name: x\n",
         "t.yaml:3: vms[0].contexts[0].program: is missing; name a RISC-V Linux executable"},
        {__LINE__, "vms:\n  - contexts:\n      - programme: x\n",
         "t.yaml:3: vms[0].contexts[0].programme: unknown key; did you mean program?"},
        {__LINE__, "vms:\n  - contexts:\n      - program: x\n        args: y\n",
         "t.yaml:4: vms[0].contexts[0].args: must be a list; write args: [a, b]"},
        {__LINE__, "vms:\n  - contexts:\n      - program: x\n        args: [a, ]\n        env: [A]\n",
         "t.yaml:5: vms[0].contexts[0].env: A: write NAME=VALUE"},
        {__LINE__, "vms:\n  - contexts:\n      - program: x\n        args: [a, ~]\n",
         "t.yaml:4: vms[0].contexts[0].args: a word is missing here; write it, in quotes if it is empty or has : or #"},
        {__LINE__, "vms:\n  - contexts:\n      - program: x\n      - program: y/x\n",
         "t.yaml:4: vms[0].contexts[1].name = x: another context of this VM has that name; give each its own with name:"},
        {__LINE__, "vms:\n  - name: a\n    contexts: [{program: x}]\n  - name: a\n    contexts: [{program: x}]\n",
         "t.yaml:4: vms[1].name = a: the VM on line 2 has that name, too; give each its own"},
        {__LINE__, "vms:\n  - board: Image\n", "t.yaml:2: vms[0].board: must be a mapping; write board: {kernel: Image}"},
        {__LINE__, "vms:\n  - board:\n      kernal: x\n", "t.yaml:3: vms[0].board.kernal: unknown key; did you mean kernel?"},
        {__LINE__, "vms:\n  - board: {kernel: x}\n    contexts: [{program: a}]\n",
         "t.yaml:3: vms[0].contexts: is for programs, and this VM is a board; remove it, or board:"},
        {__LINE__, "vms:\n  - board: {kernel: x}\n    quantum: 5000\n",
         "t.yaml:3: vms[0].quantum: a board has its partition alone; remove it"},
        {__LINE__, "vms:\n  - board:\n      program: x\n      kernel: y\n",
         "t.yaml:4: vms[0].board.kernel: program: runs alone in machine mode; remove one of them"},
        {__LINE__, "vms:\n  - board:\n      initrd: x\n", "t.yaml:3: vms[0].board.initrd: is for a kernel; give kernel:, too"},
        {__LINE__, "vms:\n  - board: {append: x}\n", "t.yaml:2: vms[0].board.append: is for a kernel; give kernel:, too"},
        {__LINE__, "vms:\n  - board: {ram: 1000}\n", "t.yaml:2: vms[0].board.ram = 1000: must be whole MiB, 16MiB or more"},
        {__LINE__, "vms:\n  - board: {harts: 0}\n", "t.yaml:2: vms[0].board.harts = 0: must be between 1 and 8"},
        {__LINE__, "vms:\n  - board: {spaces: 33}\n", "t.yaml:2: vms[0].board.spaces = 33: must be between 1 and 32"},
        {__LINE__, "vms:\n  - board: {harts: 2, spaces: 3}\n",
         "t.yaml:2: vms[0].board.spaces = 3: 2 harts run several address spaces at a time, which one partition cannot tell apart; set "
         "harts: 1, or spaces: 1"},
        {__LINE__, "vms: &a []\n", "t.yaml:1: anchors, aliases and tags are not supported; write the value itself"},
        {__LINE__, "a: [[[[[[[[[]]]]]]]]]\n", "t.yaml:1: nested too deep, or too long, for a tenants file"},
        {__LINE__, "[a]: b\n", "t.yaml:1: a key is one word, not a list or a mapping"},
        {__LINE__, "vms: \"\n", "t.yaml:2: not valid YAML: found unexpected end of stream"},
        {__LINE__, "vms: \"a\\0b\"\n", "t.yaml:1: a value has a NUL character; remove it"},
        {__LINE__, "vms: []\n---\nx\n", "t.yaml:2: a second document begins here; one file holds one list of tenants"},
        {__LINE__, "vms: \xff\n", "t.yaml: byte 5: invalid leading UTF-8 octet; a tenants file is UTF-8 text"},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_tenants_plan plan;
        tl_error err = {0};
        tl_status status = read_text(rows[i].text, &plan, &err);
        if (status != TL_EFORMAT || err.status != TL_EFORMAT || strcmp(err.text, rows[i].sentence) != 0)
            fail_msg("line %d: status %d, \"%s\"", rows[i].line, status, err.text);
        tl_tenants_plan_done(&plan);
    }
}

static void test_partitions_and_quanta_are_checked_against_the_machine(void **state) {
    (void)state;
    static const struct {
        const char *machine, *text, *sentence;
    } rows[] = {
        {"cloud4", "vms:\n  - partition: 4\n    contexts: [{program: a}]\n",
         "t.yaml:2: vms[0].partition = 4: cloud4 has partitions 0 to 3"},
        {"cloud4", "vms:\n  - partition: 4000000000\n    contexts: [{program: a}]\n",
         "t.yaml:2: vms[0].partition = 4000000000: cloud4 has partitions 0 to 3"},
        {"rocket", "vms:\n  - partition: 1\n    contexts: [{program: a}]\n",
         "t.yaml:2: vms[0].partition = 1: rocket has one partition, 0; choose a machine with partitions, such as cloud4"},
        {"cloud4", "vms:\n  - {name: a, partition: 1, contexts: [{program: a}]}\n  - {name: b, partition: 1, contexts: [{program: a}]}\n",
         "t.yaml:2: vms[0].quantum: is missing, but b (line 3) is on partition 1, too; give both a quantum: in cycles, or another "
         "partition"},
        {"cloud4",
         "vms:\n  - {name: a, partition: 1, quantum: 2000, contexts: [{program: a}]}\n  - {name: b, partition: 1, contexts: [{program: "
         "a}]}\n",
         "t.yaml:3: vms[1].quantum: is missing, but a (line 2) is on partition 1, too; give both a quantum: in cycles, or another "
         "partition"},
        {"cloud4",
         "vms:\n  - {name: a, partition: 1, quantum: 2000, contexts: [{program: a}]}\n  - {name: b, partition: 1, quantum: 9k, contexts: "
         "[{program: a}]}\n",
         NULL},
        {"rocket", "vms:\n  - {partition: 0, contexts: [{program: a}]}\n", NULL},
        {"cloud4", "vms:\n  - {name: a, board: {}}\n  - {name: b, partition: 0, quantum: 2000, contexts: [{program: a}]}\n",
         "t.yaml:2: vms[0].partition = 0: a board has its partition alone, but b (line 3) is there, too; give one of them another partition"},
        {"cloud4", "vms:\n  - board: {harts: 3}\n", "t.yaml:2: vms[0].board.harts = 3: a partition of cloud4 has 2"},
        {"cloud4", "vms:\n  - board: {ram: 2GiB}\n", "t.yaml:2: vms[0].board.ram = 2048 MiB: a partition of cloud4 has 1024 MiB"},
        {"cloud4", "vms:\n  - board: {ram: 1GiB, harts: 2}\n", NULL},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_tenants_plan plan;
        tl_config config;
        tl_error err = {0};
        assert_int_equal(tl_description_open(rows[i].machine, &config, NULL), TL_OK);
        assert_int_equal(read_text(rows[i].text, &plan, NULL), TL_OK);
        tl_status status = tl_tenants_plan_check(&plan, &config, &err);
        if ((status == TL_OK) != !rows[i].sentence || (rows[i].sentence && strcmp(err.text, rows[i].sentence) != 0))
            fail_msg("row %zu: \"%s\"", i, err.text);
        tl_tenants_plan_done(&plan);
    }
}

static void test_too_many_are_refused(void **state) {
    (void)state;
    tl_strbuf text = {0};
    tl_tenants_plan plan;
    tl_error err;
    tl_strbuf_add(&text, "vms:\n");
    for (int i = 0; i <= TL_MAX_VMS; i++)
        tl_strbuf_add(&text, "  - contexts: [{program: a}]\n");
    assert_int_equal(read_text(tl_strbuf_text(&text), &plan, &err), TL_EFORMAT);
    assert_string_equal(err.text, "t.yaml:1: vms: has 33, but a chip has at most 32");
    tl_tenants_plan_done(&plan);
    tl_strbuf_clear(&text);
    tl_strbuf_add(&text, "vms:\n  - contexts:\n");
    for (int i = 0; i <= TL_MAX_CONTEXTS_OF_VM; i++)
        tl_strbuf_addf(&text, "      - program: p%d\n", i);
    assert_int_equal(read_text(tl_strbuf_text(&text), &plan, &err), TL_EFORMAT);
    assert_string_equal(err.text, "t.yaml:2: vms[0].contexts: has 33, but a VM has at most 32");
    tl_tenants_plan_done(&plan);
    tl_strbuf_clear(&text);
    for (int i = 0; i < 5000; i++)
        tl_strbuf_add(&text, "# a comment that makes the file too long: it is not read at all\n");
    assert_int_equal(read_text(tl_strbuf_text(&text), &plan, &err), TL_EFORMAT);
    assert_string_equal(err.text, "t.yaml: longer than 256 KiB; that is no tenants file");
    tl_tenants_plan_done(&plan);
    tl_strbuf_done(&text);
}

static void test_paths_are_relative_to_the_file(void **state) {
    (void)state;
    char folder[] = "/tmp/tally-test-tenants-XXXXXX", path[64], wanted[64];
    tl_tenants_plan plan;
    tl_error err;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.yaml", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("machine: ./m.yaml\nvms: [{contexts: [{program: p}]}]\n", file);
    fclose(file);
    assert_int_equal(tl_tenants_plan_open(path, &plan, &err), TL_OK);
    snprintf(wanted, sizeof wanted, "%s/p", folder);
    assert_string_equal(plan.vms[0].contexts[0].program, wanted);
    snprintf(wanted, sizeof wanted, "%s/./m.yaml", folder);
    assert_string_equal(plan.machine, wanted);
    tl_tenants_plan_done(&plan);
    unlink(path);
    assert_int_equal(tl_tenants_plan_open(path, &plan, &err), TL_ENOENT);
    assert_non_null(strstr(err.text, "t.yaml: cannot open this tenants file: No such file or directory"));
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_reaches_the_plan),
        cmocka_unit_test(test_a_short_file_has_defaults),
        cmocka_unit_test(test_every_key_of_a_board_reaches_the_plan),
        cmocka_unit_test(test_mistakes_are_named_with_line_key_and_remedy),
        cmocka_unit_test(test_partitions_and_quanta_are_checked_against_the_machine),
        cmocka_unit_test(test_too_many_are_refused),
        cmocka_unit_test(test_paths_are_relative_to_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
