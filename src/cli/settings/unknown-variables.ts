/** Environment variables that look like settings, but do not exist. Most are misspelt. */
import { nearestNames } from '../../base/nearest.ts';
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

export function unknownVariables(env: Environment): readonly UnknownVariable[] {
  const known = [...Object.keys(serveSettings).map(settingVariable), ...otherVariables];
  return Object.keys(env)
    .filter((name) => name.startsWith('QUITTANCE_') && !known.includes(name))
    .filter((name) => !freePrefixes.some((prefix) => name.startsWith(prefix)))
    .map((name) => ({ name, nearest: nearestNames(name, known, 1)[0] }));
}
