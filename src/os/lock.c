// SPDX-License-Identifier: MIT
// Record locks are kept as disjoint stretches per owner and inode. An owner is a pointer that is only compared: the descriptor table
// for POSIX locks, the open file description for OFD locks and flock.
#include "os/lock.h"

#include <stdlib.h>
#include <sys/file.h>

#include "os/fd.h"

typedef struct lock {
    struct lock *next;
    const void *owner;
    uint64_t start, end; // both included
    int16_t type;
    int32_t pid; // -1: an open file description's
} lock;

struct tl_locked_inode {
    tl_locked_inode *next;
    uint64_t device, inode;
    lock *records, *flocks;
    tl_wait_queue queue; // woken when anything is given up
};

enum { SYS_FCNTL = 25, MAX_HOPS = 64 };

static tl_locked_inode *inode_of(tl_file_system *fs, const tl_file *file, bool creates) {
    for (tl_locked_inode *inode = fs->locks; inode; inode = inode->next)
        if (inode->device == file->device && inode->inode == file->inode)
            return inode;
    tl_locked_inode *inode = creates ? calloc(1, sizeof *inode) : NULL;
    if (!inode)
        return NULL;
    inode->device = file->device;
    inode->inode = file->inode;
    inode->next = fs->locks;
    fs->locks = inode;
    return inode;
}

static void drop_if_unused(tl_file_system *fs, tl_locked_inode *inode) {
    if (inode->records || inode->flocks || inode->queue.first)
        return;
    tl_locked_inode **at = &fs->locks;
    while (*at != inode)
        at = &(*at)->next;
    *at = inode->next;
    free(inode);
}

static const lock *conflict(const lock *list, const lock *wanted) {
    for (const lock *l = list; l; l = l->next)
        if (l->owner != wanted->owner && l->start <= wanted->end && wanted->start <= l->end &&
            (l->type == TL_F_WRLCK || wanted->type == TL_F_WRLCK))
            return l;
    return NULL;
}

static lock *add(lock **list, const lock *like, uint64_t start, uint64_t end) {
    lock *l = malloc(sizeof *l);
    if (!l)
        return NULL;
    *l = *like;
    l->start = start;
    l->end = end;
    l->next = *list;
    return *list = l;
}

// Replaces what `wanted` covers of its owner's locks; TL_F_UNLCK leaves a hole. false: no memory, nothing changed that matters.
static bool set(lock **list, const lock *wanted) {
    lock *fresh = NULL;
    uint64_t start = wanted->start, end = wanted->end;
    if (wanted->type != TL_F_UNLCK && !(fresh = add(list, wanted, start, end)))
        return false;
    for (lock **at = list; *at;) {
        lock *l = *at;
        if (l == fresh || l->owner != wanted->owner) {
            at = &l->next;
            continue;
        }
        bool touches = l->start <= end + (end != UINT64_MAX) && start <= l->end + (l->end != UINT64_MAX);
        if (fresh && l->type == wanted->type && touches) { // grow over it
            fresh->start = l->start < fresh->start ? l->start : fresh->start;
            fresh->end = l->end > fresh->end ? l->end : fresh->end;
        } else if (l->start > end || start > l->end) {
            at = &l->next;
            continue;
        } else {
            if (l->start < start && !add(&l->next, l, l->start, start - 1))
                return false;
            if (l->end > end && !add(&l->next, l, end + 1, l->end))
                return false;
        }
        *at = l->next;
        free(l);
    }
    return true;
}

static bool remove_owner(lock **list, const void *owner) {
    bool any = false;
    while (*list) {
        lock *l = *list;
        if (l->owner == owner) {
            *list = l->next;
            free(l);
            any = true;
        } else {
            list = &l->next;
        }
    }
    return any;
}

static void give_up(tl_os *os, tl_file *file, const void *owner) {
    tl_file_system *fs = os->file_system;
    tl_locked_inode *inode = fs->locks ? inode_of(fs, file, false) : NULL;
    if (!inode)
        return;
    bool any = remove_owner(&inode->records, owner);
    any |= remove_owner(&inode->flocks, owner);
    if (any)
        tl_wake_all(os, &inode->queue);
    drop_if_unused(fs, inode);
}

void tl_locks_closed(tl_os *os, const tl_files *files, tl_file *file) { give_up(os, file, files); }
void tl_locks_released(tl_os *os, tl_file *file) { give_up(os, file, file); }

void tl_locks_done(tl_file_system *fs) {
    while (fs->locks) {
        tl_locked_inode *inode = fs->locks;
        fs->locks = inode->next;
        for (lock *lists[] = {inode->records, inode->flocks}, **l = lists; l < lists + 2; l++)
            while (*l) {
                lock *next = (*l)->next;
                free(*l);
                *l = next;
            }
        free(inode);
    }
}

// Would waiting for `blocker` close a circle back to `owner`? Every thread that waits for a record lock left whom it waits for in retry[1].
static bool is_deadlock(const tl_os *os, const void *owner, const void *blocker) {
    for (int hop = 0; hop < MAX_HOPS && blocker; hop++) {
        if (blocker == owner)
            return true;
        const void *next = NULL;
        for (const tl_process *p = tl_process_first(os); p && !next; p = p->next)
            for (const tl_thread *t = p->threads; t && !next; t = t->next_in_process)
                if (t->files == blocker && t->state == TL_THREAD_SLEEPING && t->in_syscall && t->syscall_number == SYS_FCNTL &&
                    (uint32_t)t->syscall_args[1] == TL_F_SETLKW)
                    next = (const void *)(uintptr_t)t->retry[1];
        blocker = next;
    }
    return false;
}

