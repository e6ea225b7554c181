#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# P: the protocol in the handshake revisions of MCP, 2024-11-05 to 2025-11-25
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

REVISIONS='2024-11-05 2025-03-26 2025-06-18 2025-11-25'
EMPTY_VALUES='null "" 0 false [] {}'

# initialize VERSION: Sends initialize and reads the response.
initialize() {
	send "${HELLO/2025-11-25/$1}"
	read_reply
}

# ping ID [PARAMS]: Sends a ping and reads the next line.
ping() {
	request "$1" ping ${2+"$2"}
	read_reply
}

# rejects_line LINE CODE ID: Fails if boris does not answer LINE with this error
# code and id and then continue to serve.
rejects_line() {
	send "$1"
	read_reply
	is "$1 -> $(code) $(get -v id)" "$1 -> $2 $3"
	next_is_ping
}

# rejects_json TEXT...: Fails if one of the lines is not rejected with -32700.
rejects_json() {
	local text
	boris
	for text; do
		rejects_line "$text" -32700 null
	done
}

# rejects_params METHOD PARAMS: Fails if the request is not rejected with -32602.
rejects_params() {
	rejects_line '{"jsonrpc":"2.0","id":3,"method":"'"$1"'","params":'"$2"'}' \
		-32602 3
}

# ignores LINE...: Fails if one of the lines is answered.
ignores() {
	local line
	for line; do
		send "$line"
		next_is_ping || fail "answered: $line" || return
	done
}

# not_run: Fails if an earlier command has created the file `ran`.
not_run() {
	run_bash 'ls ran'
	is "$(result exit_code)" 2
}

# --- P1, P2, P11: the handshake and the form of messages

@test "P1: initialize returns the protocol version requested by the client" {
	for version in $REVISIONS; do
		start
		initialize $version
		is "$(get -v id) $(get result protocolVersion)" "0 \"$version\""
		stop_server
	done
}

@test "P1: initialize declares only the tools capability" {
	for version in $REVISIONS; do
		start
		initialize $version
		is "$(get result capabilities)" '{"tools":{}}'
		is "$(get -k result | sort | xargs)" \
			'capabilities instructions protocolVersion serverInfo'
		stop_server
	done
}

@test "P1: initialize returns the server's name and version" {
	start
	initialize 2025-11-25
	is "$(get result serverInfo name)" '"boris"'
	isnt "$(get result serverInfo version)" ''
}

@test "P1: commands can be run with every protocol version that has a handshake" {
	for version in $REVISIONS; do
		start
		hello $version
		ask tools/list
		is "$(get -n result tools)" 2
		run_bash 'exit 3'
		is "$(result exit_code)" 3
		stop_server
	done
}

@test "P11: the instructions in initialize are at most 500 characters long" {
	for version in $REVISIONS; do
		start
		initialize $version
		least "$(get -n result instructions)" 30
		most "$(get -n result instructions)" 500
		stop_server
	done
}

@test "P11: server/discover and initialize return the same instructions" {
	start
	initialize 2025-11-25
	instructions=$(get result instructions)
	modern server/discover
	is "$(get result instructions)" "$instructions"
}

@test "P11: initialize returns no instructions if no tools are offered" {
	boris --no-bash
	is "$(get result instructions)" ''
	isnt "$(get result serverInfo)" ''
}

@test "P11: each tool is listed with anthropic/alwaysLoad set to true" {
	boris
	for list in ask modern; do
		$list tools/list
		for tool in 0 1; do
			is "$(get result tools $tool _meta anthropic/alwaysLoad)" true
		done
	done
}

@test "P1: initialize with an unsupported version is answered with version 2025-11-25" {
	start
	for version in 2026-07-28 1.0 '' 2025-11-25x 2099-01-01; do
		initialize "$version"
		is "$(get result protocolVersion)" '"2025-11-25"'
	done
}

@test "P1: initialize without protocolVersion is rejected with error -32602" {
	start
	for params in '{"capabilities":{},"clientInfo":{"name":"c","version":"1"}}' ''; do
		ask initialize "$params"
		is "$(code)" -32602
	done
}

@test "P1: initialize with a numeric protocolVersion is rejected with error -32602" {
	start
	ask initialize '{"protocolVersion":20250618}'
	is "$(code)" -32602
}

@test "P1: initialize requires only the protocolVersion parameter" {
	start
	ask initialize '{"protocolVersion":"2025-06-18"}'
	is "$(get result protocolVersion)" '"2025-06-18"'
}

@test "P1: ping is answered before initialize" {
	start
	ask ping
	is "$(get result)" '{}'
}

@test "P1: tools/list and tools/call are rejected with error -32602 before initialize" {
	start
	for method in tools/list tools/call; do
		ask $method '{"name":"bash","arguments":{"command":"touch ran"}}'
		is "$(code)" -32602
		has "$(get error message)" io.modelcontextprotocol/protocolVersion
		has "$(get error message)" initialize
	done
	next_is_ping
	[ ! -e ran ]
}

@test "P1: a request without an id is ignored before initialize" {
	start
	ignores '{"jsonrpc":"2.0","method":"tools/list"}'
}

@test "P1: a request sent together with initialize is answered" {
	start
	send "$HELLO" '{"jsonrpc":"2.0","id":91,"method":"tools/list"}'
	answer 91
	is "$(get -n result tools)" 2
}

@test "P1: a second initialize keeps the working directory" {
	mkdir d
	boris
	run_bash 'cd d'
	hello 2024-11-05
	is "$(get result protocolVersion)" '"2024-11-05"'
	run_bash pwd
	is "$(plain stdout)" "$PWD/d"
}

@test "P1: a second initialize keeps the background tasks" {
	boris
	start_task 'read <gate'
	hello 2024-11-05
	read_task
	is "$(result status)" '"running"'
}

@test "P1: initialize cannot be cancelled" {
	start
	cancellation='{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}'
	send "$cancellation" "$HELLO" "$cancellation"
	read_reply
	is "$(get -v id)" 0
	is "$(get result protocolVersion)" '"2025-11-25"'
	next_is_ping
}

@test "P9: if stdin is a file, all requests are answered before boris exits" {
	{
		printf '%s\n' "$HELLO" '{"jsonrpc":"2.0","id":1,"method":"ping"}'
		bash_request 2 'echo hi'
		bash_request 3 'exit 3'
	} >in
	filter <in >heard
	is $status 0
	is "$(all -v id | sort | xargs)" '0 1 2 3'
	is "$(all -v id | grep -x '[023]' | xargs)" '0 2 3'
}

@test "P1: the last line of the input is processed even without a newline" {
	printf '%s\n{"jsonrpc":"2.0","id":4,"method":"ping"}' "$HELLO" >in
	filter <in >heard
	is $status 0
	is "$(all -v id | sort | xargs)" '0 4'
}

@test "P9: boris prints nothing and exits with status 0 if stdin is empty" {
	filter </dev/null >out
	is "$status $(cat out err)" '0 '
}

@test "P1: a message that ends with CRLF is accepted" {
	start
	send "$HELLO"$'\r'
	read_reply
	is "$(get result protocolVersion)" '"2025-11-25"'
}

@test "P1: a byte order mark at the start of the input is ignored" {
	start
	send $'\xef\xbb\xbf'"$HELLO"
	read_reply
	is "$(get result protocolVersion)" '"2025-11-25"'
}

@test "P1: a byte order mark after the first line is rejected with error -32700" {
	boris
	rejects_line $'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}' -32700 null
}

@test "P1: white space between the tokens of a message is ignored" {
	start
	send $' \t {"jsonrpc" : "2.0" , "id" : 2 , "method" : "ping" } \t \r'
	read_reply
	is "$(get -v id) $(get result)" '2 {}'
}

