// SPDX-License-Identifier: MIT
// Packets: a header of 32 bytes and elements of 8 bytes, little-endian. The checksum is that of the
// Internet (RFC 1071) over little-endian words.
#include "internal.h"

#include <string.h>

enum {
    AT_LENGTH = 0,
    AT_DIRECTION = 4,
    AT_CHECKSUM = 6,
    AT_OP = 8,
    AT_CODE = 10,
    AT_STATE = 11,
    AT_N = 12,
    AT_LIST = 16,
    AT_RESERVED = 24
};

uint16_t xcm_checksum(const uint8_t *packet, uint32_t n_bytes) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i + 1 < n_bytes; i += 2)
        if (i != AT_CHECKSUM) {
            sum += (uint32_t)xcm_get_bytes(packet + i, 2);
            sum = (sum & 0xffff) + (sum >> 16);
        }
    const uint16_t inverted = (uint16_t)~sum;
    return inverted == 0 ? 0xffff : inverted;
}

uint32_t xcm_seal(uint8_t *packet, uint16_t direction, uint16_t op, uint8_t code, uint8_t state, uint32_t n_elements) {
    const uint32_t length = XCM_HEADER_BYTES + 8 * n_elements;
    memset(packet, 0, XCM_HEADER_BYTES);
    xcm_put_bytes(packet + AT_LENGTH, 4, length);
    xcm_put_bytes(packet + AT_DIRECTION, 2, direction);
    xcm_put_bytes(packet + AT_OP, 2, op);
    packet[AT_CODE] = code;
    packet[AT_STATE] = state;
    xcm_put_bytes(packet + AT_N, 4, n_elements);
    xcm_put_bytes(packet + AT_LIST, 8, n_elements > 0 ? XCM_HEADER_BYTES : 0);
    xcm_put_bytes(packet + AT_CHECKSUM, 2, xcm_checksum(packet, length));
    return length;
}

void xcm_put_element(uint8_t *packet, uint32_t index, uint64_t value) { xcm_put_bytes(packet + XCM_HEADER_BYTES + 8 * index, 8, value); }
uint64_t xcm_element(const uint8_t *packet, uint32_t index) { return xcm_get_bytes(packet + XCM_HEADER_BYTES + 8 * index, 8); }

void xcm_read_header(const uint8_t *packet, xcm_packet *ret) {
    ret->length = (uint32_t)xcm_get_bytes(packet + AT_LENGTH, 4);
    ret->direction = (uint16_t)xcm_get_bytes(packet + AT_DIRECTION, 2);
    ret->checksum = (uint16_t)xcm_get_bytes(packet + AT_CHECKSUM, 2);
    ret->op = (uint16_t)xcm_get_bytes(packet + AT_OP, 2);
    ret->code = packet[AT_CODE];
    ret->state = packet[AT_STATE];
    ret->n_elements = (uint32_t)xcm_get_bytes(packet + AT_N, 4);
    ret->list = xcm_get_bytes(packet + AT_LIST, 8);
    ret->reserved = xcm_get_bytes(packet + AT_RESERVED, 8);
}

// Elements must fill the packet. A pointer into the sender's memory is the transport's business, so
// it has become elements before the packet comes here; the core takes 0 and 32.
static bool fits(const xcm_packet *p) { return p->length == XCM_HEADER_BYTES + 8 * (uint64_t)p->n_elements; }

xcm_code xcm_check_packet(const uint8_t *packet, uint32_t n_bytes, uint16_t direction, xcm_packet *ret) {
    *ret = (xcm_packet){0};
    if (n_bytes > XCM_PACKET_BYTES)
        return XCM_TOO_LARGE;
    if (n_bytes < XCM_HEADER_BYTES || n_bytes % 8 != 0)
        return XCM_BAD_LENGTH;
    xcm_read_header(packet, ret);
    if (ret->length > XCM_PACKET_BYTES)
        return XCM_TOO_LARGE;
    if (ret->length != n_bytes || !fits(ret))
        return XCM_BAD_LENGTH;
    if (ret->checksum != xcm_checksum(packet, n_bytes))
        return XCM_BAD_CHECKSUM;
    if (ret->direction != direction)
        return XCM_NOT_A_GET;
    if (ret->reserved != 0 || (direction == XCM_GET && (ret->code != 0 || ret->state != 0)))
        return XCM_RESERVED;
    return XCM_DONE;
}

const char *xcm_state_name(uint8_t state) {
    switch (state) {
    case XCM_NONE: return "none";
    case XCM_IDLE: return "idle";
    case XCM_LISTENING: return "listening";
    case XCM_HALTED: return "halted";
    case XCM_ENDED: return "ended";
    default: return "unknown";
    }
}

const char *xcm_code_text(uint8_t code) {
    switch (code) {
    case XCM_BAD_LENGTH: return "The packet's length is not that of its header and elements.";
    case XCM_BAD_CHECKSUM: return "The packet's checksum is wrong.";
    case XCM_NOT_A_GET: return "The packet is not a request.";
    case XCM_TOO_LARGE: return "The packet has more than 32768 bytes.";
    case XCM_UNKNOWN_OP: return "The monitor has no such function.";
    case XCM_WRONG_STATE: return "The function is not allowed in this state of the monitor.";
    case XCM_WRONG_BITMAP: return "The states in the function's code are not those of the monitor.";
    case XCM_BAD_ARGUMENT: return "An argument is out of range.";
    case XCM_RESERVED: return "A field that must be zero is not.";
    case XCM_BUSY: return "Another request is under way; wait for its reply.";
    case XCM_NOT_OWNER: return "Another client owns the target.";
    case XCM_NO_PRIVILEGE: return "The client may not debug.";
    case XCM_DONE: return "Done.";
    case XCM_TIMEOUT: return "The target did not answer in time.";
    case XCM_EXCEPTION: return "The target took an exception in Debug state.";
    case XCM_LOST: return "The target lost power, was reset, or locked itself.";
    case XCM_NO_AUTHORITY: return "The authentication inputs do not permit this.";
    case XCM_UNKNOWN_VERDICT: return "The probe ran and gives no verdict.";
    case XCM_RING_FULL: return "The ring is full, and records were dropped.";
    case XCM_OTHER_DEBUGGER: return "Another debugger owns the target.";
    case XCM_OVER_BUDGET: return "The stop budget is over, and the target runs again.";
    case XCM_WRONG_LEVEL: return "The target is not at EL0 of AArch64.";
    case XCM_ABSENT: return "The core or the host lacks this feature.";
    case XCM_DCC_OVERRUN: return "A transfer of the debug channel was lost.";
    case XCM_INTERNAL: return "The monitor is in a state that it does not know.";
    default: return "The code is unknown.";
    }
}