static int64_t range_of(tl_os *os, tl_file *file, const tl_abi_flock *l, uint64_t *ret_start, uint64_t *ret_end) {
    int64_t base = 0, start, end;
    if (l->whence == SEEK_CUR)
        base = (int64_t)file->pos;
    else if (l->whence == SEEK_END) {
        base = tl_file_size(os, file);
        if (base < 0)
            return base;
    } else if (l->whence != SEEK_SET)
        return -EINVAL;
    if (__builtin_add_overflow(base, l->start, &start))
        return -EOVERFLOW;
    if (start < 0)
        return -EINVAL;
    if (l->length > 0) {
        if (__builtin_add_overflow(start, l->length - 1, &end))
            return -EOVERFLOW;
    } else if (l->length < 0) {
        end = start - 1;
        start += l->length;
        if (start < 0)
            return -EINVAL;
    } else {
        end = INT64_MAX;
    }
    *ret_start = (uint64_t)start;
    *ret_end = (uint64_t)end;
    return 0;
}

int64_t tl_lock_fcntl(tl_thread *t, tl_file *file, uint32_t command, uint64_t flock_vaddr) {
    tl_os *os = t->os;
    tl_file_system *fs = os->file_system;
    tl_abi_flock user;
    bool is_ofd = command == TL_F_OFD_GETLK || command == TL_F_OFD_SETLK || command == TL_F_OFD_SETLKW;
    bool waits = command == TL_F_SETLKW || command == TL_F_OFD_SETLKW;
    bool asks = command == TL_F_GETLK || command == TL_F_OFD_GETLK;
    if (!tl_vm_read(t->process, flock_vaddr, &user, sizeof user))
        return -EFAULT;
    if (is_ofd && user.pid != 0)
        return -EINVAL;
    if (user.type != TL_F_RDLCK && user.type != TL_F_WRLCK && (user.type != TL_F_UNLCK || asks))
        return -EINVAL;
    lock wanted = {.owner = is_ofd ? (const void *)file : t->files, .type = user.type, .pid = is_ofd ? -1 : t->process->pid};
    int64_t error = range_of(os, file, &user, &wanted.start, &wanted.end);
    if (error)
        return error;
    tl_locked_inode *inode = inode_of(fs, file, !asks);
    if (asks) {
        const lock *other = inode ? conflict(inode->records, &wanted) : NULL;
        user.type = TL_F_UNLCK;
        if (other)
            user = (tl_abi_flock){.type = other->type,
                                  .whence = SEEK_SET,
                                  .start = (int64_t)other->start,
                                  .length = other->end == INT64_MAX ? 0 : (int64_t)(other->end - other->start + 1),
                                  .pid = other->pid};
        return tl_vm_write(t->process, flock_vaddr, &user, sizeof user) ? 0 : -EFAULT;
    }
    if (!inode)
        return -ENOLCK;
    if ((user.type == TL_F_RDLCK && !tl_file_may_read(file)) || (user.type == TL_F_WRLCK && !tl_file_may_write(file))) {
        drop_if_unused(fs, inode);
        return -EBADF;
    }
    const lock *other = user.type == TL_F_UNLCK ? NULL : conflict(inode->records, &wanted);
    if (other) {
        if (!waits)
            return -EAGAIN;
        if (!is_ofd && is_deadlock(os, wanted.owner, other->owner))
            return -EDEADLK;
        t->retry[1] = (uint64_t)(uintptr_t)other->owner;
        tl_wait_on(t, &inode->queue, "a record lock");
        return tl_sys_block(t, -TL_ERESTARTSYS);
    }
    bool is_set = set(&inode->records, &wanted);
    tl_wake_all(os, &inode->queue); // a stretch was given up, or a write lock became a read lock
    drop_if_unused(fs, inode);
    return is_set ? 0 : -ENOLCK;
}

int64_t tl_sys_flock(tl_thread *t, const uint64_t args[6]) {
    tl_os *os = t->os;
    tl_file *file = tl_file_of_fd(t, (int32_t)args[0]);
    uint32_t operation = (uint32_t)args[1] & ~(uint32_t)LOCK_NB;
    if (!file || file->flags & TL_O_PATH)
        return -EBADF;
    if (operation != LOCK_SH && operation != LOCK_EX && operation != LOCK_UN)
        return -EINVAL;
    tl_locked_inode *inode = inode_of(os->file_system, file, true);
    if (!inode)
        return -ENOLCK;
    lock wanted = {.owner = file, .end = INT64_MAX, .type = operation == LOCK_EX ? TL_F_WRLCK : TL_F_RDLCK, .pid = t->process->pid};
    for (const lock *l = inode->flocks; l; l = l->next)
        if (l->owner == file && operation != LOCK_UN && l->type == wanted.type)
            return 0;
    if (remove_owner(&inode->flocks, file)) // as Linux: changing the kind gives the old lock up first
        tl_wake_all(os, &inode->queue);
    int64_t result = 0;
    if (operation != LOCK_UN) {
        if (conflict(inode->flocks, &wanted)) {
            if ((uint32_t)args[1] & LOCK_NB)
                return -EAGAIN;
            tl_wait_on(t, &inode->queue, "a file lock");
            return tl_sys_block(t, -TL_ERESTARTSYS);
        }
        if (!add(&inode->flocks, &wanted, 0, INT64_MAX))
            result = -ENOLCK;
    }
    drop_if_unused(os->file_system, inode);
    return result;
}
