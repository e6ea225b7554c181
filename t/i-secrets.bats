#!/usr/bin/env bats
# I5: a person types the secret
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load helper

# asks_secret NAME: a task that asks for one, and writes down what it has read;
# sets $task, and $offer to the ID that the note gives
asks_secret() {
	on_terminal 'read -sp "Password for '"$1"': " x && echo "$x" >'"$1"'.got; echo; read <gate' || return
	[[ $(plain note) =~ boris\ --secret=([0-9a-f]{8}) ]] ||
		fail "no offer: $reply" || return
	offer=${BASH_REMATCH[1]}
	fifo "$offer"
}

# fifo [ID]: there is one, of that offer
fifo() {
	compgen -G "tmp/boris-*-${1-}*.secret" >/dev/null
}

# no_fifo [ID]: there is none, nor anything else of it
no_fifo() {
	! compgen -G "tmp/boris-*-${1-}*.*" >/dev/null
}

# person [ID]: types a line of stdin, as another process of that user; sets
# $status, $said
person() {
	status=0
	said=$(TMPDIR=$PWD/tmp timeout -k 1 $((20 * SLOW)) "$BORIS" --secret${1:+=$1} \
		2>&1 3>&- 6>&- 7>&- 8>&- 9>&-) || status=$?
}

@test "I5: a person can type a secret with boris --secret" {
	boris --log=log
	asks_secret bob
	is "$(stat -c '%F %a' tmp/boris-*.secret)" 'fifo 600'
	is "$(stat -c '%F %a' tmp/boris-*.prompt)" 'regular file 600'
	like "$(plain note)" "* TMPDIR=$PWD/tmp /*/${BORIS##*/} --secret=$offer"
	isnt "$offer" "$task"
	# It runs as it stands.
	[[ $(plain note) =~ TMPDIR=.*--secret=[0-9a-f]+ ]]
	said=$(PATH=/usr/bin:/bin timeout -k 1 $((20 * SLOW)) bash -c "${BASH_REMATCH[0]}" \
		<<<hunter2 2>&1 3>&- 6>&- 7>&- 8>&- 9>&-) || fail "$said"
	has "$said" 'Password for bob:'
	has "$said" 'boris: secret accepted'
	begun bob.got
	is "$(<bob.got)" hunter2
	eventually no_fifo
	look
	run_tool task_output '{}'
	release
	is "$(grep -c hunter heard log err | xargs)" 'heard:0 log:0 err:0'
	has "$(grep '"input"' log)" '"secret":true,"by":"user"}'
}

@test "I5: the command in the note is quoted for the shell" {
	mkdir "it's here"
	ln -s "$BORIS" "it's here/boris"
	BORIS="$PWD/it's here/boris" boris
	on_terminal 'read -sp "Password: " x && echo "$x" >got'
	[[ $(plain note) =~ TMPDIR=.*--secret=[0-9a-f]+ ]]
	said=$(timeout -k 1 $((20 * SLOW)) bash -c "${BASH_REMATCH[0]}" \
		<<<hunter2 2>&1 3>&- 6>&- 7>&- 8>&- 9>&-) || fail "$said"
	begun got
	is "$(<got)" hunter2
}

