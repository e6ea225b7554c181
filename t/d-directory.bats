#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# D: the working directory
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2088,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# ends_in DIRECTORY: Fails if the last command did not end in DIRECTORY, or if
# the next one does not start there.
ends_in() {
	is "$(plain cwd)" "$1"
	run_bash pwd
	is "$(plain stdout)" "$1"
}

# all_as_in_a_shell COMMAND...: Fails if one of the commands behaves otherwise
# than in the shell itself.
all_as_in_a_shell() {
	local command
	for command; do
		matches_shell "$command" || fail "for: $command" || return
	done
}

# in_other_shells FUNCTION: Runs FUNCTION with a server whose shell is dash, and
# again with busybox ash. The working directory is /home, which contains a
# directory d.
in_other_shells() {
	for shell in dash busybox; do
		without_bash $shell
		boris --workdir=/home
		$1
		stop_server
		rm -rf root
	done
}

@test "D1: a command starts in the directory in which the previous one ended" {
	mkdir -p d/e
	boris
	run_bash 'cd d'
	ends_in "$PWD/d"
	run_bash 'cd e && echo hi'
	ends_in "$PWD/d/e"
	run_bash 'cd ../..'
	ends_in "$PWD"
	run_bash 'cd /'
	ends_in /
}

@test "D1: the working directory is updated even if a command fails or exits early" {
	mkdir d
	boris
	while read -r code command; do
		run_bash "$command"
		is "$command: $(result exit_code)" "$command: $code"
		ends_in "$PWD/d"
		run_bash "cd '$PWD'"
	done <<-'END'
	1 cd d; false
	3 cd d; exit 3; cd /
	1 set -e; cd d; false; cd /
	0 f() { pushd d >/dev/null; exit 0; }; f
	END
}

@test "D1: a cd in a subshell does not change the working directory" {
	mkdir d
	boris
	run_bash '(cd d); cd d | cat; $(cd d)'
	ends_in "$PWD"
}

@test "D1: cd - does not use an OLDPWD inherited by boris" {
	OLDPWD=/ boris
	run_bash 'cd - 2>/dev/null'
	isnt "$(result exit_code)" 0
	ends_in "$PWD"
}

@test "D2: the shell reports its working directory without adding anything to the output" {
	boris
	run_bash 'printf foo'
	is "$(result stdout) $(result stderr)" '"foo" ""'
	run_bash 'printf "\n\n"; cd /'
	is "$(result stdout) $(result stderr)" '"\n\n" ""'
}

@test "D2: if the shell cannot report its directory, the working directory does not change" {
	mkdir d
	boris
	for command in 'cd d; exec echo hi' 'cd d; kill -KILL $$' \
		'trap "echo bye" EXIT; cd d' 'trap - EXIT; cd d'; do
		run_bash "$command"
		ends_in "$PWD"
	done
}

@test "D2: a syntax error on the first line does not change the working directory" {
	mkdir d
	boris
	run_bash 'cd d; )'
	ends_in "$PWD"
}

@test "D2: a cd before a line with a syntax error changes the working directory" {
	mkdir d
	boris
	run_bash $'cd d\n)'
	ends_in "$PWD/d"
}

# not_updated COMMAND [PATTERN]: Fails if the directory of the session is not
# $PWD after COMMAND, or if no note says so and gives a reason that matches
# PATTERN.
not_updated() {
	local reason='the working directory was not updated, because'
	run_bash "$1"
	like "$1: $(plain note)" "$1: *$reason ${2-}*" || return
	has "$(text)" "cwd: $PWD\\n" || return
	ends_in "$PWD"
}

@test "D2: if a command's own EXIT trap prevents the update of the working directory, a note says so" {
	mkdir d
	boris
	own='the command sets its own EXIT trap; use cd*'
	not_updated 'cd d; t=$(mktemp); trap "rm $t" EXIT' "$own"
	not_updated 'cd d; f() { trap "echo bye" EXIT; }; f' "$own"
	not_updated 'trap - EXIT; cd d' "$own"
	not_updated 'cd d; trap "" 0; exit 3' "$own"
	not_updated $'cd d; trap \'\necho bye\n\' EXIT' "$own"
}

@test "D2: if a sourced file sets an EXIT trap, a note says that the working directory was not updated" {
	mkdir d
	echo 'trap "echo bye" EXIT' >traps
	boris
	not_updated '. ./traps; cd d' 'the shell did not report it; use cd*'
}

