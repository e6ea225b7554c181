#!/usr/bin/env bats
# W: waiting
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# wait_for ARGUMENTS [META]: sends task_output of the last task, with these
wait_for() {
	call task_output '{"task_id":"'"$task"'",'"$1"'}' ${2+"$2"}
}

# start_waiting COMMAND ARGUMENTS [META]: sends a start in the background
start_waiting() {
	call_bash "$1" '{"run_in_background":true,'"$2"'}' ${3+"$3"}
}

# task_started: the answer is about a task: sets $task and $pid
task_started() {
	task=$(plain task_id) || fail "no task: $reply" || return
	pid=$(result pid)
}

# no_output: the result shows none
no_output() {
	is "$(plain stdout)$(plain stderr)" ''
	lacks "$(text)" 'stdout:'
}

# --- W1

@test "W1: a call in the queue gives a sign of life, counted from when it was read" {
	hurried
	boris
	call_bash 'echo x >first; read <gate'
	first=$id
	begun first
	begin
	call_bash 'echo hi' '{}' '{"progressToken":"q"}'
	queued=$id
	notice
	is "$(get method) $(get params progressToken)" '"notifications/progress" "q"'
	least "$(took)" 9000
	within 15000
	last=$(progress)
	least "$last" 9000
	notice
	least "$(progress)" $((last + 9000))
	release
	answer $first
	answer $queued
	is "$(result stdout)" '"hi\n"'
	most "$(result elapsed_ms)" 9000
}

@test "W1: of two calls held open both give their signs of life" {
	hurried
	boris
	call_bash 'read <gate' '{}' '{"progressToken":"fg"}'
	first=$id
	call_bash 'echo hi' '{}' '{"progressToken":"q"}'
	queued=$id
	for i in 1 2 3 4; do
		notice
		tokens="$tokens $(get params progressToken)"
	done
	has "$tokens" '"fg"'
	has "$tokens" '"q"'
	release
	answer $first
	answer $queued
}

@test "W1: the progress of a command goes on from that of its time in the queue" {
	hurried
	boris
	call_bash 'echo x >first; read <gate'
	first=$id
	begun first
	call_bash 'echo hi; read <gate' '{}' '{"progressToken":5}'
	queued=$id
	notice
	last=$(progress)
	release
	answer $first
	notice
	is "$(get -v params progressToken) $(get params message)" '5 "hi\n"'
	least "$(progress)" $((last + 1))
	release
	answer $queued
	is "$(result stdout)" '"hi\n"'
}

@test "W1: a wait for a task gives a sign of life" {
	hurried
	boris
	start_task 'read <gate; echo hi'
	for more in '' ',"until":"hi"' ',"new":true'; do
		begin
		wait_for '"wait":600000'"$more" '{"progressToken":"w"}'
		wait=$id
		notice
		is "$(get method) $(get params progressToken)" '"notifications/progress" "w"'
		least "$(took)" 9000
		within 15000
		least "$(progress)" 9000
		cancel $wait
	done
	wait_for '"wait":600000'
	release
	answer
	is "$(result status) $(result stdout)" '"completed" "hi\n"'
}

@test "W1: a start that waits gives a sign of life" {
	hurried
	boris
	begin
	start_waiting 'read <gate; echo hi' '"wait":600000' '{"progressToken":0}'
	start=$id
	notice
	is "$(get method) $(get -v params progressToken)" '"notifications/progress" 0'
	least "$(took)" 9000
	within 15000
	release
	answer $start
	is "$(result status) $(result stdout)" '"completed" "hi\n"'
}

@test "W1: what a task prints while it is waited for is sent" {
	boris
	start_task 'read <gate; printf "\033[1mone\033[m\n"; read <gate; echo two >&2; read <gate'
	wait_for '"wait":60000' '{"progressToken":"t"}'
	wait=$id
	in_turn
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
	next_is_ping
}

