#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# A: the log
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load http

# logged EVENT [-n] STEP: Prints the value at STEP of each record of EVENT, as
# JSON, one per line.
logged() {
	grep -aF "\"event\":\"$1\"" log | "$HERE/reply" -l "${@:2}"
}

# last_logged EVENT STEP: Prints the value at STEP of the last record of EVENT.
last_logged() {
	logged "$@" | tail -n 1
}

# events: Prints the events in the log, in order.
events() {
	"$HERE/reply" -l event <log | xargs
}

# check_records [FILE]: Fails if a line of FILE (default: log) is not a record
# with a valid time.
check_records() {
	local time date='20[0-9]{2}-[01][0-9]-[0-3][0-9]'
	local clock='[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{3}'
	while read -r time; do
		[[ $time =~ ^${date}T${clock}Z$ ]] || fail "time: $time" || return
	done < <("$HERE/reply" -l time <"${1-log}" | tr -d '"')
}

# lines_of_log: Prints the number of lines in the log, and how many of them look
# like records.
lines_of_log() {
	echo "$(wc -l <log) $(grep -c '^{.*}$' log)"
}

# not_recorded: Fails if the reply does not say that the log cannot be written
# and that the call had no effect.
not_recorded() {
	is_tool_error 'nothing was done: cannot write the log*'
}

# needs_full_device: Skips the test on a system without /dev/full.
needs_full_device() {
	[ -c /dev/full ] || skip 'no /dev/full'
}

# stop_server: Closes the session and waits until the server has exited. Over HTTP,
# closing stdin does not stop the server.
stop_server() {
	if [ "$port" = 0 ]; then
		end_input
	else
		kill "$server"
	fi
	await_exit
	grep -v '^boris: listening on ' err >err.rest || :
	mv err.rest err
}

@test "A1: the log records the start and the end of each command" {
	boris --log=log
	run_bash true
	stop_server
	is "$(events)" 'start end'
	check_records
}

@test "A1: the log does not record a rejected call" {
	boris --log=log
	run_bash true '{"comand":"ls"}'
	is_tool_error 'unknown argument*'
	stop_server
	is "$(events)" ''
}

@test "A1: when a command starts, the log records the client's name and version" {
	boris --log=log
	run_bash true
	is "$(logged start client) $(logged start version)" '"t" "1"'
}

@test "A1: the log records the first 120 characters of a long client name or version" {
	local name
	printf -v name '€%.0s' {1..200}
	set_client "$name"
	HELLO=${HELLO/'"version":"1"'/"\"version\":\"1$name\""}
	boris --log=log
	run_bash true
	is "$(logged start -s client)" "${name:0:360}" # three bytes each
	is "$(logged start -s version)" "1${name:0:357}"
}

@test "A1: when a command starts, the log records its text and working directory" {
	boris --log=log --workdir=/tmp
	run_bash $'printf abc; echo "d\te" >&2'
	is "$(logged start cwd)" '"/tmp"'
	is "$(logged start command)" '"printf abc; echo \"d\te\" >&2"'
}

@test "A1: when a command ends, the log records its exit code and output size" {
	boris --log=log
	run_bash $'printf abc; echo "d\te" >&2; exit 3'
	is "$(logged end status) $(logged end exit_code)" '"completed" 3'
	is "$(logged end stdout_bytes) $(logged end stderr_bytes)" '3 4'
}

@test "A1: when a command ends, the log records its pid and run time" {
	boris --log=log
	run_bash true
	like "$(logged end elapsed_ms) $(logged end pid)" '[0-9]* [1-9]*'
}

@test "A1: all log records for a command contain the same call and session numbers" {
	boris --log=log
	run_bash true
	is "$(logged start call) $(logged end call)" '1 1'
	is "$(logged start session)" "$(logged end session)"
}

@test "A1: the log is created with mode 0600" {
	umask 0
	filter --log new </dev/null
	is "$(stat -c %a new)" 600
}

