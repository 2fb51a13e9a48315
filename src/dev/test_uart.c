// SPDX-License-Identifier: MIT
// The serial port against the PC16550D data sheet, and against the register sequences by which
// Linux's 8250 driver finds out what it is.
#include "dev/test_rig.h"

enum { RBR = 0, THR = 0, DLL = 0, IER = 1, DLM = 1, IIR = 2, FCR = 2, LCR = 3, MCR = 4, LSR = 5, MSR = 6, SCR = 7 };
enum { IRQ = 10, MS = TL_RIG_CLOCK_HZ / 1000 };

static void start(tl_rig *rig) {
    tl_rig_start(rig);
    tl_device_place place = tl_rig_place(rig, 0x10000000, IRQ);
    assert_int_equal(tl_uart_new(&place, &rig->device, NULL), TL_OK);
    tl_rig_tick(rig);
}

static uint64_t in(tl_rig *rig, uint64_t reg) { return tl_rig_read(rig, reg, 1); }
static void out(tl_rig *rig, uint64_t reg, uint64_t value) { tl_rig_write(rig, reg, 1, value); }

static void test_bytes_go_out_at_once(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    for (const char *at = "hi\n"; *at; at++) {
        assert_int_equal(in(&rig, LSR), 0x60);
        out(&rig, THR, (uint8_t)*at);
    }
    assert_string_equal(rig.output, "hi\n");
    assert_int_equal(rig.n_edges[IRQ], 0);
    tl_rig_stop(&rig);
}

// autoconfig() of drivers/tty/serial/8250/8250_port.c.
static void test_linux_takes_it_for_a_16550a(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    out(&rig, IER, 0);
    assert_int_equal(in(&rig, IER) & 0x0f, 0);
    out(&rig, IER, 0x0f);
    assert_int_equal(in(&rig, IER), 0x0f);
    out(&rig, IER, 0x5f); // no power management, no DMA, no XScale unit enable
    assert_int_equal(in(&rig, IER), 0x0f);
    out(&rig, IER, 0);
    uint64_t mcr = in(&rig, MCR);
    out(&rig, MCR, 0x10 | 0x0a);
    assert_int_equal(in(&rig, MSR) & 0xf0, 0x90);
    out(&rig, MCR, mcr);
    out(&rig, LCR, 0xbf);
    out(&rig, LCR, 0);
    out(&rig, FCR, 1);
    assert_int_equal(in(&rig, IIR) >> 6, 3);
    out(&rig, LCR, 0x80);
    assert_int_not_equal(in(&rig, 2), 0); // an EFR would read 0
    out(&rig, LCR, 0xbf);
    assert_int_not_equal(in(&rig, 2), 0);
    out(&rig, LCR, 0); // a 16750 would keep bit 5 of FCR
    out(&rig, FCR, 0x21);
    assert_int_equal(in(&rig, IIR) >> 5, 6);
    out(&rig, LCR, 0x80);
    out(&rig, FCR, 0x21);
    assert_int_equal(in(&rig, IIR) >> 5, 6);
    out(&rig, LCR, 0);
    tl_rig_stop(&rig);
}

// serial8250_do_startup(): the interrupt must come back when it is enabled anew, and IIR must not
// say "none" while the line is empty.
static void test_linux_finds_no_bug_in_the_transmitter_interrupt(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    out(&rig, FCR, 0x81);
    out(&rig, IER, 2);
    assert_true(rig.line[IRQ]);
    uint64_t first = in(&rig, IIR);
    assert_false(rig.line[IRQ]); // reading it was the acknowledgment
    out(&rig, IER, 0);
    out(&rig, IER, 2);
    uint64_t second = in(&rig, IIR);
    out(&rig, IER, 0);
    assert_int_equal(first & 0x0f, 2);
    assert_int_equal(second & 0x0f, 2);
    out(&rig, IER, 2);
    assert_int_equal(in(&rig, LSR) & 0x60, 0x60);
    assert_int_equal(in(&rig, IIR), 0xc2);
    assert_int_equal(in(&rig, IIR), 0xc1);
    tl_rig_stop(&rig);
}

