#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Faults of the virtual HCA that take the driver seconds: it gives up commands, looks for
# lost interrupts and bad health, and is taken away or fails while it waits.
#
# Where a test says that something took less than the driver's usual minute, it is the
# device that has told the driver to wait for a shorter time.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

# Long enough for a probe on a slow machine, whose commands must not be late.
TIMEOUT_MS=3000

of_file()	# FILE KEY
{
	tr ' ' '\n' < "$VHCA_DEBUGFS/$pci/$1" | sed -n "s/^$2=//p" | head -n 1
}

faults() { printf '%s\n' "$@" > "$VHCA_DEBUGFS/$pci/faults"; }
health() { echo "$*" > "$VHCA_DEBUGFS/$pci/health"; }
faults_have() { grep -q "$1" "$VHCA_DEBUGFS/$pci/faults"; }

objects()	# KIND: how many the device has
{
	grep -c "^object kind=$1 " "$VHCA_DEBUGFS/$pci/ledger"
}

executed()	# OPCODE: how often it was
{
	sed -n "s/^command .*name=$1 .*count=\([0-9]*\).*/\1/p" "$VHCA_DEBUGFS/$pci/commands"
}

reload()	# PARAMETER=VALUE...
{
	rmmod mlx5_vhca && vhca_insert "$@" && wait_for "ib_device" ibdev_there
}

# The driver is told how long to wait for a command.
told_to_wait()
{
	[ "$(cat_parameter cmd_timeout_ms)" = $TIMEOUT_MS ] || reload cmd_timeout_ms=$TIMEOUT_MS
}

# log_has REGULAR-EXPRESSION: since log_begin.
log_has() { log_since | grep -qE "$1"; }

expect_log()
{
	log_has "$1" || { echo "expected in the log: $1, seen:"; log_since; return 1; }
}

expect_timeout()
{
	expect 'mlx5_core .*: (wait_func|wait_func_handle_exec_timeout|mlx5_cmd_comp_handler|mlx5_cmd_eq_recover)'
	expect 'mlx5_core .*: (cmd_exec|mlx5_cmd_invoke|mlx5_cmd_exec|mlx5_cmd_out_err)'
	expect 'mlx5_core .*: .*(timeout|timed out|No done completion|recovered|Recovered|stalled)'
	expect 'infiniband .*: '
}

# A command that is given up: the caller is told so.  Nothing else goes meanwhile, so the
# driver cannot give back the context of the process, either, and does not try again.
gives_up()
{
	uctxs=$(objects uctx)
	"$DIR/commands" rate 1 > "$w/out" 2>&1 && { echo "expected a timeout, seen:"; cat "$w/out"; return 1; }
	grep -q 'timed out' "$w/out" || { echo "expected ETIMEDOUT, seen:"; cat "$w/out"; return 1; }
	[ "$(objects uctx)" = $((uctxs + 1)) ] ||
		{ echo "expected one user context that is left"; cat "$VHCA_DEBUGFS/$pci/ledger"; return 1; }
}

works() { "$DIR/commands" rate 10 > "$w/out" 2>&1 || { cat "$w/out"; return 1; }; }

# The driver waits as long as the device says; then nothing goes before the device answers.
# It answers late, and all goes on.  Nothing was executed, so nothing is lost.
no_answer_is_given_up()
{
	expect_timeout
	told_to_wait || return 1
	log_begin
	began=$(cut -d . -f 1 /proc/uptime)
	faults 'opcode=ALLOC_PD no_answer status=internal_error' || return 1
	gives_up || return 1
	took=$(($(cut -d . -f 1 /proc/uptime) - began))
	# The advertised time, five seconds of mlx5_core, and time to spare.
	[ $took -lt 30 ] || { echo "expected it within 30 s, took $took s"; return 1; }
	expect_log 'ALLOC_PD\(0x800\) timeout. Will cause a leak of a command resource' || return 1
	[ "$(of_file faults unanswered)" = 1 ] || { cat "$VHCA_DEBUGFS/$pci/faults"; return 1; }
	seq=$(of_file ledger seq)
	works && { echo "expected that no command goes while one is not answered"; return 1; }
	[ "$(of_file ledger seq)" = "$seq" ] || { echo "expected no command, seen some"; return 1; }
	expect_log 'All CMD slots are stalled' || return 1
	faults clear && wait_for "late answer" log_has 'Command completion arrived after timeout' &&
		works && vhca_no_violation
}

# Each call of the suite in turn.
unanswered_calls()
{
	expect_timeout
	told_to_wait || return 1
	"$DIR/unanswered" > "$w/out" 2>&1 || { grep -v '^ok' "$w/out"; return 1; }
	# The log was its tests' since.
	mark begin unanswered_calls
	# Of what was made without an answer, when its device goes.
	expect 'mlx5_vhca: .* violation: (uctx_destroyed_under_object|destroy_of_busy) '
	expect 'mlx5_vhca: .*left behind'
	expect 'mlx5_core .*: (mlx5_cmd_out_err|destroy_(unmap|comp)_eq|up_rel_func):'
	reload cmd_timeout_ms=$TIMEOUT_MS
}

