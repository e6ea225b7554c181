#!/usr/bin/env bats
# A: the log
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load http

# logged EVENT [-n] STEP: what the records of that event have there, as JSON, a
# line each
logged() {
	grep -aF "\"event\":\"$1\"" log | "$HERE/reply" -l "${@:2}"
}

# the_last: line of several
the_last() {
	tail -n 1
}

# events: those in the log, in their order
events() {
	"$HERE/reply" -l event <log | xargs
}

# each_is_whole: every line of the log is a JSON object with its time
each_is_whole() {
	local time
	while read -r time; do
		[[ $time =~ ^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{3}Z$ ]] ||
			fail "time: $time" || return
	done < <("$HERE/reply" -l time <"${1-log}" | tr -d '"')
}

# left and cleaned up, whichever transport it was
leave() {
	if [ "$port" = 0 ]; then
		end_input
	else
		kill "$server"
	fi
	died
	grep -v '^boris: listening on ' err >said || :
	mv said err
}

@test "A1: the start and the end of a command are recorded" {
	boris --log=log --workdir=/tmp
	run_bash $'printf abc; echo "d\te" >&2; exit 3'
	run_bash true '{"comand":"ls"}'
	refused 'unknown argument*'
	leave
	is "$(events)" 'start end'
	each_is_whole
	is "$(logged start client) $(logged start version)" '"t" "1"'
	is "$(logged start cwd) $(logged start command)" '"/tmp" "printf abc; echo \"d\te\" >&2; exit 3"'
	is "$(logged start call) $(logged end call)" '1 1'
	is "$(logged start session)" "$(logged end session)"
	is "$(logged end status) $(logged end exit_code) $(logged end stdout_bytes) $(logged end stderr_bytes)" \
		'"completed" 3 3 4'
	like "$(logged end elapsed_ms) $(logged end pid)" '[0-9]* [1-9]*'
}

@test "A1: the log is created with mode 0600" {
	echo '{"old":1}' >log
	umask 0
	boris --log=log
	run_bash true
	leave
	is "$(head -n 1 log) $(wc -l <log)" '{"old":1} 3'
	filter --log new </dev/null
	is "$(stat -c %a new)" 600
	BORIS_LOG=log boris
	run_bash true
	is "$(wc -l <log)" 5
}

@test "A1: a command of 100,000 characters is recorded in full" {
	local long
	printf -v long '%0100000d' 0
	boris --log=log
	run_bash "echo '$long' | wc -c"
	is "$(plain stdout)" 100001
	is "$(logged start -n command)" 100015
	each_is_whole
}

@test "A1: the record of an end says how the command ended" {
	boris --log=log
	run_bash 'read <never' '{"timeout":50}'
	start_task 'read <never'
	run_tool bash '{"kill_pid":'"$pid"'}'
	call_bash 'echo x >begun; read <never'
	begun begun
	cancel "$id"
	run_bash 'kill -9 $$'
	is "$(logged end status | xargs)" 'timed_out killed cancelled completed'
	is "$(logged end signal | the_last) $(logged end exit_code | the_last)" '"SIGKILL" 137'
}

@test "A1: the records of a task have its task_id" {
	boris --log=log
	start_task 'echo hi'
	eventually grep -q '"end"' log
	is "$(logged start task_id) $(logged end task_id)" "\"$task\" \"$task\""
	is "$(logged start background)$(logged start tty) $(logged end pid)" "true $pid"
	run_bash 'echo ho' '{"tty":true}'
	is "$(logged start background)$(logged start tty)" $'true\ntrue\ntrue'
}

@test "A1: the end of a command that became a task is recorded with the task_id" {
	boris --log=log --on-timeout=background
	run_bash 'read <gate' '{"timeout":50}'
	task=$(plain task_id)
	release
	eventually grep -q '"end"' log
	is "$(logged start task_id) $(logged end task_id)" " \"$task\""
}

@test "A1: typed text is recorded unless echo is off" {
	boris --log=log
	on_terminal 'read -p "user " u; read -sp "password " p; echo; stty -echo; printf "again "; read q; stty echo; read -p "more " r; echo "$u$r"'
	type_in 'bob\n'
	type_in 'hunter2\n'
	type_in 'hunter3\n'
	type_in '' '"wait":0'
	type_in 'x\ty\u0001\n'
	is "$(result status)" '"completed"'
	is "$(logged input input)" $'"bob\\n"\n\n\n"x\\ty\\u0001\\n"'
	is "$(logged input secret | xargs)" 'true true'
	is "$(logged input task_id | sort -u)" "\"$task\""
	is "$(grep -c hunter log || :)" 0
}

