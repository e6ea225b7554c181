#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# L: the end of sessions and processes. The guard process is a second process of
# boris, which cleans up if boris cannot.
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# stubborn FILE: Prints a command that ignores SIGTERM, SIGHUP and SIGINT and
# writes its pid to FILE.
stubborn() {
	echo "trap '' TERM HUP INT; echo \$\$ >$1"
	echo 'while :; do read -t 600 <>never; done'
}

# slow_exit [COMMAND]: Prints a command that needs 1.5 s to exit after SIGTERM. It
# writes its pid to `pid`, runs COMMAND and writes `term` when it receives
# SIGTERM, and writes `bye` before it exits.
slow_exit() {
	echo "trap '${1:+$1; }echo x >term
		read -t 1.5 <>never; echo x >bye; exit' TERM"
	echo 'echo $$ >pid; while :; do read -t 600 <>never; done'
}

# --- L1, L2: closing a session

@test "L1: at EOF on stdin, background tasks receive SIGTERM and can clean up" {
	boris
	start_task 'sleep 600 & echo $! >child
		trap "echo bye >bye; exit" TERM; read <gate'
	await_file child
	start_timer
	stop_server
	within 3000
	is "$status $(<bye)" '0 bye'
	is_gone "$pid"
	is_gone child
}

# default_hup: Makes the server start with the default action for SIGHUP, even if
# the tests run under nohup.
default_hup() {
	[ -z "$(trap -p HUP)" ] || wrap=(env --default-signal=HUP)
}

@test "L1: boris terminates all commands on SIGTERM, SIGINT, SIGHUP or SIGQUIT" {
	default_hup
	for signal in TERM INT HUP QUIT; do
		boris
		run_bash 'sleep 600 & echo $! >left'
		start_task 'echo $$ >task; read <gate'
		call_bash 'echo $$ >running; read <gate'
		await_file left task running
		start_timer
		kill -$signal "$server"
		await_exit
		is $status 0
		within 3000
		is_gone left && is_gone task && is_gone running
		rm left task running
	done
}

@test "L1: if no command is running, boris exits immediately on SIGTERM, SIGINT, SIGHUP or SIGQUIT" {
	default_hup
	for signal in TERM INT HUP QUIT; do
		boris
		start_timer
		kill -$signal "$server"
		await_exit
		is $status 0
		within 1000
	done
}

@test "L1, D7: boris terminates all 16 parallel commands when it exits" {
	boris
	: >begun
	for i in {1..18}; do
		call_bash "echo \$\$ >>'$PWD/begun'; read <'$PWD/gate'" \
			'{"cwd":"/"}'
	done
	sixteen() { [ "$(wc -l <begun)" = 16 ]; }
	eventually sixteen
	start_timer
	kill -TERM "$server"
	await_exit
	is $status 0
	within 3000
	sixteen # The other two were not started.
	while read -r pid; do
		is_gone "$pid"
	done <begun
	is "$(grep -c 'session was closed' heard)" 18
}

@test "L1: a stopped task is continued so that it can handle SIGTERM" {
	boris
	start_task 'echo $$ >stopped; kill -STOP $$; echo no'
	await_file stopped
	start_timer
	stop_server
	within 3000
	is_gone stopped
}

@test "L1: a task receives SIGTERM only once if boris reads EOF on stdin and then receives a signal" {
	boris
	start_task 'trap "echo bye >>bye; exit" TERM; echo x >a; read <gate'
	await_file a
	pause 100 # A command younger than 50 ms receives SIGTERM twice (E2).
	end_input
	await_file bye
	kill -TERM "$server" 2>/dev/null || :
	kill -HUP "$server" 2>/dev/null || :
	await_exit
	eventually has_no_processes
	is "$(cat bye)" bye
}

@test "L1: a call that is waiting for a task is answered when boris exits" {
	boris
	start_task 'echo x >a; read <gate; :'
	await_output a
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	wait=$id
	sync_server
	kill -TERM "$server"
	answer $wait
	is "$(result status) $(result exit_code) $(result note)" '"killed" 143 '
	await_exit
}

