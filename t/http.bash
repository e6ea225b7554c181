# SPDX-License-Identifier: ISC
#
# http.bash: functions for tests of boris over HTTP, in addition to those of
# helper.bash. Each connection has a name that the test chooses; bash itself
# opens the TCP connections.
#
# The names of functions that only send end in -s or have no ending (asks, post,
# runs). The name of one that also reads the response is a past participle
# (asked, posted, ran, used).
# shellcheck shell=bash disable=SC2034,SC2154

load helper

port=0
address=''   # URL of the server, without its path
declare -gA descriptor_of=() # file descriptor of a connection
declare -gA session_of=()    # Mcp-Session-Id of a connection
declare -gA unparsed=()      # text of a stream that was read, but not parsed yet
http=''      # status of the last response
head=''      # headers of the last response, a line each
body=''      # body of the last response
line=''      # the last line or bytes that were read
comments=0   # number of comments in streams
written=0    # number of bytes that were written

STATELESS='MCP-Protocol-Version: 2026-07-28'
JSON='Content-Type: application/json'

# --- The server

# start_http ARGS...: starts boris on a free port and sets $port; fails if boris does
# not listen
start_http() {
	rm -f err # the messages of an earlier server
	start --transport=http --port=0 "$@" && eventually listens_or_exited &&
		find_address || return
	port=${address##*[:/]}
	[[ $port == [0-9]* && $port != *.* ]] || port=80
}

# find_address: sets $address to the URL of the server, without its path; fails
# if the server has not printed it
find_address() {
	local row
	while IFS= read -r row; do
		if [[ $row == 'boris: listening on http://'*/mcp ]]; then
			address=${row#boris: listening on }
			address=${address%/mcp}
			return
		fi
	done 2>/dev/null <err
	return 1
}

# listens_or_exited: the server listens, or has exited
listens_or_exited() {
	find_address || has_exited
}

# stop_server: stops the server by a signal, and waits; sets $status
stop_server() {
	kill "$server"
	await_exit
	expect_only_listening
}

# expect_only_listening: removes the usual messages from stderr, because teardown
# fails if there are any
expect_only_listening() {
	local row others=''
	while IFS= read -r row || [ -n "$row" ]; do
		case $row in
		'boris: listening on '* | 'boris: generated token: '*) ;;
		*) others+=$row$'\n' ;;
		esac
	done <err
	printf %s "$others" >err
}

# fails_to_start STATUS ARGS...: boris exits with this status and prints one line
fails_to_start() {
	filter --transport=http "${@:2}" </dev/null >out
	is "${*:2} -> $status" "${*:2} -> $1"
	is "$(wc -c <out | tr -d ' ') bytes on stdout" '0 bytes on stdout'
	is "$(wc -l <err | tr -d ' ') lines on stderr" '1 lines on stderr'
}

# --- Connections

# connect NAME...: opens connections
connect() {
	local fd name
	for name; do
		exec {fd}<>"/dev/tcp/127.0.0.1/$port" || return
		descriptor_of[$name]=$fd
	done
}

# disconnect NAME...: closes connections
disconnect() {
	local fd name
	for name; do
		fd=${descriptor_of[$name]}
		exec {fd}>&-
		# shellcheck disable=SC2184
		unset "descriptor_of[$name]"
	done
}

# is_closed NAME [SECONDS]: the server closes the connection and sends nothing
# before that
is_closed() {
	local status=0
	IFS= read -rt $((${2:-5} * SLOW)) -N 1 -u "${descriptor_of[$1]}" line ||
		status=$?
	is "status $status: $line" 'status 1: '
}

# open_session NAME...: opens connections, each with a session of its own
open_session() {
	local name
	for name; do
		session_of[$name]=''
		connect "$name" && post_and_read "$name" "$HELLO" && is "$http" 200 || return
		session_of[$name]=$(header Mcp-Session-Id) || return
		post_and_read "$name" '{"jsonrpc":"2.0","method":"notifications/initialized"}'
		is "$http" 202 || return
	done
}

# join_session NAME OTHER: opens a connection that uses the session of OTHER
join_session() {
	connect "$1" && session_of[$1]=${session_of[$2]}
}

# --- Writing

