// SPDX-License-Identifier: MIT
// Opened records as text and JSON.
#ifndef TL_REPORT_RECORDS_H
#define TL_REPORT_RECORDS_H

#include <tally/records.h>

#include "base/json.h"

// `value_of` gives the values of the entry; they are asked for if it is good.
typedef void tl_report_record_value(const void *source, uint32_t index, tl_record_value *ret_value);
void tl_report_record_text(const tl_record_entry *entry, uint64_t number, tl_report_record_value *value_of, const void *source,
                           FILE *stream);
void tl_report_records_summary_text(const tl_records_summary *summary, FILE *stream);

void tl_report_records_header_json(tl_json *json);
void tl_report_record_json(const tl_record_entry *entry, tl_report_record_value *value_of, const void *source, tl_json *json);
void tl_report_records_summary_json(const tl_records_summary *summary, tl_json *json);

#endif
