# SPDX-License-Identifier: MIT
# Trees of files: make, copy, find, archive, compress, compare, change, remove. Runs in an empty directory.
set -e
export TZ=UTC0
umask 022
mkdir -p tree/a/b/c tree/d
for i in $(seq 1 30); do seq 1 $((i * 10)) > "tree/a/file-$i.txt"; done
seq 1 5000 > tree/a/b/c/long
ln -s ../a/b tree/d/link
ln tree/a/file-3.txt tree/d/hard
echo "-- find"
find tree -type f | wc -l
find tree -name 'file-1?.txt' | sort | head -n 3
find tree -type l -o -type d | sort
find tree -type f -size +1k -exec wc -c {} + | sort -n | tail -n 2
find tree -name 'file-2*' -exec cat {} \; | sort | uniq | wc -l
find tree -type f -print0 | sort -z | xargs -0 cat | sha256sum
echo "-- copy and compare"
cp -a tree copy
diff -r tree copy && echo same
echo extra >> copy/a/file-7.txt
diff -r tree copy || echo "differ $?"
cmp tree/a/file-8.txt copy/a/file-8.txt && echo equal
[ tree/d/hard -ef tree/a/file-3.txt ] && echo "one file"
stat -c '%n %s %F %a' tree/a/file-5.txt tree/d/link
chmod 640 tree/a/file-5.txt
touch -d '2020-02-03 04:05:06' tree/a/file-5.txt
ls -l tree/a/file-5.txt | awk '{ print $1, $5 }'
date -u -r tree/a/file-5.txt '+%Y-%m-%d %H:%M:%S'
readlink tree/d/link; readlink -f tree/d/link | sed 's|.*/tree|tree|'
echo "-- archives"
tar -cf archive.tar tree
tar -tf archive.tar | sort | sha1sum
mkdir out; tar -xf archive.tar -C out; diff -r tree out/tree && echo unpacked
tar -cf - tree | gzip -9 | gunzip | tar -tf - | wc -l
for tool in gzip bzip2; do
    $tool < tree/a/b/c/long > packed
    $tool -dc < packed | cmp - tree/a/b/c/long && echo "$tool $(wc -c < packed)"
done
find tree -type f | sort | cpio -o -H newc 2>/dev/null | cpio -t 2>/dev/null | wc -l
echo "-- bytes"
dd if=tree/a/b/c/long of=part bs=100 skip=3 count=7 2>/dev/null; md5sum < part
dd if=/dev/zero bs=4k count=50 2>/dev/null | tr '\0' x | wc -c
head -c 1000 tree/a/b/c/long | tail -c 500 | cksum
split -l 1000 tree/a/b/c/long piece-; cat piece-* | cmp - tree/a/b/c/long && ls piece-* | wc -l
truncate -s 12345 hole; wc -c < hole
mv tree/a/file-1.txt renamed; [ -e renamed ] && [ ! -e tree/a/file-1.txt ] && echo moved
echo "-- remove"
rm -r copy out; rm -f archive.tar packed part hole renamed piece-*
find tree -name '*.txt' -delete; find tree | sort
rm -r tree; ls -A | wc -l