# write_to NAME TEXT: writes the text
write_to() {
	written=$((written + ${#2}))
	printf '%s' "$2" >&"${descriptor_of[$1]}"
}

# put_lines NAME LINE...: writes the lines, each with CR LF at its end
put_lines() {
	local text
	printf -v text '%s\r\n' "${@:2}"
	write_to "$1" "$text"
}

# put_post NAME HEADER...: writes the head of a POST request for /mcp with these
# headers, in addition to Host and Content-Type
put_post() {
	put_lines "$1" 'POST /mcp HTTP/1.1' 'Host: localhost' "$JSON" "${@:2}" ''
}

# send_http NAME VERB PATH [HEADER]... [-- BODY]: writes a request
send_http() {
	local name=$1 text="$2 $3 HTTP/1.1"$'\r\n' host="Host: 127.0.0.1:$port"
	shift 3
	while (($# > 0)) && [ "$1" != -- ]; do
		case $1 in
		Host:*) host='' ;;
		esac
		text+=$1$'\r\n'
		shift
	done
	[ -z "$host" ] || text+=$host$'\r\n'
	# Because of the newline at the end, bash writes all of it at once. The
	# second of two small segments would wait 40 ms for the acknowledgement
	# of the first one.
	local body=${2:+$2$'\n'}
	[ "${1-}" != -- ] || text+="Content-Length: ${#body}"$'\r\n'
	write_to "$name" "$text"$'\r\n'"$body"
}

# post NAME BODY [HEADER]...: writes a message, in the session of the connection
post() {
	local name=$1 text=$2
	shift 2
	send_http "$name" POST /mcp "$JSON" \
		'Accept: application/json, text/event-stream' \
		${session_of[$name]:+"Mcp-Session-Id: ${session_of[$name]}"} \
		"$@" -- "$text"
}

# asked, posted, stateless_posted NAME ...: do what asks, post and stateless_post
# do, and read the response
request_http() {
	send_http "$@" && read_response "$1"
}

post_and_read() {
	post "$@" && read_response "$1"
}

stateless_posted() {
	stateless_post "$@" && read_response "$1"
}

# --- Reading

# read_line NAME [SECONDS]: reads a line into $line
read_line() {
	IFS= read -rt $((${2:-20} * SLOW)) -u "${descriptor_of[$1]}" line ||
		fail "no line for $1; stderr: $(<err)" || return
	line=${line%$'\r'}
}

# read_bytes NAME N: reads N bytes into $line
read_bytes() {
	line=''
	[ "$2" = 0 ] || IFS= read -rt $((20 * SLOW)) -N "$2" \
		-u "${descriptor_of[$1]}" line ||
		fail "too few bytes for $1: $line"
}

# read_head NAME [SECONDS]: reads the head of a response; sets $http to its status
read_head() {
	read_line "$@" || return
	like "$line" 'HTTP/1.1 [1-5][0-9][0-9] *' || return
	http=${line:9:3} head='' body=''
	while read_line "$1" && [ -n "$line" ]; do
		head+=$line$'\n'
	done
	unparsed[$1]=''
}

# keep_for_teardown: lets teardown check the reply, unless it is an error without
# an id, which only HTTP has
keep_for_teardown() {
	[[ $reply != *'"id":'* && $reply != *'"method":'* ]] ||
		printf '%s\n' "$reply" >>heard
}

# read_response NAME [SECONDS]: reads a response, with its $body unless it is a
# stream
read_response() {
	read_head "$@" &&
		read_bytes "$1" "$(header Content-Length || echo 0)" || return
	body=$line
	case $(header Content-Type) in
	application/json)
		reply=$body
		keep_for_teardown
		;;
	esac
}

# header NAME: prints the value of a header of the response; fails if the response
# does not have it
header() {
	local name=${1,,} row
	while IFS= read -r row; do
		if [[ ${row,,} == "$name: "* ]]; then
			printf '%s\n' "${row:${#name}+2}"
			return
		fi
	done <<<"$head"
	return 1
}

# read_chunk NAME: reads a chunk of a stream; fails after the last one
read_chunk() {
	read_line "$1" || return
	local size=$((16#$line))
	if [ $size = 0 ]; then
		read_line "$1"
		return 1
	fi
	read_bytes "$1" $size || return
	unparsed[$1]+=$line
	read_line "$1" && is "$line" ''
}

# read_event NAME: reads the next message of a stream into $reply, and counts
# comments; fails at the end
read_event() {
	local row
	while :; do
		until [[ ${unparsed[$1]} == *$'\n'* ]]; do
			read_chunk "$1" || return
		done
		row=${unparsed[$1]%%$'\n'*}
		# Removing a pattern would take quadratic time.
		unparsed[$1]=${unparsed[$1]:${#row}+1}
		case $row in
		:*) comments=$((comments + 1)) ;;
		data:\ *)
			reply=${row#data: }
			keep_for_teardown
			return
			;;
		esac
	done
}

# read_last_event NAME: reads a stream to its end; the last message is $reply
read_last_event() {
	local last=''
	while read_event "$1"; do
		last=$reply
	done
	reply=$last
	isnt "$last" ''
}

# read_answer NAME: reads the answer to a message, either JSON or a stream
read_answer() {
	read_head "$1" || return
	if [ "$(header Content-Type)" = text/event-stream ]; then
		read_last_event "$1"
	else
		read_bytes "$1" "$(header Content-Length || echo 0)" || return
		body=$line reply=$line
		keep_for_teardown
	fi
}

# --- Messages

# message METHOD [PARAMS]: sets $message to a request, and $id to its id
message() {
	id=$((++calls))
	message='{"jsonrpc":"2.0","id":'$id',"method":"'$1'"'${2:+,\"params\":$2}'}'
}

# tool_message NAME ARGUMENTS [META]: sets $message to a call
tool_message() {
	message tools/call \
		'{"name":"'"$1"'","arguments":'"$2${3:+,\"_meta\":{$3\}}"'}'
}

# bash_message COMMAND [ARGUMENTS [META]]: sets $message to a call of bash
bash_message() {
	local more=${2-}
	quote "$1"
	more=${more#\{}
	more=${more%\}}
	tool_message bash '{"command":'"$quoted${more:+,$more}"'}' ${3+"$3"}
}

# post_bash NAME COMMAND [ARGUMENTS [META]]: posts a call of bash
post_bash() {
	local name=$1
	shift
	bash_message "$@"
	post "$name" "$message"
}

# post_bash_and_read NAME COMMAND [ARGUMENTS]: does what runs does, and reads the answer
post_bash_and_read() {
	post_bash "$@" && read_answer "$1"
}

# used, stateless_used NAME TOOL ARGUMENTS: call the tool, and read the answer
post_tool_and_read() {
	tool_message "$2" "$3"
	post "$1" "$message" && read_answer "$1"
}

stateless_used() {
	tool_message "$2" "$3" "$META"
	stateless_post "$1" && read_answer "$1"
}

# answers_ping NAME: a ping on this connection is answered
answers_ping() {
	message ping
	post_and_read "$1" "$message" && is "$http $(get result)" '200 {}'
}

# cancelled NAME ID [MEMBERS]: posts the cancellation of a request, which is
# answered with status 202
cancelled() {
	local params='{"requestId":'"$2${3:+,$3}"'}'
	post_and_read "$1" '{"jsonrpc":"2.0","method":"notifications/cancelled","params":'"$params"'}'
	is "$http $body" '202 '
}

# stateless_message METHOD [PARAMS]: sets $message to a stateless request with
# these members of params
stateless_message() {
	message "$1" '{'"${2:+$2,}"'"_meta":{'"$META"'}}'
}

# stateless_post NAME [HEADER]...: posts $message, which has $META, with the
# headers that it requires
stateless_post() {
	local name=$1 method target
	shift
	method=$("$HERE/reply" -s method <<<"$message")
	target=$("$HERE/reply" -s params name <<<"$message") || target=''
	post "$name" "$message" "$STATELESS" "Mcp-Method: $method" \
		${target:+"Mcp-Name: $target"} "$@"
}

# stateless_runs NAME COMMAND [ARGUMENTS]: posts a stateless call of bash
stateless_runs() {
	bash_message "$2" "${3-}" "$META"
	stateless_post "$1"
}

# stateless_ran NAME COMMAND [ARGUMENTS]: does what stateless_runs does, and reads
# the answer
stateless_ran() {
	stateless_runs "$@" && read_answer "$1"
}
