# SPDX-License-Identifier: MIT
# The shell as a programming language, mostly inside one process: functions, recursion, arithmetic, strings, loops.
fibonacci() {
    if [ "$1" -lt 2 ]; then
        echo "$1"
    else
        echo $(($(fibonacci $(($1 - 1))) + $(fibonacci $(($1 - 2)))))
    fi
}
echo "fibonacci $(fibonacci 11)" # a subshell per call: hundreds of forks

hanoi() { # disks from to via
    [ "$1" -eq 0 ] && return
    hanoi $(($1 - 1)) "$2" "$4" "$3"
    moves=$((moves + 1))
    hanoi $(($1 - 1)) "$4" "$3" "$2"
}
moves=0
hanoi 9 a c b
echo "hanoi $moves"

i=2 primes=
while [ $i -lt 200 ]; do
    prime=1
    for p in $primes; do
        [ $((p * p)) -gt $i ] && break
        if [ $((i % p)) -eq 0 ]; then prime=0; break; fi
    done
    [ $prime -eq 1 ] && primes="$primes $i"
    i=$((i + 1))
done
echo "primes$primes" | wc -w

word=hello.world.tar.gz
echo "${word%.*} ${word%%.*} ${word#*.} ${word##*.} ${#word} ${word/world/there} ${word:2:3}"
unset nothing; echo "${nothing:-default} ${nothing:+set} ${word:+set}"
reverse() {
    local rest=$1 result=
    while [ -n "$rest" ]; do
        result=${rest%"${rest#?}"}$result
        rest=${rest#?}
    done
    echo "$result"
}
reverse "stressed desserts"
for value in 7 abc 3.5 -2 ""; do
    case $value in
    '') echo empty ;;
    *[!0-9.-]*) echo "word $value" ;;
    -*) echo "negative $value" ;;
    *.*) echo "fraction $value" ;;
    *) echo "number $value" ;;
    esac
done
echo $((0x10 + 010 + 10)) $((7 / -2)) $((7 % -2)) $((1 << 40)) $((5 > 3 ? 11 : 22)) $((~0)) $((-7 >> 1))
IFS=:; set -- a:b:c; unset IFS; echo $#
line="k1=v1;k2=v2;k3=v3"
old=$IFS; IFS=';'
for pair in $line; do echo "${pair%=*} is ${pair#*=}"; done
IFS=$old
while getopts "ab:c" option -a -b value -c rest; do echo "option $option ${OPTARG:-none}"; done
eval 'x=1; y=$((x + 1)); echo "eval $y"'
gcd() { if [ "$2" -eq 0 ]; then echo "$1"; else gcd "$2" $(($1 % $2)); fi; }
gcd 1071 462
n=0; until [ $n -ge 3 ]; do n=$((n + 1)); [ $n -eq 2 ] && continue; echo "round $n"; done
printf '%s\n' "quoted  spaces" 'single $x' "tab	end" | cat -A