@test "A1: a command that still runs when boris exits is recorded as running" {
	hurried
	boris --log=log
	call_bash 'trap "" TERM; echo x >begun; while :; do read <never; done' '{"timeout":600000}'
	begun begun
	kill "$server"
	in_turn
	kill "$server"
	died
	is "$(logged end status)" '"running"'
	is "$(events)" 'start end'
	eventually alone
}

@test "A1: the record of an edit shows whether the edit failed" {
	boris --edit --log=log
	echo old >f
	# What differs beside numbers, between an edit that fails and one that does not
	for old in none old; do
		: >log
		run_tool edit '{"path":"f","old":"'$old'","new":"x"}'
		has "$(logged edit path)" "$PWD/f"
		sed 's/[0-9][0-9]*/N/g' log >$old.log
	done
	isnt "$(<none.log)" "$(<old.log)"
}

@test "A1: over HTTP, a start is recorded with the name and address of the client" {
	serve --log=log
	enter a
	ran a 'echo one'
	plug b
	modern_ran b 'echo two'
	is "$http" 200
	is "$(logged start command | xargs)" 'echo one echo two'
	is "$(logged start address | grep -c '^"127.0.0.1:[0-9]*"$')" 2
	is "$(logged start client | xargs)" 't t'
	isnt "$(logged start session | head -n 1)" "$(logged start session | the_last)"
}

@test "A1: the manual lists every event of the log" {
	boris --edit --log=log
	run_tool edit '{"path":"f","new":"x"}'
	run_bash ''
	leave
	for event in $("$HERE/reply" -l event <log | tr -d '"' | sort -u); do
		sed -n '/^\.Sh LOG/,/^\.Sh SIGNALS/s/^\.It Li//p' "$HERE/../doc/boris.1" |
			grep -qw "$event" || fail "not in the manual: $event"
	done
}

@test "A2: a command does not run if its start cannot be recorded" {
	[ -c /dev/full ] || skip 'no /dev/full'
	boris --log=/dev/full
	run_bash 'echo x >ran'
	refused 'nothing was done: cannot write the log*: No space left on device*'
	run_bash 'echo x >ran' '{"run_in_background":true}'
	refused 'nothing was done: cannot write the log*'
	run_bash 'echo x >ran' '{"tty":true}'
	refused 'nothing was done: cannot write the log*'
	[ ! -e ran ]
	run_tool task_output '{}'
	has "$(text)" 'no tasks'
	in_turn
}

@test "A2: an edit is not made if it cannot be recorded" {
	boris --edit --log=log
	echo old >f
	ln -s f link
	run_tool edit '{"path":"link","old":"old","new":"new"}'
	is "$(<f)" new
	is "$(logged edit path) $(logged end path)" "\"$PWD/link\" \"$PWD/f\""
	leave
	boris --edit --log=/dev/full
	run_tool edit '{"path":"f","old":"new","new":"newer"}'
	refused 'nothing was done: cannot write the log*'
	is "$(<f)" new
}

