# SPDX-License-Identifier: MIT
# Calls along a wrong path; run.py has the misses of each context, worked out on paper. The load of _start delays all retirement, so the calls
# of f and leaf are in flight when the division ends and the branch, which is taken for the first time, turns out to be mispredicted.
    .option norvc
    .globl  _start, f, leaf, victim
    .macro  function name
    .type   \name, @function
\name:
    .endm

    .balign 64
    function _start
    lla     s0, data
    ld      t0, 0(s0)               # the page and its translation; the value is 0
    li      t2, 3
    add     s0, s0, t0              # waits for it
    fence                           # retires before the rest is fetched
    j       0f
    .balign 64
0:  ld      t3, 128(s0)             # misses
    jal     f
    li      a0, 0
    li      a7, 93
    ecall
    .size   _start, . - _start

    .balign 64                      # all in one line
    function f
    mv      s2, ra
    divu    t1, t0, t2
    beqz    t1, 0f
    jal     victim
0:  jal     leaf
    mv      ra, s2
    ret
    .size   f, . - f
    function leaf
    ld      t4, 256(s0)             # misses
    ret
    .size   leaf, . - leaf
    function victim
    ld      t5, 384(s0)             # misses, and never happens
    ld      t6, 512(s0)
    fence                           # fetch waits in vain
    ret
    .size   victim, . - victim

    .bss
    .balign 4096
data:
    .skip   4096