static void test_transmitter_interrupt_comes_with_each_byte(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    out(&rig, IER, 2);
    assert_int_equal(in(&rig, IIR), 0x02);
    for (int i = 0; i < 5; i++) {
        assert_false(rig.line[IRQ]);
        out(&rig, THR, 'x');
        assert_true(rig.line[IRQ]);
        assert_int_equal(in(&rig, IIR), 0x02);
    }
    assert_int_equal(rig.n_edges[IRQ], 1 + 5);
    out(&rig, THR, 'y');
    out(&rig, IER, 0); // stop_tx
    assert_false(rig.line[IRQ]);
    assert_int_equal(in(&rig, IIR), 0x01);
    tl_rig_stop(&rig);
}

// A handler that never reads IIR: the interrupt comes once, once more after the time of a
// character, and does not repeat for ever.
static void test_reading_the_line_status_ends_the_transmitter_interrupt(void **state) {
    (void)state;
    // Ten bits at 115200 baud.
    const uint64_t character = (uint64_t)TL_RIG_CLOCK_HZ * 10 * 16 * 2 / 3686400;
    tl_rig rig;
    start(&rig);
    rig.is_input_over = true;
    out(&rig, IER, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(rig.line[IRQ]);
        assert_int_equal(in(&rig, LSR), 0x60);
        assert_false(rig.line[IRQ]);
        tl_rig_advance(&rig, rig.now + character);
        assert_false(rig.line[IRQ]);
        tl_rig_advance(&rig, rig.now + 1);
        assert_true(rig.line[IRQ]);
        assert_int_equal(in(&rig, LSR), 0x60);
        assert_false(rig.line[IRQ]);
        assert_int_equal(in(&rig, LSR), 0x60);
        tl_rig_advance(&rig, rig.now + 100 * MS);
        assert_false(rig.line[IRQ]);
        assert_int_equal(rig.next_tick, UINT64_MAX); // nothing more will come
        assert_int_equal(rig.n_edges[IRQ], 2 * i + 2);
        out(&rig, THR, 'x');
    }
    assert_int_equal(in(&rig, LSR), 0x60); // told, and IIR still names it; that ends it for good
    assert_int_equal(in(&rig, IIR), 0x02);
    assert_int_equal(rig.next_tick, UINT64_MAX);
    assert_int_equal(in(&rig, IIR), 0x01);
    tl_rig_advance(&rig, rig.now + 100 * MS);
    assert_int_equal(rig.n_edges[IRQ], 7);
    tl_rig_stop(&rig);
}

static void test_other_interrupts_come_while_the_transmitter_is_told(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    out(&rig, IER, 3);
    (void)in(&rig, LSR);
    (void)in(&rig, LSR);
    tl_rig_advance(&rig, MS / 2); // the second rise, told as well
    (void)in(&rig, LSR);
    assert_false(rig.line[IRQ]);
    rig.input = "a";
    tl_rig_advance(&rig, 2 * MS);
    assert_true(rig.line[IRQ]);
    assert_int_equal(in(&rig, LSR), 0x61); // tells of the byte, not of the transmitter
    assert_true(rig.line[IRQ]);
    assert_int_equal(in(&rig, RBR), 'a');
    assert_false(rig.line[IRQ]);
    out(&rig, IER, 0x0b);
    (void)in(&rig, MSR);
    (void)in(&rig, LSR);
    assert_false(rig.line[IRQ]);
    out(&rig, MCR, 0x10); // THRE is named before the modem's lines, and does not hide them
    assert_true(rig.line[IRQ]);
    (void)in(&rig, MSR);
    assert_false(rig.line[IRQ]);
    out(&rig, MCR, 0);
    (void)in(&rig, MSR);
    out(&rig, IER, 1);
    out(&rig, IER, 3); // enabled anew: told anew
    assert_true(rig.line[IRQ]);
    (void)in(&rig, LSR);
    assert_false(rig.line[IRQ]);
    // A byte that was written meanwhile has an interrupt of its own, and no reminder.
    out(&rig, THR, 'b');
    assert_true(rig.line[IRQ]);
    assert_int_equal(in(&rig, IIR), 0x02);
    tl_rig_advance(&rig, 10 * MS);
    assert_false(rig.line[IRQ]);
    out(&rig, THR, 'c');
    rig.input = "d";
    tl_rig_advance(&rig, 12 * MS);
    // Asked for because of the byte. The transmitter has yet to be told.
    assert_int_equal(in(&rig, LSR), 0x61);
    assert_int_equal(in(&rig, RBR), 'd');
    assert_true(rig.line[IRQ]);
    assert_int_equal(in(&rig, LSR), 0x60);
    assert_false(rig.line[IRQ]);
    tl_rig_stop(&rig);
}

