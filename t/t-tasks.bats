#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# T: background tasks
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# await_end: Waits until the task with the process id $pid has ended, without
# reading the task.
await_end() {
	eventually is_reaped "$pid"
}

# start_ended_task [COMMAND]: Starts a task (default: exit 3) and returns after
# the server has noticed its end.
start_ended_task() {
	start_task "${1-exit 3}"
	await_end
	sync_server
}

# list_tasks: Calls task_output without an id and reads the response.
list_tasks() {
	run_tool task_output '{}'
}

# listed_field TASK FIELD: Prints a field of this task in the list as JSON.
listed_field() {
	local i n
	n=$(get -n result structuredContent tasks)
	for ((i = 0; i < n; i++)); do
		[ "$(plain tasks $i task_id)" = "$1" ] || continue
		result tasks $i "$2" || :
		return
	done
	fail "not listed: $1"
}

# list_length: Prints the number of tasks in the list.
list_length() {
	get -n result structuredContent tasks
}

# kill_task [ARGUMENTS]: Calls bash with kill_pid for $pid and reads the response.
kill_task() {
	run_tool bash '{"kill_pid":'"$pid${1:+,$1}"'}'
}

# check_task [ARGUMENTS]: Calls bash with check_pid for $pid and reads the response.
check_task() {
	run_tool bash '{"check_pid":'"$pid${1:+,$1}"'}'
}

# is_forgotten: Fails if task_output or kill_pid still finds the last task.
is_forgotten() {
	read_task
	is_tool_error "task not found: $task*"
	kill_task
	is_tool_error "no background process with pid $pid*"
}

# --- T1: starting a task

@test "T1: run_in_background immediately returns the task's id and pid" {
	boris
	start_timer
	start_task 'echo $$ >pid; read <gate'
	within 2000
	is "$(result status)" '"running"'
	await_file pid
	is "$pid" "$(cat pid)"
	is "$(result exit_code)$(result cwd)" ''
}

@test "T1: a background task's stdin is empty" {
	boris
	start_task 'cat; echo $? >status; read <gate'
	await_file status
	is "$(cat status)" 0
}

# collect_ids N: Starts N tasks and appends their ids to the file `ids`.
collect_ids() {
	local i
	boris
	for ((i = 0; i < $1; i++)); do
		start_task true
		echo "$task" >>ids
	done
	stop_server
}

# count_unique: Prints the number of different lines on stdin.
count_unique() {
	sort -u | wc -l | tr -d ' '
}

@test "T1: a task id consists of eight hexadecimal digits" {
	boris
	start_task true
	[[ $task =~ ^[0-9a-f]{8}$ ]] || fail "$task"
}

@test "T1: task ids are chosen at random" {
	collect_ids 3
	collect_ids 3
	is "$(count_unique <ids)" 6
	mapfile -t ids < <(sed 's/^/0x/' ids)
	isnt $(((ids[1] - ids[0]) & 0xffffffff)) $(((ids[2] - ids[1]) & 0xffffffff))
	# The first halves differ as well, so no half is a counter.
	least "$(cut -c 1-4 ids | count_unique)" 5
}

# without_dev: Makes the server run in a mount namespace with an empty /dev.
without_dev() {
	needs_root
	needs_linux_parts
	needs unshare
	needs_plain
	unshare -m true || skip 'no mount namespaces here'
	wrap=(unshare -m sh -c 'mount -t tmpfs none /dev && exec "$@"' sh)
}

@test "T1: task ids are random on a host without /dev" {
	without_dev
	collect_ids 1
	collect_ids 1
	is "$(count_unique <ids)" 2
}

@test "B4: commands and tasks have an empty stdin on a host without /dev" {
	without_dev
	boris
	run_bash 'ls -A /dev; cat; echo hi'
	is "$(result stdout)" '"hi\n"'
	start_task 'cat; echo there'
	read_task "$task" '{"wait":10000}'
	is "$(result stdout)" '"there\n"'
}

# no_urandom: Makes the server run without getrandom(), in a mount namespace of
# its own.
no_urandom() {
	needs_root
	needs unshare nsenter strace pgrep
	[ -e /dev/urandom ] || skip 'no /dev/urandom here'
	strace -o /dev/null true || skip 'nothing can be traced here'
	wrap=(unshare -m env ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null
		-e inject=getrandom:error=ENOSYS)
	"${wrap[@]}" true || skip 'no mount namespaces here'
}

@test "T1: starting a task fails if no random numbers are available" {
	no_urandom
	boris
	nsenter -t "$server" -m mount --bind /dev/null /dev/urandom
	run_bash true '{"run_in_background":true}'
	is_tool_error '*no random number*'
	nsenter -t "$server" -m umount /dev/urandom
	start_task true
}

# with_getrandom WAIT: Makes the server start as if the kernel's random number
# generator were not ready for WAIT milliseconds. A negative WAIT is the error
# number that getrandom() returns.
with_getrandom() {
	needs_linux_parts
	needs cc
	[ -z "$WRAP" ] || skip "under $WRAP"
	cc -o unready "$HERE/unready.c" || skip 'no seccomp notifications here'
	./unready 0 true || skip 'no seccomp notifications here'
	wrap=("$PWD/unready" "$1")
}

@test "T1: boris reports that it is waiting for the kernel's random number generator" {
	with_getrandom 2500
	start_timer
	boris
	least "$(elapsed)" 2500
	is "$(<err)" "boris: waiting for the kernel's random number generator to be initialized"
	start_task 'read <gate'
	like "$task" '????????'
	release
	stop_server
	: >err
}

@test "T1: boris does not report a wait of less than a second for the random number generator" {
	with_getrandom 200
	boris
	start_task 'read <gate'
	release
}

@test "T1: SIGTERM terminates boris while it is waiting for the random number generator" {
	with_getrandom 60000
	start
	eventually grep -qs waiting err
	kill "$server"
	await_exit
	is $status 143
	: >err
}