@test "W1: a wait without a token has no progress" {
	boris
	start_task 'read <gate; echo hi; read -t 0.3 <>never'
	wait_for '"wait":60000'
	in_turn
	release
	answer 2
	is "$(result status) ${#notices[@]}" '"completed" 0'
}

# --- W2

@test "W2: a start that waits gives the task's end, which is then forgotten" {
	boris
	start_waiting 'read <gate; echo hi; exit 3' '"wait":60000'
	start=$id
	in_turn
	begin
	release
	answer $start
	within 3000
	is "$(result status) $(result exit_code) $(result stdout)" '"completed" 3 "hi\n"'
	like "$(text)" '"status: completed\\n*'
	has "$(text)" 'exit_code: 3'
	task_started
	isnt "$pid" ''
	look
	refused "task not found: $task*"
}

@test "W2: a start that waits gives, when the time is up, what was printed until then; that is a look" {
	boris
	begin
	run_bash 'echo one; read <gate; echo two' '{"run_in_background":true,"wait":1000}'
	least "$(took)" 990
	within 3000
	is "$(result status) $(result stdout) $(result exit_code)" '"running" "one\n" '
	is "$(get result isError)" false
	task_started
	look "$task" '{"new":true}'
	is "$(result stdout)" '""'
	release
	look "$task" '{"wait":10000}'
	is "$(result status) $(result stdout)" '"completed" "one\ntwo\n"'
}

@test "W2: a start without wait, or with 0, says running, shows nothing and is no look" {
	boris
	for wait in '' ',"wait":0' ',"wait":null'; do
		rm -f a
		begin
		run_bash 'echo one; echo x >a; read <gate' '{"run_in_background":true'"$wait"'}'
		within 3000
		is "$(result status)" '"running"'
		no_output
		lacks "$(text)" '(no '
		task_started
		printed a
		look "$task" '{"new":true}'
		is "$(result stdout)" '"one\n"'
		run_tool bash '{"kill_pid":'"$pid"'}'
	done
}

@test "W2: while a start waits others are served, foreground commands too" {
	boris
	start_waiting 'echo x >a; read <gate' '"wait":60000'
	start=$id
	begun a
	next_is_ping
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
	release
	answer $start
	is "$(result status)" '"completed"'
}

@test "W2: without until or new, what is printed ends no wait" {
	boris
	begin
	start_task 'echo one; read <gate'
	look "$task" '{"wait":1000}'
	least "$(took)" 990
	is "$(result status) $(result stdout)" '"running" "one\n"'
}

@test "W2: without wait a look answers at once, with new too" {
	boris
	start_task 'read <gate'
	begin
	look
	is "$(result status)" '"running"'
	look "$task" '{"new":true}'
	is "$(result status)" '"running"'
	like "$(text)" '*\(no new output\)"'
	within 3000
}

@test "W2: new with wait answers when something new has come, and then nothing for 300 ms" {
	boris
	start_task 'echo one; echo x >a; read <gate; echo two; read <gate; echo three >&2; read <gate'
	printed a
	look "$task" '{"new":true}'
	is "$(result stdout)" '"one\n"'
	for said in '"two\n" ""' '"" "three\n"'; do
		wait_for '"new":true,"wait":60000'
		wait=$id
		in_turn
		begin
		release
		answer $wait
		least "$(took)" 290
		within 5000
		is "$(result status)" '"running"'
		is "$(result stdout) $(result stderr)" "$said"
	done
}

@test "W2: new with wait answers for what was new before the call" {
	boris
	start_task 'echo one; echo x >a; read <gate'
	printed a
	begin
	look "$task" '{"new":true,"wait":60000}'
	within 5000
	is "$(result status) $(result stdout)" '"running" "one\n"'
}

@test "W2: new with wait does not answer while more is being printed" {
	boris
	start_task 'read <gate; until [ -e stop ]; do echo line; done; echo the end; read <gate'
	wait_for '"new":true,"wait":60000'
	wait=$id
	in_turn
	begin
	release
	pause 1500
	: >stop
	answer $wait
	least "$(took)" 1500
	within 10000
	is "$(result status)" '"running"'
	like "$(plain stdout)" $'*\nthe end\n*'
}

