// SPDX-License-Identifier: MIT
// T-ACC: each cell of the matrix, written here as the specification's table writes it, with every
// operation and policy; and the audit log.
#include "base/testing.h"

#include <string.h>

#include "pmu/smpm/access.h"
#include "pmu/smpm/block.h"

enum { VM = 2, CTX = 5, OTHER_VM = 3 };

// "R own", "R": read. "R?": by policy hv_reads_vm. "R!": if granted. "R*": allow-list. "Q":
// request. "U": use. "K": with the current key. "e": own entries. "-": nothing.
// clang-format off
static const struct {
    tl_smpm_object_kind kind;
    const char *cells[7];
} table[] = {
    // guest ctx, guest OS, other guest, hypervisor, v confidential, MCU, copy engine
    {TL_SMPM_OBJECT_CTX,       {"R own", "R",  "-", "R?", "-",  "R",  "RK"}},
    {TL_SMPM_OBJECT_VM,        {"R!",    "R",  "-", "R?", "-",  "R",  "RK"}},
    {TL_SMPM_OBJECT_VM0,       {"-",     "-",  "-", "R",  "R*", "R",  "-"}},
    {TL_SMPM_OBJECT_DEV,       {"-",     "-",  "-", "-",  "-",  "R",  "-"}},
    {TL_SMPM_OBJECT_REGISTERS, {"-",     "-",  "-", "Q",  "Q",  "RW", "-"}},
    {TL_SMPM_OBJECT_FILTERS,   {"-",     "Q",  "-", "Q",  "Q",  "RW", "-"}},
    {TL_SMPM_OBJECT_KEYS,      {"-",     "U",  "-", "-",  "-",  "RW", "UK"}},
    {TL_SMPM_OBJECT_AUDIT,     {"-",     "Re", "-", "Re", "Re", "R",  "-"}},
};
// clang-format on

static tl_smpm_decision by_the_table(const char *cell, tl_smpm_operation operation, bool is_own, bool granted, bool hv_reads, bool has_key,
                                     bool is_own_log) {
    static const char letters[] = "RWQU";
    if (!strchr(cell, letters[operation]))
        return TL_SMPM_FAULT;
    if ((strstr(cell, "own") && !is_own) || (strchr(cell, '!') && !granted) || (strchr(cell, '?') && !hv_reads) ||
        (strchr(cell, 'K') && !has_key) || (strchr(cell, 'e') && !is_own_log))
        return TL_SMPM_FAULT;
    return strchr(cell, '*') ? TL_SMPM_ALLOWED_LISTED : TL_SMPM_ALLOWED;
}

static const tl_smpm_identity identities[7] = {
    {TL_SMPM_GUEST_CTX, VM, CTX},
    {TL_SMPM_GUEST_OS, VM, TL_SMPM_NO_CTX},
    {TL_SMPM_GUEST_OS, OTHER_VM, TL_SMPM_NO_CTX},
    {TL_SMPM_HYPERVISOR, TL_SMPM_NO_VM, TL_SMPM_NO_CTX},
    {TL_SMPM_HYPERVISOR, TL_SMPM_NO_VM, TL_SMPM_NO_CTX},
    {TL_SMPM_CONTROLLER, TL_SMPM_NO_VM, TL_SMPM_NO_CTX},
    {TL_SMPM_COPY_ENGINE, VM, TL_SMPM_NO_CTX},
};

static void test_every_cell_with_every_operation_and_policy(void **state) {
    (void)state;
    unsigned n_cells = 0, n_allowed = 0;
    for (unsigned row = 0; row < TL_SMPM_N_OBJECTS; row++) {
        for (unsigned column = 0; column < 7; column++) {
            for (unsigned bits = 0; bits < 32; bits++) {
                bool granted = bits & 1, hv_reads = bits & 2, has_key = bits & 4, is_own = bits & 8, asks_hv_log = bits & 16;
                tl_smpm_policy policy;
                tl_smpm_policy_init(&policy, false);
                policy.hv_reads_vm = hv_reads;
                policy.ctx_reads_vm = granted ? 1u << VM : ~(UINT64_C(1) << VM);
                policy.has_key = has_key ? 1u << VM : ~(UINT64_C(1) << VM);
                policy.confidential = column == 4 ? 1u << VM : 0;
                tl_smpm_object object = {table[row].kind, VM, is_own ? CTX : CTX + 1};
                if (table[row].kind == TL_SMPM_OBJECT_AUDIT && asks_hv_log)
                    object.vm = TL_SMPM_NO_VM;
                bool is_own_log = (identities[column].who == TL_SMPM_HYPERVISOR) == asks_hv_log;
                // A VM's own system that asks for the hypervisor's log is another guest to it.
                const char *cell = table[row].kind == TL_SMPM_OBJECT_AUDIT && asks_hv_log && column < 3 ? "-" : table[row].cells[column];
                for (tl_smpm_operation operation = TL_SMPM_READ; operation < TL_SMPM_N_OPERATIONS; operation++) {
                    tl_smpm_decision decision = tl_smpm_decide(&policy, &identities[column], operation, &object);
                    assert_int_equal(decision, by_the_table(cell, operation, is_own, granted, hv_reads, has_key, is_own_log));
                    n_cells++;
                    n_allowed += decision != TL_SMPM_FAULT;
                }
            }
        }
    }
    assert_int_equal(n_cells, 8 * 7 * 32 * 4);
    assert_true(n_allowed > 500);
}

