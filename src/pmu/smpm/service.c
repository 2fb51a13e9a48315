// SPDX-License-Identifier: MIT
// The secure controller of a chip; see service.h.
#include "pmu/smpm/service.h"

#include <endian.h>
#include <string.h>

#include "base/bits.h"
#include "sealed/hash.h"

enum { DRIVER = 2, CMD_AT = 8, FILTER_REQUEST = 2 };
enum { VM0_NUMBER, D_NUMBER };

typedef struct client_state {
    tl_monitor_client who;
    tl_smpm_window window;
} client_state;

struct tl_smpm_service {
    tl_smpm_service_plan plan;
    tl_smpm_source source;
    tl_smpm_mcu mcu;
    tl_smpm_mailbox mailbox;
    client_state *clients; // contexts in the order of the plan, then the systems of VMs
    uint32_t n_clients, n_blocks;
    client_state hypervisor;
    uint64_t *copy; // of a block, for readers of listed metrics
    uint64_t driver_seq;
};

//  ---- the device as the firmware sees it

static uint32_t number_of(const tl_smpm_service *s, tl_smpm_kind kind, uint32_t vm, uint32_t ctx) {
    return kind == TL_SMPM_VM0   ? VM0_NUMBER
           : kind == TL_SMPM_DEV ? D_NUMBER
                                 : tl_smpm_block_of(s->plan.model, vm, kind == TL_SMPM_VM ? TL_SMPM_NO_CTX : ctx);
}

// A copy without parts but for BITMAP, whose counts include those of part LATE: what a latch holds.
static tl_smpm_copied compact(uint64_t *words, uint64_t *ret_words, uint32_t n_words) {
    tl_smpm_block block;
    if (tl_smpm_block_decode(words, TL_SMPM_MAX_BLOCK_WORDS, &block, NULL) != TL_OK)
        return TL_SMPM_NO_BLOCK;
    const uint32_t n = block.shape.n, parts = block.shape.parts & TL_SMPM_PART_BIT(TL_SMPM_BITMAP);
    const uint32_t bitmap = tl_smpm_block_part_at(n, block.shape.parts, TL_SMPM_BITMAP);
    if (tl_smpm_block_n_words(n, parts) > n_words)
        return TL_SMPM_NO_BLOCK;
    memcpy(ret_words, words, TL_SMPM_HEADER_WORDS * sizeof *words);
    ret_words[7] = htole64((le64toh(words[7]) & ~(uint64_t)UINT32_MAX) | parts);
    for (uint32_t i = 0; i < n; i++) {
        const tl_smpm_value late = tl_smpm_block_value(&block, TL_SMPM_LATE, i);
        ret_words[TL_SMPM_HEADER_WORDS + i] = htole64(le64toh(words[TL_SMPM_HEADER_WORDS + i]) + late.count);
    }
    for (uint32_t i = 0; parts != 0 && i < (n + 63) / 64; i++)
        ret_words[TL_SMPM_HEADER_WORDS + n + i] = words[bitmap + i];
    return TL_SMPM_COPIED;
}

static tl_smpm_copied read_block(void *device, tl_smpm_kind kind, uint32_t vm, uint32_t ctx, uint64_t *ret_words, uint32_t n_words) {
    const tl_smpm_service *s = device;
    const uint32_t number = number_of(s, kind, vm, ctx);
    uint32_t n = 0;
    const uint64_t *words = number == TL_SMPM_NO_BLOCK_ID ? NULL : tl_smpm_block_words(s->plan.model, number, &n);
    if (!words || n > TL_SMPM_MAX_BLOCK_WORDS)
        return TL_SMPM_NO_BLOCK;
    if (n <= n_words)
        return tl_smpm_block_copy(words, n, 1, ret_words);
    const tl_smpm_copied copied = tl_smpm_block_copy(words, n, 1, s->copy);
    return copied == TL_SMPM_COPIED ? compact(s->copy, ret_words, n_words) : copied;
}

static void get_counts(void *device, tl_smpm_counts *ret_counts) {
    const tl_smpm_service *s = device;
    uint32_t n_words;
    const uint64_t *d = tl_smpm_block_words(s->plan.model, D_NUMBER, &n_words);
    const uint32_t flags = (uint32_t)(le64toh(d[5]) >> 32);
    *ret_counts = (tl_smpm_counts){.now_cycles = tl_smpm_now(s->plan.model),
                                   .total_cycles = tl_smpm_now(s->plan.model),
                                   .n_metrics = (uint32_t)le64toh(d[5]),
                                   .n_blocks = s->n_blocks,
                                   .generation = 1,
                                   .is_lossy = (flags & TL_SMPM_LOSSY) != 0,
                                   .has_overflow = (flags & (TL_SMPM_OVF | TL_SMPM_SATURATED)) != 0};
    s->plan.idle(s->plan.ctx, &ret_counts->idle_cycles, &ret_counts->n_partitions);
    ret_counts->is_driver_loaded = ret_counts->n_partitions > 0;
}

