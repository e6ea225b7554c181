#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# E: processes and timeouts
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# timeout_of MS: Prints arguments with this timeout, longer on a slow machine.
timeout_of() {
	echo '{"timeout":'$(($1 * SLOW))'}'
}

# Defines the function h, whose process starts another one and exits, again and
# again, while the file `forks` exists. It has no quotes that end those of "trap".
FORKING='h() { [ -e forks ] && printf x >>count && h & }'

# no_forks_remain: Fails if no process has called h, or if one still does.
no_forks_remain() {
	local before
	before=$(wc -c <count)
	pause 3000
	rm forks
	least "$before" 5
	is "$(wc -c <count)" "$before"
	rm count
}

# zombies: Prints the pids of the server's children that are zombies.
zombies() {
	cat /proc/[0-9]*/stat 2>/dev/null |
		sed -n "s/^\([0-9]*\) (.*) Z $server .*/\1/p"
}

# --- E1: starting a command

READ_STAT='read -r pid name state parent group session rest </proc/$$/stat'

@test "E1: each command runs in its own process group and session" {
	needs_linux
	boris
	run_bash "$READ_STAT"'
		echo $((pid - $$)) $((group - $$)) $((session - $$))'
	is "$(result stdout)" '"0 0 0\n"'
}

@test "E1: each background task runs in its own process group and session" {
	needs_linux
	boris
	start_task "$READ_STAT"'; echo $$ $group $session'
	read_task "$task" '{"wait":10000}'
	is "$(plain stdout)" "$pid $pid $pid"
}

@test "E1: a SIGTERM that boris receives while starting a command is not lost" {
	for i in 1 2 3 4 5 6; do
		boris
		call_bash 'read <gate'
		kill -TERM "$server"
		await_exit
		kill_processes_left
	done
}

@test "E1: a cancellation that boris receives while starting a command is not lost" {
	boris
	for i in 1 2 3 4 5 6; do
		call_bash 'read <gate'
		cancel $id
	done
	start_timer
	run_bash 'echo hi'
	within 3000
	is "$(result stdout)" '"hi\n"'
}

@test "E1: a command inherits only stdin, stdout, stderr and one pipe" {
	needs_linux
	boris
	start_task 'read <gate'
	run_bash 'head -c 40000 /dev/zero; sleep 600 & true'
	run_bash 'cd /proc/$$/fd && ls' '{"stdin":"x"}'
	is "$(plain stdout | sort -n | xargs)" '0 1 2 250'
}

# --- E2: timeouts

@test "E2: a command receives SIGTERM when its timeout expires" {
	boris
	start_timer
	run_bash 'echo $$ >pid; read <gate' "$(timeout_of 200)"
	least "$(elapsed)" 190
	within 3000
	is "$(result status) $(result timed_out)" '"timed_out" true'
	is "$(result exit_code)" 143
	is_gone pid
}

@test "E2: the result of a command that timed out contains its stdout and stderr" {
	boris
	run_bash 'echo out; echo err >&2; printf part; read <gate' \
		"$(timeout_of 200)"
	is "$(result status)" '"timed_out"'
	is "$(result stdout) $(result stderr)" '"out\npart" "err\n"'
}

@test "E2: the result of a command that timed out contains the output of its SIGTERM handler" {
	boris
	run_bash 'trap "echo bye; exit 7" TERM; echo hi; read <gate' \
		"$(timeout_of 200)"
	is "$(result status) $(result exit_code) $(result stdout)" \
		'"timed_out" 7 "hi\nbye\n"'
}

@test "E2: a timeout can be as short as 1 ms" {
	boris
	run_bash 'read <gate' '{"timeout":1}'
	is "$(result status)" '"timed_out"'
	has "$(text)" 'Command timed out after 1ms'
}

@test "E2: a command that exits before its timeout is reported as completed" {
	boris
	run_bash 'echo hi' '{"timeout":5000}'
	is "$(result status) $(result timed_out)" '"completed" '
}

@test "E2: a timeout terminates the command's children and grandchildren" {
	boris
	cat >processes <<-'END'
	(bash -c 'echo $$ >b; read <gate; true' & echo $BASHPID >a; read <gate) &
	read <gate | read <gate
	END
	run_bash "$(<processes)" "$(timeout_of 400)"
	is "$(result status)" '"timed_out"'
	is_gone a
	is_gone b
}

@test "E2: a command that ignores SIGTERM is killed 5 seconds after its timeout" {
	boris
	start_timer
	run_bash 'trap "" TERM; echo hi; while :; do read <gate; done' \
		"$(timeout_of 300)"
	least "$(elapsed)" 5000
	within 7000
	is "$(result status) $(result exit_code) $(result stdout)" \
		'"timed_out" 137 "hi\n"'
}

STUBBORN_CHILD='(trap "" TERM; echo $BASHPID >pid; read <gate) & read <gate'

@test "E2: a child that ignores SIGTERM is killed even after its shell has exited" {
	use_fast_clock
	boris
	start_timer
	run_bash "$STUBBORN_CHILD" '{"timeout":3000}'
	least "$(elapsed)" 8000
	within 10000
	is "$(result status) $(result exit_code)" '"timed_out" 143'
	is_gone pid
}

@test "E2: a command stopped by a signal is terminated immediately when its timeout expires" {
	boris
	start_timer
	run_bash 'kill -STOP $$; echo no' "$(timeout_of 200)"
	within 4000
	is "$(result status) $(result exit_code)" '"timed_out" 143'
}

# times_out_despite_far COMMAND: Fails if a process outside of the command's group,
# whose pid is in `far`, delays the result or is terminated.
times_out_despite_far() {
	needs setsid
	needs_linux_parts
	boris
	start_timer
	run_bash "$1" "$(timeout_of 400)"
	within 4000
	is "$(result status)" '"timed_out"'
	is_running far
	kill -9 "$(cat far)"
	eventually is_gone far
}

@test "E2: a zombie in the process group does not delay the result after a timeout" {
	times_out_despite_far \
		'(true & exec setsid sleep 600) & echo $! >far; read <gate'
}

@test "E2: a process in another session that holds a pipe open does not delay the result" {
	times_out_despite_far \
		'setsid sh -c "echo \$\$ >far; exec sleep 600" & read <gate'
}

@test "E2: a child forked in a SIGTERM handler also receives SIGTERM" {
	boris
	start_timer
	run_bash 'fork() {
			sh -c "echo \$\$ >late; exec sleep 600" &
			until test -s late; do :; done
			exit 3
		}
		trap fork TERM; read <gate' "$(timeout_of 200)"
	within 4000
	is "$(result status) $(result exit_code)" '"timed_out" 3'
	is_gone late
}

@test "E2: children that fork continuously are killed after a timeout" {
	use_fast_clock
	boris
	: >forks
	run_bash "(trap '' TERM; $FORKING; h) & read <gate" '{"timeout":3000}'
	is "$(result status)" '"timed_out"'
	no_forks_remain
}

@test "E2: a shell that ignores SIGTERM and forks continuously is killed after a timeout" {
	use_fast_clock
	boris
	: >forks
	run_bash "trap '' TERM; $FORKING; h; read <gate" '{"timeout":3000}'
	is "$(result status)" '"timed_out"'
	no_forks_remain
}

# timeouts_work: Fails if a timeout does not terminate all processes of a command,
# or waits for a process that is gone.
timeouts_work() {
	start_timer
	run_bash 'sleep 600 & read <gate' '{"timeout":1000}'
	least "$(elapsed)" 990
	within 4000
	is "$(result status) $(result exit_code)" '"timed_out" 143'
	start_timer
	run_bash "$STUBBORN_CHILD" '{"timeout":3000}'
	least "$(elapsed)" 8000
	within 10000
	is "$(result status) $(result exit_code)" '"timed_out" 143'
	# The killed child can be a zombie until its new parent reaps it.
	run_bash 'pid=$(cat pid); kill -0 $pid 2>/dev/null &&
		! grep -qs "State:.Z" /proc/$pid/status'
	is "$(result exit_code)" 1
	: >forks
	run_bash "(trap '' TERM; $FORKING; h) & read <gate" '{"timeout":3000}'
	no_forks_remain
}

