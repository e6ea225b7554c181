#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# I: programs that talk back
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load helper

# shown TEXT: what is new has it, perhaps at the next look; a slow machine may
# pause where that looks like a prompt
shown() {
	[[ $(plain stdout) == *"$1"* ]] ||
		{ type_in '' '"wait":0' && [[ $(plain stdout) == *"$1"* ]]; }
}

# asks: the result says that the terminal waits for input; that it may wait,
# where boris can't know
asks() {
	linux_parts || { may_ask; return; }
	has "$(plain note)" 'the program waits for input'
}

# may_ask: the result says that the terminal may wait for input
may_ask() {
	has "$(plain note)" 'the program may be waiting for input'
}

# silent: it does not say so, nor that a secret is asked for
silent() {
	lacks "$(result note)" 'for input'
	lacks "$(result note)" secret
}

@test "I1: a command with tty runs on a terminal of 50 lines and 200 columns" {
	local PAGER=less GIT_PAGER=more TERM=xterm LINES=24 COLUMNS=80
	export PAGER GIT_PAGER TERM LINES COLUMNS
	boris
	on_terminal 'test -t 0 && test -t 1 && test -t 2 && stty size; echo own >/dev/tty; tty | cmp - <(readlink /proc/$$/fd/0); echo err >&2'
	is "$(result status) $(result exit_code)" '"completed" 0'
	is "$(plain stdout)" $'50 200\nown\nerr'
	is "$(result stderr)" '""'
	on_terminal 'echo $TERM $PAGER $GIT_PAGER; env | grep -c PAGER='
	is "$(plain stdout)" $'linux cat cat\n2'
	on_terminal 'env -u BASH_ENV sh -c "echo $LINES $COLUMNS"; stty size'
	is "$(plain stdout)" $'\n50 200'
	on_terminal 'printf "\033[31mred\033[0m\n50%%\rdone\nend"'
	is "$(plain stdout)" $'red\ndone\nend'
	run_bash 'echo $TERM $PAGER $GIT_PAGER'
	is "$(plain stdout)" 'dumb less more'
}

@test "I1: the last output of a program on a terminal is in its result" {
	boris
	for i in 1 2 3 4 5 6 7 8 9 10; do
		on_terminal 'seq 2000'
		is "$(result status) $(get -n result structuredContent stdout)" \
			'"completed" 8893'
	done
}

@test "I1: a command with a terminal counts as one of the ten tasks" {
	boris --workdir=/
	for n in 1 2 3 4 5 6 7 8 9; do
		start_task "read <'$PWD/never'"
	done
	on_terminal 'cd /tmp; read x' '"wait":1'
	is "$(result status)" '"running"'
	run_tool task_output '{}'
	has "$(result tasks)" "$task"
	run_bash 'echo no' '{"tty":true}'
	refused '*10 background tasks are running*'
	run_bash pwd
	is "$(plain stdout)" /
	type_in '\n'
	is "$(result status)" '"completed"'
}

@test "I1: tty and stdin together are rejected" {
	boris
	run_bash cat '{"tty":true,"stdin":"x"}'
	refused 'stdin cannot be used with tty*'
	on_terminal 'echo hi' '"run_in_background":false,"stdin":""'
	is "$(plain stdout)" hi
	run_bash 'echo hi' '{"tty":false}'
	is "$(plain stdout) $(result task_id)" 'hi '
	on_terminal 'echo hi' '"run_in_background":true'
	is "$(plain stdout)" hi
}