@test "D2: if exec replaces the shell, a note says that the working directory was not updated" {
	needs_linux_parts
	mkdir d
	boris
	not_updated 'cd d; exec true' 'another program replaced the shell*'
	not_updated 'trap "" INT; cd d; exec cat </dev/null' \
		'another program replaced the shell*'
	not_updated 'cd d; exec bash -c true'
}

@test "D2: a note says that exec replaced the shell even if another bash has reported a syntax error" {
	needs_linux_parts
	mkdir d
	boris
	for command in 'exec true' 'exec sh -c "exit 2"'; do
		not_updated "cd d; /bin/bash -c 'if'; $command" \
			'another program replaced the shell*'
	done
}

@test "D2: if the shell cannot report its directory, a note says so" {
	mkdir d
	boris
	for command in 'cd d; exec 250>&-' 'cd d; builtin() { :; }; true' \
		'cd d; enable -n pwd' \
		'set -o posix; mkdir e; cd e; rmdir ../e'; do
		not_updated "$command" 'the shell did not report it*'
	done
}

# without_note COMMAND...: Fails if the result of one of the commands has a note
# that the directory was not updated.
without_note() {
	local command
	for command; do
		run_bash "$command"
		lacks "$command: $reply" 'not updated' || return
		run_bash "cd '$PWD'"
	done
}

@test "D2: if the shell reports its directory, no note about the working directory is produced" {
	mkdir d
	boris
	without_note 'cd d; (trap "echo bye" EXIT; exit 3)' \
		'set -e; cd d; false' \
		'cd d; trap "echo bye" INT; trap -p EXIT' \
		'cd d; ulimit -n 6' \
		'cd d; POSIXLY_CORRECT=1' \
		'cd d; readonly PWD OLDPWD
			pwd() { :; }; trap() { :; }; trap x EXIT'
}

@test "D2: a syntax error does not produce a note about the working directory" {
	mkdir d
	boris
	without_note 'cd d; )' 'cd d; echo "abc'
}

@test "D2: killing the shell does not produce a note about the working directory" {
	boris
	without_note 'kill -KILL $$'
}

@test "D2: a timeout does not produce a note about the working directory" {
	mkdir d
	boris
	run_bash 'cd d; read <../gate' '{"timeout":200}'
	lacks "$reply" 'not updated'
}

@test "D2: a background task produces no note about the working directory" {
	mkdir d
	boris
	start_task 'trap "echo bye" EXIT; cd d'
	read_task "$task" '{"wait":10000}'
	lacks "$reply" 'not updated'
}

notes_trap() {
	PWD=/home not_updated 'cd d; trap "echo bye" EXIT' \
		'the command sets its own EXIT trap*'
}

@test "D2: in dash and busybox ash, a note says that an EXIT trap prevented the directory's update" {
	in_other_shells notes_trap
}

notes_no_syntax_error() {
	run_bash 'cd d; )'
	lacks "$reply" 'not updated'
	has "$(plain stderr)" 'yntax error'
	run_bash 'cd d; echo "abc'
	lacks "$reply" 'not updated'
}

@test "D2: in dash and busybox ash, a syntax error produces no note about the working directory" {
	in_other_shells notes_no_syntax_error
}

tracks_after_failure() {
	run_bash 'nosuch; cd d'
	PWD=/home/d ends_in /home/d
}

@test "D2: in dash and busybox ash, the working directory is updated after a command that is not found" {
	in_other_shells tracks_after_failure
}

@test "D2: functions and aliases defined in BASH_ENV do not affect tracking of the working directory" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	mkdir d
	cat >env <<-'END'
	pwd() { echo function; }
	cd() { builtin cd "$@" && builtin echo entered; }
	readonly -f pwd
	shopt -s expand_aliases
	alias builtin="echo alias" pwd="echo alias" trap="echo alias"
	END
	wrap=(env BASH_ENV="$PWD/env")
	boris
	run_bash 'cd d'
	is "$(result stdout) $(result stderr)" '"entered\n" ""'
	is "$(result note)" ''
	is "$(plain cwd)" "$PWD/d"
}

