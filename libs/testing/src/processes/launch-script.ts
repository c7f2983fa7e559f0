/**
 * A shell script that starts a server and ends it with this process: `/bin/sh -c <script> sh <node
 * folder> <command...>`, with a pipe to this process as its fd 3.
 *
 *   1. A watcher is forked. Then the command replaces the shell, so the child's pid is that of the server.
 *   2. This process ends, even by kill -9, and the system closes the pipe.
 *   3. The watcher reads the end of the pipe, kills the server, even a frozen one, and removes its data.
 *
 * "exited" on the pipe tells the watcher that the server has ended and that the data must stay.
 */
export const launchScript = `
node=$1
shift
(
  PATH=/usr/bin:/bin
  read -r order <&3
  [ "$order" = exited ] && exit
  kill -9 $$
  rm -rf -- "$node" || { sleep 1; rm -rf -- "$node"; }
  rmdir -- "\${node%/*}"
) </dev/null >/dev/null 2>&1 &
exec "$@" 3<&-
`;
