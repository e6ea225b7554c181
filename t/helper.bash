# SPDX-License-Identifier: ISC
#
# helper.bash: the functions that all tests share.
#
# Each test has its own directory ($PWD) with a FIFO named `gate`, from which
# commands read until the test lets them continue. After each test, the server is
# stopped, and the test fails if it does not exit. Environment:
#
#	BORIS       the binary under test; default: ../boris
#	BORIS_WRAP  a command that runs the binary, such as
#	            `valgrind -q --error-exitcode=99`
#	BORIS_SLOW  a factor for all time limits, for slow machines; default: 1
#	BORIS_REAL  if not empty, no test uses the fast clock (see `use_fast_clock`); the
#	            fast clock is not used either if BORIS is set
#	BORIS_TESTS the directory t; default: the directory of the test file
#
# File descriptors: 6 is the gate, 7 writes to the server, 8 reads from the
# server, and 9 is a FIFO that never has data.
# shellcheck shell=bash disable=SC2015,SC2034,SC2119,SC2120

HERE=${BORIS_TESTS:-$BATS_TEST_DIRNAME} REAL=${BORIS_REAL-}${BORIS-}
case ${BORIS:=$HERE/../boris} in
/*) ;;
*) BORIS=$PWD/$BORIS ;;
esac
WRAP=${BORIS_WRAP-} SLOW=${BORIS_SLOW:-1}
PARENT=$BATS_RUN_TMPDIR/t # directory of the directories of all tests

HELLO='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
META='"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}'

wrap=()              # command that runs the server of one test (unshare, strace)
server=''            # process id of the server
left=''              # not empty after the server has exited
remaining=''         # process that `has_no_processes` has found
declare -gA early=() # responses received before the test read them, by id
notices=()           # notifications received while waiting for a response
calls=0 id=0 reply='' task='' pid='' status='' began=0
who=t                # name of the client
pace=1               # speed of the server's clock, as a multiple of real time

# setup_file: Checks that the programs under test have been built.
setup_file() {
	[ -x "$HERE/reply" ] || fail "t/reply is not built: make t/reply"
	[ -x "$BORIS" ] || fail "no boris to test at $BORIS: make"
}

# make_directories: Makes the directories of this test and of the next 31 tests.
# Making them one by one would start two programs for each test.
make_directories() {
	local i directories=()
	for ((i = 0; i < 32; i++)); do
		directories+=("$PARENT/$((BATS_SUITE_TEST_NUMBER + i))")
	done
	mkdir -p "${directories[@]/%//tmp}" &&
		mkfifo "${directories[@]/%//gate}" "${directories[@]/%//never}" \
			"${directories[@]/%//to}" "${directories[@]/%//from}"
}

# setup: Prepares the test's directory, its FIFOs and its environment.
setup() {
	local name directory=$PARENT/$BATS_SUITE_TEST_NUMBER
	# Trace only the test itself. bats would trace each command of the
	# helper functions too, which takes longer than most of them run.
	set +T
	declare -ft "$BATS_TEST_NAME"
	for name in "${!BORIS_@}"; do
		[ "$name" = BORIS ] || unset "$name"
	done
	export LC_ALL=C
	[ -d "$directory" ] || make_directories
	cd "$directory" && cd -P . || return
	: >heard
	exec 6<>gate 9<>never
}

# teardown: Stops the server and fails if it did not exit with status 0 when its
# stdin was closed (P9), left processes or files (L3), wrote anything but
# messages to stdout (C3), or if a sanitizer or valgrind reported an error (Q5).
teardown() {
	local bad=0
	if [ -n "$server" ] && [ -z "$left" ]; then
		stop_server || bad=1
		[ "$status" = 0 ] && [ ! -s err ] ||
			fail "exit status $status: $(<err)" || bad=1
	fi
	if [ "$status" = 99 ] || { [ -s err ] &&
	    grep -q 'Sanitizer\|runtime error:' err; }; then
		fail "exit status $status: $(<err)" || bad=1
	fi
	"$HERE/reply" -c "TEST_MARK=$PWD:" <heard ||
		{ kill_processes_left || :; bad=1; }
	! compgen -G 'tmp/*' >&2 || bad=1
	return $bad
}

# fail TEXT...: Prints TEXT on stderr and fails.
fail() {
	printf '%s\n' "$*" >&2
	return 1
}

# is ACTUAL EXPECTED: Fails and prints both texts if they differ.
is() {
	[ "$1" = "$2" ] ||
		fail "is:        ${1:0:2000}"$'\n'"should be: ${2:0:2000}"
}

# isnt ACTUAL UNWANTED: Fails if the two texts are equal.
isnt() {
	[ "$1" != "$2" ] || fail "should not be: ${1:0:2000}"
}

# has ACTUAL PART: Fails if PART does not occur literally in ACTUAL.
has() {
	[[ $1 == *"$2"* ]] ||
		fail "is:          ${1:0:2000}"$'\n'"should have: ${2:0:2000}"
}

# lacks ACTUAL PART: Fails if PART occurs literally in ACTUAL.
lacks() {
	[[ $1 != *"$2"* ]] ||
		fail "is:              ${1:0:2000}"$'\n'"should not have: ${2:0:2000}"
}

# like ACTUAL PATTERN: Fails if the shell pattern does not match all of ACTUAL.
like() {
	# shellcheck disable=SC2053
	[[ $1 == $2 ]] ||
		fail "is:             ${1:0:2000}"$'\n'"should be like: ${2:0:2000}"
}

# most ACTUAL LIMIT: Fails if the number ACTUAL is larger than LIMIT.
most() {
	(($1 <= $2)) || fail "is: $1"$'\n'"should be at most: $2"
}

# least ACTUAL LIMIT: Fails if the number ACTUAL is smaller than LIMIT.
least() {
	(($1 >= $2)) || fail "is: $1"$'\n'"should be at least: $2"
}

# eventually COMMAND...: Runs COMMAND every 10 ms until it succeeds. Fails after
# 10 seconds.
eventually() {
	local end=$((SECONDS + 10 * SLOW))
	until "$@"; do
		((SECONDS < end)) || fail "never came true: $*" || return
		read -rt 0.01 -u 9 || :
	done
}

# await_file FILE...: Waits until a command has written each FILE.
await_file() {
	local file
	for file; do
		eventually test -s "$file" || return
	done
}

# await_output FILE...: Waits until a command has written each FILE and the server
# has read the output that the command printed before that.
await_output() {
	await_file "$@" && sync_server
}

# await_stable COMMAND...: Waits until the output of COMMAND has not changed for 300
# ms.
await_stable() {
	local before='' now same=0 end=$((SECONDS + 60 * SLOW))
	while ((same < 30)); do
		((SECONDS < end)) || fail "never settled: $*" || return
		now=$("$@")
		[ "$now" = "$before" ] && same=$((same + 1)) || same=0
		before=$now
		read -rt 0.01 -u 9 || :
	done
}

# guard_pid: Prints the process id of boris's second process.
guard_pid() {
	local pid children
	read -ra children <"/proc/$server/task/$server/children"
	for pid in "${children[@]}"; do
		! cmp -s "/proc/$server/cmdline" "/proc/$pid/cmdline" || echo "$pid"
	done
}

# is_gone PID|FILE: Succeeds if the process no longer exists or is a zombie. FILE
# contains a process id.
is_gone() {
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

# process PID FIELD...: Prints fields of /proc/PID/stat, numbered as in proc(5).
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

# is_running PID|FILE: Succeeds if the process exists and is not a zombie.
is_running() {
	! is_gone "$1"
}

# is_reaped PID: Succeeds if the process no longer exists, not even as a zombie.
is_reaped() {
	! kill -0 "$1" 2>/dev/null
}

# release [N]: Writes N lines (default: 1) to the gate. Each of them lets one
# command that waits in `read <gate` continue.
release() {
	local n=${1:-1}
	while ((n-- > 0)); do
		echo >&6
	done
}

# start_timer: Starts the stopwatch that `elapsed` and `within` read.
start_timer() {
	began=${EPOCHREALTIME/[.,]/}
}

# elapsed: Prints the milliseconds since `start_timer`, measured by the server's clock.
elapsed() {
	echo $(((${EPOCHREALTIME/[.,]/} - began) * pace / 1000))
}

# within MS: Fails if more than MS milliseconds have passed since `start_timer`. With
# the fast clock, two more seconds of real time are allowed, because the machine
# itself is not faster.
within() {
	most "$(elapsed)" $((($1 + (pace > 1 ? 2000 * pace : 0)) * SLOW))
}

# pause MS: Waits for MS milliseconds of the server's clock.
pause() {
	local us=$(($1 * 1000 / pace))
	read -rt "$((us / 1000000)).$(printf %06d $((us % 1000000)))" -u 9 || :
}

# stays_idle SECONDS: Fails if the server uses more than a tenth of the processor
# during the next SECONDS seconds.
stays_idle() {
	local before
	before=$(ticks)
	read -rt "$1" -u 9 || :
	most $(($(ticks) - before)) $(($1 * 10))
}

# ticks: Prints the processor time that the server has used, in 1/100 s.
ticks() {
	local s
	s=$(<"/proc/$server/stat")
	s=${s##*) }
	read -ra s <<<"$s"
	echo $((s[11] + s[12]))
}

# use_fast_clock: Makes the test use a server whose clock runs ten times as fast. Tests
# that would take ten seconds or more call this function. It has no effect if
# BORIS_REAL or BORIS is set in the environment.
use_fast_clock() {
	[ -z "$REAL" ] || return 0
	[ -x "$HERE/boris-fast" ] && [ ! "$BORIS" -nt "$HERE/boris-fast" ] ||
		fail 't/boris-fast is not there, or older than boris: make t/boris-fast'
	BORIS=$HERE/boris-fast pace=10
}

# needs PROGRAM...: Skips the test if one of the programs is not installed.
needs() {
	local program
	for program; do
		[ -n "$(type -P "$program")" ] || skip "no $program here"
	done
}

# needs_linux: Skips the test if /proc is not that of Linux.
needs_linux() {
	[ -e /proc/self/status ] || skip 'no Linux /proc here'
}

# linux_parts: Succeeds if boris was built with its Linux-only code.
linux_parts() {
	[ -e /proc/self/status ] && ! grep -qse -DPOSIX_ONLY "$HERE/../flags"
}

# needs_linux_parts: Skips the test if boris was built without its Linux-only
# code.
needs_linux_parts() {
	linux_parts || skip 'for what is Linux only'
}

# needs_plain: Skips the test if boris runs under a wrapper or with sanitizers,
# which would distort measurements.
needs_plain() {
	needs_linux
	[ -z "$WRAP" ] || skip "under $WRAP"
	! grep -q __asan_init "$BORIS" || skip 'with sanitizers'
}

# needs_root: Skips the test if it does not run as root.
needs_root() {
	[ "$(id -u)" = 0 ] || skip 'for root only'
}

# start ARGS...: Starts the server without a handshake.
start() {
	# Use a process group of its own, or bash would make the server ignore
	# SIGINT.
	set -m
	# shellcheck disable=SC2086
	TEST_MARK="$PWD:" TMPDIR=${TMPDIR_FOR_BORIS-$PWD/tmp} "${wrap[@]}" $WRAP \
		"$BORIS" "$@" <to >from 2>err 3>&- 4>&- 5>&- 6>&- 9>&- &
	server=$!
	set +m
	exec 7>to 8<from
	left=''
}

# hello [VERSION]: Performs the handshake. The response is in $reply.
hello() {
	send "${HELLO/2025-11-25/${1:-2025-11-25}}"
	read_reply
	send '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}

# set_client NAME: Sets the name of the client in all following requests.
set_client() {
	HELLO=${HELLO/"\"name\":\"$who\""/"\"name\":\"$1\""}
	META=${META/"\"name\":\"$who\""/"\"name\":\"$1\""}
	who=$1
}

# boris ARGS...: Starts the server and performs the handshake.
boris() {
	start "$@"
	hello
}

# filter ARGS...: Runs boris with the caller's stdin until it exits. Sets
# $status.
filter() {
	status=0
	# shellcheck disable=SC2086
	TEST_MARK="$PWD:" TMPDIR=$PWD/tmp timeout -k 1 $((20 * SLOW)) \
		"${wrap[@]}" $WRAP "$BORIS" "$@" \
		2>err 3>&- 4>&- 5>&- 6>&- 9>&- || status=$?
}

# send LINE...: Writes lines to the server.
send() {
	printf '%s\n' "$@" >&7
}

# read_reply: Reads the next line from the server into $reply.
read_reply() {
	IFS= read -rt $((20 * SLOW)) -n 1000 -u 8 reply ||
		fail "nothing heard; stderr: $(head -c 2000 err)" || return
	# Read the rest of a long line with t/reply, because bash checks the
	# time at each byte.
	if ((${#reply} == 1000)); then
		reply+=$("$HERE/reply" -1 $((20 * SLOW)) <&8) ||
			fail "no end heard; stderr: $(head -c 2000 err)" || return
	fi
	printf '%s\n' "$reply" >>heard
}

# answer [ID]: Reads the response to request ID (default: the last call) into
# $reply. Other responses are kept in $early, and notifications in $notices.
answer() {
	local want=${1-$id} got
	until [ -n "${early[$want]+there}" ]; do
		read_reply || return
		# Most responses start like this, which saves a call of t/reply.
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

# notice: Reads the next line, which must be a notification, into $reply.
notice() {
	read_reply && isnt "$(get method)" ''
}

# get [-v|-s|-n|-k] STEP...: Prints the value at this path in $reply, by default
# as JSON (see reply.c).
get() {
	"$HERE/reply" "$@" <<<"$reply"
}

# all [-v|-s|-n|-k] STEP...: Prints the value at this path for each line
# received so far.
all() {
	"$HERE/reply" -l "$@" <heard
}

# result [STEP...]: Prints the value at this path in structuredContent as JSON.
result() {
	get result structuredContent "$@"
}

# plain STEP...: Prints the string at this path in structuredContent, decoded.
plain() {
	get -s result structuredContent "$@"
}

# progress: Prints the progress of the last notification in milliseconds. It
# must be a number of seconds with three decimals.
progress() {
	local seconds
	seconds=$(get params progress)
	[[ $seconds =~ ^[0-9]+\.[0-9]{3}$ ]] || fail "no seconds: $seconds" || return
	echo $((10#${seconds/./}))
}

# text: Prints the text content of the result as JSON.
text() {
	get result content 0 text
}

# result_kind: Prints `data` if $reply has structured content or an output schema, and
# `text` otherwise.
result_kind() {
	# An alternative in the pattern would make the match quadratic.
	[[ $reply == *structuredContent* || $reply == *outputSchema* ]] &&
		echo data || echo text
}

# code: Prints the code of the JSON-RPC error.
code() {
	get error code
}

# quote TEXT: Sets $quoted to TEXT as a JSON string. TEXT must not contain
# control characters other than newline and tab.
quote() {
	quoted=${1//\\/\\\\}
	quoted=${quoted//\"/\\\"}
	quoted=${quoted//$'\n'/\\n}
	quoted=\"${quoted//$'\t'/\\t}\"
}

# request ID METHOD [PARAMS]: Sends a request.
request() {
	send '{"jsonrpc":"2.0","id":'"$1"',"method":"'"$2"'"'"${3:+,\"params\":$3}"'}'
}

# ask METHOD [PARAMS]: Sends a request and reads the response.
ask() {
	id=$((++calls))
	request $id "$@" && answer
}

# modern METHOD [MEMBERS]: Sends a request of the revision 2026-07-28 and reads
# the response.
modern() {
	ask "$1" '{'"${2:+$2,}"'"_meta":{'"$META"'}}'
}

# notify METHOD [PARAMS]: Sends a notification.
notify() {
	send '{"jsonrpc":"2.0","method":"'"$1"'"'"${2:+,\"params\":$2}"'}'
}

# cancel ID: Sends a notification that cancels the request ID.
cancel() {
	notify notifications/cancelled '{"requestId":'"$1"'}'
}

# cancel_by_timeout ID [REASON]: Cancels a request as the TypeScript SDK does when the
# request times out.
cancel_by_timeout() {
	local reason=${2-McpError: MCP error -32001: Request timed out}
	notify notifications/cancelled '{"requestId":'"$1"',"reason":"'"$reason"'"}'
}

# call TOOL ARGUMENTS [META]: Sends a tool call. Sets $id to its request id.
call() {
	id=$((++calls))
	request $id tools/call \
		'{"name":"'"$1"'","arguments":'"$2${3:+,\"_meta\":$3}"'}'
}

# call_bash COMMAND [ARGUMENTS [META]]: Sends a call of bash.
call_bash() {
	local more=${2-}
	quote "$1"
	more=${more#\{}
	more=${more%\}}
	call bash '{"command":'"$quoted${more:+,$more}"'}' ${3+"$3"}
}

# bash_request ID COMMAND: Prints a call of bash with this request id.
bash_request() {
	quote "$2"
	printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":' "$1"
	printf '{"name":"bash","arguments":{"command":%s}}}\n' "$quoted"
}

# run_tool TOOL ARGUMENTS [META]: Calls a tool and reads the response.
run_tool() {
	call "$@" && answer
}

# run_bash COMMAND [ARGUMENTS [META]]: Calls bash and reads the response.
run_bash() {
	call_bash "$@" && answer
}

# save_files N: Runs 16 N commands that each print more than their limit on
# stdout and stderr, so that the server saves 32 N files. No other response may
# be pending, because head reads the responses faster than read_reply.
save_files() {
	local i n
	for ((n = 0; n < $1; n++)); do
		for ((i = 0; i < 16; i++)); do
			call_bash 'printf %0300d 0; printf %0300d 0 >&2' \
				'{"limit":200}'
		done
		timeout $((20 * SLOW)) head -n 16 <&8 >>heard || return
	done
}

# start_task COMMAND [ARGUMENTS]: Starts a background task. Sets $task and $pid.
start_task() {
	local more=${2-}
	more=${more#\{}
	more=${more%\}}
	run_bash "$1" '{"run_in_background":true'"${more:+,$more}"'}' || return
	task=$(plain task_id) || fail "no task: $reply" || return
	pid=$(result pid)
}

# task_at_gate COMMAND [REST [ARGUMENTS]]: Starts a task that runs COMMAND, waits
# for the gate, and then runs REST. Returns when the server has read the output of
# COMMAND.
task_at_gate() {
	rm -f at_gate
	start_task "$1; echo x >at_gate; read <gate${2:+; $2}" ${3+"$3"} &&
		await_output at_gate
}

# start_on_terminal COMMAND [ARGUMENTS [META]]: Starts a task on a terminal. Sets
# $task and $pid.
start_on_terminal() {
	call_bash "$1" '{"tty":true'"${2:+,$2}"'}' ${3+"$3"} && answer || return
	task=$(plain task_id) || fail "no task: $reply" || return
	pid=$(result pid)
}

# call_input TEXT [ARGUMENTS [META]]: Sends a call that types TEXT into $task. TEXT
# is the content of a JSON string.
call_input() {
	call bash '{"task_id":"'"$task"'","input":"'"$1"'"'"${2:+,$2}"'}' ${3+"$3"}
}

# run_input TEXT [ARGUMENTS]: Types TEXT into $task and reads the response.
run_input() {
	call_input "$@" && answer
}

# read_task [TASK [ARGUMENTS]]: Calls task_output for TASK (default: the last task
# that was started) and reads the response.
read_task() {
	local more=${2-}
	more=${more#\{}
	more=${more%\}}
	run_tool task_output '{"task_id":"'"${1:-$task}"'"'"${more:+,$more}"'}'
}

# wait_for_task ARGUMENTS [META]: Sends a call of task_output for $task.
wait_for_task() {
	call task_output '{"task_id":"'"$task"'",'"$1"'}' ${2+"$2"}
}

# is_tool_error PATTERN: Fails if $reply is not a tool error whose text matches
# PATTERN.
is_tool_error() {
	is "$(get result isError)" true &&
		is "$(result)" '' &&
		like "$(get -s result content 0 text)" "$1"
}

# sync_server: Sends a ping and reads its response, so that the server has read
# everything that was sent before.
sync_server() {
	id=$((++calls))
	request $id ping && answer && is "$(get result)" '{}'
}

# next_is_ping: Fails if the server sends anything before its response to a
# ping.
next_is_ping() {
	id=$((++calls))
	request $id ping && read_reply && is "$(get -v id)" $id
}

# has_exited: Succeeds if the server has exited.
has_exited() {
	! kill -0 "$server" 2>/dev/null
}

# await_exit: Waits until the server has exited. Sets $status.
await_exit() {
	local byte='' reader=''
	# Usually, the server exits without output, which ends this read.
	if IFS= read -rd '' -t $((10 * SLOW)) -n 1 -u 8 byte 2>/dev/null; then
		# Read all output, so that the server can write it and exit.
		{ printf %b "${byte:-\\0}"; cat <&8; } >>heard 7>&- &
		reader=$!
	fi
	if eventually has_exited; then
		status=0
		wait "$server" || status=$?
	else
		kill -9 "$server" && wait "$server" 2>/dev/null || :
		[ -z "$reader" ] || kill "$reader" 2>/dev/null || :
		status=stuck
	fi
	[ -z "$reader" ] || wait "$reader" || :
	exec 7>&- 8<&-
	left=1
	[ $status != stuck ]
}

# end_input: Closes the server's stdin.
end_input() {
	exec 7>&-
}

# stop_server: Closes the server's stdin and waits until the server has exited. Sets
# $status.
stop_server() {
	end_input
	await_exit
}

# answered ID: Succeeds if the request was answered. The server must have
# exited.
answered() {
	all -v id | grep -qxF -- "$1"
}

# unanswered ID: Fails if the request was answered. The server must have exited.
unanswered() {
	! answered "$1" || fail "answered: $1"
}

# processes_left: Prints the ids of the processes that this test's server
# started. Fails if there are none.
processes_left() {
	"$HERE/reply" -p "TEST_MARK=$PWD:"
}

# has_no_processes: Succeeds if no process that this test's server started exists.
has_no_processes() {
	# A search takes longer than a check of a process that was found before.
	[ -z "$remaining" ] || is_gone "$remaining" || return
	remaining=$(processes_left) || return 0
	remaining=${remaining%%$'\n'*}
	return 1
}

# kill_processes_left: Fails if a process that this test's server started still exists.
# Prints and kills such processes.
kill_processes_left() {
	local found
	found=$(processes_left) || return 0
	# shellcheck disable=SC2086
	ps -o pid,ppid,stat,args -p "${found//$'\n'/,}" >&2 || :
	# shellcheck disable=SC2086
	kill -9 $found 2>/dev/null || :
	fail 'left behind by boris'
}

# peak: Prints the peak memory use of the server in KiB.
peak() {
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$server/status"
}

# as_user: Makes the server run as a user of its own, for whom ./asroot COMMAND
# runs a command as root. No other user can run ./asroot.
as_user() {
	needs_root
	needs_linux
	needs cc setpriv
	[ -z "$WRAP" ] || skip "under $WRAP"
	cat >asroot.c <<-'END'
	#include <unistd.h>
	int
	main(int argc, char *argv[])
	{
		return argc < 2 || setuid(0) < 0 || execvp(argv[1], argv + 1);
	}
	END
	cc -o asroot asroot.c
	cp "$BORIS" own
	BORIS=$PWD/own
	local user=47115
	chgrp $user asroot "$BATS_RUN_TMPDIR" "$PARENT"
	chmod 710 "$BATS_RUN_TMPDIR" "$PARENT"
	chmod 4750 asroot
	chown $user . tmp gate
	wrap=(setpriv --reuid="$user" --regid="$user" --clear-groups)
	# shellcheck disable=SC2016 # The inner shell expands $(id -u).
	"${wrap[@]}" ./asroot sh -c '[ "$(id -u)" = 0 ]' ||
		skip 'set-user-ID programs have no effect here'
}

# noted_survivor: Sets $survivor to the pid of the running process of another user
# that the note of the result names, and $note to that part of the note. Without
# its Linux-only code, boris may not know the pid.
noted_survivor() {
	local running='belongs to another user and is still running'
	local pattern="(pid ([0-9]+)|a process) $running"
	[[ $(plain note) =~ $pattern ]] ||
		fail "no survivor: $reply" || return
	note=${BASH_REMATCH[0]} survivor=${BASH_REMATCH[2]}
	[ -n "$survivor" ] || ! linux_parts || return
	[ -n "$survivor" ] || survivor=$(left_of_root)
	kill -0 "$survivor"
}

# left_of_root: Prints the pids of root's processes that the server has started.
left_of_root() {
	local pid
	for pid in $(processes_left); do
		[ "$(stat -c %u "/proc/$pid/environ")" != 0 ] || echo "$pid"
	done
}

# end_survivor: Kills the survivor as root. Ignores what boris prints about it.
end_survivor() {
	kill -9 "$survivor"
	eventually gone_pid "$survivor"
	[ -n "$left" ] || stop_server
	: >err
}

# survivor_is COMMAND: Fails if the survivor runs another command.
survivor_is() {
	is "$(tr '\0' ' ' <"/proc/$survivor/cmdline")" "$1 "
}

# runs_sleep PID: Waits until the process runs the program sleep.
runs_sleep() {
	eventually grep -qs sleep "/proc/$1/comm"
}

# gone_pid PID: Succeeds if the process does not exist or is a zombie.
gone_pid() {
	! grep -qs '^State:[^Z]*$' "/proc/$1/status"
}

# run_in_shell COMMAND: Runs COMMAND in the shell itself. Writes its output to
# want.out and want.err, and prints its exit code.
run_in_shell() {
	local code=0
	(exec -a "${NAME_OF_SHELL-/bin/bash}" "${SHELL_OF_BORIS:-/bin/bash}" \
		-c "$1") </dev/null >want.out 2>want.err 3>&- 6>&- 9>&- || code=$?
	echo $code
}

# same_text FILE WANTED: Fails and prints both files if their contents differ.
same_text() {
	cmp -s "$1" "$2" ||
		fail "is:        $(<"$1")"$'\n'"should be: $(<"$2")"
}

# matches_shell COMMAND: Fails if boris returns another exit code, stdout or
# stderr than the shell itself.
matches_shell() {
	local want
	want=$(run_in_shell "$1")
	run_bash "$1"
	plain stdout >got.out
	plain stderr >got.err
	is "$(result exit_code)" "$want" &&
		same_text got.out want.out && same_text got.err want.err
}

# without_bash [SHELL]: Makes the test's server run in a root directory without
# /bin/bash. Its /bin/sh is SHELL (default: dash). The root also has the
# directories /home and /home/d. PATH_OF_ROOT, if exported, is the server's PATH
# (default: /bin). Skips the test if such a root cannot be made.
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
