# SPDX-License-Identifier: MIT
# Processes as a shell uses them: background jobs, waits, traps, subshells, redirections, named pipes, signals.
echo "-- jobs"
for i in 1 2 3 4 5; do (sleep 0.0$i; exit $i) & done
sum=0
for pid in $(jobs -p); do wait "$pid"; sum=$((sum + $?)); done
echo "sum of exit codes $sum"
(exit 7) & wait $!; echo "last job $?"
true | false | true; echo "pipeline $?"
set -o pipefail; true | false | true; echo "pipefail $?"; set +o pipefail
! false; echo "negated $?"
false || echo "or"; true && echo "and"
echo "-- substitution"
echo "nested $(echo "$(echo "$(echo deep)")")"
x=$(seq 1 20000 | wc -c); echo "bytes $x"
lines=$(seq 1 3000); echo "kept ${#lines}"
echo "-- redirections"
echo hidden > file; cat < file; echo more >> file; wc -l < file
{ echo out; echo err >&2; } 2>/dev/null
{ echo out; echo err >&2; } 2>&1 | sort
exec 5> five; echo "to five" >&5; exec 5>&-; cat five
cat <<END | tr a-z A-Z
here document with $((6 * 7))
END
cat <<'END'
verbatim $((6 * 7))
END
mkfifo pipe
seq 1 100 > pipe &
awk '{ s += $1 } END { print "through a named pipe", s }' < pipe
wait
echo "-- signals"
trap 'echo caught USR1' USR1
kill -USR1 $$
trap '' TERM; kill -TERM $$; echo "ignored TERM"; trap - TERM
sleep 100 & pid=$!; kill "$pid"; wait "$pid"; echo "killed $?"
(kill -KILL $(sh -c 'echo $PPID')) 2>/dev/null; echo "subshell $?"
sh -c 'exit 3'; echo "child $?"
sh -c 'kill -SEGV $$'; echo "signal $?"
yes | head -n 5 | wc -l
timeout 0.05 sleep 10; echo "timed out $?"
echo "-- many"
seq 1 60 | xargs -n 7 echo | wc -l
seq 1 40 | xargs -n 1 -I @ sh -c 'echo $((@ * @))' | awk '{ s += $1 } END { print s }'
i=0; while [ $i -lt 100 ]; do i=$((i + 1)); (true); done; echo "ran $i"
for i in 1 2 3 4 5 6 7 8; do echo $i | cat | cat | cat | cat; done | sort -rn | head -n 1
trap 'echo at exit' EXIT
rm -f file five pipe
exit 12
