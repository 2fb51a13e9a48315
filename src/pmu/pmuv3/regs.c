// SPDX-License-Identifier: MIT
// Registers of PMUv3. Each stands twice: as a system register, whose address is its number
// op0:op1:CRn:CRm:op2, and in the window of the hart, whose addresses are offsets below 0x1000.
// Both rows show one state. The window adds what identifies a CoreSight component.
#include "base/bits.h"
#include "pmu/pmuv3/pmuv3.h"

static const char SYSTEM[] = "Arm ARM D12.4, Performance Monitors registers", WINDOW[] = "Arm ARM I5.3, Performance Monitors external registers",
                  CORESIGHT[] = "Arm ARM I5.3; Cortex-A53 manual, chapter 12, PMU peripheral and component identification";

#define SHOWN(name, expression)                                                      \
    static uint64_t name(tl_regfile *file, uint32_t index, uint64_t stored) {        \
        __attribute__((unused)) tl_pmuv3 *p = tl_pmuv3_of(file);                     \
        (void)index, (void)stored;                                                   \
        return (expression);                                                         \
    }
// A control register: what is counted changes with it.
#define CHANGED(name, ...)                                                                   \
    static void name(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) { \
        tl_pmuv3 *p = tl_pmuv3_of(file);                                                     \
        (void)index, (void)old_value, (void)value;                                           \
        tl_pmuv3_begin(p);                                                                   \
        __VA_ARGS__;                                                                         \
        tl_pmuv3_end(p);                                                                     \
    }
#define KEPT(name, ...)                                                                      \
    static void name(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) { \
        tl_pmuv3 *p = tl_pmuv3_of(file);                                                     \
        (void)index, (void)old_value;                                                        \
        __VA_ARGS__;                                                                         \
    }

// ---- behavior

enum { PMCR_N = TL_PMUV3_EVENTS << 11 };
static const uint32_t PMCR_A53 = 0x41030000; // IMP, IDCODE

static void write_control(tl_pmuv3 *p, uint32_t value) {
    p->control = value & TL_PMCR_HELD;
    tl_pmuv3_reset_counters(p, value & TL_PMCR_P, value & TL_PMCR_C);
}
// PMSELR.SEL of PMXEVTYPER: an event counter, 31 for PMCCFILTR. TL_PMUV3_N: there is none.
static uint32_t chosen(const tl_pmuv3 *p) {
    return p->selected == 31 ? TL_PMUV3_CYCLE : p->selected < TL_PMUV3_EVENTS ? p->selected : TL_PMUV3_N;
}

SHOWN(show_control, PMCR_A53 | PMCR_N | p->control)
CHANGED(control_written, write_control(p, (uint32_t)value))
SHOWN(show_enabled, p->enabled)
CHANGED(enabled_written, p->enabled = (uint32_t)value)
SHOWN(show_interrupt, p->interrupt)
CHANGED(interrupt_written, p->interrupt = (uint32_t)value)
SHOWN(show_overflows, tl_pmuv3_overflows(p))
CHANGED(overflows_written, p->overflowed = (uint32_t)value)
SHOWN(show_selected, p->selected)
KEPT(selected_written, p->selected = (uint32_t)value)
SHOWN(show_user, p->user)
KEPT(user_written, p->user = (uint32_t)value)
KEPT(increment_written, tl_pmuv3_software_increment(p, (uint32_t)value))
SHOWN(show_common0, tl_pmuv3_common_events(p, 0))
SHOWN(show_common1, tl_pmuv3_common_events(p, 1))
SHOWN(show_cycles, tl_pmuv3_counter(p, TL_PMUV3_CYCLE))
KEPT(cycles_written, tl_pmuv3_set_counter(p, TL_PMUV3_CYCLE, value))
SHOWN(show_counter, tl_pmuv3_counter(p, index))
static void counter_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    (void)old_value;
    tl_pmuv3_set_counter(tl_pmuv3_of(file), index, value);
}
SHOWN(show_type, p->types[index])
static void type_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    tl_pmuv3 *p = tl_pmuv3_of(file);
    (void)old_value;
    tl_pmuv3_begin(p);
    p->types[index] = (uint32_t)value;
    tl_pmuv3_end(p);
}
SHOWN(show_filter, p->types[TL_PMUV3_CYCLE])
CHANGED(filter_written, p->types[TL_PMUV3_CYCLE] = (uint32_t)value)
SHOWN(show_chosen_type, p->types[chosen(p)])
CHANGED(chosen_type_written, p->types[chosen(p)] = (uint32_t)value)
SHOWN(show_chosen_counter, tl_pmuv3_counter(p, p->selected))
KEPT(chosen_counter_written, tl_pmuv3_set_counter(p, p->selected, value))
SHOWN(show_lock, 1 | (uint64_t)p->is_locked << 1)
KEPT(lock_written, p->is_locked = value != TL_PMUV3_KEY)
SHOWN(show_authentication, tl_pmuv3_authentication(p))
SHOWN(show_affinity, UINT64_C(0x80000000) | p->pmu.hart)

