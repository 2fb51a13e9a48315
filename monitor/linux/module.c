// SPDX-License-Identifier: MIT
// The kernel host of the cross-core monitor: a thread that is bound to the debugger core ticks the
// monitor, packets come and go by generic netlink, and a character device has the ring and the
// owner. A process that dies, a stop that takes too long, and a core that goes offline leave a
// target that runs.
//
// The thread takes no lock, allocates nothing and prints nothing while the target may be halted:
// packets wait in two rings with one writer and one reader each.
#include <linux/capability.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pm_qos.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>

#include <asm/cacheflush.h>
#include <asm/cputype.h>

#include "host.h"
#include "netlink.h"
#include "transcript.h"

static int target = -1;
module_param(target, int, 0444);
MODULE_PARM_DESC(target, "core that is halted and inspected; there is no default");
static int debugger = -1;
module_param(debugger, int, 0444);
MODULE_PARM_DESC(debugger, "core whose thread does it; there is no default");
static unsigned long debug_base, cti_base, pmu_base, rom;
module_param(debug_base, ulong, 0444);
MODULE_PARM_DESC(debug_base, "address of the target's debug block; 0: the device tree or rom says it");
module_param(cti_base, ulong, 0444);
module_param(pmu_base, ulong, 0444);
module_param(rom, ulong, 0444);
MODULE_PARM_DESC(rom, "address of a ROM table to walk; 0: none");
static uint budget_ms = 50;
module_param(budget_ms, uint, 0444);
MODULE_PARM_DESC(budget_ms, "the most that one stop lasts, 1 to 1000 ms");
static uint ring_kib = 8192;
module_param(ring_kib, uint, 0444);
MODULE_PARM_DESC(ring_kib, "data of the ring, a power of two, 64 to 65536 KiB");
static uint transcript;
module_param(transcript, uint, 0444);
MODULE_PARM_DESC(transcript, "accesses of registers that are recorded; reads of the device return them");
static bool kernel;
module_param(kernel, bool, 0444);
MODULE_PARM_DESC(kernel, "halts above EL0 are kept, which may deadlock: the target may hold a lock");

enum { N_REQUESTS = 8, OUT_BYTES = 1 << 18, LIST = 4096, HASH = 4 * LIST, PROGRAM_WORDS = 16384 };
enum { POLL_NS = 2000, EXPIRE_AGAIN_NS = 200000 };
static const u64 NOBODY = U64_MAX;

struct request {
    u32 portid, seq, n_bytes;
    u64 owner;
    bool is_privileged;
    u8 packet[XCM_PACKET_BYTES];
};

struct route {
    u32 portid, seq;
};
// Before each packet in the ring of those that leave. The size is that of the packet; 0: the rest
// of the ring is empty.
struct out_head {
    u32 n_bytes;
    struct route to;
    u32 is_event;
};

enum control { CONTROL_NONE, CONTROL_OPEN, CONTROL_CLOSE };

static struct {
    xcm *monitor;
    xcm_host host;
    xcm_config config;
    u64 mpidr;
    struct xcm_blocks blocks;
    void __iomem *windows[XCM_N_BLOCKS];
    int last_block;
    u8 *ring;
    size_t ring_bytes;
    u64 *list, *programs;
    u32 *hash;

    struct task_struct *thread;
    wait_queue_head_t wake, readers;
    struct mutex opening;
    bool is_open, is_halted, is_in_core;
    enum control control;
    u64 owner;
    unsigned long session; // of the open device
    struct completion controlled;
    struct hrtimer timer;
    u64 expiry_ns;
    struct dev_pm_qos_request no_idle;
    bool has_no_idle;
    int hotplug;

    struct request *requests;
    u32 n_in, n_taken; // ever
    struct route submitted, pending;
    bool is_submitting;

    u8 *out;
    u32 out_head, out_tail; // ever
    u64 n_dropped;
    struct irq_work raise;
    struct work_struct sending;
    struct workqueue_struct *senders;

    call_single_data_t csd;
    xcm_routine routine;
    bool has_routine_run;

    struct xcm_note *notes;
    u32 n_notes;
} host;

// -- Transcript.

static void note(u8 kind, u8 block, u16 offset, u32 value, u64 time) {
    if (host.n_notes < transcript)
        host.notes[host.n_notes++] = (struct xcm_note){time, value, offset, block, kind};
}

