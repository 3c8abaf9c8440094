#!/bin/sh
# An agent without a model that waits at a prompt. A line that is typed to it makes it read its messages and take and complete its
# tasks; what it read, what it was handed and what it was refused it leaves in the home folder. With `ask` it asks a question first.
if test "${1-}" = ask; then
  printf 'allow? [y/n] '
  read -r answer
  if test "$answer" = always; then
    printf '{"permissions": {"allow": ["Bash(make *)"]}}\n' > "$(mkdir -p .prompt && echo .prompt/settings.json)"
  fi
fi
printf 'ready> '
while read -r line; do
  if test "$line" = /clear; then
    echo "$line" >> "$HOME/cleared"
  else
    frith agents inbox --unread >> "$HOME/letters"
    while handed=$(frith task next 2>> "$HOME/refused"); do
      echo "$handed" >> "$HOME/handed"
      task=$(echo "$handed" | head -n 1 | cut -d ' ' -f 1)
      frith task reply "$task" "done" > /dev/null
      frith task status "$task" completed > /dev/null
    done
  fi
  printf 'ready> '
done
