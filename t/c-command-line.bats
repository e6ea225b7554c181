#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# C: the command line
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# rejects_options ARGS...: Fails if boris does not exit with status 2, print nothing
# on stdout and one line on stderr (C2).
rejects_options() {
	filter "$@" </dev/null >out
	is "$* -> $status" "$* -> 2"
	is "$(wc -c <out | tr -d ' ') bytes on stdout" '0 bytes on stdout'
	is "$(wc -l <err | tr -d ' ') lines on stderr" '1 lines on stderr'
}

# accepts_options ARGS...: Fails if boris does not exit with status 0 at the end of
# its input, without output.
accepts_options() {
	filter "$@" </dev/null >out
	is "$* -> $status: $(cat out err)" "$* -> 0: "
}

# runs_in DIR: Fails if a command does not run in DIR.
runs_in() {
	run_bash pwd
	is "$(plain stdout)" "$1"
}

# --- Help and version

@test "C: --help prints to stdout and exits with status 0" {
	filter --help </dev/null >out
	is "$status $(cat err)" '0 '
	has "$(cat out)" boris
}

@test "C: --help prints no lines longer than 80 columns" {
	filter --help </dev/null >out
	is "$(awk 'length > 80' out)" ''
}

@test "C: --help lists every option" {
	filter --help </dev/null >out
	for option in workdir timeout bg-timeout on-timeout truncate save-limit structured \
	              write no-network hide log call-limit result-limit edit no-bash \
	              transport listen port token token-file allow-anyone allow-origin \
	              session-timeout generate-token secret help version; do
		has "$(cat out)" --$option
	done
}

@test "C: --help names the environment variable of each option" {
	filter --help </dev/null >out
	for variable in WORKDIR TIMEOUT BG_TIMEOUT ON_TIMEOUT TRUNCATE SAVE_LIMIT \
	                STRUCTURED WRITE NO_NETWORK HIDE LOG CALL_LIMIT RESULT_LIMIT EDIT \
	                NO_BASH TRANSPORT LISTEN PORT TOKEN TOKEN_FILE ALLOW_ANYONE \
	                ALLOW_ORIGIN SESSION_TIMEOUT; do
		has "$(cat out)" BORIS_$variable
	done
}

@test "C: -h prints the same text as --help" {
	filter --help </dev/null >long
	filter -h </dev/null >short
	is "$status $(cat err)" '0 '
	cmp long short
}

@test "C: --help names the manual installed with boris, or the one in the source tree" {
	needs_linux_parts
	mkdir -p d/bin/doc d/share/man/man1
	cp "$BORIS" d/bin/boris
	is "$(d/bin/boris --help | tail -n 1)" 'Manual: man boris'
	: >d/bin/doc/boris.1
	is "$(d/bin/boris --help | tail -n 1)" "Manual: man $PWD/d/bin/doc/boris.1"
	: >d/share/man/man1/boris.1
	is "$(d/bin/boris --help | tail -n 1)" "Manual: man $PWD/d/share/man/man1/boris.1"
}

@test "C: --help exits with status 1 if writing to stdout fails" {
	[ -c /dev/full ] || skip 'no /dev/full here'
	filter --help </dev/null >/dev/full
	is $status 1
	has "$(<err)" 'No space left'
}

@test "C: --version prints the version that initialize returns" {
	filter --version </dev/null >out
	is "$status $(cat err)" '0 '
	start
	send "$HELLO"
	read_reply
	has "$(cat out)" "$(get -s result serverInfo version)"
	has "$(cat out)" boris
}

# --- The working directory

@test "C: by default, commands start in the directory in which boris was started" {
	boris
	runs_in "$PWD"
}

@test "C: --workdir sets the directory in which commands start" {
	mkdir d
	boris --workdir=d
	run_bash pwd
	is "$(plain cwd) $(plain stdout)" "$PWD/d $PWD/d"
}

@test "C: BORIS_WORKDIR sets the directory in which commands start" {
	mkdir d
	BORIS_WORKDIR=$PWD/d boris
	runs_in "$PWD/d"
}

@test "C: --workdir resolves . and .. in its argument" {
	mkdir -p d/e
	for given in . d/.. ./d/e/../../ "$PWD/d/../."; do
		boris --workdir="$given"
		runs_in "$PWD"
		run_bash 'pwd' '{"cwd":".."}'
		is "$(plain stdout)" "${PWD%/*}"
		stop_server
	done
}

