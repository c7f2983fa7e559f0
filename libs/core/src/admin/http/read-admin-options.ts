import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';
import { ADMIN_RIGHTS, type AdminRight } from '../api/admin-route.js';
import type { AdminSettings, EventBusAdminModuleOptions } from './admin-options.js';

const DEFAULT_RIGHTS: readonly AdminRight[] = ['read', 'control', 'redrive'];

const KEYS: Readonly<Record<keyof EventBusAdminModuleOptions, true>> = {
  path: true,
  imports: true,
  access: true,
  allow: true,
  who: true,
  controller: true,
  extensions: true,
};

/** Checks the options of the module. There is no default for `access`. */
export function readAdminOptions(options: EventBusAdminModuleOptions): AdminSettings {
  const { access, allow = DEFAULT_RIGHTS, path = 'eventbus', who = () => undefined } = options;
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(KEYS, key));
  if (unknown !== undefined)
    throw refused(
      '',
      `has no option '${unknown.slice(0, 100)}'. Known are: ${Object.keys(KEYS).join(', ')}.`,
    );
  if (typeof path !== 'string') throw refused('path', 'must be a text.');
  if (typeof who !== 'function') throw refused('who', 'must be a function of the request.');
  const wrong = Array.isArray(allow) ? allow.find((right) => !ADMIN_RIGHTS.includes(right)) : allow;
  if (wrong !== undefined) throw refused('allow', `must be a list of ${ADMIN_RIGHTS.join(', ')}.`);
  return { path, allow: new Set(allow), who, ...readAccess(access) };
}

function readAccess(
  access: EventBusAdminModuleOptions['access'] | undefined,
): Pick<AdminSettings, 'access' | 'guards' | 'trustedOrigins'> {
  if (access === 'unguarded' || access === 'global-guards')
    return { access, guards: [], trustedOrigins: new Set() };
  if (typeof access !== 'object' || access === null)
    throw refused(
      'access',
      "must say who may call the API: { guards: [YourGuard] }, 'global-guards' or 'unguarded'.",
    );
  const { guards, trustedOrigins = [] } = access;
  const origins = trustedOrigins.map((origin) => originOf(origin));
  if (guards === 'global-guards')
    return { access: guards, guards: [], trustedOrigins: new Set(origins) };
  if (!Array.isArray(guards) || guards.length === 0 || guards.some((guard) => !guard))
    throw refused('access.guards', "must be a list with at least one guard, or 'global-guards'.");
  return { access: 'guards', guards, trustedOrigins: new Set(origins) };
}

function originOf(text: unknown): string {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  if (url && url.origin === text) return url.origin;
  throw refused('access.trustedOrigins', "must be a list of origins: 'https://ops.example.com'.");
}

export function refused(name: string, message: string): ConfigurationValidationException {
  const path = ['EventBusAdminModule.register', name].filter((part) => part !== '').join('.');
  return new ConfigurationValidationException([
    { rule: 'ADMIN_API', binding: undefined, path, value: undefined, message },
  ]);
}
