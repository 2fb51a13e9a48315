// SPDX-License-Identifier: MIT
// Rows of keys.def, and their defaults.
#include "pmu/netburst/netburst.h"

static const char *const switches[] = {"off", "on", NULL};
static const char *const skids[] = {"fixed", "mechanistic", "calibrated", NULL};
static const char *const errata[] = {"model", "none", NULL};
static const char *const automatic[] = {"auto", "off", "on", NULL};

const tl_key tl_netburst_keys[] = {
#define NUMBER(...) TL_KEY_NUMBER(tl_netburst_settings, __VA_ARGS__)
#define CHOICE(...) TL_KEY_NAMED(tl_netburst_settings, __VA_ARGS__)
#include "pmu/netburst/keys.def"
#undef NUMBER
#undef CHOICE
    {.path = NULL},
};

const tl_netburst_settings tl_netburst_default_settings = {
    .model = 2,
    .stepping = 9,
    .power_gate = 1,
    .assist_clocks = 300,
    .pmi_latency = 138,
    .bus_ratio = 15,
};
