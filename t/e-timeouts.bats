#!/usr/bin/env bats
# E: processes and timeouts
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# For a command, in quotes that "trap" leaves alone: h begins what forks and
# exits all the time, as long as there is the file `forks`.
FORKING='h() { [ -e forks ] && printf x >>count && h & }'

# none_forks: such a one has been there, and is not there any more
none_forks() {
	local before
	before=$(wc -c <count)
	pause 3000
	rm forks
	least "$before" 5
	is "$(wc -c <count)" "$before"
}

# zombies: the server's children that have ended and are not reaped
zombies() {
	cat /proc/[0-9]*/stat 2>/dev/null |
		sed -n "s/^\([0-9]*\) (.*) Z $server .*/\1/p"
}

@test "E1: a command, in the background too, leads a group and a session of its own" {
	needs_linux
	boris
	run_bash 'read -r pid name state parent group session rest </proc/$$/stat; echo $((pid - $$)) $((group - $$)) $((session - $$))'
	is "$(result stdout)" '"0 0 0\n"'
	start_task 'read -r pid name state parent group session rest </proc/$$/stat; echo $$ $group $session'
	look "$task" '{"wait":10000}'
	is "$(plain stdout)" "$pid $pid $pid"
}

@test "E1: a SIGTERM, or a cancellation, at the instant of a start is not lost" {
	for i in 1 2 3 4 5 6; do
		boris
		call_bash 'read <gate'
		kill -TERM "$server"
		died
		none_left
	done
	boris
	for i in 1 2 3 4 5 6; do
		call_bash 'read <gate'
		cancel $id
	done
	begin
	run_bash 'echo hi'
	within 3000
	is "$(result stdout)" '"hi\n"'
}

@test "E1: a command inherits no descriptor of boris's but the directory's" {
	needs_linux
	boris
	start_task 'read <gate'
	run_bash 'head -c 40000 /dev/zero; sleep 600 & true'
	run_bash 'cd /proc/$$/fd && ls' '{"stdin":"x"}'
	is "$(plain stdout | sort -n | xargs)" '0 1 2 250'
}

@test "E2: at the timeout the command gets SIGTERM; what it printed, its handler too, is in the result, at once" {
	boris
	begin
	run_bash 'echo out; echo err >&2; printf part; echo $$ >pid; read <gate' '{"timeout":'$((200 * SLOW))'}'
	least "$(took)" 190
	within 3000
	is "$(result status) $(result timed_out) $(result exit_code)" '"timed_out" true 143'
	is "$(result stdout) $(result stderr)" '"out\npart" "err\n"'
	gone pid
	run_bash 'trap "echo bye; exit 7" TERM; echo hi; read <gate' '{"timeout":'$((200 * SLOW))'}'
	is "$(result status) $(result exit_code) $(result stdout)" '"timed_out" 7 "hi\nbye\n"'
	run_bash 'read <gate' '{"timeout":1}'
	is "$(result status)" '"timed_out"'
	has "$(text)" 'Command timed out after 1ms'
	run_bash 'echo hi' '{"timeout":5000}'
	is "$(result status) $(result timed_out)" '"completed" '
}

@test "E2: at the timeout all of the group ends, children and grandchildren" {
	boris
	run_bash '(bash -c "echo \$\$ >b; read <gate; true" & echo $BASHPID >a; read <gate) & read <gate | read <gate' \
		'{"timeout":'$((400 * SLOW))'}'
	is "$(result status)" '"timed_out"'
	gone a
	gone b
}

@test "E2: a command that ignores SIGTERM is killed 5 s later" {
	boris
	begin
	run_bash 'trap "" TERM; echo hi; while :; do read <gate; done' '{"timeout":'$((300 * SLOW))'}'
	least "$(took)" 5000
	within 7000
	is "$(result status) $(result exit_code) $(result stdout)" '"timed_out" 137 "hi\n"'
}

@test "E2: at the timeout a child that ignores SIGTERM is killed too, its leader gone" {
	hurried
	boris
	begin
	run_bash '(trap "" TERM; echo $BASHPID >pid; read <gate) & read <gate' '{"timeout":3000}'
	least "$(took)" 8000
	within 10000
	is "$(result status) $(result exit_code)" '"timed_out" 143'
	gone pid
}

@test "E2: a command that has stopped itself is continued, and ends at once" {
	boris
	begin
	run_bash 'kill -STOP $$; echo no' '{"timeout":'$((200 * SLOW))'}'
	within 4000
	is "$(result status) $(result exit_code)" '"timed_out" 143'
}

@test "E2: a zombie in the group counts as gone, and what has left the group and holds the pipe delays nothing" {
	needs setsid
	needs_linux_parts
	boris
	for command in '(true & exec setsid sleep 600) & echo $! >far; read <gate' \
		'setsid sh -c "echo \$\$ >far; exec sleep 600" & read <gate'; do
		begin
		run_bash "$command" '{"timeout":'$((400 * SLOW))'}'
		within 4000
		is "$(result status)" '"timed_out"'
		there far
		kill -9 "$(cat far)"
		eventually gone far
	done
}

@test "E2: a child forked as the SIGTERM arrives gets one too" {
	boris
	begin
	run_bash 'trap "sh -c \"echo \\\$\\\$ >late; exec sleep 600\" & until test -s late; do :; done; exit 3" TERM; read <gate' '{"timeout":'$((200 * SLOW))'}'
	within 4000
	is "$(result status) $(result exit_code)" '"timed_out" 3'
	gone late
}

@test "E2: who forks and exits all the time does not survive the timeout, a leader neither" {
	hurried
	boris
	for command in "(trap '' TERM; $FORKING; h) & read <gate" \
		"trap '' TERM; $FORKING; h; read <gate"; do
		: >forks
		run_bash "$command" '{"timeout":3000}'
		is "$(result status)" '"timed_out"'
		none_forks
		rm count
	done
}

# ends_as_ever: a timeout ends the call at once, and a stubborn child later
ends_as_ever() {
	begin
	run_bash 'sleep 600 & read <gate' '{"timeout":1000}'
	least "$(took)" 990
	within 4000
	is "$(result status) $(result exit_code)" '"timed_out" 143'
	begin
	run_bash '(trap "" TERM; echo $BASHPID >pid; read <gate) & read <gate' '{"timeout":3000}'
	least "$(took)" 8000
	within 10000
	is "$(result status) $(result exit_code)" '"timed_out" 143'
	# Its new parent may not have reaped it yet.
	run_bash 'kill -0 "$(cat pid)" 2>/dev/null && ! grep -qs "State:.Z" "/proc/$(cat pid)/status"'
	is "$(result exit_code)" 1
	: >forks
	run_bash "(trap '' TERM; $FORKING; h) & read <gate" '{"timeout":3000}'
	none_forks
}

@test "E2: with the /proc of an outer pid namespace, or without one, a timeout ends all of the group, too" {
	needs_root
	needs unshare
	needs_plain
	hurried
	for how in 'unshare --pid --fork --kill-child' \
		'unshare -m sh -c "umount -l /proc && exec \"\$@\"" sh'; do
		eval "wrap=($how)"
		"${wrap[@]}" true || skip 'no namespaces here'
		boris
		ends_as_ever
		leave
		rm -f count forks pid
	done
}

