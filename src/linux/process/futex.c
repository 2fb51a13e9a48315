// SPDX-License-Identifier: MIT
// Futexes: see futex.h. Operations are those of Linux's kernel/futex. Priority inheritance hands
// the lock to the oldest waiter, because there are no priorities to inherit.
#include "linux/process/futex.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>

#include "linux/call/syscall.h"
#include "linux/memory/page_cache.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"

enum { BUCKETS = 256 };

typedef struct bucket {
    tl_thread *first, *last;
} bucket;

struct tl_futexes {
    bucket buckets[BUCKETS];
};

typedef struct key {
    uint64_t space, offset;
} key;

tl_futexes *tl_futexes_new(void) { return calloc(1, sizeof(tl_futexes)); }
void tl_futexes_free(tl_futexes *futexes) { free(futexes); }

static bucket *bucket_of(tl_os *os, uint64_t space, uint64_t offset) {
    return &os->futexes->buckets[((space * 31 + (offset >> 2)) * UINT64_C(0x9e3779b97f4a7c15) >> 56) % BUCKETS];
}

static int64_t key_of(tl_thread *t, uint64_t vaddr, bool is_private, key *ret_key) {
    tl_vm *vm = t->process->vm;
    if (vaddr & 3)
        return -EINVAL;
    if (vaddr >= TL_USER_END)
        return -EFAULT;
    const tl_vma *area = is_private ? NULL : tl_vm_find(vm, vaddr);
    if (area && area->kind == TL_VMA_DEVICE)
        return -EFAULT;
    if (area && area->is_shared)
        *ret_key = (key){tl_page_cache_id(area->cache), area->offset + (vaddr - area->start)};
    else
        *ret_key = (key){vm->id, vaddr};
    return 0;
}

static void enqueue(tl_thread *t, key k, uint32_t bitset, bool is_pi) {
    bucket *b = bucket_of(t->os, k.space, k.offset);
    t->futex =
        (tl_futex_wait){.space = k.space, .offset = k.offset, .bitset = bitset, .is_queued = true, .is_pi = is_pi, .previous = b->last};
    *(b->last ? &b->last->futex.next : &b->first) = t;
    b->last = t;
}

static void dequeue(tl_thread *t) {
    tl_futex_wait *wait = &t->futex;
    bucket *b = bucket_of(t->os, wait->space, wait->offset);
    *(wait->previous ? &wait->previous->futex.next : &b->first) = wait->next;
    *(wait->next ? &wait->next->futex.previous : &b->last) = wait->previous;
    wait->next = wait->previous = NULL;
    wait->is_queued = false;
}

void tl_futex_forget(tl_thread *t) {
    if (t->futex.is_queued)
        dequeue(t);
    t->futex.is_woken = false;
}

static tl_thread *next_waiter(tl_thread *from, key k) {
    while (from && (from->futex.space != k.space || from->futex.offset != k.offset))
        from = from->futex.next;
    return from;
}

static void wake_waiter(tl_thread *waiter) {
    dequeue(waiter);
    waiter->futex.is_woken = true;
    tl_os_count(waiter->os, TL_S_OS_FUTEX_WAKE, 1);
    tl_thread_wake(waiter);
}

static int64_t wake(tl_os *os, key k, uint32_t max, uint32_t bitset) {
    int64_t n = 0;
    tl_thread *waiter = next_waiter(bucket_of(os, k.space, k.offset)->first, k);
    while (waiter && n < (int64_t)max) {
        tl_thread *next = next_waiter(waiter->futex.next, k);
        if (waiter->futex.bitset & bitset) {
            wake_waiter(waiter);
            ++n;
        }
        waiter = next;
    }
    return n;
}

static int64_t requeue(tl_os *os, key from, key to, uint32_t n_wake, uint32_t n_requeue) {
    int64_t n = wake(os, from, n_wake, UINT32_MAX);
    tl_thread *waiter = next_waiter(bucket_of(os, from.space, from.offset)->first, from);
    while (waiter && n_requeue-- > 0) {
        tl_thread *next = next_waiter(waiter->futex.next, from);
        uint32_t bitset = waiter->futex.bitset;
        dequeue(waiter);
        enqueue(waiter, to, bitset, false);
        ++n;
        waiter = from.space == to.space && from.offset == to.offset ? NULL : next;
    }
    return n;
}

