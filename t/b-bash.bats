#!/usr/bin/env bats
# B: the bash tool
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# notes PATTERN: the result has a note like that; that the text has it too is
# what teardown sees (reply -c)
notes() {
	like "$(plain note)" "$1"
}

@test "B: a result has what the command printed as text, a section for each stream, and as data" {
	boris
	run_bash true
	run_bash 'echo hi; exit 3'
	is "$(text)" '"exit_code: 3\n\nstdout:\nhi\n"'
	is "$(result status) $(result exit_code)" '"completed" 3'
	is "$(result stdout) $(result stderr)" '"hi\n" ""'
	is "$(plain cwd)" "$PWD"
	is "$(get -n result content) $(get result content 0 type)" '1 "text"'
	run_bash 'echo out; echo err >&2' '{"description":"Says hi"}'
	is "$(text)" '"exit_code: 0\n\nstdout:\nout\n\nstderr:\nerr\n"'
	is "$(result stdout) $(result stderr)" '"out\n" "err\n"'
	lacks "$reply" Says
	run_bash true
	is "$(text)" '"exit_code: 0\n\n(no output)"'
	run_bash 'echo err >&2'
	is "$(text)" '"exit_code: 0\n\nstderr:\nerr\n"'
	run_bash 'printf out; printf err >&2'
	like "$(text)" '"exit_code: 0\\n\\nstdout:\\nout\\n*stderr:\\nerr*'
	is "$(result stdout) $(result stderr)" '"out" "err"'
}

@test "B: the fields stand in order, what has happened before the output; none is null, and what does not apply is left out" {
	boris
	run_bash 'echo hi; exit 3'
	is "$(get -k result structuredContent | xargs)" \
		'status exit_code cwd elapsed_ms stdout stderr'
	lacks "$reply" null
	run_bash 'head -c 40000 /dev/zero | tr "\0" a; head -c 40000 /dev/zero | tr "\0" b >&2; kill -KILL $$'
	is "$(get -k result structuredContent | xargs)" \
		'status exit_code signal note cwd elapsed_ms stdout stderr stdout_chars stderr_chars stdout_file stderr_file'
	run_bash 'read <gate' '{"timeout":50}'
	is "$(get -k result structuredContent | xargs)" \
		'status exit_code signal timed_out note cwd elapsed_ms stdout stderr'
	start_task 'exit 3'
	look "$task" '{"wait":10000}'
	is "$(get -k result structuredContent | xargs)" \
		'status exit_code task_id pid elapsed_ms stdout stderr'
}

@test "B: an exit code above 128 has the name of its signal" {
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
	for code in 0 1 126 127 128 255; do
		run_bash "exit $code"
		is "$code $(result signal)" "$code "
		lacks "$(text)" "$code ("
	done
}

@test "B: elapsed_ms is how long it has run, in the text from a second on; of a task while it runs, too" {
	boris
	begin
	run_bash 'read -t 0.3 <>never'
	least "$(result elapsed_ms)" 290
	most "$(result elapsed_ms)" "$(took)"
	begin
	run_bash 'read -t 1.2 <>never'
	least "$(result elapsed_ms)" 1190
	most "$(result elapsed_ms)" "$(took)"
	[[ $(text) =~ 'elapsed: '[0-9]+\.[0-9]' s' ]] || fail "$(text)"
	run_bash true
	most "$(result elapsed_ms)" 999
	lacks "$(text)" elapsed
	start_task 'echo x >a; read <gate'
	begun a
	least "$(result elapsed_ms)" 0
	pause 100
	look
	least "$(result elapsed_ms)" 95
	has "$(text)" 'elapsed: '
	release
	look "$task" '{"wait":10000}'
	least "$(result elapsed_ms)" 95
}

@test "B: a timeout comes first in the text; behind the exit code come cwd, elapsed and note" {
	mkdir d
	boris
	run_bash 'cd d; echo hi; read <../gate' '{"timeout":1000}'
	is "$(result status) $(result timed_out) $(get result isError)" '"timed_out" true false'
	like "$(plain note)" 'Command timed out after 1000ms; *'
	like "$(get -s result content 0 text)" "Command timed out after 1000ms
exit_code: 143 (SIGTERM)
cwd: $PWD
elapsed: 1.[0-9] s
note: ?*

stdout:
hi"
}

