#!/usr/bin/env bats
# L: life and death
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# stubborn FILE: a command that ignores SIGTERM and writes its pid to FILE
stubborn() {
	echo "trap '' TERM HUP INT; echo \$\$ >$1; while :; do read -t 600 <>never; done"
}

@test "L1: at the end of stdin background tasks are terminated, and may clean up" {
	boris
	start_task 'sleep 600 & echo $! >child; trap "echo bye >bye; exit" TERM; read <gate'
	begun child
	begin
	leave
	within 3000
	is "$status $(<bye)" '0 bye'
	gone "$pid"
	gone child
}

@test "L1: SIGTERM, SIGINT, SIGHUP and SIGQUIT close the session: foreground, background, left behind; an idle one at once" {
	[ -z "$(trap -p HUP)" ] || wrap=(env --default-signal=HUP)  # nohup
	for signal in TERM INT HUP QUIT; do
		boris
		run_bash 'sleep 600 & echo $! >left'
		start_task 'echo $$ >task; read <gate'
		call_bash 'echo $$ >running; read <gate'
		begun left task running
		begin
		kill -$signal "$server"
		died
		is $status 0
		within 3000
		gone left
		gone task
		gone running
		rm left task running
		boris
		begin
		kill -$signal "$server"
		died
		is $status 0
		within 1000
	done
}

@test "L1: closing ends sixteen commands with an absolute cwd, and starts none that waits (D7, L2)" {
	boris
	: >begun
	for i in {1..18}; do
		call_bash "echo \$\$ >>'$PWD/begun'; read <'$PWD/gate'" '{"cwd":"/"}'
	done
	sixteen() { [ "$(wc -l <begun)" = 16 ]; }
	eventually sixteen
	begin
	kill -TERM "$server"
	died
	is $status 0
	within 3000
	is "$(wc -l <begun)" 16
	while read -r pid; do
		gone "$pid"
	done <begun
	is "$(grep -c 'session was closed' heard)" 18
}

@test "L1: stopped processes are continued, so that they end; closing twice is closing once" {
	boris
	start_task 'echo $$ >stopped; kill -STOP $$; echo no'
	start_task 'trap "echo bye >>bye; exit" TERM; echo x >a; read <gate'
	begun a stopped
	pause 100 # a command of less than 50 ms gets SIGTERM twice (E2)
	begin
	end_input
	begun bye
	kill -TERM "$server" 2>/dev/null || :
	kill -HUP "$server" 2>/dev/null || :
	died
	within 3000
	eventually alone
	is "$(cat bye)" bye
}

@test "L1: a wait for a task gets it as killed" {
	boris
	start_task 'echo x >a; read <gate; :'
	printed a
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	wait=$id
	in_turn
	kill -TERM "$server"
	answer $wait
	is "$(result status) $(result exit_code) $(result note)" '"killed" 143 '
	died
}

@test "P10: at the end a reader gets the whole of a line, however long it waited" {
	boris
	call_bash 'head -c 60000 /dev/zero | tr "\0" "\042" | tee /dev/stderr
		trap "sleep 0.6; exit 0" TERM; echo x >a; read <gate'
	begun a
	waits=$id
	kill -TERM "$server"
	died
	is $status 0
	answered $waits
	is "$(tail -c 1 heard | od -An -tx1)" ' 0a'
}

@test "L1: all groups are terminated at once, with one grace for all" {
	boris
	for i in 1 2 3 4; do
		start_task "$(stubborn stubborn$i)"
	done
	start_task 'echo $$ >mild; read <gate'
	begun stubborn{1,2,3,4} mild
	begin
	end_input
	eventually gone mild
	within 2000
	died
	least "$(took)" 4800
	within 7500
	is $status 0
	for i in 1 2 3 4; do
		gone stubborn$i
	done
}

# nothing_left: also what boris has left to its guard has ended
nothing_left() {
	! left_behind >/dev/null
}

# leaves_at_once PID...: boris does at a signal; of those that live, the rest of
# the grace is the guard's
leaves_at_once() {
	local pid
	kill -TERM "$server"
	died
	within 3000
	is $status 0
	for pid; do
		there "$pid"
	done
	eventually nothing_left
}

@test "L1: a signal after the end of stdin makes boris leave at once, and the grace is kept" {
	boris
	start_task "$(stubborn pid)"
	begun pid
	begin
	end_input
	until (($(took) >= 500)); do
		there pid
		read -rt 0.05 -u 9 || :
	done
	leaves_at_once pid
	least "$(took)" 4800
}

