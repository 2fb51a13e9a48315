/* SPDX-License-Identifier: MIT
 *
 * Opens the counters of the calling process on Linux: maps what the device offers to it, and fills a
 * smpm_cap (smpm.h). The device is /dev/smpm under `tally tenants`. Its first page tells where the
 * process finds its blocks. A load or store beyond what the process may see is SIGSEGV. */
#ifndef TALLY_SMPM_DEVICE_H
#define TALLY_SMPM_DEVICE_H

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "smpm.h"

/* Registers of the first page beside those of smpm.h. Bits 31:0 are an offset in the device, bits
 * 63:32 a size in words of 64 bits; 0: not for this process. */
#define SMPM_REG_WHO 4 /* virtual machine in bits 31:0, context in bits 63:32 */
#define SMPM_REG_SELF 5
#define SMPM_REG_VM 6
#define SMPM_REG_LIST 7
#define SMPM_CMD_FILTER 2 /* asks the switch manager for a filter at the shared units */

/* Maps `place`, which may be 0: NULL then. MAP_FAILED: the system refuses. */
static inline volatile uint64_t *smpm_map(int fd, uint64_t place, int prot) {
    size_t bytes = ((size_t)(place >> 32) * 8 + 4095) / 4096 * 4096;
    if (place >> 32 == 0)
        return NULL;
    return (volatile uint64_t *)mmap(NULL, bytes, prot, MAP_SHARED, fd, (off_t)(uint32_t)place);
}

/* 0; SMPM_DENIED: no such device, or it is not for this process; or as smpm_open. The mappings stay
 * until the process ends. */
static inline int smpm_open_device(struct smpm *s, const char *path) {
    struct smpm_cap cap;
    memset(&cap, 0, sizeof cap);
    int fd = open(path, O_RDWR);
    if (fd < 0)
        return SMPM_DENIED;
    cap.request = smpm_map(fd, (uint64_t)SMPM_W_COUNTS << 32, PROT_READ | PROT_WRITE);
    if (cap.request == MAP_FAILED) {
        close(fd);
        return SMPM_DENIED;
    }
    uint64_t self = cap.request[SMPM_REG_SELF], vm = cap.request[SMPM_REG_VM], list = cap.request[SMPM_REG_LIST];
    cap.block = smpm_map(fd, self, PROT_READ);
    cap.block_words = (uint32_t)(self >> 32);
    cap.vm_block = smpm_map(fd, vm, PROT_READ);
    cap.vm_block_words = (uint32_t)(vm >> 32);
    cap.list = smpm_map(fd, list, PROT_READ);
    cap.list_words = (uint32_t)(list >> 32);
    cap.handle = cap.request[SMPM_REG_HANDLE];
    close(fd);
    if (!cap.block || cap.block == MAP_FAILED || cap.vm_block == MAP_FAILED || cap.list == MAP_FAILED)
        return SMPM_DENIED;
    return smpm_open(s, &cap);
}

#endif