@test "C2: --workdir resolves .. after a symbolic link the way cd does" {
	mkdir -p real/sub real/other here
	ln -s real/sub link
	rejects_options --workdir=link/../other
	boris --workdir=link/../here
	runs_in "$PWD/here"
}

# run_in_removed_dir ARGS...: Runs boris in a directory that has been removed.
# Prints its exit status and what it prints on stderr.
run_in_removed_dir() {
	local code=0 errors
	mkdir removed
	# shellcheck disable=SC2086
	errors=$(cd removed && rmdir ../removed && PWD=$OLDPWD &&
		TMPDIR=/tmp $WRAP "$BORIS" "$@" 2>&1 >/dev/null </dev/null) || code=$?
	echo "$code $errors"
}

@test "C2: boris rejects relative paths in options if its current directory has been removed" {
	for args in '' '--workdir=d' "--workdir=$PWD --log=x.log" \
	            "--workdir=$PWD --transport=http --token-file=t" \
	            "--workdir=$PWD --write=." "--workdir=$PWD --hide=x"; do
		# shellcheck disable=SC2086
		run_in_removed_dir $args >errors
		error='boris: --* cannot determine the current directory: *'
		like "$args: $(<errors)" "$args: 2 $error"
		is "$(wc -l <errors | tr -d ' ')" 1
	done
	[ ! -e /x.log ]
}

@test "C2: boris accepts absolute paths in options if its current directory has been removed" {
	is "$(run_in_removed_dir --workdir="$PWD" --log="$PWD/x.log")" '0 '
}

@test "C2: --version works even if the current directory has been removed" {
	is "$(run_in_removed_dir --version)" '0 '
}

# --- Limits and other options

@test "C: BORIS_TIMEOUT sets the default timeout for commands" {
	BORIS_TIMEOUT=1 boris
	start_timer
	run_bash 'read <gate'
	is "$(result status)" '"timed_out"'
	has "$(text)" 'Command timed out after 1000ms'
	least "$(elapsed)" 950
}

@test "C: --timeout accepts integers from 1 to 600" {
	accepts_options --timeout=1
	accepts_options --timeout=600
	for value in 0 601 -1 1.5 ten 10s '' 99999999999999999999; do
		rejects_options --timeout=$value
	done
}

@test "C: every limit except --timeout accepts 0" {
	accepts_options --bg-timeout=0 --save-limit=0 --call-limit=0 --result-limit=0
}

@test "C: every limit that accepts 0 also accepts a positive integer" {
	accepts_options --bg-timeout=86400 --save-limit=100 --call-limit=1 --result-limit=2000
}

@test "C: every limit that accepts 0 rejects negative numbers and words" {
	for option in bg-timeout save-limit call-limit result-limit; do
		rejects_options --$option=-1
		rejects_options --$option=x
	done
}

@test "C: --result-limit rejects values from 1 to 1999" {
	rejects_options --result-limit=1999
	has "$(<err)" '--result-limit=1999: must be 0 or an integer from 2000 to 1000000000'
	BORIS_RESULT_LIMIT=1 rejects_options
}

@test "C: BORIS_BG_TIMEOUT sets the time limit of background tasks" {
	BORIS_BG_TIMEOUT=1 boris
	start_task 'read <gate'
	read_task "$task" '{"wait":20000}'
	is "$(result status)" '"timed_out"'
}

@test "C: with BORIS_SAVE_LIMIT=0, boris does not save output to files" {
	BORIS_SAVE_LIMIT=0 boris
	run_bash 'head -c 40000 /dev/zero | tr "\0" a'
	is "$(result stdout_chars) $(result stdout_file)" '40000 '
}

@test "C: --no-bash disables the bash and task_output tools" {
	boris --no-bash
	ask tools/list
	is "$(get result tools)" '[]'
	for tool in bash task_output; do
		run_tool $tool '{"command":"touch ran"}'
		is "$(code)" -32602
	done
	[ ! -e ran ]
}

@test "C: BORIS_NO_BASH=1 disables the bash and task_output tools" {
	BORIS_NO_BASH=1 boris
	ask tools/list
	is "$(get result tools)" '[]'
}

