// SPDX-License-Identifier: MIT
// Hardware cost of the design: flip-flops and wires, as functions of harts, managers, counters and
// FIFO depth. The sums follow the description register by register. They do not model a synthesis
// tool.
#include "pmu/dhpc/dhpc.h"

enum {
    ID_BITS = 17,
    VALUE_BITS = 64,
    EPOCH_BITS = 4, // as the paper's implementations have it
    INDEX_BITS = 6,
};

static uint64_t bits_to_count(uint64_t n) { // bits that distinguish n things
    uint64_t bits = 0;
    while ((UINT64_C(1) << bits) < n)
        bits++;
    return bits;
}

static void add_client(const tl_dhpc_config *config, tl_dhpc_cost *cost) {
    uint64_t depth = config->fifo_depth, pointer = bits_to_count(depth);
    cost->client_fifo = depth * VALUE_BITS;
    // hpcm; hpcc: trigger, interrupted, readerror, id, useren (empty is the FIFO's fill of 0); the
    // latch of hpcr
    cost->client_registers = VALUE_BITS + (3 + ID_BITS + 1) + VALUE_BITS;
    // read and write pointers and fill of the FIFO; epoch; a request waits, a cancel is out; the
    // bitmap captured (the id is held in hpcc)
    cost->client_control = 2 * pointer + bits_to_count(depth + 1) + EPOCH_BITS + 2 + VALUE_BITS;
}

tl_dhpc_cost tl_dhpc_cost_of(const tl_dhpc_config *config, uint32_t n_harts, const tl_dhpc_manager *managers, uint32_t n_managers) {
    tl_dhpc_cost cost = {.n_harts = n_harts, .n_managers = n_managers};
    uint64_t client_bits = bits_to_count(n_harts);
    add_client(config, &cost);
    for (uint32_t m = 0; m < n_managers; m++) {
        uint32_t n_numbers = (uint32_t)__builtin_popcountll(managers[m].implemented);
        // Numbers of a directory are wired, not counted.
        uint32_t n = tl_dhpc_class_of(managers[m].id) == TL_DHPC_DIRECTORY ? 0 : n_numbers;
        cost.n_counters += n;
        cost.n_wired += n_numbers - n;
        cost.manager_counters += (uint64_t)n * VALUE_BITS;
        cost.manager_snapshot += config->sampling == TL_DHPC_SNAPSHOT ? (uint64_t)n * VALUE_BITS : 0;
        // bitmap still to be sent; client, epoch and phase of the request in service; what counts
        // the cycles of a beat
        cost.manager_control += VALUE_BITS + client_bits + EPOCH_BITS + 2 + bits_to_count(config->beat) + INDEX_BITS;
        cost.arbiters += client_bits + 1; // last granted, locked
    }
    cost.clients = n_harts * (cost.client_fifo + cost.client_registers + cost.client_control);
    cost.managers = cost.manager_counters + cost.manager_control + cost.manager_snapshot;
    cost.state_bits = cost.clients + cost.managers + cost.arbiters;
    // Request or cancel, client to port: valid and accepted, which of the two, id, bitmap, epoch;
    // the client is known by its link.
    cost.request_wires = 2 + 1 + ID_BITS + VALUE_BITS + EPOCH_BITS;
    // Data, port to client: valid, has data, last, confirmation, index, data, epoch.
    cost.data_wires = 4 + INDEX_BITS + VALUE_BITS + EPOCH_BITS;
    // Each client has one link into the interconnect and one out of it, each manager the same with
    // the client's number on both.
    cost.wires = (uint64_t)n_harts * (cost.request_wires + cost.data_wires) +
                 (uint64_t)n_managers * (cost.request_wires + cost.data_wires + 2 * client_bits);
    return cost;
}
