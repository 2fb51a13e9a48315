// SPDX-License-Identifier: MIT
// The face of the formats of a comparison.
#include "report/comparison.h"

tl_status tl_report_comparison(const tl_comparison *comparison, tl_compare_format format, FILE *stream, tl_error *err) {
    tl_status status = TL_OK;
    switch (format) {
    case TL_COMPARE_TEXT: tl_comparison_put_text(comparison, stream); break;
    case TL_COMPARE_JSON: status = tl_comparison_put_json(comparison, stream, err); break;
    case TL_COMPARE_CSV: tl_comparison_put_csv(comparison, stream); break;
    case TL_COMPARE_SVG: status = tl_comparison_put_svg(comparison, stream, err); break;
    default: return tl_fail(err, TL_EINVAL, "there is no format %d of comparisons", (int)format);
    }
    if (status == TL_OK && (fflush(stream) != 0 || ferror(stream)))
        status = tl_fail(err, TL_EIO, "the comparison could not be written in full");
    return status;
}
