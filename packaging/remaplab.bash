# bash completion for remaplab. Commands and options are asked of the program itself, so that this never lags behind.

_remaplab_words() {
  case "$1" in
    --backend | -b) remaplab list --backends --format csv ;;
    --strategy | -s) remaplab list --strategies --format csv ;;
    --cost-profile | --driver-profile) remaplab list --profiles --format csv ;;
    *) return 1 ;;
  esac 2>/dev/null | awk -F, -v option="$1" '
    /profile,/ { use = option !~ /profile/ || index($1, option == "--cost-profile" ? "cost" : "driver"); next }
    NR > 1 && NF > 1 && (use || option !~ /profile/) { print $1 }'
}

_remaplab() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" words
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="$(remaplab --help 2>/dev/null | awk '/^  [a-z]/ { print $1 }')"
  elif [[ $current == -* ]]; then
    words="$(remaplab "${COMP_WORDS[1]}" --help 2>/dev/null | grep -oE -e '--[a-z][a-z-]+' | sort -u)"
  elif ! words="$(_remaplab_words "$previous")"; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _remaplab remaplab
