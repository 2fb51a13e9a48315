// SPDX-License-Identifier: MIT
// Access of identities to objects: the access matrix of specification section 16 as a table, and
// the audit log. A refused access is a fault and an audit entry; it never yields zeros.
#ifndef TL_PMU_SMPM_ACCESS_H
#define TL_PMU_SMPM_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

enum { TL_SMPM_MAX_VMS = 64 }; // VMs 0 to 63: bits of a set
#define TL_SMPM_NO_VM UINT32_MAX

typedef enum tl_smpm_who {
    TL_SMPM_GUEST_CTX, // a process in a VM
    TL_SMPM_GUEST_OS,  // the VM's own system
    TL_SMPM_HYPERVISOR,
    TL_SMPM_CONTROLLER,  // the secure controller, and out-of-band requesters that it verified
    TL_SMPM_COPY_ENGINE, // vm: whose key is in use
    TL_SMPM_N_WHOS
} tl_smpm_who;

// Identity of an access, as the hardware knows it. vm and ctx are TL_SMPM_NO_VM and TL_SMPM_NO_CTX
// where the identity has none.
typedef struct tl_smpm_identity {
    tl_smpm_who who;
    uint32_t vm, ctx;
} tl_smpm_identity;

typedef enum tl_smpm_object_kind {
    TL_SMPM_OBJECT_CTX,
    TL_SMPM_OBJECT_VM,
    TL_SMPM_OBJECT_VM0,
    TL_SMPM_OBJECT_DEV,
    TL_SMPM_OBJECT_REGISTERS, // of TB, CCU, RCB, and routes
    TL_SMPM_OBJECT_FILTERS,   // of ULCs of shared units
    TL_SMPM_OBJECT_KEYS,
    // The audit of one subject. `vm` is TL_SMPM_NO_VM for the hypervisor's, else the index of a
    // ring.
    TL_SMPM_OBJECT_AUDIT,
    TL_SMPM_N_OBJECTS
} tl_smpm_object_kind;

typedef struct tl_smpm_object {
    tl_smpm_object_kind kind;
    uint32_t vm, ctx; // ignored where the object has none
} tl_smpm_object;

typedef enum tl_smpm_operation {
    TL_SMPM_READ,
    TL_SMPM_WRITE,
    TL_SMPM_REQUEST, // asks the switch manager to do it
    TL_SMPM_USE,     // of a key: seals or opens with it, and cannot read it
    TL_SMPM_N_OPERATIONS
} tl_smpm_operation;

typedef enum tl_smpm_decision {
    TL_SMPM_FAULT,
    TL_SMPM_ALLOWED,
    TL_SMPM_ALLOWED_LISTED, // metrics of the allow-list only; others are UNAVAILABLE
} tl_smpm_decision;

// Sets of VMs have bit v for VM v. A VM from TL_SMPM_MAX_VMS on is in no set.
typedef struct tl_smpm_policy {
    bool hv_reads_vm;      // K4; never applies to confidential VMs
    uint64_t confidential; // VMs that do not trust the hypervisor
    uint64_t ctx_reads_vm; // VMs whose contexts may read the VM's block
    uint64_t has_key;      // VMs with an open epoch
} tl_smpm_policy;

// hv_reads_vm is 0 in profile LITERAL and 1 in SAFE. All sets are empty.
void tl_smpm_policy_init(tl_smpm_policy *policy, bool is_literal);

// The matrix. Any values are accepted; unknown ones fault.
tl_smpm_decision tl_smpm_decide(const tl_smpm_policy *policy, const tl_smpm_identity *identity, tl_smpm_operation operation,
                                const tl_smpm_object *object);

//  ---- audit log: static memory, one ring per subject
//
// Each subject has its own ring and numbering. Neither can a tenant push out another one's entries,
// nor does a gap in its numbers tell it that others made any.

enum {
    TL_SMPM_AUDIT_ENTRIES = 16, // per subject
    TL_SMPM_AUDIT_HYPERVISOR = TL_SMPM_MAX_VMS,
    TL_SMPM_AUDIT_CONTROLLER,
    TL_SMPM_AUDIT_NOBODY, // subjects that no ring belongs to
    TL_SMPM_N_SUBJECTS,
};

typedef enum tl_smpm_cause {
    TL_SMPM_CAUSE_ACCESS,    // the matrix says no
    TL_SMPM_CAUSE_MALFORMED, // a request that is none
    TL_SMPM_CAUSE_SIGNATURE, // the code is wrong, or the requester is unknown
    TL_SMPM_CAUSE_REPLAY,
    TL_SMPM_CAUSE_RIGHT,    // verified, but beyond the requester's rights
    TL_SMPM_CAUSE_HANDLE,   // no such capability, or another client's
    TL_SMPM_CAUSE_RATE,     // too soon
    TL_SMPM_CAUSE_COVERAGE, // a change would take metrics from the device block
    TL_SMPM_CAUSE_LOCKED,   // too many failures; the mailbox waits
    TL_SMPM_N_CAUSES
} tl_smpm_cause;

extern const char *const tl_smpm_cause_names[TL_SMPM_N_CAUSES];

typedef struct tl_smpm_audit_entry {
    uint64_t seq;   // of the subject, from 1
    uint64_t order; // over all subjects; 0 for readers other than the controller
    uint64_t t_cycle;
    tl_smpm_cause cause;
    tl_smpm_identity identity;
    tl_smpm_operation operation;
    tl_smpm_object object;
    uint32_t requester; // of a signed request, as claimed; else 0
} tl_smpm_audit_entry;

typedef struct tl_smpm_audit {
    uint64_t n_entries; // over all subjects
    uint64_t n_of_subject[TL_SMPM_N_SUBJECTS];
    tl_smpm_audit_entry entries[TL_SMPM_N_SUBJECTS][TL_SMPM_AUDIT_ENTRIES];
} tl_smpm_audit;

// Sets seq and order.
void tl_smpm_audit_add(tl_smpm_audit *audit, const tl_smpm_audit_entry *entry);
// The entry of `object`'s subject with the lowest seq above `after`. False: refused, which adds an
// entry, or there is none. *ret_n_dropped: entries between that are overwritten.
bool tl_smpm_audit_read(tl_smpm_audit *audit, const tl_smpm_policy *policy, const tl_smpm_identity *reader, const tl_smpm_object *object,
                        uint64_t t_cycle, uint64_t after, tl_smpm_audit_entry *ret_entry, uint64_t *ret_n_dropped);

// tl_smpm_decide, and an entry of cause ACCESS if it faults.
tl_smpm_decision tl_smpm_access(const tl_smpm_policy *policy, tl_smpm_audit *audit, uint64_t t_cycle, const tl_smpm_identity *identity,
                                tl_smpm_operation operation, const tl_smpm_object *object);

//  ---- coverage: which unit counters feed the device block

enum { TL_SMPM_COVERAGE_WORDS = 64 };
typedef struct tl_smpm_coverage {
    uint64_t bits[TL_SMPM_COVERAGE_WORDS]; // bit per ULC: routed to channel D, and not masked
} tl_smpm_coverage;

// The switch manager applies no change of routes or masks for which this is false (K6, T-OOB-2).
bool tl_smpm_coverage_is_kept(const tl_smpm_coverage *before, const tl_smpm_coverage *after);

#endif
