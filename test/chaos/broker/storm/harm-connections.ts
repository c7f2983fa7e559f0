import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { TcpProxy } from '@nest-event-bus/testing';
import type { SeededRandom } from '../support/seeded-random.js';

/** The request was carried out, and nobody hears of it; or only a part of it arrived. */
export async function harmConnections(proxy: TcpProxy, random: SeededRandom): Promise<void> {
  const chance = random.next();
  if (chance < 0.25) return proxy.cut();
  if (chance < 0.5) return proxy.cutAfter(random.between(1, 4_000), 'toServer');
  if (chance < 0.65) return proxy.cutAfter(random.between(1, 2_000), 'toClient');
  proxy.swallow('toClient');
  await sleep(realRuntime, random.between(5, 100));
  proxy.forward();
  proxy.cut();
}
