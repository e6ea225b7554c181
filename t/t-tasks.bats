#!/usr/bin/env bats
# T: background tasks
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# ended [TASK]: waits for the end of a task without looking at it
ended() {
	eventually reaped "$pid"
}

# listed: task_output without an id
listed() {
	run_tool task_output '{}'
}

@test "T1: run_in_background returns at once, with task_id and pid; a task's stdin is empty" {
	boris
	begin
	start_task 'cat; echo $? $$ >pid; read <gate'
	within 2000
	is "$(result status)" '"running"'
	begun pid
	is "0 $pid" "$(cat pid)"
	is "$(result exit_code)$(result cwd)" ''
}

@test "T1: a task id is random" {
	for i in 1 2; do
		boris
		for j in 1 2 3; do
			start_task true
			echo "$task" >>ids
		done
		leave
	done
	is "$(sort -u ids | wc -l | tr -d ' ')" 6
	while read -r task; do
		like "$task" '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'
	done <ids
	mapfile -t ids < <(sed 's/^/0x/' ids)
	isnt $(((ids[1] - ids[0]) & 0xffffffff)) $(((ids[2] - ids[1]) & 0xffffffff))
	# No counter in it: the first halves differ as well.
	least "$(cut -c 1-4 ids | sort -u | wc -l | tr -d ' ')" 5
}

@test "T1: a task id is random where there is no /dev too" {
	needs_root
	needs_linux_parts
	needs unshare
	needs_plain
	unshare -m true || skip 'no mount namespaces here'
	wrap=(unshare -m sh -c 'mount -t tmpfs none /dev && exec "$@"' sh)
	for i in 1 2; do
		boris
		run_bash 'ls -A /dev; cat; echo hi'
		is "$(result stdout)" '"hi\n"'
		start_task 'cat; echo there'
		echo "$task" >>ids
		leave
	done
	is "$(sort -u ids | wc -l | tr -d ' ')" 2
}

@test "T2: ten tasks run at a time; the eleventh is refused, with what the ten run" {
	boris
	ids=() pids=()
	for i in 1 2 3 4 5 6 7 8 9 10; do
		start_task "read <gate; : number $i; : $(head -c 5000 /dev/zero | tr '\0' x)"
		ids+=("$task")
		pids+=("$pid")
	done
	run_bash 'touch ran' '{"run_in_background":true}'
	refused 'the command was not started, because 10 background tasks are running, which is the maximum; stop one with kill_pid, or wait until one ends
*'
	get -s result content 0 text >said
	for i in 1 2 3 4 5 6 7 8 9 10; do
		line=$(grep -F "${ids[i - 1]}" said)
		has "$line" "${pids[i - 1]}"
		has "$line" "read <gate; : number $i;"
		# How long it has run
		[[ $line =~ [^a-z0-9][0-9.]+' '?(ms|s|min) ]] || fail "$line"
	done
	most "$(wc -c <said)" 4000
	[ ! -e ran ]
}

@test "T2: when one of ten tasks ends another may start; finished tasks do not count" {
	boris
	for i in 1 2 3 4 5 6 7 8 9; do
		start_task 'read <gate'
	done
	for i in 1 2; do
		start_task true
		ended
	done
	start_task 'echo x >last; read <never'
	run_bash true '{"run_in_background":true}'
	refused '*10*'
	run_tool bash '{"kill_pid":'"$pid"'}'
	start_task 'read <gate'
}

@test "T1: a task that ends before its start is answered can be read" {
	boris
	for i in {1..20}; do
		start_task "echo $i"
		look "$task" '{"wait":10000}'
		is "$(result status) $(plain stdout)" "\"completed\" $i"
	done
}

@test "T2: the last ten finished and unread are kept; the one that ended first is forgotten" {
	boris
	start_task 'read <gate; echo long'
	long=$task long_pid=$pid
	ids=()
	for i in 0 1 2 3 4 5 6 7 8 9; do
		start_task "echo $i"
		ended
		ids+=("$task")
	done
	release
	pid=$long_pid
	ended
	in_turn
	look "${ids[0]}"
	refused "task not found: ${ids[0]}*"
	listed
	is "$(get -n result structuredContent tasks)" 10
	for i in 1 2 3 4 5 6 7 8 9; do
		look "${ids[i]}"
		is "$(result stdout)" "\"$i\\n\""
	done
	look "$long"
	is "$(result stdout)" '"long\n"'
}