# --- C1, C2, C5: options and their values

@test "C1: an option and its value can be two separate arguments" {
	mkdir d
	boris --workdir d --timeout 1
	run_bash 'pwd; read <../gate'
	is "$(plain stdout)" "$PWD/d"
	is "$(result status)" '"timed_out"'
}

@test "C1: an option overrides its environment variable" {
	mkdir d e
	export BORIS_WORKDIR=$PWD/d BORIS_STRUCTURED=off
	boris --workdir="$PWD/e" --structured=on
	run_bash pwd
	is "$(plain stdout)" "$PWD/e"
}

# rejects_with OPTION MESSAGE: Fails if boris does not reject OPTION with MESSAGE.
rejects_with() {
	rejects_options "$1"
	has "$(cat err)" "boris: $2"
}

@test "C2: an unknown option is rejected" {
	rejects_with --nonsense '--nonsense: unknown option; see boris --help'
	rejects_with --nonsense=5 '--nonsense=5: unknown option'
	rejects_with -x '-x: unknown option'
}

@test "C2: an operand is rejected" {
	rejects_with /tmp '/tmp: unexpected argument'
}

@test "C2: an option without its required value is rejected" {
	rejects_with --timeout '--timeout: value missing; must be an integer from 1 to 600'
}

@test "C2: an option that takes no value is rejected if one is given" {
	rejects_with --no-bash=yes '--no-bash=yes: this option takes no value'
}

@test "C2: the error about an invalid value lists the valid values" {
	rejects_with --timeout=987 '--timeout=987: must be an integer from 1 to 600'
	rejects_with --on-timeout=explode '--on-timeout=explode: must be kill or background'
	rejects_with --truncate=middle '--truncate=middle: must be head, tail or both'
	rejects_with --structured=maybe '--structured=maybe: must be auto, on or off'
}

@test "C2: --workdir rejects a directory that does not exist" {
	rejects_with --workdir=/no/such/place \
		'--workdir=/no/such/place: cannot change to directory: No such file'
	rejects_with --workdir= '--workdir=: must be the name of a directory'
}

@test "C2: --workdir rejects a path that is not a directory" {
	touch file
	rejects_with --workdir=file \
		'--workdir=file: cannot change to directory: Not a directory'
}

@test "C2: --hide rejects a path that does not exist" {
	rejects_with --hide=/no/such/place \
		'--hide=/no/such/place: No such file'
}

@test "C2: the error about an invalid environment variable names the variable" {
	BORIS_TIMEOUT=987 rejects_options
	has "$(cat err)" 'BORIS_TIMEOUT=987: must be an integer'
	BORIS_WORKDIR=/no/such/place rejects_options
	has "$(cat err)" /no/such/place
	BORIS_TRUNCATE=middle rejects_options
	has "$(cat err)" middle
}

@test "C2: an error is printed on one line even if it quotes a newline" {
	rejects_options --timeout=$'1\n2'
	rejects_options $'--non\nsense'
}

@test "C5: an option that applies only to HTTP is rejected without --transport=http" {
	for option in --port=99 --listen=127.0.0.1 --token=x --token-file=/dev/null \
	              --generate-token --allow-anyone --allow-origin=https://a.b \
	              --session-timeout=9; do
		rejects_options "$option"
		has "$(<err)" "${option%%=*}"
		has "$(<err)" --transport=http
	done
}

@test "C5: an environment variable that applies only to HTTP is ignored over stdio" {
	BORIS_PORT=99 filter </dev/null
	is "$status" 0
}

# --- C3: descriptors and signals at start

@test "C3: boris rejects an invalid option without blocking if stderr is a full pipe" {
	needs dd
	mkfifo full
	exec 5<>full
	dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>dd.err || :
	status=0
	timeout -k 1 $((20 * SLOW)) $WRAP "$BORIS" --timeout=0 \
		</dev/null >out 2>full 3>&- 5>&- 6>&- 9>&- || status=$?
	is $status 2
}

@test "C3: boris is not killed by SIGPIPE if stderr is a pipe without a reader" {
	mkfifo pipe
	exec 5<>pipe 4>pipe 5>&-
	status=0
	$WRAP "$BORIS" --timeout=0 </dev/null >out 2>&4 3>&- 6>&- 9>&- || status=$?
	is $status 2
}

