const assert = require('node:assert/strict');

/** Uses the library as it was loaded: `load` is import or require. */
exports.check = async (entryPoints, load) => {
  for (const entryPoint of entryPoints) {
    const names = Object.keys(await load(entryPoint));
    assert.ok(names.length > 0, `${entryPoint} exports nothing`);
  }
  const { ClosedError } = await load('@nest-event-bus/broker');
  const { memory } = await load('@nest-event-bus/broker/memory');
  const driver = memory();
  const session = driver.consumer({ groupId: 'pack-check', topics: ['greetings'] });
  await driver.admin().createTopics([{ name: 'greetings', partitions: 1 }]);
  const nothing = () => undefined;
  await session.start({ onAssigned: nothing, onRevoked: nothing, onLost: nothing });
  await driver.producer().send([{ topic: 'greetings', value: 'hello' }]);
  const [record] = await session.poll(1);
  assert.equal(record.value.toString(), 'hello');
  await driver.close();
  await assert.rejects(session.poll(1), (error) => error instanceof ClosedError);
};
