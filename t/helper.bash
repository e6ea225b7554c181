# helper.bash: the words that the tests are written in.
#
# Each test has a directory of its own ($PWD), a FIFO `gate` in it that holds
# commands back, and a server that is told to leave, and watched leaving, at
# the end. Environment:
#
#	BORIS       the binary, else ../boris
#	BORIS_WRAP  what it runs under, as `valgrind -q --error-exitcode=99`
#	BORIS_SLOW  how many times slower than usual all may be, else 1
#	BORIS_REAL  not empty: no test hurries boris's clock (see `hurried`); none
#	            does either where BORIS says which boris it is
#
# Descriptors: 6 gate, 7 to the server, 8 from the server, 9 never ready.
# shellcheck shell=bash disable=SC2015,SC2034,SC2119,SC2120

HERE=$BATS_TEST_DIRNAME REAL=${BORIS_REAL-}${BORIS-}
case ${BORIS:=$HERE/../boris} in
/*) ;;
*) BORIS=$PWD/$BORIS ;;
esac
WRAP=${BORIS_WRAP-} SLOW=${BORIS_SLOW:-1}

HELLO='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
META='"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}'

wrap=()             # what one test starts its server under (unshare, strace)
server='' left=''   # its process id; whether it has been seen leaving
declare -gA early=() # answers that came before they were asked for, by id
notices=()          # notifications heard on the way
calls=0 id=0 reply='' task='' pid='' status='' began=0
who=t               # the client's name
pace=1              # milliseconds of the server's clock in one

setup_file() {
	[ -x "$HERE/reply" ] || fail "t/reply is not built: make t/reply"
	[ -x "$BORIS" ] || fail "no boris to test at $BORIS: make"
}

setup() {
	local name
	# bats traces each command for its messages, which takes longer than
	# most of them do; the test's own lines are enough.
	set +T
	declare -ft "$BATS_TEST_NAME"
	for name in "${!BORIS_@}"; do
		[ "$name" = BORIS ] || unset "$name"
	done
	export LC_ALL=C
	cd "$BATS_TEST_TMPDIR" && cd -P . || return
	mkdir tmp
	mkfifo gate never to from
	: >heard
	exec 6<>gate 9<>never
}

# Whatever the test did: the server goes when its stdin ends (P9), nothing of
# it is left (L3), it wrote nothing but messages (C3), and neither sanitizer nor
# valgrind (its --error-exitcode is 99) complained (Q5).
teardown() {
	local bad=0
	if [ -n "$server" ] && [ -z "$left" ]; then
		leave || bad=1
		is "exit status $status: $(<err)" 'exit status 0: ' || bad=1
	fi
	if [ "$status" = 99 ] || { [ -s err ] &&
	    grep -q 'Sanitizer\|runtime error:' err; }; then
		fail "exit status $status: $(<err)" || bad=1
	fi
	none_left || bad=1
	! compgen -G 'tmp/*' >&2 || bad=1
	"$HERE/reply" -c <heard || bad=1
	return $bad
}

# fail TEXT...: ends the test and says why
fail() {
	printf '%s\n' "$*" >&2
	return 1
}

# is ACTUAL EXPECTED: the same text, or both sides are shown
is() {
	[ "$1" = "$2" ] ||
		fail "is:        ${1:0:2000}"$'\n'"should be: ${2:0:2000}"
}

# isnt ACTUAL UNWANTED: another text
isnt() {
	[ "$1" != "$2" ] || fail "should not be: ${1:0:2000}"
}

# has ACTUAL PART: the part occurs in it, as it stands
has() {
	[[ $1 == *"$2"* ]] ||
		fail "is:          ${1:0:2000}"$'\n'"should have: ${2:0:2000}"
}

# lacks ACTUAL PART: the part does not occur in it
lacks() {
	[[ $1 != *"$2"* ]] ||
		fail "is:              ${1:0:2000}"$'\n'"should not have: ${2:0:2000}"
}

# like ACTUAL PATTERN: matches as a whole, as a file name would
like() {
	# shellcheck disable=SC2053
	[[ $1 == $2 ]] ||
		fail "is:             ${1:0:2000}"$'\n'"should be like: ${2:0:2000}"
}

# most ACTUAL LIMIT: a number no larger than that
most() {
	(($1 <= $2)) || fail "is: $1"$'\n'"should be at most: $2"
}

# least ACTUAL LIMIT: a number no smaller than that
least() {
	(($1 >= $2)) || fail "is: $1"$'\n'"should be at least: $2"
}

# eventually COMMAND...: succeeds within ten seconds, looked at every 10 ms
eventually() {
	local end=$((SECONDS + 10 * SLOW))
	until "$@"; do
		((SECONDS < end)) || fail "never came true: $*" || return
		read -rt 0.01 -u 9 || :
	done
}

# begun FILE...: a command has written the file
begun() {
	local file
	for file; do
		eventually test -s "$file" || return
	done
}

# printed FILE...: so it has, and the server has read what it printed before
printed() {
	begun "$@" && in_turn
}

# settled COMMAND...: waits until what it prints stays the same for 300 ms
settled() {
	local before='' now same=0 end=$((SECONDS + 60 * SLOW))
	while ((same < 30)); do
		((SECONDS < end)) || fail "never settled: $*" || return
		now=$("$@")
		[ "$now" = "$before" ] && same=$((same + 1)) || same=0
		before=$now
		read -rt 0.01 -u 9 || :
	done
}

# the_guard: prints the pid of boris's second process
the_guard() {
	local pid children
	read -ra children <"/proc/$server/task/$server/children"
	for pid in "${children[@]}"; do
		! cmp -s "/proc/$server/cmdline" "/proc/$pid/cmdline" || echo "$pid"
	done
}

# gone PID|FILE: that process has ended (a zombie has)
gone() {
	local pid=$1 stat=''
	[ ! -e "$1" ] || read -r pid <"$1" || :
	kill -0 "$pid" 2>/dev/null || return 0
	if [ -e /proc/self/stat ]; then
		{ read -r stat <"/proc/$pid/stat"; } 2>/dev/null || return 0
		stat=${stat##*) }
	else
		stat=$(ps -o stat= -p "$pid") || return 0
	fi
	[[ $stat == [ZX]* ]]
}

# process PID FIELD...: of its line in /proc/PID/stat, counted as in proc(5)
process() {
	local line field
	line=$(<"/proc/$1/stat")
	# shellcheck disable=SC2206
	line=(${line##*) })
	shift
	for field; do
		echo "${line[field - 3]}"
	done | xargs
}

# there PID|FILE: that process has not ended
there() {
	! gone "$1"
}

# reaped PID: not even a zombie is left of it
reaped() {
	! kill -0 "$1" 2>/dev/null
}

# release [N]: lets N commands (else one) that `read <gate` go on
release() {
	local n=${1:-1}
	while ((n-- > 0)); do
		echo >&6
	done
}

# begin: from here `took` counts
begin() {
	began=${EPOCHREALTIME/[.,]/}
}

# took: milliseconds since `begin`, by the server's clock
took() {
	echo $(((${EPOCHREALTIME/[.,]/} - began) * pace / 1000))
}

# within MS: no longer than that since `begin`; where the clock is hurried, the
# machine, which is not, gets two seconds more
within() {
	most "$(took)" $((($1 + (pace > 1 ? 2000 * pace : 0)) * SLOW))
}

# pause MS: lets so much time pass, by the server's clock
pause() {
	local us=$(($1 * 1000 / pace))
	read -rt "$((us / 1000000)).$(printf %06d $((us % 1000000)))" -u 9 || :
}

# rests SECONDS: the server works for less than a tenth of that time from now on
rests() {
	local before
	before=$(ticks)
	read -rt "$1" -u 9 || :
	most $(($(ticks) - before)) $(($1 * 10))
}

# ticks: the time on a processor that the server has had, in 1/100 s
ticks() {
	local s
	s=$(<"/proc/$server/stat")
	s=${s##*) }
	read -ra s <<<"$s"
	echo $((s[11] + s[12]))
}

# hurried: the server that this test starts has a clock that runs ten times as
# fast, for what would take ten seconds or more; not where BORIS_REAL says so
hurried() {
	[ -z "$REAL" ] || return 0
	[ -x "$HERE/boris-fast" ] && [ ! "$BORIS" -nt "$HERE/boris-fast" ] ||
		fail 't/boris-fast is not there, or older than boris: make t/boris-fast'
	BORIS=$HERE/boris-fast pace=10
}

# needs PROGRAM...: skips the test where one is missing
needs() {
	local program
	for program; do
		[ -n "$(type -P "$program")" ] || skip "no $program here"
	done
}

# needs_linux: skips the test where there is no Linux /proc
needs_linux() {
	[ -e /proc/self/status ] || skip 'no Linux /proc here'
}

# linux_parts: boris has what is Linux only
linux_parts() {
	[ -e /proc/self/status ] && ! grep -qse -DPOSIX_ONLY "$HERE/../flags"
}

# needs_linux_parts: skips the test where it has not
needs_linux_parts() {
	linux_parts || skip 'for what is Linux only'
}

# needs_plain: skips the test where boris is not measured as it is built for use
needs_plain() {
	needs_linux
	[ -z "$WRAP" ] || skip "under $WRAP"
	! grep -q __asan_init "$BORIS" || skip 'with sanitizers'
}

# needs_root: skips the test for everybody else
needs_root() {
	[ "$(id -u)" = 0 ] || skip 'for root only'
}

# start ARGS...: the server alone, no handshake
start() {
	# Its own process group, or bash would have it ignore SIGINT.
	set -m
	# shellcheck disable=SC2086
	TEST_MARK="$PWD:" TMPDIR=${TMPDIR_FOR_BORIS-$PWD/tmp} "${wrap[@]}" $WRAP \
		"$BORIS" "$@" <to >from 2>err 3>&- 4>&- 5>&- 6>&- 9>&- &
	server=$!
	set +m
	exec 7>to 8<from
	left=''
}

# hello [VERSION]: the handshake; its answer is the reply
hello() {
	send "${HELLO/2025-11-25/${1:-2025-11-25}}"
	hear
	send '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}

# called NAME: from here on the client has this name
called() {
	HELLO=${HELLO/"\"name\":\"$who\""/"\"name\":\"$1\""}
	META=${META/"\"name\":\"$who\""/"\"name\":\"$1\""}
	who=$1
}

# boris ARGS...: a server that is ready for calls
boris() {
	start "$@"
	hello
}

# filter ARGS...: boris as a filter, run to its end; $status is its exit status
filter() {
	status=0
	# shellcheck disable=SC2086
	TEST_MARK="$PWD:" TMPDIR=$PWD/tmp timeout -k 1 $((20 * SLOW)) \
		"${wrap[@]}" $WRAP "$BORIS" "$@" \
		2>err 3>&- 4>&- 5>&- 6>&- 9>&- || status=$?
}

# send LINE...: writes lines to the server
send() {
	printf '%s\n' "$@" >&7
}

# hear: takes the next line of the server into $reply
hear() {
	IFS= read -rt $((20 * SLOW)) -n 1000 -u 8 reply ||
		fail "nothing heard; stderr: $(head -c 2000 err)" || return
	# bash takes long for a long line: it looks at the time at each byte.
	if ((${#reply} == 1000)); then
		reply+=$("$HERE/reply" -1 $((20 * SLOW)) <&8) ||
			fail "no end heard; stderr: $(head -c 2000 err)" || return
	fi
	printf '%s\n' "$reply" >>heard
}

# answer [ID]: takes the answer to ID, else to the last call, into $reply
answer() {
	local want=${1-$id} got
	until [ -n "${early[$want]+there}" ]; do
		hear || return
		# Most answers begin so; that saves the time of another look.
		if [[ $reply =~ ^'{"jsonrpc":"2.0","id":'([0-9]+), ]]; then
			got=${BASH_REMATCH[1]}
		else
			got=$(get -v id) || got=
		fi
		if [ -n "$got" ]; then
			early[$got]=$reply
		else
			notices+=("$reply")
		fi
	done
	reply=${early[$want]}
	# shellcheck disable=SC2184
	unset 'early[$want]'
}

# notice: takes the next line, which has to be a notification, into $reply
notice() {
	hear && isnt "$(get method)" ''
}

# get [-v|-s|-n|-k] STEP...: what the reply has there, as JSON (see reply.c)
get() {
	"$HERE/reply" "$@" <<<"$reply"
}

# all [-v|-s|-n|-k] STEP...: the same of each line heard
all() {
	"$HERE/reply" -l "$@" <heard
}

# result [STEP...]: what the tool's structuredContent has there, as JSON
result() {
	get result structuredContent "$@"
}

# plain STEP...: a string of structuredContent, decoded
plain() {
	get -s result structuredContent "$@"
}

# progress: the milliseconds of the notice, which has seconds with three decimals
progress() {
	local seconds
	seconds=$(get params progress)
	[[ $seconds =~ ^[0-9]+\.[0-9]{3}$ ]] || fail "no seconds: $seconds" || return
	echo $((10#${seconds/./}))
}

# text: what the tool says to the model, as JSON
text() {
	get result content 0 text
}

# kind: is a result, or what the tools offer, said as data too, or as text
kind() {
	[[ $reply == *@(structuredContent|outputSchema)* ]] && echo data ||
		echo text
}

# code: the number of the error
code() {
	get error code
}

# quote TEXT: sets $quoted to it as a JSON string (no controls but \n and \t)
quote() {
	quoted=${1//\\/\\\\}
	quoted=${quoted//\"/\\\"}
	quoted=${quoted//$'\n'/\\n}
	quoted=\"${quoted//$'\t'/\\t}\"
}

# request ID METHOD [PARAMS]: sends that
request() {
	send '{"jsonrpc":"2.0","id":'"$1"',"method":"'"$2"'"'"${3:+,\"params\":$3}"'}'
}

# ask METHOD [PARAMS]: sends a request and takes its answer
ask() {
	id=$((++calls))
	request $id "$@" && answer
}

# modern METHOD [MEMBERS]: the same as 2026-07-28 has it
modern() {
	ask "$1" '{'"${2:+$2,}"'"_meta":{'"$META"'}}'
}

# tell METHOD [PARAMS]: sends a notification
tell() {
	send '{"jsonrpc":"2.0","method":"'"$1"'"'"${2:+,\"params\":$2}"'}'
}

# cancel ID: tells that its answer is no longer wanted
cancel() {
	tell notifications/cancelled '{"requestId":'"$1"'}'
}

# give_up ID [REASON]: cancels it as the TypeScript SDK does when its timer has
# run out
give_up() {
	local reason=${2-McpError: MCP error -32001: Request timed out}
	tell notifications/cancelled '{"requestId":'"$1"',"reason":"'"$reason"'"}'
}

# call TOOL ARGUMENTS [META]: sends a call; $id is its id
call() {
	id=$((++calls))
	request $id tools/call \
		'{"name":"'"$1"'","arguments":'"$2${3:+,\"_meta\":$3}"'}'
}

# call_bash COMMAND [ARGUMENTS [META]]: sends a call of bash
call_bash() {
	local more=${2-}
	quote "$1"
	more=${more#\{}
	more=${more%\}}
	call bash '{"command":'"$quoted${more:+,$more}"'}' ${3+"$3"}
}

# run_tool TOOL ARGUMENTS [META]: a call and its answer
run_tool() {
	call "$@" && answer
}

# run_bash COMMAND [ARGUMENTS [META]]: a call of bash and its answer
run_bash() {
	call_bash "$@" && answer
}

# start_task COMMAND [ARGUMENTS]: in the background; sets $task and $pid
start_task() {
	local more=${2-}
	more=${more#\{}
	more=${more%\}}
	run_bash "$1" '{"run_in_background":true'"${more:+,$more}"'}' || return
	task=$(plain task_id) || fail "no task: $reply" || return
	pid=$(result pid)
}

# on_terminal COMMAND [ARGUMENTS [META]]: starts it there; sets $task and $pid
on_terminal() {
	call_bash "$1" '{"tty":true'"${2:+,$2}"'}' ${3+"$3"} && answer || return
	task=$(plain task_id) || fail "no task: $reply" || return
	pid=$(result pid)
}

# to_type TEXT [ARGUMENTS [META]]: sends what is typed there, as it stands in a
# JSON string
to_type() {
	call bash '{"task_id":"'"$task"'","input":"'"$1"'"'"${2:+,$2}"'}' ${3+"$3"}
}

# type_in TEXT [ARGUMENTS]: and its answer
type_in() {
	to_type "$@" && answer
}

# look [TASK [ARGUMENTS]]: task_output of it, else of the last one started
look() {
	local more=${2-}
	more=${more#\{}
	more=${more%\}}
	run_tool task_output '{"task_id":"'"${1:-$task}"'"'"${more:+,$more}"'}'
}

# refused PATTERN: the reply is a tool error whose text is like that
refused() {
	is "$(get result isError)" true &&
		is "$(result)" '' &&
		like "$(get -s result content 0 text)" "$1"
}

# in_turn: the server has read what was sent, and is there
in_turn() {
	id=$((++calls))
	request $id ping && answer && is "$(get result)" '{}'
}

# next_is_ping: nothing else is heard before the answer to a ping
next_is_ping() {
	id=$((++calls))
	request $id ping && hear && is "$(get -v id)" $id
}

# exited: the server has
exited() {
	! kill -0 "$server" 2>/dev/null
}

# died: waits for the server's exit, however it comes; sets $status
died() {
	cat <&8 >>heard 2>/dev/null 7>&- & # so that it can get rid of its answers
	local reader=$!
	if eventually exited; then
		status=0
		wait "$server" || status=$?
	else
		kill -9 "$server" && wait "$server" 2>/dev/null || :
		kill $reader 2>/dev/null || :
		status=stuck
	fi
	wait $reader || :
	exec 7>&- 8<&-
	left=1
	[ $status != stuck ]
}

# end_input: closes the server's stdin
end_input() {
	exec 7>&-
}

# leave: closes the server's stdin and waits; sets $status
leave() {
	end_input
	died
}

# answered ID: did it get an answer (look when the server has left)
answered() {
	all -v id | grep -qxF -- "$1"
}

# unanswered ID: it got none (look when the server has left)
unanswered() {
	! answered "$1" || fail "answered: $1"
}

# left_behind: the processes that came out of this test's server. grep's status
# does not tell: it is 2 if there is a file that it could not read.
left_behind() {
	local found
	found=$(grep -lsF "TEST_MARK=$PWD:" /proc/[0-9]*/environ 2>/dev/null) || :
	[ -n "$found" ] && echo "$found"
}

