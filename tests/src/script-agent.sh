#!/bin/sh
# An agent without a model: takes each task of its queue, writes and commits a file, replies, completes the task.
# When the queue is empty it waits and says again whatever is typed to it.
set -eu

echo "script agent in $(basename "$(pwd)")"
while task=$(frith task next --quiet 2>/dev/null); do
  echo "working on $task"
  echo "done by an agent" > "work-$task.txt"
  if git rev-parse --git-dir >/dev/null 2>&1; then
    git add "work-$task.txt"
    git commit --quiet --message "work on a task"
  fi
  frith task reply "$task" "wrote work-$task.txt" >/dev/null
  frith task status "$task" completed >/dev/null
  echo "completed $task"
done
echo "queue empty, waiting"
exec cat