# One that was held for longer than the driver waits is not executed any more.
held_too_long()
{
	expect_timeout
	told_to_wait || return 1
	log_begin
	pds=$(objects pd)
	faults 'opcode=ALLOC_PD hold' || return 1
	gives_up || return 1
	[ "$(of_file faults held)" = 1 ] || { cat "$VHCA_DEBUGFS/$pci/faults"; return 1; }
	before=$(executed ALLOC_PD)
	faults release && wait_for "late answer" log_has 'Command completion arrived after timeout' ||
		return 1
	[ "$(executed ALLOC_PD) $(objects pd)" = "$before $pds" ] ||
		{ echo "expected that nothing is executed"; cat "$VHCA_DEBUGFS/$pci/ledger"; return 1; }
	works && vhca_no_violation
}

# The driver looks itself when it has waited long enough, and finds that all is well.
lost_interrupt_is_found()
{
	expect_timeout
	told_to_wait || return 1
	log_begin
	interrupts=$(of_file info interrupts)
	faults 'opcode=ALLOC_PD drop_interrupt' || return 1
	"$DIR/commands" rate 1 > "$w/out" 2>&1 || { cat "$w/out"; return 1; }
	expect_log 'Recovered 1 EQEs on cmd_eq' && expect_log 'ALLOC_PD\(0x800\) recovered after timeout' ||
		return 1
	[ "$(of_file info interrupts)" -gt "$interrupts" ] || { echo "expected interrupts of the others"; return 1; }
	faults clear && works && vhca_no_violation
}

# removed WHAT RULE COMMAND...: the module goes while a process waits for the device, which
# has taken notice of the rule when WHAT is there; the process ends, and all is new.
removed()
{
	seen=$1
	faults "$2" || return 1
	shift 2
	"$DIR/commands" "$@" > /dev/null 2>&1 &
	waiting=$!
	wait_for "$seen" faults_have "$seen" || { faults clear; return 1; }
	# With the usual timeout of a minute: nobody can be waiting for that.
	began=$(cut -d . -f 1 /proc/uptime)
	rmmod mlx5_vhca || { faults clear; return 1; }
	wait $waiting
	took=$(($(cut -d . -f 1 /proc/uptime) - began))
	[ $took -lt 40 ] || { echo "expected it within 40 s, took $took s"; return 1; }
	vhca_insert && wait_for "ib_device" ibdev_there || return 1
	[ "$(of_file faults held) $(of_file faults unanswered) $(of_file faults rules)" = "0 0 0" ] ||
		{ cat "$VHCA_DEBUGFS/$pci/faults"; return 1; }
	works && vhca_no_violation
}

remove_held() { removed held=1 'opcode=ALLOC_PD nth=3 hold' rate 1000; }
remove_unanswered() { removed unanswered=1 'opcode=ALLOC_PD nth=3 no_answer' rate 1000; }
remove_lost_interrupt() { removed hits=1 'opcode=ALLOC_PD nth=3 drop_interrupt' rate 1000; }
remove_stopped() { removed hits=1 'queue=any stop_work' region 0; }

both_there() { [ "$(find /sys/class/infiniband -mindepth 1 2> /dev/null | wc -l)" = 2 ] && [ -e /dev/infiniband/uverbs1 ]; }

# What one device holds is not held by the other, and neither keeps the module from going.
other_device_goes_on()
{
	vhca_has_memory_for_two || { echo "$why"; return "$KSFT_SKIP"; }
	rmmod mlx5_vhca && vhca_insert hcas=2 && wait_for "two ib_devices" both_there || return 1
	faults 'opcode=ALLOC_PD hold' 'queue=any stop_work' || return 1
	"$DIR/commands" rate 1 > /dev/null 2>&1 &
	waiting=$!
	wait_for "held command" faults_have held=1 || { faults clear; return 1; }
	bad=0
	# It opens the device, which takes commands.
	ibv_devinfo -d mlx5_1 > "$w/out" 2>&1 || { cat "$w/out"; bad=1; }
	grep -q 'PORT_ACTIVE' "$w/out" || { cat "$w/out"; bad=1; }
	[ "$(of_file faults held)" = 1 ] || { echo "expected that it is held"; bad=1; }
	rmmod mlx5_vhca || { faults clear; return 1; }
	wait $waiting
	vhca_insert && wait_for "ib_device" ibdev_there && works && vhca_no_violation && return $bad
}