static bool take_snapshot(void *device, uint32_t vm) {
    const tl_smpm_service *s = device;
    const uint32_t partition = s->plan.partition_of(s->plan.ctx, vm);
    return partition != TL_MONITOR_NONE && tl_smpm_snapshot(s->plan.model, partition);
}

static tl_smpm_configured configure(void *device, uint32_t key, uint32_t value) {
    tl_smpm_service *s = device;
    tl_smpm_coverage before, after;
    switch (key) {
    case TL_SMPM_CONFIG_HV_READS_VM:
        if (value > 1)
            return TL_SMPM_CONFIGURE_INVALID;
        s->mcu.policy.hv_reads_vm = value != 0;
        return TL_SMPM_CONFIGURED;
    case TL_SMPM_CONFIG_MASK:
        if (value >= s->plan.n_ulcs)
            return TL_SMPM_CONFIGURE_INVALID;
        tl_smpm_coverage_get(s->plan.model, &before);
        after = before;
        after.bits[value / 64] &= ~(UINT64_C(1) << value % 64);
        if (!tl_smpm_coverage_is_kept(&before, &after))
            return TL_SMPM_CONFIGURE_REFUSED;
        return tl_smpm_mask_set(s->plan.model, value, UINT64_MAX, NULL) == TL_OK ? TL_SMPM_CONFIGURED : TL_SMPM_CONFIGURE_REFUSED;
    default: return TL_SMPM_CONFIGURE_INVALID;
    }
}

static const char *name_of(void *device, uint32_t metric) {
    const tl_smpm_service *s = device;
    for (uint32_t at = TL_SMPM_HEADER_WORDS; at < s->plan.n_list_words; at += TL_SMPM_ROW_WORDS)
        if (le64toh(s->plan.list[at + TL_SMPM_ROW_WORDS - 1]) >> 32 == metric)
            return (const char *)&s->plan.list[at];
    return NULL;
}

//  ---- building

static tl_smpm_identity identity_of(const tl_monitor_client *client) {
    static const tl_smpm_who whos[] = {
        [TL_MONITOR_CONTEXT] = TL_SMPM_GUEST_CTX, [TL_MONITOR_SYSTEM] = TL_SMPM_GUEST_OS, [TL_MONITOR_HYPERVISOR] = TL_SMPM_HYPERVISOR};
    const bool is_context = client->role == TL_MONITOR_CONTEXT;
    return (tl_smpm_identity){.who = whos[client->role],
                              .vm = client->role == TL_MONITOR_HYPERVISOR ? TL_SMPM_NO_VM : client->vm,
                              .ctx = is_context && client->context != TL_MONITOR_NONE ? client->context : TL_SMPM_NO_CTX};
}

// A capability for all metrics, granted by the driver that maps the window.
static uint64_t grant(tl_smpm_service *s, const uint8_t *key, const tl_smpm_identity *to) {
    const tl_smpm_identity sender = {TL_SMPM_HYPERVISOR, TL_SMPM_NO_VM, TL_SMPM_NO_CTX};
    uint8_t bytes[TL_SMPM_REQUEST_BYTES];
    uint32_t handle = 0;
    tl_smpm_request request = {
        .op = TL_SMPM_OP_GRANT, .requester = DRIVER, .vm = to->vm, .ctx = to->ctx, .seq = ++s->driver_seq, .lease = UINT64_MAX};
    memset(request.mask, 0xff, sizeof request.mask);
    tl_smpm_request_write(&request, key, bytes);
    return tl_smpm_mcu_request(&s->mcu, &sender, bytes, sizeof bytes, &handle) == TL_SMPM_REPLY_OK ? handle : 0;
}

static void add_client(tl_smpm_service *s, const uint8_t *key, const tl_monitor_client *who) {
    client_state *c = &s->clients[s->n_clients++];
    *c = (client_state){.who = *who, .window = {.mcu = &s->mcu, .client = identity_of(who)}};
    if (s->n_clients <= TL_SMPM_MAX_CAPS)
        c->window.handle = grant(s, key, &c->window.client);
}