@test "W2: new with wait answers at the task's end, and when the time is up" {
	boris
	start_task 'echo one; echo x >a; read <gate; exit 3'
	printed a
	look
	begin
	look "$task" '{"new":true,"wait":500}'
	least "$(took)" 490
	is "$(result status) $(result stdout)" '"running" ""'
	like "$(text)" '*\(no new output\)"'
	wait_for '"new":true,"wait":60000'
	wait=$id
	in_turn
	begin
	release
	answer $wait
	within 3000
	is "$(result status) $(result exit_code) $(result stdout)" '"completed" 3 ""'
	like "$(text)" '*\(no new output\)"'
}

@test "W2: with until, silence after something new ends no wait" {
	boris
	begin
	start_task 'echo one; read <gate'
	look "$task" '{"new":true,"wait":1200,"until":"two"}'
	least "$(took)" 1190
	is "$(result status) $(result stdout)" '"running" "one\n"'
}

@test "W2: a look with until and no wait waits 30 s" {
	hurried
	boris
	start_task 'read <gate'
	begin
	wait_for '"until":"never"'
	pause 20000
	answer
	least "$(took)" 29500
	within 34000
	is "$(result status) $(get result isError)" '"running" false'
	begin
	start_waiting 'read <gate' '"until":"never"'
	pause 20000
	answer
	least "$(took)" 29500
	within 34000
	is "$(result status) $(get result isError)" '"running" false'
}

@test "W2: wait is bounded and typed, in both tools" {
	boris
	start_task 'read <gate'
	for value in -1 1.5 '"x"' true; do
		run_tool bash '{"command":"touch ran","run_in_background":true,"wait":'$value'}'
		refused '*wait*600000*'
		look "$task" '{"wait":'$value'}'
		refused '*wait*600000*'
	done
	release
	look "$task" '{"wait":600000}'
	is "$(result status)" '"completed"'
	run_bash true '{"run_in_background":true,"wait":6e5}'
	is "$(result status)" '"completed"'
	[ ! -e ran ]
}

