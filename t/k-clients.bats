#!/usr/bin/env bats
# K: what is known of each client, and what it lets through and waits for

load helper

# from NAME [OPTION...]: a boris that talks with the client of that name
from() {
	called "$1"
	shift
	boris "$@"
}

# long CHARACTERS: a command that prints so many, in lines of 99
long() {
	echo "head -c $1 /dev/zero | tr '\\0' a | fold -w 99"
}

@test "K1: Gemini's wait_for_previous is taken and dropped, another's is an unknown argument" {
	from gemini-cli-mcp-client
	run_bash 'echo hi' '{"wait_for_previous":true}'
	is "$(result stdout)" '"hi\n"'
	start_task 'read <gate' '{"wait_for_previous":false}'
	look '' '"wait_for_previous":true'
	is "$(result status)" '"running"'
	release
	leave
	called t
	boris
	run_bash 'echo hi' '{"wait_for_previous":true}'
	refused '*unknown argument "wait_for_previous"*'
}

@test "K2: for a client that waits for a call, commands get 600 s" {
	from codex-mcp-client
	ask tools/list
	has "$(get -s result tools 0 description)" 'default 600000 ms'
	leave
	boris --call-limit=0
	ask tools/list
	has "$(get -s result tools 0 description)" 'default 120000 ms'
}

@test "K2: a command that outlasts its call becomes a task" {
	boris --call-limit=1
	run_bash 'echo so far; read <gate; echo end'
	is "$(result status)" '"running"'
	is "$(result stdout)" '"so far\n"'
	task=$(plain task_id)
	is "$(plain note)" "this client waits at most 1.0 s, so the command keeps running as task $task until its timeout of 600 s; wait for it with task_output, or stop it with kill_pid $(result pid)"
	release
	look '' '"wait":20000'
	is "$(result stdout)" '"so far\nend\n"'
}

@test "K2: a command whose timeout is due within ten seconds is not handed over" {
	boris --call-limit=1
	run_bash 'read <gate' '{"timeout":1600}'
	is "$(result status)" '"timed_out"'
}

@test "K2: a task that was handed over ends at the timeout of its command" {
	hurried
	boris --call-limit=3
	run_bash 'read <gate' '{"timeout":15000}'
	is "$(result status)" '"running"'
	task=$(plain task_id)
	until look && [ "$(result status)" != '"running"' ]; do
		pause 500
	done
	is "$(result status)" '"timed_out"'
	has "$(result note)" timeout
}

@test "K2: a queued command that cannot be started in time is rejected and not run" {
	boris --call-limit=1
	call_bash 'echo first; read <gate' '{"timeout":8000}'
	first=$id
	run_bash 'touch ran'
	refused 'not run: still queued after 1.0 s, the longest this client waits; running: echo first; read <gate'
	release
	answer $first
	is "$(result stdout)" '"first\n"'
	leave
	[ ! -e ran ]
}

@test "K2: a queued command is started as soon as the command before it is handed over" {
	boris --call-limit=4
	call_bash 'read <never'
	begin
	pause 2000
	run_bash 'echo second'
	is "$(result stdout)" '"second\n"'
	within 5000
}

@test "K2: a queued command whose time is up is started and handed over at once" {
	local form='{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"bash","arguments":{"command":"%s"}}}\n'
	boris --call-limit=1
	# One write, so that both reach the limit in the same turn
	# shellcheck disable=SC2059
	send "$(printf "$form" 101 'read <never' 102 'echo second; read <gate')"
	answer 101
	answer 102
	like "$(plain note)" 'this client waits at most 1.0 s, so the command keeps running as task *'
	task=$(plain task_id)
	run_bash 'echo third'
	is "$(result stdout)" '"third\n"'
	release
	look '' '"wait":20000'
	is "$(result stdout)" '"second\n"'
}

@test "K2: all queued commands are handed over in order until ten tasks run" {
	local form='{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"bash","arguments":{"command":"echo %d >>started; read <never"}}}\n'
	local i calls=
	boris --call-limit=1
	# One write, so that all reach the limit in the same turn
	for i in {1..12}; do
		# shellcheck disable=SC2059
		printf -v calls "%s$form" "$calls" $((100 + i)) "$i"
	done
	send "$calls"
	for i in {1..10}; do
		answer $((100 + i))
		is "$(result status)" '"running"'
	done
	answer 111
	refused 'not run: still queued after 1.0 s, the longest this client waits; 10 background tasks are running, which is the maximum; stop one with kill_pid*'
	answer 112
	refused 'not run: *'
	ten_started() { [ "$(sort -n started | tail -n 1)" = 10 ]; }
	eventually ten_started
}