// The column "other guest" for contexts, and for objects of no VM.
static void test_context_of_another_vm_gets_nothing(void **state) {
    (void)state;
    tl_smpm_policy policy = {.hv_reads_vm = true, .ctx_reads_vm = UINT64_MAX, .has_key = UINT64_MAX};
    for (unsigned kind = 0; kind < TL_SMPM_N_OBJECTS; kind++)
        for (tl_smpm_operation operation = TL_SMPM_READ; operation < TL_SMPM_N_OPERATIONS; operation++)
            for (uint32_t vm = 0; vm < TL_SMPM_MAX_VMS + 8; vm++) {
                const tl_smpm_object object = {(tl_smpm_object_kind)kind, VM, CTX};
                const tl_smpm_identity guest = {TL_SMPM_GUEST_CTX, vm, CTX}, engine = {TL_SMPM_COPY_ENGINE, vm, TL_SMPM_NO_CTX};
                if (vm == VM)
                    continue;
                assert_int_equal(tl_smpm_decide(&policy, &guest, operation, &object), TL_SMPM_FAULT);
                assert_int_equal(tl_smpm_decide(&policy, &engine, operation, &object), TL_SMPM_FAULT);
            }
}

static void test_profiles_differ_in_what_the_hypervisor_reads(void **state) {
    (void)state;
    tl_smpm_policy policy;
    const tl_smpm_object vm = {TL_SMPM_OBJECT_VM, VM, TL_SMPM_NO_CTX}, other = {TL_SMPM_OBJECT_VM, OTHER_VM, TL_SMPM_NO_CTX};
    tl_smpm_policy_init(&policy, true);
    assert_int_equal(tl_smpm_decide(&policy, &identities[3], TL_SMPM_READ, &vm), TL_SMPM_FAULT);
    tl_smpm_policy_init(&policy, false);
    assert_int_equal(tl_smpm_decide(&policy, &identities[3], TL_SMPM_READ, &vm), TL_SMPM_ALLOWED);
    policy.confidential = 1u << VM;
    assert_int_equal(tl_smpm_decide(&policy, &identities[3], TL_SMPM_READ, &vm), TL_SMPM_FAULT);
    assert_int_equal(tl_smpm_decide(&policy, &identities[3], TL_SMPM_READ, &other), TL_SMPM_ALLOWED);
    const tl_smpm_object ctx = {TL_SMPM_OBJECT_CTX, VM, CTX}, other_ctx = {TL_SMPM_OBJECT_CTX, OTHER_VM, CTX};
    assert_int_equal(tl_smpm_decide(&policy, &identities[3], TL_SMPM_READ, &ctx), TL_SMPM_FAULT);
    assert_int_equal(tl_smpm_decide(&policy, &identities[3], TL_SMPM_READ, &other_ctx), TL_SMPM_ALLOWED);
}

