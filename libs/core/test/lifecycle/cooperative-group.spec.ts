import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { World } from '../support/application.spec-support.js';

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): void {}
}

let world: World;

beforeEach(async () => {
  world = new World();
  await world.topic('orders', 4);
});

afterEach(() => world.end());

it('A member of a cooperative group is UP while another one joins: what stays with it is read on', async () => {
  const quick = { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 1_000 };
  const first = await world.startOrders([Orders], quick);
  const seen = new Set<string>();
  const watch = world.runtime.setTimer(function look() {
    seen.add(world.health(first).status);
    world.runtime.setTimer(look, 10);
  }, 10);
  await world.startOrders([Orders], quick);
  await world.runtime.advance(5_000);
  watch.cancel();
  expect(await world.members()).toHaveLength(2);
  expect([...seen]).toEqual(['UP']);
});
