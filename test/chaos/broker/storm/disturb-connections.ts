import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { TcpProxy } from '@nest-event-bus/testing';
import type { SeededRandom } from '../support/seeded-random.js';

/** Cuts a connection after the broker has executed a request but before its answer arrives, or within a request. */
export async function disturbConnections(proxy: TcpProxy, random: SeededRandom): Promise<void> {
  const chance = random.next();
  if (chance < 0.25) return proxy.cut();
  if (chance < 0.5) return proxy.cutAfter(random.between(1, 4_000), 'toServer');
  if (chance < 0.65) return proxy.cutAfter(random.between(1, 2_000), 'toClient');
  proxy.swallow('toClient');
  await sleep(realRuntime, random.between(5, 100));
  proxy.forward();
  proxy.cut();
}