static void test_numbers_out_of_range_fault(void **state) {
    (void)state;
    const tl_smpm_policy policy = {true, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    tl_smpm_object object = {(tl_smpm_object_kind)TL_SMPM_N_OBJECTS, VM, CTX};
    assert_int_equal(tl_smpm_decide(&policy, &identities[5], TL_SMPM_READ, &object), TL_SMPM_FAULT);
    object.kind = TL_SMPM_OBJECT_CTX;
    assert_int_equal(tl_smpm_decide(&policy, &identities[5], TL_SMPM_N_OPERATIONS, &object), TL_SMPM_FAULT);
    const tl_smpm_identity nobody = {TL_SMPM_N_WHOS, VM, CTX}, far = {TL_SMPM_GUEST_CTX, TL_SMPM_MAX_VMS + VM, CTX},
                           none = {TL_SMPM_GUEST_CTX, VM, TL_SMPM_NO_CTX};
    assert_int_equal(tl_smpm_decide(&policy, &nobody, TL_SMPM_READ, &object), TL_SMPM_FAULT);
    object.vm = TL_SMPM_MAX_VMS + VM;
    assert_int_equal(tl_smpm_decide(&policy, &far, TL_SMPM_READ, &object), TL_SMPM_FAULT);
    const tl_smpm_identity engine = {TL_SMPM_COPY_ENGINE, TL_SMPM_MAX_VMS, TL_SMPM_NO_CTX};
    object.vm = TL_SMPM_MAX_VMS; // the first that is in no set
    assert_int_equal(tl_smpm_decide(&policy, &engine, TL_SMPM_READ, &object), TL_SMPM_FAULT);
    object = (tl_smpm_object){TL_SMPM_OBJECT_CTX, VM, TL_SMPM_NO_CTX};
    assert_int_equal(tl_smpm_decide(&policy, &none, TL_SMPM_READ, &object), TL_SMPM_FAULT);
}

//  ---- audit

static tl_smpm_audit audit;
static const tl_smpm_policy safe = {.hv_reads_vm = true};

static void refuse(const tl_smpm_identity *identity, uint64_t t_cycle) {
    const tl_smpm_object object = {TL_SMPM_OBJECT_DEV, 0, 0};
    if (identity->who == TL_SMPM_CONTROLLER)
        tl_smpm_audit_add(&audit, &(tl_smpm_audit_entry){.t_cycle = t_cycle, .identity = *identity});
    else
        assert_int_equal(tl_smpm_access(&safe, &audit, t_cycle, identity, TL_SMPM_READ, &object), TL_SMPM_FAULT);
}

static void test_refusal_leaves_an_entry_and_success_none(void **state) {
    (void)state;
    memset(&audit, 0, sizeof audit);
    const tl_smpm_object own = {TL_SMPM_OBJECT_CTX, VM, CTX}, other = {TL_SMPM_OBJECT_CTX, OTHER_VM, 1};
    assert_int_equal(tl_smpm_access(&safe, &audit, 10, &identities[0], TL_SMPM_READ, &own), TL_SMPM_ALLOWED);
    assert_int_equal(audit.n_entries, 0);
    assert_int_equal(tl_smpm_access(&safe, &audit, 11, &identities[0], TL_SMPM_READ, &other), TL_SMPM_FAULT);
    assert_int_equal(audit.n_entries, 1);
    const tl_smpm_audit_entry *entry = &audit.entries[VM][0];
    assert_int_equal(entry->seq, 1);
    assert_int_equal(entry->order, 1);
    assert_int_equal(entry->t_cycle, 11);
    assert_int_equal(entry->cause, TL_SMPM_CAUSE_ACCESS);
    assert_int_equal(entry->identity.who, TL_SMPM_GUEST_CTX);
    assert_int_equal(entry->identity.vm, VM);
    assert_int_equal(entry->identity.ctx, CTX);
    assert_int_equal(entry->object.kind, TL_SMPM_OBJECT_CTX);
    assert_int_equal(entry->object.vm, OTHER_VM);
    assert_int_equal(entry->object.ctx, 1);
    assert_int_equal(entry->operation, TL_SMPM_READ);
}

static void test_no_subject_sees_or_evicts_entries_of_others(void **state) {
    (void)state;
    memset(&audit, 0, sizeof audit);
    const tl_smpm_object vm_log = {TL_SMPM_OBJECT_AUDIT, VM, 0}, hv_log = {TL_SMPM_OBJECT_AUDIT, TL_SMPM_NO_VM, 0};
    refuse(&identities[0], 1);
    refuse(&identities[3], 2);
    for (unsigned i = 0; i < 1000; i++)
        refuse(&identities[2], 100 + i); // another tenant floods the log
    refuse(&identities[1], 2000);
    tl_smpm_audit_entry entry;
    uint64_t n_dropped;
    assert_true(tl_smpm_audit_read(&audit, &safe, &identities[1], &vm_log, 3000, 0, &entry, &n_dropped));
    assert_true(entry.seq == 1 && entry.t_cycle == 1 && entry.order == 0 && n_dropped == 0);
    assert_true(tl_smpm_audit_read(&audit, &safe, &identities[1], &vm_log, 3000, 1, &entry, &n_dropped));
    assert_true(entry.seq == 2 && entry.t_cycle == 2000 && n_dropped == 0);
    assert_false(tl_smpm_audit_read(&audit, &safe, &identities[1], &vm_log, 3000, 2, &entry, &n_dropped));
    assert_int_equal(audit.n_of_subject[VM], 2); // reading one's own adds none
    assert_true(tl_smpm_audit_read(&audit, &safe, &identities[3], &hv_log, 3000, 0, &entry, &n_dropped));
    assert_true(entry.t_cycle == 2 && entry.order == 0);
    assert_true(tl_smpm_audit_read(&audit, &safe, &identities[5], &vm_log, 3000, 1, &entry, &n_dropped));
    assert_int_equal(entry.order, 1 + 1 + 1000 + 1);
    assert_false(tl_smpm_audit_read(&audit, &safe, &identities[2], &vm_log, 3001, 0, &entry, &n_dropped));
    assert_false(tl_smpm_audit_read(&audit, &safe, &identities[3], &vm_log, 3002, 0, &entry, &n_dropped));
    assert_int_equal(audit.n_of_subject[TL_SMPM_AUDIT_HYPERVISOR], 2);
    assert_int_equal(audit.n_of_subject[OTHER_VM], 1001);
}

static void test_overwritten_entries_are_counted(void **state) {
    (void)state;
    memset(&audit, 0, sizeof audit);
    const tl_smpm_object vm_log = {TL_SMPM_OBJECT_AUDIT, VM, 0};
    tl_smpm_audit_entry entry;
    uint64_t n_dropped;
    for (unsigned i = 1; i <= TL_SMPM_AUDIT_ENTRIES + 3; i++)
        refuse(&identities[1], i);
    assert_true(tl_smpm_audit_read(&audit, &safe, &identities[1], &vm_log, 0, 0, &entry, &n_dropped));
    assert_true(entry.seq == 4 && entry.t_cycle == 4 && n_dropped == 3);
    assert_true(tl_smpm_audit_read(&audit, &safe, &identities[1], &vm_log, 0, TL_SMPM_AUDIT_ENTRIES + 2, &entry, &n_dropped));
    assert_true(entry.seq == TL_SMPM_AUDIT_ENTRIES + 3 && n_dropped == 0);
    const tl_smpm_object not_a_log = {TL_SMPM_OBJECT_VM, VM, 0}, no_log = {TL_SMPM_OBJECT_AUDIT, 1000, 0};
    assert_false(tl_smpm_audit_read(&audit, &safe, &identities[1], &not_a_log, 0, 0, &entry, &n_dropped));
    assert_false(tl_smpm_audit_read(&audit, &safe, &identities[5], &no_log, 0, 0, &entry, &n_dropped));
}

static void test_subjects_without_a_ring_share_one(void **state) {
    (void)state;
    memset(&audit, 0, sizeof audit);
    const tl_smpm_identity far = {TL_SMPM_GUEST_OS, TL_SMPM_MAX_VMS, 0}, nobody = {TL_SMPM_N_WHOS, 0, 0},
                           engine = {TL_SMPM_COPY_ENGINE, VM, 0};
    refuse(&far, 1);
    refuse(&nobody, 2);
    refuse(&engine, 3);
    assert_int_equal(audit.n_of_subject[TL_SMPM_AUDIT_NOBODY], 2);
    assert_int_equal(audit.n_of_subject[TL_SMPM_AUDIT_CONTROLLER], 1);
    for (unsigned i = 0; i < TL_SMPM_N_CAUSES; i++)
        assert_non_null(tl_smpm_cause_names[i]);
}

static void test_coverage_may_grow_only(void **state) {
    (void)state;
    tl_smpm_coverage before = {{0}}, after;
    before.bits[0] = 0xf0;
    before.bits[TL_SMPM_COVERAGE_WORDS - 1] = 1;
    after = before;
    assert_true(tl_smpm_coverage_is_kept(&before, &after));
    after.bits[3] = 7;
    assert_true(tl_smpm_coverage_is_kept(&before, &after));
    after.bits[TL_SMPM_COVERAGE_WORDS - 1] = 2;
    assert_false(tl_smpm_coverage_is_kept(&before, &after));
    after = before;
    after.bits[0] = 0x70;
    assert_false(tl_smpm_coverage_is_kept(&before, &after));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_cell_with_every_operation_and_policy),
    cmocka_unit_test(test_context_of_another_vm_gets_nothing),
    cmocka_unit_test(test_profiles_differ_in_what_the_hypervisor_reads),
    cmocka_unit_test(test_numbers_out_of_range_fault),
    cmocka_unit_test(test_refusal_leaves_an_entry_and_success_none),
    cmocka_unit_test(test_no_subject_sees_or_evicts_entries_of_others),
    cmocka_unit_test(test_overwritten_entries_are_counted),
    cmocka_unit_test(test_subjects_without_a_ring_share_one),
    cmocka_unit_test(test_coverage_may_grow_only),
};

TL_TEST_MAIN(tests)
