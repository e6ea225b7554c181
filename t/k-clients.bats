#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# K: the table of known clients, their limits, and results that fit in them

load helper

# boris_for NAME [OPTION...]: starts boris for a client with this name
boris_for() {
	set_client "$1"
	shift
	boris "$@"
}

# long_output CHARACTERS: prints a command that prints so many characters, in
# lines of 99
long_output() {
	printf '%s' "head -c $1 /dev/zero | tr '\\0' a | fold -w 99"
}

# parts of notes and errors
LONGEST='the longest this client waits'
STILL_QUEUED="not run: still queued after 1.0 s, $LONGEST"
TEN_TASKS='10 background tasks are running, which is the maximum; stop one with kill_pid'

# result_text: prints the text of the result, decoded
result_text() {
	get -s result content 0 text
}

# start_ten_tasks: starts as many tasks as can run at a time
start_ten_tasks() {
	local i
	for i in {1..10}; do
		start_task 'read <never' || return
	done
}

# send_together COMMAND...: calls bash for each command, with the ids 101, 102
# and so on. All calls are in a single write, so that they reach the call limit
# in the same turn of the event loop.
send_together() {
	local command calls='' number=100
	for command; do
		quote "$command"
		calls+='{"jsonrpc":"2.0","id":'$((++number))',"method":"tools/call",'
		calls+='"params":{"name":"bash","arguments":{"command":'$quoted'}}}'
		calls+=$'\n'
	done
	send "${calls%$'\n'}"
}

# --- K1: the table

@test "K1: Gemini CLI's wait_for_previous argument is accepted and ignored" {
	boris_for gemini-cli-mcp-client
	run_bash 'echo hi' '{"wait_for_previous":true}'
	is "$(result stdout)" '"hi\n"'
	start_task 'read <gate' '{"wait_for_previous":false}'
	read_task '' '"wait_for_previous":true'
	is "$(result status)" '"running"'
	release
}

@test "K1: the wait_for_previous argument is rejected for clients other than Gemini CLI" {
	boris
	run_bash 'echo hi' '{"wait_for_previous":true}'
	is_tool_error '*unknown argument "wait_for_previous"*'
}

# --- K2: the call limit

@test "K2: the default timeout is 600 s for a client that limits the duration of calls" {
	boris_for codex-mcp-client
	ask tools/list
	has "$(get -s result tools 0 description)" 'default 600000 ms'
}

@test "K2: --call-limit=0 restores the default timeout of 120 s" {
	boris_for codex-mcp-client --call-limit=0
	ask tools/list
	has "$(get -s result tools 0 description)" 'default 120000 ms'
}

@test "K2: a command that runs longer than the client waits becomes a task" {
	boris --call-limit=1
	run_bash 'echo so far; read <gate; echo end'
	is "$(result status)" '"running"'
	is "$(result stdout)" '"so far\n"'
	task=$(plain task_id)
	note='this client waits at most 1.0 s, so the command keeps running as'
	note+=" task $task until its timeout of 600 s; wait for it with task_output,"
	note+=" or stop it with kill_pid $(result pid)"
	is "$(plain note)" "$note"
	release
	read_task '' '"wait":20000'
	is "$(result stdout)" '"so far\nend\n"'
}

@test "K2: a command whose timeout is slightly longer than --call-limit does not become a task" {
	boris --call-limit=1
	run_bash 'read <gate' '{"timeout":1600}'
	is "$(result status)" '"timed_out"'
}

@test "K2: a command turned into a task by --call-limit is terminated when its timeout expires" {
	use_fast_clock
	boris --call-limit=3
	run_bash 'read <gate' '{"timeout":15000}'
	is "$(result status)" '"running"'
	task=$(plain task_id)
	until read_task && [ "$(result status)" != '"running"' ]; do
		pause 500
	done
	is "$(result status)" '"timed_out"'
	has "$(result note)" timeout
}

@test "K2: a command that is still queued when it reaches --call-limit is not run" {
	boris --call-limit=1
	call_bash 'echo first; read <gate' '{"timeout":8000}'
	first=$id
	run_bash 'touch ran'
	is_tool_error "$STILL_QUEUED; running: echo first; read <gate"
	release
	answer $first
	is "$(result stdout)" '"first\n"'
	stop_server
	[ ! -e ran ]
}

