#!/usr/bin/env bats
# P: the protocol, as the handshake revisions have it (SPEC P; MCP 2024-11-05 to
# 2025-11-25)
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# refuses_line LINE CODE ID: the line gets that error, and boris goes on
refuses_line() {
	send "$1"
	hear
	is "$1 -> $(code) $(get -v id)" "$1 -> $2 $3"
	next_is_ping
}

# says_nothing LINE: the line gets no answer
says_nothing() {
	send "$1"
	next_is_ping || fail "answered: $1"
}

# bad_json TEXT...: none of them is JSON
bad_json() {
	local text
	boris
	for text; do
		refuses_line "$text" -32700 null
	done
}

@test "P1, P11: each handshake revision is spoken: tools and nothing else, and instructions of at most 500 characters" {
	for version in 2024-11-05 2025-03-26 2025-06-18 2025-11-25; do
		start
		send "${HELLO/2025-11-25/$version}"
		hear
		is "$(get -v id) $(get result protocolVersion)" "0 \"$version\""
		is "$(get result capabilities) $(get result serverInfo name)" '{"tools":{}} "boris"'
		isnt "$(get result serverInfo version)" ''
		is "$(get -k result | sort | xargs)" 'capabilities instructions protocolVersion serverInfo'
		least "$(get -n result instructions)" 30
		most "$(get -n result instructions)" 500
		instructions=$(get result instructions)
		modern server/discover
		is "$(get result instructions)" "$instructions"
		hello $version
		ask tools/list
		is "$(get -n result tools)" 2
		run_bash 'exit 3'
		is "$(result exit_code)" 3
		leave
	done
}

@test "P1: to an unknown version, 2026-07-28 too, the answer is 2025-11-25" {
	start
	for version in 2026-07-28 1.0 '' 2025-11-25x 2099-01-01; do
		send "${HELLO/2025-11-25/$version}"
		hear
		is "$(get result protocolVersion)" '"2025-11-25"'
	done
}

@test "P1: initialize without a version, or with a number for one, is -32602; it needs nothing else" {
	start
	for params in '{"capabilities":{},"clientInfo":{"name":"c","version":"1"}}' \
		'{"protocolVersion":20250618}' ''; do
		ask initialize "$params"
		is "$(code)" -32602
	done
	ask initialize '{"protocolVersion":"2025-06-18"}'
	is "$(get result protocolVersion)" '"2025-06-18"'
}

@test "P1: before the handshake ping alone is answered; what follows initialize is served at once" {
	start
	ask ping
	is "$(get result)" '{}'
	for call in tools/list tools/call; do
		ask $call '{"name":"bash","arguments":{"command":"touch ran"}}'
		is "$(code)" -32602
		has "$(get error message)" io.modelcontextprotocol/protocolVersion
		has "$(get error message)" initialize
	done
	says_nothing '{"jsonrpc":"2.0","method":"tools/list"}'
	[ ! -e ran ]
	send "$HELLO" '{"jsonrpc":"2.0","id":91,"method":"tools/list"}'
	answer 91
	is "$(get -n result tools)" 2
}

@test "P1: a second initialize keeps directory and tasks" {
	mkdir d
	boris
	run_bash 'cd d'
	start_task 'read <../gate'
	hello 2024-11-05
	is "$(get result protocolVersion)" '"2024-11-05"'
	run_bash pwd
	is "$(plain stdout)" "$PWD/d"
	look
	is "$(result status)" '"running"'
}

@test "P1: initialize cannot be cancelled" {
	start
	send '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}' \
		"$HELLO" \
		'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}'
	hear
	is "$(get -v id)" 0
	is "$(get result protocolVersion)" '"2025-11-25"'
	next_is_ping
}

@test "P1, P9: requests printed into boris by a shell are all answered, a last line without newline too" {
	printf '%s\n' "$HELLO" \
		'{"jsonrpc":"2.0","id":1,"method":"ping"}' \
		'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"bash","arguments":{"command":"echo hi"}}}' \
		'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"bash","arguments":{"command":"exit 3"}}}' >in
	printf %s '{"jsonrpc":"2.0","id":4,"method":"ping"}' >>in
	filter <in >heard
	is $status 0
	is "$(all -v id | sort | xargs)" '0 1 2 3 4'
	is "$(all -v id | grep -x '[023]' | xargs)" '0 2 3'
	filter </dev/null >out
	is "$status $(cat out err)" '0 '
}