static void note_packet(u8 kind, u64 owner, bool is_privileged, const u8 *packet, u32 n_bytes) {
    const u32 n = DIV_ROUND_UP(n_bytes, sizeof(struct xcm_note));

    if (transcript == 0 || host.n_notes + 1 + n > transcript) {
        host.n_notes = transcript; // what follows would make no sense
        return;
    }
    note(kind, 0, is_privileged, n_bytes, owner);
    memcpy(&host.notes[host.n_notes], packet, n_bytes);
    host.n_notes += n;
}

// -- Functions that the monitor calls.

static u32 rd32(void *ctx, xcm_block block, u32 offset) {
    if (host.last_block != block)
        mb();
    host.last_block = block;
    return readl(host.windows[block] + offset);
}

// Device memory keeps its order within a block.
static void wr32(void *ctx, xcm_block block, u32 offset, u32 value) {
    if (host.last_block != block)
        mb();
    host.last_block = block;
    writel(value, host.windows[block] + offset);
}

// The timer's own time, which a transcript has, is the monitor's first one.
static u64 now_ns(void *ctx) {
    const u64 expiry_ns = host.expiry_ns;

    host.expiry_ns = 0;
    return expiry_ns ? expiry_ns : ktime_get_mono_fast_ns();
}
static void relax(void *ctx) { cpu_relax(); }

static void record(void *ctx, u64 time_ns, xcm_block block, u32 offset, bool is_write, u32 value) {
    note(is_write ? XCM_NOTE_WRITE : XCM_NOTE_READ, block, offset, value, time_ns);
}

// A set and way operation misses lines that move between caches meanwhile. On an isolated core
// nothing but the kernel shares lines with the target.
static void clean_l1d(void) {
    u64 sizes, set, way;
    u32 line_log2, n_ways, n_sets;

    write_sysreg(0, csselr_el1);
    isb();
    sizes = read_sysreg(ccsidr_el1);
    line_log2 = (sizes & 7) + 4;
    n_ways = (sizes >> 3 & 0x3ff) + 1;
    n_sets = (sizes >> 13 & 0x7fff) + 1;
    for (way = 0; way < n_ways; way++)
        for (set = 0; set < n_sets; set++)
            asm volatile("dc cisw, %0" : : "r"((n_ways == 1 ? 0 : way << (32 - fls(n_ways - 1))) | set << line_log2) : "memory");
    dsb(sy);
}

static void flush_here(void *unused) {
    if (host.routine != XCM_FLUSH_L1I)
        clean_l1d();
    if (host.routine != XCM_FLUSH_L1D) {
        asm volatile("ic iallu" : : : "memory");
        dsb(nsh);
        isb();
    }
    smp_store_release(&host.has_routine_run, true);
    module_put(THIS_MODULE);
}

static xcm_progress run_on_target(void *ctx, xcm_routine routine, bool is_start) {
    if (!is_start)
        return smp_load_acquire(&host.has_routine_run) ? XCM_HAS_RUN : XCM_RUNS;
    if (routine != XCM_FLUSH_L1I && housekeeping_test_cpu(target, HK_TYPE_DOMAIN))
        return XCM_CANNOT;
    if (!smp_load_acquire(&host.has_routine_run) || !try_module_get(THIS_MODULE)) // the last one still runs
        return XCM_CANNOT;
    host.routine = routine;
    host.has_routine_run = false;
    if (smp_call_function_single_async(target, &host.csd) == 0)
        return XCM_RUNS;
    host.has_routine_run = true;
    module_put(THIS_MODULE);
    return XCM_CANNOT;
}

// -- Packets that leave.

static void put_out(struct route to, bool is_event, const u8 *packet, u32 n_bytes) {
    const u32 size = sizeof(struct out_head) + ALIGN(n_bytes, 16);
    const u32 offset = host.out_head % OUT_BYTES, to_end = OUT_BYTES - offset, pad = to_end < size ? to_end : 0;
    struct out_head *head;

    if (OUT_BYTES - (host.out_head - smp_load_acquire(&host.out_tail)) < pad + size) {
        host.n_dropped++;
        return;
    }
    if (pad > 0)
        ((struct out_head *)(host.out + offset))->n_bytes = 0;
    head = (struct out_head *)(host.out + (pad > 0 ? 0 : offset));
    *head = (struct out_head){n_bytes, to, is_event};
    memcpy(head + 1, packet, n_bytes);
    smp_store_release(&host.out_head, host.out_head + pad + size);
    irq_work_queue(&host.raise);
}