// PMSELR names no counter: RAZ/WI, of the behaviors that D12.4 permits.
static tl_presence if_type(const tl_regfile *file, uint32_t index, bool is_high) {
    (void)index, (void)is_high;
    return chosen(tl_pmuv3_of(file)) < TL_PMUV3_N ? TL_PRESENT : TL_ZERO;
}
static tl_presence if_counter(const tl_regfile *file, uint32_t index, bool is_high) {
    (void)index, (void)is_high;
    return tl_pmuv3_of(file)->selected < TL_PMUV3_EVENTS ? TL_PRESENT : TL_ZERO;
}
static uint64_t event_if_any(const tl_regfile *file, uint32_t index, uint64_t old, uint64_t wanted) {
    (void)index, (void)old;
    return chosen(tl_pmuv3_of(file)) == TL_PMUV3_CYCLE ? 0 : wanted;
}

// ---- fields

#define BIT(title, at, kind, sentence) {.name = title, .lsb = at, .width_bits = 1, .access = kind, .meaning = sentence}
#define BITS(title, at, width, kind, sentence) {.name = title, .lsb = at, .width_bits = width, .access = kind, .meaning = sentence}
#define RES0(at, width) {.name = "0", .lsb = at, .width_bits = width, .access = TL_WPRI, .meaning = "Reserved."}
#define CONSTANT(title, at, width, value, sentence) {.name = title, .lsb = at, .width_bits = width, .access = TL_RO, .reset = value, .meaning = sentence}