@test "K2: a queued command starts as soon as the previous one becomes a task" {
	boris --call-limit=4
	call_bash 'read <never'
	start_timer
	pause 2000
	run_bash 'echo second'
	is "$(result stdout)" '"second\n"'
	within 5000
}

@test "K2: when --call-limit is reached, the next queued command is started as a task" {
	boris --call-limit=1
	send_together 'read <never' 'echo second; read <gate'
	answer 101
	answer 102
	like "$(plain note)" 'this client waits at most 1.0 s, so the command keeps running as task *'
	task=$(plain task_id)
	run_bash 'echo third'
	is "$(result stdout)" '"third\n"'
	release
	read_task '' '"wait":20000'
	is "$(result stdout)" '"second\n"'
}

# has_note PATTERN: Runs a command. Succeeds if the note of its result matches
# the shell pattern.
has_note() {
	run_bash true
	# shellcheck disable=SC2053
	[[ $(plain note) == $1 ]]
}

@test "K2, T7, T8: a queued command that becomes a task is reported as not run if its directory is missing" {
	boris --call-limit=1
	# cat sends the calls in one write, so that they reach the call limit in
	# the same turn of the event loop.
	{
		call_bash 'read <never'
		call_bash 'echo hi' '{"cwd":"missing"}'
	} 7>both
	cat both >&7
	answer
	task=$(plain task_id)
	eventually has_note "task $task ended, but its command was not run (echo hi)"
	run_tool task_output '{}'
	is "$(result tasks 1 task_id) $(result tasks 1 status)" "\"$task\" \"not_run\""
	lacks "$reply" exit_code
	like "$(get -s result content 0 text)" "*$task  pid *  not_run  0.? s  echo hi"
	read_task
	is_tool_error "*cannot change to directory $PWD/missing: *was not run"
}

@test "K2: when --call-limit is reached, queued commands become tasks in order until ten are running" {
	local i commands=()
	boris --call-limit=1
	for i in {1..12}; do
		commands+=("echo $i >>started; read <never")
	done
	send_together "${commands[@]}"
	for i in {1..10}; do
		answer $((100 + i))
		is "$(result status)" '"running"'
	done
	answer 111
	is_tool_error "$STILL_QUEUED; $TEN_TASKS*"
	answer 112
	is_tool_error 'not run: *'
	ten_started() { [ "$(sort -n started | tail -n 1)" = 10 ]; }
	eventually ten_started
}

@test "K2, D7: commands with an absolute cwd become tasks when they reach --call-limit" {
	local i tasks=()
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
		read_task "$task" '{"wait":20000}'
		is "$(plain stdout)" /
	done
}

@test "K2, D7: a queued command with an absolute cwd is not run after it reaches --call-limit" {
	local i
	boris --call-limit=1
	for i in {1..16}; do
		call_bash "read <'$PWD/gate'" '{"cwd":"/","timeout":9000}'
	done
	call_bash 'echo x >begun; read <gate' '{"timeout":9000}'
	await_file begun
	run_bash 'touch ran' '{"cwd":"'"$PWD"'"}'
	is_tool_error "$STILL_QUEUED; 16 commands with an absolute cwd are running"
	[ ! -e ran ]
	release 17
}

@test "K2: when a queued edit reaches --call-limit, the edit is applied and its result is returned" {
	boris --call-limit=1 --edit
	call_bash 'read <never'
	run_tool edit '{"path":"f","new":"text"}'
	has "$(result_text)" 'f: created'
	is "$(<f)" text
}

@test "K2: a command that reaches --call-limit becomes a task even if the client does not read responses" {
	boris --call-limit=2
	call_bash 'read <never'
	call_bash 'echo x >mark'
	seq 5000 | sed 's/.*/{"jsonrpc":"2.0","id":"u&","method":"tools\/list"}/' \
		>&7 2>/dev/null 3>&- 6>&- 8>&- 9>&- &
	writer=$!
	await_file mark
	kill $writer || :
}

@test "K2: a command that reaches --call-limit is terminated if ten tasks are running" {
	boris --call-limit=1
	start_ten_tasks
	run_bash 'read <never'
	is "$(result status)" '"timed_out"'
	has "$(plain note)" "$LONGEST"
	has "$(plain note)" 'because 10 background tasks are running'
}

