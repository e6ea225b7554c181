#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# I: programs that talk back
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2086,SC2154

load helper

# prints TEXT: Succeeds if TEXT is in the result, or in the output after it. On a
# slow machine, a pause in the output can end the first wait.
prints() {
	[[ $(plain stdout) == *"$1"* ]] ||
		{ run_input '' '"wait":0' && [[ $(plain stdout) == *"$1"* ]]; }
}

# reports_prompt: Fails if the result does not say that the program waits for
# input. A boris without the Linux code can only say that it may wait.
reports_prompt() {
	linux_parts || { reports_possible_prompt; return; }
	has "$(plain note)" 'the program is waiting for input'
}

# reports_possible_prompt: Fails if the result does not say that the program may
# be waiting for input.
reports_possible_prompt() {
	has "$(plain note)" 'the program may be waiting for input'
}

# reports_secret: Fails if the result does not say that the program asks for a
# secret.
reports_secret() {
	has "$(plain note)" 'the program is asking for a secret'
}

# reports_no_prompt: Fails if the result says that the program waits for input
# or asks for a secret.
reports_no_prompt() {
	lacks "$(result note)" 'for input'
	lacks "$(result note)" secret
}

# until_seen: Fails if the result says that the until text was not printed.
until_seen() {
	lacks "$(result note)" 'not printed'
}

# until_not_seen TEXT: Fails if the result does not say that TEXT was not
# printed.
until_not_seen() {
	like "$(plain note)" "*the until text \"$1*\" was not printed*"
}

# bash_on_terminal: Starts bash with the prompt "% " on a terminal.
bash_on_terminal() {
	start_on_terminal 'PS1="% " bash --norc -i'
}

# exits_with CODE: Fails if the task has not ended with this exit code.
exits_with() {
	is "$(result status) $(result exit_code)" "\"completed\" $1"
}

# kill_task: Stops the last task and reads the result.
kill_task() {
	run_tool bash '{"kill_pid":'"$pid"'}'
}

@test "I1: with tty: true, a command's stdin, stdout and stderr are a terminal" {
	boris
	start_on_terminal 'test -t 0 && test -t 1 && test -t 2; echo $?; echo err >&2'
	is "$(plain stdout)" $'0\nerr'
	is "$(result stderr)" '""'
	exits_with 0
}

@test "I1: with tty: true, a command's terminal is its controlling terminal" {
	boris
	start_on_terminal 'echo own >/dev/tty
		tty | cmp - <(readlink /proc/$$/fd/0)'
	is "$(plain stdout)" own
	exits_with 0
}

@test "I1: a command's terminal has 50 lines and 200 columns" {
	boris
	start_on_terminal 'stty size'
	is "$(plain stdout)" '50 200'
}

@test "I1: LINES and COLUMNS are unset for commands on a terminal" {
	local LINES=24 COLUMNS=80
	export LINES COLUMNS
	boris
	start_on_terminal 'env -u BASH_ENV sh -c "echo [$LINES] [$COLUMNS]"
		env | grep -c "^LINES=\|^COLUMNS="'
	is "$(plain stdout)" $'[] []\n0'
}

@test "I1: commands on a terminal run with TERM=linux and PAGER=cat" {
	local TERM=xterm PAGER=less GIT_PAGER=more
	export TERM PAGER GIT_PAGER
	boris
	start_on_terminal 'echo $TERM $PAGER $GIT_PAGER; env | grep -c PAGER='
	is "$(plain stdout)" $'linux cat cat\n2'
}

@test "I1: commands without a terminal keep the user's pager settings" {
	local PAGER=less GIT_PAGER=more
	export PAGER GIT_PAGER
	boris
	run_bash 'echo $TERM $PAGER $GIT_PAGER'
	is "$(plain stdout)" 'dumb less more'
}

@test "I1: colors and carriage returns that a program prints to a terminal are not shown in the result" {
	boris
	start_on_terminal 'printf "\033[31mred\033[0m\n50%%\rdone\nend"'
	is "$(plain stdout)" $'red\ndone\nend'
}

@test "I1: the result includes the last output that a program prints to its terminal before it exits" {
	boris
	for i in 1 2 3 4 5 6 7 8 9 10; do
		start_on_terminal 'seq 2000'
		is "$(get -n result structuredContent stdout)" 8893
		exits_with 0
	done
}

@test "I1: a command run on a terminal counts towards the limit of ten tasks" {
	boris
	for n in 1 2 3 4 5 6 7 8 9; do
		start_task "read <never"
	done
	start_on_terminal 'read x' '"wait":1'
	is "$(result status)" '"running"'
	run_tool task_output '{}'
	has "$(result tasks)" "$task"
	run_bash 'echo no' '{"tty":true}'
	is_tool_error '*10 background tasks are running*'
}

@test "I1: a command run on a terminal does not change the working directory" {
	boris --workdir=/
	start_on_terminal 'cd /tmp; read x'
	run_bash pwd
	is "$(plain stdout)" /
	run_input '\n'
	exits_with 0
}

@test "I1: the tty argument is rejected if the stdin argument is also given" {
	boris
	run_bash cat '{"tty":true,"stdin":"x"}'
	is_tool_error '"stdin" cannot be used with "tty"*'
}

@test "I1: a command with tty: true becomes a background task even without run_in_background" {
	boris
	start_on_terminal 'echo hi' '"run_in_background":false,"stdin":""'
	is "$(plain stdout)" hi
	start_on_terminal 'echo hi' '"run_in_background":true'
	is "$(plain stdout)" hi
}

@test "I1: a command with tty: false runs without a terminal" {
	boris
	run_bash 'echo hi; test -t 0 || echo none' '{"tty":false}'
	is "$(plain stdout) $(result task_id)" $'hi\nnone '
}

# needs_mounts: Skips the test if the server cannot run in a mount namespace.
needs_mounts() {
	needs_root
	needs unshare
	[ -z "$WRAP" ] || skip "under $WRAP"
	unshare -m true || skip 'no mount namespaces here'
}

