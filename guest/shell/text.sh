# SPDX-License-Identifier: MIT
# Text through pipelines: every stage is a process, busybox running one of its applets.
echo "-- numbers"
seq 1 1000 | sort -r | awk '{ s += $1 * NR } END { print s, NR }'
seq 1 1000 | sort -r | sha256sum
seq 1 2000 | sort -n -r | head -n 700 | tail -n 300 | md5sum
seq 1 500 | awk '{ print $1 % 17, $1 }' | sort -k1,1n -k2,2nr | cut -d ' ' -f 1 | uniq -c | sort -rn | head -n 3
seq 100 | paste -s -d + | bc
seq 5 | tac | rev | tr '1-5' 'a-e'
echo "-- words"
text="the quick brown fox jumps over the lazy dog and the dog does not mind the fox"
echo "$text" | tr ' ' '\n' | sort | uniq -c | sort -k1,1rn -k2 | head -n 4
echo "$text" | sed -e 's/\(fox\|dog\)/<\1>/g' -e 's/the //2'
echo "$text" | grep -o '[a-z]*o[a-z]*' | sort -u | paste -s -d ,
echo "$text" | fold -w 20 | nl | sed 's/^ *//'
echo "$text" | awk '{ for (i = NF; i > 0; i--) printf "%s%s", $i, i > 1 ? " " : "\n" }'
echo "-- filters"
seq 1 300 | grep -E '^(1|2)[0-9]*7$' | wc -l
seq 1 300 | grep -v 1 | grep -c 2
seq 1 50 | sed -n '/7/,/9/p' | tr '\n' ' '; echo
printf 'b,2\na,1\nc,3\n' | sort -t , -k 2nr | sed 's/,/ = /'
printf 'one\ntwo\nthree\n' | while read -r line; do echo "${#line} $line"; done | sort -n
echo "-- encodings"
seq 1 100 | base64 | base64 -d | cksum
printf 'binary \001\002\377' | od -A d -t x1
seq 1 30 | hexdump -C | tail -n 2
seq 1 1000 | sha1sum
seq 1 1000 | sha512sum | cut -c 1-32
seq 1 100 | uuencode name | uudecode -o - | md5sum
printf '%05d|%-6s|%x|%e|%c\n' 42 ab 255 12345.678 zebra
expr 17 \* 23 + 4
factor 1234567890 97
