// SPDX-License-Identifier: MIT
// Offsets, bits and instruction words that the monitor uses (DDI 0487, H9 and D7; DDI 0500).
#ifndef XCM_REGISTERS_H
#define XCM_REGISTERS_H

#include <stdint.h>

enum { // debug block
    EDESR = 0x020,
    EDECR = 0x024,
    DBGDTRRX = 0x080,
    EDITR = 0x084,
    EDSCR = 0x088,
    DBGDTRTX = 0x08c,
    EDRCR = 0x090,
    EDECCR = 0x098,
    OSLAR = 0x300,
    EDPRCR = 0x310,
    EDPRSR = 0x314,
    DBGBVR = 0x400, // + 16 n; high word + 4
    DBGBCR = 0x408, // + 16 n
    EDDFR = 0xd28,
    CLAIMSET = 0xfa0,
    CLAIMCLR = 0xfa4,
    DEVAFF0 = 0xfa8,
    DEVAFF1 = 0xfac,
    LAR = 0xfb0,
    LSR = 0xfb4,
    AUTHSTATUS = 0xfb8,
    DEVTYPE = 0xfcc,
    CIDR0 = 0xff0,
};
enum { // CTI
    CTICONTROL = 0x000,
    CTIINTACK = 0x010,
    CTIAPPPULSE = 0x01c,
    CTIINEN = 0x020,  // + 4 n
    CTIOUTEN = 0x0a0, // + 4 n
    CTITRIGOUTSTATUS = 0x134,
    CTIGATE = 0x140,
    CTI_TRIGGERS = 8,
};
enum {                // PMU
    PMEVCNTR = 0x000, // + 8 n
    PMCCNTR_LO = 0x0f8,
    PMCCNTR_HI = 0x0fc,
    PMEVTYPER = 0x400, // + 4 n
    PMCCFILTR = 0x47c,
    PMCNTENSET = 0xc00,
    PMCNTENCLR = 0xc20,
    PMINTENSET = 0xc40,
    PMINTENCLR = 0xc60,
    PMOVSCLR = 0xc80,
    PMOVSSET = 0xcc0,
    PMCR = 0xe04,
    PMCEID0 = 0xe20,
    PMCEID1 = 0xe24,
};

#define LOCK_KEY UINT32_C(0xc5acce55)
enum { CLAIM_MONITOR = 1 << 1, CLAIMS_TAKEN = 3 };
enum { LSR_SLI = 1, LSR_SLK = 2 };
enum { EDPRCR_CORENPDRQ = 1, EDPRCR_COREPURQ = 1 << 3 };
enum {
    PRSR_PU = 1 << 0,
    PRSR_SPD = 1 << 1,
    PRSR_R = 1 << 2,
    PRSR_SR = 1 << 3,
    PRSR_HALTED = 1 << 4,
    PRSR_OSLK = 1 << 5,
    PRSR_DLK = 1 << 6,
    PRSR_EDAD = 1 << 7,
    PRSR_SDAD = 1 << 8,
    PRSR_EPMAD = 1 << 9,
    PRSR_SPMAD = 1 << 10,
    PRSR_SDR = 1 << 11,
    PRSR_STICKY = PRSR_SPD | PRSR_SR | PRSR_SDAD | PRSR_SPMAD | PRSR_SDR,
};
enum { EDRCR_CSE = 1 << 2, EDRCR_CSPA = 1 << 3, EDECR_SS = 1 << 2 };
#define SCR_STATUS UINT32_C(0x3f)
#define SCR_ERR (UINT32_C(1) << 6)
#define SCR_EL_LSB 8
#define SCR_RW_LSB 10
#define SCR_HDE (UINT32_C(1) << 14)
#define SCR_SDD (UINT32_C(1) << 16)
#define SCR_NS (UINT32_C(1) << 18)
#define SCR_MA (UINT32_C(1) << 20)
#define SCR_TDA (UINT32_C(1) << 21)
#define SCR_INTDIS (UINT32_C(3) << 22)
#define SCR_ITE (UINT32_C(1) << 24)
#define SCR_PIPEADV (UINT32_C(1) << 25)
#define SCR_TXU (UINT32_C(1) << 26)
#define SCR_RXO (UINT32_C(1) << 27)
#define SCR_TXFULL (UINT32_C(1) << 29)
#define SCR_RXFULL (UINT32_C(1) << 30)
#define SCR_SAVED (SCR_HDE | SCR_TDA | SCR_INTDIS)
enum { STATUS_RESTARTING = 0x01, STATUS_RUNNING = 0x02, STATUS_BREAKPOINT = 0x07, STATUS_REQUEST = 0x13 };
enum { STATUS_STEP = 0x1b, STATUS_STEP_EXCLUSIVE = 0x1f, STATUS_STEP_NO_SYNDROME = 0x3b, STATUS_HLT = 0x2f };
enum { AUTH_NSID = 3, AUTH_SID = 3 << 4 };
enum { CHANNEL_HALT = 1 << 0, CHANNEL_RESTART = 1 << 1, CHANNELS_OURS = 3, TRIGGER_HALT = 1 << 0 };
enum { BCR_E = 1, BCR_USER = 0x41e5 };
enum { PSTATE_DAIF = 0x3c0, PSTATE_M4 = 1 << 4 };
enum { PMCR_E = 1, PMCR_P = 2, PMCR_C = 4, PMCR_N_LSB = 11 };
#define PM_CYCLES (UINT32_C(1) << 31)
#define PM_USER_ONLY UINT32_C(0x80000000)

