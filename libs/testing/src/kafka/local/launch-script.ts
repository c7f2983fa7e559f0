/**
 * Starts a broker that cannot outlive us. `/bin/sh -c <script> sh <node folder> <command...>`, with a pipe from us as its fd 3.
 *
 * A watcher is forked before the command takes the shell's place (so the child's pid is the JVM's), and reads the pipe.
 * However we end, by kill -9 too, the system closes the pipe: the watcher reads its end, kills the broker, also a frozen
 * one, and removes its data. "exited" on the pipe says that the broker is gone and that its data is our own business.
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