# masked TEXT: what /proc/loadavg says to the server of this test
masked() {
	needs_root
	needs unshare
	needs_plain
	printf '%s' "$1" >loadavg
	wrap=(unshare -m sh -c 'mount --bind loadavg /proc/loadavg && exec "$@"' sh)
	"${wrap[@]}" true || skip 'no mount namespaces here'
}

@test "E2: so it is where /proc/loadavg does not tell the last pid, or is masked; nothing is said to be left" {
	for loadavg in '0.00 0.00 0.00 0/0 0' ''; do
		masked "$loadavg"
		hurried
		boris
		for i in 1 2 3; do
			run_bash 'echo hi; true'
			lacks "$reply" 'left processes'
		done
		run_bash 'sleep 600 &'
		has "$reply" 'left processes'
		ends_as_ever
		leave
		rm -f count forks pid
	done
}

@test "E4, E7: where neither /proc nor poll() can be had all goes on, and nothing is said to be left" {
	needs prlimit
	needs_plain
	boris
	run_bash true
	# The command takes the descriptors away with which boris would look.
	run_bash 'prlimit --pid $PPID --nofile=1:; read -t 0.3 <>never; true'
	lacks "$reply" 'left processes'
	is "$(result status) $(result exit_code)" '"completed" 0'
	prlimit --pid "$server" --nofile=1024:
	run_bash 'sleep 600 &'
	has "$reply" 'left processes'
}

@test "E2: a command that is ended while it begins gets SIGTERM again" {
	needs_plain
	boris
	again() {
		: >got
		# boris's clock ends it, so that a slow machine is not too late
		run_bash 'trap "echo x >>got" TERM
			for i in {1..20}; do read -t 0.02 <>never; done' \
			'{"timeout":30}'
		[ "$(wc -l <got)" = 2 ]
	}
	eventually again
}

@test "E3: while its group lives a leader that has ended is not reaped" {
	needs_linux_parts
	hurried
	boris
	run_bash 'sleep 600 & echo $! >child; echo $$ >leader'
	in_turn
	gone leader
	kill -0 "$(cat leader)"
	kill "$(cat child)"
	eventually reaped "$(cat leader)"
}

@test "E3: a process left behind is still known by its group when the session closes" {
	boris
	run_bash 'sleep 600 & echo $! >child'
	there child
	leave
	is $status 0
	gone child
}

@test "E3: whoever has the number of a group that has gone is not signalled" {
	needs_root
	needs unshare setsid
	needs_plain
	# A shell is process 1, which outlives boris and tells who is left.
	wrap=(unshare --pid --fork --kill-child --mount-proc sh -c
	    '"$@"; kill -0 "$(cat number)" && echo yes >alive' sh)
	unshare --pid --fork --mount-proc test -w /proc/sys/kernel/ns_last_pid ||
		skip 'no PID namespaces here'
	hurried
	boris
	run_bash 'sleep 600 & echo $! >child; echo $$ >number'
	run_bash 'kill "$(cat child)"'
	free() {
		run_bash 'kill -0 "$(cat number)" 2>/dev/null'
		is "$(result exit_code)" 1
	}
	eventually free
	run_bash 'while number=$(cat number); do
			echo $((number - 1)) >/proc/sys/kernel/ns_last_pid
			setsid sh -c "echo \$\$ >far; exec sleep 600" &
			[ $! != $number ] || break
			kill $!
		done' '{"timeout":600000}'
	is "$(result status)" '"completed"'
	eventually cmp -s far number
	leave
	is "$(cat alive)" yes
}

@test "E4: a command that leaves a process running, with a session of its own too, returns when its shell ends" {
	boris
	begin
	run_bash 'sleep 600 & echo $! >child; echo hi'
	within 2000
	is "$(result stdout) $(result exit_code)" '"hi\n" 0'
	there child
	needs setsid
	begin
	run_bash 'setsid sh -c "echo \$\$ >far; exec sleep 600" & echo hi'
	within 2000
	is "$(result stdout)" '"hi\n"'
	begun far
	kill -9 "$(cat far)"
	eventually gone far
}

@test "E4: a command that has ended does not time out for what it leaves" {
	boris
	# When boris goes on, the shell has ended and the time is over.
	run_bash '(trap "" TERM; sleep 1.3; kill -CONT $PPID; exec sleep 1) &
		kill -STOP $PPID; exit 3' '{"timeout":1000}'
	is "$(result status) $(result exit_code)" '"completed" 3'
}

@test "E4: boris does not spin while what has another session holds a pipe" {
	needs_linux
	needs_plain
	needs setsid
	hurried
	boris
	run_bash 'setsid sh -c "echo \$\$ >child; exec sleep 600" & until [ -s child ]; do :; done'
	pause 11000
	run_bash true
	rests 1
	kill "$(cat child)"
}

@test "E4: what is left behind is neither blocked nor killed when it prints, and prints into no later result" {
	boris
	run_bash '(read <gate; head -c 3000000 /dev/zero; head -c 300000 /dev/zero >&2; echo x >done) & echo hi'
	is "$(result stdout)" '"hi\n"'
	release
	begun done
	rm done
	run_bash '(read <gate; echo late; echo late >&2; echo x >done) & echo hi'
	release
	begun done
	run_bash 'echo next'
	is "$(result stdout) $(result stderr)" '"next\n" ""'
}

@test "E4: what was printed until the shell ended is in the result, all of it" {
	boris
	run_bash 'sleep 600 & head -c 29000 /dev/zero | tr "\0" a; printf b'
	is "$(plain stdout | wc -c | tr -d ' ')" 29001
	like "$(plain stdout)" '*ab'
}

@test "E5: a command that outlives its timeout becomes a background task" {
	boris --on-timeout=background
	run_bash 'echo one; read <gate; echo two; exit 3' '{"timeout":'$((200 * SLOW))'}'
	is "$(result status) $(result stdout)" '"running" "one\n"'
	task=$(plain task_id) pid=$(result pid)
	like "$task" '?*'
	like "$(text)" "\"status: running\\\\n*"
	has "$(text)" 'elapsed: '
	has "$(text)" "task_id: $task"
	has "$(text)" "pid: $pid"
	is "$(result exit_code)$(result timed_out)" ''
	there "$pid"
	release
	look "$task" '{"wait":10000}'
	is "$(result status) $(result exit_code)" '"completed" 3'
	is "$(result stdout)" '"one\ntwo\n"'
}

@test "E5: the note says that the timeout has made a task of a command, and how to end that" {
	boris --on-timeout=background
	run_bash 'read <gate' '{"timeout":1000}'
	task=$(plain task_id) pid=$(result pid)
	is "$(plain note)" "the command timed out after 1000 ms and keeps running as task $task; wait for it with task_output, or stop it with kill_pid $pid"
	run_bash 'read <gate' '{"timeout":300}'
	has "$(plain note)" '; timeout is in milliseconds; wait for it '
}

