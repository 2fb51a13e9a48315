// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "linux/test_rig.h"

enum { PAGE = TL_PAGE_BYTES, RW = TL_PROT_READ | TL_PROT_WRITE };
static const uint64_t AT = UINT64_C(0x100000);

// Entries of another kind: VMSAv8-64, 4 KiB granules (Arm DDI 0487, sec. D8.3). A bit takes the
// right to write or to execute away. Every test runs with both formats.
static const tl_page_format vmsa = {
    .ppn_lsb = 12,
    .ppn_bits = 36,
    .valid = 1,
    .table = 3,
    .page = UINT64_C(3) << 8 | 1 << 10 | 1 << 11 | UINT64_C(1) << 53 | 3, // SH, AF, nG, PXN, page
    .held = UINT64_C(1) << 55,
    .used = UINT64_C(1) << 51, // DBM
    .read = {1 << 6, 1 << 6},  // AP[1]
    .write = {1 << 7, 0},      // AP[2]
    .execute = {UINT64_C(1) << 54, 0},
    .context = 0,
    .context_shift = 0,
};
static tl_os_isa row; // of the machine's own instruction set, with the format under test

static tl_os *os_new(void) {
    tl_os *os = tl_test_os_new(16 << 20);
    if (row.page_format)
        os->isa = &row;
    return os;
}

static int64_t map_at(tl_vm *vm, uint64_t vaddr, uint64_t bytes, uint8_t prot) {
    const tl_map map = {.vaddr = vaddr, .bytes = bytes, .prot = prot, .max_prot = 7, .kind = TL_VMA_ANON, .flags = TL_MAP_FIXED};
    return tl_vm_map(vm, &map);
}

static uint8_t byte_at(tl_vm *vm, uint64_t vaddr) {
    size_t n;
    const uint8_t *host = tl_vm_space_span(vm, vaddr, 1, false, &n);
    assert_non_null(host);
    return *host;
}

static uint64_t paddr_of(const tl_vm *vm, uint64_t vaddr) {
    const uint64_t *pte = tl_vm_pte(vm, vaddr);
    assert_true(pte && tl_pte_is_valid(vm->format, *pte));
    return tl_pte_paddr(vm->format, *pte);
}

static void test_pages_are_placed_in_the_order_of_first_touch(void **state) {
    (void)state;
    tl_os *os = os_new();
    tl_vm *vm = tl_vm_new(os);
    assert_int_equal(map_at(vm, AT, 5 * PAGE, RW), AT);
    assert_int_equal(tl_vm_resident_bytes(vm), 0);
    assert_int_equal(tl_vm_fault(vm, AT + 3 * PAGE + 7, TL_VM_WRITE), TL_VM_FAULT_ZERO);
    assert_int_equal(tl_vm_fault(vm, AT + 1 * PAGE, TL_VM_READ), TL_VM_FAULT_ZERO);
    // The root, two lower tables, then the pages.
    assert_int_equal(paddr_of(vm, AT + 3 * PAGE), TL_RAM_BASE_PADDR + 3 * PAGE);
    assert_int_equal(paddr_of(vm, AT + 1 * PAGE), TL_RAM_BASE_PADDR + 4 * PAGE);
    assert_int_equal(tl_vm_resident_bytes(vm), 2 * PAGE);
    tl_vm_unref(vm);
    assert_int_equal(tl_frames_used(os->frames), 0);
    tl_test_os_free(os);
}

static void test_a_page_used_again_is_zero(void **state) {
    (void)state;
    tl_os *os = os_new();
    tl_vm *vm = tl_vm_new(os);
    map_at(vm, AT, PAGE, RW);
    assert_true(tl_vm_space_write(vm, AT + 11, "x", 1));
    uint64_t paddr = paddr_of(vm, AT);
    assert_int_equal(tl_vm_unmap(vm, AT, AT + PAGE), 0);
    map_at(vm, AT, PAGE, RW);
    assert_int_equal(byte_at(vm, AT + 11), 0);
    assert_int_equal(paddr_of(vm, AT), paddr); // the page freed last is the next
    tl_vm_unref(vm);
    tl_test_os_free(os);
}

