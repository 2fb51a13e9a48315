// SPDX-License-Identifier: MIT
// tally/reading.h over the session and its report.
#include "result/reading.h"
#include "api/fill.h"
#include "report/readings.h"
#include "session/run.h"

TL_API tl_status tl_run_read_pmu(tl_run *run, const char *pmu, tl_reading **ret_reading, tl_error *err) {
    return tl_session_read_pmu((tl_session *)run, pmu, ret_reading, err);
}

TL_API void tl_reading_free(tl_reading *reading) { tl_reading_release(reading); }

TL_API const char *tl_reading_program(const tl_reading *reading) { return reading->program; }

TL_API uint64_t tl_reading_instructions(const tl_reading *reading) { return reading->instructions; }

TL_API uint32_t tl_reading_n_values(const tl_reading *reading) { return reading->n_values; }

TL_API void tl_reading_value_at(const tl_reading *reading, uint32_t index, tl_reading_value *ret_value) {
    static const tl_reading_value none = {.unit = "", .event = ""};
    tl_api_fill(ret_value, index < reading->n_values ? &reading->values[index] : &none, sizeof none);
}

TL_API void tl_reading_cost_of(const tl_reading *reading, tl_reading_cost *ret_cost) {
    tl_api_fill(ret_cost, &reading->cost, sizeof reading->cost);
}

TL_API void tl_reading_identity(const tl_reading *reading, uint64_t *ret_l2_reads, uint64_t *ret_l1_misses) {
    *ret_l2_reads = reading->l2_reads;
    *ret_l1_misses = reading->l1_misses;
}

TL_API uint64_t tl_reading_largest_error(const tl_reading *reading) { return reading->largest_error; }

TL_API tl_status tl_readings_write(const tl_reading *const *readings, uint32_t n_readings, tl_readings_format format, FILE *stream,
                                   tl_error *err) {
    return tl_report_readings(readings, n_readings, format, stream, err);
}
