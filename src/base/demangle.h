// SPDX-License-Identifier: MIT
// The name that a programmer wrote, from a symbol of C++ (Itanium C++ ABI) or Rust (both
// manglings). Symbols come from files that nobody vouches for: depth, work and output are bounded,
// and what does not fit is no such symbol. Spelling is that of binutils' c++filt.
#ifndef TL_BASE_DEMANGLE_H
#define TL_BASE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum tl_demangle_form {
    TL_DEMANGLE_FULL, // "int ns::f<int>(char) const"
    TL_DEMANGLE_NAME, // "ns::f<int>": without return type, parameters and suffixes such as " [clone .cold]"
} tl_demangle_form;

enum { TL_DEMANGLE_BYTES = 4096 };

// False: `symbol` is not mangled, or not in a way that is understood; ret_text then holds nothing
// of value.
bool tl_demangle(const char *symbol, tl_demangle_form form, char ret_text[TL_DEMANGLE_BYTES]);

#endif