static const tl_field control_fields[] = {
    BIT("E",  0, TL_RW, "Lets enabled counters count, and overflows interrupt."),
    BIT("P",  1, TL_WO, "Writing 1 sets all event counters to 0; overflow flags stay."),
    BIT("C",  2, TL_WO, "Writing 1 sets the cycle counter to 0; its overflow flag stays."),
    BIT("D",  3, TL_RW, "Cycle counter counts each 64th cycle; without effect while LC is set."),
    BIT("X",  4, TL_RW, "Export of events to a trace unit; there is none, and the bit has no effect."),
    BIT("DP", 5, TL_RW, "Stops the cycle counter where event counters are forbidden to count."),
    BIT("LC", 6, TL_RW, "Cycle counter overflows from bit 63; while 0, from bit 31."),
    RES0(7, 4),
    CONSTANT("N", 11, 5, TL_PMUV3_EVENTS, "Number of event counters."),
    CONSTANT("IDCODE", 16, 8, 0x03, "Core Cortex-A53."),
    CONSTANT("IMP", 24, 8, 0x41, "Designed by Arm."),
};
#define PER_COUNTER(kind, of_events, of_cycles) BITS("P", 0, TL_PMUV3_EVENTS, kind, of_events), RES0(6, 25), BIT("C", 31, kind, of_cycles)
static const tl_field enable_set_fields[] = {PER_COUNTER(TL_W1S, "Bit n: event counter n is enabled.", "Cycle counter is enabled.")};
static const tl_field enable_clear_fields[] = {PER_COUNTER(TL_W1C, "Bit n: event counter n is enabled.", "Cycle counter is enabled.")};
static const tl_field interrupt_set_fields[] = {PER_COUNTER(TL_W1S, "Bit n: an overflow of event counter n interrupts.", "An overflow of the cycle counter interrupts.")};
static const tl_field interrupt_clear_fields[] = {PER_COUNTER(TL_W1C, "Bit n: an overflow of event counter n interrupts.", "An overflow of the cycle counter interrupts.")};
static const tl_field overflow_set_fields[] = {PER_COUNTER(TL_W1S, "Bit n: event counter n has overflowed.", "Cycle counter has overflowed.")};
static const tl_field overflow_clear_fields[] = {PER_COUNTER(TL_W1C, "Bit n: event counter n has overflowed.", "Cycle counter has overflowed.")};
static const tl_field increment_fields[] = {
    BITS("P", 0, TL_PMUV3_EVENTS, TL_WO, "Bit n: adds 1 to event counter n if it counts event SW_INCR."), RES0(6, 26),
};
static const tl_field select_fields[] = {BITS("SEL", 0, 5, TL_RW, "Event counter of PMXEVTYPER_EL0 and PMXEVCNTR_EL0; 31: PMCCFILTR_EL0."), RES0(5, 27)};
static const tl_field common0_fields[] = {BITS("ID", 0, 32, TL_RO, "Bit n: event n can be counted.")};
static const tl_field common1_fields[] = {BITS("ID", 0, 32, TL_RO, "Bit n: event 0x20 + n can be counted.")};
static const tl_field cycle_fields[] = {BITS("CCNT", 0, 64, TL_RW, "Counts clock cycles; it stands still in WFI and WFE.")};
static const tl_field counter_fields[] = {BITS("EVCNT", 0, 32, TL_RW, "Counts the event of the type register with the same number.")};
#define FILTERS                                                                                            \
    BIT("M",   26, TL_RW, "EL3 counts if equal to P."),                                                    \
    BIT("NSH", 27, TL_RW, "EL2 counts if set; there is no EL2."),                                          \
    BIT("NSU", 28, TL_RW, "Non-secure EL0 counts if equal to U."),                                         \
    BIT("NSK", 29, TL_RW, "Non-secure EL1 counts if equal to P."),                                         \
    BIT("U",   30, TL_RW, "Secure EL0 does not count; see NSU, too."),                                     \
    BIT("P",   31, TL_RW, "Secure EL1 does not count; see NSK and M, too.")
