/** Puts temporary files into the data folder, because a killed JVM leaves them behind. */
export function jvmFlags(folder: string): readonly string[] {
  return [
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    '-Xmx512m',
    '-XX:-UsePerfData',
    `-Djava.io.tmpdir=${folder}`,
  ];
}
