// SPDX-License-Identifier: MIT
// Names as c++filt writes them (-i, and -i -p for the second form, but that this keeps what stands
// behind a name of Rust). tests/oracle/demangle.py compares with it on every symbol of whole
// libraries.
#include "base/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "base/testing.h"

static const struct {
    const char *symbol, *full, *name;
} rows[] = {
    {"_Z10shared_incii", "shared_inc(int, int)", "shared_inc"},
    {"_ZN2ns1fEv", "ns::f()", "ns::f"},
    {"_ZNK2ns1SIiE1hEv", "ns::S<int>::h() const", "ns::S<int>::h"},
    {"_ZNKR2ns1SIiE1hEv", "ns::S<int>::h() const &", "ns::S<int>::h"},
    {"_ZNO2ns1SIiE1gEv", "ns::S<int>::g() &&", "ns::S<int>::g"},
    {"_ZN2ns1SIiEC1ERKS1_", "ns::S<int>::S(ns::S<int> const&)", "ns::S<int>::S"},
    {"_ZN2ns1SIiED2Ev", "ns::S<int>::~S()", "ns::S<int>::~S"},
    {"_ZN2ns1SIiE2In1mEPFviERA3_iMS1_iMS1_KFclE",
     "ns::S<int>::In::m(void (*)(int), int (&) [3], int ns::S<int>::*, char (ns::S<int>::*)(long) const)", "ns::S<int>::In::m"},
    {"_ZNK2ns1SIiEcviEv", "ns::S<int>::operator int() const", "ns::S<int>::operator int"},
    {"_ZNK2ns1SIiEcvPT_IcEEv", "ns::S<int>::operator char*<char>() const", "ns::S<int>::operator char*<char>"},
    {"_ZN2ns1VILNS_1EEn3ELj5ELb1ELc97EE1qEv", "ns::V<(ns::E)-3, 5u, true, (char)97>::q()", "ns::V<(ns::E)-3, 5u, true, (char)97>::q"},
    {"_ZN2nsli3_kmEy", "ns::operator\"\" _km(unsigned long long)", "ns::operator\"\" _km"},
    {"_ZN2ns4intsIJLi1ELi2ELin3EEEEvv", "void ns::ints<1, 2, -3>()", "ns::ints<1, 2, -3>"},
    {"_ZN2ns4intsIJEEEvv", "void ns::ints<>()", "ns::ints<>"},
    {"_ZN2ns2enIlEENSt9enable_ifIXgtstT_Li4EES2_E4typeES2_", "std::enable_if<((sizeof (long))>(4)), long>::type ns::en<long>(long)",
     "ns::en<long>"},
    {"_ZN2ns12_GLOBAL__N_11A1mEv", "ns::(anonymous namespace)::A::m()", "ns::(anonymous namespace)::A::m"},
    {"_ZN2ns2v26taggedB4tag1B4tag2Ev", "ns::v2::tagged[abi:tag1][abi:tag2]()", "ns::v2::tagged[abi:tag1][abi:tag2]"},
    {"_ZZN2ns5defltESt8functionIFiiEEENKUlT_DpT0_E_clIdJiEEEDaS3_S5_",
     "auto ns::deflt(std::function<int (int)>)::{lambda(auto:1, (auto:2)...)#1}::operator()<double, int>(double, int) const",
     "ns::deflt(std::function<int (int)>)::{lambda(auto:1, (auto:2)...)#1}::operator()<double, int>"},
    {"_ZThn8_N2ns2Ve1nEv", "non-virtual thunk to ns::Ve::n()", "non-virtual thunk to ns::Ve::n()"},
    {"_ZTchn8_h16_N2ns2Vc1cEv", "covariant return thunk to ns::Vc::c()", "covariant return thunk to ns::Vc::c()"},
    {"_ZTVN2ns2VbE", "vtable for ns::Vb", "vtable for ns::Vb"},
    {"_ZTCN2ns2VeE8_NS_2VcE", "construction vtable for ns::Vc-in-ns::Ve", "construction vtable for ns::Vc-in-ns::Ve"},
    {"_ZGVZN2ns4lrefEvE5guard", "guard variable for ns::lref()::guard", "guard variable for ns::lref()::guard"},
    {"_ZNSs6appendEPKc", "std::string::append(char const*)", "std::string::append"},
    {"_ZNSsC1ERKSs", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string(std::string const&)",
     "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string"},
    {"_ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKSbIS4_S5_T1_E",
     "std::basic_ostream<char, std::char_traits<char> >& std::operator<< <char, std::char_traits<char>, std::allocator<char> >(std::basic_ostream<char, std::char_traits<char> >&, std::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)",
     "std::operator<< <char, std::char_traits<char>, std::allocator<char> >"},
    {"_ZNSt6vectorIiSaIiEE12emplace_backIJiEEERiDpOT_", "int& std::vector<int, std::allocator<int> >::emplace_back<int>(int&&)",
     "std::vector<int, std::allocator<int> >::emplace_back<int>"},
    {"_ZSt9__find_ifIPKiN9__gnu_cxx5__ops10_Iter_predISt7_Mem_fnIM1BKFbvEEEEET_S9_S9_T0_",
     "int const* std::__find_if<int const*, __gnu_cxx::__ops::_Iter_pred<std::_Mem_fn<bool (B::*)() const> > >(std::_Mem_fn<bool (B::*)() const>, std::_Mem_fn<bool (B::*)() const>, __gnu_cxx::__ops::_Iter_pred<std::_Mem_fn<bool (B::*)() const> >)",
     "std::__find_if<int const*, __gnu_cxx::__ops::_Iter_pred<std::_Mem_fn<bool (B::*)() const> > >"},
    {"_ZN1A1fILi1EEEvv.constprop.0.cold", "void A::f<1>() [clone .constprop.0] [clone .cold]", "A::f<1>"},
    {"_Z1fIZNK1BIiE3fooEmEUliE_EvT_",
     "void f<B<int>::foo(unsigned long) const::{lambda(int)#1}>(B<int>::foo(unsigned long) const::{lambda(int)#1})",
     "f<B<int>::foo(unsigned long) const::{lambda(int)#1}>"},
    {"_Z4sortIZ1hvEUlRT_RT0_E0_EvS0_S1_",
     "void sort<h()::{lambda(auto:1&, auto:2&)#2}>(h()::{lambda(auto:1&, auto:2&)#2}, h()::{lambda(auto:1&, auto:2&)#2}&)",
     "sort<h()::{lambda(auto:1&, auto:2&)#2}>"},
    {"_ZN2ns1SIiE1fIJildEEEDTfrplfp_EDpOT_", "decltype (({parm#1}+...)) ns::S<int>::f<int, long, double>(int&&, long&&, double&&)",
     "ns::S<int>::f<int, long, double>"},
    {"_ZSt12construct_atIcJRcEEDTgsnwcvPvLi0E_T_pispcl7declvalIT0_EEEEPS2_DpOS3_",
     "decltype (::new ((void*)(0)) char((declval<char&>)())) std::construct_at<char, char&>(char*, char&)",
     "std::construct_at<char, char&>"},
    {"_Z1fPVKiPrcA_iA4_A5_c", "f(int const volatile*, char restrict*, int [], char [4][5])", "f"},
    {"_Z1fPFPFviEvE", "f(void (*(*)())(int))", "f"},
    {"_Z1fRKSt17basic_string_viewIcSt11char_traitsIcEE", "f(std::basic_string_view<char, std::char_traits<char> > const&)", "f"},
    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad", "core::fmt::Formatter::pad"},
    {"_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h1f3a5b7c9d0e2468E",
     "<alloc::string::String as core::fmt::Debug>::fmt", "<alloc::string::String as core::fmt::Debug>::fmt"},
    {"_ZN3foo28_$u7b$$u7b$closure$u7d$$u7d$17h1f3a5b7c9d0e2468E", "foo::{{closure}}", "foo::{{closure}}"},
    {"_RNvC3foo3bar", "foo::bar", "foo::bar"},
    {"_RNvCseMuHkhD9Ga3_14rustc_demangle8demangle", "rustc_demangle::demangle", "rustc_demangle::demangle"},
    {"_RNvXs_NtC3foo3barNtB4_3BazNtNtNtC4core3ops4drop4Drop4drop", "<foo::bar::Baz as core::ops::drop::Drop>::drop",
     "<foo::bar::Baz as core::ops::drop::Drop>::drop"},
    {"_RINvNtC3foo3bar3bazlRNtB4_3QuxE", "foo::bar::baz::<i32, &foo::Qux>", "foo::bar::baz::<i32, &foo::Qux>"},
    {"_RNCNvC3foo3bar0B3_", "foo::bar::{closure#0}", "foo::bar::{closure#0}"},
    {"_RNCNvC3foo3bars_0B3_", "foo::bar::{closure#1}", "foo::bar::{closure#1}"},
    {"_RINvC3foo3barAhj20_E", "foo::bar::<[u8; 32]>", "foo::bar::<[u8; 32]>"},
    {"_RINvC3foo3barFUKCTjmEEuE", "foo::bar::<unsafe extern \"C\" fn((usize, u32))>", "foo::bar::<unsafe extern \"C\" fn((usize, u32))>"},
    {"_RINvC3foo3barDG0_NtC3foo5TraitEL_E", "foo::bar::<dyn for<'a, 'b> foo::Trait>", "foo::bar::<dyn for<'a, 'b> foo::Trait>"},
    {"_RINvC3foo3barKb1_Kc61_Kin5_E", "foo::bar::<true, 'a', -5>", "foo::bar::<true, 'a', -5>"},
    {"_RNvC3foou8gdel_5qa", "foo::gödel", "foo::gödel"},
};