@test "B: a timeout above 600000 counts as 600000, and a note says so" {
	boris
	for timeout in 600001 1e18 99999999999999999999999; do
		run_bash 'echo hi' '{"timeout":'$timeout'}'
		is "$timeout $(result stdout)" "$timeout \"hi\\n\""
		notes '*600000*'
	done
	run_bash 'echo hi' '{"timeout":600000}'
	is "$(result stdout) $(result note)" '"hi\n" '
}

@test "B: a command that changed the directory says so after its exit code, controls in it escaped" {
	mkdir d $'a\nb'
	boris
	run_bash 'cd d; echo hi'
	is "$(text)" "\"exit_code: 0\\ncwd: $PWD/d\\n\\nstdout:\\nhi\\n\""
	is "$(plain cwd)" "$PWD/d"
	run_bash true
	lacks "$(text)" cwd
	is "$(plain cwd)" "$PWD/d"
	run_bash 'cd ../a*'
	is "$(plain cwd)" "$PWD/"$'a\nb'
	get -s result content 0 text >said
	is "$(grep -c '^cwd: .*a.*b$' said)" 1
	mkdir $'e\x7f\xc2\x85f'
	run_bash 'cd ../e*'
	get -s result content 0 text >said
	run_bash true '{"cwd":"/no\u007f\u009b"}'
	refused 'cannot change to cwd */no*'
	get -s result content 0 text >>said
	! grep $'\x7f\|\xc2[\x80-\x9f]' said
}

@test "B1: an exit code that is not 0 is no error, nor is 128 and the number of a signal" {
	boris
	for code in 0 1 2 42 126 127 255; do
		run_bash "exit $code"
		is "$(result exit_code) $(get result isError)" "$code false"
	done
	for signal in 1 9 15; do
		run_bash "kill -$signal \$\$"
		is "$(result status) $(result exit_code) $(get result isError)" \
			"\"completed\" $((128 + signal)) false"
	done
}