@test "T3: a look at a task that runs shows the output so far" {
	boris
	start_task 'echo one; echo err >&2; echo x >a; read <gate; echo two'
	printed a
	look
	is "$(result status) $(result stdout) $(result stderr)" '"running" "one\n" "err\n"'
	like "$(text)" '"status: running\\n*'
	has "$(text)" 'stdout:\none\n'
	is "$(result exit_code)" ''
	is "$(plain task_id) $(result pid)" "$task $pid"
}

@test "T3: a look shows all that was printed before it was asked for" {
	boris
	start_task 'read <gate; echo hi; echo x >a; read <gate'
	settled true # so that it is stopped while it waits
	kill -STOP "$server"
	release
	begun a
	call task_output '{"task_id":"'"$task"'"}'
	kill -CONT "$server"
	answer
	is "$(result stdout)" '"hi\n"'
}

@test "T3: a look at a task that has ended shows all its output and its exit code, once" {
	boris
	start_task 'echo one; exit 3'
	look "$task" '{"wait":10000}'
	is "$(result status) $(result stdout) $(result exit_code)" '"completed" "one\n" 3'
	is "$(text)" '"status: completed\nexit_code: 3\ntask_id: '"$task"'\n\nstdout:\none\n"'
	is "$(get result isError)" false
	look
	refused "task not found: $task*"
	start_task 'kill -KILL $$'
	look "$task" '{"wait":10000}'
	is "$(result status) $(result exit_code) $(result signal)" '"completed" 137 "SIGKILL"'
}

@test "T3: a look at a task that has printed nothing says so, and so does its end" {
	boris
	start_task 'read <gate'
	look
	like "$(text)" '*\(no output\)"'
	is "$(result stdout) $(result stderr)" '"" ""'
	release
	look "$task" '{"wait":10000}'
	like "$(text)" '"status: completed\\n*\(no output\)"'
}

@test "T3: a look at a task that runs shows the last 10,000 characters, whole lines, whatever its start said" {
	boris
	for more in '"truncate":"head"' '"truncate":"tail"' '"truncate":"both"' '"limit":100000'; do
		start_task 'seq 20000; echo x >a; read <gate' "{$more}"
		printed a
		look
		last=$(seq 20000 | tail -c 10000 | tail -n +2)
		is "$(plain stdout | sed '$d')" "$last"
		has "$(plain stdout)" "[stdout: showing last $(wc -l <<<"$last" | tr -d ' ') of 20000 lines; full output: $(plain stdout_file)]"
		is "$(result stdout_chars)" "$(seq 20000 | wc -c | tr -d ' ')"
		release
		ended
		rm a
	done
}

# ends_in BYTES: what is shown of `seq 20000` is its last lines, in so
# many bytes at most, and the truncation line
ends_in() {
	local last
	last=$(seq 20000 | tail -c "$1" | tail -n +2)
	is "$(plain stdout | sed '$d')" "$last"
	has "$(plain stdout)" "[stdout: showing last $(wc -l <<<"$last" | tr -d ' ') of 20000 lines;"
}

@test "T3: truncate and limit of task_output say how the output of a task that has ended is cut" {
	boris
	for how in head tail both; do
		start_task 'seq 20000'
		look "$task" '{"wait":10000,"truncate":"'$how'","limit":3000}'
		plain stdout | sed '/^\[stdout/d' >"got.$how"
		run_bash 'seq 20000' '{"truncate":"'$how'","limit":3000}'
		is "$how: $(plain stdout | sed '/^\[stdout/d')" "$how: $(cat "got.$how")"
	done
	start_task 'seq 20000'
	look "$task" '{"wait":10000,"truncate":"tail"}'
	is "$(plain stdout | sed '$d')" "$(seq 20000 | tail -n 2000)"
	start_task 'seq 20000' '{"truncate":"tail","limit":50000}'
	look "$task" '{"wait":10000,"limit":2000}'
	ends_in 2000
}

@test "T3: truncate and limit of task_output, check_pid and kill_pid say how the output of a task that runs is cut" {
	boris
	start_task 'seq 20000; echo x >a; read <gate'
	printed a
	look "$task" '{"limit":2000}'
	ends_in 2000
	look "$task" '{"limit":20000}'
	ends_in 20000
	look "$task" '{"truncate":"tail"}'
	is "$(plain stdout | sed '$d')" "$(seq 20000 | tail -n 2000)"
	look "$task" '{"truncate":"head"}'
	is "$(plain stdout | head -c 30000)" "$(seq 20000 | head -c 30000)"
	run_tool bash '{"check_pid":'"$pid"',"limit":2000}'
	ends_in 2000
	look
	ends_in 10000
	start_task 'seq 20000; echo x >b; read <gate'
	printed b
	run_tool bash '{"kill_pid":'"$pid"',"limit":2000}'
	ends_in 2000
	release
}

