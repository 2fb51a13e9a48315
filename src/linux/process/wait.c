// SPDX-License-Identifier: MIT
// Wait queues and timers: see wait.h.
#include "linux/process/wait.h"

#include <stdlib.h>

#include "linux/os_internal.h"
#include "linux/process/sched.h"

// ---- Timers: a binary heap by (cycle, sequence).

static bool is_before(const tl_timer *a, const tl_timer *b) {
    return a->cycle != b->cycle ? a->cycle < b->cycle : a->sequence < b->sequence;
}

static void put(tl_os *os, tl_timer *timer, uint32_t index) {
    os->timers[index] = timer;
    timer->heap_index = index;
}

static void sift(tl_os *os, tl_timer *timer, uint32_t index) {
    for (; index > 1 && is_before(timer, os->timers[index / 2]); index /= 2)
        put(os, os->timers[index / 2], index);
    for (uint32_t child; (child = 2 * index) <= os->n_timers; index = child) {
        if (child < os->n_timers && is_before(os->timers[child + 1], os->timers[child]))
            ++child;
        if (!is_before(os->timers[child], timer))
            break;
        put(os, os->timers[child], index);
    }
    put(os, timer, index);
}

bool tl_timer_arm(tl_os *os, tl_timer *timer, uint64_t cycle, tl_timer_fn *fire) {
    tl_timer_cancel(os, timer);
    if (cycle == UINT64_MAX)
        return true;
    if (os->n_timers + 1 >= os->timers_capacity) {
        uint32_t wanted = os->timers_capacity ? 2 * os->timers_capacity : 64;
        tl_timer **grown = realloc(os->timers, wanted * sizeof *grown);
        if (!grown)
            return false;
        os->timers = grown;
        os->timers_capacity = wanted;
    }
    timer->cycle = cycle < os->now ? os->now : cycle;
    timer->sequence = ++os->next_sequence;
    timer->fire = fire;
    sift(os, timer, ++os->n_timers);
    return true;
}

void tl_timer_cancel(tl_os *os, tl_timer *timer) {
    uint32_t index = timer->heap_index;
    if (index == 0)
        return;
    timer->heap_index = 0;
    tl_timer *last = os->timers[os->n_timers--];
    if (last != timer)
        sift(os, last, index);
}

// ---- Queues.

void tl_wait_on(tl_thread *t, tl_wait_queue *queue, const char *waits_for) {
    tl_os *os = t->os;
    tl_wait_entry *entry = os->free_entries;
    t->waits_for = waits_for;
    if (entry)
        os->free_entries = entry->next_of_thread;
    else if (tl_account_charge(&os->account, sizeof *entry)) // for good: entries are used again
        entry = malloc(sizeof *entry);
    if (!entry) { // without an entry in the queue the thread retries periodically
        if (t->deadline == TL_NO_DEADLINE)
            t->deadline = os->now + os->machine->config.os.slice_cycles;
        return;
    }
    *entry = (tl_wait_entry){.queue = queue, .thread = t, .previous = queue->last, .next_of_thread = t->waits};
    t->waits = entry;
    if (queue->last)
        queue->last->next = entry;
    else
        queue->first = entry;
    queue->last = entry;
}

void tl_wait_only_deadline(tl_thread *t, const char *waits_for) { t->waits_for = waits_for; }

static void unlink_entry(tl_wait_entry *entry) {
    tl_wait_queue *queue = entry->queue;
    if (!queue)
        return;
    *(entry->previous ? &entry->previous->next : &queue->first) = entry->next;
    *(entry->next ? &entry->next->previous : &queue->last) = entry->previous;
    entry->queue = NULL;
}

void tl_wait_forget(tl_thread *t) {
    tl_timer_cancel(t->os, &t->deadline_timer);
    tl_host_wait_forget(t);
    while (t->waits) {
        tl_wait_entry *entry = t->waits;
        t->waits = entry->next_of_thread;
        unlink_entry(entry);
        entry->next_of_thread = t->os->free_entries;
        t->os->free_entries = entry;
    }
}

void tl_thread_wake(tl_thread *t) {
    if (t->state != TL_THREAD_SLEEPING)
        return;
    tl_wait_forget(t);
    tl_sched_ready(t);
}

uint32_t tl_wake(tl_os *os, tl_wait_queue *queue, uint32_t max) {
    uint32_t n = 0;
    (void)os;
    while (queue->first && n < max) {
        tl_thread *t = queue->first->thread;
        if (t->state == TL_THREAD_SLEEPING)
            tl_thread_wake(t); // takes its entries out of all queues
        else
            unlink_entry(queue->first); // registers, then finds it need not wait
        ++n;
    }
    return n;
}

void tl_wait_queue_done(tl_os *os, tl_wait_queue *queue) { tl_wake_all(os, queue); }