@test "E5: behind a command that became a task the next one runs, in a directory that has not moved; a cancelled one becomes none" {
	mkdir d
	export BORIS_ON_TIMEOUT=background
	boris
	run_bash 'cd d; read <../gate; echo hi' '{"timeout":'$((200 * SLOW))'}'
	task=$(plain task_id)
	release
	look "$task" '{"wait":10000}'
	is "$(result stdout)" '"hi\n"'
	run_bash pwd
	is "$(plain stdout)" "$PWD"
	call_bash 'echo $$ >pid; read <gate'
	begun pid
	cancel $id
	eventually gone pid
}

@test "E5: with ten tasks running a command that outlives its timeout is ended, and note says why" {
	boris --on-timeout=background
	for i in 1 2 3 4 5 6 7 8 9 10; do
		start_task 'read <gate'
	done
	run_bash 'echo $$ >pid; echo hi; read <gate' '{"timeout":'$((200 * SLOW))'}'
	is "$(result status) $(result stdout)" '"timed_out" "hi\n"'
	has "$(result note)" 10
	has "$(text)" '10 '
	gone pid
}

@test "E6: a command keeps running as a task when a timer of the client cancels its call" {
	boris
	call_bash 'echo so far; echo x >mark; read <gate; echo end'
	long=$id
	begun mark
	give_up $long
	run_bash 'echo next'
	is "$(result stdout)" '"next\n"'
	like "$(plain note)" 'your call timed out; its command keeps running as task ????????: echo so far; echo x >mark; read <gate; echo end'
	task=$(plain note | sed 's/.* task \([0-9a-f]*\):.*/\1/')
	run_bash 'echo again'
	lacks "$reply" 'timed out'
	release
	look '' '"wait":20000'
	is "$(result stdout)" '"so far\nend\n"'
	leave
	unanswered $long
}

@test "E6: the reasons that SDKs give for their own timers are known, and others terminate the command" {
	boris
	for reason in 'request timeout' 'context deadline exceeded' Timeout \
		'TimeoutError: The operation was aborted due to timeout' \
		'\u0052equest timed out'; do
		rm -f pid
		call_bash 'echo $$ >pid; read <gate'
		begun pid
		give_up $id "$reason"
		run_bash true
		has "$(plain note)" 'your call timed out; its command keeps running'
		there pid
	done
	for reason in '' user 'the user pressed Escape' 'Request cancelled'; do
		rm -f pid
		call_bash 'echo $$ >pid; read <gate'
		begun pid
		give_up $id "$reason"
		eventually gone pid
		run_bash true
		lacks "$reply" 'timed out'
	done
	release 5
}

@test "E7: if the limit on open files is too low, the error says so" {
	wrap=(sh -c 'ulimit -n 10; exec "$@"' sh)
	boris
	run_bash true
	refused '*: too many open files: this server can open only 10 (ulimit -n); *'
	lacks "$(text)" 'try again'
}

@test "E6: with ten tasks running, an abandoned command is terminated, but its output can be read" {
	boris
	local i
	for i in {1..10}; do
		start_task 'read <never'
	done
	call_bash 'echo so far; echo x >mark; read <never'
	begun mark
	give_up $id
	run_bash 'echo next'
	like "$(plain note)" 'your call timed out; boris terminated its command, because 10 background tasks were already running; read its output with task_output and task_id ????????: echo so far; *'
	lacks "$(plain note)" 'ended with exit code'
	task=$(plain note | sed 's/.* task_id \([0-9a-f]*\): .*/\1/')
	look
	is "$(result status) $(result stdout)" '"timed_out" "so far\n"'
	has "$(plain note)" 'the command was terminated when your call timed out; the command was not continued as a task, because 10 background tasks are running, which is the maximum'
}

@test "E6: an abandoned command that is already being terminated can be read when it has ended" {
	boris
	call_bash 'trap "echo bye; echo x >mark; read <gate; exit 3" TERM; echo hi; read <never' \
		'{"timeout":300}'
	begun mark
	give_up $id
	in_turn
	release
	run_bash 'echo next'
	like "$(plain note)" 'your call timed out; its command ended as task ???????? with exit code 3: *'
	task=$(plain note | sed 's/.* task \([0-9a-f]*\) .*/\1/')
	look
	is "$(result status) $(result stdout)" '"timed_out" "hi\nbye\n"'
}

@test "E6: an abandoned command in the queue is started if its turn has come, else reported as not run" {
	boris
	call_bash 'echo x >first; read <gate; echo first'
	first=$id
	call_bash 'echo second; read <gate'
	second=$id
	call_bash 'touch ran'
	third=$id
	begun first
	give_up $third
	in_turn
	send "$(give_up $first 7>&1)" "$(give_up $second 7>&1)"
	# A list that is read in the same turn is answered before the start.
	in_turn
	run_tool task_output '{}'
	text=$(get -s result content 0 text)
	has "$text" 'your call timed out; its command was not run: touch ran'
	has "$text" ': echo x >first; read <gate; echo first'
	like "$text" '*keeps running as task ????????: echo second; read <gate'
	is "$(plain note)" "${text#*note: }"
	is "$(all -v result structuredContent tasks 1 status | tail -n 1)" '"running"'
	run_bash true
	lacks "$reply" 'timed out'
	release 2
	leave
	[ ! -e ran ]
}

@test "E6: an abandoned command with an absolute cwd keeps running as a task (D7)" {
	boris
	call_bash "echo x >'$PWD/begun'; read <'$PWD/gate'; pwd" '{"cwd":"/"}'
	begun begun
	give_up $id
	run_bash true
	like "$(plain note)" 'your call timed out; its command keeps running as task ????????: *'
	task=$(plain note | sed 's/.* task \([0-9a-f]*\):.*/\1/')
	release
	look '' '{"wait":20000}'
	is "$(plain stdout)" /
}

@test "E6: at most ten abandoned commands that were not run are kept to be reported" {
	boris
	call_bash 'echo x >first; read <gate'
	first=$id
	begun first
	local i
	for i in {1..12}; do
		call_bash "touch ran$i"
		give_up $id
	done
	in_turn
	release
	answer $first
	lacks "$reply" 'ran4'
	for i in 4 7 10; do
		has "$(plain note)" "ran$((i - 1))"
		run_bash true
	done
	has "$(plain note)" ran10
	lacks "$(plain note)" ran11
	run_bash true
	lacks "$reply" 'timed out'
	! compgen -G 'ran*'
}

@test "E6: the id of a task whose start was abandoned while it waited is reported" {
	boris
	call_bash 'echo x >mark; read <gate' '{"run_in_background":true,"wait":60000}'
	begun mark
	give_up $id
	run_tool bash '{"cmd":"ls"}'
	like "$(get -s result content 0 text)" '*note: your call timed out; its command keeps running as task ????????: echo x >mark; read <gate'
	release
}

@test "E6: an abandoned wait ends, and an abandoned edit in the queue is not made" {
	boris --edit
	start_task 'read <gate'
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	give_up $id
	call_bash 'echo x >first; read <gate'
	first=$id
	call edit '{"path":"f","new":"text"}'
	begun first
	give_up $id
	in_turn
	release 2
	answer $first
	lacks "$reply" 'timed out'
	[ ! -e f ]
}