@test "D2: exported shell functions do not affect tracking of the working directory" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	mkdir d
	wrap=(env 'BASH_FUNC_trap%%=() { echo function "$@"; }'
		'BASH_FUNC_printf%%=() { echo function "$@"; }')
	boris
	run_bash 'cd d; false | cat'
	is "$(result stdout) $(result stderr)" '"" ""'
	has "$(result note)" '1 0'
	ends_in "$PWD/d"
}

@test "D2: the working directory is updated even after the limit on open files is lowered" {
	needs prlimit
	needs_linux
	[ -z "$WRAP" ] || skip "under $WRAP"
	mkdir d
	boris
	run_bash true
	prlimit --pid "$server" --nofile=64:64
	run_bash 'cd d'
	is "$(result stderr) $(result note)" '"" '
	ends_in "$PWD/d"
}

@test "D2: the working directory is updated even with a limit of 40 open files" {
	mkdir d
	wrap=(sh -c 'ulimit -n 40; exec "$@"' sh)
	boris
	run_bash 'cd d'
	is "$(result stderr)" '""'
	ends_in "$PWD/d"
}

@test "D2: a command that times out does not change the working directory" {
	mkdir d
	boris
	for command in 'cd d; read <../gate' \
		'trap "exit 0" TERM; cd d; read <../gate'; do
		run_bash "$command" '{"timeout":200}'
		is "$(result status) $(result stdout)" '"timed_out" ""'
		ends_in "$PWD"
	done
}

@test "D2: in bash, a command can redirect or close all of descriptors 3 to 9" {
	mkdir d
	boris
	run_bash 'exec 3>l 4>l 5<gate 6>&1 7>l 8>&- 9>l; cd d; echo hi'
	is "$(result stdout) $(wc -c <l | tr -d ' ')" '"hi\n" 0'
	ends_in "$PWD/d"
}

@test "D2: in dash, a command can redirect all but one of descriptors 3 to 9" {
	without_bash dash
	boris --workdir=/home
	for free in 3 6 9; do
		exec=$(printf 'exec %s>l; ' 3 4 5 6 7 8 9)
		run_bash "cd /home; ${exec/exec $free>l; }cd d; echo hi"
		is "$free $(result stdout)" "$free \"hi\\n\""
		is "$(wc -c <root/home/l | tr -d ' ')" 0
		ends_in /home/d
	done
}

@test "D2: the working directory is updated even if the command leaves a process running" {
	mkdir d
	boris
	for command in 'yes & cd d' 'sleep 600 & cd d' \
		'head -c 300000 /dev/urandom & head -c 300000 /dev/urandom
			cd d; wait'; do
		start_timer
		run_bash "$command"
		within 3000
		ends_in "$PWD/d"
		run_bash 'cd ..'
	done
}

@test "D2: output that a child prints after the shell has exited is not lost" {
	boris
	call_bash 'trap "exit 0" TERM
		echo $$ >leader
		(trap "" TERM; echo x >child; read <gate; echo late) &
		while :; do read -t 1 <>never; done' \
		"{\"timeout\":$((1000 * SLOW))}"
	await_file leader child
	eventually is_gone leader
	release
	answer
	is "$(result status) $(result stdout)" '"timed_out" "late\n"'
}

@test "D3: the result contains the command's exit code" {
	boris
	while read -r code command; do
		run_bash "$command"
		is "$command: $(result exit_code)" "$command: $code"
	done <<-'END'
	1 false
	42 (exit 42)
	1 false; exit
	0 true; false | true
	END
}

@test "D3: a command can end with a comment" {
	boris
	all_as_in_a_shell 'echo hi # and nothing else' '# nothing' \
		$'echo hi\n# the end'
}

@test "D3: a command can end with a here-document" {
	boris
	all_as_in_a_shell $'cat <<X\nhi\nX' $'cat <<X\nhi\nX\n' $'cat <<X\nhi' \
		$'cat <<\'X\' >file; cat file\n$hi `there`\nX'
}

@test "D3: a command can end with & or a backslash" {
	boris
	all_as_in_a_shell 'true &' 'echo hi; true & ' $'true &\n' \
		'echo hi \' 'echo hi\' 'echo hi \\'
}

@test "D3: a command can contain several lines, including blank ones" {
	boris
	all_as_in_a_shell $'\n\necho one\n\n  echo two\n\n' \
		$'if true\nthen echo yes\nfi' $'echo one; \n'
}

@test "D3: quotes and substitutions in a command work as they do without boris" {
	boris
	all_as_in_a_shell \
		'echo "it'"'"'s" '"'"'$HOME'"'"' "\\" \$x `echo y` $(echo "z  z")'
}