@test "W2: wait and until without a task are refused, and so are they with check_pid and kill_pid" {
	boris
	start_task 'read <gate'
	for argument in '"wait":1000' '"until":"x"'; do
		name=${argument#\"}
		for call in '"command":"touch ran"' '"command":"touch ran","run_in_background":false' \
		            '"check_pid":'"$pid" '"kill_pid":'"$pid"; do
			run_tool bash "{$call,$argument}"
			refused "*${name%%\"*}*"
		done
	done
	run_bash 'ls ran'
	is "$(result exit_code)" 2
	look
	is "$(result status)" '"running"'
}

@test "W2: cancelling a start that waits ends the wait alone: the task is in the list" {
	boris
	for more in '"wait":60000' '"until":"never"'; do
		rm -f pid
		start_waiting 'echo one; echo $$ >pid; read <gate; echo two' "$more"
		cancelled+=("$id")
		printed pid
		cancel "${cancelled[-1]}"
		next_is_ping
		there pid
		run_tool task_output '{}'
		is "$(result tasks 0 pid) $(result tasks 0 status)" "$(cat pid) \"running\""
		task=$(plain tasks 0 task_id)
		# It was no look either.
		look "$task" '{"new":true}'
		is "$(result stdout)" '"one\n"'
		release
		look "$task" '{"wait":10000}'
		is "$(result status) $(result stdout)" '"completed" "one\ntwo\n"'
	done
	leave
	for id in "${cancelled[@]}"; do
		unanswered $id
	done
}

@test "W2: cancelling a start that is still in the queue takes it out" {
	boris
	call_bash 'echo x >first; read <gate'
	first=$id
	begun first
	start_waiting 'touch ran' '"wait":60000'
	queued=$id
	cancel $queued
	release
	answer $first
	run_tool task_output '{}'
	is "$(result tasks)" '[]'
	leave
	unanswered $queued
	[ ! -e ran ]
}

@test "W2: a start that waits in the queue waits from its own start" {
	boris
	call_bash 'echo x >first; read <gate'
	begun first
	start_waiting 'read <gate' '"wait":500'
	start=$id
	pause 700
	begin
	release
	answer $start
	least "$(took)" 490
	is "$(result status)" '"running"'
}

@test "W2: at the end of input a start that waits is carried out" {
	boris
	start_waiting 'echo x >a; read <gate; echo hi' '"wait":60000'
	start=$id
	begun a
	end_input
	release
	answer $start
	is "$(result status) $(result stdout)" '"completed" "hi\n"'
	died
	is $status 0
}

@test "W2: several may wait for one task" {
	boris
	start_task 'read <gate; echo ready; echo x >a; read <gate'
	wait_for '"until":"ready"'
	until=$id
	wait_for '"wait":60000'
	end=$id
	in_turn
	release
	answer $until
	is "$(result status) $(result stdout)" '"running" "ready\n"'
	release
	answer $end
	is "$(result status) $(result stdout)" '"completed" "ready\n"'
}

# --- W3

@test "W3: a server is started and waited for in one call" {
	boris
	start_waiting 'echo starting; echo x >a; read <gate; echo "ready in 5 ms"; read <gate; echo more' \
		'"until":"ready in"'
	start=$id
	begun a
	next_is_ping
	begin
	release
	answer $start
	within 3000
	is "$(result status) $(get result isError)" '"running" false'
	# What stands behind it on its line may come a little later.
	like "$(plain stdout)" $'starting\nready in*'
	task_started
	has "$(text)" "$task"
	release
	look "$task" '{"wait":10000,"new":true}'
	is "$(result status)" '"completed"'
	lacks "$(result stdout)" starting
	has "$(result stdout)" more
}

@test "W3: until is seen in either stream" {
	boris
	start_task 'read <gate; echo ready; read <gate; echo steady >&2; read <gate'
	for text in ready steady; do
		wait_for '"wait":60000,"until":"'$text'"'
		wait=$id
		in_turn
		begin
		release
		answer $wait
		within 3000
		is "$(result status) $(result note)" '"running" '
		has "$(plain stdout)$(plain stderr)" $text
	done
}

@test "W3: until is seen where reads split it, before its line has ended" {
	boris
	start_task 'for part in Lis ten "ing o" "n :80"; do read <gate; printf "%s" "$part"; echo x >>a; done; read <gate'
	wait_for '"wait":60000,"until":"tening on :8"'
	wait=$id
	for n in 1 2 3; do
		release
		parts() { [ -e a ] && [ "$(wc -l <a)" -ge $n ]; }
		eventually parts
		next_is_ping
	done
	begin
	release
	answer $wait
	within 3000
	is "$(result status) $(result stdout) $(result note)" '"running" "Listening on :80" '
}

@test "W3: until is looked for in the cleaned text" {
	boris
	start_task 'read <gate; printf "re\033[1mady\033[0m\r\n"; read <gate; printf "50%%\r\033[Kall do"; printf "\007ne"; read <gate'
	for text in ready 'all done'; do
		wait_for '"wait":60000,"until":"'"$text"'"'
		wait=$id
		in_turn
		begin
		release
		answer $wait
		within 3000
		is "$text $(result status) $(result note)" "$text \"running\" "
	done
}

@test "W3: until is plain text, any characters" {
	boris
	start_task 'read <gate; echo "aXb"; echo "é \"quoted\" a.b [x] \\ *"; echo x >a; read <gate'
	release
	printed a
	look "$task" '{"wait":200,"until":"a.b ]x"}'
	is "$(result status)" '"running"'
	isnt "$(result note)" ''
	for text in 'a.b' 'é \"quoted\" a.b [x] \\ *' '\u00e9 \u0022q'; do
		run_bash 'echo "aXb"; echo "é \"quoted\" a.b [x] \\ *"; read <gate' \
			'{"run_in_background":true,"wait":60000,"until":"'"$text"'"}'
		is "$(result status)" '"running"'
		has "$(plain stdout)" 'a.b [x]'
	done
}

@test "W3: until is not seen in halves in two streams, or in two lines" {
	boris
	begin
	start_task 'printf rea; printf dy >&2; echo x >a; read <gate; printf "\nsteady"; read <gate'
	begun a
	look "$task" '{"wait":300,"until":"ready"}'
	is "$(result status) $(get result isError)" '"running" false'
	isnt "$(result note)" ''
	release
	look "$task" '{"wait":300,"until":"reasteady"}'
	isnt "$(result note)" ''
	least "$(took)" 590
}

@test "W3: until is seen at once in what was printed before the call and since the last look" {
	boris
	start_task 'echo ready; echo x >a; read <gate'
	printed a
	begin
	look "$task" '{"wait":600000,"until":"ready"}'
	within 3000
	is "$(result status) $(result stdout) $(result note)" '"running" "ready\n" '
}

@test "W3: until is not seen again in what a look has shown" {
	boris
	start_task 'echo ready; echo x >a; read <gate; echo ready; read <gate'
	printed a
	for call in plain new check until; do
		case $call in
		plain) look ;;
		new) look "$task" '{"new":true}' ;;
		check) run_tool bash '{"check_pid":'"$pid"'}' ;;
		esac
		look "$task" '{"wait":200,"until":"ready"}'
		is "$call $(result status)" "$call \"running\""
		isnt "$call $(result note)" "$call "
	done
	wait_for '"wait":60000,"until":"ready","new":true'
	wait=$id
	in_turn
	release
	answer $wait
	is "$(result stdout) $(result note)" '"ready\n" '
}