@test "E6: a cancelled command gets SIGTERM, and time to handle it; the next one waits until it is gone" {
	boris
	call_bash '(echo $BASHPID >child; read <gate) & trap "read <gate; echo bye >bye; exit" TERM; echo $$ >pid; while :; do read -t 1 <>never; done'
	begun pid child
	pause 100 # a command of less than 50 ms gets SIGTERM twice (E2)
	cancel $id
	call_bash 'cat bye'
	eventually gone child
	release
	answer
	is "$(result stdout)" '"bye\n"'
	gone pid
}

@test "E7: without descriptors a call is an error that says so; whatever number is left, nothing leaks or hangs" {
	needs prlimit
	needs_plain
	boris
	run_bash true
	prlimit --pid "$server" --nofile=4:
	run_bash 'touch ran'
	refused '*too many open files*'
	run_bash 'touch ran' '{"run_in_background":true}'
	refused '*too many open files*'
	prlimit --pid "$server" --nofile=1024:
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
	[ ! -e ran ]
	before=$(ls "/proc/$server/fd" | wc -l)
	for ((n = before; n < before + 10; n++)); do
		prlimit --pid "$server" --nofile=$n:
		run_bash 'echo hi' '{"stdin":"x"}'
	done
	prlimit --pid "$server" --nofile=1024:
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
	is "$(ls "/proc/$server/fd" | wc -l)" "$before"
}

@test "E7: without processes a call is an error that says so, and boris recovers" {
	needs_root
	needs prlimit setpriv
	needs_plain
	cp "$BORIS" boris
	chmod 755 "$BATS_RUN_TMPDIR" . 2>/dev/null || :
	BORIS=$PWD/boris
	uid=$((20000 + $$ % 40000)) # nobody else's, another run's neither
	other=(setpriv --reuid=$uid --regid=$uid --clear-groups)
	"${other[@]}" test -x "$BORIS" || skip 'no other user may come here'
	wrap=(prlimit --nproc=1:1000 "${other[@]}")
	boris --workdir=/
	run_bash true
	refused '*process*'
	run_bash true '{"run_in_background":true}'
	refused '*process*'
	"${other[@]}" prlimit --pid "$server" --nproc=1000:
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
}

@test "E7: without memory for what a peer sizes a call is an error, and boris stays up" {
	needs prlimit
	needs_plain
	boris
	run_bash true
	size=$(sed -n 's/^VmSize:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$server/status")
	# Room for all that is small
	prlimit --pid "$server" --as=$(((size + 4096) * 1024)):
	printf '{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"bash","arguments":{"command":"touch ran","stdin":"' >&7
	head -c 12000000 /dev/zero | tr '\0' a >&7
	send '"}}}'
	hear
	like "$(get result isError)$(code)" '@(true|-32603)'
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
	prlimit --pid "$server" --as=unlimited:
	[ ! -e ran ]
}

# small_host KIB: the server will have so much address space; fails if boris does
# not start with it, or has shown that it needs no more
small_host() {
	needs_plain
	wrap=(sh -c 'ulimit -v '"$1"'; exec "$@"' sh)
	"${wrap[@]}" "$BORIS" </dev/null 2>/dev/null
}

# halves FIRST SECOND: the server reads a line in two parts: the answer to a ping
# shows that it has read the first
halves() {
	id=$((++calls))
	printf '{"jsonrpc":"2.0","id":%d,"method":"ping"}\n%s' $id "$1" >&7
	answer || return
	printf '%s\n' "$2" >&7
}

@test "E7: with little memory, a short message that arrives in two reads is served" {
	for kib in 3500 5000 8000 14000; do
		small_host $kib || continue
		boris
		halves '{"jsonrpc":"2.0","id":"x","meth' 'od":"ping"}'
		answer '"x"'
		is "$kib: $(get result)" "$kib: {}"
		halves '{"jsonrpc":"2.0","id":"y","meth' \
			'od":"ping","params":{"x":"'"$(printf %050000d 0)"'"}}'
		answer '"y"'
		is "$kib: $(get result)" "$kib: {}"
		leave
	done
}

@test "E7: a line for which there is no memory is rejected with its own id" {
	small_host 14000
	boris
	printf '{"jsonrpc":"2.0","id":"big","method":"ping","params":{"x":"' >&7
	head -c 14000000 /dev/zero | tr '\0' a >&7
	send '"}}'
	hear
	is "$(code) $(get id)" '-32603 "big"'
	in_turn
}

@test "E7: a line is rejected with its own id wherever memory runs out" {
	for kib in {3200..6400..200}; do
		small_host $kib || continue
		boris
		printf '{"jsonrpc":"2.0","id":"big","method":"ping","params":{"x":"' >&7
		head -c 4000000 /dev/zero | tr '\0' a >&7
		send '"}}'
		hear
		is "$kib: $(get id)" "$kib: \"big\""
		in_turn
		leave
		is "$kib: $status" "$kib: 0"
	done
}

# survives KIB OPTION...: a boris with little memory has answered $call with its id
survives() {
	small_host "$1" || return 0
	boris "${@:2}"
	printf '%s\n' "$call" >&7
	answer '"x"'
	in_turn
	leave
	is "$1: $status" "$1: 0"
}

@test "E7: a log record that is too large for the memory is an error of its call" {
	text=$(printf '\\u0001%.0s' {1..50000})
	call='{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"bash","arguments":{"command":": #'$text'"}}}'
	for kib in {3000..6000..250}; do
		survives $kib --log=log
	done
}

@test "E7: no number of queued calls ends a boris with little memory" {
	small_host 5000 || skip 'boris needs more'
	boris
	call_bash 'echo x >begun; read <gate'
	begun begun
	for i in {1..3000}; do
		printf '{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"bash","arguments":{"command":":"}}}\n'
	done >&7 &
	has_refused() {
		hear && is "$(code)" -32603
	}
	has_refused
	kill "$server"
	died
	is "$status" 0
	wait $! || :
}

@test "E7: no output ends a boris with little memory" {
	for kib in {3000..6000..500}; do
		small_host $kib || continue
		boris
		for i in {1..10}; do
			call_bash 'read <gate; yes' '{"run_in_background":true}'
			answer
		done
		release 10
		run_bash 'head -c 300000 /dev/zero | tr "\\0" a' '{"limit":100000}'
		like "$(get result isError)$(code)" '@(true|false|-32603)'
		in_turn
		leave
		is "$kib: $status" "$kib: 0"
	done
}

# without INJECTION...: what boris answers to calls.in where system calls fail so
without() {
	local before=("${wrap[@]}") one
	for one; do
		set -- "$@" -e inject="$one"
		shift
	done
	# LeakSanitizer cannot look where strace does.
	wrap+=(env ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null "$@")
	filter <calls.in >out
	wrap=("${before[@]}")
}

# calls_in: a file of what is asked
calls_in() {
	needs strace
	strace -o /dev/null true || skip 'nothing can be traced here'
	printf '%s\n' "$HELLO" '{"jsonrpc":"2.0","id":1,"method":"ping"}' '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' \
		'{"jsonrpc":"2.0","id":3,"method":"no/such"}' '{"jsonrpc":"2.0","id":4,"method":"ping"}' >calls.in
}

@test "E7: where there is no memory for what is small, stderr says so in one line, and the status is 1" {
	needs_plain
	calls_in
	for n in {1..40}; do
		without brk:error=ENOMEM:when=2+ mmap:error=ENOMEM:when=$n+
		case $status in
		0) is "$n: $(wc -l <out)" "$n: 5" ;;
		1) is "$n: $(wc -l <err)" "$n: 1" && like "$(<err)" 'boris: *memory*' ;;
		*) least $status 127 ;; # it could not even be loaded
		esac
	done
	is $status 0
}