@test "I5: the command in the note does not set TMPDIR if boris uses /tmp" {
	TMPDIR_FOR_BORIS=/tmp boris
	on_terminal 'read -sp "Password: " x'
	like "$(plain note)" "* with: /*/${BORIS##*/} --secret=*"
	offer=$(plain note)
	offer=${offer##*--secret=}
	type_in '\n'
	is "$(result status)" '"completed"'
	is "$(compgen -G "/tmp/boris-*-$offer.*")" ''
}

@test "I5: boris --secret=ID selects one of several terminals" {
	boris
	asks_secret alice
	one=$offer
	asks_secret bob
	person <<<nobody
	is "$status" 1
	has "$said" "$one: Password for alice:"
	has "$said" "$offer: Password for bob:"
	has "$said" --secret=ID
	person "$one" <<<wonder
	is "$status" 0
	lacks "$said" bob
	begun alice.got
	is "$(<alice.got)" wonder
	person <<<builder
	is "$status" 0
	begun bob.got
	is "$(<bob.got)" builder
	release 2
}

@test "I5: boris --secret exits with status 1 if no terminal asks for a secret" {
	person <<<x
	is "$status" 1
	has "$said" 'no terminal of this user'
	boris
	on_terminal 'read -p "Name: " x'
	person <<<x
	is "$status" 1
	asks_secret bob
	person 00000000 <<<x
	is "$status" 1
	! TMPDIR=$PWD/tmp "$BORIS" --secret 00000000 <<<x 2>said || fail taken
	has "$said" 'no terminal of this user'
	person "$offer" </dev/null
	is "$status" 1
	has "$said" 'no secret was typed'
	person "$offer" <<<y
	is "$status" 0
	release
}

@test "I5: boris --secret writes only to a private FIFO of the same user" {
	needs_root
	for own in '65534 666' '0 644'; do
		mkfifo -m "${own#* }" tmp/boris-0123456789abcdef01234567-89abcdef.secret
		chown "${own% *}" tmp/boris-*.secret
		exec 5<>tmp/boris-0123456789abcdef01234567-89abcdef.secret
		person 89abcdef <<<hunter2 5>&-
		is "$status" 1
		has "$said" 'no terminal of this user'
		is "$(IFS= read -rt 0.1 -u 5 line; echo "$line")" ''
		rm tmp/boris-*
		exec 5>&-
	done
}

@test "I5: a secret that arrives late is not typed" {
	boris
	on_terminal 'stty -echo; printf "Secret: "; read x; stty echo; echo x >over; read y; echo "<$y>"' '"until":"Secret: "'
	eventually fifo
	TMPDIR=$PWD/tmp "$BORIS" --secret <gate 2>said 3>&- 6>&- 7>&- 8>&- 9>&- &
	late=$!
	eventually grep -q 'not shown' said
	type_in '\n'
	begun over
	eventually no_fifo
	echo hunter2 >&6
	status=0
	wait $late || status=$?
	is "$status" 1
	has "$(<said)" 'the terminal no longer asks for it'
	type_in 'end\n'
	has "$(plain stdout)" '<end>'
	lacks "$(<heard)" hunter2
}

@test "I5: the FIFO is removed when the task or boris ends" {
	boris
	asks_secret bob
	run_tool bash '{"kill_pid":'"$pid"'}'
	no_fifo
	asks_secret bob
	leave
	no_fifo
	boris
	asks_secret bob
	kill -9 "$server"
	died || :
	status=0
	eventually no_fifo
	eventually alone
}

@test "I5: an incomplete line in the FIFO is not typed" {
	boris
	asks_secret bob
	printf part >"$(echo tmp/boris-*.secret)"
	eventually no_fifo "$offer"
	eventually fifo
	person <<<whole
	is "$status" 0
	begun bob.got
	is "$(<bob.got)" whole
	release
}

@test "I5: boris --secret does not echo the secret" {
	boris
	asks_secret bob
	one=$offer
	on_terminal "TMPDIR=$PWD/tmp $BORIS --secret=$one; echo status \$?; stty -a | grep -o ' -*echo '" '"until":"not shown"'
	has "$(plain stdout)" 'Password for bob:'
	type_in '\u0003'
	has "$(plain stdout)" 'status 1'
	has "$(plain stdout)" $'\n echo'
	on_terminal "TMPDIR=$PWD/tmp $BORIS --secret=$one; echo status \$?" '"until":"not shown"'
	type_in 'hunter2\n'
	has "$(plain stdout)" 'boris: secret accepted'
	has "$(plain stdout)" 'status 0'
	lacks "$(plain stdout)" hunter2
	begun bob.got
	is "$(<bob.got)" hunter2
	release
}

@test "I5: boris --secret does not show a prompt file of another user" {
	needs_root
	boris
	asks_secret bob
	file=$(grep -rlsF --devices=skip 'Password for bob' tmp) || skip 'it is in no file'
	rm "$file"
	echo 'Type it into the other window' >"$file"
	chown 65534 "$file"
	person <<<hunter2
	lacks "$said" 'other window'
}

@test "I5: the name of the next FIFO cannot be derived from the current one" {
	boris
	asks_secret alice
	fifo=$(compgen -G "tmp/boris-*-$offer.secret")
	# The next id, were this one to tell it; not to be removed, as another user's
	printf -v next %08x $(((0x$offer + 0x9E3779B1) & 0xffffffff))
	next=${fifo/$offer/$next}
	mkdir "$next"
	asks_secret bob
	rmdir "$next"
	release 2
}

@test "I5: boris --secret restores its terminal when a signal kills it" {
	boris
	asks_secret bob
	one=$offer
	for signal in TERM HUP QUIT; do
		on_terminal "sh -c 'echo \$\$ >pid; TMPDIR=$PWD/tmp exec $BORIS --secret=$one'; stty -a | grep -o ' -*echo '" '"until":"not shown"'
		hidden() { stty -a <"$(readlink "/proc/$(<pid)/fd/0")" | grep -q ' -echo '; }
		! linux_parts || eventually hidden
		kill -$signal "$(<pid)"
		eventually gone pid
		look '' '"wait":10000'
		has "$(plain stdout)" $'\n echo'
	done
	release
}

@test "I5: boris --secret works with --write and --hide" {
	needs_linux_parts
	mkdir w h
	boris --write="$PWD/w" --workdir="$PWD/w" --log="$PWD/log" || skip 'no Landlock here'
	on_terminal 'read -sp "Password: " x; echo; echo ${#x}'
	eventually fifo
	person <<<hunter2
	is "$status" 0
	look '' '"wait":10000'
	has "$(plain stdout)" 7
	leave
	"$BORIS" --hide="$PWD/h" </dev/null || skip 'no namespaces here'
	boris --hide="$PWD/h"
	on_terminal 'read -sp "Password: " x; echo; echo ${#x}'
	eventually fifo
	person <<<hunter2
	is "$status" 0
}