# alone: there is none of those
alone() {
	! left_behind >/dev/null
}

# none_left: so it is; ends them where there is
none_left() {
	local found
	found=$(left_behind) || return 0
	found=$(tr -dc '0-9\n' <<<"$found")
	# shellcheck disable=SC2086
	ps -o pid,ppid,stat,args -p "${found//$'\n'/,}" >&2 || :
	# shellcheck disable=SC2086
	kill -9 $found 2>/dev/null || :
	fail 'left behind by boris'
}

# peak: the most memory that the server has had, in KiB
peak() {
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$server/status"
}

# the_shell COMMAND: what the shell does with it, in want.out, want.err; prints
# its exit code
the_shell() {
	local code=0
	(exec -a "${NAME_OF_SHELL-/bin/bash}" "${SHELL_OF_BORIS:-/bin/bash}" \
		-c "$1") </dev/null >want.out 2>want.err 3>&- 6>&- 9>&- || code=$?
	echo $code
}

# as_in_a_shell COMMAND: exit code, stdout and stderr are what the shell gives
as_in_a_shell() {
	local want
	want=$(the_shell "$1")
	run_bash "$1"
	plain stdout >got.out
	plain stderr >got.err
	is "$(result exit_code)" "$want" &&
		is "$(cat got.out; echo .)" "$(cat want.out; echo .)" &&
		is "$(cat got.err; echo .)" "$(cat want.err; echo .)"
}