static void notify(void *ctx, const u8 *packet, u32 n_bytes) {
    xcm_packet header;

    xcm_read_header(packet, &header);
    note_packet(XCM_NOTE_NOTIFY, 0, false, packet, n_bytes);
    put_out(host.is_submitting ? host.submitted : host.pending, header.op == XCM_EVENT_OP, packet, n_bytes);
}

static void raise_sending(struct irq_work *work) { queue_work(host.senders, &host.sending); }

static const struct genl_multicast_group groups[] = {{.name = XCM_GENL_EVENTS}};
static struct genl_family family;

static void send_packet(const struct out_head *head, const u8 *packet) {
    struct sk_buff *skb = genlmsg_new(nla_total_size(head->n_bytes), GFP_KERNEL);
    void *message;

    if (!skb)
        return; // the client's wait ends in time
    message = genlmsg_put(skb, head->is_event ? 0 : head->to.portid, head->is_event ? 0 : head->to.seq, &family, 0, XCM_GENL_PACKET);
    if (!message || nla_put(skb, XCM_GENL_BYTES, head->n_bytes, packet)) {
        nlmsg_free(skb);
        return;
    }
    genlmsg_end(skb, message);
    if (head->is_event)
        genlmsg_multicast(&family, skb, 0, 0, GFP_KERNEL);
    else
        genlmsg_unicast(&init_net, skb, head->to.portid);
}

static void send_all(struct work_struct *work) {
    while (host.out_tail != smp_load_acquire(&host.out_head)) {
        const u32 offset = host.out_tail % OUT_BYTES;
        const struct out_head *head = (const struct out_head *)(host.out + offset);

        if (head->n_bytes == 0) {
            smp_store_release(&host.out_tail, host.out_tail + OUT_BYTES - offset);
            continue;
        }
        send_packet(head, (const u8 *)(head + 1));
        smp_store_release(&host.out_tail, host.out_tail + (u32)(sizeof *head + ALIGN(head->n_bytes, 16)));
    }
    wake_up_interruptible(&host.readers);
}

// -- The thread, on the debugger core.

// The timer of the budget runs on the same core: either it or the thread is in the monitor.
static void enter_core(void) {
    preempt_disable();
    WRITE_ONCE(host.is_in_core, true);
    barrier();
}
static void leave_core(void) {
    const bool is_halted = xcm_state_of(host.monitor) == XCM_HALTED;

    barrier();
    WRITE_ONCE(host.is_in_core, false);
    if (is_halted && !host.is_halted)
        hrtimer_start(&host.timer, ns_to_ktime(budget_ms * (u64)NSEC_PER_MSEC), HRTIMER_MODE_REL_PINNED_HARD);
    host.is_halted = is_halted;
    preempt_enable();
}

static enum hrtimer_restart expire(struct hrtimer *timer) {
    if (!READ_ONCE(host.is_in_core)) { // else the tick that goes on minds the budget itself
        if (xcm_state_of(host.monitor) != XCM_HALTED)
            return HRTIMER_NORESTART;
        host.expiry_ns = ktime_get_mono_fast_ns();
        note(XCM_NOTE_EXPIRE, 0, 0, 0, host.expiry_ns);
        xcm_expire(host.monitor);
        if (xcm_state_of(host.monitor) != XCM_HALTED)
            return HRTIMER_NORESTART;
    }
    hrtimer_forward_now(timer, ns_to_ktime(EXPIRE_AGAIN_NS));
    return HRTIMER_RESTART;
}

static bool is_listening(void) { return (xcm_state_of(host.monitor) & (XCM_LISTENING | XCM_HALTED)) != 0; }
static bool has_request(void) { return host.n_taken != smp_load_acquire(&host.n_in); }

static void tick(void) {
    enter_core();
    xcm_tick(host.monitor);
    leave_core();
}

static void refuse(u16 op, xcm_code code) {
    u8 packet[XCM_HEADER_BYTES];

    put_out(host.submitted, false, packet, xcm_seal(packet, XCM_REPLY, op, code, xcm_state_of(host.monitor), 0));
}