@test "K2: commands with an absolute cwd are handed over, each on its own (D7)" {
	boris --call-limit=1
	for i in 1 2 3; do
		call_bash "read <'$PWD/gate'; pwd" '{"cwd":"/"}'
	done
	run_bash 'echo hi'
	is "$(plain stdout)" hi
	for ((i = id - 3; i < id; i++)); do
		answer $i
		is "$(result status)" '"running"'
		tasks+=("$(plain task_id)")
	done
	release 3
	for task in "${tasks[@]}"; do
		look "$task" '{"wait":20000}'
		is "$(plain stdout)" /
	done
}

@test "K2: the seventeenth command with an absolute cwd is not run if it waits too long (D7)" {
	boris --call-limit=1
	for i in {1..16}; do
		call_bash "read <'$PWD/gate'" '{"cwd":"/","timeout":9000}'
	done
	call_bash 'echo x >begun; read <gate' '{"timeout":9000}'
	begun begun
	run_bash 'touch ran' '{"cwd":"'"$PWD"'"}'
	refused 'not run: still queued after 1.0 s, the longest this client waits; 16 commands with an absolute cwd are running'
	[ ! -e ran ]
	release 17
}

@test "K2: a queued edit whose time is up is made" {
	boris --call-limit=1 --edit
	call_bash 'read <never'
	run_tool edit '{"path":"f","new":"text"}'
	has "$(get -s result content 0 text)" 'f: created'
	is "$(<f)" text
}

@test "K2: a command is handed over in time although the client does not read" {
	boris --call-limit=2
	call_bash 'read <never'
	call_bash 'echo x >mark'
	seq 5000 | sed 's/.*/{"jsonrpc":"2.0","id":"u&","method":"tools\/list"}/' \
		>&7 2>/dev/null 3>&- 6>&- 8>&- 9>&- &
	writer=$!
	begun mark
	kill $writer || :
}

@test "K2: with ten tasks running the command is terminated, and told why" {
	boris --call-limit=1
	local i
	for i in {1..10}; do
		start_task 'read <never'
	done
	run_bash 'read <never'
	is "$(result status)" '"timed_out"'
	has "$(plain note)" 'the longest this client waits'
	has "$(plain note)" 'because 10 background tasks are running'
}

@test "K2: with ten tasks running a queued command without time to run is rejected" {
	local i first
	boris --call-limit=3
	for i in {1..10}; do
		start_task 'read <never'
	done
	call_bash 'echo x >begun; read <never'
	first=$id
	begun begun
	pause 500  # so much time the second one has left when its turn comes
	run_bash 'touch ran'
	like "$(text)" '*not run: the command was queued for [23].* s, so it would have been terminated after 0.* s, because this client waits at most 3.0 s; 10 background tasks are running, which is the maximum; stop one with kill_pid*'
	answer $first
	has "$(plain note)" 'the command was terminated after 3.0 s, the longest this client waits'
	leave
	[ ! -e ran ]
}

@test "K2: a command that is terminated after it was queued is told how long it ran" {
	local i first
	boris --call-limit=4
	for i in {1..10}; do
		start_task 'read <never'
	done
	call_bash 'echo x >begun; read <gate'
	first=$id
	begun begun
	call_bash 'read <never'
	pause 1000
	release
	answer $id
	like "$(plain note)" 'the command was terminated after [123].* s, because this client waits at most 4.0 s and the command had been queued for *'
	answer $first
}

@test "K2: a command that is handed over as it starts is not said to hang (E11)" {
	local form='{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"bash","arguments":{"command":"%s"}}}\n'
	local i calls=
	boris --call-limit=1
	# One write, so that all reach the limit in the same turn
	for i in {1..10}; do
		# shellcheck disable=SC2059
		printf -v calls "%s$form" "$calls" $((100 + i)) 'read <never'
	done
	send "$calls"
	for i in {1..10}; do
		answer $((100 + i))
		is "$(result status)" '"running"'
		lacks "$(plain note)" 'does not respond'
	done
}