@test "W3: until is not seen again in what a look has shown for a later line that is overwritten" {
	boris
	start_task 'printf ready; echo x >a; read <gate; printf " now\n1%%"; echo x >b; read <gate; printf "\r2%%"; echo x >c; read <gate'
	printed a
	look
	wait_for '"wait":60000,"until":"never"'
	waiting=$id
	for step in b c; do
		release
		printed $step
	done
	look "$task" '{"wait":200,"until":"ready","new":true}'
	is "$(result stdout)" '" now\n2%"'
	has "$(plain note)" 'not seen in time'
	release
	answer $waiting
}

@test "W3: until is seen in the start of much that nobody had looked at" {
	boris
	start_task 'echo READY; seq 100000; echo x >done; read <gate'
	printed done
	begin
	look "$task" '{"wait":20000,"until":"READY"}'
	within 5000
	lacks "$(plain note)" 'not seen'
}

@test "W3: until is not put together of a line and what overwrites it" {
	boris
	start_waiting 'printf a; echo x >one; read <gate; printf "\rb\nend\n"; read <gate' '"wait":20000,"until":"ab"'
	waiting=$id
	printed one
	release
	run_bash 'true'
	start_waiting 'true' '"wait":20000'
	answer $id
	release
	answer $waiting
	is "$(result status) $(result stdout)" '"completed" "b\nend\n"'
	has "$(plain note)" 'not seen before it ended: ab'
}

@test "W2: what another look has shown is not new to one that waits" {
	boris
	start_task 'read <gate; echo one; echo x >done; read <gate; echo two; read <gate'
	wait_for '"wait":60000,"new":true'
	waiting=$id
	in_turn
	release
	printed done
	look
	is "$(result stdout)" '"one\n"'
	look "$task" '{"wait":800}'
	release
	answer $waiting
	is "$(result stdout)" '"two\n"'
}