static const tl_field type_fields[] = {BITS("evtCount", 0, 10, TL_RW, "Event; a number that the list of events lacks counts nothing."), RES0(10, 16), FILTERS};
static const tl_field chosen_type_fields[] = {
    {.name = "evtCount", .lsb = 0, .width_bits = 10, .access = TL_WARL, .legalize = event_if_any, .meaning = "Event of an event counter; the cycle counter has none."}, RES0(10, 16), FILTERS,
};
static const tl_field filter_fields[] = {RES0(0, 26), FILTERS};
static const tl_field user_fields[] = {
    BIT("EN", 0, TL_RW, "EL0 may read and write all registers but this one and those of EL1."),
    BIT("SW", 1, TL_RW, "EL0 may write PMSWINC_EL0."),
    BIT("CR", 2, TL_RW, "EL0 may read PMCCNTR_EL0."),
    BIT("ER", 3, TL_RW, "EL0 may read event counters and write PMSELR_EL0."),
    RES0(4, 28),
};
static const tl_field config_fields[] = {
    CONSTANT("N", 0, 8, TL_PMUV3_EVENTS, "Number of event counters."),
    CONSTANT("SIZE", 8, 6, 63, "Widest counter has 64 bits."),
    CONSTANT("CC", 14, 1, 1, "There is a cycle counter."),
    CONSTANT("CCD", 15, 1, 1, "Cycle counter has a divider."),
    CONSTANT("EX", 16, 1, 1, "PMCR_EL0 has bit X."),
    CONSTANT("0", 17, 15, 0, "Reserved."),
};
static const tl_field affinity_fields[] = {BITS("MPIDR", 0, 32, TL_RO, "Lower half of MPIDR_EL1 of the hart.")};
static const tl_field affinity1_fields[] = {CONSTANT("MPIDR", 0, 32, 0, "Upper half of MPIDR_EL1 of the hart.")};
static const tl_field lock_fields[] = {BITS("KEY", 0, 32, TL_WO, "Value 0xC5ACCE55 opens the software lock, any other closes it.")};
static const tl_field lock_status_fields[] = {
    CONSTANT("SLI", 0, 1, 1, "There is a software lock."), CONSTANT("SLK", 1, 1, 1, "Software lock is closed; writes to the window are ignored."), CONSTANT("0", 2, 30, 0, "Reserved."),
};
static const tl_field authentication_fields[] = {
    CONSTANT("NSID", 0, 2, 0, "Invasive debug is no matter of this block."), BITS("NSNID", 2, 2, TL_RO, "Value 3: debuggers may watch Non-secure state; 2: they may not."),
    CONSTANT("SID", 4, 2, 0, "Invasive debug is no matter of this block."), BITS("SNID", 6, 2, TL_RO, "Value 3: debuggers may watch Secure state; 2: they may not."), CONSTANT("0", 8, 24, 0, "Reserved."),
};
static const tl_field architecture_fields[] = {
    CONSTANT("ARCHID", 0, 16, 0x2a16, "Architecture PMUv3."), CONSTANT("REVISION", 16, 4, 0, "First revision."), CONSTANT("PRESENT", 20, 1, 1, "This register is there."), CONSTANT("ARCHITECT", 21, 11, 0x23b, "Designed by Arm."),
};
static const tl_field device_type_fields[] = {CONSTANT("MAJOR", 0, 4, 6, "Performance monitor."), CONSTANT("SUB", 4, 4, 1, "Part of a processor."), CONSTANT("0", 8, 24, 0, "Reserved.")};
// Bytes of the identification, one in each register.
#define ID(name, byte) static const tl_field name[] = {CONSTANT("ID", 0, 8, byte, "One byte of the identification."), CONSTANT("0", 8, 24, 0, "Reserved.")}
ID(pidr0, 0xd3); ID(pidr1, 0xb9); ID(pidr2, 0x4b); ID(pidr3, 0x00); ID(pidr4, 0x04);
ID(cidr0, 0x0d); ID(cidr1, 0x90); ID(cidr2, 0x05); ID(cidr3, 0xb1);
#undef ID

#define FIELDS(table) .fields = table, .n_fields = TL_COUNT_OF(table)

// ---- registers

// A register that stands in both places, 32 bits wide.
#define BOTH(title, number, offset, table, get, set, sentence)                                                                             \
    {.name = title, .addr = number, .width_bits = 32, FIELDS(table), .read = get, .written = set, .cite = SYSTEM, .meaning = sentence},     \
    {.name = title " (window)", .addr = offset, .width_bits = 32, FIELDS(table), .read = get, .written = set, .cite = WINDOW, .meaning = sentence}
#define IDENTITY(title, offset, table, sentence) {.name = title, .addr = offset, .width_bits = 32, FIELDS(table), .cite = CORESIGHT, .meaning = sentence}