@test "T1: boris reads /dev/urandom if the kernel lacks getrandom()" {
	with_getrandom -38
	[ -c /dev/urandom ] || skip 'no /dev/urandom here'
	boris
	start_task 'read <gate'
	release
}

@test "T1: boris does not start if getrandom() fails" {
	with_getrandom -1
	filter </dev/null
	is $status 1
	is "$(<err)" 'boris: cannot start: no source of random numbers'
}

@test "T1: the output of a task that ends immediately can be read" {
	boris
	for i in {1..20}; do
		start_task "echo $i"
		read_task "$task" '{"wait":10000}'
		is "$(result status) $(plain stdout)" "\"completed\" $i"
	done
}

# unbuffered: Prints PYTHONUNBUFFERED as a task has it.
unbuffered() {
	start_task 'echo "<$PYTHONUNBUFFERED>"'
	read_task "$task" '{"wait":20000}'
	plain stdout
}

@test "T1: background tasks run with PYTHONUNBUFFERED=1" {
	unset PYTHONUNBUFFERED
	boris
	is "$(unbuffered)" '<1>'
}

@test "T1: foreground commands do not run with PYTHONUNBUFFERED=1" {
	unset PYTHONUNBUFFERED
	boris
	run_bash 'echo "<$PYTHONUNBUFFERED>"'
	is "$(plain stdout)" '<>'
}

@test "T1: an inherited value of PYTHONUNBUFFERED is passed to tasks unchanged" {
	export PYTHONUNBUFFERED=
	boris
	is "$(unbuffered)" '<>'
}

@test "T1: the task_id argument also accepts a task's pid" {
	boris
	task_at_gate 'echo hi'
	for value in "$pid" '"'"$pid"'"'; do
		run_tool task_output '{"task_id":'"$value"'}'
		is "$(result stdout)" '"hi\n"'
	done
}

@test "T1: the check_pid and kill_pid arguments also accept a task's id" {
	boris
	task_at_gate 'echo hi'
	run_tool bash '{"check_pid":"'"$task"'"}'
	is "$(result stdout)" '"hi\n"'
	run_tool bash '{"kill_pid":"'"$task"'"}'
	is "$(result status)" '"killed"'
}

# --- T2: the number of tasks

# start_ten: Starts ten tasks that wait for the gate. Sets the arrays ids and pids.
start_ten() {
	local i
	for i in {0..9}; do
		start_task "read <gate; : number $i; : $(printf 'x%.0s' {1..5000})"
		ids[i]=$task pids[i]=$pid
	done
}

@test "T2: an eleventh task is rejected while ten tasks are running" {
	boris
	start_ten
	run_bash 'touch ran' '{"run_in_background":true}'
	reason='10 background tasks are running, which is the maximum'
	advice='stop one with kill_pid, or wait until one ends'
	is_tool_error "the command was not started, because $reason; $advice"$'\n*'
	[ ! -e ran ]
}

@test "T2: the error about starting an eleventh task lists the ten running tasks" {
	boris
	start_ten
	run_bash true '{"run_in_background":true}'
	get -s result content 0 text >error
	for i in {0..9}; do
		line=$(grep -F "${ids[i]}" error)
		has "$line" "${pids[i]}"
		has "$line" "read <gate; : number $i;"
		elapsed='[^a-z0-9][0-9.]+ ?(ms|s|min)'
		[[ $line =~ $elapsed ]] || fail "$line"
	done
	most "$(wc -c <error)" 4000
}

@test "T2: a new task can be started after one of ten tasks ends" {
	boris
	start_ten
	run_bash true '{"run_in_background":true}'
	is_tool_error '*10*'
	kill_task
	start_task 'read <gate'
}

@test "T2: finished tasks do not count towards the limit of ten tasks" {
	boris
	for i in 1 2; do
		start_ended_task true
	done
	start_ten
}

@test "T2: the results of the last ten finished tasks are kept" {
	boris
	for i in {0..10}; do
		start_ended_task "echo $i"
		ids[i]=$task
	done
	list_tasks
	is "$(list_length)" 10
	read_task "${ids[0]}"
	is_tool_error "task not found: ${ids[0]}*"
	for i in {1..10}; do
		read_task "${ids[i]}"
		is "$(result stdout)" "\"$i\\n\""
	done
}

@test "T2: the result of the task that ended first is discarded first" {
	boris
	start_task 'read <gate; echo long'
	long=$task long_pid=$pid
	start_ended_task
	first=$task
	for i in {1..9}; do
		start_ended_task
	done
	release
	pid=$long_pid
	await_end
	sync_server
	read_task $first
	is_tool_error "task not found: $first*"
	read_task $long
	is "$(result stdout)" '"long\n"'
}

# --- T3: reading a task

@test "T3: reading a running task returns the output it has produced so far" {
	boris
	task_at_gate 'echo one; echo err >&2' 'echo two'
	read_task
	is "$(result status) $(result stdout) $(result stderr)" '"running" "one\n" "err\n"'
	is "$(result exit_code)" ''
	is "$(plain task_id) $(result pid)" "$task $pid"
	like "$(text)" '"status: running\\n*'
	has "$(text)" 'stdout:\none\n'
}

@test "T3: reading a task returns all output printed before the call" {
	boris
	start_task 'read <gate; echo hi; echo x >a; read <gate'
	await_stable true # Let the server sleep in poll() before it is stopped.
	kill -STOP "$server"
	release
	await_file a
	call task_output '{"task_id":"'"$task"'"}'
	kill -CONT "$server"
	answer
	is "$(result stdout)" '"hi\n"'
}