// Runs repeat, so keys and challenges of the chip follow from constants.
static void derive(const char *label, uint8_t ret_key[TL_SMPM_KEY_BYTES]) {
    static const uint8_t zeros[TL_SMPM_KEY_BYTES];
    tl_hmac mac;
    tl_hmac_init(&mac, zeros, sizeof zeros);
    tl_hmac_add(&mac, label, strlen(label));
    tl_hmac_end(&mac, ret_key);
}

static void begin_firmware(tl_smpm_service *s) {
    uint8_t secret[TL_SMPM_KEY_BYTES];
    tl_smpm_requester driver = {.id = DRIVER, .rights = TL_SMPM_RIGHT_GRANT, .vms = UINT64_MAX},
                      operator_ = {.id = TL_SMPM_OPERATOR,
                                   .rights = TL_SMPM_RIGHT_GRANT | TL_SMPM_RIGHT_LATCH_VM | TL_SMPM_RIGHT_CONFIGURE,
                                   .vms = UINT64_MAX};
    derive("secret of the controller", secret);
    derive("key of the driver", driver.key);
    tl_smpm_mcu_init(&s->mcu, &s->source, s->plan.config->profile == TL_SMPM_LITERAL, secret);
    tl_smpm_mailbox_init(&s->mailbox, &s->mcu);
    s->mcu.limits.max_lease_cycles = UINT64_MAX;
    s->mcu.limits.snapshot_cycles = s->plan.config->snapshot_cycles;
    (void)tl_smpm_mcu_enroll(&s->mcu, &driver);
    if (s->plan.chip->operator_key) {
        memcpy(operator_.key, s->plan.chip->operator_key, sizeof operator_.key);
        (void)tl_smpm_mcu_enroll(&s->mcu, &operator_);
    }
    for (uint32_t i = 0; i < s->plan.chip->n_vms; i++) {
        const tl_monitor_vm *vm = &s->plan.chip->vms[i];
        const uint64_t bit = UINT64_C(1) << vm->vm;
        s->mcu.policy.confidential |= vm->is_confidential ? bit : 0;
        s->mcu.policy.ctx_reads_vm |= vm->contexts_read_vm ? bit : 0;
    }
    for (uint32_t i = 0; i < s->plan.chip->n_tenants; i++) {
        const tl_monitor_tenant *t = &s->plan.chip->tenants[i];
        add_client(s, driver.key, &(tl_monitor_client){TL_MONITOR_CONTEXT, t->partition, t->vm, t->context});
    }
    for (uint32_t i = 0; i < s->plan.chip->n_vms; i++)
        add_client(s, driver.key, &(tl_monitor_client){TL_MONITOR_SYSTEM, 0, s->plan.chip->vms[i].vm, TL_MONITOR_NONE});
    s->hypervisor.who.role = TL_MONITOR_HYPERVISOR;
    s->hypervisor.window = (tl_smpm_window){.mcu = &s->mcu, .client = identity_of(&s->hypervisor.who)};
}

tl_status tl_smpm_service_new(const tl_smpm_service_plan *plan, tl_arena *arena, tl_smpm_service **ret_service, tl_error *err) {
    tl_smpm_service *s = tl_arena_alloc(arena, sizeof *s);
    uint32_t n_words, most = 0;
    if (!s)
        return tl_fail(err, TL_ENOMEM, "no memory for the controller of the chip");
    s->plan = *plan;
    s->source = (tl_smpm_source){s, read_block, get_counts, take_snapshot, configure, name_of};
    while (tl_smpm_block_words(plan->model, s->n_blocks, &n_words)) {
        most = n_words > most ? n_words : most;
        s->n_blocks++;
    }
    if (most > TL_SMPM_STRIDE_BYTES / 8 || plan->n_list_words > (TL_SMPM_BLOCKS_AT - TL_SMPM_LIST_AT) / 8)
        return tl_fail(err, TL_EINVAL, "smpm.ulc_ctrs = %u: blocks of %u words exceed the window of clients; lower it",
                       plan->config->ulc_ctrs, most);
    for (uint32_t i = 0; i < plan->chip->n_vms; i++) // a VM in no set would not be confidential
        if (plan->chip->vms[i].vm >= TL_SMPM_MAX_VMS)
            return tl_fail(err, TL_EINVAL, "VM %u: the controller of the chip tells VMs 1 to %d apart; run fewer", plan->chip->vms[i].vm,
                           TL_SMPM_MAX_VMS - 1);
    s->copy = tl_arena_alloc(arena, TL_SMPM_MAX_BLOCK_WORDS * sizeof *s->copy);
    s->clients = tl_arena_alloc(arena, (plan->chip->n_tenants + plan->chip->n_vms + 1) * sizeof *s->clients);
    if (!s->copy || !s->clients)
        return tl_fail(err, TL_ENOMEM, "no memory for the controller of the chip");
    begin_firmware(s);
    *ret_service = s;
    return TL_OK;
}