@test "A1: boris appends to an existing log file" {
	echo '{"old":1}' >log
	boris --log=log
	run_bash true
	stop_server
	is "$(head -n 1 log) $(wc -l <log)" '{"old":1} 3'
}

@test "A1: BORIS_LOG sets the name of the log file" {
	BORIS_LOG=log boris
	run_bash true
	is "$(events)" 'start end'
}

@test "A1: the log contains the full text of a 100,000-character command" {
	local long
	printf -v long '%0100000d' 0
	boris --log=log
	run_bash "echo '$long' | wc -c"
	is "$(plain stdout)" 100001
	is "$(logged start -n command)" 100015
	check_records
}

@test "A1: a command that times out is logged as timed_out" {
	boris --log=log
	run_bash 'read <never' '{"timeout":50}'
	is "$(logged end status)" '"timed_out"'
}

@test "A1: a task that is stopped with kill_pid is logged as killed" {
	boris --log=log
	start_task 'read <never'
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(logged end status)" '"killed"'
}

@test "A1: a command whose call is cancelled is logged as cancelled" {
	boris --log=log
	call_bash 'echo x >begun; read <never'
	await_file begun
	cancel "$id"
	run_bash true
	is "$(logged end status | xargs)" 'cancelled completed'
}

@test "A1: the log records the signal that killed a command" {
	boris --log=log
	run_bash 'kill -9 $$'
	is "$(logged end status)" '"completed"'
	is "$(logged end signal) $(logged end exit_code)" '"SIGKILL" 137'
}

@test "A1: all log records for a background task contain its task_id" {
	boris --log=log
	start_task 'echo hi'
	eventually grep -q '"end"' log
	is "$(logged start task_id) $(logged end task_id)" "\"$task\" \"$task\""
	is "$(logged end pid)" "$pid"
}

@test "A1: when a background task starts, its log record contains background: true" {
	boris --log=log
	start_task 'echo hi'
	is "$(logged start background) $(logged start tty)" 'true '
}

@test "A1: when a task starts on a terminal, its log record contains background: true and tty: true" {
	boris --log=log
	run_bash 'echo ho' '{"tty":true}'
	is "$(logged start background) $(logged start tty)" 'true true'
}

@test "A1: if a command becomes a task, the log records the task_id when the command ends" {
	boris --log=log --on-timeout=background
	run_bash 'read <gate' '{"timeout":50}'
	task=$(plain task_id)
	release
	eventually grep -q '"end"' log
	is "$(logged start task_id) $(logged end task_id)" " \"$task\""
}

@test "A1: the log records text typed into a task together with the task_id" {
	boris --log=log
	start_on_terminal 'read -p "user " u; read -p "more " r'
	run_input 'bob\n'
	run_input 'x\ty\u0001\n'
	is "$(result status)" '"completed"'
	is "$(logged input input)" $'"bob\\n"\n"x\\ty\\u0001\\n"'
	is "$(logged input task_id | sort -u)" "\"$task\""
}

@test "A1: the log does not record empty input" {
	boris --log=log
	start_on_terminal 'read -p "user " u'
	run_input '' '"wait":0'
	run_input '\n'
	is "$(events)" 'start input end'
}

@test "A1: text typed while echo is off is not written to the log" {
	boris --log=log
	start_on_terminal 'read -sp "password " p
		stty -echo; printf "again "; read q
		stty echo; read -p "more " r'
	run_input 'hunter2\n'
	run_input 'hunter3\n'
	run_input 'bob\n'
	is "$(logged input input)" $'\n\n"bob\\n"'
	is "$(logged input secret | xargs)" 'true true'
	is "$(grep -c hunter log || :)" 0
}