@test "P1: Unicode escapes in JSON member names are decoded" {
	start
	send '{"\u006asonrpc":"2.0","\u0069d":1,"m\u0065thod":"p\u0069ng"}'
	read_reply
	is "$(get -v id) $(get result)" '1 {}'
}

@test "P1: if a JSON object has a duplicate member, the last one is used" {
	start
	send '{"jsonrpc":"2.0","\u0069d":1,"method":"ping","id":3}'
	read_reply
	is "$(get -v id) $(get result)" '3 {}'
}

@test "P1: a message received byte by byte is accepted" {
	start
	message='{"jsonrpc":"2.0","id":1,"method":"ping"}'
	for ((i = 0; i < ${#message}; i++)); do
		printf %s "${message:i:1}" >&7
	done
	echo >&7
	read_reply
	is "$(get -v id)" 1
}

@test "P2: a response contains the id exactly as it was sent" {
	boris
	for id in 0 7 -5 1.0 1.50 1e3 1E+3 -0 0.1e-7 9007199254740993 \
	          123456789012345678901234567890 '""' '"x"' '"5"' '"a\u0062"' \
	          '"\/"' '"\n\t\"\\"' '"é"' '"\ud83d\ude00"' '"\u0000"' '"  "' \
	          \"$(printf %01000d 0)\"; do
		ping "$id"
		is "$(get -v id)" "$id"
	done
}

@test "P2: an error response contains the id exactly as it was sent" {
	boris
	request '"a\u0062"' nope
	read_reply
	is "$(get -v id)" '"a\u0062"'
}

@test "P2: a tool result contains the id exactly as it was sent" {
	boris
	send "$(bash_request 1.0 true)"
	read_reply
	is "$(get -v id)" 1.0
}

@test "P2: a 1024-byte id is accepted" {
	boris
	ping "\"$(letters 1022)\""
	is "$(get -n id)" 1022
}

@test "P2: an id longer than 1024 bytes is rejected with error -32600" {
	boris
	for id in "\"$(letters 1023)\"" "$(letters 1025 | tr a 1)"; do
		ping "$id"
		is "$(get -v id) $(code)" 'null -32600'
	done
	sync_server
}

@test "P2: a lone surrogate in an id is replaced with U+FFFD" {
	boris
	for lone in '\ud800' '\udc00' '\ud800x' '\udc00\ud800'; do
		ping "\"$lone\""
		is "$(get -s id)" "$(printf %s "$lone" | sed 's/\\u..../\xef\xbf\xbd/g')"
		lacks "$reply" '\ud'
	done
}

@test "P2: a lone surrogate in a command is replaced with U+FFFD" {
	boris
	run_tool bash '{"command":"printf %s \ud800"}'
	is "$(plain stdout)" $'\xef\xbf\xbd'
}

@test "P2: a surrogate pair in a command is decoded as one character" {
	boris
	run_tool bash '{"command":"printf %s \ud83d\ude00"}'
	is "$(plain stdout)" $'\xf0\x9f\x98\x80'
}

# --- P3: invalid messages (JSON-RPC 2.0, RFC 8259)

@test "P3: a truncated message is rejected with error -32700" {
	rejects_json '{' '{"jsonrpc":"2.0","id":4,"method"' '[1' '"abc' \
		'{"jsonrpc":"2.0","id":1,"method":"ping"'
}

@test "P3: a message with a syntax error is rejected with error -32700" {
	rejects_json '}' '{"a":1]' "{'a':1}" '{a:1}' '{"a":1,}' '[1,]' '{"a" 1}' \
		'{,}' 'nul' 'True' '{"a":undefined}' '// x'
}

@test "P3: text after a message on the same line is rejected with error -32700" {
	message='{"jsonrpc":"2.0","id":1,"method":"ping"}'
	rejects_json "${message}x" "$message{}"
}

@test "P3: an invalid number is rejected with error -32700" {
	rejects_json '{"id":01}' '{"id":+1}' '{"id":1.}' '{"id":.5}' '{"id":NaN}' \
		'{"id":-}' '{"id":1e}' '{"id":0x1}' '{"id":Infinity}' '{"id":--1}'
}

@test "P3: an invalid escape sequence is rejected with error -32700" {
	rejects_json '{"a":"\x41"}' '{"a":"\u12"}' '{"a":"\u12g4"}' '{"a":"\"}'
}

@test "P3: an unescaped control character in a string is rejected with error -32700" {
	rejects_json $'{"a":"\t"}' $'{"a":"\x01"}' $'{"a":"\x1b"}'
}

@test "P3: a message that is not valid UTF-8 is rejected with error -32700" {
	rejects_json $'{"a":"\xff"}' $'{"a":"\xc3"}' $'{"a":"\xc0\x80"}' \
		$'{"a":"\xed\xa0\x80"}' $'{"a":"\xf4\x90\x80\x80"}' $'{"a":"\xe2\x82"}'
}

@test "P3: a NUL byte between tokens is rejected with error -32700" {
	boris
	printf '{"jsonrpc":"2.0","id":1,\0"method":"ping"}\n' >&7
	read_reply
	is "$(code) $(get id)" '-32700 null'
}

@test "P3: the error message about invalid JSON is a single line" {
	boris
	send '{'
	read_reply
	like "$(get error message)" '"?*"'
	lacks "$(get error message)" '\n'
}

@test "P3: an array nested 100,000 levels deep is rejected with error -32700" {
	boris
	head -c 100000 /dev/zero | tr '\0' '[' >&7
	send ''
	read_reply
	is "$(code) $(get id)" '-32700 null'
	next_is_ping
}

@test "P3: an object nested 20,000 levels deep is rejected with error -32700" {
	boris
	yes '{"a":' | head -n 20000 | tr -d '\n' >&7
	send ''
	read_reply
	is "$(code) $(get id)" '-32700 null'
	next_is_ping
}

@test "P3: a message nested 22 levels deep is accepted" {
	boris
	ping 1 '{"a":[[[[[[[[[[{"b":[[[[[[[[[[1]]]]]]]]]]}]]]]]]]]]]}'
	is "$(get result)" '{}'
}

@test "P3: a message that repeats one member 100,000 times is accepted" {
	boris
	{
		printf '{"jsonrpc":"2.0",'
		yes '"id":1,' | head -n 100000 | tr -d '\n'
		printf '"id":2,"method":"ping"}\n'
	} >&7
	read_reply
	is "$(get -v id)" 2
}

@test "P3: a message that is a JSON scalar is rejected with error -32600" {
	boris
	for line in 1 -1.5 '"x"' null true false; do
		rejects_line "$line" -32600 null
	done
}

@test "P3: a request whose jsonrpc member is not 2.0 is rejected with error -32600" {
	boris
	rejects_line '{"id":5,"method":"ping"}' -32600 5
	rejects_line '{"jsonrpc":"1.0","id":"a","method":"ping"}' -32600 '"a"'
	rejects_line '{"jsonrpc":2.0,"id":1.0,"method":"ping"}' -32600 1.0
	rejects_line '{"jsonrpc":null,"id":0,"method":"ping"}' -32600 0
	rejects_line '{"jsonrpc":"2.0\u0000","id":0,"method":"ping"}' -32600 0
	rejects_line '{"method":"ping"}' -32600 null
	rejects_line '{}' -32600 null
}

@test "P3: a request without a method name is rejected with error -32600" {
	boris
	rejects_line '{"jsonrpc":"2.0","id":5}' -32600 5
	rejects_line '{"jsonrpc":"2.0","id":"x","method":5}' -32600 '"x"'
	rejects_line '{"jsonrpc":"2.0","id":6,"method":null}' -32600 6
	rejects_line '{"jsonrpc":"2.0","id":6,"method":["ping"]}' -32600 6
	rejects_line '{"jsonrpc":"2.0"}' -32600 null
	rejects_line '{"jsonrpc":"2.0","params":{}}' -32600 null
}

@test "P3: a request whose id is neither a string nor a number is rejected with error -32600" {
	boris
	for id in null true false '[]' '[1]' '{}' '{"id":1}'; do
		rejects_line '{"jsonrpc":"2.0","id":'"$id"',"method":"ping"}' -32600 null
	done
}

@test "P3: a response sent by the client is ignored" {
	boris
	ignores '{"jsonrpc":"2.0","id":1,"result":{}}' \
		'{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"no"}}' \
		'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}'
}

@test "P3: a blank line is ignored" {
	boris
	ignores '' $'  \t ' $'\r'
}

@test "P3: a notification receives no response" {
	boris
	ignores '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
		'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}' \
		'{"jsonrpc":"2.0","method":"notifications/nope","params":{"a":1}}'
	notify notifications/progress '{"progressToken":1,"progress":1}'
	next_is_ping
}

@test "P3: a notification with params of the wrong type receives no response" {
	boris
	ignores '{"jsonrpc":"2.0","method":"notifications/nope","params":[1]}' \
		'{"jsonrpc":"2.0","method":"notifications/nope","params":5}'
}

@test "P3: a request without an id receives no response" {
	boris
	for method in nope '' ping tools/list; do
		ignores '{"jsonrpc":"2.0","method":"'$method'"}'
	done
}

@test "P3: tools/call without an id does not run the command" {
	boris
	notify tools/call '{"name":"bash","arguments":{"command":"touch ran"}}'
	next_is_ping
	run_bash true
	[ ! -e ran ]
}

@test "P3: an unknown method is rejected with error -32601" {
	boris
	for method in nope prompts/list prompts/get resources/list resources/read \
	              resources/templates/list logging/setLevel completion/complete \
	              tasks/list tasks/get roots/list '' TOOLS/LIST tools/list/ \
	              notifications/initialized 'tools/call\u0000' 'ping\u0000'; do
		rejects_line '{"jsonrpc":"2.0","id":3,"method":"'"$method"'"}' -32601 3
	done
}

@test "P3: tools/list ignores an empty or null cursor" {
	boris
	for cursor in null '""'; do
		ask tools/list '{"cursor":'$cursor'}'
		is "$(get result tools 0 name)" '"bash"'
		modern tools/list '"cursor":'$cursor
		is "$(get result tools 0 name)" '"bash"'
	done
}

@test "P3: tools/list with an unknown cursor is rejected with error -32602" {
	boris
	rejects_params tools/list '{"cursor":"x"}'
}

@test "P3: params that are not an object are rejected with error -32602" {
	boris
	for value in '[]' '[1]' 5 '"x"' true; do
		rejects_params tools/list "$value"
		rejects_params ping "$value"
	done
}

@test "P3: a _meta member that is not an object is rejected with error -32602" {
	boris
	for value in '[]' '[1]' 5 '"x"' true; do
		rejects_params tools/list '{"_meta":'"$value"'}'
	done
}

@test "P3: tool arguments that are not an object are rejected with error -32602" {
	boris
	for value in '[]' '[1]' 5 '"x"' true; do
		rejects_params tools/call '{"name":"bash","arguments":'"$value"'}'
	done
}

@test "P3: tools/call without a tool name is rejected with error -32602" {
	boris
	for params in '{}' '{"arguments":{"command":"true"}}' '{"name":5}' \
	              '{"name":null,"arguments":{}}' '{"name":["bash"]}' null; do
		rejects_params tools/call "$params"
	done
}

@test "P3: a null params member is treated as absent" {
	boris
	ask ping null
	is "$(get result)" '{}'
	ask tools/list null
	is "$(get -n result tools)" 2
}

@test "P3: tools/call with an unknown tool is rejected with error -32602" {
	boris
	run_tool nope '{}'
	is "$(code)" -32602
	has "$(get error message)" nope
}

@test "P3: the error about an unknown tool lists the available tools" {
	boris
	for name in Bash 'bash\u0000' 'bash ' '' python; do
		run_tool "$name" '{"command":"touch ran"}'
		is "$(code)" -32602
		like "$(get -s error message)" '*[!A-Za-z]bash[!A-Za-z]*'
		has "$(get -s error message)" task_output
	done
	[ ! -e ran ]
}

@test "P3: the error about the unknown tool KillShell or KillBash recommends kill_pid" {
	boris
	for name in KillShell KillBash; do
		run_tool $name '{}'
		like "$(get error message)" '*kill_pid*task_output*'
	done
}

# --- P4: the arguments of the tools

# rejects_arguments ARGUMENTS PART...: Fails if bash accepts the arguments, or if
# its error lacks one of the parts.
rejects_arguments() {
	local arguments=$1 part
	shift
	run_tool bash "$arguments"
	for part; do
		is_tool_error "*$part*" || fail "for $arguments: $reply" || return
	done
}

# rejects_values NAME 'VALUE...' PART...: Fails if bash accepts one of the values
# for the argument, or if its error lacks the name or one of the parts.
rejects_values() {
	local name=$1 values=$2 value other='"command":"touch ran",'
	shift 2
	case $name in
	command | check_pid | kill_pid) other='' ;;
	esac
	for value in $values; do
		rejects_arguments "{$other\"$name\":$value}" $name "$@" || return
	done
}

# two_names TOOL ARGUMENTS NAME NAME: Fails if the tool does not report that both
# names set the same argument.
two_names() {
	run_tool "$1" "$2"
	is_tool_error "\"$3\" and \"$4\" set the same argument; give only one of them*"
}

@test "P4: a bash call with none of command, check_pid and kill_pid is rejected" {
	boris
	rejects_arguments '{}' command check_pid kill_pid
	rejects_arguments '{"timeout":1000}' command
	ask tools/call '{"name":"bash"}'
	is_tool_error '*command*'
}

@test "P4: a bash call whose arguments are all empty is rejected" {
	boris
	for value in $EMPTY_VALUES; do
		rejects_arguments '{"command":'$value',"input":"","check_pid":0}' command
	done
}

@test "P4: a bash call with mutually exclusive arguments is rejected" {
	boris
	rejects_arguments '{"command":"touch ran","check_pid":1}' command check_pid
	rejects_arguments '{"command":"touch ran","kill_pid":1}' command kill_pid
	rejects_arguments '{"check_pid":1,"kill_pid":1}' check_pid kill_pid
	rejects_arguments '{"command":"touch ran","input":"x","kill_pid":5}' \
		'command and input and kill_pid were given; give only one of '
	not_run
}

@test "P4: an argument of the wrong type is rejected" {
	boris
	rejects_values command '5 true ["ls"] {"a":1}' string
	rejects_values run_in_background '1 "yes" [false]'
	rejects_values cwd '5 true'
	rejects_values stdin '5 [""]'
	rejects_values check_pid '1.5 true'
	rejects_values kill_pid '1.5 true'
	not_run
}

@test "P4: the error about an invalid timeout gives the smallest valid value" {
	boris
	rejects_values timeout '"5s" true [0] 1.5 0.5 {"a":1} -1 -5000 -1e30' 1
	not_run
}

@test "P4: the error about an invalid truncate lists the valid values" {
	boris
	rejects_values truncate '"middle" "HEAD" "head\u0000" 5 true' head tail both
	not_run
}

@test "P4: a string of digits is accepted as an integer argument" {
	boris
	run_bash 'echo hi' '{"timeout":"5000"}'
	is "$(result stdout)" '"hi\n"'
}

@test "P4: the string true is accepted as a boolean argument" {
	boris
	run_bash 'echo hi' '{"run_in_background":"true","wait":10000}'
	isnt "$(result task_id)" ''
}

@test "P4: a null argument is treated as absent" {
	boris
	nulls=''
	for name in timeout run_in_background check_pid kill_pid cwd stdin truncate \
	            description wait until; do
		nulls+=,\"$name\":null
	done
	run_bash 'echo hi' "{${nulls#,}}"
	is "$(result stdout)" '"hi\n"'
}

# call_filled TOOL ARGUMENTS: Calls the tool with ARGUMENTS and sets all its other
# arguments to $empty. Fails if the result is an error.
call_filled() {
	local tool=$1 arguments=$2 all=$bash_arguments name
	[ "$tool" = bash ] || all=$task_arguments
	[ "$tool" != edit ] || all='old all'
	for name in $all; do
		[[ $2 == *"\"$name\":"* ]] || arguments+=,'"'$name'":'$empty
	done
	run_tool "$tool" "{${arguments#,}}"
	is "$tool {${arguments#,}}: $(get result isError)" "$tool {${arguments#,}}: false"
}

# boris_to_fill: Starts boris and reads the names of its tools' arguments.
boris_to_fill() {
	boris --edit
	ask tools/list
	bash_arguments=$(get -k result tools 0 inputSchema properties)
	task_arguments=$(get -k result tools 1 inputSchema properties)
}

@test "P4: a command runs as usual if every optional argument is given an empty value" {
	boris_to_fill
	for empty in $EMPTY_VALUES; do
		call_filled bash '"command":"echo hi"'
		is "$(result stdout) $(result task_id)" '"hi\n" '
		call_filled bash '"command":"cat","stdin":"hi"'
		is "$(result stdout)" '"hi"'
	done
}

@test "P4: a task starts as usual if every optional argument is given an empty value" {
	boris_to_fill
	for empty in $EMPTY_VALUES; do
		for how in '"run_in_background":true' '"tty":true'; do
			call_filled bash '"command":"echo hi","wait":10000,'"$how"
			is "$how $(plain stdout)" "$how hi"
			isnt "$(plain task_id)" ''
		done
	done
}

@test "P4: text is typed into a terminal as usual if every optional argument is given an empty value" {
	boris_to_fill
	start_on_terminal cat '"wait":1'
	for empty in $EMPTY_VALUES; do
		call_filled bash '"task_id":"'"$task"'","input":"x\n","until":"x"'
		call_filled bash '"task_id":"'"$task"'","input":"","wait":1'
		is "$(plain task_id)" "$task"
	done
}

@test "P4: check_pid and kill_pid work if every optional argument is given an empty value" {
	boris_to_fill
	for empty in $EMPTY_VALUES; do
		start_task 'read <gate'
		call_filled bash '"check_pid":'"$pid"
		is "$(plain task_id) $(plain status)" "$task running"
		call_filled bash '"kill_pid":'"$pid"
		is "$(plain task_id) $(plain status)" "$task killed"
	done
}

@test "P4: task_output works if every optional argument is given an empty value" {
	boris_to_fill
	start_task 'read <gate'
	for empty in $EMPTY_VALUES; do
		call_filled task_output '"task_id":"'"$task"'"'
		is "$(plain task_id) $(plain status)" "$task running"
		call_filled task_output ''
		is "$(get -n result structuredContent tasks)" 1
	done
}

@test "P4: edit works if every optional argument is given an empty value" {
	boris_to_fill
	n=0
	for empty in $EMPTY_VALUES; do
		call_filled edit '"path":"f'$((++n))'","new":"a b"'
		call_filled edit '"path":"f'$n'","old":"a ","new":""'
		is "$(cat f$n)" b
	done
}

@test "P4: the task id 0e345678 is not mistaken for the number 0" {
	boris
	for name in 0e345678 00e00000; do
		read_task "$name"
		is_tool_error "task not found: $name*"
	done
}

@test "P4: bash accepts workdir as an alias of cwd" {
	boris
	run_bash pwd '{"workdir":"/tmp"}'
	is "$(plain stdout)" /tmp
}

@test "P4: edit accepts the aliases file_path, old_string, new_string and replace_all" {
	boris --edit
	path="\"file_path\":\"$PWD/f\""
	run_tool edit "{$path"',"new_string":"a a"}'
	run_tool edit "{$path"',"old_string":"a","new_string":"b","replace_all":true}'
	is "$(<f)" 'b b'
}

@test "P4: task_output accepts the block and timeout arguments used by other servers" {
	boris
	start_task 'echo hi'
	read_task "$task" '{"block":true,"timeout":10000}'
	is "$(result status)" '"completed"'
}

@test "P4: the input schemas do not list argument aliases" {
	boris --edit
	ask tools/list
	for name in workdir block file_path old_string new_string replace_all; do
		lacks "$reply" "$name"
	done
	is "$(get result tools 1 inputSchema properties timeout)" ''
}

# waits_for MS ARGUMENTS: Fails if task_output does not wait for MS milliseconds.
waits_for() {
	start_timer
	read_task "$task" "$2"
	is "$2 $(result status)" "$2 \"running\""
	least "$(elapsed)" $(($1 - 500))
	within $(($1 + 1000))
}

@test "P4: task_output waits if it is given block: true or a timeout" {
	use_fast_clock
	boris
	start_task 'read <gate'
	waits_for 30000 '{"block":true}'
	waits_for 5000 '{"timeout":5000}'
	waits_for 5000 '{"timeout":"5e3","block":"true"}'
}

@test "P4: task_output with block: false does not wait" {
	use_fast_clock
	boris
	start_task 'read <gate'
	waits_for 0 '{"block":false,"timeout":20000}'
	waits_for 0 '{"block":false}'
}

@test "P4: an argument given under two names is rejected" {
	boris --edit
	two_names bash '{"command":"touch ran","cwd":"/","workdir":"/tmp"}' cwd workdir
	two_names edit '{"path":"f","new":"x","new_string":"y"}' new new_string
	two_names task_output '{"task_id":"x","wait":0,"timeout":5}' wait timeout
	two_names task_output '{"task_id":"x","wait":0,"block":true}' wait block
	two_names task_output '{"task_id":"x","wait":0,"block":false}' wait block
	[ ! -e ran ] && [ ! -e f ]
}

@test "P4: an empty argument is accepted if its alias has a value" {
	boris
	run_bash pwd '{"cwd":"","workdir":"/tmp"}'
	is "$(plain stdout)" /tmp
}

@test "P4: an error names an argument by the alias that the caller used" {
	boris
	rejects_arguments '{"command":"touch ran","workdir":5}' '"workdir" must be a string'
	not_run
}

@test "P4: an empty stdin argument is treated as absent" {
	boris
	run_bash '[ -c /dev/stdin ] && cat' '{"stdin":""}'
	is "$(result exit_code) $(result stdout)" '0 ""'
}

@test "P4: an integer argument can be written with an exponent or a fraction" {
	boris
	for value in 5000.0 5e3 5E+3 1.5e3 0.1e4 8.64e+07 1500e-1 '"1.5e3"' 150.00e+01 \
	             0.00015E7 150000000e-5; do
		run_bash 'echo hi' \
			'{"run_in_background":true,"wait":10000,"timeout":'$value'}'
		is "$value $(result stdout)" "$value \"hi\\n\""
	done
	run_bash 'seq 1000' '{"limit":0.3e+3}'
	has "$(plain stdout)" '3893 characters in total, first 250 and last'
}

@test "P4: a fractional number is rejected as an integer argument" {
	boris
	for value in 1.55e1 15e-1 1e-1 0.1 1e-400 1e400 1.0000000000000000000001; do
		run_bash 'touch ran' '{"limit":'$value'}'
		is_tool_error "argument \"limit\" must be an integer from 200 to 100000, not $value"
	done
	[ ! -e ran ]
}

@test "P4: the error about unknown arguments names each one and the tool that accepts it" {
	boris
	start_task 'read <gate'
	read_task "$task" '{"lines":5,"cwd":"/"}'
	is_tool_error 'unknown arguments "lines"*"cwd" (an argument of bash); task_output accepts *'
	lacks "$(text)" block
}

@test "P4: the error about an unknown argument lists the accepted arguments" {
	boris
	rejects_arguments '{"command":"touch ran","env":{"A":"1"}}' \
		'unknown argument* "env"*; bash accepts '
	rejects_arguments '{"cmd":"ls"}' cmd command timeout run_in_background
	not_run
}

@test "P4: argument names are case-sensitive" {
	boris
	rejects_arguments '{"command":"touch ran","Timeout":5}' Timeout timeout
	rejects_arguments '{"command":"touch ran","timeout\u0000":5}' timeout
	not_run
}

@test "P4: a long name is shortened in the error about an unknown argument" {
	boris
	long=$(printf %0500d 0)
	run_tool bash '{"command":"touch ran","x'$long'":1}'
	is_tool_error 'unknown argument "x0000*...*command*'
	not_run
}

@test "P4: an error names at most ten unknown arguments" {
	boris
	run_tool bash "{$(seq -s, -f '"n%g":1' 100000),\"command\":\"touch ran\"}"
	is_tool_error 'unknown arguments "n1"*"n10"*'
	lacks "$(text)" n11
	not_run
}

@test "P4: a long id is shortened in the error about an unknown task id" {
	boris
	long=$(printf %0500d 0)
	run_tool task_output '{"task_id":"x\n'$long'"}'
	is_tool_error 'task not found: x?n000*'
	most "$(text | wc -c)" 400
}

@test "P4: task_output rejects arguments of the wrong type" {
	boris
	start_task 'read <gate'
	for value in 1.5 true '["x"]'; do
		run_tool task_output '{"task_id":'"$value"'}'
		is_tool_error '*task_id*'
	done
	for argument in wait:-1 wait:1.5 wait:'"x"' wait:true new:1 new:'"yes"'; do
		read_task "$task" '{"'${argument/:/'":'}'}'
		is_tool_error "*${argument%%:*}*"
	done
}

@test "P4: the error about an unknown task_output argument mentions task_id" {
	boris
	start_task 'read <gate'
	read_task "$task" '{"id":1}'
	is_tool_error '*id*task_id*'
}

@test "P4: a null argument of task_output is treated as absent" {
	boris
	start_task 'read <gate'
	read_task "$task" '{"wait":null,"until":null,"new":null}'
	is "$(result status)" '"running"'
}

# --- P5: the length of a line

# padded BYTES: Prints a ping of BYTES bytes and a newline.
padded() {
	local head='{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' tail='"}}'
	printf %s "$head"
	letters $(($1 - ${#head} - ${#tail}))
	printf '%s\n' "$tail"
}

# letters N: Prints N letters.
letters() {
	head -c "$1" /dev/zero | tr '\0' a
}

# rejects_long_line ID START...: Fails if a line that starts with START and is too
# long is not rejected with this id.
rejects_long_line() {
	local start want=$1
	shift
	for start; do
		printf %s "$start" >&7
		letters 16777216 >&7
		send ''
		read_reply
		is "${start:0:200} -> $(code) $(get -v id)" "${start:0:200} -> -32600 $want"
	done
	next_is_ping
}

@test "P5: a 16 MiB message is accepted" {
	boris
	padded 16777216 >&7
	read_reply
	is "$(get result)" '{}'
}

@test "P5: a message one byte longer than 16 MiB is rejected with error -32600" {
	boris
	padded 16777217 >&7
	read_reply
	is "$(code) $(get id)" '-32600 1'
	next_is_ping
}

@test "P5: the error about an oversized message includes the message's id if it is a string" {
	boris
	rejects_long_line '"a\"b"' '{"jsonrpc":"2.0","id":"a\"b","method":"ping","params":{"x":"'
}

@test "P5: the error about an oversized message includes the message's id if it is a number" {
	boris
	rejects_long_line 7 '{"id":7,"jsonrpc":"2.0","params":{"id":8,"x":"' \
		$' \t{ "params" : {"id":8,"x":[{"id":9}]} , "\\u0069d" : 7 , "x":"'
}

@test "P5: the error about an oversized message without a valid id has a null id" {
	boris
	rejects_long_line null '{"jsonrpc":"2.0","method":"ping","params":{"id":8,"x":"' \
		'{"jsonrpc":"2.0","method":"notifications/x","params":{"requestId":8,"x":"' \
		'{"id":null,"x":"' '{"id":[1],"x":"' '{"id":{"id":3},"x":"' '[{"id":5,"x":"' \
		'"id":5,"' '{"id":5' '{"id":"5'
}

@test "P5: the error about an oversized message has a null id if the id is not in the first 4 KiB" {
	boris
	rejects_long_line null "{\"x\":\"$(printf %04080d 0)\",\"id\":12345678,\"x\":\""
}

@test "P5: the error about an oversized response from the client has a null id" {
	boris
	rejects_long_line null '{"jsonrpc":"2.0","id":5,"result":{"x":"' '{"id":5,"error":"'
}

@test "P5: an oversized message is discarded instead of stored" {
	needs_plain
	boris
	padded 16777216 >&7
	read_reply
	before=$(peak)
	padded 100000000 >&7
	read_reply
	is "$(code)" -32600
	most "$(peak)" $((before + 1024))
	next_is_ping
}

@test "P5: an oversized message that ends without a newline is rejected only once" {
	{
		printf '%s\n' "$HELLO"
		padded 20000000 | tr -d '\n'
	} >in
	filter <in >heard
	is $status 0
	is "$(all -v id | xargs)" '0 1'
}

# write_in_pieces: Writes 24 pings to the server. Their lengths are close to the
# size of a read, and they are written in pieces of various sizes.
write_in_pieces() {
	perl - >&7 <<-'END'
	$| = 1;
	for my $n (65535, 65536, 65537, 131072, 200000, 10) {
		for my $piece (7777, 65536, 65535, 300000) {
			my $head = sprintf '{"jsonrpc":"2.0","id":%d,"method":"ping",' .
				'"params":{"x":"', ++$id;
			$text .= $head . "a" x ($n - length($head) - 4) . "\"}}\n";
			while (length $text > $piece) {
				syswrite STDOUT, substr($text, 0, $piece, "");
			}
		}
	}
	print $text;
	END
}

@test "P5: a message is parsed correctly wherever read() splits it" {
	needs perl
	boris
	write_in_pieces &
	for ((i = 1; i <= 24; i++)); do
		read_reply
		is "$(get -v id) $(get result)" "$i {}"
	done
	wait $!
}

@test "P5: a 16 MiB message with 1.6 million members is parsed within 5 s" {
	boris
	start_timer
	{
		printf '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":['
		yes '{"a":0},' | head -n 1600000 | tr -d '\n'
		printf '0]}}\n'
	} >&7
	read_reply
	is "$(get result)" '{}'
	within 5000
}

# --- P6, P7: requests while commands run

# hold_shell [REST]: Sends a command that waits for the gate and then runs REST.
# Sets $first to its id and waits until the command has started.
hold_shell() {
	call_bash "echo x >held; read <'$PWD/gate'${1:+; $1}"
	first=$id
	await_file held
}

@test "P6: ping is answered while a command is running" {
	boris
	hold_shell
	ping 901
	is "$(get -v id)" 901
	release
	answer $first
	is "$(result exit_code)" 0
}

@test "P6: tools/list is answered while a command is running" {
	boris
	hold_shell
	request 902 tools/list
	read_reply
	is "$(get -v id)" 902
	release
}

@test "P6: task_output is answered while a command is running" {
	boris
	start_task 'echo hi; echo hi >there; read <gate'
	await_output there
	hold_shell
	call task_output '{"task_id":"'"$task"'"}'
	read_reply
	is "$(get -v id) $(result stdout)" "$id \"hi\\n\""
	release 2
	answer $first
	is "$(result exit_code)" 0
}

@test "P6: invalid arguments are rejected while a command is running" {
	boris
	hold_shell
	request 903 tools/call '{"name":"bash","arguments":{"command":5}}'
	read_reply
	is "$(get -v id)" 903
	release
}

@test "P6: a command that makes its output pipes blocking does not block boris" {
	needs_linux_parts
	needs perl
	boris
	script='for (0..2, 250) { open(F, "<&=$_") and fcntl(F, 4, 0) }'
	run_bash "perl -e '$script'; sleep 60 & echo hi"
	is "$(plain stdout)" hi
	run_bash 'echo more'
	is "$(plain stdout)" more
}

@test "P6: ping is answered while a 15 MB call is queued" {
	boris
	hold_shell
	{
		printf '{"jsonrpc":"2.0","id":"big","method":"tools/call","params":'
		printf '{"name":"bash","arguments":{"command":"wc -c","stdin":"'
		letters 15000000
		printf '"}}}\n'
	} >&7 3>&- 6>&- 8>&- 9>&-
	sync_server
	release
	answer '"big"'
	is "$(result stdout)" '"15000000\n"'
}

@test "P7: a command runs in the directory to which the previous command changed" {
	mkdir d
	boris
	send "$(bash_request 91 'cd d')"$'\n'"$(bash_request 92 pwd)"
	answer 92
	is "$(plain stdout)" "$PWD/d"
}

@test "P7: a command starts only after the previous command has finished" {
	boris
	hold_shell 'echo one >>order'
	call_bash 'echo two >>order'
	second=$id
	sync_server
	[ ! -e order ]
	release
	answer $second
	is "$(cat order)" $'one\ntwo'
	answer $first
}

@test "P7: commands are answered in the order in which they were sent" {
	boris
	for i in {1..10}; do
		call_bash "echo $i"
	done
	for i in {1..10}; do
		read_reply
		is "$(plain stdout)" "$i"
	done
}

@test "P7: a background task starts only after the previous foreground command has finished" {
	mkdir d
	boris
	hold_shell 'cd d'
	call_bash 'pwd >where; echo . >done' '{"run_in_background":true}'
	background=$id
	call_bash 'cd ..'
	sync_server
	[ ! -e d/where ]
	release
	answer $background
	is "$(result status)" '"running"'
	await_file d/done
	is "$(cat d/where)" "$PWD/d"
}

@test "P7: calls that start background tasks are answered in the order in which they were sent" {
	boris
	start_task true
	arguments='{"command":"true","run_in_background":true}'
	for n in {2..9}; do
		lines[n]='{"jsonrpc":"2.0","id":'$n',"method":"tools/call",'
		lines[n]+='"params":{"name":"bash","arguments":'$arguments'}}'
	done
	send "${lines[@]}"
	for n in {2..9}; do
		answer $n
	done
	is "$(all -v id | xargs)" '0 1 2 3 4 5 6 7 8 9'
}

# in_parallel N [ARGUMENTS]: Sends N calls with an absolute cwd. Each of them adds
# its number to `begun` and waits for the gate. Sets $first to the first id.
in_parallel() {
	local i
	: >begun
	first=$((calls + 1))
	for ((i = 1; i <= $1; i++)); do
		call_bash "echo $i >>'$PWD/begun'; read <'$PWD/gate'; echo $i" \
			'{"cwd":"/"'"${2:+,$2}"'}'
	done
}

# has_begun N: Succeeds if N calls of in_parallel have started.
has_begun() {
	[ "$(wc -l <begun)" = "$1" ]
}

# parallel_answered FROM TO: Fails if calls FROM to TO of in_parallel do not return
# their numbers.
parallel_answered() {
	local i
	for ((i = $1; i <= $2; i++)); do
		answer $((first + i - 1))
		is "$(plain stdout)" $i || return
	done
}

@test "P7: a command with an absolute cwd runs without waiting for earlier commands" {
	boris
	hold_shell
	call_bash 'echo second'
	second=$id
	in_parallel 2
	eventually has_begun 2
	run_bash 'echo hi; pwd' '{"cwd":"/"}'
	is "$(plain stdout)" $'hi\n/'
	release 3
	answer $second
}

@test "P7: a task with an absolute cwd starts without waiting for earlier commands" {
	boris
	hold_shell
	start_task 'read <gate' '{"cwd":"'"$PWD"'"}'
	start_on_terminal 'read x' '"cwd":"/"'
	release 2
}

@test "P7: a command without cwd does not wait for commands with an absolute cwd" {
	mkdir d
	boris
	in_parallel 2
	eventually has_begun 2
	run_bash 'cd d'
	is "$(plain cwd)" "$PWD/d"
	run_bash 'echo second'
	is "$(plain stdout)" second
	release 2
}

@test "P7: a command without cwd waits for the previous command" {
	boris
	hold_shell
	call_bash 'touch early'
	run_bash 'echo hi' '{"cwd":"/"}'
	[ ! -e early ]
	release
	answer $((first + 1))
	[ -e early ]
}

@test "P7: a command with a relative cwd waits for the previous command" {
	mkdir d
	boris
	hold_shell 'cd d'
	call_bash 'touch early' '{"cwd":".."}'
	call_bash 'touch early' '{"cwd":".","run_in_background":true,"wait":10000}'
	last=$id
	run_bash 'echo hi' '{"cwd":"/"}'
	[ ! -e early ] && [ ! -e d/early ]
	release
	answer $last
	[ -e early ] && [ -e d/early ]
}

@test "P7: at most sixteen commands with an absolute cwd run in parallel" {
	boris
	in_parallel 19
	eventually has_begun 16
	run_bash 'echo hi' # The session's queue is independent of these calls.
	is "$(plain stdout)" hi
	start_task 'echo hi' '{"cwd":"/"}'
	run_tool task_output '{}'
	has "$(text)" 'calls waiting for a command with an absolute cwd to end: 3'
	is "$(wc -l <begun)" 16
	release 19
	parallel_answered 1 19
}

@test "P7: queued commands with an absolute cwd start in the order in which they were sent" {
	boris
	in_parallel 19
	eventually has_begun 16
	for i in 17 18 19; do
		release
		eventually has_begun $i
		is "$(tail -n 1 begun)" $i
	done
	release 16
}

@test "P8: cancelling a command with an absolute cwd does not affect other commands" {
	boris
	in_parallel 16
	eventually has_begun 16
	cancel $first
	run_bash 'echo hi' '{"cwd":"/"}'
	is "$(plain stdout)" hi
	release 15
	parallel_answered 2 16
	stop_server
	unanswered $first
}

@test "P8: a queued command with an absolute cwd does not run after it is cancelled" {
	boris
	in_parallel 17
	eventually has_begun 16
	cancel $((first + 16))
	sync_server
	release 16
	parallel_answered 1 16
	is "$(wc -l <begun)" 16
	stop_server
	unanswered $((first + 16))
}

@test "P7: an edit does not wait for commands with an absolute cwd" {
	boris --edit
	in_parallel 16
	eventually has_begun 16
	run_tool edit '{"path":"f","new":"text"}'
	has "$(text)" 'f: created'
	release 16
}

@test "P7: an edit waits for the previous command" {
	mkdir d
	boris --edit
	hold_shell 'cd d'
	call edit '{"path":"g","new":"text"}'
	edit=$id
	sync_server
	[ ! -e g ] && [ ! -e d/g ]
	release
	answer $edit
	is "$(<d/g)" text
}

@test "P7: a command with an absolute cwd does not wait for queued edits" {
	boris --edit
	hold_shell
	for i in {1..50}; do
		call edit '{"path":"f'$i'","new":"text"}'
	done
	last=$id
	run_bash 'echo hi' '{"cwd":"/"}'
	is "$(plain stdout)" hi
	[ ! -e f1 ]
	release
	answer $last
	is "$(<f50)" text
}

@test "P7: a queued command's timeout is measured from when the command starts" {
	boris
	hold_shell
	call_bash 'echo hi' '{"timeout":'$((1000 * SLOW))'}'
	second=$id
	pause $((1200 * SLOW))
	release
	answer $second
	is "$(result stdout)" '"hi\n"'
}

# --- P8: cancellations

# cancel_running COMMAND: Starts COMMAND, which writes its pid to $PWD/pid, cancels
# it and waits until it has ended. Sets $cancelled to its id.
cancel_running() {
	call_bash "$1"
	cancelled=$id
	await_file pid
	cancel $id
	eventually is_gone pid
}

@test "P8: a cancelled command is terminated and receives no response" {
	boris
	cancel_running 'echo $$ >pid; read <gate'
	sync_server
	stop_server
	unanswered $cancelled
}

@test "P8: a cancelled command receives SIGTERM" {
	boris
	cancel_running 'trap "echo bye >bye; exit 0" TERM; echo $$ >pid; read <gate'
	is "$(<bye)" bye
}

@test "P8: a cancelled command does not change the working directory" {
	mkdir d
	boris
	cancel_running 'trap "exit 0" TERM; cd d; echo $$ >../pid; read <../gate'
	run_bash pwd
	is "$(plain stdout)" "$PWD"
	stop_server
	unanswered $cancelled
}

@test "P8: boris uses no CPU time after a cancelled command's timeout expires" {
	needs_linux
	needs_plain
	boris
	call_bash 'trap "" TERM; echo $$ >pid; while :; do read <never; done' \
		'{"timeout":500}'
	await_file pid
	cancel $id
	pause 500
	stays_idle 1
	is_running pid
	kill -9 "$(cat pid)"
}

@test "P8: a queued command does not run after it is cancelled" {
	boris
	hold_shell
	call_bash 'touch ran'
	queued=$id
	call_bash 'echo third'
	cancel $queued
	release
	answer $first
	answer
	is "$(result stdout)" '"third\n"'
	stop_server
	unanswered $queued
	[ ! -e ran ]
}

@test "P8: a cancellation with a numeric id does not match a string id with the same digits" {
	boris
	send "$(bash_request '"5"' 'echo x >a; read <gate')"
	await_file a
	cancel 5
	sync_server
	release
	answer '"5"'
	is "$(result exit_code)" 0
}

# cancels_queued ID CANCELLED: Queues a command with this request id and cancels it
# by CANCELLED. Fails if the command runs or is answered.
cancels_queued() {
	hold_shell
	send "$(bash_request "$1" 'touch ran')"
	cancel "$2"
	sync_server
	release
	answer $first
	run_bash true
	unanswered "$1"
	[ ! -e ran ] && rm held
}

@test "P8: a request with the id 0 can be cancelled" {
	boris
	hold_shell
	send "$(bash_request 0 'touch ran')"
	cancel 0
	sync_server
	release
	answer $first
	stop_server
	is "$(all -v id | grep -cx 0) response, to initialize" '1 response, to initialize'
	[ ! -e ran ]
}

@test "P8: a request whose id is an empty string can be cancelled" {
	boris
	cancels_queued '""' '""'
}

@test "P8: a cancellation matches an id that is escaped differently" {
	boris
	cancels_queued '"ab"' '"\u0061b"'
	cancels_queued '"a/b\u00e9"' '"\u0061\/b'$'\u00e9''"'
	cancels_queued '"cd"' '"\u0063\u0064"'
}

@test "P8: a cancellation of an unknown request id is ignored" {
	boris
	hold_shell 'echo hi'
	for unknown in 4711 '"'$first'"' null "[$first]"; do
		cancel "$unknown"
	done
	next_is_ping
	release
	answer $first
	is "$(result stdout)" '"hi\n"'
}

@test "P8: a cancellation without an id is ignored" {
	boris
	hold_shell 'echo hi'
	notify notifications/cancelled
	for params in '{}' '{"reason":"no"}' '[1]'; do
		notify notifications/cancelled "$params"
	done
	next_is_ping
	release
	answer $first
	is "$(result stdout)" '"hi\n"'
}

@test "P8: a cancellation of a request that has already been answered is ignored" {
	boris
	run_bash 'echo hi'
	cancel $id
	next_is_ping
}

# --- P6: costly requests

@test "O7: a 1024-byte progress token is accepted" {
	boris
	run_bash 'echo hi' '{}' "{\"progressToken\":\"$(letters 1022)\"}"
	is "$(result stdout)" '"hi\n"'
}

@test "O7: a progress token longer than 1024 bytes is rejected with error -32602" {
	boris
	run_bash 'touch ran' '{}' "{\"progressToken\":\"$(letters 1023)\"}"
	is "$(code)" -32602
	[ ! -e ran ]
}

# queue_calls N: Sends N calls of `true` with the ids m1 to mN.
queue_calls() {
	local line
	line=$(bash_request '"m&"' true)
	seq "$1" | sed "s|.*|$line|" >&7
}

@test "P6: a cancellation with a 15 MB id is ignored in less than a second of CPU time" {
	needs_plain
	boris
	hold_shell
	queue_calls 400
	before=$(ticks)
	{
		printf '{"jsonrpc":"2.0","method":"notifications/cancelled",'
		printf '"params":{"requestId":"'
		letters 15000000
		printf '"}}\n'
	} >&7
	sync_server
	most $(($(ticks) - before)) $((100 * SLOW))
	kill -TERM "$server"
	await_exit
}

@test "P6: 15,000 queued commands are rejected in less than half a second of CPU time" {
	needs_plain
	boris --call-limit=4
	start_task 'read <never'
	call_bash 'read <gate' '{"timeout":9000}'
	cat <&8 >rest 7>&- 9>&- &
	reader=$!
	queue_calls 15000
	pause 2000
	before=$(ticks)
	all_rejected() { [ "$(grep -c 'not run' rest)" = 15000 ]; }
	eventually all_rejected
	most $(($(ticks) - before)) $((50 * SLOW))
	kill -TERM "$server"
	exits_unread
	wait $reader
}

# --- P9: the end of the input, or of the reader

# exits_unread: Waits until the server has exited, without reading its output.
exits_unread() {
	eventually has_exited
	left=1
}

@test "P9: running and queued commands are answered after EOF on stdin" {
	boris
	hold_shell 'echo one'
	call_bash 'echo two'
	second=$id
	end_input
	release
	answer $second
	is "$(result stdout)" '"two\n"'
	answer $first
	await_exit
	is $status 0
}

@test "P9: a call that is waiting for a task is still answered after EOF on stdin" {
	boris
	mkfifo never2
	exec 5<>never2
	start_task 'read <never2; echo hi'
	call task_output '{"task_id":"'"$task"'","wait":60000}'
	wait=$id
	call_bash 'echo >never2'
	end_input
	answer $wait
	is "$(result stdout)" '"hi\n"'
	await_exit
	is $status 0
	exec 5>&-
}

# closes_without_reader CLOSE CLOSE: Closes the two pipes of the server in this
# order. Fails if the server does not exit and kill its command within 3 s.
closes_without_reader() {
	boris
	call_bash 'echo $$ >pid; read <gate'
	await_file pid
	$1
	$2
	start_timer
	exits_unread
	within 3000
	is_gone pid
}

# stop_reading: Closes the pipe that the server writes to.
stop_reading() {
	exec 8<&-
}

@test "P9: boris exits if the client closes stdin and then stdout" {
	closes_without_reader end_input stop_reading
}

@test "P9: boris exits if the client closes stdout and then stdin" {
	closes_without_reader stop_reading end_input
}

@test "P9: SIGPIPE does not kill boris if the client closes the stdout pipe" {
	boris
	stop_reading
	trap '' PIPE
	for ((i = 0; i < 50; i++)); do
		request $i ping 2>/dev/null || break
	done
	end_input
	exits_unread
	status=0
	wait "$server" || status=$?
	most $status 127
}

# --- P10: a client that does not read

# traffic: Prints how many bytes the server and the writer have read and written.
traffic() {
	cat "/proc/$server/io" "/proc/$writer/io" 2>/dev/null || :
}

# unread N: Sends N calls of tools/list in the background and does not read the
# responses. Sets $writer to the process that sends them.
unread() {
	seq "$1" | sed 's/.*/{"jsonrpc":"2.0","id":"u&","method":"tools\/list"}/' \
		>&7 2>/dev/null 3>&- 6>&- 8>&- 9>&- &
	writer=$!
}

# ids_of_rest: Prints the ids of the responses in the file `rest`.
ids_of_rest() {
	"$HERE/reply" -l -v id <rest
}

@test "P10: a command whose timeout expires is terminated even if the client does not read responses" {
	boris
	call_bash 'echo $$ >pid; read <gate' '{"timeout":300}'
	await_file pid
	unread 5000
	eventually is_gone pid
	kill $writer || :
}

@test "P10: no response is lost if the client delays reading" {
	boris
	unread 5000
	await_stable traffic
	cat <&8 >rest 7>&- &
	reader=$!
	wait $writer
	end_input
	exits_unread
	wait "$server"
	wait $reader
	is "$(ids_of_rest | grep -c '^"u')" 5000
	is "$(ids_of_rest | sort -u | wc -l | tr -d ' ')" 5000
}

# read_slowly: Appends the server's output to the file `rest`, 4 KiB at a time.
read_slowly() {
	while head -c 4096 <&8 >piece && [ -s piece ]; do
		cat piece >>rest
	done
}

@test "P10: a client that reads slowly receives the last response in full before boris exits" {
	boris
	call_bash 'head -c 60000 /dev/zero | tr "\0" "\042" | tee /dev/stderr
		trap "exit 0" TERM; echo x >a; read <gate'
	await_file a
	: >rest
	kill -TERM "$server"
	while head -c 49152 <&8 >piece && [ -s piece ]; do
		cat piece >>rest
		pause 100
	done
	exits_unread
	is "$(tail -n 1 rest | "$HERE/reply" -v id)" $id
}

@test "P10: a request is processed even if earlier responses have not been read" {
	boris
	unread 500
	await_stable traffic
	read_slowly 3>&- 6>&- 7>&- 9>&- &
	reader=$!
	some_read() { [ -e rest ] && [ "$(wc -c <rest)" -gt 20000 ]; }
	eventually some_read
	call_bash 'echo x >mark'
	eventually test -e mark
	most "$(wc -c <rest)" 1000000
	kill $reader
	kill -TERM "$server"
	exits_unread
}

@test "P10: boris stops reading requests while too many responses are unread" {
	needs_plain
	boris
	unread 40000
	await_stable traffic
	kill -0 $writer
	most "$(peak)" 24576
	start_timer
	kill -TERM "$server"
	exits_unread
	within 2000
	kill $writer 2>/dev/null || :
}

@test "P10: if the client reads slowly, boris uses at most 10 MiB of memory" {
	needs_plain
	boris
	local i ten size
	ask tools/list
	size=$((10 * ${#reply}))
	unread 300
	await_stable traffic
	ten=$(seq 10 | sed 's/.*/{"jsonrpc":"2.0","id":"t&","method":"tools\/list"}/')
	for ((i = 0; i < 400; i++)); do
		send "$ten"
		head -c $size <&8 >piece
	done
	most "$(peak)" 10240
	kill -TERM "$server"
	exits_unread
}

# read_rest ID: Waits for the response to request ID in the file `rest`, and reads
# it into $reply.
read_rest() {
	local start='{"jsonrpc":"2.0","id":'$1,
	eventually grep -q "^$start" rest
	reply=$(grep "^$start" rest)
}

@test "P10: if a command turned into a task ends before the response is sent, its result can still be read" {
	boris --on-timeout=background
	call_bash 'echo $$ >pid; read <gate; exit 3' '{"timeout":300}'
	await_file pid
	unread 1500
	await_stable traffic
	release
	eventually is_gone pid
	cat <&8 >rest 7>&- &
	reader=$!
	read_rest $id
	is "$(plain status)" running
	task=$(plain task_id)
	call task_output '{"task_id":"'"$task"'"}'
	read_rest $id
	is "$(result exit_code)" 3
	wait $writer
	end_input
	exits_unread
	wait $reader
}

@test "P10, E6: a command turned into a task is terminated if its call is cancelled before it is answered" {
	boris --on-timeout=background --log=log
	call_bash 'echo $$ >pid; read <never' '{"timeout":300}'
	await_file pid
	# Write all at once, so that boris has read the cancellation when it
	# stops handling requests.
	cancelled=$id
	{ seq 700 | sed 's/.*/{"jsonrpc":"2.0","id":"u&","method":"tools\/list"}/'
	  cancel $cancelled 7>&1; } >requests
	cat requests >&7
	await_stable traffic
	is_running pid
	cat <&8 >rest 7>&- &
	reader=$!
	eventually is_gone pid
	call task_output '{}'
	read_rest $id
	is "$(result tasks)" '[]'
	lacks "$reply" note
	lacks "$(<rest)" '"id":'$cancelled,
	eventually grep -q '"status":"cancelled"' log
	end_input
	exits_unread
	wait $reader
}

# large_calls N: Sends N calls of 1 MB with the ids q1 to qN.
large_calls() {
	local i
	for ((i = 1; i <= $1; i++)); do
		printf '{"jsonrpc":"2.0","id":"q%d","method":"tools/call","params":' $i
		printf '{"name":"bash","arguments":{"command":": '
		letters 1000000
		printf '"}}}\n'
	done
}

@test "P10: boris stops reading requests while too many commands are queued" {
	needs_plain
	boris
	hold_shell
	large_calls 40 >&7 3>&- 6>&- 8>&- 9>&- &
	writer=$!
	await_stable traffic
	kill -0 $writer
	most "$(peak)" 32768
	release
	wait $writer
	for i in {1..40}; do
		answer "\"q$i\""
		is "$(result exit_code)" 0
	done
}

@test "P10: answering 990 calls that wait for one task uses at most 32 MiB of memory" {
	needs_plain
	boris
	start_task 'read <gate; seq -f "%0100.0f" 290'
	for i in {1..990}; do
		call task_output '{"task_id":"'"$task"'","wait":60000}'
	done
	ask ping
	release
	cat <&8 >rest 6>&- 7>&- 9>&- &
	reader=$!
	all_answered() { [ "$(wc -l <rest)" -ge 990 ]; }
	eventually all_answered
	is "$(grep -c '"exit_code":0' rest)" 990
	most "$(peak)" 32768
	end_input
	exits_unread
	wait $reader
}

@test "P10: a command does not block if the client does not read progress notifications" {
	boris
	call_bash 'yes | head -c 5000000; echo x >done' '{}' '{"progressToken":1}'
	await_file done
	answer
	is "$(result exit_code)" 0
}
