// SPDX-License-Identifier: MIT
// A bare-metal program that copies the text of the disk's first sector to the serial port, and
// writes it back in capitals. It polls. Exit status: 1 the transport is not of version 2, 2 there
// is no disk, 3 the request failed.
    .option norvc
    .option norelax
    .equ VIRTIO, 0x10001000
    .globl _start
_start:
    csrr t0, mhartid
    bnez t0, wait
    li s0, VIRTIO
    li a0, 1
    lw t0, 0x04(s0)        // version
    li t1, 2
    bne t0, t1, end
    li a0, 2
    lw t0, 0x08(s0)        // device: a disk is 2
    bne t0, t1, end
    sw zero, 0x70(s0)      // status: nothing, then driver found
    li t0, 3
    sw t0, 0x70(s0)
    li t0, 11              // features: none. FEATURES_OK
    sw t0, 0x70(s0)
    sw zero, 0x30(s0)      // queue 0 of 4
    li t0, 4
    sw t0, 0x38(s0)
    lla t0, table
    sw t0, 0x80(s0)
    lla t0, available
    sw t0, 0x90(s0)
    lla t0, used
    sw t0, 0xa0(s0)
    li t0, 1
    sw t0, 0x44(s0)
    li t0, 15
    sw t0, 0x70(s0)

    li s1, 1
    jal request            // read
    lla s2, data
1:  lbu t0, (s2)
    beqz t0, 2f
    li t1, 0x10000000
    sb t0, (t1)
    li t1, 'a'
    blt t0, t1, 3f
    addi t0, t0, -32
    sb t0, (s2)
3:  addi s2, s2, 1
    j 1b
2:  li t0, 1               // write
    lla t1, header
    sw t0, (t1)
    lla t1, table
    sh t0, 28(t1)          // the data is the device's to read: NEXT alone
    li s1, 2
    jal request
    li a0, 0

end:
    li t2, 0x100000
    li t0, 0x5555
    beqz a0, 1f
    slli t0, a0, 16
    li t1, 0x3333
    or t0, t0, t1
1:  sw t0, (t2)
wait:
    wfi
    j wait

request:                   // number s1 of all; returns when it is done
    lla t0, available
    sh s1, 2(t0)
    fence
    sw zero, 0x50(s0)
    lla t0, used
1:  lhu t1, 2(t0)
    bne t1, s1, 1b
    lla t0, status
    lbu t1, (t0)
    li a0, 3
    bnez t1, end
    ret

    .data
    .balign 16
table:
    .dword header
    .word 16
    .half 1, 1
    .dword data
    .word 512
    .half 3, 2
    .dword status
    .word 1
    .half 2, 0
    .zero 16
available:
    .half 0, 0, 0, 0, 0, 0, 0
    .balign 4
used:
    .zero 64
    .balign 8
header:
    .word 0, 0
    .dword 0
status:
    .byte 0xff
    .balign 8
data:
    .zero 513
