// SPDX-License-Identifier: MIT
// The matrix as a table of rules, one per operation; see access.h.
#include "pmu/smpm/access.h"

#include <stddef.h>

#include "pmu/smpm/block.h"

typedef enum rule {
    NO,
    YES,
    OWN,     // the identity's own context
    GRANTED, // the VM's policy lets its contexts
    POLICY,  // hv_reads_vm
    LISTED,  // the allow-list
    KEYED,   // the copy engine's key is that of this VM, and open
    MINE,    // audit entries of this subject
} rule;

typedef enum column { CTX, OS, OTHER, HV, HV_CONF, MCU, COPY, N_COLUMNS } column;

// clang-format off
static const struct {
    uint8_t rules[TL_SMPM_N_OPERATIONS];
} matrix[TL_SMPM_N_OBJECTS][N_COLUMNS] = { // read, write, request, use
    [TL_SMPM_OBJECT_CTX]       = {[CTX] = {{OWN}},     [OS] = {{YES}},                           [HV] = {{POLICY}},                                        [MCU] = {{YES}},      [COPY] = {{KEYED}}},
    [TL_SMPM_OBJECT_VM]        = {[CTX] = {{GRANTED}}, [OS] = {{YES}},                           [HV] = {{POLICY}},                                        [MCU] = {{YES}},      [COPY] = {{KEYED}}},
    [TL_SMPM_OBJECT_VM0]       = {                                                               [HV] = {{YES}},         [HV_CONF] = {{LISTED}},           [MCU] = {{YES}}},
    [TL_SMPM_OBJECT_DEV]       = {                                                                                                                         [MCU] = {{YES}}},
    [TL_SMPM_OBJECT_REGISTERS] = {                                                               [HV] = {{NO, NO, YES}}, [HV_CONF] = {{NO, NO, YES}},      [MCU] = {{YES, YES}}},
    [TL_SMPM_OBJECT_FILTERS]   = {                     [OS] = {{NO, NO, YES}},                   [HV] = {{NO, NO, YES}}, [HV_CONF] = {{NO, NO, YES}},      [MCU] = {{YES, YES}}},
    [TL_SMPM_OBJECT_KEYS]      = {                     [OS] = {{NO, NO, NO, YES}},                                                                         [MCU] = {{YES, YES}}, [COPY] = {{NO, NO, NO, KEYED}}},
    [TL_SMPM_OBJECT_AUDIT]     = {                     [OS] = {{MINE}},                          [HV] = {{MINE}},        [HV_CONF] = {{MINE}},             [MCU] = {{YES}}},
};
// clang-format on

const char *const tl_smpm_cause_names[TL_SMPM_N_CAUSES] = {
    [TL_SMPM_CAUSE_ACCESS] = "access", [TL_SMPM_CAUSE_MALFORMED] = "malformed", [TL_SMPM_CAUSE_SIGNATURE] = "signature",
    [TL_SMPM_CAUSE_REPLAY] = "replay", [TL_SMPM_CAUSE_RIGHT] = "right",         [TL_SMPM_CAUSE_HANDLE] = "handle",
    [TL_SMPM_CAUSE_RATE] = "rate",     [TL_SMPM_CAUSE_COVERAGE] = "coverage",   [TL_SMPM_CAUSE_LOCKED] = "locked",
};

void tl_smpm_policy_init(tl_smpm_policy *policy, bool is_literal) { *policy = (tl_smpm_policy){.hv_reads_vm = !is_literal}; }

static bool has_vm(uint64_t set, uint32_t vm) { return vm < TL_SMPM_MAX_VMS && set >> vm & 1; }

static bool belongs_to_a_vm(tl_smpm_object_kind kind) {
    return kind == TL_SMPM_OBJECT_CTX || kind == TL_SMPM_OBJECT_VM || kind == TL_SMPM_OBJECT_FILTERS || kind == TL_SMPM_OBJECT_KEYS ||
           kind == TL_SMPM_OBJECT_AUDIT;
}

static column column_of(const tl_smpm_policy *policy, const tl_smpm_identity *identity, const tl_smpm_object *object) {
    bool is_guest = identity->who == TL_SMPM_GUEST_CTX || identity->who == TL_SMPM_GUEST_OS;
    if (is_guest && (identity->vm >= TL_SMPM_MAX_VMS || (belongs_to_a_vm(object->kind) && object->vm != identity->vm)))
        return OTHER;
    // The whole device is a confidential VM if there is one, because subtraction tells (L4).
    bool is_confidential = object->kind == TL_SMPM_OBJECT_CTX || object->kind == TL_SMPM_OBJECT_VM
                               ? has_vm(policy->confidential, object->vm)
                               : policy->confidential != 0;
    switch (identity->who) {
    case TL_SMPM_GUEST_CTX: return CTX;
    case TL_SMPM_GUEST_OS: return OS;
    case TL_SMPM_HYPERVISOR: return is_confidential ? HV_CONF : HV;
    case TL_SMPM_CONTROLLER: return MCU;
    case TL_SMPM_COPY_ENGINE: return COPY;
    default: return OTHER; // has no rule at all
    }
}