# start_in WRAPPER...: Starts the server, with the fast clock, in the namespaces
# that the wrapper creates.
start_in() {
	needs_root
	needs unshare
	needs_plain
	wrap=("$@")
	"${wrap[@]}" true || skip 'no namespaces here'
	use_fast_clock
	boris
}

# start_without_proc: Starts the server where /proc is not mounted.
start_without_proc() {
	start_in unshare -m sh -c 'umount -l /proc && exec "$@"' sh
}

# start_with_loadavg TEXT: Starts the server where /proc/loadavg contains TEXT.
start_with_loadavg() {
	printf '%s' "$1" >loadavg
	start_in unshare -m sh -c \
		'mount --bind loadavg /proc/loadavg && exec "$@"' sh
}

# leftovers_are_noted: Fails if the note about processes left running is missing,
# or appears although there are none.
leftovers_are_noted() {
	for i in 1 2 3; do
		run_bash 'echo hi; true'
		lacks "$reply" 'left processes'
	done
	run_bash 'sleep 600 &'
	has "$reply" 'left processes'
}

@test "E2: timeouts work even if /proc belongs to another PID namespace" {
	start_in unshare --pid --fork --kill-child
	timeouts_work
}

@test "E2: timeouts work even if /proc is not mounted" {
	start_without_proc
	timeouts_work
}

@test "E2: timeouts work even if /proc/loadavg does not contain the most recent pid" {
	start_with_loadavg '0.00 0.00 0.00 0/0 0'
	leftovers_are_noted
	timeouts_work
}

@test "E2: timeouts work even if /proc/loadavg is empty" {
	start_with_loadavg ''
	leftovers_are_noted
	timeouts_work
}

@test "E4, E7: if no file descriptor is available, boris reports no process as left running" {
	needs prlimit
	needs_plain
	boris
	run_bash true
	# Without descriptors, boris can use neither /proc nor poll().
	run_bash 'prlimit --pid $PPID --nofile=1:; read -t 0.3 <>never; true'
	lacks "$reply" 'left processes'
	is "$(result status) $(result exit_code)" '"completed" 0'
	prlimit --pid "$server" --nofile=1024:
	run_bash 'sleep 600 &'
	has "$reply" 'left processes'
}

@test "E2: a command whose timeout expires within 50 ms receives SIGTERM twice" {
	needs_plain
	boris
	got_two() {
		: >got
		# The timeout counts from the start, even on a slow machine.
		run_bash 'trap "echo x >>got" TERM
			for i in {1..20}; do read -t 0.02 <>never; done' \
			'{"timeout":30}'
		[ "$(wc -l <got)" = 2 ]
	}
	eventually got_two
}

# --- E3: process groups whose number may be reused

@test "E3: the shell is not reaped until its process group is empty" {
	needs_linux_parts
	use_fast_clock
	boris
	run_bash 'sleep 600 & echo $! >child; echo $$ >leader'
	sync_server
	is_gone leader
	kill -0 "$(cat leader)"
	kill "$(cat child)"
	eventually is_reaped "$(cat leader)"
}

@test "E3: closing the session terminates processes that commands left running" {
	boris
	run_bash 'sleep 600 & echo $! >child'
	is_running child
	stop_server
	is $status 0
	is_gone child
}

# start_with_pids: Starts the server in a pid namespace in which commands can
# choose the next pid. When boris has exited, process 1 writes `alive` if the
# process whose pid is in `number` exists.
start_with_pids() {
	needs_root
	needs unshare setsid
	needs_plain
	wrap=(unshare --pid --fork --kill-child --mount-proc sh -c
	    '"$@"; kill -0 "$(cat number)" && echo yes >alive' sh)
	unshare --pid --fork --mount-proc test -w /proc/sys/kernel/ns_last_pid ||
		skip 'no PID namespaces here'
	use_fast_clock
	boris
}

@test "E3: a new process that reuses the pid of an old process group does not receive a signal" {
	start_with_pids
	run_bash 'sleep 600 & echo $! >child; echo $$ >number'
	run_bash 'kill "$(cat child)"'
	is_free() {
		run_bash 'kill -0 "$(cat number)" 2>/dev/null'
		is "$(result exit_code)" 1
	}
	eventually is_free
	run_bash 'while number=$(cat number); do
			echo $((number - 1)) >/proc/sys/kernel/ns_last_pid
			setsid sh -c "echo \$\$ >far; exec sleep 600" &
			[ $! != $number ] || break
			kill $!
		done' '{"timeout":600000}'
	is "$(result status)" '"completed"'
	eventually cmp -s far number
	stop_server
	is "$(cat alive)" yes
}

# --- E4: processes that a command leaves running

@test "E4: the result is returned when the shell exits, even if a child is still running" {
	boris
	start_timer
	run_bash 'sleep 600 & echo $! >child; echo hi'
	within 2000
	is "$(result stdout) $(result exit_code)" '"hi\n" 0'
	is_running child
}

@test "E4: a call returns when the shell exits, even if a process started with setsid is still running" {
	needs setsid
	boris
	start_timer
	run_bash 'setsid sh -c "echo \$\$ >far; exec sleep 600" & echo hi'
	within 2000
	is "$(result stdout)" '"hi\n"'
	await_file far
	kill -9 "$(cat far)"
	eventually is_gone far
}

@test "E4: a command does not time out after its shell has exited" {
	boris
	# When boris is continued, the shell has exited and the time is over.
	run_bash '(trap "" TERM; sleep 1.3; kill -CONT $PPID; exec sleep 1) &
		kill -STOP $PPID; exit 3' '{"timeout":1000}'
	is "$(result status) $(result exit_code)" '"completed" 3'
}

@test "E4: boris uses no CPU time while a process started with setsid holds a pipe open" {
	needs_linux
	needs_plain
	needs setsid
	use_fast_clock
	boris
	run_bash 'setsid sh -c "echo \$\$ >child; exec sleep 600" &
		until [ -s child ]; do :; done'
	pause 11000
	run_bash true
	stays_idle 1
	kill "$(cat child)"
}

@test "E4: a process that a command left running can print 3 MB without blocking" {
	boris
	run_bash '(read <gate; head -c 3000000 /dev/zero
		head -c 300000 /dev/zero >&2; echo x >done) & echo hi'
	is "$(result stdout)" '"hi\n"'
	release
	await_file done
}

@test "E4: output of a process that a command left running does not appear in later results" {
	boris
	run_bash '(read <gate; echo late; echo late >&2; echo x >done) & echo hi'
	release
	await_file done
	run_bash 'echo next'
	is "$(result stdout) $(result stderr)" '"next\n" ""'
}

@test "E4: the result contains all output printed before the shell exited" {
	boris
	run_bash 'sleep 600 & head -c 29000 /dev/zero | tr "\0" a; printf b'
	is "$(plain stdout | wc -c | tr -d ' ')" 29001
	like "$(plain stdout)" '*ab'
}

# --- E5: --on-timeout=background

# hand_over COMMAND: Runs a command until its timeout makes it a task. Sets $task
# and $pid.
hand_over() {
	run_bash "$1" "$(timeout_of 200)" || return
	task=$(plain task_id) pid=$(result pid)
	is "$(result status)" '"running"'
}

@test "E5: with --on-timeout=background, a command becomes a task when its timeout expires" {
	boris --on-timeout=background
	hand_over 'echo one; read <gate'
	like "$task" '?*'
	is "$(result stdout)" '"one\n"'
	is "$(result exit_code)$(result timed_out)" ''
	is_running "$pid"
	like "$(text)" "\"status: running\\\\n*"
	has "$(text)" 'elapsed: '
	has "$(text)" "task_id: $task"
	has "$(text)" "pid: $pid"
}

@test "E5: output from before and after the timeout can be read from the task" {
	boris --on-timeout=background
	hand_over 'echo one; read <gate; echo two; exit 3'
	release
	read_task "$task" '{"wait":10000}'
	is "$(result status) $(result exit_code)" '"completed" 3'
	is "$(result stdout)" '"one\ntwo\n"'
}

@test "E5: a note explains how to stop a command that was turned into a task" {
	boris --on-timeout=background
	run_bash 'read <gate' '{"timeout":1000}'
	note="the command timed out after 1000 ms and keeps running as task"
	note+=" $(plain task_id); wait for it with task_output, or stop it with"
	note+=" kill_pid $(result pid)"
	is "$(plain note)" "$note"
	run_bash 'read <gate' '{"timeout":300}'
	has "$(plain note)" '; timeout is in milliseconds; wait for it '
}

