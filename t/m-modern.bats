#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# M: the stateless revision MCP 2026-07-28, revisions with a handshake in the
# same process, and what makes real clients fail
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

VERSION=io.modelcontextprotocol/protocolVersion
CAPABILITIES=io.modelcontextprotocol/clientCapabilities
INFO=io.modelcontextprotocol/clientInfo
SERVER=io.modelcontextprotocol/serverInfo
SUBSCRIPTION=io.modelcontextprotocol/subscriptionId

# the two members that the _meta of a stateless request must have
REQUIRED='"'$VERSION'":"2026-07-28","'$CAPABILITIES'":{}'

# list_tools META: requests tools/list with exactly these members of _meta, and
# reads the response
list_tools() {
	ask tools/list '{"_meta":{'"$1"'}}'
}

# stateless_call TOOL ARGUMENTS [PARAMS]: calls the tool without a handshake, and
# reads the response
stateless_call() {
	modern tools/call '"name":"'"$1"'","arguments":'"$2${3:+,$3}"
}

# stateless_bash COMMAND [ARGUMENTS]: calls bash without a handshake, and reads
# the response
stateless_bash() {
	quote "$1"
	stateless_call bash '{"command":'"$quoted${2:+,$2}"'}'
}

# stateless_request ID TOOL ARGUMENTS [META]: sends a call with this id
stateless_request() {
	request "$1" tools/call \
		'{"name":"'"$2"'","arguments":'"$3"',"_meta":{'"$META${4:+,$4}"'}}'
}

# is_stateless: the reply has what every result of MCP 2026-07-28 has
is_stateless() {
	is "$(get result resultType)" '"complete"' &&
		is "$(get result _meta $SERVER name)" '"boris"'
}

# is_after_handshake: the reply is a result without any of these members
is_after_handshake() {
	local member found=''
	for member in resultType ttlMs cacheScope _meta; do
		found+=$(get result $member || :)
	done
	is "$found" '' && isnt "$(get result)" ''
}

# is_error CODE PART: the reply is an error with this code, and its message
# contains this part
is_error() {
	is "$(code)" "$1" && has "$(get error message)" "$2"
}

# --- M8: results of MCP 2026-07-28

@test "M8: server/discover returns the supported versions and capabilities" {
	start
	modern server/discover
	is_stateless
	is "$(get result supportedVersions)" '["2026-07-28"]'
	is "$(get result capabilities)" '{"tools":{}}'
	isnt "$(get result _meta $SERVER version)" ''
}

@test "M8: server/discover returns instructions of at most 500 characters" {
	start
	modern server/discover
	like "$(get result instructions)" '"?*"'
	most "$(get -n result instructions)" 500
}

@test "M8: the result of server/discover can be cached for an hour" {
	start
	modern server/discover
	is "$(get result ttlMs) $(get result cacheScope)" '3600000 "public"'
}

@test "M8: the result of tools/list can be cached privately for an hour" {
	start
	modern tools/list
	is_stateless
	is "$(get result ttlMs) $(get result cacheScope)" '3600000 "private"'
}

@test "M8: tools/list returns the same tools to clients with and without a handshake" {
	boris
	modern tools/list
	tools=$(get result tools)
	ask tools/list
	is_after_handshake
	is "$(get result tools)" "$tools"
}

@test "M8: tools/call works without a handshake" {
	start
	stateless_bash 'echo hi; exit 3'
	is_stateless
	is "$(result stdout) $(result exit_code)" '"hi\n" 3'
	is "$(get result isError)" false
	is "$(get result ttlMs)$(get result cacheScope)" ''
}

@test "M8: the error about an unknown argument has a resultType of complete" {
	start
	stateless_call bash '{"cmd":"ls"}'
	is_stateless
	is_tool_error '*cmd*'
}

@test "M8: the result for a running task has a resultType of complete" {
	start
	stateless_bash 'read <gate' '"run_in_background":true'
	is_stateless
	stateless_call task_output '{"task_id":"'"$(plain task_id)"'"}'
	is_stateless
	is "$(result status)" '"running"'
}

@test "M8: the result for a command that timed out has a resultType of complete" {
	start
	stateless_bash 'read <gate' '"timeout":50'
	is_stateless
	is "$(result status)" '"timed_out"'
}

# --- M8: the members of _meta

@test "M8: clientInfo is optional in a stateless request" {
	start
	list_tools "$REQUIRED"
	is_stateless
}