tl_smpm_decision tl_smpm_decide(const tl_smpm_policy *policy, const tl_smpm_identity *identity, tl_smpm_operation operation,
                                const tl_smpm_object *object) {
    if ((unsigned)object->kind >= TL_SMPM_N_OBJECTS || (unsigned)operation >= TL_SMPM_N_OPERATIONS)
        return TL_SMPM_FAULT;
    bool is_allowed = false;
    switch ((rule)matrix[object->kind][column_of(policy, identity, object)].rules[operation]) {
    case NO: break;
    case YES: is_allowed = true; break;
    case OWN: is_allowed = identity->ctx == object->ctx && object->ctx != TL_SMPM_NO_CTX; break;
    case GRANTED: is_allowed = has_vm(policy->ctx_reads_vm, object->vm); break;
    case POLICY: is_allowed = policy->hv_reads_vm; break;
    case LISTED: return TL_SMPM_ALLOWED_LISTED;
    case KEYED: is_allowed = identity->vm == object->vm && has_vm(policy->has_key, object->vm); break;
    case MINE: is_allowed = identity->who == TL_SMPM_HYPERVISOR ? object->vm == TL_SMPM_NO_VM : identity->vm == object->vm; break;
    }
    return is_allowed ? TL_SMPM_ALLOWED : TL_SMPM_FAULT;
}

//  ---- audit log

static unsigned subject_of(const tl_smpm_identity *identity) {
    switch (identity->who) {
    case TL_SMPM_HYPERVISOR: return TL_SMPM_AUDIT_HYPERVISOR;
    case TL_SMPM_CONTROLLER:
    case TL_SMPM_COPY_ENGINE: return TL_SMPM_AUDIT_CONTROLLER;
    case TL_SMPM_GUEST_CTX:
    case TL_SMPM_GUEST_OS: return identity->vm < TL_SMPM_MAX_VMS ? identity->vm : TL_SMPM_AUDIT_NOBODY;
    default: return TL_SMPM_AUDIT_NOBODY;
    }
}

void tl_smpm_audit_add(tl_smpm_audit *audit, const tl_smpm_audit_entry *entry) {
    unsigned subject = subject_of(&entry->identity);
    uint64_t seq = ++audit->n_of_subject[subject];
    tl_smpm_audit_entry *slot = &audit->entries[subject][(seq - 1) % TL_SMPM_AUDIT_ENTRIES];
    *slot = *entry;
    slot->seq = seq;
    slot->order = ++audit->n_entries;
}

tl_smpm_decision tl_smpm_access(const tl_smpm_policy *policy, tl_smpm_audit *audit, uint64_t t_cycle, const tl_smpm_identity *identity,
                                tl_smpm_operation operation, const tl_smpm_object *object) {
    tl_smpm_decision decision = tl_smpm_decide(policy, identity, operation, object);
    if (decision == TL_SMPM_FAULT)
        tl_smpm_audit_add(
            audit,
            &(tl_smpm_audit_entry){
                .t_cycle = t_cycle, .cause = TL_SMPM_CAUSE_ACCESS, .identity = *identity, .operation = operation, .object = *object});
    return decision;
}

bool tl_smpm_audit_read(tl_smpm_audit *audit, const tl_smpm_policy *policy, const tl_smpm_identity *reader, const tl_smpm_object *object,
                        uint64_t t_cycle, uint64_t after, tl_smpm_audit_entry *ret_entry, uint64_t *ret_n_dropped) {
    if (object->kind != TL_SMPM_OBJECT_AUDIT || tl_smpm_access(policy, audit, t_cycle, reader, TL_SMPM_READ, object) == TL_SMPM_FAULT)
        return false;
    unsigned subject = object->vm == TL_SMPM_NO_VM ? TL_SMPM_AUDIT_HYPERVISOR : object->vm;
    if (subject >= TL_SMPM_N_SUBJECTS)
        return false;
    uint64_t n = audit->n_of_subject[subject], oldest = n > TL_SMPM_AUDIT_ENTRIES ? n - TL_SMPM_AUDIT_ENTRIES + 1 : 1;
    if (after >= n)
        return false;
    uint64_t seq = after + 1 > oldest ? after + 1 : oldest;
    *ret_entry = audit->entries[subject][(seq - 1) % TL_SMPM_AUDIT_ENTRIES];
    *ret_n_dropped = seq - after - 1;
    if (reader->who != TL_SMPM_CONTROLLER)
        ret_entry->order = 0;
    return true;
}

bool tl_smpm_coverage_is_kept(const tl_smpm_coverage *before, const tl_smpm_coverage *after) {
    for (unsigned i = 0; i < TL_SMPM_COVERAGE_WORDS; i++)
        if (before->bits[i] & ~after->bits[i])
            return false;
    return true;
}
