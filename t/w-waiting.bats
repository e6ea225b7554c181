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

@test "W1: progress of a queued call with an absolute cwd names what it waits for (D7)" {
	hurried
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

@test "W1: a call in the queue gives signs of life, counted from when it was read, beside that of the one before it" {
	hurried
	boris
	call_bash 'echo x >first; read <gate' '{}' '{"progressToken":"fg"}'
	first=$id
	begun first
	begin
	call_bash 'echo hi; read <gate' '{}' '{"progressToken":"q"}'
	queued=$id
	for i in 1 2 3 4; do
		notice
		[ "$(get -s params progressToken)" = q ] || { fg=$reply; continue; }
		is "$(get method) $(get params message)" '"notifications/progress" "waiting for the previous command to end"'
		least "$(progress)" $((last + 9000))
		last=$(progress)
	done
	isnt "$fg" ''
	within 35000
	begin
	release
	answer $first
	until [[ $(get -s params message) = hi* ]]; do
		notice
	done
	least "$(progress)" $((last + 1))
	release
	answer $queued
	is "$(result stdout)" '"hi\n"'
	most "$(result elapsed_ms)" "$(took)"
}

@test "W1: a wait for a task, and a start that waits, gives a sign of life" {
	hurried
	boris
	start_task 'read <gate; echo hi'
	for more in '' ',"until":"hi"' ',"new":true' start; do
		begin
		if [ "$more" = start ]; then
			start_waiting 'read <gate; echo hi' '"wait":600000' '{"progressToken":"w"}'
		else
			wait_for '"wait":600000'"$more" '{"progressToken":"w"}'
		fi
		wait=$id
		notice
		is "$(get method) $(get params progressToken)" '"notifications/progress" "w"'
		least "$(took)" 9000
		within 15000
		least "$(progress)" 9000
		[ "$more" = start ] || cancel $wait
	done
	release 2
	answer $wait
	is "$(result status) $(result stdout)" '"completed" "hi\n"'
}

@test "W1: what a task prints while it is waited for is sent, to who gave a token" {
	boris
	start_task 'read <gate; printf "\033[1mone\033[m\n"; read <gate; echo two >&2; read <gate'
	wait_for '"wait":60000'
	silent=$id
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
	answer $silent
	answer $wait
	is "$(result status) $(result stdout) $(result stderr)" '"completed" "one\n" "two\n"'
	is ${#notices[@]} 0
	next_is_ping
}

@test "W2: a start that waits gives the task's end, which is then forgotten; others are served" {
	boris
	start_waiting 'read <gate; echo hi; exit 3' '"wait":60000'
	start=$id
	next_is_ping
	run_bash 'echo meanwhile'
	is "$(result stdout)" '"meanwhile\n"'
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

@test "W2: without new, and with until, what is printed ends no wait" {
	boris
	begin
	start_task 'echo one; read <gate'
	look "$task" '{"wait":1000}'
	least "$(took)" 990
	is "$(result status) $(result stdout)" '"running" "one\n"'
	begin
	start_task 'echo one; read <gate'
	look "$task" '{"new":true,"wait":1200,"until":"two"}'
	least "$(took)" 1190
	is "$(result status) $(result stdout)" '"running" "one\n"'
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

@test "W2: new with wait does not answer while more is being printed" {
	boris
	start_task 'read <gate; until [ -e stop ]; do echo line; done; echo the end; read <gate'
	wait_for '"new":true,"wait":60000'
	wait=$id
	in_turn
	begin
	release
	pause 500
	: >stop
	answer $wait
	least "$(took)" 500
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

@test "W2: wait is bounded and typed, and refused without a task, with check_pid and with kill_pid" {
	boris
	start_task 'read <gate'
	for value in -1 1.5 '"x"' true; do
		run_tool bash '{"command":"touch ran","run_in_background":true,"wait":'$value'}'
		refused '*wait*600000*'
		look "$task" '{"wait":'$value'}'
		refused '*wait*600000*'
	done
	for argument in '"wait":1000' '"until":"x"'; do
		for call in check_pid kill_pid; do
			run_tool bash '{"'$call'":'"$pid,$argument}"
			refused 'wait and until cannot be used with check_pid or kill_pid; use task_output*'
		done
	done
	for more in '' ',"run_in_background":false'; do
		run_bash 'touch ran' '{"wait":1000'$more'}'
		refused 'wait requires run_in_background: true*'
	done
	release
	look "$task" '{"wait":700000}'
	is "$(result status)" '"completed"'
	run_bash true '{"run_in_background":true,"wait":6e5}'
	is "$(result status)" '"completed"'
	[ ! -e ran ]
}

@test "W3: a command with until starts in the background without run_in_background" {
	boris
	for more in '' ',"run_in_background":false'; do
		run_bash 'echo ready; read <gate' '{"until":"ready"'$more'}'
		is "$(plain status) $(plain stdout)" 'running ready'
		isnt "$(plain task_id)" ''
		release
		look "$(plain task_id)" '{"wait":10000}'
		is "$(result status)" '"completed"'
	done
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

@test "W2: a start that waits in the queue waits from its own start, and can be cancelled there" {
	boris
	call_bash 'echo x >first; read <gate'
	first=$id
	begun first
	start_waiting 'touch ran' '"wait":60000'
	queued=$id
	cancel $queued
	start_waiting 'read <gate' '"wait":500'
	start=$id
	pause 700
	begin
	release
	answer $start
	least "$(took)" 490
	is "$(result status)" '"running"'
	leave
	unanswered $queued
	[ ! -e ran ]
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

@test "W3: until is seen at once in what was printed before the call and since the last look, however much" {
	boris
	start_task 'echo READY; seq 100000; echo x >done; read <gate'
	printed done
	begin
	look "$task" '{"wait":600000,"until":"READY"}'
	within 5000
	is "$(result status) $(result note)" '"running" '
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
	has "$(plain note)" 'not printed since the last read: ready'
	release
	answer $waiting
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
	has "$(plain note)" 'not printed: ab'
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

@test "W3: until is a string of 1 to 1000 characters in one line" {
	boris
	start_task 'echo hi; read <gate'
	long=$(yes é | head -n 1000 | tr -d '\n')
	for value in 5 true '["x"]' '"a\nb"' '"\n"' "\"${long}x\""; do
		look "$task" '{"until":'"$value"'}'
		refused '*until*'
		run_tool bash '{"command":"touch ran","run_in_background":true,"until":'"$value"'}'
		refused '*until*'
	done
	[ ! -e ran ]
	look "$task" '{"wait":50,"until":"'$long'"}'
	is "$(result status)" '"running"'
	run_bash "echo $long; read <gate" '{"run_in_background":true,"until":"'$long'"}'
	is "$(result status) $(plain stdout)" "\"running\" $long"
}

@test "W4: timeout with run_in_background is the task's deadline, of which a start that waits is told" {
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
	run_bash 'echo hi; read <gate' '{"run_in_background":true,"timeout":300,"wait":20000}'
	is "$(result status) $(result stdout) $(result timed_out)" '"timed_out" "hi\n" true'
	is "$(result exit_code) $(result signal)" '143 "SIGTERM"'
	start_task 'echo hi' '{"timeout":60000}'
	look "$task" '{"wait":20000}'
	is "$(result status) $(result stdout) $(result timed_out)" '"completed" "hi\n" '
}

@test "W4: of timeout and --bg-timeout the earlier counts, and the result says which" {
	boris --bg-timeout=3
	start_task 'read <gate' '{"timeout":600000}'
	begin
	look "$task" '{"wait":20000}'
	within 8000
	is "$(result status)" '"timed_out"'
	has "$(plain note)" '--bg-timeout'
	begin
	start_task 'read <gate' '{"timeout":300}'
	look "$task" '{"wait":20000}'
	least "$(took)" 290
	is "$(result status) $(result timed_out)" '"timed_out" true'
	most "$(result elapsed_ms)" $((2900 * SLOW))
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

@test "W4: a task's timeout above 86400000 counts as that, and a note says so; a wrong one is refused" {
	boris
	for timeout in 86400001 1e18 86400000; do
		start_task 'read <gate' '{"timeout":'$timeout'}'
		notes=$(plain note)
		[ $timeout = 86400000 ] && lacks "$notes" 86400000 || has "$notes" 86400000
		look
		is "$(result status)" '"running"'
	done
	for value in -1 '"x"' 1.5; do
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

@test "O7: the progress of a wait for any task says what it waits for" {
	hurried
	boris
	start_task 'read <gate'
	call task_output '{"wait":60000}' '{"progressToken":1}'
	notice
	isnt "$(get params message)" '""'
	release
	answer
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