@test "T3: with a limit above what was kept of a task less is shown, and the file has it all" {
	boris
	for how in head tail both; do
		start_task 'yes é | head -n 90000 | tr -d "\n"; echo'
		look "$task" '{"wait":10000,"limit":100000,"truncate":"'$how'"}'
		is "$(grep -c '^\[stdout.*full output: /' <<<"$(plain stdout)")" 1
		is "$(wc -c <"$(plain stdout_file)" | tr -d ' ')" 180001
	done
}

@test "T3: a look at a task that runs shows 10,000 characters whole, and the end of a longer line" {
	boris
	start_task 'yes é | head -n 10000 | tr -d "\n"; echo x >a; read <gate; printf x; echo x >b; read <gate'
	printed a
	look
	is "$(get -n result structuredContent stdout) $(result stdout_chars)" '10000 '
	release
	printed b
	look
	is "$(plain stdout | head -n 1 | wc -c | tr -d ' ')" 20000
	has "$(plain stdout)" 'éx
[stdout: showing last 1 of 1 lines (its last 19999 bytes); full output: /'
}

@test "T3: a look with new is bounded as a plain one is" {
	boris
	start_task 'echo first; echo x >a; read <gate; seq 20000; echo x >b; read <gate'
	printed a
	look "$task" '{"new":true}'
	release
	printed b
	look "$task" '{"new":true}'
	last=$(seq 20000 | tail -c 10000 | tail -n +2)
	is "$(plain stdout | sed '$d')" "$last"
	has "$(plain stdout)" ' of 20000 lines; full output: /'
	is "$(result stdout_chars)" 108900
	has "$(plain stdout)" "; full output: $(plain stdout_file)]"
}

@test "T3: a look with wait is answered when the task ends, or has, or when the time is up; others are served" {
	boris
	start_task 'read <gate; echo hi'
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	wait=$id
	next_is_ping
	run_bash 'echo meanwhile'
	is "$(result stdout)" '"meanwhile\n"'
	begin
	release
	answer $wait
	within 1000
	is "$(result status) $(result stdout)" '"completed" "hi\n"'
	start_task 'exit 3'
	ended
	look "$task" '{"wait":60000}'
	is "$(result exit_code)" 3
	start_task 'read <gate'
	look "$task" '{"wait":0}'
	is "$(result status)" '"running"'
	within 5000
	begin
	look "$task" '{"wait":200}'
	least "$(took)" 190
	within 2000
	is "$(result status)" '"running"'
}

@test "T3: a cancelled wait ends only the wait" {
	boris
	start_task 'read <gate; echo hi'
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	wait=$id
	in_turn
	cancel $wait
	look
	is "$(result status)" '"running"'
	release
	look "$task" '{"wait":10000}'
	is "$(result status) $(result stdout)" '"completed" "hi\n"'
	leave
	unanswered $wait
}

@test "T3: new gives only what was printed since the last look; a plain look and check_pid count as looks" {
	boris
	start_task 'echo one; echo x >a; read <gate; echo two; echo e >&2; echo x >b; read <gate; echo three; echo x >c; read <gate; echo four'
	printed a
	look "$task" '{"new":true}'
	is "$(result stdout)" '"one\n"'
	like "$(text)" '*stdout:\\none\\n*'
	look "$task" '{"new":true}'
	is "$(result stdout)" '""'
	like "$(text)" '*\(no new output\)"'
	release
	printed b
	look "$task" '{"new":true}'
	is "$(result stdout) $(result stderr)" '"two\n" "e\n"'
	release
	printed c
	run_tool bash '{"check_pid":'"$pid"'}'
	is "$(result stdout)" '"one\ntwo\nthree\n"'
	look
	release
	look "$task" '{"new":true,"wait":10000}'
	is "$(result status) $(result stdout) $(result stderr)" '"completed" "four\n" ""'
}

@test "T1, T4: check_pid is task_output by pid; kill_pid, check_pid and task_id each take an id or a pid" {
	boris
	start_task 'echo one; echo x >a; read <gate; echo two; exit 3'
	printed a
	run_tool bash '{"check_pid":'"$pid"'}'
	is "$(result status) $(result stdout) $(plain task_id)" "\"running\" \"one\\n\" $task"
	release
	ended
	run_tool bash '{"check_pid":'"$pid"'}'
	is "$(result status) $(result stdout) $(result exit_code)" '"completed" "one\ntwo\n" 3'
	run_tool bash '{"check_pid":'"$pid"'}'
	refused "no background process with pid $pid*"
	look
	refused "task not found: $task*"
	start_task 'echo hi; read <gate'
	printed() { run_tool bash '{"check_pid":"'"$task"'"}' && [ "$(result stdout)" = '"hi\n"' ]; }
	eventually printed
	for value in "$pid" '"'"$pid"'"'; do
		run_tool task_output '{"task_id":'"$value"'}'
		is "$(result stdout)" '"hi\n"'
	done
	run_tool bash '{"kill_pid":"'"$task"'"}'
	is "$(result status)" '"killed"'
}

@test "T4: kill_pid ends the group gently, and gives the last output" {
	boris
	start_task 'trap "rm lock; echo bye; exit 7" TERM; echo x >lock; sleep 600 & echo $! >child; echo hi; echo x >a; read <gate'
	printed a
	begin
	run_tool bash '{"kill_pid":'"$pid"'}'
	within 3000
	is "$(result status) $(result stdout) $(result exit_code)" '"killed" "hi\nbye\n" 7'
	like "$(text)" '"status: killed\\n*'
	[ ! -e lock ]
	eventually gone "$pid"
	gone child
	look
	refused "task not found: $task*"
	run_tool bash '{"kill_pid":'"$pid"'}'
	refused "no background process with pid $pid*"
}

@test "T4: a task that ignores SIGTERM is killed after the grace, others being served meanwhile" {
	hurried
	boris
	start_task '(trap "" TERM; echo $BASHPID >child; read <gate) & trap "" TERM; echo hi; echo x >a; read <gate'
	printed a child
	begin
	call bash '{"kill_pid":'"$pid"'}'
	kill=$id
	next_is_ping
	there "$pid"
	answer $kill
	least "$(took)" 4500
	within 8000
	is "$(result status) $(result stdout) $(result exit_code)" '"killed" "hi\n" 137'
	is "$(result signal)" '"SIGKILL"'
	eventually gone "$pid"
	gone child
	look
	refused "task not found: $task*"
}

@test "T4: kill_pid shows what is new, as a look does" {
	boris
	start_task 'seq 20000; echo x >a; read <gate'
	printed a
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(result status)" '"killed"'
	has "$(plain stdout)" $'\n19999\n20000\n[stdout: showing last '
	most "$(get -n result structuredContent stdout)" 10300
	start_task 'echo one; echo x >begun; read <gate'
	begun begun
	look
	is "$(result stdout)" '"one\n"'
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(result status) $(result stdout)" '"killed" ""'
}

@test "T4: kill_pid of a task that has ended gives its output, completed" {
	boris
	start_task 'echo hi; exit 3'
	ended
	in_turn
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(result status) $(result stdout) $(result exit_code)" '"completed" "hi\n" 3'
	look
	refused "task not found: $task*"
}

@test "T4: waits for a task that is killed get the same result" {
	boris
	call_bash 'trap "echo bye; exit 7" TERM; echo hi; echo $$ >pid; read <gate' \
		'{"run_in_background":true,"wait":60000}'
	start=$id
	printed pid
	run_tool task_output '{}'
	task=$(plain tasks 0 task_id)
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	wait=$id
	call task_output '{"task_id":"'"$task"'","until":"never"}'
	until=$id
	in_turn
	run_tool bash '{"kill_pid":'"$(cat pid)"'}'
	killed="$(result status) $(result exit_code) $(result stdout)"
	is "$killed" '"killed" 7 "hi\nbye\n"'
	for id in $start $wait $until; do
		begin
		answer
		within 3000
		is "$(result status) $(result exit_code) $(result stdout)" "$killed"
	done
}

@test "T4: waits for what is new of a task that is killed get the same result" {
	boris
	start_task 'trap "echo bye; exit 7" TERM; echo hi; echo $$ >begun; read <gate'
	printed begun
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	wait=$id
	look "$task" '{"new":true}'
	is "$(result stdout)" '"hi\n"'
	call task_output '{"task_id":"'"$task"'","new":true,"wait":60000}'
	new=$id
	call bash '{"kill_pid":'"$pid"'}'
	for id in $new $wait $id; do
		begin
		answer
		within 3000
		has "$(plain stdout)" bye
	done
}

@test "T7: a list with wait comes as soon as one task has ended" {
	boris
	run_tool task_output '{"wait":60000}'
	is "$(text)" '"no tasks"'
	start_task 'read <gate'
	start_task 'read <never'
	begin
	call task_output '{"wait":60000}'
	waiting=$id
	in_turn
	release
	answer $waiting
	within 5000
	has "$(text)" 'completed'
}

@test "T7: the list names the command in the foreground and how many wait for it" {
	boris
	start_task 'read <never'
	call_bash 'echo x >begun; read <gate'
	begun begun
	first=$id
	call_bash true
	second=$id
	listed
	like "$(text)" '*in the foreground: echo x >begun; read <gate, for * s; calls waiting for it: 1"'
	is "$(get -n result structuredContent tasks)" 1
	release
	answer $first
	answer $second
}

@test "T7: the list names the commands with an absolute cwd, for which none waits (D7)" {
	boris
	call_bash 'echo x >begun; read <gate'
	begun begun
	call_bash true
	call_bash "echo x >'$PWD/other'; read <'$PWD/gate'" '{"cwd":"/"}'
	last=$id
	begun other
	listed
	has "$(text)" 'in the foreground: echo x >begun; read <gate, for '
	like "$(text)" "*in the foreground: echo x >'$PWD/other'; read <'$PWD/gate', for [0-9.]* s\""
	is "$(grep -o 'calls waiting for it: 1' <<<"$(text)")" 'calls waiting for it: 1'
	release 2
	answer $last
}

@test "T8: the next result, a refusal too, tells once that a task has ended" {
	boris
	start_task 'exit 3' '{"description":"the tests"}'
	eventually gone "$pid"
	in_turn
	run_bash 'echo hi'
	is "$(plain note)" "task $task ended with exit code 3 (the tests)"
	run_bash 'echo hi'
	is "$(result note)" ''
	look
	is "$(result exit_code)" 3
	start_task 'exit 3'
	eventually gone "$pid"
	in_turn
	run_bash true '{"timeout":-1}'
	refused '*timeout*note: task '"$task"' ended with exit code 3 (exit 3)'
	run_bash true
	is "$(result note)" ''
}

@test "T8: of five tasks that have ended three are told, and the rest next" {
	boris
	local i
	for i in 1 2 3 4 5; do
		start_task 'read <gate'
		pids="$pids $pid"
	done
	release 5
	for pid in $pids; do
		eventually gone "$pid"
	done
	in_turn
	run_bash true
	is "$(plain note | grep -o ' ended with' | wc -l)" 3
	has "$(plain note)" '2 more tasks ended'
	run_bash true
	is "$(plain note | grep -o ' ended with' | wc -l)" 2
}

@test "T1: if no random number is available for the id, the error says so" {
	needs_root
	needs unshare nsenter strace pgrep
	[ -e /dev/urandom ] || skip 'no /dev/urandom here'
	strace -o /dev/null true || skip 'nothing can be traced here'
	wrap=(unshare -m env ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null
		-e inject=getrandom:error=ENOSYS)
	"${wrap[@]}" true || skip 'no mount namespaces here'
	boris
	nsenter -t "$server" -m mount --bind /dev/null /dev/urandom
	run_bash true '{"run_in_background":true}'
	refused '*no random number*'
	nsenter -t "$server" -m umount /dev/urandom
	start_task true
}

# ended_task: starts a task that has ended when the server reads what follows
ended_task() {
	start_task 'exit 3'
	eventually gone "$pid"
	in_turn
}

# told_once: the error reports the end of $task, and the next result does not
told_once() {
	refused "*note: task $task ended with exit code 3 (exit 3)"
	run_bash true
	is "$(result note)" ''
}

@test "T8: an error about a full log tells that a task has ended" {
	needs prlimit
	boris --log=log
	ended_task
	prlimit --pid "$server" --fsize=1:unlimited
	run_bash 'echo hi'
	prlimit --pid "$server" --fsize=unlimited:unlimited
	refused 'nothing was done: cannot write the log*'
	told_once
}

@test "T8: input that cannot be recorded tells that a task has ended" {
	needs prlimit
	boris --log=log
	on_terminal 'read x'
	typist=$task
	ended_task
	prlimit --pid "$server" --fsize=1:unlimited
	run_tool bash '{"task_id":"'"$typist"'","input":"x"}'
	prlimit --pid "$server" --fsize=unlimited:unlimited
	refused 'nothing was done: cannot write the log*'
	told_once
}

@test "T8: input into a task without a terminal tells that a task has ended" {
	boris
	start_task 'read <gate'
	reader=$task
	ended_task
	run_tool bash '{"task_id":"'"$reader"'","input":"x"}'
	refused 'nothing was typed*'
	told_once
}

@test "T8: an error about an unknown task tells once that a task has ended" {
	boris
	ended_task
	run_tool task_output '{"task_id":"nothing"}'
	told_once
}

@test "T8: the end of a task is told even if the directory's name fills the result" {
	dir=$PWD$(printf "/%0200d" {1..13})
	mkdir -p "$dir"
	boris --result-limit=2000
	ended_task
	run_bash "cd '$dir'; echo hi"
	has "$(text)" "task $task ended with exit code 3 (exit 3)"
	has "$(text)" 'hi\n'
	most "$(get -s result content 0 text | wc -c)" 2000
}

@test "T4: a second SIGTERM is for foreground commands alone" {
	boris
	start_task 'trap "echo x >>got; sleep 0.1; exit" TERM; echo x >begun; while :; do read -t 1 <>never; done'
	begun begun
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(result stderr)" '""'
	is "$(wc -l <got | tr -d ' ')" 1
}

@test "T4: a task that is killed twice has been killed" {
	boris
	start_task '(trap "" TERM; echo $BASHPID >child; read <gate) & echo x >a; read <gate; :'
	printed a child
	call bash '{"kill_pid":'"$pid"'}'
	first=$id
	eventually gone "$pid"
	call bash '{"kill_pid":'"$pid"'}'
	for id in $first $id; do
		answer
		is "$(result status) $(result exit_code) $(result note)" '"killed" 143 '
	done
}

@test "T4: an unknown pid, 0 or a negative one is an error, and is not signalled" {
	boris
	start_task 'read <gate'
	sleep 600 3>&- 6>&- 7>&- 8>&- 9>&- &
	mine=$!
	for what in check_pid kill_pid; do
		for number in 1 $mine $$ $server 999999999; do
			run_tool bash '{"'$what'":'$number'}'
			refused "no background process with pid $number*"
		done
		for number in 0 -1 -"$pid" 4294967296 "$((pid + 4294967296))"; do
			run_tool bash '{"'$what'":'$number'}'
			refused '*pid*'
		done
		run_tool bash '{"'$what'":"nosuch00"}'
		refused '@(task not found: |no background process with pid )nosuch00*'
	done
	there $mine
	there "$server"
	kill $mine
	look
	is "$(result status)" '"running"'
}

@test "T4: the pid of a foreground command, or of one left behind, is unknown" {
	boris
	run_bash 'sleep 600 & echo $! >child; echo $$ >leader'
	call_bash 'echo $$ >pid; read <gate'
	long=$id
	begun pid
	listed
	is "$(result tasks)" '[]'
	for file in child leader pid; do
		run_tool bash '{"kill_pid":'"$(cat $file)"'}'
		refused "no background process with pid $(cat $file)*"
	done
	there pid
	there child
	release
	answer $long
	is "$(result exit_code)" 0
}

@test "T5: a task older than --bg-timeout is terminated, one that ends in time is completed" {
	boris --bg-timeout=1
	start_task 'echo hi'
	early=$task
	ended
	begin
	start_task 'trap "echo bye; exit 7" TERM; echo hi; read <gate'
	look "$task" '{"wait":20000}'
	least "$(took)" 800
	is "$(result status) $(result stdout) $(result exit_code)" '"timed_out" "hi\nbye\n" 7'
	is "$(result timed_out)" true
	eventually gone "$pid"
	look "$early"
	is "$(result status) $(result stdout) $(result timed_out)" '"completed" "hi\n" '
}

@test "T5: a task that ignores SIGTERM is killed 5 s later, its children too" {
	hurried
	boris --bg-timeout=5
	begin
	start_task '(trap "" TERM; echo $BASHPID >child; read <gate) & read <gate'
	look "$task" '{"wait":60000}'
	least "$(took)" 9500
	within 13000
	is "$(result status)" '"timed_out"'
	gone child
}

@test "T5: for a command handed over the limit counts from the hand-over" {
	boris --bg-timeout=1 --on-timeout=background
	begin
	run_bash 'read <gate' '{"timeout":600}'
	is "$(result status)" '"running"'
	look "$(plain task_id)" '{"wait":20000}'
	is "$(result status)" '"timed_out"'
	least "$(took)" 1600
}

@test "T6: a task is not blocked on a full pipe while nobody asks, and its file has all of it" {
	boris
	start_task 'seq 400000 | tee copy; head -c 1000000 /dev/zero | tr "\0" b >&2; echo x >done; read <gate'
	printed done
	look
	is "$(result stdout_chars) $(result stderr_chars)" "$(wc -c <copy) 1000000"
	cmp copy "$(plain stdout_file)"
	release
	look "$task" '{"wait":10000}'
	cmp copy "$(plain stdout_file)"
}

@test "T6: ten tasks that flood cost bounded memory, and others are answered" {
	needs_plain
	boris
	run_bash true
	before=$(peak)
	for i in 1 2 3 4 5 6 7 8 9 10; do
		start_task "yes | head -c 4000000; yes \$(seq 100) | head -c 4000000 >&2; echo x >done$i; read <gate"
	done
	next_is_ping
	begun done{1,2,3,4,5,6,7,8,9,10}
	most "$(peak)" $((before + 20 * 290))
}

# row TASK STEP: what the list has there about that task, as JSON
row() {
	local i n
	n=$(get -n result structuredContent tasks)
	for ((i = 0; i < n; i++)); do
		[ "$(plain tasks $i task_id)" = "$1" ] || continue
		result tasks $i "$2" || :
		return
	done
	fail "not listed: $1"
}

@test "T7: without a task the list is empty, and the text says so; it takes no other argument" {
	boris
	listed
	is "$(text) $(result)" '"no tasks" {"tasks":[]}'
	is "$(get result isError)" false
	run_tool task_output '{"task_id":null,"wait":null,"until":null,"new":null}'
	is "$(text) $(result tasks)" '"no tasks" []'
	ask tools/call '{"name":"task_output"}'
	is "$(text)" '"no tasks"'
	for argument in '"until":"x"' '"new":true'; do
		run_tool task_output "{$argument}"
		refused '*task_id*'
	done
	run_tool task_output '{"limit":2000,"truncate":"tail"}'
	is "$(text)" '"no tasks"'
}

@test "T7: the tasks running and unread are listed, the fields of each in order" {
	boris
	start_task 'read <gate; echo one' '{"description":"Waits for the gate"}'
	one=$task one_pid=$pid
	start_task 'echo two; exit 3'
	two=$task two_pid=$pid
	ended
	in_turn
	listed
	is "$(get -n result structuredContent tasks)" 2
	is "$(row $one pid) $(row $one status) $(row $one exit_code)" "$one_pid \"running\" "
	is "$(row $one description)" '"Waits for the gate"'
	is "$(get -k result structuredContent) $(get -k result structuredContent tasks 0 | xargs)" \
		'tasks task_id pid status elapsed_ms description command'
	is "$(get -k result structuredContent tasks 1 | xargs)" \
		'task_id pid status elapsed_ms exit_code command'
	is "$(row $one command)" '"read <gate; echo one"'
	least "$(row $one elapsed_ms)" 0
	is "$(row $two pid) $(row $two status) $(row $two exit_code)" "$two_pid \"completed\" 3"
	is "$(row $two description)" ''
	is "$(row $two command)" '"echo two; exit 3"'
	is "$(result status)" ''
}

@test "T7: the text has a line for each task" {
	boris
	for i in 1 2 3; do
		start_task $'read <gate\n: '$i '{"description":"number\n'$i'"}'
		echo "$task $pid" >>ids
	done
	start_task 'exit 213'
	echo "$task $pid" >>ids
	ended
	in_turn
	listed
	get -s result content 0 text >said
	echo >>said
	while read -r task pid; do
		line=$(grep -F "$task" said)
		is "$(wc -l <<<"$line" | tr -d ' ')" 1
		has "$line" "$pid"
		has "$line" "$(row $task status | tr -d '"')"
	done <ids
	is "$(grep -c . said)" 4
	has "$line" 213
}

@test "T7: of a long command or description the first 200 characters are shown, none cut in half" {
	boris
	long=": $(yes é | head -n 300 | tr -d '\n')"
	start_task "$long; read <gate"
	listed
	is "$(get -n result structuredContent tasks 0 command)" 200
	is "$(plain tasks 0 command)" ": $(yes é | head -n 198 | tr -d '\n')"
	long=$(printf 'é%.0s' {1..300})
	start_task 'read <gate' '{"description":"'"$long"'"}'
	start_task 'echo "hi"; read <gate' '{"description":"say \"hi\""}'
	run_tool task_output '{}'
	is "$(plain tasks 1 description)" "${long:0:400}"
	has "$(text)" "  ${long:0:400}: read"
	has "$(get -s result content 0 text)" 'say "hi": echo "hi"; read'
	release
}

@test "T7: the list reads nothing: it is no look, and what has ended stays" {
	boris
	start_task 'echo one; echo x >a; read <gate'
	running=$task
	printed a
	start_task 'echo two'
	ended
	in_turn
	listed
	listed
	is "$(get -n result structuredContent tasks)" 2
	look $running '{"new":true}'
	is "$(result stdout)" '"one\n"'
	look
	is "$(result status) $(result stdout)" '"completed" "two\n"'
	listed
	is "$(get -n result structuredContent tasks) $(plain tasks 0 task_id)" "1 $running"
}

@test "T7: a task whose end a look, check_pid or kill_pid has shown is listed no more" {
	boris
	start_task true
	look "$task" '{"wait":10000}'
	start_task true
	ended
	in_turn
	run_tool bash '{"check_pid":'"$pid"'}'
	start_task 'read <gate'
	run_tool bash '{"kill_pid":'"$pid"'}'
	listed
	is "$(result tasks)" '[]'
}

@test "T7: a task that has timed out, and one handed over, are listed as such" {
	boris --on-timeout=background
	start_task 'read <gate' '{"timeout":50}'
	timed=$task
	ended
	in_turn
	run_bash 'read <gate' '{"timeout":50}'
	handed=$(plain task_id)
	listed
	is "$(row $timed status) $(row $timed exit_code)" '"timed_out" 143'
	is "$(row $handed status) $(row $handed command)" '"running" "read <gate"'
}

@test "T7: ten running and ten unread are all listed" {
	boris
	for i in 1 2 3 4 5 6 7 8 9 10; do
		start_task true
		ended
	done
	for i in 1 2 3 4 5 6 7 8 9 10; do
		start_task 'read <gate'
	done
	in_turn
	listed
	is "$(get -n result structuredContent tasks)" 20
	is "$(result | tr , '\n' | grep -c '"status":"running"')" 10
}

@test "W1: a wait is shown what is new since the last look, not what that has shown" {
	boris
	start_task 'echo one; echo x >a; read <gate; echo two; read <gate'
	printed a
	look
	call task_output '{"task_id":"'"$task"'","wait":60000}' '{"progressToken":1}'
	wait=$id
	in_turn
	release
	notice
	is "$(get params message)" '"two\n"'
	cancel $wait
}

@test "W3: until is seen in what a task printed at its very end" {
	boris
	start_task 'echo ready; echo steady >&2'
	finished() {
		run_tool task_output '{}'
		[ "$(result tasks 0 status)" = '"completed"' ]
	}
	eventually finished
	look "$task" '{"wait":1000,"until":"steady"}'
	is "$(result status) $(result note)" '"completed" '
}

@test "P6: ten tasks that overwrite long lines with other widths hold nobody up" {
	needs awk
	boris
	for i in {1..10}; do
		start_task 'exec awk "BEGIN { for (i = 0; i < 15000; i++) { a = a \"\303\251\"; b = b \"a\" }
			for (;;) printf \"%s\\r%s\\r\", a, b }"'
	done
	for i in {1..10}; do
		begin
		in_turn
		within 1000
	done
}

@test "T1: a task has PYTHONUNBUFFERED unless it is set, a foreground command not" {
	unset PYTHONUNBUFFERED
	boris
	start_task 'echo "<$PYTHONUNBUFFERED>"'
	look '' '"wait":20000'
	is "$(plain stdout)" '<1>'
	run_bash 'echo "<$PYTHONUNBUFFERED>"'
	is "$(plain stdout)" '<>'
	leave
	PYTHONUNBUFFERED= boris
	start_task 'echo "<$PYTHONUNBUFFERED>"'
	look '' '"wait":20000'
	is "$(plain stdout)" '<>'
}

# unready WAIT: boris will start as if the kernel's random number generator was
# not ready yet (t/unready.c has what WAIT is)
unready() {
	needs_linux_parts
	needs cc
	[ -z "$WRAP" ] || skip "under $WRAP"
	cc -o unready "$HERE/unready.c" || skip 'no seccomp notifications here'
	./unready 0 true || skip 'no seccomp notifications here'
	wrap=("$PWD/unready" "$1")
}

@test "T1: boris waits for the kernel's random number generator, and says so after a second" {
	unready 2500
	begin
	boris
	least "$(took)" 2500
	is "$(<err)" "boris: waiting for the kernel's random number generator to be initialized"
	start_task 'read <gate'
	like "$task" '????????'
	release
	leave
	: >err
}

@test "T1: boris says nothing if the random number generator is ready within a second" {
	unready 200
	boris
	start_task 'read <gate'
	release
}

@test "T1: SIGTERM ends a boris that waits for the random number generator" {
	unready 60000
	start
	eventually grep -qs waiting err
	kill "$server"
	died
	is $status 143
	: >err
}

@test "T1: on a kernel without getrandom, boris reads /dev/urandom" {
	unready -38
	[ -c /dev/urandom ] || skip 'no /dev/urandom here'
	boris
	start_task 'read <gate'
	release
}

@test "T1: if getrandom fails, boris does not read /dev/urandom, which may not be ready" {
	unready -1
	filter </dev/null
	is $status 1
	is "$(<err)" 'boris: cannot start: no source of random numbers'
}
