export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Splits `host:port`; the host may be an IPv6 address. */
export function splitAddress(address: string): Address {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}
