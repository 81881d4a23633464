import { existsSync, statSync } from 'node:fs';
import { isQuittanceError } from '../../base/error.ts';
import { findGivenSealKey } from '../../store/seal-key.ts';
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
import { checkPort } from './check-port.ts';
import { checkServe, checkSignIn } from './check-serve.ts';
import { fine, problem, warning } from './finding.ts';

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