// The timeout of a waiting operation becomes t->deadline. `is_relative`: since now.
static int64_t set_deadline(tl_thread *t, uint64_t vaddr, bool is_relative, bool is_realtime) {
    int64_t time[2];
    if (!vaddr || t->is_retry)
        return 0;
    if (!tl_vm_read(t->process, vaddr, time, sizeof time))
        return -EFAULT;
    if (time[0] < 0 || time[1] < 0 || time[1] >= 1000000000)
        return -EINVAL;
    t->deadline = is_relative ? tl_os_deadline(t->os, (uint64_t)time[0], (uint64_t)time[1])
                              : tl_os_absolute_deadline(t->os, is_realtime, (uint64_t)time[0], (uint64_t)time[1]);
    return 0;
}

static int64_t still_waits(tl_thread *t, int64_t result_if_signal) {
    if (t->deadline != TL_NO_DEADLINE && t->os->now >= t->deadline)
        return -ETIMEDOUT;
    tl_wait_only_deadline(t, "a futex");
    return tl_sys_block(t, result_if_signal);
}

static int64_t wait(tl_thread *t, uint64_t vaddr, uint32_t expected, uint32_t bitset, bool is_private) {
    key k;
    uint32_t value;
    int64_t if_signal = t->deadline == TL_NO_DEADLINE ? -TL_ERESTARTSYS : -TL_ERESTART_RESTARTBLOCK;
    if (bitset == 0)
        return -EINVAL;
    if (t->futex.is_woken)
        return 0;
    if (t->is_retry && t->futex.is_queued)
        return still_waits(t, if_signal);
    int64_t result = key_of(t, vaddr, is_private, &k);
    if (result < 0)
        return result;
    if (!tl_vm_read(t->process, vaddr, &value, sizeof value))
        return -EFAULT;
    if (value != expected)
        return -EAGAIN;
    if (t->deadline != TL_NO_DEADLINE && t->os->now >= t->deadline)
        return -ETIMEDOUT;
    enqueue(t, k, bitset, false);
    tl_os_count(t->os, TL_S_OS_FUTEX_WAIT, 1);
    return still_waits(t, if_signal);
}

static int64_t wake_op(tl_thread *t, key from, key to, uint64_t to_vaddr, uint32_t n_wake, uint32_t n_wake_other, uint32_t encoded) {
    uint32_t op = encoded >> 28 & 7, comparison = encoded >> 24 & 15, old;
    uint32_t operand = (uint32_t)tl_sext(encoded >> 12 & 0xfff, 12);
    int32_t against = (int32_t)tl_sext(encoded & 0xfff, 12);
    if (encoded >> 31)
        operand = UINT32_C(1) << (operand & 31);
    if (!tl_vm_read(t->process, to_vaddr, &old, sizeof old))
        return -EFAULT;
    uint32_t new = old;
    switch (op) {
    case FUTEX_OP_SET: new = operand; break;
    case FUTEX_OP_ADD: new = old + operand; break;
    case FUTEX_OP_OR: new = old | operand; break;
    case FUTEX_OP_ANDN: new = old & ~operand; break;
    case FUTEX_OP_XOR: new = old ^ operand; break;
    default: return -ENOSYS;
    }
    bool is_true;
    int32_t was = (int32_t)old;
    switch (comparison) {
    case FUTEX_OP_CMP_EQ: is_true = was == against; break;
    case FUTEX_OP_CMP_NE: is_true = was != against; break;
    case FUTEX_OP_CMP_LT: is_true = was < against; break;
    case FUTEX_OP_CMP_LE: is_true = was <= against; break;
    case FUTEX_OP_CMP_GT: is_true = was > against; break;
    case FUTEX_OP_CMP_GE: is_true = was >= against; break;
    default: return -ENOSYS;
    }
    if (!tl_vm_write(t->process, to_vaddr, &new, sizeof new))
        return -EFAULT;
    int64_t n = wake(t->os, from, n_wake, UINT32_MAX);
    return is_true ? n + wake(t->os, to, n_wake_other, UINT32_MAX) : n;
}