static const tl_reg regs[] = {
    BOTH("PMCR_EL0",       0xdce0, 0xe04, control_fields, show_control, control_written, "Control register."),
    BOTH("PMCNTENSET_EL0", 0xdce1, 0xc00, enable_set_fields, show_enabled, enabled_written, "Enables counters."),
    BOTH("PMCNTENCLR_EL0", 0xdce2, 0xc20, enable_clear_fields, show_enabled, enabled_written, "Disables counters."),
    BOTH("PMOVSCLR_EL0",   0xdce3, 0xc80, overflow_clear_fields, show_overflows, overflows_written, "Clears overflow flags."),
    BOTH("PMSWINC_EL0",    0xdce4, 0xca0, increment_fields, NULL, increment_written, "Increments counters by software."),
    {.name = "PMSELR_EL0", .addr = 0xdce5, .width_bits = 32, FIELDS(select_fields), .read = show_selected, .written = selected_written, .cite = SYSTEM,
     .meaning = "Chooses the counter of PMXEVTYPER_EL0 and PMXEVCNTR_EL0."},
    BOTH("PMCEID0_EL0",    0xdce6, 0xe20, common0_fields, show_common0, NULL, "Common events 0x00 to 0x1f that can be counted."),
    BOTH("PMCEID1_EL0",    0xdce7, 0xe24, common1_fields, show_common1, NULL, "Common events 0x20 to 0x3f that can be counted."),
    {.name = "PMCCNTR_EL0", .addr = 0xdce8, .width_bits = 64, FIELDS(cycle_fields), .read = show_cycles, .written = cycles_written, .cite = SYSTEM,
     .meaning = "Cycle counter."},
    {.name = "PMCCNTR_EL0 (window)", .addr = 0x0f8, .high_addr = 0x0fc, .width_bits = 64, FIELDS(cycle_fields), .read = show_cycles, .written = cycles_written,
     .cite = WINDOW, .meaning = "Cycle counter, in two halves."},
    {.name = "PMXEVTYPER_EL0", .addr = 0xdce9, .width_bits = 32, FIELDS(chosen_type_fields), .presence = if_type, .read = show_chosen_type,
     .written = chosen_type_written, .cite = SYSTEM, .meaning = "Type register of the counter that PMSELR_EL0 chooses; reads 0 where there is none."},
    {.name = "PMXEVCNTR_EL0", .addr = 0xdcea, .width_bits = 32, FIELDS(counter_fields), .presence = if_counter, .read = show_chosen_counter,
     .written = chosen_counter_written, .cite = SYSTEM, .meaning = "Event counter that PMSELR_EL0 chooses; reads 0 where there is none."},
    {.name = "PMUSERENR_EL0", .addr = 0xdcf0, .width_bits = 32, FIELDS(user_fields), .read = show_user, .written = user_written, .cite = SYSTEM,
     .meaning = "Rights of EL0; what it denies is a trap to EL1."},
    BOTH("PMOVSSET_EL0",   0xdcf3, 0xcc0, overflow_set_fields, show_overflows, overflows_written, "Sets overflow flags."),
    BOTH("PMINTENSET_EL1", 0xc4f1, 0xc40, interrupt_set_fields, show_interrupt, interrupt_written, "Lets overflows interrupt."),
    BOTH("PMINTENCLR_EL1", 0xc4f2, 0xc60, interrupt_clear_fields, show_interrupt, interrupt_written, "Keeps overflows from interrupting."),
    {.name = "PMEVCNTR#_EL0", .addr = 0xdf40, .count = TL_PMUV3_EVENTS, .width_bits = 32, FIELDS(counter_fields), .read = show_counter,
     .written = counter_written, .cite = SYSTEM, .meaning = "Event counter."},
    {.name = "PMEVCNTR#_EL0 (window)", .addr = 0x000, .count = TL_PMUV3_EVENTS, .stride = 8, .width_bits = 32, FIELDS(counter_fields), .read = show_counter,
     .written = counter_written, .cite = WINDOW, .meaning = "Event counter."},
    {.name = "PMEVTYPER#_EL0", .addr = 0xdf60, .count = TL_PMUV3_EVENTS, .width_bits = 32, FIELDS(type_fields), .read = show_type,
     .written = type_written, .cite = SYSTEM, .meaning = "Event and filters of the counter with the same number."},
    {.name = "PMEVTYPER#_EL0 (window)", .addr = 0x400, .count = TL_PMUV3_EVENTS, .stride = 4, .width_bits = 32, FIELDS(type_fields), .read = show_type,
     .written = type_written, .cite = WINDOW, .meaning = "Event and filters of the counter with the same number."},
    BOTH("PMCCFILTR_EL0",  0xdf7f, 0x47c, filter_fields, show_filter, filter_written, "Filters of the cycle counter."),
    IDENTITY("PMCFGR", 0xe00, config_fields, "Configuration."),
    {.name = "PMDEVAFF0", .addr = 0xfa8, .width_bits = 32, FIELDS(affinity_fields), .read = show_affinity, .cite = CORESIGHT, .meaning = "Hart that the block belongs to."},
    IDENTITY("PMDEVAFF1", 0xfac, affinity1_fields, "Upper half of PMDEVAFF0."),
    {.name = "PMLAR", .addr = TL_PMUV3_PMLAR, .width_bits = 32, FIELDS(lock_fields), .written = lock_written, .cite = CORESIGHT, .meaning = "Opens and closes the software lock."},
    {.name = "PMLSR", .addr = 0xfb4, .width_bits = 32, FIELDS(lock_status_fields), .read = show_lock, .cite = CORESIGHT, .meaning = "State of the software lock."},
    {.name = "PMAUTHSTATUS", .addr = 0xfb8, .width_bits = 32, FIELDS(authentication_fields), .read = show_authentication, .cite = CORESIGHT,
     .meaning = "State of the authentication inputs."},
    IDENTITY("PMDEVARCH", 0xfbc, architecture_fields, "Architecture of the block."),
    IDENTITY("PMDEVTYPE", 0xfcc, device_type_fields, "Kind of the block."),
    IDENTITY("PMPIDR4", 0xfd0, pidr4, "Peripheral identification."),
    IDENTITY("PMPIDR0", 0xfe0, pidr0, "Peripheral identification: part 0x9d3."),
    IDENTITY("PMPIDR1", 0xfe4, pidr1, "Peripheral identification."),
    IDENTITY("PMPIDR2", 0xfe8, pidr2, "Peripheral identification."),
    IDENTITY("PMPIDR3", 0xfec, pidr3, "Peripheral identification."),
    IDENTITY("PMCIDR0", 0xff0, cidr0, "Component identification."),
    IDENTITY("PMCIDR1", 0xff4, cidr1, "Component identification: a CoreSight component."),
    IDENTITY("PMCIDR2", 0xff8, cidr2, "Component identification."),
    IDENTITY("PMCIDR3", 0xffc, cidr3, "Component identification."),
};

