# shellcheck shell=bash disable=SC2034,SC2154
# The command line → opt_ variables.

LAB_NODES_MAX=64
LAB_GPUS_MAX=64
LAB_CPUS_MAX=1024

options_parse() {
  opt_name=main opt_dir='' opt_nodes=4 opt_gpus=8 opt_cpus='' opt_topology='' opt_switches='' opt_slurm_conf=''
  opt_plugstack='' opt_affinity=0 opt_cgroup=0 opt_user=trainer opt_as_root=0 opt_env_clean=0 opt_node=''
  opt_bind=() opt_command=()
  (($#)) || die_usage "no command given: expected up, run, status, exec-node, logs, down or help"
  case $1 in
    up | run | status | exec-node | logs | down) opt_verb=$1 ;;
    help | --help | -h) opt_verb=help; return 0 ;;
    *) die_usage "unknown command '$1': expected up, run, status, exec-node, logs, down or help" ;;
  esac
  shift
  while (($#)); do
    case $1 in
      --help | -h) opt_verb=help; return 0 ;;
      --) shift; opt_command=("$@"); options_check_command; return 0 ;;
      --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;&
      --affinity | --cgroup | --as-root | --env-clean) options_flag "$1"; shift ;;
      --*) (($# > 1)) || die_usage "option '$1' is unknown or its value is missing"
        options_value "$1" "$2"; shift 2 ;;
      *) [[ $opt_verb = exec-node && -z $opt_node ]] || die_usage "unexpected word '$1' after '$opt_verb'"
        opt_node=$1; shift ;;
    esac
  done
  options_check_command
}

options_flag() {
  options_allowed "$1"
  case $1 in
    --affinity) opt_affinity=1 ;;
    --cgroup) opt_cgroup=1 ;;
    --as-root) opt_as_root=1 ;;
    --env-clean) opt_env_clean=1 ;;
  esac
}

options_value() {
  options_allowed "$1"
  case $1 in
    --name) options_match "$1" "$2" '^[a-z][a-z0-9-]{0,23}$' "up to 24 of a-z, 0-9 and '-', a letter first"; opt_name=$2 ;;
    --dir) options_match "$1" "$2" '^/[A-Za-z0-9/._-]{1,39}$' "an absolute path of at most 40 plain characters (socket paths are short)"
      [[ /$2/ != */../* && /$2/ != */./* ]] || die_usage "--dir '$2' is not usable: expected a path without '.' and '..'"
      opt_dir=${2%/} ;;
    --nodes) options_number "$1" "$2" 1 $LAB_NODES_MAX; opt_nodes=$2 ;;
    --gpus) options_number "$1" "$2" 0 $LAB_GPUS_MAX; opt_gpus=$2 ;;
    --cpus) options_number "$1" "$2" 1 $LAB_CPUS_MAX; opt_cpus=$2 ;;
    --topology) options_file "$1" "$2"; opt_topology=$2
      grep -q '<topology' -- "$2" || die_usage "--topology '$2' has no <topology> element: expected an hwloc XML, as lstopo writes it" ;;
    --switches) options_file "$1" "$2"; opt_switches=$2 ;;
    --slurm-conf) options_file "$1" "$2"; opt_slurm_conf=$2 ;;
    --plugstack) options_file "$1" "$2"; opt_plugstack=$2 ;;
    --bind) [[ -d $2 ]] || die_usage "--bind '$2' is no folder: expected one that exists"
      opt_bind+=("$(realpath -- "$2")") ;;
    --user) options_match "$1" "$2" '^[a-z_][a-z0-9_-]{0,30}$' "a user name"
      [[ $(id -u -- "$2" 2>/dev/null) != 0 ]] || die_usage "--user '$2' has uid 0: expected an unprivileged user"
      opt_user=$2 ;;
  esac
}

# Which option belongs to which command.
options_allowed() {
  local verbs
  case $1 in
    --name | --dir) return 0 ;;
    --as-root | --env-clean) verbs=run ;;
    --nodes | --gpus | --cpus | --affinity | --cgroup | --topology | --switches | --slurm-conf | --plugstack | --bind | --user)
      verbs=up ;;
    *) die_usage "unknown option '$1'" ;;
  esac
  [[ $opt_verb = "$verbs" ]] || die_usage "option '$1' belongs to '$verbs', not to '$opt_verb'"
}

options_match() {
  [[ $2 =~ $3 ]] || die_usage "$1 '$2' is not usable: expected $4"
}

options_number() {
  if [[ $2 =~ ^(0|[1-9][0-9]{0,5})$ ]] && (($2 >= $3 && $2 <= $4)); then return 0; fi
  die_usage "$1 '$2' is not usable: expected a number from $3 to $4"
}

options_file() {
  [[ -f $2 && -r $2 ]] || die_usage "$1 '$2' cannot be read: expected a file"
}

options_check_command() {
  case $opt_verb in
    run) ((${#opt_command[@]})) || die_usage "'run' needs a command after '--'" ;;
    exec-node)
      [[ $opt_node =~ ^n[1-9][0-9]*$ ]] || die_usage "'exec-node' needs a node, got '$opt_node': expected n1, n2, …"
      ((${#opt_command[@]})) || die_usage "'exec-node' needs a command after '--'" ;;
    *) ((${#opt_command[@]} == 0)) || die_usage "'$opt_verb' takes no command, got '${opt_command[*]}'" ;;
  esac
  if ((opt_affinity || opt_cgroup)) && [[ -n $opt_cpus ]]; then
    die_usage "--cpus '$opt_cpus' cannot go with --affinity or --cgroup: the nodes then claim this machine's own CPUs"
  fi
}