// ---- Locks with an owner.

static int64_t lock_pi(tl_thread *t, uint64_t vaddr, bool is_private, bool is_try) {
    key k;
    uint32_t word;
    if (t->futex.is_woken)
        return 0; // the lock was handed over
    if (t->is_retry && t->futex.is_queued)
        return still_waits(t, -TL_ERESTARTNOINTR);
    int64_t result = key_of(t, vaddr, is_private, &k);
    if (result < 0)
        return result;
    if (!tl_vm_read(t->process, vaddr, &word, sizeof word))
        return -EFAULT;
    uint32_t owner = word & FUTEX_TID_MASK;
    if (owner == (uint32_t)t->tid)
        return -EDEADLK;
    if (owner == 0) {
        word = (word & FUTEX_OWNER_DIED) | (uint32_t)t->tid;
        return tl_vm_write(t->process, vaddr, &word, sizeof word) ? 0 : -EFAULT;
    }
    if (is_try)
        return -EAGAIN;
    if (!tl_thread_find(t->os, (int32_t)owner))
        return -ESRCH;
    word |= FUTEX_WAITERS;
    if (!tl_vm_write(t->process, vaddr, &word, sizeof word))
        return -EFAULT;
    enqueue(t, k, UINT32_MAX, true);
    tl_os_count(t->os, TL_S_OS_FUTEX_WAIT, 1);
    return still_waits(t, -TL_ERESTARTNOINTR);
}

// The word after its owner lets go: the oldest waiter owns it.
static uint32_t hand_over(tl_os *os, key k, uint32_t died) {
    tl_thread *heir = next_waiter(bucket_of(os, k.space, k.offset)->first, k);
    if (!heir)
        return died;
    uint32_t word = (uint32_t)heir->tid | died;
    if (next_waiter(heir->futex.next, k))
        word |= FUTEX_WAITERS;
    wake_waiter(heir);
    return word;
}

static int64_t unlock_pi(tl_thread *t, uint64_t vaddr, bool is_private) {
    key k;
    uint32_t word;
    int64_t result = key_of(t, vaddr, is_private, &k);
    if (result < 0)
        return result;
    if (!tl_vm_read(t->process, vaddr, &word, sizeof word))
        return -EFAULT;
    if ((word & FUTEX_TID_MASK) != (uint32_t)t->tid)
        return -EPERM;
    word = hand_over(t->os, k, 0);
    return tl_vm_write(t->process, vaddr, &word, sizeof word) ? 0 : -EFAULT;
}

int64_t tl_sys_futex(tl_thread *t, const uint64_t args[6]) {
    uint64_t vaddr = args[0], other = args[4];
    uint32_t value = (uint32_t)args[2], value2 = (uint32_t)args[3], value3 = (uint32_t)args[5];
    bool is_private = (args[1] & FUTEX_PRIVATE_FLAG) != 0, is_realtime = (args[1] & FUTEX_CLOCK_REALTIME) != 0;
    int op = (int)args[1] & FUTEX_CMD_MASK;
    key k, k2;
    int64_t result = 0;
    if (is_realtime && op != FUTEX_WAIT_BITSET && op != FUTEX_WAIT && op != FUTEX_LOCK_PI2)
        return -ENOSYS;
    switch (op) { // operations that may wait
    case FUTEX_WAIT:
        result = set_deadline(t, args[3], true, is_realtime);
        return result < 0 ? result : wait(t, vaddr, value, UINT32_MAX, is_private);
    case FUTEX_WAIT_BITSET:
        result = set_deadline(t, args[3], false, is_realtime);
        return result < 0 ? result : wait(t, vaddr, value, value3, is_private);
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
        result = set_deadline(t, args[3], false, op == FUTEX_LOCK_PI || is_realtime);
        return result < 0 ? result : lock_pi(t, vaddr, is_private, false);
    case FUTEX_TRYLOCK_PI: return lock_pi(t, vaddr, is_private, true);
    case FUTEX_UNLOCK_PI: return unlock_pi(t, vaddr, is_private);
    default: break;
    }
    result = key_of(t, vaddr, is_private, &k);
    if (result < 0)
        return result;
    if (op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET)
        return op == FUTEX_WAKE_BITSET && value3 == 0 ? -EINVAL : wake(t->os, k, value, op == FUTEX_WAKE ? UINT32_MAX : value3);
    result = key_of(t, other, is_private, &k2);
    if (result < 0)
        return result;
    switch (op) {
    case FUTEX_WAKE_OP: return wake_op(t, k, k2, other, value, value2, value3);
    case FUTEX_CMP_REQUEUE: {
        uint32_t now;
        if (!tl_vm_read(t->process, vaddr, &now, sizeof now))
            return -EFAULT;
        if (now != value3)
            return -EAGAIN;
    }
        __attribute__((fallthrough));
    case FUTEX_REQUEUE:
        if ((int32_t)value < 0 || (int32_t)value2 < 0)
            return -EINVAL;
        result = requeue(t->os, k, k2, value, value2);
        return result;
    default: return -ENOSYS;
    }
}

