# SPDX-License-Identifier: MIT
# Tail calls of a function that nobody has called yet, and that is called later; run.py has the instructions of each path, worked out on paper.
# Two branches of pick lead to one place, and others to places before and behind it.
    .option norvc
    .globl  _start, first, last, pick
    .macro  function name
    .type   \name, @function
\name:
    .endm

    function _start                 # 5 * 2000 + 1 for each loop, 1 in between, 3 behind pick
    li      s0, 2000
0:  jal     first
    nop
    nop
    addi    s0, s0, -1
    bnez    s0, 0b
    jal     last                    # a jump to it is a tail call from now on
    li      s0, 2000
1:  jal     first
    nop
    nop
    addi    s0, s0, -1
    bnez    s0, 1b
    jal     pick
    li      a0, 0
    li      a7, 93
    ecall
    .size   _start, . - _start

    function first                  # 2 a call, and the 3 of last while that is no tail call
    nop
    j       last
    .size   first, . - first

    function last                   # 3
    nop
    nop
    ret
    .size   last, . - last

    function pick                   # 9
    li      t0, 2
0:  addi    t0, t0, -1
    beq     t0, zero, 1f
    bltz    t0, 1f
    bnez    t0, 0b
    nop
1:  beqz    t0, 2f
    nop
2:  ret
    .size   pick, . - pick
