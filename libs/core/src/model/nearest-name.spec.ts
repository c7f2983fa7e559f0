import { nearestName, suggestion } from './nearest-name.js';

const known = ['groupId', 'topic', 'maxPollRecords', 'maxPollIntervalMs'];

describe('nearestName()', () => {
  it.each([
    ['groupID', 'groupId'],
    ['gropId', 'groupId'],
    ['group-id', 'groupId'],
    ['topics', 'topic'],
    ['maxPollRecord', 'maxPollRecords'],
    ['max-poll-interval', 'maxPollIntervalMs'],
  ])('finds for %s the name %s', (given, name) => {
    expect(nearestName(given, known)).toBe(name);
    expect(suggestion(given, known)).toBe(`Did you mean '${name}'?`);
  });

  it('finds no name that needs too many edits', () => {
    expect(nearestName('serializer', known)).toBeUndefined();
    expect(suggestion('serializer', known)).toBe(
      'Known are: groupId, topic, maxPollRecords, maxPollIntervalMs.',
    );
  });
});
