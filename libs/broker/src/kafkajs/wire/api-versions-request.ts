import { ownRequest, type ApiRequest } from './api-request.js';

export type VersionRange = { readonly minVersion: number; readonly maxVersion: number };
export type BrokerVersions = Readonly<Record<number, VersionRange>>;

/** The first request of a connection: what the others may be. */
export const apiVersionsRequest: ApiRequest<{
  readonly code: number;
  readonly versions: BrokerVersions;
}> = ownRequest({
  apiKey: 18,
  apiName: 'ApiVersions',
  versions: [2],
  // It stands at the end, and is left out where the version is refused.
  throttleTimeMs: () => 0,
  write: () => undefined,
  read: (reader) => {
    const code = reader.int16();
    const ranges = reader.array(
      () => [reader.int16(), { minVersion: reader.int16(), maxVersion: reader.int16() }] as const,
    );
    return { code, versions: Object.fromEntries(ranges) };
  },
});