@test "D3: special shell parameters have their usual values" {
	boris
	all_as_in_a_shell 'echo "$#" "$*" "$?" "$!"'
}

@test "D3: return, break and a failing exec behave as they do under bash -c" {
	boris
	all_as_in_a_shell 'echo hi; return 3' \
		'for i in 1 2; do break; done; echo $i' \
		'exec no-such-program-at-all'
}

@test "D3: a syntax error on a later line is reported the way bash -c reports it" {
	boris
	all_as_in_a_shell $'echo one\nif ;' $'echo one\necho "two'
}

# Wrong commands. Some have their mistake on the first line, others on a later
# line, because messages contain line numbers.
wrong=(nosuch $'\nnosuch' $'echo one\nnosuch\necho two' ')' 'echo hi )' $'echo hi\n)'
	'fi' '}' 'done' '| cat' 'while true' '(' 'echo hi |' 'echo hi &&' ') ; echo out; ('
	$'echo one\necho two; fi' '; echo hi' ';; echo hi' '&& echo hi' 'if' 'if true; fi'
	$'if true; then\nfoo )\nfi' 'echo "abc' "echo 'abc" $'echo one\necho "two'
	'echo $(echo' 'for x in; echo; done' 'case x in' 'f() {' '} ; echo out; {'
	'cd /nosuch' $'true\ncd /nosuch' 'cat <nosuch' $'\n\ncat <nosuch' 'echo >/nosuch/file'
	'set -u; echo $nope' $'set -u\n\necho $nope' 'echo $((1/0))' $'echo\necho $((1/0))'
	'readonly x=1; x=2' $'echo $LINENO\necho $LINENO' 'echo $LINENO; nosuch; echo $LINENO'
	'echo "${x?gone}"' $'echo 1\necho "${x?gone}"' 'set -x; nosuch; echo hi'
	$'set -x\nnosuch\ncd /\n' 'set -e; nosuch; echo hi' 'exec nosuch' 'return 3'
	'. /nosuch' 'unset -f; shift 99' 'kill -9 $$' 'exit 300' '/proc/version' '/' '""' '#' ':()'
	$'cat <<X\nhi' $'f() {\nnosuch\n}\nf' 'test 1 -eq x' 'break' 'continue 2')

@test "D3: error messages from bash keep their usual text and line numbers" {
	boris
	for command in "${wrong[@]}"; do
		matches_shell "$command" || fail "for: $command" || return
		lacks "$reply" 'trap '
		run_bash 'cd "$OLDPWD" 2>/dev/null; cd '"$PWD"
	done
}

wrong_as_in_a_shell() {
	all_as_in_a_shell "${wrong[@]}"
}

@test "D3: error messages from dash and busybox ash keep their usual text and line numbers" {
	in_other_shells wrong_as_in_a_shell
}

@test "D3: line numbers are correct in a 200,000-byte command" {
	boris
	long=$(head -c 200000 /dev/zero | tr '\0' '#')
	run_bash $'echo $LINENO\necho $LINENO\n'"$long"
	is "$(result stdout)" '"1\n2\n"'
}

@test "D3: a command that begins with - or + is not mistaken for an option" {
	boris
	run_bash '-nosuch'
	is "$(plain stderr)" '/bin/bash: line 1: -nosuch: command not found'
	run_bash '+x'
	is "$(result exit_code)" 127
}

@test "D3: a task command that begins with - or + is not mistaken for an option" {
	boris
	for command in -nosuch +x; do
		start_task "$command"
		read_task "$task" '{"wait":10000}'
		is "$(result exit_code)" 127
		has "$(plain stderr)" "$command: command not found"
	done
}

@test "D3: a function or alias named pwd does not affect tracking of the working directory" {
	mkdir d
	boris
	for command in 'pwd() { echo /; }; cd d' \
		$'shopt -s expand_aliases\nalias pwd="echo /"\ncd d'; do
		run_bash "$command"
		is "$(result stdout) $(result stderr)" '"" ""'
		is "$(result exit_code)" 0
		ends_in "$PWD/d"
		run_bash 'cd ..'
	done
}

