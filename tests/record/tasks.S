# SPDX-License-Identifier: MIT
# A bare program with traps and two kinds of task switch; run.py has the instructions of each path, worked out on paper.
# main and task_b switch by a return (`switch`); main and task_c by the return of a trap (`handler`, `service`).
    .option norvc
    .globl  _start, main, spin, switch, task_b, task_c, handler, service
    .macro  function name
    .type   \name, @function
\name:
    .endm
    .macro  yield                   # 1: the handler swaps tasks
    ecall
    .endm

    function _start                 # 11 until the call of main, 3 after it
    lla     sp, main_stack
    lla     t0, handler
    csrw    mtvec, t0
    lla     t0, handler_stack
    csrw    mscratch, t0
    lla     s10, slots
    jal     main
    li      t1, 0x5555
    li      t2, 0x100000
    sw      t1, (t2)
0:  j       0b
    .size   _start, . - _start

    function main                   # 16, 15 of them with a yield in between
    addi    sp, sp, -16
    sd      ra, 0(sp)
    li      a0, 10
    jal     spin
    jal     switch
    li      a0, 20
    jal     spin
    yield
    yield
    jal     switch
    li      a0, 70
    jal     spin
    ld      ra, 0(sp)
    addi    sp, sp, 16
    ret
    .size   main, . - main

    function spin                   # 2 n + 1
    addi    a0, a0, -1
    bnez    a0, spin
    ret
    .size   spin, . - spin

    function switch                 # 9: to the task in the other slot
    addi    sp, sp, -16
    sd      ra, 0(sp)
    ld      t0, 8(s10)
    sd      sp, 8(s10)
    mv      sp, t0
    ld      ra, 0(sp)
    addi    sp, sp, 16
    nop
    ret
    .size   switch, . - switch

    function task_b                 # 5
    li      a0, 30
    jal     spin
    jal     switch
    li      a0, 40
    jal     spin
    jal     switch
    .size   task_b, . - task_b

    function task_c                 # 4, and its yields
    li      a0, 50
    jal     spin
    yield
    li      a0, 60
    jal     spin
    yield
    .size   task_c, . - task_c

    .balign 4
    function handler                # 6
    csrrw   sp, mscratch, sp
    addi    sp, sp, -16
    jal     service
    addi    sp, sp, 16
    csrrw   sp, mscratch, sp
    mret
    .size   handler, . - handler

    function service                # 11: to the task in the other slot
    csrr    t0, mepc
    addi    t0, t0, 4
    ld      t1, 16(s10)
    sd      t0, 16(s10)
    csrw    mepc, t1
    csrr    t0, mscratch
    ld      t1, 24(s10)
    sd      t0, 24(s10)
    csrw    mscratch, t1
    csrwi   mcountinhibit, 0
    ret
    .size   service, . - service

    .data
    .balign 16
slots:
    .dword  0, start_of_b, task_c, c_stack
    .skip   256
start_of_b:
    .dword  task_b, 0
b_stack:
    .skip   256
c_stack:
    .skip   256
main_stack:
    .skip   256
handler_stack:
