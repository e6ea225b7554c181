#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# I5: secrets that a person types
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2119,SC2120,SC2154

load helper

# ask_secret NAME: Starts a task that asks for a password for NAME and writes
# the password to the file NAME.got. Sets $task, and $offer to the ID in the
# note.
ask_secret() {
	start_on_terminal "read -sp 'Password for $1: ' x && echo \"\$x\" >$1.got
		echo; read <gate" || return
	[[ $(plain note) =~ \ --secret=([0-9a-f]{8}) ]] ||
		fail "no offer: $reply" || return
	offer=${BASH_REMATCH[1]}
	has_fifo "$offer"
}

# got NAME: Waits for the password that the task of NAME has read, and prints
# it.
got() {
	await_file "$1.got" && cat "$1.got"
}

# has_fifo [ID]: Succeeds if a FIFO (of this ID) exists.
has_fifo() {
	compgen -G "tmp/boris-*-${1-}*.secret" >/dev/null
}

# has_no_files [ID]: Succeeds if no FIFO and no other file (of this ID) exists.
has_no_files() {
	! compgen -G "tmp/boris-*-${1-}*.*" >/dev/null
}

# enter_secret [ID]: Runs boris --secret[=ID], which reads a line of stdin. Sets
# $status, and $output to what boris printed.
enter_secret() {
	status=0
	output=$(TMPDIR=$PWD/tmp timeout -k 1 $((20 * SLOW)) \
		"$BORIS" --secret${1:+=$1} \
		2>&1 3>&- 6>&- 7>&- 8>&- 9>&-) || status=$?
}

# run_note: Runs the command in the note, which reads a line of stdin. Sets
# $output to what the command printed.
run_note() {
	[[ $(plain note) =~ TMPDIR=.*--secret=[0-9a-f]+ ]]
	output=$(PATH=/usr/bin:/bin timeout -k 1 $((20 * SLOW)) \
		bash -c "${BASH_REMATCH[0]}" \
		2>&1 3>&- 6>&- 7>&- 8>&- 9>&-) || fail "$output"
}

@test "I5: the FIFO and the prompt file have mode 0600" {
	boris
	ask_secret bob
	is "$(stat -c '%F %a' tmp/boris-*.secret)" 'fifo 600'
	is "$(stat -c '%F %a' tmp/boris-*.prompt)" 'regular file 600'
}

@test "I5: if a program asks for a password, a note suggests a command for entering it" {
	boris
	ask_secret bob
	like "$(plain note)" \
		"* TMPDIR=$PWD/tmp /*/${BORIS##*/} --secret=$offer"
	isnt "$offer" "$task"
}

@test "I5: the command suggested for entering a secret prompts for it and passes it to the program" {
	boris
	ask_secret bob
	run_note <<<hunter2
	has "$output" 'Password for bob:'
	has "$output" 'boris: secret accepted'
	is "$(got bob)" hunter2
}

@test "I5: the command suggested for entering a secret is quoted for the shell" {
	mkdir "it's here"
	ln -s "$BORIS" "it's here/boris"
	BORIS="$PWD/it's here/boris" boris
	ask_secret bob
	run_note <<<hunter2
	is "$(got bob)" hunter2
}

@test "I5: the command suggested for entering a secret does not set TMPDIR if boris uses /tmp" {
	TMPDIR_FOR_BORIS=/tmp boris
	start_on_terminal 'read -sp "Password: " x'
	note=$(plain note)
	like "$note" "* running: /*/${BORIS##*/} --secret=*"
	run_input '\n'
	is "$(result status)" '"completed"'
	is "$(compgen -G "/tmp/boris-*-${note##*--secret=}.*")" ''
}

@test "I5: the FIFO is removed after the secret is typed into the program" {
	boris
	ask_secret bob
	enter_secret <<<hunter2
	eventually has_no_files
}

@test "I5: the secret does not appear in any result, message on stderr or log record" {
	boris --log=log
	ask_secret bob
	enter_secret <<<hunter2
	is "$(got bob)" hunter2
	read_task
	run_tool task_output '{}'
	is "$(grep -c hunter heard log err | xargs)" 'heard:0 log:0 err:0'
}

@test "I5: the log records that the user typed a secret" {
	boris --log=log
	ask_secret bob
	enter_secret <<<hunter2
	is "$(got bob)" hunter2
	has "$(grep '"input"' log)" '"secret":true,"by":"user"}'
}

@test "I5: boris --secret without an ID lists all programs that are waiting for a secret" {
	boris
	ask_secret alice
	one=$offer
	ask_secret bob
	enter_secret <<<nobody
	is "$status" 1
	has "$output" "$one: Password for alice:"
	has "$output" "$offer: Password for bob:"
	has "$output" --secret=ID
}

@test "I5: boris --secret=ID selects one of several programs that are waiting for a secret" {
	boris
	ask_secret alice
	one=$offer
	ask_secret bob
	enter_secret "$one" <<<wonder
	is "$status" 0
	lacks "$output" bob
	is "$(got alice)" wonder
	[ ! -e bob.got ]
}

@test "I5: boris --secret does not require an ID if only one program is waiting for a secret" {
	boris
	ask_secret alice
	one=$offer
	ask_secret bob
	enter_secret "$one" <<<wonder
	is "$(got alice)" wonder
	enter_secret <<<builder
	is "$status" 0
	is "$(got bob)" builder
}

@test "I5: boris --secret exits with status 1 if no server is running" {
	enter_secret <<<x
	is "$status" 1
	has "$output" 'no program is waiting for'
}

@test "I5: boris --secret exits with status 1 if no program is waiting for a secret" {
	boris
	start_on_terminal 'read -p "Name: " x'
	enter_secret <<<x
	is "$status" 1
}

@test "I5: boris --secret exits with status 1 if the ID is unknown" {
	boris
	ask_secret bob
	enter_secret 00000000 <<<x
	is "$status" 1
	! TMPDIR=$PWD/tmp "$BORIS" --secret 00000000 <<<x 2>said ||
		fail 'a separate ID is accepted'
	has "$output" 'no program is waiting for'
	has "$(<said)" 'no program is waiting for'
}

@test "I5: boris --secret exits with status 1 if no secret is entered" {
	boris
	ask_secret bob
	enter_secret "$offer" </dev/null
	is "$status" 1
	has "$output" 'no secret was typed'
	enter_secret "$offer" <<<y
	is "$status" 0
}

# make_fifo USER MODE: Creates a FIFO with this owner and mode and opens it as
# descriptor 5. Its name is that of a FIFO of boris with the ID 89abcdef.
make_fifo() {
	local file=tmp/boris-0123456789abcdef01234567-89abcdef.secret
	mkfifo -m "$2" $file
	chown "$1" $file
	exec 5<>$file
}

# writes_nothing: Fails if boris --secret writes to the FIFO of make_fifo.
writes_nothing() {
	enter_secret 89abcdef <<<hunter2 5>&-
	is "$status" 1
	has "$output" 'no program is waiting for'
	is "$(IFS= read -rt 0.1 -u 5 line; echo "$line")" ''
	exec 5>&-
	rm tmp/boris-*
}

@test "I5: boris --secret does not write to another user's FIFO" {
	needs_root
	make_fifo 65534 666
	writes_nothing
}

@test "I5: boris --secret does not write to a FIFO that other users can read" {
	needs_root
	make_fifo 0 644
	writes_nothing
}

@test "I5: a secret is discarded if the program is no longer waiting for it" {
	boris
	start_on_terminal 'stty -echo; printf "Secret: "; read x
		stty echo; echo x >over; read y; echo "<$y>"' '"until":"Secret: "'
	eventually has_fifo
	TMPDIR=$PWD/tmp "$BORIS" --secret <gate 2>said \
		3>&- 6>&- 7>&- 8>&- 9>&- &
	late=$!
	eventually grep -q 'not shown' said
	run_input '\n'
	await_file over
	eventually has_no_files
	echo hunter2 >&6
	status=0
	wait $late || status=$?
	is "$status" 1
	has "$(<said)" 'the program no longer waits for it'
	run_input 'end\n'
	has "$(plain stdout)" '<end>'
	lacks "$(<heard)" hunter2
}

@test "I5: the FIFO for a secret is created even if 1,024 saved files already exist" {
	boris --structured=off
	save_files 32
	is "$(find tmp -type f | wc -l)" 1024
	run_bash "read -sp 'Password: ' x" '{"tty":true}'
	has "$(text)" ' --secret='
	has_fifo
	is "$(find tmp -type f -o -type p | wc -l)" 1024
}

@test "I5: the FIFO is removed when the task that is waiting for the secret is stopped" {
	boris
	ask_secret bob
	run_tool bash '{"kill_pid":'"$pid"'}'
	has_no_files
}

@test "I5: the FIFO is removed when boris exits" {
	boris
	ask_secret bob
	stop_server
	has_no_files
}

@test "I5: the FIFO is removed after boris is killed" {
	boris
	ask_secret bob
	kill -9 "$server"
	await_exit || :
	status=0
	eventually has_no_files
	eventually has_no_processes
}

@test "I5: an incomplete line written to the FIFO is not typed into the program" {
	boris
	ask_secret bob
	printf part >"$(echo tmp/boris-*.secret)"
	eventually has_no_files "$offer"
	eventually has_fifo
	# The FIFO exists for a moment before the server opens it.
	sync_server
	enter_secret <<<complete
	is "$status" 0
	is "$(got bob)" complete
}

# enter_on_terminal SCRIPT: Runs SCRIPT on a terminal of its own until boris
# --secret waits for input. SCRIPT finds boris and its options in $secret.
enter_on_terminal() {
	start_on_terminal "secret='env TMPDIR=$PWD/tmp $BORIS --secret=$offer'
		$1" '"until":"not shown"'
}

@test "I5: boris --secret does not show the secret while the user types it" {
	boris
	ask_secret bob
	enter_on_terminal '$secret; echo status $?'
	has "$(plain stdout)" 'Password for bob:'
	run_input 'hunter2\n'
	has "$(plain stdout)" 'boris: secret accepted'
	has "$(plain stdout)" 'status 0'
	lacks "$(plain stdout)" hunter2
	is "$(got bob)" hunter2
}

@test "I5: boris --secret restores echo after Ctrl-C" {
	boris
	ask_secret bob
	enter_on_terminal '$secret; echo status $?; stty -a | grep -o " -*echo "'
	run_input '\u0003'
	has "$(plain stdout)" 'status 1'
	has "$(plain stdout)" $'\n echo'
}

# hides_input PID: Succeeds if the terminal of the process has echo turned off.
hides_input() {
	stty -a <"$(readlink "/proc/$1/fd/0")" | grep -q ' -echo '
}

@test "I5: boris --secret restores echo when it is terminated by a signal" {
	boris
	ask_secret bob
	for signal in TERM HUP QUIT; do
		enter_on_terminal 'export secret
			sh -c "echo \$\$ >pid; exec \$secret"
			stty -a | grep -o " -*echo "'
		! linux_parts || eventually hides_input "$(<pid)"
		kill -$signal "$(<pid)"
		eventually is_gone pid
		read_task '' '"wait":10000'
		has "$(plain stdout)" $'\n echo'
	done
}

@test "I5: boris --secret ignores another user's prompt file" {
	needs_root
	boris
	ask_secret bob
	file=$(grep -rlsF --devices=skip 'Password for bob' tmp) ||
		skip 'no file has the prompt'
	rm "$file"
	echo 'Type it into the other window' >"$file"
	chown 65534 "$file"
	enter_secret <<<hunter2
	lacks "$output" 'other window'
}

@test "I5: IDs for boris --secret cannot be predicted from earlier ones" {
	boris
	ask_secret alice
	fifo=$(compgen -G "tmp/boris-*-$offer.secret")
	# Occupy the name that follows if the next ID is the current one plus a
	# constant. boris cannot remove a directory.
	printf -v next %08x $(((0x$offer + 0x9E3779B1) & 0xffffffff))
	next=${fifo/$offer/$next}
	mkdir "$next"
	ask_secret bob
	rmdir "$next"
}

# passes_secret: Fails if a secret does not reach a program.
passes_secret() {
	start_on_terminal 'read -sp "Password: " x; echo; echo ${#x}'
	eventually has_fifo
	enter_secret <<<hunter2
	is "$status" 0
	read_task '' '"wait":10000'
	has "$(plain stdout)" 7
}

@test "I5: boris --secret works with --write" {
	needs_linux_parts
	mkdir w
	boris --write="$PWD/w" --workdir="$PWD/w" --log="$PWD/log" ||
		skip 'no Landlock here'
	passes_secret
}

@test "I5: boris --secret works with --hide" {
	needs_linux_parts
	mkdir h
	"$BORIS" --hide="$PWD/h" </dev/null || skip 'no namespaces here'
	boris --hide="$PWD/h"
	passes_secret
}
