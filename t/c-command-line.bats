#!/usr/bin/env bats
# C: the command line
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# refuses ARGS...: boris does not start with them; one line says why (C2)
refuses() {
	filter "$@" </dev/null >out
	is "$* -> $status" "$* -> 2"
	is "$(wc -c <out | tr -d ' ') bytes on stdout" '0 bytes on stdout'
	is "$(wc -l <err | tr -d ' ') lines on stderr" '1 lines on stderr'
}

# accepts ARGS...: boris starts with them, and ends with its input
accepts() {
	filter "$@" </dev/null >out
	is "$* -> $status: $(cat out err)" "$* -> 0: "
}

@test "C: --help ends with where the manual is that came with this binary" {
	needs_linux_parts
	mkdir -p d/bin d/share/man/man1
	cp "$BORIS" d/bin/boris
	is "$(d/bin/boris --help | tail -n 1)" 'Manual: man boris'
	: >d/share/man/man1/boris.1
	is "$(d/bin/boris --help | tail -n 1)" "Manual: man $PWD/d/share/man/man1/boris.1"
}

@test "C: --help (-h) goes to stdout, within 80 columns, names every option and exits 0" {
	filter --help </dev/null >out
	is "$status $(cat err)" '0 '
	is "$(awk 'length > 80' out)" ''
	for option in workdir timeout bg-timeout on-timeout truncate save-limit \
	              structured write no-network hide log call-limit result-limit \
	              edit no-bash transport listen port token token-file \
	              allow-anyone allow-origin session-timeout; do
		has "$(cat out)" --$option
		variable=${option^^}
		has "$(cat out)" BORIS_${variable//-/_}
	done
	for option in generate-token secret help version; do
		has "$(cat out)" --$option
	done
	filter -h </dev/null >short
	is "$status $(cat err)" '0 '
	cmp out short
}

@test "C: a --help that could not be printed whole is no success, and says why" {
	[ -c /dev/full ] || skip 'no /dev/full here'
	filter --help </dev/null >/dev/full
	is $status 1
	has "$(<err)" 'No space left'
}

@test "C: --version goes to stdout, is the version the server gives, and exits 0" {
	filter --version </dev/null >out
	is $status 0
	is "$(cat err)" ''
	start
	send "$HELLO"
	hear
	has "$(cat out)" "$(get -s result serverInfo version)"
	has "$(cat out)" boris
}

# in_removed_dir COMMAND...: runs it in a directory that has been removed
in_removed_dir() {
	mkdir removed
	(cd removed && rmdir ../removed && PWD=$OLDPWD "$@")
}

@test "C2: in a directory that was removed boris exits with status 2, unless all names are absolute" {
	for args in '' '--workdir=d' "--workdir=$PWD --log=x.log" \
		"--workdir=$PWD --transport=http --token-file=t" \
		"--workdir=$PWD --write=." "--workdir=$PWD --hide=x"; do
		# shellcheck disable=SC2086
		in_removed_dir the_reason $args >said
		like "$args: $(<said)" "$args: 2 boris: --* cannot determine the current directory: *"
		is "$(wc -l <said | tr -d ' ')" 1
	done
	[ ! -e /x.log ]
	is "$(in_removed_dir the_reason --workdir="$PWD" --log="$PWD/x.log")" '0 '
	is "$(in_removed_dir the_reason --version)" '0 '
}

# the_reason ARGS...: boris's exit status and what it prints on stderr
the_reason() {
	local code=0 said
	# shellcheck disable=SC2086
	said=$(TMPDIR=/tmp $WRAP "$BORIS" "$@" 2>&1 >/dev/null </dev/null) || code=$?
	echo "$code $said"
}

@test "C: --workdir, made absolute with its dots as cd takes them, says where commands start" {
	mkdir -p d/e
	boris
	run_bash pwd
	is "$(plain stdout)" "$PWD"
	leave
	boris --workdir=d
	run_bash pwd
	is "$(plain cwd) $(plain stdout)" "$PWD/d $PWD/d"
	leave
	BORIS_WORKDIR=$PWD/d boris
	run_bash pwd
	is "$(plain stdout)" "$PWD/d"
	leave
	for given in . d/.. ./d/e/../../ "$PWD/d/../."; do
		boris --workdir="$given"
		run_bash 'pwd'
		is "$(plain stdout)" "$PWD"
		run_bash 'pwd' '{"cwd":".."}'
		is "$(plain stdout)" "${PWD%/*}"
		leave
	done
}

@test "C2: --workdir is looked for where cd would go" {
	mkdir -p real/sub real/other here
	ln -s real/sub link
	refuses --workdir=link/../other
	boris --workdir=link/../here
	run_bash pwd
	is "$(plain stdout)" "$PWD/here"
}

@test "C: BORIS_TIMEOUT is the time a command gets that names none" {
	BORIS_TIMEOUT=1 boris
	begin
	run_bash 'read <gate'
	is "$(result status)" '"timed_out"'
	has "$(text)" 'Command timed out after 1000ms'
	least "$(took)" 950
}

@test "C: --timeout goes from 1 to 600 seconds, other limits from 0, --result-limit from 2000" {
	accepts --timeout=1
	accepts --timeout=600
	for value in 0 601 -1 1.5 ten 10s '' 99999999999999999999; do
		refuses --timeout=$value
	done
	accepts --bg-timeout=0 --save-limit=0 --call-limit=0 --result-limit=0
	accepts --bg-timeout=86400 --save-limit=100 --call-limit=1 --result-limit=2000
	for option in bg-timeout save-limit call-limit result-limit; do
		refuses --$option=-1
		refuses --$option=x
	done
	refuses --result-limit=1999
	has "$(<err)" '--result-limit=1999: must be 0, or an integer from 2000 to 1000000000'
	BORIS_RESULT_LIMIT=1 refuses
}

@test "C: BORIS_BG_TIMEOUT and BORIS_SAVE_LIMIT are what the flags are" {
	export BORIS_BG_TIMEOUT=1 BORIS_SAVE_LIMIT=0
	boris
	run_bash 'head -c 40000 /dev/zero | tr "\0" a'
	is "$(result stdout_chars) $(result stdout_file)" '40000 '
	start_task 'read <gate'
	look "$task" '{"wait":20000}'
	is "$(result status)" '"timed_out"'
}

@test "C: --no-bash, or BORIS_NO_BASH=1, offers no tools" {
	boris --no-bash
	ask tools/list
	is "$(get result tools)" '[]'
	for tool in bash task_output; do
		run_tool $tool '{"command":"touch ran"}'
		is "$(code)" -32602
	done
	[ ! -e ran ]
	leave
	BORIS_NO_BASH=1 boris
	ask tools/list
	is "$(get result tools)" '[]'
}

@test "C1: --name value works as --name=value does, and a flag beats its variable" {
	mkdir d e
	boris --workdir d --timeout 1
	run_bash 'pwd; read <../gate'
	is "$(plain stdout)" "$PWD/d"
	is "$(result status)" '"timed_out"'
	leave
	export BORIS_WORKDIR=$PWD/d BORIS_STRUCTURED=off
	boris --workdir="$PWD/e" --structured=on
	run_bash pwd
	is "$(plain stdout)" "$PWD/e"
}

@test "C2: an unknown option, an operand, a missing, needless or wrong value is refused in a line that says what would be right" {
	touch file
	while IFS='|' read -r option message; do
		refuses "$option"
		has "$(cat err)" "boris: $message"
	done <<-'END'
	--nonsense|--nonsense: unknown option; see boris --help
	--nonsense=5|--nonsense=5: unknown option
	-x|-x: unknown option
	/tmp|/tmp: unexpected argument
	--timeout|--timeout: value missing; must be an integer from 1 to 600
	--no-bash=yes|--no-bash=yes: this option takes no value
	--timeout=987|--timeout=987: must be an integer from 1 to 600
	--on-timeout=explode|--on-timeout=explode: must be kill or background
	--truncate=middle|--truncate=middle: must be head, tail or both
	--structured=maybe|--structured=maybe: must be auto, on or off
	--workdir=/no/such/place|--workdir=/no/such/place: cannot change to directory: No such file
	--workdir=file|--workdir=file: cannot change to directory: Not a directory
	--workdir=|--workdir=: must be the name of a directory
	--hide=/no/such/place|--hide=/no/such/place: cannot find this path: No such file
	END
}

@test "C2: a wrong variable is refused as a wrong flag is, and named" {
	BORIS_TIMEOUT=987 refuses
	has "$(cat err)" 'BORIS_TIMEOUT=987: must be an integer'
	BORIS_WORKDIR=/no/such/place refuses
	has "$(cat err)" /no/such/place
	BORIS_TRUNCATE=middle refuses
	has "$(cat err)" middle
}

@test "C2: a newline in a wrong value does not make two lines of it" {
	refuses --timeout=$'1\n2'
	refuses $'--non\nsense'
}

@test "C3: a full stderr does not block boris, one without a reader does not end it" {
	needs dd
	mkfifo full pipe
	exec 5<>full
	dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>dd.err || :
	status=0
	timeout -k 1 $((20 * SLOW)) $WRAP "$BORIS" --timeout=0 \
		</dev/null >out 2>full 3>&- 5>&- 6>&- 9>&- || status=$?
	is $status 2
	exec 5<>pipe 4>pipe 5>&-
	status=0
	$WRAP "$BORIS" --timeout=0 </dev/null >out 2>&4 3>&- 6>&- 9>&- || status=$?
	is $status 2
}

@test "C3: with stderr closed, commands and saved files work all the same" {
	wrap=(sh -c 'exec "$0" "$@" 2>&-')
	boris
	run_bash 'echo out; echo err >&2'
	is "$(result stdout)" '"out\n"'
	is "$(result stderr)" '"err\n"'
	run_bash 'head -c 40000 /dev/zero | tr "\0" a'
	is "$(wc -c <"$(plain stdout_file)" | tr -d ' ')" 40000
}

@test "C3: with stdin, stdout or all descriptors closed boris ends, and no command writes to what it opened in their place" {
	wrap=(sh -c 'exec "$0" "$@" <&-')
	filter >out
	is "$status $(cat out)" '0 '
	wrap=(sh -c 'exec "$0" "$@" <&- >&- 2>&-')
	filter
	most $status 2
	wrap=(sh -c 'exec "$0" "$@" >&-')
	filter <<END
$HELLO
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{"command":"echo hi"}}}
END
	most $status 2
}

