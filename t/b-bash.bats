#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# B: the bash tool
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# has_note PATTERN: Fails if the note of the result does not match PATTERN.
# Teardown checks that the text has the same note (reply -c).
has_note() {
	like "$(plain note)" "$1"
}

# --- The text and the data of a result

@test "B: the text of a result contains separate sections for stdout and stderr" {
	boris
	run_bash true # The first result of a session also has the directory.
	run_bash 'echo out; echo err >&2; exit 3'
	is "$(text)" '"exit_code: 3\n\nstdout:\nout\n\nstderr:\nerr\n"'
	run_bash 'printf out; printf err >&2'
	like "$(text)" '"exit_code: 0\\n\\nstdout:\\nout\\n*stderr:\\nerr*'
}

@test "B: the text of a result omits an empty stdout or stderr" {
	boris
	run_bash true
	run_bash 'echo hi; exit 3'
	is "$(text)" '"exit_code: 3\n\nstdout:\nhi\n"'
	run_bash 'echo err >&2'
	is "$(text)" '"exit_code: 0\n\nstderr:\nerr\n"'
	run_bash true
	is "$(text)" '"exit_code: 0\n\n(no output)"'
	is "$(get -n result content) $(get result content 0 type)" '1 "text"'
}

@test "B: structuredContent contains the exit code, the working directory, stdout and stderr" {
	boris
	run_bash 'echo hi; exit 3'
	is "$(result status) $(result exit_code)" '"completed" 3'
	is "$(result stdout) $(result stderr)" '"hi\n" ""'
	is "$(plain cwd)" "$PWD"
	run_bash 'echo out; echo err >&2'
	is "$(result stdout) $(result stderr)" '"out\n" "err\n"'
	run_bash 'printf out; printf err >&2'
	is "$(result stdout) $(result stderr)" '"out" "err"'
}

@test "B: the result does not repeat the description argument" {
	boris
	run_bash 'echo out; echo err >&2' '{"description":"Says hi"}'
	is "$(result stdout) $(result stderr)" '"out\n" "err\n"'
	lacks "$reply" Says
}

# fields_are NAME...: Fails if the data of the result does not have exactly these
# fields in this order.
fields_are() {
	is "$(get -k result structuredContent | xargs)" "$*"
}

@test "B: the fields of structuredContent have a fixed order" {
	boris
	run_bash 'head -c 40000 /dev/zero | tr "\0" a
		head -c 40000 /dev/zero | tr "\0" b >&2; kill -KILL $$'
	fields_are status exit_code signal note cwd elapsed_ms stdout stderr \
		stdout_chars stderr_chars stdout_file stderr_file
	run_bash 'read <gate' '{"timeout":50}'
	fields_are status exit_code signal timed_out note cwd elapsed_ms \
		stdout stderr
	start_task 'exit 3'
	read_task "$task" '{"wait":10000}'
	fields_are status exit_code task_id pid elapsed_ms stdout stderr
}

@test "B: structuredContent omits fields that do not apply to the command" {
	boris
	run_bash 'echo hi; exit 3'
	fields_are status exit_code cwd elapsed_ms stdout stderr
	lacks "$reply" null
}

@test "B: an exit code of 128+N is reported with the name of signal N" {
	boris
	while read -r code name; do
		run_bash "exit $code"
		is "$code $(result signal)" "$code \"$name\""
		has "$(text)" "exit_code: $code ($name)"
	done <<END
129 SIGHUP
130 SIGINT
134 SIGABRT
137 SIGKILL
139 SIGSEGV
141 SIGPIPE
143 SIGTERM
END
	run_bash 'kill -SEGV $$'
	is "$(result exit_code) $(result signal)" '139 "SIGSEGV"'
}

@test "B: an exit code that does not correspond to a signal is reported without a signal name" {
	boris
	for code in 0 1 126 127 128 255; do
		run_bash "exit $code"
		is "$code $(result signal)" "$code "
		lacks "$(text)" "$code ("
	done
}

@test "B: elapsed_ms is the command's run time" {
	boris
	start_timer
	run_bash 'read -t 0.3 <>never'
	least "$(result elapsed_ms)" 290
	most "$(result elapsed_ms)" "$(elapsed)"
	run_bash true
	most "$(result elapsed_ms)" 999
	lacks "$(text)" elapsed
}

@test "B: the text of a result shows the run time if it is at least a second" {
	boris
	start_timer
	run_bash 'read -t 1.2 <>never'
	least "$(result elapsed_ms)" 1190
	most "$(result elapsed_ms)" "$(elapsed)"
	[[ $(text) =~ 'elapsed: '[0-9]+\.[0-9]' s' ]] || fail "$(text)"
}

@test "B: for a running task, elapsed_ms is measured from the start of the task" {
	boris
	start_task 'echo x >a; read <gate'
	await_file a
	least "$(result elapsed_ms)" 0
	pause 100
	read_task
	least "$(result elapsed_ms)" 95
	has "$(text)" 'elapsed: '
	release
	read_task "$task" '{"wait":10000}'
	least "$(result elapsed_ms)" 95
}

@test "B: the text of a result reports a timeout and the exit code before any output" {
	mkdir d
	boris
	run_bash 'cd d; echo hi; read <../gate' '{"timeout":1000}'
	is "$(result status) $(result timed_out)" '"timed_out" true'
	is "$(get result isError)" false
	like "$(plain note)" 'Command timed out after 1000ms; *'
	like "$(get -s result content 0 text)" "Command timed out after 1000ms
exit_code: 143 (SIGTERM)
cwd: $PWD
elapsed: 1.[0-9] s
note: ?*

stdout:
hi"
}