@test "E7: a shell that is not there any more is an error that says why" {
	without_bash
	boris
	run_bash 'echo hi'
	is "$(plain stdout)" hi
	mv root/bin/sh root/bin/shell
	run_bash 'echo hi'
	has "$reply" '"isError":true'
	has "$reply" 'cannot start the shell /bin/sh: No such file or directory'
	mv root/bin/shell root/bin/sh
	run_bash 'echo hi'
	is "$(plain stdout)" hi
}

# reaps_all: no zombie stays of what leaves its session, and its parent
reaps_all() {
	for i in 1 2 3; do
		run_bash '(setsid true &); (setsid sh -c "echo \$\$ >>pids; exec sleep 0.1" &)'
		is "$(result exit_code)" 0
	done
	run_bash true
	none() {
		[ -z "$(zombies)" ] && [ "$(wc -l <pids)" = 3 ] &&
			[ -z "$(sed 's,.*,/proc/&,' pids | xargs ls -d 2>/dev/null)" ]
	}
	eventually none
}

@test "E8: where boris inherits what its commands leave, for want of /proc or by who starts it, it reaps it" {
	needs setsid
	needs_plain
	# For want of /proc; and by who starts it, with a child of its own
	for how in 'unshare -m sh -c "umount -l /proc && exec \"\$@\"" sh' "python3 -c 'import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if os.fork() == 0: os.execvp(\"sleep\", [\"sleep\", \"0.3\"])
os.execvp(sys.argv[1], sys.argv[1:])'"; do
		eval "wrap=($how)"
		needs ${wrap[0]}
		"${wrap[@]}" true || skip 'no mount namespaces here'
		boris
		reaps_all
		leave
		rm pids
	done
}

# reaped_within S: the shell of the last command is, that long after now
reaped_within() {
	local leader
	leader=$(<leader)
	begin
	eventually reaped "$leader"
	within $(($1 * 1000))
}

@test "E8: a shell that left something running is reaped within 10 s of its end" {
	needs_linux
	hurried
	boris
	run_bash 'echo $$ >leader; sleep 600 >/dev/null 2>&1 250>&- & echo $! >child'
	there child
	kill "$(cat child)"
	reaped_within 11
	run_bash 'echo $$ >leader; (sleep 0.3 &)'
	reaped_within 6 # once its pipes are closed
}

# as_process_1: the server will be that of a namespace
as_process_1() {
	needs_root
	needs unshare ps
	needs_plain
	wrap=(unshare --pid --fork --kill-child --mount-proc)
	"${wrap[@]}" true || skip 'no PID namespaces here'
}

@test "E8: as PID 1 boris reaps children that it does not know, and knows its own commands' exit codes" {
	as_process_1
	needs setsid
	boris
	run_bash 'for i in 1 2 3 4 5; do (setsid true &); done; cat /proc/1/comm; exit 3'
	is "$(result stdout) $(result exit_code)" '"boris\n" 3'
	no_zombies() {
		run_bash 'cat /proc/[0-9]*/stat 2>/dev/null | grep -c ") Z"'
		[ "$(plain stdout)" = 0 ]
	}
	eventually no_zombies
	start_task '(true &); exit 4'
	look "$task" '{"wait":10000}'
	is "$(result exit_code)" 4
}

# of_process_1: sets $first to the process that was wrapped, as is seen from
# here, and $second to boris itself
of_process_1() {
	first=$(ps -o pid= --ppid "$server" | tr -d ' ')
	second=$(ps -o pid= --ppid "$first" | tr -d ' ')
	isnt "$second" ''
}

@test "E8: as PID 1 boris passes signals on, and ends as it would" {
	as_process_1
	[ -z "$(trap -p HUP)" ] || wrap=(env --default-signal=HUP "${wrap[@]}")  # nohup
	for signal in TERM INT HUP; do
		boris
		start_task "trap 'echo bye >said; exit' TERM; echo x >mark; read <gate"
		begun mark
		of_process_1
		kill -$signal "$first"
		died
		is "$signal: $status" "$signal: 0"
		is "$(cat said)" bye
		rm said mark
	done
	filter --no-such-option </dev/null
	is $status 2
}

@test "E8: as PID 1 boris ends at once beside a session of its own that a command began (L3)" {
	as_process_1
	needs setsid
	boris
	run_bash 'setsid sh -c "echo x >mark; exec sleep 600" >/dev/null 2>&1 250>&- &'
	begun mark
	begin
	leave
	within 5000
	is $status 0
}

@test "E8: as PID 1, when boris is killed its commands are ended gently" {
	as_process_1
	boris
	start_task "trap 'echo bye >said; exit' TERM; echo x >mark; read <gate"
	begun mark
	of_process_1
	kill -KILL "$second"
	cat <&8 >>heard
	died
	is $status 137
	is "$(cat said)" bye
}

@test "E8: as PID 1, when boris leaves at a second signal, process 1 waits for its guard" {
	as_process_1
	boris
	start_task "trap 'trap : TERM; echo x >term; read -t 2 <>never; echo bye >said; exit' TERM; echo x >mark; read <gate"
	begun mark
	of_process_1
	kill "$first"
	begun term
	kill "$first"
	eventually gone "$second"
	died
	is $status 0
	is "$(cat said)" bye
}

# scores: prints the oom_score_adj of a command, of boris, and of its second
# process
scores() {
	run_bash 'cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj'
	plain stdout | xargs
	cat "/proc/$(the_guard)/oom_score_adj"
}

# scores_are VALUES: checks those. A command may read the value of boris before
# boris has restored it.
scores_are() {
	[ "$(scores | xargs)" = "$1" ]
}

# needs_own_score: skips the test where the value cannot be raised
needs_own_score() {
	needs_linux
	[ -w /proc/self/oom_score_adj ] || skip 'no oom_score_adj here'
	own=$(cat /proc/self/oom_score_adj)
	most "$own" 499 || skip 'raised already'
}

@test "E10: a command has oom_score_adj 500, boris and its second process keep theirs" {
	needs_own_score
	boris
	eventually scores_are "500 $own $own"
	start_task 'cat /proc/self/oom_score_adj'
	look "$task" '{"wait":10000}'
	is "$(plain stdout)" 500
	on_terminal 'cat /proc/self/oom_score_adj; read <gate' '"until":"500"'
	has "$(plain stdout)" 500
}

