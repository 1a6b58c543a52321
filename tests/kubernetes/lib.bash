# Shared by build, run, up and down: where things are. Sourced, never run.
# shellcheck shell=bash

kubernetes_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$kubernetes_here/../.." && pwd)
# What cargo cleans with `cargo clean` is cleaned with it.
kubernetes_cache=${CARGO_TARGET_DIR:-$repository/target}/kubernetes

# name -> the Go module folder that pins it, and its package
declare -A kubernetes_module=(
  [etcd]=etcd
  [kube-apiserver]=control-plane
  [kubectl]=control-plane
  [kube-controller-manager]=control-plane
  [kube-scheduler]=control-plane
  [kwok]=kwok
)
declare -A kubernetes_package=(
  [etcd]=go.etcd.io/etcd/server/v3
  [kube-apiserver]=k8s.io/kubernetes/cmd/kube-apiserver
  [kubectl]=k8s.io/kubernetes/cmd/kubectl
  [kube-controller-manager]=k8s.io/kubernetes/cmd/kube-controller-manager
  [kube-scheduler]=k8s.io/kubernetes/cmd/kube-scheduler
  [kwok]=sigs.k8s.io/kwok/cmd/kwok
)
# In the order in which they are built: the longest first, so that the wait is known early.
kubernetes_binaries=(kube-apiserver kube-controller-manager kube-scheduler kubectl kwok etcd)

# The path of a binary: the user's own, if KUBEBUILDER_ASSETS has it, else the one that we build.
kubernetes_binary() {
  if [[ -n ${KUBEBUILDER_ASSETS:-} && -x $KUBEBUILDER_ASSETS/$1 ]]; then
    echo "$KUBEBUILDER_ASSETS/$1"
  else
    echo "$kubernetes_cache/bin/$1"
  fi
}

# What a binary of ours is made from, as one line: unchanged, and it need not be built again.
kubernetes_key() {
  local folder=$kubernetes_here/${kubernetes_module[$1]}
  cat "$folder/go.mod" "$folder/go.sum" "$kubernetes_here/build" | cksum
}

# The folder of a cluster that is run by hand, made absolute.
kubernetes_folder() {
  local folder=${1:-$kubernetes_cache/by-hand}
  mkdir -p "$folder"
  (cd "$folder" && pwd)
}

# The process that runs the cluster of a folder, if it lives: not another that got its number.
kubernetes_supervisor() {
  local pid
  pid=$(cat "$1/run.pid" 2> /dev/null) || return 1
  [[ $(ps -p "$pid" -o args= 2> /dev/null) == *tests/kubernetes/run* ]] || return 1
  echo "$pid"
}
