# SPDX-License-Identifier: MIT
# Long computations in single processes: awk, bc, dc, sort, compressors. Minutes on a slow simulator.
echo "scale=120; 4*a(1)" | BC_LINE_LENGTH=0 bc -l
echo "2^400 % 1000007; sqrt(2*10^40); 100!" 2>/dev/null | sed 's/; 100!//' | BC_LINE_LENGTH=0 bc
echo "30 [d1-d1<F*] dsFx p" | dc 2>/dev/null
awk 'BEGIN {
    n = 40
    for (i = 0; i < n; i++) for (j = 0; j < n; j++) { a[i, j] = (i * 7 + j * 3) % 11; b[i, j] = (i - j) % 5 }
    for (i = 0; i < n; i++) for (j = 0; j < n; j++) { s = 0; for (k = 0; k < n; k++) s += a[i, k] * b[k, j]; t += s * (i + 1) }
    print "matrix", t
    x = 0.5; for (i = 0; i < 50000; i++) x = 3.9 * x * (1 - x)
    print "chaos", (x > 0 && x < 1)
    for (i = 1; i <= 20000; i++) h[i % 997] = h[i % 997] + sin(i) * exp(-i / 10000)
    for (i = 0; i < 997; i++) z += h[i]
    printf "sums %.6f\n", z
}'
seq 1 20000 | awk '{ print ($1 * 7919) % 20011 }' | sort -n | sha256sum
seq 1 8000 | gzip -9 | gzip -dc | bzip2 | bzip2 -dc | md5sum
seq 1 3000 | sed 's/1/one/g; s/2/two/g; s/\(one\)\(two\)/\2\1/g' | sha1sum
yes abcdefghij | head -c 300000 | tr a-j k-t | sha3sum