@test "W3: where until is not seen in time it is no error, and a note says so" {
	boris
	start_task 'echo one; read <gate'
	begin
	look "$task" '{"wait":500,"until":"ready"}'
	least "$(took)" 490
	within 3000
	is "$(result status) $(result stdout) $(get result isError)" '"running" "one\n" false'
	isnt "$(result note)" ''
	run_bash 'echo one; read <gate' '{"run_in_background":true,"wait":500,"until":"ready"}'
	is "$(result status) $(result stdout) $(get result isError)" '"running" "one\n" false'
	isnt "$(result note)" ''
	task_started
	look "$task" '{"wait":0,"until":"ready"}'
	is "$(result status) $(get result isError)" '"running" false'
}

@test "W3: a task that ends without having printed until ends the wait" {
	boris
	start_task 'read <gate; echo failed; exit 3'
	wait_for '"wait":600000,"until":"ready"'
	wait=$id
	in_turn
	begin
	release
	answer $wait
	within 3000
	is "$(result status) $(result exit_code) $(result stdout)" '"completed" 3 "failed\n"'
	begin
	run_bash 'echo "no such port" >&2; exit 4' '{"run_in_background":true,"until":"ready"}'
	within 3000
	is "$(result status) $(result exit_code) $(result stderr)" '"completed" 4 "no such port\n"'
}

@test "W3: a task that prints until and ends is answered" {
	boris
	run_bash 'echo ready' '{"run_in_background":true,"until":"ready"}'
	has "$(result stdout)" ready
	# Seen and ended are noticed in the same turn, or not.
	[[ $(result status) == '"completed"' || $(result status) == '"running"' ]]
}

@test "W3: until is seen in long output, wherever it stands" {
	boris
	start_task 'read <gate; seq 100000; echo ready; seq 100000; read <gate'
	wait_for '"wait":600000,"until":"ready"'
	wait=$id
	in_turn
	begin
	release
	answer $wait
	within 10000
	is "$(result status) $(result note)" '"running" '
	run_bash 'seq 100000; echo ready >&2; read <gate' '{"run_in_background":true,"wait":600000,"until":"ready"}'
	is "$(result status)" '"running"'
	has "$(plain stderr)" ready
}

@test "W3: until is seen in front of what was printed since" {
	boris
	start_task 'echo ready; seq 1000; echo x >a; read <gate'
	printed a
	begin
	look "$task" '{"wait":600000,"until":"ready"}'
	within 3000
	is "$(result status) $(result note)" '"running" '
}

@test "W3: until is a string of 1 to 1000 characters in one line" {
	boris
	start_task 'echo hi; read <gate'
	long=$(yes é | head -n 1000 | tr -d '\n')
	for value in '""' 5 true '["x"]' '"a\nb"' '"\n"' "\"${long}x\""; do
		look "$task" '{"until":'"$value"'}'
		refused '*until*'
		[ "$value" != '""' ] || continue
		run_tool bash '{"command":"touch ran","run_in_background":true,"until":'"$value"'}'
		refused '*until*'
	done
	[ ! -e ran ]
	look "$task" '{"wait":50,"until":"'$long'"}'
	is "$(result status)" '"running"'
	run_bash "echo $long; read <gate" '{"run_in_background":true,"until":"'$long'"}'
	is "$(result status) $(plain stdout)" "\"running\" $long"
}

@test "W3: null for wait and until counts as absent" {
	boris
	run_bash 'echo hi' '{"wait":null,"until":null}'
	is "$(result stdout)" '"hi\n"'
	start_task 'read <gate' '{"wait":null,"until":null}'
	begin
	look "$task" '{"wait":null,"until":null,"new":null}'
	is "$(result status)" '"running"'
	within 3000
}

# --- W4

@test "W4: timeout with run_in_background is the task's deadline" {
	boris
	begin
	start_task 'trap "echo bye; exit 7" TERM; echo hi; read <gate' '{"timeout":500}'
	is "$(result status)" '"running"'
	look "$task" '{"wait":20000}'
	least "$(took)" 490
	within 3000
	is "$(result status) $(result stdout) $(result exit_code)" '"timed_out" "hi\nbye\n" 7'
	is "$(result timed_out)" true
	least "$(result elapsed_ms)" 490
	gone "$pid"
}