@test "A1: a command that survives boris's exit is logged as running" {
	use_fast_clock
	boris --log=log
	call_bash 'trap "" TERM; echo x >begun; while :; do read <never; done' \
		'{"timeout":600000}'
	await_file begun
	kill "$server"
	sync_server
	kill "$server"
	await_exit
	is "$(logged end status)" '"running"'
	is "$(events)" 'start end'
	eventually has_no_processes
}

# log_of_edit OLD: Replaces OLD in the file f. Prints the records of the edit,
# with N in place of each number.
log_of_edit() {
	: >log
	run_tool edit '{"path":"f","old":"'"$1"'","new":"x"}' || return
	has "$(logged edit path)" "$PWD/f" || return
	sed 's/[0-9][0-9]*/N/g' log
}

@test "A1: the log distinguishes a failed edit from a successful one" {
	boris --edit --log=log
	echo old >f
	log_of_edit none >failure
	log_of_edit old >success
	isnt "$(<failure)" "$(<success)"
}

@test "A1: over HTTP, the log contains the client's name and address" {
	start_http --log=log
	open_session a
	post_bash_and_read a 'echo one'
	is "$(logged start client) $(logged start command)" '"t" "echo one"'
	like "$(logged start address)" '"127.0.0.1:[0-9]*"'
}

@test "A1: over stateless HTTP, the log contains the client's name and address" {
	start_http --log=log
	connect b
	stateless_ran b 'echo two'
	is "$http" 200
	is "$(logged start client) $(logged start command)" '"t" "echo two"'
	like "$(logged start address)" '"127.0.0.1:[0-9]*"'
}

@test "A1: over HTTP, the log gives each client its own session number" {
	start_http --log=log
	open_session a
	post_bash_and_read a 'echo one'
	connect b
	stateless_ran b 'echo two'
	is "$(logged start session | sort -u | wc -l | xargs)" 2
}

@test "A1: the manual describes every event that the log can contain" {
	boris --edit --log=log
	run_tool edit '{"path":"f","new":"x"}'
	run_bash ''
	stop_server
	for event in $("$HERE/reply" -l event <log | tr -d '"' | sort -u); do
		sed -n '/^\.Sh LOG/,/^\.Sh SIGNALS/s/^\.It Li//p' \
			"$HERE/../doc/boris.1" | grep -qw "$event" ||
			fail "not in the manual: $event"
	done
}

@test "A2: a command is not run if the log cannot record its start" {
	needs_full_device
	boris --log=/dev/full
	run_bash 'echo x >ran'
	not_recorded
	is_tool_error '*: No space left on device*'
	[ ! -e ran ]
	sync_server
}

@test "A2: a background task is not started if the log cannot record its start" {
	needs_full_device
	boris --log=/dev/full
	for how in run_in_background tty; do
		run_bash 'echo x >ran' '{"'$how'":true}'
		not_recorded
	done
	[ ! -e ran ]
	run_tool task_output '{}'
	has "$(text)" 'no tasks'
}

@test "A2: an edit is not applied if the log cannot record it" {
	needs_full_device
	echo old >f
	boris --edit --log=/dev/full
	run_tool edit '{"path":"f","old":"old","new":"new"}'
	not_recorded
	is "$(<f)" old
}

@test "A2: if a symbolic link is edited, the log records the name of its target" {
	boris --edit --log=log
	echo old >f
	ln -s f link
	run_tool edit '{"path":"link","old":"old","new":"new"}'
	is "$(<f)" new
	is "$(logged edit path) $(logged end path)" "\"$PWD/link\" \"$PWD/f\""
}

