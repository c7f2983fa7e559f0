import { defineRequest, type ApiRequest } from './api-request.js';
import { NO_FEATURES, type FinalizedFeatures } from '../cluster/cluster-features.js';
import { Reader } from './reader.js';

export type VersionRange = { readonly minVersion: number; readonly maxVersion: number };
export type BrokerVersions = Readonly<Record<number, VersionRange>>;

export interface ApiVersionsResponse {
  readonly code: number;
  readonly versions: BrokerVersions;
  readonly features: FinalizedFeatures;
}

export const API_VERSIONS = 18;
export const UNSUPPORTED_VERSION = 35;
const FEATURES_EPOCH_TAG = 1;
const FEATURES_TAG = 2;
/** The client name in the broker's metrics. Brokers refuse names with other characters. */
const SOFTWARE = { name: 'nest-event-bus', version: '1' };

/**
 * The first request of a connection, which returns the supported versions of all other requests.
 * Version 3 also returns the cluster's features. A broker that does not support version 3 answers
 * UNSUPPORTED_VERSION, encoded in version 0.
 */
export function apiVersionsRequest(version: 2 | 3): ApiRequest<ApiVersionsResponse> {
  return defineRequest({
    apiKey: API_VERSIONS,
    apiName: 'ApiVersions',
    versions: [version],
    flexibleFrom: 3,
    // The throttle time is the last field of this response, and is missing if the broker refuses
    // the version.
    throttleTimeMs: () => 0,
    write(writer) {
      if (version >= 3)
        writer.compactString(SOFTWARE.name).compactString(SOFTWARE.version).noTags();
    },
    read(reader) {
      const code = reader.int16();
      if (version < 3 || code === UNSUPPORTED_VERSION)
        return { code, versions: byKey(reader.array(() => range(reader))), features: NO_FEATURES };
      const ranges = reader.compactArray(() => {
        const item = range(reader);
        reader.skipTags();
        return item;
      });
      reader.int32();
      return { code, versions: byKey(ranges), features: featuresIn(reader.tags()) };
    },
  });
}

function range(reader: Reader): readonly [apiKey: number, range: VersionRange] {
  return [reader.int16(), { minVersion: reader.int16(), maxVersion: reader.int16() }];
}

function byKey(ranges: readonly (readonly [number, VersionRange])[]): BrokerVersions {
  return Object.fromEntries(ranges);
}

function featuresIn(tags: ReadonlyMap<number, Buffer>): FinalizedFeatures {
  const [epoch, features] = [tags.get(FEATURES_EPOCH_TAG), tags.get(FEATURES_TAG)];
  if (epoch === undefined || features === undefined) return NO_FEATURES;
  const reader = new Reader(features);
  const levels = reader.compactArray(() => {
    const [name, level] = [reader.compactString(), reader.int16()];
    reader.int16();
    reader.skipTags();
    return [name, level] as const;
  });
  return { epoch: new Reader(epoch).int64(), levels: new Map(levels) };
}
