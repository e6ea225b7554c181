#!/usr/bin/env bats
# B: the bash tool
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

@test "B: what came out, as text and as data" {
	boris
	run_bash 'echo hi; exit 3'
	is "$(text)" '"exit_code: 3\n\nstdout:\nhi\n"'
	is "$(result status)" '"completed"'
	is "$(result stdout)" '"hi\n"'
	is "$(result stderr)" '""'
	is "$(result exit_code)" 3
	is "$(plain cwd)" "$PWD"
	is "$(get -n result content)" 1
	is "$(get result content 0 type)" '"text"'
}

@test "B: stderr has its own section after stdout" {
	boris
	run_bash 'echo out; echo err >&2'
	is "$(text)" '"exit_code: 0\n\nstdout:\nout\n\nstderr:\nerr\n"'
	is "$(result stdout) $(result stderr)" '"out\n" "err\n"'
}

@test "B: empty sections are left out of the text and are empty in the data" {
	boris
	run_bash true
	like "$(text)" '"exit_code: 0*'
	lacks "$(text)" stdout
	lacks "$(text)" stderr
	is "$(result stdout) $(result stderr)" '"" ""'
	run_bash 'echo err >&2'
	is "$(text)" '"exit_code: 0\n\nstderr:\nerr\n"'
}

@test "B: sections stay apart when the output has no newline at its end" {
	boris
	run_bash 'printf out; printf err >&2'
	like "$(text)" '"exit_code: 0\\n\\nstdout:\\nout\\n*stderr:\\nerr*'
	is "$(result stdout) $(result stderr)" '"out" "err"'
}

@test "B: what does not apply is not there, and nothing is null" {
	boris
	run_bash 'echo hi'
	for name in timed_out task_id pid stdout_chars stderr_chars stdout_file \
	            stderr_file note; do
		is "$name $(result $name)" "$name "
	done
	lacks "$reply" null
}

@test "B: a timeout comes first in the text, and has its fields" {
	boris
	run_bash 'echo hi; read <gate' '{"timeout":'$((200 * SLOW))'}'
	like "$(text)" '"Command timed out after '$((200 * SLOW))'ms\\n*'
	has "$(text)" 'exit_code: 143'
	has "$(text)" 'stdout:\nhi\n'
	is "$(result status)" '"timed_out"'
	is "$(result timed_out)" true
	is "$(result exit_code)" 143
	is "$(result stdout)" '"hi\n"'
	is "$(get result isError)" false
}

@test "B: a timeout above 600000 counts as 600000" {
	boris
	run_bash 'echo hi' '{"timeout":600001}'
	is "$(result stdout)" '"hi\n"'
	run_bash 'echo hi' '{"timeout":1e18}'
	is "$(result stdout)" '"hi\n"'
	run_bash 'echo hi' '{"timeout":99999999999999999999999}'
	is "$(result stdout)" '"hi\n"'
}

@test "B: a command that changed the directory says so after its exit code" {
	mkdir d
	boris
	run_bash 'cd d; echo hi'
	is "$(text)" "\"exit_code: 0\\ncwd: $PWD/d\\n\\nstdout:\\nhi\\n\""
	is "$(plain cwd)" "$PWD/d"
	run_bash true
	lacks "$(text)" cwd
	is "$(plain cwd)" "$PWD/d"
}

@test "B: a newline in the directory's name is escaped in the text" {
	mkdir $'a\nb'
	boris
	run_bash $'cd a*'
	is "$(plain cwd)" "$PWD/"$'a\nb'
	get -s result content 0 text >said
	is "$(grep -c '^cwd: .*a.*b$' said)" 1
}

@test "B: description is ignored" {
	boris
	run_bash 'echo hi' '{"description":"Says hi"}'
	is "$(result stdout)" '"hi\n"'
}

@test "B1: an exit code that is not 0 is no error" {
	boris
	for code in 0 1 2 42 126 127 255; do
		run_bash "exit $code"
		is "$(result exit_code) $(get result isError)" "$code false"
	done
	run_bash 'no-such-program-at-all'
	is "$(result exit_code) $(get result isError)" '127 false'
}

@test "B1: a command that a signal ended has 128 and its number" {
	boris
	run_bash 'kill -KILL $$'
	is "$(result status) $(result exit_code)" '"completed" 137'
	run_bash 'kill -TERM $$'
	is "$(result exit_code)" 143
	run_bash 'kill -HUP $$'
	is "$(result exit_code)" 129
	is "$(get result isError)" false
}