@test "E10: a command has oom_score_adj 500 behind a fence, too" {
	needs_own_score
	mkdir secret
	for fence in --write=. --hide=secret; do
		filter "$fence" </dev/null
		[ $status = 0 ] || skip "no fence here: $(<err)"
		boris "$fence"
		eventually scores_are "500 $own $own"
		leave
	done
}

@test "E10: an oom_score_adj above 500 is not lowered" {
	needs_own_score
	wrap=(sh -c 'echo 700 >/proc/self/oom_score_adj; exec "$0" "$@"')
	boris
	is "$(scores | xargs)" '700 700 700'
}

# hundred COMMAND: sends a hundred calls of it and takes the answers; prints the
# milliseconds of CPU time that boris has used for them
hundred() {
	local before
	before=$(cpu_of_server)
	seq 100 | sed 's/.*/{"jsonrpc":"2.0","id":"h&","method":"tools\/call","params":{"name":"bash","arguments":{"command":"'"$1"'"}}}/' >&7
	head -n 100 <&8 >>heard
	echo $(($(cpu_of_server) - before))
}

# cpu_of_server: the milliseconds of CPU time that boris itself has used
cpu_of_server() {
	awk -v tick="$(getconf CLK_TCK)" \
		'{ sub(/.*\) /, ""); print ($12 + $13) * 1000 / tick }' \
		"/proc/$server/stat"
}

# fastest: the least of three times a hundred
fastest() {
	for i in 1 2 3; do
		hundred true
	done | sort -n | head -n 1
}

@test "E9, L1: 300 processes left behind cost a call no more than none, and closing is quick" {
	needs_plain
	boris
	hundred true >/dev/null
	before=$(fastest)
	hundred 'sleep 600 \&' >/dev/null
	run_bash 'for ((i = 0; i < 200; i++)); do sleep 600 & done'
	after=$(fastest)
	most "$after" $((before * 2 + 100))
	begin
	leave
	within 3000
	is $status 0
}

@test "E9: with twenty left behind, commands get none of boris's descriptors; stdin, errors and the directory are as ever" {
	needs_linux
	boris
	run_bash 'ls -l /proc/self/fd | grep -c "pipe\|socket"'
	alone=$(result stdout)
	for i in {1..20}; do
		run_bash 'sleep 600 &'
	done
	run_bash 'ls -l /proc/self/fd | grep -c "pipe\|socket"'
	is "$(result stdout)" "$alone"
	run_bash 'cat; pwd' "{\"stdin\": \"in \", \"cwd\": \"$PWD\"}"
	is "$(result stdout)" "\"in $PWD\\n\""
	run_bash pwd '{"cwd": "/nowhere"}'
	has "$(get result isError)" e
	run_bash 'cd /; exit 3'
	is "$(result exit_code)" 3
	run_bash pwd
	is "$(result stdout)" '"/\n"'
}

# hanging_mount [WRAPPER...]: mounts the files of ./files on ./mnt, by a process
# under the wrapper; its pid is $mounted
hanging_mount() {
	needs_root
	needs python3
	needs_plain
	[ -c /dev/fuse ] || skip 'no /dev/fuse here'
	mkdir -p files mnt
	cp "$(type -P cat)" files/
	echo text >files/file
	# It unmounts by itself if the test fails.
	"$@" python3 "$HERE/hung.py" "$PWD/files" "$PWD/mnt" 2>mount.err \
		3>&- 6>&- 9>&- &
	mounted=$!
	ready() { [ -s "/proc/$mounted/root$PWD/mnt/file" ] || gone $mounted; }
	eventually ready
	there $mounted || skip "no FUSE here: $(<mount.err)"
}

# hang: from here on the mount answers nothing
hang() {
	kill -USR1 $mounted
	pause 50
}

# unmount: all that waits for the mount goes on with an error; boris learns that
# the process $stuck, if any, has ended
unmount() {
	kill $mounted
	wait $mounted 2>/dev/null || :
	[ -n "$stuck" ] || return 0
	eventually gone_pid "$stuck"
	in_turn
}

# stuck: sets $stuck to the pid in the reply's note, of a process that is stuck
stuck() {
	local pattern='pid ([0-9]+) is stuck in the kernel and still running after SIGKILL'
	[[ $(plain note) =~ $pattern ]] || fail "none is stuck: $reply" || return
	stuck=${BASH_REMATCH[1]}
	grep -q '^State:[[:space:]]*D' "/proc/$stuck/status"
}

# served: checks that boris answers a ping while the last call waits for a mount
# that hangs, and that the call then times out
served() {
	local waiting=$id
	begin
	in_turn
	within 1500
	answer $waiting
	is "$(result status)" '"timed_out"'
	has "$(plain note)" 'did not respond, so the command was not run'
	[ ! -e ran ]
	stuck
}

@test "E11: a hung mount over the session's directory delays no other request" {
	hurried
	mkdir mnt
	boris
	run_bash 'cd mnt'
	run_bash true
	hanging_mount
	hang
	call_bash 'touch ../ran' '{"timeout":1000}'
	served
	unmount
	run_bash pwd
	is "$(plain stdout)" "$PWD/mnt"
}

@test "E11: a directory replaced by a link to a hung mount delays no other request" {
	hurried
	mkdir d e
	ln -s e link
	for dir in d link; do
		boris
		run_bash "cd $dir"
		run_bash true
		hanging_mount
		run_bash true
		rm -r $dir
		ln -s mnt $dir
		hang
		call_bash 'touch ../ran' '{"timeout":1000}'
		served
		unmount
		leave
	done
}

@test "E11: a --workdir on a hung mount delays no other request" {
	hurried
	hanging_mount
	boris --workdir="$PWD/mnt"
	run_bash true
	hang
	call_bash 'touch ../ran' '{"timeout":1000}'
	served
	unmount
}

@test "E11: a hung mount of another mount namespace delays no other request" {
	hurried
	private=(unshare --mount --propagation private)
	"${private[@]}" true || skip 'no mount namespaces here'
	boris
	hanging_mount "${private[@]}"
	run_bash "cd /proc/$mounted/root$PWD/mnt"
	run_bash true
	hang
	call_bash 'touch ../ran' '{"timeout":1000}'
	served
	unmount
}

@test "E11: a cwd on a hung mount delays no other request, and the timeout ends the call" {
	hurried
	hanging_mount
	boris
	run_bash true
	hang
	call_bash 'touch ../ran' '{"cwd":"'"$PWD"'/mnt","timeout":3000}'
	hung=$id
	begin
	in_turn
	within 1500
	answer $hung
	within 15000
	is "$(result status) $(result stdout) $(result exit_code)" '"timed_out" "" '
	has "$(plain note)" "the directory $PWD/mnt did not respond, so the command was not run"
	stuck
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
	[ ! -e ran ]
	unmount
}

@test "E11: a command whose cwd is on a hung mount runs when the mount responds again" {
	hanging_mount
	boris
	hang
	call_bash 'echo hi' '{"cwd":"'"$PWD"'/mnt"}'
	in_turn
	kill -USR2 $mounted
	answer $((id - 1))
	is "$(result stdout)" '"hi\n"'
	unmount
}