@test "L1: a signal while the last command is carried out makes boris leave at once" {
	boris
	call_bash 'trap "echo x >bye; exit" TERM; echo $$ >pid; while :; do read -t 600 <>never; done'
	begun pid
	end_input
	pause 200
	begin
	leaves_at_once
	begun bye
}

@test "L1: a signal during the grace makes boris leave at once, and who says good-bye does so in peace" {
	boris
	start_task 'trap "trap : TERM; echo x >term; read -t 1.5 <>never; echo x >bye; exit" TERM; echo $$ >pid; while :; do read -t 600 <>never; done'
	call_bash "$(stubborn pid2)"
	begun pid pid2
	kill -TERM "$server"
	begun term
	begin
	leaves_at_once pid pid2
	begun bye
}

@test "L1: who is killed right behind its SIGTERM leaves those in peace who say good-bye" {
	boris
	start_task 'trap "echo x >term; read -t 1.5 <>never; echo x >bye; exit" TERM; echo $$ >pid; while :; do read -t 600 <>never; done'
	begun pid
	kill -TERM "$server"
	kill -KILL "$server"
	died
	begun bye
	eventually alone
}

@test "L1: who sends SIGTERM to boris and all below it, twice, leaves the guard its work" {
	needs_linux
	boris
	start_task 'trap "trap : TERM; echo x >term; read -t 1.5 <>never; echo x >bye; exit" TERM; echo $$ >pid; while :; do read -t 600 <>never; done'
	begun pid
	guard=$(the_guard)
	kill -TERM "$guard" "$server" "$(<pid)"
	begun term
	kill -TERM "$guard" "$server"
	died
	begun bye
	eventually alone
}

# printing_daemon: a command that starts a daemon which prints to both streams
# every 10 ms and writes its pid to `daemon`
printing_daemon() {
	echo "setsid sh -c 'echo \$\$ >daemon; while sleep 0.01; do echo x; echo x >&2; done' &"
}

@test "L1: a daemon that prints to boris's pipes gets SIGPIPE when boris has exited" {
	needs setsid
	boris
	run_bash "$(printing_daemon)"
	begun daemon
	leave
	eventually gone daemon
}

@test "L1: a daemon that prints to boris's pipes gets SIGPIPE when boris was killed" {
	needs setsid
	boris
	start_task "$(printing_daemon) sleep 600"
	begun daemon
	kill -KILL "$server"
	died
	eventually gone daemon
	eventually alone
}

@test "L1: of a hundred tasks that have ended the guard holds nothing" {
	needs_linux
	boris
	for i in {1..100}; do
		start_task true
		look "$task" '{"wait":10000}'
	done
	most "$(ls "/proc/$(the_guard)/fd" | wc -l)" 5
}

@test "L1: each queued call is answered at the close; five times as many cost five times as much CPU" {
	needs_plain
	# The milliseconds of CPU of all servers so far
	cpu() { times >times; cpu=$(($(sed -n '2s/\([0-9]*\)m\([0-9]*\)\.\([0-9]*\)s */+\1*60000+10#\2*1000+10#\3/gp' times))); }
	cpu
	for n in 4000 20000; do
		before=$cpu
		: >heard
		boris
		call_bash 'echo x >begun; read <gate'
		seq $n | sed 's/.*/{"jsonrpc":"2.0","id":"q&","method":"tools\/call","params":{"name":"bash","arguments":{"command":"echo hi"}}}/' >&7
		begun begun
		in_turn
		begin
		kill -TERM "$server"
		died
		elapsed=$(took)
		said=$(grep -c '"id":"q.*session was closed' heard)
		# Where the reader is so slow, it has been waited for (P10).
		[ "$said" = $n ] || least "$elapsed" 200
		is $status 0
		rm begun
		cpu
		cost[n]=$((cpu - before))
	done
	most ${cost[20000]} $((10 * cost[4000] + 300))
}

@test "L2: after closing no command starts, what was queued and what comes late is an error" {
	boris
	call_bash "$(stubborn pid)"
	call_bash 'touch ran'
	queued=$id
	call_bash 'touch ran' '{"run_in_background":true}'
	begun pid
	in_turn
	kill -TERM "$server"
	trap '' PIPE
	call_bash 'touch ran' 2>/dev/null || :
	begin
	answer $queued
	refused '*session was closed*'
	answer 3
	refused '*session was closed*'
	leaves_at_once pid
	[ ! -e ran ]
}