const tl_regmap tl_pmuv3_regmap = {.space = "system register", .regs = regs, .n_regs = TL_COUNT_OF(regs)};

// ---- rights of EL0, D12.4

static const struct {
    uint32_t first, last;
    tl_pmuv3_access access;
} rights[] = {
    {0xc4f1, 0xc4f2, {0, 0, .is_write_only = false}},                                        // PMINTENSET, PMINTENCLR
    {0xdce4, 0xdce4, {0, TL_PMUSERENR_EN | TL_PMUSERENR_SW, .is_write_only = true}}, // PMSWINC
    {0xdce5, 0xdce5, {TL_PMUSERENR_EN | TL_PMUSERENR_ER, TL_PMUSERENR_EN | TL_PMUSERENR_ER, .is_write_only = false}}, // PMSELR
    {0xdce6, 0xdce7, {TL_PMUSERENR_EN, 0, .is_read_only = true}},                            // PMCEID
    {0xdce8, 0xdce8, {TL_PMUSERENR_EN | TL_PMUSERENR_CR, TL_PMUSERENR_EN, .is_write_only = false}}, // PMCCNTR
    {0xdcea, 0xdcea, {TL_PMUSERENR_EN | TL_PMUSERENR_ER, TL_PMUSERENR_EN, .is_write_only = false}}, // PMXEVCNTR
    {0xdcf0, 0xdcf0, {TL_PMUV3_ALWAYS, 0, .is_write_only = false}},                          // PMUSERENR
    {0xdf40, 0xdf45, {TL_PMUSERENR_EN | TL_PMUSERENR_ER, TL_PMUSERENR_EN, .is_write_only = false}}, // PMEVCNTR
};

tl_pmuv3_access tl_pmuv3_access_of(uint32_t number) {
    for (size_t i = 0; i < TL_COUNT_OF(rights); i++)
        if (number >= rights[i].first && number <= rights[i].last)
            return rights[i].access;
    return (tl_pmuv3_access){.el0_read = TL_PMUSERENR_EN, .el0_write = TL_PMUSERENR_EN};
}