@test "K2: a queued command is not run if --call-limit would leave it less than a second to run" {
	boris --call-limit=3
	start_ten_tasks
	call_bash 'echo x >begun; read <never'
	first=$id
	await_file begun
	pause 500  # The second command has this time left when its turn comes.
	run_bash 'touch ran'
	error='not run: the command was queued for [23].* s, so it would have been'
	error+=' terminated after 0.* s, because this client waits at most 3.0 s'
	is_tool_error "$error; $TEN_TASKS*"
	answer $first
	has "$(plain note)" "the command was terminated after 3.0 s, $LONGEST"
	stop_server
	[ ! -e ran ]
}

@test "K2: the note about a command terminated by --call-limit includes the time spent in the queue" {
	boris --call-limit=4
	start_ten_tasks
	call_bash 'echo x >begun; read <gate'
	first=$id
	await_file begun
	call_bash 'read <never'
	pause 1000
	release
	answer $id
	note='the command was terminated after [123].* s, because this client waits'
	note+=' at most 4.0 s and the command had been queued for *'
	like "$(plain note)" "$note"
	answer $first
}

@test "K2, E11: queued commands that become tasks produce no note about an unresponsive directory" {
	local i commands=()
	boris --call-limit=1
	for i in {1..10}; do
		commands+=('read <never')
	done
	send_together "${commands[@]}"
	for i in {1..10}; do
		answer $((100 + i))
		is "$(result status)" '"running"'
		lacks "$(plain note)" 'does not respond'
	done
}

@test "K2: a wait for one task ends when the call reaches --call-limit" {
	boris --call-limit=1
	start_task 'read <gate'
	read_task '' '"wait":60000'
	is "$(result status)" '"running"'
	has "$(plain note)" 'the wait ended after 1.'
	release
}

# is_killed: Waits for $task as long as the client can. Succeeds if the status
# is killed.
is_killed() {
	read_task '' '"wait":60000'
	[ "$(result status)" = '"killed"' ]
}

@test "K2, T4: kill_pid returns when it reaches --call-limit, but boris continues to terminate the task" {
	use_fast_clock
	boris --call-limit=2
	start_task 'trap "" TERM; echo x >mark; while :; do read <never; done'
	await_file mark
	start_timer
	run_tool bash '{"kill_pid":'"$pid"'}'
	within 4000
	is "$(result status)" '"running"'
	has "$(plain note)" 'has not ended within 2.0 s'
	has "$(plain note)" 'still being terminated; wait for it with task_output'
	eventually is_killed
}

@test "K2: a wait for any task ends when the call reaches --call-limit" {
	boris --call-limit=1
	start_task 'read <gate'
	run_tool task_output '{"wait":6000}'
	like "$(plain note)" 'the wait ended after 1.*; wait again'
	like "$(result_text)" "*"$'\n'"note: $(plain note)"
	release
}

@test "K2: for Claude Code, a wait does not end when the call reaches --call-limit" {
	boris_for claude-code --call-limit=1 --structured=on
	start_task 'sleep 1.5; echo done'
	read_task '' '"wait":20000'
	is "$(result stdout)" '"done\n"'
}

@test "K2: Codex receives a response within 300 s even if the command ignores SIGTERM" {
	[ -z "$REAL" ] || skip 'it takes five minutes'
	use_fast_clock
	boris_for codex-mcp-client
	start_timer
	call_bash "trap '' TERM; while :; do read -t 600 <>never; done" '{"timeout":299000}'
	pause 200000
	answer
	most "$(elapsed)" 299999
}

# --- K3: results that fit in what the client passes on

# The clients of the next two tests, and the bytes of a result that each passes
# on
LIMITS='codex-mcp-client 36000
copilot-cli 20000
gemini-cli-mcp-client 38000'

