# SPDX-License-Identifier: MIT
# Splits text, counts words in a hash, substitutes, sorts and formats: ARGV[0] rounds.
use strict;
use warnings;

my $seed = 12345;
my @words = map { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; sprintf "w%x", $seed >> 8 } 1 .. 4000;
my $text = join ' ', @words;
my $sum = 0;
for my $round (1 .. $ARGV[0]) {
    my %count;
    $count{substr $_, 0, 4}++ for split /\s+/, $text;
    (my $changed = $text) =~ s/w([0-9a-f])([0-9a-f]+)/$2$1/g;
    my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    my $lines = join '', map { sprintf "%-8s %6d\n", $_, $count{$_} } @sorted;
    $sum = ($sum * 31 + unpack '%32C*', $lines . $changed) & 0xffffffff;
}
print "$sum\n";