@test "D3: in dash, a function or alias named pwd does not affect tracking of the working directory" {
	without_bash dash
	boris --workdir=/home
	for command in $'alias pwd="echo /"\ncd d' 'pwd() { echo /; }; cd d'; do
		run_bash "$command"
		is "$(result stdout) $(result stderr)" '"" ""'
		ends_in /home/d
		run_bash 'cd ..'
	done
}

# traps_as_in_a_shell [DIRECTORY]: Fails if a command that traps signals or sets
# IFS ends otherwise than in the shell itself. DIRECTORY (default: /home) is the
# working directory.
traps_as_in_a_shell() {
	local command
	for command in 'trap "exit 5" TERM; kill $$; echo not here' \
		'set -e; trap "exit 5" USR1; kill -USR1 $$; read x <gate' \
		'IFS=0; exit 10' 'IFS=1; sh -c "exit 121"'; do
		matches_shell "$command" || fail "for: $command" || return
		run_bash 'cd ..; cd '"${1-/home}"
	done
}

@test "D3: a command that sets traps or IFS exits as it does under bash -c" {
	boris
	traps_as_in_a_shell "$PWD"
}

@test "D3: in dash and busybox ash, a command that sets traps or IFS exits as it does without boris" {
	in_other_shells traps_as_in_a_shell
}

@test "D3: a command that removes its own working directory exits as it does under bash -c" {
	boris
	matches_shell 'set -e -o posix; mkdir y; cd y; rmdir ../y; true'
}

@test "D3: a syntax error near a long word is reported the way bash -c reports it" {
	boris
	matches_shell "(:) $(head -c 5000 /dev/zero | tr '\0' a)"
	matches_shell "(:) $(head -c 12000 /dev/zero | tr '\0' a)"
}

@test "D3: a syntax error near a very long word does not reveal boris's internals" {
	boris
	run_bash "(:) $(head -c 100000 /dev/zero | tr '\0' a)"
	is "$(grep -c __boris "$(plain stderr_file)")" 0
}

@test "D3: a syntax error message printed by a shell that the command starts is left unchanged" {
	boris
	run_bash '/bin/bash -c ")"; printf t >&2'
	like "$(plain stderr)" '/bin/bash: -c: *t'
}

@test "D3: on a terminal, a syntax error message quotes the command without the code that boris adds" {
	boris
	run_bash 'echo one | )' '{"tty":true,"wait":60000}'
	has "$(plain stdout)" '`echo one | )'
	lacks "$(plain stdout)" trap
}

@test "D3: shell options such as set -x have their usual effect" {
	boris
	all_as_in_a_shell $'set -x\necho hi' 'set -x; true; false' \
		'set -u; echo hi' $'set -u; echo $nope\necho more' \
		'set -e; echo hi; false; echo no' \
		'set -f -C -o pipefail; false | true' 'set -o posix; echo hi'
}

@test "D3: an ERR trap runs as it does under bash -c" {
	boris
	all_as_in_a_shell 'trap "echo err" ERR; false; true' \
		'set -E; trap "echo err" ERR; exec >&-; true'
}

@test "D3: the working directory is still tracked after set -x, set -v and set -euf" {
	boris
	run_bash 'set -x; cd /'
	is "$(result stderr)" '"+ cd /\n"'
	ends_in /
	run_bash 'set -eufC -o pipefail; cd /tmp'
	is "$(result stderr) $(result exit_code)" '"" 0'
	ends_in /tmp
	run_bash $'set -v\ncd /\necho hi'
	is "$(result stdout) $(result exit_code)" '"hi\n" 0'
	ends_in /
}

@test "D3: the working directory is still tracked after exec redirects the shell's output" {
	boris
	run_bash 'exec >file 2>&1; echo hi; cd /; echo err >&2'
	is "$(result stdout) $(result stderr)" '"" ""'
	is "$(cat file)" $'hi\nerr'
	ends_in /
}

@test "D3: the working directory is still tracked after exec closes stdout and stderr" {
	boris
	run_bash 'exec >&- 2>&-; cd /'
	is "$(result stdout) $(result stderr) $(result exit_code)" '"" "" 0'
	ends_in /
}

@test "D3: exec 2>&1 and exec >&2 have their usual effect" {
	boris
	all_as_in_a_shell 'exec 2>&1; echo out; echo err >&2' \
		'exec >&2; echo out; echo err >&2'
}