@test "I1: if no terminal is available, the error gives the reason" {
	needs_root
	needs unshare
	[ -z "$WRAP" ] || skip "under $WRAP"
	unshare -m true || skip 'no mount namespaces here'
	# In a container /dev/ptmx is a link to pts/ptmx.
	wrap=(unshare -m sh -ec 'mount -t tmpfs none /dev/pts
		[ -L /dev/ptmx ] || mount --bind /dev/null /dev/ptmx
		exec "$@"' sh)
	boris
	run_bash 'echo hi' '{"tty":true}'
	refused 'cannot open a terminal*/dev/ptmx*: *'
	run_bash 'echo on'
	is "$(plain stdout)" on
	run_tool task_output '{}'
	has "$(text)" 'no tasks'
}

@test "I1: a terminal can be opened if /dev/ptmx is a link to pts/ptmx" {
	needs_root
	needs unshare
	[ -z "$WRAP" ] || skip "under $WRAP"
	unshare -m true || skip 'no mount namespaces here'
	mkdir dev
	wrap=(unshare -m sh -ec 'mount -t tmpfs none dev
		mkdir dev/pts
		mount -t devpts -o newinstance,ptmxmode=666 none dev/pts
		cp -a /dev/null /dev/tty dev
		ln -s pts/ptmx dev/ptmx
		mount --rbind dev /dev
		exec "$@"' sh)
	boris
	run_bash 'tty; ls -l /dev/ptmx' '{"tty":true}'
	like "$(plain stdout)" '/dev/pts/[0-9]*/dev/ptmx -> pts/ptmx'
	run_bash 'echo on >/dev/tty' '{"tty":true}'
	is "$(plain stdout)" on
}

@test "I1: no command inherits the master side of a terminal" {
	needs_linux
	boris
	on_terminal 'ls -l /proc/self/fd; printf "? "; read x'
	lacks "$(text)" ptmx
	has "$(text)" /dev/pts/
	run_bash 'ls -l /proc/self/fd'
	lacks "$(text)" ptmx
	lacks "$(text)" /dev/pts/
	type_in '\n'
}

@test "I2: the result of an input has the program's response" {
	boris
	on_terminal 'read -p "Name: " name; echo "Hello $name"; read -p "Again? " x'
	is "$(plain stdout)" 'Name: '
	type_in 'Bob\n'
	is "$(plain stdout)" $'Bob\nHello Bob\nAgain? '
	asks
	type_in 'n\n'
	is "$(result status) $(result exit_code)" '"completed" 0'
	is "$(plain stdout)" n
	on_terminal 'PS1="% " sh -i'
	is "$(plain stdout)" '% '
	type_in 'cd /; x=5\n'
	is "$(plain stdout)" $'cd /; x=5\n% '
	type_in 'pwd; echo $x\n'
	is "$(plain stdout)" $'pwd; echo $x\n/\n5\n% '
	type_in 'exit 3\n'
	is "$(result status) $(result exit_code)" '"completed" 3'
	on_terminal 'read -p "> " x; echo "<$x>"'
	type_in 'tw'
	is "$(plain stdout)" 'tw'
	type_in 'o \u00e9 \"\n'
	is "$(plain stdout)" $'o \xc3\xa9 "\n<two \xc3\xa9 ">'
}

@test "I2: a newline is typed as a carriage return to a program in raw mode" {
	boris
	on_terminal 'stty raw -echo; echo ready; head -c 4 | od -c; stty sane; echo end' '"until":"ready"'
	type_in 'a\nb\n' '"until":"end"'
	like "$(plain stdout)" '*a  \\r   b  \\r*'
}

@test "I2: a newline is typed as a newline to a program that keeps ICRNL" {
	boris
	on_terminal 'stty -icanon -echo; echo ready; head -c 4 | od -c; stty sane; echo end' '"until":"ready"'
	type_in 'a\nb\n' '"until":"end"'
	like "$(plain stdout)" '*a  \\n   b  \\n*'
}

@test "I2: Ctrl-C, Ctrl-Z and Ctrl-D work as on any terminal" {
	boris
	on_terminal 'PS1="% " bash --norc --noediting -i'
	type_in 'sh -c \"echo x >one; exec sleep 1000\"\n' '"wait":0'
	begun one
	type_in '\u0003'
	lacks "$(result note)" ignal
	eventually shown '% '
	type_in 'sh -c \"echo x >two; exec sleep 1000\"\n' '"wait":0'
	begun two
	type_in '\u001a'
	eventually shown Stopped
	eventually shown '% '
	type_in 'kill -9 %1; cat >in\n' '"wait":0'
	type_in 'to the file\n\u0004' '"until":"% "'
	is "$(<in)" 'to the file'
	type_in '\u0004'
	is "$(result status)" '"completed"'
}

@test "I2: an empty input reads the task without typing" {
	boris
	on_terminal 'echo one; read <gate; echo two; read x; echo "<$x>"' '"until":"one"'
	is "$(plain stdout)" one
	release
	type_in '' '"until":"two"'
	is "$(plain stdout)" two
	type_in '' '"wait":0'
	is "$(result stdout)" '""'
	has "$(text)" '(no new output)'
	type_in '\n'
	is "$(plain stdout)" $'\n<>'
	on_terminal 'read <gate; echo bye' '"wait":1'
	release
	eventually gone "$pid"
	type_in ''
	is "$(result status) $(plain stdout)" '"completed" bye'
}

@test "I2: input for a task that cannot read a terminal is rejected" {
	boris
	task=nosuch
	type_in 'x\n'
	refused 'task not found: nosuch*'
	run_bash 'echo hi' '{"input":"x"}'
	refused 'command and input were given; give only one of *'
	run_tool bash '{"input":"x"}'
	refused 'argument "task_id" is missing*'
	start_task 'read <gate'
	type_in 'x\n'
	refused "nothing was typed*no terminal*tty: true*"
	type_in ''
	refused "nothing was typed*no terminal*tty: true*"
	release
	eventually gone "$pid"
	on_terminal 'read <gate; echo bye' '"wait":1'
	release
	eventually gone "$pid"
	in_turn
	type_in 'x\n'
	refused "nothing was typed*has ended*task_output*"
	look
	is "$(plain stdout)" bye
}

@test "I2: input is kept while the program has closed its terminal" {
	boris
	on_terminal 'printf "Off... "; exec </dev/null >/dev/null 2>&1; echo x >begun; read <gate; read x </dev/tty; echo "got $x" >/dev/tty; read <gate' '"wait":1'
	begun begun
	look
	type_in 'x\n' '"wait":0'
	look '' '"wait":600'
	silent
	release
	type_in '' '"until":"got x"'
	has "$(plain stdout)" 'got x'
	release
}

@test "I2: arguments that do not apply to input are rejected" {
	boris
	on_terminal 'read x' '"wait":1'
	for other in '"cwd":"/"' '"stdin":"x"' '"timeout":5' '"tty":true' \
		'"run_in_background":true'; do
		type_in 'x\n' "$other"
		other=${other#\"}
		refused "${other%%\"*} cannot be used with input, which accepts only task_id, wait, until, truncate, limit and description"
	done
	type_in 'x\n' '"description":"the end"'
	is "$(result status)" '"completed"'
}

@test "I2: a line of more than 4095 bytes is rejected in canonical mode" {
	boris
	on_terminal 'read x; echo ${#x}; stty -icanon; head -c 5000 | wc -c' '"wait":1'
	long=$(printf %4095s | tr ' ' a)
	type_in "x${long}"
	refused 'nothing was typed*4095 bytes*'
	type_in "$long" '"wait":0'
	type_in x
	refused 'nothing was typed*4095 bytes*'
	type_in '\n' '"until":"4095"'
	lacks "$(result note)" 'not printed'
	eventually sees_keys
	type_in "$long$long" '"until":"5000"'
	lacks "$(result note)" 'not printed'
}

@test "I2: a control character that is disabled with stty does not end a line" {
	boris
	on_terminal 'stty -isig kill undef; echo ready; head -c 4000 >/dev/null; read x' '"until":"ready"'
	long=$(printf %4000s | tr ' ' a)
	for key in 0003 0015 001a; do
		type_in "$long"'\u'$key"$long"
		refused 'nothing was typed*4095 bytes*'
	done
}

# sees_keys: the program of the last task reads keys itself
sees_keys() {
	[[ $(stty -a <"$(readlink "/proc/$pid/fd/0")") == *-icanon* ]]
}

@test "I2: boris serves other calls while it types a megabyte" {
	boris
	text=$(printf '%64s' | tr ' ' a)'\n'
	text=$text$text$text$text$text$text$text$text
	text=$text$text$text$text$text$text$text$text
	printf '{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"bash","arguments":{"wait":60000,"until":"1040000","task_id":"' >head
	{
		for ((i = 0; i < 250; i++)); do
			printf %s "$text"
		done
		printf '"}}}\n'
	} >tail
	on_terminal 'echo ready; read <gate; head -c 1040000 | wc -c' '"until":"ready"'
	{ cat head; printf '%s","input":"' "$task"; cat tail; } >&7
	for ((i = 0; i < 20; i++)); do
		in_turn # it has been typed, or waits
		run_bash 'echo on'
		is "$(plain stdout)" on
	done
	release
	answer 0
	lacks "$(result note)" 'not printed'
	has "$(plain stdout)" 1040000
}

@test "I2: the unread input of a terminal is limited to 4 MiB" {
	needs_plain
	boris
	on_terminal 'stty -icanon -echo; echo ready; read <gate' '"until":"ready"'
	printf '{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"bash","arguments":{"wait":0,"task_id":"%s","input":"' "$task" >one
	printf %3000000s | tr ' ' a >>one
	printf '"}}}\n' >>one
	cat one >&7
	answer 0
	is "$(result status)" '"running"'
	rests 1
	cat one >&7
	answer 0
	refused 'nothing was typed*4 MiB*'
	release
	eventually gone "$pid"
}

@test "I3: an incomplete last line is reported as a possible prompt" {
	boris
	on_terminal 'echo line; printf "Go on? "; read -t 600 <gate'
	is "$(result status)" '"running"'
	may_ask
	is "$(plain stdout)" $'line\nGo on? '
	on_terminal 'stty -icanon -echo; echo Menu; read -t 600 <gate'
	may_ask
	lacks "$(plain note)" secret
	on_terminal 'echo line; read <gate' '"wait":1500'
	is "$(result status) $(plain stdout)" '"running" line'
	silent
	least "$(result elapsed_ms)" 1500
	release 3
}

@test "I3: a program that turns off echo is reported to ask for a secret" {
	boris
	on_terminal 'read -s -p "Password: " x; echo; echo "got ${#x}"'
	has "$(plain note)" secret
	type_in 'hunter2\n'
	is "$(plain stdout)" $'\ngot 7'
	on_terminal 'stty -echo; echo Password; read x'
	has "$(plain note)" secret
	type_in '\n'
	on_terminal 'echo Password; read -t 1 <>never; stty -echo; read x' '"wait":60000'
	has "$(plain note)" secret
	type_in '\n'
	is "$(result status)" '"completed"'
}

@test "I3: a pause between complete lines does not end a wait" {
	boris
	on_terminal 'for i in 1 2 3; do echo step $i; read -t 0.6 <>never; done; printf "ok? "; read x' '"wait":60000'
	is "$(plain stdout)" $'step 1\nstep 2\nstep 3\nok? '
	asks
	type_in '\n'
}

@test "I3: a prompt that was reported does not end another wait" {
	boris
	on_terminal 'stty -icanon -echo; for i in 1 2; do printf "Key $i? "; read -t 600 <gate; done'
	may_ask
	look '' '"wait":700'
	least "$(result elapsed_ms)" 1000 # nothing ended that wait
	may_ask
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	release
	answer
	has "$(plain stdout)" 'Key 2? '
	may_ask
	release
}

@test "I3: no prompt is reported if nothing was printed since the last input" {
	needs_linux_parts
	boris
	on_terminal 'stty -icanon -echo; printf "> "; head -c 1 >one; read -t 600 <gate; printf "> "; head -c 1 >two'
	asks
	to_type 'x' '"wait":60000,"until":"nosuch"'
	typed=$id
	look '' '"wait":1000'
	silent
	release
	answer $typed
	has "$(plain stdout)" '> '
	asks
	type_in x
}

@test "I3: a prompt ends a wait for a text" {
	needs_linux_parts
	boris
	on_terminal 'printf "Sure? "; read x; echo ready; read x' '"until":"ready"'
	asks
	has "$(plain note)" 'not printed: ready'
	type_in 'y\n' '"until":"ready"'
	lacks "$(result note)" 'not printed'
	type_in '\n'
}

@test "I3: no prompt is reported until all input has been typed" {
	boris
	line=$(printf %1000s | tr ' ' a)'\n'
	on_terminal 'read <gate; cat >in; wc -c <in' '"wait":1'
	text=
	for ((i = 0; i < 30; i++)); do
		text+=$line
	done
	to_type "$text"'\u0004' '"wait":60000,"until":"30030"'
	in_turn
	look '' '"wait":700'
	silent
	release
	answer $((id - 2))
	has "$(plain stdout)" 30030
}

# quick COMMAND: it is said at once that it asks, though nothing else would do
quick() {
	on_terminal "$1" '"wait":30000'
	asks
	most "$(result elapsed_ms)" $((2500 * SLOW))
}

@test "I3: a program that reads the terminal is reported as waiting even without a prompt" {
	needs_linux_parts
	boris
	quick 'echo line; cat >got'
	type_in 'x\n' '"wait":0'
	eventually test -s got
	type_in '\u0004'
	is "$(result status)" '"completed"'
	quick 'read x </dev/tty'
	type_in '\n'
	on_terminal 'read -s x; read -n 1 y' '"wait":30000'
	has "$(plain note)" secret
	type_in '\n'
	asks
	lacks "$(plain note)" secret
	type_in y
	is "$(result status)" '"completed"'
}

@test "I3: a program at work is not reported as waiting even if its last line is incomplete" {
	needs_linux_parts
	boris
	for command in \
		'printf "checking... "; sleep 60' \
		'printf "checking... "; while :; do :; done' \
		'printf "checking... "; (cat <gate | cat)' \
		'printf "checking... "; sleep 60 & wait' \
		'stty -icanon -echo; printf "checking... "; sleep 60' \
		'printf "checking... "; read x <gate' \
		'set -m; printf "building... "; (trap "" TTIN; read x; sleep 60) & sleep 60'; do
		call_bash "$command" '{"tty":true,"wait":1500}'
		ids+=("$id")
	done
	for id in "${ids[@]}"; do
		answer
		silent
		least "$(result elapsed_ms)" 1500
	done
}

@test "I3: a program is not reported as waiting while its main thread is running" {
	needs_linux_parts
	needs python3
	boris
	on_terminal "python3 -c 'import select, threading
threading.Thread(target=select.select, args=([0], [], [], 60), daemon=True).start()
print(\"begun \", end=\"\", flush=True)
while True: pass'" '"until":"begun"'
	look '' '"wait":1000'
	is "$(result status)" '"running"'
	silent
}

@test "I3: without /proc, an incomplete last line is reported as a possible prompt" {
	needs_root
	needs unshare
	needs_plain
	wrap=(unshare -m sh -c 'umount -l /proc && exec "$@"' sh)
	"${wrap[@]}" true || skip 'no mount namespaces here'
	boris
	on_terminal 'printf "Go on? "; sleep 60'
	may_ask
	on_terminal 'echo line; cat' '"wait":1500'
	silent
}

# turns: how often the server has been woken
turns() {
	awk '/^(non)?voluntary_ctxt/ { n += $2 } END { print n }' \
		"/proc/$server/status"
}

@test "I4: a terminal that no process has open does not wake boris" {
	needs_plain
	boris
	on_terminal 'echo x; exec </dev/null >/dev/null 2>&1; echo x >begun; read <gate' '"wait":0'
	begun begun
	look
	in_turn
	before=$(turns)
	pause 2000
	most $(($(turns) - before)) 2
	release
}

@test "I4: a task with a terminal is read, listed and killed like any other task" {
	boris
	on_terminal 'echo one; read <gate' '"wait":100'
	look '' '"new":true'
	is "$(plain stdout)$(result status)" '"running"'
	run_tool bash '{"check_pid":'"$pid"'}'
	is "$(plain stdout)" one
	run_tool task_output '{}'
	is "$(plain tasks 0 task_id)" "$task"
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(result status) $(plain stdout)" '"killed" '
	eventually gone "$pid"
	look
	refused 'task not found*'
}

@test "T4: kill_pid terminates an interactive shell with SIGHUP after a second" {
	boris
	on_terminal 'PS1="% " bash --norc -i'
	echo 'trap "" TERM; echo $$ >job; read x <gate' >script
	type_in 'sh script &\n' '"wait":100'
	begun job
	begin
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(result status) $(plain signal)" '"killed" SIGHUP'
	least "$(took)" 950
	within 3000
	gone job
	gone "$pid"
}

@test "T4: kill_pid kills a program on a terminal that ignores SIGTERM and SIGHUP" {
	hurried
	boris
	on_terminal 'trap "" TERM HUP; echo x >begun; while :; do read x <gate; done' '"wait":1'
	begun begun
	begin
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(plain signal)" SIGKILL
	least "$(took)" 4900
}

@test "I4: a program that has closed its terminal keeps its own exit code" {
	boris
	for i in 1 2 3; do
		on_terminal 'exec </dev/null >/dev/null 2>&1; read <gate; exit 3' '"wait":100'
		release
		look '' '"wait":10000'
		is "$(result status) $(result exit_code)" '"completed" 3'
	done
	on_terminal 'exec </dev/null >/dev/null 2>&1; echo x >begun; read <gate; seq 100000 >/dev/tty; echo x >printed; read <gate; echo again >/dev/tty' '"wait":100'
	begun begun
	release
	begun printed # though nobody looks
	release
	look '' '"wait":10000,"new":true'
	has "$(plain stdout)" again
}

@test "I3: a password prompt on a reopened terminal is reported" {
	boris
	on_terminal 'exec </dev/null >/dev/null 2>&1; exec 3<>/dev/tty; stty -echo <&3; printf "Password: " >&3; read x <&3' '"wait":60000'
	has "$(plain note)" secret
	type_in 'x\n'
	is "$(result status)" '"completed"'
}

@test "I3: a prompt that is printed again is reported again" {
	boris
	on_terminal 'stty -icanon -echo; while printf "\rchoice: "; do dd bs=1 count=1 >/dev/null 2>&1; done'
	asks
	begin
	type_in x '"wait":20000'
	within 5000
	asks
}

@test "I4: a process left running on a terminal does not delay the result" {
	boris
	on_terminal 'trap "" HUP; (trap "" TERM; echo x >begun; read <gate; echo late; echo $? >code; read <gate) & begun=1; until test -s begun; do :; done; echo end'
	is "$(result status) $(plain stdout)" '"completed" end'
	like "$(plain note)" "*the command left processes running*pkill -s $pid*"
	release
	begun code
	isnt "$(<code)" 0
	release
}

@test "L3, L4: processes on terminals do not outlive boris" {
	for how in end_input 'kill -9'; do
		boris
		on_terminal 'PS1="% " bash --norc -i'
		type_in 'sleep 1000 & echo $! >job\n'
		begun job
		on_terminal 'trap "" HUP; sleep 1000' '"wait":1'
		$how $server
		died || :
		eventually gone job
		eventually gone "$pid"
		eventually alone
		status=0
		rm job
	done
}

@test "I6: a line is wrapped at column 200" {
	boris
	on_terminal 'printf %0200d 1; echo; printf %0201d 2; printf "\r3\n"; read <gate' '"until":"3"'
	is "$(plain stdout)" "$(printf '%0200d\n%0200d\n3' 1 0)"
	release
	on_terminal 'printf "%-150s\n\t \n%-300s|\n" a b; printf "name: "; read x' '"until":"name: "'
	is "$(result stdout)" '"a\n\nb\n'"$(printf '%100s')"'|\nname: "'
	type_in 'x\n' '"wait":10000'
	is "$(result stdout)" '"x\n"'
}

@test "I6: the result of a full-screen program has the current screen" {
	boris
	for begins in '\033[?1049h' '\033[?1047h' '\033[?47h' '\033[H' '\033[1;1f'; do
		on_terminal "echo before; printf '$begins'; echo one; printf '\033[3;5Htwo  '; read x; printf '\033[H\033[Kmore'; read x" '"until":"two"'
		has "$(plain screen)" '    two'
		is "$(result stdout)" ''
		type_in '\n' '"until":"more"'
		like "$(plain screen)" $'more*\n    two*'
		has "$(get result content 0 text)" 'screen:\nmore'
		type_in '\n'
	done
}

@test "I6: a program that leaves the alternate screen prints lines again" {
	boris
	on_terminal 'echo before; printf "\033[?1049h\033[Hdrawn"; read x; printf "\033[?1049l"; echo after; read x' '"until":"drawn"'
	is "$(plain screen)" drawn
	type_in '\n' '"until":"after"'
	like "$(plain stdout)" '*after'
	lacks "$(plain stdout)" drawn
	run_tool task_output '{"task_id":"'"$task"'"}'
	like "$(plain stdout)" $'before\n*after'
}

@test "I6: with new, an unchanged screen is not returned again" {
	boris
	on_terminal 'printf "\033[?1049h\033[5;5Hdrawn"; read x; printf "\033[5;5Hagain"; read x' '"until":"drawn"'
	run_tool task_output '{"task_id":"'"$task"'","new":true}'
	is "$(plain screen)" ''
	type_in '\n' '"until":"again"'
	has "$(plain screen)" '    again'
}

@test "I6: clearing the screen does not make a program a full-screen program" {
	boris
	for begins in '\033[H\033[2J' '\033[2J\033[H' '\033[H\033[J' '\033[H\033[1;1H\033[?25l\033[J' '\0337\033[999;999f\0338'; do
		on_terminal "printf '$begins'; echo drawn; read x" '"until":"drawn"'
		is "$(plain stdout)" drawn
		type_in '\n'
	done
}

@test "I6: text after a cleared screen is new if the screen ended with blank lines" {
	boris
	on_terminal 'stty -echo; printf "drawn\n\n\n"; read x; printf "\033[H\033[2Jagain"; read x' '"until":"drawn"'
	run_tool task_output '{"task_id":"'"$task"'","new":true}'
	type_in '\n' '"until":"again"'
	is "$(plain stdout)" again
}

@test "I6: nested progress bars take one line of text each" {
	boris
	on_terminal 'for i in 1 2 3; do printf "outer $i\ninner $i\r\033[A"; done; printf "\n\nend\n"' '"wait":10000'
	is "$(plain stdout)" $'outer 3\ninner 3\nend'
}

@test "I6: a terminal answers queries in the order in which they are printed" {
	boris
	on_terminal 'stty raw -echo; printf "ab\033[6n\033[5n\033[c\033[>c"; head -c 26 | tr "\033" E; stty sane; echo; echo end' '"until":"end"'
	has "$(plain stdout)" 'E[1;3RE[0nE[?1;2cE[>0;0;0c'
	on_terminal 'stty raw -echo; printf "\0337\033[999;999f\033[6n\0338"; head -c 9 | tr "\033" E; stty sane; echo; echo end' '"until":"end"'
	has "$(plain stdout)" 'E[50;200R'
}

@test "W3: until is found in a row that a full-screen program has changed" {
	boris
	on_terminal 'printf "\033[?1049h\033[5;5Hready: no"; read x; sleep 0.2; printf "\033[5;12Hyes"; read x' '"until":"ready: no"'
	type_in '\n' '"until":"ready: yes"'
	has "$(plain screen)" 'ready: yes'
	lacks "$(plain note)" 'not printed'
}

@test "W2: a wait after input continues while the program is at work" {
	needs_linux_parts
	boris
	on_terminal 'read x; echo start; sleep 3; echo end; read y; echo $y'
	type_in 'go\n'
	is "$(plain stdout)" $'go\nstart\nend'
	asks
	type_in 'bye\n'
	is "$(result exit_code)" 0
}

@test "W2: a wait after input ends after two seconds of silence" {
	boris
	on_terminal 'while read -t 600 x; do echo $x; done; exit 0' '"wait":1'
	begin
	type_in 'hello\n' '"wait":60000'
	is "$(plain stdout)" $'hello\nhello'
	least "$(took)" 2000
	within 4000
	silent
	type_in '\u0004'
	is "$(result exit_code)" 0
}

@test "W2: the echo of several typed lines does not count as new output" {
	needs perl
	hurried
	boris
	on_terminal "perl -e 'print qq(go\n); <STDIN> for 1 .. 3; select(undef, undef, undef, 60)'" '"until":"go"'
	begin
	type_in 'a\nb\nc\n' '"wait":20000'
	is "$(plain stdout)" $'a\nb\nc'
	least "$(took)" 19900
	run_tool bash '{"kill_pid":'"$pid"'}'
}

@test "W2: the cancellation of a call with input ends only the wait" {
	boris
	on_terminal 'PS1="% " sh -i'
	to_type 'read x <gate; echo got\n' '"until":"nosuch"'
	typed=$id
	in_turn
	cancel $typed
	in_turn
	release
	type_in 'exit\n'
	is "$(result status)" '"completed"'
	leave
	unanswered $typed
}

@test "W3: until is not found in the echo of the input" {
	boris
	on_terminal 'PS1="% " bash --norc -i'
	to_type 'echo x >begun; read x <gate; echo READY\n' '"until":"READY","wait":60000'
	typed=$id
	printed begun
	next_is_ping
	release
	answer $typed
	has "$(plain stdout)" $'echo READY\nREADY'
	lacks "$(result note)" 'not printed'
	type_in 'exit\n'
}

@test "W3: until is not found in an echo that arrives in pieces" {
	boris
	on_terminal 'stty -icanon -echo; printf "> "; while [ $((i += 1)) -le 11 ]; do IFS= read -rn 1 -d "" c; printf %s "$c"; read -t 0.02 <>never; done; echo x >begun; read <gate; echo READY; read <gate'
	to_type 'echo READY\n' '"until":"READY","wait":60000'
	typed=$id
	printed begun
	next_is_ping
	release
	answer $typed
	is "$(plain stdout)" $'echo READY\nREADY'
	lacks "$(result note)" 'not printed'
	release
}

@test "W3: without echo, until is found in the first output" {
	boris
	on_terminal 'stty -echo; printf "? "; read x; echo "$x"; read <gate'
	type_in 'READY\n' '"until":"READY"'
	is "$(plain stdout)" READY
	lacks "$(result note)" 'not printed'
	release
	on_terminal 'stty -icanon -echo; echo x >begun; head -c 1 >key; echo; echo quit; read <gate' '"wait":1'
	printed begun
	type_in 'quit' '"until":"quit"'
	lacks "$(result note)" 'not printed'
	release
}

@test "W3: text that a program prints exactly as it was typed counts as echo" {
	boris
	on_terminal 'stty -icanon -echo; printf "> "; head -c 4 >in; echo you chose quit; read -t 600 <gate'
	type_in quit '"until":"quit","wait":700'
	has "$(plain stdout)" 'you chose quit'
	has "$(plain note)" ': quit (it is plain text'
	release
}

@test "W3: until is found in output that precedes a prompt" {
	boris
	on_terminal 'echo x >begun; read <gate; echo ready; printf "> "; read x' '"wait":1'
	begun begun
	release
	pause 500
	look '' '"until":"ready"'
	lacks "$(plain note)" 'not printed'
}

@test "W3: until is not found in output from before the input" {
	boris
	on_terminal 'printf "READY> "; echo x >begun; read x; read y' '"wait":1'
	printed begun
	type_in 'go\n' '"until":"READY> ","wait":300'
	has "$(plain stdout)" go
	has "$(result note)" 'not printed since the last read'
	rm begun
	on_terminal 'echo x >begun; read <gate; stty -icanon -echo; printf "> READY\n"; read <gate; echo READY; read <gate' '"wait":1'
	printed begun
	type_in 'READY\n' '"until":"READY","wait":300'
	has "$(result note)" ': READY (it is plain text'
	release
}

# busy_shell COMMAND: a shell with a line editor, which is at work until a release
busy_shell() {
	on_terminal "$1"
	type_in 'echo x >busy; read x <gate\n' '"wait":0'
	begun busy
}

# waits_for_mark TEXT [RELEASES]: what is typed creates the file `begun`, reads
# the gate and prints MARK; only then is `until` seen, after so many releases
waits_for_mark() {
	to_type "$1" '"until":"MARK","wait":60000'
	typed=$id
	in_turn
	release $((${2:-1} - 1))
	printed begun
	pause 300 # longer than what until has seen is waited for
	next_is_ping
	release
	answer $typed
	lacks "$(result note)" 'not printed'
	like "$(plain stdout)" $'*\n?(% )MARK\n*'
	rm begun
	run_tool bash '{"kill_pid":'"$pid"'}'
}

@test "W3: until is not found in a typed line that readline draws again" {
	boris
	busy_shell 'PS1="% " bash --norc -i'
	waits_for_mark 'echo x >begun; read <gate; echo MARK\n' 2
	busy_shell 'PS1="% " LC_ALL=C.UTF-8 bash --norc -i'
	waits_for_mark 'echo \u00e9 >begun; read <gate; echo MARK\n' 2
	busy_shell 'PS1="% " bash --norc -i'
	type_in 'echo x >begun; read <gate; echo MA' '"wait":0'
	waits_for_mark 'RK\n' 2
}

@test "W3: until is not found in a typed line that Python draws again" {
	needs python3
	boris
	on_terminal 'python3 -q' '"until":">>> "'
	type_in 'f = open(\"gate\"); _ = open(\"busy\", \"w\").write(\"x\"); _ = f.readline()\n' '"wait":0'
	begun busy
	waits_for_mark '_ = open(\"begun\", \"w\").write(\"x\"); _ = f.readline(); print(\"MARK\")\n' 2
}

@test "W3: until is not found in the echo of the last of several typed lines" {
	boris
	on_terminal 'PS1="% " bash --norc -i'
	waits_for_mark 'echo a\necho x >begun; read <gate; echo MARK\n'
	on_terminal 'PS1="% " bash --norc -i'
	waits_for_mark 'for i in 1; do\nread <gate\necho a\ndone\necho x >begun; read <gate; echo MARK\n' 2
}

@test "W3: until is not found in the echo after a tab or Ctrl-C" {
	boris
	mkdir directory
	on_terminal 'PS1="% " bash --norc -i'
	waits_for_mark 'ls dir\t; echo x >begun; read <gate; echo MARK\n'
	on_terminal 'PS1="% " bash --norc -i'
	# The program that Ctrl-C ends writes the file, not the shell.
	type_in "sh -c 'echo x >busy; exec sleep 1000'\\n" '"wait":0'
	begun busy
	waits_for_mark '\u0003echo x >begun; read <gate; echo MARK\n'
}

@test "W3: until is not found in the echo of a line wider than the terminal" {
	boris
	long=": $(printf %0190d 0); echo x >begun; read x <gate; echo MARK\n"
	for shell in 'TERM=dumb bash --norc -i' 'TERM=xterm bash --norc -i' 'sh -i'; do
		on_terminal "PS1='% ' $shell"
		waits_for_mark "$long"
		busy_shell "PS1='% ' $shell"
		waits_for_mark "$long" 2
	done
}

@test "W3: until is not found in a line that another call has typed" {
	boris
	busy_shell 'PS1="% " bash --norc -i'
	type_in 'echo x >begun; read <gate; echo MARK\n' '"wait":0'
	call task_output '{"task_id":"'"$task"'","until":"MARK","wait":60000}'
	looked=$id
	in_turn
	release
	printed begun
	pause 300 # longer than what until has seen is waited for
	next_is_ping
	release
	answer $looked
	like "$(plain stdout)" $'*\nMARK\n*'
}

@test "W3: until is not found in a redrawn command line with the same text" {
	boris
	busy_shell 'MARK() { echo x >begun; read <gate; }; export -f MARK; PS1="% " bash --norc -i'
	to_type 'MARK\n' '"until":"MARK","wait":60000'
	typed=$id
	in_turn
	release
	printed begun
	pause 300
	next_is_ping
	run_tool bash '{"kill_pid":'"$pid"'}'
	answer $typed
	has "$(plain stdout)" '% MARK'
}

@test "I3: no prompt is reported while the program has unread input" {
	boris
	on_terminal 'stty -icanon -echo; printf "? "; head -c 1 >key; read -t 600 <gate; printf "more? "; read -t 600 <gate'
	type_in 'xyz' '"wait":1500'
	silent
	release
	on_terminal 'stty -icanon -echo; printf "? "; head -c 1 >key; printf "more? "; read -t 600 <gate'
	type_in 'xyz' '"wait":1500'
	silent
	release
}

@test "W3: until is found in output that repeats part of the typed line" {
	boris
	on_terminal 'PS1="% " bash --norc -i'
	type_in 'echo \"the build has finished\"\n' '"until":"finished"'
	has "$(plain stdout)" $'\nthe build has finished\n'
	lacks "$(result note)" 'not printed'
	on_terminal 'cat'
	type_in 'READY\n' '"until":"READY"'
	has "$(plain stdout)" $'READY\nREADY'
	lacks "$(result note)" 'not printed'
}

@test "W2: the echo of a line wider than the terminal does not count as new output" {
	needs perl
	hurried
	boris
	on_terminal "perl -e 'print qq(go\n); <STDIN>; select(undef, undef, undef, 60)'" '"until":"go"'
	begin
	type_in "$(printf %0300d 0)"'\n' '"wait":20000'
	least "$(took)" 19900
	run_tool bash '{"kill_pid":'"$pid"'}'
}

# no_enter: the result says that no Enter was typed
no_enter() {
	has "$(plain note)" 'Enter was not typed'
}

@test "I2: a note says that Enter was not typed if the program reads lines" {
	boris
	for program in 'printf "? "; cat' 'PS1="% " bash --norc -i' 'python3 -q' 'sqlite3' 'gdb -q -nx'; do
		[[ $program = PS1* ]] || type -P ${program%% *} || continue
		on_terminal "$program" '"wait":60000'
		type_in 'print 1' '"wait":60000'
		no_enter
		type_in '\n'
		lacks "$(result note)" Enter
		run_tool bash '{"kill_pid":'"$pid"'}'
	done
	on_terminal 'PS1="% " LC_ALL=C.UTF-8 bash --norc -i'
	type_in 'echo \u00e9' '"wait":60000'
	no_enter
}

@test "I2: a program that reads single keys gets no note about Enter" {
	boris
	on_terminal 'read -n 1 -p "One? " x; read -n 1 -p "Two? " y; echo; echo $x$y; read -n 1 z'
	for key in a b c; do
		type_in $key
		lacks "$(result note)" Enter
	done
	on_terminal 'stty -icanon -echo; while printf "\rchoice: "; do head -c 1 >key; done'
	type_in x
	lacks "$(result note)" Enter
	seq 1000 >lines
	for program in 'vim -u NONE' 'less lines'; do
		type -P ${program%% *} || continue
		on_terminal "$program"
		type_in '\n'
		for key in G i hello; do
			type_in $key
			lacks "$program: $(result note)" Enter
		done
		run_tool bash '{"kill_pid":'"$pid"'}'
	done
}

# is_stopped SIGNAL: a look at last says that a process group is stopped by that
is_stopped() {
	look '' '"wait":700'
	like "$(plain note)" "*process group * was stopped by $1*"
}

@test "I3: a note names a stopped process group and the signal that stopped it" {
	needs_linux_parts
	needs timeout
	boris
	on_terminal 'echo begun; timeout 60 cat; echo end' '"until":"begun"'
	eventually is_stopped SIGTTIN
	like "$(plain note)" '*timeout --foreground*'
	run_tool bash '{"kill_pid":'"$pid"'}'
	on_terminal 'echo $$; cat >got; echo end'
	group=$(plain stdout)
	kill -STOP -- "-${group%$'\n'}"
	eventually is_stopped SIGSTOP
	lacks "$(plain note)" 'for input'
	kill -CONT -- "-${group%$'\n'}"
	type_in '\u0004'
	has "$(plain stdout)" end
}

@test "I3: a stopped process is noted even if it has unread input" {
	needs_linux_parts
	needs timeout
	boris
	on_terminal 'timeout 60 cat; echo end' '"wait":1500'
	eventually is_stopped SIGTTIN
	type_in 'x\n' '"wait":300'
	like "$(plain note)" '*process group * was stopped by SIGTTIN*'
	look
	like "$(plain note)" '*process group * was stopped by SIGTTIN*'
	run_tool bash '{"kill_pid":'"$pid"'}'
	on_terminal 'timeout 60 cat </dev/tty & while echo line; do sleep 0.02; done' '"wait":1500'
	stopped_at_once() {
		look '' '"new":true,"wait":300'
		like "$(plain note)" '*process group * was stopped by SIGTTIN*'
	}
	eventually stopped_at_once
	run_tool bash '{"kill_pid":'"$pid"'}'
}

@test "I3: a job that was stopped from a shell is not noted" {
	boris
	on_terminal 'PS1="% " bash --norc --noediting -i'
	type_in 'sh -c \"echo x >begun; exec sleep 1000\"\n' '"wait":0'
	begun begun
	type_in '\u001a'
	eventually shown Stopped
	eventually shown '% '
	look '' '"wait":500'
	lacks "$(result note)" 'process group'
	type_in 'sleep 1000\n' '"wait":1000'
	lacks "$(result note)" 'process group'
	run_tool bash '{"kill_pid":'"$pid"'}'
}

@test "O6: endless output on a terminal needs no more memory than on a pipe" {
	needs_plain
	boris
	start_task 'yes'
	look '' '"wait":1500'
	run_tool bash '{"kill_pid":'"$pid"'}'
	before=$(peak)
	on_terminal 'yes' '"wait":3000'
	is "$(result status)" '"running"'
	run_tool bash '{"kill_pid":'"$pid"'}'
	most $(($(peak) - before)) 512
}
