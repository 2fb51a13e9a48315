// SPDX-License-Identifier: MIT
// Finding a design and a preset by name.
#include "session/pmus.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

// "a, b, c"
static const char *all_types(char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (const tl_pmu_type *const *type = tl_pmu_types; *type && used < size; type++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", (*type)->name);
    return text;
}

static const char *all_presets(const tl_pmu_type *type, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (const tl_pmu_preset *const *preset = type->presets; *preset && used < size; preset++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", (*preset)->name);
    return text;
}

tl_status tl_pmus_find(const char *name, const tl_pmu_type **ret_type, const tl_pmu_preset **ret_preset, tl_error *err) {
    char text[200];
    size_t length = strcspn(name, ":");
    const tl_pmu_type *const *type = tl_pmu_types;
    while (*type && (strlen((*type)->name) != length || strncmp((*type)->name, name, length) != 0))
        type++;
    if (!*type)
        return tl_fail(err, TL_ENOENT, "no pmu is called %.100s; there %s %s", name, tl_pmu_types[0] && tl_pmu_types[1] ? "are" : "is",
                       all_types(text, sizeof text));
    const tl_pmu_preset *preset = NULL;
    if (name[length] == ':') {
        preset = tl_pmu_find_preset(*type, name + length + 1);
        if (!preset)
            return tl_fail(err, TL_ENOENT, "pmu %s has no preset %.100s; it has %s", (*type)->name, name + length + 1,
                           all_presets(*type, text, sizeof text));
    }
    *ret_type = *type;
    *ret_preset = preset;
    return TL_OK;
}