# without_bash [SHELL]: the server will run in a root that has no /bin/bash but
# dash, or SHELL, as /bin/sh; /home and /home/d are directories in it. Skips
# where that can't be. PATH_OF_ROOT, exported, is the server's PATH, else /bin.
without_bash() {
	needs_root
	needs "${1:-dash}" unshare chroot busybox
	needs_linux
	[ -z "$WRAP" ] || skip "under $WRAP"
	unshare -m true || skip 'no mount namespaces here'
	mkdir -p root/bin root/dev root/proc root/usr root/home/d root/tmp
	cp "$(type -P "${1:-dash}")" root/bin/sh
	cp "$(type -P busybox)" root/bin/busybox
	cp "$BORIS" root/boris
	ln -s busybox root/bin/cat
	local dir
	for dir in lib lib32 lib64 libx32; do
		[ -d /$dir ] || continue
		[ ! -L /$dir ] || cp -P /$dir root/
		mkdir -p "root/$(readlink /$dir || echo $dir)"
	done
	# shellcheck disable=SC2016
	wrap=(unshare -m sh -ec '
		for dir in dev proc lib lib32 lib64 libx32; do
			[ -d root/$dir/ ] && mount --rbind /$dir/ root/$dir/
		done
		chroot=$1
		shift 2
		export TMPDIR=/tmp PATH="${PATH_OF_ROOT-/bin}"
		exec "$chroot" root /boris "$@"' sh "$(type -P chroot)")
	SHELL_OF_BORIS=$PWD/root/bin/sh NAME_OF_SHELL=/bin/sh
}