# The command ends when boris has waited three times for 200 ms. The client must
# then have another 200 ms to read the response, which is longer than a pipe.
@test "P10: the last response is written completely before boris exits" {
	boris
	call_bash 'head -c 60000 /dev/zero | tr "\0" "\042" | tee /dev/stderr
		trap "sleep 0.6; exit 0" TERM; echo x >a; read <gate'
	await_file a
	waits=$id
	kill -TERM "$server"
	await_exit
	is $status 0
	answered $waits
	is "$(tail -c 1 heard | od -An -tx1)" ' 0a'
}

@test "L1: boris terminates all commands at the same time when it exits" {
	boris
	for i in 1 2 3 4; do
		start_task "$(stubborn stubborn$i)"
	done
	start_task 'echo $$ >mild; read <gate'
	await_file stubborn{1,2,3,4} mild
	start_timer
	end_input
	eventually is_gone mild
	within 2000
	await_exit
	least "$(elapsed)" 4800
	within 7500
	is $status 0
	for i in 1 2 3 4; do
		is_gone stubborn$i
	done
}

# exits_at_once PID...: Sends SIGTERM to boris, and fails if boris does not exit
# within 3 s, or if one of the processes does not survive it. Then waits until
# the guard process has terminated them.
exits_at_once() {
	local pid
	kill -TERM "$server"
	await_exit
	within 3000
	is $status 0
	for pid; do
		is_running "$pid"
	done
	eventually has_no_processes
}

@test "L1: a signal after EOF on stdin makes boris exit immediately" {
	boris
	start_task "$(stubborn pid)"
	await_file pid
	start_timer
	end_input
	until (($(elapsed) >= 500)); do
		is_running pid
		read -rt 0.05 -u 9 || :
	done
	exits_at_once pid
	least "$(elapsed)" 4800 # The task had the complete grace period.
}

@test "L1: a signal makes boris exit immediately while it is waiting for the last call" {
	boris
	call_bash 'trap "echo x >bye; exit" TERM; echo $$ >pid
		while :; do read -t 600 <>never; done'
	await_file pid
	end_input
	pause 200
	start_timer
	exits_at_once
	await_file bye
}

@test "L1: a second signal during the grace period makes boris exit immediately" {
	boris
	start_task "$(slow_exit 'trap : TERM')"
	call_bash "$(stubborn pid2)"
	await_file pid pid2
	kill -TERM "$server"
	await_file term
	start_timer
	exits_at_once pid pid2
	await_file bye
}

@test "L1: a task can clean up even if boris receives SIGKILL right after SIGTERM" {
	boris
	start_task "$(slow_exit)"
	await_file pid
	kill -TERM "$server"
	kill -KILL "$server"
	await_exit
	await_file bye
	eventually has_no_processes
}

@test "L1: the guard process keeps working after it receives SIGTERM" {
	needs_linux
	boris
	start_task "$(slow_exit 'trap : TERM')"
	await_file pid
	guard=$(guard_pid)
	kill -TERM "$guard" "$server" "$(<pid)"
	await_file term
	kill -TERM "$guard" "$server"
	await_exit
	await_file bye
	eventually has_no_processes
}

# printing_daemon: Prints a command that starts a daemon. The daemon prints to
# both streams every 10 ms and writes its pid to `daemon`.
printing_daemon() {
	cat <<-'END'
	setsid sh -c 'echo $$ >daemon
		while sleep 0.01; do echo x; echo x >&2; done' &
	END
}

@test "L1: a daemon that writes to a pipe receives SIGPIPE after boris exits" {
	needs setsid
	boris
	run_bash "$(printing_daemon)"
	await_file daemon
	stop_server
	eventually is_gone daemon
}

@test "L1: a daemon that writes to a pipe receives SIGPIPE after boris is killed" {
	needs setsid
	boris
	start_task "$(printing_daemon)
		sleep 600"
	await_file daemon
	kill -KILL "$server"
	await_exit
	eventually is_gone daemon
	eventually has_no_processes
}

@test "L1: the guard process closes its descriptors for finished tasks" {
	needs_linux
	boris
	for i in {1..100}; do
		start_task true
		read_task "$task" '{"wait":10000}'
	done
	most "$(ls "/proc/$(guard_pid)/fd" | wc -l)" 5
}

# call_often PREFIX N: Sends N calls with the ids PREFIX1 to PREFIXN.
call_often() {
	local params='{"name":"bash","arguments":{"command":"echo hi"}}'
	local line='{"jsonrpc":"2.0","id":"'$1'&","method":"tools/call"'
	seq "$2" | sed "s|.*|$line,\"params\":$params}|" >&7
}