@test "A2: nothing is typed while the disk of the log is full" {
	needs_root
	needs unshare
	[ -z "$WRAP" ] || skip "under $WRAP"
	unshare -m true || skip 'no mount namespaces here'
	mkdir disk
	wrap=(unshare -m sh -ec 'mount -t tmpfs -o size=8k none disk; exec "$@"' sh)
	boris --log=disk/log
	on_terminal 'read -p "? " x; echo "<$x>"; read y'
	typist=$task
	on_terminal 'read -sp "secret " x && echo "$x" >got'
	secret=$(plain note)
	secret=${secret##*--secret=}
	start_task 'cp /dev/zero disk/fill; echo x >full; read <gate'
	begun full
	for ((i = 0; i < 40; i++)); do
		run_bash "echo x$i >last # $(printf '%0500d' 0)"
		[ "$(get result isError)" = false ] || break
	done
	refused 'nothing was done: cannot write the log*No space left*'
	isnt "$(cat last)" "x$i"
	run_tool bash '{"task_id":"'"$typist"'","input":"'"$(printf '%05000d' 0)"'"}'
	refused 'nothing was done: cannot write the log*'
	status=0
	TMPDIR=$PWD/tmp "$BORIS" --secret="${secret:0:8}" <<<hunter2 2>said || status=$?
	is "$status" 1
	has "$(<said)" 'the log cannot be written'
	[ ! -e got ]
	rm -f last
	release
	run_tool bash '{"kill_pid":'"$pid"'}'
}

@test "A2: each record is a complete line even if another program appends to the log" {
	printf torn >log
	boris --log=log
	run_bash 'echo one'
	printf torn >>log
	run_bash 'echo two'
	printf torn >>log
	is "$(grep -c '^{.*}$' log) $(grep -cx torn log)" '4 3'
}

# lock_log: runs Python with the log open for appending as `f` and locked
lock_log() {
	python3 -c 'import fcntl, os, sys, time
f = open("log", "ab", buffering=0)
fcntl.lockf(f, fcntl.LOCK_EX)
'"$1" 3>&- 6>&- 7>&- 8<&- 9>&- &
	holder=$!
}

@test "A2: a record waits until another server has written its own" {
	needs python3
	# It completes its record when boris has written, or has not for 300 ms.
	lock_log '
f.write(b"{\"half\":")
size = os.path.getsize("log")
open("begun", "w").write("x")
end = time.monotonic() + 0.3
while os.path.getsize("log") == size and time.monotonic() < end: time.sleep(0.01)
f.write(b"1}\n")'
	begun begun
	boris --log=log
	run_bash true
	wait $holder
	is "$(head -n 1 log)" '{"half":1}'
	is "$(wc -l <log) $(grep -c '^{.*}$' log)" '3 3'
}

@test "A2: servers that share a log write no blank lines" {
	printf -v long '%0120000d' 0
	for i in {1..40}; do
		call='{"jsonrpc":"2.0","id":'$i',"method":"tools/call","params":{"name":"bash","arguments":{"command":"true # '$long'"}}}'
		printf '%s\n' "$call"
	done >all
	sed -i "1i $HELLO" all
	for i in 1 2 3; do
		TMPDIR=$PWD/tmp "$BORIS" --log=log <all >out$i 3>&- 6>&- 9>&- &
	done
	wait
	is "$(wc -l <log) $(grep -c '^{.*}$' log)" '240 240'
}

@test "A2: a lock held by another program delays only one record" {
	needs python3
	lock_log 'open("begun", "w").write("x"); open("gate").read()'
	begun begun
	boris --log=log
	run_bash true
	is "$(result exit_code)" 0
	begin
	for i in {1..20}; do
		run_bash true
	done
	within 10000
	kill $holder
	wait $holder || :
	is "$(wc -l <log) $(grep -c '^{.*}$' log)" '42 42'
}

@test "A3: boris exits with status 1 if the log cannot be opened" {
	mkfifo fifo
	for file in . fifo /nosuch/log "$(printf '%0300d' 0)"; do
		filter --log="$file" </dev/null >out
		is "$status $(wc -c <out) $(wc -l <err)" '1 0 1'
		like "$(<err)" "boris: --log=*$file: cannot open the log: *"
	done
	filter --log= </dev/null
	is "$status" 2
	: >err
	filter --log=/dev/null </dev/null
	is "$status" 0
}

@test "A3: --log=/dev/stderr writes to descriptor 2 without waiting" {
	boris --log=/dev/stderr
	run_bash 'echo one'
	cp err log
	is "$(events)" 'start end'
	leave
	: >err  # of which teardown wants to see nothing
	mkfifo errors
	exec 4<>errors
	{ printf '%s\n' "$HELLO"; for i in 1 2 3 4; do
		printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"bash","arguments":{"command":"echo x >>times # %030000d"}}}\n' $i 0
	done; } | TMPDIR=$PWD/tmp timeout -k 1 20 "$BORIS" --log=/dev/stderr 2>errors >out 3>&- 4>&- 5>&- 6>&- 9>&-
	has "$(<out)" 'nothing was done: cannot write the log'
	most "$(grep -c x times)" 3
	exec 4>&-
}

@test "A3: boris does not wait for a terminal on stderr that no process reads" {
	needs python3
	# It ends, and its terminal with it, when nobody has `gate` open any more.
	python3 -c 'import os, pty; m, s = pty.openpty(); print(os.ttyname(s), flush=True)
open("gate").read()' >pts 3>&- 6>&- 9>&- &
	begun pts
	wrap=(bash -c 'exec "$@" 2>"$(<pts)"' bash)
	boris --log=/dev/stderr
	for n in {1..30}; do
		run_bash "echo x >ran$n # $(printf %05000d 0)"
		[ "$(get result isError)" = false ] || break
	done
	refused 'nothing was done: cannot write the log*'
	[ ! -e "ran$n" ]
	in_turn
}

@test "A3: the log can be outside of --write and below --hide" {
	needs_linux_parts
	mkdir w h
	boris --write="$PWD/w" --log="$PWD/log" --workdir="$PWD/w"
	run_bash "echo x >>$PWD/log || ls -l /proc/self/fd"
	lacks "$(plain stdout)" "$PWD/log"
	has "$(plain stderr)" denied
	each_is_whole
	leave
	"$BORIS" --hide="$PWD/h" </dev/null || skip 'no namespaces here'
	boris --hide="$PWD/h" --log="$PWD/h/log" --workdir="$PWD/w"
	run_bash "ls -A ../h; ls -l /proc/self/fd /proc/$server/fd"
	lacks "$(plain stdout)" "log"
	leave
	each_is_whole h/log
	is "$(wc -l <h/log)" 2
}