@test "I1: if a terminal cannot be created, the error includes the system's error message" {
	needs_mounts
	# In a container, /dev/ptmx is a link to pts/ptmx.
	wrap=(unshare -m sh -ec 'mount -t tmpfs none /dev/pts
		[ -L /dev/ptmx ] || mount --bind /dev/null /dev/ptmx
		exec "$@"' sh)
	boris
	run_bash 'echo hi' '{"tty":true}'
	is_tool_error 'cannot open a terminal*/dev/ptmx*: *'
	run_bash 'echo on'
	is "$(plain stdout)" on
	run_tool task_output '{}'
	has "$(text)" 'no tasks'
}

@test "I1: a terminal can be created if /dev/ptmx is a symbolic link to pts/ptmx" {
	needs_mounts
	mkdir dev
	wrap=(unshare -m sh -ec 'mount -t tmpfs none dev
		mkdir dev/pts
		mount -t devpts -o newinstance,ptmxmode=666 none dev/pts
		cp -a /dev/null /dev/tty dev
		ln -s pts/ptmx dev/ptmx
		mount --rbind dev /dev
		exec "$@"' sh)
	boris
	start_on_terminal 'tty; ls -l /dev/ptmx; echo own >/dev/tty'
	like "$(plain stdout)" '/dev/pts/[0-9]*/dev/ptmx -> pts/ptmx'$'\n'own
}

@test "I1: a command run on a terminal does not inherit the terminal's master side" {
	needs_linux
	boris
	start_on_terminal 'ls -l /proc/self/fd'
	lacks "$(text)" ptmx
	has "$(text)" /dev/pts/
}

@test "I1: other commands inherit neither the master side nor the slave side of a terminal" {
	needs_linux
	boris
	start_on_terminal 'read x'
	run_bash 'ls -l /proc/self/fd'
	lacks "$(text)" ptmx
	lacks "$(text)" /dev/pts/
}

@test "I2: a call that types input returns the output that the program prints in response" {
	boris
	start_on_terminal 'read -p "Name: " name; echo "Hello $name"
		read -p "Again? " x'
	is "$(plain stdout)" 'Name: '
	run_input 'Bob\n'
	is "$(plain stdout)" $'Bob\nHello Bob\nAgain? '
	reports_prompt
	run_input 'n\n'
	is "$(plain stdout)" n
	exits_with 0
}

@test "I2: commands can be typed into a shell" {
	boris
	start_on_terminal 'PS1="% " sh -i'
	is "$(plain stdout)" '% '
	run_input 'cd /; x=5\n'
	is "$(plain stdout)" $'cd /; x=5\n% '
	run_input 'pwd; echo $x\n'
	is "$(plain stdout)" $'pwd; echo $x\n/\n5\n% '
	run_input 'exit 3\n'
	exits_with 3
}

@test "I2: a newline is not added to input that lacks one" {
	boris
	start_on_terminal 'read -p "> " x; echo "<$x>"'
	run_input 'tw'
	is "$(plain stdout)" 'tw'
	run_input 'o \u00e9 \"\n'
	is "$(plain stdout)" $'o \xc3\xa9 "\n<two \xc3\xa9 ">'
}

# read_four_bytes MODE: Starts a program that sets the terminal to MODE, which has
# arguments of stty, and dumps the four bytes that it reads.
read_four_bytes() {
	start_on_terminal "stty $1 -echo; echo ready
		head -c 4 | od -c; stty sane; echo end" '"until":"ready"'
}

@test "I2: in raw mode, a newline in the input is sent to the terminal as a carriage return" {
	boris
	read_four_bytes raw
	run_input 'a\nb\n' '"until":"end"'
	like "$(plain stdout)" '*a  \\r   b  \\r*'
}

@test "I2: with ICRNL, a newline in the input is sent to the terminal unchanged" {
	boris
	read_four_bytes -icanon
	run_input 'a\nb\n' '"until":"end"'
	like "$(plain stdout)" '*a  \\n   b  \\n*'
}

# sleep_in_shell FILE: Types a command into the shell of the last task. The
# command writes FILE and then sleeps.
sleep_in_shell() {
	run_input 'sh -c \"echo x >'"$1"'; exec sleep 1000\"\n' '"wait":0'
	await_file "$1"
}

@test "I2: typing Ctrl-C interrupts the program" {
	boris
	start_on_terminal 'PS1="% " bash --norc --noediting -i'
	sleep_in_shell begun
	run_input '\u0003'
	lacks "$(result note)" ignal
	eventually prints '% '
}

@test "I2: typing Ctrl-Z stops the program" {
	boris
	start_on_terminal 'PS1="% " bash --norc --noediting -i'
	sleep_in_shell begun
	run_input '\u001a'
	eventually prints Stopped
	eventually prints '% '
	run_input 'kill -9 %1\n'
}

@test "I2: typing Ctrl-D sends EOF to the program" {
	boris
	start_on_terminal 'cat >in'
	run_input 'to the file\n\u0004'
	exits_with 0
	is "$(<in)" 'to the file'
}

@test "I2: with empty input, nothing is typed and new output is returned" {
	boris
	start_on_terminal 'echo one; read <gate; echo two; read x; echo "<$x>"' \
		'"until":"one"'
	release
	run_input '' '"until":"two"'
	is "$(plain stdout)" two
	run_input '' '"wait":0'
	is "$(result stdout)" '""'
	has "$(text)" '(no new output)'
	run_input '\n'
	is "$(plain stdout)" $'\n<>'
}

@test "I2: with empty input, the remaining output of a finished task is returned" {
	boris
	start_on_terminal 'read <gate; echo bye' '"wait":1'
	release
	eventually is_gone "$pid"
	run_input ''
	is "$(plain stdout)" bye
	exits_with 0
}

@test "I2: input for an unknown task is rejected" {
	boris
	task=nosuch
	run_input 'x\n'
	is_tool_error 'task not found: nosuch*'
}

@test "I2: the input argument is rejected without a task_id" {
	boris
	run_tool bash '{"input":"x"}'
	is_tool_error 'argument "task_id" is missing*'
	run_bash 'echo hi' '{"input":"x"}'
	is_tool_error 'command and input were given; give only one of *'
}

@test "I2: input for a task without a terminal is rejected" {
	boris
	start_task 'read <gate'
	run_input 'x\n'
	is_tool_error "nothing was typed*no terminal*tty: true*"
	run_input ''
	is_tool_error "nothing was typed*no terminal*tty: true*"
}

@test "I2: input for a finished task is rejected" {
	boris
	start_on_terminal 'read <gate; echo bye' '"wait":1'
	release
	eventually is_gone "$pid"
	sync_server
	run_input 'x\n'
	is_tool_error "nothing was typed*has ended*task_output*"
	read_task
	is "$(plain stdout)" bye
}

@test "I2: input is not lost if the program temporarily closes its terminal" {
	boris
	start_on_terminal 'printf "Off... "; exec </dev/null >/dev/null 2>&1
		echo x >begun; read <gate
		read x </dev/tty; echo "got $x" >/dev/tty; read <gate' '"wait":1'
	await_file begun
	read_task
	run_input 'x\n' '"wait":0'
	read_task '' '"wait":600'
	reports_no_prompt
	release
	run_input '' '"until":"got x"'
	has "$(plain stdout)" 'got x'
}

@test "I2: arguments that cannot be combined with the input argument are rejected" {
	boris
	start_on_terminal 'read x' '"wait":1'
	for other in '"cwd":"/"' '"stdin":"x"' '"timeout":5' '"tty":true' \
		'"run_in_background":true'; do
		run_input 'x\n' "$other"
		other=${other#\"}
		is_tool_error "\"${other%%\"*}\" cannot be used with \"input\", which *"
		is_tool_error '* accepts only task_id, wait, until, truncate, limit and description'
	done
}

@test "I2: the input argument can be combined with the description argument" {
	boris
	start_on_terminal 'read x' '"wait":1'
	run_input 'x\n' '"description":"the end"'
	exits_with 0
}

# too_long: Fails if the reply does not say that the line is too long.
too_long() {
	is_tool_error 'nothing was typed*4095 bytes*'
}

# reads_keys: Succeeds if the terminal of the last task is not in canonical
# mode.
reads_keys() {
	[[ $(stty -a <"$(readlink "/proc/$pid/fd/0")") == *-icanon* ]]
}

@test "I2: in canonical mode, a line longer than 4095 bytes is rejected" {
	boris
	start_on_terminal 'read x; echo ${#x}' '"wait":1'
	long=$(printf '%4095s' '' | tr ' ' a)
	run_input "x$long"
	too_long
	run_input "$long"'\n' '"until":"4095"'
	until_seen
}

@test "I2: in canonical mode, several inputs cannot add up to a line longer than 4095 bytes" {
	boris
	start_on_terminal 'read x; echo ${#x}' '"wait":1'
	long=$(printf '%4095s' '' | tr ' ' a)
	run_input "$long" '"wait":0'
	run_input x
	too_long
	run_input '\n' '"until":"4095"'
	until_seen
}

@test "I2: a terminal in non-canonical mode accepts a 9000-byte line" {
	needs_linux
	boris
	start_on_terminal 'stty -icanon; head -c 5000 | wc -c' '"wait":1'
	eventually reads_keys
	run_input "$(printf '%9000s' '' | tr ' ' a)" '"until":"5000"'
	until_seen
}

@test "I2: a control character that stty has disabled does not end the line" {
	boris
	start_on_terminal 'stty -isig kill undef; echo ready
		head -c 4000 >/dev/null; read x' '"until":"ready"'
	long=$(printf '%4000s' '' | tr ' ' a)
	for key in 0003 0015 001a; do
		run_input "$long"'\u'$key"$long"
		too_long
	done
}

# type_megabyte: Sends a call that types 1,040,000 bytes in lines into the last
# task. Its id is 0.
type_megabyte() {
	local text i
	text=$(printf '%64s' '' | tr ' ' a)'\n'
	text=$text$text$text$text$text$text$text$text
	text=$text$text$text$text$text$text$text$text
	{
		printf '{"jsonrpc":"2.0","id":0,"method":"tools/call",'
		printf '"params":{"name":"bash","arguments":{"wait":60000,'
		printf '"until":"1040000","task_id":"%s","input":"' "$task"
		for ((i = 0; i < 250; i++)); do
			printf %s "$text"
		done
		printf '"}}}\n'
	} >megabyte
	cat megabyte >&7
}

@test "I2: 1 MB of input can be typed in a single call" {
	boris
	start_on_terminal 'echo ready; head -c 1040000 | wc -c' '"until":"ready"'
	type_megabyte
	answer 0
	until_seen
	has "$(plain stdout)" 1040000
}

@test "I2: other calls are answered while 1 MB of input is being typed" {
	boris
	start_on_terminal 'echo ready; read <gate; head -c 1040000 | wc -c' \
		'"until":"ready"'
	type_megabyte
	for ((i = 0; i < 20; i++)); do
		sync_server
		run_bash 'echo on'
		is "$(plain stdout)" on
	done
	release
	answer 0
	until_seen
}

# type_unread: Types 3 MB into the last task and reads the response.
type_unread() {
	{
		printf '{"jsonrpc":"2.0","id":0,"method":"tools/call",'
		printf '"params":{"name":"bash","arguments":{"wait":0,'
		printf '"task_id":"%s","input":"' "$task"
		printf '%3000000s' '' | tr ' ' a
		printf '"}}}\n'
	} >unread
	cat unread >&7
	answer 0
}

@test "I2: input that the program has not yet read is limited to 4 MiB" {
	boris
	start_on_terminal 'stty -icanon -echo; echo ready; read <gate' \
		'"until":"ready"'
	type_unread
	is "$(result status)" '"running"'
	type_unread
	is_tool_error 'nothing was typed*4 MiB*'
}

@test "I2: boris uses no CPU time while a program is not reading its input" {
	needs_plain
	boris
	start_on_terminal 'stty -icanon -echo; echo ready; read <gate' \
		'"until":"ready"'
	type_unread
	stays_idle 1
}

# programs_that_read_lines: Prints the commands of programs that read lines, some
# of them with a line editor.
programs_that_read_lines() {
	cat <<-'END'
	printf "? "; cat
	PS1="% " bash --norc -i
	python3 -q
	sqlite3
	gdb -q -nx
	END
}

@test "I2: a note is shown if input for a line-oriented program lacks a trailing newline" {
	boris
	while read -r command; do
		[[ $command = PS1* ]] || type -P "${command%% *}" || continue
		start_on_terminal "$command" '"wait":60000'
		run_input 'print 1' '"wait":60000'
		has "$command: $(plain note)" 'Enter was not typed'
		run_input '\n'
		lacks "$command: $(result note)" Enter
		kill_task
	done < <(programs_that_read_lines)
}

@test "I2: a note is shown if non-ASCII input for a line-oriented program lacks a trailing newline" {
	boris
	start_on_terminal 'PS1="% " LC_ALL=C.UTF-8 bash --norc -i'
	run_input 'echo \u00e9' '"wait":60000'
	has "$(plain note)" 'Enter was not typed'
}

@test "I2: a program that reads single keystrokes produces no note about a missing newline" {
	boris
	start_on_terminal 'read -n 1 -p "One? " x; read -n 1 -p "Two? " y
		echo; echo $x$y; read -n 1 z'
	for key in a b c; do
		run_input $key
		lacks "$(result note)" Enter
	done
	start_on_terminal 'stty -icanon -echo
		while printf "\rchoice: "; do head -c 1 >key; done'
	run_input x
	lacks "$(result note)" Enter
}

@test "I2: a full-screen program produces no note about a missing newline" {
	boris
	seq 1000 >lines
	for program in 'vim -u NONE' 'less lines'; do
		type -P "${program%% *}" || continue
		start_on_terminal "$program"
		run_input '\n'
		for key in G i hello; do
			run_input $key
			lacks "$program: $(result note)" Enter
		done
		kill_task
	done
}

@test "I3: an incomplete last line is reported as a possible prompt" {
	boris
	start_on_terminal 'echo line; printf "Go on? "; read -t 600 <gate'
	is "$(result status)" '"running"'
	reports_possible_prompt
	is "$(plain stdout)" $'line\nGo on? '
}

@test "I3: a program that turns off canonical mode is reported as possibly waiting for input" {
	boris
	start_on_terminal 'stty -icanon -echo; echo Menu; read -t 600 <gate'
	reports_possible_prompt
	lacks "$(plain note)" secret
}

@test "I3: a line that ends with a newline is not reported as a prompt" {
	boris
	start_on_terminal 'echo line; read <gate' '"wait":1500'
	is "$(result status) $(plain stdout)" '"running" line'
	reports_no_prompt
	least "$(result elapsed_ms)" 1500
}

@test "I3: if echo is turned off, a note says that the program is asking for a secret" {
	boris
	start_on_terminal 'read -s -p "Password: " x; echo; echo "got ${#x}"'
	reports_secret
	run_input 'hunter2\n'
	is "$(plain stdout)" $'\ngot 7'
	start_on_terminal 'stty -echo; echo Password; read x'
	reports_secret
}

@test "I3: if echo is turned off after the prompt, a note says that the program is asking for a secret" {
	boris
	start_on_terminal 'echo Password; read -t 1 <>never; stty -echo; read x' \
		'"wait":60000'
	reports_secret
	run_input '\n'
	exits_with 0
}

@test "I3: a pause between complete lines of output does not end the wait" {
	boris
	start_on_terminal 'for i in 1 2 3; do
			echo step $i
			read -t 0.6 <>never
		done
		printf "ok? "; read x' '"wait":60000'
	is "$(plain stdout)" $'step 1\nstep 2\nstep 3\nok? '
	reports_prompt
}

# ask_twice: Starts a program that prints a prompt, and another one after a
# release.
ask_twice() {
	start_on_terminal 'stty -icanon -echo
		printf "Key 1? "; read -t 600 <gate
		printf "Key 2? "; read -t 600 <gate'
	reports_possible_prompt
}

@test "I3: a prompt that has already been reported does not end the next wait" {
	boris
	ask_twice
	read_task '' '"wait":700'
	least "$(result elapsed_ms)" 1000
	reports_possible_prompt
}

@test "I3: a new prompt ends a wait even if an earlier prompt has already been reported" {
	boris
	ask_twice
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	release
	answer
	has "$(plain stdout)" 'Key 2? '
	reports_possible_prompt
}

@test "I3: a prompt that is printed again is reported again" {
	boris
	start_on_terminal 'stty -icanon -echo
		while printf "\rchoice: "; do
			dd bs=1 count=1 >/dev/null 2>&1
		done'
	reports_prompt
	start_timer
	run_input x '"wait":20000'
	within 5000
	reports_prompt
}

@test "I3: no prompt is reported if the program has not printed anything since the last input" {
	needs_linux_parts
	boris
	start_on_terminal 'stty -icanon -echo; printf "> "; head -c 1 >one
		read -t 600 <gate; printf "> "; head -c 1 >two'
	reports_prompt
	call_input 'x' '"wait":60000,"until":"nosuch"'
	typed=$id
	read_task '' '"wait":1000'
	reports_no_prompt
	release
	answer $typed
	has "$(plain stdout)" '> '
	reports_prompt
}

@test "I3: a prompt ends a wait even if the until text has not appeared" {
	needs_linux_parts
	boris
	start_on_terminal 'printf "Sure? "; read x; echo ready; read x' \
		'"until":"ready"'
	reports_prompt
	until_not_seen ready
	run_input 'y\n' '"until":"ready"'
	until_seen
}

@test "I3: no prompt is reported until all input has been typed" {
	boris
	start_on_terminal 'read <gate; cat >in; wc -c <in' '"wait":1'
	line=$(printf '%1000s' '' | tr ' ' a)'\n' text=
	for ((i = 0; i < 30; i++)); do
		text+=$line
	done
	call_input "$text"'\u0004' '"wait":60000,"until":"30030"'
	typed=$id
	sync_server
	read_task '' '"wait":700'
	reports_no_prompt
	release
	answer $typed
	has "$(plain stdout)" 30030
}

@test "I3: no prompt is reported until the program has read all of its input" {
	boris
	start_on_terminal 'stty -icanon -echo; printf "? "; head -c 1 >key
		printf "more? "; read -t 600 <gate'
	run_input 'xyz' '"wait":1500'
	reports_no_prompt
	start_on_terminal 'stty -icanon -echo; printf "? "; head -c 1 >key
		read -t 600 <gate; printf "more? "; read -t 600 <gate'
	run_input 'xyz' '"wait":1500'
	reports_no_prompt
}

# prompts_at_once COMMAND: Fails if no prompt of COMMAND is reported within 2.5
# seconds.
prompts_at_once() {
	start_on_terminal "$1" '"wait":30000'
	reports_prompt
	most "$(result elapsed_ms)" $((2500 * SLOW))
}

@test "I3: a program that reads from the terminal is reported as waiting even without a prompt" {
	needs_linux_parts
	boris
	prompts_at_once 'echo line; cat >got'
	run_input 'x\n' '"wait":0'
	await_file got
	run_input '\u0004'
	exits_with 0
}

@test "I3: a program that reads /dev/tty is reported as waiting" {
	needs_linux_parts
	boris
	prompts_at_once 'read x </dev/tty'
}

@test "I3: a program that reads with echo off is reported as asking for a secret" {
	needs_linux_parts
	boris
	start_on_terminal 'read -s x; read -n 1 y' '"wait":30000'
	reports_secret
	run_input '\n'
	reports_prompt
	lacks "$(plain note)" secret
	run_input y
	exits_with 0
}

@test "I3: a busy program is not reported as waiting even if its last line resembles a prompt" {
	needs_linux_parts
	boris
	for command in 'sleep 60' 'while :; do :; done' '(cat <gate | cat)' \
		'sleep 60 & wait' 'stty -icanon -echo; sleep 60' \
		'read x <gate' \
		'set -m; (trap "" TTIN; read x; sleep 60) & sleep 60'; do
		call_bash "printf 'checking... '; $command" \
			'{"tty":true,"wait":1500}'
		ids+=("$id")
	done
	for id in "${ids[@]}"; do
		answer
		reports_no_prompt
		least "$(result elapsed_ms)" 1500
	done
}

@test "I3: a program is not reported as waiting while its main thread is running" {
	needs_linux_parts
	needs python3
	boris
	cat >threads.py <<-'END'
	import select, threading
	reader = threading.Thread(
	    target=select.select, args=([0], [], [], 60), daemon=True)
	reader.start()
	print("begun ", end="", flush=True)
	while True:
	    pass
	END
	start_on_terminal 'python3 threads.py' '"until":"begun"'
	read_task '' '"wait":1000'
	is "$(result status)" '"running"'
	reports_no_prompt
}

@test "I3: without /proc, an incomplete last line is reported as a possible prompt" {
	needs_root
	needs unshare
	needs_plain
	wrap=(unshare -m sh -c 'umount -l /proc && exec "$@"' sh)
	"${wrap[@]}" true || skip 'no mount namespaces here'
	boris
	start_on_terminal 'printf "Go on? "; sleep 60'
	reports_possible_prompt
	start_on_terminal 'echo line; cat' '"wait":1500'
	reports_no_prompt
}

@test "I3: a password prompt is reported even if the program has closed and reopened its terminal" {
	boris
	start_on_terminal 'exec </dev/null >/dev/null 2>&1
		exec 3<>/dev/tty
		stty -echo <&3; printf "Password: " >&3; read x <&3' \
		'"wait":60000'
	reports_secret
	run_input 'x\n'
	exits_with 0
}

# is_stopped SIGNAL: Fails if the result does not say that SIGNAL has stopped a
# process group.
is_stopped() {
	like "$(plain note)" "*process group * was stopped by $1*"
}

# reads_stopped SIGNAL [MORE]: Reads the task and fails if the result does not
# say that SIGNAL has stopped a process group. MORE has further arguments.
reads_stopped() {
	read_task '' '"wait":700'"${2:+,$2}"
	is_stopped "$1"
}

@test "I3: if SIGTTIN stops the timeout program, a note suggests timeout --foreground" {
	needs_linux_parts
	needs timeout
	boris
	start_on_terminal 'echo begun; timeout 60 cat; echo end' '"until":"begun"'
	eventually reads_stopped SIGTTIN
	like "$(plain note)" '*timeout --foreground*'
}

@test "I3: if a process group is stopped by a signal, a note names the group and the signal" {
	needs_linux_parts
	boris
	start_on_terminal 'echo $$; cat >got; echo end'
	group=$(plain stdout)
	group=${group%$'\n'}
	kill -STOP -- "-$group"
	eventually reads_stopped SIGSTOP
	has "$(plain note)" "process group $group was stopped"
	lacks "$(plain note)" 'for input'
	kill -CONT -- "-$group"
	run_input '\u0004'
	has "$(plain stdout)" end
}

@test "I3: a stopped process is reported even if it has not read all of its input" {
	needs_linux_parts
	needs timeout
	boris
	start_on_terminal 'timeout 60 cat; echo end' '"wait":1500'
	eventually reads_stopped SIGTTIN
	run_input 'x\n' '"wait":300'
	is_stopped SIGTTIN
	read_task
	is_stopped SIGTTIN
}

@test "I3: a stopped process is reported even while another process is printing" {
	needs_linux_parts
	needs timeout
	boris
	start_on_terminal 'timeout 60 cat </dev/tty &
		while echo line; do sleep 0.02; done' '"wait":1500'
	eventually reads_stopped SIGTTIN '"new":true'
}

@test "I3: a job that the user stops in a shell is not reported as stopped" {
	boris
	start_on_terminal 'PS1="% " bash --norc --noediting -i'
	sleep_in_shell begun
	run_input '\u001a'
	eventually prints Stopped
	eventually prints '% '
	read_task '' '"wait":500'
	lacks "$(result note)" 'process group'
	run_input 'sleep 1000\n' '"wait":1000'
	lacks "$(result note)" 'process group'
}

# turns: Prints how often the server has slept or been preempted.
turns() {
	awk '/^(non)?voluntary_ctxt/ { n += $2 } END { print n }' \
		"/proc/$server/status"
}

@test "I4: boris uses no CPU time for a terminal that no process has open" {
	needs_plain
	boris
	start_on_terminal 'echo x; exec </dev/null >/dev/null 2>&1
		echo x >begun; read <gate' '"wait":0'
	await_file begun
	read_task
	sync_server
	before=$(turns)
	pause 2000
	most $(($(turns) - before)) 2
}

@test "I4: a task on a terminal can be read and listed like any other task" {
	boris
	start_on_terminal 'echo one; read <gate' '"wait":100'
	read_task '' '"new":true'
	is "$(plain stdout)$(result status)" '"running"'
	run_tool bash '{"check_pid":'"$pid"'}'
	is "$(plain stdout)" one
	run_tool task_output '{}'
	is "$(plain tasks 0 task_id)" "$task"
}

@test "I4: kill_pid stops a task on a terminal like any other task" {
	boris
	start_on_terminal 'echo one; read <gate' '"wait":100'
	kill_task
	is "$(result status)" '"killed"'
	eventually is_gone "$pid"
	read_task
	is_tool_error 'task not found*'
}

@test "T4: kill_pid sends SIGHUP to an interactive shell one second after SIGTERM" {
	boris
	bash_on_terminal
	echo 'trap "" TERM; echo $$ >job; read x <gate' >script
	run_input 'sh script &\n' '"wait":100'
	await_file job
	start_timer
	kill_task
	is "$(result status) $(plain signal)" '"killed" SIGHUP'
	least "$(elapsed)" 950
	within 3000
	is_gone job
	is_gone "$pid"
}

@test "T4: kill_pid sends SIGKILL to a program that ignores SIGTERM and SIGHUP" {
	use_fast_clock
	boris
	start_on_terminal 'trap "" TERM HUP; echo x >begun
		while :; do read x <gate; done' '"wait":1'
	await_file begun
	start_timer
	kill_task
	is "$(plain signal)" SIGKILL
	least "$(elapsed)" 4900
}

@test "I4: the exit code of a program that has closed its terminal is reported" {
	boris
	for i in 1 2 3; do
		start_on_terminal 'exec </dev/null >/dev/null 2>&1
			read <gate; exit 3' '"wait":100'
		release
		read_task '' '"wait":10000'
		exits_with 3
	done
}

@test "I4: boris reads output on a reopened terminal even if no call is waiting for it" {
	boris
	start_on_terminal 'exec </dev/null >/dev/null 2>&1; echo x >begun; read <gate
		seq 100000 >/dev/tty; echo x >printed; read <gate
		echo again >/dev/tty' '"wait":100'
	await_file begun
	release
	await_file printed
	release
	read_task '' '"wait":10000,"new":true'
	has "$(plain stdout)" again
}

# leave_process: Starts a task that leaves a process running on its terminal.
# The process prints after a release, and writes the exit code to the file
# `code`.
leave_process() {
	cat >orphan <<-'END'
	trap "" TERM
	echo x >begun
	read x <gate
	echo late
	echo $? >code
	read x <gate
	END
	start_on_terminal 'trap "" HUP
		sh orphan &
		until test -s begun; do :; done
		echo end'
}

@test "I4: a process that a command left running on a terminal does not delay the result" {
	boris
	leave_process
	is "$(plain stdout)" end
	exits_with 0
	like "$(plain note)" \
		"*the command left processes running*pkill -s $pid*"
	release 2
}

@test "I4: a process that a command left running can no longer write to its terminal" {
	boris
	leave_process
	release
	await_file code
	isnt "$(<code)" 0
	release
}

# start_stubborn_tasks: Starts two tasks on terminals. One is a shell with a
# background job, whose pid is in the file `job`. The other ignores SIGHUP.
start_stubborn_tasks() {
	bash_on_terminal
	run_input 'sleep 1000 & echo $! >job\n'
	await_file job
	start_on_terminal 'trap "" HUP; sleep 1000' '"wait":1'
}

@test "L3: processes running on terminals are terminated when boris exits" {
	boris
	start_stubborn_tasks
	stop_server
	is_gone job
	is_gone "$pid"
	has_no_processes
}

@test "L4: processes running on terminals are terminated after boris is killed" {
	boris
	start_stubborn_tasks
	kill -9 $server
	await_exit || :
	eventually is_gone job
	eventually is_gone "$pid"
	eventually has_no_processes
	status=0
}

@test "I6: a terminal line is wrapped after 200 columns" {
	boris
	start_on_terminal 'printf %0200d 1; echo; printf %0201d 2; printf "\r3\n"
		read <gate' '"until":"3"'
	is "$(plain stdout)" "$(printf '%0200d\n%0200d\n3' 1 0)"
}

@test "I6: trailing blanks on a terminal line are shown only if the cursor is to the right of them" {
	boris
	start_on_terminal 'printf "%-150s\n\t \n%-300s|\n" a b; printf "name: "
		read x' '"until":"name: "'
	is "$(result stdout)" '"a\n\nb\n'"$(printf '%100s' '')"'|\nname: "'
	run_input 'x\n' '"wait":10000'
	is "$(result stdout)" '"x\n"'
}

@test "I6: the result for a full-screen program contains the current screen" {
	boris
	for begins in '\033[?1049h' '\033[?1047h' '\033[?47h' '\033[H' \
		'\033[1;1f'; do
		start_on_terminal "echo before; printf '$begins'
			echo one; printf '\033[3;5Htwo  '; read x
			printf '\033[H\033[Kmore'; read x" '"until":"two"'
		has "$(plain screen)" '    two'
		is "$(result stdout)" ''
		run_input '\n' '"until":"more"'
		like "$(plain screen)" $'more*\n    two*'
		has "$(get result content 0 text)" 'screen:\nmore'
		run_input '\n'
	done
}

@test "I6: after a program leaves the alternate screen, its output is shown as lines" {
	boris
	start_on_terminal 'echo before; printf "\033[?1049h\033[Hdrawn"; read x
		printf "\033[?1049l"; echo after; read x' '"until":"drawn"'
	is "$(plain screen)" drawn
	run_input '\n' '"until":"after"'
	like "$(plain stdout)" '*after'
	lacks "$(plain stdout)" drawn
	read_task
	like "$(plain stdout)" $'before\n*after'
}

@test "I6: task_output with new: true does not return an unchanged screen" {
	boris
	start_on_terminal 'printf "\033[?1049h\033[5;5Hdrawn"; read x
		printf "\033[5;5Hagain"; read x' '"until":"drawn"'
	read_task '' '"new":true'
	is "$(plain screen)" ''
	run_input '\n' '"until":"again"'
	has "$(plain screen)" '    again'
}

@test "I6: unread text printed before a full-screen program starts counts as new output when it exits" {
	boris
	for begins in '\033[?1049h\033[H' '\033[H\033[J\033[3;5H'; do
		start_on_terminal "stty -echo; echo first; read x; echo second
			printf '${begins}drawn'; read x; printf ' again'; read x
			printf '\033[?1049l\033[99;1Hbye\nafter'; read x" \
			'"until":"first"'
		run_input '\n' '"until":"drawn"'
		lacks "$(plain screen)" second
		run_input '\n' '"until":"again"'
		run_input '\n' '"until":"after"'
		like "$(plain stdout)" $'second\n*after'
		lacks "$(plain stdout)" first
		read_task '' '"new":true'
		is "$(plain stdout)" ''
		run_input '\n'
	done
}

@test "I6: the unchanged screen of a full-screen program is not repeated, even if earlier text is unread" {
	boris
	start_on_terminal 'echo before; printf "\033[?1049h\033[Hdrawn"; read x' \
		'"until":"drawn"'
	read_task '' '"new":true'
	is "$(plain screen)" ''
}

@test "I6: rows already shown in the screen field are not new output when a full-screen program exits" {
	boris
	start_on_terminal 'stty -echo; echo before; printf "\033[H\033[J\033[3;5H"
		printf drawn; read x; printf "\033[99;1Hbye\nafter"; read x' \
		'"until":"drawn"'
	run_input '\n' '"until":"after"'
	like "$(plain stdout)" $'before\n*after'
	lacks "$(plain stdout)" drawn
}

# start_long_text: Starts a program on a terminal that prints 400 lines of 95
# digits. After an input, it prints 2000 more and draws on the screen. After
# another input, which the caller must type, it prints "end".
start_long_text() {
	start_on_terminal 'lines() { seq -f %095g "$@"; }
		stty -echo; lines 1 400; read x
		lines 401 2400; printf "\033[9;120Hdrawn"; read x
		printf "\033[H\033[2Jend\n"; read x' '"until":"00400"'
	run_input '\n' '"until":"drawn"'
	has "$(plain screen)" drawn
}

@test "T3: if unread text is too long, the truncation line gives the number of unread lines" {
	boris
	# The unread lines are those from 401 to 2351, the newline of line 2400,
	# and "end". The lines from 2352 were on the screen of 50 rows.
	start_long_text
	run_input '\n' '"until":"end"'
	has "$(plain stdout)" 'of 1953 lines; full raw output: /'
}

@test "T3: if unread text was dropped from memory, the result says that it is truncated" {
	boris
	start_long_text
	run_input '\n' '"until":"end","limit":100000'
	has "$(plain stdout)" 'of 1953 lines; full raw output: /'
}

@test "I6: text printed before a full-screen program is returned with much text printed after it" {
	boris
	start_on_terminal 'stty -echo; echo first; read x; echo unread
		printf "\033[H\033[2J\033[3;5Hdrawn"; read x
		printf "\033[H\033[2J"; seq -f %095g 750; echo end; read x' \
		'"until":"first"'
	run_input '\n' '"until":"drawn"'
	run_input '\n' '"until":"end","limit":100000'
	is "$(plain stdout | head -n 1)" unread
}

@test "I6: a screen that was shown between two unread parts of the text is not returned again" {
	boris
	start_on_terminal 'show() { printf "\033[H\033[2J\033[3;5H$1"; read x; }
		stty -echo; echo unread; show first
		printf "\033[H\033[2J\033[3;5Hmissed"; show second
		printf "\033[H\033[2Jend"; read x' '"until":"first"'
	run_input '\n' '"until":"second"'
	has "$(plain screen)" second
	run_input '\n' '"until":"end"'
	like "$(plain stdout)" $'unread\n*missed\n*end'
	lacks "$(plain stdout)" first
	lacks "$(plain stdout)" second
}

@test "I6: the result of a full-screen program that ends contains the text printed before it started" {
	boris
	start_on_terminal 'stty -echo; echo before; printf "\033[H\033[J\033[3;5H"
		printf drawn; read x; printf "\033[5;1Hbye"' '"until":"drawn"'
	lacks "$(plain screen)" before
	run_input '\n' '"wait":20000,"until":"never"'
	is "$(result status)" '"completed"'
	like "$(plain stdout)" $'before\n*bye'
	lacks "$(plain stdout)" drawn
}

@test "I6: if a program ends on the alternate screen, its result contains the text and the screen" {
	boris
	start_on_terminal 'stty -echo; echo before; printf "\033[?1049h\033[Hdrawn"
		read x; printf " again"' '"until":"drawn"'
	is "$(plain stdout)" ''
	run_input '\n' '"wait":20000,"until":"never"'
	is "$(result status)" '"completed"'
	is "$(plain stdout)" before
	is "$(plain screen)" 'drawn again'
}

# prints_lines BYTES: Fails if a program that prints BYTES (with the escapes of
# printf) counts as a full-screen program.
prints_lines() {
	start_on_terminal "printf '$1'; echo drawn; read x" '"until":"drawn"'
	is "$(plain stdout)" drawn
	run_input '\n'
}

@test "I6: a program that clears the screen is not treated as a full-screen program" {
	boris
	prints_lines '\033[H\033[2J'
	prints_lines '\033[2J\033[H'
	prints_lines '\033[H\033[J'
	prints_lines '\033[H\033[1;1H\033[?25l\033[J'
}

@test "I6: a program that queries the terminal size is not treated as a full-screen program" {
	boris
	prints_lines '\0337\033[999;999f\0338'
}

@test "I6: text printed after the screen is cleared is reported as new" {
	boris
	start_on_terminal 'stty -echo; printf "drawn\n\n\n"; read x
		printf "\033[H\033[2Jagain"; read x' '"until":"drawn"'
	read_task '' '"new":true'
	run_input '\n' '"until":"again"'
	is "$(plain stdout)" again
}

@test "T3: text appended to a row after the rows below it are erased counts as new output" {
	boris
	start_on_terminal 'stty -echo; printf "Deploy to: \n  staging\n  last"
		read x; printf "\033[2A\033[12G\033[Jproduction\nend"; read x' \
		'"until":"last"'
	run_input '\n' '"until":"production"'
	until_seen
	is "$(plain stdout)" $'Deploy to: production\nend'
}

@test "T3: a line that scrolls off a region below the top of the screen counts as new output" {
	boris
	start_on_terminal 'stty -echo; printf "1st\n2nd\n\033[3;8r\033[3;1H"
		read x; echo first; seq 12; read x' '"until":"2nd"'
	run_input '\n' '"until":"12"'
	has "$(plain stdout)" $'first\n'
}

@test "T3: rows rewritten during a wait are returned, however much is printed after them" {
	boris
	start_on_terminal 'stty -echo; seq 10; read <gate; printf "\033[10A"
		for i in {1..10}; do echo "row $i is ready"; done
		for i in {1..5}; do echo x >shown$i; read <gate; seq 40; done
		echo end; read x' '"until":"10"'
	wait_for_task '"new":true,"wait":20000,"until":"end"'
	reading=$id
	release
	for i in {1..5}; do
		await_output shown$i
		release
	done
	answer $reading
	is "$(plain stdout | head -n 10)" "$(printf 'row %d is ready\n' {1..10})"
}

@test "I6: each of several nested progress bars is shown as a single line" {
	boris
	start_on_terminal 'for i in 1 2 3; do
			printf "outer $i\ninner $i\r\033[A"
		done
		printf "\n\nend\n"' '"wait":10000'
	is "$(plain stdout)" $'outer 3\ninner 3\nend'
}

@test "I6: terminal queries are answered in the order in which they are printed" {
	boris
	start_on_terminal 'stty raw -echo; printf "ab\033[6n\033[5n\033[c\033[>c"
		head -c 26 | tr "\033" E; stty sane; echo; echo end' \
		'"until":"end"'
	has "$(plain stdout)" 'E[1;3RE[0nE[?1;2cE[>0;0;0c'
}

@test "I6: a cursor position query returns the terminal size if the cursor is in the last cell" {
	boris
	start_on_terminal 'stty raw -echo
		printf "\0337\033[999;999f\033[6n\0338"
		head -c 9 | tr "\033" E; stty sane; echo; echo end' \
		'"until":"end"'
	has "$(plain stdout)" 'E[50;200R'
}

@test "W3: the until text matches a row changed by a full-screen program" {
	boris
	start_on_terminal 'printf "\033[?1049h\033[5;5Hready: no"; read x; sleep 0.2
		printf "\033[5;12Hyes"; read x' '"until":"ready: no"'
	run_input '\n' '"until":"ready: yes"'
	has "$(plain screen)" 'ready: yes'
	until_seen
}

@test "W2: after input, a wait continues while the program is busy" {
	needs_linux_parts
	boris
	start_on_terminal 'read x; echo start; sleep 3; echo end; read y; echo $y'
	run_input 'go\n'
	is "$(plain stdout)" $'go\nstart\nend'
	reports_prompt
	run_input 'bye\n'
	exits_with 0
}

@test "W2: after input, a wait ends if the program prints nothing for two seconds" {
	boris
	start_on_terminal 'while read -t 600 x; do echo $x; done; exit 0' '"wait":1'
	start_timer
	run_input 'hello\n' '"wait":60000'
	is "$(plain stdout)" $'hello\nhello'
	least "$(elapsed)" 2000
	within 4000
	reports_no_prompt
	run_input '\u0004'
	exits_with 0
}

# sleep_after_lines N: Starts a program that prints `go`, reads N lines and
# sleeps.
sleep_after_lines() {
	needs perl
	start_on_terminal "perl -e 'print qq(go\n); <STDIN> for 1 .. $1;
		select(undef, undef, undef, 60)'" '"until":"go"'
}

@test "W2: a wait does not end at the echo of several typed lines" {
	use_fast_clock
	boris
	sleep_after_lines 3
	start_timer
	run_input 'a\nb\nc\n' '"wait":20000'
	is "$(plain stdout)" $'a\nb\nc'
	least "$(elapsed)" 19900
	kill_task
}

@test "W2: a wait does not end at the echo of a typed line wider than the terminal" {
	use_fast_clock
	boris
	sleep_after_lines 1
	start_timer
	run_input "$(printf %0300d 0)"'\n' '"wait":20000'
	least "$(elapsed)" 19900
	kill_task
}

@test "W2: cancelling a call with input does not stop the task" {
	boris
	start_on_terminal 'PS1="% " sh -i'
	call_input 'read x <gate; echo got\n' '"until":"nosuch"'
	typed=$id
	sync_server
	cancel $typed
	sync_server
	release
	run_input 'exit\n'
	exits_with 0
	stop_server
	unanswered $typed
}

@test "W3: the until text does not match the echo of the input" {
	boris
	bash_on_terminal
	call_input 'echo x >begun; read x <gate; echo READY\n' \
		'"until":"READY","wait":60000'
	typed=$id
	await_output begun
	next_is_ping
	release
	answer $typed
	has "$(plain stdout)" $'echo READY\nREADY'
	until_seen
}

@test "W3: the until text does not match an echo that is printed character by character" {
	boris
	cat >echo_slowly <<-'END'
	stty -icanon -echo
	printf "> "
	while [ $((i += 1)) -le 11 ]; do
		IFS= read -rn 1 -d "" c
		printf %s "$c"
		read -t 0.02 <>never
	done
	echo x >begun; read <gate; echo READY; read <gate
	END
	start_on_terminal '. ./echo_slowly'
	call_input 'echo READY\n' '"until":"READY","wait":60000'
	typed=$id
	await_output begun
	next_is_ping
	release
	answer $typed
	is "$(plain stdout)" $'echo READY\nREADY'
	until_seen
}

@test "W3: with echo off, the until text matches the first output after the input" {
	boris
	start_on_terminal 'stty -echo; printf "? "; read x; echo "$x"; read <gate'
	run_input 'READY\n' '"until":"READY"'
	is "$(plain stdout)" READY
	until_seen
}

@test "W3: the until text matches the first output of a program that reads single keystrokes" {
	boris
	start_on_terminal 'stty -icanon -echo; echo x >begun; head -c 1 >key
		echo; echo quit; read <gate' '"wait":1'
	await_output begun
	run_input 'quit' '"until":"quit"'
	until_seen
}

@test "W3: the until text does not match when a program repeats the input for the first time" {
	boris
	start_on_terminal 'stty -icanon -echo; printf "> "; head -c 4 >in
		echo you chose quit; read -t 600 <gate'
	run_input quit '"until":"quit","wait":700'
	has "$(plain stdout)" 'you chose quit'
	until_not_seen quit
}

@test "W3: the until text matches output printed before a prompt" {
	boris
	start_on_terminal 'echo x >begun; read <gate; echo ready; printf "> "; read x' \
		'"wait":1'
	await_file begun
	release
	pause 500
	read_task '' '"until":"ready"'
	until_seen
}

@test "W3: the until text does not match output printed before the input" {
	boris
	start_on_terminal 'printf "READY> "; echo x >begun; read x; read y' '"wait":1'
	await_output begun
	run_input 'go\n' '"until":"READY> ","wait":300'
	has "$(plain stdout)" go
	until_not_seen 'READY> '
	has "$(plain note)" 'not printed since the last read'
}

@test "W3: the until text does not match an echo that is printed twice" {
	boris
	start_on_terminal 'echo x >begun; read <gate; stty -icanon -echo
		printf "> READY\n"; read <gate; echo READY; read <gate' \
		'"wait":1'
	await_output begun
	run_input 'READY\n' '"until":"READY","wait":300'
	until_not_seen READY
}

# busy_shell COMMAND: Starts COMMAND, a shell with a line editor, on a terminal.
# The shell is at work until a release.
busy_shell() {
	start_on_terminal "$1"
	run_input 'echo x >busy; read x <gate\n' '"wait":0'
	await_file busy
}

# waits_for_mark TEXT [RELEASES]: Types TEXT, whose last line creates the file
# `begun`, waits for a release and prints MARK. Fails if `until` is found before
# MARK is printed. RELEASES (default: 1) is the number of releases that the
# shell needs.
waits_for_mark() {
	call_input "$1" '"until":"MARK","wait":60000'
	typed=$id
	sync_server
	release $((${2:-1} - 1))
	await_output begun
	pause 300 # boris would answer 100 ms after it has seen MARK.
	next_is_ping
	release
	answer $typed
	until_seen
	like "$(plain stdout)" $'*\n?(% )MARK\n*'
	rm begun
	kill_task
}

@test "W3: the until text does not match a typed line redrawn by readline" {
	boris
	busy_shell 'PS1="% " bash --norc -i'
	waits_for_mark 'echo x >begun; read <gate; echo MARK\n' 2
}

@test "W3: the until text does not match a typed UTF-8 line redrawn by readline" {
	boris
	busy_shell 'PS1="% " LC_ALL=C.UTF-8 bash --norc -i'
	waits_for_mark 'echo \u00e9 >begun; read <gate; echo MARK\n' 2
}

@test "W3: the until text does not match the echo of a line typed in two parts" {
	boris
	busy_shell 'PS1="% " bash --norc -i'
	run_input 'echo x >begun; read <gate; echo MA' '"wait":0'
	waits_for_mark 'RK\n' 2
}

@test "W3: the until text does not match a typed line redrawn by Python" {
	needs python3
	boris
	start_on_terminal 'python3 -q' '"until":">>> "'
	run_input 'f = open(\"gate\"); _ = open(\"busy\", \"w\").write(\"x\"); ' \
		'"wait":0'
	run_input '_ = f.readline()\n' '"wait":0'
	await_file busy
	mark='_ = open(\"begun\", \"w\").write(\"x\"); _ = f.readline(); '
	waits_for_mark "$mark"'print(\"MARK\")\n' 2
}

@test "W3: the until text does not match the echo of the last of several typed lines" {
	boris
	bash_on_terminal
	waits_for_mark 'echo a\necho x >begun; read <gate; echo MARK\n'
	bash_on_terminal
	loop='for i in 1; do\nread <gate\necho a\ndone\n'
	waits_for_mark "$loop"'echo x >begun; read <gate; echo MARK\n' 2
}

@test "W3: the until text does not match the echo of a line with a tab" {
	boris
	mkdir directory
	bash_on_terminal
	waits_for_mark 'ls dir\t; echo x >begun; read <gate; echo MARK\n'
}

@test "W3: the until text does not match the echo of a line typed after Ctrl-C" {
	boris
	bash_on_terminal
	sleep_in_shell busy
	waits_for_mark '\u0003echo x >begun; read <gate; echo MARK\n'
}

@test "W3: the until text does not match the echo of a line wider than the terminal" {
	boris
	long=": $(printf %0190d 0); echo x >begun; read x <gate; echo MARK\n"
	for shell in 'TERM=dumb bash --norc -i' 'TERM=xterm bash --norc -i' \
		'sh -i'; do
		start_on_terminal "PS1='% ' $shell"
		waits_for_mark "$long"
		busy_shell "PS1='% ' $shell"
		waits_for_mark "$long" 2
	done
}

@test "W3: the until text does not match the echo of a line typed by another call" {
	boris
	busy_shell 'PS1="% " bash --norc -i'
	run_input 'echo x >begun; read <gate; echo MARK\n' '"wait":0'
	call task_output '{"task_id":"'"$task"'","until":"MARK","wait":60000}'
	waiting=$id
	sync_server
	release
	await_output begun
	pause 300
	next_is_ping
	release
	answer $waiting
	like "$(plain stdout)" $'*\nMARK\n*'
}

@test "W3: the until text does not match a redrawn command line that starts with that text" {
	boris
	busy_shell 'MARK() { echo x >begun; read <gate; }
		export -f MARK; PS1="% " bash --norc -i'
	call_input 'MARK\n' '"until":"MARK","wait":60000'
	typed=$id
	sync_server
	release
	await_output begun
	pause 300
	next_is_ping
	kill_task
	answer $typed
	has "$(plain stdout)" '% MARK'
}

@test "W3: the until text matches output that repeats part of the typed line" {
	boris
	bash_on_terminal
	run_input 'echo \"the build has finished\"\n' '"until":"finished"'
	has "$(plain stdout)" $'\nthe build has finished\n'
	until_seen
}

@test "W3: the until text matches a line that cat prints after the terminal has echoed it" {
	boris
	start_on_terminal 'cat'
	run_input 'READY\n' '"until":"READY"'
	has "$(plain stdout)" $'READY\nREADY'
	until_seen
}

@test "O6: endless output on a terminal uses no more memory than on a pipe" {
	needs_plain
	boris
	start_task 'yes'
	read_task '' '"wait":1500'
	kill_task
	before=$(peak)
	start_on_terminal 'yes' '"wait":3000'
	is "$(result status)" '"running"'
	kill_task
	most $(($(peak) - before)) 512
}