static void test_names_are_those_of_the_source(void **state) {
    (void)state;
    char text[TL_DEMANGLE_BYTES];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_full = tl_demangle(rows[i].symbol, TL_DEMANGLE_FULL, text);
        assert_string_equal(is_full ? text : rows[i].symbol, rows[i].full);
        bool is_name = tl_demangle(rows[i].symbol, TL_DEMANGLE_NAME, text);
        assert_string_equal(is_name ? text : rows[i].symbol, rows[i].name);
    }
}

static void test_other_names_are_left_alone(void **state) {
    (void)state;
    static const char *const names[] = {"",
                                        "_",
                                        "_Z",
                                        "_R",
                                        "_ZN",
                                        "main",
                                        "_Reset",
                                        "__Z1fv",
                                        "_Z1",
                                        "_Z5ab",
                                        "_ZN1aE1",
                                        "_Z1fv.",
                                        "_Z1fv.-1",
                                        "_Z1fS_",
                                        "_Z1fT_x",
                                        "_Z1fv v",
                                        "_Z99999999999999999999f",
                                        "_RB_",
                                        "_RNvB_1a",
                                        "_RC0",
                                        "_RNvC1a2b",
                                        "_Z1f\xff"};
    char text[TL_DEMANGLE_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (tl_demangle(names[i], TL_DEMANGLE_FULL, text))
            fail_msg("%s became %s", names[i], text);
    }
}

