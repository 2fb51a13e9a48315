// SPDX-License-Identifier: MIT
// Record locks are disjoint stretches per owner and inode. A tree by their start holds them, so
// that a program may have many. An owner is a pointer that is only compared: the descriptor table
// for POSIX locks, the open file description for OFD locks and flock.
#include "linux/file/lock.h"

#include <stdlib.h>
#include <sys/file.h>

#include "base/treap.h"
#include "linux/file/fd.h"

typedef struct stretch {
    tl_treap_node node;  // by start
    uint64_t start, end; // both included
    int16_t type;
    bool has_write; // in its subtree
} stretch;

typedef struct owner { // of stretches of one inode
    struct owner *next;
    const void *id;
    int32_t pid; // -1: an open file description's
    tl_treap stretches;
} owner;

typedef struct wish { // the lock that a call requests
    const void *owner;
    int32_t pid;
    int16_t type;
    uint64_t start, end;
} wish;

struct tl_locked_inode {
    tl_treap_node node; // by device and inode
    uint64_t device, inode;
    owner *records, *flocks;
    tl_wait_queue queue; // woken when anything is given up
};

enum { SYS_FCNTL = 25, MAX_HOPS = 64 };

static int by_identity(const tl_treap_node *a, const tl_treap_node *b) {
    const tl_locked_inode *x = (const tl_locked_inode *)a, *y = (const tl_locked_inode *)b;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return x->device < y->device ? -1 : x->device > y->device;
}

static int by_start(const tl_treap_node *a, const tl_treap_node *b) {
    uint64_t x = ((const stretch *)a)->start, y = ((const stretch *)b)->start;
    return x < y ? -1 : x > y;
}

static void note_write(tl_treap_node *node) {
    const stretch *left = (const stretch *)node->left, *right = (const stretch *)node->right;
    stretch *s = (stretch *)node;
    s->has_write = s->type == TL_F_WRLCK || (left && left->has_write) || (right && right->has_write);
}

static const tl_treap_type inode_tree = {.compare = by_identity}, stretch_tree = {.compare = by_start, .summarize = note_write};

static tl_locked_inode *inode_of(tl_file_system *fs, const tl_file *file, bool creates) {
    const tl_locked_inode key = {.device = file->device, .inode = file->inode};
    for (tl_treap_node *node = fs->locks.root; node;) {
        int order = by_identity(&key.node, node);
        if (order == 0)
            return (tl_locked_inode *)node;
        node = order < 0 ? node->left : node->right;
    }
    tl_locked_inode *inode = creates && tl_account_charge(fs->account, sizeof *inode) ? malloc(sizeof *inode) : NULL;
    if (!inode)
        return NULL;
    *inode = key;
    fs->locks.type = &inode_tree;
    tl_treap_insert(&fs->locks, &inode->node);
    return inode;
}

static void drop_if_unused(tl_file_system *fs, tl_locked_inode *inode) {
    if (inode->records || inode->flocks || inode->queue.first)
        return;
    tl_treap_remove(&fs->locks, &inode->node);
    tl_account_release(fs->account, sizeof *inode);
    free(inode);
}

static owner *owner_of(tl_account *account, owner **list, const wish *w, bool creates) {
    owner *o = *list;
    while (o && o->id != w->owner)
        o = o->next;
    if (o || !creates)
        return o;
    o = tl_account_charge(account, sizeof *o) ? malloc(sizeof *o) : NULL;
    if (!o)
        return NULL;
    *o = (owner){.next = *list, .id = w->owner, .pid = w->pid, .stretches = {.type = &stretch_tree}};
    return *list = o;
}

static void drop_stretches(tl_account *account, tl_treap_node *node) {
    if (!node)
        return;
    drop_stretches(account, node->left);
    drop_stretches(account, node->right);
    tl_account_release(account, sizeof(stretch));
    free(node);
}

static bool remove_owner(tl_account *account, owner **list, const void *id) {
    while (*list && (*list)->id != id)
        list = &(*list)->next;
    owner *o = *list;
    if (!o)
        return false;
    *list = o->next;
    drop_stretches(account, o->stretches.root);
    tl_account_release(account, sizeof *o);
    free(o);
    return true;
}

