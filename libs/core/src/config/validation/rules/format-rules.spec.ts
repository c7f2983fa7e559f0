import { complaintsOf, resolvedOrders } from '../../configuration.spec-support.js';

class Order {}

const complaints = (properties: object) => complaintsOf(() => resolvedOrders(properties));

describe('UNTRUSTED_TYPE', () => {
  const types = { 'com.shop.Order': Order, 'org.shop.Order': Order, Order };

  it('refuses a type whose every record would be dead-lettered', () => {
    expect(complaints({ typedJson: { types, trustedPackages: ['com.shop'] } })).toEqual([
      'UNTRUSTED_TYPE bindings.orders.typedJson.types: has types that no record may name: org.shop.Order, Order; typedJson.trustedPackages is a list of com.shop (from the options). Add their packages to typedJson.trustedPackages, or take them out.',
    ]);
  });

  it.each([['com.shop', 'org.shop', '*'], ['*']])(
    'lets pass what is trusted by %s',
    (...trusted) => {
      expect(complaints({ typedJson: { types, trustedPackages: trusted } })).toEqual([]);
    },
  );

  it('does not concern what is not read as typed JSON', () => {
    const typedJson = { types, trustedPackages: ['com.shop'] };
    const found = complaints({ deserializer: 'json', typedJson });
    expect(found.filter((complaint) => complaint.startsWith('UNTRUSTED_TYPE'))).toEqual([]);
  });

  it('tells of a preset that trusts only its own', () => {
    const [found] = complaints({ preset: 'brokers', typedJson: { types } });
    expect(found).toContain("is a list of com.extractor.unraveldocs.* (from preset 'brokers')");
  });
});