static void submit(const struct request *r) {
    const bool was_busy = xcm_is_busy(host.monitor);

    host.submitted = (struct route){r->portid, r->seq};
    enter_core();
    host.is_submitting = true;
    note_packet(XCM_NOTE_SUBMIT, r->owner, r->is_privileged, r->packet, r->n_bytes);
    xcm_submit(host.monitor, r->packet, r->n_bytes, r->owner, r->is_privileged);
    host.is_submitting = false;
    if (!was_busy && xcm_is_busy(host.monitor))
        host.pending = host.submitted;
    leave_core();
}

// No core comes or goes during an attach.
static void take_request(void) {
    const struct request *r = &host.requests[host.n_taken % N_REQUESTS];
    xcm_packet header;

    if (xcm_check_packet(r->packet, r->n_bytes, XCM_GET, &header) == XCM_DONE && header.op == xcm_op_code(XCM_LISTEN_START)) {
        cpus_read_lock();
        if (cpu_online(target)) {
            submit(r);
            tick();
        } else {
            host.submitted = (struct route){r->portid, r->seq};
            refuse(header.op, XCM_LOST);
        }
        cpus_read_unlock();
    } else {
        submit(r);
    }
    smp_store_release(&host.n_taken, host.n_taken + 1);
}

static void serve_control(void) {
    const enum control control = READ_ONCE(host.control);

    if (control == CONTROL_NONE)
        return;
    enter_core();
    if (control == CONTROL_OPEN) {
        host.n_notes = 0;
        host.n_dropped = 0;
        note(XCM_NOTE_INIT, 0, kernel, budget_ms, host.mpidr);
        xcm_init(host.monitor, &host.config); // which held for the same configuration before
        note(XCM_NOTE_OWNER, 0, 0, 0, host.owner);
        xcm_set_owner(host.monitor, host.owner);
    } else {
        note(XCM_NOTE_DIED, 0, 0, 0, 0);
        xcm_owner_died(host.monitor);
        xcm_set_owner(host.monitor, NOBODY);
    }
    leave_core();
    WRITE_ONCE(host.control, CONTROL_NONE);
    complete(&host.controlled);
}

static int run(void *unused) {
    while (!kthread_should_stop()) {
        const bool is_busy = is_listening() || xcm_is_busy(host.monitor);

        if (!is_busy)
            wait_event_idle(host.wake, kthread_should_stop() || has_request() || READ_ONCE(host.control) != CONTROL_NONE);
        serve_control();
        if (has_request())
            take_request();
        tick();
        if (is_listening()) {
            ndelay(POLL_NS);
            cond_resched();
        }
    }
    enter_core();
    xcm_owner_died(host.monitor);
    leave_core();
    return 0;
}

// -- Packets that come, in the context of their senders, one after the other.

// An array at an address of the sender is copied behind the header.
static void take_elements(struct request *r) {
    xcm_packet header;

    xcm_read_header(r->packet, &header);
    if (r->n_bytes != XCM_HEADER_BYTES || header.length != XCM_HEADER_BYTES || header.list < 4096 || header.n_elements == 0 ||
        header.n_elements > XCM_ELEMENTS || header.direction != XCM_GET || header.reserved != 0 || header.code != 0 || header.state != 0 ||
        header.checksum != xcm_checksum(r->packet, r->n_bytes))
        return; // the monitor says which of it is wrong
    if (copy_from_user(r->packet + XCM_HEADER_BYTES, (const void __user *)(uintptr_t)header.list, header.n_elements * 8))
        header.n_elements = 0;
    r->n_bytes = xcm_seal(r->packet, XCM_GET, header.op, 0, 0, header.n_elements);
}

static int receive(struct sk_buff *skb, struct genl_info *info) {
    const u32 n_in = host.n_in;
    struct nlattr *bytes = info->attrs[XCM_GENL_BYTES];
    struct request *r = &host.requests[n_in % N_REQUESTS];

    if (!bytes)
        return -EINVAL;
    if (n_in - smp_load_acquire(&host.n_taken) == N_REQUESTS)
        return -EBUSY;
    r->portid = info->snd_portid;
    r->seq = info->snd_seq;
    r->owner = current->tgid;
    r->is_privileged = netlink_capable(skb, CAP_SYS_ADMIN);
    r->n_bytes = nla_len(bytes);
    memcpy(r->packet, nla_data(bytes), r->n_bytes);
    if (r->n_bytes == XCM_HEADER_BYTES)
        take_elements(r);
    smp_store_release(&host.n_in, n_in + 1);
    wake_up(&host.wake);
    return 0;
}

