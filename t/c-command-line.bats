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

@test "C: --help goes to stdout, within 80 columns, names every option and exits 0" {
	filter --help </dev/null >out
	is "$(awk 'length > 80' out)" ''
	is $status 0
	is "$(cat err)" ''
	for option in workdir timeout bg-timeout on-timeout truncate save-limit \
	              structured write no-network hide call-limit result-limit \
	              edit no-bash help version; do
		has "$(cat out)" --$option
	done
	for variable in WORKDIR TIMEOUT BG_TIMEOUT ON_TIMEOUT TRUNCATE SAVE_LIMIT \
	                STRUCTURED WRITE NO_NETWORK HIDE CALL_LIMIT RESULT_LIMIT \
	                EDIT NO_BASH; do
		has "$(cat out)" BORIS_$variable
	done
}

@test "C: a --help that could not be printed whole is no success, and says why" {
	[ -c /dev/full ] || skip 'no /dev/full here'
	filter --help </dev/null >/dev/full
	is $status 1
	has "$(<err)" 'No space left'
	needs_plain
	needs strace
	strace -o /dev/null true || skip 'nothing can be traced here'
	whole=$("$BORIS" --help)
	before=("${wrap[@]}")
	# From the n-th request for memory on there is none.
	for n in {1..30}; do
		wrap=("${before[@]}" env ASAN_OPTIONS=detect_leaks=0 strace -o /dev/null
			-e inject=brk:error=ENOMEM:when=2+ -e inject=mmap:error=ENOMEM:when=$n+)
		filter --help </dev/null >out
		[ $status != 0 ] || is "$(<out)" "$whole"
		[ $status != 1 ] || is "$(<err)" 'boris: start: out of memory'
	done
	is "$status $(wc -l <err)" '0 0'
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

@test "C: commands start where boris was started" {
	boris
	run_bash pwd
	is "$(plain stdout)" "$PWD"
}

@test "C: --workdir says where commands start" {
	mkdir d
	boris --workdir="$PWD/d"
	run_bash pwd
	is "$(plain stdout)" "$PWD/d"
}

@test "C: dots in --workdir are taken as cd takes them" {
	mkdir -p d/e
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

@test "C: a relative --workdir is made absolute" {
	mkdir d
	boris --workdir=d
	run_bash true
	is "$(plain cwd)" "$PWD/d"
	run_bash 'cd /'
	run_bash pwd '{"cwd":"'"$PWD"'/d"}'
	is "$(plain stdout)" "$PWD/d"
}

@test "C: BORIS_WORKDIR says where commands start" {
	mkdir d
	export BORIS_WORKDIR=$PWD/d
	boris
	run_bash pwd
	is "$(plain stdout)" "$PWD/d"
}

@test "C: --timeout is the time a command gets that names none" {
	boris --timeout=1
	begin
	run_bash 'read <gate'
	is "$(result status)" '"timed_out"'
	has "$(text)" 'Command timed out after 1000ms'
	least "$(took)" 950
}

@test "C: BORIS_TIMEOUT is the time a command gets that names none" {
	export BORIS_TIMEOUT=1
	boris
	run_bash 'read <gate'
	is "$(result status)" '"timed_out"'
}

@test "C: --timeout goes from 1 to 600 seconds" {
	accepts --timeout=1
	accepts --timeout=600
	refuses --timeout=0
	refuses --timeout=601
	refuses --timeout=-1
	refuses --timeout=1.5
	refuses --timeout=ten
	refuses --timeout=10s
	refuses --timeout=
	refuses --timeout=99999999999999999999
}

@test "C: --bg-timeout may be 0 and no less" {
	accepts --bg-timeout=0
	accepts --bg-timeout=86400
	refuses --bg-timeout=-1
	refuses --bg-timeout=x
}

@test "C: --save-limit may be 0 and no less" {
	accepts --save-limit=0
	accepts --save-limit=100
	refuses --save-limit=-1
	refuses --save-limit=1M
}

@test "C: --call-limit and --result-limit may be 0, and a result's no less than 2000" {
	accepts --call-limit=0 --result-limit=0
	accepts --call-limit=1 --result-limit=2000
	refuses --call-limit=-1
	refuses --result-limit=1999
	has "$(<err)" '2000 to 1000000000, or 0'
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

@test "C: --no-bash offers no tools" {
	boris --no-bash
	ask tools/list
	is "$(get result tools)" '[]'
	run_tool bash '{"command":"touch ran"}'
	is "$(code)" -32602
	run_tool task_output '{"task_id":"x"}'
	is "$(code)" -32602
	[ ! -e ran ]
}

@test "C: BORIS_NO_BASH=1 offers no tools" {
	export BORIS_NO_BASH=1
	boris
	ask tools/list
	is "$(get result tools)" '[]'
}

@test "C1: --name value works as --name=value does" {
	mkdir d
	boris --workdir d --timeout 1
	run_bash 'pwd; read <../gate'
	is "$(plain stdout)" "$PWD/d"
	is "$(result status)" '"timed_out"'
}

@test "C1: a flag beats its variable" {
	mkdir d e
	export BORIS_WORKDIR=$PWD/d BORIS_STRUCTURED=off
	boris --workdir="$PWD/e" --structured=on
	run_bash pwd
	is "$(plain stdout)" "$PWD/e"
}

@test "C2: an unknown option is refused, and named" {
	refuses --nonsense
	has "$(cat err)" --nonsense
	refuses --nonsense=5
	has "$(cat err)" --nonsense
	refuses -x
	has "$(cat err)" -x
}

@test "C2: an operand is refused, and named" {
	refuses /tmp
	has "$(cat err)" /tmp
}

@test "C2: an option without its value is refused" {
	refuses --timeout
	has "$(cat err)" --timeout
}

@test "C2: a value for an option that takes none is refused" {
	refuses --no-bash=yes
	has "$(cat err)" '--no-bash=yes: must be given without a value'
}

@test "C2: a value out of range: the line has the option, the value and the range" {
	refuses --timeout=987
	has "$(cat err)" --timeout
	has "$(cat err)" 987
	has "$(cat err)" 600
}

@test "C2: a wrong word: the line has the option, the word and the right ones" {
	refuses --on-timeout=explode
	has "$(cat err)" --on-timeout
	has "$(cat err)" explode
	has "$(cat err)" kill
	has "$(cat err)" background
	refuses --truncate=middle
	has "$(cat err)" middle
	has "$(cat err)" tail
	refuses --structured=maybe
	has "$(cat err)" maybe
	has "$(cat err)" off
}

@test "C2: a directory that is not there is refused, and named" {
	refuses --workdir=/no/such/place
	has "$(cat err)" --workdir
	has "$(cat err)" /no/such/place
}

@test "C2: a --workdir that is a file is refused" {
	touch file
	refuses --workdir=file
	has "$(cat err)" --workdir
}

@test "C2: an empty --workdir is refused" {
	refuses --workdir=
}

@test "C2: a wrong variable is refused as a wrong flag is, and named" {
	BORIS_TIMEOUT=987 refuses
	has "$(cat err)" BORIS_TIMEOUT
	has "$(cat err)" 987
	BORIS_WORKDIR=/no/such/place refuses
	has "$(cat err)" /no/such/place
	BORIS_TRUNCATE=middle refuses
	has "$(cat err)" middle
}

@test "C2: a newline in a wrong value does not make two lines of it" {
	refuses --timeout=$'1\n2'
	refuses $'--non\nsense'
}

@test "C3: a full stderr does not block boris" {
	needs dd
	mkfifo full
	exec 5<>full
	dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>dd.err || :
	status=0
	timeout -k 1 $((20 * SLOW)) $WRAP "$BORIS" --timeout=0 \
		</dev/null >out 2>full 3>&- 5>&- 6>&- 9>&- || status=$?
	is $status 2
}

@test "C3: a stderr without reader does not end boris" {
	mkfifo pipe
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

@test "C3: with stdin closed, boris ends as at an empty input" {
	wrap=(sh -c 'exec "$0" "$@" <&-')
	filter >out
	is $status 0
	is "$(cat out)" ''
}

@test "C3: with all descriptors closed, boris ends" {
	wrap=(sh -c 'exec "$0" "$@" <&- >&- 2>&-')
	filter
	most $status 2
}

@test "C3: with stdout closed, no command writes to what boris opened in its place" {
	wrap=(sh -c 'exec "$0" "$@" >&-')
	filter <<END
$HELLO
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{"command":"echo hi"}}}
END
	most $status 2
}

@test "C3: an ignored SIGCHLD breaks nothing" {
	needs env
	wrap=(env --ignore-signal=CHLD)
	"${wrap[@]}" true || skip "this env has no --ignore-signal"
	boris
	run_bash 'exit 3'
	is "$(result exit_code)" 3
	start_task 'exit 4'
	look "$task" '{"wait":10000}'
	is "$(result exit_code)" 4
}

@test "C3: blocked signals break nothing" {
	wrap=(env --block-signal)
	"${wrap[@]}" true || skip "this env has no --block-signal"
	boris
	run_bash 'exit 3'
	is "$(result exit_code)" 3
	run_bash 'read <gate' '{"timeout":100}'
	is "$(result exit_code)" 143
	kill -TERM "$server"
	died
}

@test "C3: an ignored SIGTERM still closes boris, as an ignored SIGINT does" {
	wrap=(env --ignore-signal=TERM,INT,HUP)
	"${wrap[@]}" true || skip "this env has no --ignore-signal"
	for signal in TERM INT; do
		boris
		kill -$signal "$server"
		died
	done
}

@test "C3: a SIGHUP that was ignored, by nohup, does not end boris" {
	wrap=(env --ignore-signal=HUP)
	"${wrap[@]}" true || skip "this env has no --ignore-signal"
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

@test "C3: a command whose reader has gone ends by SIGPIPE" {
	boris
	run_bash 'yes | head -n 1; echo ${PIPESTATUS[0]}'
	is "$(result stdout)" '"y\n141\n"'
}

@test "C4: on a terminal boris says on stderr what it is, and serves" {
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

@test "C4: without a terminal boris says nothing when started" {
	filter </dev/null >out
	is $status 0
	is "$(cat out err)" ''
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
