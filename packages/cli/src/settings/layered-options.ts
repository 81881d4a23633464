/**
 * The options of a command from four places. The command line wins over the environment, the environment over the
 * configuration file, and the file over the default. A list is taken from one place: lists are never merged.
 */
import { parseJson } from 'quittance/internal/base/json';
import { compileJsonSchema } from 'quittance/internal/tool/schema';
import type { Given } from '../command.ts';
import type { Environment } from '../terminal.ts';
import { readTextList } from '../text-list.ts';
import { UsageError } from '../usage-error.ts';
import type { GivenValues } from './read-config-file.ts';
import { readConfigFile } from './read-config-file.ts';
import type { Setting, Settings } from './setting.ts';
import { settingVariable } from './setting.ts';

/** The options, and the file that some came from. */
export type LayeredOptions = { readonly given: Given; readonly configFile: string | undefined };

export const configVariable = 'QUITTANCE_CONFIG';

export function layerOptions(typed: Given, env: Environment, settings: Settings): LayeredOptions {
  const configFile = typed.text('config') ?? (env[configVariable] || undefined);
  checkTyped(typed, settings);
  const fromEnvironment = readEnvironment(env, settings);
  const fromFile: GivenValues = configFile === undefined ? new Map() : readConfigFile(configFile, settings);
  const find = (name: string): readonly string[] | boolean | undefined =>
    typed.has(name) ? typed.list(name) : (fromEnvironment.get(name) ?? fromFile.get(name));
  const list = (name: string): readonly string[] => {
    const found = find(name);
    return typeof found === 'object' ? found : [];
  };
  const given: Given = {
    args: typed.args,
    has: (name) => {
      const found = find(name);
      return found !== undefined && found !== false;
    },
    text: (name) => list(name).at(-1),
    list,
    count(name) {
      if (typed.has(name)) return typed.count(name);
      const text = list(name).at(-1);
      if (text === undefined) return undefined;
      if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
      throw new UsageError(`${name} takes a whole number from 1; found ${JSON.stringify(text)}.`, [
        `${settingVariable(name)}=100`,
      ]);
    },
  };
  return { given, configFile };
}

/** JSON on the command line is checked by the schema of its setting, as in the file. */
function checkTyped(typed: Given, settings: Settings): void {
  for (const [name, setting] of Object.entries(settings))
    if (setting.kind === 'json')
      for (const text of typed.list(name)) checkJson(text, setting, `--${name}`, `quittance help serve`);
}

function readEnvironment(env: Environment, settings: Settings): GivenValues {
  const values = new Map<string, readonly string[] | boolean>();
  for (const [name, setting] of Object.entries(settings)) {
    const variable = settingVariable(name);
    const text = env[variable];
    // An empty variable means the same as a missing one: many launchers cannot unset a variable.
    if (text === undefined || text.trim() === '') continue;
    values.set(name, readVariable(variable, text, setting));
  }
  return values;
}

function readVariable(variable: string, text: string, setting: Setting): readonly string[] | boolean {
  const { value, multiple, choices } = setting;
  if (setting.kind === 'json') {
    checkJson(text, setting, variable, `${variable}='{…}'`);
    return [text];
  }
  if (value === undefined) return readSwitch(variable, text);
  const texts = multiple === true ? readTextList(variable, text) : [text];
  for (const each of texts)
    if (choices !== undefined && !choices.includes(each))
      throw new UsageError(`${variable} is one of ${choices.join(', ')}; found ${JSON.stringify(each)}.`, [
        `${variable}=${choices[0] ?? ''}`,
      ]);
  return texts;
}

function readSwitch(variable: string, text: string): boolean {
  const word = text.trim().toLowerCase();
  if (['1', 'true', 'yes', 'on'].includes(word)) return true;
  if (['0', 'false', 'no', 'off'].includes(word)) return false;
  throw new UsageError(`${variable} is true or false; found ${JSON.stringify(text)}.`, [`${variable}=true`]);
}

function checkJson(text: string, { schema }: Setting, where: string, tryThis: string): void {
  const read = parseJson(text);
  if (!read.ok) throw new UsageError(`${where} is not valid JSON: ${read.problem}`, [tryThis]);
  const [issue] = schema === undefined ? [] : compileJsonSchema(schema)(read.value);
  if (issue !== undefined)
    throw new UsageError(`${where}: ${[...issue.path.map(String), issue.message].join(': ')}`, [tryThis]);
}