static void test_a_fork_shares_pages_until_one_side_writes(void **state) {
    (void)state;
    tl_os *os = os_new();
    tl_vm *parent = tl_vm_new(os);
    map_at(parent, AT, 2 * PAGE, RW);
    tl_vm_space_write(parent, AT, "ab", 2);
    tl_vm_space_write(parent, AT + PAGE, "cd", 2);
    tl_vm *child = tl_vm_fork(parent);
    assert_non_null(child);
    assert_int_equal(paddr_of(child, AT), paddr_of(parent, AT));
    assert_int_equal(tl_vm_fault(child, AT, TL_VM_WRITE), TL_VM_FAULT_COW);
    assert_int_not_equal(paddr_of(child, AT), paddr_of(parent, AT));
    tl_vm_space_write(child, AT, "X", 1);
    assert_int_equal(byte_at(parent, AT), 'a');
    assert_int_equal(byte_at(child, AT + 1), 'b');
    // The other side is alone now: its write needs no copy.
    assert_int_equal(tl_vm_fault(parent, AT, TL_VM_WRITE), TL_VM_FAULT_MAP);
    assert_int_equal(paddr_of(child, AT + PAGE), paddr_of(parent, AT + PAGE));
    tl_vm_unref(parent);
    assert_int_equal(byte_at(child, AT + PAGE), 'c');
    tl_vm_unref(child);
    assert_int_equal(tl_frames_used(os->frames), 0);
    tl_test_os_free(os);
}

static void test_protection_is_obeyed_and_keeps_the_bytes(void **state) {
    (void)state;
    tl_os *os = os_new();
    tl_vm *vm = tl_vm_new(os);
    map_at(vm, AT, 3 * PAGE, RW);
    tl_vm_space_write(vm, AT + PAGE, "q", 1);
    assert_int_equal(tl_vm_protect(vm, AT + PAGE, AT + 2 * PAGE, 0), 0);
    assert_int_equal(tl_vm_fault(vm, AT + PAGE, TL_VM_READ), TL_VM_FAULT_DENIED);
    assert_int_equal(tl_vm_fault(vm, AT, TL_VM_EXEC), TL_VM_FAULT_DENIED);
    assert_int_equal(tl_vm_fault(vm, AT + 3 * PAGE, TL_VM_READ), TL_VM_FAULT_NO_AREA);
    assert_false(tl_vm_space_write(vm, AT + PAGE, "r", 1));
    assert_int_equal(tl_vm_protect(vm, AT, AT + 3 * PAGE, TL_PROT_READ), 0);
    assert_int_equal(byte_at(vm, AT + PAGE), 'q');
    assert_int_equal(tl_vm_fault(vm, AT + PAGE, TL_VM_WRITE), TL_VM_FAULT_DENIED);
    assert_null(tl_vm_first(vm)->next); // equal neighbors are one area again
    assert_int_equal(tl_vm_protect(vm, AT, AT + 4 * PAGE, RW), -ENOMEM);
    tl_vm_unref(vm);
    tl_test_os_free(os);
}

static void test_a_stack_grows_to_its_limit_and_no_further(void **state) {
    (void)state;
    tl_os *os = os_new();
    tl_vm *vm = tl_vm_new(os);
    const tl_map map = {
        .vaddr = TL_STACK_TOP - PAGE, .bytes = PAGE, .prot = RW, .max_prot = 7, .kind = TL_VMA_STACK, .flags = TL_MAP_FIXED};
    assert_int_equal(tl_vm_map(vm, &map), TL_STACK_TOP - PAGE);
    vm->stack_limit_bytes = 5 * PAGE;
    assert_int_equal(tl_vm_fault(vm, TL_STACK_TOP - 5 * PAGE, TL_VM_WRITE), TL_VM_FAULT_ZERO);
    assert_int_equal(tl_vm_mapped_bytes(vm), 5 * PAGE);
    assert_int_equal(tl_vm_fault(vm, TL_STACK_TOP - 5 * PAGE - 1, TL_VM_WRITE), TL_VM_FAULT_STACK_LIMIT);
    assert_int_equal(tl_vm_fault(vm, AT, TL_VM_WRITE), TL_VM_FAULT_NO_AREA);
    tl_vm_unref(vm);
    tl_test_os_free(os);
}

