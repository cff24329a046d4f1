# Sourced after lib.sh by scripts that mount something, or run something in a minimal
# Debian (sh); minimal_debian needs apt.sh.
# shellcheck shell=sh

# ccache's cache
# shellcheck disable=SC2034 # for who sources this
cache=$(ccache -k cache_dir 2>/dev/null || echo "$HOME/.cache/ccache")
# what in_system shares with the system, as FROM=TO
shared=''

# apart COMMAND...: in namespaces that end with it. What is mounted there is seen, and
# ends, with that alone. An interrupt goes to the command; apart returns when the
# command has ended.
# Process 1, which no signal ends, is a shell that waits for it.
apart() (
	trap : INT TERM HUP
	unshare --mount --pid --fork --kill-child sh -c '"$@" || exit' sh "$@"
)

# For who mounts something, before it begins.
need_mounts() {
	[ "$(id -u)" = 0 ] || die 'not root, which mounting needs'
	refused=$(apart true 2>&1) ||
		die "cannot mount ($refused): run it on a machine, in a container with CAP_SYS_ADMIN, or in a chroot whose directory is bind-mounted on itself"
}

# minimal_debian DIR PACKAGES: $system, a copy of a minimal Debian of this machine's release, which is
# kept in DIR
minimal_debian() {
	# shellcheck disable=SC2034 # of apt.sh
	suite=$codename
	[ "$(cat "$1/.packages" 2>/dev/null)" = "$suite $2" ] || {
		step "minimal Debian: $suite" "$log" debian "$work/root" minbase "$2" >&2
		echo "$suite $2" >"$work/root/.packages"
		rm -rf "$1"
		mkdir -p "${1%/*}"
		mv "$work/root" "$1"
	}
	cp -a "$1" "$system"
}

# disk_of DIR: an image of a disk that has its files, in $work/disk
disk_of() {
	rm -f "$work/disk"
	mke2fs -q -t ext4 -d "$1" "$work/disk" "$(($(du -sm "$1" | cut -f1) * 5 / 4 + 64))M"
}

# in_system DIR COMMAND...: in the system in DIR, as on a machine
in_system() {
	# shellcheck disable=SC2016 # expanded there
	apart sh -ec '
		shared=$1 dir=$2
		shift 2
		mount --bind "$dir" "$dir"
		mount -t proc proc "$dir/proc"
		mount -t sysfs sysfs "$dir/sys"
		mount --rbind /dev "$dir/dev"
		for pair in $shared; do
			mkdir -p "${pair%=*}" "$dir${pair#*=}"
			mount --bind "${pair%=*}" "$dir${pair#*=}"
		done
		exec chroot "$dir" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
			DEBIAN_FRONTEND=noninteractive "$@"' sh "$shared" "$@"
}

# apt_install NAME...: packages in $system; a NAME may be a pattern of files there
apt_install() { in_system "$system" sh -c "apt-get -q -y install --no-install-recommends $*"; }
