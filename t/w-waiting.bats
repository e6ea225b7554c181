#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# W: waiting for tasks and their output
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# start_waiting COMMAND ARGUMENTS [META]: Sends a call that starts a task and waits.
start_waiting() {
	call_bash "$1" '{"run_in_background":true,'"$2"'}' ${3+"$3"}
}

# run_waiting COMMAND ARGUMENTS: Starts a task, waits, and reads the response.
run_waiting() {
	start_waiting "$@" && answer
}

# task_started: Sets $task and $pid to those of the result.
task_started() {
	task=$(plain task_id) || fail "no task: $reply" || return
	pid=$(result pid)
}

# in_steps STEP...: Prints a command that runs the steps. It waits for the gate
# before each step and after the last one.
in_steps() {
	local step
	for step; do
		printf 'read <gate; %s; ' "$step"
	done
	printf 'read <gate'
}

# wait_for_step ARGUMENTS [MS]: Calls task_output for $task, lets the task run its
# next step, and reads the response. Fails if that takes longer than MS
# milliseconds (default: 3000).
wait_for_step() {
	wait_for_task "$1"
	wait=$id
	sync_server
	start_timer
	release
	answer $wait
	within ${2:-3000}
}

# finish: Lets the task of the last result run to its end, and reads the task.
finish() {
	task_started
	release
	read_task "$task" '{"wait":10000}'
}

# --- W1: progress notifications

@test "W1: progress notifications for a queued call with an absolute cwd say what the call waits for" {
	use_fast_clock
	boris
	for i in {1..16}; do
		call_bash "read <'$PWD/gate'" '{"cwd":"/"}'
	done
	call_bash 'echo hi' '{"cwd":"/"}' '{"progressToken":"q"}'
	notice
	is "$(get params message)" '"waiting for one of the parallel commands to end"'
	release 16
	answer
	is "$(plain stdout)" hi
}

# hold_shell [META]: Sends a command that waits for the gate. Sets $first to its
# id and waits until the command has started.
hold_shell() {
	call_bash 'echo x >held; read <gate' '{}' ${1+"$1"}
	first=$id
	await_file held
}

@test "W1: a progress notification is sent for a queued call every ten seconds" {
	use_fast_clock
	boris
	hold_shell
	start_timer
	call_bash 'echo hi' '{}' '{"progressToken":"q"}'
	for last in 0 9000; do
		notice
		is "$(get method) $(get params progressToken)" '"notifications/progress" "q"'
		is "$(get params message)" '"waiting for the previous command to end"'
		least "$(progress)" $((last + 9000))
	done
	within 25000
	release
	answer
	is "$(result stdout)" '"hi\n"'
}

@test "W1: progress notifications are sent for both running and queued calls" {
	use_fast_clock
	boris
	hold_shell '{"progressToken":"running"}'
	call_bash 'echo hi' '{}' '{"progressToken":"queued"}'
	for i in 1 2; do
		notice
		get -s params progressToken >>tokens
		echo >>tokens
	done
	is "$(sort tokens | xargs)" 'queued running'
	release
	answer
}

@test "W1: a call's progress value is not reset when the call leaves the queue" {
	use_fast_clock
	boris
	hold_shell
	call_bash 'echo hi; read <gate' '{}' '{"progressToken":"q"}'
	notice
	waited=$(progress)
	least $waited 9000
	start_timer
	release
	answer $first
	until [[ $(get -s params message) = hi* ]]; do
		notice
	done
	least "$(progress)" $((waited + 1))
	release
	answer
	is "$(result stdout)" '"hi\n"'
	most "$(result elapsed_ms)" "$(elapsed)"
}

# has_heartbeat: Fails if the next line is not a progress notification, sent about
# ten seconds after `start_timer`.
has_heartbeat() {
	notice
	is "$(get method) $(get params progressToken)" '"notifications/progress" "w"'
	least "$(elapsed)" 9000
	within 15000
	least "$(progress)" 9000
}

@test "W1: a progress notification is sent after ten seconds if a call is waiting for a task" {
	use_fast_clock
	boris
	start_task 'read <gate; echo hi'
	for more in '' ',"until":"hi"' ',"new":true'; do
		start_timer
		wait_for_task '"wait":600000'"$more" '{"progressToken":"w"}'
		has_heartbeat
		cancel $id
	done
}

