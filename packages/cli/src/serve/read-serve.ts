/**
 * Everything that `quittance serve` reads before it opens the ledger. `quittance doctor` reads the same, so a set-up that
 * the server refuses is never reported as fine.
 */
import { readFileSync } from 'node:fs';
import { isQuittanceError } from 'quittance/internal/base/error';
import { parseJson } from 'quittance/internal/base/json';
import type { CheckedOptions } from '@quittance/server/internal/http/check-server-options';
import { checkServerOptions } from '@quittance/server/internal/http/check-server-options';
import { toolsFromCatalog } from '@quittance/server/internal/http/tool-catalog';
import type { RetentionRule } from 'quittance/internal/ledger/removal';
import type { NotificationsSettings } from '@quittance/server/internal/notifications/notifications-settings';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { Context, Given } from '../command.ts';
import { loadNotifications } from '../load-notifications.ts';
import { needFile } from '../load-or-explain.ts';
import { readPort } from '../read-port.ts';
import { readConsoleSettings } from '../settings/console-settings.ts';
import { readRetentionRules } from '../settings/retention-setting.ts';
import { readSignIn } from '../settings/sign-in-settings.ts';
import { parseSpan } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';

export type ServerOptions = CheckedOptions & {
  readonly host?: string;
  readonly proxyHeader?: 'x-forwarded-for' | 'forwarded';
};

export type ServeInputs = {
  readonly port: number;
  readonly times: { readonly delayMs: number; readonly timeoutMs: number };
  readonly rules: readonly RetentionRule[];
  readonly everyMs: number;
  readonly notifications: NotificationsSettings | undefined;
  readonly tools: readonly AnyTool[];
  readonly server: ServerOptions;
};

type From = Pick<Context, 'env' | 'userName'>;

const line = 'quittance serve --tools tools.json --contracts rules.yaml';

/** One reader for each part. Each throws an error that says what to type. */
export const serveReaders: {
  readonly [Name in keyof ServeInputs]: (given: Given, from: From) => ServeInputs[Name];
} = {
  port: (given) => readPort(given.text('port')),
  times: (given) => ({
    delayMs: spanOf(given, 'drain-delay', 0),
    timeoutMs: spanOf(given, 'stop-timeout', 30_000),
  }),
  rules: readRetentionRules,
  everyMs: (given) => spanOf(given, 'retention-every', 3_600_000),
  notifications: (given, from) => {
    const file = given.text('notifications');
    return file === undefined ? undefined : loadNotifications(file, from);
  },
  tools: readTools,
  server: readServerOptions,
};

export function readServe(given: Given, from: From): ServeInputs {
  return {
    port: serveReaders.port(given, from),
    times: serveReaders.times(given, from),
    rules: serveReaders.rules(given, from),
    everyMs: serveReaders.everyMs(given, from),
    notifications: serveReaders.notifications(given, from),
    tools: serveReaders.tools(given, from),
    server: serveReaders.server(given, from),
  };
}

function spanOf(given: Given, name: string, byDefault: number): number {
  const text = given.text(name);
  if (text === undefined) return byDefault;
  return /^0\s*[a-z]*$/.test(text) ? 0 : parseSpan(text, name);
}

/** The tools of a catalog. A module that creates the runtime brings its own. */
function readTools(given: Given): readonly AnyTool[] {
  if (given.has('runtime') && given.text('telemetry') === 'opentelemetry')
    throw new UsageError(
      '--runtime brings its own telemetry: createRuntime({ telemetry: openTelemetry() }).',
      ['quittance serve --runtime runtime.ts'],
    );
  if (given.has('runtime') && (given.has('contracts') || given.has('tools')))
    throw new UsageError(
      '--runtime brings its own tools and contracts, so it excludes --tools and --contracts.',
      ['quittance serve --runtime runtime.ts', line],
    );
  for (const path of given.list('contracts')) needFile(path, 'quittance serve --contracts contracts.yaml');
  const own = given.text('runtime');
  if (own !== undefined) needFile(own, 'quittance serve --runtime runtime.mjs');
  const path = given.text('tools');
  if (path === undefined) return [];
  needFile(path, 'quittance serve --tools tools.json');
  const read = parseJson(readFileSync(path, 'utf8'));
  if (!read.ok) throw new UsageError(`${path} is not valid JSON: ${read.problem}`, ['quittance help serve']);
  try {
    return toolsFromCatalog(read.value);
  } catch (error) {
    if (isQuittanceError(error)) throw new UsageError(`${path}: ${error.message}`, ['quittance help serve']);
    throw error;
  }
}

function readServerOptions(given: Given, { env, userName }: From): ServerOptions {
  const [host, publicUrl, traceUrl] = ['host', 'public-url', 'trace-url'].map((name) => given.text(name));
  const proxyHeader = readProxyHeader(given.text('proxy-header'));
  const signIn = readSignIn(given, env);
  const options = {
    ...(host !== undefined && { host }),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(traceUrl !== undefined && { traceUrl }),
    allowHosts: given.list('allow-host'),
    trustProxies: given.list('trust-proxy'),
    ...(proxyHeader !== undefined && { proxyHeader }),
    ...(signIn !== undefined && { signIn }),
    localName: given.text('name') ?? userName,
    console: readConsoleSettings(given),
  };
  try {
    checkServerOptions(options);
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid'))
      throw new UsageError(error.message, ['quittance serve --help']);
    throw error;
  }
  return options;
}

function readProxyHeader(typed: string | undefined): 'x-forwarded-for' | 'forwarded' | undefined {
  const name = typed?.toLowerCase();
  if (name === undefined || name === 'x-forwarded-for' || name === 'forwarded') return name;
  throw new UsageError(
    `--proxy-header must be x-forwarded-for or forwarded; found ${JSON.stringify(typed)}.`,
    ['quittance serve --trust-proxy 127.0.0.1 --proxy-header forwarded'],
  );
}