@test "M8: unknown members of _meta and the value of logLevel are ignored" {
	start
	list_tools "$REQUIRED"',"io.modelcontextprotocol/logLevel":7'
	is_stateless
	list_tools "$REQUIRED"',"traceparent":"00-x","baggage":null,"x/y":{}'
	is_stateless
}

@test "M8: unknown clientCapabilities are ignored" {
	start
	list_tools '"'$VERSION'":"2026-07-28","'$CAPABILITIES'":{"extensions":{"x":[1]}}'
	is_stateless
}

@test "M8: a malformed protocolVersion is rejected with error -32602" {
	start
	for version in 20260728 null true '["2026-07-28"]' '{}'; do
		list_tools '"'$VERSION'":'"$version"',"'$CAPABILITIES'":{}'
		is_error -32602 protocolVersion
	done
}

@test "M8: a stateless request without clientCapabilities is rejected with error -32602" {
	start
	list_tools '"'$VERSION'":"2026-07-28"'
	is_error -32602 $CAPABILITIES
}

@test "M8: a malformed clientCapabilities member is rejected with error -32602" {
	start
	for value in null '[]' '"x"' 1; do
		list_tools '"'$VERSION'":"2026-07-28","'$CAPABILITIES'":'"$value"
		is_error -32602 $CAPABILITIES
	done
}

@test "M8: a malformed clientInfo is rejected with error -32602" {
	start
	for value in '"c"' '[]' '{}' '{"name":"c"}' '{"version":"1"}' \
	             '{"name":1,"version":"1"}' '{"name":"c","version":1}'; do
		list_tools "$REQUIRED"',"'$INFO'":'"$value"
		is "$value $(code)" "$value -32602"
		has "$(get error message)" $INFO
	done
}

@test "M8: the error about an unsupported version lists the supported versions" {
	boris
	for version in 1900-01-01 2025-11-25 2024-11-05 '' 2026-07-28x; do
		list_tools '"'$VERSION'":"'$version'","'$CAPABILITIES'":{}'
		is "$(code)" -32022
		is "$(get error data supported)" '["2026-07-28"]'
		is "$(get error data requested)" "\"$version\""
	done
}

@test "M8: a request's version, _meta, method and params are checked in that order" {
	start
	ask nope '{"_meta":{"'$VERSION'":5}}'
	is "$(code)" -32602
	ask nope '{"_meta":{"'$VERSION'":"1900-01-01"}}'
	is "$(code)" -32022
	ask nope '{"_meta":{"'$VERSION'":"2026-07-28"}}'
	is_error -32602 $CAPABILITIES
	modern nope
	is "$(code)" -32601
	modern tools/call '"name":5'
	is "$(code)" -32602
}

# --- M8: methods, params and notifications

@test "M8: an error object contains only a code and a message" {
	start
	modern nope
	is "$(get -k error | sort | xargs)" 'code message'
}

@test "M8: methods removed in the stateless protocol version are rejected with error -32601" {
	start
	for method in initialize ping logging/setLevel resources/subscribe \
	              resources/unsubscribe tasks/get tasks/list tasks/result \
	              tasks/cancel prompts/list resources/list \
	              completion/complete 'server/discover\u0000'; do
		modern "$method" '"protocolVersion":"2025-11-25","level":"info"'
		is "$method $(code)" "$method -32601"
	done
}

@test "M8: tools/call with an unknown tool is rejected with error -32602" {
	start
	modern tools/call '"name":"nope"'
	is_error -32602 nope
}

@test "M8: tools/list with a cursor is rejected with error -32602" {
	start
	modern tools/list '"cursor":"x"'
	is "$(code)" -32602
}

@test "M8: a stateless tools/call ignores unknown params" {
	start
	stateless_call bash '{"command":"echo hi"}' \
		'"inputResponses":{},"requestState":"x","task":{"ttl":1}'
	is "$(result stdout)" '"hi\n"'
}

@test "M8: after the initialize handshake, tools/call ignores a parameter named task" {
	boris
	ask tools/call '{"name":"bash","arguments":{"command":"echo hi"},"task":{"ttl":60000}}'
	is "$(result stdout)" '"hi\n"'
}

@test "M8: a notification with an unsupported version receives no response" {
	start
	notify notifications/initialized '{"_meta":{'"$META"'}}'
	notify notifications/roots/list_changed '{"_meta":{'"$META"'}}'
	notify notifications/nope '{"_meta":{"'$VERSION'":"1900-01-01"}}'
	notify tools/list '{"_meta":{'"$META"'}}'
	next_is_ping
}

@test "M8: tools/call without an id does not run the command" {
	start
	notify tools/call '{"name":"bash","arguments":{"command":"touch ran"},"_meta":{'"$META"'}}'
	next_is_ping
	stateless_bash true
	[ ! -e ran ]
}