# The drivers go while a command is held: they wait for it, and no longer.
unbind_held()
{
	expect 'mlx5_core .*: '
	faults 'opcode=ALLOC_PD hold' || return 1
	"$DIR/commands" rate 1000 > /dev/null 2>&1 &
	waiting=$!
	wait_for "held command" faults_have held=1 || { faults clear; return 1; }
	echo "$pci" > $driver/unbind &
	unbinding=$!
	faults release
	wait $waiting
	wait $unbinding || return 1
	wait_for "end of the ib_device" ibdev_gone && vhca_is_at_rest "$pci" && vhca_no_violation &&
		bind && faults clear && works
}

# What was not given back (see gives_up) is left behind when the device goes.
told_no_longer()
{
	expect 'mlx5_vhca: .*, left behind: [0-9]+ (uar|uctx)'
	rmmod mlx5_vhca && vhca_insert && wait_for "ib_device" ibdev_there || return 1
	[ "$(cat_parameter cmd_timeout_ms)" = 0 ] || { echo "expected the usual timeout"; return 1; }
	works && vhca_no_violation
}

condition_is() { [ "$(of_file health condition)" = "$1" ]; }

expect_recovery()
{
	expect 'mlx5_vhca: .*: (fatal error, syndrome 0x[0-9a-f]+: |reset, as )'
	expect 'mlx5_core .*: (poll_health|print_health_info|mlx5_health_try_recover):'
	expect 'mlx5_core .*: (mlx5_handle_bad_state|mlx5_error_sw_reset|mlx5_pci_slot_reset):'
	expect 'mlx5_core .*: (E-Switch|mlx5_pci_slot_reset Device state|wait vital counter value)'
	expect 'mlx5_core .*: (health recovery succeeded|mlx5_cmd_out_err:)'
	expect 'infiniband .*: mlx5r_umr_post_send_wait:.*UMR post send failed'
}

recovered()
{
	for _ in 1 2 3 4 5 6; do
		wait_for "recovery" eval 'condition_is healthy && ibdev_there' > /dev/null && break
	done
	condition_is healthy || { echo "not recovered:"; cat "$VHCA_DEBUGFS/$pci/health"; return 1; }
}

# Nothing that is held keeps a device from failing, the driver from noticing, those who wait
# from being told, and all from working again.
fatal_while_held_and_stopped()
{
	expect_recovery
	faults 'queue=any stop_work' || return 1
	"$DIR/commands" region 0 > "$w/region" 2>&1 &
	region=$!
	wait_for "stopped queue" faults_have hits=1 || { faults clear; return 1; }
	faults 'opcode=ALLOC_PD hold' || return 1
	"$DIR/commands" rate 1 > "$w/rate" 2>&1 &
	rate=$!
	wait_for "held command" faults_have held=1 || { faults clear; return 1; }
	health fatal || { faults clear; return 1; }
	held=$(of_file faults held)
	wait $rate
	status=$?
	wait $region
	faults clear
	recovered || return 1
	[ "$held" = 0 ] || { echo "expected that a device that has failed holds nothing, seen $held"; return 1; }
	# What mlx5_core makes of a command that it has aborted (mlx5_internal_err_ret_value()).
	if [ $status = 0 ] || ! grep -q 'ibv_alloc_pd: Link has been severed' "$w/rate"; then
		echo "expected ENOLINK, seen:"
		cat "$w/rate"
		return 1
	fi
	works && vhca_no_violation
}

# What the driver tells of and is nothing else to it: a syndrome without a request for a
# reset, and a counter that stands still.
health_is_told()
{
	expect 'mlx5_core .*: (poll_health|print_health_info):'
	expect 'mlx5_core .*: (mlx5_fw_tracer|mlx5_fw_reporter)'
	log_begin
	health report syndrome=0x10 && health stall || return 1
	[ "$(of_file health condition) $(of_file health syndrome) $(of_file health counter)" = "healthy 0x10 stalled" ] ||
		{ cat "$VHCA_DEBUGFS/$pci/health"; return 1; }
	# Once in two to three seconds; it misses the counter three times.
	for _ in 1 2 3; do
		wait_for "report" log_has 'reached miss count' > /dev/null && break
	done
	expect_log 'synd 0x10: High temperature' && expect_log 'reached miss count' || return 1
	log_has 'Fatal error' && { echo "expected no fatal error, seen:"; log_since; return 1; }
	works || return 1
	health clear || return 1
	[ "$(of_file health condition) $(of_file health syndrome) $(of_file health counter)" = "healthy 0x0 running" ] ||
		{ cat "$VHCA_DEBUGFS/$pci/health"; return 1; }
	vhca_no_violation
}

need_the_only_device
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

plain="health_is_told unbind_held fatal_while_held_and_stopped"
needing_module="remove_held remove_unanswered remove_lost_interrupt remove_stopped other_device_goes_on"
needing_module="$needing_module no_answer_is_given_up unanswered_calls held_too_long lost_interrupt_is_found told_no_longer"
vhca_remember

run_all "$plain" "$needing_module"
