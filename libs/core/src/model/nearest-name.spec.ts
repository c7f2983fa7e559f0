import { nearestName, suggestion } from './nearest-name.js';

const known = ['groupId', 'topic', 'maxPollRecords', 'maxPollIntervalMs'];

describe('The nearest name', () => {
  it.each([
    ['groupID', 'groupId'],
    ['gropId', 'groupId'],
    ['group-id', 'groupId'],
    ['topics', 'topic'],
    ['maxPollRecord', 'maxPollRecords'],
    ['max-poll-interval', 'maxPollIntervalMs'],
  ])('of %s is %s', (given, name) => {
    expect(nearestName(given, known)).toBe(name);
    expect(suggestion(given, known)).toBe(`Did you mean '${name}'?`);
  });

  it('is none where too much would have to change', () => {
    expect(nearestName('serializer', known)).toBeUndefined();
    expect(suggestion('serializer', known)).toBe(
      'Known are: groupId, topic, maxPollRecords, maxPollIntervalMs.',
    );
  });
});
