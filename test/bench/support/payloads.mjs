/** Returns a JSON value of 200 bytes, like a typical order event. */
export function orderJson(index) {
  const order = {
    id: index,
    customer: `customer-${index % 1000}`,
    amount: 12.5,
    currency: 'EUR',
    note: '',
  };
  const missing = 200 - Buffer.byteLength(JSON.stringify(order));
  return JSON.stringify({ ...order, note: 'x'.repeat(Math.max(0, missing)) });
}

/** @param {number} count */
export function headersOf(count) {
  return Array.from({ length: count }, (_, index) => ({
    key: `x-header-${index}`,
    value: `value-${index}-0123456789`,
  }));
}