@test "E5: a command that was turned into a task does not change the working directory" {
	mkdir d
	export BORIS_ON_TIMEOUT=background
	boris
	hand_over 'cd d; read <../gate; echo hi'
	release
	read_task "$task" '{"wait":10000}'
	is "$(result stdout)" '"hi\n"'
	run_bash pwd
	is "$(plain stdout)" "$PWD"
}

@test "E5: the next command runs while a command that was turned into a task is still running" {
	boris --on-timeout=background
	hand_over 'read <gate'
	run_bash 'echo next'
	is "$(result stdout)" '"next\n"'
	is_running "$pid"
}

@test "E5: a cancelled command is terminated instead of becoming a task" {
	boris --on-timeout=background
	call_bash 'echo $$ >pid; read <gate'
	await_file pid
	cancel $id
	eventually is_gone pid
	run_tool task_output '{}'
	has "$(text)" 'no tasks'
}

# start_ten_tasks: Starts as many tasks as a session can have.
start_ten_tasks() {
	local i
	for i in {1..10}; do
		start_task 'read <never'
	done
}

@test "E5: with ten tasks already running, a command is terminated when its timeout expires" {
	boris --on-timeout=background
	start_ten_tasks
	run_bash 'echo $$ >pid; echo hi; read <gate' "$(timeout_of 200)"
	is "$(result status) $(result stdout)" '"timed_out" "hi\n"'
	has "$(result note)" 10
	has "$(text)" '10 '
	is_gone pid
}

# --- E6: cancelled calls, and calls on which the client gives up

# noted_task: Prints the task id in the note of the result.
noted_task() {
	plain note | sed 's/.* task\(_id\)\{0,1\} \([0-9a-f]\{8\}\).*/\2/'
}

# The beginnings of notes about calls on which the client has given up
GIVEN_UP='your call timed out; its command'

@test "E6: a command becomes a task if the client reports that its request timed out" {
	boris
	call_bash 'echo so far; echo x >mark; read <gate; echo end'
	long=$id
	await_file mark
	cancel_by_timeout $long
	run_bash 'echo next'
	is "$(result stdout)" '"next\n"'
	like "$(plain note)" "$GIVEN_UP keeps running as task ????????: \
echo so far; echo x >mark; read <gate; echo end"
	task=$(noted_task)
	release
	read_task '' '"wait":20000'
	is "$(result stdout)" '"so far\nend\n"'
	stop_server
	unanswered $long
}

@test "E6: the note about a request that the client timed out appears only once" {
	boris
	call_bash 'echo x >mark; read <gate'
	await_file mark
	cancel_by_timeout $id
	run_bash 'echo next'
	has "$(plain note)" "$GIVEN_UP keeps running"
	run_bash 'echo again'
	lacks "$reply" 'timed out'
}

# cancel_with REASON: Cancels the call of a running command with this reason. The
# command's pid is in the file `pid`.
cancel_with() {
	rm -f pid
	call_bash 'echo $$ >pid; read <gate'
	await_file pid
	cancel_by_timeout $id "$1"
}

@test "E6: a command keeps running if its call is cancelled with a timeout as the reason" {
	boris
	for reason in 'request timeout' 'context deadline exceeded' Timeout \
		'TimeoutError: The operation was aborted due to timeout' \
		'\u0052equest timed out'; do
		cancel_with "$reason"
		run_bash true
		has "$(plain note)" "$GIVEN_UP keeps running"
		is_running pid
	done
}

@test "E6: a command is terminated if its call is cancelled for a reason other than a timeout" {
	boris
	for reason in '' user 'the user pressed Escape' 'Request cancelled'; do
		cancel_with "$reason"
		eventually is_gone pid
		run_bash true
		lacks "$reply" 'timed out'
	done
}

@test "E6: with ten tasks already running, a command is terminated if its request times out" {
	boris
	start_ten_tasks
	call_bash 'echo so far; echo x >mark; read <never'
	await_file mark
	cancel_by_timeout $id
	run_bash 'echo next'
	like "$(plain note)" "your call timed out; boris terminated its command, \
because 10 background tasks were already running; read its output with \
task_output and task_id ????????: echo so far; *"
	lacks "$(plain note)" 'ended with exit code'
	task=$(noted_task)
	read_task
	is "$(result status) $(result stdout)" '"timed_out" "so far\n"'
	has "$(plain note)" 'the command was terminated when your call timed out; '\
'the command was not continued as a task, because 10 background tasks are '\
'running, which is the maximum'
}

# has_fifteen_results: Leaves five calls, which the client times out, and ten
# tasks, all ended and unread. Their commands contain "number 0" to "number 14".
has_fifteen_results() {
	local i pids=()
	for i in {0..9}; do
		start_task "read <gate; : number $i"
		pids+=("$pid")
	done
	for i in {10..14}; do
		call_bash ": number $i; cd '$PWD'; echo \$\$ >$i; read <never" \
			'{"cwd":"/"}'
		await_file "$i"
		cancel_by_timeout $id
		eventually is_reaped "$(<$i)"
		sync_server
	done
	release 10
	for pid in "${pids[@]}"; do
		eventually is_reaped "$pid"
	done
	sync_server
}

@test "E6, T8: each ended task and each timed-out call is reported once, even if its output was discarded" {
	boris
	has_fifteen_results
	run_tool task_output '{}'
	get -s result content 0 text >notes
	run_bash true
	plain note >>notes
	for i in {0..14}; do
		is "$i: $(grep -ow "number $i" notes | wc -l)" "$i: 1"
	done
	is "$(grep -o 'discarded its output' notes | wc -l)" 5
}

@test "E6: if the client times out while a command is being terminated, the command's output can be read" {
	boris
	call_bash 'trap "echo bye; echo x >mark; read <gate; exit 3" TERM
		echo hi; read <never' '{"timeout":300}'
	await_file mark
	cancel_by_timeout $id
	sync_server
	release
	run_bash 'echo next'
	like "$(plain note)" \
		"$GIVEN_UP ended as task ???????? with exit code 3: *"
	task=$(noted_task)
	read_task
	is "$(result status) $(result stdout)" '"timed_out" "hi\nbye\n"'
}

@test "E6: a queued command is not run if the client's request times out" {
	boris
	call_bash 'echo x >first; read <gate'
	first=$id
	await_file first
	call_bash 'touch ran'
	cancel_by_timeout $id
	sync_server
	release
	answer $first
	has "$(plain note)" "$GIVEN_UP was not run: touch ran"
	[ ! -e ran ]
}

# fill_responses: Calls commands with so much output that the client, which does
# not read, gets no further responses. Sets $fillers to the ids of the calls.
# Returns when the server is waiting for the client to read.
fill_responses() {
	local i line
	fillers=()
	printf -v line '%.0s\xf0\x9f\x98\x80' {1..100}
	for i in {1..1000}; do
		echo "$line"
	done >output
	for i in {1..8}; do
		call_bash "cat '$PWD/output'; echo \$\$ >'$PWD/ended$i'" \
			'{"cwd":"/","limit":100000}'
		fillers+=("$id")
	done
	await_file ended{1..8}
	for i in {1..8}; do
		eventually is_reaped "$(<ended$i)"
	done
	await_stable ticks
}