@test "D3: the command's own EXIT trap runs as it does under bash -c" {
	boris
	all_as_in_a_shell 'trap "echo bye" EXIT; echo hi' \
		'trap "echo bye \$?" EXIT; exit 3' \
		'trap "echo bye" 0; (exit 4)' \
		'set -x; trap "echo bye" EXIT; exit 3'
}

@test "D3: the working directory is still tracked even if PATH, PWD or IFS is unset or changed" {
	mkdir d 'a b'
	boris
	for command in 'PATH=/nowhere; cd d' 'unset PATH; cd d' \
		'cd d; PWD=/tmp' 'unset PWD; cd d; PWD=' \
		'IFS=/; cd d; OLDPWD=; set -- x y'; do
		run_bash "$command"
		is "$command: $(result stdout) $(result stderr)" "$command: \"\" \"\""
		is "$(result exit_code)" 0
		ends_in "$PWD/d"
		run_bash 'cd ..'
	done
}

@test "B2, D3: on a host without bash, commands run in sh" {
	without_bash
	boris --workdir=/home
	run_bash 'echo "[$BASH_VERSION]"; pwd'
	is "$(result stdout)" '"[]\n/home\n"'
}

@test "B2, D3: on a host without bash, commands behave as they do under sh -c" {
	without_bash
	boris --workdir=/home
	all_as_in_a_shell 'echo hi # comment' $'cat <<X\nhi\nX' 'true &' \
		'echo hi \' 'if' 'echo "abc' ')' $'echo one\nif ;' \
		'set -x; echo hi' 'set -u; echo hi' \
		'trap "echo bye" EXIT; exit 3' 'printf foo' \
		'exec 2>&1; echo err >&2' '(exit 42)'
}

@test "B2, D3: on a host without bash, the working directory is updated" {
	without_bash
	boris --workdir=/home
	run_bash 'cd d; exit 3'
	is "$(result exit_code)" 3
	ends_in /home/d
	run_bash 'exec 9>lock 8>lock 7>lock; cd ..; echo hi'
	is "$(result stdout)" '"hi\n"'
	ends_in /home
	run_bash 'exec >file; PATH=/nowhere; cd d'
	is "$(result stderr)" '""'
	ends_in /home/d
	run_bash 'set -e; cd ..; false'
	ends_in /home
}

@test "B2, D3: on a host without bash, the working directory is not updated after exec" {
	without_bash
	boris --workdir=/home
	run_bash 'cd d; exec cat'
	ends_in /home
}

# tracks_name NAME: Fails if a directory with this name cannot be entered, or is
# not the directory of the next command.
tracks_name() {
	rm -rf it
	mkdir it
	(cd it && mkdir -- "$1")
	run_bash 'cd it; cd ./*/'
	is "$(result stderr) $(result exit_code)" '"" 0'
	run_bash 'echo . >here'
	[ -e "it/$1/here" ] || fail "not in: $1"
	run_bash 'cd ../..'
	ends_in "$PWD"
}

@test "D4: the name of the working directory can contain spaces, quotes and newlines" {
	boris
	for name in 'a b' ' ' "it's \"here\"" '$(touch x)`y`' 'back\slash' \
		'*' '%s%n' 'trailing\' \
		$'a\nb' $'\n' $'a\n' $'a\n\n' $'\n\na'; do
		tracks_name "$name"
	done
}

@test "D4: the name of the working directory can begin with a dash" {
	boris
	for name in - -P --help; do
		tracks_name "$name"
	done
}

@test "D4: the name of the working directory can contain bytes that are not valid UTF-8" {
	boris
	for name in $'\xff' $'a\xc3'; do
		tracks_name "$name"
	done
	run_bash 'cd it; cd ./*/'
	is "$(plain cwd)" "$PWD/it/"$'a\xef\xbf\xbd'
}

@test "D4: the name of a directory above the working directory can end with a newline" {
	boris
	mkdir -p it/$'a\n/b'
	run_bash "cd '$PWD/it/a"$'\n\'/b'
	ends_in "$PWD/it/"$'a\n/b'
}

