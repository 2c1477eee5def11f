#!/usr/bin/env bash
# sbatch --export=ALL,CHECKPOINT=...,REFERENCE=... slurm.sh: audit a checkpoint on a cluster.
# What is finished is in the store on the shared file system, so a job that was cut off goes on when requeued.
#SBATCH --job-name=release-audit
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=16
#SBATCH --time=08:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
set -uo pipefail
cd "${SLURM_SUBMIT_DIR:-.}"
srun pytest release.funcmem.toml \
  --funcmem-model="$CHECKPOINT" --funcmem-reference="$REFERENCE" \
  --funcmem-sandbox=namespace --funcmem-store="${FUNCMEM_STORE:-.funcmem}" \
  --funcmem-report=json:audit.jsonl --funcmem-report=html:audit.html
code=$?
funcmem store verify --store="${FUNCMEM_STORE:-.funcmem}" || exit $?
exit "$code"
