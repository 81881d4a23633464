/** Environment variables that look like settings, but do not exist. Most are misspelt. */
import { isSlipOf, nearestNames } from 'quittance/internal/base/nearest';
import type { Environment } from '../terminal.ts';
import { configVariable } from './layered-options.ts';
import { serveSettings } from './serve-settings.ts';
import { settingVariable } from './setting.ts';
import { signInSecretVariable } from './sign-in-settings.ts';

/** Variables of ours that are not settings of the server. */
const otherVariables = [
  configVariable,
  'QUITTANCE_SEAL_KEY',
  'QUITTANCE_SEAL_KEY_FILE',
  'QUITTANCE_SEAL_KEY_COMMAND',
  'QUITTANCE_TOKEN',
  'QUITTANCE_MCP_URL',
  'QUITTANCE_SERVER',
  'QUITTANCE_CREDENTIALS',
  signInSecretVariable,
];
const freePrefixes = ['QUITTANCE_TEST_', 'QUITTANCE_INPUT_', 'QUITTANCE_MCP_'];

export type UnknownVariable = {
  readonly name: string;
  /** The variable that was probably meant. */
  readonly nearest: string | undefined;
};

const prefix = 'QUITTANCE_';
/** More slips make another word of most names. */
const mostSlips = 2;

export function unknownVariables(env: Environment): readonly UnknownVariable[] {
  const known = [...Object.keys(serveSettings).map(settingVariable), ...otherVariables];
  return Object.keys(env)
    .filter((name) => name.startsWith(prefix) && !known.includes(name))
    .filter((name) => !freePrefixes.some((free) => name.startsWith(free)))
    .map((name) => ({ name, nearest: nearestOf(name, known) }));
}

/** All names begin alike, so only the rest counts. */
function nearestOf(name: string, known: readonly string[]): string | undefined {
  const rest = name.slice(prefix.length);
  const [nearest] = nearestNames(
    rest,
    known.map((each) => each.slice(prefix.length)),
    1,
  );
  return nearest !== undefined && isSlipOf(rest, nearest, mostSlips) ? prefix + nearest : undefined;
}