@test "C3: an ignored SIGCHLD, and blocked signals, break nothing" {
	for how in --ignore-signal=CHLD --block-signal; do
		wrap=(env $how)
		"${wrap[@]}" true || skip "this env has no $how"
		boris
		run_bash 'exit 3'
		is "$(result exit_code)" 3
		start_task 'exit 4'
		look "$task" '{"wait":10000}'
		is "$(result exit_code)" 4
		run_bash 'read <gate' '{"timeout":100}'
		is "$(result exit_code)" 143
		kill -TERM "$server"
		died
	done
}

@test "C3: an ignored SIGTERM or SIGINT still closes boris, an ignored SIGHUP (nohup) does not" {
	wrap=(env --ignore-signal=TERM,INT,HUP)
	"${wrap[@]}" true || skip "this env has no --ignore-signal"
	for signal in TERM INT; do
		boris
		kill -$signal "$server"
		died
	done
	wrap=(env --ignore-signal=HUP)
	boris
	kill -HUP "$server"
	run_bash 'kill -HUP $$'
	is "$(result signal)" '"SIGHUP"'
	kill -HUP "$server"
	in_turn
}

@test "C3: commands start with all signals at their default and none blocked" {
	needs_linux
	wrap=(env --ignore-signal=HUP,INT,QUIT,PIPE,ALRM,TERM,USR1,USR2,CHLD,TSTP,TTIN,TTOU --block-signal)
	"${wrap[@]}" true || skip "this env has no --ignore-signal"
	boris
	# A shell ignores SIGQUIT itself; what it starts has what it was given.
	run_bash 'grep -E "^Sig(Ign|Blk)" /proc/self/status | cut -f 2'
	is "$(plain stdout)" $'0000000000000000\n0000000000000000'
}