@test "C3: boris runs commands even if its stderr is closed" {
	wrap=(sh -c 'exec "$0" "$@" 2>&-')
	boris
	run_bash 'echo out; echo err >&2'
	is "$(result stdout)" '"out\n"'
	is "$(result stderr)" '"err\n"'
}

@test "C3: boris saves long output to a file even if its stderr is closed" {
	wrap=(sh -c 'exec "$0" "$@" 2>&-')
	boris
	run_bash 'head -c 40000 /dev/zero | tr "\0" a'
	is "$(wc -c <"$(plain stdout_file)" | tr -d ' ')" 40000
}

@test "C3: boris exits with status 0 if it is started with stdin closed" {
	wrap=(sh -c 'exec "$0" "$@" <&-')
	filter >out
	is "$status $(cat out)" '0 '
}

@test "C3: boris exits if it is started with stdin, stdout and stderr closed" {
	wrap=(sh -c 'exec "$0" "$@" <&- >&- 2>&-')
	filter
	most $status 2
}

@test "C3: boris exits at EOF on stdin even if its stdout is closed" {
	wrap=(sh -c 'exec "$0" "$@" >&-')
	{
		echo "$HELLO"
		bash_request 1 'echo hi'
	} >in
	filter <in
	most $status 2
}

# with_signals OPTION: Makes the server start under `env OPTION`.
with_signals() {
	wrap=(env "$@")
	"${wrap[@]}" true || skip "this env has no ${1%%=*}"
}

@test "C3: boris works even if it is started with SIGCHLD ignored or all signals blocked" {
	for how in --ignore-signal=CHLD --block-signal; do
		with_signals $how
		boris
		run_bash 'exit 3'
		is "$(result exit_code)" 3
		start_task 'exit 4'
		read_task "$task" '{"wait":10000}'
		is "$(result exit_code)" 4
		run_bash 'read <gate' '{"timeout":100}'
		is "$(result exit_code)" 143
		kill -TERM "$server"
		await_exit
	done
}

@test "C3: SIGTERM and SIGINT terminate boris even if they were ignored when it started" {
	with_signals --ignore-signal=TERM,INT,HUP
	for signal in TERM INT; do
		boris
		kill -$signal "$server"
		await_exit
	done
}

@test "C3: SIGHUP does not terminate boris if the signal was ignored when boris started" {
	with_signals --ignore-signal=HUP
	boris
	kill -HUP "$server"
	run_bash 'kill -HUP $$'
	is "$(result signal)" '"SIGHUP"'
	kill -HUP "$server"
	sync_server
}

@test "C3: every command starts with no signals ignored or blocked" {
	needs_linux
	signals=HUP,INT,QUIT,PIPE,ALRM,TERM,USR1,USR2,CHLD,TSTP,TTIN,TTOU
	with_signals --ignore-signal=$signals --block-signal
	boris
	# The shell itself ignores SIGQUIT, so check a program that the shell starts.
	run_bash 'grep -E "^Sig(Ign|Blk)" /proc/self/status | cut -f 2'
	is "$(plain stdout)" $'0000000000000000\n0000000000000000'
}

# --- C4: a terminal

@test "C4: boris prints nothing on stderr if stdin is not a terminal" {
	filter </dev/null >out
	is $status 0
	is "$(cat out err)" ''
}

# boris_on_terminal: Runs boris on a terminal until the end of the caller's stdin.
# Writes its stdout and stderr to the files out and err.
boris_on_terminal() {
	needs script
	[ -z "$WRAP" ] || skip "under $WRAP"
	export BORIS
	TEST_MARK="$PWD:" timeout $((20 * SLOW)) \
		script -qec '"$BORIS" 2>err >out' /dev/null >tty 3>&- 6>&- 9>&-
}

@test "C4: boris suggests --help if it is started from a terminal" {
	boris_on_terminal <<<"$HELLO"
	has "$(cat err)" boris
	has "$(cat err)" --help
}

@test "C4: boris serves requests that a user types on the terminal" {
	boris_on_terminal <<<"$HELLO"
	is "$(wc -l <out | tr -d ' ')" 1
	reply=$(cat out)
	is "$(get result protocolVersion)" '"2025-11-25"'
}