static void test_a_moved_area_keeps_its_bytes(void **state) {
    (void)state;
    tl_os *os = os_new();
    tl_vm *vm = tl_vm_new(os);
    map_at(vm, AT, 2 * PAGE, RW);
    map_at(vm, AT + 2 * PAGE, PAGE, TL_PROT_READ); // in the way of growing
    tl_vm_space_write(vm, AT + PAGE, "m", 1);
    assert_int_equal(tl_vm_remap(vm, AT, 2 * PAGE, 4 * PAGE, false, 0, false), -ENOMEM);
    int64_t moved = tl_vm_remap(vm, AT, 2 * PAGE, 4 * PAGE, true, 0, false);
    assert_true(moved > 0);
    assert_int_equal(byte_at(vm, (uint64_t)moved + PAGE), 'm');
    assert_int_equal(byte_at(vm, (uint64_t)moved + 3 * PAGE), 0);
    assert_null(tl_vm_find(vm, AT));
    assert_int_equal(tl_vm_mapped_bytes(vm), 5 * PAGE);
    tl_vm_unref(vm);
    tl_test_os_free(os);
}

static void test_full_ram_is_said_and_everything_comes_back(void **state) {
    (void)state;
    tl_os *os = os_new();
    tl_vm *vm = tl_vm_new(os);
    map_at(vm, AT, 32 << 20, RW);
    uint64_t at = AT;
    while (tl_vm_fault(vm, at, TL_VM_WRITE) == TL_VM_FAULT_ZERO)
        at += PAGE;
    assert_int_equal(tl_vm_fault(vm, at, TL_VM_WRITE), TL_VM_FAULT_NO_MEMORY);
    assert_true(vm->is_out_of_memory);
    assert_int_equal(tl_frames_used(os->frames), 4096);
    assert_null(tl_vm_fork(vm));
    assert_int_equal(tl_frames_used(os->frames), 4096);
    tl_vm_unref(vm);
    assert_int_equal(tl_frames_used(os->frames), 0);
    tl_test_os_free(os);
}

static void test_a_string_is_read_up_to_the_end_of_what_is_mapped(void **state) {
    (void)state;
    tl_os *os = os_new();
    tl_process p = {.os = os, .vm = tl_vm_new(os)};
    char text[16];
    map_at(p.vm, AT, 2 * PAGE, RW);
    assert_true(tl_vm_write(&p, AT + PAGE - 3, "across", 7));
    assert_int_equal(tl_vm_read_string(&p, AT + PAGE - 3, text, sizeof text), 6);
    assert_string_equal(text, "across");
    assert_int_equal(tl_vm_read_string(&p, AT + PAGE - 3, text, 6), -ENAMETOOLONG);
    memset(text, 'z', sizeof text);
    assert_true(tl_vm_write(&p, AT + 2 * PAGE - 16, text, 16));
    assert_int_equal(tl_vm_read_string(&p, AT + 2 * PAGE - 4, text, sizeof text), -EFAULT);
    assert_int_equal(tl_vm_read_string(&p, UINT64_MAX - 2, text, sizeof text), -EFAULT);
    tl_vm_unref(p.vm);
    tl_test_os_free(os);
}

static void test_guest_vectors_become_host_spans(void **state) {
    (void)state;
    tl_os *os = os_new();
    tl_process p = {.os = os, .vm = tl_vm_new(os)};
    struct iovec spans[8];
    size_t n_bytes;
    map_at(p.vm, AT, 4 * PAGE, RW);
    const uint64_t vectors[] = {AT + PAGE, 7, AT + 2 * PAGE, 0, AT + 3 * PAGE - 5, 11};
    assert_true(tl_vm_write(&p, AT, vectors, sizeof vectors));
    tl_vm_fault(p.vm, AT + 3 * PAGE, TL_VM_WRITE); // before its lower neighbor: not contiguous
    assert_int_equal(tl_vm_import_iov(&p, AT, 3, 1000, true, spans, 8, &n_bytes), 3);
    assert_int_equal(n_bytes, 18);
    assert_int_equal(spans[0].iov_len, 7);
    assert_int_equal(spans[1].iov_len, 5);
    assert_int_equal(spans[2].iov_len, 6);
    assert_int_equal(tl_vm_import_iov(&p, AT, 3, 9, true, spans, 8, &n_bytes), 2);
    assert_int_equal(n_bytes, 9);
    assert_int_equal(tl_vm_import_iov(&p, AT, 1025, 9, true, spans, 8, &n_bytes), -EINVAL);
    assert_int_equal(tl_vm_import_iov(&p, AT + 8 * PAGE, 1, 9, true, spans, 8, &n_bytes), -EFAULT);
    tl_vm_unref(p.vm);
    tl_test_os_free(os);
}

// ---- Against a plain model: one byte and one protection per page.

enum { N_PAGES = 64, N_STEPS = 20000 };