@test "C4: on a terminal boris says on stderr what it is, and serves; else it says nothing" {
	filter </dev/null >out
	is $status 0
	is "$(cat out err)" ''
	needs script
	[ -z "$WRAP" ] || skip "under $WRAP"
	export BORIS
	printf '%s\n' "$HELLO" | TEST_MARK="$PWD:" timeout $((20 * SLOW)) \
		script -qec '"$BORIS" 2>err >out' /dev/null >tty 3>&- 6>&- 9>&-
	has "$(cat err)" boris
	has "$(cat err)" --help
	is "$(wc -l <out | tr -d ' ')" 1
	reply=$(cat out)
	is "$(get result protocolVersion)" '"2025-11-25"'
}

@test "C5: an option that counts only over HTTP is refused without it" {
	for option in --port=99 --listen=127.0.0.1 --token=x --token-file=/dev/null --generate-token \
	    --allow-anyone --allow-origin=https://a.b --session-timeout=9; do
		filter "$option" </dev/null >out
		is "$status $(wc -c <out | tr -d ' ')" '2 0'
		has "$(<err)" "${option%%=*}"
		has "$(<err)" --transport=http
		is "$(wc -l <err | tr -d ' ')" 1
	done
	BORIS_PORT=99 filter </dev/null
	is "$status" 0
}