// The first stretch of one owner that holds a byte of [start, end].
static stretch *first_in(const tl_treap *tree, uint64_t start, uint64_t end) {
    stretch *found = NULL;
    for (tl_treap_node *node = tree->root; node;) {
        if (((stretch *)node)->end >= start) {
            found = (stretch *)node;
            node = node->left;
        } else {
            node = node->right;
        }
    }
    return found && found->start <= end ? found : NULL;
}

static const stretch *first_write_in(const tl_treap_node *node, uint64_t start, uint64_t end) {
    const stretch *s = (const stretch *)node;
    if (!s || !s->has_write)
        return NULL;
    if (s->end < start)
        return first_write_in(node->right, start, end);
    const stretch *found = first_write_in(node->left, start, end);
    if (found || s->start > end)
        return found;
    return s->type == TL_F_WRLCK ? s : first_write_in(node->right, start, end);
}

static const stretch *conflict(const owner *list, const wish *w, const owner **ret_owner) {
    for (const owner *o = list; o; o = o->next) {
        const stretch *found = o->id == w->owner       ? NULL
                               : w->type == TL_F_WRLCK ? first_in(&o->stretches, w->start, w->end)
                                                       : first_write_in(o->stretches.root, w->start, w->end);
        if (found) {
            *ret_owner = o;
            return found;
        }
    }
    return NULL;
}

static stretch *add(tl_account *account, owner *o, int16_t type, uint64_t start, uint64_t end) {
    stretch *s = tl_account_charge(account, sizeof *s) ? malloc(sizeof *s) : NULL;
    if (!s)
        return NULL;
    *s = (stretch){.start = start, .end = end, .type = type};
    tl_treap_insert(&o->stretches, &s->node);
    return s;
}

static void take_out(tl_account *account, owner *o, stretch *s) {
    tl_treap_remove(&o->stretches, &s->node);
    tl_account_release(account, sizeof *s);
    free(s);
}

// Replaces the owner's locks within the range of the wish; TL_F_UNLCK removes them. false: no
// memory, and the locked bytes are unchanged.
static bool set(tl_account *account, owner **list, const wish *w) {
    owner *o = owner_of(account, list, w, w->type != TL_F_UNLCK);
    uint64_t start = w->start, end = w->end;
    bool is_complete = o || w->type == TL_F_UNLCK;
    if (!o)
        return is_complete;
    for (stretch *s; is_complete && (s = first_in(&o->stretches, w->start, w->end)) != NULL;) {
        uint64_t old_start = s->start, old_end = s->end;
        int16_t type = s->type;
        take_out(account, o, s);
        if (type == w->type) { // the new one grows over it
            start = old_start < start ? old_start : start;
            end = old_end > end ? old_end : end;
            continue;
        }
        is_complete = (old_start >= w->start || add(account, o, type, old_start, w->start - 1)) &&
                      (old_end <= w->end || add(account, o, type, w->end + 1, old_end));
    }
    if (is_complete && w->type != TL_F_UNLCK) { // neighbors of the same kind are joined
        stretch *below = start > 0 ? first_in(&o->stretches, start - 1, start - 1) : NULL;
        stretch *above = end < UINT64_MAX ? first_in(&o->stretches, end + 1, end + 1) : NULL;
        if (below && below->type == w->type) {
            start = below->start;
            take_out(account, o, below);
        }
        if (above && above->type == w->type) {
            end = above->end;
            take_out(account, o, above);
        }
        is_complete = add(account, o, w->type, start, end);
    }
    if (!o->stretches.root)
        (void)remove_owner(account, list, w->owner);
    return is_complete;
}

static void give_up(tl_os *os, tl_file *file, const void *id) {
    tl_file_system *fs = os->file_system;
    tl_locked_inode *inode = fs->locks.root ? inode_of(fs, file, false) : NULL;
    if (!inode)
        return;
    bool any = remove_owner(fs->account, &inode->records, id);
    any |= remove_owner(fs->account, &inode->flocks, id);
    if (any)
        tl_wake_all(os, &inode->queue);
    drop_if_unused(fs, inode);
}