@test "T3: reading a finished task returns its output and exit code" {
	boris
	start_task 'echo one; exit 3'
	read_task "$task" '{"wait":10000}'
	is "$(result status) $(result stdout) $(result exit_code)" '"completed" "one\n" 3'
	is "$(text)" '"status: completed\nexit_code: 3\ntask_id: '"$task"'\n\nstdout:\none\n"'
	is "$(get result isError)" false
}

@test "T3: the result of a finished task can be read only once" {
	boris
	start_ended_task
	read_task
	is "$(result exit_code)" 3
	is_forgotten
}

@test "T3: reading a task that was killed returns the signal that killed it" {
	boris
	start_task 'kill -KILL $$'
	read_task "$task" '{"wait":10000}'
	is "$(result status) $(result exit_code) $(result signal)" '"completed" 137 "SIGKILL"'
}

@test "T3: reading a running task that has not printed anything returns (no output)" {
	boris
	start_task 'read <gate'
	read_task
	like "$(text)" '*\(no output\)"'
	is "$(result stdout) $(result stderr)" '"" ""'
}

@test "T3: reading a finished task that printed nothing returns (no output)" {
	boris
	start_task true
	read_task "$task" '{"wait":10000}'
	like "$(text)" '"status: completed\\n*\(no output\)"'
}

# --- T3: how the output of a task is truncated

# shows_end_of_seq BYTES: Fails if stdout is not the end of `seq 20000`, in complete
# lines of at most BYTES bytes, with a truncation line.
shows_end_of_seq() {
	local last lines
	last=$(seq 20000 | tail -c "$1" | tail -n +2)
	lines=$(wc -l <<<"$last" | tr -d ' ')
	is "$(plain stdout | sed '$d')" "$last"
	has "$(plain stdout)" "[stdout: showing last $lines of 20000 lines;"
}

# without_truncation_line: Prints stdout without the truncation line.
without_truncation_line() {
	plain stdout | sed '/^\[stdout/d'
}

@test "T3: reading a running task returns the last 10,000 characters of its output" {
	boris
	task_at_gate 'seq 20000'
	read_task
	shows_end_of_seq 10000
	has "$(plain stdout)" "; full output: $(plain stdout_file)]"
	is "$(result stdout_chars)" "$(seq 20000 | wc -c | tr -d ' ')"
}

@test "T3: a call's truncate and limit arguments do not apply while the task that it started is running" {
	boris
	for more in '"truncate":"head"' '"truncate":"tail"' '"truncate":"both"' \
	            '"limit":100000'; do
		task_at_gate 'seq 20000' '' "{$more}"
		read_task
		shows_end_of_seq 10000
		has "$(plain stdout)" "; full output: $(plain stdout_file)]"
	done
}

@test "T3: the truncate and limit arguments of task_output apply to a finished task" {
	boris
	for how in head tail both; do
		start_task 'seq 20000'
		read_task "$task" '{"wait":10000,"truncate":"'$how'","limit":3000}'
		without_truncation_line >got.$how
		run_bash 'seq 20000' '{"truncate":"'$how'","limit":3000}'
		is "$how: $(without_truncation_line)" "$how: $(cat got.$how)"
	done
}

@test "T3: task_output with truncate: tail returns the last 2000 lines" {
	boris
	start_task 'seq 20000'
	read_task "$task" '{"wait":10000,"truncate":"tail"}'
	is "$(plain stdout | sed '$d')" "$(seq 20000 | tail -n 2000)"
}

@test "T3: a limit passed to task_output overrides the one given in the call that started the task" {
	boris
	start_task 'seq 20000' '{"truncate":"tail","limit":50000}'
	read_task "$task" '{"wait":10000,"limit":2000}'
	shows_end_of_seq 2000
}

@test "T3: task_output with a limit returns the end of a running task's output" {
	boris
	task_at_gate 'seq 20000'
	for limit in 2000 20000; do
		read_task "$task" '{"limit":'$limit'}'
		shows_end_of_seq $limit
	done
	read_task
	shows_end_of_seq 10000
}

@test "T3: the truncate argument of task_output applies to a running task" {
	boris
	task_at_gate 'seq 20000'
	read_task "$task" '{"truncate":"tail"}'
	is "$(plain stdout | sed '$d')" "$(seq 20000 | tail -n 2000)"
	read_task "$task" '{"truncate":"head"}'
	is "$(plain stdout | head -c 30000)" "$(seq 20000 | head -c 30000)"
}

@test "T3: the limit argument applies to check_pid" {
	boris
	task_at_gate 'seq 20000'
	check_task '"limit":2000'
	shows_end_of_seq 2000
}

@test "T3: the limit argument applies to kill_pid" {
	boris
	task_at_gate 'seq 20000'
	kill_task '"limit":2000'
	shows_end_of_seq 2000
}

@test "T3: task output that is no longer kept in memory is still in the saved file" {
	boris
	for how in head tail both; do
		start_task 'yes é | head -n 90000 | tr -d "\n"; echo'
		read_task "$task" '{"wait":10000,"limit":100000,"truncate":"'$how'"}'
		is "$(grep -c '^\[stdout.*full output: /' <<<"$(plain stdout)")" 1
		is "$(wc -c <"$(plain stdout_file)" | tr -d ' ')" 180001
	done
}

@test "T3: 10,000 characters of a running task's output are returned in full" {
	boris
	task_at_gate 'yes é | head -n 10000 | tr -d "\n"'
	read_task
	is "$(get -n result structuredContent stdout) $(result stdout_chars)" '10000 '
}