uint64_t tl_smpm_service_page(const tl_smpm_service *s, tl_smpm_page page) {
    return TL_SMPM_BLOCKS_AT + (uint64_t)s->n_blocks * TL_SMPM_STRIDE_BYTES + (uint64_t)page * TL_SMPM_PAGE_BYTES;
}
uint64_t tl_smpm_service_block(const tl_smpm_service *s, uint32_t vm, uint32_t context) {
    const uint32_t number =
        context == TL_MONITOR_NONE ? number_of(s, TL_SMPM_VM, vm, TL_SMPM_NO_CTX) : number_of(s, TL_SMPM_CTX, vm, context);
    return TL_SMPM_BLOCKS_AT + (uint64_t)number * TL_SMPM_STRIDE_BYTES;
}

uint64_t tl_smpm_service_bytes(const tl_smpm_service *s) { return tl_smpm_service_page(s, TL_SMPM_N_PAGES); }
tl_smpm_mcu *tl_smpm_service_mcu(tl_smpm_service *s) { return &s->mcu; }
tl_smpm_mailbox *tl_smpm_service_mailbox(tl_smpm_service *s) { return &s->mailbox; }

//  ---- the window

// The state of a client. A context that has no block shares none with others.
static client_state *state_of(tl_smpm_service *s, const tl_monitor_client *client) {
    if (client->role == TL_MONITOR_HYPERVISOR)
        return &s->hypervisor;
    for (uint32_t i = 0; i < s->n_clients; i++) {
        const tl_monitor_client *who = &s->clients[i].who;
        if (who->role == client->role && who->vm == client->vm && (client->role == TL_MONITOR_SYSTEM || who->context == client->context))
            return &s->clients[i];
    }
    return NULL;
}

static bool decide(tl_smpm_service *s, const tl_smpm_identity *identity, tl_smpm_operation operation, const tl_smpm_object *object,
                   tl_smpm_decision *ret_decision) {
    *ret_decision = tl_smpm_access(&s->mcu.policy, &s->mcu.audit, tl_smpm_now(s->plan.model), identity, operation, object);
    return *ret_decision != TL_SMPM_FAULT;
}

// The place of a block in the window, if the matrix lets the client read it. Nothing is audited.
static uint64_t place_of(const tl_smpm_service *s, const tl_smpm_identity *identity, tl_smpm_object_kind kind) {
    const tl_smpm_object object = {kind, identity->vm, identity->ctx};
    uint32_t number = VM0_NUMBER, n_words;
    if (tl_smpm_decide(&s->mcu.policy, identity, TL_SMPM_READ, &object) == TL_SMPM_FAULT)
        return 0;
    if (kind != TL_SMPM_OBJECT_VM0)
        number = tl_smpm_block_of(s->plan.model, identity->vm, kind == TL_SMPM_OBJECT_CTX ? identity->ctx : TL_SMPM_NO_CTX);
    if (number == TL_SMPM_NO_BLOCK_ID || !tl_smpm_block_words(s->plan.model, number, &n_words))
        return 0;
    return TL_SMPM_BLOCKS_AT + number * (uint64_t)TL_SMPM_STRIDE_BYTES + ((uint64_t)n_words << 32);
}

static bool load_own(tl_smpm_service *s, const client_state *c, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    const tl_smpm_identity *identity = &c->window.client;
    switch (offset) {
    case TL_SMPM_SERVICE_WHO: *ret_value = identity->vm | (uint64_t)identity->ctx << 32; break;
    case TL_SMPM_SERVICE_SELF:
        *ret_value = place_of(s, identity,
                              identity->who == TL_SMPM_HYPERVISOR ? TL_SMPM_OBJECT_VM0
                              : identity->who == TL_SMPM_GUEST_OS ? TL_SMPM_OBJECT_VM
                                                                  : TL_SMPM_OBJECT_CTX);
        break;
    case TL_SMPM_SERVICE_VM: *ret_value = place_of(s, identity, TL_SMPM_OBJECT_VM); break;
    case TL_SMPM_SERVICE_LIST: *ret_value = TL_SMPM_LIST_AT | (uint64_t)s->plan.n_list_words << 32; break;
    default: return tl_smpm_window_read(&c->window, offset, size_bytes, ret_value);
    }
    return size_bytes == 8;
}

