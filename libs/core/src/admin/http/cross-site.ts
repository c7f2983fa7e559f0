import { CrossSiteRequestException } from '../../errors/admin-errors.js';
import type { HttpRequest } from './admin-request.js';

const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Refuses a request of a page of another origin that may change something. Browsers send
 * `Sec-Fetch-Site`, and older ones `Origin`. A client that is no browser sends neither, and has no
 * cookies that a page could abuse.
 */
export function refuseCrossSite(
  { method, headers }: Pick<HttpRequest, 'method' | 'headers'>,
  trustedOrigins: ReadonlySet<string>,
): void {
  if (SAFE_METHODS.includes(method)) return;
  const origin = headers['origin'];
  if (typeof origin === 'string' && trustedOrigins.has(origin)) return;
  const site = headers['sec-fetch-site'];
  if (site === undefined ? isOwnOrigin(origin, headers['host']) : isOwnSite(site)) return;
  throw new CrossSiteRequestException();
}

/** `none`: the user has typed the address. */
function isOwnSite(site: unknown): boolean {
  return site === 'same-origin' || site === 'none';
}

function isOwnOrigin(origin: unknown, host: unknown): boolean {
  if (origin === undefined) return true;
  return typeof origin === 'string' && URL.canParse(origin) && new URL(origin).host === host;
}
