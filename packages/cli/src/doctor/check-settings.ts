import { existsSync, statSync } from 'node:fs';
import { isQuittanceError } from 'quittance/internal/base/error';
import { findGivenSealKey } from 'quittance/internal/store/seal-key';
import type { Context, Given } from '../command.ts';
import { sourcePosition, tryToLoad } from '../load-or-explain.ts';
import { configVariable, layerOptions } from '../settings/layered-options.ts';
import { tryConfigFile } from '../settings/read-config-file.ts';
import { serveSettings } from '../settings/serve-settings.ts';
import { settingVariable } from '../settings/setting.ts';
import { unknownVariables } from '../settings/unknown-variables.ts';
import type { Environment } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';
import type { Finding } from './finding.ts';
import { fine, problem, warning, note } from './finding.ts';
import { checkSandbox } from 'quittance/internal/sandbox/check-sandbox';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { isJsonObject } from 'quittance/internal/base/json';
import { readPort } from '../read-port.ts';
import { ProviderError } from '@quittance/server/internal/http/sign-in/provider';
import { checkSignInOptions } from '@quittance/server/internal/http/sign-in/sign-in-options';
import { serveReaders } from '../serve/read-serve.ts';
import { readSignIn } from '../settings/sign-in-settings.ts';

/** The settings with the values of the file and the environment; undefined if they cannot be read. */
export type CheckedSettings = { readonly findings: readonly Finding[]; readonly given: Given | undefined };

export async function checkSettings(
  typed: Given,
  from: Pick<Context, 'env' | 'userName'>,
): Promise<CheckedSettings> {
  const { env } = from;
  const findings: Finding[] = [...checkVariables(env), ...checkKeys(env)];
  const path = typed.text('config') ?? (env[configVariable] || undefined);
  if (path !== undefined) findings.push(...checkFile(path, typed, env));
  let given: Given;
  try {
    ({ given } = layerOptions(typed, env, serveSettings));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    if (!findings.some(({ level }) => level === 'problem'))
      findings.push(problem('settings', error.message, error.tryThis[0] ?? 'quittance help serve'));
    return { findings, given: undefined };
  }
  findings.push(...(await checkNamedFiles(given)), ...checkServe(given, from), ...checkAddress(given));
  for await (const finding of checkPort(given)) findings.push(finding);
  findings.push(...(await checkSignIn(given, env)));
  return { findings, given };
}

function* checkVariables(env: Environment): Generator<Finding> {
  for (const { name, nearest } of unknownVariables(env))
    yield warning(
      'environment',
      `The variable ${name} has no effect: there is no such setting.`,
      nearest === undefined ? `Remove it: unset ${name}` : `Rename it to ${nearest}, or unset ${name}`,
    );
}

function* checkKeys(env: Environment): Generator<Finding> {
  try {
    findGivenSealKey(env, {});
  } catch (error) {
    if (!isQuittanceError(error, 'config.invalid')) throw error;
    yield problem(
      'seal key',
      error.message,
      error.facts['command'] ?? 'Set exactly one of the variables to a key: openssl rand -hex 32 makes one',
    );
  }
}

function* checkFile(path: string, typed: Given, env: Environment): Generator<Finding> {
  try {
    const { problems, values } = tryConfigFile(path, serveSettings);
    for (const name of values.keys()) {
      const variable = settingVariable(name);
      if (typed.has(name) || (env[variable] ?? '').trim() === '') continue;
      yield warning(
        'environment',
        `${variable} is set, so ${serveSettings[name]?.key ?? name} in ${path} has no effect.`,
        `Remove one of them: unset ${variable}, or the key in the file.`,
      );
    }
    for (const each of problems)
      yield problem(
        'config',
        `${sourcePosition(each)}: ${each.message}`,
        'Correct the line. docs/settings.md lists the keys, and quittance config schema helps editors.',
      );
    if (problems.length === 0) yield fine('config', path);
    const mode = statSync(path).mode;
    if (process.platform !== 'win32' && (mode & 0o022) !== 0)
      yield problem(
        'config',
        `${path} can be written by other users, who could then change every rule of the server.`,
        `chmod go-w ${path}`,
      );
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    yield problem('config', error.message, error.tryThis[0] ?? 'quittance serve --config quittance.yaml');
  }
}

async function checkNamedFiles(given: Given): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const key = given.text('seal-key-file');
  if (key !== undefined && !existsSync(key))
    findings.push(
      problem('seal-key-file', `There is no file ${key}.`, 'Name an existing file: --seal-key-file FILE'),
    );
  const contracts = given.list('contracts');
  if (contracts.length === 0 || !contracts.every((path) => existsSync(path))) return findings;
  const loading = await tryToLoad(contracts, {});
  if (loading.ok) findings.push(fine('contracts', contracts.join(', ')));
  else
    for (const each of loading.problems.slice(0, 5))
      findings.push(
        problem(
          'contracts',
          `${sourcePosition(each)}: ${each.message}`,
          `quittance contracts check ${contracts.join(' ')}`,
        ),
      );
  return findings;
}

const isLocal = (host: string): boolean => /^(?:127\.|localhost$|::1$)/.test(host);