@test "B2: the shell is bash where there is /bin/bash" {
	[ -x /bin/bash ] || skip 'no /bin/bash here'
	boris
	run_bash '[[ -n $BASH_VERSION ]] && a=(1 2) && echo ${#a[@]}'
	is "$(result stdout)" '"2\n"'
}

@test "B2: the shell is neither a login shell nor interactive" {
	boris
	run_bash 'shopt -q login_shell && echo login; case $- in *i*) echo interactive; esac; echo -'
	is "$(result stdout)" '"-\n"'
}

@test "B2: the shell is not looked up in PATH" {
	mkdir bin
	printf '#!/bin/sh\necho wrong\n' >bin/bash
	cp bin/bash bin/sh
	chmod +x bin/*
	wrap=(env "PATH=$PWD/bin:$PATH" "SHELL=$PWD/bin/sh")
	boris
	run_bash 'echo right'
	is "$(result stdout)" '"right\n"'
}

@test "B3: a command that is blank is refused" {
	boris
	for command in '""' '" "' '"\n"' '" \t\n \r"'; do
		run_tool bash '{"command":'"$command"'}'
		refused '*command*'
	done
}

@test "B3: a command that contains a NUL is refused" {
	boris
	for command in '"touch ran\u0000"' '"\u0000touch ran"' '"touch ran\u0000x"'; do
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

@test "B3: a command around the kernel's limit for one argument runs" {
	boris
	for size in 131000 131071 131072 131073 140000; do
		long $size '; echo ${#x}'
		is "$(plain stdout)" $((size - 14))
	done
}

@test "B3: a command of 1 MiB runs" {
	boris
	long 1048576 '; echo ${#x}'
	is "$(plain stdout)" 1048562
	is "$(result stderr)" '""'
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

@test "B4: a command reads the end of file" {
	boris
	run_bash 'cat; read x; echo $?'
	is "$(result stdout)" '"1\n"'
}

@test "B4: stdin is /dev/null" {
	needs_linux
	boris
	run_bash 'readlink /proc/self/fd/0'
	is "$(result stdout)" '"/dev/null\n"'
}

@test "B4: a command cannot open /dev/tty" {
	boris
	run_bash '(exec 5<>/dev/tty) 2>/dev/null || echo none; [ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo no terminal'
	is "$(result stdout)" '"none\nno terminal\n"'
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

@test "B5: the command reads the text, then the end of file" {
	boris
	run_bash 'cat; echo "[$?]"' '{"stdin":"one\ntwo"}'
	is "$(result stdout)" '"one\ntwo[0]\n"'
}

@test "B5: an empty text is the end of file" {
	boris
	run_bash 'cat; echo "[$?]"' '{"stdin":""}'
	is "$(result stdout)" '"[0]\n"'
}

@test "B5: the text arrives byte for byte, NUL and UTF-8 too" {
	boris
	run_bash 'od -An -tx1' '{"stdin":"\u0000a\u00e9\r\n\ud83d\ude00\ud800"}'
	is "$(plain stdout | tr -s ' \n' ' ')" ' 00 61 c3 a9 0d 0a f0 9f 98 80 ef bf bd '
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

@test "B5: 5 MiB go into a file" {
	boris
	big 5242880 'cat >patch'
	is "$(result exit_code)" 0
	is "$(wc -c <patch | tr -d ' ')" 5242880
	yes aaaaaaaaaaaaaaa | head -n 327680 | cmp - patch
}

@test "B5: a command that reads none of 5 MiB is no error" {
	boris
	big 5242880 true
	is "$(result exit_code) $(get result isError)" '0 false'
	big 5242880 'exec <&-; echo hi'
	is "$(result stdout)" '"hi\n"'
	big 5242880 'head -c 5'
	is "$(result stdout)" '"aaaaa"'
}

@test "B5: neither waits for the other: 1 MiB goes in and 1 MiB comes out" {
	boris
	big 1048576 'cat'
	is "$(result stdout_chars)" 1048576
	cmp <(yes aaaaaaaaaaaaaaa | head -n 65536) "$(plain stdout_file)"
}

@test "B5: a command that prints before it reads is not stuck" {
	boris
	big 1048576 'head -c 1000000 /dev/zero | tr "\0" b; cat >copy'
	is "$(result exit_code)" 0
	is "$(wc -c <copy | tr -d ' ')" 1048576
}

@test "B5: a command that does not read ends by its timeout" {
	boris
	call_bash 'read <gate' '{"stdin":"'"$(head -c 200000 /dev/zero | tr '\0' a)"'","timeout":200}'
	answer
	is "$(result status)" '"timed_out"'
}

@test "B5: a background task reads its text too" {
	boris
	start_task 'cat' '{"stdin":"hi\n"}'
	look "$task" '{"wait":10000}'
	is "$(result stdout)" '"hi\n"'
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

@test "B6: each tool has a description under 1,500 characters" {
	boris
	ask tools/list
	is "$(get result tools 0 name) $(get result tools 1 name)" '"bash" "task_output"'
	most "$(get -n result tools 0 description)" 1499
	most "$(get -n result tools 1 description)" 1499
	least "$(get -n result tools 0 description)" 100
}

@test "B6: tools/list as a whole stays within 6 KiB" {
	boris
	ask tools/list
	most ${#reply} 6144
}

@test "B6: each tool asks the client not to cut its results" {
	boris
	ask tools/list
	for tool in 0 1; do
		is "$(get result tools $tool _meta anthropic/maxResultSizeChars)" 200000
	done
}

@test "B6: bash's inputSchema has all its arguments with their types" {
	boris
	ask tools/list
	while read -r name type; do
		is "$name $(get result tools 0 inputSchema properties $name type)" \
			"$name \"$type\""
	done <<END
command string
timeout integer
run_in_background boolean
check_pid integer
kill_pid integer
cwd string
stdin string
truncate string
description string
END
	is "$(get result tools 0 inputSchema properties truncate enum)" '["head","tail","both"]'
	is "$(get -n result tools 0 inputSchema properties)" 9
	is "$(get result tools 0 inputSchema additionalProperties)" false
	is "$(get result tools 0 inputSchema required)" ''
}

@test "B6: task_output's inputSchema has all its arguments with their types" {
	boris
	ask tools/list
	is "$(get result tools 1 inputSchema properties task_id type)" '"string"'
	is "$(get result tools 1 inputSchema properties wait type)" '"integer"'
	is "$(get result tools 1 inputSchema properties new type)" '"boolean"'
	is "$(get -n result tools 1 inputSchema properties)" 3
	is "$(get result tools 1 inputSchema required)" '["task_id"]'
	is "$(get result tools 1 inputSchema additionalProperties)" false
}

@test "B6: the outputSchema of both tools describes every field" {
	boris
	ask tools/list
	for tool in 0 1; do
		while read -r name type; do
			is "$name $(get result tools $tool outputSchema properties $name type)" \
				"$name \"$type\""
		done <<END
status string
stdout string
stderr string
exit_code integer
timed_out boolean
task_id string
pid integer
stdout_chars integer
stderr_chars integer
stdout_file string
stderr_file string
cwd string
note string
END
		is "$(get -n result tools $tool outputSchema properties)" 13
		is "$(get result tools $tool outputSchema required)" '["status"]'
		is "$(get result tools $tool outputSchema properties status enum)" \
			'["completed","running","timed_out","killed"]'
	done
}

@test "B6: the annotations say what the tools do" {
	boris
	ask tools/list
	is "$(get result tools 0 annotations readOnlyHint)" false
	isnt "$(get result tools 0 annotations destructiveHint)" false
	is "$(get result tools 1 annotations readOnlyHint)" true
}

@test "B6: all of the data is in the text too" {
	boris
	run_bash 'head -c 40000 /dev/zero | tr "\0" a; echo err >&2; exit 4'
	said=$(get -s result content 0 text)
	has "$said" 'exit_code: 4'
	has "$said" "$(plain stdout)"
	has "$said" "$(plain stdout_file)"
	has "$said" 'err'
	has "$said" 40000
}

@test "B6: a background start says in the text what it says in the data" {
	boris
	start_task 'read <gate'
	is "$(result status)" '"running"'
	like "$(text)" "\"status: running\\\\n*task_id: $task\\\\n*pid: $pid*"
	like "$(plain task_id)" '?*'
	is "$(get result isError)" false
}

@test "B6: an error has the text alone" {
	boris
	run_bash ''
	is "$(get result isError)" true
	is "$(result)" ''
	is "$(get -n result content)" 1
}

@test "B6: with --structured=off results are text alone, and tools have no outputSchema" {
	boris --structured=off
	ask tools/list
	is "$(get result tools 0 outputSchema)$(get result tools 1 outputSchema)" ''
	is "$(get -n result tools)" 2
	run_bash 'echo hi; exit 3'
	is "$(result)" ''
	is "$(text)" '"exit_code: 3\n\nstdout:\nhi\n"'
	is "$(get result isError)" false
}