@test "L3: no process outlives the session: children, grandchildren, jobs of their own group; a session of its own is let be" {
	needs setsid
	boris
	run_bash 'sleep 600 & (sleep 600 & sleep 600 & true); nohup sleep 600 >/dev/null 2>&1 &'
	! linux_parts || run_bash 'set -m; sleep 600 & echo $! >job'
	run_bash 'setsid sh -c "echo \$\$ >far; exec sleep 600" & true'
	start_task '(sleep 600; true) & (trap "" HUP; sleep 600) & echo x >a; read <gate'
	begun a far
	leave
	is $status 0
	there far
	kill "$(cat far)"
	eventually gone far
	none_left
}

# zombies: the server's children that have ended and are not reaped
zombies() {
	cat /proc/[0-9]*/stat 2>/dev/null |
		sed -n "s/^\([0-9]*\) (.*) Z $server .*/\1/p"
}

@test "L3: neither zombie nor descriptor is left of commands, tasks and cancelled ones" {
	needs_linux
	boris
	run_bash true
	before=$(ls "/proc/$server/fd" | wc -l)
	for i in 1 2 3; do
		run_bash 'head -c 40000 /dev/zero | tr "\0" a' '{"stdin":"x"}' '{"progressToken":1}'
		start_task "exit $i"
		look "$task" '{"wait":10000}'
		call_bash 'read <gate'
		cancel $id
		run_bash 'read <gate' '{"timeout":50}'
		run_bash true '{"cwd":"/no/such/place"}'
	done
	run_bash true
	same() { [ "$(ls "/proc/$server/fd" | wc -l)" = "$before" ] && [ -z "$(zombies)" ]; }
	eventually same
}

@test "L3: a thousand calls cost no memory, no descriptor and no zombie" {
	needs_plain
	boris
	many() {
		seq 250 | sed 's/.*/{"jsonrpc":"2.0","id":"h&","method":"tools\/call","params":{"name":"bash","arguments":{"command":"echo hi"}}}/' >&7
		head -n 250 <&8 >>heard
	}
	many
	many
	open=$(ls "/proc/$server/fd" | wc -l)
	# How many wait at a time is chance; what is lost is lost each time.
	for i in 3 4 5 6; do
		before=$(peak)
		many
		[ "$(peak)" -gt $((before + 100)) ] || break
	done
	most "$(peak)" $((before + 100))
	is "$(ls "/proc/$server/fd" | wc -l)" "$open"
	is "$(zombies)" ''
	is "$(grep -c '"hi' heard)" $((250 * i))
}

@test "L3: no file is left, however boris ends" {
	for how in end_input 'kill -TERM'; do
		boris
		run_bash 'head -c 40000 /dev/zero | tr "\0" a'
		start_task 'head -c 90000 /dev/zero | tr "\0" a; echo x >a; read <gate'
		begun a
		least "$(find tmp -type f | wc -l)" 1
		$how $server
		died
		is "$(find tmp -type f)" ''
		rm a
	done
}

@test "L3: a client that is killed in the middle of a response leaves nothing" {
	boris
	start_task 'echo $$ >pid; read <gate'
	begun pid
	for i in 1 2 3 4 5; do
		call_bash 'head -c 30000 /dev/zero | tr "\0" a'
	done
	head -c 1000 <&8 >/dev/null
	exec 8<&-
	end_input
	eventually exited
	gone pid
	none_left
	left=1
}

# all_sorts: a task, a stubborn one, one left running, a job of its own group, a
# saved file, and a foreground command that goes on
all_sorts() {
	run_bash 'sleep 600 &'
	! linux_parts || run_bash 'set -m; sleep 600 & disown'
	start_task 'sleep 600'
	start_task 'trap "" TERM; echo x >stubborn; while :; do read -t 60 <>never; done'
	run_bash 'head -c 100000 /dev/zero | tr "\0" a'
	[ -e "$(plain stdout_file)" ]
	call_bash 'echo x >last; read <gate'
	begun stubborn last
}

@test "L4: when boris, or its process group, is killed, all that it started ends, and its files go" {
	needs_linux
	for whom in '' -; do
		boris
		all_sorts
		kill -KILL -- "$whom$server"
		died
		is $status 137
		eventually alone
		is "$(compgen -G 'tmp/*')" ''
		rm stubborn last
	done
}