@test "K2: a wait ends with the patience of the client, and says so" {
	boris --call-limit=1
	start_task 'read <gate'
	look '' '"wait":60000'
	is "$(result status)" '"running"'
	has "$(plain note)" 'the wait ended after 1.'
	run_tool task_output '{"wait":6000}'
	like "$(get -s result content 0 text)" '*wait*ended*'
	release
}

@test "K2: a wait is not cut for a client that goes on without the call" {
	from claude-code --call-limit=1 --structured=on
	start_task 'sleep 1.5; echo done'
	look '' '"wait":20000'
	is "$(result stdout)" '"done\n"'
}

@test "K2: Codex, which waits 300 s, gets its answer before that, however deaf a command is" {
	[ -z "$REAL" ] || skip 'it takes five minutes'
	hurried
	from codex-mcp-client
	begin
	call_bash "trap '' TERM; while :; do read -t 600 <>never; done" '{"timeout":299000}'
	pause 200000
	answer
	most "$(took)" 299999
}

@test "K4: the first result of a foreground command names its directory" {
	boris
	run_bash 'echo hi'
	has "$(text)" "cwd: $PWD"
	run_bash 'echo hi'
	lacks "$(text)" 'cwd: '
}

@test "K3: a result fits what its client lets through, start, end and path" {
	local name most
	while read -r name most; do
		from "$name" --structured=off
		run_bash "$(long 60000)"
		most ${#reply} $((most + 700))
		like "$(get -s result content 0 text)" '*a
[[]stdout truncated: 60606 characters in total, first * and last * shown; full output: /*[]]
a*'
		run_bash "$(long 60000); { $(long 60000); } >&2"
		most ${#reply} $((most + 1700))
		is "$(get -s result content 0 text | grep -c 'full output: /')" 2
		leave
	done <<-'END'
	codex-mcp-client 36000
	copilot-cli 20000
	gemini-cli-mcp-client 38000
	END
}

@test "K3: a result has no more lines than its client lets through" {
	from opencode
	run_bash 'seq 3000; seq 3000 >&2'
	most "$(get -s result content 0 text | wc -l)" 1900
	is "$(get -s result content 0 text | grep -c 'full output: /')" 2
}

@test "K3: --result-limit takes the place of what is known; what one stream leaves is the other's" {
	boris --result-limit=2000 --structured=off
	run_bash "$(long 60000)"
	most ${#reply} 2600
	leave
	from copilot-cli
	run_bash "echo short >&2; $(long 60000)"
	least ${#reply} 18500
	has "$(text)" 'short'
}

# fits: the text of the reply has at most 2000 bytes
fits() {
	most "$(get -s result content 0 text | wc -c)" 2000
}

# names TASK...: the text has the line of each task
names() {
	local each
	for each; do
		has "$(get -s result content 0 text)" "$each  pid " || return
	done
}

@test "K3: an error with a list of tasks fits, and names every task" {
	boris --result-limit=2000
	long=$(printf %0300d 0)
	for i in {1..10}; do
		start_task "read <never # $long" "\"description\":\"$long\""
		started+=("$task")
	done
	run_tool task_output '{"task_id":"'"$long"'"}'
	refused 'task not found: *'
	fits
	names "${started[@]}"
	run_bash true '{"run_in_background":true}'
	refused '*10 background tasks*'
	fits
	names "${started[@]}"
	call_bash "echo x >begun; read <gate # $long"
	begun begun
	run_tool task_output '{}'
	fits
	names "${started[@]}"
	has "$(text)" 'running in the foreground: echo x'
	release
}

@test "K3: where the directory's name fills the limit, the output is cut all the same" {
	dir=$PWD$(printf "/%0200d" {1..13})
	mkdir -p "$dir"
	boris --result-limit=2000 --structured=off
	run_bash "cd '$dir'; $(long 30000); { $(long 30000); } >&2"
	most "$(get -n result content 0 text)" $((2000 + ${#dir}))
}

@test "K3: a long path in an error is shortened in the middle, not the sentence" {
	boris --edit --result-limit=2000
	for letter in p € ü; do
		long=$(printf '%01000d' 0)
		long=/start${long//0/$letter}/end
		run_bash true '{"cwd":"'$long'"}'
		refused 'cannot change to cwd /start*...*/end: *; the command was not run'
		run_tool edit '{"path":"'$long'","old":"x","new":"y"}'
		refused '/start*...*/end: the file was not changed: *'
		most "$(get -s result content 0 text | wc -c)" 2000
	done
}