@test "B: a timeout above 600000 ms is reduced to 600000 ms, and a note says so" {
	boris
	for timeout in 600001 1e18 99999999999999999999999; do
		run_bash 'echo hi' '{"timeout":'$timeout'}'
		is "$timeout $(result stdout)" "$timeout \"hi\\n\""
		has_note '*600000*'
	done
	run_bash 'echo hi' '{"timeout":600000}'
	is "$(result stdout) $(result note)" '"hi\n" '
}

@test "B: the text of a result shows the working directory if the command changes it" {
	mkdir d
	boris
	run_bash 'cd d; echo hi'
	is "$(text)" "\"exit_code: 0\\ncwd: $PWD/d\\n\\nstdout:\\nhi\\n\""
	is "$(plain cwd)" "$PWD/d"
	run_bash true
	lacks "$(text)" cwd
	is "$(plain cwd)" "$PWD/d"
}

@test "B: control characters in the working directory's name are escaped in the text of the result" {
	mkdir $'a\nb' $'e\x7f\xc2\x85f'
	boris
	run_bash 'cd a*'
	is "$(plain cwd)" "$PWD/"$'a\nb'
	get -s result content 0 text >text
	is "$(grep -c '^cwd: .*a.*b$' text)" 1
	run_bash 'cd ../e*'
	get -s result content 0 text >text
	run_bash true '{"cwd":"/no\u007f\u009b"}'
	is_tool_error 'cwd: cannot change to directory */no*'
	get -s result content 0 text >>text
	! grep $'\x7f\|\xc2[\x80-\x9f]' text
}

# --- B1 to B3: exit codes, the shell, long commands

@test "B1: a non-zero exit code is not reported as a tool error" {
	boris
	for code in 0 1 2 42 126 127 255; do
		run_bash "exit $code"
		is "$(result exit_code) $(get result isError)" "$code false"
	done
}

@test "B1: a command killed by a signal is not reported as a tool error" {
	boris
	for signal in 1 9 15; do
		run_bash "kill -$signal \$\$"
		is "$(result status) $(result exit_code)" \
			"\"completed\" $((128 + signal))"
		is "$(get result isError)" false
	done
}