@test "D4: the path of the working directory can be 2,000 bytes long" {
	boris
	name=$(head -c 200 /dev/zero | tr '\0' x)
	run_bash "for i in {1..10}; do mkdir $name; cd $name; done"
	is "$(result exit_code)" 0
	is "$(plain cwd | wc -c | tr -d ' ')" $((${#PWD} + 2010))
	run_bash 'echo . >here'
	is "$(result exit_code)" 0
}

# enter_removed_directory: Starts a server with --workdir=w, whose session is in
# the directory d, and removes d.
enter_removed_directory() {
	mkdir w d
	boris --workdir=w
	run_bash "cd '$PWD/d'"
	rmdir d
}

@test "D5: the error about a removed working directory names that directory and the --workdir directory" {
	enter_removed_directory
	run_bash 'touch ran'
	is_tool_error "*$PWD/d*"
	has "$(get -s result content 0 text)" "$PWD/w"
	[ ! -e w/ran ]
}

@test "D5: starting a task fails with an error if the working directory has been removed" {
	enter_removed_directory
	run_bash 'touch ran' '{"run_in_background":true}'
	is_tool_error "*$PWD/d*"
	has "$(get -s result content 0 text)" "$PWD/w"
	[ ! -e w/ran ]
}

@test "D5: after the error about a removed directory, commands start in the --workdir directory" {
	enter_removed_directory
	run_bash true
	is_tool_error "*$PWD/d*"
	run_bash pwd
	is "$(plain stdout)" "$PWD/w"
}

@test "D5: commands start in / if both the working directory and the --workdir directory have been removed" {
	mkdir -p w/d
	boris --workdir=w
	run_bash 'cd d'
	rm -r w
	run_bash 'touch ran'
	is_tool_error "*$PWD/w/d*"
	run_bash pwd
	is "$(plain stdout)" /
}

@test "D5: an absolute cwd works even if the working directory has been removed" {
	mkdir e
	enter_removed_directory
	run_bash pwd '{"cwd":"'"$PWD/e"'"}'
	is "$(plain stdout)" "$PWD/e"
}

@test "D5: a relative cwd is rejected if the working directory has been removed" {
	enter_removed_directory
	run_bash 'touch ran' '{"cwd":"f"}'
	is_tool_error "*$PWD/d*the next command starts in $PWD/w"
}

@test "D5: a command can remove its own working directory" {
	boris
	run_bash "mkdir d; cd d; rmdir ../d; echo hi"
	is "$(result stdout) $(get result isError)" '"hi\n" false'
	run_bash pwd
	[ "$(get result isError)" = false ] || run_bash pwd
	is "$(plain stdout)" "$PWD"
}

@test "D6: a task starts in the working directory" {
	mkdir d
	boris
	run_bash 'cd d'
	start_task 'pwd'
	is "$(result cwd)" ''
	read_task "$task" '{"wait":10000}'
	is "$(plain stdout)" "$PWD/d"
}

@test "D6: a background task does not change the working directory" {
	mkdir d
	boris
	start_task 'cd d'
	read_task "$task" '{"wait":10000}'
	is "$(result cwd)" ''
	run_bash pwd
	is "$(plain stdout)" "$PWD"
}

@test "D7: a relative cwd is resolved against the working directory" {
	mkdir -p d/e
	boris
	run_bash pwd '{"cwd":"d"}'
	is "$(plain stdout)" "$PWD/d"
	run_bash 'cd d'
	run_bash pwd '{"cwd":"e"}'
	is "$(plain stdout)" "$PWD/d/e"
	run_bash pwd '{"cwd":".."}'
	is "$(plain stdout)" "$PWD"
}

@test "D7: the cwd argument applies only to the call it is given in" {
	mkdir -p d/e
	boris
	run_bash pwd '{"cwd":"'"$PWD/d/e"'"}'
	is "$(plain stdout)" "$PWD/d/e"
	run_bash pwd '{"cwd":"d"}'
	run_bash pwd
	is "$(plain stdout)" "$PWD"
}

# keeps_directory COMMAND [ARGUMENTS]: Fails if COMMAND changes the working
# directory, which is d, or if its result mentions a directory.
keeps_directory() {
	run_bash "$@"
	lacks "$1: $reply" 'not updated' || return
	is "$1: $(result cwd)" "$1: " || return
	lacks "$(text)" '\ncwd: ' || return
	run_bash pwd
	is "$(plain stdout)" "$PWD/d"
}

@test "D7: a command with a cwd argument does not change the working directory" {
	mkdir -p d/e
	boris
	run_bash 'cd d'
	for cwd in "$PWD/d/e" e; do
		for command in true false 'cd /' 'cd /; exit 3' 'exec true' \
			'cd /; )' 'trap "echo bye" EXIT; cd /' \
			'kill -KILL $$' 'cd /; false | cat'; do
			keeps_directory "$command" '{"cwd":"'"$cwd"'"}'
		done
	done
}

@test "D7: a task or timed-out command with a cwd argument does not change the working directory" {
	mkdir -p d/e
	boris
	run_bash 'cd d'
	for cwd in "$PWD/d/e" e; do
		keeps_directory "cd /; read <'$PWD/gate'" \
			'{"timeout":200,"cwd":"'"$cwd"'"}'
		keeps_directory 'cd /' \
			'{"run_in_background":true,"wait":10000,"cwd":"'"$cwd"'"}'
		keeps_directory 'cd /' '{"tty":true,"cwd":"'"$cwd"'"}'
	done
}

@test "D7: the description of bash explains the cwd argument" {
	boris
	ask tools/list
	description=$(get -s result tools 0 description)
	has "$description" 'cwd argument applies to one call only'
	has "$description" 'calls with an absolute cwd can run in parallel'
}

@test "D7: a note lists the exit codes of a pipeline even if the cwd argument is given" {
	boris
	run_bash 'false | true' '{"cwd":"/"}'
	like "$(plain note)" 'exit codes of the last pipeline: 1 0'
}

@test "D7: the result of the first call without a cwd argument states the working directory" {
	boris
	run_bash pwd '{"cwd":"/"}'
	lacks "$(text)" 'cwd: '
	run_bash true
	has "$(text)" "cwd: $PWD"
}

@test "D7: a relative cwd is resolved when a queued call starts" {
	mkdir -p d/e
	boris
	call_bash 'echo x >begun; read <gate; cd d'
	await_file begun
	call_bash 'pwd' '{"cwd":"e"}'
	foreground=$id
	call_bash 'pwd' '{"cwd":"e","run_in_background":true,"wait":10000}'
	background=$id
	release
	answer $foreground
	is "$(plain stdout)" "$PWD/d/e"
	answer $background
	is "$(plain stdout)" "$PWD/d/e"
}

# not_run PATTERN: Fails if the reply is not an error that matches PATTERN and
# says that the command was not run.
not_run() {
	is_tool_error "$1"
	like "$(text)" '*the command was not run*'
}

@test "D7: the error about a cwd that is not a directory gives its path" {
	mkdir d
	touch d/file
	boris
	run_bash 'cd d'
	for cwd in /no/such/place "$PWD/d/file" nowhere file; do
		for more in '' ',"run_in_background":true'; do
			run_bash 'touch ran' '{"cwd":"'$cwd'"'$more'}'
			not_run "*$cwd*"
			lacks "$(text)" expand
		done
	done
	run_bash 'pwd; ls'
	is "$(plain stdout)" "$PWD/d"$'\n'file
}

@test "D7: a cwd that contains a NUL character is rejected" {
	boris
	run_bash 'touch ran' '{"cwd":"/\u0000"}'
	is_tool_error '*cwd*'
	[ ! -e ran ]
}

@test "D7: a cwd longer than 4096 bytes is rejected" {
	boris
	run_bash pwd '{"cwd":"/'"$(printf '%05000d' 0)"'"}'
	is_tool_error '*at most 4096 bytes*'
}

@test "D7: the error about a cwd with a ~ or a variable says that these are not expanded" {
	boris
	for name in '~' '~/x' '~root' '$HOME' '/x/$USER/y' 'a$b/c'; do
		run_bash 'touch ran' '{"cwd":"'"$name"'"}'
		not_run "*$name*expand*"
	done
	run_bash 'touch ran' '{"run_in_background":true,"cwd":"~"}'
	is_tool_error '*~*expand*'
	[ ! -e ran ]
}

@test "D7: a cwd path can contain a dollar sign" {
	mkdir 'a$b'
	boris
	run_bash pwd '{"cwd":"a$b"}'
	is "$(plain stdout)" "$PWD/a\$b"
}

@test "D7: the error about a cwd with a ~ in the middle does not mention tilde expansion" {
	boris
	run_bash true '{"cwd":"/no/~/place"}'
	is_tool_error '*/no/~/place*'
	lacks "$(text)" expand
}

@test "D7: a cwd that the user has no permission to enter is rejected" {
	[ "$(id -u)" != 0 ] || skip 'root may enter any directory'
	mkdir closed
	chmod 0 closed
	boris
	run_bash true '{"cwd":"closed"}'
	is_tool_error '*closed*'
}