static const struct nla_policy policy[] = {[XCM_GENL_BYTES] = {.type = NLA_BINARY, .len = XCM_PACKET_BYTES}};
static const struct genl_ops operations[] = {{.cmd = XCM_GENL_PACKET, .flags = GENL_ADMIN_PERM, .doit = receive}};
static struct genl_family family = {
    .name = XCM_GENL_FAMILY,
    .version = 1,
    .maxattr = XCM_GENL_BYTES,
    .policy = policy,
    .ops = operations,
    .n_ops = ARRAY_SIZE(operations),
    .mcgrps = groups,
    .n_mcgrps = ARRAY_SIZE(groups),
    .module = THIS_MODULE,
};

// -- The device.

static void control_thread(enum control control) {
    reinit_completion(&host.controlled);
    WRITE_ONCE(host.control, control);
    wake_up(&host.wake);
    wait_for_completion(&host.controlled);
}

// A descriptor of an ended session has no rights left. The answer holds as long as the caller holds
// host.opening.
static bool is_of_session(const struct file *file) {
    return READ_ONCE(host.is_open) && file->private_data == (void *)READ_ONCE(host.session);
}

static int open_device(struct inode *inode, struct file *file) {
    int error = 0;

    if (!capable(CAP_SYS_ADMIN))
        return -EPERM;
    mutex_lock(&host.opening);
    if (host.is_open) {
        error = -EBUSY;
    } else {
        host.is_open = true;
        host.owner = current->tgid;
        file->private_data = (void *)++host.session;
        host.has_no_idle = dev_pm_qos_add_request(get_cpu_device(target), &host.no_idle, DEV_PM_QOS_RESUME_LATENCY, 0) >= 0;
        control_thread(CONTROL_OPEN);
    }
    mutex_unlock(&host.opening);
    return error;
}

// An owner that has gone gives the target back, also when a child of it still has the device open.
// Mappings of the ring end with the session.
static void end_session(const struct file *file) {
    mutex_lock(&host.opening);
    if (is_of_session(file)) {
        control_thread(CONTROL_CLOSE);
        if (host.has_no_idle)
            dev_pm_qos_remove_request(&host.no_idle);
        host.is_open = false;
        unmap_mapping_range(file->f_mapping, 0, 0, 1);
    }
    mutex_unlock(&host.opening);
}

static int flush_device(struct file *file, fl_owner_t id) {
    if (current->tgid == host.owner)
        end_session(file);
    return 0;
}

static int release_device(struct inode *inode, struct file *file) {
    end_session(file);
    return 0;
}

// Pages are mapped one by one, so that none of them outlives the session.
static vm_fault_t map_page(struct vm_fault *vmf) {
    struct page *page = vmalloc_to_page(host.ring + (vmf->pgoff << PAGE_SHIFT));
    vm_fault_t result = VM_FAULT_SIGBUS;

    mutex_lock(&host.opening);
    if (is_of_session(vmf->vma->vm_file))
        result = vmf_insert_page(vmf->vma, vmf->address & PAGE_MASK, page);
    mutex_unlock(&host.opening);
    return result;
}

static const struct vm_operations_struct ring_pages = {.fault = map_page};

// The header page may be written, the data may not.
static int map_ring(struct file *file, struct vm_area_struct *vma) {
    const unsigned long bytes = vma->vm_end - vma->vm_start, offset = vma->vm_pgoff << PAGE_SHIFT;
    bool is_ours;

    mutex_lock(&host.opening);
    is_ours = is_of_session(file);
    mutex_unlock(&host.opening);
    if (!is_ours)
        return -ENODEV;
    if (!(vma->vm_flags & VM_SHARED) || (offset == 0 && bytes != PAGE_SIZE) || offset > host.ring_bytes || bytes > host.ring_bytes - offset)
        return -EINVAL;
    if (offset != 0) {
        if (offset != XCM_RING_HEADER_BYTES)
            return -EINVAL;
        if (vma->vm_flags & VM_WRITE)
            return -EPERM;
        vma->vm_flags &= ~VM_MAYWRITE;
    }
    vma->vm_flags |= VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP;
    vma->vm_ops = &ring_pages;
    return 0;
}