@test "B2: commands run in /bin/bash even if PATH and SHELL name another shell" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	mkdir bin
	printf '#!/bin/sh\necho wrong\n' >bin/bash
	cp bin/bash bin/sh
	chmod +x bin/*
	wrap=(env "PATH=$PWD/bin:$PATH" "SHELL=$PWD/bin/sh")
	boris
	run_bash 'a=(1 2) && echo ${#a[@]} $BASH'
	is "$(result stdout)" '"2 /bin/bash\n"'
}

@test "B2: commands run in a non-login, non-interactive shell" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	boris
	run_bash 'shopt -q login_shell && echo login
		case $- in *i*) echo interactive ;; esac; echo done'
	is "$(result stdout)" '"done\n"'
}

@test "B2: if /bin/bash does not exist, bash is found in /usr/pkg/bin or /usr/local/bin" {
	needs bash
	without_bash
	mkdir -p root/usr/local/bin root/usr/pkg/bin
	cp "$(type -P bash)" root/usr/pkg/bin
	boris
	run_bash 'echo "$BASH $0"'
	is "$(plain stdout)" '/usr/pkg/bin/bash /usr/pkg/bin/bash'
	stop_server
	cp "$(type -P bash)" root/usr/local/bin
	boris
	run_bash 'echo "$BASH $0"'
	is "$(plain stdout)" '/usr/local/bin/bash /usr/local/bin/bash'
}

@test "B2: the search for bash in PATH skips relative directories" {
	needs bash
	without_bash
	mkdir -p root/opt/a/bash root/opt/b
	cp "$(type -P bash)" root/opt/b/bash
	export PATH_OF_ROOT=relative::/nosuch:/opt/a:/opt/b:/bin
	boris --workdir=/home
	run_bash 'echo "$BASH $0"; cd d'
	is "$(plain stdout) $(plain cwd)" '/opt/b/bash /opt/b/bash /home/d'
}

@test "B2: commands run in /bin/sh if PATH contains no executable bash" {
	without_bash
	mkdir -p root/opt/b
	echo echo wrong >root/opt/b/bash
	export PATH_OF_ROOT=/opt/b:/bin
	boris --workdir=/home
	run_bash 'echo "[$BASH] $0"'
	is "$(plain stdout)" '[] /bin/sh'
}

@test "B2: sh is found in PATH if /bin/sh does not exist" {
	without_bash
	mkdir -p root/opt/a/bash root/opt/c
	mv root/bin/sh root/opt/c/sh
	export PATH_OF_ROOT=/opt/a:/opt/c:/bin
	boris --workdir=/home
	run_bash 'echo "[$BASH] $0"; cd d; false | true'
	is "$(plain stdout) $(plain cwd)" '[] /opt/c/sh /home/d'
}

@test "B2: on a host without a shell, a call fails with an error that names /bin/sh" {
	without_bash
	rm root/bin/sh
	export PATH_OF_ROOT
	for PATH_OF_ROOT in /nosuch ''; do
		boris --workdir=/home
		run_bash true
		is_tool_error '*the shell /bin/sh*'
		stop_server
	done
}

@test "B3: a blank command is rejected" {
	boris
	for command in '""' '" "' '"\n"' '" \t\n \r"'; do
		run_tool bash '{"command":'"$command"'}'
		is_tool_error '*command*'
	done
}

@test "B3: a command that contains a NUL character is rejected" {
	boris
	for command in '"touch ran\u0000"' '"\u0000touch ran"' \
		'"touch ran\u0000x"'; do
		run_tool bash '{"command":'"$command"'}'
		is_tool_error '*command*'
	done
	run_bash true
	[ ! -e ran ]
}

# call_start: Prints a call of bash up to its first argument.
call_start() {
	printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call",' $id
	printf '"params":{"name":"bash","arguments":{'
}

# run_long BYTES END: Runs a command of BYTES bytes and reads the response. The
# command sets x to a long text and ends with END.
run_long() {
	id=$((++calls))
	{
		call_start
		printf '"command":"x='
		head -c $(($1 - 2 - ${#2})) /dev/zero | tr '\0' a
		printf '%s"}}}\n' "$2"
	} >&7
	answer
}

@test "B3: a command can be up to 1 MiB long" {
	boris
	for size in 131000 131071 131072 131073 140000 1048576; do
		run_long $size '; echo ${#x}'
		is "$(plain stdout) $(result stderr)" "$((size - 14)) \"\""
	done
}

@test "B3: a 200,000-byte command runs just like a short one" {
	mkdir d
	boris
	run_long 200000 '; cat; cd d; (exit 7)'
	is "$(result exit_code) $(result stdout) $(plain cwd)" "7 \"\" $PWD/d"
	run_long 200000 ' # a comment'
	is "$(result exit_code)" 0
	run_long 200000 '\ncat <<X; exit 5\nhi\nX'
	is "$(result exit_code) $(result stdout)" '5 "hi\n"'
	run_bash pwd
	is "$(plain stdout)" "$PWD/d"
}

# --- B4: no terminal, no editor, the environment

@test "B4: a command's stdin is /dev/null by default" {
	boris
	run_bash 'cat; read x; echo $?'
	is "$(plain stdout)" 1
	run_bash 'readlink /proc/self/fd/0'
	[ ! -e /proc/self/fd ] || is "$(plain stdout)" /dev/null
}

@test "B4: a command has no terminal by default" {
	boris
	run_bash '(exec 5<>/dev/tty) 2>/dev/null || echo none
		[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo no terminal'
	is "$(plain stdout)" $'none\nno terminal'
}

@test "B4: a command has no terminal even if boris is started from a terminal" {
	needs script
	[ -z "$WRAP" ] || skip "under $WRAP"
	export BORIS
	{
		send "$HELLO"
		call_bash '(exec 5<>/dev/tty) 2>&- || echo none; cat'
	} 7>calls
	TEST_MARK="$PWD:" timeout $((20 * SLOW)) \
		script -qec '"$BORIS" 2>err >heard' /dev/null \
		<calls >tty 3>&- 6>&- 9>&-
	reply=$(tail -n 1 heard)
	is "$(result stdout)" '"none\n"'
}

# exits_with CODE COMMAND: Fails if the command does not exit with CODE before its
# timeout.
exits_with() {
	run_bash "$2" '{"timeout":20000}'
	is "$2: $(result status) $(result exit_code)" "$2: \"completed\" $1"
}

@test "B4: git does not open an editor even if the user has configured one" {
	needs git
	export EDITOR=vi VISUAL=vi GIT_EDITOR='sleep 60;:'
	export GIT_SEQUENCE_EDITOR='sleep 60;:'
	wrap=(env HOME="$PWD" TERM=xterm)
	git init -q r
	git -C r config core.editor 'sleep 60;:'
	git -C r config user.name n
	git -C r config user.email e@x
	boris --workdir=r
	exits_with 1 'git commit --allow-empty'
	has "$(plain stderr)" 'empty commit message'
	exits_with 0 'for i in 1 2 3; do git commit --allow-empty -m m$i; done'
	exits_with 0 'git commit --amend --allow-empty'
	exits_with 0 'git rebase -i HEAD~2'
	exits_with 0 'git log --format=%s'
	is "$(plain stdout)" $'m3\nm2\nm1'
}

@test "B4: vipw, crontab -e and sensible-editor fail immediately instead of opening an editor" {
	tried=0
	export EDITOR=vi VISUAL=vi
	wrap=(env HOME="$PWD" TERM=xterm)
	boris
	for command in vipw 'crontab -e' 'sensible-editor x'; do
		[ -n "$(type -P "${command%% *}")" ] || continue
		exits_with 1 "$command"
		tried=1
	done
	[ $tried = 1 ] || skip 'none of them here'
}

# A command that prints the variables for editors and password prompts in one line
PRINT_EDITORS="env | sort |
	grep -E '^[A-Z_]*(EDITOR|VISUAL|GPG_TTY|SSH_ASKPASS)[A-Z_]*=' | xargs"

@test "B4: without a terminal, commands run with EDITOR=false and VISUAL=false" {
	export EDITOR=vi VISUAL=vi EDITORS=kept GPG_TTY=/dev/tty
	export GIT_EDITOR=vi GIT_SEQUENCE_EDITOR=vi KUBE_EDITOR=vi
	export SSH_ASKPASS_REQUIRE=
	want='EDITOR=false EDITORS=kept GIT_EDITOR=true SSH_ASKPASS_REQUIRE='
	want+=' VISUAL=false'
	boris
	run_bash "$PRINT_EDITORS"
	is "$(plain stdout)" "$want"
	start_task "$PRINT_EDITORS"
	read_task "$task" '{"wait":10000}'
	is "$(plain stdout)" "$want"
}

@test "B4: EDITOR and VISUAL are passed unchanged to commands run on a terminal" {
	export EDITOR=vi VISUAL=vi EDITORS=kept GPG_TTY=/dev/tty
	export GIT_EDITOR=vi GIT_SEQUENCE_EDITOR=vi KUBE_EDITOR=vi
	export SSH_ASKPASS_REQUIRE=
	want='EDITOR=vi EDITORS=kept GIT_EDITOR=vi GIT_SEQUENCE_EDITOR=vi'
	want+=' KUBE_EDITOR=vi SSH_ASKPASS_REQUIRE= VISUAL=vi'
	boris
	run_bash "$PRINT_EDITORS" '{"tty":true}'
	is "$(plain stdout | xargs)" "$want"
}

@test "B4: GPG_TTY is removed from the environment of commands" {
	export GPG_TTY=/dev/tty
	boris
	run_bash 'env | grep ^GPG_TTY='
	is "$(result exit_code) $(plain stdout)" '1 '
	run_bash 'env | grep ^GPG_TTY=' '{"tty":true}'
	is "$(result exit_code) $(plain stdout)" '1 '
}

@test "B4: commands run with SSH_ASKPASS_REQUIRE=never unless the variable is already set" {
	unset "${!EDITOR@}" VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR KUBE_EDITOR \
		GPG_TTY SSH_ASKPASS_REQUIRE
	want='EDITOR=false GIT_EDITOR=true SSH_ASKPASS_REQUIRE=never VISUAL=false'
	boris
	run_bash "$PRINT_EDITORS"
	is "$(plain stdout)" "$want"
}

# without_locale [VARIABLE=VALUE]...: Makes the server start with only these
# variables, those that the SDKs pass on (M14), and those that the tests need.
without_locale() {
	wrap=(env -i HOME="$PWD" LOGNAME=u PATH="$PATH" SHELL=/bin/sh
		TERM=xterm USER=u TEST_MARK="$PWD:" TMPDIR="$PWD/tmp" "$@")
}

@test "B4: commands run with LC_CTYPE=C.UTF-8 if no locale variable is set" {
	[ -r /usr/lib/locale/C.utf8/LC_CTYPE ] || skip 'no C.UTF-8 here'
	for how in '' 'LANG= LC_ALL= LC_CTYPE='; do
		without_locale $how
		boris
		run_bash 'x=$(printf "gr\xc3\xbcn"); echo ${#x} $LC_CTYPE
			env | grep -c ^LC_CTYPE'
		is "$how: $(plain stdout)" "$how: 4 C.UTF-8"$'\n1'
		stop_server
	done
}

@test "B4: LC_CTYPE is passed to commands unchanged if a locale variable is set" {
	for set in LANG=C LC_ALL=C LC_CTYPE=POSIX; do
		without_locale $set
		boris
		run_bash 'env | grep -E "^(LC_|LANG)"'
		is "$(plain stdout)" "$set"
		stop_server
	done
}

@test "B4: LC_CTYPE is not set for commands on a host without the C.UTF-8 locale" {
	needs_root
	needs unshare mount
	unshare -m true || skip 'no mount namespaces here'
	without_locale
	hide='mount -t tmpfs none /usr/lib/locale || exit; exec "$@"'
	[ ! -d /usr/lib/locale ] || wrap=(unshare -m sh -c "$hide" sh "${wrap[@]}")
	boris
	run_bash 'echo "[$LC_CTYPE]"'
	is "$(plain stdout)" '[]'
}

@test "B4: without a terminal, commands run with TERM=dumb" {
	for term in xterm-256color ''; do
		wrap=(env "TERM=$term")
		boris
		run_bash 'echo "$TERM"; env | grep -c ^TERM='
		is "$(result stdout)" '"dumb\n1\n"'
		start_task 'echo "$TERM"'
		read_task "$task" '{"wait":10000}'
		is "$(result stdout)" '"dumb\n"'
		stop_server
	done
	wrap=(env -u TERM)
	boris
	run_bash 'env | grep ^TERM='
	is "$(result stdout)" '"TERM=dumb\n"'
}

@test "B4: commands run with LVM_SUPPRESS_FD_WARNINGS=1 unless the variable is already set" {
	wrap=(env -u LVM_SUPPRESS_FD_WARNINGS)
	boris
	run_bash 'echo "<$LVM_SUPPRESS_FD_WARNINGS>"'
	is "$(plain stdout)" '<1>'
	start_task 'echo "<$LVM_SUPPRESS_FD_WARNINGS>"'
	read_task "$task" '{"wait":20000}'
	is "$(plain stdout)" '<1>'
}

@test "B4: an existing value of LVM_SUPPRESS_FD_WARNINGS is left unchanged" {
	wrap=(env LVM_SUPPRESS_FD_WARNINGS=)
	boris
	run_bash 'env | grep ^LVM'
	is "$(plain stdout)" 'LVM_SUPPRESS_FD_WARNINGS='
}

# --- B5: stdin

@test "B5: a command reads the text of the stdin argument, followed by EOF" {
	boris
	run_bash 'cat; echo "[$?]"' '{"stdin":"one\ntwo"}'
	is "$(result stdout)" '"one\ntwo[0]\n"'
	run_bash 'cat; echo "[$?]"' '{"stdin":""}'
	is "$(result stdout)" '"[0]\n"'
	run_bash 'od -An -tx1' \
		'{"stdin":"\u0000a\u00e9\r\n\ud83d\ude00\ud800"}'
	is "$(plain stdout | tr -s ' \n' ' ')" \
		' 00 61 c3 a9 0d 0a f0 9f 98 80 ef bf bd '
}

@test "B5: a background task reads the text of the stdin argument, followed by EOF" {
	boris
	start_task 'cat' '{"stdin":"hi\n"}'
	read_task "$task" '{"wait":10000}'
	is "$(result stdout)" '"hi\n"'
}

# call_with_stdin BYTES COMMAND: Sends a call with BYTES bytes of stdin, which are
# lines of 15 letters.
call_with_stdin() {
	id=$((++calls))
	quote "$2"
	{
		call_start
		printf '"command":%s,"stdin":"' "$quoted"
		yes 'aaaaaaaaaaaaaaa\n' | head -c $(($1 / 16 * 18)) |
			tr -d '\n'
		printf '"}}}\n'
	} >&7
}

# run_with_stdin BYTES COMMAND: Sends a call with BYTES bytes of stdin and reads
# the response.
run_with_stdin() {
	call_with_stdin "$@"
	answer
}

@test "B5: 5 MiB of stdin data reaches the command unchanged" {
	boris
	run_with_stdin 5242880 'cat >patch'
	is "$(result exit_code)" 0
	is "$(wc -c <patch | tr -d ' ')" 5242880
	yes aaaaaaaaaaaaaaa | head -n 327680 | cmp - patch
}

@test "B5: a command that does not read its stdin can succeed" {
	boris
	run_with_stdin 5242880 true
	is "$(result exit_code) $(get result isError)" '0 false'
	run_with_stdin 5242880 'exec <&-; echo hi'
	is "$(result stdout)" '"hi\n"'
	run_with_stdin 5242880 'head -c 5'
	is "$(result stdout)" '"aaaaa"'
}

@test "B5: a command that does not read its stdin is terminated when its timeout expires" {
	boris
	text=$(head -c 200000 /dev/zero | tr '\0' a)
	run_bash 'read <gate' '{"stdin":"'"$text"'","timeout":200}'
	is "$(result status)" '"timed_out"'
}

@test "B5: a command can print 1 MiB while it reads 1 MiB from stdin" {
	boris
	run_with_stdin 1048576 'cat'
	is "$(result stdout_chars)" 1048576
	cmp <(yes aaaaaaaaaaaaaaa | head -n 65536) "$(plain stdout_file)"
}

@test "B5: a command can print 1 MB before it reads 1 MiB from stdin" {
	boris
	run_with_stdin 1048576 \
		'head -c 1000000 /dev/zero | tr "\0" b; cat >copy'
	is "$(result exit_code) $(wc -c <copy | tr -d ' ')" '0 1048576'
}

@test "B5: other requests are answered while a command is not reading its stdin" {
	boris
	call_with_stdin 3000000 'read <gate; wc -c'
	waiting=$id
	sync_server
	release
	answer $waiting
	is "$(plain stdout | tr -d ' ')" 3000000
}

# --- B6: what the tools offer

@test "B6: the tools/list response for two tools fits in 7 KiB" {
	boris
	ask tools/list
	is "$(get result tools 0 name)" '"bash"'
	is "$(get result tools 1 name)" '"task_output"'
	most ${#reply} 7168
}

@test "B6: the descriptions of tools and arguments contain no control characters" {
	boris
	ask tools/list
	# In JSON, a control character is an escape such as \u0003 or \n.
	lacks "${reply//\\\\/}" '\u00'
	lacks "${reply//\\\\/}" '\n'
	has "$(argument_of 0 input description)" \
		'(\n is Enter, \u0003 Ctrl-C, \u0004 end of file)'
}

# arguments_of TOOL: Prints the names of the tool's arguments.
arguments_of() {
	get -k result tools $1 inputSchema properties
}

# argument_of TOOL NAME MEMBER: Prints a string in the schema of an argument.
argument_of() {
	get -s result tools $1 inputSchema properties $2 $3
}

@test "B6: each tool and each argument has a description" {
	boris
	ask tools/list
	for tool in 0 1; do
		most "$(get -n result tools $tool description)" 1799
		for name in $(arguments_of $tool); do
			like "$name $(argument_of $tool $name description)" \
				"$name ?*"
		done
	done
}

@test "B6: each tool declares that its results can be up to 200,000 characters long" {
	boris
	ask tools/list
	for tool in 0 1; do
		is "$(get result tools $tool _meta anthropic/maxResultSizeChars)" \
			200000
	done
}

@test "B6: the input schemas make every argument optional and forbid unknown arguments" {
	boris
	ask tools/list
	for tool in 0 1; do
		is "$(get result tools $tool inputSchema required)" ''
		is "$(get result tools $tool inputSchema additionalProperties)" \
			false
	done
}

# types_are TOOL NAME:TYPE...: Fails if the tool does not have exactly these
# arguments. Their order does not matter.
types_are() {
	local name tool=$1 types
	shift
	types=$(for name in $(arguments_of $tool); do
		echo "$name:$(argument_of $tool $name type)"
	done | sort | xargs)
	is "$types" "$(printf '%s\n' "$@" | sort | xargs)"
}

@test "B6: the input schemas list all arguments with their types" {
	boris
	ask tools/list
	types_are 0 command:string timeout:integer run_in_background:boolean \
		tty:boolean wait:integer until:string task_id:string \
		input:string check_pid:integer kill_pid:integer cwd:string \
		stdin:string truncate:string limit:integer description:string
	types_are 1 task_id:string wait:integer until:string new:boolean \
		truncate:string limit:integer
	is "$(get result tools 0 inputSchema properties truncate enum)" \
		'["head","tail","both"]'
}

# The fields of a result with their types
FIELDS='status:string exit_code:integer signal:string timed_out:boolean'
FIELDS+=' note:string task_id:string pid:integer cwd:string elapsed_ms:integer'
FIELDS+=' stdout:string screen:string stderr:string stdout_chars:integer'
FIELDS+=' stderr_chars:integer stdout_file:string stderr_file:string'

@test "B6: the output schemas list all fields with their types" {
	boris
	ask tools/list
	for tool in 0 1; do
		schema=(result tools "$tool" outputSchema properties)
		types=$(for name in $(get -k "${schema[@]}"); do
			echo "$name:$(get -s "${schema[@]}" $name type)"
		done | xargs)
		is "${types% tasks:array}" "$FIELDS"
		is "$(get "${schema[@]}" status enum)" \
			'["completed","running","timed_out","killed"]'
	done
	has "$types" tasks:array
}

@test "B6: the status field is required in the output of bash but not of task_output" {
	boris
	ask tools/list
	is "$(get result tools 0 outputSchema required)" '["status"]'
	# A list of tasks has no status.
	lacks "$(get result tools 1 outputSchema required)" status
}

@test "B6: bash and task_output are not annotated as read-only" {
	boris
	ask tools/list
	is "$(get result tools 0 annotations readOnlyHint)" false
	isnt "$(get result tools 0 annotations destructiveHint)" false
	is "$(get result tools 1 annotations readOnlyHint)" false
}

@test "B6: a tool error contains text but no structuredContent" {
	boris
	run_bash ''
	is "$(get result isError)" true
	is "$(result)" ''
	is "$(get -n result content)" 1
}

# results_have data|text: Fails if the list of tools or a result has data but
# should have only text, or the reverse.
results_have() {
	ask tools/list
	is "tools: $(result_kind)" "tools: $1"
	run_bash 'echo hi'
	is "result: $(result_kind)" "result: $1"
	run_tool task_output '{}'
	is "tasks: $(result_kind)" "tasks: $1"
}

@test "B6: structuredContent is omitted for a client that would show it instead of the text" {
	start
	for name in claude-code codex-mcp-client copilot-cli; do
		set_client $name
		hello
		results_have text
	done
}

@test "B6: structuredContent is sent to a client that displays the text of a result" {
	start
	for name in opencode gemini-cli-mcp-client claude-code-2 claude \
		Codex-mcp-client ''; do
		set_client "$name"
		hello
		results_have data
	done
	HELLO=${HELLO/,'"clientInfo":{"name":"","version":"1"}'}
	hello
	results_have data
}

@test "B6: a stateless request's clientInfo determines whether the result has structuredContent" {
	boris
	start_task 'read <gate'
	for name in codex-mcp-client t; do
		set_client $name
		call task_output '{"task_id":"'"$task"'","wait":60000}' "{$META}"
		ids+=("$id")
		call_bash 'read <gate' '{}' "{$META}"
		ids+=("$id")
	done
	release 3
	for id in "${ids[@]}"; do
		answer
		kinds+=("$(result_kind)")
	done
	is "${kinds[*]}" 'text text data data'
}

@test "B6: a stateless tools/list response has a cacheScope of private" {
	boris
	for client in t:data codex-mcp-client:text; do
		set_client ${client%:*}
		modern tools/list
		is "$(result_kind) $(get result cacheScope)" "${client#*:} \"private\""
	done
}

@test "B6: --structured=on and --structured=off apply to every client" {
	for kind in on:data off:text; do
		start --structured=${kind%:*}
		for name in t claude-code; do
			set_client $name
			hello
			results_have ${kind#*:}
			run_bash 'echo hi; exit 3'
			has "$(text)" 'stdout:\nhi\n'
			modern tools/list
			is "$(result_kind) $(get result cacheScope)" \
				"${kind#*:} \"private\""
		done
		stop_server
	done
}

# --- B7: a result says what to do next

HINT='use run_in_background for servers and long jobs, and tty for'
HINT+=' interactive programs'
UNIT='timeout is in milliseconds'

@test "B7: after a timeout, a note suggests run_in_background and tty" {
	boris
	run_bash 'read <gate' '{"timeout":1000}'
	is "$(result status)" '"timed_out"'
	has_note "*$HINT*"
	lacks "$reply" 'milliseconds'
}

@test "B7: if a timeout below 1000 ms expires, a note says that the timeout argument is in milliseconds" {
	boris
	run_bash 'read <gate' '{"timeout":300}'
	is "$(plain note)" "Command timed out after 300ms; $UNIT; $HINT"
	run_bash 'echo hi' '{"timeout":999}'
	is "$(result note)" ''
}

@test "B7: if a task's timeout below 1000 ms expires, a note says that timeouts are in milliseconds" {
	boris
	expired='the task was terminated, because its timeout expired'
	waiting='"run_in_background":true,"wait":20000'
	run_bash 'read <gate' '{"timeout":300,'"$waiting"'}'
	is "$(plain note)" "$expired; $UNIT"
	run_bash 'read <gate' '{"timeout":1000,'"$waiting"'}'
	is "$(plain note)" "$expired"
}

@test "B7: if a wait below 1000 ms expires, a note says that the wait argument is in milliseconds" {
	boris
	run_bash 'read <gate' '{"until":"ready","wait":30}'
	has "$(plain note)" 'wait is in milliseconds'
	run_bash 'read <gate' '{"until":"ready","wait":1000}'
	lacks "$(plain note)" 'milliseconds'
}

@test "B7: when a task is started, the result says how to read the task's output and how to stop the task" {
	boris
	start_task 'read <gate'
	is "$(result status)" '"running"'
	like "$(text)" '"status: running\\n*'
	has "$(text)" "$task"
	has "$(text)" "$pid"
	lacks "$(text)" 'stdout:'
	lacks "$(text)" '(no '
	has_note '*task_output*'
	has_note '*kill_pid*'
	read_task
	is "$(result note)" ''
}

LEFT='the command left processes running, and any further output from them is not'
LEFT+=' shown; to stop them, run'

@test "B7: a note explains how to stop processes that a command left running" {
	boris
	run_bash 'echo $$; read <gate 2>&1 & echo $! >child'
	group=$(plain stdout)
	is "$(result exit_code)" 0
	has_note "*kill -- -$group*"
	is_running child
	run_bash "kill -- -$group"
	eventually is_gone child
}

@test "B7: a note says that output from processes that a command left running is not shown" {
	boris
	run_bash 'echo $$; { read; echo late; } <gate & echo early'
	group=$(plain stdout | head -n 1)
	is "$(plain note)" "$LEFT: kill -- -$group"
	start_task 'read <gate & exit 3'
	read_task "$task" '{"wait":10000}'
	is "$(plain note)" "$LEFT: kill -- -$pid"
}

@test "B7: a command whose background processes have exited produces no note" {
	boris
	run_bash 'true & wait; (exit 0) | cat'
	is "$(result note)" ''
}

@test "B7: a note suggests pkill if a command leaves processes running in several process groups" {
	needs pkill
	needs_linux_parts
	boris
	run_bash 'echo $$; set -m; read <gate 2>&1 & echo $! >child'
	session=$(plain stdout)
	has_note "*pkill -s $session"
	lacks "$(result note)" 'kill --'
	is_running child
	run_bash "pkill -s $session"
	is "$(result exit_code)" 0
	eventually is_gone child
}

# no_note_once COMMAND: Fails if the command gets a note in each of nine runs. On
# a busy machine, a process can need more time to exit than boris gives it.
no_note_once() {
	for i in 1 2 3 4 5 6 7 8 9; do
		run_bash "$1"
		[ "$(result note)" != '' ] || return 0
	done
	fail "note: $(result note)"
}

@test "B7: a process that exits just after its command is not reported as left running" {
	boris
	no_note_once 'sleep 0.002 & true'
}

@test "B7: a process started with setsid is not reported as left running" {
	boris
	no_note_once 'setsid sleep 0.1 >/dev/null 2>&1 & echo $! >far'
	eventually is_gone far
}

@test "B7: if a task leaves processes running, a note names their process group" {
	boris
	start_task 'read <gate & echo $! >child; echo hi; exit 3'
	read_task "$task" '{"wait":10000}'
	is "$(result status) $(result exit_code) $(result stdout)" \
		'"completed" 3 "hi\n"'
	has_note "*kill -- -$pid*"
	is_running child
	run_bash "kill -- -$pid"
	eventually is_gone child
}

@test "B7: if the shell is killed by a signal, a note says so" {
	boris
	run_bash 'kill -TERM $$'
	is "$(result status) $(result signal)" '"completed" "SIGTERM"'
	has_note '*[Ss]ignal*'
	run_bash 'kill -34 $$'
	is "$(result exit_code) $(result signal)" '162 '
	has_note '*signal 34*'
}

@test "B7: if the shell is killed by SIGKILL, a note suggests that memory may have run out" {
	boris
	run_bash 'kill -KILL $$'
	has_note '*memory*'
}

@test "B7: if a command's shell itself exits with code 143, no note says that a signal killed it" {
	boris
	run_bash 'exit 143'
	is "$(result exit_code) $(result note)" '143 '
	run_bash 'sh -c "kill -TERM \$\$"; exit $?'
	is "$(result exit_code) $(result note)" '143 '
}

@test "B7: the note about a timeout does not mention SIGTERM" {
	boris
	run_bash 'read <gate' '{"timeout":1000}'
	lacks "$(plain note)" ignal
}

@test "B7, T4: the result of kill_pid does not contain a note about the signal" {
	boris
	start_task 'echo x >a; kill -STOP $$'
	await_file a
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(result status) $(result exit_code)" '"killed" 143'
	is "$(result signal) $(result timed_out)$(result note)" '"SIGTERM" '
}

# --- B7: the exit codes of pipelines

# needs_bash: Skips the test if there is no /bin/bash.
needs_bash() {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
}

# codes_are CODE...: Fails if the note does not list these exit codes.
codes_are() {
	has "$(plain note)" "exit codes of the last pipeline: $*"
}

@test "B7: if the last command of a pipeline masks a failure, a note lists all exit codes" {
	needs_bash
	boris
	while read -r codes command; do
		run_bash "$command"
		is "$command: $(result exit_code)" "$command: 0"
		codes_are ${codes//,/ } || fail "after: $command"
	done <<'END'
2,0 (exit 2) | cat
1,0 echo one; false | tail -n 3
1,3,0 false | (exit 3) | true
0,127,0 true | no-such-program | cat
1,0 true; false | true; # at the end
1,0 f() { false; }; f | cat
137,0 (kill -KILL $BASHPID) | cat
1,141,0 false | yes | head -n 1
END
}

@test "B7: a note lists the exit codes of a pipeline that spans several lines" {
	needs_bash
	boris
	run_bash $'cd /\nfalse |\n cat'
	codes_are 1 0
	is "$(plain cwd)" /
}

@test "B7: if a pipeline in a task masks a failure, a note lists all exit codes" {
	needs_bash
	boris
	for how in '"run_in_background":true,"wait":10000' '"tty":true'; do
		run_bash '(exit 2) | cat' "{$how}"
		is "$(result status) $(result exit_code)" '"completed" 0'
		codes_are 2 0
	done
}

# is_program NAME: Succeeds if the last task's process runs the program NAME.
is_program() {
	[ "$(cat "/proc/$pid/comm")" = "$1" ]
}

@test "B: the last program in a task's command replaces the task's shell" {
	needs_bash
	needs_linux
	boris
	start_task 'test -p gate || exit 1; cat gate'
	eventually is_program cat
}

# In these commands, SIGPIPE is the only failure, the exit code shows the failure,
# or there is no pipeline at the end.
@test "B7: a pipeline that masks no failure produces no note about exit codes" {
	needs_bash
	boris
	while read -r command; do
		run_bash "$command"
		lacks "$command: $(plain note)" pipeline
	done <<'END'
yes | head -n 1
yes | cat | head -n 1
true | cat
false | false
true | (exit 3)
set -o pipefail; false | cat
(exit 2) | cat; exit 3
false; true
(exit 2)
(exit 2) | cat; true
echo hi
END
}

@test "B7: a note lists the exit codes of a pipeline that contains grep" {
	needs_bash
	mkdir grep-test
	boris
	while read -r codes command; do
		run_bash "$command"
		codes_are ${codes//,/ } || fail "after: $command"
	done <<'END'
1,0 cd grep-test; false | tail -n 3; # grep
1,0,0 { echo x; false; } | grep -v DEBUG | tail
1,0 grep nothing-like-it /dev/null | cat
1,0 pgrep nothing-like-it | cat
END
}

@test "B7: if parts of a pipeline fail with different codes, a note lists all exit codes" {
	needs_bash
	boris
	run_bash '(echo built; exit 2) | grep warning'
	is "$(result exit_code)" 1
	codes_are 2 1
	run_bash '(exit 2) | (exit 3)'
	codes_are 2 3
}

@test "B7: saving a pipeline's exit codes does not change PIPESTATUS or the output of set -x" {
	needs_bash
	mkdir d
	boris
	run_bash 'set -eu; cd d; false | cat; echo "${PIPESTATUS[*]}"'
	is "$(result stdout) $(result stderr) $(result note)" '"1 0\n" "" '
	is "$(plain cwd)" "$PWD/d"
	run_bash 'set -x; false | true'
	lacks "$(result stderr)" PIPESTATUS
}

@test "B7: the note about a pipeline separates the exit codes with spaces even if the command sets IFS" {
	needs_bash
	boris
	run_bash 'IFS=,; false | true'
	codes_are 1 0
}

@test "B7: in a shell other than bash, a pipeline produces no note about exit codes" {
	without_bash
	boris --workdir=/home
	run_bash '(exit 2) | cat'
	is "$(result exit_code) $(result stdout) $(result note)" '0 "" '
}

# --- B7: errors

@test "B7: if bash receives an argument that belongs to task_output, the error names task_output" {
	boris
	run_tool bash '{"command":"touch ran","new":true}'
	is_tool_error '*new*task_output*'
	run_bash 'ls ran'
	is "$(result exit_code)" 2
}

@test "B7: if task_output receives an argument that belongs to bash, the error names bash" {
	boris
	start_task 'read <gate'
	for argument in '"command":"touch ran"' '"cwd":"/"' '"kill_pid":'"$pid" \
	                '"stdin":"x"' '"run_in_background":true'; do
		name=${argument#\"}
		run_tool task_output '{"task_id":"'"$task"'",'"$argument"'}'
		is_tool_error "*${name%%\"*}*bash*"
	done
	run_bash 'ls ran'
	is "$(result exit_code)" 2
	read_task
	is "$(result status)" '"running"'
}

@test "B7: if a wait argument is given without run_in_background, the error suggests run_in_background" {
	boris
	run_bash 'touch ran' '{"wait":1000}'
	is_tool_error '"wait"*run_in_background*'
	run_bash 'ls ran'
	is "$(result exit_code)" 2
}

@test "B7, T3: the error about an unknown task_id lists the existing tasks" {
	boris
	start_task 'read <gate'
	for name in nope 0123456789abcdef "$task\u0000"; do
		read_task "$name" '{"wait":1000}'
		is_tool_error "task not found: ${name%\\u0000}*"
		is_tool_error '*read*'
		is_tool_error "*$task*"
	done
}

@test "B7, T4: the error about an unknown pid lists the existing tasks" {
	boris
	start_task 'read <gate'
	run_tool bash '{"check_pid":1}'
	is_tool_error 'no background process with pid 1*'
	is_tool_error "*$pid*"
}

@test "B7: if the until text never appears, a note says that boris searches for plain text, not a pattern" {
	boris
	run_bash 'echo other; read <gate' '{"until":"ready|listening","wait":100}'
	has "$(plain note)" 'plain text, not a pattern'
	lacks "$(plain note)" buffer
}

@test "B7: if a wait ends before the command prints anything, a note mentions output buffering" {
	boris
	run_bash 'read <gate' '{"until":"ready|listening","wait":100}'
	has "$(plain note)" 'plain text, not a pattern'
	has_note '*buffer*output*'
	has_note '*terminal*'
}