void tl_locks_closed(tl_os *os, const tl_files *files, tl_file *file) { give_up(os, file, files); }
void tl_locks_released(tl_os *os, tl_file *file) { give_up(os, file, file); }

static void drop_inodes(tl_account *account, tl_treap_node *node) {
    tl_locked_inode *inode = (tl_locked_inode *)node;
    if (!inode)
        return;
    drop_inodes(account, node->left);
    drop_inodes(account, node->right);
    for (owner **lists[] = {&inode->records, &inode->flocks}, ***l = lists; l < lists + 2; l++)
        while (**l)
            (void)remove_owner(account, *l, (**l)->id);
    free(inode);
}

void tl_locks_done(tl_file_system *fs) {
    drop_inodes(fs->account, fs->locks.root);
    fs->locks.root = NULL;
}

// True when a wait for `blocker` would close a circle back to `owner`. Every thread that waits for
// a record lock keeps the owner it waits for in retry[1].
static bool is_deadlock(const tl_os *os, const void *waiter, const void *blocker) {
    for (int hop = 0; hop < MAX_HOPS && blocker; hop++) {
        if (blocker == waiter)
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
    wish wanted = {.owner = is_ofd ? (const void *)file : t->files, .type = user.type, .pid = is_ofd ? -1 : t->process->pid};
    const owner *holder;
    int64_t error = range_of(os, file, &user, &wanted.start, &wanted.end);
    if (error)
        return error;
    tl_locked_inode *inode = inode_of(fs, file, !asks);
    if (asks) {
        const stretch *other = inode ? conflict(inode->records, &wanted, &holder) : NULL;
        user.type = TL_F_UNLCK;
        if (other)
            user = (tl_abi_flock){.type = other->type,
                                  .whence = SEEK_SET,
                                  .start = (int64_t)other->start,
                                  .length = other->end == INT64_MAX ? 0 : (int64_t)(other->end - other->start + 1),
                                  .pid = holder->pid};
        return tl_vm_write(t->process, flock_vaddr, &user, sizeof user) ? 0 : -EFAULT;
    }
    if (!inode)
        return -ENOLCK;
    if ((user.type == TL_F_RDLCK && !tl_file_may_read(file)) || (user.type == TL_F_WRLCK && !tl_file_may_write(file))) {
        drop_if_unused(fs, inode);
        return -EBADF;
    }
    if (user.type != TL_F_UNLCK && conflict(inode->records, &wanted, &holder)) {
        if (!waits)
            return -EAGAIN;
        if (!is_ofd && is_deadlock(os, wanted.owner, holder->id))
            return -EDEADLK;
        t->retry[1] = (uint64_t)(uintptr_t)holder->id;
        tl_wait_on(t, &inode->queue, "a record lock");
        return tl_sys_block(t, -TL_ERESTARTSYS);
    }
    bool is_set = set(fs->account, &inode->records, &wanted);
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
    wish wanted = {.owner = file, .end = INT64_MAX, .type = operation == LOCK_EX ? TL_F_WRLCK : TL_F_RDLCK, .pid = t->process->pid};
    const owner *own = owner_of(&os->account, &inode->flocks, &wanted, false), *holder;
    if (own && operation != LOCK_UN && ((const stretch *)own->stretches.root)->type == wanted.type)
        return 0;
    // As in Linux, a change of the kind gives the old lock up first.
    if (remove_owner(&os->account, &inode->flocks, file))
        tl_wake_all(os, &inode->queue);
    int64_t result = 0;
    if (operation != LOCK_UN) {
        if (conflict(inode->flocks, &wanted, &holder)) {
            if ((uint32_t)args[1] & LOCK_NB)
                return -EAGAIN;
            tl_wait_on(t, &inode->queue, "a file lock");
            return tl_sys_block(t, -TL_ERESTARTSYS);
        }
        if (!set(&os->account, &inode->flocks, &wanted))
            result = -ENOLCK;
    }
    drop_if_unused(os->file_system, inode);
    return result;
}