@test "E11: a background start on a hung mount is answered after a second, and can be killed" {
	hurried
	hanging_mount
	boris
	hang
	start_task 'touch ../ran' '{"cwd":"'"$PWD"'/mnt"}'
	is "$(result status)" '"running"'
	has "$(plain note)" "the directory $PWD/mnt does not respond"
	run_tool bash '{"kill_pid":"'"$task"'"}'
	stuck
	is "$stuck $(result status) $(result exit_code)" "$pid \"running\" "
	has "$(plain note)" "the directory $PWD/mnt does not respond, so the command was not run"
	unmount
	look "$task" '{"wait":10000}'
	is "$(result status)" '"killed"'
	has "$(plain note)" 'not run'
	[ ! -e ran ]
}

@test "E11: a start with an absolute cwd on a hung mount delays no other start (D7)" {
	hanging_mount
	boris
	hang
	call_bash true '{"run_in_background":true,"cwd":"'"$PWD"'/mnt"}'
	hung=$id
	run_bash true '{"run_in_background":true}'
	is "$(result status)" '"running"'
	[ -z "${early[$hung]+answered}" ]
	answer $hung
	has "$(plain note)" "the directory $PWD/mnt does not respond"
	unmount
}

@test "E11: a task whose directory turns out to be missing says so when it is read" {
	hanging_mount
	boris
	hang
	start_task 'touch ran' '{"cwd":"'"$PWD"'/mnt/none"}'
	is "$(result status)" '"running"'
	kill -USR2 $mounted
	look "$task" '{"wait":10000}'
	refused "cannot change to cwd $PWD/mnt/none: No such file*not run*"
	run_tool task_output '{}'
	is "$(get -s result content 0 text)" 'no tasks'
	unmount
}

@test "E12, E11: a child that waits for a hung mount is logged and named at the end" {
	hurried
	hanging_mount
	boris --log="$PWD/log"
	hang
	run_bash true '{"cwd":"'"$PWD"'/mnt","timeout":1000}'
	note='is stuck in the kernel and still running after SIGKILL'
	has "$(grep '"event":"not_killed"' log)" "$note"
	lacks "$(grep '"event":"end"' log)" exit_code
	start_task true '{"cwd":"'"$PWD"'/mnt"}'
	leave
	is "$status $(grep -c "^boris: pid [0-9]* $note" err)" '0 2'
	has "$(<err)" "boris: pid $pid $note"
	unmount
	eventually alone
	: >err
}

@test "E11: where a tracked directory is on a hung mount, cwd leads out of it" {
	hurried
	hanging_mount
	boris
	run_bash 'cd mnt'
	hang
	run_bash true '{"timeout":1000}'
	is "$(result status) $(plain cwd)" "\"timed_out\" $PWD/mnt"
	stuck
	run_bash 'pwd' '{"cwd":"/"}'
	is "$(plain stdout)" /
	unmount
}

@test "E11: boris exits when a signal comes while a command waits for a hung mount" {
	hanging_mount
	boris
	start_task 'echo $$ >pid; sleep 600'
	begun pid
	hang
	call_bash true '{"cwd":"'"$PWD"'/mnt"}'
	in_turn
	begin
	kill -TERM "$server"
	eventually gone pid
	kill -TERM "$server" 2>/dev/null || : # it may have left already
	died
	within 3000
	is $status 0
	unmount
	eventually alone
}

@test "E11: when boris is killed while a command waits for a hung mount, all else ends" {
	hanging_mount
	boris
	start_task 'echo $$ >pid; sleep 600'
	begun pid
	hang
	call_bash true '{"cwd":"'"$PWD"'/mnt"}'
	in_turn
	kill -KILL "$server"
	died
	eventually gone pid
	unmount
	eventually alone
}

@test "E11: a program on a terminal that reads a file on a hung mount blocks no other request" {
	hanging_mount
	boris
	on_terminal 'exec 3<mnt/file; echo x >a; read y; head -c 9 <&3'
	begun a
	hang
	type_in '\n' '"wait":1500'
	is "$(result status) $(result note)" '"running" '
	begin
	in_turn
	within 1000
	kill -USR2 $mounted
	look "$task" '{"wait":10000}'
	has "$(plain stdout)" text
	unmount
}

@test "E11: a program whose executable is on a hung mount is known to read its terminal" {
	hanging_mount
	boris
	on_terminal 'mnt/cat' '"wait":0'
	eventually grep -q cat "/proc/$pid/comm"
	type_in 'one\n' '"until":"one"'
	hang
	look "$task" '{"wait":3000}'
	has "$(plain note)" 'waits for input'
	in_turn
	unmount
}

# --- E12: what boris cannot end

# as_user: boris will run as a user of its own, and ./asroot COMMAND, run by it, is
# root's. No other user can run ./asroot. Skips where that is not possible.
as_user() {
	needs_root
	needs_linux
	needs cc setpriv
	[ -z "$WRAP" ] || skip "under $WRAP"
	cat >asroot.c <<-'END'
	#include <unistd.h>
	int
	main(int argc, char *argv[])
	{
		return argc < 2 || setuid(0) < 0 || execvp(argv[1], argv + 1);
	}
	END
	cc -o asroot asroot.c
	cp "$BORIS" own
	BORIS=$PWD/own
	local user=47115
	chgrp $user asroot "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test"
	chmod 710 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test"
	chmod 4750 asroot
	chown $user . tmp gate
	wrap=(setpriv --reuid=$user --regid=$user --clear-groups)
	"${wrap[@]}" ./asroot sh -c '[ "$(id -u)" = 0 ]' ||
		skip 'set-user-ID programs have no effect here'
}

# survivor: sets $survivor to the pid in the reply's note, of a process that runs;
# without what is Linux only the note may say `a process` instead
survivor() {
	local pattern='(pid ([0-9]+)|a process) belongs to another user and is still running'
	[[ $(plain note) =~ $pattern ]] ||
		fail "no survivor: $reply" || return
	note=${BASH_REMATCH[0]} survivor=${BASH_REMATCH[2]}
	[ -n "$survivor" ] || ! linux_parts || return
	[ -n "$survivor" ] || survivor=$(left_of_root)
	kill -0 "$survivor"
}

# left_of_root: the pids of root's processes that came out of this test's server
left_of_root() {
	local file
	for file in $(left_behind); do
		[ "$(stat -c %u "$file")" != 0 ] || tr -dc '0-9\n' <<<"$file"
	done
}

# dismiss: ends the survivor, as root; what boris says of it is not looked at
dismiss() {
	kill -9 "$survivor"
	eventually gone_pid "$survivor"
	[ -n "$left" ] || leave
	: >err
}

# gone_pid PID: no such process, or a zombie
gone_pid() {
	! grep -qs '^State:[^Z]*$' "/proc/$1/status"
}

@test "E12: a timeout does not wait for a process of another user, and its result names it" {
	as_user
	boris
	run_bash './asroot sleep 60' '{"timeout":1000}'
	survivor
	is "$(result status) $(result exit_code)" '"timed_out" 143'
	has "$(text)" 'belongs to another user and is still running'
	most "$(result elapsed_ms)" 3000
	is "$(tr '\0' ' ' <"/proc/$survivor/cmdline")" 'sleep 60 '
	run_bash 'echo next'
	is "$(plain stdout) $(result note)" 'next '
	dismiss
}