static void test_received_bytes_are_polled_for_each_millisecond(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    out(&rig, IER, 1);
    assert_int_equal(rig.n_gets, 0); // the driver looks once more whether the receiver is empty
    tl_rig_advance(&rig, 10 * MS + 100);
    assert_int_equal(rig.n_gets, 10);
    rig.input = "a";
    tl_rig_advance(&rig, 11 * MS + 100);
    assert_true(rig.line[IRQ]);
    assert_int_equal(in(&rig, IIR), 0x04);
    assert_int_equal(in(&rig, LSR), 0x61);
    assert_int_equal(in(&rig, RBR), 'a');
    assert_false(rig.line[IRQ]);
    assert_int_equal(in(&rig, LSR), 0x60);
    tl_rig_stop(&rig);
}

static void test_nobody_is_asked_when_nothing_will_come(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    assert_int_equal(rig.next_tick, UINT64_MAX); // not before the interrupt is enabled
    rig.is_input_over = true;
    out(&rig, IER, 1);
    assert_int_equal(rig.next_tick, UINT64_MAX);
    tl_rig_stop(&rig);
}

// A program that waits for input without interrupts.
static uint64_t wait(tl_rig *rig) {
    uint64_t status = in(rig, LSR);
    for (int i = 0; i < 63 && !(status & 1); i++)
        status = in(rig, LSR);
    return status;
}

static void test_polling_the_line_status_receives(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    rig.input = "ok";
    assert_int_equal(wait(&rig), 0x61);
    assert_int_equal(in(&rig, RBR), 'o');
    assert_int_equal(wait(&rig), 0x60); // at most one look per millisecond
    for (int i = 0; i < 100; i++)
        (void)in(&rig, LSR);
    assert_int_equal(rig.n_gets, 1);
    rig.now = MS + 1;
    assert_int_equal(in(&rig, LSR), 0x61);
    assert_int_equal(in(&rig, RBR), 'k');
    assert_int_equal(rig.n_edges[IRQ], 0);
    tl_rig_stop(&rig);
}

// Linux prints long before it opens the port, and clears the receiver then.
static void test_what_is_typed_ahead_waits_for_somebody_who_listens(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    rig.input = "typed ahead";
    for (int message = 0; message < 100; message++) { // serial8250_console_write()
        uint64_t ier = in(&rig, IER);
        out(&rig, IER, 0);
        for (int i = 0; i < 40; i++) {
            assert_int_equal(in(&rig, LSR), 0x60);
            out(&rig, THR, '.');
        }
        assert_int_equal(in(&rig, LSR), 0x60);
        out(&rig, IER, ier);
        rig.now += 3 * MS;
    }
    out(&rig, FCR, 1); // serial8250_do_startup()
    out(&rig, FCR, 7);
    out(&rig, FCR, 0);
    (void)in(&rig, LSR);
    (void)in(&rig, RBR);
    out(&rig, IER, 5);
    out(&rig, FCR, 0x81); // serial8250_do_set_termios()
    assert_int_equal(rig.n_gets, 0);
    tl_rig_advance(&rig, rig.now + MS + 1);
    for (const char *at = "typed ahead"; *at; at++)
        assert_int_equal(in(&rig, RBR), *at);
    tl_rig_stop(&rig);
}