@test "W1: a progress notification is sent after ten seconds if a call starts a task and waits" {
	use_fast_clock
	boris
	start_timer
	start_waiting 'read <gate; echo hi' '"wait":600000' '{"progressToken":"w"}'
	has_heartbeat
	release
	answer
	is "$(result status) $(result stdout)" '"completed" "hi\n"'
}

@test "W1: progress notifications for a waiting call contain the task's output" {
	boris
	start_task "$(in_steps 'printf "\033[1mone\033[m\n"' 'echo two >&2')"
	wait_for_task '"wait":60000' '{"progressToken":"t"}'
	wait=$id
	sync_server
	release
	notice
	is "$(get params progressToken) $(get params message)" '"t" "one\n"'
	first=$(progress)
	release
	notice
	is "$(get params message)" '"two\n"'
	least "$(progress)" $((first + 1))
	release
	answer $wait
	is "$(result status) $(result stdout) $(result stderr)" '"completed" "one\n" "two\n"'
}

@test "W1: no progress notifications are sent for a call without a progress token" {
	boris
	start_task "$(in_steps 'echo one')"
	wait_for_task '"wait":60000'
	wait=$id
	call task_output '{"task_id":"'"$task"'","wait":60000}' '{"progressToken":"t"}'
	with_token=$id
	sync_server
	release
	notice
	is "$(get params progressToken)" '"t"'
	release
	answer $wait
	answer $with_token
	is ${#notices[@]} 0
	next_is_ping
}

@test "O7: progress notifications for a call that waits for any task contain a message" {
	use_fast_clock
	boris
	start_task 'read <gate'
	call task_output '{"wait":60000}' '{"progressToken":1}'
	notice
	isnt "$(get params message)" '""'
	release
	answer
}

@test "O7: a progress notification repeats the last line if there is no new output" {
	use_fast_clock
	boris
	call_bash 'echo one; printf "Processing... 10114"; read <gate' '{}' '{"progressToken":1}'
	until [[ $(get params message) = *10114* ]]; do
		notice
	done
	notice
	is "$(get params message)" '"Processing... 10114"'
	release
	answer
}

# --- W2: wait with run_in_background

@test "W2: a run_in_background call with a wait returns the task's result" {
	boris
	start_waiting 'read <gate; echo hi; exit 3' '"wait":60000'
	start=$id
	sync_server
	start_timer
	release
	answer $start
	within 3000
	is "$(result status) $(result exit_code) $(result stdout)" '"completed" 3 "hi\n"'
	like "$(text)" '"status: completed\\n*'
	has "$(text)" 'exit_code: 3'
}

@test "W2: a task is forgotten once a run_in_background call with a wait returns its result" {
	boris
	run_waiting 'exit 3' '"wait":60000'
	task_started
	isnt "$pid" ''
	read_task
	is_tool_error "task not found: $task*"
}

@test "W2: other calls are answered while a run_in_background call is waiting" {
	boris
	start_waiting 'read <gate' '"wait":60000'
	start=$id
	next_is_ping
	run_bash 'echo meanwhile'
	is "$(result stdout)" '"meanwhile\n"'
	release
	answer $start
}

@test "W2: a run_in_background call returns the output so far when its wait expires" {
	boris
	start_timer
	run_waiting 'echo one; read <gate; echo two' '"wait":1000'
	least "$(elapsed)" 990
	within 3000
	is "$(result status) $(result stdout) $(result exit_code)" '"running" "one\n" '
	is "$(get result isError)" false
	finish
	is "$(result status) $(result stdout)" '"completed" "one\ntwo\n"'
}

@test "W2: task_output with new: true does not repeat output already returned by run_in_background" {
	boris
	run_waiting 'echo one; read <gate' '"wait":60000,"until":"one"'
	task_started
	read_task "$task" '{"new":true}'
	is "$(result stdout)" '""'
}

@test "W2: a run_in_background call without a wait returns no output" {
	boris
	for wait in '' ',"wait":0' ',"wait":null'; do
		start_timer
		run_bash 'echo one; read <gate' '{"run_in_background":true'"$wait"'}'
		within 3000
		is "$(result status)" '"running"'
		is "$(plain stdout)$(plain stderr)" ''
		lacks "$(text)" 'stdout:'
		lacks "$(text)" '(no '
	done
}

@test "W2: after run_in_background without a wait, task_output with new: true returns all output" {
	boris
	for wait in '' ',"wait":0' ',"wait":null'; do
		rm -f a
		run_bash 'echo one; echo x >a; read <gate' '{"run_in_background":true'"$wait"'}'
		task_started
		await_output a
		read_task "$task" '{"new":true}'
		is "$(result stdout)" '"one\n"'
	done
}

@test "W2: cancelling a run_in_background call with a wait does not stop the task" {
	boris
	for more in '"wait":60000' '"until":"never"'; do
		rm -f pid
		start_waiting 'echo one; echo $$ >pid; read <gate; echo two' "$more"
		cancelled+=("$id")
		await_output pid
		cancel ${cancelled[-1]}
		next_is_ping
		is_running pid
		run_tool task_output '{}'
		is "$(result tasks 0 pid) $(result tasks 0 status)" "$(cat pid) \"running\""
		release
		read_task "$(plain tasks 0 task_id)" '{"wait":10000}'
		is "$(result status) $(result stdout)" '"completed" "one\ntwo\n"'
	done
	stop_server
	for id in "${cancelled[@]}"; do
		unanswered $id
	done
}

@test "W2: after a run_in_background call is cancelled, task_output with new: true returns all output" {
	boris
	start_waiting 'echo one; echo x >a; read <gate' '"wait":60000'
	start=$id
	await_output a
	cancel $start
	run_tool task_output '{}'
	read_task "$(plain tasks 0 task_id)" '{"new":true}'
	is "$(result stdout)" '"one\n"'
}

@test "W2: a queued call's wait is measured from the start of its task" {
	boris
	hold_shell
	start_waiting 'read <gate' '"wait":500'
	start=$id
	pause 700
	start_timer
	release
	answer $start
	least "$(elapsed)" 490
	is "$(result status)" '"running"'
}

@test "W2: a queued run_in_background call does not run after it is cancelled" {
	boris
	hold_shell
	start_waiting 'touch ran' '"wait":60000'
	queued=$id
	cancel $queued
	release
	answer $first
	run_bash true
	stop_server
	unanswered $queued
	[ ! -e ran ]
}

# --- W2: when a wait ends

@test "W2: a wait for a task to end does not end when the task prints output" {
	boris
	start_timer
	start_task 'echo one; read <gate'
	read_task "$task" '{"wait":1000}'
	least "$(elapsed)" 990
	is "$(result status) $(result stdout)" '"running" "one\n"'
}

@test "W2: with new: true and an until text, output without that text does not end a wait" {
	boris
	start_timer
	start_task 'echo one; read <gate'
	read_task "$task" '{"new":true,"wait":1200,"until":"two"}'
	least "$(elapsed)" 1190
	is "$(result status) $(result stdout)" '"running" "one\n"'
}

@test "W2: a wait for new output ends 300 ms after the last output" {
	boris
	start_task "$(in_steps 'echo two' 'echo three >&2')"
	for output in '"two\n" ""' '"" "three\n"'; do
		wait_for_step '"new":true,"wait":60000' 5000
		least "$(elapsed)" 290
		is "$(result status)" '"running"'
		is "$(result stdout) $(result stderr)" "$output"
	done
}

@test "W2: a wait for new output does not end while the task keeps printing" {
	boris
	start_task "$(in_steps 'until [ -e stop ]; do echo line; done; echo the end')"
	wait_for_task '"new":true,"wait":60000'
	wait=$id
	sync_server
	start_timer
	release
	pause 500
	: >stop
	answer $wait
	least "$(elapsed)" 500
	within 10000
	is "$(result status)" '"running"'
	like "$(plain stdout)" $'*\nthe end\n*'
}

@test "W2: a wait for new output ends when its time limit expires" {
	boris
	task_at_gate 'echo one'
	read_task
	start_timer
	read_task "$task" '{"new":true,"wait":500}'
	least "$(elapsed)" 490
	is "$(result status) $(result stdout)" '"running" ""'
	like "$(text)" '*\(no new output\)"'
}

@test "W2: a wait for new output ends if the task ends without output" {
	boris
	task_at_gate 'echo one' 'exit 3'
	read_task
	wait_for_step '"new":true,"wait":60000'
	is "$(result status) $(result exit_code) $(result stdout)" '"completed" 3 ""'
	like "$(text)" '*\(no new output\)"'
}

@test "W2: output that another call reads first does not end a wait for new output" {
	boris
	start_task "$(in_steps 'echo one; echo x >a' 'echo two')"
	wait_for_task '"wait":60000,"new":true'
	waiting=$id
	sync_server
	release
	await_output a
	read_task
	is "$(result stdout)" '"one\n"'
	read_task "$task" '{"wait":800}'
	release
	answer $waiting
	is "$(result stdout)" '"two\n"'
}

# waits_30_s: Fails if the last call is not answered after about 30 seconds.
waits_30_s() {
	pause 20000
	answer
	least "$(elapsed)" 29500
	within 34000
	is "$(result status) $(get result isError)" '"running" false'
}

@test "W2: task_output with an until text waits for 30 s if no wait is given" {
	use_fast_clock
	boris
	start_task 'read <gate'
	start_timer
	wait_for_task '"until":"never"'
	waits_30_s
}

@test "W2: run_in_background with an until text waits for 30 s if no wait is given" {
	use_fast_clock
	boris
	start_timer
	start_waiting 'read <gate' '"until":"never"'
	waits_30_s
}

@test "W2: several calls can wait for the same task" {
	boris
	start_task "$(in_steps 'echo ready')"
	wait_for_task '"until":"ready"'
	until=$id
	wait_for_task '"wait":60000'
	end=$id
	sync_server
	release
	answer $until
	is "$(result status) $(result stdout)" '"running" "ready\n"'
	release
	answer $end
	is "$(result status) $(result stdout)" '"completed" "ready\n"'
}

# --- W2: valid values of wait

@test "W2: the wait argument is rejected if it is negative or not an integer" {
	boris
	start_task 'read <gate'
	for value in -1 1.5 '"x"' true; do
		run_waiting 'touch ran' '"wait":'$value
		is_tool_error '*wait*600000*'
		read_task "$task" '{"wait":'$value'}'
		is_tool_error '*wait*600000*'
	done
	[ ! -e ran ]
}

@test "W2: the wait and until arguments cannot be combined with check_pid or kill_pid" {
	boris
	start_task 'read <gate'
	for more in '"wait":1000' '"until":"x"'; do
		for argument in check_pid kill_pid; do
			run_tool bash '{"'$argument'":'"$pid,$more}"
			rule='"wait" and "until" cannot be used with "check_pid" or "kill_pid"'
			is_tool_error "$rule; use task_output*"
		done
	done
}

@test "W2: the wait argument is rejected unless run_in_background or until is given" {
	boris
	for more in '' ',"run_in_background":false'; do
		run_bash 'touch ran' '{"wait":1000'$more'}'
		is_tool_error '"wait" requires "run_in_background"*'
	done
	[ ! -e ran ]
}

@test "W2: task_output accepts a wait longer than 600000 ms" {
	boris
	start_task true
	read_task "$task" '{"wait":700000}'
	is "$(result status)" '"completed"'
}

@test "W2: run_in_background accepts a wait of 600000 ms" {
	boris
	run_waiting true '"wait":6e5'
	is "$(result status)" '"completed"'
}

# --- W3: until

@test "W3: a command with an until text runs as a background task" {
	boris
	for more in '' ',"run_in_background":false'; do
		run_bash 'echo ready; read <gate' '{"until":"ready"'$more'}'
		is "$(plain status) $(plain stdout)" 'running ready'
		isnt "$(plain task_id)" ''
		finish
		is "$(result status)" '"completed"'
	done
}

@test "W3: a call with an until text returns when the text is printed" {
	boris
	start_waiting 'echo starting; echo x >a; read <gate; echo "ready in 5 ms"; read <gate' \
		'"until":"ready in"'
	start=$id
	await_file a
	next_is_ping
	start_timer
	release
	answer $start
	within 3000
	is "$(result status) $(get result isError)" '"running" false'
	like "$(plain stdout)" $'starting\nready in*'
	task_started
	has "$(text)" "$task"
}

@test "W3: task_output with new: true does not repeat output returned by a call with an until text" {
	boris
	run_waiting 'echo starting; echo ready; read <gate; echo more' '"until":"ready"'
	task_started
	release
	read_task "$task" '{"wait":10000,"new":true}'
	is "$(result status)" '"completed"'
	lacks "$(result stdout)" starting
	has "$(result stdout)" more
}

@test "W3: the until text is matched against both stdout and stderr" {
	boris
	start_task "$(in_steps 'echo ready' 'echo steady >&2')"
	for text in ready steady; do
		wait_for_step '"wait":60000,"until":"'$text'"'
		is "$(result status) $(result note)" '"running" '
		has "$(plain stdout)$(plain stderr)" $text
	done
}

@test "W3: the until text matches a line printed in parts" {
	boris
	start_task "$(in_steps 'printf Lis; : >1' 'printf ten; : >2' 'printf "ing o"; : >3' \
		'printf "n :80"')"
	wait_for_task '"wait":60000,"until":"tening on :8"'
	wait=$id
	for part in 1 2 3; do
		release
		eventually test -e $part
		next_is_ping
	done
	start_timer
	release
	answer $wait
	within 3000
	is "$(result status) $(result stdout) $(result note)" '"running" "Listening on :80" '
}

@test "W3: escape sequences in the output are ignored when the until text is matched" {
	boris
	start_task "$(in_steps 'printf "re\033[1mady\033[0m\r\n"' \
		'printf "50%%\r\033[Kall do"; printf "\007ne"')"
	for text in ready 'all done'; do
		wait_for_step '"wait":60000,"until":"'"$text"'"'
		is "$text $(result status) $(result note)" "$text \"running\" "
	done
}

@test "W3: the until argument can contain quotation marks, backslashes and non-ASCII characters" {
	boris
	for text in 'a.b' 'é \"quoted\" a.b [x] \\ *' '\u00e9 \u0022q'; do
		run_waiting 'echo "aXb"; echo "é \"quoted\" a.b [x] \\ *"; read <gate' \
			'"wait":60000,"until":"'"$text"'"'
		is "$(result status)" '"running"'
		has "$(plain stdout)" 'a.b [x]'
	done
}

@test "W3: the until argument is not treated as a regular expression" {
	boris
	task_at_gate 'echo "aXb"; echo "a.b [x]"'
	read_task "$task" '{"wait":200,"until":"a.b ]x"}'
	is "$(result status)" '"running"'
	isnt "$(result note)" ''
	read_task "$task" '{"wait":200,"until":"a.."}'
	isnt "$(result note)" ''
}

@test "W3: the until text does not match text that is split between stdout and stderr" {
	boris
	start_timer
	start_task 'printf rea; printf dy >&2; echo x >a; read <gate'
	await_file a
	read_task "$task" '{"wait":300,"until":"ready"}'
	is "$(result status) $(get result isError)" '"running" false'
	isnt "$(result note)" ''
	least "$(elapsed)" 290
}

@test "W3: the until text does not match text that is split across two lines" {
	boris
	start_timer
	start_task 'printf "rea\nsteady"; echo x >a; read <gate'
	await_file a
	read_task "$task" '{"wait":300,"until":"reasteady"}'
	isnt "$(result note)" ''
	least "$(elapsed)" 290
}

@test "W3: the until text matches unread output printed before the call" {
	boris
	task_at_gate 'echo READY; seq 100000'
	start_timer
	read_task "$task" '{"wait":600000,"until":"READY"}'
	within 5000
	is "$(result status) $(result note)" '"running" '
}

# is_read_already TEXT: Fails if until finds TEXT in the output of $task.
is_read_already() {
	read_task "$task" '{"wait":200,"until":"'"$1"'"}'
	is "$(result status)" '"running"'
	isnt "$(result note)" ''
}

@test "W3: the until text does not match output already returned by task_output" {
	boris
	for more in '' '{"new":true}' '{"wait":60000,"until":"ready"}'; do
		task_at_gate 'echo ready'
		read_task "$task" "$more"
		is_read_already ready
		is_read_already ready
	done
}

@test "W3: the until text does not match output already returned by check_pid" {
	boris
	task_at_gate 'echo ready'
	run_tool bash '{"check_pid":'"$pid"'}'
	is_read_already ready
}

@test "W3: the until text matches if text that was returned before is printed again" {
	boris
	task_at_gate 'echo ready' 'echo ready; read <gate'
	read_task
	wait_for_step '"wait":60000,"until":"ready","new":true'
	is "$(result stdout) $(result note)" '"ready\n" '
}

@test "W3: the until text does not match old output when a later line is overwritten" {
	boris
	start_task "printf ready; echo x >a; $(in_steps 'printf " now\n1%%"; echo x >b' \
		'printf "\r2%%"; echo x >c')"
	await_output a
	read_task
	wait_for_task '"wait":60000,"until":"never"'
	waiting=$id
	for step in b c; do
		release
		await_output $step
	done
	read_task "$task" '{"wait":200,"until":"ready","new":true}'
	is "$(result stdout)" '" now\n2%"'
	has "$(plain note)" '"ready" was not printed since the last read'
	release
	answer $waiting
}

@test "W3: the until text does not match text that has been partly overwritten" {
	boris
	start_waiting "printf a; echo x >one; $(in_steps 'printf "\rb\nend\n"')" \
		'"wait":20000,"until":"ab"'
	waiting=$id
	await_output one
	release
	run_bash 'true'
	run_waiting 'true' '"wait":20000'
	release
	answer $waiting
	is "$(result status) $(result stdout)" '"completed" "b\nend\n"'
	has "$(plain note)" 'until text "ab'
}

@test "W3: a note is shown if the until text does not appear before the wait ends" {
	boris
	start_task 'echo one; read <gate'
	start_timer
	read_task "$task" '{"wait":500,"until":"ready"}'
	least "$(elapsed)" 490
	within 3000
	is "$(result status) $(result stdout) $(get result isError)" '"running" "one\n" false'
	isnt "$(result note)" ''
}

@test "W3: task_output with an until text and wait: 0 returns immediately" {
	boris
	start_task 'echo one; read <gate'
	start_timer
	read_task "$task" '{"wait":0,"until":"ready"}'
	within 3000
	is "$(result status) $(get result isError)" '"running" false'
}

@test "W3: task_output with an until text returns when the task ends" {
	boris
	start_task 'read <gate; echo failed; exit 3'
	wait_for_step '"wait":600000,"until":"ready"'
	is "$(result status) $(result exit_code) $(result stdout)" '"completed" 3 "failed\n"'
}

@test "W3: run_in_background with an until text returns when the task ends" {
	boris
	start_timer
	run_waiting 'echo "no such port" >&2; exit 4' '"until":"ready"'
	within 3000
	is "$(result status) $(result exit_code) $(result stderr)" '"completed" 4 "no such port\n"'
}

@test "W3: the until text matches text in the middle of long output" {
	boris
	start_task "$(in_steps 'seq 100000; echo ready; seq 100000')"
	wait_for_step '"wait":600000,"until":"ready"' 10000
	is "$(result status) $(result note)" '"running" '
}

@test "W3: the until text matches stderr after long output on stdout" {
	boris
	run_waiting 'seq 100000; echo ready >&2; read <gate' '"wait":600000,"until":"ready"'
	is "$(result status)" '"running"'
	has "$(plain stderr)" ready
}

@test "W3: the until argument is rejected if it contains a newline or is longer than 1000 characters" {
	boris
	start_task 'read <gate'
	long=$(yes é | head -n 1001 | tr -d '\n')
	for value in 5 true '["x"]' '"a\nb"' '"\n"' "\"$long\""; do
		read_task "$task" '{"until":'"$value"'}'
		is_tool_error '*until*'
		run_waiting 'touch ran' '"until":'"$value"
		is_tool_error '*until*'
	done
	[ ! -e ran ]
}

@test "W3: the until argument can be 1000 characters long" {
	boris
	long=$(yes é | head -n 1000 | tr -d '\n')
	run_waiting "echo $long; read <gate" '"until":"'$long'"'
	is "$(result status) $(plain stdout)" "\"running\" $long"
	task_started
	read_task "$task" '{"wait":50,"until":"'$long'"}'
	is "$(result status)" '"running"'
}

@test "W3: ping is answered while 200 calls search output that almost matches" {
	boris
	almost=$(printf 'a%.0s' {1..999})b
	start_task "yes a | tr -d '\\n'"
	for i in {1..200}; do
		wait_for_task '"limit":200,"until":"'"$almost"'"'
	done
	start_timer
	ask ping
	within 5000
	run_tool bash '{"kill_pid":'"$pid"'}'
}

# --- W4: the time limit of a task

@test "W4: a task is terminated when its timeout expires" {
	boris
	start_timer
	start_task 'trap "echo bye; exit 7" TERM; echo hi; read <gate' '{"timeout":500}'
	is "$(result status)" '"running"'
	read_task "$task" '{"wait":20000}'
	least "$(elapsed)" 490
	within 3000
	is "$(result status) $(result timed_out)" '"timed_out" true'
	is "$(result stdout) $(result exit_code)" '"hi\nbye\n" 7'
	least "$(result elapsed_ms)" 490
	is_gone "$pid"
}

@test "W4: a run_in_background call with a wait reports that the task has timed out" {
	boris
	run_waiting 'echo hi; read <gate' '"timeout":300,"wait":20000'
	is "$(result status) $(result stdout) $(result timed_out)" '"timed_out" "hi\n" true'
	is "$(result exit_code) $(result signal)" '143 "SIGTERM"'
}

@test "W4: a task that ends before its timeout expires is reported as completed" {
	boris
	start_task 'echo hi' '{"timeout":60000}'
	read_task "$task" '{"wait":20000}'
	is "$(result status) $(result stdout) $(result timed_out)" '"completed" "hi\n" '
}

@test "W4: if --bg-timeout is shorter than a task's timeout, --bg-timeout applies" {
	boris --bg-timeout=1
	start_timer
	start_task 'read <gate' '{"timeout":600000}'
	read_task "$task" '{"wait":20000}'
	within 6000
	is "$(result status)" '"timed_out"'
	has "$(plain note)" '--bg-timeout'
}

@test "W4: if a task's timeout is shorter than --bg-timeout, the timeout applies" {
	boris --bg-timeout=3
	start_timer
	start_task 'read <gate' '{"timeout":300}'
	read_task "$task" '{"wait":20000}'
	least "$(elapsed)" 290
	is "$(result status) $(result timed_out)" '"timed_out" true'
	most "$(result elapsed_ms)" $((2900 * SLOW))
	lacks "$reply" '--bg-timeout'
	[[ $(text) =~ time(out|d out) ]] || fail "$(text)"
}

@test "W4: --timeout does not apply to tasks" {
	boris --timeout=1
	start_task 'read <gate; echo hi'
	read_task "$task" '{"wait":1500}'
	is "$(result status)" '"running"'
	release
	read_task "$task" '{"wait":10000}'
	is "$(result status) $(result stdout)" '"completed" "hi\n"'
}

@test "W4: a note says that a task's timeout was reduced to 86400000 ms" {
	boris
	for timeout in 86400001 1e18; do
		start_task 'read <gate' '{"timeout":'$timeout'}'
		has "$(plain note)" 86400000
		read_task
		is "$(result status)" '"running"'
	done
}

@test "W4: a task's timeout of 86400000 ms is accepted without a note" {
	boris
	start_task 'read <gate' '{"timeout":86400000}'
	lacks "$(plain note)" 86400000
	read_task
	is "$(result status)" '"running"'
}

@test "W4: an invalid task timeout is rejected" {
	boris
	for value in -1 '"x"' 1.5; do
		run_waiting 'touch ran' '"timeout":'$value
		is_tool_error '*timeout*'
	done
	[ ! -e ran ]
}