@test "E12: a command whose shell has become another user's is timed out without an exit code" {
	as_user
	boris
	run_bash 'echo start; exec ./asroot sleep 60' '{"timeout":1000}'
	survivor
	is "$(result status) $(result timed_out) $(result exit_code)$(result signal)" '"timed_out" true '
	is "$(plain stdout)" start
	most "$(result elapsed_ms)" 3000
	dismiss
}

@test "E12: kill_pid does not report a process of another user as killed" {
	as_user
	boris
	start_task 'echo start; exec ./asroot sh -c "read x <gate; echo end"'
	look "$task" '{"until":"start","wait":10000}'
	begin
	run_tool bash '{"kill_pid":'"$pid"'}'
	within 1500
	survivor
	is "$survivor $(result status) $(result exit_code)" "$pid \"running\" "
	run_tool task_output '{}'
	is "$(result tasks 0 status)" '"running"'
	run_tool bash '{"kill_pid":'"$pid"'}'
	survivor
	release
	look "$task" '{"wait":10000}'
	is "$(result status) $(result exit_code) $(result note)" '"completed" 0 '
	is "$(plain stdout)" $'start\nend'
}

@test "E12: of a group kill_pid ends what it can and names what it cannot" {
	as_user
	boris
	start_task './asroot sh -c "echo >root; exec sleep 60" & sleep 61 & echo $! >pid; sleep 62'
	begun pid
	begun root
	run_tool bash '{"kill_pid":'"$pid"'}'
	survivor
	is "$(result status) $(result exit_code)" '"killed" 143'
	eventually gone pid
	is "$(tr '\0' ' ' <"/proc/$survivor/cmdline")" 'sleep 60 '
	dismiss
}

@test "E12: what ignores SIGTERM is killed also beside a process of another user" {
	needs_linux_parts
	hurried
	as_user
	boris
	start_task './asroot sh -c "echo >root; exec sleep 60" & trap "" TERM; sleep 61 & echo $! >pid; wait'
	begun pid
	begun root
	begin
	run_tool bash '{"kill_pid":'"$pid"'}'
	survivor
	is "$(result status) $(result exit_code)" '"killed" 137'
	least "$(took)" 4900
	within 7000
	eventually gone pid
	dismiss
}

@test "E12: a program that ends when its killed child does is no survivor" {
	as_user
	boris
	run_bash './asroot sh -c "setpriv --reuid=47115 sleep 60; true"' '{"timeout":1000}'
	is "$(result status) $(result exit_code)" '"timed_out" 143'
	lacks "$(plain note)" 'still running'
	most "$(result elapsed_ms)" 3000
}

@test "E12: a task whose timeout cannot end it is timed out, and its result names the process" {
	as_user
	boris
	start_task 'exec ./asroot sleep 60' '{"timeout":1000}'
	look "$task" '{"wait":10000}'
	survivor
	is "$survivor $(result status) $(result exit_code)" "$pid \"timed_out\" "
	has "$(plain note)" 'the timeout of the task has expired'
	dismiss
}

@test "E12, E6: after a cancellation the next result names the process of another user, once" {
	as_user
	boris
	call_bash 'echo $BASHPID >pid; exec ./asroot sleep 60'
	begun pid
	eventually grep -qs sleep "/proc/$(<pid)/comm"
	cancel $id
	run_bash 'echo next'
	has "$(plain note)" "a cancelled command could not be stopped: pid $(<pid) belongs to another user"
	survivor
	run_bash 'echo next'
	is "$(result note)" ''
	dismiss
}

@test "E12, K3: each result names one cancelled command that could not be ended" {
	as_user
	boris
	local n first
	for n in 1 2; do
		call_bash "echo \$BASHPID >pid$n; exec ./asroot sleep 60"
		begun pid$n
		eventually grep -qs sleep "/proc/$(<pid$n)/comm"
		cancel $id
	done
	run_bash 'echo next'
	survivor
	first=$survivor
	run_bash 'echo next'
	survivor
	[ "$survivor" != "$first" ] || fail "$first was named twice"
	run_bash 'echo next'
	is "$(result note)" ''
	kill -9 "$first"
	dismiss
}

@test "E12, L1: boris does not wait at its end for a process of another user, and names it on stderr" {
	as_user
	for how in end_input 'kill' 'end_input; kill'; do
		boris
		start_task 'exec ./asroot sleep 60'
		eventually grep -qs sleep "/proc/$pid/comm"
		begin
		eval "${how/kill/kill \$server}"
		died
		within 2000
		is "$how: $status $(<err)" "$how: 0 boris: pid $pid belongs to another user and is still running"
		kill -9 "$pid"
		eventually alone
		early=()
	done
	: >err
}

@test "E12, L1: a foreground call is answered at the end without an exit code" {
	as_user
	boris
	call_bash 'echo $BASHPID >pid; exec ./asroot sleep 60'
	begun pid
	eventually grep -qs sleep "/proc/$(<pid)/comm"
	kill "$server"
	answer
	survivor
	is "$(result status) $(result exit_code)" '"running" '
	died
	dismiss
}

@test "E12, A1: the log names the process of another user" {
	as_user
	boris --log="$PWD/log"
	run_bash './asroot sleep 60' '{"timeout":1000}'
	survivor
	has "$(grep '"event":"not_killed"' log)" ',"note":"'"$note"'"'
	! linux_parts || has "$(grep '"event":"not_killed"' log)" '"survivor_pid":'"$survivor,"
	has "$(grep '"event":"end"' log)" '"exit_code":143,"signal":"SIGTERM","note":"'"$note"'"'
	dismiss
}

@test "E12, L4: the guard of a killed boris does not wait for a process of another user" {
	as_user
	boris
	start_task 'exec ./asroot sleep 60'
	eventually grep -qs sleep "/proc/$pid/comm"
	begin
	kill -9 "$server"
	died || :
	survivor=$pid
	one_left() {
		[ "$(left_behind | wc -l)" = 1 ]
	}
	eventually one_left
	within 3000
	dismiss
}

@test "E12: what SIGKILL does not end is reported as running" {
	needs_root
	hurried
	freezer=/sys/fs/cgroup/freezer/boris-test-$$
	mkdir "$freezer" 2>/dev/null || skip 'no freezer of version 1 here'
	boris
	start_task 'echo $$ >pid; exec sleep 60'
	begun pid
	eventually grep -qs sleep "/proc/$pid/comm"
	echo "$pid" >"$freezer/tasks"
	echo FROZEN >"$freezer/freezer.state"
	eventually grep -q FROZEN "$freezer/freezer.state"
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(result status) $(result exit_code)" '"running" '
	is "$(plain note)" "pid $pid is stuck in the kernel and still running after SIGKILL"
	begin
	run_tool bash '{"kill_pid":'"$pid"'}'
	within 2000
	begin
	leave
	within 2000
	is "$status $(<err)" "0 boris: pid $pid is stuck in the kernel and still running after SIGKILL"
	echo THAWED >"$freezer/freezer.state"
	eventually rmdir "$freezer"
	: >err
}