static void test_a_program_that_prints_between_looks_receives_in_the_end(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    rig.input = "q";
    int n = 0;
    while (!(in(&rig, LSR) & 1)) {
        (void)in(&rig, LSR); // for the transmitter
        out(&rig, THR, '.');
        assert_true(++n < 70);
    }
    assert_int_equal(in(&rig, RBR), 'q');
    tl_rig_stop(&rig);
}

static void test_fifo_interrupts_at_its_trigger_and_after_its_timeout(void **state) {
    (void)state;
    static const struct {
        uint8_t fcr;
        uint32_t trigger;
    } rows[] = {{0x01, 1}, {0x41, 4}, {0x81, 8}, {0xc1, 14}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_rig rig;
        start(&rig);
        out(&rig, FCR, rows[i].fcr);
        out(&rig, LCR, 3);
        rig.input = "0123456789abcdefgh";
        out(&rig, IER, 1);
        assert_int_equal(strlen(rig.input), 18);
        tl_rig_advance(&rig, MS + 1);
        assert_string_equal(rig.input, "gh"); // what fits
        for (uint32_t left = 16; left > 0; left--) {
            assert_int_equal(rig.line[IRQ], left >= rows[i].trigger);
            assert_int_equal(in(&rig, IIR), left >= rows[i].trigger ? 0xc4 : 0xc1);
            // Four characters of ten bits at 115200 baud: 347.2 us.
            if (left + 1 == rows[i].trigger) {
                tl_rig_advance(&rig, MS + 1 + 34722);
                assert_false(rig.line[IRQ]);
                tl_rig_advance(&rig, MS + 1 + 34723);
                assert_true(rig.line[IRQ]);
                assert_int_equal(in(&rig, IIR), 0xcc);
            }
            (void)in(&rig, RBR);
            if (left <= rows[i].trigger)
                assert_false(rig.line[IRQ]);
        }
        tl_rig_stop(&rig);
    }
}

static void test_switching_the_fifo_clears_it(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    rig.input = "ab";
    assert_int_equal(wait(&rig), 0x61); // one byte, there is no FIFO
    assert_string_equal(rig.input, "b");
    out(&rig, FCR, 1);
    assert_int_equal(in(&rig, LSR), 0x60);
    rig.now = 2 * MS;
    assert_int_equal(wait(&rig), 0x61);
    out(&rig, FCR, 3);
    assert_int_equal(in(&rig, LSR), 0x60);
    out(&rig, FCR, 0xc0); // bits count only together with bit 0
    assert_int_equal(in(&rig, IIR), 0x01);
    tl_rig_stop(&rig);
}

static void test_loopback_returns_bytes_and_lines(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    (void)in(&rig, MSR);
    out(&rig, FCR, 1);
    out(&rig, MCR, 0x10);
    rig.input = "from outside";
    for (int i = 0; i < 16; i++)
        out(&rig, THR, (uint64_t)i);
    rig.now = 2 * MS;
    assert_int_equal(in(&rig, LSR), 0x61);
    out(&rig, THR, 99); // the seventeenth is lost
    out(&rig, IER, 4);
    assert_int_equal(in(&rig, IIR), 0xc6);
    assert_int_equal(in(&rig, LSR), 0x63);
    assert_int_equal(in(&rig, LSR), 0x61); // told once
    assert_false(rig.line[IRQ]);
    for (int i = 0; i < 16; i++)
        assert_int_equal(in(&rig, RBR), i);
    assert_string_equal(rig.output, "");
    assert_string_equal(rig.input, "from outside");
    static const uint8_t lines[][2] = {{1, 0x20}, {2, 0x10}, {4, 0x40}, {8, 0x80}};
    for (size_t i = 0; i < TL_COUNT_OF(lines); i++) {
        out(&rig, MCR, 0x10 | lines[i][0]);
        assert_int_equal(in(&rig, MSR) & 0xf0, lines[i][1]);
    }
    tl_rig_stop(&rig);
}