# log_on_small_disk: Starts a server whose log is on a file system of 8 KiB.
log_on_small_disk() {
	needs_root
	needs unshare
	[ -z "$WRAP" ] || skip "under $WRAP"
	unshare -m true || skip 'no mount namespaces here'
	mkdir disk
	wrap=(unshare -m sh -ec 'mount -t tmpfs -o size=8k none disk
		exec "$@"' sh)
	boris --log=disk/log
}

# fill_disk: Fills the disk of the log, and runs commands until the record of
# one cannot be written. Sets $last to the number of that command. Each command
# that runs writes its number to the file `post_bash_and_read`.
fill_disk() {
	start_task 'cp /dev/zero disk/fill; echo x >full; read <gate'
	await_file full
	for ((last = 0; last < 40; last++)); do
		run_bash "echo $last >ran # $(printf '%0500d' 0)"
		[ "$(get result isError)" = false ] || break
	done
}

@test "A2: a command is not run if the log's disk is full" {
	log_on_small_disk
	fill_disk
	is_tool_error 'nothing was done: cannot write the log*No space left*'
	isnt "$(cat ran)" "$last"
}

@test "A2: text is not typed into a program if the log's disk is full" {
	log_on_small_disk
	start_on_terminal 'read -p "? " x; echo "$x" >got'
	typist=$task
	fill_disk
	task=$typist
	run_input "$(printf '%04000d' 0)"'\n'
	not_recorded
	[ ! -e got ]
}

@test "A2: a secret is not accepted from the user if the log's disk is full" {
	log_on_small_disk
	start_on_terminal 'read -sp "secret " x && echo "$x" >got'
	note=$(plain note)
	secret=${note##*--secret=}
	fill_disk
	status=0
	TMPDIR=$PWD/tmp "$BORIS" --secret="${secret:0:8}" <<<hunter2 2>said ||
		status=$?
	is "$status" 1
	has "$(<said)" 'the log cannot be written'
	[ ! -e got ]
}

@test "A2: a log record starts on a new line even if the log ends in the middle of a line" {
	printf torn >log
	boris --log=log
	run_bash 'echo one'
	printf torn >>log
	run_bash 'echo two'
	printf torn >>log
	is "$(grep -c '^{.*}$' log) $(grep -cx torn log)" '4 3'
}

# lock_log CODE: Runs Python in the background, which opens the log for
# appending as `f`, locks it and runs CODE. Sets $holder.
lock_log() {
	needs python3
	python3 -c 'import fcntl, os, sys, time
f = open("log", "ab", buffering=0)
fcntl.lockf(f, fcntl.LOCK_EX)
'"$1" 3>&- 6>&- 7>&- 8<&- 9>&- &
	holder=$!
	await_file begun
}

@test "A2: boris does not write to the log while another program holds a lock on it" {
	# Python completes its record when boris has written, or after 300 ms.
	lock_log '
f.write(b"{\"half\":")
size = os.path.getsize("log")
open("begun", "w").write("x")
end = time.monotonic() + 0.3
while os.path.getsize("log") == size and time.monotonic() < end:
    time.sleep(0.01)
f.write(b"1}\n")'
	boris --log=log
	run_bash true
	wait $holder
	is "$(head -n 1 log)" '{"half":1}'
	is "$(lines_of_log)" '3 3'
}

@test "A2: several servers can append to one log without leaving blank lines" {
	printf -v long '%0120000d' 0
	send_calls() {
		printf '%s\n' "$HELLO"
		for i in {1..40}; do bash_request "$i" "true # $long"; done
	}
	send_calls >all
	for i in 1 2 3; do
		TMPDIR=$PWD/tmp "$BORIS" --log=log <all >out$i \
			3>&- 6>&- 9>&- &
	done
	wait
	is "$(lines_of_log)" '240 240'
}

@test "A2: if another program keeps the log locked, only the first record waits for the lock" {
	lock_log 'open("begun", "w").write("x"); open("gate").read()'
	boris --log=log
	run_bash true
	is "$(result exit_code)" 0
	start_timer
	for i in {1..20}; do
		run_bash true
	done
	within 10000
	kill $holder
	wait $holder || :
	is "$(lines_of_log)" '42 42'
}

@test "A3: boris exits with status 1 if the log file cannot be opened" {
	mkfifo fifo
	for file in . fifo /nosuch/log "$(printf '%0300d' 0)"; do
		filter --log="$file" </dev/null >out
		is "$status $(wc -c <out) $(wc -l <err)" '1 0 1'
		like "$(<err)" "boris: --log=*$file: cannot open the log: *"
	done
	: >err
}

@test "A3: --log with an empty argument is rejected with exit status 2" {
	filter --log= </dev/null
	is "$status" 2
	: >err
}

@test "A3: the log file can be a character device" {
	filter --log=/dev/null </dev/null
	is "$status" 0
}

@test "A3: --log=/dev/stderr writes to boris's stderr" {
	boris --log=/dev/stderr
	run_bash 'echo one'
	cp err log
	is "$(events)" 'start end'
	stop_server
	: >err # Teardown fails if stderr is not empty.
}

@test "A3: with --log=/dev/stderr, boris does not block if stderr is a full pipe" {
	mkfifo errors
	exec 4<>errors
	printf -v long '%030000d' 0
	printf '%s\n' "$HELLO" >calls
	for i in 1 2 3 4; do
		bash_request $i "echo x >>times # $long"
	done >>calls
	TMPDIR=$PWD/tmp timeout -k 1 20 "$BORIS" --log=/dev/stderr \
		<calls 2>errors >out 3>&- 4>&- 5>&- 6>&- 9>&-
	has "$(<out)" 'nothing was done: cannot write the log'
	most "$(grep -c x times)" 3
	exec 4>&-
}

@test "A3: with --log=/dev/stderr, boris does not block on a terminal that is not being read" {
	needs python3
	# Python keeps the terminal open until no process has `gate` open.
	python3 -c 'import os, pty
m, s = pty.openpty()
print(os.ttyname(s), flush=True)
open("gate").read()' >pts 3>&- 6>&- 9>&- &
	await_file pts
	wrap=(bash -c 'exec "$@" 2>"$(<pts)"' bash)
	boris --log=/dev/stderr
	for n in {1..30}; do
		run_bash "echo x >ran$n # $(printf %05000d 0)"
		[ "$(get result isError)" = false ] || break
	done
	not_recorded
	[ ! -e "ran$n" ]
	sync_server
}

@test "A3: the log file can be outside the --write directory" {
	needs_linux_parts
	mkdir w
	boris --write="$PWD/w" --log="$PWD/log" --workdir="$PWD/w"
	run_bash "echo x >>$PWD/log"
	has "$(plain stderr)" denied
	stop_server
	check_records
	is "$(wc -l <log)" 2
}

@test "A3: the log file can be in a directory hidden by --hide" {
	needs_linux_parts
	mkdir h
	"$BORIS" --hide="$PWD/h" </dev/null || skip 'no namespaces here'
	boris --hide="$PWD/h" --log="$PWD/h/log"
	run_bash 'ls -A h'
	is "$(result stdout)" '""'
	stop_server
	check_records h/log
	is "$(wc -l <h/log)" 2
}

@test "A3: a command does not inherit the log's file descriptor" {
	needs_linux
	boris --log="$PWD/log"
	run_bash 'ls -l /proc/self/fd'
	lacks "$(plain stdout)" "$PWD/log"
}

@test "A3: with --write, a command does not inherit the log's file descriptor" {
	needs_linux_parts
	mkdir w
	boris --write="$PWD/w" --log="$PWD/log" --workdir="$PWD/w"
	run_bash 'ls -l /proc/self/fd'
	lacks "$(plain stdout)" "$PWD/log"
}

@test "A3: with --hide, a command cannot see the log's file descriptors" {
	needs_linux_parts
	mkdir h
	"$BORIS" --hide="$PWD/h" </dev/null || skip 'no namespaces here'
	boris --hide="$PWD/h" --log="$PWD/h/log"
	run_bash "ls -l /proc/self/fd /proc/$server/fd"
	lacks "$(plain stdout)" log
}