typedef struct model {
    bool is_mapped[N_PAGES];
    uint8_t prot[N_PAGES], value[N_PAGES];
} model;

static uint32_t pick(uint64_t *random, uint32_t below) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint32_t)(*random >> 32) % below;
}

static void compare(tl_vm *vm, const model *m) {
    uint64_t n_mapped = 0;
    for (uint32_t i = 0; i < N_PAGES; ++i) {
        const tl_vma *area = tl_vm_find(vm, AT + i * (uint64_t)PAGE);
        assert_int_equal(area != NULL, m->is_mapped[i]);
        n_mapped += m->is_mapped[i];
        if (!area)
            continue;
        assert_int_equal(area->prot, m->prot[i]);
        if (m->prot[i] & RW)
            assert_int_equal(byte_at(vm, AT + i * (uint64_t)PAGE + 5), m->value[i]);
    }
    assert_int_equal(tl_vm_mapped_bytes(vm), n_mapped * PAGE);
}

static void step(tl_vm **vm, model *m, uint64_t *random) {
    static const uint8_t prots[] = {0, TL_PROT_READ, RW, TL_PROT_READ | TL_PROT_EXEC, RW | TL_PROT_EXEC};
    uint32_t first = pick(random, N_PAGES), n = 1 + pick(random, N_PAGES - first < 9 ? N_PAGES - first : 9);
    uint64_t start = AT + first * (uint64_t)PAGE, end = start + n * (uint64_t)PAGE;
    uint8_t prot = prots[pick(random, 5)], value = (uint8_t)pick(random, 256);
    bool is_whole = true;
    for (uint32_t i = first; i < first + n; ++i)
        is_whole = is_whole && m->is_mapped[i];
    switch (pick(random, 8)) {
    case 0:
        assert_int_equal(map_at(*vm, start, end - start, prot), start);
        for (uint32_t i = first; i < first + n; ++i) {
            m->is_mapped[i] = true;
            m->prot[i] = prot;
            m->value[i] = 0;
        }
        break;
    case 1:
        assert_int_equal(tl_vm_unmap(*vm, start, end), 0);
        memset(m->is_mapped + first, 0, n);
        break;
    case 2:
        assert_int_equal(tl_vm_protect(*vm, start, end, prot), is_whole ? 0 : -ENOMEM);
        if (is_whole)
            memset(m->prot + first, prot, n);
        break;
    case 3:
        tl_vm_zap(*vm, start, end);
        memset(m->value + first, 0, n);
        break;
    case 4: { // the child goes on, the parent dies
        tl_vm *child = tl_vm_fork(*vm);
        assert_non_null(child);
        compare(*vm, m);
        if (pick(random, 2)) {
            tl_vm_unref(*vm);
            *vm = child;
        } else {
            tl_vm_unref(child);
        }
        break;
    }
    default: {
        bool may_write = m->is_mapped[first] && (m->prot[first] & TL_PROT_WRITE);
        assert_int_equal(tl_vm_space_write(*vm, start + 5, &value, 1), may_write);
        if (may_write)
            m->value[first] = value;
        break;
    }
    }
}

static void test_random_changes_agree_with_a_plain_model(void **state) {
    (void)state;
    tl_os *os = os_new();
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        uint64_t random = seed * 0x9e3779b9;
        tl_vm *vm = tl_vm_new(os);
        model m = {0};
        for (int i = 0; i < N_STEPS; ++i) {
            step(&vm, &m, &random);
            if (i % 7 == 0)
                compare(vm, &m);
        }
        tl_vm_unref(vm);
        assert_int_equal(tl_frames_used(os->frames), 0);
    }
    tl_test_os_free(os);
}

// ---- Areas against a list that is walked.

static uint64_t naive_room(const tl_vm *vm, uint64_t bytes) {
    uint64_t best = 0, free_start = TL_MMAP_MIN;
    for (const tl_vma *area = tl_vm_first(vm);; area = area->next) {
        uint64_t free_end = area && area->start < vm->mmap_top ? area->start : vm->mmap_top;
        if (area && area->kind == TL_VMA_STACK && free_end > free_start)
            free_end = free_end - free_start > TL_STACK_GUARD ? free_end - TL_STACK_GUARD : free_start;
        if (free_end > free_start && free_end - free_start >= bytes)
            best = free_end - bytes;
        if (!area || area->end >= vm->mmap_top)
            return best;
        if (area->end > free_start)
            free_start = area->end;
    }
}