# cpu_time: Sets $cpu to the milliseconds of CPU time of all servers that have
# exited.
cpu_time() {
	local seconds='\([0-9]*\)m\([0-9]*\)\.\([0-9]*\)s *'
	times >times
	cpu=$(($(sed -n "2s/$seconds/+\1*60000+10#\2*1000+10#\3/gp" times)))
}

# close_with_queue N: Closes a session with N queued calls, which must all be
# answered. Sets $cost to the milliseconds of CPU time of its server.
close_with_queue() {
	local answers elapsed
	cpu_time
	cost=-$cpu
	: >heard
	boris
	call_bash 'echo x >begun; read <gate'
	call_often q "$1"
	await_file begun
	sync_server
	start_timer
	kill -TERM "$server"
	await_exit
	elapsed=$(elapsed)
	is $status 0
	answers=$(grep -c '"id":"q.*session was closed' heard)
	# On a slow machine, boris may have given up on its reader (P10).
	[ "$answers" = "$1" ] || least "$elapsed" 200
	rm begun
	cpu_time
	cost=$((cost + cpu))
}

@test "L1: the CPU time used at exit grows linearly with the number of queued calls" {
	needs_plain
	close_with_queue 4000
	few=$cost
	close_with_queue 16000
	most $cost $((10 * few + 300))
}

@test "L2: no command is started after boris receives SIGTERM" {
	boris
	call_bash "$(stubborn pid)"
	call_bash 'touch ran'
	queued=$id
	call_bash 'touch ran' '{"run_in_background":true}'
	queued_task=$id
	await_file pid
	sync_server
	kill -TERM "$server"
	trap '' PIPE
	call_bash 'touch ran' 2>/dev/null || :
	start_timer
	answer $queued
	is_tool_error '*session was closed*'
	answer $queued_task
	is_tool_error '*session was closed*'
	exits_at_once pid
	[ ! -e ran ]
}

# --- L3: nothing remains

@test "L3: children, grandchildren and background jobs are terminated when boris exits" {
	boris
	run_bash 'sleep 600 & (sleep 600 & sleep 600 & true)
		nohup sleep 600 >/dev/null 2>&1 &'
	! linux_parts || run_bash 'set -m; sleep 600 & echo $! >job'
	start_task '(sleep 600; true) & (trap "" HUP; sleep 600) &
		echo x >a; read <gate'
	await_file a
	stop_server
	is $status 0
	kill_processes_left
}

@test "L3: a process started with setsid keeps running after boris exits" {
	needs setsid
	boris
	run_bash 'setsid sh -c "echo \$\$ >far; exec sleep 600" & true'
	await_file far
	stop_server
	is $status 0
	is_running far
	kill "$(cat far)"
	eventually is_gone far
}

# zombies: Prints the pids of the server's children that are zombies.
zombies() {
	cat /proc/[0-9]*/stat 2>/dev/null |
		sed -n "s/^\([0-9]*\) (.*) Z $server .*/\1/p"
}

# descriptors: Prints how many descriptors the server has open.
descriptors() {
	ls "/proc/$server/fd" | wc -l
}

@test "L3: commands and tasks leave neither zombies nor open descriptors in boris" {
	needs_linux
	boris
	run_bash true
	before=$(descriptors)
	for i in 1 2 3; do
		run_bash 'head -c 40000 /dev/zero | tr "\0" a' '{"stdin":"x"}' \
			'{"progressToken":1}'
		start_task "exit $i"
		read_task "$task" '{"wait":10000}'
		call_bash 'read <gate'
		cancel $id
		run_bash 'read <gate' '{"timeout":50}'
		run_bash true '{"cwd":"/no/such/place"}'
	done
	run_bash true
	as_before() { [ "$(descriptors)" = "$before" ] && [ -z "$(zombies)" ]; }
	eventually as_before
}

@test "L3: a thousand calls leak neither memory nor descriptors" {
	needs_plain
	boris
	many() {
		call_often h 250
		head -n 250 <&8 >>heard
	}
	many
	many
	open=$(descriptors)
	# The peak depends on how many calls happen to wait at the same time. A
	# leak would raise it each time.
	for i in 3 4 5 6; do
		before=$(peak)
		many
		[ "$(peak)" -gt $((before + 100)) ] || break
	done
	most "$(peak)" $((before + 100))
	is "$(descriptors)" "$open"
	is "$(zombies)" ''
	is "$(grep -c '"hi' heard)" $((250 * i))
}