// ---- The end of a thread.

static void owner_died(tl_thread *t, uint64_t vaddr, bool is_pi, bool is_pending) {
    key k;
    uint32_t word;
    if (key_of(t, vaddr, false, &k) < 0 || !tl_vm_read(t->process, vaddr, &word, sizeof word))
        return;
    if (is_pending && !is_pi && word == 0) { // between unlocking and waking
        wake(t->os, k, 1, UINT32_MAX);
        return;
    }
    if ((word & FUTEX_TID_MASK) != (uint32_t)t->tid)
        return;
    uint32_t new = is_pi ? hand_over(t->os, k, FUTEX_OWNER_DIED) : (word & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
    if (tl_vm_write(t->process, vaddr, &new, sizeof new) && !is_pi && (word & FUTEX_WAITERS))
        wake(t->os, k, 1, UINT32_MAX);
}

static void walk_robust_list(tl_thread *t) {
    uint64_t head[3]; // first entry, offset of the futex in an entry, entry being taken or released
    uint64_t entry;
    if (!tl_vm_read(t->process, t->robust_list, head, sizeof head))
        return;
    uint64_t pending = head[2];
    entry = head[0];
    for (int n = 0; (entry & ~UINT64_C(1)) != t->robust_list && n < ROBUST_LIST_LIMIT; ++n) {
        uint64_t next;
        bool is_readable = tl_vm_read(t->process, entry & ~UINT64_C(1), &next, sizeof next);
        if ((entry & ~UINT64_C(1)) != (pending & ~UINT64_C(1)))
            owner_died(t, (entry & ~UINT64_C(1)) + head[1], entry & 1, false);
        if (!is_readable)
            break;
        entry = next;
    }
    if (pending & ~UINT64_C(1))
        owner_died(t, (pending & ~UINT64_C(1)) + head[1], pending & 1, true);
}

void tl_futex_thread_done(tl_thread *t) {
    tl_futex_forget(t);
    if (t->robust_list)
        walk_robust_list(t);
    t->robust_list = 0;
    if (t->clear_child_tid) {
        static const uint32_t zero = 0;
        key k;
        if (tl_vm_write(t->process, t->clear_child_tid, &zero, sizeof zero) && key_of(t, t->clear_child_tid, false, &k) == 0)
            wake(t->os, k, 1, UINT32_MAX);
        t->clear_child_tid = 0;
    }
}

int64_t tl_sys_set_robust_list(tl_thread *t, const uint64_t args[6]) {
    if (args[1] != 24)
        return -EINVAL;
    t->robust_list = args[0];
    return 0;
}

int64_t tl_sys_get_robust_list(tl_thread *t, const uint64_t args[6]) {
    const tl_thread *of = args[0] == 0 ? t : tl_thread_find(t->os, (int32_t)args[0]);
    uint64_t bytes = 24;
    if (!of)
        return -ESRCH;
    return tl_vm_write(t->process, args[1], &of->robust_list, 8) && tl_vm_write(t->process, args[2], &bytes, 8) ? 0 : -EFAULT;
}

int64_t tl_sys_set_tid_address(tl_thread *t, const uint64_t args[6]) {
    t->clear_child_tid = args[0];
    return t->tid;
}
