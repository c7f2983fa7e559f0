import { complaintsOf, resolvedOrders } from '../../configuration.spec-support.js';

class Order {}

const complaints = (properties: object) => complaintsOf(() => resolvedOrders(properties));

describe('UNTRUSTED_TYPE', () => {
  const types = { 'com.shop.Order': Order, 'org.shop.Order': Order, Order };

  it('refuses a type whose records would all be dead-lettered', () => {
    expect(complaints({ typedJson: { types, trustedPackages: ['com.shop'] } })).toEqual([
      'UNTRUSTED_TYPE bindings.orders.typedJson.types: has types that no record may name: org.shop.Order, Order; typedJson.trustedPackages is a list of com.shop (from the options). Add their packages to typedJson.trustedPackages, or take them out.',
    ]);
  });

  it.each([['com.shop', 'org.shop', '*'], ['*']])(
    'accepts types whose packages are trusted by %s',
    (...trusted) => {
      expect(complaints({ typedJson: { types, trustedPackages: trusted } })).toEqual([]);
    },
  );

  it('ignores values that are not read as typed JSON', () => {
    const typedJson = { types, trustedPackages: ['com.shop'] };
    const violations = complaints({ deserializer: 'json', typedJson });
    expect(violations.filter((complaint) => complaint.startsWith('UNTRUSTED_TYPE'))).toEqual([]);
  });

  it('names the preset that trusts only its own packages', () => {
    const [violation] = complaints({ preset: 'brokers', typedJson: { types } });
    expect(violation).toContain("is a list of com.extractor.unraveldocs.* (from preset 'brokers')");
  });
});