@test "B2: the shell is /bin/bash where there is one, whatever PATH says, neither a login shell nor interactive" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	mkdir bin
	printf '#!/bin/sh\necho wrong\n' >bin/bash
	cp bin/bash bin/sh
	chmod +x bin/*
	wrap=(env "PATH=$PWD/bin:$PATH" "SHELL=$PWD/bin/sh")
	boris
	run_bash 'a=(1 2) && echo ${#a[@]} $BASH; shopt -q login_shell && echo login; case $- in *i*) echo interactive; esac'
	is "$(result stdout)" '"2 /bin/bash\n"'
}

@test "B2: where there is no /bin/bash it is where other systems have it" {
	needs bash
	without_bash
	mkdir -p root/usr/local/bin root/usr/pkg/bin
	cp "$(type -P bash)" root/usr/pkg/bin
	boris
	run_bash 'echo "$BASH $0"'
	is "$(plain stdout)" '/usr/pkg/bin/bash /usr/pkg/bin/bash'
	leave
	cp "$(type -P bash)" root/usr/local/bin
	boris
	run_bash 'echo "$BASH $0"'
	is "$(plain stdout)" '/usr/local/bin/bash /usr/local/bin/bash'
}

@test "B2: where bash is in none of these places it is looked for in PATH, then /bin/sh, then sh in PATH" {
	needs bash
	without_bash
	mkdir -p root/opt/a/bash root/opt/b root/opt/c
	cp "$(type -P bash)" root/opt/b/bash
	export PATH_OF_ROOT=relative::/nosuch:/opt/a:/opt/b:/bin
	boris --workdir=/home
	run_bash 'echo "$BASH $0"; cd d'
	is "$(plain stdout) $(plain cwd)" '/opt/b/bash /opt/b/bash /home/d'
	leave
	chmod -x root/opt/b/bash
	boris --workdir=/home
	run_bash 'echo "[$BASH] $0"'
	is "$(plain stdout)" '[] /bin/sh'
	leave
	mv root/bin/sh root/opt/c/sh
	PATH_OF_ROOT=/opt/a:/opt/c:/bin
	boris --workdir=/home
	run_bash 'echo "[$BASH] $0"; cd d; false | true'
	is "$(plain stdout) $(plain cwd)" '[] /opt/c/sh /home/d'
	leave
	for PATH_OF_ROOT in /nosuch ''; do
		boris --workdir=/home
		run_bash true
		refused '*the shell /bin/sh*'
		leave
	done
}

@test "B3: a command that is blank, or contains a NUL, is refused" {
	boris
	for command in '""' '" "' '"\n"' '" \t\n \r"' '"touch ran\u0000"' '"\u0000touch ran"' \
		'"touch ran\u0000x"'; do
		run_tool bash '{"command":'"$command"'}'
		refused '*command*'
	done
	run_bash true
	[ ! -e ran ]
}

# long BYTES TAIL: a call with a command of just so many bytes that ends in TAIL
long() {
	id=$((++calls))
	{
		printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"bash","arguments":{"command":"x=' $id
		head -c $(($1 - 2 - ${#2})) /dev/zero | tr '\0' a
		printf '%s"}}}\n' "$2"
	} >&7
	answer
}

@test "B3: a command around the kernel's limit for one argument runs, and one of 1 MiB" {
	boris
	for size in 131000 131071 131072 131073 140000 1048576; do
		long $size '; echo ${#x}'
		is "$(plain stdout) $(result stderr)" "$((size - 14)) \"\""
	done
}

@test "B3: a long command is a command like any other" {
	mkdir d
	boris
	long 200000 '; cat; cd d; (exit 7)'
	is "$(result exit_code) $(result stdout) $(plain cwd)" "7 \"\" $PWD/d"
	long 200000 ' # a comment'
	is "$(result exit_code)" 0
	long 200000 '\ncat <<X; exit 5\nhi\nX'
	is "$(result exit_code) $(result stdout)" '5 "hi\n"'
	run_bash pwd
	is "$(plain stdout)" "$PWD/d"
}

@test "B4: a command reads the end of file from /dev/null, and cannot open /dev/tty" {
	boris
	run_bash 'cat; read x; echo $?; readlink /proc/self/fd/0
		(exec 5<>/dev/tty) 2>/dev/null || echo none; [ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo no terminal'
	is "$(plain stdout | grep -v '^/dev/null$')" $'1\nnone\nno terminal'
	[ ! -e /proc/self/fd ] || has "$(plain stdout)" /dev/null
}

@test "B4: started from a terminal, boris gives none to a command" {
	needs script
	[ -z "$WRAP" ] || skip "under $WRAP"
	export BORIS
	printf '%s\n' "$HELLO" '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{"command":"(exec 5<>/dev/tty) 2>&- || echo none; cat"}}}' |
		TEST_MARK="$PWD:" timeout $((20 * SLOW)) \
		script -qec '"$BORIS" 2>err >heard' /dev/null >tty 3>&- 6>&- 9>&-
	reply=$(tail -n 1 heard)
	is "$(result stdout)" '"none\n"'
}

# finishes CODE COMMAND: it exits with that, long before its timeout
finishes() {
	run_bash "$2" '{"timeout":20000}'
	is "$2: $(result status) $(result exit_code)" "$2: \"completed\" $1"
}

@test "B4: git takes the text that it has, and opens no editor, whatever the user has set" {
	needs git
	export EDITOR=vi VISUAL=vi GIT_EDITOR='sleep 60;:' GIT_SEQUENCE_EDITOR='sleep 60;:'
	wrap=(env HOME="$PWD" TERM=xterm)
	git init -q r
	git -C r config core.editor 'sleep 60;:'
	git -C r config user.name n
	git -C r config user.email e@x
	boris --workdir=r
	finishes 1 'git commit --allow-empty'
	has "$(plain stderr)" 'empty commit message'
	finishes 0 'for i in 1 2 3; do git commit --allow-empty -m m$i; done'
	finishes 0 'git commit --amend --allow-empty'
	finishes 0 'git rebase -i HEAD~2'
	finishes 0 'git log --format=%s'
	is "$(plain stdout)" $'m3\nm2\nm1'
}

@test "B4: vipw, crontab -e and sensible-editor fail at once" {
	tried=0
	export EDITOR=vi VISUAL=vi
	wrap=(env HOME="$PWD" TERM=xterm)
	boris
	for command in vipw 'crontab -e' 'sensible-editor x'; do
		[ -n "$(type -P "${command%% *}")" ] || continue
		finishes 1 "$command"
		tried=1
	done
	[ $tried = 1 ] || skip 'none of them here'
}

@test "B4: a command without a terminal gets no editor, and none gets GPG_TTY" {
	export EDITOR=vi VISUAL=vi GIT_EDITOR=vi GIT_SEQUENCE_EDITOR=vi KUBE_EDITOR=vi
	export EDITORS=kept GPG_TTY=/dev/tty SSH_ASKPASS_REQUIRE=
	boris
	want=$'EDITOR=false\nEDITORS=kept\nGIT_EDITOR=true\nSSH_ASKPASS_REQUIRE=\nVISUAL=false'
	names='EDITOR|VISUAL|GPG_TTY|SSH_ASKPASS'
	run_bash "env | grep -E '$names' | sort"
	is "$(plain stdout)" "$want"
	start_task "env | grep -E '$names' | sort"
	look "$task" '{"wait":10000}'
	is "$(plain stdout)" "$want"
	run_bash "env | grep -E '$names' | sort" '{"tty":true}'
	is "$(plain stdout | xargs)" \
		'EDITOR=vi EDITORS=kept GIT_EDITOR=vi GIT_SEQUENCE_EDITOR=vi KUBE_EDITOR=vi SSH_ASKPASS_REQUIRE= VISUAL=vi'
	leave
	unset "${!EDITOR@}" VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR KUBE_EDITOR GPG_TTY SSH_ASKPASS_REQUIRE
	boris
	run_bash "env | grep -E '$names' | sort | xargs"
	is "$(plain stdout)" 'EDITOR=false GIT_EDITOR=true SSH_ASKPASS_REQUIRE=never VISUAL=false'
}

@test "B4: if no locale variable is set, a command gets LC_CTYPE=C.UTF-8, but only if the host has it" {
	[ -r /usr/lib/locale/C.utf8/LC_CTYPE ] || skip 'no C.UTF-8 here'
	# what the SDKs pass on (M14), and what the tests need
	pass=(env -i HOME="$PWD" LOGNAME=u PATH="$PATH" SHELL=/bin/sh TERM=xterm USER=u
		TEST_MARK="$PWD:" TMPDIR="$PWD/tmp")
	for how in '' 'LANG= LC_ALL= LC_CTYPE='; do
		# shellcheck disable=SC2206
		wrap=("${pass[@]}" $how)
		boris
		run_bash 'x=$(printf "gr\xc3\xbcn"); echo ${#x} $LC_CTYPE; env | grep -c ^LC_CTYPE'
		is "$how: $(plain stdout)" "$how: 4 C.UTF-8"$'\n1'
		leave
	done
	for set in LANG=C LC_ALL=C LC_CTYPE=POSIX; do
		wrap=("${pass[@]}" $set)
		boris
		run_bash 'env | grep -E "^(LC_|LANG)"'
		is "$(plain stdout)" "$set"
		leave
	done
	without_bash
	boris --workdir=/home
	run_bash 'echo "[$LC_CTYPE]"'
	is "$(plain stdout)" '[]'
}

@test "B4: TERM is dumb, whatever boris's own is" {
	for term in xterm-256color ''; do
		wrap=(env "TERM=$term")
		boris
		run_bash 'echo "$TERM"; env | grep -c ^TERM='
		is "$(result stdout)" '"dumb\n1\n"'
		start_task 'echo "$TERM"'
		look "$task" '{"wait":10000}'
		is "$(result stdout)" '"dumb\n"'
		leave
	done
	wrap=(env -u TERM)
	boris
	run_bash 'env | grep ^TERM='
	is "$(result stdout)" '"TERM=dumb\n"'
}

@test "B4: LVM_SUPPRESS_FD_WARNINGS is 1 in commands and tasks, unless it is set" {
	wrap=(env -u LVM_SUPPRESS_FD_WARNINGS)
	boris
	run_bash 'echo "<$LVM_SUPPRESS_FD_WARNINGS>"'
	is "$(plain stdout)" '<1>'
	start_task 'echo "<$LVM_SUPPRESS_FD_WARNINGS>"'
	look "$task" '{"wait":20000}'
	is "$(plain stdout)" '<1>'
	leave
	wrap=(env LVM_SUPPRESS_FD_WARNINGS=)
	boris
	run_bash 'env | grep ^LVM'
	is "$(plain stdout)" 'LVM_SUPPRESS_FD_WARNINGS='
}

@test "B5: a command, and a task, reads its stdin byte for byte, then the end of file" {
	boris
	run_bash 'cat; echo "[$?]"' '{"stdin":"one\ntwo"}'
	is "$(result stdout)" '"one\ntwo[0]\n"'
	run_bash 'cat; echo "[$?]"' '{"stdin":""}'
	is "$(result stdout)" '"[0]\n"'
	run_bash 'od -An -tx1' '{"stdin":"\u0000a\u00e9\r\n\ud83d\ude00\ud800"}'
	is "$(plain stdout | tr -s ' \n' ' ')" ' 00 61 c3 a9 0d 0a f0 9f 98 80 ef bf bd '
	start_task 'cat' '{"stdin":"hi\n"}'
	look "$task" '{"wait":10000}'
	is "$(result stdout)" '"hi\n"'
}

# big BYTES COMMAND: a call with so many bytes of stdin (`a` and newlines)
big() {
	id=$((++calls))
	quote "$2"
	{
		printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"bash","arguments":{"command":%s,"stdin":"' $id "$quoted"
		yes 'aaaaaaaaaaaaaaa\n' | head -c $(($1 / 16 * 18)) | tr -d '\n'
		printf '"}}}\n'
	} >&7
	answer
}

@test "B5: a command writes 5 MiB of stdin to a file" {
	boris
	big 5242880 'cat >patch'
	is "$(result exit_code)" 0
	is "$(wc -c <patch | tr -d ' ')" 5242880
	yes aaaaaaaaaaaaaaa | head -n 327680 | cmp - patch
}

@test "B5: a command that reads none of its stdin is no error, and ends by its timeout" {
	boris
	big 5242880 true
	is "$(result exit_code) $(get result isError)" '0 false'
	big 5242880 'exec <&-; echo hi'
	is "$(result stdout)" '"hi\n"'
	big 5242880 'head -c 5'
	is "$(result stdout)" '"aaaaa"'
	call_bash 'read <gate' '{"stdin":"'"$(head -c 200000 /dev/zero | tr '\0' a)"'","timeout":200}'
	answer
	is "$(result status)" '"timed_out"'
}

@test "B5: 1 MiB of stdin and 1 MiB of output do not wait for each other" {
	boris
	big 1048576 'cat'
	is "$(result stdout_chars)" 1048576
	cmp <(yes aaaaaaaaaaaaaaa | head -n 65536) "$(plain stdout_file)"
	big 1048576 'head -c 1000000 /dev/zero | tr "\0" b; cat >copy'
	is "$(result exit_code) $(wc -c <copy | tr -d ' ')" '0 1048576'
}

@test "B5: while a command takes its time to read, others are answered" {
	boris
	{
		printf '{"jsonrpc":"2.0","id":91,"method":"tools/call","params":{"name":"bash","arguments":{"command":"read <gate; wc -c","stdin":"'
		head -c 3000000 /dev/zero | tr '\0' a
		printf '"}}}\n'
	} >&7
	in_turn
	release
	answer 91
	is "$(plain stdout | tr -d ' ')" 3000000
}

@test "B6: each tool has a short printable description, as have its arguments, and asks the client not to cut its results" {
	boris
	ask tools/list
	is "$(get result tools 0 name) $(get result tools 1 name)" '"bash" "task_output"'
	most ${#reply} 7168
	# a control character would stand there as an escape, \u0003 or \n
	lacks "${reply//\\\\/}" '\u00'
	lacks "${reply//\\\\/}" '\n'
	for tool in 0 1; do
		most "$(get -n result tools $tool description)" 1799
		is "$(get result tools $tool _meta anthropic/maxResultSizeChars)" 200000
		is "$(get result tools $tool inputSchema required)" ''
		is "$(get result tools $tool inputSchema additionalProperties)" false
		for name in $(get -k result tools $tool inputSchema properties); do
			like "$name $(get -s result tools $tool inputSchema properties $name description)" \
				"$name ?*"
		done
	done
	has "$(get -s result tools 0 inputSchema properties input description)" \
		'(\n is Enter, \u0003 Ctrl-C, \u0004 end of file)'
}

@test "B6: the inputSchemas have all arguments with their types" {
	boris
	ask tools/list
	for tool in 0 1; do
		for name in $(get -k result tools $tool inputSchema properties); do
			types+="$name:$(get -s result tools $tool inputSchema properties $name type) "
		done
		types+='| '
	done
	sorted() { xargs -n 1 <<<"$1" | sort | xargs; }
	is "$(sorted "${types%%|*}")" "$(sorted 'command:string timeout:integer run_in_background:boolean
		tty:boolean wait:integer until:string task_id:string input:string check_pid:integer
		kill_pid:integer cwd:string stdin:string truncate:string limit:integer description:string')"
	is "$(sorted "${types#*|}")" "$(sorted '| task_id:string wait:integer until:string new:boolean
		truncate:string limit:integer')"
	is "$(get result tools 0 inputSchema properties truncate enum)" '["head","tail","both"]'
}

@test "B6: the outputSchema of both tools describes every field" {
	boris
	ask tools/list
	for tool in 0 1; do
		for name in $(get -k result tools $tool outputSchema properties); do
			echo "$name:$(get -s result tools $tool outputSchema properties $name type)"
		done | xargs >types
		is "$(sed 's/ tasks:array$//' types)" 'status:string exit_code:integer signal:string timed_out:boolean note:string task_id:string pid:integer cwd:string elapsed_ms:integer stdout:string screen:string stderr:string stdout_chars:integer stderr_chars:integer stdout_file:string stderr_file:string'
		is "$(get result tools $tool outputSchema properties status enum)" \
			'["completed","running","timed_out","killed"]'
	done
	has "$(<types)" tasks:array
	# A list of tasks has no status.
	is "$(get result tools 0 outputSchema required)" '["status"]'
	lacks "$(get result tools 1 outputSchema required)" status
}

@test "B6: the annotations say what the tools do" {
	boris
	ask tools/list
	is "$(get result tools 0 annotations readOnlyHint)" false
	isnt "$(get result tools 0 annotations destructiveHint)" false
	is "$(get result tools 1 annotations readOnlyHint)" false
}

@test "B7: the start of a task says in text and data what it is, and how to read and to end it" {
	boris
	start_task 'read <gate'
	is "$(result status)" '"running"'
	like "$(text)" '"status: running\\n*'
	has "$(text)" "$task"
	has "$(text)" "$pid"
	lacks "$(text)" 'stdout:'
	lacks "$(text)" '(no '
	notes '*task_output*'
	notes '*kill_pid*'
	look
	is "$(result note)" ''
}

@test "B6: an error has the text alone" {
	boris
	run_bash ''
	is "$(get result isError)" true
	is "$(result)" ''
	is "$(get -n result content)" 1
}

# all_are KIND: the list of tools, a result and the list of tasks are so
all_are() {
	ask tools/list
	is "tools: $(kind)" "tools: $1"
	run_bash 'echo hi'
	is "result: $(kind)" "result: $1"
	run_tool task_output '{}'
	is "tasks: $(kind)" "tasks: $1"
}

@test "B6: a client that would show the data in place of the text gets the text alone" {
	start
	for name in claude-code codex-mcp-client copilot-cli; do
		called $name
		hello
		all_are text
	done
	for name in opencode gemini-cli-mcp-client claude-code-2 claude Codex-mcp-client ''; do
		called "$name"
		hello
		all_are data
	done
	HELLO=${HELLO/,'"clientInfo":{"name":"","version":"1"}'}
	hello
	all_are data
}

@test "B6: without a handshake each request names its client, and gets that one's kind of result" {
	boris
	start_task 'read <gate'
	for name in codex-mcp-client t; do
		called $name
		call task_output '{"task_id":"'"$task"'","wait":60000}' "{$META}"
		ids+=("$id")
		call_bash 'read <gate' '{}' "{$META}"
		ids+=("$id")
	done
	for name in t codex-mcp-client; do
		called $name
		modern tools/list
		kinds+=("$(kind) $(get result cacheScope)")
	done
	is "${kinds[*]}" 'data "private" text "private"'
	release 3
	kinds=()
	for id in "${ids[@]}"; do
		answer
		kinds+=("$(kind)")
	done
	is "${kinds[*]}" 'text text data data'
}

@test "B6: with --structured=on or off all clients get the same kind of result: with data, or text alone" {
	for kind in on:data off:text; do
		start --structured=${kind%:*}
		for name in t claude-code; do
			called $name
			hello
			all_are ${kind#*:}
			run_bash 'echo hi; exit 3'
			has "$(text)" 'stdout:\nhi\n'
			modern tools/list
			is "$(kind) $(get result cacheScope)" "${kind#*:} \"private\""
		done
		leave
	done
}

# --- B7: the next step is in the result

@test "B7: a timeout's note says what to do with a longer job, a server, a prompt" {
	boris
	run_bash 'read <gate' '{"timeout":1000}'
	is "$(result status)" '"timed_out"'
	notes '*use run_in_background for longer jobs and servers, and tty for interactive programs*'
}

@test "B7: if a timeout below 1000 expires, the note says that its unit is milliseconds" {
	boris
	run_bash 'read <gate' '{"timeout":300}'
	is "$(plain note)" 'Command timed out after 300ms; timeout is in milliseconds; use run_in_background for longer jobs and servers, and tty for interactive programs'
	run_bash 'read <gate' '{"timeout":300,"run_in_background":true,"wait":20000}'
	is "$(plain note)" 'the task was terminated, because its timeout expired; timeout is in milliseconds'
	run_bash 'read <gate' '{"timeout":1000,"run_in_background":true,"wait":20000}'
	is "$(plain note)" 'the task was terminated, because its timeout expired'
	run_bash 'read <gate' '{"timeout":1000}'
	lacks "$reply" 'milliseconds'
	run_bash 'echo hi' '{"timeout":999}'
	is "$(result note)" ''
}

@test "B7: if until was not seen within less than a second, the note says that the unit of wait is milliseconds" {
	boris
	run_bash 'read <gate' '{"until":"ready","wait":30}'
	has "$(plain note)" 'wait is in milliseconds'
	run_bash 'read <gate' '{"until":"ready","wait":1000}'
	lacks "$(plain note)" 'milliseconds'
}

@test "B7: where processes were left running the note says that their further output is not shown" {
	boris
	run_bash 'echo $$; { read; echo late; } <gate & echo early'
	group=$(plain stdout | head -n 1)
	is "$(plain note)" "the command left processes running, and their further output is not shown; stop them with: kill -- -$group"
	start_task 'read <gate & exit 3'
	look "$task" '{"wait":10000}'
	is "$(plain note)" "the command left processes running, and their further output is not shown; stop them with: kill -- -$pid"
}

@test "B7: a command that left processes running says so, and how to end them" {
	boris
	run_bash 'echo $$; read <gate 2>&1 & echo $! >child'
	group=$(plain stdout)
	is "$(result exit_code)" 0
	notes "*kill -- -$group*"
	there child
	run_bash "kill -- -$group"
	eventually gone child
	# What has ended with its command, or left its group, is none.
	run_bash 'true & wait; (exit 0) | cat'
	is "$(result note)" ''
}

@test "B7: what a command left running in other groups than its own is noted, and how to end it" {
	needs pkill
	needs_linux_parts
	boris
	run_bash 'echo $$; set -m; read <gate 2>&1 & echo $! >child'
	session=$(plain stdout)
	notes "*pkill -s $session"
	lacks "$(result note)" 'kill --'
	there child
	run_bash "pkill -s $session"
	is "$(result exit_code)" 0
	eventually gone child
}

@test "B7: a process that ends a moment after its command is not noted as left running" {
	boris
	# On a busy machine the moment may be a long one.
	for i in 1 2 3 4 5 6 7 8 9; do
		run_bash 'sleep 0.002 & true'
		[ "$(result note)" != '' ] || break
	done
	is "$(result note)" ''
	for i in 1 2 3 4 5 6 7 8 9; do
		run_bash 'setsid sleep 0.1 >/dev/null 2>&1 & echo $! >far'
		[ "$(result note)" != '' ] || break
	done
	is "$(result note)" ''
	eventually gone far
}

@test "B7: a task whose leader has ended before its group says so" {
	boris
	start_task 'read <gate & echo $! >child; echo hi; exit 3'
	look "$task" '{"wait":10000}'
	is "$(result status) $(result exit_code) $(result stdout)" '"completed" 3 "hi\n"'
	notes "*kill -- -$pid*"
	there child
	run_bash "kill -- -$pid"
	eventually gone child
}

@test "B7: a shell ended by a signal that boris did not send has a note that says so" {
	boris
	run_bash 'kill -TERM $$'
	is "$(result status) $(result signal)" '"completed" "SIGTERM"'
	notes '*[Ss]ignal*'
	run_bash 'kill -KILL $$'
	notes '*memory*'
	run_bash 'kill -34 $$'
	is "$(result exit_code) $(result signal)" '162 '
	notes '*signal 34*'
	# The same code without a signal
	run_bash 'exit 143'
	is "$(result exit_code) $(result note)" '143 '
	run_bash 'sh -c "kill -TERM \$\$"; exit $?'
	is "$(result exit_code) $(result note)" '143 '
}

@test "B7, T4: a shell that boris ends, a stopped task's too, has no note of a signal by others" {
	boris
	start_task 'echo x >a; kill -STOP $$'
	begun a
	run_tool bash '{"kill_pid":'"$pid"'}'
	is "$(result status) $(result exit_code) $(result signal) $(result timed_out)$(result note)" '"killed" 143 "SIGTERM" '
	run_bash 'read <gate' '{"timeout":1000}'
	lacks "$(plain note)" ignal
}

@test "B7: a pipeline whose end hides a failure has its exit codes" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	boris
	while read -r codes command; do
		run_bash "$command"
		is "$command: $(result exit_code)" "$command: 0"
		has "$(plain note)" "exit codes of the last pipeline: ${codes//,/ }" || return
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
	run_bash $'cd /\nfalse |\n cat'
	has "$(plain note)" 'exit codes of the last pipeline: 1 0'
	is "$(plain cwd)" /
}

@test "B7: in the background and on a terminal a failing pipeline has its exit codes, too" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	boris
	for how in '"run_in_background":true,"wait":10000' '"tty":true'; do
		run_bash '(exit 2) | cat' "{$how}"
		is "$(result status) $(result exit_code)" '"completed" 0'
		notes 'exit codes of the last pipeline: 2 0'
	done
}

@test "B: a task without a pipeline is its shell alone: its pid is the program's" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	boris
	start_task 'test -p gate || exit 1; cat gate'
	eventually is_program cat
}

# is_program NAME: the last task's pid is that of a program of this name
is_program() {
	[ "$(cat "/proc/$pid/comm")" = "$1" ]
}

@test "B7: a pipeline that hides no failure has no note of its exit codes" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	boris
	# SIGPIPE; an exit code that shows it; one command; a later one; none
	while read -r command; do
		run_bash "$command"
		lacks "$command: $(plain note)" pipeline || return
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

@test "B7: the exit codes of a pipeline are reported although the command contains grep" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	mkdir grep-test
	boris
	while read -r codes command; do
		run_bash "$command"
		has "$command: $(plain note)" "exit codes of the last pipeline: ${codes//,/ }" || return
	done <<'END'
1,0 cd grep-test; false | tail -n 3; # grep
1,0,0 { echo x; false; } | grep -v DEBUG | tail
1,0 grep nothing-like-it /dev/null | cat
1,0 pgrep nothing-like-it | cat
END
}

@test "B7: the exit codes of a pipeline are reported if its last part fails with another code" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	boris
	run_bash '(echo built; exit 2) | grep warning'
	is "$(result exit_code)" 1
	has "$(plain note)" 'exit codes of the last pipeline: 2 1'
	run_bash '(exit 2) | (exit 3)'
	has "$(plain note)" 'exit codes of the last pipeline: 2 3'
}

@test "B7: keeping a pipeline's exit codes changes nothing of the command" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	mkdir d
	boris
	run_bash 'set -eu; cd d; false | cat; echo "${PIPESTATUS[*]}"'
	is "$(result stdout) $(result stderr) $(result note)" '"1 0\n" "" '
	is "$(plain cwd)" "$PWD/d"
	run_bash 'set -x; false | true'
	lacks "$(result stderr)" PIPESTATUS
	run_bash 'IFS=,; false | true'
	has "$(plain note)" 'exit codes of the last pipeline: 1 0'
}

@test "B7: where there is no bash a pipeline has no note of exit codes" {
	without_bash
	boris --workdir=/home
	run_bash '(exit 2) | cat'
	is "$(result exit_code) $(result stdout) $(result note)" '0 "" '
}

@test "B7: wait, and what belongs to the other tool are told where they belong" {
	boris
	run_tool bash '{"command":"touch ran","new":true}'
	refused '*new*task_output*'
	start_task 'read <gate'
	for argument in '"command":"touch ran"' '"cwd":"/"' '"kill_pid":'"$pid" \
	                '"stdin":"x"' '"run_in_background":true'; do
		name=${argument#\"}
		run_tool task_output '{"task_id":"'"$task"'",'"$argument"'}'
		refused "*${name%%\"*}*bash*"
	done
	run_bash 'ls ran'
	is "$(result exit_code)" 2
	look
	is "$(result status)" '"running"'
	run_bash 'touch ran' '{"wait":1000}'
	refused 'wait*run_in_background*'
	run_bash 'ls ran'
	is "$(result exit_code)" 2
}

@test "B7, T3: the error about an unknown task names it, says why it may be gone, and which tasks there are" {
	boris
	start_task 'read <gate'
	for name in nope 0123456789abcdef "$task\u0000"; do
		look "$name" '{"wait":1000}'
		refused "task not found: ${name%\\u0000}*"
		refused '*read*'
		refused "*$task*"
	done
	run_tool bash '{"check_pid":1}'
	refused 'no background process with pid 1*'
	refused "*$pid*"
}

@test "B7: where until was not seen the note says what it is, and why nothing may come" {
	boris
	run_bash 'read <gate' '{"run_in_background":true,"until":"ready|listening","wait":100}'
	has "$(plain note)" 'plain text, not a pattern'
	notes '*buffer*output*'
	notes '*terminal*'
	run_bash 'echo other; read <gate' '{"run_in_background":true,"until":"ready","wait":100}'
	has "$(plain note)" 'plain text, not a pattern'
	lacks "$(plain note)" buffer
}