@test "P1: CR LF, white space, a byte order mark at the start, escaped and repeated names, and single bytes are taken" {
	start
	send $'\xef\xbb\xbf'"$HELLO"$'\r'
	hear
	is "$(get result protocolVersion)" '"2025-11-25"'
	send $' \t {"jsonrpc" : "2.0" , "id" : 2 , "method" : "ping" } \t \r'
	hear
	is "$(get -v id) $(get result)" '2 {}'
	send '{"\u006asonrpc":"2.0","\u0069d":1,"m\u0065thod":"p\u0069ng","id":3}'
	hear
	is "$(get -v id) $(get result)" '3 {}'
	message='{"jsonrpc":"2.0","id":1,"method":"ping"}'
	for ((i = 0; i < ${#message}; i++)); do
		printf %s "${message:i:1}" >&7
	done
	echo >&7
	hear
	is "$(get -v id)" 1
	refuses_line $'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}' -32700 null
}

@test "P2: an id comes back exactly as it was sent, in errors and results of tools as well" {
	boris
	for id in 0 7 -5 1.0 1.50 1e3 1E+3 -0 0.1e-7 9007199254740993 \
	          123456789012345678901234567890 '""' '"x"' '"5"' '"a\u0062"' \
	          '"\/"' '"\n\t\"\\"' '"é"' '"\ud83d\ude00"' '"\u0000"' '"  "' \
	          \"$(printf %01000d 0)\"; do
		request "$id" ping
		hear
		is "$(get -v id)" "$id"
	done
	request '"a\u0062"' nope
	hear
	is "$(get -v id)" '"a\u0062"'
	request 1.0 tools/call '{"name":"bash","arguments":{"command":"true"}}'
	hear
	is "$(get -v id)" 1.0
}

@test "P2: a lone surrogate in an id or a command is U+FFFD" {
	boris
	for lone in '\ud800' '\udc00' '\ud800x' '\udc00\ud800'; do
		request "\"$lone\"" ping
		hear
		is "$(get -s id)" "$(printf %s "$lone" | sed 's/\\u..../\xef\xbf\xbd/g')"
		lacks "$reply" '\ud'
	done
	run_tool bash '{"command":"printf %s \ud800"}'
	is "$(plain stdout)" $'\xef\xbf\xbd'
	run_tool bash '{"command":"printf %s \ud83d\ude00"}'
	is "$(plain stdout)" $'\xf0\x9f\x98\x80'
}

# --- P3: what is no message, or no good one (JSON-RPC 2.0, RFC 8259)

@test "P3: what is cut off, loose, or not UTF-8, wrong numbers and escapes, controls and NUL are -32700" {
	bad_json '{' '}' '{"jsonrpc":"2.0","id":4,"method"' '[1' '"abc' '{"a":1]' \
		'{"jsonrpc":"2.0","id":1,"method":"ping"' \
		"{'a':1}" '{a:1}' '{"a":1,}' '[1,]' '{"a" 1}' '{,}' 'nul' 'True' \
		'{"a":undefined}' '// x' '{"jsonrpc":"2.0","id":1,"method":"ping"}x' \
		'{"jsonrpc":"2.0","id":1,"method":"ping"}{}' \
		'{"id":01}' '{"id":+1}' '{"id":1.}' '{"id":.5}' '{"id":NaN}' \
		'{"id":-}' '{"id":1e}' '{"id":0x1}' '{"id":Infinity}' '{"id":--1}' \
		'{"a":"\x41"}' '{"a":"\u12"}' '{"a":"\u12g4"}' '{"a":"\"}' \
		$'{"a":"\t"}' $'{"a":"\x01"}' $'{"a":"\x1b"}' \
		$'{"a":"\xff"}' $'{"a":"\xc3"}' $'{"a":"\xc0\x80"}' \
		$'{"a":"\xed\xa0\x80"}' $'{"a":"\xf4\x90\x80\x80"}' $'{"a":"\xe2\x82"}'
	printf '{"jsonrpc":"2.0","id":1,\0"method":"ping"}\n' >&7
	hear
	is "$(code) $(get id)" '-32700 null'
	like "$(get error message)" '"?*"'
	lacks "$(get error message)" '\n'
}

@test "P3: 100,000 open brackets or braces are -32700, moderate nesting and a member repeated as often are taken" {
	boris
	head -c 100000 /dev/zero | tr '\0' '[' >&7
	send ''
	hear
	is "$(code) $(get id)" '-32700 null'
	yes '{"a":' | head -n 20000 | tr -d '\n' >&7
	send ''
	hear
	is "$(code) $(get id)" '-32700 null'
	next_is_ping
	request 1 ping '{"a":[[[[[[[[[[{"b":[[[[[[[[[[1]]]]]]]]]]}]]]]]]]]]]}'
	hear
	is "$(get result)" '{}'
	{
		printf '{"jsonrpc":"2.0",'
		yes '"id":1,' | head -n 100000 | tr -d '\n'
		printf '"id":2,"method":"ping"}\n'
	} >&7
	hear
	is "$(get -v id)" 2
}

@test "P3: JSON that is no request is -32600, with the message's id where it has one" {
	boris
	for line in 1 -1.5 '"x"' null true false; do
		refuses_line "$line" -32600 null
	done
	refuses_line '{"id":5,"method":"ping"}' -32600 5
	refuses_line '{"jsonrpc":"1.0","id":"a","method":"ping"}' -32600 '"a"'
	refuses_line '{"jsonrpc":2.0,"id":1.0,"method":"ping"}' -32600 1.0
	refuses_line '{"jsonrpc":null,"id":0,"method":"ping"}' -32600 0
	refuses_line '{"jsonrpc":"2.0\u0000","id":0,"method":"ping"}' -32600 0
	refuses_line '{"method":"ping"}' -32600 null
	refuses_line '{}' -32600 null
	refuses_line '{"jsonrpc":"2.0","id":5}' -32600 5
	refuses_line '{"jsonrpc":"2.0","id":"x","method":5}' -32600 '"x"'
	refuses_line '{"jsonrpc":"2.0","id":6,"method":null}' -32600 6
	refuses_line '{"jsonrpc":"2.0","id":6,"method":["ping"]}' -32600 6
	refuses_line '{"jsonrpc":"2.0"}' -32600 null
	refuses_line '{"jsonrpc":"2.0","params":{}}' -32600 null
	for bad in null true false '[]' '[1]' '{}' '{"id":1}'; do
		refuses_line '{"jsonrpc":"2.0","id":'"$bad"',"method":"ping"}' -32600 null
	done
}

@test "P3: a response, a blank line, a notification and a method without id get no answer, and do nothing" {
	boris
	says_nothing '{"jsonrpc":"2.0","id":1,"result":{}}'
	says_nothing '{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"no"}}'
	says_nothing '{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}'
	says_nothing ''
	says_nothing $'  \t '
	says_nothing $'\r'
	says_nothing '{"jsonrpc":"2.0","method":"notifications/initialized"}'
	says_nothing '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'
	says_nothing '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
	says_nothing '{"jsonrpc":"2.0","method":"notifications/nope","params":{"a":1}}'
	says_nothing '{"jsonrpc":"2.0","method":"notifications/nope","params":[1]}'
	says_nothing '{"jsonrpc":"2.0","method":"notifications/nope","params":5}'
	says_nothing '{"jsonrpc":"2.0","method":"nope"}'
	says_nothing '{"jsonrpc":"2.0","method":""}'
	says_nothing '{"jsonrpc":"2.0","method":"ping"}'
	says_nothing '{"jsonrpc":"2.0","method":"tools/list"}'
	says_nothing '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"bash","arguments":{"command":"touch ran"}}}'
	run_bash true
	[ ! -e ran ]
}

@test "P3: an unknown method is -32601" {
	boris
	for method in nope prompts/list prompts/get resources/list resources/read \
	              resources/templates/list logging/setLevel completion/complete \
	              tasks/list tasks/get roots/list '' TOOLS/LIST tools/list/ \
	              notifications/initialized 'tools/call\u0000' 'ping\u0000'; do
		refuses_line '{"jsonrpc":"2.0","id":3,"method":"'"$method"'"}' -32601 3
	done
}

@test "P3: a cursor that is null or empty is that of the first page of tools" {
	boris
	for cursor in null '""'; do
		ask tools/list '{"cursor":'$cursor'}'
		is "$(get result tools 0 name)" '"bash"'
		modern tools/list '"cursor":'$cursor
		is "$(get result tools 0 name)" '"bash"'
	done
}

@test "P3: params, _meta, names, arguments of the wrong type, and a cursor, are -32602; null params count as absent" {
	boris
	for value in '[]' '[1]' 5 '"x"' true; do
		for method in tools/list ping; do
			refuses_line '{"jsonrpc":"2.0","id":3,"method":"'$method'","params":'"$value"'}' -32602 3
		done
		refuses_line '{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":'"$value"'}}' -32602 3
		refuses_line '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"bash","arguments":'"$value"'}}' -32602 3
	done
	for params in '{}' '{"arguments":{"command":"true"}}' '{"name":5}' \
	              '{"name":null,"arguments":{}}' '{"name":["bash"]}' null; do
		refuses_line '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":'"$params"'}' -32602 3
	done
	refuses_line '{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"x"}}' -32602 3
	ask ping null
	is "$(get result)" '{}'
	ask tools/list null
	is "$(get -n result tools)" 2
}

@test "P3: an unknown tool is -32602, named, and told those that there are; of another shell, what does it here" {
	boris
	run_tool nope '{}'
	is "$(code)" -32602
	has "$(get error message)" nope
	for name in Bash 'bash\u0000' 'bash ' '' python; do
		run_tool "$name" '{"command":"touch ran"}'
		is "$(code)" -32602
		like "$(get -s error message)" '*[!A-Za-z]bash[!A-Za-z]*'
		has "$(get -s error message)" task_output
	done
	[ ! -e ran ]
	for name in KillShell KillBash; do
		run_tool $name '{}'
		like "$(get error message)" '*kill_pid*task_output*'
	done
}

# refuses_argument ARGUMENTS PART...: bash refuses them; the text has each part
refuses_argument() {
	local arguments=$1 part
	shift
	run_tool bash "$arguments"
	for part; do
		refused "*$part*" || fail "for $arguments: $reply" || return
	done
}

@test "P4: none of command, check_pid and kill_pid is refused, and so are two, which are named" {
	boris
	refuses_argument '{}' command check_pid kill_pid
	refuses_argument '{"timeout":1000}' command
	for value in null '""' 0 false [] {}; do
		refuses_argument '{"command":'$value',"input":"","check_pid":0}' command
	done
	refuses_argument '{"command":"touch ran","check_pid":1}' command check_pid
	refuses_argument '{"command":"touch ran","kill_pid":1}' command kill_pid
	refuses_argument '{"check_pid":1,"kill_pid":1}' check_pid kill_pid
	refuses_argument '{"command":"touch ran","input":"x","kill_pid":5}' \
		'command and input and kill_pid were given; give only one of '
	ask tools/call '{"name":"bash"}'
	refused '*command*'
	run_bash 'ls ran'
	is "$(result exit_code)" 2
}

@test "P4: an argument of the wrong type or out of range is refused, and the text has what would be right" {
	boris
	while read -r name rest; do
		values=${rest%%|*}
		for value in $values; do
			case $name in
			check_pid | kill_pid) arguments='{"'$name'":'$value'}' ;;
			command) arguments='{"command":'$value'}' ;;
			*) arguments='{"command":"touch ran","'$name'":'$value'}' ;;
			esac
			refuses_argument "$arguments" $name ${rest#*|}
		done
	done <<-'END'
	command 5 true ["ls"] {"a":1} | string
	timeout "5s" true [0] 1.5 0.5 {"a":1} -1 -5000 -1e30 | 1
	run_in_background 1 "yes" [false] |
	cwd 5 true |
	stdin 5 [""] |
	truncate "middle" "HEAD" "head\u0000" 5 true | head tail both
	check_pid 1.5 true |
	kill_pid 1.5 true |
	END
	run_bash 'ls ran'
	is "$(result exit_code)" 2
}

@test "P4: 5e3 and a string of digits are integers, \"true\" is true; null counts as absent" {
	boris
	for value in '"5000"' 5000.0 5e3 5E+3; do
		run_bash 'echo hi' '{"timeout":'$value'}'
		is "$value $(result stdout)" "$value \"hi\\n\""
	done
	run_bash 'echo hi' '{"run_in_background":"true","wait":10000}'
	isnt "$(result task_id)" ''
	run_bash 'echo hi' '{"timeout":null,"run_in_background":null,"check_pid":null,"kill_pid":null,"cwd":null,"stdin":null,"truncate":null,"description":null,"wait":null,"until":null}'
	is "$(result stdout)" '"hi\n"'
}

# fills_in TOOL ARGUMENTS: calls the tool with these arguments and all others,
# which have the value $empty
fills_in() {
	local tool=$1 arguments=$2 all=$bash_arguments name
	[ "$tool" = bash ] || all=$task_arguments
	[ "$tool" != edit ] || all='old all'
	for name in $all; do
		[[ $2 == *"\"$name\":"* ]] || arguments+=,'"'$name'":'$empty
	done
	run_tool "$tool" "{${arguments#,}}"
	is "$tool {${arguments#,}}: $(get result isError)" "$tool {${arguments#,}}: false"
}

# starts_filling_in: boris with the names of all arguments of bash and task_output
starts_filling_in() {
	boris --edit
	ask tools/list
	bash_arguments=$(get -k result tools 0 inputSchema properties)
	task_arguments=$(get -k result tools 1 inputSchema properties)
}

@test "P4: a command runs as usual if a client gives all other arguments empty values" {
	starts_filling_in
	for empty in null '""' 0 false [] {}; do
		fills_in bash '"command":"echo hi"'
		is "$(result stdout) $(result task_id)" '"hi\n" '
		fills_in bash '"command":"cat","stdin":"hi"'
		is "$(result stdout)" '"hi"'
	done
}

@test "P4: a task starts as usual if a client gives all other arguments empty values" {
	starts_filling_in
	for empty in null '""' 0 false [] {}; do
		for how in '"run_in_background":true' '"tty":true'; do
			fills_in bash '"command":"echo hi","wait":10000,'"$how"
			is "$how $(plain stdout)" "$how hi"
			isnt "$(plain task_id)" ''
		done
	done
}

@test "P4: input is typed as usual if a client gives all other arguments empty values" {
	starts_filling_in
	on_terminal cat '"wait":1'
	for empty in null '""' 0 false [] {}; do
		fills_in bash '"task_id":"'"$task"'","input":"x\n","until":"x"'
		fills_in bash '"task_id":"'"$task"'","input":"","wait":1'
		is "$(plain task_id)" "$task"
	done
}

@test "P4: check_pid, kill_pid and task_output work as usual if a client gives all other arguments empty values" {
	starts_filling_in
	for empty in null '""' 0 false [] {}; do
		start_task 'read <gate'
		fills_in bash '"check_pid":'"$pid"
		is "$(plain task_id) $(plain status)" "$task running"
		fills_in task_output '"task_id":"'"$task"'"'
		is "$(plain task_id) $(plain status)" "$task running"
		fills_in task_output ''
		is "$(get -n result structuredContent tasks)" 1
		fills_in bash '"kill_pid":'"$pid"
		is "$(plain task_id) $(plain status)" "$task killed"
	done
}

@test "P4: an edit works as usual if a client gives all other arguments empty values" {
	starts_filling_in
	n=0
	for empty in null '""' 0 false [] {}; do
		fills_in edit '"path":"f'$((++n))'","new":"a b"'
		fills_in edit '"path":"f'$n'","old":"a ","new":""'
		is "$(cat f$n)" b
	done
}

@test "P4: an id of digits and an e is no empty value" {
	boris
	for name in 0e345678 00e00000; do
		look "$name"
		refused "task not found: $name*"
	done
}

@test "P4: names that models know from other tools are accepted, and not in the schemas" {
	boris --edit
	run_bash pwd '{"workdir":"/tmp"}'
	is "$(plain stdout)" /tmp
	run_tool edit '{"file_path":"'"$PWD/f"'","new_string":"a a"}'
	run_tool edit '{"file_path":"'"$PWD/f"'","old_string":"a","new_string":"b","replace_all":true}'
	is "$(<f)" 'b b'
	start_task 'echo hi'
	look "$task" '{"block":true,"timeout":10000}'
	is "$(result status)" '"completed"'
	ask tools/list
	for name in workdir block file_path old_string new_string replace_all; do
		lacks "$reply" "$name"
	done
	is "$(get result tools 1 inputSchema properties timeout)" ''
}

@test "P4: block and timeout of task_output are a wait" {
	hurried
	boris
	start_task 'read <gate'
	for how in '30000 "block":true' '20000 "timeout":20000' \
		'20000 "timeout":"2e4","block":"true"' '0 "block":false,"timeout":20000' \
		'0 "block":false'; do
		begin
		look "$task" "{${how#* }}"
		is "$how $(result status)" "$how \"running\""
		least "$(took)" $((${how%% *} - 500))
		within $((${how%% *} + 1000))
	done
}

@test "P4: two names of one argument are an error that names both" {
	boris --edit
	refuses_argument '{"command":"touch ran","cwd":"/","workdir":"/tmp"}' \
		'"cwd" and "workdir" set the same argument; give only one of them'
	refuses_argument '{"command":"touch ran","workdir":5}' '"workdir" must be a string'
	run_tool edit '{"path":"f","new":"x","new_string":"y"}'
	refused '"new" and "new_string" set*'
	for more in '"timeout":5' '"block":true' '"block":false'; do
		look x '{"wait":0,'"$more"'}'
		name=${more#\"}
		refused '"wait" and "'${name%%\"*}'" set*'
	done
	run_bash pwd '{"cwd":"","workdir":"/tmp"}'
	is "$(plain stdout)" /tmp
	[ ! -e ran ] && [ ! -e f ]
}

@test "P4: an empty stdin is none" {
	boris
	run_bash '[ -c /dev/stdin ] && cat' '{"stdin":""}'
	is "$(result exit_code) $(result stdout)" '0 ""'
}

@test "P4: a number with an exponent or a fraction is an integer if its value is one" {
	boris
	for value in 1.5e3 0.1e4 8.64e+07 1500e-1 '"1.5e3"' 150.00e+01 0.00015E7 150000000e-5; do
		run_bash 'echo hi' '{"run_in_background":true,"wait":10000,"timeout":'$value'}'
		is "$value $(result stdout)" "$value \"hi\\n\""
	done
	run_bash 'seq 1000' '{"limit":0.3e+3}'
	has "$(plain stdout)" '3893 characters in total, first 250 and last'
	for value in 1.55e1 15e-1 1e-1 0.1 1e-400 1e400 1.0000000000000000000001; do
		run_bash 'touch ran' '{"limit":'$value'}'
		refused "argument \"limit\" must be an integer from 200 to 100000, not $value"
	done
	[ ! -e ran ]
}

@test "P4: all wrong names are told at once, of long ones the start, and what does it here" {
	boris
	start_task 'read <gate'
	run_tool task_output '{"task_id":"'"$task"'","lines":5,"cwd":"/"}'
	refused 'unknown arguments "lines"*"cwd" (an argument of bash); task_output accepts *'
	lacks "$(text)" block
	run_bash 'touch ran' '{"env":{"A":"1"}}'
	refused 'unknown argument* "env"*; bash accepts *'
	refuses_argument '{"cmd":"ls"}' cmd command timeout run_in_background
	refuses_argument '{"command":"touch ran","Timeout":5}' Timeout timeout
	refuses_argument '{"command":"touch ran","timeout\u0000":5}' timeout
	long=$(printf %0500d 0)
	run_tool bash '{"command":"touch ran","x'$long'":1}'
	refused 'unknown argument "x0000*...*command*'
	run_tool bash "{$(seq -s, -f '"n%g":1' 100000),\"command\":\"touch ran\"}"
	refused 'unknown arguments "n1"*"n10"*'
	lacks "$(text)" n11
	run_tool task_output '{"task_id":"x\n'$long'"}'
	refused 'task not found: x?n000*'
	most "$(text | wc -c)" 400
	run_bash 'ls ran'
	is "$(result exit_code)" 2
}

@test "P4: task_output's arguments are checked the same way" {
	boris
	start_task 'read <gate'
	for value in 1.5 true '["x"]'; do
		run_tool task_output '{"task_id":'"$value"'}'
		refused '*task_id*'
	done
	for value in -1 1.5 '"x"' true; do
		look "$task" '{"wait":'$value'}'
		refused '*wait*'
	done
	for value in 1 '"yes"'; do
		look "$task" '{"new":'$value'}'
		refused '*new*'
	done
	look "$task" '{"id":1}'
	refused '*id*task_id*'
	look "$task" '{"wait":null,"until":null,"new":null}'
	is "$(result status)" '"running"'
}

# padded BYTES: a ping of just so many bytes, and its newline
padded() {
	local head='{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' tail='"}}'
	printf %s "$head"
	head -c $(($1 - ${#head} - ${#tail})) /dev/zero | tr '\0' a
	printf '%s\n' "$tail"
}

@test "P5: a line of 16 MiB is served, one of a byte more is rejected with -32600 and its id" {
	boris
	padded 16777216 >&7
	hear
	is "$(get result)" '{}'
	padded 16777217 >&7
	hear
	is "$(code) $(get id)" '-32600 1'
	next_is_ping
}

# rejected_with ID START...: a line that begins so, and is too long, is rejected
# with that id
rejected_with() {
	local start want=$1
	shift
	for start; do
		printf %s "$start" >&7
		head -c 16777216 /dev/zero | tr '\0' a >&7
		send ''
		hear
		is "${start:0:200} -> $(code) $(get -v id)" "${start:0:200} -> -32600 $want"
	done
}

@test "P5: a line that is too long is rejected with its own id, a string or a number" {
	boris
	rejected_with '"a\"b"' '{"jsonrpc":"2.0","id":"a\"b","method":"ping","params":{"x":"'
	rejected_with 7 '{"id":7,"jsonrpc":"2.0","params":{"id":8,"x":"' \
		$' \t{ "params" : {"id":8,"x":[{"id":9}]} , "\\u0069d" : 7 , "x":"'
	next_is_ping
}

@test "P5: a line that is too long is rejected with id null if no id is in its first 4 KiB" {
	boris
	rejected_with null '{"jsonrpc":"2.0","method":"ping","params":{"id":8,"x":"' \
		'{"jsonrpc":"2.0","method":"notifications/x","params":{"requestId":8,"x":"' \
		'{"id":null,"x":"' '{"id":[1],"x":"' '{"id":{"id":3},"x":"' '[{"id":5,"x":"' \
		'"id":5,"' '{"id":5' '{"id":"5' "{\"x\":\"$(printf %04080d 0)\",\"id\":12345678,\"x\":\""
	next_is_ping
}

@test "P5: a response that is too long is not answered with its id" {
	boris
	rejected_with null '{"jsonrpc":"2.0","id":5,"result":{"x":"' '{"id":5,"error":"'
	next_is_ping
}

@test "P5: a line that is too long is not held in memory" {
	needs_plain
	boris
	padded 16777216 >&7
	hear
	before=$(peak)
	padded 100000000 >&7
	hear
	is "$(code)" -32600
	most "$(peak)" $((before + 1024))
	next_is_ping
}

@test "P5: a line that is too long and cut off by the end of input is answered once" {
	{ printf '%s\n' "$HELLO"; padded 20000000 | tr -d '\n'; } >in
	filter <in >heard
	is $status 0
	is "$(all -v id | xargs)" '0 1'
}

@test "P5: lines are put together wherever reads split them" {
	needs perl
	boris
	# Lines around the size that is read at once, in writes of many sizes
	perl -e '
		$| = 1;
		for my $n (65535, 65536, 65537, 131072, 200000, 10) {
			for my $piece (7777, 65536, 65535, 300000) {
				my $head = sprintf "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\",\"params\":{\"x\":\"", ++$id;
				$text .= $head . "a" x ($n - length($head) - 4) . "\"}}\n";
				syswrite STDOUT, substr($text, 0, $piece, "") while length $text > $piece;
			}
		}
		print $text' >&7 &
	for ((i = 1; i <= 24; i++)); do
		hear
		is "$(get -v id) $(get result)" "$i {}"
	done
	wait $!
}

@test "P5: 16 MiB of small members are read at once" {
	boris
	begin
	{
		printf '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":['
		yes '{"a":0},' | head -n 1600000 | tr -d '\n'
		printf '0]}}\n'
	} >&7
	hear
	is "$(get result)" '{}'
	within 5000
}

@test "P6: while a command runs, ping, tools/list, task_output and wrong arguments are answered" {
	boris
	start_task 'echo hi; echo hi >there; read <gate'
	begun there
	call_bash 'echo x >running; read <gate'
	long=$id
	begun running
	request 901 ping
	hear
	is "$(get -v id)" 901
	request 902 tools/list
	hear
	is "$(get -v id)" 902
	look
	is "$(result stdout)" '"hi\n"'
	request 903 tools/call '{"name":"bash","arguments":{"command":5}}'
	hear
	is "$(get -v id)" 903
	release 2
	answer $long
	is "$(result exit_code)" 0
}

@test "P6: a command that makes its descriptors block does not block boris" {
	needs_linux_parts
	needs perl
	boris
	run_bash 'perl -e "for (0..2, 250) { open(F, qq(<&=\$_)) and fcntl(F, 4, 0) }"; sleep 60 & echo hi'
	is "$(plain stdout)" hi
	run_bash 'echo more'
	is "$(plain stdout)" more
}

@test "P6: behind a queued command of 15 MB a ping is heard" {
	boris
	call_bash 'echo x >first; read <gate'
	begun first
	{
		printf '{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"bash","arguments":{"command":"wc -c","stdin":"'
		head -c 15000000 /dev/zero | tr '\0' a
		printf '"}}}\n'
	} >&7 3>&- 6>&- 8>&- 9>&-
	in_turn
	release
	answer '"big"'
	is "$(result stdout)" '"15000000\n"'
}

@test "P7: cd and pwd written to the pipe together: the second sees the first" {
	mkdir d
	boris
	printf '%s\n%s\n' '{"jsonrpc":"2.0","id":91,"method":"tools/call","params":{"name":"bash","arguments":{"command":"cd d"}}}' \
		'{"jsonrpc":"2.0","id":92,"method":"tools/call","params":{"name":"bash","arguments":{"command":"pwd"}}}' >&7
	answer 92
	is "$(plain stdout)" "$PWD/d"
}

@test "P7: ten commands are answered in the order they came, one at a time" {
	boris
	call_bash 'echo x >first; read <gate; echo one >>order'
	first=$id
	call_bash 'echo two >>order'
	second=$id
	begun first
	in_turn
	[ ! -e order ]
	release
	answer $second
	is "$(cat order)" $'one\ntwo'
	answer $first
	for i in 1 2 3 4 5 6 7 8 9 10; do
		call_bash "echo $i"
	done
	for i in 1 2 3 4 5 6 7 8 9 10; do
		hear
		is "$(plain stdout)" "$i"
	done
}

@test "P7: a background start takes its place in the order" {
	mkdir d
	boris
	call_bash 'echo x >first; read <gate; cd d'
	call_bash 'pwd >where; echo . >done' '{"run_in_background":true}'
	background=$id
	call_bash 'cd ..'
	begun first
	in_turn
	[ ! -e d/where ]
	release
	answer $background
	is "$(result status)" '"running"'
	begun d/done
	is "$(cat d/where)" "$PWD/d"
}

@test "P7: background starts that were sent together are answered in their order" {
	boris
	start_task true
	for n in {2..9}; do
		lines[n]='{"jsonrpc":"2.0","id":'$n',"method":"tools/call","params":{"name":"bash","arguments":{"command":"true","run_in_background":true}}}'
	done
	send "${lines[@]}"
	for n in {2..9}; do answer $n; done
	is "$(all -v id | xargs)" '0 1 2 3 4 5 6 7 8 9'
}

# in_parallel N [ARGUMENTS]: sends N calls with an absolute cwd, each of which
# adds its number to `begun` and waits for the gate; $first is the first one's id
in_parallel() {
	local i
	: >begun
	first=$((calls + 1))
	for ((i = 1; i <= $1; i++)); do
		call_bash "echo $i >>'$PWD/begun'; read <'$PWD/gate'; echo $i" \
			'{"cwd":"/"'"${2:+,$2}"'}'
	done
}

# has_begun N: so many of these run
has_begun() {
	[ "$(wc -l <begun)" = "$1" ]
}

@test "P7: calls with an absolute cwd wait for no other call, and no other call waits for them (D7)" {
	mkdir d
	boris
	call_bash 'echo x >ordered; read <gate; cd d'
	ordered=$id
	begun ordered
	call_bash 'echo second'
	in_parallel 2
	eventually has_begun 2
	run_bash 'echo hi; pwd' '{"cwd":"/"}'
	is "$(plain stdout)" $'hi\n/'
	start_task 'read <gate' '{"cwd":"'"$PWD"'"}'
	on_terminal 'read x' '"cwd":"/"'
	release 4
	answer $ordered
	is "$(plain cwd)" "$PWD/d"
	answer $((ordered + 1))
	is "$(plain stdout)" second
}

@test "P7: a call without cwd, or with a relative one, keeps its place behind the command before it" {
	mkdir d
	boris
	call_bash 'echo x >begun; read <gate; cd d'
	ordered=$id
	begun begun
	call_bash 'touch early' '{"cwd":".."}'
	call_bash 'touch early' '{"cwd":".","run_in_background":true,"wait":10000}'
	call_bash 'touch early'
	last=$id
	run_bash 'echo hi' '{"cwd":"/"}'
	[ ! -e early ] && [ ! -e d/early ]
	release
	answer $last
	[ -e early ] && [ -e d/early ]
}

@test "P7: sixteen calls with an absolute cwd run in parallel; further ones wait, and start in order" {
	boris
	in_parallel 19
	eventually has_begun 16
	run_bash 'echo hi' # none of them waits
	is "$(plain stdout)" hi
	start_task 'echo hi' '{"cwd":"/"}'
	run_tool task_output '{}'
	has "$(text)" 'calls waiting for a command with an absolute cwd to end: 3'
	is "$(wc -l <begun)" 16
	for i in 17 18 19; do
		release
		eventually has_begun $i
		is "$(tail -n 1 begun)" $i
	done
	release 16
	for i in {1..19}; do
		answer $((first + i - 1))
		is "$(plain stdout)" $i
	done
}

@test "P7: a call with an absolute cwd is cancelled alone, queued or not (P8)" {
	boris
	in_parallel 17
	eventually has_begun 16
	cancel $((first + 16))
	in_turn
	cancel $first
	run_bash 'echo hi' '{"cwd":"/"}'
	is "$(plain stdout)" hi
	release 15
	for i in {2..16}; do
		answer $((first + i - 1))
		is "$(plain stdout)" $i
	done
	is "$(wc -l <begun)" 16
	leave
	unanswered $first
	unanswered $((first + 16))
}

@test "P7: an edit waits for the command before it, but not for calls with an absolute cwd" {
	mkdir d
	boris --edit
	in_parallel 16
	eventually has_begun 16
	run_tool edit '{"path":"f","new":"text"}'
	has "$(text)" 'f: created'
	call_bash 'echo x >ordered; read <gate; cd d'
	begun ordered
	call edit '{"path":"g","new":"text"}'
	edit=$id
	in_turn
	[ ! -e g ] && [ ! -e d/g ]
	release 17
	answer $edit
	is "$(<d/g)" text
}

@test "P7: many edits in the queue do not hold up a call with an absolute cwd" {
	boris --edit
	call_bash 'echo x >ordered; read <gate'
	begun ordered
	for i in {1..50}; do
		call edit '{"path":"f'$i'","new":"text"}'
	done
	run_bash 'echo hi' '{"cwd":"/"}'
	is "$(plain stdout)" hi
	[ ! -e f1 ]
	release
	answer $((id - 1))
	is "$(<f50)" text
}

@test "P7: a queued command's timeout counts from its own start" {
	boris
	call_bash 'echo x >first; read <gate'
	call_bash 'echo hi' '{"timeout":'$((1000 * SLOW))'}'
	second=$id
	begun first
	pause $((1200 * SLOW))
	release
	answer $second
	is "$(result stdout)" '"hi\n"'
}

@test "P8: a cancelled command is ended as by a timeout, gets no answer, and moves no directory" {
	mkdir d
	boris
	for command in 'echo $$ >pid; read <gate' \
		'trap "echo bye >bye; exit 0" TERM; cd d; echo $$ >../pid; read <../gate'; do
		rm -f pid
		call_bash "$command"
		cancelled+=("$id")
		begun pid
		cancel $id
		eventually gone pid
		run_bash pwd
		is "$(plain stdout)" "$PWD"
	done
	is "$(<d/bye)" bye
	leave
	for id in "${cancelled[@]}"; do
		unanswered $id
	done
}

@test "P8: boris does not spin when a cancelled command's timeout passes" {
	needs_linux
	needs_plain
	boris
	call_bash 'trap "" TERM; echo $$ >pid; while :; do read <never; done' \
		'{"timeout":500}'
	begun pid
	cancel $id
	pause 500
	rests 1
	there pid
}

@test "P8: a queued command that is cancelled never runs" {
	boris
	call_bash 'echo x >first; read <gate'
	first=$id
	call_bash 'touch ran'
	queued=$id
	call_bash 'echo third'
	begun first
	cancel $queued
	release
	answer $first
	answer
	is "$(result stdout)" '"third\n"'
	leave
	unanswered $queued
	[ ! -e ran ]
}

@test "P8: ids are matched as JSON: 5 is not \"5\", and 0 and \"\" are ids" {
	boris
	request '"5"' tools/call '{"name":"bash","arguments":{"command":"echo x >a; read <gate"}}'
	request 0 tools/call '{"name":"bash","arguments":{"command":"touch ran"}}'
	request '""' tools/call '{"name":"bash","arguments":{"command":"touch ran"}}'
	request '"ab"' tools/call '{"name":"bash","arguments":{"command":"touch ran"}}'
	begun a
	cancel 5
	cancel 0
	cancel '""'
	cancel '"\u0061b"'
	in_turn
	release
	answer '"5"'
	is "$(result exit_code)" 0
	leave
	is "$(all -v id | grep -cx 0) answer, of initialize" '1 answer, of initialize'
	unanswered '""'
	unanswered '"ab"'
	[ ! -e ran ]
}

@test "P8: a cancellation that names nothing is ignored" {
	boris
	call_bash 'echo x >a; read <gate; echo hi'
	long=$id
	begun a
	cancel 4711
	cancel '"'$long'"'
	cancel null
	cancel "[$long]"
	tell notifications/cancelled '{}'
	tell notifications/cancelled
	tell notifications/cancelled '{"reason":"no"}'
	tell notifications/cancelled '[1]'
	next_is_ping
	release
	answer $long
	is "$(result stdout)" '"hi\n"'
	cancel $long
	next_is_ping
}

# letters N: so many letters
letters() {
	head -c "$1" /dev/zero | tr '\0' a
}

@test "P2: an id of 1024 bytes comes back, and a longer one is rejected with -32600" {
	boris
	request "\"$(letters 1022)\"" ping
	hear
	is "$(get -n id)" 1022
	request "\"$(letters 1023)\"" ping
	hear
	is "$(get -v id) $(code)" 'null -32600'
	request "$(letters 1025 | tr a 1)" ping
	hear
	is "$(get -v id) $(code)" 'null -32600'
	in_turn
}

@test "O7: a progress token of more than 1024 bytes is rejected with -32602" {
	boris
	run_bash 'echo hi' '{}' "{\"progressToken\":\"$(letters 1022)\"}"
	is "$(result stdout)" '"hi\n"'
	run_bash 'touch ran' '{}' "{\"progressToken\":\"$(letters 1023)\"}"
	is "$(code)" -32602
	[ ! -e ran ]
}

@test "P8: a cancellation is found by its id with and without escapes" {
	boris
	call_bash 'echo x >first; read <gate'
	first=$id
	request '"a/b\u00e9"' tools/call '{"name":"bash","arguments":{"command":"touch ran"}}'
	request '"cd"' tools/call '{"name":"bash","arguments":{"command":"touch ran"}}'
	begun first
	cancel '"\u0061\/b'$'\u00e9''"'
	cancel '"\u0063\u0064"'
	in_turn
	release
	answer $first
	next_is_ping
	[ ! -e ran ]
}

# many_calls N: queues so many commands
many_calls() {
	seq "$1" | sed 's/.*/{"jsonrpc":"2.0","id":"m&","method":"tools\/call","params":{"name":"bash","arguments":{"command":"true"}}}/' >&7
}

@test "P6: a cancellation with an id of 15 MiB is ignored at once, however many calls are queued" {
	needs_plain
	boris
	call_bash 'echo x >first; read <gate'
	many_calls 400
	begun first
	before=$(ticks)
	{
		printf '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"'
		letters 15000000
		printf '"}}\n'
	} >&7
	in_turn
	most $(($(ticks) - before)) $((100 * SLOW))
	kill -TERM "$server"
	died
}

@test "P6: 15,000 queued commands that are rejected together cost less than half a second" {
	needs_plain
	boris --call-limit=4
	start_task 'read <never'
	call_bash 'read <gate' '{"timeout":9000}'
	cat <&8 >rest 7>&- 9>&- &
	reader=$!
	many_calls 15000
	pause 2000
	before=$(ticks)
	all_there() { [ "$(grep -c 'not run' rest)" = 15000 ]; }
	eventually all_there
	most $(($(ticks) - before)) $((50 * SLOW))
	kill -TERM "$server"
	eventually exited
	wait $reader
	left=1
}

@test "P9: at the end of input what has been read is carried out and answered, waits too" {
	boris
	mkfifo never2
	exec 5<>never2
	start_task 'read <never2; echo hi'
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	wait=$id
	call_bash 'echo x >a; read <gate; echo one'
	first=$id
	call_bash 'echo two; echo >never2'
	second=$id
	begun a
	end_input
	release
	answer $second
	is "$(result stdout)" '"two\n"'
	answer $first
	answer $wait
	is "$(result stdout)" '"hi\n"'
	died
	is $status 0
	exec 5>&-
}

@test "P9: when the reader goes, before or after the end of input, boris closes at once" {
	for first in 7 8; do
		boris
		call_bash 'echo $$ >pid; read <gate'
		begun pid
		if [ $first = 7 ]; then
			end_input
			exec 8<&-
		else
			exec 8<&-
			end_input
		fi
		begin
		eventually exited
		within 3000
		gone pid
		rm pid
		left=1
	done
}

@test "P9: writing to a reader that has gone does not kill boris by SIGPIPE" {
	boris
	exec 8<&-
	trap '' PIPE
	for ((i = 0; i < 50; i++)); do
		request $i ping 2>/dev/null || break
	done
	end_input
	eventually exited
	status=0
	wait "$server" || status=$?
	most $status 127
	left=1
}

# traffic: what server and writer have read and written so far
traffic() {
	cat "/proc/$server/io" "/proc/$writer/io" 2>/dev/null || :
}

# unread N: sends N calls of tools/list whose answers nobody reads, from aside
unread() {
	seq "$1" | sed 's/.*/{"jsonrpc":"2.0","id":"u&","method":"tools\/list"}/' \
		>&7 2>/dev/null 3>&- 6>&- 8>&- 9>&- &
	writer=$!
}

@test "P10: with its answers unread, boris still ends what times out" {
	boris
	call_bash 'echo $$ >pid; read <gate' '{"timeout":300}'
	begun pid
	unread 5000
	eventually gone pid
	kill $writer || :
}

@test "P10: answers that were long unread are all there once they are read" {
	boris
	unread 5000
	settled traffic
	cat <&8 >rest 7>&- &
	reader=$!
	wait $writer
	end_input
	eventually exited
	wait "$server"
	wait $reader
	left=1
	"$HERE/reply" -l -v id <rest | grep -c '^"u' >count
	is "$(cat count)" 5000
	is "$("$HERE/reply" -l -v id <rest | sort -u | wc -l | tr -d ' ')" 5000
}

@test "P10: behind unread answers a request is heard while they are slowly read" {
	boris
	unread 500
	settled traffic
	while head -c 4096 <&8 >piece && [ -s piece ]; do
		cat piece >>rest
	done 3>&- 6>&- 7>&- 9>&- &
	reader=$!
	some_read() { [ -e rest ] && [ "$(wc -c <rest)" -gt 20000 ]; }
	eventually some_read
	call_bash 'echo x >mark'
	eventually test -e mark
	most "$(wc -c <rest)" 1000000
	kill $reader
	kill -TERM "$server"
	eventually exited
	left=1
}

@test "P10: with some MiB of answers unread boris reads no further requests, and closing waits for no reader" {
	needs_plain
	boris
	unread 40000
	settled traffic
	kill -0 $writer
	most "$(peak)" 24576
	begin
	kill -TERM "$server"
	eventually exited
	within 2000
	kill $writer 2>/dev/null || :
	left=1
}

@test "P10: a client that reads slowly while it goes on asking costs no more" {
	needs_plain
	boris
	local i ten size
	ask tools/list
	size=$((10 * ${#reply}))
	unread 300
	settled traffic
	ten=$(seq 10 | sed 's/.*/{"jsonrpc":"2.0","id":"t&","method":"tools\/list"}/')
	for ((i = 0; i < 400; i++)); do
		send "$ten"
		head -c $size <&8 >piece
	done
	most "$(peak)" 10240
	kill -TERM "$server"
	eventually exited
	left=1
}

@test "P10: with some MiB of commands queued, boris reads no further requests" {
	needs_plain
	boris
	call_bash 'echo x >first; read <gate'
	begun first
	for ((i = 0; i < 40; i++)); do
		printf '{"jsonrpc":"2.0","id":"q%d","method":"tools/call","params":{"name":"bash","arguments":{"command":": ' $i
		head -c 1000000 /dev/zero | tr '\0' a
		printf '"}}}\n'
	done >&7 3>&- 6>&- 8>&- 9>&- &
	writer=$!
	settled traffic
	kill -0 $writer
	most "$(peak)" 32768
	release
	wait $writer
	for ((i = 0; i < 40; i++)); do
		answer "\"q$i\""
		is "$(result exit_code)" 0
	done
}

@test "P10: a thousand waits for one task cost no more than its answers one by one" {
	needs_plain
	boris
	start_task 'read <gate; seq -f "%0100.0f" 290'
	local i
	for ((i = 0; i < 990; i++)); do
		call task_output '{"task_id":"'"$task"'","wait":60000}'
	done
	ask ping
	release
	cat <&8 >rest 6>&- 7>&- 9>&- &
	reader=$!
	all_there() { [ "$(wc -l <rest)" -ge 990 ]; }
	eventually all_there
	is "$(grep -c '"exit_code":0' rest)" 990
	most "$(peak)" 32768
	end_input
	eventually exited
	wait $reader
	left=1
}

@test "P10: progress to a reader that does not read stalls no command" {
	boris
	call_bash 'yes | head -c 5000000; echo x >done' '{}' '{"progressToken":1}'
	begun done
	answer
	is "$(result exit_code)" 0
}

@test "P11: both tools ask to be loaded at once, however they are listed; without them no instructions name them" {
	boris
	for list in ask modern; do
		$list tools/list
		for tool in 0 1; do
			is "$(get result tools $tool _meta anthropic/alwaysLoad)" true
		done
	done
	leave
	boris --no-bash
	is "$(get result instructions)" ''
	isnt "$(get result serverInfo)" ''
}