static __poll_t poll_ring(struct file *file, poll_table *table) {
    enum { AT_HEAD = 16, AT_TAIL = 64 };

    poll_wait(file, &host.readers, table);
    if (!is_of_session(file))
        return EPOLLERR | EPOLLHUP;
    return READ_ONCE(*(u64 *)(host.ring + AT_HEAD)) != READ_ONCE(*(u64 *)(host.ring + AT_TAIL)) ? EPOLLIN | EPOLLRDNORM : 0;
}

static ssize_t read_transcript(struct file *file, char __user *to, size_t bytes, loff_t *at) {
    if (!is_of_session(file))
        return -ENODEV;
    return simple_read_from_buffer(to, bytes, at, host.notes, host.n_notes * sizeof(*host.notes));
}

static const struct file_operations device_operations = {
    .owner = THIS_MODULE,
    .open = open_device,
    .flush = flush_device,
    .release = release_device,
    .mmap = map_ring,
    .poll = poll_ring,
    .read = read_transcript,
    .llseek = default_llseek,
};
static char device_name[16];
static struct miscdevice device = {.minor = MISC_DYNAMIC_MINOR, .name = device_name, .fops = &device_operations, .mode = 0600};

// -- Hotplug: the thread's core stays, and the target's while somebody listens.

static int veto_offline(unsigned int cpu) { return cpu == debugger || (cpu == target && is_listening()) ? -EBUSY : 0; }

// -- Load and unload.

static int check_parameters(void) {
    const char *why = NULL;

    if (target < 0 || debugger < 0)
        why = "parameters target and debugger must name two cores";
    else if (target == debugger)
        why = "a core cannot halt itself: target and debugger must be two cores";
    else if (target >= nr_cpu_ids || !cpu_possible(target) || debugger >= nr_cpu_ids || !cpu_possible(debugger))
        why = "target or debugger is no core of this machine";
    else if (!cpu_online(debugger) || !cpu_online(target))
        why = "target or debugger is offline; write 1 to its file `online` first";
    else if (budget_ms < 1 || budget_ms > 1000)
        why = "budget_ms must be 1 to 1000";
    else if (ring_kib < 64 || ring_kib > 65536 || !is_power_of_2(ring_kib))
        why = "ring_kib must be a power of two, 64 to 65536";
    else if (transcript > 1 << 24)
        why = "transcript must be at most 16777216";
    if (!why)
        return 0;
    pr_err("xcm: %s\n", why);
    return -EINVAL;
}

static void unmap_blocks(void) {
    int block;

    for (block = 0; block < XCM_N_BLOCKS; block++) {
        if (!host.windows[block])
            continue;
        iounmap(host.windows[block]);
        release_mem_region(host.blocks.base[block], PAGE_SIZE);
    }
}

static int map_blocks(void) {
    int block, error;

    host.blocks = (struct xcm_blocks){{debug_base, cti_base, pmu_base}};
    error = xcm_find_blocks(target, host.mpidr, rom, &host.blocks);
    if (error)
        return error;
    for (block = 0; block < XCM_N_BLOCKS; block++) {
        const phys_addr_t base = host.blocks.base[block];

        if (!request_mem_region(base, PAGE_SIZE, "xcm")) {
            pr_err("xcm: a driver owns the block at %pa; boot with initcall_blacklist=debug_driver_init,cti_init, or unbind it\n", &base);
            return -EBUSY;
        }
        host.windows[block] = ioremap(base, PAGE_SIZE);
        if (!host.windows[block]) {
            release_mem_region(base, PAGE_SIZE);
            return -ENOMEM;
        }
    }
    return xcm_verify_blocks(host.mpidr, host.windows, &host.blocks);
}