// Instructions. Rt is X0 where the name has none; add the number of another register.
#define I_MRS_DLR UINT32_C(0xd53b4520)
#define I_MSR_DLR UINT32_C(0xd51b4520)
#define I_MRS_DSPSR UINT32_C(0xd53b4500)
#define I_MSR_DSPSR UINT32_C(0xd51b4500)
#define I_MRS_DTRRX UINT32_C(0xd5330500)
#define I_MRS_DTR UINT32_C(0xd5330400)
#define I_MSR_DTR UINT32_C(0xd5130400)
#define I_MSR_DTRTX UINT32_C(0xd5130500)
#define I_DCPS1 UINT32_C(0xd4a00001)
#define I_DCPS3 UINT32_C(0xd4a00003)
#define I_DRPS UINT32_C(0xd6bf03e0)
#define I_DSB UINT32_C(0xd5033f9f)
#define I_ISB UINT32_C(0xd5033fdf)
#define I_MOVZ UINT32_C(0xd2800000)
#define I_MOVK UINT32_C(0xf2800000)
#define I_MOV_X0_SP UINT32_C(0x910003e0)
#define I_MOV_SP_X0 UINT32_C(0x9100001f)
#define I_MRS_SP_EL0 UINT32_C(0xd5384100)
#define I_MSR_SP_EL0 UINT32_C(0xd5184100)
#define I_MSR_SPSR_EL1 UINT32_C(0xd5184000)
#define I_MSR_SPSR_EL3 UINT32_C(0xd51e4000)
#define I_MRS_SPSR_EL1 UINT32_C(0xd5384000)
#define I_MRS_ELR_EL1 UINT32_C(0xd5384020)
#define I_MSR_ELR_EL1 UINT32_C(0xd5184020)
#define I_MRS_ESR_EL1 UINT32_C(0xd5385200)
#define I_MSR_ESR_EL1 UINT32_C(0xd5185200)
#define I_MRS_ESR_EL3 UINT32_C(0xd53e5200)
#define I_MRS_FAR_EL1 UINT32_C(0xd5386000)
#define I_MSR_FAR_EL1 UINT32_C(0xd5186000)
#define I_AT_S1E0R UINT32_C(0xd5087840)
#define I_MRS_PAR UINT32_C(0xd5387400)
#define I_MSR_PAR UINT32_C(0xd5187400)
#define I_MSR_CSSELR UINT32_C(0xd51a0000)
#define I_MRS_CSSELR UINT32_C(0xd53a0000)
#define I_MRS_CCSIDR UINT32_C(0xd5390000)
#define I_MSR_PMUSERENR UINT32_C(0xd51b9e00)
#define I_MRS_PMUSERENR UINT32_C(0xd53b9e00)
#define I_DC_ISW UINT32_C(0xd5087640)
#define I_DC_CSW UINT32_C(0xd5087a40)
#define I_LDR_X1_POST8 UINT32_C(0xf8408401)
#define I_STR_X1_POST8 UINT32_C(0xf8008401)
#define I_MRS_CDBGDR UINT32_C(0xd53bf000) // + 0x20 k
#define I_MSR_CDBGDCT UINT32_C(0xd51bf200)
#define I_MSR_CDBGICT UINT32_C(0xd51bf220)
#define I_MSR_CDBGDCD UINT32_C(0xd51bf400)
#define I_MSR_CDBGICD UINT32_C(0xd51bf420)
#define I_MSR_CDBGTD UINT32_C(0xd51bf440)

#endif