@test "E6: a note says that a rejected command was not run if the client timed out before reading the error" {
	boris
	start_ten_tasks
	call_bash 'echo $$ >first; read <gate'
	first=$id
	call_bash 'touch ran' '{"run_in_background":true}'
	rejected=$id
	await_file first
	fill_responses
	release
	# boris rejects the command when the first one ends.
	eventually is_reaped "$(<first)"
	cancel_by_timeout $rejected
	# head reads the long responses faster than `answer`.
	timeout $((20 * SLOW)) head -n $((${#fillers[@]} + 1)) <&8 >>heard
	run_bash true
	has "$(grep -o 'your call timed out[^"]*' heard)" \
		"$GIVEN_UP was not run: touch ran"
	lacks " $(all -v id | tr '\n' ' ')" " $rejected "
}

# cancel_unread HOW: Changes the directory with a command whose response boris does
# not send, because the client does not read. HOW cancels the call. Then reads the
# result of another command.
cancel_unread() {
	boris
	run_bash true
	call_bash 'echo $BASHPID >pid; read <gate; cd /'
	local moving=$id
	await_file pid
	fill_responses
	release
	eventually is_reaped "$(<pid)"
	"$1" $moving
	timeout $((20 * SLOW)) head -n ${#fillers[@]} <&8 >>heard
	run_bash true
}

@test "E6, K4: the directory is reported after the request that changed it timed out in the client" {
	cancel_unread cancel_by_timeout
	has "$(grep -o "your call timed out[^\"]*" heard)" "$GIVEN_UP ended"
	has "$(get -s result content 0 text)" $'\ncwd: /\n'
}

@test "E6, K4: the directory is reported after the call that changed it was cancelled" {
	cancel_unread cancel
	has "$(get -s result content 0 text)" $'\ncwd: /\n'
}

@test "E6: the next command in the queue is started even if its request has timed out" {
	boris
	call_bash 'echo x >first; read <gate; echo first'
	first=$id
	call_bash 'echo second; read <gate'
	second=$id
	await_file first
	# Send both notifications in one write, so that boris reads both before
	# it starts the second command.
	send "$(cancel_by_timeout $first 7>&1)" "$(cancel_by_timeout $second 7>&1)"
	sync_server # boris answers a list that it reads with them before the start.
	run_tool task_output '{}'
	text=$(get -s result content 0 text)
	has "$text" ': echo x >first; read <gate; echo first'
	like "$text" '*keeps running as task ????????: echo second; read <gate'
	is "$(plain note)" "${text#*note: }"
	is "$(result tasks 1 status)" '"running"'
	run_bash true
	lacks "$reply" 'timed out'
	release 2
}

@test "E6, D7: a command with an absolute cwd becomes a task if its request times out" {
	boris
	call_bash "echo x >'$PWD/begun'; read <'$PWD/gate'; pwd" '{"cwd":"/"}'
	await_file begun
	cancel_by_timeout $id
	run_bash true
	like "$(plain note)" "$GIVEN_UP keeps running as task ????????: *"
	task=$(noted_task)
	release
	read_task '' '{"wait":20000}'
	is "$(plain stdout)" /
}

@test "E6: notes about timed-out calls state no exit code if the command's directory does not exist" {
	boris
	call_bash 'echo x >first; read <gate'
	first=$id
	for i in {1..12}; do
		call_bash "echo $i" '{"cwd":"missing"}'
	done
	await_file first
	for i in {1..13}; do
		cancel_by_timeout $i
	done
	sync_server
	run_tool task_output '{}'
	for i in {1..5}; do
		run_bash true
		plain note >>notes || :
	done
	lacks "$(<notes)" 'exit code'
	release
}

# abandon_queued N: Queues N commands, which would write the files ran1 to ranN, and
# cancels their calls like a client in which they have timed out.
abandon_queued() {
	local i
	for ((i = 1; i <= $1; i++)); do
		call_bash "touch ran$i"
		cancel_by_timeout $id
	done
	sync_server
}

@test "E6: boris lists at most ten queued commands whose requests have timed out" {
	boris
	call_bash 'echo x >first; read <gate'
	await_file first
	abandon_queued 12
	release
	answer 1
	# A result reports three commands at most.
	for i in 3 6 9; do
		has "$(plain note)" "ran$i"
		lacks "$(plain note)" "ran$((i + 1))"
		run_bash true
	done
	has "$(plain note)" ran10
	lacks "$(plain note)" ran11
	run_bash true
	lacks "$reply" 'timed out'
	! compgen -G 'ran*'
}

@test "E6: if the client's request to start a task times out, a note names the new task" {
	boris
	call_bash 'echo x >mark; read <gate' \
		'{"run_in_background":true,"wait":60000}'
	await_file mark
	cancel_by_timeout $id
	run_tool bash '{"cmd":"ls"}'
	like "$(get -s result content 0 text)" "*note: $GIVEN_UP keeps running as \
task ????????: echo x >mark; read <gate"
	release
}

@test "E6: a task_output request that times out in the client does not produce a note" {
	boris
	start_task 'read <gate'
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	cancel_by_timeout $id
	run_bash true
	lacks "$reply" 'timed out'
	is_running "$pid"
}

@test "E6: a queued edit is not applied if the client's request times out" {
	boris --edit
	call_bash 'echo x >first; read <gate'
	first=$id
	call edit '{"path":"f","new":"text"}'
	await_file first
	cancel_by_timeout $id
	sync_server
	release
	answer $first
	lacks "$reply" 'timed out'
	[ ! -e f ]
}

@test "E6: the next command runs only after a cancelled one has handled SIGTERM" {
	boris
	call_bash '(echo $BASHPID >child; read <gate) &
		trap "read <gate; echo bye >bye; exit" TERM; echo $$ >pid
		while :; do read -t 1 <>never; done'
	await_file pid child
	pause 100 # A command younger than 50 ms gets SIGTERM twice (E2).
	cancel $id
	call_bash 'cat bye'
	eventually is_gone child
	release
	answer
	is "$(result stdout)" '"bye\n"'
	is_gone pid
}

# --- E7: shortages

# limit_descriptors N: Limits the number of the server's descriptors.
limit_descriptors() {
	prlimit --pid "$server" --nofile=$1:
}

@test "E7: if the limit on open files is too low, the error states the limit" {
	wrap=(sh -c 'ulimit -n 10; exec "$@"' sh)
	boris
	run_bash true
	is_tool_error "*: too many open files: this server can open only 10 (ulimit -n); *"
	lacks "$(text)" 'try again'
}

@test "E7: a call fails with an error if no file descriptors are available" {
	needs prlimit
	needs_plain
	boris
	run_bash true
	limit_descriptors 4
	run_bash 'touch ran'
	is_tool_error '*too many open files*'
	run_bash 'touch ran' '{"run_in_background":true}'
	is_tool_error '*too many open files*'
	limit_descriptors 1024
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
	[ ! -e ran ]
}

@test "E7: a call that fails because descriptors are exhausted does not leak descriptors" {
	needs prlimit
	needs_plain
	boris
	run_bash true
	before=$(ls "/proc/$server/fd" | wc -l)
	for ((n = before; n < before + 10; n++)); do
		limit_descriptors $n
		run_bash 'echo hi' '{"stdin":"x"}'
	done
	limit_descriptors 1024
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
	is "$(ls "/proc/$server/fd" | wc -l)" "$before"
}

# start_without_processes: Starts the server as a user who can have no other
# process. Sets $other to a command that runs programs as this user.
start_without_processes() {
	needs_root
	needs prlimit setpriv
	needs_plain
	cp "$BORIS" boris
	chmod 755 "$BATS_RUN_TMPDIR" . 2>/dev/null || :
	BORIS=$PWD/boris
	uid=$((20000 + $$ % 40000)) # Other runs of this test use other users.
	other=(setpriv --reuid="$uid" --regid="$uid" --clear-groups)
	"${other[@]}" test -x "$BORIS" || skip 'no other user can run boris here'
	wrap=(prlimit --nproc=1:1000 "${other[@]}")
	boris --workdir=/
}

@test "E7: a call fails with an error if no process can be created" {
	start_without_processes
	run_bash true
	is_tool_error '*process*'
	run_bash true '{"run_in_background":true}'
	is_tool_error '*process*'
	"${other[@]}" prlimit --pid "$server" --nproc=1000:
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
}

@test "E7: a call fails with an error if there is not enough memory for its stdin data" {
	needs prlimit
	needs_plain
	boris
	run_bash true
	size=$(sed -n 's/^VmSize:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$server/status")
	prlimit --pid "$server" --as=$(((size + 4096) * 1024)):
	{
		printf '{"jsonrpc":"2.0","id":"big","method":"tools/call",'
		printf '"params":{"name":"bash","arguments":{'
		printf '"command":"touch ran","stdin":"'
		head -c 12000000 /dev/zero | tr '\0' a
		printf '"}}}\n'
	} >&7
	read_reply
	like "$(get result isError)$(code)" '@(true|-32603)'
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
	prlimit --pid "$server" --as=unlimited:
	[ ! -e ran ]
}

# small_host KIB: Makes the server run with an address space of this size. Fails if
# boris cannot start with it.
small_host() {
	needs_plain
	wrap=(sh -c 'ulimit -v '"$1"'; exec "$@"' sh)
	"${wrap[@]}" "$BORIS" </dev/null 2>/dev/null
}

# send_in_two FIRST SECOND: Sends a line in two parts, which the server reads one
# after the other. The answer to a ping shows that it has read the first one.
send_in_two() {
	id=$((++calls))
	printf '{"jsonrpc":"2.0","id":%d,"method":"ping"}\n%s' $id "$1" >&7
	answer || return
	printf '%s\n' "$2" >&7
}

@test "E7: when memory is low, a message received in two parts is answered" {
	for kib in 3500 5000 8000 14000; do
		small_host $kib || continue
		boris
		send_in_two '{"jsonrpc":"2.0","id":"x","meth' 'od":"ping"}'
		answer '"x"'
		is "$kib: $(get result)" "$kib: {}"
		text=$(printf %050000d 0)
		send_in_two '{"jsonrpc":"2.0","id":"y","meth' \
			'od":"ping","params":{"x":"'"$text"'"}}'
		answer '"y"'
		is "$kib: $(get result)" "$kib: {}"
		stop_server
	done
}

# send_big_ping BYTES: Sends a ping with the id "big" and a parameter of BYTES bytes
send_big_ping() {
	{
		printf '{"jsonrpc":"2.0","id":"big","method":"ping",'
		printf '"params":{"x":"'
		head -c $1 /dev/zero | tr '\0' a
		printf '"}}\n'
	} >&7
	read_reply
}

@test "E7: the error for a message too large for memory includes the request id" {
	small_host 14000
	boris
	send_big_ping 14000000
	is "$(code) $(get id)" '-32603 "big"'
	sync_server
}

@test "E7: an out-of-memory error includes the request id" {
	for kib in {3200..6400..200}; do
		small_host $kib || continue
		boris
		send_big_ping 4000000
		is "$kib: $(get id)" "$kib: \"big\""
		sync_server
		stop_server
		is "$kib: $status" "$kib: 0"
	done
}

@test "E7: a call is answered even if its log record does not fit in memory" {
	text=$(printf '\\u0001%.0s' {1..50000})
	params='{"name":"bash","arguments":{"command":": #'$text'"}}'
	for kib in {3000..6000..250}; do
		small_host $kib || continue
		boris --log=log
		request '"x"' tools/call "$params"
		answer '"x"'
		sync_server
		stop_server
		is "$kib: $status" "$kib: 0"
	done
}

# call_often ID N COMMAND: Sends N calls of bash. In ID, & stands for the number of
# the call.
call_often() {
	local params='{"name":"bash","arguments":{"command":"'$3'"}}'
	local line='{"jsonrpc":"2.0","id":"'$1'","method":"tools/call"'
	seq "$2" | sed "s|.*|$line,\"params\":$params}|" >&7
}

@test "E7: boris rejects further calls before queued calls exhaust memory" {
	small_host 5000 || skip 'boris needs more'
	boris
	call_bash 'echo x >begun; read <gate'
	await_file begun
	call_often q 3000 : &
	read_reply
	is "$(code)" -32603
	kill "$server"
	await_exit
	is "$status" 0
	wait $! || :
}

@test "E7: long output does not exhaust memory" {
	for kib in {3000..6000..500}; do
		small_host $kib || continue
		boris
		for i in {1..10}; do
			run_bash 'read <gate; yes' '{"run_in_background":true}'
		done
		release 10
		run_bash 'head -c 300000 /dev/zero | tr "\\0" a' \
			'{"limit":100000}'
		like "$(get result isError)$(code)" '@(true|false|-32603)'
		sync_server
		stop_server
		is "$kib: $status" "$kib: 0"
	done
}

# filter_with_failures INJECTION...: Runs boris with the messages in calls.in while
# strace makes system calls fail.
filter_with_failures() {
	local before=("${wrap[@]}") one
	for one; do
		set -- "$@" -e inject="$one"
		shift
	done
	# LeakSanitizer does not work in a traced process.
	wrap+=(env ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null "$@")
	filter <calls.in >out
	wrap=("${before[@]}")
}

@test "E7: boris prints one line on stderr and exits with status 1 if a small allocation fails" {
	needs_plain
	needs strace
	strace -o /dev/null true || skip 'nothing can be traced here'
	{
		send "$HELLO"
		request 1 ping
		request 2 tools/list
		request 3 no/such
		request 4 ping
	} 7>calls.in
	for n in {1..40}; do
		filter_with_failures brk:error=ENOMEM:when=2+ \
			mmap:error=ENOMEM:when=$n+
		case $status in
		0) is "$n: $(wc -l <out)" "$n: 5" ;;
		1) is "$n: $(wc -l <err)" "$n: 1" && like "$(<err)" 'boris: *memory*' ;;
		*) least $status 127 ;; # boris could not even be loaded.
		esac
	done
	is $status 0
}

@test "E7: the error about a missing shell includes the system's error message" {
	without_bash
	boris
	run_bash 'echo hi'
	is "$(plain stdout)" hi
	mv root/bin/sh root/bin/shell
	run_bash 'echo hi'
	is_tool_error '*cannot start the shell /bin/sh: No such file or directory*'
	mv root/bin/shell root/bin/sh
	run_bash 'echo hi'
	is "$(plain stdout)" hi
}

# --- E8: boris as the parent of unknown processes, and as process 1

# reaps_all: Fails if zombies of processes that left their session remain.
reaps_all() {
	for i in 1 2 3; do
		run_bash '(setsid true &)
			(setsid sh -c "echo \$\$ >>pids; exec sleep 0.1" &)'
		is "$(result exit_code)" 0
	done
	run_bash true
	all_reaped() {
		[ -z "$(zombies)" ] && [ "$(wc -l <pids)" = 3 ] &&
			[ -z "$(sed 's,.*,/proc/&,' pids | xargs ls -d 2>/dev/null)" ]
	}
	eventually all_reaped
}

@test "E8: boris reaps orphaned processes even if /proc is not mounted" {
	needs setsid
	needs_plain
	wrap=(unshare -m sh -c 'umount -l /proc && exec "$@"' sh)
	needs unshare
	"${wrap[@]}" true || skip 'no mount namespaces here'
	boris
	reaps_all
}

@test "E8: boris reaps orphaned processes that it inherits as a subreaper" {
	needs setsid python3
	needs_plain
	cat >subreaper.py <<-'END'
	import ctypes, os, sys
	PR_SET_CHILD_SUBREAPER = 36
	ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if os.fork() == 0:
	    os.execvp("sleep", ["sleep", "0.3"])
	os.execvp(sys.argv[1], sys.argv[1:])
	END
	wrap=(python3 subreaper.py)
	boris
	reaps_all
}

# reaped_within SECONDS: Fails if the shell whose pid is in `leader` is not reaped
# in time.
reaped_within() {
	local leader
	leader=$(<leader)
	start_timer
	eventually is_reaped "$leader"
	within $(($1 * 1000))
}

@test "E8: the shell is reaped within 10 s after the last process that it left running has exited" {
	needs_linux
	use_fast_clock
	boris
	run_bash 'echo $$ >leader
		sleep 600 >/dev/null 2>&1 250>&- & echo $! >child'
	is_running child
	kill "$(cat child)"
	reaped_within 11
}

@test "E8: the shell is reaped when the processes that it left running close its pipes" {
	needs_linux
	use_fast_clock
	boris
	run_bash 'echo $$ >leader; (sleep 0.3 &)'
	reaped_within 6
}

# as_process_1: Makes the server run as process 1 of a pid namespace.
as_process_1() {
	needs_root
	needs unshare ps
	needs_plain
	wrap=(unshare --pid --fork --kill-child --mount-proc)
	"${wrap[@]}" true || skip 'no PID namespaces here'
}

# of_process_1: Sets $first to the pid of process 1, as seen from outside, and
# $second to the pid of the boris that it has started.
of_process_1() {
	first=$(ps -o pid= --ppid "$server" | tr -d ' ')
	second=$(ps -o pid= --ppid "$first" | tr -d ' ')
	isnt "$second" ''
}

@test "E8: as PID 1 in a container, boris reaps orphaned processes" {
	as_process_1
	needs setsid
	boris
	run_bash 'for i in 1 2 3 4 5; do (setsid true &); done; cat /proc/1/comm'
	is "$(result stdout)" '"boris\n"'
	no_zombies() {
		run_bash 'cat /proc/[0-9]*/stat 2>/dev/null | grep -c ") Z"'
		[ "$(plain stdout)" = 0 ]
	}
	eventually no_zombies
}

@test "E8: as PID 1 in a container, boris returns the exit codes of its commands" {
	as_process_1
	needs setsid
	boris
	run_bash 'for i in 1 2 3 4 5; do (setsid true &); done; exit 3'
	is "$(result exit_code)" 3
	start_task '(true &); exit 4'
	read_task "$task" '{"wait":10000}'
	is "$(result exit_code)" 4
}

@test "E8: as PID 1, boris forwards SIGTERM, SIGINT and SIGHUP to the boris process that it forks" {
	as_process_1
	# The tests may run under nohup.
	[ -z "$(trap -p HUP)" ] || wrap=(env --default-signal=HUP "${wrap[@]}")
	for signal in TERM INT HUP; do
		boris
		start_task "trap 'echo bye >bye; exit' TERM
			echo x >mark; read <gate"
		await_file mark
		of_process_1
		kill -$signal "$first"
		await_exit
		is "$signal: $status" "$signal: 0"
		is "$(cat bye)" bye
		rm bye mark
	done
}

@test "E8: as PID 1, boris exits with the exit status of the boris process that it forks" {
	as_process_1
	filter --no-such-option </dev/null
	is $status 2
}

@test "E8, L3: as PID 1, boris does not wait for processes started with setsid" {
	as_process_1
	needs setsid
	boris
	run_bash 'setsid sh -c "echo x >mark; exec sleep 600" \
		>/dev/null 2>&1 250>&- &'
	await_file mark
	start_timer
	stop_server
	within 5000
	is $status 0
}

@test "E8: if the boris process that PID 1 forks is killed, commands still have time to clean up" {
	as_process_1
	boris
	start_task "trap 'echo bye >bye; exit' TERM; echo x >mark; read <gate"
	await_file mark
	of_process_1
	kill -KILL "$second"
	cat <&8 >>heard
	await_exit
	is $status 137
	is "$(cat bye)" bye
}

@test "E8: after a second signal, PID 1 still waits for commands to clean up" {
	as_process_1
	boris
	start_task "trap 'trap : TERM; echo x >term; read -t 2 <>never
			echo bye >bye; exit' TERM
		echo x >mark; read <gate"
	await_file mark
	of_process_1
	kill "$first"
	await_file term
	kill "$first"
	eventually is_gone "$second"
	await_exit
	is $status 0
	is "$(cat bye)" bye
}

# --- E10: oom_score_adj

# scores: Prints the oom_score_adj of a command, of boris, and of the guard
# process.
scores() {
	run_bash 'cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj'
	plain stdout | xargs
	cat "/proc/$(guard_pid)/oom_score_adj"
}

# scores_are VALUES: Succeeds if the scores have these values. The value of boris
# is wrong for a moment after it has started a command.
scores_are() {
	[ "$(scores | xargs)" = "$1" ]
}

# needs_own_score: Skips the test if oom_score_adj cannot be raised. Sets $own to
# the value of the test.
needs_own_score() {
	needs_linux
	[ -w /proc/self/oom_score_adj ] || skip 'no oom_score_adj here'
	own=$(cat /proc/self/oom_score_adj)
	most "$own" 499 || skip 'raised already'
}

@test "E10: commands run with an oom_score_adj of 500, while boris's own is unchanged" {
	needs_own_score
	boris
	eventually scores_are "500 $own $own"
}

@test "E10: tasks and commands on a terminal run with an oom_score_adj of 500" {
	needs_own_score
	boris
	start_task 'cat /proc/self/oom_score_adj'
	read_task "$task" '{"wait":10000}'
	is "$(plain stdout)" 500
	start_on_terminal 'cat /proc/self/oom_score_adj; read <gate' '"until":"500"'
	has "$(plain stdout)" 500
}

@test "E10: with --write or --hide, commands also run with an oom_score_adj of 500" {
	needs_own_score
	mkdir secret
	for fence in --write=. --hide=secret; do
		filter "$fence" </dev/null
		[ $status = 0 ] || skip "no fence here: $(<err)"
		boris "$fence"
		eventually scores_are "500 $own $own"
		stop_server
	done
}

@test "E10: an inherited oom_score_adj above 500 is left unchanged" {
	needs_own_score
	wrap=(sh -c 'echo 700 >/proc/self/oom_score_adj; exec "$0" "$@"')
	boris
	is "$(scores | xargs)" '700 700 700'
}

# --- E9: many processes left running

# run_hundred COMMAND: Runs a hundred calls of the command. Prints the CPU time that
# boris has used for them, in milliseconds.
run_hundred() {
	local before
	before=$(cpu_of_server)
	call_often 'h&' 100 "$1"
	head -n 100 <&8 >>heard
	echo $(($(cpu_of_server) - before))
}

# cpu_of_server: Prints the CPU time that boris itself has used, in milliseconds.
cpu_of_server() {
	awk -v tick="$(getconf CLK_TCK)" \
		'{ sub(/.*\) /, ""); print ($12 + $13) * 1000 / tick }' \
		"/proc/$server/stat"
}

# fastest_hundred: Prints the least CPU time of three times a hundred calls.
fastest_hundred() {
	for i in 1 2 3; do
		run_hundred true
	done | sort -n | head -n 1
}

@test "E9, L1: 300 processes left running do not delay calls or boris's exit" {
	needs_plain
	boris
	run_hundred true >/dev/null
	before=$(fastest_hundred)
	run_hundred 'sleep 600 \&' >/dev/null
	run_bash 'for ((i = 0; i < 200; i++)); do sleep 600 & done'
	after=$(fastest_hundred)
	most "$after" $((before * 2 + 100))
	start_timer
	stop_server
	within 3000
	is $status 0
}

# leave_twenty_running: Runs twenty commands that each leave a process running.
leave_twenty_running() {
	for i in {1..20}; do
		run_bash 'sleep 600 &'
	done
}

@test "E9: commands do not inherit pipes from earlier commands that left processes running" {
	needs_linux
	boris
	count='ls -l /proc/self/fd | grep -c "pipe\|socket"'
	run_bash "$count"
	before=$(result stdout)
	leave_twenty_running
	run_bash "$count"
	is "$(result stdout)" "$before"
}

@test "E9: commands work normally while processes left by twenty earlier commands are still running" {
	boris
	leave_twenty_running
	run_bash 'cat; pwd' "{\"stdin\": \"in \", \"cwd\": \"$PWD\"}"
	is "$(result stdout)" "\"in $PWD\\n\""
	run_bash pwd '{"cwd": "/nowhere"}'
	is "$(get result isError)" true
	run_bash 'cd /; exit 3'
	is "$(result exit_code)" 3
	run_bash pwd
	is "$(result stdout)" '"/\n"'
}

# --- E11: mounts that do not respond

# mount_files [WRAPPER...]: Mounts ./files on ./mnt with a FUSE server that the
# wrapper runs. Sets $mounted to the pid of that server, and $at_mount to the
# argument of a call that runs a command in the mount.
mount_files() {
	needs_root
	needs python3
	needs_plain
	[ -c /dev/fuse ] || skip 'no /dev/fuse here'
	mkdir -p files mnt
	cp "$(type -P cat)" files/
	echo text >files/file
	at_mount='"cwd":"'$PWD'/mnt"'
	# The server unmounts by itself if the test fails.
	"$@" python3 "$HERE/hung.py" "$PWD/files" "$PWD/mnt" 2>mount.err \
		3>&- 6>&- 9>&- &
	mounted=$!
	ready() { [ -s "/proc/$mounted/root$PWD/mnt/file" ] || is_gone $mounted; }
	eventually ready
	is_running $mounted || skip "no FUSE here: $(<mount.err)"
}

# hang_mount: Makes the mount stop responding.
hang_mount() {
	kill -USR1 $mounted
	pause 50
}

# resume_mount: Makes the mount respond again.
resume_mount() {
	kill -USR2 $mounted
}

# unmount: Removes the mount, so that all that wait for it get an error. Waits until
# boris knows that the process $stuck, if any, has exited.
unmount() {
	kill $mounted
	wait $mounted 2>/dev/null || :
	[ -n "$stuck" ] || return 0
	eventually gone_pid "$stuck"
	sync_server
}

STUCK='is stuck in the kernel and still running after SIGKILL'

# noted_stuck: Sets $stuck to the pid of the stuck process that the note of the
# result names.
noted_stuck() {
	local pattern="pid ([0-9]+) $STUCK"
	[[ $(plain note) =~ $pattern ]] || fail "none is stuck: $reply" || return
	stuck=${BASH_REMATCH[1]}
	grep -q '^State:[[:space:]]*D' "/proc/$stuck/status"
}

# delays_only_itself [ARGUMENTS]: Fails if a call that waits for the mount delays a
# ping, or does not time out.
delays_only_itself() {
	local waiting
	call_bash 'touch ../ran' "{\"timeout\":1000${1:+,$1}}"
	waiting=$id
	start_timer
	sync_server
	within 1500
	answer $waiting
	is "$(result status) $(result stdout) $(result exit_code)" \
		'"timed_out" "" '
	has "$(plain note)" 'did not respond, so the command was not run'
	[ ! -e ran ]
	noted_stuck
}

@test "E11: a working directory on a hung mount does not delay other requests" {
	use_fast_clock
	mkdir mnt
	boris
	run_bash 'cd mnt'
	run_bash true
	mount_files
	hang_mount
	delays_only_itself
	unmount
	run_bash pwd
	is "$(plain stdout)" "$PWD/mnt"
}

@test "E11: a working directory replaced by a link to a hung mount does not delay other requests" {
	use_fast_clock
	mkdir d e
	ln -s e link
	for dir in d link; do
		boris
		run_bash "cd $dir"
		run_bash true
		mount_files
		run_bash true
		rm -r $dir
		ln -s mnt $dir
		hang_mount
		delays_only_itself
		unmount
		stop_server
	done
}

@test "E11: a --workdir directory on a hung mount does not delay other requests" {
	use_fast_clock
	mount_files
	boris --workdir="$PWD/mnt"
	run_bash true
	hang_mount
	delays_only_itself
	unmount
}

@test "E11: a working directory on a hung mount in another namespace does not delay other requests" {
	use_fast_clock
	private=(unshare --mount --propagation private)
	"${private[@]}" true || skip 'no mount namespaces here'
	boris
	mount_files "${private[@]}"
	run_bash "cd /proc/$mounted/root$PWD/mnt"
	run_bash true
	hang_mount
	delays_only_itself
	unmount
}

@test "E11: a command whose cwd is on a hung mount does not delay other requests" {
	use_fast_clock
	mount_files
	boris
	run_bash true
	hang_mount
	delays_only_itself "$at_mount"
	has "$(plain note)" "the directory $PWD/mnt did not respond"
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
	unmount
}

@test "E11: a command whose cwd is on a hung mount runs as soon as the mount responds" {
	mount_files
	boris
	hang_mount
	call_bash 'echo hi' "{$at_mount}"
	waiting=$id
	sync_server
	resume_mount
	answer $waiting
	is "$(result stdout)" '"hi\n"'
	unmount
}

@test "E11: a call that starts a task on a hung mount returns after one second" {
	mount_files
	boris
	hang_mount
	start_timer
	start_task 'touch ../ran' "$at_mount"
	least "$(elapsed)" 900
	within 3000
	is "$(result status)" '"running"'
	has "$(plain note)" "the directory $PWD/mnt does not respond"
	unmount
	read_task "$task" '{"wait":10000}'
	[ ! -e ran ]
}

@test "E11: kill_pid prevents a task blocked on a hung mount from running" {
	use_fast_clock
	mount_files
	boris
	hang_mount
	start_task 'touch ../ran' "$at_mount"
	run_tool bash '{"kill_pid":"'"$task"'"}'
	noted_stuck
	is "$stuck $(result status) $(result exit_code)" "$pid \"running\" "
	has "$(plain note)" \
		"the directory $PWD/mnt does not respond, so the command was not run"
	unmount
	read_task "$task" '{"wait":10000}'
	is "$(result status)" '"killed"'
	has "$(plain note)" 'not run'
	[ ! -e ran ]
}

@test "E11, D7: a task blocked on a hung mount does not delay the start of another task" {
	mount_files
	boris
	hang_mount
	call_bash true '{"run_in_background":true,'"$at_mount"'}'
	hung=$id
	run_bash true '{"run_in_background":true}'
	is "$(result status)" '"running"'
	[ -z "${early[$hung]+answered}" ]
	answer $hung
	has "$(plain note)" "the directory $PWD/mnt does not respond"
	unmount
}

@test "E11: if a task's cwd on a slow mount does not exist, the task's result is an error" {
	mount_files
	boris
	hang_mount
	start_task 'touch ran' '{"cwd":"'"$PWD"'/mnt/none"}'
	is "$(result status)" '"running"'
	resume_mount
	read_task "$task" '{"wait":10000}'
	is_tool_error "cwd: cannot change to directory $PWD/mnt/none: No such file*not run*"
	run_tool task_output '{}'
	is "$(get -s result content 0 text)" 'no tasks'
	unmount
}

@test "E11, E12: the log names child processes that are blocked on a hung mount" {
	use_fast_clock
	mount_files
	boris --log="$PWD/log"
	hang_mount
	run_bash true '{"timeout":1000,'"$at_mount"'}'
	noted_stuck
	has "$(grep '"event":"not_killed"' log)" "$STUCK"
	lacks "$(grep '"event":"end"' log)" exit_code
	unmount
}

@test "E11, E12: at exit, boris reports child processes that are blocked on a hung mount" {
	use_fast_clock
	mount_files
	boris
	hang_mount
	start_task true "$at_mount"
	start_task true "$at_mount"
	stop_server
	is "$status $(grep -c "^boris: pid [0-9]* $STUCK" err)" '0 2'
	has "$(<err)" "boris: pid $pid $STUCK"
	unmount
	eventually has_no_processes
	: >err
}

@test "E11: a command with another cwd runs while the working directory is on a hung mount" {
	use_fast_clock
	mount_files
	boris
	run_bash 'cd mnt'
	hang_mount
	run_bash true '{"timeout":1000}'
	is "$(result status) $(plain cwd)" "\"timed_out\" $PWD/mnt"
	noted_stuck
	run_bash 'pwd' '{"cwd":"/"}'
	is "$(plain stdout)" /
	unmount
}

@test "E11: boris exits on SIGTERM while a command is blocked on a hung mount" {
	mount_files
	boris
	start_task 'echo $$ >pid; sleep 600'
	await_file pid
	hang_mount
	call_bash true "{$at_mount}"
	sync_server
	start_timer
	kill -TERM "$server"
	eventually is_gone pid
	kill -TERM "$server" 2>/dev/null || : # boris may have exited.
	await_exit
	within 3000
	is $status 0
	unmount
	eventually has_no_processes
}

@test "E11: if boris is killed while a command is blocked on a hung mount, its tasks are terminated" {
	mount_files
	boris
	start_task 'echo $$ >pid; sleep 600'
	await_file pid
	hang_mount
	call_bash true "{$at_mount}"
	sync_server
	kill -KILL "$server"
	await_exit
	eventually is_gone pid
	unmount
	eventually has_no_processes
}

@test "E11: a program that runs on a terminal and reads from a hung mount does not delay other requests" {
	mount_files
	boris
	start_on_terminal 'exec 3<mnt/file; echo x >a; read y; head -c 9 <&3'
	await_file a
	hang_mount
	run_input '\n' '"wait":1500'
	is "$(result status) $(result note)" '"running" '
	start_timer
	sync_server
	within 1000
	resume_mount
	read_task "$task" '{"wait":10000}'
	has "$(plain stdout)" text
	unmount
}

@test "E11: boris detects that a program is waiting for input even if its executable is on a hung mount" {
	mount_files
	boris
	start_on_terminal 'mnt/cat' '"wait":0'
	eventually grep -q cat "/proc/$pid/comm"
	run_input 'one\n' '"until":"one"'
	hang_mount
	read_task "$task" '{"wait":3000}'
	has "$(plain note)" 'is waiting for input'
	sync_server
	unmount
}

# --- E12: processes that boris cannot terminate

@test "E12: after a timeout, a note names another user's process that could not be killed" {
	as_user
	boris
	run_bash './asroot sleep 60' '{"timeout":1000}'
	noted_survivor
	survivor_is 'sleep 60'
	is "$(result status) $(result exit_code)" '"timed_out" 143'
	has "$(text)" 'belongs to another user and is still running'
	most "$(result elapsed_ms)" 3000
	run_bash 'echo next'
	is "$(plain stdout) $(result note)" 'next '
	end_survivor
}

@test "E12: if a command's shell cannot be killed, the result does not contain an exit code" {
	as_user
	boris
	run_bash 'echo start; exec ./asroot sleep 60' '{"timeout":1000}'
	noted_survivor
	is "$(result status) $(result timed_out)" '"timed_out" true'
	is "$(result exit_code)$(result signal)" ''
	is "$(plain stdout)" start
	most "$(result elapsed_ms)" 3000
	end_survivor
}

@test "E12: a task that kill_pid cannot terminate keeps the status running" {
	as_user
	boris
	start_task 'echo start; exec ./asroot sh -c "read x <gate; echo end"'
	read_task "$task" '{"until":"start","wait":10000}'
	for i in 1 2; do
		start_timer
		run_tool bash '{"kill_pid":'"$pid"'}'
		within 1500
		noted_survivor
		is "$survivor $(result status) $(result exit_code)" \
			"$pid \"running\" "
		run_tool task_output '{}'
		is "$(result tasks 0 status)" '"running"'
	done
	release
	read_task "$task" '{"wait":10000}'
	is "$(result status) $(result exit_code)" '"completed" 0'
	is "$(plain stdout) $(result note)" $'start\nend '
}

@test "E12: kill_pid terminates all of a task's processes except those that belong to another user" {
	as_user
	boris
	start_task './asroot sh -c "echo >root; exec sleep 60" &
		sleep 61 & echo $! >pid; sleep 62'
	await_file pid root
	run_tool bash '{"kill_pid":'"$pid"'}'
	noted_survivor
	is "$(result status) $(result exit_code)" '"killed" 143'
	eventually is_gone pid
	survivor_is 'sleep 60'
	end_survivor
}

@test "E12: kill_pid sends SIGKILL after 5 s even if one process belongs to another user" {
	needs_linux_parts
	use_fast_clock
	as_user
	boris
	start_task './asroot sh -c "echo >root; exec sleep 60" &
		trap "" TERM; sleep 61 & echo $! >pid; wait'
	await_file pid root
	start_timer
	run_tool bash '{"kill_pid":'"$pid"'}'
	noted_survivor
	is "$(result status) $(result exit_code)" '"killed" 137'
	least "$(elapsed)" 4900
	within 7000
	eventually is_gone pid
	end_survivor
}

@test "E12: another user's process that exits once its child is killed is not reported" {
	as_user
	boris
	run_bash './asroot sh -c "setpriv --reuid=47115 sleep 60; true"' \
		'{"timeout":1000}'
	is "$(result status) $(result exit_code)" '"timed_out" 143'
	lacks "$(plain note)" 'still running'
	most "$(result elapsed_ms)" 3000
}

@test "E12: a task that survives its timeout has the status timed_out" {
	as_user
	boris
	start_task 'exec ./asroot sleep 60' '{"timeout":1000}'
	read_task "$task" '{"wait":10000}'
	noted_survivor
	is "$survivor $(result status) $(result exit_code)" \
		"$pid \"timed_out\" "
	has "$(plain note)" 'the timeout of the task has expired'
	end_survivor
}

# cancel_survivor FILE: Cancels a command that becomes a process of another user.
# Writes its pid to FILE.
cancel_survivor() {
	call_bash "echo \$BASHPID >$1; exec ./asroot sleep 60"
	await_file $1
	runs_sleep "$(<$1)"
	cancel $id
}

@test "E12, E6: if a cancelled command cannot be killed, the next result names its process" {
	as_user
	boris
	cancel_survivor pid
	run_bash 'echo next'
	has "$(plain note)" "a cancelled command could not be stopped: \
pid $(<pid) belongs to another user"
	noted_survivor
	run_bash 'echo next'
	is "$(result note)" ''
	end_survivor
}

@test "E12, E6: the note about a timed-out call states no exit code if its command cannot be killed" {
	as_user
	boris
	start_ten_tasks
	call_bash 'echo $BASHPID >pid; exec ./asroot sleep 60'
	await_file pid
	survivor=$(<pid)
	runs_sleep "$survivor"
	cancel_by_timeout $id
	run_tool task_output '{"wait":10000}'
	has "$(plain note)" "$GIVEN_UP could not be stopped; read its output"
	lacks "$(plain note)" 'exit code'
	end_survivor
}

@test "E12, K3: if two cancelled commands cannot be killed, each of the next two results names one of them" {
	as_user
	boris
	cancel_survivor pid1
	cancel_survivor pid2
	run_bash 'echo next'
	noted_survivor
	first=$survivor
	run_bash 'echo next'
	noted_survivor
	[ "$survivor" != "$first" ] || fail "$first was named twice"
	run_bash 'echo next'
	is "$(result note)" ''
	kill -9 "$first"
	end_survivor
}

@test "E12, L1: boris exits without waiting for a process that it has no permission to kill" {
	as_user
	for how in end_input 'kill $server' 'end_input; kill $server'; do
		boris
		start_task 'exec ./asroot sleep 60'
		runs_sleep "$pid"
		start_timer
		eval "$how"
		await_exit
		within 2000
		is "$how: $status" "$how: 0"
		is "$(<err)" "boris: pid $pid belongs to another user and is still running"
		kill -9 "$pid"
		eventually has_no_processes
		early=()
	done
	: >err
}

@test "E12, L1: when boris exits, a call is answered even if its process cannot be killed" {
	as_user
	boris
	call_bash 'echo $BASHPID >pid; exec ./asroot sleep 60'
	await_file pid
	runs_sleep "$(<pid)"
	kill "$server"
	answer
	noted_survivor
	is "$(result status) $(result exit_code)" '"running" '
	await_exit
	end_survivor
}

@test "E12, A1: the log names another user's process that could not be killed" {
	as_user
	boris --log="$PWD/log"
	run_bash './asroot sleep 60' '{"timeout":1000}'
	noted_survivor
	record=$(grep '"event":"not_killed"' log)
	has "$record" ',"note":"'"$note"'"'
	! linux_parts || has "$record" '"survivor_pid":'"$survivor,"
	has "$(grep '"event":"end"' log)" \
		'"exit_code":143,"signal":"SIGTERM","note":"'"$note"'"'
	end_survivor
}

@test "E12, L4: the guard process does not wait for a process that it has no permission to kill" {
	as_user
	boris
	start_task 'exec ./asroot sleep 60'
	runs_sleep "$pid"
	start_timer
	kill -9 "$server"
	await_exit || :
	survivor=$pid
	one_remains() {
		[ "$(processes_left | wc -l)" = 1 ]
	}
	eventually one_remains
	within 3000
	end_survivor
}

# start_frozen: Starts a task and freezes its process, so that SIGKILL has no
# effect. Sets $note to the note about it. Skips the test if there is no freezer.
start_frozen() {
	needs_root
	freezer=/sys/fs/cgroup/freezer/boris-test-$$
	mkdir "$freezer" 2>/dev/null || skip 'no freezer of version 1 here'
	use_fast_clock
	boris
	start_task 'exec sleep 60'
	runs_sleep "$pid"
	echo "$pid" >"$freezer/tasks"
	echo FROZEN >"$freezer/freezer.state"
	eventually grep -q FROZEN "$freezer/freezer.state"
	note="pid $pid $STUCK"
}

# thaw: Resumes the frozen process.
thaw() {
	echo THAWED >"$freezer/freezer.state"
	eventually rmdir "$freezer"
}

@test "E12: kill_pid reports a process that survives SIGKILL as running" {
	start_frozen
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(result status) $(result exit_code)" '"running" '
	is "$(plain note)" "$note"
	start_timer
	run_tool bash '{"kill_pid":'"$pid"'}'
	within 2000
	is "$(plain note)" "$note"
	thaw
}

@test "E12: boris exits without waiting for a process that survives SIGKILL" {
	start_frozen
	run_tool bash '{"kill_pid":'"$pid"'}'
	start_timer
	stop_server
	within 2000
	is "$status $(<err)" "0 boris: $note"
	thaw
	: >err
}