@test "L4: files that commands made stay, whatever their names begin with" {
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
	died
	eventually alone
	[ ! -e "$file" ]
	is "$(ls tmp | wc -l)" 8
	rm tmp/*
}

@test "L4: a command that begins when boris is killed gets SIGTERM again" {
	needs_plain
	for ((i = 0; i < 20; i++)); do
		rm -f got
		boris
		call_bash 'trap "echo x >>got" TERM; kill -KILL $PPID
			until [ "$(wc -l <got)" = 2 ]; do read -t 1 <>never; done'
		died
		eventually alone
		[ "$(wc -l <got)" != 2 ] || return 0
	done
	fail 'it never did'
}

@test "L4: when boris is killed during the grace, that goes on, with no other SIGTERM" {
	needs_linux
	boris
	start_task 'trap "echo x >>terms" TERM; echo $$ >pid; while :; do read -t 1 <>never; done'
	start_task 'trap "sleep 1.5; echo bye >bye; exit" TERM; echo x >other; while :; do read -t 1 <>never; done'
	begun pid other
	pause 100  # a younger one may get two
	begin
	kill -TERM "$server"
	begun terms
	pause 300  # so that boris has sent it to all
	kill -KILL "$server"
	died
	eventually gone pid
	least "$(took)" 4800
	within 7000
	is "$(<terms) $(<bye)" 'x bye'
	eventually alone
}

@test "L4: when boris is killed, who forks and exits all the time, or as it is ended, ends too" {
	needs_linux
	boris
	start_task 'trap "sleep 600 & exit" TERM; echo x >begun2; while :; do read -t 1 <>never; done'
	call_bash 'trap "" TERM; h() { [ -e forks ] && h & }; : >forks; h; echo x >begun; sleep 600'
	begun begun begun2
	kill -KILL "$server"
	died
	eventually alone
	rm forks
}

@test "L4: when boris is killed, who was handed over, or is in the foreground, says good-bye in peace" {
	needs_linux
	for timeout in 100 60000; do
		boris --on-timeout=background
		call_bash 'trap "read -t 0.2 <>never; echo x >bye; exit" TERM
			echo $$ >pid; while :; do read -t 600 <>never; done' '{"timeout":'$timeout'}'
		begun pid
		[ $timeout != 100 ] || answer
		kill -KILL "$server"
		died
		begun bye
		eventually alone
		rm pid bye
	done
}

# guarded COMMAND [ARGUMENTS]: runs it in a boris whose second process is $first
guarded() {
	needs_linux
	[ -e /proc/self/task/$$/children ] || skip 'no list of children in /proc'
	boris
	run_bash "$@"
	first=$(the_guard)
}

@test "L4: a second process that was killed is replaced with the next command" {
	guarded 'sleep 600 &'
	kill -KILL "$first"
	eventually gone "$first"
	run_bash true
	isnt "$(the_guard)" ''
	isnt "$(the_guard)" "$first"
	kill -KILL "$server"
	died
	eventually alone
}

@test "L4: a second process that was stopped goes on with the next command" {
	guarded 'sleep 600 &'
	kill -STOP "$first"
	eventually grep -q '^State:.T' "/proc/$first/status"
	run_bash true
	kill -KILL "$server"
	died
	eventually alone
}

@test "L4: a second process that was killed beside a task is replaced at once" {
	guarded 'sleep 600' '{"run_in_background":true}'
	kill -KILL "$first"
	eventually gone "$first"
	another() { local now && now=$(the_guard) && [ -n "$now" ] && [ "$now" != "$first" ]; }
	eventually another
	kill -KILL "$server"
	died
	eventually alone
}

@test "L4: the second process is there from the first command to the end, holds nothing of the client's, keeps nobody from the end" {
	needs_linux
	[ -e /proc/self/task/$$/children ] || skip 'no list of children in /proc'
	boris
	is "$(the_guard)" ''
	run_bash true
	guard=$(the_guard)
	is "$(ls "/proc/$guard/fd")" 0
	like "$(readlink "/proc/$guard/fd/0")" 'pipe:*'
	is "$(process "$guard" 5 6)" "$guard $guard"  # its group and session
	is "$(readlink "/proc/$guard/cwd")" /
	leave
	reaped "$guard"
	boris
	run_bash true
	kill -STOP "$(the_guard)"
	begin
	leave
	within 2000
	is $status 0
}

@test "L4: the second process costs at most 96 KiB of private memory" {
	needs_plain
	[ -e /proc/self/smaps_rollup ] || skip 'no smaps_rollup here'
	file "$BORIS" | grep -q 'statically' || skip 'for the static binary'
	boris
	for i in 1 2 3; do
		run_bash 'head -c 300000 /dev/zero | tr "\0" a'
	done
	most "$(awk '/^Private/ { n += $2 } END { print n }' "/proc/$(the_guard)/smaps_rollup")" 96
}