function* checkAddress(given: Given): Generator<Finding> {
  const [host = '127.0.0.1', publicUrl] = [given.text('host'), given.text('public-url')];
  if (publicUrl !== undefined && /^http:/i.test(publicUrl) && !isLocal(new URL(publicUrl).hostname))
    yield problem(
      'tls',
      `The public address ${publicUrl} is not encrypted: tokens and approvals could be read on the way.`,
      'Put a TLS proxy in front of the server, and use its address: public_url: https://…',
    );
  else if (!isLocal(host) && publicUrl === undefined)
    yield warning(
      'tls',
      `The server listens on ${host}, where other machines reach it without encryption.`,
      'Listen on 127.0.0.1 behind a TLS proxy, and set public_url: https://…',
    );
  if (publicUrl !== undefined && given.list('trust-proxy').length === 0)
    yield warning(
      'proxy',
      'A public address is set, but no proxy is trusted. All callers without a token then share one rate limit.',
      'Name the address of the proxy: trust_proxy: [127.0.0.1]',
    );
}

/** Does the sandboxed executor work here? A set-up without tools of `quittance/sandbox` does not need it. */
export async function* checkExecutor(check: typeof checkSandbox = checkSandbox): AsyncGenerator<Finding> {
  const found = await check();
  if (found.works)
    yield fine(
      'sandbox',
      `The sandboxed executor works: bubblewrap ${found.version}, started in ${Math.round(found.startMs)} ms`,
    );
  else
    yield note(
      'sandbox',
      `The sandboxed executor does not work here. ${found.problem}`,
      `${found.remedy} Needed only for tools of quittance/sandbox.`,
    );
}

const answerWithinMs = 3_000;

export async function* checkPort(given: Given): AsyncGenerator<Finding> {
  // Without a port in the settings, this may be no server at all.
  if (!given.has('port')) return;
  const port = portOf(given);
  if (port === undefined || port === 0) return;
  const host = given.text('host') ?? '127.0.0.1';
  const code = await tryToListen(host, port);
  const place = `${host}, port ${port}`;
  if (code === undefined) yield fine('port', `${place} is free`);
  else if (code !== 'EADDRINUSE')
    yield problem(
      'port',
      `The server cannot listen on ${place}: ${code}.`,
      code === 'EACCES'
        ? 'Choose a port above 1023, and let a proxy listen on the other: port: 4747'
        : 'Name an address of this machine: host: 127.0.0.1',
    );
  else if (await isOurServer(host, port)) yield fine('port', `a server listens on ${place}`);
  else
    yield problem(
      'port',
      `Another program listens on ${place}.`,
      `Stop it, or choose another port. To find it: lsof -i :${port}`,
    );
}

/** A wrong port was reported with the other settings. */
function portOf(given: Given): number | undefined {
  try {
    return readPort(given.text('port'));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return undefined;
  }
}

/** The code of the error; undefined if the port is free. */
async function tryToListen(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown error';
  } finally {
    server.close();
  }
}

async function isOurServer(host: string, port: number): Promise<boolean> {
  const name =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  try {
    const answer = await fetch(`http://${name}:${port}/healthz`, {
      redirect: 'error',
      signal: AbortSignal.timeout(answerWithinMs),
    });
    const body: unknown = await answer.json();
    return isJsonObject(body) && body['status'] === 'ok' && typeof body['version'] === 'string';
  } catch {
    return false;
  }
}

/** The names of the parts as people know them. */
const parts: { readonly [Name in keyof typeof serveReaders]: string } = {
  port: 'port',
  times: 'stop',
  rules: 'retention',
  everyMs: 'retention',
  notifications: 'notifications',
  tools: 'tools',
  server: 'server',
};

export function* checkServe(given: Given, from: Pick<Context, 'env' | 'userName'>): Generator<Finding> {
  for (const name of Object.keys(serveReaders) as (keyof typeof serveReaders)[])
    try {
      serveReaders[name](given, from);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      yield problem(
        parts[name],
        error.message,
        `Correct the setting, for example: ${error.tryThis[0] ?? ''}`,
      );
    }
}

/** Asks the identity provider for its description. Wrong options were reported before. */
export async function checkSignIn(given: Given, env: Environment): Promise<readonly Finding[]> {
  let settings: ReturnType<typeof checkSignInOptions>;
  try {
    const options = readSignIn(given, env);
    if (options === undefined) return [];
    settings = checkSignInOptions(options);
  } catch {
    return [];
  }
  const issuer = settings.issuer.href.replace(/\/$/, '');
  // Only servers with sign-in need it.
  const { OpenIdProvider } = await import('@quittance/server/internal/http/sign-in/openid-provider');
  try {
    await new OpenIdProvider(settings).start(
      `${given.text('public-url') ?? 'http://127.0.0.1'}/login/callback`,
    );
    return [fine('sign-in', issuer)];
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid'))
      return [problem('sign-in', error.message, 'npm install openid-client')];
    if (!(error instanceof ProviderError)) throw error;
    return [
      problem(
        'sign-in',
        `${issuer}: ${error.message} No person can sign in.`,
        `Check the address, the network and the certificate: curl ${issuer}/.well-known/openid-configuration`,
      ),
    ];
  }
}