static const tl_vma *naive_after(const tl_vm *vm, uint64_t vaddr) {
    const tl_vma *area = tl_vm_first(vm);
    while (area && area->end <= vaddr)
        area = area->next;
    return area;
}

static void test_areas_and_room_are_found_as_by_walking(void **state) {
    (void)state;
    enum { N_ROOM = 600 };
    tl_os *os = os_new();
    uint64_t random = 4711;
    for (int round = 0; round < 6; round++) {
        tl_vm *vm = tl_vm_new(os);
        uint64_t low = round % 2 ? 0 : TL_MMAP_MIN - 40 * PAGE;
        low = low ? low : AT;
        vm->mmap_top = low + (round < 3 ? N_ROOM : N_ROOM / 2 + (uint64_t)round) * PAGE;
        for (int step = 0; step < 1500; step++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            uint64_t from = low + (random >> 40) % N_ROOM * PAGE, n = 1 + (random >> 33) % 23;
            uint8_t prot = random >> 61 & 1 ? RW : TL_PROT_READ;
            switch (random >> 29 & 7) {
            case 0:
            case 1: (void)tl_vm_unmap(vm, from, from + n * PAGE); break;
            case 2: (void)tl_vm_protect(vm, from, from + n * PAGE, prot); break;
            case 3: {
                tl_map stack = {.vaddr = from,
                                .bytes = PAGE,
                                .prot = RW,
                                .max_prot = 7,
                                .kind = TL_VMA_STACK,
                                .flags = TL_MAP_FIXED | TL_MAP_BELOW_MIN};
                (void)tl_vm_map(vm, &stack);
                (void)tl_vm_fault(vm, from - 2 * PAGE, TL_VM_WRITE); // grows
                break;
            }
            case 4: (void)tl_vm_remap(vm, from, PAGE, n * PAGE, random >> 60 & 1, 0, false); break;
            default: {
                tl_map map = {.vaddr = from, .bytes = n * PAGE, .prot = prot, .max_prot = 7, .flags = TL_MAP_FIXED | TL_MAP_BELOW_MIN};
                (void)tl_vm_map(vm, &map);
            }
            }
            for (uint64_t bytes = PAGE; bytes <= 300 * PAGE; bytes = bytes * 7 / 3 / PAGE * PAGE)
                assert_int_equal(tl_areas_find_room(vm, bytes), naive_room(vm, bytes));
            assert_ptr_equal(tl_areas_after(vm, from), naive_after(vm, from));
            assert_ptr_equal(tl_areas_after(vm, from - 1), naive_after(vm, from - 1));
            const tl_vma *before = NULL;
            uint64_t n_areas = 0, mapped = 0;
            for (const tl_vma *area = tl_vm_first(vm); area; before = area, area = area->next, n_areas++) {
                assert_true(area->start < area->end && (!before || before->end <= area->start));
                assert_ptr_equal(area->previous, before);
                mapped += area->end - area->start;
            }
            assert_int_equal(n_areas, vm->n_areas);
            assert_int_equal(mapped, tl_vm_mapped_bytes(vm));
        }
        tl_vm *child = tl_vm_fork(vm);
        assert_non_null(child);
        assert_int_equal(child->n_areas, vm->n_areas);
        assert_int_equal(tl_areas_find_room(child, 5 * PAGE), naive_room(vm, 5 * PAGE));
        tl_vm_unref(child);
        tl_vm_unref(vm);
    }
    assert_int_equal(os->account.n_bytes, 0);
    tl_test_os_free(os);
}

static void test_areas_beyond_the_account_are_refused(void **state) {
    (void)state;
    tl_os *os = os_new();
    tl_vm *vm = tl_vm_new(os);
    os->account.most_bytes = 5000;
    int n = 0;
    while (map_at(vm, AT + (uint64_t)n * 2 * PAGE, PAGE, RW) > 0)
        n++;
    assert_true(n > 10 && n < 50);
    assert_true(os->account.n_bytes <= 5000);
    // A call that needs no new area succeeds.
    assert_int_equal(tl_vm_protect(vm, AT, AT + PAGE, TL_PROT_READ), 0);
    assert_int_equal(tl_vm_unmap(vm, AT, AT + PAGE), 0);
    assert_int_equal(map_at(vm, AT, PAGE, RW), AT);
    tl_vm_unref(vm);
    assert_int_equal(os->account.n_bytes, 0);
    tl_test_os_free(os);
}