// Too even for a hash: a name of C++.
static void test_a_hash_of_rust_has_different_digits(void **state) {
    (void)state;
    char text[TL_DEMANGLE_BYTES];
    assert_true(tl_demangle("_ZN3foo17h0000000000000000E", TL_DEMANGLE_FULL, text));
    assert_string_equal(text, "foo::h0000000000000000");
}

// "_Z" and `inner` so many times.
static char *repeat(const char *before, const char *inner, size_t n, const char *after) {
    char *text = malloc(strlen(before) + n * strlen(inner) + strlen(after) + 1);
    assert_non_null(text);
    strcpy(text, before); // NOLINT: there is room
    for (size_t i = 0; i < n; i++)
        strcat(text, inner);    // NOLINT
    return strcat(text, after); // NOLINT
}

static void test_depth_work_and_output_are_bounded(void **state) {
    (void)state;
    static const struct {
        const char *before, *inner, *after;
        size_t n;
    } bombs[] = {
        {"_Z1f", "P", "i", 4000},        {"_Z1f", "FP", "vE", 2000},   {"_Z1fI", "1aI", "iE", 2500},    {"_Z", "Z", "1fvE1x", 4000},
        {"_Z1fDTcl", "cl", "1aE", 3000}, {"_R", "Nv", "C1a1b", 3000},  {"_RINvC1a1b", "R", "lE", 4000}, {"_RINvC1a1b", "TB", "lE", 3000},
        {"_Z1fI", "J", "iE", 4000},      {"_Z1fIX", "ng", "EE", 3000}, {"_Z", "_", "", 9000},           {"_Z1fK", "K", "i", 4000},
    };
    char text[TL_DEMANGLE_BYTES];
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        char *symbol = repeat(bombs[i].before, bombs[i].inner, bombs[i].n, bombs[i].after);
        (void)tl_demangle(symbol, TL_DEMANGLE_FULL, text);
        (void)tl_demangle(symbol, TL_DEMANGLE_NAME, text);
        free(symbol);
    }
    // Each type holds the one before it twice: 2^24 names if all were written.
    char symbol[256] = "_Z1f1aIiiE";
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int i = 0; i < 24; i++) {
        char part[] = "S_IS?_S?_E";
        part[4] = part[7] = digits[i];
        strcat(symbol, part); // NOLINT
    }
    assert_false(tl_demangle(symbol, TL_DEMANGLE_FULL, text));
    assert_true(tl_demangle(symbol, TL_DEMANGLE_NAME, text));
    assert_string_equal(text, "f");
    // The longest text that fits.
    char *just = repeat("_Z4000", "a", 4000, "v");
    assert_true(tl_demangle(just, TL_DEMANGLE_FULL, text));
    assert_int_equal(strlen(text), 4002);
    free(just);
    char *over = repeat("_Z4094", "a", 4094, "v");
    assert_false(tl_demangle(over, TL_DEMANGLE_FULL, text));
    assert_true(tl_demangle(over, TL_DEMANGLE_NAME, text));
    free(over);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names_are_those_of_the_source),
    cmocka_unit_test(test_other_names_are_left_alone),
    cmocka_unit_test(test_a_hash_of_rust_has_different_digits),
    cmocka_unit_test(test_depth_work_and_output_are_bounded),
};
TL_TEST_MAIN(tests)