static int allocate(void) {
    host.ring_bytes = XCM_RING_HEADER_BYTES + (size_t)ring_kib * 1024;
    host.monitor = vzalloc(xcm_bytes());
    host.ring = vmalloc_user(host.ring_bytes);
    host.list = vzalloc(LIST * sizeof *host.list);
    host.hash = vzalloc(HASH * sizeof *host.hash);
    host.programs = vzalloc(PROGRAM_WORDS * sizeof *host.programs);
    host.requests = vzalloc(N_REQUESTS * sizeof *host.requests);
    host.out = vzalloc(OUT_BYTES);
    host.notes = transcript ? vzalloc(transcript * sizeof *host.notes) : NULL;
    host.senders = alloc_workqueue("xcm", WQ_UNBOUND | WQ_HIGHPRI, 1);
    if (!host.monitor || !host.ring || !host.list || !host.hash || !host.programs || !host.requests || !host.out ||
        (transcript && !host.notes) || !host.senders)
        return -ENOMEM;
    host.host = (xcm_host){.rd32 = rd32,
                           .wr32 = wr32,
                           .now_ns = now_ns,
                           .relax = relax,
                           .run_on_target = run_on_target,
                           .notify = notify,
                           .record = transcript ? record : NULL};
    host.config = (xcm_config){.host = &host.host,
                               .mpidr = host.mpidr,
                               .budget_ns = budget_ms * (u64)NSEC_PER_MSEC,
                               .may_halt_kernel = kernel,
                               .ring = host.ring,
                               .ring_bytes = (u64)ring_kib * 1024,
                               .list = host.list,
                               .list_capacity = LIST,
                               .hash = host.hash,
                               .hash_capacity = HASH,
                               .programs = host.programs,
                               .program_words = PROGRAM_WORDS};
    if (!xcm_init(host.monitor, &host.config))
        return -EINVAL;
    xcm_set_owner(host.monitor, NOBODY);
    return 0;
}

static void free_all(void) {
    if (host.senders)
        destroy_workqueue(host.senders);
    unmap_blocks();
    vfree(host.notes);
    vfree(host.out);
    vfree(host.requests);
    vfree(host.programs);
    vfree(host.hash);
    vfree(host.list);
    vfree(host.ring);
    vfree(host.monitor);
}

static int start_watching(void) {
    host.thread = kthread_create(run, NULL, "xcm/%d", target);
    if (IS_ERR(host.thread))
        return PTR_ERR(host.thread);
    kthread_bind(host.thread, debugger);
    wake_up_process(host.thread);
    return 0;
}

static int __init xcm_load(void) {
    int error = check_parameters();

    if (error)
        return error;
    init_waitqueue_head(&host.wake);
    init_waitqueue_head(&host.readers);
    mutex_init(&host.opening);
    init_completion(&host.controlled);
    init_irq_work(&host.raise, raise_sending);
    INIT_WORK(&host.sending, send_all);
    INIT_CSD(&host.csd, flush_here, NULL);
    host.has_routine_run = true;
    hrtimer_init(&host.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
    host.timer.function = expire;
    host.last_block = XCM_N_BLOCKS;
    snprintf(device_name, sizeof device_name, "xcm%d", target);

    error = xcm_affinity_of(target, &host.mpidr);
    if (error) {
        pr_err("xcm: core %d went offline; write 1 to its file `online` first\n", target);
        return error;
    }
    error = map_blocks();
    if (error == 0)
        error = allocate();
    if (error)
        goto no_thread;
    error = start_watching();
    if (error)
        goto no_thread;
    host.hotplug = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "xcm", NULL, veto_offline);
    if (host.hotplug < 0) {
        error = host.hotplug;
        goto no_hotplug;
    }
    error = genl_register_family(&family);
    if (error)
        goto no_family;
    error = misc_register(&device);
    if (error)
        goto no_device;
    pr_info("xcm: core %d watches core %d: debug %pa, CTI %pa, PMU %pa\n", debugger, target, &host.blocks.base[XCM_DBG],
            &host.blocks.base[XCM_CTI], &host.blocks.base[XCM_PMU]);
    return 0;

no_device:
    genl_unregister_family(&family);
no_family:
    cpuhp_remove_state_nocalls(host.hotplug);
no_hotplug:
    kthread_stop(host.thread);
    irq_work_sync(&host.raise); // a packet may have been answered before the device was refused
no_thread:
    free_all();
    return error;
}

// Nobody has the device open, and no flush is asked for: both hold the module. A target that has
// been lost answers no call.
static void __exit xcm_unload(void) {
    misc_deregister(&device);
    genl_unregister_family(&family);
    kthread_stop(host.thread);
    cpuhp_remove_state_nocalls(host.hotplug);
    hrtimer_cancel(&host.timer);
    irq_work_sync(&host.raise);
    synchronize_rcu(); // flush_here has returned
    free_all();
}

module_init(xcm_load);
module_exit(xcm_unload);
MODULE_DESCRIPTION("Cross-core monitor: one core halts, inspects and restarts another one");
MODULE_AUTHOR("The Tally authors");
MODULE_LICENSE("Dual MIT/GPL");