@test "K3: long stdout is truncated to the size that each known client accepts" {
	while read -r name limit; do
		boris_for "$name" --structured=off
		run_bash "$(long_output 60000)"
		most ${#reply} $((limit + 700))
		like "$(result_text)" '*a
[[]stdout truncated: 60606 characters in total, first * and last * shown; full output: /*[]]
a*'
		stop_server
	done <<<"$LIMITS"
}

@test "K3: long stdout and stderr together fit within the size that each known client accepts" {
	while read -r name limit; do
		boris_for "$name" --structured=off
		run_bash "$(long_output 60000); { $(long_output 60000); } >&2"
		most ${#reply} $((limit + 1700))
		is "$(result_text | grep -c 'full output: /')" 2
		stop_server
	done <<<"$LIMITS"
}

@test "K3: a result for opencode contains at most 1,900 lines of text" {
	boris_for opencode
	run_bash 'seq 3000; seq 3000 >&2'
	most "$(result_text | wc -l)" 1900
	is "$(result_text | grep -c 'full output: /')" 2
}

@test "K3: --result-limit overrides a client's known limit" {
	boris_for copilot-cli --result-limit=2000 --structured=off
	run_bash "$(long_output 60000)"
	most ${#reply} 2600
}

@test "K3: stdout can use the space that a short stderr does not need" {
	boris_for copilot-cli
	run_bash "echo short >&2; $(long_output 60000)"
	least ${#reply} 18500
	has "$(text)" 'short'
}

# start_described_tasks: starts ten tasks with long commands and descriptions;
# their ids are in $started
start_described_tasks() {
	local i long
	printf -v long '%0300d' 0
	started=()
	for i in {1..10}; do
		start_task "read <never # $long" "\"description\":\"$long\""
		started+=("$task")
	done
}

# names_all_tasks: the reply has at most 2000 bytes of text, and in it a line for
# each task in $started
names_all_tasks() {
	local each
	most "$(result_text | wc -c)" 2000 || return
	for each in "${started[@]}"; do
		has "$(result_text)" "$each  pid " || return
	done
}

@test "K3: the error about an unknown task still lists all tasks when --result-limit applies" {
	boris --result-limit=2000
	start_described_tasks
	run_tool task_output '{"task_id":"'"$(printf %0300d 0)"'"}'
	is_tool_error 'task not found: *'
	names_all_tasks
}

@test "K3: the error about starting an eleventh task still lists all tasks when --result-limit applies" {
	boris --result-limit=2000
	start_described_tasks
	run_bash true '{"run_in_background":true}'
	is_tool_error '*10 background tasks*'
	names_all_tasks
}

@test "K3: the task list still names all ten tasks when --result-limit applies" {
	boris --result-limit=2000
	start_described_tasks
	call_bash "echo x >begun; read <gate # $(printf %0300d 0)"
	await_file begun
	run_tool task_output '{}'
	names_all_tasks
	has "$(text)" 'running in the foreground: echo x'
	release
}

@test "K3: output is truncated to --result-limit even if the directory name is longer than the limit" {
	dir=$PWD$(printf "/%0200d" {1..13})
	mkdir -p "$dir"
	boris --result-limit=2000 --structured=off
	run_bash "cd '$dir'; $(long_output 30000); { $(long_output 30000); } >&2"
	most "$(get -n result content 0 text)" $((2000 + ${#dir}))
}

# long_path LETTER: prints a path of which LETTER is the middle, a thousand times
long_path() {
	local middle
	printf -v middle '%01000d' 0
	echo "/start${middle//0/$1}/end"
}

@test "K3: a long cwd is shortened in the middle when an error quotes it" {
	boris --result-limit=2000
	for letter in p € ü; do
		run_bash true '{"cwd":"'"$(long_path $letter)"'"}'
		is_tool_error 'cwd: cannot change to directory /start*...*/end: *; the command was not run'
		most "$(result_text | wc -c)" 2000
	done
}

@test "K3: a long path is shortened in the middle when an edit error quotes it" {
	boris --edit --result-limit=2000
	for letter in p € ü; do
		run_tool edit '{"path":"'"$(long_path $letter)"'","old":"x","new":"y"}'
		is_tool_error '/start*...*/end: cannot edit the file: *'
		most "$(result_text | wc -c)" 2000
	done
}

# --- K4: the directory in the first result

@test "K4: only the first result of a foreground command states the working directory" {
	boris
	run_bash 'echo hi'
	has "$(text)" "cwd: $PWD"
	run_bash 'echo hi'
	lacks "$(text)" 'cwd: '
}

@test "K4: the first result after a cancelled command states the working directory" {
	boris
	call_bash 'echo x >a; read <gate'
	await_file a
	cancel $id
	run_bash 'echo hi'
	has "$(text)" "cwd: $PWD"
}