static void test_modem_deltas_are_told_once(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    // Carrier, data set ready, clear to send: nothing changed.
    assert_int_equal(in(&rig, MSR), 0xb0);
    out(&rig, MCR, 0x10 | 4);
    // The access takes three lines.
    assert_int_equal(in(&rig, MSR), 0x4b);
    assert_int_equal(in(&rig, MSR), 0x40);
    out(&rig, IER, 8);
    out(&rig, MCR, 0x10);
    assert_true(rig.line[IRQ]);
    assert_int_equal(in(&rig, IIR), 0x00);
    assert_int_equal(in(&rig, MSR), 0x04); // its fall is
    assert_false(rig.line[IRQ]);
    tl_rig_stop(&rig);
}

static void test_interrupts_are_told_in_order_of_priority(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    out(&rig, MCR, 0x10); // lines change
    out(&rig, THR, 'a');
    out(&rig, THR, 'b'); // overrun; without FIFO the new byte takes the place
    out(&rig, IER, 0x0f);
    assert_int_equal(in(&rig, IIR), 0x06);
    assert_int_equal(in(&rig, LSR), 0x63);
    assert_int_equal(in(&rig, IIR), 0x04);
    assert_int_equal(in(&rig, RBR), 'b');
    assert_int_equal(in(&rig, IIR), 0x02);
    assert_int_equal(in(&rig, IIR), 0x00);
    (void)in(&rig, MSR);
    assert_int_equal(in(&rig, IIR), 0x01);
    assert_false(rig.line[IRQ]);
    tl_rig_stop(&rig);
}

static void test_divisor_and_scratch_are_stored(void **state) {
    (void)state;
    tl_rig rig;
    start(&rig);
    out(&rig, LCR, 0x83);
    out(&rig, DLL, 0x34);
    out(&rig, DLM, 0x12);
    assert_int_equal(in(&rig, DLL) | in(&rig, DLM) << 8, 0x1234);
    out(&rig, LCR, 0x03);
    assert_int_equal(in(&rig, IER), 0);
    assert_string_equal(rig.output, "");
    out(&rig, SCR, 0xa5);
    assert_int_equal(in(&rig, SCR), 0xa5);
    out(&rig, LSR, 0xff);
    out(&rig, MSR, 0xff);
    assert_int_equal(in(&rig, LSR), 0x60);
    assert_true(tl_rig_refuses(&rig, 8, 1));
    assert_true(tl_rig_refuses(&rig, 0, 8));
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_bytes_go_out_at_once),
    cmocka_unit_test(test_linux_takes_it_for_a_16550a),
    cmocka_unit_test(test_linux_finds_no_bug_in_the_transmitter_interrupt),
    cmocka_unit_test(test_transmitter_interrupt_comes_with_each_byte),
    cmocka_unit_test(test_reading_the_line_status_ends_the_transmitter_interrupt),
    cmocka_unit_test(test_other_interrupts_come_while_the_transmitter_is_told),
    cmocka_unit_test(test_received_bytes_are_polled_for_each_millisecond),
    cmocka_unit_test(test_nobody_is_asked_when_nothing_will_come),
    cmocka_unit_test(test_polling_the_line_status_receives),
    cmocka_unit_test(test_what_is_typed_ahead_waits_for_somebody_who_listens),
    cmocka_unit_test(test_a_program_that_prints_between_looks_receives_in_the_end),
    cmocka_unit_test(test_fifo_interrupts_at_its_trigger_and_after_its_timeout),
    cmocka_unit_test(test_switching_the_fifo_clears_it),
    cmocka_unit_test(test_loopback_returns_bytes_and_lines),
    cmocka_unit_test(test_modem_deltas_are_told_once),
    cmocka_unit_test(test_interrupts_are_told_in_order_of_priority),
    cmocka_unit_test(test_divisor_and_scratch_are_stored),
};
TL_TEST_MAIN(tests)