@test "L3: boris removes its temporary files at EOF on stdin and on SIGTERM" {
	for how in end_input 'kill -TERM'; do
		boris
		run_bash 'head -c 40000 /dev/zero | tr "\0" a'
		start_task 'head -c 90000 /dev/zero | tr "\0" a; echo x >a
			read <gate'
		await_file a
		least "$(find tmp -type f | wc -l)" 1
		$how $server
		await_exit
		is "$(find tmp -type f)" ''
		rm a
	done
}

@test "L3: no process remains if the client dies in the middle of a response" {
	boris
	start_task 'echo $$ >pid; read <gate'
	await_file pid
	for i in 1 2 3 4 5; do
		call_bash 'head -c 30000 /dev/zero | tr "\0" a'
	done
	head -c 1000 <&8 >/dev/null
	exec 8<&-
	end_input
	eventually has_exited
	is_gone pid
	kill_processes_left
	left=1
}

# --- L4: boris is killed

# start_all_kinds: Starts a process that is left running, a job in its own process
# group, two tasks, one of which ignores SIGTERM, and a foreground command.
# Another command makes boris save a file.
start_all_kinds() {
	run_bash 'sleep 600 &'
	! linux_parts || run_bash 'set -m; sleep 600 & disown'
	start_task 'sleep 600'
	start_task "$(stubborn stubborn)"
	run_bash 'head -c 100000 /dev/zero | tr "\0" a'
	[ -e "$(plain stdout_file)" ]
	call_bash 'echo x >last; read <gate'
	await_file stubborn last
}

# nothing_remains: Waits until all processes have been terminated, and fails if
# files remain.
nothing_remains() {
	eventually has_no_processes
	is "$(compgen -G 'tmp/*')" ''
}

@test "L4: neither processes nor files remain after boris is killed" {
	needs_linux
	boris
	start_all_kinds
	kill -KILL "$server"
	await_exit
	is $status 137
	nothing_remains
}

@test "L4: neither processes nor files remain after boris's process group is killed" {
	needs_linux
	boris
	start_all_kinds
	kill -KILL -- "-$server"
	await_exit
	is $status 137
	nothing_remains
}