static uint64_t part_of_word(uint64_t word, uint64_t offset, uint32_t size_bytes) {
    return word >> 8 * (offset % 8) & UINT64_MAX >> (64 - 8 * size_bytes);
}

// The object of a block by its header, which no client can write.
static tl_smpm_object object_of(uint32_t number, const uint64_t *words) {
    const uint64_t id = le64toh(words[1]);
    if (number == VM0_NUMBER || number == D_NUMBER)
        return (tl_smpm_object){number == D_NUMBER ? TL_SMPM_OBJECT_DEV : TL_SMPM_OBJECT_VM0, TL_SMPM_NO_VM, TL_SMPM_NO_CTX};
    const uint32_t ctx = (uint32_t)(id >> 32);
    return (tl_smpm_object){ctx == TL_SMPM_NO_CTX ? TL_SMPM_OBJECT_VM : TL_SMPM_OBJECT_CTX, (uint32_t)id, ctx};
}

static bool load_block(tl_smpm_service *s, const tl_smpm_identity *identity, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    const uint32_t number = (uint32_t)((offset - TL_SMPM_BLOCKS_AT) / TL_SMPM_STRIDE_BYTES);
    const uint64_t at = offset % TL_SMPM_STRIDE_BYTES / 8;
    uint32_t n_words;
    const uint64_t *words = tl_smpm_block_words(s->plan.model, number, &n_words);
    tl_smpm_decision decision;
    const tl_smpm_object object = object_of(number, words);
    if (!decide(s, identity, TL_SMPM_READ, &object, &decision) || at >= n_words)
        return false;
    if (decision == TL_SMPM_ALLOWED_LISTED) {
        memcpy(s->copy, words, n_words * sizeof *words);
        s->copy[2] &= ~htole64(1); // a commit that is under way changes listed metrics word by word
        tl_smpm_mask_copy(s->copy, s->mcu.listed);
        s->copy[2] = words[2];
        words = s->copy;
    }
    *ret_value = part_of_word(le64toh(words[at]), offset, size_bytes);
    return true;
}

static bool load_audit(tl_smpm_service *s, const tl_smpm_identity *identity, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    const tl_smpm_object own = {TL_SMPM_OBJECT_AUDIT, identity->vm, TL_SMPM_NO_CTX};
    const uint64_t word = offset % TL_SMPM_PAGE_BYTES / 8;
    uint64_t after = 0, n_dropped;
    tl_smpm_decision decision;
    tl_smpm_audit_entry entry = {0};
    if (!decide(s, identity, TL_SMPM_READ, &own, &decision))
        return false;
    for (uint64_t i = 0; i <= word / TL_SMPM_AUDIT_ENTRY_WORDS; i++) {
        if (i >= TL_SMPM_AUDIT_ENTRIES ||
            !tl_smpm_audit_read(&s->mcu.audit, &s->mcu.policy, identity, &own, 0, after, &entry, &n_dropped)) {
            *ret_value = 0;
            return true;
        }
        after = entry.seq;
    }
    const uint64_t words[TL_SMPM_AUDIT_ENTRY_WORDS] = {
        entry.seq, entry.t_cycle, (uint64_t)entry.cause | (uint64_t)entry.operation << 8 | (uint64_t)entry.object.kind << 16,
        entry.object.vm | (uint64_t)entry.object.ctx << 32};
    *ret_value = part_of_word(words[word % TL_SMPM_AUDIT_ENTRY_WORDS], offset, size_bytes);
    return true;
}

static tl_smpm_object object_of_page(const tl_smpm_identity *identity, tl_smpm_page page) {
    static const tl_smpm_object_kind kinds[] = {TL_SMPM_OBJECT_REGISTERS, TL_SMPM_OBJECT_FILTERS, TL_SMPM_OBJECT_KEYS,
                                                TL_SMPM_OBJECT_AUDIT};
    return (tl_smpm_object){kinds[page], identity->vm, TL_SMPM_NO_CTX};
}