@test "W4: a task that ends before its own timeout is completed" {
	boris
	start_task 'echo hi' '{"timeout":60000}'
	look "$task" '{"wait":20000}'
	is "$(result status) $(result stdout) $(result timed_out)" '"completed" "hi\n" '
}

@test "W4: a start that waits is told of its task's timeout" {
	boris
	run_bash 'echo hi; read <gate' '{"run_in_background":true,"timeout":300,"wait":20000}'
	is "$(result status) $(result stdout) $(result timed_out)" '"timed_out" "hi\n" true'
	is "$(result exit_code) $(result signal)" '143 "SIGTERM"'
}

@test "W4: at its timeout a task that ignores SIGTERM is killed after the grace, its children too" {
	hurried
	boris
	begin
	start_task '(trap "" TERM; echo $BASHPID >child; read <gate) & read <gate' '{"timeout":2000}'
	look "$task" '{"wait":60000}'
	least "$(took)" 6500
	within 10000
	is "$(result status)" '"timed_out"'
	gone child
}

@test "W4: of timeout and --bg-timeout the earlier counts, and the result says which" {
	boris --bg-timeout=1
	start_task 'read <gate' '{"timeout":600000}'
	begin
	look "$task" '{"wait":20000}'
	within 5000
	is "$(result status)" '"timed_out"'
	has "$(plain note)" '--bg-timeout'
	begin
	start_task 'read <gate' '{"timeout":300}'
	look "$task" '{"wait":20000}'
	least "$(took)" 290
	is "$(result status) $(result timed_out)" '"timed_out" true'
	most "$(result elapsed_ms)" $((950 * SLOW))
	lacks "$reply" '--bg-timeout'
	[[ $(text) =~ time(out|d out) ]] || fail "$(text)"
}

@test "W4: without timeout a task has no deadline, whatever --timeout says" {
	boris --timeout=1
	start_task 'read <gate; echo hi'
	look "$task" '{"wait":1500}'
	is "$(result status)" '"running"'
	release
	look "$task" '{"wait":10000}'
	is "$(result status) $(result stdout)" '"completed" "hi\n"'
}

@test "W4: a task's timeout above 86400000 counts as that, and a note says so" {
	boris
	for timeout in 86400001 1e18; do
		start_task 'read <gate' '{"timeout":'$timeout'}'
		has "$(plain note)" 86400000
		look
		is "$(result status)" '"running"'
	done
	for timeout in 600001 86400000; do
		start_task 'read <gate' '{"timeout":'$timeout'}'
		lacks "$(plain note)" 86400000
		look
		is "$(result status)" '"running"'
	done
}

@test "W4: a wrong timeout is refused in the background, too" {
	boris
	for value in 0 -1 '"x"' 1.5; do
		run_tool bash '{"command":"touch ran","run_in_background":true,"timeout":'$value'}'
		refused '*timeout*'
	done
	[ ! -e ran ]
}

@test "W3: two hundred waits for a text that nearly comes keep no ping waiting" {
	local i almost
	boris
	almost=$(printf 'a%.0s' {1..999})b
	start_task "yes a | tr -d '\\n'"
	for i in {1..200}; do
		call task_output '{"task_id":"'"$task"'","until":"'"$almost"'"}'
	done
	begin
	ask ping
	within 5000
	run_tool bash '{"kill_pid":'"$pid"'}'
}

@test "O7: a sign of life repeats the last line" {
	hurried
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

@test "W1: a call in the queue says that it waits for the command before it" {
	hurried
	boris
	call_bash 'read <gate'
	first=$id
	call_bash 'echo hi' '{}' '{"progressToken":1}'
	queued=$id
	notice
	is "$(get params message)" '"waits for the command before it"'
	release
	answer $first
	answer $queued
}