@test "L4: after boris is killed, the guard process does not remove files created by commands" {
	needs_linux
	boris
	run_bash 'head -c 100000 /dev/zero | tr "\0" a'
	file=$(plain stdout_file)
	for other in "$file.sorted" "${file%.log}" "${file%-*}-x.log" \
	    "${file%.log}0.log" "${file%.log}-2.log" "${file%.log}-2.secret" \
	    "${file%.log}.prompt" tmp/boris-01234567.log; do
		echo x >"$other"
	done
	kill -KILL "$server"
	await_exit
	eventually has_no_processes
	[ ! -e "$file" ]
	is "$(ls tmp | wc -l)" 8
	rm tmp/*
}

@test "L4: if boris is killed while a command is starting, the command receives SIGTERM twice" {
	needs_plain
	for ((i = 0; i < 20; i++)); do
		rm -f got
		boris
		call_bash 'trap "echo x >>got" TERM; kill -KILL $PPID
			until [ "$(wc -l <got)" = 2 ]; do
				read -t 1 <>never
			done'
		await_exit
		eventually has_no_processes
		[ "$(wc -l <got)" != 2 ] || return 0
	done
	fail 'no command got SIGTERM twice'
}

@test "L4: if boris is killed during the grace period, tasks do not receive SIGTERM again" {
	needs_linux
	boris
	start_task 'trap "echo x >>terms" TERM; echo $$ >pid
		while :; do read -t 1 <>never; done'
	start_task 'trap "sleep 1.5; echo bye >bye; exit" TERM; echo x >other
		while :; do read -t 1 <>never; done'
	await_file pid other
	pause 100 # A command younger than 50 ms receives SIGTERM twice (E2).
	start_timer
	kill -TERM "$server"
	await_file terms
	pause 300 # Let boris send SIGTERM to both tasks.
	kill -KILL "$server"
	await_exit
	eventually is_gone pid
	least "$(elapsed)" 4800
	within 7000
	is "$(<terms) $(<bye)" 'x bye'
	eventually has_no_processes
}

@test "L4: a child forked by a SIGTERM handler is terminated after boris is killed" {
	needs_linux
	boris
	start_task 'trap "sleep 600 & exit" TERM; echo x >begun
		while :; do read -t 1 <>never; done'
	await_file begun
	kill -KILL "$server"
	await_exit
	eventually has_no_processes
}

@test "L4: a process that forks continuously is terminated after boris is killed" {
	needs_linux
	boris
	call_bash 'trap "" TERM; h() { [ -e forks ] && h & }; : >forks; h
		echo x >begun; sleep 600'
	await_file begun
	kill -KILL "$server"
	await_exit
	eventually has_no_processes
	rm forks
}

CLEAN_UP='trap "read -t 0.2 <>never; echo x >bye; exit" TERM
	echo $$ >pid; while :; do read -t 600 <>never; done'

@test "L4: a foreground command can clean up after boris is killed" {
	needs_linux
	boris
	call_bash "$CLEAN_UP" '{"timeout":60000}'
	await_file pid
	kill -KILL "$server"
	await_exit
	await_file bye
	eventually has_no_processes
}

@test "L4: a command that was turned into a task can clean up after boris is killed" {
	needs_linux
	boris --on-timeout=background
	run_bash "$CLEAN_UP" '{"timeout":100}'
	is "$(result status)" '"running"'
	await_file pid
	kill -KILL "$server"
	await_exit
	await_file bye
	eventually has_no_processes
}

# --- L4: the guard process

# start_guarded COMMAND [ARGUMENTS]: Starts boris and runs COMMAND. Sets $guard to
# the pid of the guard process.
start_guarded() {
	needs_linux
	[ -e /proc/self/task/$$/children ] || skip 'no list of children in /proc'
	boris
	is "$(guard_pid)" '' # It starts with the first command.
	run_bash "$@"
	guard=$(guard_pid)
	isnt "$guard" ''
}

# guard_was_replaced: Succeeds if boris has another guard process than before.
guard_was_replaced() {
	local now
	now=$(guard_pid) && [ -n "$now" ] && [ "$now" != "$guard" ]
}

@test "L4: if the guard process is killed, the next command starts a new one" {
	start_guarded 'sleep 600 &'
	kill -KILL "$guard"
	eventually is_gone "$guard"
	run_bash true
	guard_was_replaced
	kill -KILL "$server"
	await_exit
	eventually has_no_processes
}

@test "L4: if the guard process is stopped, the next command continues it" {
	start_guarded 'sleep 600 &'
	kill -STOP "$guard"
	eventually grep -q '^State:.T' "/proc/$guard/status"
	run_bash true
	kill -KILL "$server"
	await_exit
	eventually has_no_processes
}

@test "L4: if the guard process is killed while a task is running, boris replaces it immediately" {
	start_guarded 'sleep 600' '{"run_in_background":true}'
	kill -KILL "$guard"
	eventually is_gone "$guard"
	eventually guard_was_replaced
	kill -KILL "$server"
	await_exit
	eventually has_no_processes
}

@test "L4: the guard process starts with the first command and exits together with boris" {
	start_guarded true
	stop_server
	is_reaped "$guard"
}

@test "L4: the guard process inherits no file descriptors from the client" {
	start_guarded true
	is "$(ls "/proc/$guard/fd")" 0
	like "$(readlink "/proc/$guard/fd/0")" 'pipe:*'
	is "$(readlink "/proc/$guard/cwd")" /
}

@test "L4: the guard process runs in its own process group and session" {
	start_guarded true
	is "$(process "$guard" 5 6)" "$guard $guard"
}

@test "L4: boris exits normally if the guard process is stopped" {
	start_guarded true
	kill -STOP "$guard"
	start_timer
	stop_server
	within 2000
	is $status 0
}

@test "L4: the guard process uses at most 96 KiB of private memory" {
	needs_plain
	[ -e /proc/self/smaps_rollup ] || skip 'no smaps_rollup here'
	file "$BORIS" | grep -q 'statically' || skip 'for the static binary'
	boris
	for i in 1 2 3; do
		run_bash 'head -c 300000 /dev/zero | tr "\0" a'
	done
	rollup=/proc/$(guard_pid)/smaps_rollup
	most "$(awk '/^Private/ { n += $2 } END { print n }' "$rollup")" 96
}