static tl_smpm_page page_at(const tl_smpm_service *s, uint64_t offset) {
    return (tl_smpm_page)((offset - tl_smpm_service_page(s, TL_SMPM_PAGE_REGISTERS)) / TL_SMPM_PAGE_BYTES);
}

bool tl_smpm_service_load(tl_smpm_service *s, const tl_monitor_client *client, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    const client_state *c = state_of(s, client);
    const tl_smpm_identity identity = identity_of(client);
    tl_smpm_decision unused;
    if (offset >= tl_smpm_service_bytes(s) || size_bytes == 0 || size_bytes > 8 || offset % size_bytes != 0)
        return false;
    if (offset < TL_SMPM_PAGE_BYTES)
        return c && load_own(s, c, offset, size_bytes, ret_value);
    if (offset < TL_SMPM_BLOCKS_AT) {
        const uint64_t at = (offset - TL_SMPM_LIST_AT) / 8;
        *ret_value = at < s->plan.n_list_words ? part_of_word(le64toh(s->plan.list[at]), offset, size_bytes) : 0;
        return at < s->plan.n_list_words;
    }
    if (offset < tl_smpm_service_page(s, TL_SMPM_PAGE_REGISTERS))
        return load_block(s, &identity, offset, size_bytes, ret_value);
    const tl_smpm_page page = page_at(s, offset);
    if (page == TL_SMPM_PAGE_AUDIT)
        return load_audit(s, &identity, offset, size_bytes, ret_value);
    const tl_smpm_object object = object_of_page(&identity, page);
    (void)decide(s, &identity, TL_SMPM_READ, &object, &unused); // no software of a partition may
    return false;
}

// The hypervisor and systems of VMs ask the switch manager. It changes filters only while shared
// units stand still, so it is busy as long as they count.
static tl_smpm_window_status ask_for_filter(tl_smpm_service *s, const tl_smpm_identity *identity) {
    const tl_smpm_object object = {TL_SMPM_OBJECT_FILTERS, identity->vm, TL_SMPM_NO_CTX};
    tl_smpm_decision unused;
    return decide(s, identity, TL_SMPM_REQUEST, &object, &unused) ? TL_SMPM_WINDOW_BUSY : TL_SMPM_WINDOW_DENIED;
}

// A snapshot by the hypervisor goes through the switch manager's registers, not through a
// capability.
static tl_smpm_window_status trigger(tl_smpm_service *s, const tl_monitor_client *client, const tl_smpm_identity *identity) {
    const tl_smpm_object object = {TL_SMPM_OBJECT_REGISTERS, TL_SMPM_NO_VM, TL_SMPM_NO_CTX};
    tl_smpm_decision unused;
    if (!decide(s, identity, TL_SMPM_REQUEST, &object, &unused))
        return TL_SMPM_WINDOW_DENIED;
    return tl_smpm_snapshot(s->plan.model, client->partition) ? TL_SMPM_WINDOW_DONE : TL_SMPM_WINDOW_BUSY;
}

bool tl_smpm_service_store(tl_smpm_service *s, const tl_monitor_client *client, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    client_state *c = state_of(s, client);
    const tl_smpm_identity identity = identity_of(client);
    tl_smpm_decision unused;
    uint32_t n_words;
    if (offset >= tl_smpm_service_bytes(s))
        return false;
    if (offset < TL_SMPM_PAGE_BYTES) {
        if (!c || size_bytes != 8)
            return false;
        if (offset == CMD_AT && value == FILTER_REQUEST) {
            c->window.status = ask_for_filter(s, &identity);
            return true;
        }
        if (offset == CMD_AT && identity.who == TL_SMPM_HYPERVISOR) {
            c->window.status = value == TL_SMPM_WINDOW_SNAPSHOT ? trigger(s, client, &identity) : TL_SMPM_WINDOW_DENIED;
            return true;
        }
        return tl_smpm_window_write(&c->window, offset, size_bytes, value);
    }
    if (offset < TL_SMPM_BLOCKS_AT)
        return false; // read-only for everybody, and it tells nothing
    tl_smpm_object object;
    if (offset < tl_smpm_service_page(s, TL_SMPM_PAGE_REGISTERS)) {
        const uint32_t number = (uint32_t)((offset - TL_SMPM_BLOCKS_AT) / TL_SMPM_STRIDE_BYTES);
        object = object_of(number, tl_smpm_block_words(s->plan.model, number, &n_words));
    } else {
        object = object_of_page(&identity, page_at(s, offset));
    }
    (void)decide(s, &identity, TL_SMPM_WRITE, &object, &unused);
    return false;
}