@test "T3: a running task's 10,001-character line is truncated at its start" {
	boris
	task_at_gate 'yes é | head -n 10000 | tr -d "\n"; printf x'
	read_task
	is "$(plain stdout | head -n 1 | wc -c | tr -d ' ')" 20000
	has "$(plain stdout)" 'éx
[stdout: showing last 1 of 1 lines (its last 19999 bytes); full output: /'
}

@test "T3: at most 10,000 characters of a running task's new output are returned" {
	boris
	task_at_gate 'echo first' 'seq 20000; echo x >b; read <gate'
	read_task "$task" '{"new":true}'
	release
	await_output b
	read_task "$task" '{"new":true}'
	shows_end_of_seq 10000
	is "$(result stdout_chars)" 108900
	has "$(plain stdout)" "; full output: $(plain stdout_file)]"
}

# --- T3: waiting for a task, and new output

@test "T3: task_output with a wait returns when the task ends" {
	boris
	start_task 'read <gate; echo hi'
	wait_for_task '"wait":60000'
	wait=$id
	sync_server
	start_timer
	release
	answer $wait
	within 1000
	is "$(result status) $(result stdout)" '"completed" "hi\n"'
}

@test "T3: other calls are answered while a task_output call is waiting" {
	boris
	start_task 'read <gate'
	wait_for_task '"wait":60000'
	next_is_ping
	run_bash 'echo meanwhile'
	is "$(result stdout)" '"meanwhile\n"'
	release
}

@test "T3: task_output with a wait returns immediately if the task has already ended" {
	boris
	start_ended_task
	start_timer
	read_task "$task" '{"wait":60000}'
	within 5000
	is "$(result exit_code)" 3
}

@test "T3: task_output with wait: 0 returns immediately" {
	boris
	start_task 'read <gate'
	start_timer
	read_task "$task" '{"wait":0}'
	within 5000
	is "$(result status)" '"running"'
}

@test "T3: task_output reports that the task is still running when the wait expires" {
	boris
	start_task 'read <gate'
	start_timer
	read_task "$task" '{"wait":200}'
	least "$(elapsed)" 190
	within 2000
	is "$(result status)" '"running"'
}

@test "T3: cancelling a task_output call does not stop the task" {
	boris
	start_task 'read <gate; echo hi'
	wait_for_task '"wait":60000'
	wait=$id
	sync_server
	cancel $wait
	read_task
	is "$(result status)" '"running"'
	release
	read_task "$task" '{"wait":10000}'
	is "$(result status) $(result stdout)" '"completed" "hi\n"'
	stop_server
	unanswered $wait
}

@test "T3: task_output with new: true returns only output that has not already been returned" {
	boris
	task_at_gate 'echo one' 'echo two; echo e >&2; echo x >b; read <gate'
	read_task "$task" '{"new":true}'
	is "$(result stdout)" '"one\n"'
	like "$(text)" '*stdout:\\none\\n*'
	release
	await_output b
	read_task "$task" '{"new":true}'
	is "$(result stdout) $(result stderr)" '"two\n" "e\n"'
}

@test "T3: task_output with new: true reports that there is no new output" {
	boris
	task_at_gate 'echo one'
	read_task
	read_task "$task" '{"new":true}'
	is "$(result stdout)" '""'
	like "$(text)" '*\(no new output\)"'
}

@test "T3: after a call without new: true, task_output with new: true returns only later output" {
	boris
	task_at_gate 'echo one' 'echo two'
	read_task "$task" '{"new":true}'
	read_task
	is "$(result stdout)" '"one\n"'
	release
	read_task "$task" '{"new":true,"wait":10000}'
	is "$(result status) $(result stdout) $(result stderr)" '"completed" "two\n" ""'
}

@test "T3: after check_pid, task_output with new: true returns only later output" {
	boris
	task_at_gate 'echo one' 'echo two'
	read_task "$task" '{"new":true}'
	check_task
	is "$(result stdout)" '"one\n"'
	release
	read_task "$task" '{"new":true,"wait":10000}'
	is "$(result status) $(result stdout) $(result stderr)" '"completed" "two\n" ""'
}

# --- T4: check_pid and kill_pid

@test "T4: check_pid returns the output of a running task" {
	boris
	task_at_gate 'echo one'
	check_task
	is "$(result status) $(result stdout) $(plain task_id)" "\"running\" \"one\\n\" $task"
}

@test "T4: check_pid returns the result of a finished task only once" {
	boris
	start_task 'echo one; exit 3'
	await_end
	check_task
	is "$(result status) $(result stdout) $(result exit_code)" '"completed" "one\n" 3'
	check_task
	is_tool_error "no background process with pid $pid*"
	is_forgotten
}

@test "T4: kill_pid sends SIGTERM to a task and returns its remaining output" {
	boris
	task_at_gate 'trap "rm lock; echo bye; exit 7" TERM; echo x >lock; echo hi'
	start_timer
	kill_task
	within 3000
	is "$(result status) $(result stdout) $(result exit_code)" '"killed" "hi\nbye\n" 7'
	like "$(text)" '"status: killed\\n*'
	[ ! -e lock ]
	eventually is_gone "$pid"
	is_forgotten
}

@test "T4: kill_pid also terminates the children of a task" {
	boris
	task_at_gate 'sleep 600 & echo $! >child'
	kill_task
	is "$(result status)" '"killed"'
	eventually is_gone "$pid"
	is_gone child
}

# start_ignoring_sigterm: Starts a task that ignores SIGTERM, as does its child.
start_ignoring_sigterm() {
	task_at_gate 'trap "" TERM; (echo $BASHPID >child; read <gate) & echo hi'
	await_file child
}

@test "T4: kill_pid sends SIGKILL to a task that ignores SIGTERM for five seconds" {
	use_fast_clock
	boris
	start_ignoring_sigterm
	start_timer
	kill_task
	least "$(elapsed)" 4500
	within 8000
	is "$(result status) $(result stdout) $(result exit_code)" '"killed" "hi\n" 137'
	is "$(result signal)" '"SIGKILL"'
	eventually is_gone "$pid"
	is_gone child
	is_forgotten
}

@test "T4: other requests are answered while kill_pid is waiting for a task to end" {
	use_fast_clock
	boris
	start_ignoring_sigterm
	call bash '{"kill_pid":'"$pid"'}'
	kill=$id
	next_is_ping
	is_running "$pid"
	answer $kill
	is "$(result status)" '"killed"'
}

@test "T4: kill_pid returns at most 10,000 characters of a task's output" {
	boris
	task_at_gate 'seq 20000'
	kill_task
	is "$(result status)" '"killed"'
	has "$(plain stdout)" $'\n19999\n20000\n[stdout: showing last '
	most "$(get -n result structuredContent stdout)" 10300
}

@test "T4: kill_pid returns only output that has not already been returned" {
	boris
	task_at_gate 'echo one'
	read_task
	is "$(result stdout)" '"one\n"'
	kill_task
	is "$(result status) $(result stdout)" '"killed" ""'
}

@test "T4: kill_pid returns the result of a task that has already ended" {
	boris
	start_ended_task 'echo hi; exit 3'
	kill_task
	is "$(result status) $(result stdout) $(result exit_code)" '"completed" "hi\n" 3'
	is_forgotten
}

# trap_sigterm: Prints a command that prints `hi`, and `bye` on SIGTERM.
trap_sigterm() {
	echo 'trap "echo bye; exit 7" TERM; echo hi; echo $$ >pid; read <gate'
}

@test "T4: if a task is killed, all calls that are waiting for it receive the same result" {
	boris
	call_bash "$(trap_sigterm)" '{"run_in_background":true,"wait":60000}'
	waits=("$id")
	await_output pid
	list_tasks
	task=$(plain tasks 0 task_id) pid=$(result tasks 0 pid)
	for more in '"wait":60000' '"until":"never"'; do
		wait_for_task "$more"
		waits+=("$id")
	done
	sync_server
	kill_task
	killed="$(result status) $(result exit_code) $(result stdout)"
	is "$killed" '"killed" 7 "hi\nbye\n"'
	start_timer
	for id in "${waits[@]}"; do
		answer $id
		is "$(result status) $(result exit_code) $(result stdout)" "$killed"
	done
	within 3000
}

@test "T4: if a task is killed, a call that is waiting for new output receives the result" {
	boris
	start_task "$(trap_sigterm)"
	await_output pid
	wait_for_task '"wait":60000'
	wait=$id
	read_task "$task" '{"new":true}'
	is "$(result stdout)" '"hi\n"'
	wait_for_task '"new":true,"wait":60000'
	new=$id
	call bash '{"kill_pid":'"$pid"'}'
	start_timer
	for id in $new $wait $id; do
		answer $id
		has "$(plain stdout)" bye
	done
	within 3000
}

@test "T4: kill_pid sends SIGTERM only once" {
	boris
	start_task 'trap "echo x >>got; sleep 0.1; exit" TERM; echo x >begun
		while :; do read -t 1 <>never; done'
	await_file begun
	kill_task
	is "$(result stderr)" '""'
	is "$(wc -l <got | tr -d ' ')" 1
}

@test "T4: two simultaneous kill_pid calls for one task receive the same result" {
	use_fast_clock
	boris
	start_task '(trap "" TERM; echo $BASHPID >child; read <gate) & echo x >a; read <gate; :'
	await_output a child
	call bash '{"kill_pid":'"$pid"'}'
	first=$id
	eventually is_gone "$pid"
	call bash '{"kill_pid":'"$pid"'}'
	for id in $first $id; do
		answer
		is "$(result status) $(result exit_code) $(result note)" '"killed" 143 '
	done
}

@test "T4: check_pid and kill_pid reject an unknown pid" {
	boris
	start_task 'read <gate'
	for argument in check_pid kill_pid; do
		for number in 1 $$ $server 999999999; do
			run_tool bash '{"'$argument'":'$number'}'
			is_tool_error "no background process with pid $number*"
		done
	done
	is_running "$server"
	read_task
	is "$(result status)" '"running"'
}

@test "T4: check_pid and kill_pid reject zero, negative and oversized pids" {
	boris
	start_task 'read <gate'
	for argument in check_pid kill_pid; do
		for number in 0 -1 -"$pid" 4294967296 "$((pid + 4294967296))"; do
			run_tool bash '{"'$argument'":'$number'}'
			is_tool_error '*pid*'
		done
	done
	is_running "$server"
	read_task
	is "$(result status)" '"running"'
}

@test "T4: check_pid and kill_pid reject an unknown task id" {
	boris
	for argument in check_pid kill_pid; do
		run_tool bash '{"'$argument'":"nosuch00"}'
		is_tool_error '@(task not found: |no background process with pid )nosuch00*'
	done
}

@test "T4: kill_pid rejects the pid of a process that boris did not start" {
	boris
	sleep 600 3>&- 6>&- 7>&- 8>&- 9>&- &
	mine=$!
	run_tool bash '{"kill_pid":'$mine'}'
	is_tool_error "no background process with pid $mine*"
	is_running $mine
	kill $mine
}

@test "T4: kill_pid rejects the pid of a foreground command" {
	boris
	call_bash 'echo $$ >pid; read <gate'
	long=$id
	await_file pid
	list_tasks
	is "$(result tasks)" '[]'
	run_tool bash '{"kill_pid":'"$(cat pid)"'}'
	is_tool_error "no background process with pid $(cat pid)*"
	is_running pid
	release
	answer $long
	is "$(result exit_code)" 0
}

@test "T4: kill_pid rejects the pid of a process that a foreground command left running" {
	boris
	run_bash 'sleep 600 & echo $! >child; echo $$ >leader'
	for file in child leader; do
		run_tool bash '{"kill_pid":'"$(cat $file)"'}'
		is_tool_error "no background process with pid $(cat $file)*"
	done
	is_running child
}

# --- T5: the time limit of tasks

@test "T5: a task that runs longer than --bg-timeout is terminated" {
	boris --bg-timeout=1
	start_timer
	start_task 'trap "echo bye; exit 7" TERM; echo hi; read <gate'
	read_task "$task" '{"wait":20000}'
	least "$(elapsed)" 800
	is "$(result status) $(result timed_out)" '"timed_out" true'
	is "$(result stdout) $(result exit_code)" '"hi\nbye\n" 7'
	eventually is_gone "$pid"
}

@test "T5: a task that ends before --bg-timeout expires is reported as completed" {
	boris --bg-timeout=1
	start_task 'echo hi'
	early=$task
	await_end
	start_task 'read <gate'
	read_task "$task" '{"wait":20000}'
	is "$(result status)" '"timed_out"'
	read_task $early
	is "$(result status) $(result stdout) $(result timed_out)" '"completed" "hi\n" '
}

@test "T5: a task that ignores SIGTERM is killed five seconds after --bg-timeout expires" {
	use_fast_clock
	boris --bg-timeout=5
	start_timer
	start_task '(trap "" TERM; echo $BASHPID >child; read <gate) & read <gate'
	read_task "$task" '{"wait":60000}'
	least "$(elapsed)" 9500
	within 13000
	is "$(result status)" '"timed_out"'
	is_gone child
}

@test "T5: if a foreground command becomes a task, --bg-timeout is measured from that moment" {
	boris --bg-timeout=1 --on-timeout=background
	start_timer
	run_bash 'read <gate' '{"timeout":600}'
	is "$(result status)" '"running"'
	read_task "$(plain task_id)" '{"wait":20000}'
	is "$(result status)" '"timed_out"'
	least "$(elapsed)" 1600
}

# --- T6, P6: tasks with much output

@test "T6: a task can print megabytes of output before any of it is read" {
	boris
	task_at_gate 'seq 400000 | tee copy; head -c 1000000 /dev/zero | tr "\0" b >&2'
	read_task
	is "$(result stdout_chars) $(result stderr_chars)" "$(wc -c <copy) 1000000"
}

@test "T6: the saved file contains the complete output of a task" {
	boris
	task_at_gate 'seq 400000 | tee copy'
	read_task
	cmp copy "$(plain stdout_file)"
	release
	read_task "$task" '{"wait":10000}'
	cmp copy "$(plain stdout_file)"
}

@test "T6: the output of ten tasks that print 8 MB each uses at most 5.7 MiB of memory" {
	needs_plain
	boris
	run_bash true
	before=$(peak)
	for i in {1..10}; do
		start_task "yes | head -c 4000000; yes \$(seq 100) | head -c 4000000 >&2
			echo x >done$i; read <gate"
	done
	next_is_ping
	await_file done{1..10}
	most "$(peak)" $((before + 20 * 290))
}

@test "P6: requests are answered while ten tasks keep redrawing long lines with carriage returns" {
	needs awk
	boris
	for i in {1..10}; do
		start_task 'exec awk "BEGIN {
			for (i = 0; i < 15000; i++) { a = a \"\303\251\"; b = b \"a\" }
			for (;;) printf \"%s\\r%s\\r\", a, b
		}"'
	done
	for i in {1..10}; do
		start_timer
		sync_server
		within 1000
	done
}

# --- T7: the list of tasks

@test "T7: the task list is empty if no task has been started" {
	boris
	list_tasks
	is "$(text) $(result)" '"no tasks" {"tasks":[]}'
	is "$(get result isError)" false
	ask tools/call '{"name":"task_output"}'
	is "$(text)" '"no tasks"'
}

@test "T7: task_output with task_id: null returns the task list" {
	boris
	run_tool task_output '{"task_id":null,"wait":null,"until":null,"new":null}'
	is "$(text) $(result tasks)" '"no tasks" []'
}

@test "T7: task_output without a task_id rejects the until and new arguments" {
	boris
	for argument in '"until":"x"' '"new":true'; do
		run_tool task_output "{$argument}"
		is_tool_error '*task_id*'
	done
}

@test "T7: the limit and truncate arguments are accepted but ignored when tasks are listed" {
	boris
	run_tool task_output '{"limit":2000,"truncate":"tail"}'
	is "$(text)" '"no tasks"'
}

@test "T7: the task list contains each task's id, pid, status, time, description and command" {
	boris
	start_task 'read <gate; echo one' '{"description":"Waits for the gate"}'
	list_tasks
	is "$(get -k result structuredContent | xargs) $(result status)" 'tasks '
	is "$(get -k result structuredContent tasks 0 | xargs)" \
		'task_id pid status elapsed_ms description command'
	is "$(plain tasks 0 task_id) $(result tasks 0 pid)" "$task $pid"
	is "$(plain tasks 0 status) $(result tasks 0 exit_code)" 'running '
	is "$(plain tasks 0 description)" 'Waits for the gate'
	is "$(plain tasks 0 command)" 'read <gate; echo one'
	least "$(result tasks 0 elapsed_ms)" 0
}

@test "T7: the task list includes the exit code of an unread finished task" {
	boris
	start_ended_task 'echo two; exit 3'
	list_tasks
	is "$(get -k result structuredContent tasks 0 | xargs)" \
		'task_id pid status elapsed_ms exit_code command'
	is "$(plain tasks 0 task_id) $(result tasks 0 pid)" "$task $pid"
	is "$(plain tasks 0 status) $(result tasks 0 exit_code)" 'completed 3'
	is "$(plain tasks 0 command)" 'echo two; exit 3'
}

@test "T7: the task list includes running tasks and unread finished tasks" {
	boris
	start_task 'read <gate'
	running=$task
	start_ended_task
	list_tasks
	is "$(list_length)" 2
	is "$(listed_field $running status)" '"running"'
	is "$(listed_field $task status)" '"completed"'
}

@test "T7: the text form of the task list contains one line per task" {
	boris
	for i in 1 2 3; do
		start_task $'read <gate\n: '$i '{"description":"number\n'$i'"}'
		echo "$task $pid running" >>tasks
	done
	start_ended_task 'exit 213'
	echo "$task $pid completed" >>tasks
	list_tasks
	get -s result content 0 text >list
	echo >>list
	is "$(grep -c . list)" 4
	while read -r task pid state; do
		like "$(grep -F "$task" list)" "*$pid*$state*"
	done <tasks
	has "$(grep -F "$task" list)" 213
}

@test "T7: the task list shows the first 200 characters of a long command" {
	boris
	start_task ": $(yes é | head -n 300 | tr -d '\n'); read <gate"
	list_tasks
	is "$(get -n result structuredContent tasks 0 command)" 200
	is "$(plain tasks 0 command)" ": $(yes é | head -n 198 | tr -d '\n')"
}

@test "T7: the task list shows the first 200 characters of a long description" {
	boris
	long=$(printf 'é%.0s' {1..300})
	first=$(printf 'é%.0s' {1..200})
	start_task 'read <gate' '{"description":"'"$long"'"}'
	list_tasks
	is "$(plain tasks 0 description)" "$first"
	has "$(text)" "  $first: read"
}

@test "T7: the task list shows quotation marks without escapes" {
	boris
	start_task 'echo "hi"; read <gate' '{"description":"say \"hi\""}'
	list_tasks
	has "$(get -s result content 0 text)" 'say "hi": echo "hi"; read'
}

@test "T7: task_output with new: true still returns all output after the task list has been returned" {
	boris
	task_at_gate 'echo one'
	list_tasks
	read_task "$task" '{"new":true}'
	is "$(result stdout)" '"one\n"'
}

@test "T7: a finished task remains in the task list until it is read" {
	boris
	start_ended_task 'echo two'
	for i in 1 2; do
		list_tasks
		is "$(list_length)" 1
	done
	read_task
	is "$(result status) $(result stdout)" '"completed" "two\n"'
	list_tasks
	is "$(list_length)" 0
}

@test "T7: reading a finished task with check_pid removes it from the task list" {
	boris
	start_ended_task
	check_task
	list_tasks
	is "$(result tasks)" '[]'
}

@test "T7: stopping a task with kill_pid removes it from the task list" {
	boris
	start_task 'read <gate'
	kill_task
	list_tasks
	is "$(result tasks)" '[]'
}

@test "T7: the task list shows that a task has timed out" {
	boris
	start_task 'read <gate' '{"timeout":50}'
	await_end
	sync_server
	list_tasks
	is "$(plain tasks 0 status) $(result tasks 0 exit_code)" 'timed_out 143'
}

@test "T7: the task list includes a foreground command that was turned into a task" {
	boris --on-timeout=background
	run_bash 'read <gate' '{"timeout":50}'
	task=$(plain task_id)
	list_tasks
	is "$(plain tasks 0 task_id) $(plain tasks 0 status)" "$task running"
	is "$(plain tasks 0 command)" 'read <gate'
}

@test "T7: the task list can contain ten running and ten finished tasks" {
	boris
	for i in {1..10}; do
		start_task true
		await_end
	done
	start_ten
	sync_server
	list_tasks
	is "$(list_length)" 20
	is "$(result | tr , '\n' | grep -c '"status":"running"')" 10
}

@test "T7: task_output with a wait but no task_id returns immediately if no task is running" {
	boris
	start_timer
	run_tool task_output '{"wait":60000}'
	within 5000
	is "$(text)" '"no tasks"'
}

@test "T7: task_output with a wait but no task_id returns when any task ends" {
	boris
	start_task 'read <gate'
	start_task 'read <never'
	call task_output '{"wait":60000}'
	waiting=$id
	sync_server
	start_timer
	release
	answer $waiting
	within 5000
	has "$(text)" 'completed'
}

@test "T7: a call that waits for any task returns when one ends, even if another call reads its result" {
	boris
	start_task 'read <never'
	start_task 'read <gate'
	wait_for_task '"wait":60000'
	reader=$id
	call task_output '{"wait":60000}'
	waiting=$id
	sync_server
	start_timer
	release
	answer $reader
	is "$(result status)" '"completed"'
	answer $waiting
	within 5000
	lacks "$(text)" "$task"
}

@test "T7: a call that waits for any task returns when kill_pid has terminated one" {
	boris
	start_task 'read <never'
	start_task 'trap "echo x >mark; read <gate; exit" TERM; echo x >begun
		read <never'
	await_file begun
	call bash '{"kill_pid":'"$pid"'}'
	killer=$id
	await_file mark
	call task_output '{"wait":60000}'
	waiting=$id
	sync_server
	start_timer
	release
	answer $killer
	answer $waiting
	within 5000
	lacks "$(text)" "$task"
}

@test "T7: the task list shows the foreground command and how many calls are waiting for it" {
	boris
	start_task 'read <never'
	call_bash 'echo x >begun; read <gate'
	await_file begun
	call_bash true
	last=$id
	list_tasks
	foreground='echo x >begun; read <gate, for * s; calls waiting for it: 1'
	like "$(text)" "*in the foreground: $foreground\""
	is "$(list_length)" 1
	release
	answer $last
}

@test "T7: the task list shows that no calls are waiting for a command with an absolute cwd" {
	boris
	call_bash 'echo x >begun; read <gate'
	await_file begun
	call_bash true
	command="echo x >'$PWD/other'; read <'$PWD/gate'"
	call_bash "$command" '{"cwd":"/"}'
	last=$id
	await_file other
	list_tasks
	has "$(text)" 'in the foreground: echo x >begun; read <gate, for '
	like "$(text)" "*in the foreground: $command, for [0-9.]* s\""
	is "$(grep -o 'calls waiting for it: 1' <<<"$(text)")" 'calls waiting for it: 1'
	release 2
	answer $last
}

@test "T7: the task list shows the length of the queue while an edit is waiting for a lock" {
	needs flock
	needs_linux_parts
	boris --edit
	echo a >f
	exec 5<f
	flock 5
	call edit '{"path":"'"$PWD"'/f","old":"a","new":"b"}'
	call_bash true
	last=$id
	list_tasks
	has "$(text)" 'calls in the queue: 2'
	exec 5<&-
	answer $last
}

# --- T8: notes about tasks that have ended

# reports_end: Fails if the result has no note about the end of $task.
reports_end() {
	is "$(plain note)" "task $task ended with exit code 3 (exit 3)"
}

# error_reports_end PATTERN: Fails if the reply is not an error like PATTERN with a
# note about the end of $task, or if the next result repeats the note.
error_reports_end() {
	is_tool_error "$1note: task $task ended with exit code 3 (exit 3)"
	run_bash true
	is "$(result note)" ''
}

@test "T8: the note that a task has ended appears only once, in the next result" {
	boris
	start_ended_task
	run_bash 'echo hi'
	reports_end
	run_bash 'echo hi'
	is "$(result note)" ''
}

@test "T8: a finished task can still be read after a note reports its end" {
	boris
	start_ended_task
	run_bash true
	reports_end
	read_task
	is "$(result exit_code)" 3
}

@test "T8: the note that a task has ended includes the task's description" {
	boris
	start_task 'exit 3' '{"description":"the tests"}'
	await_end
	sync_server
	run_bash 'echo hi'
	is "$(plain note)" "task $task ended with exit code 3 (the tests)"
}

@test "T8: an error about invalid arguments includes the note that a task has ended" {
	boris
	start_ended_task
	run_bash true '{"timeout":-1}'
	error_reports_end '*timeout*'
}

@test "T8: an error about a full log includes the note that a task has ended" {
	needs prlimit
	boris --log=log
	start_ended_task
	prlimit --pid "$server" --fsize=1:unlimited
	run_bash 'echo hi'
	prlimit --pid "$server" --fsize=unlimited:unlimited
	error_reports_end 'nothing was done: cannot write the log*'
}

@test "T8: if input cannot be logged, the error still includes the note that a task has ended" {
	needs prlimit
	boris --log=log
	start_on_terminal 'read x'
	typist=$task
	start_ended_task
	prlimit --pid "$server" --fsize=1:unlimited
	run_tool bash '{"task_id":"'"$typist"'","input":"x"}'
	prlimit --pid "$server" --fsize=unlimited:unlimited
	error_reports_end 'nothing was done: cannot write the log*'
}

@test "T8: the error about input for a task without a terminal says that another task has ended" {
	boris
	start_task 'read <gate'
	reader=$task
	start_ended_task
	run_tool bash '{"task_id":"'"$reader"'","input":"x"}'
	error_reports_end 'nothing was typed*'
}

@test "T8: an error about an unknown task includes the note that another task has ended" {
	boris
	start_ended_task
	run_tool task_output '{"task_id":"nothing"}'
	error_reports_end '*'
}

# have_ended N: Succeeds if N of the tasks of start_ten have ended.
have_ended() {
	local pid n=0
	for pid in "${pids[@]}"; do
		! is_reaped "$pid" || n=$((n + 1))
	done
	[ $n = "$1" ]
}

@test "T8: a note describes at most three finished tasks and counts the others" {
	boris
	start_ten
	release 5
	eventually have_ended 5
	sync_server
	run_bash true
	is "$(plain note | grep -o ' ended with' | wc -l)" 3
	has "$(plain note)" '2 more tasks ended'
	run_bash true
	is "$(plain note | grep -o ' ended with' | wc -l)" 2
}

@test "T8: if four tasks have ended, the note says that one more task has ended" {
	boris
	start_ten
	release 4
	eventually have_ended 4
	sync_server
	run_bash true
	like "$(plain note)" '*; 1 more task ended'
}

@test "T8: the note about a task says if its output was discarded" {
	boris
	start_ten
	call_bash "echo \$\$ >'$PWD/mark'; read <'$PWD/never'" '{"cwd":"/"}'
	await_file mark
	release 10
	for pid in "${pids[@]}"; do
		await_end
	done
	# The command becomes an eleventh task, because its call has timed out.
	cancel_by_timeout $id
	sync_server
	kill "$(<mark)"
	eventually is_reaped "$(<mark)"
	sync_server
	for i in {1..4}; do
		run_bash true
		plain note >>notes
	done
	is "$(grep -o ' ended with exit code 0' notes | wc -l)" 10
	is "$(grep -o ' code 0, and its output was discarded' notes | wc -l)" 1
}

@test "T8: a long directory name does not cut short the note that a task has ended" {
	dir=$PWD$(printf "/%0200d" {1..13})
	mkdir -p "$dir"
	boris --result-limit=2000
	start_ended_task
	run_bash "cd '$dir'; echo hi"
	has "$(text)" "task $task ended with exit code 3 (exit 3)"
	has "$(text)" 'hi\n'
	most "$(get -s result content 0 text | wc -c)" 2000
}

# --- W1, W3: waiting for the output of a task

@test "W1: progress notifications for a waiting call contain only output not yet returned" {
	boris
	task_at_gate 'echo one' 'echo two; read <gate'
	read_task
	call task_output '{"task_id":"'"$task"'","wait":60000}' '{"progressToken":1}'
	wait=$id
	sync_server
	release
	notice
	is "$(get params message)" '"two\n"'
	cancel $wait
}

@test "W3: the until text matches the final output of a task that has ended" {
	boris
	start_ended_task 'echo ready; echo steady >&2'
	read_task "$task" '{"wait":1000,"until":"steady"}'
	is "$(result status) $(result note)" '"completed" '
}