static void test_an_entry_grants_what_was_asked(void **state) {
    (void)state;
    tl_os *os = os_new();
    const tl_page_format *format = os->isa->page_format;
    static const uint64_t paddrs[] = {TL_RAM_BASE_PADDR, UINT64_C(0xffffffffff000), UINT64_C(0xa5a5a5a5a000)};
    for (size_t i = 0; i < TL_COUNT_OF(paddrs); i++) {
        uint64_t paddr = paddrs[i] & ((UINT64_C(1) << (format->ppn_bits + 12)) - 1);
        for (uint8_t prot = 0; prot < 8; prot++)
            for (int may_write = 0; may_write < 2; may_write++) {
                uint64_t pte = tl_pte_of_page(format, paddr, prot, may_write);
                assert_true(tl_pte_is_present(format, pte));
                assert_int_equal(tl_pte_is_valid(format, pte), prot != 0);
                assert_int_equal(tl_pte_paddr(format, pte), paddr);
                assert_int_equal(tl_pte_is_readable(format, pte), (prot & RW) != 0);
                assert_int_equal(tl_pte_is_writable(format, pte), may_write && (prot & TL_PROT_WRITE));
                assert_int_equal(tl_pte_is_executable(format, pte), (prot & TL_PROT_EXEC) != 0);
                assert_int_equal(pte & format->used, 0);
            }
        uint64_t table = tl_pte_of_table(format, paddr);
        assert_true(tl_pte_is_valid(format, table));
        assert_int_equal(tl_pte_paddr(format, table), paddr);
    }
    assert_false(tl_pte_is_present(format, 0));
    tl_test_os_free(os);
}

// Manual, sec. 4.4: the entry of Sv39 bit by bit.
static void test_entries_of_sv39_are_as_the_manual_has_them(void **state) {
    (void)state;
    enum { V = 1, R = 2, W = 4, X = 8, U = 16 };
    const tl_page_format *format = tl_os_rv64.page_format;
    const uint64_t paddr = UINT64_C(0x123456789a000), ppn = UINT64_C(0x123456789a) << 10;
    assert_int_equal(tl_pte_of_page(format, paddr, TL_PROT_READ, true), ppn | V | U | R);
    assert_int_equal(tl_pte_of_page(format, paddr, TL_PROT_WRITE, true), ppn | V | U | R | W);
    assert_int_equal(tl_pte_of_page(format, paddr, TL_PROT_WRITE, false), ppn | V | U | R);
    assert_int_equal(tl_pte_of_page(format, paddr, TL_PROT_EXEC, true), ppn | V | U | X);
    assert_int_equal(tl_pte_of_page(format, paddr, 7, true), ppn | V | U | R | W | X);
    assert_int_equal(tl_pte_of_page(format, paddr, 0, true) & (V | R | W | X), 0);
    assert_int_equal(tl_pte_of_table(format, paddr), ppn | V);
    assert_int_equal(tl_context_of_table(format, paddr), UINT64_C(8) << 60 | UINT64_C(0x123456789a));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_an_entry_grants_what_was_asked),
    cmocka_unit_test(test_entries_of_sv39_are_as_the_manual_has_them),
    cmocka_unit_test(test_areas_and_room_are_found_as_by_walking),
    cmocka_unit_test(test_areas_beyond_the_account_are_refused),
    cmocka_unit_test(test_pages_are_placed_in_the_order_of_first_touch),
    cmocka_unit_test(test_a_page_used_again_is_zero),
    cmocka_unit_test(test_a_fork_shares_pages_until_one_side_writes),
    cmocka_unit_test(test_protection_is_obeyed_and_keeps_the_bytes),
    cmocka_unit_test(test_a_stack_grows_to_its_limit_and_no_further),
    cmocka_unit_test(test_a_moved_area_keeps_its_bytes),
    cmocka_unit_test(test_full_ram_is_said_and_everything_comes_back),
    cmocka_unit_test(test_a_string_is_read_up_to_the_end_of_what_is_mapped),
    cmocka_unit_test(test_guest_vectors_become_host_spans),
    cmocka_unit_test(test_random_changes_agree_with_a_plain_model),
};

int main(void) {
    int n_failed = cmocka_run_group_tests_name("Sv39", tests, NULL, NULL);
    row = tl_os_rv64;
    row.page_format = &vmsa;
    n_failed += cmocka_run_group_tests_name("VMSAv8-64", tests, NULL, NULL);
    return n_failed == 0 ? 0 : 1;
}
