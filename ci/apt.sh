# Sourced after lib.sh by scripts that take a Debian package of another suite or
# architecture (sh). They set $package, $version and $suite; $arch, if it is
# neither this machine's nor "all"; $log. All is kept in build/apt, with an apt
# state of its own for each suite, and comes from the mirror that this machine's
# apt is configured for.
# shellcheck shell=sh

arch=all updated=''

own_apt() {
	tool=$1
	shift
	[ "$arch" = all ] || set -- -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" "$@"
	"$tool" -q -o Dir::Etc="$apt/etc" -o Dir::State::lists="$apt/lists" \
		-o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root \
		-o Acquire::Languages=none -o Acquire::Check-Valid-Until=false "$@"
}

# site_of NAME: the archive that has this suite or codename; before the first apt-get
# update there is no release info.
# shellcheck disable=SC2016 # apt expands these
site_of() {
	for info in --release-info --no-release-info; do
		apt-get indextargets "$info" 'Created-By: Packages' \
			--format '$(SITE) $(RELEASE) $(CODENAME)' |
			awk -v c="$1" '$2 == c || $3 == c { print $1; exit }'
	done | head -n 1
}

# The archive that has the suite, or else the one this system is installed from; that of
# security updates is beside it.
mirror() {
	site_of "$suite" | grep . || case $suite in
	*-security) site_of "$(codename)" | sed 's|/*$|-security|' ;;
	*) site_of "$(codename)" ;;
	esac
}
codename() { (. /etc/os-release && echo "$VERSION_CODENAME"); }

update() {
	site=$(mirror)
	[ -n "$site" ] || die "apt has no Debian archive configured"
	mkdir -p "$apt/etc/apt.conf.d" "$apt/etc/preferences.d" "$apt/lists/partial" \
		"$apt/cache/archives/partial"
	for type; do
		echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main"
	done >"$apt/etc/sources.list"
	own_apt apt-get update --error-on=any
}

# The pinned version, or what the archive has instead of it.
choose() {
	own_apt apt-cache madison "$package" | cut -d'|' -f2 | tr -d ' ' >"$work/versions"
	! grep -qxF "$version" "$work/versions" || return 0
	newest=$(head -n 1 "$work/versions")
	[ -n "$newest" ] || die "$suite has no $package"
	echo "$self: $package $version is gone from $suite, taking $newest" >&2
	version=$newest
}

# download FILE COMMAND...: the argument of apt-get that leaves FILE.
download() {
	wanted=$1
	shift
	rm -rf "$work/download"
	mkdir "$work/download"
	cd "$work/download" || return
	own_apt apt-get "$@" "$package=$version"
	mv "$wanted" "$build/apt/"
}

# get TYPE NAMER COMMAND...: NAMER tells the file's name. Leaves its path in $file.
get() {
	type=$1 namer=$2
	shift 2
	apt=$build/apt/$suite
	[ "$arch" = all ] || apt=$apt-$arch
	[ "$type" = deb ] || apt=$apt-source
	file=$build/apt/$($namer)
	[ ! -f "$file" ] || return 0
	[ "$updated" = "$apt" ] || step "index of $suite" "$log" update "$type"
	updated=$apt
	choose
	file=$build/apt/$($namer)
	[ -f "$file" ] || step "download $package $version" "$log" download "${file##*/}" "$@"
}

deb_name() { echo "${package}_$(echo "$version" | sed 's/:/%3a/')_$arch.deb"; }
tar_name() { echo "${package}_${version%-*}.orig.tar.xz"; }

# The pinned binary package, and the upstream tarball of the pinned source package.
get_deb() { get deb deb_name download; }
get_source() { get deb-src tar_name source --download-only --tar-only; }