@test "M8: progress notifications are sent for a stateless request" {
	start
	stateless_request 5 bash '{"command":"echo one; read <gate"}' '"progressToken":0'
	notice
	is "$(get params progressToken) $(get params message)" '0 "one\n"'
	release
	answer 5
	is_stateless
}

@test "M8: no more messages are sent for a stateless request after it is cancelled" {
	start
	quote 'trap "echo bye; exit" TERM; echo one; echo $$ >pid; read <gate'
	stateless_request 6 bash '{"command":'"$quoted"'}' '"progressToken":0'
	notice
	await_file pid
	notify notifications/cancelled '{"requestId":6,"_meta":{"'$VERSION'":"1900-01-01"}}'
	eventually is_gone pid
	modern tools/list
	is ${#notices[@]} 0
	stop_server
	unanswered 6
}

@test "M8: stateless calls over stdio share one working directory" {
	mkdir d
	start
	stateless_bash 'cd d'
	is "$(plain cwd)" "$PWD/d"
	stateless_bash pwd
	is "$(plain stdout)" "$PWD/d"
}

@test "M8: over stdio, the bash tool's description mentions the working directory" {
	start
	modern tools/list
	has "$(get result tools 0 description)" cwd
	has "$(get result tools 0 description)" directory
}

# --- M8: subscriptions/listen

# listen ID: sends a subscriptions/listen request with this id
listen() {
	request "$1" subscriptions/listen \
		'{"notifications":{"toolsListChanged":true},"_meta":{'"$META"'}}'
}

# subscribe ID: sends the request, and reads the acknowledgement
subscribe() {
	listen "$1" && read_reply &&
		is "$(get method)" '"notifications/subscriptions/acknowledged"'
}

@test "M8: subscriptions/listen is acknowledged with the id exactly as it was sent" {
	start
	for id in 7 '"x"' 0 1.0 '"a\u0062"'; do
		subscribe "$id"
		is "$(get -v params _meta $SUBSCRIPTION)" "$id"
		is "$(get params notifications)" '{}'
	done
	modern tools/list
	is ${#notices[@]} 0
}

@test "M8: an open subscriptions/listen request is answered at EOF on stdin" {
	start
	subscribe 7
	end_input
	read_reply
	is "$(get -v id) $(get result resultType)" '7 "complete"'
	is "$(get -v result _meta $SUBSCRIPTION)" 7
	await_exit
	is $status 0
}

@test "M8: subscriptions/listen receives no response after it is cancelled" {
	start
	for id in '"x"' 0 1.0 '"a\u0062"'; do
		subscribe "$id"
	done
	for id in '"x"' 0 1.0 '"a\u0062"'; do
		cancel "$id"
	done
	sync_server
	stop_server
	for id in '"x"' 0 1.0 '"a\u0062"'; do
		unanswered "$id"
	done
}

@test "M8: subscriptions/listen is rejected if its notifications member is not an object" {
	start
	modern subscriptions/listen
	is "$(code)" -32602
	for value in null '[]' true; do
		modern subscriptions/listen '"notifications":'"$value"
		is "$(code)" -32602
	done
}

@test "M8: subscriptions/listen is an unknown method after a handshake" {
	boris
	ask subscriptions/listen '{"notifications":{}}'
	is "$(code)" -32601
}

@test "M8: too many open subscriptions are rejected with error -32603" {
	local form='{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen",'
	form+='"params":{"notifications":{},"_meta":{'$META'}}}\n'
	start
	# shellcheck disable=SC2046,SC2059
	printf "$form" $(seq 5000) >&7 &
	writer=$!
	head -n 5000 <&8 >many.out
	wait $writer
	least "$("$HERE/reply" -l error code <many.out | grep -c -- -32603)" 1
	least "$("$HERE/reply" -l method <many.out | grep -c acknowledged)" 1
	modern tools/list
	is_stateless
}

# --- M3: stateless messages and messages after a handshake

@test "M3: server/discover without a protocolVersion is rejected with error -32602" {
	start
	ask server/discover
	is_error -32602 $VERSION
	hello
	ask server/discover '{"_meta":{"progressToken":1}}'
	is_error -32602 $VERSION
}

@test "M3: a stateless request does not count as a handshake" {
	start
	modern tools/list
	is_stateless
	ask tools/list
	is_error -32602 $VERSION
	is_error -32602 initialize
}

@test "M3: ping is answered before a handshake" {
	start
	modern tools/list
	ask ping
	is "$(get result)" '{}'
}

@test "M3: a handshake can follow a stateless request" {
	start
	modern server/discover
	hello 2025-06-18
	ask tools/list
	is_after_handshake
	modern tools/list
	is_stateless
}

@test "M3: a request without protocolVersion in _meta is not treated as stateless" {
	boris
	ask tools/list '{"_meta":{"progressToken":5,"'$CAPABILITIES'":5}}'
	is_after_handshake
}

@test "M3: an initialize request with protocolVersion in _meta is rejected with error -32601" {
	start
	ask initialize '{"protocolVersion":"2025-11-25","_meta":{'"$META"'}}'
	is "$(code)" -32601
	ask tools/list
	is "$(code)" -32602
}

@test "M3: stateless calls share the working directory with calls made after a handshake" {
	mkdir d
	start
	stateless_bash 'cd d'
	hello
	run_bash pwd
	is_after_handshake
	is "$(plain stdout)" "$PWD/d"
}

@test "M3: a stateless call can be cancelled while it is queued" {
	boris
	call_bash 'echo $$ >pid; read <gate'
	running=$id
	stateless_request '"queued"' bash '{"command":"touch ran"}'
	await_file pid
	cancel '"queued"'
	cancel $running
	stateless_bash 'echo next'
	is_stateless
	is "$(result stdout)" '"next\n"'
	stop_server
	unanswered $running
	unanswered '"queued"'
	[ ! -e ran ]
}

@test "M3: each request is answered according to its own protocol version" {
	boris
	modern ping
	is "$(code)" -32601
	ask ping
	is "$(get result)" '{}'
	ask nope
	is "$(code)" -32601
	modern tools/list
	is_stateless
	ask tools/list
	is_after_handshake
}

@test "M3: a stateless call can read a task started in a session" {
	boris
	start_task 'read <gate; echo hi'
	release
	stateless_call task_output '{"task_id":"'"$task"'","wait":10000}'
	is_stateless
	is "$(result stdout)" '"hi\n"'
}

@test "P1: a JSON array of messages is rejected with error -32600 in every protocol version" {
	start
	one='{"jsonrpc":"2.0","id":1,"method":"tools/call",'
	one+='"params":{"name":"bash","arguments":{"command":"touch ran"}}}'
	stateless=${one/'"arguments"'/'"_meta":{'$META'},"arguments"'}
	for version in none 2024-11-05 2025-03-26 2025-06-18 2025-11-25; do
		[ $version = none ] || hello $version
		for line in "[$one]" "[$one,$one]" '[]' '[1]' "[$stateless]"; do
			send "$line"
			read_reply
			is "$version $(code) $(get id)" "$version -32600 null"
			like "$(get error message)" '*@(array|batch)*'
			next_is_ping
		done
	done
	[ ! -e ran ]
}

# --- M13 and M14: what makes real clients fail

@test "M13: boris answers server/discover within two seconds of starting" {
	start_timer
	start
	request '"server-discover-probe-1"' server/discover '{"_meta":{'"$META"'}}'
	read_reply
	within 2000
	is "$(get id)" '"server-discover-probe-1"'
	is "$(get result supportedVersions 0)" '"2026-07-28"'
}

@test "M13: after server/discover, boris exits within a second of SIGTERM" {
	start
	modern server/discover
	start_timer
	end_input
	kill -TERM "$server" 2>/dev/null || : # It may have exited already.
	await_exit
	within 1000
}

# each_schema COMMAND: runs the command for each schema in the reply, with the
# index of the tool and the name of the schema
each_schema() {
	local tool schema
	for tool in 0 1; do
		for schema in inputSchema outputSchema; do
			"$1" $tool $schema || return
		done
	done
}

@test "M14.4: the root of each tool schema is an object" {
	is_object() { is "$(get result tools $1 $2 type)" '"object"'; }
	boris
	ask tools/list
	each_schema is_object
}

@test "M14.4: the tool schemas do not use keywords that clients may not support, such as oneOf" {
	has_only_plain_keywords() {
		local word
		for word in '$schema' oneOf anyOf allOf '$defs' definitions; do
			is "$(get result tools $1 $2 "$word")" '' || return
		done
	}
	boris
	ask tools/list
	each_schema has_only_plain_keywords
}

@test "M14.17: each property in the tool schemas has a type" {
	has_types() {
		local name
		for name in $(get -k result tools $1 $2 properties); do
			isnt "$name $(get result tools $1 $2 properties $name type)" "$name " ||
				return
		done
	}
	boris
	ask tools/list
	each_schema has_types
}

@test "M12: tools/list returns all tools in one page" {
	boris
	ask tools/list
	is "$(get -n result tools) $(get result nextCursor)" '2 '
}

@test "M14.6: ping returns an empty result for any params" {
	boris
	for params in '' '{}' '{"_meta":{}}' '{"_meta":{"progressToken":1}}' '{"x":1}'; do
		ask ping $params
		is "$(get result)" '{}'
	done
}

@test "M14.14: boris works with only the few environment variables that clients pass to it" {
	wrap=(env -i "TEST_MARK=$PWD:" HOME="$HOME" LOGNAME=x PATH="$PATH"
		SHELL=/bin/sh TERM=xterm USER=x)
	boris
	run_bash 'echo "$HOME"; echo ü'
	is "$(plain stdout)" "$HOME"$'\nü'
}

@test "M14.14: boris works with an empty environment" {
	[ -z "$WRAP" ] || skip "under $WRAP"
	wrap=(env -i "TEST_MARK=$PWD:")
	boris
	run_bash 'echo hi; ls / >/dev/null; head -c 40000 /dev/zero | tr "\0" a'
	is "$(result exit_code) $(result stdout_chars)" '0 40003'
	like "$(plain stdout_file)" '/tmp/?*'
}

# --- M14.19: U+0085, U+2028 and U+2029, which some clients take for line breaks

# U+2028 and U+2029, and both after U+0085, which boris removes from output (O1)
BREAKS=$'b\xe2\x80\xa8c\xe2\x80\xa9d'
ALL_BREAKS=$'a\xc2\x85'$BREAKS

# The same texts as escapes
ESCAPED='b\u2028c\u2029d'
ALL_ESCAPED='a\u0085'$ESCAPED

# is_escaped TEXT: the reply contains TEXT, and none of the three characters
is_escaped() {
	has "$reply" "$1" && lacks "$reply" $'\xc2\x85' &&
		lacks "$reply" $'\xe2\x80\xa8' && lacks "$reply" $'\xe2\x80\xa9'
}

@test "M14.19: Unicode line separators are escaped in results" {
	boris
	run_bash "printf '$BREAKS'"
	is_escaped "$ESCAPED"
	is "$(plain stdout)" "$BREAKS"
	run_bash "printf '$BREAKS' >&2"
	is_escaped "$ESCAPED"
}

@test "M14.19: Unicode line separators are escaped in task lists" {
	boris
	start_task "echo '$BREAKS'; read <gate" '{"description":"'"$ALL_BREAKS"'"}'
	run_tool task_output '{}'
	is_escaped "$ESCAPED"
	is "$(get -s result structuredContent tasks 0 description)" "$ALL_BREAKS"
	release
}

@test "M14.19: Unicode line separators are escaped in errors" {
	boris
	run_bash true '{"cwd":"'"$BREAKS"'"}'
	is_escaped "$ESCAPED"
	run_tool bash '{"'"$BREAKS"'":1}'
	is_escaped "$ESCAPED"
	run_tool "$BREAKS" '{}'
	is_escaped "$ESCAPED"
}

@test "M14.19: Unicode line separators are escaped in ids" {
	boris
	request '"'"$ALL_BREAKS"'"' ping
	read_reply
	is_escaped "$ALL_ESCAPED"
	is "$(get -s id)" "$ALL_BREAKS"
	request '"'"$ALL_BREAKS"'"' "no/$BREAKS"
	read_reply
	is_escaped "$ALL_ESCAPED"
}

@test "M14.19: Unicode line separators are escaped in progress notifications" {
	boris
	call_bash "printf '$BREAKS'; read <gate" '' '{"progressToken":"'"$ALL_BREAKS"'"}'
	notice
	is_escaped "$ALL_ESCAPED"
	is "$(get -s params progressToken)" "$ALL_BREAKS"
	is "$(get -s params message)" "$BREAKS"
	release
	answer
}

@test "M14.19: a request can be cancelled if its id contains Unicode line separators" {
	boris
	quote 'echo $BASHPID >pid; read <gate'
	request '"'"$ALL_BREAKS"'"' tools/call \
		'{"name":"bash","arguments":{"command":'"$quoted"'}}'
	await_file pid
	cancel '"'"$ALL_BREAKS"'"'
	eventually is_gone pid
	next_is_ping
}

@test "M14.19: Unicode line separators are escaped in the error about an unsupported version" {
	start
	ask tools/list '{"_meta":{'"${META/2026-07-28/$BREAKS}"'}}'
	is_escaped "$ESCAPED"
}
