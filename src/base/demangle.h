// SPDX-License-Identifier: MIT
// Demangles symbols of C++ (Itanium C++ ABI) and Rust (both manglings). Depth, work and output are
// bounded because symbols come from untrusted files. A symbol beyond a bound counts as not mangled.
// The spelling is that of binutils' c++filt.
#ifndef TL_BASE_DEMANGLE_H
#define TL_BASE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum tl_demangle_form {
    TL_DEMANGLE_FULL, // "int ns::f<int>(char) const"
    // "ns::f<int>", without return type, parameters and suffixes such as " [clone .cold]".
    TL_DEMANGLE_NAME,
} tl_demangle_form;

enum { TL_DEMANGLE_BYTES = 4096 };

// False: `symbol` is not mangled, or its mangling is unknown; ret_text is then undefined.
bool tl_demangle(const char *symbol, tl_demangle_form form, char ret_text[TL_DEMANGLE_BYTES]);

#endif
