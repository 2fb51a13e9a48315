// SPDX-License-Identifier: MIT
// tally describe: one machine in full.
#include "options.h"

int cli_describe(const cli_options *options) {
    tl_error err = {0};
    tl_status status = tl_describe_machine(options->described, options->run.overrides, options->describe_format, stdout, &err);
    if (status == TL_OK)
        return 0;
    fprintf(stderr, "tally: %s\n", err.text);
    return status == TL_ENOMEM || status == TL_EIO ? STATUS_FAILED : STATUS_USAGE;
}
