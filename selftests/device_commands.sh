#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Raw commands that leave traces in the virtual HCA which only reloading it takes away,
# or that cost the driver its device: unknown ones, random ones, objects left behind.
# At the end the device is as after loading.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

MODULE=$VHCA_MODULE
PARAMETERS=/sys/module/mlx5_vhca/parameters
SEED=${SEED:-$(date +%s)}
FUZZ=5000

raw() { "$DIR/raw_command" "$@"; }

fresh()		# the device as after loading, with what it had
{
	rmmod mlx5_vhca || return 1
	# shellcheck disable=SC2086
	insmod "$MODULE" $had || return 1
	wait_for "ib_device" ibdev_there
}

# of FILE GREP-ARGUMENT...: lines of one of the device's files.
of()
{
	file=$VHCA_DEBUGFS/$pci/$1
	shift
	grep "$@" "$file"
}

expect_text()	# WHAT EXPECTED SEEN
{
	[ "$2" = "$3" ] || { echo "$1: expected $2, seen $3"; return 1; }
}

unknown_opcode()
{
	fresh || return 1
	expect 'mlx5_vhca: .* command 0xdead .* is not modelled: refused with BAD_OP, said once'
	log_begin
	for _ in 1 2 3; do
		answer=$(raw send 16 0xdead0000 0 0 0)
		expect_text "answer" "status=0x2 syndrome=0x5ca0dead output=020000005ca0dead0000000000000000" \
			"$answer" || return 1
	done
	expect_text "lines in the log" 1 "$(log_since | grep -c 'command 0xdead ')" || return 1
	of commands -q 'opcode=0xdead name=- known=0 count=3 errors=3 ' ||
		{ echo "expected count=3 errors=3, seen: $(of commands 'opcode=0xdead')"; return 1; }
	expect_text "known opcodes that are said to be unknown" 1 "$(of commands -c 'known=0' || :)"
}

# The device keeps the first 1024 violations and counts them all.
many_violations()
{
	fresh || return 1
	expect 'mlx5_vhca: .* violation: destroy_of_unknown '
	raw unknown 1100 || return 1
	expect_text "header" total=1100 "$(head -n 1 "$VHCA_DEBUGFS/$pci/violations" | grep -o 'total=.*')" &&
	expect_text "end" "end violations=1024" "$(tail -n 1 "$VHCA_DEBUGFS/$pci/violations")" &&
	expect_text "lines" 1024 "$(of violations -c '^violation ')"
}

# What the driver does not give back is named when it goes, kind by kind, and gone then.
leaks()
{
	fresh || return 1
	expect 'mlx5_vhca: .* TEARDOWN_HCA, left behind: 1 '
	raw leave || return 1
	unbind || return 1
	bad=0
	for kind in pd uar xrcd xrc_srq rmp uctx umem mkey; do
		seen=$(of violations "what=leak_at_teardown .*kind=$kind\$" | grep -o 'detail=0x[0-9a-f]*')
		expect_text "$kind" detail=0x1 "$seen" || bad=1
	done
	expect_text "violations" total=8 "$(head -n 1 "$VHCA_DEBUGFS/$pci/violations" | grep -o 'total=.*')" || bad=1
	expect_text "ledger" "end objects=0" "$(tail -n 1 "$VHCA_DEBUGFS/$pci/ledger")" || bad=1
	bind || return 1
	return $bad
}

# Whatever is sent, the device refuses or does it, and goes on; the driver goes on as well.
random_commands()
{
	fresh || return 1
	expect 'mlx5_vhca: .* (violation: |not RAM, refused|not modelled)'
	raw fuzz "$SEED" $FUZZ || { echo "SEED=$SEED"; return 1; }
	# It works, and the driver can give back all that it has.
	ibv_devinfo > /dev/null || { echo "ibv_devinfo: status $?"; return 1; }
	unbind || return 1
	expect_text "ledger" "end objects=0" "$(tail -n 1 "$VHCA_DEBUGFS/$pci/ledger")" || return 1
	if of violations leak_at_teardown; then
		echo "SEED=$SEED"
		return 1
	fi
	bind
}

no_driver()
{
	unbind || return 1
	answer=$(RAW_PCI=$pci raw send 16 0x010a0000 0 0 0)
	bind || return 1
	expect_text "without a driver" error=ENODEV "$answer" || return 1
	answer=$(RAW_PCI=ffff:ff:1f.7 raw send 16 0x010a0000 0 0 0)
	expect_text "without a function" error=ENODEV "$answer"
}

# Commands of one's own end when the driver goes, none is sent to a device without one.
driver_leaves_meanwhile()
{
	for _ in 1 2 3 4 5; do
		said=$(mktemp)
		raw until-error > "$said" 2>&1 &
		sender=$!
		wait_for "first command" grep -q ready "$said" || { cat "$said"; return 1; }
		unbind || return 1
		wait $sender
		answer=$(tail -n 1 "$said")
		rm "$said"
		bind || return 1
		case $answer in
		error=ENODEV|error=ENXIO) ;;
		*) echo "expected error=ENODEV or error=ENXIO, seen $answer"; return 1 ;;
		esac
	done
}

need_the_only_device
[ -r "$MODULE" ] || skip_all "no $MODULE: set MLX5_VHCA_KO to mlx5_vhca.ko"
RAW_PCI=$pci raw send 16 0x010a0000 0 0 0 > /dev/null 2>&1
[ $? != 4 ] || skip_all "no mlx5_raw_command.ko: set MLX5_RAW_COMMAND_KO to it"

had=
for p in "$PARAMETERS"/*; do
	had="$had $(basename "$p")=$(cat "$p")"
done

tests="unknown_opcode many_violations leaks random_commands no_driver driver_leaves_meanwhile"
ktap_print_header
plan "$(echo "$tests" | wc -w)"
echo "# SEED=$SEED"
for t in $tests; do
	run "$t"
done
fresh > /dev/null || echo "# the device cannot be loaded again"
ktap_finished
