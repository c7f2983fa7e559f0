import type { OutgoingRecord } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { Cook } from './cook.js';

const topic = 'orders';
const groupId = 'kitchen';
const customers = ['Carla', 'Deniz', 'Emil', 'Fatima', 'Goran', 'Hilde', 'Ines'];

const driver = memory();
const admin = driver.admin();
const producer = driver.producer();
const anna = new Cook('Anna', driver, { topic, groupId });
const ben = new Cook('Ben', driver, { topic, groupId });

async function tellTheStory(): Promise<void> {
  await admin.createTopics([{ name: topic, partitions: 4 }]);

  console.log('Anna and Ben join the group "kitchen"; the topic "orders" has four partitions.');
  await Promise.all([anna.arrive(), ben.arrive()]);
  await until(() => anna.partitions.length === 2 && ben.partitions.length === 2);
  tellWhoHasWhat();

  console.log(
    '\n20 orders arrive. The key is the customer: all of one are in one partition, in order.',
  );
  await producer.send(orders(1, 20));
  await until(() => anna.cooked.length + ben.cooked.length === 20);
  tellWhoCookedWhat();

  console.log('\nBen leaves. Everything he did is committed; his partitions move to Anna.');
  await ben.leave();
  await until(() => anna.partitions.length === 4);
  tellWhoHasWhat();

  console.log('\n20 more orders arrive.');
  await producer.send(orders(21, 40));
  await until(() => anna.cooked.length === 20);
  tellWhoCookedWhat();

  await anna.leave();
  console.log('\nWhat the group has committed:');
  const committed = await admin.groupOffsets(groupId, [topic]);
  for (const { partition, offset } of committed.toSorted((a, b) => a.partition - b.partition)) {
    console.log(`  partition ${partition}: next is offset ${offset}`);
  }
}

function orders(first: number, last: number): OutgoingRecord[] {
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const order = first + index;
    return { topic, key: customers[order % customers.length] ?? null, value: `order ${order}` };
  });
}

function tellWhoHasWhat(): void {
  for (const { name, partitions } of [anna, ben]) {
    const listed = partitions.length > 0 ? `partitions ${partitions.join(', ')}` : 'nothing';
    console.log(`  ${name} has ${listed}`);
  }
}

function tellWhoCookedWhat(): void {
  for (const cook of [anna, ben]) {
    for (const customer of customers) {
      const meals = cook.cooked.filter(({ key }) => key?.toString() === customer);
      const [first] = meals;
      if (!first) continue;
      const listed = meals.map(({ value }) => value?.toString()).join(', ');
      console.log(`  ${cook.name} cooks for ${customer} (partition ${first.partition}): ${listed}`);
    }
    cook.clearTheTable();
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(realRuntime, 5);
}

try {
  await tellTheStory();
} finally {
  await driver.close();
}
